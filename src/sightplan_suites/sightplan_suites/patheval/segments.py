"""Points, lines and curves beside one obstacle: which of two is nearer? After figure 2.

The obstacle is one rectangle in the middle. Of each kind twice as many segments as pairs are
drawn from a seed. Then the pairs: of the segments that are left the first one is paired with the
one whose distance differs most. A point's distance is that to the rectangle; a line or curve is as
near as the nearer one of its ends, as in the paper. No segment touches the rectangle.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from sightplan_suites.patheval.items import Image, View, draw
from sightplan_suites.paths.maps import ObstacleMap, Point

KINDS = ('point', 'line', 'curve')
COUNT = 100
"""Pairs of each kind in the paper."""
BLOCK: tuple[Point, ...] = ((-8.0, -5.0), (8.0, -5.0), (8.0, 5.0), (-8.0, 5.0))
"""The rectangular obstacle beside the segments."""
BESIDE = ObstacleMap('segments', (BLOCK,))
"""The rectangular obstacle as a map."""

_REACH = 36.0
_LEAST, _MOST = 4.0, 10.0  # lengths of lines and of curves between their ends
_CLEAR = 1.0
_DECIMALS = 4
_STEPS = 24
_TRIES = 10_000
_OUTSIDE: Point = (1000.0, 1000.0)
_MIDDLE: Point = (0.0, 0.0)


@dataclass(frozen=True, eq=False)
class SegmentPair:
    """Two segments of one kind.

    Attributes:
        id: such as ``segments/curve/017``.
        kind: one of ``KINDS``.
        points: of both; of a point one each.
        distances: of both to the obstacle.
        size: of pictures, see ``items.draw``.
    """

    id: str
    kind: str
    points: tuple[tuple[Point, ...], tuple[Point, ...]]
    distances: tuple[float, float]
    size: int = 0
    map: ClassVar[str] = BESIDE.name

    @property
    def name(self) -> str:
        """Name of the pictures: the pair's id."""
        return self.id

    def halves(self, view: View) -> tuple[Image, Image]:
        """Draw one picture of each segment; see ``items.Pictured``."""
        first, second = (draw_segment(points, view, self.size) for points in self.points)
        return first, second


def draw_segment(points: Sequence[Point], view: View, size: int = 0) -> Image:
    """Draw one segment beside the obstacle; a point as the red dot of a path's start."""
    # A dot that shall not be seen is outside of the picture, or below the obstacle.
    away = _OUTSIDE if view == '2d' else _MIDDLE
    if len(points) == 1:
        return draw(BESIDE, None, view, size, start=points[0], goal=away)
    return draw(BESIDE, tuple(points), view, size, start=away, goal=away)


def segment_pairs(count: int = COUNT, seed: int = 0, size: int = 0) -> list[SegmentPair]:
    """Pairs of every kind; the same arguments always give the same ones.

    Args:
        count: of each kind.
        seed: of the segments.
        size: of pictures, see ``items.draw``.
    """
    found = []
    for kind in KINDS:
        rng = random.Random(f'segments {seed} {kind}')
        drawn = [_segment(kind, rng) for _ in range(2 * count)]
        left = [(distance_of(points), points) for points in drawn]
        for number in range(count):
            first = left.pop(0)
            far = max(range(len(left)), key=lambda at: abs(left[at][0] - first[0]))
            second = left.pop(far)
            found.append(SegmentPair(f'segments/{kind}/{number:03}', kind, (first[1], second[1]),
                                     (first[0], second[0]), size))
    return found


def distance_of(points: Sequence[Point]) -> float:
    """Distance of the nearer end to the obstacle."""
    return float(min(BESIDE.clearances([points[0], points[-1]])))


def _segment(kind: str, rng: random.Random) -> tuple[Point, ...]:
    """Draw a segment that stays in the world and clear of the obstacle."""
    def place() -> Point:
        return _REACH * (2 * rng.random() - 1), _REACH * (2 * rng.random() - 1)
    for _ in range(_TRIES):
        (x, y), angle = place(), math.tau * rng.random()
        length = _LEAST + (_MOST - _LEAST) * rng.random()
        bend = (0.25 + 0.25 * rng.random()) * length * (1 if rng.random() < 0.5 else -1)
        if kind == 'point':
            points: tuple[Point, ...] = ((x, y),)
        else:
            end = x + length * math.cos(angle), y + length * math.sin(angle)
            points = ((x, y), end) if kind == 'line' else _curve((x, y), end, bend)
        points = tuple((round(a, _DECIMALS), round(b, _DECIMALS)) for a, b in points)
        near = BESIDE.segment_clearances(points[:-1] or points, points[1:] or points)
        if all(max(abs(a), abs(b)) <= _REACH for a, b in points) and near.min() >= _CLEAR:
            return points
    raise AssertionError('there is room for segments all around the obstacle')


def _curve(start: Point, end: Point, bend: float) -> tuple[Point, ...]:
    """A parabola from start to end that is off the straight line by ``bend`` in the middle."""
    length = math.dist(start, end)
    (x, y), along = start, ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    points = []
    for step in range(_STEPS + 1):
        part = step / _STEPS
        aside = 4 * bend * part * (1 - part)
        points.append((x + along[0] * length * part - along[1] * aside,
                       y + along[1] * length * part + along[0] * aside))
    return tuple(points)
