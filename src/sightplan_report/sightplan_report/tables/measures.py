"""Tables of the measures of every suite, and the tables that suites add."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.runs.summary import kind_of, measures_of
from sightplan_report.grouping import grouped
from sightplan_report.results import Results
from sightplan_report.tables.common import group_cells, parts_of
from sightplan_report.tables.model import Table, make

OWN = 'suite_'
"""Names of tables that a suite adds begin so, then comes the suite's name."""


def measures(results: Results) -> Table:
    """Every measure of each group, split by split, and over all splits where it has several."""
    def rows() -> Iterator[dict[str, Any]]:
        for group in results.groups:
            for split, lines in parts_of(group, group.splits):
                for measure in measures_of(group.suite, kind_of(lines, group.suite)):
                    found = aggregate(lines, measure)
                    yield {**group_cells(group), 'suite': group.suite and group.suite.name,
                           'split': split, 'measure': measure.name.replace('_', ' '),
                           'value': found.value, 'value_low': found.low, 'value_high': found.high,
                           'n': found.n, 'clusters': found.clusters, 'items': len(lines)}
    return make('measures', rows())


def of_suites(results: Results) -> Iterator[Table]:
    """The tables that suites make themselves (``Suite.tables``).

    Raises:
        InputError: such a module cannot be imported.
    """
    for runs in grouped(results.runs, lambda run: run.suite and run.suite.name).values():
        suite = runs[0].suite
        if suite is not None:
            for table in suite.tables(runs):
                yield replace(table, name=f'{OWN}{suite.name}_{table.name}')
