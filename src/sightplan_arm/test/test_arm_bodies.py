"""What the gate knows of bodies: margins kept in all of a motion, and not at samples alone."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import coal
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arm_doubles import FollowingArm, WallClock, way
from sightplan.model import InputError, WorldError
from sightplan_arm.bodies import BACK_M, Bodies, _Motion
from sightplan_arm.config import BodiesConfig, ObstacleConfig, PairConfig, ShapelessConfig
from sightplan_arm.gate import Gate
from sightplan_arm.geometry import hand_down, inverse, make_pose, rotation_from_rpy, transform
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.limits import Limits
from sightplan_arm.surroundings import (
    HAND,
    HELD,
    NOTHING,
    OBSTACLES,
    TABLE,
    Around,
    Solid,
    Touch,
)
from sightplan_arm.trajectories import Spline, cartesian, joint_line, sample, timed

DENSE_M = 0.001


class Judge:
    """Distances as Pinocchio has them for one posture, by a model of its own."""

    def __init__(self, robot, bodies, around):
        self.robot = robot
        self.model = pinocchio.buildModelFromUrdf(str(robot.urdf))
        self.shapes = pinocchio.buildGeomFromUrdf(
            self.model, str(robot.urdf), pinocchio.GeometryType.COLLISION)
        self.data = self.model.createData()
        self.places = [self.model.joints[self.model.getJointId(name)].idx_q
                       for name in robot.arm.joints]
        fingers = [k for k in range(self.model.nq) if k not in self.places]
        self.q = pinocchio.neutral(self.model)
        self.q[fingers] = self.model.upperPositionLimit[fingers]  # open
        pinocchio.framesForwardKinematics(self.model, self.data, self.q)
        table = self.data.oMf[self.model.getFrameId(robot.base_frame)].homogeneous @ (
            robot.table.pose)
        self.table = inverse(table)
        self.names = [self.model.frames[one.parentFrame].name
                      for one in self.shapes.geometryObjects]
        for solid in (*around.obstacles, *robot.safety.bodies.solids):
            self._add(solid.name, 0, table @ solid.pose, coal.Box(*solid.size_m))
        if around.held is not None:
            frame = self.model.frames[self.model.getFrameId(robot.tip_frame)]
            self._add(around.held.name, frame.parentJoint,
                      frame.placement.homogeneous @ around.held.pose,
                      coal.Box(*around.held.size_m))
        margins = bodies.margins(around)
        self._add('the table', 0, table, coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0))
        for name in {one for pair in margins for one in pair if one.startswith('the side')}:
            axis, _, value = name.split()[2:5]
            sign = -1.0 if name.endswith('(least)') else 1.0
            self._add(name, 0, table, coal.Halfspace(
                -sign * np.eye(3)['xyz'.index(axis)], -sign * float(value)))
        self.margins = []
        for b, a in itertools.permutations(range(len(self.names)), 2):
            margin = margins.get((self.names[b], self.names[a]))
            if margin is not None:
                self.shapes.addCollisionPair(pinocchio.CollisionPair(a, b))
                self.margins.append(margin)
        assert {tuple(self.names[k] for k in (pair.second, pair.first))
                for pair in self.shapes.collisionPairs} == set(margins)
        self.found = self.shapes.createData()
        self.corners = [self._corners(one) for one in self.shapes.geometryObjects
                        if not isinstance(one.geometry, coal.Halfspace)]

    def _add(self, name, joint, pose, geometry):
        self.names.append(name)
        self.shapes.addGeometryObject(pinocchio.GeometryObject(
            name, joint, pinocchio.SE3(pose), geometry))

    def _corners(self, shape):
        """(8, 3) of a box around a shape, in its own frame."""
        shape.geometry.computeLocalAABB()
        low, high = shape.geometry.aabb_local.min_, shape.geometry.aabb_local.max_
        return np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1])
                         for z in (low[2], high[2])])

    def room(self, q):
        """By how much the nearest pair is farther apart than it must be, and all corners."""
        self.q[self.places] = q
        pinocchio.computeDistances(self.model, self.data, self.shapes, self.found, self.q)
        corners = np.concatenate([transform(pose.homogeneous, corners) for pose, corners in zip(
            self.found.oMg, self.corners, strict=False)])
        return min(result.min_distance - margin for result, margin in zip(
            self.found.distanceResults, self.margins, strict=True)), corners

    def least(self, trajectory):
        """Least room at times so dense that nothing goes farther than DENSE_M between two."""
        times = np.linspace(0.0, trajectory.duration_s, 60)
        before = self.room(sample(trajectory, 0.0)[0])
        least = before[0]
        for start, end in itertools.pairwise(times):
            last = self.room(sample(trajectory, end)[0])
            gone = float(np.linalg.norm(last[1] - before[1], axis=1).max())
            for t in np.linspace(start, end, int(np.ceil(1.3 * gone / DENSE_M)) + 1)[1:-1]:
                least = min(least, self.room(sample(trajectory, t)[0])[0])
            least, before = min(least, last[0]), last
        return least


@pytest.fixture(scope='module')
def bodies(robots):
    """Of each robot."""
    return {name: Bodies(robot, Kinematics(robot)) for name, robot in robots.items()}


def motion(robot, random, part):
    """A smooth random motion, from one posture near ``ready`` over another to a third."""
    arm, count = robot.arm, len(robot.arm.joints)
    postures = arm.ready + part * (random.uniform(arm.lower, arm.upper, (3, count)) - arm.ready)
    return timed(postures, arm.max_velocity, arm.max_acceleration)


def cluttered(random):
    """Boxes around the middle of the table, and something in the hand."""
    obstacles = tuple(Solid(f'thing {k}', make_pose(
        (*random.uniform(-0.25, 0.25, 2), random.uniform(0.0, 0.45)),
        rotation_from_rpy(random.uniform(-3, 3, 3))), random.uniform(0.02, 0.12, 3))
        for k in range(4))
    held = Solid('a thing', make_pose(random.uniform(-0.02, 0.02, 3)),
                 random.uniform(0.02, 0.15, 3))
    return Around(obstacles, held)


@pytest.mark.slow
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
@pytest.mark.parametrize('seed', range(4))
def test_what_is_let_through_keeps_all_margins_at_dense_samples(robots, bodies, name, seed):
    """And what is refused comes too close: nothing is refused for want of samples."""
    robot, random = robots[name], np.random.default_rng(seed)
    around = cluttered(random)
    judge = Judge(robot, bodies[name], around)
    passed = refused = 0
    while not (passed and refused):
        trajectory = motion(robot, random, random.uniform(0.02, 0.25))
        found = bodies[name].conflict(Spline.of(trajectory), around)
        if found is None and judge.room(trajectory.positions[0])[0] >= 0.0:
            passed += 1
            assert judge.least(trajectory) > -1e-6
        elif found is not None and not found.leaving and not refused:
            refused += 1
            room = judge.room(sample(trajectory, found.time_s)[0])[0]
            assert room < 2e-4
            assert found.distance_m - found.margin_m >= room - 1e-6


@pytest.fixture(scope='module')
def judges(panda, bodies):
    """Some cluttered tables, and who judges motions there."""
    made = [cluttered(np.random.default_rng(seed)) for seed in range(4)]
    return [(around, Judge(panda, bodies['panda'], around)) for around in made]


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=12, deadline=None)
def test_what_is_let_through_keeps_all_margins_at_some_samples(panda, bodies, judges, seed):
    """The same, faster: 40 samples of each motion."""
    random = np.random.default_rng(seed)
    trajectory = motion(panda, random, random.uniform(0.02, 0.25))
    around, judge = judges[seed % len(judges)]
    rooms = [judge.room(sample(trajectory, t)[0])[0]
             for t in np.linspace(0.0, trajectory.duration_s, 40)]
    found = bodies['panda'].conflict(Spline.of(trajectory), around)
    if found is None:
        assert min(rooms) > -1e-6 or rooms[0] < 0.0
    else:
        assert min(rooms) < 0.0 or found.distance_m < found.margin_m + 2e-4


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_bounds_hold_at_every_moment(robots, bodies, seed):
    """No joint goes farther than its variation, and no point strays farther than is said."""
    robot, random = robots['panda'], np.random.default_rng(seed)
    spline = Spline.of(motion(robot, random, 0.6))
    piece = random.integers(len(spline.lengths_s), size=1)
    low, high = np.sort(random.uniform(0.0, spline.lengths_s[piece[0]], 2)).reshape(2, 1)
    times = np.linspace(low[0], high[0], 200)
    went = np.abs(np.diff(spline.positions(np.repeat(piece, 200), times), axis=0)).sum(axis=0)
    variation = spline.variations(piece, low, high)[0]
    assert (went <= variation + 1e-12).all() and (went >= 0.99 * variation - 1e-12).all()


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
@pytest.mark.parametrize('bound', ['goes', 'strays'])
def test_no_pair_is_ever_nearer_than_a_bound_says(robots, bodies, name, bound):
    """Each of the two bounds of a whole piece, of all pairs, against 60 moments of it."""
    robot, one, random = robots[name], bodies[name], np.random.default_rng(3)
    around = cluttered(random)
    for _ in range(6):
        start, way = (random.normal(0.0, size, len(robot.arm.joints)) for size in (0.3, 0.06))
        speeds = np.stack([random.normal(0.0, 0.5, len(way)), 0.0 * way])
        spline = Spline.of(JointTrajectory(np.array([0.0, 0.2]), np.stack([
            robot.arm.ready + start, robot.arm.ready + start + way]), speeds))
        scene = one._scene(around)
        poses = one._kinematics.joint_poses(spline.positions(
            np.zeros(60, np.intp), np.linspace(0.0, 0.2, 60)))
        pairs = np.arange(len(scene.floor))
        gaps, ways = (np.stack(part) for part in zip(*(scene.gaps(
            poses, np.full(len(pairs), k), pairs) for k in range(60)), strict=True))
        zero, piece = np.zeros(len(pairs)), np.zeros(len(pairs), np.intp)
        if bound == 'goes':
            goes = spline.variations(piece, zero, zero + 0.2)
            least = 0.5 * (gaps[0] + gaps[-1] - np.einsum('pn,pn->p', goes, scene.reach))
        else:
            ends = [scene.gap(pairs, *scene.relative(poses, piece + k, pairs), ways[30])
                    for k in (0, 59)]
            least = np.minimum(*ends) - _Motion(scene, one._kinematics, spline)._strays(
                piece, pairs, zero, zero + 0.2)
        assert (gaps.min(axis=0) >= least - 1e-9).all()
        nearest = gaps.min(axis=0) - least
        assert np.median(nearest) < 0.25, 'the bound says something'


def test_points_accelerate_no_more_than_is_said(panda, bodies, panda_kinematics):
    """The greatest acceleration behind the second bound, of every shape, by differences."""
    random, one = np.random.default_rng(4), bodies['panda']
    scene, h = one._scene(NOTHING), 1e-3
    table = {b: pair for pair, (a, b) in enumerate(scene.pairs)
             if scene.bodies[scene.shapes[a].body].kind == TABLE}
    pairs = np.array(list(table.values()))
    nearest = np.full(len(pairs), np.inf)
    for _ in range(40):
        q, v, acceleration = (random.normal(0.0, 1.0, 7) for _ in range(3))
        v *= np.where(random.random(7) < 0.5, 0.0, 1.0)
        acceleration *= np.where(random.random(7) < 0.5, 0.0, 1.0)
        moments = [q + t * v + 0.5 * t * t * acceleration for t in (-h, 0.0, h)]
        places = scene.places(panda_kinematics.joint_poses(np.stack(moments)))
        true = np.linalg.norm(places[2] - 2 * places[1] + places[0], axis=1) / h**2
        spline = Spline(np.array([h]), q[None], v[None], 0.5 * acceleration[None], 0 * v[None])
        motion_ = _Motion(scene, panda_kinematics, spline)
        zero, piece = np.zeros(len(pairs)), np.zeros(len(pairs), np.intp)
        said = motion_._strays(piece, pairs, zero, zero + 1e-6) * 8 / 1e-12
        assert (said >= true[list(table)] - 1e-3).all()
        nearest = np.minimum(nearest, said / np.maximum(true[list(table)], 1e-2))
    assert np.median(nearest) < 3.0, 'nor is it far more'


# --- what a motion may do ---------------------------------------------------------------------


def straight(robot, kinematics, start, end, speed=0.5):
    """The tip from one place of the table to another, the hand pointing down."""
    places = [robot.table.pose @ hand_down(place) for place in (start, end)]
    q = kinematics.ik(places[0], robot.arm.ready)
    return timed(cartesian(kinematics, q, *places), speed * robot.arm.max_velocity,
                 speed**2 * robot.arm.max_acceleration)


@pytest.fixture
def low(panda, panda_kinematics, bodies):
    """Checks a straight motion of the Panda's tip among things."""
    def check(start, end, around=NOTHING):
        return bodies['panda'].conflict(
            Spline.of(straight(panda, panda_kinematics, start, end)), around)
    return check


def plate(x, thick=0.001, **options):
    """Upright between the columns, across the row."""
    return Solid.upright('a plate', (x, 0.0, 0.1), (thick, 0.3, 0.2), **options)


def test_what_lies_between_two_samples_is_not_jumped_over(panda, panda_kinematics, bodies):
    """A hand that is far from a thin plate at both ends of the only piece goes through it."""
    start, end = (panda_kinematics.ik(panda.table.pose @ hand_down((x, 0.0, 0.15)),
                                      panda.arm.ready) for x in (-0.15, 0.15))
    trajectory = JointTrajectory(np.array([0.0, 2.0]), joint_line(start, end), np.zeros((2, 7)))
    around = Around((plate(0.0),))
    for q in trajectory.positions:
        assert min(bodies['panda'].distances(q, around)[one.name, 'a plate'] for one in
                   bodies['panda'].links if one.joint == 7) > 0.02
    found = bodies['panda'].conflict(Spline.of(trajectory), around)
    assert found.other.name == 'a plate'
    assert bodies['panda'].conflict(Spline.of(trajectory)) is None


def test_the_nearest_a_motion_comes_is_told_apart_from_its_margin(
        low, bodies, panda, panda_kinematics):
    """A hand passes a wall at 3 mm, and not at 1 mm: the margin is 2 mm."""
    def wall(y):
        return Around((Solid.upright('a wall', (0.0, y + 0.1, 0.3), (2.0, 0.2, 0.6)),))

    past, far = [(-0.05, 0.0, 0.2), (0.05, 0.0, 0.2)], wall(0.4)
    gap = min(bodies['panda'].distances(posture, far)[one.name, 'a wall']
              for one in bodies['panda'].links if one.joint > 3
              for posture in straight(panda, panda_kinematics, *past).positions[::8])
    assert low(*past, wall(0.4 - gap + 0.003)) is None
    found = low(*past, wall(0.4 - gap + 0.001))
    assert found.other.name == 'a wall' and found.margin_m == 0.002
    assert 0.0005 < found.distance_m < 0.002


@pytest.mark.parametrize(('start', 'end', 'cause'), [
    ((0.0, 0.0, 0.06), (0.0, 0.0, 0.20), None),        # up, away
    ((0.0, 0.0, 0.06), (0.08, 0.0, 0.06), 'leaving'),  # along
    ((0.0, 0.0, 0.06), (0.0, 0.0, 0.05), 'leaving'),   # nearer
    ((0.0, 0.0, 0.20), (0.0, 0.0, 0.06), 'coming'),
])
def test_what_is_too_close_already_may_only_move_away(low, start, end, cause):
    floor = Solid.upright('a board', (0.0, 0.0, 0.02), (0.6, 0.6, 0.06))
    found = low(start, end, Around((floor,)))
    assert (None if found is None else 'leaving' if found.leaving else 'coming') == cause
    if cause == 'leaving':
        assert found.distance_m < found.margin_m


def test_away_and_back_again_is_not_away(panda, panda_kinematics, bodies):
    floor = Around((Solid.upright('a board', (0.0, 0.0, 0.02), (0.6, 0.6, 0.06)),))
    up = straight(panda, panda_kinematics, (0.0, 0.0, 0.06), (0.0, 0.0, 0.1)).positions
    there = timed(np.concatenate([up, up[-2::-1], up[1:5]]), 0.3 * panda.arm.max_velocity,
                  0.1 * panda.arm.max_acceleration)
    found = bodies['panda'].conflict(Spline.of(there), floor)
    assert found is not None and found.leaving
    assert BACK_M < 0.001


def test_an_arm_that_does_not_move_is_let_stand(panda, bodies):
    q = panda.arm.ready
    inside = Around((Solid.upright('a box', (0.0, 0.0, 0.3), (0.5, 0.5, 0.5)),))
    assert bodies['panda'].conflict(Spline.of(timed(
        np.stack([q, q]), panda.arm.max_velocity, panda.arm.max_acceleration)), inside) is None


@pytest.mark.parametrize(('held', 'touches', 'safe'), [
    (None, (), True),
    (0.05, (), True),
    (0.11, (), False),                              # it hangs lower than the hand goes
    (0.11, (Touch(HELD, TABLE, 0.006),), True),     # which it may a little
    (0.13, (Touch(HELD, TABLE, 0.006),), False),
    (0.13, (Touch(HELD, TABLE, None),), True),
])
def test_what_is_held_is_part_of_the_arm(low, held, touches, safe):
    thing = held and Solid('a bottle', np.eye(4), np.array([0.04, 0.04, held]))
    found = low((0.0, 0.0, 0.2), (0.0, 0.0, 0.052), Around((), thing, None, touches))
    assert (found is None) == safe
    if found is not None:
        assert {found.one.name, found.other.name} == {'a bottle', 'the table'}


def test_what_is_held_is_checked_against_the_arm_that_holds_it(panda, bodies):
    pole = Solid('a pole', make_pose((0.0, 0.13, -0.15)), np.array([0.02, 0.02, 0.4]))
    turned = panda.arm.ready.copy()
    turned[6] += 1.2
    trajectory = way(panda, panda.arm.ready, turned)
    found = bodies['panda'].conflict(Spline.of(trajectory), Around((), pole))
    assert found.one.name == 'a pole' and found.other.name.startswith('panda_link')
    assert bodies['panda'].conflict(Spline.of(trajectory)) is None


BLOCK = Solid.upright('a block', (0.0, 0.04, 0.025), (0.05, 0.05, 0.05))


@pytest.mark.parametrize(('touches', 'safe'), [
    ((), False), ((Touch(HAND, BLOCK, None),), True), ((Touch(BLOCK, HAND, None),), True),
    ((Touch(HAND, replace(BLOCK, name='another'), None),), False),
    ((Touch(HAND, 'a block', None),), False), ((Touch(HAND, OBSTACLES, None),), True),
    ((Touch(HELD, BLOCK, None),), False)])
def test_only_what_is_meant_may_be_touched(low, touches, safe):
    found = low((0.0, 0.0, 0.2), (0.0, 0.0, 0.03), Around((BLOCK,), touches=touches))
    assert (found is None) == safe


def test_of_two_with_one_name_only_the_one_that_is_meant_may_be_touched(low):
    """Whichever comes first, and whatever the other's name happens to mean besides."""
    down = ((0.0, 0.0, 0.2), (0.0, 0.0, 0.03))
    far = Solid.upright('a block', (0.0, 0.3, 0.025), (0.05, 0.05, 0.05))
    for around in ((far, BLOCK), (BLOCK, far)):
        assert low(*down, Around(around, touches=(Touch(HAND, BLOCK, None),))) is None
        found = low(*down, Around(around, touches=(Touch(HAND, far, None),)))
        assert found is not None and found.other.solid is BLOCK
    for name in ('hand', 'table', 'panda_link7', 'panda_hand', 'panda_leftfinger'):
        named = replace(BLOCK, name=name)
        for touches in ((), (Touch(HAND, name, None),), (Touch(HAND, HAND, None),)):
            assert low(*down, Around((named,), touches=touches)) is not None, (name, touches)


def test_fingers_keep_clear_of_a_block_that_has_the_name_of_a_coarse_box(low):
    block = Solid.upright('a box', (0.0, 0.065, 0.025), (0.05, 0.05, 0.05))
    coarse = replace(block, pose=make_pose((0.0, 0.4, 0.025)), fingers=False)
    for around in ((block, coarse), (coarse, block)):
        found = low((0.0, 0.0, 0.2), (0.0, 0.0, 0.03), Around(around))
        assert found is not None and found.other.solid is block


def test_margins_of_the_robots_file_are_for_its_own_obstacles(panda, panda_kinematics):
    """And not for a thing on the table that has the name of one."""
    fixed = ObstacleConfig('a shelf', make_pose((0.0, 0.5, 0.5)), np.full(3, 0.05))
    config = replace(panda.safety.bodies, obstacles=(fixed,), pairs=(
        *panda.safety.bodies.pairs, PairConfig((HAND, 'a shelf'), None, 'is padded')))
    robot = replace(panda, safety=replace(panda.safety, bodies=config))
    found = Bodies(robot, panda_kinematics)
    thing = replace(BLOCK, name='a shelf')
    scene = found._make_scene(Around((thing,)))
    compared = {(scene.bodies[scene.shapes[a].body].solid, scene.bodies[
        scene.shapes[b].body].name) for a, b in scene.pairs
        if scene.bodies[scene.shapes[a].body].name == 'a shelf'}
    assert (thing, 'panda_hand') in compared
    assert (None, 'panda_hand') not in compared and (None, 'panda_link5') in compared


def test_fingers_are_where_the_opening_has_them(low):
    """Closed fingers go where open ones would not."""
    block = Around((Solid.upright('a block', (0.0, 0.065, 0.025), (0.05, 0.05, 0.05)),))
    down = ((0.0, 0.0, 0.2), (0.0, 0.0, 0.03))
    assert low(*down, block).one.name.endswith('finger')
    assert low(*down, replace(block, opening_m=0.02)) is None
    coarse = replace(block, obstacles=(replace(block.obstacles[0], fingers=False),))
    assert low(*down, coarse) is None


# --- what is no number ------------------------------------------------------------------------


@pytest.mark.parametrize(('pose', 'size_m', 'what'), [
    (make_pose((np.nan, 0.0, 0.0)), (0.1, 0.1, 0.1), 'pose'),
    (np.eye(3), (0.1, 0.1, 0.1), 'pose'),
    (np.eye(4), (0.1, np.nan, 0.1), 'size'),
    (np.eye(4), (0.1, 0.0, 0.1), 'size'),
    (np.eye(4), (np.inf, 0.1, 0.1), 'size')])
def test_a_solid_has_a_place_and_a_size(pose, size_m, what):
    with pytest.raises(InputError, match=f'a cup: its {what} is'):
        Solid('a cup', pose, np.array(size_m))


@pytest.mark.parametrize('held', [False, True])
def test_what_cannot_be_compared_is_not_let_through(panda, bodies, panda_kinematics, held):
    """Also where a number got lost behind the checks of what is given."""
    thing = Solid('a cup', make_pose((0.0, 0.0, 0.3)), np.full(3, 0.05))
    around = Around(held=thing) if held else Around((thing,))
    object.__setattr__(thing, 'size_m' if not held else 'pose',
                       np.full(3, np.nan) if not held else np.full((4, 4), np.nan))
    over = straight(panda, panda_kinematics, (-0.15, 0.0, 0.2), (0.15, 0.0, 0.2))
    found = bodies['panda'].conflict(Spline.of(over), around)
    assert found is not None and 'a cup' in (found.one.name, found.other.name)


# --- the robot's file -------------------------------------------------------------------------


def without(robot, folder, *links):
    """A robot whose URDF has no collision shapes of some links; none named: of none at all."""
    tree = ElementTree.parse(robot.urdf)
    for link in tree.getroot().iter('link'):
        if link.get('name') in links or not links:
            for shape in link.findall('collision'):
                link.remove(shape)
    urdf = folder / 'bare.urdf'
    tree.write(urdf)
    return replace(robot, urdf=urdf)


@pytest.mark.parametrize('links', [(), ('panda_hand',), ('panda_leftfinger',), ('panda_link0',),
                                   ('panda_link3', 'panda_link6')])
def test_what_moves_has_a_shape_or_a_reason(panda, panda_kinematics, tmp_path, links):
    bare = without(panda, tmp_path, *links)
    with pytest.raises(InputError, match=r'no collision shape.*without_shape') as e:
        Bodies(bare, panda_kinematics)
    for name in links or ('panda_link0', 'panda_link7', 'panda_hand', 'panda_rightfinger'):
        assert name in str(e.value)
    if links:
        given = replace(panda.safety.bodies, without_shape=tuple(
            ShapelessConfig(name, 'for this test') for name in links))
        bare = replace(bare, safety=replace(bare.safety, bodies=given))
        made = Bodies(bare, panda_kinematics)
        assert made.unknown == tuple((name, 'for this test') for name in links)
        clock = WallClock()
        gate = Gate(FollowingArm(bare, clock), bare, panda_kinematics, clock=clock)
        assert gate.checks()['collisions'] is False
        gate.close()


def test_an_arm_without_its_hand_is_noticed(panda, panda_kinematics, tmp_path):
    text = panda.urdf.read_text()
    urdf = tmp_path / 'other.urdf'
    urdf.write_text(text.replace('type="prismatic"', 'type="fixed"'))
    Bodies(replace(panda, urdf=urdf), panda_kinematics)  # they have shapes, and do not move
    urdf.write_text(text.replace('type="prismatic"', 'type="fixed"').replace(
        'panda_finger_joint', 'something_else'))
    with pytest.raises(InputError, match='other.urdf: hand: no collision shape'):
        Bodies(replace(panda, urdf=urdf), panda_kinematics)


def test_frames_need_no_shape_and_all_else_is_checked(panda, bodies, bench):
    assert all(one.unknown == () for one in bodies.values())
    assert bench.gate.checks()['collisions'] is True


@pytest.mark.parametrize(('name', 'bodies_', 'pair'), [
    ('panda', BodiesConfig(pairs=(PairConfig(('hand', 'panda_link5'), 0.1),)),
     ('panda_hand', 'panda_link5')),
    ('ur5e', BodiesConfig(self_margin_m=0.05), ('wrist_3_link', 'wrist_1_link'))])
def test_a_larger_margin_takes_no_pair_away(robots, name, bodies_, pair):
    """One that no posture keeps is refused with the pair and what would be kept."""
    robot = robots[name]
    robot = replace(robot, safety=replace(robot.safety, bodies=bodies_))
    with pytest.raises(InputError, match=rf'{pair[0]} and {pair[1]} must keep .* mm, but are '
                                         r'never farther apart than [\d.]+ mm'):
        Bodies(robot, Kinematics(robot))


def test_joined_are_the_same_whatever_the_margins(robots, bodies):
    for name, robot in robots.items():
        for margin_m in (0.0, 0.02):
            config = replace(robot.safety.bodies, self_margin_m=margin_m)
            made = Bodies(replace(robot, safety=replace(robot.safety, bodies=config)),
                          Kinematics(robot))
            assert made.joined == bodies[name].joined


def test_pairs_that_are_never_compared_are_shown_and_few(bodies):
    """Neighbours, and nothing that several joints can bring together."""
    for one in bodies.values():
        joint = {body.name: body.joint for body in one.links}
        assert {abs(joint[a] - joint[b]) for a, b in one.joined} <= {1, 2}
        compared = set(one.margins())
        assert not compared & set(one.joined)
    assert ('panda_hand', 'panda_link5') in bodies['panda'].margins()
    assert ('panda_link7', 'panda_link5') in bodies['panda'].joined


def test_margins_are_the_files(panda, panda_kinematics):
    config = BodiesConfig(
        self_margin_m=0.01, table_margin_m=0.02, obstacle_margin_m=0.03, held_margin_m=0.04,
        pairs=(PairConfig(('panda_hand', 'panda_link4'), 0.05),
               PairConfig(('hand', 'stand'), 0.06),
               PairConfig(('held', 'panda_link3'), None, 'for this test')),
        obstacles=(ObstacleConfig('stand', make_pose((0.0, -0.7, 0.2)), np.full(3, 0.05)),))
    robot = replace(panda, safety=replace(panda.safety, bodies=config))
    bodies = Bodies(robot, panda_kinematics)
    held = Around((Solid.upright('x', (1.0, 0.0, 0.0), (0.1, 0.1, 0.1)),),
                  Solid('y', np.eye(4), np.full(3, 0.05)))
    found = bodies.margins(held)
    wanted = {('panda_hand', 'panda_link3'): 0.01, ('panda_hand', 'panda_link4'): 0.05,
              ('panda_hand', 'the table'): 0.02, ('panda_hand', 'x'): 0.03,
              ('panda_hand', 'stand'): 0.06, ('panda_link6', 'stand'): 0.03,
              ('y', 'panda_link4'): 0.04, ('y', 'the table'): 0.04, ('y', 'x'): 0.04}
    assert {pair: found[pair] for pair in wanted} == wanted
    assert ('y', 'panda_link3') not in found and ('y', 'panda_hand') not in found
    assert bodies.skipped == (('held', 'panda_link3', 'for this test'),)


def test_obstacles_of_the_file_are_always_there(panda, panda_kinematics):
    stand = ObstacleConfig('the stand', make_pose((0.0, 0.0, 0.15)), np.array([0.02, 0.02, 0.3]))
    robot = replace(panda, safety=replace(panda.safety, bodies=BodiesConfig(obstacles=(stand,))))
    limits = Limits(robot, panda_kinematics)
    over = straight(panda, panda_kinematics, (-0.15, 0.0, 0.2), (0.15, 0.0, 0.2))
    with pytest.raises(ArmStoppedError, match=(
            r'the motion would bring panda_\w+ to .* mm .* the stand after .* s; the margin is '
            r'2 mm: take it away or go around it; .*panda.yaml \(safety.bodies.obstacles\)')) as e:
        limits.check(over)
    assert e.value.cause == 'collision'


# --- the gate ---------------------------------------------------------------------------------


class Bench:
    """A gate before a perfect arm that stands over the table."""

    def __init__(self, panda, kinematics, settings=None):
        clock = WallClock()
        self.robot, self.kinematics = panda, kinematics
        self.down = straight(panda, kinematics, (0.0, 0.0, 0.2), (0.0, 0.0, 0.08))
        self.up = straight(panda, kinematics, (0.0, 0.0, 0.08), (0.0, 0.0, 0.2))
        self.arm = FollowingArm(panda, clock, self.down.positions[0])
        self.gate = Gate(self.arm, panda, kinematics, settings, clock=clock)
        self.gate.new_episode()
        self.up = replace(self.down, positions=self.down.positions[::-1].copy(),
                          velocities=-self.down.velocities[::-1],
                          times_s=self.down.times_s[-1] - self.down.times_s[::-1])

    def take(self, high=0.12):
        """Close the fingers around something 30 mm wide at the tip."""
        tip = inverse(self.robot.table.pose) @ self.kinematics.fk(self.arm.posture)
        self.arm.between_m = 0.03
        return self.gate.grip(0.0, 10.0, 'grasp', Solid('a bottle', tip,
                                                        np.array([0.03, 0.03, high])))


@pytest.fixture
def bench(panda, panda_kinematics):
    made = Bench(panda, panda_kinematics)
    yield made
    made.gate.close()


def test_the_gate_knows_what_is_held_until_the_fingers_open(bench):
    bench.gate.follow(bench.down, 'down')
    bench.take()
    assert bench.gate.held.name == 'a bottle'
    assert np.allclose(bench.gate.held.pose, np.eye(4), atol=1e-9)
    bench.gate.follow(bench.up, 'up')
    bench.take(0.17)
    with pytest.raises(ArmStoppedError, match=r'what is held \(a bottle\) to .* the table') as e:
        bench.gate.follow(bench.down, 'down')
    assert e.value.cause == 'collision'
    bench.gate.new_episode()
    assert bench.gate.held is not None, 'a new episode does not empty a hand'
    bench.gate.grip(0.08, 10.0, 'open')
    assert bench.gate.held is None
    bench.gate.follow(bench.down, 'down')


def test_fingers_that_close_to_nothing_hold_nothing(bench):
    bench.gate.grip(0.0, 10.0, 'grasp', Solid('air', np.eye(4), np.full(3, 0.05)))
    assert bench.gate.held is None


def test_what_somebody_takes_out_of_the_hand_is_not_held(bench):
    bench.take()
    bench.arm._goal_m = 0.08
    bench.arm.wait(1.0)
    assert bench.gate.held is None


def test_what_is_held_when_a_grip_is_broken_off_counts_as_held(bench):
    bench.arm.between_m = 0.03
    bench.arm.after(0.1, bench.gate.hold)
    with pytest.raises(ArmStoppedError):
        bench.take()
    assert bench.gate.held is not None


def test_what_a_broken_off_grip_took_is_let_go_by_fingers_that_open(bench):
    bench.arm.between_m = 0.03
    bench.arm.after(0.1, bench.gate.hold)
    with pytest.raises(ArmStoppedError):
        bench.take()
    for _ in range(200):  # the fingers still do what they were told
        bench.arm.wait(0.01)
        bench.gate.tick()
    assert bench.gate.held is not None
    bench.gate.new_episode()
    bench.gate.grip(0.05, 10.0, 'open a little')
    assert bench.gate.held is None


def test_fingers_that_opened_wide_hold_nothing_of_whatever_width(bench):
    bench.arm.between_m = 0.079
    bench.arm.after(0.1, bench.gate.hold)
    with pytest.raises(ArmStoppedError):
        bench.take()
    bench.gate.new_episode()
    bench.arm.between_m = 0.0
    bench.gate.grip(0.08, 10.0, 'open')
    assert bench.gate.held is None


def test_a_broken_off_grip_around_nothing_holds_nothing(bench):
    bench.arm.after(0.1, bench.gate.hold)
    with pytest.raises(ArmStoppedError):
        bench.gate.grip(0.0, 10.0, 'grasp', Solid('air', np.eye(4), np.full(3, 0.05)))
    for _ in range(200):
        bench.arm.wait(0.01)
        bench.gate.tick()
    assert bench.gate.held is None


@pytest.mark.parametrize(('halted_m', 'holds'), [(0.08, False), (0.06, False), (0.03, True)])
def test_fingers_that_a_stop_left_halfway_hold_nothing(bench, halted_m, holds):
    """The drives go off with the stop."""
    def stop():
        bench.gate.stop()
        bench.arm.grip(halted_m, 10.0)
    bench.arm.after(0.05, stop)
    with pytest.raises(ArmStoppedError):
        bench.take()
    for _ in range(200):
        bench.arm.wait(0.01)
        bench.gate.tick()
    assert (bench.gate.held is not None) is holds
    bench.gate.rearm('a person')
    bench.gate.new_episode()
    assert (bench.gate.held is not None) is holds


def test_what_is_taken_by_a_command_that_fails_counts_as_held(bench):
    """It failed after the fingers had taken it."""
    take = bench.arm.grip

    def grip(opening_m, force_n):
        take(opening_m, force_n)
        raise WorldError('the reply was lost')
    bench.arm.grip = grip
    with pytest.raises(ArmStoppedError):
        bench.take()
    for _ in range(200):
        bench.arm.wait(0.01)
        bench.gate.tick()
    assert bench.gate.held is not None


def test_what_slips_out_of_fingers_that_close_is_not_held(bench):
    bench.take()
    assert bench.gate.held is not None
    bench.arm.between_m = bench.arm._goal_m = 0.0
    bench.arm.wait(1.0)
    assert bench.gate.held is None


def test_fingers_that_open_before_a_broken_off_grip_has_ended_hold_nothing(bench):
    """Around a part of a thing that is wider than the hand."""
    tip = inverse(bench.robot.table.pose) @ bench.kinematics.fk(bench.arm.posture)
    bench.arm.between_m = 0.03
    bench.arm.after(0.3, bench.gate.hold)
    with pytest.raises(ArmStoppedError):
        bench.gate.grip(0.0, 10.0, 'grasp', Solid('a bowl', tip, np.array([0.15, 0.15, 0.05])))
    bench.gate.new_episode()
    bench.gate.grip(0.06, 10.0, 'open a little')
    assert bench.gate.held is None


def test_nothing_is_taken_where_the_arm_is_not_known_to_be(bench):
    bench.arm._measured = replace(bench.arm._measured,
                                  positions=np.full(len(bench.arm.posture), np.nan))
    with pytest.raises(ArmStoppedError, match='are not numbers') as e:
        bench.gate.grip(0.0, 10.0, 'grasp', Solid('x', np.eye(4), np.full(3, 0.05)))
    assert e.value.cause == 'stale_state'
    assert not bench.arm.sent
    assert bench.gate.held is None


def test_the_gate_tells_what_a_motion_says_is_around(bench):
    block = Solid.upright('a block', (0.0, 0.04, 0.1), (0.05, 0.05, 0.2))
    with pytest.raises(ArmStoppedError, match='a block'):
        bench.gate.follow(bench.down, 'down', Around((block,)))
    touches = (Touch(HAND, block, None),)
    bench.gate.follow(bench.down, 'down', Around((block,), touches=touches))


def test_meshes_count_as_their_convex_hulls(panda, panda_kinematics, bodies, tmp_path):
    """The hand's box as a mesh is the same body."""
    corners = np.array(list(itertools.product((-0.03, 0.03), (-0.103, 0.103), (0.0, 0.066))))
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7),
             (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    lines = [f'facet normal 0 0 0\nouter loop\n{points}\nendloop\nendfacet' for points in (
        '\n'.join(f'vertex {x} {y} {z}' for x, y, z in corners[list(face)]) for face in faces)]
    (tmp_path / 'hand.stl').write_text('\n'.join(['solid hand', *lines, 'endsolid hand']))
    box = ('<collision><origin xyz="0 0 0.033"/><geometry><box size="0.06 0.206 0.066"/>'
           '</geometry></collision>')
    text = panda.urdf.read_text()
    assert box in text
    urdf = tmp_path / 'panda.urdf'
    urdf.write_text(text.replace(box, '<collision><geometry><mesh filename="hand.stl"/>'
                                 '</geometry></collision>'))
    meshed = Bodies(replace(panda, urdf=urdf), panda_kinematics)
    expected, found = (one.distances(panda.arm.ready) for one in (bodies['panda'], meshed))
    assert found == pytest.approx(expected, abs=1e-6)
    urdf.write_text(text.replace(box, box.replace('<box size="0.06 0.206 0.066"/>',
                                                  '<mesh filename="no.stl"/>')))
    with pytest.raises(InputError, match=r'its shapes cannot be read: .*no\.stl'):
        Bodies(replace(panda, urdf=urdf), panda_kinematics)
