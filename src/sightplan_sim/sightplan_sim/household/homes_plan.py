"""The floor plan: rooms side by side, and bodies in them that leave each other room.

Every body of the problem has zones before it where nothing may stand, so that a robot can: it
faces the body there, whose doors and drawers have room to move. Zones of several bodies may
overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

from sightplan_sim.household.decor import WALL
from sightplan_sim.household.homes_geometry import (
    Box,
    Rect,
    base_box,
    gap,
    model_box,
    near_limit,
    next_to,
    overlap,
    swept_box,
    to_home,
    within,
)
from sightplan_sim.household.rooms import ROOMS
from sightplan_sim.household.shapes import Model, Placed, Room

SIDES = 'nesw'
"""Walls of a room: north is its high y, east its high x."""
FREE_FRONT = 1.25
"""Depth of the zone in front of a body; more where doors and drawers come far out."""
BEYOND = 0.70
"""Free floor required beyond the reach of opened doors and drawers [m]."""
_SPACING = 0.03
"""Gap between bodies, beyond the distance at which they count as next to each other [m]."""
_TRIES = 70

YAW = {'n': 0.0, 'e': -math.pi / 2, 's': math.pi, 'w': math.pi / 2}


class NoRoomError(Exception):
    """Raised if an item finds no place; another plan may have one."""


@dataclass(frozen=True, eq=False)
class Item:
    """A model that wants a place on the floor or in a wall.

    Attributes:
        name, model, opening: as in Placed.
        spaced: whether it stays so far from others of its kind, as it opens and closes, that
            they never count as next to each other: the problem's objects do.
        how: ``wall``, ``corner``, ``free``, ``any`` (wall or free), or ``in wall``.
        fronted: whether a robot must be able to stand before it.
        closed, swept: boxes in its own frame.
        floor: height of its frame [m].
    """

    name: str
    model: Model
    opening: float = 0.0
    spaced: bool = True
    how: str = 'wall'
    fronted: bool = True
    floor: float = 0.0
    closed: Box = field(init=False)
    swept: Box = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'closed', model_box(self.model))
        object.__setattr__(self, 'swept', swept_box(self.model) if self.spaced
                           else self.closed)

    def front(self) -> Box:
        """The zone before it, in its own frame."""
        out = self.closed.low[1] - self.swept.low[1]
        depth = max(FREE_FRONT, out + BEYOND)
        middle = (self.closed.low[0] + self.closed.high[0]) / 2
        half = max(0.40, (self.closed.high[0] - self.closed.low[0]) / 2)
        return Box((middle - half, self.closed.low[1] - depth, 0.0),
                   (middle + half, self.closed.low[1], 1.0))


@dataclass(frozen=True, eq=False)
class Body:
    """An item at its place.

    Attributes:
        placed: where it is.
        room: index of its room.
        swept: box around all that it sweeps, in the home's frame.
        zones: what must stay free for it.
        spaced: as in Item.
        side: of the room, where it stands at or in a wall; else ''.
    """

    placed: Placed
    room: int
    swept: Box
    zones: tuple[Rect, ...]
    spaced: bool
    side: str = ''


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole in a wall: its range along the wall, and its heights [m]."""

    low: float
    high: float
    bottom: float
    top: float


class Plan:
    """Rooms, and the bodies that were placed in them so far."""

    def __init__(self, rooms: Sequence[Room], rng: Random,
                 beside: Iterable[tuple[str, str]] = ()) -> None:
        self.rooms = tuple(rooms)
        self.rng = rng
        self.bodies: list[Body] = []
        self.holes: dict[tuple[int, str], list[Hole]] = {}
        self._beside = {frozenset(pair) for pair in beside}
        self._partners: dict[str, list[str]] = {}
        for one, other in beside:
            self._partners.setdefault(one, []).append(other)
            self._partners.setdefault(other, []).append(one)

    # --- walls --------------------------------------------------------------------------------

    def neighbour(self, room: int, side: str) -> int | None:
        """Index of the room behind a wall."""
        other = room + {'e': 1, 'w': -1}.get(side, 99)
        return other if 0 <= other < len(self.rooms) else None

    def span(self, room: int, side: str) -> tuple[float, float]:
        """The range of a wall along which a door leads to the neighbour, or else its length."""
        axis = 0 if side in 'ns' else 1
        low, high = self.rooms[room].low[axis], self.rooms[room].high[axis]
        other = self.neighbour(room, side)
        if other is not None:
            low = max(low, self.rooms[other].low[axis])
            high = min(high, self.rooms[other].high[axis])
        return low, high

    def add_hole(self, room: int, side: str, hole: Hole) -> None:
        """Cut a hole into a wall, on both sides of it."""
        self.holes.setdefault((room, side), []).append(hole)
        other = self.neighbour(room, side)
        if other is not None:
            self.holes.setdefault((other, 'w' if side == 'e' else 'e'), []).append(hole)

    def _wall_free(self, room: int, side: str, low: float, high: float) -> bool:
        return all(high + 0.15 < hole.low or hole.high + 0.15 < low
                   for hole in self.holes.get((room, side), ()))

    def at_wall(self, room: int, side: str, along: float, out: float) -> tuple[float, float]:
        """A point ``out`` metres off a wall's inner face (negative: in it)."""
        low, high = self.rooms[room].low, self.rooms[room].high
        return {'n': (along, high[1] - out), 's': (along, low[1] + out),
                'e': (high[0] - out, along), 'w': (low[0] + out, along)}[side]

    def passage(self, room: int, side: str, width: float, height: float) -> None:
        """Cut an opening without a door to the neighbour; both its ends stay free.

        Raises:
            NoRoomError: the rooms share too little wall.
        """
        low, high = self.span(room, side)
        for _ in range(_TRIES):
            start = self.rng.uniform(low + 0.2, high - width - 0.2)
            if start < low + 0.1 or not self._wall_free(room, side, start, start + width):
                continue
            x, _ = self.at_wall(room, side, 0.0, 0.0)
            zone = ((x - 0.75, start, x + 0.75 + WALL, start + width) if side == 'e'
                    else (x - 0.75 - WALL, start, x + 0.75, start + width))
            if any(overlap(zone, body.swept.rect) for body in self.bodies):
                continue
            self.add_hole(room, side, Hole(start, start + width, 0.0, height))
            self._keep_free(zone, room)
            return
        raise NoRoomError('a passage between two rooms')

    def _keep_free(self, zone: Rect, room: int) -> None:
        nothing = Box((-1e6, -1e6, -1e6), (-1e6, -1e6, -1e6))
        marker = Placed('', Model('', (), (0.0, 0.0, 0.0)), (-1e6, -1e6, -1e6))
        self.bodies.append(Body(marker, room, nothing, (zone,), False))

    # --- bodies -------------------------------------------------------------------------------

    def add(self, item: Item, rooms: Sequence[int], tries: int = _TRIES) -> Body:
        """Find a place for an item in one of some rooms.

        Raises:
            NoRoomError: there is none.
        """
        for attempt in range(tries):
            room = rooms[attempt % len(rooms)]
            if item.how == 'in wall':
                body = self._try_in_wall(item, room)
            else:
                body = self._by_partner(item) or self._try_on_floor(item, room)
            if body is not None and self._fits(body, item):
                self.bodies.append(body)
                return body
        raise NoRoomError(item.name)

    def _try_in_wall(self, item: Item, room: int) -> Body | None:
        window = item.floor > 0
        sides = [side for side in SIDES if self.neighbour(room, side) is None or not window]
        side = self.rng.choice(sides)
        low, high = self.span(room, side)
        half = item.model.size[0] / 2
        if high - low < 2 * half + 0.3:
            return None
        along = self.rng.uniform(low + half + 0.12, high - half - 0.12)
        if not self._wall_free(room, side, along - half, along + half):
            return None
        return self._body(item, room, self.at_wall(room, side, along, -WALL / 2), YAW[side], side)

    def _try_on_floor(self, item: Item, room: int) -> Body | None:
        at_wall = item.how in ('wall', 'corner') or (item.how == 'any' and self.rng.random() < 0.5)
        area = self.rooms[room]
        if at_wall:
            side = self.rng.choice(SIDES)
            yaw = YAW[side]
            turned = to_home(item.closed, Placed('', item.model, (0.0, 0.0, 0.0), yaw))
            axis = 0 if side in 'ns' else 1
            low = area.low[axis] - turned.low[axis] + 0.03
            high = area.high[axis] - turned.high[axis] - 0.03
            if low > high:
                return None
            along = self.rng.uniform(low, high)
            if item.how == 'corner':
                along = self.rng.choice((low, high)) + self.rng.uniform(-0.15, 0.15)
                along = min(high, max(low, along))
            out = item.closed.high[1] + 0.02
            return self._body(item, room, self.at_wall(room, side, along, out), yaw, side)
        yaw = self.rng.choice(tuple(YAW.values()))
        if max(item.closed.extents[:2]) < 0.7 and item.name not in self._partners:
            yaw += self.rng.uniform(-0.25, 0.25)
        margin = min(item.closed.extents[:2]) / 2
        if any(area.high[k] - area.low[k] < 2 * margin for k in range(2)):
            return None
        x, y = (self.rng.uniform(area.low[k] + margin, area.high[k] - margin) for k in range(2))
        return self._body(item, room, (x, y), yaw)

    def _by_partner(self, item: Item) -> Body | None:
        """Place right or left of the partner that an item must be next to, if it is placed."""
        partners = self._partners.get(item.name, ())
        for body in self.bodies:
            if body.placed.name in partners and not body.placed.model.in_wall:
                yaw = body.placed.yaw
                own = body.placed
                box = base_box(own.model)
                away = self.rng.uniform(0.01, max(0.02, 0.75 * near_limit(box, item.closed)))
                right = self.rng.random() < 0.5
                dx = (box.high[0] - item.closed.low[0] + away if right
                      else box.low[0] - item.closed.high[0] - away)
                dy = box.low[1] - item.closed.low[1]
                c, s = math.cos(yaw), math.sin(yaw)
                return self._body(item, body.room, (own.position[0] + c * dx - s * dy,
                                                    own.position[1] + s * dx + c * dy), yaw)
        return None

    def _body(self, item: Item, room: int, at: tuple[float, float], yaw: float, side: str = '',
              ) -> Body:
        placed = Placed(item.name, item.model, (at[0], at[1], item.floor), yaw, item.opening)
        zones = []
        if item.fronted:
            zones.append(to_home(item.front(), placed).rect)
            if item.how == 'in wall' and self.neighbour(room, side) is not None:
                low, high = item.closed.low, item.closed.high
                behind = Box((low[0], high[1], 0.0), (high[0], high[1] + 0.8, 1.0))
                zones.append(to_home(behind, placed).rect)
        return Body(placed, room, to_home(item.swept, placed), tuple(zones), item.spaced, side)

    def _fits(self, body: Body, item: Item) -> bool:
        room = self.rooms[body.room]
        area = (*room.low, *room.high)
        margin = -0.2 if item.how == 'in wall' else 0.005
        if not within(body.swept.rect, area, margin):
            return False
        if body.zones and not within(body.zones[0], area, -0.01):
            return False
        if item.how != 'in wall' and not self._clear_of_holes(body):
            return False
        for other in self.bodies:
            if _flat(body) or _flat(other):
                continue
            if frozenset((body.placed.name, other.placed.name)) in self._beside:
                if not next_to(body.placed, other.placed):
                    return False
                continue
            for zone in other.zones:
                if body.swept.low[2] < 1.4 and overlap(body.swept.rect, zone):
                    return False
            for zone in body.zones:
                if other.swept.low[2] < 1.4 and overlap(other.swept.rect, zone):
                    return False
            if not self._apart(body, other):
                return False
        if item.how == 'in wall':
            along = 0 if body.side in 'ns' else 1
            half = item.model.size[0] / 2
            at = body.placed.position[along]
            self.add_hole(body.room, body.side, Hole(
                at - half, at + half, item.floor, item.floor + item.model.size[2]))
        return True

    def _clear_of_holes(self, body: Body) -> bool:
        """Whether it does not stand before a hole in its wall."""
        if not body.side:
            return True
        axis = 0 if body.side in 'ns' else 1
        return all(body.swept.high[axis] < hole.low - 0.05
                   or body.swept.low[axis] > hole.high + 0.05
                   or body.swept.high[2] < hole.bottom - 0.05
                   for hole in self.holes.get((body.room, body.side), ()))

    def _apart(self, body: Body, other: Body) -> bool:
        if body.spaced and other.spaced:
            return gap(body.swept, other.swept) > near_limit(body.swept, other.swept) + _SPACING
        return not body.swept.meets(other.swept, 0.05)


def _flat(body: Body) -> bool:
    """Whether one walks over it."""
    return not body.spaced and -1.0 < body.swept.high[2] < 0.02


def make_rooms(rng: Random, kinds: Sequence[str], scale: float) -> tuple[Room, ...]:
    """Rooms in a row from west to east, of sizes that suit their kinds."""
    rooms: list[Room] = []
    x = 0.0
    for kind in kinds:
        like = ROOMS.kinds[kind]
        w, d = rng.uniform(*like.width) * scale, rng.uniform(*like.depth) * scale
        y = 0.0
        if rooms:
            last = rooms[-1]
            y = rng.uniform(-0.5, 0.5) if rng.random() < 0.7 else 0.0
            y = max(last.low[1] - d + 2.6, min(last.high[1] - 2.6, y))
        rooms.append(Room((x, y), (x + w, y + d), kind))
        x += w + WALL
    return tuple(rooms)
