"""Ground truth about an episode, for people after the run: where belief first differed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sightplan.metrics import measures
from sightplan.model import AskPurpose, Atom, Belief, BeliefUpdated, Planned, counted
from sightplan.model.judged_answer import JudgedAnswer
from sightplan.model.timeline import Timeline
from sightplan_report.episode_view import Change, TruthExplained, believed
from sightplan_report.html import words

_HALF, _UNSURE = 0.5, 0.1
"""Probability 1/2, and the distance from it within which a belief is undecided."""
_MOST_SHOWN = 8

_Wrong = tuple[int | None, tuple[Change, ...]]
"""Step, and the wrong beliefs at its decision, the worst first."""


def truth_of_line(line: Mapping[str, Any]) -> TruthExplained:
    """Result, outcomes of actions, wrong answers and cause of failure, from a line of results."""
    failure = line.get('failure') or {}
    solved = measures.solved(line)
    result = ('not scored: ' + str(line['error'] or words(line['stop'])) if solved is None else
              'the goal held at the end: solved' if solved else
              'the goal did not hold at the end: not solved')
    return TruthExplained(
        result, outcomes=tuple(
            (number, entry['action'] or '-', words(entry['outcome']))
            for number, entry in enumerate(line['actions'])
            if entry['outcome'] not in ('success', '')),
        wrong_answers=len(line['wrong']),
        goal_unmet=tuple(item['literal'] for item in line['goal_unmet']),
        cause=f'{words(failure["cause"])}: {failure["evidence"]["text"]}' if failure else '')


def truth_of(timeline: Timeline, line: Mapping[str, Any], own_names: bool) -> TruthExplained:
    """Facts that the truth of a timeline adds to its line of results.

    Args:
        timeline: with its truth.
        line: its line of results.
        own_names: whether the method's beliefs are about things by names of its own.
    """
    found = truth_of_line(line)
    if not timeline.of(BeliefUpdated):
        return replace(found, first='the method published no belief')
    if own_names:
        return replace(found, first='the belief is about things by names of its own, so it is not '
                       'compared with the truth')
    compared = _Compared(timeline)
    differs = compared.differs or compared.misplanned
    if differs is None:
        return replace(found, first=compared.agreement)
    number, wrong = differs
    where = 'at the end' if number is None else f'when action {number} was decided'
    what = 'belief and truth first differed' if compared.differs else (
        'whenever an action was decided the belief was right or unsure, but the state from '
        'which its plan was made first differed from the truth')
    were = 'was' if len(wrong) == 1 else 'were'
    return replace(
        found, step=number, differences=wrong[:_MOST_SHOWN],
        first=f'{what} {where}: {counted(len(wrong), "atom")} {were} believed wrongly',
        answers=compared.answers(number, {change.atom for change in wrong})[-_MOST_SHOWN:])


class _Compared:
    """The beliefs of a timeline beside its truth.

    Attributes:
        differs: the first belief at a decision that contains an error.
        misplanned: the first state that was planned from and contains an error: a state takes a
            side where the belief is unsure, and what is asked before an action may correct the
            belief after its plan was made.
    """

    def __init__(self, timeline: Timeline) -> None:
        self._timeline = timeline
        self.differs: _Wrong | None = None
        self.misplanned: _Wrong | None = None
        self._compared: list[bool] = []  # whether it could be, for each decision
        self._answers: list[tuple[int | None, JudgedAnswer]] = []
        for step in timeline.steps:
            for moment in step.moments:
                self._answers += [(step.index, judged) for judged in moment.judged
                                  if judged.says is not None
                                  and judged.event.purpose is not AskPurpose.PICTURED_GOAL]
                if moment.kind is Planned and moment.belief is not None:
                    state = moment.belief.state
                    self.misplanned = self.misplanned or _worst_first(step.index, [
                        change for atom, change in self._changes(moment.belief, moment.now_ns)
                        if (atom in state) is not bool(change.after)])
            if step.fresh and step.believed is not None:
                changes = self._changes(step.believed, step.now_ns)
                self._compared.append(bool(changes))
                self.differs = self.differs or _worst_first(step.index, [
                    change for _, change in changes if change.moved - _HALF > _UNSURE])

    def _changes(self, belief: Belief, now_ns: int) -> list[tuple[Atom, Change]]:
        """From the belief to what is true at a time, as far as that is known."""
        atoms = dict.fromkeys((*belief.probabilities, *sorted(belief.state),
                               *(judged.question.atom for _, judged in self._answers)))
        return [(atom, Change(str(atom), believed(belief, atom), float(true))) for atom in atoms
                if (true := self._timeline.holds(atom, now_ns)) is not None]

    def answers(self, until: int | None, atoms: set[str]) -> tuple[tuple[str, str, str], ...]:
        """Wrong answers about atoms, up to a step: step, question, answer."""
        return tuple(dict.fromkeys(
            ('the end' if step is None else f'step {step}', judged.question.text,
             judged.answer.verdict.value) for step, judged in self._answers
            if judged.wrong and str(judged.question.atom) in atoms
            and (until is None or (step is not None and step <= until))))

    @property
    def agreement(self) -> str:
        """Why no difference between belief and truth is shown."""
        compared, decisions = sum(self._compared), len(self._compared)
        if not compared:
            return ('belief and truth could not be compared: no truth was recorded for the times '
                    'of its decisions')
        if self._timeline.end is None:
            return (f'at {compared} of {decisions} decisions that were recorded the belief agreed '
                    'with the truth')
        if compared < decisions:
            return (f'at {compared} of {decisions} decisions the belief agreed with the truth; '
                    'for the others no truth was recorded')
        return 'at every decision the belief agreed with the truth'


def _worst_first(number: int | None, wrong: list[Change]) -> _Wrong | None:
    """Wrong beliefs at a decision, the worst first; None if there are none."""
    wrong.sort(key=lambda change: -change.moved)
    return (number, tuple(wrong)) if wrong else None
