"""Gives back memory that a node has freed.

Pictures come and go in several threads. glibc keeps what they freed in the pools of those threads,
in pieces, so that a node that runs for weeks would grow though it holds no more than at the start.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

_EVERY_S = 30.0


class FreedMemory:
    """Gives freed memory back to the system, at moments when a node has time.

    That takes some milliseconds, in which other threads that need memory wait: nothing for a
    thread that watches an arm. Where the C library has no such call nothing is done.
    """

    def __init__(self, trim: Callable[[int], int] | None = None,
                 clock: Callable[[], float] = time.monotonic) -> None:
        """Begin; ``trim`` is glibc's ``malloc_trim``, ``clock`` counts seconds."""
        if trim is None:
            trim = getattr(ctypes.CDLL(None), 'malloc_trim', None)
        self._trim, self._clock, self._due = trim, clock, 0.0

    def give_back(self) -> None:
        """Give memory back, unless it was done within the last half minute."""
        now = self._clock()
        if self._trim is not None and now >= self._due:
            self._due = now + _EVERY_S
            self._trim(0)
