"""The backend ``openai`` against a local server that misbehaves."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import email.utils
import json
import logging
import math
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from fake_openai import HANG, RESET, FakeServer, Reply, chat, error, said
from sightplan import cli
from sightplan.grounding import parse_yes_no
from sightplan.model import (
    BARE,
    Answer,
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    SpendingCapError,
    Usage,
    Verdict,
    identity_values,
)
from sightplan.model.query import Deadline, ask_all, ask_one
from sightplan.queries import Generate, YesNo, yes_no_queries
from sightplan.records import RunStore
from sightplan.runs import RunSettings, identity, run, select_problems
from sightplan.vlm.api import backend_settings, make_backend
from sightplan_suites.paths.wishes import WishSettings, understand

pytest.importorskip('openai')

from sightplan_models import _openai_server
from sightplan_models import openai as module
from sightplan_models._event_loop import EventLoop

KEY = 'sk-test-0123456789abcdef'
YES = [('Yes', {'Yes': 0.6, ' yes': 0.2, 'YES': 0.05, 'No': 0.1, '\u2581no': 0.02, 'Maybe': 0.01})]
REASONING = GroundingPrompt('cot', reasoning=True, max_tokens=200)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('OPENAI_BASE_URL', 'OPENAI_API_KEY', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID',
                 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses of the retries, which then take no time."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(_openai_server, '_sleep', sleep)
    return found


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Make a backend for a server; keyword arguments are settings."""
    made = []

    def call(server: FakeServer | None, **values: Any) -> Any:
        if server is not None:
            values.setdefault('base_url', server.url)
        backend = make_backend('openai', {'model': 'm', 'retries': 2, **values})
        made.append(backend)
        return backend
    yield call
    for backend in made:
        backend.close()


def questions(count: int, prompt: GroundingPrompt = BARE, seed: int = 0) -> list[YesNo]:
    image = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), np.uint8)
    return yes_no_queries(Observation(image), tuple(
        Question(Atom('p', (str(i),)), f'Is it {i}?') for i in range(count)), prompt)


texts = said


def in_turn(*replies: Reply) -> Callable[[dict[str, Any], int], Reply]:
    """The replies one after another, the last one for ever."""
    return lambda body, number: replies[min(number, len(replies) - 1)]


# What is asked, and what is read.


def test_probabilities_are_summed_over_all_spellings(make: Any) -> None:
    with FakeServer(in_turn(chat('Yes', logprobs=YES))) as server:
        [reply] = ask_all(make(server), questions(1))
    assert reply.text == 'Yes'
    assert reply.p_yes == pytest.approx(0.85) and reply.p_no == pytest.approx(0.12)
    body = server.bodies[0]
    assert body['logprobs'] is True and body['top_logprobs'] == 20
    assert body['temperature'] == 0 and body['max_tokens'] == 4 and 'seed' not in body


def test_a_logarithm_that_no_float_can_hold_is_read(make: Any) -> None:
    body = json.dumps(chat('Yes', logprobs=[('Yes', {'Yes': 0.5})]).body)
    body = body.replace(str(math.log(0.5)), '-' + '9' * 400)
    with FakeServer(in_turn(Reply(body.encode()))) as server:
        [reply] = ask_all(make(server), questions(1))
    assert (reply.text, reply.p_yes, reply.p_no) == ('Yes', None, None)  # it is not listed


@pytest.mark.parametrize(('text', 'tokens', 'p_yes', 'p_no'), [
    ('Yep', [('Yep', {'Yep': 0.9, 'No': 0.1})], 0.9, 0.1),
    ('False', [('False', {'False': 0.7, 'True': 0.2})], 0.2, 0.7),
    ('Nope', [('No', {'No': 0.9, 'Yes': 0.1}), ('pe', {'pe': 0.8, 'r': 0.1})], 0.1, 0.72),
    ('The answer is no.', [('The', {'The': 0.97, 'A': 0.02}), (' answer', {' answer': 1.0}),
                           (' is', {' is': 1.0}), (' no', {' no': 1.0}), ('.', {'.': 1.0})],
     None, None)])
def test_probabilities_are_those_of_words_that_are_read_as_answers(
        make: Any, text: str, tokens: Any, p_yes: float | None, p_no: float | None) -> None:
    with FakeServer(in_turn(chat(text, logprobs=tokens))) as server:
        [reply] = ask_all(make(server), questions(1))
    assert (reply.p_yes, reply.p_no) == (pytest.approx(p_yes), pytest.approx(p_no))


@pytest.mark.parametrize('offered', [True, False])
def test_unknown_has_a_probability_where_it_is_offered(make: Any, offered: bool) -> None:
    likely = {'Unknown': 0.5, ' unknown': 0.1, 'Un': 0.05, 'unlikely': 0.02, 'u': 0.01, 'No': 0.3}
    with FakeServer(in_turn(chat('Unknown', logprobs=[('Unknown', likely)]))) as server:
        [reply] = ask_all(make(server), questions(1, GroundingPrompt('g', unknown=offered)))
    assert reply.text == 'Unknown' and reply.p_no == pytest.approx(0.3)
    assert reply.p_unknown == (pytest.approx(0.65) if offered else None)


def test_system_then_image_then_question_with_the_same_bytes(make: Any) -> None:
    prompt = GroundingPrompt('p', 'You see blocks.', 'Look:', 'Before, it was so.',
                             'Q: {question}')
    with FakeServer() as server:
        ask_all(make(server, detail='low'), questions(5, prompt))
    shared, asked = set(), []
    for raw, body in zip(server.raw, server.bodies, strict=True):
        system, user = body['messages']
        assert system == {'role': 'system', 'content': 'You see blocks.'}
        kinds = [part['type'] for part in user['content']]
        assert kinds == ['text', 'image_url', 'text']
        assert user['content'][1]['image_url']['detail'] == 'low'
        assert raw.index(b'You see') < raw.index(b'data:image/png;base64') < raw.index(b'Q: Is')
        shared.add(json.dumps(user['content'][:2]))
        asked.append(texts(body)[-1])
    assert len(shared) == 1
    assert asked[0] == 'Before, it was so.\nQ: Is it 0?'
    assert sorted(asked) == [f'Before, it was so.\nQ: Is it {i}?' for i in range(5)]


def test_the_image_that_arrives_is_the_image(make: Any) -> None:
    import base64
    import io

    from PIL import Image
    request = questions(1)
    with FakeServer() as server:
        ask_all(make(server), request)
    url = server.bodies[0]['messages'][0]['content'][0]['image_url']['url']
    sent = np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(',')[2]))))
    assert (sent == request[0].observation.image).all()


@pytest.mark.parametrize(('state', 'concurrency', 'most'), [
    ({'/props': {'total_slots': 3}}, 'auto', 3), ({'/props': {'total_slots': 3}}, 2, 2),
    ({'/props': {'total_slots': True}, '/v1/models': {'data': [{'owned_by': 'vllm'}]}}, 'auto',
     64),
    ({'/v1/models': {'data': []}}, 'auto', 8), ({'/props': [None]}, 'auto', 8)])
def test_requests_at_a_time_are_the_slots_that_the_server_reports(
        make: Any, state: dict[str, Any], concurrency: int | str, most: int) -> None:
    enough = threading.Barrier(most)

    def before(number: int) -> None:
        if number:
            with contextlib.suppress(threading.BrokenBarrierError):
                enough.wait(20)
            time.sleep(.3)  # time for one too many to come

    with FakeServer() as server:
        server.state, server.before_reply = state, before
        ask_all(make(server, concurrency=concurrency), questions(2 * most + 1))
        assert server.most_at_once == most


def test_the_first_request_is_awaited_and_the_others_are_bounded(make: Any) -> None:
    gate = threading.Event()
    together = threading.Semaphore(0)

    def before(number: int) -> None:
        if number == 0:
            time.sleep(0.1)
            assert len(server.bodies) == 1, 'others came before the first was answered'
            return
        together.release()
        gate.wait(240)

    with FakeServer(lambda body, number: chat(texts(body)[-1])) as server:
        server.before_reply = before

        def open_gate() -> None:
            for _ in range(3):
                assert together.acquire(timeout=240)
            time.sleep(0.1)
            gate.set()
        opener = threading.Thread(target=open_gate)
        opener.start()
        replies = ask_all(make(server, concurrency=3), questions(12))
        opener.join()
    assert server.most_at_once == 3
    assert [reply.text for reply in replies] == [f'Is it {i}?' for i in range(12)]


def test_two_callers_share_the_bound(make: Any) -> None:
    with FakeServer() as server:
        server.before_reply = lambda number: time.sleep(0.01)
        backend = make(server, concurrency=2)
        threads = [threading.Thread(target=ask_all, args=(backend, questions(8)))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.bodies) == 24 and server.most_at_once <= 2
    assert backend.usage == Usage(24, 2400, 48)


def test_reasoning_is_generated_and_scored_where_the_answer_stands(make: Any) -> None:
    tokens = [('No', {'No': 0.9}), (' idea', {' idea': 0.9}), ('.', {'.': 1.0}),
              ('<', {'<': 1.0}), ('answer', {'answer': 1.0}), ('>', {'>': 1.0}),
              ('\n', {'\n': 0.9}), ('Yes', {'Yes': 0.75, 'No': 0.25})]
    with FakeServer(in_turn(chat('No idea.<answer>\nYes', logprobs=tokens))) as server:
        [reply] = ask_all(make(server), questions(1, REASONING))
    assert (reply.p_yes, reply.p_no) == (pytest.approx(0.75), pytest.approx(0.25))
    assert parse_yes_no(reply.text) is Verdict.YES
    assert server.bodies[0]['stop'] == ['</answer>'] and server.bodies[0]['max_tokens'] == 200


HIDDEN = [('No', {'No': 0.95, 'Okay': 0.05}), (', let me think', {', let me think': 1.0}),
          ('</think>', {'</think>': 1.0}), ('\n\n', {'\n\n': 1.0}),
          ('Yes', {'Yes': 0.9, 'No': 0.1})]


@pytest.mark.parametrize('end', [
    [], [('<|im_end|>', {'<|im_end|>': 1.0})], [('</s>', {'</s>': 1.0})],
    [('.', {'.': 1.0}), (' \n', {' \n': 1.0}), ('<｜end▁of▁sentence｜>', {
        '<｜end▁of▁sentence｜>': 1.0})]])
def test_tokens_of_hidden_reasoning_are_no_answer(make: Any, end: Any) -> None:
    text = '\n\nYes.' if len(end) == 3 else 'Yes'
    with FakeServer(in_turn(chat(text, logprobs=HIDDEN + end,
                                 reasoning_content='No, let me think'))) as server:
        [reply] = ask_all(make(server, thinking_tokens=100), questions(1))
    assert (reply.p_yes, reply.p_no) == (pytest.approx(0.9), pytest.approx(0.1))


@pytest.mark.parametrize(('text', 'tokens'), [
    ('Yes', HIDDEN[:4]), ('No', HIDDEN), ('Yes', [*HIDDEN, (' or no', {' or no': 1.0})]),
    ('?', HIDDEN)])
def test_tokens_that_are_not_the_message_are_no_answer(make: Any, text: str, tokens: Any) -> None:
    with FakeServer(in_turn(chat(text, logprobs=tokens))) as server:
        [reply] = ask_all(make(server, thinking_tokens=100), questions(1))
    assert reply == module.Answer(text)


def test_thoughts_in_the_reply_are_no_answer(make: Any) -> None:
    think = [('<think>', {'<think>': 1.0}), *HIDDEN[:3]]
    tag = [('<answer>', {'<answer>': 1.0}), ('▁No', {'▁No': 0.7, '▁Yes': 0.3}),
           ('</answer>', {'</answer>': 1.0})]
    text = '<think>No, let me think</think>'
    with FakeServer(in_turn(chat(text + '\n\nYes', logprobs=[*think, *HIDDEN[3:]]),
                            chat(text + '<answer> No', logprobs=think + tag))) as server:
        backend = make(server, thinking_tokens=100)
        first, second = (ask_all(backend, questions(1, prompt))[0] for prompt in (BARE, REASONING))
    assert (first.p_yes, first.p_no) == (pytest.approx(0.9), pytest.approx(0.1))
    assert (second.p_yes, second.p_no) == (pytest.approx(0.3), pytest.approx(0.7))
    assert 'stop' not in server.bodies[1], 'a stop word could end the thoughts'


def test_a_tag_around_the_answer_is_not_the_answer(make: Any) -> None:
    tokens = [('<answer>', {'<answer>': 1.0}), ('**', {'**': 1.0}), ('No', {'No': 0.8}),
              ('**', {'**': 1.0}), ('</answer>', {'</answer>': 1.0})]
    with FakeServer(in_turn(chat('<answer>**No**</answer>', logprobs=tokens))) as server:
        replies = [ask_all(make(server), questions(1, prompt))[0] for prompt in (BARE, REASONING)]
    assert [reply.p_no for reply in replies] == [pytest.approx(0.8)] * 2


@pytest.mark.parametrize('cut', [
    chat('<think>It will be <answer>Yes'), chat('', reasoning_content='It will be <answer>Yes'),
    chat(None, reasoning='It will be <answer>Yes'), chat('It will be </think>')])
def test_a_stop_word_within_thoughts_is_not_sent_again(make: Any, cut: Reply) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        if 'stop' in body:
            return cut
        return chat('<think>It will be <answer>Yes</answer>.</think><answer>No</answer>')
    with FakeServer(behave) as server:
        backend = make(server)
        replies = [*ask_all(backend, questions(3, REASONING)),
                   *ask_all(backend, questions(3, REASONING))]
    assert ['stop' in body for body in server.bodies] == [True] + [False] * 6
    assert all(reply.text.endswith('<answer>No</answer>') for reply in replies)
    assert backend.usage.requests == 7


def test_a_good_reply_with_thoughts_ends_the_stop_word_too(make: Any) -> None:
    with FakeServer(in_turn(chat('<think>So</think><answer>No'))) as server:
        ask_all(make(server, concurrency=1), questions(3, REASONING))
    assert ['stop' in body for body in server.bodies] == [True, False, False]


@pytest.mark.parametrize('tokens', [
    [('Yes', {'Yes': 1.0})], [('<answer>Y', {'<answer>Y': 1.0}), ('es', {'es': 1.0})],
    [('<answer>', {'<answer>': 1.0})]])
def test_without_a_place_of_the_answer_there_are_no_probabilities(make: Any, tokens: Any) -> None:
    text = ''.join(token for token, _ in tokens)
    with FakeServer(in_turn(chat(text, logprobs=tokens))) as server:
        [reply] = ask_all(make(server), questions(1, REASONING))
    assert reply == (module.Answer(text))


def test_the_stop_word_is_put_back_where_the_server_says_so(make: Any) -> None:
    good = chat('So.<answer>Yes, it is')
    good.body['choices'][0]['stop_reason'] = '</answer>'
    with FakeServer(in_turn(good)) as server:
        [reply] = ask_all(make(server), questions(1, REASONING))
    assert parse_yes_no(reply.text) is Verdict.YES


def test_free_text_with_several_images(make: Any) -> None:
    images = [np.full((4, 4, 3), shade, np.uint8) for shade in (0, 255)]
    request = Generate('sys', ('a', images[0], 'b', images[1]), 77)
    with FakeServer(in_turn(chat('{"plan": []}'), chat('{"pl', finish='length'),
                            chat([{'type': 'text', 'text': 'in '}, 3,  # type: ignore[arg-type]
                                  {'type': 'text', 'text': 'parts'}]))) as server:
        backend = make(server)
        replies = [ask_one(backend, request) for _ in range(3)]
    assert [(r.text, r.truncated) for r in replies] == [
        ('{"plan": []}', False), ('{"pl', True), ('in parts', False)]
    body = server.bodies[0]
    assert body['max_tokens'] == 77 and 'logprobs' not in body and 'stop' not in body
    assert [part['type'] for part in body['messages'][1]['content']] == [
        'text', 'image_url', 'text', 'image_url']


@pytest.mark.parametrize(('reply', 'text'), [
    (chat(None, refusal='No, I must not look at blocks.'), module.REFUSED),
    (chat('No', finish='content_filter'), module.WITHHELD),
    (error(400, 'The prompt was filtered', code='content_filter'), module.WITHHELD)])
def test_refused_and_filtered_replies_are_unreadable_not_errors(
        make: Any, reply: Reply, text: str) -> None:
    with FakeServer(in_turn(reply)) as server:
        replies = ask_all(make(server), questions(2))
    for item in replies:
        assert item.text == text and parse_yes_no(text) is Verdict.UNPARSED
        assert item.p_yes is None and item.p_no is None


def test_further_fields_are_sent(make: Any) -> None:
    with FakeServer() as server:
        ask_all(make(server, temperature=0.5, seed=7, reasoning_effort='low', thinking_tokens=1000,
             extra_body='{"chat_template_kwargs": {"enable_thinking": false}}',
             logprobs='off', answer_tokens=0), questions(1))
        ask_all(make(server, temperature=-1.0), questions(1))
    first, second = server.bodies
    assert first['temperature'] == 0.5 and first['seed'] == 7
    assert first['reasoning_effort'] == 'low' and first['max_tokens'] == 16 + 1000
    assert first['chat_template_kwargs'] == {'enable_thinking': False}
    assert 'logprobs' not in first and 'top_logprobs' not in first
    assert 'temperature' not in second


def test_what_is_sampled_from_is_sent_with_a_temperature_alone(make: Any) -> None:
    drawn = {'top_p': 0.95, 'top_k': 50, 'extra_body': '{"min_p": 0.1}'}
    with FakeServer() as server:
        ask_all(make(server, temperature=1.0, **drawn), questions(1))
        ask_all(make(server, **drawn), questions(1))
        ask_all(make(server, temperature=1.0), questions(1))
    sent = [[body.get(name) for name in ('top_p', 'top_k', 'min_p')] for body in server.bodies]
    assert sent == [[0.95, 50, 0.1], [None, None, 0.1], [None, None, None]]
    settings = backend_settings('openai', {'model': 'm', 'top_p': 0.95, 'top_k': 50})
    assert {'top_p': 0.95, 'top_k': 50}.items() <= identity_values(settings).items()


def test_no_questions_no_requests(make: Any) -> None:
    with FakeServer() as server:
        assert ask_all(make(server), questions(0)) == []
    assert not server.bodies


def test_a_text_without_a_picture_is_asked_about_in_its_place(make: Any) -> None:
    prompt = GroundingPrompt('p', 'You read.', 'The task:', 'One thing:', 'Q: {question}')
    request = yes_no_queries(Observation(text='Bring glass.'), (
        Question(Atom('p', ('1',)), 'Is it far?'), Question(Atom('p', ('2',)), 'Is it near?')),
            prompt)
    with FakeServer(in_turn(chat('Yes', logprobs=YES))) as server:
        replies = ask_all(make(server), request)
    assert [reply.p_yes for reply in replies] == [pytest.approx(0.85)] * 2
    for body, asked in zip(server.bodies, ('far', 'near'), strict=True):
        assert body['messages'][-1]['content'] == (
            f'The task:\nBring glass.\nOne thing:\nQ: Is it {asked}?')
        assert body['logprobs'] is True


def test_what_a_task_wants_is_read_from_probabilities(make: Any) -> None:
    """Words become a vector by yes/no questions about the text, not by free replies."""
    def behaviour(body: dict[str, Any], number: int) -> Reply:
        asked = texts(body)
        short = 'shorter distance to travel rather' in asked[-1]
        yes = 0.9 if short else 0.2
        return chat('Yes' if short else 'No', logprobs=[
            ('Yes' if short else 'No', {'Yes': yes, 'No': 1 - yes})])

    with FakeServer(behaviour) as server:
        found = understand(make(server), 'Be quick.', WishSettings(wordings=1))
    assert found.vector == (0, 0, 0, -1, 0, 0, 0)
    assert len(server.bodies) == 14 and all(body['logprobs'] for body in server.bodies)
    expected = 0.25 * (0.9 * 0.9 + 0.1 * 0.1) / (0.9 * 0.1 + 0.1 * 0.9)
    other = 0.25 * (0.2 * 0.9 + 0.8 * 0.1) / (0.2 * 0.1 + 0.8 * 0.9)
    assert found.wishes[3].less == pytest.approx(expected / (expected + 0.5 + other))


@pytest.mark.parametrize('image', [None, np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)),
                                   np.zeros((0, 4, 3), np.uint8)])
def test_without_an_image_there_is_nothing_to_ask(make: Any, image: Any) -> None:
    with FakeServer() as server, pytest.raises(BackendError, match='image'):
        ask_all(make(server), yes_no_queries(Observation(image), (Question(Atom('p'), '?'),)))
    assert not server.bodies


def test_an_empty_text_is_nothing_to_ask_about(make: Any) -> None:
    with FakeServer() as server, pytest.raises(BackendError, match='neither an image nor a text'):
        ask_all(make(server), yes_no_queries(Observation(text=' '), (Question(Atom('p'), '?'),)))
    assert not server.bodies


# What the server understands.


def test_without_logprobs_in_three_replies_they_are_given_up(make: Any) -> None:
    with FakeServer(in_turn(chat('Yes'))) as server:
        backend = make(server, concurrency=1)
        replies = ask_all(backend, questions(6))
    assert {(r.p_yes, r.p_no) for r in replies} == {(None, None)}
    assert ['logprobs' in body for body in server.bodies] == [True] * 3 + [False] * 3


def test_the_first_reply_alone_does_not_end_logprobs(make: Any) -> None:
    good, bad = chat('Yes', logprobs=YES), chat('Yes')
    with FakeServer(in_turn(bad, bad, good)) as server:
        replies = ask_all(make(server, concurrency=1), questions(6))
    assert [r.p_yes is None for r in replies] == [True] * 2 + [False] * 4


def test_one_reply_without_logprobs_does_not_end_them(make: Any) -> None:
    good, bad = chat('Yes', logprobs=YES), chat('Yes')
    with FakeServer(in_turn(good, bad, good)) as server:
        backend = make(server)
        replies = [ask_all(backend, questions(1))[0] for _ in range(3)]
    assert [r.p_yes is None for r in replies] == [False, True, False]


def test_refused_logprobs_are_left_out_once_and_for_all(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        if 'logprobs' in body:
            return error(400, 'logprobs are not supported with this model', param='logprobs')
        return chat('No')
    with FakeServer(behave) as server:
        backend = make(server, top_logprobs=5)
        for _ in range(2):
            replies = ask_all(backend, questions(3))
    assert {(r.text, r.p_yes) for r in replies} == {('No', None)}
    assert ['logprobs' in body for body in server.bodies] == [True] + [False] * 6


@pytest.mark.parametrize('refusal', [
    error(400, 'logprobs is not supported by this model'),
    Reply({'detail': "Unexpected fields in the request: {'logprobs'}"}, 422),
    Reply({'detail': [{'loc': ['body', 'logprobs'], 'msg': 'Extra inputs are not permitted'}]},
          422),
    Reply({'object': 'error', 'message': 'logprobs: no', 'code': 400}, 400),
    Reply({'error': 'logprobs: no'}, 400), Reply(b'logprobs? No.', 400)])
def test_servers_refuse_in_many_forms(make: Any, refusal: Reply) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return refusal if 'logprobs' in body else chat('No')
    with FakeServer(behave) as server:
        [reply] = ask_all(make(server, top_logprobs=5), questions(1))
    assert reply.text == 'No' and len(server.bodies) == 2


def test_a_server_may_allow_fewer_logprobs(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        if body.get('top_logprobs', 0) > 5:
            return error(400, 'Requested sample logprobs of 20, which is greater than max '
                              'allowed: 5')
        return chat('Yes', logprobs=YES)
    with FakeServer(behave) as server:
        assert ask_all(make(server), questions(2))[1].p_yes == pytest.approx(0.85)
    assert [body['top_logprobs'] for body in server.bodies] == [20, 5, 5]


def test_logprobs_may_be_insisted_on(make: Any) -> None:
    with FakeServer() as server, pytest.raises(BackendError, match='logprobs=auto'):
        ask_all(make(server, logprobs='on'), questions(1))
    refusal = error(400, 'unknown field: logprobs')
    with FakeServer(in_turn(refusal)) as server, pytest.raises(BackendError, match='logprobs=aut'):
        ask_all(make(server, logprobs='on'), questions(1))


@pytest.mark.parametrize('message', [
    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
    'max_tokens: extra fields not permitted'])
def test_the_field_of_the_limit_is_found_out_once(make: Any, message: str) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return error(400, message) if 'max_tokens' in body else chat('Yes', logprobs=YES)
    with FakeServer(behave) as server:
        backend = make(server)
        ask_all(backend, questions(3))
        ask_one(backend, Generate('', ('hello',), 9))
    assert ['max_tokens' in body for body in server.bodies] == [True] + [False] * 4
    assert server.bodies[-1]['max_completion_tokens'] == 9
    with FakeServer(in_turn(error(400, 'max_tokens is too large'))) as server, \
            pytest.raises(BackendError, match='too large'):
        ask_all(make(server), questions(1))
    assert len(server.bodies) == 2
    with FakeServer() as server:
        ask_all(make(server, token_field='max_completion_tokens'), questions(1))
    assert 'max_tokens' not in server.bodies[0]


def test_a_server_without_stop_words(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        if 'stop' in body:
            return error(400, "Unsupported parameter: 'stop' is not supported", param='stop')
        return chat('<answer>no</answer>')
    with FakeServer(behave) as server:
        replies = ask_all(make(server), questions(2, REASONING))
    assert [parse_yes_no(r.text) for r in replies] == [Verdict.NO] * 2
    assert len(server.bodies) == 3


def test_an_answer_that_ran_into_its_limit_says_at_how_many_tokens(make: Any) -> None:
    with FakeServer(in_turn(chat('<explanation>First, the', finish='length'))) as server:
        (cut,) = ask_all(make(server), questions(1, REASONING))
    assert cut.cut_at == REASONING.max_tokens and cut.verdict is Verdict.UNPARSED
    assert Answer.from_json(cut.to_json()) == cut and cut.to_json()['cut_at'] == cut.cut_at
    with FakeServer(in_turn(chat('Yes', finish='stop'))) as server:
        assert ask_all(make(server), questions(1))[0].cut_at == 0


def test_hidden_reasoning_that_eats_the_reply_is_named_with_the_remedy(make: Any) -> None:
    eaten = chat('', finish='length', reasoning_content='Let me see')
    with FakeServer(in_turn(eaten)) as server:
        with pytest.raises(BackendError, match='thinking_tokens'):
            ask_all(make(server), questions(1))
        with pytest.raises(BackendError, match='thinking_tokens=10000 or more'):
            ask_all(make(server, thinking_tokens=5000), questions(1))
    eaten = chat('<think>Let me', finish='length')
    with FakeServer(in_turn(eaten)) as server:
        with pytest.raises(BackendError, match='thinking_tokens'):
            ask_all(make(server), questions(1))
        with pytest.raises(BackendError, match='thinking_tokens=4096 or more'):
            ask_all(make(server, thinking_tokens=50), questions(1))


@pytest.mark.parametrize(('refusal', 'remedy'), [
    (error(401, 'bad key'), 'OPENAI_API_KEY'), (error(403, 'no access'), 'OPENAI_API_KEY'),
    (error(404, 'The model `m` does not exist'), 'set model to one of the server: one, two'),
    (error(400, "'temperature' does not support 0 with this model"), 'temperature=-1'),
    (error(400, 'reasoning_effort: unknown value'), 'setting reasoning_effort'),
    (error(400, 'context length exceeded'), 'context length'),
    (error(422, 'what?'), 'HTTP 422'), (Reply(b'<html>gone</html>', 410), '410'),
    (error(429, 'no credit', code='insufficient_quota'), 'quota')])
def test_what_is_refused_for_good_is_not_tried_again(
        make: Any, pauses: list[float], refusal: Reply, remedy: str) -> None:
    with FakeServer(in_turn(refusal)) as server, pytest.raises(BackendError, match=remedy):
        ask_all(make(server, logprobs='off'), questions(3))
    assert len(server.bodies) == 1 and not pauses


# Rate limits, outages, nonsense.


def test_a_rate_limit_is_obeyed(make: Any, pauses: list[float]) -> None:
    limited = error(429, 'slow down', {'retry-after': '7'})
    with FakeServer(in_turn(limited, limited, chat('Yes'))) as server:
        [reply] = ask_all(make(server), questions(1))
    assert reply.text == 'Yes' and len(server.bodies) == 3
    assert pauses == [pytest.approx(7, abs=0.5)] * 2


def test_the_pause_after_a_rate_limit_is_for_all(make: Any, pauses: list[float]) -> None:
    limited = error(429, 'slow down', {'retry-after-ms': '9000'})
    with FakeServer(in_turn(chat('Yes'), limited, chat('Yes'))) as server:
        assert len(ask_all(make(server, concurrency=1), questions(6))) == 6
    assert len(server.bodies) == 7
    assert len(pauses) == 5 and all(8 < pause <= 9 for pause in pauses)


@pytest.mark.parametrize(('bad', 'why'), [
    (error(429, 'slow down'), 'limits the rate.*concurrency'),
    (error(502, 'oops'), 'out of order.*base_url'), (error(503, 'busy'), 'out of order'),
    (RESET, 'out of order.*no connection'),
    (Reply(b'{"choices": [{"mess'), 'nonsense.*no JSON'),
    (Reply(b'<html>hello</html>', headers={'content-type': 'text/html'}), 'nonsense.*html'),
    (Reply(b'', headers={'content-type': 'text/plain'}), 'nonsense'),
    (Reply(b'[' * 100_000), 'nonsense'), (Reply(b'\xff\xfe'), 'nonsense'),
    (Reply([1]), 'no JSON object'), (Reply({}), 'without choices'),
    (Reply({'choices': []}), 'without choices'), (Reply({'choices': [{}]}), 'without choices'),
    (Reply({'choices': [{'message': 'x'}]}), 'without choices'),
    (Reply({'error': {'message': 'upstream died'}}), 'upstream died')])
def test_passing_troubles_are_tried_again_within_bounds(
        make: Any, pauses: list[float], bad: Reply, why: str) -> None:
    with FakeServer(in_turn(bad, bad, chat('Yes'))) as server:
        assert ask_all(make(server), questions(1))[0].text == 'Yes'
    assert len(pauses) == 2
    with FakeServer(in_turn(bad)) as server, pytest.raises(BackendError, match=why) as caught:
        ask_all(make(server), questions(3))
    assert len(server.bodies) == 3 and 'given up after 3 tries' in str(caught.value)
    with FakeServer(in_turn(bad)) as server, pytest.raises(BackendError, match='after 1 tries'):
        ask_all(make(server, retries=0), questions(1))


def test_pauses_grow_with_jitter_up_to_a_bound(make: Any, pauses: list[float]) -> None:
    with FakeServer(in_turn(error(502, 'oops'))) as server, pytest.raises(BackendError):
        ask_all(make(server, retries=9, backoff_s=2.0), questions(1))
    assert len(pauses) == 9
    for number, pause in enumerate(pauses):
        most = min(60.0, 2.0 * 2 ** number)
        assert most / 2 <= pause <= most
    assert len({round(pause / 2 ** number, 6) for number, pause in enumerate(pauses[:5])}) > 1


def test_nobody_is_there(make: Any, pauses: list[float]) -> None:
    with FakeServer() as server:
        url = server.url
    with pytest.raises(BackendError, match=r'no connection.*check that it runs'):
        ask_all(make(None, base_url=url), questions(1))
    assert len(pauses) == 2


def test_a_request_that_hangs_is_tried_again(make: Any, pauses: list[float]) -> None:
    with FakeServer(in_turn(HANG, chat('Yes'))) as server:
        assert ask_all(make(server, timeout_s=3.0), questions(1))[0].text == 'Yes'
        server.release()
    assert len(server.bodies) == 2


def test_the_deadline_of_a_batch_ends_it_and_all_its_requests(make: Any) -> None:
    hangs = {3, 4}
    with FakeServer(lambda body, number: HANG if number in hangs else chat('Yes')) as server:
        backend = make(server, concurrency=2)
        with pytest.raises(DeadlineError, match='8 questions took longer than the limit of 3'):
            ask_all(backend, questions(8), Deadline(3.0))
        seen = len(server.bodies)
        assert seen < 8
        hangs.clear()
        assert len(ask_all(backend, questions(2))) == 2  # the slots are free again
        assert len(server.bodies) == seen + 2  # and nothing of the old batch is sent any more
        hangs.add(len(server.bodies))
        with pytest.raises(DeadlineError, match='a prompt'):
            ask_one(backend, Generate('', ('x',), 5), 3.0)


def test_a_pause_beyond_the_deadline_is_not_waited_for(make: Any, pauses: list[float]) -> None:
    limited = error(429, 'slow down', {'retry-after': '120'})
    with FakeServer(in_turn(limited)) as server:
        with pytest.raises(DeadlineError, match=r'limits the rate.*120'):
            ask_all(make(server), questions(2), Deadline(60.0))
        assert len(server.bodies) == 1
        server.behaviour = in_turn(error(429, 'x', {'retry-after': '86400'}))
        with pytest.raises(BackendError, match='asks to wait 86400 s'):
            ask_all(make(server), questions(2))
    assert not pauses


def test_an_error_of_one_request_ends_the_batch(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return error(400, 'that one not') if texts(body) == ['Is it 4?'] else chat('Yes')
    with FakeServer(behave) as server, pytest.raises(BackendError, match='that one not'):
        ask_all(make(server, concurrency=1), questions(40))
    assert len(server.bodies) < 40


@pytest.mark.parametrize(('value', 'low', 'high'), [
    ('3', 3, 3), ('0.5', 0.5, 0.5), ('-4', 0, 0), ('soon', None, None), ('', None, None),
    ('nan', None, None), ('a date', 50, 100)])
def test_retry_after_in_all_its_forms(value: str, low: float | None, high: float | None) -> None:
    if value == 'a date':
        later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=100)
        value = email.utils.format_datetime(later)
    found = _openai_server.retry_after_s({'retry-after': value})
    if low is None or high is None:
        assert found is None
    else:
        assert found is not None and low <= found <= high
    assert _openai_server.retry_after_s({'retry-after-ms': '250', 'retry-after': value}) == 0.25


# Keys.


def leaks(caught: Any, caplog: Any, capfd: Any, *more: Any) -> bool:
    """Whether the key is anywhere in errors, logs, output or other things."""
    import traceback
    trace = ''.join(traceback.format_exception(caught)) if caught else ''
    out, err = capfd.readouterr()
    seen = '\n'.join([trace, repr(caught), caplog.text, out, err, *map(repr, more),
                      *map(str, more)])
    contexts, error = [], caught
    while error is not None:
        contexts.append(error)
        error = error.__cause__ or error.__context__
    return KEY in seen or KEY[3:] in seen or any(KEY in str(vars(e)) for e in contexts)


@pytest.mark.parametrize('reply', [
    error(401, f'Incorrect API key provided: {KEY}.', code=KEY, param=KEY),
    error(400, f'Bearer {KEY} is odd'), Reply(f'denied: {KEY}'.encode(), 403),
    Reply({'choices': [], 'error': f'key {KEY}'}), Reply(f'key={KEY} no json'.encode()),
    Reply(json.dumps({'error': {'message': KEY}}).replace('-', '\\u002d').encode(), 400),
    error(500, KEY, {'x-key': KEY}), error(429, f'{KEY} is limited', {'retry-after': '1'})])
def test_an_echoed_key_is_nowhere(make: Any, monkeypatch: Any, caplog: Any, capfd: Any,
                                  pauses: list[float], reply: Reply) -> None:
    monkeypatch.setenv('MY_KEY', KEY)
    caplog.set_level(logging.DEBUG)
    with FakeServer(in_turn(reply)) as server:
        server.models = [f'model {KEY}']
        backend = make(server, api_key_env='MY_KEY')
        with pytest.raises(BackendError) as caught:
            ask_all(backend, questions(2))
    assert server.headers[0]['authorization'] == f'Bearer {KEY}'
    assert not leaks(caught.value, caplog, capfd, backend, backend.name, backend.usage)
    assert '[key]' in str(caught.value)


def test_no_key_and_no_password_of_any_kind_is_told(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'Plain0looking0word')
    said = ('not Plain0looking0word, not sk-proj-0123456789, not Authorization: Bearer abc.def, '
            'not http://me:pass0word@proxy/x')
    with FakeServer(in_turn(error(400, said))) as server, pytest.raises(BackendError) as caught:
        ask_all(make(server), questions(1))
    for secret in ('Plain0', '0123', 'abc.def', 'pass0word'):
        assert secret not in str(caught.value)
    assert str(caught.value).count('[key]') == 4


def test_a_key_in_a_reply_goes_no_further(make: Any, monkeypatch: Any, caplog: Any,
                                          capfd: Any) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', f'  {KEY}\n')
    caplog.set_level(logging.DEBUG)
    with FakeServer(in_turn(chat(f'Yes {KEY}', logprobs=YES),
                            chat(None, refusal=f'No {KEY}'))) as server:
        backend = make(server)
        replies = ask_all(backend, questions(1)), ask_one(backend, Generate('', ('x',)))
    assert server.headers[0]['authorization'] == f'Bearer {KEY}'
    assert not leaks(None, caplog, capfd, *replies)
    assert parse_yes_no(replies[0][0].text) is Verdict.YES


def test_a_short_key_is_no_secret_and_does_not_garble_answers(make: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'no')
    with FakeServer(in_turn(chat('no'))) as server:
        assert ask_all(make(server), questions(1))[0].text == 'no'


@pytest.mark.parametrize('key', ['sk-a b-secret', 'sk-\x07-secret', 'sk-ü-secret'])
def test_what_is_no_key_is_not_told(monkeypatch: Any, make: Any, key: str) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', key)
    with pytest.raises(InputError, match='OPENAI_API_KEY holds no key') as caught:
        make(None, base_url='http://localhost:1/v1')
    assert 'secret' not in str(caught.value)


def test_a_key_in_the_settings_is_refused_unseen() -> None:
    for values in ({'api_key_env': KEY}, {'base_url': f'http://me:{KEY}@host/v1'},
                   {'base_url': f'http://host/v1?key={KEY}'}, {'base_url': KEY},
                   {'base_url': f'http://[{KEY}'}, {'base_url': f'ftp://{KEY}/'}):
        with pytest.raises(InputError) as caught:
            backend_settings('openai', {'model': 'm', **values})
        assert KEY not in str(caught.value) and caught.value.__cause__ is None
    assert KEY not in repr(backend_settings('openai'))


GROQ, HUB = 'gsk_AbCdEf0123456789abcdef', 'hf_AbCdEf0123456789'


@pytest.mark.parametrize('key', [
    GROQ, HUB, 'AIzaSyA0123456789abcdefghij', 'AKIA0123456789ABCDEF', 'xai0123456789abcdefABCDEF',
    'my_key', 'ABCDEF0123456789ABCDEF0123', '0123456789abcdef0123456789abcdef', 'OPENAI API'])
def test_a_key_is_no_name_of_a_variable(make: Any, monkeypatch: Any, key: str) -> None:
    with pytest.raises(InputError, match='api_key_env is the NAME') as caught:
        make(None, base_url='http://localhost:1/v1', api_key_env=key)
    assert key not in str(caught.value)
    if key == 'my_key':
        monkeypatch.setenv(key, KEY)
        make(None, base_url='http://localhost:1/v1', api_key_env=key)


@pytest.mark.parametrize('name', ['GROQ_API_KEY', 'HF_TOKEN', '_KEY_2', 'LLM_PROXY_KEY_2026', ''])
def test_a_variable_that_is_not_set_is_not_named(make: Any, monkeypatch: Any, name: str) -> None:
    monkeypatch.delenv(name or 'NO_KEY', raising=False)
    with FakeServer(in_turn(error(401, 'no'))) as server, pytest.raises(BackendError) as caught:
        ask_all(make(server, api_key_env=name), questions(1))
    assert not name or name not in str(caught.value)
    assert 'api_key_env' in str(caught.value)
    with pytest.raises(InputError, match='that api_key_env names'):
        make(None, api_key_env=name)


@pytest.mark.parametrize('values', [
    {'extra_body': f'{{"x": [{{"y": "{GROQ}"}}]}}'}, {'extra_body': '{"api_key": "abc"}'},
    {'extra_body': '{"a": {"Authorization": "x"}}'}, {'extra_body': '{"x-api-key": 1}'},
    {'extra_body': '{"token": "x"}'}, {'extra_body': '{"\\u0061pi_key": "x"}'},
    {'extra_body': '{"x": "\\u0067sk_AbCdEf0123456789abcdef"}'},
    {'extra_body': f'{{"broken {HUB}'}, {'extra_body': {'api_key': 'Plain0looking0word'}},
    {'model': HUB}, {'reasoning_effort': KEY}, {'detail': f'Bearer {KEY[3:]}'},
    {'name': 'Plain0looking0word'}, {'base_url': f'http://localhost:1/{GROQ}/v1'},
    {'logprobs': KEY}, {'model': 'm0123456789ABCDEFghijklmnop'},
    {'model': '0123456789abcdef0123456789abcdef'}])
def test_a_key_in_any_setting_is_refused_unseen(monkeypatch: Any, values: dict[str, Any]) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'Plain0looking0word')
    with pytest.raises(InputError, match=f'{next(iter(values))} looks as if') as caught:
        backend_settings('openai', {'model': 'm', **values})
    for part in ('AbCdEf', '0123', 'Plain0', 'abc'):
        assert part not in str(caught.value)


def test_ordinary_settings_are_no_keys() -> None:
    for model in ('Qwen/Qwen3-VL-235B-A22B-Instruct-FP8', 'gpt-5.2-2025-12-11', 'sonar-70b-chat',
                  'hf-internal-testing/tiny-random-LlavaForConditionalGeneration',
                  '/models/hub/models--Qwen--Qwen2.5-VL-7B-Instruct/snapshots/' + '0a1b2c3d4e' * 4,
                  'unsloth/Llama-3.2-11B-Vision-Instruct-bnb-4bit', 'xai-org/grok-2',
                  'accounts/fireworks/models/qwen2p5-vl-32b-instruct', 'pplx-70b-online',
                  'OpenGVLab/InternVL3_5-241B-A28B-Instruct@sha256:' + '0123456789abcdef' * 4):
        backend_settings('openai', {'model': model, 'name': model})
    for extra in ('{"chat_template_kwargs": {"enable_thinking": false}}',
                  '{"guided_choice": ["Yes"]}',
                  '{"max_tokens": 5, "stop_token_ids": [1], "skip_special_tokens": true}',
                  '{"safety_identifier": "me", "prompt_cache_key": "blocks"}'):
        backend_settings('openai', {'model': 'm', 'extra_body': extra})


@pytest.mark.parametrize('values', [
    {'api_key_env': GROQ}, {'extra_body': f'{{"api_key": "{GROQ}"}}'}, {'reasoning_effort': GROQ}])
def test_a_key_in_the_settings_of_a_run_is_written_nowhere(
        tmp_path: Path, problems: Path, capfd: Any, caplog: Any, values: dict[str, str]) -> None:
    options = {'model': 'm', 'base_url': 'http://localhost:1/v1', **values}
    code = cli.main(['run', '--problems', str(problems), '--out', str(tmp_path / 'run'),
                     '--backend', 'openai', '--method', 'plan', '--record',
                     *(item for name, value in options.items()
                       for item in ('--backend-option', f'{name}={value}'))])
    out, err = capfd.readouterr()
    assert code == 2 and next(iter(values)) in err and GROQ not in out + err + caplog.text
    assert not [file for file in (tmp_path / 'run').rglob('*')
                if file.is_file() and GROQ in file.read_text()]


def test_an_echoed_key_is_in_no_file_of_a_run(
        tmp_path: Path, problems: Path, monkeypatch: Any, capfd: Any) -> None:
    monkeypatch.setenv('GROQ_API_KEY', GROQ)
    replies = in_turn(chat(f'No {GROQ}'), chat(f'No {GROQ}'), error(400, f'{GROQ} is bad'))
    with FakeServer(replies) as server:
        run(dataclasses.replace(run_settings(
            tmp_path, problems, server, api_key_env='GROQ_API_KEY', concurrency=1),
            record=True, answers_log=True), world=MemoryWorld(), planner=SearchPlanner())
    files = {file.name: file.read_text() for file in (tmp_path / 'run').rglob('*')
             if file.is_file()}
    assert {'run.json', 'summary.json', 'replies.jsonl'} <= set(files)
    assert not [name for name, text in files.items() if 'AbCdEf' in text]
    assert GROQ not in ''.join(capfd.readouterr())


def test_a_key_given_as_an_option_is_refused_unseen(capfd: Any) -> None:
    assert cli.main(['run', '--backend', 'openai', '--backend-option', f'api_key={KEY}']) == 2
    out, err = capfd.readouterr()
    assert "no setting 'api_key'" in err and KEY not in out + err


def test_an_address_from_the_environment_is_checked_too(monkeypatch: Any, make: Any) -> None:
    monkeypatch.setenv('OPENAI_BASE_URL', f'http://me:{KEY}@localhost:1/v1')
    with pytest.raises(InputError, match='OPENAI_BASE_URL must hold no user') as caught:
        make(None)
    assert KEY not in str(caught.value)
    monkeypatch.setenv('OPENAI_BASE_URL', 'http://localhost:1/v1')
    assert make(None).name == 'm@localhost:1/v1'


def test_a_server_of_ones_own_needs_no_key_but_openai_does(make: Any) -> None:
    with FakeServer() as server:
        ask_all(make(server), questions(1))
        ask_all(make(server, api_key_env=''), questions(1))
    with pytest.raises(InputError, match='OPENAI_API_KEY'):
        make(None)


# Settings.


@pytest.mark.parametrize(('values', 'match'), [
    ({'model': ''}, 'model is missing'), ({'extra_body': '{'}, 'extra_body'),
    ({'extra_body': '[]'}, 'extra_body'), ({'extra_body': '{"model": "x"}'}, 'extra_body'),
    ({'max_cost_usd': 1.0}, 'price_in'), ({'concurrency': -1}, 'concurrency'),
    ({'image_format': 'gif'}, 'image_format'), ({'timeout_s': '3'}, 'timeout_s')])
def test_bad_settings_are_named(values: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        make_backend('openai', {'model': 'm', 'base_url': 'http://localhost:1', **values})


def test_the_name_is_that_of_model_and_server(make: Any) -> None:
    assert make(None, base_url='https://gpu-1:8000/v1/').name == 'm@gpu-1:8000/v1'
    assert make(None, base_url='https://gpu-1', name='mine').name == 'mine'


def test_a_missing_library_is_named_with_the_remedy(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, 'openai', None)
    with pytest.raises(BackendError, match=r'pip install .sightplan_models\[openai\]'):
        make_backend('openai', {'model': 'm', 'base_url': 'http://localhost:1'})


# What is spent.


def test_tokens_and_cost_are_counted_from_what_the_server_says(make: Any) -> None:
    cached = chat('Yes', usage=(1000, 10))
    cached.body['usage']['prompt_tokens_details'] = {'cached_tokens': 900}
    with FakeServer(in_turn(cached)) as server:
        backend = make(server, price_in=2.0, price_cached=0.5, price_out=8.0)
        assert backend.usage == Usage(0, 0, 0, 0.0)
        ask_all(backend, questions(3))
        assert dataclasses.astuple(backend.usage)[:3] == (3, 3000, 30)
        assert backend.usage.cost_usd == pytest.approx(3 * (200 + 450 + 80) / 1e6)
        plain = make(server, price_in=2.0, price_out=8.0)
        ask_all(plain, questions(1))
        assert plain.usage.cost_usd == pytest.approx((2000 + 80) / 1e6)
        free = make(server)
        ask_all(free, questions(1))
        assert free.usage == Usage(1, 1000, 10, None)


@pytest.mark.parametrize('usage', [None, {}, {'prompt_tokens': -1, 'completion_tokens': 2},
                                   {'prompt_tokens': 'x', 'completion_tokens': True}, [1]])
def test_without_counts_there_is_no_usage_and_no_cap(make: Any, usage: Any) -> None:
    silent = chat('Yes', usage=None)
    silent.body['usage'] = usage
    with FakeServer(in_turn(silent)) as server:
        backend = make(server)
        assert len(ask_all(backend, questions(2))) == 2
        assert backend.usage == Usage(2)
        with pytest.raises(SpendingCapError, match='does not say'):
            ask_all(make(server, max_tokens_total=10_000), questions(5))
    assert len(server.bodies) == 3


@pytest.mark.parametrize('concurrency', [1, 8])
def test_a_cap_is_kept_before_a_request_is_sent(make: Any, concurrency: int) -> None:
    with FakeServer() as server:  # 102 tokens each
        backend = make(server, max_tokens_total=1000, concurrency=concurrency)
        with pytest.raises(SpendingCapError, match=r'max_tokens_total = 1000.*same --out'):
            ask_all(backend, questions(40))
        assert len(server.bodies) == 10 and backend.usage.prompt_tokens == 1000
        with pytest.raises(SpendingCapError):
            ask_one(backend, Generate('', ('x',)))
        assert len(server.bodies) == 10
    with FakeServer() as server:
        backend = make(server, max_cost_usd=0.001, price_in=1.0, price_out=1.0,
                       concurrency=concurrency)
        backend.carry_over(Usage(9, 5, 5, 0.0005))
        with pytest.raises(SpendingCapError, match=r'max_cost_usd = 0\.001'):
            ask_all(backend, questions(40))
        assert len(server.bodies) == 5 and backend.usage.requests == 5


@pytest.mark.parametrize('concurrency', [1, 8, 64])
@pytest.mark.parametrize('obeys', [True, False])
def test_a_cap_is_kept_and_used_up_whatever_the_replies_take(
        make: Any, concurrency: int, obeys: bool) -> None:
    rng, lock = random.Random(concurrency), threading.Lock()
    most = 200 if obeys else 900

    def behave(body: dict[str, Any], number: int) -> Reply:
        with lock:
            said = 2 if number < 2 else rng.randrange(most)
        return chat('<answer>Yes</answer>', usage=(100, said))
    with FakeServer(behave) as server:
        server.before_reply = lambda number: time.sleep(0.003)
        backend = make(server, max_tokens_total=10_000, concurrency=concurrency)
        with pytest.raises(SpendingCapError):
            ask_all(backend, questions(200, REASONING))
        spent = backend.usage.prompt_tokens + backend.usage.completion_tokens
        assert 10_000 <= spent < 10_000 + 100 + most
        assert server.most_at_once <= concurrency
        assert (server.most_at_once > 1) is (concurrency > 1), 'the cap must not cost speed'
        assert len(server.bodies) == backend.usage.requests


def test_a_cap_is_kept_from_the_first_request_on(make: Any) -> None:
    caught = []
    with FakeServer(in_turn(chat('x', usage=(1000, 0)))) as server:
        server.before_reply = lambda number: time.sleep(0.02)
        backend = make(server, max_tokens_total=1500, concurrency=64)

        def ask() -> None:
            try:
                ask_one(backend, Generate('', ('x',)))
            except SpendingCapError as error:
                caught.append(error)
        threads = [threading.Thread(target=ask) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(server.bodies) == 2 and len(caught) == 4


def test_a_cap_on_cost_is_kept_with_large_and_small_prompts(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        length = sum(map(len, texts(body)))
        return chat('x', usage=(length // 4, body['max_tokens'] if length > 100 else 1))
    with FakeServer(behave) as server:
        server.before_reply = lambda number: time.sleep(0.003)
        backend = make(server, max_cost_usd=0.05, price_in=1.0, price_cached=0.1, price_out=10.0,
                       concurrency=64)
        dearest = (2500 * 1.0 + 400 * 10.0) / 1e6

        def ask(number: int) -> None:
            with contextlib.suppress(SpendingCapError):
                for turn in range(20):
                    large = (number + turn) % 3 == 0
                    ask_one(backend, Generate('', ('x' * (10_000 if large else 40),), 400))
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0.05 <= backend.usage.cost_usd < 0.05 + dearest
        assert server.most_at_once > 1


@pytest.mark.parametrize(('bad', 'counts'), [
    (HANG, True), (RESET, True), (Reply(b'{"choi'), True), (Reply({'choices': []}), True),
    (error(502, 'oops'), False), (error(429, 'slow', {'retry-after': '0'}), False)])
def test_requests_without_a_reply_count_if_the_server_may_have_worked(
        make: Any, pauses: list[float], bad: Reply, counts: bool) -> None:
    with FakeServer(in_turn(chat('Yes'), bad)) as server:
        backend = make(server, max_tokens_total=1000, retries=20, backoff_s=0.0,
                       timeout_s=1.0 if bad is HANG else 240.0)
        with pytest.raises(SpendingCapError if counts else BackendError,
                           match='without a reply' if counts else '21 tries'):
            ask_all(backend, questions(2))
        server.release()
        assert (len(server.bodies) < 10) is counts
        assert backend.usage == Usage(1, 100, 2)


def test_a_server_that_is_not_there_costs_nothing(make: Any, pauses: list[float]) -> None:
    with FakeServer() as server:
        url = server.url
    with pytest.raises(BackendError, match='21 tries'):
        ask_all(make(None, base_url=url, max_tokens_total=10, retries=20), questions(1))


def test_the_size_of_a_request_is_read_from_what_is_sent() -> None:
    image = {'type': 'image_url', 'image_url': {'url': 'data:' + 'x' * 999}}
    body = {'messages': [{'role': 'system', 'content': 'four'}, {'role': 'user', 'content': [
        {'type': 'text', 'text': 'drei\u00df'}, image, image]}], 'max_tokens': 7}
    assert _openai_server.Size.of(body) == _openai_server.Size(10, 2, 7)
    more = {**body, 'extra_body': {'max_completion_tokens': 90}}
    assert _openai_server.Size.of(more) == _openai_server.Size(10, 2, 90)


# Ends.


def test_a_closed_backend_says_so_and_leaves_no_thread(make: Any) -> None:
    def threads() -> int:
        return sum(thread.name == 'openai-backend' for thread in threading.enumerate())
    before = threads()
    with FakeServer() as server:
        backend = make(server)
        ask_all(backend, questions(2))
        assert threads() == before + 1
        backend.close()
        backend.close()
        assert threads() == before
        with pytest.raises(BackendError, match='closed'):
            ask_all(backend, questions(1))


def test_closing_breaks_off_what_is_under_way(make: Any) -> None:
    caught: list[BaseException] = []
    with FakeServer(in_turn(HANG)) as server:
        backend = make(server)

        def ask() -> None:
            try:
                ask_all(backend, questions(1))
            except BackendError as error:
                caught.append(error)
        thread = threading.Thread(target=ask)
        thread.start()
        server.wait_for(1)
        backend.close()
        thread.join(240)
    assert len(caught) == 1 and 'closed' in str(caught[0])


def test_an_interrupted_call_is_cancelled() -> None:
    loop, cancelled = EventLoop('openai-test'), threading.Event()

    async def wait() -> None:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            cancelled.set()
            raise
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.call(wait())
        assert cancelled.wait(240)
    finally:
        signal.signal(signal.SIGINT, before)
        loop.close()


@pytest.mark.slow
@pytest.mark.parametrize('end', ['interrupt', 'forgotten'])
def test_the_process_ends_at_once(end: str) -> None:
    code = textwrap.dedent('''
        import signal, sys
        from sightplan.model.query import ask_all
        from test_vlm_openai import make_backend, questions
        signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever was inherited
        backend = make_backend('openai', {'model': 'm', 'base_url': sys.argv[1],
                                          'logprobs': 'off'})
        try:
            ask_all(backend, questions(6))
        except KeyboardInterrupt:
            print('interrupted', flush=True)
            raise SystemExit(7)
        print('answered', flush=True)
        ''')
    with FakeServer(in_turn(chat('Yes'), HANG if end == 'interrupt' else chat('No'))) as server:
        process = subprocess.Popen(
            [sys.executable, '-c', code, server.url], cwd=Path(__file__).parent,
            env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if end == 'interrupt':
            server.wait_for(4)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=240)
    expected = ('interrupted', 7) if end == 'interrupt' else ('answered', 0)
    assert (out.strip(), process.returncode) == expected, err
    assert not err


# Whatever comes.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(['Yes', 'no', '<answer>']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(['content', 'token', 'logprob', 'top_logprobs', 'bytes', 'text',
                         'refusal', 'finish_reason', 'logprobs', 'message', 'type']),
        inner, max_size=6), max_leaves=14)


@settings(max_examples=60, deadline=None)
@given(choice=st.fixed_dictionaries(
    {'message': st.dictionaries(st.sampled_from(['content', 'refusal']), JSON)},
    optional={'logprobs': st.fixed_dictionaries({'content': JSON | st.lists(
        st.fixed_dictionaries({'token': st.sampled_from(['Yes', 'No', ' ', '<answer>']),
                               'logprob': JSON, 'top_logprobs': JSON}), max_size=3)}) | JSON,
              'finish_reason': JSON, 'stop_reason': JSON}),
    usage=JSON, reasoning=st.booleans(), unknown=st.booleans())
def test_any_reply_is_read(choice: Any, usage: Any, reasoning: bool, unknown: bool) -> None:
    backend = _READER
    whole = {'choices': [choice], 'usage': usage}
    why, _ = backend.chat._no_answer(whole)
    assert isinstance(why, str)
    said = backend.chat._read(whole, module._Dialect('max_tokens', 20), True, reasoning)
    reply = module._reply(said, unknown, 64)
    assert isinstance(reply.text, str)
    for fraction in (reply.p_yes, reply.p_no, reply.p_unknown):
        assert fraction is None or 0.0 <= fraction <= 1.0
    parse_yes_no(reply.text)


_READER: Any = make_backend('openai', {'model': 'm', 'base_url': 'http://localhost:1/v1',
                                       'thinking_tokens': 1})


# Whole runs.


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    folder = tmp_path / 'problems'
    folder.mkdir()
    for name in 'abcd':
        (folder / f'{name}.pddl').write_text(TWO_BLOCKS)
    return folder


def run_settings(tmp_path: Path, problems: Path, server: FakeServer, **values: Any) -> RunSettings:
    return RunSettings(
        problems=str(problems), out=str(tmp_path / 'run'), backend='openai', method='ground',
        backend_options={'model': 'm', 'base_url': server.url, 'concurrency': 4, 'price_in': 1.0,
                         'price_out': 1.0, **values})


def test_a_cap_stops_a_run_cleanly_and_a_higher_one_resumes_it(
        tmp_path: Path, problems: Path) -> None:
    with FakeServer(in_turn(chat('No', usage=(1000, 0)))) as server:
        def go(cap: float) -> dict[str, Any]:
            return run(run_settings(tmp_path, problems, server, max_cost_usd=cap),
                       world=MemoryWorld(), planner=SearchPlanner())
        probe = run(dataclasses.replace(run_settings(tmp_path, problems, server), episodes=1,
                                        out=str(tmp_path / 'probe')),
                    world=MemoryWorld(), planner=SearchPlanner())
        each, per_episode = 0.001, len(server.bodies)
        assert probe['scored'] == 1 and per_episode > 4
        server.bodies.clear()
        server.checks.clear()
        cap = each * (2 * per_episode + 3)
        summary = go(cap)
        sent = len(server.bodies)
        assert summary['interrupted'] and summary['episodes'] == 2
        assert 'max_cost_usd' in summary['stopped_by'] and 'same --out' in summary['stopped_by']
        assert sent == 2 * per_episode + 3
        store = RunStore(tmp_path / 'run')
        assert json.loads((tmp_path / 'run' / 'summary.json').read_text()) == summary
        check = len(server.checks)  # whether pictures arrive: once in a session
        assert check == 2
        assert store.run_info()['spent']['cost_usd'] == pytest.approx(cap + 122e-6)
        assert store.run_info()['spent'] == summary['spent']
        assert summary['spent']['requests'] == sent + check
        assert summary['usage']['requests'] == 2 * per_episode + check
        again = go(cap)  # nothing more may be sent
        assert len(server.bodies) == sent and again['interrupted'] and again['episodes'] == 2
        assert len(server.checks) == check
        done = go(100.0)
        assert not done['interrupted'] and done['stopped_by'] == '' and done['episodes'] == 4
        assert len(server.bodies) == 4 * per_episode + 3
        assert store.run_info()['spent']['requests'] == 4 * per_episode + 3 + 2 * check


def test_the_command_says_why_it_stopped(tmp_path: Path, problems: Path, capfd: Any,
                                         monkeypatch: Any) -> None:
    from sightplan.runs import worlds
    monkeypatch.setattr(worlds, 'make_world', lambda name, options: MemoryWorld())
    monkeypatch.setenv('OPENAI_API_KEY', KEY)
    with FakeServer(in_turn(chat(f'No {KEY}'))) as server:
        code = cli.main(['run', '--problems', str(problems), '--out', str(tmp_path / 'run'),
                         '--backend', 'openai', '--backend-option', 'model=m',
                         '--backend-option', f'base_url={server.url}', '--record',
                         '--backend-option', 'max_tokens_total=500', '--answers-log'])
    out, err = capfd.readouterr()
    assert code == 1
    assert 'max_tokens_total = 500' in err and 'raise it' in err and 'broken off' in err
    for file in (tmp_path / 'run').rglob('*'):
        assert not file.is_file() or KEY not in file.read_text()
    assert KEY not in out + err
    # What was answered before the cap was reached is recorded: 122 tokens went into the check.
    assert (tmp_path / 'run' / 'replies.jsonl').read_text().count('"yes_no"') == 4


def test_only_what_changes_results_is_a_runs_identity(tmp_path: Path, problems: Path) -> None:
    with FakeServer() as server:
        one, other, third = (run_settings(tmp_path, problems, server, **values) for values in (
            {}, {'max_cost_usd': 5.0, 'concurrency': 1, 'timeout_s': 5.0, 'retries': 9,
                 'price_in': 3.0}, {'temperature': 1.0}))
    domain, pairs, _ = select_problems(one)
    found = [identity(each, None, domain, pairs, 'm') for each in (one, other, third)]
    assert found[0] == found[1] != found[2]
    assert found[0]['backend']['model'] == 'm'


def test_a_recorded_run_of_a_server_is_replayed_with_its_cost(
        tmp_path: Path, problems: Path) -> None:
    rng = random.Random(3)

    def behave(body: dict[str, Any], number: int) -> Reply:
        word = rng.choice(['Yes', 'No', 'Perhaps'])
        return chat(word, logprobs=[(word, {word: rng.uniform(0.1, 1)})],
                    usage=(rng.randrange(900), rng.randrange(9)))
    with FakeServer(behave) as server:
        first = run(dataclasses.replace(run_settings(tmp_path, problems, server), record=True),
                    world=MemoryWorld(), planner=SearchPlanner())
    again = run(RunSettings(problems=str(problems), out=str(tmp_path / 'again'), backend='replay',
                            backend_options={'path': str(tmp_path / 'run')}),
                world=MemoryWorld(), planner=SearchPlanner())
    assert first['scored'] == again['scored'] == 4
    times = {'seconds', 'timings_s'}
    lines = [[{key: value for key, value in line.items() if key not in times}
              for line in RunStore(tmp_path / name).lines()] for name in ('run', 'again')]
    for pair in lines:
        for line in pair:
            for plan in line['plans']:
                plan.pop('seconds')
    assert lines[0] == lines[1]
    assert again['model'] == first['model'] == f'm@127.0.0.1:{server.url.split(":")[2]}'
