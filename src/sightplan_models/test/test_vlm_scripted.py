"""The backend ``scripted``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import TWO_BLOCKS, MemoryWorld, SearchPlanner
from sightplan.model import (
    Atom,
    BackendError,
    Form,
    InputError,
    Observation,
    Question,
    Target,
    Usage,
)
from sightplan.model.query import ask_all, ask_one, can_ask
from sightplan.queries import Answer, Generate, yes_no_queries
from sightplan.queries.detect import Detect
from sightplan.queries.locate import Locate, LocateReply
from sightplan.runs import RunSettings, run
from sightplan.vlm.api import backend_class, make_backend


@pytest.fixture
def scripted(tmp_path: Path) -> Any:
    def make(text: str, name: str = 'replies.yaml') -> Any:
        (tmp_path / name).write_text(text)
        return make_backend('scripted', {'script': str(tmp_path / name)})
    return make


def said(backend: Any, times: int = 1) -> list[str]:
    return [ask_one(backend, Generate('', ('?',))).text for _ in range(times)]


def asked(backend: Any, *texts: str) -> list[Answer]:
    return list(ask_all(backend, yes_no_queries(Observation(), tuple(Question(Atom('p'),
            text) for text in texts))))


def test_a_list_is_used_in_order_and_anew_in_each_episode(scripted: Any) -> None:
    backend = scripted('[one, "two", {plan: [{action: a, parameters: {block: R}}]}]')
    assert said(backend, 3) == ['one', 'two',
                                '{"plan": [{"action": "a", "parameters": {"block": "R"}}]}']
    with pytest.raises(BackendError, match=r'all 3 replies.*repeat: last'):
        said(backend)
    backend.start_episode('d/s/p#0')
    assert said(backend) == ['one']
    assert backend.usage == Usage(4)
    assert backend.name.startswith('scripted(replies.yaml@')


def test_the_last_reply_may_be_repeated(scripted: Any) -> None:
    assert said(scripted('{replies: [a, b], repeat: last}'), 4) == ['a', 'b', 'b', 'b']


def test_episodes_find_their_lists_by_id_problem_or_default(scripted: Any) -> None:
    backend = scripted('''
        replies:
          blocksworld/simple/problem_1#1: [the trial]
          problem_1: [the problem]
          default: [the rest]''')
    for episode, text in (('blocksworld/simple/problem_1#1', 'the trial'),
                          ('blocksworld/simple/problem_1#0', 'the problem'),
                          ('blocksworld/hard/problem_1#2', 'the problem'),
                          ('blocksworld/simple/problem_2#0', 'the rest')):
        backend.start_episode(episode)
        assert said(backend) == [text]
    backend = scripted('{replies: {problem_1: [x]}}')
    backend.start_episode('d/s/other#0')
    with pytest.raises(BackendError, match='no list for episode d/s/other#0'):
        said(backend)


def test_answers_by_question_or_default(scripted: Any) -> None:
    backend = scripted('''
        answers:
          'Is it?': yes
          'Is it red?': {text: Surely not., p_yes: 0, p_no: 0.75}
          default: No''')
    assert asked(backend, 'Is it?', 'Is it red?', 'What?') == [
        Answer('yes'), Answer('Surely not.', 0.0, 0.75), Answer('no')]
    assert backend.usage == Usage(3)
    backend = scripted('{"answers": {"Is it?": "Yes"}}', 'replies.json')
    assert asked(backend, 'Is it?') == [Answer('Yes')]
    with pytest.raises(BackendError, match=r"no entry 'What\?'.*default"):
        asked(backend, 'What?')
    with pytest.raises(BackendError, match='no list'):
        said(scripted('{answers: {default: x}, replies: {}}'))


@pytest.mark.parametrize(('text', 'reason'), [
    ('{}', 'must be a list of replies, or a mapping of replies, repeat'), ('3', 'the content = 3'),
    ('{reply: [a]}', 'reply is unknown'), ('{replies: {a: b}}', "replies.a = 'b'.* array"),
    ('{replies: {p: [a, 3]}}', r'replies\.p\.1 = 3: must be a text'),
    ('{replies: [2020-01-01]}', 'plain texts'), ('{replies: [{a: 2020-01-01}]}', 'plain texts'),
    ('{answers: {q: {p_yes: 1}}}', 'answers.q.text is missing'),
    ('{answers: {q: {text: a, p_yes: 2}}}', 'p_yes = 2'),
    ('{kinds: {count: [3]}}', 'must be a text'),
    ('{replies: [a], repeat: first}', "repeat = 'first': .*'error' or 'last'")])
def test_bad_files_are_named(scripted: Any, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as caught:
        scripted(text)
    assert 'replies.yaml' in str(caught.value)


def test_the_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='script is missing'):
        make_backend('scripted')
    assert can_ask(backend_class('scripted'), Generate)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60) | st.text('{}[]:,-\'" \nrepliesanswers', max_size=60))
def test_any_file_is_read_or_refused(tmp_path_factory: Any, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / 'any.yaml'
    path.write_text(text, 'utf-8')
    try:
        backend = make_backend('scripted', {'script': str(path)})
    except InputError:
        return
    assert backend.name


def test_a_run_by_the_script(tmp_path: Path) -> None:
    problems = tmp_path / 'problems'
    problems.mkdir()
    (problems / 'two.pddl').write_text(TWO_BLOCKS)
    (tmp_path / 's.yaml').write_text('answers: {default: perhaps}')
    summary = run(RunSettings(problems=str(problems), backend='scripted', out=str(tmp_path / 'o'),
                              backend_options={'script': str(tmp_path / 's.yaml')}),
                  world=MemoryWorld(), planner=SearchPlanner())
    assert summary['scored'] == 1 and summary['solved'] == 0
    assert summary['unparsed'] == summary['questions'] > 0


def located(backend: Any, target: str, attempt: int = 0, form: Form = Form.POINT) -> LocateReply:
    image = np.zeros((480, 640, 3), np.uint8)
    reply: LocateReply = ask_one(backend, Locate(image, Target(target, form), attempt=attempt))
    return reply


PLACES = '''
locate:
  the mug: '[(160, 240)]'
  the pan: ['[(160, 240)]', {bbox_2d: [0, 0, 320, 240]}, 'I do not see it.']
  default: '[]'
coordinates: pixel_xy
'''


def test_places_are_found_by_target_and_attempt_and_read_as_declared(scripted: Any) -> None:
    backend = scripted(PLACES)
    assert located(backend, 'the mug').regions[0].points == ((0.25, 0.5),)
    assert located(backend, 'the pan', 2).unread
    assert located(backend, 'the pan', 0).regions[0].points == ((0.25, 0.5),)
    assert located(backend, 'the pan', 1, Form.BOX).regions[0].points == ((0, 0), (0.5, 0.5))
    assert located(backend, 'the unicorn') == LocateReply(text='[]')
    assert backend.usage == Usage(5)
    with pytest.raises(BackendError, match=r"locate\['the pan'\] has 3 replies, and attempt 3"):
        located(backend, 'the pan', 3)
    backend = scripted(PLACES + 'repeat: last')
    assert located(backend, 'the mug', 7).regions and located(backend, 'the pan', 7).unread


def test_resized_pixels_need_a_size(scripted: Any) -> None:
    text = "{locate: {default: '[(161, 238)]'}, coordinates: resized_pixel_xy"
    with pytest.raises(InputError, match='resized is missing'):
        scripted(text + '}')
    assert located(scripted(text + ', resized: [644, 476]}'), 'x').regions[0].points == (
        (0.25, 0.5),)


@pytest.mark.parametrize(('text', 'reason'), [
    ('locate: 3', 'locate = 3'), ('locate: {a: 3}', r'locate\.a\.0 = 3: must be a text'),
    ('locate: {a: [[0.1, 0.2], 0.3]}', 'must be a text'),
    ('{locate: {}, coordinates: unit}', "coordinates = 'unit': .*'unit_xy'"),
    ('{locate: {}, coordinates: []}', 'coordinates = '),
    ('{locate: {}, resized: [1]}', 'resized.1 is missing'),
    ('{locate: {}, resized: [0, 3]}', 'resized.0 = 0: .*greater than 0'),
    ('{locate: {}, resized: [true, 3]}', 'resized.0 = True')])
def test_a_wrong_file_of_places(scripted: Any, text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        scripted(text)


def test_no_place_for_a_target(scripted: Any) -> None:
    with pytest.raises(BackendError, match="no entry 'the mug'; add it, or an entry 'default'"):
        located(scripted('{locate: {a: "[]"}}'), 'the mug')
    with pytest.raises(BackendError, match='has 0 replies'):
        located(scripted('{locate: {default: []}, repeat: last}'), 'the mug')


def test_all_things_are_listed_in_turn_and_anew_in_each_episode(scripted: Any) -> None:
    request = Detect(np.zeros((480, 640, 3), np.uint8))
    backend = scripted("""
detect:
  - [{label: red mug, box: [64, 48, 128, 96]}, {label: 'top drawer, open', box: [0, 0, 320, 240]}]
  - 'I see nothing that I could name.'
coordinates: pixel_xy
""")
    for episode in 'ab':
        backend.start_episode(episode)
        mug, drawer = ask_one(backend, request).detections
        assert (mug.category, mug.colour, drawer.category, drawer.opened) == (
            'mug', 'red', 'drawer:top', 1.0)
        assert mug.region.points == ((0.1, 0.1), (0.2, 0.2))
        assert ask_one(backend, request).unread
    with pytest.raises(BackendError, match="all 2 replies of list 'default' of detect are used"):
        ask_one(backend, request)
