"""An event loop in a thread of its own, so that synchronous callers can run coroutines."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

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
