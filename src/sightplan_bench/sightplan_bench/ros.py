"""Round trip of ``grounder/ground`` against the in-process call (part of ``sightplan bench``).

    python -m sightplan_bench.ros

Starts the node ``grounder`` as a process of its own in a free ROS domain, asks it and a backend
in this process the same questions about the same image, and prints one JSON object.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from sightplan.domains import load_domain
from sightplan.graphs.up import graph_environment
from sightplan.grounding import BackendGrounder
from sightplan.model import EpisodeSpec
from sightplan.runs import make_world
from sightplan.vlm import make_backend
from sightplan_nodes.ports import Deadlines, RosGrounder
from sightplan_nodes.spin import SWITCH_S

N = TypeVar('N', bound=Node)

DOMAIN, QUESTIONS, REPEATS, START_S, STOP_S = 'blocksworld', 60, 30, 120.0, 10.0


@contextlib.contextmanager
def grounder_process() -> Iterator[None]:
    """The node with its default backend, ended with the context."""
    process = subprocess.Popen(
        [sys.executable, '-c', 'from sightplan_nodes.grounder import main; main()'],
        start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def spinning_node(make: Callable[[], N]) -> Iterator[N]:
    """A node of this process whose executor spins in a thread."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is the caller's
    sys.setswitchinterval(SWITCH_S)  # as nodes do
    node = make()
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            while rclpy.ok():
                executor.spin_once(timeout_sec=0.2)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        rclpy.shutdown()
        thread.join(STOP_S)


def alternate(first: Callable[[], Any], second: Callable[[], Any]) -> tuple[float, float]:
    """Median milliseconds of two calls, taken in turn, so that both meet the same machine."""
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(REPEATS + 1):
        for call, taken in zip((first, second), times, strict=True):
            start = time.perf_counter()
            call()
            if repeat:  # the first is for warming up
                taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1])


def main() -> None:
    """Measure and print."""
    domain = load_domain(DOMAIN)
    problem = domain.split_problems('hard')[0]
    world = make_world(DOMAIN)
    world.reset(EpisodeSpec('bench', problem, 'ground'))
    observation = world.observe()
    questions = [domain.question(atom) for atom in domain.model(problem).atoms[:QUESTIONS]]
    here = BackendGrounder(make_backend('embedded'))
    with contextlib.ExitStack() as stack:
        os.environ.update(graph_environment(os.environ, stack))
        stack.enter_context(grounder_process())
        there = RosGrounder(stack.enter_context(spinning_node(lambda: Node('bench'))), Deadlines())
        there.wait_until_there(START_S)
        in_process, ros = alternate(lambda: here.ground(observation, questions),
                                    lambda: there.ground(observation, questions))
    print(json.dumps({'ground_in_process_ms': round(in_process, 2),
                      'ground_ros_ms': round(ros, 2),
                      'ground_ros_over_in_process': round(ros / in_process, 2)}))


if __name__ == '__main__':
    main()
