"""Kinematics: against other descriptions of the same arms, and against themselves."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
import pybullet_data
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.model import InputError
from sightplan_arm.geometry import (
    between,
    distance,
    hand_down,
    inverse,
    make_pose,
    quaternion_from_rotation,
    rotation_from_quaternion,
    rotation_from_vector,
    transform,
    vector_from_rotation,
)
from sightplan_arm.kinematics import LIMIT_ROOM_RAD, Kinematics, reach

VECTORS = st.lists(st.floats(-3, 3), min_size=3, max_size=3).map(np.array)


@given(VECTORS)
def test_rotations_there_and_back(vector):
    rotation = rotation_from_vector(vector)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    quaternion = quaternion_from_rotation(rotation)
    assert quaternion[3] >= 0
    again = rotation_from_quaternion(3 * quaternion)  # of any length
    np.testing.assert_allclose(again, rotation, atol=1e-12)
    turned = vector_from_rotation(rotation)
    assert np.linalg.norm(turned) <= math.pi + 1e-12
    np.testing.assert_allclose(rotation_from_vector(turned), rotation, atol=1e-7)


@pytest.mark.parametrize('axis', np.eye(3))
def test_half_turns(axis):
    rotation = rotation_from_vector(math.pi * axis)
    np.testing.assert_allclose(np.abs(vector_from_rotation(rotation)), math.pi * axis, atol=1e-7)


def test_between_goes_straight_and_turns_evenly():
    start = make_pose([1, 2, 3], rotation_from_vector([0.1, 0.2, 0.3]))
    end = start @ make_pose([0.3, 0, 0.4], rotation_from_vector([0, 1.2, 0]))
    assert distance(start, end) == pytest.approx((0.5, 1.2))
    assert distance(start, between(start, end, 0.25)) == pytest.approx((0.125, 0.3))
    np.testing.assert_allclose(between(start, end, 1.0), end, atol=1e-12)


@pytest.mark.parametrize('yaw', [0.0, 0.5, -2.0])
def test_hand_down(yaw):
    pose = hand_down((0.1, 0.2, 0.3), yaw)
    np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-12)
    assert np.linalg.det(pose) == pytest.approx(1)
    np.testing.assert_allclose(pose[:3, 2], [0, 0, -1])
    np.testing.assert_allclose(pose[:3, 1], [-math.sin(yaw), math.cos(yaw), 0])


def postures(robot, count, seed=0):
    return np.random.default_rng(seed).uniform(robot.arm.lower, robot.arm.upper,
                                               (count, len(robot.arm.joints)))


def test_panda_is_the_manufacturers(panda, panda_kinematics):
    """Compared with the description that PyBullet carries, made from Franka's own."""
    file = Path(pybullet_data.getDataPath()) / 'franka_panda' / 'panda.urdf'
    model = pinocchio.buildModelFromUrdf(str(file))
    data = model.createData()
    frames = [*(f'panda_link{i}' for i in range(9)), 'panda_hand', 'panda_leftfinger',
              'panda_rightfinger']
    for q in postures(panda, 30):
        pinocchio.framesForwardKinematics(model, data, np.concatenate([q, [0.0, 0.0]]))
        for frame in frames:
            theirs = data.oMf[model.getFrameId(frame)].homogeneous
            np.testing.assert_allclose(panda_kinematics.fk(q, frame), theirs, atol=1e-6)
        hand = data.oMf[model.getFrameId('panda_hand')].homogeneous
        np.testing.assert_allclose(panda_kinematics.fk(q), hand @ make_pose([0, 0, 0.1034]),
                                   atol=1e-6)


def test_limits_of_the_panda_are_the_published_ones(panda):
    model = pinocchio.buildModelFromUrdf(str(panda.urdf))
    np.testing.assert_array_equal(model.lowerPositionLimit[:7], [
        -2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
    np.testing.assert_array_equal(model.upperPositionLimit[:7], [
        2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
    np.testing.assert_array_equal(model.velocityLimit[:7], [2.175] * 4 + [2.61] * 3)


def test_ur5e_is_the_manufacturers(robots):
    """Compared with the published Denavit-Hartenberg parameters; their base looks backwards."""
    kinematics = Kinematics(robots['ur5e'])
    table = [(0.0, 0.1625, math.pi / 2), (-0.425, 0.0, 0.0), (-0.3922, 0.0, 0.0),
             (0.0, 0.1333, math.pi / 2), (0.0, 0.0997, -math.pi / 2), (0.0, 0.0996, 0.0)]
    for q in postures(robots['ur5e'], 30):
        pose = np.diag([-1.0, -1.0, 1.0, 1.0])
        for angle, (a, d, alpha) in zip(q, table, strict=True):
            pose = (pose @ make_pose([0, 0, d], rotation_from_vector([0, 0, angle]))
                    @ make_pose([a, 0, 0], rotation_from_vector([alpha, 0, 0])))
        np.testing.assert_allclose(kinematics.fk(q, 'tool0'), pose, atol=1e-9)


def test_many_at_once_are_the_same(arm):
    robot, kinematics = arm
    frames = (robot.base_frame, *robot.safety.checked_frames)
    many = postures(robot, 20)
    found = kinematics.fk_many(many, frames)
    assert found.shape == (20, len(frames), 3)
    to_table = inverse(robot.table.pose)
    for q, row in zip(many, found, strict=True):
        for frame, origin in zip(frames, row, strict=True):
            wanted = transform(to_table, kinematics.fk(q, frame)[:3, 3])
            np.testing.assert_allclose(origin, wanted, atol=1e-12)


def test_poses_are_those_of_the_base_frame(panda, panda_kinematics):
    """Also where the base is not the root of the URDF."""
    moved = Kinematics(replace(panda, base_frame='panda_hand_tcp'))
    np.testing.assert_allclose(moved.fk(np.zeros(7)), np.eye(4), atol=1e-12)
    from_tip = transform(inverse(panda.table.pose), np.zeros(3))  # the table hangs at the base
    np.testing.assert_allclose(moved.fk_many(np.zeros((1, 7)), ['panda_hand_tcp'])[0, 0], from_tip,
                               atol=1e-12)
    lifted = Kinematics(replace(panda, tip_frame='panda_hand'))
    np.testing.assert_allclose(lifted.fk(panda.arm.park) @ make_pose([0, 0, 0.1034]),
                               panda_kinematics.fk(panda.arm.park), atol=1e-12)


def test_unknown_frames(panda, panda_kinematics):
    with pytest.raises(InputError, match="no frame 'elbow'"):
        panda_kinematics.fk(panda.arm.park, 'elbow')
    with pytest.raises(InputError, match="no frame 'elbow'"):
        panda_kinematics.fk_many(panda.arm.park[None], ['elbow'])


@settings(max_examples=60, deadline=None)
@given(x=st.floats(-0.2, 0.2), y=st.floats(-0.05, 0.05), z=st.floats(0.02, 0.4),
       yaw=st.floats(-math.pi / 4, math.pi / 4))
def test_hand_down_over_the_table(arm_pair, x, y, z, yaw):
    for robot, kinematics in arm_pair:
        pose = robot.table.pose @ hand_down((x, y, z), math.pi + yaw)
        q = kinematics.ik(pose, robot.arm.ready)
        metres, radians = distance(kinematics.fk(q), pose)
        assert metres < 1e-4 and radians < math.radians(0.1)
        assert (q >= robot.arm.lower + 0.9 * LIMIT_ROOM_RAD).all()
        assert (q <= robot.arm.upper - 0.9 * LIMIT_ROOM_RAD).all()
        assert np.abs(q - robot.arm.ready).max() < 1.5  # not folded another way


@pytest.fixture(scope='module')
def arm_pair(robots):
    return [(robot, Kinematics(robot)) for robot in robots.values()]


def jacobian(kinematics, q, h=1e-6):
    """(6, N) of the tip, by differences: linear, then angular."""
    columns = []
    for step in h * np.eye(len(q)):
        before, after = kinematics.fk(q - step), kinematics.fk(q + step)
        columns.append([*(after - before)[:3, 3],
                        *vector_from_rotation(after[:3, :3] @ before[:3, :3].T)])
    return np.transpose(columns) / 2 / h


def test_the_solution_next_to_the_seed(arm):
    """Starting near one solution never ends in another: motions do not jump."""
    robot, kinematics = arm
    rng, tried = np.random.default_rng(0), 0
    for q in postures(robot, 60, seed=1):
        values = np.linalg.svd(jacobian(kinematics, q), compute_uv=False)
        if values[-1] < 0.05 or np.minimum(q - robot.arm.lower, robot.arm.upper - q).min() < 0.1:
            continue
        tried += 1
        found = kinematics.ik(kinematics.fk(q), q + rng.uniform(-0.02, 0.02, len(q)))
        assert np.abs(found - q).max() < 0.1
    assert tried > 15


def test_the_seed_does_not_matter_for_whether_something_is_found(arm):
    robot, kinematics = arm
    pose = robot.table.pose @ hand_down((0.1, 0.0, 0.2), math.pi)
    for seed in [*postures(robot, 20), np.full(len(robot.arm.joints), 100.0)]:
        q = kinematics.ik(pose, seed)
        assert distance(kinematics.fk(q), pose)[0] < 1e-4
        assert (q >= robot.arm.lower + 0.9 * LIMIT_ROOM_RAD).all()
        assert (q <= robot.arm.upper - 0.9 * LIMIT_ROOM_RAD).all()


def test_most_poses_are_found_wherever_they_are(arm):
    """Also far from the table, where neither ready nor park is a good place to start from."""
    robot, kinematics = arm
    found = [kinematics.ik(kinematics.fk(q), robot.arm.ready) for q in postures(robot, 40)]
    assert sum(q is not None for q in found) >= 38


@pytest.mark.parametrize('place', [(0.0, 0.0, 2.0), (1.5, 0.0, 0.1), (-0.35, -0.40, 0.15)])
def test_out_of_reach(arm, place):
    robot, kinematics = arm
    assert kinematics.ik(robot.table.pose @ hand_down(place), robot.arm.ready) is None


def test_limits_hold_for_solutions(panda):
    """The pose of a posture outside narrowed limits is reached another way, or not at all."""
    arm = panda.arm
    narrow = replace(panda, arm=replace(arm, lower=np.maximum(arm.lower, arm.ready - 0.2),
                                        upper=np.minimum(arm.upper, arm.ready + 0.2)))
    wide, kinematics = Kinematics(panda), Kinematics(narrow)
    answers = []
    for q in arm.ready + np.random.default_rng(0).uniform(-0.25, 0.25, (20, 7)):
        found = kinematics.ik(wide.fk(q), arm.ready)
        answers.append(found is None)
        if found is not None:
            assert (np.abs(found - arm.ready) <= 0.2 + 1e-12).all()
    assert 0 < sum(answers) < 20


def test_several_threads_at_once(arm):
    robot, kinematics = arm
    poses = [kinematics.fk(q) for q in postures(robot, 24)]

    def solve(pose):
        return kinematics.ik(pose, robot.arm.ready)

    alone = [solve(pose) for pose in poses]
    with ThreadPoolExecutor(4) as pool:
        for one, other in zip(alone, pool.map(solve, poses), strict=True):
            np.testing.assert_array_equal(one, other)


def test_every_place_is_reached(arm):
    robot, kinematics = arm
    found = reach(kinematics, robot)
    assert [(place.column, place.level) for place in found] == [
        (column, level) for column in range(5) for level in range(8)]
    assert all(place.ok for place in found), [place for place in found if not place.ok]
    assert min(place.margin for place in found) > 0.3


def test_what_is_in_the_way(panda, panda_kinematics):
    wide = replace(panda, table=replace(panda.table, spacing_m=0.5, max_columns=3))
    found = {(place.column, place.level): place for place in reach(panda_kinematics, wide)}
    assert not found[2, 0].ok and found[2, 0].problem == 'out of reach'
    assert found[1, 0].ok
    low = replace(panda, safety=replace(panda.safety, box_max_m=np.array([0.35, 0.35, 0.4])))
    tall = [place for place in reach(panda_kinematics, low) if place.level == 7]
    assert not any(place.ok for place in tall)
    assert all('panda_hand' in place.problem for place in tall)


def corners(robot, q):
    """(M, 3) corners of boxes around all shapes of a robot, in the table's frame."""
    model = pinocchio.buildModelFromUrdf(str(robot.urdf))
    shapes = pinocchio.buildGeomFromUrdf(model, str(robot.urdf), pinocchio.GeometryType.COLLISION)
    data, full = model.createData(), pinocchio.neutral(model)
    for name, angle in zip(robot.arm.joints, q, strict=True):
        full[model.joints[model.getJointId(name)].idx_q] = angle
    pinocchio.forwardKinematics(model, data, full)
    found = []
    for shape in shapes.geometryObjects:
        shape.geometry.computeLocalAABB()
        box = shape.geometry.aabb_local
        points = np.array(list(itertools.product(*zip(box.min_, box.max_, strict=True))))
        pose = data.oMi[shape.parentJoint].homogeneous @ shape.placement.homogeneous
        found.append(transform(inverse(robot.table.pose) @ pose, points))
    return np.concatenate(found)


def test_the_camera_sees_nothing_of_the_parked_arm(arm):
    robot, _ = arm
    half = np.array([320.0, 240.0]) / (240 / math.tan(math.radians(12)))

    def outside(q):
        seen = transform(inverse(robot.camera.pose), corners(robot, q))
        assert (seen[:, 2] > 0.1).any()
        beside = np.abs(seen[:, :2]) - half * seen[:, 2:]  # [m]
        return float(np.where(seen[:, 2] > 0, beside.max(axis=1), np.inf).min())

    assert outside(robot.arm.park) > 0.05
    low = Kinematics(robot).ik(robot.table.pose @ hand_down((0, 0, 0.1), math.pi), robot.arm.ready)
    assert outside(low) < 0


def test_the_parked_arm_is_in_the_workspace(arm):
    robot, kinematics = arm
    both = np.stack([robot.arm.park, robot.arm.ready])
    origins = kinematics.fk_many(both, robot.safety.checked_frames)
    assert (origins > robot.safety.box_min_m + 0.02).all()
    assert (origins < robot.safety.box_max_m - 0.02).all()
