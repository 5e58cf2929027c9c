"""Belief over an arrangement: every thing is in exactly one place, and no place holds two.

Where a domain's constraints say just that of a predicate (``at(?thing, ?place)``), a joint state
is an injective map from things to places, and a belief is far cheaper than over general joint
states: a table of log weights, one row a thing and one column a place, and the rule that places
differ. The weight of an arrangement is the sum of its entries. The best one is an assignment
problem (Kuhn 1955), the next best ones follow by Murty's partitions (Operations Research 16,
1968).

Answers about one row on one picture are one measurement: P(answers | thing in place) is the
product over the row's questions. Models repeat themselves: with probability rho the answers about
a thing on another view are those of the last one, right or wrong, else they are given anew::

    P(row | last row, place) = rho [row = last row] + (1 - rho) P(row | place)

so that a repeated row counts little and a changed one in full. What is done moves the rows; what
is refused speaks against the arrangements in which it could be done.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import Domain, InstantiatedModel
from sightplan.model import Action, Answer, Atom, Problem, State, Verdict
from sightplan_belief.constraints import CardinalityRule, Constraints
from sightplan_belief.observation_model import ObservationModel

Floats = NDArray[np.float64]
Placement = tuple[int, ...]
"""Number of the place of each thing."""

LISTED = 32
"""Arrangements that probabilities are shared out among."""

_OUT = -1e6  # log weight of a place where a thing cannot be [nats]
_ROUNDING = 1e-6  # tolerance of bounds on log weights, for rounding [nats]
_MOST = 30.0  # log weights of places are kept within this of a row's best [nats]


@dataclass(frozen=True, slots=True)
class Structure:
    """Things, places and atoms of a problem whose states are arrangements.

    Attributes:
        predicate: of the atoms that say where a thing is: ``predicate(thing, place)``.
        empty: predicate of places without a thing; '' without one.
        things: names, in the order of the problem.
        places: names, in the order of the problem.
        atoms: all that say where a thing is, row by row.
        empties: for each place the atom that it is empty; () without such a predicate.
    """

    predicate: str
    empty: str
    things: tuple[str, ...]
    places: tuple[str, ...]
    atoms: tuple[Atom, ...] = field(init=False, repr=False, compare=False)
    empties: tuple[Atom, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Make the atoms from the names."""
        object.__setattr__(self, 'atoms', tuple(
            Atom(self.predicate, (thing, place))
            for thing in self.things for place in self.places))
        object.__setattr__(self, 'empties', tuple(
            Atom(self.empty, (place,)) for place in self.places) if self.empty else ())

    def state(self, placement: Placement) -> State:
        """The atoms that hold in an arrangement."""
        width, taken = len(self.places), set(placement)
        return frozenset(
            [self.atoms[row * width + place] for row, place in enumerate(placement)]
            + [atom for place, atom in enumerate(self.empties) if place not in taken])


def structure_of(domain: Domain, problem: Problem, constraints: Constraints) -> Structure | None:
    """Structure of a problem whose states are arrangements by the domain's constraints, else None.

    Two rules must say so, ``exactly_one: ['p(?x, *)']`` and ``exactly_one: ['p(*, ?y)', 'e(?y)']``
    (or ``at_most_one: ['p(*, ?y)']``), and no other predicate may be worth a question.
    """
    asked = {atom.predicate for atom in domain.worth_asking(problem)}
    for rule in constraints.rules:
        if not isinstance(rule, CardinalityRule) or not rule.required or len(rule.patterns) != 1:
            continue
        pattern, = rule.patterns
        if len(pattern.terms) != 2 or pattern.terms[1] != '*' or rule.violation_rate:
            continue
        empty = _empty_predicate(pattern.predicate, constraints)
        if empty is None or asked - {pattern.predicate, empty}:
            continue
        first, second = (
            tuple(name for name, kind in {**domain.schema.constants, **problem.objects}.items()
                  if domain.schema.is_a(kind, wanted))
            for wanted in domain.schema.predicates[pattern.predicate].types)
        if first and len(first) <= len(second) and set(first).isdisjoint(second):
            return Structure(pattern.predicate, empty, first, second)
    return None


def _empty_predicate(predicate: str, constraints: Constraints) -> str | None:
    """The predicate of places without a thing, '' for none; None: places may hold several."""
    for rule in constraints.rules:
        if not isinstance(rule, CardinalityRule) or rule.violation_rate:
            continue
        mine = [p for p in rule.patterns if p.predicate == predicate]
        others = [p for p in rule.patterns if p.predicate != predicate]
        if len(mine) != 1 or mine[0].terms[:1] != ('*',) or mine[0].terms[1] == '*':
            continue
        if not others:
            return ''
        if rule.required and len(others) == 1 and others[0].terms == mine[0].terms[1:]:
            return others[0].predicate
    return None


class ArrangementBelief:
    """Probabilities of arrangements, given answers and actions.

    Args:
        structure: things and places.
        rates: what answers are worth.
        next_to: for each place those next to it (``neighbours``).
        near: how many times likelier a wrong yes is about a place next to the right one than
            about another one.

    Attributes:
        table: (things, places) float64 log weights [nats]; each row's largest is 0.
    """

    def __init__(self, structure: Structure, rates: ObservationModel,
                 next_to: Mapping[int, Collection[int]] | None = None, near: float = 1.0) -> None:
        self._next_to, self._near_gain = next_to or {}, math.log(near)
        self.structure = structure
        self.rates = rates
        self.table: Floats = np.zeros((len(structure.things), len(structure.places)))
        self._thing = {name: row for row, name in enumerate(structure.things)}
        self._place = {name: column for column, name in enumerate(structure.places)}
        self._last: dict[int, dict[int, Verdict]] = {}
        self._excluded: dict[Placement, float] = {}
        self._best: list[tuple[Placement, float]] = []
        self._read = False

    # --- reading --------------------------------------------------------------------------------

    def best(self, count: int) -> list[tuple[Placement, float]]:
        """The most probable arrangements, best first.

        Args:
            count: how many at most, up to ``LISTED``.

        Returns:
            them with their probabilities among the ``LISTED`` best ones.
        """
        if not self._best:
            found = k_best(self.table, LISTED + min(len(self._excluded), LISTED))
            weighed = [(placement, score + self._excluded.get(placement, 0.0))
                       for placement, score in found]
            weighed = sorted(weighed, key=lambda item: -item[1])[:LISTED]
            top = weighed[0][1]
            weights = [math.exp(score - top) for _, score in weighed]
            total = sum(weights)
            self._best = [(placement, weight / total) for (placement, _), weight in zip(
                weighed, weights, strict=True)]
        return self._best[:count]

    def marginals(self) -> dict[Atom, float]:
        """P(thing in place), from the best arrangements, per atom."""
        p = np.zeros(self.table.shape)
        for placement, weight in self.best(LISTED):
            p[np.arange(len(placement)), placement] += weight
        return dict(zip(self.structure.atoms, map(float, np.clip(p, 1e-4, 1 - 1e-4).ravel()),
                        strict=True))

    @property
    def read(self) -> bool:
        """Whether anything was answered since the belief began."""
        return self._read

    # --- learning -------------------------------------------------------------------------------

    def prefer(self, places: Sequence[int | None], odds: float) -> None:
        """Make some things' places a little likelier than others.

        Args:
            places: for each thing its place; None: nothing is said of it.
            odds: log odds of each place against any other one [nats].
        """
        for row, place in enumerate(places):
            if place is not None:
                self.table[row, place] += odds
        self._best = []
        self._trim()

    def answer(self, answers: Mapping[Atom, Answer]) -> None:
        """Take in answers about one picture: one measurement of each thing that was asked about.

        Answers about empty places count for themselves.
        """
        self._best, self._read = [], True
        rows: dict[int, dict[int, Answer]] = {}
        for atom, answer in answers.items():
            if atom.predicate == self.structure.predicate:
                thing, place = atom.args
                rows.setdefault(self._thing[thing], {})[self._place[place]] = answer
            elif atom.predicate == self.structure.empty:
                column = self._place[atom.args[0]]
                false, true = self.rates.log_likelihoods(atom.predicate, answer)
                self.table[:, column] += false - true  # at most one thing is there
        for row, about in rows.items():
            if any(answer.verdict.says is not None for answer in about.values()):
                self._measure(row, about)
        self._trim()

    def _measure(self, row: int, answers: Mapping[int, Answer]) -> None:
        """Add the evidence of one batch of answers about a thing's place, by place."""
        said = {column: answer.verdict for column, answer in answers.items()}
        gain = np.zeros(self.table.shape[1])
        base = 0.0
        for column, answer in answers.items():
            false, true = self.rates.log_likelihoods(self.structure.predicate, answer)
            base += false
            gain[column] += true - false
            if answer.verdict is Verdict.YES:
                gain[list(self._next_to.get(column, ()))] += self._near_gain
        last = self._last.get(row)
        if last == said:
            rates = self.rates.rates(self.structure.predicate)
            error = min(1.0 - rates.yes_true, rates.yes_false)
            rho = max(0.0, (rates.repeat - error) / (1.0 - error))
            gain = np.log(rho + (1.0 - rho) * np.exp(gain + base))
        self._last[row] = said
        self.table[row] += gain

    def move(self, thing: int, target: Sequence[int | None], success: float) -> None:
        """A thing was moved: from each place to another, where that was possible.

        Args:
            thing: its row.
            target: for each place where it would go from there; None: nowhere, so it was not
                there.
            success: P(it moved | the world says so).
        """
        self._best = []
        self._last.pop(thing, None)
        self._excluded.clear()
        possible = np.array([other is not None for other in target])
        before = self._row(thing)
        # It was where it could be moved from; it has gone, or it is there still.
        was = before + np.where(possible, 0.0, math.log(max(self.rates.execution_if_inapplicable,
                                                            1e-9)))
        after = np.where(possible, was + math.log(max(1.0 - success, 1e-9)), was)
        for place, other in enumerate(target):
            if other is not None:
                after[other] = np.logaddexp(after[other], was[place] + math.log(success))
        self.table[thing] = after
        was, after = (np.exp(row - np.logaddexp.reduce(row)) for row in (was, after))
        others = [row for row in range(len(self.table)) if row != thing]
        for there in (was, after):  # nobody else was where it was, nor is where it is
            self.table[others] += np.log(np.clip(1.0 - there, 1e-9, 1.0))
        self._trim()

    def refused(self, thing: int, target: Sequence[int | None], legal: float,
                count: int = 2 * LISTED) -> None:
        """Take in that the world refused to move a thing: its next place is taken or missing.

        Args:
            thing: its row.
            target: as in ``move``.
            legal: P(refused | it could be done).
            count: arrangements that are considered.
        """
        found = k_best(self.table, count)
        old, new = np.zeros(self.table.shape), np.zeros(self.table.shape)
        rows = np.arange(len(self.table))
        top = found[0][1]
        for placement, score in found:
            weight = math.exp(score - top)
            other = target[placement[thing]]
            possible = other is not None and other not in placement
            old[rows, placement] += weight
            new[rows, placement] += weight * (legal if possible else 1.0)
        if new.sum() <= 0.0:
            return
        old, new = old / old[0].sum(), new / new[0].sum()
        seen = old > 1e-6
        self.table[seen] += np.log(np.maximum(new[seen], 1e-6) / old[seen])
        self._best = []
        self._trim()

    def exclude(self, placement: Placement, probability: float) -> None:
        """Lower the probability of an arrangement that was found not to hold.

        Args:
            placement: it.
            probability: P(it was checked): 1 rules it out.
        """
        left = math.log(max(1.0 - probability, 1e-6))
        self._excluded[placement] = self._excluded.get(placement, 0.0) + left
        self._best = []

    def _row(self, thing: int) -> Floats:
        """Log probabilities of a thing's place, by its row alone."""
        row = self.table[thing]
        return np.asarray(row - np.logaddexp.reduce(row))

    def _trim(self) -> None:
        self.table -= self.table.max(axis=1, keepdims=True)
        np.maximum(self.table, -_MOST, out=self.table, where=self.table > _OUT / 2)


def targets(structure: Structure, model: InstantiatedModel, action: Action, thing: str,
            ) -> tuple[int | None, ...]:
    """Place to which an action takes a thing from each place, with all other places empty.

    Args:
        structure: things and places.
        model: what actions do.
        action: one that moves the thing.
        thing: its name.
    """
    number = {name: column for column, name in enumerate(structure.places)}
    found: list[int | None] = []
    first = structure.things.index(thing) * len(structure.places)
    for place in range(len(structure.places)):
        state = frozenset((structure.atoms[first + place],
                           *structure.empties[:place], *structure.empties[place + 1:]))
        if not model.applicable(action, state):
            found.append(None)
            continue
        effects = model.effects(action, state)
        found.append(next((number[atom.args[1]] for atom, value in effects.items()
                           if value and atom.predicate == structure.predicate
                           and atom.args[0] == thing), None))
    return tuple(found)


def neighbours(structure: Structure, model: InstantiatedModel) -> dict[int, frozenset[int]]:
    """Places that one action connects with each place."""
    thing = structure.things[0]
    pairs = {(place, other) for action in model.actions if thing in action.args
             for place, other in enumerate(targets(structure, model, action, thing))
             if other is not None and other != place}
    return {place: frozenset(other for pair in pairs if place in pair for other in pair
                             if other != place) for place in range(len(structure.places))}


def k_best(table: Floats, count: int) -> list[tuple[Placement, float]]:
    """The best assignments of rows to different columns, with their sums, best first.

    Murty's algorithm: the best solution of a problem splits what is left of it into problems in
    which the first rows are as in that solution and the next one is not. A problem is solved when
    no other one promises more: the reduced costs of the first solution bound what it can be worth.

    Args:
        table: (n, m) float64, n <= m.
        count: how many at most; fewer come where there are no more.
    """
    first = _solve(table, (), frozenset())
    if first is None:
        return []
    loss = _reduced_costs(table, first[0]).tolist()
    ranked = [sorted(range(len(row)), key=row.__getitem__) for row in loss]
    ticket = itertools.count()
    # Minus what a problem is worth, or may be; its number, solution, rows given, barred places.
    heap: list[tuple[float, int, Placement | None, Placement, frozenset[int]]] = [
        (-first[1], next(ticket), first[0], (), frozenset())]
    found: list[tuple[Placement, float]] = []
    while heap:
        negative, number, placement, fixed, banned = heapq.heappop(heap)
        if placement is None:
            solved = _solve(table, fixed, banned)
            if solved is not None:
                heapq.heappush(heap, (-solved[1], number, solved[0], fixed, banned))
            continue
        found.append((placement, -negative))
        if len(found) == count:
            break
        best = first[1] - sum(loss[row][place] for row, place in enumerate(fixed))
        for row in range(len(fixed), len(placement)):
            place = placement[row]
            out = (banned if row == len(fixed) else frozenset()) | {place}
            given = placement[:row]
            least = next((loss[row][other] for other in ranked[row]
                          if other not in out and other not in given), None)
            if least is not None:
                heapq.heappush(heap, (least - best - _ROUNDING, next(ticket), None, given, out))
            best -= loss[row][place]
    return found


def _reduced_costs(table: Floats, placement: Placement) -> Floats:
    """Smallest loss of an assignment that contains each entry, against the best assignment.

    The duals of the best assignment, by Bellman and Ford's shortest paths: with prices of places,
    all at least 0 and 0 where nothing is, each row is best off where it is.

    Args:
        table: (n, m) float64, n <= m.
        placement: the best assignment.

    Returns:
        (n, m) float64, not negative: the sum of an assignment's entries is at most the best sum
        without the sum of its losses.
    """
    rows, at = np.arange(len(placement)), np.array(placement)
    loss = table[rows, at][:, None] - table
    free = np.ones(table.shape[1], bool)
    free[at] = False
    prices = np.zeros(table.shape[1])
    if free.any():
        prices[at] = loss[:, free].min(axis=1)
    for _ in rows:
        cheaper = np.minimum((loss + prices).min(axis=1), prices[at])
        if np.array_equal(cheaper, prices[at]):
            break
        prices[at] = cheaper
    return np.asarray(np.maximum(loss + prices - prices[at][:, None], 0.0))


def _solve(table: Floats, fixed: Placement, banned: Collection[int],
           ) -> tuple[Placement, float] | None:
    """The best assignment with the first rows given, and places barred to the next one."""
    from scipy.optimize import linear_sum_assignment  # slow to import

    count, part = len(fixed), table
    if count or banned:
        part = table.copy()
        part[:count] = _OUT * 10
        part[np.arange(count), fixed] = table[np.arange(count), fixed]
        if banned:
            part[count, list(banned)] = _OUT * 10
    rows, chosen = linear_sum_assignment(part, maximize=True)
    total = float(part[rows, chosen].sum())
    return None if total <= _OUT / 2 else (tuple(chosen.tolist()), total)


def wanted_places(structure: Structure, atoms: Iterable[Atom]) -> tuple[int | None, ...]:
    """Place that atoms give each thing; None where they name none, or several."""
    places: dict[str, set[int]] = {thing: set() for thing in structure.things}
    for atom in atoms:
        if atom.predicate == structure.predicate:
            places[atom.args[0]].add(structure.places.index(atom.args[1]))
    return tuple(next(iter(found)) if len(found) == 1 else None for found in places.values())
