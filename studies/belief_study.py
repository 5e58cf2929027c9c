"""Regenerates tables and plots of ``studies/belief.md`` from the run directories of its sweeps.

Use::

    sightplan sweep config/sweeps/belief.yaml --out runs/belief
    sightplan sweep config/sweeps/belief_ablations.yaml --out runs/belief
    sightplan sweep config/sweeps/belief_embedded.yaml --out runs/belief
    python studies/belief_study.py runs/belief --measure-cost --fuzz 10000

The text of the document is written by hand; tables stand between ``<!-- table NAME -->`` and
``<!-- end -->``. One for which there are no results is left as it is, and named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import belief_results as tables
from belief_results import Results, read_results, values
from sightplan.model import InputError
from study_document import STUDIES, rewrite, store

DOCUMENT = 'belief.md'
PLOTS = 'belief'
COST = 'cost.json'
FUZZ = 'fuzz.json'
_DONE, _FAULTS, _USAGE = 0, 1, 2



def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/belief_study.py',
        description='Regenerate tables and plots of studies/belief.md from run directories.')
    parser.add_argument('runs', nargs='+', type=Path, metavar='RUNS',
                        help='directory of one or more sweeps')
    parser.add_argument('--out', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where {DOCUMENT} and the folder {PLOTS} are (default: studies)')
    parser.add_argument('--measure-cost', action='store_true',
                        help=f'time estimates on this machine first, into RUNS/{COST}')
    parser.add_argument('--fuzz', type=int, default=0, metavar='N',
                        help=f'estimate from so many cases of odd evidence first, into '
                             f'RUNS/{FUZZ}; exit code {_FAULTS} if a state is impossible')
    parser.add_argument('--seed', type=int, default=0, help='of --fuzz (default: 0)')
    arguments = parser.parse_args(argv)
    faults: list[str] = []
    try:
        if arguments.fuzz:
            from belief_fuzz import fuzz
            found = fuzz(arguments.fuzz, arguments.seed)
            faults = found['faults']
            store(arguments.runs[0] / FUZZ, found)
        if arguments.measure_cost:
            from sightplan_bench.belief_cost import measure
            store(arguments.runs[0] / COST, measure())
        for line in regenerate(arguments.runs, arguments.out):
            print(line)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    for fault in faults:
        print(f'{parser.prog}: {fault}', file=sys.stderr)
    return _FAULTS if faults else _DONE


def regenerate(runs: Sequence[Path], out: Path) -> list[str]:
    """Write plots, and tables into the document.

    Args:
        runs: directories of sweeps.
        out: holds the document.

    Returns:
        what was written, and what was left as it is.

    Raises:
        InputError: there are no runs, or the document is missing or has an unknown table.
    """
    results = read_results(runs)
    costs = [entry for folder in runs if (folder / COST).is_file()
             for entry in json.loads((folder / COST).read_text('utf-8'))]
    fuzzed = next((json.loads((folder / FUZZ).read_text('utf-8')) for folder in runs
                   if (folder / FUZZ).is_file()), None)
    said = rewrite(out / DOCUMENT, make_tables(results, costs, fuzzed))
    folder = out / PLOTS
    folder.mkdir(parents=True, exist_ok=True)
    return said + [f'{path}' for path in make_plots(results, costs, folder)]


def make_tables(results: Results, costs: Sequence[Mapping[str, Any]],
                fuzzed: Mapping[str, Any] | None = None) -> dict[str, str]:
    """All tables for which there are results, by name."""
    made: dict[str, str] = {'origin': tables.origin(results)}
    if results.main:
        made['overview'] = tables.overview(results)
        for failure in values(results.main, lambda c: c.failure):
            made[f'success-{failure:g}'] = tables.success(results, failure)
            made[f'effort-{failure:g}'] = tables.effort(results, failure)
        methods = values(results.main, lambda c: c.method)
        if {'belief', 'ground'} <= set(methods):
            made['questions'] = tables.fewer_questions(results)
        if 'belief' in methods:
            made['reliability'] = tables.reliability_table(results)
    if results.embedded:
        made['embedded'] = tables.embedded(results)
    if results.ablations:
        made['ablations'] = tables.ablations(results)
    if costs:
        made['cost'] = tables.cost_table(costs)
    if fuzzed:
        made['fuzz'] = tables.fuzz_table(fuzzed)
    return made


def make_plots(results: Results, costs: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Draw all plots for which there are results."""
    import belief_plots as plots
    drawn: list[Path] = []
    if results.main:
        drawn.append(plots.plot_success(results, folder / 'success.png'))
        if any(cell.model for cell in results.main):
            drawn.append(plots.plot_questions(results, folder / 'questions.png'))
        if any(cell.method == 'belief' for cell in results.main):
            drawn.append(plots.plot_reliability(results, folder / 'reliability.png'))
    if results.ablations:
        drawn.append(plots.plot_ablations(results, folder / 'ablations.png'))
    if costs:
        drawn.append(plots.plot_cost(costs, folder / 'cost.png'))
    return drawn


if __name__ == '__main__':
    sys.exit(main())
