"""Picture of several paths on their map with their measurements; the best one is marked."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patheffects import Stroke, withStroke

from sightplan.model import InputError
from sightplan.model.whole_files import replacing
from sightplan_report.plots import COLOURS, INK, LINES
from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.maps import NO_OBSTACLE, ObstacleMap

_HEADINGS = ('path', 'best', 'length', 'clearance\nleast', '\nmean', '\ngreatest', 'sharp\nturns',
             'sharpest\n[°]', 'turning\nin all [°]')
_KINDS = ('.png', '.svg', '.pdf')
_OBSTACLE = '#b9b9b4'
_MARKED = '#e7f0f6'
_AREA = '#a0522d'
_STRAIGHT = 1e-9
"""Area [squared unit of the map] below which a path and the way to its end are one line."""
_STYLE: Any = {'font.size': 8.5, 'text.color': INK, 'axes.edgecolor': INK, 'axes.linewidth': 1.0,
               'text.parse_math': False}


def draw_paths(item: ObstacleMap, paths: Sequence[npt.ArrayLike], ranking: Sequence[int],
               best: Sequence[float], descriptors: Sequence[Descriptors], title: str = '',
               numbers: Sequence[int] = (), *, out: Sequence[int] = (),
               tied: Sequence[int] = (), areas: Sequence[Area] = ()) -> Figure:
    """Draw paths on a map.

    Args:
        item: the map.
        paths: each (N, 2), its points in units of the map.
        ranking: indices of the paths, the best first: the order of the table. (): there is no
            best, none is marked, and the table is in the order of the paths.
        best: probability of each to be the best.
        descriptors: of each path.
        title: what it is about; a reason of some sentences is broken into lines.
        numbers: what the paths are called; (): they are counted from 1.
        out: indices of the paths that cannot be driven or break a limit: drawn thin and faint; the
            table calls them out.
        tied: indices of the paths that are the best as far as can be told: all of them are
            marked alike, and called tied. (): the first of the ranking is marked alone.
        areas: that robots must keep out of.

    Returns:
        The map, its paths with their numbers, beside a table of what was measured.
    """
    box = item.bounds
    wide, high = box.x_max - box.x_min, box.y_max - box.y_min
    lines = textwrap.wrap(title, 180)
    names = [str(number) for number in numbers or range(1, len(paths) + 1)]
    rows = 1.0 + 0.26 * len(paths)
    height = min(max(5.2 * high / wide, rows + 0.4, 2.0), 8.0)
    top = 0.17 * len(lines) + 0.15
    with rc_context(_STYLE):
        figure = Figure((11.2, height + top))
        across = 5.2 / 11.2
        axes = figure.add_axes((0.01, 0.02, across - 0.02, height / (height + top) - 0.03))
        _draw_map(axes, item, areas)
        order = ranking or range(len(paths))
        marked = tuple(tied) or tuple(number for number in ranking[:1] if number not in out)
        for number in reversed(order):
            _draw_path(axes, np.asarray(paths[number]), number, names[number],
                       number in marked, number in out)
        table = figure.add_axes((across, 0.02, 1 - across - 0.01, height / (height + top) - 0.03))
        chances = ['out' if number in out else
                   f'{chance:.3f}' if number not in tied else f'{chance:.2f} tied'
                   for number, chance in enumerate(best)]
        _draw_table(table, order, names, chances, descriptors, height, marked)
        figure.text(0.012, 1 - 0.08 / (height + top), '\n'.join(lines), va='top', linespacing=1.35)
    return figure


def save_paths(figure: Figure, file: Path) -> None:
    """Write a figure as PNG, SVG or PDF, by the file's suffix.

    Raises:
        InputError: the file has another suffix.
        OSError: it cannot be written.
    """
    check_picture(file)
    with replacing(file) as new:
        figure.savefig(new, format=file.suffix.lower().removeprefix('.'), dpi=120,
                       facecolor='white')


def check_picture(file: Path) -> None:
    """Check that a figure can be written to a file of this name.

    Raises:
        InputError: it has a suffix of no kind of picture.
    """
    if file.suffix.lower() not in _KINDS:
        raise InputError(f'{file}: unknown kind of picture (name a file {", ".join(_KINDS)})')


def _draw_map(axes: Any, item: ObstacleMap, areas: Sequence[Area]) -> None:
    box = item.bounds
    axes.add_collection(PolyCollection(
        [np.array(polygon) for area in areas for polygon in area.polygons], facecolors='none',
        edgecolors=_AREA, linewidths=0.8, hatch='///', alpha=0.35))
    for area in areas:
        axes.annotate(area.name, np.array(area.polygons[0]).mean(axis=0), color=_AREA, fontsize=8,
                      ha='center', va='center',
                      path_effects=[withStroke(linewidth=3, foreground='white')])
    axes.add_collection(PolyCollection([np.array(polygon) for polygon in item.polygons],
                                       facecolors=_OBSTACLE, edgecolors=_OBSTACLE,
                                       linewidths=0.3))
    axes.set(xlim=(box.x_min, box.x_max), ylim=(box.y_min, box.y_max), aspect='equal',
             xticks=[], yticks=[])


def _draw_path(axes: Any, points: npt.NDArray[np.float64], number: int, name: str,
               marked: bool, out: bool) -> None:
    """A line, and its name where it is farthest from the straight way, or in its middle."""
    colour = COLOURS[number % len(COLOURS)]
    line, = axes.plot(points[:, 0], points[:, 1], color=colour, solid_joinstyle='round',
                      linewidth=2.6 if marked else 0.8 if out else 1.3,
                      alpha=0.55 if out else 1.0,
                      linestyle=LINES[number % len(LINES)] if not marked else '-')
    if marked:
        line.set_path_effects([Stroke(linewidth=4.6, foreground=INK),
                               Stroke(linewidth=2.6, foreground=colour)])
    axes.plot(*points[0], 'o', color=INK, markersize=6)
    axes.plot(*points[-1], '*', color=INK, markersize=10)
    along = points[-1] - points[0]
    away = abs((points - points[0]) @ np.array([-along[1], along[0]]))
    at = points[int(np.argmax(away))] if away.max() > _STRAIGHT else (points[0] + points[-1]) / 2
    axes.annotate(name, at, color=colour, fontsize=10, fontweight='bold', ha='center',
                  va='center', alpha=0.55 if out else 1.0,
                  path_effects=[withStroke(linewidth=3, foreground='white')])


def _draw_table(axes: Any, order: Sequence[int], names: Sequence[str], chances: Sequence[str],
                descriptors: Sequence[Descriptors], height: float, marked: Sequence[int]) -> None:
    """A row for each path in their order; those that are marked stand out."""
    axes.set(xlim=(0, 1), ylim=(height, 0))
    axes.axis('off')
    columns = (0.05, 0.16, 0.28, 0.41, 0.51, 0.63, 0.74, 0.86, 0.985)
    for x, heading in zip(columns, _HEADINGS, strict=True):
        axes.text(x, 0.45, heading, ha='right', va='bottom', fontsize=8)
    axes.plot((0, 1), (0.5, 0.5), color=INK, linewidth=0.6)
    for row, number in enumerate(order):
        y, item = 0.68 + 0.26 * row, descriptors[number]
        if number in marked:
            axes.axhspan(y - 0.13, y + 0.13, color=_MARKED, linewidth=0)
        cells = (names[number], chances[number], f'{item.path_length:.1f}',
                 _clear(item.minimum_clearance), _clear(item.average_clearance),
                 _clear(item.maximum_clearance), f'{item.sharp_turns}',
                 f'{item.maximum_angle:.0f}', f'{item.smoothness:.0f}')
        for x, cell in zip(columns, cells, strict=True):
            first = x == columns[0]
            axes.text(x, y, cell, ha='right', va='center',
                      color=COLOURS[number % len(COLOURS)] if first else INK,
                      fontweight='bold' if first or number in marked else 'normal')


def _clear(value: float) -> str:
    return 'none near' if value >= NO_OBSTACLE else f'{value:.2f}'
