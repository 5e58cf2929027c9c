"""Footprint of a robot on the floor: a disc, or a polygon that turns with the robot."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np
import shapely

from sightplan.model import InputError
from sightplan_suites.paths.maps import FloatArray, Point

_TURN_DEG = 5.0
"""Largest step in which a polygon that turns on the spot is followed [deg]."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The outline of a robot, in the unit of the map.

    Attributes:
        radius: of a disc around the point that follows the path; 0 with corners, or for a point.
        corners: of a polygon that turns with the robot: x ahead, y to its left, the origin is the
            point that follows the path. Its convex hull counts. (): a disc.
    """

    radius: float = 0.0
    corners: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InputError: the radius is no finite number from 0 on, the polygon has fewer than three
                corners or no area, or there are both.
        """
        if not (math.isfinite(self.radius) and self.radius >= 0):
            raise InputError(f'radius {self.radius} (give a finite number from 0 on)')
        if not self.corners:
            return
        if self.radius:
            raise InputError('footprint: radius and polygon are given (give one of them)')
        if not all(len(corner) == 2 and all(map(math.isfinite, corner))
                   for corner in self.corners):
            raise InputError('footprint: a corner is no pair of finite numbers x, y')
        if len(self.corners) < 3 or not shapely.MultiPoint(self.corners).convex_hull.area:
            raise InputError(f'footprint: {len(self.corners)} corners without an area (give three '
                             'or more, around the robot)')
        if self.inscribed <= 0:
            raise InputError('footprint: the origin, which follows the path, lies outside of the '
                             'polygon (give corners around it)')

    @property
    def inscribed(self) -> float:
        """Radius of the largest disc around the origin that the robot covers however it turns."""
        if not self.corners:
            return self.radius
        hull = self._hull()
        return float(hull.exterior.distance(shapely.Point(0, 0))) if hull.covers(
            shapely.Point(0, 0)) else 0.0

    @property
    def circumscribed(self) -> float:
        """Radius of the smallest disc around the origin that covers the robot."""
        return max((math.hypot(*corner) for corner in self.corners), default=self.radius)

    def _hull(self) -> shapely.Polygon:
        return shapely.MultiPoint(self.corners).convex_hull

    def placed(self, points: FloatArray, headings: FloatArray) -> FloatArray:
        """Corners of the polygon at poses: (N, K, 2) for points (N, 2) and headings (N,) [rad]."""
        x, y = np.array(self.corners).T
        cos, sin = np.cos(headings)[:, None], np.sin(headings)[:, None]
        turned = np.stack((cos * x - sin * y, sin * x + cos * y), axis=-1)
        found: FloatArray = points[:, None] + turned
        return found

    def swept(self, line: FloatArray) -> list[shapely.Geometry]:
        """Area that a polygon covers along a line: a shape for each segment and each turn.

        It looks ahead on every segment and turns on the spot at the corners, the shorter way. What
        it covers while it turns is followed in steps of 5 degrees, and is too large by a
        thousandth of the robot's radius at most.

        Args:
            line: (M, 2), two different corners or more.
        """
        headings = _headings(line)
        starts, ends = self.placed(line[:-1], headings), self.placed(line[1:], headings)
        shapes = list(shapely.convex_hull(shapely.multipoints(
            np.concatenate((starts, ends), axis=1))))
        for corner, here, there in zip(line[1:-1], headings[:-1], headings[1:], strict=True):
            turn = math.remainder(there - here, 2 * math.pi)
            steps = max(1, math.ceil(abs(math.degrees(turn)) / _TURN_DEG))
            at = here + turn * np.arange(steps + 1) / steps
            placed = self.placed(np.repeat(corner[None], steps + 1, axis=0), at)
            bulge = self.circumscribed * (1 - math.cos(abs(turn) / steps / 2))
            pairs = shapely.convex_hull(shapely.multipoints(
                np.concatenate((placed[:-1], placed[1:]), axis=1)))
            shapes += list(shapely.buffer(pairs, bulge))
        return shapes

    def to_json(self) -> dict[str, object]:
        """The footprint as JSON data."""
        return {'radius': self.radius, 'corners': [list(corner) for corner in self.corners]}


POINT = Footprint()
"""A robot without extent."""


def footprint_from_text(text: str) -> Footprint:
    """A footprint from a radius, ``0.3``, or from corners as Nav2 has them, ``[[0.3, 0.2], ...]``.

    Raises:
        InputError: it is neither, or cannot be a footprint.
    """
    try:
        data = json.loads(text)
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            return Footprint(float(data))
        return Footprint(corners=tuple((float(x), float(y)) for x, y in data))
    except (ValueError, TypeError, RecursionError):
        raise InputError(f'footprint {text[:80]!r} (give a radius, or corners [[x, y], ...])'
                         ) from None


def _headings(line: FloatArray) -> FloatArray:
    steps = np.diff(line, axis=0)
    return np.arctan2(steps[:, 1], steps[:, 0])


def sampled_poses(line: FloatArray, count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Poses at even distances along a line, each in the middle of its piece.

    Args:
        line: (M, 2), two different corners or more, no repeats.
        count: pieces.

    Returns:
        (count, 2) points; (count,) headings [rad]; (count,) distances along the line.
    """
    steps = np.diff(line, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    ends = np.cumsum(lengths)
    at = (np.arange(count) + 0.5) / count * ends[-1]
    which = np.minimum(np.searchsorted(ends, at), len(lengths) - 1)
    part = (at - (ends - lengths)[which]) / lengths[which]
    return line[which] + part[:, None] * steps[which], _headings(line)[which], at
