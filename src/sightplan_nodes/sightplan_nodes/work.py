"""Blocking work beside the executor: a thread whose results are awaited, or sent as replies."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, runtime_checkable

from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.task import Future

from sightplan.model import DeadlineError, InfrastructureError, SightplanError
from sightplan.records.messages import text
from sightplan_nodes.failures import error_text, fill_error
from sightplan_nodes.without_executor import NoExecutorGroup, take_request

T = TypeVar('T')

_WATCH_S = 0.5
"""Period in which a waiting thread checks whether its node was destroyed [s]."""
_PAUSE_S = 0.05
"""Pause of the thread after a request that cannot be taken [s]."""

_WALL_CLOCK = Clock(clock_type=ClockType.STEADY_TIME)


class Worker:
    """One daemon thread that does one job after another.

    A callback that blocks would stop the single-threaded executor, so that no other request, no
    cancellation and no shutdown gets through. ``await worker.call(...)`` does the job in the
    thread instead.
    """

    def __init__(self, node: Node, name: str) -> None:
        """Start the thread.

        Args:
            node: whose executor awaits the results.
            name: of the thread, and of the worker in error messages.
        """
        self._node, self.name = node, name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._closing, self._ending = threading.Lock(), False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def call(self, function: Callable[[], T], timeout_s: float | None = None) -> T:
        """Do a job and return what it returns; awaited by a callback of the node.

        Args:
            function: the job.
            timeout_s: wall-clock limit [s], waiting for earlier jobs included. When it passes,
                the caller is released; a job that has begun goes on (threads cannot be
                stopped), one that has not is dropped.

        Raises:
            DeadlineError: the limit has passed.
            InfrastructureError: the worker was closed before.
            Exception: whatever the job raised.
        """
        future: Future = Future()
        lock = threading.Lock()

        def settle(error: BaseException | None, value: T | None = None) -> None:
            with lock:
                if future.done():
                    return
                if error is not None:
                    future.set_exception(error)
                else:
                    future.set_result(value)
            executor = self._node.executor
            if executor is not None:
                executor.wake()

        def job() -> None:
            if future.done():
                return
            try:
                value = function()
            except BaseException as error:  # it belongs to the caller, whatever it is
                settle(error)
            else:
                settle(None, value)

        if not self.submit(job):
            raise InfrastructureError(f'{self.name} was stopped')
        timer = None
        if timeout_s is not None:
            late = DeadlineError(f'{self.name} was not done within {timeout_s:g} s')
            timer = self._node.create_timer(timeout_s, lambda: settle(late), clock=_WALL_CLOCK)
        try:
            result: T = await future
        finally:
            if timer is not None:
                self._node.destroy_timer(timer)
        return result

    def submit(self, function: Callable[[], Any]) -> bool:
        """Queue a job whose result nobody waits for; exceptions that it raises are logged.

        Returns:
            Whether it will be done: not after ``close``.
        """
        with self._closing:
            if not self._ending:
                self._jobs.put(function)
            return not self._ending

    @property
    def waiting(self) -> int:
        """Number of jobs that wait for the one under way."""
        return self._jobs.qsize()

    def close(self, timeout_s: float = 5.0) -> bool:
        """Do the jobs that wait, then end the thread; any thread may call it more than once.

        Returns:
            Whether it ended within the time limit.
        """
        with self._closing:
            self._ending = True
            self._jobs.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                job()
            except Exception as error:  # the next jobs shall be done all the same
                self._node.get_logger().error(f'{self.name}: {error_text(error)}')


@runtime_checkable
class _Limited(Protocol):
    """A request that says how long it may take."""

    timeout_s: float
    """Wall-clock limit [s]; 0: the service's own."""


@dataclass(eq=False, slots=True)
class _Waiting:
    """A request that has no reply yet, and when it is late, by the monotonic clock [s]."""

    request: Any
    header: Any
    limit_s: float
    end: float


class WorkerService:
    """A service that a worker answers, beside the executor: nothing goes through its turns.

    A thread takes the requests and hands them to the worker, which sends the replies itself. A
    request that is late is answered with DeadlineError by the thread, one that is open when the
    service closes with InfrastructureError: if the worker has begun it goes on (threads cannot be
    stopped), else the request is dropped.
    """

    def __init__(self, node: Node, srv_type: Any, name: str, worker: Worker,
                 answer: Callable[[Any, Any, float], None], default_s: float = math.inf,
                 grace_s: float = 0.0) -> None:
        """Create the service and start to answer requests.

        Args:
            node: offers the service.
            srv_type: its type; the responses have the error fields.
            name: its name.
            worker: answers.
            answer: fills the response to a request within the rest of its wall-clock limit [s],
                in the worker's thread; what it raises becomes the reply.
            default_s: wall-clock limit [s], waiting for earlier jobs included, of a request whose
                ``timeout_s`` is missing or not above zero.
            grace_s: a request is late this long after its limit [s].
        """
        self._node, self._worker, self._response = node, worker, srv_type.Response
        self._answer, self._default_s, self._grace_s = answer, default_s, grace_s
        self._lock, self._close_lock = threading.Lock(), threading.Lock()
        self._open: set[_Waiting] = set()
        self._closing = False
        self._wake = GuardCondition(None, None, node.context)
        self._service = node.create_service(
            srv_type, name, lambda request, response: response, callback_group=NoExecutorGroup())
        self._thread = threading.Thread(target=self._receive, name=name, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering requests; any thread may call this, also more than once."""
        with self._close_lock:
            if self._closing:
                return
            self._closing = True
            self._wake.trigger()
            self._thread.join()
            for waiting in list(self._open):
                self._fail(waiting, InfrastructureError(f'{self._worker.name} was stopped'))
            self._node.destroy_service(self._service)
            self._wake.destroy()

    def _receive(self) -> None:
        while not self._closing:
            with self._lock:
                end = min((waiting.end for waiting in self._open), default=math.inf)
            left_s = min(_WATCH_S, max(0.0, end - time.monotonic()))
            try:
                taken = take_request(self._node, self._service, self._wake, left_s)
                if taken is not None:
                    self._accept(*taken)
            except Exception as error:
                if isinstance(error, InvalidHandle) or not self._node.context.ok():
                    return  # the node was destroyed, or ROS has shut down
                self._node.get_logger().error(
                    f'a request of {self._service.srv_name} is lost: {error_text(error)}')
                time.sleep(_PAUSE_S)
            for waiting in list(self._open):
                if time.monotonic() >= waiting.end:
                    self._fail(waiting, DeadlineError(
                        f'{self._worker.name} was not done within {waiting.limit_s:g} s'))

    def _accept(self, request: Any, header: Any) -> None:
        asked_s = request.timeout_s if isinstance(request, _Limited) else 0.0
        limit_s = (asked_s if asked_s > 0.0 else self._default_s) + self._grace_s
        waiting = _Waiting(request, header, limit_s, time.monotonic() + limit_s)
        with self._lock:
            self._open.add(waiting)
        if not self._worker.submit(partial(self._work, waiting)):
            self._fail(waiting, InfrastructureError(f'{self._worker.name} was stopped'))

    def _work(self, waiting: _Waiting) -> None:
        left_s = waiting.end - time.monotonic()
        if waiting not in self._open or left_s <= 0.0:
            return
        response = self._response()
        try:
            self._answer(waiting.request, response, max(0.0, left_s - self._grace_s))
            self._reply(waiting, response)
        except Exception as error:
            self._fail(waiting, error, response if isinstance(error, SightplanError) else None)

    def _fail(self, waiting: _Waiting, error: Exception, begun: Any = None) -> None:
        """Reply with an error.

        Args:
            waiting: the request.
            error: why it failed.
            begun: the response as far as it was filled, such as with what the work cost; None
                where it may be what cannot be sent.
        """
        response = fill_error(self._response() if begun is None else begun, error)
        try:
            if self._reply(waiting, response):
                self._node.get_logger().error(response.error_msg)
        except Exception as lost:
            self._node.get_logger().error(text(f'{response.error_msg} cannot be sent: {lost}'))
            with self._lock:
                self._open.discard(waiting)

    def _reply(self, waiting: _Waiting, response: Any) -> bool:
        """Send the reply, unless there was one; returns whether it was sent."""
        with self._lock:
            if waiting not in self._open:
                return False
            self._service.send_response(response, waiting.header)
            self._open.remove(waiting)
            return True
