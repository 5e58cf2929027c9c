"""Regenerates the tables of ``studies/sliding.md`` from the run directories of its sweep.

Use::

    sightplan sweep config/sweeps/sliding.yaml --out runs/sliding
    sightplan sweep config/sweeps/sliding_pixels.yaml --out runs/pixels
    python studies/sliding_study.py runs/sliding runs/pixels

The text of the document is written by hand; tables and sentences with numbers in them stand
between ``<!-- table NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from sightplan.metrics.intervals import wilson
from sightplan.metrics.measures import MEAN, Measure, aggregate, solved_of
from sightplan.model import InputError
from sightplan.runs import load_suite
from sightplan_sim.sliding.solids import FILLING
from sliding_ceiling import CEILING
from study_document import STUDIES, rewrite
from study_results import Entry, commits_of, dates_of, origin_of, read_entries

DOCUMENT = 'sliding.md'
MODELS = ('sonnet-3.5', 'gemini-2.0-flash', 'gpt-4o', 'internvl2.5-78b', 'llava-ov-72b',
          'qwen2-72b')
GOALS = ('told', 'pictured')
WAYS = ('last look', 'belief')
WAYS_FROM_PIXELS = ('ground', *WAYS)
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
                        settings['split'], settings['world_options'], settings['suite_options'],
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
        cells.setdefault(_table_of(entry), []).append(entry)
    makers = {'anchors': _anchors, 'pixels': _pixels, 'boards': _boards}
    return {name: f'{makers.get(name, _models)(found)}\n\n{_origin(found)}'
            for name, found in cells.items()}


def _table_of(entry: Entry) -> str:
    """Name of the table that shows a cell."""
    settings = entry.settings
    if settings['backend'] == 'embedded':
        return 'pixels' if settings['split'] == 'geoms' else 'boards'
    options = settings['backend_options']
    return f'repeat-{float(options["repeat"]):g}' if options else 'anchors'


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


def _pixels(entries: Iterable[Entry]) -> str:
    """Puzzles solved from rendered pictures, by view, goal and method."""
    rows = ['| pictures | goal | method | ceiling | solved | with the fewest moves | R(c1) |',
            '|---|---|---|---|---|---|---|']
    for entry in sorted(entries, key=lambda one: (
            one.settings['world_options']['view'] != '3d', one.settings['goal'] != 'told',
            WAYS_FROM_PIXELS.index(str(one.labels['method'])))):
        view, goal = entry.settings['world_options']['view'], entry.settings['goal']
        found = aggregate(entry.lines, _DEVIATION, resamples=0).value
        fewest = sum(bool(line['measures']['solved_optimally'])
                     for line in entry.lines)
        ceiling = '1.000' if view == '2d' else _ceiling('goal' if goal == 'pictured' else 'start')
        rows.append(f'| {view.upper()} | {goal} | {_method(str(entry.labels["method"]))} | '
                    f'{ceiling} | {_count(entry)} | {fewest} | {found:.2f} |')
    return '\n'.join(rows)


def _boards(entries: Iterable[Entry]) -> str:
    """Start boards read from one picture each."""
    rows = ['| pictures | ceiling, boards | boards without any error | pieces right |',
            '|---|---|---|---|']
    for entry in entries:
        options = entry.settings['suite_options'] or {}
        flat, size = entry.settings['split'] == 'boards_2d', float(options.get('size', 1.0))
        words = '2D' if flat else f'3D, piece size {size:g}'
        if 'width' in options:
            words += f', {options["width"]} x {options["height"]}, look {options["look"]:g}'
        pieces = sum(int(line['details']['pieces']) for line in entry.lines)
        right = sum(int(line['measures']['correct']) for line in entry.lines)
        whole = sum(bool(line['measures']['whole']) for line in entry.lines)
        ceiling = '1.000' if flat else _ceiling('start', size)
        rows.append(f'| {words} | {ceiling} | {_of(whole, len(entry.lines))} | '
                    f'{_of(right, pieces)} |')
    return '\n'.join(rows)


def _method(label: str) -> str:
    return label if label == 'last look' else f'`{label}`'


def _count(entry: Entry) -> str:
    """How many of how many are solved, and the interval of the rate."""
    solved = solved_of(entry.lines)
    low, high = solved.interval
    return f'{solved.successes} of {solved.n} ({low:.3f}-{high:.3f})'


def _of(hits: int, count: int) -> str:
    """How many of how many, and the interval of the rate."""
    low, high = wilson(hits, count)
    return f'{hits} of {count} ({low:.3f}-{high:.3f})'


def _ceiling(when: str, size: float = FILLING) -> str:
    """Rate of boards that an ideal reader of a picture can know, by ``sliding_ceiling.py``."""
    known, count = json.loads(CEILING.read_text('utf-8'))[f'{size:g}'][when]
    return f'{known / count:.3f}'


if __name__ == '__main__':
    sys.exit(main())
