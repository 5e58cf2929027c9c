"""Many states of a theory at once: which are possible, and a sample of them.

Where constraints only forbid, everything may be false at once, and single changes lead from any
possible state to any other: so states can be drawn, and moved by Metropolis-Hastings steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Atom
from sightplan.model.odds import probabilities
from sightplan_belief.solver import Bools, Floats
from sightplan_belief.theory import Clause, Theory

SWAPS = 0.4  # fraction of the steps that exchange a true atom with a false one
FIRST_STEPS = 150
_HARDLY = 3.0  # cost from which a rule is hardly ever broken [nats]
_MOST = 0.85  # largest sum of mutually exclusive atoms: a home may differ from those learned from
_ORDERS = 4  # number of orders of atoms in which the first sample is drawn


class Rules:
    """The constraints of a theory, for many states at once."""

    def __init__(self, theory: Theory) -> None:
        self._theory = theory
        self._definitions = [(np.array([i for i, _ in parts], np.intp),
                              np.array([w for _, w in parts], np.bool_))
                             for parts in theory.definitions]
        size = len(theory.atoms) + len(theory.definitions)
        # Most clauses say that two atoms do not both hold: one matrix for all of them.
        self._clash = np.zeros((size, size), np.float32)
        self._clash_costs = np.zeros((size, size), np.float32)
        hard: list[Clause] = []
        soft: list[Clause] = []
        for clause in theory.clauses:
            if len(clause.literals) == 2 and not any(wanted for _, wanted in clause.literals):
                (first, _), (second, _) = clause.literals
                if clause.hard:
                    self._clash[first, second] = 1.0
                else:
                    self._clash_costs[first, second] += clause.penalty
            else:
                (hard if clause.hard else soft).append(clause)
        self._hard = _matrices([c.literals for c in hard], size)
        self._soft = _matrices([c.literals for c in soft], size)
        self._costs = np.array([c.penalty for c in soft])
        self._groups = np.zeros((size, len(theory.groups)), np.float32)
        for number, group in enumerate(theory.groups):
            self._groups[list(group.variables), number] = 1.0
        self._required = np.array([group.required for group in theory.groups], np.bool_)
        self._graphs = [_Graph(graph.edges) for graph in theory.acyclic]

    @property
    def exclusive(self) -> Bools:
        """(n, n) which two atoms do not hold together, or hardly ever."""
        n = len(self._theory.atoms)
        pairs = (self._clash[:n, :n] > 0) | (self._clash_costs[:n, :n] > _HARDLY)
        groups = self._groups[:n]
        found = pairs | pairs.T | (groups @ groups.T > 0)
        np.fill_diagonal(found, False)
        return np.asarray(found)

    def _complete(self, values: Bools) -> NDArray[np.float32]:
        extra = [(values[:, columns] == wanted).all(axis=1)
                 for columns, wanted in self._definitions]
        return np.column_stack([values, *extra]).astype(np.float32)

    def possible(self, values: Bools) -> Bools:
        """(K,) whether states (K, n) break no hard constraint."""
        full = self._complete(values)
        good: Bools = np.logical_not(((full @ self._clash) * full).any(axis=1))
        if len(self._hard[1]):
            good &= (full @ self._hard[0] + self._hard[1] > 0.5).all(axis=1)
        if self._groups.shape[1]:
            counts = full @ self._groups
            good &= ((counts < 1.5) & ((counts > 0.5) | ~self._required)).all(axis=1)
        for graph in self._graphs:
            rows = np.flatnonzero(good)
            good[rows] = graph.acyclic(values[rows])
        return good

    def penalties(self, values: Bools) -> Floats:
        """Penalties (K,) of the broken soft constraints [nats]."""
        full = self._complete(values)
        found = ((full @ self._clash_costs) * full).sum(axis=1, dtype=np.float64)
        if len(self._costs):
            found += (full @ self._soft[0] + self._soft[1] < 0.5) @ self._costs
        return np.asarray(found)


Parts = Sequence[tuple[NDArray[np.intp], Rules]]
"""Independent groups of atoms: their columns, and their constraints."""


def first_sample(p: Floats, parts: Parts, k: int, rng: np.random.Generator,
                 fixed: Mapping[int, bool] | None = None) -> Bools:
    """States of atoms that are true with some probabilities.

    Atom after atom is drawn, and stays false where it is not possible beside those before; who
    comes first has the advantage, which steps must make up for.

    Args:
        p: (n,) P(true) of each atom, were there no constraints.
        parts: the constraints.
        k: how many states.
        rng: of the draws.
        fixed: atoms whose value is given, by column.

    Returns:
        (k, n) bool.
    """
    start = np.zeros((k, len(p)), np.bool_)
    fixed = fixed or {}
    for column, value in fixed.items():
        start[:, column] = value
    places = {int(column): (columns, rules) for columns, rules in parts for column in columns}
    for rows in np.array_split(np.arange(k), _ORDERS):
        for column in rng.permutation(len(p)):
            if column in fixed:
                continue
            drawn = rows[rng.random(len(rows)) < p[column]]
            start[drawn, column] = True
            if len(drawn) and int(column) in places:
                columns, rules = places[int(column)]
                start[drawn, column] = rules.possible(start[np.ix_(drawn, columns)])
    return start


def log_odds_within(p: Floats, parts: Parts) -> Floats:
    """Log odds with which atoms have given probabilities under the constraints.

    Of things that exclude each other (a bowl is in one cabinet at most) each is less likely under
    the constraints than its odds alone say. Where n atoms exclude each other pairwise and have the
    probabilities p_1 to p_n, their odds against none of them are p_i / (1 - p_1 - ... - p_n).

    Args:
        p: (n,) how likely each atom is to be true, by itself. Where more is said of things that
            exclude each other than can be true, all of that counts for less.
        parts: the constraints.

    Returns:
        (n,) log odds [nats].
    """
    total = p.copy()
    for columns, rules in parts:
        exclusive = rules.exclusive
        order = np.argsort(-p[columns], kind='stable')
        for place in range(len(columns)):
            clique = [place]
            for other in order[exclusive[place, order]]:
                if exclusive[other, clique].all():
                    clique.append(int(other))
            total[columns[place]] = p[columns[clique]].sum()
    scale = np.minimum(1.0, _MOST / np.maximum(total, 1e-9))
    return np.asarray(np.log(p * scale) - np.log(1.0 - np.minimum(total, _MOST)))


class Proposals:
    """Single changes of states: an atom is flipped, or a thing put elsewhere (swapped).

    Args:
        atoms: the columns.
    """

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self._partners, self._degree = _partners(atoms)

    def focus(self, values: Bools) -> Floats:
        """Cumulative probabilities (n,) of flipping each atom: doubtful atoms are flipped most."""
        p = values.mean(axis=0)
        focus = np.sqrt(p * (1.0 - p)) + 0.05
        return np.asarray(np.cumsum(focus / focus.sum()))

    def propose(self, values: Bools, focus: Floats, rng: np.random.Generator,
                others: float = 0.0) -> tuple[Bools, Floats, Floats]:
        """Propose a change of each of the states (K, n).

        Args:
            values: the states.
            focus: see ``focus``.
            rng: of the draws.
            others: fraction of the states that are left as they are, for other moves.

        Returns:
            (K, n) new states, (K,) log of the ratio of the proposals' densities [nats], and
            (K,) uniform numbers, which are at least 1 - ``others`` where nothing was done.
        """
        partners, degree = self._partners, self._degree
        k, n = values.shape
        everyone = np.arange(k)
        start, log_q = values.copy(), np.zeros(k)
        kind: Floats = np.asarray(rng.random(k))
        flips = kind < 1.0 - SWAPS - others
        columns = np.minimum(np.searchsorted(focus, rng.random(k)), n - 1)
        swaps = ~flips & (kind < 1.0 - others)
        start[everyone[flips], columns[flips]] ^= True
        true = (rng.random((k, n)) * start).argmax(axis=1)
        other = partners[true, (rng.random(k) * degree[true]).astype(np.intp)]
        swaps &= values[everyone, true] & ~values[everyone, other] & (degree[true] > 0)
        rows = everyone[swaps]
        start[rows, true[swaps]] = False
        start[rows, other[swaps]] = True
        log_q[swaps] = np.log(degree[true[swaps]]) - np.log(degree[other[swaps]])
        return start, log_q, kind


def sample_states(scores: Floats, atoms: Sequence[Atom], rules: Rules, k: int,
                  rng: np.random.Generator, steps: int = 2 * FIRST_STEPS) -> Bools:
    """Sample states of a theory in proportion to their scores.

    Args:
        scores: (n,) what each atom adds to the log weight when true [nats].
        atoms: the columns.
        rules: the constraints, under which everything may be false.
        k: how many states.
        rng: of the draws.
        steps: Metropolis-Hastings steps of each.

    Returns:
        (k, n) bool.
    """
    columns = np.arange(len(atoms))
    values = first_sample(probabilities(scores),
                          [(columns, rules)], k, rng)
    proposals = Proposals(atoms)
    weight = values @ scores - rules.penalties(values)
    focus = proposals.focus(values)
    for _ in range(steps):
        changed, log_q, _ = proposals.propose(values, focus, rng)
        found = changed @ scores - rules.penalties(changed)
        rows = np.flatnonzero(np.log(rng.random(k)) < found - weight + log_q)
        rows = rows[rules.possible(changed[rows])]
        values[rows], weight[rows] = changed[rows], found[rows]
    return values


class _Graph:
    """A relation that must have no cycle, for many states at once.

    Args:
        edges: number of the atom, tail and head of each edge.
    """

    def __init__(self, edges: Sequence[tuple[int, str, str]]) -> None:
        names = sorted({name for _, *ends in edges for name in ends})
        self._size = len(names)
        self._columns = np.array([i for i, *_ in edges], np.intp)
        self._places = np.zeros((len(edges), self._size ** 2), np.float32)
        for row, (_, tail, head) in enumerate(edges):
            self._places[row, names.index(tail) * self._size + names.index(head)] = 1.0

    def acyclic(self, values: Bools) -> Bools:
        """(K,) whether the edges of states (K, n) have no cycle: no walk is longer than N."""
        edges = values[:, self._columns]
        good: Bools = np.logical_not(edges.any(axis=1))
        rows = np.flatnonzero(~good)
        walks = (edges[rows].astype(np.float32) @ self._places > 0.5).astype(np.float32)
        walks = walks.reshape(-1, self._size, self._size)
        for _ in range(max(1, math.ceil(math.log2(max(self._size, 2))))):
            walks = (walks @ walks > 0.5).astype(np.float32)
        good[rows] = ~walks.any(axis=(1, 2))
        return good


def _matrices(clauses: Sequence[Sequence[tuple[int, bool]]], size: int,
              ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Matrix and vector such that values @ matrix + vector counts each clause's true literals."""
    matrix = np.zeros((size, len(clauses)), np.float32)
    vector = np.zeros(len(clauses), np.float32)
    for number, literals in enumerate(clauses):
        for i, wanted in literals:
            matrix[i, number] += 1.0 if wanted else -1.0
            vector[number] += 0.0 if wanted else 1.0
    return matrix, vector


def _partners(atoms: Sequence[Atom]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each atom the other atoms about its first argument (padded), and their number."""
    groups: dict[str, list[int]] = {}
    for i, atom in enumerate(atoms):
        groups.setdefault(atom.args[0] if atom.args else '', []).append(i)
    degree = np.array([len(groups[a.args[0] if a.args else '']) - 1 for a in atoms], np.intp)
    table = np.zeros((len(atoms), max(1, int(degree.max(initial=0)))), np.intp)
    for i, atom in enumerate(atoms):
        others = [j for j in groups[atom.args[0] if atom.args else ''] if j != i]
        table[i, :len(others)] = others
    return table, degree
