"""Each node publishes every second that it lives and which nodes it hears; see ``keep_alive``.

``spin.run`` adds this to every node of a graph that is kept alive (``sightplan up --keep-alive``),
and of no other; nodes do not know of it. It works in a thread of its own, beside the executor: a
node that is busy is there all the same.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from sightplan_interfaces import msg

from sightplan.graphs.hearing import HEARD_S, LOST_S, PERIOD_S, Hearing
from sightplan.graphs.keeping import Reporter
from sightplan.records import messages
from sightplan_nodes import names, qos
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.status import NodeStatus
from sightplan_nodes.without_executor import NoExecutorGroup, take_message

_SLICE_S = 0.2  # the thread looks so often whether it is to end


class HeardNodes:
    """The nodes that a node hears, and connections that are lost by its and their messages.

    Not thread-safe, and without ROS.

    Attributes:
        name: of the node, with its namespace.
    """

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without any node heard; ``clock`` counts seconds."""
        self.name, self._clock = name, clock
        self._heard_at: dict[str, float] = {}
        self._hearing = Hearing(clock)
        self._alone_since: float | None = None

    def hear(self, node: str, hears: list[str]) -> None:
        """Take a presence message of another node."""
        if node != self.name:
            self._heard_at[node] = self._clock()
            self._hearing.note(node, hears)

    def forget(self, node: str) -> None:
        """Forget a node that has announced its end."""
        self._heard_at.pop(node, None)
        self._hearing.forget(node)

    def ages(self) -> dict[str, float]:
        """Ages of the last messages of the nodes that are heard now [s], by name."""
        now = self._clock()
        return {node: now - at for node, at in sorted(self._heard_at.items())
                if now - at <= HEARD_S}

    def others(self) -> dict[str, frozenset[str]]:
        """The nodes that each node hears which is heard now, by its own messages."""
        table = self._hearing.table()
        return {node: table[node] for node in self.ages() if node in table}

    def lost_connections(self) -> list[str]:
        """Descriptions of connections to other nodes that are lost for good."""
        ages, now = self.ages(), self._clock()
        if ages or not self._heard_at:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        if self._alone_since is not None and now - self._alone_since >= LOST_S:
            heard = ', '.join(sorted(self._heard_at))
            return [(f'hears nobody any more, and heard {heard}: all of them have died, or this '
                     'node is deaf and has to be restarted')]
        self._hearing.note(self.name, ages.keys())
        found, table = [], self._hearing.table()
        for one in self._hearing.lost():
            if one.listener == self.name:
                others = sorted(node for node, hears in table.items() if one.speaker in hears)
                found.append(f'has not heard {one.speaker} for {one.for_s:.0f} s, which '
                             f'{", ".join(others)} hears: restart this node, or {one.speaker}')
            elif one.speaker == self.name:
                found.append(f'{one.listener} has not heard this node for {one.for_s:.0f} s: '
                             f'restart {one.listener}, or this node')
        return found


class Presence:
    """A node's heartbeats on ``/presence``, once a second, and what it lost, in its status.

    What is lost for good is logged as an error, once, and again when it has changed.
    """

    def __init__(self, node: Node, status: NodeStatus,
                 environ: Mapping[str, str] = os.environ) -> None:
        """Begin.

        Args:
            node: whose they are.
            status: of the node; it is added to.
            environ: names the pipe to a launcher that keeps the graph, if there is one.
        """
        self._node, self.name = node, status.name
        self.heard_nodes = HeardNodes(self.name)
        self._reporter = Reporter(environ)
        self._reported: set[str] = set()
        self._ages: Mapping[str, float] = {}
        self._lost: list[str] = []
        self._beat_pub = node.create_publisher(msg.Heartbeat, names.PRESENCE, qos.PRESENCE)
        self._subscription = node.create_subscription(
            msg.Heartbeat, names.PRESENCE, _taken_by_the_thread, qos.PRESENCE,
            callback_group=NoExecutorGroup())
        status.also.append(self.diagnose)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f'presence of {self.name}',
                                        daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Announce the end of the node, and stop the heartbeats."""
        self._closing.set()
        self._thread.join(2.0)

    def _live(self) -> None:
        due = time.monotonic()
        while not self._closing.is_set():
            try:
                left = due - time.monotonic()
                if left <= 0.0:
                    due = max(due, time.monotonic() - PERIOD_S) + PERIOD_S
                    self._say()
                    left = 0.0  # what has come meanwhile is heard before the next one
                while (heard := take_message(self._node, self._subscription,
                                             min(left, _SLICE_S))) is not None:
                    self._hear(heard)
                    left = 0.0
            except InvalidHandle:
                return  # the node was destroyed
            except Exception as error:  # such as a message of 0 bytes, after a kill
                if not self._node.context.ok():
                    return
                self._node.get_logger().error(f'presence: {error_text(error)}',
                                              throttle_duration_sec=1.0)
                self._closing.wait(_SLICE_S)
        with contextlib.suppress(Exception):  # ROS may be shut down
            self._beat_pub.publish(msg.Heartbeat(node=self.name))  # no stamp: the last one

    def _hear(self, heard: msg.Heartbeat) -> None:
        if messages.time_from_msg(heard.header.stamp):
            self.heard_nodes.hear(heard.node, list(heard.hears))
        else:
            self.heard_nodes.forget(heard.node)

    def _say(self) -> None:
        ages = self.heard_nodes.ages()
        stamp = self._node.get_clock().now().to_msg()
        beat = msg.Heartbeat(node=self.name, hears=list(ages))
        beat.header.stamp = stamp
        self._beat_pub.publish(beat)
        self._reporter.tell(self.name, list(ages), self.heard_nodes.others())
        self._ages, self._lost = ages, self.heard_nodes.lost_connections()
        self._log_lost(self._lost)

    def _log_lost(self, lost: list[str]) -> None:
        about = {_without_numbers(one) for one in lost}
        if about - self._reported:
            self._node.get_logger().error(messages.text('; '.join(lost)))
        elif self._reported and not about:
            self._node.get_logger().info('hears and is heard again')
        self._reported = about

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Add the nodes that are heard, the ages of their messages, and lost connections."""
        diagnosis.note(hears_s_ago={name: round(age, 1) for name, age in self._ages.items()})
        for report in self._lost:
            diagnosis.error(report)


def _taken_by_the_thread(message: Any) -> None:
    """Do nothing: a thread takes the messages, not the executor."""


def _without_numbers(words: str) -> str:
    return ''.join(letter for letter in words if not letter.isdigit())
