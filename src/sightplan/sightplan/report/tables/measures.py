"""The measures of every suite, and what each of its members adds of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.report.results import Results
from sightplan.report.tables.common import GROUP, group_cells, row_of
from sightplan.report.tables.model import Column, Table
from sightplan.runs import Suite
from sightplan.runs.summary import measures_of

OWN = 'suite_'
"""Names of tables that a suite adds begin so, then comes the suite's name."""
_COLUMNS = (
    Column('suite', 'suite'), *GROUP, Column('split', 'split'), Column('measure', 'measure'),
    Column('value', 'value', 'number'), Column('value_low', 'low', 'number'),
    Column('value_high', 'high', 'number'), Column('n', 'scored', 'count'),
    Column('clusters', 'clusters', 'count'), Column('items', 'items', 'count'))
_ALL = 'all'


def measures(results: Results) -> Table:
    """Every measure of each group, split by split, and over all splits where it has several."""
    rows: list[dict[str, Any]] = []
    for group in results.groups:
        suite = group.suite
        splits = [(split, group.of_split(split)) for split in group.splits]
        if len(splits) > 1:
            splits.append((_ALL, group.lines))
        for split, lines in splits:
            for measure in measures_of(suite):
                found = aggregate(lines, measure)
                rows.append(row_of(_COLUMNS, {
                    **group_cells(group), 'suite': suite.name if suite is not None else None,
                    'split': split, 'measure': measure.name.replace('_', ' '),
                    'value': found.value, 'value_low': found.low, 'value_high': found.high,
                    'n': found.n, 'clusters': found.clusters, 'items': len(lines)}))
    return Table('measures', 'Measures', _COLUMNS, tuple(rows), (
        'Low and high are the ends of a 95 % interval: Wilson for fractions of items, else '
        'percentiles of a bootstrap over clusters (items that share their luck, such as a problem '
        'or a picture). Scored: items that have a value; those that ended in an error have none.'))


def of_suites(results: Results) -> Iterator[Table]:
    """The tables that suites make themselves (``report.py`` in their folder).

    Raises:
        InputError: such a module cannot be imported.
    """
    suites: dict[str, Suite] = {}
    for run in results.runs:
        if run.suite is not None and run.suite.has('report'):
            suites.setdefault(run.suite.name, run.suite)
    for name, suite in suites.items():
        runs = [run for run in results.runs
                if run.suite is not None and run.suite.name == name]
        for table in suite.module('report').tables(runs):
            yield replace(table, name=f'{OWN}{name}_{table.name}')
