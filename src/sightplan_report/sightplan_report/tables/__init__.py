"""The tables of a report, made from finished runs."""

from __future__ import annotations

from sightplan_report.lines import EPISODE, SAMPLE
from sightplan_report.results import Results
from sightplan_report.tables.answers import (
    calibration,
    compounding_predicted,
    compounding_table,
)
from sightplan_report.tables.chains import chains_of_thought
from sightplan_report.tables.effort import causes, cost, cut_off, failures, stops
from sightplan_report.tables.measures import measures, of_suites
from sightplan_report.tables.model import Column, Kind, Table
from sightplan_report.tables.pairs import paired
from sightplan_report.tables.ranking import ranking
from sightplan_report.tables.runs import runs
from sightplan_report.tables.samples import paired_samples, sample_scores, wrong_samples
from sightplan_report.tables.scores import (
    figure5,
    model_table,
    models,
    predicate_tables,
    predicates,
    success,
    table1,
)

__all__ = ['Column', 'Kind', 'Table', 'make_tables']


def make_tables(results: Results) -> tuple[Table, ...]:
    """All tables that have at least one row, in the order in which they are read.

    Names are stable: ``table1``, ``success``, ``figure5``, ``chains_of_thought``,
    ``model_table``, ``models``, ``ranking``, ``ranking_agreement``, ``predicates``,
    ``predicates_<domain>``, ``compounding``, ``compounding_predicted``, ``failures``, ``causes``,
    ``cut_off``, ``stops``, ``calibration``, ``calibration_error``, ``cost``, ``paired``,
    ``sample_scores``, ``paired_samples``, ``wrong_samples``, ``measures``,
    ``suite_<name>_<table>`` (what suites add), ``runs``.

    Raises:
        InputError: a suite's own tables cannot be made.
    """
    episodes, samples = results.of_kind(EPISODE), results.of_kind(SAMPLE)
    made = (table1(episodes), success(episodes), figure5(episodes), chains_of_thought(episodes),
            model_table(episodes), models(episodes), *ranking(episodes),
            *predicate_tables(episodes), predicates(episodes), compounding_table(episodes),
            compounding_predicted(episodes), failures(episodes), causes(samples),
            cut_off(episodes), stops(episodes), *calibration(episodes), cost(episodes),
            paired(episodes), sample_scores(samples), paired_samples(samples),
            wrong_samples(samples), measures(results), *of_suites(results), runs(results))
    return tuple(table for table in made if table.rows)
