"""Grasping, placing, opening and closing in physics: a cabinet with drawers, trays, the truth."""

import numpy as np
import pytest

from sightplan.model import Form, Region
from sightplan_sim.bullet import Bullet
from sightplan_sim.tabletop.arm_world import Settings, TabletopTaskWorld
from sightplan_sim.tabletop.bodies import add_thing
from sightplan_sim.tabletop.cabinet import DRAWERS, HANDLES, drawer_rooms, swept
from sightplan_sim.tabletop.catalogue import CATEGORIES, FURNITURE, colours_of, make_thing
from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.grounded_scenes import box_of, make_source
from sightplan_sim.tabletop.holders import Holder, holders
from sightplan_sim.tabletop.shapes import Placed, Pose
from sightplan_sim.tabletop.table import Table, footprint, sample_table
from sightplan_sim.tabletop.true_places import spot, thing_box

ERRORS = {'calibration_error_mm': 2.0, 'calibration_error_deg': 0.2, 'depth_noise_mm': 2.0}


def thing(category, colour='red', seed=3):
    return make_thing(Draw(np.random.default_rng(seed), True), category, colour)


def table(*placed, seed=5):
    return Table(seed, True, placed, sample_table(1, True).look)


@pytest.fixture(scope='module')
def world():
    with TabletopTaskWorld(Settings(**ERRORS)) as made:
        yield made


def box_around(world, name, part=''):
    """The box of what is seen of a thing or of its part."""
    names = [one.name for one in world.table.things]
    frame = world.frame()
    mask = frame.things == names.index(name)
    if part:
        mask &= np.isin(frame.parts, list(world.thing(name).indices(part)))
    return box_of(mask)


def middle(world, name, part=''):
    return Region(Form.POINT, (box_around(world, name, part).centre,))


# --- the cabinet --------------------------------------------------------------------------------

def test_a_cabinet_is_no_thing_of_other_scenes():
    assert 'cabinet' in FURNITURE and 'cabinet' not in CATEGORIES
    assert set(colours_of('cabinet', True)).isdisjoint(colours_of('cabinet', False))


@pytest.mark.parametrize('seed', range(6))
def test_a_cabinet_has_two_drawers_with_handles_on_different_sides(seed):
    made = thing('cabinet', 'blue', seed)
    sides = [made.parts[next(made.indices(name))].seen[0].path[0][0] for name in HANDLES]
    assert sides[0] * sides[1] < 0 and abs(sides[0] - sides[1]) > 0.11  # room for half a hand
    upper, lower = drawer_rooms(made)
    assert (upper.part, lower.part) == DRAWERS
    assert upper.room.floor > lower.room.floor + 0.06
    assert min(upper.height_m, lower.height_m) > 0.045
    assert (swept(made).min(axis=0) < footprint(made).min(axis=0) - [-0.01, 0.1]).all()


def test_links_are_the_parts_and_drawers_stand_as_placed():
    made, client = thing('cabinet', 'blue'), Bullet()
    try:
        body = add_thing(client, made, Pose((0.0, 0.0, 0.0)), opened=(('drawer 2', 0.07),))
        for part, link in zip(made.parts[1:], body.links[1:], strict=True):
            info = client.getJointInfo(body.id, link)
            assert (info[2] == client.JOINT_PRISMATIC) == (part.slide is not None), part.name
        found = {part.name: client.getJointState(body.id, link)[0] for part, link in zip(
            made.parts[1:], body.links[1:], strict=True) if part.slide}
        assert found == pytest.approx({'drawer 1': 0.0, 'drawer 2': 0.07})
    finally:
        client.close()


def test_a_drawer_is_held_by_friction(world):
    """It stays where it is, moves by more than 2 N, and stops when nobody pulls."""
    world.reset(table(Placed('cabinet 1', thing('cabinet', 'blue'), Pose((0.0, 0.15, 0.0)),
                             opened=(('drawer 1', 0.03),))))
    client, body = world.arm._bullet, world.arm._bodies['cabinet 1']

    def pull(newtons, steps=40):
        for _ in range(steps):
            client.applyExternalForce(body.id, body.links[1], (0.0, -newtons, 0.0),
                                      (0.0, 0.0, 0.0), client.LINK_FRAME)
            world.arm.advance(1e-9)
        return world.truth().opened['cabinet 1', 'drawer 1']

    start = world.truth().opened['cabinet 1', 'drawer 1']
    assert pull(1.5) == pytest.approx(start, abs=0.01)
    moved = pull(2.6)
    assert moved > start + 0.05
    world.arm.wait(1.0)
    assert world.truth().opened['cabinet 1', 'drawer 1'] < moved + 0.35
    assert world.truth().displaced == ()


# --- truth --------------------------------------------------------------------------------------

def test_what_things_are_in_and_on_follows_from_where_they_are():
    made = {'cabinet 1': thing('cabinet', 'blue'), 'tray 1': thing('tray'),
            'bowl 1': thing('bowl'), 'apple 1': thing('apple'), 'can 1': thing('can'),
            'fork 1': thing('fork')}
    upper = drawer_rooms(made['cabinet 1'])[0]
    at = {'cabinet 1': (0.0, 0.2, 0.0), 'tray 1': (0.3, -0.2, 0.0), 'bowl 1': (-0.3, -0.2, 0.0),
          'apple 1': (-0.3, -0.2, made['bowl 1'].room.floor),
          'can 1': (0.3, -0.2, made['tray 1'].room.floor),
          'fork 1': (0.0, 0.2 + upper.centre_m[1] - 0.1, upper.room.floor)}
    places = {name: (np.array(place), np.eye(3)) for name, place in at.items()}
    slides = {'cabinet 1': (0.1, 0.0, 0.0, 0.0, 0.0, 0.0)}
    found = holders(made, places, slides)
    assert found['fork 1'] == Holder('in', 'cabinet 1', 'drawer 1')
    assert found['apple 1'] == Holder('in', 'bowl 1') and found['can 1'] == Holder('on', 'tray 1')
    assert found['tray 1'] == Holder('on', 'table')
    assert holders(made, places, slides, ('can 1',))['can 1'] == Holder('in', 'hand')
    closed = holders(made, places, {'cabinet 1': (0.0,) * 6})
    assert closed['fork 1'] != Holder('in', 'cabinet 1', 'drawer 1')


# --- skills in physics --------------------------------------------------------------------------

@pytest.mark.slow
@pytest.mark.parametrize('drawer', DRAWERS)
def test_a_drawer_is_opened_filled_and_closed(world, drawer):
    world.reset(table(
        Placed('cabinet 1', thing('cabinet', 'blue'), Pose((-0.05, 0.15, 0.0), 0.2)),
        Placed('ball 1', thing('ball', 'yellow'), Pose((0.25, -0.1, 0.0)))))
    report = world.skills.open_at(box_around(world, 'cabinet 1', drawer), drawer).report
    assert report.cause == 'done', report.message
    assert world.truth().opened['cabinet 1', drawer] > 0.7
    assert world.skills.grasp_at(box_around(world, 'ball 1'), 'ball').report.cause == 'done'
    assert world.truth().holders['ball 1'] == Holder('in', 'hand')
    names = [one.name for one in world.table.things]
    frame, made = world.frame(), world.thing('cabinet 1')
    floor = [k for k, part in enumerate(made.parts)
             if part.name == 'inside' and part.parent == drawer]
    inside = (frame.things == names.index('cabinet 1')) & np.isin(frame.parts, floor)
    assert world.skills.place_at(inside, drawer).report.cause == 'done'
    assert world.truth().holders['ball 1'] == Holder('in', 'cabinet 1', drawer)
    report = world.skills.close_at(box_around(world, 'cabinet 1', drawer), drawer).report
    assert report.cause == 'done', report.message
    assert world.truth().opened['cabinet 1', drawer] < 0.08
    assert world.truth().holders['ball 1'] == Holder('in', 'cabinet 1', drawer)


def test_a_thing_is_put_on_a_tray(world):
    world.reset(table(Placed('tray 1', thing('tray', 'grey'), Pose((-0.15, -0.05, 0.0))),
                      Placed('can 1', thing('can'), Pose((0.2, 0.0, 0.0)))))
    assert world.skills.grasp_at(box_around(world, 'can 1'), 'can').report.cause == 'done'
    assert world.skills.place_at(middle(world, 'tray 1'), 'tray').report.cause == 'done'
    truth = world.truth()
    assert truth.holders['can 1'] == Holder('on', 'tray 1') and truth.held == ()
    assert world.arm.places()['can 1'][1][2, 2] > 0.98  # it stands


@pytest.mark.slow
def test_fingers_that_open_let_go(world):
    """One is within the wall of a cup, and has contacts from when the cup stood otherwise."""
    with make_source() as source:
        found = source.tidying(65, 'long')
    world.reset(found.arrangement.table)
    box = thing_box(found.arrangement.table, world.frame(), 'cup 2')
    assert world.skills.grasp_at(box, 'cup').report.cause == 'done'
    place = spot(found, world.frame(), world.nominal_view, 'cup 2', 'plate 1')
    report = world.skills.place_at(place, 'plate').report
    assert report.cause == 'done', report.message
    assert world.truth().holders['cup 2'] == Holder('on', 'plate 1')
