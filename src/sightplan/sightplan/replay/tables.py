"""Results of a replay as tables, and as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.replay import comparison, estimates
from sightplan.report.export import to_csv, to_markdown
from sightplan.report.tables import Column, Kind, Table

RESULT = 'replay_result.json'

_SIDE: tuple[tuple[str, str, Kind], ...] = (
    ('n', 'n', 'count'), ('right', 'right', 'count'), ('accuracy', 'accuracy', 'share'),
    ('low', 'low', 'share'), ('high', 'high', 'share'),
    ('balanced_accuracy', 'balanced', 'share'), ('true_positive_rate', 'true positives', 'share'),
    ('false_positive_rate', 'false positives', 'share'), ('unparsed', 'unreadable', 'count'))
_COMPARISON = (
    Column('predicate', 'predicate'), Column('questions', 'questions', 'count'),
    *(Column(f'{side}_{key}', heading, kind, side)
      for side in ('recorded', 'new') for key, heading, kind in _SIDE),
    Column('only_recorded', 'only recorded', 'count', 'right'),
    Column('only_new', 'only new', 'count', 'right'),
    Column('mcnemar_p', 'p', 'p', 'McNemar'), Column('mcnemar_p_holm', 'p, Holm', 'p', 'McNemar'),
    Column('difference', 'new - recorded', 'share', 'accuracy'),
    Column('difference_low', 'low', 'share', 'accuracy'),
    Column('difference_high', 'high', 'share', 'accuracy'),
    Column('difference_n', 'questions', 'count', 'accuracy'),
    Column('difference_groups', 'episodes', 'count', 'accuracy'),
    Column('agreement_readable', 'readable', 'count', 'agreement'),
    Column('agreement_same', 'same', 'count', 'agreement'),
    Column('agreement_share', 'share', 'share', 'agreement'),
    Column('agreement_kappa', 'kappa', 'share', 'agreement'),
    Column('yes_recorded', 'yes, recorded', 'share', 'agreement'),
    Column('yes_new', 'yes, new', 'share', 'agreement'))
_ESTIMATES = (
    Column('answers', 'answers'), Column('estimator', 'estimator'),
    Column('atoms', 'atoms', 'count'), Column('left_out', 'left out', 'count'),
    Column('accuracy', 'accuracy', 'share', 'atoms'),
    Column('low', 'low', 'share', 'atoms'), Column('high', 'high', 'share', 'atoms'),
    Column('gain', 'gain', 'share', 'over ground'), Column('gain_low', 'low', 'share',
                                                           'over ground'),
    Column('gain_high', 'high', 'share', 'over ground'),
    Column('gain_groups', 'episodes', 'count', 'over ground'),
    Column('exact_states', 'share', 'share', 'exact states'),
    Column('exact_low', 'low', 'share', 'exact states'),
    Column('exact_high', 'high', 'share', 'exact states'),
    Column('brier', 'Brier', 'share'), Column('log_loss', 'log loss', 'number'),
    Column('ece', 'ECE', 'share'), Column('ece_low', 'low', 'share', 'ECE'),
    Column('ece_high', 'high', 'share', 'ECE'),
    Column('agreement', 'as ground', 'share'))


def comparison_table(name: str, found: Mapping[str, Any]) -> Table:
    """A comparison of recorded and new answers; see ``comparison.compare``."""
    return Table(name, 'The same questions to two models', *_filled(
        _COMPARISON, comparison.flat_rows(found)), comparison.NOTE)


def estimates_table(found: Mapping[str, Mapping[str, Any]]) -> Table:
    """Estimators over some answers (``recorded``, ``new``); see ``estimates.estimate``."""
    rows = [row for answers, result in found.items()
            for row in estimates.flat_rows(result, answers)]
    own = dict.fromkeys(key for row in rows for key in row if key.startswith('accuracy_'))
    columns = (*_ESTIMATES, *(Column(key, key.removeprefix('accuracy_'), 'share', 'accuracy')
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
