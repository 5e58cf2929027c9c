"""An arm and a camera behind ROS drivers: what skills need of them.

The arm is one that ros2_control drives: joint states, and a joint trajectory controller commanded
by its topic or, if its file says so, by its action; the gripper likewise.
"""

from __future__ import annotations

import importlib
import math
import struct
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CameraInfo, Image
from sensor_msgs.msg import JointState as JointStateMsg
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg
from trajectory_msgs.msg import JointTrajectoryPoint

from sightplan.model import DeadlineError, InputError, WorldError
from sightplan.records import messages
from sightplan.records.messages import raw_stamp_ns
from sightplan_arm.camera_files import checked_distortion
from sightplan_arm.config import CameraConfig, RobotConfig
from sightplan_arm.hardware import JointState, JointTrajectory, Rgbd
from sightplan_arm.pace import ALONE_S, LEAD_S, Pace
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.controllers import ControllerState, NoController

TOPIC, ACTION, AUTO = 'topic', 'action', 'auto'

LATENCY_S = 0.1
"""Longest time of an image from the camera to this node [s]."""

REPEATED_S = 1.0
"""Time of repeating one image after which a driver counts as hanging [s]."""

_LEAST_STEP_S = 1e-3  # measurements closer in time say nothing of a velocity
_LONGEST_GUESS_S = 0.1  # the arm's clock runs on by itself between measurements, so far
_CLOCK_JUMP_S = 1.0  # stamps that are this much older come from a driver that was started anew
_PAIRED_NS = 20_000_000  # so far apart colour and depth may always be: 60 % of a period at 30 Hz
_PAIRED_PART = 0.6  # of the images' period, where that is longer
_SEND_GOAL = '/_action/send_goal'
_FINGERS_S = 0.5  # in which a gripper's trajectory leads the fingers to their goal
_LONGEST_WAIT_S = 0.2  # that a message is believed to have waited for the executor
_KEPT = 8  # pictures, infos and depth images that wait for their partners


def choose_interface(wanted: str, what: str, file: str, auto: str = ACTION) -> str:
    """Whether a controller is commanded by its action or by its topic.

    Args:
        wanted: TOPIC, ACTION or AUTO.
        what: it is, for messages.
        file: where that is said.
        auto: what AUTO stands for: TOPIC, or ACTION where control_msgs is installed.

    Raises:
        InputError: the action is wanted, and control_msgs is not installed.
    """
    if (auto if wanted == AUTO else wanted) == TOPIC:
        return TOPIC
    try:
        importlib.import_module('control_msgs.action')
    except ImportError as error:
        if wanted == ACTION:
            raise InputError(f'{file}: {what}: interface: action needs the package control_msgs '
                             f'({error}): install ros-jazzy-control-msgs, or say topic') from error
        return TOPIC
    return ACTION


class RosArm:
    """The protocol Arm over a robot's driver.

    Its clock is that of the stamps of the joint states, so that motions are timed as the robot
    lives them, also a simulated one that is slower or faster than the wall's clock; stamps of
    zero stand for the time of arrival.

    Commands need a spinning node, but do not wait for it. A goal that the arm's controller
    refuses, or gives up, is told to ``on_trouble``. One of the gripper's is a warning only: how
    far the fingers came is read off their joints.
    """

    def __init__(self, node: Node, robot: RobotConfig, hardware: str = names.REAL,
                 relay: Callable[[JointStateMsg], None] = lambda message: None,
                 lockstep: bool = False) -> None:
        """Create the subscriptions and connections.

        Args:
            node: whose topics they are.
            robot: names joints and topics.
            hardware: REAL, or SIMULATED: the same names in its namespace.
            relay: is given each message of joint states, in the executor's thread.
            lockstep: whether ages are those of simulated time, which waits; of SIMULATED only.

        Raises:
            InputError: an interface cannot be had here.
        """
        self._node, self._robot, self._relay = node, robot, relay
        self._lock = threading.Lock()
        self._wanted = (*robot.arm.joints, *robot.gripper.joints)
        self._joints: dict[str, _Joint] = {}
        self._others: set[str] = set()  # names of joints that are not this robot's
        self._not_numbers: set[str] = set()  # those whose newest position is none
        self._stamp_s, self._came_s = -math.inf, -math.inf  # of the arm's joints together
        self._last_now_s = -math.inf
        self.pace = (Pace(lambda: self._stamp_s, LEAD_S, ALONE_S)
                     if lockstep and hardware == names.SIMULATED else None)
        self.clock = time.monotonic if self.pace is None else self.pace.now_s
        self.on_trouble: Callable[[str], None] = node.get_logger().error
        group = ReentrantCallbackGroup()
        arm, gripper = robot.arm, robot.gripper
        self._controller = (ControllerState(node, robot) if hardware == names.REAL
                            else NoController())

        def choose(wanted: str, what: str, auto: str) -> str:
            if hardware == names.SIMULATED:
                return TOPIC  # all that it listens to
            return choose_interface(wanted, what, str(robot.file), auto)
        self._topic = names.driver(arm.joint_states, hardware)
        node.create_subscription(
            JointStateMsg, self._topic,
            lambda message, info: self._take(message, waited_s(info)), qos.DRIVER,
            callback_group=group)
        self._trajectories: _Channel
        if choose(arm.interface, 'arm', TOPIC) == ACTION:
            self._trajectories = _Action(
                node, 'FollowJointTrajectory', names.driver(arm.trajectory_action, hardware),
                lambda goal, message, force_n: setattr(goal, 'trajectory', message),
                lambda message: self.on_trouble(message))
        else:
            self._trajectories = _Topic(node, names.driver(arm.trajectory_topic, hardware))
        self._fingers: _Channel
        if choose(gripper.interface, 'gripper', ACTION) == ACTION:
            self._fingers = _Action(
                node, 'GripperCommand', names.driver(gripper.action, hardware), _fill_grip,
                lambda message: node.get_logger().warning(messages.text(message)),
                # Fingers that close on a thing stall, which is no trouble.
                reached=lambda result: bool(result.stalled))
        else:
            self._fingers = _Topic(node, names.driver(gripper.trajectory_topic, hardware))

    # The protocol Arm.

    def now_s(self) -> float:
        """Time by the clock of the joint states, extrapolated between them [s]."""
        with self._lock:
            since = self.clock() - self._came_s
            if math.isinf(since):
                return 0.0  # before the first measurement time stands still
            guess_s = 0.0 if self.pace is not None else min(since, _LONGEST_GUESS_S)
            self._last_now_s = max(self._last_now_s, self._stamp_s + guess_s)
            return self._last_now_s

    def state(self) -> JointState | None:
        """The newest measurement of all joints; None until each has come."""
        arm, gripper = self._robot.arm, self._robot.gripper
        with self._lock:
            if self._missing():
                return None
            joints = [self._joints[name] for name in arm.joints]
            fingers = np.mean([self._joints[name].position for name in gripper.joints])
            return JointState(self._stamp_s, np.array([joint.position for joint in joints]),
                              np.array([joint.velocity for joint in joints]),
                              max(0.0, gripper.opening_at(float(fingers))))

    def state_age_s(self) -> float:
        """Seconds since the joint that was silent for longest was measured."""
        with self._lock:
            if self._missing():
                return math.inf
            return self.clock() - min(joint.came_s for joint in self._joints.values())

    def command(self, trajectory: JointTrajectory) -> None:
        """Send a trajectory.

        Raises:
            WorldError: nobody is there to take it.
        """
        points = [JointTrajectoryPoint(
            positions=list(map(float, positions)), velocities=list(map(float, velocities)),
            time_from_start=_duration(seconds))
            for seconds, positions, velocities in zip(
                trajectory.times_s, trajectory.positions, trajectory.velocities, strict=True)]
        if trajectory.velocities[0].any():  # braking: where the arm is when this comes to the
            points = points[1:]  # controller is known there alone, which then begins from there
        message = JointTrajectoryMsg(joint_names=list(self._robot.arm.joints), points=points)
        if self.pace is not None:
            self.pace.sent += 1
            message.header.frame_id = f'{self._node.get_name()} {self.pace.sent}'
        self._trajectories.send(message)

    def grip(self, opening_m: float, force_n: float) -> None:
        """Send the fingers to an opening.

        The force goes with an action's goal only: a joint trajectory controller presses as it is
        set up to, and refuses trajectories with efforts.

        Raises:
            WorldError: nobody is there to take it.
        """
        gripper = self._robot.gripper
        joint = gripper.joint_at(opening_m)
        self._fingers.send(JointTrajectoryMsg(
            joint_names=list(gripper.joints), points=[JointTrajectoryPoint(
                positions=[joint] * len(gripper.joints),
                time_from_start=_duration(min(_FINGERS_S, gripper.settle_s)))]), force_n)

    def wait(self, seconds: float) -> None:
        """Wait until the arm's clock has gone on; no longer than it could take, if it stands."""
        until = self.now_s() + seconds
        end = time.monotonic() + 2.0 * seconds + (
            2.0 * _LONGEST_GUESS_S if self.pace is None else ALONE_S)
        while (left := until - self.now_s()) > 0.0 and time.monotonic() < end:
            time.sleep(min(max(left, 0.001), 0.01))

    # Besides.

    def unreachable(self) -> str:
        """Why a trajectory would not get to the controller, with the remedy; '': it would."""
        return self._trajectories.missing() or self._controller.missing()

    def missing(self) -> str:
        """Description of what is not known about the arm yet; '' if everything is."""
        with self._lock:
            missing, topic = self._missing(), self._topic
            if not missing:
                return ''
            if none := [name for name in missing if name in self._not_numbers]:
                return (f'the joint states on {topic} have no number as the position of '
                        f'{", ".join(none)}: see to the driver')
            there = sorted({*self._joints, *self._others})
            if not there:
                return f'no joint states come on {topic}: start the driver'
            return (f'the joint states on {topic} have no {", ".join(missing)} (they have '
                    f'{", ".join(there)}): correct the names in {self._robot.file}')

    def _missing(self) -> list[str]:
        return [name for name in self._wanted if name not in self._joints]

    def _take(self, message: JointStateMsg, age_s: float = 0.0) -> None:
        """Keep a measurement; drivers may send some joints at a time, or others, too.

        One whose stamp is not new says nothing: who repeats himself does not measure any more.

        Args:
            message: the measurement.
            age_s: how long ago it came [s], on the wall's clock; never before the last one.
        """
        came, stamp_s = self.clock(), messages.time_from_msg(message.header.stamp) / 1e9
        stamp_s = stamp_s or time.monotonic() - age_s
        with self._lock:
            if self.pace is None:
                came = max(came - age_s, self._came_s)
            for k, name in enumerate(message.name[:len(message.position)]):
                position, old = message.position[k], self._joints.get(name)
                if name not in self._wanted:
                    self._others.add(name)
                    continue
                if not math.isfinite(position):
                    self._not_numbers.add(name)
                    continue
                self._not_numbers.discard(name)
                if old is not None and 0.0 <= old.stamp_s - stamp_s < _CLOCK_JUMP_S:
                    continue
                if k < len(message.velocity) and math.isfinite(message.velocity[k]):
                    velocity = message.velocity[k]
                elif old is None or stamp_s <= old.stamp_s:
                    velocity = 0.0
                elif stamp_s - old.stamp_s < _LEAST_STEP_S:
                    velocity = old.velocity
                else:
                    velocity = (position - old.position) / (stamp_s - old.stamp_s)
                self._joints[name] = _Joint(position, velocity, stamp_s, came)
            arm = [self._joints[name] for name in self._robot.arm.joints if name in self._joints]
            if arm:
                oldest = min(arm, key=lambda joint: joint.came_s)
                if oldest.stamp_s < self._stamp_s:  # the driver was started anew
                    self._last_now_s = -math.inf
                self._stamp_s, self._came_s = oldest.stamp_s, oldest.came_s
        self._relay(message)


@dataclass(frozen=True, slots=True)
class _Joint:
    """A joint's newest measurement; when it was measured, and came [s]."""

    position: float
    velocity: float
    stamp_s: float
    came_s: float


class _Channel(Protocol):
    """Base of the connections that send trajectories to a controller."""

    def send(self, message: JointTrajectoryMsg, force_n: float = 0.0) -> None:
        """Have a trajectory followed, in place of the one that is under way; returns at once.

        Args:
            message: the trajectory.
            force_n: with which a gripper holds, where it can be told.

        Raises:
            WorldError: nobody is there to take it.
        """

    def missing(self) -> str:
        """Why no controller would take it, with the remedy; '' if one would."""


class _Topic:
    """Connection to a joint trajectory controller by its topic."""

    def __init__(self, node: Node, topic: str) -> None:
        self._node = node
        self._publisher = node.create_publisher(JointTrajectoryMsg, topic, qos.COMMANDS)

    def send(self, message: JointTrajectoryMsg, force_n: float = 0.0) -> None:
        if missing := self.missing():
            raise WorldError(missing)
        self._publisher.publish(message)

    def missing(self) -> str:
        if self._publisher.get_subscription_count():
            return ''
        return (f'no controller listens on {self._publisher.topic_name}: start it'
                f'{_offered(self._node)}')


class _Action:
    """Connection to a controller by its action.

    A new goal takes the place of the one before. Goals are sent in the executor's thread (see
    run_in_executor), so that sending does not wait.

    Args:
        node: the client's.
        kind: type of the action, in control_msgs.
        name: of the action.
        fill: writes a trajectory and a force into a goal.
        trouble: is told what went wrong with the newest goal.
        reached: whether a result is as good as success, whatever its status.
    """

    def __init__(self, node: Node, kind: str, name: str,
                 fill: Callable[[Any, JointTrajectoryMsg, float], None],
                 trouble: Callable[[str], None],
                 reached: Callable[[Any], bool] = lambda result: False) -> None:
        self._node, self._name, self._trouble = node, name, trouble
        self._fill, self._reached = fill, reached
        self._type = getattr(importlib.import_module('control_msgs.action'), kind)
        self._client = ActionClient(node, self._type, name,
                                    callback_group=ReentrantCallbackGroup())
        self._newest = 0

    def send(self, message: JointTrajectoryMsg, force_n: float = 0.0) -> None:
        if missing := self.missing():
            raise WorldError(missing)
        executor = self._node.executor
        if executor is None:
            raise WorldError(f'{self._node.get_name()} is not spinning')
        goal = self._type.Goal()
        self._fill(goal, message, force_n)
        self._newest += 1
        number = self._newest
        executor.create_task(lambda: self._begin(goal, number))

    def missing(self) -> str:
        if self._client.server_is_ready():
            return ''
        return f'no controller serves the action {self._name}: start it{_offered(self._node)}'

    def _begin(self, goal: Any, number: int) -> None:
        if number == self._newest:
            self._client.send_goal_async(goal).add_done_callback(
                lambda future: self._accepted(future, number))

    def _accepted(self, future: Any, number: int) -> None:
        handle = self._result(future, number)
        if handle is None:
            return
        if handle.accepted:
            handle.get_result_async().add_done_callback(
                lambda result: self._done(result, number))
        elif number == self._newest:
            self._trouble(f'the controller refused a goal of {self._name}')

    def _result(self, future: Any, number: int) -> Any:
        """The reply to a call; None without one, which is logged."""
        try:
            return future.result()
        except Exception as error:
            if number == self._newest:
                self._trouble(f'the controller did not answer a goal of {self._name}: '
                              f'{type(error).__name__}: {error}')
            return None

    def _done(self, future: Any, number: int) -> None:
        reply = self._result(future, number)
        if reply is None or self._reached(reply.result):
            return
        if number == self._newest and reply.status != GoalStatus.STATUS_SUCCEEDED:
            said = getattr(reply.result, 'error_string', '') or 'it does not say why'
            self._trouble(f'the controller gave up a goal of {self._name}: {said}')


def _fill_grip(goal: Any, message: JointTrajectoryMsg, force_n: float) -> None:
    """Write the end of a gripper's trajectory into a goal of GripperCommand."""
    goal.command.position = message.points[0].positions[0]
    goal.command.max_effort = force_n


def _offered(node: Node) -> str:
    """Controllers that are there, for people who have the wrong one in their file."""
    topics = [f'the topic {name}' for name, kinds in node.get_topic_names_and_types()
              if 'trajectory_msgs/msg/JointTrajectory' in kinds and node.count_subscribers(name)]
    actions = [f'the action {name.removesuffix(_SEND_GOAL)}'
               for name, kinds in node.get_service_names_and_types()
               if name.endswith(_SEND_GOAL) and kinds[0].startswith('control_msgs/')]
    if not topics and not actions:
        return ' (no controller at all is there)'
    return f', or correct the robot file: there are {", ".join(sorted(topics + actions))}'


class RosCamera:
    """The protocol Camera over a driver: colour, calibration and aligned depth of one time.

    Depth belongs to a picture if their stamps are no further apart than 60 % of the time between
    two pictures, and always if by no more than 20 ms. A calibration is that of the picture's
    stamp, or else the newest of its size. A stamp of zero stands for the time of arrival, and
    what is relayed has that. What comes is kept undecoded until somebody looks. Subscribes for
    best effort, which takes reliable publishers, too.

    Args:
        node: whose topics they are.
        config: names them.
        hardware: REAL, or SIMULATED: the same names in its namespace.
        relay: is given each message (serialized), and which it is (image, info or depth), in the
            executor's thread.
        pace: whose time ages are, and which is told of pictures; None: the wall's clock.
        timeout_s: age at which pictures are too old, for ``pace``.
    """

    def __init__(self, node: Node, config: CameraConfig, hardware: str = names.REAL,
                 relay: Callable[[str, bytes], None] = lambda part, data: None,
                 pace: Pace | None = None, timeout_s: float = REPEATED_S) -> None:
        self._config, self._relay = config, relay
        self._pace, self._timeout_s = pace, timeout_s
        self._clock = time.monotonic if pace is None else pace.now_s
        self._arrived = threading.Condition()
        self._kept: dict[str, OrderedDict[int, tuple[bytes, float]]] = {
            'image': OrderedDict(), 'info': OrderedDict(), 'depth': OrderedDict()}
        self._newest: tuple[int, float] | None = None  # stamp [ns] and arrival [s] of an image
        self._came_s = -math.inf  # of any image, also one that comes again; by the clock of ages
        self._new_s = -math.inf  # of the newest image, likewise
        group = ReentrantCallbackGroup()
        self.topics = {part: names.driver(getattr(config, part), hardware) for part in self._kept}
        for part, kind in (('image', Image), ('info', CameraInfo), ('depth', Image)):
            node.create_subscription(kind, self.topics[part], self._taker(part), qos.DRIVER,
                                     raw=True, callback_group=group)

    def image_age_s(self) -> float:
        """Seconds since a colour image came; infinity before the first.

        An image may come again, as that of a simulated sensor whose next one is not drawn yet;
        but a driver that does nothing else for longer than REPEATED_S shows none any more.
        """
        with self._arrived:
            if self._newest is None:
                return math.inf
            now = self._clock()
            return now - (self._new_s if now - self._new_s > REPEATED_S else self._came_s)

    def observe(self, timeout_s: float = 5.0) -> Rgbd:
        """A picture that was taken after this call began, by the camera's own clock.

        That clock is read off the stamp of the newest image, and how long ago it came. An image
        was under way for some time when it came, so that the clock is ahead of that: by no more
        than LATENCY_S, which is waited for in addition.

        Raises:
            DeadlineError: none came in time; says what came and what did not.
            InputError: the camera sends what cannot be read.
        """
        began = time.monotonic()
        with self._arrived:
            after_ns = (0 if self._newest is None else round(
                self._newest[0] + (began - self._newest[1] + LATENCY_S) * 1e9))
            while True:
                found = self._complete(after_ns, began)
                if found is not None:
                    break
                left = began + timeout_s - time.monotonic()
                if left <= 0.0:
                    raise DeadlineError(f'no picture of the camera within {timeout_s:g} s: '
                                        f'{self._state(after_ns, began)}')
                self._arrived.wait(left)
        return self._decode(found)

    def missing(self) -> str:
        """Description of the topics that are still silent; '' if none is."""
        with self._arrived:
            missing = [self.topics[part] for part, kept in self._kept.items() if not kept]
        return f'nothing has come on {", ".join(missing)}: start the driver' if missing else ''

    def _taker(self, part: str) -> Callable[[bytes, Mapping[str, int]], None]:
        def take(data: bytes, info: Mapping[str, int]) -> None:
            stamp_ns, came = raw_stamp_ns(data), time.monotonic() - waited_s(info)
            if not stamp_ns:
                stamp_ns = round(came * 1e9)
                data = _stamped(data, stamp_ns)
            with self._arrived:
                kept = self._kept[part]
                if part == 'image':
                    new = self._newest is None or stamp_ns != self._newest[0]
                    if self._pace is None:
                        self._came_s = came
                    else:
                        self._keep_pace(self._pace, new)
                    if new:
                        self._newest, self._new_s = (stamp_ns, came), self._came_s
                kept[stamp_ns] = (data, came)
                kept.move_to_end(stamp_ns)
                while len(kept) > _KEPT:
                    kept.popitem(last=False)
                self._arrived.notify_all()
            self._relay(part, data)
        return take

    def _keep_pace(self, pace: Pace, new: bool) -> None:
        """Let simulated time wait for the next picture. The caller holds the lock."""
        def take() -> None:
            self._came_s = pace.now_s()
        pace.heard('pictures', self._timeout_s, take)
        if new:
            pace.heard('new pictures', REPEATED_S)

    def _complete(self, after_ns: int, began: float,
                  ) -> tuple[int, bytes, list[bytes], bytes] | None:
        """Return the newest complete picture after a time. The caller holds the lock.

        It must also have come after ``began``: a driver whose clock starts anew leaves pictures
        that seem to be of the future.

        Returns:
            stamp, picture, calibrations (the likeliest first) and depth.
        """
        infos, depths, reach_ns = self._kept['info'], self._kept['depth'], self._reach_ns()
        for stamp_ns, (image, came) in reversed(self._kept['image'].items()):
            if stamp_ns <= after_ns or came < began:
                continue
            nearest = min((other for other in depths if other > after_ns),
                          key=lambda other: abs(other - stamp_ns), default=None)
            if infos and nearest is not None and abs(nearest - stamp_ns) <= reach_ns:
                order = sorted(infos, key=lambda other: (other == stamp_ns, infos[other][1]))
                return (stamp_ns, image, [infos[other][0] for other in reversed(order)],
                        depths[nearest][0])
        return None

    def _reach_ns(self) -> int:
        """Largest difference of the stamps of a picture and its depth [ns]. The lock is held."""
        steps = np.diff(list(self._kept['image']))
        steps = steps[steps > 0]  # not where a driver began anew
        return max(_PAIRED_NS, round(_PAIRED_PART * float(np.median(steps))) if len(steps) else 0)

    def _state(self, after_ns: int, began: float) -> str:
        """Describe the messages since a time in words. The caller holds the lock."""
        came = {part: [stamp_ns for stamp_ns, (_, when) in kept.items() if when >= began]
                for part, kept in self._kept.items()}
        if self._kept['info']:
            came['info'] = list(self._kept['info'])  # one is enough for all pictures
        missing = [self.topics[part] for part, stamps in came.items() if not stamps]
        if missing:
            return f'nothing came on {", ".join(missing)}; is the driver running?'
        for part in ('image', 'depth'):
            if max(came[part]) <= after_ns:
                return (f'what came on {self.topics[part]} was taken before, by its stamps; do '
                        'they go on, and are they of the clock of the other topics?')
        apart_ms = 1e-6 * min(abs(image - depth) for image in came['image']
                              for depth in came['depth'])
        return (f'colour and depth came, but {apart_ms:.0f} ms apart at best, by their stamps '
                f'({self.topics["image"]}, {self.topics["depth"]}); '
                f'{1e-6 * self._reach_ns():.0f} ms are allowed: the driver must synchronise them')

    def _calibration(self, infos: list[bytes], width: int, height: int) -> CameraInfo:
        """Return the first calibration that fits a picture's size, or names no size.

        Raises:
            InputError: none is.
        """
        found = [deserialize_message(info, CameraInfo) for info in infos]
        for info in found:
            if (info.width, info.height) in ((width, height), (0, 0)):
                return info
        raise InputError(f'{self.topics["info"]} is for {found[0].width} x {found[0].height} '
                         f'pixels, {self.topics["image"]} {width} x {height}: give the topic of '
                         "the colour camera's own camera_info")

    def _decode(self, parts: tuple[int, bytes, list[bytes], bytes]) -> Rgbd:
        stamp_ns, image, infos, depth = parts
        rgb = messages.image_from_msg(deserialize_message(image, Image))
        calibration = self._calibration(infos, rgb.shape[1], rgb.shape[0])
        depth_m = conversions.depth_from_msg(deserialize_message(depth, Image),
                                             self._config.depth_scale_m)
        if depth_m.shape != rgb.shape[:2]:
            raise InputError(f'{self.topics["depth"]} is {depth_m.shape[1]} x {depth_m.shape[0]} '
                             f'pixels, {self.topics["image"]} {rgb.shape[1]} x {rgb.shape[0]}: '
                             'give the topic of depth that is aligned to colour')
        distortion = checked_distortion(
            self.topics['info'], calibration.distortion_model,
            np.array(calibration.d, dtype=np.float64))
        matrix = np.asarray(calibration.k, dtype=np.float64).reshape(3, 3)
        if not matrix[0, 0] > 0:
            raise InputError(f'{self.topics["info"]}: the camera is not calibrated (K is zero)')
        return Rgbd(rgb, depth_m, matrix, distortion, stamp_ns)


def waited_s(info: Mapping[str, int]) -> float:
    """Time for which a message waited here for the executor, which may be late [s].

    Args:
        info: of the message, as rclpy gives it.
    """
    received_ns = info.get('received_timestamp', 0)
    seconds = (time.time_ns() - received_ns) / 1e9 if received_ns else 0.0
    return min(max(seconds, 0.0), _LONGEST_WAIT_S)  # the clock may have been set meanwhile


def _stamped(data: bytes, stamp_ns: int) -> bytes:
    """A serialized message that begins with a header (CDR encoding), with another stamp."""
    stamp = struct.pack('<iI' if data[1] & 1 else '>iI', *divmod(stamp_ns, 10**9))
    return data[:4] + stamp + data[12:]


def _duration(seconds: float) -> Duration:
    whole, part = divmod(round(1e9 * float(seconds)), 10**9)
    return Duration(sec=whole, nanosec=part)
