"""How long what is left will take, in words for people."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Measures how fast episodes are finished, from now on."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin; ``clock`` counts seconds."""
        self._clock = clock
        self._began = clock()

    def time_left(self, new: int, left: int) -> str:
        """The time that the rest will take.

        Args:
            new: episodes finished since the beginning.
            left: episodes that are to come.

        Returns:
            see ``duration``; ``unknown`` as long as nothing is finished.
        """
        if not new:
            return 'unknown'
        return duration((self._clock() - self._began) / new * max(0, left))


def duration(seconds: float) -> str:
    """A time span as hours:minutes:seconds, such as 1:02:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}:{minutes:02d}:{rest:02d}'
