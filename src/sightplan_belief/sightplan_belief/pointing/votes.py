"""Belief about where a target is, from answers of a model that points.

**Hypotheses and outcomes.** The target is one of K pieces that were proposed, or at one of S other
*spots* of the picture (a piece was missed), or not in the picture at all. These, too, are what an
answer can say. How often targets are pieces, spots and absent is learned (``Reliability.places``);
all pieces are equally probable, and all spots. Without pieces, spots have their probability, too.
The spots that nobody has pointed at yet are taken together (``ELSEWHERE``), because answers so far
tell nothing that sets them apart.

**A fresh answer** o, if the truth is t, with the hit rate h and the confusable fraction c of
misses::

    p(o | t) = h                    o is t
               (1 - h) c / n        o is one of the n pieces that are not t
               (1 - h) (1 - c) / m  o is one of the m spots, or absence, that is not t

(c = 0 if n = 0). An answer of several places (a box over two pieces) has a weight a(o) for each,
in sum 1, and p(a | t) = sum of a(o) p(o | t) over o. Where a model offers a probability of its
own that it is right, that takes the place of h in this one answer: it is taken to be calibrated.

**Askings** are a hidden Markov chain: with probability r an asking gets the answer of the one
before it, whatever the truth is; else it is answered afresh. Hence, exactly::

    P(a_1 ... a_T | t) = p(a_1 | t) product over i > 1 of
                         ((1 - r) p(a_i | t) + r sum over o of a_i(o) a_{i-1}(o))

**Checks.** "Is the marked place the target?" is answered "yes" with probability s if it is, "no"
with probability u if it is not; a check of the same place in other words gets the answer of the
last check of that place with probability q, else it is answered afresh. Answers about different
places are independent. An answer whose probability of "yes" is y counts as a mixture: y times the
likelihood of "yes" plus 1 - y times that of "no".

h, r, c and s, u, q are uncertain, and integrated out (``reliability``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from sightplan_belief.pointing.reliability import CheckerRates, Floats, PointerRates, Reliability

ABSENT = -1
"""Index of the answer "it is not there", and of that hypothesis."""
ELSEWHERE = -2
"""Index of the hypothesis that the target is at a spot that was not pointed at yet."""

SPOTS = 50
"""Number of places beside the pieces that are distinguished in a picture."""
_LEAST, _MOST = 0.01, 0.99
"""Bounds of a model's own probabilities: none of its statements is beyond doubt."""
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer to "where is it?".

    Attributes:
        on: weight by place, in sum 1: pieces from 0, spots from the number of pieces, or ABSENT.
        probability: that it is right, as the model itself says; None where it does not say.
    """

    on: Mapping[int, float]
    probability: float | None = None

    @classmethod
    def at(cls, place: int, probability: float | None = None) -> Vote:
        """Vote for one place alone."""
        return cls({place: 1.0}, probability)


@dataclass(frozen=True, slots=True)
class Check:
    """An answer to "is the marked place right?".

    Attributes:
        place: index of the place that was marked.
        yes: probability of "yes"; 1 or 0 where the model has only words.
    """

    place: int
    yes: float


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers of a model about one target.

    Attributes:
        pieces: number of pieces.
        votes: in the order of asking.
        checks: likewise.
    """

    pieces: int
    votes: tuple[Vote, ...] = ()
    checks: tuple[Check, ...] = ()

    @property
    def places(self) -> int:
        """Number of pieces and of spots that were pointed at."""
        named = [place for vote in self.votes for place in vote.on]
        named += [check.place for check in self.checks]
        return max([self.pieces, *(place + 1 for place in named)])

    def voted(self, vote: Vote) -> Answers:
        """Copy with one more vote."""
        return dataclasses.replace(self, votes=(*self.votes, vote))

    def checked(self, check: Check) -> Answers:
        """Copy with one more check."""
        return dataclasses.replace(self, checks=(*self.checks, check))

    def last_check(self, place: int) -> Check | None:
        """The last one of a place."""
        return next((check for check in reversed(self.checks) if check.place == place), None)


@dataclass(frozen=True, eq=False)
class Emission:
    """Probabilities of fresh answers by truth: p = hit * h + ((1 - h) * piece * c) + ...

    Rows are truths, columns are answers, both in the order pieces, spots, ELSEWHERE, ABSENT.

    Attributes:
        hit: (N, N) how the probability of a hit is divided.
        piece: (N, N) how that of a miss on another piece is.
        other: (N, N) how that of a miss on anything else is.
        no_piece: (N,) whether there is no other piece, so that all misses are on something else.
    """

    hit: Floats
    piece: Floats
    other: Floats
    no_piece: Floats

    @classmethod
    def of(cls, pieces: int, places: int, spots: int) -> Emission:
        """Probabilities for a number of pieces, and of places that are pieces or were pointed at.

        Args:
            pieces: number of pieces.
            places: number of pieces and of spots that were pointed at.
            spots: number of all spots.
        """
        count = places + 2
        unseen = spots - (places - pieces)
        is_piece = np.arange(count) < pieces
        number = np.where(is_piece, 0.0, 1.0)  # of spots that a column stands for
        number[ELSEWHERE] = unseen
        eye = np.eye(count)
        others = np.maximum(pieces - is_piece, 0)
        piece = np.where(is_piece[None, :], (1 - eye) / np.maximum(others, 1)[:, None], 0.0)
        beside = number[None, :] - np.where(is_piece[:, None], 0.0, eye)
        other = beside / beside.sum(axis=1, keepdims=True)
        return cls(eye, piece, other, (others == 0).astype(np.float64))

    def fresh(self, answer: Floats, hit: Floats, confusable: Floats) -> Floats:
        """P(answer | truth, rates) if it is not repeated.

        Args:
            answer: (N,) weights.
            hit: (C,) hit rates.
            confusable: (C,) of misses on other pieces.

        Returns:
            (N, C).
        """
        on_piece = np.outer(1 - self.no_piece, confusable)
        return ((self.hit @ answer)[:, None] * hit
                + (1 - hit) * (on_piece * (self.piece @ answer)[:, None]
                               + (1 - on_piece) * (self.other @ answer)[:, None]))


@dataclass(frozen=True, eq=False)
class Belief:
    """Probabilities of the places of a target.

    Hypotheses are in the order pieces, spots that were pointed at, ELSEWHERE, ABSENT.

    Attributes:
        answers: what the belief follows from.
        reliability: what was known of the model before.
        probabilities: (N,) of each hypothesis.
        pointer_cells: (N, C) probability of the pointer's rates, under each hypothesis.
        checker_cells: (N, D) of the checker's.
        emission: of answers to come.
    """

    answers: Answers
    reliability: Reliability
    probabilities: Floats
    pointer_cells: Floats
    checker_cells: Floats
    emission: Emission

    @property
    def best(self) -> int:
        """Index of the likeliest place, or ABSENT; ELSEWHERE is no place that one could name."""
        named = np.delete(self.probabilities, ELSEWHERE)
        index = int(named.argmax())
        return index if index < len(named) - 1 else ABSENT

    @property
    def probability(self) -> float:
        """Probability that the best place is right."""
        return float(self.probabilities[self.best])

    def learned(self, truth: int | None = None, wrong: Iterable[int] = ()) -> Reliability:
        """Reliability of the model after this target.

        Pointing and checking are taken to be independent of each other again, which they are
        exactly where the truth is known.

        Args:
            truth: index of what was right, where it is known: from labels, or because the thing
                that was grasped was the right one.
            wrong: indices of what turned out to be wrong.

        Returns:
            with other weights. The same, if what is said to be right was thought impossible.
        """
        chances = self.probabilities.copy()
        if truth is not None:
            chances = np.zeros_like(chances)
            chances[truth] = self.probabilities[truth]
        chances[list(wrong)] = 0.0
        if chances.sum() <= 0:
            return self.reliability
        chances /= chances.sum()
        pieces = self.answers.pieces
        kinds = [chances[:pieces].sum(), chances[pieces:ABSENT].sum(), chances[ABSENT]]
        return self.reliability.after(
            chances @ self.pointer_cells, chances @ self.checker_cells,
            np.array(kinds) if pieces else np.zeros(3))


def believe(answers: Answers, reliability: Reliability) -> Belief:
    """The posterior probability of each hypothesis.

    Args:
        answers: of the model, to all askings about one target.
        reliability: of the model.
    """
    spots = max(SPOTS, answers.places - answers.pieces + 1)
    emission = Emission.of(answers.pieces, answers.places, spots)
    points, pointer_cells = _weighed(_votes_likelihood(answers, emission, reliability.pointer),
                                     reliability.pointer.weight)
    checks, checker_cells = _weighed(_checks_likelihood(answers, reliability.checker),
                                     reliability.checker.weight)
    with np.errstate(divide='ignore'):  # a hypothesis that is excluded beforehand
        scores = np.log(_prior(answers, spots, reliability.places)) + points + checks
    chances = np.exp(scores - scores.max())
    return Belief(answers, reliability, chances / chances.sum(), pointer_cells, checker_cells,
                  emission)


def fit(labelled: Iterable[tuple[Answers, int]],
        start: Reliability | None = None) -> Reliability:
    """Learn the reliability from targets whose truth is known.

    Args:
        labelled: answers, and the index of the right piece (or ABSENT).
        start: what was known before; None: ``Reliability.default``.
    """
    known = start or Reliability.default()
    for answers, truth in labelled:
        known = believe(answers, known).learned(truth)
    return known


def _prior(answers: Answers, spots: int, places: Floats) -> Floats:
    """P(hypothesis) before anything is asked, (N,)."""
    pieces, named = answers.pieces, answers.places - answers.pieces
    piece, missed, absent = (places / places.sum()).tolist()
    if not pieces:
        missed += piece
    prior = np.full(answers.places + 2, missed / spots)
    prior[:pieces] = piece / max(pieces, 1)
    prior[ELSEWHERE] = missed * (spots - named) / spots
    prior[ABSENT] = absent
    return prior


def weights_of(vote: Vote, places: int) -> Floats:
    """A vote as (N,) weights, in the order of hypotheses."""
    weights = np.zeros(places + 2)
    for place, weight in vote.on.items():
        weights[place] += weight
    return weights


def _votes_likelihood(answers: Answers, emission: Emission, rates: PointerRates) -> Floats:
    """Log P(votes | truth, rates), (N, C)."""
    total = np.zeros((answers.places + 2, len(rates.weight)))
    last: Floats | None = None
    for vote in answers.votes:
        weights = weights_of(vote, answers.places)
        hit = rates.hit if vote.probability is None else np.full_like(
            rates.hit, min(max(vote.probability, _LEAST), _MOST))
        chance = emission.fresh(weights, hit, rates.confusable)
        if last is not None:
            chance = (1 - rates.repeat) * chance + rates.repeat * float(weights @ last)
        total += np.log(np.maximum(chance, _TINY))
        last = weights
    return total


def _checks_likelihood(answers: Answers, rates: CheckerRates) -> Floats:
    """Log P(checks | truth, rates), (N, D)."""
    wrong, gain = np.zeros(len(rates.weight)), np.zeros((answers.places + 2, len(rates.weight)))
    last: dict[int, float] = {}
    for check in answers.checks:
        before = last.get(check.place)
        chance = [check_chance(yes, check.yes, before, rates.repeat)
                  for yes in (rates.yes_right, 1 - rates.no_wrong)]
        if_right, if_wrong = (np.log(np.maximum(value, _TINY)) for value in chance)
        wrong += if_wrong
        gain[check.place] += if_right - if_wrong
        last[check.place] = check.yes
    return wrong + gain


def check_chance(yes_rate: Floats, yes: float, before: float | None, repeat: Floats) -> Floats:
    """P(answer to a check | how often it is "yes").

    Args:
        yes_rate: (C,) probability of "yes" if it is answered afresh.
        yes: the answer, as the probability of "yes".
        before: the last answer about the same place; None: there was none.
        repeat: (C,) probability that the last answer is repeated.
    """
    fresh = yes * yes_rate + (1 - yes) * (1 - yes_rate)
    if before is None:
        return fresh
    return (1 - repeat) * fresh + repeat * (yes * before + (1 - yes) * (1 - before))


def _weighed(log_likelihood: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """The log of the mean likelihood of each row, and the weights after it."""
    most = log_likelihood.max(axis=1)
    cells = np.exp(log_likelihood - most[:, None]) * weight
    total = cells.sum(axis=1)
    return most + np.log(total), cells / total[:, None]
