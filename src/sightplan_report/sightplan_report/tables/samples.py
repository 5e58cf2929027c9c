"""Tables of samples: models side by side, pairs of them over the same samples, wrong answers."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.metrics.paired import compare, holm
from sightplan.model import excerpt
from sightplan.runs.suite_rules import SAMPLES
from sightplan_report.labels import labels
from sightplan_report.results import Results
from sightplan_report.tables.common import checked_yes_probability, group_cells, parts_of
from sightplan_report.tables.model import Table, make
from sightplan_report.tables.pairs import difference, scored_by_split, spread

_MOST_WRONG = 200
"""Most wrong answers that are listed of a group of runs."""


def sample_scores(results: Results) -> Table:
    """Measures of samples, one row for each group and split: models stand below each other."""
    names: dict[str, None] = {}
    rows: list[dict[str, Any]] = []
    for group in results.groups:
        if group.suite is None:
            continue
        for split, lines in parts_of(group, group.splits):
            row = {**group_cells(group), 'suite': group.suite.name, 'split': split,
                   'items': len(lines), 'unread': sum(bool(line['unread']) for line in lines),
                   'unscored': sum(bool(line['error']) for line in lines)}
            for measure in group.suite.measures(SAMPLES):
                found = aggregate(lines, measure)
                names[measure.name] = None
                row |= {measure.name: found.value, f'{measure.name}_low': found.low,
                        f'{measure.name}_high': found.high}
            rows.append(row)
    return make('sample_scores', rows,
                measure={name: name.replace('_', ' ') for name in names})


def paired_samples(results: Results) -> Table:
    """Every pair of groups that differ in one thing alone, in the primary measure of its suite."""
    rows: list[dict[str, Any]] = []
    sides = list(zip(results.groups, map(scored_by_split, results.groups),
                     _labels(results), strict=True))
    for (first, own, its), (second, other, others) in itertools.combinations(sides, 2):
        compared = difference(first, second)
        if not compared or first.suite is None or second.suite is None or (
                first.suite.name != second.suite.name):
            continue
        measure = first.suite.primary(SAMPLES)
        for split in (split for split in own if split in other):
            found = compare(spread(own[split], other[split]),
                            spread(other[split], own[split]), measure)
            if found is None:
                continue
            rows.append({
                'suite': first.suite.name, 'compared': compared, 'split': split, 'first': its,
                'second': others, 'measure': measure.name.replace('_', ' '), 'n': found.n,
                'clusters': found.clusters, 'first_value': found.first,
                'second_value': found.second, 'difference': found.difference,
                'difference_low': found.low, 'difference_high': found.high, 'p': found.p,
                **dict(zip(('both', 'only_first', 'only_second', 'neither'),
                           found.counts or (), strict=False))})
    told = [row for row in rows if row['p'] is not None]
    for row, p in zip(told, holm([row['p'] for row in told]), strict=True):
        row['p_holm'] = p
    return make('paired_samples', rows)


def wrong_samples(results: Results) -> Table:
    """The samples that were answered wrongly, with question, reply and truth."""
    def rows() -> Iterator[dict[str, Any]]:
        for group, label in zip(results.groups, _labels(results), strict=True):
            wrong = (line for line in group.lines if line['cause'] is not None)
            for line in itertools.islice(wrong, _MOST_WRONG):
                yield {'suite': line['suite'], 'by': label, 'sample': line['id'],
                       'picture': line['details'].get('picture', line['cluster']),
                       'question': line['details'].get('question'), 'reply': line['reply'],
                       'unread': line['unread'] or None,
                       'truth': excerpt(json.dumps(line['truth'])),
                       'p_yes': checked_yes_probability(
                           line.get('p_yes'), line.get('p_no')),
                       'cause': line['cause']}
    return make('wrong_samples', rows())


def _labels(results: Results) -> list[str]:
    """Labels that tell each group from the others, in words."""
    return labels([group_cells(group) for group in results.groups])
