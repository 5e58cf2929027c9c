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
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import InstantiatedModel
from sightplan.model import (
    Action,
    Answer,
    Atom,
    FeedbackStatus,
    InputError,
    State,
)
from sightplan.model.odds import log_odds, probabilities
from sightplan_belief.estimator import MARGINAL_BOUNDS, Estimator
from sightplan_belief.joint_belief import FilterSettings, JointBelief
from sightplan_belief.priors import Priors, situation_of
from sightplan_belief.solver import Bools, Floats
from sightplan_belief.state_sampling import FIRST_STEPS, Proposals, first_sample, log_odds_within
from sightplan_belief.trajectories import History, Trajectories
from sightplan_belief.visibility import Visibility

_OUTCOMES = 0.1  # fraction of the steps that reconsider an action's outcome
_STEPS = 60
_LEAST = 1e-4  # probabilities of the prior are clamped to [least, 1 - least]
_SURPRISING = 0.1  # evidence of a smaller probability than this makes all trajectories move
_MORE_MOVES = 4  # as long as they find likelier ones


class SampledBelief(JointBelief):
    """Tracks one episode's joint state by a sample of trajectories.

    For theories under which everything may be false at once, and single changes lead from any
    possible state to any other.
    """

    def __init__(self, estimator: Estimator, model: InstantiatedModel,
                 settings: FilterSettings | None = None) -> None:
        super().__init__(estimator, model, settings)
        self._rules = estimator.rules
        self._rng = np.random.default_rng(estimator.settings.seed)
        self._trajectories: Trajectories
        self._log_weights: Floats
        self._history = History(self.atoms, self._batch, estimator.observation_model,
                                self.settings.repeats == 'independent',
                                self.settings.reliability == 'fixed', estimator.correlation)
        self._image = ''
        self._images: dict[str, dict[int, Answer]] = {}
        self._answered = self._images.setdefault('', {})
        self._proposals = Proposals(self.atoms)
        self._moved = False
        self._sights: Visibility | None = None
        # Of each atom, the situations in which it was asked about, in order.
        self._situations: list[list[str]] = [[] for _ in self.atoms]
        self._granted: dict[int, bool] = {}  # facts provided before the first action
        self._begin(0)

    def use_rates(self, estimator: Estimator) -> None:
        """Use another estimator's rates from now on.

        Outcomes of past actions are not judged anew.
        """
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
        """Set the prior probabilities of atoms, before anything else."""
        if visible is not None:
            self._situations = [[situation_of(atom, visible)] for atom in self.atoms]
        p = np.full(len(self.atoms), 0.5)
        known = np.zeros(len(self.atoms), np.bool_)
        for atom, value in prior.items():
            column = self._estimator.number.get(atom)
            if column is not None:
                p[column], known[column] = value, True
        found = log_odds_within(np.clip(p, *MARGINAL_BOUNDS), self._rules)
        self._history.prior[known] = found[known]
        self._begin()

    def provide(self, facts: Mapping[Atom, bool]) -> None:
        """Take in facts that the world itself provides; they count as certain."""
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
        """Take in a new picture; see ``JointBelief.observe``."""
        if image and image == self._image:
            self._history.look()
            for column, answer in self._answered.items():
                if answer.verdict.says is not None:
                    self._history.answer(column, answer, same_picture=True)
            self._update(news=len(self._answered))
            return
        self._image = image
        if not image:
            self._images.pop('', None)
        self._answered = self._images.setdefault(image, {})
        self._history.look()

    def see(self, priors: Priors, visible: Collection[str]) -> None:
        """Take in what is in view; see ``JointBelief.see``.

        An atom that nothing was done to has stayed as it was at the start, and the situation that
        it is now in says of that what it would have said then, beside one out of view. Not so
        where what may hide a thing was changed: that what comes into view as a door is opened is
        behind it, and not merely in the open, the module ``sights`` says. Nor of a thing out of
        view that something may hide: that a cabinet came into view and the thing did not speaks
        against its being there only if the cabinet is open, which the rules of what is in view
        say.
        """
        if self._sights is None:
            self._sights = self._history.sights = Visibility(
                priors.sights, self.atoms, self._batch)
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
                if atom.args[0] in self._sights.uncovered and not hidden_by:
                    continue  # it would have been in view before, too, or would still be
                if now is not None and unseen is not None:
                    self._history.prior[column] += (log_odds(now, _LEAST)
                                                    - log_odds(unseen, _LEAST))
                    shifted = True
        if shifted:
            self._update(news=0)

    def answer(self, answers: Mapping[Atom, Answer]) -> None:
        """Take in answers; see ``JointBelief.answer``."""
        taken = 0
        for atom, answer in answers.items():
            column = self._estimator.number.get(atom)
            if column is None:
                raise InputError(f'{atom} is not tracked (the belief is about '
                                 f'{len(self.atoms)} atoms of this problem)')
            if column not in self._answered:
                self._answered[column] = answer
                self._history.answer(column, answer)
                taken += 1
        if taken:
            self._update(news=taken)

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in an action and its status; see ``JointBelief.act``."""
        if status is FeedbackStatus.WITHHELD:
            return
        self._history.act(action, status)
        self._moved = True
        drawn_log_p: Floats | float = 0.0
        if status is FeedbackStatus.EXECUTED and self._sights is not None:
            self._sights.act(action)
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

    def _begin(self, steps: int = FIRST_STEPS) -> None:
        """A sample of the prior."""
        k = self.settings.k
        start = first_sample(probabilities(self._history.prior), self._rules, k, self._rng,
                             self._granted)
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
        """Reweight the samples by new evidence; resample and move them if necessary.

        That is where the weight rests on few trajectories, and where all of them had expected
        something else: alike unlikely, they would keep their weights.

        Args:
            drawn_log_p: (K,) log P with which what was added to each trajectory was drawn.
            news: how many things were learned; 0: it is not asked how likely they were.
        """
        from scipy.special import logsumexp  # slow to import

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
        k = len(trajectories)
        kinds = np.array([len(event.log_p) for event in self._history.executed], np.int8)
        times = len(kinds)
        others = _OUTCOMES if times else 0.0
        focus = self._proposals.focus(trajectories.start)
        everyone = np.arange(k)
        for _ in range(steps):
            start, log_q, kind = self._proposals.propose(trajectories.start, focus, rng, others)
            outcomes = trajectories.outcomes.copy()
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

