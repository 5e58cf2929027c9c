"""Intentions behind implicit instructions: what they take, where to, and in which words.

``intentions.yaml`` holds the catalogue with wordings for tuning, ``intentions_held_out.yaml``
those of the test scenes.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

from sightplan.domains.tabletop.uses import FILE as USES_FILE
from sightplan.domains.tabletop.uses import uses
from sightplan.model import InputError
from sightplan.model.reading import Record, read_file

FILE = Path(__file__).with_name('intentions.yaml')
HELD_OUT_FILE = Path(__file__).with_name('intentions_held_out.yaml')


Whole = Literal['everything', 'middle', 'coloured']
"""Choices of things that are not by use."""


class Intention(Record):
    """Something that a person wants.

    Attributes:
        take: things: all, one or two of a use, the rest that is not of a use, or a ``Whole``.
        place: name of a purpose.
        wordings: whole sentences; {into} and {in} name the place, {like} tells a colour.
        also_doubtful: categories that are on no table of this intention.
    """

    take: tuple[dict[Literal['all', 'one', 'two', 'rest'], str] | Whole, ...]
    place: str
    wordings: tuple[str, ...]
    also_doubtful: tuple[str, ...] = ()


class Joined(Record):
    """Templates that join the sentences {a}, {b} and {c} of two or three intentions."""

    two: tuple[str, ...]
    three: tuple[str, ...]


class _Catalogue(Record):
    """Content of ``intentions.yaml``."""

    colours: dict[str, tuple[str, str]]
    intentions: dict[str, Intention]
    joined: Joined


class _HeldOut(Record):
    """Content of ``intentions_held_out.yaml``."""

    wordings: dict[str, tuple[str, ...]]
    joined: Joined


class Intentions:
    """The catalogue with either set of wordings.

    Attributes:
        uses, places, kinds: by name.
    """

    def __init__(self, catalogue: _Catalogue, held_out: _HeldOut) -> None:
        self.uses, self.places = uses().uses, uses().purposes
        self.kinds = catalogue.intentions
        self._colours, self._joined = catalogue.colours, (catalogue.joined, held_out.joined)
        self._held_out = held_out.wordings
        for name, kind in self.kinds.items():
            if kind.place not in self.places:
                raise InputError(
                    f'{FILE}: intentions.{name}.place = {kind.place!r} is none of '
                    f'the purposes of {USES_FILE.name} ({", ".join(self.places)})'
                )
            for use in uses_of(kind):
                if use not in self.uses:
                    raise InputError(
                        f'{FILE}: intentions.{name}.take names the use {use!r}, '
                        f'which {USES_FILE} does not have (add it there)'
                    )
        if unlike := set(self.kinds) ^ set(self._held_out):
            raise InputError(
                f'{HELD_OUT_FILE}: wordings and {FILE.name} differ in '
                f'{", ".join(sorted(unlike))} (give each intention wordings in both)'
            )

    def wordings(self, name: str, held_out: bool) -> tuple[str, ...]:
        """Wordings of an intention, for test scenes or for tuning."""
        return self._held_out[name] if held_out else self.kinds[name].wordings

    def like(self, colour: str, held_out: bool) -> str:
        """Something that is known for a colour."""
        return self._colours[colour][held_out]

    def joined(self, count: int, held_out: bool) -> tuple[str, ...]:
        """Templates that join the sentences of so many intentions."""
        found = self._joined[held_out]
        return {1: ('{a}',), 2: found.two, 3: found.three}[count]


def uses_of(kind: Intention) -> list[str]:
    """Names of the uses that an intention is about."""
    return [use for one in kind.take if isinstance(one, dict) for use in one.values()]


def takes_whole(kind: Intention) -> bool:
    """Whether an intention is about all of a table, so that it has no other beside it."""
    return any('rest' in one if isinstance(one, dict) else True for one in kind.take)


def names_place(wording: str) -> bool:
    """Whether a wording names the place, which else is to be inferred."""
    return '{in' in wording


@functools.cache
def intentions() -> Intentions:
    """Read the catalogue; its files are read once a process.

    Raises:
        InputError: a file is wrong, or contradicts the other one; names file and field.
    """
    return Intentions(read_file(_Catalogue, FILE), read_file(_HeldOut, HELD_OUT_FILE))
