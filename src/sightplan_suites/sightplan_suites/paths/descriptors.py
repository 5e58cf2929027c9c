"""Seven numbers that describe a path on a map, as PathEval measures them.

The least clearance is that of the whole line that is driven, between its points, too: a path that
crosses an obstacle has 0. PathEval (arXiv 2411.18711, section 3.3) measures the points alone, so
that a long segment may lead through an obstacle and have a large clearance. That rule is
``WAYPOINTS``; items, labels and tables of PathEval are measured by it. All else is the same under
both: average and greatest clearance are those of the points. The border of the map is no obstacle.

Decided here, because the paper leaves it open: a path of fewer than two different points has no
descriptors and is refused. Points repeated one after the other make no angle, so that the angles
are those of the path without the repeats; the average clearance still counts every point. On a map
without obstacles all clearances are ``NO_OBSTACLE``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sightplan.model import InputError
from sightplan_suites.paths.maps import FloatArray, ObstacleMap, as_points

LINE, WAYPOINTS = 'line', 'waypoints'
RULES = (LINE, WAYPOINTS)
"""Rules of measuring the least clearance: along the whole line, or at its points."""

SHARP_DEG = 90.0
"""Smallest angle of a sharp turn [deg]."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Descriptors of a path; lengths in the unit of the map.

    Attributes:
        minimum_clearance: least distance of the line to the nearest obstacle, 0 where it touches
            or crosses one; by the rule ``WAYPOINTS`` that of its points.
        maximum_clearance: greatest distance of a point to the nearest obstacle.
        average_clearance: mean of these distances over the points.
        path_length: sum of the lengths of the segments.
        smoothness: sum of all turning angles [deg]; a straight path has 0.
        sharp_turns: how many turning angles are above 90 degrees.
        maximum_angle: the greatest turning angle [deg]; 0 if there is none.
    """

    minimum_clearance: float
    maximum_clearance: float
    average_clearance: float
    path_length: float
    smoothness: float
    sharp_turns: int
    maximum_angle: float

    def values(self) -> tuple[float, ...]:
        """The seven descriptors in the order of ``NAMES``."""
        return tuple(getattr(self, name) for name in NAMES)

    def to_json(self) -> dict[str, float]:
        """The seven numbers under PathEval's keys, in PathEval's order."""
        return dict(zip(KEYS, self.values(), strict=True))

    @classmethod
    def from_json(cls, data: dict[str, float], where: str) -> Descriptors:
        """Read descriptors from the JSON data that ``to_json`` gives.

        Raises:
            InputError: a key is missing or unknown, or a value is not a finite number, is below
                0, or is a part of a sharp turn; names ``where`` and the key.
        """
        wrong = [key for key in (*KEYS, *data) if key not in data or key not in KEYS]
        if wrong:
            raise InputError(f'{where}: {wrong[0]!r} is missing or unknown (the keys are '
                             f'{", ".join(KEYS)})')
        for key in KEYS:
            value = data[key]
            if (isinstance(value, bool) or not isinstance(value, (int, float))
                    or not np.isfinite(value)):
                raise InputError(f'{where}: {key} is {value!r} (give a finite number)')
            if value < 0 or (key == KEYS[NAMES.index('sharp_turns')] and value != int(value)):
                raise InputError(f'{where}: {key} is {value!r} (give a number from 0 on, and a '
                                 'whole one of turns)')
        values: dict[str, Any] = {name: data[key] for name, key in zip(NAMES, KEYS, strict=True)}
        return cls(**values | {'sharp_turns': int(values['sharp_turns'])})


NAMES = tuple(field.name for field in dataclasses.fields(Descriptors))
"""Names of the descriptors, in PathEval's order."""

KEYS = tuple(name.replace('_', ' ').capitalize() for name in NAMES)
"""Keys of the descriptors in PathEval's JSON, such as ``Minimum clearance``."""


def describe(item: ObstacleMap, path: npt.ArrayLike, *, repeats: bool = True,
             rule: str = LINE) -> Descriptors:
    """Describe one path; see ``describe_all``."""
    return describe_all(item, [path], repeats=repeats, rule=rule)[0]


def describe_all(item: ObstacleMap, paths: Sequence[npt.ArrayLike], *, repeats: bool = True,
                 rule: str = LINE) -> tuple[Descriptors, ...]:
    """Describe several paths on a map at once.

    Args:
        item: the map.
        paths: each (N, 2), points in the unit of the map.
        repeats: whether a point may be repeated right after itself.
        rule: how the least clearance is measured: ``LINE`` or ``WAYPOINTS``.

    Returns:
        One description for each path.

    Raises:
        InputError: a path has fewer than two different points, a coordinate that is not finite,
            or a repeat that is not allowed; names the path by its number. Or there is no such
            rule.
    """
    if rule not in RULES:
        raise InputError(f'rule {rule!r} is not one of {", ".join(RULES)}')
    arrays = [as_points(path) for path in paths]
    turns = [_lengths_and_angles(array, number, repeats) for number, array in enumerate(arrays)]
    if not arrays:
        return ()
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    clearances = np.split(item.clearances(np.concatenate(arrays)), ends)
    least = ([float(near.min()) for near in clearances] if rule == WAYPOINTS
             else line_clearances(item, arrays))
    return tuple(
        Descriptors(nearest, float(near.max()), float(near.mean()),
                    float(lengths.sum()), float(angles.sum()),
                    int((angles > SHARP_DEG).sum()), float(angles.max(initial=0.0)))
        for nearest, near, (lengths, angles) in zip(least, clearances, turns, strict=True))


def line_clearances(item: ObstacleMap, paths: Sequence[FloatArray]) -> list[float]:
    """Least distance of each whole line to the obstacles; 0 where it touches or crosses one.

    Args:
        item: the map.
        paths: each (N, 2) with two points or more.
    """
    nearest = item.segment_clearances(np.concatenate([path[:-1] for path in paths]),
                                      np.concatenate([path[1:] for path in paths]))
    ends = np.cumsum([len(path) - 1 for path in paths])[:-1]
    return [float(part.min()) for part in np.split(nearest, ends)]


def turning_angles(path: npt.ArrayLike) -> FloatArray:
    """The angles [deg] by which a path turns, 0 for straight on; repeated points make none.

    Raises:
        InputError: the path has fewer than two different points.
    """
    return _lengths_and_angles(as_points(path), 0, True)[1]


def _lengths_and_angles(points: FloatArray, number: int, repeats: bool,
                        ) -> tuple[FloatArray, FloatArray]:
    steps = np.diff(points, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    moving = lengths > 0
    if not moving.any():
        raise InputError(f'path {number + 1}: fewer than two different points (a path needs a '
                         'start and an end)')
    if not repeats and not moving.all():
        raise InputError(f'path {number + 1}: point {int(np.argmin(moving)) + 2} repeats the one '
                         'before (remove it, or allow repeats)')
    units = steps[moving] / lengths[moving, None]
    cosines = np.clip((units[:-1] * units[1:]).sum(axis=1), -1.0, 1.0)
    return lengths, np.degrees(np.arccos(cosines))
