"""Tables 6 to 19 of the paper made again from imported results, as far as the files hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sightplan.metrics import sem
from sightplan.runs.published import Published
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Results
from sightplan_report.tables.common import groups_by_split
from sightplan_report.tables.model import Table, make
from sightplan_suites.viplan.paper_figures import as_printed, enumerated, figures_of

_FILE = Path(__file__).with_suffix('.yaml')
_NAMES = ('domain', 'method', 'model', 'failure_probability')
_PREDICATE = 'predicate_accuracy.'
_EQUAL = 'equal'


@dataclass(frozen=True, slots=True)
class _Number:
    """A figure of the files, and the printed one.

    Attributes:
        group: the runs that it is of.
        split: simple, medium or hard.
        measure: as ``published.json`` calls it.
        value: from the files.
        n: number of problems or questions.
        printed: the printed number.
    """

    group: Group
    split: str
    measure: str
    value: float
    n: int
    printed: Published

    @property
    def table(self) -> int:
        """Number of the table that prints it: of two, the second has the predicates."""
        found = re.findall(r'\d+', self.printed.source)
        return int(found[-1] if self.measure.startswith(_PREDICATE) else found[0])

    @property
    def difference(self) -> str:
        """``equal``, or by how much it differs."""
        return as_printed(self.value, self.printed.value)

    @property
    def column(self) -> str:
        """Heading of its column in the layout of the paper."""
        return f'{self.measure.removeprefix(_PREDICATE).replace("_", " ")}, {self.split}'


def tables(runs: Iterable[Any]) -> list[Table]:
    """Tables of imported runs; none where no run was imported.

    Args:
        runs: of this suite (``RunResults``).
    """
    results = Results(tuple(run for run in runs if run.imported))
    if not results.runs:
        return []
    numbers = sorted(_numbers(results), key=lambda one: one.table)
    return [make('figures', _figures(results), _FILE), make('printed', map(_row, numbers), _FILE),
            *(_layout(number, own)
              for number, own in grouped(numbers, lambda one: one.table).items())]


def _cells(group: Group) -> dict[str, Any]:
    return {name: getattr(group, name) for name in _NAMES}


def _figures(results: Results) -> Iterator[dict[str, Any]]:
    """Figures of each group and split."""
    for group, split in groups_by_split(results):
        lines = group.by_split[split]
        found, accuracy = figures_of(lines), group.summaries[split]['predicate_accuracy']
        questions = sum(asked for _, asked in enumerated(lines).values())
        yield {**_cells(group), 'split': split, 'n': len(lines), **found.as_json(),
               'task_accuracy_sem': _error(found.task_accuracy, len(lines)),
               'predicate_accuracy_sem': _error(found.predicate_accuracy, questions),
               'questions': questions or None, 'yes_accuracy': accuracy['yes'],
               'no_accuracy': accuracy['no']}


def _error(value: float | None, n: int) -> float | None:
    return None if value is None or not n else sem(value, n)


def _numbers(results: Results) -> Iterator[_Number]:
    """All figures that the paper prints, too."""
    for group, split in groups_by_split(results):
        suite, lines = group.suite_with(split), group.by_split[split]
        if suite is None:
            continue
        found, counts = figures_of(lines), enumerated(lines)
        values: dict[str, tuple[float | None, int]] = {
            'solved': (found.task_accuracy, len(lines)),
            'predicate_accuracy': (found.predicate_accuracy,
                                   sum(asked for _, asked in counts.values())),
            **{f'{_PREDICATE}{name}': (right / asked, asked)
               for name, (right, asked) in counts.items()}}
        for measure, (value, n) in values.items():
            printed = suite.published.find(
                group.model, measure, domain=group.domain, method=group.method, split=split,
                failure_probability=group.failure_probability)
            if printed is not None and value is not None:
                yield _Number(group, split, measure, value, n, printed)


def _row(one: _Number) -> Mapping[str, Any]:
    return {**_cells(one.group), 'table': one.table, 'split': one.split, 'measure': one.measure,
            'value': one.value, 'value_sem': _error(one.value, one.n), 'n': one.n,
            'printed': one.printed.value, 'printed_sem': one.printed.sem,
            'difference': one.difference}


def _layout(number: int, numbers: Sequence[_Number]) -> Table:
    """A table as the paper prints it: models, and figures by split."""
    columns = list(dict.fromkeys(one.column for one in numbers))
    rows = []
    for own in grouped(numbers, lambda one: one.group.names).values():
        apart = [f'{one.column} {one.difference}' for one in own if one.difference != _EQUAL]
        rows.append({**_cells(own[0].group), **{one.column: one.value for one in own},
                     'compared': len(own), 'difference': '; '.join(apart) or _EQUAL})
    table = make('table', rows, _FILE, value=columns)
    return replace(table, name=f'table_{number}',
                   title=f'Table {number} of the paper, {table.title}')

