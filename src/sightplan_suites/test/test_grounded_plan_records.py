"""GroundedPlanBench: records, what is wrong with them, and how they are written."""

from __future__ import annotations

import json

import numpy as np
import pytest

from grounded_plan_cases import (
    BLUE,
    CLOSE,
    DRAWER,
    OPEN,
    PLAN,
    RED,
    SIZE,
    TRAY,
    block,
    pick,
    record,
    region,
    write_data,
    write_lines,
)
from sightplan.model import InputError
from sightplan.model.grounded_plan import UnitKind
from sightplan_suites.grounded_plan import records
from sightplan_suites.grounded_plan.coordinates import (
    Coords,
    box_from_unit,
    box_of,
    box_to_unit,
    in_order,
    numbers_of,
    point_from_unit,
    point_to_unit,
)
from sightplan_suites.grounded_plan.records import entry_of, read_records

FLAT = [
    {'action': 'open', 'target_text': 'drawer', 'bbox': DRAWER},
    {'action': 'grasp', 'target_text': 'red cup', 'bbox': RED, 'group': 1},
    {'action': 'place', 'target_text': 'drawer', 'bbox': TRAY, 'group': 1},
    {'action': 'grasp', 'target_text': 'blue cup', 'bbox': BLUE, 'group': 1},
    {'action': 'place', 'target_text': 'drawer', 'bbox': TRAY, 'group': 1},
    {'action': 'close', 'target_text': 'drawer', 'bbox': DRAWER}]


def read(tmp_path, *rows):
    return read_records(write_lines(tmp_path / 'd.jsonl', *rows), pictures=False)


def one(tmp_path, **changes):
    found = read(tmp_path, record(**changes))
    assert found.skipped == (), found.skipped
    return found.items[0]


# ------------------------------------------------------------------------------------ reading


def test_a_record_of_the_proposed_form(tmp_path):
    item = one(tmp_path)
    assert (item.id, item.scene, item.image, item.size) == ('a', 's', 'images/a.png', SIZE)
    assert item.task.explicit and item.task.pair == 'p' and item.task.horizon == 6
    assert (item.horizon, item.kind) == ('medium', 'explicit')
    assert [(len(part.units), part.unordered) for part in item.task.blocks] == [
        (1, False), (2, True), (1, False)]
    unit = item.task.blocks[1].units[0]
    assert unit.kind is UnitKind.PICK_PLACE and unit.target == 'red cup'
    assert unit.destination == 'drawer'
    assert box_of(unit.region) == pytest.approx((100 / 640, 200 / 480, 160 / 640, 280 / 480))


def test_a_flat_list_is_the_same_plan(tmp_path):
    flat = one(tmp_path, plan=FLAT)
    assert flat.task.blocks == one(tmp_path).task.blocks
    named = record(plan=None, actions=FLAT)
    assert read(tmp_path, named).items[0].task == flat.task


@pytest.mark.parametrize(('groups', 'blocks'), [
    ((None, None, None), [(3, False)]), ((1, 1, 1), [(3, True)]), ((1, 1, 2), [(2, True),
                                                                             (1, False)]),
    ((1, 2, 1), [(1, False)] * 3), ((None, 'a', 'a'), [(1, False), (2, True)]),
    ((0, 0, None), [(2, True), (1, False)])])
def test_neighbours_of_one_group_are_one_unordered_block(groups, blocks, tmp_path):
    plan = [{'action': 'open', 'target': 'x', 'bbox': DRAWER, 'group': group}
            for group in groups]
    found = one(tmp_path, plan=plan, horizon=None)
    assert [(len(part.units), part.unordered) for part in found.task.blocks] == blocks


def test_other_names_of_fields_are_understood(tmp_path):
    row = {'episode_id': 7, 'video_id': 'v', 'image_path': 'x.png', 'resolution': list(SIZE),
           'bbox_format': 'pixel_xyxy', 'task': 'open it', 'type': 'Implicit',
           'num_actions': 1, 'steps': [{'primitive': 'open', 'object': 'd', 'box': DRAWER}]}
    item = read(tmp_path, row).items[0]
    assert (item.id, item.scene, item.kind, item.task.horizon) == ('7', 'v', 'implicit', 1)


def test_a_folder_adds_names_of_its_own(tmp_path):
    row = record(instruction=None, auftrag='put both cups in the drawer')
    assert read(tmp_path, row).items == ()
    (tmp_path / 'fields.yaml').write_text('record: {instruction: [auftrag]}')
    assert read(tmp_path, row).items[0].task.instruction == 'put both cups in the drawer'
    (tmp_path / 'fields.yaml').write_text('record: {nothing: [auftrag]}')
    with pytest.raises(InputError, match=r'fields.yaml: record.nothing is unknown'):
        read(tmp_path, row)


@pytest.mark.parametrize('coords', list(Coords))
def test_conventions_are_converted_once(coords, tmp_path):
    base = one(tmp_path)
    again = read(tmp_path, entry_of(base, coords)).items[0]
    assert again.coords is coords
    ours, theirs = ([box_of(unit.region) for part in item.task.blocks for unit in part.units]
                    for item in (again, base))
    assert np.allclose(ours, theirs, atol=1e-12)
    assert entry_of(again, Coords.PIXEL_XYXY) == entry_of(base)


@pytest.mark.parametrize('coords', list(Coords))
def test_numbers_with_names_have_the_order_of_the_convention(coords):
    box = (0.1, 0.2, 0.5, 0.6)
    wide, high = coords.scale(SIZE)
    x1, y1, x2, y2 = box[0] * wide, box[1] * high, box[2] * wide, box[3] * high
    for named in ({'x1': x1, 'y1': y1, 'x2': x2, 'y2': y2}, {
            'Bottom': y2, 'Right': x2, 'Top': y1, 'Left': x1},
            {'x': x1, 'y': y1, 'width': x2 - x1, 'height': y2 - y1}):
        numbers = numbers_of(in_order(named, coords), 4)
        assert box_to_unit(numbers, coords, SIZE) == pytest.approx(box), named
    assert point_to_unit(in_order({'y': y1, 'x': x1}, coords), coords, SIZE) == pytest.approx(
        (0.1, 0.2))
    assert in_order({'x1': 1, 'y1': 2}, coords) == {'x1': 1, 'y1': 2}


def test_conventions_by_hand():
    box = (0.1, 0.2, 0.5, 0.6)
    expected = {Coords.PIXEL_XYXY: [64, 96, 320, 288], Coords.UNIT_XYXY: [0.1, 0.2, 0.5, 0.6],
                Coords.PERMILLE_XYXY: [100, 200, 500, 600],
                Coords.PERMILLE_YXYX: [200, 100, 600, 500],
                Coords.PIXEL_XYWH: [64, 96, 256, 192]}
    for coords, numbers in expected.items():
        assert box_from_unit(box, coords, SIZE) == pytest.approx(numbers)
        assert box_to_unit(numbers, coords, SIZE) == pytest.approx(box)
    assert point_to_unit([200, 100], Coords.PERMILLE_YXYX, SIZE) == (0.1, 0.2)
    assert point_from_unit((0.1, 0.2), Coords.PIXEL_XYWH, SIZE) == [64, 96]
    assert json.dumps(box_from_unit(box_to_unit(RED, Coords.PIXEL_XYXY, SIZE), Coords.PIXEL_XYXY,
                                    SIZE)) == json.dumps(RED)
    words = {coords: coords.words(SIZE) for coords in Coords}
    assert len(set(words.values())) == 5 and '640' in words[Coords.PIXEL_XYWH]
    assert 'y1, x1' in words[Coords.PERMILLE_YXYX]


@pytest.mark.parametrize('value', [None, 3, 'text', [1, 2, 3], [1, 2, 3, '4'], [1, 2, 3, True],
                                   [1, 2, 3, float('nan')], [1, 2, 3, 10**400], {}])
def test_what_are_no_numbers(value):
    assert numbers_of(value, 4) is None


# -------------------------------------------------------------------------------------- checks


def changed(at, **changes):
    """The plan with one unit changed; None takes a field away."""
    plan = json.loads(json.dumps(PLAN))
    unit = plan[at]['units'][0]
    for part in changes.pop('parts', ()):
        unit = unit[part]
    for name, value in changes.items():
        unit.pop(name, None)
        if value is not None:
            unit[name] = value
    return plan


@pytest.mark.parametrize(('changes', 'said'), [
    ({'horizon': {'n_actions': 5, 'bucket': 'medium'}}, r'n_actions = 5, but the plan has 6'),
    ({'horizon': {'n_actions': 0}}, r'n_actions = 0, but the plan has 6'),
    ({'horizon': {'n_actions': 6, 'bucket': 'long'}}, r"bucket = 'long', but .* is medium"),
    ({'horizon': 'short'}, r"bucket = 'short'"), ({'horizon': 9}, 'n_actions = 9'),
    ({'n_actions': 9, 'horizon': None}, 'n_actions = 9'),
    ({'instruction_type': 'both'}, r"instruction_type = 'both' must be explicit or implicit"),
    ({'instruction_type': None}, 'instruction_type is missing'),
    ({'instruction': ' '}, 'instruction is empty'), ({'id': ''}, 'id is empty'),
    ({'id': None}, 'id is missing'), ({'image': None}, 'image is missing'),
    ({'image': 'https://x.org/a.png'}, r"image = 'https://x.org/a.png' is an address"),
    ({'image': ''}, 'is no path of a file'), ({'image': '~nobody-at-all/a.png'}, 'home directory'),
    ({'coords': 'pixels'}, r"coords = 'pixels' is unknown \(known: pixel_xyxy, unit_xyxy"),
    ({'coords': None}, r'coords is missing \(add one of pixel_xyxy, .* fit pixel_xyxy or perm'),
    ({'image_size': [0, 3]}, r'image_size = \[0, 3\]'),
    ({'image_size': None}, 'image_size is missing'),
    ({'plan': None}, 'plan is missing'), ({'plan': []}, 'plan has 0 entries'),
    ({'plan': [3]}, 'plan = .* must be a list of blocks'),
    ({'plan': 'open'}, 'must be a list of blocks'),
    ({'plan': [*PLAN, FLAT[0]]}, r'plan.3.units is missing'),
    ({'plan': [{'units': []}]}, r'plan.0.units must be'),
    ({'plan': [block(OPEN, order='any')]}, r"plan.0.order = 'any'"),
    ({'plan': [block({'type': 'wipe', 'bbox': DRAWER})]}, r"units.0.type = 'wipe'"),
    ({'plan': changed(0, bbox=None)}, r'plan.0.units.0.bbox is missing'),
    ({'plan': changed(0, bbox=[1, 2, 3])}, r'plan.0.units.0.bbox = \[1, 2, 3\] must be four'),
    ({'plan': changed(0, bbox=[600, 300, 400, 380])}, r'units.0.bbox = .* is out of order'),
    ({'plan': changed(0, bbox=[400, 300, 641, 380])}, r'reaches beyond the picture of 640 x 480'),
    ({'plan': changed(0, bbox=[-1, 300, 400, 380])}, 'reaches beyond'),
    ({'plan': changed(1, place=None)}, r'plan.1.units.0.place is missing \(every grasp'),
    ({'plan': changed(1, grasp=None)}, r'plan.1.units.0.grasp is missing'),
    ({'plan': changed(1, parts=['grasp'], bbox=[9, 9, 9, 9])}, r'units.0.grasp.bbox'),
    ({'plan': changed(1, parts=['place'], bbox=None)}, r'units.0.place.bbox is missing'),
    ({'plan': changed(1, parts=['place'], bbox=None, point=[9999, 2])}, 'beside the picture'),
    ({'plan': changed(1, parts=['place'], bbox=None, point=[3])}, r'point = \[3\] must be two'),
    ({'plan': FLAT[:2]}, r'plan.1 is a grasp that no place follows'),
    ({'plan': [*FLAT[:2], *FLAT[3:]]}, r'plan.1 is a grasp that no place follows'),
    ({'plan': [*FLAT[:2], FLAT[0], *FLAT[2:]]}, r'plan.1 is a grasp that no place follows'),
    ({'plan': FLAT[2:]}, r'plan.0 is a place without a grasp'),
    ({'plan': [FLAT[1], {**FLAT[2], 'group': 2}]}, r'plan.1.group = 2 differs'),
    ({'plan': [{**FLAT[0], 'action': 'push'}]}, r"plan.0.action = 'push' must be grasp"),
    ({'things': [{'name': 'x', 'bbox': [0, 0, 0, 0]}]}, r'things.0.bbox'),
    ({'camera': [1, 2]}, 'camera')])
def test_bad_records_are_named_and_skipped(changes, said, tmp_path):
    found = read(tmp_path, record(id='good'), record(**changes))
    assert [item.id for item in found.items] == ['good']
    skipped, = found.skipped
    assert skipped['file'] == f'{tmp_path / "d.jsonl"}:2'
    with pytest.raises(AssertionError, match=said):
        raise AssertionError(skipped['reason'])


def test_lines_that_are_no_records_are_named(tmp_path):
    path = tmp_path / 'd.jsonl'
    path.write_text(f'{json.dumps(record())}\n\nnonsense\n[1]\n{json.dumps(record())}\n')
    found = read_records(path, pictures=False)
    assert [one['file'].rsplit(':', 1)[1] for one in found.skipped] == ['3', '4', '5']
    assert 'is not JSON' in found.skipped[0]['reason']
    assert f"id = 'a' is there already, at {path}:1" in found.skipped[2]['reason']


def test_a_place_given_as_a_point_is_used_and_noted(tmp_path):
    plan = changed(1, parts=['place'], bbox=None, point=[500, 340])
    found = read(tmp_path, record(plan=plan))
    x1, y1, x2, y2 = box_of(found.items[0].task.blocks[1].units[0].place)
    assert (x1 * 640, y1 * 480, x2 * 640, y2 * 480) == pytest.approx((480, 320, 520, 360))
    assert 'plan.1.units.0.place is a point' in found.noted[0]['reason']
    near = read(tmp_path, record(plan=plan, place_tolerance=4.0)).items[0]
    assert box_of(near.task.blocks[1].units[0].place)[0] * 640 == pytest.approx(496)
    assert read(tmp_path, record(plan=plan, place_tolerance=-1.0)).items == ()


def test_plans_longer_than_the_papers_are_noted(tmp_path):
    long = [block(*(pick('x', RED) for _ in range(14)))]
    found = read(tmp_path, record(plan=long, horizon=None))
    assert found.items[0].horizon == 'long' and '28 primitives' in found.noted[0]['reason']
    assert [records.horizon_of(n) for n in (1, 4, 5, 8, 9, 26, 27)] == [
        'short', 'short', 'medium', 'medium', 'long', 'long', 'long']


# --------------------------------------------------------------------------------------- files


def test_a_list_in_one_json_file(tmp_path):
    path = tmp_path / 'd.json'
    path.write_text(json.dumps([record(), record(id=''), record(id='b')]))
    found = read_records(path, pictures=False)
    assert [item.id for item in found.items] == ['a', 'b']
    assert found.skipped[0]['file'] == f'{path}: entry 1'
    path.write_text('{}')
    assert 'is no list of records' in read_records(path, False).skipped[0]['reason']


def test_predictions_in_the_folder_are_no_records(tmp_path):
    write_data(tmp_path, record())
    write_lines(tmp_path / 'answers.jsonl', {'id': 'a', 'actions': []})
    found = read_records(tmp_path)
    assert len(found.items) == 1 and found.skipped == ()


@pytest.mark.parametrize('name', ['nowhere', '.'])
def test_without_records_the_error_says_so(name, tmp_path):
    with pytest.raises(InputError, match=r'no such file or folder|holds no records'):
        read_records(tmp_path / name)


def test_pictures_are_opened_only_where_they_are_wanted(tmp_path):
    write_data(tmp_path, record(), record(id='b', image='images/none.png'),
               record(id='c', image_size=[1280, 960]), record(id='d', image_size=None))
    found = read_records(tmp_path)
    assert [item.id for item in found.items] == ['a', 'd'] and found.items[1].size == SIZE
    reasons = [(one['id'], one['reason']) for one in found.skipped]
    assert reasons[0][0] == 'b' and 'No such file' in reasons[0][1]
    assert reasons[1][0] == 'c' and 'is 640 x 480 pixels' in reasons[1][1]
    assert [item.id for item in read_records(tmp_path, pictures=False).items] == [
        'a', 'b', 'c', 'd']
    assert found.load(found.items[0]).shape == (480, 640, 3)


def test_what_is_written_is_what_was_read(tmp_path):
    more = {'things': [{'name': 'mug', 'bbox': RED}], 'depth': 'depth/a.png',
            'camera': [500.0, 500.0, 320.0, 240.0]}
    first = read(tmp_path, record(**more), record(id='b', instruction_type='implicit',
                                                  instruction='räum auf', plan=FLAT))
    written = [entry_of(item) for item in first.items]
    again = read_records(write_lines(tmp_path / 'e.jsonl', *written), pictures=False)
    assert again.items == first.items and written[0] == record(**more)
    assert np.allclose(again.items[0].things[0][1], first.items[0].things[0][1])


def test_several_plans_partial_orders_and_places_are_read_and_written(tmp_path):
    other = {'target': 'tray', 'bbox': [10, 10, 90, 90]}
    first = pick('red cup', RED)
    first['place']['others'] = [other]
    plan = [block(OPEN), block(first), {**block(pick('blue cup', BLUE)), 'after': [0]},
            {**block(CLOSE), 'after': [1, 2]}]
    path = write_lines(tmp_path / 'd.jsonl', record(
        plan=plan, accepted=[PLAN], intentions=['tidy'], instruction_type='implicit'))
    data = records.read_records(path, pictures=False)
    task = data.items[0].task
    assert not data.skipped and len(task.plans) == 2 and task.intentions == ('tidy',)
    assert [one.after for one in task.blocks] == [None, None, (0,), (1, 2)]
    (name, there), = task.blocks[1].units[0].others
    assert name == 'tray' and there == region(other['bbox'])
    again = records.read_records(
        write_lines(tmp_path / 'again.jsonl', *map(entry_of, data.items)), pictures=False)
    assert again.items == data.items


@pytest.mark.parametrize(('changes', 'said'), [
    ({'plan': [{**block(OPEN), 'after': [0]}, *PLAN[1:]]}, 'plan.0.after'),
    ({'plan': [PLAN[0], {**PLAN[1], 'after': 'open'}, PLAN[2]]}, 'plan.1.after'),
    ({'accepted': PLAN[0]}, 'accepted must be a list'),
    ({'accepted': [PLAN, [block({'type': 'open', 'target': 'drawer'})]]}, 'accepted.1: plan.0'),
    ({'plan': [PLAN[0], block({**pick('cup', RED), 'place': {
        'target': 'tray', 'bbox': TRAY, 'others': [3]}}), PLAN[2]], 'horizon': None}, 'others'),
])
def test_bad_other_plans_are_named(changes, said, tmp_path):
    path = write_lines(tmp_path / 'd.jsonl', record(**changes))
    data = records.read_records(path, pictures=False)
    assert not data.items and said in data.skipped[0]['reason']


def test_a_closing_is_no_opening(tmp_path):
    item = one(tmp_path, plan=[block(CLOSE)], horizon={'n_actions': 1, 'bucket': 'short'})
    assert item.task.blocks[0].units[0].kind is UnitKind.CLOSE and item.horizon == 'short'
