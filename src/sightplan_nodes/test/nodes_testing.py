"""Helpers and scripted collaborators of the node tests."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
import traceback
from collections.abc import Callable, Iterator

import numpy as np
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Observation,
    PlanningResult,
    PlanningStatus,
    PlanningTask,
    State,
    WorldError,
)
from sightplan_nodes.calls import ServiceCaller
from sightplan_sim.pinhole import CameraInfo

LIMIT_S = 240.0
"""How long a test waits for what must happen; far more than it takes."""


@contextlib.contextmanager
def spinning(*nodes: Node) -> Iterator[None]:
    """Each node has an executor in a thread of its own, as it would in its own process."""
    stop = threading.Event()
    broken: list[BaseException] = []

    def spin(executor: SingleThreadedExecutor) -> None:
        while not stop.is_set():
            try:
                executor.spin_once(timeout_sec=0.1)
            except BaseException as error:
                broken.append(error)
                traceback.print_exc()
                return

    executors, threads = [], []
    for node in nodes:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executors.append(executor)
        threads.append(threading.Thread(target=spin, args=(executor,), daemon=True))
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for node in nodes:
            if hasattr(node, 'close'):
                node.close()
        stop.set()
        for executor, thread in zip(executors, threads, strict=True):
            executor.wake()
            thread.join(LIMIT_S)
        for node, executor in zip(nodes, executors, strict=True):
            executor.remove_node(node)
            node.destroy_node()
            executor.shutdown()
    if broken:
        raise broken[0]


def eventually(check: Callable[[], bool], what: str = 'the condition') -> None:
    """Wait until something holds."""
    end = time.monotonic() + LIMIT_S
    while not check():
        assert time.monotonic() < end, f'{what} did not come true'
        time.sleep(0.01)


def parameters(**values: object) -> list[Parameter]:
    """Parameter overrides; a double underscore stands for a dot."""
    return [Parameter(name.replace('__', '.'), value=value) for name, value in values.items()]


def problem():
    """The domain and its first simple problem."""
    domain = load_domain('blocksworld')
    return domain, domain.split_problems('simple')[0]


class Manager:
    """Asks and manages a lifecycle node."""

    def __init__(self, name: str) -> None:
        self.node = Node('client')
        self._state = ServiceCaller(self.node, GetState, f'{name}/get_state', name)
        self._change = ServiceCaller(self.node, ChangeState, f'{name}/change_state', name)
        self._get = ServiceCaller(self.node, GetParameters, f'{name}/get_parameters', name)

    def state(self) -> int:
        """Id of its lifecycle state."""
        return self._state(GetState.Request(), LIMIT_S).current_state.id

    def change(self, transition: int) -> bool:
        """Whether a transition was made."""
        return self._change(ChangeState.Request(transition=Transition(id=transition)),
                            LIMIT_S).success

    def parameter(self, name: str) -> str:
        """Value of a parameter that is a text."""
        return self._get(GetParameters.Request(names=[name]), LIMIT_S).values[0].string_value


class ScriptedWorld:
    """A world whose image counts what happened to it."""

    renderer = 'scripted'

    def __init__(self) -> None:
        self.log: list[object] = []
        self.fail: Exception | None = None
        self.reject: str = ''
        self.labels = False
        self.visible: tuple[str, ...] | None = None
        self.text: str | None = None
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self._spec: EpisodeSpec | None = None
        self.moves = 0

    def _check(self) -> None:
        assert self.may_go_on.wait(LIMIT_S)
        if self.fail is not None:
            raise self.fail

    def reset(self, spec: EpisodeSpec) -> None:
        self._check()
        self.log.append(spec)
        self._spec, self.moves = spec, 0

    def observe(self) -> Observation:
        if self._spec is None:
            raise WorldError('reset first')
        image = np.full((4, 6, 3), len(self.log) % 256, np.uint8)
        seen = Observation(image=image, stamp_ns=12345, depth_m=np.ones((4, 6), np.float32),
                           visible_objects=self.visible, text=self.text)
        if not self.labels:
            return seen
        labelled = image.copy()
        labelled[0] = 255
        return dataclasses.replace(seen, image=labelled, unlabelled=image)

    def execute(self, action: Action) -> Feedback:
        self.log.append(action)
        self._check()
        if self.reject:
            return Feedback(FeedbackStatus.REJECTED, self.reject)
        self.moves += 1
        return Feedback(FeedbackStatus.EXECUTED)

    def state(self, stamp_ns: int | None = None) -> State:
        assert self._spec is not None
        atoms = sorted(self._spec.problem.init)
        return frozenset(atoms[self.moves:])

    def last_outcome(self) -> str:
        return f'outcome {self.moves}'

    def camera_info(self) -> CameraInfo:
        matrix = np.array([[5.0, 0.0, 2.5], [0.0, 5.0, 1.5], [0.0, 0.0, 1.0]])
        return CameraInfo(6, 4, matrix, np.zeros(5), 'scripted_frame')

    def close(self) -> None:
        self.log.append('closed')


class ScriptedPlanner:
    """A planner that answers what it was told to, when it may."""

    def __init__(self) -> None:
        self.calls: list[tuple[PlanningTask, float]] = []
        self.result: PlanningResult | Exception = PlanningResult(PlanningStatus.UNSOLVABLE)
        self.asked = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.closed = False

    def plan(self, task: PlanningTask, timeout_s: float) -> PlanningResult:
        self.calls.append((task, timeout_s))
        self.asked.set()
        assert self.may_go_on.wait(LIMIT_S)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def close(self) -> None:
        self.closed = True
        self.may_go_on.set()
