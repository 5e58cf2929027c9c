"""``sightplan plan``: a grounded plan for any picture and a sentence."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from sightplan.cli import main
from sightplan.commands.shared_flags import backend_names
from sightplan.model import InputError
from sightplan.model.region import Form, Region
from sightplan_suites.commands.plan import PlanArguments
from sightplan_suites.grounded_plan.drawing import NARROWEST_PX, draw_plan
from sightplan_suites.grounded_plan.own_picture import METHODS, plan_picture

SENTENCE = 'leg den Löffel auf die Untertasse'
SPOON, SAUCER = [540, 160, 710, 810], [220, 700]
WRITTEN = f'grasp(Löffel, {SPOON})\nplace(Untertasse, {SAUCER})'
SEEN = [{'label': 'Tasse (weiß)', 'box': [0.29, 0.04, 0.69, 0.75]},
        {'label': 'spoon #1', 'box': [0.54, 0.16, 0.71, 0.81]},
        {'label': 'Untertasse', 'box': [0.1, 0.07, 0.75, 0.97]}]
"""From left to right: saucer (1), cup (2), spoon."""
GOAL = '{"stages": [{"put": [{"thing": 3, "into": 1}]}]}'


@pytest.fixture
def photo(tmp_path):
    """A picture of noise, 600 x 400."""
    path = tmp_path / 'photo.png'
    Image.fromarray(np.random.default_rng(1).integers(0, 255, (400, 600, 3), np.uint8)).save(path)
    return path


@pytest.fixture
def script(tmp_path):
    """Writes replies of a scripted model, and returns the options that choose it."""
    def write(**content):
        path = tmp_path / 'replies.json'
        path.write_text(json.dumps(content))
        return ['--backend', 'scripted', '--backend-option', f'script={path}']
    return write


def run(capsys, *arguments):
    """Exit code, result and what stands on standard error."""
    code = main(['plan', *map(str, arguments), '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out.splitlines()[-1]) if out else None, err


def boxes(found):
    """Verb and pixels of each step."""
    return [(step['action'], step['region'] and step['region']['pixels'])
            for step in found['steps']]


@pytest.mark.parametrize('kind', ['png', 'turned', 'grey', 'transparent', 'tiny', 'large'])
def test_any_picture_will_do(kind, tmp_path, photo, script, capsys):
    picture, path, out = Image.open(photo), tmp_path / 'own.png', tmp_path / 'drawn.png'
    if kind == 'turned':  # as a phone writes it: the pixels lie, and EXIF turns them
        exif, path = Image.Exif(), tmp_path / 'own.jpg'
        exif[0x0112] = 6
        picture.transpose(Image.Transpose.ROTATE_90).save(path, exif=exif)
    else:
        {'png': picture, 'grey': picture.convert('L'), 'transparent': picture.convert('RGBA'),
         'tiny': picture.resize((6, 4)), 'large': picture.resize((2400, 1600))}[kind].save(path)
    code, found, err = run(capsys, path, SENTENCE, '--method', 'ask', '--out', out,
                           *script(replies=[WRITTEN]))
    width, height = {'tiny': (6, 4), 'large': (2400, 1600)}.get(kind, (600, 400))
    assert (code, found['width'], found['height']) == (0, width, height), err
    (_, box), (_, point) = boxes(found)
    assert box == pytest.approx([.54 * width, .16 * height, .71 * width, .81 * height], abs=.06)
    assert point == pytest.approx([.22 * width, .7 * height], abs=.06)
    assert [step['target'] for step in found['steps']] == ['Löffel', 'Untertasse']
    assert found['usable'] and found['model'].startswith('scripted(replies.json@')
    drawn = Image.open(out)
    assert NARROWEST_PX <= drawn.size[0] <= 1200 and drawn.size[1] > drawn.size[0] * 2 / 3


def test_every_method_answers_and_says_what_did(photo, script, tmp_path, capsys):
    words = json.dumps([{'action': 'grasp', 'target': 'spoon'},
                        {'action': 'place', 'target': 'saucer'}])
    numbers = json.dumps([{'action': 'grasp', 'target': '3'}, {'action': 'place', 'target': '1'}])
    pixels = [{'bbox': [324, 64, 102, 260], 'score': 0.1}, {'bbox': [60, 28, 390, 360]},
              {'bbox': [174, 16, 240, 284], 'score': 0.1}]
    marks = tmp_path / 'found by SAM.json'
    marks.write_text(json.dumps(pixels))
    cases = {
        'ask': ([], {'replies': [WRITTEN]}), 'ask_cot': ([], {'replies': [WRITTEN]}),
        'decoupled': ([], {'replies': [words], 'locate': {
            'spoon': '[(0.54, 0.16, 0.71, 0.81)]', 'saucer': '[(0.22, 0.7)]'}}),
        'grounded_plan': (['--method-option', 'looks=1'], {'detect': [SEEN], 'replies': [GOAL]}),
        'set_of_marks': (['--method-option', f"marks=boxes file='{marks}' coords=pixel_xywh"],
                         {'replies': [numbers]})}
    assert set(cases) == set(METHODS)
    for method, (options, content) in cases.items():
        code, found, err = run(capsys, photo, SENTENCE, '--method', method, *options,
                               *script(**content))
        assert code == 0, (method, err)
        (grasp, box), (place, _) = boxes(found)
        assert (grasp, place, box) == ('grasp', 'place', [324.0, 64.0, 426.0, 324.0]), method
        assert ('boxes(found by SAM.json@' in found['model']) is (method == 'set_of_marks')
        assert found['method'].startswith(method)


def test_things_of_any_kind_are_planned_for_where_a_model_looks(photo, script, capsys):
    content = {'detect': [SEEN], 'replies': [GOAL]}
    code, found, _ = run(capsys, photo, SENTENCE, '--method-option', 'looks=1', *script(**content))
    assert code == 0 and [step['target'] for step in found['steps']] == ['spoon_1', 'Untertasse']
    seen = [{'label': 'mug #2 (blue)', 'box': [0.1, 0.1, 0.2, 0.2]},
            {'label': '微波炉', 'box': [0.3, 0.1, 0.6, 0.6]},
            {'label': '2nd 微波炉', 'box': [0.7, 0.1, 0.9, 0.6]}]
    goal = '{"stages": [{"put": [{"thing": 1, "into": 2}], "close": 2}, {"close": 3}]}'
    code, found, err = run(capsys, photo, 'put the mug into the oven', '--method-option',
                           'looks=1', *script(detect=[seen], replies=[goal]))
    assert code == 0, err
    assert [(step['action'], step['target']) for step in found['steps']] == [
        ('open', '微波炉'), ('grasp', 'mug_1'), ('place', '微波炉'), ('close', '微波炉'),
        ('close', '2nd 微波炉')], 'a door that is to be closed stands open'
    both = '{"stages": [{"put": [{"thing": 1, "into": 2}]}, {"put": [{"thing": 2, "into": 3}]}]}'
    code, found, _ = run(capsys, photo, 'x', '--method-option', 'looks=1',
                         *script(detect=[seen], replies=[both]))
    assert code == 1 and 'is to be moved, and to hold something' in found['missing']


@pytest.mark.parametrize(('reply', 'step', 'said'), [
    ('grasp(a, [1, 1, 99, 99]) place(b, [1200, 500])', 2, 'lies outside the picture of 600 x 400'),
    ('open(a, [-500, 1, -90, 99])', 1, 'lies outside the picture'),
    ('open(a, [500, 1, 1090, 99])', 1, 'reaches beyond the picture'),
    ('open(a, [500, 1, 400, 99])', 1, 'out of order'),
    ('open(a, [5, 1, 400, 99])\nlaunch(b, [1, 1, 9, 9])', 2,
     "'launch' is none of grasp, place, open, close"),
    ('grasp(a, [1, 1, 99, 99]) grasp(b, [1, 1, 99, 99]) place(c, [5, 5])', 1, 'is not placed'),
    ('open(b, [1, 1, 9, 9]) place(c, [5, 5])', 2, 'nothing is held'),
    ('open(b, [1, 1, 9, 9]) close(c)', 2, 'no box that can be read'),
    ('grasp(a, [1, 1, 99, 99]) place(b, [1, 1, 99, 99])', 2, 'place needs a point'),
    ('close(a, [4, 4])', 1, 'close needs a box')])
def test_what_cannot_be_carried_out_is_named(reply, step, said, photo, script, capsys, tmp_path):
    code, found, err = run(capsys, photo, 'x', '--method', 'ask', '--out', tmp_path / 'o.png',
                           *script(replies=[reply]))
    assert code == 1 and not found['usable']
    (fault,) = found['faults']
    assert fault['step'] == step and said in fault['reason']
    assert f'step {step}: ' in err and (tmp_path / 'o.png').is_file()


def test_a_rounding_at_the_edge_is_no_fault(photo, script, capsys):
    code, found, _ = run(capsys, photo, 'x', '--method', 'ask', '--coords', 'unit_xyxy',
                         *script(replies=['open(a, [-0.001, 0.0, 1.001, 1.0])']))
    assert code == 0 and not found['faults']


def test_a_convention_is_declared_and_not_guessed(photo, script, capsys):
    fractions = ['--method', 'ask', *script(replies=['close(a, [0.1, 0.2, 0.3, 0.4])'])]
    code, found, err = run(capsys, photo, 'x', *fractions)
    assert code == 1 and 'unit_xyxy would fit' in found['missing'] and '--coords' in err
    assert 'the reply: close(a' in err
    code, found, _ = run(capsys, photo, 'x', '--coords', 'unit_xyxy', *fractions)
    assert boxes(found) == [('close', [60.0, 80.0, 180.0, 160.0])]
    yx = script(replies=['[{"action": "close", "label": "a", "box_2d": [200, 100, 400, 300]}]'])
    code, found, _ = run(capsys, photo, 'x', '--method', 'ask', *yx)
    assert boxes(found) == [('close', [60.0, 80.0, 180.0, 160.0])], "Gemini's keys say their own"


def test_embedded_says_what_it_was_made_for(photo, capsys):
    code, found, err = run(capsys, photo, 'put the mug on the tray')
    assert code == 1 and found['missing']
    assert 'pictures that sightplan renders' in found['notes'][0] and 'note: embedded' in err
    assert found['model'].startswith('embedded_model/detector@')


def test_things_that_are_hardly_meant_are_no_plan(photo, script, capsys):
    seen = [{'label': 'mug', 'box': [0.1, 0.1, 0.2, 0.2]},
            {'label': 'tray', 'box': [0.5, 0.5, 0.9, 0.9]}]
    once = script(detect=[seen, *([[]] * 8)])  # in one view of nine
    options = ['--method-option', 'reader=words', '--method-option', 'looks=9']
    code, found, _ = run(capsys, photo, 'Put the mug onto the tray.', *options, *once)
    assert code == 1 and 'less than 0.05' in found['missing']
    code, found, _ = run(capsys, photo, 'Put the mug onto the tray.', *options,
                         '--method-option', 'accept=0', *once)
    assert code == 0 and found['probability'] < 0.05


@pytest.mark.parametrize(('arguments', 'said'), [
    (['-', 'x'], 'a picture is read from a file'),
    (['https://a.b/c.png', 'x'], 'a picture is read from a file'),
    (['none.png', 'x'], 'none.png'), (['PHOTO', ' '], 'the sentence has 0 characters'),
    (['PHOTO', 'x', '--out', 'nowhere/a.png'], 'there is no folder'),
    (['PHOTO', 'x', '--method', 'ask'],
     "backend 'embedded' writes no text; choose one that can: openai"),
    (['PHOTO', 'x', '--method', 'oracle'], 'invalid choice'),
    (['PHOTO', 'x', '--backend', 'noisy_oracle'], 'the truth'),
    (['PHOTO', 'x', '--method-option', 'marks=a'], "there is no setting 'marks'"),
    (['PHOTO', 'x', '--coords', 'inches'], 'invalid choice'),
    (['PHOTO', 'x', '--depth', 'PHOTO'], 'PHOTO')])
def test_bad_usage_is_named(arguments, said, photo, capsys):
    given = [str(photo) if one == 'PHOTO' else one for one in arguments]
    try:
        code = main(['plan', *given])
    except SystemExit as error:  # of argparse
        code = error.code
    assert code == 2 and said.replace('PHOTO', str(photo)) in capsys.readouterr().err


def test_marks_must_be_named(photo, script, capsys):
    code, _, err = run(capsys, photo, 'x', '--method', 'set_of_marks', *script(replies=['x']))
    assert code == 2 and 'marks is not set' in err and 'boxes file=FILE' in err


def test_a_model_that_fails_is_no_plan(photo, script, capsys):
    code, found, _ = run(capsys, photo, 'x', '--method', 'ask', *script(replies=[]))
    assert code == 1 and 'used up' in found['missing'] and not found['steps']


def test_replies_are_recorded_for_replay(photo, script, capsys, tmp_path):
    record = tmp_path / 'plan.jsonl'
    _, first, _ = run(capsys, photo, SENTENCE, '--method', 'ask', '--record', record,
                      *script(replies=[WRITTEN]))
    code, again, err = run(capsys, photo, SENTENCE, '--method', 'ask', '--backend', 'replay',
                           '--backend-option', f'path={record}')
    assert code == 0 and again['steps'] == first['steps'], err


def test_from_python(photo, tmp_path):
    (tmp_path / 'r.json').write_text(json.dumps([WRITTEN]))
    found = plan_picture(photo, SENTENCE, method='ask', backend='scripted',
                         backend_options={'script': str(tmp_path / 'r.json')})
    assert found.usable and [step.region.form for step in found.steps] == [Form.BOX, Form.POINT]
    with pytest.raises(InputError, match='plans for no picture'):
        plan_picture(photo, SENTENCE, method='oracle')


def test_a_drawing_has_room_for_every_step():
    image = np.zeros((40, 60, 3), np.uint8)
    region = Region(Form.BOX, ((0.2, 0.2), (0.8, 0.8)))
    from sightplan.model.grounded_plan import GroundedStep
    few, many = (draw_plan(image, 'x', [GroundedStep('open', 'd', region)] * count, [''] * count)
                 for count in (1, 30))
    assert many.shape[0] - few.shape[0] == 29 * 18 and many.shape[1] == few.shape[1]


def test_the_command_offers_all_methods_and_backends(capsys):
    with pytest.raises(SystemExit):
        main(['plan', '--help'])
    assert ','.join(METHODS) in capsys.readouterr().out
    assert 'boxes' in backend_names()
    assert PlanArguments(picture='a', sentence='b').coords == 'permille_xyxy'
