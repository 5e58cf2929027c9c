"""Why a path cannot be driven: obstacles, the border of the map, and the limits that were given.

A path with an exclusion is *out*: it is never the best, whatever speaks for it. Each exclusion
says what is broken, where along the path first (or worst), and by how much.

Obstacles and areas are checked along the path as it was given, exactly, between its points, too. A
disc is checked as it is; of a polygon, the disc that it covers however it turns is checked along
the path as it was given, and the polygon along the driven line (``descriptors.Drive``). A path
that only touches is out, too. Unknown cells of a grid are obstacles, unless the map was made
without them. Limits on clearance hold for the path as it was given, too; limits on length and
turns for the driven line. A limit that is relative to the least value on offer compares with the
paths that neither touch an obstacle nor leave the map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sightplan_suites.paths.areas import Area, check_areas, named_areas
from sightplan_suites.paths.descriptors import WORDS, Descriptors, Drive, turning_angles
from sightplan_suites.paths.footprints import POINT, Footprint, sampled_poses
from sightplan_suites.paths.limits import ABSOLUTE, AT_LEAST, NO_LIMITS, Limit, PathLimits
from sightplan_suites.paths.maps import ROUNDING, FloatArray, ObstacleMap, Point
from sightplan_suites.paths.sides import SideSettings, side_of

OBSTACLE, UNKNOWN_CELLS, BORDER = 'obstacle', 'unknown', 'border'
LIMIT, KEEP_OUT, SIDE = 'limit', 'keep_out', 'side'

_POSES = 2000
"""Poses along a path at which it is looked how far a polygon has no room."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A reason why a path is out.

    Attributes:
        kind: ``OBSTACLE``, ``UNKNOWN_CELLS``, ``BORDER``, ``LIMIT``, ``KEEP_OUT`` or ``SIDE``.
        what: the obstacle (``obstacle 3``), the area, the limit as its option has it, or the side.
        words: the reason as a part of a sentence: what the path does.
        at: where; None where that has no place (a length).
        value: what was measured: how long the path has no room, how far it leaves the map, or the
            value that a limit is about.
        bound: what the limit allows; 0 for obstacles, areas and the border.
    """

    kind: str
    what: str
    words: str
    at: Point | None
    value: float
    bound: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """The exclusion as JSON data."""
        return {'kind': self.kind, 'what': self.what, 'words': self.words,
                'at': None if self.at is None else [round(value, 6) for value in self.at],
                'value': round(self.value, 6), 'bound': round(self.bound, 6)}


def find_exclusions(item: ObstacleMap, drives: Sequence[Drive], descriptors: Sequence[Descriptors],
                    limits: PathLimits = NO_LIMITS, areas: Sequence[Area] = (),
                    footprint: Footprint = POINT, sides: SideSettings | None = None,
                    ) -> tuple[tuple[Exclusion, ...], ...]:
    """Find out which paths cannot be driven, and why.

    Args:
        item: the map.
        drives: of the paths.
        descriptors: of the paths, by the rule ``SWEPT``.
        limits: that must be kept.
        areas: those that limits may name.
        footprint: of the robot.
        sides: how it is decided which side a path keeps to.

    Returns:
        The exclusions of each path; () for one that can be driven.

    Raises:
        InputError: limits name an area that there is not, or an area cannot be used.
    """
    check_areas(areas, 'areas')
    kept_out = [ObstacleMap(area.name, area.polygons, item.bounds)
                for area in named_areas(areas, limits.keep_out)]
    blocked = [[*_border(item, drive, footprint), *_obstacles(item, drive, footprint)]
               for drive in drives]
    least = {limit.name: min((getattr(one, limit.name) for one, found in zip(
        descriptors, blocked, strict=True) if not found), default=0.0) for limit in limits.limits}
    found = []
    for drive, one, first in zip(drives, descriptors, blocked, strict=True):
        broken = [_broken(item, limit, limit.bound(least[limit.name]), drive, one, footprint)
                  for limit in limits.limits if limit.reference == ABSOLUTE or not first]
        found.append((
            *first, *(each for each in broken if each is not None),
            *(each for area in kept_out for each in _area(area, drive, footprint)),
            *_side(item, drive, limits.keep_side, footprint, sides or SideSettings())))
    return tuple(found)


def _border(item: ObstacleMap, drive: Drive, footprint: Footprint) -> list[Exclusion]:
    """Exclusion of a path that leaves the map, at the point farthest outside; empty for others."""
    box, points = item.bounds, drive.path
    low, high = np.array([box.x_min, box.y_min]), np.array([box.x_max, box.y_max])
    over = np.maximum(low + footprint.inscribed - points, points + footprint.inscribed - high)
    if footprint.corners:
        shapes = np.array(footprint.swept(drive.line))
        bounds = shapely.bounds(shapes)
        wide = np.maximum(low - bounds[:, :2], bounds[:, 2:] - high).max(axis=1)
        if wide.max() > max(float(over.max()), ROUNDING):
            at = min(int(np.argmax(wide)), len(drive.line) - 1)
            return [_left(float(wide.max()), drive.line[at])]
    worst = over.max(axis=1)
    if worst.max() <= ROUNDING:
        return []
    return [_left(float(worst.max()), points[int(np.argmax(worst))])]


def _left(by: float, at: FloatArray) -> Exclusion:
    return Exclusion(BORDER, 'the border of the map', f'leaves the map by {by:.3g} at {_at(at)}',
                     _point(at), by)


def _obstacles(item: ObstacleMap, drive: Drive, footprint: Footprint) -> list[Exclusion]:
    touch = None if drive.free else _touch(item, drive, footprint)
    if touch is None:
        return []
    unseen = touch.which >= len(item.polygons) - item.unknown
    what = ('unknown cells' if unseen else
            'an obstacle' if item.cell else f'obstacle {touch.which + 1}')
    more = f' and {touch.others} more' if touch.others and not item.cell else ''
    return [Exclusion(UNKNOWN_CELLS if unseen else OBSTACLE, what,
                      touch.words(f'{what}{more}', 'leads for {:.3g} through'), touch.point,
                      touch.length)]


def _area(area: ObstacleMap, drive: Drive, footprint: Footprint) -> list[Exclusion]:
    touch = _touch(area, drive, footprint)
    if touch is None:
        return []
    return [Exclusion(KEEP_OUT, area.name, touch.words(area.name, 'is for {:.3g} in'),
                      touch.point, touch.length)]


@dataclass(frozen=True, slots=True)
class _Touch:
    """Contact of a robot with obstacles on its way.

    Attributes:
        which: index of the first one.
        at: (2,), a point of the path there.
        length: for how long the path has no room for the robot.
        through: for how long the path itself leads through obstacles.
        near: the nearest that the path itself comes to them.
        needs: distance that the robot needs; 0 for a point, and for a polygon that only its
            corners stick into.
        others: how many more obstacles it touches.
    """

    which: int
    at: FloatArray
    length: float
    through: float
    near: float
    needs: float
    others: int

    @property
    def point(self) -> Point:
        return _point(self.at)

    def words(self, what: str, through: str) -> str:
        """Return in words how the path meets an obstacle or area: crosses, touches or nears it."""
        where = f'{what} at {_at(self.at)}'
        if self.through > ROUNDING:
            return f'{through.format(self.through)} {where}'
        if self.near - self.needs >= -2 * ROUNDING and self.near < math.inf:
            return f'touches {where}'
        if self.needs:
            return (f'comes as near as {self.near:.3g} to {where}, and the robot needs '
                    f'{self.needs:.3g}')
        return f'has for {self.length:.3g} no room for the robot at {where}'


def _touch(item: ObstacleMap, drive: Drive, footprint: Footprint) -> _Touch | None:
    """Contact of a robot with obstacles on its way; None if it touches none."""
    if not item.polygons:
        return None
    reach, path = footprint.inscribed, drive.path
    pieces = shapely.linestrings(np.stack([path[:-1], path[1:]], axis=1))
    moving = (path[1:] != path[:-1]).any(axis=1)
    pieces[~moving] = shapely.points(path[:-1][~moving])
    piece, obstacle = item.tree.query(pieces, predicate='dwithin', distance=reach + ROUNDING)
    if not len(piece):
        return _polygon_touch(item, drive, footprint) if footprint.corners else None
    first, line = int(piece.min()), shapely.linestrings(path)
    met = item.shapes[np.unique(obstacle)]
    which = int(obstacle[piece == first].min())
    room = shapely.union_all(shapely.buffer(met, reach))
    return _Touch(which, _first_met(pieces[first], path[first], item.shapes[which], room),
                  float(shapely.intersection(line, room).length),
                  float(shapely.intersection(line, shapely.union_all(met)).length),
                  float(shapely.distance(line, met).min()), reach, len(met) - 1)


def _polygon_touch(item: ObstacleMap, drive: Drive, footprint: Footprint) -> _Touch | None:
    """Contact of a polygon with obstacles on the driven line; None if there is none."""
    line = drive.line
    piece, obstacle = item.tree.query(np.array(footprint.swept(line)), predicate='intersects')
    if not len(piece):
        return None
    points, headings, along = sampled_poses(line, _POSES)
    placed = shapely.polygons(footprint.placed(points, headings))
    pose, other = item.tree.query(placed, predicate='intersects')
    which, at = int(obstacle[0]), line[min(int(piece[0]), len(line) - 1)]
    if len(pose):
        which, at = int(other[pose == pose.min()].min()), points[pose.min()]
    length = len(np.unique(pose)) * 2 * float(along[0])
    return _Touch(which, at, max(length, 2 * ROUNDING), 0.0, math.inf, 0.0,
                  len(np.unique(obstacle)) - 1)


def _first_met(piece: shapely.Geometry, start: FloatArray, obstacle: shapely.Geometry,
               near: shapely.Geometry) -> FloatArray:
    """The first point of a segment that lies in a shape, or the nearest one to an obstacle."""
    inside = shapely.get_coordinates(shapely.intersection(piece, near))
    if not len(inside):
        inside = shapely.get_coordinates(shapely.shortest_line(piece, obstacle))[:1]
    first: FloatArray = inside[int(np.argmin(((inside - start) ** 2).sum(axis=1)))]
    return first


def _broken(item: ObstacleMap, limit: Limit, bound: float, drive: Drive, one: Descriptors,
            footprint: Footprint) -> Exclusion | None:
    """Exclusion of a path that breaks a limit; None if it keeps it."""
    value = float(getattr(one, limit.name))
    if limit.name == 'minimum_clearance' and item.polygons:
        value = min(value, max(drive.gap, 0.0))
    least = limit.relation == AT_LEAST
    if (value >= bound - ROUNDING) if least else (value <= bound + ROUNDING):
        return None
    at = _place(item, limit.name, drive)
    side = 'at least' if least else 'at most'
    words = (f'has {WORDS[limit.name][0]} {value:.4g}{"" if at is None else f" at {_at(at)}"}, '
             f'{side} {bound:.4g} is {"wanted" if least else "allowed"}')
    return Exclusion(LIMIT, limit.text, words, None if at is None else _point(at), value, bound)


def _place(item: ObstacleMap, name: str, drive: Drive) -> FloatArray | None:
    """Place where a path has the value of a descriptor; None for those of the whole path."""
    if name == 'minimum_clearance' and item.polygons:
        path = drive.path
        nearest = int(np.argmin(item.segment_clearances(path[:-1], path[1:])))
        ends = path[nearest:nearest + 2]
        moves = (ends[0] != ends[1]).any()
        piece = shapely.linestrings(ends) if moves else shapely.points(ends[0])
        other = item.shapes[item.tree.nearest(piece)]
        at: FloatArray = shapely.get_coordinates(shapely.shortest_line(piece, other))[0]
        return at
    if name == 'maximum_angle' and len(drive.line) > 2:
        corner: FloatArray = drive.line[1 + int(np.argmax(turning_angles(drive.line)))]
        return corner
    return None


def _side(item: ObstacleMap, drive: Drive, side: str, footprint: Footprint,
          settings: SideSettings) -> list[Exclusion]:
    if not side:
        return []
    found = side_of(item, drive.line, side, footprint, settings)
    if found.fraction is None or found.fraction >= settings.fraction - ROUNDING:
        return []
    return [Exclusion(SIDE, f'keep {side}', f'keeps to the {side} on {found.fraction:.2f} of its '
                      f'way {found.where}, at least {settings.fraction:g} is wanted', None,
                      found.fraction, settings.fraction)]


def _point(at: FloatArray) -> Point:
    return float(at[0]), float(at[1])


def _at(at: FloatArray) -> str:
    return f'{at[0]:.4g}, {at[1]:.4g}'
