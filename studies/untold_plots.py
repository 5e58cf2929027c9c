"""The plots of the untold study."""

from __future__ import annotations

from pathlib import Path

from sightplan.metrics import belief_reliability
from study_plots import grid, rates_of_variants, reliability_diagrams, save, style
from study_results import score
from untold_results import (
    ERRORS,
    FULL,
    PERFECT,
    Line,
    Results,
    lines_of,
    reliability_rows,
    splits_of,
)

_CALIBRATED = '#56B4E9'
_SHORT = {'InternVL3-78B': 'InternVL3', 'Qwen2.5-VL-72B-Instruct': 'Qwen2.5-VL'}


def plot_success(results: Results, path: Path) -> Path:
    """Success by model, split and kind of errors, with 95 % intervals."""
    cells, models = results.main, results.models
    splits = splits_of(cells)
    kinds = [(method, calibrated) for method in ('belief', 'three_valued', 'log_odds')
             for calibrated in (True, False)
             if any((c.method, c.calibrated) == (method, calibrated) for c in cells)]
    figure, axes = grid(len(ERRORS), len(splits), 2.6 * len(splits), 2.7 * len(ERRORS),
                        sharex=True, sharey=True)
    for row, (errors, title) in enumerate(ERRORS.items()):
        for axis, split in zip(axes[row], splits, strict=True):
            for method, model, line in (('blind', '', '--'), ('belief', PERFECT, ':')):
                lines = lines_of(cells, method=method, model=model, split=split, calibrated=False)
                if lines:
                    axis.axhline(score(lines).rate, color=style(method)[0], linestyle=line,
                                 label=method if not model else f'{model} answers')
            for number, (method, calibrated) in enumerate(kinds):
                colour, marker = style(method)
                found = [(x, score(lines)) for x, model in enumerate(models)
                         if (lines := lines_of(cells, method=method, calibrated=calibrated,
                                               errors=errors, split=split, model=model))]
                shift = 0.16 * (number - (len(kinds) - 1) / 2)
                axis.errorbar(
                    [x + shift for x, _ in found], [s.rate for _, s in found],
                    [[s.rate - s.low for _, s in found], [s.high - s.rate for _, s in found]],
                    fmt=marker, color=_CALIBRATED if calibrated else colour, markersize=4,
                    linewidth=1, label=method + (', calibrated' if calibrated else ''))
            axis.set_title(f'{split}, {title}', fontsize=8)
            axis.set_ylim(-0.03, 1.03)
            axis.set_xticks(range(len(models)), [_SHORT.get(m, m) for m in models], fontsize=7)
    for axis in axes[:, 0]:
        axis.set_ylabel('solved')
    labelled = {label: handle for axis in axes.flat
                for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(labelled.values(), labelled.keys(), loc='outside upper center',
                  ncols=max(1, len(labelled)), frameon=False, fontsize=8)
    return save(figure, path)


def plot_reliability(results: Results, path: Path) -> Path | None:
    """Reliability diagrams of the marginals in closed loop, one line a model; None without any."""
    panels: dict[str, list[tuple[str, list[Line]]]] = {}
    for (model, answers, calibrated), lines in reliability_rows(results):
        if belief_reliability(lines, resamples=0) is None:
            continue
        title = (f'{answers or "other answers"}, '
                 f'{"calibrated" if calibrated == "yes" else "no calibration"}')
        panels.setdefault(title, []).append((_SHORT.get(model, model).strip('`'), lines))
    if not panels:
        return None
    return save(reliability_diagrams(list(panels.items())), path)


def plot_ablations(results: Results, path: Path) -> Path:
    """Success of the variants by split, with 95 % intervals."""
    cells = results.ablations
    variants = list(dict.fromkeys(cell.variant for cell in cells))
    return save(rates_of_variants(variants, {
        split: {v: score(lines) for v in variants
                if (lines := lines_of(cells, variant=v, split=split))}
        for split in splits_of(cells)}, FULL), path)
