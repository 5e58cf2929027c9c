"""The one place that calls OMPL, the Open Motion Planning Library.

``RNG.setSeed`` seeds the generator from which every sampler made afterwards gets its seed. OMPL
complains on later calls, which is right for samplers that exist already; here all are made
after it, and none is kept. Planners whose threads or clocks have a say in the result are not used:
of PRM only the roadmap's growth, while the way through it is searched for here.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from ompl import base, geometric, util

from sightplan_suites.paths.maps import FloatArray, ObstacleMap, Point
from sightplan_suites.paths.planner_settings import PlannerSettings
from sightplan_suites.paths.shortest_path import Graph, shortest_path

_LOCK = threading.Lock()
_GOAL_BIAS = 0.05
"""Fraction of RRT's steps that go towards the goal."""
_STAGE = 200
"""Number of samples that are first added to a roadmap between two searches for a path; it grows
later."""
_NEIGHBOURS = 6
"""Number of nodes that a new node of a roadmap is joined to; also for start and goal."""


class _Motions(base.MotionValidator):  # type: ignore[misc]
    """Check whether a robot can move straight from one state to another."""

    def __init__(self, space: Any, free: Callable[[Any, Any], bool]) -> None:
        super().__init__(space)
        self._free = free

    def checkMotion(self, start: Any, end: Any) -> bool:  # noqa: N802
        """OMPL's name for it."""
        return self._free(start, end)


class _Budget:
    """Counts how often OMPL asks whether to stop, which it does once a sample."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = 0

    def spent(self) -> bool:
        self.used += 1
        return self.used > self.most


def solve(item: ObstacleMap, settings: PlannerSettings, radius: float, start: Point, goal: Point,
          seed: int) -> tuple[tuple[Point, ...] | None, int]:
    """Run a planner once.

    Args:
        item: the map.
        settings: checked before.
        radius: of the robot, which fits at start and goal.
        start: where the path begins.
        goal: where it ends.
        seed: 1 or more.

    Returns:
        The path, or None if none was found, and the number of samples drawn.
    """
    with _LOCK:
        util.setLogLevel(util.LogLevel.LOG_NONE)
        util.RNG.setSeed(seed)
        space = _space(item, radius)
        search = _roadmap if settings.planner == 'prm' else _tree
        raw, samples = search(item, space, settings, radius, start, goal)
        if raw is not None and settings.simplify:
            raw = _simplified(space, raw)
    if raw is None:
        return None, samples
    # Exactly the ends, whatever OMPL's arithmetic made of them.
    points = (start, *raw[1:-1], goal)
    return (points, samples) if item.path_free(points, radius) else (None, samples)


def _space(item: ObstacleMap, radius: float) -> Any:
    """The plane of a map in which the robot's centre may be, with its test of motions."""
    bounds, plane = base.RealVectorBounds(2), base.RealVectorStateSpace(2)
    for axis, (low, high) in enumerate(((item.bounds.x_min, item.bounds.x_max),
                                        (item.bounds.y_min, item.bounds.y_max))):
        bounds.setLow(axis, low + radius)
        bounds.setHigh(axis, high - radius)
    plane.setBounds(bounds)
    space = base.SpaceInformation(plane)
    free = item.segment_test(radius)
    space.setStateValidityChecker(lambda state: free(state[0], state[1], state[0], state[1]))
    space.setMotionValidator(
        _Motions(space, lambda a, b: free(a[0], a[1], b[0], b[1])))
    space.setup()
    return space


def _tree(item: ObstacleMap, space: Any, settings: PlannerSettings, radius: float,
          start: Point, goal: Point) -> tuple[list[Point] | None, int]:
    """Grow one tree (RRT), or one from either end (RRT-Connect)."""
    problem = base.ProblemDefinition(space)
    problem.setStartAndGoalStates(_state(space, start), _state(space, goal))
    if settings.planner == 'rrt':
        planner = geometric.RRT(space)
        planner.setGoalBias(_GOAL_BIAS)
    else:
        planner = geometric.RRTConnect(space)
    if settings.step > 0:
        planner.setRange(settings.step)
    planner.setProblemDefinition(problem)
    planner.setup()
    budget = _Budget(settings.samples)
    status = planner.solve(base.PlannerTerminationCondition(budget.spent))
    samples = min(budget.used, budget.most)
    if status.getStatus() != base.PlannerStatus.EXACT_SOLUTION:
        return None, samples
    return _points(problem.getSolutionPath()), samples


def _roadmap(item: ObstacleMap, space: Any, settings: PlannerSettings, radius: float,
             start: Point, goal: Point) -> tuple[list[Point] | None, int]:
    """Let a roadmap (PRM) grow until there is a way through it."""
    problem = base.ProblemDefinition(space)
    problem.setStartAndGoalStates(_state(space, start), _state(space, goal))
    planner = geometric.PRM(space)
    planner.setMaxNearestNeighbors(_NEIGHBOURS)
    planner.setProblemDefinition(problem)
    planner.setup()
    samples, stage = 0, _STAGE
    while samples < settings.samples:
        budget = _Budget(min(stage, settings.samples - samples))
        planner.growRoadmapPtc(base.PlannerTerminationCondition(budget.spent))
        samples, stage = samples + budget.most, stage + samples // 2
        found = _way_through(item, space, planner, radius, start, goal)
        if found is not None:
            return found, samples
    return None, samples


def _way_through(item: ObstacleMap, space: Any, planner: Any, radius: float, start: Point,
                 goal: Point) -> list[Point] | None:
    data = base.PlannerData(space)
    planner.getPlannerData(data)
    # A roadmap lists every node, and every edge in both directions.
    nodes = [data.getVertex(number).getState() for number in range(data.numVertices())]
    places = np.array([*((state[0], state[1]) for state in nodes), start, goal])
    graph: Graph = {number: [(other, math.dist(places[number], places[other]))
                             for other in data.getEdges(number)]
                    for number in range(len(nodes))}
    first, last = len(nodes), len(nodes) + 1
    graph[first], graph[last] = [], []
    for end in (first, last):
        _join(item, radius, places, graph, end)
    way = shortest_path(graph, first, last)
    return None if way is None else [(float(x), float(y)) for x, y in places[way]]


def _join(item: ObstacleMap, radius: float, places: FloatArray, graph: Graph,
          end: int) -> None:
    """Add edges between an end and the nearest nodes that it sees."""
    lengths = np.hypot(*(places - places[end]).T)
    near = np.argsort(lengths, kind='stable')
    near = near[near != end][:_NEIGHBOURS]
    free = item.segments_free(np.tile(places[end], (len(near), 1)), places[near], radius)
    for other in near[free].tolist():
        graph[end].append((other, float(lengths[other])))
        graph[other].append((end, float(lengths[other])))


def _simplified(space: Any, points: list[Point]) -> list[Point]:
    """OMPL's own shortening and smoothing, as ``SimpleSetup.simplifySolution`` has it."""
    path = geometric.PathGeometric(space, [_state(space, point) for point in points])
    geometric.PathSimplifier(space).simplifyMax(path)
    return _points(path)


def _state(space: Any, point: Point) -> Any:
    state = space.allocState()
    state[0], state[1] = point
    return state


def _points(path: Any) -> list[Point]:
    return [(state[0], state[1]) for state in path.getStates()]
