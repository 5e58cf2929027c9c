"""A belief over which of several things is better than which, from noisy comparisons of pairs.

The belief is a distribution over orders (permutations): of up to eight things over all of them
(8! = 40,320), of more over a sample that is moved after each answer. An answer about a pair is
evidence for all orders in which the pair stands that way. The pair to ask next is that whose
answer is expected to tell most about which thing is the best (expected entropy of the best), so
that a few well chosen questions do what asking about all pairs would.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.odds import probability

MOST_EXACT = 8
"""Largest number of things of which all orders are counted."""

MOST = 16
_SAMPLE = 4000
_MOVES = 4
"""Rounds of exchanges of neighbours after each answer, where orders are sampled."""

Answer = Callable[[int, int], float]
"""Log-odds that the first of a pair is the better one; asks a model."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranking of things by the present belief.

    Attributes:
        best: probability of each to be the best; sums to 1.
        order: indices, by expected place from the best on.
        asked: pairs that were asked about, in order.
    """

    best: tuple[float, ...]
    order: tuple[int, ...]
    asked: tuple[tuple[int, int], ...]


class RankingBelief:
    """Belief about the order of n things.

    Args:
        n: how many, 2 to 16.
        seed: of the sample, where orders are sampled.

    Raises:
        InputError: too few or too many.
    """

    def __init__(self, n: int, seed: int = 0) -> None:
        if not 2 <= n <= MOST:
            raise InputError(f'{n} things: 2 to {MOST} can be ranked')
        self.n = n
        self._rng = np.random.default_rng(seed)
        self._exact = n <= MOST_EXACT
        self._places = _all_places(n) if self._exact else self._rng.permuted(
            np.tile(np.arange(n, dtype=np.int8), (_SAMPLE, 1)), axis=1)
        self._orders = self._places if self._exact else np.argsort(self._places, axis=1)
        self._log = np.zeros(len(self._places))
        self._evidence = np.zeros((n, n))
        self._asked: list[tuple[int, int]] = []

    def add(self, first: int, second: int, log_odds: float) -> None:
        """Take an answer about a pair into account.

        Args:
            first: index.
            second: index of another one.
            log_odds: that the first is the better one, as the answer by itself says.

        Raises:
            InputError: not two different things, or no finite number.
        """
        if first == second or not (0 <= first < self.n and 0 <= second < self.n):
            raise InputError(f'pair ({first}, {second}): two different numbers from 0 to '
                             f'{self.n - 1} are needed')
        if not math.isfinite(log_odds):
            raise InputError(f'log-odds {log_odds} of the pair ({first}, {second}) must be finite')
        self._asked.append((first, second))
        self._evidence[first, second] += log_odds
        if self._exact:
            # Up to a constant, the log-likelihood ratio counts for half in each direction.
            ahead = self._places[:, first] < self._places[:, second]
            self._log += np.where(ahead, log_odds / 2, -log_odds / 2)
        else:
            self._move()

    def ranking(self) -> Ranking:
        """Ranking by the present belief."""
        weights = self._weights()
        best = np.array([weights[self._places[:, k] == 0].sum() for k in range(self.n)])
        expected = weights @ self._places
        order = sorted(range(self.n), key=lambda k: (-best[k], expected[k]))
        order[1:] = sorted(order[1:], key=lambda k: expected[k])
        return Ranking(tuple(float(p) for p in best / best.sum()), tuple(order),
                       tuple(self._asked))

    def next_pair(self, reliability: float = 1.0) -> tuple[int, int]:
        """The pair whose answer is expected to be most informative about the best thing.

        No pair twice before all were asked: a model that is asked the same again says the same
        again, and nothing new. Of pairs that tell the same, the first.

        Args:
            reliability: typical log-odds of an answer, positive.
        """
        weights = self._weights()
        right = probability(reliability)
        pairs = list(itertools.combinations(range(self.n), 2))
        times = Counter(tuple(sorted(pair)) for pair in self._asked)
        fewest = min(times[pair] for pair in pairs)
        weighed = weights[:, None] * (self._places == 0)
        best = weighed.sum(0)
        # joint[p, k]: probability that k is the best one and pair p stands in its order.
        joint = self._ahead() @ weighed

        def entropy(number: int) -> float:
            says = right * joint[number] + (1 - right) * (best - joint[number])
            return round(_entropy(says) + _entropy(best - says), 9)

        return min((entropy(number), pair) for number, pair in enumerate(pairs)
                   if times[pair] == fewest)[1]

    def _ahead(self) -> NDArray[np.float64]:
        """For each pair in order, whether its first thing stands ahead in each order."""
        return _all_ahead(self.n) if self._exact else _ahead(self._places)

    def _weights(self) -> NDArray[np.float64]:
        weights = np.exp(self._log - self._log.max())
        return np.asarray(weights / weights.sum(), dtype=np.float64)

    def _move(self) -> None:
        """Exchange neighbours at random in each sampled order, by Metropolis' rule."""
        places, orders = self._places, self._orders
        rows = np.arange(len(places))
        for _ in range(_MOVES * self.n):
            at = self._rng.integers(self.n - 1, size=len(places))
            one, two = orders[rows, at], orders[rows, at + 1]
            gain = self._evidence[two, one] - self._evidence[one, two]
            swap = np.log(self._rng.random(len(places))) < gain
            moved, at = rows[swap], at[swap]
            orders[moved, at], orders[moved, at + 1] = two[swap], one[swap]
            places[moved, one[swap]] += 1
            places[moved, two[swap]] -= 1


@functools.lru_cache(maxsize=2)
def _all_places(n: int) -> NDArray[np.int8]:
    """(n!, n): place of each thing in each order."""
    places = np.array(list(itertools.permutations(range(n))), dtype=np.int8)
    places.setflags(write=False)
    return places


@functools.lru_cache(maxsize=2)
def _all_ahead(n: int) -> NDArray[np.float64]:
    return _ahead(_all_places(n))


def _ahead(places: NDArray[np.int8]) -> NDArray[np.float64]:
    """(pairs, orders): 1 where the first one of a pair stands ahead of the second."""
    return np.array([places[:, i] < places[:, j]
                     for i, j in itertools.combinations(range(places.shape[1]), 2)], dtype=float)


def rank(n: int, answer: Answer, questions: int) -> Ranking:
    """Rank things by asking about well chosen pairs.

    Args:
        n: how many things.
        answer: asks about a pair.
        questions: how many pairs are asked about.

    Raises:
        InputError: too few or too many things.
    """
    belief = RankingBelief(n)
    for _ in range(questions):
        first, second = belief.next_pair()
        belief.add(first, second, answer(first, second))
    return belief.ranking()


def _entropy(parts: NDArray[np.float64]) -> float:
    """Entropy of unnormalised probabilities, times their sum."""
    total = float(parts.sum())
    if total <= 0:
        return 0.0
    positive = parts[parts > 0]
    return float(-(positive * np.log(positive / total)).sum())
