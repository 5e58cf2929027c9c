"""Plots of a report, as SVG to be put into HTML.

Text stays text, ids are unique across the plots of a page, and the same numbers give the same
bytes. Colours are those of Okabe and Ito, told apart by colour-blind readers; each has a marker, a
line style and a hatch of its own as well, so that nothing is said by colour alone. Ink is the
colour of the surrounding text (``currentColor``), so that plots fit a dark page, too.
"""

from __future__ import annotations

import io
import math
import operator
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from sightplan.metrics.calibration import Reliability

COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#7F7F7F', '#8C6D1F')
MARKERS = ('o', 's', '^', 'D', 'v', 'P', 'X', '*')
LINES: Any = ('-', '--', ':', '-.', (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)), (0, (7, 3)))
HATCHES = ('', '////', '\\\\\\\\', 'xxxx', '----', '||||', '++++', '//')

INK, FAINT = '#232323', '#8a8a86'
SMALL, _NORMAL = 7.5, 8.5
_STYLE: Any = {
    'font.size': _NORMAL, 'axes.titlesize': _NORMAL, 'axes.labelsize': _NORMAL,
    'xtick.labelsize': SMALL, 'ytick.labelsize': _NORMAL, 'legend.fontsize': SMALL,
    'text.color': INK, 'axes.labelcolor': INK, 'axes.titlecolor': INK,
    'axes.edgecolor': FAINT, 'xtick.color': FAINT, 'ytick.color': FAINT,
    'xtick.labelcolor': INK, 'ytick.labelcolor': INK,
    'axes.grid': True, 'grid.color': FAINT, 'grid.alpha': 0.25, 'grid.linewidth': 0.6,
    'axes.axisbelow': True, 'axes.spines.top': False, 'axes.spines.right': False,
    'axes.linewidth': 0.6, 'lines.linewidth': 1.2, 'hatch.linewidth': 0.5, 'hatch.color': 'white',
    'figure.facecolor': 'none', 'axes.facecolor': 'none', 'savefig.facecolor': 'none',
    'legend.frameon': False, 'svg.fonttype': 'none', 'axes.unicode_minus': False,
    'text.parse_math': False,  # names of models are not formulas
}
_MOST_LABEL, _MOST_ROW, _MOST_LINES = 900, 52, 4
_HIDDEN = 0.015
"""Difference of published and measured fraction below which the published mark is moved aside."""
_LEAST_IN_BIN = 20
_WIDE, _BESIDE, _APART = 8.0, 0.018, 0.8
SHARES = [0, 0.25, 0.5, 0.75, 1], ['0', '.25', '.5', '.75', '1']
_REFERENCE = re.compile(r'(?:url\(#|href="#)([^)"]+)')


@dataclass(frozen=True, slots=True)
class Dot:
    """A number with its interval.

    Attributes:
        row: what it stands beside, for example a method.
        series: which of the numbers of the row it is, for example a split.
        value: the number.
        low: lower end of its 95 % interval; the number itself for none.
        high: upper end, likewise.
        n: number of observations.
        published: what a paper reports for the same, None for nothing.
    """

    row: str
    series: str
    value: float
    low: float
    high: float
    n: int
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A line through points with intervals.

    Attributes:
        name: of the curve.
        points: x, value, low, high, n; in the order of x.
        model: the line that theory draws beside it: x and value; may be empty.
        panel: panel of the figure, for example a method.
    """

    name: str
    points: tuple[tuple[float, float, float, float, int], ...]
    model: tuple[tuple[float, float], ...] = ()
    panel: str = ''


def dots(name: str, points: Sequence[Dot], title: str, xlabel: str, fraction: bool = True,
         log: bool = False, zero: bool = False, order: Sequence[str] = ()) -> str:
    """Rows of numbers with intervals: one row of the plot for each row of the data.

    Args:
        name: unique in the page, letters, digits and hyphens.
        points: what to draw; published numbers become hollow markers.
        title: what is shown, for readers that see no picture.
        xlabel: of the axis of numbers.
        fraction: whether the numbers lie in [0, 1].
        log: logarithmic axis (numbers of 0 are drawn at its left end).
        zero: draw a line at 0.
        order: series that come first, in this order.

    Returns:
        ``<svg ...>``; '' without points.

    Raises:
        ValueError: two points would be drawn at the same place.
    """
    if not points:
        return ''
    for place, count in Counter((p.row, p.series) for p in points).items():
        if count > 1:
            raise ValueError(f'{name}: {count} points are called {place}; they need other names')
    return as_svg(name, title, lambda: _dots(points, xlabel, fraction, log, zero, order), (
        f'{", ".join(filter(None, (p.row, p.series)))} {short_number(p.value)}'
        + (f' ({short_number(p.low)} to {short_number(p.high)})' if p.high > p.low else '')
        + (f', n {p.n}' if p.n else '')
        + (f', published {short_number(p.published)}' if p.published is not None else '')
        for p in points))


def _dots(points: Sequence[Dot], xlabel: str, fraction: bool, log: bool, zero: bool,
          order: Sequence[str]) -> Figure:
    rows, series = (list(dict.fromkeys(values)) for values in (
        (p.row for p in points),
        sorted((p.series for p in points),
               key=lambda one: order.index(one) if one in order else len(order))))
    names, tallest = row_names(rows)
    spread = min(0.26, 0.72 / len(series))
    height = max(0.16 + 0.115 * len(series), 0.05 + 0.145 * tallest)
    figure, axes = subplots(1, 1, 0.55 + height * len(rows) + 0.25 * bool(series[0]))
    axis = axes[0][0]
    least = min((p.value for p in points if p.value > 0), default=1.0) / 2 if log else -math.inf
    if zero:
        axis.axvline(0.0, color=INK, linewidth=0.8)
    for number, one in enumerate(series):
        found = [p for p in points if p.series == one]
        ys = [rows.index(p.row) + spread * (number - (len(series) - 1) / 2) for p in found]
        xs = [max(p.value, least) for p in found]
        axis.errorbar(
            xs, ys, fmt=_marker(number), color=colour_of(number), markersize=4.2, elinewidth=1,
            capsize=0, xerr=ends(xs, [max(p.low, least) for p in found],
                                  [p.high for p in found]))
        hollow = [(p.published, y - 0.5 * spread * (abs(p.published - p.value) < _HIDDEN))
                  for p, y in zip(found, ys, strict=True) if p.published is not None]
        if hollow:
            axis.plot(*zip(*hollow, strict=True), linestyle='', marker=_marker(number),
                      markersize=5.6, markerfacecolor='none',
                      markeredgecolor=colour_of(number), markeredgewidth=0.9)
    axis.set_xlabel(xlabel)
    if fraction:
        axis.set_xticks(*SHARES)
        axis.set_xlim(-0.02, 1.02)
    elif log:
        axis.set_xscale('log')
    for y in range(1, len(rows)):
        axis.axhline(y - 0.5, color=FAINT, linewidth=0.4, alpha=0.35)
    name_rows(axis, names)
    if log:
        _plain(axis.xaxis)
    handles = [_handle(colour_of(i), _marker(i), one) for i, one in enumerate(series) if one]
    if any(p.published is not None for p in points):
        handles.append(_handle(INK, 'o', 'published', hollow=True))
    if handles:
        figure.legend(handles=handles, loc='outside upper left', ncols=len(handles),
                      handletextpad=0.2, columnspacing=1.2)
    return figure


def curves(name: str, lines: Sequence[Curve], title: str, xlabel: str, ylabel: str,
           theory: str = 'theory', fraction: bool = True) -> str:
    """Curves with intervals, and theoretical curves as thin lines.

    The axis of the number is logarithmic where it spans more than a factor of 8.

    Args:
        name: unique in the page, letters, digits and hyphens.
        lines: what to draw.
        title: what is shown, for readers that see no picture.
        xlabel: of the number.
        ylabel: of the numbers.
        theory: what the thin lines are called.
        fraction: whether the numbers lie in [0, 1]; else each panel has an axis of its own.

    Returns:
        ``<svg ...>``; '' without a point.
    """
    lines = [line for line in lines if line.points]
    if not lines:
        return ''
    return as_svg(name, title, lambda: _curves(lines, xlabel, ylabel, theory, fraction), (
        f'{", ".join(filter(None, (line.panel, line.name)))}: ' + ', '.join(
            f'{short_number(y)} at {short_number(x)} (n {n})' for x, y, _, _, n in line.points)
        for line in lines))


def _curves(lines: Sequence[Curve], xlabel: str, ylabel: str, theory: str, fraction: bool,
            ) -> Figure:
    names = list(dict.fromkeys(line.name for line in lines))
    panels = list(dict.fromkeys(line.panel for line in lines))
    columns = min(2 if fraction and len(panels) < 5 else 3, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = subplots(rows, columns, 0.5 + 2.2 * rows + 0.6 * (rows == 1),
                           sharey=fraction)
    places = [_Places(lines, panel, len(names)) for panel in panels]
    for line in lines:
        place, number = panels.index(line.panel), names.index(line.name)
        axis, beside = axes[place // columns][place % columns], places[place].beside
        xs, ys, lows, highs, _ = zip(*line.points, strict=True)
        axis.errorbar([beside(x, number) for x in xs], ys, ends(ys, lows, highs),
                      marker=_marker(number), markersize=4.2, color=colour_of(number),
                      elinewidth=0.9, capsize=0, linestyle=LINES[number % len(LINES)])
        if line.model:
            axis.plot(*zip(*line.model, strict=True), color=colour_of(number), linewidth=0.7,
                      alpha=0.75)
    for place, axis in enumerate(axes.flat):
        if place >= len(panels):
            axis.set_axis_off()
            continue
        axis.set_title(panels[place], loc='left')
        if fraction:
            axis.set_ylim(-0.03, 1.03)
        if places[place].log:
            axis.set_xscale('log')
        axis.set_xlim(*places[place].limits)
        if places[place].log:
            _plain(axis.xaxis)
        axis.set_xlabel(xlabel)
        if not place % columns:
            axis.set_ylabel(ylabel)
    handles = [Line2D([], [], color=colour_of(i), marker=_marker(i), markersize=4.2,
                      linestyle=LINES[i % len(LINES)], label=name)
               for i, name in enumerate(names)]
    if any(line.model for line in lines):
        handles.append(Line2D([], [], color=INK, linewidth=0.7, label=theory))
    figure.legend(handles=handles, loc='outside upper left', ncols=min(4, len(handles)),
                  handlelength=3)
    return figure


class _Places:
    """Horizontal positions of points, shifted a little where several series share an x."""

    def __init__(self, lines: Sequence[Curve], panel: str, names: int) -> None:
        xs = [x for line in lines if line.panel == panel for x, *_ in line.points]
        low, high = min(xs), max(xs)
        self._middle = (names - 1) / 2
        self.log = low > 0 and high / low > _WIDE
        self._step = (high / low) ** _BESIDE if self.log else _BESIDE * (
            (high - low) or max(abs(high), 1.0))
        if not self.log and low < high:  # no point is drawn nearer to the next number
            found = sorted(set(xs))
            self._step = min(self._step, _APART / names * min(map(
                operator.sub, found[1:], found)))
        self.limits = (self.beside(low, -2), self.beside(high, names + 1))

    def beside(self, x: float, number: float) -> float:
        """The place of a point of the series of this number."""
        away = number - self._middle
        return x * self._step ** away if self.log else x + self._step * away


def reliabilities(name: str, panels: Sequence[tuple[str, Reliability]], title: str) -> str:
    """Reliability diagrams side by side, each with its numbers of probabilities below.

    Bins with fewer than 20 probabilities are drawn hollow.

    Args:
        name: unique in the page, letters, digits and hyphens.
        panels: title of each, and its numbers.
        title: what is shown, for readers that see no picture.

    Returns:
        ``<svg ...>``; '' without panels.
    """
    if not panels:
        return ''
    return as_svg(name, title, lambda: _reliabilities(panels), (
        f'{label}: expected calibration error {short_number(found.ece)} '
        f'({short_number(found.low)} to {short_number(found.high)}), n {found.n}'
        for label, found in panels))


def _reliabilities(panels: Sequence[tuple[str, Reliability]]) -> Figure:
    columns = min(4, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = subplots(2 * rows, columns, 2.65 * rows, width=max(2.4, 1.8 * columns),
                           sharex=True, height_ratios=[3, 1] * rows)
    for number, (label, found) in enumerate(panels):
        upper, lower = (axes[2 * (number // columns) + k][number % columns] for k in (0, 1))
        upper.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8)
        filled = [b for b in found.bins if b.n]
        for few, face in ((False, COLOURS[0]), (True, 'none')):
            chosen = [b for b in filled if (b.n < _LEAST_IN_BIN) == few]
            upper.plot([b.mean_p for b in chosen], [b.frequency for b in chosen], linestyle='',
                       marker='o', markersize=3.6, markeredgecolor=COLOURS[0],
                       markerfacecolor=face, markeredgewidth=0.9)
        enough = [b for b in filled if b.n >= _LEAST_IN_BIN]
        upper.plot([b.mean_p for b in enough], [b.frequency for b in enough], color=COLOURS[0],
                   linewidth=0.9)
        upper.set_title(f'{label}\nECE {found.ece:.3f}, n {found.n:,}', loc='left',
                        fontsize=SMALL)
        lower.stairs([max(b.n, 0.5) for b in found.bins],
                     [*(b.low for b in found.bins), 1.0], baseline=0.5, fill=True,
                     color=COLOURS[0], alpha=0.5)
        lower.set_yscale('log')
        _plain(lower.yaxis)
        for axis in (upper, lower):
            axis.set_xlim(-0.02, 1.02)
            axis.set_xticks([0, 0.5, 1], ['0', '.5', '1'])
        upper.set_ylim(-0.02, 1.02)
        upper.set_yticks([0, 0.5, 1], ['0', '.5', '1'])
        lower.set_xlabel('probability')
        lower.tick_params(labelbottom=True)
        if not number % columns:
            upper.set_ylabel('fraction that is true')
            lower.set_ylabel('n')
    for number in range(len(panels), rows * columns):
        for k in (0, 1):
            axes[2 * (number // columns) + k][number % columns].set_axis_off()
    return figure


def fractions(name: str, rows: Sequence[tuple[str, Mapping[str, int]]], title: str, xlabel: str,
           ) -> str:
    """Rows of counts, each as fractions of its sum: stacked bars, with the counts in them.

    Args:
        name: unique in the page, letters, digits and hyphens.
        rows: what each row is, and the counts of its parts; rows without any are left out.
        title: what is shown, for readers that see no picture.
        xlabel: of the axis of fractions.

    Returns:
        ``<svg ...>``; '' without a count.
    """
    rows = [(label, counts) for label, counts in rows if sum(counts.values())]
    if not rows:
        return ''
    return as_svg(name, title, lambda: _fractions(rows, xlabel), (
        f'{label} (n {sum(counts.values())}): ' + ', '.join(
            f'{part} {count}' for part, count in counts.items() if count)
        for label, counts in rows))


def _fractions(rows: Sequence[tuple[str, Mapping[str, int]]], xlabel: str) -> Figure:
    parts = list(dict.fromkeys(part for _, counts in rows for part in counts))
    legend = math.ceil(len(parts) / 3)
    names, tallest = row_names([
        f'{label} (n {sum(counts.values())})' for label, counts in rows])
    height = max(0.24, 0.05 + 0.145 * tallest)
    figure, axes = subplots(1, 1, 0.6 + height * len(rows) + 0.19 * legend)
    axis = axes[0][0]
    for y, (_, counts) in enumerate(rows):
        n, left = sum(counts.values()), 0.0
        for number, part in enumerate(parts):
            fraction = counts.get(part, 0) / n
            if not fraction:
                continue
            axis.barh(y, fraction, 0.68, left, color=colour_of(number), alpha=0.85,
                      hatch=hatch_of(number), edgecolor='white', linewidth=0.4)
            if fraction > 0.04:
                axis.text(left + fraction / 2, y, str(counts[part]), ha='center', va='center',
                          fontsize=SMALL, color='white', weight='bold', bbox={
                              'boxstyle': 'round,pad=0.15', 'linewidth': 0,
                              'facecolor': '#333333', 'alpha': 0.75})
            left += fraction
    name_rows(axis, names)
    axis.set_xlim(0, 1)
    axis.set_xticks(*SHARES)
    axis.set_xlabel(xlabel)
    figure.legend(handles=[
        Patch(facecolor=colour_of(i), alpha=0.85, hatch=hatch_of(i), edgecolor='white',
              label=part) for i, part in enumerate(parts)],
        loc='outside upper left', ncols=min(3, len(parts)), handlelength=2.2)
    return figure


def colour_of(number: int) -> str:
    """The colour of a series or part, by its number."""
    return COLOURS[number % len(COLOURS)]


def _marker(number: int) -> str:
    return MARKERS[number % len(MARKERS)]


def hatch_of(number: int) -> str:
    """Parts that share a colour have different hatches."""
    return HATCHES[(number + number // len(COLOURS)) % len(HATCHES)]


def subplots(rows: int, columns: int, height: float, width: float = 7.2, **more: Any,
             ) -> tuple[Figure, Any]:
    """A figure of rows x columns axes, (rows, columns); height and width in inches."""
    figure = Figure(figsize=(width, height), layout='constrained')
    return figure, figure.subplots(rows, columns, squeeze=False, **more)


def row_names(labels: Sequence[str]) -> tuple[list[str], int]:
    """Labels broken into lines that leave room for the plot, and the largest number of lines.

    What does not fit into some lines is cut in the middle, unless two would look alike then.
    """
    def folded(label: str, most: int = 1000) -> list[str]:
        lines = textwrap.wrap(label, _MOST_ROW, break_on_hyphens=False) or ['']
        half = most // 2
        return lines if len(lines) <= most else [*lines[:half], f'… {lines[-half]}',
                                                 *lines[len(lines) - half + 1:]]
    found = ['\n'.join(folded(label, _MOST_LINES)) for label in labels]
    if len(set(found)) < len(set(labels)):
        found = ['\n'.join(folded(label)) for label in labels]
    return found, max((name.count('\n') + 1 for name in found), default=1)


def _plain(axis: Any) -> None:
    """Numbers of a logarithmic axis as they are spoken; powers of ten need formulas."""
    low, high = axis.get_view_interval()
    if high / low < 100:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f'{x:g}'))
    axis.set_minor_formatter(NullFormatter())


def ends(values: Sequence[float], lows: Sequence[float], highs: Sequence[float],
          ) -> list[list[float]]:
    """Lengths of intervals below and above their values."""
    return [[max(0.0, value - low) for value, low in zip(values, lows, strict=True)],
            [max(0.0, high - value) for value, high in zip(values, highs, strict=True)]]


def name_rows(axis: Any, names: Sequence[str]) -> None:
    """Rows from the top, with their names beside them."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(axis='y', visible=False)
    axis.tick_params(axis='y', length=0)


def _handle(colour: str, marker: str, label: str, hollow: bool = False) -> Line2D:
    return Line2D([], [], linestyle='', marker=marker, markersize=5.6 if hollow else 4.2,
                  markeredgecolor=colour, markerfacecolor='none' if hollow else colour,
                  markeredgewidth=0.9, label=label)


def short_number(value: float) -> str:
    """A number in few digits."""
    if value != value:
        return 'unknown'
    return f'{value:.3g}' if abs(value) >= 1000 or not value else f'{value:.4g}' if abs(
        value) >= 1 else f'{value:.2f}' if abs(value) >= 0.005 else f'{value:.1g}'


def as_svg(name: str, title: str, draw: Callable[[], Figure], gist: Iterable[str]) -> str:
    """A figure as an element of HTML.

    Args:
        name: unique in the page.
        title: what is shown.
        draw: makes the figure.
        gist: the numbers, in words.
    """
    if not re.fullmatch(r'[A-Za-z][A-Za-z0-9-]*', name):
        raise ValueError(f'{name!r}: a plot is named by letters, digits and hyphens')
    buffer = io.StringIO()
    with matplotlib.rc_context({**_STYLE, 'svg.hashsalt': name}):
        draw().savefig(buffer, format='svg', metadata=dict.fromkeys(
            ('Date', 'Creator', 'Format', 'Type')))
    text = buffer.getvalue()
    text = text[text.index('<svg'):]
    text = re.sub(r'<metadata>.*?</metadata>|<!--.*?-->', '', text, flags=re.DOTALL)
    used = set(_REFERENCE.findall(text))
    text = re.sub(r' id="([^"]*)"', lambda match: (
        f' id="{name}-{match[1]}"' if match[1] in used else ''), text)
    text = _REFERENCE.sub(lambda match: match[0].replace(f'#{match[1]}', f'#{name}-{match[1]}'),
                          text)
    text = text.replace(INK, 'currentColor')
    text = re.sub(r'font-family: [^;"]*;? ?', '', text)
    # The short form, size and families in one.
    text = re.sub(r'font: ([^;"]*?)(\d[\d.]*px) [^;"]*', r'font-size: \2', text)
    head, _, rest = re.sub(r'\s*\n\s*', '\n', text).partition('>')
    attributes = dict(re.findall(r'(width|viewBox)="([^"]+)"', head))
    # Points of print become pixels of CSS.
    width = float(attributes['width'].removesuffix('pt')) * 4 / 3
    label = f'{title}: {"; ".join(gist)}'
    if len(label) > _MOST_LABEL:
        label = label[:_MOST_LABEL].rsplit(';', 1)[0] + '; and more'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
            f'class="plot" role="img" aria-label={quoteattr(label)} '
            f'viewBox="{attributes["viewBox"]}" style="width:{width:.0f}px">{rest.rstrip()}')
