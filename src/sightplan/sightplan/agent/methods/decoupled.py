"""``decoupled``: the model plans in words, and a locator finds the place of each step.

The planner sees the picture and writes what is to be done; what it says of places is not used.
Each thing is then looked for by the planner's words for it, each place likewise: the "decoupled"
systems of GroundedPlanBench. Things and places may be located by other models than the planner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sightplan.agent.context import Context
from sightplan.agent.methods._instructed import InstructionAnswerer
from sightplan.agent.sample_asking import ask_samples, each, locate, task_of
from sightplan.model import param
from sightplan.model.grounded_plan import GroundedStep, Primitive
from sightplan.model.pointer_settings import PRIOR_IN_SUITES, PointerSettings
from sightplan.model.region import Form, Region, Target
from sightplan.model.sample import Sample, SampleReply


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backends that locate."""

    grasps: str = param('', 'backend that locates what is grasped, opened or closed, with its '
                        'options, such as "transformers model=DIR"; empty: the planner itself')
    places: str = param('', 'likewise for where things are placed; empty: as for grasps')
    askings: int = param(1, 'how often each place is asked for', low=1, high=20)


class Answerer(InstructionAnswerer):
    """Plan in words, then locate."""

    instruction_prompt = 'steps'

    def __init__(self, settings: Settings) -> None:
        """Store the settings."""
        self._settings = settings

    def plans(self, samples: Sequence[Sample], context: Context) -> list[SampleReply]:
        """Ask for the steps, then for each place."""
        replies = iter(ask_samples(context, samples, self.prompt, self.instruction_prompt))
        return each(samples, lambda sample: self._located(sample, next(replies), context))

    def _located(self, sample: Sample, reply: SampleReply, context: Context) -> SampleReply:
        if reply.error:
            return reply
        steps, unread = task_of(sample).read(reply)
        if unread:
            return replace(reply, unread=unread)
        planned = [GroundedStep.from_json(step) for step in steps]
        for number, step in enumerate(planned, 1):
            if not step.target.strip():
                return replace(reply, unread=f'step {number} ({step.primitive}) does not say in '
                               'words what or where ("target"), so nothing can be looked for')
        return replace(reply, data=[
            replace(step, region=self._locate(replace(sample, target=Target(
                step.target, Form.POINT if step.primitive is Primitive.PLACE else Form.BOX)),
                context)) for step in planned])

    def _locate(self, sample: Sample, context: Context) -> Region | None:
        assert sample.target is not None
        places = sample.target.form is Form.POINT and self._settings.places
        settings = PointerSettings(max_askings=self._settings.askings,
                                   prior_present=PRIOR_IN_SUITES)
        found = locate(context, sample, settings, places or self._settings.grasps)
        return found.regions[0] if found.regions else None
