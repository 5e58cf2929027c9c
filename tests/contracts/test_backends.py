"""What every backend must offer; a new entry point of backends is found and checked by itself.

Those that need something to answer with (a server, a model, a file) get a small one in ``made``.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightplan.model import (
    Atom,
    Form,
    GroundingPrompt,
    InputError,
    Observation,
    Question,
    Region,
    Target,
    TargetMasks,
    Usage,
    check_settings,
    settings_fields,
)
from sightplan.model.query import Query, Traits, ask_all, ask_one, can_ask
from sightplan.queries import Answer, Check, Generate, TextReply, YesNo, yes_no_queries
from sightplan.queries.choose import Choose
from sightplan.queries.locate import Locate, LocateReply
from sightplan.queries.pointing import FOLDER
from sightplan.vlm import recording
from sightplan.vlm.api import (
    BACKENDS,
    backend_class,
    backend_names,
    backend_settings,
    backends_that_answer,
    check_backend,
    make_backend,
)

sys.path.append(str(Path(__file__).parents[2] / 'src/sightplan/test'))

NAMES = backend_names()
LOCATORS = tuple(name for name in NAMES if can_ask(backend_class(name), Locate))
ANSWERING = tuple(name for name in NAMES if can_ask(backend_class(name), YesNo))
PROMPT = GroundingPrompt('contract', 'You see blocks.', 'Look:', '', 'Question: {question}',
                         max_tokens=8)
ATOMS = tuple(Atom('on', (block, below)) for block in ('red', 'green', 'blue')
              for below in ('yellow', 'purple'))
TRUE = frozenset(ATOMS[::2])
QUESTIONS = tuple(
    Question(atom, f'Is the {atom.args[0]} block on top of the {atom.args[1]} block?')
    for atom in ATOMS)
with Image.open(Path(__file__).parents[2] / 'docs' / 'images' / 'blocks.png') as drawn:
    IMAGE = np.asarray(drawn.convert('RGB').resize((128, 96)))  # embedded knows such pictures
TEXT = Generate('You plan.', ('Look:', IMAGE, 'What next?'), 8)


TARGET = 'the red block'
THING = np.zeros(IMAGE.shape[:2], bool)
THING[20:60, 40:80] = True
OTHER = THING[:, ::-1].copy() & ~THING
PLACE = Region(Form.POINT, ((0.4, 0.4),))


class Truth:
    """Always the same state, and the same places."""

    def state(self, stamp_ns: int) -> frozenset[Atom]:
        return TRUE

    def masks(self, target: str) -> TargetMasks:
        return TargetMasks(THING, (OTHER,))

    def better(self, first: str, second: str) -> int:
        return (first < second) - (second < first)


CHOICE = Choose(('Look:', IMAGE, 'Which one, Left or Right?'), ('Left', 'Right'), ('a', 'b'))


def find(form: Form = Form.POINT, attempt: int = 0, **more: Any) -> Locate:
    return Locate(IMAGE, Target(TARGET, form), attempt=attempt, **more)


ALL_FORMS = tuple(find(form, attempt) for form in Form for attempt in (0, 1, 5))


def ask(questions: Any = QUESTIONS) -> list[YesNo]:
    return yes_no_queries(Observation(IMAGE), tuple(questions), PROMPT)


def _scripted(folder: Path) -> dict[str, Any]:
    path = folder / 'script.json'
    path.write_text(json.dumps({
        'replies': ['So.'], 'repeat': 'last',
        'locate': {TARGET: ['[(0.4, 0.4), (0.5, 0.6)]', '[]', 'I do not know.']},
        'answers': {q.text: {'text': 'Yes' if q.atom in TRUE else 'No', 'p_yes': 0.1 * n}
                    for n, q in enumerate(QUESTIONS)} | {'default': 'No'}}))
    return {'script': str(path)}


def _boxes(folder: Path) -> dict[str, Any]:
    path = folder / 'boxes.json'
    path.write_text(json.dumps({'coords': 'unit_xyxy', 'boxes': [[0.1, 0.1, 0.4, 0.4]]}))
    return {'file': str(path)}


def _replay(folder: Path) -> dict[str, Any]:
    path = folder / 'replies.jsonl'
    backend = recording.Recorded(make_backend('scripted', _scripted(folder)), path)
    backend.start_episode('another')
    for question in QUESTIONS:
        ask_all(backend, ask([question]))
    ask_one(backend, TEXT)
    ask_one(backend, CHOICE)
    for request in ALL_FORMS:
        ask_one(backend, request)
    ask_one(backend, Check(IMAGE, Target(TARGET), PLACE))
    backend.close()
    return {'path': str(path)}


def _transformers(folder: Path) -> dict[str, Any]:
    pytest.importorskip('torch')
    pytest.importorskip('transformers')
    from tiny_models import make_tiny_vlm
    family = folder / 'short.yaml'
    family.write_text(re.sub('max_tokens: .*', 'max_tokens: 24',
                             (FOLDER / 'list_unit.yaml').read_text()))
    return {'model': str(make_tiny_vlm(folder)), 'device': 'cpu', 'threads': 1,
            'pointing': str(family)}


def _embedded(folder: Path) -> dict[str, Any]:
    pytest.importorskip('torch')
    pytest.importorskip('transformers')
    return {}


SMALL: dict[str, Callable[[Path], dict[str, Any]]] = {
    'scripted': _scripted, 'replay': _replay, 'transformers': _transformers,
    'embedded': _embedded, 'noisy_oracle': lambda folder: {},
    'noisy_reader': lambda folder: {'table': 'perfect'},
    'noisy_locator': lambda folder: {},
    'noisy_planner': lambda folder: {},
    'simulated': lambda folder: {'error': 0.0},
    'noisy_critic': lambda folder: {}, 'boxes': _boxes}


@pytest.fixture(scope='module')
def server() -> Iterator[Any]:
    pytest.importorskip('openai')
    from fake_openai import FakeServer, Reply, chat

    def behave(body: dict[str, Any], number: int) -> Reply:
        if 'questions' in body:
            return Reply({'usage': {'input_tokens': 50, 'output_tokens': 1}, 'answers': [
                {'type': 'choice', 'choice': 'Right', 'confidence': 0.5, 'probabilities': [
                    {'value': 'Left', 'probability': 0.25},
                    {'value': 'Right', 'probability': 0.75}]} if 'choices' in one else
                {'type': 'predicate',
                 'probability': 0.1 + 0.01 * (sum(one['instructions'].encode()) % 80)}
                for one in body['questions']]})
        if 'response_format' in body:
            place = {'x': 0.4, 'y': 0.4}
            places = {'point': place, 'points': [place], 'trajectory': [place, place],
                      'box': {'min_x': 0.3, 'min_y': 0.2, 'max_x': 0.6, 'max_y': 0.6}}
            schema = body['response_format']['json_schema']['schema']
            return chat(json.dumps({name: places.get(name, '') for name in schema['required']}))
        asked = body['messages'][-1]['content'][-1]['text']
        if 'one letter' in asked:
            return chat('B', logprobs=[('B', {'B': 0.6, ' A': 0.2, 'C': 0.1})])
        fraction = 0.1 + 0.01 * (sum(asked.encode()) % 80)
        return chat('Yes', logprobs=[('Yes', {'Yes': fraction, 'No': 1 - fraction})])
    with FakeServer(behave) as found:
        yield found


@pytest.fixture(scope='module')
def made(tmp_path_factory: Any, request: Any) -> Iterator[Callable[[str], Any]]:
    """Make a backend by name; each is made once."""
    found: dict[str, Any] = {}

    def call(name: str) -> Any:
        if name not in found:
            if name in ('openai', 'decisions'):
                options = {'model': 'm', 'base_url': request.getfixturevalue('server').url,
                           'api_key_env': ''}
            else:
                assert name in SMALL, f'tell {Path(__file__).name} how to make a small {name}'
                options = SMALL[name](tmp_path_factory.mktemp(name))
            found[name] = make_backend(name, options, Truth())
        return found[name]
    yield call
    for backend in found.values():
        getattr(backend, 'close', lambda: None)()


every_backend = pytest.mark.parametrize('name', NAMES)
every_answering = pytest.mark.parametrize('name', ANSWERING)
every_locator = pytest.mark.parametrize('name', LOCATORS)


def same(one: list[Answer], other: list[Answer]) -> bool:
    """Whether replies are the same, but for the rounding of differently shaped batches."""
    return len(one) == len(other) and all(
        a.text == b.text and all(x == (y if y is None else pytest.approx(y, rel=1e-3, abs=1e-9))
                                 for x, y in ((a.p_yes, b.p_yes), (a.p_no, b.p_no)))
        for a, b in zip(one, other, strict=True))


def test_there_are_backends() -> None:
    assert {'embedded', 'openai', 'replay', 'scripted', 'transformers'} <= set(ANSWERING)
    assert {'noisy_locator', 'openai', 'replay', 'scripted', 'transformers'} <= set(LOCATORS)


@every_backend
def test_every_setting_is_described_and_its_default_is_good(name: str) -> None:
    cls = BACKENDS.module(name).Settings
    assert cls.__dataclass_params__.frozen
    described = settings_fields(cls)
    assert [field.name for field in described] == [f.name for f in dataclasses.fields(cls)]
    for field in described:
        assert len(field.description) > 9, field.name
        assert field.type in (str, int, float, bool), field.name
    check_settings(cls(), name)
    json.dumps(dataclasses.asdict(cls()))


@every_backend
def test_wrong_settings_are_named(name: str) -> None:
    with pytest.raises(InputError, match="no setting 'wrong'"):
        backend_settings(name, {'wrong': 1})
    for field in settings_fields(BACKENDS.module(name).Settings):
        wrong: list[Any] = [None, [], 3 if field.type in (str, bool) else 'three']
        if field.low is not None:
            wrong.append(field.type(field.low - 1))
        if field.high is not None:
            wrong.append(field.type(field.high + 1))
        if field.type is float:
            wrong.append(float('nan'))
        if field.choices is not None:
            wrong.append('none of them')
        for value in wrong:
            with pytest.raises(InputError, match=field.name):
                backend_settings(name, {field.name: value})


@every_backend
def test_a_class_says_what_its_backend_can_and_needs(name: str) -> None:
    cls = BACKENDS.module(name).Backend
    accepts, traits = cls.accepts, inspect.getattr_static(cls, 'traits')
    assert isinstance(traits, Traits) and isinstance(accepts, frozenset) and accepts
    assert all(issubclass(kind, Query) for kind in accepts)
    assert inspect.getdoc(cls) and BACKENDS.module(name).__doc__
    if traits.truth:
        with pytest.raises(InputError, match='ground truth'):
            make_backend(name)


@every_backend
def test_the_model_has_a_name_and_usage_grows(made: Any, name: str) -> None:
    backend = made(name)
    assert isinstance(backend.name, str) and backend.name.strip() == backend.name != ''
    assert backend.name.isprintable()
    before = backend.usage
    if name in ANSWERING:
        ask_all(backend, ask())
    elif name in LOCATORS:
        ask_one(backend, find())
    elif can_ask(backend, Choose):
        ask_one(backend, CHOICE)
    after = backend.usage
    assert (before is None) is (after is None)
    if before is not None:
        assert isinstance(after, Usage)
        for field in ('requests', 'prompt_tokens', 'completion_tokens'):
            assert getattr(after, field) >= getattr(before, field) >= 0
        assert after.requests > before.requests


@every_answering
def test_replies_come_in_the_order_of_the_questions(made: Any, name: str) -> None:
    backend = made(name)
    replies = ask_all(backend, ask())
    assert all(isinstance(reply, Answer) for reply in replies)
    assert len({(reply.text, reply.p_yes) for reply in replies}) > 1, 'a test that cannot fail'
    assert same(ask_all(backend, ask(QUESTIONS[::-1])), replies[::-1])
    assert same([ask_all(backend, ask([question]))[0] for question in QUESTIONS], replies)
    assert same(ask_all(backend, ask(QUESTIONS[:2] * 2)), replies[:2] * 2)
    assert ask_all(backend, ask([])) == []
    for reply in replies:
        for fraction in (reply.p_yes, reply.p_no):
            assert fraction is None or 0.0 <= fraction <= 1.0


@every_backend
def test_free_text_or_the_names_of_those_that_can(made: Any, name: str) -> None:
    backend = made(name)
    assert can_ask(backend, Generate) is can_ask(backend_class(name), Generate)
    if can_ask(backend, Generate):
        reply = ask_one(backend, TEXT)
        assert isinstance(reply, TextReply) and isinstance(reply.text, str)
        assert isinstance(reply.truncated, bool)
        return
    with pytest.raises(InputError, match="no queries of kind 'text'"):
        ask_one(backend, TEXT)
    with pytest.raises(InputError, match='writes no text') as caught:
        check_backend(name, Generate, backend)
    able = str(caught.value).rpartition(':')[2].replace(' ', '').split(',')
    assert able == backends_that_answer(Generate)
    assert name not in able


@every_answering
def test_several_threads_at_once(made: Any, name: str) -> None:
    backend = made(name)
    batches = [QUESTIONS[start:start + size] for size in (1, 3) for start in range(4)]
    alone = [ask_all(backend, ask(batch)) for batch in batches]
    before = backend.usage
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: ask_all(backend, ask(batch)), batches))
    assert all(map(same, together, alone))
    if before is not None:
        requests = len(batches) if name == 'decisions' else sum(map(len, batches))
        assert (backend.usage - before).requests == requests


@pytest.mark.parametrize('name', sorted({*NAMES} - {*ANSWERING}))
def test_what_answers_no_questions_names_those_that_do(made: Any, name: str) -> None:
    with pytest.raises(InputError, match='yes/no') as caught:
        check_backend(name, YesNo, made(name))
    with pytest.raises(InputError, match="no queries of kind 'yes_no'"):
        ask_all(made(name), ask())
    assert str(caught.value).rpartition(': ')[2].split(', ') == list(ANSWERING)


@pytest.mark.parametrize('name', NAMES)
def test_what_chooses_names_an_option_or_says_why_not(made: Any, name: str) -> None:
    backend = made(name)
    if not can_ask(backend_class(name), Choose):
        with pytest.raises(InputError, match="no queries of kind 'choice'"):
            ask_one(backend, CHOICE)
        return
    if name == 'embedded':  # it reads no sentences, and knows properties of paths only
        with pytest.raises(InputError, match='named properties'):
            ask_one(backend, CHOICE)
        return
    reply = ask_one(backend, CHOICE)
    assert (reply.chosen is None) is bool(reply.unread)
    assert reply.chosen in (None, 0, 1)
    if name in ('decisions', 'openai', 'transformers', 'noisy_critic'):
        assert reply.probabilities is not None
    if name in ('decisions', 'openai'):
        assert reply.probabilities == pytest.approx((0.25, 0.75))
    if reply.probabilities is not None:
        assert len(reply.probabilities) == 2
        assert sum(reply.probabilities) == pytest.approx(1)
        assert reply.chosen == int(np.argmax(reply.probabilities))


@pytest.mark.parametrize('name', sorted({*NAMES} - {*LOCATORS}))
def test_what_cannot_point_is_refused_with_those_that_can(made: Any, name: str) -> None:
    with pytest.raises(InputError, match='cannot point') as caught:
        check_backend(name, Locate, made(name))
    assert str(caught.value).rpartition(': ')[2].split(', ') == list(LOCATORS)


def located(backend: Any, request: Locate) -> LocateReply | None:
    """The reply; None if the backend says that it does not know this form; all know points."""
    form = request.target.form
    try:
        return ask_one(backend, request)
    except InputError as error:
        if form is Form.POINT or str(form) not in str(error):
            raise
        return None


@every_locator
def test_places_are_regions_of_the_picture_or_have_a_reason(made: Any, name: str) -> None:
    backend = made(name)
    for request in ALL_FORMS:
        reply = located(backend, request)
        if reply is None:
            continue
        assert isinstance(reply, LocateReply) and isinstance(reply.text, str)
        assert not (reply.regions and reply.unread)
        asked = Form.POINT if request.target.form is Form.POINTS else request.target.form
        for region in reply.regions:
            assert region.form is asked
            assert all(0 <= number <= 1 for point in region.points for number in point)
        assert reply.probability is None or 0 <= reply.probability <= 1


@every_locator
def test_askings_have_their_numbers_so_that_their_order_does_not_matter(
        made: Any, name: str) -> None:
    backend = made(name)
    forwards = [located(backend, request) for request in ALL_FORMS]
    assert [located(backend, request) for request in ALL_FORMS[::-1]] == forwards[::-1]


@every_locator
def test_several_threads_point_at_once(made: Any, name: str) -> None:
    backend, before = made(name), made(name).usage
    alone = [ask_one(backend, find(attempt=attempt)) for attempt in (0, 1, 5)]
    once = None if before is None else backend.usage - before
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda attempt: ask_one(backend, find(attempt=attempt)),
                                 (0, 1, 5)))
    assert together == alone
    if before is not None and name != 'replay':  # a recording tells what its model spent
        assert once.requests == 3 and (backend.usage - before).requests == 6


@every_locator
def test_recorded_places_are_replayed(made: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / 'replies.jsonl'
    recorded = recording.Recorded(made(name), path)
    assert can_ask(recorded, Locate)
    asked = [find(attempt=attempt) for attempt in (0, 1, 5)]
    places = [ask_one(recorded, request) for request in asked]
    check = Check(IMAGE, Target(TARGET), PLACE)
    right = ask_one(recorded, check) if can_ask(recorded, Check) else None
    recorded._journal.close()
    again = make_backend('replay', {'path': str(path)})
    assert [ask_one(again, request) for request in asked] == places
    assert right is None or ask_one(again, check) == right


@every_locator
def test_a_place_can_be_checked(made: Any, name: str) -> None:
    if not can_ask(made(name), Check):
        assert name == 'embedded', 'it answers the questions of its domain only'
        return
    reply = ask_one(made(name), Check(IMAGE, Target(TARGET), PLACE))
    assert isinstance(reply, Answer) and reply.text
