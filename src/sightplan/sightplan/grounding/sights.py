"""What it tells that a thing is in view, or is not.

Whoever stands before an open drawer sees what is inside; what is in view is not behind a closed
door, nor in a room that is not. A domain's ``priors.yaml`` says so by rules: where all literals
hold, the first one's first argument is in view, or is not, but for a fraction of exceptions.
Where the first literal does not hold, it is in view or not as often as it otherwise is: the
ratio of the two is what a look says.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from sightplan import model
from sightplan.domains.schema import Pattern
from sightplan.grounding.constraints import parse_literal
from sightplan.grounding.solver import Bools, Floats
from sightplan.model import Atom
from sightplan.model.reading import Record

_LEAST_EXCEPTIONS = 0.02
"""No rule is trusted more than this: what hides a thing in one home may not occur in others."""

Beside = Literal['in_view', 'out_of_view', 'any']


class SightRule(Record):
    """Where a thing is in view, or is not.

    Attributes:
        holds: literals; the first one's first variable is the thing.
        in_view: whether it is.
        beside: the rule is about looks in which the other objects of the first literal are in
            view, or out of view, or any.
        exceptions: fraction of cases in which it is otherwise.
        otherwise: the same fraction where the first literal does not hold, but the others do.
    """

    holds: Annotated[tuple[str, ...], Field(min_length=1)]
    in_view: bool
    beside: Beside = 'any'
    exceptions: Annotated[float, Field(gt=0.0, lt=1.0)]
    otherwise: Annotated[float, Field(gt=0.0, lt=1.0)]


@dataclass(frozen=True, slots=True)
class Case:
    """A rule about one thing.

    Attributes:
        thing: what is in view or not.
        others: the other objects of the rule's first literal.
        literals: when the rule applies.
        in_view: what it says then.
        beside: see SightRule.
        log_exception: by how much an exception makes the first literal likelier [nats] (negative).
        log_agreement: likewise what is as the rule says.
    """

    thing: str
    others: frozenset[str]
    literals: tuple[model.Literal, ...]
    in_view: bool
    beside: Beside
    log_exception: float
    log_agreement: float

    def speaks(self, visible: Collection[str]) -> bool:
        """Whether a look is about it."""
        return (self.beside == 'any' or (self.others <= set(visible) if self.beside == 'in_view'
                                         else self.others.isdisjoint(visible)))


def cases_of(rule: SightRule, atoms: Collection[Atom]) -> list[Case]:
    """A rule, for each atom of its first literal; those with literals about others are left out.

    Raises:
        ValueError: the rule has no such form.
    """
    parts = [_pattern(text) for text in rule.holds]
    (first, _), known = parts[0], set(atoms)
    exceptions, otherwise = max(rule.exceptions, _LEAST_EXCEPTIONS), max(
        rule.otherwise, _LEAST_EXCEPTIONS)
    found = []
    for atom in atoms:
        if atom.predicate != first.predicate or len(set(atom.args)) < len(atom.args):
            continue
        bound = dict(zip(first.terms, atom.args, strict=True))
        literals = tuple(model.Literal(Atom(pattern.predicate, tuple(
            bound.get(term, term) for term in pattern.terms)), positive)
            for pattern, positive in parts)
        if known.issuperset(literal.atom for literal in literals):
            found.append(Case(
                atom.args[0], frozenset(atom.args[1:]), literals, rule.in_view, rule.beside,
                min(math.log(exceptions / otherwise), 0.0),
                max(math.log((1.0 - exceptions) / (1.0 - min(otherwise, 0.98))), 0.0)))
    return found


class Sights:
    """What looks have shown, by the rules of a domain.

    Only what was seen counts as agreement: that a thing is nowhere to be seen is said by many
    cases at once. A case counts once for and once against, for views persist.

    Args:
        rules: of the domain.
        atoms: the columns.
    """

    def __init__(self, rules: Sequence[SightRule], atoms: Sequence[Atom]) -> None:
        self._cases = [case for rule in rules for case in cases_of(rule, atoms)]
        number = {atom: i for i, atom in enumerate(atoms)}
        width = max((len(case.literals) for case in self._cases), default=1)
        self._columns = np.zeros((len(self._cases), width), np.intp)
        self._wanted = np.zeros((len(self._cases), width), np.bool_)
        for i, case in enumerate(self._cases):
            for j in range(width):  # short ones say their last literal again
                literal = case.literals[min(j, len(case.literals) - 1)]
                self._columns[i, j] = number[literal.atom]
                self._wanted[i, j] = literal.positive
        self._seen: dict[tuple[int, bool], list[int]] = {}  # looks, by case and whether it agrees
        self._last: dict[int, bool] = {}

    def see(self, look: int, visible: Collection[str], touched: Collection[str] = ()) -> None:
        """Take in what is in view at a look.

        Args:
            look: its number.
            visible: names of all objects in view.
            touched: names that the last action was about; of all others the same look again
                says nothing new.
        """
        last, self._last = self._last, {}
        for number, case in enumerate(self._cases):
            agrees = (case.thing in visible) is case.in_view
            if not case.speaks(visible) or (agrees and not case.in_view):
                continue
            self._last[number] = agrees
            if last.get(number) is not agrees or case.thing in touched or (
                    not case.others.isdisjoint(touched)):
                self._seen.setdefault((number, agrees), []).append(look)

    def log_likelihood(self, seen: Bools) -> Floats:
        """(K,) what speaks for each course [nats].

        Args:
            seen: (looks, K, n) states at the looks.
        """
        total = np.zeros(seen.shape[1])
        if not self._seen:
            return total
        looks = np.concatenate([np.array(found) for found in self._seen.values()])
        cases = np.repeat([number for number, _ in self._seen], [
            len(found) for found in self._seen.values()])
        holds = np.ones((len(looks), seen.shape[1]), np.bool_)
        for columns, wanted in zip(self._columns[cases].T, self._wanted[cases].T, strict=True):
            holds &= seen[looks, :, columns] == wanted[:, None]
        starts = np.cumsum([0, *(len(found) for found in self._seen.values())])[:-1]
        ever = np.logical_or.reduceat(holds, starts, axis=0)
        worth = np.array([self._cases[number].log_agreement if agrees
                          else self._cases[number].log_exception
                          for number, agrees in self._seen])
        return np.asarray(worth @ ever)


def _pattern(text: str) -> tuple[Pattern, bool]:
    found = parse_literal(text)
    if found is None or not isinstance(found.part, Pattern):
        raise ValueError(f'{text!r} is no literal such as "inside(?o, ?c)"')
    return found.part, found.positive
