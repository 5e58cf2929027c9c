"""The node ``arm_watcher``: stops an arm when the process of its safety gate dies or hangs."""

from __future__ import annotations

import contextlib
import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sightplan_interfaces import msg
from std_srvs.srv import Trigger

from sightplan.model import param
from sightplan.records import messages
from sightplan_arm import watcher
from sightplan_arm.config import RobotConfig, load_robot
from sightplan_arm.gate_status import GateState
from sightplan_nodes import names, qos
from sightplan_nodes.controllers import ControllerState
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.heartbeats import Beat, PaceBeat
from sightplan_nodes.latch import keep_stop, latch_path
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.ros_arm import RosArm, waited_s
from sightplan_nodes.spin import main as run_main
from sightplan_nodes.work import Worker

TICK_S = 0.005
_BEAT_TICKS, _STATUS_TICKS = 2, 4  # ticks between two heartbeats, and two looks at the status
UNLOCK_S = 2.0
"""Limit for the driver to follow commands again [s]."""
OPEN_AGAIN_S = 0.5
"""A controller that was to be activated and is not is activated again after this time [s]."""
_CLOSE_S = 1.5  # so long a node that is to end goes on stopping an arm


@dataclass(frozen=True, slots=True)
class ArmWatcherSettings:
    """Parameters of ``arm_watcher``."""

    robot: str = param('panda', 'Robot: a file of config/robots/ by its name, or a path')
    hardware: str = param(names.REAL, 'What is watched: a real robot, by the names of its file, '
                          f'or a simulated one (a sim_bridge in the namespace {names.HARDWARE})',
                          choices=(names.REAL, names.SIMULATED))
    lockstep: bool = param(False, 'Whether ages are those of the time of simulated hardware, '
                           'which waits for late nodes (its parameter of this name)')
    world: str = param(names.ARM_BRIDGE, 'Node whose safety gate is watched')
    latch_file: str = param('', 'File that keeps a stop until a person re-arms; as the parameter '
                            'of arm_bridge, which removes it')


class ArmWatcher(Node):
    """Watches the joint states and the heartbeats of a gate, and stops the arm without it.

    Parameters: see ArmWatcherSettings. Subscribes to the driver's joint states and to
    ``WORLD/heartbeat``, which the gate's own thread publishes, and to ``WORLD/status``. Publishes
    ``heartbeat``, without which that gate moves nothing, and ``~/status`` (ArmStatus, latched).
    As long as there is no gate to watch its heartbeats need WORLD, whose gate then moves nothing
    either: it is not heard here.
    Serves ``~/rearm`` (Trigger), which ``WORLD/rearm`` calls.

    When the gate is silent and the arm moves it is braked by a trajectory of the controller, and
    then locked: the controller is deactivated by its controller_manager, or the simulated
    hardware's ``~/stop`` is called. See ``sightplan_arm.watcher`` for when that ends.
    """

    def __init__(self, **node_arguments: Any) -> None:
        """Subscribe, and begin to watch the arm.

        Raises:
            InputError: a setting or the robot's file is wrong, or the stop cannot be kept.
        """
        super().__init__(names.ARM_WATCHER, **node_arguments)
        self._settings = s = declare_settings(self, ArmWatcherSettings)
        robot = load_robot(s.robot)
        arm = RosArm(self, robot, s.hardware, lockstep=s.lockstep)
        lock = self._lock = (SimulatedLock(self) if s.hardware == names.SIMULATED
                             else ControllerLock(self, robot))
        self._errands = Worker(self, 'watcher errands')
        self._latch_file = latch_path(s.latch_file, s.hardware == names.REAL, robot.file,
                                      self.get_namespace())
        self._pace, self._limit_s = arm.pace, robot.safety.heartbeat_timeout_s
        self._watcher = watcher.Watcher(robot, arm, lock, keep=self._keep, reach=arm.unreachable,
                                        clock=arm.clock)
        arm.on_trouble = self.get_logger().error
        self._status_pub = self.create_publisher(
            msg.ArmStatus, names.arm_status(names.ARM_WATCHER), qos.LATCHED)
        self._beat = Beat(self, names.HEARTBEAT)
        self._pace_beat = None if self._pace is None else PaceBeat(self, self._pace)
        self._shown: watcher.WatcherStatus | None = None
        group = ReentrantCallbackGroup()
        self.create_subscription(msg.Heartbeat, names.gate_heartbeat(s.world), self._hear,
                                 qos.HEARTBEAT, callback_group=group, raw=True)
        self.create_subscription(msg.ArmStatus, names.arm_status(s.world), self._hear_state,
                                 qos.LATCHED, callback_group=group)
        self.create_service(Trigger, names.rearm(names.ARM_WATCHER), self._rearm,
                            callback_group=group)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='watcher', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the node, once a stop of the arm that is under way is done."""
        end_s = time.monotonic() + _CLOSE_S
        while not self._watcher.leave() and time.monotonic() < end_s:
            time.sleep(TICK_S)
        self._closing.set()
        self._thread.join(1.0)
        self._errands.close(0.1)

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report whether the arm can be stopped, and whether it was; see ``Diagnosis``."""
        status = self._shown
        diagnosis.note(watches=self._settings.world, hardware=self._settings.hardware)
        if status is None:
            return
        diagnosis.note(state=status.state.name, moving=status.moving)
        if status.state is not GateState.ARMED and status.message:
            diagnosis.error(f'{status.cause}: {status.message}')
        for missing in status.missing:
            diagnosis.warn(missing)
        diagnosis.distrust(self._watcher.distrusted())

    def _hear(self, data: bytes, info: Mapping[str, int]) -> None:
        if self._pace is None:
            self._watcher.beat(waited_s(info))
        else:
            self._pace.heard(self._settings.world, self._limit_s, self._watcher.beat)

    def _hear_state(self, status: msg.ArmStatus) -> None:
        self._watcher.gate_is(GateState(status.state), status.moving)

    def _watch(self) -> None:
        ticks = 0
        while not self._closing.wait(TICK_S):
            ticks += 1
            try:
                self._watcher.tick()
                if ticks % _BEAT_TICKS == 0:
                    self._beat.publish([] if self._watcher.watches() else [self._settings.world])
                    if self._pace_beat is not None:
                        self._pace_beat.publish()
                if ticks % _STATUS_TICKS == 0:
                    self._show()
            except Exception as error:  # silent from now on: the gate holds the arm
                if self.context.ok():
                    self.get_logger().fatal(f'the watcher failed: {error_text(error)}',
                                            throttle_duration_sec=1.0)

    def _show(self) -> None:
        status = self._watcher.status()
        if status == self._shown:
            return
        self._shown = status
        stopped = status.state is GateState.STOPPED
        self._status_pub.publish(msg.ArmStatus(
            header=MESSAGES.header(self.get_clock().now().nanoseconds), state=int(status.state),
            cause=status.cause, message=messages.text(status.message),
            moving=status.moving, ready=not stopped and not status.missing,
            waiting_for=[messages.text(what) for what in status.missing]))

    def _keep(self, message: str) -> None:
        if self._latch_file is not None:
            keep_stop(self._latch_file, watcher.CAUSE, message)

    async def _rearm(self, request: Trigger.Request, response: Trigger.Response,
                     ) -> Trigger.Response:
        try:
            self._watcher.rearm()
            locked = await self._errands.call(lambda: self._lock.why_locked(UNLOCK_S))
            # Where it cannot be unlocked at all it was not locked from here either.
            response.success = not locked or bool(self._lock.missing())
            response.message = 're-armed' if not locked else (
                f'{"re-armed, but " if response.success else ""}the driver was not unlocked: '
                f'{locked}')
        except Exception as error:
            response.message = error_text(error)
        return response


class _Switch(Protocol):
    def __call__(self, close: bool) -> tuple[Any, Any, Callable[[Any], str]]:
        """Client and request, and what reads why its reply is none ('': it is one)."""


class _ServiceLock:
    """Base of locks that a driver closes and opens by services, answered in the executor."""

    def __init__(self, node: Node, switch: _Switch) -> None:
        self._node, self._switch = node, switch
        self._wanted: bool | None = None
        self._closed, self._asked_s = False, -math.inf
        self._known, self._why_locked = threading.Event(), ''

    def close(self) -> None:
        """Follow nothing from now on; contract in the protocol Lock."""
        self._turn(True)

    def open(self) -> None:
        """Follow commands again; contract in the protocol Lock."""
        self._turn(False)

    def is_closed(self) -> bool:
        """Return whether the driver has confirmed that it follows no commands."""
        return self._closed

    def why_locked(self, timeout_s: float) -> str:
        """Why the driver does not follow commands again after ``open``; '' if it said it does.

        Waits for that: for threads beside the executor.
        """
        self._known.wait(timeout_s)
        return self._why_locked

    def missing(self) -> str:
        """Return why the lock cannot be used; '' if it can."""
        client, _, _ = self._switch(True)
        return '' if client.service_is_ready() else (
            f'the service {client.srv_name} is not there: start the driver, or correct the robot '
            "file's arm.controller_manager")

    def _turn(self, close: bool) -> None:
        client, request, wrong = self._switch(close)
        self._wanted, self._asked_s = close, time.monotonic()
        self._known.clear()
        if not close:
            self._closed = False
        if not client.service_is_ready():
            self._node.get_logger().fatal(f'{client.srv_name} is not there: the driver cannot be '
                                          f'{"locked" if close else "unlocked"}',
                                          throttle_duration_sec=1.0)
            self._why_locked = f'{client.srv_name} is not there: start the driver'
            self._known.set()
            return
        self._why_locked = 'it has not answered in time; re-arm again'
        client.call_async(request).add_done_callback(
            lambda future: self._hear(close, wrong(future.result())))

    def _hear(self, close: bool, why: str) -> None:
        """Take whether the driver does what was asked for: why not, '' if it does."""
        if why:
            self._complain(close, why)
        elif self._wanted == close:
            self._why_locked, self._closed = '', close
        if self._wanted == close:
            self._known.set()

    def _complain(self, close: bool, why: str) -> None:
        self._node.get_logger().fatal(f'the driver is not {"" if close else "un"}locked: {why}',
                                      throttle_duration_sec=1.0)
        if self._wanted == close:
            self._why_locked = why


class SimulatedLock(_ServiceLock):
    """Lock that stops the simulated hardware, and lets it move again."""

    def __init__(self, node: Node) -> None:
        there = f'{names.HARDWARE}/{names.SIM_BRIDGE}'
        clients = {close: node.create_client(Trigger, service(there),
                                             callback_group=ReentrantCallbackGroup())
                   for close, service in ((True, names.stop), (False, names.rearm))}
        super().__init__(node, lambda close: (
            clients[close], Trigger.Request(),
            lambda reply: '' if reply.success else reply.message))


class ControllerLock(_ServiceLock):
    """Deactivates the arm's controller through its controller_manager, and activates it again.

    What the manager says of a switch is not believed, for at best effort one is called done that
    has changed nothing; what it lists is. It is asked until that is so: to activate the controller
    only as long as whoever re-arms waits.
    """

    def __init__(self, node: Node, robot: RobotConfig) -> None:
        try:
            kind = importlib.import_module('controller_manager_msgs.srv').SwitchController
        except ImportError:
            self._lacking = ('the package controller_manager_msgs is not installed, so that the '
                             'controller cannot be deactivated: install '
                             'ros-jazzy-controller-manager-msgs')
            return
        self._lacking = ''
        arm = robot.arm
        client = node.create_client(kind, f'{arm.controller_manager}/switch_controller',
                                    callback_group=ReentrantCallbackGroup())

        def switch(close: bool) -> tuple[Any, Any, Callable[[Any], str]]:
            request = kind.Request(strictness=kind.Request.BEST_EFFORT)
            which = 'deactivate_controllers' if close else 'activate_controllers'
            setattr(request, which, [arm.controller])
            return client, request, lambda reply: '' if reply.ok else (
                f'{arm.controller} was not {"de" if close else ""}activated')
        super().__init__(node, switch)
        self._name, self._opened_s = arm.controller, -math.inf
        self._listed = ControllerState(node, robot, self._judge)

    def _hear(self, close: bool, why: str) -> None:
        """Look whether a switch that is called done is; contract in the base class."""
        if why:
            self._complain(close, why)
        else:
            self._listed.ask()

    def _judge(self, state: str) -> None:
        """Take the controller's state as it is listed; '': there is no such controller."""
        close = self._wanted
        if close is None or self._known.is_set():
            return
        so = state not in ('', 'active') if close else state == 'active'
        why = '' if so else f'{self._name} is {state or "not there"}'
        now_s = time.monotonic()
        if so or (not close and now_s - self._opened_s >= UNLOCK_S):  # nobody waits any more
            super()._hear(close, why)
            return
        self._complain(close, why)
        if not close and now_s - self._asked_s >= OPEN_AGAIN_S:
            self._turn(False)  # to close it is asked again anyway

    def close(self) -> None:
        """Deactivate the controller."""
        if not self._lacking:
            super().close()

    def open(self) -> None:
        """Activate the controller."""
        if not self._lacking:
            self._opened_s = time.monotonic()
            super().open()

    def is_closed(self) -> bool:
        """Return whether the controller was deactivated."""
        return not self._lacking and super().is_closed()

    def why_locked(self, timeout_s: float) -> str:
        """Why the controller is not active again; '' if it is."""
        return self._lacking or super().why_locked(timeout_s)

    def missing(self) -> str:
        """Names of what is not installed or not running; '' if all is there."""
        return self._lacking or super().missing()


def main(args: Sequence[str] | None = None) -> None:
    """Run the node, before all that is not in real time, where the system permits that."""
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    run_main(ArmWatcher, args)
