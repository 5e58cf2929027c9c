"""Belief over time where there are too many possible states to list: a sample of them.

The belief is K weighted *trajectories* of the world (module ``trajectories``), each an initial
state and what became of every action. New answers and the world's feedback reweight them; where
the weight rests on few of them they are resampled, and moved by Metropolis-Hastings steps whose
target is the exact posterior given everything since the beginning (resample-move, Gilks and
Berzuini 2001). So a refusal at step nine can still change what is thought about step zero, and no
possible state is ever out of reach.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sightplan.domains import InstantiatedModel
from sightplan.grounding.estimator import Estimator, Evidence
from sightplan.grounding.joint_belief import FilterSettings, JointBelief
from sightplan.grounding.priors import Priors, situation_of
from sightplan.grounding.sights import Sights
from sightplan.grounding.solver import Bools, Floats
from sightplan.grounding.theory import Clause, Theory
from sightplan.grounding.trajectories import History, Trajectories
from sightplan.model import (
    Action,
    Atom,
    FeedbackStatus,
    InputError,
    State,
)

_SWAPS = 0.4  # of the steps exchange a true atom with a false one
_OUTCOMES = 0.1  # of the steps reconsider what became of an action
_FIRST_STEPS = 150
_ORDERS = 4  # in which the first sample is drawn
_STEPS = 60
_SURPRISING = 0.1  # news less likely than this sets all trajectories in motion
_MORE_MOVES = 4  # as long as they find likelier ones


class SampledBelief(JointBelief):
    """Tracks one episode's joint state by a sample of trajectories.

    For theories under which everything may be false at once, and single changes lead from any
    possible state to any other.
    """

    def __init__(self, estimator: Estimator, model: InstantiatedModel,
                 settings: FilterSettings | None = None) -> None:
        super().__init__(estimator, model, settings)
        self._rules = [(columns, _Rules(solver.theory)) for columns, solver in estimator.parts]
        self._rng = np.random.default_rng(estimator.settings.seed)
        self._trajectories: Trajectories
        self._log_weights: Floats
        self._history = History(self.atoms, self._batch, estimator.observation_model,
                                self.settings.repeats == 'independent',
                                self.settings.reliability == 'fixed', estimator.correlation)
        self._image = ''
        self._images: dict[str, dict[int, Evidence]] = {}
        self._answered = self._images.setdefault('', {})
        self._partners = _partners(self.atoms)
        self._moved = False
        self._sights: Sights | None = None
        self._situations: list[list[str]] = [[] for _ in self.atoms]  # that it was in, in order
        self._granted: dict[int, bool] = {}  # before the first action
        self._begin(0)

    def use_rates(self, estimator: Estimator) -> None:
        """See ``JointBelief.use_rates``; what became of actions so far is not judged anew."""
        super().use_rates(estimator)
        self._history.use_rates(estimator.observation_model)

    # --- reading --------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The present state of the most probable trajectory."""
        return self._estimator.state(self._values[int(self._trajectories.log_p.argmax())])

    @property
    def weights(self) -> Floats:
        """(K,) probabilities of the joint states."""
        weights = np.exp(self._log_weights - self._log_weights.max())
        return np.asarray(weights / weights.sum())

    def truths(self) -> Bools:
        """(J, K) whether the atom of each answer was true when it was given, by all known now.

        Answers in the order in which they came, without those that were dropped; columns are
        trajectories, whose probabilities are ``weights``.
        """
        return self._history.truths(self._trajectories)

    # --- learning -------------------------------------------------------------------------------

    def expect(self, prior: Mapping[Atom, float], visible: Collection[str] | None = None) -> None:
        """Say, before anything else, how likely atoms are at the start."""
        if visible is not None:
            self._situations = [[situation_of(atom, visible)] for atom in self.atoms]
        for atom, p in prior.items():
            column = self._estimator.number.get(atom)
            if column is not None:
                self._history.prior[column] = _logit(p)
        self._begin()

    def provide(self, facts: Mapping[Atom, bool]) -> None:
        """Take in facts that the world itself grants; they are as good as certain."""
        known = {self._estimator.number[a]: v for a, v in facts.items()
                 if a in self._estimator.number}
        if known:
            self._history.provide(known)
        if known and not self._moved:
            self._granted.update(known)
            self._begin()
        elif known:
            self._update()

    def observe(self, image: str) -> None:
        """See ``JointBelief.observe``."""
        if image and image == self._image:
            self._history.look()
            for column, item in self._answered.items():
                if item.verdict.says is not None:
                    self._history.answer(column, item, same_picture=True)
            self._update(news=len(self._answered))
            return
        self._image = image
        if not image:
            self._images.pop('', None)
        self._answered = self._images.setdefault(image, {})
        self._history.look()

    def see(self, priors: Priors, visible: Collection[str]) -> None:
        """See ``JointBelief.see``.

        An atom that nothing was done to has stayed as it was at the start, and the situation that
        it is now in says of that what it would have said then, beside one out of view. Not so
        where what may hide a thing was changed: what comes into view as a door is opened may well
        be behind it. Nor of a thing out of view that something may hide: that a cabinet came into
        view and the thing did not speaks against its being there only if the cabinet is open,
        which the rules of what is in view say.
        """
        if self._sights is None:
            self._sights = self._history.sights = Sights(priors.sights, self.atoms, self._batch)
        self._history.see(visible)
        self._update()
        changed = self._history.changed
        number = self._estimator.number
        shifted = False
        for column, (atom, known) in enumerate(zip(self.atoms, self._situations, strict=True)):
            situation = situation_of(atom, visible)
            hidden_by = self._sights.hidden_by.get(atom, ())
            columns = [column, *(number[a] for a in hidden_by)]
            if hidden_by and atom.args[0] not in visible:
                continue
            if known and situation not in known and not changed[columns].any():
                known.append(situation)
                now = priors.in_situation(atom, situation)
                unseen = priors.in_situation(atom, '-' * len(atom.args))
                if now is not None and unseen is not None:
                    self._history.prior[column] += _logit(now) - _logit(unseen)
                    shifted = True
        if shifted:
            self._update(news=0)

    def answer(self, answers: Sequence[Evidence]) -> None:
        """See ``JointBelief.answer``."""
        taken = 0
        for item in answers:
            column = self._estimator.number.get(item.atom)
            if column is None:
                raise InputError(f'{item.atom} is not tracked (the belief is about '
                                 f'{len(self.atoms)} atoms of this problem)')
            if column not in self._answered:
                self._answered[column] = item
                self._history.answer(column, item)
                taken += 1
        if taken:
            self._update(news=taken)

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """See ``JointBelief.act``."""
        if status is FeedbackStatus.WITHHELD:
            return
        self._history.act(action, status)
        self._moved = True
        drawn_log_p: Floats | float = 0.0
        if status is FeedbackStatus.EXECUTED:  # what became of it is drawn from its prior
            trajectories = self._trajectories
            log_p = self._history.outcome_log_p(
                len(self._history.executed) - 1, trajectories.outcomes)
            points = self._rng.random((len(trajectories), 1))
            drawn = (np.exp(log_p).cumsum(axis=1) < points).sum(axis=1)
            drawn = np.minimum(drawn, log_p.shape[1] - 1)
            trajectories.outcomes = np.column_stack([trajectories.outcomes, drawn.astype(np.int8)])
            drawn_log_p = log_p[np.arange(len(trajectories)), drawn]
        self._update(drawn_log_p)

    # --- the mathematics ------------------------------------------------------------------------

    def _begin(self, steps: int = _FIRST_STEPS) -> None:
        """A sample of the prior.

        Atom after atom is drawn, and stays false where it is not possible beside those before; who
        comes first has the advantage, which the steps then make up for.
        """
        k, n = self.settings.k, len(self.atoms)
        start = np.zeros((k, n), np.bool_)
        for column, value in self._granted.items():
            start[:, column] = value
        p = 1.0 / (1.0 + np.exp(-self._history.prior))
        places = {int(column): (columns, rules) for columns, rules in self._rules
                  for column in columns}
        for rows in np.array_split(np.arange(k), _ORDERS):
            for column in self._rng.permutation(n):
                if column in self._granted:
                    continue
                drawn = rows[self._rng.random(len(rows)) < p[column]]
                start[drawn, column] = True
                if len(drawn) and int(column) in places:
                    columns, rules = places[int(column)]
                    start[drawn, column] = rules.possible(start[np.ix_(drawn, columns)])
        self._set(self._follow(start, np.zeros((k, 0), np.int8)))
        self._log_weights = np.zeros(k)
        self._move(steps)

    def _set(self, trajectories: Trajectories) -> None:
        self._trajectories, self._values = trajectories, trajectories.values

    def _follow(self, start: Bools, outcomes: NDArray[np.int8]) -> Trajectories:
        trajectories = self._history.follow(start, outcomes)
        for columns, rules in self._rules:
            trajectories.log_p = trajectories.log_p - rules.penalties(start[:, columns])
        return trajectories

    def _update(self, drawn_log_p: Floats | float = 0.0, news: int = 1) -> None:
        """Reweight by what has just been added to the history; resample and move if need be.

        That is where the weight rests on few trajectories, and where all of them had expected
        something else: alike unlikely, they would keep their weights.

        Args:
            drawn_log_p: (K,) log P with which what was added to each trajectory was drawn.
            news: how many things were learned; 0: it is not asked how likely they were.
        """
        before = self._trajectories
        self._set(self._follow(before.start, before.outcomes))
        change = self._trajectories.log_p - before.log_p - drawn_log_p
        expected = float(logsumexp(self._log_weights + change) - logsumexp(self._log_weights))
        self._log_weights = self._log_weights + change
        weights = self.weights
        surprised = news > 0 and expected < math.log(_SURPRISING) - (news - 1) * math.log(2.0)
        if surprised or 1.0 / float(weights @ weights) < 0.5 * len(weights):
            self._resample(weights)
            self._move(_STEPS)
        for _ in range(_MORE_MOVES if surprised else 0):
            likely = self._trajectories.log_p.mean()
            self._move(_STEPS)
            if self._trajectories.log_p.mean() < likely + 1.0:
                break

    def _resample(self, weights: Floats) -> None:
        k = self.settings.k
        points = (np.arange(k) + self._rng.random()) / k
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), points), k - 1)
        self._set(self._trajectories.take(chosen))
        self._log_weights = np.zeros(k)

    def _move(self, steps: int) -> None:
        """Metropolis-Hastings steps of all trajectories at once."""
        trajectories, rng = self._trajectories, self._rng
        k, n = trajectories.start.shape
        kinds = np.array([len(event.log_p) for event in self._history.executed], np.int8)
        times = len(kinds)
        partners, degree = self._partners
        p = trajectories.start.mean(axis=0)
        focus = np.sqrt(p * (1.0 - p)) + 0.05
        focus = np.cumsum(focus / focus.sum())
        everyone = np.arange(k)
        for _ in range(steps):
            start, outcomes = trajectories.start.copy(), trajectories.outcomes.copy()
            log_q = np.zeros(k)
            kind = rng.random(k)
            flips = kind < 1.0 - _SWAPS - (_OUTCOMES if times else 0.0)
            columns = np.minimum(np.searchsorted(focus, rng.random(k)), n - 1)
            swaps = ~flips & (kind < 1.0 - (_OUTCOMES if times else 0.0))
            start[everyone[flips], columns[flips]] ^= True
            true = (rng.random((k, n)) * start).argmax(axis=1)
            other = partners[true, (rng.random(k) * degree[true]).astype(np.intp)]
            swaps &= trajectories.start[everyone, true] & ~trajectories.start[everyone, other] & (
                degree[true] > 0)
            rows = everyone[swaps]
            start[rows, true[swaps]] = False
            start[rows, other[swaps]] = True
            log_q[swaps] = np.log(degree[true[swaps]]) - np.log(degree[other[swaps]])
            if times:
                turned = everyone[kind >= 1.0 - _OUTCOMES]
                when = rng.integers(times, size=len(turned))
                other_outcome = 1 + (rng.random(len(turned)) * (kinds[when] - 1)).astype(np.int8)
                outcomes[turned, when] = (outcomes[turned, when] + other_outcome) % kinds[when]
            found = self._follow(start, outcomes)
            better = np.log(rng.random(k)) < found.log_p - trajectories.log_p + log_q
            rows = np.flatnonzero(better)
            for part, rules in self._rules:
                rows = rows[rules.possible(start[np.ix_(rows, part)])]
            for ours, theirs in ((trajectories.start, start), (trajectories.outcomes, outcomes),
                                 (trajectories.values, found.values),
                                 (trajectories.log_p, found.log_p)):
                ours[rows] = theirs[rows]

    def _asked(self) -> Collection[int]:
        return self._answered

    def _rates(self, columns: NDArray[np.intp]) -> Floats:
        return self._history.rates_of(columns, self._trajectories, self.weights)


class _Rules:
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
        """(K,) what the broken soft constraints cost [nats]."""
        full = self._complete(values)
        found = ((full @ self._clash_costs) * full).sum(axis=1, dtype=np.float64)
        if len(self._costs):
            found += (full @ self._soft[0] + self._soft[1] < 0.5) @ self._costs
        return np.asarray(found)


def _logit(p: float) -> float:
    p = min(max(p, 1e-4), 1.0 - 1e-4)
    return math.log(p / (1.0 - p))


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
    """Such that values @ matrix + vector counts the true literals of each clause."""
    matrix = np.zeros((size, len(clauses)), np.float32)
    vector = np.zeros(len(clauses), np.float32)
    for number, literals in enumerate(clauses):
        for i, wanted in literals:
            matrix[i, number] += 1.0 if wanted else -1.0
            vector[number] += 0.0 if wanted else 1.0
    return matrix, vector


def _partners(atoms: Sequence[Atom]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of each atom the others about its first argument (padded), and their number."""
    groups: dict[str, list[int]] = {}
    for i, atom in enumerate(atoms):
        groups.setdefault(atom.args[0] if atom.args else '', []).append(i)
    degree = np.array([len(groups[a.args[0] if a.args else '']) - 1 for a in atoms], np.intp)
    table = np.zeros((len(atoms), max(1, int(degree.max(initial=0)))), np.intp)
    for i, atom in enumerate(atoms):
        others = [j for j in groups[atom.args[0] if atom.args else ''] if j != i]
        table[i, :len(others)] = others
    return table, degree
