"""The queue before a served model: bounded, by picture, with deadlines.

One thread asks the model. It takes the request that has waited longest, and with it all others
that ask yes/no questions about the same observation in the same words, so that the picture is
encoded once for all of them. Between passes of bounded size it looks whether anybody still waits.
"""

from __future__ import annotations

import dataclasses
import logging
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sightplan.model import BackendError, SightplanError, Usage, used_between
from sightplan.model.query import Deadline, Model, Query, Reply
from sightplan.queries import YesNo

_LOG = logging.getLogger(__name__)
_BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


class FullError(Exception):
    """Error where too many requests wait; ``wait_s`` says when to come back [s]."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s


class ClosedError(Exception):
    """The queue takes no more requests, because the server ends."""


@dataclass(eq=False)
class QueuedRequest:
    """A request that waits, or is being answered.

    Attributes:
        queries: what is asked.
        end_s: time of the monotonic clock at which nobody waits any more; None: no limit.
        done: the replies and what they took of the model, or the error.
    """

    queries: list[Query[Any]]
    end_s: float | None
    done: Future[tuple[list[Reply], Usage]] = field(default_factory=Future)
    began_s: float = field(default_factory=time.monotonic)

    @property
    def wanted(self) -> bool:
        """Whether somebody still waits."""
        return not self.done.done() and (self.end_s is None or time.monotonic() < self.end_s)

    @property
    def about(self) -> object:
        """Key of requests that can share a pass: observation and words around the questions."""
        first = self.queries[0]
        if not all(isinstance(one, YesNo) and one.together == first.together
                   for one in self.queries) or not isinstance(first, YesNo):
            return id(self)
        seen = first.observation
        depth = None if seen.depth_m is None else seen.depth_m.tobytes()
        return seen.image_id, seen.text, depth, first.prompt


@dataclass
class Figures:
    """Counts for ``/metrics``, since the start.

    Attributes:
        requests: answered requests.
        failed: requests that ended in an error of the model or of the request.
        refused: requests that found the queue full.
        gone: requests whose client went away, or whose time was over.
        queries: answered queries.
        passes: calls of the model.
        joined: requests that shared a pass with another.
        busy_s: time in the model [s].
        seconds: sum of the times of answered requests, from arrival to reply [s].
        buckets: number of answered requests by the times of ``_BUCKETS_S``, and beyond.
    """

    requests: int = 0
    failed: int = 0
    refused: int = 0
    gone: int = 0
    queries: int = 0
    passes: int = 0
    joined: int = 0
    busy_s: float = 0.0
    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS_S) + 1))

    def answered(self, request: QueuedRequest) -> None:
        """Count an answered request."""
        took_s = time.monotonic() - request.began_s
        self.requests += 1
        self.queries += len(request.queries)
        self.seconds += took_s
        self.buckets[next((number for number, most in enumerate(_BUCKETS_S) if took_s <= most),
                          len(_BUCKETS_S))] += 1


class RequestQueue:
    """Takes requests to one model, and has a thread answer them.

    Args:
        model: it is asked by one thread only.
        most_waiting: requests that may wait; more are refused.
        most_per_pass: queries in one call of the model.
    """

    def __init__(self, model: Model, most_waiting: int = 64, most_per_pass: int = 256) -> None:
        self.model = model
        self.figures = Figures()
        self._most_waiting, self._most_per_pass = most_waiting, most_per_pass
        self._waiting: list[QueuedRequest] = []
        self._under_way: list[QueuedRequest] = []
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name='serve', daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Number of requests that wait."""
        return len(self._waiting)

    @property
    def under_way(self) -> int:
        """Number of requests that the model is at."""
        return len(self._under_way)

    def submit(self, queries: Sequence[Query[Any]], timeout_s: float | None) -> QueuedRequest:
        """Put a request into the queue.

        Raises:
            FullError: too many wait.
            ClosedError: the server ends.
        """
        request = QueuedRequest(list(queries), None if timeout_s is None else
                                time.monotonic() + timeout_s)
        with self._changed:
            if self._closed:
                raise ClosedError
            if len(self._waiting) >= self._most_waiting:
                self.figures.refused += 1
                mean_s = self.figures.busy_s / max(1, self.figures.passes)
                raise FullError(max(1.0, mean_s * len(self._waiting)))
            self._waiting.append(request)
            self._changed.notify()
        return request

    def drop(self, request: QueuedRequest) -> None:
        """Nobody waits for a request any more."""
        with self._changed:
            if request in self._waiting:
                self._waiting.remove(request)
            self.figures.gone += request.done.cancel()

    def close(self) -> None:
        """Take no more requests, answer those that wait, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                about = self._waiting[0].about
                taken = [one for one in self._waiting if one.about == about]
                self._waiting = [one for one in self._waiting if one.about != about]
                self._under_way = taken
            try:
                self._answer(taken)
            finally:
                self._under_way = []

    def _answer(self, requests: list[QueuedRequest]) -> None:
        """Answer requests about one thing together; each alone where that fails."""
        wanted = [request for request in requests if request.wanted]
        self.figures.joined += len(wanted) if len(wanted) > 1 else 0
        try:
            replies, usage = self._ask(wanted)
        except Exception as error:  # a defect must not end the thread that serves all others
            if len(wanted) > 1:
                for request in wanted:
                    self._answer([request])
            elif isinstance(error, SightplanError):
                self._fail(wanted, error)
            else:
                _LOG.exception('the model failed')
                self._fail(wanted, BackendError(
                    f'{self.model.name} failed ({type(error).__name__}); the log of the server '
                    'tells more'))
            return
        if not replies:
            return
        start, total = 0, len(replies)
        for request in wanted:
            end = start + len(request.queries)
            share = Usage(usage.requests * len(request.queries) // total,
                          usage.prompt_tokens * len(request.queries) // total,
                          usage.completion_tokens * len(request.queries) // total)
            if request.done.set_running_or_notify_cancel():
                self.figures.answered(request)
                request.done.set_result((replies[start:end], share))
            start = end

    def _fail(self, requests: Sequence[QueuedRequest], error: Exception) -> None:
        for request in requests:
            if request.done.set_running_or_notify_cancel():
                self.figures.failed += 1
                request.done.set_exception(error)

    def _ask(self, requests: Sequence[QueuedRequest]) -> tuple[list[Reply], Usage]:
        """The replies to all queries of requests; none where nobody waits any more."""
        queries = _merged(requests)
        before = self.model.usage
        replies: list[Reply] = []
        for start in range(0, len(queries), self._most_per_pass):
            if not any(request.wanted for request in requests):
                return [], Usage()
            ends = [request.end_s for request in requests]
            left_s = (None if None in ends else
                      max(end for end in ends if end is not None) - time.monotonic())
            began_s = time.monotonic()
            try:
                replies += self.model.ask(queries[start:start + self._most_per_pass],
                                          Deadline(left_s))
            finally:
                self.figures.passes += 1
                self.figures.busy_s += time.monotonic() - began_s
        return replies, used_between(before, self.model.usage) or Usage()


def _merged(requests: Sequence[QueuedRequest]) -> list[Query[Any]]:
    """The queries of requests; yes/no questions about one observation share its object."""
    queries = [query for request in requests for query in request.queries]
    if len(requests) < 2:
        return queries
    seen = next(query.observation for query in queries if isinstance(query, YesNo))
    return [dataclasses.replace(query, observation=seen) if isinstance(query, YesNo) else query
            for query in queries]


def prometheus(queue: RequestQueue) -> str:
    """The figures of a queue in Prometheus' text format."""
    figures, usage = queue.figures, queue.model.usage or Usage()
    lines: list[str] = []

    def tell(name: str, kind: str, about: str, value: float) -> None:
        full = f'sightplan_serve_{name}'
        lines.extend((f'# HELP {full} {about}', f'# TYPE {full} {kind}', f'{full} {value:.10g}'))

    for name, about, value in (
            ('requests_total', 'Answered requests.', figures.requests),
            ('failed_total', 'Requests that ended in an error.', figures.failed),
            ('refused_total', 'Requests that found the queue full.', figures.refused),
            ('gone_total', 'Requests whose client went away or whose time was over.',
             figures.gone),
            ('queries_total', 'Answered queries.', figures.queries),
            ('passes_total', 'Calls of the model.', figures.passes),
            ('joined_total', 'Requests that shared a call with others.', figures.joined),
            ('busy_seconds_total', 'Time in the model.', figures.busy_s),
            ('prompt_tokens_total', 'Tokens that the model read.', usage.prompt_tokens),
            ('completion_tokens_total', 'Tokens that the model wrote.',
             usage.completion_tokens)):
        tell(name, 'counter', about, value)
    tell('waiting', 'gauge', 'Requests that wait.', queue.waiting)
    tell('under_way', 'gauge', 'Requests that the model is at.', queue.under_way)
    name, total = 'sightplan_serve_request_seconds', 0
    lines.extend((f'# HELP {name} Time of answered requests, from arrival to reply.',
                  f'# TYPE {name} histogram'))
    for most, count in zip((*map(str, _BUCKETS_S), '+Inf'), figures.buckets, strict=True):
        total += count
        lines.append(f'{name}_bucket{{le="{most}"}} {total}')
    lines.extend((f'{name}_sum {figures.seconds:.10g}', f'{name}_count {total}'))
    return '\n'.join(lines) + '\n'
