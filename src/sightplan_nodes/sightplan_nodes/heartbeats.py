"""Heartbeats: a node says that it is alive, and which other nodes it cannot go on without."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Sequence

from rclpy.node import Node
from sightplan_interfaces import msg

from sightplan_arm.pace import Pace
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES

RATE_HZ = 100.0
"""Period of heartbeats [s]: an arm holds after 75 ms without one, so several may be lost."""


class Beat:
    """Heartbeats of a thread that is to be known to live: it publishes them itself."""

    def __init__(self, node: Node, topic: str) -> None:
        """Create the publisher; the first heartbeat comes with ``publish``.

        Args:
            node: whose they are.
            topic: where they go.
        """
        self._node = node
        self._message = msg.Heartbeat(node=node.get_name())
        self._publisher = node.create_publisher(msg.Heartbeat, topic, qos.HEARTBEAT)

    def publish(self, needs: Sequence[str] = ()) -> None:
        """Publish that the thread lives, and which nodes it needs just now."""
        self._message.needs = list(needs)
        self._message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(self._message)


class PaceBeat:
    """Tells the simulated hardware how far its time may go, for all that this node knows.

    And only once it has taken the newest command from here, which has the same frame_id.
    """

    def __init__(self, node: Node, pace: Pace) -> None:
        """Create the publisher; the first message comes with ``publish``.

        Args:
            node: that watches.
            pace: what it knows.
        """
        self._pace = pace
        self._message = msg.Heartbeat(node=node.get_name())
        self._publisher = node.create_publisher(
            msg.Heartbeat, names.driver(names.PACE, names.SIMULATED), qos.HEARTBEAT)

    def publish(self) -> None:
        """Publish the limit of simulated time, once there is a simulated time."""
        until_s = self._pace.until_s()  # before the number: a command in between waits
        if math.isfinite(until_s):
            self._message.header.stamp = MESSAGES.time_to_msg(round(until_s * 1e9))
            self._message.header.frame_id = f'{self._message.node} {self._pace.sent}'
            self._publisher.publish(self._message)


class Heartbeats:
    """Publishes a node's heartbeats from a thread of their own: they come however busy it is.

    They stop when the process dies, is stopped, or its interpreter hangs.
    """

    def __init__(self, node: Node, needs: Callable[[], Sequence[str]] = tuple,
                 rate_hz: float = RATE_HZ) -> None:
        """Begin.

        Args:
            node: whose they are.
            needs: names of the nodes that it cannot go on without just now; asked each time.
            rate_hz: how often.
        """
        self._node, self._needs, self._period_s = node, needs, 1.0 / rate_hz
        self._publisher = node.create_publisher(msg.Heartbeat, names.HEARTBEAT, qos.HEARTBEAT)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._beat, name=f'heartbeats of {node.get_name()}', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the heartbeats; an arm that needs this node holds then."""
        self._stop.set()
        self._thread.join(1.0)

    def _beat(self) -> None:
        message = msg.Heartbeat(node=self._node.get_name())
        # The node may be destroyed, or ROS shut down, between any two statements.
        with contextlib.suppress(Exception):
            while not self._stop.is_set():
                message.header.stamp = self._node.get_clock().now().to_msg()
                message.needs = list(self._needs())
                self._publisher.publish(message)
                self._stop.wait(self._period_s)
