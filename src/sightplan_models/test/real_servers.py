"""Real servers of OpenAI's protocol as processes of their own, on the loopback interface.

Used as a program, this file is the server: ``python real_servers.py llama.cpp '{"model": ...}'``.
A server ends with the process that started it, also where that is killed.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_START_S = 180.0
"""Limit of a server's start on a busy machine [s]."""
_MOST_IMAGE_TOKENS = 40
"""Most tokens that llama.cpp makes of a picture, so that tests are fast."""


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now."""
    with socket.socket() as made:
        made.bind(('127.0.0.1', 0))
        return int(made.getsockname()[1])


@dataclass
class RealServer:
    """A server in a process of its own.

    Attributes:
        kind: ``llama.cpp``, ``transformers``, or ``program`` for another program.
        options: of the kind; see ``_serve_llama_cpp`` and ``_serve_transformers``.
        log: file of what the server prints.
        port: where it listens; kept when it is started again.
    """

    kind: str
    options: Mapping[str, Any]
    log: Path
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def root(self) -> str:
        """Address without a path."""
        return f'http://127.0.0.1:{self.port}'

    @property
    def url(self) -> str:
        """Address for the setting ``base_url``."""
        return f'{self.root}/v1'

    def start(self) -> RealServer:
        """Start the process, and wait until it says that it is healthy.

        Raises:
            RuntimeError: it ended instead, or took too long; with the end of its log.
        """
        with self.log.open('ab') as log:
            self._process = subprocess.Popen(
                [sys.executable, __file__, self.kind,
                 json.dumps({**self.options, 'port': self.port})],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, 'OMP_NUM_THREADS': '1', 'HF_HUB_OFFLINE': '1'})
        until = time.monotonic() + _START_S
        while not self._healthy():
            if self._process.poll() is not None or time.monotonic() > until:
                self.kill()
                said = self.log.read_text(errors='replace')[-3000:]
                raise RuntimeError(f'{self.kind} did not start:\n{said}')
            time.sleep(0.05)
        return self

    def kill(self) -> None:
        """End the process at once, in the middle of whatever it does."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                # a program is a child of this process's child
                (self._process.terminate if self.kind == 'program' else self._process.kill)()
            self._process.wait()
            self._process = None

    def get(self, path: str) -> Any:
        """The JSON that the server has at a path, such as ``/props``."""
        with urllib.request.urlopen(self.root + path, timeout=60) as reply:
            return json.load(reply)

    def post(self, path: str, body: Mapping[str, Any],
             timeout_s: float = 120.0) -> tuple[int, Any]:
        """HTTP status and JSON (or text) of the reply to a request of one's own."""
        request = urllib.request.Request(self.root + path, json.dumps(body).encode(),
                                         {'Content-Type': 'application/json'})
        try:
            with urllib.request.urlopen(request, timeout=timeout_s) as reply:
                status, said = reply.status, reply.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        try:
            return status, json.loads(said)
        except ValueError:
            return status, said.decode(errors='replace')

    def _healthy(self) -> bool:
        try:
            path = self.options.get('path', '/health')
            with urllib.request.urlopen(self.root + path, timeout=5) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    def __enter__(self) -> RealServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()


def llama_cpp(log: Path, model: Path, projector: Path | None = None, *, slots: int = 4,
              context: int = 4096, **more: Any) -> RealServer:
    """llama.cpp's native server with a GGUF model; ``context``: tokens of each slot."""
    return RealServer('llama.cpp', {
        'model': str(model), 'projector': str(projector or ''), 'slots': slots,
        'context': context, **more}, log)


def transformers_serve(log: Path, model: Path) -> RealServer:
    """``transformers serve`` on the CPU with the model of a folder."""
    return RealServer('transformers', {'model': str(model)}, log)


def _serve_llama_cpp(options: Mapping[str, Any]) -> None:
    import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = options['model']
    params.mmproj.path = options['projector']
    params.model_alias = {'tiny'}
    params.port = options['port']
    params.n_parallel = options['slots']
    params.n_ctx = options['context'] * options['slots']
    params.n_gpu_layers = 0
    params.image_max_tokens = _MOST_IMAGE_TOKENS
    params.fit_params = params.ui = params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.get('threads', 1)
    for name, value in options.get('params', {}).items():
        setattr(params, name, value)
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


def _serve_transformers(options: Mapping[str, Any]) -> None:
    from transformers.cli.transformers import main
    sys.argv = ['transformers', 'serve', options['model'], '--device', 'cpu', '--dtype',
                'float32', '--host', '127.0.0.1', '--port', str(options['port'])]
    main()


def _serve_program(options: Mapping[str, Any]) -> None:
    words = [*options['words'], '--port', str(options['port'])]
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    process = subprocess.Popen(words, env={**environment, **options.get('environment', {})})
    signal.signal(signal.SIGTERM, lambda *_: process.kill())
    threading.Thread(target=_end_with, args=(os.getppid(), process), daemon=True).start()
    sys.exit(process.wait())


def _end_with(parent: int, child: subprocess.Popen[bytes] | None = None) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    if child is not None:
        child.kill()
    os._exit(1)


def _serve() -> None:
    kind, options = sys.argv[1], json.loads(sys.argv[2])
    if kind != 'program':
        threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    {'llama.cpp': _serve_llama_cpp, 'transformers': _serve_transformers,
     'program': _serve_program}[kind](options)


if __name__ == '__main__':
    _serve()
