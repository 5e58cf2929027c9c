"""Programs that ask a running graph one thing, and print the answer as JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sightplan.graphs.graph import beside
from sightplan.graphs.up import refused_by_keys, ros_arguments
from sightplan.model import SightplanError
from sightplan.model.redaction import without_secrets
from sightplan_nodes.spin import leave

N = TypeVar('N', bound=Node)
R = TypeVar('R')


def answer_request(name: str, read: Callable[[dict[str, Any]], R], make: Callable[[], N],
                   ask: Callable[[N, R], dict[str, Any]]) -> int:
    """Carry out the request in the first argument (JSON), print the answer, and return 0.

    The request's ``place`` says where the graph is that is asked: its ``namespace`` and ``remap``.
    An error is an answer, too: an object with ``error`` and ``code``.

    Args:
        name: of the node, whose enclave it has where there is security.
        read: reads the request.
        make: makes the node.
        ask: asks; the node spins meanwhile.
    """
    try:
        given = json.loads(sys.argv[1])
        place = given.pop('place', {})
        request = read(given)
        with spinning_node(name, make, place) as node:
            answer = ask(node, request)
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


def namespaces_with(node: Node, wanted: Collection[str]) -> list[str]:
    """The other namespaces of the ROS domain in which there is one of some nodes, sorted."""
    return sorted({space for name, space in node.get_node_names_and_namespaces()
                   if name in wanted and space != node.get_namespace()})


@contextmanager
def spinning_node(name: str, make: Callable[[], N], place: Mapping[str, str]) -> Iterator[N]:
    """Provide a node that spins in a thread of its own while the context lasts.

    Signals are left to the caller.

    Args:
        name: of the node, whose enclave it has where there is security.
        make: makes the node.
        place: of the graph beside which it stands: ``namespace`` and ``remap``, if any.
    """
    rclpy.init(args=[sys.argv[0], *ros_arguments(beside(name, place), os.environ)],
               signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = make()
        with _spinning(node):
            yield node
        leave(node)
    finally:
        rclpy.try_shutdown()


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
