"""Engines that start workers as processes of this machine.

Each worker is a process pool of one process, so that one that dies takes nobody with it, and the
next batches of a run come to the process that has its model. A process ends as soon as the
command that started it does, however that ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, Protocol

from sightplan.sweeps.batch import Batch, Outcome
from sightplan.sweeps.work import Worker

_POLL_S = 0.2
_GO_ON, _STOP, _STOP_NOW = range(3)
_DIED = 3
_NONE = -1


class Engine(Protocol):
    """Runs numbered workers in other processes; each makes one batch at a time."""

    @property
    def died(self) -> tuple[type[BaseException], ...]:
        """The errors of futures whose worker's process ended during the batch."""

    def submit(self, worker: int, batch: Batch) -> Future[Outcome]:
        """Have a worker make a batch."""

    def replace(self, worker: int, batch: Batch) -> str | None:
        """Drop the process of a worker that died; the worker's next batch starts a new one.

        Returns:
            id of the last item of the batch that the worker began; '' for none; None if not known.
        """

    def stop(self, now: bool = False) -> None:
        """Break off the items under way, and make no more.

        Args:
            now: end the processes instead of asking them.
        """

    def close(self) -> None:
        """End all workers and what they share."""


class LocalEngine:
    """Workers are processes of this machine, with one thread for linear algebra each."""

    died: tuple[type[BaseException], ...] = (BrokenProcessPool,)

    def __init__(self) -> None:
        """Start no worker yet."""
        for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
            os.environ[name] = '1'  # read by the libraries of the processes that start now
        self._context = multiprocessing.get_context('spawn')
        # Shared memory without a lock, which a process that dies could not let go of.
        self._orders = self._context.RawValue('i', _GO_ON)
        self._pools: dict[int, tuple[ProcessPoolExecutor, Any]] = {}

    def submit(self, worker: int, batch: Batch) -> Future[Outcome]:
        """Have a worker make a batch; contract in ``Engine``."""
        if worker not in self._pools:
            self._pools[worker] = self._pool()
        pool, began = self._pools[worker]
        began.value = _NONE
        try:
            return pool.submit(_make, batch)
        except BrokenProcessPool:  # it died after its last batch
            self.replace(worker, batch)
            return self.submit(worker, batch)

    def replace(self, worker: int, batch: Batch) -> str | None:
        """Drop the process of a worker that died; contract in ``Engine``."""
        pool, began = self._pools.pop(worker)
        pool.shutdown()
        return '' if began.value == _NONE else batch.items[began.value]

    def stop(self, now: bool = False) -> None:
        """Break off the items under way; contract in ``Engine``."""
        self._orders.value = _STOP_NOW if now else _STOP

    def close(self) -> None:
        """End all workers."""
        for pool, _ in self._pools.values():
            pool.shutdown()

    def _pool(self) -> tuple[ProcessPoolExecutor, Any]:
        began = self._context.RawValue('i', _NONE)
        return ProcessPoolExecutor(1, self._context, _begin, (self._orders, began)), began


_process: tuple[Worker, Any]
"""The worker of this process, and the shared number of the item that it began."""


def _begin(orders: Any, began: Any) -> None:
    """Become a worker's process."""
    global _process
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command says when to stop
    _process = Worker(lambda: orders.value != _GO_ON), began
    threading.Thread(target=_heed, args=(orders,), name='heed', daemon=True).start()


def _heed(orders: Any) -> None:
    """End this process when the command ends or orders it."""
    command = multiprocessing.parent_process()
    assert command is not None
    with contextlib.suppress(OSError):
        while orders.value != _STOP_NOW and not wait([command.sentinel], _POLL_S):
            pass
    os._exit(_DIED)  # in the middle of whatever it was: committed items are on disk


def _make(batch: Batch) -> Outcome:
    worker, began = _process

    def note(item: str) -> None:
        began.value = batch.items.index(item)
    return worker.make(batch, note)
