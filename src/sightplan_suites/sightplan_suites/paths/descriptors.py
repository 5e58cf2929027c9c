"""Seven numbers that describe a path on a map, by one of two rules.

``WAYPOINTS`` is PathEval's (arXiv 2411.18711, section 3.3): clearances are those of the points
alone, so that a long segment may lead through an obstacle and have a large one; turns are those
between the points. Items, labels and tables of PathEval are measured by it, and nothing else is.

``SWEPT``, the rule everywhere else, measures the line that is driven (``driven_lines``): the same
for a path of one point a cell, for its corners and for points every few centimetres. Clearances
are those of the robot's outline (``footprints``) on its way along that line: the least one along
all of it, the greatest and the average at even distances along it (``SAMPLES``). The least one is
0 if the robot touches or crosses an obstacle on the path as it was given, too. Length and turns
are those of the driven line. The border of the map is no obstacle by either rule.

Decided here, because the paper leaves it open: a path of fewer than two different points has no
descriptors and is refused. Points repeated one after the other make no angle, so that the angles
are those of the path without the repeats; by ``WAYPOINTS`` the average clearance still counts
every point. On a map without obstacles all clearances are ``NO_OBSTACLE``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import shapely

from sightplan.model import InputError
from sightplan_suites.paths.driven_lines import default_tolerance, driven_line, tolerance_of
from sightplan_suites.paths.footprints import POINT, Footprint, sampled_poses
from sightplan_suites.paths.maps import NO_OBSTACLE, ROUNDING, FloatArray, ObstacleMap, as_points

SWEPT, WAYPOINTS = 'swept', 'waypoints'
RULES = (SWEPT, WAYPOINTS)
"""Rules of measuring: the line that is driven, or the points of the path alone."""

SAMPLES = 400
"""Poses along a driven line at which its average and greatest clearance are measured."""

SHARP_DEG = 90.0
"""Smallest angle of a sharp turn [deg]."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Descriptors of a path; lengths in the unit of the map.

    Attributes:
        minimum_clearance: least distance of the robot on its way to the nearest obstacle, 0 where
            it touches or crosses one; by the rule ``WAYPOINTS`` that of the points.
        maximum_clearance: greatest such distance.
        average_clearance: mean of these distances along the line; by ``WAYPOINTS`` over the
            points.
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
                    or not abs(value) < math.inf):
                raise InputError(f'{where}: {key} is {value!r} (give a finite number)')
            if value < 0 or (key == KEYS[NAMES.index('sharp_turns')] and value != int(value)):
                raise InputError(f'{where}: {key} is {value!r} (give a number from 0 on, and a '
                                 'whole one of turns)')
        values: dict[str, Any] = {name: data[key] for name, key in zip(NAMES, KEYS, strict=True)}
        return cls(**values | {'sharp_turns': int(values['sharp_turns'])})


NAMES = tuple(field.name for field in dataclasses.fields(Descriptors))
"""Names of the descriptors, in PathEval's order."""

WORDS = {
    # descriptor: its name, what less of it is called, what more of it is called, its unit
    'average_clearance': ('average clearance', 'less', 'more', ''),
    'minimum_clearance': ('least clearance', 'less', 'more', ''),
    'maximum_clearance': ('greatest clearance', 'less', 'more', ''),
    'path_length': ('length', 'shorter', 'longer', ''),
    'sharp_turns': ('sharp turns', 'fewer', 'more', ''),
    'maximum_angle': ('sharpest turn', 'gentler', 'sharper', '°'),
    'smoothness': ('turning in total', 'less', 'more', '°'),
}
"""Words for each descriptor in sentences."""

KEYS = tuple(name.replace('_', ' ').capitalize() for name in NAMES)
"""Keys of the descriptors in PathEval's JSON, such as ``Minimum clearance``."""


def describe(item: ObstacleMap, path: npt.ArrayLike, *, repeats: bool = True, rule: str = SWEPT,
             tolerance: float | None = None) -> Descriptors:
    """Describe one path; see ``describe_all``."""
    return describe_all(item, [path], repeats=repeats, rule=rule, footprint=POINT,
                        tolerance=tolerance)[0]


def describe_all(item: ObstacleMap, paths: Sequence[npt.ArrayLike], *, repeats: bool = True,
                 rule: str = SWEPT, footprint: Footprint = POINT, tolerance: float | None = None,
                 ) -> tuple[Descriptors, ...]:
    """Describe several paths on a map at once.

    Args:
        item: the map.
        paths: each (N, 2), points in the unit of the map.
        repeats: whether a point may be repeated right after itself.
        rule: ``SWEPT`` or ``WAYPOINTS``.
        footprint: of the robot; by ``WAYPOINTS`` it is a point.
        tolerance: of the driven line, see ``driven_lines``; None: that of the map.

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
    if rule == SWEPT:
        drives = drive_all(item, arrays, footprint, tolerance)
        return tuple(described(item, drive, footprint) for drive in drives)
    if not arrays:
        return ()
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    clearances = np.split(item.clearances(np.concatenate(arrays)), ends)
    return tuple(
        _descriptors(float(near.min()), float(near.max()), float(near.mean()), lengths, angles)
        for near, (lengths, angles) in zip(clearances, turns, strict=True))


@dataclass(frozen=True, eq=False)
class Drive:
    """The drive of a robot along a path.

    Attributes:
        path: (N, 2), the path as it was given.
        line: (M, 2), corners of the line that is driven.
        tolerance: of that line.
        gap: least distance of the robot to the obstacles on its way along the path as it was
            given; below 0 if it goes through one, by how far it lacks room at most.
    """

    path: FloatArray
    line: FloatArray
    tolerance: float
    gap: float

    @property
    def free(self) -> bool:
        """Whether the robot neither touches nor crosses an obstacle."""
        return self.gap > ROUNDING


def drive_all(item: ObstacleMap, paths: Sequence[FloatArray], footprint: Footprint = POINT,
              tolerance: float | None = None) -> list[Drive]:
    """The lines that are driven along paths.

    Args:
        item: the map.
        paths: each (N, 2) with two different points or more.
        footprint: of the robot. A polygon turns with the driven line; along the path as it was
            given, whose headings may be those of a staircase, the disc counts that it covers
            however it turns.
        tolerance: see ``driven_lines``; None: that of the map.
    """
    usual = default_tolerance(item) if tolerance is None else tolerance
    return [_drive(item, path, footprint, tolerance_of(path, usual)) for path in paths]


def _drive(item: ObstacleMap, path: FloatArray, footprint: Footprint, tolerance: float) -> Drive:
    line = driven_line(path, tolerance)
    gap = min(_disc_gap(item, path, footprint), _polygon_gap(item, line, footprint))
    return Drive(path, line, tolerance, gap)


def _disc_gap(item: ObstacleMap, line: FloatArray, footprint: Footprint) -> float:
    """Least distance of a disc to the obstacles along a line; below 0 where there is no room."""
    if not item.polygons:
        return NO_OBSTACLE
    return float(item.segment_clearances(line[:-1], line[1:]).min()) - footprint.inscribed


def _polygon_gap(item: ObstacleMap, line: FloatArray, footprint: Footprint) -> float:
    """Least distance of a polygon to the obstacles along a line, 0 if it touches one."""
    if not footprint.corners:
        return math.inf
    return float(item.distances(np.array(footprint.swept(line))).min())


def described(item: ObstacleMap, drive: Drive, footprint: Footprint = POINT) -> Descriptors:
    """Describe a drive; see ``SWEPT``."""
    line = drive.line
    lengths, angles = _lengths_and_angles(line, 0, True)
    points, headings, _ = sampled_poses(line, SAMPLES)
    if footprint.corners:
        near = along = item.distances(shapely.polygons(footprint.placed(points, headings)))
        least = _polygon_gap(item, line, footprint)
    else:
        near = item.clearances(np.concatenate((points, line)))
        if item.polygons:
            near = np.maximum(near - footprint.radius, 0.0)
        along, least = near[:SAMPLES], _disc_gap(item, line, footprint)
    # The driven line may touch what the path itself passes by less than the tolerance.
    least = least if drive.free and least > ROUNDING else max(drive.gap, 0.0)
    return _descriptors(min(least, NO_OBSTACLE), float(near.max()), float(along.mean()), lengths,
                        angles)


def _descriptors(least: float, greatest: float, average: float, lengths: FloatArray,
                 angles: FloatArray) -> Descriptors:
    return Descriptors(least, greatest, average, float(lengths.sum()), float(angles.sum()),
                       int((angles > SHARP_DEG).sum()), float(angles.max(initial=0.0)))


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
