"""Choice of phrases that refer to exactly those things of a table that are to be moved."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from sightplan_sim.tabletop.arrangements import Arrangement, NoRoomError, Pool
from sightplan_sim.tabletop.look import Look
from sightplan_sim.tabletop.meanings import Choice, Reference
from sightplan_sim.tabletop.relations import NEAR_RATIO, Relations

LEAST_FAR_M = 0.08
"""Smallest difference in distance between nearer and farther things of a phrase [m]."""


def arm_look(look: Look) -> Look:
    """Look with the arm's own camera (``config/robots/panda_tabletop.yaml``)."""
    return dataclasses.replace(look, azimuth_deg=0.0, elevation_deg=55.0, roll_deg=0.0,
                               fov_deg=45.0, distance_m=0.8814, target=(0.0, 0.0, 0.0))


class Referring:
    """Finds references, all of them with a margin, from the picture's and the arm's camera.

    Args:
        arrangement: with its table.
        rng: chooses among those that are right.
    """

    def __init__(self, arrangement: Arrangement, rng: np.random.Generator) -> None:
        table = arrangement.table
        self._table, self._rng = table, rng
        self._seen_by = [Relations(table), Relations(
            dataclasses.replace(table, look=arm_look(table.look)))]
        self._anchors = [one.name for one in table.things if one.thing.room is not None]

    def means_all(self, pool: Pool) -> bool:
        """Whether a pool holds all things of the looks that it has."""
        looks = {
            (one.thing.category, one.thing.colour) for one in map(self._table.named, pool.names)
        }
        return all(
            one.name in pool.names
            for one in self._table.things
            if (one.thing.category, one.thing.colour) in looks
        )

    def refer(self, pool: Pool) -> tuple[Reference, ...]:
        """References to the moved things of a pool.

        Raises:
            NoRoomError: no words mean what is to be moved and nothing else.
        """
        if pool.kind == 'some':
            options = list(self._by_place(pool))
            if not options:
                raise NoRoomError
            return (options[int(self._rng.integers(len(options)))],)
        if pool.kind == 'all_but':
            category = self._table.named(pool.but).thing.category
            but = Reference(
                Choice.ALL, (pool.but,), (category,), self._table.named(pool.but).thing.colour
            )
            return (
                Reference(
                    Choice.ALL_BUT,
                    tuple(n for n in pool.names if n != pool.but),
                    (category,),
                    but=but,
                ),
            )
        if pool.kind == 'kind':
            return (
                Reference(
                    Choice.ALL, pool.names, (self._table.named(pool.names[0]).thing.category,)
                ),
            )
        return self._listed(pool.names)

    def _listed(self, names: Sequence[str]) -> tuple[Reference, ...]:
        """One reference for each set of identical things."""
        looks = [(self._table.named(name).thing.category, self._table.named(name).thing.colour)
                 for name in names]
        found = []
        for category, colour in dict.fromkeys(looks):
            same = tuple(name for name, look in zip(names, looks, strict=True)
                         if look == (category, colour))
            others = {one.thing.colour for one in self._table.things
                      if one.thing.category == category} - {colour}
            plain = not others and self._rng.random() < 0.5
            found.append(Reference(Choice.ALL, same, (category,), '' if plain else colour))
        return tuple(found)

    def _by_place(self, pool: Pool) -> Iterator[Reference]:
        """References by the positions of a pool's things."""
        (named,) = self._listed(pool.names)
        total, count = len(pool.names), pool.count
        for one in self._single(named):
            if count == 1:
                yield one
            if count == total - 1 and total > 2:
                yield Reference(Choice.ALL_BUT, tuple(n for n in pool.names if n not in one.names),
                                named.categories, named.colour, but=one)
        if 1 < count < total:
            for anchor in self._anchors:
                if nearest := self._nearest(pool.names, anchor, count):
                    yield Reference(Choice.NEAREST, nearest, named.categories, named.colour,
                                    anchor)

    def _single(self, named: Reference) -> Iterator[Reference]:
        """References to one thing: the one at an end, or the one nearest to an anchor."""
        for choice in (Choice.LEFTMOST, Choice.RIGHTMOST):
            ends = {getattr(view, choice.value)(named.names) for view in self._seen_by}
            if len(ends) == 1 and '' not in ends:
                yield Reference(choice, tuple(ends), named.categories, named.colour)
        for anchor in self._anchors:
            if nearest := self._nearest(named.names, anchor, 1):
                yield Reference(Choice.NEAREST, nearest, named.categories, named.colour, anchor)

    def _nearest(self, names: Sequence[str], anchor: str, count: int) -> tuple[str, ...]:
        """The ``count`` things nearest to an anchor, if they clearly are; else ()."""
        view = self._seen_by[0]
        order = sorted(names, key=lambda name: view.distance(name, anchor))
        inner, outer = (view.distance(order[k], anchor) for k in (count - 1, count))
        clear = inner < NEAR_RATIO * outer and outer - inner > LEAST_FAR_M
        return tuple(name for name in names if name in order[:count]) if clear else ()

