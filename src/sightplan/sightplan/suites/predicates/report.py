"""What the report adds for this suite: the measures by predicate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sightplan.metrics.measures import aggregate
from sightplan.report.tables.model import Column, Table
from sightplan.suites.predicates.scoring import MEASURES

_COLUMNS = (
    Column('method', 'method'), Column('backend', 'backend'), Column('model', 'model'),
    Column('domain', 'domain'), Column('split', 'split'), Column('predicate', 'predicate'),
    Column('n', 'answers', 'count'), Column('pictures', 'pictures', 'count'),
    *(Column(f'{measure.name}{end}', heading, 'share', measure.name.replace('_', ' '))
      for measure in MEASURES
      for end, heading in (('', 'value'), ('_low', 'low'), ('_high', 'high'))))
_ALL = 'all'


def tables(runs: Iterable[Any]) -> list[Table]:
    """The suite's tables.

    Args:
        runs: of this suite, with ``method``, ``backend`` and ``lines`` each.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        for line in run.lines:
            what = (run.method, run.backend, line['model'], line['domain'])
            for split in (_ALL, line['split']):
                for predicate in (_ALL, line['details']['predicate']):
                    groups.setdefault((*what, split, predicate), []).append(line)
    rows = [_row(key, lines) for key, lines in groups.items()]
    return [Table('by_predicate', 'Eyes: answers about pictures, by predicate', _COLUMNS,
                  tuple(rows), (
        'An unreadable reply counts as wrong. Balanced accuracy is the mean of sensitivity '
        '(accuracy on atoms that hold) and specificity (on those that do not). Brier score and '
        'expected calibration error are of P(yes), where the model gave one. Low and high: 95 % '
        'bootstrap interval over pictures, whose questions are not independent.'))]


def _row(key: tuple[str, ...], lines: list[Mapping[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(
        ('method', 'backend', 'model', 'domain', 'split', 'predicate'), key, strict=True))
    for measure in MEASURES:
        found = aggregate(lines, measure)
        row.update({measure.name: found.value, f'{measure.name}_low': found.low,
                    f'{measure.name}_high': found.high})
        if measure.primary:
            row.update(n=found.n, pictures=found.clusters)
    return row
