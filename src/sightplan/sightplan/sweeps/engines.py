"""Where workers live: processes of this machine.

Each worker is a fresh process at the other end of a pipe, so that one that dies takes nobody with
it, and is replaced. A worker ends as soon as its pipe does: with the command that started it,
however that ended.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import queue
import signal
import threading
from multiprocessing.connection import Connection
from typing import Protocol

from sightplan.sweeps.work import Chunk, Maker, Outcome

_STOP = 'stop'
_STOP_LIMIT_S = 30.0


class WorkerDiedError(Exception):
    """A worker's process ended while it was at a chunk.

    Attributes:
        began: id of the last episode that it began; '' for none; None if that is not known.
    """

    def __init__(self, began: str | None) -> None:
        super().__init__(began)
        self.began = began


class Worker(Protocol):
    """Makes chunks, one at a time, somewhere else; used by one thread, but for ``stop``."""

    def make(self, chunk: Chunk) -> Outcome:
        """Make a chunk; waits for it.

        Raises:
            WorkerDiedError: the process ended; the next call has a new one.
        """

    def stop(self, now: bool = False) -> None:
        """Break off the episode under way, and make no more; may be called from any thread.

        Args:
            now: end the process instead of asking it.
        """

    def close(self) -> None:
        """End it."""


class Engine(Protocol):
    """Has workers."""

    def worker(self) -> Worker:
        """Make one more worker."""

    def close(self) -> None:
        """End what all workers share; they are closed by then."""


class LocalEngine:
    """Workers are processes of this machine, with one thread for linear algebra each."""

    def __init__(self) -> None:
        """Nothing is started yet."""
        for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'):
            os.environ[name] = '1'  # read by the libraries of the processes that start now

    def worker(self) -> Worker:
        """Make one more worker."""
        return _LocalWorker()

    def close(self) -> None:
        """Nothing is shared."""


class _LocalWorker:
    def __init__(self) -> None:
        self._context = multiprocessing.get_context('spawn')
        self._lock = threading.Lock()
        self._process: multiprocessing.process.BaseProcess | None = None
        self._pipe: Connection | None = None
        self._stopped = False

    def make(self, chunk: Chunk) -> Outcome:
        began = ''
        try:
            pipe = self._started()
            self._send(pipe, chunk)
            while isinstance(reply := pipe.recv(), str):
                began = reply
        except (EOFError, OSError) as error:
            self._end(0.0)
            raise WorkerDiedError(began) from error
        assert isinstance(reply, Outcome)
        return reply

    def stop(self, now: bool = False) -> None:
        self._stopped = True
        pipe, process = self._pipe, self._process
        if now and process is not None:
            with contextlib.suppress(ValueError):  # closed meanwhile
                process.kill()
        if pipe is not None:
            with contextlib.suppress(OSError):
                self._send(pipe, _STOP)

    def close(self) -> None:
        self.stop()
        self._end(_STOP_LIMIT_S)

    def _started(self) -> Connection:
        if self._pipe is None:
            self._pipe, theirs = self._context.Pipe()
            self._process = self._context.Process(target=serve, args=(theirs,), daemon=True)
            self._process.start()
            theirs.close()
            if self._stopped:
                self._send(self._pipe, _STOP)
        return self._pipe

    def _send(self, pipe: Connection, what: object) -> None:
        with self._lock:
            pipe.send(what)

    def _end(self, patience_s: float) -> None:
        pipe, process = self._pipe, self._process
        self._pipe = self._process = None
        if pipe is not None:
            pipe.close()  # it ends by itself then
        if process is not None:
            process.join(patience_s)
            process.kill()
            process.join()
            process.close()


def serve(pipe: Connection) -> None:
    """Be a worker: make the chunks that come through the pipe, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the command says when to stop
    stop = threading.Event()
    chunks: queue.SimpleQueue[Chunk] = queue.SimpleQueue()

    def receive() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                item = pipe.recv()
                if isinstance(item, Chunk):
                    chunks.put(item)
                else:
                    stop.set()
        os._exit(0)  # in the middle of whatever it was: committed episodes are on disk

    threading.Thread(target=receive, name='receive', daemon=True).start()
    maker = Maker(stop.is_set)
    while True:
        chunk = chunks.get()
        pipe.send(maker.make(chunk, pipe.send))
