"""The seven descriptors, against numbers by hand and against another way to compute them."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
import shapely

from sightplan.model import InputError
from sightplan_suites.paths import (
    KEYS,
    NO_OBSTACLE,
    SWEPT,
    WAYPOINTS,
    Descriptors,
    ObstacleMap,
    describe,
    describe_all,
)
from sightplan_suites.paths.descriptors import RULES

SQUARE = ObstacleMap('square', (((0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)),))


def test_by_hand():
    # East along the lower side, back to the west and up, and straight on.
    path = [(-3, -4), (6, -4), (6, -1), (-3, -1), (-6, -1)]
    assert describe(SQUARE, path).minimum_clearance == 1
    assert describe(SQUARE, path, rule=WAYPOINTS).values() == pytest.approx(
        (math.hypot(2, 1), 6.082762530298219, (5 + math.hypot(2, 4) + math.hypot(2, 1)
         + math.hypot(3, 1) + math.hypot(6, 1)) / 5, 24.0, 180.0, 0, 90.0))
    back = [(6, 2), (8, 2), (6, 2), (6, 6)]
    assert describe(SQUARE, back, rule=WAYPOINTS).values() == (
        2.0, 4.0, (2 + 4 + 2 + math.hypot(2, 2)) / 4, 8.0, 270.0, 1, 180.0)
    # By length: 3 on average for 4, 2 for 2, then the mean distance from a corner.
    corner = 0.5 * (2 * math.hypot(2, 2) + 4 * math.asinh(1)) / 2
    assert describe(SQUARE, back).values() == pytest.approx(
        (2.0, 4.0, (4 * 3 + 2 * 2 + 2 * corner) / 8, 8.0, 270.0, 1, 180.0), rel=1e-4)


def test_a_line_through_an_obstacle_has_no_clearance_and_by_waypoints_points_alone_count():
    through = [(-2, 2), (6, 2)]
    assert describe(SQUARE, through).values() == pytest.approx(
        (0.0, 2.0, 2 * 2 * 1 / 8, 8.0, 0.0, 0, 0.0), rel=1e-3)
    assert describe(SQUARE, through, rule=WAYPOINTS).values() == (2, 2, 2, 8, 0, 0, 0)
    past = [(-3, -1), (7, -1)]
    assert describe(SQUARE, past).minimum_clearance == 1
    assert describe(SQUARE, past, rule=WAYPOINTS).minimum_clearance > 3
    for rule in RULES:
        assert describe(SQUARE, [(-2, 2), (2, 2), (6, 2)], rule=rule).minimum_clearance == 0
    with pytest.raises(InputError, match="rule 'points' is not one of swept, waypoints"):
        describe(SQUARE, through, rule='points')


def test_a_right_angle_is_not_sharp_and_one_degree_more_is():
    for angle, sharp in ((90, 0), (91, 1)):
        turn = math.radians(angle)
        path = [(10, 10), (15, 10), (15 + math.cos(turn), 10 + math.sin(turn))]
        assert describe(SQUARE, path).sharp_turns == sharp


def test_repeated_points():
    path, repeated = [(6, 0), (8, 0), (8, 5)], [(6, 0), (6, 0), (8, 0), (8, 0), (8, 5), (8, 5)]
    more = [*path, (8, 5)]
    for rule in RULES:
        assert describe(SQUARE, path, rule=rule) == describe(SQUARE, repeated, rule=rule)
    assert describe(SQUARE, more) == describe(SQUARE, path)
    assert describe(SQUARE, more, rule=WAYPOINTS).average_clearance != describe(
        SQUARE, path, rule=WAYPOINTS).average_clearance
    with pytest.raises(InputError, match='path 2: point 3 repeats'):
        describe_all(SQUARE, [path, [(6, 0), (8, 0), (8, 0)]], repeats=False)


@pytest.mark.parametrize(('path', 'message'), [
    ([], 'two different'), ([(1, 1)], 'two different'), ([(1, 1), (1, 1)], 'two different'),
    ([(0, 0), (math.nan, 1)], 'point 2 is not finite'), ([1, 2], 'shape'),
    ([('a', 'b')], 'pairs of numbers'),
])
def test_what_is_no_path_is_refused(path, message):
    with pytest.raises(InputError, match=message):
        describe(SQUARE, path)


def test_without_obstacles():
    found = describe(ObstacleMap('empty', ()), [(0, 0), (3, 4)])
    assert found.values() == (NO_OBSTACLE, NO_OBSTACLE, NO_OBSTACLE, 5.0, 0.0, 0, 0.0)
    assert describe_all(SQUARE, []) == ()


def test_json_has_the_published_keys_in_order():
    data = describe(SQUARE, [(6, 0), (8, 0), (8, 5)]).to_json()
    assert list(data) == ['Minimum clearance', 'Maximum clearance', 'Average clearance',
                          'Path length', 'Smoothness', 'Sharp turns', 'Maximum angle']
    assert Descriptors.from_json(data, 'x') == describe(SQUARE, [(6, 0), (8, 0), (8, 5)])
    assert isinstance(data['Sharp turns'], int)
    for wrong in ({**data, 'Sharp turns': math.nan}, {**data, 'Extra': 1},
                  dict.fromkeys(KEYS[1:], 1), {**data, 'Path length': 'long'},
                  {**data, 'Path length': -1.0}, {**data, 'Sharp turns': 1.5}):
        with pytest.raises(InputError, match=r'^x: '):
            Descriptors.from_json(wrong, 'x')


def independent(polygons, path, rule):
    """The same numbers by the definitions, one point and one polygon at a time."""
    shapes = [shapely.Polygon(polygon) for polygon in polygons]
    clearances = [min(shapely.Point(point).distance(shape) for shape in shapes) for point in path]
    angles = []
    for (ax, ay), (bx, by), (cx, cy) in zip(path, path[1:], path[2:], strict=False):
        first, second = (bx - ax, by - ay), (cx - bx, cy - by)
        angles.append(math.degrees(abs(math.atan2(
            first[0] * second[1] - first[1] * second[0],
            first[0] * second[0] + first[1] * second[1]))))
    least = min(clearances) if rule == WAYPOINTS else min(
        shapely.LineString(path).distance(shape) for shape in shapes)
    if rule == SWEPT:
        line = shapely.LineString(path)
        points = [line.interpolate((k + 0.5) / 400, normalized=True) for k in range(400)]
        along = [min(point.distance(shape) for shape in shapes) for point in points]
        clearances = [*clearances, *along]
    else:
        along = clearances
    return (least, max(clearances), sum(along) / len(along),
            shapely.LineString(path).length, sum(angles), sum(angle > 90 for angle in angles),
            max(angles, default=0.0))


def test_equal_to_another_computation():
    """50 maps of 12 polygons, 4 paths each, without any simplification."""
    rng = random.Random(3)
    worst = np.zeros(7)
    for _ in range(50):
        polygons = []
        for _ in range(12):
            x, y = rng.uniform(-35, 35), rng.uniform(-35, 35)
            turns = sorted(rng.uniform(0, math.tau) for _ in range(rng.randint(3, 8)))
            polygons.append(tuple((x + 4 * math.cos(turn), y + 4 * math.sin(turn))
                                  for turn in turns))
        paths = [[(rng.uniform(-40, 40), rng.uniform(-40, 40))
                  for _ in range(rng.randint(2, 12))] for _ in range(4)]
        for rule in RULES:
            found = describe_all(ObstacleMap('x', tuple(polygons)), paths, rule=rule,
                                 tolerance=0.0)
            for path, item in zip(paths, found, strict=True):
                worst = np.maximum(worst, np.abs(np.subtract(
                    item.values(), independent(polygons, path, rule))))
    # An angle near 0 or 180 loses half of its digits in the arccosine of the definition.
    assert (worst < [1e-9, 1e-9, 1e-9, 1e-9, 1e-9, 0.5, 1e-9]).all(), worst
