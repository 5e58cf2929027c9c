"""Table that the report adds for this suite: the measures by predicate."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan_report.grouping import grouped
from sightplan_report.results import Results
from sightplan_report.tables.model import Table, make
from sightplan_suites.predicates.scoring import MEASURES

_KEYS = ('method', 'backend', 'model', 'variant', 'domain', 'split', 'predicate')
_ALL = 'all'


def tables(runs: Iterable[Any]) -> list[Table]:
    """Make the suite's tables.

    Args:
        runs: of this suite (``RunResults``).
    """
    lines = [((group.method, group.backend, line['model'], group.variant or None, line['domain'],
               split, predicate), line)
             for group in Results(tuple(runs)).groups for line in group.lines
             for split, predicate in itertools.product(
                 (_ALL, line['split']), (_ALL, line['details']['predicate']))]
    rows = (_row(key, [line for _, line in found])
            for key, found in grouped(lines, lambda pair: pair[0]).items())
    return [make('by_predicate', rows, Path(__file__).with_name('report.yaml'), measure={
        measure.name: measure.name.replace('_', ' ') for measure in MEASURES})]


def _row(key: Sequence[str | None], lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(_KEYS, key, strict=True))
    for measure in MEASURES:
        found = aggregate(lines, measure)
        row |= {measure.name: found.value, f'{measure.name}_low': found.low,
                f'{measure.name}_high': found.high}
        if measure.primary:
            row |= {'n': found.n, 'pictures': found.clusters}
    return row
