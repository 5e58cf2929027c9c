"""Blocking work beside the executor: a thread whose results can be awaited in callbacks."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from sightplan.model import DeadlineError

T = TypeVar('T')

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
        self._node, self._name = node, name
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
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

        timer = None
        if timeout_s is not None:
            late = DeadlineError(f'{self._name} was not done within {timeout_s:g} s')
            timer = self._node.create_timer(timeout_s, lambda: settle(late), clock=_WALL_CLOCK)
        self._jobs.put(job)
        try:
            result: T = await future
        finally:
            if timer is not None:
                self._node.destroy_timer(timer)
        return result

    def submit(self, function: Callable[[], Any]) -> None:
        """Do a job some time, in order, with nobody waiting; it must not raise."""
        self._jobs.put(function)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Do the jobs that wait, then end the thread.

        Returns:
            Whether it ended within the time limit.
        """
        self._jobs.put(None)
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
