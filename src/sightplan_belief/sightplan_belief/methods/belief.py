"""``belief``: joint state estimation that asks only what can change the plan.

Many uncertain answers become one possible world: every answer reweights joint states that the
domain's constraints allow, actions move them, and questions are chosen by how much their answers
say about whether the plan in hand works. See ``docs/belief.md`` for the method, and measurements.

Where the constraints say that a state is an arrangement of things in places (``sliding``),
pictures are read as a whole, and so is a goal that is shown as a picture (``_arranging``,
``docs/sliding.md``).
"""

from __future__ import annotations

from dataclasses import dataclass

from sightplan.agent.context import WorldContext
from sightplan.agent.policy import READING, Decision, Stop, reading_all
from sightplan.model import Action, AskPurpose, Feedback, InputError, param
from sightplan_belief.arrangement import structure_of
from sightplan_belief.constraints import read_constraints
from sightplan_belief.methods._arranging import Arranging, ArrangingSettings
from sightplan_belief.methods._believing import BelievingPolicy, BelievingSettings
from sightplan_belief.methods._files import BeliefFiles


@dataclass(frozen=True, slots=True)
class Settings(BelievingSettings):
    """Settings of ``belief``; those from ``looks`` to ``patience`` are for arrangements."""

    looks: int = param(3, 'Most readings of one state, each in another view', low=1, high=100)
    goal_looks: int = param(20, 'Most readings of the picture of a goal', low=1, high=1000)
    memory: bool = param(True, 'Whether earlier readings count (else only those of the last '
                         'observation, for comparison)')
    near: float = param(4.0, 'How many times likelier a wrong yes is about a place next to the '
                        'right one than about another one', low=1.0, high=1000.0)
    patience: float = param(0.3, 'How much less likely a goal may be for each action that it is '
                            'nearer [nats]', low=0.0, high=10.0)
    reading: bool = param(False, READING)


class Policy(BelievingPolicy):
    """Policy of observing, asking, planning and acting on a joint belief."""

    files = BeliefFiles()

    reads_goal = True

    def __init__(self, settings: Settings) -> None:
        """Read the calibration, and choose the prompt.

        Raises:
            InputError: it cannot be read.
        """
        super().__init__(settings)
        if settings.reading:
            self.prompt = reading_all(self.prompt)
        self._own = settings
        self._arranging: Arranging | None = None

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return (super().remaining if self._arranging is None else self._arranging.remaining)

    def begin(self, context: WorldContext) -> Stop | None:
        """Observe, and ask until a plan is likely to work."""
        own = self._own
        structure = None
        if own.constraints and own.inference == 'auto':
            structure = structure_of(context.domain, context.problem,
                                     read_constraints(context.domain))
        self._arranging = None
        if structure is None:
            if context.spec.pictured_goal:
                raise InputError(
                    f'belief reads goals from pictures only where the constraints of a domain say '
                    f'that states are arrangements, and {context.domain.name} has none such, or '
                    f'they are not used (choose goal=told)')
            return super().begin(context)
        rates = self._estimators.rates
        if context.answering_model:
            self._check_calibration(context)
            known = self._estimators.answering(
                context.domain, context.answering_model, context.answering_prompt)
            if known is not self._estimators:
                context.model_known(context.answering_model, context.answering_prompt)
            rates = known.rates
        self._arranging = Arranging(structure, context.model, rates, ArrangingSettings(
            own.looks, own.goal_looks, own.memory, own.settle, own.accept, own.near,
            own.patience, own.search))
        if context.spec.pictured_goal:
            self._arranging.read_goal(context)
        self._arranging.look(context, AskPurpose.ENUMERATION)
        return None

    def decide(self, context: WorldContext) -> Decision:
        """The next action of a plan from the most probable state."""
        return (super().decide(context) if self._arranging is None
                else self._arranging.decide(context))

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Move the belief by an action, observe, and ask what matters now."""
        if self._arranging is None:
            return super().learn(context, action, feedback)
        self._arranging.learn(context, action, feedback)
        return None
