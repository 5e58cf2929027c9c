"""What a method (policy) is, and what it may see and do.

A method is one module ``sightplan.agent.methods.<name>``, or an entry point of the group
``sightplan.methods``, holding a frozen settings dataclass ``Settings`` and a class for each kind
of task that it does: ``Policy`` for episodes, and ``Answerer`` for samples (``agent.answerer``).
A policy has the class attributes below (``PolicyBase`` has them with their usual values), and is
built as ``Policy(settings)``, or as ``Policy(settings, truth)`` when it declares ``needs_truth``
(only oracles do). A method that can read its goal from a picture (``Context.goal_observation``)
says so by ``reads_goal = True``; without it, one that lets a symbolic planner plan is refused
where the goal is pictured. One that is given an instruction in words and nothing else, neither
objects nor goal, says so by ``reads_instruction = True``; it finds both in the picture
(``tell_apart``, ``adopt_problem``) and sends each action with its place there,
``Action.region``. The loop in ``agent.loop`` drives it:
``begin`` once, then ``decide`` and ``learn`` for every action. All that a policy knows of the
world comes through its ``Context``, which holds nothing else (``sightplan.model.sealing``).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    EpisodeSpec,
    Feedback,
    Literal,
    Observation,
    PastStep,
    PlanningResult,
    PlanningStatus,
    Problem,
    Proposal,
    SeenThings,
    State,
    StopReason,
)

if TYPE_CHECKING:
    from sightplan.agent.method_files import MethodFiles
    from sightplan.domains import Domain, InstantiatedModel


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


class Context(Protocol):
    """Everything a policy may see and do in one episode; the loop implements it."""

    @property
    def spec(self) -> EpisodeSpec:
        """The episode, without its id; its problem has no initial state (``Problem.for_agent``).

        Nor has it a goal where that is shown as a picture, before ``adopt_goal``.
        """

    @property
    def problem(self) -> Problem:
        """Objects and goal, without the initial state."""

    @property
    def domain(self) -> Domain:
        """Question templates, PDDL text and goal wording."""

    @property
    def model(self) -> InstantiatedModel:
        """All ground atoms and actions of the problem, with preconditions and effects."""

    @property
    def answering_model(self) -> str:
        """Exact name of the model that answers, without the seed of simulated errors.

        '' for a method that does not ask.
        """

    @property
    def answering_prompt(self) -> str:
        """Prompt that it is shown, ``name@sha256``; '' if its answers do not depend on one."""

    @property
    def rng(self) -> random.Random:
        """Random numbers of this episode, seeded by the run and by what the policy is told."""

    def observe(self) -> Observation:
        """Observe the world as it is now."""

    def goal_observation(self) -> Observation:
        """The picture of the goal, always the same one.

        Raises:
            InputError: the goal is told (``spec.pictured_goal`` is false), or this world cannot
                show goals.
        """

    def adopt_goal(self, goal: Sequence[Literal], source: str = '') -> None:
        """Take literals, read from the picture of the goal, for the goal from now on.

        Args:
            goal: the literals.
            source: where they were read, in words, for records and people.
        """

    def adopt_problem(self, objects: Mapping[str, str], goal: Sequence[Literal],
                      source: str = '') -> None:
        """Take what was found in the picture for the problem's objects, and literals for its goal.

        Args:
            objects: name to type, of the domain's types.
            goal: over these objects.
            source: where they were read, in words, for records and people.

        Raises:
            InputError: the policy was given objects and goal (no ``reads_instruction``).
        """

    def tell_apart(self, looks: int, observation: Observation | None = None,
                   instruction: str = '', tries: int = 1) -> SeenThings:
        """Let the model find all things in a picture, and tell them apart.

        Args:
            looks: how often it looks, each time at another view of the picture.
            observation: what to look at; a fresh one when None.
            instruction: what the model shall also say the goal of (``read_goal`` of
                ``sightplan.grounding.instructions`` reads it); '' for nothing.
            tries: how often it is asked for the goal at most.

        Raises:
            InputError: the model cannot, or there is no picture.
        """

    def ask(self, atoms: Sequence[Atom], purpose: AskPurpose,
            expected: Sequence[bool | None] | None = None, action: Action | None = None,
            observation: Observation | None = None, memory: str = '') -> tuple[Answer, ...]:
        """Ask whether atoms hold, all about one image, in one batch.

        Args:
            atoms: what to ask, worded by the domain's templates; their objects must all be in
                view (``Observation.in_view``).
            purpose: why (metrics keep the purposes apart).
            expected: what the policy expects, one per atom; None: nothing.
            action: whose preconditions or effects they are.
            observation: what to ask about, observed in this episode; a fresh one when None.
            memory: text about an earlier attempt that is put before the questions.

        Returns:
            one answer per atom, in the same order.

        Raises:
            InputError: an object of an atom is out of view, or the observation is none of this
                episode.
        """

    def plan(self, state: State, search: str = '') -> PlanningResult:
        """Search for a plan from ``state`` to the goal.

        Args:
            state: where the plan begins, as believed.
            search: see PlanningTask; '' for the planner's own setting.

        Raises:
            PlannerError: the planner could not run or crashed: the episode is unscored.
        """

    def propose(self, history: Sequence[PastStep],
                observation: Observation | None = None) -> Proposal:
        """Let the vision-language model propose a plan or the next action.

        Args:
            history: earlier steps, as the prompt shall tell them.
            observation: what to show it; a fresh one when None.
        """

    def model_known(self, model: str, prompt: str) -> None:
        """Record that answers are judged by the error rates known of a model from now on.

        Args:
            model: see ``answering_model``.
            prompt: see ``answering_prompt``.
        """

    def believe(self, state: State, probabilities: Mapping[Atom, float] | None = None) -> None:
        """Publish the belief, for records and people; the loop makes no use of it."""


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
    """Whether it can read its goal from a picture (``Context.goal_observation``)."""

    reads_instruction: bool
    """Whether it is given an instruction in words, and neither objects nor goal."""

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

    def begin(self, context: Context) -> Stop | None:
        """Start an episode from scratch: forget all, look, plan; Stop ends it at once."""

    def decide(self, context: Context) -> Decision:
        """Choose what to do next; called only while the budget lasts."""

    def learn(self, context: Context, action: Action, feedback: Feedback) -> Stop | None:
        """Take in what became of ``action`` (also a withheld one); Stop ends the episode.

        It is not called after a Forfeit, of which the policy knows all itself.
        """


READING = ('Whether a model that replies in free text is asked once for all that a picture shows, '
           'instead of yes/no questions, where the domain can read such replies')
"""The setting ``reading`` of methods that ask."""


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
    files: MethodFiles | None = None
    prompt: str = ''

    @property
    def model(self) -> str:
        """The method itself decides, or a model of the run."""
        return ''


class Planless(PolicyBase):
    """What policies without plan, questions and memory have in common."""

    remaining = 0

    def __init__(self, settings: object) -> None:
        """Take no settings."""

    def begin(self, context: Context) -> Stop | None:
        """Nothing to prepare."""
        return None

    def learn(self, context: Context, action: Action, feedback: Feedback) -> Stop | None:
        """Learn nothing."""
        return None
