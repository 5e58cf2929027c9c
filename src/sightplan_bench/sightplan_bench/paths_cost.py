"""Cost of paths on maps: descriptors, a comparison by ROS service, planning, a belief."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan_suites.paths.critic import compare_paths, rank_paths
from sightplan_suites.paths.descriptors import describe_all
from sightplan_suites.paths.generator import generate_map
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, OccupancyGrid, map_of_grid
from sightplan_suites.paths.planner_settings import PlannerSettings
from sightplan_suites.paths.planning import plan_paths
from sightplan_suites.paths.wishes import WishSettings, certain, understood_wishes

_PATHS, _POINTS, _POLYGONS, _RUNS = 8, 50, 200, 30
_VECTOR = (0, 1, 0, -1, -1, -1, -1)


def measure(repeats: int, seed: int) -> dict[str, float]:
    """Costs on one core.

    Args:
        repeats: of each figure but planning, which is measured once.
        seed: of maps and paths.

    Returns:
        ``paths_describe_ms`` (8 paths of 50 points among 200 polygons), ``paths_compare_ms`` (the
        same with their order and the reason, map included), ``paths_rank_ms`` (16 paths, no
        descriptor's wish known: all 3^7 vectors), ``paths_grid_ms`` (a grid of 400 x 400 cells
        as a map, and 8 paths compared on it), and ``paths_plan_s`` (30 runs on a maze).
    """
    rng = random.Random(seed)
    item, paths = crowd(rng), [walk(rng) for _ in range(_PATHS)]
    described = describe_all(item, [walk(rng) for _ in range(16)])
    unknown, wanted = understood_wishes((), WishSettings()), certain(_VECTOR)
    grid = OccupancyGrid(cells(rng), 0.2, 'map', (-40.0, -40.0))
    return {
        'paths_describe_ms': _median_ms(lambda: describe_all(_fresh(item), paths), repeats),
        'paths_compare_ms': _median_ms(lambda: compare_paths(_fresh(item), paths, wanted),
                                       repeats),
        'paths_rank_ms': _median_ms(lambda: rank_paths(described, unknown), repeats),
        'paths_grid_ms': _median_ms(lambda: compare_paths(map_of_grid(grid), paths, wanted),
                                    repeats),
        'paths_plan_s': round(_planned(seed), 2)}


def crowd(rng: random.Random) -> ObstacleMap:
    """Map with 200 small quadrangles at random places."""
    polygons = []
    for _ in range(_POLYGONS):
        x, y = rng.uniform(-38, 38), rng.uniform(-38, 38)
        wide, high = rng.uniform(0.5, 1.5), rng.uniform(0.5, 1.5)
        polygons.append(((x, y), (x + wide, y), (x + wide, y + high), (x, y + high)))
    return ObstacleMap('crowd', tuple(polygons))


def walk(rng: random.Random) -> NDArray[np.float64]:
    """A path of 50 points from start to goal, (50, 2)."""
    along = np.linspace(START, GOAL, _POINTS)
    along[1:-1] += [[rng.uniform(-3, 3), rng.uniform(-3, 3)] for _ in range(_POINTS - 2)]
    return along


def cells(rng: random.Random) -> NDArray[np.int8]:
    """400 x 400 cells with 200 obstacles and a strip of unknown ones."""
    found = np.zeros((400, 400), np.int8)
    for _ in range(_POLYGONS):
        row, column = rng.randrange(390), rng.randrange(390)
        found[row:row + rng.randrange(2, 10), column:column + rng.randrange(2, 10)] = 100
    found[:, :10] = -1
    return found


def _fresh(item: ObstacleMap) -> ObstacleMap:
    """Copy of a map without its cached index."""
    return ObstacleMap(item.name, item.polygons, item.bounds, item.frame)


def _planned(seed: int) -> float:
    item = generate_map('maze', 14, 0, seed)
    started = time.perf_counter()
    plan_paths(item, PlannerSettings(runs=_RUNS), seed)
    return time.perf_counter() - started


def _median_ms(call: Callable[[], Any], repeats: int) -> float:
    """Median wall-clock milliseconds of a call, after one warm-up."""
    call()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - started))
    return round(statistics.median(times), 2)
