"""PathPlanner of an arm among blocks: room is kept, the elbow turns aside, or nothing moves."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from sightplan_arm.config import load_robot
from sightplan_arm.geometry import hand_down
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.perception import Cube
from sightplan_arm.skills.clearance import Box, Clearance
from sightplan_arm.skills.motions import (
    MotionSequence,
    NoRoomError,
    PathPlanner,
    back_from,
    first_that_works,
)
from sightplan_arm.trajectories import UnreachableError, extremes

ROBOT = load_robot('panda')
KINEMATICS = Kinematics(ROBOT)
PATHS = PathPlanner(ROBOT, KINEMATICS, 0.9)
X = ROBOT.table.column_x_m(5)


def cube(x, z=0.025, y=0.0):
    return Cube('r', 'red', np.array([x, y, z]), 0.0, 1000, 0.0, 0.0)


@pytest.mark.parametrize('hand_only', [False, True])
@pytest.mark.parametrize('name', ['panda_tabletop', 'ur5e_tabletop'])
def test_the_least_distance_is_that_of_all_pairs(name, hand_only):
    robot = load_robot(name)
    clearance, rng = Clearance(robot), np.random.default_rng(3)
    apart = 0
    for _ in range(25):
        # So near to one another that none are put between them.
        path = (robot.arm.ready + rng.normal(0, 0.2, len(robot.arm.ready))
                + rng.uniform(0, 0.03, (3, len(robot.arm.ready))))
        boxes = [Box(rng.uniform((-0.4, -0.3, 0.0), (0.4, 0.3, 0.2)), rng.uniform(0.02, 0.2, 3),
                     float(rng.uniform(-3, 3))) for _ in range(6)]
        one_by_one = min(clearance.least_m(posture[None], [box], hand_only=hand_only)
                         for posture in path for box in boxes)
        found = clearance.least_m(path, boxes, hand_only=hand_only)
        if one_by_one > 0:  # of what overlaps not the depth counts
            apart += 1
            assert found == pytest.approx(one_by_one, abs=1e-5)
            enough = 0.5 * one_by_one
            assert clearance.least_m(path, boxes, enough, hand_only=hand_only) == enough
        else:
            assert found <= 0
    assert apart > 5


def stack(column, height):
    return [cube(X[column], 0.025 + 0.05 * level) for level in range(height)]


def up(column, high=0.35):
    return (hand_down((X[column], 0, 0.025)), hand_down((X[column], 0, high)))


def test_distances_are_those_of_the_shapes():
    clearance = Clearance(ROBOT)
    posture = KINEMATICS.ik(ROBOT.table.pose @ hand_down((0.0, 0.0, 0.3)), ROBOT.arm.ready)[None]
    # The hand is 0.206 m wide along y; its underside is 0.0374 m above the tip.
    assert clearance.least_m(posture, [cube(0, 0.20)]) == pytest.approx(0.1124, abs=2e-3)
    assert clearance.least_m(posture, [cube(0, 0.34, y=0.2)]) == pytest.approx(0.072, abs=2e-3)
    assert clearance.least_m(posture, [cube(0, 0.34)]) < 0
    assert clearance.least_m(posture, [cube(0, 0.20), cube(0, 0.34)]) < 0
    assert clearance.least_m(posture, [cube(0, 0.20)], 0.05) == 0.05
    assert clearance.least_m(posture, []) == np.inf


def test_every_block_counts_however_many_there_are():
    clearance = Clearance(dataclasses.replace(
        ROBOT, table=dataclasses.replace(ROBOT.table, max_level=1)))
    posture = KINEMATICS.ik(ROBOT.table.pose @ hand_down((0.0, 0.0, 0.03)), ROBOT.arm.ready)[None]
    far = [cube(-0.4, 0.1 + 0.05 * level, y=0.1) for level in range(3)]
    assert clearance.least_m(posture, [*far, cube(0.0, 0.06)], 0.05) < 0


def test_nothing_is_jumped_over_between_two_postures():
    clearance = Clearance(ROBOT)
    ends = [KINEMATICS.ik(ROBOT.table.pose @ hand_down((x, 0.0, 0.2)), ROBOT.arm.ready)
            for x in (-0.18, 0.18)]
    blocks = [cube(0.0, 0.28)]
    assert all(clearance.least_m(q[None], blocks) > 0.05 for q in ends)
    assert clearance.least_m(np.stack(ends), blocks) < 0


@pytest.mark.parametrize(('column', 'height'), [(2, 4), (3, 4), (1, 5)])
def test_the_elbow_turns_aside_from_a_stack_in_its_way(column, height):
    blocks = stack(column - 1, height)
    low, high = up(column)
    plain = KINEMATICS.ik(ROBOT.table.pose @ low, ROBOT.arm.ready)
    way = PATHS.rise(low, high, blocks)[0]
    assert PATHS.clearance.least_m(plain[None], blocks) < PATHS.clearance.least_m(way, blocks)
    assert PATHS.clearance.least_m(way, blocks) >= 0.003
    assert np.allclose(PATHS.pose(way[0]), low, atol=1e-4)
    assert np.allclose(PATHS.pose(way[-1]), high, atol=1e-4)


def test_without_anything_in_the_way_the_first_posture_is_taken():
    low, high = up(2)
    paths = PATHS.rise(low, high, [])
    assert len(paths) == 1
    assert np.allclose(paths[0][0], KINEMATICS.ik(ROBOT.table.pose @ low, ROBOT.arm.ready))


def test_a_place_that_is_walled_in_is_refused():
    with pytest.raises(NoRoomError, match='mm from a block'):
        PATHS.rise(*up(4), stack(3, 6))
    with pytest.raises(UnreachableError, match='does not reach'):
        PATHS.rise(hand_down((1.0, 0, 0.1)), hand_down((1.0, 0, 0.2)), [])


def test_out_and_home_keep_clear_and_within_the_limits():
    blocks = [b for column in range(5) for b in stack(column, 6 if column == 1 else 1)]
    goal = PATHS.rise(*up(3), [b for b in blocks if b.centre_m[0] != X[3]])[0][-1]
    sequence = MotionSequence(PATHS, ROBOT.arm.park)
    sequence.out('approach', 'out', goal, blocks, 0.03)
    sequence.home('retreat', blocks, 0.03)
    assert np.allclose(sequence.posture, ROBOT.arm.park)
    motions = sequence.take()
    assert sequence.take() == () and {m.phase for m in motions} == {'approach', 'retreat'}
    for motion in motions:
        assert PATHS.clearance.least_m(motion.trajectory.positions, blocks) > 0.03
        found = extremes(motion.trajectory)
        assert (found.velocity <= 0.9 * ROBOT.arm.max_velocity + 1e-9).all()
        assert (found.acceleration <= 0.81 * ROBOT.arm.max_acceleration + 1e-9).all()


def test_the_way_out_is_direct_where_nothing_stands_in_it():
    goal = PATHS.rise(*up(4, high=0.2), [])[0][-1]
    direct, around = (MotionSequence(PATHS, ROBOT.arm.park) for _ in range(2))
    direct.out('approach', 'out', goal, [], 0.03)
    around.out('approach', 'out', goal, stack(2, 6), 0.03)
    assert [len(r.motions) for r in (direct, around)] == [1, 2]


def test_an_arm_without_a_spare_joint_has_one_posture_to_try():
    ur5e = load_robot('ur5e')
    paths = PathPlanner(ur5e, Kinematics(ur5e), 0.9)
    x = ur5e.table.column_x_m(3)[1]
    found = paths.rise(hand_down((x, 0, 0.025)), hand_down((x, 0, 0.3)), [])
    assert len(found) == 1
    assert np.allclose(paths.pose(found[0][0])[:3, 3], [x, 0, 0.025], atol=1e-4)


def test_robots_whose_links_have_no_shapes_are_not_kept_from_moving(tmp_path):
    text = Path(ROBOT.urdf).read_text()
    bare = tmp_path / 'bare.urdf'
    parts = text.split('<collision>')
    bare.write_text(parts[0] + ''.join(p.split('</collision>', 1)[1] for p in parts[1:]))
    clearance = Clearance(dataclasses.replace(ROBOT, urdf=str(bare)))
    assert clearance.least_m(ROBOT.arm.ready[None], stack(2, 6), 0.02) == 0.02


def test_of_several_plans_the_first_that_works_is_taken_and_the_reason_told():
    def fails(kind, text):
        def attempt():
            raise kind(text)
        return attempt
    assert first_that_works([fails(UnreachableError, 'a'), lambda: 3], 'no') == 3
    with pytest.raises(UnreachableError, match=r'no \(b\)'):
        first_that_works([fails(UnreachableError, 'a'), fails(UnreachableError, 'b')], 'no')
    with pytest.raises(NoRoomError, match=r'no \(a\)'):
        first_that_works([fails(NoRoomError, 'a'), fails(UnreachableError, 'b')], 'no')


@pytest.mark.parametrize(('reach_m', 'wanted_m'), [(0.018, 0.018), (0.15, 0.15), (9.0, 0.2)])
def test_the_lower_end_of_a_path_is_cut_off_in_small_steps(reach_m, wanted_m):
    path = PATHS.rise(hand_down((X[2], 0.0, 0.05)), hand_down((X[2], 0.0, 0.25)), [])[0]
    end, above = PATHS.cut(path, reach_m, 0.003)
    heights = PATHS.heights(end) - PATHS.heights(path)[0]
    assert heights[-1] == pytest.approx(wanted_m, abs=1e-3), 'at most all of it'
    assert np.diff(heights) == pytest.approx(0.003, abs=1e-3)
    assert (above[0] == end[-1]).all() and (above[-1] == path[-1]).all()
    assert (np.diff(PATHS.heights(above)) > 0).all()


def test_the_way_back_is_the_way_there_from_where_something_was_in_the_way():
    path = PATHS.rise(hand_down((X[2], 0.0, 0.05)), hand_down((X[2], 0.0, 0.25)), [])[0]
    sequence = MotionSequence(PATHS, path[-1] + 0.1)
    sequence.joints('approach', 'over it', path[-1])
    sequence.along('approach', 'down', path[::-1], guarded=True)
    there = sequence.take()
    met = path[1] + 0.004
    up, over = back_from(PATHS, met, there, 0.5)
    tips = [KINEMATICS.fk(posture)[:2, 3] for posture in (*up.trajectory.positions[-10:], path[0])]
    assert np.ptp(tips, axis=0) == pytest.approx(0.0, abs=1e-3), 'straight up'
    assert (np.diff(PATHS.heights(up.trajectory.positions)[1:]) > -1e-4).all()
    assert (up.trajectory.positions[0] == met).all()
    assert up.trajectory.positions[-1] == pytest.approx(path[-1])
    assert over.trajectory.positions[0] == pytest.approx(path[-1])
    assert over.trajectory.positions[-1] == pytest.approx(path[-1] + 0.1)
    assert not up.guarded and not over.guarded
