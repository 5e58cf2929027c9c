"""The main function of every node: start, spin, stop cleanly.

Why not ``rclpy.spin``: a signal that arrives right after a callback can hang it. Here the signal
handlers are ours: they only ask the loop to stop, so that a node still has a working ROS context
while it closes (the recorder closes its bag, the agent reports that it was stopped).
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sightplan.graphs.keep_alive import KEEP_ALIVE_VARIABLE
from sightplan.graphs.up import refused_by_keys
from sightplan.model import SightplanError
from sightplan.model.redaction import Formatter, without_secrets
from sightplan.records.messages import text
from sightplan_nodes.log_files import LogFile
from sightplan_nodes.node_hooks import ClosingNode, EndingNode, LoadingNode
from sightplan_nodes.status import NodeStatus

CLOSING_LIMIT_S = 10.0
"""Time after a stop request at which a node that still runs is killed [s]."""

PARENT_VARIABLE = 'SIGHTPLAN_PARENT_PID'
"""Process id of the launcher, set by it: the nodes end when it is gone."""

_PR_SET_PDEATHSIG = 1
SWITCH_S = 0.0005
"""Time for which a thread keeps another one waiting [s]: a request goes from thread to thread, and
Python's own 5 ms at each turn would be most of what it costs."""


class _Stop:
    """A stop request by signal."""

    def __init__(self) -> None:
        self.requested = False
        self.number = 0
        self.spinning = False
        self.node: Node | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            return
        limit = threading.Timer(CLOSING_LIMIT_S, _end_now)
        limit.daemon = True
        limit.start()
        self.requested = True
        self.number = number
        loading = isinstance(self.node, LoadingNode) and self.node.loading  # that may take long
        if loading or not self.spinning:
            raise KeyboardInterrupt


def _end_now() -> None:
    sys.stderr.write('not stopped in time; ending the process\n')
    sys.stderr.flush()
    os._exit(1)


def _wake_on_signal(wake: Callable[[], None]) -> None:
    """Call ``wake`` on every signal: Python's handlers do not interrupt the wait for messages."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

    def listen() -> None:
        while os.read(read_end, 64):
            wake()

    threading.Thread(target=listen, name='signals', daemon=True).start()


def _die_with_parent() -> None:
    """Ask the kernel for SIGTERM when the launcher is gone, even by SIGKILL."""
    parent = os.environ.get(PARENT_VARIABLE, '')
    if not parent.isdigit() or not sys.platform.startswith('linux'):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() == int(parent):
        return
    # Started through something else (a debugger), whose end is not ours; or too late.
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, 0, 0, 0, 0)
    if not Path(f'/proc/{parent}').exists():
        sys.exit(1)


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Run one node until it is stopped or stops by itself.

    Args:
        make_node: the node's class; see ``node_hooks`` for what it may have.
        args: command line without the program's name; None for the process's own.

    Returns:
        Exit code: 0 after SIGINT or SIGTERM, the node's own ``exit_code``, 2 when it could not
        be made because of wrong parameters, 1 when something broke.
    """
    _die_with_parent()
    handler = logging.StreamHandler()
    handler.setFormatter(Formatter('[%(levelname)s] [%(name)s] %(message)s'))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    sys.setswitchinterval(SWITCH_S)
    stop = _Stop()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    code = 0
    node: Node | None = None
    added: list[Any] = []
    try:
        rclpy.init(args=[sys.argv[0], *(sys.argv[1:] if args is None else args)],
                   signal_handler_options=SignalHandlerOptions.NO)
        executor = SingleThreadedExecutor()
        _wake_on_signal(executor.wake)
        node = stop.node = make_node()
        executor.add_node(node)
        status = NodeStatus(node)
        added = [status, *_keep_alive(node, status)]
        stop.spinning = True
        code = _spin(node, executor, stop, status)
    except KeyboardInterrupt:
        pass
    except SightplanError as error:
        _say(node, make_node, error)
        code = 2 if error.code in range(2, 10) else 1
    finally:
        stop.spinning = True
        signal.set_wakeup_fd(-1)
        if node is not None:
            _close(node, executor, stop.number)
            for one in added:
                one.close()
            leave(node)
        rclpy.try_shutdown()
    return code


def _keep_alive(node: Node, status: NodeStatus) -> list[Any]:
    """Presence messages of the node, if the launcher asks for them; else nothing."""
    if not os.environ.get(KEEP_ALIVE_VARIABLE):
        return []
    from sightplan_nodes.presence import Presence
    return [Presence(node, status)]


def _spin(node: Node, executor: SingleThreadedExecutor, stop: _Stop, status: NodeStatus) -> int:
    log = LogFile()
    while rclpy.ok() and not stop.requested:
        log.look()
        try:
            executor.spin_once(timeout_sec=0.5)
        except ExternalShutdownException:
            break
        status.turned()
        if isinstance(node, EndingNode) and node.exit_code is not None:
            return int(node.exit_code)
    return 0


def _close(node: Node, executor: SingleThreadedExecutor, stop_signal: int) -> None:
    """Let the node close, with ROS still at work: it may have to wait for replies."""
    node.stop_signal = stop_signal
    if not isinstance(node, ClosingNode):
        return
    closer = threading.Thread(target=node.close, name='close', daemon=True)
    closer.start()
    while closer.is_alive() and rclpy.ok():
        with contextlib.suppress(ExternalShutdownException):
            executor.spin_once(timeout_sec=0.05)


def leave(node: Node) -> None:
    """Remove the node from the graph at once, so that others do not wait for it.

    rclpy leaves actions out, whose handles would keep the node there until others give it up.
    """
    for action in [w for w in node.waitables if isinstance(w, ActionServer | ActionClient)]:
        action.destroy()
    node.destroy_node()


def _say(node: Node | None, make_node: Callable[[], Node], error: SightplanError) -> None:
    if node is not None:
        node.get_logger().fatal(without_secrets(text(str(error))))
    else:
        name = getattr(make_node, '__name__', 'node')
        sys.stderr.write(f'{name} cannot start: {without_secrets(str(error))}\n')


def main(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> None:
    """Run one node and leave the process, even while a thread of its is in a long computation."""
    code = 1
    try:
        code = run(make_node, args)
    except Exception as error:
        said = refused_by_keys(error, os.environ)
        if said:
            _say(None, make_node, SightplanError(f'{said} ({" ".join(str(error).split())})'))
        else:
            logging.getLogger(__name__).exception('the node broke')
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
