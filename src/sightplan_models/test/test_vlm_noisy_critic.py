"""A model's published errors about pairs: what was said how often, and what two orders give."""

from __future__ import annotations

import math
import random
from statistics import NormalDist

import pytest

from sightplan.model import InputError
from sightplan.model.query import ask_one
from sightplan.queries.choose import Choose, compare
from sightplan_models.noisy_critic import Backend, Settings, published

PUBLISHED, NEUTRAL = ('Path 1', 'Path 2'), ('x7kq', 'b2ma')
N = 4000
PHI = NormalDist().cdf


class _Truth:
    """The one that ends with 0 is the better one."""

    def better(self, first: str, second: str) -> int:
        return int(second[-1]) - int(first[-1])


def _accuracy(orders: str, names: tuple[str, str] = PUBLISHED, **settings: object,
              ) -> tuple[float, float]:
    """Right, and "first" said about the pair as it is; a tie counts for half."""
    backend = Backend(Settings(**settings), _Truth())  # type: ignore[arg-type]
    draws = random.Random(1)
    right = first = 0.0
    for number in range(N):
        pair = [f'{number}/0', f'{number}/1']
        if draws.random() < 520 / 1050:
            pair.reverse()
        result = compare(backend, lambda i, j, pair=pair: Choose(('?',), names, (pair[i],
                pair[j])), orders)
        truth = pair[0][-1] == '0'
        right += 0.5 if abs(result.log_odds) < 1e-9 else (result.log_odds > 0) is truth
        first += result.replies[0].chosen == 0
    return right / N, first / N


def test_sensitivity_as_predicted_from_the_published_counts() -> None:
    assert published()['gpt-4o-mini'].sensitivity == pytest.approx(0.84, abs=0.005)
    assert published()['gpt-4o'].sensitivity == pytest.approx(1.13, abs=0.005)


@pytest.mark.parametrize(('table', 'accuracy', 'first', 'neutral'), [
    ('gpt-4o-mini', 0.520, 34, 94), ('gpt-4o', 0.665, 278, 291),
    ('llava-next-7b', 0.501, 1028, 580),
    ('llama-3.2-11b', 0.480, 601, 731)])
def test_published_counts_come_out(table: str, accuracy: float, first: int, neutral: int) -> None:
    right, said = _accuracy('one', table=table)
    _, said_neutral = _accuracy('one', NEUTRAL, table=table)

    assert right == pytest.approx(accuracy, abs=0.025)
    assert said == pytest.approx(first / 1050, abs=0.025)
    assert said_neutral == pytest.approx(neutral / 1050, abs=0.025)


@pytest.mark.parametrize(('table', 'd'), [('gpt-4o-mini', 0.839), ('gpt-4o', 1.130)])
def test_both_orders_of_graded_answers_are_worth_what_signal_detection_predicts(
        table: str, d: float) -> None:
    independent, _ = _accuracy('both', table=table)
    shared, _ = _accuracy('both', table=table, noise='shared')

    assert independent == pytest.approx(PHI(d / math.sqrt(2)), abs=0.025)
    assert shared == pytest.approx(PHI(d / 2), abs=0.025)


def test_both_orders_of_hard_answers_hardly_help() -> None:
    one, _ = _accuracy('one', table='gpt-4o-mini', answers='hard')
    both, _ = _accuracy('both', table='gpt-4o-mini', answers='hard')

    assert abs(both - one) < 0.03


def test_the_same_request_gets_the_same_reply_whatever_came_before() -> None:
    request = Choose(('?',), PUBLISHED, ('a/0', 'a/1'))
    fresh, used = (Backend(Settings(), _Truth()) for _ in range(2))
    ask_one(used, Choose(('?',), PUBLISHED, ('b/0', 'b/1')))

    assert ask_one(fresh, request) == ask_one(used, request)
    assert ask_one(fresh, request) != ask_one(Backend(Settings(seed=1), _Truth()), request)


@pytest.mark.parametrize('answers', ['graded', 'hard'])
def test_probabilities_go_with_what_is_named(answers: str) -> None:
    backend = Backend(Settings(answers=answers), _Truth())
    for number in range(100):
        reply = ask_one(backend, Choose(('?',), PUBLISHED, (f'{number}/0', f'{number}/1')))
        assert (reply.probabilities is None) is (answers == 'hard')
        if reply.probabilities:
            assert reply.chosen == (0 if reply.probabilities[0] > 0.5 else 1)
            assert sum(reply.probabilities) == pytest.approx(1)


def test_what_it_cannot_is_said() -> None:
    backend = Backend(Settings(), _Truth())
    with pytest.raises(InputError, match='two subjects'):
        ask_one(backend, Choose(('?',), ('a', 'b', 'c'), ('1', '2', '3')))
    with pytest.raises(InputError, match='gpt-4o-mini'):
        Backend(Settings(table='gpt-9'), _Truth())


def test_a_fraction_of_pairs_cannot_be_told_and_says_nothing() -> None:
    backend = Backend(Settings(cannot_tell=0.3), _Truth())
    replies = [ask_one(backend, Choose(('?',), PUBLISHED, (f'{number}/0', f'{number}/1')))
               for number in range(400)]
    silent = [reply for reply in replies if reply.cannot_tell]
    assert len(silent) == pytest.approx(120, abs=40) and 'cannot tell 0.3' in backend.name
    assert all(reply.chosen is None and reply.probabilities is None for reply in silent)
