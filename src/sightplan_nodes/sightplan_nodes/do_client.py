"""Client of the agent for goals in the world as it stands; ``sightplan do`` uses it.

Its steps come from the topic ``agent/step``, which keeps them for subscribers that are discovered
late. Feedback of the action may be lost: before the server knows the client's subscription, and,
because rclpy hands out none after the result, at the end of a short episode.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from rclpy.node import Node
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode

from sightplan.model import DeadlineError
from sightplan_nodes import names, qos
from sightplan_nodes.asking import namespaces_with, spinning_node
from sightplan_nodes.calls import ActionCaller

_APPEAR_S = 10.0
"""How long to wait for the agent [s]."""
_LATE_S = 5.0
"""How long to wait for steps that come after the result of their episode [s]."""


class DoClient(Node):
    """Gives the agent a goal; spins in another thread."""

    def __init__(self) -> None:
        super().__init__('do')
        self._run = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)
        self._episode_id, self._told = '', 0
        self._tell: Callable[[msg.Step], None] = lambda step: None
        self._step_came = threading.Condition()
        self.create_subscription(msg.Step, names.AGENT_STEP, self._take, qos.EVENTS)

    def do(self, goal: RunEpisode.Goal, timeout_s: float, cancelled: Callable[[], bool],
           stage: Callable[[RunEpisode.Feedback], None],
           step: Callable[[msg.Step], None]) -> RunEpisode.Result:
        """Give the agent a goal, and wait until its episode ends.

        Args:
            goal: of an episode in the world as it stands.
            timeout_s: limit of the episode [s].
            cancelled: polled; once true the episode is cancelled, and an arm holds.
            stage: called with the feedback of each stage of the episode that is heard of, in
                another thread.
            step: called with each step of the episode, in their order, in another thread.

        Returns:
            the result, which may carry an error (``failures.raise_error``).

        Raises:
            SightplanError: the agent is not there, is busy, or does not answer.
        """
        goal.as_it_stands = True
        goal.episode_id = goal.episode_id or f'goal-{time.time_ns()}'
        self._episode_id, self._told, self._tell = goal.episode_id, 0, step
        try:
            self._run.wait_until_there(_APPEAR_S, cancelled)
        except DeadlineError as error:
            raise DeadlineError(self._nobody()) from error
        result = self._run(goal, timeout_s, cancelled, stage)
        with self._step_came:
            self._step_came.wait_for(lambda: self._told >= result.steps, _LATE_S)
        return result

    def _take(self, step: msg.Step) -> None:
        """Pass a step of the episode on, in the executor's thread."""
        if step.episode_id == self._episode_id:
            self._tell(step)
            with self._step_came:
                self._told += 1
                self._step_came.notify_all()

    def _nobody(self) -> str:
        """What to say where there is no agent: where it was looked for, and where there is one."""
        elsewhere = namespaces_with(self, (names.AGENT,))
        where = f'in ROS_DOMAIN_ID={os.environ.get("ROS_DOMAIN_ID", "0")}'
        space = self.get_namespace().strip('/')
        if space:
            where += f', namespace {space}'
        remedy = (f'there is one in {", ".join(elsewhere)}: --namespace' if elsewhere else
                  'start one with "sightplan up do", which prints its ROS_DOMAIN_ID')
        return f'there is no agent {where}; {remedy}'


def connected(place: Mapping[str, str]) -> AbstractContextManager[DoClient]:
    """Provide a client that spins while the context lasts; ``place`` as of ``spinning_node``."""
    return spinning_node('do', DoClient, place)
