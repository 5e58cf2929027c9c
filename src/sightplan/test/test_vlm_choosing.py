"""Choosing among options: reading replies, and asking so that bias cancels."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import (
    BackendError,
    InputError,
    RefusedError,
    SightplanError,
    SpendingCapError,
)
from sightplan.model.query import Deadline, ModelByKind, answers, ask_one
from sightplan.queries import Generate, TextReply
from sightplan.queries.choose import (
    HARD,
    ChoiceReply,
    Choose,
    Comparison,
    compare,
    read_choice,
    read_letter,
)
from sightplan.vlm.api import make_backend
from sightplan.vlm.wrapping import Prompted

PATHS = ('Path 1', 'Path 2')


class _Biased(ModelByKind):
    """Evidence for the subject 'good', and a constant bias to what is shown first."""

    name = 'biased'

    def __init__(self, evidence: float, bias: float, hard: bool = False) -> None:
        self._evidence, self._bias, self._hard = evidence, bias, hard

    @answers(Choose)
    def choose(self, request: Choose, deadline: Deadline) -> ChoiceReply:
        sign = 1 if request.subjects[0] == 'good' else -1
        log_odds = sign * self._evidence + self._bias
        p = 1 / (1 + math.exp(-log_odds))
        return ChoiceReply(None if self._hard else (p, 1 - p), 0 if p > 0.5 else 1)


class _Talker(ModelByKind):
    name = 'talker'

    def __init__(self, reply: str) -> None:
        self._reply = reply

    @answers(Generate)
    def generate(self, request: object, deadline: Deadline) -> TextReply:
        return TextReply(self._reply)


def _pair(subjects: tuple[str, str] = ('good', 'bad'),
          ) -> Callable[[int, int], Choose]:
    return lambda first, second: Choose(('Which?',), PATHS, (subjects[first], subjects[second]))


@given(st.floats(-4, 4), st.floats(-4, 4))
def test_a_constant_bias_cancels(evidence: float, bias: float) -> None:
    comparison = compare(_Biased(evidence, bias), _pair())  # type: ignore[arg-type]

    assert comparison.log_odds == pytest.approx(2 * evidence, abs=1e-6)


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_one_order_keeps_the_bias(evidence: float, bias: float) -> None:
    comparison = compare(_Biased(evidence, bias), _pair(), 'one')  # type: ignore[arg-type]

    assert comparison.log_odds == pytest.approx(evidence + bias, abs=1e-6)
    assert len(comparison.replies) == 1


def test_hard_answers_that_contradict_each_other_say_nothing() -> None:
    torn = compare(_Biased(0.5, 3.0, hard=True), _pair())  # type: ignore[arg-type]
    sure = compare(_Biased(3.0, 0.5, hard=True), _pair())  # type: ignore[arg-type]

    assert torn.probability == 0.5 and torn.agreed is False
    assert sure.log_odds == pytest.approx(2 * math.log(HARD / (1 - HARD))) and sure.agreed


def test_a_reply_that_cannot_be_read_is_no_evidence() -> None:
    comparison = compare(Prompted(_Talker('Neither.')), _pair())

    assert comparison.probability == 0.5 and comparison.agreed is None
    assert comparison.replies[0].unread == 'names no option'


@pytest.mark.parametrize(('text', 'chosen'), [
    ('Answer: Path 1\nExplanation: Path 2 is longer.', 0),
    ('**Answer:** Path 2.\nExplanation: shorter', 1),
    ('path2', 1),
    ('Path 2', 1),
    ('I take Path 1.', 0),
    ('Path 1 or Path 2', None),
    ('Answer: Path 1\nWait. Answer: path 2', 1),
    ('Path 12', None),
    ('', None),
])
def test_what_replies_name(text: str, chosen: int | None) -> None:
    reply = read_choice(text, PATHS)

    assert reply.chosen == chosen
    assert bool(reply.unread) is (chosen is None)


@given(st.text(max_size=80))
def test_any_text_is_read_or_said_to_be_unread(text: str) -> None:
    reply = read_choice(text, PATHS)

    assert (reply.chosen is None) is bool(reply.unread)


@pytest.mark.parametrize(('options', 'subjects', 'says'), [
    (('a',), (), '2 to 16'),
    (('a', 'A '), (), 'different'),
    (('a', ' '), (), 'a name'),
    (('a', 'b'), ('x',), 'subjects'),
])
def test_bad_requests(options: tuple[str, ...], subjects: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Choose(('?',), options, subjects)


def test_a_backend_of_yes_and_no_says_that_it_cannot() -> None:
    class Truth:
        def state(self, stamp_ns: int) -> frozenset[object]:
            return frozenset()

    backend = make_backend('noisy_oracle', {}, Truth())
    with pytest.raises(InputError, match="no queries of kind 'choice'"):
        ask_one(backend, _pair()(0, 1))


def test_orders_are_checked() -> None:
    with pytest.raises(InputError, match='both or one'):
        compare(_Biased(1, 0), _pair(), 'three')  # type: ignore[arg-type]


@pytest.mark.parametrize(('text', 'chosen'), [
    ('A', 0), ('b.', 1), ('**B**', 1), ('A\n\nBecause', 0), ('(A) Path 1', 0), ('A is better', 0),
    ('B is better', 1), ('Answer: A, since', 0), ('Path 2', 1), ('C', None), ('', None),
    ('A comparison shows that Path 2 is better', 1), ('A quick look at both: path 2', 1),
    ('I think Path 2', 1), ('A is worse than B', 1), ('A is not good', None),
    ('B has sharp turns, so A', 0)])
def test_a_letter_is_no_article(text: str, chosen: int | None) -> None:
    assert read_letter(text, None, Choose(('Which?',), PATHS)).chosen == chosen


def test_probabilities_of_a_letter_that_is_found_worse_are_not_those_of_the_choice() -> None:
    request = Choose(('Which?',), PATHS)
    worse = read_letter('A is worse than B', [0.9, 0.1], request)
    assert (worse.chosen, worse.probabilities) == (1, None)
    better = read_letter('A is better than B', [0.9, 0.1], request)
    assert (better.chosen, better.probabilities) == (0, (0.9, 0.1))


@pytest.mark.parametrize('masses', [[math.nan, math.nan], [0.5, math.nan], [math.inf, 0.1]])
def test_probabilities_that_are_no_numbers_choose_nothing(masses: list[float]) -> None:
    with pytest.raises(BackendError, match='no numbers'):
        read_letter('A', masses, Choose(('Which?',), PATHS))


class _FailsOnce(ModelByKind):
    """Chats, but fails at the second request with an error of a given class."""

    name = 'fails once'

    def __init__(self, error: type[SightplanError]) -> None:
        self.asked, self._error = 0, error

    @answers(Generate)
    def generate(self, request: object, deadline: Deadline) -> TextReply:
        self.asked += 1
        if self.asked == 2:
            raise self._error('that one')
        return TextReply('Path 2')


@pytest.mark.parametrize(('error', 'keep_going', 'asked'), [
    (BackendError, True, 4), (BackendError, False, 2), (RefusedError, True, 2),
    (SpendingCapError, True, 2)])
def test_queries_put_in_words_go_on_after_one_failed_where_the_rest_is_of_use(
        error: type[SightplanError], keep_going: bool, asked: int) -> None:
    model = _FailsOnce(error)
    queries = [Choose((f'Question {number}?',), PATHS) for number in range(4)]
    with pytest.raises(error) as caught:
        Prompted(model).ask(queries, Deadline(keep_going=keep_going))
    partial = [None if reply is None else reply.chosen for reply in caught.value.partial]
    assert model.asked == asked and partial == ([1, None, 1, 1] if asked == 4 else
                                                [1, None, None, None])


@pytest.mark.parametrize(('text', 'reason'), [
    ('I cannot tell which one is better.', 'the model says so'),
    ('The pictures show no path; there is no such thing.', 'no such thing is seen'),
    ('Path 1 is better, although the end is hidden.', ''),
    ('Path 1 is too far from the walls to be the worse one: Path 1.', '')])
def test_a_model_that_cannot_tell_chooses_nothing_and_is_no_evidence(text, reason):
    reply = read_choice(text, ('Path 1', 'Path 2'))
    assert reply.cannot_tell == reason and (reply.chosen is None) is bool(reason)
    found = Comparison(0.5, None, (reply, reply))
    assert found.cannot_tell == reason
