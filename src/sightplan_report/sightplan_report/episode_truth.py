"""Ground truth about an episode, for people after the run: where belief first differed from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sightplan.metrics import measures
from sightplan.model import AskPurpose, Atom, Belief, BeliefUpdated, EpisodeEvent, Planned, counted
from sightplan.model.timeline import Moment, Step, Timeline
from sightplan_report.episode_view import Change, TruthExplained, believed
from sightplan_report.html import words

_HALF, _UNSURE = 0.5, 0.1
"""Probability 1/2, and the distance from it within which a belief is undecided."""
_MOST_SHOWN = 8

_Wrong = tuple[int | None, tuple[Change, ...]]
"""Step, and the wrong beliefs at its decision, the worst first."""


def truth_of_line(line: Mapping[str, Any]) -> TruthExplained:
    """What a line of results alone tells."""
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
    """What the truth of a timeline adds to what its line of results tells.

    Args:
        timeline: with its truth.
        line: its line of results.
        own_names: whether the method's beliefs are about things by names of its own.
    """
    compared = _Compared(timeline, own_names)
    found = compared.differs or compared.misplanned
    if found is None:
        return replace(truth_of_line(line), first=compared.agreement())
    number, wrong = found
    where = 'at the end' if number is None else f'when action {number} was decided'
    what = 'belief and truth first differed' if compared.differs else (
        'whenever an action was decided the belief was right or unsure, but the state from '
        'which its plan was made first differed from the truth')
    were = 'was' if len(wrong) == 1 else 'were'
    return replace(
        truth_of_line(line), step=number, differences=wrong[:_MOST_SHOWN],
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

    def __init__(self, timeline: Timeline, own_names: bool) -> None:
        self._timeline, self._own_names = timeline, own_names
        self.differs: _Wrong | None = None
        self.misplanned: _Wrong | None = None
        self._decisions = self._compared = 0
        self._answered: dict[Atom, None] = {}  # atoms answered with yes or no
        self._wrong: list[tuple[int | None, Atom, str, str]] = []
        for step in timeline.steps:
            for moment in step.moments:
                self._check(step.index, moment)
                if moment.kind is Planned and moment.belief is not None and (
                        self.misplanned is None):
                    self._compare_state(step.index, moment.belief, moment.now_ns)
            if step.fresh and step.believed is not None:
                self._compare(step, step.believed)

    def _check(self, number: int | None, moment: Moment[EpisodeEvent]) -> None:
        """Note wrong answers about an observation; a picture of the goal is skipped."""
        for judged in moment.judged:
            if judged.says is None or judged.event.purpose is AskPurpose.PICTURED_GOAL:
                continue
            question = judged.question
            self._answered[question.atom] = None
            if judged.wrong:
                self._wrong.append((number, question.atom, question.text,
                                    judged.answer.verdict.value))

    def _compare(self, step: Step, belief: Belief) -> None:
        pairs = self._pairs(belief, step.now_ns)
        self._decisions += 1
        self._compared += bool(pairs)
        if self.differs is None:
            self.differs = _worst_first(step.index, [
                Change(str(atom), value, float(true)) for atom, value, true in pairs
                if abs(value - _HALF) > _UNSURE and (value > _HALF) is not true])

    def _compare_state(self, number: int | None, belief: Belief, now_ns: int) -> None:
        self.misplanned = _worst_first(number, [
            Change(str(atom), value, float(true))
            for atom, value, true in self._pairs(belief, now_ns)
            if (atom in belief.state) is not true])

    def _pairs(self, belief: Belief, now_ns: int) -> list[tuple[Atom, float, bool]]:
        """Atoms, the belief in each, and whether it is true now, as far as that is known."""
        if self._own_names:
            return []
        atoms = dict.fromkeys((*belief.probabilities, *sorted(belief.state), *self._answered))
        return [(atom, believed(belief, atom), true) for atom in atoms
                if (true := self._timeline.holds(atom, now_ns)) is not None]

    def answers(self, until: int | None, atoms: set[str]) -> tuple[tuple[str, str, str], ...]:
        """Wrong answers about atoms, up to a step: step, question, answer."""
        return tuple(dict.fromkeys(
            ('the end' if step is None else f'step {step}', question, answer)
            for step, atom, question, answer in self._wrong
            if str(atom) in atoms and (until is None or (step is not None and step <= until))))

    def agreement(self) -> str:
        """Explain why no difference between belief and truth is shown."""
        if not self._timeline.of(BeliefUpdated):
            return 'the method published no belief'
        if self._own_names:
            return ('the belief is about things by names of its own, so it is not compared with '
                    'the truth')
        if not self._compared:
            return ('belief and truth could not be compared: no truth was recorded for the times '
                    'of its decisions')
        if self._timeline.end is None:
            return (f'at {self._compared} of {self._decisions} decisions that were recorded the '
                    'belief agreed with the truth')
        if self._compared < self._decisions:
            return (f'at {self._compared} of {self._decisions} decisions the belief agreed with '
                    'the truth; for the others no truth was recorded')
        return 'at every decision the belief agreed with the truth'


def _worst_first(number: int | None, wrong: list[Change]) -> _Wrong | None:
    """Wrong beliefs at a decision, the worst first; None if there are none."""
    wrong.sort(key=lambda change: -change.moved)
    return (number, tuple(wrong)) if wrong else None
