"""Prints how drives along planned paths differ by the preferences for the paths.

Use::

    sightplan sweep config/sweeps/household_paths.yaml --out runs/household_paths
    python studies/household_paths_study.py runs/household_paths

Episodes of the same problem in the same home with the same luck are pairs: their drives begin and
end at the same places.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics.measures import MEAN, Measure, aggregate
from sightplan.metrics.paired import compare
from sightplan.model import InputError
from study_results import Entry, read_entries, table

FIRST = 'first'
"""The variant that all others are compared with."""
MEASURES = {
    'least_clearance_m': 'least clearance of an episode [m]',
    'average_clearance': 'average clearance of a drive [m]',
    'length_m': 'length of all drives of an episode [m]',
    'smoothness': 'turns of a drive, summed up [deg]',
}
_FLIPS = 100_000
_DONE, _USAGE = 0, 2

Lines = dict[tuple[Any, str], dict[str, Any]]
"""Lines of results by home and episode."""


def lines_of(entries: Sequence[Entry]) -> dict[str, Lines]:
    """Episodes that drove, by variant, with means over their drives as further measures."""
    found: dict[str, Lines] = {}
    for entry in entries:
        for line in entry.lines:
            paths = line['details'].get('paths')
            if paths is None:
                continue
            taken = [drive['paths'][drive['chosen']] for drive in paths['drives']
                     if not drive['reason']]
            means = {name: float(np.mean([path[name] for path in taken])) if taken else None
                     for name in ('average_clearance', 'smoothness')}
            key = entry.labels['world_options.home'], line['id']
            found.setdefault(str(entry.labels['variant']), {})[key] = {
                **line, 'measures': {**line['measures'], **means}}
    return found


def sign_flip(first: Lines, second: Lines, name: str, seed: int = 0) -> float:
    """Probability (p) by a two-sided sign-flip test of paired differences, problem by problem.

    The differences of a problem's episodes are added up, since they are not independent; p is
    estimated with ``_FLIPS`` random sign changes.
    """
    sums: dict[str, float] = {}
    for key in first.keys() & second.keys():
        values = [lines[key]['measures'][name] for lines in (first, second)]
        if None not in values:
            cluster = first[key]['cluster']
            sums[cluster] = sums.get(cluster, 0.0) + values[0] - values[1]
    # Sorted: the sums come in no order, and the same runs are to give the same p.
    apart: NDArray[np.float64] = np.array([sums[cluster] for cluster in sorted(sums)])
    flips = np.random.default_rng(seed).choice([-1.0, 1.0], size=(_FLIPS, len(apart)))
    reached = np.abs(flips @ apart) >= abs(apart.sum()) - 1e-9
    return float((1 + reached.sum()) / (1 + _FLIPS))


def rows(found: Mapping[str, Lines]) -> list[list[str]]:
    """Rows for each measure and variant: mean and interval, difference from ``FIRST``, p."""
    made = []
    for name, about in MEASURES.items():
        measure = Measure(name, about, MEAN)
        for variant, lines in found.items():
            own = aggregate(list(lines.values()), measure)
            row = [about, variant, str(own.n), _number(own.value, own.low, own.high), '', '']
            if variant != FIRST and FIRST in found:
                gain = compare(lines, found[FIRST], measure)
                if gain is not None:
                    row[-2:] = [_number(gain.difference, gain.low, gain.high),
                                f'{sign_flip(lines, found[FIRST], name):.2g}']
            made.append(row)
    return made


def _number(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return '–'
    interval = '' if low is None or high is None else f' ({low:.3f}, {high:.3f})'
    return f'{value:.3f}{interval}'


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; returns the exit code."""
    parser = argparse.ArgumentParser(prog='python studies/household_paths_study.py',
                                     description='Compare drives by what was wanted of them.')
    parser.add_argument('sweep', type=Path, metavar='DIR', help='directory of the sweep')
    arguments = parser.parse_args(argv)
    try:
        found = lines_of(read_entries([arguments.sweep]))
        if not found:
            raise InputError(f'{arguments.sweep}: no episode drove along paths (run '
                             'config/sweeps/household_paths.yaml into it)')
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    print(table(['measure', 'wanted', 'episodes', 'mean (95 %)', 'more than "first" (95 %)', 'p'],
                rows(found)))
    drives = [drive for line in next(iter(found.values())).values()
              for drive in line['details']['paths']['drives']]
    choices = [len(drive['paths']) for drive in drives if not drive['reason']]
    print(f'\n{len(drives)} drives, {sum(bool(drive["reason"]) for drive in drives)} of them '
          f'without a path; {np.mean(choices):.1f} paths to choose from on average')
    return _DONE


if __name__ == '__main__':
    sys.exit(main())
