"""Regenerates tables and plots of ``studies/untold.md`` from the run directories of its sweeps.

Use::

    sightplan sweep config/sweeps/untold.yaml --out runs/untold
    sightplan sweep config/sweeps/untold_embedded.yaml --out runs/untold
    sightplan sweep config/sweeps/untold_ablations.yaml --out runs/untold
    sightplan sweep config/sweeps/untold_told.yaml --out runs/untold
    python studies/untold_study.py runs/untold --measure-cost

The text of the document is written by hand; tables, plots and sentences with numbers in them stand
between ``<!-- table NAME -->`` and ``<!-- end -->``. One for which there are no results is left as
it is, and named; what is missing within one is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import untold_results as tables
from sightplan.model import InputError
from study_document import STUDIES, rewrite, store
from untold_results import Results, read_results

DOCUMENT = 'untold.md'
PLOTS = 'untold'
COST = 'household_cost.json'
_PICTURES = {
    'success': 'Success of all methods by model, split and kind of errors',
    'reliability': 'Reliability diagrams of the marginals',
    'ablations': 'Success of the variants'}
_DONE, _USAGE = 0, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Regenerate; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python studies/untold_study.py',
        description='Regenerate tables and plots of studies/untold.md from run directories.')
    parser.add_argument('runs', nargs='+', type=Path, metavar='RUNS',
                        help='directory of one or more sweeps')
    parser.add_argument('--out', type=Path, default=STUDIES, metavar='DIR',
                        help=f'where {DOCUMENT} and the folder {PLOTS} are (default: studies)')
    parser.add_argument('--measure-cost', action='store_true',
                        help=f'measure inference and memory on this machine first, into '
                             f'RUNS/{COST}')
    arguments = parser.parse_args(argv)
    try:
        if arguments.measure_cost:
            from sightplan_bench.step_cost import measure
            store(arguments.runs[0] / COST, measure())
        for line in regenerate(arguments.runs, arguments.out):
            print(line)
    except InputError as error:
        print(f'{parser.prog}: {error}', file=sys.stderr)
        return _USAGE
    return _DONE


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
    costs = next((json.loads((folder / COST).read_text('utf-8')) for folder in runs
                  if (folder / COST).is_file()), None)
    made = make_tables(results, costs)
    folder = out / PLOTS
    folder.mkdir(parents=True, exist_ok=True)
    drawn = make_plots(results, folder)
    made |= {f'plot-{path.stem}': f'![{_PICTURES[path.stem]}]({PLOTS}/{path.name})'
             for path in drawn}
    return rewrite(out / DOCUMENT, made) + [f'{path}' for path in drawn]


def make_tables(results: Results, costs: Mapping[str, Any] | None = None) -> dict[str, str]:
    """All tables for which there are results, by name."""
    made = {'origin': tables.origin(results)}
    if results.main:
        made |= {'summary': tables.summary(results), 'overview': tables.overview(results)}
        for errors in tables.ERRORS:
            if any(cell.errors == errors for cell in results.main):
                made[f'success-{errors}'] = tables.success(results, errors)
                made[f'effort-{errors}'] = tables.effort(results, errors)
        made |= {'accepted': tables.accepted(results), 'causes': tables.causes(results),
                 'tasks': tables.tasks(results)}
    if tables.reliability_rows(results):
        made['reliability'] = tables.reliability_table(results)
    if said := tables.compared(results):
        made |= {'compared': said, 'paired': tables.paired(results)}
    if said := tables.useless_against_blind(results):
        made['useless'] = said
    if any(cell.privileged != 'none' for cell in results.told):
        made |= {'told': tables.told(results), 'told-effort': tables.told_effort(results)}
    if results.embedded:
        made['embedded'] = tables.embedded(results)
    if results.ablations:
        made['ablations'] = tables.ablations(results)
    if costs:
        made['cost'] = tables.cost_table(costs)
    return made


def make_plots(results: Results, folder: Path) -> list[Path]:
    """Draw all plots for which there are results."""
    import untold_plots as plots
    drawn: list[Path | None] = []
    if results.models:
        drawn.append(plots.plot_success(results, folder / 'success.png'))
    drawn.append(plots.plot_reliability(results, folder / 'reliability.png'))
    if results.ablations:
        drawn.append(plots.plot_ablations(results, folder / 'ablations.png'))
    return [path for path in drawn if path is not None]


if __name__ == '__main__':
    sys.exit(main())
