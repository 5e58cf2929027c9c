"""Choice of the next asking: point once more, check a place, or ask whether it is there at all.

What an asking is worth is the information that its answer is expected to give about where the
target is, and by how much it is expected to raise the probability of the best place. The fewer
askings are left, the more the latter counts: there will be no use for information later on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sightplan_belief.pointing.reliability import Floats
from sightplan_belief.pointing.votes import ABSENT, ELSEWHERE, Belief, check_chance, weights_of

_LEAST_INFORMATION = 1e-3
"""Smallest expected information of an asking that is worth it [nats]."""
_GAIN = 10.0
"""Value of a gain in the best place's probability, in nats of information, at the last asking."""


@dataclass(frozen=True, slots=True)
class Asking:
    """A possible question to the model.

    Attributes:
        place: index of the place that is to be checked; None: ask where the target is.
        exists: whether it is asked if there is such a thing, wherever.
    """

    place: int | None = None
    exists: bool = False

    @property
    def is_check(self) -> bool:
        """Whether the answer is yes or no."""
        return self.exists or self.place is not None


POINT = Asking()
EXISTS = Asking(exists=True)


def next_asking(belief: Belief, askings: Iterable[Asking], left: int) -> Asking | None:
    """The asking that is worth most.

    Args:
        belief: what is believed so far.
        askings: what may be asked.
        left: how many askings there still may be.

    Returns:
        None: nothing that may be asked can be expected to tell anything.
    """
    if left < 1:
        return None
    best, most = None, 0.0
    for asking in askings:
        chances = outcome_chances(belief, asking)
        information = _information(belief.probabilities, chances)
        worth = information + _GAIN / left * _gain(belief, chances)
        if information > _LEAST_INFORMATION and worth > most:
            best, most = asking, worth
    return best


def outcome_chances(belief: Belief, asking: Asking) -> Floats:
    """Probabilities (N, answers) of each answer, by truth, given all answers so far.

    Answers to "where?" are in the order of the hypotheses; answers to all else are yes and no.
    """
    if asking.exists:
        return _existence_chances(belief)
    return (_point_chances(belief) if asking.place is None
            else _check_chances(belief, asking.place))


def _point_chances(belief: Belief) -> Floats:
    rates, cells, emission = belief.reliability.pointer, belief.pointer_cells, belief.emission
    votes, count = belief.answers.votes, belief.answers.places + 2
    afresh = 1 - rates.repeat if votes else np.ones_like(rates.repeat)
    hit, miss = afresh * rates.hit, afresh * (1 - rates.hit)
    silent, wrong = miss * rates.silent, miss * (1 - rates.silent)
    confused = (cells @ (wrong * rates.confusable)) * (1 - emission.no_piece)
    other = cells @ wrong - confused
    chances = ((cells @ hit)[:, None] * np.eye(count) + confused[:, None] * emission.piece
               + other[:, None] * emission.other)
    chances[:, ABSENT] += cells @ silent
    alarmed = belief.reliability.alarm.false_alarm @ belief.alarm_cells
    alarm, new = float(alarmed @ afresh), float(belief.alarm_cells.sum(axis=0) @ afresh)
    at_piece = float(alarmed @ (afresh * rates.confusable)) * (1 - emission.no_piece[ABSENT])
    chances[ABSENT] = (at_piece * emission.piece[ABSENT]
                       + (alarm - at_piece) * emission.other[ABSENT])
    chances[ABSENT, ABSENT] = new - alarm
    if votes:
        chances += np.outer(cells @ rates.repeat, weights_of(votes[-1], belief.answers.places))
    return chances


def _existence_chances(belief: Belief) -> Floats:
    rates, said = belief.reliability.existence, belief.answers.existence
    before = said[-1] if said else None
    there, not_there = (float(cells @ check_chance(rate, 1.0, before, rates.repeat))
                        for cells, rate in zip(belief.existence_cells,
                                               (rates.yes_right, 1 - rates.no_wrong),
                                               strict=True))
    yes = np.full(belief.answers.places + 2, there)
    yes[ABSENT] = not_there
    return np.stack([yes, 1 - yes], axis=1)


def _check_chances(belief: Belief, place: int) -> Floats:
    rates, last = belief.reliability.checker, belief.answers.last_check(place)
    before = None if last is None else last.yes
    yes = belief.checker_cells @ check_chance(1 - rates.no_wrong, 1.0, before, rates.repeat)
    yes[place] = belief.checker_cells[place] @ check_chance(rates.yes_right, 1.0, before,
                                                            rates.repeat)
    return np.stack([yes, 1 - yes], axis=1)


def _information(probabilities: Floats, chances: Floats) -> float:
    """Mutual information of truth and answer [nats]."""
    from scipy.special import xlogy  # slow to import

    expected = probabilities @ chances
    return float(probabilities @ xlogy(chances, chances).sum(axis=1)
                 - xlogy(expected, expected).sum())


def _gain(belief: Belief, chances: Floats) -> float:
    """Expected gain of the best place's probability by an answer."""
    joint = np.delete(belief.probabilities[:, None] * chances, ELSEWHERE, axis=0)
    now = np.delete(belief.probabilities, ELSEWHERE).max()
    return float(joint.max(axis=0).sum() - now)
