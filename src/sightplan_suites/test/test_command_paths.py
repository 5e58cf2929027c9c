"""``sightplan paths compare``: files in, table, picture and reason out, and bad input."""

from __future__ import annotations

import json
import re

import cv2
import numpy as np
import pytest

from sightplan.cli import main
from sightplan_suites.paths.path_files import PathRun, write_path_runs
from sightplan_suites.paths.wishes import WishSettings, wish_questions

MAP = '1\n4 -5 5 5 5 5 10 -5 10\n'
STRAIGHT = ((-30.0, 0.0), (30.0, 0.0))
ROUND = ((-30.0, 0.0), (-30.0, 39.0), (30.0, 39.0), (30.0, 0.0))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A map, two paths, and a model that reads from a script that shorter is better."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'map.txt').write_text(MAP)
    write_path_runs([PathRun(ROUND, 1.0), PathRun(STRAIGHT, 1.0)], tmp_path / 'runs.txt')
    write_path_runs([PathRun(STRAIGHT, 1.0)] * 17, tmp_path / 'many.txt')
    answers = {question.text: 'Yes' for question in wish_questions(WishSettings())
               if 'less_is_better path_length' in str(question.atom)}
    (tmp_path / 'script.json').write_text(json.dumps(
        {'answers': {**answers, 'default': 'No'}, 'replies': ['Answer: B', 'Answer: A']}))
    for name, value in (('a', 10), ('b', 200)):
        cv2.imwrite(f'{name}.png', np.full((16, 16, 3), value, np.uint8))
    return tmp_path


def compare(capsys, *arguments):
    """Exit code, result and standard error."""
    code = main(['paths', 'compare', *arguments, '--json'])
    out, err = capsys.readouterr()
    return code, json.loads(out) if out else None, err


SCRIPT = ('--backend', 'scripted', '--backend-option', 'script=script.json')


def test_a_vector_decides_and_a_picture_is_drawn(files, capsys):
    code, found, err = compare(capsys, 'map.txt', 'runs.txt', '--vector', 'path_length=-1',
                               '--picture', 'out.png')
    assert code == 0, err
    assert found['ranking'] == [2, 1] and found['best'] == [0, 1] and found['paths'] == [1, 2]
    assert found['descriptors'][0]['Path length'] == 138
    assert found['reason'] in err.replace('\n', ' ') and found['model'] == ''
    picture = cv2.imread('out.png')
    assert picture.shape[1] > picture.shape[0] > 300
    # The best path stands out in its colour: #D55E00, here as BGR.
    best, other = ((abs(picture.astype(int) - colour).sum(axis=2) < 20).sum()
                   for colour in ((0, 0x5E, 0xD5), (0xB2, 0x72, 0)))
    assert best / 60 > 1.5 * other / 138 > 5, 'pixels by length'


def test_a_model_reads_the_task(files, capsys):
    code, found, err = compare(capsys, 'map.txt', 'runs.txt', '--scenario', 'Be quick.', *SCRIPT)
    assert code == 0, err
    assert found['ranking'] == [2, 1] and found['wishes']['path_length']['less'] > 0.9
    assert found['model'].startswith('scripted(') and 'does not matter' in err


def test_the_answer_says_that_a_model_reads_no_limits(files, capsys):
    said = []
    for task in ('Short, at least 1 m from anything.',
                 'Short, 1 m from anything, and never trumble.'):
        _, found, _ = compare(capsys, 'map.txt', 'runs.txt', '--scenario', task, *SCRIPT)
        said.append(('No limit, place or side was read' in found['taken'],
                     found['limits']['limits']))
    assert said == [(False, ['minimum_clearance>=1']), (True, [])]


def test_attempts_that_found_no_path_are_passed_over(files, capsys):
    text = (files / 'runs.txt').read_text().split('@')
    (files / 'some.txt').write_text('@'.join([*text[:2], '\nRobot Radius: 0.7\n', *text[2:]]))
    code, found, err = compare(capsys, 'map.txt', 'some.txt', '--vector', 'path_length=-1')
    assert code == 0, err
    assert found['ranking'] == [2, 1] and '1 of the attempts found no path' in err
    (files / 'some.txt').write_text('@'.join([*text[:2], '\n1 1\nRobot Radius: 0.7\n']))
    code, _, err = compare(capsys, 'map.txt', 'some.txt', '--vector', 'path_length=-1')
    assert code == 2 and 'the run has 1 points' in err


def test_pictures_alone(files, capsys):
    code, found, err = compare(capsys, '--pictures', 'a.png', 'b.png', '--scenario', 'Bright.',
                               *SCRIPT)
    assert code == 0, err
    assert found['ranking'] == [2, 1] and found['paths'] == ['a.png', 'b.png']
    assert found['descriptors'] == [] and 'No map was known' in found['reason']
    assert 'not checked whether a path crosses an obstacle' in found['reason']


def test_where_all_paths_cross_none_is_called_the_best(files, capsys):
    through = PathRun(((-30.0, 7.0), (30.0, 7.0)), 1.0)
    write_path_runs([through, through, PathRun(STRAIGHT, 1.0)], files / 'through.txt')
    arguments = ('map.txt', 'through.txt', '--vector', 'path_length=-1')
    code, found, err = compare(capsys, *arguments, '--only', '1,2', '--picture', 'out.png')
    assert code == 0, err
    assert found['ranking'] == [] and found['best'] == [0, 0] and found['crossing'] == [1, 2]
    assert found['reason'].startswith('There is no best path')
    assert 'is the best' not in err and (files / 'out.png').exists()
    code, found, err = compare(capsys, *arguments, '--only', '2,3')
    assert found['ranking'] == [3, 2] and found['best'] == [0, 1] and found['crossing'] == [2]


def test_some_paths_of_a_file(files, capsys):
    code, found, _ = compare(capsys, 'map.txt', 'many.txt', '--only', '17,3', '--vector',
                             '0,0,0,-1,0,0,0')
    assert code == 0 and found['paths'] == [17, 3] and found['best'] == [0.5, 0.5]


AREAS = """
areas:
  - {name: nursery, polygon: [[-10, -2], [10, -2], [10, 2], [-10, 2]]}
"""
LOW = ((-30.0, 0.0), (0.0, -12.0), (30.0, 0.0))


@pytest.fixture
def three(files):
    """Three paths for a robot of radius 1: around, straight, and a bend to the south."""
    write_path_runs([PathRun(ROUND, 1.0), PathRun(STRAIGHT, 1.0), PathRun(LOW, 1.0)],
                    files / 'three.txt')
    (files / 'areas.yaml').write_text(AREAS)
    return ('map.txt', 'three.txt')


@pytest.mark.parametrize(('limits', 'ranking', 'out'), [
    ([], [2, 3, 1], {}),
    (['--limit', 'clearance>=5'], [3, 1, 2], {2: 'has least clearance 4 at -5, 0, at least 5 is'}),
    (['--limit', 'length<=70'], [2, 3, 1], {1: 'has length 138, at most 70 is allowed'}),
    (['--limit', 'length<=1.1x'], [2, 3, 1], {1: 'has length 138, at most 66 is allowed'}),
    (['--limit', 'turn<=60deg'], [2, 3, 1], {1: 'has sharpest turn 90 at -30, 39, at most 60'}),
    (['--keep-out', 'nursery', '--areas', 'areas.yaml'], [3, 1, 2],
     {2: 'is for 20 in nursery at -11, 0'}),
    (['--keep', 'right'], [2, 3, 1], {
        1: 'keeps to the right on 0.00 of its way beside the line from start to goal'}),
    (['--keep', 'left', '--limit', 'turn<=60'], [2, 1, 3], {
        1: 'sharpest turn 90', 3: 'keeps to the left on 0.00'})])
def test_a_path_that_breaks_a_limit_is_out(three, capsys, limits, ranking, out):
    code, found, err = compare(capsys, *three, '--vector', 'path_length=-1', *limits)
    assert code == 0, err
    assert found['ranking'] == ranking
    assert {number for number in (1, 2, 3) if found['out'][number - 1]} == set(out)
    for number, words in out.items():
        assert words in found['out'][number - 1][0]['words']
        assert words in found['reason'] and found['best'][number - 1] == 0


def test_limits_alone_decide_or_leave_a_tie_that_is_said_and_drawn(three, capsys):
    code, found, err = compare(capsys, *three, '--limit', 'turn<=60', '--picture', 'out.png')
    assert code == 0, err
    assert found['tied'] == [2, 3] and found['best'] == [0, 0.5, 0.5]
    assert found['reason'].startswith('Paths 2 and 3 are equally good as far as can be told '
                                      '(probability 0.50 each).')
    picture = cv2.imread('out.png')
    straight, low, around = ((abs(picture.astype(int) - colour).sum(axis=2) < 20).sum() for colour
                             in ((0, 0x5E, 0xD5), (0x73, 0x9E, 0), (0xB2, 0x72, 0)))
    assert 0.7 < straight / low < 1.3, 'tied paths are marked alike'
    assert straight / 60 > 2 * around / 138, 'a path that is out is not'


def test_what_is_wanted_is_worth_a_cost_up_to_a_bound(three, capsys):
    wanted = ('--vector', 'minimum_clearance=1')
    _, found, _ = compare(capsys, *three, *wanted)
    assert found['ranking'][0] == 1 and found['beyond'] == []
    code, found, err = compare(capsys, *three, *wanted, '--unless', 'length+10m')
    assert code == 0, err
    assert found['ranking'] == [3, 2, 1] and found['beyond'] == [1] and not any(found['out'])
    assert ('Path 1 comes after them: its length is 78 more than that of path 2, and 10 is the '
            'most that what is wanted is worth.') in found['reason']
    assert found['limits']['unless'] == ['path_length+10']
    _, found, _ = compare(capsys, *three, *wanted, '--unless', 'length+1%')
    assert found['ranking'][0] == 2 and found['beyond'] == [1, 3]


def test_the_robot_is_that_of_the_paths_of_an_option_or_of_its_file(three, files, capsys):
    def least(*options):
        _, found, err = compare(capsys, *three, '--only', '1,2', '--vector', 'path_length=-1',
                                *options)
        return found['descriptors'][1]['Minimum clearance'], err

    (files / 'amr.yaml').write_text('base: {radius_m: 2.0, differences: {path_length: 100.0}}')
    corners = '[[2, 1.5], [2, -1.5], [-2, -1.5], [-2, 1.5]]'
    assert [least(*options)[0] for options in (
        (), ('--footprint', '0'), ('--footprint', '0.5'), ('--footprint', corners),
        ('--robot', 'amr.yaml'), ('--robot', 'amr.yaml', '--footprint', '3'))] == pytest.approx(
            [4, 5, 4.5, 3.5, 3, 2])
    _, found, _ = compare(capsys, *three, '--only', '1,2', '--vector', 'path_length=-1', '--robot',
                          'amr.yaml', '--footprint', '0.5')
    assert found['tied'] == [1, 2], 'to this robot 78 more of length do not matter'
    write_path_runs([PathRun(ROUND, 1.0), PathRun(STRAIGHT, 2.0)], files / 'runs.txt')
    _, found, err = compare(capsys, 'map.txt', 'runs.txt', '--vector', 'path_length=-1')
    assert 'robots of 1 to 2' in err and 'measured for a point' in err


def test_a_path_that_leaves_the_map_is_out_and_does_not_spoil_the_file(files, capsys):
    far = ((-30.0, 0.0), (0.0, -41.5), (30.0, 0.0))
    write_path_runs([PathRun(far, 1.0), PathRun(STRAIGHT, 1.0)], files / 'far.txt')
    code, found, err = compare(capsys, 'map.txt', 'far.txt', '--vector', 'path_length=1')
    assert code == 0, err
    assert found['ranking'] == [2, 1]
    assert found['out'][0][0] == {
        'kind': 'border', 'what': 'the border of the map', 'at': [0, -41.5], 'value': 2.5,
        'bound': 0, 'words': 'leaves the map by 2.5 at 0, -41.5'}


def test_chosen_paths_keep_the_numbers_of_the_file(files, capsys):
    through = PathRun(((-30.0, 7.0), (0.0, 7.0), (30.0, 7.0)), 1.0)
    write_path_runs([PathRun(ROUND, 1.0)] * 3 + [PathRun(STRAIGHT, 1.0), through],
                    files / 'five.txt')
    code, found, _ = compare(capsys, 'map.txt', 'five.txt', '--only', '2,4,5', '--vector',
                             'path_length=-1', '--picture', 'out.svg')
    assert code == 0 and found['paths'] == [2, 4, 5] and found['ranking'][0] == 4
    assert found['best'] == [0, 1, 0]
    assert 'Path 4, of 2 that are compared, is the best' in found['reason']
    assert 'Path 5 is out: it leads for 10 through obstacle 1 at -6, 7.' in found['reason']
    labels = re.findall(r'<!-- (\S+) -->', (files / 'out.svg').read_text())
    assert {'2', '4', '5'} <= set(labels) and not {'1', '3'} & set(labels)


@pytest.mark.parametrize(('arguments', 'what'), [
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', '1,2,1'], 'path 1 is named'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--picture', 'out.jpg'],
     'out.jpg: unknown kind of picture'),
    (['--pictures', 'a.png', 'b.png', '--only', '1'], 'leave out MAP'),
    (['map.txt'], 'name a file of a MAP and one of PATHS'),
    (['none.txt', 'runs.txt', '--vector', 'path_length=-1'], 'none.txt: cannot be read'),
    (['map.txt', 'map.txt', '--vector', 'path_length=-1'], 'map.txt:1'),
    (['map.txt', 'many.txt', '--vector', 'path_length=-1'], '17 paths (2 to 16 can be compared'),
    (['map.txt', 'runs.txt', '--vector', 'width=-1'], "'width' is not a descriptor"),
    (['map.txt', 'runs.txt'], 'say the task with --scenario'),
    (['map.txt', 'runs.txt', '--scenario', 'Be purple.'], 'nothing of it tells'),
    (['map.txt', 'runs.txt', '--scenario', 'x', '--backend', 'noisy_oracle'],
     'choose one that can'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', '1,3'], 'path 3 (there are'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', 'x'], 'N,N,...'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--length-scale', '-1'],
     '--length-scale -1.0 is out of bounds'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--picture', 'no/where.png'],
     'no/where.png: cannot be written'),
    (['--pictures', 'a.png', 'b.png', '--picture', 'c.png'], 'leave out MAP'),
    (['--pictures', 'a.png', 'b.png', '--limit', 'length<=3'], 'no limit can be checked'),
    (['map.txt', 'runs.txt', '--limit', 'length<3'], "limit 'length<3' (write NAME>=VALUE"),
    (['map.txt', 'runs.txt', '--limit', 'length<=3', '--footprint', 'x'], "footprint 'x' (give"),
    (['map.txt', 'runs.txt', '--limit', 'length<=3', '--robot', 'panda'], 'base is missing'),
    (['map.txt', 'runs.txt', '--keep-out', 'attic'], "no area 'attic'"),
    (['--pictures', 'a.png', 'b.png', '--scenario', 'x'], 'choose one with --backend')])
def test_bad_usage_names_the_remedy(files, capsys, arguments, what):
    assert main(['paths', 'compare', *arguments]) == 2
    assert what in capsys.readouterr().err


@pytest.mark.parametrize('backend', [(), ('--backend', 'embedded')])
def test_a_sentence_is_read_without_a_model_that_reads(files, capsys, backend):
    (files / 'areas.yaml').write_text(
        'areas: [{name: old yard, polygon: [[-5, -3], [5, -3], [5, 3], [-5, 3]]}]\n')
    code, found, err = compare(
        capsys, 'map.txt', 'runs.txt', *backend, '--areas', 'areas.yaml', '--picture', 'out.png',
        '--scenario', 'The shortest way, but not through the yard, and no turn over 100 degrees.')
    assert code == 0, err
    assert found['ranking'] == [1, 2] and found['out'][1][0]['what'] == 'old yard'
    assert found['taken'] == ('Taken to want: a short path; sharpest turn at most 100°; not '
                              'through old yard.')
    assert found['taken'] in err.replace('\n', ' ') and found['model'] == ''
    assert found['limits']['keep_out'] == ['old yard']
    code, _, err = compare(capsys, 'map.txt', 'runs.txt', *backend, '--areas', 'areas.yaml',
                           '--scenario', 'Short, and keep out of the attic.')
    assert code == 2 and "keeps out of 'the attic'" in err and 'there are old yard' in err
