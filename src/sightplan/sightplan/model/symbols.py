"""Predicate-logic nouns: ground atoms, literals, states, actions and plans."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sightplan.model.region import Region

_NAME = re.compile(r'[a-z0-9][a-z0-9_.-]*\Z')
_CALL = re.compile(r'([^\s(]+)\((.*)\)')


def _check_names(kind: str, names: Iterable[str]) -> None:
    for name in names:
        if not _NAME.match(name):
            raise ValueError(f'{kind}: {name!r} is not a lower-case PDDL name'
                             f'{"; write an atom as in on g,b" if kind == "atom" else ""}')


@dataclass(frozen=True, slots=True, order=True)
class Atom:
    """A ground atom, for example ``on(r, g)``; names are lower case as in PDDL."""

    predicate: str
    args: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_names('atom', (self.predicate, *self.args))

    def __str__(self) -> str:
        """Canonical text, ``on r,g``: the key of every results file (ViPlan's own format)."""
        return f'{self.predicate} {",".join(self.args)}' if self.args else self.predicate

    @classmethod
    def parse(cls, text: str) -> Atom:
        """Read the canonical text, or ``on(r, g)``; case is folded.

        Raises:
            ValueError: the text is neither; says what is wrong.
        """
        text = text.strip().lower()
        called = _CALL.fullmatch(text)
        predicate, args = called.groups() if called else text.partition(' ')[::2]
        parts = tuple(a.strip() for a in args.split(',')) if args.strip() else ()
        return cls(predicate, parts)


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """An atom that must hold (``positive``) or must not."""

    atom: Atom
    positive: bool = True

    def __str__(self) -> str:
        return str(self.atom) if self.positive else f'not {self.atom}'

    def holds_in(self, state: State) -> bool:
        """Whether the literal is true in a closed-world state."""
        return (self.atom in state) is self.positive


State = frozenset[Atom]
"""A complete state under the closed-world assumption: the atoms that are true."""


@dataclass(frozen=True, slots=True, order=True)
class Action:
    """A ground action, for example ``moveblock(r, c1)``; names are lower case.

    Attributes:
        name: of the action.
        args: objects or directions.
        region: where in the picture it is done; None where nobody says. Two actions are the same
            whatever their regions.
    """

    name: str
    args: tuple[str, ...] = ()
    region: Region | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _check_names('action', (self.name, *self.args))

    def __str__(self) -> str:
        return f'{self.name}({", ".join(self.args)})'

    @classmethod
    def parse(cls, text: str) -> Action:
        """Read ``name(arg, arg)``; case is folded.

        Raises:
            ValueError: text has another form.
        """
        match = re.fullmatch(r'\s*([^\s()]+)\s*\(([^()]*)\)\s*', text.lower())
        if match is None:
            raise ValueError(f'{text!r} is not an action of the form name(arg, arg)')
        args = match.group(2).strip()
        return cls(match.group(1), tuple(a.strip() for a in args.split(',')) if args else ())


Plan = tuple[Action, ...]
"""A sequential plan; it is valid when each action is applicable and the goal holds at the end."""
