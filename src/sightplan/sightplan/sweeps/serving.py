"""One server of a model for all workers of a sweep, so that its weights are loaded once.

The command that runs the sweep starts ``sightplan serve`` for each model when the first batch of
it is due, and starts it again, at the same port, when it died: workers wait that long. It ends
with the command, however that ends, because its standard input is closed then.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import select
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.model import BackendError, CancelledError
from sightplan.model.query import Query, Traits, known_kinds, traits_of
from sightplan.model.redaction import without_secrets
from sightplan.runs import RunSettings, specify
from sightplan.vlm.api import backend_choices, backend_class, make_backend
from sightplan.vlm.recording import EVERY
from sightplan.vlm.wrapping import Kind, Wrapper

_LOG = logging.getLogger(__name__)
_MOST_STARTS = 5
_POLL_S = 0.2
_END_S = 20.0
_RETRIES = 30
"""Tries of a worker while a server loads its model again; the pauses grow to a minute."""
_THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS')
"""Variables that keep workers to one thread each; a server may use all."""
_TAIL = 2000
_PROGRAM = 'import sys; from sightplan.cli import main; sys.exit(main())'


@dataclass(frozen=True, slots=True)
class Address:
    """Address of a served model.

    Attributes:
        url: of the server.
        model: exact name of the model, as it has in process.
        traits: likewise.
        kinds: names of the kinds of queries that it answers; ``*`` for every kind.
    """

    url: str
    model: str
    traits: Traits = field(default_factory=Traits)
    kinds: tuple[str, ...] = ()


class Served(Wrapper):
    """A model behind a server; name, kinds and traits are those that it has in process.

    Args:
        address: of the server.
    """

    def __init__(self, address: Address) -> None:
        super().__init__(make_backend('decisions', {
            'wire': 'sightplan', 'base_url': address.url, 'name': address.model,
            'api_key_env': '', 'retries': _RETRIES, 'timeout_s': 3600.0}))
        self._address = address

    @property
    def accepts(self) -> frozenset[Kind]:
        """Kinds that the model answers in process."""
        return frozenset(Query if name == EVERY else known_kinds()[name]
                         for name in self._address.kinds)

    @property
    def traits(self) -> Traits:
        """Traits of the model in process."""
        return self._address.traits


def shares_gpu(settings: RunSettings) -> bool:
    """Whether workers that load the model of a run would each hold its weights on one GPU."""
    if not _has_weights(settings.backend):
        return False
    device = backend_choices(settings.backend, settings.backend_options).device
    if device == 'auto':
        return any(Path('/dev').glob('nvidia[0-9]*')) or Path('/dev/kfd').exists()
    return str(device).startswith('cuda')


def _has_weights(backend: str) -> bool:
    return traits_of(backend_class(backend)).weights


class Servers:
    """The servers of a sweep.

    Args:
        mode: ``auto`` (where workers share a GPU), ``on`` (for every model with weights), ``off``.
        folder: for the servers' logs.
        stopped: once true, nobody waits for a server any more.
    """

    def __init__(self, mode: str, folder: Path,
                 stopped: Callable[[], bool] = lambda: False) -> None:
        self._mode, self._folder, self._stopped = mode, folder, stopped
        self._servers: dict[str, Server | None] = {}

    def address(self, settings: RunSettings) -> Address | None:
        """The address of the model of a run; None if workers load it themselves.

        Raises:
            BackendError: the server cannot be started although it is wanted (``on``).
            CancelledError: stopped while it was loading.
        """
        if self._mode == 'off' or not (_has_weights(settings.backend) if self._mode == 'on'
                                       else shares_gpu(settings)):
            return None
        options = specify(settings).model_options()
        if options is None:
            return None
        key = json.dumps([settings.backend, options], sort_keys=True)
        if key not in self._servers:
            server = Server(settings.backend, options,
                             self._folder / f'serve-{len(self._servers) + 1}.log', self._stopped)
            try:
                server.start()
            except BackendError as error:
                if self._mode == 'on':
                    raise
                _LOG.warning('%s; each worker loads the model itself', error)
                self._servers[key] = None
            else:
                self._servers[key] = server
        found = self._servers[key]
        return None if found is None else found.address

    def keep(self) -> None:
        """Have servers that died start again; returns at once, while they load their models."""
        for server in self._servers.values():
            if server is not None:
                server.keep()

    def close(self) -> None:
        """End all servers."""
        for server in self._servers.values():
            if server is not None:
                server.close()


class Server:
    """A process of ``sightplan serve``.

    Args:
        backend: name of the model's backend.
        options: its settings.
        log: file for what the process says.
        stopped: once true, nobody waits for it any more.

    Attributes:
        address: where it listens, once it is started.
    """

    def __init__(self, backend: str, options: dict[str, Any], log: Path,
                 stopped: Callable[[], bool] = lambda: False) -> None:
        self._backend, self._options, self._log = backend, options, log
        self._stopped = stopped
        self._process: subprocess.Popen[bytes] | None = None
        self._restart: threading.Thread | None = None
        self._closing = False
        self._starts = 0
        self._port = 0
        self.address = Address('', '')

    def start(self) -> None:
        """Start the process, and wait until it has loaded the model.

        Raises:
            BackendError: it ended before; has its last words.
            CancelledError: stopped meanwhile.
        """
        self._starts += 1
        environment = {name: value for name, value in os.environ.items()
                       if name not in (*_THREADS, 'SIGHTPLAN_SERVE_TOKEN')}
        arguments = [f'--backend-option={name}={_text(value)}'
                     for name, value in self._options.items()]
        with self._log.open('ab') as log:
            self._process = subprocess.Popen(
                [sys.executable, '-c', _PROGRAM, 'serve', '--json', '--until-eof',
                 f'--port={self._port}', f'--backend={self._backend}', *arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment,
                start_new_session=True)
        told = self._first_line()
        self.address = Address(told['url'], told['model'], Traits(**told['traits']),
                               tuple(told['kinds']))
        self._port = int(told['url'].rsplit(':', 1)[1].partition('/')[0])

    def keep(self) -> None:
        """Have the process start again, in a thread, if it died; a few times at most."""
        if (self._process is None or self._process.poll() is None or self._starts >= _MOST_STARTS
                or (self._restart is not None and self._restart.is_alive())):
            return
        _LOG.warning('the server of %s ended with exit code %d; it is started again',
                     self.address.model, self._process.returncode)
        self._release()
        self._restart = threading.Thread(target=self._start_again, name='restart', daemon=True)
        self._restart.start()

    def _start_again(self) -> None:
        with contextlib.suppress(CancelledError):
            try:
                self.start()
            except BackendError as error:
                _LOG.warning('%s', error)

    def close(self) -> None:
        """End the process, also while it is started again."""
        self._closing = True
        if self._restart is not None:
            self._restart.join()
        self._end()

    def _end(self) -> None:
        """End the process: by closing its input, or by force."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._release()

    def _release(self) -> None:
        assert self._process is not None
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()

    def _first_line(self) -> dict[str, Any]:
        """The line of JSON by which the server says where it listens."""
        assert self._process is not None and self._process.stdout is not None
        stream, line = self._process.stdout, b''
        while not line:
            if self._closing or self._stopped():
                self._end()
                raise CancelledError('stopped while the model was loading')
            if select.select([stream], [], [], _POLL_S)[0]:
                line = stream.readline()
                if not line:
                    self._process.wait(_END_S)
                    words = self._log.read_bytes()[-_TAIL:].decode(errors='replace').strip()
                    raise BackendError(without_secrets(
                        f'sightplan serve ended with exit code {self._process.returncode}: '
                        f'{words}'))
        told: dict[str, Any] = json.loads(line)
        return told


def _text(value: Any) -> str:
    """A setting as the command line takes it."""
    return value if isinstance(value, str) else json.dumps(value)
