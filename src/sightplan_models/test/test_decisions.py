"""The backend ``decisions`` against a local service, in each protocol."""

from __future__ import annotations

import json
import logging
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from fake_openai import FakeServer, Reply, error
from sightplan.domains import load_domain
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    RefusedError,
    SightplanError,
    SpendingCapError,
    Target,
)
from sightplan.model.query import Deadline, ask_all, ask_one, start_episode
from sightplan.model.region import Form, Region
from sightplan.queries import Check, Choose, Locate, YesNo, yes_no_queries
from sightplan.runs import RunSettings, specify
from sightplan.runs.method_check import check_method, check_model
from sightplan.vlm.api import check_backend, make_backend
from sightplan.vlm.recording import Recorded

pytest.importorskip('openai')

PICTURE = np.arange(8 * 6 * 3, dtype=np.uint8).reshape(6, 8, 3)
SEEN = Observation(PICTURE)
PROMPT = GroundingPrompt('asked', 'Say yes or no.', 'Picture:', 'Look.', 'Q: {question}')
USAGE = {'input_tokens': 100, 'output_tokens': 3, 'total_tokens': 103}


def questions(number: int) -> list[Question]:
    return [Question(Atom('on', (f'b{one}', 'table')), f'Is b{one} on the table?')
            for one in range(number)]


def decided(body: dict[str, Any], shares: list[Any], usage: Any = USAGE) -> Reply:
    """The reply of a service of OpenAI's protocol; None: it refuses the question."""
    answers: list[dict[str, Any]] = []
    for question, share in zip(body['questions'], shares, strict=True):
        if share is None:
            answers.append({'type': 'refusal', 'name': None})
        elif question['type'] == 'predicate':
            answers.append({'type': 'predicate', 'name': None, 'probability': share})
        else:
            values = [one['value'] for one in question['choices']]
            answers.append({
                'type': 'choice', 'name': None, 'choice': values[0], 'confidence': 1.0,
                'probabilities': [{'value': value, 'probability': chance}
                                  for value, chance in zip(values, share, strict=True)]})
    return Reply({'model': 'gpt-6-luna', 'answers': answers, 'usage': usage})


def service(server: FakeServer, **options: Any) -> Any:
    return make_backend('decisions', {'model': 'gpt-6-luna', 'base_url': server.url,
                                      'backoff_s': 0.0, **options})


def test_all_questions_about_a_picture_are_one_request() -> None:
    with FakeServer(lambda body, number: decided(body, [0.9, 0.2, 0.5])) as server:
        model = service(server)
        replies = ask_all(model, yes_no_queries(SEEN, questions(3), PROMPT))
        assert [(one.text, one.p_yes, one.p_no) for one in replies] == [
            ('Yes', 0.9, pytest.approx(0.1)), ('No', 0.2, 0.8), ('Yes', 0.5, 0.5)]
        [body] = server.bodies
        system, user = body['input']
        assert (system['role'], system['content']) == ('system', 'Say yes or no.')
        assert [part['type'] for part in user['content']] == [
            'input_text', 'input_image', 'input_text']
        assert user['content'][1]['image_url'].startswith('data:image/png;base64,')
        assert body['questions'][1] == {'type': 'predicate',
                                        'instructions': 'Q: Is b1 on the table?'}
        assert (model.usage.requests, model.usage.prompt_tokens,
                model.usage.completion_tokens) == (1, 100, 3)
        assert model.name == f'gpt-6-luna@{server.url.removeprefix("http://")}'


def test_a_refused_question_is_an_error_of_that_question_alone() -> None:
    with FakeServer(lambda body, number: decided(body, [0.9, None, 0.5])) as server:
        model = service(server)
        with pytest.raises(BackendError, match='b1.*refuses to answer') as caught:
            ask_all(model, yes_no_queries(SEEN, questions(3), PROMPT), Deadline(keep_going=True))
        assert [one and one.p_yes for one in caught.value.partial] == [0.9, None, 0.5]
        assert len(server.bodies) == 1  # a refusal is not asked again


@pytest.mark.parametrize('share', [1.5, -0.1, float('nan'), 'yes', True, None])
def test_what_is_no_probability_is_no_answer(share: Any) -> None:
    def reply(body: dict[str, Any], number: int) -> Reply:
        return Reply({'answers': [{'type': 'predicate', 'probability': share}], 'usage': USAGE})
    with FakeServer(reply) as server, pytest.raises(BackendError):
        ask_all(service(server, retries=0), yes_no_queries(SEEN, questions(1), PROMPT))


def test_zero_and_one_of_a_service_that_rounds_are_half_a_step() -> None:
    with FakeServer(lambda body, number: decided(body, [1.0, 0.0])) as server:
        asked = yes_no_queries(SEEN, questions(2), PROMPT)
        sure, none = ask_all(service(server), asked)
        assert (sure.p_yes, sure.p_no) == pytest.approx((0.995, 0.005))
        assert (none.p_yes, none.p_no) == pytest.approx((0.005, 0.995))
        exact, _ = ask_all(service(server, decimals=0), asked)
        assert (exact.p_yes, exact.p_no) == (1.0, 0.0)


def test_unknown_is_one_of_three_options() -> None:
    prompt = GroundingPrompt('three', unknown=True)
    with FakeServer(lambda body, number: decided(body, [[0.2, 0.3, 0.5]])) as server:
        [reply] = ask_all(service(server), yes_no_queries(SEEN, questions(1), prompt))
        assert (reply.text, reply.p_yes, reply.p_no, reply.p_unknown) == ('Unknown', .2, .3, .5)
        assert [one['value'] for one in server.bodies[0]['questions'][0]['choices']] == [
            'yes', 'no', 'unknown']


def test_choices_and_checks() -> None:
    choose = Choose(('One:', PICTURE, 'Which is safer?'), ('left', 'right'), system='Be careful.')
    check = Check(PICTURE, Target('the cup'), Region(Form.BOX, ((0.1, 0.1), (0.9, 0.9))))
    with FakeServer(lambda body, number: decided(
            body, [[0.25, 0.75]] if number == 0 else [0.8])) as server:
        model = service(server)
        reply = ask_one(model, choose)
        assert (reply.probabilities, reply.chosen) == ((0.25, 0.75), 1)
        assert server.bodies[0]['questions'][0]['instructions'] == 'Which is safer?'
        assert len(server.bodies[0]['input'][1]['content']) == 2
        assert ask_one(model, check).p_yes == 0.8
        with pytest.raises(InputError, match='answers no queries'):
            ask_one(model, Locate(PICTURE, Target('the cup')))


@pytest.mark.parametrize('shares', [[0.5, 0.9], [0.2, 0.3]])
def test_distributions_that_do_not_sum_to_one_are_refused(shares: list[float]) -> None:
    with FakeServer(lambda body, number: decided(body, [shares])) as server, pytest.raises(
            BackendError, match='sum to'):
        ask_one(service(server), Choose((PICTURE, 'Which?'), ('left', 'right')))


@pytest.mark.parametrize(('decimals', 'share', 'good'), [
    (1, 0.3, True), (2, 0.33, True), (2, 0.3, False), (0, 0.33, False), (0, 1 / 3, True)])
def test_how_far_a_sum_may_be_off_depends_on_the_rounding(decimals: int, share: float,
                                                          good: bool) -> None:
    choose = Choose((PICTURE, 'Which?'), ('left', 'right', 'none'))
    with FakeServer(lambda body, number: decided(body, [[share] * 3])) as server:
        model = service(server, decimals=decimals)
        if good:
            assert ask_one(model, choose).probabilities == pytest.approx((1 / 3,) * 3)
        else:
            with pytest.raises(BackendError, match='sum to'):
                ask_one(model, choose)


def test_an_option_that_is_no_text_is_no_answer() -> None:
    def reply(body: dict[str, Any], number: int) -> Reply:
        return Reply({'usage': USAGE, 'answers': [{'type': 'choice', 'probabilities': [
            {'value': ['left'], 'probability': 1.0}]}]})
    with FakeServer(reply) as server, pytest.raises(BackendError, match='gave probabilities of'):
        ask_one(service(server), Choose((PICTURE, 'Which?'), ('left', 'right')))


def test_where_the_first_question_is_refused_the_others_are_asked() -> None:
    with FakeServer(lambda body, number: decided(body, [
            None if 'b0 ' in one['instructions'] else 0.9 for one in body['questions']])
            ) as server, pytest.raises(BackendError, match='b0') as caught:
        ask_all(service(server, questions_per_request=2), yes_no_queries(SEEN, questions(6)),
                Deadline(keep_going=True))
    assert [one and one.p_yes for one in caught.value.partial] == [None, *[0.9] * 5]


@pytest.mark.parametrize('status', [400, 401, 404])
def test_what_is_refused_for_good_ends_a_run(status: int) -> None:
    asked = yes_no_queries(SEEN, questions(1))
    with FakeServer(lambda body, number: decided(body, [0.7]) if number == 2 else error(
            status, 'not so')) as server:
        model = service(server)
        for _ in range(2):
            with pytest.raises(RefusedError):
                ask_all(model, asked)
        ask_all(model, asked)
        with pytest.raises(BackendError) as caught:
            ask_all(model, asked)
        # of a service that has answered a 400 may concern that request alone
        assert isinstance(caught.value, RefusedError) == (status != 400)


def test_more_questions_than_one_request_takes_are_split() -> None:
    with FakeServer(lambda body, number: decided(body, [
            int(one['instructions'].split()[1][1:]) / 100
            for one in body['questions']])) as server:
        replies = ask_all(service(server, questions_per_request=4, decimals=0),
                          yes_no_queries(SEEN, questions(10)))
        assert [one.p_yes for one in replies] == [number / 100 for number in range(10)]
        assert sorted(len(body['questions']) for body in server.bodies) == [2, 4, 4]
        assert len({json.dumps(body['input']) for body in server.bodies}) == 1


def test_a_reply_that_lacks_answers_is_asked_for_again() -> None:
    def reply(body: dict[str, Any], number: int) -> Reply:
        return decided(body, [0.7, 0.7]) if number else Reply({'answers': [], 'usage': USAGE})
    with FakeServer(reply) as server:
        assert ask_all(service(server), yes_no_queries(SEEN, questions(2)))[0].p_yes == 0.7
        assert len(server.bodies) == 2


def test_outages_are_retried_and_refusals_are_not(caplog: pytest.LogCaptureFixture) -> None:
    replies = [error(503, 'loading'), error(429, 'slow', {'retry-after': '0'})]
    with FakeServer(lambda body, number: replies[number] if number < 2 else decided(
            body, [0.7])) as server:
        [reply] = ask_all(service(server), yes_no_queries(SEEN, questions(1)))
        assert reply.p_yes == 0.7
    with FakeServer(lambda body, number: error(404, 'no such route')) as server:
        with pytest.raises(BackendError, match='only chats is asked by the backend openai'):
            ask_all(service(server), yes_no_queries(SEEN, questions(1)))
        assert len(server.bodies) == 1


def test_caps_and_deadlines() -> None:
    with FakeServer(lambda body, number: decided(body, [0.7])) as server:
        model = service(server, max_tokens_total=2000)
        asked = [YesNo(Observation(PICTURE + number), questions(1)[0]) for number in range(40)]
        with pytest.raises(SpendingCapError, match='max_tokens_total'):
            ask_all(model, asked)
        assert 1 < len(server.bodies) < 25
    with FakeServer(lambda body, number: Reply(hang=True)) as server, pytest.raises(
            DeadlineError):
        ask_all(service(server), yes_no_queries(SEEN, questions(1)), Deadline(0.2))


def test_the_key_is_in_no_error_and_in_no_log(monkeypatch: pytest.MonkeyPatch,
                                              caplog: pytest.LogCaptureFixture) -> None:
    key = 'sk-not-a-real-key-1234567890abcdef'
    monkeypatch.setenv('DECISIONS_KEY', key)
    caplog.set_level(logging.DEBUG)
    with FakeServer(lambda body, number: error(400, f'bad key {key}')) as server:
        with pytest.raises(SightplanError) as caught:
            ask_all(service(server, api_key_env='DECISIONS_KEY'),
                    yes_no_queries(SEEN, questions(1)))
        assert server.headers[0]['authorization'] == f'Bearer {key}'
    assert key not in str(caught.value) and key not in caplog.text
    with pytest.raises(InputError, match='backend decisions: model looks as if it held a key'):
        make_backend('decisions', {'model': key})


@pytest.mark.parametrize('pictures', ['parts', 'images', 'assets'])
def test_systemone(pictures: str) -> None:
    def reply(body: dict[str, Any], number: int) -> Reply:
        return Reply({'model': 'open', 'usage': USAGE, 'answers': {
            name: {'type': 'noul', 'noul': 0.25} if one['type'] == 'noul' else
            {'type': 'choice', 'choice': 'left', 'confidence': 0.5,
             'probabilities': {'right': 0.26, 'left': 0.75}}  # rounded
            for name, one in body['questions'].items()}})
    with FakeServer(reply) as server:
        model = service(server, wire='systemone', pictures=pictures)
        replies = ask_all(model, yes_no_queries(SEEN, questions(2), PROMPT))
        assert [one.p_yes for one in replies] == [0.25, 0.25]
        chosen = ask_one(model, Choose((PICTURE, 'Which?'), ('left', 'right')))
        assert list(chosen.probabilities or ()) == pytest.approx([.75 / 1.01, .26 / 1.01])
        body, header = server.bodies[0], server.headers[0].get('typesafe-danger-zone-images')
        assert body['questions']['q2'] == {'type': 'noul',
                                           'instructions': 'Q: Is b1 on the table?'}
        assert body['state'][0] == 'Say yes or no.'
        if pictures == 'parts':
            assert body['state'][2]['image_url']['url'].startswith('data:image/png;base64,')
        elif pictures == 'images':
            [image] = body['images']
            assert image.startswith('iVBOR')
            assert body['state'] == ['Say yes or no.', 'Picture:', 'Look.']
        else:
            [(name, asset)] = body['assets'].items()
            assert body['state'][2] == name
            assert (asset['type'], asset['format']) == ('image', 'png')
        assert header == ('true' if pictures == 'assets' else None)


def test_a_service_that_drops_pictures_is_refused() -> None:
    with FakeServer(lambda body, number: decided(body, [[0.6, 0.2, 0.2]])) as server:
        model = service(server)
        model.check_pictures()
        with pytest.raises(BackendError, match='pictures do not reach the model'):
            ask_all(model, yes_no_queries(SEEN, questions(1)))
        assert model.pictures_lost


def test_recorded_and_replayed(tmp_path: Any) -> None:
    asked = yes_no_queries(SEEN, questions(2), PROMPT)
    with FakeServer(lambda body, number: decided(body, [0.9, 0.2])) as server:
        model = Recorded(service(server), tmp_path / 'replies.jsonl', name='decisions')
        model.start_episode('one')
        replies = ask_all(model, asked)
    replay = make_backend('replay', {'path': str(tmp_path / 'replies.jsonl')})
    start_episode(replay, 'one')
    assert ask_all(replay, asked) == replies


def test_bad_settings_name_field_and_remedy() -> None:
    for options, words in (({}, 'model is missing'),
                           ({'model': 'm', 'wire': 'systemone'}, 'base_url is missing'),
                           ({'model': 'm', 'max_cost_usd': 1.0}, 'needs price_in')):
        with pytest.raises(InputError, match=words):
            make_backend('decisions', options)
    with FakeServer() as server, pytest.raises(InputError, match='asks for reasons'):
        ask_all(service(server), yes_no_queries(SEEN, questions(1), GroundingPrompt(
            'cot', reasoning=True)))


def test_the_settings_tell_before_it_is_made_whether_it_passes_every_kind_on() -> None:
    check_backend('decisions', Locate, values={'wire': 'sightplan'})
    with pytest.raises(InputError, match="'decisions' cannot point at things; choose one"):
        check_backend('decisions', Locate, values={'wire': 'systemone'})


@pytest.mark.parametrize('options', [{'wire': 'sightplan'}, {}])
def test_runs_ask_a_server_that_passes_every_kind_on(options: dict[str, str]) -> None:
    """For plans, and for replies in free text."""
    planned, read = (RunSettings(backend='decisions', backend_options=options, method=method,
                                 method_options=more)
                     for method, more in (('plan', {}), ('ground', {'reading': True})))
    for check in (lambda: specify(planned).model_options(), lambda: check_model(planned),
                  lambda: check_method(read, load_domain('blocksworld'))):
        with nullcontext() if options else pytest.raises(InputError, match="'decisions' "):
            check()
