"""``sightplan serve``: one model, loaded once, for many workers and robots."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import socket
import sys
import threading
from dataclasses import dataclass
from typing import Any

from sightplan.commands.flags import option
from sightplan.commands.frame import (
    DONE,
    Result,
    add_command,
    emit,
    json_wanted,
    note,
    read_options,
    stop_flag,
)
from sightplan.commands.shared_flags import backend_flag, settings_flag
from sightplan.model import InfrastructureError, InputError
from sightplan_models._loopback import is_loopback

TOKEN = 'SIGHTPLAN_SERVE_TOKEN'
_SERVED, _ACCESS, _LIMITS = 'what is served', 'who may ask', 'limits'
_ABOUT = """\
Load a model once, and answer typed questions about pictures over HTTP: POST /v1/decisions is
OpenAI's, so that its client and the backend decisions can ask; POST /v1/queries answers every kind
of query exactly as the model does in process (backend decisions with wire=sightplan). All
questions about one picture are answered together, also those of several clients. GET /health,
/v1/models and /metrics (Prometheus) tell how it is. One process serves one model; what goes past
one GPU is the work of vLLM or SGLang (backend openai).
"""
_EXAMPLES = """\
examples:
  sightplan serve --backend-option model=Qwen/Qwen3-VL-8B-Instruct
  sightplan serve --backend embedded --port 0
  sightplan run --backend decisions --backend-option wire=sightplan \\
      --backend-option base_url=http://localhost:8765/v1 --split simple --method ground
  SIGHTPLAN_SERVE_TOKEN=... sightplan serve --host 192.168.1.5 --backend-option model=DIR
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeArguments:
    """Arguments of ``sightplan serve``."""

    backend: str = backend_flag('transformers', 'backend whose model is served', group=_SERVED)
    backend_option: tuple[str, ...] = settings_flag('the backend', group=_SERVED)
    name: str = option('', "a further name by which requests may call the model (default: the "
                       "backend's option model)", group=_SERVED)
    host: str = option('127.0.0.1', 'address to listen at; one that other machines reach needs a '
                       'token', group=_ACCESS)
    port: int = option(8765, 'port to listen at; 0: any that is free', low=0, high=65535,
                       group=_ACCESS)
    token_env: str = option(TOKEN, 'name of the environment variable with the token that '
                            'requests must bring, if it is set', group=_ACCESS)
    timeout_s: float = option(300.0, 'most time of a request [s]', low=0.1, high=86400.0,
                              group=_LIMITS)
    queue: int = option(64, 'requests that may wait; more are refused (429) and told when to come '
                        'back', low=1, high=100000, group=_LIMITS)
    per_pass: int = option(256, 'questions in one call of the model; between two calls it is '
                           'looked whether anybody still waits', low=1, group=_LIMITS)
    body_mb: float = option(64.0, 'largest request [MB]', low=0.01, high=4096.0, group=_LIMITS)
    drain_s: float = option(30.0, 'time for requests under way at SIGTERM [s]', low=0.0,
                            high=86400.0, group=_LIMITS)
    until_eof: bool = option(False, 'end as soon as standard input is closed, for a program that '
                             'starts the server and shall not leave it behind', group=_LIMITS)


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan serve``."""
    add_command(
        subparsers, 'serve', serve, 'serve one model to many workers and robots', _ABOUT,
        settings=ServeArguments, examples=_EXAMPLES,
        exits='0 ended by a signal; 1 the model or the address cannot be used; 2 bad usage')


def serve(arguments: ServeArguments) -> Result:
    """Load the model and serve until a signal comes."""
    from sightplan.model.query import close, traits_of
    from sightplan.vlm.api import BACKENDS, backend_class, make_backend

    token, local = check_access(arguments.host, arguments.token_env)
    options = read_options(arguments.backend_option,
                           BACKENDS.module(arguments.backend).Settings, '--backend-option')
    traits = traits_of(backend_class(arguments.backend))
    if traits.truth or traits.history:
        raise InputError(f'--backend {arguments.backend}: answers from the truth or the history '
                         'of an episode, which no other process has; serve a model that looks at '
                         'pictures')
    uvicorn = _library()
    listening = _listen(arguments.host, arguments.port)
    with contextlib.closing(listening):
        model = make_backend(arguments.backend, options)
        try:
            with stop_flag(''):  # until here a signal ends the command at once
                return _run(uvicorn, listening, model, options, arguments, token, local), DONE
        finally:
            close(model)


def _run(uvicorn: Any, listening: socket.socket, model: Any, options: dict[str, Any],
         arguments: ServeArguments, token: str, local: bool) -> dict[str, Any]:
    """Serve a model at a socket until a signal comes; returns what was done."""
    from sightplan.model.query import Query, traits_of
    from sightplan.vlm.recording import EVERY
    from sightplan_models._serve_app import Limits, make_app
    from sightplan_models._serve_queue import RequestQueue

    queue = RequestQueue(model, arguments.queue, arguments.per_pass)
    names = tuple(dict.fromkeys(filter(None, (
        model.name, arguments.name or str(options.get('model', '')), arguments.backend))))
    app = make_app(queue, names, Limits(arguments.timeout_s, arguments.body_mb, token, local))
    server = uvicorn.Server(uvicorn.Config(
        app, log_level='warning', access_log=False, lifespan='off',
        timeout_graceful_shutdown=max(1, round(arguments.drain_s))))
    if arguments.until_eof:
        threading.Thread(target=_end_at_eof, args=(server,), daemon=True).start()
    host, port = listening.getsockname()[:2]
    url = f'http://{f"[{host}]" if ":" in host else host}:{port}/v1'
    print(f'serving {model.name} at {url}{" (token needed)" if token else ""}', flush=True)
    if json_wanted():
        emit({'url': url, 'model': model.name, 'names': list(names), 'token': bool(token),
              'kinds': sorted(EVERY if kind is Query else kind.kind for kind in model.accepts),
              'traits': dataclasses.asdict(traits_of(model))})
    server.run(sockets=[listening])
    queue.close()
    figures = queue.figures
    note(f'sightplan serve: ended; {figures.requests} requests, {figures.queries} queries')
    return {'url': url, 'model': model.name, 'requests': figures.requests,
            'queries': figures.queries, 'passes': figures.passes, 'failed': figures.failed,
            'refused': figures.refused}


def check_access(host: str, token_env: str) -> tuple[str, bool]:
    """The token, and whether the address is this machine's alone.

    Raises:
        InputError: others could ask, and there is no token; or the token is too short to be one.
    """
    token = os.environ.get(token_env, '').strip()
    local = is_loopback(host)
    if not token and not local:
        raise InputError(f'--host {host}: other machines could ask; put a token into the '
                         f'environment variable {token_env}, or listen at 127.0.0.1')
    if token and (len(token) < 16 or not token.isascii() or not token.isprintable()
                  or ' ' in token):
        raise InputError(f'the token in {token_env} must be one word of 16 plain letters and '
                         'digits at least; make one with: python -c "import secrets; '
                         'print(secrets.token_urlsafe())"')
    return token, local


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        InfrastructureError: the address cannot be used.
    """
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    found = socket.socket(family)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise InfrastructureError(f'cannot listen at {host} port {port} ({error.strerror}); '
                                  'choose another --port (0: any that is free)') from error
    return found


def _end_at_eof(server: Any) -> None:
    with contextlib.suppress(OSError, ValueError):
        while sys.stdin.buffer.read(4096):
            pass
    server.should_exit = True


def _library() -> Any:
    try:
        import fastapi  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise InfrastructureError(f'sightplan serve needs fastapi and uvicorn ({error}); install '
                                  'them: pip install "sightplan_models[serve]"') from error
    return uvicorn
