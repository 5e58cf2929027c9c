"""Client of the agent for goals in the world as it stands; ``sightplan do`` uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from rclpy.node import Node
from sightplan_interfaces.action import RunEpisode

from sightplan.model import DeadlineError
from sightplan_nodes import names
from sightplan_nodes.asking import spinning_node
from sightplan_nodes.calls import ActionCaller

_APPEAR_S = 10.0
"""How long to wait for the agent [s]."""


class DoClient(Node):
    """Gives the agent a goal; spins in another thread."""

    def __init__(self) -> None:
        super().__init__('do')
        self._run = ActionCaller(self, RunEpisode, names.RUN_EPISODE, names.AGENT)

    def do(self, goal: RunEpisode.Goal, timeout_s: float, cancelled: Callable[[], bool],
           feedback: Callable[[RunEpisode.Feedback], None]) -> RunEpisode.Result:
        """Give the agent a goal, and wait until its episode ends.

        Args:
            goal: of an episode in the world as it stands.
            timeout_s: limit of the episode [s].
            cancelled: polled; once true the episode is cancelled, and an arm holds.
            feedback: called with each stage of the episode, in another thread.

        Returns:
            the result, which may carry an error (``failures.raise_error``).

        Raises:
            SightplanError: the agent is not there, is busy, or does not answer.
        """
        goal.as_it_stands = True
        try:
            self._run.wait_until_there(_APPEAR_S, cancelled)
        except DeadlineError as error:
            raise DeadlineError(self._nobody()) from error
        return self._run(goal, timeout_s, cancelled, feedback)

    def _nobody(self) -> str:
        """What to say where there is no agent: where it was looked for, and where there is one."""
        elsewhere = sorted({space for name, space in self.get_node_names_and_namespaces()
                            if name == names.AGENT})
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
