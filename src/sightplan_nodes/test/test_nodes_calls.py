"""Calls between nodes that have not found each other yet."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.service import Service
from rclpy.task import Future
from sightplan_interfaces.action import ExecuteSkill
from sightplan_interfaces.srv import Plan
from std_srvs.srv import Trigger

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan.model import (
    CancelledError,
    DeadlineError,
    InfrastructureError,
    SpendingCapError,
    WorldError,
)
from sightplan_nodes import calls
from sightplan_nodes.calls import ActionCaller, ServiceCaller, introduce, never, run_in_executor
from sightplan_nodes.failures import fill_error, raise_error

SERVICE = 'server/do'


class Server(Node):
    """Counts requests."""

    def __init__(self, **options: object) -> None:
        super().__init__('server', **options)
        self.requests = 0
        self.create_service(Trigger, '~/do', self._do)

    def _do(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self.requests += 1
        response.message = str(self.requests)
        return response


class Losses:
    """Loses replies as a server does that has not found the client yet."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: dict[str, int] = {}
        self.lost: list[str] = []
        send = Service.send_response

        def send_or_lose(service: Service, response: object, header: object) -> None:
            name = service.srv_name.rpartition('/')[2]
            if self.left.get(name, 0):
                self.left[name] -= 1
                self.lost.append(name)
            else:
                send(service, response, header)
        monkeypatch.setattr(Service, 'send_response', send_or_lose)
        monkeypatch.setattr(calls, '_AGAIN_S', 0.1)


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> Iterator[Losses]:
    return Losses(monkeypatch)


def test_a_request_that_may_come_twice_is_sent_again(losses: Losses) -> None:
    server, client = Server(), Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server', repeatable=True)
    losses.left = {'do': 2}
    with spinning(server, client):
        assert call(Trigger.Request(), LIMIT_S).message in ('3', '4')
    assert losses.lost == ['do'] * 2


def test_a_request_that_may_not_waits_until_its_reply_will_come(losses: Losses) -> None:
    server, client = Server(), Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    losses.left = {'get_parameter_types': 3}
    with spinning(server, client):
        assert [call(Trigger.Request(), LIMIT_S).message for _ in range(3)] == ['1', '2', '3']
        assert not [c for c in client.clients if 'get_parameter_types' in c.srv_name]
    assert losses.lost == ['get_parameter_types'] * 3, 'asked before the first call only'


def test_who_is_gone_and_comes_back_is_asked_anew(losses: Losses) -> None:
    client = Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    with spinning(client):
        for _ in range(2):
            losses.left = {'get_parameter_types': 1}
            server = Server()
            with spinning(server):
                assert call(Trigger.Request(), LIMIT_S).message == '1'
            with pytest.raises(DeadlineError, match='server is not there: no service'):
                call(Trigger.Request(), 0.2)
    assert losses.lost == ['get_parameter_types'] * 2


def test_who_was_killed_and_started_again_is_asked_anew(losses: Losses) -> None:
    """The killed one is on the graph still, and nobody has seen that it was not there."""
    client, killed = Node('client'), Server()
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    with spinning(client):
        with spinning(killed):
            assert call(Trigger.Request(), LIMIT_S).message == '1'
            again = Server()
        with spinning(again):
            losses.left = {'get_parameter_types': 1}
            assert call(Trigger.Request(), LIMIT_S).message == '1'
    assert losses.lost == ['get_parameter_types'], 'it was introduced to the second one'


def test_who_is_killed_while_it_is_asked_and_started_again_is_named_at_once() -> None:
    client, killed = Node('client'), Server()
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    failed: list[Exception] = []
    with spinning(client):
        with spinning(killed):
            assert call(Trigger.Request(), LIMIT_S).message == '1'
            call._asking.client.call_async = lambda request: Future()  # it dies: nobody gets it

            def ask() -> None:
                try:
                    call(Trigger.Request(), LIMIT_S)
                except Exception as error:
                    failed.append(error)
            asking = threading.Thread(target=ask)
            asking.start()
            time.sleep(0.1)
            again = Server()
            asking.join(LIMIT_S)
        again.destroy_node()
    (error,) = failed
    assert type(error) is InfrastructureError
    assert str(error) == 'server went away while it was asked server/do'


def test_who_goes_away_while_it_is_asked_is_named_at_once() -> None:
    """Not after the limit: one that starts again does not know the request."""
    server, client = Server(), Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    failed: list[Exception] = []
    with spinning(client):
        with spinning(server):
            assert call(Trigger.Request(), LIMIT_S).message == '1'

        def ask() -> None:
            try:
                call(Trigger.Request(), LIMIT_S)
            except Exception as error:
                failed.append(error)
        server = Server()  # nobody spins it: it hangs
        call._introduced = call._processes()
        asking = threading.Thread(target=ask)
        asking.start()
        eventually(lambda: len(call._asking.client._pending_requests) == 1, 'the request')
        server.destroy_node()
        asking.join(LIMIT_S)
    (error,) = failed
    assert type(error) is InfrastructureError, error
    assert str(error) == 'server went away while it was asked server/do'


def test_a_server_without_parameters_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, '_NO_PARAMETERS_S', 0.1)
    server, client = Server(start_parameter_services=False), Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    with spinning(server, client):
        assert call(Trigger.Request(), LIMIT_S).message == '1'


def test_a_silent_server_is_named() -> None:
    server, client = Server(), Node('client')
    once, again = (ServiceCaller(client, Trigger, SERVICE, 'server', repeatable)
                   for repeatable in (False, True))
    with spinning(client):  # the server does not spin
        for call in (once, again):
            with pytest.raises(DeadlineError, match='server did not answer server/do within 0.3'):
                call(Trigger.Request(), 0.3)
            with pytest.raises(CancelledError, match='waiting for server'):
                call(Trigger.Request(), LIMIT_S, lambda: True)
        assert not introduce(client, 'server', 0.3)
    server.destroy_node()


@pytest.mark.parametrize(('given', 'wanted', 'raised'), [
    (CancelledError('cancelled while waiting for sim'), False, InfrastructureError),
    (CancelledError('cancelled while waiting for sim'), True, CancelledError),
    (SpendingCapError('the limit is reached'), False, SpendingCapError)])
def test_a_server_that_gives_up_by_itself_was_not_cancelled(
        monkeypatch: pytest.MonkeyPatch, given: Exception, wanted: bool,
        raised: type[Exception]) -> None:
    client = Node('client')
    call = ServiceCaller(client, Plan, SERVICE, 'server')
    monkeypatch.setattr(ServiceCaller, '__call__', lambda *_: fill_error(Plan.Response(), given))
    with pytest.raises(raised, match=str(given)) as caught:
        call.checked(Plan.Request(), LIMIT_S, lambda: wanted)
    assert type(caught.value) is raised
    client.destroy_node()


def test_a_goal_is_sent_once_its_reply_will_come(losses: Losses) -> None:
    server, client = Node('server'), Node('client')
    goals: list[object] = []

    def execute(handle: object) -> ExecuteSkill.Result:
        goals.append(handle)
        handle.succeed()
        return ExecuteSkill.Result(message='done')
    ActionServer(server, ExecuteSkill, 'act', execute)
    call = ActionCaller(client, ExecuteSkill, 'act', 'server')
    losses.left = {'get_parameter_types': 2}
    with spinning(server, client):
        assert call(ExecuteSkill.Goal(), LIMIT_S).message == 'done'
    assert (len(goals), len(losses.lost)) == (1, 2)


def test_a_result_that_was_asked_for_too_late_is_an_error(
        monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = Node('server'), Node('client')

    def execute(handle: object) -> ExecuteSkill.Result:
        handle.succeed()
        return ExecuteSkill.Result()
    acting = ActionServer(server, ExecuteSkill, 'act', execute, result_timeout=0)
    call = ActionCaller(client, ExecuteSkill, 'act', 'server')
    ask = calls.run_in_executor

    def late(node: Node, function: Callable, *arguments: object, **options: object) -> object:
        if getattr(function, '__name__', '') == 'get_result_async':
            eventually(lambda: not acting._goal_handles, 'the end of the goal')
        return ask(node, function, *arguments, **options)
    monkeypatch.setattr(calls, 'run_in_executor', late)
    with spinning(server, client), pytest.raises(DeadlineError, match='asked for it too late'):
        call(ExecuteSkill.Goal(), LIMIT_S)


def test_a_goal_that_is_accepted_too_late_is_cancelled() -> None:
    server, client = Node('server'), Node('client')
    accept, ended = threading.Event(), threading.Event()
    cancelled: list[bool] = []

    def accepted(goal: object) -> GoalResponse:
        accept.wait(LIMIT_S)
        return GoalResponse.ACCEPT

    def execute(handle: ServerGoalHandle) -> ExecuteSkill.Result:
        end = time.monotonic() + LIMIT_S
        while not handle.is_cancel_requested and time.monotonic() < end:
            time.sleep(0.01)
        cancelled.append(handle.is_cancel_requested)
        handle.abort()
        ended.set()
        return ExecuteSkill.Result()
    group = ReentrantCallbackGroup()
    ActionServer(server, ExecuteSkill, 'act', execute, goal_callback=accepted,
                 cancel_callback=lambda _: CancelResponse.ACCEPT, callback_group=group)
    call = ActionCaller(client, ExecuteSkill, 'act', 'server')
    executor = MultiThreadedExecutor(3)
    executor.add_node(server)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    with spinning(client):
        call._introduce(LIMIT_S, never)
        with pytest.raises(DeadlineError, match='did not accept a goal'):
            call(ExecuteSkill.Goal(), LIMIT_S, accept_timeout_s=0.3)
        accept.set()
        assert ended.wait(LIMIT_S)
    executor.shutdown()
    thread.join()
    server.destroy_node()
    assert cancelled == [True]


def test_a_goal_ends_when_the_process_that_took_it_was_killed_and_restarted(
        monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = Node('server'), Node('client')
    again: list[Node] = []
    process = calls._Process

    def restarted_after(found: Callable[[], frozenset[bytes]]) -> calls._Process:
        eventually(found, 'the first process')
        first = process(found)
        again.append(Node('server'))  # the first one is on the graph still: it was killed
        ActionServer(again[0], ExecuteSkill, 'act', lambda _: ExecuteSkill.Result())
        return first
    monkeypatch.setattr(calls, '_Process', restarted_after)
    ActionServer(server, ExecuteSkill, 'act', lambda _: ExecuteSkill.Result(),
                 handle_accepted_callback=lambda _: None)
    call = ActionCaller(client, ExecuteSkill, 'act', 'server')
    with spinning(server, client), pytest.raises(
            InfrastructureError, match='server went away while it ran act'):
        call(ExecuteSkill.Goal(), LIMIT_S)
    again[0].destroy_node()


def test_a_process_has_ended_when_another_one_is_there() -> None:
    found: set[bytes] = set()
    process = calls._Process(lambda: frozenset(found))
    assert not process.ended(), 'not discovered yet'
    found.add(b'first')
    assert not process.ended()
    found.add(b'second')
    assert not process.ended(), 'it may be one that was killed before, and is told of late'
    process._alone -= 1.0
    assert process.ended()
    found.remove(b'second')
    assert process.ended(), 'it stays so'


def test_a_process_has_ended_when_it_is_not_there_for_a_while(
        monkeypatch: pytest.MonkeyPatch) -> None:
    found = {b'first'}
    process = calls._Process(lambda: frozenset(found))
    found.clear()
    monkeypatch.setattr(calls, '_GONE_S', math.inf)
    assert not process.ended()
    monkeypatch.setattr(calls, '_GONE_S', -1.0)
    assert process.ended()


def test_one_that_was_killed_before_may_leave_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {b'killed', b'asked'}
    process = calls._Process(lambda: frozenset(found))
    monkeypatch.setattr(calls, '_GONE_S', 0.5)
    found.remove(b'killed')
    process._seen -= 1.0
    assert not process.ended()
    found.clear()
    process._seen -= 1.0
    assert process.ended()


def test_who_stood_still_gives_up_after_what_came_meanwhile_was_taken() -> None:
    process = calls._Process(lambda: frozenset({b'asked'}))
    process._looked -= calls.STOOD_STILL_S - 1.0
    assert not process.ended(), 'a busy computer'
    assert math.isinf(process._until)
    process._looked -= 25.0
    assert not process.ended(), 'what came meanwhile is taken first'
    process._until -= calls._GRACE_S
    assert process.ended()
    assert process.words('agent', 'ran it') == (
        'this process stood still for 25 s while agent ran it: the reply may be lost')
    process._ended = True
    assert process.words('agent', 'ran it') == 'agent went away while it ran it'


@pytest.mark.parametrize(('message', 'said'), [
    ('no image came', 'agent: no image came'),
    ('agent: no image came', 'agent: no image came'),
    ('arm_bridge: the arm holds', 'arm_bridge: the arm holds'),
    ('bag_player: no bag', 'bag_player: no bag'),
    ('arm_bridge does not know what is on its table',
     'arm_bridge does not know what is on its table')])
def test_an_error_names_one_node(message: str, said: str) -> None:
    with pytest.raises(WorldError) as raised:
        raise_error(fill_error(ExecuteSkill.Result(), WorldError(message)), 'agent')
    assert str(raised.value) == said


def test_a_call_of_a_closed_node_names_the_server() -> None:
    server, client = Server(), Node('client')
    service = ServiceCaller(client, Trigger, SERVICE, 'server', repeatable=True)
    action = ActionCaller(client, ExecuteSkill, 'act', 'server')
    service.wait_until_there(LIMIT_S)
    said = 'server cannot be asked any more, because this node is closed$'
    with pytest.raises(InfrastructureError, match=said):
        service._asking.ask(Trigger.Request(), math.inf, lambda: client.destroy_node() is not None)
    for call, request in ((service, Trigger.Request()), (action, ExecuteSkill.Goal())):
        with pytest.raises(InfrastructureError, match=said):
            call(request, LIMIT_S)
    server.destroy_node()


def test_work_that_comes_too_late_is_dropped_or_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    node, done, undone = Node('client'), [], []
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    with pytest.raises(InfrastructureError, match='client is not spinning'):
        run_in_executor(node, lambda: done.append(1), 0.05, undone.append)
    for _ in range(20):
        executor.spin_once(timeout_sec=0.0)
    assert (done, undone) == ([], [])

    go, begun, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        go.wait(LIMIT_S)
        return 'made'

    def undo(made: str) -> None:
        undone.append(made)
        ended.set()

    def spin() -> None:
        end = time.monotonic() + LIMIT_S
        while not ended.is_set() and time.monotonic() < end:
            executor.spin_once(0.1)
    thread = threading.Thread(target=spin)
    thread.start()
    monkeypatch.setattr(calls, 'wait_for', lambda task, timeout_s: not begun.wait(LIMIT_S))
    with pytest.raises(InfrastructureError, match='client is not spinning'):
        run_in_executor(node, work, LIMIT_S, undo)
    go.set()
    thread.join()
    assert undone == ['made']
    node.destroy_node()
    executor.shutdown()


def test_calls_of_several_threads_do_not_disturb_each_other() -> None:
    server, client = Server(), Node('client')
    call = ServiceCaller(client, Trigger, SERVICE, 'server')
    replies: list[str] = []
    with spinning(server, client):
        threads = [threading.Thread(target=lambda: replies.append(
            call(Trigger.Request(), LIMIT_S).message)) for _ in range(8)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + LIMIT_S
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
    assert sorted(replies) == [str(number) for number in range(1, 9)]
