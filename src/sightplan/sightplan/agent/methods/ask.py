"""``ask``: the model is shown the sample, and its reply is the answer."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import AnswererBase
from sightplan.agent.context import Context
from sightplan.agent.sample_asking import ask_samples
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Answerer(AnswererBase):
    """Ask for the answer alone."""

    def __init__(self, settings: Settings) -> None:
        """Take no settings."""

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Ask the model."""
        return ask_samples(context, samples, self.prompt, self.suite_prompt)
