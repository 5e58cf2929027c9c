"""A simulated arm that was blocked when it was stopped stays there when it is free again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate, GateSettings, GateState
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.trajectories import joint_line, timed
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import SimulatedArm

ROBOT = load_robot('panda')
PHASES = np.linspace(0.05, 0.85, 20)
FREED_AFTER_S = np.random.default_rng(2).permutation(np.geomspace(0.2, 10.0, 20))
NEAR_RAD = 1e-4
"""So near to where it stood a joint settles, for its weight bends its motor a little."""


class Kept:
    """Keeps the joints of a simulated arm where they are, as brakes of drives that are off do."""

    def __init__(self, arm: SimulatedArm) -> None:
        self.arm, self.at = arm, None
        arm._after_step.append(self)

    def __call__(self) -> None:
        if self.at is not None:
            for joint, value in zip(self.arm._arm_joints, self.at, strict=True):
                self.arm._bullet.resetJointState(self.arm._body, joint, float(value), 0.0)
            self.arm._measure()

    def begin(self) -> None:
        self.at = self.arm.state().positions.copy()

    def end(self) -> None:
        self.at = None


@pytest.fixture(scope='module')
def shared() -> Iterator[tuple[SimulatedArm, Kept]]:
    with SimulatedArm(ROBOT, HardwareSettings(), block_m=0.05, table_y_m=(-0.06, 0.2)) as arm:
        yield arm, Kept(arm)


def pass_time(arm: SimulatedArm, gate: Gate, seconds: float) -> None:
    for _ in range(round(seconds / 0.02)):
        arm.wait(0.02)
        gate.tick()


@pytest.mark.parametrize(('phase', 'freed_after_s'), [
    case if number % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow)
    for number, case in enumerate(zip(PHASES, FREED_AFTER_S, strict=True))])
def test_a_blocked_arm_that_was_stopped_stays_where_it_is_when_it_is_freed(
        shared, phase: float, freed_after_s: float) -> None:
    arm, kept = shared
    kept.end()
    arm.reset({})
    arm.wait(0.5)
    gate = Gate(arm, ROBOT, Kinematics(ROBOT), GateSettings(period_s=0.02), clock=arm.now_s)
    gate.new_episode()
    go = timed(joint_line(arm.state().positions, ROBOT.arm.ready), ROBOT.arm.max_velocity,
               ROBOT.arm.max_acceleration)
    begin_s, begun = arm.now_s() + phase * go.duration_s, []

    def block() -> None:
        if not begun and arm.now_s() >= begin_s:
            begun.append(arm.now_s())
            kept.begin()
    arm._after_step.append(block)
    try:
        with pytest.raises(ArmStoppedError):  # tracking: off its way, or not at its end
            gate.follow(go, 'a way')
    finally:
        arm._after_step.remove(block)
    assert gate.status().state is GateState.STOPPED
    where = arm.state().positions.copy()
    pass_time(arm, gate, freed_after_s)
    kept.end()
    pass_time(arm, gate, 0.6)
    assert np.abs(arm.state().positions - where).max() < NEAR_RAD
    gate.rearm('a person')
    gate.new_episode()
    pass_time(arm, gate, 0.4)
    assert np.abs(arm.state().positions - where).max() < NEAR_RAD
    assert gate.status().state is GateState.ARMED
