"""Results of a replay as tables, and as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.model.plugins import part
from sightplan.model.reading import read_data
from sightplan.replay import comparison
from sightplan_report.export import to_csv, to_markdown
from sightplan_report.tables import Column, Table

RESULT = 'replay_result.json'

_COMPARISON, _ESTIMATES = (
    tuple(Column(*row) for row in rows)
    for rows in read_data(Path(__file__).parent / 'columns.yaml').values())


def comparison_table(name: str, found: Mapping[str, Any]) -> Table:
    """A comparison of recorded and new answers; see ``comparison.compare``."""
    return Table(name, 'The same questions to two models', *_filled(
        _COMPARISON, comparison.flat_rows(found)), comparison.NOTE)


def estimates_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Estimators over some answers (``recorded``, ``new``); see ``estimates.estimate``."""
    estimates = part('estimates', 'sightplan_belief')
    rows = [row for answers, result in found.items()
            for row in estimates.flat_rows(result, answers)]
    own = dict.fromkeys(key for row in rows for key in row if key.startswith('accuracy_'))
    columns = (*_ESTIMATES, *(Column(key, key.removeprefix('accuracy_'), 'fraction', 'accuracy')
                              for key in sorted(own)))
    return Table('estimates', 'Estimators over the same answers', *_filled(columns, rows),
                 estimates.NOTE)


def _filled(columns: tuple[Column, ...], rows: Iterable[Mapping[str, Any]],
            ) -> tuple[tuple[Column, ...], tuple[dict[str, Any], ...]]:
    """Rows with a value, or None, for each column; columns without any value are left out."""
    full = tuple({column.key: row.get(column.key) for column in columns} for row in rows)
    used = tuple(column for column in columns
                 if any(row[column.key] is not None for row in full))
    return used, tuple({column.key: row[column.key] for column in used} for row in full)


def write_results(folder: Path, result: Mapping[str, Any], tables: Sequence[Table]) -> None:
    """Write a result as JSON, and its tables as CSV and Markdown.

    Raises:
        InputError: a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / RESULT).write_text(json.dumps(result, indent=2, allow_nan=False) + '\n', 'utf-8')
        for table in tables:
            (folder / f'{table.name}.csv').write_bytes(to_csv(table).encode())
            (folder / f'{table.name}.md').write_text(to_markdown(table), 'utf-8')
    except OSError as error:
        raise InputError(f'{folder}: cannot be written ({error.strerror}); choose another '
                         f'--out') from error
