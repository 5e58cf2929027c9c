"""``blind``: as ``ask``, but the model is shown the text without the pictures.

What this gets right, no model can take credit for seeing.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import Desk
from sightplan.agent.answerers import ask
from sightplan.agent.answerers.ask import Settings as Settings
from sightplan.model.sample import Sample, SampleReply


class Answerer(ask.Answerer):
    """Ask without pictures."""

    sees_pictures = False

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Take the pictures away, and ask the model."""
        return super().answer([sample.blind() for sample in samples], desk)
