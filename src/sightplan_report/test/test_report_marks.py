"""Places drawn into a picture."""

import itertools

import numpy as np
import pytest

from sightplan.model import Form, Region
from sightplan_report import marks
from sightplan_report.marks import COLOURS, Mark, draw_marks

POINT = Region(Form.POINT, ((0.5, 0.5),))
BOX = Region(Form.BOX, ((0.25, 0.25), (0.75, 0.75)))
TRACE = Region(Form.TRACE, ((0.1, 0.1), (0.5, 0.5), (0.9, 0.5)))


def page(colour, size=(200, 300)):
    return np.full((*size, 3), colour, np.uint8)


def changed(before, after):
    return (before != after).any(axis=2)


def test_nothing_to_mark_changes_nothing():
    before = page((10, 20, 30))
    for nothing in ([], [Mark('gone', ())]):
        after = draw_marks(before, nothing)
        assert after is not before
        np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize('region', [POINT, BOX, TRACE], ids=lambda region: region.form)
@pytest.mark.parametrize('background', [(0, 0, 0), (255, 255, 255), (128, 128, 128), *COLOURS])
def test_a_mark_stands_out_on_any_background(region, background):
    """Next to its place there is white and black: one of them differs from the background."""
    before = page(background)
    after = draw_marks(before, [Mark('', (region,))])
    x, y = (round(number) for number in np.array(region.points[0]) * (300, 200))
    near = after[max(0, y - 22):y + 23, max(0, x - 22):x + 23].reshape(-1, 3).astype(int)
    for ink in ((0, 0, 0), (255, 255, 255), COLOURS[0]):
        assert (np.abs(near - ink).max(axis=1) < 30).sum() > 10, ink


def test_a_crosshair_leaves_its_place_open():
    before = page((10, 20, 30))
    after = draw_marks(before, [Mark('', (POINT,))])
    assert not changed(before, after)[99:102, 149:152].any()
    assert changed(before, after)[100, 150 - 18:150 + 19].any()


def test_a_box_is_open_and_lies_on_its_edges():
    before = page((10, 20, 30))
    drawn = changed(before, draw_marks(before, [Mark('', (BOX,))]))
    assert drawn[50, 80:220].all() and drawn[150, 80:220].all()
    assert drawn[60:140, 75].all() and drawn[60:140, 225].all()
    assert not drawn[60:140, 90:210].any()


def test_a_trace_goes_through_its_points_with_a_ring_and_an_arrow():
    before = page((10, 20, 30))
    drawn = changed(before, draw_marks(before, [Mark('', (TRACE,))]))
    assert all(drawn[round(y * 200), round(x * 300)] for x, y in TRACE.points[1:])
    assert drawn[92:109, 260].sum() > drawn[92:109, 220].sum(), 'the arrow is wider than the line'


def test_each_target_has_a_colour_and_a_number():
    regions = [Region(Form.POINT, ((0.1 + 0.8 * n / 7, 0.5),)) for n in range(8)]
    after = draw_marks(page((90, 90, 90), (200, 1600)), [Mark('a', (r,)) for r in regions])
    for number, region in enumerate(regions):
        column = round(region.points[0][0] * 1600)
        around = after[90:111, column - 15:column + 16].reshape(-1, 3)
        assert (around == COLOURS[number % len(COLOURS)]).all(axis=1).any()


@pytest.mark.parametrize('size', [(1, 1), (20, 30), (48, 64), (3000, 2000)])
def test_any_size_and_any_text(size):
    shown = [Mark(text, (region,)) for text, region in itertools.product(
        ['', 'a' * 500, 'Größe → 漢字', 'two\nlines'],
        [POINT, BOX, TRACE, Region(Form.POINT, ((1.0, 0.0),)),
         Region(Form.TRACE, ((0.5, 0.5), (0.5, 0.5))), Region(Form.POINT, ((1.5, -2.0),))])]
    after = draw_marks(page((200, 200, 200), size), shown)
    assert after.shape == (*size, 3) and after.dtype == np.uint8


def test_a_read_only_picture_is_drawn_into_a_copy():
    before = page((200, 200, 200))
    before.flags.writeable = False
    assert changed(before, draw_marks(before, [Mark('a', (POINT,))])).any()


def test_labels_do_not_cover_each_other_where_there_is_room(monkeypatch):
    placed = []
    free_place = marks._free_place
    monkeypatch.setattr(marks, '_free_place', lambda *arguments: placed.append(
        free_place(*arguments)) or placed[-1])
    near = [Region(Form.POINT, ((0.5 + 0.01 * n, 0.5),)) for n in range(4)]
    draw_marks(page((0, 0, 0), (400, 600)), [Mark('the red mug', (r,)) for r in near])
    assert len(placed) == 4
    assert all(marks._overlap(a, b) == 0 for a, b in itertools.combinations(placed, 2))
    assert all(box[0] >= 0 and box[1] >= 0 and box[2] <= 600 and box[3] <= 400 for box in placed)
