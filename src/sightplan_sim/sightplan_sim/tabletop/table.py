"""Tables with things on them, drawn by seed; nothing is rendered here."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.catalogue import CATEGORIES, colours_of, make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.look import Look, sample_look
from sightplan_sim.tabletop.meshes import mesh_of
from sightplan_sim.tabletop.shapes import Placed, Pose, Thing

FEWEST, MOST = 6, 12
"""Smallest and largest number of things on a table."""
HALF_M = (0.34, 0.25)
"""Half the area of the table that things stand on (x, y)."""
GAP_M = 0.022
"""Smallest distance between two things [m]."""
CELL_M = 0.005
_TRIES = 60
_LARGE = 0.024
"""Footprint from which a thing is large [m2]."""
MOST_LARGE = 3
SIZE_RATIO = 1.25
"""A thing is called larger than one of its kind from this ratio of their sizes on."""
_FACING = ('box', 'drawer box')
"""Categories with a front, which is turned towards the camera."""
_FACING_RAD = 0.6
_SIZED = ('bowl', 'plate', 'box', 'bottle', 'can', 'ball', 'cup', 'book')
"""Categories whose sizes vary enough to distinguish two things of one colour."""


@dataclass(frozen=True, slots=True)
class Table:
    """Things on a table, and their appearance.

    The table's frame: its top is z = 0, x to the right and y away from the nominal camera; a
    Panda with its base at (0, 0.5, 0), turned to -y, reaches everything.

    Attributes:
        seed: it was drawn from.
        held_out: whether its things are those that are not trained on.
        things: with unique names.
        look: camera, light, surface.
    """

    seed: int
    held_out: bool
    things: tuple[Placed, ...]
    look: Look

    @property
    def id(self) -> str:
        """Unique, such as ``tabletop/held_out/7``."""
        return f'tabletop/{"held_out" if self.held_out else "training"}/{self.seed}'

    def named(self, name: str) -> Placed:
        """The thing of a name.

        Raises:
            KeyError: there is none.
        """
        for placed in self.things:
            if placed.name == name:
                return placed
        raise KeyError(name)


def sample_table(seed: int, held_out: bool) -> Table:
    """Draw a table.

    Args:
        seed: any number from 0; one seed always gives the same table.
        held_out: whether shapes, shades and pairs of category and colour are those that no
            training scene has, or those for training.
    """
    rng = np.random.default_rng([seed, int(held_out), 717])
    draw = Draw(rng, held_out)
    count = int(rng.integers(FEWEST, MOST + 1))
    placing = _Placing(rng)
    for thing in sorted(_choose(draw, count), key=footprint_area, reverse=True):
        placing.add(thing)
    while len(placing.placed) < FEWEST:
        placing.add(_one(draw, 'can'))
    things = _named(placing.placed)
    return Table(seed, held_out, things, sample_look(rng, outline_points(things)))


def outline_points(things: Sequence[Placed]) -> Floats:
    """(N, 3) points of the table's frame around all things."""
    points = []
    for placed in things:
        low = placed.pose.position[2]
        ground = footprint_of(placed)
        points += [np.column_stack([ground, np.full(len(ground), z)])
                   for z in (low, low + placed.thing.size[2])]
    return np.concatenate(points)


@functools.lru_cache(maxsize=256)
def footprint(thing: Thing) -> Floats:
    """(N, 2) convex outline of a thing from above, in its frame."""
    points = np.concatenate([mesh_of(part.seen).vertices[:, :2] for part in thing.parts])
    return np.asarray(cv2.convexHull(points.astype(np.float32))[:, 0], np.float64)


def footprint_area(thing: Thing) -> float:
    """Area of the convex hull of the thing's outline from above [m^2]."""
    return float(cv2.contourArea(footprint(thing).astype(np.float32)))


def footprint_of(placed: Placed) -> Floats:
    """(N, 2) convex outline of a placed thing from above, in the table's frame."""
    return turned(footprint(placed.thing), placed.pose.yaw) + placed.pose.position[:2]


def turned(points: Floats, yaw: float) -> Floats:
    """Points (N, 2) turned about the origin."""
    cos, sin = math.cos(yaw), math.sin(yaw)
    return np.asarray(points @ np.array([[cos, sin], [-sin, cos]]))


class Grid:
    """The table's plane in cells, on which footprints are drawn.

    Attributes:
        low: (x, y) of its corner [m].
        shape: (rows along y, columns along x).
        cell_m: side of a cell.
    """

    def __init__(self, half_m: tuple[float, float], cell_m: float) -> None:
        self.low = np.array([-half_m[0], -half_m[1]])
        self.cell_m = cell_m
        self.shape = (math.ceil(2 * half_m[1] / cell_m), math.ceil(2 * half_m[0] / cell_m))

    def fill(self, cells: NDArray[np.uint8], outline: Floats) -> None:
        """Set the cells (H, W) uint8 in a convex outline (N, 2) to 1."""
        corners = ((outline - self.low) / self.cell_m - 0.5) * 16
        cv2.fillConvexPoly(cells, np.round(corners).astype(np.int32), (1,), shift=4)

    def empty(self) -> NDArray[np.uint8]:
        """(H, W) uint8 zeros."""
        return np.zeros(self.shape, np.uint8)

    def clearance(self, cells: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(H, W) distance of each cell from those that are not 0 [m]."""
        free = (cells == 0).astype(np.uint8)
        if free.all():
            return np.full(self.shape, np.inf, np.float32)
        return np.asarray(cv2.distanceTransform(free, cv2.DIST_L2, 5) * self.cell_m, np.float32)


class _Placing:
    """Finds places for things, one after another."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.placed: list[Placed] = []
        self._rng = rng
        margin = 0.08
        self._grid = Grid((HALF_M[0] + margin, HALF_M[1] + margin), CELL_M)
        self._taken = self._grid.empty()
        self._clearance = self._grid.clearance(self._taken)
        self._held: dict[int, list[Floats]] = {}

    def add(self, thing: Thing) -> bool:
        """Place a thing in another or on the table; False where there is no room."""
        if self._rng.random() < 0.45 and self._add_inside(thing):
            return True
        outline = footprint(thing)
        reach = np.abs(outline).max()
        for _ in range(_TRIES):
            yaw = self._yaw(thing)
            shape = turned(outline, yaw)
            x, y = (float(self._rng.uniform(-half - low, half - high)) if high - low < 2 * half
                    else 0.0 for half, low, high in zip(
                        HALF_M, shape.min(axis=0), shape.max(axis=0), strict=True))
            cells = self._grid.empty()
            self._grid.fill(cells, shape + np.array([x, y]))
            if self._clearance[cells > 0].min(initial=math.inf) >= GAP_M and reach < 0.4:
                self._taken |= cells
                self._clearance = self._grid.clearance(self._taken)
                self.placed.append(Placed('', thing, Pose((x, y, 0.0), yaw)))
                return True
        return False

    def _yaw(self, thing: Thing) -> float:
        if thing.category in _FACING:
            return float(self._rng.uniform(-_FACING_RAD, _FACING_RAD))
        return float(self._rng.uniform(-math.pi, math.pi))

    def _add_inside(self, thing: Thing) -> bool:
        """Place a thing in or on one that has room for it."""
        if thing.room is not None or max(thing.size) > 0.2:
            return False
        options = [k for k, placed in enumerate(self.placed) if placed.thing.room is not None]
        if not options:
            return False
        index = int(self._rng.choice(options))
        holder = self.placed[index]
        room = holder.thing.room
        assert room is not None
        outline = footprint(thing)
        for _ in range(8):
            yaw = float(self._rng.uniform(-math.pi, math.pi))
            shape = turned(outline, yaw)
            free = np.array([room.half_x, room.half_y]) - np.abs(shape).max(axis=0)
            if (free < 0).any():
                continue
            at = self._rng.uniform(-free, free) * (0.0 if room.round else 1.0)
            shape = shape + at
            if room.round and np.linalg.norm(shape, axis=1).max() > room.half_x:
                continue
            if any(convex_gap(shape, other) < 0.012 for other in self._held.get(index, ())):
                continue
            self._held.setdefault(index, []).append(shape)
            x, y = turned(at[None], holder.pose.yaw)[0] + holder.pose.position[:2]
            self.placed.append(Placed('', thing, Pose(
                (float(x), float(y), room.floor), yaw + holder.pose.yaw), str(index)))
            return True
        return False


def convex_gap(one: Floats, two: Floats) -> float:
    """Least distance of two convex outlines (N, 2) [m]; 0 if they meet. One may be a point."""
    first, second = one.astype(np.float32), two.astype(np.float32)
    if len(one) > 2 and len(two) > 2 and cv2.intersectConvexConvex(first, second)[0] > 0:
        return 0.0
    return min(max(0.0, -cv2.pointPolygonTest(outline, (float(x), float(y)), True))
               for points, outline in ((one, second), (two, first)) if len(outline) > 2
               for x, y in points)


def _named(placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """Give things their names; until here, ``inside`` holds indices."""
    names: list[str] = []
    for one in placed:
        number = 1 + sum(name.rpartition(' ')[0] == one.thing.category for name in names)
        names.append(f'{one.thing.category} {number}')
    return tuple(Placed(name, one.thing, one.pose, names[int(one.inside)] if one.inside else '')
                 for name, one in zip(names, placed, strict=True))


def _one(draw: Draw, category: str, colour: str = '') -> Thing:
    return make_thing(draw, category, colour or draw.pick(colours_of(category, draw.held_out)))


def _choose(draw: Draw, count: int) -> list[Thing]:
    """Things for a table, some of them look-alikes, at most ``MOST_LARGE`` of them large."""
    chosen: list[Thing] = []
    large = 0
    for thing in _stream(draw):
        if len(chosen) == count:
            break
        is_large = footprint_area(thing) > _LARGE
        if is_large and large == MOST_LARGE:
            continue
        large += is_large
        chosen.append(thing)
    return chosen


def _stream(draw: Draw) -> Iterator[Thing]:
    """Yield things without end, look-alikes first."""
    for _ in range(int(draw.rng.integers(1, 4))):
        yield from _look_alikes(draw)
    names = list(CATEGORIES)
    weights = np.array([CATEGORIES[name].likely for name in names])
    while True:
        yield _one(draw, names[int(draw.rng.choice(len(names), p=weights / weights.sum()))])


def _look_alikes(draw: Draw) -> list[Thing]:
    """Two or three things that are easily confused."""
    kind = draw.pick(('colour', 'colour', 'size', 'family'))
    if kind == 'size':
        return _two_sizes(draw)
    category = draw.pick(tuple(CATEGORIES))
    if kind == 'family':
        family = CATEGORIES[category].family
        others = [name for name, other in CATEGORIES.items() if other.family == family]
        return [_one(draw, name) for name in draw.rng.permutation(others)[:2].tolist()]
    colours = draw.rng.permutation(colours_of(category, draw.held_out))
    return [_one(draw, category, str(colour))
            for colour in colours[:int(draw.rng.integers(2, 4))]]


def _two_sizes(draw: Draw) -> list[Thing]:
    """Two of a category and a colour, one clearly larger."""
    category = draw.pick(_SIZED)
    colour = draw.pick(colours_of(category, draw.held_out))
    one = _one(draw, category, colour)
    for _ in range(12):
        two = _one(draw, category, colour)
        if max(two.size) / max(one.size) > SIZE_RATIO or (
                max(one.size) / max(two.size) > SIZE_RATIO):
            return [one, two]
    return [one]
