"""GroundedPlanBench: replies and lines of predictions."""

from __future__ import annotations

import json
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grounded_plan_cases import IN, RED, SIZE, grasp, place, right
from sightplan.model.grounded_plan import GroundedStep, Primitive
from sightplan.model.region import Form
from sightplan.model.sample import Sample
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan import reading
from sightplan_suites.grounded_plan.coordinates import Coords, box_of
from sightplan_suites.grounded_plan.reading import read_steps, read_text

PAIR = [grasp(RED, 'red cup'), place(IN, 'drawer')]
TEXT = json.dumps({'actions': PAIR})


def read(text, coords=Coords.PIXEL_XYXY):
    return read_text(text, coords, SIZE)


@pytest.mark.parametrize('text', [
    TEXT, json.dumps(PAIR), f'```json\n{TEXT}\n```', f'```\n{json.dumps(PAIR, indent=2)}\n```',
    f'First I look. Then:\n{TEXT}\nThat is all.', f'[a plan] {{so}} {TEXT}',
    f'An example: {json.dumps([{"action": "open", "bbox": [0, 0, 1, 1]}])}\nThe plan: {TEXT}',
    '\n'.join(map(json.dumps, PAIR)), json.dumps({'plan': PAIR}), json.dumps({'steps': PAIR}),
    json.dumps({'note': {'a': 1}, 'actions': PAIR}),
    json.dumps([{'type': 'grasp', 'bbox_2d': RED, 'label': 'red cup'},
                {'primitive': 'place', 'target_text': 'drawer', 'point_2d': list(IN)}])])
def test_a_plan_is_found_in_a_reply(text):
    steps = read(text)
    assert [step.primitive for step in steps] == [Primitive.GRASP, Primitive.PLACE]
    assert [step.target for step in steps] == ['red cup', 'drawer']
    assert box_of(steps[0].region) == pytest.approx((100 / 640, 200 / 480, 160 / 640, 280 / 480))
    assert steps[1].region.form is Form.POINT
    assert steps[1].region.points[0] == pytest.approx((500 / 640, 340 / 480))


@pytest.mark.parametrize(('text', 'said'), [
    ('', 'empty'), (' \n', 'empty'), ('I cannot.', 'no JSON list'), ('[]', 'no JSON list'),
    ('{}', 'no JSON list'), ('{"actions": []}', 'no action'), ('{"actions": 3}', 'no JSON list'),
    ('[{}]', 'no action'), ('[{"foo": 1}]', 'no action'), ('[{"action": 3}]', 'no action'),
    ('{"a": 1}', 'no JSON list'), ('[[' * 3000, 'no JSON list'), ('[{"a":' * 3000, 'no JSON'),
    (TEXT[:-4], 'no JSON list'), (json.dumps(PAIR)[:-3], 'no JSON list'),
    (json.dumps([grasp(RED)] * 1001), 'more than'),
    (json.dumps({'coords': 'inches', 'actions': PAIR}), "coords = 'inches' is unknown")])
def test_what_is_no_plan_is_unread_with_its_reason(text, said):
    with pytest.raises(Unread, match=said):
        read(text)


@pytest.mark.parametrize('text', [
    '{"a":' * 50_000, '[{"a":[' * 30_000, '[{"action":"' + '[{' * 130_000])
def test_broken_texts_take_no_time_in_the_square_of_their_length(text):
    started = time.process_time()
    with pytest.raises(Unread):
        read(text)
    assert time.process_time() - started < 2.0


def test_a_reply_may_declare_its_convention():
    said = [grasp([250, 500, 750, 600])]
    declared = read(json.dumps({'coords': 'permille_yxyx', 'actions': said}))
    assert box_of(declared[0].region) == pytest.approx((0.5, 0.25, 0.6, 0.75))
    default = read(json.dumps(said), Coords.PERMILLE_XYXY)
    assert box_of(default[0].region) == pytest.approx((0.25, 0.5, 0.75, 0.6))


@pytest.mark.parametrize('bbox', [None, 'all', [1, 2], [1, 2, 3, 'x'], [1, 2, 3, float('inf')],
                                  [1, 2, 3, 10**400], [True] * 4, {}, [1.7e308] * 4])
def test_one_bad_region_spoils_only_its_own_step(bbox):
    steps = read_steps([{'action': 'grasp', 'bbox': bbox}, place(IN), grasp(RED), place(IN)],
                       Coords.PIXEL_XYWH, SIZE)
    assert steps[0].region is None and all(step.region is not None for step in steps[1:])
    assert json.loads(json.dumps([step.to_json() for step in steps])) == [
        GroundedStep.from_json(step.to_json()).to_json() for step in steps]


def test_what_a_step_wants_is_taken_where_both_are_said():
    both = {'bbox': RED, 'point': list(IN)}
    steps = read_steps([{'action': 'grasp', **both}, {'action': 'place', **both}],
                       Coords.PIXEL_XYXY, SIZE)
    assert [step.region.form for step in steps] == [Form.BOX, Form.POINT]


def test_unknown_verbs_are_kept():
    steps = read_steps([{'action': 'Fly', 'target': 'x'}, None, 'grasp', {'target': 'y'}],
                       Coords.UNIT_XYXY, SIZE)
    assert [step.action for step in steps] == ['Fly', '', '', '']
    assert all(step.primitive is None for step in steps)


def sample(coords):
    return Sample('a', 'short', 's', ('x',), details={
        'coords': str(coords), 'image_size': list(SIZE), 'grasp_criterion': 'iou'})


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), coords=st.sampled_from(list(Coords)))
def test_every_guess_is_read(seed, coords):
    text = reading.guess(sample(coords), random.Random(seed))
    steps = [GroundedStep.from_json(step) for step in reading.read(text, sample(coords))]
    units, interleaved = reading.units_of(steps)
    assert 1 <= len(units) <= 4 and not interleaved and not any(one.wrong for one in units)
    for step in steps:
        assert all(-1e-9 <= number <= 1 + 1e-9 for point in step.region.points for number in point)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(['grasp', 'place', 'open', 'close', 'fly']), max_size=12))
def test_every_step_is_in_one_unit(verbs):
    steps = [GroundedStep(verb) for verb in verbs]
    units, _ = reading.units_of(steps)
    assert sorted(number for one in units for number in one.steps) == list(range(len(verbs)))
    assert [one.steps[0] for one in units] == sorted(one.steps[0] for one in units)
    assert all(bool(one.wrong) is (one.kind is None) for one in units)
    assert len(read_steps(right(), Coords.PIXEL_XYXY, SIZE)) == 6
