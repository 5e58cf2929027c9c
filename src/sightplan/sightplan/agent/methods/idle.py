"""``idle``: does nothing; its score is what the rules of a suite give away for free."""

from __future__ import annotations

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import Decision, Planless, Stop
from sightplan.model import StopReason
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Policy(Planless):
    """Give up at once."""

    def decide(self, context: WorldContext) -> Decision:
        """Stop."""
        return Stop(StopReason.GAVE_UP, 'this method never acts')
