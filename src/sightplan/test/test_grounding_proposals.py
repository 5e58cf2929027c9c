"""Goals that a model proposes for an instruction, by numbers of things."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.grounding.instructions import (
    Instance,
    UnreadError,
    UnresolvedError,
    propose_goal,
    read_goal,
)
from sightplan.model import Form, InputError, Region
from sightplan.model.query import Deadline, ModelByKind, answers
from sightplan.queries import Generate, TextReply

PICTURE = np.full((60, 80, 3), 90, np.uint8)
KINDS = ('mug', 'apple', 'tray', 'drawer:top', 'drawer:bottom', 'cabinet')
SEEN = tuple(Instance(f'{kind.replace(":", "_")}_1', Region(Form.BOX, (
    (k / 10, 0.2), (k / 10 + 0.08, 0.4))), {kind: 0.9}, {}) for k, kind in enumerate(KINDS))
MUG, APPLE, TRAY, TOP, BOTTOM, CABINET = range(1, 7)


def put(*pairs: tuple[int, int], **more: Any) -> dict[str, Any]:
    return {'put': [{'thing': thing, 'into': place} for thing, place in pairs], **more}


def goal(*stages: Any) -> str:
    return json.dumps({'stages': stages})


def test_stages_become_goals_over_instances() -> None:
    first, second = read_goal('Well: ' + goal(put((MUG, TOP), (APPLE, TOP), close=TOP),
                                              {'open': str(BOTTOM)}), SEEN)
    assert first.placements == (('mug_1', 'drawer_top_1'), ('apple_1', 'drawer_top_1'))
    assert (first.drawer, first.closed, first.was_open) == ('drawer_top_1', True, None)
    assert first.probability is None
    assert (second.placements, second.drawer, second.closed) == ((), 'drawer_bottom_1', False)


def test_the_last_goal_counts_and_thoughts_do_not() -> None:
    text = f'<think>{goal(put((APPLE, TRAY)))}</think>{goal(put((MUG, TRAY)))}'
    assert read_goal(text, SEEN)[0].placements == (('mug_1', 'tray_1'),)


def test_things_are_of_any_kind_where_only_a_plan_is_wanted() -> None:
    wanted = goal(put((TRAY, CABINET), (APPLE, MUG), open=CABINET))
    stage, = read_goal(wanted, SEEN, any_kind=True)
    assert stage.placements == (('tray_1', 'cabinet_1'), ('apple_1', 'mug_1'))
    assert stage.drawer == 'cabinet_1'
    for text, why in ((goal(put((MUG, MUG))), 'into itself'),
                      (goal(put((TOP, MUG), close=TOP)), 'cannot be put anywhere')):
        with pytest.raises(UnreadError, match=why):
            read_goal(text, SEEN, any_kind=True)


def test_what_is_to_be_closed_and_is_not_known_to_be_closed_stands_open() -> None:
    assert read_goal(goal({'close': TOP}), SEEN)[0].was_open is True
    assert read_goal(goal({'open': TOP}), SEEN)[0].was_open is None
    assert read_goal(goal(put((MUG, TOP), close=TOP)), SEEN)[0].was_open is None
    known = [replace(one, opened=0.1) for one in SEEN]
    assert read_goal(goal({'close': TOP}), known)[0].was_open is None, 'it is seen to be closed'


@pytest.mark.parametrize(('text', 'why'), [
    ('no idea', 'no object with "stages"'), ('{"stages": []}', '1 to 20 stages'),
    (goal({}), 'stage 1 must be an object'), (goal('tidy'), 'stage 1 must be an object'),
    (goal({'put': []}), 'stage 1 wants nothing'), (goal({'wipe': 1}), 'put, open, close'),
    (goal(put((7, TRAY))), 'a number from 1 to 6, not'), (goal(put((0, TRAY))), 'from 1 to 6'),
    (goal(put((1.5, TRAY))), 'from 1 to 6'), (goal(put((True, TRAY))), 'from 1 to 6'),
    (goal(put((MUG, APPLE))), 'in or on number 2, a apple'),
    (goal(put((TRAY, TRAY))), 'number 3, a tray, cannot be put'),
    (goal(put((CABINET, TRAY))), 'number 6, a cabinet, cannot be put'),
    (goal(put((MUG, TRAY), (MUG, TRAY))), 'one thing to two places'),
    (goal(put((MUG, TOP))), 'whether that is to be open or closed'),
    (goal(put((MUG, TOP), close=BOTTOM)), 'about two drawers'),
    (goal(put((MUG, TOP), open=TOP, close=TOP)), 'opens and closes'),
    (goal(put((MUG, TRAY)), {'close': TRAY}), 'stage 2 number 3 is a tray, no drawer'),
    (goal({'put': [{'thing': 1}]}), 'each entry of "put"'), (goal({'put': 3}), '"put" must be')])
def test_what_cannot_be_is_no_goal(text: str, why: str) -> None:
    with pytest.raises(UnreadError, match=why.replace('(', r'\(')):
        read_goal(text, SEEN)


def test_what_is_unclear_is_said() -> None:
    with pytest.raises(UnresolvedError, match='unclear what is meant: which of the two mugs'):
        read_goal('{"unclear": "which of the two mugs"}', SEEN)


@given(st.recursive(st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=6),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                        ['stages', 'put', 'thing', 'into', 'open', 'close', 'unclear']), inner,
                        max_size=3), max_leaves=12))
def test_whatever_is_said_names_only_what_is_seen(said: Any) -> None:
    try:
        stages = read_goal(json.dumps({'stages': said}), SEEN)
    except InputError:
        return
    names = {one.name for one in SEEN}
    for stage in stages:
        assert {name for pair in stage.placements for name in pair} <= names
        assert stage.drawer in names | {''}


class Model(ModelByKind):
    """Says one reply after another."""

    name = 'm'

    def __init__(self, *replies: str, truncated: bool = False) -> None:
        self._replies, self._truncated = list(replies), truncated
        self.requests: list[Any] = []

    @answers(Generate)
    def generate(self, request: Any, deadline: Deadline) -> TextReply:
        self.requests.append(request)
        self.deadline = deadline
        return TextReply(self._replies.pop(0), self._truncated)


def test_a_reply_that_cannot_be_used_is_answered_with_the_reason() -> None:
    model = Model(goal(put((MUG, APPLE))), goal(put((MUG, TRAY))))
    said, [stage] = propose_goal(model, PICTURE, SEEN, 'My cup {why} there', 2, 9.0)
    assert said == goal(put((MUG, TRAY))) and stage.placements == (('mug_1', 'tray_1'),)
    first, second = model.requests
    assert 'My cup {why} there' in first.parts[1] and model.deadline.timeout_s == 9.0
    assert (first.parts[0] != PICTURE).any(), 'the things have numbers'
    assert len(first.parts) == 2 and 'in or on number 2' in second.parts[2]
    assert goal(put((MUG, APPLE))) in second.parts[2], 'it is shown what it said'


def test_it_is_asked_so_often_and_no_more() -> None:
    model = Model('?', '?', '?')
    with pytest.raises(UnreadError, match='m proposed cannot be used: .*no object with "stages"'):
        propose_goal(model, PICTURE, SEEN, 'x', 2)
    assert len(model.requests) == 2
    with pytest.raises(UnreadError, match='cut off after 2048 tokens'):
        propose_goal(Model(goal(put((MUG, TRAY))), truncated=True), PICTURE, SEEN, 'x')


@pytest.mark.parametrize(('seen', 'instruction', 'error'), [
    ((), 'x', 'no thing is seen'), (SEEN, ' ', '0 characters'), (SEEN, 'x' * 2001, '2001 char')])
def test_nothing_is_asked_about_nothing(seen: Any, instruction: str, error: str) -> None:
    model = Model()
    with pytest.raises(InputError, match=error):
        propose_goal(model, PICTURE, seen, instruction)
    assert not model.requests


def test_a_model_that_writes_nothing_is_named() -> None:
    model = Model()
    model.accepts = frozenset()
    with pytest.raises(InputError, match='m writes no text'):
        propose_goal(model, PICTURE, SEEN, 'x')
