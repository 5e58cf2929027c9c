"""A simulated arm and camera as ROS drivers have theirs: what ``arm_bridge`` is tried on."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from sensor_msgs.msg import JointState as JointStateMsg
from sightplan_interfaces import msg
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg

from sightplan.model import InputError, State, WorldError, excerpt
from sightplan.records import messages
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.pace import Bounds
from sightplan_arm.trajectories import stopping
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.conversions import MESSAGES

if TYPE_CHECKING:
    from sightplan_nodes.arm_side import ArmSide
    from sightplan_nodes.world_node import WorldNode

JOINTS_HZ = 100.0
SENSOR_HZ = 30.0
_LISTEN_S = 0.2
_JUMP_RAD = 0.2  # a set point farther than this from the measured joint is refused


@runtime_checkable
class LiveWorld(Protocol):
    """A world with live pictures."""

    def camera_process(self) -> Any:
        """A process that draws live pictures; see ``sightplan_sim.arm.camera_process``."""


class SimulatedHardware:
    """Publishes the joints, and follows what others command.

    ``joint_states`` come 100 times a second. As soon as somebody is there who would publish to the
    topic of the arm's or the gripper's controller, or to ``joint_commands``, time passes by
    itself, as the world's setting ``realtime_factor`` says, pictures are live, drawn by a process
    of their own, and skills are the others' business. Pictures come 30 times a second, as a
    camera's do: until a new one is drawn, the last one comes again, with its old stamp; none comes
    when that process has died. The node's ``~/stop`` then brakes the arm, which follows no command
    until its ``~/rearm``, nor do its fingers.

    To ``joint_commands`` (JointState) controllers of one's own publish where each joint is to be
    now, many times a second: this is then the robot behind the ``JointStateTopicSystem`` of
    ros2_control.

    Args:
        node: whose names they are; the controllers' are those of the robot's file, in its
            namespace.
        world: of the simulator, with ``hardware``, ``robot`` and ``camera_process()``.
        side: the node's own use of the arm, which ends when others command it.
        rate_hz: at which pictures are drawn, at most.
        now_ns: the node's clock.
        look_back: is told what was true at the time of each picture.
        lockstep: whether time waits for those who command and watch the arm, as far as they say
            (topic ``pace``); see ``sightplan_arm.pace``.
    """

    def __init__(self, node: WorldNode, world: Any, side: ArmSide, rate_hz: float,
                 now_ns: Callable[[], int], look_back: Callable[[int, State], None],
                 lockstep: bool = False) -> None:
        self._node, self._world, self._side = node, world, side
        self._period_s, self._now_ns, self._look_back = 1.0 / rate_hz, now_ns, look_back
        self.driven = self._stopped = False
        self._closing = threading.Event()
        self._picture: tuple[Any, Any] | None = None  # the newest, and its info
        self._stamp_ns, self._drawn = -1, threading.Condition()
        self._threads = [threading.Thread(target=self._measure, name='joint states', daemon=True)]
        robot = world.robot
        self._topics = [name.lstrip('/') for name in (robot.arm.trajectory_topic,
                                                      robot.gripper.trajectory_topic)]
        for topic, take in zip(self._topics, (self._follow, self._grip), strict=True):
            node.create_subscription(JointTrajectoryMsg, topic, take, qos.COMMANDS,
                                     callback_group=node.group)
        node.create_subscription(JointStateMsg, names.JOINT_COMMANDS, self._servo, qos.DRIVER,
                                 callback_group=node.group)
        self._topics.append(names.JOINT_COMMANDS)
        self._commanding = threading.Lock()  # no command comes after the stop
        self._bounds = Bounds() if lockstep else None
        self._taken: dict[str, int] = {}  # by node, the number of its newest command
        if lockstep:
            node.create_subscription(msg.Heartbeat, names.PACE, self._keep_pace, qos.HEARTBEAT,
                                     callback_group=node.group)
        node.create_timer(_LISTEN_S, self._listen, callback_group=node.group)
        self._threads[0].start()

    def close(self) -> None:
        """Stop publishing pictures and joint states."""
        self._closing.set()
        for thread in self._threads:
            thread.join(5.0)

    def wait_for_picture(self, not_before_ns: int, timeout_s: float) -> None:
        """Wait until a picture of a time, or a later one, was drawn.

        Raises:
            WorldError: none was.
        """
        with self._drawn:
            if not self._drawn.wait_for(lambda: self._stamp_ns >= not_before_ns, timeout_s):
                raise WorldError(f'the camera process has drawn no picture within {timeout_s:g} s')

    def leave_to_others(self) -> None:
        """Let other nodes command the arm from now on.

        Raises:
            InputError: the world has no live pictures, which they would need.
        """
        if self.driven:
            return
        world: object = self._world
        if not isinstance(world, LiveWorld):
            raise InputError(f'the world {type(world).__name__} has no live pictures, so '
                             'nobody else can command its arm: use sim_bridge with execution:=arm '
                             'and without arm_bridge')
        self.driven = True
        self._node.get_logger().info('the arm is commanded from outside now')
        self._side.detach(self.stop, self.rearm)
        self._world.skills = _NoSkills()
        self._world.arm.until_s = None if self._bounds is None else self._bounds.until_s
        self._world.arm.run()
        self._threads.append(threading.Thread(target=self._film, name='live pictures',
                                              daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        """Brake, and follow no command until ``rearm``."""
        arm, limits = self._world.arm, self._world.robot.arm
        with self._commanding:
            self._stopped = True
            state = arm.state()
            arm.command(stopping(state.positions, np.clip(
                state.velocities, -limits.max_velocity, limits.max_velocity),
                limits.stop_acceleration, limits.lower, limits.upper))

    def rearm(self) -> None:
        """Follow commands again."""
        self._stopped = False

    # In the executor's thread.

    def _keep_pace(self, message: msg.Heartbeat) -> None:
        assert self._bounds is not None
        node, sent = _numbered(message.header.frame_id)
        if sent <= self._taken.get(node, 0):  # else a command is under way, which time waits for
            self._bounds.note(message.node, messages.time_from_msg(message.header.stamp) / 1e9)

    def _listen(self) -> None:
        if any(map(self._node.count_publishers, self._topics)):
            try:
                self.leave_to_others()
            except InputError as error:
                self._node.get_logger().error(messages.text(str(error)),
                                              throttle_duration_sec=10.0)

    def _follow(self, message: JointTrajectoryMsg) -> None:
        joints = list(self._world.robot.arm.joints)
        node, sent = _numbered(message.header.frame_id)
        self._taken[node] = sent
        try:
            order = _order(message, joints)
            points = message.points
            speeds = [[point.velocities[k] for k in order] for point in points
                      if len(point.velocities) == len(joints)]
            trajectory = JointTrajectory(
                np.array([messages.time_from_msg(point.time_from_start) / 1e9
                          for point in points]),
                np.array([[point.positions[k] for k in order] for point in points]),
                np.array(speeds if len(speeds) == len(points) else []))
            with self._commanding:
                self._check_not_stopped()
                self._world.arm.command(trajectory)
        except (WorldError, IndexError) as error:
            self._refuse(self._topics[0], error)

    def _grip(self, message: JointTrajectoryMsg) -> None:
        gripper = self._world.robot.gripper
        try:
            order = _order(message, list(gripper.joints))
            where = float(np.mean([message.points[-1].positions[k] for k in order]))
            with self._commanding:
                self._check_not_stopped()
                self._world.arm.grip(gripper.opening_at(where), gripper.force_n)
        except (WorldError, IndexError) as error:
            self._refuse(self._topics[1], error)

    def _servo(self, message: JointStateMsg) -> None:
        """Move the joints to their set points of now; a missing set point is NaN."""
        robot, arm = self._world.robot, self._world.arm
        wanted = dict(zip(message.name, message.position))  # noqa: B905 - others' messages
        fingers = [wanted[name] for name in robot.gripper.joints if name in wanted]
        opening_m = (float(np.clip(robot.gripper.opening_at(float(np.mean(fingers))), 0.0,
                                   robot.gripper.open_m)) if fingers else math.nan)
        try:
            if lacking := [name for name in robot.arm.joints if name not in wanted]:
                raise WorldError(f'they have no {", ".join(lacking)} (but '
                                 f'{excerpt(", ".join(wanted) or "none")}): name the joints as in '
                                 f'{robot.file.name}')
            at = np.array([wanted[name] for name in robot.arm.joints])
            with self._commanding:
                if self._stopped:
                    return
                if np.isfinite(at).all():
                    far = np.abs(at - arm.state().positions).max()
                    if far > _JUMP_RAD:
                        raise WorldError(f'a joint would jump by {far:.2f} rad: have the '
                                         'controller go on from where the arm is')
                    arm.servo(at)
                if math.isfinite(opening_m) and not math.isclose(
                        arm.opening_goal_m, opening_m, abs_tol=1e-6):
                    arm.grip(opening_m, robot.gripper.force_n)
        except WorldError as error:
            self._node.get_logger().error(messages.text(
                f'{names.JOINT_COMMANDS} are not followed: {error}'), throttle_duration_sec=1.0)

    def _check_not_stopped(self) -> None:
        """Raise WorldError while the hardware is stopped."""
        if self._stopped:
            raise WorldError('the hardware was stopped, and nobody has re-armed it')

    def _refuse(self, topic: str, error: Exception) -> None:
        self._node.get_logger().error(messages.text(
            f'a trajectory on {topic} is not followed: {error}'))

    # In threads of their own: a driver is late for nothing that the node does besides.

    def _measure(self) -> None:
        while not self._closing.wait(1.0 / JOINTS_HZ):
            try:
                state = self._world.arm.state()
                if not self.driven:  # its own time stands still between motions
                    state = replace(state, stamp_s=1e-9 * self._now_ns())
                self._side.publish_joints(state)
            except WorldError:  # the simulator was closed
                return

    def _film(self) -> None:
        world, node = self._world, self._node
        frame_id = node.frames.named(world.camera_info().frame_id)
        with world.camera_process() as live:
            sensor = threading.Thread(target=self._send, args=(live,), name='sensor', daemon=True)
            sensor.start()
            stamp_ns = 0
            while live.alive and not self._closing.is_set():
                began, now_ns, picture = time.monotonic(), self._now_ns(), None
                try:
                    self._look_back(now_ns, world.state())
                    if live.request(world.arm.poses(), world.camera.decor):
                        stamp_ns = now_ns
                    picture = live.wait(1.0)
                except WorldError as error:  # between two episodes, or not drawn
                    node.get_logger().debug(messages.text(str(error)))
                if picture is not None:
                    info = MESSAGES.camera_info_to_msg(world.camera_info())
                    info.header = MESSAGES.header(stamp_ns, frame_id)
                    if node.depth_pub.get_subscription_count():
                        node.depth_pub.publish(conversions.depth_to_msg(
                            picture.depth_m, stamp_ns, frame_id))
                    self._picture = (
                        MESSAGES.image_to_msg(picture.rgb, stamp_ns, frame_id), info)
                    with self._drawn:
                        self._stamp_ns = stamp_ns
                        self._drawn.notify_all()
                self._closing.wait(max(0.0, began + self._period_s - time.monotonic()))
            sensor.join()

    def _send(self, live: Any) -> None:
        """Send the newest picture again and again, as long as the camera lives."""
        while not self._closing.wait(1.0 / SENSOR_HZ) and live.alive:
            if self._picture is not None:
                image, info = self._picture
                self._node.info_pub.publish(info)
                if live.alive:  # a camera that dies meanwhile sends none
                    self._node.image_pub.publish(image)
        if not self._closing.wait(1.0):
            self._node.get_logger().error('the camera process has died: no more pictures')


class _NoSkills:
    """The skills of a world whose arm others move: they park it and look themselves."""

    def reset(self, problem: Any) -> None:
        """Do nothing, since the simulator has parked the arm."""


def _numbered(frame_id: str) -> tuple[str, int]:
    """Return the sender of a command and its number; 0 if it has no number."""
    node, _, number = frame_id.rpartition(' ')
    return (node, int(number)) if number.isdecimal() else (frame_id, 0)


def _order(message: JointTrajectoryMsg, joints: list[str]) -> list[int]:
    """Indices of the joints in a message.

    Raises:
        WorldError: it has others.
    """
    given = list(message.joint_names)
    if sorted(given) != sorted(joints) or not message.points:
        raise WorldError(f'it has {len(message.points)} points of joints '
                         f'{", ".join(given) or "without names"}; there are {", ".join(joints)}')
    return [given.index(name) for name in joints]
