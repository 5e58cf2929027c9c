"""Tables as a page shows them: rounded, with intervals, without repeated values.

The files in ``tables/`` have every column with all digits; on a page a column whose value is the
same in all rows stands once, above the table, and standard error, interval and fraction are one
cell.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sightplan_report.html import NONE, seconds, words
from sightplan_report.tables import Column, Kind, Table

_NAMES = ('cause', 'stop')
"""Columns of names of the code, which are put in words."""

_CONDITIONS = ('domain', 'backend', 'failure_probability', 'privileged', 'calibrated')
"""Columns of conditions, which are omitted from a table of one row."""

_MANY = 200
"""Number of observations from which on a fraction has a third digit."""

_HASH, _LONG = 12, 24


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table, as text and as a value to sort by.

    Attributes:
        text: what is shown.
        value: to sort by, with all digits; None for text and for what is not known.
        extra: interval or standard error, '' for none.
        number: whether it is aligned as a number.
        long: whether it is a text that may be broken.
    """

    text: str
    value: float | int | None = None
    extra: str = ''
    number: bool = False
    long: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """Heading of a column, or of neighbouring ones."""

    text: str
    span: int = 1
    number: bool = False


@dataclass(frozen=True, slots=True)
class Shown:
    """A table, ready to be drawn.

    Attributes:
        name: of the table.
        title: for people.
        groups: headings over several columns; empty if there are none.
        heads: headings of the columns.
        rows: cells, one for each heading.
        same: heading and value of what is the same in all rows.
        note: how to read it.
    """

    name: str
    title: str
    groups: tuple[Head, ...]
    heads: tuple[Head, ...]
    rows: tuple[tuple[Cell, ...], ...]
    same: tuple[tuple[str, str], ...]
    note: str


def shown(table: Table) -> Shown:
    """Make a table ready to be drawn."""
    columns = {column.key: column for column in table.columns}
    digits = {key: _digits(table, key) for key in columns}
    kept: list[Column] = []
    same: list[tuple[str, str]] = []
    total = [row.get('n') for row in table.rows]
    for column in table.columns:
        values = [row.get(column.key) for row in table.rows]
        if column.instead:
            values = [row.get(column.instead) if value is None else value
                      for value, row in zip(values, table.rows, strict=True)]
        if (_part_of(column.key, columns) or all(value in (None, '') for value in values)
                or any(other.instead == column.key for other in table.columns)
                or (column.key.endswith('_n') and values == total)):
            continue
        if not _everywhere(column, values):
            kept.append(column)
        elif not column.key.endswith(('_median', '_sum')):
            name = column.group if column.key.endswith('_mean') else _full(column)
            same.append((name, _text(values[0], column, digits[column.key])))
    rows = tuple(tuple(_cell(row, column, columns, digits[column.key]) for column in kept)
                 for row in table.rows)
    return Shown(table.name, table.title, _groups(kept), tuple(
        Head(_heading(column, columns, table.rows), number=column.kind not in ('text', 'bool'))
        for column in kept), rows, tuple(same), table.note)


def _part_of(key: str, columns: Mapping[str, Column]) -> bool:
    """Whether a column is shown in the cells of another one."""
    base, _, part = key.rpartition('_')
    return (part in ('sem', 'low', 'high') and base in columns
            and columns[base].kind not in ('text', 'bool'))


def _everywhere(column: Column, values: Sequence[object]) -> bool:
    """Whether a value that is equal in all rows is shown once; results are not."""
    if any(value != values[0] for value in values):
        return False
    if len(values) == 1:
        return column.key in _CONDITIONS
    if column.kind in ('text', 'bool') or column.key == 'failure_probability':
        return True
    if column.kind == 'count' and (column.key == 'n' or column.key.endswith('_n')):
        return True
    return values[0] == 0 and column.kind != 'fraction' and (
        column.kind == 'count' or column.key.endswith(('_mean', '_median', '_sum')))


def _digits(table: Table, key: str) -> int:
    # Calibration errors stand beside "n", those of a part beside its n.
    beside = f'{key.removesuffix("ece")}n' if key.endswith('ece') else f'{key}_n'
    counts = [row.get(beside) for row in table.rows]
    known = [count for count in counts if isinstance(count, int)]
    return 3 if known and min(known) >= _MANY else 2


def _cell(row: Mapping[str, Any], column: Column, columns: Mapping[str, Column], digits: int,
          ) -> Cell:
    value = row.get(column.key)
    number = column.kind not in ('text', 'bool')
    if value is None and column.instead and (text := row.get(column.instead)):
        return Cell(str(text), long=True)
    text = _text(value, column, digits)
    low, high, sem = (row.get(f'{column.key}_{part}') for part in ('low', 'high', 'sem'))
    extra = ''
    if value is None or not number:
        pass
    elif low is not None and high is not None:
        extra = f'{low:.{digits}f} to {high:.{digits}f}'
    elif sem is not None and f'{column.key}_low' not in columns:
        extra = f'({sem:.{digits}f})'
    return Cell(text, value if number and not isinstance(value, str) else None, extra, number,
                not number and len(text) > _LONG)


def _text(value: object, column: Column, digits: int = 2) -> str:
    if value is None:
        return NONE
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, str):
        if column.key in _NAMES:
            return words(value)
        parts = value.split(', ')
        if column.key == 'commits':
            return ', '.join(part[:_HASH] + ('+' if part.endswith('+') else '') for part in parts)
        return value
    if column.key.endswith('_sum') and isinstance(value, float) and value.is_integer() and (
            column.kind == 'number'):
        return number_text(int(value), 'count')
    return number_text(value, column.kind, digits) if isinstance(value, (int, float)) else str(
        value)


def number_text(value: float, kind: Kind, digits: int = 2) -> str:
    """A number for people."""
    if kind == 'count':
        return f'{value:,}'
    if kind == 'p':
        return '< 0.001' if value < 0.001 else f'{value:.3f}'
    if kind == 'seconds':
        return seconds(value)
    if kind == 'usd':
        return f'{value:.4f}' if abs(value) < 1 else f'{value:.2f}'
    if kind == 'fraction':
        return f'{value:.{digits}f}'
    return f'{value:,.0f}' if abs(value) >= 100 else f'{value:.{1 if abs(value) >= 10 else 2}f}'


def _heading(column: Column, columns: Mapping[str, Column], rows: Sequence[Mapping[str, Any]],
             ) -> str:
    def has(part: str) -> bool:
        key = f'{column.key}_{part}'
        return key in columns and any(row.get(key) is not None for row in rows)
    if column.kind in ('text', 'bool'):
        return column.heading
    if has('low') and has('high'):
        return f'{column.heading}, 95 %'
    if has('sem'):
        return f'{column.heading} ({columns[f"{column.key}_sem"].heading})'
    return column.heading


def _full(column: Column) -> str:
    return column.group if column.group.endswith(column.heading) and column.group else ' '.join(
        filter(None, (column.group, column.heading)))


def _groups(columns: Sequence[Column]) -> tuple[Head, ...]:
    if not any(column.group for column in columns):
        return ()
    return tuple(Head(text, len(list(part))) for text, part in itertools.groupby(
        column.group for column in columns))
