"""Scenes of tables: pictures, truth about them, and what is asked."""

from __future__ import annotations

import importlib.metadata
import re

import cv2
import numpy as np
import pytest

import tabletop_cases as cases
from sightplan.model.errors import InputError
from sightplan_sim.tabletop import Placed, Pose, make_source, sample_table, table_of
from sightplan_sim.tabletop.catalogue import CATEGORIES
from sightplan_sim.tabletop.draw import COLOURS
from sightplan_sim.tabletop.relations import Relations
from sightplan_sim.tabletop.render import Painter
from sightplan_sim.tabletop.table import Table, footprint_of
from sightplan_sim.tabletop.tasks import MOST_OF_A_KIND, PLACE_M
from sightplan_sim.tabletop.traces import to_table
from sightplan_sim.tabletop.visible import LEAST_PIXELS, Visible
from sightplan_sim.tabletop.wording import fields_of, wording

KINDS = {'s1': {'object', 'object part', 'restriction'},
         's2': {'afd', 'contact', 'recommend', 'predict', 'safety'}}


@pytest.fixture(scope='module')
def source():
    with make_source() as made:
        yield made


@pytest.fixture(scope='module')
def scenes(source):
    return [source.scene(seed, held_out=held_out) for seed in cases.SEEDS
            for held_out in (False, True)]


def table_of_scene(scene):
    return table_of(scene.id)


# --- pictures ---------------------------------------------------------------------------------


def test_a_scene_is_complete(scenes):
    for scene in scenes:
        assert scene.image.shape == (480, 640, 3) and scene.image.dtype == np.uint8
        assert scene.depth_m.shape == (480, 640) and scene.depth_m.dtype == np.float32
        assert scene.camera[2:] == (320.0, 240.0) and scene.camera[0] == scene.camera[1] > 300
        assert {piece.name for piece in scene.pieces} <= {
            one.name for one in table_of_scene(scene).things}
        assert scene.image.std() > 5
    assert len({scene.id for scene in scenes}) == len(scenes)


def test_one_seed_gives_one_scene(source, scenes):
    with make_source() as other:
        for again in (source.scene(1, held_out=True), other.scene(1, held_out=True)):
            first = next(scene for scene in scenes if scene.id == 'tabletop/held_out/1')
            assert np.array_equal(first.image, again.image)
            assert np.array_equal(first.depth_m, again.depth_m)
            assert first.camera == again.camera
            assert [(task.text, task.kind, task.piece) for task in first.tasks] == [
                (task.text, task.kind, task.piece) for task in again.tasks]
            assert all(np.array_equal(one.mask, two.mask) for one, two in zip(
                first.tasks, again.tasks, strict=True))
            assert [trace.oracle for trace in first.traces] == [
                trace.oracle for trace in again.traces]


def test_masks_are_apart_and_on_their_things(scenes):
    for scene in scenes:
        masks = np.array([piece.mask for piece in scene.pieces])
        assert masks.shape[1:] == scene.image.shape[:2] and masks.dtype == bool
        assert masks.sum(axis=0).max() == 1
        assert (masks.sum(axis=(1, 2)) > 0).all()


def test_depth_camera_and_masks_agree_with_where_things_are(scenes):
    """Pixels of a thing, taken back to the table's frame, lie within the thing."""
    for scene in scenes:
        table = table_of_scene(scene)
        view = table.look.view()
        fx, fy, cx, cy = scene.camera
        rows, columns = np.indices(scene.depth_m.shape)
        local = np.stack([(columns + 0.5 - cx) / fx, (rows + 0.5 - cy) / fy,
                          np.ones_like(scene.depth_m)], axis=-1) * scene.depth_m[..., None]
        world = local @ view.axes.T + view.position_m
        for piece in scene.pieces:
            placed = table.named(piece.name)
            points = world[cv2.erode(piece.mask.astype(np.uint8), np.ones((3, 3))) > 0]
            outline = footprint_of(placed).astype(np.float32)
            beside = [cv2.pointPolygonTest(outline, (float(x), float(y)), True)
                      for x, y in points[::7, :2]]
            low = placed.pose.position[2]
            assert np.mean(np.array(beside) > -0.004) > 0.98 if beside else True
            assert (points[:, 2] > low - 0.004).all()
            assert (points[:, 2] < low + placed.thing.size[2] + 0.004).all()
        things = np.any([piece.mask for piece in scene.pieces], axis=0)
        on_table = ~things & (np.abs(world[..., 2]) < 0.002) & (scene.depth_m > 0)
        assert on_table.mean() > 0.2


def test_unknown_depth_is_zero(scenes):
    for scene in scenes:
        assert np.isfinite(scene.depth_m).all() and (scene.depth_m >= 0).all()
        assert all((scene.depth_m[piece.mask] > 0.1).all() for piece in scene.pieces)


def test_parts_are_apart():
    table = sample_table(0, False)
    with Painter() as painter:
        visible = Visible(table, painter.draw(table))
    kettle = next(one for one in table.things if one.thing.category == 'kettle')
    parts = [visible.part(kettle.name, name) for name in ('body', 'handle', 'spout', 'lid')]
    assert all(part.any() for part in parts)
    assert np.sum(parts, axis=0).max() == 1
    assert not (np.any(parts, axis=0) & ~visible.thing(kettle.name)).any()
    assert not (visible.part(kettle.name, 'knob') & ~visible.part(kettle.name, 'lid')).any()


def test_what_is_hidden_is_not_asked_for():
    box, ball = cases.thing('box', 'red'), cases.thing('ball', 'blue')
    shown = cases.table({'box 1': (box, 0.0, 0.0), 'ball 1': (ball, 0.12, 0.0)},
                        elevation_deg=32.0)
    hidden = cases.table({'box 1': (box, 0.0, 0.0), 'ball 1': (ball, 0.0, 0.06)},
                         elevation_deg=32.0)
    with Painter() as painter:
        assert Visible(shown, painter.draw(shown)).shows_thing('ball 1')
        behind = Visible(hidden, painter.draw(hidden))
        assert not behind.shows_thing('ball 1') and behind.shows_thing('box 1')
        seen = []  # step by step from behind the box
        for x in np.arange(0.0, 0.09, 0.006).tolist():
            table = cases.table({'box 1': (box, 0.0, 0.0), 'ball 1': (ball, x, 0.06)},
                                elevation_deg=32.0)
            visible = Visible(table, painter.draw(table))
            seen.append((int(visible.thing('ball 1').sum()), visible.shows_thing('ball 1')))
    full = max(pixels for pixels, _ in seen)
    assert any(LEAST_PIXELS <= pixels < 0.3 * full for pixels, _ in seen)
    for pixels, shown in seen:
        assert shown is (pixels > 0.35 * full) or 0.3 * full < pixels < 0.4 * full


# --- tasks ------------------------------------------------------------------------------------


def test_tasks_are_of_their_things(scenes):
    for scene in scenes:
        pieces = {piece.name: piece.mask for piece in scene.pieces}
        things = np.any(list(pieces.values()), axis=0)
        for task in scene.tasks:
            assert task.kind in KINDS[task.stage]
            assert task.mask.shape == scene.image.shape[:2] and task.mask.dtype == bool
            assert task.mask.sum() >= LEAST_PIXELS
            if task.piece:
                assert not (task.mask & ~pieces[task.piece]).any()
            else:
                assert task.kind == 'recommend' and not (task.mask & things).any()
            if task.kind in ('object', 'restriction'):
                assert np.array_equal(task.mask, pieces[task.piece])
            if task.kind == 'safety':
                assert task.mask.sum() < pieces[task.piece].sum()


def test_every_kind_is_asked(scenes):
    found = {(task.stage, task.kind) for scene in scenes for task in scene.tasks}
    assert found == {(stage, kind) for stage, kinds in KINDS.items() for kind in kinds}
    for scene in scenes:
        kinds = [task.kind for task in scene.tasks]
        assert all(kinds.count(kind) <= MOST_OF_A_KIND for kind in kinds)
        assert len({(task.text, task.kind) for task in scene.tasks}) > 0.8 * len(kinds)
        assert not any(re.search(r'[{}]', task.text) for task in scene.tasks)


def matches(scene):
    """Which templates each text of a scene may come from, by the kinds of scene."""
    def pattern(template):
        escaped = re.escape(template)
        return re.compile(re.sub(r'\\{\w+\\}', '.+', escaped))
    found = {}
    for which in ('training', 'held_out'):
        templates = [pattern(text) for one in wording().phrasings()
                     for text in getattr(one, which)]
        found[which] = [any(one.fullmatch(task.text) for one in templates)
                        for task in (*scene.tasks, *scene.traces)]
    return found


def test_texts_come_from_the_phrasings_of_their_kind(scenes):
    for scene in scenes:
        which = scene.id.split('/')[1]
        assert all(matches(scene)[which])


def test_phrasings_are_in_one_set_only():
    training = {text for one in wording().phrasings() for text in one.training}
    held_out = {text for one in wording().phrasings() for text in one.held_out}
    assert len(training) > 150 and len(held_out) > 100
    assert not training & held_out
    for one in wording().phrasings():
        assert one.training and one.held_out
        assert len(set(one.training)) == len(one.training)


def test_phrasings_have_known_fields_and_parts():
    known = {'category', 'colour', 'part', 'thing', 'other', 'third'}
    for one in wording().phrasings():
        for text in (*one.training, *one.held_out):
            assert fields_of(text) <= known
    parts = {name: {part.name for seed in range(6) for part in cases.thing(
        name, CATEGORIES[name].colours[0], seed).parts} for name in CATEGORIES}
    words = wording()
    for purpose in (*words.afd, *words.contact, *words.predict_parts, *words.safety):
        for category, names in purpose.parts.items():
            assert parts[category] & set(names), category
    for purpose in (*words.recommend, *words.predict_things):
        assert {*purpose.things, *purpose.unless} <= set(CATEGORIES)
    assert set(words.part_words) <= set().union(*parts.values())


def test_held_out_texts_speak_of_colours_and_things_that_training_has():
    words = {word for name in CATEGORIES for word in name.split()} | set(COLOURS)
    assert {'red', 'mug', 'drawer'} <= words
    texts = ' '.join(text for one in wording().phrasings() for text in one.training)
    for kind in ('handle', 'pour', 'drink', 'cut', 'open', 'left', 'right', 'between', 'largest'):
        assert kind in texts or kind in wording().part_words


# --- what a name means ------------------------------------------------------------------------


@pytest.fixture(scope='module')
def laid():
    """Two red mugs and a blue one around a bottle, which is between two boxes."""
    red, blue = cases.thing('mug', 'red'), cases.thing('mug', 'blue')
    return cases.table({
        'mug 1': (red, -0.12, 0.0), 'mug 2': (red, 0.12, 0.0), 'mug 3': (blue, 0.0, -0.18),
        'bottle 1': (cases.thing('bottle', 'green'), 0.0, 0.0),
        'box 1': (cases.thing('box', 'yellow'), -0.3, 0.15),
        'box 2': (cases.thing('box', 'black'), 0.3, 0.15)})


def test_only_unambiguous_names_are_used(laid):
    relations = Relations(laid)
    assert relations.ways_to_name('mug 1') == [] == relations.ways_to_name('mug 2')
    assert relations.ways_to_name('mug 3') == ['colour']
    assert relations.ways_to_name('bottle 1') == ['plain', 'colour']
    assert relations.ways_to_name('box 1') == ['colour']


def test_a_cup_is_not_named_beside_a_mug():
    """A mug is a cup, too; a cup is no mug."""
    relations = Relations(cases.table({
        'mug 1': (cases.thing('mug', 'red'), 0.0, 0.0),
        'cup 1': (cases.thing('cup', 'red'), 0.2, 0.0)}))
    assert relations.ways_to_name('cup 1') == []
    assert relations.ways_to_name('mug 1') == ['plain', 'colour']


def test_a_tool_is_named_by_the_colour_of_its_handle():
    relations = Relations(cases.table({
        'knife 1': (cases.thing('knife', 'red'), 0.0, 0.1),
        'knife 2': (cases.thing('knife', 'blue'), 0.0, -0.1)}))
    assert relations.ways_to_name('knife 1') == ['coloured_part']


def test_relations_hold_with_a_margin(laid):
    relations = Relations(laid)
    assert relations.left('mug 1', 'bottle 1') is True
    assert relations.left('mug 2', 'bottle 1') is False
    assert relations.left('mug 3', 'bottle 1') is None  # in front, a little to one side
    assert relations.right('mug 2', 'bottle 1') is True
    assert relations.front('mug 3', 'bottle 1') is True
    assert relations.behind('bottle 1', 'mug 3') is True
    assert relations.between('bottle 1', ('mug 1', 'mug 2')) is True
    assert relations.between('mug 3', ('box 1', 'box 2')) is not True
    assert relations.nearest(['mug 1', 'mug 2'], 'box 1') == 'mug 1'
    assert relations.nearest(['mug 1', 'mug 2'], 'bottle 1') == ''
    assert relations.leftmost(['mug 1', 'mug 2', 'mug 3']) == 'mug 1'
    assert relations.rightmost(['mug 1', 'mug 2', 'mug 3']) == 'mug 2'
    assert relations.largest(['mug 1', 'mug 2']) == '' == relations.smallest(['mug 1', 'mug 2'])
    assert relations.tallest([one.name for one in laid.things]) == 'bottle 1'


def test_left_and_front_are_as_the_camera_sees_them(laid):
    around = cases.table({one.name: (one.thing, *one.pose.position[:2]) for one in laid.things},
                         azimuth_deg=90.0)
    relations = Relations(around)
    assert relations.front('mug 2', 'bottle 1') is True
    assert relations.behind('mug 1', 'bottle 1') is True
    assert relations.left('mug 3', 'bottle 1') is True


@pytest.mark.slow
def test_restrictions_name_the_right_one(source, laid):
    scenes = [source.show(Table(seed, False, laid.things, laid.look)) for seed in range(12)]
    tasks = [task for scene in scenes for task in scene.tasks if task.kind == 'restriction']
    right = {'mug (to the |on the )?left of the (green )?bottle': 'mug 1',
             'mug (to the |on the )?right of the (green )?bottle': 'mug 2',
             'mug in front of the (green )?bottle': 'mug 3', 'leftmost mug': 'mug 1',
             'rightmost mug': 'mug 2', 'leftmost box': 'box 1', 'rightmost box': 'box 2',
             'mug (next|nearest) to the yellow box': 'mug 1', 'tallest': 'bottle 1'}
    checked = [task.piece == piece for task in tasks for words, piece in right.items()
               if re.search(words, task.text)]
    assert len(checked) > 5 and all(checked)
    objects = [task for scene in scenes for task in scene.tasks if task.kind == 'object']
    assert {task.piece for task in objects} == {'mug 3', 'bottle 1', 'box 1', 'box 2'}
    assert not any('red mug' in task.text for task in objects)


def test_one_in_a_bowl_is_told_from_one_beside_it(source):
    bowl, apple = cases.thing('bowl', 'blue', 3), cases.thing('apple', 'red')
    beside = cases.table({'bowl 1': (bowl, 0.0, 0.0), 'apple 1': (apple, 0.2, 0.0),
                          'apple 2': (apple, 0.0, 0.0), 'can 1': (
                              cases.thing('can', 'green'), -0.2, 0.0)})
    things = tuple(Placed(one.name, one.thing, Pose((0.0, 0.0, bowl.room.floor)), 'bowl 1')
                   if one.name == 'apple 2' else one for one in beside.things)
    tasks = [task for seed in range(12) for task in source.show(Table(
        seed, False, things, beside.look)).tasks if task.kind == 'restriction']
    inside = [task.piece for task in tasks if re.search(r'\bin(side)? the', task.text)
              and 'bowl' in task.text]
    assert inside and set(inside) == {'apple 2'}
    assert not any('on the bowl' in task.text for task in tasks)


def test_the_larger_of_two():
    sizes = [cases.thing('bowl', 'red', seed) for seed in range(12)]
    order = sorted(sizes, key=lambda one: max(one.size))
    relations = Relations(cases.table({
        'bowl 1': (order[0], -0.15, 0.0), 'bowl 2': (order[-1], 0.15, 0.0)}))
    assert relations.largest(['bowl 1', 'bowl 2']) == 'bowl 2'
    assert relations.smallest(['bowl 1', 'bowl 2']) == 'bowl 1'


def test_a_free_place_is_free(scenes):
    """Around each of its pixels there is nothing on the table, and the table goes on."""
    checked = 0
    for scene in scenes:
        table = table_of_scene(scene)
        outlines = [footprint_of(one).astype(np.float32) for one in table.things]
        for task in scene.tasks:
            if task.piece:
                continue
            rows, columns = np.nonzero(task.mask)
            unit = tuple(((column + 0.5) / 640, (row + 0.5) / 480)
                         for row, column in zip(rows[::97], columns[::97], strict=True))
            for x, y in to_table(table.look.view(), unit):
                assert all(cv2.pointPolygonTest(outline, (float(x), float(y)), True)
                           < -PLACE_M + 0.015 for outline in outlines)
                assert (np.abs([x, y]) < np.array(table.look.half_m) - PLACE_M + 0.015).all()
                checked += 1
    assert checked > 100


# --- the source ---------------------------------------------------------------------------------


@pytest.mark.parametrize('wrong', ['tabletop/7', 'tabletop/other/7', 'kitchen/held_out/7',
                                   'tabletop/held_out/x', ''])
def test_an_id_of_no_table_is_refused(wrong):
    with pytest.raises(InputError, match='tabletop/held_out/7'):
        table_of(wrong)


def test_an_id_gives_its_table():
    assert table_of(sample_table(3, False).id) == sample_table(3, False)
    assert table_of(sample_table(3, True).id) == sample_table(3, True)


def test_traces_can_be_left_out(scenes):
    with make_source(traces=False) as quick:
        for scene in scenes[:2]:
            again = quick.scene(int(scene.id.split('/')[2]), held_out='held_out' in scene.id)
            assert again.traces == ()
            assert [task.text for task in again.tasks] == [task.text for task in scene.tasks]


def test_the_source_is_found_by_its_name():
    found = importlib.metadata.entry_points(group='sightplan.scenes', name='tabletop')
    assert [entry.load() for entry in found] == [make_source]
