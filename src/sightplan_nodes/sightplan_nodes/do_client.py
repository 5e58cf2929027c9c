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

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.node import Node
from rclpy.qos import qos_profile_action_status_default
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode

from sightplan.agent import method_names, needs_visual_planner
from sightplan.graphs.placing import flag_of
from sightplan.model import BusyError, DeadlineError, InputError
from sightplan_nodes import names, qos
from sightplan_nodes.asking import namespaces_with, spinning_node
from sightplan_nodes.calls import ActionCaller

_APPEAR_S = 10.0
"""Limit for the agent, and a node that the method needs, to be there [s]."""
_STATUS_S = 0.5
"""Limit for the agent's status of earlier goals to come [s]."""
_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_LATE_S = 5.0
"""Limit for steps that come after the result of their episode [s]."""


def methods_without_planner() -> list[str]:
    """Methods for which a graph without ``vlm_planner`` has all nodes."""
    return [name for name in method_names() if not needs_visual_planner(name)]


class DoClient(Node):
    """Gives the agent a goal; spins in another thread."""

    def __init__(self) -> None:
        super().__init__('do')
        self._run = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)
        self._episode_id, self._told = '', 0
        self._tell: Callable[[msg.Step], None] = lambda step: None
        self._step_came = threading.Condition()
        self._busy: bool | None = None  # not heard yet
        self._episode = ''
        self.create_subscription(msg.Step, names.AGENT_STEP, self._take, qos.EVENTS)
        self.create_subscription(msg.EpisodeEvent, names.AGENT_EPISODE, self._note, qos.EVENTS)
        self.create_subscription(GoalStatusArray, f'{names.RUN_EPISODE}/_action/status',
                                 self._note_status, qos_profile_action_status_default)

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
            BusyError: the agent has another goal; says which.
            InputError: the graph has no node that the method needs.
            SightplanError: the agent is not there, or does not answer.
        """
        goal.as_it_stands = True
        goal.episode_id = goal.episode_id or f'goal-{time.time_ns()}'
        self._episode_id, self._told, self._tell = goal.episode_id, 0, step
        try:
            self._run.wait_until_there(_APPEAR_S, cancelled)
        except DeadlineError as error:
            raise DeadlineError(self._nobody()) from error
        self._check_free()
        self._check_planner(goal.method, cancelled)
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

    def _note(self, event: msg.EpisodeEvent) -> None:
        """Keep which episode is under way."""
        self._episode = (f'{event.episode_id} (method {event.method}, problem {event.problem})'
                         if event.kind == event.STARTED else '')

    def _note_status(self, status: GoalStatusArray) -> None:
        """Keep whether the agent has a goal."""
        with self._step_came:
            self._busy = any(one.status in _UNDER_WAY for one in status.status_list)
            self._step_came.notify_all()

    def _check_free(self) -> None:
        """Refuse at once what an agent would refuse that has another goal.

        Raises:
            BusyError: it has; names the episode.
        """
        with self._step_came:
            self._step_came.wait_for(lambda: self._busy is not None, _STATUS_S)
            if not self._busy:
                return
        time.sleep(_STATUS_S)  # the name of the episode comes on another topic
        raise BusyError(f'{names.AGENT} is busy with '
                        f'{"episode " + self._episode if self._episode else "another goal"}: wait '
                        'until that ends, or end it where it was begun (Ctrl-C), and give this '
                        'goal again')

    def _check_planner(self, method: str, cancelled: Callable[[], bool]) -> None:
        """Refuse a method that needs ``vlm_planner`` where there is none.

        Raises:
            InputError: there is none; says which methods need none.
        """
        if method not in method_names() or not needs_visual_planner(method):
            return
        end = time.monotonic() + _APPEAR_S
        while not cancelled():
            if (names.VLM_PLANNER, self.get_namespace()) in self.get_node_names_and_namespaces():
                return
            if time.monotonic() > end:
                raise InputError(
                    f'method {method} needs the node {names.VLM_PLANNER}, which is not there '
                    '(the graph do has none): choose a method without it, '
                    f'{", ".join(methods_without_planner())}')
            time.sleep(0.1)

    def _nobody(self) -> str:
        """Message where there is no agent: where it was looked for, and where there is one."""
        where = f'in ROS_DOMAIN_ID={os.environ.get("ROS_DOMAIN_ID", "0")}'
        space = self.get_namespace().strip('/')
        if space:
            where += f', namespace {space}'
        if (names.AGENT, self.get_namespace()) in self.get_node_names_and_namespaces():
            return (f'the node {names.AGENT} is there {where}, but not its action '
                    f'{self.resolve_topic_name(names.RUN_EPISODE)}; if the graph was started '
                    f'with remappings, repeat them, as in -r {names.RUN_EPISODE}:=NAME')
        elsewhere = namespaces_with(self, (names.AGENT,))
        remedy = (f'there is one with {flag_of(*elsewhere)}' if elsewhere else
                  'start one with "sightplan up do", which prints its ROS_DOMAIN_ID')
        return f'there is no agent {where}; {remedy}'


def connected(place: Mapping[str, str]) -> AbstractContextManager[DoClient]:
    """Provide a client that spins while the context lasts; ``place`` as of ``spinning_node``."""
    return spinning_node('do', DoClient, place)
