"""Sliding puzzles: replies of models and lines of people as commands."""

from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sightplan.domains.sliding.boards import DIRECTIONS
from sightplan.domains.sliding.replies import (
    OBJECTS,
    REASONS,
    Command,
    named_move,
    read_command,
    read_reply,
    split_description,
)

PIECES = ('red_cube', 'blue_cube', 'blue_sphere', 'green_pyramid', 'yellow_cylinder',
          'light_blue_prism', 'red_prism', 'tile_5', 'tile_12')

STEPS = """
step-by-step plan
1. move the red cylinder to a4:
- action: move the red cylinder left.
2. move the blue cylinder to b4:
- action: move the blue cylinder up.
first action
the first step is to move the red cylinder from tile b4 to tile a4."""

REPAIRS = {'marker', 'separators', 'plural', 'colour_filler', 'tile_number', 'verb', 'command',
           'bare', 'two_word_colour'}

# Reply; command or reason; repairs.
REPLIES = [
    # The form that is asked for, and words around it.
    ('action: move red cube right', 'move red cube right', ''),
    ('Action: Move the blue cube right', 'move blue cube right', ''),
    ('ACTION: MOVE BLUE SPHERE UP', 'move blue sphere up', ''),
    ('action: move blue cube right.', 'move blue cube right', ''),
    ('action: move the small green pyramid downwards', 'move green pyramid down', ''),
    ('action: move the red cube on the board to the left', 'move red cube left', ''),
    ('The cube is blocked.\n\nAction: move yellow cylinder down\n',
     'move yellow cylinder down', ''),
    ('action:\nmove red cube left', 'move red cube left', ''),
    ('action: move "red cube" "left"', 'move red cube left', ''),
    ('action: move <red> <cube> <left>', 'move red cube left', ''),
    ('action: move red cube left</answer>', 'move red cube left', ''),
    ('So my action: move red cube left', 'move red cube left', ''),
    # Several marks: the last one counts, whatever it says.
    ('action: move red cube up\naction: move blue sphere down', 'move blue sphere down', ''),
    (STEPS, 'move blue cylinder up', ''),
    ('action: move red cube up. Then action: move it on', 'no_object', ''),
    # Fixed order of the lists, whatever stands first; words are parts of the text.
    ('action: move blue sphere right, past the red cube', 'move red cube right', ''),
    ('action: move red cube right so that it is up there', 'move red cube right', ''),
    ('action: move red cube down, then to the right', 'move red cube right', ''),
    ('action: move red cube down to the unoccupied cell', 'move red cube up', ''),
    ('action: move red cube leftwards', 'move red cube left', ''),
    ('action: move bright red cube up', 'move red cube right', ''),
    # Flat shapes.
    ('action: move red square left', 'move red cube left', ''),
    ('action: move blue Circle up', 'move blue sphere up', ''),
    ('action: move green triangle down', 'move green pyramid down', ''),
    ('action: move yellow hexagon right', 'move yellow cylinder right', ''),
    ('action: move red semicircle left', 'move red cone left', ''),
    ('action: move red diamond left', 'move red prism left', ''),
    # Markdown.
    ('**Action:** Move red cube right', 'move red cube right', ''),
    ('### Action: move **red cube** right', 'move red cube right', ''),
    ('**action: move red cube right**', 'move red cube right', ''),
    ('`action: move red cube right`', 'move red cube right', ''),
    # Repeats.
    ('action: move red cube right 2', 'move red cube right 2', ''),
    ('action: move red cube right two', 'move red cube right 2', ''),
    ('action: move the red cube two cells right', 'move red cube right 2', ''),
    ('action: move red cube right by 3', 'move red cube right 3', ''),
    ('action: move red cube right 0', 'move red cube right', ''),
    ('action: move red cube right 12', 'move red cube right', ''),
    ('action: move red cube right, which leaves only 3 to go', 'move red cube right', ''),
    # Tiles.
    ('action: move tile 5 down', 'move tile 5 down', ''),
    ('action: move tile #5 down', 'move tile 5 down', ''),
    ('action: move tile 5 down 2', 'move tile 5 down 2', ''),
    ('action: move the tile number 5 up', 'move tile 5 up', 'tile_number'),
    ('action: move tile five up', 'move tile 5 up', 'tile_number'),
    ('action: move tile12 up', 'move tile 12 up', 'tile_number'),
    ('action: move the 12 tile up', 'move tile 12 up', 'tile_number'),
    ('action: move tile up', 'no_colour', ''),
    # Lists of objects with colours, shapes and directions in them.
    ('action: move red cube right\ndescription: a1 blue pyramid, left b2 green cube',
     'move red cube right', ''),
    ('action: move blue sphere up description: a3 red cube 2', 'move blue sphere up', ''),
    ('action: move blue sphere up\n**Description:** left of a1 red cube', 'move blue sphere up',
     ''),
    ('description: a1 red cube, left b2 blue cube\naction: move blue sphere up',
     'move blue sphere up', ''),
    # What is not there.
    ('', 'no_marker', ''),
    ('I would move the red cube right.', 'no_marker', ''),
    ('action: move it right', 'no_object', ''),
    ('action: move cube right', 'no_colour', ''),
    ('action: move the cube right', 'no_colour', ''),
    ('action: move red cube', 'no_direction', ''),
    ('action: move red cube to b3', 'no_direction', ''),
    ('action: red', 'no_marker', ''),
    # Repairs.
    ('action - move red cube right', 'move red cube right', 'marker'),
    ('Action:move red cube right', 'move red cube right', 'marker'),
    ('Action: "move red cube right"', 'move red cube right', 'marker'),
    ('action: move red_cube right', 'move red cube right', 'separators'),
    ('action -> move red-cube right', 'move red cube right', 'marker separators'),
    ('action: move red cubes right', 'move red cube right', 'plural'),
    ('action: move the red coloured cube right', 'move red cube right', 'colour_filler'),
    ('action: red cube right', 'move red cube right', 'verb'),
    ('Action: push the red cube right.', 'move red cube right', 'verb'),
    ('Action: start', 'start', 'command'),
    ('I have seen it.\nMove red cube right.', 'move red cube right', 'bare'),
    ('action: move light blue prism up', 'move light blue prism up', 'two_word_colour'),
    ('action: move light-blue prism up', 'move lightblue prism up', ''),
    # Commands that are no moves.
    ('start', 'start', ''),
    ('Done', 'done', ''),
    ('I am done.\ndone', 'done', 'bare'),
    # Other languages, and garbage.
    ('动作：将红色立方体向右移动', 'no_marker', ''),
    ('Aktion: bewege den roten Würfel nach rechts', 'no_marker', ''),
    ('action: move 红色 cube right', 'move 红色 cube right', ''),
    ('\x00\ud800action: move \x00', 'no_object', ''),
    ('action: move ' * 50, 'no_object', ''),
    ('{"action": "move red cube right"}', 'move red cube right', 'marker'),
]


@pytest.mark.parametrize(('reply', 'expected', 'repairs'), REPLIES)
def test_replies_are_read_as_the_rules_say(reply, expected, repairs):
    command = read_reply(reply)
    assert (command.reason or command.text, ' '.join(command.repairs)) == (expected, repairs)
    assert command.repaired is bool(repairs)


@pytest.mark.parametrize(('reply', 'expected', 'repairs'), [row for row in REPLIES if row[2]])
def test_without_repairs_something_else_is_read(reply, expected, repairs):
    command = read_reply(reply, strict=True)
    assert command.text != expected and not command.repaired
    assert bool(command.reason) is (repairs != 'two_word_colour')


def test_the_table_has_every_repair_and_reason_of_reading():
    assert len(REPLIES) >= 60
    assert {name for row in REPLIES for name in row[2].split()} == REPAIRS
    assert {row[1] for row in REPLIES if row[1] in REASONS} == {
        'no_marker', 'no_object', 'no_colour', 'no_direction'}
    assert read_command('hello').reason == 'no_command'


@pytest.mark.parametrize(('reply', 'expected'), [
    ('action: move red cube right', ('red_cube', 'right')),
    ('action: move light blue prism up', ('light_blue_prism', 'up')),
    ('action: move light-blue prism up', ('light_blue_prism', 'up')),
    ('action: move dark blue sphere up', ('blue_sphere', 'up')),
    ('action: move blue prism up', 'absent'),
    ('action: move green cube up', 'absent'),
    ('action: move tile 5 up', ('tile_5', 'up')),
    ('action: move tile 6 up', 'absent'),
    ('action: move red cube', 'no_direction'),
    ('start', 'not_a_move'),
])
def test_a_move_names_a_piece_of_the_board(reply, expected):
    assert named_move(read_reply(reply), PIECES) == expected


def test_by_the_rules_alone_a_colour_is_one_word():
    command = read_reply('action: move light blue sphere up', strict=True)
    assert command == Command('move', 'blue', 'sphere', None, 'up')


def test_the_list_of_objects_is_returned_as_it_is_written():
    said = 'A description: none.\naction: move red cube up\n'
    rest, listed = split_description(f'{said}Description: A3 green sphere, d1 ...\n')
    assert rest == said
    assert listed == 'A3 green sphere, d1 ...'
    assert split_description('no list') == ('no list', '')
    rest, listed = split_description('description: a1 red cube,\nb1 blue cube\n\n**Action:** move')
    assert (listed, rest.strip()) == ('a1 red cube,\nb1 blue cube', '**Action:** move')


def test_flat_names_are_translated_where_flat_pictures_were_shown_alone():
    for strict in (False, True):
        assert read_reply('action: move red square left', strict, flat=False).reason == 'no_object'
    assert read_reply('move red square left', flat=False).reason == 'no_marker'
    assert read_reply('action: move red cube left', flat=False).text == 'move red cube left'


def test_a_command_in_its_plain_form_is_read_as_itself():
    for text in ('move red cube right', 'move tile 7 up', 'move light blue prism left 4', 'done'):
        assert read_command(text).text == text


# ------------------------------------------------------------------------------------- properties

WORDS = st.lists(st.sampled_from([
    'action', ':', 'action: move ', '-', '\n', 'move', 'the', 'red', 'blue', 'light', 'cube',
    'cubes', 'sphere', 'prism', 'tile', '5', 'five', 'up', 'left', 'right', 'description:', 'a3',
    'start', 'done', ',', '**', '_', 'coloured', 'action:']), max_size=14).map(' '.join)
ANYTHING = st.one_of(st.text(max_size=200), WORDS)


@given(ANYTHING, st.booleans())
@example('action: move tile', False)
@example('action: move 7tiles', False)
@example('move', False)
def test_whatever_is_said_a_command_comes_of_it_that_names_no_absent_piece(text, strict):
    for command in (read_reply(text, strict), read_command(text)):
        assert command.reason in ('', *REASONS) and set(command.repairs) <= REPAIRS
        assert command.verb in ('', 'start', 'move', 'done', 'reset')
        assert bool(command.text) is not bool(command.reason)
        if command.verb == 'move' and not command.reason:
            assert command.shape in OBJECTS and command.direction in DIRECTIONS
            assert 1 <= command.times <= 9
        found = named_move(command, PIECES)
        if isinstance(found, tuple):
            assert found[0] in PIECES and found[1] in DIRECTIONS
        else:
            assert found in REASONS


@given(ANYTHING)
def test_without_repairs_nothing_is_repaired_and_repairs_change_no_valid_move(text):
    strict, repaired = read_reply(text, strict=True), read_reply(text)
    assert not strict.repaired
    if not strict.reason and 'two_word_colour' not in repaired.repairs:
        assert repaired == strict


@given(ANYTHING.filter(lambda text: 'description' not in text.lower()),
       st.lists(st.sampled_from(['a3 green sphere', 'd1 red cube', 'left', 'up', 'tile 5', '2',
                                 'start', 'action: move red cube left']), max_size=5))
@example('START:', [])
def test_the_list_of_objects_changes_no_action(text, items):
    assume(not text.rstrip().lower().endswith('move'))  # a space after it is part of the mark
    listed = ', '.join(items)
    for mark in ('description:', '\n**Description:** '):
        assert read_reply(f'{text}{mark}{listed}') == read_reply(text)
        assert split_description(f'{text} {mark}{listed}')[1] == listed
