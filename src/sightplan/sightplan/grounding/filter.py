"""Belief over time: a Bayes filter on the most probable joint states.

The belief is a list of up to K weighted joint states (hypotheses). Answers reweight them, by how
likely each makes the answer; an action moves each of them by the action model, branching where
the action may have failed; and when the answers about one image are explained far better by a
state that is not among them, that state is found by the solver and added. Evidence is never
added up per atom: atoms move together, in joint states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.domains import InstantiatedModel
from sightplan.grounding.estimator import CERTAIN, FAINT, Estimator, Evidence, Reasons
from sightplan.grounding.solver import Bools, Floats
from sightplan.model import (
    Action,
    Atom,
    FeedbackStatus,
    InputError,
    Literal,
    State,
    Verdict,
    check_settings,
    param,
)

_MOST_BRANCHES = 128  # of the answers of a batch
_BRANCHES = 8  # outcomes considered of an action with effects that are not reliable


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Settings of a BeliefFilter."""

    k: int = param(256, 'Most joint states kept', low=1, high=4096)
    prune: float = param(12.0, 'Joint states this far below the best one are dropped [nats]',
                         low=1.0, high=100.0)
    repeats: str = param(
        'dependent', 'An answer about a new image whose atom has not changed since the last one: '
        'dependent (errors persist, by the calibration) or independent (counts in full)',
        choices=('dependent', 'independent'))
    escape_nats: float = param(
        4.0, 'A state outside of the belief is taken in when the answers about one image favour '
        'it by more than this [nats]', low=0.0, high=100.0)
    surprise_nats: float = param(
        3.0, 'Prior penalty of such a state against the best one in the belief [nats]', low=0.0,
        high=100.0)
    refusal: float = param(
        0.5, 'Probability that an action was applicable although the world has just refused it, '
        'above which states outside of the belief are sought that explain all such refusals; '
        '1: never', low=0.0, high=1.0)
    prior_weight: float = param(
        0.3, "Weight of the old belief's marginals when such a state is looked for", low=0.0,
        high=1.0)


class BeliefFilter:
    """Tracks one episode's joint state.

    Args:
        estimator: the possible states and the weight of answers.
        model: what actions do.
        settings: see ``FilterSettings``.

    Attributes:
        atoms: the atoms tracked, sorted by name.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, estimator: Estimator, model: InstantiatedModel,
                 settings: FilterSettings | None = None) -> None:
        self.settings = settings or FilterSettings()
        check_settings(self.settings, 'belief filter')
        self.atoms = estimator.atoms
        self._estimator, self._model = estimator, model
        self._observation_model = estimator.observation_model
        n = len(self.atoms)
        self._values: Bools
        self._last_values: Bools  # values when each atom was last asked about
        self._scores: Floats
        self._provided = np.zeros(n)
        self._hidden = np.zeros(n)
        self._first: list[Evidence] = []  # answers before the first action
        self._rejected: list[Action] = []  # since the last action that was executed
        self._image = ''  # the current one
        # By image: the atoms asked about and the weight of each readable answer.
        self._images: dict[str, dict[int, tuple[float, float] | None]] = {}
        self._answered = self._images.setdefault('', {})  # those about the current image
        self._image_scores = np.zeros(n)  # what they say
        self._last: dict[int, Verdict] = {}
        self._moved = False
        self._resolve()

    # --- reading --------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The most probable joint state."""
        return self._estimator.state(self._values[int(self._scores.argmax())])

    @property
    def weights(self) -> Floats:
        """(K,) probabilities of the joint states."""
        weights = np.exp(self._scores - self._scores.max())
        return np.asarray(weights / weights.sum())

    @property
    def states(self) -> list[State]:
        """The joint states, in the order of ``weights``."""
        return [self._estimator.state(row) for row in self._values]

    @property
    def confidence(self) -> float:
        """Probability of the most probable joint state."""
        return float(self.weights.max())

    def marginals(self) -> dict[Atom, float]:
        """P(atom is true), per atom."""
        p = np.clip(self.weights @ self._values, FAINT, 1.0 - FAINT)
        return dict(zip(self.atoms, map(float, p), strict=True))

    def probability(self, literals: Iterable[Literal]) -> float:
        """P(all literals hold); an atom that is not tracked counts as false."""
        return float(self.weights @ self.holds(literals))

    def holds(self, literals: Iterable[Literal]) -> Bools:
        """(K,) whether all literals hold, per joint state."""
        found = np.ones(len(self._values), np.bool_)
        for literal in literals:
            column = self._estimator.number.get(literal.atom)
            if column is None:
                if literal.positive:
                    found[:] = False
            else:
                found &= self._values[:, column] == literal.positive
        return found

    def satisfying(self, test: Callable[[State], bool]) -> Bools:
        """(K,) whether a state passes a test, per joint state."""
        return np.array([test(state) for state in self.states], np.bool_)

    def best_where(self, chosen: Bools) -> State | None:
        """The most probable of some of the joint states; None if there is none."""
        if not chosen.any():
            return None
        return self._estimator.state(self._values[int(np.where(
            chosen, self._scores, -np.inf).argmax())])

    # --- learning -------------------------------------------------------------------------------

    def provide(self, facts: Mapping[Atom, bool]) -> None:
        """Take in facts that the world itself grants; they are as good as certain."""
        for atom, value in facts.items():
            column = self._estimator.number.get(atom)
            if column is not None:
                weight = CERTAIN if value else -CERTAIN
                if self._provided[column] != weight:
                    self._provided[column] = weight
                    self._scores = self._scores + weight * self._values[:, column]
        if facts and not self._moved:
            self._resolve()
        else:
            self.escape()

    def expect(self, prior: Mapping[Atom, float]) -> None:
        """Say, before the first action, how likely atoms are at the start."""
        for atom, p in prior.items():
            if atom in self._estimator.number:
                self._hidden[self._estimator.number[atom]] = float(_logit(np.array(p)))
        if self._hidden.any() and not self._moved:
            self._resolve()

    def observe(self, image: str) -> None:
        """Say which image the answers to come are about.

        A picture seen before (nothing has changed since) says the same as before: what was asked
        about it need not be asked again, and where an atom's value is now thought another one,
        its old answer speaks about the new value.

        Args:
            image: id of the image; '': none is known, every observation counts as a new image.
        """
        if image and image == self._image:
            for column, weights in self._answered.items():
                if weights is not None:
                    now, then = self._values[:, column], self._last_values[:, column]
                    gain = weights[1] - weights[0]
                    self._scores = self._scores + np.where(
                        now == then, 0.0, np.where(now, gain, -gain))
                    self._last_values[:, column] = now
            return
        self._image = image
        if not image:
            self._images.pop('', None)
        self._answered = self._images.setdefault(image, {})
        self._image_scores[:] = 0.0
        for column, weights in self._answered.items():
            if weights is not None:
                self._image_scores[column] = weights[1] - weights[0]

    def answer(self, answers: Sequence[Evidence]) -> None:
        """Take in answers about the image that was looked at last.

        The second answer about an atom on the same image says nothing new and is dropped.

        Raises:
            InputError: an atom is not tracked.
        """
        taken = []
        for item in answers:
            column = self._estimator.number.get(item.atom)
            if column is None:
                raise InputError(f'{item.atom} is not tracked (the belief is about '
                                 f'{len(self.atoms)} atoms of this problem)')
            if column in self._answered:
                continue
            self._answered[column] = (
                None if item.verdict.says is None
                else self._estimator.log_likelihoods(item, None))
            taken.append((column, item))
            false, true = self._weigh(column, item)
            self._image_scores[column] = np.mean(true - false)
            self._scores = self._scores + np.where(self._values[:, column], true, false)
        for column, item in taken:
            if item.verdict.says is not None:
                self._last_values[:, column] = self._values[:, column]
                self._last[column] = item.verdict
        if not self._moved and taken:
            self._first += [Evidence(item.atom, item.verdict, self._image, item.p_yes, item.p_no)
                            for _, item in taken]
            self._resolve()

    def _weigh(self, column: int, item: Evidence) -> tuple[Floats, Floats]:
        """Log P(answer | false), log P(answer | true), each (K,), per joint state."""
        fresh = self._estimator.log_likelihoods(item, None)
        last = self._last.get(column)
        if last is None or self.settings.repeats == 'independent':
            return np.full(len(self._values), fresh[0]), np.full(len(self._values), fresh[1])
        again = self._estimator.log_likelihoods(item, last)
        unchanged = self._last_values[:, column] == self._values[:, column]
        return (np.where(unchanged, again[0], fresh[0]), np.where(unchanged, again[1], fresh[1]))

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in that an action was sent, and what the world said.

        Executed: joint states in which it was not applicable lose weight; the others move, with
        the reliabilities of the action. Rejected: joint states in which it was applicable lose
        weight; where that is nearly all of them, others are taken in that explain it. Withheld:
        nothing happened.
        """
        if status is FeedbackStatus.WITHHELD:
            return
        if status is FeedbackStatus.REJECTED:
            self._rejected.append(action)
            if self._moved:
                self._scores = self._scores + self._rejection(action, self._values)
                self._explain()
            else:
                self._resolve()
            return
        applicable = self._applicable(action, self._values)
        odds = self._observation_model
        self._scores = self._scores + np.where(
            applicable, math.log1p(-odds.rejection), math.log(odds.execution_if_inapplicable))
        self._moved = True
        self._provided[:] = 0.0
        self._first.clear()
        self._rejected.clear()
        self._move(action, applicable)

    def _applicable(self, action: Action, rows: Bools) -> Bools:
        """(K,) whether an action is applicable, per row of values (K, n)."""
        return np.array([self._model.applicable(action, self._estimator.state(row))
                         for row in rows], np.bool_)

    def _rejection(self, action: Action, rows: Bools) -> Floats:
        """(K,) log P(rejected | joint state), per row of values (K, n)."""
        odds = self._observation_model
        return np.where(self._applicable(action, rows), math.log(odds.rejection),
                        math.log1p(-odds.execution_if_inapplicable))

    def _reasons(self) -> list[Reasons]:
        """The rejected actions, as the solver takes them: something kept each from being done."""
        odds = self._observation_model
        cost = math.log1p(-odds.execution_if_inapplicable) - math.log(odds.rejection)
        return [(self._model.obstacles(action), cost) for action in self._rejected]

    @property
    def answered(self) -> set[Atom]:
        """Atoms that were asked about the current image."""
        return {self.atoms[i] for i in self._answered}

    # --- the mathematics ------------------------------------------------------------------------

    def _resolve(self) -> None:
        """Before the first action took place, all is about one state: find the best ones anew."""
        reasons = self._reasons()
        posterior = self._estimator.solve(self._estimator.scores(self._first)[0] + self._provided
                                          + self._hidden, reasons)
        self._values, self._scores = posterior.values, posterior.scores
        for action, (obstacles, _) in zip(self._rejected, reasons, strict=True):
            if not self._estimator.ties(obstacles):  # the solver could not heed it
                self._scores = self._scores + self._rejection(action, self._values)
        self._scores = self._scores - self._scores.max()
        self._last_values = self._values.copy()
        self._prior = np.full(len(self.atoms), 0.5)

    def _move(self, action: Action, applicable: Bools) -> None:
        """Every joint state becomes what it would be after the action."""
        reliability = self._observation_model.action(action.name)
        merged: dict[bytes, tuple[float, Bools, Bools]] = {}

        def put(row: Bools, history: Bools, score: float) -> None:
            key = row.tobytes()
            old = merged.get(key)
            if old is None:
                merged[key] = (score, row, history)
            else:  # the history of the likelier way here is kept
                total = float(np.logaddexp(old[0], score))
                merged[key] = ((total, *old[1:]) if old[0] >= score else (total, row, history))

        siblings = self._siblings(action)
        floor = self._scores.max() - self.settings.prune
        for row, history, score, fits in zip(
                self._values, self._last_values, self._scores, applicable, strict=True):
            if score < floor:
                continue
            if not fits:
                put(row, history, float(score))
                continue
            state = self._estimator.state(row)
            for after, chance in self._successes(action, state, row):
                if reliability.success * chance <= 0.0:
                    continue
                put(after, history, float(score) + math.log(reliability.success * chance))
            slips = [s for s in siblings if self._model.applicable(s, state)]
            stays = reliability.no_op + (0.0 if slips else reliability.slip)
            if stays > 0.0:
                put(row, history, float(score) + math.log(stays))
            if slips and reliability.slip > 0.0:
                fraction = math.log(reliability.slip / len(slips))
                for slip in slips:
                    put(self._after(self._model.effects(slip, state), row), history,
                        float(score) + fraction)
        best = sorted(merged.values(), key=lambda item: -item[0])[:self.settings.k]
        best = [item for item in best if item[0] >= best[0][0] - self.settings.prune]
        self._values = np.array([row for _, row, _ in best])
        self._last_values = np.array([history for _, _, history in best])
        self._scores = np.array([score for score, _, _ in best]) - best[0][0]
        self._prior = self.weights @ self._values

    def _after(self, effects: Mapping[Atom, bool], row: Bools) -> Bools:
        row = row.copy()
        for atom, value in effects.items():
            column = self._estimator.number.get(atom)
            if column is not None:
                row[column] = value
        return row

    def _successes(self, action: Action, state: State, row: Bools) -> list[tuple[Bools, float]]:
        """What success may lead to: effects that are not fully reliable may be missing."""
        reliability = self._observation_model.action(action.name)
        effects = self._model.effects(action, state)
        doubtful = [(atom, value, reliability.effect(atom.predicate, value))
                    for atom, value in effects.items()
                    if reliability.effect(atom.predicate, value) < 1.0
                    and (atom in state) is not value]
        if not doubtful:
            return [(self._after(effects, row), 1.0)]
        found = []
        for missing in itertools.islice(_by_likelihood([p for *_, p in doubtful]), _BRANCHES):
            chance = 1.0
            kept = dict(effects)
            for (atom, value, p), gone in zip(doubtful, missing, strict=True):
                chance *= (1.0 - p) if gone else p
                if gone:
                    kept[atom] = not value
            after = self._after(kept, row)
            if not any(missing) or self._estimator.possible(after):
                found.append((after, chance))
        total = sum(chance for _, chance in found)
        return [(after, chance / total) for after, chance in found]

    def _siblings(self, action: Action) -> list[Action]:
        """The same schema with one other argument."""
        return sorted(other for other in self._model.actions if other.name == action.name
                      and sum(a != b for a, b in zip(other.args, action.args, strict=True)) == 1)

    def escape(self) -> bool:
        """Take in states outside of the belief that the present speaks for.

        That is: what was answered about the current image, provided, and refused since the last
        action.

        Returns:
            whether any was added.
        """
        if not self._moved:
            return False  # before the first action all states have been looked at
        scores = self._image_scores + self._provided
        inside = self._evidence(self._values, scores)
        if scores[scores > 0.0].sum() - inside.max() <= self.settings.escape_nats:
            return False  # not even a state that agrees with everything would be much better
        rows = self._estimator.solve(scores + self._inclination(), self._reasons()).values
        gains = self._evidence(rows, scores) - inside.max()
        return self._add(rows, gains, gains > self.settings.escape_nats)

    def _explain(self) -> None:
        """Take in states in which no refused action is applicable, if few believed ones are so.

        Else a refusal would lower all joint states alike, and change nothing. Unlike answers, it
        tells little about which of the others is meant: they are weighed by what was believed,
        too.
        """
        def contradicted(rows: Bools) -> Bools:
            fits = [self._applicable(action, rows) for action in self._rejected]
            return np.asarray(np.any(fits, axis=0))
        if float(self.weights @ contradicted(self._values)) <= self.settings.refusal:
            return
        scores = self._image_scores + self._provided + self._inclination()
        rows = self._estimator.solve(scores, self._reasons()).values
        self._add(rows, self._evidence(rows, scores) - self._evidence(self._values, scores).max(),
                  ~contradicted(rows))

    def _inclination(self) -> Floats:
        """(n,) what is left of the old belief where states outside of it are looked for [nats]."""
        return self.settings.prior_weight * np.clip(_logit(self._prior), -2.5, 2.5)

    def _evidence(self, rows: Bools, scores: Floats) -> Floats:
        """(K,) what speaks for rows of values (K, n): scores of atoms, and refusals [nats]."""
        evidence = rows @ scores
        for action in self._rejected:
            evidence = evidence + self._rejection(action, rows)
        return np.asarray(evidence, np.float64)

    def _add(self, rows: Bools, gains: Floats, chosen: Bools) -> bool:
        """Add some joint states, with a penalty for being a surprise.

        Args:
            rows: (K, n) joint states, best first.
            gains: (K,) how much better each is than the best one in the belief [nats].
            chosen: (K,) which to add: the first half of ``k`` of them.

        Returns:
            whether any was not there yet.
        """
        known = {row.tobytes() for row in self._values}
        new = [i for i in np.flatnonzero(chosen)[:max(1, self.settings.k // 2)]
               if rows[i].tobytes() not in known]
        if not new:
            return False
        added = rows[new]
        weights = gains[new] + self._scores.max() - self.settings.surprise_nats
        self._values = np.concatenate([self._values, added])
        self._last_values = np.concatenate([self._last_values, added])
        self._scores = np.concatenate([self._scores, weights])
        best = np.argsort(-self._scores, kind='stable')[:self.settings.k]
        self._values, self._last_values = self._values[best], self._last_values[best]
        self._scores = self._scores[best]
        return True

    # --- what to ask ----------------------------------------------------------------------------

    def informative(self, candidates: Sequence[Atom], target: Bools | None, count: int,
                    side_interest: float = 0.1) -> list[tuple[Atom, float]]:
        """The questions whose answers say most, chosen greedily to complement each other.

        Args:
            candidates: atoms that may be asked; those already asked about the image are skipped.
            target: (K,) what one wants to know, a truth value per joint state; None: the joint
                state itself.
            count: how many to choose at most.
            side_interest: worth of a bit about the joint state relative to one about the target.

        Returns:
            atoms and their expected information [bit], best first.
        """
        columns = np.array([i for i in (self._estimator.number[a] for a in candidates)
                            if i not in self._answered], np.intp)
        if not len(columns):
            return []
        rates = np.array([self._observation_model.p_yes(
            self.atoms[i].predicate, self._last_if_dependent(i)) for i in columns])
        return [(self.atoms[columns[i]], gain) for i, gain in greedy_questions(
            self.weights, self._values[:, columns], rates, target, count, side_interest)]

    def _last_if_dependent(self, column: int) -> Verdict | None:
        if self.settings.repeats == 'independent':
            return None
        unchanged = self.weights @ (self._last_values[:, column] == self._values[:, column])
        return self._last.get(column) if unchanged > 0.5 else None


class FactorisedFilter(BeliefFilter):
    """A rival for comparisons: log-odds per atom, projected onto the K best possible states.

    The recipe of filters that keep each atom's probability apart: an answer changes the log-odds
    of its own atom; what the atoms have to do with each other enters when the marginals are
    projected onto the most probable states that the constraints allow.
    """

    def _resolve(self) -> None:
        super()._resolve()
        self._log_odds = self._estimator.scores(self._first)[0] + self._hidden

    def answer(self, answers: Sequence[Evidence]) -> None:
        """Add the evidence to the log-odds and project."""
        taken = [item for item in answers
                 if self._estimator.number.get(item.atom) not in self._answered]
        super().answer(answers)
        if not self._moved:
            return
        for item in taken:
            false, true = self._estimator.log_likelihoods(item, None)
            self._log_odds[self._estimator.number[item.atom]] += true - false
        self._project()

    def _move(self, action: Action, applicable: Bools) -> None:
        super()._move(action, applicable)
        self._log_odds = _logit(np.clip(self._prior, 1e-3, 1.0 - 1e-3))
        self._project()

    def _project(self) -> None:
        posterior = self._estimator.solve(self._log_odds + self._provided)
        self._values = posterior.values[:self.settings.k]
        self._scores = posterior.scores[:self.settings.k] - posterior.scores[0]
        for action in self._rejected:
            self._scores = self._scores + self._rejection(action, self._values)
        self._last_values = self._values.copy()

    def escape(self) -> bool:
        """Projecting looks at all states anyway."""
        return False


def greedy_questions(weights: Floats, values: Bools, rates: Floats, target: Bools | None,
                     count: int, side_interest: float) -> list[tuple[int, float]]:
    """The questions whose answers say most together, chosen one after the other.

    Args:
        weights: (K,) probabilities of the joint states.
        values: (K, m) value of each atom that may be asked.
        rates: (m, 2) P(yes | false), P(yes | true).
        target: see ``BeliefFilter.informative``.
        count: how many to choose at most.
        side_interest: see there.

    Returns:
        number of the atom and expected information [bit], best first.
    """
    branches = weights[None, :]
    chosen: list[tuple[int, float]] = []
    open_ = np.ones(values.shape[1], np.bool_)
    while len(chosen) < count and open_.any():
        gain = _information(branches, values, rates)
        if target is not None:
            gain = side_interest * gain + _target_information(branches, values, rates, target)
        gain = np.where(open_, gain, -1.0)
        best = int(gain.argmax())
        if gain[best] <= 0.0:
            break
        open_[best] = False
        chosen.append((best, float(gain[best])))
        yes = np.where(values[:, best], rates[best, 1], rates[best, 0])
        branches = np.concatenate([branches * yes, branches * (1.0 - yes)])
        if len(branches) > _MOST_BRANCHES:  # the likeliest answers will do
            kept = np.argsort(-branches.sum(axis=1), kind='stable')[:_MOST_BRANCHES]
            branches = branches[kept]
    return chosen


def _logit(p: Floats) -> Floats:
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    return np.log(p / (1.0 - p))


def _entropy(p: Floats) -> Floats:
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))


def _information(branches: Floats, values: Bools, rates: Floats) -> Floats:
    """Mutual information [bit] of each question's answer and the joint state.

    Args:
        branches: (B, K) joint probabilities of the answers so far and the joint state.
        values: (K, m) value of each atom.
        rates: (m, 2) P(yes | false), P(yes | true).
    """
    mass = branches.sum(axis=1)
    kept = mass > 1e-9
    branches, mass = branches[kept], mass[kept]
    true = np.clip((branches @ values) / mass[:, None], 0.0, 1.0)
    noise = _entropy(rates)
    yes = true * rates[:, 1] + (1.0 - true) * rates[:, 0]
    gain = _entropy(yes) - true * noise[:, 1] - (1.0 - true) * noise[:, 0]
    return np.asarray(mass @ gain / mass.sum())


def _target_information(branches: Floats, values: Bools, rates: Floats, target: Bools,
                        ) -> Floats:
    """Mutual information [bit] of each question's answer and a truth value per joint state."""
    total = branches.sum()
    mass = branches.sum(axis=1)
    gain = np.zeros(values.shape[1])
    for part, weight in zip(branches, mass, strict=True):
        if weight < 1e-9:
            continue
        p = float(part @ target) / weight
        if p < 1e-9 or p > 1.0 - 1e-9:
            continue
        yes = np.where(values, rates[:, 1], rates[:, 0])
        on = (part * target) @ yes / (weight * p)
        off = (part * ~target) @ yes / (weight * (1.0 - p))
        gain += weight / total * (_entropy(p * on + (1.0 - p) * off)
                                  - p * _entropy(on) - (1.0 - p) * _entropy(off))
    return gain


def _by_likelihood(p: Sequence[float]) -> Iterable[tuple[bool, ...]]:
    """Which of some events fail, likeliest combination first (up to two at a time)."""
    n = len(p)
    combos = [tuple(i in gone for i in range(n))
              for size in range(min(n, 2) + 1) for gone in itertools.combinations(range(n), size)]

    def chance(missing: tuple[bool, ...]) -> float:
        return math.prod(1.0 - q if gone else q for q, gone in zip(p, missing, strict=True))
    return sorted(combos, key=lambda missing: -chance(missing))
