"""The backend ``openai`` against a real llama.cpp server with a tiny vision-language model."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sightplan import cli
from sightplan.model import (
    BARE,
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    Observation,
    Question,
    SpendingCapError,
)
from sightplan.model.query import ask_all, ask_one
from sightplan.model.region import Form, Region, Target
from sightplan.queries import Check, Choose, Detect, Generate, Locate, YesNo, yes_no_queries
from sightplan.vlm.api import make_backend

pytest.importorskip('openai')
pytest.importorskip('xllamacpp')

from fake_openai import FakeServer
from real_servers import RealServer, llama_cpp
from tiny_gguf import TinyGguf, make_tiny_gguf

pytestmark = pytest.mark.slow
RED, BLUE = (220, 20, 20), (20, 20, 220)
SLOTS = 3
SMALL = ['--world-option', 'width=160', '--world-option', 'height=120']
SCHEMA = {'type': 'object', 'required': ['action', 'sure'], 'additionalProperties': False,
          'properties': {'action': {'enum': ['move', 'stop']}, 'sure': {'type': 'boolean'}}}


@pytest.fixture(scope='module')
def files(tmp_path_factory: pytest.TempPathFactory) -> TinyGguf:
    return make_tiny_gguf(tmp_path_factory.mktemp('gguf'))


@pytest.fixture(scope='module')
def server(files: TinyGguf, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    log = tmp_path_factory.mktemp('log') / 'llama.log'
    with llama_cpp(log, files.text, files.projector, slots=SLOTS) as started:
        yield started


@pytest.fixture(scope='module')
def text_server(files: TinyGguf, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    """The same model without its vision tower: it reads text alone."""
    with llama_cpp(tmp_path_factory.mktemp('log') / 'text.log', files.text, slots=1) as started:
        yield started


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Make a backend for a server; keyword arguments are settings."""
    made = []

    def call(server: RealServer, **values: Any) -> Any:
        made.append(make_backend('openai', {
            'model': 'tiny', 'base_url': server.url, 'retries': 2, 'backoff_s': 0.1, **values}))
        return made[-1]
    yield call
    for backend in made:
        backend.close()


def picture(colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    return np.full((112, 140, 3), colour, np.uint8)


def questions(count: int, shown: Any = RED, prompt: GroundingPrompt = BARE) -> list[YesNo]:
    seen = Observation(text=shown) if isinstance(shown, str) else Observation(picture(shown))
    return yes_no_queries(seen, tuple(
        Question(Atom('p', (str(i),)), f'Is the block {["red", "blue", "green"][i % 3]} number '
                                       f'{i}?') for i in range(count)), prompt)


def command(server: RealServer, *more: str) -> list[str]:
    options = {'model': 'tiny', 'base_url': server.url, 'backoff_s': '0.2'}
    return ['--backend', 'openai', *(word for key, value in options.items()
                                     for word in ('--backend-option', f'{key}={value}')), *more]


def items(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / 'episodes.jsonl').read_text().splitlines()]


# Queries.


def test_answers_have_the_probabilities_that_the_server_reports(
        make: Any, server: RealServer) -> None:
    backend = make(server)
    backend.check_pictures()
    asked = questions(7)
    replies = ask_all(backend, asked)
    assert not backend.pictures_lost
    for reply in replies:
        assert reply.text.strip().lower() in ('yes', 'no')
        assert 0 < reply.p_yes < 1 and 0 < reply.p_no < 1 and reply.p_yes + reply.p_no <= 1
    assert len({round(reply.p_yes, 6) for reply in replies}) == 7, 'each has its own'
    [other] = ask_all(backend, questions(1, BLUE))
    assert abs(other.p_yes - replies[0].p_yes) > .01, 'the picture counts'
    assert backend.usage.requests == 10 and backend.usage.prompt_tokens > 8 * 25


def test_a_probability_is_the_sum_over_all_spellings(make: Any, server: RealServer) -> None:
    settings = {'extra_body': '{"cache_prompt": false}', 'concurrency': 1}
    with FakeServer() as fake:
        ask_all(make(fake, **settings), questions(1))
    [reply] = ask_all(make(server, **settings), questions(1))
    _, raw = server.post('/v1/chat/completions', fake.bodies[0])
    tops = raw['choices'][0]['logprobs']['content'][0]['top_logprobs']
    for word, found in (('yes', reply.p_yes), ('no', reply.p_no)):
        spellings = [math.exp(top['logprob']) for top in tops
                     if top['token'].strip().lower() == word]
        assert len(spellings) > 1 and found == pytest.approx(math.fsum(spellings), rel=1e-4)


def test_free_text_and_text_by_a_schema(make: Any, server: RealServer) -> None:
    backend = make(server)
    free = ask_one(backend, Generate('Reply with one word.', ('Look:', picture(RED), 'Well?'), 8))
    assert free.text.strip().lower() in ('yes', 'no') and not free.truncated
    bound = ask_one(backend, Generate('', ('What comes next?',), 64, json_schema=SCHEMA))
    said = json.loads(bound.text)
    assert said['action'] in ('move', 'stop') and isinstance(said['sure'], bool)
    cut = ask_one(backend, Generate('', ('What comes next?',), 2, json_schema=SCHEMA))
    assert cut.truncated


def test_places_and_things_come_in_the_form_of_their_schema(
        make: Any, server: RealServer) -> None:
    backend = make(server)
    image = picture(RED)
    place = ask_one(backend, Locate(image, Target('the red block'), Form.POINT))
    assert isinstance(json.loads(place.text), dict) and len(place.regions) == 1
    things = ask_one(backend, Detect(image))
    assert things.text
    check = ask_one(backend, Check(image, Target('the red block'),
                                   Region(Form.BOX, ((.2, .2), (.6, .6)))))
    assert check.text.strip().lower() in ('yes', 'no') and 0 < check.p_yes < 1


def test_a_choice_has_the_probabilities_of_all_letters(make: Any, server: RealServer) -> None:
    choice = ask_one(make(server), Choose(('Which is better?', picture(BLUE)), ('left', 'right')))
    assert choice.chosen in (0, 1) and math.fsum(choice.probabilities) == pytest.approx(1)
    assert choice.probabilities[choice.chosen] >= .5


def test_a_model_that_reads_text_alone_answers_about_texts_and_refuses_pictures(
        make: Any, text_server: RealServer) -> None:
    backend = make(text_server)
    [reply] = ask_all(backend, questions(1, 'Row 1: 3 1 2'))
    assert reply.text.lower() in ('yes', 'no') and reply.p_yes is not None
    with pytest.raises(BackendError, match='image input is not supported'):
        ask_all(make(text_server), questions(3))


def test_a_prompt_that_is_too_long_is_refused_with_the_reason(
        make: Any, server: RealServer) -> None:
    with pytest.raises(BackendError, match='exceeds the available context size'):
        ask_all(make(server), questions(1, 'x ' * 9000))


# The server's state.


def test_requests_at_a_time_are_the_slots_of_the_server(
        make: Any, server: RealServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level('INFO'):
        ask_all(make(server), questions(4))
    assert f'{SLOTS} requests at a time (it has {SLOTS} slots)' in caplog.text


def test_answers_without_the_cache_are_the_same_every_time(
        make: Any, server: RealServer) -> None:
    backend = make(server, extra_body='{"cache_prompt": false}', concurrency=1)
    first = ask_all(backend, questions(6))
    ask_all(make(server), questions(5, BLUE))  # another prompt in the cache
    again = ask_all(backend, list(reversed(questions(6))))
    assert [reply.p_yes for reply in first] == [reply.p_yes for reply in reversed(again)]


def test_answers_with_the_cache_are_nearly_the_same(make: Any, server: RealServer) -> None:
    plain = ask_all(make(server, extra_body='{"cache_prompt": false}'), questions(6))
    warm = make(server)
    for _ in range(2):
        for one, other in zip(plain, ask_all(warm, questions(6)), strict=True):
            assert other.p_yes == pytest.approx(one.p_yes, abs=.02)


def test_a_request_that_is_given_up_frees_its_slot(make: Any, server: RealServer) -> None:
    backend = make(server, extra_body='{"ignore_eos": true}')
    with pytest.raises(DeadlineError):
        ask_one(backend, Generate('', ('Go on and on.',), 3500), .3)
    until = time.monotonic() + 60
    while any(slot['is_processing'] for slot in server.get('/slots')):
        assert time.monotonic() < until, 'the server works for nobody'
        time.sleep(.02)


def test_a_cap_ends_a_run_of_questions_and_keeps_what_was_paid_for(
        make: Any, server: RealServer) -> None:
    backend = make(server, max_tokens_total=700)
    with pytest.raises(SpendingCapError, match='max_tokens_total = 700') as caught:
        ask_all(backend, questions(60))
    spent = backend.usage.prompt_tokens + backend.usage.completion_tokens
    assert 500 < spent < 900
    kept = [reply for reply in caught.value.partial if reply is not None]
    assert len(kept) == backend.usage.requests and all(reply.p_yes for reply in kept)


def test_a_server_that_is_killed_and_comes_back_loses_no_answer(
        make: Any, files: TinyGguf, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with llama_cpp(tmp_path / 'log', files.text, files.projector, slots=2) as server:
        backend = make(server, retries=12, backoff_s=.3)
        ask_all(backend, questions(2))

        def restart() -> None:
            server.kill()
            server.start()
        killer = threading.Thread(target=restart)
        killer.start()
        replies = ask_all(backend, questions(40))
        killer.join()
        assert 'the server is out of order' in caplog.text
        assert [reply.text.lower() in ('yes', 'no') for reply in replies] == [True] * 40


# Commands.


def test_a_run_is_recorded_repeated_and_told_on_the_console(
        server: RealServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'run'
    run = ['run', '--split', 'simple', '--episodes', '2', *SMALL]
    assert cli.main([*run, '--method', 'ground', '--record', '--out', str(out),
                     *command(server)]) == 0
    said = capsys.readouterr()
    assert 'ended by' in said.out and 'no_plan 2' in said.out, said.out
    assert 'usage' in said.out and 'done already' not in said.err
    assert cli.main([*run, '--method', 'ground', '--out', str(tmp_path / 'again'), '--backend',
                     'replay', '--backend-option', f'path={out}']) == 0
    first, again = items(out), items(tmp_path / 'again')
    assert len(first) == 2 and [one['predicates'] for one in first] == [
        one['predicates'] for one in again]


def test_a_run_whose_server_dies_is_an_error_and_goes_on_when_it_is_back(
        files: TinyGguf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'run'
    with llama_cpp(tmp_path / 'log', files.text, files.projector) as server:
        args = ['run', '--split', 'simple', '--episodes', '2', *SMALL, '--out', str(out),
                *command(server, '--backend-option', 'retries=1')]

        def kill() -> None:
            while not (out / 'episodes.jsonl').exists() or not items(out):
                time.sleep(.01)
            server.kill()
        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        assert cli.main(args) == 1
        killer.join()
        kept = [one for one in items(out) if not one.get('error')]
        said = capsys.readouterr()
        assert 'check that it runs' in said.out + said.err
        server.start()
        assert cli.main([*args, '--retry-errors']) == 0
        after = {one['problem']: one for one in items(out)}
        assert len(after) == 2 and not any(one.get('error') for one in after.values())
        assert all(after[one['problem']] == one for one in kept), 'what was done stays'


def test_boards_are_read_as_text(text_server: RealServer, tmp_path: Path) -> None:
    out = tmp_path / 'run'
    assert cli.main(['run', '--domain', 'sliding', '--split', 'tiles', '--episodes', '1',
                     '--world-option', 'view=text', '--max-actions', '1', '--out', str(out),
                     *command(text_server)]) == 0
    assert len(items(out)) == 1


def test_ask_and_locate_answer_about_a_picture_file(
        server: RealServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image
    path = tmp_path / 'table.png'
    Image.fromarray(picture(RED)).save(path)
    assert cli.main(['ask', str(path), '--question', 'Is the red block here?', '--json',
                     *command(server)]) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 'es' in json.dumps(said) or 'no' in json.dumps(said).lower()
    assert cli.main(['ask', str(path), '--domain', 'blocksworld', '--objects',
                     'red:block,c1:column,c2:column', *command(server)]) == 0
    assert cli.main(['locate', str(path), 'the red block', '--max-askings', '2',
                     *command(server)]) == 0
