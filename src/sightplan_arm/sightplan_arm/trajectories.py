"""Paths of joint angles, and trajectories: cubic splines in time that keep to limits.

A *path* is an array (K, N) of joint angles without time [rad].
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError
from sightplan_arm.geometry import Array, between, distance
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.kinematics import Kinematics

KNOT_S = 0.04
"""Greatest distance in time of the points of a planned trajectory [s]."""

SMOOTH_S = 0.08
"""A planned acceleration takes about this long to come up or to go [s]."""

MIN_STEP_S = 0.001
"""Least distance in time of the points of a trajectory that brakes [s]."""

_TICK_S = 0.004  # period at which the speed along a curve is planned
_GRID = 200  # points of a curve at which its greatest speed is worked out
_BEND = 0.6  # part of the acceleration that bends of the curve may take
_JUMP_RAD = 0.3  # joints that turn further within one step of a straight line have flipped
_SAME_RAD = 1e-9
_START_M, _START_RAD = 0.005, 0.05  # distance from the tip within which a straight line may begin


class UnreachableError(WorldError):
    """Raised if the hand cannot get to a place, or not along the given way."""


@dataclass(frozen=True, eq=False)
class Extremes:
    """The least and the greatest values of each joint over a whole trajectory, each (N,).

    Attributes:
        lower, upper: of the position [rad].
        velocity: the greatest magnitude [rad/s].
        acceleration: the greatest magnitude [rad/s2].
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array


@dataclass(frozen=True, eq=False)
class Spline:
    """The cubic pieces of a trajectory: q(u) = a + b u + c u^2 + d u^3, u [s] from each start.

    Attributes:
        lengths_s: (P,) of each piece.
        a, b, c, d: (P, N).
    """

    lengths_s: Array
    a: Array
    b: Array
    c: Array
    d: Array

    @classmethod
    def of(cls, trajectory: JointTrajectory) -> Spline:
        """The pieces between the points of a trajectory with at least two points."""
        times, q, v = trajectory.times_s, trajectory.positions, trajectory.velocities
        return cls.between(times[1:] - times[:-1], q[:-1], q[1:], v[:-1], v[1:])

    @classmethod
    def between(cls, lengths_s: Array, q0: Array, q1: Array, v0: Array, v1: Array) -> Spline:
        """The pieces with given positions and velocities (P, N) at their ends."""
        h = lengths_s[:, None]
        rise = (q1 - q0) / h
        return cls(lengths_s, q0, v0, (3.0 * rise - 2.0 * v0 - v1) / h,
                   (v0 + v1 - 2.0 * rise) / (h * h))

    def at(self, piece: int, u: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (N,) at a time of one piece."""
        a, b, c, d = self.a[piece], self.b[piece], self.c[piece], self.d[piece]
        return a + u * (b + u * (c + u * d)), b + u * (2 * c + 3 * u * d), 2 * c + 6 * u * d

    def positions(self, piece: NDArray[np.intp], u: Array) -> Array:
        """(M, N) positions at times ``u`` (M,) of pieces (M,)."""
        u = u[:, None]
        return np.asarray(self.a[piece] + u * (self.b[piece] + u * (
            self.c[piece] + u * self.d[piece])))

    def velocities(self, piece: NDArray[np.intp], u: Array) -> Array:
        """(M, N) velocities at times ``u`` (M,) of pieces (M,)."""
        u = u[:, None]
        return np.asarray(self.b[piece] + u * (2.0 * self.c[piece] + u * 3.0 * self.d[piece]))

    def variations(self, piece: NDArray[np.intp], low: Array, high: Array) -> Array:
        """(M, N) how far each joint goes, there and back added up, between two times of pieces.

        A cubic goes one way between the zeros of its velocity.
        """
        low, high = low[:, None], high[:, None]
        a, b, c, d = self.a[piece], self.b[piece], self.c[piece], self.d[piece]
        with np.errstate(all='ignore'):  # the roots in their stable form; what is none is cut off
            pivot = -(c + np.copysign(np.sqrt(c * c - 3.0 * d * b), c))
            first, second = pivot / (3.0 * d), b / pivot
            roots = [np.where(np.isfinite(t), np.clip(t, low, high), low)
                     for t in (np.fmin(first, second), np.fmax(first, second))]
        times = [np.broadcast_to(low, a.shape), *roots, np.broadcast_to(high, a.shape)]
        places = [a + u * (b + u * (c + u * d)) for u in times]
        return np.asarray(sum(np.abs(q1 - q0) for q0, q1 in itertools.pairwise(places)))


def giving_way(q: Array, dq: Array, to: Array, stop_acceleration: Array, max_velocity: Array,
               max_acceleration: Array) -> JointTrajectory:
    """Brake, and then move slowly to the position at which an obstacle keeps the arm.

    Args:
        q: (N,) positions to which the arm is told to go now [rad].
        dq: (N,) velocities, likewise [rad/s].
        to: (N,) where it is.
        stop_acceleration: (N,) with which it brakes [rad/s2].
        max_velocity: (N,) which are kept to then [rad/s].
        max_acceleration: (N,) likewise [rad/s2].
    """
    brake = stopping(q, dq, stop_acceleration)
    ends = brake.positions[-1]
    if float(np.abs(to - ends).max()) < _SAME_RAD:
        return brake
    back = timed(joint_line(ends, to), max_velocity, max_acceleration)
    return JointTrajectory(
        np.concatenate([brake.times_s, brake.times_s[-1] + back.times_s[1:]]),
        np.concatenate([brake.positions, back.positions[1:]]),
        np.concatenate([brake.velocities, back.velocities[1:]]))


def backwards(trajectory: JointTrajectory) -> JointTrajectory:
    """The trajectory in reverse, at the same speed."""
    times = trajectory.times_s
    return JointTrajectory(times[-1] - times[::-1], trajectory.positions[::-1].copy(),
                           -trajectory.velocities[::-1])


def sample(trajectory: JointTrajectory, t: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (N,) at a time; at rest before and after."""
    times = trajectory.times_s
    if len(times) < 2 or t < times[0] or t > times[-1]:
        still = np.zeros_like(trajectory.positions[0])
        return trajectory.positions[0 if t < times[0] else -1].copy(), still, still.copy()
    piece = min(int(np.searchsorted(times, t, side='right')) - 1, len(times) - 2)
    part = JointTrajectory(times[piece:piece + 2], trajectory.positions[piece:piece + 2],
                           trajectory.velocities[piece:piece + 2])
    return Spline.of(part).at(0, t - times[piece])


def positions_at(trajectory: JointTrajectory, times_s: Array) -> Array:
    """(M, N) positions at times (M,) of a trajectory with at least two points; see ``sample``."""
    times, q, v = trajectory.times_s, trajectory.positions, trajectory.velocities
    t = np.clip(times_s, times[0], times[-1])
    piece = np.minimum(times.searchsorted(t, side='right') - 1, len(times) - 2)
    pieces = Spline.between(times[piece + 1] - times[piece], q[piece], q[piece + 1], v[piece],
                            v[piece + 1])
    return pieces.positions(np.arange(len(t)), t - times[piece])


def extremes(trajectory: JointTrajectory) -> Extremes:
    """Exact bounds of the cubic pieces, not of samples.

    A cubic's position is extreme at its ends or where the velocity's quadratic is zero, its
    velocity at its ends or where the acceleration is zero, its acceleration at its ends.
    """
    positions, velocities = trajectory.positions, trajectory.velocities
    if len(positions) < 2:
        return Extremes(positions.min(0), positions.max(0), np.abs(velocities).max(0),
                        np.zeros(positions.shape[1]))
    spline = Spline.of(trajectory)
    h, q, v, a, b = spline.lengths_s[:, None], spline.a, spline.b, spline.c, spline.d
    # Impossible values become infinite or NaN, which is not inside.
    with np.errstate(all='ignore'):
        # The roots of v + 2 a t + 3 b t^2 in their stable form, and that of its derivative.
        pivot = -(a + np.copysign(np.sqrt(a * a - 3 * b * v), a))
        t = np.stack([pivot / (3 * b), v / pivot, -a / (3 * b)])
        t = np.where((t > 0) & (t < h), t, 0.0)
    turning = q + t[:2] * (v + t[:2] * (a + t[:2] * b))
    fastest = np.abs(v + t[2] * (2 * a + 3 * t[2] * b))
    return Extremes(
        np.minimum(positions.min(axis=0), turning.min(axis=(0, 1))),
        np.maximum(positions.max(axis=0), turning.max(axis=(0, 1))),
        np.maximum(np.abs(velocities).max(axis=0), fastest.max(axis=0)),
        np.maximum(np.abs(2 * a), np.abs(2 * a + 6 * h * b)).max(axis=0))


def joint_line(q0: Array, q1: Array) -> Array:
    """(2, N) path straight from one configuration to another."""
    return np.stack([np.asarray(q0, dtype=np.float64), np.asarray(q1, dtype=np.float64)])


def cartesian(kinematics: Kinematics, q_start: Array, pose_from: Array, pose_to: Array,
              step_m: float = 0.01) -> Array:
    """Path along which the tip goes straight and turns evenly from one pose to another.

    Args:
        kinematics: of the arm.
        q_start: (N,) at which the tip is at ``pose_from``; the path begins there.
        pose_from: (4, 4) of the tip in the base's frame, where it is.
        pose_to: (4, 4) of the tip in the base's frame, where it goes.
        step_m: greatest distance of neighbouring points; a turn of 0.1 rad counts as one step.

    Returns:
        (K, N) [rad].

    Raises:
        UnreachableError: a point has no inverse kinematics, or only with the arm folded another
            way than at the point before.
        ValueError: the tip is not at ``pose_from``.
    """
    apart, turned = distance(kinematics.fk(q_start), pose_from)
    if apart > _START_M or turned > _START_RAD:
        raise ValueError(f'the tip is {apart * 1000:.1f} mm and {turned:.2f} rad from where the '
                         'straight line begins')
    metres, radians = distance(pose_from, pose_to)
    steps = max(1, math.ceil(metres / step_m), math.ceil(radians / 0.1))
    path = [np.asarray(q_start, dtype=np.float64)]
    for number in range(1, steps + 1):
        pose = between(pose_from, pose_to, number / steps)
        q = kinematics.ik(pose, path[-1])
        x, y, z = pose[:3, 3]
        where = f'at ({x:.3f}, {y:.3f}, {z:.3f}) m of the base'
        if q is None:
            raise UnreachableError(f'the arm cannot reach the straight way {where}')
        if float(np.abs(q - path[-1]).max()) > _JUMP_RAD:
            raise UnreachableError(f'the arm cannot go straight on {where}: its joints would jump '
                                   f'by {float(np.abs(q - path[-1]).max()):.1f} rad')
        path.append(q)
    return np.stack(path)


def timed(path: Array, max_velocity: Array, max_acceleration: Array) -> JointTrajectory:
    """Travel along a path, from rest to rest, within limits.

    The curve is the natural cubic spline through the path's points. How fast to go along it is
    planned as in Bobrow, Dubowsky and Gibson (1985) and smoothed; then all is stretched in time
    until the limits hold for the cubic pieces of the result, as ``extremes`` has them.

    Args:
        path: (K, N) [rad], K >= 1; dense where it must be straight in space.
        max_velocity: (N,) [rad/s].
        max_acceleration: (N,) [rad/s2].

    Returns:
        The trajectory from the first to the last point of the path. A path that goes nowhere
        gives one that stands still for a moment.

    Raises:
        ValueError: a number is not finite, or a limit not positive.
    """
    path = np.asarray(path, dtype=np.float64)
    limits = np.stack([max_velocity, max_acceleration])
    if not (np.isfinite(path).all() and np.isfinite(limits).all() and (limits > 0).all()):
        raise ValueError('paths and limits must be finite, and limits positive')
    moves = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0) > _SAME_RAD
    points = path[np.concatenate([[True], moves])]
    if len(points) < 2:
        return JointTrajectory(np.array([0.0, KNOT_S]), path[[0, 0]], np.zeros((2, path.shape[1])))
    curve = _Curve(points, max_velocity)
    # Between its points a trajectory accelerates a little more than planned: plan with less, too.
    first = _follow(curve, max_velocity, max_acceleration)
    excess = float((extremes(first).acceleration / max_acceleration).max())
    second = _follow(curve, max_velocity, max_acceleration / max(excess, 1.0))
    for plan in (first, second):
        plan.positions[[0, -1]] = path[[0, -1]]  # without round-off
    return min((_slowed(plan, max_velocity, max_acceleration) for plan in (first, second)),
               key=lambda plan: plan.duration_s)


def _slowed(trajectory: JointTrajectory, max_velocity: Array, max_acceleration: Array,
            ) -> JointTrajectory:
    """The trajectory, stretched in time until it keeps to limits."""
    for _ in range(5):  # two are enough
        found = extremes(trajectory)
        slower = max(float((found.velocity / max_velocity).max()),
                     math.sqrt(float((found.acceleration / max_acceleration).max())))
        if slower <= 1.0:
            return trajectory
        slower *= 1 + 1e-6
        trajectory = JointTrajectory(trajectory.times_s * slower, trajectory.positions,
                                     trajectory.velocities / slower)
    raise ValueError('the numbers of the path are too large or too small to compute with')


def _follow(curve: _Curve, max_velocity: Array, max_acceleration: Array) -> JointTrajectory:
    """Travel along a curve, nearly within limits."""
    ticks, speed = _smoothed(*_travel(curve, max_velocity, max_acceleration))
    along = np.concatenate([[0.0], np.cumsum((speed[:-1] + speed[1:]) / 2)]) * _TICK_S
    scale = curve.length / along[-1]
    times = np.linspace(0.0, ticks[-1], max(5, math.ceil(ticks[-1] / KNOT_S) + 1))
    positions, slopes, _ = curve(scale * np.interp(times, ticks, along))
    return JointTrajectory(times, positions,
                           slopes * scale * np.interp(times, ticks, speed)[:, None])


def _travel(curve: _Curve, max_velocity: Array, max_acceleration: Array,
            ) -> tuple[Array, Array, Array]:
    """Times, parameters and speeds (M,) of a fast travel along a curve, from rest to rest."""
    along = np.linspace(0.0, curve.length, _GRID)
    step = float(along[1])
    _, first, second = (np.abs(part) for part in curve(along))
    first, second = np.maximum(first, 1e-9), np.maximum(second, 1e-9)
    # Squares of the speed: as velocities and bends allow; then as speeding up from the point
    # before and braking for the point after allow, with the acceleration that bends leave.
    square = np.minimum((max_velocity / first).min(axis=1)**2,
                        (_BEND * max_acceleration / second).min(axis=1))
    square[[0, -1]] = 0.0
    # Of so few numbers lists are several times as fast as arrays.
    squares, most = square.tolist(), max_acceleration.tolist()
    slopes = [list(zip(most, *pair, strict=True))
              for pair in zip(second.tolist(), first.tolist(), strict=True)]
    there = range(1, _GRID)
    for order, back in ((there, -1), (reversed(there), 0)):
        for right in order:
            known, new = (right - 1, right) if back else (right, right - 1)
            least = min(squares[known], squares[new])
            gain = 2 * step * min([(a - bend * least) / slope for a, bend, slope in slopes[right]])
            squares[new] = min(squares[new], squares[known] + gain)
    speed = np.sqrt(squares)
    took = np.cumsum(2 * step / (speed[:-1] + speed[1:]))
    return np.concatenate([[0.0], took]), along, speed


def _smoothed(times: Array, along: Array, speed: Array) -> tuple[Array, Array]:
    """Even ticks, and the speed averaged over SMOOTH_S: accelerations do not jump."""
    half = round(SMOOTH_S / _TICK_S / 2)
    fine = np.arange(-2 * half, math.ceil(times[-1] / _TICK_S) + 2 * half + 1) * _TICK_S
    piece = np.clip(np.searchsorted(times, fine, side='right') - 1, 0, len(times) - 2)
    lasts = np.diff(times)[piece]
    inside = np.clip(fine - times[piece], 0.0, lasts)
    there = along[piece] + inside * (
        speed[piece] + inside * np.diff(speed)[piece] / (2 * lasts))
    mean = (there[2 * half:] - there[:-2 * half]) / (2 * half * _TICK_S)
    return np.arange(len(mean), dtype=np.float64) * _TICK_S, mean


class _Curve:
    """Natural cubic spline; its parameter is the time that full speed would take at least."""

    def __init__(self, points: Array, max_velocity: Array) -> None:
        h = (np.abs(np.diff(points, axis=0)) / max_velocity).max(axis=1)
        self._knots, self._points = np.concatenate([[0.0], np.cumsum(h)]), points
        self.length = float(self._knots[-1])
        count = len(points)
        matrix, right = np.eye(count), np.zeros_like(points)
        slope = np.diff(points, axis=0) / h[:, None]
        inner = np.arange(1, count - 1)
        matrix[inner, inner - 1], matrix[inner, inner + 1] = h[:-1] / 6, h[1:] / 6
        matrix[inner, inner] = (h[:-1] + h[1:]) / 3
        right[1:-1] = np.diff(slope, axis=0)
        self._second = np.linalg.solve(matrix, right)

    def __call__(self, s: Array) -> tuple[Array, Array, Array]:
        """Points, first and second derivatives (M, N) at parameters (M,)."""
        piece = np.clip(np.searchsorted(self._knots, s, side='right') - 1, 0, len(self._knots) - 2)
        h = np.diff(self._knots)[piece, None]
        u = s[:, None] - self._knots[piece, None]
        m0, m1 = self._second[piece], self._second[piece + 1]
        q0, q1 = self._points[piece], self._points[piece + 1]
        slope = (q1 - q0) / h - h * (2 * m0 + m1) / 6
        jerk = (m1 - m0) / h
        return (q0 + u * (slope + u * (m0 / 2 + u * jerk / 6)),
                slope + u * (m0 + u * jerk / 2), m0 + u * jerk)


def stopping(q: Array, dq: Array, stop_acceleration: Array, lower: Array | None = None,
             upper: Array | None = None) -> JointTrajectory:
    """Come to rest from a motion as fast as the slowest joint can.

    All joints brake evenly and stop together, so the arm keeps its direction. A joint that would
    so pass its limit brakes as hard as it may instead. Times are whole milliseconds.

    Args:
        q: (N,) positions now [rad].
        dq: (N,) velocities now [rad/s].
        stop_acceleration: (N,) [rad/s2], which is kept to.
        lower: (N,) least positions [rad].
        upper: (N,) greatest positions [rad].

    Returns:
        A trajectory whose first point moves with ``dq``, from ``q``. Where limits are given it
        never leaves them: it begins at the nearest position within, and a joint that could not
        stop in time begins as fast as it just can.
    """
    q, dq = np.asarray(q, dtype=np.float64), np.asarray(dq, dtype=np.float64)
    low = np.full(len(q), -np.inf) if lower is None else lower
    high = np.full(len(q), np.inf) if upper is None else upper
    q = np.clip(q, low, high)
    room = np.where(dq < 0, q - low, high - q)
    dq = np.sign(dq) * np.minimum(np.abs(dq), np.sqrt(2.0 * stop_acceleration * room))
    steps = np.ceil(np.abs(dq) / stop_acceleration / MIN_STEP_S - 1e-6)
    least = np.maximum(steps, 1.0) * MIN_STEP_S
    dq = np.sign(dq) * np.minimum(np.abs(dq), 2.0 * room / least)  # rounded up to milliseconds
    took = np.full(len(q), least.max())
    took = np.where(np.abs(dq) * took / 2 > room, least, took)
    times = np.unique(np.append(took, 0.0))
    passed = np.minimum(times[:, None], took)
    positions = q + dq * passed * (1 - passed / (2 * took))
    return JointTrajectory(times, np.clip(positions, low, high), dq * (1 - passed / took))


def goes_past(q: Array, dq: Array, brake: JointTrajectory) -> bool:
    """Whether a braking arm has gone past the place where it should come to rest.

    It has not begun to brake, then: the command is late, or lost. An arm that only follows late
    does not get there, and one that swings past its goal is slow.

    Args:
        q: (N,) positions as measured since [rad].
        dq: (N,) velocities, likewise [rad/s].
        brake: what it was told.
    """
    before = brake.velocities[0]
    return bool((q - brake.positions[-1]) @ before > 0.0
                and dq @ before > 0.8 * (before @ before))
