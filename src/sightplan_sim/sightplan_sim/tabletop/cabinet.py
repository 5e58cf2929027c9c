"""A cabinet with two drawers, one above the other, that an arm opens by their handles.

The handles are on different sides, so that a hand of 20 cm finds room around the lower one. The
cabinet is so heavy that it stays where it is. A drawer slides along a line, held by friction:
whoever wants it open has to pull, and to push if it shall be closed. Its front faces -y, as that
of a chest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.shapes import Box, Part, Rgb, Room, Slide, Thing, Tube, Vec3
from sightplan_sim.tabletop.thing_parts import DARK, STEEL, WHITE, finished, mixed, part, tinted

CABINET = 'cabinet'
DRAWERS = ('drawer 1', 'drawer 2')
"""Names of the parts: the upper drawer and the lower one."""
HANDLES = ('handle 1', 'handle 2')
"""Names of their handles."""
FRICTION_N = 2.0
"""Force that moves a drawer [N]."""
TRAVEL = 0.75
"""Length of a drawer's way, as a fraction of the cabinet's depth."""
HAND_M = 0.11
"""Room that an arm needs in front of a drawer that is fully open."""

_BRASS: Rgb = (0.80, 0.66, 0.30)
_WALL_M, _FRONT_M, _SIDE_M, _FLOOR_M = 0.008, 0.012, 0.005, 0.004
_PLAY_M = 0.003
_PLINTH_M = 0.009  # height of the lower edge of the lower front: fronts do not rub on the table
_BODY_KG = 20.0
_BAR_M = 0.005  # half the thickness of a handle's bar


def cabinet(draw: Draw, colour: str) -> Thing:
    """Two drawers that slide out at the front; each has an upright bar for a handle."""
    rgb = draw.shade(colour)
    x, y = draw.span('width', 0.200, 0.240), draw.span('depth', 0.165, 0.190)
    h, t = draw.span('height', 0.152, 0.168), _WALL_M
    frame = [Box((x, y, t), (0.0, 0.0, z)) for z in (t / 2, h / 2, h - t / 2)]
    frame += [Box((t, y, h), (side * (x - t) / 2, 0.0, h / 2)) for side in (-1, 1)]
    frame.append(Box((x - 2 * t, t, h - 2 * t), (0.0, (y - t) / 2, h / 2)))
    reach = draw.span('handle', 0.034, 0.040)
    half = draw.span('bar', 0.016, 0.020)
    pull_rgb = draw.pick((STEEL, DARK, _BRASS))
    front_rgb = mixed(rgb, WHITE, draw.span('front', 0.10, 0.45))
    slide = Slide((0.0, -1.0, 0.0), TRAVEL * y, FRICTION_N)
    parts = [Part('body', rgb, tuple(frame), tuple(frame), _BODY_KG)]
    aside = draw.span('aside', 0.057, 0.064) * draw.pick((-1.0, 1.0))
    for room, handle, middle, side in zip(_rooms((x, y, h)), HANDLES, (0.75 * h, 0.25 * h),
                                          (aside, -aside), strict=True):
        # PyBullet numbers links so that those of a branch follow one another.
        boxes = _drawer((x, y, h), middle)
        parts += [
            Part(room.part, front_rgb, boxes, boxes, 0.30, slide=slide),
            part(handle, pull_rgb, _bow(side, -y / 2 - _FRONT_M, middle, reach, half), 0.02,
                 parent=room.part),
            part('inside', tinted(front_rgb, 0.8), Box(
                (2 * room.room.half_x, 2 * room.room.half_y, 0.001),
                (*room.centre_m, room.room.floor)), parent=room.part)]
    return finished(draw, CABINET, colour, parts)


def _drawer(size: Vec3, middle: float) -> tuple[Box, ...]:
    """Front, floor and walls of a drawer whose front is centred at a height."""
    x, y, h = size
    t, tall = _WALL_M, h / 2 - 1.5 * _WALL_M
    wide, long = x - 2 * t - 2 * _PLAY_M, y - t - _PLAY_M
    low = middle - h / 4 + (t if middle < h / 2 else t / 2) + _PLAY_M
    wall, back = 0.62 * tall, y / 2 - t - _PLAY_M
    top, bottom = middle + h / 4 - 0.002, max(middle - h / 4 + 0.002, _PLINTH_M)
    return (
        Box((x - 0.002, _FRONT_M, top - bottom),
            (0.0, -y / 2 - _FRONT_M / 2 - 0.001, (top + bottom) / 2)),
        Box((wide, long, _FLOOR_M), (0.0, back - long / 2, low + _FLOOR_M / 2)),
        *(Box((_SIDE_M, long, wall), (side * (wide - _SIDE_M) / 2, back - long / 2,
                                      low + wall / 2)) for side in (-1, 1)),
        Box((wide, _SIDE_M, wall), (0.0, back - _SIDE_M / 2, low + wall / 2)))


def _bow(side: float, front: float, middle: float, reach: float, half: float) -> Tube:
    """An upright bar in front of a drawer, bent back to its front at both ends."""
    out, bend = front - reach, 0.007
    path = tuple((side, y, middle + z) for y, z in (
        (front + 0.002, half), (out + bend, half), (out, half - bend), (out, bend - half),
        (out + bend, -half), (front + 0.002, -half)))
    return Tube(path, (_BAR_M,) * len(path), (1.0, 0.0, 0.0), 1.2)


@dataclass(frozen=True, slots=True)
class DrawerRoom:
    """Space of a drawer for things.

    Attributes:
        part: name of the drawer.
        centre_m: (x, y) of its floor's middle in the cabinet's frame while it is closed.
        room: its floor; the height is that of its upper face.
        height_m: what is higher than this does not fit under what is above the drawer.
        slide: how it moves.
        front_m: y of the cabinet's front, behind which the floor is covered.
    """

    part: str
    centre_m: tuple[float, float]
    room: Room
    height_m: float
    slide: Slide
    front_m: float

    def uncovered(self, out: float) -> tuple[tuple[float, float], Room]:
        """The part of the floor that is seen from above, with the drawer fully open.

        Args:
            out: as much of it as if the drawer were open by this part of its way.

        Returns:
            (x, y) of its middle in the cabinet's frame while the drawer is fully open; the part.
        """
        x, y = (at + way * self.slide.upper for at, way in zip(
            self.centre_m, self.slide.axis[:2], strict=True))
        rear = min(y + self.room.half_y, self.front_m - (1.0 - out) * self.slide.upper)
        half = (rear - (y - self.room.half_y)) / 2
        return (x, rear - half), replace(self.room, half_y=half)


def drawer_rooms(thing: Thing) -> tuple[DrawerRoom, ...]:
    """The rooms of a cabinet's drawers, the upper one first.

    Raises:
        ValueError: it is no cabinet.
    """
    if thing.category != CABINET:
        raise ValueError(f'a {thing.category} has no drawers of a cabinet')
    frame = [box for box in thing.parts[0].seen if isinstance(box, Box)]
    return _rooms((frame[0].size[0], frame[0].size[1], frame[3].size[2]))


def _rooms(size: Vec3) -> tuple[DrawerRoom, ...]:
    _, y, h = size
    slide = Slide((0.0, -1.0, 0.0), TRAVEL * y, FRICTION_N)
    rooms = []
    for name, middle in zip(DRAWERS, (0.75 * h, 0.25 * h), strict=True):
        _, floor, side, _, back = _drawer(size, middle)
        half_x = side.size[0] / -2 + abs(side.at[0])
        rear, front = back.at[1] - back.size[1] / 2, -y / 2 - 0.001
        top = middle + h / 4 - (_WALL_M if middle > h / 2 else _WALL_M / 2)
        low = floor.at[2] + floor.size[2] / 2
        rooms.append(DrawerRoom(name, (0.0, (rear + front) / 2), Room(
            half_x, (rear - front) / 2, low, round=False), top - low - _PLAY_M, slide, -y / 2))
    return tuple(rooms)


def swept(thing: Thing) -> Floats:
    """Outline (4, 2) from above of what must be free for its drawers, in the cabinet's frame.

    That is the cabinet, its drawers when they are open, and the hand in front of them.
    """
    frame = [box for box in thing.parts[0].seen if isinstance(box, Box)]
    x, y = frame[0].size[0] / 2, frame[0].size[1] / 2
    front = -y - TRAVEL * 2 * y - HAND_M
    return np.array([(-x, front), (x, front), (x, y), (-x, y)])
