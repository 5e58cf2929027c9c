"""The comparison of what a sentence was read as with what its writer wants, by hand-made cases."""

from __future__ import annotations

import json

import pytest

import people_sentences as study
from sightplan.model import Instance
from sightplan.model.region import Form, Region


def thing(name, colour, x, y, opened=None, category=''):
    box = Region(Form.BOX, ((x - 0.03, y - 0.03), (x + 0.03, y + 0.03)))
    return Instance(name, box, {category or name.partition('_')[0]: 1.0},
                    {colour: 1.0} if colour else {}, opened)


SCENE = study.Scene(4 / 3, (
    thing('mug_1', 'red', 0.1, 0.5), thing('mug_2', 'red', 0.3, 0.5),
    thing('apple_1', 'green', 0.6, 0.5), thing('tray_1', 'grey', 0.4, 0.8),
    thing('bowl_1', 'blue', 0.7, 0.8), thing('drawer_1', '', 0.8, 0.2, 1.0, 'drawer:top'),
    thing('drawer_2', '', 0.8, 0.3, 0.0, 'drawer:bottom')))
MUG1, MUG2, APPLE, TRAY, BOWL, TOP, BOTTOM = range(1, 8)


def judged(text, goal, note=''):
    return study.judged({'text': text, 'goal': goal, 'note': note}, SCENE)[0]


def moves(*pairs, **more):
    return {'moves': [{'things': list(things), 'to': to} for things, to in pairs], **more}


BOTH_MUGS = 'Put both mugs on the tray.'


@pytest.mark.parametrize(('text', 'goal', 'said'), [
    (BOTH_MUGS, moves(([MUG1, MUG2], TRAY)), study.RIGHT),
    (BOTH_MUGS, moves(([MUG1], TRAY)), study.WRONG),
    (BOTH_MUGS, moves(([MUG1, MUG2, APPLE], TRAY)), study.WRONG),
    (BOTH_MUGS, moves(([MUG1, MUG2], BOWL)), study.WRONG),
    (BOTH_MUGS, {'unclear': True}, study.WRONG),
    (BOTH_MUGS, moves(([MUG1], TRAY), other_goals=[moves(([MUG1, MUG2], TRAY))]), study.RIGHT),
    (BOTH_MUGS, {'moves': [{'things': [MUG1, MUG2], 'to_one_of': [BOWL, TRAY]}]}, study.RIGHT),
    (BOTH_MUGS, {'moves': [{'one_of': [MUG1, MUG2], 'any': 2, 'to': TRAY}]}, study.RIGHT),
    (BOTH_MUGS, {'moves': [{'one_of': [MUG1, MUG2], 'to': TRAY}]}, study.WRONG),
    ('Put a mug on the tray.', {'moves': [{'one_of': [MUG1, MUG2], 'to': TRAY}]}, study.RIGHT),
    ('One mug on the tray, the other one in the bowl.', {'moves': [
        {'one_of': [MUG1, MUG2], 'to': TRAY}, {'one_of': [MUG1, MUG2], 'to': BOWL}]}, study.RIGHT),
    ('Put the zebra on the tray.', {'unclear': True}, study.RIGHT),
    ('Put the zebra on the tray.', moves(([APPLE], TRAY)), study.REFUSED),
    # Drawers.
    ('Close the top drawer.', {'drawers': {str(TOP): 'closed'}}, study.RIGHT),
    ('Close the top drawer.', {'drawers': {str(TOP): 'open'}}, study.WRONG),
    ('Close the top drawer.', {'drawers': {}}, study.WRONG),
    ('Open the bottom drawer.', {'drawers': {str(BOTTOM): 'open'}}, study.RIGHT),
    ('Make sure that the top drawer is open.', {}, study.RIGHT),
    ('Put the apple in the top drawer.', moves(([APPLE], TOP)), study.RIGHT),
    ('Put the apple in the top drawer.', moves(([APPLE], TOP), drawers={str(TOP): 'closed'}),
     study.WRONG),
    ('Put the apple in the top drawer and close it.',
     moves(([APPLE], TOP), optional_drawers={str(TOP): 'closed'}), study.RIGHT),
    ('Hide the apple in the bottom drawer.',
     moves(([APPLE], BOTTOM), drawers={str(BOTTOM): 'closed'}), study.RIGHT),
    ('Put the apple on the tray and close the top drawer.', moves(([APPLE], TRAY)), study.WRONG),
])
def test_what_would_be_true_is_compared_with_the_goal(text, goal, said) -> None:
    assert judged(text, goal) == said


def test_what_stands_next_to_what_counts_where_it_is_told() -> None:
    text = 'Put the apple next to the bowl.'
    assert judged(text, moves(([APPLE], 'table'))) == study.RIGHT
    assert judged(text, moves(([APPLE], 'table')), f'beside {BOWL}') == study.RIGHT
    assert judged(text, moves(([APPLE], 'table')), f'beside {TRAY}') == study.WRONG


def test_a_refusal_is_counted_by_its_word() -> None:
    _, why = study.judged({'text': 'Put the zebra on the tray.', 'goal': {}}, SCENE)
    assert study.word_of(why) == 'zebra'


def test_every_tuning_sentence_has_its_scene() -> None:
    scenes = json.loads((study.DATA / 'scenes.json').read_text())
    records = [json.loads(line) for line in (study.DATA / 'tune.jsonl').read_text().splitlines()]
    assert len(records) == 144
    counts = {study.RIGHT: 0, study.WRONG: 0, study.REFUSED: 0}
    for record in records:
        scene = study.scene_of(scenes[record['scene']], record['numbers'])
        counts[study.judged(record, scene)[0]] += 1
    assert counts[study.WRONG] == 0
    assert counts[study.RIGHT] >= 136
