"""What the backend ``openai`` does about a yes or no that is not among the likely tokens."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, Reply, chat, error, questions
from sightplan.model import Atom, GroundingPrompt, Observation, Question
from sightplan.model.query import ask_all, ask_one
from sightplan.queries import yes_no_queries
from sightplan.queries.choose import Choose

pytest.importorskip('openai')

from sightplan_models._openai_logprobs import LEAST, read_tokens

SHORT = {'Yes': 0.92, 'yes': 0.02, 'Sure': 0.02}
LONG = {**SHORT, 'Well': 0.01, 'No': 0.004, ' no': 0.001}


def lists(body: dict[str, Any]) -> dict[str, float]:
    """As many tokens as were asked for."""
    return LONG if body['top_logprobs'] > 20 else SHORT


def test_a_longer_list_has_the_probability_of_the_other_word(make: Any) -> None:
    with FakeServer(lambda body, number: chat('Yes', logprobs=[('Yes', lists(body))])) as server:
        server.most_logprobs = 100_000
        [reply] = ask_all(make(server), questions())
        assert (reply.p_yes, reply.p_no) == (pytest.approx(0.94), pytest.approx(0.005))
        first, second = server.bodies
        assert second == {**first, 'max_tokens': 1, 'top_logprobs': 5000}
        assert not reply.bounded
        [reply] = ask_all(make(server, ask_again='off'), questions())
        assert reply.p_no == pytest.approx(0.04) and len(server.bodies) == 3 and reply.bounded


def test_a_server_with_short_lists_is_asked_once_more_at_most(make: Any) -> None:
    """One server refuses a longer list, the other gives the same again."""
    for most in (20, 100_000):
        with FakeServer(lambda body, number: chat('Yes', logprobs=[('Yes', SHORT)])) as server:
            server.most_logprobs = most
            replies = ask_all(make(server, concurrency=1), questions(4))
            assert [reply.p_no for reply in replies] == [pytest.approx(0.04)] * 4
            assert len(server.bodies) + len(server.refused) == 5


@pytest.mark.parametrize('field', ['structured_outputs', 'guided_choice'])
def test_vllm_is_made_to_say_the_other_word(make: Any, field: str) -> None:
    """It reports the forced token's probability as it was before the constraint."""
    def behave(body: dict[str, Any], number: int) -> Reply:
        forced = body.get(field)
        if isinstance(forced, dict):
            forced = forced['choice']
        if not forced:
            return chat(' Yes', logprobs=[(' Yes', {' Yes': 0.92, 'Sure': 0.02})])
        assert forced in ([' No'], [' Unknown'])
        return chat(forced[0], logprobs=[(forced[0], {' Yes': 0.92, forced[0]: (
            0.003 if forced == [' No'] else 0.001)})])
    with FakeServer(behave) as server:
        server.owner = 'vllm'
        replies = ask_all(make(server, concurrency=1), questions(3, unknown=True))
        extra = 1 if field == 'guided_choice' else 0  # the newer field is tried once
        assert len(server.bodies) == 9 + extra and len(server.refused) == 1
    for reply in replies:
        assert (reply.p_yes, reply.p_no, reply.p_unknown) == (
            pytest.approx(0.92), pytest.approx(0.003), pytest.approx(0.001))


def test_a_way_that_another_request_gives_up_meanwhile_is_gone_to_its_end(make: Any) -> None:
    model: list[Any] = []

    def behave(body: dict[str, Any], number: int) -> Reply:
        forced = body.get('structured_outputs')
        if forced is None:
            return chat(' Yes', logprobs=[(' Yes', {' Yes': 0.92, 'Sure': 0.02})])
        model[0].chat._dialect = dataclasses.replace(model[0].chat._dialect, again='')
        [word] = forced['choice']
        return chat(word, logprobs=[(word, {' Yes': 0.92, word: 0.003})])
    with FakeServer(behave) as server:
        server.owner = 'vllm'
        model.append(make(server))
        [reply] = ask_all(model[0], questions(unknown=True))
    assert (reply.p_no, reply.p_unknown) == (pytest.approx(0.003), pytest.approx(0.003))


def test_what_is_left_after_a_constraint_is_not_taken_for_a_probability(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return (chat('No', logprobs=[('No', {'No': 1.0})]) if 'structured_outputs' in body
                or 'guided_choice' in body else chat('Yes', logprobs=[('Yes', SHORT)]))
    with FakeServer(behave) as server:
        server.owner = 'vllm'
        replies = ask_all(make(server, concurrency=1), questions(2))
    assert [reply.p_no for reply in replies] == [pytest.approx(0.04)] * 2


def test_trouble_on_the_way_leaves_the_bound_and_the_answer(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return error(503, 'busy') if body['top_logprobs'] > 20 else chat(
            'Yes', logprobs=[('Yes', SHORT)])
    with FakeServer(behave) as server:
        server.most_logprobs = 100_000
        [reply] = ask_all(make(server, retries=0), questions())
    assert reply.text == 'Yes' and reply.p_no == pytest.approx(0.04)


def test_only_an_answer_that_begins_the_reply_is_asked_for_again(make: Any) -> None:
    later = chat('**Yes', logprobs=[('**', {'**': 1.0}), ('Yes', SHORT)])
    none = chat('Hm', logprobs=[('Hm', {'Hm': 0.9})])
    for said in (later, none):
        with FakeServer(lambda body, number, said=said: said) as server:
            server.most_logprobs = 100_000
            ask_all(make(server), questions())
            assert len(server.bodies) == 1


def test_an_option_is_asked_for_again_too(make: Any) -> None:
    with FakeServer(lambda body, number: chat('A', logprobs=[('A', {
        'A': 0.9, **({'B': 0.06, 'C': 0.01} if body['top_logprobs'] > 20 else {'Hm': 0.03})})])
            ) as server:
        server.most_logprobs = 100_000
        reply = ask_one(make(server), Choose(('Which?',), ('left', 'right', 'middle')))
    assert reply.probabilities == pytest.approx([0.9 / 0.97, 0.06 / 0.97, 0.01 / 0.97])


@pytest.mark.parametrize(('likely', 'p_yes', 'p_no', 'bounded'), [
    ({'Yes': 0.9, 'No': 0.05}, 0.9, 0.05, False), ({'Yes': 0.9, 'Hm': 0.004}, 0.9, 0.024, True),
    ({'No': 0.9, 'Hm': 0.06}, 0.04, 0.9, True), ({'The': 0.9, 'Yes': 0.01}, 0.01, 0.01, True),
    ({'Unknown': 0.9, 'Hm': 0.01}, None, None, False)])
def test_what_is_not_listed_is_marked_as_a_bound(
        make: Any, likely: dict[str, float], p_yes: float, p_no: float, bounded: bool) -> None:
    first = next(iter(likely))
    with FakeServer(lambda body, number: chat(first, logprobs=[(first, likely)])) as server:
        [reply] = ask_all(make(server, ask_again='off'), questions(unknown='Unknown' in likely))
    assert reply.bounded is bounded
    assert reply.bound == ('' if not bounded else '≥' if 'Yes' in likely else '≤')
    assert (reply.p_yes, reply.p_no) == (pytest.approx(p_yes), pytest.approx(p_no))


# Bytes.


@pytest.mark.parametrize(('token', 'text', 'read'), [
    ('token_id:9642', 'Yes', 'Yes'), ('<0x59>', 'Y', 'Y'), ('▁Yes', '▁Yes', ' Yes'),
    ('Yes', 'Yes', 'Yes'), ('ĠYes', ' Yes', ' Yes')])
def test_a_tokens_bytes_say_what_it_is(token: str, text: str, read: str) -> None:
    entry = {'token': token, 'logprob': -0.1, 'bytes': list(text.encode())}
    [found] = read_tokens({'content': [{**entry, 'top_logprobs': [entry]}]}) or ()
    assert found.text == read and found.likely.tokens == ((read, math.exp(-0.1)),)


def test_a_piece_of_a_character_keeps_the_tokens_own_text() -> None:
    entry = {'token': 'bytes:\\xe2\\x96', 'logprob': -0.1, 'bytes': [0xe2, 0x96]}
    [found] = read_tokens({'content': [{**entry, 'top_logprobs': [entry]}]}) or ()
    assert found.text == entry['token']


def test_twins_by_bytes_count_once_whatever_they_are_called(make: Any) -> None:
    """vLLM can name a token by its number in one place and by its text in another."""
    top = [{'token': 'Yes', 'logprob': -0.5, 'bytes': [89, 101, 115]},
           {'token': 'No', 'logprob': -1.2, 'bytes': [78, 111]}]
    body = chat('Yes').body
    body['choices'][0]['logprobs'] = {'content': [{
        'token': 'token_id:7', 'logprob': -0.5, 'bytes': [89, 101, 115], 'top_logprobs': top}]}
    with FakeServer(lambda b, number: Reply(body)) as server:
        [reply] = ask_all(make(server), questions())
    assert (reply.p_yes, reply.p_no) == (pytest.approx(math.exp(-0.5)),
                                         pytest.approx(math.exp(-1.2)))


# A real server.


@pytest.mark.slow
def test_llama_cpp_tells_what_is_not_listed(make: Any, tmp_path: Path) -> None:
    """A short list with a second request gives what a list of the whole vocabulary gives."""
    pytest.importorskip('xllamacpp')
    from real_servers import llama_cpp
    from tiny_gguf import make_tiny_gguf
    prompt = yes_no_queries(Observation(text='The red block is on the blue block.'), [
        Question(Atom('p'), 'Is the red block on top of the blue block?')],
        GroundingPrompt('p', unknown=True))
    with llama_cpp(tmp_path / 'log', make_tiny_gguf(tmp_path / 'model').text, slots=1) as server:
        whole, short, bounded = (ask_all(make(server, **values), prompt)[0] for values in (
            {'top_logprobs': 100}, {'top_logprobs': 2}, {'top_logprobs': 2, 'ask_again': 'off'}))
    for name in ('p_yes', 'p_no', 'p_unknown'):
        assert getattr(short, name) == pytest.approx(getattr(whole, name), rel=0.05, abs=LEAST)
    assert bounded.p_no == pytest.approx(short.p_no, rel=0.05)  # the answer, in its spellings
    for name in ('p_yes', 'p_unknown'):
        assert getattr(bounded, name) > getattr(short, name)
