"""Frames of a robot's links."""

import numpy as np
import pytest

from sightplan_arm.config import load_robot
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.link_frames import LinkFrames


def placed(poses, link: str):
    """The pose of a link in the root."""
    found = np.eye(4)
    while link in poses:
        link, pose = poses[link]
        found = pose @ found
    return found, link


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_links_are_where_the_kinematics_of_the_arm_have_them(name: str) -> None:
    robot = load_robot(name)
    links, kinematics = LinkFrames(robot), Kinematics(robot)
    q = (robot.arm.ready + robot.arm.park) / 2 + 0.1
    poses = links.poses(dict(zip(robot.arm.joints, q, strict=True)))
    assert links.root not in poses and robot.tip_frame in poses
    for link in (robot.tip_frame, *robot.safety.checked_frames):
        pose, root = placed(poses, link)
        assert root == links.root
        np.testing.assert_allclose(pose, links.base @ kinematics.fk(q, link), atol=1e-9)


def test_the_fingers_move_with_their_joints() -> None:
    robot = load_robot('panda')
    links = LinkFrames(robot)
    closed, opened = (links.poses(dict.fromkeys(robot.gripper.joints, at)) for at in (0.0, 0.04))
    apart = [np.linalg.norm(opened[link][1][:3, 3] - closed[link][1][:3, 3])
             for link in ('panda_leftfinger', 'panda_rightfinger')]
    np.testing.assert_allclose(apart, 0.04)
