"""Pointing tasks about a table: things, parts, restrictions, and places to act."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from sightplan.model.region import Mask
from sightplan.model.scene import PointingTask
from sightplan_sim.tabletop.relations import Relations, the_one
from sightplan_sim.tabletop.shapes import Placed
from sightplan_sim.tabletop.table import Grid, footprint_of
from sightplan_sim.tabletop.visible import LEAST_PIXELS, Visible
from sightplan_sim.tabletop.wording import (
    PartPurpose,
    Phrasings,
    ThingPurpose,
    fields_of,
    wording,
)

MOST_OF_A_KIND = 4
"""Tasks of one kind that a scene has at most."""
PLACE_M = 0.06
"""Half the width of a free place."""

S1, S2 = 's1', 's2'


@dataclass(frozen=True, eq=False)
class _Asked:
    """A task before it is put into words.

    Attributes:
        phrasings: to choose from.
        name: of the thing that it is about; '' for a place.
        mask: gives the pixels that are right.
        fields: words that are known already.
        named: names of the things that fill fields.
    """

    phrasings: Phrasings
    name: str
    mask: Callable[[], Mask]
    fields: dict[str, str]
    named: dict[str, str]


class Asker:
    """Maker of tasks about a table, and of their words.

    Args:
        visible: what is seen.
        rng: chooses tasks and words.
    """

    def __init__(self, visible: Visible, rng: np.random.Generator) -> None:
        self._visible = visible
        self._rng = rng
        self._table = visible.table
        self._relations = Relations(visible.table)
        self._words = wording()
        self._shown = [one for one in self._table.things if visible.shows_thing(one.name)]
        self._ways = {one.name: self._relations.ways_to_name(one.name)
                      for one in self._table.things}
        self._nameable = [one for one in self._shown if self._ways[one.name]]

    def tasks(self) -> tuple[PointingTask, ...]:
        """Tasks of every kind, a limited number of each."""
        kinds: tuple[tuple[str, str, Callable[[], Iterator[_Asked]]], ...] = (
            (S1, 'object', self._objects), (S1, 'object part', self._parts),
            (S1, 'restriction', self._restrictions),
            (S2, 'afd', lambda: self._acted(self._words.afd)),
            (S2, 'contact', lambda: self._acted(self._words.contact)),
            (S2, 'recommend', self._recommended), (S2, 'predict', self._predicted),
            (S2, 'safety', lambda: self._acted(self._words.safety)))
        return tuple(task for stage, kind, find in kinds
                     for task in self._ask_some(stage, kind, list(find())))

    def name(self, name: str) -> str:
        """Words that mean this thing only.

        Raises:
            ValueError: there are none.
        """
        ways = self._ways[name]
        if not ways:
            raise ValueError(f'nothing means {name!r} only')
        thing = self._table.named(name).thing
        way: Phrasings = getattr(self._words.names, self._pick(ways))
        return self._pick(way.of(self._table.held_out)).format(
            category=self._word(thing.category), colour=thing.colour, part=thing.coloured)

    def _word(self, category: str) -> str:
        return self._words.words.get(category, category)

    def nameable(self) -> list[Placed]:
        """Things that are seen and that have a name of their own."""
        return self._nameable

    def phrase(self, phrasings: Phrasings, fields: dict[str, str],
               named: dict[str, str]) -> str:
        """A phrasing with words and names filled in."""
        names = {field: self.name(name) for field, name in named.items()}
        filled = {**fields, **names}
        fitting = [template for template in phrasings.of(self._table.held_out)
                   if fields_of(template) <= filled.keys()]
        return self._pick(fitting).format(**filled)

    # --- choosing -------------------------------------------------------------------------------

    def _ask_some(self, stage: str, kind: str, asked: Sequence[_Asked]) -> Iterator[PointingTask]:
        order = self._rng.permutation(len(asked))[:MOST_OF_A_KIND]
        for one in (asked[k] for k in order):
            yield PointingTask(self.phrase(one.phrasings, one.fields, one.named), stage, kind,
                               one.mask(), one.name)

    def _pick(self, options: Sequence[str]) -> str:
        return options[int(self._rng.integers(len(options)))]

    def _thing_mask(self, name: str) -> Callable[[], Mask]:
        return lambda: self._visible.thing(name)

    def _part_mask(self, name: str, part: str) -> Callable[[], Mask]:
        return lambda: self._visible.part(name, part)

    # --- stage 1 --------------------------------------------------------------------------------

    def _objects(self) -> Iterator[_Asked]:
        for one in self._nameable:
            yield _Asked(self._words.object, one.name, self._thing_mask(one.name), {},
                         {'thing': one.name})

    def _parts(self) -> Iterator[_Asked]:
        for one in self._nameable:
            for part in self._words.part_words:
                if self._visible.shows_part(one.name, part):
                    yield _Asked(self._words.object_part, one.name,
                                 self._part_mask(one.name, part), {'part': part},
                                 {'thing': one.name})

    def _restrictions(self) -> Iterator[_Asked]:
        relations, words = self._relations, self._words.restriction
        everything = [one.name for one in self._table.things]

        def asked(kind: str, name: str, category: str, **named: str) -> Iterator[_Asked]:
            if name and self._visible.shows_thing(name):
                yield _Asked(words[kind], name, self._thing_mask(name),
                             {'category': self._word(category)}, named)

        yield from asked('tallest', relations.tallest(everything), '')
        for category in sorted({one.thing.category for one in self._table.things}):
            names = [one.name for one in relations.called(category)]
            if len(names) < 2 or any(self._table.named(name).thing.category != category
                                     for name in names):
                continue
            for kind in ('largest', 'smallest', 'leftmost', 'rightmost'):
                yield from asked(kind, getattr(relations, kind)(names), category)
            others = [one.name for one in self._nameable if one.name not in names]
            for other in others:
                for kind in ('left', 'right', 'front', 'behind', 'inside', 'on'):
                    answers = {name: getattr(relations, kind)(name, other) for name in names}
                    yield from asked(kind, the_one(answers), category, other=other)
                yield from asked('nearest', relations.nearest(names, other), category, other=other)
            for ends in itertools.combinations(others, 2):
                answers = {name: relations.between(name, ends) for name in names}
                yield from asked('between', the_one(answers), category, other=ends[0],
                                 third=ends[1])

    # --- stage 2 --------------------------------------------------------------------------------

    def _acted(self, purposes: Sequence[PartPurpose]) -> Iterator[_Asked]:
        for purpose in purposes:
            for one in self._nameable:
                own = {part.name for part in one.thing.parts}
                right = [part for part in purpose.parts.get(one.thing.category, ()) if part in own]
                if right and self._visible.shows_part(one.name, right[0]):
                    yield _Asked(purpose, one.name, self._part_mask(one.name, right[0]), {},
                                 {'thing': one.name})

    def _serving(self, purposes: Sequence[ThingPurpose]) -> Iterator[_Asked]:
        for purpose in purposes:
            serving = [one for one in self._table.things if one.thing.category in purpose.things]
            doubtful = any(one.thing.category in purpose.unless for one in self._table.things)
            if len(serving) == 1 and not doubtful and self._visible.shows_thing(serving[0].name):
                name = serving[0].name
                yield _Asked(purpose, name, self._thing_mask(name), {}, {})

    def _recommended(self) -> Iterator[_Asked]:
        yield from self._serving(self._words.recommend)
        mask = self._free()
        if np.count_nonzero(mask) >= LEAST_PIXELS:
            yield _Asked(self._words.place, '', lambda: mask, {}, {})

    def _predicted(self) -> Iterator[_Asked]:
        yield from self._serving(self._words.predict_things)
        yield from self._acted(self._words.predict_parts)

    def _free(self) -> Mask:
        """Pixels (H, W) of the table with free space around them, away from its edges."""
        grid = Grid(self._table.look.half_m, 0.005)
        taken = grid.empty()
        for one in self._table.things:
            grid.fill(taken, footprint_of(one))
        bordered = np.pad(taken, 1, constant_values=1)
        free = (grid.clearance(bordered)[1:-1, 1:-1] > PLACE_M).astype(np.uint8)
        view = self._visible.view
        rows, columns = free.shape
        corners = np.array([(0, 0), (columns, 0), (columns, rows), (0, rows)], np.float64)
        ground = np.column_stack([corners * grid.cell_m + grid.low, np.zeros(4)])
        warp = cv2.getPerspectiveTransform((corners - 0.5).astype(np.float32),
                                           view.project(ground).astype(np.float32))
        shown = cv2.warpPerspective(free, warp, (view.optics.width, view.optics.height),
                                    flags=cv2.INTER_NEAREST)
        return np.asarray((shown > 0) & self._visible.frame.table)
