"""``sightplan serve``: the application at a real socket, with a model that needs no weights."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import signal
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from sightplan import cli
from sightplan.model import (
    Atom,
    BackendError,
    DeadlineError,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    RefusedError,
    Usage,
)
from sightplan.model.query import (
    NOT_SHOWN,
    Deadline,
    ModelByKind,
    Query,
    Reply,
    answers,
    ask_all,
    ask_one,
)
from sightplan.queries import (
    Answer,
    ChoiceReply,
    Choose,
    Generate,
    TextReply,
    YesNo,
    yes_no_queries,
)
from sightplan.vlm.api import make_backend
from sightplan.vlm.recording import Recorded

pytest.importorskip('openai')
pytest.importorskip('fastapi')
pytest.importorskip('uvicorn')

import uvicorn

from sightplan_models import _serve_app
from sightplan_models import serve as serve_command
from sightplan_models._query_wire import to_wire
from sightplan_models._serve_app import Limits, make_app
from sightplan_models._serve_queue import RequestQueue
from sightplan_models.serve import _listen

PICTURE = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)
DEPTH = np.full((6, 8), 1.5, np.float32)
PROMPT = GroundingPrompt('asked', 'Say yes or no.', 'Picture:', 'Look.', 'Q: {question}')


class Stub(ModelByKind):
    """Answers by what it is shown: pictures, depth and all words count."""

    name = 'stub@1'
    most = 1000

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.usage = Usage()
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    @answers(YesNo, together=True)
    def answer(self, queries: Sequence[YesNo], deadline: Deadline) -> list[Answer]:
        self.reached.set()
        assert self.gate.wait(60)
        self.batches.append(len(queries))
        seen, prompt = queries[0].observation, queries[0].prompt
        if seen.image is None:
            raise InputError('this model needs a picture; show it one')
        if 'break' in queries[0].question.text:
            raise BackendError('the model broke; load it in another precision')
        if 'refuse' in queries[0].question.text:
            raise RefusedError('put a valid key into KEY')
        if len(queries) > self.most:
            raise MemoryError
        self.usage += Usage(len(queries), 10 * len(queries), 0)
        depth = 0.0 if seen.depth_m is None else float(seen.depth_m.mean())
        shown = (int(seen.image.astype(int).sum()), depth, prompt.system, prompt.before_image,
                 prompt.after_image)
        rows = [np.random.default_rng(abs(hash((*shown, prompt.ask(one.question.text)))))
                .dirichlet((1, 1, 1)) for one in queries]
        return [Answer('Maybe' if rest > 0.9 else 'Yes' if yes > no else 'No', yes, no,
                           rest / 2 if prompt.unknown else None)
                for yes, no, rest in rows]

    @answers(Choose)
    def choose(self, query: Choose, deadline: Deadline) -> ChoiceReply:
        if query.options[0] == 'unread':
            return ChoiceReply(text='hm', unread='names no option')
        shares = np.arange(1.0, len(query.options) + 1) / sum(range(1, len(query.options) + 1))
        return ChoiceReply(tuple(map(float, shares)), len(shares) - 1, query.options[-1])

    @answers(Generate)
    def generate(self, query: Generate, deadline: Deadline) -> TextReply:
        return TextReply(' '.join(part for part in query.parts if isinstance(part, str)))


@contextlib.contextmanager
def serving(model: Any, limits: Limits | None = None, **options: Any) -> Iterator[str]:
    """A server in a thread; yields its address."""
    listening = _listen('127.0.0.1', 0)
    queue = RequestQueue(model, **options)
    server = uvicorn.Server(uvicorn.Config(make_app(
        queue, (model.name, 'stub'), limits or Limits()), log_level='warning', lifespan='off'))
    thread = threading.Thread(target=server.run, kwargs={'sockets': [listening]}, daemon=True)
    thread.start()
    try:
        yield f'http://127.0.0.1:{listening.getsockname()[1]}/v1'
    finally:
        server.should_exit = True
        thread.join(60)
        queue.close()
        listening.close()


def questions(number: int, word: str = 'table') -> list[Question]:
    return [Question(Atom('on', (f'b{one}', word)), f'Is b{one} on the {word}?')
            for one in range(number)]


def client(url: str, wire: str = 'openai', **options: Any) -> Any:
    return make_backend('decisions', {'model': 'stub', 'base_url': url, 'wire': wire,
                                      'retries': 0, **options})


def post(url: str, body: Any, path: str = 'decisions', **headers: str) -> tuple[int, Any, Any]:
    """Status, JSON body and headers of the reply to a request."""
    host = url.split('/')[2]
    link = http.client.HTTPConnection(host, timeout=60)
    try:
        link.request('POST', f'/v1/{path}', json.dumps(body), {
            'content-type': 'application/json',
            **{name.replace('_', '-'): value for name, value in headers.items()}})
        reply = link.getresponse()
        return reply.status, json.loads(reply.read()), dict(reply.headers)
    finally:
        link.close()


def get(url: str, path: str, **headers: str) -> tuple[int, str]:
    link = http.client.HTTPConnection(url.split('/')[2], timeout=60)
    try:
        link.request('GET', path, headers=headers)
        reply = link.getresponse()
        return reply.status, reply.read().decode()
    finally:
        link.close()


ASKED: dict[str, Any] = {'model': 'stub', 'input': 'A text.', 'questions': [
    {'type': 'choice', 'instructions': 'Which?', 'choices': [{'value': 'a'}, {'value': True}]}]}


@pytest.mark.parametrize('wire', ['openai', 'sightplan'])
@pytest.mark.parametrize('prompt', [PROMPT, GroundingPrompt('bare'),
                                    GroundingPrompt('three', 'Say.', unknown=True)])
def test_replies_are_those_of_the_model_in_process(wire: str, prompt: GroundingPrompt) -> None:
    model = Stub()
    asked = yes_no_queries(Observation(PICTURE), questions(30), prompt)
    wanted = ask_all(model, asked)
    with serving(model) as url:
        served = client(url, wire)
        assert ask_all(served, asked) == wanted
        assert served.usage.prompt_tokens == 300
    assert model.batches == [30, 30]


def test_depth_and_other_kinds_go_over_the_wire_of_sightplan() -> None:
    model = Stub()
    asked = yes_no_queries(Observation(PICTURE, depth_m=DEPTH), questions(3))
    choose = Choose((PICTURE, 'Which?'), ('left', 'right'), subjects=('secret', 'other'))
    with serving(model) as url:
        served = client(url, 'sightplan')
        assert ask_all(served, asked) == ask_all(model, asked)
        assert ask_all(client(url), asked) != ask_all(model, asked)  # OpenAI's has no depth
        assert ask_one(served, Generate('', ('write', PICTURE), 9)).text == 'write'
        assert ask_one(served, choose) == ask_one(client(url), choose) == ChoiceReply(
            (1 / 3, 2 / 3), 1, 'right')
        unread = Choose((PICTURE, 'Which?'), ('unread', 'right'))
        assert ask_one(client(url), unread).unread == 'names no option'


def test_any_client_of_openai_gets_typed_answers() -> None:
    import openai

    with serving(Stub()) as url, openai.OpenAI(base_url=url, api_key='none') as asking:
        found = asking.decisions.create(model='stub', input='A text.', questions=[
            {'type': 'choice', 'name': 'which', 'instructions': 'Which?',
             'choices': [{'value': 'a', 'description': 'first'}, {'value': True}]},
            {'type': 'score', 'instructions': 'How?',
             'levels': [{'label': 'low'}, {'label': 'high'}]},
            {'type': 'choice', 'instructions': 'Which?',
             'choices': [{'value': 'unread'}, {'value': 'b'}]}])
        choice, score, refusal = found.answers
        assert choice.type == 'choice' and choice.choice is True and choice.name == 'which'
        assert score.type == 'score' and score.score == pytest.approx(2 / 3)
        assert [one.probability for one in score.probabilities] == [1 / 3, 2 / 3]
        assert refusal.type == 'refusal'
        assert asking.models.list().data[0].id == 'stub@1'


@pytest.mark.parametrize(('change', 'words'), [
    ({'questions': []}, 'list of 1 to 400'),
    ({'questions': ASKED['questions'] * 401}, 'list of 1 to 400'),
    ({'questions': [{'type': 'guess', 'instructions': 'x'}]}, 'questions.0: type must be'),
    ({'questions': [{'type': 'choice', 'instructions': 'x', 'choices': [
        {'value': str(one)} for one in range(17)]}]}, '17 options'),
    ({'questions': [{'type': 'choice', 'instructions': 'x', 'choices': [
        {'value': 'true'}, {'value': True}]}]}, 'different names'),
    ({'questions': [{'type': 'predicate', 'instructions': 7}]}, 'questions.0.instructions'),
    ({'input': []}, 'input: must be'),
    ({'input': [{'role': 'assistant', 'content': 'x'}]}, 'input.0: only messages'),
    ({'input': [{'role': 'user', 'content': [
        {'type': 'input_image', 'image_url': 'http://localhost/x.png'}]}]}, 'fetches nothing'),
    ({'input': [{'role': 'user', 'content': [
        {'type': 'input_image', 'image_url': 'data:image/png;base64,AAAA'}]}]}, 'cannot be read'),
    ({'questions': [{'type': 'choice', 'instructions': 'x', 'choices': [
        {'value': word} for word in ('Yes', 'yes', 'no', 'unknown')]}]}, 'different names'),
    ({'model': 'other'}, "model 'other' is not here"),
    ({'questions': [{**ASKED['questions'][0], 'choices': 7}]}, 'questions.0: type must be'),
    ({'questions': [{'type': 'predicate', 'instructions': 'x'}]}, 'needs a picture'),
])
def test_bad_requests_are_told_what_is_wrong(change: Any, words: str) -> None:
    with serving(Stub()) as url:
        status, body, _ = post(url, {**ASKED, **change})
        assert 400 <= status < 500
        assert words in body['error']['message']
        assert post(url, ASKED)[0] == 200  # and the server goes on


def test_unusual_questions_are_answered() -> None:
    seen = [{'role': 'user', 'content': [{'type': 'input_image', 'image_url': data_url('PNG')}]}]
    words = ('yes', 'no', 'unknown')
    with serving(Stub()) as url:
        for question in (
                {'type': 'score', 'instructions': 'x', 'levels': [
                    {'label': word} for word in words]},
                {'type': 'choice', 'instructions': 'x', 'choices': [
                    {'value': word} for word in words]},
                {**ASKED['questions'][0], 'levels': None, 'name': None}):
            status, body, _ = post(url, {**ASKED, 'input': seen, 'questions': [question]})
            assert status == 200
            [answer] = body['answers']
            assert answer['type'] == question['type']
            assert sum(one['probability'] for one in answer['probabilities']) == pytest.approx(1)


def data_url(kind: str) -> str:
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(PICTURE).save(buffer, kind)
    return f'data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}'


@pytest.mark.parametrize(('urls', 'words'), [
    ([data_url('EPS')], 'send PNG or JPEG'),  # which Pillow would hand to another program
    ([data_url('PNG')] * 3, 'more than 100 pixels'),
])
def test_pictures_have_limits(urls: list[str], words: str,
                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_serve_app, '_MOST_PIXELS', 100)
    with serving(Stub()) as url:
        status, body, _ = post(url, {**ASKED, 'input': [{'role': 'user', 'content': [
            {'type': 'input_image', 'image_url': one} for one in urls]}]})
        assert status == 400 and words in body['error']['message']


def test_others_are_answered_while_a_picture_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    decode, began, go_on = _serve_app._picture, threading.Event(), threading.Event()

    def slow(*arguments: Any) -> Any:
        began.set()
        assert go_on.wait(60)
        return decode(*arguments)
    monkeypatch.setattr(_serve_app, '_picture', slow)
    found: list[int] = []
    asked = {**ASKED, 'input': [{'role': 'user', 'content': [
        {'type': 'input_image', 'image_url': data_url('PNG')}]}]}
    with serving(Stub()) as url:
        asking = threading.Thread(target=lambda: found.append(post(url, asked)[0]))
        asking.start()
        try:
            assert began.wait(60)
            # another thread, so that a server that answers nobody meanwhile fails the test
            other = threading.Thread(target=lambda: found.append(get(url, '/health')[0]))
            other.start()
            other.join(20)
            assert found == [200]
        finally:
            go_on.set()
            asking.join()
    assert found == [200, 200]


def test_an_array_that_says_it_is_huge_is_refused() -> None:
    body = _wire(1)
    [name] = body['arrays']
    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000000,), }\n"
    body['arrays'][name] = base64.b64encode(
        b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header).decode()
    with serving(Stub()) as url:
        status, reply, _ = post(url, {'model': 'stub', **body}, 'queries')
        assert status == 400 and f'arrays: {name}' in reply['error']['message']


def test_errors_of_the_model_are_the_same_as_in_process() -> None:
    with serving(Stub()) as url:
        for wire in ('openai', 'sightplan'):
            with pytest.raises(BackendError, match='another precision'):
                ask_all(client(url, wire), yes_no_queries(
                    Observation(PICTURE), [Question(Atom('x'), 'break')]))
            with pytest.raises(RefusedError, match='valid key'):
                ask_all(client(url, wire), yes_no_queries(
                    Observation(PICTURE), [Question(Atom('x'), 'refuse')]))
            with pytest.raises(InputError, match='needs a picture'):
                ask_all(client(url, wire), yes_no_queries(Observation(text='x'), questions(1)))


def test_requests_about_one_picture_share_a_pass() -> None:
    model = Stub()
    model.gate.clear()
    found: dict[int, Any] = {}
    with serving(model) as url:
        def ask(number: int) -> None:
            seen = Observation(PICTURE.copy() if number else PICTURE // 2)
            asked = yes_no_queries(seen, questions(3, f'shelf{number}'))
            found[number] = ask_all(client(url, 'sightplan'), asked), asked
        threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
        threads[0].start()
        assert model.reached.wait(60)
        for thread in threads[1:]:
            thread.start()
        wait_until(lambda: '"waiting":4' in get(url, '/health')[1])
        model.gate.set()
        for thread in threads:
            thread.join(60)
        assert sorted(model.batches) == [3, 12]
        metrics = get(url, '/metrics')[1]
    assert 'sightplan_serve_joined_total 4\n' in metrics
    assert 'sightplan_serve_requests_total 5\n' in metrics
    assert 'sightplan_serve_request_seconds_count 5\n' in metrics
    for replies, asked in found.values():
        assert replies == ask_all(model, asked)


def test_what_is_too_much_together_is_answered_one_by_one(
        caplog: pytest.LogCaptureFixture) -> None:
    model = Stub()
    model.gate.clear()
    model.most = 3
    asked = yes_no_queries(Observation(PICTURE), questions(3))
    queue = RequestQueue(model)
    first, *others = (queue.submit(asked, None) for _ in range(3))
    assert model.reached.wait(60)
    gone = queue.submit(asked, None)
    queue.drop(gone)
    queue.drop(first)  # while the model is at it
    model.gate.set()
    for queued in others:
        assert len(queued.done.result(60)[0]) == 3
    queue.close()
    assert (queue.figures.requests, queue.figures.gone, queue.figures.failed) == (2, 2, 0)


def wait_until(true: Any) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_full_queue_a_deadline_and_a_client_that_goes_away() -> None:
    model = Stub()
    model.gate.clear()
    body = {'model': 'stub', **_wire(1)}
    with serving(model, most_waiting=1) as url:
        threads = [threading.Thread(target=post, args=(url, {'model': 'stub', **_wire(one)},
                                                       'queries')) for one in (1, 2)]
        threads[0].start()
        assert model.reached.wait(60)
        threads[1].start()
        wait_until(lambda: '"waiting":1' in get(url, '/health')[1])
        status, reply, headers = post(url, body, 'queries')
        assert status == 429 and int(headers['retry-after']) >= 1
        assert reply['error']['code'] == 'queue_full'
        model.gate.set()
        for thread in threads:
            thread.join(60)
        model.gate.clear()
        status, reply, headers = post(url, body, 'queries', Sightplan_Timeout='0.3')
        assert (status, headers['x-should-retry']) == (504, 'false')
        assert post(url, body, 'queries', Sightplan_Timeout='soon')[0] == 400
        with pytest.raises(DeadlineError):
            ask_all(client(url, 'sightplan'), yes_no_queries(Observation(PICTURE), questions(1)),
                    Deadline(0.3))
        wait_until(lambda: 'sightplan_serve_waiting 0\n' in get(url, '/metrics')[1])
        gone = http.client.HTTPConnection(url.split('/')[2])
        gone.request('POST', '/v1/queries', json.dumps({**body, **_wire(7)}), {
            'content-type': 'application/json'})
        wait_until(lambda: 'sightplan_serve_waiting 1\n' in get(url, '/metrics')[1])
        gone.close()
        wait_until(lambda: 'sightplan_serve_waiting 0\n' in get(url, '/metrics')[1])
        model.gate.set()
        asked = len(model.batches)
        assert post(url, ASKED)[0] == 200
        assert len(model.batches) <= asked + 1  # the one that was under way


def _wire(seed: int) -> dict[str, Any]:
    return to_wire(yes_no_queries(Observation(PICTURE // (seed + 1)), questions(1)))


def test_between_passes_nobody_waits_any_more() -> None:
    model = Stub()
    model.gate.clear()
    with serving(model, most_per_pass=2) as url:
        asked = yes_no_queries(Observation(PICTURE), questions(10))
        assert post(url, {'model': 'stub', **to_wire(asked)}, 'queries',
                    Sightplan_Timeout='0.5')[0] == 504
        model.gate.set()
        assert post(url, ASKED)[0] == 200
        assert sum(model.batches) <= 2
        assert len(ask_all(client(url), asked)) == 10


@dataclass(frozen=True, slots=True, eq=False)
class Outline(Reply):
    mask: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Outlined(Query[Outline]):
    """A kind of query of another package, whose replies are masks."""

    image: NDArray[np.uint8]
    what: str
    truth: str = field(default='', metadata=NOT_SHOWN)
    kind: ClassVar[str] = 'outline'
    reply_type: ClassVar[type[Reply]] = Outline


class Outliner(Stub):
    @answers(Outlined)
    def outline(self, query: Outlined, deadline: Deadline) -> Outline:
        assert not query.truth, 'no model is shown it'
        return Outline(query.image[:, :, 0] > 100)


def test_masks_come_back_from_a_server_and_from_a_recording(tmp_path: Path) -> None:
    asked, file = [Outlined(PICTURE, 'cup', truth='on a,b')], tmp_path / 'replies.jsonl'
    with (serving(Outliner()) as url,
          contextlib.closing(Recorded(client(url, 'sightplan'), file)) as model):
        [served] = ask_all(model, asked)
    replaying = make_backend('replay', {'path': str(file)})
    for reply in (served, *ask_all(replaying, asked)):
        assert np.array_equal(reply.mask, PICTURE[:, :, 0] > 100)


def test_a_field_that_cannot_stay_behind_is_named() -> None:
    @dataclass(frozen=True, eq=False)
    class Careless(Query[Outline]):
        image: NDArray[np.uint8]
        truth: str = field(metadata=NOT_SHOWN)
        kind: ClassVar[str] = 'careless'
        reply_type: ClassVar[type[Reply]] = Outline
    with pytest.raises(InputError, match='no model is shown its field truth; give it a default'):
        to_wire([Careless(PICTURE, 'on a,b')])


def test_only_who_has_the_token_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    token = 'a-token-of-this-test-0123456789'
    monkeypatch.setenv('SERVE_TEST_TOKEN', token)
    with serving(Stub(), Limits(token=token)) as url:
        assert post(url, ASKED)[0] == 401
        assert post(url, ASKED, Authorization=f'Bearer {token}x')[0] == 401
        assert get(url, '/v1/models')[0] == get(url, '/metrics')[0] == 401
        assert get(url, '/health')[0] == 200
        assert post(url, ASKED, Authorization=f'Bearer {token}')[0] == 200
        asked = yes_no_queries(Observation(PICTURE), questions(2))
        assert len(ask_all(client(url, api_key_env='SERVE_TEST_TOKEN'), asked)) == 2
        with pytest.raises(BackendError, match='name the environment variable'):
            ask_all(client(url, api_key_env=''), asked)
    with serving(Stub(), Limits(body_mb=0.001)) as url:
        assert post(url, ASKED, Host='evil.example')[0] == 403
        assert post(url, ASKED, Host='127.0.0.1.evil.example:80')[0] == 403
        for host in ('localhost:80', 'localhost', '127.0.0.2:80', '[::1]', '[::1]:80'):
            assert post(url, ASKED, Host=host)[0] == 200, host
        assert post(url, ASKED, content_type='text/plain')[0] == 415
        assert post(url, {**ASKED, 'input': 'x' * 2000})[0] == 413


def test_other_machines_need_a_token(monkeypatch: pytest.MonkeyPatch,
                                     capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv('SIGHTPLAN_SERVE_TOKEN', raising=False)
    assert cli.main(['serve', '--host', '0.0.0.0']) == 2
    assert 'put a token into the environment variable' in capsys.readouterr().err
    monkeypatch.setenv('SIGHTPLAN_SERVE_TOKEN', 'short')
    assert cli.main(['serve']) == 2
    assert 'short' not in capsys.readouterr().err.replace('16 plain', '')
    monkeypatch.delenv('SIGHTPLAN_SERVE_TOKEN')
    assert cli.main(['serve', '--backend', 'noisy_oracle']) == 2
    assert 'serve a model that looks at pictures' in capsys.readouterr().err


def test_a_signal_ends_the_loading_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv('SIGHTPLAN_SERVE_TOKEN', raising=False)
    monkeypatch.setattr('sightplan.vlm.api.make_backend',
                        lambda *_: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(serve_command, '_run', lambda *_: {})
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever others left
    try:
        with pytest.raises(KeyboardInterrupt):
            serve_command.serve(serve_command.ServeArguments(backend='embedded', port=0))
    finally:
        signal.signal(signal.SIGINT, before)
