"""Services that a worker answers, beside the executor."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from rclpy.node import Node
from sightplan_interfaces.srv import Plan

from nodes_testing import LIMIT_S, eventually, spinning
from sightplan.model import DeadlineError, InfrastructureError
from sightplan_nodes import work
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
            LIMIT_S)
        self.ask = ServiceCaller(self.client, Plan, 'server/plan', 'server', repeatable=True)

    @staticmethod
    def echo(request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        response.message = request.search

    def __call__(self, search: str, timeout_s: float = 0.0) -> Plan.Response:
        return self.ask(Plan.Request(search=search, timeout_s=timeout_s), LIMIT_S)


class Held:
    """An answer that goes on when it may; the requests that it has begun, with their limits."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.begun: dict[str, float] = {}

    def __call__(self, request: Plan.Request, response: Plan.Response, limit_s: float) -> None:
        self.begun[request.search] = limit_s
        assert self.may_go_on.wait(LIMIT_S)
        Bench.echo(request, response, limit_s)


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


def asked_at_once(bench: Bench, pool: ThreadPoolExecutor, timeout_s: float = 0.0,
                  ) -> tuple[Held, list[Future[Plan.Response]]]:
    """A request that is under way, and one that waits behind it."""
    held = bench.answer = Held()
    first = pool.submit(bench, 'first', timeout_s)
    eventually(lambda: 'first' in held.begun, 'the first request')
    second = pool.submit(bench, 'second', timeout_s)
    eventually(lambda: len(bench.service._open) == 2, 'the second request')
    return held, [first, second]


def test_a_request_that_cannot_be_taken_does_not_end_the_service(
        bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    take, failed = work.take_request, threading.Event()

    def take_or_fail(*arguments: Any) -> Any:
        if failed.is_set():
            return take(*arguments)
        failed.set()
        raise UnicodeDecodeError('utf-8', b'\xff', 0, 1, 'invalid start byte')
    monkeypatch.setattr(work, 'take_request', take_or_fail)
    assert bench('a').message == 'a'  # by the wait that had begun before
    assert failed.wait(LIMIT_S)
    assert bench('b').message == 'b'


def test_a_job_that_fails_does_not_end_the_worker(bench: Bench) -> None:
    def fail() -> None:
        raise RuntimeError('half done')
    done = threading.Event()
    bench.worker.submit(fail)
    bench.worker.submit(done.set)
    assert bench.worker.close()
    assert done.is_set()


def test_a_worker_that_was_closed_refuses_work(bench: Bench) -> None:
    """Whoever awaits a job would wait for ever, since nobody does it any more."""
    assert bench.worker.close()
    assert not bench.worker.submit(lambda: None)
    with pytest.raises(InfrastructureError, match='server was stopped'):
        bench.worker.call(lambda: None).send(None)
    reply = bench('late')
    assert (reply.error_code, reply.error_msg) == (
        InfrastructureError.code, 'server was stopped')


@pytest.mark.parametrize('timeout_s', [math.nan, -1.0, 0.0])
def test_a_limit_that_is_none_stands_for_the_default(bench: Bench, timeout_s: float) -> None:
    held = bench.answer = Held()
    held.may_go_on.set()
    assert bench('a', timeout_s).message == 'a'
    assert LIMIT_S / 2 < held.begun['a'] <= LIMIT_S


def test_waiting_for_earlier_requests_counts(bench: Bench) -> None:
    with ThreadPoolExecutor() as pool:
        held, replies = asked_at_once(bench, pool, LIMIT_S)
        waiting_since = time.monotonic()
        time.sleep(0.05)
        waited_s = time.monotonic() - waiting_since
        held.may_go_on.set()
        assert [reply.result(LIMIT_S).message for reply in replies] == ['first', 'second']
    assert 0.0 < held.begun['second'] < LIMIT_S - waited_s


def test_open_requests_are_answered_when_the_service_closes(bench: Bench) -> None:
    with ThreadPoolExecutor() as pool:
        held, replies = asked_at_once(bench, pool)
        for closing in [pool.submit(bench.service.close) for _ in range(3)]:
            closing.result(LIMIT_S)
        for reply in (waiting.result(LIMIT_S) for waiting in replies):
            assert (reply.error_code, reply.error_msg) == (
                InfrastructureError.code, 'server was stopped')
        held.may_go_on.set()
    assert bench.worker.close()
    assert list(held.begun) == ['first'], 'the one that waited was dropped'
