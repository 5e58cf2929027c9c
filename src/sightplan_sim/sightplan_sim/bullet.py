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
import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError

Floats = NDArray[np.float64]

_LOCK = threading.Lock()
_threads: list[int] = []  # OpenCV's thread count before each nested `one_thread`


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
        setattr(self, name, found)  # looked up only once
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


class Scratch:
    """Lists that are filled again for every mesh.

    PyBullet 3.2.7 never lets go of the lists it is given nor of their rows (createVisualShape
    takes two references and returns none), so every mesh gets the same ones.

    Attributes:
        lock: to be held from filling them until PyBullet has read them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._rows: list[list[list[float]]] = [[], [], []]
        self._lists: list[list[list[float]]] = [[], [], []]
        self._numbers: list[int] = []
        self._indices: list[int] = []

    def fill(self, vertices: Floats, normals: Floats, uvs: Floats, indices: NDArray[np.int64],
             ) -> tuple[list[list[float]], list[list[float]], list[list[float]], list[int]]:
        """Lists with these values, good until the next call."""
        for rows, out, values in zip(self._rows, self._lists, (vertices, normals, uvs),
                                     strict=True):
            while len(rows) < len(values):
                rows.append([])
            columns = values.T.tolist()  # no list for each row: they would be garbage at once
            for row, value in zip(rows, zip(*columns, strict=True), strict=False):
                row[:] = value
            out[:] = rows[:len(values)]
        self._numbers += range(len(self._numbers), len(vertices))
        numbers = self._numbers
        self._indices[:] = map(numbers.__getitem__, indices.tolist())
        one, two, three = self._lists
        return one, two, three, self._indices


SCRATCH = Scratch()
