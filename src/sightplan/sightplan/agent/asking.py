"""Functions with which methods ask about atoms, for the things in a picture, and for plans.

Each works on the tools of a method (``sightplan.agent.context``), so that episodes, samples and
the agent on ROS share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from sightplan.agent.context import AskedModel, Context, Reason, WorldContext
from sightplan.model import (
    BARE,
    Action,
    Answer,
    AskPurpose,
    Atom,
    GroundingPrompt,
    InputError,
    Observation,
    PlanningResult,
    PlanningTask,
    Question,
    SeenThings,
    State,
    prompt_id,
)
from sightplan.model.query import Deadline, ask_one
from sightplan.model.sample import Sample
from sightplan.queries import DetectInstances, yes_no_queries

if TYPE_CHECKING:
    from sightplan.domains import Domain


@dataclass(frozen=True, slots=True)
class AskingForm:
    """The form of yes/no questions, as far as a method changes it.

    Attributes:
        reply_tokens: most tokens of a reply; 0: as many as the prompt allows.
        question_mark: whether questions end with their question mark.
        paper_words: whether they are asked in the words of the paper's code, where the domain has
            such (``text_prompts.yaml``).
    """

    reply_tokens: int = 0
    question_mark: bool = True
    paper_words: bool = False

    def question(self, domain: Domain, atom: Atom) -> Question:
        """Return the question about an atom."""
        return (domain.prompts.question_of_paper(atom) if self.paper_words
                else domain.question(atom))

    def prompt(self, prompt: GroundingPrompt) -> GroundingPrompt:
        """Return a prompt with this form's limit of tokens and end of questions."""
        question = prompt.question
        if not self.question_mark:
            question = question.replace('{question}', '{question_cut}')
        return replace(prompt, question=question,
                       max_tokens=self.reply_tokens or prompt.max_tokens)


AS_PROMPTED = AskingForm()
"""The form of questions that the prompt gives them."""


def ask_questions(model: AskedModel, observation: Observation, questions: Sequence[Question],
                  prompt: GroundingPrompt = BARE, keep_going: bool = False) -> list[Answer]:
    """Ask yes/no questions, all about one observation, in one batch.

    Args:
        model: as ``Context.asking`` gives it.
        observation: what the model sees.
        questions: what is asked.
        prompt: the words around the questions.
        keep_going: whether answers to some are of use where others fail.

    Returns:
        One answer per question, in the same order.

    Raises:
        InputError: the model answers no such questions.
        SightplanError: it could not answer; ``partial`` has the answers that came before.
    """
    replies = model.ask(yes_no_queries(observation, questions, prompt),
                        Deadline(keep_going=keep_going))
    return cast(list[Answer], replies)


def ask_atoms(context: WorldContext, atoms: Sequence[Atom], purpose: AskPurpose,
              expected: Sequence[bool | None] | None = None, action: Action | None = None,
              observation: Observation | None = None, memory: str = '',
              form: AskingForm = AS_PROMPTED) -> dict[Atom, Answer]:
    """Ask whether atoms hold, all about one image, in one batch.

    Args:
        context: of the episode.
        atoms: what to ask, each once, worded by the domain's templates; their objects must all
            be in view (``Observation.in_view``).
        purpose: why (metrics keep the purposes apart).
        expected: what the policy expects, one per atom; None: nothing.
        action: whose preconditions or effects they are.
        observation: what to ask about, observed in this episode; a fresh one when None.
        memory: text about an earlier attempt that is put before the questions.
        form: form of the questions.

    Returns:
        The answers by atom, in the same order.

    Raises:
        InputError: an object of an atom is out of view, or the observation is none of this
            episode.
    """
    observation = context.observe() if observation is None else observation
    expectations = (None,) * len(atoms) if expected is None else tuple(expected)
    if len(expectations) != len(atoms):
        raise ValueError(f'{len(expectations)} expectations for {len(atoms)} questions')
    prompt = (context.domain.grounding_prompt(context.prompt, memory, context.problem,
                                              observation.described)
              if context.prompt else BARE)
    reason = Reason(purpose, expectations, action, memory, prompt_id(prompt.name, prompt.sha256))
    answers = ask_questions(context.asking(observation, reason=reason), observation,
                            [form.question(context.domain, atom) for atom in atoms],
                            form.prompt(prompt))
    return dict(zip(atoms, answers, strict=True))


def detect_instances(context: Context, observation: Observation, looks: int, *,
                     about: Sample | None = None, backend: str = '', instruction: str = '',
                     tries: int = 1, checks: bool = False) -> SeenThings:
    """Let a model find all things in a picture, and tell them apart.

    Args:
        context: of the method.
        observation: the picture, with depth where there is any.
        looks: how often the model looks, each time at another view of the picture.
        about: the sample whose picture it is; None in an episode.
        backend: another model than the run's, see ``Context.asking``.
        instruction: what the model shall also say the goal of (``read_goal`` of
            ``sightplan.grounding.instructions`` reads it); '' for nothing.
        tries: how often it is asked for the goal at most.
        checks: whether a model that can is asked of each thing whether it is one.

    Raises:
        InputError: the model cannot (names those that can), or there is no picture.
        BackendError: the model could not answer.
        DeadlineError: not within the time limit.
        SpendingCapError: a limit on tokens or cost is reached.
    """
    if observation.image is None:
        raise InputError('things are told apart in pictures; this observation has none')
    model = context.asking(observation if about is None else about, backend)
    return ask_one(model, DetectInstances(observation, looks, instruction, tries, checks))


def plan_from(context: WorldContext, state: State, search: str = '') -> PlanningResult:
    """Search for a plan from a state to the episode's goal.

    Args:
        context: of the episode.
        state: where the plan begins, as believed.
        search: see ``PlanningTask``; '' for the planner's own setting.

    Raises:
        PlannerError: the planner could not run or crashed: the episode is unscored.
    """
    problem, domain = context.problem, context.domain
    return context.plan(PlanningTask(problem.domain_pddl or domain.pddl,
                                     domain.write_problem(problem, state), search))
