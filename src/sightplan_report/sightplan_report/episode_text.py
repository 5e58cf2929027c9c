"""An explained episode as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sightplan_report.deciding_answers import candidates
from sightplan_report.episode_view import (
    AnswerRow,
    Change,
    EpisodeView,
    Fact,
    StepView,
    TruthExplained,
)
from sightplan_report.html import fraction

_WIDTH = 100
_MOST_ROWS, _MOST_CHANGES = 6, 12


def text_of(explained: EpisodeView, every: bool = False) -> str:
    """The text: one paragraph of lines for each action, and one for the end.

    Args:
        explained: the episode.
        every: whether all questions are listed; else, of many, those that matter most.
    """
    return '\n'.join(_lines(explained, every)) + '\n'


def _lines(explained: EpisodeView, every: bool) -> Iterator[str]:
    yield explained.title
    yield from _pair('method', f'{explained.method}: {explained.about}' if explained.about
                     else explained.method)
    if explained.model:
        yield from _pair('model', explained.model)
    if explained.instruction:
        yield from _pair('told', f'"{explained.instruction}"')
    if explained.goal_from:
        yield from _pair('goal', explained.goal_from + (
            f': {", ".join(explained.goal)}' if explained.goal and not explained.instruction
            else ''))
    yield from _pair('stopped', explained.stopped)
    for note in explained.notes:
        yield from _pair('note', note)
    for step in explained.steps:
        yield ''
        yield from _step(step, every)
    if explained.tested:
        yield ''
        yield from _wrapped(explained.tested)
    if explained.truth is not None:
        yield ''
        yield from _truth(explained.truth)


def _step(step: StepView, every: bool) -> Iterator[str]:
    if step.number is None:
        yield 'the end'
    else:
        yield f'step {step.number}: {step.action or "no action"}' + (
            f' [{step.status}]' if step.status != 'executed' else '')
    if step.things:
        yield from _pair('saw', '; '.join(step.things))
    if step.preconditions:
        yield from _pair('needs', ', '.join(map(_fact, step.preconditions)))
    for obstacle in step.obstacles:
        yield from _pair('fails if', ' and '.join(map(_fact, obstacle)))
    if any(fact.held is not None for fact in step.goal):
        yield from _pair('goal', ', '.join(map(_fact, step.goal)))
    if not step.believed and step.number:
        yield from _pair('believed', 'nothing was recorded since the action before')
    if step.provided:
        yield from _pair('provided', f'{step.provided} privileged facts')
    yield from _asked(step, every)
    yield from _pair('decided by', step.deciding.text)
    yield from _pair('why', step.why.text)
    if len(step.why.plan) > 1:
        yield from _pair('', ' → '.join(step.why.plan))
    for other in step.why.alternatives:
        yield from _pair('other plan', other)
    if step.why.explanation:
        yield from _pair('its words', step.why.explanation)
    elif step.why.reply and not step.why.plan:
        yield from _pair('its words', step.why.reply)
    if step.became:
        yield from _pair('became', step.became)
    if step.then:
        yield from _pair('then', ', '.join(map(_change, step.then)))
    if step.tree:
        changes = step.tree if every else step.tree[-_MOST_CHANGES:]
        left = len(step.tree) - len(changes)
        yield from _pair('tree', '; '.join([
            *([f'{left} changes (--all lists them)'] if left else []),
            *(f'{change.node} {change.before} → {change.after}' for change in changes)]))


def _asked(step: StepView, every: bool) -> Iterator[str]:
    total = sum(len(batch.rows) for batch in step.batches)
    if not total:
        return
    shown = {(batch.number, row.place) for batch, row in candidates(step)[:_MOST_ROWS]}
    shown |= {(batch.number, row.place) for batch in step.batches for row in batch.rows
              if every or total <= _MOST_ROWS or row.surprising
              or (batch.number, row.place) == (step.deciding.batch, step.deciding.place)}
    label = 'asked'
    for batch in step.batches:
        for row in batch.rows:
            if (batch.number, row.place) in shown:
                yield from _pair(label, _row(row))
                label = ''
    if total > len(shown):
        yield from _pair('', f'and {total - len(shown)} more (--all shows them)')


def _row(row: AnswerRow) -> str:
    p_yes = '' if row.p_yes is None else (
        f', P(yes) {row.bound}{" " if row.bound else ""}{row.p_yes:.2f}')
    moved = ('' if row.after is None else
             f'; {row.atom}: {fraction(row.before)} → {fraction(row.after)}')
    expected = (f' (expected {"yes" if row.expected else "no"})' if row.surprising else '')
    matters = f' [{row.matters}]' if row.matters else ''
    wrong = '' if row.truth is None or not row.wrong else (
        f' ✗ in truth {"yes" if row.truth else "no"}')
    return f'{row.question or row.atom} {row.said}{wrong}{p_yes}{expected}{moved}{matters}'


def _truth(truth: TruthExplained) -> Iterator[str]:
    yield '--- in truth (recorded for people; no method sees it) ---'
    yield from _wrapped(truth.result)
    if truth.cause:
        yield from _pair('cause', truth.cause)
    if truth.first:
        yield from _pair('first', truth.first)
    for change in truth.differences:
        yield from _pair('', f'{change.atom}: believed {fraction(change.before)}, in truth '
                         f'{"true" if change.after else "false"}')
    for where, question, answer in truth.answers:
        yield from _pair('', f'{where}: {question} was answered {answer}, wrongly')
    for number, action, outcome in truth.outcomes:
        yield from _pair('outcome', f'step {number}, {action}: {outcome}')
    if truth.goal_unmet:
        yield from _pair('unmet', ', '.join(truth.goal_unmet))
    yield from _pair('answers', f'{truth.wrong_answers} wrong in the whole episode')


def _fact(fact: Fact) -> str:
    if fact.held is None:
        return f'{fact.text} ?'
    if fact.probability is not None:
        return f'{fact.text} {fact.probability:.2f}'
    return f'{fact.text} {"yes" if fact.held else "no"}'


def _change(change: Change) -> str:
    return f'{change.atom} {fraction(change.before)} → {fraction(change.after)}'


def _pair(label: str, text: str) -> Sequence[str]:
    return textwrap.wrap(' '.join(text.split()), _WIDTH, initial_indent=f'  {label:<11}',
                         subsequent_indent=' ' * 13, break_on_hyphens=False) or [f'  {label}']


def _wrapped(text: str) -> Sequence[str]:
    return textwrap.wrap(' '.join(text.split()), _WIDTH)
