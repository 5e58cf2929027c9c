"""Which plan of a move is taken: the first that works, or the one that turns the joints least."""

import numpy as np
import pytest

from sightplan.model import InputError, check_settings
from sightplan_arm.config import load_robot
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.perception import Cube
from sightplan_arm.skills import transport
from sightplan_arm.skills.blocksworld import MovePlanner, SkillSettings, Task
from sightplan_arm.skills.motions import NoRoomError, all_that_work, turning_rad
from sightplan_arm.trajectories import UnreachableError

ROBOT = load_robot('panda')
KINEMATICS = Kinematics(ROBOT)
X = ROBOT.table.column_x_m(4)


def cube(x, level=0, yaw=0.0):
    return Cube('r', 'red', np.array([x, 0.0, 0.025 + 0.05 * level]), yaw, 1000, 0.0, 0.0)


def task(source, target, yaw=0.4):
    others = (cube(X[1]), cube(X[1], 1))
    return Task('r', 'c', cube(X[source], yaw=yaw), np.array([X[target], 0.0, 0.025]), 0, others)


def planner(**settings):
    return MovePlanner(ROBOT, KINEMATICS, SkillSettings(**settings))


def turning(moves):
    return turning_rad((*moves.fetch, *moves.bring, *moves.leave))


@pytest.mark.parametrize(('source', 'target', 'yaw'), [(0, 3, 0.4), (3, 0, -0.4), (2, 3, 0.6)])
def test_the_smooth_plan_turns_the_joints_less(source, target, yaw):
    wanted = task(source, target, yaw)
    first, smooth = (planner(choice=choice).plan(wanted) for choice in ('first', 'smooth'))
    assert turning(smooth) < 0.8 * turning(first)
    assert [motion.phase for motion in smooth.all] == [motion.phase for motion in first.all]
    tips = [KINEMATICS.fk(moves.fetch[-1].trajectory.positions[-1]) for moves in (first, smooth)]
    assert np.allclose(tips[0][:3, 3], tips[1][:3, 3], atol=1e-4)  # both take the same block


def test_the_first_plan_is_the_default():
    wanted = task(0, 3)
    same = [turning(planner(**settings).plan(wanted)) for settings in ({}, {'choice': 'first'})]
    assert same[0] == same[1]
    with pytest.raises(InputError, match='choice'):
        check_settings(SkillSettings(choice='fast'))


def test_room_that_is_needed_comes_before_smoothness(monkeypatch):
    """The smoother of two plans passes at 5 mm from a block; then both have room."""
    smooth = planner(choice='smooth')
    wanted = task(0, 3)
    best = smooth.plan(wanted)
    near = best.fetch[-1].trajectory.positions

    def least_m(path, blocks, enough_m=np.inf, **_):
        return min(0.005, enough_m) if np.array_equal(path, near) else enough_m

    monkeypatch.setattr(smooth._transports._paths.clearance, 'least_m', least_m)
    assert turning(smooth.plan(wanted)) > turning(best)
    near = None
    assert turning(smooth.plan(wanted)) == turning(best)


def test_all_that_work_are_found_and_without_any_the_reason_is_told():
    def fails(kind, text):
        def attempt():
            raise kind(text)
        return attempt

    broken = fails(UnreachableError, 'a')
    assert all_that_work([broken, lambda: 3, broken, lambda: 4, broken], 'no') == [3, 4]
    with pytest.raises(NoRoomError, match=r'no \(b\)'):
        all_that_work([broken, fails(NoRoomError, 'b')], 'no')


def test_a_place_out_of_reach_is_refused_either_way(monkeypatch):
    monkeypatch.setattr(transport, '_HALF_A_TURN', np.eye(4))
    far = Task('r', 'c', cube(X[0]), np.array([3.0, 0.0, 0.025]), 0, ())
    for choice in ('first', 'smooth'):
        with pytest.raises(UnreachableError, match='cannot be brought to c'):
            planner(choice=choice).plan(far)
