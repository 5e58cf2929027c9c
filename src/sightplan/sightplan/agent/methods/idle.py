"""``idle``: does nothing; its score is what the rules of a suite give away for free."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.policy import Context, Decision, Stop
from sightplan.model import Action, Feedback, StopReason


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


class Policy:
    """Give up at once."""

    needs_truth = False
    needs_grounder = False
    needs_planner = False
    needs_visual_planner = False
    prompt = ''
    remaining = 0

    def __init__(self, settings: Settings) -> None:
        """Take no settings."""

    def begin(self, context: Context) -> Stop | None:
        """Nothing to prepare."""
        return None

    def decide(self, context: Context) -> Decision:
        """Stop."""
        return Stop(StopReason.GAVE_UP, 'this method never acts')

    def learn(self, context: Context, action: Action, feedback: Feedback) -> Stop | None:
        """Never called."""
        return None
