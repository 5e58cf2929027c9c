"""Paths of joint angles, and trajectories: cubic splines in time that keep to limits.

A *path* is an array (K, N) of joint angles without time [rad].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sightplan.model import WorldError
from sightplan_arm.geometry import Array, between, distance
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.kinematics import Kinematics

KNOT_S = 0.04
"""Distance of the points of a planned trajectory, about [s]."""

SMOOTH_S = 0.08
"""Accelerations of planned trajectories change no faster than within this time [s]."""

_JUMP_RAD = 0.3  # joints that turn further within one step of a straight line have flipped
_SAME_RAD = 1e-9
_GRID = 200  # points of the curve at which its speed is planned


class UnreachableError(WorldError):
    """The hand cannot get somewhere, or not along the way that was asked for."""


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


def _cubics(trajectory: JointTrajectory) -> tuple[Array, Array, Array, Array, Array]:
    """Durations (K-1, 1) and coefficients (K-1, N) of q0 + v0 t + a t^2 + b t^3 per piece."""
    q, v = trajectory.positions, trajectory.velocities
    h = np.diff(trajectory.times_s)[:, None]
    mean = np.diff(q, axis=0) / h
    return (h, q[:-1], v[:-1], (3 * mean - 2 * v[:-1] - v[1:]) / h,
            (v[:-1] + v[1:] - 2 * mean) / h**2)


def sample(trajectory: JointTrajectory, t: float) -> tuple[Array, Array, Array]:
    """Position, velocity and acceleration (N,) at a time; at rest before and after."""
    times = trajectory.times_s
    if len(times) < 2 or t < times[0] or t > times[-1]:
        still = np.zeros_like(trajectory.positions[0])
        return trajectory.positions[0 if t < times[0] else -1].copy(), still, still.copy()
    piece = min(int(np.searchsorted(times, t, side='right')) - 1, len(times) - 2)
    part = JointTrajectory(times[piece:piece + 2], trajectory.positions[piece:piece + 2],
                           trajectory.velocities[piece:piece + 2])
    _, q, v, a, b = (array[0] for array in _cubics(part))
    s = t - times[piece]
    return q + s * (v + s * (a + s * b)), v + s * (2 * a + 3 * s * b), 2 * a + 6 * s * b


def extremes(trajectory: JointTrajectory) -> Extremes:
    """Exact bounds of the cubic pieces, not of samples.

    A cubic's position is extreme at its ends or where the velocity's quadratic is zero, its
    velocity at its ends or where the acceleration is zero, its acceleration at its ends.
    """
    positions, velocities = trajectory.positions, trajectory.velocities
    if len(positions) < 2:
        return Extremes(positions.min(0), positions.max(0), np.abs(velocities).max(0),
                        np.zeros(positions.shape[1]))
    h, q, v, a, b = _cubics(trajectory)
    with np.errstate(divide='ignore', invalid='ignore'):
        # Roots of v + 2 a t + 3 b t^2, also where b vanishes: the numerically stable pair.
        root = np.sqrt(a * a - 3 * b * v)
        pivot = -(a + np.copysign(root, a))
        turns = np.stack([pivot / (3 * b), v / pivot, -a / (3 * b)])
    inside = (turns > 0) & (turns < h)
    turns = np.where(inside, turns, 0.0)
    at = q + turns[:2] * (v + turns[:2] * (a + turns[:2] * b))
    reached = np.concatenate([positions[None], np.pad(at, ((0, 0), (0, 1), (0, 0)), mode='edge')])
    fastest = np.abs(v + turns[2] * (2 * a + 3 * turns[2] * b))
    return Extremes(
        reached.min((0, 1)), reached.max((0, 1)),
        np.maximum(np.abs(velocities).max(0), fastest.max(0)),
        np.maximum(np.abs(2 * a), np.abs(2 * a + 6 * h * b)).max(0))


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
    """
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

    The curve is the natural cubic spline through the path's points. Its speed is planned on a
    grid (forward and backward pass over the speed that curvature and limits allow; Bobrow et al.
    1985), smoothed in time, and the trajectory is stretched until ``extremes`` confirms that its
    cubic pieces keep to the limits.

    Args:
        path: (K, N) [rad], K >= 1; dense where it must be straight in space.
        max_velocity: (N,) [rad/s].
        max_acceleration: (N,) [rad/s2].

    Returns:
        The trajectory. A path that goes nowhere gives one of two equal points.
    """
    path = np.asarray(path, dtype=np.float64)
    moved = np.abs(np.diff(path, axis=0)).max(axis=1, initial=0.0) > _SAME_RAD
    points = path[np.concatenate([[True], moved])]
    if len(points) < 2:
        return JointTrajectory(np.array([0.0, KNOT_S]), path[[0, 0]], np.zeros((2, path.shape[1])))
    curve = _Spline(points, max_velocity)
    times, along = _plan_speed(curve, max_velocity, max_acceleration)
    count = max(5, math.ceil(times[-1] / KNOT_S) + 1)
    knots = np.linspace(0.0, times[-1], count)
    s = np.interp(knots, times, along)
    rate = np.gradient(along, times, edge_order=1)
    speed = np.interp(knots, times, rate)
    speed[[0, -1]] = 0.0
    q, dq, _ = curve(s)
    q[0], q[-1] = points[0], points[-1]
    return _stretched(JointTrajectory(knots, q, dq * speed[:, None]), max_velocity,
                      max_acceleration)


def _stretched(trajectory: JointTrajectory, max_velocity: Array, max_acceleration: Array,
               ) -> JointTrajectory:
    """The same way, slower or faster, so that it just keeps to the limits."""
    while True:
        found = extremes(trajectory)
        factor = max(float((found.velocity / max_velocity).max()),
                     math.sqrt(float((found.acceleration / max_acceleration).max())))
        if 0.999 <= factor <= 1.0:
            return trajectory
        factor *= 1 + 1e-6
        trajectory = JointTrajectory(trajectory.times_s * factor, trajectory.positions,
                                     trajectory.velocities / factor)


class _Spline:
    """Natural cubic spline; its parameter is the time that full speed would take at least."""

    def __init__(self, points: Array, max_velocity: Array) -> None:
        h = (np.abs(np.diff(points, axis=0)) / max_velocity).max(axis=1)
        self.knots, self._points = np.concatenate([[0.0], np.cumsum(h)]), points
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
        piece = np.clip(np.searchsorted(self.knots, s, side='right') - 1, 0, len(self.knots) - 2)
        h = np.diff(self.knots)[piece, None]
        u = s[:, None] - self.knots[piece, None]
        m0, m1 = self._second[piece], self._second[piece + 1]
        q0, q1 = self._points[piece], self._points[piece + 1]
        slope = (q1 - q0) / h - h * (2 * m0 + m1) / 6
        jerk = (m1 - m0) / h
        return (q0 + u * (slope + u * (m0 / 2 + u * jerk / 6)),
                slope + u * (m0 + u * jerk / 2), m0 + u * jerk)


def _plan_speed(curve: _Spline, max_velocity: Array, max_acceleration: Array,
                ) -> tuple[Array, Array]:
    """Times and parameters (M,) of a smooth, fast travel along a curve."""
    s = np.linspace(0.0, curve.knots[-1], _GRID)
    _, first, second = curve(s)
    with np.errstate(divide='ignore'):
        # Squared speed that velocities allow, and half of the acceleration's allowance for bends.
        allowed = np.minimum((max_velocity / np.abs(first)).min(axis=1)**2,
                             (0.6 * max_acceleration / np.abs(second)).min(axis=1))
        push = np.minimum((max_acceleration / np.abs(first)).min(axis=1), 1e6)
    allowed = np.minimum(allowed, 1e6)
    bend = np.abs(second)
    allowed[[0, -1]] = 0.0
    step = s[1] - s[0]
    for order in (range(_GRID - 1), range(_GRID - 1, 0, -1)):
        for i in order:
            j = i + 1 if order.step > 0 else i - 1
            k = max(i, j)
            left = max_acceleration - bend[k] * min(allowed[i], allowed[j])
            accelerate = float(np.min(left / np.maximum(np.abs(first[k]), 1e-9)))
            accelerate = min(max(accelerate, 0.05 * push[k]), push[k])
            allowed[j] = min(allowed[j], allowed[i] + 2 * accelerate * step)
    speed = np.sqrt(allowed)
    took = np.concatenate([[0.0], np.cumsum(2 * step / (speed[:-1] + speed[1:]))])
    # Smoothing in time: the speed becomes its mean over a window, so its changes have no jumps.
    ticks = np.arange(-SMOOTH_S, took[-1] + SMOOTH_S + 0.002, 0.004)
    fine = np.interp(ticks, took, s)
    width = max(1, round(SMOOTH_S / 0.004)) | 1
    smooth = np.convolve(np.pad(fine, width // 2, mode='edge'), np.ones(width) / width, 'valid')
    inside = (smooth > 1e-12) & (smooth < s[-1] - 1e-12)
    lo, hi = int(np.argmax(inside)), len(inside) - int(np.argmax(inside[::-1]))
    return (ticks[lo - 1:hi + 1] - ticks[lo - 1],
            np.concatenate([[0.0], smooth[lo:hi], [s[-1]]]))


def stopping(q: Array, dq: Array, stop_acceleration: Array, lower: Array | None = None,
             upper: Array | None = None) -> JointTrajectory:
    """Come to rest from a motion as fast as the slowest joint can.

    All joints brake evenly and stop together, so the arm keeps its direction. A joint that would
    so pass its limit brakes as hard as it may instead.

    Args:
        q: (N,) positions now [rad].
        dq: (N,) velocities now [rad/s].
        stop_acceleration: (N,) [rad/s2].
        lower: (N,) least positions [rad].
        upper: (N,) greatest positions [rad].

    Returns:
        A trajectory whose first point moves with ``dq``.
    """
    q, dq = np.asarray(q, dtype=np.float64), np.asarray(dq, dtype=np.float64)
    least = np.abs(dq) / stop_acceleration
    took = np.full(len(q), max(float(least.max()), 1e-3))
    end = q + dq * took / 2
    for limit, sign in ((lower, -1.0), (upper, 1.0)):
        if limit is not None:
            took = np.where(sign * (end - limit) > 0, np.maximum(least, 1e-3), took)
    times = np.unique(np.concatenate([[0.0], took]))
    u = np.minimum(times[:, None], took)
    velocities = dq * (1 - u / took)
    velocities[-1] = 0.0
    return JointTrajectory(times, q + dq * u * (1 - u / (2 * took)), velocities)
