"""Ground truth as the scorer of an episode got it: recorded, and repeated."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sightplan.model import (
    DetailSource,
    InfrastructureError,
    PastOutcomes,
    State,
    TruthSource,
    WorldError,
)


@dataclass(frozen=True, slots=True)
class TruthReply:
    """A reply of a TruthSource: a state, an outcome, or the reason why there is none.

    Attributes:
        stamp_ns: world time it is of [ns]; 0: the time when it was asked.
        state: the true state; None for an outcome.
        outcome: outcome of the action that ended then; None for a state.
        error: why there is no reply; then ``state`` is empty, or ``outcome`` is ''.
    """

    stamp_ns: int
    state: State | None = None
    outcome: str | None = None
    error: str = ''


class NotedTruth:
    """A TruthSource that passes on each reply of another one, failures included."""

    def __init__(self, truth: TruthSource, note: Callable[[TruthReply], None]) -> None:
        """Ask ``truth``; ``note`` takes each answer."""
        self._truth, self._note = truth, note
        self._outcome_ns = 0

    def select_outcome(self, stamp_ns: int) -> None:
        """Let ``last_outcome`` be about the action that ended at this world time; 0: the last.

        The scorer sets it before each step. It is passed on to a truth that can look back.
        """
        self._outcome_ns = stamp_ns
        source: object = self._truth
        if isinstance(source, PastOutcomes):
            source.select_outcome(stamp_ns)

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a world time; contract in the port."""
        try:
            state = self._truth.state(stamp_ns)
        except InfrastructureError as error:
            self._note(TruthReply(stamp_ns or 0, state=frozenset(), error=str(error)))
            raise
        self._note(TruthReply(stamp_ns or 0, state=state))
        return state

    def last_outcome(self) -> str:
        """Return the outcome of the last action, and record it; contract in the port."""
        try:
            outcome = self._truth.last_outcome()
        except InfrastructureError as error:
            self._note(TruthReply(self._outcome_ns, outcome='', error=str(error)))
            raise
        self._note(TruthReply(self._outcome_ns, outcome=outcome))
        return outcome

    def episode_details(self) -> dict[str, Any]:
        """Return the wrapped source's details of the episode, which bags do not keep."""
        source: object = self._truth
        return dict(source.episode_details()) if isinstance(source, DetailSource) else {}


class RecordedTruth:
    """Ground truth out of a bag: the states and outcomes that the live scorer had."""

    def __init__(self, replies: Iterable[TruthReply]) -> None:
        """Keep the replies, in order."""
        self.replies = tuple(replies)
        self._states: dict[int, TruthReply] = {}
        for reply in self.replies:
            if reply.state is not None and (reply.stamp_ns not in self._states or not reply.error):
                self._states[reply.stamp_ns] = reply

    @property
    def states(self) -> dict[int, State]:
        """The true states that are known, by world time [ns]."""
        return {stamp_ns: reply.state for stamp_ns, reply in self._states.items()
                if reply.state is not None and not reply.error}

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a world time that the live scorer asked for.

        Args:
            stamp_ns: world time [ns]; None: the end of the episode, if it was asked for.

        Raises:
            WorldError: the bag has no truth for that time.
        """
        found = self._states.get(stamp_ns or 0)
        if found is None:
            when = 'now' if stamp_ns is None else f'at {stamp_ns} ns'
            raise WorldError(f'no truth {when} was recorded')
        if found.error:
            raise WorldError(found.error)
        assert found.state is not None
        return found.state

    def repeated(self) -> RepeatedTruth:
        """Return a source that repeats the replies, in the order in which they were given."""
        return RepeatedTruth(self.replies)


class RepeatedTruth:
    """A TruthSource that repeats recorded answers, each to the question that had it.

    The same question may have had several answers (the first may have failed, or two actions may
    have ended at the same time): they are repeated in their order, and the last one is repeated
    for ever.
    """

    def __init__(self, replies: Iterable[TruthReply]) -> None:
        """Begin at the first reply."""
        self._waiting: defaultdict[tuple[bool, int], deque[TruthReply]] = defaultdict(deque)
        for reply in replies:
            self._waiting[reply.state is not None, reply.stamp_ns].append(reply)
        self._outcome_ns = 0

    def select_outcome(self, stamp_ns: int) -> None:
        """Let ``last_outcome`` be about the action that ended at this world time."""
        self._outcome_ns = stamp_ns

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms at a world time; contract in the port."""
        found = self._next(True, stamp_ns or 0)
        assert found.state is not None
        return found.state

    def last_outcome(self) -> str:
        """Return the outcome of the action that ``select_outcome`` names; contract in the port."""
        return self._next(False, self._outcome_ns).outcome or ''

    def _next(self, state: bool, stamp_ns: int) -> TruthReply:
        waiting = self._waiting[state, stamp_ns]
        if not waiting:
            raise WorldError(f'no {"truth" if state else "outcome"} '
                             f'{f"at {stamp_ns} ns" if stamp_ns else "now"} was recorded')
        found = waiting.popleft() if len(waiting) > 1 else waiting[0]
        if found.error:
            raise WorldError(found.error)
        return found
