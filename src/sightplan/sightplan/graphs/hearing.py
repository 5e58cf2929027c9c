"""Detection of nodes of a graph that no longer hear other nodes.

With DDS a node may run and publish, and yet stop hearing one or all other nodes for good: a
process that is killed may leave shared memory in a state in which no message gets through. So
each node publishes every second which nodes it hears. ``sightplan up`` receives these messages
from all nodes, and a node from some; both compare them here. This module uses neither ROS nor
any clock but the given one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

PERIOD_S = 1.0
"""Period of a node's presence messages, which name the nodes that it hears [s]."""
HEARD_S = 5.0
"""Age of a node's last heartbeat above which the node counts as not heard now [s]."""
LOST_S = 20.0
"""A present node that is not heard for this long is taken as lost for good [s].

Nodes that were just started find each other within 3 s, on a very busy computer within 10 s."""


@dataclass(frozen=True, slots=True, order=True)
class Lost:
    """A node that does not hear another one, though both are there.

    Attributes:
        listener: name of the node that does not hear.
        speaker: name of the node that is not heard.
        for_s: duration [s].
    """

    listener: str
    speaker: str
    for_s: float = 0.0

    def __str__(self) -> str:
        return f'{self.listener} has not heard {self.speaker} for {self.for_s:.0f} s'


class Hearing:
    """A record of which nodes hear which, by the nodes' presence messages. Not thread-safe.

    A node is present if it sent a message within HEARD_S, or if such a node hears it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin without nodes; ``clock`` counts seconds."""
        self._clock = clock
        self._said: dict[str, tuple[float, frozenset[str]]] = {}
        self._since: dict[tuple[str, str], float] = {}

    def note(self, node: str, hears: Collection[str]) -> None:
        """Record a node's presence message, received now, with the nodes that it hears."""
        self._said[node] = self._clock(), frozenset(hears)
        self._look()

    def forget(self, node: str) -> None:
        """Forget a node that has ended; a later node of the same name is a new one."""
        self._said.pop(node, None)
        self._since = {pair: at for pair, at in self._since.items() if node not in pair}

    def table(self) -> dict[str, frozenset[str]]:
        """Return the nodes that each node hears, for nodes with a message within HEARD_S."""
        now = self._clock()
        return {node: hears for node, (at, hears) in self._said.items() if now - at <= HEARD_S}

    def stale_nodes(self, age_s: float) -> list[str]:
        """Names of nodes whose last presence message is older than ``age_s`` seconds."""
        now = self._clock()
        return sorted(node for node, (at, _) in self._said.items() if now - at > age_s)

    def missing(self) -> list[Lost]:
        """Return the pairs of present nodes whose listener does not hear the speaker now, sorted.

        Such a pair may still recover.
        """
        now = self._look()
        return sorted(Lost(*pair, now - at) for pair, at in self._since.items())

    def lost(self) -> list[Lost]:
        """Return the pairs whose listener has not heard the speaker for LOST_S, sorted."""
        return [one for one in self.missing() if one.for_s >= LOST_S]

    def _look(self) -> float:
        """Update since when each listener does not hear a speaker; return the time now [s]."""
        now, table = self._clock(), self.table()
        there = set(table).union(*table.values())
        missing = {(listener, speaker) for listener, hears in table.items()
                   for speaker in there - hears - {listener}}
        self._since = {pair: self._since.get(pair, now) for pair in missing}
        return now


def deaf(lost: Iterable[Lost], restarted: Mapping[str, int] | None = None,
         fixed: Collection[str] = ()) -> str:
    """Return the node to restart so that most lost pairs come back.

    That is the node in the most lost pairs, as listener or speaker: a deaf node hears nobody, and
    a mute node is heard by nobody. Ties go to the node that was restarted less often, since
    restarts have not helped the others; then to one that may be restarted; then to the one that
    hears fewer nodes; then to the first by name.

    Args:
        lost: at least one lost pair.
        restarted: number of restarts of each node.
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
    """Return in words which nodes a node does not hear, and which do not hear it."""
    lost = list(lost)
    unheard = [one.speaker for one in lost if one.listener == node]
    unhearing = [one.listener for one in lost if one.speaker == node]
    parts = [*([f'does not hear {", ".join(unheard)}'] if unheard else []),
             *([f'is not heard by {", ".join(unhearing)}'] if unhearing else [])]
    since = min((one.for_s for one in lost if node in (one.listener, one.speaker)), default=0.0)
    return f'{node} {" and ".join(parts)}, for {since:.0f} s, though all of them are there'
