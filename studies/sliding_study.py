"""Regenerates the tables of ``studies/sliding.md`` from the run directories of its sweep.

Use::

    sightplan sweep config/sweeps/sliding.yaml --out runs/sliding
    python studies/sliding_study.py runs/sliding

The text of the document is written by hand; tables and sentences with numbers in them stand
between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sightplan.metrics.measures import MEAN, Measure, aggregate, solved_of
from sightplan.model import InputError
from sightplan.runs import load_suite
from study_document import STUDIES, rewrite
from study_results import Entry, commits_of, dates_of, origin_of, read_entries

DOCUMENT = 'sliding.md'
MODELS = ('sonnet-3.5', 'gemini-2.0-flash', 'gpt-4o', 'internvl2.5-78b', 'llava-ov-72b',
          'qwen2-72b')
GOALS = ('told', 'pictured')
WAYS = ('last look', 'belief')
_REPEAT, _TABLE = 'backend_options.repeat', 'backend_options.table'
_DEVIATION = Measure('deviation', '', MEAN)
_DONE, _USAGE = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/sliding_study.py',
        description='Regenerate the tables of studies/sliding.md from run directories.')
    parser.add_argument('runs', nargs='+', type=Path, metavar='RUNS',
                        help='directory of the sweep; of several the last one counts')
    parser.add_argument('--out', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where {DOCUMENT} is (default: studies)')
    arguments = parser.parse_args(argv)
    try:
        entries = latest(read_entries(arguments.runs))
        for line in rewrite(arguments.out / DOCUMENT, make_tables(entries)):
            print(line)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """The finished cells; of those that were run several times the one named last."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.lines and len(entry.lines) >= entry.planned:
            settings = entry.settings
            found[repr((settings['method'], settings['goal'], settings['backend_options'],
                        entry.labels.get('method')))] = entry
    return list(found.values())


def make_tables(entries: Sequence[Entry]) -> dict[str, str]:
    """All tables for which there are results, by name, each with what it comes from.

    Raises:
        InputError: there are none.
    """
    if not entries:
        _origin(entries)  # says what is missing
    cells: dict[str, list[Entry]] = {}
    for entry in entries:
        options = entry.settings['backend_options']
        cells.setdefault(f'repeat-{float(options["repeat"]):g}' if options else 'anchors',
                         []).append(entry)
    return {name: f'{_anchors(found) if name == "anchors" else _models(found)}\n\n'
                  f'{_origin(found)}' for name, found in cells.items()}


def _origin(entries: Sequence[Entry]) -> str:
    return origin_of(sum(len(entry.lines) for entry in entries),
                     sum(entry.planned for entry in entries), len(entries),
                     commits_of(entries), dates_of(entries))


def _models(entries: Iterable[Entry]) -> str:
    """Solved by model, for both ways of learning the goal."""
    cells = {(str(entry.settings['backend_options']['table']), str(entry.settings['goal']),
              str(entry.labels['method'])): entry for entry in entries}
    suite = load_suite('ivispar')
    heads = ('reading errors of', 'published, 3D', 'told: last look', 'told: `belief`',
             'pictured: last look', 'pictured: `belief`')
    rows = [f'| {" | ".join(heads)} |', '|---' * len(heads) + '|']
    for model in MODELS:
        row = suite.published.find(model, 'completed', modality='3d')
        published = '–' if row is None else f'{row.value:.3f}'.lstrip('0')
        rows.append(f'| {model} | {published} | ' + ' | '.join(
            _cell(cells.get((model, goal, way))) for goal in GOALS for way in WAYS) + ' |')
    return '\n'.join(rows)


def _cell(entry: Entry | None) -> str:
    """Rate, interval and step deviation of a cell."""
    if entry is None:
        return '–'
    solved = solved_of(entry.lines)
    n, (low, high) = solved.n, solved.interval
    count = '' if n == 300 else f', n = {n}'
    deviation = aggregate(entry.lines, _DEVIATION, resamples=0).value
    return (f'**{solved.successes / n:.3f}** ({low:.3f}-{high:.3f}{count}), R {deviation:.2f}'
            .replace('0.', '.'))


def _anchors(entries: Iterable[Entry]) -> str:
    """The players that need no eyes."""
    rows = ['| player | solved | R(c1) |', '|---|---|---|']
    for entry in sorted(entries, key=lambda one: str(one.settings['method'])):
        solved = solved_of(entry.lines)
        low, high = solved.interval
        found = aggregate(entry.lines, _DEVIATION)
        rows.append(f'| `{entry.settings["method"]}` | {solved.successes} of {solved.n} '
                    f'({low:.3f}-{high:.3f}) | {found.value:.2f} '
                    f'({found.low:.2f} to {found.high:.2f}) |')
    return '\n'.join(rows)


if __name__ == '__main__':
    sys.exit(main())
