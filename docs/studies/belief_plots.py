"""The plots of the belief study.

Colours are those of Okabe and Ito, told apart by colour-blind readers; each method has a marker of
its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from belief_results import FULL, Results, lines_of, score, values
from matplotlib.figure import Figure

from sightplan.metrics import belief_reliability

STYLES = {
    # method: colour, marker
    'ground': ('#D55E00', 's'), 'decode': ('#E69F00', '^'), 'belief': ('#0072B2', 'o'),
    'blind': ('#777777', 'x'), 'oracle': ('#000000', '_'),
}
_MORE = ('#009E73', '#CC79A7', '#56B4E9', '#F0E442')
_PAPER: Any = {'font.size': 9.0, 'axes.grid': True, 'grid.alpha': 0.3,
               'axes.axisbelow': True, 'axes.spines.top': False, 'axes.spines.right': False}
_DPI = 120


def _style(method: str) -> tuple[str, str]:
    return STYLES.get(method, (_MORE[sum(method.encode()) % len(_MORE)], 'D'))


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, metadata={'Software': None})  # the same figures give the same bytes
    return path


def _grid(rows: int, columns: int, width: float, height: float, **more: Any) -> tuple[Figure, Any]:
    with matplotlib.rc_context(_PAPER):
        figure = Figure(figsize=(width, height), dpi=_DPI, layout='constrained')
        return figure, figure.subplots(rows, columns, squeeze=False, **more)


def plot_success(results: Results, path: Path) -> Path:
    """Success by model, split and failure probability, with 95 % intervals."""
    cells = results.main
    models = [m for m in values(cells, lambda c: c.model) if m]
    splits, failures = values(cells, lambda c: c.split), values(cells, lambda c: c.failure)
    methods = values(cells, lambda c: c.method)
    figure, axes = _grid(len(failures), len(splits), 3.2 * len(splits), 3.1 * len(failures),
                         sharex=True, sharey=True)
    for row, failure in enumerate(failures):
        for column, split in enumerate(splits):
            axis = axes[row][column]
            for number, method in enumerate(methods):
                colour, marker = _style(method)
                chosen = [c for c in cells if (c.method, c.split, c.failure) == (
                    method, split, failure)]
                shift = 0.14 * (number - (len(methods) - 1) / 2)
                if chosen and not any(c.model for c in chosen):
                    rate = score(lines_of(chosen)).rate
                    axis.axhline(rate, color=colour, linestyle='--' if method == 'blind' else ':',
                                 label=method)
                    continue
                found = [(x, score(lines_of(chosen, model=model)))
                         for x, model in enumerate(models) if lines_of(chosen, model=model)]
                axis.errorbar(
                    [x + shift for x, _ in found], [s.rate for _, s in found],
                    [[s.rate - s.low for _, s in found], [s.high - s.rate for _, s in found]],
                    fmt=marker, color=colour, markersize=4, linewidth=1, label=method)
            axis.set_title(f'{split}, failures {failure:.0%}', fontsize=9)
            axis.set_ylim(-0.03, 1.03)
            axis.set_xticks(range(len(models)), [m.split('-Instruct')[0] for m in models],
                            rotation=60, ha='right', fontsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel('solved')
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc='outside upper center', ncols=len(labels), frameon=False)
    return _save(figure, path)


def plot_questions(results: Results, path: Path) -> Path:
    """Questions per episode by method and split, one point a model."""
    cells = [c for c in results.main if c.model]
    splits, failures = values(cells, lambda c: c.split), values(cells, lambda c: c.failure)
    methods = values(cells, lambda c: c.method)
    figure, axes = _grid(1, len(failures), 3.8 * len(failures), 3.0, sharey=True)
    for axis, failure in zip(axes[0], failures, strict=True):
        for number, method in enumerate(methods):
            colour, marker = _style(method)
            points = [(x + 0.2 * (number - (len(methods) - 1) / 2), score(c.lines).questions)
                      for x, split in enumerate(splits) for c in cells
                      if (c.method, c.split, c.failure) == (method, split, failure)]
            axis.plot([x for x, _ in points], [max(y, 0.5) for _, y in points], marker,
                      color=colour, markersize=4, alpha=0.8, label=method)
        axis.set_yscale('log')
        axis.set_xticks(range(len(splits)), splits)
        axis.set_title(f'failures {failure:.0%}', fontsize=9)
    axes[0][0].set_ylabel('questions per episode')
    axes[0][0].legend(frameon=False, fontsize=8)
    return _save(figure, path)


def plot_reliability(results: Results, path: Path, method: str = 'belief') -> Path:
    """Reliability diagrams of the marginals, over all models: by split, and of the variants."""
    panels: list[tuple[str, list[tuple[str, list[Mapping[str, Any]]]]]] = []
    for failure in values(results.main, lambda c: c.failure):
        panels.append((f'{method}, failures {failure:.0%}', [
            (split, lines_of(results.main, method=method, failure=failure, split=split))
            for split in values(results.main, lambda c: c.split)]))
    wanted = (FULL, 'no calibration', 'independent repeats', 'factorised')
    if results.ablations:
        panels.append(('variants', [(v, lines_of(results.ablations, variant=v)) for v in wanted
                                    if v in values(results.ablations, lambda c: c.variant)]))
    figure, axes = _grid(2, len(panels), 3.1 * len(panels), 4.2, sharex=True,
                         height_ratios=(3, 1))
    colours = ('#0072B2', '#E69F00', '#D55E00', '#009E73')
    for column, (title, series) in enumerate(panels):
        upper, lower = axes[0][column], axes[1][column]
        upper.plot([0, 1], [0, 1], color='#999999', linewidth=1)
        for (name, lines), colour, marker in zip(series, colours, 'o^sD', strict=False):
            found = belief_reliability(lines, resamples=0)
            if found is None:
                continue
            bins = [b for b in found.bins if b.n >= 20]
            upper.plot([b.mean_p for b in bins], [b.frequency for b in bins], marker + '-',
                       color=colour, markersize=3.5, linewidth=1,
                       label=f'{name} (ECE {found.ece:.3f})')
            lower.stairs([max(b.n, 0.5) for b in found.bins],
                         [*(b.low for b in found.bins), 1.0], baseline=None, color=colour,
                         linewidth=1)
        upper.set_title(title, fontsize=9)
        upper.legend(frameon=False, fontsize=7)
        lower.set_yscale('log')
        lower.set_xlabel('P(atom) believed')
    axes[0][0].set_ylabel('fraction of true atoms')
    axes[1][0].set_ylabel('atoms')
    return _save(figure, path)


def plot_ablations(results: Results, path: Path) -> Path:
    """Success of the variants, with 95 % intervals, over all models of the ablations."""
    cells = results.ablations
    variants = values(cells, lambda c: c.variant)
    failures = values(cells, lambda c: c.failure)
    figure, axes = _grid(1, len(failures), 3.6 * len(failures), 0.9 + 0.28 * len(variants),
                         sharey=True, sharex=True)
    for axis, failure in zip(axes[0], failures, strict=True):
        for y, variant in enumerate(variants):
            lines = lines_of(cells, variant=variant, failure=failure)
            if not lines:
                continue
            found = score(lines)
            colour = '#0072B2' if variant == FULL else '#D55E00'
            axis.errorbar([found.rate], [y], xerr=[[found.rate - found.low],
                                                   [found.high - found.rate]],
                          fmt='o', color=colour, markersize=4, linewidth=1)
            if variant == FULL:
                axis.axvline(found.rate, color=colour, linewidth=0.8, linestyle=':')
        axis.set_yticks(range(len(variants)), variants)
        axis.set_title(f'failures {failure:.0%}', fontsize=9)
        axis.set_xlabel('solved')
    axes[0][0].invert_yaxis()
    return _save(figure, path)


def plot_cost(costs: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Time of an estimate by number of blocks."""
    figure, axes = _grid(1, 1, 4.6, 3.2)
    axis = axes[0][0]
    for error, colour, marker in zip(dict.fromkeys(c['error'] for c in costs),
                                     ('#0072B2', '#D55E00', '#009E73'), 'os^', strict=False):
        rows = [c for c in costs if c['error'] == error]
        xs = [c['blocks'] for c in rows]
        axis.plot(xs, [1e3 * c['median_s'] for c in rows], marker + '-', color=colour,
                  markersize=4, label=f'{error:.0%} wrong answers, median')
        axis.plot(xs, [1e3 * c['max_s'] for c in rows], ':', color=colour, linewidth=1,
                  label=f'{error:.0%} wrong answers, slowest')
    axis.set_yscale('log')
    axis.set_xlabel('blocks (4 columns up to 6 blocks, then 6)')
    axis.set_ylabel('estimate [ms]')
    axis.legend(frameon=False, fontsize=8)
    return _save(figure, path)
