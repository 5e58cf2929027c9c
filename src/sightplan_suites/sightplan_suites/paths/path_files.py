"""PathEval's files of planned paths: for each run ``@``, lines ``x y``, ``Robot Radius: r``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sightplan.model import InputError
from sightplan.model.whole_files import replacing
from sightplan_suites.paths.maps import GOAL, WORLD, Bounds, Point

ARRIVAL = 1.5
"""Distance from the goal, along x and along y, below which a run has arrived."""

_RUN = '@'
_RADIUS = 'Robot Radius:'


@dataclass(frozen=True, slots=True)
class PathRun:
    """Path that one run of a planner found.

    Attributes:
        points: the path, from its start.
        radius: of the robot, a disc.
    """

    points: tuple[Point, ...]
    radius: float

    def arrived(self, goal: Point = GOAL, within: float = ARRIVAL) -> bool:
        """Whether the path ends at the goal: approximate solutions do not."""
        (x, y), (goal_x, goal_y) = self.points[-1], goal
        return abs(x - goal_x) < within and abs(y - goal_y) < within


def read_path_runs(file: Path, bounds: Bounds = WORLD) -> tuple[PathRun, ...]:
    """Read the runs of a file.

    Raises:
        InputError: it cannot be read, a line is none of the three kinds or misplaced, a run has
            fewer than two points, or a point lies outside of the bounds; names file and line.
    """
    try:
        text = file.read_text('utf-8')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{file}: cannot be read: {error} (name a file of paths)') from error
    return path_runs_from_text(text, file, bounds)


def path_runs_from_text(text: str, where: Path | str, bounds: Bounds = WORLD,
                        ) -> tuple[PathRun, ...]:
    """The runs of a file's text; empty lines are passed over. Raises as ``read_path_runs``."""
    runs: list[PathRun] = []
    points: list[Point] | None = None
    number = 0
    for number, raw in enumerate(text.split('\n'), 1):
        line, place = raw.strip(), f'{where}:{number}'
        if not line:
            continue
        if line == _RUN:
            if points is not None:
                raise InputError(f'{place}: a run begins before the last one ended (end it with '
                                 f'"{_RADIUS} r")')
            points = []
        elif points is None:
            raise InputError(f'{place}: {line[:40]!r} stands outside of a run (begin a run with '
                             f'"{_RUN}")')
        elif line.startswith(_RADIUS):
            runs.append(_run(points, line, place))
            points = None
        else:
            points.append(_point(line, place, bounds))
    if points is not None:
        raise InputError(f'{where}:{number}: the last run is truncated (end it with '
                         f'"{_RADIUS} r")')
    return tuple(runs)


def _run(points: list[Point], line: str, place: str) -> PathRun:
    radius = _number(line.removeprefix(_RADIUS).strip(), place)
    if radius <= 0:
        raise InputError(f'{place}: robot radius {radius:g} (give a number above 0)')
    if len(points) < 2:
        raise InputError(f'{place}: the run has {len(points)} points (a path needs two or more; '
                         'leave out runs that found nothing)')
    return PathRun(tuple(points), radius)


def _point(line: str, place: str, bounds: Bounds) -> Point:
    words = line.split()
    if len(words) != 2:
        raise InputError(f'{place}: {line[:40]!r} is not a point (give x and y)')
    x, y = (_number(word, place) for word in words)
    if not (bounds.x_min <= x <= bounds.x_max and bounds.y_min <= y <= bounds.y_max):
        raise InputError(f'{place}: the path leaves the map at {x:g} {y:g} (it must stay within '
                         f'{bounds.x_min:g} to {bounds.x_max:g}, '
                         f'{bounds.y_min:g} to {bounds.y_max:g})')
    return x, y


def _number(word: str, place: str) -> float:
    try:
        number = float(word)
    except ValueError:
        raise InputError(f'{place}: {word[:40]!r} is not a number (give a finite number)'
                         ) from None
    if not math.isfinite(number):
        raise InputError(f'{place}: {word!r} is not finite (give a finite number)')
    return number


def path_runs_text(runs: Iterable[PathRun]) -> str:
    """The text of a file of paths: the same runs always give the same bytes."""
    return ''.join('\n'.join([_RUN, *(f'{float(x)!r} {float(y)!r}' for x, y in run.points),
                              f'{_RADIUS} {float(run.radius)!r}', ''])
                   for run in runs)


def write_path_runs(runs: Iterable[PathRun], file: Path) -> None:
    """Write a file of paths."""
    with replacing(file) as new:
        new.write_text(path_runs_text(runs), 'utf-8')
