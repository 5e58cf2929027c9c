"""Base class of recorders that handle each kind of episode event by a method of its own."""

from __future__ import annotations

from typing import get_args

from sightplan.model.episode import (
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeStarted,
    GoalAdopted,
    ModelKnown,
    Observed,
    Planned,
    ProblemAdopted,
    Proposed,
    Stepped,
)


class EventHandler:
    """A Recorder with a method for each kind of event; subclasses define those they need."""

    def record(self, event: EpisodeEvent) -> None:
        """Hand an event to the method of its kind."""
        getattr(self, event.handler)(event)

    def on_started(self, event: EpisodeStarted) -> None:
        """The episode begins."""

    def on_observed(self, event: Observed) -> None:
        """The policy observed the world."""

    def on_asked(self, event: Asked) -> None:
        """A model was asked, and replied."""

    def on_goal_adopted(self, event: GoalAdopted) -> None:
        """The method found out its goal."""

    def on_problem_adopted(self, event: ProblemAdopted) -> None:
        """The method found out its objects and its goal."""

    def on_model_known(self, event: ModelKnown) -> None:
        """The method uses the error rates known of the answering model."""

    def on_believed(self, event: BeliefUpdated) -> None:
        """The belief changed."""

    def on_planned(self, event: Planned) -> None:
        """The planner was called."""

    def on_proposed(self, event: Proposed) -> None:
        """A planning model replied."""

    def on_stepped(self, event: Stepped) -> None:
        """An action was decided and answered."""

    def on_ended(self, event: EpisodeEnded) -> None:
        """The episode is over."""


EVENT_KINDS: dict[str, type[EpisodeEvent]] = {
    kind.__name__: kind for kind in get_args(EpisodeEvent)}
"""The kinds of events by their names."""
