"""What it tells that a thing is in view, or is not.

Whoever stands before an open drawer sees what is inside; what is in view is not behind a closed
door. A domain's ``priors.yaml`` says so by rules: where all literals hold, the first one's first
argument is in view, or is not, but for a fraction of exceptions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sightplan.grounding.constraints import Pattern, RuleLiteral, parse_literal
from sightplan.grounding.solver import Bools, Floats
from sightplan.model import Atom
from sightplan.model.reading import Record


class SightRule(Record):
    """Where a thing is in view, or is not.

    Attributes:
        holds: literals; the first one's first variable is the thing.
        in_view: whether it is.
        exceptions: fraction of cases in which it is otherwise.
    """

    holds: Annotated[tuple[str, ...], Field(min_length=1)]
    in_view: bool
    exceptions: Annotated[float, Field(gt=0.0, lt=1.0)]


class Sights:
    """The rules, for the atoms of a problem.

    Args:
        rules: of the domain.
        atoms: the columns.
    """

    def __init__(self, rules: Sequence[SightRule], atoms: Sequence[Atom]) -> None:
        self._cases: list[tuple[str, frozenset[str], bool, int]] = []
        number = {atom: i for i, atom in enumerate(atoms)}
        columns: list[list[int]] = []
        wanted: list[list[bool]] = []
        costs: list[float] = []
        for rule in rules:
            literals = [_literal(text) for text in rule.holds]
            size = max(len(r.holds) for r in rules)
            for atom in atoms:
                pattern = literals[0].part
                if atom.predicate != pattern.predicate or len(set(atom.args)) < len(atom.args):
                    continue
                bound = dict(zip(pattern.terms, atom.args, strict=True))
                found = [Atom(one.part.predicate, tuple(bound.get(t, t) for t in one.part.terms))
                         for one in literals]
                if any(one not in number for one in found):
                    continue
                row = [number[one] for one in found]
                signs = [one.positive for one in literals]
                columns.append(row + row[:1] * (size - len(row)))
                wanted.append(signs + signs[:1] * (size - len(signs)))
                costs.append(-math.log(rule.exceptions))
                self._cases.append((atom.args[0], frozenset(atom.args[1:]), rule.in_view,
                                    len(self._cases)))
        self._columns = np.array(columns, np.intp)
        self._wanted = np.array(wanted, np.bool_)
        self._costs = np.array(costs)
        self._look: list[int] = []
        self._case: list[int] = []

    def see(self, look: int, visible: Collection[str]) -> None:
        """Take in what is in view at a look."""
        for thing, others, in_view, case in self._cases:
            if (thing in visible) is not in_view and (not in_view or others <= set(visible)):
                self._look.append(look)
                self._case.append(case)

    def costs(self, seen: Bools) -> Floats:
        """(K,) what speaks against each course [nats]; a case counts once.

        Args:
            seen: (looks, K, n) states at the looks.
        """
        if not self._look:
            return np.zeros(seen.shape[1])
        case = np.array(self._case, np.intp)
        look = np.array(self._look, np.intp)
        against: NDArray[np.bool_] = np.ones((len(case), seen.shape[1]), np.bool_)
        for k in range(self._columns.shape[1]):
            against &= seen[look, :, self._columns[case, k]] == self._wanted[case, k][:, None]
        rows = against.any(axis=1)
        any_look = np.zeros((len(self._costs), seen.shape[1]), np.bool_)
        np.logical_or.at(any_look, case[rows], against[rows])
        return np.asarray(self._costs @ any_look)


def _literal(text: str) -> RuleLiteral:
    found = parse_literal(text)
    if found is None or not isinstance(found.part, Pattern):
        raise ValueError(f'{text!r} is no literal such as "inside(?o, ?c)"')
    return found
