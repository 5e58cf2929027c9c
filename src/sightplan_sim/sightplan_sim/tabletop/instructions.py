"""Explicit instructions for tidying a table in words.

``instructions.yaml`` holds wordings for tuning, ``instructions_held_out.yaml`` those of the test
scenes.
"""

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

FILE = Path(__file__).with_name('instructions.yaml')
HELD_OUT_FILE = Path(__file__).with_name('instructions_held_out.yaml')
Wordings = tuple[str, ...]
"""Texts with one meaning, of which an instruction has any one."""


class Group(Record):
    """A word for several categories.

    Attributes:
        categories: that belong to it.
        unless: that somebody may count in.
    """

    categories: tuple[str, ...]
    unless: tuple[str, ...]


class ExplicitWords(Record):
    """One set of wordings of explicit instructions; the file explains its fields."""

    drawers: dict[str, Wordings]
    with_part: Wordings
    with_parts: Wordings
    one_with_part: Wordings
    one: dict[str, Wordings]
    things: dict[str, Wordings]
    clauses: dict[str, Wordings]
    any_order: Wordings
    stages: tuple[tuple[str, str, str], ...]
    alone: Wordings

    def templates(self) -> list[str]:
        """All wordings of the set."""
        found = [
            text
            for texts in (
                self.with_part,
                self.with_parts,
                self.one_with_part,
                self.any_order,
                self.alone,
                *self.stages,
            )
            for text in texts
        ]
        return found + [
            text
            for part in (self.drawers, self.one, self.things, self.clauses)
            for texts in part.values()
            for text in texts
        ]


class _Tuning(Record):
    """Content of ``instructions.yaml``."""

    nouns: dict[str, tuple[str, str]]
    parts: dict[str, str]
    counts: tuple[str, ...]
    groups: dict[str, Group]
    prepositions: dict[str, tuple[str, str]]
    coloured: str
    coloured_one: str
    wordings: ExplicitWords


@dataclass(frozen=True)
class InstructionWords:
    """Words of explicit instructions.

    Attributes:
        common: what both sets of wordings share.
        held_out: the wordings of test scenes.
    """

    common: _Tuning
    held_out: ExplicitWords

    @property
    def groups(self) -> dict[str, Group]:
        """Groups of categories by their word."""
        return self.common.groups

    def wordings(self, held_out: bool) -> ExplicitWords:
        """Wordings for test scenes, or those for tuning."""
        return self.held_out if held_out else self.common.wordings


@functools.cache
def instruction_words() -> InstructionWords:
    """Read the words of explicit instructions; the files are read once a process.

    Raises:
        InputError: a file is wrong; names file and field.
    """
    return InstructionWords(read_file(_Tuning, FILE), read_file(ExplicitWords, HELD_OUT_FILE))


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
        rng: chooses among wordings.
    """

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self._table, self._rng = table, rng
        words = instruction_words()
        self._common, self._words = words.common, words.wordings(table.held_out)
        self._places: dict[str, str] = {}

    def _pick(self, options: Sequence[str]) -> str:
        return options[int(self._rng.integers(len(options)))]

    # --- things ----------------------------------------------------------------------------------

    def things(self, references: Sequence[Reference]) -> Phrase:
        """A phrase for all of several references, in their order."""
        phrases = [self._phrase(one) for one in references]
        return Phrase(
            _joined([one.text for one in phrases]), len(phrases) > 1 or phrases[0].plural
        )

    def _phrase(self, reference: Reference) -> Phrase:
        words, count = self._words.things, len(reference.names)
        total = len(self._fitting(reference))
        fields = {
            'this': self._noun(reference, 1),
            'these': self._noun(reference, 2),
            'count': self._common.counts[total],
            'some': self._common.counts[count],
            'anchor': self.destination(reference.anchor) if reference.anchor else '',
        }
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
        return [
            one.name
            for one in self._table.things
            if one.thing.category in reference.categories
            and reference.colour in ('', one.thing.colour)
        ]

    def _colour(self, name: str) -> str:
        return self._table.named(name).thing.colour

    def _noun(self, reference: Reference, number: int) -> str:
        """Noun phrase for a reference, without an article."""
        noun = self._common.nouns[reference.categories[0]][number - 1]
        if not reference.colour:
            return noun
        part = self._table.named(reference.names[0]).thing.coloured
        template = (
            self._common.coloured
            if part == BODY
            else self._pick(self._words.with_part if number == 1 else self._words.with_parts)
        )
        return template.format(
            noun=noun, colour=reference.colour, part=part, parts=self._common.parts.get(part, part)
        )

    def _one(self, reference: Reference) -> str:
        """The one that is left out."""
        part = self._table.named(reference.names[0]).thing.coloured
        if reference.choice is not Choice.ALL:
            template = self._pick(self._words.one[reference.choice.value])
        elif part == BODY:
            template = self._common.coloured_one
        else:
            template = self._pick(self._words.one_with_part)
        return template.format(
            colour=reference.colour,
            part=part,
            anchor=self.destination(reference.anchor) if reference.anchor else '',
        )

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
        noun = self._common.nouns[thing.category][0]
        alone = sum(one.thing.category == thing.category for one in self._table.things) == 1
        if alone and self._rng.random() < 0.5:
            return f'the {noun}'
        return f'the {self._common.coloured.format(noun=noun, colour=thing.colour)}'

    def _kind(self, name: str) -> str:
        return 'drawer' if name in self._words.drawers else self._table.named(name).thing.category

    # --- clauses ---------------------------------------------------------------------------------

    def clause(self, action: str, goods: Sequence[tuple[Phrase, str]], drawer: str) -> str:
        """Infinitive clause that says what is to be done.

        Args:
            action: of ``arrangements.Clause``.
            goods: phrases for things, each with the name of its destination.
            drawer: name of the drawer, or ''.
        """
        if len(goods) > 1:
            pairs = [f'{phrase.text} {self.place_fields(name)["into"]}' for phrase, name in goods]
            return self._pick(self._words.any_order).format(pairs=_joined(pairs))
        fields = {'drawer': self.destination(drawer)} if drawer else {}
        if goods:
            ((phrase, name),) = goods
            fields |= {
                'things': phrase.text,
                'them': 'them' if phrase.plural else 'it',
                **self.place_fields(name),
            }
        return self._pick(self._words.clauses[action]).format(**fields)

    def place_fields(self, name: str) -> dict[str, str]:
        """A destination with its prepositions: ``into`` and ``in``."""
        into, within = self._common.prepositions[self._kind(name)]
        destination = self.destination(name)
        return {'into': f'{into} {destination}', 'in': f'{within} {destination}'}

    def start(self) -> None:
        """Begin an instruction, which may have other words for the same places."""
        self._places = {}

    def text(self, clauses: Sequence[str]) -> str:
        """The whole instruction."""
        if len(clauses) == 1:
            return _capital(self._pick(self._words.alone).format(clause=clauses[0]))
        staging = self._words.stages
        first, between, last = staging[int(self._rng.integers(len(staging)))]
        templates = [first, *[between] * (len(clauses) - 2), last]
        return ' '.join(
            _capital(template.format(clause=clause))
            for template, clause in zip(templates, clauses, strict=True)
        )


def _joined(texts: Sequence[str]) -> str:
    """Join texts with commas and a last "and"."""
    *most, last = texts
    return f'{", ".join(most)} and {last}' if most else last


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
