"""The tools of a method: one ``Context`` for every kind of task.

All that a method may do comes through its context: ask the run's model anything (``asking``), let
the planner plan, and draw random numbers. A task with a world, an episode, has a ``WorldContext``,
which adds what there is in a world: looking, and what the method is told and finds out about it.
What a sample's suite offers comes with the sample (``Sample.task``).

Everything else is a function over these tools: ``sightplan.agent.asking`` (questions about atoms,
all things in a picture, plans), ``sightplan.agent.sample_asking`` (samples), and all functions
over a ``Model``, since ``asking`` gives one::

    reply = ask_one(context.asking(observation), Count(observation.image, 'blocks'))

A context holds nothing but its methods (``sightplan.model.sealing``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from sightplan.model import (
    Action,
    AskPurpose,
    Atom,
    EpisodeSpec,
    Literal,
    Observation,
    PastStep,
    PlanningResult,
    PlanningTask,
    Problem,
    Proposal,
    ProposalForm,
    State,
    Usage,
)
from sightplan.model.logged import without_seed
from sightplan.model.query import Deadline, Model, Query, Reply, Traits, traits_of
from sightplan.model.sample import Sample

if TYPE_CHECKING:
    from sightplan.domains import Domain, InstantiatedModel


@dataclass(frozen=True, slots=True)
class Reason:
    """The reason for asking a model, kept in an episode's records and never shown to the model.

    Attributes:
        purpose: purpose of yes/no questions, by which metrics keep them apart.
        expected: the answer that the policy expects to each question, None where it expects none;
            empty if it expects no answer at all.
        action: the action whose preconditions or effects are asked for.
        memory: text about earlier attempts in the words around the questions.
        prompt: name and hash of the words around the questions.
    """

    purpose: AskPurpose = AskPurpose.LOOK
    expected: tuple[bool | None, ...] = ()
    action: Action | None = None
    memory: str = ''
    prompt: str = ''


LOOK = Reason()
AS_PROPOSED = ProposalForm()


class AskedModel(Protocol):
    """A model as a method has it: a ``Model`` (``sightplan.model.query``), and its time limit.

    Replies to yes/no questions are read: to a ``YesNo`` it replies with an ``Answer``.
    """

    @property
    def accepts(self) -> frozenset[type[Query[Any]]]:
        """Kinds of queries that it answers."""

    @property
    def traits(self) -> Traits:
        """The properties of the model that are known before it is asked."""

    @property
    def name(self) -> str:
        """Exact name of the model, without the seed of simulated errors."""

    @property
    def backend(self) -> str:
        """Name of the model's backend, for messages; '' if it is not known."""

    @property
    def usage(self) -> Usage | None:
        """None, since usage is not counted for a method."""

    @property
    def timeout_s(self) -> float | None:
        """Wall-clock limit of one query [s]; None for the model's own limit."""

    def ask(self, queries: Sequence[Query[Any]], deadline: Deadline) -> list[Reply]:
        """Reply to queries, in their order; contract in ``Model``.

        Without a time limit in ``deadline`` the run's own counts.
        """


class SubjectModel:
    """A model that is asked about one subject; implements ``AskedModel``.

    Args:
        model: the model.
        backend: name of its backend, '' if it is not known.
        timeout_s: wall-clock limit of one query [s]; None for the model's own limit.
        ask: asks the model about the subject and records what was asked.
    """

    usage = None

    def __init__(self, model: Model, backend: str, timeout_s: float | None,
                 ask: Callable[[Sequence[Query[Any]], Deadline], list[Reply]]) -> None:
        self._model, self.backend, self.timeout_s, self.ask = model, backend, timeout_s, ask

    @property
    def accepts(self) -> frozenset[type[Query[Any]]]:
        """Contract in ``AskedModel``."""
        return self._model.accepts

    @property
    def traits(self) -> Traits:
        """Contract in ``AskedModel``."""
        return traits_of(self._model)

    @property
    def name(self) -> str:
        """Contract in ``AskedModel``."""
        return without_seed(self._model.name)


class Context(Protocol):
    """The tools of a method; the run implements them."""

    @property
    def rng(self) -> random.Random:
        """Random numbers of this task, seeded by the run and by what the method is given."""

    @property
    def answering_model(self) -> str:
        """Exact name of the model that answers, without the seed of simulated errors.

        '' for a method that does not ask.
        """

    def asking(self, about: Observation | Sample, backend: str = '',
               reason: Reason = LOOK) -> AskedModel:
        """Return a model for queries about a subject; its queries and replies are recorded.

        Args:
            about: an observation of the episode, or a sample: what the queries are about.
            backend: for samples, another model than the run's: name of its backend and options,
                such as ``transformers model=DIR``; '' for the run's.
            reason: why it is asked.

        Returns:
            The model. Its ``ask`` raises an InputError where the observation is none of the
            episode, where a yes/no question is about an object that is out of view, and where a
            model that answers from the truth is asked about a sample without its picture.

        Raises:
            InputError: there is no such model.
            BackendError: the method declares that it asks no model.
        """

    def plan(self, task: PlanningTask) -> PlanningResult:
        """Search for a plan, with the run's planner and limits.

        Raises:
            InputError: the task's texts cannot be used.
            PlannerError: the planner could not run, or crashed in an episode.
        """


class WorldContext(Context, Protocol):
    """The tools of a policy in one episode: those of every method, and a world."""

    @property
    def spec(self) -> EpisodeSpec:
        """The episode, without its id; its problem has no initial state (``Problem.for_agent``).

        A goal that is shown as a picture is missing, too, until ``adopt_goal``.
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
    def prompt(self) -> str:
        """Name of the prompt file of the method's questions or proposals; '' for none."""

    @property
    def answering_prompt(self) -> str:
        """Prompt that the model is shown, ``name@sha256``.

        '' if its answers do not depend on one.
        """

    def observe(self) -> Observation:
        """Observe the world as it is now."""

    def goal_observation(self) -> Observation:
        """Return the picture of the goal, always the same one.

        Raises:
            InputError: the goal is told (``spec.pictured_goal`` is false), or this world cannot
                show goals.
        """

    def adopt_goal(self, goal: Sequence[Literal], source: str = '') -> None:
        """Set the goal to literals that were read from the picture of the goal.

        Args:
            goal: the literals.
            source: where they were read, in words, for records and people.
        """

    def adopt_problem(self, objects: Mapping[str, str], goal: Sequence[Literal],
                      source: str = '') -> None:
        """Set the problem's objects to those found in the picture, and its goal to literals.

        Args:
            objects: name to type, of the domain's types.
            goal: literals over these objects.
            source: where they were read, in words, for records and people.

        Raises:
            InputError: the policy was given objects and goal (no ``reads_instruction``).
        """

    def propose(self, history: Sequence[PastStep],
                observation: Observation | None = None,
                form: ProposalForm = AS_PROPOSED, past: int = -1) -> Proposal:
        """Let the vision-language model propose a plan or the next action.

        Args:
            history: earlier steps, as the prompt shall tell them.
            observation: what to show it; a fresh one when None.
            form: what the prompt tells, and the form of the history and of the reply.
            past: number of past pictures that are shown; -1: as many as the prompt says.
        """

    def model_known(self, model: str, prompt: str) -> None:
        """Record that answers are judged by a model's known error rates from now on.

        Args:
            model: see ``answering_model``.
            prompt: see ``answering_prompt``.
        """

    def believe(self, state: State, probabilities: Mapping[Atom, float] | None = None) -> None:
        """Publish the belief for records and displays; the loop does not use it."""
