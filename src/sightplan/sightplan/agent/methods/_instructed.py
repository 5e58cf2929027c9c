"""Base of answerers that treat instructions about a picture in a way of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from sightplan.agent.context import Context
from sightplan.agent.methods import ask
from sightplan.model.sample import Sample, SampleReply


class InstructionAnswerer(ask.Answerer):
    """Base of answerers that plan for instructions, and ask all other samples as ``ask`` does."""

    def answer(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Reply to samples, in their order; contract in ``agent.answerer.Answerer``."""
        told = [sample for sample in samples if has_instruction(sample)]
        others = [sample for sample in samples if not has_instruction(sample)]
        said = iter(super().answer(others, context) if others else [])
        planned = iter(self.plans(told, context) if told else [])
        return [next(planned) if has_instruction(sample) else next(said) for sample in samples]

    @abstractmethod
    def plans(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Reply to instructions, at least one, in their order; raises as ``answer`` does."""


def has_instruction(sample: Sample) -> bool:
    """Whether a sample is an instruction about a picture; all others are asked as by ``ask``."""
    return isinstance(sample.details.get('instruction'), str)
