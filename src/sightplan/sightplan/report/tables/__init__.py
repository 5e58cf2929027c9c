"""The tables of a report, made from finished runs."""

from __future__ import annotations

from sightplan.report.lines import EPISODE
from sightplan.report.results import Results
from sightplan.report.tables.answers import calibration, compounding_table
from sightplan.report.tables.effort import cost, failures, stops
from sightplan.report.tables.measures import measures, of_suites
from sightplan.report.tables.model import Column, Kind, Table
from sightplan.report.tables.pairs import paired
from sightplan.report.tables.runs import runs
from sightplan.report.tables.scores import (
    figure5,
    model_table,
    models,
    predicate_tables,
    predicates,
    success,
)

__all__ = ['Column', 'Kind', 'Table', 'make_tables']


def make_tables(results: Results) -> tuple[Table, ...]:
    """All tables that have at least one row, in the order in which they are read.

    Names are stable: ``success``, ``figure5``, ``model_table``, ``models``, ``predicates``,
    ``predicates_<domain>``, ``compounding``, ``failures``, ``stops``, ``calibration``,
    ``calibration_error``, ``cost``, ``paired``, ``measures``, ``suite_<name>_<table>`` (what
    suites add), ``runs``.

    Raises:
        InputError: a suite's own tables cannot be made.
    """
    episodes = results.of_kind(EPISODE)
    made = (success(episodes), figure5(episodes), model_table(episodes), models(episodes),
            *predicate_tables(episodes), predicates(episodes), compounding_table(episodes),
            failures(episodes), stops(episodes), *calibration(episodes), cost(episodes),
            paired(episodes), measures(results), *of_suites(results), runs(results))
    return tuple(table for table in made if table.rows)
