"""Putting an episode's messages in order: topics may overtake each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sightplan.records import topics
from sightplan.records.messages import ENDED, STARTED

_MAX_WAITING = 10_000
_MOST_FINISHED = 1000
"""Number of later episodes after which no more messages of an ended episode are expected."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message of the agent, as it was received.

    Attributes:
        topic: relative name of its topic.
        message: decoded.
        data: the serialized message.
        received_ns: wall-clock time [ns since 1970].
    """

    topic: str
    message: Any
    data: bytes
    received_ns: int

    @property
    def starts(self) -> bool:
        """Whether it starts an episode."""
        return self.topic == topics.AGENT_EPISODE and bool(self.message.kind == STARTED)

    @property
    def ends(self) -> bool:
        """Whether it ends an episode."""
        return self.topic == topics.AGENT_EPISODE and bool(self.message.kind == ENDED)


@dataclass
class _Waiting:
    """Messages of one episode that wait for an earlier one."""

    next: int = 0
    messages: dict[int, Arrival] = field(default_factory=dict)


class ReorderBuffer:
    """Gives out each episode's messages by their sequence numbers, one episode after another."""

    def __init__(self) -> None:
        self._episodes: dict[str, _Waiting] = {}
        self._finished: dict[str, None] = {}  # in the order in which they ended

    def add(self, arrival: Arrival) -> list[Arrival]:
        """Take a message; returns those that are now in order (maybe none, maybe several)."""
        episode_id = arrival.message.episode_id
        if arrival.starts:
            # The same episode again, as a new attempt: what came of the old one is void.
            self._finished.pop(episode_id, None)
            if self.repeats(arrival):
                del self._episodes[episode_id]
        if episode_id in self._finished:
            return []
        waiting = self._episodes.setdefault(episode_id, _Waiting())
        sequence = int(arrival.message.sequence)
        if sequence < waiting.next or len(waiting.messages) >= _MAX_WAITING:
            return []
        waiting.messages[sequence] = arrival
        ready: list[Arrival] = []
        while waiting.next in waiting.messages:
            ready.append(waiting.messages.pop(waiting.next))
            waiting.next += 1
        if ready and ready[-1].ends:
            self.finish(episode_id)
        return ready

    def repeats(self, arrival: Arrival) -> bool:
        """Whether a message starts an episode anew that has begun and not ended."""
        waiting = self._episodes.get(arrival.message.episode_id)
        return arrival.starts and waiting is not None and waiting.next > 0

    def finish(self, episode_id: str) -> list[Arrival]:
        """Forget an episode; late messages of it are dropped.

        Returns:
            its messages that still waited for an earlier one, by their numbers.
        """
        waiting = self._episodes.pop(episode_id, None) or _Waiting()
        self._finished[episode_id] = None
        if len(self._finished) > _MOST_FINISHED:
            del self._finished[next(iter(self._finished))]
        return [arrival for _, arrival in sorted(waiting.messages.items())]

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Ids of the episodes whose end has not been given out, in the order of their first."""
        return tuple(self._episodes)

    def gap(self, episode_id: str) -> tuple[int, int] | None:
        """Next number and number of the end of an episode whose end has come out of order."""
        waiting = self._episodes.get(episode_id)
        if waiting is None:
            return None
        ends = [number for number, arrival in waiting.messages.items() if arrival.ends]
        return (waiting.next, ends[0]) if ends else None
