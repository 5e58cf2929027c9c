"""Phrasings of questions from ``wording.yaml``: some for training, others held out."""

from __future__ import annotations

import functools
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sightplan.model.reading import Record, read_file

FILE = Path(__file__).with_name('wording.yaml')


class Phrasings(Record):
    """Templates for the same question.

    Attributes:
        training: that models may be trained on.
        held_out: that no training scene has.
    """

    training: tuple[str, ...]
    held_out: tuple[str, ...]

    def of(self, held_out: bool) -> tuple[str, ...]:
        """Phrasings for held-out scenes, or those for training scenes."""
        return self.held_out if held_out else self.training


class PartPurpose(Phrasings):
    """A question about where to act on a thing.

    Attributes:
        parts: by category, names of parts that are right; the first that a thing has counts.
    """

    parts: dict[str, tuple[str, ...]]


class ThingPurpose(Phrasings):
    """A question about which thing serves.

    Attributes:
        things: categories that serve.
        unless: categories that somebody might choose as well.
    """

    things: tuple[str, ...]
    unless: tuple[str, ...]


class Names(Record):
    """Ways to name a thing: by category, by colour, by the colour of a part."""

    plain: Phrasings
    colour: Phrasings
    coloured_part: Phrasings


class Wording(Record):
    """Content of the file of phrasings, which explains its fields."""

    names: Names
    words: dict[str, str]
    object: Phrasings
    object_part: Phrasings
    restriction: dict[str, Phrasings]
    afd: tuple[PartPurpose, ...]
    contact: tuple[PartPurpose, ...]
    recommend: tuple[ThingPurpose, ...]
    place: Phrasings
    predict_things: tuple[ThingPurpose, ...]
    predict_parts: tuple[PartPurpose, ...]
    safety: tuple[PartPurpose, ...]
    traces: Phrasings
    part_words: tuple[str, ...]

    def phrasings(self) -> Iterator[Phrasings]:
        """All phrasings in the file."""
        yield from _phrasings(tuple(getattr(self, name) for name in type(self).model_fields))


def _phrasings(value: Any) -> Iterator[Phrasings]:
    if isinstance(value, Phrasings):
        yield value
    elif isinstance(value, Record):
        yield from _phrasings(tuple(getattr(value, name) for name in type(value).model_fields))
    elif isinstance(value, dict):
        yield from _phrasings(tuple(value.values()))
    elif isinstance(value, tuple):
        for item in value:
            yield from _phrasings(item)


@functools.cache
def wording() -> Wording:
    """Read the phrasings; the file is read once a process.

    Raises:
        InputError: the file is wrong; names file and field.
    """
    return read_file(Wording, FILE)


def fields_of(template: str) -> frozenset[str]:
    """Names of the fields of a template."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name)
