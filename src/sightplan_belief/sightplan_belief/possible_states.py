"""Possible states of a theory, and its consequences, by answer-set solving.

Slow beside the estimator, and exact: for checking rules, not for perception.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import clingo

from sightplan.model import Atom, State
from sightplan_belief.solver import add_rules
from sightplan_belief.theory import Acyclic, GroundLiteral, Theory

_EFFORT = 20_000  # conflicts


def possible_states(theory: Theory, limit: int = 0, known: Mapping[Atom, bool] | None = None,
                    ) -> list[State]:
    """The states that break no hard constraint.

    Args:
        theory: the constraints.
        limit: stop after so many states; 0: find all.
        known: values that some atoms must have.

    Returns:
        The states, each once, in no particular order.
    """
    program = _Program(theory.atoms)
    program.require(program.broken(theory), theory.acyclic)
    return program.solutions(limit, [(theory.number[atom], value)
                                     for atom, value in (known or {}).items()])


class Consequences:
    """A growing theory, and its consequences.

    Args:
        atoms: the atoms that all theories added later are about.
    """

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self._program = _Program(atoms)
        self._broken: dict[int, int] = {}

    def imply(self, theory: Theory) -> bool:
        """Whether all states that were not ruled out are possible in a theory.

        False also where that is too hard to prove.

        Raises:
            ValueError: it is about other atoms.
        """
        return self._program.contradicts([self._literal(theory)])

    def add(self, theory: Theory) -> None:
        """Rule out the states that are not possible in a theory."""
        self._program.require(self._literal(theory), theory.acyclic)

    def _literal(self, theory: Theory) -> int:
        """A literal that holds if a theory is broken; each theory is translated once."""
        if theory.atoms != self._program.atoms:
            raise ValueError('the theory is about other atoms')
        key = id(theory)
        if key not in self._broken:
            self._broken[key] = self._program.broken(theory, acyclic=True)
            self._program.keep.append(theory)
        return self._broken[key]


class _Program:
    """Answer-set program whose answer sets are the states."""

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self.keep: list[Theory] = []
        self._control = clingo.Control(['--seed=0'])
        self._nodes: dict[tuple[int, str], int] = {}
        self._graphs = 0
        with self._control.backend() as backend:
            self._variables = [backend.add_atom() for _ in atoms]
            for variable in self._variables:
                backend.add_rule([variable], [], choice=True)

    def broken(self, theory: Theory, acyclic: bool = False) -> int:
        """Define a literal: a hard constraint is broken (a cycle counts only on demand)."""
        with self._control.backend() as backend:
            result = backend.add_atom()
            add_rules(backend, theory, self._variables, [result])
            for graph in theory.acyclic if acyclic else ():
                # A cycle: some true edges, each of which leads to another of them.
                leaving: dict[str, int] = {tail: backend.add_atom() for _, tail, _ in graph.edges}
                for variable, tail, head in graph.edges:
                    chosen = backend.add_atom()
                    backend.add_rule([chosen], [self._variables[variable]], choice=True)
                    backend.add_rule([leaving[tail]], [chosen])
                    backend.add_rule([result], [chosen])
                    backend.add_rule([], [chosen, -leaving[head]] if head in leaving
                                     else [chosen])
        return int(result)

    def require(self, broken: int, graphs: Iterable[Acyclic]) -> None:
        """Demand that a literal of ``broken`` is false and graphs have no cycle."""
        with self._control.backend() as backend:
            backend.add_rule([], [broken])
            for graph in graphs:
                self._graphs += 1
                for variable, *ends in graph.edges:
                    tail, head = (self._nodes.setdefault((self._graphs, end), len(self._nodes))
                                  for end in ends)
                    backend.add_acyc_edge(tail, head, [self._variables[variable]])

    def contradicts(self, assumptions: Iterable[int]) -> bool:
        """Whether it is proven, with limited effort, that the literals never hold together."""
        self._configure(models=1, solve_limit=_EFFORT)
        return bool(self._control.solve(assumptions=list(assumptions)).unsatisfiable)

    def solutions(self, limit: int, known: Iterable[GroundLiteral]) -> list[State]:
        """The states in which some variables have known values."""
        found: list[State] = []
        self._configure(models=limit)
        assumptions = [self._variables[i] if wanted else -self._variables[i]
                       for i, wanted in known]
        with self._control.solve(yield_=True, assumptions=assumptions) as handle:
            for model in handle:
                found.append(frozenset(
                    atom for atom, variable in zip(self.atoms, self._variables, strict=True)
                    if model.is_true(variable)))
        return found

    def _configure(self, **options: object) -> None:
        for name, value in options.items():
            setattr(self._control.configuration.solve, name, str(value))
