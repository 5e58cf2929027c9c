"""``random``: a uniformly random well-typed action each step, without looking."""

from __future__ import annotations

from sightplan.agent.policy import Act, Context, Decision, Planless, Stop
from sightplan.model import StopReason
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Policy(Planless):
    """Draw from all instances of all action schemas; the world refuses the illegal ones."""

    def decide(self, context: Context) -> Decision:
        """Draw an action."""
        actions = context.model.actions
        if not actions:
            return Stop(StopReason.GAVE_UP, 'the problem has no action')
        return Act(context.rng.choice(actions))
