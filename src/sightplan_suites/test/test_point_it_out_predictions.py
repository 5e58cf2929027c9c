"""Point-It-Out: ``score`` of answers in declared coordinates."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest

from point_it_out_cases import place, predictions, write_data
from sightplan import cli
from sightplan.metrics import wilson
from sightplan.model import InputError
from sightplan_suites.point_it_out.official import read_official
from sightplan_suites.point_it_out.predictions import score_file

RIGHT = [[10, 10, 30, 30]]


@pytest.fixture
def data(tmp_path):
    """Three places and a trace; the second place and a trace cannot be used."""
    return write_data(
        tmp_path / 'data',
        [place(), place(image_path='gone.png'),
         place(s1_or_s2='s2', subclasses='afd', dataset_name='rt1')],
        [{'image_path': '0_mark_0.25_0.5.png', 'lang': 'move it'},
         {'image_path': 'none.png', 'lang': 'move it'}],
        ['images_s1s2/a.png', 'images_s3/0_mark_0.25_0.5.png', 'images_s3/none.png'])


@pytest.fixture
def score(data, tmp_path, capsys):
    """Exit code, result and messages of ``score`` of some lines."""
    def call(*lines, text=None):
        path = predictions(tmp_path / 'p.jsonl', *lines)
        if text is not None:
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        capsys.readouterr()
        code = cli.main(['suite', 'point_it_out', 'score', '--data', str(data), '--predictions',
                         str(path), '--json'])
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]) if out else {}, err
    return call


def line(**changes):
    return {'id': 's1s2/0', 'boxes': RIGHT, 'coordinates': 'pixel_xy', **changes}


def test_a_box_has_three_measures_and_points_one(score):
    code, found, _ = score(line(), line(id='s1s2/2', boxes=None, points=[[20, 20], [60, 40]]),
                           {'id': 's3/0', 'trace': [[16, 24], [60, 40]],
                            'coordinates': 'pixel_xy', 'model': 'mine'})
    assert code == 0
    box, points, trace = found['items']
    assert box['id'] == 's1s2/0' and box['output'] == 'box' and box['iou_normalised'] == 1.0
    assert {'iou_released', 'precision'} <= set(box) and 'on_mask' not in box
    assert points['output'] == 'points' and points['on_mask'] == 0.5
    assert 'iou_normalised' not in points and points['scenario'] == 'manipulation'
    assert trace['output'] == 'trace' and trace['start_error'] == 0.0 and trace['model'] == 'mine'
    assert found['measures']['iou_normalised'] == {
        'value': 1.0, 'interval95': list(wilson(1, 1)), 'n': 1, 'clusters': 1}
    assert found['measures']['on_mask']['value'] == 0.5
    assert found['outputs'] == {'box': 1, 'points': 1, 'trace': 1}
    assert set(found['by_subclass']) == {'s1/object', 's2/afd', 's3'}
    assert found['by_source']['rt1']['on_mask']['value'] == 0.5
    assert found['by_output']['box']['score']['value'] == 1.0
    assert set(found['by_scenario']) == {'household', 'manipulation', 'unknown'}


def test_a_box_that_fits_better_than_the_tight_box_scores_above_1(tmp_path, capsys):
    far = [[10, 10, 49, 10, 49, 40, 10, 40], [60, 46, 61, 46, 61, 47, 60, 47]]
    data = write_data(tmp_path / 'data', [place(polygon=far), place()])
    path = predictions(tmp_path / 'p.jsonl', line(boxes=[[10, 10, 50, 41]]),
                       line(id='s1s2/1', boxes=[[0, 0, 1, 1]]))
    assert cli.main(['suite', 'point_it_out', 'score', '--data', str(data), '--predictions',
                     str(path), '--json']) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    high = (1240 / 1244) / (1244 / (52 * 38))
    assert [item['score'] for item in found['items']] == pytest.approx([high, 0.0])
    assert high > 1.5 and found['measures']['score']['value'] == pytest.approx(high / 2)
    assert found['measures']['iou_normalised_dropped']['value'] == pytest.approx(high / 2)


def test_items_that_cannot_be_used_are_named_and_not_scored(score):
    code, found, err = score(line(), line(id='s1s2/1'), line(id='s1s2/77'), line(id='x'))
    assert code == 0 and [item['id'] for item in found['items']] == ['s1s2/0']
    reasons = {(one.get('id'), one['file'].rpartition('/')[2]): one['reason']
               for one in found['skipped']}
    assert 'missing' in reasons['s1s2/1', 'gone.png']
    assert 'cannot be used' in reasons['s1s2/1', 'p.jsonl:2']
    assert 'no item' in reasons['s1s2/77', 'p.jsonl:3'] and ('x', 'p.jsonl:4') in reasons
    assert found['missing'] == ['s1s2/2', 's3/0', 's3/1']
    assert '4 skipped' in err and 's1s2/77' in err


def test_an_id_twice_is_an_error(score):
    code, found, err = score(line(), line(boxes=[[1, 1, 2, 2]]))
    assert code == 2 and not found and 'p.jsonl:2' in err and 'twice' in err


def test_what_cannot_be_meant_as_declared_is_unread_with_its_reason(score):
    code, found, _ = score(line(), line(id='s1s2/2', coordinates='unit_xy'))
    item = found['items'][1]
    assert code == 0 and item['cause'] == 'unread' and 'would fit' in item['unread']
    assert item['iou_normalised'] == 0.0 and found['unread'] == 1
    assert found['measures']['iou_normalised']['value'] == 0.5
    assert found['measures']['iou_normalised_dropped']['value'] == 1.0


@pytest.mark.parametrize(('boxes', 'cause'), [
    ([[30, 10, 10, 30]], 'degenerate'), ([[10, 10, 10, 30]], 'degenerate'), ([], 'nothing'),
    ([[40, 40, 60, 45]], 'missed')])
def test_readable_answers_that_are_wrong_score_zero(score, boxes, cause):
    code, found, _ = score(line(boxes=boxes))
    assert code == 0 and found['items'][0]['cause'] == cause and found['unread'] == 0
    assert found['items'][0]['iou_normalised'] == 0.0


def test_a_resized_picture_needs_its_size(score):
    right = [[20, 20, 60, 60]]
    _, found, _ = score(line(boxes=right, coordinates='resized_pixel_xy', resized=[128, 96]),
                        line(id='s1s2/2', boxes=right, coordinates='resized_pixel_xy'))
    assert found['items'][0]['iou_normalised'] == 1.0
    assert found['items'][1]['cause'] == 'unread'


def test_rounding_at_the_edge_is_counted(score):
    _, found, _ = score(line(boxes=[[-0.0005, 0.1, 1.0004, 0.9]], coordinates='unit_xy'))
    assert found['items'][0]['rounded'] == 2 and found['items'][0]['unread'] == ''


@pytest.mark.parametrize(('changes', 'said'), [
    ({'boxes': [[1, 2, 3]]}, 'boxes.0'), ({'boxes': [1, 2, 3, 4]}, 'boxes.0'),
    ({'boxes': 'no'}, 'boxes'), ({'boxes': [['1', 2, 3, 4]]}, 'boxes.0.0'),
    ({'boxes': [[True, 2, 3, 4]]}, 'boxes.0.0'), ({'boxes': [[None] * 4]}, 'boxes.0.0'),
    ({'points': [[1, 2]]}, 'boxes and points'), ({'boxes': None}, 'none'),
    ({'coordinates': 'cm'}, 'coordinates'), ({'coordinates': None}, 'coordinates'),
    ({'resized': [1]}, 'resized'), ({'id': 3}, 'id'), ({'bokses': []}, 'bokses is unknown'),
    ({'id': 's3/0'}, 'asks for a trace'), ({'boxes': None, 'trace': [[1, 2], [3, 4]]}, 'a trace'),
    ({'boxes': [[1, 2, 3, 4]] * 10_001}, 'more than')])
def test_a_malformed_line_is_named_and_not_scored(score, changes, said):
    code, found, err = score(line(), line(id='s1s2/2') | changes)
    assert code == 0 and [item['id'] for item in found['items']] == ['s1s2/0']
    assert said in next(one['reason'] for one in found['skipped'] if 'p.jsonl:2' in one['file'])
    assert 'p.jsonl:2' in err


def test_a_trace_of_one_point_is_unread(score):
    _, found, _ = score({'id': 's3/0', 'trace': [[5, 5]], 'coordinates': 'pixel_xy'})
    assert found['items'][0]['cause'] == 'unread' and 'two or more' in found['items'][0]['unread']


@pytest.mark.parametrize('lines', [
    [line(id='s1s2/9')], [line(boxes='no')], [line(coordinates='cm')], [line(id='s1s2/1')]])
def test_a_file_in_which_nothing_is_usable_is_an_error(score, lines):
    code, found, err = score(*lines)
    assert code == 1 and found['items'] == [] and found['skipped'] and 'not one answer' in err
    assert all(measure['value'] is None for measure in found['measures'].values())


@pytest.mark.parametrize('content', ['nonsense', '{}', '[]', '[{"polygon": 3}]', ''])
def test_data_in_which_nothing_is_usable_are_an_error(score, data, content):
    (data / 's1s2.json').write_text(content)
    (data / 's3.json').unlink()
    code, found, err = score(line())
    assert code == 1 and found['items'] == [] and 'not one item' in err and str(data) in err
    assert all('s1s2.json' in one['file'] for one in found['skipped'][:-1])


def test_texts_of_replies_are_scored_as_for_every_suite(score):
    text = json.dumps([{'form': 'box', 'points': [[10 / 64, 10 / 48], [30 / 64, 30 / 48]]}])
    code, found, _ = score({'id': 's1s2/0', 'answer': text}, {'id': 's1s2/2', 'answer': 'no'})
    assert code == 0 and found['items'] == 2 and found['unread'] == 1
    assert found['measures']['iou_normalised']['value'] == 1.0
    assert found['measures']['on_mask'] == {'value': 0.0, 'interval95': list(wilson(0, 1)),
                                            'n': 1, 'clusters': 1}


def test_the_command_prints_the_output_beside_the_scores(data, tmp_path, capsys):
    path = predictions(tmp_path / 'p.jsonl', line(), line(id='s1s2/2', boxes=None,
                                                          points=[[20, 20]]))
    assert cli.main(['suite', 'point_it_out', 'score', '--data', str(data), '--predictions',
                     str(path)]) == 0
    out = capsys.readouterr().out
    assert '1 box, 1 points' in out and 'output, points' in out and 'scenario, household' in out


def scored(data, tmp_path, content):
    """What ``score`` gives, without the command around it; None where it is an error."""
    path = tmp_path / 'damaged.jsonl'
    path.write_bytes(content)
    try:
        return score_file(read_official(data), path)
    except InputError:
        return None


VALUES = [None, True, 0, -1, 0.5, 1e999, 10**400, float('nan'), '', 'x', [], {}, [[]], [[1]],
          [[1, 2]], [[10, 10, 30, 30]], [[1e308] * 4], [[10**400] * 4], [[-1, -1, 999, 999]],
          'unit_xy', 'permille_yx', 'resized_pixel_xy', 's3/0', 's1s2/-1', 's1s2/00', [0, 0],
          [-5, 5], [64, 48], '\ud800']


def damaged(rng, entry, model=True):
    """A line with fields that are gone, foreign or wrong, and often with wrong bytes."""
    for _ in range(rng.randint(1, 3)):
        field = rng.choice([*entry, 'points', 'trace', 'resized', *(['model'] if model else [])])
        if rng.random() < 0.2:
            entry.pop(field, None)
        else:
            entry[field] = rng.choice(VALUES)
    text = bytearray(json.dumps(entry).encode())
    if rng.random() < 0.4:
        for _ in range(rng.randint(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(32, 256)
    return bytes(text)


@pytest.mark.parametrize('rounds', [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_thousand_damaged_lines_are_named_unread_or_scored_as_they_say(tmp_path, rounds):
    rng = random.Random(3)
    data = write_data(tmp_path / 'data', [place()] * 1000)
    causes, answered = Counter(), 0
    for _ in range(rounds):
        lines, ids = [], set()
        for number in range(1000):
            # Several models in a file are an error of the file, like an id twice.
            text = damaged(rng, line(id=f's1s2/{number}'), model=False)
            found = re.search(rb'"id": ?("[^"]*")', text)
            if found is None or found[1] not in ids:
                ids.add(found and found[1])
                lines.append(text)
        found = scored(data, tmp_path, b'\n'.join(lines))
        assert len(found['items']) + len(found['skipped']) == len(lines)
        assert all(one['reason'] and 'damaged.jsonl:' in one['file'] for one in found['skipped'])
        for item in found['items']:
            assert (item['cause'] == 'unread') is bool(item['unread'])
            causes[item['cause']] += 1
        answered += len(lines)
    assert answered > 900 * rounds and sum(causes.values()) < answered / 2
    assert {'unread', 'missed', None} <= set(causes)
    assert rounds == 1 or 'nothing' in causes, 'it is rare'


@pytest.mark.parametrize('count', [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_damaged_files_never_crash(data, tmp_path, count):
    rng = random.Random(5)
    whole = ''.join(json.dumps(one) + '\n' for one in (line(), line(id='s1s2/2'))).encode()
    kinds = Counter()
    for _ in range(count):
        content = bytearray(whole)
        for _ in range(rng.randint(1, 20)):
            content[rng.randrange(len(content))] = rng.randrange(256)
        found = scored(data, tmp_path, bytes(content[rng.randrange(20):]))
        kinds['error' if found is None else len(found['items'])] += 1
        assert found is None or found['items'] or found['skipped']
    assert {0, 1} <= set(kinds)


@pytest.mark.parametrize('content', [
    b'', b'\0' * 50, b'\xff\xfe{', b'[' * 50_000, b'{"id": ' * 999])
def test_a_file_of_nonsense_is_an_error(score, content):
    code, found, err = score(text=content)
    assert code == 1 and found['items'] == [] and 'p.jsonl' in err


def test_answers_of_several_models_are_not_averaged(tmp_path):
    data = read_official(write_data(tmp_path / 'data', [place(), place()], [], [
        'images_s1s2/a.png']))
    path = tmp_path / 'p.jsonl'
    answer = {'points': [[0.3, 0.4]], 'coordinates': 'unit_xy'}
    for models, refused in ((('a', 'b'), True), (('a', 'a'), False), (('a', ''), False),
                            (('a', 'a + b'), False)):
        path.write_text(''.join(json.dumps({
            'id': f's1s2/{number}', 'model': model, **answer}) + '\n'
            for number, model in enumerate(models)))
        if refused:
            with pytest.raises(InputError, match='several models: a, b'):
                score_file(data, path)
        else:
            assert len(score_file(data, path)['items']) == 2
