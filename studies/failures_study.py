"""Regenerates the tables and the picture of two documents about failures from run directories.

Use::

    python studies/failures_study.py RUNS --picture RUN EPISODE

``docs/failures.md`` has the rules and the picture, ``studies/failures.md`` what the runs show. The
text is written by hand; tables stand between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from sightplan.metrics import Cause
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan.records.evidence import failure_picture
from sightplan_report.commands.failures import rules_table
from sightplan_report.failures import Column, matching, read_columns, run_folders
from study_document import DOCS, STUDIES, rewrite

DOCUMENT, PICTURE = 'failures.md', Path('failures', 'example.png')
_PICTURE_WIDTH = 480  # px
_DONE, _USAGE = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/failures_study.py',
        description=f'Regenerate the tables and the picture of docs/{DOCUMENT} and '
                    f'studies/{DOCUMENT}.')
    parser.add_argument('runs', nargs='*', type=Path, metavar='RUNS',
                        help='run directories; without any, only the rules are written')
    parser.add_argument('--out', type=Path, default=DOCS, metavar='DIR',
                        help=f'where the {DOCUMENT} with the rules is (default: docs)')
    parser.add_argument('--study', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where the {DOCUMENT} with the runs is (default: studies)')
    parser.add_argument('--picture', nargs=2, metavar=('RUN', 'EPISODE'),
                        help='the failed episode whose picture is the example')
    arguments = parser.parse_args(argv)
    try:
        regenerate(arguments.runs, arguments.out, arguments.study)
        if arguments.picture:
            run, episode = arguments.picture
            _write_picture(Path(run), episode, arguments.out / PICTURE)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


def regenerate(runs: Sequence[Path], out: Path, study: Path) -> None:
    """Write the tables into the documents.

    Args:
        runs: directories of runs.
        out: holds the document with the rules.
        study: holds the document with the runs.

    Raises:
        InputError: there are no runs, or a document is missing or has no place for a table.
    """
    rewrite(out / DOCUMENT, {'rules': rules_table()})
    if runs:
        columns = read_columns(runs)
        rewrite(study / DOCUMENT, {'runs': runs_table(run_folders(runs), columns),
                                   'causes': causes_table(columns)})


def runs_table(folders: Sequence[Path], columns: Sequence[Column]) -> str:
    """Table of the runs: a row for each column, which is named by a letter."""
    by_name = {folder.name: RunStore(folder) for folder in folders}
    head = ('', 'method', 'model', 'split', 'seed', 'world fails', 'episodes', 'solved', 'failed',
            'commit')
    rows = ['| ' + ' | '.join(head) + ' |', '|---' * len(head) + '|']
    for number, column in enumerate(columns):
        info = by_name[column.run].run_info()
        identity, session = info['identity'], info['sessions'][-1]
        rows.append('| ' + ' | '.join((
            _letter(number), f'`{column.method}`', column.model or '-', column.split,
            str(identity['seed']), f'{identity["failure_probability"]:g}', str(column.episodes),
            str(column.solved), str(len(column.failed)),
            str(session.get('commit') or 'unknown')[:12])) + ' |')
    return '\n'.join(rows)


def causes_table(columns: Sequence[Column]) -> str:
    """Causes by column: count, fraction of the failed, and its interval."""
    counts = [column.counts() for column in columns]
    rows = ['| cause | ' + ' | '.join(_letter(n) for n in range(len(columns))) + ' |',
            '|---|' + '---|' * len(columns)]
    for cause in Cause:
        if any(cause.value in own for own in counts):
            cells = []
            for column, own in zip(columns, counts, strict=True):
                k, n = own.get(cause.value, 0), len(column.failed)
                low, high = column.fraction(cause.value).interval
                cells.append(f'{k}: {k / n:.2f} ({low:.2f}-{high:.2f})' if k else '')
            rows.append(f'| `{cause.value}` | ' + ' | '.join(cells) + ' |')
    return '\n'.join(rows)


def for_document(png: bytes) -> bytes:
    """A picture for a document: a small PNG file with few colours."""
    image = Image.open(io.BytesIO(png)).convert('RGB')
    image.thumbnail((_PICTURE_WIDTH, 10 * _PICTURE_WIDTH), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    # Median cut would spend its colours on the background, and show blue blocks as dark green.
    image.quantize(256, Image.Quantize.MAXCOVERAGE, 2, dither=Image.Dither.NONE).save(
        buffer, 'png', optimize=True)
    return buffer.getvalue()


def _letter(number: int) -> str:
    return chr(ord('A') + number)


def _write_picture(run: Path, episode: str, path: Path) -> None:
    _, failed = matching(read_columns([run]), episode=episode)[0]
    data = failure_picture(failed.folder, failed.line)
    if data is None:
        raise InputError(f'{run}: episode {episode} has no picture; run it where the world draws '
                         f'pictures')
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(for_document(data))


if __name__ == '__main__':
    sys.exit(main())
