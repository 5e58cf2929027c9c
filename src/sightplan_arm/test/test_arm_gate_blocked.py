"""An arm that stands in mid-motion when it is stopped stays there when it is free again."""

from __future__ import annotations

import numpy as np
import pytest

from arm_doubles import FollowingArm, WallClock, way
from sightplan_arm.gate import Gate, GateSettings, GateState
from sightplan_arm.gate_status import HELD_AGAIN
from sightplan_arm.hardware import ArmStoppedError, JointState
from sightplan_arm.trajectories import sample

PHASES = np.linspace(0.02, 0.85, 20)  # later too little of the motion is left
FREED_AFTER_S = np.geomspace(0.2, 10.0, 20)
CASES = [(*case, 'tracking') for case in zip(PHASES, FREED_AFTER_S, strict=True)]
CASES += [(*case[:2], end) for case in CASES[::2] for end in ('stop', 'hold')]
PERIOD_S = 0.02


class Blocked:
    """A gate over an arm that something keeps from going on, or whose drives are off."""

    def __init__(self, robot, kinematics):
        self.robot, self.clock = robot, WallClock()
        self.arm = FollowingArm(robot, self.clock)
        self.gate = Gate(self.arm, robot, kinematics, GateSettings(period_s=PERIOD_S),
                         clock=self.clock)
        self.gate.new_episode()
        self.go = way(robot, robot.arm.park, robot.arm.ready)

    def pass_time(self, seconds):
        for _ in range(round(seconds / PERIOD_S)):
            self.arm.wait(PERIOD_S)
            self.gate.tick()

    def block(self, blocked=True):
        self.arm.stuck = blocked

    def stopped_at(self, phase, end):
        """Begin a motion, keep the arm in place at a part of it, and end the motion."""
        self.arm.after(phase * self.go.duration_s, self.block)
        if end != 'tracking':
            self.arm.after(phase * self.go.duration_s + 0.1, getattr(self.gate, end))
        with pytest.raises(ArmStoppedError):
            self.gate.follow(self.go, 'a way')
        assert self.gate.status().state is (
            GateState.HOLDING if end == 'hold' else GateState.STOPPED)


@pytest.fixture
def blocked(panda, panda_kinematics):
    return Blocked(panda, panda_kinematics)


@pytest.mark.parametrize(('phase', 'freed_after_s', 'end'), [
    case if number % 3 == 0 else pytest.param(*case, marks=pytest.mark.slow)
    for number, case in enumerate(CASES)])
def test_a_blocked_arm_that_was_stopped_stays_where_it_is_when_it_is_freed(
        blocked, phase, freed_after_s, end):
    blocked.stopped_at(phase, end)
    where = blocked.arm.posture.copy()
    blocked.pass_time(freed_after_s)
    blocked.block(False)
    blocked.pass_time(1.0)
    assert np.abs(blocked.arm.posture - where).max() < 1e-9
    blocked.gate.rearm('a person')
    blocked.gate.new_episode()
    blocked.pass_time(1.0)
    assert np.abs(blocked.arm.posture - where).max() < 1e-9
    assert blocked.gate.status().state is GateState.ARMED


@pytest.mark.parametrize('rearmed_first', [False, True])
def test_an_arm_that_is_moved_while_its_drives_are_off_stays_there_when_they_are_on(
        blocked, rearmed_first):
    blocked.stopped_at(0.5, 'stop')
    blocked.pass_time(2.0)
    for _ in range(5):  # a person moves it by hand, slowly, now and then
        for _ in range(25):
            blocked.arm.posture = blocked.arm.posture + 0.0008
            blocked.pass_time(PERIOD_S)
        blocked.pass_time(1.5)
    where = blocked.arm.posture.copy()
    if rearmed_first:
        blocked.gate.rearm('a person')
        blocked.gate.new_episode()
    blocked.block(False)
    blocked.pass_time(1.0)
    tolerance = 0.0 if rearmed_first else 0.5 * blocked.robot.safety.start_tolerance_rad
    assert np.abs(blocked.arm.posture - where).max() <= tolerance


@pytest.mark.parametrize('end', ['stop', 'hold'])
def test_every_stop_has_the_arm_stay_where_it_is_measured(blocked, end):
    gate, arm = blocked.gate, blocked.arm
    getattr(gate, end)()
    for count in range(1, 5):
        assert len(arm.sent) == count
        assert np.array_equal(arm.sent[-1].trajectory.positions, [arm.posture] * 2)
        blocked.pass_time(0.5)
        gate.stop()
    count = len(arm.sent)
    gate.rearm('a person')
    assert len(arm.sent) == count + 1
    blocked.pass_time(2.0)
    assert len(arm.sent) == count + 1


def test_a_controller_that_refuses_to_stay_is_not_told_so_for_ever(blocked):
    """What it says of a refused goal comes back as a stop, ``command_failed``."""
    blocked.arm.on_command = lambda trajectory: blocked.arm.after(
        0.1, lambda: blocked.gate.stop('command_failed', 'the controller refused a goal'))
    blocked.gate.stop()
    blocked.pass_time(5.0)
    assert len(blocked.arm.sent) == 1
    assert blocked.gate.status().cause == 'stop_request'


def test_a_stop_before_any_measurement_has_the_arm_stay_as_soon_as_one_comes(
        panda, panda_kinematics):
    clock = WallClock()
    arm = FollowingArm(panda, clock)
    arm._measured, arm._measured_at, arm.silent = None, -np.inf, True
    gate = Gate(arm, panda, panda_kinematics, clock=clock)
    gate.stop()
    assert not arm.sent
    arm.silent = False
    for _ in range(20):
        arm.wait(0.02)
        gate.tick()
    assert len(arm.sent) == 1
    assert np.array_equal(arm.sent[0].trajectory.positions, [panda.arm.park] * 2)


def test_a_standing_arm_that_takes_no_command_is_told_to_stay_as_soon_as_it_does(blocked):
    """No controller is active: that is no failed braking, for nothing is under way."""
    blocked.arm.broken = True
    blocked.gate.stop()
    assert blocked.gate.status().cause == 'stop_request'
    blocked.pass_time(3.0)
    assert not blocked.arm.sent
    blocked.arm.broken = False
    blocked.pass_time(1.5)
    assert len(blocked.arm.sent) == 1


def test_old_measurements_are_not_gone_back_to(blocked):
    """The arm may be elsewhere by now; it is told to stay when joint states come again."""
    blocked.arm.silent = True
    blocked.pass_time(1.0)
    blocked.arm.posture = blocked.arm.posture + 0.2
    blocked.gate.hold()
    blocked.pass_time(1.0)
    assert not blocked.arm.sent
    blocked.arm.silent = False
    blocked.pass_time(1.5)
    assert np.array_equal(blocked.arm.sent[-1].trajectory.positions, [blocked.arm.posture] * 2)


def test_a_blocked_arm_whose_joint_states_end_is_braked_all_the_same(blocked):
    """From where it is told to be; and told to stay where it stands when they come again."""
    def go_silent():
        blocked.arm.silent = True
    at_s = 0.5 * blocked.go.duration_s
    blocked.arm.after(at_s, blocked.block)
    blocked.arm.after(at_s + 0.04, go_silent)
    with pytest.raises(ArmStoppedError) as caught:
        blocked.gate.follow(blocked.go, 'a way')
    assert caught.value.cause == 'stale_state'
    begun, braked = blocked.arm.sent[:2]  # without the second it would go on when it is free
    where, speed, _ = sample(blocked.go, braked.time_s - begun.time_s)
    assert braked.trajectory.positions[0] == pytest.approx(where)
    assert braked.trajectory.velocities[0] == pytest.approx(speed)
    stands = blocked.arm.posture.copy()
    blocked.arm.silent = False
    blocked.pass_time(1.0)
    blocked.block(False)
    blocked.pass_time(1.0)
    assert np.abs(blocked.arm.posture - stands).max() < 1e-9


def test_an_arm_that_was_told_to_stay_and_moved_since_is_told_so_again(blocked):
    """Although it stands where it was told to stay before, and nothing was known meanwhile."""
    blocked.gate.hold()
    blocked.gate.new_episode()
    arm = blocked.robot.arm
    blocked.gate.follow(blocked.go, 'there')
    blocked.gate.follow(way(blocked.robot, arm.ready, arm.park), 'back')
    blocked.arm.silent = True
    blocked.pass_time(1.0)
    sent = len(blocked.arm.sent)
    blocked.gate.hold()
    assert len(blocked.arm.sent) == sent
    blocked.arm.silent = False
    blocked.pass_time(1.5)
    assert len(blocked.arm.sent) == sent + 1
    assert np.array_equal(blocked.arm.sent[-1].trajectory.positions, [blocked.arm.posture] * 2)


def test_an_arm_whose_encoder_lies_is_not_led_away_step_by_step(blocked):
    """It moves by as much as the encoder is off whenever it is told where it is measured."""
    blocked.pass_time(0.5)
    blocked.arm.offset_rad[4] = 0.05
    blocked.pass_time(20.0)
    assert blocked.gate.status().cause == 'unexpected_motion'
    assert len(blocked.arm.sent) <= HELD_AGAIN + 1


# --- drivers that report wrong velocities -----------------------------------------------------


class Misreporting(FollowingArm):
    """An arm whose driver reports each velocity times a factor; and what a person does to it."""

    factor, drag_rad_s = 0.0, 0.0

    def _measure(self):
        super()._measure()
        state = self._measured
        self._measured = JointState(state.stamp_s, state.positions,
                                    self.factor * state.velocities, state.opening_m)

    def wait(self, seconds):
        if self.drag_rad_s:
            self._trajectory = None  # whoever drags is stronger
            self.posture = self.posture + seconds * self.drag_rad_s
        super().wait(seconds)


@pytest.fixture
def still(panda, panda_kinematics):
    """A gate over an arm whose driver always reports velocities of zero."""
    made = Blocked(panda, panda_kinematics)
    made.arm = Misreporting(panda, made.clock)
    made.gate = Gate(made.arm, panda, panda_kinematics, GateSettings(period_s=PERIOD_S),
                     clock=made.clock)
    made.gate.new_episode()
    return made


def test_motions_of_an_arm_without_velocities_are_carried_out_and_its_driver_is_named(still):
    assert still.gate.follow(still.go, 'a way')
    assert still.gate.distrusted()
    assert set(still.gate.distrusted()) <= set(still.robot.arm.joints)
    still.arm.factor = 1.0
    assert still.gate.follow(way(still.robot, still.go.positions[-1], still.robot.arm.park),
                             'back')
    assert not still.gate.distrusted(), 'it has reported them rightly for long enough'


def test_a_driver_that_reports_well_is_never_named(blocked):
    named = []
    blocked.arm.on_command = lambda trajectory: blocked.arm.after(0.02, look)

    def look():
        named.extend(blocked.gate.distrusted())
        if len(blocked.arm.sent) < 2:
            blocked.arm.after(0.02, look)
    assert blocked.gate.follow(blocked.go, 'a way')
    assert not named


@pytest.mark.parametrize('factor', [0.5, 2.0, -1.0])
def test_velocities_that_are_scaled_are_named(still, factor):
    still.arm.factor = factor
    still.gate.follow(way(still.robot, still.robot.arm.park, still.robot.arm.ready, 0.4), 'a way')
    assert still.gate.distrusted()


@pytest.mark.parametrize('speed', [0.005, 0.03, 0.1, 0.5])
def test_an_idle_arm_that_is_dragged_is_stopped(still, speed):
    still.pass_time(0.5)
    start = still.arm.posture.copy()
    still.arm.drag_rad_s = speed
    still.pass_time(0.3 / speed)
    assert still.gate.status().cause == 'unexpected_motion'
    gone = next(one for one in still.arm.sent).trajectory.positions[0] - start
    assert np.abs(gone).max() < 0.02 + 0.5 * speed + 1e-3


def test_an_idle_arm_that_jumps_is_stopped(still):
    still.pass_time(0.5)
    still.arm.posture = still.arm.posture + 0.3
    still.pass_time(0.5)
    assert still.gate.status().state is GateState.STOPPED
    assert np.array_equal(still.arm.sent[-1].trajectory.positions[-1], still.arm.posture)


def test_an_arm_that_others_move_is_braked_with_the_velocity_that_its_positions_show(still):
    still.pass_time(0.5)
    still.arm.drag_rad_s = 0.5
    still.pass_time(0.2)
    still.gate.stop()
    brake = still.arm.sent[0].trajectory
    assert brake.velocities[0] == pytest.approx(0.5, abs=1e-6)
    assert still.gate.status().moving


@pytest.mark.parametrize('end', ['stop', 'hold'])
@pytest.mark.parametrize('after_s', [0.04, 0.06, 0.08, 0.1, 0.12, 0.16, 0.2, 0.3, 0.5, 0.8])
def test_a_motion_of_an_arm_without_velocities_is_braked(still, end, after_s):
    still.arm.after(after_s, getattr(still.gate, end))
    with pytest.raises(ArmStoppedError):
        still.gate.follow(still.go, 'a way')
    brake = still.arm.sent[1].trajectory
    told = sample(still.go, still.arm.sent[1].time_s - still.arm.sent[0].time_s)[1]
    assert np.abs(told).max() > 0.04
    assert brake.velocities[0] == pytest.approx(told)
    where = still.arm.posture.copy()
    still.pass_time(2.0)
    assert np.array_equal(still.arm.posture, where)


def test_an_arm_without_velocities_that_moves_is_not_rearmed(still):
    still.gate.stop()
    still.pass_time(2.0)
    still.arm.drag_rad_s = 0.2
    still.pass_time(0.3)
    with pytest.raises(ArmStoppedError, match='still moves'):
        still.gate.rearm('a person')
