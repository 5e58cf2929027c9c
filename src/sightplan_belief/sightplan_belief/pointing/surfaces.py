"""The surface that a region of a picture shows, by the depth of the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Form, Region, pixel
from sightplan_belief.pointing.depth_pieces import Camera, Floats

_POINT_PX = 2
"""Pixels around a point from which its depth is taken, in each direction."""
_STEP = 0.02
"""Relative difference in depth from which on a pixel beside a point shows something else."""
_LEAST_KNOWN = 0.2
"""Smallest fraction of a region's pixels whose depth must be known."""
_LEAST_STD_M = 0.001
"""Least standard deviation of a depth: most depth cameras count in millimetres."""
_PIXEL_STD = 0.5
"""Standard deviation of a place in the picture [px]."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A seen surface, in the optical frame (x right, y down, z forward).

    Attributes:
        centre_m: (3,) the point, or the middle of the box around what is seen.
        size_m: (3,) of that box, along the axes of the frame; zeros for a point.
        covariance: (3, 3) of the centre [m^2], by the depth's spread and the size of a pixel.
            Whether the region shows the right thing is not part of it.
    """

    centre_m: NDArray[np.float64]
    size_m: NDArray[np.float64]
    covariance: NDArray[np.float64]


def surface_of(region: Region, depth_m: Floats, camera: Camera) -> Surface | None:
    """Return the surface that a region shows.

    The surface of a box is as wide and as high as the box at the median depth of its middle, and
    as deep as what is seen there: pixels farther from that depth than half of the box's longer
    side show something else, such as the table.

    Args:
        region: a point or a box.
        depth_m: (H, W) distance along the optical axis [m]; 0 or not finite where unknown.
        camera: of the picture.

    Returns:
        None: the region is a trace, lies outside the picture, or too little depth is known in it.
    """
    if region.form is Form.POINT:
        return _point(region, depth_m, camera)
    if region.form is Form.BOX:
        return _box(region, depth_m, camera)
    return None


def _point(region: Region, depth_m: Floats, camera: Camera) -> Surface | None:
    height, width = depth_m.shape
    x, y = region.points[0]
    column, row = pixel(x * width), pixel(y * height)
    if not (0 <= column < width and 0 <= row < height):
        return None
    around = _known(depth_m[max(row - _POINT_PX, 0):row + _POINT_PX + 1,
                            max(column - _POINT_PX, 0):column + _POINT_PX + 1])
    if around is None:
        return None
    own = float(depth_m[row, column])
    middle = own if np.isfinite(own) and own > 0 else float(np.median(around))
    near = around[np.abs(around - middle) <= _STEP * middle]
    depth = float(np.median(near)) if near.size else middle
    spread = 1.4826 * float(np.median(np.abs(near - depth))) if near.size else 0.0
    return _surface((x * width, y * height), depth, spread, np.zeros(3), camera)


def _box(region: Region, depth_m: Floats, camera: Camera) -> Surface | None:
    height, width = depth_m.shape
    (left, top), (right, bottom) = region.points
    rows = _within(top * height, bottom * height, height)
    columns = _within(left * width, right * width, width)
    inside = depth_m[rows[0]:rows[1], columns[0]:columns[1]]
    all_known = _known(inside)
    if all_known is None:
        return None
    a, b = inside.shape[0] // 4, inside.shape[1] // 4
    middle = _known(inside[a:inside.shape[0] - a, b:inside.shape[1] - b])
    depth = float(np.median(all_known if middle is None else middle))
    fx, fy, _, _ = camera
    wide, high = ((right - left) * width * depth / fx, (bottom - top) * height * depth / fy)
    own = all_known[np.abs(all_known - depth) <= max(wide, high) / 2 + _LEAST_STD_M]
    near, far = np.quantile(own, (0.05, 0.95)) if own.size else (depth, depth)
    deep = float(far - near)
    return _surface(((left + right) / 2 * width, (top + bottom) / 2 * height),
                    float(near + far) / 2, deep / np.sqrt(12.0),
                    np.array([wide, high, deep]), camera)


def _within(low: float, high: float, size: int) -> tuple[int, int]:
    """The first pixel from a place on, and the one behind the last; one pixel at least."""
    first = min(max(pixel(low), 0), size - 1)
    return first, min(max(int(np.ceil(high)), first + 1), size)


def _known(depth_m: Floats) -> Floats | None:
    """(N,) the known depths; None if they are too few."""
    known = depth_m[np.isfinite(depth_m) & (depth_m > 0)].astype(np.float64)
    return known if known.size and known.size >= _LEAST_KNOWN * depth_m.size else None


def _surface(at_px: tuple[float, float], depth_m: float, spread_m: float,
             size_m: NDArray[np.float64], camera: Camera) -> Surface:
    fx, fy, cx, cy = camera
    ray = np.array([(at_px[0] - cx) / fx, (at_px[1] - cy) / fy, 1.0])
    aside = np.diag([(_PIXEL_STD * depth_m / fx)**2, (_PIXEL_STD * depth_m / fy)**2, 0.0])
    along = max(spread_m, _LEAST_STD_M)**2 * np.outer(ray, ray)
    return Surface(depth_m * ray, size_m, along + aside)
