"""Likelihood of trajectories of the world, given the history of an episode.

A *trajectory* is an initial state and what became of every action. All else follows: the states in
between, and with them the likelihood of every answer and of everything that the world refused or
carried out. How often a model is wrong is not known either: for every predicate and value the
rates of its answers have a Dirichlet distribution, which is integrated out, so that trajectories
under which a model contradicts itself less are likelier, and what actions bring to light about
some answers tells what others are worth. A model that nothing is known of may be one like those
whose rates were published, or one of another kind, better than most of them: then what its answers
about one predicate turn out to be worth tells of the others, too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.batches import BatchModel
from sightplan.model import Action, Answer, Atom, FeedbackStatus, Verdict
from sightplan_belief.estimator import CERTAIN
from sightplan_belief.observation_model import HIGH, LOW, ObservationModel
from sightplan_belief.visibility import Visibility

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int8]

_CERTAIN_ANSWERS = 1e6
_AGAIN = 0.9
"""Probability that an action that came to nothing does so again: its cause may still be there."""
_SURPRISE = 6.0
"""Cost of each provided fact that a trajectory contradicts, once actions were carried out
[nats]."""
_ANOTHER_KIND = 0.2
"""Probability that an unknown model has generic rates, not those of the published models."""
_LEAST = 1e-4
"""Smallest probability that an action does nothing."""
_VERDICTS = {Verdict.YES: 0, Verdict.NO: 1, Verdict.UNPARSED: 2, Verdict.UNKNOWN: 3}


@dataclass(frozen=True, slots=True)
class _Answer:
    column: int
    look: int
    predicate: int
    verdict: int
    before: int  # number of the last readable answer about the atom; -1: none
    same_picture: bool  # as that answer: it says nothing new, unless the value has changed
    extra: tuple[float, float]  # log likelihood of its probabilities, atom false and true [nats]


class _Columns(NamedTuple):
    """The fields of J answers as arrays."""

    look: NDArray[np.intp]
    column: NDArray[np.intp]
    predicate: NDArray[np.intp]
    verdict: NDArray[np.intp]
    before: NDArray[np.intp]
    same_picture: Bools
    extra: Floats  # (J, 2)
    worth: Floats  # weight of each answer among those about its things on its picture
    one_hot: Floats  # (J, predicates * verdicts) its worth, where it belongs

    @classmethod
    def of(cls, answers: Sequence[_Answer], predicates: int, correlation: float,
           related: Sequence[int]) -> _Columns:
        look, column, predicate, verdict, before = (
            np.array([getattr(a, name) for a in answers], np.intp)
            for name in ('look', 'column', 'predicate', 'verdict', 'before'))
        worth = 1.0 / (1.0 + correlation * np.array(related))
        one_hot = np.zeros((len(answers), predicates * len(_VERDICTS)))
        one_hot[np.arange(len(answers)), predicate * len(_VERDICTS) + verdict] = worth
        return cls(look, column, predicate, verdict, before,
                   np.array([a.same_picture for a in answers], np.bool_),
                   np.array([a.extra for a in answers], np.float64), worth, one_hot)


@dataclass(frozen=True, slots=True)
class _ActionResult:
    action: Action
    executed: bool
    # What may have become of it: their log probabilities, and from the third on which columns
    # stay as they were (of the first outcome none do, of the second all).
    log_p: Floats
    kept: tuple[NDArray[np.intp], ...]


@dataclass(frozen=True, slots=True)
class _Provided:
    columns: NDArray[np.intp]
    values: Bools
    cost: float  # cost of each contradicted column [nats]


@dataclass(slots=True)
class Trajectories:
    """Sampled trajectories of the world.

    Attributes:
        start: (K, n) bool, initial states.
        outcomes: (K, T) int8, what became of every executed action: 0 what it should do, 1
            nothing, 2 and more: all but one of its effects that are not reliable.
        values: (K, n) bool, present states.
        log_p: (K,) log of prior times likelihood, up to a constant [nats].
    """

    start: Bools
    outcomes: Ints
    values: Bools
    log_p: Floats

    def __len__(self) -> int:
        return len(self.start)

    def take(self, chosen: NDArray[np.intp]) -> Trajectories:
        """The trajectories of some rows, in that order; a row may come several times."""
        return Trajectories(self.start[chosen], self.outcomes[chosen], self.values[chosen],
                            self.log_p[chosen])


class History:
    """Evidence of an episode so far: answers, facts, actions, and what was in view.

    Args:
        atoms: the columns.
        model: what actions do.
        rates: what answers and actions are worth.
        independent: whether an answer about a new image counts in full.
        certain: whether the rates are taken to be exactly those given.
        correlation: of two errors about a common thing on one picture: n answers about a thing
            are worth n / (1 + correlation (n - 1)) (Kish's design effect).
    """

    def __init__(self, atoms: Sequence[Atom], model: BatchModel, rates: ObservationModel,
                 independent: bool = False, certain: bool = False,
                 correlation: float = 0.0) -> None:
        self._atoms, self._model, self._rates = tuple(atoms), model, rates
        self._independent, self._correlation = independent, correlation
        names = sorted({atom.predicate for atom in atoms})
        self._predicate = np.array([names.index(atom.predicate) for atom in atoms], np.intp)
        self._names = names
        self.prior = np.zeros(len(atoms))  # log odds of each atom at the start
        self.changed = np.zeros(len(atoms), np.bool_)  # what actions may have changed since
        self._events: list[_ActionResult | _Provided | None] = [None]  # None: a new picture
        self.executed: list[_ActionResult] = []
        self._looks = 1
        self._answers: list[_Answer] = []
        self._columns: _Columns | None = None  # cached data of the answers; made anew after each
        # Number of answers about each answer's things on its picture.
        self._related: list[int] = []
        self._last: dict[int, int] = {}
        self.sights = Visibility((), atoms, model)
        self._certain = certain
        self._take_rates()

    def use_rates(self, rates: ObservationModel) -> None:
        """Go on with other rates of answers and actions, before the first answer."""
        self._rates = rates
        self._take_rates()

    def _take_rates(self) -> None:
        # Kinds of models that may answer: log probability, and alpha[p, v, a], pseudo-counts of
        # answer a where predicate p has value v.
        rates, names = self._rates, self._names
        alpha, generic = (np.array([[_pseudo_counts(found, name, value) for value in (False, True)]
                                    for name in names])
                          for found in (rates, ObservationModel.default()))
        self._kinds = [(0.0, alpha * (_CERTAIN_ANSWERS if self._certain else 1.0))]
        if not (rates.model or self._certain or np.array_equal(alpha, generic)):
            self._kinds = [(math.log1p(-_ANOTHER_KIND), alpha), (math.log(_ANOTHER_KIND), generic)]
        self._repeat = np.array([rates.rates(name).repeat for name in names])

    # --- what happens ---------------------------------------------------------------------------

    def look(self) -> None:
        """Note that a new picture was taken."""
        self._events.append(None)
        self._looks += 1

    def see(self, visible: Collection[str]) -> None:
        """Note what is in view in the last picture."""
        self.sights.see(self._looks - 1, visible)

    def answer(self, column: int, answer: Answer, same_picture: bool = False) -> None:
        """Take in an answer about the atom of a column, in the last picture."""
        atom = self._atoms[column]
        extra = (0.0, 0.0)
        if answer.yes_probability is not None:
            with_p = self._rates.log_likelihoods(atom.predicate, answer)
            plain = self._rates.log_likelihoods(atom.predicate, Answer(verdict=answer.verdict))
            extra = (with_p[0] - plain[0], with_p[1] - plain[1])
        things = set(atom.args)
        related = [number for number, other in enumerate(self._answers)
                   if other.look == self._looks - 1
                   and things.intersection(self._atoms[other.column].args)]
        for number in related:
            self._related[number] += 1
        self._related.append(len(related))
        self._columns = None
        self._answers.append(_Answer(
            column, self._looks - 1, int(self._predicate[column]), _VERDICTS[answer.verdict],
            self._last.get(column, -1), same_picture, extra))
        if answer.verdict.says is not None:
            self._last[column] = len(self._answers) - 1

    def last(self, column: int) -> int:
        """The last readable verdict about an atom: 0 yes, 1 no, -1 none."""
        number = self._last.get(column, -1)
        return self._answers[number].verdict if number >= 0 else -1

    def provide(self, facts: Mapping[int, bool]) -> None:
        """Take in facts that the world itself provides: values by column.

        They hold from then on whatever went before, so that a trajectory that nothing known
        explains is right about the present nonetheless.
        """
        self._events.append(_Provided(np.array(list(facts), np.intp),
                                     np.array(list(facts.values()), np.bool_),
                                     _SURPRISE if self.executed else CERTAIN))

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in an action, and the world's feedback."""
        reliability = self._rates.action(action.name)
        nothing = min(max(reliability.no_op + reliability.slip, _LEAST), 0.5)
        chances, kept = [1.0 - nothing, nothing], [np.zeros(0, np.intp)] * 2
        for effect, p in sorted(reliability.effects.items()):
            predicate, sign = effect.split()
            columns = self._model.set_by(action, predicate, sign == '+')
            if len(columns):
                chances.append(chances[0] * (1.0 - p))
                chances[0] *= p
                kept.append(columns)
        log_p = np.log(np.array(chances) / sum(chances))
        event = _ActionResult(action, status is FeedbackStatus.EXECUTED, log_p, tuple(kept))
        self._events.append(event)
        if event.executed:
            self.executed.append(event)
            self.changed[self._model.may_set(action)] = True

    # --- how likely -----------------------------------------------------------------------------

    def follow(self, start: Bools, outcomes: Ints) -> Trajectories:
        """The trajectories that begin in some states, with their probabilities.

        Args:
            start: (K, n).
            outcomes: (K, T) for the T actions that were carried out.
        """
        rates, k = self._rates, len(start)
        log_p = start @ self.prior
        values = start
        seen = np.empty((self._looks, k, start.shape[1]), np.bool_)
        look = executed = 0
        for event in self._events:
            if event is None:
                seen[look] = values
                look += 1
                continue
            if isinstance(event, _Provided):
                wrong = values[:, event.columns] != event.values
                log_p = log_p - event.cost * wrong.sum(axis=1)
                values = seen[look - 1] = _put(values, event)
                continue
            applicable = self._model.applicable(event.action, values)
            if not event.executed:
                log_p = log_p + np.where(applicable, math.log(rates.rejection),
                                         math.log1p(-rates.execution_if_inapplicable))
                continue
            log_p = log_p + np.where(applicable, math.log1p(-rates.rejection),
                                     math.log(rates.execution_if_inapplicable))
            outcome = outcomes[:, executed]
            chances = self.outcome_log_p(executed, outcomes)
            log_p = log_p + chances[np.arange(k), outcome]
            values = self._after(event, values, outcome, applicable)
            executed += 1
        log_p = log_p - self.sights.costs(seen)
        if self._answers:
            log_p = log_p + self._likelihood(seen)[0]
        return Trajectories(start, outcomes, values, log_p)

    def outcome_log_p(self, number: int, outcomes: Ints) -> Floats:
        """(K, C) log P(each of the C outcomes of an executed action).

        Args:
            number: of the action, among those executed.
            outcomes: (K, at least ``number``) what became of those before: where the same action
                came to nothing last time, it is likely to do so again.
        """
        event = self.executed[number]
        log_p = np.broadcast_to(event.log_p, (len(outcomes), len(event.log_p)))
        before = next((i for i in range(number - 1, -1, -1)
                       if self.executed[i].action == event.action), None)
        if before is None:
            return log_p
        again = event.log_p + math.log1p(-_AGAIN) - math.log1p(-math.exp(event.log_p[1]))
        again[1] = math.log(_AGAIN)
        return np.where((outcomes[:, before] == 1)[:, None], again, log_p)

    def _after(self, event: _ActionResult, values: Bools, outcome: Ints,
               applicable: Bools) -> Bools:
        """(K, n) states after an action that was carried out."""
        after = self._model.effects(event.action, values, applicable & (outcome != 1))
        for code, columns in enumerate(event.kept[2:], 2):
            rows = np.flatnonzero(outcome == code)
            if len(rows):
                cells = np.ix_(rows, columns)
                after[cells] = values[cells]
        return after

    def _likelihood(self, seen: Bools) -> tuple[Floats, Floats, Floats]:
        """Log likelihood of the answers under trajectories.

        Args:
            seen: (looks, K, n) states at the looks.

        Returns:
            (K,) log likelihood of the answers, (K, P, 2, 4) counts of fresh answers, and (M, K)
            probabilities of the kinds of models.
        """
        from scipy.special import gammaln, logsumexp  # slow to import

        answers = self._answers
        if self._columns is None:
            self._columns = _Columns.of(answers, len(self._names), self._correlation,
                                        self._related)
        look, column, _, verdict, before, same, extra, worth, one_hot = self._columns
        value = seen[look, :, column]  # (J, K)
        readable = verdict < 2
        repeated = (readable & (before >= 0))[:, None] & (value == value[before])
        if self._independent:
            repeated &= same[:, None]
        number = value.astype(np.intp)
        fresh = ~repeated
        # Fresh answers, their rates integrated out.
        counts = np.stack([(fresh & ~value).T @ one_hot, (fresh & value).T @ one_hot], axis=1)
        counts = counts.reshape(-1, 2, len(self._names), len(_VERDICTS)).transpose(0, 2, 1, 3)
        repeated &= ~same[:, None]
        rows = np.flatnonzero(repeated.any(axis=1))
        parts = []
        for log_weight, alpha in self._kinds:
            part = log_weight + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=(1, 2, 3)) - (
                gammaln((alpha + counts).sum(axis=3)) - gammaln(alpha.sum(axis=2))
            ).sum(axis=(1, 2))
            if len(rows):  # by how errors persist
                weight = np.where(repeated[rows], self._repeats(rows, value, fresh, alpha), 0.0)
                part = part + worth[rows] @ weight
            parts.append(part)
        by_kind = np.array(parts)
        log_p = logsumexp(by_kind, axis=0)
        kinds = np.exp(by_kind - log_p)
        if extra.any():
            log_p = log_p + worth @ np.where(
                fresh, extra[np.arange(len(answers))[:, None], number], 0.0)
        return log_p, counts, kinds

    def _repeats(self, rows: NDArray[np.intp], value: Bools, fresh: Bools, alpha: Floats,
                 ) -> Floats:
        """(R, K) log P(some repeated answers), at the rates that fresh ones before them show.

        Not at those expected before anything was answered: with a rate of errors that is high but
        hardly known, to hear the same again would speak against what was said.

        Args:
            rows: (R,) numbers of the answers.
            value: (J, K) of the atom of each answer.
            fresh: (J, K) whether each answer is a fresh one.
            alpha: of a kind of models.
        """
        assert self._columns is not None
        _, _, predicate, verdict, before, _, _, worth, _ = self._columns
        earlier = np.arange(len(predicate)) < rows[:, None]
        earlier = np.where(earlier & (predicate == predicate[rows, None]), worth, 0.0)
        here, name = value[rows], predicate[rows, None]
        yes, no = (
            alpha[name, here.astype(np.intp), says] + np.where(here, *(
                earlier @ (fresh & (value == true) & (verdict == says)[:, None])
                for true in (True, False))) for says in (0, 1))
        mean = yes / (yes + no)
        stuck = _persistence(self._repeat[name], np.where(here, 1.0 - mean, mean))
        said = verdict[rows, None]
        afresh = np.where(said == 0, mean, 1.0 - mean)
        again = verdict[before[rows], None] == said
        return np.asarray(np.log(stuck * again + (1.0 - stuck) * afresh))

    def rates_of(self, columns: NDArray[np.intp], trajectories: Trajectories, weights: Floats,
                 ) -> Floats:
        """(m, 2) P(yes | false), P(yes | true) of the next readable answer about each atom.

        They are those of eyes as good as may well be: one standard deviation better than expected,
        so that eyes of which little is known are tried, and bad ones are found out.

        Args:
            columns: (m,) the atoms.
            trajectories: what may have happened.
            weights: (K,) their probabilities.
        """
        counts = np.zeros_like(self._kinds[0][1])
        kinds = np.exp([log_weight for log_weight, _ in self._kinds])
        unchanged = np.zeros(len(columns))
        if self._answers:
            seen = self._seen(trajectories)
            _, each, by_kind = self._likelihood(seen)
            counts, kinds = np.tensordot(weights, each, axes=1), by_kind @ weights
        yes_no = np.array([alpha[:, :, :2] + counts[:, :, :2] for _, alpha in self._kinds])
        total = yes_no.sum(axis=3)
        means = yes_no[:, :, :, 0] / total
        mean = np.tensordot(kinds, means, axes=1)
        square = np.tensordot(kinds, means * (yes_no[:, :, :, 0] + 1.0) / (total + 1.0), axes=1)
        deviation = np.sqrt(square - mean * mean) * np.array([-1.0, 1.0])
        yes = np.clip(mean + deviation, LOW, HIGH)[self._predicate[columns]]
        ahead = np.zeros((len(columns), 2))
        if self._answers and not self._independent:
            for i, column in enumerate(columns):
                number = self._last.get(int(column), -1)
                if number >= 0:
                    then = seen[self._answers[number].look, :, column]
                    unchanged[i] = weights @ (then == trajectories.values[:, column])
                    ahead[i] = self._answers[number].verdict == 0
        wrong = np.stack([mean[:, 0], 1.0 - mean[:, 1]], axis=1)
        again = _persistence(self._repeat[:, None], wrong)
        stuck = again[self._predicate[columns]] * unchanged[:, None]
        return np.asarray(stuck * ahead + (1.0 - stuck) * yes)

    def truths(self, trajectories: Trajectories) -> Bools:
        """(J, K) whether the atom of each answer was true when it was given, in each trajectory.

        An answer that is taken over for the same picture is left out.
        """
        answers = [answer for answer in self._answers if not answer.same_picture]
        return self._seen(trajectories)[[a.look for a in answers], :, [a.column for a in answers]]

    def _seen(self, trajectories: Trajectories) -> Bools:
        values, found, executed = trajectories.start, [], 0
        for event in self._events:
            if event is None:
                found.append(values)
            elif isinstance(event, _Provided):
                values = found[-1] = _put(values, event)
            elif event.executed:
                values = self._after(event, values, trajectories.outcomes[:, executed],
                                     self._model.applicable(event.action, values))
                executed += 1
        return np.array(found)


def _put(values: Bools, facts: _Provided) -> Bools:
    """(K, n) the states with facts that hold."""
    values = values.copy()
    values[:, facts.columns] = facts.values
    return values


def _pseudo_counts(rates: ObservationModel, predicate: str, value: bool) -> list[float]:
    found = rates.rates(predicate)
    strength = found.strength_true if value else found.strength_false
    return [strength * found.likelihoods(verdict)[value] for verdict in _VERDICTS]


def _persistence(repeat: Floats, wrong: Floats) -> Floats:
    """Probability that an answer about a new image repeats the last one, whatever it was.

    Args:
        repeat: P(wrong again).
        wrong: P(wrong).
    """
    return np.asarray(np.maximum(0.0, (repeat - wrong) / (1.0 - wrong)))
