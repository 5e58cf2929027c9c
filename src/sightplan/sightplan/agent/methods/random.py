"""``random``: a uniformly random well-typed action each step, without looking."""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.policy import Act, Context, Decision, Stop
from sightplan.model import Action, Feedback, StopReason


@dataclass(frozen=True, slots=True)
class Settings:
    """None."""


class Policy:
    """Draw from all instances of all action schemas; the world refuses the illegal ones."""

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
        """Draw an action."""
        actions = context.model.actions
        if not actions:
            return Stop(StopReason.GAVE_UP, 'the problem has no action')
        return Act(context.rng.choice(actions))

    def learn(self, context: Context, action: Action, feedback: Feedback) -> Stop | None:
        """Learn nothing."""
        return None
