"""``random``: any valid action or reply, each as likely, without looking."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import Unasking
from sightplan.agent.context import Context, WorldContext
from sightplan.agent.policy import Act, Decision, Planless, Stop
from sightplan.model import StopReason
from sightplan.model.sample import GUESS, Sample, SampleReply
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Policy(Planless):
    """Draw from all instances of all action schemas; the world refuses the illegal ones."""

    def decide(self, context: WorldContext) -> Decision:
        """Draw an action."""
        actions = context.model.actions
        if not actions:
            return Stop(StopReason.GAVE_UP, 'the problem has no action')
        return Act(context.rng.choice(actions))


class Answerer(Unasking):
    """Draw one of the valid replies."""

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Draw each reply by itself."""
        return [GUESS] * len(samples)
