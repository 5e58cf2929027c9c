"""Motions that are drawn: paths on the table, and what physics makes of traces."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tabletop_cases as cases
from sightplan.model.errors import InputError
from sightplan.model.scene import TraceTask
from sightplan_sim.tabletop import Placed, Pose, make_source, sample_table
from sightplan_sim.tabletop.paths import CLEARANCE_M, Plane
from sightplan_sim.tabletop.table import convex_gap, footprint, footprint_of
from sightplan_sim.tabletop.trace_following import Follower
from sightplan_sim.tabletop.traces import in_picture, to_picture, to_table


def anywhere(points):
    return np.ones(len(points), bool)


@pytest.fixture(scope='module')
def follower():
    with Follower() as made:
        yield made


@pytest.fixture(scope='module')
def laid():
    """A can, a box in its way, and a plate."""
    return cases.table({'can 1': (cases.thing('can', 'red'), -0.22, 0.0),
                        'box 1': (cases.thing('box', 'blue'), 0.0, 0.0),
                        'plate 1': (cases.thing('plate', 'white'), 0.24, 0.0)})


@pytest.fixture(scope='module')
def task(laid):
    start = to_picture(laid.look.view(), np.array([[-0.22, 0.0]]))[0]
    return TraceTask('move the can to the plate', start, (), 'can 1',
                     {'next_to': 'plate 1', 'reach_m': 0.05, 'avoid': ['box 1']})


def drawn(table, *points):
    return to_picture(table.look.view(), np.array(points, float))


# --- between picture and table ----------------------------------------------------------------


def test_the_way_to_the_picture_and_back():
    view = sample_table(4, True).look.view()
    ground = np.random.default_rng(0).uniform(-0.3, 0.3, (50, 2))
    assert np.allclose(to_table(view, to_picture(view, ground)), ground, atol=1e-9)


def test_what_is_above_the_horizon_is_nowhere(laid):
    view = cases.front(laid.things, elevation_deg=5.0).view()
    assert np.isnan(to_table(view, ((0.5, -3.0),))).all()
    assert np.isfinite(to_table(view, ((0.5, 0.9),))).all()


def test_what_is_out_of_the_picture(laid):
    view = laid.look.view()
    assert in_picture(view, np.array([[0.0, 0.0], [9.0, 0.0], [0.0, -9.0]])).tolist() == [
        True, False, False]


# --- paths ------------------------------------------------------------------------------------


def test_a_path_keeps_its_distance(laid):
    can, *others = laid.things
    plane = Plane(can, others, (0.5, 0.4), anywhere)
    goal = plane.cell((0.10, 0.0))
    path = plane.path(np.array([-0.22, 0.0]), goal)
    assert len(path) >= 3
    assert np.allclose(path[0], (-0.22, 0.0)) and np.allclose(path[-1], plane.point(goal))
    for a, b in itertools.pairwise(path):
        for at in a + np.linspace(0, 1, 30)[:, None] * (b - a):
            moved = Placed('', can.thing, Pose((*at, 0.0)))
            gap = min(convex_gap(footprint_of(moved), footprint_of(one)) for one in others)
            assert gap > CLEARANCE_M - 0.012


def test_gaps_are_between_outlines(laid):
    can, box, _ = laid.things
    plane = Plane(can, [box], (0.5, 0.4), anywhere)
    reach = np.abs(footprint(can.thing)).max() + np.abs(footprint(box.thing)[:, 0]).max()
    for x in (-0.2, -0.15, 0.18):
        moved = Placed('', can.thing, Pose((x, 0.0, 0.0)))
        exact = convex_gap(footprint_of(moved), footprint_of(box))
        assert plane.gaps['box 1'][plane.cell((x, 0.0))] == pytest.approx(exact, abs=0.012)
        assert exact == pytest.approx(abs(x) - reach, abs=0.004)
    assert plane.gaps['box 1'][plane.cell((0.0, 0.0))] == 0.0


def test_what_is_walled_in_gets_nowhere():
    can, wall = cases.thing('can', 'red'), cases.thing('box', 'blue')
    ring = {f'box {k}': (wall, 0.11 * np.cos(a), 0.11 * np.sin(a))
            for k, a in enumerate(np.linspace(0, 2 * np.pi, 9)[:-1])}
    table = cases.table({'can 1': (can, 0.0, 0.0), **ring})
    plane = Plane(table.things[0], table.things[1:], (0.5, 0.4), anywhere)
    assert plane.path(np.zeros(2), plane.cell((0.3, 0.0))) == []
    assert not plane.within[plane.cell((0.3, 0.0))]


def test_a_path_stays_where_it_may_be(laid):
    can, *others = laid.things
    plane = Plane(can, others, (0.5, 0.4), lambda points: points[:, 1] < 0.05)
    path = plane.path(np.array([-0.22, 0.0]), plane.cell((0.10, 0.0)))
    assert min(point[1] for point in path) < -0.05 and max(point[1] for point in path) < 0.05


# --- carrying out -----------------------------------------------------------------------------


def test_around_the_obstacle_it_is_done(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-0.1, 0.2), (0.08, 0.2),
                                              (0.105, 0.02)))
    assert found['done'] is True and found['reached'] is True and found['touched'] == []
    assert 0.0 < found['distance_m'] < 0.05


def test_straight_through_the_obstacle_it_is_not(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (-0.22, 0), (0.105, 0)))
    assert found['done'] is False and found['touched'] == ['box 1']


def test_a_touch_counts_though_nothing_has_moved(follower, laid, task):
    can, box, _ = laid.things
    contact = np.abs(footprint(can.thing)[:, 0]).max() + np.abs(footprint(box.thing)[:, 0]).max()
    near = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-contact - 0.006, 0.0)))
    assert near['touched'] == []
    touch = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-contact + 0.002, 0.0)))
    assert touch['touched'] == ['box 1']


def test_what_stops_short_has_not_reached(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-0.22, 0.2)))
    assert found == {'done': False, 'reached': False, 'touched': [],
                     'distance_m': pytest.approx(0.385, abs=0.015)}


def test_a_trace_that_begins_elsewhere_moves_nothing(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (0.0, 0.25), (0.105, 0.02)))
    assert not found['reached'] and found['touched'] == []
    assert found['distance_m'] == pytest.approx(convex_gap(
        footprint_of(laid.things[0]), footprint_of(laid.things[2])), abs=0.004)


def test_a_trace_may_begin_anywhere_on_the_thing(follower, laid, task):
    view = laid.look.view()
    top = laid.things[0].thing.size[2]
    pixel = view.project(np.array([[-0.22, 0.0, 0.9 * top]]))[0] + 0.5
    begun = ((float(pixel[0]) / 640, float(pixel[1]) / 480),)
    rest = drawn(laid, (-0.1, 0.2), (0.08, 0.2), (0.105, 0.02))
    assert follower.follow(laid, task, (*begun, *rest))['done'] is True


def test_a_trace_may_begin_under_a_thing_that_is_hidden_there(follower):
    table = cases.table({'can 1': (cases.thing('can', 'red'), 0.0, 0.0),
                         'box 1': (cases.thing('box', 'blue'), 0.0, -0.09),
                         'plate 1': (cases.thing('plate', 'white'), 0.26, 0.0),
                         'cup 1': (cases.thing('cup', 'green'), -0.26, 0.0)})
    task = TraceTask('', (0.0, 0.0), (), 'can 1', {
        'next_to': 'plate 1', 'reach_m': 0.05, 'avoid': ['box 1', 'cup 1']})
    assert follower.follow(table, task, drawn(table, (0.0, 0), (0.125, 0)))['done'] is True


def test_it_stops_where_the_trace_leaves_the_table(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-0.3, 0.1), (-0.9, 0.1),
                                              (0.105, 0.02)))
    assert not found['reached'] and found['distance_m'] > 0.3


def test_the_goal_may_be_pushed_but_nothing_else(follower, laid, task):
    found = follower.follow(laid, task, drawn(laid, (-0.22, 0), (-0.1, 0.2), (0.08, 0.2),
                                              (0.16, 0.0)))
    assert found['reached'] is True and found['touched'] == []


def test_what_is_pushed_by_something_else_is_touched_too(follower):
    """The can pushes the box, and the box the cup."""
    table = cases.table({'can 1': (cases.thing('can', 'red'), -0.2, 0.0),
                         'box 1': (cases.thing('box', 'blue'), -0.08, 0.0),
                         'cup 1': (cases.thing('cup', 'green'), 0.02, 0.0),
                         'plate 1': (cases.thing('plate', 'white'), 0.3, 0.0)})
    task = TraceTask('', (0.0, 0.0), (), 'can 1', {
        'next_to': 'plate 1', 'reach_m': 0.05, 'avoid': ['box 1', 'cup 1']})
    found = follower.follow(table, task, drawn(table, (-0.2, 0), (0.1, 0)))
    assert found['touched'] == ['box 1', 'cup 1'] and not found['done']


def test_the_same_trace_always_ends_the_same(follower, laid, task):
    trace = drawn(laid, (-0.22, 0), (-0.1, 0.02), (0.105, 0.1))
    assert follower.follow(laid, task, trace) == follower.follow(laid, task, trace)


@pytest.mark.parametrize(('goal', 'piece', 'trace', 'words'), [
    ('plate 1', 'can 1', ((0.5, 0.5),), 'two points'),
    ('plate 9', 'can 1', ((0.5, 0.5), (0.6, 0.5)), 'no .plate 9'),
    ('plate 1', 'cat 1', ((0.5, 0.5), (0.6, 0.5)), 'no .cat 1')])
def test_a_task_of_another_table_is_refused(follower, laid, goal, piece, trace, words):
    wrong = TraceTask('', (0.5, 0.5), (), piece, {'next_to': goal, 'reach_m': 0.05, 'avoid': []})
    with pytest.raises(InputError, match=words):
        follower.follow(laid, wrong, trace)


@pytest.mark.slow
def test_oracles_do_and_straight_lines_do_not():
    with make_source() as source:
        scenes = (source.scene(seed, held_out=True) for seed in range(6))
        found = list(itertools.islice(((scene, trace) for scene in scenes
                                       for trace in scene.traces), 4))
        assert len(found) == 4
        for scene, trace in found:
            masks = {piece.name: piece.mask for piece in scene.pieces}
            x, y = trace.start
            assert masks[trace.piece][int(y * 480), int(x * 640)]
            assert trace.oracle[0] == trace.start
            assert all(0 < x < 1 and 0 < y < 1 for x, y in trace.oracle)
            oracle = source.follow(scene.id, trace, trace.oracle)
            assert oracle['done'] and oracle['touched'] == []
            straight = source.follow(scene.id, trace, (trace.oracle[0], trace.oracle[-1]))
            assert not straight['done'] and trace.goal['obstacle'] in straight['touched']
