"""Arm and camera behind ROS drivers: names, clocks, stamps, topics and actions."""

from __future__ import annotations

import dataclasses
import itertools
import re
import sys
import threading
import time
import types
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo, Image
from sensor_msgs.msg import JointState as JointStateMsg
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan.model import DeadlineError, InputError, SightplanError, WorldError
from sightplan.records.messages import raw_stamp_ns
from sightplan_arm.config import load_robot
from sightplan_arm.hardware import Arm, Camera, JointTrajectory
from sightplan_arm.trajectories import stopping
from sightplan_nodes import conversions, names, qos, ros_arm
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.ros_arm import (
    ACTION,
    AUTO,
    REPEATED_S,
    TOPIC,
    RosArm,
    RosCamera,
    choose_interface,
)

PANDA = load_robot('panda')
BY_ACTION = dataclasses.replace(
    PANDA, arm=dataclasses.replace(PANDA.arm, interface=ACTION),
    gripper=dataclasses.replace(PANDA.gripper, interface=ACTION))
JOINTS = [*PANDA.arm.joints, *PANDA.gripper.joints]


@pytest.fixture
def arm():
    node = Node('bridge')
    with spinning(node):
        yield RosArm(node, PANDA)


def states(stamp_s: float, joints=JOINTS, positions=None, velocities=None) -> JointStateMsg:
    positions = list(np.arange(len(joints)) * 0.01) if positions is None else positions
    return JointStateMsg(header=MESSAGES.header(round(stamp_s * 1e9)), name=list(joints),
                         position=positions, velocity=velocities or [])


def test_joints_come_in_the_order_of_the_robot(arm) -> None:
    assert isinstance(arm, Arm)
    assert (arm.state(), arm.state_age_s(), arm.now_s()) == (None, np.inf, 0.0)
    assert 'no joint states come on' in arm.missing()
    backwards = ['elbow', *reversed(JOINTS)]
    began_s = time.monotonic()
    arm._take(states(5.0, backwards, [9.0, 0.03, 0.03, *range(7, 0, -1)],
                     [9.0, 0.0, 0.0, *[0.1 * k for k in range(7, 0, -1)]]))
    state = arm.state()
    assert state.positions.tolist() == [1, 2, 3, 4, 5, 6, 7]
    np.testing.assert_allclose(state.velocities, 0.1 * np.arange(1, 8))
    assert (state.stamp_s, round(state.opening_m, 9)) == (5.0, 0.06)
    assert arm.missing() == ''
    assert 5.0 <= arm.now_s() <= 5.0 + time.monotonic() - began_s


def test_joints_may_come_apart_and_missing_ones_are_named(arm) -> None:
    arm._take(states(1.0, JOINTS[2:]))
    assert arm.state() is None
    assert 'have no panda_joint1, panda_joint2 (they have panda_finger_joint1' in arm.missing()
    arm._take(states(1.5, JOINTS[:2]))
    assert arm.state().stamp_s == 1.0, 'as old as its oldest joint'


def test_a_position_that_is_no_number_is_named(arm) -> None:
    arm._take(states(1.0, positions=[float('nan'), *[0.0] * 8]))
    assert arm.state() is None
    assert arm.missing() == ('the joint states on joint_states have no number as the position of '
                             'panda_joint1: see to the driver')
    arm._take(states(1.1, JOINTS[1:]))
    arm._take(states(1.2))
    assert arm.missing() == ''


def test_joint_states_count_from_when_they_came_here(arm) -> None:
    arm._take(states(1.0), 0.15)
    assert 0.15 <= arm.state_age_s() < LIMIT_S
    assert arm.now_s() >= 1.1, 'as long as it may be guessed'
    arm._take(states(1.01), 0.0)
    came_s = arm._came_s
    arm._take(states(1.02), 0.2)
    assert arm._came_s >= came_s, 'the clock was set: none came before the last'
    arm._take(states(0.0), 0.1)
    assert time.monotonic() - arm.state().stamp_s >= 0.1


def test_who_repeats_himself_measures_no_more(arm) -> None:
    arm._take(states(1.0))
    first = arm._came_s
    time.sleep(0.02)
    arm._take(states(1.0))
    assert arm._came_s == first
    assert arm.state_age_s() >= 0.02
    arm._take(states(1.01))
    assert arm._came_s > first
    arm._take(states(0.99))
    assert arm.state().stamp_s == 1.01, 'late ones are not taken'
    began_s = time.monotonic()
    arm._take(states(0.001))
    assert arm.state().stamp_s == pytest.approx(0.001), 'a driver that was started anew'
    assert arm.now_s() <= 0.001 + time.monotonic() - began_s


def test_speeds_are_told_or_found(arm) -> None:
    arm._take(states(1.0, positions=[0.0] * 9))
    arm._take(states(1.1, positions=[0.05] * 9))
    np.testing.assert_allclose(arm.state().velocities, 0.5)
    arm._take(states(1.1002, positions=[0.0503] * 9))
    np.testing.assert_allclose(arm.state().velocities, 0.5, err_msg='too soon after the last')
    arm._take(states(1.2, positions=[float('nan')] * 9))
    assert arm.state().stamp_s == 1.1002, 'no measurement'


def test_stamps_of_zero_stand_for_the_time_of_arrival(arm) -> None:
    arm._take(states(0.0))
    arm._take(states(0.0, positions=[0.5] * 9))
    assert arm.state().positions[0] == 0.5
    assert arm.state().stamp_s == pytest.approx(time.monotonic(), abs=LIMIT_S)


def test_waiting_follows_the_clock_of_the_arm_and_ends_without_it(arm) -> None:
    arm._take(states(1.0))
    done = threading.Event()
    threading.Thread(target=lambda: (arm.wait(0.05), done.set()), daemon=True).start()
    assert done.wait(LIMIT_S), 'also if no measurement comes any more'


class Controller:
    """Listens on the controllers' topics."""

    def __init__(self) -> None:
        self.node = Node('controller')
        self.arm: list[JointTrajectoryMsg] = []
        self.fingers: list[JointTrajectoryMsg] = []
        for topic, sink in ((PANDA.arm.trajectory_topic, self.arm),
                            (PANDA.gripper.trajectory_topic, self.fingers)):
            self.node.create_subscription(JointTrajectoryMsg, topic, sink.append, qos.COMMANDS)


def motion() -> JointTrajectory:
    return JointTrajectory(np.array([0.0, 0.5, 1.25]), np.arange(21.0).reshape(3, 7),
                           np.array([[0.0] * 7, [0.5] * 7, [0.0] * 7]))


def test_commands_go_to_the_controllers_topics() -> None:
    node, controller = Node('bridge'), Controller()
    arm = RosArm(node, PANDA)
    with spinning(node, controller.node):
        eventually(lambda: node.count_subscribers(PANDA.arm.trajectory_topic) == 1
                   and node.count_subscribers(PANDA.gripper.trajectory_topic) == 1)
        arm.command(motion())
        arm.grip(0.04, 10.0)
        eventually(lambda: controller.arm and controller.fingers)
    sent, = controller.arm
    assert list(sent.joint_names) == list(PANDA.arm.joints)
    assert sent.header.stamp.sec == 0, 'now'
    assert [(p.time_from_start.sec, p.time_from_start.nanosec) for p in sent.points] == [
        (0, 0), (0, 500_000_000), (1, 250_000_000)]
    assert [list(p.positions) for p in sent.points] == motion().positions.tolist()
    assert [list(p.velocities) for p in sent.points] == motion().velocities.tolist()
    fingers, = controller.fingers
    assert list(fingers.points[0].positions) == [0.02, 0.02], 'each moves by half'
    assert not fingers.points[0].effort, 'controllers refuse trajectories with efforts'


def test_braking_begins_where_the_controller_has_the_arm() -> None:
    """Which is not where the gate has it: the message was under way, too."""
    node, controller = Node('bridge'), Controller()
    arm = RosArm(node, PANDA)
    brake = stopping(np.zeros(7), np.full(7, 0.5), PANDA.arm.stop_acceleration)
    with spinning(node, controller.node):
        eventually(lambda: node.count_subscribers(PANDA.arm.trajectory_topic) == 1)
        arm.command(brake)
        eventually(lambda: bool(controller.arm))
    points = controller.arm[0].points
    assert len(points) == len(brake.times_s) - 1
    assert points[0].time_from_start.nanosec > 10_000_000
    assert list(points[-1].positions) == brake.positions[-1].tolist()
    assert not any(points[-1].velocities)


def test_a_controller_that_is_not_there_is_named() -> None:
    node = Node('bridge')
    arm = RosArm(node, PANDA)
    with spinning(node):
        with pytest.raises(WorldError, match='no controller listens on .*joint_trajectory'):
            arm.command(motion())
        with pytest.raises(WorldError, match='hand_controller'):
            arm.grip(0.0, 1.0)


# Where control_msgs is installed; here a stand-in takes its place, whose client accepts, refuses
# or gives up what it is told to. What the real action does on the wire is not tried.

class Handle:
    def __init__(self, accepted: bool, status: int, stalled: bool) -> None:
        self.accepted, self._status = accepted, status
        self._result = SimpleNamespace(stalled=stalled, error_string='a joint is stuck')

    def get_result_async(self):
        return Done(SimpleNamespace(status=self._status, result=self._result))


class Done:
    def __init__(self, value: object) -> None:
        self._value = value

    def add_done_callback(self, callback) -> None:
        callback(self)

    def result(self) -> object:
        if isinstance(self._value, Exception):
            raise self._value
        return self._value


class Client:
    ready, accepted, status, stalled, broken = True, True, 4, False, None
    goals: ClassVar[list[tuple[str, object]]] = []
    made: ClassVar[list[str]] = []

    def __init__(self, node, kind, name, callback_group) -> None:
        self.name = name
        self.made.append(name)

    def server_is_ready(self) -> bool:
        return type(self).ready

    def send_goal_async(self, goal):
        self.goals.append((self.name, goal))
        return Done(self.broken or Handle(self.accepted, self.status, self.stalled))


@pytest.fixture
def control(monkeypatch):
    class Goal:
        def __init__(self, trajectory: object = None) -> None:
            self.trajectory, self.command = trajectory, SimpleNamespace()
    package, actions = types.ModuleType('control_msgs'), types.ModuleType('control_msgs.action')
    for name in ('FollowJointTrajectory', 'GripperCommand'):
        setattr(actions, name, SimpleNamespace(Goal=Goal))
    monkeypatch.setitem(sys.modules, 'control_msgs', package)
    monkeypatch.setitem(sys.modules, 'control_msgs.action', actions)
    client = type('Client', (Client,), {'goals': [], 'made': []})
    monkeypatch.setattr(ros_arm, 'ActionClient', client)
    return client


def test_which_interface() -> None:
    assert choose_interface(AUTO, 'arm', 'f') == TOPIC, 'control_msgs is not installed here'
    assert choose_interface(TOPIC, 'arm', 'f') == TOPIC
    with pytest.raises(InputError, match='panda.yaml: gripper: interface: action needs'):
        choose_interface(ACTION, 'gripper', 'panda.yaml')


def test_which_interface_with_control_msgs(control) -> None:
    assert choose_interface(AUTO, 'gripper', 'f') == ACTION
    assert choose_interface(AUTO, 'arm', 'f', TOPIC) == TOPIC
    assert choose_interface(TOPIC, 'arm', 'f') == TOPIC
    assert choose_interface(ACTION, 'arm', 'f', TOPIC) == ACTION


def test_by_itself_the_arm_is_commanded_by_its_topic(control) -> None:
    node = Node('bridge')
    assert (PANDA.arm.interface, PANDA.gripper.interface) == (AUTO, AUTO)
    RosArm(node, PANDA)
    assert node.count_publishers(PANDA.arm.trajectory_topic) == 1
    assert node.count_publishers(PANDA.gripper.trajectory_topic) == 0
    assert control.made == [PANDA.gripper.action]
    node.destroy_node()


def test_commands_go_to_the_controllers_actions(control) -> None:
    node = Node('bridge')
    arm, said = RosArm(node, BY_ACTION), []
    arm.on_trouble = said.append
    with spinning(node):
        arm.command(motion())
        arm.grip(0.04, 10.0)
        eventually(lambda: len(control.goals) == 2)
        (first, goal), (second, squeeze) = sorted(control.goals, key=lambda sent: sent[0])
        assert (first, second) == (PANDA.arm.trajectory_action, PANDA.gripper.action)
        assert [list(p.positions) for p in goal.trajectory.points] == motion().positions.tolist()
        assert (squeeze.command.position, squeeze.command.max_effort) == (0.02, 10.0)
        assert said == []
        control.accepted = False
        arm.command(motion())
        eventually(lambda: len(said) == 1)
        assert 'refused a goal of panda_arm_controller' in said[0]
        control.accepted, control.status = True, 6
        arm.command(motion())
        eventually(lambda: len(said) == 2)
        assert 'gave up' in said[1] and 'a joint is stuck' in said[1]
        control.stalled = True
        count = len(control.goals)
        arm.grip(0.0, 10.0)
        eventually(lambda: len(control.goals) == count + 1)
        assert len(said) == 2, 'fingers that close on a thing stall'
        control.broken = RuntimeError('the server has gone')
        arm.command(motion())
        eventually(lambda: len(said) == 3)
        assert 'did not answer a goal of panda_arm_controller' in said[2]
        assert 'the server has gone' in said[2]
        control.ready = False
        with pytest.raises(WorldError, match='no controller serves the action panda_arm'):
            arm.command(motion())


@pytest.mark.parametrize('change', [
    {'status': 6}, {'accepted': False}, {'broken': RuntimeError('gone')}])
def test_what_becomes_of_the_fingers_is_a_warning_and_no_trouble(control, change: dict) -> None:
    node, warned = Node('bridge'), []
    logger = SimpleNamespace(warning=warned.append, error=print)
    node.get_logger = lambda: logger
    arm, said = RosArm(node, BY_ACTION), []
    arm.on_trouble = said.append
    for name, value in change.items():
        setattr(control, name, value)
    with spinning(node):
        arm.grip(0.04, 10.0)
        eventually(lambda: len(warned) == 1)
    assert PANDA.gripper.action in warned[0]
    assert said == []


def test_a_wrong_name_is_answered_with_those_that_there_are() -> None:
    node, controller = Node('bridge'), Controller()
    wrong = dataclasses.replace(PANDA.arm, trajectory_topic='arm_controller/joint_trajectory')
    arm = RosArm(node, dataclasses.replace(PANDA, arm=wrong))
    controller.node.create_service(Trigger, 'other_controller/follow/_action/send_goal',
                                   lambda request, response: response)
    with spinning(node, controller.node):
        eventually(lambda: node.count_subscribers(PANDA.arm.trajectory_topic) == 1)
        with pytest.raises(WorldError, match='no controller listens on /arm_controller/'
                           '.*correct the robot file.* the topic /panda_arm_controller/joint_tr'
                           ) as caught:
            arm.command(motion())
        assert 'other_controller' not in str(caught.value), 'it is an action of another kind'


def test_simulated_hardware_is_commanded_by_topics(control) -> None:
    node = Node('bridge')
    RosArm(node, PANDA, names.SIMULATED)
    assert node.count_publishers(f'/{names.HARDWARE}/{PANDA.arm.trajectory_topic}') == 1
    node.destroy_node()


# The camera.

class Eye:
    """A camera's driver, and the camera that listens to it."""

    def __init__(self, **changes: object) -> None:
        self.node = Node('bridge')
        self.relayed: list[str] = []
        config = dataclasses.replace(PANDA.camera, **changes)
        self.data = b''
        self.camera = RosCamera(self.node, config, relay=self.relay)
        self.publishers = {
            part: self.node.create_publisher(kind, getattr(config, part), qos.DRIVER)
            for part, kind in (('image', Image), ('info', CameraInfo), ('depth', Image))}

    def relay(self, part: str, data: bytes) -> None:
        self.relayed.append(part)
        self.data = data

    def show(self, part: str, stamp_ns: int, value: int = 7, **fields: object) -> None:
        head = MESSAGES.header(stamp_ns, 'eye')
        if part == 'image':
            message = MESSAGES.image_to_msg(np.full((4, 6, 3), value, np.uint8), stamp_ns)
        elif part == 'info':
            message = CameraInfo(header=head, k=[5.0, 0.0, 2.5, 0.0, 5.0, 1.5, 0.0, 0.0, 1.0],
                                 d=[0.1, 0.2, 0.0, 0.0, 0.3])
        else:
            message = conversions.depth_to_msg(np.full((4, 6), 0.5, np.float32), stamp_ns)
        for name, changed in fields.items():
            setattr(message, name, changed)
        self.publishers[part].publish(message)

    def shoot(self, stamp_ns: int, value: int = 7, late_ns: int = 0) -> None:
        self.show('info', stamp_ns)
        self.show('depth', stamp_ns + late_ns)
        self.show('image', stamp_ns, value)

    @property
    def kept(self) -> dict[str, int]:
        return {part: len(kept) for part, kept in self.camera._kept.items()}


@pytest.fixture
def eye():
    made = Eye()
    with spinning(made.node):
        yield made


def looked(eye: Eye) -> list:
    found: list = []
    threading.Thread(target=lambda: found.append(eye.camera.observe(LIMIT_S)), daemon=True).start()
    return found


def test_a_look_shows_what_was_taken_after_it_began(eye: Eye) -> None:
    assert isinstance(eye.camera, Camera)
    assert eye.camera.image_age_s() == np.inf
    assert 'camera/image_raw' in eye.camera.missing()
    eye.shoot(10**9, 1)
    eventually(lambda: eye.kept == {'image': 1, 'info': 1, 'depth': 1})
    assert eye.camera.missing() == ''
    assert eye.camera.image_age_s() < LIMIT_S
    found = looked(eye)
    time.sleep(0.05)
    eye.shoot(10**9 + 20_000_000, 2)  # may have been on its way when the look began
    eventually(lambda: eye.kept['image'] == 2)
    assert found == []
    eye.shoot(60 * 10**9, 3)
    eventually(lambda: bool(found))
    picture = found[0]
    assert (picture.rgb[0, 0, 0], picture.stamp_ns) == (3, 60 * 10**9)
    assert picture.depth_m.shape == (4, 6) and picture.depth_m[0, 0] == 0.5
    assert picture.matrix[0, 2] == 2.5
    assert picture.distortion.tolist() == [0.1, 0.2, 0.0, 0.0, 0.3]
    assert {'image', 'info', 'depth'} == set(eye.relayed)


def test_pictures_of_before_a_driver_began_anew_are_not_shown(eye: Eye) -> None:
    eye.shoot(500 * 10**9, 1)
    eventually(lambda: eye.kept['depth'] == 1)
    eye.shoot(10**9, 2)  # its clock began anew
    eventually(lambda: eye.camera._newest is not None and eye.camera._newest[0] == 10**9)
    found = looked(eye)
    time.sleep(0.3)
    assert found == []
    eye.shoot(3 * 10**9, 3)
    eventually(lambda: bool(found))
    assert found[0].rgb[0, 0, 0] == 3


def test_images_and_depth_of_one_time_belong_together(eye: Eye) -> None:
    found = looked(eye)
    eye.shoot(10**9, 1, late_ns=21_000_000)
    eventually(lambda: eye.kept['image'] == 1)
    time.sleep(0.05)
    assert found == [], 'the depth is of another time'
    eye.shoot(2 * 10**9, 2, late_ns=19_000_000)
    eventually(lambda: bool(found))
    assert found[0].stamp_ns == 2 * 10**9


def test_a_slow_camera_may_be_further_apart() -> None:
    node = Node('bridge')
    camera = RosCamera(node, PANDA.camera)
    for k in range(4):
        camera._kept['image'][k * 100_000_000] = (b'', 0.0)
    assert camera._reach_ns() == 60_000_000
    camera._kept['image'][5] = (b'', 0.0)  # its clock began anew
    assert camera._reach_ns() == 60_000_000
    node.destroy_node()


def shown(eye: Eye, show, limit_s: float = LIMIT_S) -> object:
    """What a look finds, or raises, while a driver shows something again and again."""
    found: list[object] = []

    def look() -> None:
        try:
            found.append(eye.camera.observe(limit_s))
        except SightplanError as error:
            found.append(error)
    thread = threading.Thread(target=look)
    thread.start()
    while thread.is_alive():
        show(time.time_ns())
        time.sleep(0.05)
    return found[0]


def test_one_calibration_is_enough_if_it_is_of_the_pictures_size(eye: Eye) -> None:
    eye.show('info', 5, width=6, height=4, d=[0.5] * 5)
    eye.show('info', 3, width=6, height=4)
    eye.show('info', 7, width=640, height=480)
    eventually(lambda: eye.kept['info'] == 3)

    def show(stamp_ns: int) -> None:
        eye.show('depth', stamp_ns)
        eye.show('image', stamp_ns)
    picture = shown(eye, show)
    assert picture.distortion.tolist() == [0.1, 0.2, 0.0, 0.0, 0.3], 'the newest of that size'


@pytest.mark.parametrize(('info', 'words'), [
    ({'width': 640, 'height': 480}, 'is for 640 x 480 pixels, camera/image_raw 6 x 4'),
    ({'distortion_model': 'equidistant', 'd': [0.1] * 4},
     'distortion_model: equidistant is not supported .only plumb_bob and rational_polynomial.'),
    ({'d': [0.1] * 6}, 'd: 6 coefficients'),
    ({'d': [float('nan')] * 5}, 'd: not all of its numbers are finite')])
def test_calibrations_that_cannot_be_used_are_named(eye: Eye, info: dict, words: str) -> None:
    def show(stamp_ns: int) -> None:
        eye.show('info', stamp_ns, **info)
        eye.show('depth', stamp_ns)
        eye.show('image', stamp_ns)
    error = shown(eye, show)
    assert isinstance(error, InputError)
    assert re.search(words, str(error))


@pytest.mark.parametrize(('model', 'd'), [
    ('rational_polynomial', [.46, -2.7, .0003, -.0002, 1.6, .34, -2.5, 1.5]),
    ('rational_polynomial', [0.01 * k for k in range(14)]), ('plumb_bob', [0.1, 0.2, 0.3, 0.4]),
    ('', [])])
def test_all_coefficients_of_a_lens_are_kept(eye: Eye, model: str, d: list[float]) -> None:
    def show(stamp_ns: int) -> None:
        eye.show('info', stamp_ns, distortion_model=model, d=d)
        eye.show('depth', stamp_ns)
        eye.show('image', stamp_ns)
    assert shown(eye, show).distortion.tolist() == (d or [0.0] * 5)


def test_pictures_without_stamps_have_the_time_of_their_arrival(eye: Eye) -> None:
    def show(stamp_ns: int) -> None:
        eye.shoot(0)
    began_ns = time.monotonic_ns()
    picture = shown(eye, show)
    assert began_ns < picture.stamp_ns < time.monotonic_ns()
    assert raw_stamp_ns(eye.data) > began_ns, 'also for others'


@pytest.mark.parametrize(('late_ns', 'words'), [
    (10**12, 'colour and depth came, but .* ms apart at best.*the driver must synchronise'),
    (-10**12, 'camera/depth/image_raw was taken before, by its stamps')])
def test_why_no_picture_is_complete(eye: Eye, late_ns: int, words: str) -> None:
    numbers = itertools.count(10**12, 50_000_000)
    eye.shoot(next(numbers), late_ns=late_ns)
    eventually(lambda: eye.kept['image'] == 1)
    error = shown(eye, lambda _: eye.shoot(next(numbers), late_ns=late_ns), 3.0)
    assert isinstance(error, DeadlineError)
    assert re.search(words, str(error)), str(error)


@pytest.mark.parametrize(('parts', 'words'), [
    ((), 'nothing came on camera/image_raw, camera/camera_info, camera/depth/image_raw'),
    (('image', 'info'), 'nothing came on camera/depth/image_raw')])
def test_what_does_not_come_is_named(eye: Eye, parts, words: str) -> None:
    caught: list[Exception] = []

    def look() -> None:
        try:
            eye.camera.observe(3.0)
        except DeadlineError as error:
            caught.append(error)
    thread = threading.Thread(target=look)
    thread.start()
    time.sleep(0.1)
    for part in parts:
        eye.show(part, 10**9)
    thread.join(LIMIT_S)
    assert words in str(caught[0])


def test_a_camera_that_repeats_itself_for_long_is_dead(eye: Eye) -> None:
    eye.shoot(10**9)
    eventually(lambda: eye.kept['image'] == 1)
    came_s = eye.camera._newest[1]
    while time.monotonic() - came_s < REPEATED_S + 0.1:
        eye.show('image', 10**9, 9)
        time.sleep(0.02)
    eventually(lambda: eye.relayed.count('image') > 3)
    assert eye.camera.image_age_s() > REPEATED_S
    eye.show('image', 2 * 10**9, 9)
    eventually(lambda: eye.camera.image_age_s() < REPEATED_S)


@pytest.mark.parametrize('unit_m', [0.001, 0.00025])
def test_depth_in_units_is_scaled(unit_m: float) -> None:
    made = Eye(depth_scale_m=unit_m)
    with spinning(made.node):
        found = looked(made)
        made.show('info', 10**9)
        units = np.full((4, 6), 2000, '<u2')
        units[0, 0] = 0
        made.show('depth', 10**9, encoding='16UC1', step=12, data=units.tobytes())
        made.show('image', 10**9)
        eventually(lambda: bool(found))
    depth = found[0].depth_m
    assert np.isnan(depth[0, 0])
    assert depth[1, 1] == pytest.approx(2000 * unit_m)


@pytest.mark.parametrize(('part', 'fields', 'words'), [
    ('info', {'k': [0.0] * 9}, 'not calibrated'),
    ('depth', {'height': 2}, 'aligned to colour')])
def test_what_cannot_be_used_is_named(eye: Eye, part: str, fields: dict, words: str) -> None:
    caught: list[Exception] = []

    def look() -> None:
        try:
            eye.camera.observe(LIMIT_S)
        except InputError as error:
            caught.append(error)
    thread = threading.Thread(target=look)
    thread.start()
    if part == 'depth':
        fields = {**fields, 'data': np.ones((2, 6), np.float32).tobytes()}
    for each in ('info', 'depth', 'image'):
        eye.show(each, 10**9, **(fields if each == part else {}))
    thread.join(LIMIT_S)
    assert words in str(caught[0])


@pytest.mark.parametrize(('info', 'least_s', 'most_s'), [
    ({}, 0.0, 0.0), ({'received_timestamp': 0}, 0.0, 0.0),
    ({'received_timestamp': 10**19}, 0.0, 0.0),  # the clock was set back
    ({'received_timestamp': 10**9}, 0.2, 0.2)])
def test_how_long_a_message_waited_is_believed_within_bounds(info, least_s, most_s) -> None:
    assert least_s <= ros_arm.waited_s(info) <= most_s


def test_a_picture_is_as_old_as_its_arrival_and_not_as_its_turn() -> None:
    """An executor that is late must not make pictures younger than they are."""
    node = Node('late')
    camera = RosCamera(node, PANDA.camera)
    take = camera._taker('image')
    take(serialize_message(Image()), {'received_timestamp': time.time_ns() - 150_000_000})
    assert camera.image_age_s() >= 0.15
    node.destroy_node()
