"""Readers of outside input that users reach, with good input to spoil."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.model import InputError


class Outcome(enum.StrEnum):
    """Outcome of reading an input.

    CRASHED: another exception than the reader documents, an error that is not clear, the end of
    the process, or too much memory. HUNG: not done within the time limit.
    """

    ACCEPTED = 'accepted'
    REFUSED = 'refused'
    SKIPPED = 'skipped'
    CRASHED = 'crashed'
    HUNG = 'hung'


KINDS = ('pddl', 'yaml', 'lines', 'bags', 'pictures', 'calibrations', 'robots', 'suites',
         'replies')
"""Kinds of input, in the order of the table."""


@dataclass(frozen=True)
class Seed:
    """A good input that is to be spoilt.

    Attributes:
        content: what is spoilt.
        name: path of its file below a folder; '' of a reply, which is no file.
        beside: other files of the folder, by path.
        given: what of the folder the reader is given; '' stands for the folder itself, None for
            the file.
    """

    content: bytes
    name: str = ''
    beside: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    given: str | None = None


@dataclass(frozen=True)
class Target:
    """A reader, with its inputs and documented errors.

    Attributes:
        name: unique.
        kind: one of ``KINDS``.
        form: how its input is spoilt, a key of ``spoiling.FORMS``.
        seeds: good inputs.
        read: reads a file or folder (a path), or a reply (a text): the whole way that a user's
            input goes. It returns what became of it, None for ``ACCEPTED``.
        refusals: the errors that it documents.
        turns: how many inputs it reads while others read one; more where reading is quick.
    """

    name: str
    kind: str
    form: str
    seeds: tuple[Seed, ...]
    read: Callable[[Any], Outcome | None]
    refusals: tuple[type[Exception], ...] = (InputError,)
    turns: int = 1


def beside(folder: Path) -> dict[str, bytes]:
    """All files of a folder, by their path below it."""
    return {str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob('*')) if path.is_file()}


def refused(reason: str) -> Outcome | None:
    """``REFUSED`` where a reply comes back with a reason, as readers of replies do."""
    return Outcome.REFUSED if reason else None
