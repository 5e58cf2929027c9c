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
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import InstantiatedModel
from sightplan.model import Action, Answer, Atom, FeedbackStatus, InputError, State, Verdict
from sightplan_belief.estimator import CERTAIN, Estimator, Evidence, Reasons
from sightplan_belief.joint_belief import FilterSettings, JointBelief
from sightplan_belief.observation_model import ObservationModel
from sightplan_belief.solver import Bools, Floats

_BRANCHES = 8  # outcomes considered of an action with effects that are not reliable
_PRUNED_NATS = 12.0
"""Joint states this far below the best one are dropped [nats]."""
_SURPRISE_NATS = 3.0
"""Prior penalty of a state from outside of the belief against the best one in it [nats]."""
_PRIOR_WEIGHT = 0.3
"""Weight of the old belief's marginals when a state outside of it is looked for."""


class ListedBelief(JointBelief):
    """Tracks one episode's joint state by the list of the most probable ones."""

    def __init__(self, estimator: Estimator, model: InstantiatedModel,
                 settings: FilterSettings | None = None) -> None:
        super().__init__(estimator, model, settings)
        self._model = model
        n = len(self.atoms)
        self._last_values: Bools  # values when each atom was last asked about
        self._scores: Floats
        self._provided = np.zeros(n)
        self._prior_log_odds = np.zeros(n)
        self._first: list[Evidence] = []  # answers before the first action
        self._rejected: list[Action] = []  # since the last action that was executed
        self._image = ''  # the current one
        # By image: the atoms asked about and the weight of each readable answer.
        self._images: dict[str, dict[int, tuple[float, float] | None]] = {}
        self._answered = self._images.setdefault('', {})  # answers about the current image
        self._image_scores = np.zeros(n)  # evidence of answers about the current image
        self._last: dict[int, Verdict] = {}
        self._moved = False
        self._resolve()

    @property
    def _observation_model(self) -> ObservationModel:
        """Rates of answers and actions; others after ``use_rates``."""
        return self._estimator.observation_model

    # --- reading --------------------------------------------------------------------------------

    @property
    def weights(self) -> Floats:
        """(K,) probabilities of the joint states."""
        weights = np.exp(self._scores - self._scores.max())
        return np.asarray(weights / weights.sum())

    # --- learning -------------------------------------------------------------------------------

    def provide(self, facts: Mapping[Atom, bool]) -> None:
        """Take in facts that the world itself provides; they count as certain."""
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

    def expect(self, prior: Mapping[Atom, float], visible: Collection[str] | None = None) -> None:
        """Set the prior probabilities of atoms, before the first action."""
        for atom, p in prior.items():
            if atom in self._estimator.number:
                self._prior_log_odds[self._estimator.number[atom]] = float(_logit(np.array(p)))
        if self._prior_log_odds.any() and not self._moved:
            self._resolve()

    def observe(self, image: str) -> None:
        """Take in a new picture; see ``JointBelief.observe``."""
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

    def answer(self, answers: Mapping[Atom, Answer]) -> None:
        """Take in answers; see ``JointBelief.answer``."""
        taken = []
        for atom, answer in answers.items():
            column = self._estimator.number.get(atom)
            if column is None:
                raise InputError(f'{atom} is not tracked (the belief is about '
                                 f'{len(self.atoms)} atoms of this problem)')
            if column in self._answered:
                continue
            self._answered[column] = (
                None if answer.verdict.says is None
                else self._observation_model.log_likelihoods(atom.predicate, answer))
            taken.append((column, answer))
            false, true = self._weigh(column, answer)
            self._image_scores[column] = np.mean(true - false)
            self._scores = self._scores + np.where(self._values[:, column], true, false)
        for column, answer in taken:
            if answer.verdict.says is not None:
                self._last_values[:, column] = self._values[:, column]
                self._last[column] = answer.verdict
        if not self._moved and taken:
            self._first += [Evidence(self.atoms[column], answer, self._image)
                            for column, answer in taken]
            self._resolve()

    def _weigh(self, column: int, answer: Answer) -> tuple[Floats, Floats]:
        """Log P(answer | false), log P(answer | true), each (K,), per joint state."""
        predicate = self.atoms[column].predicate
        fresh = self._observation_model.log_likelihoods(predicate, answer)
        last = self._last.get(column)
        if last is None or self.settings.repeats == 'independent':
            return np.full(len(self._values), fresh[0]), np.full(len(self._values), fresh[1])
        again = self._observation_model.log_likelihoods(predicate, answer, last)
        unchanged = self._last_values[:, column] == self._values[:, column]
        return (np.where(unchanged, again[0], fresh[0]), np.where(unchanged, again[1], fresh[1]))

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in an action and its status; see ``JointBelief.act``."""
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
        applicable = self._batch.applicable(action, self._values)
        rates = self._observation_model
        self._scores = self._scores + np.where(
            applicable, math.log1p(-rates.rejection), math.log(rates.execution_if_inapplicable))
        self._moved = True
        self._provided[:] = 0.0
        self._first.clear()
        self._rejected.clear()
        self._move(action, applicable)

    def _rejection(self, action: Action, rows: Bools) -> Floats:
        """(K,) log P(rejected | joint state), per row of values (K, n)."""
        rates = self._observation_model
        return np.where(self._batch.applicable(action, rows), math.log(rates.rejection),
                        math.log1p(-rates.execution_if_inapplicable))

    def _reasons(self) -> list[Reasons]:
        """Obstacles of the rejected actions for the solver: one of each must have held."""
        rates = self._observation_model
        cost = math.log1p(-rates.execution_if_inapplicable) - math.log(rates.rejection)
        return [(self._model.obstacles(action), cost) for action in self._rejected]

    # --- the mathematics ------------------------------------------------------------------------

    def _resolve(self) -> None:
        """List the best states anew.

        Possible before the first action, as all evidence is about one state.
        """
        reasons = self._reasons()
        posterior = self._estimator.solve(self._estimator.scores(self._first)[0] + self._provided
                                          + self._prior_log_odds, reasons)
        self._values, self._scores = posterior.values, posterior.scores
        for action, (obstacles, _) in zip(self._rejected, reasons, strict=True):
            if not self._estimator.ties(obstacles):  # the solver could not heed it
                self._scores = self._scores + self._rejection(action, self._values)
        self._scores = self._scores - self._scores.max()
        self._last_values = self._values.copy()
        self._old_marginals = np.full(len(self.atoms), 0.5)

    def _move(self, action: Action, applicable: Bools) -> None:
        """Move every joint state to the states after the action."""
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
        floor = self._scores.max() - _PRUNED_NATS
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
        best = [item for item in best if item[0] >= best[0][0] - _PRUNED_NATS]
        self._values = np.array([row for _, row, _ in best])
        self._last_values = np.array([history for _, _, history in best])
        self._scores = np.array([score for score, _, _ in best]) - best[0][0]
        self._old_marginals = self.weights @ self._values

    def _after(self, effects: Mapping[Atom, bool], row: Bools) -> Bools:
        row = row.copy()
        for atom, value in effects.items():
            column = self._estimator.number.get(atom)
            if column is not None:
                row[column] = value
        return row

    def _successes(self, action: Action, state: State, row: Bools) -> list[tuple[Bools, float]]:
        """Results of a success with their probabilities: unreliable effects may be missing."""
        reliability = self._observation_model.action(action.name)
        effects = self._model.effects(action, state)
        doubtful = [(atom, value, reliability.effect(atom.predicate, value))
                    for atom, value in effects.items()
                    if reliability.effect(atom.predicate, value) < 1.0
                    and (atom in state) is not value]
        if not doubtful:
            return [(self._after(effects, row), 1.0)]
        found = []
        for missing in itertools.islice(_likeliest_failures([p for *_, p in doubtful]), _BRANCHES):
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
        """Actions of the same schema that differ in one argument."""
        return sorted(other for other in self._model.actions if other.name == action.name
                      and sum(a != b for a, b in zip(other.args, action.args, strict=True)) == 1)

    def escape(self) -> bool:
        """Add likely states that are not listed, if there are; see ``JointBelief.escape``."""
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
            fits = [self._batch.applicable(action, rows) for action in self._rejected]
            return np.asarray(np.any(fits, axis=0))
        if float(self.weights @ contradicted(self._values)) <= self.settings.refusal:
            return
        scores = self._image_scores + self._provided + self._inclination()
        rows = self._estimator.solve(scores, self._reasons()).values
        self._add(rows, self._evidence(rows, scores) - self._evidence(self._values, scores).max(),
                  ~contradicted(rows))

    def _inclination(self) -> Floats:
        """Log odds (n,) kept from the old belief for the search for other states [nats]."""
        return _PRIOR_WEIGHT * np.clip(_logit(self._old_marginals), -2.5, 2.5)

    def _evidence(self, rows: Bools, scores: Floats) -> Floats:
        """Log evidence (K,) for rows of values (K, n): scores of atoms, and refusals [nats]."""
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
        weights = gains[new] + self._scores.max() - _SURPRISE_NATS
        self._values = np.concatenate([self._values, added])
        self._last_values = np.concatenate([self._last_values, added])
        self._scores = np.concatenate([self._scores, weights])
        best = np.argsort(-self._scores, kind='stable')[:self.settings.k]
        self._values, self._last_values = self._values[best], self._last_values[best]
        self._scores = self._scores[best]
        return True

    # --- what to ask ----------------------------------------------------------------------------

    def _asked(self) -> Collection[int]:
        return self._answered

    def _rates(self, columns: NDArray[np.intp]) -> Floats:
        return np.array([self._observation_model.rates(self.atoms[i].predicate).yes(
            self._last_if_dependent(i)) for i in columns])

    def _last_if_dependent(self, column: int) -> Verdict | None:
        if self.settings.repeats == 'independent':
            return None
        unchanged = self.weights @ (self._last_values[:, column] == self._values[:, column])
        return self._last.get(column) if unchanged > 0.5 else None


class FactorisedBelief(ListedBelief):
    """A rival for comparisons: log-odds per atom, projected onto the K best possible states.

    The recipe of filters that keep each atom's probability apart: an answer changes the log-odds
    of its own atom; what the atoms have to do with each other enters when the marginals are
    projected onto the most probable states that the constraints allow.
    """

    def _resolve(self) -> None:
        super()._resolve()
        self._log_odds = self._estimator.scores(self._first)[0] + self._prior_log_odds

    def answer(self, answers: Mapping[Atom, Answer]) -> None:
        """Add the evidence to the log-odds and project."""
        taken = {atom: answer for atom, answer in answers.items()
                 if self._estimator.number.get(atom) not in self._answered}
        super().answer(answers)
        if not self._moved:
            return
        for atom, answer in taken.items():
            false, true = self._observation_model.log_likelihoods(atom.predicate, answer)
            self._log_odds[self._estimator.number[atom]] += true - false
        self._project()

    def _move(self, action: Action, applicable: Bools) -> None:
        super()._move(action, applicable)
        self._log_odds = _logit(np.clip(self._old_marginals, 1e-3, 1.0 - 1e-3))
        self._project()

    def _project(self) -> None:
        posterior = self._estimator.solve(self._log_odds + self._provided)
        self._values = posterior.values[:self.settings.k]
        self._scores = posterior.scores[:self.settings.k] - posterior.scores[0]
        for action in self._rejected:
            self._scores = self._scores + self._rejection(action, self._values)
        self._last_values = self._values.copy()

    def escape(self) -> bool:
        """Return False: the projection considers all states anyway."""
        return False


def _logit(p: Floats) -> Floats:
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    return np.log(p / (1.0 - p))


def _likeliest_failures(p: Sequence[float]) -> Iterable[tuple[bool, ...]]:
    """Combinations of events that fail (two at most), the likeliest first."""
    n = len(p)
    combos = [tuple(i in gone for i in range(n))
              for size in range(min(n, 2) + 1) for gone in itertools.combinations(range(n), size)]

    def chance(missing: tuple[bool, ...]) -> float:
        return math.prod(1.0 - q if gone else q for q, gone in zip(p, missing, strict=True))
    return sorted(combos, key=lambda missing: -chance(missing))
