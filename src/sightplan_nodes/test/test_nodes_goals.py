"""One goal of an action at a time, also when two come at once."""

from __future__ import annotations

import threading

from rclpy.action import ActionServer, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from sightplan_interfaces.action import ExecuteSkill

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan.model import CancelledError, WorldError
from sightplan_nodes.calls import ActionCaller
from sightplan_nodes.goals import OneGoal
from sightplan_nodes.spin import leave


def test_a_goal_counts_from_its_acceptance() -> None:
    """Not from when its work begins, which the executor may put off."""
    slot = OneGoal()
    meanwhile = []

    class Handle:
        is_cancel_requested = True

        def execute(self) -> None:
            meanwhile.append(slot.accept(None))

    assert slot.accept(None) is GoalResponse.ACCEPT
    assert not slot.cancelled
    slot.take(Handle())
    assert meanwhile == [GoalResponse.REJECT]
    assert slot.cancelled
    slot.release()
    assert slot.accept(None) is GoalResponse.ACCEPT
    assert not slot.cancelled


class Server(Node):
    """Works on a goal until it is told that it is done."""

    def __init__(self) -> None:
        super().__init__('server')
        self.slot = OneGoal()
        self.begun = 0
        self.done = Future()
        self.server = ActionServer(self, ExecuteSkill, 'skill', self._run,
                                   goal_callback=self.slot.accept,
                                   handle_accepted_callback=self.slot.take)

    async def _run(self, handle) -> ExecuteSkill.Result:
        self.begun += 1
        await self.done
        self.slot.release()
        handle.succeed()
        return ExecuteSkill.Result()


def test_of_many_goals_at_once_one_is_taken() -> None:
    server = Server()
    clients = [Node(f'client_{number}') for number in range(4)]
    callers = [ActionCaller(client, ExecuteSkill, 'skill', 'server') for client in clients]
    outcomes: list[object] = []

    def call(caller: ActionCaller) -> None:
        try:
            outcomes.append(caller(ExecuteSkill.Goal(), LIMIT_S))
        except WorldError as error:
            outcomes.append(error)

    with spinning(server, *clients):
        for caller in callers:
            caller.wait_until_there(LIMIT_S)
            caller._introduce(LIMIT_S, lambda: False)
        hold = threading.Event()
        held = threading.Event()
        # All goals are there before the server looks at the first.
        server.executor.create_task(lambda: (held.set(), hold.wait(LIMIT_S)))
        assert held.wait(LIMIT_S)
        threads = [threading.Thread(target=call, args=(caller,)) for caller in callers]
        for thread in threads:
            thread.start()
        eventually(lambda: all(len(c._client._pending_goal_requests) for c in callers), 'requests')
        hold.set()
        eventually(lambda: len(outcomes) == 3, 'refusals')
        assert all('busy' in str(outcome) for outcome in outcomes)
        assert server.begun == 1
        server.executor.create_task(lambda: server.done.set_result(None))
        for thread in threads:
            thread.join(LIMIT_S)
        assert isinstance(outcomes[3], ExecuteSkill.Result)
        server.done = Future()
        server.done.set_result(None)
        assert isinstance(callers[0](ExecuteSkill.Goal(), LIMIT_S), ExecuteSkill.Result)


def test_a_server_that_leaves_is_not_waited_for() -> None:
    """When a graph is stopped all nodes go at once: a cancelled goal's result may never come."""
    server, client = Server(), Node('client')
    caller = ActionCaller(client, ExecuteSkill, 'skill', 'server')
    with spinning(client):
        executor = SingleThreadedExecutor()
        executor.add_node(server)
        caught: list[BaseException] = []

        left, awaited = threading.Event(), threading.Event()

        def cancelled() -> bool:
            if server.begun:
                awaited.set()  # it waits for the result now
            return left.is_set()

        def call() -> None:
            try:
                caller(ExecuteSkill.Goal(), LIMIT_S, cancelled, cancel_timeout_s=100 * LIMIT_S)
            except CancelledError as error:
                caught.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        while not awaited.is_set():
            executor.spin_once(timeout_sec=0.1)
        executor.remove_node(server)
        leave(server)
        left.set()
        thread.join(LIMIT_S)
    assert 'cancelled while' in str(caught[0])
