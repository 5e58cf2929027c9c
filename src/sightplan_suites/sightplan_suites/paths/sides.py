"""The side of corridors, right or left, to which a path keeps, as a measured descriptor.

At even distances along the driven line it is looked how far the nearest obstacle is straight to
the right and straight to the left. Where both are found and together are at most ``corridor``
apart, the place is in a corridor, and the path is on the right of it if the obstacle to the right
is the nearer one. Where the robot has no choice, because it has less than half its own width of
room in all, the place counts for neither side. ``fraction`` of the way through corridors must be
on the wanted side.

Where less than a fifth of the way is in corridors, the straight line from start to goal is what
the path must keep to one side of: each place that lies off that line by more than the tolerance
counts for the side that it lies on.

What this cannot tell: which side of a road with painted lanes it is; a corridor of which a map
knows one wall only; a passing place on the way. On a straight drive through an open hall no side
is told, and the path is not out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import shapely

from sightplan.model import param
from sightplan_suites.paths.driven_lines import default_tolerance
from sightplan_suites.paths.footprints import POINT, Footprint, sampled_poses
from sightplan_suites.paths.limits import RIGHT
from sightplan_suites.paths.maps import FloatArray, ObstacleMap

_PLACES = 200
"""Places along a path."""
_LEAST_IN_CORRIDORS = 0.2
"""Fraction of a path in corridors below which the line from start to goal is looked at."""
_SHARE_OF_MAP = 0.25
"""Greatest width of a corridor, as a fraction of the map's shorter side, if none is given."""


@dataclass(frozen=True, slots=True)
class SideSettings:
    """Settings of keeping to a side."""

    fraction: float = param(0.8, 'fraction of the way that must be on the wanted side', low=0.501,
                            high=1.0)
    corridor: float = param(0.0, 'greatest distance of the walls of a corridor, in the unit of '
                            "the map; 0: a quarter of the map's shorter side", low=0.0,
                            high=1000.0)


@dataclass(frozen=True, slots=True)
class SideKept:
    """Measure of how far a path keeps to a side.

    Attributes:
        fraction: of the way that counts; None where nothing tells a side.
        where: by which rule, in words.
    """

    fraction: float | None
    where: str


def side_of(item: ObstacleMap, line: FloatArray, side: str, footprint: Footprint = POINT,
            settings: SideSettings | None = None) -> SideKept:
    """Measure how far a driven line (M, 2) keeps to ``'right'`` or ``'left'``; see the module."""
    settings = settings or SideSettings()
    box = item.bounds
    width = settings.corridor or _SHARE_OF_MAP * min(box.x_max - box.x_min, box.y_max - box.y_min)
    points, headings, _ = sampled_poses(line, _PLACES)
    normals = np.stack((-np.sin(headings), np.cos(headings)), axis=1)
    left, right = (_free_way(item, points, sign * normals, width) for sign in (1.0, -1.0))
    room = left + right
    inside = room <= width
    if inside.mean() >= _LEAST_IN_CORRIDORS:
        counts = inside & (room - 2 * footprint.inscribed >= footprint.inscribed)
        return _kept(left - right, counts, default_tolerance(item), side, 'through corridors')
    along = line[-1] - line[0]
    length = float(np.hypot(*along))
    if not length:
        return SideKept(None, 'of the line from start to goal')
    away = points - line[0]
    offset = (along[0] * away[:, 1] - along[1] * away[:, 0]) / length
    tolerance = default_tolerance(item)
    return _kept(-offset, abs(offset) > tolerance, 0.0, side,
                 'beside the line from start to goal')


def _kept(to_right: FloatArray, counts: npt.NDArray[np.bool_], tolerance: float, side: str,
          where: str) -> SideKept:
    """The fraction on a side; ``to_right`` is above 0 on the right."""
    if not counts.any():
        return SideKept(None, where)
    signed = to_right if side == RIGHT else -to_right
    return SideKept(float((signed[counts] > tolerance).mean()), where)


def _free_way(item: ObstacleMap, points: FloatArray, ways: FloatArray, reach: float) -> FloatArray:
    """Distance from each point (N, 2) along a unit vector (N, 2) to an obstacle; inf if none."""
    found = np.full(len(points), np.inf)
    if not item.polygons:
        return found
    rays = shapely.linestrings(np.stack((points, points + reach * ways), axis=1))
    ray, obstacle = item.tree.query(rays, predicate='intersects')
    met = shapely.distance(shapely.points(points[ray]),
                           shapely.intersection(rays[ray], item.shapes[obstacle]))
    np.minimum.at(found, ray, met)
    return found
