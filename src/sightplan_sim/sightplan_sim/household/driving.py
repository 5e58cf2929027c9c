"""Drives over a home's floor: several planned paths, and the one of them that is wanted.

The map is the home as it stands: the outline of every solid part between the robot's ankle and its
height, leaves and drawers as they are, and what lies outside of the rooms; the robot is a disc.
Paths are planned on the map in units of the robot's radius, for which the planners' settings are
made, and measured in metres at the poses that the robot takes.

The candidates are what OMPL's ``rrt_connect`` finds for the robot, and for fatter ones as far as
they fit where it begins and ends; and ways that ``find_alternatives`` looks for. Without a wish
the first is taken, what a planner gives to whoever asks once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightplan_sim.household.decor import WALL
from sightplan_sim.household.robot import RobotBody
from sightplan_sim.household.rotations import Floats
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.shapes import Room, Station
from sightplan_sim.household.stations import ANKLE_M
from sightplan_suites.paths import (
    NAMES,
    WAYPOINTS,
    AlternativeSettings,
    Bounds,
    Descriptors,
    ObstacleMap,
    PlannerSettings,
    Point,
    Vector,
    describe_all,
    find_alternatives,
    order_paths,
    plan_path,
    thresholds_on,
)

STEP_M = 0.05
"""Largest distance between the poses along a path [m]."""

_FATTER = (0.35, 0.7, 0.97)
"""OMPL also plans for wider robots, to get other paths; each is a fraction of the width that the
narrower of start and end leaves room for."""
_PLANNER = PlannerSettings(planner='rrt_connect', runs=1, samples=5000, step=3.0)
_WAYS = AlternativeSettings(count=4, tries=8, apart=0.5, spacing=0.5, reach=3.0, min_radius=1.0,
                            max_radius=1.5)
"""Settings for alternative paths, in units of the robot's radius."""
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Drive:
    """A drive of the robot from one station to another.

    Attributes:
        step: of how many legal actions of the episode it came after.
        target: name of what it was sent to.
        poses: along the path that it took, both ends included; () without a path.
        chosen: index of that path; -1 without one.
        descriptors: of all paths that were planned, in metres and degrees.
        reason: why there is no path, one of ``paths.NoPath``; '' where there is one.
    """

    step: int
    target: str
    poses: tuple[Station, ...]
    chosen: int
    descriptors: tuple[Descriptors, ...]
    reason: str = ''

    @property
    def taken(self) -> Descriptors | None:
        """Descriptors of the path that was driven; None without a path."""
        return self.descriptors[self.chosen] if self.descriptors else None

    def to_json(self) -> dict[str, Any]:
        """The drive as JSON data, without the poses."""
        return {'step': self.step, 'target': self.target, 'reason': self.reason,
                'chosen': self.chosen, 'paths': [
                    {name: round(value, _DIGITS) for name, value in zip(
                        NAMES, path.values(), strict=True)} for path in self.descriptors]}


def summarise(drives: Sequence[Drive]) -> dict[str, Any]:
    """Summarise an episode's drives as JSON data.

    Returns:
        ``least_clearance_m`` (None without a drive), ``length_m``, ``without_path`` (how many
        times there was none), and the ``drives``.
    """
    taken = [drive.taken for drive in drives if drive.taken is not None]
    return {'least_clearance_m': round(min(path.minimum_clearance for path in taken), _DIGITS)
            if taken else None,
            'length_m': round(sum(path.path_length for path in taken), _DIGITS),
            'without_path': len(drives) - len(taken),
            'drives': [drive.to_json() for drive in drives]}


def floor_map(scene: Scene, rooms: Sequence[Room], body: RobotBody) -> ObstacleMap:
    """Present obstacles for the robot's base, in metres of the home."""
    rectangles = [*(own for _, own in scene.footprints(ANKLE_M, body.height)), *_outside(rooms)]
    kept = _uncovered(np.array(rectangles))
    low, high = _extent(rooms)
    return ObstacleMap('home', tuple(
        tuple((float(x), float(y)) for x, y in rectangle) for rectangle, keep in zip(
            rectangles, kept, strict=True) if keep), Bounds(*low, *high), 'home')


def drive(item: ObstacleMap, start: Station, end: Station, radius_m: float,
          vector: Vector | None, seed: int, *, step: int = 0, target: str = '') -> Drive:
    """Plan paths from one station to another, and take one.

    The same arguments always give the same drive.

    Args:
        item: the floor, see ``floor_map``.
        start: where the robot stands.
        end: where it is to stand.
        radius_m: of the robot.
        vector: what is wanted of the path, in the order of ``paths.ORDER``; None: nothing.
        seed: of the planners.
        step: see ``Drive``.
        target: see ``Drive``.
    """
    paths, reason = _planned(item, start, end, radius_m, seed)
    if not paths:
        return Drive(step, target, (), -1, (), reason)
    poses = [_poses(path, end) for path in paths]
    described = describe_all(item, [[(at.x, at.y) for at in way] for way in poses],
                             rule=WAYPOINTS)
    chosen = 0 if vector is None else order_paths(described, vector, thresholds_on(item))[0]
    return Drive(step, target, (Station(start.x, start.y, start.yaw), *poses[chosen][1:]),
                 chosen, described)


def _planned(item: ObstacleMap, start: Station, end: Station, radius_m: float, seed: int,
             ) -> tuple[list[Floats], str]:
    """Alternative paths (N, 2) [m], or the reason why there is none."""
    scaled = _scaled(item, 1 / radius_m)
    first, last = ((at.x / radius_m, at.y / radius_m) for at in (start, end))
    room = float(scaled.clearances([first, last]).min())
    found: list[tuple[Point, ...]] = []
    reason = ''
    for run, part in enumerate((0.0, *_FATTER)):
        planned = plan_path(scaled, _PLANNER, seed, run, start=first, goal=last,
                            radius=1.0 + part * max(0.0, room - 1.0))
        if planned.points is not None:
            found.append(planned.points)
        elif not run:
            reason = str(planned.reason)
    if not reason or reason == 'not_found':
        found += [way.points for way in find_alternatives(
            scaled, _WAYS, seed, start=first, goal=last).paths]
    return [np.array(points) * radius_m for points in dict.fromkeys(found)], reason


def _scaled(item: ObstacleMap, factor: float) -> ObstacleMap:
    box = item.bounds
    return ObstacleMap(item.name, tuple(
        tuple((x * factor, y * factor) for x, y in polygon) for polygon in item.polygons),
        Bounds(*(value * factor for value in (box.x_min, box.y_min, box.x_max, box.y_max))))


def _poses(path: Floats, end: Station) -> list[Station]:
    """Stations along a path, turned to where it leads, and the last as it is wanted."""
    poses = []
    for here, there in itertools.pairwise(path):
        way = there - here
        steps = max(1, math.ceil(float(np.hypot(*way)) / STEP_M))
        yaw = math.atan2(way[1], way[0])
        poses += [Station(float(x), float(y), yaw)
                  for x, y in here + way * np.arange(steps)[:, None] / steps]
    return [*poses, end]


def _extent(rooms: Sequence[Room]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Corners of the rectangle around all rooms that ends in the middle of their walls."""
    lows, highs = np.array([room.low for room in rooms]), np.array([room.high for room in rooms])
    low, high = lows.min(axis=0) - WALL / 2, highs.max(axis=0) + WALL / 2
    return (float(low[0]), float(low[1])), (float(high[0]), float(high[1]))


def _outside(rooms: Sequence[Room]) -> list[Floats]:
    """Rectangles north and south of rooms in a row: inside the home's extent, but in no room."""
    (_, south), (_, north) = _extent(rooms)
    found = []
    for room in rooms:
        west, east = room.low[0] - WALL / 2, room.high[0] + WALL / 2
        for low, high in ((south, room.low[1] - WALL / 2), (room.high[1] + WALL / 2, north)):
            if high - low > 1e-6:
                found.append(np.array([(west, low), (east, low), (east, high), (west, high)]))
    return found


def _uncovered(rectangles: Floats) -> list[bool]:
    """For each rectangle (N, 4, 2), whether it lies in no other one.

    The first of several equal rectangles counts as lying in no other one.
    """
    kept: list[bool] = []
    origins = rectangles[:, 0]
    sides = np.stack([rectangles[:, 1] - origins, rectangles[:, 3] - origins], axis=1)
    lengths = np.square(sides).sum(axis=2)
    for number, corners in enumerate(rectangles):
        along = np.einsum('mkj,cj->mck', sides, corners) - np.einsum(
            'mkj,mj->mk', sides, origins)[:, None]
        inside = ((along >= -1e-9) & (along <= lengths[:, None] + 1e-9)).all(axis=(1, 2))
        inside[number] = False
        area = lengths.prod(axis=1)
        same = inside & (area <= area[number] * (1 + 1e-9))
        kept.append(not (inside & ~same).any() and not same[:number].any())
    return kept
