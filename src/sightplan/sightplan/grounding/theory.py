"""Ground constraints: which joint states of a problem's atoms are possible.

A theory is what the rules of a ``constraints.yaml`` say about one problem's objects, in the plain
form that solvers read: clauses, cardinalities, acyclic relations. Atoms are numbered in the order
of their names, so that nothing can depend on the order of objects in a problem file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sightplan.model import Atom, State

GroundLiteral = tuple[int, bool]
"""Number of a variable, and the value it must have."""


@dataclass(frozen=True, slots=True)
class Clause:
    """At least one of the literals holds.

    Attributes:
        literals: variables and wanted values; empty: never satisfied.
        penalty: cost of a violation [nats]: log((1 - e) / e) for a rule that the world breaks
            with rate e; infinite for a hard one.
        rule: number of the rule it comes from.
    """

    literals: tuple[GroundLiteral, ...]
    penalty: float = math.inf
    rule: int = -1

    @property
    def hard(self) -> bool:
        """Whether it must never be violated."""
        return math.isinf(self.penalty)


@dataclass(frozen=True, slots=True)
class Group:
    """At most one of the variables is true; exactly one, if ``required``. Always hard.

    (A soft cardinality rule is given as clauses.)
    """

    variables: tuple[int, ...]
    required: bool
    rule: int = -1


@dataclass(frozen=True, slots=True)
class Acyclic:
    """The true ones of some variables, read as edges of a graph, form no cycle. Always hard.

    Attributes:
        edges: (variable, tail, head); a loop (tail == head) is a cycle.
    """

    edges: tuple[tuple[int, str, str], ...]
    rule: int = -1


@dataclass(frozen=True, slots=True)
class Theory:
    """All constraints about one problem's atoms.

    Attributes:
        atoms: all ground atoms, sorted by name; variable i below ``len(atoms)`` is atom i.
        clauses: see ``Clause``.
        groups: see ``Group``.
        acyclic: see ``Acyclic``.
        definitions: variable ``len(atoms) + k`` is true exactly if all literals of
            ``definitions[k]`` (about atoms) hold; needed for "some x has p(x) and q(x)".
    """

    atoms: tuple[Atom, ...]
    clauses: tuple[Clause, ...] = ()
    groups: tuple[Group, ...] = ()
    acyclic: tuple[Acyclic, ...] = ()
    definitions: tuple[tuple[GroundLiteral, ...], ...] = ()
    number: dict[Atom, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, 'number', {a: i for i, a in enumerate(self.atoms)})

    def values(self, state: State) -> list[bool]:
        """The values of all variables in a state, those of ``definitions`` included."""
        values = [atom in state for atom in self.atoms]
        values += [all(values[i] is wanted for i, wanted in parts) for parts in self.definitions]
        return values

    def broken(self, state: State) -> Iterator[Clause | Group | Acyclic]:
        """The constraints, hard and soft, that a state breaks."""
        values = self.values(state)
        for clause in self.clauses:
            if not any(values[i] is wanted for i, wanted in clause.literals):
                yield clause
        for group in self.groups:
            count = sum(values[i] for i in group.variables)
            if count > 1 or (group.required and not count):
                yield group
        for graph in self.acyclic:
            if _has_cycle([(tail, head) for i, tail, head in graph.edges if values[i]]):
                yield graph

    def possible(self, state: State) -> bool:
        """Whether a state breaks no hard constraint."""
        return all(isinstance(item, Clause) and not item.hard for item in self.broken(state))

    def penalty(self, state: State) -> float:
        """Sum of the penalties of the broken constraints [nats]; infinite if impossible."""
        return sum(item.penalty if isinstance(item, Clause) else math.inf
                   for item in self.broken(state))


def _has_cycle(edges: Sequence[tuple[str, str]]) -> bool:
    """Whether a directed graph has a cycle (Kahn's algorithm)."""
    heads: dict[str, list[str]] = {}
    count: dict[str, int] = {}
    for tail, head in edges:
        heads.setdefault(tail, []).append(head)
        count[head] = count.get(head, 0) + 1
        count.setdefault(tail, 0)
    free = [node for node, n in count.items() if not n]
    removed = 0
    while free:
        removed += 1
        for head in heads.get(free.pop(), ()):
            count[head] -= 1
            if not count[head]:
                free.append(head)
    return removed < len(count)
