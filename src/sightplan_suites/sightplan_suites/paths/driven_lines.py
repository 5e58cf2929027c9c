"""The line that a robot drives along a path, whatever form the path was published in.

A planner on a grid publishes a point a cell: a line that goes straight becomes a staircase, which
turns by 45 degrees at every other point and is up to 8 % longer. Another samples the same line
every few centimetres, a third gives its corners alone. ``driven_line`` brings all three to one
form. Points that repeat, or that lie on the straight line between their neighbours, are left out;
then the line of fewest corners is taken that keeps within a *tolerance* of the path: every point
of the path lies so near to the segment that stands for it, and the path never goes back along that
segment by more. Of the lines of equally few corners it is the one with the least sum of squared
distances. Corners are points of the path. (Imai and Iri, "Polygonal approximations of a curve",
1988, with the ends of the path kept.)

The tolerance is 0.77 cells of the map's grid: a staircase departs from its line by half a cell
(steps to eight neighbours) or 0.71 of a cell (to four), and a whole cell aside is no staircase any
more. On maps of polygons it is a thousandth of the map's longer side. Where a path itself consists
of many steps of one cell (``cell_of_steps``), it is 0.77 of these at least.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import numpy.typing as npt

from sightplan_suites.paths.maps import FloatArray, ObstacleMap

CELLS = 0.77
"""Tolerance on a grid, in cells."""
SHARE_OF_SIDE = 0.001
"""Tolerance on maps without cells, as a fraction of the map's longer side."""

_STRAIGHT = 1e-8
"""Sine of a turn that is a matter of rounding."""
_SAME_ERROR = 1e-6
"""Difference of two sums of squared distances, in squared tolerances, that is a matter of
rounding."""
_TINY = 1e-300
"""Keeps divisions by lengths of 0 finite."""
_SAME = 0.01
"""Largest difference of two steps of one cell, as a fraction of the cell."""
_STEPS = 20
"""Fewest steps that tell that a path consists of steps of one cell; the path extends over as
many."""
_DIGITS = 9
"""Digits of fractions of a run that are told apart."""
_WINDOW = 64
"""Points that are first looked at for the end of a segment; as many again while all fit."""


def default_tolerance(item: ObstacleMap) -> float:
    """The tolerance on a map: by the cells of its grid, or a thousandth of its longer side."""
    box = item.bounds
    return CELLS * item.cell or SHARE_OF_SIDE * max(box.x_max - box.x_min, box.y_max - box.y_min)


def cell_of_steps(points: FloatArray) -> float:
    """The edge of a cell if a path (N, 2) consists of steps to neighbours, else 0.

    Every step goes to one of the eight neighbours of a cell, there are 20 or more, and the path
    extends over 20 cells or more: a few equal segments at right angles are no steps of a grid.
    """
    steps = abs(np.diff(points, axis=0))
    if len(steps) < _STEPS:
        return 0.0
    cell = float(steps.max())
    if float(np.ptp(points, axis=0).max()) < _STEPS * cell:
        return 0.0
    one, none = abs(steps - cell) <= _SAME * cell, steps <= _SAME * cell
    return cell if bool((one | none).all()) else 0.0


def driven_line(points: FloatArray, tolerance: float) -> FloatArray:
    """The corners of the line that is driven along a path; see the module.

    Args:
        points: (N, 2), two different ones or more.
        tolerance: farthest that the path may lie from the line; 0 leaves out nothing but repeats
            and points on straight lines.

    Returns:
        (M, 2): corners of the line, points of the path, its first and its last among them.
    """
    points = without_straight_points(points)
    if tolerance <= 0 or len(points) < 3:
        return points
    points = _subdivided(points, tolerance / CELLS)
    return points[_fewest_corners(points, tolerance)]


def tolerance_of(points: FloatArray, tolerance: float) -> float:
    """The tolerance for one path: by the cell of its steps at least; 0 stays 0."""
    own = CELLS * cell_of_steps(points) if tolerance > 0 else 0.0
    return own if own > (1 + _SAME) * tolerance else tolerance


def without_straight_points(points: FloatArray) -> FloatArray:
    """A path (N, 2) without points that repeat the one before or lie on a straight line.

    A point at which the path turns back stays.
    """
    steps = np.diff(points, axis=0)
    points = points[np.append(True, (steps != 0).any(axis=1))]
    while len(points) > 2:
        steps = np.diff(points, axis=0)
        lengths = np.hypot(steps[:, 0], steps[:, 1])
        crosses = abs(steps[:-1, 0] * steps[1:, 1] - steps[:-1, 1] * steps[1:, 0])
        ahead = (steps[:-1] * steps[1:]).sum(axis=1) > 0
        straight = ahead & (crosses <= _STRAIGHT * lengths[:-1] * lengths[1:])
        if not straight.any():
            break
        # Neighbours are judged together: only every other one of a run goes at a time.
        odd = np.zeros(len(straight), bool)
        odd[::2] = True
        gone = straight & odd if (straight & odd).any() else straight
        points = points[np.concatenate(([True], ~gone, [True]))]
    return points


def _subdivided(points: FloatArray, cell: float) -> FloatArray:
    """A path with points between its own, where a corner of the driven line may be.

    A corner that turns little may lie within a straight run of a staircase, mostly near its ends.
    Points are put 1, 2, 4, 8, ... cells from either end of each run.
    """
    parts = []
    for here, there in itertools.pairwise(points):
        cells = float(abs(there - here).max()) / cell
        powers = 2.0 ** np.arange(max(0, math.ceil(math.log2(max(cells, 1.0) / 2) + _SAME)))
        offsets = powers[powers < cells * (1 - _SAME)] / max(cells, 1.0)
        at = np.unique(np.concatenate(([0.0], offsets, 1 - offsets)).round(_DIGITS))
        parts.append(here + at[:, None] * (there - here))
    return np.concatenate((*parts, points[-1:]))


def _fewest_corners(points: FloatArray, tolerance: float) -> list[int]:
    """Indices of the corners of the line of fewest corners, and of these with the least error."""
    count = len(points)
    sums = _moments(points)
    corners = np.full(count, count, np.int64)
    errors = np.full(count, math.inf)
    before = np.zeros(count, np.int64)
    corners[0], errors[0] = 0, 0.0
    for first in range(count - 1):
        ends = _reach(points, first, tolerance)
        total = errors[first] + _squares(points, sums, first, ends)
        number = corners[first] + 1
        less = total < errors[ends] - _SAME_ERROR * tolerance ** 2
        better = (number < corners[ends]) | ((number == corners[ends]) & less)
        chosen = ends[better]
        corners[chosen], errors[chosen], before[chosen] = number, total[better], first
    found = [count - 1]
    while found[-1]:
        found.append(int(before[found[-1]]))
    return found[::-1]


def _reach(points: FloatArray, first: int, tolerance: float) -> npt.NDArray[np.int64]:
    """Indices of the points that a segment from a point may end at."""
    count, window = len(points) - first - 1, _WINDOW
    while True:
        fits, over = _fitting(points[first:first + window + 1], tolerance)
        if window >= count or over:
            return np.flatnonzero(fits) + first + 1
        window *= 2


def _fitting(points: FloatArray, tolerance: float) -> tuple[npt.NDArray[np.bool_], bool]:
    """For each point after the first, whether the segment to it keeps near to those between.

    A segment from the first point passes a point within the tolerance if its direction lies in the
    wedge of that point; it must lie in all wedges. The path may go back by the tolerance at most.

    Returns:
        (N - 1,); and whether no segment to a later point can fit any more.
    """
    away = points[1:] - points[0]
    far = np.hypot(away[:, 0], away[:, 1])
    near = far <= tolerance
    # All directions are within 90 degrees of that to the first point that is not near.
    x, y = away[int(np.argmin(near))]
    angles = np.arctan2(x * away[:, 1] - y * away[:, 0], x * away[:, 0] + y * away[:, 1])
    half = np.where(near, math.inf, np.arcsin(np.minimum(1.0, tolerance / np.maximum(far, _TINY))))
    low = np.maximum.accumulate(np.append(-math.inf, angles - half))
    high = np.minimum.accumulate(np.append(math.inf, angles + half))
    back = np.maximum.accumulate(np.maximum.accumulate(far) - far)
    fits = (low[:-1] <= angles) & (angles <= high[:-1]) & (back <= tolerance)
    fits[0] = True
    return fits, bool(low[-1] > high[-1] or back[-1] > tolerance)


def _moments(points: FloatArray) -> FloatArray:
    """Sums of 1, x, y, xx, xy, yy over the points before each, (N + 1, 6), about the first one."""
    x, y = (points - points[0]).T
    return np.concatenate((np.zeros((1, 6)), np.cumsum(
        np.stack((np.ones(len(x)), x, y, x * x, x * y, y * y), axis=1), axis=0)))


def _squares(points: FloatArray, sums: FloatArray, first: int, ends: npt.NDArray[np.int64],
             ) -> FloatArray:
    """Sum of squared distances of the points between from the line first-end, for each end."""
    n, x, y, xx, xy, yy = (sums[ends] - sums[first + 1]).T
    a, b = points[first] - points[0]
    way = points[ends] - points[first]
    squared = (way ** 2).sum(axis=1)
    normal_x, normal_y = -way[:, 1], way[:, 0]
    xx, yy = xx - 2 * a * x + n * a * a, yy - 2 * b * y + n * b * b
    xy = xy - a * y - b * x + n * a * b
    total = normal_x ** 2 * xx + 2 * normal_x * normal_y * xy + normal_y ** 2 * yy
    found: FloatArray = np.where(squared > 0, np.maximum(total, 0.0) / np.maximum(squared, _TINY),
                                 0.0)
    return found
