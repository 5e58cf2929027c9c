"""Uses of the things of a table, and the places that serve them: ``uses.yaml``.

The generator of implicit instructions takes their truth from here, and the reader of instructions
what things are for. Neither imports the other.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

from sightplan.model.reading import Record, read_file

FILE = Path(__file__).with_name('uses.yaml')


class Use(Record):
    """A use of things.

    Attributes:
        things: categories that serve it.
        doubtful: categories, or colours and categories, that somebody might count in.
        cues: words that tell it; all words of one must stand in a description.
    """

    things: tuple[str, ...]
    doubtful: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()


class Purpose(Record):
    """Places that serve a purpose.

    Attributes:
        kinds: categories of places, or names of drawers, each of which serves best.
        also: categories of places that are as right where they are on the table.
        unless: categories that make it doubtful which place is meant.
        ends: whether a drawer is left open or closed; '' where there is none.
    """

    kinds: tuple[str, ...]
    also: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    ends: Literal['', 'open', 'closed'] = ''

    @property
    def is_drawer(self) -> bool:
        """Whether the places are drawers."""
        return bool(self.ends)


class Uses(Record):
    """Content of ``uses.yaml``, which explains its fields."""

    uses: dict[str, Use]
    all: tuple[str, ...]
    one: tuple[str, ...]
    between: tuple[str, ...]
    nouns: dict[str, str]
    verbs: dict[str, tuple[str, ...]]
    purposes: dict[str, Purpose]


@functools.cache
def uses() -> Uses:
    """Read the uses; the file is read once a process."""
    return read_file(Uses, FILE)
