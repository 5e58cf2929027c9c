"""Blocking service and action calls with deadlines, for threads beside the executor.

A server that was just started, or whose client was, may answer before it has found the client's
side for replies: then the reply is lost, and nobody is told (``client will not receive
response``). So a request that may come twice is sent again after a short time, and before the
first one that may not ``introduce`` makes sure that the server knows this process.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

from action_msgs.msg import GoalStatus
from rcl_interfaces.srv import GetParameters, GetParameterTypes, ListParameters
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from sightplan.model import (
    CancelledError,
    DeadlineError,
    InfrastructureError,
    SpendingCapError,
    WorldError,
)
from sightplan_nodes.failures import raise_error
from sightplan_nodes.without_executor import NoExecutorGroup, take_reply

_POLL_S = 0.05
_AGAIN_S = 1.0
"""Time after which a repeatable request is sent again; then after twice as long, and so
on [s]."""
_NO_PARAMETERS_S = 2.0
"""A server without services for parameters is taken to know this process after this time [s]."""

_GONE_S = 0.3
"""A server that is not there for so long while it is asked has ended: if it starts again, which
takes longer, it does not know the request [s]."""

STOOD_STILL_S = 15.0
"""A process that stood still for so long, since somebody paused it, may have been given up by the
others, after 20 s with Fast DDS: then what was sent to it is lost [s]."""
_GRACE_S = 5.0  # for what came meanwhile to be taken

_SHARED_S = 0.005
"""A thread looks after this time whether another one took its reply [s]."""
_EXECUTOR_S = 10.0  # for the executor to make or destroy a client


def never() -> bool:
    """Say that nothing is cancelled; the default of ``cancelled``."""
    return False


def wait_for(future: Future, timeout_s: float, cancelled: Callable[[], bool] = never) -> bool:
    """Wait in a thread (never in a callback) until a future is done.

    Returns:
        False when the time passed or the work was cancelled first.
    """
    done, end = threading.Event(), time.monotonic() + timeout_s
    future.add_done_callback(lambda _: done.set())
    while not done.wait(min(_POLL_S, max(0.0, end - time.monotonic()))):
        if time.monotonic() >= end or cancelled():
            return bool(future.done())
    return True


@contextlib.contextmanager
def _naming(server: str) -> Iterator[None]:
    """Turn errors that ROS raises while this process closes into one that names the server."""
    try:
        yield
    except InvalidHandle as error:
        raise InfrastructureError(f'{server} cannot be asked any more, because this node is '
                                  'closed') from error
    except rclpy_implementation.RCLError as error:
        raise InfrastructureError(f'{server} cannot be asked any more, because this node is '
                                  f'closed or ROS was shut down: {error}') from error


def run_in_executor(node: Node, function: Callable[[], Any], timeout_s: float,
                    undo: Callable[[Any], Any] | None = None) -> Any:
    """Do a small piece of work in a node's executor's thread, and return what it returns.

    rclpy's action client (unlike its service client) sends a request first and notes it down
    afterwards, without a lock: used from any other thread, it now and then takes the reply for a
    stranger's, and its future never comes true.

    Args:
        node: whose executor does it.
        function: the work; it is dropped if it has not begun in time.
        timeout_s: wall-clock limit [s].
        undo: is given, in the executor's thread, what the function returns too late.

    Raises:
        InfrastructureError: the executor is not spinning (any more).
    """
    executor, late = node.executor, threading.Event()
    task = None if executor is None else executor.create_task(
        lambda: None if late.is_set() else function())
    if task is None or not wait_for(task, timeout_s):
        late.set()
        if task is not None and undo is not None:
            task.add_done_callback(
                lambda done: None if done.result() is None else undo(done.result()))
        raise InfrastructureError(f'{node.get_name()} is not spinning')
    return task.result()


def introduce(node: Node, server: str, timeout_s: float,
              cancelled: Callable[[], bool] = never) -> bool:
    """Wait until another node knows all clients, subscriptions and publishers of this one.

    It is asked for nothing, by a client of its own that is younger than all others: discovery
    keeps their order, so who takes the youngest's request and finds where the reply goes knows
    the others, too.

    Args:
        node: this node; its executor must spin in another thread.
        server: relative name of the other node. One that serves no parameters cannot be asked;
            it is given some time.
        timeout_s: wall-clock limit [s].
        cancelled: polled.

    Returns:
        False when the time passed or the work was cancelled first.
    """
    end = time.monotonic() + timeout_s

    def destroy(asking: _Client) -> None:
        node.destroy_client(asking.client)
    asking = run_in_executor(node, lambda: _Client(
        node, GetParameterTypes, f'{server}/get_parameter_types', server), _EXECUTOR_S, destroy)
    try:
        while not asking.is_there():
            if time.monotonic() > end - timeout_s + _NO_PARAMETERS_S:
                return True
            if time.monotonic() >= end or cancelled():
                return False
            time.sleep(_POLL_S / 5)
        return asking.ask(GetParameterTypes.Request(), end, cancelled, _AGAIN_S) is not None
    finally:
        run_in_executor(node, lambda: destroy(asking), _EXECUTOR_S)


def _processes_of(node: Node, service: str) -> frozenset[bytes]:
    """Ids of the processes that serve a service; empty where the middleware does not say.

    One that was killed is among them for some time, beside the one that was started again.

    Args:
        node: this node.
        service: its name.
    """
    return frozenset(
        bytes(end.endpoint_gid) for end in node.get_subscriptions_info_by_topic(
            f'rq{node.resolve_service_name(service)}Request', no_mangle=True))


class _Process:
    """Detects that the process that was asked has ended, also while the graph still lists it.

    It also detects that this process stood still meanwhile, so that its reply may be lost.

    Args:
        found: what tells the processes apart that are on the graph.
    """

    def __init__(self, found: Callable[[], frozenset[bytes]]) -> None:
        self._found, self._first, self._seen = found, found(), time.monotonic()
        self._alone, self._ended = self._seen, False
        self._looked, self._stood_still, self._until = self._seen, 0.0, math.inf

    @property
    def gone(self) -> bool:
        """Whether it has ended; else, if it is taken to have, this process stood still."""
        return self._ended

    def look(self) -> None:
        """Start anew, so that the time before this call is not taken for a standstill."""
        self._looked = time.monotonic()

    def words(self, server: str, doing: str) -> str:
        """Return the error message for a process that has ended."""
        if self._ended:
            return f'{server} went away while it {doing}'
        return (f'this process stood still for {self._stood_still:.0f} s while {server} {doing}: '
                'the reply may be lost')

    def ended(self) -> bool:
        """Return whether the process has ended; once true, it stays true."""
        at = time.monotonic()
        if at - self._looked > STOOD_STILL_S:
            self._stood_still, self._until = at - self._looked, at + _GRACE_S
        self._looked = at
        return self._gone() or at > self._until

    def _gone(self) -> bool:
        now, at = self._found(), time.monotonic()
        self._first = self._first or now
        if self._first & now or not self._first:  # one that was killed before leaves late
            self._seen = at
        if now <= self._first:
            self._alone = at
        self._ended = self._ended or at - min(self._seen, self._alone) > _GONE_S
        return self._ended


class _Client:
    """A service client whose replies are taken by the threads that wait for them."""

    def __init__(self, node: Node, srv_type: Any, name: str, server: str) -> None:
        self._node, self.server, self._taking = node, server, threading.Lock()
        self.client = node.create_client(srv_type, name, callback_group=NoExecutorGroup())

    def is_there(self) -> bool:
        """Whether the service is discovered.

        Raises:
            InfrastructureError: this node was closed; names the server.
        """
        with _naming(self.server):
            return bool(self.client.service_is_ready())

    def processes(self) -> frozenset[bytes]:
        """Ids of the processes that serve it.

        Raises:
            InfrastructureError: this node was closed; names the server.
        """
        with _naming(self.server):
            return _processes_of(self._node, self.client.srv_name)

    def ask(self, request: Any, end: float, cancelled: Callable[[], bool],
            again_s: float = math.inf) -> Any:
        """Send a request and wait for the reply.

        Args:
            request: the request.
            end: until when to wait, by the monotonic clock [s].
            cancelled: polled.
            again_s: when to send it again [s]; then after twice as long, and so on.

        Returns:
            the reply; None: there was none in time.

        Raises:
            InfrastructureError: this node was closed, or the server ended or was started again
                and the request is not sent again; names the server.
        """
        futures: list[Future] = []
        send = -math.inf
        process = None if math.isfinite(again_s) else _Process(self.processes)
        try:
            while True:
                with _naming(self.server):
                    if (now := time.monotonic()) >= send:
                        futures.append(self.client.call_async(request))
                        send, again_s = now + again_s, 2 * again_s
                    self._take(max(0.0, min(_POLL_S, end - now, send - now)))
                for future in futures:
                    if future.done():
                        return future.result()
                if time.monotonic() >= end or cancelled():
                    return None
                if process is not None and process.ended():
                    raise InfrastructureError(process.words(
                        self.server, f'was asked {self.client.srv_name}'))
        finally:
            for future in futures:
                self.client.remove_pending_request(future)

    def _take(self, timeout_s: float) -> None:
        """Wait for one reply, which may be for another thread."""
        if self._taking.acquire(timeout=_SHARED_S):  # another thread may get this one's reply
            try:
                take_reply(self._node, self.client, timeout_s)
            finally:
                self._taking.release()


class _Caller:
    """Base of the clients of services and of actions."""

    def __init__(self, node: Node, name: str, server: str, kind: str) -> None:
        self.server = server
        self._node, self._name, self._kind = node, name, kind
        self._introduced: frozenset[bytes] | None = None  # to which processes of the server

    def is_there(self) -> bool:
        """Whether the server is discovered.

        Raises:
            InfrastructureError: this node was closed; names the server.
        """
        raise NotImplementedError

    def _processes(self) -> frozenset[bytes]:
        """Ids of the processes that serve it."""
        raise NotImplementedError

    def wait_until_there(self, timeout_s: float, cancelled: Callable[[], bool] = never) -> None:
        """Wait until the server is discovered.

        Raises:
            DeadlineError: it is not there in time; names the node.
            CancelledError: cancelled while waiting.
            InfrastructureError: this node was closed; names the server's.
        """
        end = time.monotonic() + timeout_s
        while not self.is_there():
            self._introduced = None  # the next one is another process, perhaps
            self._check(cancelled)
            if time.monotonic() >= end:
                raise DeadlineError(
                    f'{self.server} is not there: no {self._kind} {self._name} within '
                    f'{timeout_s:g} s; is the node running in this ROS domain?')
            time.sleep(_POLL_S / 5)

    def _introduce(self, timeout_s: float, cancelled: Callable[[], bool]) -> None:
        """Wait until the server knows this client, so that its reply will arrive.

        Raises:
            DeadlineError: the server is not there, or silent.
            CancelledError: cancelled while waiting.
        """
        end = time.monotonic() + timeout_s
        self.wait_until_there(timeout_s, cancelled)
        now = self._processes()
        if self._introduced != now:
            if not introduce(self._node, self.server, end - time.monotonic(), cancelled):
                self._check(cancelled)
                raise self._silent(timeout_s)
            self._introduced = now

    def _check(self, cancelled: Callable[[], bool]) -> None:
        if cancelled():
            raise CancelledError(f'cancelled while waiting for {self.server}')

    def checked(self, *arguments: Any) -> Any:
        """The reply to a call with these arguments; an error in the reply is raised.

        Raises:
            SightplanError: that of the reply, or of the call.
        """
        reply = self(*arguments)
        raise_error(reply, self.server)
        return reply

    def __call__(self, *arguments: Any) -> Any:
        """Ask the server, and wait for the reply."""
        raise NotImplementedError

    def _silent(self, timeout_s: float) -> DeadlineError:
        return DeadlineError(f'{self.server} did not answer {self._name} within {timeout_s:g} s; '
                             'it hangs or has died')


class ServiceCaller(_Caller):
    """A service client whose calls block a thread until a deadline; errors name the server."""

    def __init__(self, node: Node, srv_type: Any, name: str, server: str,
                 repeatable: bool = False) -> None:
        """Create the client.

        Args:
            node: owns the client; its executor must spin in another thread.
            srv_type: the service's type.
            name: relative name of the service.
            server: relative name of the node that serves it.
            repeatable: whether a request may come twice.
        """
        self._asking = _Client(node, srv_type, name, server)
        super().__init__(node, self._asking.client.srv_name, server, 'service')
        self._repeatable = repeatable

    def checked(self, request: Any, timeout_s: float, cancelled: Callable[[], bool] = never,
                received: Callable[[Any], None] = lambda reply: None) -> Any:
        """The reply to a call; contract in the base class. ``received`` is given it in any case.

        A server that is being stopped may reply that the request was cancelled. If this client
        has not cancelled it, the error is an InfrastructureError.
        """
        try:
            reply = self(request, timeout_s, cancelled)
            received(reply)
            raise_error(reply, self.server)
            return reply
        except CancelledError as error:
            if isinstance(error, SpendingCapError) or cancelled():
                raise
            raise InfrastructureError(f'{self.server} gave up by itself what it was asked, as one '
                                      f'does that is being stopped: {error}') from error

    def is_there(self) -> bool:
        """Whether the server is discovered; contract in the base class."""
        return self._asking.is_there()

    def _processes(self) -> frozenset[bytes]:
        return self._asking.processes()

    def __call__(self, request: Any, timeout_s: float,
                 cancelled: Callable[[], bool] = never) -> Any:
        """Call the service and wait for the reply.

        Raises:
            DeadlineError: no reply in time, or no such server; names the node.
            CancelledError: cancelled while waiting.
            InfrastructureError: this node was closed; names the server's.
        """
        end = time.monotonic() + timeout_s
        if self._repeatable:
            self.wait_until_there(timeout_s, cancelled)
        else:
            self._introduce(timeout_s, cancelled)
        reply = self._asking.ask(request, end, cancelled,
                                 _AGAIN_S if self._repeatable else math.inf)
        if reply is None:
            self._check(cancelled)
            raise self._silent(timeout_s)
        return reply


class ParameterReader:
    """Reads the parameters of another node."""

    def __init__(self, node: Node, name: str, timeout_s: float) -> None:
        """Create the clients.

        Args:
            node: owns them; its executor must spin in another thread.
            name: relative name of the other node.
            timeout_s: limit of each call [s].
        """
        self._timeout_s = timeout_s
        self._list = ServiceCaller(node, ListParameters, f'{name}/list_parameters', name,
                                   repeatable=True)
        self._get = ServiceCaller(node, GetParameters, f'{name}/get_parameters', name,
                                  repeatable=True)

    def read(self, startup_s: float, cancelled: Callable[[], bool] = never,
             names: Collection[str] = ()) -> dict[str, Any]:
        """Return the values of parameters by name.

        Args:
            startup_s: limit for the node to be there [s].
            cancelled: polled.
            names: only these, as far as it has them; empty: all.

        Raises:
            DeadlineError: the node is not there or does not answer.
        """
        self._list.wait_until_there(startup_s, cancelled)
        found = self._list(ListParameters.Request(), self._timeout_s, cancelled).result.names
        found = [name for name in found if not names or name in names]
        values = self._get(GetParameters.Request(names=found), self._timeout_s, cancelled).values
        return {name: _plain(parameter_value_to_python(value))
                for name, value in zip(found, values, strict=True)}


def _plain(value: Any) -> Any:
    """A parameter value as plain JSON data."""
    return value if isinstance(value, (str, int, float, bool)) or value is None else list(value)


class ActionCaller(_Caller):
    """An action client whose goals block a thread until deadlines; errors name the server."""

    def __init__(self, node: Node, action_type: Any, name: str, server: str) -> None:
        """Create the client; arguments as in ServiceCaller."""
        super().__init__(node, name, server, 'action')
        self._client = ActionClient(
            node, action_type, name, callback_group=ReentrantCallbackGroup())

    def is_there(self) -> bool:
        """Whether the server is discovered; contract in the base class."""
        with _naming(self.server):
            return bool(self._client.server_is_ready())

    def _processes(self) -> frozenset[bytes]:
        with _naming(self.server):
            return _processes_of(self._node, f'{self._name}/_action/send_goal')

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
            InfrastructureError: the server ended, or was restarted, before the result.
            WorldError: the server refused the goal.
        """
        self._introduce(accept_timeout_s, cancelled)
        process = _Process(self._processes)
        listener = None if feedback is None else lambda message: feedback(message.feedback)
        sending = run_in_executor(
            self._node, lambda: self._client.send_goal_async(goal, listener), accept_timeout_s,
            undo=_cancel_when_accepted)
        if not wait_for(sending, accept_timeout_s, lambda: cancelled() and not self.is_there()):
            if self._node.executor is not None:
                self._node.executor.create_task(_cancel_when_accepted, sending)
            self._check(cancelled)
            raise DeadlineError(f'{self.server} did not accept a goal of {self._name} within '
                                f'{accept_timeout_s:g} s; it hangs or has died')
        handle = sending.result()
        if not handle.accepted:
            raise WorldError(f'{self.server} refused a goal of {self._name}: it is '
                             'busy with another one; wait until that ends, or cancel it')
        result = run_in_executor(self._node, handle.get_result_async, accept_timeout_s)
        process.look()
        if not wait_for(result, timeout_s, lambda: cancelled() or process.ended()):
            asked = cancelled()
            if process.ended() and not asked:
                if not process.gone:  # it goes on, for nobody
                    self._node.executor.create_task(handle.cancel_goal_async)
                raise InfrastructureError(process.words(self.server, f'ran {self._name}'))
            run_in_executor(self._node, handle.cancel_goal_async, cancel_timeout_s)
            if not wait_for(result, cancel_timeout_s, lambda: not self.is_there()):
                if asked:
                    raise CancelledError(f'cancelled while {self.server} ran {self._name}')
                raise DeadlineError(
                    f'{self.server} did not finish {self._name} within {timeout_s:g} s; it hangs '
                    'or has died')
            if not asked:
                raise DeadlineError(f'{self.server} did not finish {self._name} within '
                                    f'{timeout_s:g} s and was cancelled')
        reply = result.result()
        if reply.status == GoalStatus.STATUS_UNKNOWN:
            raise DeadlineError(f'{self.server} kept the result of {self._name} no longer: this '
                                'process asked for it too late')
        return reply.result


def _cancel_when_accepted(sending: Future) -> None:
    """Cancel a goal as soon as it is accepted, because its sender no longer waits."""
    def cancel(done: Future) -> None:
        if done.result().accepted:
            done.result().cancel_goal_async()
    sending.add_done_callback(cancel)
