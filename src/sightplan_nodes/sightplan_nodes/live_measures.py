"""Measurements around an arm: rates, clocks, the controller_manager, the watcher."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from sensor_msgs.msg import JointState
from sightplan_interfaces import msg

from sightplan.records import messages
from sightplan_arm.config import RobotConfig
from sightplan_arm.gate_status import GateState
from sightplan_arm.guarantees import Measured, Observed, Rate, Stamps, WatcherSeen
from sightplan_arm.pace import Pace
from sightplan_nodes import names
from sightplan_nodes.controllers import ControllerState, NoController, Question

_ASK_S = 1.0  # between two questions to the controller_manager
_LIMITS = 'enforce_command_limits'


class LiveMeasures:
    """Notes what comes, and asks the controller_manager. Thread-safe.

    Args:
        node: asks, in its executor's thread.
        robot: whose surroundings they are.
        hardware: REAL or SIMULATED; simulated hardware has no controller_manager.
    """

    def __init__(self, node: Node, robot: RobotConfig, hardware: str) -> None:
        self._node, self._robot = node, robot
        self._pace: Pace | None = None
        self._clock: Callable[[], float] = time.monotonic
        self.joints, self.pictures, self.ticks = Rate(), Rate(), Rate()
        self._stamps = Stamps()
        self._beats: dict[str, Rate] = {}
        self._needs: dict[str, tuple[str, ...]] = {}
        self.watcher: msg.ArmStatus | None = None
        self._lock = threading.Lock()
        self._limits: bool | None = None
        self._limits_said = 'the simulated hardware has no controller_manager'
        if hardware == names.REAL:
            group = ReentrantCallbackGroup()
            manager = robot.arm.controller_manager
            self._limits_said = f'no {manager} answers'
            self._question = Question(node.create_client(
                GetParameters, f'{manager}/get_parameters', callback_group=group),
                GetParameters.Request(names=[_LIMITS]), self._read)
            node.create_timer(_ASK_S, self._ask, callback_group=group,
                              clock=Clock(clock_type=ClockType.STEADY_TIME))

    def keep_pace(self, pace: Pace | None) -> None:
        """Count in simulated time that waits from now on; None: in wall-clock time."""
        self._pace, self._clock = pace, time.monotonic if pace is None else pace.now_s

    # What comes.

    def note_joints(self, message: JointState) -> None:
        """Record the arrival of joint states."""
        now_s = time.monotonic()
        self.joints.note(self._clock())
        self._stamps.note(messages.time_from_msg(message.header.stamp) / 1e9, now_s,
                          self._node.get_clock().now().nanoseconds / 1e9)

    def note_picture(self) -> None:
        """Record the arrival of a picture."""
        self.pictures.note(self._clock())

    def note_beat(self, message: msg.Heartbeat) -> None:
        """Record the arrival of a heartbeat."""
        with self._lock:
            rate = self._beats.setdefault(message.node, Rate())
            self._needs[message.node] = tuple(message.needs)
        rate.note(self._clock())

    # What is made of it.

    def seen_of_watcher(self) -> WatcherSeen:
        """The newest state of the watcher."""
        rate, status = self._beats.get(names.ARM_WATCHER), self.watcher
        age_s = (rate or Rate()).measured(self._clock()).age_s
        if status is None:
            return WatcherSeen(age_s)
        return WatcherSeen(age_s, GateState(status.state), status.message,
                           tuple(status.waiting_for))

    def observed(self, required: Iterable[str], stop: str, **more: Any) -> Observed:
        """Return the measurements of the last seconds.

        Args:
            required: nodes that motions need; what these need in turn is added.
            stop: why braking would not get to the controller; '': it would.
            **more: the other fields of Observed.
        """
        now_s = self._clock()
        return Observed(
            joint_states=self.joints.measured(now_s), camera=self.pictures.measured(now_s),
            heartbeats=self._heartbeats(required, now_s),
            clock=self._stamps.measured(time.monotonic()), lockstep=self._pace is not None,
            stop=stop, watcher=self.seen_of_watcher(), command_limits=self._limits,
            command_limits_said=self._limits_said, **more)

    def _heartbeats(self, required: Iterable[str], now_s: float) -> dict[str, Measured]:
        found: dict[str, Measured] = {}
        waiting = list(required)
        with self._lock:
            while waiting:
                node = waiting.pop(0)
                if node not in found:
                    found[node] = self._beats.get(node, Rate()).measured(now_s)
                    waiting += self._needs.get(node, ())
        return found

    # In the executor's thread.

    def _ask(self) -> None:
        if self._question.is_silent():
            self._limits = None
            self._limits_said = f'no {self._robot.arm.controller_manager} answers'
        self._question.ask()

    def _read(self, reply: GetParameters.Response) -> None:
        manager = self._robot.arm.controller_manager
        value = reply.values[0] if reply.values else None
        if value is None or value.type != ParameterType.PARAMETER_BOOL:
            self._limits, self._limits_said = False, f'{manager} has no parameter {_LIMITS}'
            return
        self._limits = bool(value.bool_value)
        self._limits_said = f'{_LIMITS} of {manager} is {str(self._limits).lower()}'


def reachable(node: Node, robot: RobotConfig, hardware: str) -> Callable[[], str]:
    """Return a function that says why braking would not reach the controller; '' if it would."""
    arm = robot.arm
    action = arm.interface == 'action' and hardware == names.REAL
    topic = names.driver(arm.trajectory_topic, hardware)
    controller = ControllerState(node, robot) if hardware == names.REAL else NoController()

    def missing() -> str:
        if action:
            goal = node.resolve_service_name(f'{arm.trajectory_action}/_action/send_goal')
            there = any(name == goal for name, _ in node.get_service_names_and_types())
            return (controller.missing() if there else
                    f'no controller serves the action {arm.trajectory_action}')
        return (controller.missing() if node.count_subscribers(topic) else
                f'no controller listens on {topic}')
    return missing
