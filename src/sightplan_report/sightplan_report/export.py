"""Tables as CSV, Parquet and Markdown; episodes and answers as flat tables.

CSV (RFC 4180, UTF-8) and Parquet hold the very numbers, not rounded; Markdown is rounded for
people. In CSV a missing value is an empty field and true and false are words; before text that a
spreadsheet would take for a formula stands an apostrophe.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sightplan
from sightplan.metrics import measures
from sightplan.model import InputError
from sightplan.model.whole_files import replacing
from sightplan_report.lines import EPISODE, SAMPLE
from sightplan_report.results import Line, Results, RunResults, cause_of
from sightplan_report.tables import Column, Kind, Table, make_tables
from sightplan_report.tables.model import make, typed

if TYPE_CHECKING:
    import pyarrow as pa

FOLDER, INDEX = 'tables', 'index.json'
MOST_ROWS = 200
"""Number of rows that a Markdown table shows."""
_LONGEST_CELL = 200
"""Most characters of a text in a Markdown table; CSV and Parquet have all of it."""

_ENDINGS = ('.csv', '.parquet', '.md')
_BATCH = 20_000
_FORMULA = '=+-@\t\r'
# ------------------------------------------------------------------------------ flat tables


def episodes(results: Results) -> Table:
    """Table with one row an episode: its scalar fields, and counts of its lists and tables."""
    chosen = results.of_kind(EPISODE)
    stages = dict.fromkeys(stage for run in chosen.runs for line in run.lines
                           for stage in line['timings_s'])
    return make('episodes', ({**line, **name, **_counted(line), 'folder': str(run.folder)}
                             for run, name in _named(chosen) for line in run.lines),
                stage=[*stages])


def _counted(line: Line) -> dict[str, Any]:
    """Counts made of an episode's lists and tables."""
    asked = [counts for table in line['predicates'].values() for counts in table.values()]
    return {'scored': measures.scored(line), 'solved': measures.solved(line),
            'cause': cause_of(line), 'plans': len(line['plans']), **(line['usage'] or {}),
            **{f'answers_{key}': sum(counts[key] for counts in asked)
               for key in ('asked', 'right', 'unparsed', 'unknown')},
            **{f'seconds_{stage}': took for stage, took in line['timings_s'].items()}}


def samples(results: Results) -> Table:
    """Table with one row a sample, with all its measures."""
    chosen = results.of_kind(SAMPLE)
    names = dict.fromkeys(name for run in chosen.runs for line in run.lines
                          for name in line['measures'])
    return make('samples', (
        {**line, **name, 'picture': line['details'].get('picture'),
         'question': line['details'].get('question'), **{
             f'measure_{key}': value for key, value in line['measures'].items()}}
        for run, name in _named(chosen) for line in run.lines),
        measure={name: name.replace('_', ' ') for name in names})


def _answers(results: Results) -> Iterator[dict[str, Any]]:
    """Yield one row an answer, of the runs that logged answers."""
    for run, name in _named(results):
        yield from ({**entry, **name} for entry in run.answers())


def _named(results: Results) -> Iterator[tuple[RunResults, dict[str, Any]]]:
    """The runs in the order of groups, with the cells that name them."""
    for group in results.groups:
        for run in group.runs:
            yield run, {'run': run.name, 'backend': run.backend or None,
                        'model_name': run.model or None, 'run_seed': run.seed,
                        'calibrated': run.calibrated, 'variant': group.variant or None}


# --------------------------------------------------------------------------------- formats


def to_csv(table: Table) -> str:
    """A table as CSV, see ``csv_row``; a head of keys comes first."""
    return csv_row([column.key for column in table.columns]) + ''.join(
        csv_row([row[column.key] for column in table.columns]) for row in table.rows)


def csv_row(values: Iterable[object]) -> str:
    """A record of RFC 4180, with its line end (CR LF).

    None is an empty field, empty text a quoted one; numbers have as many digits as it takes to
    read the same number back.
    """
    return ','.join(map(_field, values)) + '\r\n'


def _field(value: object) -> str:
    if value is None:
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if len(text) > 1 and text[0] in _FORMULA:
        text = "'" + text
    if text and not any(character in text for character in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def to_markdown(table: Table, rows: Sequence[Mapping[str, Any]] | None = None,
                count: int | None = None) -> str:
    """A table as Markdown: rounded, aligned in the text too, with title and note.

    Args:
        table: what is shown.
        rows: other rows than the table's.
        count: how many rows there are in all.
    """
    rows, count = (table.rows if rows is None else rows)[:MOST_ROWS], count or len(table.rows)
    head = [escaped(f'{c.group}, {c.heading}' if c.group else c.heading) for c in table.columns]
    body = [[rounded(_brief(row.get(c.key)), c.kind) for c in table.columns] for row in rows]
    widths = [max(3, *map(len, cells)) for cells in zip(head, *body, strict=True)]
    left = [c.kind in ('text', 'bool') for c in table.columns]
    rule = ['-' * width if text else '-' * (width - 1) + ':'
            for width, text in zip(widths, left, strict=True)]
    lines = ['| ' + ' | '.join(
        cell.ljust(width) if text else cell.rjust(width)
        for cell, width, text in zip(cells, widths, left, strict=True)) + ' |'
        for cells in (head, rule, *body)]
    more = ([f'The first {len(rows)} of {count} rows; all are in the CSV and Parquet files.', '']
            if count > len(rows) else [])
    return '\n'.join([f'# {escaped(table.title)}', '', *lines, '', *more, escaped(table.note), ''])


def _brief(value: object) -> object:
    """A text of which a Markdown table shows the beginning, if it is long (an outline is)."""
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return f'{value[:_LONGEST_CELL]}…'
    return value


def rounded(value: object, kind: Kind) -> str:
    """A value for people, as Markdown."""
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    if isinstance(value, int):
        return str(value)
    if not isinstance(value, float):
        return escaped(str(value))
    if kind == 'p':
        return '< 0.001' if value < 0.001 else f'{value:.3f}'
    if kind == 'fraction':
        return f'{value:.3f}'
    if kind == 'usd':
        return f'{value:.4f}'
    return f'{value:.0f}' if abs(value) >= 1000 else f'{value:.2f}'


def escaped(text: str) -> str:
    """A text that stays one cell of a Markdown table, without markup, links or HTML of its own."""
    plain = ''.join(' ' if character.isspace() or not character.isprintable() else character
                    for character in text)
    return re.sub(r'([\\`*\[\]|])', r'\\\1', plain).replace('&', '&amp;').replace(
        '<', '&lt;').replace('>', '&gt;')


def arrow_schema(columns: Sequence[Column], metadata: Mapping[str, str]) -> pa.Schema:
    """Arrow types of columns: string, bool, int64 or float64, all nullable, with metadata."""
    import pyarrow as pa
    kinds = {'text': pa.string(), 'bool': pa.bool_(), 'count': pa.int64()}
    return pa.schema([pa.field(clean(c.key), kinds.get(c.kind, pa.float64()), metadata={
        'heading': clean(c.heading), 'group': clean(c.group), 'kind': c.kind}) for c in columns],
        metadata={key: clean(value) for key, value in metadata.items()})


# --------------------------------------------------------------------------------- writing


def export(results: Results, out: Path, tables: Sequence[Table] | None = None,
           ) -> tuple[Path, ...]:
    """Write all tables, the episodes and the answers.

    Each file replaces an older one as a whole; files of tables that an earlier export wrote here
    and that there are no more are removed.

    Args:
        results: what the tables were made from.
        out: directory; the files lie in ``tables/`` in it, and ``index.json`` describes them.
        tables: of ``make_tables``; None: made here.

    Returns:
        the files: ``<name>.csv``, ``<name>.parquet`` and ``<name>.md`` of each table.

    Raises:
        InputError: they cannot be written.
    """
    made = make_tables(results) if tables is None else tables
    folder = out / FOLDER
    written: list[Path] = []
    entries = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        before = _indexed(folder)
        for table, rows in [*((table, table.rows) for table in (
                *made, episodes(results), samples(results))),
                            (make('answers', ()), _answers(results))]:
            paths, count = _write(folder, table, iter(rows), {
                'title': table.title, 'note': table.note,
                'sightplan': json.dumps(_origin(results), allow_nan=False)})
            if count:
                written += paths
                entries.append({
                    'name': table.name, 'title': table.title, 'note': table.note, 'rows': count,
                    'columns': [dataclasses.asdict(column) for column in table.columns]})
        _write_whole(folder / INDEX, json.dumps(
            {'tables': entries, 'warnings': list(results.warnings), **_origin(results)},
            indent=1, allow_nan=False) + '\n')
        for name in before - {entry['name'] for entry in entries}:
            for ending in _ENDINGS:
                (folder / f'{name}{ending}').unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f'{error.filename or folder}: cannot be written ({error.strerror}); '
                         f'choose another directory') from error
    return tuple(written)


def _write(folder: Path, table: Table, rows: Iterator[Mapping[str, Any]],
           metadata: Mapping[str, str]) -> tuple[list[Path], int]:
    """Write the rows of one table in all formats, a batch at a time; nothing if it has none."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    schema = arrow_schema(table.columns, metadata)
    keys = [column.key for column in table.columns]
    paths = [folder / f'{table.name}{ending}' for ending in _ENDINGS]
    batch = list(itertools.islice(rows, _BATCH))
    if not batch:
        return [], 0
    shown, count = batch[:MOST_ROWS], 0
    with (replacing(paths[0]) as csv_path, replacing(paths[1]) as parquet_path,
          csv_path.open('w', encoding='utf-8', newline='') as text,
          pq.ParquetWriter(parquet_path, schema, compression='zstd') as parquet):
        text.write(csv_row(map(clean, keys)))
        while batch:
            cells = [[clean(typed(row.get(column.key), column.kind)) for row in batch]
                     for column in table.columns]
            text.writelines(csv_row(row) for row in zip(*cells, strict=True))
            parquet.write_table(pa.table(
                [pa.array(column, field.type)
                 for column, field in zip(cells, schema, strict=True)], schema=schema))
            count += len(batch)
            batch = list(itertools.islice(rows, _BATCH))
    _write_whole(paths[2], to_markdown(table, shown, count))
    return paths, count


def clean(value: Any) -> Any:
    """A value that can be encoded: of text, lone surrogates are replaced."""
    if not isinstance(value, str):
        return value
    return value.encode('utf-8', 'replace').decode('utf-8')


def _origin(results: Results) -> dict[str, Any]:
    commits = dict.fromkeys(commit for run in results.runs for commit in run.commits)
    return {'sightplan': sightplan.__version__, 'commits': list(commits),
            'runs': [str(run.folder) for run in results.runs]}


def _indexed(folder: Path) -> set[str]:
    """Names of the tables that an earlier export wrote, and that are still there."""
    try:
        names = {entry['name'] for entry in json.loads(
            (folder / INDEX).read_text('utf-8'))['tables']}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()
    return names & {path.stem for path in folder.iterdir() if path.suffix in _ENDINGS}


def _write_whole(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        temporary.write_text(clean(text), 'utf-8')
