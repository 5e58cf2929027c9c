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

INKS: tuple[tuple[int, int, int], ...] = (
    (214, 30, 30), (20, 84, 200), (0, 122, 60), (140, 40, 160), (190, 96, 0), (0, 118, 130))
"""Colours of boxes and name plates, by the number in the name: a thing keeps its colour."""

_SHIFT = 4
_FINE = 4
_HEIGHT = 1 / 25  # height of a name plate, as a fraction of the picture's height
_STEP = 6  # px between places that are tried for a plate
_MOST_COVERED = 0.12
"""Fraction of a named object that plates and lines may cover together, if there is room."""
_MOST_TRIED = 200  # best places for a plate whose lines are looked at
_MOST_WORSE = 1000.0  # by cost, which is less than that of lying on another plate

Plate = tuple[float, float, float, float]
"""Corners x0, y0, x1, y1 of a name plate [px]."""


@dataclass(frozen=True, eq=False)
class LabelledBox:
    """An object's name and its outline in the picture.

    Attributes:
        name: written on its plate.
        outline: (N, 2) corners of its hull or rectangle in turn [px]; may leave the picture.
    """

    name: str
    outline: Floats


def draw_labels(rgb: NDArray[np.uint8], boxes: Sequence[LabelledBox]) -> NDArray[np.uint8]:
    """Outline some objects and write their names beside them.

    Plates are where ``place_plates`` puts them. A line leads from each to its object.

    Args:
        rgb: (H, W, 3) uint8; stays as it is.
        boxes: what to name; order decides who chooses a place first.

    Returns:
        (H, W, 3) uint8, a new picture.
    """
    out = rgb.copy()
    if not boxes:
        return out
    height, width = rgb.shape[:2]
    outlines = [np.asarray(box.outline, dtype=np.float64) for box in boxes]
    areas = [_bounds(outline, width, height) for outline in outlines]
    plates = place_plates(boxes, width, height)
    thick = _thickness(height)
    inks = [INKS[_turn(box.name) % len(INKS)] for box in boxes]
    for outline, ink in zip(outlines, inks, strict=True):
        line = np.round(np.clip(outline, -width, 2 * width) * 2**_SHIFT).astype(np.int32)
        cv2.polylines(out, [line], True, ink, thick, cv2.LINE_AA, _SHIFT)
    for area, plate, ink in zip(areas, plates, inks, strict=True):
        ends = np.round(np.array(_leader(area, plate)) * 2**_SHIFT).astype(np.int32)
        cv2.polylines(out, [ends], False, ink, thick, cv2.LINE_AA, _SHIFT)
    for box, plate, ink in zip(boxes, plates, inks, strict=True):
        x0, y0, x1, y1 = (int(v) for v in plate)
        window = out[y0:y1, x0:x1]
        cover = _lettering(box.name, x1 - x0, y1 - y0)[:, :, None]
        window[:] = np.round(np.array(ink) * (1 - cover) + 255 * cover).astype(np.uint8)
    return out


def place_plates(boxes: Sequence[LabelledBox], width: int, height: int) -> list[Plate]:
    """Return the places of the name plates of some objects in a picture, in their order.

    Plates stay in the picture, and as long as there is room they do not cover one another, and
    together no more than ``_MOST_COVERED`` of any of the objects. They are near their objects.

    Args:
        boxes: what to name; order decides who chooses a place first.
        width: of the picture [px].
        height: of the picture [px].
    """
    areas = [_bounds(np.asarray(box.outline, dtype=np.float64), width, height) for box in boxes]
    hulls = [_Hull.of(box, width, height) for box in boxes]
    plates: list[Plate] = []
    covered = np.zeros(len(hulls))
    tall, thick = max(13, round(height * _HEIGHT)), _thickness(height)
    for box, area in zip(boxes, areas, strict=True):
        wide = min(width, round(tall * text_aspect(box.name)) + 4)
        places = _places(wide, tall, area, areas, hulls, covered, plates, width, height)
        plate, covered = _clearest(places, area, hulls, covered, thick)
        plates.append(plate)
    return plates


def _thickness(height: int) -> int:
    """Return the thickness of lines in a picture [px]."""
    return max(1, round(height / 240))


@dataclass(frozen=True, eq=False)
class _Hull:
    """The part of an object's outline that lies in the picture.

    Attributes:
        mask: (H, W), 1 in it.
        sums: (H + 1, W + 1) numbers of its pixels above and to the left.
        pixels: number of its pixels, at least 1.
    """

    mask: NDArray[np.uint8]
    sums: NDArray[np.int32]
    pixels: int

    @classmethod
    def of(cls, box: LabelledBox, width: int, height: int) -> _Hull:
        """Return the hull of a box in a picture of this size."""
        mask = np.zeros((height, width), np.uint8)
        corners = np.clip(np.round(box.outline), -width - height, 2 * (width + height))
        cv2.fillConvexPoly(mask, corners.astype(np.int32), 1)
        sums = np.asarray(cv2.integral(mask), np.int32)
        return cls(mask, sums, max(1, int(sums[-1, -1])))

    def covered(self, x0: NDArray[np.int64] | int, y0: NDArray[np.int64] | int,
                x1: NDArray[np.int64] | int, y1: NDArray[np.int64] | int) -> Floats:
        """Return the fraction of it in rectangles."""
        sums = self.sums
        inside = sums[y1, x1] - sums[y0, x1] - sums[y1, x0] + sums[y0, x0]
        return np.asarray(inside / self.pixels, dtype=np.float64)

    def crossed(self, line: Sequence[tuple[float, float]], thick: int) -> float:
        """Return the fraction of it that a line of some thickness [px] covers, about."""
        ends = np.array(line)
        count = int(np.abs(ends[1] - ends[0]).max()) + 1
        points = np.linspace(ends[0], ends[1], count).round().astype(int)
        height, width = self.mask.shape
        x, y = np.clip(points[:, 0], 0, width - 1), np.clip(points[:, 1], 0, height - 1)
        return float(self.mask[y, x].sum()) * thick / self.pixels


def _lettering(text: str, width: int, height: int) -> NDArray[np.float32]:
    """(height, width) coverage in [0, 1], drawn large and made small, so that lines stay thin."""
    large = letter_plate(text, width / height, _FINE * height)
    small = cv2.resize(large, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small / np.float32(255), np.float32)


def _turn(name: str) -> int:
    """Index of a name's colour: 0 for bowl_1, 1 for bowl_2, 0 for a name without number."""
    number = re.search(r'(\d+)$', name)
    return max(0, int(number[1]) - 1) if number else 0


def _bounds(outline: Floats, width: int, height: int) -> tuple[float, float, float, float]:
    """Corners x0, y0, x1, y1 [px] of the part of an outline that lies in the picture."""
    (x0, y0), (x1, y1) = outline.min(axis=0), outline.max(axis=0)
    return (float(np.clip(x0, 0, width - 1)), float(np.clip(y0, 0, height - 1)),
            float(np.clip(x1, 0, width - 1)), float(np.clip(y1, 0, height - 1)))


def _places(wide: int, tall: int, area: tuple[float, ...], areas: Sequence[tuple[float, ...]],
            hulls: Sequence[_Hull], covered: Floats, taken: Sequence[Plate], width: int,
            height: int) -> list[Plate]:
    """The best places for a plate, best first: near its object, on no plate, on few objects.

    Args:
        wide: width of the plate [px].
        tall: its height [px].
        area: bounds of its object.
        areas: bounds of all objects.
        hulls: of all objects.
        covered: fraction of each that is covered already.
        taken: plates that have their places.
        width: of the picture [px].
        height: of the picture [px].
    """
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
    for other in areas:
        cost = cost + 60.0 * _overlap(x, y, wide, tall, other) / (wide * tall)
    for hull, before in zip(hulls, covered, strict=True):
        excess = before + hull.covered(x, y, x + wide, y + tall) - _MOST_COVERED
        cost = cost + 1e5 * np.maximum(excess, 0.0)
    for plate in taken:
        grown = (plate[0] - 2, plate[1] - 2, plate[2] + 2, plate[3] + 2)
        cost = cost + 1e4 * _overlap(x, y, wide, tall, grown)
    best = np.argsort(cost, kind='stable')[:_MOST_TRIED]
    best = best[cost[best] < cost[best[0]] + _MOST_WORSE]
    return [(float(left), float(top), float(left + wide), float(top + tall))
            for left, top in zip(x[best], y[best], strict=True)]


def _clearest(places: Sequence[Plate], area: tuple[float, float, float, float],
              hulls: Sequence[_Hull], covered: Floats, thick: int) -> tuple[Plate, Floats]:
    """Return the first place where plate and line cover little, or where they cover least.

    Args:
        places: places for the plate, best first.
        area: bounds of its object.
        hulls: of all objects.
        covered: fraction of each that is covered already.
        thick: thickness of the line [px].

    Returns:
        the place, and the fraction of each object that is covered then.
    """
    found: list[tuple[Plate, Floats]] = []
    for plate in places:
        line = _leader(area, plate)
        after = covered + np.array([float(hull.covered(*map(int, plate)))
                                    + hull.crossed(line, thick) for hull in hulls])
        found.append((plate, after))
        if after.max() <= _MOST_COVERED:
            return plate, after
    return min(found, key=lambda one: float(one[1].max()))


def _overlap(x: NDArray[np.int64], y: NDArray[np.int64], wide: int, tall: int,
             area: tuple[float, ...]) -> Floats:
    """Area that rectangles at x, y share with another [px^2]."""
    across = np.minimum(x + wide, area[2]) - np.maximum(x, area[0])
    along = np.minimum(y + tall, area[3]) - np.maximum(y, area[1])
    return np.asarray(np.maximum(across, 0.0) * np.maximum(along, 0.0), dtype=np.float64)


def _leader(area: tuple[float, float, float, float], plate: tuple[float, float, float, float],
            ) -> list[tuple[float, float]]:
    """Line from a plate to its object, between the points where they are nearest."""
    ends = []
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
