"""Services that a worker answers, beside the executor."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rclpy.node import Node
from sightplan_interfaces.srv import Plan

from nodes_testing import LIMIT_S, spinning
from sightplan.model import DeadlineError, InfrastructureError
from sightplan_nodes.calls import ServiceCaller
from sightplan_nodes.work import Worker, WorkerService


class Bench:
    """A node with a service, and a client of it; the node's executor does not spin."""

    def __init__(self) -> None:
        self.server, self.client = Node('server'), Node('client')
        self.worker = Worker(self.server, 'server')
        self.answer: Callable[[Any, Any, float], None] = self.echo
        self.service = WorkerService(
            self.server, Plan, '~/plan', self.worker, lambda *request: self.answer(*request),
            lambda request: request.timeout_s or LIMIT_S)
        self.ask = ServiceCaller(self.client, Plan, 'server/plan', 'server', repeatable=True)

    @staticmethod
    def echo(request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        response.message = request.search

    def __call__(self, search: str, timeout_s: float = 0.0) -> Plan.Response:
        return self.ask(Plan.Request(search=search, timeout_s=timeout_s), LIMIT_S)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    with spinning(made.client):
        yield made
        made.service.close()
        made.worker.close()
    made.server.destroy_node()


def test_requests_do_not_wait_for_the_executor(bench: Bench) -> None:
    assert [bench(search).message for search in ('a', 'b')] == ['a', 'b']


def test_what_cannot_be_sent_is_an_error_of_that_request_only(bench: Bench) -> None:
    def odd(request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        response.message = 'half of a pair: \ud83d'
    bench.answer = odd
    reply = bench('a')
    assert reply.error_code == InfrastructureError.code
    assert 'UnicodeEncodeError' in reply.error_msg
    bench.answer = bench.echo
    assert bench('b').message == 'b'


def test_each_request_has_its_own_limit_also_while_it_waits(bench: Bench) -> None:
    go_on, begun = threading.Event(), []

    def slow(request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        begun.append((request.search, limit_s))
        assert go_on.wait(LIMIT_S)
        bench.echo(request, response, limit_s)
    bench.answer = slow
    replies: dict[str, Plan.Response] = {}
    long = threading.Thread(target=lambda: replies.setdefault('long', bench('long', LIMIT_S / 2)))
    long.start()
    while not begun:
        long.join(0.01)
    other = ServiceCaller(bench.client, Plan, 'server/plan', 'server', repeatable=True)
    late = other(Plan.Request(search='short', timeout_s=0.2), LIMIT_S)
    assert (late.error_code, late.error_msg) == (
        DeadlineError.code, 'server was not done within 0.2 s')
    go_on.set()
    long.join(LIMIT_S)
    assert replies['long'].message == 'long'
    assert bench('next').message == 'next'
    assert [search for search, _ in begun] == ['long', 'next'], 'the late one was dropped'


def test_a_closed_service_can_be_opened_again(bench: Bench) -> None:
    bench.service.close()
    with pytest.raises(DeadlineError, match='server is not there'):
        bench.ask(Plan.Request(), 0.3)
    bench.service = WorkerService(bench.server, Plan, '~/plan', bench.worker, bench.echo)
    assert bench('again').message == 'again'
