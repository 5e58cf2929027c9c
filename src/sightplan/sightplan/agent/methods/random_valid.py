"""``random_valid``: a uniformly random action among those that are legal now; an anchor.

Ground truth says which actions are legal. ``random`` draws from all actions, legal or not.
"""

from __future__ import annotations

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Act, Decision, Planless, Stop
from sightplan.model import StopReason, TruthSource
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Policy(Planless):
    """Draw from the applicable actions."""

    needs_truth = True

    def __init__(self, settings: Settings, truth: TruthSource) -> None:
        """Keep the source of truth."""
        super().__init__(settings)
        self._truth = truth

    def decide(self, context: WorldContext) -> Decision:
        """Draw an action."""
        state = self._truth.state()
        legal = [action for action in context.model.actions
                 if context.model.applicable(action, state)]
        if not legal:
            return Stop(StopReason.GAVE_UP, 'no action is legal')
        return Act(context.rng.choice(legal))
