"""Targets that are not on a table: to train, calibrate and measure what models do about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from sightplan_sim.tabletop.catalogue import CATEGORIES, colours_of, make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.relations import Relations
from sightplan_sim.tabletop.shapes import BODY, Placed
from sightplan_sim.tabletop.table import Table
from sightplan_sim.tabletop.wording import Phrasings, wording

STRANGERS = (
    'unicorn', 'elephant', 'trombone', 'helicopter', 'xylophone', 'cactus', 'parachute', 'wombat',
    'accordion', 'chandelier', 'snorkel', 'tractor', 'igloo', 'harpoon', 'gargoyle', 'zeppelin',
    'saxophone', 'giraffe', 'submarine', 'typewriter', 'umbrella', 'volcano', 'waterfall',
    'skeleton', 'pyramid', 'octopus', 'necklace', 'microscope', 'lighthouse', 'kangaroo',
    'hedgehog', 'guitar', 'fireplace', 'dinosaur', 'compass', 'bulldozer', 'astronaut', 'anchor',
    'zebra', 'wheelbarrow', 'violin', 'trampoline', 'tombstone', 'sombrero', 'sausage', 'rocket',
    'pumpkin', 'pineapple', 'penguin', 'parrot', 'motorcycle', 'mermaid', 'lobster', 'locomotive',
    'ladder', 'jellyfish', 'hammock', 'flamingo', 'envelope', 'dragon', 'dolphin', 'crocodile',
    'chimney', 'cathedral', 'butterfly', 'bicycle', 'beehive', 'avocado', 'antenna', 'alligator')
"""Things that no table of ours has, in words that no catalogue of ours has and no model of ours
learned from."""
LOOKALIKES = ('colour', 'swapped', 'similar')
"""Kinds of targets that are nearly there."""


@dataclass(frozen=True, slots=True)
class Absence:
    """A target that is not in a picture.

    Attributes:
        kind: ``kind`` (no such thing and none of its family is there), ``similar`` (one of its
            family is there), ``colour`` (such things are there, in other colours, and nothing has
            this one), ``swapped`` (likewise, but another thing has this one), ``relation`` (such
            things are there, but not where it is said) or ``unknown`` (a word that is no name of
            ours).
        text: the target, such as "the blue mug".
    """

    kind: str
    text: str


class Absences:
    """Finds words for what is not on a table, in the phrasings for held-out or training tables.

    On tables for training the colours of what is not there are those that training tables have,
    so that no colour tells by itself that a thing is not there.

    Args:
        table: with its things.
        rng: draws.
        strangers: names of things that are unknown.
    """

    def __init__(self, table: Table, rng: Random, strangers: Sequence[str] = STRANGERS) -> None:
        self._table, self._rng, self._strangers = table, rng, strangers
        self._words, self._relations = wording(), Relations(table)
        self._here = [one for one in table.things if one.thing.category in CATEGORIES]
        self._makers: dict[str, Callable[[], str]] = {
            'kind': lambda: self._other_kind(False), 'similar': lambda: self._other_kind(True),
            'colour': lambda: self._other_colour(False),
            'swapped': lambda: self._other_colour(True),
            'relation': lambda: self._place(false=True)[0], 'unknown': self._unknown}

    def target(self, kind: str) -> Absence | None:
        """A target of a kind, see ``Absence``; None where the table allows none."""
        name = self._makers[kind]()
        if not name or kind == 'relation':
            return Absence(kind, name) if name else None
        return Absence(kind, self._pick(self._words.object).format(thing=name))

    def named(self, kind: str) -> str:
        """The bare name of such a target, as "the blue mug"; '' where there is none."""
        return self._makers[kind]()

    def true_place(self) -> tuple[str, str]:
        """A thing of which it is rightly said where it is: text and the thing's name, or ''."""
        return self._place(false=False)

    def _pick(self, phrasings: Phrasings) -> str:
        return self._rng.choice(phrasings.of(self._table.held_out))

    def _coloured(self, category: str, colour: str) -> str:
        """Name of a thing by its category and colour."""
        part = _coloured_part(category)
        way = self._words.names.colour if part == BODY else self._words.names.coloured_part
        return self._pick(way).format(category=self._word(category), colour=colour, part=part)

    def _word(self, category: str) -> str:
        return self._words.words.get(category, category)

    def _colours(self, category: str) -> tuple[str, ...]:
        return (CATEGORIES[category].colours if self._table.held_out
                else colours_of(category, False))

    def _other_kind(self, similar: bool) -> str:
        here = {one.thing.category for one in self._here}
        words = {word for name in here for word in CATEGORIES[name].also} | {
            part for name in {one.thing.category for one in self._table.things}
            for part in (name, *name.split())}
        families = {CATEGORIES[name].family for name in here} - {''}
        names = [name for name, category in CATEGORIES.items()
                 if not {name, *category.also, *name.split()} & words
                 and (category.family in families) is similar]
        if not names:
            return ''
        name = self._rng.choice(names)
        if self._rng.random() < 0.5:
            return self._pick(self._words.names.plain).format(category=self._word(name))
        return self._coloured(name, self._rng.choice(self._colours(name)))

    def _other_colour(self, swapped: bool) -> str:
        seen = {one.thing.colour for one in self._table.things}
        other = [(name, colour) for name in sorted({one.thing.category for one in self._here})
                 for colour in self._colours(name)
                 if (colour in seen) is swapped
                 and all(one.thing.colour != colour for one in self._relations.called(name))]
        return self._coloured(*self._rng.choice(other)) if other else ''

    def _place(self, false: bool) -> tuple[str, str]:
        """A thing and where it is, with its name, or where no such thing is; '' without one."""
        relations = self._relations
        found: list[tuple[str, str, Placed, str]] = []
        for category in sorted({one.thing.category for one in self._here}):
            called = relations.called(category)
            if any(one.thing.category != category for one in called):
                continue
            for other in self._here:
                if other in called or not relations.ways_to_name(other.name):
                    continue
                kinds = ['left', 'right', 'front', 'behind']
                if other.thing.room is not None:
                    kinds += ['on' if other.thing.category == 'plate' else 'inside']
                for kind in kinds:
                    answers = [getattr(relations, kind)(one.name, other.name) for one in called]
                    right = [one for one, yes in zip(called, answers, strict=True) if yes]
                    if None not in answers and len(right) == (0 if false else 1):
                        found.append((kind, category, other, right[0].name if right else ''))
        if not found:
            return '', ''
        kind, category, other, placed = self._rng.choice(found)
        ways = relations.ways_to_name(other.name)
        way: Phrasings = getattr(self._words.names, self._rng.choice(ways))
        name = self._pick(way).format(category=self._word(other.thing.category),
                                      colour=other.thing.colour, part=other.thing.coloured)
        return self._pick(self._words.restriction[kind]).format(
            category=self._word(category), other=name), placed

    def _unknown(self) -> str:
        name = self._rng.choice(self._strangers)
        if self._rng.random() < 0.7:
            return self._pick(self._words.names.plain).format(category=name)
        colour = self._rng.choice([one.thing.colour for one in self._table.things])
        return self._pick(self._words.names.colour).format(category=name, colour=colour)


@functools.cache
def _coloured_part(category: str) -> str:
    """Name of the part of which a category's colour is told; ``body`` for the whole."""
    colour = colours_of(category, False)[0]
    return make_thing(Draw(np.random.default_rng(0), False), category, colour).coloured


def absent_targets(table: Table, rng: Random, kinds: Sequence[str] = (
        'kind', 'similar', 'colour', 'swapped', 'unknown')) -> list[Absence]:
    """Targets that are not on a table, one of each kind that the table allows, in random order.

    Args:
        table: with its things.
        rng: draws them.
        kinds: see ``Absence``.
    """
    absences = Absences(table, rng)
    found = [one for kind in kinds if (one := absences.target(kind)) is not None]
    rng.shuffle(found)
    return found
