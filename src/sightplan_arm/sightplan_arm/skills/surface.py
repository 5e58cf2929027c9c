"""Surface of things on a table, as a depth camera sees it: points, heights and pieces.

Everything is in the table's frame (metres, z up, the table's top at z = 0) and comes from one
picture: nothing is known of what things are. Where the camera hangs is known from calibration; its
height and tilt are corrected by the table's plane, which is in view.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.picture_files import checked_rgb
from sightplan_arm.camera_files import checked_camera
from sightplan_arm.geometry import make_pose, rotation_from_vector
from sightplan_arm.hardware import Rgbd, Vector
from sightplan_arm.skills.clearance import Box
from sightplan_arm.skills.seen_values import SURFACE

Mask = NDArray[np.bool_]
Heights = NDArray[np.float32]

CELL_M = 0.003
"""Side of a cell of a height map."""
RAISED_M = 0.005
"""Height from which points stand on the table [m]."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A picture as points and heights.

    Attributes:
        points_m: (H, W, 3) where each pixel is; NaN where the depth is unknown.
        rgb: (H, W, 3) uint8.
        low_m: (2,) corner of the height map.
        top_m: (rows, columns) greatest height in each cell, rows along y and columns along x;
            NaN where nothing was seen.
        cells: (H, W) index of each pixel's cell in the flat height map; -1 outside of it.
        labels: (rows, columns) int32, number of the piece from 1; 0 where none is.
        plane: (3,) by how much the table's plane was corrected: height at the origin [m], and
            slopes along x and y.
        eye_m: (3,) optical centre, corrected.
        rays: (H, W, 3) from there through each pixel, per metre of depth, corrected.
    """

    points_m: NDArray[np.float32]
    rgb: NDArray[np.uint8]
    low_m: Vector
    top_m: Heights
    cells: NDArray[np.int64]
    labels: NDArray[np.int32]
    plane: Vector
    eye_m: Vector
    rays: NDArray[np.float32]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the picture."""
        return self.points_m.shape[0], self.points_m.shape[1]

    @property
    def raised(self) -> Mask:
        """(H, W) pixels that show things on the table."""
        with np.errstate(invalid='ignore'):
            return (self.points_m[:, :, 2] > RAISED_M) & (self.cells >= 0)

    def label_at(self, column: int, row: int) -> int:
        """Number of the piece at a pixel, or next to it; 0 if there is none."""
        height, width = self.shape
        y0, x0 = max(0, row - SURFACE.reach_px), max(0, column - SURFACE.reach_px)
        around = np.s_[y0:max(0, min(height, row + SURFACE.reach_px + 1)),
                       x0:max(0, min(width, column + SURFACE.reach_px + 1))]
        ys, xs = np.nonzero(self.raised[around])
        if not len(ys):
            return 0
        away = np.hypot(ys + y0 - row, xs + x0 - column)
        nearest = int(np.argmin(away))
        if away[nearest] > SURFACE.reach_px:
            return 0
        return int(self.labels.ravel()[self.cells[ys[nearest] + y0, xs[nearest] + x0]])

    def pixels_of(self, label: int) -> Mask:
        """(H, W) pixels of a piece."""
        found = np.zeros(self.shape, bool)
        inside = self.raised
        found[inside] = self.labels.ravel()[self.cells[inside]] == label
        return found

    def cells_of(self, pixels: Mask) -> Mask:
        """(rows, columns) cells in which a thing is uppermost, small holes filled."""
        wanted = pixels & self.raised
        index, heights = self.cells[wanted], self.points_m[:, :, 2][wanted]
        cells = np.zeros(self.top_m.size, np.uint8)
        cells[index[heights > self.top_m.ravel()[index] - SURFACE.uppermost_m]] = 1
        filled = cv2.morphologyEx(cells.reshape(self.top_m.shape), cv2.MORPH_CLOSE,
                                  np.ones((3, 3), np.uint8))
        return np.asarray(filled > 0)

    def on_table(self, column: int, row: int) -> Vector | None:
        """(2,) where the table is seen through a pixel, whatever is in front of it; None: nowhere.

        Raises:
            InputError: the pixel is beside the picture.
        """
        height, width = self.shape
        if not (0 <= row < height and 0 <= column < width):
            raise InputError(f'pixel ({column}, {row}) is beside the picture of {width} x '
                             f'{height}: places are in unit coordinates, from 0 to 1')
        ray = self.rays[row, column].astype(np.float64)
        if ray[2] > -1e-3:
            return None
        return np.asarray((self.eye_m - ray * self.eye_m[2] / ray[2])[:2])

    def boxes(self, without: Mask | None = None, tile_m: float = SURFACE.tile_m) -> list[Box]:
        """Upright boxes around everything on the table: one a tile, as high as the highest cell.

        Args:
            without: (rows, columns) cells that are left out.
            tile_m: greatest side of a box.
        """
        high = np.nan_to_num(self.top_m) > RAISED_M
        if without is not None:
            high &= ~without
        step = max(1, round(tile_m / CELL_M))
        rows, columns = np.nonzero(high)
        boxes: list[Box] = []
        if not len(rows):
            return boxes
        tiles = rows // step * (high.shape[1] // step + 1) + columns // step
        order = np.argsort(tiles, kind='stable')
        for part in np.split(order, np.nonzero(np.diff(tiles[order]))[0] + 1):
            r, c = rows[part], columns[part]
            top = float(self.top_m[r, c].max())
            low = self.low_m + CELL_M * np.array([c.min(), r.min()])
            end = self.low_m + CELL_M * np.array([c.max() + 1, r.max() + 1])
            boxes.append(Box(np.array([*(low + end) / 2, top / 2]), np.array([*(end - low), top])))
        return boxes


def see_surface(rgbd: Rgbd, camera_pose_table: Vector, half_m: tuple[float, float]) -> Surface:
    """Points and heights of the things on a table.

    Args:
        rgbd: the picture; depth in line with the colours.
        camera_pose_table: (4, 4) of the optical frame in the table's frame.
        half_m: x and y; half the size of the area around the table's origin that is looked at.

    Raises:
        InputError: picture, depth and calibration do not fit together, or the table is hardly in
            view.
    """
    checked_rgb(rgbd.rgb)
    if rgbd.depth_m.shape != rgbd.rgb.shape[:2]:
        raise InputError(f'depth of shape {rgbd.depth_m.shape} for a picture of '
                         f'{rgbd.rgb.shape[:2]}: take the depth that is aligned to the colour '
                         'picture')
    pose = np.asarray(camera_pose_table, dtype=np.float64)
    depth, rays = _sight(rgbd)
    correction, plane = _level(_placed(depth, rays, pose), pose[:3, 3], half_m)
    pose = correction @ pose
    points = _placed(depth, rays, pose)
    low = -np.array(half_m)
    shape = tuple(math.ceil(2 * half / CELL_M) for half in half_m[::-1])
    with np.errstate(invalid='ignore'):
        index = np.floor((points[:, :, :2] - low) / CELL_M)
        inside = ((index >= 0) & (index < shape[::-1])).all(axis=2) & (points[:, :, 2] > -0.05)
    index = np.where(inside[:, :, None], index, 0).astype(np.int64)
    cells = np.where(inside, index[:, :, 1] * shape[1] + index[:, :, 0], -1)
    top = np.full(shape[0] * shape[1], -np.inf, np.float32)
    np.maximum.at(top, cells[inside], points[:, :, 2][inside])
    heights = _filled(np.where(np.isinf(top), np.nan, top).reshape(shape).astype(np.float32))
    return Surface(points, rgbd.rgb, low, heights, cells, _pieces(heights), plane,
                   pose[:3, 3].copy(),
                   rays @ pose[:3, :3].T.astype(np.float32))


def _sight(rgbd: Rgbd) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Depth (H, W) with less noise, NaN where unknown, and rays (H, W, 3) of the optical frame."""
    matrix, distortion = checked_camera(rgbd.matrix, rgbd.distortion)
    rays = _rays(rgbd.depth_m.shape, matrix.tobytes(), distortion.tobytes())
    depth = np.nan_to_num(rgbd.depth_m).astype(np.float32)
    for _ in range(2):
        depth = _median(depth)
    return np.where(depth > 0, depth, np.float32(np.nan)), rays


def _placed(depth: NDArray[np.float32], rays: NDArray[np.float32],
            pose: Vector) -> NDArray[np.float32]:
    """(H, W, 3) points in the frame in which the camera has a pose."""
    turned = rays @ pose[:3, :3].T.astype(np.float32)
    return np.asarray(depth[:, :, None] * turned + pose[:3, 3].astype(np.float32))


def _median(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Median of each pixel's neighbourhood; unknown depths stay unknown, and count for none."""
    known = depth > 0
    low = np.where(known, depth, np.float32(0))
    high = np.where(known, depth, np.float32(1e3))
    lower, upper = cv2.medianBlur(low, 3), cv2.medianBlur(high, 3)
    sound = (lower > 0) & (upper < 1e2)
    return np.where(known & sound, (lower + upper) / 2, depth).astype(np.float32)


@functools.lru_cache(maxsize=4)
def _rays(shape: tuple[int, int], matrix: bytes, distortion: bytes) -> NDArray[np.float32]:
    """(H, W, 3) per metre of depth, in the optical frame."""
    k, d = np.frombuffer(matrix).reshape(3, 3), np.frombuffer(distortion)
    h, w = shape
    pixels = np.stack(np.meshgrid(np.arange(w), np.arange(h)), axis=-1).astype(np.float64)
    flat = cv2.undistortPoints(pixels.reshape(-1, 1, 2), k, d).reshape(h, w, 2)
    return np.concatenate([flat, np.ones((h, w, 1))], axis=2).astype(np.float32)


def _level(points: NDArray[np.float32], eye_m: Vector, half_m: tuple[float, float],
           ) -> tuple[Vector, Vector]:
    """Correction that turns and lifts points so that the table's plane is z = 0.

    Returns:
        (4, 4) the correction, and (3,) the plane before: height at the origin and slopes.

    Raises:
        InputError: too little of the table is in view.
    """
    flat = points.reshape(-1, 3)
    with np.errstate(invalid='ignore'):
        near = ((np.abs(flat[:, 2]) < SURFACE.near_table_m)
                & (np.abs(flat[:, :2]) < half_m).all(axis=1))
    table = flat[near][::3].astype(np.float64)
    plane = np.zeros(3)
    for reach in (SURFACE.near_table_m, 2.5 * SURFACE.on_plane_m, SURFACE.on_plane_m,
                  SURFACE.on_plane_m):
        off = table[:, 2] - plane[0] - table[:, :2] @ plane[1:]
        kept = table[np.abs(off) < reach]
        if 3 * len(kept) < SURFACE.least_table_px:
            raise InputError('hardly anything of the table is seen where it should be: check '
                             'camera.pose, table.pose and camera.depth_scale_m in the file of '
                             'the robot')
        system = np.column_stack([np.ones(len(kept)), kept[:, :2]])
        plane = np.linalg.lstsq(system, kept[:, 2], rcond=None)[0]
    normal = np.array([-plane[1], -plane[2], 1.0])
    normal /= np.linalg.norm(normal)
    turn = rotation_from_vector(np.cross(normal, (0.0, 0.0, 1.0)))
    turned = make_pose(eye_m - turn @ eye_m, turn)
    foot = turned[:3, :3] @ np.array([0.0, 0.0, plane[0]]) + turned[:3, 3]
    turned[2, 3] -= foot[2]
    return turned, plane


def _filled(top: Heights) -> Heights:
    """Cells without a point between some with points, as high as these are on average."""
    known = np.isfinite(top)
    weight = cv2.boxFilter(known.astype(np.float32), -1, (3, 3), normalize=False)
    total = cv2.boxFilter(np.where(known, top, 0).astype(np.float32), -1, (3, 3), normalize=False)
    fill = ~known & (weight >= 4)
    return np.where(fill, total / np.maximum(weight, 1), top).astype(np.float32)


def _pieces(top: Heights) -> NDArray[np.int32]:
    """Number of the connected piece at each raised cell, from 1, the others 0."""
    raised = (np.nan_to_num(top) > RAISED_M).astype(np.uint8)
    side = 2 * round(SURFACE.gap_m / 2 / CELL_M) + 1
    joined = cv2.morphologyEx(raised, cv2.MORPH_CLOSE, cv2.getStructuringElement(
        cv2.MORPH_ELLIPSE, (side, side)))
    _, labels, stats, _ = cv2.connectedComponentsWithStats(joined, connectivity=8)
    small = np.nonzero(stats[:, cv2.CC_STAT_AREA] < SURFACE.least_cells)[0]
    labels[np.isin(labels, small)] = 0
    return np.where(raised > 0, labels, 0).astype(np.int32)
