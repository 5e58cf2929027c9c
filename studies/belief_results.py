"""The belief study's results: read from run directories, grouped, and as Markdown tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.agent import needs_grounder
from sightplan.metrics import belief_reliability, measures
from sightplan.metrics.intervals import fraction_interval
from sightplan.metrics.measures import solved_of
from study_results import (
    commits_of,
    dates_of,
    effort_of,
    fraction,
    number,
    origin_of,
    rate,
    read_entries,
    score,
    table,
)

FULL = 'full'
"""Name of the complete variant in the ablations."""

SIMULATED, EMBEDDED = 'noisy_oracle', 'embedded'
"""Backends: errors at the rates of a model without pictures; a small model on pictures."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The episodes of one run.

    Attributes:
        run: name of its directory; an ablation may share it with a run of the main study.
        method: name of the method.
        backend: that answered; '' for methods that ask nothing.
        model: whose errors the answers have; '' likewise.
        split: of the problems.
        failure: probability that an action fails.
        variant: of the method, in ablations; else ''.
        lines: scored episodes.
        planned: how many episodes there should be.
    """

    run: str
    method: str
    backend: str
    model: str
    split: str
    failure: float
    variant: str
    lines: tuple[Mapping[str, Any], ...] = field(repr=False)
    planned: int


@dataclass(frozen=True, slots=True)
class Results:
    """All runs of some sweeps."""

    cells: tuple[Cell, ...]
    commits: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def main(self) -> tuple[Cell, ...]:
        """Cells with simulated answers, or without any, that are no ablations."""
        return tuple(cell for cell in self.cells
                     if not cell.variant and cell.backend in (SIMULATED, ''))

    @property
    def ablations(self) -> tuple[Cell, ...]:
        """Ablations with simulated answers, or without any."""
        return tuple(cell for cell in self.cells
                     if cell.variant and cell.backend in (SIMULATED, ''))

    @property
    def embedded(self) -> tuple[Cell, ...]:
        """Cells on rendered pictures that are no ablations."""
        return tuple(cell for cell in self.cells
                     if not cell.variant and cell.backend == EMBEDDED)


def read_results(folders: Sequence[Path]) -> Results:
    """Read the runs of all sweeps in some directories.

    Raises:
        InputError: a directory holds no sweep, or a file is damaged.
    """
    cells: dict[tuple[str, str], Cell] = {}
    entries = read_entries(folders)
    for entry in entries:
        if not entry.lines:
            continue
        settings = entry.settings
        asks = needs_grounder(settings['method'])
        model = settings['backend_options'].get('table', settings['backend'])
        cell = Cell(entry.run, settings['method'],
                    settings['backend'] if asks else '', str(model) if asks else '',
                    settings['split'], float(settings['failure_probability']),
                    str(entry.labels.get('variant', '')), entry.lines, entry.planned)
        cells[entry.run, cell.variant] = cell
    return Results(tuple(cells.values()), commits_of(entries), dates_of(entries))


def values(cells: Iterable[Cell], key: Callable[[Cell], Any]) -> list[Any]:
    """The distinct values of a key, in the order of the cells."""
    return list(dict.fromkeys(map(key, cells)))


def lines_of(cells: Iterable[Cell], **wanted: Any) -> list[Mapping[str, Any]]:
    """The episodes of all cells whose fields have the wanted values."""
    return [line for cell in cells for line in cell.lines
            if all(getattr(cell, key) == value for key, value in wanted.items())]


# ------------------------------------------------------------------------------------- tables


def _failing(failure: float) -> str:
    return f'{failure:.0%} of the actions fail' if failure else 'no failures'


def mean_rate(cells: Sequence[Cell], **wanted: Any) -> str:
    """The mean over the models of the fraction of solved episodes; each model counts the same.

    The interval is that of all their episodes, each model's weighted alike; those of a problem
    are a cluster.
    """
    models = [solved_of(lines) for model in values(cells, lambda c: c.model)
              if (lines := lines_of(cells, model=model, **wanted))]
    if not models:
        return '–'
    rate, n = (sum(numbers) / len(models) for numbers in zip(
        *((found.successes / found.n, found.n) for found in models), strict=True))
    sums: defaultdict[Hashable, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))
    for found in models:
        for cluster, (part, whole) in found.clusters.items():
            before, weight = sums[cluster], n / found.n
            sums[cluster] = before[0] + part * weight, before[1] + whole * weight
    low, high = fraction_interval(sums.values())
    return f'{fraction(rate)} ({fraction(low)}–{fraction(high)})'


def overview(results: Results) -> str:
    """Success by method: the mean over all models."""
    cells = results.main
    splits, failures = values(cells, lambda c: c.split), values(cells, lambda c: c.failure)
    head = ['method', *(f'{split}, {_failing(f)}' for f in failures for split in splits)]
    rows = []
    for method in values(cells, lambda c: c.method):
        models = sum(bool(m) for m in values(
            [c for c in cells if c.method == method], lambda c: c.model))
        name = f'`{method}`' + (f' (mean of {models} models)' if models > 1 else '')
        rows.append([name, *(mean_rate(cells, method=method, split=split, failure=f)
                             for f in failures for split in splits)])
    return table(head, rows)


def _by_model(results: Results, failure: float,
              show: Callable[[Sequence[Mapping[str, Any]]], str], columns: str) -> str:
    cells = [cell for cell in results.main if cell.failure == failure]
    splits = values(cells, lambda c: c.split)
    rows = []
    for model in sorted(values(cells, lambda c: c.model), key=lambda m: not m):
        for method in values([c for c in cells if c.model == model], lambda c: c.method):
            rows.append([model or '(none)', f'`{method}`', *(
                show(lines_of(cells, model=model, method=method, split=split))
                for split in splits)])
    return table(['model', 'method', *(f'{split}{columns}' for split in splits)], rows, 2)


def success(results: Results, failure: float) -> str:
    """Success by model, method and split."""
    return _by_model(results, failure, rate, '')


def effort(results: Results, failure: float) -> str:
    """Questions per episode, actions per episode, seconds per action."""
    return _by_model(results, failure, effort_of, '')


def fewer_questions(results: Results, method: str = 'belief', against: str = 'ground') -> str:
    """Questions of two methods on the (problem, trial) pairs that both solve, and their ratio."""
    cells = results.main
    splits = values(cells, lambda c: c.split)
    models = [m for m in values(cells, lambda c: c.model) if m]
    rows = []
    for failure in values(cells, lambda c: c.failure):
        for model in (*models, ''):
            row = [_failing(failure), model or 'all models']
            for split in splits:
                pairs = _pairs(cells, method, against, [model] if model else models, split,
                               failure)
                if not pairs:
                    row.append('–')
                    continue
                theirs, ours = (sum(pair[i] for pair in pairs) / len(pairs) for i in (0, 1))
                times = f'{theirs / ours:.1f} times, ' if ours else ''
                row.append(f'{number(theirs)} → {number(ours)} ({times}n = {len(pairs)})')
            rows.append(row)
    return table(['', 'model', *splits], rows, 2)


def _pairs(cells: Iterable[Cell], method: str, against: str, models: Sequence[str], split: str,
           failure: float) -> list[tuple[int, int]]:
    """Questions of ``against`` and of ``method`` on each episode that both solve."""
    found: list[tuple[int, int]] = []
    chosen = [c for c in cells if c.split == split and c.failure == failure]
    for model in models:
        asked = {name: {line['id']: line['questions']
                        for line in lines_of(chosen, model=model, method=name)
                        if measures.solved(line)}
                 for name in (method, against)}
        found += [(asked[against][key], asked[method][key])
                  for key in asked[against] if key in asked[method]]
    return found


def embedded(results: Results) -> str:
    """Success, questions and actions of the small model on rendered pictures."""
    cells = results.embedded
    splits = values(cells, lambda c: c.split)
    rows = []
    for failure in values(cells, lambda c: c.failure):
        for method in values([c for c in cells if c.failure == failure], lambda c: c.method):
            for split in splits:
                lines = lines_of(cells, method=method, split=split, failure=failure)
                if lines:
                    found = score(lines)
                    rows.append([_failing(failure), split, f'`{method}`', str(found.n),
                                 rate(lines), number(found.questions), number(found.actions)])
    return table(['', 'split', 'method', 'episodes', 'solved', 'questions', 'actions'], rows, 3)


def ablations(results: Results) -> str:
    """Table of the method without its parts, over all models of the ablations."""
    cells = results.ablations
    failures = values(cells, lambda c: c.failure)
    rows = []
    for variant in values(cells, lambda c: c.variant):
        row = [variant]
        for failure in failures:
            lines = lines_of(cells, variant=variant, failure=failure)
            row.append(rate(lines))
        every = lines_of(cells, variant=variant)
        found = belief_reliability(every, resamples=0)
        row += [*effort_of(every).split(' / '), '–' if found is None else f'{found.ece:.3f}']
        rows.append(row)
    return table(['variant', *(f'solved, {_failing(f)}' for f in failures), 'questions', 'actions',
                  's/action', 'ECE'], rows)


def reliability_table(results: Results, method: str = 'belief') -> str:
    """Expected calibration error of the marginals, by model."""
    cells = [c for c in results.main if c.method == method]
    rows = []
    for failure in values(cells, lambda c: c.failure):
        for model in (*values(cells, lambda c: c.model), None):
            lines = [line for c in cells if c.failure == failure and model in (None, c.model)
                     for line in c.lines]
            found, inner = belief_reliability(lines), belief_reliability(lines, inner=True)
            if found is None or inner is None:
                continue
            rows.append([_failing(failure), model or 'all models', str(found.n),
                         f'{found.ece:.3f} ({found.low:.3f}–{found.high:.3f})', str(inner.n),
                         f'{inner.ece:.3f} ({inner.low:.3f}–{inner.high:.3f})'])
    return table(['', 'model', 'marginals', 'ECE', 'between .05 and .95', 'ECE of these'], rows, 2)


def origin(results: Results) -> str:
    """Sentence on the runs, commits and dates of the figures.

    Raises:
        InputError: there is no finished episode.
    """
    runs = {cell.run: cell for cell in results.cells}.values()
    return origin_of(sum(len(cell.lines) for cell in runs), sum(cell.planned for cell in runs),
                     len(runs), results.commits, results.dates)


def cost_table(costs: Sequence[Mapping[str, Any]]) -> str:
    """Time of an estimate by size of the problem."""
    return table(
        ['blocks', 'columns', 'answers', 'wrong answers', 'median [ms]', 'slowest [ms]',
         'true state found', 'problem set up [ms]'],
        [[str(c['blocks']), str(c['columns']), str(c['answers']), f'{c["error"]:.0%}',
          f'{1e3 * c["median_s"]:.1f}', f'{1e3 * c["max_s"]:.1f}', fraction(c['exact']),
          f'{1e3 * c["setup_s"]:.1f}'] for c in costs], 0)


def fuzz_table(fuzz: Mapping[str, Any]) -> str:
    """Table of estimates from evidence of any kind."""
    return table(
        ['evidence', 'cases', 'impossible states', 'P outside of (0, 1)', 'exceptions',
         'median [ms]', 'slowest [ms]'],
        [[kind, *(str(found[key]) for key in ('cases', 'impossible', 'out_of_bounds',
                                              'exceptions')),
          f'{1e3 * found["median_s"]:.1f}', f'{1e3 * found["max_s"]:.1f}']
         for kind, found in (*fuzz['kinds'].items(), ('all', fuzz['all']))])
