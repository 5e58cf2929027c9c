"""Simulated joint trajectory and gripper controllers: they turn commands into set points."""

from __future__ import annotations

import numpy as np

from sightplan.model import WorldError
from sightplan_arm.hardware import JointTrajectory, Vector
from sightplan_arm.trajectories import Spline


class TrajectoryController:
    """Follows one trajectory at a time, as ros2_control's joint trajectory controller does.

    With positions and velocities it interpolates by cubic splines, with positions alone (an
    empty array of velocities) linearly. A new trajectory replaces the running one at once; if it
    does not begin at time 0, it is joined to the state the arm is in. At its end the arm holds.

    Args:
        positions: (N,) where the arm holds at the start [rad].
    """

    def __init__(self, positions: Vector) -> None:
        self._n = len(positions)
        self.hold(positions)

    def hold(self, positions: Vector) -> None:
        """Hold a position from now on."""
        self._start_s = self._end_s = float('-inf')
        self._times = np.zeros(1)
        self._last = np.array(positions, dtype=np.float64)

    def start(self, trajectory: JointTrajectory, now_s: float, positions: Vector,
              velocities: Vector) -> None:
        """Follow a trajectory from now on.

        Args:
            trajectory: K points of N joints.
            now_s: time at which it starts [s].
            positions: (N,) where the arm is [rad].
            velocities: (N,) how fast it moves [rad/s].

        Raises:
            WorldError: it has no points, is of another number of joints, or its numbers are not
                finite or its times not increasing from 0 or later; the running one goes on.
        """
        times, at, speed = _checked(trajectory, self._n)
        if times[0] > 0:
            times = np.concatenate([[0.0], times])
            at = np.vstack([positions, at])
            speed = np.vstack([velocities, speed]) if len(speed) else speed
        self._start_s, self._end_s = now_s, now_s + float(times[-1])
        self._times, self._last = times, at[-1].copy()
        if len(speed):
            self._spline = Spline.of(JointTrajectory(times, at, speed))
        else:
            h, rise = np.diff(times), np.diff(at, axis=0)
            self._spline = Spline(h, at[:-1], rise / h[:, None], 0 * rise, 0 * rise)

    def active(self, now_s: float) -> bool:
        """Whether the trajectory has not come to its end."""
        return now_s < self._end_s

    def desired(self, now_s: float) -> tuple[Vector, Vector]:
        """Set point of the trajectory at a time.

        Args:
            now_s: not before the start [s].

        Returns:
            (N,) positions [rad] and (N,) velocities [rad/s].
        """
        if now_s >= self._end_s:
            return self._last, np.zeros(self._n)
        t = now_s - self._start_s
        piece = int(np.searchsorted(self._times, t, side='right')) - 1
        return self._spline.at(piece, t - self._times[piece])[:2]


_PARTS = 4  # parts of a physics step, so that the low pass is smooth with any step length


class SetPointController:
    """Leads joints to set points that another controller gives many times a second.

    As drives do, it smooths them (a low pass of second order, critically damped), and goes no
    faster than joints may, nor than they could brake before the set point: set points come by the
    wall's clock, and on a busy computer simulated time stands now and then, and catches up. Joints
    are some 2 / 60 s behind their set points.

    Args:
        positions: (N,) where the joints are led now [rad].
        velocities: (N,) how fast [rad/s].
        fastest: (N,) limits of that [rad/s].
        strongest: (N,) limits of the acceleration [rad/s2].
    """

    _CORNER_RAD_S = 60.0

    def __init__(self, positions: Vector, velocities: Vector, fastest: Vector,
                 strongest: Vector) -> None:
        self._at, self._speed, self._goal = positions, velocities, positions
        self._fastest, self._strongest = fastest, strongest

    def start(self, positions: Vector) -> None:
        """The next set point, (N,) [rad].

        Raises:
            WorldError: there are other joints, or a number is not finite.
        """
        if np.shape(positions) != np.shape(self._at) or not np.isfinite(positions).all():
            raise WorldError(f'{positions} are not positions of {len(self._at)} joints')
        self._goal = np.array(positions, dtype=np.float64)

    def step(self, duration_s: float) -> tuple[Vector, Vector]:
        """Let time pass; returns where the joints should be then, and how fast they should move.

        Args:
            duration_s: of one step of the physics.
        """
        corner, part_s = self._CORNER_RAD_S, duration_s / _PARTS
        for _ in range(_PARTS):
            away = self._goal - self._at
            wanted = corner * (corner * away - 2.0 * self._speed)
            fastest = np.minimum(self._fastest, np.sqrt(2.0 * self._strongest * np.abs(away)))
            speed = self._speed + part_s * np.clip(wanted, -self._strongest, self._strongest)
            # Who was faster than that brakes, no harder than joints can.
            slower = np.abs(self._speed) - part_s * self._strongest
            most = np.maximum(fastest, slower)
            self._speed = np.clip(speed, -most, most)
            self._at = self._at + part_s * self._speed
        return self._at, self._speed


def _checked(trajectory: JointTrajectory, n: int) -> tuple[Vector, Vector, Vector]:
    """Times (K,), positions (K, N) and velocities (K, N) or (0, N) of a sound trajectory."""
    times = np.asarray(trajectory.times_s, dtype=np.float64)
    at = np.asarray(trajectory.positions, dtype=np.float64)
    speed = np.asarray(trajectory.velocities, dtype=np.float64)
    if times.ndim != 1 or not len(times):
        raise WorldError('the trajectory has no points')
    if at.shape != (len(times), n):
        raise WorldError(f'the trajectory has positions of shape {at.shape} for {len(times)} '
                         f'points of {n} joints')
    if speed.size == 0:
        speed = np.zeros((0, n))
    elif speed.shape != at.shape:
        raise WorldError(f'the trajectory has velocities of shape {speed.shape} for positions '
                         f'of shape {at.shape}')
    if not (np.isfinite(times).all() and np.isfinite(at).all() and np.isfinite(speed).all()):
        raise WorldError('the trajectory holds a number that is not finite')
    if times[0] < 0 or (np.diff(times) <= 0).any():
        raise WorldError('the times of the trajectory do not increase from 0')
    return times, at, speed


class GripperController:
    """Drives the distance of two fingers to a set point at a limited speed, with limited force.

    The set point runs on although the fingers press on something, so that they hold it with the
    force of the command.
    """

    def __init__(self, opening_m: float, open_m: float, speed_m_s: float, most_n: float) -> None:
        self._open_m, self._speed_m_s, self._most_n = open_m, speed_m_s, most_n
        self.hold(opening_m)

    def hold(self, opening_m: float) -> None:
        """Stay at an opening, with full force."""
        self.opening_m = self.goal_m = min(max(opening_m, 0.0), self._open_m)
        self.force_n = self._most_n

    def start(self, opening_m: float, force_n: float) -> None:
        """Move the fingers to an opening, clipped to what the gripper can reach.

        Raises:
            WorldError: a number is not finite, or the force not positive.
        """
        if not (np.isfinite(opening_m) and np.isfinite(force_n) and force_n > 0):
            raise WorldError(f'the gripper cannot go to {opening_m} m with {force_n} N')
        self.goal_m = min(max(float(opening_m), 0.0), self._open_m)
        self.force_n = min(float(force_n), self._most_n)

    @property
    def opens(self) -> bool:
        """Whether the set point goes outwards."""
        return self.goal_m > self.opening_m

    @property
    def active(self) -> bool:
        """Whether the set point still moves."""
        return self.opening_m != self.goal_m

    def step(self, duration_s: float) -> float:
        """Let time pass; returns the set point [m]."""
        reach = self._speed_m_s * duration_s
        self.opening_m += min(max(self.goal_m - self.opening_m, -reach), reach)
        return self.opening_m
