"""Tables on the cost of episodes, their ends, and their causes of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from statistics import fmean, median
from typing import Any

from sightplan.metrics import Cause, cause_of, measures
from sightplan.metrics.intervals import fraction_of, fraction_of_counts
from sightplan.metrics.summary import cut_replies
from sightplan.runs.summary import causes_of
from sightplan_report.results import Line, Results
from sightplan_report.tables.common import ALL, fraction_cells, group_cells, parts_of, unscored
from sightplan_report.tables.model import Table, make


def failures(results: Results) -> Table:
    """Causes of failed episodes."""
    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, results.splits):
                summary = group.summary if split == ALL else group.summaries[split]
                failed = [(cause, line['cluster']) for line in lines
                          if (cause := cause_of(line)) is not None]
                for cause, count in summary['failures']['causes'].items():
                    yield {**group_cells(group), 'split': split, 'cause': cause, 'count': count,
                           'episodes': len(lines), **fraction_cells('fraction', fraction_of(
                               [its == cause for its, _ in failed],
                               [cluster for _, cluster in failed]))}
    return make('failures', rows())


def causes(results: Results) -> Table:
    """Numbers of samples that went wrong, by the causes that their suites name."""
    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, results.splits):
                scored = [line for line in lines if measures.scored(line)]
                for cause, count in causes_of(scored).items():
                    yield {**group_cells(group), 'split': split, 'cause': cause, 'count': count,
                           **fraction_cells('fraction', fraction_of(
                               [line.get('cause') == cause for line in scored],
                               [line['cluster'] for line in scored]))}
    return make('causes', rows())


def cut_off(results: Results) -> Table:
    """Replies that ran into their limit of tokens, and the episodes that failed by that."""
    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, results.splits):
                scored = [line for line in lines if measures.scored(line)]
                found = cut_replies(scored)
                if not found['cut']:
                    continue
                each = [(line['cluster'], one['cut'], one['replies']) for line in scored
                        for one in [cut_replies([line])]]
                failed = sum(cause_of(line) == Cause.CUT_OFF.value for line in scored)
                yield {**group_cells(group), 'split': split,
                       **fraction_cells('fraction', fraction_of_counts(each)),
                       'cut': found['cut'], 'unreadable': found['unreadable'],
                       'limits': ', '.join(map(str, found['limits'])),
                       'failed': failed, 'episodes': len(scored)}
    return make('cut_off', rows())


def stops(results: Results) -> Table:
    """Table of the reasons that ended episodes."""
    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, results.splits):
                solved = Counter(line['stop'] for line in lines if measures.solved(line))
                for stop, count in sorted(Counter(line['stop'] for line in lines).items()):
                    yield {**group_cells(group), 'split': split, 'stop': stop, 'count': count,
                           **fraction_cells('fraction', fraction_of(
                               [line['stop'] == stop for line in lines],
                               [line['cluster'] for line in lines])),
                           'solved': solved[stop]}
    return make('stops', rows())


def cost(results: Results) -> Table:
    """Questions, tokens, money and time per episode."""
    stages = tuple(dict.fromkeys(stage for group in results.groups for line in group.lines
                                 for stage in line['timings_s']))

    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, results.splits):
                scored = [line for line in lines if measures.scored(line)]
                cells = {**group_cells(group), 'split': split, 'n': len(scored),
                         'unscored': unscored(lines)}
                spent = [_spent(line) for line in scored]
                for name in spent[0] if spent else ():
                    known = [one[name] for one in spent if one[name] is not None]
                    cells[f'{name}_n'] = len(known)
                    if known:
                        cells |= {f'{name}_mean': fmean(known), f'{name}_sum': sum(known),
                                  f'{name}_median': median(known)}
                timed = [line['timings_s'] for line in scored if line['timings_s']]
                yield cells | {
                    f'stage_{stage}': fmean(times.get(stage, 0.0) for times in timed)
                    for stage in stages if any(stage in times for times in timed)}
    return make('cost', rows(), stage=stages)


def _spent(line: Line) -> Mapping[str, Any]:
    """Cost of an episode; a value is None if it was not counted."""
    usage = line['usage'] or {}
    unreadable = sum(counts['unparsed'] for table in line['predicates'].values()
                     for counts in table.values()) + line['proposals'].get('unparsed', 0)
    return {'unreadable': unreadable, 'actions': line['steps'],
            **{key: line[key] for key in ('questions', 'observations', 'privileged_facts',
                                          'seconds')},
            **{key: usage.get(key) for key in ('requests', 'prompt_tokens', 'completion_tokens',
                                               'cost_usd')}}
