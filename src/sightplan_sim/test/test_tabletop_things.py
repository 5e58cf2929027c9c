"""Things on tables: how they are drawn, made, placed, and what they are in physics."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tabletop_cases as cases
from sightplan_arm.geometry import quaternion_from_rotation
from sightplan_sim.bullet import Bullet
from sightplan_sim.tabletop import Pose, add_thing, footprint_of, pose_of, sample_table
from sightplan_sim.tabletop.catalogue import CATEGORIES, colours_of, make_thing
from sightplan_sim.tabletop.draw import COLOURS, EVERY, STRIPES, Draw
from sightplan_sim.tabletop.meshes import hulls_of, mesh_of
from sightplan_sim.tabletop.shapes import Box, Slab, Tube, Turned
from sightplan_sim.tabletop.table import FEWEST, GAP_M, MOST, convex_gap

KINDS = [pytest.param(name, id=name.replace(' ', '_')) for name in CATEGORIES]
FINGERS_M = 0.07


def ground(bullet):
    bullet.resetSimulation()
    bullet.setGravity(0.0, 0.0, -9.81)
    shape = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[1.0, 1.0, 0.1])
    bullet.createMultiBody(0.0, shape, -1, (0.0, 0.0, -0.1))


@pytest.fixture(scope='module')
def bullet():
    with_client = Bullet()
    yield with_client
    with_client.close()


# --- shapes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(('shape', 'volume'), [
    (Box((0.1, 0.2, 0.3), (1.0, 0.0, 0.0), (0.3, 0.2, 0.1)), 0.006),
    (Slab(((0.0, 0.0), (0.2, 0.0), (0.0, 0.1)), 0.5, rpy=(1.0, 0.0, 0.0)), 0.005),
    (Turned(((0.0, 0.0), (0.1, 0.0), (0.1, 0.2), (0.0, 0.2)), sides=200), np.pi * 0.002),
    (Turned(((0.0, 0.0), (0.1, 0.0), (0.1, 0.2), (0.0, 0.2)), stretch=0.5, sides=200),
     np.pi * 0.001),
    (Tube(((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)), (0.1, 0.1), (0.0, 1.0, 0.0)),
     5 * np.sin(np.pi / 5) * 0.01),  # a prism with ten sides
], ids=['box', 'slab', 'turned', 'stretched', 'tube'])
def test_meshes_are_closed_and_turned_outward(shape, volume):
    mesh = mesh_of([shape])
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert np.einsum('ij,ij->', np.cross(a, b), c) / 6 == pytest.approx(volume, rel=2e-3)
    normals = mesh.normals[mesh.triangles].sum(axis=1)
    assert (np.einsum('ij,ij->i', np.cross(b - a, c - a), normals) > 0).all()
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0)


def test_a_profile_is_cut_where_it_bends_inward():
    bottle = Turned(((0.0, 0.0), (0.04, 0.0), (0.04, 0.1), (0.02, 0.12), (0.02, 0.2), (0.0, 0.2)))
    low, high = hulls_of([bottle])
    radius = {id(piece): np.linalg.norm(piece[:, :2], axis=1) for piece in (low, high)}
    assert radius[id(high)].max() == pytest.approx(0.02) and high[:, 2].max() == 0.2
    for piece, past in ((low, low[:, 2] > 0.1201), (high, high[:, 2] < 0.1199)):
        assert past.any() and radius[id(piece)][past].max() < 0.013, 'within the other one'


@pytest.mark.parametrize('category', KINDS)
@pytest.mark.parametrize('held_out', [False, True])
def test_every_category_stands_on_its_ground_and_can_be_gripped(category, held_out):
    for seed in range(4):
        draw = Draw(np.random.default_rng(seed), held_out)
        thing = make_thing(draw, category, draw.pick(colours_of(category, held_out)))
        seen = np.concatenate([mesh_of(part.seen).vertices for part in thing.parts])
        assert -0.002 < seen[:, 2].min() < 0.004
        assert max(thing.size) < 0.35
        assert 0.04 < sum(part.mass_kg for part in thing.parts) < 1.5
        pieces = [hull for part in thing.parts for hull in hulls_of(part.solid)]
        # Fingers close level; only a book is taken by its thickness.
        axes = (2,) if category == 'book' else (0, 1)
        assert min(np.ptp(piece[:, axes], axis=0).min() for piece in pieces) < FINGERS_M
        names = {'', *(part.name for part in thing.parts)}
        assert {part.parent for part in thing.parts} <= names
        assert thing.coloured in names


def felt_along(bullet, thing, corner, outward, along):
    """How much of each contact's normal lies along a thing, for the corner of a finger in it."""
    bullet.resetSimulation()
    pad = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[0.009, 0.006, 0.011])
    body = add_thing(bullet, thing, Pose((0.0, 0.0, 0.0)), seen=False)
    turn = np.stack([along, -outward, np.cross(along, -outward)], axis=1)
    finger = bullet.createMultiBody(
        0.0, pad, -1, (corner + 0.006 * outward + 0.009 * along).tolist(),
        quaternion_from_rotation(turn).tolist())
    bullet.performCollisionDetection()
    return [abs(float(np.dot(contact[7], along)))
            for contact in bullet.getContactPoints(finger, body.id)
            if contact[4] == -1 and contact[8] < 0]


DEEP_M, FLAT = 8e-4, 0.75


def test_no_finger_is_held_between_the_pieces_of_a_banana(bullet):
    """The corner of one that presses on a seam feels the skin there, not the faces of pieces."""
    felt = []
    for seed in range(6):
        thing = make_thing(Draw(np.random.default_rng(seed), False), 'banana', 'yellow')
        tube = thing.parts[0].seen[0]
        path, radii = np.array(tube.path), np.array(tube.radii)
        way = np.gradient(path, axis=0)
        way /= np.linalg.norm(way, axis=1, keepdims=True)
        for ring, aside in itertools.product(range(2, len(path) - 2), np.linspace(-2e-3, 2e-3, 9)):
            outward = np.cross(way[ring], (0.0, 0.0, 1.0))
            corner = path[ring] + (radii[ring] - DEEP_M) * outward + aside * way[ring]
            felt += felt_along(bullet, thing, corner, outward, way[ring])
    assert len(felt) > 100 and max(felt) < FLAT


@pytest.mark.parametrize('category', ['cup', 'mug', 'bowl'])
def test_no_finger_is_held_between_the_pieces_of_a_wall(bullet, category):
    """From outside, where two meet."""
    felt = []
    for seed in range(3):
        thing = make_thing(Draw(np.random.default_rng(seed), False), category,
                           colours_of(category, False)[0])
        bullet.resetSimulation()
        body, high = add_thing(bullet, thing, Pose((0.0, 0.0, 0.0)), seen=False), thing.size[2]
        hits = []
        for turn, z in itertools.product(2 * np.pi * np.arange(10) / 10, (0.6, 0.8)):
            out = np.array([np.cos(turn), np.sin(turn), 0.0])
            far, near = ([*(reach * out[:2]).tolist(), z * high] for reach in (0.3, 0.01))
            hit, = bullet.rayTest(far, near)
            if hit[0] == body.id and hit[1] == -1:
                hits.append((np.array(hit[3]), out))
        assert len(hits) > 8
        for (place, outward), aside in itertools.product(hits, np.linspace(-2e-3, 2e-3, 5)):
            along = np.cross(outward, (0.0, 0.0, 1.0))
            felt += felt_along(bullet, thing, place - DEEP_M * outward + aside * along, outward,
                               along)
    assert len(felt) > 100 and max(felt) < FLAT


def test_a_part_has_what_belongs_to_it():
    kettle = cases.thing('kettle', 'red')
    names = [part.name for part in kettle.parts]
    assert [names[k] for k in kettle.indices('lid')] == ['lid', 'knob']
    assert [names[k] for k in kettle.indices('knob')] == ['knob']
    assert list(kettle.indices('blade')) == []
    chest = cases.thing('drawer box', 'red')
    assert len(list(chest.indices('drawer'))) == 2


# --- what is held out -------------------------------------------------------------------------


def is_held_out(fraction: float) -> bool:
    """Whether a place in a range, in [0, 1], is in every third stripe of it."""
    return min(int(fraction * STRIPES), STRIPES - 1) % EVERY == EVERY - 1


def test_no_parameter_of_a_shape_or_shade_is_in_both():
    drawn = {held_out: [fraction for seed in range(12)
                        for one in sample_table(seed, held_out).things
                        for _, fraction in one.thing.parameters]
             for held_out in (False, True)}
    assert len(drawn[True]) > 300 and len(drawn[False]) > 300
    assert all(map(is_held_out, drawn[True]))
    assert not any(map(is_held_out, drawn[False]))


def test_pairs_of_category_and_colour_are_in_one_only():
    for name, category in CATEGORIES.items():
        training, held_out = (set(colours_of(name, which)) for which in (False, True))
        if category.natural:
            assert training == held_out == set(category.colours)
        else:
            assert training | held_out == set(category.colours)
            assert not training & held_out
            assert len(held_out) >= 2
    seen = {held_out: {(one.thing.category, one.thing.colour) for seed in range(30)
                       for one in sample_table(seed, held_out).things
                       if not CATEGORIES[one.thing.category].natural}
            for held_out in (False, True)}
    assert len(seen[True]) > 25 and not seen[True] & seen[False]


def test_every_word_can_be_learnt_from_training():
    colours = {colour for name in CATEGORIES for colour in colours_of(name, False)}
    assert colours == set(COLOURS)
    seen = {one.thing.category for seed in range(80) for one in sample_table(seed, False).things}
    assert seen == set(CATEGORIES)


# --- tables -----------------------------------------------------------------------------------


def test_one_seed_gives_one_table():
    assert sample_table(5, True) == sample_table(5, True)
    assert len({sample_table(seed, held_out) for seed in range(5)
                for held_out in (False, True)}) == 10
    assert hash(sample_table(5, False)) == hash(sample_table(5, False))


def test_things_are_apart_and_have_names_of_their_own():
    for seed in range(25):
        table = sample_table(seed, seed % 2 == 0)
        assert FEWEST <= len(table.things) <= MOST
        assert len({one.name for one in table.things}) == len(table.things)
        alone = [one for one in table.things if not one.inside]
        for one, two in itertools.combinations(alone, 2):
            # Cells of the grid round the distance by up to two of their diagonals.
            assert convex_gap(footprint_of(one), footprint_of(two)) > GAP_M - 0.012
        for one in table.things:
            if one.inside:
                holder = table.named(one.inside)
                assert one.pose.position[2] == holder.thing.room.floor
                assert np.hypot(*np.subtract(one.pose.position, holder.pose.position)[:2]) < 0.15
    assert any(one.inside for seed in range(25) for one in sample_table(seed, True).things)


def test_look_alikes_are_common():
    pairs = [len(things) > len({one.thing.category for one in things})
             for seed in range(40) for things in (sample_table(seed, True).things,)]
    assert np.mean(pairs) > 0.7


def test_a_name_that_is_not_there():
    with pytest.raises(KeyError):
        sample_table(0, True).named('unicorn 1')


# --- physics ----------------------------------------------------------------------------------


@pytest.mark.parametrize('category', KINDS)
def test_things_stay_as_they_are_placed(bullet, category):
    ground(bullet)
    thing = cases.thing(category, CATEGORIES[category].colours[0])
    body = add_thing(bullet, thing, Pose((0.2, 0.1, 0.0), 0.7), seen=False)
    for _ in range(240):
        bullet.stepSimulation()
    origin, turn = pose_of(bullet, body)
    assert np.linalg.norm(origin - (0.2, 0.1, 0.0)) < 0.005
    assert np.degrees(np.arccos(min(1.0, turn[2, 2]))) < 4.0
    assert np.arctan2(turn[1, 0], turn[0, 0]) == pytest.approx(0.7, abs=0.05)
    mass = sum(bullet.getDynamicsInfo(body.id, link)[0] for link in body.links)
    assert mass == pytest.approx(sum(part.mass_kg for part in thing.parts))


def test_a_vessel_is_hollow(bullet):
    ground(bullet)
    mug = cases.thing('mug', 'red')
    add_thing(bullet, mug, Pose((0.0, 0.0, 0.0)), seen=False)
    middle = bullet.rayTest((0.0, 0.0, 1.0), (0.0, 0.0, -1.0))[0]
    assert middle[3][2] < 0.3 * mug.size[2]


def test_a_thing_may_be_fixed_or_pass_through(bullet):
    ground(bullet)
    cup = cases.thing('cup', 'blue')
    fixed = add_thing(bullet, cup, Pose((0.0, 0.0, 0.5)), seen=False, moves=False)
    ghost = add_thing(bullet, cup, Pose((0.5, 0.0, 0.2)), seen=False, solid=False)
    fallen = add_thing(bullet, cup, Pose((0.5, 0.0, 0.3)), seen=False)
    for _ in range(240):
        bullet.stepSimulation()
    assert pose_of(bullet, fixed)[0][2] == pytest.approx(0.5)
    assert pose_of(bullet, ghost)[0] == pytest.approx((0.5, 0.0, 0.2))
    assert pose_of(bullet, fallen)[0] == pytest.approx((0.5, 0.0, 0.0), abs=0.01)


def test_a_drawer_slides_out_and_takes_its_knob_along(bullet):
    ground(bullet)
    chest = cases.thing('drawer box', 'green')
    body = add_thing(bullet, chest, Pose((0.0, 0.0, 0.0)), seen=False)
    drawer = next(link for link, part in zip(body.links, chest.parts, strict=True) if part.slide)
    pull = next(link for link, part in zip(body.links, chest.parts, strict=True)
                if part.parent == 'drawer')
    for _ in range(60):
        bullet.stepSimulation()
    before = bullet.getLinkState(body.id, pull, computeForwardKinematics=1)[0]
    assert bullet.getJointState(body.id, drawer)[0] == pytest.approx(0.0, abs=0.002)
    for _ in range(30):
        bullet.applyExternalForce(body.id, drawer, (0.0, -2.0, 0.0), (0.0, 0.0, 0.0),
                                  bullet.LINK_FRAME)
        bullet.stepSimulation()
    opened = bullet.getJointState(body.id, drawer)[0]
    after = bullet.getLinkState(body.id, pull, computeForwardKinematics=1)[0]
    upper = next(part.slide.upper for part in chest.parts if part.slide)
    assert 0.02 < opened <= upper + 0.003
    assert before[1] - after[1] == pytest.approx(opened, abs=0.004)
    assert np.linalg.norm(pose_of(bullet, body)[0]) < 0.01
