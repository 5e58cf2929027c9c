"""Flat maps of obstacles: polygons from files, occupancy grids, and how far away obstacles are.

A file of PathEval has two lines: the number of polygons, and then for each polygon the number of
its corners and their x and y, all apart by white space. It has no start and no goal: they are the
same in every file (``START``, ``GOAL``). Lengths are in the unit of the map: the files do not name
one, a robot's grid has metres.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import shapely

from sightplan.model import InputError

Point = tuple[float, float]
Polygon = tuple[Point, ...]
FloatArray = npt.NDArray[np.float64]

START: Point = (-36.6031, -36.4332)
GOAL: Point = (36.0982, 36.363)
"""Point where every path of PathEval ends."""

OVERHANG = 0.5
"""Largest distance by which a polygon may leave the world; PathEval's do by up to 0.3."""

NO_OBSTACLE = 100_000.0
"""The clearance on a map without any obstacle: a number, so that it fits into JSON."""

ROUNDING = 1e-9
"""Tolerance for rounding of coordinates and distances."""

_CELLS = 160
"""Cells along the longer side of a map whose clearances are looked up."""
_PARTS = (1.0, 0.5, 0.25, 0.75)
"""Fractions of a segment at which it is checked, the likeliest to be blocked first."""

UNKNOWN = -1
"""The value of an unknown cell of an occupancy grid, as in ``nav_msgs/OccupancyGrid``."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The rectangle that a map shows."""

    x_min: float
    y_min: float
    x_max: float
    y_max: float

    def contain(self, points: FloatArray, margin: float = 0.0) -> npt.NDArray[np.bool_]:
        """For each point (N, 2), whether it is inside by at least ``margin`` from the border."""
        low = np.array([self.x_min, self.y_min]) + margin
        high = np.array([self.x_max, self.y_max]) - margin
        inside: npt.NDArray[np.bool_] = np.all((points >= low) & (points <= high), axis=1)
        return inside


WORLD = Bounds(-40.0, -40.0, 40.0, 40.0)
"""Bounds of every map of PathEval."""

EVERYWHERE = Bounds(-math.inf, -math.inf, math.inf, math.inf)
"""Bounds that hold every point."""


@dataclass(frozen=True)
class ObstacleMap:
    """Obstacles in the plane.

    Attributes:
        name: stem of its file, or another name.
        polygons: corners of each obstacle, the first not repeated; none crosses itself.
        bounds: the rectangle that is shown; its border is no obstacle to ``clearances``, but no
            robot may stick out of it.
        frame: coordinate frame that positions are in; '' for the files of PathEval.
        cell: edge of a cell of the grid that the map was made of; 0: it was made of none.
        unknown: how many of the polygons, the last ones, are cells that nobody has seen.
    """

    name: str
    polygons: tuple[Polygon, ...]
    bounds: Bounds = WORLD
    frame: str = ''
    cell: float = 0.0
    unknown: int = 0

    @functools.cached_property
    def shapes(self) -> npt.NDArray[np.object_]:
        """The obstacles as shapely polygons."""
        if not self.polygons:
            return np.empty(0, dtype=object)
        corners = np.array([corner for polygon in self.polygons for corner in polygon])
        owners = np.repeat(np.arange(len(self.polygons)), [len(item) for item in self.polygons])
        shapes: npt.NDArray[np.object_] = shapely.polygons(
            shapely.linearrings(corners, indices=owners))
        return shapes

    @functools.cached_property
    def tree(self) -> shapely.STRtree:
        """A spatial index of ``shapes``."""
        return shapely.STRtree(self.shapes)

    def clearances(self, points: npt.ArrayLike) -> FloatArray:
        """Distance of each point (N, 2) to the nearest obstacle.

        Returns:
            (N,) float64 in units of the map: 0 inside of an obstacle, ``NO_OBSTACLE`` on a map
            that has none. The border is no obstacle.
        """
        return self.distances(shapely.points(as_points(points)))

    def segment_clearances(self, starts: npt.ArrayLike, ends: npt.ArrayLike) -> FloatArray:
        """Least distance of each straight segment to the obstacles, as ``clearances``."""
        return self.distances(_segments(starts, ends))

    def distances(self, shapes: npt.NDArray[np.object_]) -> FloatArray:
        """Distance of each shape to the nearest obstacle, as ``clearances``."""
        if not self.polygons:
            return np.full(len(shapes), NO_OBSTACLE)
        found: FloatArray = self.tree.query_nearest(
            shapes, return_distance=True, all_matches=False)[1]
        return found

    def segments_free(self, starts: npt.ArrayLike, ends: npt.ArrayLike, radius: float,
                      ) -> npt.NDArray[np.bool_]:
        """Whether a disc can be pushed along straight segments.

        The test is exact: it compares the distance of the whole segment with the radius.

        Args:
            starts: (N, 2), where the disc's centre begins.
            ends: (N, 2), where it ends.
            radius: of the disc.

        Returns:
            (N,): the disc stays within the bounds and neither meets nor touches an obstacle.
        """
        starts, ends = as_points(starts), as_points(ends)
        free = self.bounds.contain(starts, radius) & self.bounds.contain(ends, radius)
        if self.polygons:
            hits = self.tree.query(_segments(starts, ends), predicate='dwithin', distance=radius)
            free[hits[0]] = False
        return free

    @functools.cached_property
    def union(self) -> shapely.Geometry:
        """All obstacles as one shape, prepared for many questions about it."""
        shape = shapely.union_all(self.shapes)
        shapely.prepare(shape)
        return shape

    @functools.cached_property
    def _cells(self) -> tuple[FloatArray, int, float, float, float]:
        """The clearances at the middles of cells row by row; columns, corner and edge of cells."""
        bounds = self.bounds
        edge = max(bounds.x_max - bounds.x_min, bounds.y_max - bounds.y_min) / _CELLS
        # A point on the border is in the row or column beyond it.
        xs = np.arange(bounds.x_min + edge / 2, bounds.x_max + edge, edge)
        ys = np.arange(bounds.y_min + edge / 2, bounds.y_max + edge, edge)
        middles = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        return self.clearances(middles), len(xs), bounds.x_min, bounds.y_min, edge

    def segment_test(self, radius: float) -> Callable[[float, float, float, float], bool]:
        """``segments_free`` for one segment x1, y1, x2, y2 at a time, as planners ask.

        Most segments that planners ask about are blocked, and most of these have one of four
        points in a cell of the map that is blocked as a whole: that is looked up first. Then the
        union of the obstacles is asked, which takes half the time; its rounding makes the test
        stricter by ``ROUNDING`` than ``segments_free``, and never more lenient.
        """
        union, empty, reach = self.union, not self.polygons, radius + ROUNDING
        depths, columns, left, low, edge = self._cells
        blocked = (depths + edge * math.sqrt(0.5) < radius).tobytes()
        x_min, x_max = self.bounds.x_min + radius, self.bounds.x_max - radius
        y_min, y_max = self.bounds.y_min + radius, self.bounds.y_max - radius

        def free(x1: float, y1: float, x2: float, y2: float) -> bool:
            if not (x_min <= x1 <= x_max and x_min <= x2 <= x_max
                    and y_min <= y1 <= y_max and y_min <= y2 <= y_max):
                return False
            for part in _PARTS:
                x, y = x1 + part * (x2 - x1) - left, y1 + part * (y2 - y1) - low
                if blocked[int(y / edge) * columns + int(x / edge)]:
                    return False
            if x1 == x2 and y1 == y2:  # see _segments
                shape = shapely.points(x1, y1)
            else:
                shape = shapely.linestrings(((x1, y1), (x2, y2)))
            return empty or not shapely.dwithin(union, shape, reach)

        return free

    def way_exists(self, start: Point, goal: Point, radius: float) -> bool:
        """Whether a disc can get from start to goal at all.

        False is certain. True may be wrong where a passage is narrower than the disc, by less
        than a hundredth of its radius: its round corners are taken as polygons.
        """
        bounds = self.bounds
        room = shapely.difference(
            shapely.box(bounds.x_min + radius, bounds.y_min + radius,
                        bounds.x_max - radius, bounds.y_max - radius),
            shapely.union_all(shapely.buffer(self.shapes, radius, quad_segs=16)))
        ends = shapely.points([start, goal])
        parts = shapely.get_parts(room)
        return bool(shapely.intersects(parts[:, None], ends).all(axis=1).any())

    def path_free(self, points: npt.ArrayLike, radius: float) -> bool:
        """Whether a disc can be pushed along a whole path (N, 2)."""
        points = as_points(points)
        if len(points) == 1:
            return bool(self.segments_free(points, points, radius).all())
        return bool(self.segments_free(points[:-1], points[1:], radius).all())


def as_points(points: npt.ArrayLike) -> FloatArray:
    """Points as an (N, 2) array.

    Raises:
        InputError: they have another shape, or a coordinate is not a finite number.
    """
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f'points: {error} (give pairs of numbers x, y)') from error
    if array.size == 0:
        return array.reshape(0, 2)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(f'points: shape {array.shape} (give pairs of numbers x, y)')
    if not np.isfinite(array).all():
        number = int(np.argmin(np.isfinite(array).all(axis=1)))
        raise InputError(f'points: point {number + 1} is not finite: {tuple(array[number])} '
                         '(give finite coordinates)')
    return array


def _segments(starts: npt.ArrayLike, ends: npt.ArrayLike) -> npt.NDArray[np.object_]:
    """Segments as shapely lines; as points where they have no length.

    GEOS (3.14) overlooks obstacles around a line without length in its ``dwithin``.
    """
    here, there = as_points(starts), as_points(ends)
    shapes: npt.NDArray[np.object_] = shapely.linestrings(np.stack([here, there], axis=1))
    still = (here == there).all(axis=1)
    shapes[still] = shapely.points(here[still])
    return shapes


def read_map(file: Path) -> ObstacleMap:
    """Read a polygon file of PathEval; the map is named after the file.

    Raises:
        InputError: it cannot be read or used; names the file, the polygon and the remedy.
    """
    try:
        text = file.read_text('utf-8')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{file}: cannot be read: {error} (name a polygon file)') from error
    return map_from_text(text, file.stem, file)


def map_from_text(text: str, name: str, where: Path | str) -> ObstacleMap:
    """The map of a polygon file's text.

    Args:
        text: content of the file.
        name: of the map.
        where: the file, for messages.

    Raises:
        InputError: counts do not match the numbers, a number is not finite, or a polygon has
            fewer than three corners, crosses itself or lies outside of the world.
    """
    numbers = _numbers(text, where)
    if not len(numbers):
        raise InputError(f'{where}: is empty (its first line is the number of polygons)')
    count = _count(numbers[0], f'{where}: number of polygons', 0)
    polygons, at = [], 1
    for number in range(1, count + 1):
        place = f'{where}: polygon {number} of {count}'
        if at == len(numbers):
            raise InputError(f'{place}: is missing (correct the count in the first line, or add '
                             'the polygon)')
        corners = _count(numbers[at], f'{place}: number of corners', 3)
        end = at + 1 + 2 * corners
        if end > len(numbers):
            raise InputError(f'{place}: {len(numbers) - at - 1} coordinates for {corners} corners '
                             f'(there must be {2 * corners})')
        polygons.append(tuple((x, y) for x, y in numbers[at + 1:end].reshape(-1, 2).tolist()))
        at = end
    if at < len(numbers):
        raise InputError(f'{where}: {len(numbers) - at} numbers follow the last of {count} '
                         'polygons (correct the count in the first line, or remove them)')
    found = ObstacleMap(name, tuple(polygons))
    check_map(found, where)
    return found


def _numbers(text: str, where: Path | str) -> FloatArray:
    words = text.split()
    try:
        numbers = np.array(words, dtype=np.float64)
    except ValueError:
        bad = next(word for word in words if not _is_number(word))
        raise InputError(f'{where}: {bad!r} is not a number (the file holds numbers only)'
                         ) from None
    if not np.isfinite(numbers).all():
        bad = words[int(np.argmin(np.isfinite(numbers)))]
        raise InputError(f'{where}: {bad!r} is not finite (give finite coordinates)')
    return numbers


def _is_number(word: str) -> bool:
    try:
        np.array([word], dtype=np.float64)
    except ValueError:
        return False
    return True


def _count(number: float, what: str, least: int) -> int:
    if number != math.floor(number) or number < least:
        raise InputError(f'{what} is {number:g} (give a whole number, {least} or more)')
    return int(number)


def check_map(item: ObstacleMap, where: Path | str) -> None:
    """Check that polygons are simple and lie in the world, up to ``OVERHANG`` beyond its border.

    Raises:
        InputError: one crosses itself, has no area, or lies outside; names it and the remedy.
    """
    for number in np.flatnonzero(~shapely.is_valid(item.shapes)):
        reason = shapely.is_valid_reason(item.shapes[number])
        raise InputError(f'{where}: polygon {number + 1} cannot be used: {reason} (list the '
                         'corners in order around a shape that does not cross itself)')
    corners, owners = shapely.get_coordinates(item.shapes, return_index=True)
    for number in owners[~item.bounds.contain(corners, -OVERHANG)]:
        raise InputError(f'{where}: polygon {number + 1} lies outside of the world, '
                         f'{item.bounds.x_min:g} to {item.bounds.x_max:g} (move or clip it)')


def map_text(item: ObstacleMap) -> str:
    """The text of a polygon file: the same map always gives the same bytes."""
    parts = [' '.join([str(len(polygon)), *(_text(value) for corner in polygon
                                            for value in corner)])
             for polygon in item.polygons]
    return f'{len(parts)}\n{" ".join(parts)}\n'


def _text(value: float) -> str:
    """The shortest text that reads as the same number."""
    return repr(float(value)).removesuffix('.0')


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """A robot's map of cells, as in ``nav_msgs/OccupancyGrid``.

    Attributes:
        cells: (rows, columns) integers: 0 to 100 for how surely a cell is occupied [%],
            ``UNKNOWN`` for one never seen. Row 0 has the least y, column 0 the least x.
        resolution: edge of a cell [m].
        frame: the coordinate frame that the cells lie in, such as ``map``.
        origin: x and y of the corner of the cell in row 0 and column 0 [m].
    """

    cells: npt.NDArray[np.integer]
    resolution: float
    frame: str
    origin: Point = (0.0, 0.0)


def map_of_grid(grid: OccupancyGrid, name: str = 'grid', *, threshold: int = 50,
                unknown_occupied: bool = True) -> ObstacleMap:
    """A grid's occupied cells as a map, in metres and in the grid's frame.

    Neighbouring cells become rectangles; the map covers the same points as the cells do. Unknown
    cells that count as obstacles are rectangles of their own, the last ones of the map.

    Args:
        grid: the grid.
        name: of the map.
        threshold: a cell is occupied from this value on, 1 to 100.
        unknown_occupied: whether unknown cells are obstacles.

    Raises:
        InputError: a field of the grid cannot be used; names field and remedy.
    """
    _check_grid(grid, name)
    if not 1 <= threshold <= 100:
        raise InputError(f'{name}: threshold {threshold} (give 1 to 100)')
    unknown = grid.cells == UNKNOWN
    occupied = _cell_polygons(grid.cells >= threshold, grid)
    unseen = _cell_polygons(unknown, grid) if unknown_occupied else []
    (x, y), edge = grid.origin, grid.resolution
    rows, columns = grid.cells.shape
    return ObstacleMap(name, (*occupied, *unseen),
                       Bounds(x, y, x + columns * edge, y + rows * edge), grid.frame, edge,
                       len(unseen))


def _cell_polygons(marked: npt.NDArray[np.bool_], grid: OccupancyGrid) -> list[Polygon]:
    (x, y), edge = grid.origin, grid.resolution
    polygons: list[Polygon] = []
    for left, bottom, right, top in _rectangles(marked):
        low, high = (x + left * edge, y + bottom * edge), (x + right * edge, y + top * edge)
        polygons.append((low, (high[0], low[1]), high, (low[0], high[1])))
    return polygons


def _check_grid(grid: OccupancyGrid, name: str) -> None:
    cells = grid.cells
    if not isinstance(cells, np.ndarray) or cells.ndim != 2 or not cells.size:
        raise InputError(f'{name}: cells must be an array of rows and columns '
                         f'(shape {np.shape(cells)})')
    if not np.issubdtype(cells.dtype, np.integer):
        raise InputError(f'{name}: cells are {cells.dtype} (give integers: 0 to 100, -1 for '
                         'unknown; multiply probabilities by 100 and round them)')
    if cells.min() < UNKNOWN or cells.max() > 100:
        raise InputError(f'{name}: cells from {cells.min()} to {cells.max()} (give 0 to 100, -1 '
                         'for unknown)')
    if not (math.isfinite(grid.resolution) and grid.resolution > 0):
        raise InputError(f'{name}: resolution {grid.resolution} (give metres a cell, above 0)')
    if len(grid.origin) != 2 or not all(map(math.isfinite, grid.origin)):
        raise InputError(f'{name}: origin {grid.origin} (give finite x and y; a turned grid must '
                         'be turned back first)')
    if not grid.frame:
        raise InputError(f'{name}: frame is empty (name the coordinate frame of the grid, such '
                         'as map)')


def _rectangles(occupied: npt.NDArray[np.bool_]) -> Sequence[tuple[int, int, int, int]]:
    """Rectangles (left, bottom, right, top) in cells that cover the occupied ones, each once."""
    rows, columns = occupied.shape
    edges = np.zeros((rows, columns + 2), dtype=np.int8)
    edges[:, 1:-1] = occupied
    steps = np.diff(edges, axis=1)
    found: list[tuple[int, int, int, int]] = []
    open_runs: dict[tuple[int, int], int] = {}
    for row in range(rows + 1):
        runs = set()
        if row < rows:
            runs = set(zip(np.flatnonzero(steps[row] == 1).tolist(),
                           np.flatnonzero(steps[row] == -1).tolist(), strict=True))
        for run in [run for run in open_runs if run not in runs]:
            found.append((run[0], open_runs.pop(run), run[1], row))
        for run in sorted(runs):
            open_runs.setdefault(run, row)
    return sorted(found, key=lambda item: (item[1], item[0]))
