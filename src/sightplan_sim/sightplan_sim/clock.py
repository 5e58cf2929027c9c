"""The world's clock."""

from __future__ import annotations

from collections.abc import Callable

START_NS = 1_000_000_000
"""First reading of a simulated clock: zero means "no time" in ROS."""


class WorldClock:
    """Time that never goes backwards, simulated or read from outside.

    Args:
        source: returns the time [ns] (the ROS bridge passes its own clock); None simulates
            time, which then passes only through ``advance``.
    """

    def __init__(self, source: Callable[[], int] | None = None) -> None:
        self._source = source
        self._last_ns = START_NS

    def now_ns(self) -> int:
        """The time now [ns]."""
        if self._source is not None:
            self._last_ns = max(self._last_ns, int(self._source()))
        return self._last_ns

    def advance(self, duration_s: float) -> int:
        """Let simulated time pass; a source from outside passes time by itself.

        Returns:
            The time now [ns], later than every earlier ``now_ns`` (by 1 ns at least).
        """
        before = self._last_ns
        if self._source is None:
            self._last_ns += max(1, round(duration_s * 1e9))
        else:
            self._last_ns = max(before + 1, int(self._source()))
        return self._last_ns
