"""Answers of an episode that misled its method, step by step, compared with the truth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sightplan.domains import InstantiatedModel
from sightplan.model import (
    Action,
    AskPurpose,
    Atom,
    Belief,
    DomainError,
    FeedbackStatus,
    InputError,
    Literal,
    Problem,
    State,
    Verdict,
)
from sightplan.model.judged_answer import JudgedAnswer

CHECKS = ('true_positive', 'false_positive', 'true_negative', 'false_negative')
"""Checks of an action by their outcome: positive where an answer differs from what was expected,
true where that is so by the truth of the same atoms."""

_GRAVITY = ('true_negative', 'true_positive', 'false_negative', 'false_positive')

WRONG_ANSWER = ('purpose', 'atom', 'answer', 'step', 'image_id', 'stamp_ns', 'truth')
"""Fields of a wrong answer in the order in which a line of results lists them."""

CUT_REPLY = ('purpose', 'atom', 'answer', 'step', 'tokens')
"""Fields of a reply that ran into its limit of tokens, in the order in which a line lists them."""

PROPOSAL = 'proposal'
"""Purpose, in ``CUT_REPLY``, of the reply of a model that plans."""

BELIEF = 'belief'
"""Purpose, in a line of results, of what was believed without an answer."""


def says(answer: str) -> bool | None:
    """Whether an atom holds by an answer, given as text; None: it says neither yes nor no."""
    return {Verdict.YES.value: True, Verdict.NO.value: False}.get(answer)


class Judgements:
    """The answers of one episode, in order, and what they did to its steps."""

    def __init__(self, problem: Problem) -> None:
        """Begin an episode."""
        self._problem = problem
        self._model: InstantiatedModel | None = None
        self._last: dict[Atom, JudgedAnswer] = {}
        self._earlier: dict[Atom, JudgedAnswer] = {}
        self._checked: dict[Atom, JudgedAnswer] = {}
        self._believed: State | None = None
        self._planned_from: State | None = None
        self.texts: dict[str, str] = {}

    def believe(self, belief: Belief) -> None:
        """Note what the method believes now."""
        self._believed = belief.state

    def take(self, judged: JudgedAnswer) -> None:
        """Note an answer with its truth."""
        atom, purpose = judged.question.atom, judged.event.purpose
        self.texts[str(atom)] = judged.question.text
        if purpose is AskPurpose.PICTURED_GOAL:
            return  # it says nothing about the state
        if atom in self._last:
            self._earlier[atom] = self._last[atom]
        self._last[atom] = judged
        if purpose is AskPurpose.PRECONDITION:
            if not self._checked:  # answers to the check are believed after the plan was made
                self._planned_from = self._believed
            self._checked[atom] = judged

    def step(self, number: int, action: Action | None, status: FeedbackStatus,
             state: State | None, entry: dict[str, Any]) -> None:
        """Complete the entry of a step.

        Args:
            number: number of the step, from 0.
            action: the action that was decided.
            status: status of the action.
            state: the true state before it, if known.
            entry: entry of the step, with its image. It gets ``applicable`` (whether the action
                was legal; None: not known) and ``misled``, the wrong answers behind the decision.
        """
        checked, self._checked = self._checked, {}
        entry['applicable'] = {FeedbackStatus.EXECUTED: True,
                               FeedbackStatus.REJECTED: False}.get(status)
        if action is None or status is FeedbackStatus.EXECUTED or state is None:
            return
        model = self._instantiate()
        try:
            needed = model.preconditions(action) if model is not None else ()
            applicable = model.applicable(action, state) if model is not None else None
        except InputError:  # not an action of this problem
            return
        if status is FeedbackStatus.WITHHELD:
            entry['applicable'] = applicable
        if entry['applicable']:
            answers = [checked[literal.atom] for literal in needed if literal.atom in checked]
            entry['misled'] = [judged.to_json() for judged in answers
                               if judged.wrong and judged.says is not None]
            return
        unmet = [literal for literal in needed if not literal.holds_in(state)]
        if status is FeedbackStatus.WITHHELD:
            believed = self._planned_from if checked else self._believed
            for literal in unmet:
                source = (self._earlier if literal.atom in checked else self._last).get(
                    literal.atom)
                if source and source.wrong:
                    entry['misled'].append(source.to_json())
                elif believed is not None and literal.holds_in(believed):
                    entry['misled'].append(_believed(literal, number, entry))
        else:
            entry['misled'] = [
                judged for literal in unmet
                if (judged := self._taken_for_met(literal, checked, number, entry))]

    def effects(self, entry: dict[str, Any], check: str, wrong: Iterable[JudgedAnswer]) -> None:
        """Complete the entry of the step whose effects were asked.

        Args:
            entry: entry of the step.
            check: one of ``CHECKS``; over several batches the gravest counts.
            wrong: the wrong answers that made it so.
        """
        before = entry['effects'] or _GRAVITY[0]
        if _GRAVITY.index(check) < _GRAVITY.index(before):
            return
        kept = entry['misled'] if check == before else []
        found = [judged.to_json() for judged in wrong]
        entry['misled'] = [*kept, *(judged for judged in found if judged not in kept)]
        entry['effects'] = check

    def behind(self, action: Action | None, step: int) -> list[JudgedAnswer]:
        """The wrong answers from before a step about what an action depends on or changes.

        Args:
            action: was carried out.
            step: number of actions after it.
        """
        model = self._instantiate()
        if action is None or model is None:
            return []
        try:
            involved = model.involved(action)
        except InputError:  # not an action of this problem
            return []
        lasts = [self._last[atom] if self._last[atom].step < step else self._earlier.get(atom)
                 for atom in model.atoms if atom in involved and atom in self._last]
        return [last for last in lasts if last and last.step < step and last.wrong]

    def unmet(self, goal: Iterable[Literal], state: State) -> list[dict[str, Any]]:
        """The literals of a goal that do not hold, each with the last answer about its atom."""
        return [{'literal': str(literal), 'last': last.to_json() if last else None}
                for literal in goal if not literal.holds_in(state)
                for last in [self._last.get(literal.atom)]]

    def _taken_for_met(self, literal: Literal, checked: dict[Atom, JudgedAnswer], number: int,
                       entry: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer or belief that took an unmet precondition for met; None: neither."""
        last = self._last.get(literal.atom)
        if literal.atom in checked and checked[literal.atom].wrong:
            return checked[literal.atom].to_json()
        if self._believed is None:
            return last.to_json() if last and last.wrong else None
        if not literal.holds_in(self._believed):
            return None
        if last and last.wrong:
            return last.to_json()
        return _believed(literal, number, entry)

    def _instantiate(self) -> InstantiatedModel | None:
        if self._model is None and self._problem.domain_pddl:
            try:
                self._model = InstantiatedModel(self._problem)
            except DomainError:
                return None
        return self._model


def _believed(literal: Literal, number: int, entry: dict[str, Any]) -> dict[str, Any]:
    """A literal that does not hold and was believed without an answer, as a wrong answer."""
    return {'purpose': BELIEF, 'atom': str(literal.atom),
            'answer': (Verdict.YES if literal.positive else Verdict.NO).value,
            'truth': not literal.positive, 'step': number,
            'image_id': entry['image_id'], 'stamp_ns': entry['stamp_ns']}
