"""iVISPAR's puzzle files: read, checked, written, and what is wrong in them."""

from __future__ import annotations

import json
import logging

import pytest

from sightplan.domains import load_domain
from sightplan.domains.sliding import formats
from sightplan.domains.sliding.configs import SEQUENCES, optimal_length, read_config
from sightplan.model import ProblemError

SLIDING = load_domain('sliding')


def content(starts, goals, size=2, body='cube', **more):
    colours = ('red', 'green', 'blue', 'yellow')
    return {'config_instance_id': 'x', 'grid_size': size, 'landmarks': [
        {'geom_nr': n + 1, 'body': body, 'color': colours[n], 'start_coordinate': list(start),
         'goal_coordinate': list(goal)}
        for n, (start, goal) in enumerate(zip(starts, goals, strict=True))], **more}


SWAP = ([(0, 0), (1, 0)], [(1, 0), (0, 0)])
"""Two pieces that trade places on four cells: distances 2, shortest solution 4."""


def read(data):
    return formats.read(SLIDING, json.dumps(data), 'x', 'x.json')


@pytest.mark.parametrize(('data', 'message'), [
    (content([(0, 0), (0, 0)], [(0, 0), (1, 0)]), 'red_cube and green_cube are both'),
    (content([(0, 0)], [(2, 0)]), 'outside of the board'),
    (content([(0, 0)], [(-1, 0)]), 'outside of the board'),
    (content([(0, 0)], [(1, 0)], size=1), 'grid_size'),
    (content([(0, 0)], [(1, 0)], body='table'), 'body'),
    (content([(0, 0)], [(1, 0)], shortest_move_sequence=['start', 'move red cube left']),
     'illegal'),
    (content([(0, 0)], [(1, 0)], shortest_move_sequence=['start', 'move red cube up']),
     'does not lead to the goal'),
    (content([(0, 0)], [(1, 0)], random_valid_move_sequence=['start', 'move red cube down']),
     'illegal'),
    (content([(0, 0)], [(1, 0)], random_invalid_move_sequence=['move blue cube up']),
     'names no piece'),
    (content([(0, 0), (1, 0), (0, 1)], [(1, 0), (0, 0), (0, 1)]), 'cannot be reached'),
    ({'grid_size': 2, 'landmarks': []}, 'landmarks'),
])
def test_what_cannot_be_used_is_refused(data, message):
    with pytest.raises(ProblemError, match=message) as caught:
        read(data)
    assert str(caught.value).startswith('x.json')


@pytest.mark.parametrize('field', ['start_coordinate', 'goal_coordinate'])
def test_a_coordinate_must_be_there(field):
    data = content([(0, 0)], [(1, 0)])
    del data['landmarks'][0][field]
    with pytest.raises(ProblemError, match=field):
        read(data)


@pytest.mark.parametrize('c1', [None, 2, 3, 4])
def test_c1_is_what_a_search_finds_whatever_the_file_says(c1, caplog):
    with caplog.at_level(logging.WARNING):
        problem = read(content(*SWAP, **({} if c1 is None else {'complexity_c1': c1})))
    assert problem.optimal_length == 4
    assert ('complexity_c1' in caplog.text) is (c1 not in (None, 4))


def test_a_wrong_c2_is_reported(caplog):
    with caplog.at_level(logging.WARNING):
        read(content(*SWAP, complexity_c1=4, complexity_c2=0))
    assert 'complexity_c2 = 0, but it is 1' in caplog.text


def test_an_invalid_sequence_may_be_illegal_and_done_may_come_last():
    problem = read(content([(0, 0)], [(1, 0)], shortest_move_sequence=[
        'start', 'move red cube right', 'done'], random_invalid_move_sequence=[
            'start', 'move red cube left', 'move red cube down']))
    assert [len(problem.plans[name]) for name in (SEQUENCES[0], SEQUENCES[2])] == [1, 2]


def test_a_full_board_can_be_written():
    full = [(0, 0), (1, 0), (0, 1), (1, 1)]
    problem = read(content(full, full))
    again = formats.read(SLIDING, formats.write(SLIDING, problem), 'x', 'x.json')
    assert again.plans[SEQUENCES[1]] == () if SEQUENCES[1] in again.plans else True
    assert (again.init, again.goal) == (problem.init, problem.goal)


def test_shipped_files_are_written_as_they_were_read():
    folder = SLIDING.split_folder('geoms')
    for path in SLIDING.problem_files(folder)[::40]:
        problem = SLIDING.read_problem(path)
        name, text = SLIDING.problem_file(problem)
        assert name == path.name
        assert json.loads(text) == json.loads(path.read_text())
        config = read_config(json.loads(text), name)
        assert optimal_length(config) == problem.optimal_length == config.c1
