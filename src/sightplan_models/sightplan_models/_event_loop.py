"""An event loop in a thread of its own, so that synchronous callers can run coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from sightplan.model import BackendError, DeadlineError
from sightplan.model.query import Deadline

_JOIN_S = 5.0
_T = TypeVar('_T')


class EventLoop:
    """Runs coroutines for any number of threads at once; ends with ``close`` or the process."""

    def __init__(self, name: str) -> None:
        """Start the thread, and wait until its loop runs."""
        ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

        async def until_stopped() -> None:
            stop = asyncio.Event()
            ready.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()

        thread = threading.Thread(target=lambda: _run(until_stopped()), name=name, daemon=True)
        thread.start()
        self._loop, stop = ready.result()
        self._finish = weakref.finalize(self, _stop, self._loop, stop, thread)

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine to its end; if the caller is interrupted, it is cancelled."""
        if not self._finish.alive:
            work.close()
            raise RuntimeError('the event loop is closed')
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call_within(self, work: Callable[[float | None], Coroutine[Any, Any, _T]],
                    deadline: Deadline, name: str, what: str) -> _T:
        """Run a coroutine function of the time of the loop's clock at which nobody waits any more.

        Args:
            work: the function; None instead of the time without a limit.
            deadline: the limit.
            name: name of the model, for messages.
            what: what is done, for messages.

        Raises:
            DeadlineError: it took longer than the limit.
            BackendError: the loop is closed.
        """
        async def limited() -> _T:
            left_s = deadline.left_s
            end = None if left_s is None else asyncio.get_running_loop().time() + left_s
            try:
                async with asyncio.timeout_at(end):
                    return await work(end)
            except TimeoutError:
                pass
            raise DeadlineError(f'{name}: {what} took longer than the limit of '
                                f'{deadline.timeout_s:g} s; raise the limit, or concurrency')
        if not self.closed:
            with contextlib.suppress(CancelledError):
                return self.call(limited())
        raise BackendError(f'{name}: the backend is closed')

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return not self._finish.alive

    def close(self) -> None:
        """Cancel running tasks, and end the thread."""
        self._finish()


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in its own loop, and cancel the remaining tasks at its end.

    As ``asyncio.run``, but that starts a thread to end the loop's executor, which Python 3.12
    refuses while the process ends.
    """
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(work)
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _stop(loop: asyncio.AbstractEventLoop, stop: asyncio.Event, thread: threading.Thread) -> None:
    with contextlib.suppress(RuntimeError):  # closed already
        loop.call_soon_threadsafe(stop.set)
    if thread is not threading.current_thread():
        thread.join(_JOIN_S)
