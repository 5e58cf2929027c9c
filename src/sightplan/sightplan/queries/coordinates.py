"""The one place where coordinates in replies become unit coordinates (``model.Region``).

Each family of models writes places in its own convention, which a reply does not tell; the
settings of a backend declare it. Numbers that do not fit the declared convention are refused, with
the setting that would fit. Only numbers up to a thousandth beyond an edge are clipped, and these
are counted. The conventions are those of the models' own pages: RoboPoint and RoboRefer (unit),
Molmo (percent), Molmo 2 and Qwen3-VL (permille), Qwen2.5-VL (pixels of the resized picture),
Gemini (permille, y first).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sightplan.model.region import Point

Size = tuple[int, int]
"""Width and height in pixels."""

ROUNDING = 1e-3
"""So far beyond an edge, as a fraction of the picture, a number is taken for rounded."""
RESIZE_MULTIPLE = 28
"""Edges of a picture that Qwen2.5-VL has resized are multiples of this number of pixels."""
RESIZE_MIN_PIXELS = 56 * 56
"""Fewest pixels of a picture that Qwen2.5-VL has resized."""
RESIZE_MAX_PIXELS = 16384 * RESIZE_MULTIPLE ** 2
"""Most pixels of such a picture, as the published checkpoints have it."""
_MOST_ELONGATED = 200


class Coordinates(enum.StrEnum):
    """A convention: unit, and which of x and y comes first."""

    UNIT_XY = 'unit_xy'
    PERCENT_XY = 'percent_xy'
    PIXEL_XY = 'pixel_xy'
    RESIZED_PIXEL_XY = 'resized_pixel_xy'
    PERMILLE_XY = 'permille_xy'
    PERMILLE_YX = 'permille_yx'

    @property
    def y_first(self) -> bool:
        """Whether y comes before x."""
        return self is Coordinates.PERMILLE_YX


class Misdeclared(ValueError):
    """Numbers cannot be meant in the declared convention; the message says why, and what fits."""


@dataclass(frozen=True, slots=True)
class Converted:
    """Numbers as unit coordinates.

    Attributes:
        points: x, y, each within [0, 1].
        rounded: how many numbers lay up to a thousandth of the picture beyond an edge and were
            set to it.
    """

    points: tuple[Point, ...]
    rounded: int = 0


def to_unit(pairs: Iterable[Sequence[float]], declared: Coordinates, size: Size,
            resized: Size | None = None) -> Converted:
    """Convert all points of a reply.

    All numbers of a reply are converted together, because only together they show whether they fit
    the declared convention.

    Args:
        pairs: two numbers each, in the order of the convention.
        declared: the convention.
        size: size of the picture as it was sent.
        resized: size of the picture as the model saw it; needed for ``resized_pixel_xy``.

    Raises:
        Misdeclared: a number is not finite or too large, or all are so small that another unit
            must be meant.
    """
    try:
        points = tuple((float(a), float(b)) for a, b in pairs)
    except OverflowError:
        raise Misdeclared('a coordinate has too many digits') from None
    numbers = [number for point in points for number in point]
    if not all(map(math.isfinite, numbers)):
        raise Misdeclared('a coordinate is not a finite number')
    ordered = tuple((b, a) for a, b in points) if declared.y_first else points
    _check(ordered, numbers, declared, scale(declared, size, resized), size)
    unit = unchecked_unit(points, declared, size, resized)
    rounded = sum(not 0 <= number <= 1 for point in unit for number in point)
    return Converted(tuple((min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)) for x, y in unit),
                     rounded)


def unchecked_unit(pairs: Iterable[Sequence[float]], declared: Coordinates, size: Size,
                   resized: Size | None = None) -> list[Point]:
    """Numbers of a convention as unit coordinates, wherever they are; see ``to_unit``.

    Raises:
        Misdeclared: ``resized`` is missing.
    """
    width, height = scale(declared, size, resized)
    return [(b / width, a / height) if declared.y_first else (a / width, b / height)
            for a, b in pairs]


def from_unit(points: Iterable[Point], declared: Coordinates, size: Size,
              resized: Size | None = None) -> list[Point]:
    """Unit coordinates as numbers of a convention, in its order; see ``to_unit``.

    Raises:
        Misdeclared: ``resized`` is missing.
    """
    width, height = scale(declared, size, resized)
    scaled = [(x * width, y * height) for x, y in points]
    return [(y, x) for x, y in scaled] if declared.y_first else scaled


def resized_size(size: Size, multiple: int = RESIZE_MULTIPLE, min_pixels: int = RESIZE_MIN_PIXELS,
                 max_pixels: int = RESIZE_MAX_PIXELS) -> Size:
    """Return the size to which the image processor of Qwen2.5-VL resizes a picture.

    Both edges are rounded to multiples. A picture that then has too many or too few pixels is
    scaled to the limit, its proportions kept, and its edges are rounded down or up. Servers of
    such models have ``multiple``, ``min_pixels`` and ``max_pixels`` in the checkpoint's
    ``preprocessor_config.json``.

    Args:
        size: size of the picture as it was sent.
        multiple: each edge is a multiple of it: patch size times merge size [px].
        min_pixels: fewest pixels.
        max_pixels: most pixels.

    Raises:
        Misdeclared: the picture is so narrow that the processor refuses it.
    """
    width, height = size
    if max(size) > _MOST_ELONGATED * min(size):
        raise Misdeclared(f'a picture of {width}x{height} pixels is too narrow: one edge may be '
                          f'{_MOST_ELONGATED} times the other at most')
    rounded = tuple(round(edge / multiple) * multiple for edge in size)
    pixels = rounded[0] * rounded[1]
    if pixels > max_pixels:
        shrink = math.sqrt(width * height / max_pixels)
        rounded = tuple(max(multiple, math.floor(edge / shrink / multiple) * multiple)
                        for edge in size)
    elif pixels < min_pixels:
        grow = math.sqrt(min_pixels / (width * height))
        rounded = tuple(math.ceil(edge * grow / multiple) * multiple for edge in size)
    return rounded[0], rounded[1]


def scale(declared: Coordinates, size: Size, resized: Size | None = None,
          ) -> tuple[float, float]:
    """Return the declared convention's numbers for the full width and height of a picture.

    Raises:
        Misdeclared: ``resized`` is missing.
    """
    if declared is Coordinates.RESIZED_PIXEL_XY:
        if resized is None or min(resized) < 1:
            raise Misdeclared('resized_pixel_xy needs the size of the picture as the model saw it')
        return resized
    if declared is Coordinates.PIXEL_XY:
        return size
    edge = {Coordinates.UNIT_XY: 1.0, Coordinates.PERCENT_XY: 100.0}.get(declared, 1000.0)
    return edge, edge


def _check(points: Sequence[Point], numbers: Sequence[float], declared: Coordinates,
           edges: tuple[float, float], size: Size) -> None:
    for x, y in points:
        for axis, number, edge in (('x', x, edges[0]), ('y', y, edges[1])):
            if not -ROUNDING * edge <= number <= (1 + ROUNDING) * edge:
                raise Misdeclared(f'{axis} = {number:g} is not within 0 and {edge:g}, as '
                                  f'{declared} has it{_fitting(points, declared, size)}')
    most = max(numbers, default=math.inf)
    if declared is not Coordinates.UNIT_XY and most <= 1 + ROUNDING and any(
            not number.is_integer() for number in numbers):
        raise Misdeclared(f'the largest number is {most:g}, which {declared} cannot mean; '
                          f'{Coordinates.UNIT_XY} would fit')


def _fitting(points: Sequence[Point], declared: Coordinates, size: Size) -> str:
    """Return the other convention that the numbers fit, as the end of a sentence; '' if none."""
    least = min(number for point in points for number in point)
    most = max(number for point in points for number in point)
    fitting = (
        Coordinates.UNIT_XY if most <= 1 + ROUNDING else
        Coordinates.PERCENT_XY if most <= 100 else
        Coordinates.PIXEL_XY if all(x <= size[0] and y <= size[1] for x, y in points) else
        Coordinates.PERMILLE_XY if most <= 1000 else None)
    if least < -ROUNDING or fitting in (None, declared):
        return ''
    return f'; {fitting} would fit'
