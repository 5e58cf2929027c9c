"""``ask``: the model is shown the sample, and its reply is the answer."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import AnswererBase, Desk
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Answerer(AnswererBase):
    """Ask for the answer alone."""

    def __init__(self, settings: Settings) -> None:
        """Take no settings."""

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Ask the model."""
        return desk.ask(samples, self.prompt, self.suite_prompt)
