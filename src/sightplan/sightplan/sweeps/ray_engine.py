"""Workers as actors of Ray, on a cluster or on this machine.

All machines need the sweep's directory, under the same path: episodes are committed there by the
workers themselves. Ray ends the actors of a command that has died; one that has not noticed yet
finds, before it writes, that the sweep belongs to another command.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from typing import Any

from sightplan.model import InputError
from sightplan.sweeps.engines import WorkerDiedError
from sightplan.sweeps.work import Chunk, Maker, Outcome


class RayEngine:
    """Workers are Ray actors with one CPU each."""

    def __init__(self, workers: int, address: str = '') -> None:
        """Join a cluster, or start Ray on this machine.

        Args:
            workers: how many there will be, for a Ray of one's own.
            address: of the cluster, as ``ray.init`` takes it; '': a Ray of one's own.

        Raises:
            InputError: Ray is not installed, or cannot be reached.
        """
        os.environ.setdefault('RAY_USAGE_STATS_ENABLED', '0')
        os.environ.setdefault('RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO', '0')
        try:
            import ray
        except ImportError as error:
            raise InputError('engine ray: Ray is not installed; "make extras" installs it, or '
                             'choose --engine local') from error
        how: dict[str, Any] = {'address': address} if address else {
            'address': 'local', 'num_cpus': workers, 'include_dashboard': False}
        try:
            ray.init(**how, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise InputError(f'engine ray: cannot be started: {error} (--ray-address names a '
                             f'running cluster, without it one is started here)') from error
        self._ray: Any = ray
        self._actor = self._ray.remote(num_cpus=1, max_restarts=0, max_concurrency=2)(_Actor)

    def worker(self) -> _RayWorker:
        """Make one more worker."""
        return _RayWorker(self._ray, self._actor)

    def close(self) -> None:
        """Leave the cluster, or end the Ray of one's own."""
        self._ray.shutdown()


class _Actor:
    """What runs in an actor's process; ``stop`` comes in a second thread."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._maker = Maker(self._stop.is_set)

    def make(self, chunk: Chunk) -> Outcome:
        return self._maker.make(chunk)

    def stop(self) -> None:
        self._stop.set()


class _RayWorker:
    def __init__(self, library: Any, actor: Any) -> None:
        self._ray, self._actor = library, actor
        self._handle: Any = None
        self._stopped = False

    def make(self, chunk: Chunk) -> Outcome:
        """Make a chunk; contract in ``Worker``."""
        if self._handle is None:
            self._handle = self._actor.remote()
            if self._stopped:
                self._handle.stop.remote()
        try:
            outcome: Outcome = self._ray.get(self._handle.make.remote(chunk))
        except self._ray.exceptions.RayActorError as error:
            self._handle = None
            raise WorkerDiedError(None) from error
        return outcome

    def stop(self, now: bool = False) -> None:
        """Break off the episode under way, and make no more; contract in ``Worker``."""
        self._stopped = True
        handle = self._handle
        if handle is not None and now:
            self._ray.kill(handle)
        elif handle is not None:
            handle.stop.remote()

    def close(self) -> None:
        """End it."""
        if self._handle is not None:
            with contextlib.suppress(Exception):
                self._ray.kill(self._handle)
            self._handle = None
