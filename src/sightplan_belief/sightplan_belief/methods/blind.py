"""``blind``: the belief of ``belief`` with its eyes shut; of samples the text without pictures.

The same action model, the same constraints, the same use of what is executed and what is
rejected, but never a question. What this solves, no vision-language model can take credit for;
nor for what is right about samples whose pictures the model is not shown.

It uses no picture, nor what the world says is in view. Privileged facts that an episode
grants it gets like the others: it observes for these facts alone, and none at all in
an episode that grants nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.context import Context, WorldContext
from sightplan.agent.methods import ask
from sightplan.agent.policy import Stop
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings
from sightplan_belief.methods._believing import BelievingPolicy, BelievingSettings
from sightplan_belief.methods._files import BeliefFiles

Settings = BelievingSettings
SampleSettings = NoSettings


class Policy(BelievingPolicy):
    """Act on a joint belief that only actions and their feedback change."""

    files = BeliefFiles()
    needs_grounder = False
    needs_visual_planner = False
    prompt = ''

    def begin(self, context: WorldContext) -> Stop | None:
        """Refuse rates that were learned in another domain.

        The answering model does not matter.
        """
        self._estimators.rates.check_domain(context.domain)
        return super().begin(context)


class Answerer(ask.Answerer):
    """Answerer that asks about samples without their pictures."""

    sees_pictures = False

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Ask the model about each sample without its pictures."""
        return super().answer([sample.blind() for sample in samples], context)
