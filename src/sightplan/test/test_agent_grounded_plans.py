"""The methods whose plans point at the picture, at a desk that replies from a table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sightplan.agent.grounded_plans import believed, staged
from sightplan.agent.methods import decoupled, grounded_plan, set_of_marks
from sightplan.grounding.instructions import Instance, Stage
from sightplan.model import InputError
from sightplan.model.region import Form, Region
from sightplan.model.sample import Picture, Sample, SampleReply
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries.marks import numbered
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan import reading


def box(x: float) -> Region:
    return Region(Form.BOX, ((x, 0.4), (x + 0.1, 0.5)))


SEEN = (Instance('mug_1', box(0.1), {'mug': 1.0}, {'red': 1.0}),
        Instance('mug_2', box(0.3), {'mug': 1.0}, {'red': 1.0}),
        Instance('tray_1', box(0.6), {'tray': 1.0}, {'grey': 1.0}))


def sample(name: str, instruction: str) -> Sample:
    picture = Picture('p.png', lambda: np.zeros((480, 640, 3), np.uint8))
    return Sample(name, 'short', 'scene', (picture, instruction), details={
        'instruction': instruction, 'image_size': [640, 480], 'coords': 'permille_xyxy'})


class Desk:
    """Replies from a table, and notes what it was asked."""

    def __init__(self, planner: FastDownwardPlanner | None = None, **replies: str) -> None:
        self._planner, self._replies = planner, replies
        self.asked: list[object] = []

    def ask(self, samples, prompt, suite_prompt):
        self.asked += [(one.id, suite_prompt) for one in samples]
        return [SampleReply(self._replies[one.id]) for one in samples]

    def read(self, one, reply):
        try:
            return reading.read(reply.text, one), ''
        except Unread as unread:
            return None, str(unread)

    def locate(self, one, settings, backend=''):
        self.asked.append((one.target.text, one.target.form, settings.max_askings, backend))
        if 'nothing' in one.target.text:
            return SampleReply(regions=())
        x = 0.1 if 'mug' in one.target.text else 0.6
        return SampleReply(regions=(box(x) if one.target.form is Form.BOX
                                    else Region(Form.POINT, ((x, 0.5),)),))

    def marked(self, one, boxes):
        self.asked.append(len(boxes))
        return replace(one, parts=(*one.parts, 'marked'))

    def tell_apart(self, one, looks, backend=''):
        self.asked.append((one.cluster, looks, backend))
        return SEEN

    def propose_goal(self, one, seen, tries):
        self.asked.append((one.id, [thing.name for thing in seen], tries))
        return self._replies[one.id]

    def plan(self, task):
        assert self._planner is not None
        return self._planner.plan(task, 60.0)


def actions(reply: SampleReply) -> list[dict]:
    assert not reply.unread
    kinds = {Form.POINT: 'point', Form.BOX: 'bbox'}
    return [{'action': str(step.action), 'target': step.target, **(
        {} if step.region is None else {kinds[step.region.form]: [
            round(value, 5) for point in step.region.points for value in point]})}
            for step in reply.data]


STEPS = json.dumps({'actions': [{'action': 'grasp', 'target': 'the red mug'},
                                {'action': 'Place', 'target': 'the tray'},
                                {'action': 'close', 'target': 'nothing'},
                                {'action': 'wipe', 'target': 'the table'}]})


def test_decoupled_looks_for_what_the_planner_names() -> None:
    desk = Desk(a=STEPS, b='no idea')
    answerer = decoupled.Answerer(decoupled.Settings(grasps='embedded', places='openai model=m'))
    first, second = answerer.answer([sample('a', 'x'), sample('b', 'y')], desk)
    assert actions(first) == [
        {'action': 'grasp', 'target': 'the red mug', 'bbox': [0.1, 0.4, 0.2, 0.5]},
        {'action': 'Place', 'target': 'the tray', 'point': [0.6, 0.5]},
        {'action': 'close', 'target': 'nothing'},
        {'action': 'wipe', 'target': 'the table', 'bbox': [0.6, 0.4, 0.7, 0.5]}]
    assert first.text == STEPS, 'what the planner wrote'
    assert second.unread == 'no JSON list of actions'
    assert desk.asked == [
        ('a', 'steps'), ('b', 'steps'), ('the red mug', Form.BOX, 1, 'embedded'),
        ('the tray', Form.POINT, 1, 'openai model=m'), ('nothing', Form.BOX, 1, 'embedded'),
        ('the table', Form.BOX, 1, 'embedded')]


def test_marks_stand_for_places() -> None:
    said = json.dumps([{'action': 'grasp', 'target': '2'}, {'action': 'PLACE', 'target': 'mark 3'},
                       {'action': 'open', 'target': '9'}])
    desk = Desk(a=said, b=said)
    answerer = set_of_marks.Answerer(set_of_marks.Settings())
    first, _ = answerer.answer([sample('a', 'x'), sample('b', 'y')], desk)
    assert actions(first) == [
        {'action': 'grasp', 'target': '2', 'bbox': [0.3, 0.4, 0.4, 0.5]},
        {'action': 'PLACE', 'target': 'mark 3', 'point': [0.65, 0.45]},
        {'action': 'open', 'target': '9'}]
    assert desk.asked.count(('scene', 1, 'embedded')) == 1, 'a picture is marked once'


def test_marks_are_drawn() -> None:
    blank = np.zeros((480, 640, 3), np.uint8)
    drawn = numbered(blank, [box(0.1), box(0.95)])
    assert not blank.any() and drawn.shape == blank.shape
    assert (drawn[192, 64:120] == (230, 0, 0)).all(axis=1).any()
    assert drawn[:, :60].max() == 0


def test_instances_are_planned_for() -> None:
    with FastDownwardPlanner() as planner:
        desk = Desk(planner)
        answerer = grounded_plan.Answerer(grounded_plan.SampleSettings(looks=2))
        both, tidy, fork = answerer.answer([
            sample('a', 'Put both red mugs onto the tray.'), sample('b', 'Tidy up!'),
            sample('c', 'Put the fork onto the tray.')], desk)
    boxes = sorted(step['bbox'] for step in actions(both) if step['action'] == 'grasp')
    assert boxes == [[0.1, 0.4, 0.2, 0.5], [0.3, 0.4, 0.4, 0.5]]
    assert both.probability == 1.0
    assert "'tidy'" in tidy.unread
    assert '0 fork seen' in fork.unread
    assert desk.asked == [('scene', 2, '')], 'it looks once at a picture, and says nothing'


def test_a_plan_about_doubtful_things_is_not_given() -> None:
    with FastDownwardPlanner() as planner:
        desk = Desk(planner)
        desk.tell_apart = lambda one, looks, backend='': (  # type: ignore[method-assign]
            replace(SEEN[0], categories={'mug': 0.6}), SEEN[2])
        answerer = grounded_plan.Answerer(grounded_plan.SampleSettings(accept=0.7))
        reply, = answerer.answer([sample('a', 'Put the mug onto the tray.')], desk)
    assert 'right with 0.600 only' in reply.unread


def test_a_model_says_what_is_meant_by_number() -> None:
    with FastDownwardPlanner() as planner:
        desk = Desk(planner, a='{"stages": [{"put": [{"thing": 2, "into": 3}]}]}')
        answerer = grounded_plan.Answerer(
            grounded_plan.SampleSettings(reader='model', proposals=4))
        reply, = answerer.answer([sample('a', 'Clear away what I drank from.')], desk)
    assert [step.get('bbox') for step in actions(reply)] == [[0.3, 0.4, 0.4, 0.5], None]
    assert desk.asked == [('scene', 3, ''), ('a', ['mug_1', 'mug_2', 'tray_1'], 4)]


def test_samples_without_an_instruction_are_asked() -> None:
    plain = replace(sample('a', 'x'), details={})
    for kind in (grounded_plan, decoupled, set_of_marks):
        desk = Desk(a='yes')
        reply, = kind.Answerer(kind.Settings()).answer([plain], desk)
        assert reply.text == 'yes'
        assert desk.asked == [('a', 'ask')]


def test_what_is_no_drawer_is_not_opened() -> None:
    stage = Stage((('mug_1', 'tray_1'),), 'tray_1', False, 1.0)
    with pytest.raises(InputError, match='tray_1 cannot be opened'):
        staged((stage,), SEEN)


def test_what_is_spoken_of_as_a_place_is_one() -> None:
    """Three looks say tray, four spoon; what is opened is a drawer, whatever else it may be."""
    unsure = Instance('spoon_1', box(0.6), {'spoon': 0.5, 'tray': 0.3}, {})
    drawer = Instance('tray_2', box(0.8), {'tray': 0.5, 'drawer:top': 0.3}, {}, 0.0)
    ghost = Instance('drawer_top_1', box(0.0), {'drawer:top': 0.2}, {}, 1.0)
    stages = (Stage((('mug_1', 'spoon_1'), ('mug_2', 'tray_2')), 'tray_2', True, 1.0),)
    seen = (*SEEN[:2], unsure, drawer, ghost)
    with pytest.raises(InputError, match='cannot be put'):
        staged(stages, seen)
    work = staged(stages, believed(seen, stages))
    assert work.objects == {'mug_1': 'thing', 'mug_2': 'thing', 'spoon_1': 'surface',
                            'tray_2': 'drawer'}


def test_what_is_known_of_drawers_goes_before_what_is_seen_or_told() -> None:
    drawer = Instance('drawer_top_1', box(0.8), {'drawer:top': 1.0}, {}, 0.9)
    stages = (Stage((), 'drawer_top_1', True, 1.0, was_open=True),)
    opened = {known: {atom.predicate for atom in staged(
        stages, (drawer,), {} if known is None else {'drawer_top_1': known}).state}
        for known in (None, False)}
    assert 'open' in opened[None] and 'open' not in opened[False]
