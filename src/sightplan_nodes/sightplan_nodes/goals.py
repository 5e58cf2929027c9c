"""One goal of an action at a time."""

from __future__ import annotations

import math
import time

from rclpy.action import GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

RESULT_KEPT_S = 30
"""Time for which a server keeps the goals that ended [s]; every status message lists them.

rclpy's 15 minutes are thousands of goals of a busy world: its clients and itself become slower
with each. Ours ask for the result as soon as a goal is accepted.
"""


class OneGoal:
    """Callbacks of an action server that takes one goal at a time.

    A goal counts from the very moment it is accepted, not from when its work begins: between the
    two the executor may see to the next request. Pass ``accept`` as ``goal_callback`` and ``take``
    as ``handle_accepted_callback``, and call ``release`` when the work is done. All three belong
    to the executor's thread.
    """

    def __init__(self) -> None:
        self.handle: ServerGoalHandle | None = None

    def accept(self, goal: object) -> GoalResponse:
        """Accept a goal if no other one is under way."""
        return GoalResponse.ACCEPT if self.handle is None else GoalResponse.REJECT

    def take(self, handle: ServerGoalHandle) -> None:
        """Keep the goal that was accepted, and begin to execute it."""
        self.handle = handle
        handle.execute()

    def release(self) -> None:
        """Release the goal, which is done, so that the next one is accepted."""
        self.handle = None

    @property
    def cancelled(self) -> bool:
        """Whether the goal's client has cancelled it."""
        return self.handle is not None and bool(self.handle.is_cancel_requested)


_LEFT_S = 1.0
"""Absence from the graph after which a client counts as gone [s]."""
_LOOK_S = 0.2


class Waiting:
    """Detects that all clients that subscribed to the feedback of a goal have left the graph.

    A client that has ended cannot cancel: one that took this node for dead while it was paused or
    cut off, and went away. As long as none is found on the graph, somebody is taken to wait.

    Args:
        node: that serves the action.
        action: its name, as the node's own names are.
    """

    def __init__(self, node: Node, action: str) -> None:
        self._node, self._topic = node, f'{action}/_action/feedback'
        self._there_s, self._looked_s = time.monotonic(), -math.inf
        self._over = False
        self._clients: frozenset[bytes] = frozenset()

    def over(self) -> bool:
        """Return whether all clients have left; cheap enough to be called often."""
        now_s = time.monotonic()
        if self._over or now_s - self._looked_s < _LOOK_S:
            return self._over
        self._looked_s = now_s
        found = frozenset(bytes(end.endpoint_gid) for end in
                          self._node.get_subscriptions_info_by_topic(self._topic))
        self._clients = self._clients or found
        if not self._clients or self._clients & found:
            self._there_s = now_s
        self._over = now_s - self._there_s > _LEFT_S
        return self._over
