"""The tables of a report, made from finished runs."""

from __future__ import annotations

from sightplan.report.results import Results
from sightplan.report.tables.model import Column, Kind, Table
from sightplan.report.tables.runs import runs

__all__ = ['Column', 'Kind', 'Table', 'make_tables']


def make_tables(results: Results) -> tuple[Table, ...]:
    """All tables that have at least one row, in the order in which they are read."""
    made = (runs(results),)
    return tuple(table for table in made if table.rows)
