"""PyBullet and OpenCV as the worlds need them: quiet, and on one thread."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import cv2

from sightplan.model import WorldError

_LOCK = threading.Lock()
_threads: list[int] = []  # how many OpenCV had, for each who is in `one_thread`; the first counts


def import_bullet() -> Any:
    """PyBullet, without the line about its build time that it prints to stderr."""
    with _LOCK:  # two at once would lose stderr
        return _imported()


@functools.cache
def _imported() -> Any:
    sys.stderr.flush()
    saved = os.dup(2)
    try:
        with open(os.devnull, 'wb') as sink:
            os.dup2(sink.fileno(), 2)
        import pybullet
    finally:
        os.dup2(saved, 2)
        os.close(saved)
    return pybullet


class Bullet:
    """PyBullet with a client of its own, to which every call of a function goes.

    The client is given back by ``close``, or when nobody holds this any more.

    Raises:
        WorldError: PyBullet gave no connection.
    """

    def __init__(self) -> None:
        self._module = import_bullet()
        self._client: int = self._module.connect(self._module.DIRECT)
        if self._client < 0:
            raise WorldError('PyBullet gave no connection: too many simulators in this process?')
        self.close = weakref.finalize(
            self, self._module.disconnect, physicsClientId=self._client)

    def __getattr__(self, name: str) -> Any:
        """A function of PyBullet for this client, or one of its constants."""
        found = getattr(self._module, name)
        if callable(found):
            found = functools.partial(found, physicsClientId=self._client)
        setattr(self, name, found)  # at hand the next time
        return found


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV on one thread: renderers run in many processes side by side.

    The setting is the process's: it is given back when the last of several callers is done.
    """
    with _LOCK:
        _threads.append(cv2.getNumThreads())
        cv2.setNumThreads(1)
    try:
        yield
    finally:
        with _LOCK:
            cv2.setNumThreads(_threads.pop())  # 1 until the last one is done
