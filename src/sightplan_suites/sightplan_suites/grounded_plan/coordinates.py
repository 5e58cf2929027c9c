"""Boxes and points in five conventions, converted once to unit coordinates (``model.Region``).

Unlike ``queries.coordinates``, which refuses numbers that cannot be meant as declared, nothing is
refused or clipped here: a box of a plan may reach beyond the picture, and is scored as it is.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

from sightplan.model.region import Form, Point, Region

Size = tuple[int, int]
"""Width and height in pixels."""
Box = tuple[float, float, float, float]
"""x1, y1, x2, y2 in unit coordinates, not necessarily in order."""

_TIDY = 1e-12


class Coords(enum.StrEnum):
    """Conventions by which four numbers form a box, and two numbers a point.

    ``permille_yxyx`` has y first, in boxes and points; ``pixel_xywh`` has the top left corner,
    width and height of a box.
    """

    PIXEL_XYXY = 'pixel_xyxy'
    UNIT_XYXY = 'unit_xyxy'
    PERMILLE_XYXY = 'permille_xyxy'
    PERMILLE_YXYX = 'permille_yxyx'
    PIXEL_XYWH = 'pixel_xywh'

    @property
    def y_first(self) -> bool:
        """Whether y comes before x."""
        return self is Coords.PERMILLE_YXYX

    def scale(self, size: Size) -> tuple[float, float]:
        """Coordinates of a picture's right and lower edge."""
        if self in (Coords.PIXEL_XYXY, Coords.PIXEL_XYWH):
            return size
        edge = 1.0 if self is Coords.UNIT_XYXY else 1000.0
        return edge, edge

    def words(self, size: Size) -> str:
        """Description of the convention for a model's prompt."""
        width, height = size
        pixels = f'in pixels of the picture, which is {width} wide and {height} high'
        of = {
            Coords.PIXEL_XYXY: pixels, Coords.PIXEL_XYWH: pixels,
            Coords.UNIT_XYXY: "as fractions of the picture's width and height, from 0 to 1",
        }.get(self, "in thousandths of the picture's width and height, from 0 to 1000")
        box, point = {
            Coords.PERMILLE_YXYX: ('[y1, x1, y2, x2]', '[y, x]'),
            Coords.PIXEL_XYWH: ('[x, y, width, height] with x, y the top left corner', '[x, y]'),
        }.get(self, ('[x1, y1, x2, y2]', '[x, y]'))
        return (f'A box is {box}, a point is {point}, {of}; x goes to the right and y goes down '
                'from the top left corner.')


def numbers_of(value: Any, count: int) -> tuple[float, ...] | None:
    """Return ``count`` finite numbers; None if the value is anything else."""
    if not isinstance(value, (list, tuple)) or len(value) != count or not all(
            isinstance(number, (int, float)) and not isinstance(number, bool)
            for number in value):
        return None
    try:
        found = tuple(map(float, value))
    except OverflowError:
        return None
    return found if all(map(math.isfinite, found)) else None


def point_to_unit(numbers: Sequence[float], coords: Coords, size: Size) -> Point:
    """A point in unit coordinates."""
    x, y = (numbers[1], numbers[0]) if coords.y_first else (numbers[0], numbers[1])
    width, height = coords.scale(size)
    return x / width, y / height


def box_to_unit(numbers: Sequence[float], coords: Coords, size: Size) -> Box:
    """A box in unit coordinates: the corners as they were named, in order or not."""
    first, last = numbers[:2], numbers[2:]
    if coords is Coords.PIXEL_XYWH:
        last = (first[0] + last[0], first[1] + last[1])
    return (*point_to_unit(first, coords, size), *point_to_unit(last, coords, size))


def point_from_unit(point: Point, coords: Coords, size: Size) -> list[float]:
    """A point as numbers of a convention; the inverse of ``point_to_unit``."""
    width, height = coords.scale(size)
    x, y = _tidy(point[0] * width), _tidy(point[1] * height)
    return [y, x] if coords.y_first else [x, y]


def box_from_unit(box: Box, coords: Coords, size: Size) -> list[float]:
    """A box as numbers of a convention; the inverse of ``box_to_unit``."""
    first, last = (point_from_unit(corner, coords, size) for corner in (box[:2], box[2:]))
    if coords is Coords.PIXEL_XYWH:
        last = [_tidy(last[0] - first[0]), _tidy(last[1] - first[1])]
    return [*first, *last]


def box_region(box: Box) -> Region:
    """A box as a region."""
    return Region(Form.BOX, (box[:2], box[2:]))


def box_of(region: Region) -> Box:
    """The corners of a region that is a box."""
    (x1, y1), (x2, y2) = region.points
    return x1, y1, x2, y2


def _tidy(number: float) -> float:
    """Drop last digits that only come from rounding; 410.0 becomes a whole number."""
    short = round(float(number), 6)
    if abs(short - number) > _TIDY * max(1.0, abs(number)):
        return number
    return int(short) if short.is_integer() else short
