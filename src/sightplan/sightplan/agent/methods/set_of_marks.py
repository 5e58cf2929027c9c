"""``set_of_marks``: numbers are drawn on all things, and the model plans by number.

What is grasped, opened or closed has the box of its mark, and a place is the middle of its mark
(Set-of-Mark prompting, arXiv 2310.11441, as GroundedPlanBench uses it).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightplan.agent.context import Context
from sightplan.agent.methods._instructed import InstructionAnswerer
from sightplan.agent.sample_asking import ask_samples, each, instances_in, marked, task_of
from sightplan.grounding.instructions import UnresolvedError
from sightplan.model import InputError, param
from sightplan.model.grounded_plan import GroundedStep, Primitive
from sightplan.model.region import Form, Region
from sightplan.model.sample import Sample, SampleReply

_NUMBER = re.compile(r'\d+')
ITSELF = 'model'
"""Value of ``marks`` for the run's model."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the detector whose boxes become the marks."""

    marks: str = param('', 'detector whose boxes become the marks; must be named: a backend that '
                       'finds all things, with its options, such as "transformers model=DIR"; '
                       '"boxes file=FILE" (what another tool wrote); "model" (the planner '
                       'itself); "embedded" (which knows our renders alone)')


class Answerer(InstructionAnswerer):
    """Plan by marks."""

    instruction_prompt = 'set_of_marks'

    def __init__(self, settings: Settings) -> None:
        """Store the settings."""
        self._settings = settings

    def plans(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Mark the picture once, and ask for a plan for each instruction about it."""
        if not self._settings.marks:
            raise InputError(
                'method set_of_marks: marks is not set; name who finds the things that are '
                'numbered, with --method-option marks=...: a backend with its options, such as '
                '"transformers model=DIR", "boxes file=FILE" (boxes that another tool wrote), '
                '"model" (the planner itself) or "embedded" (which knows our renders alone)')
        detector = '' if self._settings.marks == ITSELF else self._settings.marks
        marks: dict[str, list[Region]] = {}

        def planned(sample: Sample) -> SampleReply:
            try:
                if sample.cluster not in marks:
                    marks[sample.cluster] = [one.region for one in instances_in(
                        context, sample, 1, detector)]
            except UnresolvedError as error:
                return SampleReply(unread=str(error))
            own = marks[sample.cluster]
            reply, = ask_samples(context, [marked(sample, own)], self.prompt,
                                 self.instruction_prompt)
            if reply.error:
                return reply
            steps, unread = task_of(sample).read(reply)
            return replace(reply, unread=unread) if unread else replace(reply, data=[
                replace(step, region=_place(step, own))
                for step in map(GroundedStep.from_json, steps)])
        return each(samples, planned)


def _place(step: GroundedStep, marks: Sequence[Region]) -> Region | None:
    """The place of the mark that a step names; None: there is none of that number."""
    number = _NUMBER.search(step.target)
    if number is None or len(number[0]) > 4 or not 1 <= int(number[0]) <= len(marks):
        return None
    box = marks[int(number[0]) - 1]
    return Region(Form.POINT, (box.centre,)) if step.primitive is Primitive.PLACE else box
