"""Boxes with names around objects, drawn into a picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.lettering import letter_plate, text_aspect

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Plate = tuple[int, int, int, int]

INKS: tuple[tuple[int, int, int], ...] = (
    (214, 30, 30), (20, 84, 200), (0, 122, 60), (140, 40, 160), (190, 96, 0), (0, 118, 130))
"""Colours of boxes and name plates, by the number in the name: a thing keeps its colour."""

_SHIFT = 4
_FINE = 4
_HEIGHT = 1 / 25  # height of a name plate, as a fraction of the picture's height
_STEP = 6  # px between places that are tried for a plate
_GAP = 1.5  # px between an object and the line around it
_SMALL = 0.02  # of the picture: lines run behind things that are smaller
_MOST_COVERED = 0.1
"""Fraction of a thing that all plates together cover at most, where there is any other room."""


@dataclass(frozen=True, eq=False)
class LabelledBox:
    """An object's name and its outline in the picture.

    Attributes:
        name: written on its plate.
        outline: (N, 2) corners of its hull or rectangle in turn [px]; may leave the picture.
    """

    name: str
    outline: Floats


def draw_labels(rgb: NDArray[np.uint8], boxes: Sequence[LabelledBox],
                others: Sequence[Floats] = ()) -> NDArray[np.uint8]:
    """Draw lines around some objects and write their names beside them.

    The lines run just outside of the objects, along the edge of the picture where one ends there,
    and behind small things. Plates stay in the picture and do not cover one another as long as
    there is room. They keep off what is in view if they can, and off small things first: of none
    they cover more than a tenth as long as there is room. A line leads from each to its object.

    Args:
        rgb: (H, W, 3) uint8; stays as it is.
        boxes: what to name; order decides who chooses a place first.
        others: outlines of other things in view, as in ``LabelledBox``.

    Returns:
        (H, W, 3) uint8, a new picture.
    """
    out = rgb.copy()
    if not boxes:
        return out
    height, width = rgb.shape[:2]
    things = _things(boxes, others, width, height)
    plates = _plates(boxes, things, width, height)
    inks = [INKS[_turn(box.name) % len(INKS)] for box in boxes]
    thick = max(1, round(height / 240))
    for thing, plate, ink in zip(things, plates, inks, strict=False):
        around = np.clip(thing.grown(thick / 2 + _GAP), (0, 0), (width - 1, height - 1))
        for line, closed in ((around, True), (np.array(_leader(thing.bounds, plate)), False)):
            cv2.polylines(out, [np.round(line * 2**_SHIFT).astype(np.int32)], closed, ink, thick,
                          cv2.LINE_AA, _SHIFT)
    for thing in things:
        if thing.pixels < _SMALL * height * width:
            out[thing.inside] = rgb[thing.inside]
    for box, (x0, y0, x1, y1), ink in zip(boxes, plates, inks, strict=True):
        cover = _lettering(box.name, x1 - x0, y1 - y0)[:, :, None]
        out[y0:y1, x0:x1] = np.round(np.array(ink) * (1 - cover) + 255 * cover).astype(np.uint8)
    return out


def _things(boxes: Sequence[LabelledBox], others: Sequence[Floats], width: int, height: int,
            ) -> list[_Thing]:
    """Everything in view: what is named, in its order, and then the others."""
    return [_Thing(outline, width, height)
            for outline in (*(box.outline for box in boxes), *others)]


def _plates(boxes: Sequence[LabelledBox], things: Sequence[_Thing], width: int, height: int,
            ) -> list[Plate]:
    plates: list[Plate] = []
    tall = max(13, round(height * _HEIGHT))
    for box, thing in zip(boxes, things, strict=False):
        wide = min(width, round(tall * text_aspect(box.name)) + 4)
        plates.append(_place(wide, tall, thing.bounds, things, plates, width, height))
    return plates


def _lettering(text: str, width: int, height: int) -> NDArray[np.float32]:
    """(height, width) coverage in [0, 1], drawn large and made small, so that lines stay thin."""
    large = letter_plate(text, width / height, _FINE * height)
    small = cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small / np.float32(255), np.float32)


def _turn(name: str) -> int:
    """Index of a name's colour: 0 for bowl_1, 1 for bowl_2, 0 for a name without number."""
    number = re.search(r'(\d+)$', name)
    return max(0, int(number[1]) - 1) if number else 0


class _Thing:
    """An outline in a picture.

    Attributes:
        inside: (H, W) bool: pixels inside.
        pixels: their number, at least 1.
        bounds: x0, y0, x1, y1 [px] of the part that lies in the picture.
    """

    def __init__(self, outline: Floats, width: int, height: int) -> None:
        self._outline = np.clip(np.asarray(outline, np.float64), -width, 2 * width)
        filled = np.zeros((height, width), np.uint8)
        cv2.fillPoly(filled, [np.round(self._outline).astype(np.int32)], 1)
        self.inside = filled.astype(bool)
        self._sums = cv2.integral(filled)
        self.pixels = max(1, int(self._sums[-1, -1]))
        corners = np.clip(outline, (0, 0), (width - 1, height - 1))
        (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
        self.bounds = float(x0), float(y0), float(x1), float(y1)

    def grown(self, by: float) -> Floats:
        """(N, 2) corners of a convex outline around it, so far outside on all sides [px]."""
        corners = np.array([(-by, -by), (by, -by), (by, by), (-by, by)])
        hull = cv2.convexHull((self._outline[:, None] + corners).reshape(-1, 2).astype(np.float32))
        return np.asarray(hull[:, 0], dtype=np.float64)

    def within(self, x: Ints, y: Ints, wide: int, tall: int) -> Ints:
        """Number of its pixels in rectangles whose upper left corners are at x, y."""
        sums = self._sums
        return np.asarray(sums[y + tall, x + wide] - sums[y, x + wide] - sums[y + tall, x]
                          + sums[y, x], dtype=np.int64)

    def covered(self, plate: Plate) -> int:
        """Number of its pixels on which a plate lies."""
        x0, y0, x1, y1 = plate
        return int(self.within(np.array(x0), np.array(y0), x1 - x0, y1 - y0))


def _place(wide: int, tall: int, area: tuple[float, ...], things: Sequence[_Thing],
           taken: Sequence[Plate], width: int, height: int) -> Plate:
    """The best place for a plate: near its object, on no plate, on few objects."""
    xs = np.unique(np.clip([*range(0, width, _STEP), area[0], (area[0] + area[2] - wide) / 2],
                           0, max(0, width - wide)).astype(int))
    ys = np.unique(np.clip([*range(0, height, _STEP), area[1] - tall - 5, area[3] + 5],
                           0, max(0, height - tall)).astype(int))
    x, y = (grid.ravel() for grid in np.meshgrid(xs, ys))
    away = (np.maximum(np.maximum(area[0] - (x + wide), x - area[2]), 0)
            + np.maximum(np.maximum(area[1] - (y + tall), y - area[3]), 0))
    off = np.abs(x + wide / 2 - (area[0] + area[2]) / 2) * 0.15
    below = 4.0 * (y > area[1])
    cost = away + off + below
    for thing in things:
        covered = thing.within(x, y, wide, tall)
        share = (covered + sum(map(thing.covered, taken))) / thing.pixels
        cost = cost + 60.0 * covered / (wide * tall) + np.where(
            (covered > 0) & (share > _MOST_COVERED), 1e4 * share, 0.0)
    for plate in taken:
        grown = (plate[0] - 2, plate[1] - 2, plate[2] + 2, plate[3] + 2)
        cost = cost + 1e4 * _overlap(x, y, wide, tall, grown)
    best = int(np.argmin(cost))
    left, top = int(x[best]), int(y[best])
    return left, top, left + wide, top + tall


def _overlap(x: Ints, y: Ints, wide: int, tall: int, area: tuple[float, ...]) -> Floats:
    """Area that rectangles at x, y share with another [px^2]."""
    across = np.minimum(x + wide, area[2]) - np.maximum(x, area[0])
    along = np.minimum(y + tall, area[3]) - np.maximum(y, area[1])
    return np.asarray(np.maximum(across, 0.0) * np.maximum(along, 0.0), dtype=np.float64)


def _leader(area: tuple[float, float, float, float], plate: Plate,
            ) -> list[tuple[float, float]]:
    """Line from a plate to its object, between the points where they are nearest."""
    ends: list[tuple[float, float]] = []
    for low, high, first, last in ((area[0], area[2], plate[0], plate[2]),
                                   (area[1], area[3], plate[1], plate[3])):
        if last < low:
            ends.append((last, low))
        elif first > high:
            ends.append((first, high))
        else:
            middle = (max(low, first) + min(high, last)) / 2
            ends.append((middle, middle))
    (px, ox), (py, oy) = ends
    return [(px, py), (ox, oy)]
