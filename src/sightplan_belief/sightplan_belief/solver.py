"""Best and next best states of a theory under additive scores, by two exact solvers.

*Best*: weighted MAP by OR-Tools CP-SAT, whose bounds hold up under heavy noise. *Next best*: once
the best score is known, clasp (through clingo) lists every state within a window below it. On 6
blocks and 4 columns with 2 to 6 % wrong answers that takes 4 to 10 ms for all states within 12
nats, where finding them one after another by CP-SAT and no-good cuts takes as long for each.

Both work on integers, so results do not depend on the machine. Equal scores are decided by the
order of hashes of names and seed, never by the order of objects.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import DomainError
from sightplan_belief.theory import Clause, GroundLiteral, Theory

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

_SCALE = 1000  # integer units per nat
_MAX_NATS = 1e4
_SAMPLES = 192
# Conflicts of one enumeration by clasp, a limit on work that is the same on all machines.
_CONFLICTS = 8_000
_KEPT = 128
"""Results of ``near_best`` that a solver keeps."""
_DETERMINISTIC_S = 8.0  # of one maximisation by CP-SAT, in its own reproducible seconds


@dataclass(frozen=True, slots=True)
class Solutions:
    """States of a theory, best first.

    Attributes:
        values: (K, n) bool, one row per state, columns as ``Theory.atoms``.
        scores: (K,) float64, descending: sum of the scores of the true atoms minus penalties
            [nats].
        complete: whether all states within the window are here.
    """

    values: Bools
    scores: Floats
    complete: bool


class StateSolver:
    """Finds states of one theory; keeps the compiled model between calls.

    Args:
        theory: what is possible.
        seed: of the tie-breaking.
    """

    def __init__(self, theory: Theory, seed: int = 0) -> None:
        self.theory = theory
        self._n = len(theory.atoms)
        self._soft = [c for c in theory.clauses if not c.hard]
        draws = [int.from_bytes(hashlib.sha256(f'{seed}/{atom}'.encode()).digest()[:4], 'big')
                 for atom in theory.atoms]
        self._ties = np.array(draws, np.int64)
        self._order = [int(i) for i in np.argsort(self._ties, kind='stable')]
        self._cp: tuple[Any, list[Any], list[Any]] | None = None
        self._found: OrderedDict[tuple[bytes, float, int], Solutions] = OrderedDict()

    def best(self, scores: Floats) -> Bools:
        """The state with the greatest score.

        Args:
            scores: (n,) what each atom adds when it is true [nats].

        Returns:
            (n,) bool.

        Raises:
            DomainError: the constraints allow no state at all.
        """
        from ortools.sat.python import cp_model
        if self._cp is None:
            self._cp = self._compile()
        model, variables, violations = self._cp
        units = self._units(scores)
        model.clear_objective()
        terms = [int(u) * v for u, v in zip(units, variables, strict=False) if u]
        terms += [-self._penalty(c) * v for c, v in zip(self._soft, violations, strict=True)]
        model.maximize(sum(terms))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        # Else it would leave the process with the default handler: Ctrl-C would kill at once.
        solver.parameters.catch_sigint_signal = False
        solver.parameters.max_deterministic_time = _DETERMINISTIC_S
        status = solver.solve(model)
        if status == cp_model.UNKNOWN:  # out of time without any state: any possible one will do
            model.clear_objective()
            solver.parameters.max_deterministic_time = math.inf
            status = solver.solve(model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            raise DomainError('the constraints allow no state of this problem at all (correct '
                              'constraints.yaml: "sightplan constraints check" tells which rule)')
        return np.array([solver.boolean_value(v) for v in variables[:self._n]], np.bool_)

    def near_best(self, scores: Floats, window: float, limit: int) -> Solutions:
        """The best state and all others within a window below it.

        If there are more than ``limit``, or it is too hard to find them all, the window is
        narrowed. If there are too many even then (little is known yet), the result is a sample
        of such states, from searches that choose at random.

        Args:
            scores: as in ``best``.
            window: width [nats].
            limit: most states to list.

        The last results are kept: a replay of an episode with one answer changed asks for most of
        them again.

        Raises:
            DomainError: see ``best``.
        """
        key = (scores.tobytes(), window, limit)
        if key not in self._found:
            self._found[key] = self._list_near_best(scores, window, limit)
            if len(self._found) > _KEPT:
                self._found.popitem(last=False)
        self._found.move_to_end(key)
        return self._found[key]

    def _list_near_best(self, scores: Floats, window: float, limit: int) -> Solutions:
        best = self.best(scores)
        top = self._score(best, scores)
        rows: list[Bools] = []
        complete = True
        for width in (window, window / 2.0, window / 4.0):
            control = self._control(scores, top - width, [])
            count, full = _count(control, limit)
            if full and count <= limit:
                rows = self._models(control, limit)
                break
            complete = False
        else:
            if count > limit:
                rows = self._sample(scores, top - window / 2.0)
            else:  # too hard: what the narrowest search has found
                rows = self._models(control, limit)
        return self._sorted(np.unique(np.array([best, *rows]), axis=0), scores, complete)

    # --- scores ---------------------------------------------------------------------------------

    def _units(self, scores: Floats) -> NDArray[np.int64]:
        """Scores in whole units of 1/1000 nat."""
        return np.rint(np.clip(scores, -_MAX_NATS, _MAX_NATS) * _SCALE).astype(np.int64)

    @staticmethod
    def _penalty(clause: Clause) -> int:
        return round(clause.penalty * _SCALE)

    def _score(self, row: Bools, scores: Floats) -> float:
        return float(scores[row].sum()) - float(self._penalties(row[np.newaxis])[0])

    def _penalties(self, rows: Bools) -> Floats:
        """Penalties (K,) of states (K, n) for the soft clauses that they break [nats]."""
        columns: dict[int, Bools] = dict(enumerate(np.ascontiguousarray(rows.T)))

        def column(i: int) -> Bools:
            if i not in columns:
                columns[i] = np.ones(len(rows), np.bool_)
                for part, wanted in self.theory.definitions[i - self._n]:
                    columns[i] &= columns[part] == wanted
            return columns[i]
        found = np.zeros(len(rows))
        for clause in self._soft:
            met = np.zeros(len(rows), np.bool_)
            for i, wanted in clause.literals:
                met |= column(i) == wanted
            found += np.where(met, 0.0, clause.penalty)
        return found

    def _sorted(self, rows: Bools, scores: Floats, complete: bool) -> Solutions:
        found = rows @ scores - self._penalties(rows)
        units = np.rint(found * _SCALE).astype(np.int64)
        order = np.lexsort((rows @ self._ties, -units))
        return Solutions(rows[order], found[order], complete)

    # --- CP-SAT ---------------------------------------------------------------------------------

    def _compile(self) -> tuple[Any, list[Any], list[Any]]:
        """The constraints as a CP-SAT model: variables, and a violation per soft clause."""
        from ortools.sat.python import cp_model
        model = cp_model.CpModel()
        variables: list[Any] = [None] * self._n
        for i in self._order:
            variables[i] = model.new_bool_var('')

        def literals(parts: Sequence[GroundLiteral]) -> list[Any]:
            return [variables[i] if wanted else ~variables[i] for i, wanted in parts]

        for parts in self.theory.definitions:
            variable = model.new_bool_var('')
            given = literals(parts)
            model.add_bool_or([variable, *(~literal for literal in given)])
            for literal in given:
                model.add_implication(variable, literal)
            variables.append(variable)
        for clause in self.theory.clauses:
            if clause.hard:
                model.add_bool_or(literals(clause.literals))
        violations = []
        for clause in self._soft:
            violation = model.new_bool_var('')
            model.add_bool_or([*literals(clause.literals), violation])
            violations.append(violation)
        for group in self.theory.groups:
            chosen = [variables[i] for i in group.variables]
            if group.required:
                model.add_exactly_one(chosen)
            else:
                model.add_at_most_one(chosen)
        for graph in self.theory.acyclic:
            nodes = sorted({node for _, *ends in graph.edges for node in ends})
            height = {node: model.new_int_var(0, len(nodes) - 1, '') for node in nodes}
            for i, tail, head in graph.edges:
                if tail == head:
                    model.add(variables[i] == 0)
                else:
                    model.add(height[tail] >= height[head] + 1).only_enforce_if(variables[i])
        return model, variables, violations

    # --- clasp ----------------------------------------------------------------------------------

    def _control(self, scores: Floats, floor: float, options: list[str]) -> Any:
        """Solver for the states with a score of at least ``floor``.

        The names of its atoms are ``a`` and the column in ``Theory.atoms``.
        """
        import clingo
        control: Any = clingo.Control(['--warn=none', *options])
        units = self._units(scores)
        with control.backend() as backend:
            atoms = [0] * self._n
            for i in self._order:
                atoms[i] = backend.add_atom(clingo.Function(f'a{i}'))
            backend.add_rule(atoms, [], choice=True)
            literals = add_rules(backend, self.theory, atoms, [])
            costs = []
            for clause in self._soft:
                violation = backend.add_atom()
                backend.add_rule([violation], unmet(clause, literals))
                costs.append((violation, self._penalty(clause)))
            for graph in self.theory.acyclic:
                nodes = {n: k for k, n in enumerate(
                    sorted({node for _, *ends in graph.edges for node in ends}))}
                for i, tail, head in graph.edges:
                    backend.add_acyc_edge(nodes[tail], nodes[head], [atoms[i]])
            # Costs must not be negative: an atom that should be true costs when it is false.
            costs += [(-literal if unit > 0 else literal, abs(int(unit)))
                      for literal, unit in zip(atoms, units, strict=True) if unit]
            backend.add_minimize(0, costs)
        best_possible = int(units[units > 0].sum())
        bound = max(0, best_possible - math.floor(floor * _SCALE) + len(units))  # rounding
        control.configuration.solve.opt_mode = f'enum,{bound}'
        control.configuration.solve.solve_limit = f'{_CONFLICTS},umax'
        return control

    def _sample(self, scores: Floats, floor: float) -> list[Bools]:
        """States at or above a score; after each the search starts again with random choices."""
        return self._models(self._control(scores, floor, [
            '--restart-on-model', '--enum-mode=record', '--rand-freq=1', '--sign-def=rnd',
            '--seed=1']), _SAMPLES)

    def _models(self, control: Any, limit: int) -> list[Bools]:
        """At most ``limit`` states, each (n,) bool."""
        control.configuration.solve.models = limit
        rows = []
        with control.solve(yield_=True) as handle:
            for model in handle:  # the few true atoms are read faster than all atoms one by one
                rows.append(row := np.zeros(self._n, np.bool_))
                row[[int(symbol.name[1:]) for symbol in model.symbols(atoms=True)]] = True
        return rows


def add_rules(backend: Any, theory: Theory, atoms: Sequence[int], head: list[int]) -> list[int]:
    """Rules for clasp that make ``head`` true if a hard clause or group is broken; [] forbids it.

    Returns:
        The literals of all variables: ``atoms``, and those of the definitions.
    """
    literals = list(atoms)
    for parts in theory.definitions:
        literals.append(backend.add_atom())
        backend.add_rule(literals[-1:], [literals[i] if wanted else -literals[i]
                                         for i, wanted in parts])
    for clause in theory.clauses:
        if clause.hard:
            backend.add_rule(head, unmet(clause, literals))
    for group in theory.groups:
        chosen = [literals[i] for i in group.variables]
        backend.add_weight_rule(head, 2, [(literal, 1) for literal in chosen])
        if group.required:
            backend.add_rule(head, [-literal for literal in chosen])
    return literals


def unmet(clause: Clause, literals: Sequence[int]) -> list[int]:
    """Literals that all hold exactly if a clause is broken."""
    return [-literals[i] if wanted else literals[i] for i, wanted in clause.literals]


def _count(control: Any, limit: int) -> tuple[int, bool]:
    """Number of states, counted up to just above the limit, and whether that is all of them.

    (To read a state takes ten times as long as to find it.)
    """
    control.configuration.solve.models = limit + 1
    with control.solve(yield_=True) as handle:
        count = sum(1 for _ in handle)
        return count, bool(handle.get().exhausted)
