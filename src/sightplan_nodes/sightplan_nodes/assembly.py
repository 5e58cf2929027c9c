"""Putting an episode's messages in order: topics may overtake each other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sightplan_interfaces import msg

_MAX_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message of the agent as it came in.

    Attributes:
        topic: relative name of its topic.
        message: decoded.
        data: as serialized.
        received_ns: wall-clock time [ns since 1970].
    """

    topic: str
    message: Any
    data: bytes
    received_ns: int

    @property
    def starts(self) -> bool:
        """Whether it starts an episode."""
        return (isinstance(self.message, msg.EpisodeEvent)
                and self.message.kind == msg.EpisodeEvent.STARTED)

    @property
    def ends(self) -> bool:
        """Whether it ends an episode."""
        return (isinstance(self.message, msg.EpisodeEvent)
                and self.message.kind == msg.EpisodeEvent.ENDED)


@dataclass
class _Waiting:
    """Messages of one episode that wait for an earlier one."""

    next: int = 0
    messages: dict[int, Arrival] = field(default_factory=dict)


class Assembly:
    """Gives out each episode's messages by their sequence numbers, one episode after another."""

    def __init__(self) -> None:
        self._episodes: dict[str, _Waiting] = {}
        self._finished: set[str] = set()

    def add(self, arrival: Arrival) -> list[Arrival]:
        """Take a message; returns those that are now in order (maybe none, maybe several)."""
        episode_id = arrival.message.episode_id
        if arrival.starts:
            # The same episode again, as a new attempt: what came of the old one is void.
            self._finished.discard(episode_id)
            waiting = self._episodes.get(episode_id)
            if waiting is not None and waiting.next > 0:
                del self._episodes[episode_id]
        if episode_id in self._finished:
            return []
        waiting = self._episodes.setdefault(episode_id, _Waiting())
        if arrival.message.sequence < waiting.next or len(waiting.messages) >= _MAX_WAITING:
            return []
        waiting.messages[arrival.message.sequence] = arrival
        ready: list[Arrival] = []
        while waiting.next in waiting.messages:
            ready.append(waiting.messages.pop(waiting.next))
            waiting.next += 1
        if ready and ready[-1].ends:
            self.finish(episode_id)
        return ready

    def finish(self, episode_id: str) -> None:
        """Forget an episode; late messages of it are dropped."""
        self._episodes.pop(episode_id, None)
        self._finished.add(episode_id)

    def gap(self, episode_id: str) -> tuple[int, int] | None:
        """Next number and number of the end of an episode whose end has come out of order."""
        waiting = self._episodes.get(episode_id)
        if waiting is None:
            return None
        ends = [number for number, arrival in waiting.messages.items() if arrival.ends]
        return (waiting.next, ends[0]) if ends else None
