"""``compare``: which of two, asked in both orders and under neutral names, so that bias cancels.

See ``sightplan.queries.choose``. All other samples are asked as by ``ask``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.context import Context
from sightplan.agent.methods import ask
from sightplan.agent.sample_asking import compare_choices, each
from sightplan.model import param
from sightplan.model.sample import Sample, SampleReply


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of how pairs are shown."""

    orders: str = param('both', 'whether a pair is shown both ways round, or one way as it is',
                        choices=('both', 'one'))
    names: str = param('neutral', 'whether the two are called as the suite does (given), or by '
                       'names that mean nothing (neutral)', choices=('neutral', 'given'))


class Answerer(ask.Answerer):
    """Compare the two of each sample that shows two."""

    def __init__(self, settings: Settings) -> None:
        """Keep how pairs are shown."""
        self._settings = settings

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Compare, one sample after the other, and ask all else at once."""
        neutral = self._settings.names == 'neutral'
        others = [sample for sample in samples if not _is_pair(sample)]
        replies = iter(super().answer(others, context) if others else [])
        return each(samples, lambda sample: next(replies) if not _is_pair(sample) else
                    compare_choices(context, sample, self._settings.orders, neutral))


def _is_pair(sample: Sample) -> bool:
    return len(sample.choices) == 1 and len(sample.choices[0].options) == 2
