"""Check of a camera's pose against the table in its picture."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_arm.hardware import Rgbd, Vector
from sightplan_arm.table_view import RAISED_M, VIVID, TableView, checked_view, grown, spread

_TABLE_M = np.array([(-0.50, -0.12), (0.50, 0.25)])
"""Corners of the part of the table that is compared with where the camera's pose has it."""
_NEAR_TABLE_M = 0.025  # largest height of points that may be the table, above and below z = 0
_LEAST_TABLE = 0.2  # of the pixels that should show the table, unless things hide it
_LEAST_TABLE_PX, _TABLE_POINTS = 300, 8000
_TABLE_OFF_M, _TABLE_TILT_RAD = 0.020, math.radians(3.0)
"""Largest error of the table's plane; calibrations are good to 5 mm and half a degree."""
_PAD_Y_M, _PAD_BIN_M, _LEAST_BIN_PX = 0.043, 0.004, 8
# Range and step of the search for pads, the range in spacings.
_PADS_RANGE, _PADS_STEP_M = 1.3, 0.003
_ON_PAD, _BESIDE_PAD = 0.39, (0.455, 0.90)  # distance from a column's middle, in spacings
_LEAST_KNOWN = 0.4  # fraction of the bins on pads and beside them
_LEAST_PADS = 3
"""Smallest number of pads that are searched for. Shadows and uneven light can look like two pads
(in 162 of 1,200 random profiles of light; like three in 37)."""
_PADS_EXPLAIN, _PADS_CONTRAST = 0.6, 8.0
"""Smallest fraction of the variance of brightness along the row that the pads must explain, and
smallest difference of their grey value from their surroundings'."""


def misaligned(rgbd: Rgbd, camera_pose_table: Vector, column_x_m: Sequence[float]) -> str:
    """Explain how the table contradicts the camera's pose, with the remedy; '' if it does not.

    The plane of what should be the table is fitted; and where the columns have pads, darker or
    lighter than what is beside them, these must be under the columns.

    Args:
        rgbd: the picture; depth in line with the colours.
        camera_pose_table: (4, 4) of the optical frame in the table's frame.
        column_x_m: x of each column, left to right.

    Raises:
        InputError: picture, depth, calibration and pose do not fit together.
    """
    view = checked_view(rgbd, camera_pose_table)
    depth = np.nan_to_num(np.asarray(rgbd.depth_m, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    x, y, z = (depth * ray + np.float32(eye)
               for ray, eye in zip(view.rays, view.eye_m, strict=True))
    remedy = ('calibrate the camera (sightplan arm calibrate), and check camera.pose, table.pose '
              "and camera.depth_scale_m in the robot's file")
    said = _off_plane(view, depth, (x, y, z)) or _off_pads(
        rgbd.rgb, depth, (x, y, z), column_x_m)
    return said and f'{said}: the camera does not hang where its pose has it; {remedy}'


def _off_plane(view: TableView, depth: NDArray[np.float32], points: Sequence[NDArray[np.float32]],
               ) -> str:
    """Explain how the table's plane is off; '' if it fits, or little of the table is in view."""
    x, y, z = points
    down = np.minimum(view.rays[2], np.float32(-1e-3))
    there = (view.rays[2] < -1e-3) & (depth > 0)
    for ray, eye, low, high in zip(view.rays, view.eye_m, *_TABLE_M, strict=False):
        at = eye - ray / down * view.eye_m[2]
        there &= (at > low) & (at < high)
    count = int(there.sum())
    if count < _LEAST_TABLE_PX or view.eye_m[2] <= 0:
        return ''
    near = there & (np.abs(z) < _NEAR_TABLE_M)
    if near.sum() < max(_LEAST_TABLE_PX, _LEAST_TABLE * count):
        return (f'only {100 * near.sum() / count:.0f} % of the pixels that should show the table '
                f'do, within {1e3 * _NEAR_TABLE_M:.0f} mm')
    table = spread(np.column_stack([x[near], y[near], z[near]]).astype(np.float64), _TABLE_POINTS)
    system = np.column_stack([np.ones(len(table)), table[:, :2]])
    heights = table[:, 2]
    for _ in range(3):
        plane = np.linalg.lstsq(system, heights, rcond=None)[0]
        off = np.abs(heights - system @ plane)
        kept = off < max(0.002, 3.0 * float(np.median(off)))
        system, heights = system[kept], heights[kept]
    tilt = math.atan(math.hypot(plane[1], plane[2]))
    if abs(plane[0]) > _TABLE_OFF_M or tilt > _TABLE_TILT_RAD:
        return (f'the table is seen {1e3 * abs(plane[0]):.0f} mm too '
                f'{"high" if plane[0] > 0 else "low"} and tilted by {math.degrees(tilt):.1f} '
                'degrees')
    return ''


def _off_pads(rgb: NDArray[np.uint8], depth: NDArray[np.float32],
              points: Sequence[NDArray[np.float32]], column_x_m: Sequence[float]) -> str:
    """Explain how the pads of the columns are off; '' if they fit, or none are seen.

    Brightness along the row, where nothing covers the table, is explained by pads of some shift
    along x: the shift that explains it best is theirs.
    """
    columns = np.asarray(column_x_m, dtype=np.float64)
    if len(columns) < _LEAST_PADS:
        return ''
    pitch = float(np.diff(columns).min())
    places, brightness = _row_profile(rgb, depth, points, float(
        np.abs(columns).max() + (_PADS_RANGE + 1.0) * pitch))
    known = np.isfinite(brightness)
    best, nominal, shift = 0.0, 0.0, 0.0
    steps = round(_PADS_RANGE * pitch / _PADS_STEP_M)
    for step in range(-steps, steps + 1):
        away = np.abs(places[:, None] - columns - step * _PADS_STEP_M).min(axis=1) / pitch
        pad, beside = away < _ON_PAD, (away > _BESIDE_PAD[0]) & (away < _BESIDE_PAD[1])
        if (known & pad).sum() < _LEAST_KNOWN * pad.sum() or (
                known & beside & (away < 0.5)).sum() < _LEAST_KNOWN * (
                    beside & (away < 0.5)).sum():
            if step == 0:
                return ''
            continue
        on, off = brightness[known & pad], brightness[known & beside]
        whole = np.concatenate([on, off])
        explained = 1.0 - (on.var() * len(on) + off.var() * len(off)) / max(
            1e-9, whole.var() * len(whole))
        if step == 0:
            nominal = explained
        if explained > best and abs(on.mean() - off.mean()) > _PADS_CONTRAST:
            best, shift = explained, step * _PADS_STEP_M
    if best < _PADS_EXPLAIN or best < 2.0 * nominal or abs(shift) < pitch / 4:
        return ''
    return (f'the pads of the columns are seen {1e3 * abs(shift):.0f} mm to the '
            f'{"right" if shift > 0 else "left"} of where they should be')


def _row_profile(rgb: NDArray[np.uint8], depth: NDArray[np.float32],
                 points: Sequence[NDArray[np.float32]], reach_m: float) -> tuple[Vector, Vector]:
    """(N,) places along x [m] and (N,) median brightness of the bare table there; NaN: unknown."""
    x, y, z = points
    hsv = cv2.cvtColor(rgb.astype(np.float32), cv2.COLOR_RGB2HSV)
    raised = (depth > 0) & (z > RAISED_M) & (np.abs(y) < 0.2)
    solid = grown((raised | (hsv[:, :, 1] > VIVID) & (hsv[:, :, 2] > 12)).astype(np.uint8), 9)
    bare = ((depth > 0) & (np.abs(z) < RAISED_M) & (np.abs(y) < _PAD_Y_M)
            & (np.abs(x) < reach_m) & (solid == 0))
    count = math.ceil(2 * reach_m / _PAD_BIN_M)
    number = np.minimum(((x[bare] + reach_m) / _PAD_BIN_M).astype(np.int64), count - 1)
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)[bare].astype(np.float64)
    order = np.argsort(number, kind='stable')
    starts = np.searchsorted(number[order], np.arange(count + 1))
    found = np.full(count, np.nan)
    for place, (start, end) in enumerate(itertools.pairwise(starts)):
        if end - start >= _LEAST_BIN_PX:
            found[place] = np.median(grey[order[start:end]])
    places = (np.arange(count, dtype=np.float64) + 0.5) * _PAD_BIN_M - reach_m
    return np.asarray(places), np.asarray(found)
