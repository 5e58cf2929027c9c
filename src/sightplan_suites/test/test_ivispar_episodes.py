"""Episodes of iVISPAR: one scored by hand, and files that are named with what is wrong in them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from fake_openai import FakeServer, chat
from sightplan import cli
from sightplan.domains.sliding import configs
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run
from sightplan_suites.ivispar import scoring
from sightplan_suites.ivispar.episodes import check

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


def test_what_the_search_does_not_find_is_named_and_not_guessed(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(configs, 'NODE_LIMIT', 0)
    monkeypatch.setattr(scoring, 'Distances', functools.partial(scoring.Distances, limit=0))
    data = write(tmp_path / 'data', shortest_move_sequence=[])
    run(RunSettings(
        suite='ivispar', domain='sliding', problems=str(data), method='moves',
        method_options={'sequence': 'random_invalid_move_sequence'},
        world_options={'pictures': 'none'}, out=str(tmp_path / 'run')))
    assert 'optimum was not found within 0 arrangements' in caplog.text
    line, = RunStore(tmp_path / 'run').lines()
    assert line['optimal_length'] is None and line['measures']['solved'] == 1.0
    assert line['measures']['solved_optimally'] is line['measures']['deviation'] is None
    assert line['details']['distances'] == [None] * 5 + [0]
    assert line['details']['distance_unknown'] == [2, 3, 4], 'classes that were told otherwise'
    summary = json.loads((tmp_path / 'run' / 'summary.json').read_text())
    assert summary['distance_unknown'] == {'episodes': 1, 'actions': 3}


def test_what_disagrees_is_usable_and_called_so(
        tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / 'data', complexity_c2=1)
    (data / 'wrong.json').write_text('[]')
    assert cli.main(['suite', 'ivispar', 'check', '--data', str(data)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f'usable, but: {data}/hand.json: complexity_c2 = 1, but it is 0' in lines
    assert f'skipped: {data}/wrong.json: must hold one JSON object, that of a puzzle' in lines


def test_a_method_that_cannot_work_is_refused_before_the_run(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        'suite': 'ivispar', 'domain': 'sliding', 'problems': str(write(tmp_path / 'data')),
        'world_options': {'pictures': 'none'}, 'out': str(tmp_path / 'run')}
    with pytest.raises(InputError, match=r"hand\.json has no sequence 'best' \(it has shortest"):
        run(RunSettings(**given, method='moves', method_options={'sequence': 'best'}))
    with pytest.raises(InputError, match=r"reading of method ground.*'noisy_reader' writes "
                                         r'none.*openai'):
        run(RunSettings(**given, method='ground', method_options={'reading': True},
                        backend='noisy_reader'))
    with pytest.raises(InputError, match='draws no pictures \\(world option view=text\\)'):
        run(RunSettings(**{**given, 'world_options': {'view': 'text'}}, method='ground',
                        backend='embedded'))
    assert not (tmp_path / 'run').exists()


def words_of(body: dict[str, Any]) -> str:
    """All texts of a request; it must hold no picture."""
    texts = []
    for message in body['messages']:
        parts = message['content']
        for part in [{'type': 'text', 'text': parts}] if isinstance(parts, str) else parts:
            assert part['type'] == 'text', 'a board in words came as a picture'
            texts.append(part['text'])
    return '\n'.join(texts)


@pytest.mark.parametrize('method', ['action', 'plan'])
def test_a_served_model_solves_boards_that_are_described_in_words(
        tmp_path: Path, method: str) -> None:
    step = '{"action": "move", "parameters": {"piece": "red_cube", "direction": "right"}}'
    reply = {'action': 'action: move red cube right', 'plan': f'{{"plan": [{step}]}}'}[method]
    with FakeServer(lambda body, number: chat(reply)) as server:
        run(RunSettings(
            suite='ivispar', domain='sliding', problems=str(write(tmp_path / 'data')),
            method=method, backend='openai', goal='pictured', world_options={'view': 'text'},
            backend_options={'base_url': server.url, 'model': 'served'}, record=True,
            out=str(tmp_path / 'run')))
    line, = RunStore(tmp_path / 'run').lines()
    assert line['measures']['solved'] == 1.0
    said = words_of(server.bodies[0])
    assert 'A1 red cube' in said and 'B1 red cube' in said, 'board and goal are described'
    for word in ('in the picture', 'a picture', 'The goal as a picture'):
        assert word not in said, 'no prompt about a description speaks of a picture'


@pytest.mark.parametrize('method', ['ground', 'belief', 'decode', 'ground_cot'])
def test_a_model_that_only_looks_is_refused_for_boards_in_words(tmp_path: Path, method: str,
                                                                ) -> None:
    with pytest.raises(InputError, match=r"'embedded' cannot answer yes/no questions about a "
                                         r'description.*view=text.*leave.*out.*openai.*transformers'):
        run(RunSettings(
            suite='ivispar', domain='sliding', problems=str(write(tmp_path / 'data')),
            method=method, world_options={'view': 'text'}, out=str(tmp_path / 'run')))
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize(('changes', 'said'), [
    ({'landmarks': [{**puzzle()['landmarks'][0], 'start_coordinate': [0, 1]},
                    puzzle()['landmarks'][1]]}, 'start_coordinate'),
    ({'landmarks': [{**puzzle()['landmarks'][0], 'goal_coordinate': [2, 0]}]}, 'outside'),
    ({'landmarks': [{'geom_nr': 1, 'body': 'cube', 'color': 'red',
                     'start_coordinate': [0, 0]}]}, 'goal_coordinate'),
    ({'shortest_move_sequence': ['start', 'move red cube up']}, 'shortest_move_sequence'),
    ({'complexity_c1': 3, 'shortest_move_sequence': []}, 'complexity_c1 = 3'),
    ({'complexity_c2': 1}, 'complexity_c2 = 1'), ({'grid_size': 9}, 'grid_size'),
    ({'landmarks': []}, 'landmarks is empty (a puzzle has at least one piece)'),
    ({'experiment_type': 'Maze'}, "experiment_type = 'Maze' is unknown (write SlidingGeomPuzzle"),
    ({'landmarks': [{**puzzle()['landmarks'][0], 'geom_nr': 0}]}, 'geom_nr = 0'),
    ({'landmarks': [{**puzzle()['landmarks'][0], 'color': 'r/d'}]}, 'write letters, digits')])
def test_what_is_wrong_in_a_file_is_named(changes: dict[str, Any], said: str, tmp_path: Path,
                                          ) -> None:
    report = check(write(tmp_path / 'data', **changes))
    usable = 'complexity' in said
    found, = report.noted if usable else report.skipped
    assert said in found['reason'] and found['file'].endswith('hand.json')
    assert 'hand.json' not in found['reason'], 'the file is named once'
    assert not (report.skipped if usable else report.noted)
    assert report.counts['problems'] == usable, 'what only says something wrong can be played'
