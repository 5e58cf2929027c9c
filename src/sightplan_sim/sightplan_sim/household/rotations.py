"""Rotations as (3, 3) matrices, whose columns are the turned axes, and frames that joints move."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.household.shapes import Joint, Vec3

Floats = NDArray[np.float64]


def joint_frame(joint: Joint | None, opening: float) -> tuple[Floats, Floats]:
    """Origin and rotation of a link's frame in its body's, at a fraction of the joint's range."""
    if joint is None:
        return np.zeros(3), np.eye(3)
    value, axis = opening * joint.upper, np.array(joint.axis)
    if joint.kind == 'slide':
        return np.array(joint.origin) + value * axis, np.eye(3)
    return np.array(joint.origin), about(axis, value)


def about(axis: Floats, angle: float) -> Floats:
    """(3, 3) rotation about a unit vector [rad] (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + math.sin(angle) * cross
                      + (1 - math.cos(angle)) * (cross @ cross))


def turn(yaw: float) -> Floats:
    """(3, 3) rotation about z [rad]."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def euler(rpy: Vec3) -> Floats:
    """(3, 3) rotation by roll, pitch, yaw about fixed axes [rad]."""
    if rpy == (0.0, 0.0, 0.0):
        return np.eye(3)
    x, y, z = np.eye(3)
    return np.asarray(about(z, rpy[2]) @ about(y, rpy[1]) @ about(x, rpy[0]))


def quaternion(rotation: Floats) -> list[float]:
    """Quaternion (x, y, z, w) of a rotation matrix (Shepperd's method)."""
    m = rotation
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    squares = np.array([m[0, 0], m[1, 1], m[2, 2], trace])
    k = int(np.argmax(squares))
    q = np.zeros(4)
    if k == 3:
        q[3] = 1.0 + trace
        q[:3] = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    else:
        i, j, n = k, (k + 1) % 3, (k + 2) % 3
        q[i] = 1.0 + m[i, i] - m[j, j] - m[n, n]
        q[j], q[n] = m[j, i] + m[i, j], m[n, i] + m[i, n]
        q[3] = m[n, j] - m[j, n]
    return [float(v) for v in q / np.linalg.norm(q)]


def matrix(q: Sequence[float]) -> Floats:
    """(3, 3) rotation of a unit quaternion x, y, z, w."""
    x, y, z, w = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])
