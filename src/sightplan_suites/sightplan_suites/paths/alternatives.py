"""Different paths on purpose: each later one is kept away from the earlier ones.

A planner with random samples finds the same few ways again and again. Here ways are searched for
on a lattice over the map. Steps near earlier paths cost more, so that the next path takes another
way where there is one; and every try has a robot and a taste of its own: for room, for walls, or
for neither, and for few or for many corners. A path that still is much like an earlier one is
discarded and counted.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from sightplan.model import InputError, check_settings, param
from sightplan_suites.paths.maps import GOAL, START, FloatArray, ObstacleMap, Point, as_points
from sightplan_suites.paths.path_files import PathRun
from sightplan_suites.paths.planning import NoPath
from sightplan_suites.paths.shortest_path import Graph, shortest_path

_TASTES = (0.0, 4.0, -4.0)
"""Tastes of searches: 0 is indifferent, positive values seek room, negative ones walls. The
absolute value is the relative extra cost of a step against the taste."""
_SIGHTS = (1_000_000, 12, 5)
"""Numbers of lattice nodes over which corners are cut: over all, over some, over few."""
_TASTE_SCALE = 2.0
"""The clearance at which much of a taste is satisfied."""
_ENDS = 12
"""Number of lattice nodes that start and goal are joined to."""
_SAMPLES = 200
"""Number of points on each path at which two paths are compared."""
_MOST_NODES = 1e6
"""Largest number of nodes of the lattice."""


_REPULSION = 3.0
"""Extra cost of a step on an earlier path, relative to the step's length."""


@dataclass(frozen=True, slots=True)
class AlternativeSettings:
    """Settings of the search for different paths; lengths are in units of the map."""

    count: int = param(8, 'paths wanted', low=1, high=100)
    tries: int = param(24, 'searches at most', low=1, high=1000)
    apart: float = param(1.5, 'mean distance below which two paths count as the same',
                         low=0.0, high=1000.0)
    spacing: float = param(1.0, 'distance of neighbouring nodes of the lattice',
                           low=0.01, high=100.0)
    reach: float = param(5.0, 'distance from an earlier path within which steps cost more',
                         low=0.01, high=1000.0)
    min_radius: float = param(0.5, 'least radius of a robot', low=0.01, high=100.0)
    max_radius: float = param(1.5, 'greatest radius of a robot', low=0.01, high=100.0)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several different paths.

    Attributes:
        points: from start to goal, free of collisions.
        radius: of the robot.
    """

    points: tuple[Point, ...]
    radius: float

    def to_run(self) -> PathRun:
        """The path as a run of a file of paths."""
        return PathRun(self.points, self.radius)


@dataclass(frozen=True, slots=True)
class Alternatives:
    """Different paths on a map.

    Attributes:
        paths: in the order in which they were found.
        alike: how many others were discarded since they were much like one of them.
        blocked: how many searches found no way for their robot.
        routes: how many of the paths' ways around the obstacles differ: paths of one route can
            be pulled to one another without crossing an obstacle.
        reason: why there are no paths; None if there are.
    """

    paths: tuple[Alternative, ...]
    alike: int
    blocked: int
    routes: int
    reason: NoPath | None = None


def find_alternatives(item: ObstacleMap, settings: AlternativeSettings, seed: int = 0, *,
                      start: Point = START, goal: Point = GOAL) -> Alternatives:
    """Search for different paths; the same arguments always give the same paths.

    Args:
        item: the map.
        settings: how many, and how different.
        seed: another one gives other robots and tastes.
        start: where every path begins.
        goal: where every path ends.

    Raises:
        InputError: a setting is out of bounds, or the lattice would be too fine for the map.
    """
    check_settings(settings)
    if settings.min_radius > settings.max_radius:
        raise InputError(f'min_radius = {settings.min_radius} is above max_radius = '
                         f'{settings.max_radius} (swap them)')
    for place, reason in ((start, NoPath.START_BLOCKED), (goal, NoPath.GOAL_BLOCKED)):
        if not item.path_free([place], settings.min_radius):
            return Alternatives((), 0, 0, 0, reason)
    lattice = _Lattice(item, settings.spacing, start, goal)
    rng = random.Random(f'{seed}')
    paths: list[Alternative] = []
    crowd = np.zeros(len(lattice.lengths))
    alike = blocked = 0
    for number in range(settings.tries):
        radius = settings.min_radius + (settings.max_radius
                                        - settings.min_radius) * rng.random()
        taste = _TASTES[number % len(_TASTES)]
        sight = _SIGHTS[int(rng.random() * len(_SIGHTS))]
        points = lattice.search(radius, taste, crowd, sight)
        if points is None:
            blocked += 1
            continue
        # One that is discarded drives the next ones away, too.
        crowd += _REPULSION * lattice.crowding(points, settings.reach)
        if any(distance_apart(points, path.points) < settings.apart for path in paths):
            alike += 1
            continue
        paths.append(Alternative(points, radius))
        if len(paths) == settings.count:
            break
    return Alternatives(tuple(paths), alike, blocked,
                        count_routes(item, [path.points for path in paths]),
                        None if paths else NoPath.NO_WAY)


class _Lattice:
    """Nodes at equal distances over a map, start and goal, and steps between neighbours."""

    def __init__(self, item: ObstacleMap, spacing: float, start: Point, goal: Point) -> None:
        self.item = item
        bounds = item.bounds
        nodes = (bounds.x_max - bounds.x_min) * (bounds.y_max - bounds.y_min) / spacing ** 2
        if nodes > _MOST_NODES:
            raise InputError(f'spacing = {spacing:g} gives a lattice of {nodes:.3g} nodes on this '
                             f'map (raise it; {_MOST_NODES:g} are the most)')
        xs = np.arange(bounds.x_min + spacing / 2, bounds.x_max, spacing)
        ys = np.arange(bounds.y_min + spacing / 2, bounds.y_max, spacing)
        grid = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
        self.places: FloatArray = np.vstack([grid, [start, goal]])
        self.first, self.last = len(grid), len(grid) + 1
        numbers = np.arange(len(grid)).reshape(len(ys), len(xs))
        pairs = [(numbers[:, :-1], numbers[:, 1:]), (numbers[:-1], numbers[1:]),
                 (numbers[:-1, :-1], numbers[1:, 1:]), (numbers[:-1, 1:], numbers[1:, :-1])]
        for end in (self.first, self.last):
            away = np.hypot(*(grid - self.places[end]).T)
            near = np.argsort(away, kind='stable')[:_ENDS]
            pairs.append((np.full(len(near), end), near))
        self.starts = np.concatenate([a.ravel() for a, _ in pairs])
        self.ends = np.concatenate([b.ravel() for _, b in pairs])
        here, there = self.places[self.starts], self.places[self.ends]
        self.lengths: FloatArray = np.hypot(*(there - here).T)
        self.middles = shapely.points((here + there) / 2)
        self.room: FloatArray = item.segment_clearances(here, there)
        # A step nearer to the border than to any obstacle is no tighter for that.
        self.inside = np.minimum(_to_border(item, here), _to_border(item, there))

    def crowding(self, points: Sequence[Point], reach: float) -> FloatArray:
        """Nearness of each step to a path: 1 on it, falling off over ``reach``."""
        away = shapely.distance(self.middles, shapely.LineString(points))
        near: FloatArray = np.exp(-(away / reach) ** 2)
        return near

    def search(self, radius: float, taste: float, crowd: FloatArray, sight: int,
               ) -> tuple[Point, ...] | None:
        """Find the cheapest path for a robot and cut its corners; None if there is none."""
        snug = np.exp(-self.room / _TASTE_SCALE)
        dislike = taste * snug if taste >= 0 else -taste * (1 - snug)
        costs = self.lengths * (1 + dislike + crowd)
        usable = (self.room > radius) & (self.inside >= radius)
        graph: Graph = {number: [] for number in range(len(self.places))}
        for a, b, cost in zip(self.starts[usable].tolist(), self.ends[usable].tolist(),
                              costs[usable].tolist(), strict=True):
            graph[a].append((b, cost))
            graph[b].append((a, cost))
        way = shortest_path(graph, self.first, self.last)
        return None if way is None else _cut_corners(self.item, self.places[way], radius, sight)


def _to_border(item: ObstacleMap, points: FloatArray) -> FloatArray:
    bounds = item.bounds
    low = points - [bounds.x_min, bounds.y_min]
    high = [bounds.x_max, bounds.y_max] - points
    least: FloatArray = np.minimum(low, high).min(axis=1)
    return least


def _cut_corners(item: ObstacleMap, places: FloatArray, radius: float, sight: int,
                 ) -> tuple[Point, ...]:
    """Go on to the farthest of the next ``sight`` nodes that is in sight, again and again."""
    free = item.segment_test(radius)
    nodes: list[Point] = [(x, y) for x, y in places.tolist()]
    at, kept = 0, [nodes[0]]
    while at < len(nodes) - 1:
        here = nodes[at]
        ahead = range(min(at + sight, len(nodes) - 1), at + 1, -1)
        at = next((other for other in ahead if free(*here, *nodes[other])), at + 1)
        kept.append(nodes[at])
    return tuple(kept)


def distance_apart(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Distance of two paths (N, 2), averaged along the less similar one."""
    lines = [shapely.LineString(as_points(path)) for path in (first, second)]
    steps = np.linspace(0, 1, _SAMPLES)
    return max(float(shapely.distance(shapely.line_interpolate_point(
        here, steps, normalized=True), there).mean())
        for here, there in (lines, lines[::-1]))


def same_route(item: ObstacleMap, first: npt.ArrayLike, second: npt.ArrayLike) -> bool:
    """Whether no obstacle lies between two paths with the same ends.

    There and back, they go around every obstacle as often to the left as to the right.
    """
    if not item.polygons:
        return True
    loop = np.vstack([as_points(first), as_points(second)[::-1]])
    inner = shapely.get_coordinates(shapely.point_on_surface(item.shapes))
    away = loop[None] - inner[:, None]
    angles = np.unwrap(np.arctan2(away[..., 1], away[..., 0]), axis=1)
    turns = np.rint((angles[:, -1] - angles[:, 0]) / math.tau)
    return not turns.any()


def count_routes(item: ObstacleMap, paths: Sequence[npt.ArrayLike]) -> int:
    """Number of different routes among paths with the same ends."""
    known: list[npt.ArrayLike] = []
    for path in paths:
        if not any(same_route(item, path, other) for other in known):
            known.append(path)
    return len(known)
