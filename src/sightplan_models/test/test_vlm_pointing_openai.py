"""The backend ``openai`` points: what is sent, structured output, and how replies are read."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fake_openai import FakeServer, Reply, chat, error
from sightplan.model import BackendError, DeadlineError, Form, InputError, Target
from sightplan.model.query import ask_one, can_ask
from sightplan.queries.detect import Detect
from sightplan.queries.locate import Locate, LocateReply
from sightplan.vlm.api import make_backend

pytest.importorskip('openai')

IMAGE = np.full((480, 640, 3), 120, np.uint8)
UNIT = chat('{"explanation": "So.", "point": {"x": 0.25, "y": 0.5}}')
SCHEMA_MESSAGES = (
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
    'extra fields not permitted: response_format', 'Grammar error: unknown node type',
    'guided decoding is switched off', 'structured output is not available')


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('OPENAI_BASE_URL', 'OPENAI_API_KEY', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY',
                 'all_proxy'):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make() -> Iterator[Callable[..., Any]]:
    """Make a backend for a server; keyword arguments are settings."""
    made = []

    def call(server: FakeServer, **values: Any) -> Any:
        backend = make_backend('openai', {
            'model': 'm', 'retries': 0, 'base_url': server.url, 'api_key_env': '', **values})
        made.append(backend)
        return backend
    yield call
    for backend in made:
        backend.close()


def find(form: Form = Form.POINT, image: Any = IMAGE, **more: Any) -> Locate:
    return Locate(image, Target('the red mug', form), **more)


def said(body: dict[str, Any]) -> str:
    return str(body['messages'][-1]['content'][-1]['text'])


def sent_picture(body: dict[str, Any]) -> Any:
    from PIL import Image

    url = body['messages'][-1]['content'][0]['image_url']['url']
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(url.partition(',')[2]))))


def test_a_point_by_a_schema(make: Any) -> None:
    with FakeServer(lambda body, number: UNIT) as server:
        backend = make(server)
        reply = ask_one(backend, find())
        [body] = server.bodies
    assert can_ask(backend, Locate)
    assert (reply.regions[0].points, reply.unread) == (((0.25, 0.5),), '')
    assert reply.text.startswith('{"explanation"') and reply.probability is None
    assert body['response_format']['type'] == 'json_schema'
    schema = body['response_format']['json_schema']
    assert schema['strict'] is True and schema['schema']['required'] == ['explanation', 'point']
    assert 'the red mug' in said(body) and (sent_picture(body) == IMAGE).all()
    assert body['messages'][0]['role'] == 'system' and body['max_tokens'] == 512
    assert 'logprobs' not in body and body['temperature'] == 0


@pytest.mark.parametrize('message', SCHEMA_MESSAGES)
def test_a_server_without_structured_output_is_asked_without(make: Any, message: str) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return error(400, message) if 'response_format' in body else UNIT

    with FakeServer(behave) as server:
        backend = make(server)
        for _ in range(2):
            assert ask_one(backend, find()).regions[0].points == ((0.25, 0.5),)
        assert ['response_format' in body for body in server.bodies] == [True, False, False]


def test_structured_output_may_be_demanded_or_left_out(make: Any) -> None:
    def behave(body: dict[str, Any], number: int) -> Reply:
        return error(400, 'no response_format') if 'response_format' in body else UNIT

    with FakeServer(behave) as server:
        with pytest.raises(BackendError, match='set structured=auto'):
            ask_one(make(server, structured='on'), find())
        assert ask_one(make(server, structured='off'), find()).regions
        assert 'response_format' not in server.bodies[-1]


def test_other_refusals_are_not_blamed_on_the_schema(make: Any) -> None:
    with FakeServer(lambda body, number: error(400, 'the picture is too large')) as server:
        with pytest.raises(BackendError, match='picture is too large'):
            ask_one(make(server), find())
        assert len(server.bodies) == 1


@pytest.mark.parametrize(('options', 'text'), [
    ({'pointing': 'json_permille_yx'}, '```json\n[{"point": [500, 250], "label": "mug"}]\n```'),
    ({'pointing': 'json_permille'}, '[{"point_2d": [250, 500]}]'),
    ({'pointing': 'json_box_resized'}, '[{"point_2d": [161, 238]}]'),
    ({'pointing': 'json_box_resized'}, '[{"bbox_2d": [151, 228, 171, 248]}]'),
    ({'pointing': 'json_box_resized', 'resize_multiple': 32}, '[{"point_2d": [160, 240]}]'),
    ({'pointing': 'json_box_resized', 'max_pixels': 80_000}, '[{"point_2d": [77, 112]}]'),
    ({'pointing': 'xml_percent'}, '<point x="25" y="50" alt="mug">mug</point>'),
    ({'pointing': 'xml_percent', 'coordinates': 'permille_xy'},
     '<points coords="1 1 250 500">mug</points>'),
    ({'pointing': 'tuples_unit'}, '[(0.25, 0.5)]'), ({'pointing': 'list_unit'}, '[0.25, 0.5]'),
    ({'pointing': 'schema_pixel'}, '{"explanation": "", "point": {"x": 160, "y": 240}}'),
    ({'coordinates': 'pixel_xy'}, '{"explanation": "", "point": {"x": 160, "y": 240}}')])
def test_one_place_in_the_words_of_each_family(make: Any, options: Any, text: str) -> None:
    with FakeServer(lambda body, number: chat(text)) as server:
        reply = ask_one(make(server, **options), find())
    assert reply.unread == '' and reply.regions[0].points == (pytest.approx((0.25, 0.5)),)


def test_each_form_has_its_schema_and_its_regions(make: Any) -> None:
    place = {'x': 0.25, 'y': 0.5}
    values = {'point': place, 'points': [place], 'trajectory': [place, {'x': 1, 'y': 0}],
              'box': {'min_x': 0.1, 'min_y': 0.2, 'max_x': 0.3, 'max_y': 0.4}}

    def behave(body: dict[str, Any], number: int) -> Reply:
        wanted = body['response_format']['json_schema']['schema']['required']
        return chat(json.dumps({name: values.get(name, '') for name in wanted}))

    with FakeServer(behave) as server:
        backend = make(server)
        for form in Form:
            [region] = ask_one(backend, find(form)).regions
            assert region.form is (Form.POINT if form is Form.POINTS else form)


def test_each_attempt_has_its_wording_and_seed(make: Any) -> None:
    with FakeServer(lambda body, number: UNIT) as server:
        backend = make(server, temperature=0.5, seed=7)
        for attempt in range(10):
            ask_one(backend, find(attempt=attempt))
        ask_one(backend, find(attempt=0))
        assert len({said(body) for body in server.bodies}) == 10
        assert [body['seed'] for body in server.bodies] == [*range(7, 17), 7]
        assert server.raw[0] == server.raw[-1]


def test_scales_are_drawn_where_they_are_declared(make: Any) -> None:
    with FakeServer(lambda body, number: chat('[]')) as server:
        for options in ({'pointing': 'schema_pixel'}, {'axis_ticks': 'on'},
                        {'pointing': 'schema_pixel', 'axis_ticks': 'off'}):
            ask_one(make(server, **options), find())
        drawn = [bool((sent_picture(body) != IMAGE).any()) for body in server.bodies]
    assert drawn == [True, True, False]


@pytest.mark.parametrize(('reply', 'reason'), [
    (chat('{"explanation": "x", "point": {"x": 160, "y": 240}}'), 'pixel_xy would fit'),
    (chat('{"explanation": "', finish='length'), 'cut off after 512 tokens'),
    (chat('', finish='content_filter'), 'no place'), (chat(None, refusal='No.'), 'no place')])
def test_what_cannot_be_read_has_its_reason(make: Any, reply: Reply, reason: str) -> None:
    with FakeServer(lambda body, number: reply) as server:
        found = ask_one(make(server), find())
    assert found.regions == () and reason in found.unread


def test_not_there(make: Any) -> None:
    with FakeServer(lambda body, number: chat('{"explanation": "", "point": null}')) as server:
        assert ask_one(make(server), find()) == LocateReply(
            text='{"explanation": "", "point": null}')


def test_limits(make: Any) -> None:
    with FakeServer(lambda body, number: Reply(hang=True)) as server:
        with pytest.raises(DeadlineError, match='a prompt took longer'):
            ask_one(make(server), find(), 0.2)
        server.release()


def test_wrong_settings(make: Any) -> None:
    with FakeServer() as server:
        with pytest.raises(InputError, match='no pointing family'):
            make(server, pointing='guess')
        with pytest.raises(InputError, match='min_pixels = 500 is above max_pixels = 400'):
            make(server, min_pixels=500, max_pixels=400)
        narrow = np.zeros((1, 300, 3), np.uint8)
        with pytest.raises(BackendError, match='too narrow'):
            ask_one(make(server, pointing='json_box_resized'), find(image=narrow))
        assert not server.bodies


def test_all_things_in_the_declared_convention(make: Any) -> None:
    listed = chat('[{"label": "blue bowl", "box": [200, 100, 400, 300]}]')
    with FakeServer(lambda body, number: listed) as server:
        finder = make(server, pointing='json_permille_yx')
        replies = [ask_one(finder, Detect(IMAGE, attempt=attempt)) for attempt in range(2)]
        first, second = server.bodies
    [bowl] = replies[0].detections
    assert (bowl.category, bowl.colour, bowl.probability) == ('bowl', 'blue', 1.0)
    assert bowl.region.points == ((0.1, 0.2), (0.3, 0.4)), 'y comes first'
    assert '[top, left, bottom, right] in thousandths' in said(first) != said(second)
    assert (sent_picture(first) == IMAGE).all() and 'response_format' not in first


def test_a_list_that_was_cut_off_is_not_used(make: Any) -> None:
    cut = chat('[{"label": "blue bowl", "box": [0.2, 0.1, 0.4, 0.3]}]', finish='length')
    with FakeServer(lambda body, number: cut) as server:
        reply = ask_one(make(server), Detect(IMAGE))
    assert not reply.detections and 'cut off after 4096 tokens' in reply.unread
