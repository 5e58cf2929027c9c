"""Point-It-Out: published numbers, masks, and every measure by hand."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from point_it_out_cases import SIZE, SQUARE, DrawnScenes
from sightplan.metrics.measures import aggregates
from sightplan.model import Form, Region
from sightplan.model.reading import read_file
from sightplan.queries.coordinates import Coordinates, from_unit
from sightplan.runs import load_suite
from sightplan.runs.published import PublishedFile
from sightplan_suites.point_it_out import masks, scoring
from sightplan_suites.point_it_out.official import Item
from sightplan_suites.point_it_out.predictions import Prediction, regions_of

TRUTH = {'size': list(SIZE), 'polygon': [SQUARE]}
COUNTS = {'s1': {'object': 134, 'object part': 52, 'restriction': 43},
          's2': {'afd': 115, 'contact': 9, 'predict': 36, 'recommend': 99, 'safety': 12}}


def box(x1, y1, x2, y2):
    """A box given in pixels."""
    return Region(Form.BOX, ((x1 / SIZE[0], y1 / SIZE[1]), (x2 / SIZE[0], y2 / SIZE[1])))


def measured(*regions, form=Form.BOX, truth=None):
    found = scoring.score_regions(form, regions, truth or TRUTH)
    return found.measures, found.cause


# ----------------------------------------------------------------------------------- published


def test_averages_of_table_7_follow_from_its_subclasses_and_the_released_counts():
    suite = load_suite('point_it_out')
    table = read_file(PublishedFile, suite.folder / 'published.json')
    models = {row.model for row in table.rows if row.source == 'table 7'}
    assert len(models) == 13
    for model in models:
        for split, counts in COUNTS.items():
            rows = [row for row in table.rows
                    if row.model == model and row.where.get('split') == split]
            output, = {row.where['output'] for row in rows}
            parts = {row.where['subclass']: row for row in rows if 'subclass' in row.where}
            assert {name: row.n for name, row in parts.items()} == counts
            mean = sum(row.value * row.n for row in parts.values()) / sum(counts.values())
            printed = suite.published.find(model, 'score_dropped', split=split, output=output)
            assert printed.n == sum(counts.values())
            assert mean == pytest.approx(printed.value, abs=1e-3), (model, split)


def test_table_6_has_people_and_judge():
    suite = load_suite('point_it_out')
    for model, people, judge in (('gemini-2.5-pro', 3.91, 3.25), ('molmo-7b', 1.40, 1.48)):
        where = {'split': 's3', 'output': 'trace'}
        assert suite.published.find(model, 'rating_people', **where).value == people
        assert suite.published.find(model, 'rating_judge', **where).value == judge
    rows = read_file(PublishedFile, suite.folder / 'published.json').rows
    assert len({row.model for row in rows if row.source == 'table 6'}) == 7
    keys = [(row.model, row.measure, tuple(sorted(row.where.items()))) for row in rows]
    assert len(set(keys)) == len(keys)


def test_models_are_found_under_the_names_of_their_checkpoints():
    suite = load_suite('point_it_out')
    table = read_file(PublishedFile, suite.folder / 'published.json')
    names = {row.model for row in table.rows}
    assert set(table.aliases.values()) <= names
    assert suite.published.model_name('allenai/Molmo-7B-D-0924') == 'molmo-7b'


# --------------------------------------------------------------------------------------- masks


def test_a_mask_holds_its_border_and_vertices_are_truncated():
    mask = masks.fill([[10.9, 10.9, 29.9, 10, 29, 29.5, 10, 29]], SIZE)
    assert mask.sum() == 400 and mask[10, 10] and mask[29, 29] and not mask[30, 29]


def test_a_mask_is_the_union_of_its_rings():
    both = masks.fill([SQUARE, [20, 20, 39, 20, 39, 39, 20, 39]], SIZE)
    assert both.sum() == 400 + 400 - 100


@pytest.mark.parametrize(('ring', 'area'), [
    (SQUARE, True), ([0, 0, 5, 5, 9, 9], False), ([3, 3, 3, 3, 3, 3], False),
    ([0, 0, 10, 0, 10, 10, 0, 0, 10, 0], True), ([0, 0, 4, 4, 0, 4, 4, 0], True),
    ([5, 1, 5, 9, 5, 4, 5, 2], False)])
def test_area(ring, area):
    assert masks.has_area(ring) is area


def test_a_mask_with_holes_and_parts_survives_the_way_to_rings_and_back():
    worst = 1.0
    for seed in range(40):
        for piece in DrawnScenes().scene(seed).pieces:
            rings = masks.outline(piece.mask)
            again = masks.fill(rings, DrawnScenes.size)
            worst = min(worst, (again & piece.mask).sum() / (again | piece.mask).sum())
    print(f'least IoU of a mask and what is read back: {worst}')
    assert worst > 0.99


def test_specks_without_an_area_are_left_out():
    mask = np.zeros((20, 20), bool)
    mask[2, 3] = mask[10, 4:9] = True
    assert masks.outline(mask) == []
    mask[12:15, 12:15] = True
    assert masks.outline(mask) == [[12, 12, 12, 14, 14, 14, 14, 12]]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9), parts=st.integers(1, 5))
def test_random_masks_survive(seed, parts):
    rng = np.random.default_rng(seed)
    mask = np.zeros((80, 100), bool)
    for _ in range(parts):
        x, y = rng.integers(0, 80), rng.integers(0, 60)
        mask[y:y + rng.integers(6, 40), x:x + rng.integers(6, 40)] ^= True
    again = masks.fill(masks.outline(mask), (100, 80))
    assert (again & mask).sum() >= 0.95 * (again | mask).sum()


def test_tight_box_and_inner_point():
    mask = masks.fill([SQUARE], SIZE)
    assert masks.tight_box(mask) == (10, 10, 30, 30)
    x, y = masks.inner_point(mask)
    assert mask[int(y * SIZE[1]), int(x * SIZE[0])] and abs(x * SIZE[0] - 20) < 1.6
    full = np.ones((48, 64), bool)
    x, y = masks.inner_point(full)
    assert 20 < x * 64 < 44 and 20 < y * 48 < 28  # the picture's edge is a border


# --------------------------------------------------------------------------------------- boxes


def test_the_tight_box_scores_exactly_one():
    found, cause = measured(box(10, 10, 30, 30))
    assert found['iou_normalised'] == found['score'] == 1.0 and cause is None
    assert found['iou_released'] == pytest.approx(361 / 400)
    assert found['precision'] == pytest.approx(400 / (21 * 21))
    assert found['on_mask'] is None and found['unread'] == 0.0


def test_a_shifted_box_by_hand():
    found, _ = measured(box(20, 10, 40, 30))
    assert found['iou_normalised'] == pytest.approx(200 / 600)
    assert found['iou_released'] == pytest.approx((9 * 19) / (400 + 361 - 9 * 19))
    assert found['precision'] == pytest.approx(200 / 441)


def test_the_normalised_iou_is_not_capped():
    thin = {'size': [100, 100], 'polygon': [[10, 10, 49, 10, 49, 49, 10, 49],
                                            [90, 90, 91, 90, 91, 91, 90, 91]]}
    best = Region(Form.BOX, ((0.1, 0.1), (0.5, 0.5)))
    found, _ = measured(best, truth=thin)
    mask = masks.fill(thin['polygon'], (100, 100))
    assert found['iou_normalised'] == pytest.approx((1600 / 1604) / (1604 / 82**2))
    assert found['iou_normalised'] > 1 and mask.sum() == 1604


def test_of_several_rings_the_release_knows_the_first_only():
    truth = {**TRUTH, 'polygon': [SQUARE, [40, 20, 49, 20, 49, 29, 40, 29]]}
    found, _ = measured(box(10, 10, 29, 29), truth=truth)
    assert found['iou_released'] == 1.0
    assert found['iou_normalised'] == pytest.approx((361 / 500) / (500 / 800))
    other = {**TRUTH, 'polygon': truth['polygon'][::-1]}
    assert measured(box(10, 10, 29, 29), truth=other)[0]['iou_released'] == 0.0


def test_the_release_clamps_to_the_last_column_and_row():
    ring = [40, 30, 63, 30, 63, 47, 40, 47]
    truth = {**TRUTH, 'polygon': [ring]}
    found, _ = measured(box(40, 30, 64, 48), truth=truth)
    assert found['iou_released'] == 1.0 and found['iou_normalised'] == 1.0
    inside = scoring.iou_released((40, 30, 64, 48), ring, (200, 200))
    assert inside == pytest.approx((23 * 17) / (24 * 18))


def test_a_first_ring_without_area_is_not_scored_as_released():
    truth = {**TRUTH, 'polygon': [[5, 5, 9, 5, 7, 5], SQUARE]}
    found, _ = measured(box(10, 10, 30, 30), truth=truth)
    assert found['iou_released'] is None and found['iou_normalised'] > 0.9


@pytest.mark.parametrize('region', [
    box(10, 10, 10, 30), box(30, 10, 10, 30), box(10, 30, 30, 10), box(12.2, 10, 12.9, 30)])
def test_a_readable_box_without_area_scores_zero(region):
    found, cause = measured(region)
    assert cause == 'degenerate' and found['unread'] == 0.0
    for name in ('score', 'iou_normalised', 'precision'):
        assert found[name] == found[f'{name}_dropped'] == 0.0
    assert found['iou_released'] == found['iou_released_dropped'] < 0.05


def test_the_release_rounds_no_corner_of_a_prediction():
    found, _ = measured(box(10.6, 10.5, 29.5, 28.25))
    shared = (29 - 10.6) * (28.25 - 10.5)  # the ring's box is 10 to 29
    assert found['iou_released'] == pytest.approx(
        shared / ((29.5 - 10.6) * (28.25 - 10.5) + 361 - shared))
    assert measured(box(12.2, 10, 12.9, 30))[0]['iou_released'] == pytest.approx(
        0.7 * 19 / (0.7 * 20 + 361 - 0.7 * 19))  # narrower than a pixel: not nothing


def test_a_box_beside_the_mask_is_a_miss():
    found, cause = measured(box(40, 40, 50, 45))
    assert cause == 'missed' and found['score'] == 0.0


def test_of_several_boxes_the_first_counts():
    found, _ = measured(box(10, 10, 30, 30), box(40, 40, 50, 45))
    assert found['score'] == 1.0


# -------------------------------------------------------------------------------------- points


@pytest.mark.parametrize(('point', 'hit'), [
    ((10 / 64, 10 / 48), 1), ((29.99 / 64, 29.99 / 48), 1), ((30 / 64, 20 / 48), 0),
    ((9.99 / 64, 20 / 48), 0), ((-0.1, 0.5), 0), ((0.3, -0.001), 0), ((0.3, 1.2), 0)])
def test_points_by_hand(point, hit):
    found, cause = measured(Region(Form.POINT, (point,)), form=Form.POINT)
    assert found['on_mask'] == found['score'] == hit and cause == (None if hit else 'missed')
    assert found['iou_normalised'] is None


def test_points_are_a_mean_without_a_penalty_for_their_number():
    hit, miss = Region(Form.POINT, ((0.3, 0.4),)), Region(Form.POINT, ((0.9, 0.9),))
    found, cause = measured(hit, hit, miss, form=Form.POINTS)
    assert found['on_mask'] == pytest.approx(2 / 3) and cause is None


def test_the_far_edges_are_in_the_last_column_and_row():
    corner = {**TRUTH, 'polygon': [[50, 40, 63, 40, 63, 47, 50, 47]]}
    assert measured(Region(Form.POINT, ((1.0, 1.0),)), form=Form.POINT,
                    truth=corner)[0]['on_mask'] == 1.0
    for beside in ((-0.01, 0.95), (0.95, -0.01), (-0.01, -0.01)):  # index -1 would be on it
        assert measured(Region(Form.POINT, (beside,)), form=Form.POINT,
                        truth=corner)[0]['on_mask'] == 0.0


def test_a_pixel_is_not_lost_to_rounding():
    for width in range(2, 2000, 7):
        for column in range(0, width, max(1, width // 50)):
            x = column / width
            assert Region(Form.POINT, ((x, x),)).pixels(width, width)[0] == (column, column)


# ----------------------------------------------------------------------------- unread and empty


@pytest.mark.parametrize(('form', 'names'), [
    (Form.BOX, {'iou_normalised', 'iou_released', 'precision'}), (Form.POINT, {'on_mask'}),
    (Form.POINTS, {'on_mask'})])
def test_what_cannot_be_read_counts_zero_and_can_be_left_out(form, names):
    found = scoring.score_regions(form, None, TRUTH)
    assert found.cause == 'unread' and found.measures['unread'] == 1.0
    assert {name for name, value in found.measures.items() if value == 0.0} == {*names, 'score'}
    assert all(found.measures[f'{name}_dropped'] is None for name in (*names, 'score'))


def test_an_empty_answer_is_wrong_and_not_unread():
    found = scoring.score_regions(Form.POINT, (), TRUTH)
    assert found.cause == 'nothing' and found.measures['on_mask'] == 0.0
    assert found.measures['unread'] == 0.0 and found.measures['on_mask_dropped'] is None


def test_zero_and_dropped_averages_are_over_items():
    right = scoring.score_regions(Form.BOX, [box(10, 10, 30, 30)], TRUTH)
    unread = scoring.score_regions(Form.BOX, None, TRUTH)
    lines = [{'measures': found.measures, 'cluster': str(number)}
             for number, found in enumerate((right, right, right, unread))]
    found = aggregates(lines, scoring.MEASURES)
    assert found['iou_normalised']['value'] == 0.75 and found['iou_normalised']['n'] == 4
    assert found['iou_normalised_dropped']['value'] == 1.0
    assert found['iou_normalised_dropped']['n'] == 3 and found['on_mask']['n'] == 0
    assert found['unread']['value'] == 0.25


# ---------------------------------------------------------------------------------- conventions


ITEM = Item('s1s2/0', 's1', 'the thing', 'a.png', (640, 480), 'where2place', 'object',
            ((100, 80, 399, 80, 399, 299, 100, 299),))
RESIZED = (1036, 756)


def in_convention(points, convention):
    return from_unit(points, convention, ITEM.size,
                     RESIZED if convention is Coordinates.RESIZED_PIXEL_XY else None)


@settings(max_examples=100, deadline=None)
@given(corners=st.tuples(st.integers(0, 600), st.integers(0, 440), st.integers(20, 640),
                         st.integers(20, 480)))
def test_a_box_scores_the_same_in_every_convention(corners):
    x1, y1, x2, y2 = corners
    unit = [(x1 / 640, y1 / 480), (x2 / 640, y2 / 480)]
    scores = []
    for convention in Coordinates:
        (a, b), (c, d) = in_convention(unit, convention)
        prediction = Prediction(
            id='s1s2/0', boxes=((a, b, c, d),), coordinates=convention,
            resized=RESIZED if convention is Coordinates.RESIZED_PIXEL_XY else None)
        regions, unread, _ = regions_of(prediction, ITEM)
        assert unread == ''
        scores.append(scoring.score_regions(Form.BOX, regions, {
            'size': [640, 480], 'polygon': [list(ITEM.rings[0])]}))
    assert len(scores) == 6 and len(list(groupby(scores))) == 1
    if x2 > x1 and y2 > y1:
        assert scores[0].cause != 'degenerate'


@settings(max_examples=100, deadline=None)
@given(points=st.lists(st.tuples(st.integers(13, 640), st.integers(10, 480)), min_size=1,
                       max_size=5))
def test_points_score_the_same_in_every_convention(points):
    unit = [(x / 640, y / 480) for x, y in points]
    scores = []
    for convention in Coordinates:
        prediction = Prediction(
            id='s1s2/0', points=tuple(in_convention(unit, convention)), coordinates=convention,
            resized=RESIZED if convention is Coordinates.RESIZED_PIXEL_XY else None)
        regions, unread, _ = regions_of(prediction, ITEM)
        assert unread == ''
        scores.append(scoring.score_regions(Form.POINT, regions, {
            'size': [640, 480], 'polygon': [list(ITEM.rings[0])]}))
    assert len(list(groupby(scores))) == 1
    by_hand = sum(100 <= min(x, 639) <= 399 and 80 <= min(y, 479) <= 299 for x, y in points)
    assert scores[0].measures['on_mask'] == pytest.approx(by_hand / len(points))


@pytest.mark.parametrize(('numbers', 'declared', 'fits'), [
    ((0.1, 0.2, 0.5, 0.8), 'permille_xy', 'unit_xy'), ((64, 96, 320, 384), 'unit_xy', 'pixel_xy'),
    ((100, 200, 640, 900), 'pixel_xy', 'permille'), ((10, 20, 30, 140), 'percent_xy', 'pixel_xy')])
def test_numbers_that_cannot_be_meant_so_are_unread_with_what_would_fit(numbers, declared, fits):
    prediction = Prediction(id='s1s2/0', boxes=(tuple(map(float, numbers)),),
                            coordinates=Coordinates(declared))
    regions, unread, _ = regions_of(prediction, ITEM)
    assert regions is None and fits in unread


def test_y_first_is_not_x_first():
    a, b = ({'id': 's1s2/0', 'boxes': ((156.25, 166.67, 625.0, 625.0),), 'coordinates': name}
            for name in (Coordinates.PERMILLE_XY, Coordinates.PERMILLE_YX))
    first, second = (regions_of(Prediction(**one), ITEM)[0][0].points for one in (a, b))
    assert first[0] == pytest.approx((0.15625, 0.16667))
    assert second[0] == pytest.approx((0.16667, 0.15625))


# -------------------------------------------------------------------------------------- traces


def test_a_trace_is_judged_by_its_start_and_by_the_simulator(monkeypatch):
    truth = {'size': [300, 400], 'start': [0.1, 0.1], 'task': None}
    trace = Region(Form.TRACE, ((0.2, 0.1), (0.9, 0.9)))
    found, cause = measured(trace, form=Form.TRACE, truth=truth)
    assert found['start_error'] == pytest.approx(30 / 500) and cause is None
    assert found['done'] is found['score'] is None
    told = {'done': False, 'touched': ['bottle']}
    monkeypatch.setattr(scoring.scenes, 'follow', lambda task, points: told)
    found, cause = measured(trace, form=Form.TRACE, truth={**truth, 'task': {'scene': 'x'}})
    assert found['done'] == found['score'] == 0.0 and cause == 'touched'
    told = {'done': False, 'touched': []}
    assert measured(trace, form=Form.TRACE, truth={**truth, 'task': {'scene': 'x'}})[1
                                                                                   ] == 'not_done'
    told = {'done': True, 'touched': []}
    found, cause = measured(trace, form=Form.TRACE, truth={**truth, 'task': {'scene': 'x'}})
    assert found['done'] == found['score'] == 1.0 and cause is None


def test_an_unread_trace_fails_only_where_something_can_tell():
    official = {'size': [300, 400], 'start': [0.1, 0.1], 'task': None}
    found = scoring.score_regions(Form.TRACE, None, official)
    assert found.measures['unread'] == 1.0 and found.measures['score'] is None
    found = scoring.score_regions(Form.TRACE, None, {**official, 'task': {'scene': 'x'}})
    assert found.measures['done'] == found.measures['score'] == 0.0
    assert not math.isnan(found.measures['unread'])
