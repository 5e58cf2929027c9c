"""Polygon maps and grids: read, written, what is wrong in them, clearances and collisions."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_suites.paths import (
    NO_OBSTACLE,
    Bounds,
    ObstacleMap,
    OccupancyGrid,
    generate_map,
    map_from_text,
    map_of_grid,
    map_text,
    read_map,
)

SQUARE = ((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0))
ONE = ObstacleMap('one', (SQUARE,))
EMPTY = ObstacleMap('empty', ())


def grid(cells, **more):
    return OccupancyGrid(np.array(cells), **{'resolution': 0.5, 'frame': 'map', **more})


def test_a_file_is_read_and_written_with_the_same_bytes(tmp_path):
    text = '2\n4 0 0 4 0 4 4 0 4 3 -40.3 -10 -39.5 -10 -40 -9.25\n'
    (tmp_path / 'SceneX.txt').write_text(text)
    found = read_map(tmp_path / 'SceneX.txt')
    assert found.name == 'SceneX' and found.polygons[0] == SQUARE
    assert found.polygons[1] == ((-40.3, -10.0), (-39.5, -10.0), (-40.0, -9.25))
    assert map_text(found) == text
    assert map_from_text('0\n', 'none', 'f').polygons == ()


@pytest.mark.parametrize(('text', 'message'), [
    ('', 'is empty'),
    ('1\n4 0 0 4 4 4 0 0 4', 'polygon 1 cannot be used: Self-intersection'),
    ('1\n3 0 0 1 1 2 2', 'polygon 1 cannot be used'),
    ('1\n2 0 0 1 1', 'number of corners is 2'),
    ('1\n3.5 0 0 1 1 1 0', 'number of corners is 3.5'),
    ('-1\n', 'number of polygons is -1'),
    ('2\n3 0 0 1 1 1 0', 'polygon 2 of 2: is missing'),
    ('1\n3 0 0 1 1 1', '5 coordinates for 3 corners'),
    ('1\n3 0 0 1 1 1 0 7', '1 numbers follow'),
    ('1\n3 0 0 1 1 1 nan', "'nan' is not finite"),
    ('1\n3 0 0 1 1e999 1 0', "'1e999' is not finite"),
    ('1\n3 0 0 one 1 1 0', "'one' is not a number"),
    ('1\n3 50 0 51 1 51 0', 'polygon 1 lies outside'),
    ('nan', 'not finite'),
])
def test_what_cannot_be_used_is_refused(text, message):
    with pytest.raises(InputError, match=message) as caught:
        map_from_text(text, 'x', 'x.txt')
    assert str(caught.value).startswith('x.txt') and '(' in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match='nowhere.txt'):
        read_map(tmp_path / 'nowhere.txt')


@given(st.text(alphabet='0123456789 .-+enaif\n', max_size=60))
def test_any_text_is_a_map_or_an_input_error(text):
    try:
        found = map_from_text(text, 'x', 'x.txt')
    except InputError:
        return
    assert map_from_text(map_text(found), 'x', 'x.txt') == found


@given(st.lists(st.tuples(st.floats(-39, 35), st.floats(-39, 35), st.floats(0.01, 4)),
                max_size=8))
def test_what_is_written_is_read(squares):
    item = ObstacleMap('x', tuple(
        ((x, y), (x + size, y), (x + size, y + size)) for x, y, size in squares))
    assert map_from_text(map_text(item), 'x', 'x.txt') == item


def test_clearances():
    points = [(2, 2), (4, 2), (7, 2), (7, 8), (-39.9, 0)]
    assert ONE.clearances(points) == pytest.approx([0, 0, 3, 5, 39.9])
    assert EMPTY.clearances(points).tolist() == [NO_OBSTACLE] * 5
    assert ONE.clearances([]).shape == (0,)
    with pytest.raises(InputError, match='point 2 is not finite'):
        ONE.clearances([(0, 0), (math.inf, 0)])
    with pytest.raises(InputError, match='shape'):
        ONE.clearances([(0, 0, 0)])


@pytest.mark.parametrize(('segment', 'radius', 'free'), [
    (((-5, 2), (9, 2)), 0.1, False),         # through, with both ends far away
    (((-5, 5), (9, 5)), 0.9, True),
    (((-5, 5), (9, 5)), 1.0, False),         # it touches
    (((-2, 3), (3, 8)), 0.7, True),          # 0.7071 from a corner
    (((-2, 3), (3, 8)), 0.71, False),
    (((-39, 20), (-39, 30)), 0.9, True),
    (((-39, 20), (-39, 30)), 1.1, False),    # out of the world
    (((2, 2), (2, 2)), 0.1, False),
])
def test_a_disc_is_pushed_along_a_segment(segment, radius, free):
    start, end = segment
    assert ONE.segments_free([start], [end], radius).tolist() == [free]
    assert ONE.segment_test(radius)(*start, *end) is free
    assert ONE.path_free([start, end], radius) is free


def test_the_two_tests_of_segments_agree_with_buffered_polygons():
    rng = random.Random(1)
    spots = [(rng.uniform(-35, 30), rng.uniform(-35, 30)) for _ in range(40)]
    item = ObstacleMap('x', tuple(((x, y), (x + 5, y), (x + 1, y + 4)) for x, y in spots))
    ends = np.array([[rng.uniform(-38, 38) for _ in range(4)] for _ in range(300)])
    wide = shapely.union_all(item.shapes).buffer(1.0, quad_segs=64)
    expected = [not wide.intersects(shapely.LineString(end.reshape(2, 2))) for end in ends]
    assert item.segments_free(ends[:, :2], ends[:, 2:], 1.0).tolist() == expected
    assert [item.segment_test(1.0)(*end) for end in ends.tolist()] == expected
    assert 20 < sum(expected) < 280


def test_a_disc_that_stands_still():
    """GEOS overlooks obstacles near a line without length, so that it must not be asked so."""
    item = generate_map('maze', 12, 0)
    spots = np.array([[math.cos(n) * n / 8, math.sin(n) * n / 8] for n in range(300)])
    expected = item.clearances(spots) > 1.2
    assert item.segments_free(spots, spots, 1.2).tolist() == expected.tolist()
    test = item.segment_test(1.2)
    assert [test(*spot, *spot) for spot in spots.tolist()] == expected.tolist()
    assert [item.path_free([spot], 1.2) for spot in spots] == expected.tolist()
    assert 60 < expected.sum() < 240
    assert item.segment_clearances(spots, spots) == pytest.approx(item.clearances(spots))


def test_whether_there_is_a_way():
    wall = ObstacleMap('wall', (((-1.0, -40.0), (1.0, -40.0), (1.0, 37.0), (-1.0, 37.0)),))
    assert wall.way_exists((-10, 0), (10, 0), 1.4)
    assert not wall.way_exists((-10, 0), (10, 0), 1.6)
    assert not wall.way_exists((0, 0), (10, 0), 0.1)
    assert EMPTY.way_exists((-10, 0), (10, 0), 1.5)


def test_a_grid_is_a_map_in_metres():
    item = map_of_grid(grid([[0, 100, 100], [0, 100, 100], [0, 0, -1]], origin=(10.0, 20.0)))
    assert item.frame == 'map' and item.bounds == Bounds(10, 20, 11.5, 21.5)
    assert shapely.union_all(item.shapes).equals(
        shapely.box(10.5, 20, 11.5, 21) | shapely.box(11, 21, 11.5, 21.5))
    assert len(item.polygons) == 2
    assert item.clearances([(10.25, 20.5), (10.75, 21.25)]) == pytest.approx([0.25, 0.25])
    free = map_of_grid(grid([[-1, 49, 50]]), unknown_occupied=False)
    assert free.polygons == (((1.0, 0.0), (1.5, 0.0), (1.5, 0.5), (1.0, 0.5)),)
    assert len(map_of_grid(grid([[10, 0, 0]]), threshold=10).polygons) == 1


@given(st.lists(st.lists(st.sampled_from([-1, 0, 49, 50, 100]), min_size=5, max_size=5),
                min_size=1, max_size=6))
def test_rectangles_cover_the_occupied_cells_exactly_once(cells):
    item = map_of_grid(grid(cells, resolution=1.0))
    occupied = sum(cell in (-1, 50, 100) for row in cells for cell in row)
    assert sum(shape.area for shape in item.shapes) == pytest.approx(occupied)
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            inside = item.clearances([(x + 0.5, y + 0.5)])[0] == 0
            assert inside == (cell in (-1, 50, 100))


@pytest.mark.parametrize(('item', 'message'), [
    (grid([[0]], frame=''), 'frame is empty'),
    (grid([[0]], resolution=0.0), 'resolution'),
    (grid([[0]], resolution=math.nan), 'resolution'),
    (grid([[0]], origin=(math.inf, 0.0)), 'origin'),
    (grid([[0.5]]), 'integers'),
    (grid([[101]]), '0 to 100'),
    (grid([[-2]]), '0 to 100'),
    (grid([0]), 'rows and columns'),
])
def test_a_grid_that_cannot_be_used_is_refused(item, message):
    with pytest.raises(InputError, match=message) as caught:
        map_of_grid(item, 'kitchen')
    assert str(caught.value).startswith('kitchen')


def test_the_threshold_of_a_grid_is_checked():
    with pytest.raises(InputError, match='threshold 0'):
        map_of_grid(grid([[0]]), threshold=0)
