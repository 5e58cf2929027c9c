"""Each predicate from geometry: where it holds, and where it just does not."""

import math

import numpy as np
import pytest

from household_cases import block, box, cabinet, chest, home, problem, robot, shelf, table
from sightplan.model import Atom
from sightplan_sim.household import predicates
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.catalog import MOVABLES, make_model
from sightplan_sim.household.scene import Box, Scene
from sightplan_sim.household.shapes import Link, Model, Placed
from sightplan_sim.pinhole import View

TABLE = Placed('table_1', table(), (1.2, 0.0, 0.0))
CABINET = Placed('cabinet_1', cabinet(), (0.0, 2.2, 0.0))


@pytest.fixture(scope='module')
def scene():
    with Scene() as made:
        yield made


def thing(name, at, model=None, yaw=0.0):
    return Placed(name, model or block(), at, yaw)


def ontops(scene):
    """All pairs of which the first is on top of the second."""
    bodies = [*scene.movers]
    return {(one, other) for one in bodies for other in bodies
            if one != other and predicates.ontop(scene, one, other)}


# --- open ----------------------------------------------------------------------------------------

@pytest.mark.parametrize(('fraction', 'expected'), [(0.0, False), (0.05, False), (0.051, True),
                                                    (1.0, True)])
def test_open_from_five_percent_on(scene, fraction, expected):
    scene.build(home((CABINET, TABLE)))
    scene.set_opening('cabinet_1', 1, fraction)
    assert predicates.is_open(scene, 'cabinet_1') is expected
    assert not predicates.is_open(scene, 'table_1')  # no joints


# --- inside --------------------------------------------------------------------------------------

@pytest.mark.parametrize(('at', 'expected'), [
    ((0.0, 2.2, 0.5), True),
    ((0.1, 2.1, 0.5), True),
    ((0.0, 2.2, 0.95), False),  # on top
    ((0.0, 1.8, 0.5), False),  # before it
    ((0.0, 2.2, 0.0), False),  # in the plinth
])
def test_inside(scene, at, expected):
    scene.build(home((CABINET,), (thing('a_1', at),)))
    assert predicates.inside(scene, 'a_1', 'cabinet_1') is expected


def test_inside_moves_with_the_drawer(scene):
    scene.build(home((Placed('chest_1', chest(), (0.0, 1.0, 0.0)),),
                     (thing('a_1', (0.0, 1.0, 0.58)),)))
    assert predicates.inside(scene, 'a_1', 'chest_1')
    scene.set_opening('chest_1', 1, 1.0)  # without the thing, which now is behind the drawer
    assert not predicates.inside(scene, 'a_1', 'chest_1')
    scene.move('a_1', (0.0, 0.7, 0.58))
    assert predicates.inside(scene, 'a_1', 'chest_1')


def test_nothing_is_inside_what_does_not_open(scene):
    closed = chest()
    fixed = type(closed)('table', closed.links[:1], closed.size, closed.surfaces,
                         closed.cavities[:0])
    scene.build(home((Placed('table_1', fixed, (0.0, 1.0, 0.0)),),
                     (thing('a_1', (0.0, 1.0, 0.56)),)))
    assert not predicates.inside(scene, 'a_1', 'table_1')


# --- ontop ---------------------------------------------------------------------------------------

@pytest.mark.parametrize(('at', 'expected'), [
    ((1.2, 0.0, 0.7), True),
    ((1.2, 0.0, 0.702), True),
    ((1.2, 0.0, 0.71), False),  # hovers
    ((1.2 + 0.515, 0.0, 0.7), True),  # over the edge, but a part of it is over the table
    ((1.2 + 0.545, 0.0, 0.66), False),  # touches its side
    ((1.2, 0.0, 0.579), False),  # touches it from below
])
def test_ontop(scene, at, expected):
    scene.build(home((TABLE,), (thing('a_1', at),)))
    assert predicates.ontop(scene, 'a_1', 'table_1') is expected


def test_ontop_of_a_lower_board(scene):
    """The board above is no hindrance; a board that it touches from below would be."""
    scene.build(home((Placed('shelf_1', shelf(), (0.0, 2.0, 0.0)),),
                     (thing('a_1', (0.0, 2.0, 0.72)), thing('b_1', (0.2, 2.0, 0.32)))))
    assert predicates.ontop(scene, 'a_1', 'shelf_1')
    assert predicates.ontop(scene, 'b_1', 'shelf_1')


def test_a_board_above_that_touches_it_does_not_count(scene):
    """Between two boards that both touch it, a thing stands on the lower one."""
    narrow = shelf(boards=(0.3, 0.4, 1.1))
    scene.build(home((Placed('shelf_1', narrow, (0.0, 2.0, 0.0)),),
                     (thing('a_1', (0.0, 2.0, 0.32)),)))
    lifts = scene.normals('a_1', 'shelf_1')[:, 2]
    assert lifts.max() > 0.9 and lifts.min() < -0.9
    assert predicates.ontop(scene, 'a_1', 'shelf_1')


def test_ontop_of_a_thing_and_not_of_what_is_under_that(scene):
    scene.build(home((TABLE,), (thing('a_1', (1.2, 0.0, 0.7)), thing('b_1', (1.2, 0.0, 0.78)))))
    assert predicates.ontop(scene, 'b_1', 'a_1') and not predicates.ontop(scene, 'a_1', 'b_1')
    assert not predicates.ontop(scene, 'b_1', 'table_1')


def test_what_leans_side_by_side_is_not_ontop(scene):
    """On a board, or beside it: a common wall bears nothing, however they stand."""
    low = thing('c_1', (1.2, 0.0, 0.7), block((0.08, 0.08, 0.02)))
    scene.build(home((TABLE,), (low, thing('a_1', (1.2, 0.0, 0.72)),
                                thing('b_1', (1.2, 0.08, 0.7)))))
    assert scene.touching('a_1', 'b_1') and scene.touching('a_1', 'c_1')
    assert ontops(scene) == {('a_1', 'c_1'), ('c_1', 'table_1'), ('b_1', 'table_1')}


def test_a_bowl_is_not_ontop_of_what_nestles_under_its_flank(scene):
    """Its staves lean outward, so that its contact with the apple bears it; the table does."""
    bowl = make_model('bowl_1', 'movable', np.random.default_rng(0))
    ball = block((0.04, 0.04, 0.04), kind='sphere')
    for x in np.arange(0.04, 0.12, 0.0005):
        scene.build(home((TABLE,), (thing('bowl_1', (1.2, 0.0, 0.7), bowl),
                                    thing('a_1', (1.2 + x, 0.0, 0.7), ball))))
        if not scene.overlaps('a_1', depth=0.001):
            break
    assert scene.normals('bowl_1', 'a_1')[:, 2].max() > 0.3
    assert ontops(scene) == {('bowl_1', 'table_1'), ('a_1', 'table_1')}


def test_ontop_of_what_it_is_wedged_in(scene):
    """Between upright walls a thing hangs by friction alone; one wall does not hold it."""
    sides = tuple(box((0.02, 0.3, 0.2), (x, 0.0, 0.1)) for x in (-0.05, 0.05))
    floor = box((0.12, 0.3, 0.02), (0.0, 0.0, 0.01))
    for walls, expected in ((sides, True), (sides[:1], False), (sides[1:], False)):
        trough = Model('basket', (Link((floor, *walls)),), (0.12, 0.3, 0.2), mass=0.2)
        scene.build(home((TABLE,), (thing('b_1', (1.2, 0.0, 0.7), trough),
                                    thing('a_1', (1.2, 0.0, 0.8)))))
        assert scene.touching('a_1', 'b_1')
        assert predicates.ontop(scene, 'a_1', 'b_1') is expected


@pytest.mark.parametrize('base', ['basket', 'bowl', 'bucket', 'cup', 'mug', 'plate', 'saucepan'])
def test_ontop_of_hollow_ware(scene, base):
    """Whatever is dropped on it and touches nothing else is on top of it, and never both ways."""
    counted = 0
    for number, name in enumerate(sorted(MOVABLES)):
        rng = np.random.default_rng(number)
        below, above = make_model(base, 'movable', rng), make_model(name, 'movable', rng)
        scene.build(home((TABLE,), (
            thing('a_1', (1.2, 0.0, 0.7), below),
            thing('b_1', (1.2, 0.0, 0.704 + below.size[2]), above, 0.3 * number))))
        scene.settle(['b_1'])
        found = ontops(scene)
        assert ('a_1', 'b_1') not in found, name
        if not scene.touching('b_1', 'table_1') and scene.touching('b_1', 'a_1'):
            assert found == {('a_1', 'table_1'), ('b_1', 'a_1')}, name
            counted += 1
    assert counted > 0.8 * len(MOVABLES)


def test_not_ontop_of_the_cabinet_it_is_in(scene):
    scene.build(home((CABINET,), (thing('a_1', (0.0, 2.2, 0.5)), thing('b_1', (0.0, 2.2, 0.95)))))
    assert not predicates.ontop(scene, 'a_1', 'cabinet_1')
    assert predicates.ontop(scene, 'b_1', 'cabinet_1')


# --- nextto --------------------------------------------------------------------------------------

@pytest.mark.parametrize(('gap', 'expected'), [(0.005, True), (0.025, True), (0.028, False),
                                               (0.2, False)])
def test_nextto_within_a_sixth_of_the_mean_extent(scene, gap, expected):
    """Two cubes of 8 cm: 16 cm / 6 = 2.67 cm."""
    scene.build(home((TABLE,), (thing('a_1', (1.2, 0.0, 0.7)),
                                thing('b_1', (1.2, 0.08 + gap, 0.7)))))
    assert predicates.nextto(scene, 'a_1', 'b_1') is expected
    assert predicates.nextto(scene, 'b_1', 'a_1') is expected


def test_nextto_needs_a_free_horizontal_ray(scene):
    apart = (thing('a_1', (0.0, 0.0, 0.0), block((0.3, 0.3, 0.3))),
             thing('b_1', (0.0, 0.37, 0.0), block((0.3, 0.3, 0.3))))
    scene.build(home((), apart))
    assert predicates.nextto(scene, 'a_1', 'b_1')
    scene.build(home((Placed('wall', block((1.0, 0.03, 0.5)), (0.0, 0.185, 0.0)),), apart))
    assert not predicates.nextto(scene, 'a_1', 'b_1')


def test_an_open_leaf_makes_nothing_next(scene):
    """The thing stands 45 cm before the cabinet, its door reaches farther out."""
    scene.build(home((CABINET,), (thing('a_1', (0.15, 1.26, 0.5)),)))
    for fraction in (0.0, 0.9):
        scene.set_opening('cabinet_1', 1, fraction)
        assert predicates.gap(scene, 'a_1', 'cabinet_1') > 0.4
        assert not predicates.nextto(scene, 'a_1', 'cabinet_1')
    assert scene.aabb('cabinet_1')[0][1] < 1.26


def test_what_lies_above_is_not_next(scene):
    scene.build(home((TABLE,), (thing('a_1', (1.2, 0.0, 0.7)), thing('b_1', (1.2, 0.0, 0.785)))))
    assert not predicates.nextto(scene, 'a_1', 'b_1')


# --- reachable -----------------------------------------------------------------------------------

def test_reachable_needs_the_work_zone_and_the_arm(scene):
    scene.build(home((TABLE,), (thing('a_1', (1.0, 0.0, 0.7)),)))
    assert not predicates.reachable(scene, robot(), 'a_1')
    assert predicates.reachable(scene, robot(zone=('a_1',)), 'a_1')
    assert not predicates.reachable(scene, robot(x=-0.6, zone=('a_1',)), 'a_1')  # 1.57 m
    assert predicates.reachable(scene, robot(x=-0.5, zone=('a_1',)), 'a_1')  # 1.47 m


def test_reach_is_measured_to_the_nearest_face_centre(scene):
    scene.build(home((TABLE,)))
    # Faces of (0.7..1.7, -0.35..0.35, 0..0.7): nearest to (0, 0, 0.85) is (0.7, 0, 0.35).
    assert predicates.face_distance(scene, 'table_1', robot().shoulder) == pytest.approx(
        math.hypot(0.7, 0.5), abs=1e-6)


def test_not_through_a_wall_nor_into_what_is_shut(scene):
    screen = Placed('screen', block((0.05, 2.0, 2.0)), (0.5, 0.0, 0.0))
    scene.build(home((TABLE,), (thing('a_1', (1.0, 0.0, 0.7)),), decor=(screen,)))
    assert not predicates.reachable(scene, robot(zone=('a_1',)), 'a_1')
    scene.build(home((CABINET,), (thing('a_1', (0.0, 2.1, 0.5)),)))
    at = robot(0.0, 1.2, math.pi / 2, zone=('a_1',))
    assert not predicates.reachable(scene, at, 'a_1')
    scene.set_opening('cabinet_1', 1, 0.9)
    assert predicates.reachable(scene, at, 'a_1')


def test_reference_definition_is_visible_and_near(scene):
    scene.build(home((TABLE,), (thing('a_1', (1.0, 0.0, 0.7)),)))
    assert predicates.reachable(scene, robot(), 'a_1', frozenset({'a_1'}))
    assert not predicates.reachable(scene, robot(zone=('a_1',)), 'a_1', frozenset())


# --- all together --------------------------------------------------------------------------------

def test_a_whole_state(scene):
    scene.build(home(
        (TABLE, CABINET),
        (thing('a_1', (1.2, 0.0, 0.7)), thing('b_1', (1.2, 0.1, 0.7)),
         thing('c_1', (0.0, 2.1, 0.5)), thing('d_1', (1.2, 0.0, 0.78)),
         thing('e_1', (9.0, 0.0, 0.0)))))
    scene.park('e_1')
    scene.set_opening('cabinet_1', 1, 0.5)
    of = problem('a_1 b_1 c_1 d_1 e_1 - movable cabinet_1 - container table_1 - object',
                 goal='(holding a_1)')
    state = predicates.true_atoms(scene, robot(held='e_1', zone=('e_1', 'table_1')), of)
    assert state == {Atom.parse(text) for text in (
        'ontop a_1,table_1', 'ontop b_1,table_1', 'ontop d_1,a_1', 'nextto a_1,b_1',
        'nextto b_1,a_1', 'inside c_1,cabinet_1', 'open cabinet_1', 'holding e_1',
        'reachable e_1', 'reachable table_1')}


def test_next_to_what_one_is_in_or_on_does_not_count(scene):
    """A thing in a cabinet has the cabinet's side beside it."""
    scene.build(home((CABINET,), (thing('a_1', (-0.3, 2.1, 0.5)),)))
    of = problem('a_1 - movable cabinet_1 - container', goal='(open cabinet_1)')
    assert predicates.nextto(scene, 'a_1', 'cabinet_1')
    assert predicates.true_atoms(scene, robot(), of) == {Atom('inside', ('a_1', 'cabinet_1'))}


# --- visible -------------------------------------------------------------------------------------

def test_hull_of_a_box_before_the_camera():
    """A face of 0.2 x 0.2 m at 1 m fills (f / 5) ** 2 pixels; the far face lies behind it."""
    camera = Camera(240, 240, 90.0)
    view = View(camera, np.zeros(3), np.eye(3))
    box = Box(np.array([0.0, 0.0, 1.5]), np.eye(3), np.array([0.1, 0.1, 0.5]))
    assert predicates.hull_px(view, box) == pytest.approx(24.0 ** 2, rel=0.01)
    half_out = Box(np.array([1.0, 0.0, 1.0]), np.eye(3), np.array([0.1, 0.1, 1e-6]))
    assert predicates.hull_px(view, half_out) == pytest.approx(12.0 * 24.0, rel=0.02)
    behind = Box(np.array([0.0, 0.0, -1.0]), np.eye(3), np.array([0.1, 0.1, 0.1]))
    assert predicates.hull_px(view, behind) == 0.0
    around = Box(np.array([0.0, 0.0, 0.0]), np.eye(3), np.array([1.0, 1.0, 1.0]))
    assert predicates.hull_px(view, around) == pytest.approx(240.0 ** 2, rel=0.01)


def test_visible_from_the_fraction_of_the_hull():
    seen = predicates.visible({'a': 8, 'b': 7, 'c': 0, 'd': 5}, {'a': 100.0, 'b': 100.0, 'c': 1.0},
                              0.08)
    assert seen == {'a'}
