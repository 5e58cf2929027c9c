"""Programs that ask a running graph one thing, and print the answer as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sightplan.graphs.up import enclave_arguments, refused_by_keys
from sightplan.model import SightplanError
from sightplan.model.redaction import without_secrets
from sightplan_nodes.spin import leave

N = TypeVar('N', bound=Node)
R = TypeVar('R')


def answer_request(name: str, read: Callable[[dict[str, Any]], R], make: Callable[[], N],
                   ask: Callable[[N, R], dict[str, Any]]) -> int:
    """Carry out the request in the first argument (JSON), print the answer, and return 0.

    An error is an answer, too: an object with ``error`` and ``code``.

    Args:
        name: of the node, whose enclave it has where there is security.
        read: reads the request.
        make: makes the node.
        ask: asks; the node spins meanwhile.
    """
    try:
        request = read(json.loads(sys.argv[1]))
        rclpy.init(args=[sys.argv[0], '--ros-args', *enclave_arguments(name, os.environ)],
                   signal_handler_options=SignalHandlerOptions.NO)
        try:
            node = make()
            with _spinning(node):
                answer = ask(node, request)
            leave(node)
        finally:
            rclpy.try_shutdown()
    except SightplanError as error:
        answer = {'error': without_secrets(str(error)), 'code': type(error).code}
    except Exception as error:
        said = refused_by_keys(error, os.environ)
        if not said:
            sys.stderr.write(without_secrets(traceback.format_exc()))
            said = f'{type(error).__name__}: {error}'
        answer = {'error': without_secrets(f'{name}: {said}'), 'code': SightplanError.code}
    print(f'\n{json.dumps(answer)}')  # on a line of its own: DDS writes there, too
    return 0


@contextmanager
def _spinning(node: Node) -> Iterator[None]:
    """Spin a node in a thread of its own while the context lasts."""
    executor, ended = SingleThreadedExecutor(), threading.Event()
    executor.add_node(node)

    def spin() -> None:
        while not ended.is_set():
            executor.spin_once(timeout_sec=0.1)
    thread = threading.Thread(target=spin, name='executor', daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        executor.wake()
        thread.join(5.0)
