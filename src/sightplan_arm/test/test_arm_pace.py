"""Simulated time that waits for whoever is late, with clocks of the test's."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import pytest

from arm_doubles import FollowingArm, WallClock
from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate, GateSettings
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.pace import ALONE_S, LEAD_S, PATIENCE_S, Bounds, Pace

LIMIT_S = 0.075


@dataclass
class Watching:
    """Somebody who sees simulated time by its stamps."""

    wall: WallClock = field(default_factory=WallClock)
    stamp_s: float = 10.0

    def __post_init__(self) -> None:
        self.pace = Pace(lambda: self.stamp_s, LEAD_S, ALONE_S, self.wall)


def test_nobody_is_waited_for_who_has_said_nothing() -> None:
    assert Bounds().until_s() == math.inf
    assert Pace(lambda: 3.0).until_s() == math.inf


def test_time_goes_as_far_as_the_last_of_all_lets_it() -> None:
    bounds = Bounds(WallClock())
    bounds.note('gate', 2.0)
    bounds.note('watcher', 1.5)
    assert bounds.until_s() == 1.5
    bounds.note('watcher', 2.5)
    assert bounds.until_s() == 2.0


def test_who_has_died_is_waited_for_so_long_and_no_longer() -> None:
    wall = WallClock()
    bounds = Bounds(wall)
    bounds.note('gate', 1.0)
    wall.now += 0.99 * PATIENCE_S
    assert bounds.until_s() == 1.0
    bounds.note('watcher', 2.0)
    wall.now += 0.02 * PATIENCE_S
    assert bounds.until_s() == 2.0


def test_a_silence_cannot_become_too_long_before_patience_is_over() -> None:
    """Whatever the wall's clock says: simulated time stops before the limit, and then goes on."""
    seen = Watching()
    seen.pace.heard('agent', LIMIT_S)
    heard_s, longest_s = seen.pace.now_s(), 0.0
    for _ in range(int(0.9 * PATIENCE_S / 0.01)):
        seen.wall.now += 0.01
        seen.stamp_s = max(seen.stamp_s, min(seen.stamp_s + 0.01, seen.pace.until_s()))
        longest_s = max(longest_s, seen.pace.now_s() - heard_s)
    assert 0.0 < longest_s < LIMIT_S
    seen.wall.now += 0.2 * PATIENCE_S
    for _ in range(20):
        seen.stamp_s = min(seen.stamp_s + 0.01, seen.pace.until_s())
    assert seen.pace.now_s() - heard_s > LIMIT_S, 'the gate must find it'


def test_time_does_not_run_ahead_of_what_was_seen_of_it() -> None:
    seen = Watching()
    assert seen.pace.until_s() == pytest.approx(10.0 + LEAD_S)
    seen.stamp_s = 11.0
    assert seen.pace.until_s() == pytest.approx(11.0 + LEAD_S)


def test_ages_are_those_of_simulated_time() -> None:
    seen = Watching()
    begun_s = seen.pace.now_s()
    seen.wall.now += 1.0
    seen.stamp_s += 0.02
    assert seen.pace.now_s() - begun_s == pytest.approx(0.02)
    seen.stamp_s += 3.0
    assert seen.pace.now_s() - begun_s == pytest.approx(3.02)


def test_ages_go_on_when_the_hardware_has_died() -> None:
    seen = Watching()
    begun_s = seen.pace.now_s()
    seen.wall.now += ALONE_S
    assert seen.pace.now_s() == begun_s
    seen.wall.now += 0.5
    assert seen.pace.now_s() - begun_s == pytest.approx(0.5)
    seen.stamp_s += 0.01  # it was only late
    assert seen.pace.now_s() - begun_s == pytest.approx(0.51)
    seen.wall.now += 0.9 * ALONE_S
    assert seen.pace.now_s() - begun_s == pytest.approx(0.51)


def test_in_one_process_ages_stand_as_long_as_nobody_moves_the_arm() -> None:
    wall = WallClock()
    pace = Pace(lambda: 3.0, wall=wall)
    begun_s = pace.now_s()
    wall.now += 1e4
    assert pace.now_s() == begun_s


def test_the_clock_of_ages_is_not_set_back_by_hardware_that_is_started_anew() -> None:
    seen = Watching()
    before_s = seen.pace.now_s()
    seen.stamp_s = 0.5
    assert seen.pace.now_s() == before_s
    seen.stamp_s = 0.6
    assert seen.pace.now_s() - before_s == pytest.approx(0.1)


def test_before_the_first_stamp_ages_stand_and_then_begin() -> None:
    wall = WallClock()
    stamps = [-math.inf]
    pace = Pace(lambda: stamps[0], LEAD_S, ALONE_S, wall)
    assert pace.until_s() == -math.inf
    assert pace.now_s() == 0.0
    wall.now += 3 * ALONE_S
    assert pace.now_s() == 0.0, 'hardware that starts late has not died'
    stamps[0] = 1e6
    assert pace.now_s() == 0.0, 'no age is a million seconds because a clock is'


def test_an_operator_has_as_long_as_the_wall_says() -> None:
    """While he thinks nothing moves, and simulated time stands."""
    robot, looks = load_robot('panda'), itertools.count()

    def stands() -> float:
        assert next(looks) < 100, 'the operator would have for ever'
        return 0.0
    gate = Gate(FollowingArm(robot, WallClock(), robot.arm.ready), robot, Kinematics(robot),
                GateSettings(confirm='motion', confirm_timeout_s=3.0), clock=stands,
                wall=map(float, itertools.count()).__next__)
    try:
        gate.new_episode()
        with pytest.raises(ArmStoppedError, match='no operator') as error:
            gate.grip(0.01, 10.0, 'close')
        assert error.value.cause == 'no_answer'
    finally:
        gate.close()


def test_time_does_not_go_on_before_a_sign_of_life_is_noted() -> None:
    """Nor farther for the time that went on while it was being noted."""
    seen = Watching()
    bounds = []

    def take() -> None:
        bounds.append(seen.pace.until_s())
        seen.stamp_s += 0.04
    seen.pace.heard('agent', LIMIT_S)
    seen.stamp_s += 0.02
    seen.pace.heard('agent', LIMIT_S, take)
    assert bounds == [pytest.approx(10.0 + 0.7 * LIMIT_S)]
    assert seen.pace.until_s() == pytest.approx(10.02 + 0.7 * LIMIT_S)
