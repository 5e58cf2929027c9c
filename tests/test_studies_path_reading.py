"""Paths that are read back from pictures of them."""

import numpy as np
import pytest
import shapely

from path_reading import read_path
from sightplan.model import InputError
from sightplan_suites.paths.descriptors import turning_angles
from sightplan_suites.paths.drawing import TopView, draw_top, pair
from sightplan_suites.paths.drawing3d import PerspectiveView, draw_perspective

START, GOAL = (-36.6, -36.4), (36.1, 36.4)
OBSTACLES = [np.array([(-30.0, 1.0), (-12.0, 2.6), (-12.0, 2.9), (-30.0, 1.3)]),
             np.array([(20.0, -25.0), (20.0, -20.0), (28.0, -19.0), (29.0, -26.0)])]
PATH = np.array([START, (-20, -30), (10, -28), (30, 0), (20, 20), GOAL])


@pytest.mark.parametrize('look', [0, 11])
@pytest.mark.parametrize(('draw', 'view'), [
    (draw_top, TopView()), (draw_perspective, PerspectiveView())])
@pytest.mark.parametrize('path', [
    PATH,
    [START, (0, -20), (-30, 25), (-20, 30), (25, -10), GOAL],
    [START, (30, -30), (-28, -20), GOAL],  # turns by more than 150 degrees
    [START, (20, 0), (20, -30), (-15, 18), (0, 30), GOAL],  # crosses itself
], ids=['plain', 'zigzag', 'sharp', 'loop'])
def test_a_path_is_read_back(path, draw, view, look):
    reading = read_path(draw([], path, START, GOAL, view, look), view)
    assert reading.reason == '' and reading.hidden == 0
    np.testing.assert_allclose(reading.points[[0, -1]], np.array([START, GOAL]), atol=0.3)
    line, read = shapely.LineString(path), shapely.LineString(reading.points)
    assert line.hausdorff_distance(read) < 2
    assert read.length == pytest.approx(line.length, rel=0.02)
    turns, read_turns = turning_angles(path), turning_angles(reading.points)
    assert read_turns.max() == pytest.approx(turns.max(), abs=10)
    assert (read_turns > 90).sum() == (turns > 90).sum()


def test_a_hidden_part_is_bridged():
    view, wall = PerspectiveView(), np.array([(-20, 8), (20, -2), (20, -1), (-20, 9)])
    path = [START, (-25, 5), (20, 5), GOAL]
    reading = read_path(draw_perspective([wall], path, START, GOAL), view)
    assert 0.01 < reading.hidden < 0.2
    line, read = shapely.LineString(path), shapely.LineString(reading.points)
    assert line.hausdorff_distance(read) < 1


def test_why_nothing_was_read():
    view = TopView()
    bare = draw_top(OBSTACLES, None, START, GOAL)
    assert read_path(bare, view).points is None and 'dot' in read_path(bare, view).reason
    short = read_path(draw_top([], PATH[:4], START, GOAL), view)
    assert short.points is None and 'from start to goal' in short.reason
    assert read_path(np.full_like(bare, 255), view).reason == 'nothing is red'
    no_goal = draw_top([], PATH, START, GOAL)
    no_goal[:40, -60:] = 255
    assert 'goal' in read_path(no_goal, view).reason
    with pytest.raises(InputError, match='not a pair'):
        read_path(pair(bare, bare), view)


@pytest.mark.parametrize(('draw', 'view', 'pairs'), [
    (draw_top, TopView(), 6), (draw_perspective, PerspectiveView(), 2)])
def test_two_paths_are_compared_as_in_truth(draw, view, pairs):
    """Random paths around a few obstacles: the longer one is read as the longer one."""
    rng, agree = np.random.default_rng(3), 0
    for _ in range(pairs):
        lengths = []
        for _ in range(2):
            middle = rng.uniform(-34, 34, (int(rng.integers(1, 4)), 2))
            path = np.array([START, *middle, GOAL])
            read = read_path(draw(OBSTACLES, path, START, GOAL, view), view).points
            lengths.append((shapely.LineString(path).length, shapely.LineString(read).length))
        (one, seen_one), (two, seen_two) = lengths
        agree += (one - two) * (seen_one - seen_two) > 0
    assert agree >= pairs - 1
