"""Whether a hand can put things into a destination side by side, and where each may stand then.

A drawer takes up what fits into the part of its floor that is not under the cabinet any more, for
a hand comes from above.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

from sightplan_sim.tabletop.cabinet import CABINET, drawer_rooms
from sightplan_sim.tabletop.shapes import Room, Thing
from sightplan_sim.tabletop.table import footprint

APART_M = 0.026
"""Gap between things in rows: room for a finger that is 18 mm thick and opens [m]. In a ring each
thing has free sides, and half of that is enough."""
EDGE_M = 0.008
"""Gap between things and walls: cameras and hands err by some millimetres [m]."""
DRAWN_OUT = 0.9
"""Smallest opening of a drawer while something is put in, as a fraction of its way."""
_MOUTH = 0.92
_PLATE = 0.86
"""Parts of the radius of a bowl and of a plate that things may take up."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a destination that is free for a thing.

    Attributes:
        thing: its name.
        destination: name of the thing or drawer.
        at_m: (x, y, z) in the frame of the destination's thing: where the middle of the thing's
            outline comes to, and the height of the floor there. Of a drawer, while it is open.
        yaw: of the thing in that frame; what is round may stand in any.
    """

    thing: str
    destination: str
    at_m: tuple[float, float, float]
    yaw: float


@dataclass(frozen=True, slots=True)
class Destination:
    """A thing or drawer into or onto which things can be put.

    Attributes:
        name: of the thing, or of the drawer.
        kind: category of the thing, or ``drawer``.
        thing: what it is, or is a part of.
        part: name of the part of a drawer; '' for a whole thing.
    """

    name: str
    kind: str
    thing: Thing
    part: str = ''


def destinations_of(name: str, thing: Thing) -> list[Destination]:
    """Destinations that a thing offers: its drawers, its own room, or none."""
    if thing.category == CABINET:
        return [Destination(room.part, 'drawer', thing, room.part)
                for room in drawer_rooms(thing)]
    return [Destination(name, thing.category, thing)] if thing.room is not None else []


def spots(destination: Destination, things: Sequence[tuple[str, Thing]]) -> list[Spot] | None:
    """Spots for some things side by side; None if they do not fit.

    Args:
        destination: what takes them.
        things: with their names.
    """
    thing = destination.thing
    middle, height = (0.0, 0.0), math.inf
    if destination.part:
        drawer = next(one for one in drawer_rooms(thing) if one.part == destination.part)
        middle, room = drawer.uncovered(DRAWN_OUT)
        height = drawer.height_m
    else:
        assert thing.room is not None
        room = thing.room
    if not room.round:
        room = dataclasses.replace(room, half_x=room.half_x - EDGE_M, half_y=room.half_y - EDGE_M)
    if any(one.size[2] > height for _, one in things):
        return None
    places = _in_circle(destination, room, things) if room.round else _in_rectangle(room, things)
    if places is None:
        return None
    return [Spot(name, destination.name, (middle[0] + x, middle[1] + y, room.floor), yaw)
            for (name, _), (x, y, yaw) in zip(things, places, strict=True)]


def _in_circle(destination: Destination, room: Room, things: Sequence[tuple[str, Thing]],
               ) -> list[tuple[float, float, float]] | None:
    """Places of things around the middle of a round destination."""
    reach = min(destination.thing.size[:2]) / 2 * (_PLATE if destination.kind == 'plate'
                                                   else _MOUTH)
    half = max(math.hypot(*_sides(one)) / 2 if _long(one) else max(_sides(one)) / 2
               for _, one in things)
    count = len(things)
    ring = 0.0 if count == 1 else (half + APART_M / 4) / math.sin(math.pi / count)
    if ring + half > reach or count > 4:
        return None
    angles = [2 * math.pi * k / count for k in range(count)]
    return [(ring * math.cos(a), ring * math.sin(a), 0.0) for a in angles]


def _in_rectangle(room: Room, things: Sequence[tuple[str, Thing]],
                  ) -> list[tuple[float, float, float]] | None:
    """Places of things in rows along x: the deepest first, each row as deep as its first thing."""
    wide, deep = 2 * room.half_x, 2 * room.half_y
    places: dict[int, tuple[float, float, float]] = {}
    boxes = []
    for k, (_, thing) in enumerate(things):
        x, y = _sides(thing)
        turned = x < y
        boxes.append((min(x, y), max(x, y), k, turned))
    row_at, row_deep, at = 0.0, 0.0, 0.0
    for y, x, k, turned in sorted(boxes, reverse=True):
        if x > wide or y > deep:
            return None
        if at + x > wide:
            row_at, row_deep, at = row_at + row_deep + APART_M, 0.0, 0.0
        row_deep = max(row_deep, y)
        if row_at + y > deep:
            return None
        places[k] = (at + x / 2 - room.half_x, row_at + y / 2 - room.half_y,
                     math.pi / 2 if turned else 0.0)
        at += x + APART_M
    return [places[k] for k in range(len(things))]


def _sides(thing: Thing) -> tuple[float, float]:
    """Extents of a thing's outline from above."""
    outline = footprint(thing)
    x, y = (float(v) for v in outline.max(axis=0) - outline.min(axis=0))
    return x, y


def _long(thing: Thing) -> bool:
    x, y = _sides(thing)
    return max(x, y) > 1.5 * min(x, y)
