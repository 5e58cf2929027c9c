"""Workers as actors of Ray, on a cluster or on this machine.

An actor keeps its model from one batch to the next, which a task of Ray would not. All machines
need the sweep's directory, under the same path: items are committed there by the workers. Ray ends
the actors of a command that has died; one that has not noticed yet finds, before it writes, that
the sweep belongs to another command.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from sightplan.model import CancelledError, InputError
from sightplan.sweeps.batch import Batch, Outcome
from sightplan.sweeps.work import Worker

_PROBE_S = 5.0
_START_S = 180.0
_POLL_S = 0.1


class RayEngine:
    """Workers are Ray actors with one CPU each."""

    def __init__(self, workers: int, address: str = '',
                 stopped: Callable[[], bool] = lambda: False) -> None:
        """Join a cluster, or start Ray on this machine.

        Args:
            workers: how many there will be, for a Ray of one's own.
            address: of the cluster, as ``ray.init`` takes it; '': a Ray of one's own.
            stopped: once true, it is waited for no longer.

        Raises:
            InputError: Ray is not installed, or cannot be reached.
            CancelledError: ``stopped`` became true before it was there.
        """
        os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
        os.environ.setdefault('RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO', '0')
        try:
            import ray
        except ImportError as error:
            raise InputError('engine ray: Ray is not installed; "make extras" or pip install '
                             '"sightplan[ray]" installs it, or choose --engine local') from error
        options: dict[str, Any] = {'address': address} if address else {
            'address': 'local', 'num_cpus': workers, 'include_dashboard': False}
        _check_reachable(address)

        def start() -> None:
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
        try:
            if address and address != 'local':
                _wait_for(start, stopped)
            else:
                start()  # its processes end with the thread that started them
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(f'engine ray: cannot be started: {error} (--ray-address names a '
                             f'running cluster, without it one is started here)') from error
        self._ray: Any = ray
        self.died: tuple[type[BaseException], ...] = (ray.exceptions.RayActorError,)
        self._actor = self._ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(_Actor)
        self._actors: dict[int, Any] = {}

    def submit(self, worker: int, batch: Batch) -> Future[Outcome]:
        """Have a worker make a batch; contract in ``Engine``."""
        if worker not in self._actors:
            self._actors[worker] = self._actor.remote()
        future: Future[Outcome] = self._actors[worker].make.remote(batch).future()
        return future

    def replace(self, worker: int, batch: Batch) -> str | None:
        """Drop the process of a worker that died; contract in ``Engine``."""
        del self._actors[worker]
        return None

    def stop(self, now: bool = False) -> None:
        """Break off the items under way; contract in ``Engine``."""
        for actor in self._actors.values():
            if now:
                self._ray.kill(actor)
            else:
                actor.stop.remote()

    def close(self) -> None:
        """Leave the cluster, or end the Ray of one's own; the actors end with that."""
        self._ray.shutdown()


def _check_reachable(address: str) -> None:
    """Check that something listens at the address: Ray itself tries for many minutes.

    Raises:
        InputError: nothing does.
    """
    named = address
    if address == 'auto':
        named = os.environ.get('RAY_ADDRESS', '')
        with contextlib.suppress(OSError):
            named = named or _noted().read_text('utf-8').strip()
    host, colon, port = named.removeprefix('ray://').rpartition(':')
    if not named or named in ('auto', 'local') or ('://' in host):
        return  # Ray knows
    if not colon or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise InputError(f'engine ray: address {named!r} must have the form HOST:PORT, '
                         f'ray://HOST:PORT, or be auto')
    try:
        socket.create_connection((host.strip('[]'), int(port)), _PROBE_S).close()
    except OSError as error:
        raise InputError(f'engine ray: nothing answers at {named} ({error}); --ray-address names '
                         f'a running cluster ("ray start --head" starts one), without it one is '
                         f'started here') from error


def _noted() -> Path:
    """Return the file in which Ray keeps the address of this machine's last started cluster."""
    return Path(os.environ.get('RAY_TMPDIR') or tempfile.gettempdir(), 'ray',
                'ray_current_cluster')


def _wait_for(start: Callable[[], object], stopped: Callable[[], bool]) -> None:
    """Have Ray join a cluster in a thread, since signals are not seen while it tries.

    Raises:
        InputError: it took too long.
        CancelledError: ``stopped`` became true before.
    """
    problems: list[Exception] = []

    def work() -> None:
        try:
            start()
        except Exception as error:
            problems.append(error)

    thread = threading.Thread(target=work, name='ray', daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_S
    while thread.is_alive():
        thread.join(_POLL_S)
        if thread.is_alive() and stopped():
            raise CancelledError('engine ray: stopped before Ray was there')
        if thread.is_alive() and time.monotonic() > deadline:
            raise InputError(f'engine ray: is not there after {_START_S:g} s; see that '
                             f'--ray-address names a running cluster of the same version')
    if problems:
        raise problems[0]


class _Actor:
    """The worker in an actor's process; ``stop`` is called from a second thread."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._worker = Worker(self._stop.is_set)

    def make(self, batch: Batch) -> Outcome:
        return self._worker.make(batch)

    def stop(self) -> None:
        self._stop.set()
