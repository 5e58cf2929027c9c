"""Instructions for tidying a table in words, from ``instructions.yaml``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sightplan.model.reading import Record, read_file
from sightplan_sim.tabletop.meanings import Choice, Reference
from sightplan_sim.tabletop.shapes import BODY
from sightplan_sim.tabletop.table import Table
from sightplan_sim.tabletop.wording import Phrasings

FILE = Path(__file__).with_name('instructions.yaml')


class Staging(Record):
    """Templates for the first of several clauses, those between, and the last one."""

    training: tuple[tuple[str, str, str], ...]
    held_out: tuple[tuple[str, str, str], ...]

    def of(self, held_out: bool) -> tuple[tuple[str, str, str], ...]:
        """Sequences of phrasings for held-out scenes, or those for training scenes."""
        return self.held_out if held_out else self.training


class Group(Record):
    """A word for several categories.

    Attributes:
        categories: that belong to it.
        unless: that somebody may count in.
        plural: whether the word is a plural.
    """

    categories: tuple[str, ...]
    unless: tuple[str, ...]
    plural: bool


class InstructionWords(Record):
    """Content of the file of instruction phrasings, which explains its fields."""

    nouns: dict[str, tuple[str, str]]
    parts: dict[str, str]
    counts: tuple[str, ...]
    groups: dict[str, Group]
    prepositions: dict[str, tuple[str, str]]
    drawers: dict[str, Phrasings]
    this: dict[str, Phrasings]
    these: dict[str, Phrasings]
    one: dict[str, Phrasings]
    things: dict[str, Phrasings]
    destination: dict[str, Phrasings]
    explicit: dict[str, Phrasings]
    implicit: dict[str, Phrasings]
    any_order: dict[str, Phrasings]
    stages: dict[str, Staging]
    alone: Phrasings

    def templates(self, held_out: bool) -> list[str]:
        """All phrasings for held-out scenes, or all for training scenes."""
        found = [text for name in ('drawers', 'this', 'these', 'one', 'things', 'destination',
                                   'explicit', 'implicit', 'any_order')
                 for one in getattr(self, name).values() for text in one.of(held_out)]
        found += [text for one in self.stages.values() for texts in one.of(held_out)
                  for text in texts]
        return [*found, *self.alone.of(held_out)]


@functools.cache
def instruction_words() -> InstructionWords:
    """Read the instruction phrasings; the file is read once a process.

    Raises:
        InputError: the file is wrong; names file and field.
    """
    return read_file(InstructionWords, FILE)


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase for things.

    Attributes:
        text: such as "both red mugs".
        plural: whether its verb is a plural's.
    """

    text: str
    plural: bool


class Teller:
    """Puts references, clauses and their sequence into words.

    Args:
        table: what is spoken about.
        rng: chooses among phrasings.
    """

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self._table, self._rng = table, rng
        self._words = instruction_words()
        self._places: dict[str, str] = {}

    def _pick(self, phrasings: Phrasings) -> str:
        options = phrasings.of(self._table.held_out)
        return options[int(self._rng.integers(len(options)))]

    # --- things ----------------------------------------------------------------------------------

    def things(self, references: Sequence[Reference]) -> Phrase:
        """A phrase for all of several references, in their order."""
        phrases = [self._phrase(one) for one in references]
        return Phrase(_joined([one.text for one in phrases]),
                      len(phrases) > 1 or phrases[0].plural)

    def _phrase(self, reference: Reference) -> Phrase:
        words, count = self._words.things, len(reference.names)
        if len(reference.categories) > 1:
            name, group = next((name, group) for name, group in self._words.groups.items()
                               if group.categories == reference.categories)
            return Phrase(self._pick(words['group']).format(group=name), group.plural)
        total = len(self._fitting(reference))
        fields = {'this': self._noun(reference, 1), 'these': self._noun(reference, 2),
                  'count': self._words.counts[total], 'some': self._words.counts[count],
                  'anchor': self.destination(reference.anchor) if reference.anchor else ''}
        match reference.choice:
            case Choice.ALL if count == 1:
                form = 'the_only'
            case Choice.ALL if count == 2:
                form = 'both'
            case Choice.ALL:
                several = len({self._colour(name) for name in reference.names}) > 1
                form = 'all_of_kind' if several else 'all'
            case Choice.NEAREST:
                form = 'nearest' if count == 1 else 'some_nearest'
            case Choice.ALL_BUT:
                form = 'all_but'
                assert reference.but is not None
                fields['one'] = self._one(reference.but)
            case Choice.LEFTMOST if total == 2:
                form = 'left_of_two'
            case Choice.RIGHTMOST if total == 2:
                form = 'right_of_two'
            case _:
                form = reference.choice.value
        return Phrase(self._pick(words[form]).format(**fields), count > 1)

    def _fitting(self, reference: Reference) -> list[str]:
        return [one.name for one in self._table.things
                if one.thing.category in reference.categories
                and reference.colour in ('', one.thing.colour)]

    def _colour(self, name: str) -> str:
        return self._table.named(name).thing.colour

    def _noun(self, reference: Reference, number: int) -> str:
        """Noun phrase for a reference, without an article."""
        noun = self._words.nouns[reference.categories[0]][number - 1]
        if not reference.colour:
            return noun
        part = self._table.named(reference.names[0]).thing.coloured
        form = 'colour' if part == BODY else 'coloured_part'
        phrasings = (self._words.this if number == 1 else self._words.these)[form]
        return self._pick(phrasings).format(
            noun=noun, nouns=noun, colour=reference.colour, part=part,
            parts=self._words.parts.get(part, part))

    def _one(self, reference: Reference) -> str:
        """The one that is left out."""
        part = self._table.named(reference.names[0]).thing.coloured
        form = reference.choice.value
        if reference.choice is Choice.ALL:
            form = 'colour' if part == BODY else 'coloured_part'
        return self._pick(self._words.one[form]).format(
            colour=reference.colour, part=part,
            anchor=self.destination(reference.anchor) if reference.anchor else '')

    # --- places ----------------------------------------------------------------------------------

    def destination(self, name: str) -> str:
        """Words for a destination or drawer, the same all through an instruction."""
        if name not in self._places:
            self._places[name] = self._destination(name)
        return self._places[name]

    def _destination(self, name: str) -> str:
        if name in self._words.drawers:
            return self._pick(self._words.drawers[name])
        thing = self._table.named(name).thing
        alone = sum(one.thing.category == thing.category for one in self._table.things) == 1
        form = 'plain' if alone and self._rng.random() < 0.5 else 'colour'
        return self._pick(self._words.destination[form]).format(
            noun=self._words.nouns[thing.category][0], colour=thing.colour)

    def _kind(self, name: str) -> str:
        return 'drawer' if name in self._words.drawers else self._table.named(name).thing.category

    # --- clauses ---------------------------------------------------------------------------------

    def clause(self, action: str, explicit: bool, goods: Sequence[tuple[Phrase, str]],
               drawer: str) -> str:
        """A clause without capital and full stop.

        Args:
            action: of ``arrangements.Clause``.
            explicit: whether it says what is to be done, or what is wanted.
            goods: phrases for things, each with the name of its destination.
            drawer: name of the drawer, or ''.
        """
        if len(goods) > 1:
            return self._any_order(explicit, goods)
        words = self._words.explicit if explicit else self._words.implicit
        name = action if explicit else {'shut': 'stow', 'fill': 'leave'}.get(action, action)
        options = [words[name]]
        if action == 'put' and not explicit:
            options.append(words[f'put_{self._kind(goods[0][1])}'])
        phrasings = options[int(self._rng.integers(len(options)))]
        fields = {'drawer': self.destination(drawer)} if drawer else {}
        if goods:
            fields |= self._fields(*goods[0])
        return self._pick(phrasings).format(**fields)

    def _any_order(self, explicit: bool, goods: Sequence[tuple[Phrase, str]]) -> str:
        pairs = []
        for phrase, name in goods:
            fields = self._fields(phrase, name)
            pairs.append('{things} {into}'.format(**fields) if explicit
                         else '{things} {belong} {in}'.format(**fields))
        words = self._words.any_order['explicit' if explicit else 'implicit']
        return self._pick(words).format(pairs=_joined(pairs))

    def _fields(self, phrase: Phrase, name: str) -> dict[str, str]:
        into, within = self._words.prepositions[self._kind(name)]
        destination = self.destination(name)
        forms = {'belong': ('belongs', 'belong'), 'are': ('is', 'are'), 'have': ('has', 'have'),
                 'go': ('goes', 'go'), 'them': ('it', 'them'), 'they': ('it', 'they')}
        return {'things': phrase.text, 'destination': destination,
                'into': f'{into} {destination}', 'in': f'{within} {destination}',
                **{word: forms[word][phrase.plural] for word in forms}}

    def text(self, explicit: bool, clauses: Sequence[str]) -> str:
        """The whole instruction; the next one may have other words for the same places."""
        self._places = {}
        if len(clauses) == 1:
            template = self._pick(self._words.alone) if explicit else '{clause}.'
            return _capital(template.format(clause=clauses[0]))
        staging = self._words.stages['explicit' if explicit else 'implicit'].of(
            self._table.held_out)
        first, between, last = staging[int(self._rng.integers(len(staging)))]
        templates = [first, *[between] * (len(clauses) - 2), last]
        return ' '.join(_capital(template.format(clause=clause))
                        for template, clause in zip(templates, clauses, strict=True))


def _joined(texts: Sequence[str]) -> str:
    """Join texts with commas and a last "and"."""
    *most, last = texts
    return f'{", ".join(most)} and {last}' if most else last


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
