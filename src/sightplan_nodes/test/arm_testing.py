"""A driver of an arm and a camera, and skills, that do as they are told."""

from __future__ import annotations

import re
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from sensor_msgs.msg import JointState as JointStateMsg
from sightplan_interfaces.srv import LoadProblem, ResetWorld
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg

from sightplan.model import Feedback, FeedbackStatus
from sightplan_arm.config import load_robot
from sightplan_arm.gate_status import REQUIRED
from sightplan_arm.hardware import JointTrajectory
from sightplan_arm.skills import SkillReport, SkillResult
from sightplan_arm.trajectories import sample
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.conversions import MESSAGES

MOVE_S, MOVE_RAD = 1.0, 0.06
"""A skill turns the last joint so far, in so long, if a test says nothing else.

Less than the gate bears (tracking_tolerance_rad): a driver that a busy machine keeps waiting is
late, and not off track."""

LONG_S = 10.0
"""So long takes a motion that a test breaks off: many times as long as that takes."""


def patient_robot(folder: Path, name: str = 'panda', watched: bool = False,
                  **limits: float) -> str:
    """A Panda's file whose limits bear a busy machine; returns its path.

    Args:
        folder: where to write it.
        name: of the robot, as in config/robots/.
        watched: whether arm_bridge wants arm_watcher to be there.
        **limits: of its safety, by the names of their fields; those of time are 5 s if not given.
    """
    text = load_robot(name).file.read_text()
    patience = dict.fromkeys(('state_timeout_s', 'image_timeout_s', 'heartbeat_timeout_s'), 5.0)
    for field, value in (patience | limits).items():
        text, count = re.subn(rf'(?m)^( *{field}:).*', rf'\1 {value}', text)
        assert count, field
    if not watched:
        wanted = ', '.join(name for name in REQUIRED if name != 'watcher')
        text = re.sub(r'(?m)^ *required:.*\n', '', text)
        text = re.sub(r'(?m)^( *)heartbeat_timeout_s:.*', rf'\g<0>\n\1required: [{wanted}]', text)
    path = folder / 'patient.yaml'
    path.write_text(text)
    return str(path)


class Driver:
    """Publishes joint states and pictures, and follows trajectories; knows no blocks.

    Attributes:
        followed: trajectories that lead elsewhere, or brake.
        told_to_stay: those that do not lead away from where the arm is.
    """

    def __init__(self, robot_file: str) -> None:
        self.robot = robot = load_robot(robot_file)
        self.node = node = Node('driver')
        self.posture = np.array(robot.arm.park)
        self.opening = robot.gripper.open_m
        self.names = [*robot.arm.joints, *robot.gripper.joints]
        self.followed: list[JointTrajectory] = []
        self.told_to_stay: list[JointTrajectory] = []
        self.gripped: list[float] = []
        self.frozen = self.blind = self.stopped = False
        self.number = 0
        self._motion: tuple[float, JointTrajectory] | None = None
        self._lock = threading.Lock()

        def topic(name: str) -> str:
            return names.driver(name, names.SIMULATED)
        self._joints = node.create_publisher(
            JointStateMsg, topic(robot.arm.joint_states), qos.DRIVER)
        self._image = node.create_publisher(Image, topic(robot.camera.image), qos.DRIVER)
        self._info = node.create_publisher(CameraInfo, topic(robot.camera.info), qos.DRIVER)
        self._depth = node.create_publisher(Image, topic(robot.camera.depth), qos.DRIVER)
        for name, take in ((robot.arm.trajectory_topic, self._follow),
                           (robot.gripper.trajectory_topic, self._grip)):
            node.create_subscription(JointTrajectoryMsg, topic(name), take, qos.COMMANDS)
        self.setups: list[LoadProblem.Request] = []
        self.setup_error: Exception | None = None
        self.again: list[ResetWorld.Request] = []
        service = names.setup_service(names.SIMULATED)
        node.create_service(LoadProblem, service, self._setup)
        node.create_service(ResetWorld, names.reset(service.rpartition('/')[0]), self._reset)
        for name, stopped in ((names.stop, True), (names.rearm, False)):
            node.create_service(Trigger, name(service.rpartition('/')[0]), self._latch(stopped))
        node.create_timer(0.01, self.measure)
        node.create_timer(0.05, self.film)

    def measure(self) -> None:
        if self.frozen:
            return
        now_s = time.monotonic()
        with self._lock:
            speed = np.zeros(len(self.posture))
            if self._motion is not None:
                start_s, trajectory = self._motion
                self.posture, speed, _ = sample(trajectory, now_s - start_s)
                if now_s - start_s > trajectory.duration_s:
                    speed = np.zeros(len(self.posture))
            n = len(self.robot.gripper.joints)
            self._joints.publish(JointStateMsg(
                header=MESSAGES.header(round(now_s * 1e9)), name=self.names,
                position=[*self.posture.tolist(), *[self.opening / n] * n],
                velocity=[*speed.tolist(), *[0.0] * n]))

    def film(self) -> None:
        if self.blind:
            return
        stamp_ns = time.monotonic_ns()
        self.number += 1
        self._info.publish(CameraInfo(
            header=MESSAGES.header(stamp_ns, 'eye'), width=6, height=4,
            k=[5.0, 0.0, 2.5, 0.0, 5.0, 1.5, 0.0, 0.0, 1.0]))
        self._depth.publish(conversions.depth_to_msg(np.ones((4, 6), np.float32), stamp_ns))
        self._image.publish(MESSAGES.image_to_msg(
            np.full((4, 6, 3), self.number % 256, np.uint8), stamp_ns, 'eye'))

    def _follow(self, message: JointTrajectoryMsg) -> None:
        trajectory = JointTrajectory(
            np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec
                      for p in message.points]),
            np.array([p.positions for p in message.points]),
            np.array([p.velocities for p in message.points]))
        with self._lock:
            if self.stopped:
                return
            stays = np.abs(trajectory.positions - self.posture).max() < 1e-9
            (self.told_to_stay if stays else self.followed).append(trajectory)
            self._motion = time.monotonic(), trajectory

    def _grip(self, message: JointTrajectoryMsg) -> None:
        where = message.points[-1].positions
        self.gripped.append(sum(where))
        self.opening = sum(where)

    def _latch(self, stopped: bool):
        def answer(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            self.stopped, response.success = stopped, True
            return response
        return answer

    def _setup(self, request: LoadProblem.Request, response: LoadProblem.Response):
        self.setups.append(request)
        if self.setup_error is not None:
            from sightplan_nodes.failures import fill_error
            return fill_error(response, self.setup_error)
        return response

    def _reset(self, request: ResetWorld.Request, response: ResetWorld.Response):
        self.again.append(request)
        return response


class ScriptedSkills:
    """Skills whose one action is a slow turn of the hand."""

    def __init__(self, robot: Any, arm: Any, camera: Any, gate: Any, kinematics: Any,
                 **settings: Any) -> None:
        self.arm, self.camera, self.gate, self.settings = arm, camera, gate, settings
        self.reports: list[SkillReport] = []
        self.problems: list[Any] = []
        self.beliefs: list[Any] = []
        self.sign, self.move_s = 1, MOVE_S

    def reset(self, problem: Any) -> None:
        self.problems.append(problem)
        self.reports = []
        self.gate.new_episode()

    def expect(self, belief: Any) -> None:
        self.beliefs.append(belief)

    def execute(self, action: Any) -> SkillResult:
        here = self.arm.state().positions
        there = here.copy()
        there[-1] += self.sign * MOVE_RAD
        self.sign = -self.sign
        still = np.zeros_like(here)
        self.gate.follow(JointTrajectory(np.array([0.0, self.move_s]), np.stack([here, there]),
                                         np.stack([still, still])), f'turn for {action}')
        self.reports.append(
            SkillReport(action, 'done', '', ('turn',), (self.move_s,), (0.0,), (0.0,)))
        return SkillResult(Feedback(FeedbackStatus.EXECUTED, 'turned'), self.reports[-1])
