"""``votes``: where a place is asked for, the model is asked several times, and checked.

See ``sightplan_belief.pointing``. All other samples are asked as by ``ask``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightplan.agent.answerer import Desk, each
from sightplan.agent.methods import ask
from sightplan.model.pointer_settings import PointerSettings
from sightplan.model.sample import Sample, SampleReply

Settings = PointerSettings


class Answerer(ask.Answerer):
    """Weigh several askings about each place."""

    def __init__(self, settings: Settings) -> None:
        """Keep how long the model is asked."""
        self._settings = settings

    def answer(self, samples: Sequence[Sample], desk: Desk) -> list[SampleReply]:
        """Ask the model, where a place is wanted several times, and all else at once."""
        others = [sample for sample in samples if sample.target is None]
        replies = iter(super().answer(others, desk) if others else [])
        return each(samples, lambda sample: next(replies) if sample.target is None
                    else desk.locate(sample, self._settings))
