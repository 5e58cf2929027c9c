"""Maps of our own, planned paths and different paths: valid, and the same for the same seed."""

from __future__ import annotations

import dataclasses
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import shapely

from sightplan.model import InputError
from sightplan_suites.paths import (
    FAMILIES,
    GOAL,
    START,
    AlternativeSettings,
    Bounds,
    NoPath,
    ObstacleMap,
    PlannerSettings,
    count_routes,
    distance_apart,
    find_alternatives,
    generate_map,
    map_text,
    plan_path,
    plan_paths,
    same_route,
)

PLANNERS = ('rrt', 'rrt_connect', 'prm')
EMPTY = ObstacleMap('empty', ())
BLOCK = ObstacleMap('block', (((-20.0, -20.0), (20.0, -20.0), (20.0, 20.0), (-20.0, 20.0)),))


def box(x, y, width, height):
    return ((x, y), (x + width, y), (x + width, y + height), (x, y + height))


def test_generated_maps_are_like_the_published_ones():
    published = {'maze': (76, 271), 'random': (55, 129), 'rings': (6, 50), 'waves': (14, 45)}
    for name, family in FAMILIES.items():
        counts = []
        for value in (family.low, family.high):
            for variant in (0, 7):
                item = generate_map(name, value, variant)
                assert item.name == f'Scene{name.capitalize()}_{family.parameter}{value}_{variant}'
                counts.append(len(item.polygons))
                corners = {len(polygon) for polygon in item.polygons}
                assert corners <= {'maze': {4}, 'random': set(range(3, 9)), 'waves': {8}}.get(
                    name, corners)
                assert shapely.is_valid(item.shapes).all()
                assert (item.clearances([START, GOAL]) >= 1.5).all()
                assert item.way_exists(START, GOAL, 1.5)
        low, high = published[name]
        assert low * 0.8 <= min(counts) and max(counts) <= high * 1.1
        assert max(counts) > (low + high) / 2


def test_the_same_seed_gives_the_same_bytes_and_another_one_another_map():
    one, again = generate_map('random', 12, 3), generate_map('random', 12, 3)
    assert map_text(one) == map_text(again)
    assert map_text(generate_map('random', 12, 3, seed=1)) != map_text(one)
    assert map_text(generate_map('random', 12, 4)) != map_text(one)
    # On every machine and with every version: the first wall of a maze.
    assert generate_map('maze', 10, 0).polygons[0] == MAZE_WALL
    names = [generate_map(name, value, 0).name for name, family in FAMILIES.items()
             for value in range(family.low, family.high + 1)]
    assert len(names) == len(set(names)) == 9 + 9 + 14 + 6


MAZE_WALL = ((-40.2, -24.2), (-31.8, -24.2), (-31.8, -23.8), (-40.2, -23.8))


@pytest.mark.parametrize(('args', 'message'), [
    (('sea', 10, 0), "family 'sea'"), (('maze', 9, 0), 'Dims 9'),
    (('maze', 10, 30), 'variant 30')])
def test_maps_that_do_not_exist(args, message):
    with pytest.raises(InputError, match=message):
        generate_map(*args)


@pytest.mark.parametrize('planner', PLANNERS)
@pytest.mark.parametrize('item', [
    generate_map('maze', 10, 0), generate_map('random', 13, 0), generate_map('rings', 3, 0),
    generate_map('waves', 6, 0)], ids=lambda item: item.name)
def test_planned_paths_touch_nothing(planner, item):
    found = plan_paths(item, PlannerSettings(planner=planner, runs=2), seed=5)
    assert [path.run for path in found] == [0, 1]
    for path in found:
        assert path.reason is None and path.points[0] == START and path.points[-1] == GOAL
        line = shapely.LineString(path.points)
        assert shapely.distance(item.shapes, line).min() > path.radius
        assert np.abs(np.array(path.points)).max() <= 40 - path.radius
        assert path.to_run().arrived() and path.to_run().radius == path.radius


def test_radii_are_drawn_evenly():
    settings = PlannerSettings(runs=300, planner='rrt_connect', simplify=False)
    radii = [path.radius for path in plan_paths(EMPTY, settings, seed=2)]
    assert 0.5 <= min(radii) < 0.52 and 1.48 < max(radii) <= 1.5
    assert sum(radii) / 300 == pytest.approx(1.0, abs=0.05)


SCRIPT = """
import json, sys
from sightplan_suites.paths import *
item = generate_map('waves', 7, 1)
print(json.dumps([plan_path(item, PlannerSettings(planner=name), 3, 4).points
                  for name in sys.argv[1:]]))
"""


def test_a_path_does_not_depend_on_what_ran_before():
    item = generate_map('waves', 7, 1)
    plan_paths(item, PlannerSettings(runs=2), seed=9)

    def solve(name):
        return plan_path(item, PlannerSettings(planner=name), 3, 4).points

    here = [solve(name) for name in PLANNERS]
    assert [solve(name) for name in reversed(PLANNERS)] == here[::-1]
    done = subprocess.run([sys.executable, '-c', SCRIPT, *PLANNERS], capture_output=True,
                          text=True, check=True)
    assert json.loads(done.stdout) == [[list(point) for point in points] for points in here]
    assert done.stderr == ''
    assert plan_path(item, PlannerSettings(), 4, 4).points != here[0]


@pytest.mark.parametrize(('item', 'settings', 'reason'), [
    (ObstacleMap('x', (box(-38, -38, 3, 3),)), {}, NoPath.START_BLOCKED),
    (ObstacleMap('x', (box(35, 35, 3, 3),)), {}, NoPath.GOAL_BLOCKED),
    (ObstacleMap('x', (box(-1, -40, 2, 80),)), {}, NoPath.NO_WAY),
    (ObstacleMap('x', (box(-1, -40, 2, 78.5),)), {'min_radius': 1.4}, NoPath.NO_WAY),
    (BLOCK, {'samples': 1}, NoPath.NOT_FOUND),
    (BLOCK, {'samples': 1, 'planner': 'rrt_connect'}, NoPath.NOT_FOUND),
    (BLOCK, {'samples': 1, 'planner': 'prm'}, NoPath.NOT_FOUND),
])
def test_a_run_without_a_path_says_why(item, settings, reason):
    found = plan_path(item, PlannerSettings(**settings), 0, 0)
    assert found.points is None and found.reason is reason and found.to_run() is None
    assert found.reason.words.endswith('.') and found.samples <= 1


def test_paths_on_a_map_of_a_robot():
    item = ObstacleMap('kitchen', (box(2, 0, 0.2, 3),), Bounds(0, 0, 5, 4), 'map')
    found = plan_path(item, PlannerSettings(), 0, 0, start=(0.5, 0.5), goal=(4.5, 0.5),
                      radius=0.2)
    assert found.radius == 0.2 and item.path_free(found.points, 0.2)
    assert found.points[0] == (0.5, 0.5) and max(y for _, y in found.points) > 3


@pytest.mark.parametrize('settings', [
    {'planner': 'astar'}, {'samples': 0}, {'min_radius': 2.0, 'max_radius': 1.0}])
def test_settings_are_checked(settings):
    with pytest.raises(InputError, match=next(iter(settings))):
        plan_path(EMPTY, PlannerSettings(**settings), 0, 0)


def test_alternatives_differ_and_touch_nothing():
    item = generate_map('waves', 8, 0)
    found = find_alternatives(item, AlternativeSettings(count=6), seed=1)
    assert len(found.paths) == 6 and found.reason is None and found.routes >= 3
    for number, path in enumerate(found.paths):
        assert path.points[0] == START and path.points[-1] == GOAL
        assert item.path_free(path.points, path.radius)
        assert all(distance_apart(path.points, other.points) >= 1.5
                   for other in found.paths[:number])
    assert find_alternatives(item, AlternativeSettings(count=6), seed=1) == found
    assert find_alternatives(item, AlternativeSettings(count=6), seed=2) != found


def test_alternatives_go_around_both_sides_and_alike_ones_are_counted():
    settings = AlternativeSettings(count=4, tries=8, apart=12.0)
    found = find_alternatives(BLOCK, settings)
    assert found.routes == 2 and len(found.paths) < 4
    assert len(found.paths) + found.alike + found.blocked == 8 and found.alike > 0


def test_without_a_way_there_are_no_alternatives():
    wall = ObstacleMap('wall', (box(-1, -40, 2, 80),))
    found = find_alternatives(wall, AlternativeSettings(tries=3))
    assert (found.paths, found.blocked, found.reason) == ((), 3, NoPath.NO_WAY)
    covered = ObstacleMap('x', (box(-38, -38, 3, 3),))
    assert find_alternatives(covered, AlternativeSettings()).reason is NoPath.START_BLOCKED
    with pytest.raises(InputError, match='min_radius'):
        find_alternatives(wall, AlternativeSettings(min_radius=2.0))
    with pytest.raises(InputError, match='spacing = 0.01 gives a lattice of 6.4e'):
        find_alternatives(wall, AlternativeSettings(spacing=0.01))


def test_routes():
    left = [(-30, -30), (-30, 30), (30, 30)]
    right = [(-30, -30), (30, -30), (30, 30)]
    around = [(-30, -30), (30, -30), (30, 25), (-30, 25), (-30, -29), (29, -29), (30, 30)]
    assert not same_route(BLOCK, left, right) and same_route(EMPTY, left, right)
    assert same_route(BLOCK, left, [(-30, -30), (-39, 0), (0, 35), (30, 30)])
    assert not same_route(BLOCK, right, around)
    assert count_routes(BLOCK, [left, right, around, left]) == 3


def test_distance_apart():
    assert distance_apart([(0, 0), (10, 0)], [(0, 3), (10, 3)]) == pytest.approx(3)
    assert distance_apart([(0, 0), (5, 0), (10, 0)], [(0, 0), (10, 0)]) == 0
    detour = distance_apart([(0, 0), (10, 0)], [(0, 0), (5, 0), (5, 9), (5, 0), (10, 0)])
    assert detour == pytest.approx(18 * 4.5 / 28, rel=0.02)


def test_settings_have_descriptions():
    for cls in (PlannerSettings, AlternativeSettings):
        assert all(field.metadata['description'] for field in dataclasses.fields(cls))
        assert all(math.isfinite(getattr(cls(), field.name)) for field in dataclasses.fields(cls)
                   if isinstance(getattr(cls(), field.name), float))
