"""Evidence from what is in view, and from what is not.

Whoever stands before an open drawer sees what is inside; what is in view is not behind a closed
door. A domain's ``priors.yaml`` says so by rules: where all literals hold, the first one's first
argument is in view, or is not, but for a fraction of exceptions.

To open a door moves no camera. So what comes into view as nothing but a door was opened was behind
it, and what goes out of view as one was closed is behind it now.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from sightplan.domains.batches import BatchModel
from sightplan.domains.schema import Pattern
from sightplan.model import Action, Atom, Literal, State
from sightplan.model.reading import Record
from sightplan_belief.constraints import parse_literal
from sightplan_belief.solver import Bools, Floats

_LEAST_EXCEPTIONS = 0.02
"""Smallest fraction of exceptions of a rule: what hides a thing in one home may be absent in
others."""


class VisibilityRule(Record):
    """Rule on where a thing is in view, or is not.

    Attributes:
        holds: literals; the first one's first variable is the thing.
        in_view: whether it is.
        exceptions: fraction of cases in which it is otherwise.
    """

    holds: Annotated[tuple[str, ...], Field(min_length=1)]
    in_view: bool
    exceptions: Annotated[float, Field(gt=0.0, lt=1.0)]


@dataclass(frozen=True, slots=True)
class Case:
    """A rule about one thing.

    Attributes:
        thing: what is in view or not.
        others: the other objects of the rule's first literal.
        literals: when the rule applies.
        in_view: what it says then.
        cost: of an exception [nats].
    """

    thing: str
    others: frozenset[str]
    literals: tuple[Literal, ...]
    in_view: bool
    cost: float

    def speaks(self, visible: Collection[str]) -> bool:
        """Whether an observation is about the case: the holder of the thing is in view."""
        return not self.in_view or self.others <= set(visible)

    def applies(self, state: State, visible: Collection[str]) -> bool:
        """Whether the rule says something about the thing in a state."""
        return self.speaks(visible) and all(part.holds_in(state) for part in self.literals)


def check_rule(rule: VisibilityRule, arities: Mapping[str, int]) -> None:
    """Check that a rule can be used in a domain.

    Args:
        rule: of its file.
        arities: number of arguments of each of its predicates.

    Raises:
        ValueError: the rule has another form, or is about other predicates.
    """
    (first, positive), *_ = parts = [_pattern(text) for text in rule.holds]
    if not positive or not first.terms or not all(term.startswith('?') for term in first.terms):
        raise ValueError(f'{rule.holds[0]!r} cannot come first: what is in view or not is the '
                         f'first variable of a literal without "not", such as "inside(?o, ?c)"')
    for pattern, _ in parts:
        if pattern.predicate not in arities:
            raise ValueError(f'the domain has no {pattern.predicate!r} (choose among '
                             f'{", ".join(arities)})')
        if len(pattern.terms) != arities[pattern.predicate]:
            raise ValueError(f'{pattern.predicate} takes {arities[pattern.predicate]} arguments, '
                             f'not {len(pattern.terms)}')
        unbound = [t for t in pattern.terms if t.startswith('?') and t not in first.terms]
        if unbound:
            raise ValueError(f'{unbound[0]} is not among the variables of the first literal, '
                             f'{rule.holds[0]!r}')


def cases_of(rule: VisibilityRule, atoms: Collection[Atom]) -> list[Case]:
    """Cases of a rule, for each atom of its first literal; those with unknown atoms are left out.

    Raises:
        ValueError: the rule has no such form.
    """
    parts = [_pattern(text) for text in rule.holds]
    (first, _), known = parts[0], set(atoms)
    found = []
    for atom in atoms:
        if atom.predicate != first.predicate or len(set(atom.args)) < len(atom.args):
            continue
        bound = dict(zip(first.terms, atom.args, strict=True))
        literals = tuple(Literal(Atom(pattern.predicate, tuple(
            bound.get(term, term) for term in pattern.terms)), positive)
            for pattern, positive in parts)
        if known.issuperset(literal.atom for literal in literals):
            found.append(Case(atom.args[0], frozenset(atom.args[1:]), literals, rule.in_view,
                              -math.log(max(rule.exceptions, _LEAST_EXCEPTIONS))))
    return found


class Visibility:
    """Evidence of all pictures so far about what is in view, by the rules of a domain.

    Args:
        rules: of the domain.
        atoms: the columns.
        model: to tell in which states literals hold.

    Attributes:
        hidden_by: atoms under which a thing may be out of view, each with the other atoms of the
            rules that say so: whether a door is open, for what is inside.
        uncovered: things that came into view, or went out of it, between the last two looks, while
            all that was done was one action on what hides them.
    """

    def __init__(self, rules: Sequence[VisibilityRule], atoms: Sequence[Atom], model: BatchModel,
                 ) -> None:
        self._model = model
        self._cases = [case for rule in rules for case in cases_of(rule, atoms)]
        self._tests = [model.test(case.literals) for case in self._cases]
        number = {atom: i for i, atom in enumerate(atoms)}
        self._doors = [frozenset(() if case.in_view else (
            number[literal.atom] for literal in case.literals[1:])) for case in self._cases]
        self.hidden_by: dict[Atom, list[Atom]] = {}
        for case in self._cases:
            if not case.in_view:
                first, *others = (literal.atom for literal in case.literals)
                self.hidden_by.setdefault(first, []).extend(others)
        self.uncovered: frozenset[str] = frozenset()
        self._against: dict[int, list[int]] = {}  # looks that contradict a case
        self._hid: dict[tuple[int, ...], list[int]] = {}  # looks at which one of the cases holds
        self._last: tuple[int, frozenset[str]] | None = None  # look, and what was in view
        self._acts: list[Action] = []  # carried out since then

    def act(self, action: Action) -> None:
        """Take in that an action was carried out."""
        self._acts.append(action)

    def see(self, look: int, visible: Collection[str]) -> None:
        """Take in what is in view in a new picture."""
        for number, case in enumerate(self._cases):
            if (case.thing in visible) is not case.in_view and case.speaks(visible):
                self._against.setdefault(number, []).append(look)
        self.uncovered = frozenset()
        if self._last is not None and len(self._acts) == 1:
            self._compare(*self._last, self._acts[0], look, frozenset(visible))
        self._last = look, frozenset(visible)
        self._acts.clear()

    def _compare(self, earlier: int, before: frozenset[str], action: Action, look: int,
                 now: frozenset[str]) -> None:
        """Note the things that one action on what hides them brought into view, or out of it."""
        touched = self._model.may_set(action)
        by_thing: dict[str, list[int]] = {}
        for number, case in enumerate(self._cases):
            if (case.thing in before) is not (case.thing in now) and (
                    not self._doors[number].isdisjoint(touched)):
                by_thing.setdefault(case.thing, []).append(number)
        self.uncovered = frozenset(by_thing)
        for thing, numbers in by_thing.items():
            self._hid.setdefault(tuple(numbers), []).append(earlier if thing in now else look)

    def costs(self, seen: Bools) -> Floats:
        """Cost (K,) of each trajectory [nats]; a case counts once, as views persist.

        What a door brought into view, or out of it, without hiding it counts as what is in view in
        spite of one. In walks through 84 homes of household, 4 of 1,627 things that were elsewhere
        and out of view came into view as a door was opened; 1 of 70 went out of it as one was
        closed.

        Args:
            seen: (looks, K, n) states at the looks.
        """
        total = np.zeros(seen.shape[1])
        for number, looks in self._against.items():
            total += self._cases[number].cost * self._holds(number, seen[looks]).any(axis=0)
        for numbers, looks in self._hid.items():
            hidden = np.any([self._holds(number, seen[looks]) for number in numbers], axis=0)
            cost = min(self._cases[number].cost for number in numbers)
            total += cost * ~hidden.all(axis=0)
        return total

    def _holds(self, number: int, seen: Bools) -> Bools:
        """For each picture and state (looks, K, n), whether a case holds: (looks, K)."""
        return self._tests[number](seen.reshape(-1, seen.shape[2])).reshape(seen.shape[:2])


def _pattern(text: str) -> tuple[Pattern, bool]:
    found = parse_literal(text)
    if found is None or not isinstance(found.part, Pattern):
        raise ValueError(f'{text!r} is not a literal such as "inside(?o, ?c)"')
    return found.part, found.positive
