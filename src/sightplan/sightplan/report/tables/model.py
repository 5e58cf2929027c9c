"""What a table is: typed columns, plain rows, and a note that says how to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal['text', 'bool', 'count', 'share', 'number', 'seconds', 'usd', 'p']
"""Of a column: ``count`` is a whole number; ``share`` lies in [0, 1], or is a difference or an
error of such; ``number`` is any other without a unit; ``seconds``, ``usd`` and ``p`` (a p-value)
are floating-point numbers, too."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        key: of its values in the rows; unique in the table.
        heading: for people, within its group.
        kind: of its values; each may be None, which means unknown or not applicable, never 0.
        group: heading above several neighbours, such as a split; '' for none.
    """

    key: str
    heading: str
    kind: Kind = 'text'
    group: str = ''


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

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
