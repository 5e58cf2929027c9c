"""The methods whose plans point at the picture, at a tools that replies from a table."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from sightplan.agent.grounded_plans import believed, staged
from sightplan.agent.methods import decoupled, grounded_plan, set_of_marks
from sightplan.grounding.instructions import Instance, Stage
from sightplan.model import InputError, SeenThings
from sightplan.model.query import ModelByKind
from sightplan.model.region import Form, Region
from sightplan.model.sample import Picture, Sample, SampleReply, Words
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.queries import DetectInstances, Generate, Locate, LocateReply, TextReply
from sightplan.queries.marks import numbered
from sightplan.runs import sample_tools
from sightplan.runs.sample_tools import SampleTools
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan import reading


def box(x: float) -> Region:
    return Region(Form.BOX, ((x, 0.4), (x + 0.1, 0.5)))


SEEN = (Instance('mug_1', box(0.1), {'mug': 1.0}, {'red': 1.0}),
        Instance('mug_2', box(0.3), {'mug': 1.0}, {'red': 1.0}),
        Instance('tray_1', box(0.6), {'tray': 1.0}, {'grey': 1.0}))


def sample(name: str, instruction: str) -> Sample:
    picture = Picture('p.png', lambda: np.zeros((480, 640, 3), np.uint8))
    one = Sample(name, 'short', 'scene', (picture, instruction), details={
        'instruction': instruction, 'image_size': [640, 480], 'coords': 'permille_xyxy'})
    return replace(one, task=Task(one))


class Task:
    """What the suite offers for a sample: prompts that are only a name, and its reader."""

    def __init__(self, one: Sample) -> None:
        self._sample = one

    def prompt(self, name):
        return Words(before=f'{self._sample.id} {name}')

    def read(self, reply):
        try:
            return reading.read(reply.text, self._sample), ''
        except Unread as unread:
            return None, str(unread)


class Tools:
    """A context whose model replies from a table, and which notes what it was asked."""

    def __init__(self, planner: FastDownwardPlanner | None = None, **replies: str) -> None:
        self._planner, self._replies = planner, replies
        self.asked: list[object] = []
        self.seen = SEEN

    def asking(self, about, backend='', reason=None):
        return Model(self, about, backend)

    def plan(self, task):
        assert self._planner is not None
        return self._planner.plan(task, 60.0)

    def reply(self, one, backend, query):
        if isinstance(query, DetectInstances):
            self.asked.append((one.cluster, query.looks, backend))
            return SeenThings(self.seen)
        if isinstance(query, Locate):
            self.asked.append((query.target.text, query.target.form, backend))
            if 'nothing' in query.target.text:
                return LocateReply(())
            x = 0.1 if 'mug' in query.target.text else 0.6
            return LocateReply((box(x) if query.target.form is Form.BOX
                                else Region(Form.POINT, ((x, 0.5),)),))
        self.asked.append(query.parts[0] if isinstance(query.parts[0], str) else one.id)
        return TextReply(self._replies[one.id])


class Model(ModelByKind):
    accepts = frozenset({DetectInstances, Locate, Generate})
    name, timeout_s = 'table', None

    def __init__(self, tools: Tools, about: Sample, backend: str) -> None:
        self._tools, self._about, self._backend = tools, about, backend
        self.backend = 'scripted'

    def ask(self, queries, deadline):
        return [self._tools.reply(self._about, self._backend, query) for query in queries]


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
    tools = Tools(a=STEPS, b='no idea')
    answerer = decoupled.Answerer(decoupled.Settings(grasps='embedded', places='openai model=m'))
    first, second = answerer.answer([sample('a', 'x'), sample('b', 'y')], tools)
    assert actions(first) == [
        {'action': 'grasp', 'target': 'the red mug', 'bbox': [0.1, 0.4, 0.2, 0.5]},
        {'action': 'Place', 'target': 'the tray', 'point': [0.6, 0.5]},
        {'action': 'close', 'target': 'nothing'},
        {'action': 'wipe', 'target': 'the table', 'bbox': [0.6, 0.4, 0.7, 0.5]}]
    assert first.text == STEPS, 'what the planner wrote'
    assert second.unread == reading.NO_PLAN
    assert tools.asked == [
        'a steps', 'b steps', ('the red mug', Form.BOX, 'embedded'),
        ('the tray', Form.POINT, 'openai model=m'), ('nothing', Form.BOX, 'embedded'),
        ('the table', Form.BOX, 'embedded')]


def test_a_step_that_names_nothing_cannot_be_looked_for() -> None:
    tools = Tools(a='[{"action": "open", "bbox": [0, 0, 1, 1]}]')
    reply, = decoupled.Answerer(decoupled.Settings()).answer([sample('a', 'x')], tools)
    assert 'step 1 (open) does not say in words what or where' in reply.unread
    assert tools.asked == ['a steps']


def test_marks_stand_for_places() -> None:
    said = json.dumps([{'action': 'grasp', 'target': '2'}, {'action': 'PLACE', 'target': 'mark 3'},
                       {'action': 'open', 'target': '9'}])
    tools = Tools(a=said, b=said)
    answerer = set_of_marks.Answerer(set_of_marks.Settings('embedded'))
    first, _ = answerer.answer([sample('a', 'x'), sample('b', 'y')], tools)
    assert actions(first) == [
        {'action': 'grasp', 'target': '2', 'bbox': [0.3, 0.4, 0.4, 0.5]},
        {'action': 'PLACE', 'target': 'mark 3', 'point': [0.65, 0.45]},
        {'action': 'open', 'target': '9'}]
    assert tools.asked.count(('scene', 1, 'embedded')) == 1, 'a picture is marked once'


def test_marks_are_of_a_detector_that_is_named() -> None:
    tools = Tools(a=json.dumps([{'action': 'grasp', 'target': '2'}]))
    with pytest.raises(InputError, match=r'marks is not set; .*"boxes file=FILE".*"model"'):
        set_of_marks.Answerer(set_of_marks.Settings()).answer([sample('a', 'x')], tools)
    assert not tools.asked
    own = set_of_marks.Answerer(set_of_marks.Settings('model'))
    assert actions(own.answer([sample('a', 'x')], tools)[0])[0]['bbox'] == [0.3, 0.4, 0.4, 0.5]
    assert ('scene', 1, '') in tools.asked, 'the planner itself'


def test_a_picture_that_cannot_be_marked_costs_its_own_samples_alone() -> None:
    class Unmarked(Tools):
        def reply(self, one, backend, query):
            if isinstance(query, DetectInstances) and one.cluster == 'other':
                return SeenThings(unread='the reply is no list')
            return super().reply(one, backend, query)
    tools = Unmarked(b=json.dumps([{'action': 'grasp', 'target': '2'}]))
    answerer = set_of_marks.Answerer(set_of_marks.Settings('embedded'))
    first, second = answerer.answer(
        [replace(sample('a', 'x'), cluster='other'), sample('b', 'y')], tools)
    assert first.unread == 'the reply is no list'
    assert actions(second) == [
        {'action': 'grasp', 'target': '2', 'bbox': [0.3, 0.4, 0.4, 0.5]}]


def test_marks_are_drawn() -> None:
    blank = np.zeros((480, 640, 3), np.uint8)
    drawn = numbered(blank, [box(0.1), box(0.95)])
    assert not blank.any() and drawn.shape == blank.shape
    assert (drawn[192, 64:120] == (230, 0, 0)).all(axis=1).any()
    assert drawn[:, :60].max() == 0


def test_instances_are_planned_for() -> None:
    with FastDownwardPlanner() as planner:
        tools = Tools(planner)
        answerer = grounded_plan.Answerer(grounded_plan.SampleSettings(looks=2))
        both, tidy, fork = answerer.answer([
            sample('a', 'Put both red mugs onto the tray.'), sample('b', 'Tidy up!'),
            sample('c', 'Put the fork onto the tray.')], tools)
    boxes = sorted(step['bbox'] for step in actions(both) if step['action'] == 'grasp')
    assert boxes == [[0.1, 0.4, 0.2, 0.5], [0.3, 0.4, 0.4, 0.5]]
    assert both.probability == 1.0
    assert "where things are to go ('tidy up')" in tidy.unread
    assert '0 fork seen' in fork.unread
    assert tools.asked == [('scene', 2, '')], 'it looks once at a picture, and says nothing'


def test_a_plan_about_doubtful_things_is_not_given() -> None:
    with FastDownwardPlanner() as planner:
        tools = Tools(planner)
        tools.seen = replace(SEEN[0], categories={'mug': 0.6}), SEEN[2]
        answerer = grounded_plan.Answerer(grounded_plan.SampleSettings(accept=0.7))
        reply, = answerer.answer([sample('a', 'Put the mug onto the tray.')], tools)
    assert 'right with 0.600 only' in reply.unread


def test_a_model_says_what_is_meant_by_number() -> None:
    with FastDownwardPlanner() as planner:
        tools = Tools(planner, a='{"stages": [{"put": [{"thing": 2, "into": 3}]}]}')
        answerer = grounded_plan.Answerer(
            grounded_plan.SampleSettings(reader='model', proposals=4))
        reply, = answerer.answer([sample('a', 'Clear away what I drank from.')], tools)
    assert [step.get('bbox') for step in actions(reply)] == [[0.3, 0.4, 0.4, 0.5], None]
    assert tools.asked == [('scene', 3, ''), 'a']


def test_samples_without_an_instruction_are_asked() -> None:
    plain = replace(sample('a', 'x'), details={})
    for kind in (grounded_plan, decoupled, set_of_marks):
        tools = Tools(a='yes')
        reply, = kind.Answerer(kind.Settings()).answer([plain], tools)
        assert reply.text == 'yes'
        assert tools.asked == ['a ask']


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


def test_options_of_a_model_that_a_method_names_have_the_types_of_its_settings(monkeypatch):
    made = []
    monkeypatch.setattr(sample_tools, 'make_checked_backend',
                        lambda name, values: made.append((name, values)))
    with ExitStack() as stack:
        tools = SampleTools(None, None, stack, None, None)
        tools._of('openai model=m temperature=0.5 retries=3')
        assert made == [('openai', {'model': 'm', 'temperature': 0.5, 'retries': 3})]
        with pytest.raises(InputError, match="'openai': there is no setting 'modle'; did you "):
            tools._of('openai modle=m')
