"""Blocking service and action calls with deadlines, for threads beside the executor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from sightplan.model import CancelledError, DeadlineError, InfrastructureError, WorldError

_POLL_S = 0.05


def never() -> bool:
    """Not cancelled."""
    return False


def wait_for(future: Future, timeout_s: float, cancelled: Callable[[], bool] = never) -> bool:
    """Wait in a thread (never in a callback) until a future is done.

    Returns:
        False when the time passed or the work was cancelled first.
    """
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    end = time.monotonic() + timeout_s
    while not done.wait(min(_POLL_S, max(0.0, end - time.monotonic()))):
        if time.monotonic() >= end or cancelled():
            return future.done()
    return True


class ExecutorThread:
    """Runs small pieces of work in the executor's thread, for other threads.

    rclpy's action client (unlike its service client) sends a request first and notes it down
    afterwards, without a lock: used from any other thread, it now and then takes the reply for a
    stranger's, and its future never comes true.
    """

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(self, function: Callable[[], Any], timeout_s: float) -> Any:
        """What ``function`` returns.

        Raises:
            InfrastructureError: the executor is not spinning (any more).
        """
        executor = self._node.executor
        task = None if executor is None else executor.create_task(function)
        if task is None or not wait_for(task, timeout_s):
            raise InfrastructureError(f'{self._node.get_name()} is not spinning')
        return task.result()


class ServiceCaller:
    """A service client whose calls block a thread, with a deadline, and name who is silent."""

    def __init__(self, node: Node, srv_type: Any, name: str, server: str) -> None:
        """Create the client.

        Args:
            node: owns the client; its executor must spin in another thread.
            srv_type: the service's type.
            name: relative name of the service.
            server: name of the node that serves it, for messages.
        """
        self.server = server
        self._client = node.create_client(
            srv_type, name, callback_group=ReentrantCallbackGroup())

    def wait_until_there(self, timeout_s: float, cancelled: Callable[[], bool] = never) -> None:
        """Wait until the server is discovered.

        Raises:
            DeadlineError: it is not there in time; names the node.
            CancelledError: cancelled while waiting.
        """
        end = time.monotonic() + timeout_s
        while not self._client.service_is_ready():
            if cancelled():
                raise CancelledError(f'cancelled while waiting for {self.server}')
            if time.monotonic() >= end:
                raise DeadlineError(
                    f'{self.server} is not there: no service {self._client.srv_name} within '
                    f'{timeout_s:g} s; is the node running in this ROS domain?')
            time.sleep(_POLL_S / 5)

    def __call__(self, request: Any, timeout_s: float,
                 cancelled: Callable[[], bool] = never) -> Any:
        """Call the service and wait for the reply.

        Raises:
            DeadlineError: no reply in time, or no such server; names the node.
            CancelledError: cancelled while waiting.
        """
        end = time.monotonic() + timeout_s
        if not self._client.service_is_ready():
            self.wait_until_there(timeout_s, cancelled)
        future = self._client.call_async(request)
        if not wait_for(future, end - time.monotonic(), cancelled):
            self._client.remove_pending_request(future)
            if cancelled():
                raise CancelledError(f'cancelled while waiting for {self.server}')
            raise DeadlineError(f'{self.server} did not answer {self._client.srv_name} within '
                                f'{timeout_s:g} s; it hangs or has died')
        return future.result()


class ActionCaller:
    """An action client whose goals block a thread, with deadlines, and name who is silent."""

    def __init__(self, node: Node, action_type: Any, name: str, server: str) -> None:
        """Create the client; arguments as in ServiceCaller."""
        self.server, self._name = server, name
        self._executor = ExecutorThread(node)
        self._client = ActionClient(
            node, action_type, name, callback_group=ReentrantCallbackGroup())

    def wait_until_there(self, timeout_s: float, cancelled: Callable[[], bool] = never) -> None:
        """Wait until the server is discovered.

        Raises:
            DeadlineError: it is not there in time; names the node.
            CancelledError: cancelled while waiting.
        """
        end = time.monotonic() + timeout_s
        while not self._client.server_is_ready():
            if cancelled():
                raise CancelledError(f'cancelled while waiting for {self.server}')
            if time.monotonic() >= end:
                raise DeadlineError(f'{self.server} is not there: no action {self._name} within '
                                    f'{timeout_s:g} s; is the node running in this ROS domain?')
            time.sleep(_POLL_S / 5)

    def __call__(self, goal: Any, timeout_s: float, cancelled: Callable[[], bool] = never,
                 feedback: Callable[[Any], None] | None = None,
                 accept_timeout_s: float = 10.0, cancel_timeout_s: float = 5.0) -> Any:
        """Send a goal and wait for its result.

        Args:
            goal: the goal message.
            timeout_s: limit from acceptance to result [s].
            cancelled: polled; once true the goal is cancelled and its result awaited.
            feedback: called with each feedback message, in the executor's thread.
            accept_timeout_s: limit for the server to appear and to accept [s].
            cancel_timeout_s: limit for the result after a cancellation [s]; a server that
                disappears is not waited for.

        Raises:
            DeadlineError: a limit has passed; names the node.
            CancelledError: cancelled, and the server did not deliver a result any more.
            WorldError: the server refused the goal.
        """
        self.wait_until_there(accept_timeout_s, cancelled)
        listener = None if feedback is None else lambda message: feedback(message.feedback)
        sending = self._executor.run(lambda: self._client.send_goal_async(goal, listener),
                                     accept_timeout_s)
        if not wait_for(sending, accept_timeout_s, lambda: cancelled() and self._is_gone()):
            if cancelled():
                raise CancelledError(f'cancelled while waiting for {self.server}')
            raise DeadlineError(f'{self.server} did not accept a goal of {self._name} within '
                                f'{accept_timeout_s:g} s; it hangs or has died')
        handle = sending.result()
        if not handle.accepted:
            raise WorldError(f'{self.server} refused a goal of {self._name}: it is busy')
        result = self._executor.run(handle.get_result_async, accept_timeout_s)
        if not wait_for(result, timeout_s, cancelled):
            asked = cancelled()
            self._executor.run(handle.cancel_goal_async, cancel_timeout_s)
            if not wait_for(result, cancel_timeout_s, self._is_gone):
                if asked:
                    raise CancelledError(f'cancelled while {self.server} ran {self._name}')
                raise DeadlineError(
                    f'{self.server} did not finish {self._name} within {timeout_s:g} s; it hangs '
                    'or has died')
            if not asked:
                raise DeadlineError(f'{self.server} did not finish {self._name} within '
                                    f'{timeout_s:g} s and was cancelled')
        return result.result().result

    def _is_gone(self) -> bool:
        return not self._client.server_is_ready()
