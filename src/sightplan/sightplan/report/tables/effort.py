"""What episodes cost, how they ended, and why they failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.intervals import Share
from sightplan.report.results import UNKNOWN, Group, Line, Results, are_known, completed
from sightplan.report.tables.common import (
    GROUP,
    UNSCORED,
    WILSON,
    group_cells,
    row_of,
    share_cells,
    share_columns,
    unscored,
)
from sightplan.report.tables.model import Column, Kind, Table

ALL = 'all'

_FAILURES = (*GROUP, Column('split', 'split'), Column('cause', 'cause'),
             *share_columns('share', 'share of the failed', 'failed'),
             Column('count', 'count', 'count'), Column('episodes', 'of episodes', 'count'))
_STOPS = (*GROUP, Column('split', 'split'), Column('stop', 'ended by'),
          *share_columns('share', 'share', 'episodes'), Column('count', 'count', 'count'),
          Column('solved', 'solved', 'count'))


def _parts(group: Group, splits: Sequence[str]) -> list[tuple[str, tuple[Line, ...]]]:
    """The episodes of each split, and of all if there are several."""
    parts = [(split, group.of_split(split)) for split in splits if split in group.splits]
    return parts if len(parts) < 2 else [*parts, (ALL, group.lines)]


def failures(results: Results) -> Table:
    """Causes of failed episodes."""
    found = []
    for group in results.groups:
        for split, lines in _parts(group, results.splits):
            summary = group.summary if split == ALL else group.summaries[split]
            counts = summary['failures']
            for cause, count in counts['causes'].items():
                found.append(row_of(_FAILURES, {
                    **group_cells(group), 'split': split, 'cause': cause, 'count': count,
                    'episodes': len(lines),
                    **share_cells('share', Share(count, counts['episodes']))}))
    return Table('failures', 'Why episodes failed', _FAILURES, tuple(found), (
        'Each failed episode has one cause, by the rules of "sightplan failures --rules"; '
        'episodes that ended in an infrastructure error are among them, with a cause of their '
        f'own. "{UNKNOWN}": an earlier version wrote neither a cause nor what the rules need. '
        f'{WILSON}'))


def stops(results: Results) -> Table:
    """What ended episodes."""
    found = []
    for group in results.groups:
        for split, lines in _parts(group, results.splits):
            solved = Counter(line['stop'] for line in lines if measures.solved(line))
            for stop, count in sorted(Counter(line['stop'] for line in lines).items()):
                found.append(row_of(_STOPS, {
                    **group_cells(group), 'split': split, 'stop': stop, 'count': count,
                    'solved': solved[stop], **share_cells('share', Share(count, len(lines)))}))
    return Table('stops', 'What ended episodes', _STOPS, tuple(found),
                 f'Of all episodes, unscored ones included. {WILSON}')


# ------------------------------------------------------------------------------------- cost


def _field(name: str) -> Callable[[Line], float | None]:
    return lambda line: line.get(name)


def _usage(name: str) -> Callable[[Line], float | None]:
    return lambda line: (line.get('usage') or {}).get(name)


def _unreadable(line: Line) -> float | None:
    """Unreadable answers, and unreadable replies of a model that plans; None: not known."""
    if not are_known([line], 'predicates', 'proposals'):
        return None
    answers = sum(int(counts['unparsed']) for table in completed(line)['predicates'].values()
                  for counts in table.values())
    return answers + int(line.get('proposals', {}).get('unparsed', 0))


_COSTS: tuple[tuple[str, str, Kind, Callable[[Line], float | None]], ...] = (
    ('questions', 'questions', 'number', _field('questions')),
    ('unreadable', 'unreadable replies', 'number', _unreadable),
    ('observations', 'observations', 'number', _field('observations')),
    ('actions', 'actions', 'number', _field('steps')),
    ('privileged_facts', 'privileged facts', 'number', _field('privileged_facts')),
    ('requests', 'requests', 'number', _usage('requests')),
    ('prompt_tokens', 'tokens in', 'number', _usage('prompt_tokens')),
    ('completion_tokens', 'tokens out', 'number', _usage('completion_tokens')),
    ('cost_usd', 'USD', 'usd', _usage('cost_usd')),
    ('seconds', 'seconds', 'seconds', _field('seconds')))


def cost(results: Results) -> Table:
    """Questions, tokens, money and time per episode."""
    stages = tuple(dict.fromkeys(
        stage for group in results.groups for line in group.lines
        for stage in line.get('timings_s', {})))
    columns = [*GROUP, Column('split', 'split'), Column('n', 'n', 'count'),
               Column('unscored', 'unscored', 'count')]
    for name, heading, kind, _ in _COSTS:
        columns += [Column(f'{name}_mean', 'mean', kind, heading),
                    Column(f'{name}_median', 'median', kind, heading),
                    Column(f'{name}_sum', 'sum', kind, heading),
                    Column(f'{name}_n', 'n', 'count', heading)]
    columns += [Column(f'stage_{stage}', stage, 'seconds', 'seconds, mean') for stage in stages]
    found = []
    for group in results.groups:
        for split, lines in _parts(group, results.splits):
            scored = [line for line in lines if measures.scored(line)]
            cells: dict[str, Any] = {**group_cells(group), 'split': split, 'n': len(scored),
                                     'unscored': unscored(lines)}
            for name, _, _, read in _COSTS:
                cells |= _statistics(name, [read(line) for line in scored])
            timed = [line['timings_s'] for line in scored if line.get('timings_s')]
            cells |= {f'stage_{stage}': fmean(times.get(stage, 0.0) for times in timed)
                      for stage in stages if any(stage in times for times in timed)}
            found.append(row_of(columns, cells))
    return Table('cost', 'What an episode costs', tuple(columns), tuple(found), (
        'Per scored episode. Seconds are wall-clock and depend on the machine and on what else it '
        'did; stages are means over the episodes that were timed. "n" counts the episodes for '
        f'which the number is known: tokens and money only where somebody counts. {UNSCORED}'))


def _statistics(name: str, values: Sequence[float | None]) -> dict[str, Any]:
    known = [float(value) for value in values if value is not None]
    return {f'{name}_mean': fmean(known) if known else None,
            f'{name}_median': median(known) if known else None,
            f'{name}_sum': sum(known) if known else None, f'{name}_n': len(known)}
