"""Poses as (4, 4) matrices, rotations as (3, 3): the few operations that arms need.

A pose of frame B in frame A takes the coordinates of a point in B to its coordinates in A.
Quaternions are (x, y, z, w), as in geometry_msgs; roll, pitch, yaw turn about the fixed axes x, y,
z in this order, as in URDF.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_SMALL = 1e-9


def rotation_from_rpy(rpy_rad: ArrayLike) -> Array:
    """(3, 3) rotation of roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = np.asarray(rpy_rad, dtype=np.float64)
    cr, sr, cp, sp = math.cos(roll), math.sin(roll), math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])


def rpy_from_rotation(rotation: Array) -> Array:
    """(3,) roll, pitch, yaw [rad] of a rotation; straight up or down the roll is 0."""
    pitch = math.asin(max(-1.0, min(1.0, -float(rotation[2, 0]))))
    if abs(rotation[2, 0]) > 1 - 1e-9:  # roll and yaw turn about the same axis
        return np.array([0.0, pitch, math.atan2(-rotation[0, 1], rotation[1, 1])])
    return np.array([math.atan2(rotation[2, 1], rotation[2, 2]), pitch,
                     math.atan2(rotation[1, 0], rotation[0, 0])])


def rotation_from_quaternion(xyzw: ArrayLike) -> Array:
    """(3, 3) rotation of a quaternion of any length but zero."""
    x, y, z, w = np.asarray(xyzw, dtype=np.float64) / np.linalg.norm(xyzw)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def quaternion_from_rotation(rotation: ArrayLike) -> Array:
    """(4,) unit quaternion (x, y, z, w), w >= 0, of a rotation (Shepperd's method, 1978)."""
    m = np.asarray(rotation, dtype=np.float64)
    squares = np.array([1 + m[0, 0] - m[1, 1] - m[2, 2], 1 - m[0, 0] + m[1, 1] - m[2, 2],
                        1 - m[0, 0] - m[1, 1] + m[2, 2], 1 + m[0, 0] + m[1, 1] + m[2, 2]])
    # Each row is the quaternion times four times its own entry on the diagonal.
    rows = np.array([
        [squares[0], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0], m[2, 1] - m[1, 2]],
        [m[0, 1] + m[1, 0], squares[1], m[1, 2] + m[2, 1], m[0, 2] - m[2, 0]],
        [m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], squares[2], m[1, 0] - m[0, 1]],
        [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], squares[3]]])
    quaternion = rows[int(np.argmax(squares))]
    quaternion = quaternion / np.linalg.norm(quaternion)
    return np.asarray(quaternion if quaternion[3] >= 0 else -quaternion)


def rotation_from_vector(vector_rad: ArrayLike) -> Array:
    """(3, 3) rotation about an axis by the vector's length [rad] (Rodrigues' formula)."""
    vector = np.asarray(vector_rad, dtype=np.float64)
    angle = float(np.linalg.norm(vector))
    if angle < _SMALL:
        return np.asarray(np.eye(3) + _cross(vector))
    k = _cross(vector / angle)
    return np.asarray(np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k)


def vector_from_rotation(rotation: ArrayLike) -> Array:
    """(3,) axis times angle [rad] of a rotation, 0 <= angle <= pi."""
    quaternion = quaternion_from_rotation(rotation)
    sine = float(np.linalg.norm(quaternion[:3]))
    if sine < _SMALL:
        return np.asarray(2 * quaternion[:3])
    return np.asarray(quaternion[:3] / sine * 2 * math.atan2(sine, quaternion[3]))


def _cross(vector: Array) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def make_pose(xyz_m: ArrayLike, rotation: ArrayLike | None = None) -> Array:
    """(4, 4) pose from an origin (3,) and a rotation (3, 3), by default none."""
    pose = np.eye(4)
    pose[:3, 3] = xyz_m
    if rotation is not None:
        pose[:3, :3] = rotation
    return pose


def inverse(pose: Array) -> Array:
    """(4, 4) pose of frame A in frame B, from that of B in A."""
    back = np.eye(4)
    back[:3, :3] = pose[:3, :3].T
    back[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return back


def transform(pose: Array, points_m: ArrayLike) -> Array:
    """Points (..., 3) of frame B in frame A, by the pose of B in A."""
    return np.asarray(np.asarray(points_m, dtype=np.float64) @ pose[:3, :3].T + pose[:3, 3])


def hand_down(xyz_m: ArrayLike, yaw_rad: float = 0.0) -> Array:
    """(4, 4) pose of a tip that points straight down.

    Args:
        xyz_m: (3,) where the tip is, in a frame whose z points up.
        yaw_rad: angle from that frame's y to the line along which the fingers open, about z;
            a parallel gripper does the same with half a turn more.
    """
    sine, cosine = math.sin(yaw_rad), math.cos(yaw_rad)
    return make_pose(xyz_m, [[-cosine, -sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, -1.0]])


def between(start: Array, end: Array, part: float) -> Array:
    """(4, 4) pose part of the way: straight line, rotation about one axis at even speed."""
    turn = vector_from_rotation(start[:3, :3].T @ end[:3, :3])
    return make_pose(start[:3, 3] + part * (end[:3, 3] - start[:3, 3]),
                     start[:3, :3] @ rotation_from_vector(part * turn))


def distance(start: Array, end: Array) -> tuple[float, float]:
    """Distance between the origins of two poses [m], and angle between their axes [rad]."""
    turn = vector_from_rotation(start[:3, :3].T @ end[:3, :3])
    return (float(np.linalg.norm(end[:3, 3] - start[:3, 3])), float(np.linalg.norm(turn)))
