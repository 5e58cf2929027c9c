"""Simulated time that waits for late nodes, so that a busy machine slows it down.

With simulated hardware gate, watcher, agent, models, camera and physics share one machine. Where
that is busy, ages on the wall's clock say how busy it is, and not that something has died. So they
are counted in simulated time, and simulated time goes on only as far as everybody keeps up:

- whoever watches something (the gate: heartbeats and pictures; the watcher: the gate) tells the
  simulated hardware how far time may go before a silence would be too long (``Pace.until_s``);
- the simulated hardware goes no farther than the least of these (``Bounds``).

Who is silent for ``PATIENCE_S`` of wall time is waited for no longer: then time goes on, the
silence becomes too long, and the arm is held or stopped as ever. Hardware that is silent for
``ALONE_S`` of wall time is taken for dead: from then on ages go on with the wall's clock. Before
it is heard for the first time ages stand: on a busy machine it may start long after its watchers,
and an arm of which nothing was heard yet was not moved by anybody either.

Nothing of this has a part in moving a real arm.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

PATIENCE_S = 5.0
"""Longest wall time for which simulated time waits for a silent node [s]."""

ALONE_S = 7.0
"""Wall time without progress of the simulated time after which the hardware counts as dead [s]."""

LEAD_S = 0.05
"""Largest lead of the simulated time over the time that its watchers have seen [s].

Less than an arm may be late in following (GateSettings.tracking_delay_s): a command is under way
for no longer.
"""

_PART = 0.7  # fraction of a limit after which time stops for a silent node


class Bounds:
    """Times up to which other nodes let the clock run; may be used by several threads.

    Args:
        wall: monotonic wall clock [s].
    """

    def __init__(self, wall: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._said: dict[str, tuple[float, float]] = {}

    def note(self, who: str, until_s: float) -> None:
        """Note the time up to which a node lets the clock run [s]."""
        self._said[who] = until_s, self._wall()

    def until_s(self) -> float:
        """Time up to which the clock may run [s]; infinity if no node is waited for."""
        now_s = self._wall()
        return min((until_s for until_s, said_s in list(self._said.values())
                    if now_s - said_s < PATIENCE_S), default=math.inf)


class Pace:
    """Ages in simulated time, and how far that may go on; may be used by several threads.

    Args:
        stamp_s: the simulated time that is known here [s]; minus infinity: none yet. It may be
            set back, when the hardware is started anew.
        lead_s: how far time may be ahead of that [s].
        alone_s: how long time may stand before ages go on with the wall's clock [s]; infinity: for
            ever, for hardware in this process, whose time stands whenever nobody moves it.
        wall: monotonic wall clock [s].

    Attributes:
        sent: number of the newest command that was sent from here: time is to go no farther before
            the hardware has taken it, so that it is not found off its track.
    """

    def __init__(self, stamp_s: Callable[[], float], lead_s: float = math.inf,
                 alone_s: float = math.inf, wall: Callable[[], float] = time.monotonic) -> None:
        self._stamp_s, self._lead_s, self._alone_s = stamp_s, lead_s, alone_s
        self._wall = wall
        self._heard = Bounds(wall)
        self.sent = 0
        self._lock = threading.Lock()
        self._reading_s, self._seen_s, self._since_s = 0.0, -math.inf, wall()

    def now_s(self) -> float:
        """A clock for ages: simulated time that has passed, never set back [s]."""
        with self._lock:
            stamp_s, wall_s = self._stamp_s(), self._wall()
            now_s = self._reading_s
            if self._seen_s > -math.inf:
                now_s += max(0.0, wall_s - self._since_s - self._alone_s)
            if stamp_s == self._seen_s:
                return now_s
            step_s = stamp_s - self._seen_s
            self._reading_s = now_s + (step_s if 0.0 < step_s < math.inf else 0.0)
            self._seen_s, self._since_s = stamp_s, wall_s
            return self._reading_s

    def heard(self, who: str, limit_s: float, take: Callable[[], object] = lambda: None) -> None:
        """Note a sign of life of a node.

        Args:
            who: did.
            limit_s: silence that would end a motion.
            take: notes it where silence is looked for; time goes on only once that is done.
        """
        since_s = self._stamp_s()  # not after: time may go on while ``take`` waits for a lock
        take()
        self._heard.note(who, since_s + _PART * limit_s)

    def until_s(self) -> float:
        """Time up to which the clock may run, as far as is known here [s]; may be infinite."""
        return min(self._heard.until_s(), self._stamp_s() + self._lead_s)
