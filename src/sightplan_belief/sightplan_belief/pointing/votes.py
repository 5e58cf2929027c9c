"""Belief about where a target is, from answers of a model that points.

**Hypotheses and outcomes.** The target is one of K pieces that were proposed, or at one of S other
*spots* of the picture (a piece was missed), or not in the picture at all. These, too, are what an
answer can say. How often targets are pieces, spots and absent is learned (``Reliability.places``);
all pieces are equally probable, and all spots. Without pieces, spots have their probability, too.
The spots that nobody has pointed at yet are taken together (``ELSEWHERE``), because answers so far
tell nothing that sets them apart.

**Existence.** Before anything is asked, the target is in the picture with a probability that the
situation tells (``believe``); absence is a hypothesis like any place.

**A fresh answer** o, if the target is at t, with the hit rate h, the confusable fraction c of
wrong places, and the fraction g of misses that are silent::

    p(o | t) = h                            o is t
               (1 - h) g                    o is absence
               (1 - h) (1 - g) c / n        o is one of the n pieces that are not t
               (1 - h) (1 - g) (1 - c) / m  o is one of the m spots that are not t

and if it is not in the picture, with the rate f of false alarms::

    p(o | absent) = 1 - f          o is absence
                    f c / n        o is one of the n pieces
                    f (1 - c) / m  o is one of the m spots

(c = 0 if n = 0). An answer of several places (a box over two pieces) has a weight a(o) for each,
in sum 1, and p(a | t) = sum of a(o) p(o | t) over o. Where a model offers a probability of its
own that a place is right, that takes the place of h in this one answer: it is taken to be
calibrated on targets that are there. Its probability p that there is no place takes the place of
1 - f, and 1 - p that of (1 - h) g.

**A model that tells whether the target exists** (``Vote.exists``) is believed in that: its
pointing then tells where the target is, if it is there, and nothing about whether. Its statements
about several views are alike: T of them count as T / (1 + (T - 1) ``VIEWS_ALIKE``) independent
ones with their mean log odds. A vote of a model that does not know the words tells nothing about
whether, either: it points whatever there is.

**Askings** are a hidden Markov chain: with probability r an asking gets the answer of the one
before it, whatever the truth is; else it is answered afresh. Hence, exactly::

    P(a_1 ... a_T | t) = p(a_1 | t) product over i > 1 of
                         ((1 - r) p(a_i | t) + r sum over o of a_i(o) a_{i-1}(o))

**Checks.** "Is the marked place the target?" is answered "yes" with probability s if it is, "no"
with probability u if it is not; a check of the same place in other words gets the answer of the
last check of that place with probability q, else it is answered afresh. Answers about different
places are independent. An answer whose probability of "yes" is y counts as a mixture: y times the
likelihood of "yes" plus 1 - y times that of "no". "Is there such a thing?" is answered likewise,
with s, u and q of its own.

h, r, c, g, f and s, u, q are uncertain, and integrated out (``reliability``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_belief.pointing.reliability import (
    AlarmRates,
    CheckerRates,
    Floats,
    PointerRates,
    Reliability,
)

Indices = NDArray[np.intp]

ABSENT = -1
"""Index of the answer "it is not there", and of that hypothesis."""
ELSEWHERE = -2
"""Index of the hypothesis that the target is at a spot that was not pointed at yet."""

SPOTS = 50
"""Number of places beside the pieces that are distinguished in a picture."""
_EVEN = 0.5
"""Probability of absence from which the answer is that the target is not there."""
_LEAST, _MOST = 0.01, 0.99
"""Bounds of a model's own probabilities: none of its statements is beyond doubt."""
_LEAST_EXISTS = 0.003
"""Lower bound of what a model tells about existence: the calibrated ``embedded`` told more than .5
about none of 240 kinds that were not on held-out tables."""
_TINY = 1e-12
VIEWS_ALIKE = 0.9
"""Correlation of what a model tells about the existence of a target in several views: that of the
log odds of ``embedded`` in two views of 60 held-out tables was .86 to .92."""


@dataclass(frozen=True, slots=True)
class Vote:
    """An answer to "where is it?".

    Attributes:
        on: weight by place, in sum 1: pieces from 0, spots from the number of pieces, or ABSENT.
        probability: that it is right, as the model itself says; None where it does not say.
        exists: that the target is in the picture at all, at even odds beforehand, as the model
            itself says; 0.5 where it does not know the words; None where it does not say.
    """

    on: Mapping[int, float]
    probability: float | None = None
    exists: float | None = None

    @classmethod
    def at(cls, place: int, probability: float | None = None,
           exists: float | None = None) -> Vote:
        """Vote for one place alone."""
        return cls({place: 1.0}, probability, exists)


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
        existence: answers to "is there such a thing?" as probabilities of "yes", likewise.
    """

    pieces: int
    votes: tuple[Vote, ...] = ()
    checks: tuple[Check, ...] = ()
    existence: tuple[float, ...] = ()

    @property
    def supported(self) -> frozenset[int]:
        """Places that were pointed at, or that a check said to be right."""
        return frozenset(
            [place for vote in self.votes for place, weight in vote.on.items()
             if place != ABSENT and weight > 0]
            + [check.place for check in self.checks if check.yes > _EVEN])

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

    @property
    def any(self) -> bool:
        """Whether there is any answer."""
        return bool(self.votes or self.checks or self.existence)

    def asked_existence(self, yes: float) -> Answers:
        """Copy with one more answer to "is there such a thing?"."""
        return dataclasses.replace(self, existence=(*self.existence, yes))

    @property
    def told_existence(self) -> float | None:
        """Probability of existence that the model tells by itself; None where it does not.

        At even odds beforehand, from all its votes together.
        """
        told = [min(max(vote.exists, _LEAST_EXISTS), _MOST) for vote in self.votes
                if vote.exists is not None]
        if not told:
            return None
        number = len(told) / (1 + (len(told) - 1) * VIEWS_ALIKE)
        odds = number * float(np.mean(np.log(told) - np.log1p(-np.array(told))))
        return float(1 / (1 + np.exp(-odds)))

    def last_check(self, place: int) -> Check | None:
        """The last one of a place."""
        return next((check for check in reversed(self.checks) if check.place == place), None)


@dataclass(frozen=True, eq=False)
class Emission:
    """Probabilities of fresh answers by truth, as products of rates and these shares.

    Rows are truths, columns are answers, both in the order pieces, spots, ELSEWHERE, ABSENT.

    Attributes:
        piece: (N, N) how the probability of a wrong place on a piece is divided.
        other: (N, N) how that of a wrong place on anything else is.
        no_piece: (N,) whether there is no other piece, so that all wrong places are on something
            else.
    """

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
        number[ELSEWHERE], number[ABSENT] = unseen, 0.0
        eye = np.eye(count)
        others = np.maximum(pieces - is_piece, 0)
        piece = np.where(is_piece[None, :], (1 - eye) / np.maximum(others, 1)[:, None], 0.0)
        own = np.where(is_piece[:, None], 0.0, eye)
        own[ABSENT] = 0.0
        other = number[None, :] - own
        other /= other.sum(axis=1, keepdims=True)
        return cls(piece, other, (others == 0).astype(np.float64))

    def rows(self, truths: Indices) -> Emission:
        """Probabilities under some of the truths, (R, N)."""
        return Emission(self.piece[truths], self.other[truths], self.no_piece[truths])

    def wrong(self, answer: Floats, confusable: Floats) -> Floats:
        """P(answer | truth, that a wrong place is named), (N, C).

        Args:
            answer: (N,) weights.
            confusable: (C,) fraction of wrong places that are on pieces.
        """
        on_piece = np.outer(1 - self.no_piece, confusable)
        return (on_piece * (self.piece @ answer)[:, None]
                + (1 - on_piece) * (self.other @ answer)[:, None])


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
        existence_cells: (2, E) of those of answers on existence, if it is there and if not.
        alarm_cells: (F, C) of those of false alarms and the pointer's, if it is not there.
        emission: of answers to come.
    """

    answers: Answers
    reliability: Reliability
    probabilities: Floats
    pointer_cells: Floats
    checker_cells: Floats
    existence_cells: Floats
    alarm_cells: Floats
    emission: Emission

    @property
    def present(self) -> float:
        """Probability that the target is in the picture, wherever."""
        return float(1 - self.probabilities[ABSENT])

    @property
    def best(self) -> int:
        """Index of the likeliest place; ABSENT where it is rather not there than there.

        Only a place that the model pointed at, or confirmed, is named: that no other thing is in
        the picture makes no place of a target of which the model said that it is not there. Where
        none can be named, it is ABSENT.
        """
        named = self.answers.supported
        if self.probabilities[ABSENT] >= _EVEN or not named:
            return ABSENT
        return max(sorted(named), key=lambda place: float(self.probabilities[place]))

    @property
    def probability(self) -> float:
        """Probability that the target exists and is at the best place; or that it is not there."""
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
        absent = float(chances[ABSENT])
        known = self.reliability.alarm.weight
        return self.reliability.after(
            chances @ self.pointer_cells, chances @ self.checker_cells,
            np.array([1 - absent, absent]) @ self.existence_cells,
            absent * self.alarm_cells.sum(axis=1) + (1 - absent) * known,
            np.array(kinds) if pieces else np.zeros(3))


def believe(answers: Answers, reliability: Reliability, present: float | None = None) -> Belief:
    """The posterior probability of each hypothesis.

    Args:
        answers: of the model, to all askings about one target.
        reliability: of the model.
        present: probability beforehand that the target is in the picture; None: as often as
            targets were so far (``Reliability.places``).
    """
    spots = max(SPOTS, answers.places - answers.pieces + 1)
    emission = Emission.of(answers.pieces, answers.places, spots)
    prior = _prior(answers, spots, reliability.places)
    rows, row_of = _distinct(answers)
    votes, alarm_cells = _votes_likelihood(answers, emission, rows, reliability)
    points, pointer_cells = (found[row_of] for found in _weighed(votes,
                                                                 reliability.pointer.weight))
    told = answers.told_existence
    if told is not None:
        points = _told(points, prior, told)
    checks, checker_cells = _weighed(_checks_likelihood(answers, reliability.checker),
                                     reliability.checker.weight)
    existence, existence_cells = _weighed(
        _existence_likelihood(answers.existence, reliability.existence),
        reliability.existence.weight)
    if present is not None:
        prior = np.append(prior[:ABSENT] * present / prior[:ABSENT].sum(), 1 - present)
    with np.errstate(divide='ignore'):  # a hypothesis that is excluded beforehand
        scores = np.log(prior) + points + checks + existence[0]
        scores[ABSENT] += existence[1] - existence[0]
    chances = np.exp(scores - scores.max())
    return Belief(answers, reliability, chances / chances.sum(), pointer_cells, checker_cells,
                  existence_cells, alarm_cells, emission)


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


def _distinct(answers: Answers) -> tuple[Indices, Indices]:
    """Hypotheses whose votes have likelihoods of their own, and for each which of these is its.

    Pieces that were never pointed at are all alike.
    """
    pieces = answers.pieces
    voted = {place for vote in answers.votes for place in vote.on}
    other = next((piece for piece in range(pieces) if piece not in voted), 0)
    alike = np.arange(answers.places + 2)
    alike[:pieces] = [piece if piece in voted else other for piece in range(pieces)]
    return np.unique(alike, return_inverse=True)


def _votes_likelihood(answers: Answers, emission: Emission, rows: Indices,
                      known: Reliability) -> tuple[Floats, Floats]:
    """Log P(votes | truth, rates), (R, C), and the weights of false alarms after them, (F, C).

    The rate of false alarms matters to absence alone, and is integrated out there.

    Args:
        answers: of the model.
        emission: of its answers.
        rows: (R,) indices of the hypotheses; the last one is absence.
        known: reliability of the model.
    """
    rates, alarm = known.pointer, known.alarm
    emission = emission.rows(rows)
    total = np.zeros((len(rows), len(rates.weight)))
    absent = np.zeros((len(alarm.weight), len(rates.weight)))
    last: Floats | None = None
    for vote in answers.votes:
        weights = weights_of(vote, answers.places)
        there, not_there = _fresh(vote, weights, weights[rows], emission, rates, alarm)
        if last is not None:
            again = rates.repeat * float(weights @ last)
            there, not_there = ((1 - rates.repeat) * chance + again
                                for chance in (there, not_there))
        total += np.log(np.maximum(there, _TINY))
        absent += np.log(np.maximum(not_there, _TINY))
        last = weights
    most = absent.max()
    cells = np.exp(absent - most) * alarm.weight[:, None]
    total[ABSENT] = most + np.log(np.maximum(cells.sum(axis=0), np.finfo(float).tiny))
    cells *= rates.weight
    return total, cells / cells.sum()


def _fresh(vote: Vote, weights: Floats, right: Floats, emission: Emission, rates: PointerRates,
           alarm: AlarmRates) -> tuple[Floats, Floats]:
    """P(vote | truth, rates) if it is not repeated: (R, C), and (F, C) if it is not there.

    Args:
        vote: of the model.
        weights: (N,) of the vote.
        right: (R,) weight of the vote for each truth.
        emission: of these truths.
        rates: of pointing at what is there.
        alarm: of pointing at what is not there.
    """
    said_absent = float(weights[ABSENT])
    hit, silent = rates.hit, (1 - rates.hit) * rates.silent
    false_alarm = alarm.false_alarm
    if vote.probability is not None:
        own = min(max(vote.probability, _LEAST), _MOST)
        if said_absent < _EVEN:
            hit = np.full_like(hit, own)
            silent = (1 - own) * rates.silent
        else:
            silent, false_alarm = np.full_like(hit, 1 - own), np.full_like(false_alarm, 1 - own)
    wrong = emission.wrong(weights, rates.confusable)
    there = (right[:, None] * hit + silent * said_absent
             + np.maximum(1 - hit - silent, 0.0) * wrong)
    not_there = ((1 - false_alarm) * said_absent)[:, None] + np.outer(false_alarm, wrong[ABSENT])
    return there, not_there


def _told(points: Floats, prior: Floats, exists: float) -> Floats:
    """Log likelihoods where the model itself tells whether the target exists.

    Its votes then have the same likelihood on average whether it exists or not.

    Args:
        points: (N,) log P(votes | truth).
        prior: (N,) of the hypotheses; only that of one place relative to another counts.
        exists: what the model tells of existence, at even odds beforehand.
    """
    told: Floats = points + np.log(exists)
    with np.errstate(divide='ignore'):
        scores = np.log(prior[:ABSENT]) + points[:ABSENT]
    most = scores.max()
    mean = most + np.log(np.exp(scores - most).sum()) - np.log(prior[:ABSENT].sum())
    told[ABSENT] = mean + np.log1p(-exists)
    return told


def _existence_likelihood(said: Iterable[float], rates: CheckerRates) -> Floats:
    """Log P(answers | whether it is there, rates), (2, E); the first row: it is there."""
    total = np.zeros((2, len(rates.weight)))
    before: float | None = None
    for yes in said:
        for row, rate in enumerate((rates.yes_right, 1 - rates.no_wrong)):
            total[row] += np.log(np.maximum(check_chance(rate, yes, before, rates.repeat), _TINY))
        before = yes
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
