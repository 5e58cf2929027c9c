"""Pictures of a path on a map from above, as PathEval draws them, and pictures side by side.

The paper's pictures are matplotlib's: axes off, equal aspect, cropped to the world. Here OpenCV
draws the same in milliseconds, and the same arguments always give the same bytes. A picture of
``SIZE`` pixels stands for one of 4.48 inches at matplotlib's 100 dots per inch, where one point is
100/72 pixels: the path of 2 points is 2.78 pixels wide, and the dots, ``scatter`` of size 100
with its outline of 1 point, are 15.28 pixels across. Another size is another resolution:
everything scales. As in matplotlib, the path lies above the dots.

A ``look`` other than 0 is a seed that varies what a model must not depend on, within the bounds
of ``look_of``; the projection stays, so that a picture can still be measured.
"""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from sightplan.model import InputError
from sightplan_suites.paths.maps import WORLD, Bounds, FloatArray, as_points

Picture = npt.NDArray[np.uint8]
"""(height, width, 3) RGB."""
Rgb = tuple[int, int, int]

SIZE = 448
"""Longer side of a picture from above [px], unless another one is asked for."""
POINT_PX = 100 / 72
"""Pixels of a typographic point at 100 dots per inch."""
PATH_PX = 2 * POINT_PX
"""Width of the path in a picture of ``SIZE`` pixels."""
DOT_PX = (math.sqrt(100) + 1) * POINT_PX
"""Diameter of the dots in a picture of ``SIZE`` pixels."""
BORDER_PX = 1.5 * POINT_PX
"""Width of the border in a picture of ``SIZE`` pixels; it lies inside of the world."""

LARGEST = 8192
"""Longest side of a picture [px]."""
RIGHT, WRONG = (0, 128, 96), (190, 60, 0)
"""RGB of bands beside what is right and what is wrong; white letters can be read on both."""
_BAND_PX, _GAP_PX = 24, 10
"""Height of a band and width of the gap between two pictures of ``SIZE`` pixels."""
_SAMPLES = 4
"""Per pixel and direction, against jagged edges."""
_SHIFT = 4
"""Fractional bits of OpenCV's coordinates."""


@dataclass(frozen=True, slots=True)
class Look:
    """Appearance of a picture; the defaults are the paper's.

    Attributes:
        line: factor of the path's width.
        dot: factor of the dots' diameter.
        path: colour of the path.
        start: colour of the start's dot.
        goal: colour of the goal's dot.
        ground: what is free, seen from above; around the floor in perspective.
        obstacle: obstacles and border, seen from above.
        floor: what is free, in perspective.
        wall: obstacles and border in perspective, in full light.
        light_deg: where the light comes from, counter-clockwise from x.
        ambient: brightness of walls that are turned away from the light, 0 to 1.
        contrast: how far the walls' texture departs from their colour, 0 to 1.
        texture: seed of the texture.
    """

    line: float = 1.0
    dot: float = 1.0
    path: Rgb = (255, 0, 0)
    start: Rgb = (255, 0, 0)
    goal: Rgb = (0, 0, 255)
    ground: Rgb = (255, 255, 255)
    obstacle: Rgb = (0, 0, 0)
    floor: Rgb = (179, 179, 179)
    wall: Rgb = (150, 128, 92)
    light_deg: float = 215.0
    ambient: float = 0.45
    contrast: float = 0.3
    texture: int = 0


def look_of(seed: int) -> Look:
    """Look of a seed: 0 is the paper's; any other seed varies it within bounds.

    Widths vary by a factor of 0.75 to 1.5, dots by 0.8 to 1.25, colours by up to 24 of 255 in each
    channel (walls by 40), the light comes from any side, the ambient light is 0.3 to 0.65 and the
    texture's contrast 0.1 to 0.5.

    Raises:
        InputError: the seed is negative or not a whole number.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f'look: {seed!r} (give 0 for the look of the paper, or a whole number '
                         'above 0 for a varied one)')
    base = Look()
    if seed == 0:
        return base
    rng = random.Random(f'look {seed}')

    def near(colour: Rgb, reach: int = 24) -> Rgb:
        red, green, blue = (min(255, max(0, value + int((2 * rng.random() - 1) * reach)))
                            for value in colour)
        return red, green, blue

    def between(low: float, high: float) -> float:
        return low + (high - low) * rng.random()

    path = near(base.path)
    return Look(
        line=between(0.75, 1.5), dot=between(0.8, 1.25), path=path, start=near(path, 8),
        goal=near(base.goal), ground=near(base.ground), obstacle=near(base.obstacle),
        floor=near(base.floor), wall=near(base.wall, 40), light_deg=between(0.0, 360.0),
        ambient=between(0.3, 0.65), contrast=between(0.1, 0.5), texture=seed)


@dataclass(frozen=True)
class TopView:
    """A camera straight above, without perspective: the bounds fill the picture.

    Attributes:
        size: longer side of the picture [px].
        bounds: what is seen, in units of the map.
    """

    hides: ClassVar[bool] = False
    """Whether obstacles hide the ground behind them."""

    size: int = SIZE
    bounds: Bounds = field(default=WORLD)

    def __post_init__(self) -> None:
        check_side('size', self.size)
        check_bounds(self.bounds)

    @functools.cached_property
    def scale(self) -> float:
        """Pixels of one unit of the map."""
        return self.size / longer_side(self.bounds)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the picture [px]."""
        box = self.bounds
        # Up to rounding of the scale, the longer side is a whole number.
        return (math.ceil((box.y_max - box.y_min) * self.scale - 1e-6),
                math.ceil((box.x_max - box.x_min) * self.scale - 1e-6))

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Project points of the map to pixels.

        Args:
            points: (N, 2) or (N, 3), units of the map; from above, heights do not matter.

        Returns:
            (N, 2), columns and rows [px], from the middle of the upper left pixel.

        Raises:
            InputError: the points have another shape or are not finite.
        """
        array = as_places(points)
        return np.stack([(array[:, 0] - self.bounds.x_min) * self.scale - 0.5,
                         (self.bounds.y_max - array[:, 1]) * self.scale - 0.5], axis=1)

    def unproject(self, pixels: npt.ArrayLike) -> FloatArray:
        """Points (N, 2) on the ground that pixels (N, 2), counted as in ``project``, show."""
        array = as_points(pixels)
        return np.stack([self.bounds.x_min + (array[:, 0] + 0.5) / self.scale,
                         self.bounds.y_max - (array[:, 1] + 0.5) / self.scale], axis=1)


def draw_top(obstacles: Sequence[npt.ArrayLike], path: npt.ArrayLike | None, start: npt.ArrayLike,
             goal: npt.ArrayLike, view: TopView | None = None, look: int = 0) -> Picture:
    """Draw a path on a map from above.

    Args:
        obstacles: polygons, each (N, 2) in units of the map, its first corner not repeated; they
            may overlap and need not be convex.
        path: (N, 2), its points; None for the map alone.
        start: x and y of the start.
        goal: x and y of the goal.
        view: the camera; None for the paper's.
        look: 0 for the paper's, else a seed.

    Returns:
        (height, width, 3) uint8 RGB.

    Raises:
        InputError: an array has another shape or is not finite; names it.
    """
    view, style = view or TopView(), look_of(look)
    polygons = [view.project(polygon) for polygon in as_polygons(obstacles)]
    height, width = view.shape
    picture = np.full((height, width, 3), style.ground, np.uint8)
    zoom = view.size / SIZE
    mask = np.zeros((height * _SAMPLES, width * _SAMPLES), np.uint8)
    fill_polygons(mask, polygons, _SAMPLES)
    band = max(1, round(BORDER_PX * zoom * _SAMPLES))
    mask[:band], mask[-band:], mask[:, :band], mask[:, -band:] = 255, 255, 255, 255
    paint(picture, mask, style.obstacle)
    radius = DOT_PX * zoom * style.dot / 2 - 0.5 / _SAMPLES
    for name, place, colour in (('start', start, style.start), ('goal', goal, style.goal)):
        mask[:] = 0
        middle = view.project(as_place(place, name))[0]
        fill_polygons(mask, [circle(middle, radius)], _SAMPLES)
        paint(picture, mask, colour)
    if path is not None:
        mask[:] = 0
        draw_line(mask, view.project(as_points(path)), PATH_PX * zoom * style.line, _SAMPLES)
        paint(picture, mask, style.path)
    return picture


def pair(left: Picture, right: Picture) -> Picture:
    """Two pictures side by side, of equal height and without a gap.

    The higher one is reduced to the height of the other, with its aspect.

    Raises:
        InputError: one is not (height, width, 3) uint8.
    """
    for name, picture in (('left', left), ('right', right)):
        if (not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3
                or picture.shape[2] != 3 or not picture.size):
            raise InputError(f'{name}: not a picture (give an array of uint8, height x width x 3)')
    height = min(len(left), len(right))
    parts = []
    for picture in (left, right):
        if len(picture) > height:
            width = max(1, round(picture.shape[1] * height / len(picture)))
            parts.append(cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA))
        else:
            parts.append(picture)
    return np.asarray(np.concatenate(parts, axis=1), np.uint8)


def check_side(name: str, pixels: int) -> None:
    """Check a side of a picture.

    Raises:
        InputError: it is not a whole number from 16 to ``LARGEST``.
    """
    if isinstance(pixels, bool) or not isinstance(pixels, int) or not 16 <= pixels <= LARGEST:
        raise InputError(f'{name}: {pixels!r} pixels (give a whole number, 16 to {LARGEST})')


def check_bounds(bounds: Bounds) -> None:
    """Check the bounds that a view shows.

    Raises:
        InputError: the bounds are not finite, or have no area.
    """
    sides = (bounds.x_max - bounds.x_min, bounds.y_max - bounds.y_min)
    if not all(math.isfinite(side) and side > 0 for side in sides):
        raise InputError(f'bounds: {bounds} (give finite ones, x_min < x_max and y_min < y_max)')


def longer_side(bounds: Bounds) -> float:
    """Length of the bounds' longer side, in units of the map."""
    return max(bounds.x_max - bounds.x_min, bounds.y_max - bounds.y_min)


def as_places(points: npt.ArrayLike) -> FloatArray:
    """Points (N, 2) or (N, 3) as (N, 3); those on the ground have z = 0.

    Raises:
        InputError: another shape, or not finite.
    """
    array = np.asarray(points, np.float64)
    if array.ndim == 2 and array.shape[1] == 3:
        if not np.isfinite(array).all():
            raise InputError('points: not finite (give finite coordinates)')
        return array
    flat = as_points(array)
    return np.column_stack([flat, np.zeros(len(flat))])


def as_place(point: npt.ArrayLike, name: str) -> FloatArray:
    """A start or goal as (1, 2).

    Raises:
        InputError: it is not two finite numbers; names it.
    """
    try:
        return as_points(np.asarray(point, np.float64)[None])
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f'{name}: {point!r} is not a place (give x and y, finite)') from error


def as_polygons(obstacles: Sequence[npt.ArrayLike]) -> list[FloatArray]:
    """Obstacles as arrays (N, 2).

    Raises:
        InputError: one has fewer than three corners, another shape, or is not finite; names its
            number.
    """
    polygons = []
    for number, obstacle in enumerate(obstacles, 1):
        try:
            polygon = as_points(obstacle)
        except InputError as error:
            raise InputError(f'obstacle {number}: {error}') from error
        if len(polygon) < 3:
            raise InputError(f'obstacle {number}: {len(polygon)} corners (give three or more)')
        polygons.append(polygon)
    return polygons


def fill_polygons(mask: Picture, polygons: Sequence[FloatArray], samples: int) -> None:
    """Set a mask to 255 inside of polygons, convex or not; where they overlap, too.

    Args:
        mask: (height, width) in samples.
        polygons: corners (N, 2) [px].
        samples: per pixel and direction.
    """
    for polygon in polygons:
        cv2.fillPoly(mask, [_fixed(polygon, samples)], (255.0,), cv2.LINE_8, _SHIFT)


def draw_line(mask: Picture, points: FloatArray, width_px: float, samples: int) -> None:
    """Set a mask to 255 along a line through points (N, 2) [px], with round joints and ends.

    OpenCV's own thick lines are an odd number of samples wide, so it is drawn from polygons.
    """
    # A filled polygon has its outline, half a sample on either side, as well.
    half = max(width_px / 2 - 0.5 / samples, 0.0)
    steps = np.diff(points, axis=0)
    lengths = np.hypot(steps[:, 0], steps[:, 1])
    moving = lengths > 0
    across = np.stack([-steps[moving, 1], steps[moving, 0]], axis=1) * (
        half / lengths[moving, None])
    begin, end = points[:-1][moving], points[1:][moving]
    fill_polygons(mask, [*np.stack([begin + across, begin - across, end - across, end + across],
                                   axis=1),
                         *(circle(point, half, 16) for point in points)], samples)


def circle(middle: FloatArray, radius: float, corners: int = 64) -> FloatArray:
    """A circle as a polygon (corners, 2)."""
    angles = np.linspace(0.0, math.tau, corners, endpoint=False)
    return np.asarray(middle + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1))


def paint(picture: Picture, mask: Picture, colour: Rgb) -> None:
    """Lay a colour over a picture in place, as far as a mask of more samples covers each pixel."""
    left, upper, width, height = cv2.boundingRect(mask)
    if not width:
        return
    samples = len(mask) // len(picture)
    # Whole pixels.
    right, lower = -(-(left + width) // samples), -(-(upper + height) // samples)
    left, upper = left // samples, upper // samples
    inner = mask[upper * samples:lower * samples, left * samples:right * samples]
    if samples > 1:
        inner = np.asarray(cv2.resize(inner, (right - left, lower - upper),
                                      interpolation=cv2.INTER_AREA), np.uint8)
    part = picture[upper:lower, left:right]
    rest = cv2.bitwise_not(inner)
    kept = cv2.multiply(part, cv2.merge([rest, rest, rest]), scale=1 / 255)
    added = [cv2.convertScaleAbs(inner, alpha=value / 255) for value in colour]
    picture[upper:lower, left:right] = cv2.add(kept, cv2.merge(added))


def _fixed(points: FloatArray, samples: int) -> npt.NDArray[np.int32]:
    """Pixels (N, 2), from the first one's middle, as OpenCV wants them on a grid of samples."""
    grid = (points + 0.5) * samples - 0.5
    limit = 2.0**(30 - _SHIFT)
    return np.asarray(np.rint(np.clip(grid, -limit, limit) * 2**_SHIFT), np.int32)


def mark_halves(picture: Picture, right: int, named: int | None) -> Picture:
    """Add bands to a picture of two things side by side: which one is right, which was named.

    Args:
        picture: (H, W, 3) RGB, as ``pair`` gives it.
        right: the right one, 0 (left) or 1.
        named: the one that was answered; None for none.

    Returns:
        the picture, a gap between its halves, a band above the one that was answered (green if it
        is right, else red), and a green band below the right one.
    """
    height, width = picture.shape[:2]
    middle = width // 2
    scale = max(1.0, middle / SIZE)
    band, gap = round(_BAND_PX * scale), round(_GAP_PX * scale)
    page = np.full((height + 2 * band, width + gap, 3), 255, np.uint8)
    starts = (0, width - middle + gap)
    for start, half in zip(starts, (picture[:, :middle], picture[:, width - middle:]),
                           strict=True):
        page[band:band + height, start:start + middle] = half
    labels = [(band + height, right, 'right one', RIGHT)]
    if named is not None:
        labels.append((0, named, 'answered' if named == right else 'answered, wrong',
                       RIGHT if named == right else WRONG))
    for top, side, text, colour in labels:
        start = starts[side]
        page[top:top + band, start:start + middle] = colour
        cv2.putText(page, text, (start + round(8 * scale), top + round(0.7 * band)),
                    cv2.FONT_HERSHEY_SIMPLEX, 0.5 * scale, (255, 255, 255), round(1.2 * scale),
                    cv2.LINE_AA)
    return page
