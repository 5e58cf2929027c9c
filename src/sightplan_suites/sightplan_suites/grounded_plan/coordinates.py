"""Boxes in five conventions of four numbers, as unit coordinates and back.

Unit and order are those of points (``queries.coordinates``).

No number is refused by itself or clipped: a box of a plan may reach beyond the picture, and is
scored as it is. What a whole plan's numbers cannot be is ``doubtful``, as in
``queries.coordinates``.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

from sightplan.model.region import Form, Point, Region
from sightplan.queries.coordinates import Coordinates, Size, from_unit, scale, unchecked_unit

Box = tuple[float, float, float, float]
"""x1, y1, x2, y2 in unit coordinates, not necessarily in order."""

_TIDY = 1e-12
_BEYOND = 0.1
"""Fraction of the picture by which numbers that are meant as declared do not reach beyond it."""


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
    def of_points(self) -> Coordinates:
        """The same convention of points, which says unit and order."""
        return _OF_POINTS[self]

    @property
    def y_first(self) -> bool:
        """Whether y comes before x."""
        return self.of_points.y_first

    def scale(self, size: Size) -> tuple[float, float]:
        """Coordinates of a picture's right and lower edge."""
        return scale(self.of_points, size)

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


_OF_POINTS = {
    Coords.PIXEL_XYXY: Coordinates.PIXEL_XY, Coords.PIXEL_XYWH: Coordinates.PIXEL_XY,
    Coords.UNIT_XYXY: Coordinates.UNIT_XY, Coords.PERMILLE_XYXY: Coordinates.PERMILLE_XY,
    Coords.PERMILLE_YXYX: Coordinates.PERMILLE_YX}

_NAMES = {'pascal_voc': Coords.PIXEL_XYXY, 'voc': Coords.PIXEL_XYXY, 'coco': Coords.PIXEL_XYWH,
          'albumentations': Coords.UNIT_XYXY, 'gemini': Coords.PERMILLE_YXYX}
"""Conventions by the names of formats that say unit and order."""


def named_coords(said: Any) -> Coords:
    """The convention of a name: one of ``Coords``, or of a format that is just that one.

    Raises:
        ValueError: there is none; names those that there are.
    """
    name = said.strip().lower() if isinstance(said, str) else said
    found = _NAMES.get(name) if isinstance(name, str) else None
    if found is not None:
        return found
    try:
        return Coords(name)
    except ValueError:
        raise ValueError(f'coords = {str(said)[:40]!r} is unknown (known: {", ".join(Coords)})'
                         ) from None


def doubtful(regions: Sequence[Region], coords: Coords, size: Size) -> str:
    """Why the places of a plan can hardly be meant in a convention; '' if they can.

    Fractions where larger numbers are due; or numbers that reach far beyond the picture, while
    another unit puts all of them into it. One number that is wrong by itself gives no doubt.

    Args:
        regions: the places as they were read in the convention, in unit coordinates.
        coords: the convention.
        size: of the picture.
    """
    wide, high = coords.scale(size)
    xs, ys = ([corner[axis] for region in regions for corner in region.points]
              for axis in (0, 1))
    numbers = [x * wide for x in xs] + [y * high for y in ys]
    if not numbers or min(numbers) < 0:
        return ''
    most = max(numbers)
    if coords is Coords.UNIT_XYXY:
        fine = most <= 1 + _BEYOND or not all(number.is_integer() for number in numbers)
    elif most <= 1 and not all(number.is_integer() for number in numbers):
        return _not_meant(most, coords, () if coords.y_first else (Coords.UNIT_XYXY,))
    else:
        fine = coords is Coords.PIXEL_XYWH or max(*xs, *ys) <= 1 + _BEYOND
    fits = [other for other in (Coords.PIXEL_XYXY, Coords.PERMILLE_XYXY) if not fine
            and other.scale(size) != (wide, high)
            and max(xs) * wide <= other.scale(size)[0]
            and max(ys) * high <= other.scale(size)[1]]
    return _not_meant(most, coords, fits) if fits else ''


def _not_meant(most: float, coords: Coords, fits: Sequence[Coords]) -> str:
    return (f'the largest number is {most:g}, which cannot be meant as {coords}'
            + (f': {" or ".join(fits)} would fit' if fits else '') + ' (declare coords)')


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


_CORNERS = (('x1', 'y1', 'x2', 'y2'), ('xmin', 'ymin', 'xmax', 'ymax'),
            ('x_min', 'y_min', 'x_max', 'y_max'), ('left', 'top', 'right', 'bottom'))
_EDGES = (('x', 'y', 'width', 'height'), ('x', 'y', 'w', 'h'))


def in_order(value: Any, coords: Coords) -> Any:
    """Numbers with names, such as ``{"x1": 1, "y1": 2, ...}``, in the order of a convention.

    Two corners become four numbers. Anything else comes back as it is.
    """
    if isinstance(value, list | tuple) and len(value) == 2 and all(
            isinstance(corner, list | tuple) for corner in value):
        return [*value[0], *value[1]]
    if not isinstance(value, dict):
        return value
    named = {str(name).lower(): number for name, number in value.items()}
    for names in (*_CORNERS, *_EDGES, ('x', 'y')):
        found = [named[name] for name in names if name in named]
        if len(found) != len(names) or numbers_of(found, len(names)) is None:
            continue
        if len(found) == 4 and (names in _EDGES) is not (coords is Coords.PIXEL_XYWH):
            sign = 1 if names in _EDGES else -1
            found[2:] = [found[2] + sign * found[0], found[3] + sign * found[1]]
        if coords.y_first:
            found = [found[k ^ 1] for k in range(len(found))]
        return found
    return value


def point_to_unit(numbers: Sequence[float], coords: Coords, size: Size) -> Point:
    """A point in unit coordinates."""
    return unchecked_unit([numbers], coords.of_points, size)[0]


def box_to_unit(numbers: Sequence[float], coords: Coords, size: Size) -> Box:
    """A box in unit coordinates: the corners as they were named, in order or not."""
    first, last = numbers[:2], numbers[2:]
    if coords is Coords.PIXEL_XYWH:
        last = (first[0] + last[0], first[1] + last[1])
    return (*point_to_unit(first, coords, size), *point_to_unit(last, coords, size))


def point_from_unit(point: Point, coords: Coords, size: Size) -> list[float]:
    """A point as numbers of a convention; the inverse of ``point_to_unit``."""
    return [_tidy(number) for number in from_unit([point], coords.of_points, size)[0]]


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
