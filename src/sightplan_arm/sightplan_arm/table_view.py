"""A camera above the table: the ray of each pixel, and helpers for its pictures."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.camera_files import checked_camera
from sightplan_arm.hardware import Rgbd, Vector

Mask = NDArray[np.uint8]

VIVID = 0.45  # least saturation of a block's paint; tables and walls stay below
RAISED_M = 0.010  # lower points may be the table, as calibrations are imperfect


@dataclass(frozen=True, eq=False)
class TableView:
    """A camera at a place: the ray through each pixel.

    Attributes:
        focal_px: of the ideal camera that outlines are compared in.
        ideal_px: (H, W, 2) each pixel's place in it, free of distortion; from the optical axis.
        rays: three (H, W), per metre of depth, in the table's frame.
        rotation: (3, 3) from the table's to the optical frame.
        eye_m: (3,) optical centre in the table's frame.
    """

    focal_px: float
    ideal_px: NDArray[np.float32]
    rays: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
    rotation: Vector
    eye_m: Vector

    def project(self, points_m: Vector) -> tuple[Vector, Vector]:
        """(N, 2) ideal pixels and (N, 2, 3) their derivatives by the points."""
        local = (points_m - self.eye_m) @ self.rotation.T
        depth = local[:, 2:]
        flat = local[:, :2] / depth
        slope = (self.rotation[None, :2] - flat[:, :, None] * self.rotation[None, None, 2])
        return self.focal_px * flat, self.focal_px * slope / depth[:, :, None]


@functools.lru_cache(maxsize=4)
def _view(shape: tuple[int, int], matrix: bytes, distortion: bytes, pose: bytes) -> TableView:
    k = np.frombuffer(matrix).reshape(3, 3)
    d = np.frombuffer(distortion)
    camera = np.frombuffer(pose).reshape(4, 4)
    h, w = shape
    pixels = np.stack(np.meshgrid(np.arange(w), np.arange(h)), axis=-1).astype(np.float64)
    if d.any():
        flat = cv2.undistortPoints(pixels.reshape(-1, 1, 2), k, d).reshape(h, w, 2)
    else:
        flat = (pixels - k[:2, 2]) / (k[0, 0], k[1, 1])
    focal = math.sqrt(k[0, 0] * k[1, 1])
    r = camera[:3, :3]
    x, y, z = (np.ascontiguousarray(flat[:, :, 0] * r[i, 0] + flat[:, :, 1] * r[i, 1] + r[i, 2],
                                    dtype=np.float32) for i in range(3))
    return TableView(focal, (focal * flat).astype(np.float32), (x, y, z), r.T.copy(),
                 camera[:3, 3].copy())


def checked_view(rgbd: Rgbd, pose: Vector) -> TableView:
    """The view of a picture.

    Raises:
        InputError: something has the wrong shape, or is no calibration or pose.
    """
    h, w = rgbd.rgb.shape[:2]
    if rgbd.rgb.shape != (h, w, 3) or rgbd.rgb.dtype != np.uint8:
        raise InputError(f'picture of shape {rgbd.rgb.shape}, {rgbd.rgb.dtype}: (H, W, 3) uint8 '
                         'is needed')
    if rgbd.depth_m.shape != (h, w):
        raise InputError(f'depth of shape {rgbd.depth_m.shape} for a picture of {(h, w)}: take '
                         'the depth that is aligned to the colour picture')
    k, d = checked_camera(rgbd.matrix, rgbd.distortion)
    pose = np.ascontiguousarray(pose, dtype=np.float64)
    turned = pose[:3, :3] if pose.shape == (4, 4) else np.zeros((3, 3))
    if not (np.isfinite(pose).all() and np.allclose(turned @ turned.T, np.eye(3), atol=1e-4)
            and np.linalg.det(turned) > 0):
        raise InputError('the pose of the camera is not a pose: (4, 4) with a rotation is needed '
                         '(run sightplan arm calibrate)')
    return _view((h, w), k.tobytes(), d.tobytes(), pose.tobytes())


def grown(mask: Mask, width: int) -> Mask:
    """Mask grown by half of ``width`` in all directions [px]."""
    return np.asarray(cv2.dilate(mask, np.ones((width, width), np.uint8)), np.uint8)


def spread(array: Vector, count: int) -> Vector:
    """Evenly chosen rows, at most ``count``."""
    step = max(1, math.ceil(len(array) / count))
    return array[::step]
