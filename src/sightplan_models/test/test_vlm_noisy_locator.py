"""The backend ``noisy_locator``: rates, persistence, and answers about marked places."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightplan.model import Form, InputError, Region, Target, TargetMasks
from sightplan.model.query import ask_one
from sightplan.queries import Check, Exists
from sightplan.queries.locate import Locate
from sightplan.vlm.api import backend_content, make_backend

SHAPE = (60, 80)
COUNT = 3000


def piece(row: int, column: int, height: int = 10, width: int = 10) -> Any:
    mask = np.zeros(SHAPE, bool)
    mask[row:row + height, column:column + width] = True
    return mask


MASKS = TargetMasks(piece(5, 5), (piece(5, 30), piece(5, 55), piece(30, 5)))
IMAGES = [np.full((2, 2, 3), (number // 256, number % 256, 0), np.uint8)
          for number in range(COUNT)]


class Truth:
    def __init__(self, masks: TargetMasks = MASKS) -> None:
        self.found = masks

    def masks(self, target: str) -> TargetMasks:
        if target == 'the unicorn':
            raise InputError('no unicorn')
        return self.found


NOTHING = Truth(TargetMasks(np.zeros(SHAPE, bool), MASKS.others))
"""Truth of a picture where the target is not in view."""


def make(truth: Any = None, **options: Any) -> Any:
    return make_backend('noisy_locator', {'silent': 0.0, **options}, truth or Truth())


def ask(number: int, attempt: int = 0, form: Form = Form.POINT,
        text: str = 'the mug') -> Locate:
    return Locate(IMAGES[number], Target(text, form), attempt=attempt)


def at(region: Region) -> int | None:
    """What a place lies on: 0 for the target, 1 to 3 for others, None for nothing."""
    [(column, row)] = Region(Form.POINT, (region.centre,)).pixels(SHAPE[1], SHAPE[0])
    return next((index for index, mask in enumerate((MASKS.target, *MASKS.others))
                 if mask[row, column]), None)


def places(backend: Any, attempts: int = 1, form: Form = Form.POINT) -> Any:
    """(COUNT, attempts): what is pointed at, -1 for nothing."""
    found = [[at(ask_one(backend, ask(number, attempt, form)).regions[0])
              for attempt in range(attempts)] for number in range(COUNT)]
    return np.array([[-1 if place is None else place for place in row] for row in found])


def close(values: Any, expected: float) -> bool:
    """Whether a rate is within four standard errors."""
    error = (expected * (1 - expected) / np.size(values)) ** 0.5
    return abs(np.mean(values) - expected) < 4 * error


@pytest.mark.parametrize('form', [Form.POINT, Form.POINTS, Form.BOX])
@pytest.mark.parametrize(('options', 'hit'), [
    ({}, 0.533), ({'table': 'roborefer', 'kind': 'afd'}, 0.183), ({'hit': 0.8}, 0.8)])
def test_hits_and_misses_are_as_often_as_told(form: Form, options: Any, hit: float) -> None:
    found = places(make(**options), form=form)
    assert close(found == 0, hit)
    missed = found[found != 0]
    assert close(missed > 0, 0.5)
    for other in (1, 2, 3):
        assert close(missed == other, 0.5 / 3)


def test_places_persist_and_rates_stay() -> None:
    found = places(make(repeat=0.8), attempts=4)
    for attempt in range(4):
        assert close(found[:, attempt] == 0, 0.533)
    again = found[:, 1:] == found[:, :-1]
    assert close(again[found[:, :-1] == 0], 0.8 + 0.2 * 0.533)
    other = (1 - 0.533) / 2 / 3
    assert close(again[found[:, :-1] > 0], 0.8 + 0.2 * other)


def test_a_repeated_place_is_the_very_same() -> None:
    backend = make(repeat=1.0)
    assert len({ask_one(backend, ask(3, attempt)).regions for attempt in range(50)}) == 1
    backend = make(repeat=0.0)
    assert len({ask_one(backend, ask(3, attempt)).regions for attempt in range(50)}) > 30


def test_draws_depend_on_seed_picture_target_and_attempt_alone() -> None:
    asked = [ask(number, attempt, text=text) for number in (0, 1) for attempt in range(6)
             for text in ('the mug', 'the red mug')]
    one, other = make(seed=5), make(seed=5)
    forwards = [ask_one(one, request).regions for request in asked]
    assert [ask_one(other, request).regions for request in asked[::-1]] == forwards[::-1]
    assert [ask_one(make(seed=6), request).regions for request in asked] != forwards
    assert len(set(forwards)) > 10


def test_pictures_that_are_not_drawn_differ_by_where_the_target_is() -> None:
    found = [ask_one(make(Truth(TargetMasks(piece(row, 20))), hit=0.5), ask(0)).regions[0]
             for row in range(40)]
    on = [(row <= region.centre[1] * SHAPE[0] < row + 10) and
          20 <= region.centre[0] * SHAPE[1] < 30 for row, region in enumerate(found)]
    assert 5 < sum(on) < 35


def test_boxes_overlap_as_told() -> None:
    backend, ious = make(hit=1.0, box_iou=0.6), []
    tight = np.zeros((600, 800), bool)
    tight[50:150, 50:150] = True
    for number in range(400):
        [box] = ask_one(backend, ask(number, form=Form.BOX)).regions
        (left, top), (right, bottom) = box.pixels(800, 600)
        drawn = np.zeros_like(tight)
        drawn[top:bottom, left:right] = True
        ious.append((drawn & tight).sum() / (drawn | tight).sum())
    assert 0.58 < min(ious) < 0.65 and max(ious) > 0.95
    assert np.mean(ious) == pytest.approx(0.8, abs=0.03)


def test_what_is_not_in_view() -> None:
    reply = ask_one(make(NOTHING, false_alarm=0.0), ask(0))
    assert (reply.regions, reply.unread, reply.text) == ((), '', '')
    for form in (Form.POINT, Form.BOX):
        assert ask_one(make(NOTHING, false_alarm=1.0, confusable=0.0), ask(0, form=form)).regions
    replies = [ask_one(make(NOTHING, false_alarm=0.3), ask(number)) for number in range(COUNT)]
    assert close([bool(reply.regions) for reply in replies], 0.3)
    assert close([at(reply.regions[0]) in (1, 2, 3) for reply in replies if reply.regions], 0.5)
    full = Truth(TargetMasks(np.ones(SHAPE, bool)))
    assert ask_one(make(full, hit=0.0), ask(0)).regions


def test_misses_are_silent_as_often_as_told() -> None:
    backend = make(hit=0.6, silent=0.25)
    replies = [ask_one(backend, ask(number)) for number in range(COUNT)]
    assert close([not reply.regions for reply in replies], 0.4 * 0.25)
    assert close([bool(reply.regions) and at(reply.regions[0]) == 0 for reply in replies], 0.6)


@pytest.mark.parametrize(('truth', 'yes'), [(None, 0.7), (True, 0.4)])
def test_existence_is_told_as_often_rightly_as_told(truth: Any, yes: float) -> None:
    backend = make(NOTHING if truth else None, exists_yes=0.7, exists_no=0.6, repeat=0.5)
    said = np.array([[ask_one(backend, Exists(IMAGES[number], Target('the mug'), attempt)).text
                      == 'Yes' for attempt in range(2)] for number in range(COUNT)])
    assert close(said[:, 0], yes) and close(said[:, 1], yes)
    assert close(said[:, 1][said[:, 0]], 0.5 + 0.5 * yes)


def test_an_overlapping_thing_is_missed_beside_the_target() -> None:
    truth = Truth(TargetMasks(piece(5, 5), (piece(5, 5, 10, 12), piece(5, 5))))
    for number in range(50):
        [region] = ask_one(make(truth, hit=0.0, confusable=1.0), ask(number)).regions
        [(column, row)] = region.pixels(SHAPE[1], SHAPE[0])
        assert 15 <= column < 17 and 5 <= row < 15


@pytest.mark.parametrize(('region', 'mask', 'right'), [
    (Region(Form.POINT, ((10 / 80, 10 / 60),)), None, True),
    (Region(Form.POINT, ((35 / 80, 10 / 60),)), None, False),
    (Region(Form.POINT, ((0.99, 0.99),)), None, False),
    (Region(Form.POINT, ((1.0, 1.0),)), None, False),
    (Region(Form.BOX, ((4 / 80, 4 / 60), (16 / 80, 16 / 60))), None, True),
    (Region(Form.BOX, ((30 / 80, 4 / 60), (40 / 80, 16 / 60))), None, False),
    (Region(Form.POINT, ((0.9, 0.9),)), piece(4, 4, 12, 12), True),
    (Region(Form.POINT, ((10 / 80, 10 / 60),)), piece(5, 30), False),
    (Region(Form.POINT, ((10 / 80, 10 / 60),)), piece(7, 7, 5, 5), True),
    (Region(Form.POINT, ((10 / 80, 10 / 60),)), piece(14, 14, 20, 20), False),
    (Region(Form.POINT, ((10 / 80, 10 / 60),)), np.zeros(SHAPE, bool), False)])
def test_marked_places_are_judged_by_the_truth(region: Region, mask: Any, right: bool) -> None:
    request = Check(IMAGES[0], Target('the mug'), region, mask)
    assert ask_one(make(check_accuracy=1.0), request).text == ('Yes' if right else 'No')
    assert ask_one(make(check_accuracy=0.0), request).text == ('No' if right else 'Yes')


def test_answers_about_places_are_as_often_right_as_told() -> None:
    backend = make(check_accuracy=0.8, repeat=0.5)
    right: list[list[bool]] = []
    for number in range(COUNT):
        for index, mask in enumerate((MASKS.target, MASKS.others[0])):
            right.append([(ask_one(backend, Check(IMAGES[number], Target('the mug'),
                    Region(Form.POINT, ((0.5, 0.5),)), mask,
                        attempt)).text == 'Yes') is (index == 0) for attempt in range(2)])
    found = np.array(right)
    assert close(found[:, 0], 0.8) and close(found[:, 1], 0.8)
    assert close(found[:, 1][~found[:, 0]], 1 - (0.5 + 0.5 * 0.2))


def test_all_places_on_one_thing_share_an_answer() -> None:
    backend = make(check_accuracy=0.5)
    for number in range(30):
        texts = {ask_one(backend, Check(IMAGES[number], Target('the mug'), Region(
            Form.POINT, ((column / 80, 10 / 60),)))).text for column in (31, 33, 37)}
        assert len(texts) == 1


def test_what_it_refuses() -> None:
    backend = make()
    with pytest.raises(InputError, match='trace'):
        ask_one(backend, ask(0, form=Form.TRACE))
    trace = Region(Form.TRACE, ((0, 0), (1, 1)))
    with pytest.raises(InputError, match='trace'):
        ask_one(backend, Check(IMAGES[0], Target('the mug'), trace))
    with pytest.raises(InputError, match='4x3 pixels, the truth 80x60'):
        ask_one(backend, Check(IMAGES[0], Target('a'), trace, np.ones((3, 4), bool)))
    with pytest.raises(InputError, match='unicorn'):
        ask_one(backend, ask(0, text='the unicorn'))
    with pytest.raises(InputError, match="table = 'gpt-4o' must be one of molmo-7b, robopoint"):
        make(table='gpt-4o')
    with pytest.raises(InputError, match="kind = 's3' must be one of object"):
        make(kind='s3')


def test_names_and_identity() -> None:
    assert make(silent=0.1).name == (
        'noisy_locator(molmo-7b/s1 0.533, confusable 0.5, silent 0.1, false alarm 0.4, '
        'repeat 0.45, check 0.9, exists 0.9/0.8, box 0.5, seed 0)')
    assert make(hit=0.3).name.startswith('noisy_locator(hit 0.3, ')
    kinds = {backend_content('noisy_locator', {'kind': kind}) for kind in ('s1', 's2', 'contact')}
    assert len(kinds) == 3 and '' not in kinds


def test_the_published_averages_are_those_of_their_rows() -> None:
    """Counts of the released items: object 134, part 52, restriction 43; afd 115, ..."""
    from sightplan_models.noisy_locator import _rates

    counts = {'s1': {'object': 134, 'object part': 52, 'restriction': 43},
              's2': {'afd': 115, 'recommend': 99, 'predict': 36, 'safety': 12, 'contact': 9}}
    for row in _rates().values():
        for stage, weights in counts.items():
            mean = sum(row[kind] * n for kind, n in weights.items()) / sum(weights.values())
            assert row[stage] == pytest.approx(mean, abs=0.001)


def test_the_truth_of_episodes_knows_no_places() -> None:
    class States:
        def state(self) -> frozenset[str]:
            return frozenset()
    with pytest.raises(InputError, match=r'another truth \(masks\) than that of episodes'):
        make_backend('noisy_locator', {}, States())
    with pytest.raises(InputError, match=r'another truth \(better\)'):
        make_backend('noisy_critic', {}, States())
