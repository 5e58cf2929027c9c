"""Plots that studies share.

Colours are those of Okabe and Ito, told apart by colour-blind readers; each method has a marker of
its own as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from sightplan.metrics import belief_reliability
from study_results import Score

STYLES = {
    # method: colour, marker
    'ground': ('#D55E00', 's'), 'decode': ('#E69F00', '^'), 'belief': ('#0072B2', 'o'),
    'blind': ('#777777', 'x'), 'oracle': ('#000000', '_'),
    'three_valued': ('#CC79A7', '^'), 'log_odds': ('#009E73', 'D'),
}
_MORE = ('#009E73', '#CC79A7', '#56B4E9', '#F0E442')
_PAPER: Any = {'font.size': 9.0, 'axes.grid': True, 'grid.alpha': 0.3,
               'axes.axisbelow': True, 'axes.spines.top': False, 'axes.spines.right': False}
_DPI = 120
_PANELS_ABREAST = 3


def style(method: str) -> tuple[str, str]:
    """Colour and marker of a method."""
    return STYLES.get(method, (_MORE[sum(method.encode()) % len(_MORE)], 'D'))


def save(figure: Figure, path: Path) -> Path:
    """Write a figure; returns the path."""
    figure.savefig(path, metadata={'Software': None})  # the same figures give the same bytes
    return path


def grid(rows: int, columns: int, width: float, height: float, **more: Any) -> tuple[Figure, Any]:
    """A figure of so many inches, and its (rows, columns) axes."""
    with matplotlib.rc_context(_PAPER):
        figure = Figure(figsize=(width, height), dpi=_DPI, layout='constrained')
        return figure, figure.subplots(rows, columns, squeeze=False, **more)


def rates_of_variants(variants: Sequence[str], panels: Mapping[str, Mapping[str, Score]],
                      reference: str) -> Figure:
    """Plot of the fraction of episodes that each variant solved, with 95 % intervals.

    Args:
        variants: from top to bottom.
        panels: title, and scores by variant; a variant may be missing.
        reference: the variant whose rate is drawn through all the others.
    """
    figure, axes = grid(1, len(panels), 1.4 + 2.2 * len(panels), 0.9 + 0.28 * len(variants),
                        sharey=True, sharex=True)
    for axis, (title, scores) in zip(axes[0], panels.items(), strict=True):
        for y, variant in enumerate(variants):
            found = scores.get(variant)
            if found is None:
                continue
            colour = '#0072B2' if variant == reference else '#D55E00'
            axis.errorbar([found.rate], [y], xerr=[[found.rate - found.low],
                                                   [found.high - found.rate]],
                          fmt='o', color=colour, markersize=4, linewidth=1)
            if variant == reference:
                axis.axvline(found.rate, color=colour, linewidth=0.8, linestyle=':')
        axis.set_yticks(range(len(variants)), variants)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel('solved')
    axes[0][0].invert_yaxis()
    return figure


def reliability_diagrams(
        panels: Sequence[tuple[str, Sequence[tuple[str, Sequence[Mapping[str, Any]]]]]]) -> Figure:
    """Reliability diagrams of believed marginals, with the number of atoms in each bin.

    Args:
        panels: title and series, each a name and its lines of results.
    """
    width = min(len(panels), _PANELS_ABREAST)
    rows = math.ceil(len(panels) / width)
    figure, axes = grid(2 * rows, width, 3.1 * width, 4.2 * rows, sharex=True,
                        height_ratios=(3, 1) * rows)
    for unused in range(len(panels), rows * width):
        for axis in axes[unused // width * 2:, unused % width]:
            axis.set_visible(False)
    colours = ('#0072B2', '#E69F00', '#D55E00', '#009E73')
    for number, (title, series) in enumerate(panels):
        row, column = divmod(number, width)
        upper, lower = axes[2 * row][column], axes[2 * row + 1][column]
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
    for row in range(rows):
        axes[2 * row][0].set_ylabel('fraction of true atoms')
        axes[2 * row + 1][0].set_ylabel('atoms')
    return figure
