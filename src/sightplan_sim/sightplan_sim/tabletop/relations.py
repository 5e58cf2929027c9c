"""Differences that distinguish things of a table: colours, sizes and places, with margins.

Left, right, in front and behind are as the camera sees the table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.catalogue import category_of
from sightplan_sim.tabletop.shapes import BODY, Placed
from sightplan_sim.tabletop.table import SIZE_RATIO, Table, footprint_of

CLEAR_M = 0.05
"""Smallest distance at which a thing counts as to the left of another [m]."""
NOT_M = -0.02
"""Largest such distance at which it counts as not to the left [m]."""
SLOPE = 1.2
"""Largest distance in depth of a thing to the left, as a multiple of its distance sideways."""
NEAR_RATIO = 0.7
"""Largest ratio of the distances of the nearest and the second nearest thing at which the first is
clearly the nearest."""
APART_M = 0.04
"""Smallest distance sideways between the leftmost or rightmost thing and the next [m]."""

FLAT = 'plate'
"""Category that holds things on it, not in it."""


class Relations:
    """Spatial relations between the things of a table, as seen by its camera."""

    def __init__(self, table: Table) -> None:
        self.table = table
        axes = table.look.view().axes
        right = axes[:2, 0] / np.linalg.norm(axes[:2, 0])
        away = np.array([-right[1], right[0]])
        middles = {one.name: footprint_of(one) for one in table.things}
        self._at: dict[str, Floats] = {
            name: np.array([right, away]) @ (shape.min(axis=0) + shape.max(axis=0)) / 2
            for name, shape in middles.items()}

    # --- names --------------------------------------------------------------------------------

    def called(self, category: str) -> list[Placed]:
        """Things that a category's word may mean."""
        return [one for one in self.table.things if one.thing.category == category
                or category in category_of(one.thing.category).also]

    def ways_to_name(self, name: str) -> list[str]:
        """Ways to name a thing (``plain``, ``colour``, ``coloured_part``) that fit no other."""
        placed = self.table.named(name)
        others = [one for one in self.called(placed.thing.category) if one.name != name]
        by_colour = 'colour' if placed.thing.coloured == BODY else 'coloured_part'
        ways = [] if others else ['plain']
        if all(one.thing.colour != placed.thing.colour for one in others):
            ways.append(by_colour)
        return ways

    # --- relations ------------------------------------------------------------------------------

    def left(self, one: str, other: str) -> bool | None:
        """Whether one is to the left of the other."""
        du, dv = self._at[other] - self._at[one]
        return _beyond(du, dv)

    def right(self, one: str, other: str) -> bool | None:
        """Whether one is to the right of the other."""
        return self.left(other, one)

    def front(self, one: str, other: str) -> bool | None:
        """Whether one is in front of the other: nearer to the camera."""
        du, dv = self._at[other] - self._at[one]
        return _beyond(dv, du)

    def behind(self, one: str, other: str) -> bool | None:
        """Whether one is behind the other."""
        return self.front(other, one)

    def inside(self, one: str, other: str) -> bool | None:
        """Whether one is in the other, which is no plate."""
        return self._held(one, other) and self.table.named(other).thing.category != FLAT

    def on(self, one: str, other: str) -> bool | None:
        """Whether one is on the other, a plate."""
        return self._held(one, other) and self.table.named(other).thing.category == FLAT

    def between(self, one: str, ends: tuple[str, str]) -> bool | None:
        """Whether one is between two others."""
        a, b = (self._at[end] for end in ends)
        span = b - a
        length = float(np.linalg.norm(span))
        if length < APART_M:
            return None
        along = float((self._at[one] - a) @ span) / length**2
        across = np.array([-span[1], span[0]])
        off = abs(float((self._at[one] - a) @ across)) / length**2
        if 0.25 <= along <= 0.75 and off <= 0.2:
            return True
        return None if -0.1 < along < 1.1 and off < 0.5 else False

    def distance(self, one: str, other: str) -> float:
        """Distance between the middles of two things, seen from above [m]."""
        return math.dist(self._at[one], self._at[other])

    def nearest(self, names: Sequence[str], other: str) -> str:
        """Name of the thing that is nearest to another; '' if it is not clear."""
        far = sorted((self.distance(name, other), name) for name in names)
        return far[0][1] if far[0][0] < NEAR_RATIO * far[1][0] else ''

    def leftmost(self, names: Sequence[str]) -> str:
        """Name of the leftmost of some things; '' if it is not clear."""
        order = sorted(names, key=lambda name: float(self._at[name][0]))
        return order[0] if self._at[order[1]][0] - self._at[order[0]][0] > APART_M else ''

    def rightmost(self, names: Sequence[str]) -> str:
        """Name of the rightmost of some things; '' if it is not clear."""
        order = sorted(names, key=lambda name: -float(self._at[name][0]))
        return order[0] if self._at[order[0]][0] - self._at[order[1]][0] > APART_M else ''

    def largest(self, names: Sequence[str]) -> str:
        """Name of the thing that is clearly larger than all others; '' if there is none."""
        order = sorted(names, key=self._extent)
        return order[-1] if self._larger(order[-1], order[-2]) else ''

    def smallest(self, names: Sequence[str]) -> str:
        """Name of the thing that is clearly smaller than all others; '' if there is none."""
        order = sorted(names, key=self._extent)
        return order[0] if self._larger(order[1], order[0]) else ''

    def tallest(self, names: Sequence[str]) -> str:
        """Name of the thing that is clearly taller than all others; '' if there is none."""
        tall = sorted((self.table.named(name).thing.size[2], name) for name in names)
        return tall[-1][1] if tall[-1][0] > SIZE_RATIO * tall[-2][0] else ''

    def _held(self, one: str, other: str) -> bool:
        return self.table.named(one).inside == other

    def _extent(self, name: str) -> float:
        return max(self.table.named(name).thing.size)

    def _larger(self, one: str, other: str) -> bool:
        a, b = (self.table.named(name).thing.size for name in (one, other))
        return max(a) > SIZE_RATIO * max(b) and math.prod(a) > SIZE_RATIO * math.prod(b)


def the_one(answers: Mapping[str, bool | None]) -> str:
    """The one thing that answers yes, if all others clearly answer no; else ''."""
    yes = [name for name, answer in answers.items() if answer]
    return yes[0] if len(yes) == 1 and None not in answers.values() else ''


def _beyond(ahead: float, aside: float) -> bool | None:
    if ahead >= CLEAR_M and abs(aside) <= SLOPE * ahead:
        return True
    return False if ahead <= NOT_M else None
