"""``grounded_plan`` of samples: from a picture and an instruction to a plan, in one reply.

See ``sightplan.agent.grounded_plans``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.context import Context
from sightplan.agent.grounded_plans import BY_MODEL, READER, READERS, TRIES, grounded_steps
from sightplan.agent.methods._instructed import InstructionAnswerer
from sightplan.agent.sample_asking import each, goal_of, instances_in
from sightplan.domains import load_domain
from sightplan.grounding.instructions import (
    Instance,
    Stage,
    UnresolvedError,
    read_instruction,
    resolve,
)
from sightplan.model import InputError, param
from sightplan.model.sample import Sample, SampleReply


@dataclass(frozen=True, slots=True)
class SampleSettings:
    """Settings of making a plan."""

    domain: str = param('tabletop', 'domain whose actions the plan is made of')
    looks: int = param(3, 'how often the model is asked what is in a picture, each time in '
                       'another view', low=1, high=9)
    accept: float = param(0.0, 'plans whose things are right with less than this probability are '
                          'not given (a model that reads the instruction gives none)', low=0.0,
                          high=1.0)
    reader: str = param('words', READER, choices=READERS)
    proposals: int = param(2, TRIES, low=1, high=9)


class Answerer(InstructionAnswerer):
    """Plans over instances."""

    tells_apart = True

    def __init__(self, settings: SampleSettings) -> None:
        """Keep how plans are made."""
        self._settings = settings

    def plans(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Look once at a picture, and plan for each instruction about it."""
        seen: dict[str, tuple[Instance, ...]] = {}

        def planned(sample: Sample) -> SampleReply:
            try:
                if sample.cluster not in seen:
                    seen[sample.cluster] = instances_in(context, sample, self._settings.looks)
            except UnresolvedError as error:
                return SampleReply(unread=str(error))
            return self._plan(sample, seen[sample.cluster], context)
        return each(samples, planned)

    def _plan(self, sample: Sample, seen: Sequence[Instance], context: Context) -> SampleReply:
        try:
            stages = self._stages(sample, seen, context)
            known = [one for stage in stages if (one := stage.probability) is not None]
            chance = math.prod(known) if len(known) == len(stages) else None
            if chance is not None and chance < self._settings.accept:
                return SampleReply(unread=f'the things that are meant are right with {chance:.3f} '
                                          f'only, less than {self._settings.accept:g}')
            steps = grounded_steps(stages, seen, load_domain(self._settings.domain), context.plan,
                                   any_kind=self._settings.reader == BY_MODEL)
        except InputError as error:
            return SampleReply(unread=str(error))
        return SampleReply(data=steps, probability=chance)

    def _stages(self, sample: Sample, seen: Sequence[Instance], context: Context,
                ) -> tuple[Stage, ...]:
        """Return the goals of a sample's instruction, one stage after another.

        Raises:
            InputError: the instruction cannot be read or not understood.
        """
        if self._settings.reader == BY_MODEL:
            return goal_of(context, sample, seen, self._settings.proposals)
        width, height = sample.details['image_size']
        return resolve(read_instruction(str(sample.details['instruction'])), seen, width / height)
