"""Each node says every second on ``/diagnostics`` how it is.

``spin.run`` adds this to every node. It works in a thread of its own, beside the executor: a node
whose executor hangs can say so.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node

from sightplan_nodes import names, qos
from sightplan_nodes.diagnosis import LAST_ERROR, Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.node_hooks import DiagnosedNode

BUSY_S = 5.0
"""Time without a turn after which an executor, which turns twice a second, hangs [s]."""
PERIOD_S = 1.0
"""Period of diagnostics [s]."""


def full_name(node: Node) -> str:
    """Namespace and name of a node, as graph files have it."""
    return f'{node.get_namespace()}/{node.get_name()}'.lstrip('/')


class NodeStatus:
    """Publishes a node's status on ``/diagnostics``, once a second.

    Attributes:
        also: adds to the diagnosis, before the node does.
    """

    def __init__(self, node: Node) -> None:
        """Begin; a node with a method ``diagnose`` adds to its status, see Diagnosis."""
        self._node, self.name = node, full_name(node)
        self.also: list[Callable[[Diagnosis], None]] = []
        self._began = self._turned_at = time.monotonic()
        self._publisher = node.create_publisher(
            DiagnosticArray, names.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._live, name=f'status of {self.name}',
                                        daemon=True)
        self._thread.start()

    def turned(self) -> None:
        """Record a turn of the executor."""
        self._turned_at = time.monotonic()

    def close(self) -> None:
        """Stop publishing."""
        self._closing.set()
        self._thread.join(2.0)

    def _live(self) -> None:
        while not self._closing.wait(PERIOD_S):
            try:
                array = DiagnosticArray(status=[self.diagnose().status(self.name)])
                array.header.stamp = self._node.get_clock().now().to_msg()
                self._publisher.publish(array)
            except InvalidHandle:
                return  # the node was destroyed
            except Exception as error:
                if not self._node.context.ok():
                    return
                with contextlib.suppress(Exception):
                    self._node.get_logger().error(f'status: {error_text(error)}',
                                                  throttle_duration_sec=1.0)

    def diagnose(self) -> Diagnosis:
        """Return the status of the node."""
        now, node = time.monotonic(), self._node
        diagnosis = Diagnosis()
        diagnosis.note(up_s=round(now - self._began), pid=os.getpid())
        for add in self.also:
            add(diagnosis)
        if now - self._turned_at > BUSY_S:
            diagnosis.warn(f'answers nobody: a callback has taken {now - self._turned_at:.0f} s '
                           'so far')
        machine = getattr(node, '_state_machine', None)
        if machine is not None:
            state = machine.current_state[1]
            diagnosis.note(lifecycle=state)
            if state != 'active':
                diagnosis.warn(f'is {state}, not active')
        LAST_ERROR.add_to(diagnosis)
        if isinstance(node, DiagnosedNode):
            try:
                node.diagnose(diagnosis)
            except Exception as error:  # the others shall still be told
                diagnosis.warn(f'cannot say how it is: {error_text(error)}')
        return diagnosis
