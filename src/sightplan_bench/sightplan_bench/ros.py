"""Round trip of ``grounder/ground`` against the in-process call (part of ``sightplan bench``).

    python -m sightplan_bench.ros

Starts the node ``grounder`` as a process of its own in a free ROS domain, asks it and a backend
in this process the same questions about the same image, and prints one JSON object.
"""

from __future__ import annotations

import contextlib
import dataclasses
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
import rclpy.utilities
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import Image

from sightplan.domains import load_domain
from sightplan.graphs.up import graph_environment
from sightplan.grounding import BackendGrounder
from sightplan.model import EpisodeSpec, Observation
from sightplan.runs import make_world
from sightplan.vlm import make_backend
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.remote_model import PublishedPicture, RosModel
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
    """A node of this process with an executor in a thread."""
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # Ctrl-C is the caller's
    sys.setswitchinterval(SWITCH_S)  # as nodes do
    node = make()
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def spin() -> None:
        with contextlib.suppress(ExternalShutdownException):
            while rclpy.utilities.ok():
                executor.spin_once(timeout_sec=0.2)

    thread = threading.Thread(target=spin, daemon=True)
    thread.start()
    try:
        yield node
    finally:
        rclpy.shutdown()
        thread.join(STOP_S)


def alternate(first: Callable[[Observation], Any], second: Callable[[Observation], Any],
              shown: Callable[[int], Observation]) -> tuple[float, float]:
    """Median milliseconds of two calls, taken in turn, so that both meet the same machine.

    Args:
        first: one call.
        second: the other.
        shown: what both are shown, by the number of the repetition.
    """
    times: tuple[list[float], list[float]] = ([], [])
    for repeat in range(REPEATS + 1):
        seen = shown(repeat)
        assert seen.image_id, 'known beforehand, as an agent knows it: it records it'
        for call, taken in zip((first, second), times, strict=True):
            start = time.perf_counter()
            call(seen)
            if repeat:  # the first is for warming up
                taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times[0]), statistics.median(times[1])


def another(seen: Observation, number: int) -> Observation:
    """Copy of an observation with a picture that was not shown before."""
    assert seen.image is not None
    image = seen.image.copy()
    image[0, :number + 1] = 255 - image[0, :number + 1]
    return dataclasses.replace(seen, image=image, _digest=[])


def measure() -> dict[str, float]:
    """Milliseconds of the call in process and over ROS, and their ratios.

    ``ground_*`` is about one picture that both have had before: the model has encoded it, and the
    node is sent its id. ``ground_new_*`` is about a new picture each time, which both have to
    encode, and the node takes from the camera's topic; ``ground_sent_*`` about one that is on no
    topic and travels in the request.
    """
    domain = load_domain(DOMAIN)
    problem = domain.split_problems('hard')[0]
    world = make_world(DOMAIN)
    world.reset(EpisodeSpec('bench', problem, 'ground'))
    observation = world.observe()
    questions = [domain.question(atom) for atom in domain.model(problem).atoms[:QUESTIONS]]
    here = BackendGrounder(make_backend('embedded'))
    found: dict[str, float] = {}
    with contextlib.ExitStack() as stack:
        os.environ.update(graph_environment(os.environ, stack))
        stack.enter_context(grounder_process())
        node = stack.enter_context(spinning_node(lambda: Node('bench')))
        camera = node.create_publisher(Image, names.CAMERA_IMAGE, qos.SENSOR)
        published: dict[str, PublishedPicture] = {}
        model = RosModel(node, names.GROUNDER, published=published.get)
        model.wait_until_there(START_S)
        there = BackendGrounder(model)
        while not camera.get_subscription_count():
            time.sleep(0.05)

        def publish(number: int) -> Observation:
            seen = dataclasses.replace(another(observation, number),
                                       stamp_ns=10**9 * (number + 1))
            assert seen.image is not None
            published[seen.image_id] = PublishedPicture(names.CAMERA_IMAGE, seen.stamp_ns)
            camera.publish(MESSAGES.image_to_msg(seen.image, seen.stamp_ns))
            return seen
        for name, shown in (('ground', lambda number: observation), ('ground_new', publish),
                            ('ground_sent', lambda number: another(observation, 100 + number))):
            in_process, ros = alternate(lambda seen: here.ground(seen, questions),
                                        lambda seen: there.ground(seen, questions), shown)
            found |= {f'{name}_in_process_ms': round(in_process, 2),
                      f'{name}_ros_ms': round(ros, 2),
                      f'{name}_ros_over_in_process': round(ros / in_process, 2)}
    return found


if __name__ == '__main__':
    print(json.dumps(measure()))
