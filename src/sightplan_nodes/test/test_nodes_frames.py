"""Frames of cameras, tables and arms, as tf2 gets them."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from geometry_msgs.msg import PoseWithCovarianceStamped, TransformStamped
from rclpy.node import Node
from sightplan_interfaces.srv import LoadProblem
from std_msgs.msg import String

from nodes_testing import ScriptedWorld, eventually, parameters, problem, spinning
from sightplan.records import messages
from sightplan_arm.config import load_robot
from sightplan_arm.geometry import rotation_from_quaternion
from sightplan_nodes import names, qos
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.frames import EXACT, camera_from_msg, prefix_of
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.world_node import WorldNode

POSE = np.array([[0.0, 0.0, 1.0, 1.5], [-1.0, 0.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.7],
                 [0.0, 0.0, 0.0, 1.0]])


class Listener:
    """Takes the place of the publishers of a node's frames, also where tf2_msgs is missing."""

    def __init__(self, node: WorldNode) -> None:
        self.moving: list[TransformStamped] = []
        self.fixed: list[TransformStamped] = []
        frames = node.frames
        frames._type = SimpleNamespace
        frames._moving_pub, frames._fixed_pub = (SimpleNamespace(
            publish=lambda message, sink=sink: sink.extend(message.transforms),
            get_subscription_count=lambda: 1) for sink in (self.moving, self.fixed))

    def pose(self, child: str) -> tuple[str, np.ndarray]:
        """The parent of a frame, and its newest pose in the parent."""
        found = next(one for one in reversed([*self.moving, *self.fixed])
                     if one.child_frame_id == child)
        at, turned = found.transform.translation, found.transform.rotation
        pose = np.eye(4)
        pose[:3, :3] = rotation_from_quaternion([turned.x, turned.y, turned.z, turned.w])
        pose[:3, 3] = at.x, at.y, at.z
        return found.header.frame_id, pose


class PosedWorld(ScriptedWorld):
    def camera_pose(self) -> np.ndarray:
        return POSE


@pytest.mark.parametrize(('namespace', 'prefix'), [
    ('/', ''), ('/left', 'left/'), ('/hall/left', 'hall/left/'), ('/hardware', ''),
    ('/left/hardware', 'left/')])
def test_frames_of_a_graph_bear_its_namespace(namespace: str, prefix: str) -> None:
    assert prefix_of(namespace) == prefix


def test_each_picture_comes_with_where_its_camera_hangs() -> None:
    node = SimBridge(make_world=lambda domain, options: PosedWorld(), namespace='/left')
    listener = Listener(node)
    pictures: list = []
    poses: list[PoseWithCovarianceStamped] = []
    client = Node('client')
    client.create_subscription(node.image_pub.msg_type, '/left/camera/image_raw', pictures.append,
                               qos.SENSOR)
    client.create_subscription(PoseWithCovarianceStamped, '/left/camera/pose', poses.append,
                               qos.LATCHED)
    domain, first = problem()
    with spinning(node, client):
        node.build(LoadProblem.Request(
            episode_id='e', domain='blocksworld', problem=first.name, domain_pddl=domain.pddl,
            problem_pddl=domain.write_problem(first)))()
        eventually(lambda: pictures and poses, 'a picture and the pose of its camera')
    assert poses[0].header.frame_id == 'left/world'
    camera = camera_from_msg(poses[0])
    np.testing.assert_allclose(camera.pose, POSE, atol=1e-12)
    np.testing.assert_allclose(camera.covariance, EXACT)
    since_ns = messages.time_from_msg(poses[0].header.stamp)
    assert 0 < since_ns <= messages.time_from_msg(pictures[0].header.stamp)
    frame = pictures[-1].header.frame_id
    assert frame == 'left/scripted_frame'
    parent, pose = listener.pose(frame)
    assert parent == 'left/world'
    np.testing.assert_allclose(pose, POSE, atol=1e-12)
    assert messages.time_from_msg(pictures[0].header.stamp) in {
        messages.time_from_msg(one.header.stamp) for one in listener.moving}


def test_a_simulated_arm_says_where_it_and_its_links_are() -> None:
    node = SimBridge(parameter_overrides=parameters(
        execution='arm', frame_prefix='my_',
        world_options='calibration_error_mm=3,calibration_error_deg=0.6'))
    listener, described = Listener(node), []
    client = Node('client')
    poses: list[PoseWithCovarianceStamped] = []
    client.create_subscription(PoseWithCovarianceStamped, names.CAMERA_POSE, poses.append,
                               qos.LATCHED)
    client.create_subscription(String, names.ROBOT_DESCRIPTION, described.append, qos.LATCHED)
    robot = load_robot('panda')
    with spinning(node, client):
        node._world('blocksworld')
        eventually(lambda: described and listener.moving and poses, 'links and description')
    assert poses[0].header.frame_id == 'my_table'
    camera = camera_from_msg(poses[0])
    np.testing.assert_allclose(camera.pose, robot.camera.pose, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(camera.covariance)), [
        *[0.003 / 3**0.5] * 3, *[math.radians(0.6) / 3**0.5] * 3], rtol=1e-6)
    urdf = ElementTree.fromstring(described[0].data)
    links = {f'my_{link.get("name")}' for link in urdf.findall('link')}
    children = {one.child_frame_id for one in listener.moving}
    assert links - children == {'my_panda_link0'}
    base, table = listener.pose('my_table')
    world, stands = listener.pose('my_panda_link0')
    assert (base, world) == ('my_panda_link0', 'my_world')
    np.testing.assert_allclose(stands @ table, np.eye(4), atol=1e-9)
    parent, pose = listener.pose('my_camera_optical_frame')
    assert parent == 'my_table'
    np.testing.assert_allclose(pose, robot.camera.pose, atol=1e-9)


@pytest.mark.parametrize(('hardware', 'frames'), [
    ('real', {'table', 'calibrated_camera_optical_frame'}), ('simulated', set())])
def test_a_real_arm_leaves_its_links_to_its_drivers(hardware: str, frames: set[str],
                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    fixed: dict = {}
    monkeypatch.setattr('sightplan_nodes.frames.Frames.fix',
                        lambda self, poses: fixed.update(poses))
    node = ArmBridge(parameter_overrides=parameters(hardware=hardware, latch_file='none'))
    with spinning(node):
        assert fixed.keys() == frames
        assert bool(node.count_publishers(names.ROBOT_DESCRIPTION)) == (hardware == 'simulated')


@pytest.mark.parametrize('hardware', ['real', 'simulated'])
def test_the_pose_of_an_arms_camera_has_the_covariance_of_the_robots_file(
        hardware: str, tmp_path: Path) -> None:
    file, covariance = tmp_path / 'mine.yaml', np.diag([0.01, 0.02, 0.03, 0.04, 0.05, 0.06])
    text = load_robot('panda').file.read_text()
    assert 'pose_covariance: null' in text
    found = []
    for known in (False, True):
        file.write_text(text.replace('pose_covariance: null',
                                     f'pose_covariance: {covariance.tolist()}') if known else text)
        node = ArmBridge(parameter_overrides=parameters(
            hardware=hardware, latch_file='none', robot=str(file)))
        client, poses = Node('client'), []
        client.create_subscription(PoseWithCovarianceStamped, names.CAMERA_POSE, poses.append,
                                   qos.LATCHED)
        with spinning(node, client):
            eventually(lambda heard=poses: heard, 'the pose of the camera')
        found.append(camera_from_msg(poses[0]))
        assert poses[0].header.frame_id == 'table'
        assert found[-1].pose == pytest.approx(load_robot('panda').camera.pose, abs=1e-9)
    assert found[0].covariance is None
    np.testing.assert_allclose(found[1].covariance, covariance)


@pytest.mark.skipif(importlib.util.find_spec('tf2_msgs') is None,
                    reason='tf2_msgs is neither installed nor built')
def test_tf2_gets_what_is_fixed_also_late() -> None:
    from tf2_msgs.msg import TFMessage
    node = ArmBridge(parameter_overrides=parameters(latch_file='none'))
    got: list[TFMessage] = []
    client = Node('client')
    with spinning(node, client):
        client.create_subscription(TFMessage, names.TF_STATIC, got.append, qos.LATCHED)
        eventually(lambda: got, 'the fixed frames')
    assert {one.child_frame_id for one in got[0].transforms} == {
        'table', 'calibrated_camera_optical_frame'}
