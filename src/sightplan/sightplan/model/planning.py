"""Requests to and replies from planners: symbolic ones, and vision-language models that plan."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from sightplan.model.perception import Observation
from sightplan.model.problem import Problem
from sightplan.model.symbols import Plan


@dataclass(frozen=True, slots=True)
class PlanningTask:
    """A planning problem in PDDL text: self-contained, so a remote planner needs no files.

    Attributes:
        domain_pddl: text of the domain file.
        problem_pddl: text of the problem file.
        search: how to search, in the planner's own words; '' for the planner's own setting.
    """

    domain_pddl: str
    problem_pddl: str
    search: str = ''


class PlanningStatus(enum.Enum):
    """Outcome of a planning attempt; only SOLVED carries a plan.

    Messages number the members in this order, from 1.
    """

    SOLVED = 'solved'
    UNSOLVABLE = 'unsolvable'
    TIMEOUT = 'timeout'
    CRASHED = 'crashed'


@dataclass(frozen=True, slots=True)
class PlanningResult:
    """A planner's reply.

    Attributes:
        status: how it ended.
        plan: the plan; empty both when the goal already holds and when there is none.
        seconds: wall-clock time spent, 0 for a cached reply [s].
        cached: whether the reply came from the cache.
        message: the planner's own words when it did not solve the task.
    """

    status: PlanningStatus
    plan: Plan = ()
    seconds: float = 0.0
    cached: bool = False
    message: str = ''


@dataclass(frozen=True, slots=True)
class PastStep:
    """An earlier step of the episode, as the next prompt describes it.

    Attributes:
        action: what was proposed, in the model's own form; '' if it could not be read.
        outcome: what became of it, in words the agent may know; in a history as JSON
            (``ProposalForm``) the keys that say so, as JSON text.
    """

    action: str
    outcome: str


@dataclass(frozen=True, slots=True)
class ProposalForm:
    """Form in which a planning model is told of earlier steps, and limits of its reply.

    Attributes:
        history: ``list``: a numbered list in words; ``json``: one JSON list, as in ViPlan's
            reference implementation; ``none``: earlier steps stand beside past pictures only.
        reading: ``repaired``: strictly, and else with one repair; ``braces``: as JSON from the
            first "{" to the last "}", as in the reference implementation. A domain that has single
            actions in a form of its own reads them by its own rules.
        max_tokens: most tokens of the reply; 0: as many as the prompt allows.
        lists: whether the prompt lists objects and actions by name.
        marks: marks that tell pictures of past, present and goal apart (``MARKS``), where the
            domain has them.
        flat: whether things are called as flat pictures show them (a cube is a square).
        description: whether the reply shall end with a list of all that is seen.
        opening: word that shall begin the episode; the goal alone is shown. '': the next action
            is asked for.
    """

    history: str = 'list'
    reading: str = 'repaired'
    max_tokens: int = 0
    lists: bool = True
    marks: str = 'both'
    flat: bool = False
    description: bool = False
    opening: str = ''


MARKS = ('both', 'colour', 'word', 'none')
"""Marks on pictures: a colour of the background, a word in a corner, both, or none."""


@dataclass(frozen=True, slots=True)
class VisualTask:
    """A planning task for a vision-language model.

    Attributes:
        problem: objects and goal, without an initial state (``Problem.for_agent``).
        prompt: name of the prompt file: ``plan``, ``plan_cot``, ``action``, ``action_cot``.
        history: earlier steps of the episode, in order.
        stops_at_goal: whether the episode ends by itself at the goal, so that the model need not
            say when it is done.
        past: what was seen before the last steps of the history, in order.
        goal: the picture of the goal; None: the goal is told.
        form: form of the history and of the reply.
    """

    problem: Problem
    prompt: str
    history: tuple[PastStep, ...] = ()
    stops_at_goal: bool = False
    past: tuple[Observation, ...] = ()
    goal: Observation | None = None
    form: ProposalForm = ProposalForm()


class ProposalStatus(enum.Enum):
    """Result of reading a model's proposal; only PLANNED carries actions.

    UNPARSED: not JSON of the asked form, also after one bounded repair.
    EMPTY: a plan without actions.
    UNKNOWN_ACTION: the first action is none of the domain's.
    WRONG_ARGUMENTS: the first action has a wrong number of arguments, or unknown or unfit ones.
    STARTED: the word that begins the episode, where it was asked for (``ProposalForm.opening``).
    FAILED: there is no reply, for the model could not be asked; the event alone says so, as the
        method gets the error.

    Messages number the members in this order, from 1.
    """

    PLANNED = 'planned'
    UNPARSED = 'unparsed'
    EMPTY = 'empty'
    UNKNOWN_ACTION = 'unknown_action'
    WRONG_ARGUMENTS = 'wrong_arguments'
    STARTED = 'started'
    FAILED = 'failed'


@dataclass(frozen=True, slots=True)
class Proposal:
    """A vision-language model's plan, read and checked.

    Attributes:
        status: how it was read.
        actions: the proposed actions up to the first that is not a known action with known
            objects of fitting types; at least one if PLANNED, else none.
        named: the first action as the model named it, for the history; '' if there is none.
        message: why there is no action, in words fit for the next prompt; '' if PLANNED;
            the error if FAILED.
        explanation: the model's reasoning, '' without.
        repaired: whether the text had to be repaired before it could be read.
        text: the raw reply.
        model: exact name of the model that answered.
        prompt_sha256: hash of the prompt files, first 12 hex digits.
        seconds: wall-clock time of the call [s].
        cut_at: limit of tokens at which the reply was cut off; 0: it was not cut off.
    """

    status: ProposalStatus
    actions: Plan = ()
    named: str = ''
    message: str = ''
    explanation: str = ''
    repaired: bool = False
    text: str = ''
    model: str = ''
    prompt_sha256: str = ''
    seconds: float = 0.0
    cut_at: int = 0
