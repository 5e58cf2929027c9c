"""Bodies of a home: extents, joints, rays, what falls, and that nothing else moves."""

import math

import numpy as np
import pytest

from household_cases import block, cabinet, chest, home, table
from sightplan.model import WorldError
from sightplan_sim.household.rotations import about, euler, matrix, quaternion, turn
from sightplan_sim.household.scene import FLOOR, Scene
from sightplan_sim.household.shapes import Link, Model, Part, Placed


@pytest.fixture(scope='module')
def scene():
    with Scene() as made:
        yield made


def test_extents_follow_turns_and_leaves(scene):
    scene.build(home((Placed('cabinet_1', cabinet(), (1.0, 2.0, 0.0), yaw=math.pi / 2),)))
    low, high = scene.aabb('cabinet_1')  # turned: 0.5 m wide along x, the front faces +x
    assert np.allclose(low, (0.75, 1.605, 0.0), atol=0.03)
    assert np.allclose(high, (1.272, 2.4, 0.95), atol=0.03)
    scene.set_opening('cabinet_1', 1, 0.9)  # by 90 degrees: the leaf stands out to the front
    assert scene.aabb('cabinet_1')[1][0] == pytest.approx(1.25 + 0.79, abs=0.03)
    assert scene.openings('cabinet_1') == (0.0, 0.9)


@pytest.mark.parametrize('kind', ['box', 'sphere', 'cylinder'])
def test_extents_of_tilted_primitives(scene, kind):
    size = (0.2, 0.2, 0.2) if kind == 'sphere' else (0.2, 0.2, 0.4)
    part = Part(kind, size, (0.0, 0.0, 1.0), (1.0, 1.0, 1.0), rpy=(0.6, 0.0, 0.3))
    scene.build(home(decor=(Placed('it', Model('it', (Link((part,)),), size), (0.0, 0.0, 0.0)),)))
    low, high = scene.aabb('it')
    rng = np.random.default_rng(0)  # the farthest points of its surface, by trying
    way = rng.normal(size=(200_000, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    half = np.array(size) / 2
    if kind == 'box':
        points = np.sign(way) * half
    elif kind == 'sphere':
        points = way * half
    else:
        ring = way[:, :2] / np.linalg.norm(way[:, :2], axis=1)[:, None] * half[:2]
        points = np.column_stack([ring, np.sign(way[:, 2]) * half[2]])
    points = points @ euler((0.6, 0.0, 0.3)).T + (0.0, 0.0, 1.0)
    assert np.allclose(low, points.min(axis=0), atol=1e-3)
    assert np.allclose(high, points.max(axis=0), atol=1e-3)


def test_quaternions_and_matrices_agree():
    rng = np.random.default_rng(1)
    for _ in range(50):
        axis = rng.normal(size=3)
        rotation = about(axis / np.linalg.norm(axis), rng.uniform(-3.2, 3.2))
        assert np.allclose(matrix(quaternion(rotation)), rotation)
    for flat in (np.diag((1.0, -1.0, -1.0)), np.diag((-1.0, 1.0, -1.0)), turn(math.pi)):
        assert np.allclose(matrix(quaternion(flat)), flat)


def test_a_drawer_takes_its_contents_along(scene):
    drawers = chest()
    scene.build(home((Placed('chest_1', drawers, (0.0, 1.0, 0.0)),),
                     (Placed('a_1', block(), (0.1, 1.0, 0.58)),)))
    room = scene.cavities('chest_1')[0]
    assert room.contains(scene.centre('a_1'))
    scene.set_opening('chest_1', 1, 1.0, carried=['a_1'])
    assert np.allclose(scene.position('a_1'), (0.1, 0.6, 0.58))
    assert scene.cavities('chest_1')[0].contains(scene.centre('a_1'))
    assert not room.contains(scene.centre('a_1') - (0.0, 0.4, 0.0))


def test_what_falls_comes_to_rest_and_all_else_stays(scene):
    scene.build(home((Placed('table_1', table(), (1.0, 0.0, 0.0)),),
                     (Placed('a_1', block(), (1.0, 0.0, 0.9)),
                      Placed('b_1', block(), (1.2, 0.0, 0.9)))))
    seconds = scene.settle(['a_1'])
    assert 0.1 < seconds < 2.0
    assert scene.position('a_1')[2] == pytest.approx(0.7, abs=0.002)
    assert scene.touching('a_1', 'table_1') and not scene.touching('b_1', 'table_1')
    assert scene.position('b_1')[2] == 0.9  # nobody let it go


def test_a_ball_rolls_off_a_slope(scene):
    ramp = Model('ramp', (Link((Part('box', (1.0, 1.0, 0.04), (0.0, 0.0, 0.5),
                                     (1.0, 1.0, 1.0), rpy=(0.0, 0.3, 0.0)),)),), (1.0, 1.0, 0.8))
    scene.build(home(decor=(Placed('ramp', ramp, (0.0, 0.0, 0.0)),),
                     things=(Placed('ball_1', block((0.1, 0.1, 0.1), kind='sphere'),
                                    (0.0, 0.0, 0.54)),)))
    scene.settle(['ball_1'], {'ball_1': np.zeros(3)})
    assert scene.position('ball_1')[0] > 0.3
    assert scene.position('ball_1')[2] == pytest.approx(0.0, abs=0.01)


def test_rays_and_overlaps_follow_what_was_moved(scene):
    scene.build(home((Placed('table_1', table(), (1.0, 0.0, 0.0)),),
                     (Placed('a_1', block(), (1.0, 0.0, 0.7)),)))
    down = np.array([[1.0, 0.0, 2.0]]), np.array([[1.0, 0.0, -0.1]])
    assert scene.first_hits(*down) == ['a_1']
    assert scene.first_hits(*down, ignore=['a_1']) == ['table_1']
    assert scene.first_hits(*down, ignore=['a_1', 'table_1']) == [FLOOR]
    assert scene.overlaps('a_1') == []
    scene.move('a_1', (1.0, 0.0, 0.67))
    assert scene.overlaps('a_1') == ['table_1']
    scene.move('a_1', (-1.0, 0.0, -0.02))
    assert scene.overlaps('a_1') == [FLOOR] and scene.first_hits(*down) == ['table_1']
    scene.park('a_1')
    assert scene.near('table_1', 5.0) == []


def test_crossing_one_body_whatever_is_between(scene):
    scene.build(home((Placed('table_1', table(), (1.0, 0.0, 0.0)),)))
    starts = np.array([(1.0, 0.0, 2.0), (1.0, 0.0, 2.0), (1.0, 0.0, 0.3), (1.0, 0.0, 0.3)])
    ends = np.array([(1.0, 0.0, 0.6), (1.0, 0.0, 0.75), (1.0, 0.0, 0.75), (1.0, 0.3, 0.3)])
    assert scene.crossed('table_1', starts, ends).tolist() == [True, False, True, False]


def test_where_the_robot_can_stand(scene):
    scene.build(home((Placed('table_1', table(1.0, 0.6), (0.0, 0.0, 0.0), yaw=math.pi / 4),)))
    corner = 0.5 * math.sqrt(0.5)
    points = np.array([(0.0, 0.0), (0.75, 0.75), (0.75, -0.75), (corner + 0.15, -corner)])
    assert scene.free_disc(points, 0.28, 0.02, 1.3).tolist() == [False, True, True, True]
    assert scene.free_disc(points, 0.28, 0.8, 1.3).all()  # over its top


def test_everything_can_be_put_back(scene):
    scene.build(home((Placed('cabinet_1', cabinet(), (0.0, 1.5, 0.0)),),
                     (Placed('a_1', block(), (0.0, 0.0, 0.5)),)))
    before = scene.snapshot()
    version = scene.version
    scene.set_opening('cabinet_1', 1, 0.5)
    scene.settle(['a_1'])
    scene.park('a_1')
    assert scene.version > version
    scene.restore(before)
    assert scene.openings('cabinet_1') == (0.0, 0.0)
    assert np.array_equal(scene.position('a_1'), (0.0, 0.0, 0.5))
    assert scene.first_hits(np.array([[0.0, 0.0, 2.0]]), np.array([[0.0, 0.0, 0.1]])) == ['a_1']


def test_names_are_unique(scene):
    twice = Placed('a_1', block(), (0.0, 0.0, 0.0))
    with pytest.raises(WorldError, match="two bodies are called 'a_1'"):
        scene.build(home((twice,), (twice,)))


def test_building_again_gives_the_same_fall(scene):
    def fall():
        scene.build(home((Placed('table_1', table(), (1.0, 0.0, 0.0)),),
                         (Placed('a_1', block(), (1.45, 0.2, 1.0), yaw=0.3),
                          Placed('b_1', block(kind='sphere'), (1.46, 0.24, 1.2)))))
        scene.settle(['a_1', 'b_1'], {'b_1': np.array([0.1, 0.05, 0.0])})
        return np.concatenate([scene.position('a_1'), scene.position('b_1')])
    first = fall()
    assert first[5] < 0.2  # it fell off the table
    assert np.array_equal(first, fall())
