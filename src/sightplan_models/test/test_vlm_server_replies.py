"""The backend ``openai`` and whole replies of servers that failed: files in ``server_replies``."""

from __future__ import annotations

import json
import math
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from fake_openai import HANG, FakeServer, Reply, chat, error, has_picture, questions
from fake_openai import said as texts
from sightplan import cli
from sightplan.grounding import parse_yes_no
from sightplan.model import (
    BackendError,
    DeadlineError,
    RefusedError,
    SpendingCapError,
    Verdict,
)
from sightplan.model.query import Deadline, ask_all, ask_one
from sightplan.queries import Answer, Generate
from sightplan.queries.choose import Choose
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run, why_useless
from sightplan.vlm.replies import without_surrogates

pytest.importorskip('openai')

from sightplan_models._openai_logprobs import (
    LEAST,
    Likely,
    bare_word,
    likely_at_answer,
    read_tokens,
)

CASES = Path(__file__).with_name('server_replies')


def case(name: str) -> Reply:
    """A server's reply, as its file has it."""
    path, = CASES.glob(f'{name}__status_*.json')
    return Reply(path.read_bytes(), int(path.stem.rpartition('_')[2]))


pytestmark = pytest.mark.usefixtures('no_pauses')


def asked(body: dict[str, Any]) -> str:
    return texts(body)[-1]


def first_then(bad: Reply, good: Reply, times: int = 1) -> Callable[[dict[str, Any], int], Reply]:
    return lambda body, number: bad if number < times else good


# Replies that are no answers.


@pytest.mark.parametrize(('name', 'says', 'tries'), [
    ('finish_reason_error_empty', 'Provider disconnected', 3),
    ('stop_content_null_reasoning_only', 'reasoning alone.*reasoning_effort', 3),
    ('length_without_content_no_reasoning_field', 'no content.*thinking_tokens=4096', 1),
    ('logprob_nan_of_chosen_token', 'not a number', 3)])
def test_a_failed_reply_is_asked_for_again_and_then_an_error(
        make: Any, name: str, says: str, tries: int) -> None:
    with FakeServer(lambda body, number: case(name)) as server:
        with pytest.raises(BackendError, match=says):
            ask_all(make(server), questions())
        assert len(server.bodies) == tries
        with pytest.raises(BackendError, match=says):
            ask_one(make(server, retries=0), Generate('', ('Hello',)))
    if tries > 1:
        with FakeServer(first_then(case(name), chat('Yes'))) as server:
            assert ask_all(make(server), questions())[0].text == 'Yes'


def test_a_protocol_may_count_a_failed_reply_as_unread(make: Any) -> None:
    with FakeServer(lambda body, number: case('stop_content_null_reasoning_only')) as server:
        [reply] = ask_all(make(server, failed_replies='unread'), questions())
        assert len(server.bodies) == 3, 'it is asked for again all the same'
    assert parse_yes_no(reply.text) is Verdict.UNPARSED and reply.p_yes is None


@pytest.mark.parametrize('reply', [
    chat(None), chat(''), chat(' \n'), chat(None, finish='tool_calls'),
    chat('Yes, it', finish='error'), chat('<think>It is red</think>'),
    chat('<think>It is red, so', finish='stop')])
def test_replies_of_the_same_kind_are_no_answers_either(make: Any, reply: Reply) -> None:
    with FakeServer(lambda body, number: reply) as server, pytest.raises(BackendError):
        ask_all(make(server), questions())
    assert len(server.bodies) == 3


def test_what_a_failed_reply_took_is_counted(make: Any) -> None:
    with FakeServer(lambda body, number: chat(None)) as server:
        backend = make(server)
        with pytest.raises(BackendError):
            ask_all(backend, questions())
    assert backend.usage.requests == 3 and backend.usage.prompt_tokens == 300


# Refusals from which the client learns.


def test_forbidden_logprobs_are_left_out_from_then_on(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return case('http403_logprobs_not_allowed') if 'logprobs' in body else chat('Yes')
    with FakeServer(behave) as server:
        replies = ask_all(make(server, top_logprobs=5), questions(3))
        assert replies == [Answer('Yes')] * 3
    with FakeServer(behave) as server, pytest.raises(BackendError, match='logprobs=auto'):
        ask_all(make(server, top_logprobs=5, logprobs='on'), questions())
    with FakeServer(lambda body, number: error(403, 'no access to this')) as server, \
            pytest.raises(BackendError, match='OPENAI_API_KEY'):
        ask_all(make(server), questions())


@pytest.mark.parametrize('name', [
    'http400_min_16_tokens', 'http400_provider_returned_error_metadata_raw'])
def test_a_limit_that_is_too_small_is_raised(make: Any, name: str,
                                             caplog: pytest.LogCaptureFixture) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return case(name) if body['max_tokens'] < 16 else chat('Yes')
    with FakeServer(behave) as server:
        assert [reply.text for reply in ask_all(make(server), questions(2))] == ['Yes'] * 2
    assert [body['max_tokens'] for body in server.bodies] == [4, 16, 16]
    assert 'answer_tokens=16' in caplog.text and 'the least is 16' in caplog.text


def test_what_the_server_behind_a_gateway_says_is_shown(make: Any) -> None:
    refusals = [case('http400_provider_returned_error_metadata_raw'),
                error(400, 'Provider returned error', metadata={'raw': 'the least is 16, sir'}),
                Reply({'choices': [], 'error': {'message': 'Provider returned error', 'metadata': {
                    'raw': {'error': {'message': 'the least is 16'}}}}})]
    for refusal in refusals:
        with FakeServer(lambda body, number, reply=refusal: reply) as server, pytest.raises(
                BackendError, match='Provider returned error: .*the least is 16'):
            ask_all(make(server, answer_tokens=0, retries=0), questions(max_tokens=64))


LITELLM_END = ("\n\nLiteLLM: model group 'm' failed with the error above. No fallback was "
               'attempted.')
LITELLM_AWAY = error(500, 'litellm.InternalServerError: InternalServerError: OpenAIException - '
                     f'Connection error.{LITELLM_END}', type='internal_server_error', code='500')
"""Reply of LiteLLM 1.108.7 while the server behind it is down."""


def test_a_server_that_is_down_behind_a_gateway_is_waited_for(make: Any) -> None:
    with FakeServer(first_then(LITELLM_AWAY, chat('Yes'), 5)) as server:
        assert ask_all(make(server, retries=5), questions())[0].text == 'Yes'
    with FakeServer(lambda body, number: LITELLM_AWAY) as server, pytest.raises(
            BackendError, match='given up after 4 tries .*check the server behind it'):
        ask_all(make(server, retries=3), questions())


@pytest.mark.parametrize(('message', 'remedy'), [
    ('No connected db.', 'put a valid key into the environment variable OPENAI_API_KEY'),
    (('/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view '
      'available models for your key.'), 'set model to one of the server: one, two')])
def test_a_gateway_that_refuses_key_or_model_with_another_status_is_understood(
        make: Any, message: str, remedy: str, caplog: pytest.LogCaptureFixture) -> None:
    """Both are replies of LiteLLM 1.108.7 without a data base."""
    refusal = error(400, message, code='400')
    with FakeServer(lambda body, number: refusal) as server:
        server.reply_to_check = lambda body, number: refusal
        with pytest.raises(RefusedError, match=remedy):
            ask_all(checked(make, server), questions())
    assert 'could not be checked' not in caplog.text, 'the error says it already'


def test_logprobs_that_a_gateway_does_not_pass_on_are_left_out(
        make: Any, caplog: pytest.LogCaptureFixture) -> None:
    refusal = error(400, 'litellm.UnsupportedParamsError: openai does not support parameters: '
                    "['logprobs', 'top_logprobs'], for model=gpt-5-mini. To drop these, set "
                    '`litellm.drop_params=True`' + LITELLM_END, code='400')  # LiteLLM 1.108.7
    with FakeServer(lambda body, number: refusal if 'logprobs' in body else chat('Yes')) as server:
        reply, = ask_all(make(server), questions())
    assert reply.text == 'Yes' and reply.p_yes is None
    assert 'offers no probabilities of tokens' in caplog.text
    assert 'top_logprobs' not in server.bodies[-1]


# Probabilities.


def test_a_token_that_is_listed_with_and_without_bytes_counts_once(make: Any) -> None:
    twins = case('logprobs_bytes_only_on_chosen_token_counts_twice')
    with FakeServer(lambda body, number: twins) as server:
        reply, = ask_all(make(server), questions())
    assert reply.p_yes == pytest.approx(math.exp(-0.7)) == reply.p_no


def test_a_yes_in_two_tokens_is_put_together(make: Any) -> None:
    with FakeServer(lambda body, number: case('yes_split_in_two_tokens')) as server:
        reply, = ask_all(make(server), questions())
    assert reply.p_yes == pytest.approx(math.exp(-0.02))
    assert reply.p_no == pytest.approx(math.exp(-5))  # of its first letter: not more


def logprobs(*places: tuple[str, dict[str, float]], chosen: float | None = None) -> Any:
    return {'content': [{'token': token, 'logprob': math.log(chosen or likely.get(token, 0.5)),
                         'top_logprobs': [{'token': other, 'logprob': math.log(chance)}
                                          for other, chance in likely.items()]}
                        for token, likely in places]}


def said(reply_text: str, *places: tuple[str, dict[str, float]],
         words: tuple[str, ...] = ('yes', 'no')) -> list[float]:
    tokens = read_tokens(logprobs(*places))
    assert tokens is not None
    likely = likely_at_answer(reply_text, tokens, reasoning=False)
    assert likely is not None
    return likely.probabilities(words, bare_word)


def test_a_word_outside_the_list_is_bounded_and_not_impossible() -> None:
    yes, no = said('Yes', ('Yes', {'Yes': 0.92}))
    assert (yes, no) == (pytest.approx(0.92), pytest.approx(0.08))
    yes, no = said('Yes', ('Yes', {'Yes': 0.92, 'yes': 0.01, 'Sure': 0.02}))
    assert (yes, no) == (pytest.approx(0.93), pytest.approx(0.05))  # what the list leaves over
    yes, no = said('Yes', ('Yes', {'Yes': 0.92, 'yes': 0.002, 'Sure': 0.02}))
    assert (yes, no) == (pytest.approx(0.922), pytest.approx(0.012))  # six times the least one
    yes, no = said('Hm', ('Hm', {'Hm': 0.9, 'Well': 0.04}))
    assert yes == no == pytest.approx(0.03)  # both of them together have what is left over
    yes, no = said('Yes', ('Yes', {'Yes': 1.0}))
    assert 0 < no <= LEAST and yes < 1


@pytest.mark.parametrize(('text', 'places', 'expected'), [
    ('**Yes**', [('**', {'**': 1.0}), ('Yes', {'Yes': 0.7, 'No': 0.3}), ('**', {'**': 1.0})],
     (0.7, 0.3)),
    ('Yes.', [('Yes.', {'Yes.': 0.5, ' yes': 0.2, '"No"': 0.2, 'NO!': 0.05})], (0.7, 0.25)),
    ('No', [(' N', {' N': 0.8, ' Y': 0.1}), ('o', {'o': 0.5})], (0.1, 0.4)),
    ('Nothing', [('No', {'No': 0.9, 'Yes': 0.06}), ('thing', {'thing': 0.9})], (0.06, 0.13)),
    ('Yellow', [('Y', {'Y': 0.9, 'N': 0.06}), ('ellow', {'ellow': 0.9})], (0.06, 0.06))])
def test_the_whole_word_decides_whatever_is_around_it(
        text: str, places: Any, expected: tuple[float, float]) -> None:
    yes, no = said(text, *places)
    assert yes == pytest.approx(expected[0], abs=0.05) and no == pytest.approx(
        expected[1], abs=0.05)


def test_probabilities_that_cannot_be_right_are_left_out_and_named(
        make: Any, caplog: pytest.LogCaptureFixture) -> None:
    for top in ([('Yes', -0.1), ('No', -0.2)], [('Yes', -0.1), ('No', math.nan)],
                [('Yes', 3.0), ('No', -0.2)]):
        body = chat('Yes').body
        body['choices'][0]['logprobs'] = {'content': [{
            'token': 'Yes', 'logprob': top[0][1], 'top_logprobs': [
                {'token': token, 'logprob': value} for token, value in top]}]}
        caplog.clear()
        with FakeServer(lambda b, number, body=body: Reply(body)) as server:
            assert ask_all(make(server), questions(2)) == [Answer('Yes')] * 2
            assert caplog.text.count('logprobs=off') == 1
            with pytest.raises(BackendError, match='logprobs=auto'):
                ask_all(make(server, logprobs='on'), questions())


def test_an_option_outside_the_list_is_bounded_too(make: Any) -> None:
    request = Choose(('Which?',), ('left', 'right', 'middle'))
    only = chat('(A)', logprobs=[('(A)', {'(A)': 0.9, 'Hm': 0.04})])
    with FakeServer(lambda body, number: only) as server:
        reply = ask_one(make(server), request)
        assert reply.chosen == 0 and reply.probabilities is not None
        assert reply.probabilities == pytest.approx([0.9 / 0.96, 0.03 / 0.96, 0.03 / 0.96])
    with FakeServer(lambda body, number: chat(
            'B', logprobs=[('B', {'Hm': 0.9, 'B': 1e-12})])) as server:
        assert ask_one(make(server), request).chosen == 1  # read: no option is among the likely


TOKENS = st.sampled_from(['Yes', ' yes', 'No', 'no.', 'Y', 'N', 'Maybe', '**', ' ', 'Un', 'A'])
ENTRY = st.fixed_dictionaries(
    {'token': TOKENS, 'logprob': st.floats(-9999.0, 0.0) | st.sampled_from([0.0, -9999.0])},
    optional={'bytes': st.none() | st.just([89]) | st.just([1, 2])})


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(ENTRY, st.lists(ENTRY, max_size=5)), min_size=1, max_size=3))
def test_no_probability_is_0_or_1_because_something_is_not_listed(content: Any) -> None:
    tokens = read_tokens({'content': [
        {**entry, 'top_logprobs': top} for entry, top in content]})
    assert tokens is not None
    likely = likely_at_answer(''.join(entry['token'] for entry, _ in content), tokens, False)
    if likely is None or likely.flaw:
        return
    for words in (('yes', 'no'), ('yes', 'no', 'unknown'), ('a', 'b', 'c', 'd')):
        chances = likely.probabilities(words, bare_word)
        assert all(0 < chance <= 1 for chance in chances)
        assert math.fsum(chances) <= 1 + 1e-12
        assert 0 < chances[0] / (chances[0] + chances[1]) < 1


@settings(max_examples=80, deadline=None)
@given(st.lists(ENTRY, min_size=1, max_size=6), st.integers(0, 5))
@example([{'token': 'Yes', 'logprob': -1.0, 'bytes': [89]},
          {'token': ' yes', 'logprob': -1.0, 'bytes': [89]}], 1)
def test_twins_never_change_a_probability(top: Any, number: int) -> None:
    """The chosen token may be listed again, with its bytes or without."""
    chosen = top[number % len(top)]
    lists = [{'content': [{**twin, 'top_logprobs': top}]} for twin in (
        chosen, {'token': chosen['token'], 'logprob': chosen['logprob']})]
    (first, *_), (second, *_) = (read_tokens(data) or () for data in lists)
    assert first.likely == second.likely
    assert isinstance(first.likely, Likely)


# Halves of characters.


def test_half_a_character_does_not_end_ask(make: Any, tmp_path: Path, capsys: Any) -> None:
    from PIL import Image
    picture = tmp_path / 'a.png'
    Image.new('RGB', (32, 32)).save(picture)
    half = case('lone_surrogate_crashes_ask_question')
    with FakeServer(lambda body, number: half) as server:
        code = cli.main(['ask', str(picture), '--question', 'Is it?', '--json', '--backend',
                         'openai', '--backend-option', 'model=m', '--backend-option',
                         f'base_url={server.url}'])
        reply = ask_one(make(server), Generate('', ('Is it?',)))
    assert code == 0 and json.loads(capsys.readouterr().out)['text'].startswith('Yes')
    assert reply.text == 'Yes \ufffd'
    reply.text.encode()


@pytest.mark.slow
def test_ask_reads_and_prints_other_letters_where_the_console_is_ascii(tmp_path: Path) -> None:
    from PIL import Image
    picture = tmp_path / 'a.png'
    Image.new('RGB', (32, 32)).save(picture)
    ascii_only = {**os.environ, 'PYTHONIOENCODING': 'ascii', 'LC_ALL': 'C', 'PYTHONUTF8': '0',
                  'PYTHONCOERCECLOCALE': '0'}
    with FakeServer(lambda body, number: chat('Yes – ✅ é')) as server:
        for more in ([], ['--json']):
            done = subprocess.run(
                ['sightplan', 'ask', str(picture), '--question', 'Est-ce un café?', '--backend',
                 'openai', '--backend-option', 'model=m', '--backend-option',
                 f'base_url={server.url}', *more], env=ascii_only, capture_output=True,
                timeout=240)
            assert done.returncode == 0 and b'Yes' in done.stdout, done.stderr
    assert {asked(body) for body in server.bodies} == {'Est-ce un café?'}


def test_halves_of_characters_become_what_they_are() -> None:
    for text, expected in (('a\udcc3\udca9', 'aé'), ('a\ud83d', 'a\ufffd'), ('é✅', 'é✅'),
                           ('\ud83d\ude00', '😀'), ('a\udcc3', 'a\ufffd')):
        assert without_surrogates(text) == expected


@pytest.mark.parametrize('command', [
    ['ask', 'PICTURE', '--question', 'Is it red?'],
    ['ask', 'PICTURE', '--domain', 'blocksworld', '--objects', 'r:block,c1:column'],
    ['locate', 'PICTURE', 'the red mug']])
def test_a_command_about_a_picture_refuses_a_server_that_drops_it(
        tmp_path: Path, capsys: Any, command: list[str]) -> None:
    from PIL import Image
    picture = tmp_path / 'a.png'
    Image.new('RGB', (32, 32)).save(picture)
    command = [str(picture) if word == 'PICTURE' else word for word in command]
    with FakeServer() as server:
        server.reply_to_check = blind_server
        assert cli.main([*command, '--backend', 'openai', '--backend-option', 'model=m',
                         '--backend-option', f'base_url={server.url}']) == 1
    assert 'pictures do not reach the model' in capsys.readouterr().err and not server.bodies


# What was paid for is kept.


def partial(make: Any, server: FakeServer, count: int, kind: type[Exception],
            timeout_s: float | None = None, **values: Any) -> list[str | None]:
    with pytest.raises(kind) as caught:
        ask_all(make(server, **values), questions(count), Deadline(timeout_s, keep_going=True))
    return [None if reply is None else reply.text for reply in caught.value.partial]


@pytest.mark.parametrize('bad', [chat(None), error(400, 'that one is too long')])
def test_one_failed_reply_does_not_cost_the_others(make: Any, bad: Reply) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return bad if asked(body) == 'Is it 3?' else chat('Yes')
    with FakeServer(behave) as server:
        assert partial(make, server, 6, BackendError) == ['Yes', 'Yes', 'Yes', None, 'Yes', 'Yes']
    with FakeServer(behave) as server:  # nothing more is paid for where only all are of use
        with pytest.raises(BackendError):
            ask_all(make(server, concurrency=1, retries=0), questions(40))
        assert len(server.bodies) < 10


def test_after_a_failed_first_reply_the_others_are_asked_but_not_after_a_refusal(
        make: Any) -> None:
    with FakeServer(lambda body, number: chat(None if asked(body) == 'Is it 0?' else 'Yes')
                    ) as server:
        assert partial(make, server, 3, BackendError) == [None, 'Yes', 'Yes']
    for status in (400, 401, 404):
        with FakeServer(lambda body, number, status=status: error(status, 'no')) as server:
            assert partial(make, server, 3, BackendError) == [None] * 3
        assert len(server.bodies) == 1


def test_a_cap_or_a_time_out_does_not_cost_the_replies_before_it(make: Any) -> None:
    with FakeServer() as server:  # 102 tokens each
        kept = partial(make, server, 40, SpendingCapError, max_tokens_total=1000)
    assert kept.count('Yes') == 10 and len(kept) == 40
    with FakeServer(lambda body, number: HANG if asked(body) == 'Is it 4?'
                    else chat('Yes')) as server:
        kept = partial(make, server, 6, DeadlineError, timeout_s=6.0)
    assert kept == ['Yes'] * 4 + [None, 'Yes']


def test_what_is_on_its_way_is_waited_for_and_nothing_more_is_sent(make: Any) -> None:
    refused = threading.Event()

    def behave(body: dict[str, Any], number: int) -> Reply:
        if asked(body) == 'Is it 2?':
            refused.set()
            return error(401, 'not any more')
        if number:
            assert refused.wait(60)
            time.sleep(1.0)  # so that the refusal arrives first
        return chat('Yes')
    with FakeServer(behave) as server:
        kept = partial(make, server, 30, BackendError, concurrency=4)
    assert kept[:5] == ['Yes', 'Yes', None, 'Yes', 'Yes'] and kept.count('Yes') == 4
    assert len(server.bodies) == 5


# Runs.


def test_episodes_of_which_no_answer_can_be_read_say_so(tmp_path: Path) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    (problems / 'a.pddl').write_text(TWO_BLOCKS)
    with FakeServer(lambda body, number: chat('Hm')) as server:
        summary = run(RunSettings(
            problems=str(problems), out=str(tmp_path / 'run'), backend='openai', method='ground',
            backend_options={'model': 'm', 'base_url': server.url}),
            world=MemoryWorld(), planner=SearchPlanner())
    assert summary['scored'] == 1 and summary['replies'] == {
        'read': 0, 'all': summary['questions']}
    assert why_useless(summary) == (
        f'not one of {summary["questions"]} replies could be read')


# Pictures that do not arrive.


def blind_server(body: dict[str, Any], number: int) -> Reply:
    """A model that reads text alone, behind a server that drops pictures."""
    return chat('Red', usage=(12, 1))


def checked(make: Any, server: FakeServer, **values: Any) -> Any:
    backend = make(server, **values)
    backend.check_pictures()
    return backend


def test_a_server_that_drops_pictures_is_found_out_and_refused(make: Any) -> None:
    with FakeServer() as server:
        server.reply_to_check = blind_server
        backend = checked(make, server, price_in=1.0, price_out=1.0)
        assert not server.checks, 'nothing is sent before there is a picture'
        assert ask_one(backend, Generate('', ('Hello',))).text == 'Yes'
        for _ in range(2):
            with pytest.raises(BackendError, match='pictures do not reach the model.*12 tokens'):
                ask_all(backend, questions())
        assert backend.pictures_lost.startswith('m@')
        assert ask_one(backend, Generate('', ('Hello',))).text == 'Yes'
    assert len(server.checks) == 4 and len(server.bodies) == 2
    assert backend.usage.requests == 6 and backend.usage.prompt_tokens == 4 * 12 + 200


@pytest.mark.parametrize(('name', 'requests'), [
    ('counts', 2), ('does not count pictures', 4), ('does not tell', 4), ('no usage', 2),
    ('refuses pictures', 2), ('refuses texts', 1), ('replies with nothing', 2)])
def test_no_server_is_refused_by_mistake(
        make: Any, name: str, requests: int, caplog: pytest.LogCaptureFixture) -> None:
    colours = ('Red', 'Green.', 'BLUE')

    def reply(body: dict[str, Any], number: int) -> Reply:
        seen = has_picture(body)
        said = colours[number - 1] if seen else 'None'
        if name.startswith('refuses') and seen is (name == 'refuses pictures'):
            return error(400, 'no such input')
        if name == 'replies with nothing':
            return chat(None, usage=(20 + 64 * seen, 1))
        return {'counts': chat(said, usage=(20 + 64 * seen, 1)),
                'does not count pictures': chat(said, usage=(20, 1)),
                'does not tell': chat(f'Colour {number}', usage=(20, 1)),
                'no usage': chat('Red', usage=None)}.get(name, chat(said))
    with FakeServer() as server:
        server.reply_to_check = reply
        backend = checked(make, server, retries=0)
        assert ask_all(backend, questions(2))[1].text == 'Yes'
        assert backend.pictures_lost == ''
        assert ask_all(backend, questions(2))[1].text == 'Yes'
    assert len(server.checks) == requests
    assert ('no such input' in caplog.text) is name.startswith('refuses')
    assert ('could not be checked' in caplog.text) is (
        name not in ('counts', 'does not count pictures', 'replies with nothing'))


def test_a_server_that_is_not_there_ends_a_run_and_is_asked_once_a_picture(
        make: Any, tmp_path: Path) -> None:
    with FakeServer() as server:
        settings = {'model': 'm', 'base_url': server.url, 'retries': 1}
    with pytest.raises(RefusedError, match='given up after 2 tries .*no connection'):
        ask_all(checked(make, server, retries=1), questions())
    result = run(RunSettings(split='simple', episodes=6, out=str(tmp_path / 'run'),
                             backend='openai', method='ground', backend_options=settings),
                 world=MemoryWorld(), planner=SearchPlanner())
    assert result['interrupted'] and len(RunStore(tmp_path / 'run').lines()) == 3


def test_a_server_that_goes_away_before_the_check_is_checked_when_it_is_back(make: Any) -> None:
    with FakeServer() as server:
        backend = checked(make, server, retries=0)
        server.reply_to_check = lambda body, number: error(503, 'loading')
        with pytest.raises(BackendError, match='loading'):
            ask_all(backend, questions())
        server.reply_to_check = blind_server
        with pytest.raises(BackendError, match='pictures do not reach the model'):
            ask_all(backend, questions())


def test_the_check_counts_towards_a_cap(make: Any) -> None:
    with FakeServer() as server:
        server.reply_to_check = lambda body, number: chat('Red', usage=(600, 1))
        backend = checked(make, server, max_tokens_total=500)
        for _ in range(2):
            with pytest.raises(SpendingCapError):
                ask_all(backend, questions())
    assert len(server.checks) == 1 and not server.bodies


def test_a_run_ends_at_once_where_pictures_do_not_arrive(tmp_path: Path, capsys: Any) -> None:
    with FakeServer() as server:
        server.reply_to_check = blind_server
        with pytest.raises(BackendError, match='pictures do not reach the model'):
            run(RunSettings(
                split='simple', episodes=3, out=str(tmp_path / 'run'), backend='openai',
                method='ground', backend_options={'model': 'm', 'base_url': server.url}),
                world=MemoryWorld(), planner=SearchPlanner())
    assert not server.bodies and RunStore(tmp_path / 'run').lines() == []
