"""Paths for a disc robot by planners of OMPL: the same seed always gives the same path.

OMPL draws from one generator for the whole process. Every run here seeds it anew and builds its
planner afresh, one run at a time, so that a path does not depend on what ran before; and a run
ends after a number of samples, not of seconds, so that it does not depend on the machine's speed
either. Motions are checked exactly, as segments against polygons, not at points along them.

PathEval's own runs had OMPL's planners sample the plane beyond the world, with a heading that
nothing depended on, for 26 s, and checked points on the robot's rim. Here the plane is that of the
map, and a run that finds no way says why and has no path.
"""

from __future__ import annotations

import enum
import random
from dataclasses import dataclass

from sightplan.model import InputError, check_settings
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, Point
from sightplan_suites.paths.path_files import PathRun
from sightplan_suites.paths.planner_settings import PlannerSettings


class NoPath(enum.StrEnum):
    """Reasons why a run has no path."""

    START_BLOCKED = 'start_blocked'
    GOAL_BLOCKED = 'goal_blocked'
    NO_WAY = 'no_way'
    NOT_FOUND = 'not_found'

    @property
    def words(self) -> str:
        """The reason as a sentence."""
        return {
            NoPath.START_BLOCKED: 'The robot does not fit at the start.',
            NoPath.GOAL_BLOCKED: 'The robot does not fit at the goal.',
            NoPath.NO_WAY: 'Obstacles leave no way that is wide enough for the robot.',
            NoPath.NOT_FOUND: 'No way was found before the samples were used up.',
        }[self]


@dataclass(frozen=True, slots=True)
class PlannedPath:
    """Result of one run: a path, or the reason why there is none.

    Attributes:
        run: its number on its map, from 0.
        radius: of the robot.
        points: the path from start to goal, free of collisions; None without one.
        reason: why there is no path; None with one.
        samples: how many samples were drawn.
    """

    run: int
    radius: float
    points: tuple[Point, ...] | None
    reason: NoPath | None
    samples: int

    def to_run(self) -> PathRun | None:
        """The path as a run of a file of paths; None without a path."""
        return PathRun(self.points, self.radius) if self.points is not None else None


def plan_paths(item: ObstacleMap, settings: PlannerSettings, seed: int = 0,
               ) -> tuple[PlannedPath, ...]:
    """Plan all runs on a map.

    Args:
        item: the map.
        settings: planner, number of runs, and the rest.
        seed: another one gives other robots and other paths.

    Returns:
        ``settings.runs`` results, in the order of their numbers.

    Raises:
        InputError: a setting is out of bounds.
    """
    return tuple(plan_path(item, settings, seed, run) for run in range(settings.runs))


def plan_path(item: ObstacleMap, settings: PlannerSettings, seed: int, run: int, *,
              start: Point = START, goal: Point = GOAL, radius: float | None = None,
              ) -> PlannedPath:
    """Plan one run: a function of its arguments alone.

    Args:
        item: the map.
        settings: the planner and how it works.
        seed: of the map's runs.
        run: number of the run.
        start: where the path begins.
        goal: where the path ends.
        radius: of the robot; None draws it, uniformly within the settings.

    Raises:
        InputError: a setting is out of bounds.
    """
    check_settings(settings)
    if settings.min_radius > settings.max_radius:
        raise InputError(f'min_radius = {settings.min_radius} is above max_radius = '
                         f'{settings.max_radius} (swap them)')
    rng = random.Random(f'{seed} {run}')
    drawn = settings.min_radius + (settings.max_radius - settings.min_radius) * rng.random()
    radius = drawn if radius is None else radius
    for place, reason in ((start, NoPath.START_BLOCKED), (goal, NoPath.GOAL_BLOCKED)):
        if not item.path_free([place], radius):
            return PlannedPath(run, radius, None, reason, 0)
    if not item.way_exists(start, goal, radius):
        return PlannedPath(run, radius, None, NoPath.NO_WAY, 0)
    # OMPL is loaded when it is needed only.
    from sightplan_suites.paths import _ompl
    points, samples = _ompl.solve(item, settings, radius, start, goal,
                                  seed=1 + int(rng.random() * (2**31 - 2)))
    return PlannedPath(run, radius, points, NoPath.NOT_FOUND if points is None else None, samples)
