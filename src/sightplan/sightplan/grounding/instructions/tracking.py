"""Tracking of things over all pictures together: a thing is recognised by its place.

Several sightings of a thing tell more about it than one look. A thing that no hand has touched
stays where it was, so whatever is seen there is another sighting of it, under whatever category.
Something seen where nothing was is new, or has moved. The probabilities of a thing's categories
follow from its sightings and from the looks that missed it.
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
"""Least probability that a seen thing is of a known thing's category, to be matched with it."""
MOST = 0.5
"""Least probability of a seen thing's category, for an untouched thing to be matched with it."""
_SURE, _UNSURE = 0.95, 0.5
"""Greatest and least probability with which a look is taken to find and name a thing rightly."""
_MOST_BOXES = 4
"""Most boxes that a thing's place is averaged over; few, since it may be moved a little."""
_ALIKE_LOOKS = 0.5
"""Weight of a look, compared with an independent one: looks at one picture share errors."""


@dataclass
class _Known:
    """A thing and its sightings: sums over looks.

    Attributes:
        start: box where the thing was seen first.
        region: box where the thing is now.
        looks: number of looks that could have seen the thing.
        boxes: number of boxes that ``region`` is the mean of.
        moved: whether the thing was touched, or has moved by itself.
        lost: whether the thing was placed without being seen, and not seen since.
        late: whether the first picture did not show the thing.
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
        seen: the things that several looks at the first picture show.
        looks: number of these looks.
    """

    def __init__(self, seen: Sequence[Instance], looks: int) -> None:
        self._known: dict[str, _Known] = {}
        self._pictures = 0
        for one in seen:
            self._begin(one.name, one, looks)

    def __getitem__(self, name: str) -> Instance:
        """Return a thing with its present place."""
        return self._judged(name, self._known[name].region)

    def as_at_first(self) -> tuple[Instance, ...]:
        """Return all things, each where it was seen first, with the categories by all looks."""
        return tuple(self._judged(name, one.start) for name, one in self._known.items())

    def is_late(self, name: str) -> bool:
        """Whether the first picture did not show a thing."""
        return self._known[name].late

    def put(self, name: str, region: Region) -> None:
        """Set the place of a thing that is not seen there."""
        known = self._known[name]
        known.region, known.lost = region, True

    def look(self, seen: Sequence[Instance], looks: int, touched: Collection[str] = (),
             hidden: Collection[str] = (), lifted: str = '', filled: Sequence[Region] = ()
             ) -> Mapping[str, Instance]:
        """Update all things by looks at a new picture.

        Args:
            seen: the things that the looks show, under any names.
            looks: number of these looks.
            touched: names of things that the hand may have moved since the picture before.
            hidden: names of things that cannot be seen.
            lifted: name of the touched thing that is said to be in the hand; '' for none. It is
                found only at its old place, if it has not been taken.
            filled: boxes of places where things were put; an unmatched thing that is seen there
                is not taken for a new one.

        Returns:
            The seen things that were matched, by the names of the known things.
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
        """Return a thing with the probabilities of its categories and colours, by Bayes' rule.

        A look names the thing rightly with probability ``hit``, misses it with half of the rest,
        and gives it any other category with the other half. There may be no thing at all, where
        looks only rarely see one. Looks are not independent: likelihoods are raised to the power
        ``_ALIKE_LOOKS``.
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
        """Return how often a look finds and names a thing rightly, by the looks' agreement."""
        agreed = [max(one.categories.values(), default=0.0) / one.looks
                  for one in self._known.values()
                  if sum(one.categories.values()) >= one.looks / 2]
        return min(_SURE, max(_UNSURE, sum(agreed) / len(agreed) if agreed else _UNSURE))


def _shares(logs: Mapping[str, float], nothing: float | None = None) -> dict[str, float]:
    """Return probabilities from log-likelihoods.

    ``nothing`` is the log-likelihood that there is no thing; the probabilities of the others then
    sum to less than 1.
    """
    best = max([*logs.values(), *([] if nothing is None else [nothing])], default=0.0)
    weights = {name: math.exp(_ALIKE_LOOKS * (one - best)) for name, one in logs.items()}
    whole = sum(weights.values()) + (
        0.0 if nothing is None else math.exp(_ALIKE_LOOKS * (nothing - best)))
    return {name: weight / whole for name, weight in weights.items()}


def _towards(one: Region, other: Region, part: float) -> Region:
    """Return the box at the fraction ``part`` of the way from one box to another."""
    (a, b), (c, d) = (tuple(x + part * (u - x) for x, u in zip(p, q, strict=True))
                      for p, q in zip(one.points, other.points, strict=True))
    return Region(Form.BOX, ((a, b), (c, d)))


def _holds(place: Region, thing: Region) -> bool:
    """Whether the centre of the box ``thing`` lies in the box ``place``."""
    (x, y), ((left, top), (right, bottom)) = thing.centre, place.points
    return left <= x <= right and top <= y <= bottom


def _by_place(still: Sequence[Instance], seen: Sequence[Instance]) -> dict[str, Instance]:
    """Match still things with seen things in the same place, one to one; by known names."""
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
    """Match known things with the things that are seen now, one to one.

    Only things of alike categories are matched (see ``ALIKE``); boxes that overlap more, or are
    nearer to each other, are preferred.

    Args:
        known: known things by name, as they were seen last.
        seen: things that are seen now, under other names.
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
