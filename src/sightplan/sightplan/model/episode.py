"""An episode: one problem from reset to end, as a stream of events.

The episode loop emits events to a Recorder. In process the recorder is a scorer; on ROS the
agent publishes them and the metrics recorder feeds the same scorer, so both ways measure alike.
No event carries ground truth: the scorer looks that up by itself, by ``stamp_ns``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from sightplan.model.answer import YES_NO, Answer
from sightplan.model.belief import Belief
from sightplan.model.perception import AskPurpose, Observation, Question
from sightplan.model.planning import PastStep, PlanningResult, Proposal
from sightplan.model.problem import Problem
from sightplan.model.query import Failed, Query, Reply
from sightplan.model.symbols import Action, Atom, Literal
from sightplan.model.usage import Usage


class Privileged(enum.Enum):
    """Setting that says when a policy gets facts about objects out of view (ViPlan, section 4.1).

    NONE: never. INITIAL: with observations before the first action. ALWAYS: with every one.
    REFERENCE: with every one, for policies that declare ``reads_visible_facts`` also about objects
    in view, as the reference implementation of ViPlan reads its simulator; the first ones are
    those of the problem file. For all other policies it is the same as ALWAYS.
    """

    NONE = 'none'
    INITIAL = 'initial'
    ALWAYS = 'always'
    REFERENCE = 'reference'

    def grants(self, moved: bool) -> bool:
        """Whether an observation has facts; ``moved``: an action was carried out before it."""
        return self in (Privileged.ALWAYS, Privileged.REFERENCE) or (
            self is Privileged.INITIAL and not moved)


class FeedbackStatus(enum.Enum):
    """Outcome of an action as the agent may know it; it says nothing about the real effects.

    EXECUTED: the world carried the action out as far as it can tell.
    REJECTED: the action was not legal in the world's state; nothing moved.
    WITHHELD: the policy itself held the action back (a precondition was judged false), or the
        robot planned it and sent nothing (a dry run).
    INVALID: the model's reply held no known action with known objects; nothing was sent.

    Messages number the members in this order, from 1.
    """

    EXECUTED = 'executed'
    REJECTED = 'rejected'
    WITHHELD = 'withheld'
    INVALID = 'invalid'


NOTHING_HELD = 'nothing is held'
"""Feedback message to an arm that is to put something down and holds nothing."""
HAND_FULL = 'something is in the hand: put it back first'
"""Feedback message to an arm that is to take something and already holds something."""
STILL_HELD = 'it is still in the hand'
"""End of the feedback message when an object was not put down and nothing moved."""
ALREADY_OPEN, ALREADY_CLOSED = 'it is open', 'it is closed'
"""Feedback messages to an arm that is to open what is open, or to close what is closed."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """The world's reply to an action.

    Attributes:
        status: executed, rejected, withheld or invalid.
        message: a short reason when it was not executed; '' after an executed action, unless the
            world reports what was done instead of it (blocksworld, ``failures=reported``).
        stamp_ns: world time after which observations show the result [ns].
    """

    status: FeedbackStatus
    message: str = ''
    stamp_ns: int = 0


class StopReason(enum.Enum):
    """Reason for which an episode ended.

    Whether the problem was *solved* is decided by the scorer from ground truth, whatever the
    reason. GOAL_REACHED ends an episode whose spec says ``stop_at_goal``. DRY_RUN ends one whose
    robot plans and checks its motions and sends none, after the first action. ERROR
    (infrastructure), CANCELLED and DRY_RUN episodes are unscored: counted apart, never as
    failures.
    """

    PLAN_DONE = 'plan_done'
    GOAL_REACHED = 'goal_reached'
    BUDGET = 'budget'
    REPEATED_ILLEGAL = 'repeated_illegal'
    NO_PLAN = 'no_plan'
    PLANNER_TIMEOUT = 'planner_timeout'
    UNPARSED = 'unparsed'
    EMPTY_PLAN = 'empty_plan'
    GAVE_UP = 'gave_up'
    CANCELLED = 'cancelled'
    DRY_RUN = 'dry_run'
    ERROR = 'error'

    @property
    def scored(self) -> bool:
        """Whether the episode says something about the method (not about the machine)."""
        return self is not StopReason.ERROR and not self.called_off

    @property
    def called_off(self) -> bool:
        """Whether the episode was to end there: neither finished nor failed."""
        return self in (StopReason.CANCELLED, StopReason.DRY_RUN)


@dataclass(frozen=True, slots=True)
class EpisodeSpec:
    """Identity and settings of an episode.

    Attributes:
        id: unique in a run, for example ``blocksworld/simple/problem_03#0``.
        problem: what to solve.
        method: name of the policy.
        split: name of the split, '' for problems from a folder.
        seed: seeds the world (looks, failures).
        max_actions: budget of actions; withheld, rejected and invalid ones count.
        failure_probability: chance that the execution of a legal action fails, in [0, 1].
        stop_at_goal: whether the episode ends as soon as the goal holds in the true state: what
            some papers grant, and no robot knows.
        privileged: when the policy is provided with facts about objects out of view.
        pictured_goal: whether the goal is shown as a picture instead of told.
        policy_seed: seeds the policy, together with what it is told. It is the same for all
            problems of a run, so that no policy learns from its random numbers which one it has.
    """

    id: str
    problem: Problem
    method: str
    split: str = ''
    seed: int = 0
    max_actions: int = 20
    failure_probability: float = 0.0
    stop_at_goal: bool = False
    privileged: Privileged = Privileged.NONE
    pictured_goal: bool = False
    policy_seed: int = 0

    @property
    def cluster(self) -> str:
        """Statistical cluster of the episode: all episodes of a problem, whatever the seed."""
        return f'{self.problem.domain}/{self.split or "-"}/{self.problem.name}'


@dataclass(frozen=True, slots=True)
class EpisodeStarted:
    """The episode begins: the world was reset, or could not be (then only its end follows)."""

    handler: ClassVar[str] = 'on_started'
    spec: EpisodeSpec


@dataclass(frozen=True, slots=True)
class Observed:
    """The policy observed the world."""

    handler: ClassVar[str] = 'on_observed'
    observation: Observation


@dataclass(frozen=True, slots=True)
class Asked:
    """A model was asked about one observation, and replied.

    Attributes:
        observation: the observation that the queries are about.
        queries: what was asked, in order; all of one kind.
        replies: one per query, in the same order; ``Failed`` where the model could not answer.
        expected: what the policy expected each answer to a yes/no question to be, None where it
            had no expectation; empty for other kinds.
        purpose: why they were asked.
        action: the action whose preconditions or effects they are, if any.
        seconds: wall-clock time of the call [s].
        model: exact name of the model that replied.
        prompt: name and hash of the prompt, for example ``ground_cot@0a1b2c3d4e5f``.
        usage: what the call cost; None where nobody counted.
        memory: what the prompt said of earlier attempts; '' for nothing.
    """

    handler: ClassVar[str] = 'on_asked'
    observation: Observation
    queries: tuple[Query[Any], ...]
    replies: tuple[Reply, ...]
    expected: tuple[bool | None, ...] = ()
    purpose: AskPurpose = AskPurpose.LOOK
    action: Action | None = None
    seconds: float = 0.0
    model: str = ''
    prompt: str = ''
    usage: Usage | None = None
    memory: str = ''

    @property
    def yes_no(self) -> bool:
        """Whether all queries are yes/no questions and were answered; True if there are none."""
        return not self.failed and all(query.kind == YES_NO for query in self.queries)

    @property
    def failed(self) -> bool:
        """Whether the model could not answer all queries."""
        return any(isinstance(reply, Failed) for reply in self.replies)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The yes/no questions; empty for other kinds."""
        return tuple(cast(Any, query).question for query in self.queries) if self.yes_no else ()

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers to yes/no questions; empty for other kinds."""
        return cast(tuple[Answer, ...], self.replies) if self.yes_no else ()

    @property
    def by_atom(self) -> dict[Atom, Answer]:
        """The answers to yes/no questions, by what was asked; empty for other kinds."""
        return {question.atom: answer for question, answer in zip(
            self.questions, self.answers, strict=True)}


@dataclass(frozen=True, slots=True)
class BeliefUpdated:
    """The policy's belief after new evidence."""

    handler: ClassVar[str] = 'on_believed'
    belief: Belief


@dataclass(frozen=True, slots=True)
class GoalAdopted:
    """The method has found out what its goal is, and plans for it from now on.

    Attributes:
        goal: the literals that it wants to hold.
        source: where they were read, in words, for example ``the picture of the goal``.
    """

    handler: ClassVar[str] = 'on_goal_adopted'
    goal: tuple[Literal, ...]
    source: str = ''


@dataclass(frozen=True, slots=True)
class ProblemAdopted:
    """The method has found out which objects there are, and what its goal is.

    Attributes:
        objects: name to type, of the domain's types.
        goal: over these objects.
        source: where they were read, in words, for example ``stage 1 of 2 of the instruction``.
    """

    handler: ClassVar[str] = 'on_problem_adopted'
    objects: Mapping[str, str]
    goal: tuple[Literal, ...]
    source: str = ''


@dataclass(frozen=True, slots=True)
class ModelKnown:
    """The method judges answers by the error rates known of the answering model from now on.

    Attributes:
        model: exact name of the model, without the seed of simulated errors.
        prompt: name and hash of the prompt that the rates are of; '' for any.
    """

    handler: ClassVar[str] = 'on_model_known'
    model: str
    prompt: str = ''


@dataclass(frozen=True, slots=True)
class Planned:
    """The planner was called."""

    handler: ClassVar[str] = 'on_planned'
    result: PlanningResult


@dataclass(frozen=True, slots=True)
class Proposed:
    """A vision-language model proposed what to do next, or failed.

    Attributes:
        observation: the observation that the model was shown.
        proposal: its reply, read; FAILED where the model could not answer.
        prompt: name and hash of the prompt, for example ``plan_cot@0a1b2c3d4e5f``.
        usage: what the call cost; None where nobody counted.
        history: the earlier steps that the prompt named, in order.
    """

    handler: ClassVar[str] = 'on_proposed'
    observation: Observation
    proposal: Proposal
    prompt: str = ''
    usage: Usage | None = None
    history: tuple[PastStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Stepped:
    """An action was decided and answered; it used one unit of the action budget.

    Attributes:
        index: 0-based number of the step.
        action: what was decided; None if the status is INVALID.
        feedback: what the world (or, if withheld, the policy) said.
        stamp_ns: world time before the action [ns].
        seconds: wall-clock time of the execution [s].
    """

    handler: ClassVar[str] = 'on_stepped'
    index: int
    action: Action | None
    feedback: Feedback
    stamp_ns: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class EpisodeEnded:
    """The episode has ended.

    Attributes:
        reason: why.
        message: details for people.
        steps: units of the action budget used.
        remaining: actions of the current plan that were not carried out.
        stamp_ns: world time of the final state [ns].
        seconds: wall-clock time of the whole episode [s].
        timings_s: wall-clock seconds per stage (reset, observe, ground, plan, propose, act).
    """

    handler: ClassVar[str] = 'on_ended'
    reason: StopReason
    message: str = ''
    steps: int = 0
    remaining: int = 0
    stamp_ns: int = 0
    seconds: float = 0.0
    timings_s: dict[str, float] = field(default_factory=dict)


# ``handler`` is the name of the method of an ``EventHandler`` that takes an event.
EpisodeEvent = (
    EpisodeStarted | Observed | Asked | GoalAdopted | ProblemAdopted | ModelKnown
    | BeliefUpdated | Planned | Proposed | Stepped | EpisodeEnded)
