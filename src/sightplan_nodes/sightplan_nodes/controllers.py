"""Whether the arm's controller is active, as its controller_manager says."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sightplan_arm.config import RobotConfig

ASK_S = 1.0
"""Time between two questions [s]."""
SILENT_S = 3.0
"""Silence after which a controller_manager counts as hanging [s]."""


class Question:
    """A request that is sent again and again, and of which at most one waits for its answer.

    Attributes:
        heard_s: when the last answer came, on the monotonic clock [s].
    """

    def __init__(self, client: Any, request: Any, read: Callable[[Any], None]) -> None:
        """Create the client; ``read`` is given each answer, in the executor's thread."""
        self.client, self._request, self._read = client, request, read
        self.heard_s = self._asked_s = -math.inf
        self._asked: Any = None

    def is_silent(self) -> bool:
        """Whether there is nobody who answers, or no answer has come for ``SILENT_S``."""
        return (not self.client.service_is_ready()
                or time.monotonic() - self.heard_s > SILENT_S)

    def ask(self) -> None:
        """Ask, unless an answer is waited for, which is given up after ``SILENT_S``."""
        now_s = time.monotonic()
        if self._asked is not None and not self._asked.done():
            if now_s - self._asked_s < SILENT_S:
                return
            self.client.remove_pending_request(self._asked)
        if self.client.service_is_ready():
            self._asked_s = now_s
            self._asked = self.client.call_async(self._request)
            self._asked.add_done_callback(lambda future: self._hear(future.result()))

    def _hear(self, reply: Any) -> None:
        self.heard_s = time.monotonic()
        self._read(reply)


class NoController:
    """Stands in for the controller of simulated hardware, which has no controller_manager."""

    def missing(self) -> str:
        """Return '': simulated hardware needs no controller."""
        return ''


class ControllerState:
    """Asks ``list_controllers``, where there is a controller_manager: its names alone say little.

    An inactive controller has its topics and actions, too.
    """

    def __init__(self, node: Node, robot: RobotConfig,
                 heard: Callable[[str], None] = lambda state: None) -> None:
        """Begin to ask, in the executor's thread.

        Args:
            node: asks.
            robot: names controller and controller_manager.
            heard: is told the controller's state with each answer; '': there is no such one.
        """
        self._heard = heard
        self._controller, self._manager = robot.arm.controller, robot.arm.controller_manager
        self._question: Question | None = None
        self._said = ''
        try:
            kind = importlib.import_module('controller_manager_msgs.srv').ListControllers
        except ImportError:  # then the watcher's lock cannot be used, which it says
            return
        group = ReentrantCallbackGroup()
        self._question = Question(node.create_client(
            kind, f'{self._manager}/list_controllers', callback_group=group), kind.Request(),
            self._read)
        node.create_timer(ASK_S, self.ask, callback_group=group,
                          clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._unanswered()

    def missing(self) -> str:
        """Why the controller follows nothing, with the remedy; '': it does, or nobody can tell."""
        if self._question is None or not self._question.client.service_is_ready():
            return ''
        if self._question.is_silent():
            self._unanswered()
        return self._said

    def _unanswered(self) -> None:
        self._said = (f'{self._manager} does not say whether {self._controller} is active: wait '
                      'a moment, or see to the driver')

    def ask(self) -> None:
        """Ask now, as every second, unless an answer is waited for."""
        if self._question is not None:
            self._question.ask()

    def _read(self, reply: Any) -> None:
        states = {str(one.name): str(one.state) for one in reply.controller}
        state = states.get(self._controller)
        if state is None:
            self._said = (f'{self._manager} has no controller {self._controller} (it has '
                          f"{', '.join(states) or 'none'}): load it, or correct the robot file's "
                          'arm.trajectory_topic')
        elif state != 'active':
            self._said = (f'the controller {self._controller} is {state}: activate it (ros2 '
                          f'control set_controller_state {self._controller} active)')
        else:
            self._said = ''
        self._heard(state or '')
