"""``random``: one of the valid replies, each as likely, without looking at the sample."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import Desk
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Answerer:
    """Draw the reply."""

    needs_truth = False
    needs_model = False
    sees_pictures = False
    prompt = ''
    suite_prompt = ''

    def __init__(self, settings: Settings) -> None:
        """Take no settings."""

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Draw each reply by itself."""
        return [desk.guess(sample) for sample in samples]
