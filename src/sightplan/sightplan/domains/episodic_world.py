"""Base class of simulated worlds: it keeps the episode's time, true states and outcomes."""

from __future__ import annotations

import bisect
import dataclasses
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, Self, TypeVar

from sightplan.model import (
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    Observation,
    State,
    WorldError,
)

START_NS = 1_000_000_000
"""First reading of a simulated clock: zero means "no time" in ROS."""


class WorldClock:
    """A clock that never goes backwards, simulated or read from a source.

    Args:
        source: returns the time [ns] (the ROS bridge passes its own clock); None simulates
            time, which then passes only through ``advance``.
    """

    def __init__(self, source: Callable[[], int] | None = None) -> None:
        self._source = source
        self._last_ns = START_NS

    def now_ns(self) -> int:
        """Return the current time [ns]."""
        if self._source is not None:
            self._last_ns = max(self._last_ns, int(self._source()))
        return self._last_ns

    def advance(self, duration_s: float) -> int:
        """Advance simulated time; a clock with a source goes on by itself.

        Returns:
            The time now [ns], later than every earlier ``now_ns`` (by 1 ns at least).
        """
        before = self._last_ns
        if self._source is None:
            self._last_ns += max(1, round(duration_s * 1e9))
        else:
            self._last_ns = max(before + 1, int(self._source()))
        return self._last_ns


@dataclasses.dataclass(kw_only=True)
class Episode:
    """State of a world that a reset starts anew; worlds add their own fields in subclasses.

    Attributes:
        spec: what was reset to.
        stamps_ns: times from which on the states hold [ns], the reset's first.
        states: as many; each differs from the one before.
        outcome: what became of the last action, '' before the first.
        observation: the last one, as long as nothing has changed since.
    """

    spec: EpisodeSpec
    stamps_ns: list[int] = dataclasses.field(default_factory=list)
    states: list[State] = dataclasses.field(default_factory=list)
    outcome: str = ''
    observation: Observation | None = None


E = TypeVar('E', bound=Episode)


class EpisodicWorld(ABC, Generic[E]):
    """Base class that implements the port TruthSource and parts of the port World.

    All methods may be called from several threads; those that concern the episode raise
    WorldError before the first reset.

    Args:
        clock_ns: source of time [ns]; None simulates time.

    Attributes:
        reset_s, observe_s, reject_s: nominal durations by which simulated time advances.
    """

    reset_s, observe_s, reject_s = 1.0, 1 / 30, 0.1

    def __init__(self, clock_ns: Callable[[], int] | None = None) -> None:
        self._lock = threading.RLock()
        self._clock = WorldClock(clock_ns)
        self._episode: E | None = None

    @abstractmethod
    def close(self) -> None:
        """Release the simulator."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @abstractmethod
    def _read_state(self, episode: E) -> State:
        """Return the atoms that are true now, read from the simulation."""

    @abstractmethod
    def _picture(self, episode: E) -> Observation:
        """Return an observation of the current state; its stamp is replaced."""

    def observe(self) -> Observation:
        """Return an observation; while nothing moves, the last one with a new stamp."""
        with self._lock:
            episode = self._current()
            stamp_ns = self._clock.advance(self.observe_s)
            if episode.observation is None:
                seen = episode.observation = self._picture(episode)
                for array in (seen.image, seen.unlabelled, seen.depth_m):
                    if array is not None:
                        array.setflags(write=False)  # handed out more than once
            return dataclasses.replace(episode.observation, stamp_ns=stamp_ns)

    def state(self, stamp_ns: int | None = None) -> State:
        """Return the true atoms now or at a time of this episode.

        Args:
            stamp_ns: a time on the world's clock [ns]; None is now.

        Raises:
            WorldError: the time is before the reset or still to come.
        """
        with self._lock:
            episode = self._current()
            if stamp_ns is None:
                return episode.states[-1]
            now_ns = self._clock.now_ns()
            if not episode.stamps_ns[0] <= stamp_ns <= now_ns:
                raise WorldError(
                    f'no state at {stamp_ns} ns: episode {episode.spec.id} has lasted '
                    f'from {episode.stamps_ns[0]} to {now_ns} ns so far')
            return episode.states[bisect.bisect_right(episode.stamps_ns, stamp_ns) - 1]

    def last_outcome(self) -> str:
        """Return the true outcome of the last action of this episode, '' before the first."""
        with self._lock:
            return self._current().outcome

    def now_ns(self) -> int:
        """Return the world's time [ns]."""
        with self._lock:
            return self._clock.now_ns()

    def _current(self) -> E:
        if self._episode is None:
            raise WorldError('no episode: reset the world first')
        return self._episode

    def _start(self, episode: E) -> None:
        """Begin an episode whose initial state has been built."""
        self._clock.advance(self.reset_s)
        episode.stamps_ns.append(self._clock.now_ns())
        episode.states.append(self._read_state(episode))
        self._episode = episode

    def _reject(self, episode: E, message: str) -> Feedback:
        """Note an illegal action, which moved nothing, and return its feedback."""
        episode.outcome = 'illegal'
        return Feedback(FeedbackStatus.REJECTED, message, self._clock.advance(self.reject_s))

    def _finish(self, episode: E, outcome: str, duration_s: float, message: str = '') -> Feedback:
        """Note the outcome of an action that was carried out, and return its feedback."""
        episode.outcome, episode.observation = outcome, None
        return Feedback(FeedbackStatus.EXECUTED, message, self._record(episode, duration_s))

    def _record(self, episode: E, duration_s: float) -> int:
        """Advance time, note the state if it has changed, and return the time [ns]."""
        stamp_ns = self._clock.advance(duration_s)
        state = self._read_state(episode)
        if state != episode.states[-1]:
            episode.stamps_ns.append(stamp_ns)
            episode.states.append(state)
        return stamp_ns


def check_probability(spec: EpisodeSpec) -> None:
    """Check an episode's failure probability.

    Raises:
        WorldError: it is not in [0, 1].
    """
    if not 0.0 <= spec.failure_probability <= 1.0:
        raise WorldError(f'episode {spec.id}: failure probability '
                         f'{spec.failure_probability} is not in [0, 1]')
