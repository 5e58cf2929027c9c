"""Drawing into pictures for models: scales along edges, and marks at places to check."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, InputError, Region
from sightplan.model.region import Mask
from sightplan.queries.coordinates import Coordinates, Size, from_unit

Image = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""
_Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels, half-open."""

_RED, _WHITE, _BLACK = (230, 0, 0), (255, 255, 255), (0, 0, 0)
_TICKS = 10
"""Approximate number of ticks along an edge."""
_MARGIN = 0.6
"""Margin that is shown around a marked place, as a fraction of the place's longer edge."""
_LEAST_MARGIN = 0.08
"""Smallest margin around a marked place, as a fraction of the picture's longer edge."""
_POINT_MARGIN = 0.2
"""Smallest margin around a marked point, which tells nothing about the size of the thing, as a
fraction of the picture's longer edge."""
_LEAST_PX = 384
"""Longer edge [pixels] to which a smaller picture of the surroundings is enlarged, by at most
``_LARGEST_SCALE``."""
_LARGEST_SCALE = 8.0
_LINE_PX = 3


def with_axis_ticks(image: Image, coordinates: Coordinates, resized: Size | None = None) -> Image:
    """Return a copy with scales along the top and left edge, in the numbers of a convention.

    The picture keeps its size, so that coordinates do not change.
    """
    from PIL import ImageDraw, ImageFont

    height, width = image.shape[:2]
    picture = _pil(image)
    draw = ImageDraw.Draw(picture)
    length = max(4, min(width, height) // 60)
    font: Any = ImageFont.load_default(size=max(9, min(width, height) // 36))
    ends = from_unit([(1.0, 1.0)], coordinates, (width, height), resized)[0]
    if coordinates.y_first:
        ends = ends[::-1]
    for axis, (end, pixels) in enumerate(zip(ends, (width, height), strict=True)):
        step = _step(end)
        for number in range(1, math.ceil(end / step)):
            at = number * step / end * pixels
            line = [(at, 0), (at, length)] if axis == 0 else [(0, at), (length, at)]
            draw.line(line, fill=_BLACK, width=3)
            draw.line(line, fill=_WHITE, width=1)
            place = (at, length + 1) if axis == 0 else (length + 2, at)
            draw.text(place, f'{number * step:g}', fill=_WHITE, font=font, stroke_width=1,
                      stroke_fill=_BLACK, anchor='mt' if axis == 0 else 'lm')
    return np.asarray(picture)


def numbered(image: Image, boxes: Sequence[Region]) -> Image:
    """A copy with a frame around each box, and its number, from 1, in the upper left corner."""
    from PIL import ImageDraw, ImageFont

    height, width = image.shape[:2]
    picture = _pil(image)
    draw = ImageDraw.Draw(picture)
    font: Any = ImageFont.load_default(size=max(11, min(width, height) // 32))
    for number, box in enumerate(boxes, 1):
        left, top, right, bottom = _region_extent(box, width, height)
        draw.rectangle((left, top, right - 1, bottom - 1), outline=_RED, width=2)
        draw.text((left + 3, top + 2), str(number), fill=_WHITE, font=font, stroke_width=2,
                  stroke_fill=_BLACK)
    return np.asarray(picture)


def marked(image: Image, region: Region, mask: Mask | None = None) -> tuple[Image, str]:
    """Return the surroundings of a place with a mark at it.

    Args:
        image: the whole picture.
        region: the place: a point or a box.
        mask: (H, W) bool, the piece that is meant; where it has any pixel, its outline is the
            mark, instead of the region.

    Returns:
        the picture; and what the mark is: ``mask`` (an outline), ``box`` (a frame) or ``point`` (a
        cross).

    Raises:
        InputError: the place is a trace, or the mask is of another size than the picture.
    """
    height, width = image.shape[:2]
    if mask is not None and mask.shape != (height, width):
        raise InputError(f'the mask of the place to be checked has {mask.shape[1]}x'
                         f'{mask.shape[0]} pixels, the picture {width}x{height}; give one of the '
                         "picture's size")
    if mask is not None and not mask.any():
        mask = None
    if mask is None and region.form is Form.TRACE:
        raise InputError('a trace cannot be checked by a mark; give a point, a box or a mask')
    extent = _extent(mask) if mask is not None else _region_extent(region, width, height)
    is_point = mask is None and region.form is Form.POINT
    left, top, right, bottom = window = _window(
        extent, width, height, _POINT_MARGIN if is_point else _LEAST_MARGIN)
    scale = min(_LARGEST_SCALE, max(1.0, _LEAST_PX / max(right - left, bottom - top)))
    picture = _scaled(_pil(image).crop(window), scale)
    if mask is not None:
        inside = mask[top:bottom, left:right]
        return _outlined(picture, _scaled(_pil(inside), scale)), 'mask'
    if region.form is Form.BOX:
        return _framed(picture, [scale * (edge - start) for edge, start in zip(
            extent, (left, top, left, top), strict=True)]), 'box'
    x, y = region.points[0]
    return _crossed(picture, scale * (x * width - left), scale * (y * height - top)), 'point'


def _step(end: float) -> float:
    """Return the ticks' distance: 1, 2 or 5 times a power of ten, for about ``_TICKS`` ticks."""
    least = end / _TICKS
    power = 10.0 ** math.floor(math.log10(least) + 1e-9)
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * 0.999)


def _pil(image: NDArray[Any]) -> Any:
    from PIL import Image as Pil

    values = image.astype(np.uint8) * 255 if image.dtype == np.bool_ else image
    return Pil.fromarray(np.ascontiguousarray(values))


def _scaled(picture: Any, scale: float) -> Any:
    from PIL import Image as Pil

    if scale == 1.0:
        return picture
    kind = Pil.Resampling.NEAREST if picture.mode == 'L' else Pil.Resampling.BICUBIC
    return picture.resize((round(picture.width * scale), round(picture.height * scale)), kind)


def _extent(mask: Mask) -> _Box:
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def _region_extent(region: Region, width: int, height: int) -> _Box:
    """Return the box of a region in pixels, cut to the picture; at least one pixel."""
    pixels = region.pixels(width, height)
    (left, top), (right, bottom) = pixels[0], pixels[-1]
    left, top = min(max(left, 0), width - 1), min(max(top, 0), height - 1)
    return left, top, min(max(right, left + 1), width), min(max(bottom, top + 1), height)


def _window(extent: _Box, width: int, height: int, least: float) -> _Box:
    """Return the box of pixels to show around an extent; ``least``: see ``_LEAST_MARGIN``."""
    left, top, right, bottom = extent
    margin = round(max(_MARGIN * max(right - left, bottom - top),
                       least * max(width, height), 4))
    return (max(0, left - margin), max(0, top - margin),
            min(width, right + margin), min(height, bottom + margin))


def _outlined(picture: Any, inside: Any) -> Image:
    """A red line, with a white one outside, around what is inside, which it leaves free."""
    from PIL import ImageFilter

    def grown(by: int) -> NDArray[np.bool_]:
        return np.asarray(inside.filter(ImageFilter.MaxFilter(2 * by + 1))) > 0

    canvas = np.array(picture)
    near, line, outer = grown(1), grown(1 + _LINE_PX), grown(2 + _LINE_PX)
    canvas[outer & ~line] = _WHITE
    canvas[line & ~near] = _RED
    return canvas


def _framed(picture: Any, box: list[float]) -> Image:
    from PIL import ImageDraw

    draw = ImageDraw.Draw(picture)
    left, top, right, bottom = box
    for by, colour, width in ((_LINE_PX + 2, _WHITE, 1), (_LINE_PX + 1, _RED, _LINE_PX)):
        draw.rectangle((left - by, top - by, right - 1 + by, bottom - 1 + by), outline=colour,
                       width=width)
    return np.array(picture)


def _crossed(picture: Any, x: float, y: float) -> Image:
    """Draw four red strokes towards a point, with white edges; the point itself stays free."""
    from PIL import ImageDraw

    draw = ImageDraw.Draw(picture)
    gap, length = 3 * _LINE_PX, 10 * _LINE_PX
    for colour, width in ((_WHITE, _LINE_PX + 2), (_RED, _LINE_PX)):
        for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            draw.line((x + dx * gap, y + dy * gap, x + dx * length, y + dy * length),
                      fill=colour, width=width)
    return np.array(picture)
