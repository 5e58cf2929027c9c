"""The contract of a method (policy), and what a method may see and do.

A method is one module ``sightplan.agent.methods.<name>``, or an entry point of the group
``sightplan.methods``, holding a frozen settings dataclass ``Settings`` and a class for each kind
of task that it does: ``Policy`` for episodes, and ``Answerer`` for samples (``agent.answerer``).
A policy has the class attributes below (``PolicyBase`` has them with their usual values), and is
built as ``Policy(settings)``, or as ``Policy(settings, truth)`` when it declares ``needs_truth``
(only oracles do). A method that can read its goal from a picture
(``WorldContext.goal_observation``) says so by ``reads_goal = True``; without it, one that lets a
symbolic planner plan is refused where the goal is pictured. One that is given an instruction in
words and nothing else, neither objects nor goal, says so by ``reads_instruction = True``; it finds
both in the picture (``detect_instances``, ``adopt_problem``) and sends each action with its place
there, ``Action.region``. The loop in ``agent.loop`` drives it: ``begin`` once, then ``decide`` and
``learn`` for every action. All that a policy knows of the world comes through its
``WorldContext``, which holds nothing else (``sightplan.model.sealing``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sightplan.agent.context import WorldContext
from sightplan.model import (
    Action,
    Feedback,
    PlanningResult,
    PlanningStatus,
    StopReason,
)

if TYPE_CHECKING:
    from sightplan.agent.method_files import MethodFiles


@dataclass(frozen=True, slots=True)
class Act:
    """Send this action to the world."""

    action: Action


@dataclass(frozen=True, slots=True)
class Withhold:
    """Hold this planned action back; it uses one unit of the budget all the same."""

    action: Action
    message: str = ''


@dataclass(frozen=True, slots=True)
class Forfeit:
    """Use one unit of the budget without an action: the model named none that could be sent."""

    message: str = ''


@dataclass(frozen=True, slots=True)
class Stop:
    """End the episode."""

    reason: StopReason
    message: str = ''


Decision = Act | Withhold | Forfeit | Stop


class Policy(Protocol):
    """A method; one instance serves any number of episodes, one after another."""

    needs_truth: bool
    """Whether it is an oracle that must be given ground truth."""

    needs_grounder: bool
    """Whether it asks questions; if not, no model need be loaded to answer them."""

    needs_planner: bool
    """Whether a symbolic planner plans for it."""

    needs_visual_planner: bool
    """Whether a vision-language model plans for it."""

    reads_goal: bool
    """Whether it can read its goal from a picture (``WorldContext.goal_observation``)."""

    reads_instruction: bool
    """Whether it is given an instruction in words, and neither objects nor goal."""

    reads_visible_facts: bool
    """Whether privileged facts about what is in view reach it, with ``Privileged.REFERENCE``."""

    files: MethodFiles | None
    """The files that it reads; None: none."""

    prompt: str
    """Name of the prompt file of its questions or proposals; '' if it needs no model."""

    @property
    def model(self) -> str:
        """Exact name of what decides, where no model of the run does; '' for the method itself."""

    @property
    def remaining(self) -> int:
        """Actions of the current plan that are not carried out yet."""

    def begin(self, context: WorldContext) -> Stop | None:
        """Start an episode from scratch: forget all, look, plan; Stop ends it at once."""

    def decide(self, context: WorldContext) -> Decision:
        """Choose what to do next; called only while the budget lasts."""

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Take the feedback to ``action``, also a withheld one; a returned Stop ends the episode.

        It is not called after a Forfeit, which the policy decided itself.
        """


READING = ('Whether a model that replies in free text is asked once for all that a picture shows, '
           'instead of yes/no questions, where the domain can read such replies')
"""The setting ``reading`` of methods that ask."""

REPLY_TOKENS = "Most tokens of a model's reply; 0: as many as its prompt allows"
"""The setting ``reply_tokens`` of methods that ask, or let a model plan."""


def reading_all(prompt: str) -> str:
    """Name of the prompt that asks for all there is in one reply, in the place of another one."""
    return f'{prompt}_read'


def offering_unknown(prompt: str) -> str:
    """Name of the prompt that is like another one, but offers "unknown" as an answer."""
    return f'{prompt}_unknown'


def without_plan(result: PlanningResult) -> Stop | None:
    """The end of an episode for which no plan was found; None if there is one."""
    if result.status is PlanningStatus.SOLVED:
        return None
    return Stop(StopReason.PLANNER_TIMEOUT if result.status is PlanningStatus.TIMEOUT
                else StopReason.NO_PLAN, result.message)


class PolicyBase:
    """Base of policies: what they need and can do, as it is for most of them; see ``Policy``."""

    needs_truth: bool = False
    needs_grounder: bool = False
    needs_planner: bool = False
    needs_visual_planner: bool = False
    reads_goal: bool = False
    reads_instruction: bool = False
    reads_visible_facts: bool = False
    files: MethodFiles | None = None
    prompt: str = ''

    @property
    def model(self) -> str:
        """The method itself decides, or a model of the run."""
        return ''


class Planless(PolicyBase):
    """The base of policies without plan, questions and memory."""

    remaining = 0

    def __init__(self, settings: object) -> None:
        """Take no settings."""

    def begin(self, context: WorldContext) -> Stop | None:
        """Prepare nothing."""
        return None

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Learn nothing."""
        return None
