"""Playing by hand: the game over real HTTP, what it records, and what it never tells."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from PIL import Image

from play_case import BLUE, KEYS, RED, SMALL, playing, settings_for, write_puzzles
from sightplan import cli
from sightplan.agent import make_policy
from sightplan.domains import load_domain
from sightplan.domains.sliding import by_hand
from sightplan.domains.sliding.marks import TINTS
from sightplan.model import Action, InputError
from sightplan.runs import run
from sightplan_report.playing import Game


def lines_of(folder):
    return [json.loads(line) for line in (folder / 'episodes.jsonl').read_text().splitlines()]


def pixels(session, view):
    status, kind, data = session.ask(f'pictures/{view["picture"]}')
    assert (status, kind) == (200, 'image/png')
    return np.asarray(Image.open(io.BytesIO(data)))


def test_a_run_is_played_to_its_end_and_recorded_as_that_of_any_method(tmp_path):
    with playing(settings_for(tmp_path)) as session:
        told = session.until(lambda told: told['phase'] == 'ready')
        assert (told['puzzle'], told['puzzles'], told['now'], told['pieces']) == (1, 2, None, [])
        told = session.begin()
        assert (told['player'], told['moves'], told['budget']) == ('ann', 0, 20)
        assert told['pieces'][0] == {'name': RED, 'words': 'red cube', 'colour': 'red',
                                     'shape': 'cube', 'number': None}
        for view, tint in (('now', 'active'), ('goal', 'goal')):
            image = pixels(session, told[view])
            assert image.shape == (72, 96, 3)
            assert tuple(image[-1, 0]) == TINTS[tint]
        session.say('type', line='move red square left')
        session.say('move', piece=RED, direction='up')
        told = session.until(lambda told: told['moves'] == 2 and not told['waiting'])
        assert told['log'] == [{'words': 'red cube left', 'refused': 'there is no next cell'},
                               {'words': 'red cube up', 'refused': 'the next cell is taken'}]
        session.say('move', piece=RED, direction='right')
        told = session.until(lambda told: told['phase'] == 'over')
        assert (told['verdict'], told['puzzle'], told['solved']) == ('solved', 1, 1)
        np.testing.assert_array_equal(*(pixels(session, told[view])[30:] == TINTS[tint]
                                        for view, tint in (('now', 'active'), ('goal', 'goal'))))
        session.begin()
        session.say('type', line='start, red cube right, red cube up')
        session.until(lambda told: told['phase'] == 'ended')
        summary = session.summary.result(timeout=60)
    assert (summary['solved'], summary['scored'], summary['interrupted']) == (2, 2, False)
    lines = lines_of(tmp_path / 'run')
    assert [line['answer'] for line in lines] == [
        ['move(red_cube, left)', 'move(red_cube, up)', 'move(red_cube, right)'],
        ['move(red_cube, right)', 'move(red_cube, up)']]
    assert {(line['method'], line['model'], line['stop']) for line in lines} == {
        ('human', 'human ann', 'goal_reached')}
    assert lines[0]['last_observation']['image_id'] != lines[0]['actions'][-1]['image_id']
    identity = json.loads((tmp_path / 'run' / 'run.json').read_text())['identity']
    assert (identity['method'], identity['model']) == ({'name': 'human'}, 'human ann')
    run(settings_for(tmp_path, method='random', out=str(tmp_path / 'other')))
    other = lines_of(tmp_path / 'other')
    assert [set(line) for line in lines] == [set(line) for line in other]
    assert [set(line['measures']) for line in lines] == [set(line['measures']) for line in other]


def test_moves_are_classed_as_those_of_models(tmp_path):
    """By the suite's split, whose first puzzle is known; no one calls the person's typos moves."""
    settings = settings_for(tmp_path, problems='', split='tiles', episodes=1, max_actions=3,
                            goal='suite', stop_at_goal='suite')
    with playing(settings) as session:
        session.begin()
        status, _, told = session.ask('type', {'puzzle': 1, 'line': 'tile 99 up'})
        assert (status, told['error'].partition(';')[0]) == (
            400, '"tile 99 up": there is no tile 99')
        for _ in range(3):  # it has neighbours on all sides, or lies at the edge
            session.say('move', piece='tile_1', direction='left')
        session.until(lambda told: told['phase'] == 'ended' and told['verdict'] == 'no move left')
    line, = lines_of(tmp_path / 'run')
    assert line['suite'] == 'ivispar' and line['stop'] == 'budget'
    assert sum(line['measures'][kind] for kind in ('EM', 'IM', 'OD', 'OB')) == 3
    assert line['measures']['IC'] == 0


def test_a_person_is_told_what_a_method_is_told_and_no_more(tmp_path):
    with playing(settings_for(tmp_path)) as session:
        told = session.begin()
        assert set(told) == KEYS
        assert set(told['now']) == {'picture', 'text'}
        for word in ('secret', 'c1', 'optimal', '"a1"', 'init'):
            assert word not in json.dumps(told)


def test_goal_and_board_in_words(tmp_path):
    with playing(settings_for(tmp_path, goal='told', world_options={'view': 'text'})) as session:
        told = session.begin()
        assert told['now'] == {'picture': None, 'text': 'A1 red cube\nA2 blue sphere'}
        assert 'The red cube needs to be on cell B1.' in told['goal']['text']
        assert told['goal']['picture'] is None


def test_a_refusal_drops_what_comes_after_it_on_its_line(tmp_path):
    with playing(settings_for(tmp_path)) as session:
        session.begin()
        session.say('type', line='blue sphere right, blue sphere up, blue sphere up, done')
        session.say('type', line='red cube left')
        told = session.until(lambda told: told['moves'] == 3 and not told['waiting'])
        assert [one['refused'] for one in told['log']] == [
            '', 'there is no next cell; dropped what came after it (2)', 'there is no next cell']


def test_no_more_moves_are_taken_than_are_left(tmp_path):
    with playing(settings_for(tmp_path, max_actions=3)) as session:
        session.begin()
        status, _, told = session.ask('type', {'puzzle': 1, 'line': 'blue sphere right 4'})
        assert (status, told['error']) == (400, 'these are 4 moves, and 3 are left')
        assert session.state()['moves'] == 0
        session.say('type', line='blue sphere right, blue sphere left 2')
        session.until(lambda told: told['verdict'] == 'no move left' and told['moves'] == 3)


def test_who_is_not_told_of_the_goal_says_when_it_is_reached(tmp_path):
    with playing(settings_for(tmp_path, stop_at_goal='no')) as session:
        assert session.begin()['stops_at_goal'] is False
        session.say('type', line='red cube right, done, red cube left')
        told = session.until(lambda told: told['phase'] == 'over')
        assert (told['verdict'], told['solved']) == ('done', 0)
    line, = lines_of(tmp_path / 'run')
    assert (line['stop'], line['measures']['solved'], line['steps']) == ('plan_done', 1.0, 1)


def test_a_puzzle_that_was_begun_is_played_again_by_the_same_person_alone(tmp_path):
    settings = settings_for(tmp_path)
    with playing(settings) as session:
        session.begin()
        session.say('give_up')
        assert session.until(lambda told: told['phase'] == 'over')['verdict'] == 'given up'
        session.begin()
        session.say('move', piece=RED, direction='right')
        session.settled()
    summary = session.summary.result(timeout=60)
    assert (summary['interrupted'], summary['items'], summary['stops']) == (
        True, 1, {'gave_up': 1})
    with playing(settings, 'bob') as session, pytest.raises(InputError, match='human ann'):
        session.summary.result(timeout=60)
    with playing(settings) as session:
        told = session.begin()
        assert (told['puzzle'], told['moves'], told['solved']) == (2, 0, 0)
        session.say('type', line='red cube right, red cube up')
        session.until(lambda told: told['phase'] == 'ended')
    assert [line['stop'] for line in lines_of(tmp_path / 'run')] == ['gave_up', 'goal_reached']


def test_the_page_its_files_and_nothing_else_are_served(tmp_path):
    with playing(settings_for(tmp_path)) as session:
        session.until(lambda told: told['phase'] == 'ready')
        for where, kind in (('', 'text/html'), ('play.css', 'text/css'),
                            ('play.js', 'text/javascript'), ('state', 'application/json')):
            status, found, body = session.ask(where)
            assert status == 200 and body and found.startswith(kind)
        for where in ('pictures/999', 'pictures/x', 'pictures/', 'state/x', 'state/-1', 'move',
                      '../server.py', 'play.js/..', 'pictures/' + '9' * 5000):
            assert session.ask(where)[0] == 404, where
        for where in ('state', 'play.js', ''):
            assert session.ask(where, token='wrong')[0] == 403
            assert session.ask(where, token='')[0] == 403
            assert session.ask(where, Host='evil.example')[0] == 403
        assert session.ask('go_on', {'puzzle': 1}, token='wrong')[0] == 403
        assert session.ask('go_on', {'puzzle': 1}, Origin='http://evil.example')[0] == 403
        assert session.state()['phase'] == 'ready'


def test_wrong_requests_are_refused_and_change_nothing(tmp_path):
    with playing(settings_for(tmp_path)) as session:
        session.until(lambda told: told['phase'] == 'ready')
        status, _, told = session.ask('move', {'puzzle': 1, 'piece': RED, 'direction': 'up'})
        assert (status, told['error']) == (409, 'this puzzle is not being played')
        assert session.ask('go_on', {'puzzle': 2})[0] == 409
        session.begin()
        move = {'puzzle': 1, 'piece': RED, 'direction': 'right'}
        for where, content, status, words in (
                ('move', {**move, 'piece': 'pink_cube'}, 400, "'pink_cube': there is no such"),
                ('move', {**move, 'direction': 'north'}, 400, 'there are left, right, up, down'),
                ('move', {**move, 'puzzle': 2}, 409, 'not being played'),
                ('move', {**move, 'puzzle': '1'}, 400, 'puzzle'),
                ('move', {**move, 'times': 2}, 400, 'times'),
                ('move', {'puzzle': 1}, 400, 'piece'),
                ('move', [], 400, 'request'),
                ('type', {'puzzle': 1, 'line': ' , '}, 400, 'type a command, such as'),
                ('type', {'puzzle': 1, 'line': 'red cube right, hm'}, 400, '"hm"'),
                ('type', {'puzzle': 1, 'line': 'reset'}, 400, 'cannot be started again'),
                ('type', {'puzzle': 1, 'line': 7}, 400, 'line'),
                ('give_up', {'puzzle': 3}, 409, 'not being played'),
                ('go_on', {'puzzle': 1}, 409, 'not over'),
                ('jump', {'puzzle': 1}, 404, 'no such page'),
                ('move', b'{', 400, 'is not JSON'),
                ('move', b' ' * 5000, 413, 'at most')):
            got, _, told = session.ask(where, content)
            assert got == status and words in told['error'], (where, content, told)
        assert session.ask('move', move, **{'Content-Type': 'text/plain'})[0] == 415
        told = session.state()
        assert (told['moves'], told['waiting'], told['phase']) == (0, 0, 'playing')


@pytest.mark.parametrize(('line', 'found'), [
    ('move red cube left', [f'move({RED}, left)']),
    ('RED Cube Left; move the blue circle up 2',
     [f'move({RED}, left)', f'move({BLUE}, up)', f'move({BLUE}, up)']),
    ('start, move red_cube to the right', ['start', f'move({RED}, right)']),
    ('push  the red square to the left.', [f'move({RED}, left)']),
    ('blue-sphere down two times', [f'move({BLUE}, down)'] * 2),
    ('blue sphere up 9', [f'move({BLUE}, up)'] * 9),
    ('done', ['done'])])
def test_typed_lines(tmp_path, line, found):
    path = write_puzzles(tmp_path / 'p') / 'secret_c1_1.json'
    problem = load_domain('sliding').read_problem(path)
    assert [str(one) for one in by_hand.read_line(problem, line)] == found


@pytest.mark.parametrize('name', ['tile 5', 'tile5', 'TILE_5', 'tile number five', 'the tile #5'])
def test_typed_lines_about_tiles(name):
    problem = load_domain('sliding').split_problems('tiles')[0]
    found = by_hand.read_line(problem, f'{name} down 5')
    assert [str(one) for one in found] == ['move(tile_5, down)'] * 5
    for wrong in (f'{name} 6 down', f'{name} tile 6 down', f'{name} down down'):
        with pytest.raises(InputError, match='does not belong to it'):
            by_hand.read_line(problem, wrong)


@pytest.mark.parametrize(('line', 'words'), [
    ('red cube', 'it lacks a direction'), ('cube left', 'it lacks the colour'),
    ('move it left', 'it names no piece'), ('green cube left', 'there is no green cube'),
    ('tile 3 left', 'there is no tile 3'),
    ('blue sphere up 2 999999', '"999999" does not belong to it'),
    ('red cube left done', '"done" does not belong to it'),
    ('done red cube left', '"done" does not belong to it'),
    ('red cube left and blue cube up', '"and blue cube up" does not .*commas separate'),
    ('red cube left up', '"up" does not belong to it'),
    ('red cube left left', '"left" does not belong to it'),
    ('not red cube left', '"not" does not belong to it'),
    ('red cube up 0', '"0" does not belong to it: how often .* 1 to 9'),
    ('red cube up -1', '"-1" does not belong to it'),
    ('red cube up 2.5', '"2.5" does not belong to it'),
    ('red cube up 1000000', '"1000000" does not belong to it'),
    ('red cube 2 up', '"2" does not belong to it: how often .* behind the direction'),
    ('dark blue sphere up', '"dark" does not belong to it'),
    ('red cube left, blue sphere', 'it lacks a direction'),
    ('start now', 'it names no piece')])
def test_typed_lines_that_cannot_be_read(tmp_path, line, words):
    path = write_puzzles(tmp_path / 'p') / 'secret_c1_1.json'
    problem = load_domain('sliding').read_problem(path)
    with pytest.raises(InputError, match=words):
        by_hand.read_line(problem, line)


def test_a_typed_line_that_cannot_be_read_is_quoted_on_one_line_and_short():
    domain = load_domain('sliding')
    problem = domain.split_problems(domain.splits[0])[0]
    for line in ('red ' + 'x' * 100_000, 'red\udcff\0 cube', 'reset' + ' ' * 9000):
        with pytest.raises(InputError, match=r'.') as error:
            by_hand.read_line(problem, line)
        assert len(str(error.value)) < 300 and str(error.value).isprintable()


def test_a_domain_without_a_part_for_people_cannot_be_played():
    with pytest.raises(InputError, match='blocksworld.*cannot be played by hand.*by_hand.py'):
        Game(load_domain('blocksworld'), 'ann')


def test_without_a_person_the_method_says_what_to_use(tmp_path, capsys):
    with pytest.raises(InputError, match='use sightplan play'):
        make_policy('human')
    out = tmp_path / 'run'
    assert cli.main(['run', '--domain', 'sliding', '--split', 'geoms', '--method', 'human',
                     '--out', str(out)]) == 2
    assert 'use sightplan play' in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(('arguments', 'words'), [
    (['--port', '65536'], '--port 65536'), (['--player', 'a\nb'], '--player'),
    (['--domain', 'blocksworld', '--split', 'simple'], 'cannot be played by hand'),
    (['--world-option', 'pictures=none'], 'a person would see nothing'),
    (['--split', 'none'], 'none'), (['--episodes', '-1'], 'episodes')])
def test_bad_usage_is_met_with_words(tmp_path, monkeypatch, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert cli.main(['play', '--no-browser', *arguments]) == 2
    out, err = capsys.readouterr()
    assert words in err and not out and 'http' not in err
    assert not list(tmp_path.iterdir())


def test_a_session_from_the_shell_ends_with_ctrl_c(tmp_path):
    write_puzzles(tmp_path / 'puzzles')
    command = [sys.executable, '-m', 'sightplan.cli', 'play', '--json', '--no-browser', '--player',
               'ann', '--problems', 'puzzles', '--stop-at-goal', 'yes', '--goal', 'pictured',
               '--out', 'run', *(part for name, value in SMALL.items()
                                 for part in ('--world-option', f'{name}={value}'))]
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=os.environ) as process:
        try:
            found = None
            while not found:
                line = process.stderr.readline()
                assert line, 'it ended'
                found = re.search(r'open (http://127\.0\.0\.1:\d+/\S+/)$', line)
            for path, content in (('go_on', {}), ('type', {'line': 'red cube right'})):
                told = {'phase': ''}
                while told['phase'] not in ('ready', 'playing') or (
                        path == 'type' and told['phase'] == 'ready'):
                    with urllib.request.urlopen(f'{found[1]}state', timeout=240) as reply:
                        told = json.load(reply)
                with urllib.request.urlopen(urllib.request.Request(
                        f'{found[1]}{path}', json.dumps({'puzzle': 1, **content}).encode(),
                        {'Content-Type': 'application/json'}), timeout=240) as reply:
                    assert reply.status == 200
            while '[1/2]' not in line:
                line = process.stderr.readline()
                assert line, 'it ended'
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 0, err
    summary = json.loads(out.splitlines()[-1])
    assert (summary['interrupted'], summary['solved'], summary['model']) == (True, 1, 'human ann')
    assert 'ended after 1 of 2 puzzles; the same command with --out' in err
    told = line + err.partition('Ctrl-C ends')[2].partition('sightplan play: ended')[0]
    assert '[1/2] 1 moves, ' in told and 'secret' not in told and 'solved' not in told
    assert Action.parse(lines_of(tmp_path / 'run')[0]['answer'][0]) == Action(
        'move', (RED, 'right'))
