"""The local web server of the labelling page: this machine only, and only who has the address."""

from __future__ import annotations

import json
import logging
import secrets
import socketserver
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from sightplan.labelling.labels import ValueField
from sightplan.labelling.session import LabellingSession
from sightplan.model import InputError, SightplanError
from sightplan.model.reading import Record, validated

HOST = '127.0.0.1'
_PAGE = Path(__file__).parent / 'page'
_FILES = {'': ('label.html', 'text/html'), 'label.css': ('label.css', 'text/css'),
          'label.js': ('label.js', 'text/javascript')}
_MOST_BYTES = 4096  # of a request's body; a label has some hundred
_PATIENCE_S = 60  # with a connection on which nothing comes
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


class _RefusedError(Exception):
    """A request that is not served: status and words."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class _LabelRequest(Record):
    """What the page sends."""

    image: str
    atom: str
    label: ValueField


class LabelServer(ThreadingHTTPServer):
    """Serves one labelling session on the loopback device.

    Every path begins with a secret that only the printed address holds. Requests that name another
    host (a foreign page whose name was pointed here), come from another origin, or ask for a path
    that is not in a fixed table are refused; nothing is read from the disk by a name in a request.
    """

    daemon_threads = True

    def __init__(self, session: LabellingSession, port: int = 0,
                 on_label: Callable[[], None] = lambda: None) -> None:
        """Listen; ``serve_forever`` serves.

        Args:
            session: what is served.
            port: 0 for any free one.
            on_label: called after each label that was saved.

        Raises:
            InputError: the port cannot be used.
        """
        self.session = session
        self.token = secrets.token_urlsafe(18)
        self.on_label = on_label
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else 'no such port'
            raise InputError(f'--port {port}: cannot be used ({reason}); give another one, or '
                             f'leave it out') from error

    def server_bind(self) -> None:
        """Bind without asking a name server what this machine is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    @property
    def url(self) -> str:
        """The address to open."""
        return f'http://{HOST}:{self.server_port}/{self.token}/'

    @property
    def hosts(self) -> frozenset[str]:
        """What requests may call this machine."""
        return frozenset(f'{name}:{self.server_port}' for name in (HOST, 'localhost'))

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note what a connection died of."""
        _log.info('connection lost', exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = 'HTTP/1.1'
    server_version, sys_version = 'sightplan', ''
    timeout = _PATIENCE_S
    disable_nagle_algorithm = True  # else headers and body of a reply come 40 ms apart
    server: LabelServer

    def do_GET(self) -> None:
        """Serve the page, the session, and pictures."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Take labels."""
        self._answer(self._post)

    def do_HEAD(self) -> None:
        """Refuse: there is nothing that a page needs this for; likewise those below."""
        self._answer(self._no_method)

    do_OPTIONS = do_PUT = do_PATCH = do_DELETE = do_TRACE = do_CONNECT = do_HEAD  # noqa: N815

    def _no_method(self, path: str) -> tuple[bytes, str]:
        raise _RefusedError(HTTPStatus.METHOD_NOT_ALLOWED, 'only GET and POST are served')

    def send_error(self, code: int, message: str | None = None,
                   explain: str | None = None) -> None:
        """Refuse what cannot be read as a request, with the headers of every reply."""
        self.close_connection = True
        status = HTTPStatus(code)
        self._reply(status, _json({'error': status.phrase}), 'application/json')

    def _answer(self, work: Callable[[str], tuple[bytes, str]]) -> None:
        status, kind = HTTPStatus.OK, 'application/json'
        try:
            body, kind = work(self._admitted_path())
        except _RefusedError as error:
            status, body = error.status, _json({'error': str(error)})
        except SightplanError as error:
            status, body = HTTPStatus.INTERNAL_SERVER_ERROR, _json({'error': str(error)})
        except (ConnectionError, TimeoutError):
            raise
        except Exception:  # a defect; the page says it and tries again
            _log.exception('request failed')
            status, body = HTTPStatus.INTERNAL_SERVER_ERROR, _json({'error': 'internal error'})
        if status != HTTPStatus.OK:
            self.close_connection = True  # its body may not have been read
        self._reply(status, body, kind)

    def _reply(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
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
        if self.headers.get('Host') not in self.server.hosts:
            raise _RefusedError(HTTPStatus.FORBIDDEN, f'open http://{HOST} or http://localhost at '
                                'the very port that "sightplan label" printed (forward the same '
                                'port through a tunnel)')
        origin = self.headers.get('Origin')
        if origin is not None and origin not in {f'http://{host}' for host in self.server.hosts}:
            raise _RefusedError(HTTPStatus.FORBIDDEN, 'this page belongs to another origin')
        token, _, path = self.path.partition('?')[0].removeprefix('/').partition('/')
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise _RefusedError(HTTPStatus.FORBIDDEN, 'open the whole address that "sightplan '
                                'label" printed; each start has another one')
        if path and self.headers.get('Sec-Fetch-Site', 'none') not in ('none', 'same-origin'):
            raise _RefusedError(HTTPStatus.FORBIDDEN, 'asked by another site')
        return path

    def _get(self, path: str) -> tuple[bytes, str]:
        if path in _FILES:
            name, kind = _FILES[path]
            return (_PAGE / name).read_bytes(), kind
        if path == 'session':
            return _json(self.server.session.overview()), 'application/json'
        folder, _, name = path.partition('/')
        if folder == 'pictures':
            try:
                return self.server.session.picture(name), 'image/png'
            except KeyError as error:
                raise _RefusedError(HTTPStatus.NOT_FOUND, 'no such picture') from error
            except InputError as error:
                raise _RefusedError(HTTPStatus.NOT_FOUND, str(error)) from error
        raise _RefusedError(HTTPStatus.NOT_FOUND, 'no such page')

    def _post(self, path: str) -> tuple[bytes, str]:
        if path != 'label':
            raise _RefusedError(HTTPStatus.NOT_FOUND, 'no such page')
        try:
            entry = validated(_LabelRequest, self._body(), 'request')
        except InputError as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, str(error)) from error
        try:
            reply = self.server.session.label(entry.image, entry.atom, entry.label)
        except KeyError as error:
            raise _RefusedError(HTTPStatus.NOT_FOUND, 'this is not to be labelled') from error
        self.server.on_label()
        return _json(reply), 'application/json'

    def _body(self) -> Any:
        # A foreign page can send this kind only after a preflight, which is never granted.
        if self.headers.get_content_type() != 'application/json':
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, 'send application/json')
        length = self.headers.get('Content-Length', '')
        if not (length.isascii() and length.isdigit()):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, 'say the length of the body')
        if len(length) > 9 or int(length) > _MOST_BYTES:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                                f'a label has at most {_MOST_BYTES} bytes')
        data = self.rfile.read(int(length))
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f'is not JSON ({error})') from error

    def log_message(self, format: str, *values: object) -> None:  # noqa: A002
        """Note requests without their address, which holds the secret."""
        _log.debug('%s %s', self.command, values[-2] if len(values) > 1 else '')


def _json(content: Any) -> bytes:
    return json.dumps(content, allow_nan=False).encode()
