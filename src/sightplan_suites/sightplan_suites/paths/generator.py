"""Draws maps of PathEval's four families from seeds: mazes, random polygons, rings and waves.

The families, their parameters and numbers of polygons are those of the published maps; the
drawing is our own. What a parameter means here:

- ``Dims`` of a maze: cells a side. Walls stand between cells as a spanning tree leaves them, less
  a few that are taken away, so that there is more than one way.
- ``Frac`` of random polygons: how much of the world they cover [%].
- ``Gap`` of rings: the distance of one ring to the next, beyond what the widest robot needs.
- ``Lines`` of waves: how many wavy lines there are from left to right, each with openings.

Start and goal are kept clear, and a map is drawn anew if the widest robot cannot get from one to
the other. A map is a function of family, parameter, variant and seed alone: coordinates are
rounded, so that it has the same bytes on every machine.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import shapely

from sightplan.model import InputError
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, Point, Polygon, check_map

VARIANTS = 30
"""Number of maps that differ only in their random numbers."""
CLEAR = 1.6
"""Smallest distance from an obstacle to start or goal; the widest robot has a radius of 1.5."""
_WIDEST = 3.0
"""Diameter of the widest robot."""
_HALF = 40.0
_WALL = 0.4
_DECIMALS = 4
_TRIES = 20
"""Number of draws of a map until the widest robot finds a path."""


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of map.

    Attributes:
        name: ``maze``, ``random``, ``rings`` or ``waves``.
        parameter: what its maps differ in, as in the names of the published files.
        low: least value of the parameter.
        high: greatest value.
        draw: makes the polygons from a value and a random generator.
    """

    name: str
    parameter: str
    low: int
    high: int
    draw: Callable[[int, random.Random], list[Polygon]]

    def map_name(self, value: int, variant: int) -> str:
        """The stem of the map's file, such as ``SceneMaze_Dims10_0``."""
        return f'Scene{self.name.capitalize()}_{self.parameter}{value}_{variant}'


def generate_map(family: str, value: int, variant: int, seed: int = 0) -> ObstacleMap:
    """Draw one map of a family.

    Args:
        family: a name in ``FAMILIES``.
        value: of the family's parameter.
        variant: 0 to 29.
        seed: another one gives other maps of the same names.

    Raises:
        InputError: there is no such family, value or variant.
    """
    if family not in FAMILIES:
        raise InputError(f'family {family!r} (choose one of {", ".join(FAMILIES)})')
    kind = FAMILIES[family]
    if not kind.low <= value <= kind.high:
        raise InputError(f'{kind.parameter} {value} of family {family} (choose {kind.low} to '
                         f'{kind.high})')
    if not 0 <= variant < VARIANTS:
        raise InputError(f'variant {variant} (choose 0 to {VARIANTS - 1})')
    name = kind.map_name(value, variant)
    rng = random.Random(f'{seed} {name}')
    for _ in range(_TRIES):
        found = _cleared(name, kind.draw(value, rng))
        if found.way_exists(START, GOAL, _WIDEST / 2):
            break
    check_map(found, name)
    return found


def _cleared(name: str, drawn: list[Polygon]) -> ObstacleMap:
    """Polygons as a map: rounded, and without those too close to start or goal."""
    rounded = ObstacleMap(name, tuple(
        tuple((round(x, _DECIMALS), round(y, _DECIMALS)) for x, y in polygon)
        for polygon in drawn))
    near = shapely.dwithin(rounded.shapes, shapely.MultiPoint([START, GOAL]), CLEAR)
    return ObstacleMap(name, tuple(polygon for polygon, hit in zip(
        rounded.polygons, near, strict=True) if not hit))


def _below(rng: random.Random, bound: int) -> int:
    """A random whole number below ``bound``, by a method whose stream never changes."""
    return int(rng.random() * bound)


def _between(rng: random.Random, low: float, high: float) -> float:
    return low + (high - low) * rng.random()


def _maze(cells: int, rng: random.Random) -> list[Polygon]:
    """Walls between cells that a random spanning tree does not join, less one in sixteen."""
    edge = 2 * _HALF / cells
    joined = _spanning_tree(cells, rng)
    walls: list[Polygon] = []
    for x in range(cells):
        for y in range(cells):
            for dx, dy in ((1, 0), (0, 1)):
                if (x + dx == cells or y + dy == cells or ((x, y), (x + dx, y + dy)) in joined
                        or rng.random() < 1 / 16):
                    continue
                # From the corner that both cells share, along their common edge.
                corner = (-_HALF + (x + dx) * edge, -_HALF + (y + dy) * edge)
                walls.append(_wall(corner, (dy * edge, dx * edge)))
    return walls


def _spanning_tree(cells: int, rng: random.Random,
                   ) -> set[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs of neighbouring cells, the lesser first, that join all cells without a circle."""
    trail, seen = [(0, 0)], {(0, 0)}
    joined = set()
    while trail:
        # Mostly onwards, at times from an older cell: long corridors with branches.
        at = len(trail) - 1 if rng.random() < 0.8 else _below(rng, len(trail))
        x, y = trail[at]
        around = [(x + dx, y + dy) for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))
                  if 0 <= x + dx < cells and 0 <= y + dy < cells
                  and (x + dx, y + dy) not in seen]
        if not around:
            del trail[at]
            continue
        new = around[_below(rng, len(around))]
        seen.add(new)
        trail.append(new)
        joined.add((min((x, y), new), max((x, y), new)))
    return joined


def _wall(start: Point, along: Point) -> Polygon:
    """A wall along an axis, longer by half its thickness at both ends so that corners close."""
    thick = _WALL / 2
    (x, y), (dx, dy) = start, along
    left, right, low, high = x - thick, x + dx + thick, y - thick, y + dy + thick
    return ((left, low), (right, low), (right, high), (left, high))


def _random(percent: int, rng: random.Random) -> list[Polygon]:
    """Polygons of 3 to 8 corners, apart from each other, until they cover enough."""
    wanted = percent / 100 * (2 * _HALF) ** 2
    polygons: list[Polygon] = []
    circles: list[tuple[float, float, float]] = []
    covered = 0.0
    while covered < wanted:
        size = _between(rng, 1.5, 4.1)
        x, y = (_between(rng, -_HALF + size, _HALF - size) for _ in range(2))
        if (any(math.hypot(x - a, y - b) < size + other for a, b, other in circles)
                or any(math.dist((x, y), end) < size + CLEAR for end in (START, GOAL))):
            continue
        corners = 3 + _below(rng, 6)
        turn = _between(rng, 0, math.tau)
        angles = [turn + math.tau * (number + _between(rng, -0.25, 0.25)) / corners
                  for number in range(corners)]
        polygon = tuple((x + reach * math.cos(angle), y + reach * math.sin(angle))
                        for angle in angles for reach in [size * _between(rng, 0.75, 1.0)])
        circles.append((x, y, size))
        polygons.append(polygon)
        covered += shapely.Polygon(polygon).area
    return polygons


def _rings(gap: int, rng: random.Random) -> list[Polygon]:
    """Rings around the middle, each in arcs with openings; outer ones are in the corners only."""
    pitch = _WIDEST + gap
    polygons: list[Polygon] = []
    radius = _between(rng, 43.0, 47.0)
    while radius > max(2.5, pitch / 2):
        width = _between(rng, _WIDEST + 0.6, _WIDEST + 2.0)
        arcs = _corner_arcs if radius > _HALF - _WALL else _ring_arcs
        polygons += [_arc(radius, begin, end) for begin, end in arcs(radius, width, gap, rng)]
        radius -= pitch
    return polygons


def _corner_arcs(radius: float, width: float, gap: int, rng: random.Random,
                 ) -> Iterator[tuple[float, float]]:
    """An arc in every corner of the world, with an opening between it and the border."""
    touching = math.acos(min(1.0, (_HALF + _WALL / 2) / radius))
    leaving = math.acos((_HALF - _WALL / 2 - width) / radius)
    for corner in range(4):
        first, last = (touching, leaving) if rng.random() < 0.5 else (leaving, touching)
        yield (corner * math.pi / 2 + first, (corner + 1) * math.pi / 2 - last)


def _ring_arcs(radius: float, width: float, gap: int, rng: random.Random,
               ) -> Iterator[tuple[float, float]]:
    """Arcs all around, the more the nearer rings are to each other."""
    opening = width / radius
    most = int(math.tau / (2 * opening))  # openings take no more than half of a ring
    least, spread = (4, 4) if gap < 4 else (3, 3) if gap < 6 else (3, 2)
    arcs = max(1, min(most, least + _below(rng, spread)))
    turn = _between(rng, 0, math.tau)
    for number in range(arcs):
        shift = _between(rng, -0.1, 0.1) * (math.tau / arcs - opening)
        yield (turn + math.tau * number / arcs + shift,
               turn + math.tau * (number + 1) / arcs - opening + shift)


def _arc(radius: float, begin: float, end: float) -> Polygon:
    steps = max(2, math.ceil((end - begin) / math.radians(6)))
    angles = [begin + (end - begin) * step / steps for step in range(steps + 1)]
    outer = [(angle, radius + _WALL / 2) for angle in angles]
    inner = [(angle, radius - _WALL / 2) for angle in reversed(angles)]
    return tuple((reach * math.cos(angle), reach * math.sin(angle))
                 for angle, reach in (*outer, *inner))


def _waves(lines: int, rng: random.Random) -> list[Polygon]:
    """Wavy lines from left to right, each in pieces with openings between them."""
    pitch = 2 * _HALF / (lines + 1)
    polygons: list[Polygon] = []
    for line in range(1, lines + 1):
        middle = -_HALF + line * pitch
        # Two neighbouring lines may bend towards each other.
        height = _between(rng, 0.5, 1.0) * (pitch - _WALL - _WIDEST - 0.4) / 2
        length, phase = _between(rng, 22, 36), _between(rng, 0, math.tau)
        pieces = 3 + _below(rng, 3 if lines > 7 else 2)
        cuts = sorted(-_HALF + 2 * _HALF * (number + _between(rng, 0.25, 0.75)) / pieces
                      for number in range(pieces - 1))
        opening = _between(rng, _WIDEST + 0.6, _WIDEST + 2.0)
        lefts = [-_HALF, *(cut + opening / 2 for cut in cuts)]
        rights = [*(cut - opening / 2 for cut in cuts), _HALF]
        for left, right in zip(lefts, rights, strict=True):
            xs = [left + (right - left) * step / 3 for step in range(4)]
            ys = [middle + height * math.sin(math.tau * x / length + phase) for x in xs]
            low = [(x, y - _WALL / 2) for x, y in zip(xs, ys, strict=True)]
            high = [(x, y + _WALL / 2) for x, y in zip(xs, ys, strict=True)]
            polygons.append((*low, *reversed(high)))
    return polygons


FAMILIES = {family.name: family for family in (
    Family('maze', 'Dims', 10, 18, _maze),
    Family('random', 'Frac', 12, 20, _random),
    Family('rings', 'Gap', 2, 15, _rings),
    Family('waves', 'Lines', 5, 10, _waves))}
"""The families, with the parameters of the published maps."""
