"""Markers of compared paths for RViz and other viewers.

Each path is a line in the namespace ``paths`` and a text in ``labels``, with its index in the
request as the id of both. The best path, and every path tied with it, is blue and the thickest; a
path that is out is red and the thinnest, its text says why, and a red dot in ``out`` marks each
place where it breaks something. Areas that paths must keep out of are brown outlines in
``keep_out`` with their names in ``area_names``. The first marker of an array removes all of the
array before it, so that nothing is left of an earlier comparison with more paths.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Vector3
from numpy.typing import NDArray
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker, MarkerArray

from sightplan_suites.paths.areas import Area
from sightplan_suites.paths.critic import Critique

_Colour = tuple[float, float, float, float]
_BEST, _OTHER, _OUT = (0.0, 0.45, 0.7, 1.0), (0.35, 0.35, 0.35, 0.6), (0.8, 0.1, 0.1, 0.5)
_AREA = (0.63, 0.32, 0.18, 0.8)
_LINE_CELLS = {_BEST: 2.0, _OTHER: 1.0, _OUT: 0.5, _AREA: 1.0}
"""Width of lines by their colour [cells]."""
_LETTER_CELLS, _LETTERS_ACROSS = 3.0, 45.0
"""Letters are so many cells high, or as high as this part of the paths' extent if that is more."""
_LINE_LETTERS = 30
"""Letters in a line of a text."""


def path_markers(frame: str, paths: Sequence[NDArray[np.float64]], found: Critique,
                 areas: Sequence[Area], cell: float) -> MarkerArray:
    """Markers of a comparison on a map.

    They bear no time, so that a viewer with another fixed frame uses the newest transform: they
    are latched, and their transform at the time of the map may be forgotten when it joins.

    Args:
        frame: of the map and the paths.
        paths: (N, 2) each [m].
        found: the comparison.
        areas: that paths must keep out of.
        cell: edge of a cell of the map [m].
    """
    extent = float(np.ptp(np.vstack(paths), axis=0).max())
    letter = max(_LETTER_CELLS * cell, extent / _LETTERS_ACROSS)
    draw = _Drawing(Header(frame_id=frame), cell, letter)
    marked = found.tied or found.ranking[:1]
    for number, path in enumerate(paths):
        out = number in found.out
        colour = _OUT if out else _BEST if number in marked else _OTHER
        draw.line('paths', number, path, colour)
        text = '\n'.join(textwrap.wrap(_label(number, found), _LINE_LETTERS))
        aside = letter * (1.5 + text.count('\n')) / 1.5
        draw.text('labels', number, _label_place(path, cell, aside), text, colour)
    places = [each.at for one in found.exclusions for each in one if each.at is not None]
    for number, place in enumerate(places):
        draw.dot('out', number, place, _OUT)
    outlines = ((area.name, polygon) for area in areas for polygon in area.polygons)
    for number, (name, polygon) in enumerate(outlines):
        corners = np.array(polygon)
        draw.line('keep_out', number, np.vstack([corners, corners[:1]]), _AREA)
        draw.text('area_names', number, corners.mean(axis=0), name, _AREA)
    return MarkerArray(markers=draw.markers)


class _Drawing:
    """Collects markers; the first one removes those of earlier drawings."""

    def __init__(self, header: Header, cell: float, letter: float) -> None:
        self._header, self._cell, self._letter = header, cell, letter
        self.markers = [Marker(header=header, action=Marker.DELETEALL)]

    def line(self, namespace: str, number: int, points: NDArray[np.float64],
             colour: _Colour) -> None:
        line = self._add(namespace, number, Marker.LINE_STRIP, colour)
        line.points = [Point(x=float(x), y=float(y)) for x, y in points]
        line.scale.x = _LINE_CELLS[colour] * self._cell

    def text(self, namespace: str, number: int, place: Sequence[float] | NDArray[np.float64],
             text: str, colour: _Colour) -> None:
        marker = self._add(namespace, number, Marker.TEXT_VIEW_FACING, (*colour[:3], 1.0), place)
        marker.text, marker.scale = text, Vector3(z=self._letter)

    def dot(self, namespace: str, number: int, place: Sequence[float],
            colour: _Colour) -> None:
        size = self._letter
        marker = self._add(namespace, number, Marker.SPHERE, colour, place)
        marker.scale = Vector3(x=size, y=size, z=size)

    def _add(self, namespace: str, number: int, kind: int, colour: _Colour,
             place: Any = (0.0, 0.0)) -> Marker:
        red, green, blue, opacity = colour
        marker = Marker(header=self._header, ns=namespace, id=number, type=kind,
                        action=Marker.ADD, color=ColorRGBA(r=red, g=green, b=blue, a=opacity))
        marker.pose.position.x, marker.pose.position.y = map(float, place)
        marker.pose.orientation.w = 1.0
        self.markers.append(marker)
        return marker


def _label_place(path: NDArray[np.float64], cell: float, aside: float) -> NDArray[np.float64]:
    """A place beside where a path is farthest from the straight line to its end.

    There, unlike at the ends, paths with the same start and goal are apart.

    Args:
        path: (N, 2) [m]; of a straight one, the place is beside its middle.
        cell: a path is straight that comes no farther from the line [m].
        aside: distance of the place from the path [m].
    """
    along, steps = path[-1] - path[0], path - path[0]
    across = np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0)
    away = steps @ across
    farthest = int(np.argmax(abs(away)))
    if abs(away[farthest]) > cell:
        place, side = path[farthest], np.sign(away[farthest])
    else:
        place, side = (path[0] + path[-1]) / 2, 1.0
    beside: NDArray[np.float64] = place + aside * side * across
    return beside


def _label(number: int, found: Critique) -> str:
    """The number of a path from 1, and its probability to be the best, or why it is out."""
    if number in found.out:
        reasons = [each.words for each in found.exclusions[number]]
        more = f' (and {len(reasons) - 1} more)' if len(reasons) > 1 else ''
        return f'{number + 1}: out: {reasons[0]}{more}'
    return f'{number + 1}: {found.best[number]:.2f}{" (tied)" if number in found.tied else ""}'
