"""iVISPAR: the verb that reads replies as commands."""

from __future__ import annotations

import argparse
import json

import pytest

from sightplan_suites.ivispar import commands

CONFIG = {
    'config_instance_id': 'set_b_4_g_2_c1_3_c2_0_i_0', 'experiment_type': 'SlidingGeomPuzzle',
    'complexity_c1': 3, 'complexity_c2': 0, 'grid_size': 4,
    'landmarks': [
        {'geom_nr': 1, 'body': 'cube', 'color': 'red', 'start_coordinate': [0, 0],
         'goal_coordinate': [0, 2]},
        {'geom_nr': 2, 'body': 'sphere', 'color': 'light blue', 'start_coordinate': [1, 0],
         'goal_coordinate': [2, 0]}],
    'shortest_move_sequence': ['start', 'move red cube up', 'move red cube up',
                               'move light blue sphere right']}
TILES = {
    'config_instance_id': 'tiles', 'experiment_type': 'SlidingGeomPuzzle', 'grid_size': 2,
    'landmarks': [
        {'geom_nr': number, 'body': 'tile', 'color': 'green', 'start_coordinate': start,
         'goal_coordinate': goal} for number, start, goal in (
            (1, [0, 1], [0, 1]), (2, [1, 0], [1, 1]), (3, [0, 0], [0, 0]))]}


@pytest.fixture
def parse(tmp_path, capsys):
    """Runs the verb as the command line would; gives exit code, result and standard error."""
    parser = argparse.ArgumentParser(prog='sightplan suite ivispar')
    commands.add_parsers(parser.add_subparsers())

    def run(*lines, options=()):
        path = tmp_path / 'replies.jsonl'
        path.write_text(''.join((line if isinstance(line, str) else json.dumps(line)) + '\n'
                                for line in lines), 'utf-8')
        arguments = parser.parse_args(['parse', '--replies', str(path), '--json', *options])
        code = arguments.main(arguments)
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]) if out else None, err
    return run


def line(reply, **more):
    return {'id': '1', 'reply': reply, 'modality': '3d', **more}


def test_replies_to_a_puzzle_get_their_class(parse, tmp_path):
    (tmp_path / 'puzzle.json').write_text(json.dumps(CONFIG), 'utf-8')
    replies = {
        'action: move red cube up': ('move red cube up', '', 'EM'),
        'action: move light blue sphere up': ('move light blue sphere up', '', 'IM'),
        'action: move red cube right': ('move red cube right', '', 'OD'),
        'action: move red cube left': ('move red cube left', '', 'OB'),
        'action: move blue sphere right': ('move blue sphere right', 'absent', 'IC'),
        'action: move red cube': ('', 'no_direction', 'IC'),
        'nothing': ('', 'no_marker', 'IC'),
        'start': ('start', '', None)}
    for config in (CONFIG, 'puzzle.json', str(tmp_path / 'puzzle.json')):
        code, found, _ = parse(*(line(reply, config=config) for reply in replies))
        assert code == 0 and [
            (one['command'], one['reason'], one['class']) for one in found['replies']
        ] == list(replies.values())
    assert found['classes'] == {'EM': 1, 'IC': 3, 'IM': 1, 'OB': 1, 'OD': 1}
    assert found['repairs'] == {'two_word_colour': 1}


def test_flat_names_count_where_the_pictures_were_flat(parse):
    _, found, _ = parse(*(line('action: move red square up', config=CONFIG, modality=modality)
                          for modality in ('2d', '3d', 'text')))
    assert [(one['command'], one['reason'], one['class']) for one in found['replies']] == [
        ('move red cube up', '', 'EM'), ('', 'no_object', 'IC'), ('', 'no_object', 'IC')]


def test_a_state_counts_instead_of_the_start(parse):
    code, found, _ = parse(
        line('action: move red cube up', config=CONFIG, state=[[0, 2], [2, 0]]),
        line('action: move red cube up 3', config=CONFIG, state=[[0, 0], [2, 0]]),
        line('action: move tile number 2 up', config=TILES))
    assert code == 0
    assert [one['classes'] for one in found['replies']] == [['IM'], ['EM', 'EM', 'IM'], ['EM']]
    assert found['replies'][2] == {
        'id': '1', 'command': 'move tile 2 up', 'reason': '', 'class': 'EM', 'classes': ['EM'],
        'repaired': True, 'repairs': ['tile_number']}


def test_without_a_puzzle_a_reply_is_a_move_or_not(parse):
    code, found, err = parse(line('action: move red cube up'), line('up'), line('start'), '',
                             line('action - move red cube up'))
    assert code == 0 and 'move red cube up' in err
    assert [one['class'] for one in found['replies']] == ['move', 'IC', None, 'move']
    assert [one['repaired'] for one in found['replies']] == [False, False, False, True]
    _, found, _ = parse(line('action - move red cube up'), options=['--strict'])
    assert found['replies'][0]['reason'] == 'no_marker' and found['repairs'] == {}


@pytest.mark.parametrize(('content', 'expected'), [
    ('{"id": "1"', 'replies.jsonl:1: is not JSON'),
    ('[]', 'replies.jsonl:1: is not a JSON object'),
    ({'id': '1'}, 'replies.jsonl:1: reply is missing'),
    (line('a', modality='4d'), "modality = '4d'"),
    (line('a', state=[[0, 0]]), 'state is there without a puzzle'),
    (line('a', config=CONFIG, state=[[0, 0]]), 'state has 1 coordinates, and the puzzle 2'),
    (line('a', config=CONFIG, state=[[0, 0], [0, 4]]), 'state: [0, 4] is outside of the board'),
    (line('a', config=CONFIG, state=[[0, 0], [0, 0]]), 'two pieces have the same coordinates'),
    (line('a', config='nowhere.json'), 'nowhere.json: cannot be read'),
    (line('a', config={'grid_size': 4}), 'replies.jsonl:1: config: landmarks is missing'),
])
def test_bad_lines_are_named(parse, content, expected):
    code, found, err = parse(content)
    assert (code, found) == (2, None) and expected in err


def test_a_file_without_replies_is_no_success(parse):
    code, found, err = parse()
    assert code == 1 and found['replies'] == [] and 'holds no reply' in err
