"""The plots of the belief study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from belief_results import FULL, Results, lines_of, values
from study_plots import grid, rates_of_variants, reliability_diagrams, save, style
from study_results import score


def plot_success(results: Results, path: Path) -> Path:
    """Success by model, split and failure probability, with 95 % intervals."""
    cells = results.main
    models = [m for m in values(cells, lambda c: c.model) if m]
    splits, failures = values(cells, lambda c: c.split), values(cells, lambda c: c.failure)
    methods = values(cells, lambda c: c.method)
    figure, axes = grid(len(failures), len(splits), 3.2 * len(splits), 3.1 * len(failures),
                         sharex=True, sharey=True)
    for row, failure in enumerate(failures):
        for column, split in enumerate(splits):
            axis = axes[row][column]
            for number, method in enumerate(methods):
                colour, marker = style(method)
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
    return save(figure, path)


def plot_questions(results: Results, path: Path) -> Path:
    """Questions per episode by method and split, one point a model."""
    cells = [c for c in results.main if c.model]
    splits, failures = values(cells, lambda c: c.split), values(cells, lambda c: c.failure)
    methods = values(cells, lambda c: c.method)
    figure, axes = grid(1, len(failures), 3.8 * len(failures), 3.0, sharey=True)
    for axis, failure in zip(axes[0], failures, strict=True):
        for number, method in enumerate(methods):
            colour, marker = style(method)
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
    return save(figure, path)


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
    return save(reliability_diagrams(panels), path)


def plot_ablations(results: Results, path: Path) -> Path:
    """Success of the variants, with 95 % intervals, over all models of the ablations."""
    cells = results.ablations
    variants = values(cells, lambda c: c.variant)
    return save(rates_of_variants(variants, {
        f'failures {failure:.0%}': {v: score(lines) for v in variants
                                    if (lines := lines_of(cells, variant=v, failure=failure))}
        for failure in values(cells, lambda c: c.failure)}, FULL), path)


def plot_cost(costs: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Time of an estimate by number of blocks."""
    figure, axes = grid(1, 1, 4.6, 3.2)
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
    return save(figure, path)
