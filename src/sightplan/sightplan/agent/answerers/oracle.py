"""``oracle``: says what is true; anchors a suite at the maximum and tests reading and scoring."""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import Desk, SampleTruth
from sightplan.model.sample import Sample, SampleReply
from sightplan.model.settings import NoSettings

Settings = NoSettings


class Answerer:
    """Reply with the truth. This is the only answerer that is given it."""

    needs_truth = True
    needs_model = False
    sees_pictures = False
    prompt = ''
    suite_prompt = ''

    def __init__(self, settings: Settings, truth: SampleTruth) -> None:
        """Keep the source of truth."""
        self._truth = truth

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Read the truth."""
        return [self._truth.reply(sample) for sample in samples]
