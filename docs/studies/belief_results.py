"""The belief study's results: read from run directories, grouped, and as Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightplan.agent import needs_grounder
from sightplan.metrics import belief_reliability, measures, wilson
from sightplan.model import InputError
from sightplan.records import RunStore

FULL = 'full'
"""The variant of the ablations that nothing was taken from."""

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
class Score:
    """What became of some episodes.

    Attributes:
        n: number of episodes.
        rate: fraction of solved ones.
        low: lower end of its 95 % interval (Wilson).
        high: upper end.
        questions: per episode.
        actions: per episode, all that used up budget.
        step_s: wall-clock seconds per action, all included.
    """

    n: int
    rate: float
    low: float
    high: float
    questions: float
    actions: float
    step_s: float


@dataclass(frozen=True, slots=True)
class Results:
    """All runs of some sweeps."""

    cells: tuple[Cell, ...]
    commits: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()

    @property
    def main(self) -> tuple[Cell, ...]:
        """Those with simulated answers, or none, that are no ablations."""
        return tuple(cell for cell in self.cells
                     if not cell.variant and cell.backend in (SIMULATED, ''))

    @property
    def ablations(self) -> tuple[Cell, ...]:
        """Those with simulated answers that are."""
        return tuple(cell for cell in self.cells
                     if cell.variant and cell.backend in (SIMULATED, ''))

    @property
    def embedded(self) -> tuple[Cell, ...]:
        """Those on rendered pictures that are no ablations."""
        return tuple(cell for cell in self.cells
                     if not cell.variant and cell.backend == EMBEDDED)


def read_results(folders: Sequence[Path]) -> Results:
    """Read the runs of all sweeps in some directories.

    Raises:
        InputError: a directory holds no sweep, or a file is damaged.
    """
    cells: dict[tuple[str, str], Cell] = {}
    commits: dict[str, None] = {}
    dates: set[str] = set()
    for folder in folders:
        indices = sorted(folder.glob('*.sweep.json'))
        if not indices:
            raise InputError(f'{folder}: holds no sweep; make one with "sightplan sweep FILE '
                             f'--out {folder}"')
        for index in indices:
            for entry in json.loads(index.read_text('utf-8'))['cells']:
                store = RunStore(folder / entry['dir'])
                lines = tuple(line for line in store.lines() if measures.scored(line))
                if not lines:
                    continue
                settings, labels = entry['settings'], entry['labels']
                asks = needs_grounder(settings['method'])
                table = settings['backend_options'].get('table', settings['backend'])
                cell = Cell(entry['dir'], settings['method'],
                            settings['backend'] if asks else '', str(table) if asks else '',
                            settings['split'], float(settings['failure_probability']),
                            str(labels.get('variant', '')), lines, entry['episodes'])
                cells[entry['dir'], cell.variant] = cell
                for session in store.run_info()['sessions']:
                    if session.get('commit'):
                        commits[str(session['commit'])[:12]] = None
                    dates.add(str(session.get('started', ''))[:10])
    return Results(tuple(cells.values()), tuple(commits), tuple(sorted(dates)))


def score(lines: Sequence[Mapping[str, Any]]) -> Score:
    """Score episodes; there must be at least one."""
    n, solved = len(lines), sum(bool(measures.solved(line)) for line in lines)
    low, high = wilson(solved, n)
    steps = sum(line['steps'] for line in lines)
    return Score(n, solved / n, low, high, sum(line['questions'] for line in lines) / n, steps / n,
                 sum(line['seconds'] for line in lines) / max(1, steps))


def values(cells: Iterable[Cell], key: Callable[[Cell], Any]) -> list[Any]:
    """The distinct values of a key, in the order of the cells."""
    return list(dict.fromkeys(map(key, cells)))


def lines_of(cells: Iterable[Cell], **wanted: Any) -> list[Mapping[str, Any]]:
    """The episodes of all cells whose fields have the wanted values."""
    return [line for cell in cells for line in cell.lines
            if all(getattr(cell, key) == value for key, value in wanted.items())]


# ------------------------------------------------------------------------------------- tables


def fraction(value: float) -> str:
    """A fraction as .79 or 1.00."""
    text = f'{value:.2f}'
    return text.removeprefix('0')


def table(head: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """A Markdown table; columns from number ``right`` on are aligned to the right."""
    rule = ['---' if index < right else '---:' for index in range(len(head))]
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in (head, rule, *rows))


def _rate(lines: Sequence[Mapping[str, Any]]) -> str:
    if not lines:
        return '–'
    found = score(lines)
    return f'{fraction(found.rate)} ({fraction(found.low)}–{fraction(found.high)})'


def _number(value: float) -> str:
    return f'{value:.0f}' if value >= 100 else f'{value:.1f}'


def _effort(lines: Sequence[Mapping[str, Any]]) -> str:
    if not lines:
        return '–'
    found = score(lines)
    return f'{_number(found.questions)} / {_number(found.actions)} / {found.step_s:.2f}'


def _failing(failure: float) -> str:
    return f'{failure:.0%} of the actions fail' if failure else 'no failures'


def mean_rate(cells: Sequence[Cell], **wanted: Any) -> str:
    """The mean over the models of the fraction of solved episodes; each model counts the same.

    The interval is that of as many episodes as all models have, at this fraction.
    """
    scores = [score(lines) for model in values(cells, lambda c: c.model)
              if (lines := lines_of(cells, model=model, **wanted))]
    if not scores:
        return '–'
    rate, n = sum(s.rate for s in scores) / len(scores), sum(s.n for s in scores)
    low, high = wilson(round(rate * n), n)
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
    return _by_model(results, failure, _rate, '')


def effort(results: Results, failure: float) -> str:
    """Questions per episode, actions per episode, seconds per action."""
    return _by_model(results, failure, _effort, '')


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
                row.append(f'{_number(theirs)} → {_number(ours)} ({times}n = {len(pairs)})')
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
                                 _rate(lines), _number(found.questions), _number(found.actions)])
    return table(['', 'split', 'method', 'episodes', 'solved', 'questions', 'actions'], rows, 3)


def ablations(results: Results) -> str:
    """What becomes of a method without its parts, over all models of the ablations."""
    cells = results.ablations
    failures = values(cells, lambda c: c.failure)
    rows = []
    for variant in values(cells, lambda c: c.variant):
        row = [variant]
        for failure in failures:
            lines = lines_of(cells, variant=variant, failure=failure)
            row.append(_rate(lines))
        every = lines_of(cells, variant=variant)
        found = belief_reliability(every, resamples=0)
        row += [*_effort(every).split(' / '), '–' if found is None else f'{found.ece:.3f}']
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
    """What the figures come from.

    Raises:
        InputError: there is no finished episode.
    """
    if not results.cells:
        raise InputError('the directories hold no finished episodes; make some with "sightplan '
                         'sweep FILE --out RUNS"')
    dates = [date for date in results.dates if date] or ['date unknown']
    runs = {cell.run: cell for cell in results.cells}.values()
    n = sum(len(cell.lines) for cell in runs)
    missing = sum(cell.planned for cell in runs) - n
    return (f'{n} episodes in {len(runs)} runs'
            + (f' ({missing} more are missing)' if missing else '')
            + f'; commits {", ".join(results.commits) or "unknown"}; '
            + ' to '.join(dict.fromkeys((dates[0], dates[-1]))) + '.')


def cost_table(costs: Sequence[Mapping[str, Any]]) -> str:
    """Time of an estimate by size of the problem."""
    return table(
        ['blocks', 'columns', 'answers', 'wrong answers', 'median [ms]', 'slowest [ms]',
         'true state found', 'problem set up [ms]'],
        [[str(c['blocks']), str(c['columns']), str(c['answers']), f'{c["error"]:.0%}',
          f'{1e3 * c["median_s"]:.1f}', f'{1e3 * c["max_s"]:.1f}', fraction(c['exact']),
          f'{1e3 * c["setup_s"]:.1f}'] for c in costs], 0)


def fuzz_table(fuzz: Mapping[str, Any]) -> str:
    """What became of estimates from evidence of any kind."""
    return table(
        ['evidence', 'cases', 'impossible states', 'P outside of (0, 1)', 'exceptions',
         'median [ms]', 'slowest [ms]'],
        [[kind, *(str(found[key]) for key in ('cases', 'impossible', 'out_of_bounds',
                                              'exceptions')),
          f'{1e3 * found["median_s"]:.1f}', f'{1e3 * found["max_s"]:.1f}']
         for kind, found in (*fuzz['kinds'].items(), ('all', fuzz['all']))])
