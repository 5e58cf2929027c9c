"""Facts about a robot that a path critic needs: its outline, and which differences matter.

They stand in the section ``base`` of a robot's file (``config/robots``, or a file of its own)::

    base: radius_m: 0.3                   # or footprint_m: [[0.4, 0.3], [0.4, -0.3], [-0.4, -0.3],
      ...] differences: {path_length: 2.0, minimum_clearance: 0.05}   # metres, degrees, turns

A difference that is not stated follows from the outline and from the paths themselves
(``differences_that_matter``):

* clearances: a quarter of the radius of the disc around the robot; without an outline a tenth of
  the median of the paths; never less than the tolerance of the driven line;
* length: a twentieth of the shortest path, and at least the robot's own diameter;
* the sharpest turn 15 degrees, turning in total 45 degrees, one sharp turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import numpy as np
from pydantic import Field

from sightplan.model import InputError, config_files, user_path
from sightplan.model.reading import Record, read_data, validated
from sightplan_suites.paths.descriptors import NAMES, Descriptors
from sightplan_suites.paths.driven_lines import default_tolerance
from sightplan_suites.paths.footprints import POINT, Footprint
from sightplan_suites.paths.labels import Thresholds
from sightplan_suites.paths.maps import ObstacleMap

CLEARANCES = ('minimum_clearance', 'maximum_clearance', 'average_clearance')

_OF_RADIUS = 0.25
"""Difference of clearances that matters, as a fraction of the robot's radius."""
_OF_CLEARANCE = 0.1
"""The same as a fraction of the median clearance, for robots whose outline is not known."""
_OF_LENGTH = 0.05
"""Difference of lengths that matters, as a fraction of the shortest path."""
_TURN_DEG, _TURNING_DEG, _SHARP_TURNS = 15.0, 45.0, 1.0
"""Differences of the sharpest turn, of turning in total, and of sharp turns that matter."""

_Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
_Number = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class RobotBase:
    """A robot as a path critic sees it.

    Attributes:
        footprint: its outline.
        differences: of descriptors, by name, from which on they matter to it; those that are
            missing follow from the outline and from the paths.
    """

    footprint: Footprint = POINT
    differences: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


UNKNOWN_ROBOT = RobotBase()
"""A robot of which nothing is known: a point."""


class _Base(Record):
    radius_m: _Positive | None = None
    footprint_m: tuple[tuple[_Number, _Number], ...] = ()
    differences: dict[str, _Positive] = Field(default_factory=dict)


def read_robot_base(name_or_path: str) -> RobotBase:
    """Read the section ``base`` of a robot's file; other sections are passed over.

    Args:
        name_or_path: name of a file in ``config/robots`` without its suffix, or a path.

    Raises:
        InputError: there is no such file, it has no base, or something in it is wrong; names
            file, field and remedy.
    """
    file = user_path(name_or_path)
    if file.suffix not in ('.yaml', '.yml'):
        files = config_files('robots')
        if name_or_path not in files:
            raise InputError(f'robot {name_or_path!r} is unknown; choose one of '
                             f'{", ".join(files) or "none"}, or give the path of a YAML file')
        file = files[name_or_path]
    data = read_data(file)
    if not isinstance(data, dict) or 'base' not in data:
        raise InputError(f'{file}: base is missing (add base: with radius_m or footprint_m)')
    return _robot_base(validated(_Base, data['base'], f'{file}: base'), file)


def _robot_base(found: _Base, file: Path) -> RobotBase:
    unknown = [name for name in found.differences if name not in NAMES]
    if unknown:
        raise InputError(f'{file}: base.differences: {unknown[0]!r} is not a descriptor (choose '
                         f'among {", ".join(NAMES)})')
    try:
        footprint = Footprint(found.radius_m or 0.0, found.footprint_m)
    except InputError as error:
        raise InputError(f'{file}: base: {error}') from error
    return RobotBase(footprint, found.differences)


def differences_that_matter(item: ObstacleMap, paths: Sequence[Descriptors],
                            robot: RobotBase = UNKNOWN_ROBOT, length_scale: float = 1.0,
                            ) -> Thresholds:
    """The differences of descriptors from which on they matter to a robot; see the module.

    Args:
        item: the map.
        paths: that are compared, one or more.
        robot: what is known of the robot.
        length_scale: factor of the difference of lengths, unless the robot states that.

    Raises:
        InputError: the factor is not above 0.
    """
    if not length_scale > 0:
        raise InputError(f'length_scale = {length_scale} (give a number above 0)')
    radius, least = robot.footprint.circumscribed, default_tolerance(item)
    found = {'smoothness': _TURNING_DEG, 'maximum_angle': _TURN_DEG, 'sharp_turns': _SHARP_TURNS}
    for name in CLEARANCES:
        median = float(np.median([getattr(path, name) for path in paths]))
        found[name] = max(_OF_RADIUS * radius if radius else _OF_CLEARANCE * median, least)
    shortest = min(path.path_length for path in paths)
    found['path_length'] = length_scale * max(_OF_LENGTH * shortest, 2 * radius)
    return Thresholds(**{**found, **robot.differences})
