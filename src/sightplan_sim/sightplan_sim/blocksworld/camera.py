"""A pinhole camera in front of the table, fitted so that everything stays in the picture.

World frame: metres, x to the right as the camera sees it, y away from the camera, z up; the
table's top is z = 0 and the blocks stand along y = 0.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.blocksworld.look import Look
from sightplan_sim.pinhole import Pinhole, View

BLOCK_M = 0.05
"""Side of every block [m]."""

MAX_COLUMNS = 8
MAX_BLOCKS = 6

FRONT_M = -1.15 * BLOCK_M
"""y of the table's front edge, where the name plates hang [m]."""
BACK_M = 4.0 * BLOCK_M
"""y of the table's back edge [m]."""
APRON_M = 0.70 * BLOCK_M
"""Height of the table's front face [m]."""
PITCH_MIN = 1.46
"""Least distance of neighbouring columns, in block sides (turned blocks must not touch)."""
PITCH_MAX = 2.4
_LEAST_HEIGHT = 2  # blocks; fewer would be shown absurdly large
_INSIDE = 0.97  # part of the half picture that everything stays in, in every look


@dataclass(frozen=True)
class Optics(Pinhole):
    """Camera settings that stay fixed while the camera is mounted.

    Attributes:
        elevation_deg: how far the camera looks down.
        margin: part of the half picture kept free on every side.
        distance_m: camera to scene centre; 0 fits the distance to the scene.
    """

    width: int = 640
    height: int = 480
    fov_deg: float = 24.0
    elevation_deg: float = 16.0
    margin: float = 0.10
    distance_m: float = 0.0


class Camera(View[Optics]):
    """A camera at its place."""

    def sees_all(self, n_columns: int, n_blocks: int) -> bool:
        """Whether everything a problem of this size can show is in the picture."""
        pitch = fit_layout(self.optics, n_columns, n_blocks).pitch_m
        pixels = self.project(shown_extent(n_columns, max(n_blocks, _LEAST_HEIGHT), pitch))
        size = (self.optics.width, self.optics.height)
        return bool((pixels >= -0.5).all() and (pixels <= np.array(size) - 0.5).all())


@dataclass(frozen=True)
class Layout:
    """Positions of columns and nominal camera, for one size of problem.

    Attributes:
        pitch_m: distance of neighbouring columns.
        column_x_m: x of each column, left to right.
        distance_m: camera to target.
        target_m: (y, z) of the point the nominal camera looks at (x is 0).
    """

    pitch_m: float
    column_x_m: tuple[float, ...]
    distance_m: float
    target_m: tuple[float, float]


def basis(azimuth_deg: float, elevation_deg: float, roll_deg: float) -> NDArray[np.float64]:
    """(3, 3) world to optical rotation of a camera looking at the scene from the front."""
    a, e, r = np.radians([azimuth_deg, elevation_deg, roll_deg])
    forward = np.array([-math.sin(a) * math.cos(e), math.cos(a) * math.cos(e), -math.sin(e)])
    right = np.array([math.cos(a), math.sin(a), 0.0])
    down = np.cross(forward, right)
    level = np.stack([right, down, forward])
    turn = np.array([[math.cos(r), math.sin(r), 0.0], [-math.sin(r), math.cos(r), 0.0],
                     [0.0, 0.0, 1.0]])
    return np.asarray(turn @ level)


@functools.lru_cache(maxsize=256)
def fit_layout(optics: Optics, n_columns: int, n_blocks: int) -> Layout:
    """Choose column spacing and camera distance so that columns show as large as fits.

    The layout depends on the numbers only, so it never changes within an episode; that of blocks
    is the greatest height of a stack.

    Raises:
        ValueError: n_columns or n_blocks is out of range.
    """
    if not 1 <= n_columns <= MAX_COLUMNS:
        raise ValueError(f'{n_columns} columns: a picture shows 1 to {MAX_COLUMNS}')
    if not 0 <= n_blocks <= MAX_BLOCKS:
        raise ValueError(f'{n_blocks} blocks: there are 0 to {MAX_BLOCKS}')
    top = max(n_blocks, _LEAST_HEIGHT)
    low, high = PITCH_MIN, PITCH_MAX
    for _ in range(24):  # widen the pitch until the width, not the height, limits the scale
        middle = (low + high) / 2
        _, _, width_bound = _fit_camera(optics, n_columns, top, middle * BLOCK_M)
        low, high = (low, middle) if width_bound else (middle, high)
    pitch = low * BLOCK_M
    distance, target, _ = _fit_camera(optics, n_columns, top, pitch)
    if optics.distance_m > 0:
        distance = optics.distance_m
    return Layout(pitch, tuple((i - (n_columns - 1) / 2) * pitch for i in range(n_columns)),
                  distance, target)


def shown_extent(n_columns: int, top: int, pitch: float) -> NDArray[np.float64]:
    """Corners (N, 3) of the space of stacks of ``top`` blocks and plates, ``pitch`` apart [m]."""
    half = (n_columns - 1) / 2 * pitch
    reach = max(0.78 * BLOCK_M, 0.5 * pitch)
    xs, r = (-half - reach, half + reach), 0.78 * BLOCK_M
    return np.array(
        [(x, y, z) for x in xs for y in (-r, r) for z in (0.0, top * BLOCK_M)]
        + [(x, FRONT_M, -APRON_M) for x in xs])


def place_camera(optics: Optics, n_columns: int, n_blocks: int, look: Look) -> Camera:
    """Nominal camera, turned, shifted and moved back by a look.

    If blocks or name plates could leave the picture, the camera moves back until they
    cannot (unless the optics fix its distance).
    """
    layout = fit_layout(optics, n_columns, n_blocks)
    rotation = basis(look.azimuth_deg, optics.elevation_deg + look.elevation_deg, look.roll_deg)
    half = np.array([optics.width, optics.height]) / 2 / optics.focal_px
    target = np.array([0.0, *layout.target_m])
    points = shown_extent(n_columns, max(n_blocks, _LEAST_HEIGHT), layout.pitch_m)
    middle = np.array([(optics.width - 1) / 2, (optics.height - 1) / 2])
    distance = layout.distance_m * look.zoom
    for _ in range(8):
        offset = distance * np.array(
            [-look.shift_right * half[0], look.shift_up * half[1], -1.0])
        camera = Camera(optics, target + rotation.T @ offset, rotation.T)
        reach = np.abs(camera.project(points) - middle) / (middle * _INSIDE)
        if optics.distance_m > 0 or reach.max() <= 1.0:
            break
        distance *= 1.01 * float(reach.max())
    return camera


def _fit_camera(optics: Optics, n_columns: int, top: int, pitch: float,
                ) -> tuple[float, tuple[float, float], bool]:
    """Distance, target (y, z) and whether the width limits, for one pitch."""
    points = shown_extent(n_columns, top, pitch)
    rotation = basis(0.0, optics.elevation_deg, 0.0)
    local = points @ rotation.T
    k = optics.focal_px
    limit = np.array([optics.width, optics.height]) / 2 * (1 - optics.margin)
    distance, lift = 1.0, 0.0
    ratio = np.ones(2)
    for _ in range(60):  # a contraction: lift centres the picture, distance scales it
        image = k * (local[:, :2] - (0.0, lift)) / (local[:, 2:] + distance)
        lift += float(image[:, 1].max() + image[:, 1].min()) / 2 * distance / k
        extent = np.array([image[:, 0].max(), np.ptp(image[:, 1]) / 2])
        ratio = extent / limit
        distance *= float(ratio.max())
    target = rotation.T @ np.array([0.0, lift, 0.0])
    return distance, (float(target[1]), float(target[2])), bool(ratio[0] > ratio[1])
