"""``ground_mem``: as ``ground``, but the model is told of the last failed attempt.

This is the method of the ViPlan paper (section 4.2, memory-augmented variants): after an action
was withheld or rejected, the next questions include the questions about its preconditions, the
answers and the outcome, until an action is carried out, which changes the picture.

An action that was withheld because of facts out of view, while all answers were as expected,
leaves no memory, since no answer was wrong. The outcome names an unobserved cause of a rejection
only if a precondition was out of view and its atom was neither asked nor provided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sightplan.agent.asking import ask_atoms
from sightplan.agent.context import WorldContext
from sightplan.agent.methods import ground
from sightplan.agent.policy import Stop
from sightplan.domains import MemoryOf
from sightplan.model import (
    Action,
    Answer,
    AskPurpose,
    Atom,
    Feedback,
    FeedbackStatus,
    Observation,
    param,
)


@dataclass(frozen=True, slots=True)
class Settings(ground.Settings):
    """Settings of ``ground_mem``."""

    memory_action: str = param(
        'words', 'How the memory names the action: in "words" (move the red block into ...), or '
        'as a "call", such as moveblock(r, c1)', choices=('words', 'call'))


class Policy(ground.Policy):
    """Enumerate, plan, check, act, check, and start over with a memory of what went wrong."""

    prompt = 'ground_mem'
    _memory = ''
    _checked: tuple[Observation, dict[Atom, Answer]] | None = None

    def __init__(self, settings: Settings) -> None:
        """Keep the settings."""
        super().__init__(settings)
        self._as_call = settings.memory_action == 'call'

    def begin(self, context: WorldContext) -> Stop | None:
        """Forget the last episode, ask every ground atom and plan from the answers."""
        self._memory, self._checked = '', None
        return super().begin(context)

    def learn(self, context: WorldContext, action: Action, feedback: Feedback) -> Stop | None:
        """Remember an action that was not carried out, forget one that was; then as ``ground``."""
        self._memory = ('' if feedback.status is FeedbackStatus.EXECUTED
                        else self._remember(context, action, feedback))
        self._checked = None
        return super().learn(context, action, feedback)

    def _ask(self, context: WorldContext, observation: Observation, atoms: Sequence[Atom],
             purpose: AskPurpose, expected: Sequence[bool | None] | None = None,
             action: Action | None = None) -> dict[Atom, Answer]:
        answers = ask_atoms(context, atoms, purpose, expected, action, observation, self._memory,
                            self._form)
        if purpose is AskPurpose.PRECONDITION:
            self._checked = observation, answers
        return answers

    def _remember(self, context: WorldContext, action: Action, feedback: Feedback) -> str:
        """Return what the next prompt says of an action that was withheld or rejected.

        The text is '' if there are no answers, or if the action was withheld for another reason.
        """
        observation, answers = self._checked or (Observation(), {})
        said = {atom: answer.verdict.says for atom, answer in answers.items()
                if answer.verdict.says is not None}
        needed = context.model.preconditions(action)
        outcome = MemoryOf.FAILED
        if feedback.status is FeedbackStatus.WITHHELD:
            outcome = MemoryOf.WITHHELD
            if all(said.get(literal.atom, literal.positive) == literal.positive
                   for literal in needed):
                return ''  # it was not because of these answers
        elif any(literal.atom in self._worth and literal.atom not in observation.privileged_facts
                 and not observation.in_view(literal.atom) for literal in needed):
            outcome = MemoryOf.UNOBSERVED
        pairs = [(self._form.question(context.domain, atom).text, 'Yes' if value else 'No')
                 for atom, value in said.items()]
        if not pairs:  # there is no answer to have doubts about
            return ''
        return context.domain.memory(self.prompt, outcome, action, pairs, self._as_call)
