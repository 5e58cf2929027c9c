"""Messages of the backend ``openai``: texts, the system's role, the order of pictures, marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from fake_openai import FakeServer, Reply, chat, error, questions, said
from sightplan.model import (
    Atom,
    BackendError,
    Observation,
    Question,
    RefusedError,
)
from sightplan.model.query import ask_all, ask_one
from sightplan.model.reply_text import ANSWER_MARKS, THINKING_MARKS, after_thoughts
from sightplan.queries import Generate, yes_no_queries
from sightplan.runs import RunSettings, run

pytest.importorskip('openai')

from sightplan_models._openai_messages import Prompt, messages, moves_pictures, refuses_system

PICTURE = np.zeros((8, 8, 3), np.uint8)


pytestmark = pytest.mark.usefixtures('no_pauses')


# Texts.


def test_a_prompt_of_texts_is_one_string_with_explicit_seams(make: Any) -> None:
    with FakeServer() as server:
        ask_one(make(server), Generate('Be brief.', ('Look with care.', 'Question:\n', 'Is it?')))
    assert server.bodies[0]['messages'] == [
        {'role': 'system', 'content': 'Be brief.'},
        {'role': 'user', 'content': 'Look with care.\nQuestion:\nIs it?'}]


def test_a_server_that_fails_on_lists_of_parts_is_asked_in_strings(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return (chat('Yes') if isinstance(body['messages'][-1]['content'], str)
                else error(500, "can only concatenate str (not 'list') to str"))
    with FakeServer(behave) as server:
        assert ask_all(make(server), yes_no_queries(Observation(text='Bring it.'), [
            Question(Atom('p'), 'Is it far?')]))[0].text == 'Yes'


def test_texts_in_a_row_are_joined_and_pictures_stay_between_them() -> None:
    shown = {'type': 'image_url', 'image_url': {'url': 'data:'}}
    [only] = messages(Prompt('', ('Now:', shown, 'It moved.', 'Goal:', shown, 'Plan')))
    assert [part.get('text', 'PICTURE') for part in only['content']] == [
        'Now:', 'PICTURE', 'It moved.\nGoal:', 'PICTURE', 'Plan']
    assert only['content'][1] == shown


# The system's role.


@pytest.mark.parametrize(('status', 'refusal'), [
    (400, 'System role not supported'),
    (500, 'Jinja Exception: System role not supported'),
    (400, 'Conversation roles must alternate user/assistant/user/assistant/...'),
    (500, 'Value is not callable: null; roles must alternate user and assistant'),
    (422, "Unsupported value: 'messages[0].role' does not support 'system' with this model.")])
def test_without_a_role_for_it_the_system_text_begins_the_users_message(
        make: Any, status: int, refusal: str, caplog: pytest.LogCaptureFixture) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return chat('Yes') if body['messages'][0]['role'] == 'user' else error(status, refusal)
    with FakeServer(behave) as server:
        backend = make(server)
        for _ in range(2):
            assert ask_one(backend, Generate('Be brief.', ('Is it?',))).text == 'Yes'
        assert [said(body) for body in server.bodies] == [
            ['Is it?'], ['Be brief.\nIs it?'], ['Be brief.\nIs it?']]
        assert caplog.text.count('no role for a system text') == 1
        with pytest.raises(RefusedError, match='system_role=auto'):
            ask_one(make(server, system_role='system'), Generate('Be brief.', ('Is it?',)))
        ask_one(make(server, system_role='user'), Generate('Be brief.', ('Is it?',)))
    assert said(server.bodies[-1]) == ['Be brief.\nIs it?']


@pytest.mark.parametrize('text', [
    'the system is overloaded', 'the model does not exist', 'invalid value for temperature',
    'image input is not supported'])
def test_other_refusals_are_not_about_the_system_role(text: str) -> None:
    assert not refuses_system(text)


# The order of pictures.


def two_pictures() -> Generate:
    return Generate('', ('Now:', PICTURE, 'Goal:', PICTURE + 1, 'Plan!'))


@pytest.mark.parametrize(('rendered', 'moved'), [
    ('<image><image>alpha\nomega', True), ('alpha<image>omega<image>', False),
    ('<image>alpha\n<image>omega', False), ('omega alpha', None), ('', None)])
def test_a_template_that_moves_pictures_is_found_out(rendered: str, moved: bool | None) -> None:
    assert moves_pictures(rendered) is moved


@pytest.mark.parametrize(('owner', 'path', 'field'), [
    ('llamacpp', '/apply-template', 'prompt'), ('vllm', '/tokenize', 'token_strs')])
@pytest.mark.parametrize('moved', [True, False])
def test_pictures_are_numbered_where_the_template_moves_them(
        make: Any, owner: str, path: str, field: str, moved: bool,
        caplog: pytest.LogCaptureFixture) -> None:
    prompt = '<p><p>alpha omega' if moved else 'alpha<p>omega<p>'
    shown = prompt if field == 'prompt' else prompt.split('>')
    with FakeServer() as server:
        server.owner = owner
        server.endpoints[path] = lambda body, number: Reply({field: shown})
        backend = make(server)
        for _ in range(2):
            ask_one(backend, two_pictures())
    expected = (['Now:\nPicture 1:', 'Goal:\nPicture 2:', 'Plan!'] if moved
                else ['Now:', 'Goal:', 'Plan!'])
    assert [said(body) for body in server.bodies] == [expected] * 2
    assert caplog.text.count('moves pictures') == moved


def test_pictures_are_numbered_if_wanted_and_never_otherwise(make: Any, caplog: Any) -> None:
    with FakeServer() as server:
        ask_one(make(server), two_pictures())  # nothing is known about its template
        ask_one(make(server, number_pictures='on'), two_pictures())
        ask_one(make(server, number_pictures='on'), Generate('', ('Now:', PICTURE, 'Plan!')))
        server.owner = 'llamacpp'
        server.endpoints['/apply-template'] = lambda body, number: Reply(
            {'prompt': 'PP alpha omega'})
        ask_one(make(server, number_pictures='off'), two_pictures())
    assert [len('\n'.join(said(body)).split('Picture')) - 1 for body in server.bodies] == [
        0, 2, 0, 0]
    assert 'number_pictures=auto' in caplog.text


# Thoughts and boxes.


SAMPLES = {
    'DeepSeek': '<think>No.</think>Yes', 'Magistral': '[THINK]No.[/THINK]Yes',
    'Kimi-VL': '◁think▷No.◁/think▷Yes', 'Seed-OSS': '<seed:think>No.</seed:think>Yes',
    'Sky-T1': '<|begin_of_thought|>No.<|end_of_thought|><|begin_of_solution|>Yes'
              '<|end_of_solution|>',
    'Command A': '<|START_THINKING|>No.<|END_THINKING|><|START_RESPONSE|>Yes<|END_RESPONSE|>',
    'Apertus': '<|inner_prefix|>No.<|inner_suffix|>Yes',
    'Granite 3.2': 'Here is my thought process: No. Here is my response: Yes',
    'LLaVA-CoT': '<SUMMARY>No.</SUMMARY><CAPTION>No.</CAPTION><REASONING>No.</REASONING>'
                 '<CONCLUSION>Yes</CONCLUSION>',
    'Solar Open': '<|think|>No.<|end|><|begin|>assistant<|content|>Yes',
    'gpt-oss': '<|channel|>analysis<|message|>No.<|end|><|start|>assistant<|channel|>final'
               '<|message|>Yes',
    'Gemma 4': '<|channel>thought\nNo.<channel|>Yes',
    'GLM-4.1V': '<think>No.</think><|begin_of_box|>Yes<|end_of_box|>',
    'Granite 3.3': '<think>No.</think><response>Yes</response>'}


@pytest.mark.parametrize('model', SAMPLES)
def test_marks_of_known_models_are_read(model: str) -> None:
    assert after_thoughts(SAMPLES[model]).strip() == 'Yes'


@pytest.mark.parametrize('text', [
    '<caption>Yes</caption>', '<CAPTION>Yes</CAPTION>', '<summary>Yes</summary>',
    'Well: <SUMMARY>Yes</SUMMARY>', '<answer>Yes</answer>'])
def test_marks_that_only_one_model_puts_around_thoughts_are_not_thoughts_of_others(
        text: str) -> None:
    assert after_thoughts(text) == text


def test_every_mark_of_the_tables_has_a_sample_and_a_source() -> None:
    rows = [*((mark.models, mark.source) for mark in THINKING_MARKS),
            *((models, source) for _, models, source in ANSWER_MARKS)]
    for models, source in rows:
        assert source and any(name in models for name in SAMPLES), models


@pytest.mark.parametrize('pieces', [
    ('<think>', 'No', '</think>', '<|begin_of_box|>', 'Yes', '<|end_of_box|>'),
    ('<|begin', '_of_box|>', 'Yes', '<|end_of', '_box|>', '<|im_end|>')])
def test_the_answer_in_a_box_has_its_probabilities(make: Any, pieces: tuple[str, ...]) -> None:
    tokens = [(piece, {piece: 0.7, piece.replace('Yes', 'No'): 0.2} if 'Yes' in piece
               else {piece: 1.0}) for piece in pieces]
    boxed = chat(''.join(pieces).removesuffix('<|im_end|>'), logprobs=tokens)
    with FakeServer(lambda body, number: boxed) as server:
        [reply] = ask_all(make(server), questions())
    assert (reply.p_yes, reply.p_no) == (pytest.approx(0.7), pytest.approx(0.2))


# Refusals for good.


def episodes(tmp_path: Path, server: FakeServer, count: int = 25) -> dict[str, Any]:
    problems = tmp_path / 'problems'
    problems.mkdir(exist_ok=True)
    (problems / 'a.pddl').write_text(TWO_BLOCKS)
    return run(RunSettings(
        problems=str(problems), episodes=count, out=str(tmp_path / 'run'), backend='openai',
        method='ground', backend_options={'model': 'm', 'base_url': server.url}),
        world=MemoryWorld(), planner=SearchPlanner())


@pytest.mark.parametrize(('refusal', 'says'), [
    (error(403, 'no access to this'), 'OPENAI_API_KEY'),
    (error(400, 'no such thing'), 'change the settings'),
    (error(500, 'image input is not supported - hint: you may need to provide the mmproj'),
     '--mmproj'),
    (error(500, 'the same defect each time'), 'log'),
    (error(500, 'request (9000 tokens) exceeds the available context size'), 'longer context'),
    (error(404, 'Provider returned error', metadata={'raw': 'no such model'}), 'one, two')])
def test_a_run_ends_at_the_third_refusal_with_the_remedy(
        tmp_path: Path, refusal: Reply, says: str) -> None:
    with FakeServer(lambda body, number: refusal) as server:
        summary = episodes(tmp_path, server)
    assert summary['interrupted'] and says in summary['stopped_by'], summary['stopped_by']
    assert summary['items'] == summary['errors'] == 3 and len(server.bodies) <= 9
    assert sum(summary['reasons']['errors'].values()) == 3


def test_a_request_that_is_refused_after_others_were_accepted_is_refused_alone(
        make: Any) -> None:
    with FakeServer(lambda body, number: chat('Yes') if number == 0 else error(
            400, 'that one is too long')) as server:
        backend = make(server)
        ask_all(backend, questions())
        with pytest.raises(BackendError) as caught:
            ask_all(backend, questions())
    assert not isinstance(caught.value, RefusedError)


def test_an_outage_is_no_refusal(make: Any, tmp_path: Path) -> None:
    words = iter(f'worker {number} died' for number in range(100))
    with FakeServer(lambda body, number: error(500, next(words))) as server:
        with pytest.raises(BackendError, match='given up after 6 tries'):
            ask_all(make(server), questions())
        assert len(server.bodies) == 6
    with FakeServer(lambda body, number: error(503, 'loading the model')) as server:
        with pytest.raises(BackendError, match='given up after 6 tries'):
            ask_all(make(server), questions())
        assert len(server.bodies) == 6


def test_how_often_requests_were_sent_again_is_said_at_the_end(make: Any, caplog: Any) -> None:
    troubles = [error(503, 'busy'), error(429, 'slow down'), error(503, 'busy'), chat('Yes')]
    with FakeServer(lambda body, number: troubles[min(number, 3)]) as server:
        backend = make(server)
        ask_all(backend, questions())
        caplog.clear()
        backend.close()
    assert '2 x the server is out of order; 1 x the server limits the rate' in caplog.text


def test_a_run_records_that_pictures_were_seen(tmp_path: Path) -> None:
    with FakeServer() as server:
        summary = episodes(tmp_path, server, 1)
    assert summary['pictures'] == (
        'pictures reach the model: a prompt with a picture takes 110 tokens and 10 without')
