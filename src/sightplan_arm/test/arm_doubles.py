"""An arm that follows splines perfectly, on its own clock, and fails on request."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numpy as np

from sightplan.model import WorldError
from sightplan_arm.hardware import JointState, JointTrajectory
from sightplan_arm.trajectories import extremes, joint_line, sample, timed


class WallClock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@dataclass
class Sent:
    """A command that reached the arm; without a trajectory it was the fingers'."""

    time_s: float
    trajectory: JointTrajectory | None = None


class FollowingArm:
    """Implements the protocol Arm; time passes in ``wait`` alone, on both clocks.

    Attributes:
        sent: all commands, in order.
        on_command: called with each trajectory before it is taken.
        offset_rad: added to measured positions.
        push_rad_s: added to measured velocities.
        silent: whether no measurements come.
        frozen: whether the arm's clock stands still.
        deaf: whether commands have no effect.
        stuck: whether something is in the way: it stays where it is.
        broken: whether commands raise WorldError.
        losing: number of trajectories yet to come that are lost on their way.
        late_s: by which it follows late.
        between_m: width of what is between the fingers.
    """

    def __init__(self, robot, clock, posture=None):
        self.robot, self.clock = robot, clock
        self.time_s, self.sent = 0.0, []
        self.posture = np.array(robot.arm.park if posture is None else posture)
        self.offset_rad, self.push_rad_s = 0.0 * self.posture, 0.0 * self.posture
        self.silent = self.frozen = self.deaf = self.stuck = self.broken = False
        self.losing = 0
        self.late_s = self.between_m = 0.0
        self.opening_m = self._goal_m = robot.gripper.open_m
        self.on_command = lambda trajectory: None
        self._events = []
        self._begun_s, self._trajectory = 0.0, None
        self._told = []  # when, and where to and how fast
        self._measured, self._measured_at = None, -np.inf
        self._lock = threading.RLock()
        self._measure()

    def after(self, seconds, event):
        """Have a function called once so much time has passed."""
        with self._lock:
            self._events.append((self.time_s + seconds, event))

    def now_s(self):
        return self.time_s

    def state(self):
        with self._lock:
            return self._measured

    def state_age_s(self):
        return self.clock() - self._measured_at

    def command(self, trajectory):
        with self._lock:
            if self.broken:
                raise WorldError('the cable is out')
            self.on_command(trajectory)
            self.sent.append(Sent(self.time_s, trajectory))
            if self.losing:
                self.losing -= 1
            elif not self.deaf:
                self._begun_s, self._trajectory = self.time_s, trajectory

    def grip(self, opening_m, force_n):
        with self._lock:
            if self.broken:
                raise WorldError('the cable is out')
            self.on_command(None)
            self.sent.append(Sent(self.time_s))
            self._goal_m = max(opening_m, self.between_m)

    def wait(self, seconds):
        with self._lock:
            self.clock.now += seconds
            if not self.frozen:
                self.time_s += seconds
            if self._trajectory is not None:
                told = sample(self._trajectory, self.time_s - self._begun_s)[:2]
                self._told.append((self.time_s, told))
                if self.stuck:
                    self.velocity = 0.0 * self.posture
                elif past := [told for at, told in self._told
                              if at <= self.time_s - self.late_s + 1e-9]:
                    self._told = self._told[len(past) - 1:]
                    self.posture, self.velocity = past[-1]
            reach = 0.2 * seconds
            self.opening_m += min(max(self._goal_m - self.opening_m, -reach), reach)
            self._measure()
            due = [event for at, event in self._events if at <= self.time_s + 1e-9]
            self._events = [(at, event) for at, event in self._events
                            if at > self.time_s + 1e-9]
        for event in due:
            event()

    def _measure(self):
        if not self.silent:
            velocity = getattr(self, 'velocity', 0.0 * self.posture)
            self._measured = JointState(self.time_s, self.posture + self.offset_rad,
                                        velocity + self.push_rad_s, self.opening_m)
            self._measured_at = self.clock()


def take_brakes_late(arm, late_s):
    """Have its controller be busy from the first braking on: the newest gets there, so much later.

    Returns:
        all that it was told, and how far the arm had gone past where the one it took began.
    """
    take, waiting, behind = arm.command, [], []

    def command(trajectory):
        if not brakes(trajectory):
            take(trajectory)
            return
        waiting.append(trajectory)
        if len(waiting) == 1:
            arm.after(late_s, deliver)

    def deliver():
        behind.append(arm.posture - waiting[-1].positions[0])
        take(waiting[-1])
    arm.command = command
    return waiting, behind


def way(robot, start, end, speed=1.0):
    """A motion from posture to posture at a part of the arm's greatest speed."""
    arm = robot.arm
    return timed(joint_line(start, end), speed * arm.max_velocity,
                 speed**2 * arm.max_acceleration)


def brakes(trajectory, robot=None):
    """Whether a trajectory only slows down, and as the arm can: speeds, accelerations, places."""
    speeds = np.abs(trajectory.velocities)
    h = np.diff(trajectory.times_s)[:, None]
    covered = np.abs(np.diff(trajectory.positions, axis=0))
    slows = bool((np.diff(speeds, axis=0) <= 1e-12).all()
                 and (covered <= h * speeds[:-1] + 1e-12).all() and not speeds[-1].any())
    if robot is None or not slows:
        return slows
    arm, found = robot.arm, extremes(trajectory)
    longest = float((arm.max_velocity / arm.stop_acceleration).max()) + 1e-3
    return bool((speeds[0] <= arm.max_velocity + 1e-9).all()
                and (found.acceleration <= arm.stop_acceleration * (1 + 1e-6) + 1e-6).all()
                and (found.lower >= arm.lower - 1e-9).all()
                and (found.upper <= arm.upper + 1e-9).all()
                and trajectory.duration_s <= longest + 1e-9)
