"""``votes``: where a place is asked for, the model is asked several times, and checked.

See ``sightplan_belief.pointing``. All other samples are asked as by ``ask``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.context import Context
from sightplan.agent.methods import ask
from sightplan.agent.sample_asking import each, locate
from sightplan.model import param
from sightplan.model.pointer_settings import PRIOR_IN_SUITES, PointerSettings
from sightplan.model.sample import Sample, SampleReply


@dataclass(frozen=True, slots=True)
class Settings(PointerSettings):
    """Settings of the method ``votes``."""

    prior_present: float = param(
        PRIOR_IN_SUITES, 'Probability that a target is in the picture, before the model is asked: '
        'suites ask for what their pictures show', low=0.0, high=1.0)


class Answerer(ask.Answerer):
    """Weigh several askings about each place."""

    def __init__(self, settings: Settings) -> None:
        """Keep how long the model is asked."""
        self._settings = settings

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Ask the model, where a place is wanted several times, and all else at once."""
        others = [sample for sample in samples if sample.target is None]
        replies = iter(super().answer(others, context) if others else [])
        return each(samples, lambda sample: next(replies) if sample.target is None
                    else locate(context, sample, self._settings))
