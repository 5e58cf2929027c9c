"""Belief about a joint state: interface for reading it, and choice of questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains import InstantiatedModel
from sightplan.domains.batches import BatchModel
from sightplan.model import (
    Action,
    Answer,
    Atom,
    FeedbackStatus,
    Literal,
    State,
    check_settings,
    param,
)
from sightplan_belief.estimator import MARGINAL_BOUNDS, Estimator
from sightplan_belief.priors import Priors
from sightplan_belief.solver import Bools, Floats

_MOST_BRANCHES = 128  # number of combinations of a batch's answers that are followed


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """Settings of a JointBelief; the last two are for listed states only."""

    k: int = param(256, 'Most joint states kept', low=1, high=4096)
    repeats: str = param(
        'dependent', 'An answer about a new image whose atom has not changed since the last one: '
        'dependent (errors persist, by the calibration) or independent (counts in full)',
        choices=('dependent', 'independent'))
    reliability: str = param(
        'uncertain', 'Rates of answers, in a sample: uncertain (a distribution, learned from what '
        'comes to light) or fixed', choices=('uncertain', 'fixed'))
    escape_nats: float = param(
        4.0, 'A state outside of the belief is taken in when the answers about one image favour '
        'it by more than this [nats]', low=0.0, high=100.0)
    refusal: float = param(
        0.5, 'Probability that an action was applicable although the world has just refused it, '
        'above which states outside of the belief are sought that explain all such refusals; '
        '1: never', low=0.0, high=1.0)


class JointBelief:
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
        self._estimator = estimator
        self._batch = BatchModel(model, self.atoms)
        self._values: Bools  # (K, n) joint states

    def use_rates(self, estimator: Estimator) -> None:
        """Go on with the rates of another estimator of the same atoms, before any answer."""
        self._estimator = estimator

    # --- reading --------------------------------------------------------------------------------

    @property
    def weights(self) -> Floats:
        """(K,) probabilities of the joint states."""
        raise NotImplementedError

    @property
    def state(self) -> State:
        """The most probable joint state."""
        return self._estimator.state(self._values[int(self.weights.argmax())])

    @property
    def states(self) -> list[State]:
        """The joint states, in the order of ``weights``; one may come several times."""
        known: dict[bytes, State] = {}
        keys = [row.tobytes() for row in self._values]
        for key, row in zip(keys, self._values, strict=True):
            if key not in known:
                known[key] = self._estimator.state(row)
        return [known[key] for key in keys]

    def marginals(self) -> dict[Atom, float]:
        """P(atom is true), per atom."""
        p = np.clip(self.weights @ self._values, *MARGINAL_BOUNDS)
        return dict(zip(self.atoms, map(float, p), strict=True))

    def probability(self, literals: Iterable[Literal]) -> float:
        """P(all literals hold); an atom that is not tracked counts as false."""
        return float(self.weights @ self.holds(literals))

    def holds(self, literals: Iterable[Literal]) -> Bools:
        """(K,) whether all literals hold, per joint state."""
        return self._batch.holds(tuple(literals), self._values)

    @property
    def answered(self) -> set[Atom]:
        """Atoms that were asked about the current image."""
        return {self.atoms[i] for i in self._asked()}

    def reaches(self, plan: Iterable[Action], goal: Iterable[Literal]) -> Bools:
        """(K,) whether a plan that goes as it should leads to a goal, per joint state."""
        values = self._values
        good = np.ones(len(values), np.bool_)
        for action in plan:
            good &= self._batch.applicable(action, values)
            values = self._batch.effects(action, values)
        return good & self._batch.holds(tuple(goal), values)

    def success(self, action: Action) -> float:
        """Probability that an action that is carried out has all of its effects."""
        reliability = self._estimator.observation_model.action(action.name)
        return reliability.success * math.prod(reliability.effects.values())

    # --- learning -------------------------------------------------------------------------------

    def expect(self, prior: Mapping[Atom, float], visible: Collection[str] | None = None) -> None:
        """Set the prior probabilities of atoms, before the first action.

        Args:
            prior: P(true) by atom.
            visible: names of all objects that were in view then; None: nothing is known.
        """
        raise NotImplementedError

    def provide(self, facts: Mapping[Atom, bool]) -> None:
        """Take in facts that the world itself provides; they count as certain."""
        raise NotImplementedError

    def observe(self, image: str) -> None:
        """Set the image that the next answers are about.

        A picture seen before (nothing has changed since) says the same as before: what was asked
        about it need not be asked again, and where an atom's value is now thought another one,
        its old answer speaks about the new value.

        Args:
            image: id of the image; '': none is known, every observation counts as a new image.
        """
        raise NotImplementedError

    def see(self, priors: Priors, visible: Collection[str]) -> None:
        """Take in what is in view in the last image.

        Args:
            priors: of the domain: what that tells.
            visible: names of all objects in view.
        """

    def answer(self, answers: Mapping[Atom, Answer]) -> None:
        """Take in answers about the last image, by what was asked.

        The second answer about an atom on the same image says nothing new and is dropped.

        Raises:
            InputError: an atom is not tracked.
        """
        raise NotImplementedError

    def act(self, action: Action, status: FeedbackStatus) -> None:
        """Take in that an action was sent, and the world's feedback.

        Executed: joint states in which it was not applicable lose weight; the others move, with
        the reliabilities of the action. Rejected: joint states in which it was applicable lose
        weight; where that is nearly all of them, others are taken in that explain it. Withheld:
        nothing happened.
        """
        raise NotImplementedError

    def escape(self) -> bool:
        """Take in states outside of the belief that the present speaks for.

        That is: what was answered about the current image, provided, and refused since the last
        action.

        Returns:
            whether any was added.
        """
        return False

    # --- what to ask ----------------------------------------------------------------------------

    def informative(self, candidates: Sequence[Atom], target: Bools | None, count: int,
                    side_interest: float = 0.1, valued: Collection[Atom] = (),
                    ) -> list[tuple[Atom, float]]:
        """Questions with the most informative answers, chosen greedily to complement each other.

        Args:
            candidates: atoms that may be asked; those already asked about the image are skipped.
            target: (K,) what one wants to know, a truth value per joint state; None: the joint
                state itself.
            count: how many to choose at most.
            side_interest: worth of a bit about the joint state relative to one about the target.
            valued: atoms of which a bit is worth as much as one about the target.

        Returns:
            atoms and their expected information [bit], best first.
        """
        columns = np.array([i for i in (self._estimator.number[a] for a in candidates)
                            if i not in self._asked()], np.intp)
        if not len(columns):
            return []
        values, rates = self._values[:, columns], self._rates(columns)
        branches = self.weights[None, :]
        chosen: list[tuple[Atom, float]] = []
        open_ = np.ones(len(columns), np.bool_)
        interest = np.array([1.0 if self.atoms[i] in valued else side_interest for i in columns])
        while len(chosen) < count and open_.any():
            gain = _information(branches, values, rates)
            if target is not None:
                gain = interest * gain + _target_information(branches, values, rates, target)
            gain = np.where(open_, gain, -1.0)
            best = int(gain.argmax())
            if gain[best] <= 0.0:
                break
            open_[best] = False
            chosen.append((self.atoms[columns[best]], float(gain[best])))
            yes = np.where(values[:, best], rates[best, 1], rates[best, 0])
            branches = np.concatenate([branches * yes, branches * (1.0 - yes)])
            if len(branches) > _MOST_BRANCHES:  # the likeliest answers will do
                kept = np.argsort(-branches.sum(axis=1), kind='stable')[:_MOST_BRANCHES]
                branches = branches[kept]
        return chosen

    def _asked(self) -> Collection[int]:
        """Columns that were asked about the current image."""
        raise NotImplementedError

    def _rates(self, columns: NDArray[np.intp]) -> Floats:
        """(m, 2) P(yes | false), P(yes | true) of the next answer about each of (m,) atoms."""
        raise NotImplementedError


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
