"""Stations of the robot in a home: in front of each object, and at the start."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from random import Random

from sightplan_sim.household.homes_geometry import (
    Box,
    crosses,
    disc_meets,
    placed_box,
    placed_boxes,
    swept_box,
    to_home,
)
from sightplan_sim.household.robot import RobotBody
from sightplan_sim.household.shapes import Placed, Room, Station, Vec3

BODY = RobotBody()
"""The default robot; for others see ``check_view``."""
RADIUS, ARM = BODY.radius, BODY.reach
HALF_VIEW = math.radians(40)
"""Half angle of what is seen well, a little less than half the usual field of view [rad]."""
_CLEARANCE = 0.03
_DISTANCES = (0.7, 0.85, 0.6, 1.0)
_ANGLES = tuple(math.radians(a) for a in (0, 20, -20, 40, -40))


class Floor:
    """Obstacles on a home's floor, and whether places are free and in sight."""

    def __init__(self, rooms: Sequence[Room], placed: Sequence[Placed]) -> None:
        self._rooms = rooms
        self._bodies: list[tuple[str, Box, list[Box]]] = []
        for one in placed:
            around = placed_box(one)
            if around.high[2] > 0.02:
                self._bodies.append((one.name, around, [
                    box for box in placed_boxes(one) if box.high[2] > 0.02]))

    def free(self, x: float, y: float, radius: float, also: Box | None = None) -> bool:
        """Whether a robot stands free there, and out of the way of one more box."""
        if not any(room.low[0] + radius <= x <= room.high[0] - radius
                   and room.low[1] + radius <= y <= room.high[1] - radius
                   for room in self._rooms):
            return False
        if also is not None and disc_meets(x, y, radius, also.rect):
            return False
        return not any(
            disc_meets(x, y, radius, around.rect) and any(
                box.low[2] < BODY.height and disc_meets(x, y, radius, box.rect) for box in boxes)
            for _, around, boxes in self._bodies)

    def sees(self, start: Vec3, end: Vec3, ignore: Sequence[str]) -> bool:
        """Whether nothing but ignored bodies lies between two points."""
        return not any(
            name not in ignore and crosses(start, end, around)
            and any(crosses(start, end, box) for box in boxes)
            for name, around, boxes in self._bodies)


def holders(bodies: dict[str, Placed], name: str) -> list[str]:
    """Chain of objects that hold a thing: what it is in or on, then what that is in or on, ..."""
    found = []
    while bodies.get(name) is not None:
        name = bodies[name].inside or bodies[name].ontop
        if not name:
            break
        found.append(name)
    return found


def approaches(bodies: dict[str, Placed], floor: Floor, name: str) -> Iterator[Station]:
    """Stations from which an object can be seen and reached, 0.6 m to 1 m away and facing it.

    A thing in a closed container is approached as the container; where doors and drawers move, no
    robot stands.

    Args:
        bodies: all bodies by name.
        floor: what is in the way.
        name: of the object.
    """
    above = holders(bodies, name)
    inside = bodies[name].inside
    if inside:
        name = inside
    target = bodies[name]
    fixed = bodies[above[-1]] if above and above[-1] in bodies else target
    box = placed_box(target)
    x, y, z = box.centre
    forward = (math.sin(fixed.yaw), -math.cos(fixed.yaw))
    sweep = (to_home(swept_box(target.model), target) if target.model.openable else None)
    carried = [other for other in bodies if name in holders(bodies, other)]
    ignore = (name, *holders(bodies, name), *above, *carried)
    if target is fixed and not target.model.mass:  # furniture: from its front
        own = to_home(swept_box(target.model), target) if target.model.openable else box
        closed = placed_box(Placed(name, target.model, target.position, target.yaw))
        half = (closed.extents[1] if abs(forward[1]) > 0.7 else closed.extents[0]) / 2
        x, y, z = closed.centre
        x, y = x + forward[0] * half, y + forward[1] * half
        ways: tuple[float, ...] = _ANGLES
        out = abs(forward[0]) * (own.extents[0] - closed.extents[0]) + abs(forward[1]) * (
            own.extents[1] - closed.extents[1])
        distances = [*_DISTANCES, out + RADIUS + 0.05]
    else:
        ways = tuple(k * math.pi / 6 for k in range(12))
        distances = list(_DISTANCES)
    for distance in distances:
        for way in ways:
            c, s = math.cos(way), math.sin(way)
            dx, dy = forward[0] * c - forward[1] * s, forward[0] * s + forward[1] * c
            sx, sy = x + dx * distance, y + dy * distance
            if (floor.free(sx, sy, RADIUS + _CLEARANCE, sweep)
                    and floor.sees((sx, sy, BODY.camera_height), (x, y, z), ignore)):
                yield Station(sx, sy, math.atan2(-dy, -dx))


def find_start(rng: Random, bodies: dict[str, Placed], floor: Floor, rooms: Sequence[Room],
               names: Sequence[str]) -> Station | None:
    """Find a start for the robot: nothing is in reach, and several objects are in view.

    Returns:
        The best of a number of places; None if nothing in view is out of reach anywhere.
    """
    boxes = {name: placed_box(bodies[name]) for name in names}
    best: tuple[float, Station] | None = None
    for attempt in range(90):
        room = rng.choice(rooms)
        x = rng.uniform(room.low[0] + 0.4, room.high[0] - 0.4)
        y = rng.uniform(room.low[1] + 0.4, room.high[1] - 0.4)
        if not floor.free(x, y, RADIUS + 0.10):
            continue
        near = [name for name, box in boxes.items() if reach_distance(x, y, box) < ARM + 0.15]
        bearings = {name: math.atan2(box.centre[1] - y, box.centre[0] - x)
                    for name, box in boxes.items() if name not in near}
        seen = [name for name in bearings
                if math.hypot(boxes[name].centre[0] - x, boxes[name].centre[1] - y) < 6.0
                and not _shut_in(bodies, name)
                and floor.sees((x, y, BODY.camera_height), boxes[name].centre,
                               (name, *holders(bodies, name)))]
        away = {name: math.hypot(boxes[name].centre[0] - x, boxes[name].centre[1] - y)
                for name in bearings}
        ways = [bearings[name] for name in seen or list(bearings)[:1]]
        ways += [one + ((other - one + math.pi) % (2 * math.pi) - math.pi) / 2
                 for one, other in itertools.combinations(ways, 2)
                 if _off(one, other) < 2 * HALF_VIEW]
        for yaw in ways:
            if any(_off(yaw, math.atan2(boxes[n].centre[1] - y, boxes[n].centre[0] - x))
                   < math.radians(75) for n in near):
                continue
            score = sum(min(1.0, 2.5 / away[n]) for n in seen
                        if _off(yaw, bearings[n]) < HALF_VIEW)
            score += 0.3 * rng.random()
            if best is not None and score <= best[0]:
                continue
            score -= 0.5 * _blocked(floor, x, y, yaw)
            if best is None or score > best[0]:
                best = (score, Station(x, y, yaw))
        if best is not None and attempt > 30 and best[0] >= min(4, len(names)):
            break
    return None if best is None else best[1]


def _blocked(floor: Floor, x: float, y: float, yaw: float) -> int:
    """Number (0 to 3) of points ahead that something near hides."""
    ahead = [(x + 1.7 * math.cos(yaw + turn), y + 1.7 * math.sin(yaw + turn), 0.35)
             for turn in (-0.5, 0.0, 0.5)]
    return sum(not floor.sees((x, y, BODY.camera_height), point, ()) for point in ahead)


def reach_distance(x: float, y: float, box: Box) -> float:
    """Distance from the robot's shoulder to the nearest face centre of a box [m]."""
    (cx, cy, cz), (w, d, h) = box.centre, box.extents
    return min(math.dist((x, y, BODY.shoulder_height), face) for face in (
        (cx - w / 2, cy, cz), (cx + w / 2, cy, cz), (cx, cy - d / 2, cz), (cx, cy + d / 2, cz),
        (cx, cy, cz - h / 2), (cx, cy, cz + h / 2)))


def _off(one: float, other: float) -> float:
    return abs((one - other + math.pi) % (2 * math.pi) - math.pi)


def _shut_in(bodies: dict[str, Placed], name: str) -> bool:
    inside = bodies[name].inside
    return bool(inside) and bodies[inside].opening <= 0.05
