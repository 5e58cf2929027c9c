"""The watcher's logic: an arm whose gate falls silent, with a clock of the test's."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from arm_doubles import FollowingArm, WallClock, brakes, take_brakes_late, way
from sightplan_arm.config import load_robot
from sightplan_arm.gate_status import HELD_AGAIN, GateState
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.watcher import (
    AFTER_BRAKING_S,
    AGAIN_S,
    ELSEWHERE_RAD,
    KEEP_AGAIN_S,
    LATCH_S,
    LATE_S,
    LOCK_BY_S,
    SETTLE_S,
    Watcher,
)

STEP_S = 0.005
ROBOT = load_robot('panda')
LIMIT_S = ROBOT.safety.heartbeat_timeout_s
BRAKING_S = float((ROBOT.arm.max_velocity / ROBOT.arm.stop_acceleration).max())


class Lock:
    """A driver's lock that confirms what it is asked for, if it is not deaf."""

    def __init__(self, clock):
        self._clock, self.asked, self.opened, self.closed = clock, [], 0, False
        self.deaf, self.lacking = False, ''

    def close(self):
        self.asked.append(self._clock())
        self.closed = not self.deaf

    def open(self):
        self.opened, self.closed = self.opened + 1, False

    def is_closed(self):
        return self.closed

    def missing(self):
        return self.lacking


class Scene:
    """An arm, its lock, and a watcher; time passes in steps."""

    def __init__(self):
        self.clock = WallClock()
        self.arm = FollowingArm(ROBOT, self.clock, ROBOT.arm.ready)
        self.lock = Lock(self.clock)
        self.kept = []
        self.watcher = Watcher(ROBOT, self.arm, self.lock, keep=self.kept.append,
                               clock=self.clock)
        self.gate_lives = True

    def pass_(self, seconds):
        for _ in range(round(seconds / STEP_S)):
            self.arm.wait(STEP_S)
            if self.gate_lives:
                self.watcher.beat()
            self.watcher.tick()

    def begin(self):
        """A motion under way, in its middle."""
        self.pass_(0.05)
        self.arm.command(way(ROBOT, ROBOT.arm.ready, ROBOT.arm.park))
        self.pass_(0.4)
        assert self.speed() > 0.3

    def speed(self):
        return float(np.abs(self.arm.state().velocities).max())

    @property
    def state(self):
        return self.watcher.status().state


def test_a_moving_arm_whose_gate_dies_stands_in_time_and_is_locked_then():
    scene = Scene()
    scene.begin()
    assert scene.state is GateState.ARMED
    scene.gate_lives, died_s = False, scene.clock()
    scene.pass_(LIMIT_S + BRAKING_S + 4 * STEP_S)
    assert scene.speed() == 0.0
    assert brakes(scene.arm.sent[-1].trajectory, ROBOT)
    assert not scene.lock.asked, 'a controller that is deactivated in mid-motion jerks'
    scene.pass_(AFTER_BRAKING_S + BRAKING_S)
    assert scene.lock.closed
    assert scene.lock.asked[0] - died_s < LIMIT_S + BRAKING_S + AFTER_BRAKING_S + 4 * STEP_S
    assert (scene.state, scene.watcher.status().cause) == (GateState.HOLDING, 'gate_late')
    scene.pass_(LATCH_S)
    assert scene.watcher.status().cause == 'watcher'
    assert scene.state is GateState.STOPPED
    assert len(scene.kept) == 1
    assert 'died or hangs' in scene.kept[0]


def test_it_stays_stopped_when_the_gate_is_back_until_a_person_rearms():
    scene = Scene()
    scene.begin()
    scene.gate_lives = False
    scene.pass_(0.1 + LATCH_S)
    scene.gate_lives = True
    scene.watcher.gate_is(GateState.HOLDING)
    scene.pass_(5.0)
    assert scene.state is GateState.STOPPED
    assert scene.lock.closed
    scene.watcher.rearm()
    assert (scene.state, scene.lock.opened) == (GateState.REARMED, 1)
    scene.pass_(0.05)
    assert scene.state is GateState.ARMED
    assert not scene.watcher.status().message
    scene.watcher.rearm()
    assert (scene.state, scene.lock.opened) == (GateState.ARMED, 2), 'perhaps an older lock'


def test_a_beat_counts_from_when_it_came_here():
    scene = Scene()
    scene.gate_lives = False
    scene.pass_(0.1)
    scene.watcher.beat(LIMIT_S - 2.5 * STEP_S)
    scene.pass_(2 * STEP_S)
    assert scene.state is GateState.ARMED
    scene.watcher.beat(0.2)
    scene.pass_(2 * STEP_S)
    assert scene.state is GateState.HOLDING


def test_a_gate_that_is_late_while_the_arm_stands_stops_nothing():
    scene = Scene()
    scene.pass_(0.1)
    scene.gate_lives = False
    scene.pass_(LIMIT_S + 2 * STEP_S)
    assert scene.state is GateState.HOLDING
    scene.gate_lives = True
    scene.pass_(2 * STEP_S)
    assert scene.state is GateState.ARMED
    assert not scene.arm.sent
    assert not scene.lock.asked


@pytest.mark.parametrize(('says', 'ends'), [
    (GateState.HOLDING, GateState.ARMED), (GateState.ARMED, GateState.STOPPED)])
def test_a_gate_that_was_late_holds_the_arm_itself_or_it_is_stopped(says, ends):
    """The lock is not opened for a gate that would let motions pass."""
    scene = Scene()
    scene.watcher.gate_is(GateState.ARMED)
    scene.begin()
    scene.gate_lives = False
    scene.pass_(LIMIT_S + 2 * STEP_S)
    assert scene.watcher.status().cause == 'gate_late'
    scene.gate_lives = True
    scene.watcher.gate_is(says)
    scene.pass_(0.1)
    assert not scene.lock.opened, 'it brakes yet'
    scene.pass_(LATCH_S)
    assert scene.state is ends
    assert scene.lock.opened == (ends is GateState.ARMED)
    assert scene.lock.closed == (ends is GateState.STOPPED)
    assert bool(scene.kept) == (ends is GateState.STOPPED)


def test_a_gate_that_is_gone_leaves_a_standing_arm_to_people():
    scene = Scene()
    scene.pass_(0.1)
    scene.gate_lives = False
    assert scene.watcher.watches()
    scene.pass_(LIMIT_S + SETTLE_S + 4 * STEP_S)
    assert scene.state is GateState.REARMED
    assert not scene.watcher.watches()
    scene.arm.push_rad_s = scene.arm.push_rad_s + 0.5  # hand guiding
    scene.pass_(0.5)
    assert scene.state is GateState.REARMED
    assert not scene.arm.sent


@pytest.mark.parametrize('change', ['speed', 'place'])
def test_an_arm_that_begins_to_move_while_the_gate_is_silent_is_stopped(change):
    """Its last command was on its way; one too slow to be seen as motion shows in the place."""
    scene = Scene()
    scene.pass_(0.1)
    scene.gate_lives = False
    scene.pass_(LIMIT_S + 4 * STEP_S)
    assert scene.state is GateState.HOLDING
    if change == 'speed':
        scene.arm.push_rad_s = scene.arm.push_rad_s + 0.2
    else:
        scene.arm.offset_rad = scene.arm.offset_rad + 0.005
    scene.pass_(2 * STEP_S)
    assert scene.watcher.status().cause == 'gate_late'
    assert len(scene.arm.sent) == 1


def test_without_joint_states_nobody_knows_so_it_is_locked_at_once():
    scene = Scene()
    scene.begin()
    scene.arm.silent = True
    scene.pass_(ROBOT.safety.state_timeout_s)
    scene.gate_lives, sent = False, len(scene.arm.sent)
    scene.pass_(LIMIT_S + 4 * STEP_S)
    assert scene.lock.closed
    assert len(scene.arm.sent) == sent, 'nothing is known to brake from'
    scene.pass_(LATCH_S)
    assert scene.state is GateState.STOPPED
    with pytest.raises(ArmStoppedError, match='still moves, or no joint states come'):
        scene.watcher.rearm()


def test_an_arm_that_does_not_brake_is_braked_again_and_locked():
    scene = Scene()
    scene.begin()
    scene.arm.losing, scene.gate_lives = 1, False
    sent = len(scene.arm.sent)
    scene.pass_(LIMIT_S + 2 * (BRAKING_S + AFTER_BRAKING_S) + 8 * STEP_S)
    assert len(scene.arm.sent) == sent + 2
    assert scene.speed() == 0.0


@pytest.mark.parametrize(('late_s', 'told'), [(0.01, 1), (0.03, 1), (0.08, 2), (0.12, 3)])
def test_a_brake_that_comes_late_does_not_throw_the_arm_back(late_s, told):
    """A controller that is busy gets the newest command when it is no longer."""
    scene = Scene()
    scene.begin()
    speed, scene.gate_lives = np.abs(scene.arm.velocity), False
    waiting, behind = take_brakes_late(scene.arm, late_s)
    scene.pass_(LIMIT_S + late_s + BRAKING_S + 4 * STEP_S)
    assert scene.speed() == 0.0
    assert (np.abs(behind[0]) <= speed * (LATE_S + 2.01 * STEP_S) + 1e-9).all()
    assert len(waiting) == told


@pytest.mark.parametrize('speed', [0.2, 0.4])
def test_an_arm_that_takes_no_command_is_locked_in_time(speed):
    scene = Scene()
    scene.pass_(0.05)
    scene.arm.command(way(ROBOT, ROBOT.arm.ready, ROBOT.arm.park, speed))
    scene.pass_(0.4)
    scene.arm.deaf, scene.gate_lives = True, False
    scene.pass_(LIMIT_S + LOCK_BY_S + 4 * STEP_S)
    assert scene.speed() > 0.05
    assert scene.lock.closed


def test_an_arm_that_creeps_is_not_braked_for_ever():
    scene = Scene()
    scene.pass_(0.05)
    scene.gate_lives = False
    scene.pass_(LIMIT_S + 2 * STEP_S)
    scene.arm.offset_rad[2], scene.arm.push_rad_s[2] = 0.01, 0.01
    scene.pass_(2.0)
    assert scene.state is GateState.STOPPED and scene.lock.closed
    assert len(scene.arm.sent) == 1


@pytest.mark.parametrize('late_s', [0.03, 0.05])
def test_an_arm_that_follows_late_is_braked_once(late_s):
    scene = Scene()
    scene.arm.late_s = late_s
    scene.begin()
    scene.gate_lives, sent = False, len(scene.arm.sent)
    scene.pass_(LIMIT_S + BRAKING_S + AFTER_BRAKING_S + 4 * STEP_S)
    assert scene.speed() == 0.0
    assert len(scene.arm.sent) == sent + 1


def test_a_lock_that_does_not_answer_is_asked_again():
    scene = Scene()
    scene.lock.deaf = True
    scene.begin()
    scene.gate_lives = False
    scene.pass_(1.0 + 2 * AGAIN_S)
    assert len(scene.lock.asked) > 2
    assert np.diff(scene.lock.asked).min() >= AGAIN_S - 1e-9
    assert not scene.watcher.leave(), 'not yet locked'
    scene.lock.deaf = False
    scene.pass_(AGAIN_S)
    assert scene.watcher.leave()


def test_a_stop_that_cannot_be_kept_is_kept_later():
    scene = Scene()
    tried, full = [], [True]

    def keep(message):
        tried.append(scene.clock())
        if full[0]:
            raise OSError('no space left')
        scene.kept.append(message)
    scene.watcher._keep = keep
    scene.begin()
    scene.gate_lives = False
    scene.pass_(0.2 + LATCH_S)
    assert (scene.state, len(tried)) == (GateState.STOPPED, 1)
    assert 'no space left' in '; '.join(scene.watcher.status().missing)
    assert not scene.watcher.leave(), 'else the stop would be lost'
    assert scene.lock.closed
    scene.pass_(3.0)
    assert len(tried) > 2
    assert np.diff(tried).min() >= KEEP_AGAIN_S - 1e-9
    full[0] = False
    scene.pass_(KEEP_AGAIN_S + STEP_S)
    assert len(scene.kept) == 1
    assert not scene.watcher.status().missing
    assert scene.watcher.leave()
    before = len(tried)
    scene.pass_(3.0)
    assert len(tried) == before


def test_a_controller_that_takes_nothing_is_locked_all_the_same():
    scene = Scene()
    scene.begin()
    scene.arm.broken, scene.gate_lives = True, False
    scene.pass_(LIMIT_S + 4 * STEP_S)
    assert scene.lock.closed


def test_it_does_not_leave_a_moving_arm():
    scene = Scene()
    scene.begin()
    assert not scene.watcher.leave()
    scene.gate_lives = False
    scene.pass_(0.4)
    assert scene.lock.closed
    assert not scene.watcher.leave(), 'the stop is not kept yet'
    scene.pass_(LATCH_S)
    assert scene.watcher.leave()
    assert scene.kept


def test_it_is_not_ready_without_joint_states_controller_or_lock():
    clock = WallClock()
    arm = FollowingArm(ROBOT, clock)
    arm._measured, arm._measured_at = None, -math.inf
    lock = Lock(clock)
    lock.lacking = 'no manager: start it'
    watcher = Watcher(ROBOT, arm, lock, reach=lambda: 'no controller: start it', clock=clock)
    assert len(watcher.status().missing) == 3
    watcher.beat()
    watcher.tick()
    clock.now += 1.0
    watcher.tick()
    assert watcher.status().state is GateState.HOLDING, 'an arm never measured is no moving one'


@pytest.mark.parametrize('freed_after_s', [0.2, 1.5, 3.0, 5.0])
@pytest.mark.parametrize('has_lock', [True, False])
def test_a_blocked_arm_whose_gate_dies_stays_where_it_is_when_it_is_free(freed_after_s, has_lock):
    scene = Scene()
    scene.watcher.gate_is(GateState.ARMED, moving=True)
    scene.begin()
    if not has_lock:
        scene.lock.deaf = True
    scene.arm.stuck = True
    scene.pass_(0.05)
    where, scene.gate_lives = scene.arm.posture.copy(), False
    scene.pass_(freed_after_s)
    scene.arm.stuck = False
    scene.pass_(1.0)
    assert np.array_equal(scene.arm.posture, where)
    assert scene.state is GateState.STOPPED
    assert len(scene.kept) == 1


def test_an_arm_that_is_blocked_while_it_brakes_is_told_to_stay_where_it_stands():
    scene = Scene()
    scene.lock.deaf = True
    scene.begin()
    scene.gate_lives = False
    scene.arm.on_command = lambda trajectory: setattr(scene.arm, 'stuck', True)
    scene.pass_(LIMIT_S + 2 * (BRAKING_S + AFTER_BRAKING_S) + 4 * STEP_S)
    where, scene.arm.on_command = scene.arm.posture.copy(), lambda trajectory: None
    scene.arm.stuck = False
    scene.pass_(1.0)
    assert np.array_equal(scene.arm.posture, where)


def test_an_arm_whose_encoder_lies_is_not_led_away_step_by_step():
    """It moves by as much as the encoder is off whenever it is told where it is measured."""
    scene = Scene()
    scene.lock.deaf = True
    scene.begin()
    scene.gate_lives = False
    scene.pass_(LIMIT_S + BRAKING_S + AFTER_BRAKING_S + LATCH_S)
    assert scene.state is GateState.STOPPED
    where, scene.arm.offset_rad[4] = scene.arm.posture.copy(), 0.05
    scene.pass_(10.0)
    assert np.abs(scene.arm.posture - where).max() <= HELD_AGAIN * 0.05 + 1e-9


def test_an_arm_that_is_moved_by_hand_after_it_was_braked_stays_where_it_is_left():
    """Its drives are off and it cannot be locked: once they are on it does what it was told."""
    scene = Scene()
    scene.lock.deaf = True
    scene.begin()
    scene.gate_lives = False
    scene.pass_(LIMIT_S + BRAKING_S + AFTER_BRAKING_S + LATCH_S)
    scene.arm.stuck = True
    for _ in range(300):  # 0.03 rad/s
        scene.arm.posture = scene.arm.posture + 0.03 * STEP_S
        scene.pass_(STEP_S)
    scene.pass_(1.0)
    where, scene.arm.stuck = scene.arm.posture.copy(), False
    scene.pass_(1.0)
    assert np.abs(scene.arm.posture - where).max() <= ELSEWHERE_RAD


def test_an_arm_whose_driver_reports_no_velocities_is_stopped_when_its_gate_dies():
    scene = Scene()
    measure = scene.arm._measure

    def without_velocities():
        measure()
        scene.arm._measured = dataclasses.replace(scene.arm._measured, velocities=np.zeros(7))
    scene.arm._measure = without_velocities
    scene.pass_(0.05)
    scene.arm.command(way(ROBOT, ROBOT.arm.ready, ROBOT.arm.park))
    scene.pass_(0.4)
    scene.gate_lives = False
    scene.pass_(LIMIT_S + 4 * STEP_S)
    brake = scene.arm.sent[1].trajectory
    assert brakes(brake, ROBOT)
    assert np.abs(brake.velocities[0]).max() > 0.3
    scene.pass_(BRAKING_S + 4 * STEP_S)
    where = scene.arm.posture.copy()
    scene.pass_(1.0)
    assert np.array_equal(scene.arm.posture, where)
    assert scene.state is GateState.STOPPED
    assert scene.watcher.distrusted()


@pytest.mark.parametrize('moment_s', np.linspace(0.05, 1.2, 12))
def test_it_stands_within_the_limits_whenever_the_gate_dies(moment_s):
    scene = Scene()
    scene.pass_(0.05)
    scene.arm.command(way(ROBOT, ROBOT.arm.ready, ROBOT.arm.park))
    scene.pass_(moment_s)
    scene.gate_lives = False
    scene.pass_(LIMIT_S + BRAKING_S + 6 * STEP_S)
    assert scene.speed() == 0.0
