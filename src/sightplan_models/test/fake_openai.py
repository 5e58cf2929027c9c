"""A local server that speaks OpenAI's protocol, and misbehaves as told."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

from sightplan.model import Atom, GroundingPrompt, Observation, Question
from sightplan.queries import YesNo, yes_no_queries
from sightplan_models._openai_pictures import QUESTION


@dataclass
class Reply:
    """What the server does with a request: HTTP status, headers, body (data is sent as JSON)."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    hang: bool = False


def chat(text: str | None, *, finish: str = 'stop', logprobs: Any = None,
         usage: tuple[int, int] | None = (100, 2), **message: Any) -> Reply:
    """A good reply; ``logprobs``: per token, its text and {other text: probability}."""
    choice: dict[str, Any] = {'index': 0, 'finish_reason': finish,
                              'message': {'role': 'assistant', 'content': text, **message}}
    if logprobs is not None:
        choice['logprobs'] = {'content': [
            {'token': token, 'logprob': math.log(likely[token]), 'bytes': None,
             'top_logprobs': [{'token': other, 'logprob': math.log(share), 'bytes': None}
                              for other, share in likely.items()]}
            for token, likely in logprobs]}
    body: dict[str, Any] = {'id': 'x', 'object': 'chat.completion', 'model': 'fake-2026',
                            'choices': [choice]}
    if usage is not None:
        body['usage'] = {'prompt_tokens': usage[0], 'completion_tokens': usage[1],
                         'total_tokens': sum(usage)}
    return Reply(body)


def error(status: int, message: str, headers: dict[str, str] | None = None,
          **fields: Any) -> Reply:
    """A refusal as OpenAI sends it."""
    return Reply({'error': {'message': message, 'type': 'some_error', 'param': None, 'code': None,
                            **fields}}, status, headers or {})


def said(body: dict[str, Any]) -> list[str]:
    """The texts of the user's message of a request."""
    content = body['messages'][-1]['content']
    return [content] if isinstance(content, str) else [
        part['text'] for part in content if part['type'] == 'text']


def has_picture(body: dict[str, Any]) -> bool:
    """Whether the user's message of a request has a picture."""
    content = body['messages'][-1]['content']
    return isinstance(content, list) and any(part['type'] == 'image_url' for part in content)


def questions(count: int = 1, **prompt: Any) -> list[YesNo]:
    """Yes/no questions about one black picture; ``prompt``: fields of the words around them."""
    return yes_no_queries(Observation(np.zeros((8, 8, 3), np.uint8)), tuple(
        Question(Atom('p', (str(i),)), f'Is it {i}?') for i in range(count)),
            GroundingPrompt('p', **prompt))


RESET = Reply(reset=True)
HANG = Reply(hang=True)
Behaviour = Callable[[dict[str, Any], int], Reply]


class FakeServer:
    """Replies as ``behaviour(body, number)`` says; use as a context manager.

    Attributes:
        bodies: requests, parsed, in the order of arrival.
        headers: their headers, names in lower case.
        state: JSON that it has at paths besides its list of models, such as ``/props``.
        most_at_once: most requests that were under way at a time.
        before_reply: called in the server's thread of each request before it replies.
        most_logprobs: a request for more is refused, and in the list ``refused`` alone.
        owner: owner of its models in their list: servers are known by it.
        endpoints: behaviour at other paths, such as '/apply-template'.
        checks: requests by which a run finds out whether pictures arrive; they are in no other
            list, and ``reply_to_check`` replies to them.
    """

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour: Behaviour = behaviour or (lambda body, number: chat('Yes'))
        self.bodies: list[dict[str, Any]] = []
        self.raw: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.checks: list[dict[str, Any]] = []
        self.reply_to_check: Behaviour = lambda body, number: chat('Red', usage=(
            110 if has_picture(body) else 10, 1))
        self.models: list[str] = ['one', 'two']
        self.state: dict[str, Any] = {}
        self.owner = 'tests'
        self.most_logprobs = 20
        self.refused: list[dict[str, Any]] = []
        self.endpoints: dict[str, Behaviour] = {}
        self.most_at_once = self._at_once = 0
        self.before_reply: Callable[[int], None] = lambda number: None
        self._lock = threading.Lock()
        self._released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def do_POST(self) -> None:
                outer._post(self)

            def do_GET(self) -> None:
                state = {'/v1/models': {'data': [
                    {'id': name, 'owned_by': outer.owner} for name in outer.models]},
                    **outer.state}
                outer._send(self, Reply(state[self.path]) if self.path in state else
                            error(404, 'there is nothing here'))

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(('127.0.0.1', 0), Handler)
        self.url = f'http://127.0.0.1:{self._server.server_port}/v1'
        self._thread = threading.Thread(target=self._server.serve_forever,
                                        kwargs={'poll_interval': 0.02}, daemon=True)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    def release(self) -> None:
        """Let go of the requests that hang."""
        self._released.set()

    def wait_for(self, count: int) -> None:
        """Until so many requests have come."""
        end = time.monotonic() + 240
        while len(self.bodies) < count:
            assert time.monotonic() < end, f'only {len(self.bodies)} requests came'
            time.sleep(0.005)

    def _post(self, handler: BaseHTTPRequestHandler) -> None:
        raw = handler.rfile.read(int(handler.headers['content-length']))
        body = json.loads(raw)
        if other := self.endpoints.get(handler.path):
            self._send(handler, other(body, 0))
            return
        if 'messages' in body and said(body)[-1:] == [QUESTION]:
            self.checks.append(body)
            self._send(handler, self.reply_to_check(body, len(self.checks) - 1))
            return
        if body.get('top_logprobs', 0) > self.most_logprobs:
            self.refused.append(body)
            self._send(handler, error(400, f'top_logprobs must be at most {self.most_logprobs}'))
            return
        with self._lock:
            number = len(self.bodies)
            self.raw.append(raw)
            self.bodies.append(body)
            self.headers.append({key.lower(): value for key, value in handler.headers.items()})
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self.before_reply(number)
            reply = self.behaviour(body, number)
        finally:
            with self._lock:
                self._at_once -= 1
        self._send(handler, reply)

    def _send(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if reply.hang:
            self._released.wait(30)
            handler.close_connection = True
            return
        if reply.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          struct.pack('ii', 1, 0))
            handler.connection.close()
            handler.close_connection = True
            return
        content = (reply.body if isinstance(reply.body, bytes)
                   else json.dumps(reply.body).encode())
        handler.send_response(reply.status)
        for name, value in {'content-type': 'application/json', **reply.headers}.items():
            handler.send_header(name, value)
        handler.send_header('content-length', str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
