"""The thing or hand that holds each thing, and how far drawers are open, from true poses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import cv2
import numpy as np

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.cabinet import CABINET, drawer_rooms
from sightplan_sim.tabletop.meshes import hulls_of
from sightplan_sim.tabletop.shapes import Room, Thing

TABLE, HAND = 'table', 'hand'
IN, ON = 'in', 'on'
FLAT = ('plate', 'tray')
"""Categories that hold things on them rather than in them."""
_SLACK_M = 0.012
_NEAR_M = 0.02  # largest gap between a thing and the top on which it stands


@dataclass(frozen=True, slots=True)
class Holder:
    """Relation of a thing to the body that it is in or on.

    Attributes:
        relation: ``in`` or ``on``.
        name: of the other thing, ``table`` or ``hand``.
        part: of the other thing, such as a drawer; '' for the whole.
    """

    relation: str
    name: str
    part: str = ''


def opened(things: Mapping[str, Thing], slides: Mapping[str, tuple[float, ...]],
           ) -> dict[tuple[str, str], float]:
    """Opening of each sliding part, as a fraction of its way.

    Args:
        things: by name.
        slides: positions of the joints of each thing's parts but the first [m].

    Returns:
        by the thing's name and the part's.
    """
    return {(name, part.name): position / part.slide.upper
            for name, positions in slides.items()
            for part, position in zip(things[name].parts[1:], positions, strict=True)
            if part.slide}


def holders(things: Mapping[str, Thing], places: Mapping[str, tuple[Floats, Floats]],
            slides: Mapping[str, tuple[float, ...]], held: Collection[str] = (),
            ) -> dict[str, Holder]:
    """Holder of each thing.

    A thing is in or on another whose room its middle is over, seen from above, if it is low
    enough; else on what its middle is over and whose top it stands on, else on the table.

    Args:
        things: by name.
        places: origin (3,) and rotation (3, 3) of each.
        slides: see ``opened``.
        held: names of those in the hand.
    """
    boxes = {name: _points(thing) @ places[name][1].T + places[name][0]
             for name, thing in things.items()}
    found = {}
    for name, points in boxes.items():
        if name in held:
            found[name] = Holder(IN, HAND)
            continue
        middle = (points.min(axis=0) + points.max(axis=0)) / 2
        low = float(points[:, 2].min())
        others = [other for other in things if other != name and other not in held]
        found[name] = next((holder for other in others if (holder := _holder(
            other, things[other], places[other], slides.get(other, ()), middle, low)) is not None),
            None) or next((Holder(ON, other) for other in others if _stands_on(
                boxes[other], middle, low)), Holder(ON, TABLE))
    return found


def _points(thing: Thing) -> Floats:
    return np.concatenate([hull for part in thing.parts for hull in hulls_of(part.solid)])


def _holder(name: str, thing: Thing, place: tuple[Floats, Floats], positions: tuple[float, ...],
            middle: Floats, low: float) -> Holder | None:
    """Relation of a thing to one that has its middle and lowest point there.

    None if that thing is neither in nor on this one.
    """
    at, turn = place
    local = turn.T @ (middle - at)
    if thing.category == CABINET:
        parts = [part.name for part in thing.parts[1:]]
        for drawer in drawer_rooms(thing):
            out = positions[parts.index(drawer.part)] if positions else 0.0
            centre = np.array(drawer.centre_m) + out * np.array(drawer.slide.axis[:2])
            over_floor = low - float(at[2]) - drawer.room.floor
            if (_over(drawer.room, local[:2] - centre)
                    and -_SLACK_M < over_floor < drawer.height_m - _SLACK_M):
                return Holder(IN, name, drawer.part)
        return None
    room = thing.room
    if room is None or not _over(room, local[:2]):
        return None
    if not room.floor - _SLACK_M < low - at[2] < max(thing.size[2], room.floor + _NEAR_M):
        return None
    return Holder(ON if thing.category in FLAT else IN, name)


def _over(room: Room, off: Floats) -> bool:
    half = np.array([room.half_x, room.half_y])
    if room.round:
        return bool(np.hypot(*(off / half)) < 1.15)
    return bool((np.abs(off) < half + 0.005).all())


def _stands_on(points: Floats, middle: Floats, low: float) -> bool:
    top = float(points[:, 2].max())
    if not -_SLACK_M < low - top < _NEAR_M:
        return False
    outline = cv2.convexHull(points[:, :2].astype(np.float32))
    return cv2.pointPolygonTest(outline, (float(middle[0]), float(middle[1])), False) >= 0
