"""Reading a path back from its picture: how much can be known from pixels alone.

A model that compares two paths sees pixels only. What can be measured in the picture by
straightforward means bounds from below what it could know; the rest of its errors is its own. The
reader knows the camera, and that path and start are red and the goal is blue. It finds both dots,
follows the red line from one to the other, and fits a polyline to the middle of the line.

In perspective, walls hide parts of a path. There the way goes on along the shortest line that
shows no floor, straightened, because turns behind a wall are not seen. A part of the line that the
shortest way from start to goal leaves out, such as the loop of a path that crosses itself, is made
part of the way, if it is longer than the line is wide.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import cv2
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sightplan.model import InputError
from sightplan_suites.paths.drawing import Picture
from sightplan_suites.paths.maps import Bounds, FloatArray

_RATIO = 0.42
"""A pixel is red if its green and its blue are below this fraction of its red. Blue is defined in
the same way."""
_LEAST = 90
"""Smallest excess of red over green and blue in a pixel of the line, of 255."""
_TOLERANCE_PX = 0.9
"""Largest distance of the polyline from the middle of the line [px]."""
_CORNER_PX = 2.0
"""Largest distance of a merged corner from the corners that it replaces [px]."""
_STRAIGHT_DEG = 2.5
"""Turns smaller than this are attributed to noise and are removed [deg]."""
_HIDDEN = 6.0
"""Cost of a pixel where the line is hidden; a pixel of the line costs 1."""
_CELL = 3
"""Side of the squares in which a hidden part of the path is searched for [px]."""
_USED = 5.0
"""Cost of a pixel that the path has used before."""
_ROUNDS = 8
"""Number of left-out parts of the line through which the path is led afterwards."""
_DOT = 1.6
"""Smallest ratio of a dot's diameter to the width of the line."""

_Bools = npt.NDArray[np.bool_]
_Ints = npt.NDArray[np.int64]


class View(Protocol):
    """A camera, such as ``drawing.TopView`` and ``drawing3d.PerspectiveView``."""

    hides: ClassVar[bool]
    """Whether obstacles hide the ground behind them."""

    @property
    def bounds(self) -> Bounds:
        """Bounds of the part of the map that is shown."""

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the picture [px]."""

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Points (N, 2) of the map as pixels (N, 2)."""

    def unproject(self, pixels: npt.ArrayLike) -> FloatArray:
        """Pixels (N, 2) as points (N, 2) of the map."""


@dataclass(frozen=True, eq=False)
class PathReading:
    """Path that was read from a picture.

    Attributes:
        points: (N, 2), the path in units of the map, from start to goal; None if there is none.
        reason: why there is none; '' with a path.
        hidden: share of the way, in pixels, on which the line was not seen.
    """

    points: FloatArray | None
    reason: str = ''
    hidden: float = 0.0


def read_path(picture: Picture, view: View) -> PathReading:
    """Read the path from a picture.

    Args:
        picture: (height, width, 3) uint8 RGB, one path, not a pair.
        view: the camera that it was drawn with.

    Raises:
        InputError: the picture is not of the view's size.
    """
    if picture.shape != (*view.shape, 3) or picture.dtype != np.uint8:
        raise InputError(f'picture: {picture.dtype} of shape {picture.shape} (the view has uint8 '
                         f'of shape {(*view.shape, 3)}; give one picture, not a pair)')
    red, blue = _colour_mask(picture, 0), _colour_mask(picture, 2)
    if red.sum() < 8:
        return PathReading(None, 'nothing is red')
    width, depth = _widths(red)
    if depth < _DOT * width / 2:
        return PathReading(None, 'no red dot at the start is seen')
    dot = _largest(_morphed(red, cv2.MORPH_OPEN, 1.2 * depth))
    # The line may part the dot at the goal.
    goal_dot = _largest(_morphed(blue, cv2.MORPH_CLOSE, 1.5 * width))
    if dot is None or goal_dot is None:
        return PathReading(None, 'no blue dot at the goal is seen')
    start, goal = _middle(dot, view), _middle(goal_dot, view)
    cover = _cover(picture, view) if view.hides else None
    line = _Line(red, dot, goal_dot, width, cover)
    ends = view.project(np.stack([start, goal]))
    way = line.way(ends[0], ends[1])
    if way is None:
        return PathReading(None, 'the line does not lead from start to goal')
    pixels, hidden = way
    steps = np.hypot(*np.diff(pixels, axis=0).T)
    share = float(steps[hidden[1:]].sum() / steps.sum()) if len(steps) else 0.0
    chain = _middle_of_line(pixels, picture, red, width)
    if cover is not None:
        chain = _bridged(chain, pixels, hidden, cover | red, _window(width))
    apart = np.ones(len(chain), np.bool_)
    column, row = np.rint(chain).astype(np.int64).T
    for mask, reach in ((dot, width + 1), (goal_dot, 0.0)):
        away = cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)
        apart &= away[row, column] > reach
    chain = np.concatenate([ends[:1], chain[apart], ends[1:]])
    return PathReading(view.unproject(_polyline(chain, red, width)), '', share)


def _colour_mask(picture: Picture, channel: int) -> _Bools:
    """Pixels of which at least about half has a primary colour."""
    colour = picture[:, :, channel].astype(np.int16)
    one, two = (picture[:, :, other] for other in range(3) if other != channel)
    others = np.maximum(one, two).astype(np.int16)
    return np.asarray((others < _RATIO * colour) & (colour - others > _LEAST))


def _widths(red: _Bools) -> tuple[float, float]:
    """Typical width of the red line, and greatest distance from its edge [px]."""
    depth = cv2.distanceTransform(np.pad(red, 1).astype(np.uint8), cv2.DIST_L2, 5)
    ridge = (depth > 0) & (depth == cv2.dilate(depth, np.ones((3, 3), np.uint8)))
    return float(max(2.0, 2 * np.median(depth[ridge]) - 0.5)), float(depth.max())


def _morphed(mask: _Bools, operation: int, side_px: float) -> _Bools:
    side = max(3, int(side_px) | 1)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
    padded = np.pad(mask, side).astype(np.uint8)
    return np.asarray(cv2.morphologyEx(padded, operation, kernel)[side:-side, side:-side] > 0)


def _largest(mask: _Bools) -> _Bools | None:
    """The largest connected part of a mask."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8))
    if count < 2:
        return None
    return np.asarray(labels == 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA])))


def _middle(dot: _Bools, view: View) -> FloatArray:
    """Middle (2,) of a disc on the ground, of which a part may be hidden, on the map."""
    rows, columns = np.nonzero(dot)
    places = view.unproject(np.stack([columns, rows], axis=1))
    (x, y), _ = cv2.minEnclosingCircle(places.astype(np.float32))
    return np.array([x, y])


def _cover(picture: Picture, view: View) -> _Bools:
    """Pixels behind which floor of the map may be hidden."""
    red, green, blue = (picture[:, :, channel].astype(np.int32) for channel in range(3))
    packed = red * 65536 + green * 256 + blue
    height, width = packed.shape
    inner = packed[height // 4:3 * height // 4, width // 4:3 * width // 4]
    values, counts = np.unique(inner, return_counts=True)
    floor = packed == values[np.argmax(counts)]
    cover = cv2.dilate((~floor).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    rows, columns = np.nonzero(cover)
    cover[rows, columns] = view.bounds.contain(
        view.unproject(np.stack([columns, rows], axis=1)))
    return np.asarray(cover)


class _Line:
    """Graph of the red pixels of a picture.

    Its nodes are pixels of the line and, where the line may be hidden, squares of ``_CELL``.

    Args:
        red: what is red, (height, width).
        dot: the dot at the start, part of it.
        goal_dot: the dot at the goal.
        width: of the line [px].
        cover: what may hide the line; None if nothing does.
    """

    def __init__(self, red: _Bools, dot: _Bools, goal_dot: _Bools, width: float,
                 cover: _Bools | None) -> None:
        self._width = width
        nodes = red | goal_dot
        self._red = red & ~_morphed(dot, cv2.MORPH_DILATE, 5)
        rows, columns = np.nonzero(nodes)
        self._number = _numbers(nodes, 0)
        depth = cv2.distanceTransform(np.pad(nodes, 1).astype(np.uint8), cv2.DIST_L2, 5)
        inner = np.minimum(depth[1:-1, 1:-1][rows, columns], width / 2)
        # In the middle of the line one pixel costs one.
        cost = 1 + 3 * (1 - inner / max(width / 2, float(inner.max())))
        edges = [_steps(self._number)]
        pixels = np.stack([columns, rows], axis=1)
        self._seen = len(pixels)
        if cover is not None:
            half = _CELL // 2
            cells = cover[half::_CELL, half::_CELL]
            number = _numbers(cells, self._seen)
            begin, end, length = _steps(number)
            edges.append((begin, end, length * _CELL))
            pixels = np.concatenate([pixels, np.argwhere(cells)[:, ::-1] * _CELL + half])
            cost = np.concatenate([cost, np.full(len(pixels) - self._seen, _HIDDEN)])
            row, column = (np.minimum(at // _CELL, side - 1)
                           for at, side in zip((rows, columns), cells.shape, strict=True))
            below = number[row, column]
            here = np.flatnonzero(below >= 0)
            edges.append((here, below[here], np.full(len(here), _CELL / 2)))
        self._pixels, self._cost = pixels, cost
        self._from, self._to, self._length = (np.concatenate(part)
                                              for part in zip(*edges, strict=True))

    def way(self, start: FloatArray, goal: FloatArray) -> tuple[_Ints, _Bools] | None:
        """Pixels (N, 2) from start to goal, and where the line is hidden (N,); None: no way."""
        stops = [self._nearest(start), self._nearest(goal)]
        best = None
        for _ in range(_ROUNDS):
            found = self._legs(stops)
            if found is None:
                break
            best = self._pixels[found], found >= self._seen
            missing = self._left_out(best[0])
            if missing is None:
                break
            stops = self._with_stop(stops, missing)
        return best

    def _nearest(self, place: FloatArray) -> int:
        return int(np.argmin(((self._pixels[:self._seen] - place) ** 2).sum(axis=1)))

    def _graph(self, used: _Bools | None = None) -> csr_array:
        cost = self._cost if used is None else self._cost * np.where(used, _USED, 1.0)
        price = self._length * (cost[self._from] + cost[self._to]) / 2
        count = len(self._pixels)
        return csr_array((price, (self._from, self._to)), shape=(count, count))

    def _legs(self, stops: Sequence[int]) -> _Ints | None:
        """The way through all stops, which avoids to use a pixel twice."""
        way: list[int] = [stops[0]]
        used = np.zeros(self._number.shape, np.uint8)
        for begin, end in itertools.pairwise(stops):
            near = cv2.dilate(used, np.ones((3, 3), np.uint8)) > 0
            graph = self._graph(near[self._pixels[:, 1], self._pixels[:, 0]])
            _, before = dijkstra(graph, directed=False, indices=begin, return_predecessors=True)
            leg = [end]
            while leg[-1] != begin:
                if before[leg[-1]] < 0:
                    return None
                leg.append(int(before[leg[-1]]))
            way += leg[-2::-1]
            used[self._pixels[leg, 1], self._pixels[leg, 0]] = 1
        return np.array(way)

    def _left_out(self, pixels: _Ints) -> int | None:
        """A node in the middle of the largest part of the line that a way leaves out."""
        away = np.ones(self._number.shape, np.uint8)
        away[pixels[:, 1], pixels[:, 0]] = 0
        distance = cv2.distanceTransform(away, cv2.DIST_L2, 5)
        part = _largest(self._red & (distance > self._width / 2 + 1.5))
        if part is None or part.sum() < 1.5 * self._width**2:
            return None
        return int(self._number[np.unravel_index(int(np.argmax(distance * part)), part.shape)])

    def _with_stop(self, stops: Sequence[int], new: int) -> list[int]:
        """Stops with one more, where it lengthens the way least."""
        reach = dijkstra(self._graph(), directed=False, indices=[new, *stops])
        added = [reach[0, a] + reach[0, b] - reach[number + 1, b]
                 for number, (a, b) in enumerate(itertools.pairwise(stops))]
        at = int(np.argmin(added)) + 1
        return [*stops[:at], new, *stops[at:]]


def _numbers(mask: _Bools, first: int) -> _Ints:
    """Numbers from ``first`` where a mask is set, row by row; -1 elsewhere."""
    numbers = np.full(mask.shape, -1)
    numbers[mask] = np.arange(first, first + int(mask.sum()))
    return numbers


def _steps(numbers: _Ints) -> tuple[_Ints, _Ints, FloatArray]:
    """Pairs of neighbours in a grid of numbers (-1: none), and their distances in cells."""
    begin, end, length = [], [], []
    padded = np.pad(numbers, 1, constant_values=-1)
    for dx, dy in ((1, 0), (0, 1), (1, 1), (-1, 1)):
        other = padded[1 + dy:padded.shape[0] - 1 + dy, 1 + dx:padded.shape[1] - 1 + dx]
        both = (numbers >= 0) & (other >= 0)
        begin.append(numbers[both])
        end.append(other[both])
        length.append(np.full(int(both.sum()), np.hypot(dx, dy)))
    return np.concatenate(begin), np.concatenate(end), np.concatenate(length)


def _bridged(middle: FloatArray, pixels: _Ints, hidden: _Bools, cover: _Bools, window: int,
             ) -> FloatArray:
    """Points of a way: as straight as the cover allows where it is hidden.

    Args:
        middle: (N, 2), the middle of the line along the way.
        pixels: (N, 2), the way.
        hidden: (N,), where the line is not seen.
        cover: (height, width), what may be hidden, and the line.
        window: of the middle of the line [px].
    """
    # At the edge of a wall the middle of what is left of the line is beside that of the line.
    kernel = np.ones((1, 2 * (window // 2 + 1) + 1), np.uint8)
    near = cv2.dilate(hidden[None].astype(np.uint8), kernel)[0]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], near.astype(np.int8), [0]])))
    chain, done = [], 0
    for first, last in edges.reshape(-1, 2):
        chain.append(middle[done:first])
        run = np.concatenate([middle[first - 1:first], pixels[first:last].astype(np.float64),
                              middle[last:last + 1]])
        kept = _pulled(run, cover)
        chain.append(run[kept[bool(first):len(kept) - (last < len(middle))]])
        done = last
    return np.concatenate([*chain, middle[done:]])


def _pulled(run: FloatArray, cover: _Bools) -> list[int]:
    """Numbers of the points at which a string along a run bends that stays under cover."""
    kept = [0]
    while kept[-1] < len(run) - 1:
        begin = run[kept[-1]]
        for number in range(len(run) - 1, kept[-1], -1):
            count = max(2, int(np.abs(run[number] - begin).max()))
            column, row = np.rint(np.linspace(begin, run[number], count)).astype(np.int64).T
            # Its ends may be on the line, whose outline is not all red.
            if number == kept[-1] + 1 or cover[row, column][1:-1].all():
                kept.append(number)
                break
    return kept


def _window(width: float) -> int:
    """Side of the squares in which the middle of a line of this width is searched for [px]."""
    return 2 * (int(np.ceil(width / 2)) + 1) + 1


def _middle_of_line(pixels: _Ints, picture: Picture, red: _Bools, width: float) -> FloatArray:
    """Middle of the line near pixels (N, 2), to fractions of a pixel."""
    colours = picture.astype(np.float32)
    cover = np.clip((colours[:, :, 0] - colours[:, :, 1:].max(axis=2)) / 255, 0, 1)
    cover *= cv2.dilate(red.astype(np.uint8), np.ones((3, 3), np.uint8))
    side = _window(width)
    rows, columns = np.mgrid[:cover.shape[0], :cover.shape[1]].astype(np.float32)
    at = pixels[:, 1], pixels[:, 0]
    total, x, y = (cv2.boxFilter(layer, -1, (side, side), normalize=False)[at]
                   for layer in (cover, cover * columns, cover * rows))
    refined = pixels.astype(np.float64)
    seen = total > 1
    refined[seen] = np.stack([x[seen], y[seen]], axis=1) / total[seen, None]
    return refined


def _polyline(chain: FloatArray, red: _Bools, width: float) -> FloatArray:
    """A polyline (M, 2) that follows a chain of pixels (N, 2), with corners as sharp as can be."""
    kept = [0]
    for number in range(1, len(chain)):
        if np.hypot(*(chain[number] - chain[kept[-1]])) > 0.3 or number == len(chain) - 1:
            kept.append(number)
    chain = chain[kept]
    if len(chain) < 3:
        return chain
    corners = _simplified(chain)
    fitted = _sharpened(chain, corners, _window(width))
    depth = cv2.distanceTransform(np.pad(red, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    joined = _with_single_tips(fitted, np.asarray(depth, np.float64), _window(width))
    inner = width / 2 - _TOLERANCE_PX
    core = depth >= inner if inner > 1 else _morphed(red, cv2.MORPH_DILATE, 3)
    return _without_noise(_without_wobbles(joined, core, 2 * _window(width)))


def _simplified(chain: FloatArray) -> list[int]:
    """Numbers of the points that a polyline within a tolerance needs (Douglas and Peucker)."""
    kept, open_runs = {0, len(chain) - 1}, [(0, len(chain) - 1)]
    while open_runs:
        first, last = open_runs.pop()
        if last - first < 2:
            continue
        away = _away(chain[first + 1:last], chain[first], chain[last])
        middle = int(np.argmax(away))
        if away[middle] > _TOLERANCE_PX:
            number = first + 1 + middle
            kept.add(number)
            open_runs += [(first, number), (number, last)]
    return sorted(kept)


def _away(points: FloatArray, begin: FloatArray, end: FloatArray) -> FloatArray:
    """Distance of points (N, 2) from a segment."""
    along = end - begin
    square = float(along @ along)
    at = np.clip(((points - begin) @ along) / square, 0, 1) if square else np.zeros(len(points))
    return np.asarray(np.hypot(*(points - begin - at[:, None] * along).T))


def _sharpened(chain: FloatArray, corners: Sequence[int], window: int) -> FloatArray:
    """Corners where straight lines meet that fit the chain between them."""
    lines = []
    for first, last in itertools.pairwise(corners):
        # Next to a corner the middle of the line is drawn inwards.
        trim = min(window // 2 + 1, (last - first) // 4)
        run = chain[first + trim:last - trim + 1]
        if first == 0:
            run = np.concatenate([chain[:1], run])
        middle = run.mean(axis=0)
        axis = np.linalg.svd(run - middle, full_matrices=False)[2][0]
        lines.append((middle, axis) if len(run) >= 5 else None)
    points = [chain[0]]
    for number, corner in enumerate(corners[1:-1]):
        before, after = lines[number], lines[number + 1]
        met = None if before is None or after is None else _meeting(*before, *after)
        near = met is not None and np.hypot(*(met - chain[corner])) < window
        points.append(met if met is not None and near else chain[corner])
    return np.array([*points, chain[-1]])


def _meeting(one: FloatArray, along_one: FloatArray, two: FloatArray, along_two: FloatArray,
             ) -> FloatArray | None:
    """Point where two lines meet; None if they are nearly parallel."""
    cross = float(along_one[0] * along_two[1] - along_one[1] * along_two[0])
    if abs(cross) < 0.03:
        return None
    gap = two - one
    return np.asarray(one + along_one * (gap[0] * along_two[1] - gap[1] * along_two[0]) / cross)


def _with_single_tips(points: FloatArray, depth: FloatArray, window: int) -> FloatArray:
    """Make one corner of several that are close together, if the lines around meet in the red.

    Args:
        points: (N, 2) [px].
        depth: (height, width), distance from the edge of what is red.
        window: corners that are nearer to each other are close together.
    """
    result = list(points)
    number = 1
    while number < len(result) - 2:
        last = number
        while last < len(result) - 2 and np.hypot(*(result[last + 1] - result[last])) < window:
            last += 1
        # The largest group first.
        for end in range(last, number, -1):
            before, first, final, after = (
                result[at] for at in (number - 1, number, end, end + 1))
            met = _meeting(before, _unit(first - before), after, _unit(final - after))
            if (met is not None and np.hypot(*(met - (first + final) / 2)) < 1.5 * window
                    and (met - before) @ (first - before) > 0
                    and (met - after) @ (final - after) > 0
                    and _inside(first, met, depth > 0) and _inside(final, met, depth > 0)
                    and _explained(np.array(result[number:end + 1]), before, met, after)):
                result[number:end + 1] = [met]
                break
        number += 1
    return np.array(result)


def _explained(points: FloatArray, before: FloatArray, met: FloatArray, after: FloatArray,
               ) -> bool:
    """Whether points lie near the corner that is to replace them."""
    away = np.minimum(_away(points, before, met), _away(points, met, after))
    return bool((away <= _CORNER_PX).all())


def _without_wobbles(points: FloatArray, core: _Bools, reach: float) -> FloatArray:
    """Leave out corners next to short segments, if the rest stays in the core of the line."""
    result = list(points)
    number = 1
    while number < len(result) - 1:
        before, here, after = result[number - 1:number + 2]
        short = min(np.hypot(*(here - before)), np.hypot(*(after - here))) < reach
        if (short and abs(_turn(here - before, after - here)) < 60
                and _inside(before, after, core)):
            del result[number]
            number = max(1, number - 1)
        else:
            number += 1
    return np.array(result)


def _inside(begin: FloatArray, end: FloatArray, mask: _Bools) -> bool:
    """Whether a segment stays within a mask, all but a pixel at its ends."""
    count = int(np.hypot(*(end - begin))) + 2
    column, row = np.rint(np.linspace(begin, end, count)).astype(np.int64).T
    if min(column.min(), row.min()) < 0 or column.max() >= mask.shape[1] or (
            row.max() >= mask.shape[0]):
        return False
    return bool(mask[row, column][1:-1].all())


def _without_noise(points: FloatArray) -> FloatArray:
    """Leave out points at which a polyline hardly turns."""
    result = [points[0]]
    for number in range(1, len(points) - 1):
        turn = _turn(points[number] - result[-1], points[number + 1] - points[number])
        if abs(turn) > _STRAIGHT_DEG:
            result.append(points[number])
    return np.array([*result, points[-1]])


def _cross(one: FloatArray, two: FloatArray) -> float:
    return float(one[0] * two[1] - one[1] * two[0])


def _turn(one: FloatArray, two: FloatArray) -> float:
    """The angle [deg] from one direction to another."""
    return float(np.degrees(np.arctan2(_cross(one, two), one @ two)))


def _unit(along: FloatArray) -> FloatArray:
    return np.asarray(along / max(float(np.hypot(*along)), 1e-12))
