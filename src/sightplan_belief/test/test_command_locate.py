"""Where things are in a picture of one's own: command, Python call, and bad input."""

import importlib.metadata
import json
import logging
import re
import sys
import types
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from sightplan.cli import main
from sightplan.model import BackendError, Form, InputError, Region, Target, Usage, param
from sightplan.model.depth_files import read_depth
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.query import Deadline, ModelByKind, Traits, answers
from sightplan.model.whereabouts import UNLIKE
from sightplan.queries import Answer, Check, Generate, Locate, YesNo
from sightplan.queries.locate import LocateReply
from sightplan.vlm.wrapping import Prompted
from sightplan_belief import BackendLocator, Found, locate, locate_picture
from sightplan_belief.pointing import PointerRates, Reliability, propose_pieces

WIDTH, HEIGHT = 320, 240
MUG = Region(Form.POINT, ((0.25, 0.5),), 'mug')
PAN = Region(Form.BOX, ((0.5, 0.25), (0.75, 1.0)))
PATH = Region(Form.TRACE, ((0.1, 0.1), (0.2, 0.8), (0.9, 0.9)))
PLACES = {
    'the red mug': LocateReply((MUG,), 'at 25 %', 0.95, exists=1.0),
    'the blue mug': LocateReply((MUG,), '', 0.95, exists=0.2),
    'the green mug': LocateReply((MUG,), '', 0.99),
    'the unicorn': LocateReply((MUG,), '', 0.99, unknown=('unicorn',), exists=0.99),
    'the pan': LocateReply((PAN,), '', 0.4, exists=1.0),
    'both cups': LocateReply((MUG, Region(Form.POINT, ((0.5, 0.9),), probability=0.3)), '', 0.6),
    'over there': LocateReply((PATH,), ''),
    'the cat': LocateReply((), 'there is no cat'),
    'nonsense': LocateReply((), 'x = 640', unread='x = 640 is not within 0 and 1'),
    'the mug again': LocateReply((MUG,)),
    'too sure': LocateReply((MUG,), '', 1.5),
    'the gryphon': LocateReply(unknown=('gryphon',)),
    'the cup abroad': LocateReply((MUG,), '', 0.99, exists=0.99, foreign=0.97),
}
OTHERWISE = {Target('the pan'): Region(Form.POINT, (PAN.centre,)),
             Target('the red mug', Form.TRACE): Region(Form.TRACE, ((0.1, 0.1), (0.25, 0.5)))}


@dataclass(frozen=True)
class Settings:
    eyes: int = param(2, 'How many')


class Mute(ModelByKind):
    """A backend that cannot point."""

    traits = Traits(pixels=False)
    name = 'finger-1'
    usage = Usage()
    requests: ClassVar[list] = []
    deadlines: ClassVar[list] = []
    made: ClassVar[list] = []

    def __init__(self, settings):
        self.made.append(settings)


class Finger(Mute):
    """A backend that points by the text of the target."""


    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        self.requests.append(request)
        self.deadlines.append(deadline)
        reply = PLACES[request.target.text]
        other = OTHERWISE.get(request.target)
        return reply if other is None else replace(reply, regions=(other,))


class Oracle(Finger):
    traits = Traits('masks')


class Perhaps(Finger):
    """One that can point if its settings say so."""

    def __init__(self, settings):
        super().__init__(settings)
        self.accepts = Finger.accepts if settings.eyes > 0 else frozenset()


class Broken(Mute):
    """A stranger's backend with a defect, in its answers or already when it is made."""

    def __init__(self, settings):
        if settings.eyes == 0:
            raise ZeroDivisionError('no eyes')

    @answers(Locate)
    def locate(self, request, deadline: Deadline):
        raise KeyError('heatmap')

    @answers(YesNo)
    def answer(self, request, deadline: Deadline):
        raise SystemExit


@pytest.fixture(autouse=True)
def backends(monkeypatch):
    """Entry points as if a package had these backends."""
    points = []
    for kind in (Finger, Oracle, Mute, Perhaps, Broken):
        name = kind.__name__.lower()
        module = types.ModuleType(f'{name}_of_a_test')
        module.Settings, module.Backend = Settings, kind
        monkeypatch.setitem(sys.modules, module.__name__, module)
        points.append(importlib.metadata.EntryPoint(name, module.__name__, 'sightplan.backends'))
    real = importlib.metadata.entry_points
    monkeypatch.setattr(importlib.metadata, 'entry_points', lambda **wanted: [
        *(point for point in points if wanted == {'group': point.group}), *real(**wanted)])
    Finger.requests.clear()
    Finger.deadlines.clear()
    Finger.made.clear()


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / 'desk.png'
    pixels = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def run(picture, *arguments):
    return main(['locate', str(picture), *arguments, '--backend', 'finger',
                 '--max-askings', '1'])


def test_a_place_is_printed_in_pixels_and_unit_coordinates(picture, capsys):
    assert run(picture, 'the red mug', 'the pan', 'the cat') == 0
    out = capsys.readouterr().out
    assert 'finger-1' in out
    mug, pan, cat = (next(line for line in out.splitlines() if line.startswith(f'{n} '))
                     for n in (1, 2, 3))
    assert mug.split() == ['1', 'the', 'red', 'mug', '80,120', '0.250,0.500', 'here', '0.950',
                           'yes']
    assert pan.split()[3:8] == ['200,150', '0.625,0.625', 'here', '0.400', 'no']
    assert 'the probability is below 0.95' in out
    assert cat.split()[3:] == ['-', '-', 'not', 'here', '-', 'no', 'the', 'model',
                               'offers', 'no', 'probability']
    assert [request.target.form for request in Finger.requests] == [Form.POINT] * 3


def test_all_points_are_shown_where_several_are_asked_for(picture, capsys):
    assert run(picture, 'both cups', '--form', 'points') == 0
    rows = [line.split()[3:] for line in capsys.readouterr().out.splitlines()
            if line.startswith('1 both cups')]
    assert [row[:4] for row in rows] == [['80,120', '0.250,0.500', 'here', '0.600'],
                                         ['160,216', '0.500,0.900', '0.300']]
    assert run(picture, 'both cups') == 0
    assert capsys.readouterr().out.count('both cups') == 1, 'else only the best'


def test_json_says_everything(picture, capsys):
    assert run(picture, 'the red mug', 'over there', '--form', 'trace', '--start', '0.1,0.1',
               '--accept', '0.96', '--json') == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: found[name] for name in ('picture', 'width', 'height', 'model')} == {
        'picture': str(picture), 'width': WIDTH, 'height': HEIGHT, 'model': 'finger-1'}
    mug, path = found['found']
    assert mug == {
        'target': 'the red mug', 'form': 'trace', 'answer': 'here', 'reason': '',
        'present': 1.0, 'probability': 0.95, 'sure': False,
        'doubt': 'the probability is below 0.96', 'unread': '', 'unknown': [],
        'text': 'at 25 %', 'askings': 1,
        'checks': 0,
        'regions': [{'form': 'trace', 'points': [[0.1, 0.1], [0.25, 0.5]],
                     'pixels': [[32, 24], [80, 120]]}]}
    assert path['probability'] is None and not path['sure']
    assert path['regions'][0]['pixels'] == [[32, 24], [64, 192], [288, 216]]
    assert Finger.requests[0].start == (0.1, 0.1)


@pytest.mark.parametrize(('words', 'doubt'), [
    ('the unicorn', "the model does not know 'unicorn'"),
    ('the blue mug', 'the probability is below 0.9'),
    ('the green mug', 'no check confirmed that it is there')])
@pytest.mark.parametrize('most', ['1', '9'])
def test_nothing_is_sure_that_no_check_confirmed_or_whose_words_are_unknown(
        picture, capsys, words, doubt, most):
    Image.fromarray(_desk()).save(picture)
    assert main(['locate', str(picture), words, 'the red mug', '--backend', 'finger', '--accept',
                 '0.9', '--max-askings', most, '--json']) == 0
    shown = capsys.readouterr()
    thing, mug = json.loads(shown.out)['found']
    assert not thing['sure'] and doubt in thing['doubt']
    assert thing['answer'] == ('cannot tell' if 'know' in doubt else 'here')
    assert (doubt in thing['reason']) is ('know' in doubt)
    # A probability beside "cannot tell" would be taken for an answer.
    assert thing['regions']
    for number in (thing['probability'], thing['present'], thing['regions'][0].get('probability')):
        assert number is None or 'know' not in doubt
    assert thing['probability'] is not None or 'know' in doubt
    assert doubt in ' '.join(shown.err.split())
    assert mug['sure'] and mug['doubt'] == ''


@pytest.mark.parametrize('most', ['1', '9'])
def test_a_model_that_does_not_know_the_words_cannot_tell_and_is_asked_once(
        picture, capsys, most):
    Image.fromarray(_desk()).save(picture)
    assert main(['locate', str(picture), 'the gryphon', '--backend', 'finger', '--max-askings',
                 most, '--json']) == 0
    shown = capsys.readouterr()
    assert "cannot tell - no the model does not know 'gryphon'" in ' '.join(shown.err.split())
    assert 'not here' not in shown.err
    thing, = json.loads(shown.out)['found']
    assert (thing['askings'], thing['probability'], thing['sure']) == (1, None, False)
    assert thing['answer'] == 'cannot tell'
    assert thing['reason'] == "the model does not know 'gryphon'"
    assert thing['unknown'] == ['gryphon'] and len(Finger.requests) == 1


@pytest.mark.parametrize('most', ['1', '9'])
def test_of_a_foreign_picture_nothing_is_told_and_it_is_asked_once(picture, tmp_path, capsys,
                                                                   most):
    asked = ['locate', str(picture), 'the cup abroad', '--max-askings', most, '--json']
    record = str(tmp_path / 'said.jsonl')
    assert main([*asked, '--backend', 'finger', '--record', record]) == 0
    first, = json.loads(capsys.readouterr().out)['found']
    assert main([*asked, '--backend', 'replay', '--backend-option', f'path={record}']) == 0
    for thing in (first, *json.loads(capsys.readouterr().out)['found']):
        assert (thing['answer'], thing['reason']) == ('cannot tell', UNLIKE)
        assert (thing['askings'], thing['probability'], thing['sure']) == (1, None, False)
        assert thing['regions'] == []


@pytest.mark.parametrize('most', ['1', '9'])
def test_a_target_that_the_model_fails_on_does_not_cost_the_others(picture, capsys, most):
    Image.fromarray(_desk()).save(picture)
    assert main(['locate', str(picture), 'too sure', 'the red mug', '--backend', 'finger',
                 '--max-askings', most]) == 1
    out = ' '.join(capsys.readouterr().out.split())
    assert 'the model failed: finger-1' in out and '2 the red mug 80,120' in out
    with pytest.raises(BackendError, match='too sure'):
        locate(picture, ['too sure', 'too sure'], backend='finger', max_askings=1)


@pytest.mark.parametrize('most', ['1', '9'])
def test_the_prior_of_being_there_counts(picture, capsys, most):
    Image.fromarray(_desk()).save(picture)
    said = []
    for prior in ('0.99', '0.5'):
        assert main(['locate', str(picture), 'the blue mug', '--backend', 'finger', '--json',
                     '--prior-present', prior, '--max-askings', most]) == 0
        said += json.loads(capsys.readouterr().out)['found']
    assert [thing['answer'] for thing in said] == ['here', 'not here']
    assert said[0]['present'] > 0.9 and said[0]['regions']
    assert said[1]['probability'] == pytest.approx(1 - said[1]['present'])
    assert not said[1]['regions'] and said[1]['reason'] == ''


def test_what_is_likelier_there_than_not_is_never_not_here(picture, capsys):
    Image.fromarray(np.full((HEIGHT, WIDTH, 3), 200, np.uint8)).save(picture)
    answers = []
    for prior in ('0.97', '0.5'):
        assert main(['locate', str(picture), 'the cat', '--backend', 'finger', '--json',
                     '--prior-present', prior, '--max-askings', '2', '--no-checks']) == 0
        thing, = json.loads(capsys.readouterr().out)['found']
        assert not thing['regions']
        answers.append((thing['answer'], thing['reason'], thing['present'] > 0.5))
    assert answers == [('cannot tell', 'it is likelier there than not, but no place is known',
                        True), ('not here', '', False)]


def test_what_was_said_is_recorded_and_replayed(picture, tmp_path, capsys):
    said = tmp_path / 'said.jsonl'
    for options in (['--backend', 'finger', '--record', str(said)],
                    ['--backend', 'replay', '--backend-option', f'path={said}']):
        assert main(['locate', str(picture), 'the red mug', '--max-askings', '1', '--json',
                     *options]) == 0
    first, again = (json.loads(line)['found'] for line in capsys.readouterr().out.splitlines())
    assert first == again and len(Finger.requests) == 1


@pytest.mark.parametrize(('says', 'sure'), [('yes', True), ('no', False), ('mu', False)])
def test_a_model_that_can_check_is_asked_before_anything_is_sure(desk, says, sure):
    class Checking(Finger):
        @answers(Check)
        def check(self, request, deadline: Deadline):
            return Answer(says)
    found, = BackendLocator('finger', Checking(Settings())).locate(
        desk, [Target('the green mug')], PointerSettings(accept=0.9))
    assert found.checks >= 1 and found.sure is sure and bool(found.doubt) is not sure


def test_a_reply_that_cannot_be_read_is_named_and_counts_as_failure(picture, capsys):
    assert run(picture, 'the red mug', 'nonsense') == 1
    out = capsys.readouterr().out
    assert '80,120' in out and 'x = 640 is not within 0 and 1' in out


def test_the_marked_picture_shows_each_place(picture, tmp_path, capsys):
    marked = tmp_path / 'marked.png'
    assert run(picture, 'the red mug', 'the cat', '--out', str(marked)) == 0
    assert f'picture: {marked}' in capsys.readouterr().out
    before, after = (np.asarray(Image.open(path)) for path in (picture, marked))
    assert before.shape == after.shape
    changed = (before != after).any(axis=2)
    assert changed[120 - 18:120 + 18, 80 - 18:80 + 18].mean() > 0.2
    assert not changed[:90].any() and not changed[150:].any(), 'and nothing where nothing is'


def test_depth_camera_and_settings_reach_the_backend(picture, tmp_path):
    depth = np.full((HEIGHT, WIDTH), 0.5, np.float32)
    depth[0, 0] = np.nan
    np.save(tmp_path / 'depth.npy', depth)
    assert run(picture, 'the red mug', '--depth', str(tmp_path / 'depth.npy'),
               '--camera', '50,50,32,24', '--backend-option', 'eyes=3') == 0
    request, = Finger.requests
    np.testing.assert_array_equal(request.image, np.asarray(Image.open(picture)))
    assert request.depth_m.dtype == np.float32
    assert request.depth_m[0, :2].tolist() == [0.0, 0.5], '0 where it is not known'
    assert Finger.made == [Settings(3)]


@pytest.mark.parametrize(('arguments', 'message'), [
    (['none.png', 'mug'], 'none.png: cannot be read'),
    (['text.png', 'mug'], 'text.png: is not a picture'),
    (['desk.png', ' '], 'target 1 is empty; say in words'),
    (['desk.png', 'mug', ''], 'target 2 is empty'),
    (['desk.png', 'mug', '--backend', 'mute'], "backend 'mute' cannot point at things; choose"),
    (['desk.png', 'mug', '--backend', 'oracle'], 'points by the truth'),
    (['desk.png', 'mug', '--backend-option', 'ears=2'], "no setting 'ears'; did you mean 'eyes'?"),
    (['desk.png', 'mug', '--start', '0.5'], "--start '0.5' must have the form X,Y"),
    (['desk.png', 'mug', '--start', '0.5,0.5'], 'only a trace has a start'),
    (['desk.png', 'mug', '--form', 'trace', '--start', '5,0.5'], 'give x and y from 0 to 1'),
    (['desk.png', 'mug', '--camera', '1,2,3'], "'1,2,3' must have the form FX,FY,CX,CY"),
    (['desk.png', 'mug', '--camera', 'a,b,c,d'], 'must have the form'),
    (['desk.png', 'mug', '--camera', '0,5,3,3'], 'fx and fy above 0'),
    (['desk.png', 'mug', '--depth', 'none.npy'], 'none.npy: cannot be read: No such file'),
    (['desk.png', 'mug', '--depth', 'text.png'], 'text.png: is not a picture that can be read'),
    (['desk.png', 'mug', '--depth', 'desk.png'], 'which is no depth image (give a .npy file in'),
    (['desk.png', 'mug', '--depth', 'small.npy'], 'give depth that is aligned with the picture'),
    (['desk.png', 'mug', '--max-askings', '0'], '--max-askings 0 is out of bounds'),
    (['desk.png', 'mug', '--accept', '2'], '--accept 2.0 is out of bounds'),
    (['desk.png', 'mug', '--prior-present', '-1'], '--prior-present -1.0 is out of bounds'),
    (['desk.png', 'the red mug', '--out', 'no/m.png'], 'no/m.png: cannot be written'),
])
def test_what_cannot_be_located_is_named(picture, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(picture.parent)
    (picture.parent / 'text.png').write_text('no picture')
    np.save(picture.parent / 'small.npy', np.ones((4, 6)))
    if '--backend' not in arguments:
        arguments = [*arguments, '--backend', 'finger']
    assert main(['locate', *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ''


@pytest.mark.parametrize('question', [['--question', 'Is it red?'], [
    '--domain', 'blocksworld', '--objects', 'r:block,c1:column']])
def test_ask_names_those_that_answer_questions_for_one_that_points(picture, capsys, question):
    assert main(['ask', str(picture), '--backend', 'finger', *question]) == 2
    assert "'finger' answers no yes/no questions; choose one that can: broken" in (
        capsys.readouterr().err)
    assert not Finger.made


def test_those_that_can_are_named_for_a_backend_that_cannot(picture, capsys):
    assert main(['locate', str(picture), 'mug', '--backend', 'mute']) == 2
    able = capsys.readouterr().err.partition('that can: ')[2].strip().split(', ')
    assert {'finger', 'oracle'} <= set(able) and 'mute' not in able
    assert not Finger.made, 'before its weights are loaded'


@pytest.mark.parametrize(('arguments', 'said'), [
    (('locate', 'the mug'),
     "model finger-1 raised KeyError: 'heatmap' (broken_of_a_test.py, line N) when it was asked"),
    (('ask', '--question', 'Is it red?'),
     'model finger-1 raised SystemExit (broken_of_a_test.py, line N) when it was asked a query '),
    (('locate', 'the mug', '--backend-option', 'eyes=0'),
     "backend 'broken': broken_of_a_test.Broken raised ZeroDivisionError: no eyes")])
def test_an_exception_of_the_model_is_an_error_that_names_both(picture, capsys, caplog, arguments,
                                                               said):
    command, *rest = arguments
    caplog.set_level(logging.INFO)
    assert main([command, str(picture), *rest, '--backend', 'broken']) == 1
    err = capsys.readouterr().err.replace('test_command_locate', 'broken_of_a_test')
    assert said in re.sub(r'line \d+', 'line N', err)
    logged = [record for record in caplog.records if record.exc_info]
    assert [record.levelname for record in logged] == ['INFO'], 'the traceback, with -v'


def test_settings_may_decide_whether_a_backend_can(picture):
    assert locate(picture, ['the pan'], backend='perhaps', max_askings=1)[0].regions
    with pytest.raises(InputError, match="'perhaps' cannot point at things"):
        locate(picture, ['the pan'], backend='perhaps', backend_options={'eyes': 0})


def test_the_same_from_python(picture):
    found = locate(picture, ['the red mug', Target('the pan', Form.BOX)], backend='finger',
                   max_askings=1)
    assert found[0].regions[0].pixels(640, 480) == ((160, 240),)
    assert (found[0].probability, found[0].sure, found[0].model) == (0.95, True, 'finger-1')
    assert [request.target for request in Finger.requests] == [
        Target('the red mug'), Target('the pan', Form.BOX)]
    one = locate(np.asarray(Image.open(picture)), 'the pan', form='box', backend='finger',
                 accept=0.3, max_askings=1)
    assert one == [Found(Target('the pan', Form.BOX), (PAN,), 0.4, True, '', '', 1, 0, 'finger-1',
                         present=1.0)]


def test_wrong_arguments_of_the_python_call(picture):
    with pytest.raises(InputError, match="form 'circle' is not one of point, points, box, trace"):
        locate(picture, ['mug'], form='circle', backend='finger')
    with pytest.raises(InputError, match='Name at least one'):
        locate(picture, [], backend='finger')
    with pytest.raises(InputError, match='uint8 RGB'):
        locate(np.zeros((4, 4), np.uint8), ['mug'], backend='finger')
    assert not Finger.made, 'found before a model is loaded'
    with pytest.raises(InputError, match='backend is a Finger; give the name of one, or pass a'):
        locate(picture, ['mug'], backend=Finger(Settings()))


def test_a_probability_of_a_backend_lies_between_0_and_1(picture):
    with pytest.raises(BackendError, match=r"finger-1 .*'too sure'.*probability is 1.5; give a"):
        locate(picture, ['too sure'], backend='finger', max_askings=1)


@pytest.mark.parametrize('askings', [1, 9])
@pytest.mark.parametrize(('reply', 'message'), [
    (LocateReply((Region(Form.POINT, ((120, 80),)),), '', 0.5),
     r'finger-1 .*regions\[0\] has x = 120; .*divide x by the width and y by the height'),
    (LocateReply((MUG, Region(Form.POINT, ((0.5, -1),)))), r'regions\[1\] has y = -1; '),
    (LocateReply((PAN,)), r'regions\[0\] is a box, but a point was asked for'),
    (LocateReply(((0.5, 0.5),)), r'regions\[0\] is a tuple; give a Region, such as'),
    (LocateReply(MUG), 'regions is a Region; give a tuple'),
    (LocateReply((Region(Form.POINT, ((0.5, 0.5),), '', 1.5),)), 'has a probability that is 1.5'),
    (LocateReply((MUG,), exists=2), 'exists is 2; give a number from 0 to 1'),
    (LocateReply(unknown='unicorn'), "unknown is 'unicorn'; give a tuple of the words that"),
    (LocateReply(unread=True), 'unread is True; give a text'),
    (None, 'with a NoneType; it must be of class LocateReply')])
def test_a_reply_that_breaks_its_contract_is_refused_in_words(picture, monkeypatch, reply,
                                                              message, askings):
    monkeypatch.setitem(PLACES, 'the wrong thing', reply)
    with pytest.raises(BackendError, match=message):
        locate(picture, ['the wrong thing'], backend='finger', max_askings=askings)


def test_numbers_of_numpy_are_as_good_as_others(picture, monkeypatch, capsys):
    half = np.float32(0.5)
    monkeypatch.setitem(PLACES, 'the half', LocateReply(
        (Region(Form.POINT, ((half, np.float64(0.25)),), '', half),), '', half, exists=half))
    assert run(picture, 'the half', '--json') == 0
    found, = json.loads(capsys.readouterr().out)['found']
    assert found['regions'][0]['points'] == [[0.5, 0.25]]
    assert found['probability'] == pytest.approx(0.5 * 0.9), 'it exists with .9'


def test_the_model_that_points_is_named_where_it_is_another(picture, monkeypatch):
    monkeypatch.setattr(Finger, 'part_name', lambda self, kind: 'locator-2', raising=False)
    found, = locate(picture, ['the pan'], backend='finger', max_askings=1)
    assert found.model == 'locator-2'


def test_progress_is_told_after_each_target(picture):
    done = []
    locate(picture, ['the red mug', 'the pan'], backend='finger', max_askings=1,
           progress=done.append)
    assert done == [1, 2]


def test_the_time_left_goes_with_each_request(picture):
    image = np.asarray(Image.open(picture))
    locator = BackendLocator('finger', Finger(Settings()))
    locator.locate(image, [Target('the red mug'), Target('the pan')],
                   PointerSettings(max_askings=1), timeout_s=1000.0)
    first, second = (deadline.timeout_s for deadline in Finger.deadlines)
    assert 0.0 < second < first <= 1000.0


def _desk():
    image = np.full((HEIGHT, WIDTH, 3), 230, np.uint8)
    image[90:150, 50:110] = 200, 0, 0
    image[90:150, 200:260] = 0, 120, 0
    return image


@pytest.fixture
def desk():
    """Two things on a white table: where the red mug is, and elsewhere."""
    return _desk()


def test_a_model_is_asked_until_it_is_sure_or_may_be_asked_no_more(desk):
    mug, pan = locate(desk, ['the red mug', 'the pan'], backend='finger', max_askings=4,
                      accept=0.9)
    assert mug.sure and mug.askings == 1
    assert mug.regions[0].points == MUG.points and mug.probability == mug.regions[0].probability
    assert not pan.sure and pan.askings == 4 and pan.model == 'finger-1'
    assert pan.regions[0].form is Form.POINT, 'a vote for a piece, whatever it was said with'
    assert [request.attempt for request in Finger.requests] == [0, 0, 1, 2, 3]
    more, = locate(desk, ['the red mug'], backend='finger', accept=0.999)
    assert not more.sure and 0.9 < more.probability < 0.999


def test_a_trace_is_asked_for_once_and_taken_at_its_word(desk):
    found, = locate(desk, ['over there'], form='trace', backend='finger')
    assert (found.regions, found.askings, found.probability) == ((PATH,), 1, None)


def test_the_pieces_of_a_picture_are_made_once(desk, monkeypatch):
    made = []
    monkeypatch.setattr(locate_picture, 'propose_pieces',
                        lambda *arguments: made.append(arguments) or propose_pieces(*arguments))
    depth, camera = np.ones((HEIGHT, WIDTH), np.float32), (300.0, 300.0, 160.0, 120.0)
    locate(desk, ['the red mug', 'the pan'], backend='finger', depth=depth, camera=camera)
    (image, given, intrinsics), = made
    assert image is desk and given is depth and intrinsics == camera
    made.clear()
    locate(desk, ['the red mug', 'the pan'], backend='finger', max_askings=1)
    assert not made, 'nobody needs them'


class Careful(Finger):
    """Says itself whether a marked place is right."""

    checked: ClassVar[list] = []

    @answers(Check)
    def check(self, request, deadline: Deadline):
        self.checked.append(request)
        return Answer('no', 0.05, 0.95)


class Chat(Finger):
    """Answers any question."""

    questions: ClassVar[list] = []

    @answers(YesNo, together=True)
    def answer(self, request, deadline: Deadline):
        self.questions += [query.question for query in request]
        return [Answer('no', 0.05, 0.95)]

    @answers(Generate)
    def generate(self, request, deadline: Deadline):
        raise AssertionError


class Writer(Prompted):
    """One that checks by a question about a marked picture."""

    questions = Chat.questions

    def __init__(self, settings):
        super().__init__(Chat(settings))


def test_who_can_tell_is_asked_whether_a_marked_place_is_right(desk):
    """One that answers the questions of its domain only is not asked."""
    for kind, asked in ((Careful, Careful.checked), (Writer, Writer.questions), (Finger, [])):
        backend = BackendLocator('finger', kind(Settings()))
        found, = backend.locate(desk, [Target('the pan')])
        assert found.checks == len(asked) and bool(asked) is (kind is not Finger)
        assert found.checks + found.askings <= PointerSettings().max_askings
        before = len(asked)
        found, = backend.locate(desk, [Target('the pan')], PointerSettings(checks=False))
        assert found.checks == 0 and len(asked) == before
    assert Careful.checked[0].target == Target('the pan') and Careful.checked[0].mask.any()
    assert 'the pan' in Writer.questions[0].text


def test_the_command_can_do_without_checks_or_mark_points(picture, capsys, monkeypatch):
    monkeypatch.setattr(sys.modules['finger_of_a_test'], 'Backend', Careful)
    Careful.checked.clear()
    for more in ([], ['--mark', 'point'], ['--no-checks']):
        Careful.checked.clear()
        Image.fromarray(_desk()).save(picture)
        assert main(['locate', str(picture), 'the pan', '--backend', 'finger', '--json',
                     *more]) == 0
        found = json.loads(capsys.readouterr().out)['found'][0]
        marks = [request.mask is not None for request in Careful.checked]
        assert found['checks'] == len(marks)
        assert marks == [] if '--no-checks' in more else marks[0] is (not more)


def test_what_is_known_of_a_model_counts(desk):
    def chance(**rates):
        known = replace(Reliability.default(), pointer=PointerRates.known(**rates))
        found, = locate(desk, [Target('the mug again')], backend='finger', reliability=known,
                        max_askings=3)
        return found.probability
    assert chance(hit=0.9, repeat=0.0) > chance(hit=0.9, repeat=0.9) > chance(hit=0.3, repeat=0.9)


def test_targets_share_the_time_evenly(desk):
    locator = BackendLocator('finger', Finger(Settings()))
    locator.locate(desk, [Target('the red mug')] * 4, timeout_s=1000.0)
    limits = [deadline.timeout_s for deadline in Finger.deadlines]
    assert limits[0] <= 250.0 < limits[1] <= 1000.0 / 3, 'what one leaves the others have'
    assert limits[1] < limits[2] <= 500.0 < limits[3] <= 1000.0


@pytest.mark.parametrize(('name', 'values'), [
    ('mm.png', np.array([[0, 500], [1000, 65535]], np.uint16)),
    ('mm.npy', np.array([[0, 500], [1000, 65535]], np.uint16)),
    ('m.npy', np.array([[np.nan, 0.5], [1.0, 65.535]])),
    ('m.npy', np.array([[-np.inf, 0.5], [1.0, 65.535]], np.float32))])
def test_depth_files_are_read_in_metres(tmp_path, name, values):
    path = tmp_path / name
    if path.suffix == '.npy':
        np.save(path, values)
    else:
        Image.fromarray(values).save(path)
    depth = read_depth(path)
    assert depth.dtype == np.float32
    np.testing.assert_allclose(depth, [[0.0, 0.5], [1.0, 65.535]], rtol=1e-6)


@pytest.mark.parametrize('values', [np.zeros((2, 2, 3)), np.zeros((2, 2), np.uint8),
                                    np.zeros(4), np.array([['a']]), np.zeros((2, 2), complex)])
def test_other_numbers_are_no_depth(tmp_path, values):
    np.save(tmp_path / 'depth.npy', values)
    with pytest.raises(InputError, match='which is no depth image'):
        read_depth(tmp_path / 'depth.npy')


def test_a_pickled_file_is_not_executed(tmp_path):
    np.save(tmp_path / 'depth.npy', np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match='cannot be read'):
        read_depth(tmp_path / 'depth.npy')
