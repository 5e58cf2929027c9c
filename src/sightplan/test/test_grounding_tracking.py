"""What is remembered of things over several pictures."""

from __future__ import annotations

import pytest

from sightplan.grounding.instructions import Instance, Memory, instances_of, matched
from sightplan.model.region import Form, Region, box_iou
from sightplan.queries.detect import Detection, DetectReply, apart


def box(x: float, y: float = 0.5, half: float = 0.05) -> Region:
    return Region(Form.BOX, ((x - half, y - half), (x + half, y + half)))


def seen(x: float, kind: str = 'mug', sure: float = 1.0, name: str = 'x') -> Instance:
    return Instance(name, box(x), {kind: sure}, {'red': 1.0})


def mixed(x: float, **kinds: float) -> Instance:
    return Instance('x', box(x), kinds, {'red': 1.0})


def begun(*things: Instance, looks: int = 5) -> Memory:
    return Memory(things, looks)


def kinds_at_first(memory: Memory) -> dict[str, str]:
    return {one.name: one.category for one in memory.as_at_first()
            if one.categories.get(one.category, 0.0) >= 0.5}


def test_a_thing_stays_known_where_a_picture_misses_it() -> None:
    memory = begun(seen(0.2, name='a'), seen(0.6, name='b'))
    assert set(memory.look([seen(0.6)], 5)) == {'b'}
    assert kinds_at_first(memory) == {'a': 'mug', 'b': 'mug'}
    assert memory['a'].region == box(0.2)


def test_what_most_looks_miss_for_long_is_nothing() -> None:
    memory = begun(seen(0.2, sure=0.6, name='a'), seen(0.6, name='b'))
    for _ in range(3):
        memory.look([seen(0.6)], 5)
    assert kinds_at_first(memory) == {'b': 'mug'}


def test_a_name_that_others_contradict_is_corrected_by_more_pictures() -> None:
    memory = begun(mixed(0.2, can=0.5, bowl=0.3), seen(0.6, name='b'))
    assert kinds_at_first(memory)['x'] == 'can'
    for _ in range(3):
        memory.look([mixed(0.2, bowl=0.8, mug=0.1), seen(0.6)], 5)
    assert kinds_at_first(memory)['x'] == 'bowl'


def test_what_is_seen_once_where_nothing_was_is_nothing_yet() -> None:
    memory = begun(seen(0.2, name='a'), seen(0.8, name='b'))
    memory.look([seen(0.2), seen(0.8), seen(0.5, 'apple', 0.2)], 5)
    assert set(kinds_at_first(memory)) == {'a', 'b'}
    memory.look([seen(0.2), seen(0.8), seen(0.5, 'apple', 0.8)], 5)
    assert sorted(kinds_at_first(memory).values()) == ['apple', 'mug', 'mug']


@pytest.mark.parametrize(('sure', 'x'), [(0.8, 0.45), (0.4, 0.2)])
def test_what_nobody_touched_has_moved_if_most_looks_see_it_elsewhere(sure, x) -> None:
    memory = begun(seen(0.2, name='a'), seen(0.8, 'can', name='b'))
    memory.look([seen(0.45, sure=sure), seen(0.8, 'can')], 5)
    assert memory['a'].region == box(x)
    first = next(one for one in memory.as_at_first() if one.name == 'a')
    assert first.region == box(0.2)


def test_another_name_at_a_known_place_moves_nothing() -> None:
    """A mug that is missed, and the can called a mug: no mug has come to the can's place."""
    memory = begun(seen(0.2, name='a'), seen(0.8, 'can', name='b'))
    memory.look([seen(0.8, 'mug')], 5)
    assert memory['a'].region == box(0.2)


def test_what_was_touched_is_found_by_kind() -> None:
    memory = begun(seen(0.2, name='a'), seen(0.3, name='b'))
    found = memory.look([seen(0.3), seen(0.7, sure=0.4)], 5, {'a'})
    assert set(found) == {'a', 'b'} and memory['a'].region == box(0.7)


def test_what_is_said_to_be_in_the_hand_is_looked_for_only_where_it_was() -> None:
    memory = begun(seen(0.2, name='a'))
    assert memory.look([seen(0.7)], 5, {'a'}, lifted='a').keys() == set()
    assert memory.look([seen(0.2), seen(0.7)], 5, {'a'}, lifted='a').keys() >= {'a'}


def test_what_cannot_be_seen_is_not_missed() -> None:
    memory = begun(seen(0.2, sure=0.6, name='a'), seen(0.6, name='b'))
    for _ in range(3):
        memory.look([seen(0.6)], 5, hidden={'a'})
    assert set(kinds_at_first(memory)) == {'a', 'b'}


def test_what_is_seen_in_a_filled_place_is_one_of_those_that_were_put_there() -> None:
    memory = begun(seen(0.2, name='a'), seen(0.8, 'tray', name='t'))
    memory.put('a', box(0.6))
    memory.look([seen(0.8, 'tray'), seen(0.86, 'mug')], 5, filled=[box(0.8, half=0.1)])
    assert set(kinds_at_first(memory)) == {'a', 't'}


def test_where_a_thing_is_is_the_mean_of_its_boxes() -> None:
    memory = begun(seen(0.2, name='a'))
    memory.look([seen(0.22)], 1)
    memory.look([seen(0.24)], 1)
    assert memory['a'].region.centre[0] == pytest.approx(0.22)


def test_whether_a_drawer_is_open_is_forgotten_when_it_was_moved() -> None:
    def drawer(opened: float) -> Instance:
        return Instance('d', box(0.5), {'drawer:top': 1.0}, {}, opened)

    memory = begun(drawer(0.1))
    memory.look([drawer(0.2)], 5)
    assert memory['d'].opened == pytest.approx(0.15)
    memory.look([drawer(0.9)], 5, {'d'})
    assert memory['d'].opened == pytest.approx(0.9)


def test_an_open_drawer_is_not_its_cabinet() -> None:
    cabinet = Detection(Region(Form.BOX, ((0.1, 0.1), (0.4, 0.6))), {'cabinet': 1.0})
    drawer = Detection(Region(Form.BOX, ((0.1, 0.2), (0.4, 0.6))), {'drawer:top': 1.0}, {}, 1.0,
                       0.9)
    assert box_iou(cabinet.region, drawer.region) > 0.5
    assert len(apart([cabinet, drawer])) == 2
    looks = [DetectReply((cabinet, drawer)), DetectReply((drawer,)), DetectReply((cabinet,))]
    assert sorted(one.category for one in instances_of(looks)) == ['cabinet', 'drawer:top']
    memory = Memory(instances_of(looks), 3)
    assert len(memory.look(instances_of(looks[1:2]), 1)) == 1
    assert {one.category for one in memory.as_at_first()} == {'cabinet', 'drawer:top'}


def test_things_are_matched_one_to_one_by_kind_and_place() -> None:
    known = {name: seen(x, kind, name=name) for name, x, kind in (
        ('mug_1', 0.1, 'mug'), ('mug_2', 0.4, 'mug'), ('can_1', 0.7, 'can'))}
    now = (seen(0.42, name='x'), seen(0.12, name='y'), seen(0.71, name='z'))
    found = matched(known, now)
    assert {name: one.name for name, one in found.items()} == {'mug_1': 'y', 'mug_2': 'x'}
    assert matched(known, ()) == {} == matched({}, now)


def test_things_of_other_kinds_have_names_that_pddl_allows() -> None:
    labels = ('Tasse', 'blaue Tasse', 'Müllbeutel (groß)', '微波炉', '2nd shelf!', 'a' * 90, '')
    found = instances_of([DetectReply(tuple(Detection(
        Region(Form.BOX, ((k / 10, 0.1), (k / 10 + 0.05, 0.2)), label), {'other': 1.0})
        for k, label in enumerate(labels)))])
    assert [one.name for one in found] == [
        'tasse_1', 'blaue_tasse_1', 'mullbeutel_gro_1', 'other_1', 'thing_2nd_shelf_1',
        f'{"a" * 40}_1', 'other_2']
    assert [one.region.label for one in found] == list(labels)
