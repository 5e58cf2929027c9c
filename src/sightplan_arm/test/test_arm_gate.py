"""The safety gate: every cause, holds and stops, confirmation, dry run, heartbeats."""

import re
import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import sightplan_arm.gate
from arm_doubles import FollowingArm, WallClock, brakes, take_brakes_late, way
from sightplan.model import InputError, WorldError
from sightplan_arm.gate import (
    AGAIN_S,
    CAUSES,
    HOLDING,
    LATCHING,
    REFUSING,
    Gate,
    GateSettings,
    GateState,
)
from sightplan_arm.hardware import ArmStoppedError, JointState, JointTrajectory
from sightplan_arm.trajectories import sample
from sightplan_arm.watchdog import Fingers


class Bench:
    """A gate over an arm that stands parked, an episode begun."""

    def __init__(self, robot, kinematics, settings=None, **options):
        self.robot, self.clock = robot, WallClock()
        self.arm = FollowingArm(robot, self.clock)
        self.gate = Gate(self.arm, robot, kinematics, settings, clock=self.clock, **options)
        self.gate.new_episode()
        self.there = robot.arm.park + 0.35 * (robot.arm.ready - robot.arm.park)
        self.go = way(robot, robot.arm.park, self.there)
        self.slow = way(robot, robot.arm.park, self.there, 0.25)

    def follow(self, trajectory=None, what='a way'):
        self.gate.follow(self.go if trajectory is None else trajectory, what)

    def changed(self, row, column=None, **arrays):
        """The way with one number of an array changed by a given value."""
        found = {name: getattr(self.go, name).copy()
                 for name in ('times_s', 'positions', 'velocities')}
        for name, value in arrays.items():
            found[name][(row,) if column is None else (row, column)] += value
        return JointTrajectory(**found)

    def error(self, call, *arguments):
        with pytest.raises(ArmStoppedError) as raised:
            call(*arguments)
        assert raised.value.cause in CAUSES
        return raised.value

    def told_to_stay(self):
        """Whether all that was sent has the arm stay where it is."""
        return all(np.array_equal(one.trajectory.positions, [self.arm.posture] * 2)
                   for one in self.arm.sent)

    def pass_time(self, seconds):
        for _ in range(round(seconds / 0.01)):
            self.arm.wait(0.01)
            self.gate.tick()


def eventually(true):
    """Wait for what another thread does."""
    deadline = time.monotonic() + 240.0
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def make(panda, panda_kinematics):
    return lambda settings=None, robot=panda, **options: Bench(
        robot, panda_kinematics, settings, **options)


@pytest.fixture
def bench(make):
    return make()


# --- every cause ------------------------------------------------------------------------------


def invalid(make):
    bench = make()
    return bench, bench.error(bench.follow, bench.changed(3, 2, positions=np.nan))


def position_limit(make):
    bench = make()
    end = bench.robot.arm.park.copy()
    end[6] = bench.robot.arm.upper[6] + 1e-6
    return bench, bench.error(bench.follow, way(bench.robot, bench.robot.arm.park, end))


def velocity_limit(make):
    robot = make().robot
    bench = make(robot=replace(robot, arm=replace(
        robot.arm, max_acceleration=2 * robot.arm.max_acceleration)))
    end = robot.arm.park.copy()
    end[6] = 2.0
    return bench, bench.error(bench.follow, way(robot, robot.arm.park, end, 1.01))


def acceleration_limit(make):
    bench = make()
    near = bench.robot.arm.park + 0.01
    fast = way(bench.robot, bench.robot.arm.park, near)
    quick = JointTrajectory(fast.times_s / 2, fast.positions, fast.velocities * 2)
    return bench, bench.error(bench.follow, quick)


def workspace(make):
    bench = make()
    away = bench.robot.arm.park.copy()
    away[0] = -2.8
    return bench, bench.error(bench.follow, way(bench.robot, bench.robot.arm.park, away))


def collision(make):
    bench = make()
    park, folded = bench.robot.arm.park, bench.robot.arm.park.copy()
    folded[3], folded[5] = -3.0, 0.4
    return bench, bench.error(bench.follow, way(bench.robot, park, folded))


def jump(make):
    bench = make()
    bench.arm.posture[2] += 1.05 * bench.robot.safety.start_tolerance_rad
    bench.arm.wait(0.01)
    return bench, bench.error(bench.follow)


def moving(make):
    bench = make()
    bench.arm.push_rad_s[4] = 0.06
    bench.arm.wait(0.01)
    return bench, bench.error(bench.follow)


def gripper_limit(make):
    bench = make()
    return bench, bench.error(bench.gate.grip, 0.2, 10.0, 'too wide')


def busy(make):
    bench = make()
    found = []
    bench.arm.after(0.1, lambda: found.append(bench.error(bench.follow)))
    bench.follow()
    return bench, found[0]


def outdated(make):
    bench = make()
    with bench.gate.skill('an old plan'):
        bench.gate.stop()
        bench.gate.rearm('a person')
        bench.gate.new_episode()
        return bench, bench.error(bench.follow)


def not_reset(make):
    bench = make()
    bench.gate.stop()
    bench.gate.rearm('a person')
    return bench, bench.error(bench.follow)


def answer(bench, accept):
    def listener(status):
        if status.pending:
            bench.gate.confirm(status.pending, accept)
    bench.gate.on_status(listener)


def declined(make):
    bench = make(GateSettings(confirm='motion'))
    answer(bench, False)
    return bench, bench.error(bench.follow)


def no_answer(make):
    bench = make(GateSettings(confirm='motion', confirm_timeout_s=5.0))
    bench.gate.on_status(lambda status: setattr(
        bench.clock, 'now', bench.clock.now + (6.0 if status.pending else 0.0)))
    return bench, bench.error(bench.follow)


def heartbeat(make):
    bench = make()
    bench.gate.require(['agent'])
    bench.gate.beat('agent')
    return bench, bench.error(bench.follow)


def stale_state(make):
    bench = make()
    bench.arm.after(0.1, lambda: setattr(bench.arm, 'silent', True))
    return bench, bench.error(bench.follow)


def stale_image(make):
    taken = [0.0]
    bench = make(image_age_s=lambda: taken[0])
    bench.arm.after(0.1, lambda: taken.__setitem__(0, 1.01))
    return bench, bench.error(bench.follow)


def cancelled(make):
    bench = make()
    bench.arm.after(0.1, bench.gate.hold)
    return bench, bench.error(bench.follow)


def command_failed(make):
    bench = make()
    bench.arm.broken = True
    return bench, bench.error(bench.follow)


def measured_position(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.arm.offset_rad.__setitem__(6, 4.0))
    return bench, bench.error(bench.follow)


def measured_velocity(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.arm.push_rad_s.__setitem__(6, 2.0))
    return bench, bench.error(bench.follow)


def measured_workspace(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.arm.offset_rad.__setitem__(0, -3.5))
    return bench, bench.error(bench.follow)


def measured_contact(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.arm.offset_rad.__setitem__([3, 5], [-0.9, -1.8]))
    return bench, bench.error(bench.follow)


def tracking(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.arm.offset_rad.__setitem__(6, 0.16))
    return bench, bench.error(bench.follow)


def unexpected_motion(make):
    bench = make()
    bench.arm.push_rad_s[3] = 0.06
    bench.pass_time(0.5)
    return bench, bench.error(bench.follow)


def stop_request(make):
    bench = make()
    bench.arm.after(0.1, bench.gate.stop)
    return bench, bench.error(bench.follow)


def gate_late(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.gate.hold('gate_late', 'braked by the watcher'))
    return bench, bench.error(bench.follow)


def watcher(make):
    bench = make()
    bench.arm.after(0.1, lambda: bench.gate.stop('watcher', 'stopped by the watcher'))
    return bench, bench.error(bench.follow)


@pytest.mark.parametrize('cause', CAUSES)
def test_every_cause_is_raised_and_does_what_the_table_says(make, cause):
    bench, error = globals()[cause](make)
    assert error.cause == cause, str(error)
    assert error.latched is (cause in LATCHING)
    status = bench.gate.status()
    expected = (GateState.STOPPED if cause in LATCHING else GateState.HOLDING
                if cause in HOLDING else GateState.REARMED if cause == 'not_reset'
                else GateState.ARMED)
    assert status.state is expected
    assert status.cause == ('' if cause in REFUSING else cause)
    if cause in REFUSING and cause != 'busy':
        assert bench.told_to_stay()
    elif cause not in REFUSING:
        assert not status.ready
        assert bench.error(bench.follow).cause == cause
        assert bench.error(bench.gate.grip, 0.0, 10.0, 'close').cause == cause


def test_the_table_of_the_docstring_lists_the_causes_in_order():
    rows = re.findall(
        r'^(\w+) +\S.*?(refuses|latches|-) +(holds|latches|-)?$|^(\w+) +\S.*refuses$',
        sightplan_arm.gate.__doc__, re.MULTILINE)
    assert [row[0] or row[3] for row in rows] == list(CAUSES)
    for name, before, during, refusing in rows:
        assert (refusing or name) in (REFUSING if refusing else HOLDING + LATCHING)
        if name:
            assert (name in LATCHING) == ('latches' in (before, during))
    assert len(set(CAUSES)) == len(CAUSES)


# --- motions ----------------------------------------------------------------------------------


def test_a_sound_motion_is_sent_once_and_ends_where_it_should(bench):
    bench.follow()
    assert len(bench.arm.sent) == 1
    assert np.array_equal(bench.arm.sent[0].trajectory.positions, bench.go.positions)
    assert np.abs(bench.arm.posture - bench.there).max() < 1e-9
    assert bench.arm.time_s >= bench.go.duration_s
    status = bench.gate.status()
    assert (status.state, status.moving, status.ready) == (GateState.ARMED, False, True)
    bench.follow(way(bench.robot, bench.there, bench.robot.arm.park))
    bench.pass_time(2.0)
    assert bench.gate.status().ready


def test_a_motion_that_begins_faster_than_the_arm_is_refused(bench):
    assert bench.error(bench.follow, bench.changed(0, 6, velocities=0.051)).cause == 'jump'
    bench.follow(bench.changed(0, 6, velocities=0.049))


def test_an_arm_that_follows_late_is_let_go_on(bench):
    bench.arm.late_s = 0.09
    bench.follow()
    assert len(bench.arm.sent) == 1


def test_an_arm_that_does_not_follow_is_stopped(bench):
    bench.arm.deaf = True
    error = bench.error(bench.follow)
    assert error.cause == 'tracking'
    assert bench.arm.time_s < 1.0


def test_something_in_the_way_ends_a_guarded_motion_and_the_arm_gives_way(bench):
    bench.arm.after(bench.slow.duration_s / 2, lambda: setattr(bench.arm, 'stuck', True))
    assert not bench.gate.follow(bench.slow, 'down', guarded=True)
    status = bench.gate.status()
    assert (status.state, bench.gate.stops) == (GateState.ARMED, 0)
    sent, met = bench.arm.sent
    off = np.abs(sent.trajectory.positions - bench.arm.posture).max(axis=1)
    nearest = sent.trajectory.times_s[np.argmin(off)]
    assert met.time_s - nearest < 0.2, 'it presses no longer than it takes to notice'
    told = sample(sent.trajectory, met.time_s - sent.time_s)
    assert met.trajectory.positions[0] == pytest.approx(told[0]), 'nothing jerks'
    assert met.trajectory.velocities[0] == pytest.approx(told[1])
    assert met.trajectory.positions[-1] == pytest.approx(bench.arm.posture)
    bench.arm.stuck = False
    back = way(bench.robot, bench.arm.posture, bench.robot.arm.park)
    assert bench.gate.follow(back, 'back up')
    assert bench.arm.posture == pytest.approx(bench.robot.arm.park)


def test_an_arm_that_begins_a_little_off_has_not_met_anything(bench):
    bench.arm.offset_rad[3] = 0.009
    assert bench.gate.follow(bench.slow, 'down', guarded=True)


@pytest.mark.parametrize('act', ['hold', 'stop'])
def test_an_arm_that_gives_way_can_be_held_and_stopped(bench, act):
    def met(trajectory):
        if bench.arm.stuck:
            bench.arm.after(0.02, getattr(bench.gate, act))
            bench.arm.on_command = lambda trajectory: None
    bench.arm.on_command = met
    bench.arm.after(bench.slow.duration_s / 2, lambda: setattr(bench.arm, 'stuck', True))
    error = bench.error(lambda: bench.gate.follow(bench.slow, 'down', guarded=True))
    assert error.cause == {'hold': 'cancelled', 'stop': 'stop_request'}[act]
    assert bench.gate.status().state is {'hold': GateState.HOLDING,
                                         'stop': GateState.STOPPED}[act]


def test_in_a_dry_run_a_guarded_motion_meets_nothing(make):
    bench = make(GateSettings(dry_run=True))
    assert bench.gate.follow(bench.slow, 'down', guarded=True)
    assert bench.arm.sent == []


def test_something_in_the_way_of_another_motion_stops_the_arm(bench):
    bench.arm.after(bench.slow.duration_s / 2, lambda: setattr(bench.arm, 'stuck', True))
    assert bench.error(bench.follow, bench.slow).cause == 'tracking'
    assert bench.gate.status().state is GateState.STOPPED


@pytest.mark.parametrize('late_s', [0.0, 0.05])
def test_a_guarded_motion_that_nothing_is_in_the_way_of_is_carried_out(bench, late_s):
    bench.arm.late_s = late_s
    assert bench.gate.follow(bench.slow, 'down', guarded=True)
    assert len(bench.arm.sent) == 1
    assert bench.arm.posture == pytest.approx(bench.there, abs=1e-3)


def test_an_arm_that_does_not_take_the_command_to_stand_is_stopped(bench):
    def stick():
        bench.arm.stuck = bench.arm.broken = True
    bench.arm.after(bench.slow.duration_s / 2, stick)
    with pytest.raises(ArmStoppedError) as raised:
        bench.gate.follow(bench.slow, 'down', guarded=True)
    assert raised.value.cause == 'command_failed'
    assert bench.gate.status().state is GateState.STOPPED


def test_an_arm_that_ends_a_little_off_is_waited_for_and_then_stopped(bench):
    bench.arm.after(0.05, lambda: bench.arm.offset_rad.__setitem__(5, 0.03))
    error = bench.error(bench.follow)
    assert error.cause == 'tracking'
    assert 'not arrived' in str(error)


def test_a_clock_that_stands_still_ends_a_motion(bench):
    bench.arm.after(0.1, lambda: setattr(bench.arm, 'frozen', True))
    error = bench.error(bench.follow)
    assert error.cause == 'stale_state'
    assert 'clock' in str(error)


def test_held_motions_brake_evenly_at_once_and_follow_returns_when_the_arm_stands(bench):
    at = bench.go.duration_s / 2
    bench.arm.after(at, bench.gate.hold)
    bench.error(bench.follow)
    assert len(bench.arm.sent) == 2
    brake = bench.arm.sent[1]
    assert brake.time_s == pytest.approx(at, abs=0.0101)
    assert brakes(brake.trajectory, bench.robot)
    assert np.abs(brake.trajectory.velocities[0]).max() > 0.1
    assert np.abs(bench.arm.velocity).max() == 0.0
    assert bench.arm.time_s - brake.time_s >= brake.trajectory.duration_s


def test_a_lost_heartbeat_holds_within_its_timeout_and_two_periods(bench):
    bench.gate.require(['agent'])

    def beat():
        bench.gate.beat('agent')
        if bench.arm.time_s < 0.3:
            bench.arm.after(0.02, beat)
    beat()
    bench.error(bench.follow)
    last = bench.gate._beats.last_s['agent'] - 1000.0
    assert last == pytest.approx(0.3, abs=0.011)
    held = bench.arm.sent[1].time_s - last
    timeout_s = bench.robot.safety.heartbeat_timeout_s
    assert timeout_s <= held <= timeout_s + 0.021


def test_braking_begins_from_the_measured_state_where_the_arm_is_elsewhere(bench):
    bench.arm.after(0.3, lambda: bench.arm.offset_rad.__setitem__(6, 0.16))
    bench.error(bench.follow)
    brake = bench.arm.sent[1].trajectory
    commanded = bench.arm.robot.arm.park[6]
    assert brake.positions[0, 6] - commanded == pytest.approx(0.16, abs=0.05)


def test_a_stop_in_a_hold_latches_without_a_second_brake(bench):
    bench.arm.after(0.1, bench.gate.hold)
    bench.arm.after(0.11, bench.gate.stop)
    assert bench.error(bench.follow).cause == 'cancelled'
    assert len(bench.arm.sent) == 2
    assert bench.gate.status().state is GateState.STOPPED


def test_what_stopped_first_stays_the_cause(bench):
    bench.gate.stop('stop_request', 'the red button')
    bench.gate.stop('tracking', 'later')
    bench.gate.hold()
    status = bench.gate.status()
    assert (status.cause, status.message) == ('stop_request', 'the red button')
    assert 'red button' in str(bench.error(bench.follow))


def test_a_brake_that_the_arm_does_not_take_latches_and_names_the_emergency_stop(bench):
    def fail():
        bench.arm.broken = True
        bench.gate.hold()
    bench.arm.after(0.1, fail)
    bench.error(bench.follow)
    status = bench.gate.status()
    assert (status.state, status.cause) == (GateState.STOPPED, 'command_failed')
    assert 'emergency stop' in status.message


def test_an_interrupted_program_holds_the_arm(bench):
    def interrupt():
        raise KeyboardInterrupt
    bench.arm.after(0.1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.follow()
    assert bench.gate.status().state is GateState.HOLDING
    assert brakes(bench.arm.sent[1].trajectory, bench.robot)
    assert not bench.gate.status().moving


def test_unknown_causes_are_a_programming_error(bench):
    with pytest.raises(ValueError, match='not a cause'):
        bench.gate.stop('whim')
    assert bench.gate.status().state is GateState.ARMED


# --- states -----------------------------------------------------------------------------------


def test_nothing_moves_before_the_first_episode(panda, panda_kinematics):
    clock = WallClock()
    arm = FollowingArm(panda, clock)
    gate = Gate(arm, panda, panda_kinematics, clock=clock)
    for call in (lambda: gate.follow(way(panda, panda.arm.park, panda.arm.park + 0.01), 'x'),
                 lambda: gate.grip(0.0, 10.0, 'x'), lambda: gate.skill('x').__enter__()):
        with pytest.raises(ArmStoppedError, match='reset') as raised:
            call()
        assert raised.value.cause == 'not_reset'
    assert gate.status().waiting_for == ('a new episode (reset)',)
    assert not arm.sent


def test_a_hold_ends_with_the_next_episode_and_a_stop_needs_a_person_too(bench):
    bench.gate.hold()
    assert not bench.gate.status().ready
    bench.gate.rearm('nobody is needed')
    assert bench.gate.status().state is GateState.HOLDING
    bench.gate.new_episode()
    assert bench.gate.status().ready
    bench.gate.stop()
    error = bench.error(bench.gate.new_episode)
    assert error.latched
    bench.gate.rearm('a person')
    assert bench.gate.status().waiting_for == ('a new episode (reset)',)
    assert 'a person' in bench.gate.status().message
    bench.gate.hold()
    assert bench.gate.status().state is GateState.REARMED
    bench.gate.new_episode()
    bench.follow()


@pytest.mark.parametrize('first', ['stop_request', 'watcher'])
def test_a_stop_while_a_person_rearms_is_not_lost(bench, first):
    bench.gate.stop(first, 'the first')
    seen = bench.gate.stops
    bench.gate.stop()
    error = bench.error(bench.gate.rearm, 'a person', seen)
    assert 'stopped once more' in str(error)
    assert bench.gate.status().state is GateState.STOPPED
    bench.gate.rearm('a person', since=bench.gate.stops)
    bench.gate.new_episode()
    bench.follow()


def test_an_arm_that_moves_is_not_rearmed(bench):
    bench.gate.stop()
    bench.arm.push_rad_s[0] = 0.1
    bench.arm.wait(0.01)
    assert 'still moves' in str(bench.error(bench.gate.rearm, 'a person'))
    bench.arm.push_rad_s[0] = 0.0
    bench.arm.wait(0.01)
    bench.gate.rearm('a person')


def test_an_episode_begins_when_the_arm_has_braked(bench):
    found = []
    bench.arm.after(0.3, lambda: found.append(bench.error(bench.gate.new_episode)))
    bench.arm.after(0.35, bench.gate.hold)
    bench.error(bench.follow)
    assert found[0].cause == 'busy'
    bench.gate.new_episode()
    assert bench.gate.status().ready


def moving_on(bench, takes):
    """Have a joint go on, as one that has not taken the command to brake, until it takes one."""
    def command(trajectory):
        bench.arm.sent.append(trajectory)
        if takes:
            bench.arm.push_rad_s[3] = 0.0
    bench.arm.command = command
    bench.arm.push_rad_s[3] = 0.2
    bench.arm.wait(0.01)


def test_no_episode_begins_while_the_arm_moves(bench):
    """The command to brake was lost while no joint states came."""
    bench.gate.hold()
    bench.pass_time(0.05)
    sent = len(bench.arm.sent)
    moving_on(bench, takes=True)
    bench.gate.new_episode()
    assert bench.gate.status().state is GateState.ARMED
    assert np.abs(bench.arm.state().velocities).max() == 0.0
    assert len(bench.arm.sent) == sent + 1, 'it was braked meanwhile'
    bench.gate.hold()
    bench.pass_time(0.05)
    moving_on(bench, takes=False)
    for turn in (bench.gate.new_episode, bench.gate.end_episode):
        assert 'not come to rest' in str(bench.error(turn))
        assert bench.gate.status().state is GateState.HOLDING


@pytest.mark.parametrize('rearmed', [False, True])
def test_no_episode_begins_while_nobody_knows_whether_the_arm_stands(bench, rearmed):
    if rearmed:
        bench.gate.stop()
        bench.gate.rearm('a person')
    else:
        bench.gate.hold()
    bench.arm.silent = True
    bench.clock.now += 1.0
    assert 'no joint states' in str(bench.error(bench.gate.new_episode))
    bench.arm.silent = False
    bench.gate.new_episode()
    bench.follow()


def test_no_arm_is_rearmed_while_nobody_knows_whether_it_stands(bench):
    bench.gate.stop()
    bench.arm.silent = True
    bench.clock.now += 3.0
    error = bench.error(bench.gate.rearm, 'a person')
    assert 'no joint states for more than 0.1 s' in str(error)
    assert bench.gate.status().state is GateState.STOPPED
    bench.arm.silent = False
    bench.arm.wait(0.01)
    bench.gate.rearm('a person')


def test_an_arm_that_moves_before_an_episode_has_begun_is_stopped(bench):
    bench.gate.stop()
    bench.pass_time(1.2)
    bench.arm.push_rad_s[3] = 0.2
    bench.pass_time(1.0)
    bench.arm.push_rad_s[3] = 0.0
    bench.pass_time(0.05)
    bench.gate.rearm('a person')
    bench.pass_time(2.0)
    assert bench.gate.status().state is GateState.REARMED
    bench.arm.push_rad_s[3] = 1.0
    bench.pass_time(0.2)
    assert bench.gate.status().state is GateState.REARMED, 'it may be a jerk'
    bench.pass_time(0.2)
    assert (bench.gate.status().state, bench.gate.status().cause) == (
        GateState.STOPPED, 'unexpected_motion')


def test_what_a_simulator_moves_between_episodes_counts_no_longer_once_a_person_rearms(bench):
    bench.gate.end_episode()
    bench.gate.stop()
    bench.pass_time(0.05)
    bench.gate.rearm('a person')
    bench.arm.push_rad_s[3] = 1.0
    bench.pass_time(0.5)
    assert bench.gate.status().cause == 'unexpected_motion'


@pytest.mark.parametrize('held', [False, True])
def test_between_episodes_others_may_put_the_arm_elsewhere(bench, held):
    if held:
        bench.gate.hold()
    bench.gate.end_episode()
    sent = len(bench.arm.sent)
    bench.arm.push_rad_s = bench.arm.push_rad_s + 18.0
    bench.arm.offset_rad = bench.arm.offset_rad + 0.3
    bench.pass_time(1.0)
    assert bench.gate.status().state is GateState.REARMED
    assert bench.error(bench.follow).cause == 'not_reset'
    assert len(bench.arm.sent) == sent
    bench.gate.stop()
    assert bench.error(bench.gate.end_episode).latched


def test_a_skill_planned_in_an_earlier_episode_is_outdated(bench):
    since = bench.gate.epoch
    bench.gate.hold()
    bench.gate.new_episode()
    with pytest.raises(ArmStoppedError) as raised, bench.gate.skill('late', since):
        pass
    assert raised.value.cause == 'outdated'
    with bench.gate.skill('now', bench.gate.epoch):
        bench.follow()


def test_what_is_missing_is_said_in_words_and_comes_back_by_itself(make):
    age = [5.0]
    bench = make(image_age_s=lambda: age[0])
    bench.gate.require(['agent'])
    bench.gate.beat('agent', ['grounder'])
    bench.arm.silent = True
    bench.clock.now += 0.12
    waiting = bench.gate.status().waiting_for
    assert any('grounder, which agent needs' in text for text in waiting)
    assert any('joint states' in text for text in waiting)
    assert any('camera images' in text for text in waiting)
    assert bench.error(bench.follow).cause == 'heartbeat'
    bench.gate.beat('agent')
    bench.gate.beat('grounder')
    bench.arm.silent, age[0] = False, 0.0
    bench.arm.wait(0.01)
    assert bench.gate.status().ready
    assert bench.gate.status().state is GateState.ARMED


def test_needs_are_followed_through_all_nodes_and_may_change(bench):
    beat = bench.gate.beat
    bench.gate.require(['agent'])
    beat('agent', ['grounder'])
    beat('grounder', ['model', 'agent'])
    assert bench.gate.status().waiting_for == ('heartbeat of model, which grounder needs',)
    beat('model')
    assert bench.gate.status().ready
    beat('grounder', [])
    bench.arm.wait(0.05)
    beat('agent', ['grounder'])
    beat('grounder')
    bench.arm.wait(0.05)
    assert bench.gate.status().ready, 'model is needed no more'
    bench.gate.require([])
    bench.clock.now += 10
    assert not any('heartbeat' in text for text in bench.gate.status().waiting_for)


def test_a_standing_arm_that_loses_a_heartbeat_is_not_held(bench):
    bench.gate.require(['agent'])
    bench.pass_time(1.0)
    assert bench.gate.status().state is GateState.ARMED
    bench.gate.beat('agent')
    assert bench.gate.status().ready


def test_a_heartbeat_counts_from_when_it_came_here(bench):
    limit_s = bench.robot.safety.heartbeat_timeout_s
    bench.gate.require(['agent'])
    bench.gate.beat('agent', age_s=limit_s - 0.005)
    assert bench.gate.status().ready
    bench.gate.beat('agent', age_s=0.2)  # the clock may have been set: one came later
    assert bench.gate.status().ready
    bench.arm.wait(0.01)
    assert not bench.gate.status().ready


def test_nodes_that_were_never_heard_are_told_from_those_that_fell_silent(bench):
    gate = bench.gate
    assert gate.unheard() == []
    gate.require(['agent'])
    assert gate.unheard() == ['agent']
    gate.beat('agent', ['grounder', 'planner'])
    gate.beat('grounder', ['model'])
    assert gate.unheard() == ['planner', 'model']
    gate.beat('planner')
    gate.beat('model')
    bench.clock.now += 1000.0
    assert gate.unheard() == []
    assert bench.error(bench.follow).cause == 'heartbeat'


def test_a_heartbeat_lost_between_the_motions_of_a_skill_holds(bench):
    def move():
        with bench.gate.skill('a move'):
            bench.gate.grip(0.0, 10.0, 'close')
            bench.gate.require(['agent'])
            bench.follow()
    assert bench.error(move).cause == bench.gate.status().cause == 'heartbeat'
    bench.gate.require([])
    assert bench.gate.status().state is GateState.HOLDING
    assert bench.error(bench.follow).cause == 'heartbeat'
    bench.gate.new_episode()
    bench.follow()


def test_a_skill_that_is_refused_at_its_beginning_or_is_out_of_date_holds_nothing(bench):
    bench.gate.require(['agent'])
    with pytest.raises(ArmStoppedError) as raised, bench.gate.skill('early'):
        raise AssertionError('the skill has begun')
    assert raised.value.cause == 'heartbeat'
    assert bench.gate.status().state is GateState.ARMED
    bench.gate.beat('agent')

    def late():
        with bench.gate.skill('late'):
            bench.gate.new_episode()
            raise ArmStoppedError('heartbeat', 'of the last episode')
    bench.error(late)
    assert bench.gate.status().state is GateState.ARMED


def test_an_arm_measured_outside_its_box_is_stopped_at_rest_and_not_driven(bench):
    bench.arm.posture[0] -= 3.5
    bench.pass_time(0.02)
    assert bench.gate.status().cause == 'measured_workspace'
    assert len(bench.arm.sent) == 1
    assert bench.told_to_stay()


def test_an_arm_that_is_moved_while_idle_is_braked_until_it_stands(bench):
    bench.arm.push_rad_s[3] = 0.1
    bench.pass_time(1.0)
    assert bench.gate.status().cause == 'unexpected_motion'
    sent = bench.arm.sent[:]
    assert 3 <= len(sent) <= 10
    assert all(brakes(one.trajectory, bench.robot) for one in sent)
    assert np.diff([one.time_s for one in sent]).min() > 0.0499
    bench.arm.push_rad_s[3] = 0.0
    bench.pass_time(1.0)
    assert len(bench.arm.sent) == len(sent)


def test_noise_of_standing_joints_is_no_motion(bench):
    for _ in range(300):
        bench.arm.push_rad_s[3] = 0.06 if bench.arm.push_rad_s[3] == 0.0 else 0.0
        bench.pass_time(0.01)
    assert bench.gate.status().state is GateState.ARMED


# --- fingers ----------------------------------------------------------------------------------


def test_fingers_close_on_a_thing_and_tell_its_width(bench):
    bench.arm.between_m = 0.05
    assert bench.gate.grip(0.0, 10.0, 'close') == pytest.approx(0.05, abs=3e-4)
    assert bench.gate.grip(0.08, 10.0, 'open') == pytest.approx(0.08, abs=3e-4)


@pytest.mark.parametrize('late_s', [0.1, 0.25, 0.4])
@pytest.mark.parametrize(('start', 'goal', 'end'), [(0.08, 0.0, 0.05), (0.05, 0.08, 0.08)])
def test_fingers_that_begin_late_are_waited_for(bench, late_s, start, goal, end):
    arm = bench.arm
    arm.opening_m = arm._goal_m = start
    arm.wait(0.01)
    arm.grip = lambda opening, force: arm.after(late_s, lambda: setattr(
        arm, '_goal_m', max(opening, 0.05)))
    assert bench.gate.grip(goal, 10.0, 'x') == pytest.approx(end, abs=1.1e-3)
    assert arm.opening_m == pytest.approx(end, abs=1.1e-3)


def test_fingers_on_their_way_do_not_stand_because_measurements_are_rare():
    measured = {}
    arm = SimpleNamespace(state=lambda: measured['now'])
    fingers = Fingers(10.0, 0.08, 5.0)
    for stamp_s, opening_m, settled in (
            (10.02, 0.05, False), (10.12, 0.053, False), (10.4, 0.063, False),
            (10.55, 0.08, False), (10.6, 0.08, False), (10.7, 0.08, True)):
        measured['now'] = JointState(stamp_s, np.zeros(7), np.zeros(7), opening_m)
        assert fingers.settled(arm) is settled, stamp_s
        assert fingers.settled(arm) is settled, 'the same once more'


def test_fingers_that_do_not_move_are_given_up_when_their_time_is_over(bench):
    bench.arm.grip = lambda opening, force: None
    assert bench.gate.grip(0.0, 10.0, 'x') == pytest.approx(0.08)
    assert bench.arm.time_s == pytest.approx(bench.robot.gripper.settle_s, abs=0.03)
    bench.gate.grip(0.08, 10.0, 'they are there')
    assert bench.arm.time_s < bench.robot.gripper.settle_s + 0.3


@pytest.mark.parametrize(('opening', 'force'), [
    (-0.001, 10.0), (0.081, 10.0), (np.nan, 10.0), (0.04, 0.0), (0.04, -1.0), (0.04, 20.1),
    (0.04, np.nan)])
def test_fingers_keep_to_their_limits(bench, opening, force):
    assert bench.error(bench.gate.grip, opening, force, 'x').cause == 'gripper_limit'
    assert not bench.arm.sent


def test_a_stop_leaves_the_fingers_as_they_are(bench):
    bench.arm.between_m = 0.05
    bench.gate.grip(0.0, 10.0, 'close')
    bench.arm.after(0.2, bench.gate.stop)
    bench.error(bench.follow)
    assert [sent.trajectory is None for sent in bench.arm.sent] == [True, False, False]
    assert bench.arm.opening_m == pytest.approx(0.05)


def test_a_stop_while_fingers_move_ends_the_wait(bench):
    bench.arm.after(0.05, bench.gate.stop)
    assert bench.error(bench.gate.grip, 0.0, 10.0, 'close').cause == 'stop_request'
    assert [sent.trajectory is None for sent in bench.arm.sent] == [True, False]
    assert np.array_equal(bench.arm.sent[1].trajectory.positions, [bench.robot.arm.park] * 2)


# --- dry run and confirmation -----------------------------------------------------------------


def test_a_dry_run_checks_and_shows_and_sends_nothing(make):
    bench = make(GateSettings(dry_run=True))
    plans = []
    bench.gate.on_plan(plans.append)
    bench.follow()
    bench.follow(way(bench.robot, bench.there, bench.robot.arm.park), 'back')
    assert bench.gate.grip(0.01, 10.0, 'close') == 0.01
    eventually(lambda: len(plans) == 2)
    assert [plan.what for plan in plans] == ['a way', 'back']
    tip = bench.gate._kinematics.fk_many(bench.there[None], (bench.robot.tip_frame,))[0, 0]
    assert plans[0].path_m[-1] == pytest.approx(tip)
    assert bench.error(bench.follow, way(bench.robot, bench.there, bench.there + 0.02)
                       ).cause == 'jump'
    bench.gate.stop()
    assert bench.error(bench.follow).cause == 'stop_request'
    assert not bench.arm.sent
    assert bench.gate.status().dry_run


def test_a_dry_run_begins_each_episode_where_the_arm_is(make):
    bench = make(GateSettings(dry_run=True))
    back = way(bench.robot, bench.there, bench.robot.arm.park)
    bench.follow()
    bench.gate.check(back)
    bench.gate.new_episode()
    assert bench.error(bench.gate.check, back).cause == 'jump'
    bench.follow()


def test_each_motion_waits_for_a_yes(make):
    bench = make(GateSettings(confirm='motion'))
    asked = []

    def listener(status):
        if status.pending and (not asked or asked[-1] != status.pending):
            assert bench.arm.sent == asked_sent[:]
            asked.append(status.pending)
            assert not status.ready
            assert "operator's yes to: a way" in status.waiting_for[0] or len(asked) > 1
            with pytest.raises(InputError, match='does not wait'):
                bench.gate.confirm('77', True)
            bench.gate.confirm(status.pending if len(asked) % 2 else '', True)
    asked_sent = []
    bench.gate.on_status(listener)
    bench.follow()
    asked_sent = bench.arm.sent[:]
    bench.gate.grip(0.0, 10.0, 'close')
    assert len(asked) == 2
    assert len(bench.arm.sent) == 2
    with pytest.raises(InputError, match='no motion waits'):
        bench.gate.confirm('', True)


@pytest.mark.parametrize('word', ['skill', True, 'true'])
def test_a_skill_asks_once_and_motions_outside_of_it_each(make, word):
    bench = make(GateSettings(confirm=word))
    asked = []
    bench.gate.on_status(lambda status: status.pending and (
        asked.append(status.pending_text), bench.gate.confirm('', True)))
    with bench.gate.skill('moveblock(a, c1)'):
        bench.follow()
        bench.gate.grip(0.0, 10.0, 'close')
        with bench.gate.skill('inner'):
            bench.follow(way(bench.robot, bench.there, bench.robot.arm.park))
    bench.follow(what='park')
    assert list(dict.fromkeys(asked)) == ['moveblock(a, c1)', 'park']


def test_a_declined_skill_does_nothing(make):
    bench = make(GateSettings(confirm='skill'))
    answer(bench, False)
    with pytest.raises(ArmStoppedError) as raised, bench.gate.skill('no'):
        raise AssertionError('the skill has begun')
    assert raised.value.cause == 'declined'
    assert bench.gate.status().pending == ''
    assert not bench.arm.sent


def test_a_stop_or_a_lost_heartbeat_while_an_operator_thinks(make):
    bench = make(GateSettings(confirm='motion'))
    bench.gate.on_status(lambda status: status.pending and bench.gate.stop())
    assert bench.error(bench.follow).cause == 'stop_request'
    bench = make(GateSettings(confirm='motion'))
    bench.gate.require(['agent'])
    bench.gate.beat('agent')

    def slow_yes(status):
        if status.pending:
            bench.clock.now += 0.2
            bench.gate.confirm('', True)
    bench.gate.on_status(slow_yes)
    assert bench.error(bench.follow).cause == 'heartbeat'
    bench.gate.beat('agent')
    bench.arm.wait(0.01)
    assert bench.error(bench.gate.grip, 0.0, 10.0, 'close').cause == 'heartbeat'
    assert not bench.arm.sent


def test_an_arm_that_was_pushed_while_the_operator_thought_is_checked_again(make):
    bench = make(GateSettings(confirm='motion'))

    def push(status):
        if status.pending:
            bench.arm.posture = bench.arm.posture + 0.05
            bench.arm.wait(0.01)
            bench.gate.confirm('', True)
    bench.gate.on_status(push)
    assert bench.error(bench.follow).cause == 'jump'


@pytest.mark.parametrize('answers', [(True, False), (False, True)])
def test_a_no_outweighs_a_yes(make, answers):
    bench = make(GateSettings(confirm='motion'))
    bench.gate.on_status(lambda status: status.pending and [
        bench.gate.confirm('', accept) for accept in answers])
    assert bench.error(bench.follow).cause == 'declined'


@pytest.mark.parametrize('settings', [
    {'confirm': 'perhaps'}, {'period_s': 0.2}, {'dry_run': 'yes'}, {'max_points': 1}])
def test_settings_are_checked(make, settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        make(GateSettings(**settings))


# --- listeners --------------------------------------------------------------------------------


def test_listeners_hear_of_changes_once_and_their_failures_disturb_nothing(bench):
    heard = []

    def fail(status):
        raise WorldError('a publisher is gone')
    def last():
        return (heard[-1].state, heard[-1].moving, heard[-1].ready) if heard else None
    bench.gate.on_status(fail)
    bench.gate.on_status(heard.append)
    eventually(lambda: last() == (GateState.ARMED, False, True))
    bench.pass_time(0.1)
    assert len(heard) == 1
    bench.arm.after(0.1, lambda: eventually(lambda: last() == (GateState.ARMED, True, False)))
    bench.follow()
    eventually(lambda: last() == (GateState.ARMED, False, True))
    bench.gate.stop()
    eventually(lambda: last() == (GateState.STOPPED, False, False))
    assert len(heard) == 4
    bench.gate.close()
    bench.gate.rearm('a person')
    bench.pass_time(0.1)
    assert len(heard) == 4


def test_a_listener_that_hangs_delays_no_brake(bench):
    """It hangs as soon as the arm moves; the watchdog and the thread that moves it go on."""
    hangs, go_on, told = threading.Event(), threading.Event(), []

    def hang(status):
        told.append(status.state)
        if status.moving:
            hangs.set()
            go_on.wait(30.0)
            bench.gate.tick()  # no lock is held, so this cannot block
    bench.gate.on_status(hang)
    bench.arm.after(0.1, lambda: hangs.wait(20.0))
    at = []
    bench.arm.after(0.3, lambda: (at.append(bench.arm.time_s), bench.gate.stop()))
    assert bench.error(bench.follow).cause == 'stop_request'
    assert bench.arm.sent[1].time_s == at[0]
    assert hangs.is_set()
    assert not go_on.is_set()
    go_on.set()
    eventually(lambda: told[-1] is GateState.STOPPED)
    bench.gate.close()
    assert bench.gate._notifier._thread is not None
    eventually(lambda: not bench.gate._notifier._thread.is_alive())


def test_offline_checks_need_no_arm_in_the_right_place(bench):
    bench.arm.posture = bench.arm.posture + 0.5
    bench.arm.wait(0.01)
    bench.gate.limits.check(bench.go)
    assert bench.error(bench.gate.check, bench.go).cause == 'jump'
    assert not bench.arm.sent


def test_threads_that_look_do_not_wait_for_a_check(bench):
    """A stop is taken while another thread checks a long trajectory."""
    entered, stopped = threading.Event(), threading.Event()
    check = bench.gate.limits.check

    def slow(trajectory, around):
        entered.set()
        assert stopped.wait(20.0)
        check(trajectory, around)
    bench.gate.limits.check = slow
    errors = []
    thread = threading.Thread(target=lambda: errors.append(bench.error(bench.follow)))
    thread.start()
    assert entered.wait(20.0)
    bench.gate.stop()
    stopped.set()
    thread.join(20.0)
    assert errors[0].cause == 'stop_request'
    assert bench.told_to_stay()


# --- braking in spite of faults ---------------------------------------------------------------


def after_the_first(bench, change):
    """Have all trajectories but the first treated by a function before the arm takes them."""
    take, seen = bench.arm.command, []

    def command(trajectory):
        seen.append(trajectory)
        if len(seen) > 1:
            change(len(seen) - 1)
        take(trajectory)
    bench.arm.command = command
    return seen


@pytest.mark.parametrize('speed', [1.5, 30.0, -30.0, np.inf])
def test_an_idle_arm_whose_velocity_is_measured_wrongly_is_held_where_it_is(bench, speed):
    bench.arm.push_rad_s[0] = speed
    bench.pass_time(0.01)
    assert bench.gate.status().cause == 'measured_velocity'
    for sent in bench.arm.sent:
        assert brakes(sent.trajectory, bench.robot)
        assert (sent.trajectory.positions == bench.robot.arm.park).all()


def test_velocities_that_no_joint_has_are_not_braked_from_in_a_motion(bench):
    def spoil():
        bench.arm.offset_rad[0], bench.arm.push_rad_s[0] = 0.3, 50.0
    bench.arm.after(0.3, spoil)
    assert bench.error(bench.follow).latched
    assert len(bench.arm.sent) > 1
    assert all(brakes(sent.trajectory, bench.robot) for sent in bench.arm.sent[1:])


@pytest.mark.parametrize('what', ['offset_rad', 'push_rad_s'])
def test_measurements_that_are_no_numbers_are_not_braked_from(bench, what):
    bench.arm.after(0.3, lambda: setattr(bench.arm, what, np.full(7, np.nan)))
    error = bench.error(bench.follow)
    assert error.latched
    assert error.cause.startswith('measured_')
    brake = bench.arm.sent[1].trajectory
    assert brakes(brake, bench.robot)
    assert np.abs(brake.velocities[0]).max() > 0.1
    if what == 'push_rad_s':
        assert bench.gate.status().moving, 'nobody knows'
        bench.error(bench.gate.rearm, 'a person')


def test_an_idle_arm_of_which_nothing_is_known_any_more_is_held_where_it_was(bench):
    bench.pass_time(0.05)
    bench.arm.offset_rad = np.full(7, np.nan)
    bench.pass_time(0.05)
    assert bench.gate.status().cause == 'measured_position'
    assert len(bench.arm.sent) == 1
    assert (bench.arm.sent[0].trajectory.positions == bench.robot.arm.park).all()


@pytest.mark.parametrize('how', ['lost', 'RuntimeError', 'WorldError'])
@pytest.mark.parametrize('end', ['hold', 'stop'])
def test_a_brake_that_does_not_come_through_is_repeated_until_the_arm_stands(bench, how, end):
    def fail(number):
        if how == 'lost':
            bench.arm.losing = number <= 1
        elif number <= 2:
            raise {'RuntimeError': RuntimeError, 'WorldError': WorldError}[how]('no')
    seen = after_the_first(bench, fail)
    bench.arm.after(0.15, getattr(bench.gate, end))
    error = bench.error(bench.follow)
    assert np.abs(bench.arm.velocity).max() == 0.0
    assert bench.arm.time_s < bench.go.duration_s
    assert np.abs(bench.arm.posture - bench.there).max() > 0.01, 'it did not get to its end'
    assert len(seen) == (3 if how == 'lost' else 4)
    assert all(brakes(trajectory, bench.robot) for trajectory in seen[1:])
    if how == 'lost':
        assert error.cause == {'hold': 'cancelled', 'stop': 'stop_request'}[end]
    else:
        assert (error.cause, error.latched) == ('command_failed', True)
        assert 'emergency stop' in bench.gate.status().message
        assert bench.gate.status().state is GateState.STOPPED


@pytest.mark.parametrize(('late_s', 'told'), [(0.01, 1), (0.03, 1), (0.08, 2), (0.2, 4)])
def test_a_brake_that_comes_late_does_not_throw_the_arm_back(bench, late_s, told):
    """A controller that is busy gets the newest command when it is no longer."""
    waiting, behind = take_brakes_late(bench.arm, late_s)
    bench.arm.after(0.3, bench.gate.hold)
    far = way(bench.robot, bench.robot.arm.park, bench.robot.arm.ready)
    assert bench.error(bench.follow, far).cause == 'cancelled'
    speed = np.abs(waiting[0].velocities[0])
    assert speed.max() > 0.95 * bench.robot.arm.max_velocity[0]
    assert (np.abs(behind[0]) <= speed * (AGAIN_S + 0.0301) + 1e-9).all()
    assert len(waiting) == told
    assert np.abs(bench.arm.velocity).max() == 0.0


@pytest.mark.parametrize('late_s', [0.03, 0.05, 0.07, 0.09])
def test_an_arm_that_follows_late_is_braked_once(bench, late_s):
    bench.arm.late_s = late_s
    bench.arm.after(0.4, bench.gate.hold)
    far = way(bench.robot, bench.robot.arm.park, bench.robot.arm.ready)
    assert bench.error(bench.follow, far).cause == 'cancelled'
    assert len(bench.arm.sent) == 2
    assert np.abs(bench.arm.velocity).max() == 0.0


def test_a_brake_that_is_late_and_then_refused_latches(bench):
    take = bench.arm.command

    def command(trajectory):
        if brakes(trajectory):
            if bench.arm.sent[1:]:
                raise WorldError('the cable is out')
            bench.arm.losing = 1
        take(trajectory)
    bench.arm.command = command
    bench.arm.after(0.3, bench.gate.hold)
    far = way(bench.robot, bench.robot.arm.park, bench.robot.arm.ready)
    error = bench.error(bench.follow, far)
    assert (error.cause, error.latched) == ('command_failed', True)


def test_a_stopped_arm_that_has_stood_may_be_moved_by_hand(bench):
    bench.arm.after(0.2, bench.gate.stop)
    bench.error(bench.follow)
    bench.pass_time(1.3)
    sent = len(bench.arm.sent)
    bench.arm.push_rad_s[3] = 0.2
    bench.pass_time(0.5)
    assert len(bench.arm.sent) == sent
    bench.gate.stop()
    assert len(bench.arm.sent) == sent + 1, 'unless stop is pressed again'


def test_a_second_stop_brakes_an_arm_that_the_first_did_not(bench):
    """Without a watchdog: only the button is pressed again and again."""
    bench.gate.tick = lambda: None
    seen = after_the_first(bench, lambda number: setattr(bench.arm, 'losing', number == 1))
    for k in range(12):
        bench.arm.after(0.15 + 0.02 * k, bench.gate.stop)
    with pytest.raises(ArmStoppedError):
        bench.follow()
    assert len(seen) == 3
    assert np.abs(bench.arm.velocity).max() == 0.0
    assert bench.arm.time_s < 0.6


def test_any_error_of_a_command_latches_and_brakes(bench):
    take, first = bench.arm.command, []

    def command(trajectory):
        take(trajectory)
        if not first:
            first.append(trajectory)
            raise RuntimeError('the publisher is gone')  # but the arm has taken it
    bench.arm.command = command
    error = bench.error(bench.follow)
    assert (error.cause, error.latched) == ('command_failed', True)
    bench.pass_time(1.0)
    assert np.abs(bench.arm.velocity).max() == 0.0
    assert np.abs(bench.arm.posture - bench.robot.arm.park).max() < 0.05


def test_a_clock_that_is_set_back_in_a_motion_latches(bench):
    def back():
        bench.arm._begun_s -= 5000.0
        bench.arm.time_s -= 5000.0
    bench.arm.after(0.15, back)
    error = bench.error(bench.follow)
    assert error.latched
    assert 'clock was set back' in str(error)
    assert np.abs(bench.arm.velocity).max() == 0.0
    assert bench.clock.now < 1001.0


def test_a_braking_of_the_past_prevents_none(bench):
    """The clock goes back to just before an earlier braking."""
    bench.arm.after(0.3, bench.gate.hold)
    bench.error(bench.follow)
    begin_s = bench.gate._braking.begin_s
    bench.arm.posture, bench.arm._trajectory = bench.robot.arm.park.copy(), None
    bench.arm.time_s, bench.arm.velocity = begin_s - 0.3, 0.0 * bench.arm.posture
    bench.arm.wait(0.0)
    bench.gate.new_episode()
    sent = len(bench.arm.sent)
    bench.arm.after(0.31, bench.gate.hold)
    bench.error(bench.follow)
    assert len(bench.arm.sent) == sent + 2
    assert bench.arm.time_s < begin_s + 0.3


def test_a_motion_that_is_changed_after_its_check_is_sent_as_it_was(make):
    bench = make(GateSettings(confirm='motion'))
    go = JointTrajectory(bench.go.times_s, bench.go.positions.copy(), bench.go.velocities)

    def spoil(status):
        if status.pending:
            go.positions[1:] += 3.0
            bench.gate.confirm(status.pending, True)
    bench.gate.on_status(spoil)
    bench.follow(go)
    sent = bench.arm.sent[0].trajectory
    assert np.array_equal(sent.positions, bench.go.positions)
    with pytest.raises(ValueError, match='read-only'):
        sent.positions[0] = 0.0


def test_a_stop_in_the_last_instant_is_no_stop_of_the_motion(bench):
    """The motion is over as soon as it is found so: before anybody can take the lock."""
    arrived, lock, motions = bench.gate._arrived, bench.gate._lock, []

    class Watched:
        """The gate's lock; sees whether there is a motion when it is let go after the end."""

        def __enter__(self):
            return lock.__enter__()

        def __exit__(self, *error):
            if motions:
                motions.append(bench.gate._motion)
            lock.__exit__(*error)

    def look(*arguments):
        done = arrived(*arguments)
        if done:
            motions.append('over')
        return done
    bench.gate._arrived, bench.gate._lock = look, Watched()
    bench.follow()
    assert motions[1] is None


def test_an_interrupt_while_the_arm_brakes_leaves_no_motion_behind(bench):
    def interrupt():
        raise KeyboardInterrupt
    bench.arm.after(0.2, bench.gate.hold)
    bench.arm.after(0.22, interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.follow()
    assert bench.gate._motion is None
    bench.pass_time(0.5)
    bench.gate.new_episode()
