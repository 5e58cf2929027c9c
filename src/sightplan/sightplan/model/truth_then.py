"""The ground truth that each event of an episode is compared with, looked up as the events come.

It is looked up at once, because a world forgets an episode's states at its next reset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sightplan.model.belief import Belief
from sightplan.model.episode import (
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeSpec,
    EpisodeStarted,
    FeedbackStatus,
    Observed,
    Proposed,
    Stepped,
)
from sightplan.model.errors import InfrastructureError
from sightplan.model.event_handler import EventHandler
from sightplan.model.perception import GOAL_NS
from sightplan.model.ports import DetailSource, PastOutcomes, TruthSource
from sightplan.model.symbols import State

_SENT = (FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED)


@dataclass(frozen=True, slots=True)
class TruthThen:
    """Ground truth at the time of an event.

    A state is None where nobody knows it, or nothing is compared with it.

    Attributes:
        state: of answers, when their picture was taken; of a step that was not carried out, before
            it, as of the first one of a way; of the end, the final state.
        outcome: of a step that was sent, what became of it; '' where nobody knows.
        after: of a step that was carried out, the state after it, where the way is wanted.
        believed: of a step and of the end, the state when the belief was published that counts
            there: the last one since the step before.
        belief: that belief; None without any, or of no known time.
        goal: of the end of an episode whose goal was shown as a picture, what holds there.
        details: of the end, what the world adds to the results.
        error: why something that a score needs could not be had; '' if it could.
        way_error: why a state of the way could not be had; '' if all could.
    """

    state: State | None = None
    outcome: str = ''
    after: State | None = None
    believed: State | None = None
    belief: Belief | None = None
    goal: State | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    error: str = ''
    way_error: str = ''


NOTHING_KNOWN = TruthThen()


class TruthJoin(EventHandler):
    """Looks up what was true, event by event.

    Attributes:
        states: the true states that were looked up, by world time [ns].
    """

    def __init__(self, source: TruthSource | None, way: bool,
                 states: Mapping[int, State]) -> None:
        """Begin before the first event; the arguments are those of ``timeline.Fold``."""
        self._source, self._way, self._known = source, way, states
        self.states: dict[int, State] = dict(states)

    @property
    def has_truth(self) -> bool:
        """Whether there is any ground truth."""
        return self._source is not None

    def of(self, event: EpisodeEvent) -> TruthThen:
        """Return the ground truth at the time of the next event."""
        if self._source is None:
            return NOTHING_KNOWN
        self._then = NOTHING_KNOWN
        self.record(event)
        return self._then

    def on_started(self, event: EpisodeStarted) -> None:
        """Begin an episode."""
        self._spec: EpisodeSpec = event.spec
        self.states = dict(self._known)
        self._now_ns = self._seen_ns = 0
        self._belief: tuple[int, Belief] | None = None
        # Where the initial state is not known (on ROS), it is that before the first step.
        self._begun = event.spec.problem.init != event.spec.problem.known

    def on_observed(self, event: Observed) -> None:
        """Advance the world time to that of the observation."""
        self._seen_ns = event.observation.stamp_ns
        self._now_ns = max(self._now_ns, event.observation.stamp_ns)

    def on_asked(self, event: Asked) -> None:
        """Look up the state that answers to yes/no questions are about."""
        if not (event.yes_no and event.observation.shows_goal):
            self._seen_ns = event.observation.stamp_ns
        if event.yes_no:
            self._add(state=self._state(event.observation.stamp_ns))

    def on_proposed(self, event: Proposed) -> None:
        """Note which picture was seen last."""
        self._seen_ns = event.observation.stamp_ns

    def on_believed(self, event: BeliefUpdated) -> None:
        """Keep the belief until the next step or the end."""
        self._belief = (self._now_ns, event.belief)

    def on_stepped(self, event: Stepped) -> None:
        """Look up the outcome, and the states that are wanted."""
        self._believed()
        feedback = event.feedback
        self._now_ns = max(self._now_ns, feedback.stamp_ns)
        if feedback.status in _SENT:
            self._add(outcome=self._outcome(feedback.stamp_ns))
        before_ns = max(event.stamp_ns, self._seen_ns)
        if feedback.status is not FeedbackStatus.EXECUTED and before_ns:
            error = self._then.error
            state = self._state(before_ns)
            self._add(state=state, error=error)  # no score needs it
        if self._way:
            self._look_along_the_way(event, before_ns)

    def on_ended(self, event: EpisodeEnded) -> None:
        """Look up the final state, and what the goal was."""
        self._believed()
        if not event.reason.scored:
            return
        self._add(state=self._state(event.stamp_ns or None))
        if self._spec.pictured_goal and not self._spec.problem.goal:
            self._add(goal=self._state(GOAL_NS))
        source: object = self._source
        if isinstance(source, DetailSource):
            self._add(details=source.episode_details())

    def _look_along_the_way(self, event: Stepped, before_ns: int) -> None:
        """Look up the state before the first step, where it is not known, and after each."""
        error = self._then.error
        if not self._begun:
            before = self._state(before_ns or None)
            self._begun = before is not None
            self._add(state=before)
        if self._begun and event.feedback.status is FeedbackStatus.EXECUTED:
            self._add(after=self._state(event.feedback.stamp_ns or None))
        if self._then.error != error:
            self._add(error=error, way_error=self._then.error)

    def _believed(self) -> None:
        """Look up the state of the last belief, if it is of a known time and did not count yet."""
        if self._belief is None:
            return
        stamp_ns, belief = self._belief
        self._belief = None
        if stamp_ns and belief.probabilities:
            self._add(belief=belief, believed=self._state(stamp_ns))

    def _outcome(self, stamp_ns: int) -> str:
        source: object = self._source
        if isinstance(source, PastOutcomes):  # the world may have gone on
            source.select_outcome(stamp_ns)
        try:
            assert self._source is not None
            return self._source.last_outcome()
        except InfrastructureError as error:
            self._failed(error)
            return ''

    def _state(self, stamp_ns: int | None) -> State | None:
        """Return the true state at a world time; None, with the error noted, if it is unknown."""
        if stamp_ns is not None and stamp_ns in self.states:
            return self.states[stamp_ns]
        assert self._source is not None
        try:
            state = self._source.state(stamp_ns)
        except InfrastructureError as error:
            self._failed(error)
            return None
        if stamp_ns is not None:
            self.states[stamp_ns] = state
        return state

    def _failed(self, error: InfrastructureError) -> None:
        self._add(error=self._then.error or f'no ground truth: {error}')

    def _add(self, **found: Any) -> None:
        self._then = replace(self._then, **found)
