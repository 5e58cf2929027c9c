"""What is where, by all pictures together: things are known by their places.

Who has seen a thing several times knows more of it than one more look can tell. What no hand has
touched is where it was, so that whatever is seen there is another sighting of the same thing, by
whatever name it goes; what is seen where nothing was is new, or has moved. From its sightings, and
from the looks that missed it, follows what a thing is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sightplan.model import Instance
from sightplan.model.region import Form, Region, box_iou
from sightplan.queries.detect import CATEGORIES, COLOURS, same_place

ALIKE = 0.2
"""A thing may be another look's thing if it is of its category with this probability."""
MOST = 0.5
"""What is seen by so many looks at a picture is believed to have moved there by itself."""
_SURE, _UNSURE = 0.95, 0.5
"""A thing is taken to be found by a look with a probability between these."""
_MOST_BOXES = 4
"""Where a thing is, is the mean of so many boxes at most: it may have been moved a little."""
_ALIKE_LOOKS = 0.5
"""Looks at one picture share errors: each counts for so much of one that shares none."""


@dataclass
class _Known:
    """A thing and its sightings: sums over looks.

    Attributes:
        start: where it was seen first.
        region: where it is now.
        looks: how many looks could have seen it.
        boxes: how many boxes the last one is the mean of.
        moved: whether it was touched.
        lost: whether it was touched and not seen since.
        late: whether the first picture did not show it.
    """

    start: Region
    region: Region
    looks: float
    categories: dict[str, float] = field(default_factory=dict)
    colours: dict[str, float] = field(default_factory=dict)
    opened: float | None = None
    boxes: int = 1
    moved: bool = False
    lost: bool = False
    late: bool = False


class Memory:
    """All things that were seen, each under one name.

    Args:
        seen: what several looks at the first picture show.
        looks: how many.
    """

    def __init__(self, seen: Sequence[Instance], looks: int) -> None:
        self._known: dict[str, _Known] = {}
        self._pictures = 0
        for one in seen:
            self._begin(one.name, one, looks)

    def __getitem__(self, name: str) -> Instance:
        """A thing, where it is now."""
        return self._judged(name, self._known[name].region)

    def as_at_first(self) -> tuple[Instance, ...]:
        """All things, each where it was seen first, and as all looks since show it."""
        return tuple(self._judged(name, one.start) for name, one in self._known.items())

    def is_late(self, name: str) -> bool:
        """Whether the first picture did not show a thing."""
        return self._known[name].late

    def put(self, name: str, region: Region) -> None:
        """A thing is taken to be somewhere, though it is not seen there."""
        known = self._known[name]
        known.region, known.lost = region, True

    def look(self, seen: Sequence[Instance], looks: int, touched: Collection[str] = (),
             hidden: Collection[str] = (), lifted: str = '', filled: Sequence[Region] = ()
             ) -> Mapping[str, Instance]:
        """Take in what looks at a new picture show.

        Args:
            seen: by any names.
            looks: how many.
            touched: what the hand may have moved since the picture before.
            hidden: what cannot be seen.
            lifted: what of that is said to be in the hand: it is not there where it was, or has
                not been taken.
            filled: boxes of places where things were put; what is seen there and is none of the
                things that are known is one of these, and not a new one.

        Returns:
            What was seen, by the names of the things.
        """
        self._pictures += 1
        still = [name for name in self._known
                 if name not in hidden and (name not in touched or name == lifted)]
        found = _by_place([self[name] for name in still], seen)
        still = [name for name in still if name != lifted]
        left = [one for one in seen if not any(one is other for other in found.values())]
        for name, one in found.items():
            known = self._known[name]
            known.boxes, known.lost = min(known.boxes + 1, _MOST_BOXES), False
            known.region = _towards(known.region, one.region, 1 / known.boxes)
        strong = [one for one in left if one.categories.get(one.category, 0.0) >= MOST]
        moved = matched({name: self[name] for name in touched
                         if name not in hidden and name != lifted}, left)
        rest = [one for one in strong if not any(one is other for other in moved.values())]
        moved |= matched({name: self[name] for name in still if name not in found
                          and not self._known[name].lost}, rest)
        for name, one in moved.items():
            known = self._known[name]
            known.region, known.boxes, known.moved, known.lost = one.region, 1, True, False
            if name in touched:
                known.opened = None
        found |= moved
        for name, one in found.items():
            self._add(self._known[name], one, looks)
        for name in still:
            if name not in found and not self._known[name].moved:
                self._known[name].looks += looks
        for name in touched:
            self._known[name].moved = True
        for number, one in enumerate(left):
            if not any(one is other for other in moved.values()) and not any(
                    _holds(place, one.region) for place in filled):
                self._begin(f'late{self._pictures}_{number}', one, looks)
        return found

    def _begin(self, name: str, one: Instance, looks: int) -> None:
        self._known[name] = _Known(one.region, one.region, 0.0, late=self._pictures > 0)
        self._add(self._known[name], one, looks)

    @staticmethod
    def _add(known: _Known, one: Instance, looks: int) -> None:
        seen = looks * sum(one.categories.values())
        known.looks += looks
        for sums, chances, weight in ((known.categories, one.categories, looks),
                                      (known.colours, one.colours, seen)):
            for name, chance in chances.items():
                sums[name] = sums.get(name, 0.0) + weight * chance
        if one.opened is not None:
            known.opened = (one.opened if known.opened is None else
                            (known.opened + one.opened) / 2)

    def _judged(self, name: str, region: Region) -> Instance:
        """What a thing is, by Bayes' rule over its looks.

        A look names it rightly with probability ``hit``, misses it with half of the rest, and
        calls it something else, all things alike, with the other half; it is nothing where looks
        only rarely see something. Looks are no independent witnesses: likelihoods are raised to
        the power ``_ALIKE_LOOKS``.
        """
        known, hit = self._known[name], self._hit()
        if known.looks <= 1:  # there is nothing to compare a single look with
            return Instance(name, region, dict(known.categories), dict(known.colours),
                            known.opened)
        seen = sum(known.categories.values())
        missed = max(0.0, known.looks - seen)
        other = (1.0 - hit) / 2
        nothing = seen * math.log(other / len(CATEGORIES)) + missed * math.log(1.0 - other)
        chances = {category: (number * math.log(hit)
                              + (seen - number) * math.log(other / len(CATEGORIES))
                              + missed * math.log(other))
                   for category, number in known.categories.items()}
        colours = {colour: number * math.log(hit)
                   + (sum(known.colours.values()) - number) * math.log(other / len(COLOURS))
                   for colour, number in known.colours.items()}
        return Instance(name, region,
                        _shares(chances, nothing + math.log(len(CATEGORIES)) / _ALIKE_LOOKS),
                        _shares(colours), known.opened)

    def _hit(self) -> float:
        """How often a look finds a thing and names it rightly, as far as looks agree."""
        agreed = [max(one.categories.values(), default=0.0) / one.looks
                  for one in self._known.values()
                  if sum(one.categories.values()) >= one.looks / 2]
        return min(_SURE, max(_UNSURE, sum(agreed) / len(agreed) if agreed else _UNSURE))


def _shares(logs: Mapping[str, float], nothing: float | None = None) -> dict[str, float]:
    """Probabilities from logarithms of likelihoods; of what is left it is nothing."""
    best = max([*logs.values(), *([] if nothing is None else [nothing])], default=0.0)
    weights = {name: math.exp(_ALIKE_LOOKS * (one - best)) for name, one in logs.items()}
    whole = sum(weights.values()) + (
        0.0 if nothing is None else math.exp(_ALIKE_LOOKS * (nothing - best)))
    return {name: weight / whole for name, weight in weights.items()}


def _towards(one: Region, other: Region, part: float) -> Region:
    """A box on the way from one to another one."""
    (a, b), (c, d) = (tuple(x + part * (u - x) for x, u in zip(p, q, strict=True))
                      for p, q in zip(one.points, other.points, strict=True))
    return Region(Form.BOX, ((a, b), (c, d)))


def _holds(place: Region, thing: Region) -> bool:
    """Whether the middle of a box is in another one."""
    (x, y), ((left, top), (right, bottom)) = thing.centre, place.points
    return left <= x <= right and top <= y <= bottom


def _by_place(still: Sequence[Instance], seen: Sequence[Instance]) -> dict[str, Instance]:
    """What is seen in known places, one to one."""
    if not still or not seen:
        return {}
    cost = np.array([[1.0 - box_iou(one.region, other.region) if same_place(
        one.region, one.category, other.region, other.category) else _NEVER
        for other in seen] for one in still])
    return {still[row].name: seen[column] for row, column in _assigned(cost)}


_NEVER = 1e6


def _assigned(cost: np.ndarray) -> list[tuple[int, int]]:
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(cost)
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True)
            if cost[row, column] < _NEVER]


def matched(known: Mapping[str, Instance], seen: Sequence[Instance]) -> dict[str, Instance]:
    """Which of the things that are known are which of those that are seen now, one to one.

    Nothing is matched with what is of another kind. What overlaps more is more likely the same;
    what moved is, of all that is left, the nearest.

    Args:
        known: by name, as they were seen last.
        seen: now, under other names.
    """
    names = list(known)
    if not names or not seen:
        return {}
    cost = np.full((len(names), len(seen)), _NEVER)
    for row, name in enumerate(names):
        one = known[name]
        for column, other in enumerate(seen):
            alike = other.categories.get(one.category, 0.0)
            if alike >= ALIKE:
                (x, y), (a, b) = one.region.centre, other.region.centre
                cost[row, column] = (1.0 - box_iou(one.region, other.region)
                                     + float(np.hypot(x - a, y - b)) + 0.1 * (1.0 - alike))
    return {names[row]: seen[column] for row, column in _assigned(cost)}
