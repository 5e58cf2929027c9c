"""Episodes of iVISPAR: one scored by hand, and files that are named with what is wrong in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan.suites.ivispar.episodes import check

pytest.importorskip('sightplan_sim.sliding.world')


def puzzle(**changes: Any) -> dict[str, Any]:
    """A red cube that shall go one cell to the right, on four cells, with a sphere above it."""
    return {'config_instance_id': 'hand', 'grid_size': 2, 'complexity_c1': 1, 'complexity_c2': 0,
            'landmarks': [
                {'geom_nr': 1, 'body': 'cube', 'color': 'red', 'start_coordinate': [0, 0],
                 'goal_coordinate': [1, 0]},
                {'geom_nr': 2, 'body': 'sphere', 'color': 'blue', 'start_coordinate': [0, 1],
                 'goal_coordinate': [0, 1]}],
            'shortest_move_sequence': ['start', 'move red cube right', 'done'],
            'random_valid_move_sequence': ['start', 'move blue sphere right'],
            'random_invalid_move_sequence': [
                'start', 'move red cube up', 'move red cube left', 'move blue sphere right',
                'move blue sphere left', 'move red cube right'], **changes}


def write(folder: Path, **changes: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / 'hand.json').write_text(json.dumps(puzzle(**changes)))
    return folder


def test_an_episode_scored_by_hand(tmp_path: Path) -> None:
    """Onto the sphere, off the board, away, back, and home: 1, 1, 1, 2, 1, 0 moves to go."""
    run(RunSettings(
        suite='ivispar', domain='sliding', problems=str(write(tmp_path / 'data')),
        method='moves', method_options={'sequence': 'random_invalid_move_sequence'},
        world_options={'pictures': 'none'}, stop_at_goal='yes', goal='pictured',
        out=str(tmp_path / 'run')))
    line, = RunStore(tmp_path / 'run').lines()
    assert line['details'] == {'pieces': 2, 'distances': [1, 1, 1, 2, 1, 0],
                               'classes': ['OD', 'OB', 'IM', 'EM', 'EM']}
    assert line['goal'] == 'pictured' and line['stop'] == 'goal_reached'
    measures = line['measures']
    assert {name: measures[name] for name in ('solved', 'deviation', 'minimum', 'progress',
                                              'solved_optimally')} == {
        'solved': 1.0, 'deviation': 1, 'minimum': 0, 'progress': 100.0, 'solved_optimally': 0.0}
    assert [measures[kind] for kind in ('EM', 'IM', 'OD', 'OB', 'IC')] == [2, 1, 1, 1, 0]


@pytest.mark.parametrize(('changes', 'said'), [
    ({'landmarks': [{**puzzle()['landmarks'][0], 'start_coordinate': [0, 1]},
                    puzzle()['landmarks'][1]]}, 'start_coordinate'),
    ({'landmarks': [{**puzzle()['landmarks'][0], 'goal_coordinate': [2, 0]}]}, 'outside'),
    ({'landmarks': [{'geom_nr': 1, 'body': 'cube', 'color': 'red',
                     'start_coordinate': [0, 0]}]}, 'goal_coordinate'),
    ({'shortest_move_sequence': ['start', 'move red cube up']}, 'shortest_move_sequence'),
    ({'complexity_c1': 3, 'shortest_move_sequence': []}, 'complexity_c1 = 3'),
    ({'complexity_c2': 1}, 'complexity_c2 = 1'), ({'grid_size': 9}, 'grid_size')])
def test_what_is_wrong_in_a_file_is_named(changes: dict[str, Any], said: str, tmp_path: Path,
                                          ) -> None:
    report = check(write(tmp_path / 'data', **changes))
    found, = report.skipped
    assert said in found['reason'] and 'hand.json' in found['reason']
    usable = 'complexity' in said
    assert report.counts['problems'] == usable, 'what only says something wrong can be played'
