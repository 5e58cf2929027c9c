"""``ground``: a vision-language model fills in the symbols, a classical planner plans.

The method of the ViPlan paper (section 4.2, VLM-as-grounder): enumerate all ground atoms, plan,
check each action's preconditions before and its effects after, and enumerate and plan again on any
mismatch. Where the reference implementation is known to be wrong this does the right thing, unless
a setting says otherwise; ``suites/viplan/README.md`` lists every deviation, with its setting.

Questions are only about atoms that may hold (``Domain.worth_asking``) and, where the world says
what is in view, whose objects all are. What is hidden is taken from privileged facts, else from
what was seen or done earlier, else for false: with that a hidden precondition is compared, and a
plan made. A hidden effect is assumed, as in the reference implementation: privileged facts of the
observation after an action are not heeded, but those before the next one are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sightplan.agent.asking import AskingForm, ask_atoms, plan_from
from sightplan.agent.context import WorldContext
from sightplan.agent.policy import (
    READING,
    REPLY_TOKENS,
    Act,
    Decision,
    PolicyBase,
    Stop,
    Withhold,
    reading_all,
    without_plan,
)
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Literal,
    Observation,
    PlannerError,
    State,
    StopReason,
    Verdict,
    param,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of ``ground``."""

    on_unparsed: str = param(
        'continue', 'An answer that says neither yes nor no: "continue" leaves its atom as '
        'believed so far (false before anything is known, the expected effect after an action), '
        '"stop" ends the episode',
        choices=('continue', 'stop'))
    reading: bool = param(False, READING)
    first_plan: str = param(
        'answers', 'What the first plan is made from: "answers" to questions about all that is in '
        'view, or privileged "facts" alone, without a question (what they do not hold is false)',
        choices=('answers', 'facts'))
    repeated_illegal: str = param(
        'refused', 'A refused action ends the episode if the action before it was the same and '
        'was "refused", too, or if it was the same, whatever became of it ("any")',
        choices=('refused', 'any'))
    hidden_mismatch: str = param(
        'withhold', 'A precondition out of view that is believed not to hold: "withhold" calls '
        'the action off, "stop" ends the episode', choices=('withhold', 'stop'))
    planner_crash: str = param(
        'error', 'A planner that crashes ends the episode: as an "error", which is not scored, or '
        'like a problem without a plan ("no_plan")', choices=('error', 'no_plan'))
    conflicting_effects: str = param(
        'add', 'An atom that an action both adds and deletes: "add" expects it to hold (PDDL\'s '
        'rule), "last" expects what comes last in the domain file', choices=('add', 'last'))
    quantified_conditions: str = param(
        'all', 'Conditions about all objects are asked about "all" of them, or about all "others" '
        'than those of the action', choices=('all', 'others'))
    question_mark: bool = param(True, 'Whether questions end with their question mark')
    question_words: str = param(
        'own', "Questions in the domain's \"own\" words, or in those of the \"paper\", where the "
        'domain has such', choices=('own', 'paper'))
    reply_tokens: int = param(0, REPLY_TOKENS, low=0, high=1 << 16)


PICTURED = 'the picture of the goal'
"""Name in records of the source of a goal that is shown as a picture."""


class _UnreadableError(Exception):
    """An answer could not be read and the settings say to stop."""


class Policy(PolicyBase):
    """Enumerate, plan, check, act, check, and start over on a mismatch."""

    needs_grounder = needs_planner = True
    reads_goal = reads_visible_facts = True
    prompt = 'ground'

    def __init__(self, settings: Settings) -> None:
        """Keep the settings."""
        self._settings = settings
        self._form = AskingForm(settings.reply_tokens, settings.question_mark,
                                settings.question_words == 'paper')
        if settings.reading:
            self.prompt = reading_all(self.prompt)
        self._belief: dict[Atom, bool] = {}
        self._probabilities: dict[Atom, float] = {}
        self._queue: deque[Action] = deque()
        self._last: Action | None = None
        self._facts: Mapping[Atom, bool] = {}
        self._worth: dict[Atom, None] = {}

    @property
    def remaining(self) -> int:
        """Actions of the plan not carried out yet."""
        return len(self._queue)

    def begin(self, context: WorldContext) -> Stop | None:
        """Ask every ground atom in view, unless facts are to do, and plan."""
        self._forget()
        self._worth = dict.fromkeys(context.domain.worth_asking(context.problem))
        if context.spec.pictured_goal:
            try:
                self._read_goal(context)
            except _UnreadableError as error:
                return Stop(StopReason.UNPARSED, str(error))
        if self._settings.first_plan == 'facts':
            self._observe(context)
            self._belief.update(self._facts)
            context.believe(believed_state(self._belief))
            return self._plan(context)
        return self._start_over(context)

    def decide(self, context: WorldContext) -> Decision:
        """Check the next action's preconditions on a fresh observation."""
        action = self._queue[0]
        needed = {literal.atom: literal.positive for literal in context.model.preconditions(
            action, self._settings.quantified_conditions == 'others')}
        try:
            wrong, hidden = self._check(context, AskPurpose.PRECONDITION, action, needed)
        except _UnreadableError as error:
            return Stop(StopReason.UNPARSED, str(error))
        unmet = [atom for atom in hidden if self._belief.get(atom, False) != needed[atom]]
        if unmet and self._settings.hidden_mismatch == 'stop':
            return Stop(StopReason.GAVE_UP, f'{unmet[0]}, out of view, is believed '
                        f'{str(not needed[unmet[0]]).lower()}')
        if wrong or unmet:
            return Withhold(action, 'precondition not as expected: ' + ', '.join([
                *(f'{atom} is {answer.verdict.value}' for atom, answer in wrong.items()),
                *(f'{atom}, out of view, is believed {str(not needed[atom]).lower()}'
                  for atom in unmet)]))
        return Act(action)

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Check the effects on a fresh observation; start over when anything went otherwise."""
        refused = feedback.status is FeedbackStatus.REJECTED
        repeated = refused and action == self._last
        self._last = (action if refused or self._settings.repeated_illegal == 'any' else None)
        if repeated:
            self._queue.popleft()  # it was carried out, though in vain: no longer remaining
            return Stop(StopReason.REPEATED_ILLEGAL, f'{action} was illegal twice in a row'
                        if self._settings.repeated_illegal == 'refused' else
                        f'{action} was illegal, and the action before it was the same')
        if feedback.status is not FeedbackStatus.EXECUTED:
            return self._start_over(context)
        self._queue.popleft()
        # Facts about what is in view, where they are granted, choose the conditional effects only.
        effects = context.model.effects(action, believed_state({**self._belief, **self._facts}),
                                        self._settings.conflicting_effects == 'last')
        self._facts = {}  # they are about the world before the action
        # Until an answer says otherwise, the action did what it should.
        self._belief.update(effects)
        for atom in effects:
            self._probabilities.pop(atom, None)
        try:
            wrong, _ = self._check(context, AskPurpose.EFFECT, action, effects)
        except _UnreadableError as error:
            return Stop(StopReason.UNPARSED, str(error))
        if wrong:
            return self._start_over(context)
        return None if self._queue else Stop(StopReason.PLAN_DONE)

    def _forget(self) -> None:
        self._belief.clear()
        self._probabilities.clear()
        self._queue.clear()
        self._last = None
        self._facts = {}

    def _read_goal(self, context: WorldContext) -> None:
        """Ask the picture of the goal about all that a goal may be about; each yes is wanted."""
        atoms = tuple(atom for atom in self._worth
                      if atom.predicate in context.domain.goal_predicates)
        answers = ask_atoms(context, atoms, AskPurpose.PICTURED_GOAL,
                              observation=context.goal_observation(), form=self._form)
        for atom, answer in answers.items():
            if answer.verdict.says is None and self._settings.on_unparsed == 'stop':
                raise _UnreadableError(f'answer about {atom}: {answer.text!r}')
        context.adopt_goal([Literal(atom) for atom, answer in answers.items()
                            if answer.verdict is Verdict.YES], PICTURED)

    def _start_over(self, context: WorldContext) -> Stop | None:
        """Enumerate all ground atoms in view and make a new plan."""
        self._queue.clear()
        observation = self._observe(context)
        atoms = [atom for atom in self._worth if observation.in_view(atom)]
        try:
            answers = (self._ask(context, observation, atoms, AskPurpose.ENUMERATION)
                       if atoms else {})
            self._take(context, answers)
        except _UnreadableError as error:
            return Stop(StopReason.UNPARSED, str(error))
        self._correct(context, observation, answers)
        return self._plan(context)

    def _plan(self, context: WorldContext) -> Stop | None:
        """Make a plan from the belief."""
        try:
            result = plan_from(context, believed_state(self._belief))
        except PlannerError as error:
            if self._settings.planner_crash == 'error':
                raise
            return Stop(StopReason.NO_PLAN, str(error))
        if (stop := without_plan(result)) is not None:
            return stop
        self._queue.extend(result.plan)
        return None if self._queue else Stop(StopReason.PLAN_DONE, 'the goal is believed to hold')

    def _observe(self, context: WorldContext) -> Observation:
        """Observe, and take in privileged facts about what is out of view."""
        observation = context.observe()
        self._facts = observation.privileged_facts
        if hidden := observation.without_visible_facts().privileged_facts:
            self._belief.update(hidden)
            for atom in hidden:
                self._probabilities.pop(atom, None)
            context.believe(believed_state(self._belief), self._probabilities)
        return observation

    def _ask(self, context: WorldContext, observation: Observation, atoms: Sequence[Atom],
             purpose: AskPurpose, expected: Sequence[bool | None] | None = None,
             action: Action | None = None) -> dict[Atom, Answer]:
        """Ask about an observation; all questions of the method go through here."""
        return ask_atoms(context, atoms, purpose, expected, action, observation, form=self._form)

    def _correct(self, context: WorldContext, observation: Observation,
                 answers: Mapping[Atom, Answer]) -> None:
        """Hook after an enumeration, before planning; does nothing: the answers are the belief."""

    def _check(self, context: WorldContext, purpose: AskPurpose, action: Action,
               expected: dict[Atom, bool]) -> tuple[dict[Atom, Answer], list[Atom]]:
        """Look, ask the atoms in view, and take the answers in.

        Returns:
            the answers that differ from ``expected``, and the atoms that were not asked.
        """
        if not expected:
            return {}, []
        observation = (self._observe(context) if purpose is AskPurpose.PRECONDITION
                       else context.observe())
        asked = {atom: value for atom, value in expected.items()
                 if observation.in_view(atom) and atom in self._worth}
        hidden = [atom for atom in expected if atom not in asked]
        if not asked:
            return {}, hidden
        answers = self._ask(context, observation, tuple(asked), purpose, tuple(asked.values()),
                            action)
        self._take(context, answers)
        return {atom: answer for atom, answer in answers.items()
                if answer.verdict.says not in (None, asked[atom])}, hidden

    def _take(self, context: WorldContext, answers: Mapping[Atom, Answer]) -> None:
        """Write answers into the belief; an answer that is neither yes nor no changes no atom.

        An atom without belief becomes false by such an answer.

        Raises:
            _UnreadableError: an answer is neither, and the settings say to stop.
        """
        for atom, answer in answers.items():
            if answer.verdict.says is None:
                if self._settings.on_unparsed == 'stop':
                    raise _UnreadableError(f'answer about {atom}: {answer.text!r}')
                self._belief.setdefault(atom, False)
                continue
            take_answer(atom, answer, self._belief, self._probabilities)
        context.believe(believed_state(self._belief), self._probabilities)


def believed_state(belief: Mapping[Atom, bool]) -> State:
    """The atoms that are believed to hold."""
    return frozenset(atom for atom, holds in belief.items() if holds)


def take_answer(atom: Atom, answer: Answer, belief: dict[Atom, bool],
                probabilities: dict[Atom, float]) -> None:
    """Write an answer of yes or no into a belief, with its probability if there is one."""
    belief[atom] = answer.verdict is Verdict.YES
    probabilities.pop(atom, None)
    if answer.yes_probability is not None:
        probabilities[atom] = answer.yes_probability
