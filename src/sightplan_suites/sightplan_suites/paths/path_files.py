"""PathEval's files of planned paths: for each run ``@``, lines ``x y``, ``Robot Radius: r``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
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


@dataclass(frozen=True, slots=True)
class Attempts:
    """Content of a file about all attempts of a planner.

    Attributes:
        runs: those that found a path, in order.
        failed: number of those that found nothing: ``@`` and a radius without any point.
        broken: why each of the others cannot be used; names file, line and remedy.
    """

    runs: tuple[PathRun, ...]
    failed: int
    broken: tuple[InputError, ...]


class _NothingFound(InputError):
    """An attempt without any point, where a path is needed."""


def read_path_runs(file: Path, bounds: Bounds = WORLD) -> tuple[PathRun, ...]:
    """Read the runs of a file.

    Raises:
        InputError: it cannot be read, a line is none of the three kinds or misplaced, a run has
            fewer than two points, or a point lies outside of the bounds; names file and line.
    """
    return path_runs_from_text(_text_of(file), file, bounds)


def path_runs_from_text(text: str, where: Path | str, bounds: Bounds = WORLD,
                        ) -> tuple[PathRun, ...]:
    """The runs of a file's text; empty lines are passed over. Raises as ``read_path_runs``."""
    runs = []
    for found in _attempts(text, where, bounds):
        if isinstance(found, InputError):
            raise found
        runs.append(found)
    return tuple(runs)


def read_attempts(file: Path, bounds: Bounds = WORLD) -> Attempts:
    """Read a file in which attempts may have failed or be damaged; no attempt costs another.

    Raises:
        InputError: the file cannot be read.
    """
    return attempts_from_text(_text_of(file), file, bounds)


def attempts_from_text(text: str, where: Path | str, bounds: Bounds = WORLD) -> Attempts:
    """The attempts of a file's text; see ``read_attempts``."""
    found = list(_attempts(text, where, bounds))
    return Attempts(tuple(one for one in found if isinstance(one, PathRun)),
                    sum(isinstance(one, _NothingFound) for one in found),
                    tuple(one for one in found if isinstance(one, InputError)
                          and not isinstance(one, _NothingFound)))


def holds_paths(text: str) -> bool:
    """Whether a file's text begins as a file of paths does, and not as an environment."""
    return text.lstrip('\ufeff \t\r\n').startswith(_RUN)


def _text_of(file: Path) -> str:
    try:
        return file.read_text('utf-8-sig')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{file}: cannot be read: {error} (name a file of paths)') from error


def _attempts(text: str, where: Path | str, bounds: Bounds) -> Iterator[PathRun | InputError]:
    """Yield the path of each attempt, or why it has none."""
    points: list[Point] | None = None
    wrong: InputError | None = None
    number, is_outside_named = 0, False
    for number, raw in enumerate(text.split('\n'), 1):
        line, place = raw.strip(), f'{where}:{number}'
        if not line:
            continue
        if line == _RUN:
            if points is not None:
                yield wrong or InputError(f'{place}: a run begins before the last one ended (end '
                                          f'it with "{_RADIUS} r")')
            points, wrong, is_outside_named = [], None, False
        elif points is None:
            if not is_outside_named:
                yield InputError(f'{place}: {line[:40]!r} stands outside of a run (begin a run '
                                 f'with "{_RUN}")')
            is_outside_named = True
        elif line.startswith(_RADIUS):
            yield wrong or _ended(points, line, place)
            points = None
        elif wrong is None:
            try:
                points.append(_point(line, place, bounds))
            except InputError as error:
                wrong = error
    if points is not None:
        yield wrong or InputError(f'{where}:{number}: the last run is truncated (end it with '
                                  f'"{_RADIUS} r")')


def _ended(points: list[Point], line: str, place: str) -> PathRun | InputError:
    try:
        return _run(points, line, place)
    except InputError as error:
        return error


def _run(points: list[Point], line: str, place: str) -> PathRun:
    radius = _number(line.removeprefix(_RADIUS).strip(), place)
    if radius <= 0:
        raise InputError(f'{place}: robot radius {radius:g} (give a number above 0)')
    if len(points) < 2:
        kind = InputError if points else _NothingFound
        raise kind(f'{place}: the run has {len(points)} points (a path needs two or more; leave '
                   'out runs that found nothing)')
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
