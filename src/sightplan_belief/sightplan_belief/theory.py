"""Ground constraints: which joint states of a problem's atoms are possible.

A theory is what the rules of a ``constraints.yaml`` say about one problem's objects, in the plain
form that solvers read: clauses, cardinalities, acyclic relations. Atoms are numbered in the order
of their names, so that nothing can depend on the order of objects in a problem file.
"""

from __future__ import annotations

import graphlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sightplan.model import Atom, State

GroundLiteral = tuple[int, bool]
"""Number of a variable, and the value it must have."""


@dataclass(frozen=True, slots=True)
class Clause:
    """Constraint that at least one of the literals holds.

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
    """Constraint that at most one of the variables is true; exactly one, if ``required``.

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


Constraint = Clause | Group | Acyclic


@dataclass(frozen=True, slots=True)
class Theory:
    """All constraints on one problem's atoms.

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
        """Values of all variables in a state, including those of ``definitions``."""
        return self.complete([atom in state for atom in self.atoms])

    def complete(self, values: Iterable[bool]) -> list[bool]:
        """Values of all variables, computed from those of the atoms."""
        found = [bool(value) for value in values]
        found += [all(found[i] is wanted for i, wanted in parts) for parts in self.definitions]
        return found

    def broken(self, state: State) -> Iterator[Constraint]:
        """The constraints, hard and soft, that a state breaks."""
        values = self.values(state)
        for clause in self.clauses:
            for i, wanted in clause.literals:  # several times as fast as any(...)
                if values[i] is wanted:
                    break
            else:
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

    def without(self, atoms: set[Atom]) -> Theory:
        """The theory without some atoms, as far as it says the same about the others.

        An atom can go if to be false never breaks anything: then whatever is possible for the
        others with it is so without it.
        """
        needed = {i for clause in self.clauses for i, wanted in clause.literals if wanted}
        needed.update(i for group in self.groups if group.required for i in group.variables)
        needed.update(i for parts in self.definitions for i, _ in parts)
        gone = {i for i, atom in enumerate(self.atoms) if atom in atoms} - needed
        if not gone:
            return self
        kept = [i for i in range(len(self.atoms)) if i not in gone]
        found: list[Constraint] = [
            c for c in self.clauses if not gone.intersection(i for i, _ in c.literals)]
        for group in self.groups:
            left = tuple(i for i in group.variables if i not in gone)
            if len(left) > 1:
                found.append(replace(group, variables=left))
        for graph in self.acyclic:
            edges = tuple(edge for edge in graph.edges if edge[0] not in gone)
            if edges:
                found.append(replace(graph, edges=edges))
        return self._part(kept, found)

    def split(self) -> list[Theory]:
        """Independent parts: no constraint ties atoms of two of them.

        Atoms that no constraint mentions together form one part (each is a part of its own).
        """
        parent = list(range(len(self.atoms)))

        def root(i: int) -> int:
            while parent[i] != i:
                parent[i] = parent[parent[i]]
                i = parent[i]
            return i

        def atoms_of(variables: Iterable[int]) -> list[int]:
            found: list[int] = []
            for v in variables:
                extra = v - len(self.atoms)
                found += [v] if extra < 0 else [i for i, _ in self.definitions[extra]]
            return found

        tied: set[int] = set()
        everything: list[Constraint] = [*self.clauses, *self.groups, *self.acyclic]
        scopes = [(c, atoms_of(_variables(c))) for c in everything]
        for _, scope in scopes:
            tied.update(scope)
            for i in scope[1:]:
                parent[root(i)] = root(scope[0])
        free = [i for i in range(len(self.atoms)) if i not in tied]
        members: dict[int, list[int]] = {}
        for i in sorted(tied):
            members.setdefault(root(i), []).append(i)
        parts = [self._part(ids, [c for c, scope in scopes if scope and root(scope[0]) == key])
                 for key, ids in members.items()]
        if free:
            parts.append(self._part(free, []))
        if any(not scope for _, scope in scopes) and parts:  # an unsatisfiable clause
            parts[0] = replace(parts[0], clauses=(*parts[0].clauses, *(
                c for c, scope in scopes if not scope and isinstance(c, Clause))))
        return parts

    def _part(self, ids: Sequence[int], constraints: Iterable[Constraint],
              ) -> Theory:
        renumbered = {old: new for new, old in enumerate(ids)}
        definitions: list[tuple[GroundLiteral, ...]] = []
        chosen = list(constraints)
        for c in chosen:
            for v in _variables(c):
                if v not in renumbered:
                    renumbered[v] = len(ids) + len(definitions)
                    definitions.append(tuple(
                        (renumbered[i], wanted)
                        for i, wanted in self.definitions[v - len(self.atoms)]))
        return Theory(
            tuple(self.atoms[i] for i in ids),
            tuple(replace(c, literals=tuple((renumbered[i], w) for i, w in c.literals))
                  for c in chosen if isinstance(c, Clause)),
            tuple(replace(c, variables=tuple(renumbered[i] for i in c.variables))
                  for c in chosen if isinstance(c, Group)),
            tuple(replace(c, edges=tuple((renumbered[i], t, h) for i, t, h in c.edges))
                  for c in chosen if isinstance(c, Acyclic)),
            tuple(definitions))


def _variables(constraint: Constraint) -> list[int]:
    if isinstance(constraint, Clause):
        return [i for i, _ in constraint.literals]
    if isinstance(constraint, Group):
        return list(constraint.variables)
    return [i for i, _, _ in constraint.edges]


def _has_cycle(edges: Iterable[tuple[str, str]]) -> bool:
    graph = graphlib.TopologicalSorter[str]()
    for tail, head in edges:
        graph.add(tail, head)
    try:
        graph.prepare()
    except graphlib.CycleError:
        return True
    return False
