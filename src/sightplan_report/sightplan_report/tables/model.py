"""Tables: typed columns, plain rows, and a note that says how to read them.

``tables.yaml`` beside this module has titles, columns and notes; ``make`` fills in the rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sightplan.model.reading import read_data

Kind = Literal['text', 'bool', 'count', 'fraction', 'number', 'seconds', 'usd', 'p']
"""Kind of a column: ``count`` is a whole number; ``fraction`` lies in [0, 1], or is a difference
or an error of fractions; ``number`` is any other number without a unit; ``seconds``, ``usd``
and ``p`` (a p-value) are floating-point numbers, too."""


_MOST_COUNT = 2 ** 63
_TABLES = Path(__file__).with_name('tables.yaml')


@dataclass(frozen=True, slots=True)
class Column:
    """Name and kind of a column.

    Attributes:
        key: of its values in the rows; unique in the table.
        heading: for people, within its group.
        kind: of its values; each may be None, which means unknown or not applicable, never 0.
        group: heading above several neighbours, such as a split; '' for none.
        instead: key of the column of texts that a page shows where there is no value; '' for none.
    """

    key: str
    heading: str
    kind: Kind = 'text'
    group: str = ''
    instead: str = ''


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows and note of a table.

    Attributes:
        name: stable, as part of file names.
        title: for people.
        columns: in order.
        rows: key of a column to value: str, bool, int, float or None; numbers are not rounded.
        note: what is counted, how intervals were made and what they assume.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]
    note: str


def make(name: str, rows: Iterable[Mapping[str, Any]], file: Path = _TABLES,
         **values: Sequence[str] | Mapping[str, str]) -> Table:
    """A table of ``tables.yaml``, or of a suite's file of the same form.

    Args:
        name: of the table there.
        rows: cells by key; what is missing, or not of its column's kind, is None, and what has no
            column is left out.
        file: that has its title, columns and note.
        values: of each ``for`` of its columns: the values, with their headings if those differ.
    """
    found = specifications(file)[name]
    columns = tuple(_columns(found['columns'], values))
    note = found['note'] if isinstance(found['note'], str) else ' '.join(found['note'])
    return Table(name, found['title'], columns, tuple(
        {column.key: typed(row.get(column.key), column.kind) for column in columns}
        for row in rows), note)


def _columns(entries: Iterable[Any], values: Mapping[str, Sequence[str] | Mapping[str, str]],
             ) -> Iterator[Column]:
    """The columns of entries, see the head of ``tables.yaml``."""
    for entry in entries:
        match entry:
            case 'group':
                yield from group_columns()
            case 'group without model':
                yield from (column for column in group_columns() if column.key != 'model')
            case {'rate': key, 'heading': heading, **more}:
                yield Column(key, heading, 'fraction')
                for end, name in (('sem', 'SE'), ('low', 'low'), ('high', 'high')):
                    yield Column(f'{key}_{end}', name, 'fraction')
                yield Column(f'{key}_n', str(more.get('n', 'n')), 'count')
            case {'spread': key, 'heading': heading, **more}:
                kind: Any = more.get('kind', 'number')
                for part in ('mean', 'median', 'sum'):
                    yield Column(f'{key}_{part}', part, kind, heading)
                yield Column(f'{key}_n', 'n', 'count', heading)
            case {'for': name, 'columns': inner}:
                given = values[name]
                headings = given if isinstance(given, Mapping) else dict.fromkeys(given)
                for value, heading in headings.items():
                    for column in _columns(inner, values):
                        texts = (text.replace(f'{{{name}}}', heading or value)
                                 for text in (column.heading, column.group))
                        yield Column(column.key.replace(f'{{{name}}}', value), next(texts),
                                     column.kind, next(texts),
                                     column.instead.replace(f'{{{name}}}', value))
            case [[*_], *_]:  # several, from another place
                yield from _columns(entry, values)
            case _:
                yield Column(*entry)


@functools.cache
def group_columns() -> tuple[Column, ...]:
    """The columns that name a group of runs."""
    return tuple(Column(*entry) for entry in specifications()['group'])


@functools.cache
def specifications(file: Path = _TABLES) -> Mapping[str, Any]:
    """Titles, columns and notes of the tables in a file such as ``tables.yaml``."""
    found: Mapping[str, Any] = read_data(file)
    return found


def typed(value: object, kind: Kind) -> Any:
    """Value in the type of its column; None if it cannot be converted."""
    if value is None:
        return None
    if kind == 'text':
        return str(value)
    if kind == 'bool':
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if kind == 'count':
        return value if isinstance(value, int) and abs(value) < _MOST_COUNT else None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None
