"""Nothing moves after a stop until it is released: random sequences, many trials, threads."""

import random
import threading
import time

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from arm_doubles import FollowingArm, WallClock, brakes, way
from sightplan_arm.config import load_robot
from sightplan_arm.gate import LATCHING, Gate, GateSettings, GateState
from sightplan_arm.hardware import ArmStoppedError
from sightplan_arm.kinematics import Kinematics

TRIALS = 1000


def short_way(robot, speed=1.0):
    return way(robot, robot.arm.park, robot.arm.park
               + 0.04 * (robot.arm.ready - robot.arm.park), speed)


def attempts(gate, robot, trajectory):
    """All ways in which a program may try to move something."""
    def skill():
        with gate.skill('a skill'):
            gate.follow(trajectory, 'a way')
    return (lambda: gate.follow(trajectory, 'a way'), lambda: gate.grip(0.0, 10.0, 'close'),
            lambda: gate.grip(robot.gripper.open_m, 10.0, 'open'), skill, gate.check_armed)


def refused(call):
    """The error of a call that must be refused."""
    with pytest.raises(ArmStoppedError) as raised:
        call()
    return raised.value


@pytest.mark.slow
def test_nothing_moves_after_a_latched_stop_until_it_is_released(panda, panda_kinematics):
    """Stops at random times, before, in and after a motion, by all that latches."""
    rng = random.Random(4)
    go = short_way(panda)
    clock = WallClock()
    arm = FollowingArm(panda, clock)
    gate = Gate(arm, panda, panda_kinematics, GateSettings(period_s=0.02), clock=clock)
    halfway = 0
    for trial in range(TRIALS):
        arm.posture = panda.arm.park.copy()
        arm._trajectory = None
        arm.wait(0.02)
        gate.new_episode()
        cause = rng.choice(LATCHING)
        at = rng.uniform(-0.05, go.duration_s)
        if at < 0:
            gate.stop(cause, f'trial {trial}')
        else:
            arm.after(at, lambda cause=cause, trial=trial: gate.stop(cause, f'trial {trial}'))
        try:
            gate.follow(go, 'a way')
            gate.stop(cause, 'after the end')
        except ArmStoppedError:
            halfway += at >= 0
        assert gate.status().cause == cause
        sent, where, opening = len(arm.sent), arm.posture.copy(), arm.opening_m
        assert np.abs(arm.state().velocities).max() == 0.0
        for call in rng.sample(attempts(gate, panda, go), 4):
            error = refused(call)
            assert (error.cause, error.latched) == (cause, True)
            gate.tick()
        assert refused(gate.new_episode).latched
        gate.hold()
        gate.rearm('a person')
        for call in attempts(gate, panda, go):
            assert refused(call).cause == 'not_reset'
        for _ in range(3):
            arm.wait(0.1)
            gate.tick()
        assert all(np.array_equal(one.trajectory.positions, [where] * 2)
                   for one in arm.sent[sent:]), 'it was told to stay where it is, and no more'
        assert np.array_equal(arm.posture, where)
        assert arm.opening_m == opening
        assert gate.status().state is GateState.REARMED
    assert halfway > 0.5 * TRIALS
    braked = [s for s in arm.sent if not np.array_equal(s.trajectory.positions, go.positions)]
    assert len(braked) >= TRIALS
    assert all(brakes(s.trajectory, panda) for s in braked)


class GateMachine(RuleBasedStateMachine):
    """Random sequences of everything that programs, persons and faults do to a gate."""

    def __init__(self):
        super().__init__()
        if not hasattr(GateMachine, 'robot'):
            GateMachine.robot = load_robot('panda')
            GateMachine.kinematics = Kinematics(self.robot)
        self.clock = WallClock()
        self.arm = FollowingArm(self.robot, self.clock)
        self.arm.on_command = self.judge
        self.image_age = 0.0
        self.gate = Gate(self.arm, self.robot, self.kinematics, GateSettings(period_s=0.02),
                         image_age_s=lambda: self.image_age, clock=self.clock)
        self.gate.require(['agent'])
        self.go, self.back = short_way(self.robot), None
        self.may_move = False  # the model: an episode has begun, and nothing has ended it
        self.latched = False

    def judge(self, trajectory):
        """Called with each command before the arm takes it."""
        if trajectory is not None and brakes(trajectory, self.robot):
            return
        assert self.may_move
        assert not self.latched
        assert self.gate.status().state is GateState.ARMED
        assert self.beaten_s() <= self.robot.safety.heartbeat_timeout_s
        assert self.image_age <= self.robot.safety.image_timeout_s
        assert self.arm.state_age_s() <= self.robot.safety.state_timeout_s

    def beaten_s(self):
        return self.clock() - getattr(self, 'last_beat', -1e9)

    def ended(self, latched):
        self.may_move = False
        self.latched |= latched

    def learn(self):
        """What a refusal or a break tells of the state."""
        status = self.gate.status()
        if status.state is not GateState.ARMED:
            self.ended(status.state is GateState.STOPPED)

    @rule()
    def beat(self):
        self.last_beat = self.clock()
        self.gate.beat('agent')

    @rule(seconds=st.sampled_from([0.02, 0.1, 0.3]))
    def time_passes(self, seconds):
        self.arm.wait(seconds)
        self.gate.tick()

    @rule(cause=st.sampled_from(LATCHING))
    def stop(self, cause):
        self.gate.stop(cause)
        self.ended(True)

    @rule()
    def hold(self):
        self.gate.hold()
        self.may_move = False

    @rule()
    def rearm(self):
        try:
            self.gate.rearm('a person')
        except ArmStoppedError:
            assert self.arm.silent, 'it was last measured in motion, or long ago'
        else:
            self.latched = False

    @rule()
    def new_episode(self):
        if self.latched:
            assert refused(self.gate.new_episode).latched
        else:
            try:
                self.gate.new_episode()
            except ArmStoppedError:
                assert self.arm.silent, 'it does not stand, as far as anybody knows'
                self.learn()
            else:
                self.may_move = True

    @rule(age=st.sampled_from([0.0, 0.5, 2.0]))
    def images(self, age):
        self.image_age = age

    @rule(silent=st.booleans())
    def joint_states(self, silent):
        self.arm.silent = silent
        self.arm.wait(0.02)

    @rule(event=st.sampled_from(['nothing', 'nothing', 'stop', 'hold', 'silence', 'push']),
          at=st.floats(0.0, 0.25), beats=st.booleans())
    def follow(self, event, at, beats):
        """A motion from where the arm is, during which something happens."""
        start = self.arm.posture
        end = (self.robot.arm.park if np.abs(start - self.robot.arm.park).max() > 1e-3
               else self.go.positions[-1])
        done, begun = [], self.may_move

        def happen():
            done.append(self.arm.time_s)
            if event == 'stop':
                self.stop('stop_request')
            elif event == 'hold':
                self.hold()
            elif event == 'silence':
                self.arm.silent = True
            elif event == 'push':
                self.arm.offset_rad = 0.12 + 0.0 * start
        if event != 'nothing':
            self.arm.after(at, happen)
        if beats:
            def beat():
                self.beat()
                if not over:
                    self.arm.after(0.06, beat)
            over = []
            beat()
        try:
            self.gate.follow(way(self.robot, start, end), 'a way')
            assert begun
            at_its_end = done and self.arm.time_s - done[0] < 0.03  # not more than a period ago
            assert not done or at_its_end or not self.may_move, 'it went on to its end'
            assert np.abs(self.arm.posture - end).max() < 1e-6
        except ArmStoppedError as error:
            stale = self.image_age > self.robot.safety.image_timeout_s
            reasons = [not begun, done, not beats, stale, self.arm.silent]
            if not any(reasons):
                raise AssertionError('refused for no reason') from error
            self.learn()
        finally:
            if beats:
                over.append(True)
            self.arm._events.clear()
            self.arm.offset_rad = 0.0 * start

    @rule(opening=st.sampled_from([0.0, 0.04, 0.08]))
    def grip(self, opening):
        try:
            reached = self.gate.grip(opening, 10.0, 'the fingers')
            assert abs(reached - opening) < 1e-3
        except ArmStoppedError:
            self.learn()

    @rule()
    def old_skill(self):
        """A skill that outlives a stop."""
        try:
            with self.gate.skill('old'):
                self.stop('stop_request')
                self.rearm()
                self.new_episode()
                if self.latched:
                    return
                error = refused(lambda: self.gate.follow(self.go, 'a way'))
                assert error.cause == 'outdated'
        except ArmStoppedError:
            self.learn()

    @precondition(lambda self: not self.may_move)
    @rule()
    def nothing_passes(self):
        before = len(self.arm.sent)
        for call in attempts(self.gate, self.robot, self.go):
            refused(call)
        assert len(self.arm.sent) == before

    @invariant()
    def model_and_gate_agree(self):
        status = self.gate.status()
        if (status.state is not GateState.ARMED and self.may_move) or (
                status.state is GateState.STOPPED and not self.latched):
            # The watchdog saw something by itself: only what it may see.
            assert status.cause in ('measured_position', 'measured_workspace', 'tracking',
                                    'unexpected_motion')
            self.ended(True)
        assert (status.state is GateState.ARMED) == self.may_move
        assert (status.state is GateState.STOPPED) == self.latched
        assert not status.ready or (self.may_move and not status.waiting_for)
        assert not self.gate._pending
        assert self.gate._motion is None


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)


class SleepyArm(FollowingArm):
    """Time passes in its own thread, so that many may wait at once."""

    def wait(self, seconds):
        time.sleep(0.0005)

    def pass_time(self, seconds):
        super().wait(seconds)


@pytest.mark.slow
def test_threads_that_stop_and_move_at_will_neither_block_nor_slip_through(
        panda, panda_kinematics):
    clock = WallClock()
    arm = SleepyArm(panda, clock)
    gate = Gate(arm, panda, panda_kinematics, clock=clock)
    wrong, over, gone_home, stopped_for_good = [], *(threading.Event() for _ in range(3))
    counts = {'sent': 0, 'stopped': 0, 'arrived': 0}

    def judge(trajectory):
        if trajectory is not None and brakes(trajectory, panda):
            return
        counts['sent'] += 1
        if gate.status().state is not GateState.ARMED or stopped_for_good.is_set():
            wrong.append('sent while nothing may move')
    arm.on_command = judge

    def forever(work, until=over):
        def run():
            try:
                while not until.is_set():
                    work()
            except BaseException as error:
                wrong.append(repr(error))
        return threading.Thread(target=run, daemon=True)

    def follow():
        start = arm.posture.copy()
        end = (panda.arm.park if np.abs(start - panda.arm.park).max() > 1e-3
               else short_way(panda).positions[-1])
        try:
            gate.follow(way(panda, start, end), 'a way')
            counts['arrived'] += 1
        except ArmStoppedError:
            time.sleep(0.001)

    def grip():
        try:
            gate.grip(0.04, 10.0, 'the fingers')
        except ArmStoppedError:
            time.sleep(0.002)

    def stop():
        time.sleep(random.uniform(0.0, 0.3))
        random.choice([gate.stop, gate.hold])()
        counts['stopped'] += 1

    def release():
        time.sleep(0.002)
        try:
            gate.rearm('a person')
            gate.new_episode()
        except ArmStoppedError:
            pass

    def tick():
        arm.pass_time(0.01)
        gate.tick()
        gate.status()
        time.sleep(0.0005)
    releaser = forever(release, gone_home)
    threads = [releaser, *(forever(work) for work in (follow, follow, grip, stop, tick))]
    heard = []
    gate.on_status(heard.append)
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 600.0  # on a busy machine few motions end before a stop
    while (min(counts.values()) < 10 and not wrong and time.monotonic() < deadline):
        time.sleep(0.05)
    gone_home.set()
    releaser.join(240.0)  # what was released may still begin, until the stop
    gate.stop()
    stopped_for_good.set()
    sent = counts['sent']
    time.sleep(0.1)
    over.set()
    for thread in threads:
        thread.join(240.0)
    assert not any(thread.is_alive() for thread in threads), 'a deadlock'
    assert not wrong, wrong[:3]
    assert min(counts.values()) >= 10, counts
    assert counts['sent'] == sent
    assert heard[-1] == gate.status()
