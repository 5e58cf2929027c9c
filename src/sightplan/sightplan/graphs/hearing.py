"""Who hears whom in a graph, and who is deaf.

With DDS it happens that a node runs and speaks, and no longer hears one or all of the others,
for good: a process that is killed may leave shared memory in a state in which nothing gets
through. So each node says every second whom it hears. Whoever gets this from all nodes
(``sightplan up``) or from some of them (each node) compares it here. No ROS, and no clock but the
one that is given.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

PERIOD_S = 1.0
"""So often a node says that it is there, and whom it hears [s]."""
HEARD_S = 5.0
"""Whose heartbeat is older is not heard just now [s]."""
LOST_S = 20.0
"""Who is there and is not heard for so long will not be heard any more [s].

Nodes that were just started find each other within 3 s, on a very busy computer within 10 s."""


@dataclass(frozen=True, slots=True, order=True)
class Lost:
    """A node that does not hear another one, though both are there.

    Attributes:
        listener: does not hear.
        speaker: is not heard.
        for_s: since when [s].
    """

    listener: str
    speaker: str
    for_s: float = 0.0

    def __str__(self) -> str:
        return f'{self.listener} has not heard {self.speaker} for {self.for_s:.0f} s'


class Hearing:
    """Who hears whom, as nodes say it.

    There is who has said something within HEARD_S, and whom one of these hears. Not thread-safe.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nobody is there; ``clock`` counts seconds."""
        self._clock = clock
        self._said: dict[str, tuple[float, frozenset[str]]] = {}
        self._since: dict[tuple[str, str], float] = {}

    def note(self, node: str, hears: Collection[str]) -> None:
        """A node says just now whom it hears."""
        self._said[node] = self._clock(), frozenset(hears)
        self._look()

    def forget(self, node: str) -> None:
        """A node has ended; if there is one of this name again, it is a new one."""
        self._said.pop(node, None)
        self._since = {pair: at for pair, at in self._since.items() if node not in pair}

    def table(self) -> dict[str, frozenset[str]]:
        """Whom each node hears that has said so within HEARD_S."""
        now = self._clock()
        return {node: hears for node, (at, hears) in self._said.items() if now - at <= HEARD_S}

    def stale_nodes(self, age_s: float) -> list[str]:
        """Names of nodes whose last presence message is older than ``age_s`` seconds."""
        now = self._clock()
        return sorted(node for node, (at, _) in self._said.items() if now - at > age_s)

    def missing(self) -> list[Lost]:
        """Who does not hear whom now, sorted; it may still come."""
        now = self._look()
        return sorted(Lost(*pair, now - at) for pair, at in self._since.items())

    def lost(self) -> list[Lost]:
        """Who has not heard whom for LOST_S, sorted."""
        return [one for one in self.missing() if one.for_s >= LOST_S]

    def _look(self) -> float:
        """Note since when somebody does not hear another one; returns the time."""
        now, table = self._clock(), self.table()
        there = set(table).union(*table.values())
        missing = {(listener, speaker) for listener, hears in table.items()
                   for speaker in there - hears - {listener}}
        self._since = {pair: self._since.get(pair, now) for pair in missing}
        return now


def deaf(lost: Iterable[Lost], restarted: Mapping[str, int] | None = None,
         fixed: Collection[str] = ()) -> str:
    """Which node to restart so that most of what is lost comes back.

    That is the one that takes part in most of it, as the one that hears or is not heard: who is
    deaf hears nobody, and who cannot be heard is heard by nobody. Where several do, it is who was
    restarted less often, since that has not helped; then one that may be restarted; then who
    hears less; then the first by name.

    Args:
        lost: at least one.
        restarted: how often each node was restarted.
        fixed: nodes that must not be restarted.
    """
    lost = list(lost)
    listening = Counter(one.listener for one in lost)
    speaking = Counter(one.speaker for one in lost)
    before = restarted or {}
    suspects = {one.listener for one in lost} | {one.speaker for one in lost}
    return min(suspects, key=lambda node: (
        -listening[node] - speaking[node], before.get(node, 0), node in fixed, -listening[node],
        node))


def in_words(node: str, lost: Iterable[Lost]) -> str:
    """What is lost of a node: whom it does not hear, and who does not hear it."""
    lost = list(lost)
    unheard = [one.speaker for one in lost if one.listener == node]
    unhearing = [one.listener for one in lost if one.speaker == node]
    parts = [*([f'does not hear {", ".join(unheard)}'] if unheard else []),
             *([f'is not heard by {", ".join(unhearing)}'] if unhearing else [])]
    since = min((one.for_s for one in lost if node in (one.listener, one.speaker)), default=0.0)
    return f'{node} {" and ".join(parts)}, for {since:.0f} s, though all of them are there'
