"""Search for the answer that decided: by changing answers, else by changes of belief."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sightplan.metrics.judgements import says
from sightplan.model import FeedbackStatus
from sightplan_report.episode_view import (
    AnswerRow,
    Batch,
    Deciding,
    EpisodeView,
    StepView,
    Tested,
    Tester,
)
from sightplan_report.episode_words import CUT_OFF, NOT_CHOSEN
from sightplan_report.html import fraction

_LEAST_CHANGE = 0.05
_MOST_TESTED, _MOST_TESTED_ON = 4, 40
"""Number of answers that are changed for a decision, and the larger number if none changed it."""
_MOST_LIKEWISE = 3


def decide(episode: EpisodeView, test: Tester | None, why_not: str = '', effort: int = 200,
           watch: Callable[[int, int], None] = lambda done, total: None) -> EpisodeView:
    """Find the answer that decided each action, and the end.

    Args:
        episode: a recorded one.
        test: changes one answer, and decides again; None: that cannot be done.
        why_not: why not.
        effort: so many decisions are made again in all, about: to test an answer before decision
            n takes n + 1 of them, or twice as many. The end comes first, then what was not carried
            out, then actions that begin a plan.
        watch: is told how many decisions are done, and of how many.
    """
    steps, left, spent_out = list(episode.steps), effort, 0
    order = sorted((number for number, step in enumerate(steps)
                    if step.deciding.text not in (CUT_OFF, NOT_CHOSEN)),
                   key=lambda number: (_rank(steps[number]), number))
    for done, number in enumerate(order, 1):
        tester = None if test is None or left <= 0 else test
        deciding = _deciding(steps[number], number, tester, left // (number + 1))
        spent_out += bool(test is not None and tester is None and candidates(steps[number]))
        left -= sum((number + 1) * (1 + (one.opposite is not None)) for one in deciding.tested)
        steps[number] = replace(steps[number], deciding=deciding)
        watch(done, len(order))
    by_belief = ('it is the one with the greatest change of belief among those that matter for '
                 'the action, its plan or the goal, which need not be the only reason')
    if test is not None:
        text = ('The method was run again on the recorded answers, with one answer removed or '
                'reversed at a time. An answer decided if the method does something else '
                'without it.')
        if spent_out:
            text += (f' For {spent_out} decision{"s" if spent_out > 1 else ""} that was not done '
                     f'(it takes long: more than {effort} decisions made again); where an answer '
                     f'is named there, {by_belief}.')
    else:
        text = ('Deciding answers were not found by running the method again'
                + (f' ({why_not})' if why_not else '') + f'; where one is named, {by_belief}.')
    asked = any(step.batches for step in steps)
    return replace(episode, steps=tuple(steps), tested=text if asked else '')


def _rank(step: StepView) -> int:
    if step.number is None:
        return 0
    return 1 if step.status != FeedbackStatus.EXECUTED.value else 2 if step.why.step == 1 else 3


def candidates(step: StepView) -> list[tuple[Batch, AnswerRow]]:
    """The answers before a decision that can have decided it, the likeliest first."""
    rows = [(batch, row) for batch in step.batches for row in batch.rows
            if says(row.answer) is not None]
    return sorted(rows, key=lambda pair: pair[1].importance)


def _deciding(step: StepView, number: int, test: Tester | None, most: int) -> Deciding:
    found = candidates(step)
    if step.deciding.how == 'words' or not step.batches:
        return step.deciding
    if not found:
        return replace(step.deciding, text='no answer before it could be read')
    if test is None:
        batch, row = max(((b, r) for b, r in found), key=lambda pair: (
            pair[1].surprising, bool(pair[1].matters), pair[1].moved))
        if row.moved < _LEAST_CHANGE and not row.surprising:
            return Deciding('belief', f'nothing: no answer changed a belief that matters '
                            f'by {_LEAST_CHANGE:.2f} or more')
        if row.moved < _LEAST_CHANGE:
            text = f'was not as expected, and left the belief at {fraction(row.after)}'
        elif row.surprising:
            text = (f'was not as expected, and moved the belief from {fraction(row.before)} to '
                    f'{fraction(row.after)}')
        else:
            text = f'moved the belief most ({fraction(row.before)} to {fraction(row.after)})'
        return Deciding('belief', f'{_said(row)} {text}', batch.number, row.place)
    tested: tuple[Tested, ...] = ()
    for batch, row in found[:_MOST_TESTED_ON]:
        if len(tested) >= _MOST_TESTED and (len(tested) >= most or any(map(_differs, tested))):
            break
        tested = (*tested, test(number, (batch.number, row.place)))
    of = {(batch.number, row.place): row for batch, row in found}
    return _from_tests(tested, of, len(found))


def _differs(one: Tested) -> bool:
    return any(other is not None and other.differs for other in (one.without, one.opposite))


def _from_tests(tested: Sequence[Tested], rows: Mapping[tuple[int, int], AnswerRow],
                total: int) -> Deciding:
    """Deciding answer by the results of changing answers."""
    if all(one.without is None for one in tested):
        return Deciding('none', NOT_CHOSEN, tested=tuple(tested))
    scope = ('the one answer' if total == 1 else f'any one of the {total} answers'
             if len(tested) == total else f'any one of the {len(tested)} most important answers '
             f'(of {total})')
    for opposite in (False, True):
        found = [(one, other) for one in tested
                 for other in [one.opposite if opposite else one.without]
                 if other is not None and other.differs]
        if not found:
            continue
        (first, other), *more = found
        said = _said(rows[first.batch, first.place])
        text = (f'no single answer: removing {scope} changes nothing. With the opposite '
                f'of {said} the method would {other}' if opposite else
                f'{said}: without it the method would {other}')
        if more:
            text += '; likewise ' + '; '.join(
                f'{_said(rows[one.batch, one.place])}: {then}'
                for one, then in more[:_MOST_LIKEWISE])
        if len(more) > _MOST_LIKEWISE:
            text += f'; and {len(more) - _MOST_LIKEWISE} more'
        return Deciding('replayed', text, first.batch, first.place, tuple(tested))
    return Deciding('replayed', f'none: removing or reversing {scope} changes nothing',
                    tested=tuple(tested))


def _said(row: AnswerRow) -> str:
    return f'"{row.answer}" to "{row.question or row.atom}"'
