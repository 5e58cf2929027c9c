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


def test_chosen_paths_keep_the_numbers_of_the_file(files, capsys):
    through = PathRun(((-30.0, 7.0), (0.0, 7.0), (30.0, 7.0)), 1.0)
    write_path_runs([PathRun(ROUND, 1.0)] * 3 + [PathRun(STRAIGHT, 1.0), through],
                    files / 'five.txt')
    code, found, _ = compare(capsys, 'map.txt', 'five.txt', '--only', '2,4,5', '--vector',
                             'path_length=-1', '--picture', 'out.svg')
    assert code == 0 and found['paths'] == [2, 4, 5] and found['ranking'][0] == 4
    assert found['best'] == [0, 1, 0]
    assert 'Path 4, of 2 that are compared, is the best' in found['reason']
    assert 'Path 5 touches or crosses an obstacle and cannot be the best.' in found['reason']
    labels = re.findall(r'<!-- (\S+) -->', (files / 'out.svg').read_text())
    assert {'2', '4', '5'} <= set(labels) and not {'1', '3'} & set(labels)


@pytest.mark.parametrize(('arguments', 'what'), [
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', '1,2,1'], 'path 1 is named'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--picture', 'out.jpg'],
     'out.jpg: unknown kind of picture'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--length-scale', '1e-300'],
     'threshold of average_clearance'),
    (['--pictures', 'a.png', 'b.png', '--only', '1'], 'leave out MAP'),
    (['map.txt'], 'name a file of a MAP and one of PATHS'),
    (['none.txt', 'runs.txt', '--vector', 'path_length=-1'], 'none.txt: cannot be read'),
    (['map.txt', 'map.txt', '--vector', 'path_length=-1'], 'map.txt:1'),
    (['map.txt', 'many.txt', '--vector', 'path_length=-1'], '17 paths (2 to 16 can be compared'),
    (['map.txt', 'runs.txt', '--vector', 'width=-1'], "'width' is not a descriptor"),
    (['map.txt', 'runs.txt'], 'say the task with --scenario'),
    (['map.txt', 'runs.txt', '--scenario', 'Be quick.'], 'choose one with --backend'),
    (['map.txt', 'runs.txt', '--scenario', 'x', '--backend', 'noisy_oracle'], 'from the truth'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', '1,3'], 'path 3 (there are'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--only', 'x'], 'N,N,...'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--length-scale', '-1'],
     '--length-scale -1.0 is out of bounds'),
    (['map.txt', 'runs.txt', '--vector', 'path_length=-1', '--picture', 'no/where.png'],
     'no/where.png: cannot be written'),
    (['--pictures', 'a.png', 'b.png', '--picture', 'c.png'], 'leave out MAP'),
    (['--pictures', 'a.png', 'b.png', '--scenario', 'x'], 'choose one with --backend')])
def test_bad_usage_names_the_remedy(files, capsys, arguments, what):
    assert main(['paths', 'compare', *arguments]) == 2
    assert what in capsys.readouterr().err
