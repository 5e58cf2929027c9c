"""Plots with one panel for each condition: bars, stacks and heatmaps.

They are SVG as those of ``plots``, with the same colours and the same promises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import Affine2D

from sightplan_report.plots import (
    COLOURS,
    FAINT,
    INK,
    LINES,
    SHARES,
    SMALL,
    Dot,
    as_svg,
    colour_of,
    ends,
    hatch_of,
    name_rows,
    row_names,
    short_number,
    subplots,
)

_ABREAST = 3
_HEAT = LinearSegmentedColormap.from_list('heat', ('#f3f1ea', '#56B4E9', '#0072B2', '#00263d'))
_DARK, _LIGHT = '#111111', '#ffffff'  # on coloured ground, whatever the page is like
_WIDE_ENOUGH = 0.055
_DEEP = 0.55
"""Fraction of the largest number from which on figures stand in white."""
_TINY = 5.8


@dataclass(frozen=True, slots=True)
class BarPanel:
    """A panel of bars.

    Attributes:
        title: of the panel.
        bars: each in its row; ``series`` and ``published`` are not drawn.
        lines: name to a number that the bars are to be compared with.
    """

    title: str
    bars: tuple[Dot, ...]
    lines: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StackPanel:
    """A panel of stacked bars.

    Attributes:
        title: of the panel.
        rows: name of each row, and the numbers of its parts, which are drawn one behind the other.
        faint: names of rows that stand there for comparison.
    """

    title: str
    rows: tuple[tuple[str, Mapping[str, float]], ...]
    faint: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HeatPanel:
    """A panel of numbers over two whole numbers.

    Attributes:
        title: of the panel.
        cells: (x, y) to a number.
    """

    title: str
    cells: Mapping[tuple[int, int], float]


def bars(name: str, panels: Sequence[BarPanel], title: str, xlabel: str, fraction: bool = True,
         ) -> str:
    """Bars with intervals, and lines to compare them with.

    Args:
        name: unique in the page, letters, digits and hyphens.
        panels: side by side; a row of one is the same row in all.
        title: what is shown, for readers that see no picture.
        xlabel: of the axis of numbers.
        fraction: whether the numbers lie in [0, 1].

    Returns:
        ``<svg ...>``; '' without a bar.
    """
    panels = [panel for panel in panels if panel.bars]
    if not panels:
        return ''
    return as_svg(name, title, lambda: _bars(panels, xlabel, fraction), (
        f'{panel.title}, {bar.row}: {short_number(bar.value)} ({short_number(bar.low)} to '
        f'{short_number(bar.high)}), n {bar.n}' for panel in panels for bar in panel.bars))


def _bars(panels: Sequence[BarPanel], xlabel: str, fraction: bool) -> Figure:
    rows = list(dict.fromkeys(bar.row for panel in panels for bar in panel.bars))
    lines = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    names, tallest = row_names(rows)
    each = max(0.26, 0.08 + 0.145 * tallest) * len(rows)
    figure, axes = _panels(len(panels), each, 0.2 * math.ceil(len(lines) / 4))
    for panel, axis in zip(panels, axes, strict=True):
        ys = [rows.index(bar.row) for bar in panel.bars]
        values = [bar.value for bar in panel.bars]
        axis.barh(ys, values, 0.62, color=COLOURS[0], alpha=0.8)
        axis.errorbar(values, ys, fmt='none', ecolor=INK, elinewidth=1, capsize=2, xerr=ends(
            values, [bar.low for bar in panel.bars], [bar.high for bar in panel.bars]))
        for line, value in panel.lines.items():
            axis.axvline(value, **_line(lines.index(line)))
        name_rows(axis, names)
        axis.set_title(panel.title, loc='left')
        if fraction:
            axis.set_xticks(*SHARES)
            axis.set_xlim(0, 1.02)
        else:
            axis.set_xlim(left=0)
    figure.supxlabel(xlabel, fontsize=SMALL)
    if lines:
        figure.legend(handles=[Line2D([], [], label=line, **_line(number))
                               for number, line in enumerate(lines)],
                      loc='outside upper left', ncols=min(4, len(lines)), handlelength=2.6)
    return figure


def _line(number: int) -> dict[str, Any]:
    """Style of a line of comparison, in none of the bars' colours."""
    return {'color': COLOURS[1:][number % (len(COLOURS) - 1)], 'linewidth': 1.3,
            'linestyle': LINES[1:][number % (len(LINES) - 1)]}


def stacks(name: str, panels: Sequence[StackPanel], title: str, xlabel: str) -> str:
    """Stacked bars of numbers, with the numbers in them.

    Args:
        name: unique in the page, letters, digits and hyphens.
        panels: side by side; a row of one is the same row in all.
        title: what is shown, for readers that see no picture.
        xlabel: of the axis of numbers.

    Returns:
        ``<svg ...>``; '' without a row.
    """
    panels = [panel for panel in panels if panel.rows]
    if not panels:
        return ''
    return as_svg(name, title, lambda: _stacks(panels, xlabel), (
        f'{panel.title}, {row}: ' + ', '.join(
            f'{part} {short_number(value)}' for part, value in parts.items())
        for panel in panels for row, parts in panel.rows))


def _stacks(panels: Sequence[StackPanel], xlabel: str) -> Figure:
    faint = frozenset().union(*(panel.faint for panel in panels))
    rows = sorted(dict.fromkeys(row for panel in panels for row, _ in panel.rows),
                  key=lambda row: row in faint)
    parts = list(dict.fromkeys(part for panel in panels for _, found in panel.rows
                               for part in found))
    most = max(sum(found.values()) for panel in panels for _, found in panel.rows) or 1.0
    names, tallest = row_names(rows)
    figure, axes = _panels(len(panels), max(0.26, 0.08 + 0.145 * tallest) * len(rows),
                           0.2 * math.ceil(len(parts) / 3))
    for panel, axis in zip(panels, axes, strict=True):
        for row, found in panel.rows:
            y, left, pale = rows.index(row), 0.0, row in faint
            for number, part in enumerate(parts):
                value = found.get(part, 0.0)
                axis.barh(y, value, 0.7, left, color=colour_of(number), edgecolor='white',
                          alpha=0.45 if pale else 0.85, hatch=hatch_of(number), linewidth=0.4)
                if value > _WIDE_ENOUGH * most * len(panels):
                    axis.text(left + value / 2, y, f'{value:.1f}', ha='center', va='center',
                              fontsize=SMALL, color=_LIGHT, bbox={
                                  'boxstyle': 'round,pad=0.12', 'linewidth': 0,
                                  'facecolor': '#333333', 'alpha': 0.7}).set_in_layout(False)
                left += value
        name_rows(axis, names)
        axis.set_title(panel.title, loc='left')
        axis.set_xlim(0, most * 1.02)
        if 0 < len(faint) < len(rows):
            axis.axhline(len(rows) - len(faint) - 0.5, color=FAINT, linewidth=0.7)
    figure.supxlabel(xlabel, fontsize=SMALL)
    figure.legend(handles=[
        Patch(facecolor=colour_of(number), alpha=0.85, hatch=hatch_of(number), edgecolor='white',
              label=part) for number, part in enumerate(parts)],
        loc='outside upper left', ncols=min(3, len(parts)), handlelength=2.2)
    return figure


def heatmaps(name: str, panels: Sequence[HeatPanel], title: str, xlabel: str, ylabel: str) -> str:
    """Numbers over two whole numbers, as colours and in figures; all panels have one scale.

    Args:
        name: unique in the page, letters, digits and hyphens.
        panels: two abreast.
        title: what is shown, for readers that see no picture.
        xlabel: of the first number.
        ylabel: of the second one, which grows upwards.

    Returns:
        ``<svg ...>``; '' without a number.
    """
    panels = [panel for panel in panels if panel.cells]
    if not panels:
        return ''
    return as_svg(name, title, lambda: _heatmaps(panels, xlabel, ylabel), (
        f'{panel.title}: {short_number(min(panel.cells.values()))} to '
        f'{short_number(max(panel.cells.values()))}' for panel in panels))


def _heatmaps(panels: Sequence[HeatPanel], xlabel: str, ylabel: str) -> Figure:
    xs, ys = (sorted({cell[axis] for panel in panels for cell in panel.cells}) for axis in (0, 1))
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = subplots(rows, columns, (0.75 + 0.2 * len(ys)) * rows, 3.6 * columns)
    most = max(max(panel.cells.values()) for panel in panels) or 1.0
    for number, axis in enumerate(axes.flat):
        if number >= len(panels):
            axis.set_axis_off()
            continue
        panel = panels[number]
        table = np.full((len(ys), len(xs)), np.nan)
        for (x, y), value in panel.cells.items():
            column, row = xs.index(x), ys.index(y)
            table[row, column] = value
            axis.text(column, row, f'{value:.1f}', ha='center', va='center', fontsize=_TINY,
                      color=_LIGHT if value > _DEEP * most else _DARK).set_in_layout(False)
        axis.pcolormesh(np.ma.masked_invalid(table), cmap=_HEAT, vmin=0.0, vmax=most,
                        transform=Affine2D().translate(-0.5, -0.5) + axis.transData)
        axis.set_xlim(-0.5, len(xs) - 0.5)
        axis.set_ylim(-0.5, len(ys) - 0.5)
        axis.set_xticks(range(len(xs)), xs)
        axis.set_yticks(range(len(ys)), ys, fontsize=SMALL)
        axis.tick_params(length=0)
        axis.grid(visible=False)
        axis.set_title(panel.title, loc='left', fontsize=SMALL)
        axis.set_xlabel(xlabel)
        if not number % columns:
            axis.set_ylabel(ylabel)
    return figure


def _panels(count: int, height: float, above: float) -> tuple[Figure, list[Any]]:
    """Panels side by side with the same rows; height of their rows and of the legend [inch]."""
    columns = min(_ABREAST, count)
    rows = math.ceil(count / columns)
    figure, axes = subplots(rows, columns, (0.75 + height) * rows + above, sharex=True,
                            sharey=True)
    found = list(axes.flat)
    for axis in found[count:]:
        axis.set_axis_off()
    return figure, found[:count]
