"""Pictures of boxes in any attitude on a table, with depth: rays against boxes, no simulator."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from sightplan_arm.hardware import Rgbd

BLOCK_M = 0.05
PAINT = {'red': (219, 15, 20), 'green': (26, 158, 41), 'blue': (15, 102, 237),
         'yellow': (250, 224, 20), 'purple': (143, 31, 158), 'orange': (255, 135, 8),
         'grey': (120, 120, 125), 'white': (250, 250, 248)}
MATRIX = np.array([[1129.0, 0, 319.5], [0, 1129.0, 239.5], [0, 0, 1]])
LIGHT = np.array([0.25, -0.75, 0.6])
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
BORDER_PX = 16  # edges bulge where a lens distorts


@dataclass(frozen=True)
class Box:
    """A box: colour, centre, turns about z, then about its own x and y, and its sides."""

    colour: str
    centre_m: tuple[float, float, float]
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    roll_deg: float = 0.0
    sides_m: tuple[float, float, float] = (BLOCK_M,) * 3

    def axes(self):
        """(3, 3): the box's axes in columns."""
        z, x, y = np.radians([self.yaw_deg, self.pitch_deg, self.roll_deg])
        about = [cv2.Rodrigues(np.array(v))[0] for v in ((0, 0, z), (x, 0, 0), (0, y, 0))]
        return about[0] @ about[1] @ about[2]


def camera_pose(elevation_deg: float = 16.0, distance_m: float = 0.94,
                target_m: Sequence[float] = (0.0, 0.034, 0.12)) -> np.ndarray:
    """(4, 4) of a camera in front of the table that looks down at a point of it."""
    e = math.radians(elevation_deg)
    pose = np.eye(4)
    pose[:3, :3] = np.array([[1, 0, 0], [0, -math.sin(e), math.cos(e)],
                             [0, -math.cos(e), -math.sin(e)]])
    pose[:3, 3] = np.asarray(target_m) - distance_m * pose[:3, 2]
    return pose


def picture(boxes: Sequence[Box], pose: np.ndarray | None = None, *, noise_m: float = 0.0,
            dropouts: float = 0.0, seed: int = 0, matrix: np.ndarray = MATRIX,
            distortion: np.ndarray | None = None, size: tuple[int, int] = (640, 480),
            table_rgb: tuple[int, int, int] = (150, 140, 128)) -> Rgbd:
    """Colour and depth of boxes on a table; light from the front, upper right."""
    pose = camera_pose() if pose is None else pose
    distortion = np.zeros(5) if distortion is None else distortion
    w, h = size
    rays = _rays(matrix.tobytes(), distortion.tobytes(), size) @ pose[:3, :3].T
    eye = pose[:3, 3]
    with np.errstate(divide='ignore', invalid='ignore'):
        depth = -eye[2] / rays[:, 2]
        wall = (0.5 - eye[1]) / rays[:, 1]
        on_table = (depth > 0) & (depth < wall)
        depth = np.where(on_table, depth, wall).reshape(h, w)
        rgb = np.where(on_table[:, None], table_rgb, (205, 210, 215)).astype(np.float64)
        rgb, rays = rgb.reshape(h, w, 3), rays.reshape(h, w, 3)
        for box in boxes:
            axes = box.axes()
            half = np.array(box.sides_m) / 2
            where = _part(box.centre_m + half * CORNERS @ axes.T, pose, matrix, distortion, size)
            start, along = (eye - box.centre_m) @ axes, (rays[where] @ axes).reshape(-1, 3)
            near = np.where(along > 0, -half - start, half - start) / along
            far = np.where(along > 0, half - start, -half - start) / along
            face, enter = near.argmax(axis=1), near.max(axis=1)
            hit = (enter <= far.min(axis=1)) & (enter > 0) & (enter < depth[where].ravel())
            normal = -np.sign(along[np.arange(len(along)), face])[:, None] * axes.T[face]
            bright = 0.55 + 0.5 * np.maximum(0.0, normal @ LIGHT)
            shape = depth[where].shape
            depth[where][hit.reshape(shape)] = enter[hit]
            rgb[where][hit.reshape(shape)] = (np.array(PAINT[box.colour]) * bright[:, None])[hit]
    rng = np.random.default_rng(seed)
    depth = depth + rng.normal(0.0, noise_m, depth.shape) if noise_m else depth
    depth = np.where(rng.random(depth.shape) < dropouts, 0.0, depth)
    return Rgbd(np.clip(rgb, 0, 255).astype(np.uint8).reshape(h, w, 3),
                depth.astype(np.float32), matrix, distortion, 0)


@functools.cache
def _rays(matrix: bytes, distortion: bytes, size: tuple[int, int]) -> np.ndarray:
    """(N, 3) through all pixels, in the optical frame, to 1 m along its axis."""
    w, h = size
    grid = np.stack(np.meshgrid(np.arange(w), np.arange(h)), -1).reshape(-1, 1, 2)
    flat = cv2.undistortPoints(grid.astype(np.float64), np.frombuffer(matrix).reshape(3, 3),
                               np.frombuffer(distortion))[:, 0]
    return np.column_stack([flat, np.ones(len(flat))])


def _part(corners: np.ndarray, pose: np.ndarray, matrix: np.ndarray, distortion: np.ndarray,
          size: tuple[int, int]) -> tuple[slice, slice]:
    """Rows and columns in which a body can be seen; all of them if it is not wholly in front."""
    local = (corners - pose[:3, 3]) @ pose[:3, :3]
    if local[:, 2].min() < 0.1:
        return slice(0, size[1]), slice(0, size[0])
    pixels = cv2.projectPoints(local, np.zeros(3), np.zeros(3), matrix, distortion)[0][:, 0]
    (x0, y0), (x1, y1) = pixels.min(axis=0) - BORDER_PX, pixels.max(axis=0) + BORDER_PX
    return (slice(max(0, int(y0)), max(0, int(y1) + 1)),
            slice(max(0, int(x0)), max(0, int(x1) + 1)))
