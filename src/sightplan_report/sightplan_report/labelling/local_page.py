"""Local pages: served to this machine alone, and only to people who have the address."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import socketserver
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from sightplan.model import InputError, SightplanError
from sightplan.model.json_text import load_json

HOST = '127.0.0.1'
MOST_BYTES = 4096
"""Largest size of a request's body [bytes]; a label has some hundred."""
_PATIENCE_S = 60  # after which a silent connection is closed
_HEADERS = {
    'Content-Security-Policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
}
_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A request that is not served: status and words, and where to go instead."""

    def __init__(self, status: HTTPStatus, words: str, location: str = '') -> None:
        super().__init__(words)
        self.status, self.location = status, location


class LocalServer(ThreadingHTTPServer):
    """Serves pages on the loopback device.

    Every path begins with a secret that only the printed address holds. Requests that name another
    host (a foreign page whose name was pointed here), come from another origin, or ask for a path
    that the handler does not know are refused; nothing is read from the disk by a name in a
    request.
    """

    daemon_threads = True

    def __init__(self, handler: type[PageHandler], program: str, port: int = 0) -> None:
        """Open the port; ``serve_forever`` answers requests.

        Args:
            handler: answers connections.
            program: command that prints the address, for messages.
            port: 0 for any free one.

        Raises:
            InputError: the port cannot be used.
        """
        self.program = program
        self.token = secrets.token_urlsafe(18)
        self._once = {secrets.token_urlsafe(18)}
        try:
            super().__init__((HOST, port), handler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else 'no such port'
            raise InputError(f'--port {port}: cannot be used ({reason}); give another one, or '
                             f'leave it out') from error

    def server_bind(self) -> None:
        """Bind without asking a name server for this machine's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def url(self) -> str:
        """The address to open."""
        return f'http://{HOST}:{self.server_port}/{self.token}/'

    @property
    def url_once(self) -> str:
        """An address that leads to ``url``, the first time that it is opened.

        For programs that are started with it: other people of the machine see their arguments.
        """
        return f'http://{HOST}:{self.server_port}/{next(iter(self._once), "")}/'

    def is_first(self, token: str) -> bool:
        """Whether it is the secret of ``url_once``, which then holds no more."""
        with contextlib.suppress(KeyError):
            self._once.remove(token)  # one thread alone gets here
            return True
        return False

    @property
    def hosts(self) -> frozenset[str]:
        """Values of the header ``Host`` that are accepted."""
        return frozenset(f'{name}:{self.server_port}' for name in (HOST, 'localhost'))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error that ended a connection."""
        _log.info('connection lost', exc_info=True)


class PageHandler(BaseHTTPRequestHandler):
    """Base class of handlers of one connection; subclasses say what they serve.

    Attributes:
        folder: of the page's files.
        files: path to name and media type of the files that are served.
    """

    folder: ClassVar[Path]
    files: ClassVar[Mapping[str, tuple[str, str]]]

    protocol_version = 'HTTP/1.1'
    server_version, sys_version = 'sightplan', ''
    timeout = _PATIENCE_S
    disable_nagle_algorithm = True  # else headers and body of a reply come 40 ms apart
    server: LocalServer

    def do_GET(self) -> None:
        """Serve the page and its files."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take a person's input."""
        self._answer(self.post)

    def do_HEAD(self) -> None:
        """Refuse this method, which no page needs; the methods below are refused, too."""
        self._answer(self._no_method)

    do_OPTIONS = do_PUT = do_PATCH = do_DELETE = do_TRACE = do_CONNECT = do_HEAD  # noqa: N815

    def _no_method(self, path: str) -> tuple[bytes, str]:
        raise RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, 'only GET and POST are served')

    def send_error(self, code: int, message: str | None = None,
                   explain: str | None = None) -> None:
        """Refuse an unreadable request, with the headers of every reply."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._reply(status, json_bytes({'error': status.phrase}), 'application/json')

    def _answer(self, work: Callable[[str], tuple[bytes, str]]) -> None:
        status, kind, location = HTTPStatus.OK, 'application/json', ''
        try:
            body, kind = work(self._admitted_path())
        except RefusedError as error:
            status, body = error.status, json_bytes({'error': str(error)})
            location = error.location
        except SightplanError as error:
            status, body = HTTPStatus.INTERNAL_SERVER_ERROR, json_bytes({'error': str(error)})
        except (ConnectionError, TimeoutError):
            raise
        except Exception:  # a defect; the page says it and tries again
            _log.exception('request failed')
            status = HTTPStatus.INTERNAL_SERVER_ERROR
            body = json_bytes({'error': 'internal error'})
        if status != HTTPStatus.OK:
            self.close_connection = True  # its body may not have been read
        self._reply(status, body, kind, location)

    def _reply(self, status: HTTPStatus, body: bytes, kind: str, location: str = '') -> None:
        self.send_response(status)
        if location:
            self.send_header('Location', location)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header('Content-Type', kind if kind.startswith('image/')
                         else f'{kind}; charset=utf-8')
        self.send_header('Content-Length', str(len(body)))
        picture = kind.startswith('image/')
        self.send_header('Cache-Control', 'private, max-age=3600' if picture else 'no-store')
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header('Allow', 'GET, POST')
        if self.close_connection:
            self.send_header('Connection', 'close')
        self.end_headers()
        if self.command != 'HEAD':
            self.wfile.write(body)

    def _admitted_path(self) -> str:
        """The path behind the secret, if this request may be served at all."""
        hosts = self.headers.get_all('Host', [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            raise RefusedError(HTTPStatus.FORBIDDEN, f'open http://{HOST} or http://localhost at '
                               f'the very port that "{self.server.program}" printed (forward the '
                               'same port through a tunnel)')
        ours = {f'http://{host}' for host in self.server.hosts}
        if not ours.issuperset(self.headers.get_all('Origin', [])):
            raise RefusedError(HTTPStatus.FORBIDDEN, 'this page belongs to another origin')
        token, _, path = self.path.partition('?')[0].removeprefix('/').partition('/')
        if path == '' and self.command == 'GET' and self.server.is_first(token):
            raise RefusedError(HTTPStatus.SEE_OTHER, 'go to the page', f'/{self.server.token}/')
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise RefusedError(HTTPStatus.FORBIDDEN, 'open the whole address that '
                               f'"{self.server.program}" printed; each start has another one')
        if path and self.headers.get('Sec-Fetch-Site', 'none') not in ('none', 'same-origin'):
            raise RefusedError(HTTPStatus.FORBIDDEN, 'asked by another site')
        return path

    def _get(self, path: str) -> tuple[bytes, str]:
        if path in self.files:
            name, kind = self.files[path]
            return (self.folder / name).read_bytes(), kind
        return self.get(path)

    def get(self, path: str) -> tuple[bytes, str]:
        """Content and media type at a path behind the secret.

        Raises:
            RefusedError: there is nothing.
        """
        raise RefusedError(HTTPStatus.NOT_FOUND, 'no such page')

    def post(self, path: str) -> tuple[bytes, str]:
        """Take the data sent to a path (``body``); returns content and media type of the reply.

        Raises:
            RefusedError: nothing is taken there, or it is wrong.
        """
        raise RefusedError(HTTPStatus.NOT_FOUND, 'no such page')

    def body(self) -> Any:
        """Body of the request, parsed from JSON.

        Raises:
            RefusedError: it is too long, or no JSON.
        """
        # A foreign page can send this kind only after a preflight, which is never granted.
        if self.headers.get_content_type() != 'application/json':
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, 'send application/json')
        length = self.headers.get('Content-Length', '')
        if not (length.isascii() and length.isdigit()):
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, 'say the length of the body')
        if len(length) > 9 or int(length) > MOST_BYTES:
            raise RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                               f'a label has at most {MOST_BYTES} bytes')
        data = self.rfile.read(int(length))
        try:
            return load_json(data)
        except (ValueError, RecursionError) as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f'is not JSON ({error})') from error

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Note requests without their address, which holds the secret."""
        _log.debug('%s %s', self.command, values[-2] if len(values) > 1 else '')


def json_bytes(content: Any) -> bytes:
    """Plain data as the body of a reply."""
    return json.dumps(content, allow_nan=False).encode()
