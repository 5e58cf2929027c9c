"""A belief over orders: against enumeration by hand, and what well chosen questions are worth."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_belief import ranking
from sightplan_belief.ranking import MOST, RankingBelief, rank

ANSWERS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(-3, 3)).filter(
    lambda answer: answer[0] != answer[1]), max_size=8)


def _by_hand(n: int, answers: list[tuple[int, int, float]]) -> list[float]:
    best, total = [0.0] * n, 0.0
    for order in itertools.permutations(range(n)):
        likelihood = 1.0
        for first, second, log_odds in answers:
            right = 1 / (1 + math.exp(-log_odds))
            likelihood *= right if order.index(first) < order.index(second) else 1 - right
        best[order[0]] += likelihood
        total += likelihood
    return [p / total for p in best]


@given(ANSWERS)
@settings(max_examples=40, deadline=None)
def test_the_probability_of_being_best_is_that_of_enumeration(
        answers: list[tuple[int, int, float]]) -> None:
    belief = RankingBelief(4)
    for answer in answers:
        belief.add(*answer)

    assert belief.ranking().best == pytest.approx(_by_hand(4, answers))


def test_sampled_orders_come_near_to_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = random.Random(3)
    answers = [(i, j, draws.gauss(0.7, 1.0)) for i, j in itertools.combinations(range(6), 2)]
    exact = RankingBelief(6)
    monkeypatch.setattr(ranking, 'MOST_EXACT', 5)
    sampled = RankingBelief(6)
    for first, second, log_odds in answers:
        exact.add(first, second, log_odds)
        sampled.add(first, second, log_odds)

    assert sampled.ranking().best == pytest.approx(exact.ranking().best, abs=0.05)


def test_no_pair_is_asked_again_before_all_were() -> None:
    asked = rank(5, lambda i, j: 0.1, 10).asked

    assert len({frozenset(pair) for pair in asked}) == 10


def test_sure_answers_find_the_order() -> None:
    found = rank(6, lambda i, j: 6.0 if i > j else -6.0, 15)

    assert found.order == (5, 4, 3, 2, 1, 0)
    assert found.best[5] > 0.95
    assert rank(MOST, lambda i, j: 6.0 if i < j else -6.0, 20).order[0] == 0


@pytest.mark.parametrize(('trials', 'fewer'), [
    (20, 3), pytest.param(60, 7, marks=pytest.mark.slow)])
def test_half_of_the_questions_find_the_best_one_nearly_as_often_as_all(
        trials: int, fewer: int) -> None:
    half = full = 0
    for trial in range(trials):
        draws = random.Random(trial)
        truth = draws.sample(range(8), 8)
        given = {(i, j): (1 if truth[i] < truth[j] else -1) * 1.3 + draws.gauss(0, 1.6)
                 for i, j in itertools.combinations(range(8), 2)}
        half += truth[rank(8, lambda i, j, g=given: g[i, j], 14).order[0]] == 0  # type: ignore[misc]
        belief = RankingBelief(8)
        for (i, j), log_odds in given.items():
            belief.add(i, j, log_odds)
        full += truth[belief.ranking().order[0]] == 0

    assert full > trials / 2
    assert half >= full - fewer


@pytest.mark.parametrize('n', [1, 17])
def test_too_few_or_many(n: int) -> None:
    with pytest.raises(InputError, match='2 to 16'):
        RankingBelief(n)


@pytest.mark.parametrize(('first', 'second', 'log_odds'), [
    (0, 0, 1.0), (0, 3, 1.0), (0, 1, math.nan)])
def test_bad_answers(first: int, second: int, log_odds: float) -> None:
    with pytest.raises(InputError, match='pair'):
        RankingBelief(3).add(first, second, log_odds)
