"""Places drawn into a picture: crosshairs, boxes and traces with labels.

Each mark is drawn in white on black below its colour, and each label on paper of its own, so that
both stand out on any background. The colours are those of Okabe and Ito, which colour-blind
readers tell apart; labels begin with the number of what is marked, so that nobody has to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, Region

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

Colour = tuple[int, int, int]
Place = tuple[int, int]
"""Column and row of a pixel."""
_Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels."""

COLOURS: tuple[Colour, ...] = (
    (0, 114, 178), (230, 159, 0), (0, 158, 115), (204, 121, 167), (213, 94, 0), (86, 180, 233),
    (240, 228, 66))
"""RGB of the marks, one target after another."""
_BLACK, _WHITE = (0, 0, 0), (255, 255, 255)
_EDGE_PX = 480
"""Shorter edge of a picture in which marks have their plain size."""
_SHIFT = 4
"""Bits behind the point of coordinates that OpenCV draws at."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Places with one label and colour.

    Attributes:
        label: text beside the first of the regions.
        regions: the places.
    """

    label: str
    regions: tuple[Region, ...]


def draw_marks(image: NDArray[np.uint8], marks: Sequence[Mark]) -> NDArray[np.uint8]:
    """Draw places into a picture.

    Args:
        image: (H, W, 3) uint8 RGB.
        marks: what to draw, each with a colour of its own; labels get numbers from 1.

    Returns:
        A copy with the marks, of the same shape.
    """
    drawn = np.ascontiguousarray(image).copy()
    scale = max(1.0, min(drawn.shape[:2]) / _EDGE_PX)
    labels, taken = [], []
    for number, mark in enumerate(marks):
        colour = COLOURS[number % len(COLOURS)]
        covered = [_draw(drawn, region, colour, scale) for region in mark.regions]
        labels += [(f'{number + 1} {mark.label}', first, colour) for first in covered[:1]]
        taken += covered
    return _with_labels(drawn, labels, taken, scale)


def _draw(canvas: NDArray[np.uint8], region: Region, colour: Colour, scale: float) -> _Box:
    """Draw one place; returns the pixels that it covers."""
    height, width = canvas.shape[:2]
    # OpenCV counts from the middle of the first pixel, unit coordinates from its corner.
    places = [(x * width - 0.5, y * height - 0.5) for x, y in region.points]
    arm, ring = 20 * scale, 8.5 * scale
    if region.form is Form.POINT:
        (x, y), = places
        lines = [[(x + dx * arm * part, y + dy * arm * part) for part in (1.3 * ring / arm, 1.0)]
                 for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        around = [(x - arm, y - arm), (x + arm, y + arm)]
    elif region.form is Form.BOX:
        (x1, y1), (x2, y2) = places
        lines, around = [[(x1, y1), (x2, y1), (x2, y2), (x1, y2), (x1, y1)]], places
    else:
        lines, around = [places, _arrow_head(places, 0.7 * arm)], places
    _strokes(canvas, lines, colour, scale)
    if region.form is not Form.BOX:
        _ring(canvas, places[0], ring, colour, scale)
    columns, rows = zip(*around, strict=True)
    return (math.floor(min(columns)), math.floor(min(rows)), math.ceil(max(columns)),
            math.ceil(max(rows)))


def _arrow_head(places: Sequence[tuple[float, float]], size: float) -> list[tuple[float, float]]:
    """The two strokes at the end of a trace, as one line through its tip."""
    tip = np.array(places[-1])
    back = next((tip - place for place in np.array(places[-2::-1])
                 if np.hypot(*(tip - place)) > 1.0), np.array([1.0, 0.0]))
    angle = math.atan2(back[1], back[0])
    sides = [tip - size * np.array([math.cos(angle + turn), math.sin(angle + turn)])
             for turn in (0.5, -0.5)]
    return [(float(x), float(y)) for x, y in (sides[0], tip, sides[1])]


def _layers(colour: Colour, scale: float) -> tuple[tuple[Colour, int], ...]:
    """Colours and widths of a stroke, from below."""
    edge = max(1, round(scale))
    return (_BLACK, 7 * edge), (_WHITE, 5 * edge), (colour, 3 * edge)


def _strokes(canvas: NDArray[np.uint8], lines: Iterable[Sequence[tuple[float, float]]],
             colour: Colour, scale: float) -> None:
    corners = [np.rint(np.array(line) * 2**_SHIFT).astype(np.int32) for line in lines]
    for ink, width in _layers(colour, scale):
        cv2.polylines(canvas, corners, False, ink, width, cv2.LINE_AA, _SHIFT)


def _ring(canvas: NDArray[np.uint8], centre: tuple[float, float], radius: float, colour: Colour,
          scale: float) -> None:
    x, y, r = (round(value * 2**_SHIFT) for value in (*centre, radius))
    for ink, width in _layers(colour, scale):
        cv2.circle(canvas, (x, y), r, ink, width, cv2.LINE_AA, _SHIFT)


@lru_cache(8)
def _font(size: int) -> FreeTypeFont:
    """DejaVu Sans, which has the letters of most alphabets; it comes with Matplotlib."""
    import matplotlib
    from PIL import ImageFont
    return ImageFont.truetype(
        str(Path(matplotlib.get_data_path()) / 'fonts' / 'ttf' / 'DejaVuSans.ttf'), size)


def _with_labels(canvas: NDArray[np.uint8], labels: Sequence[tuple[str, _Box, Colour]],
                 taken: list[_Box], scale: float) -> NDArray[np.uint8]:
    """Write texts beside their marks, clear of other marks as far as possible."""
    from PIL import Image, ImageDraw
    height, width = canvas.shape[:2]
    page = Image.fromarray(canvas)
    draw = ImageDraw.Draw(page)
    font = _font(max(9, round(13 * scale)))
    margin = round(3 * scale)
    for text, about, colour in labels:
        shown = _shortened(text, width - 4 * margin, font.getlength)
        _, top, right, bottom = font.getbbox(shown)
        size = math.ceil(right) + 2 * margin + 2, math.ceil(bottom - top) + 2 * margin + 2
        box = _free_place(about, size, (width, height), taken)
        draw.rectangle((box[0], box[1], box[2] - 1, box[3] - 1), fill=_paper(colour),
                       outline=colour, width=max(1, round(scale)))
        draw.text((box[0] + margin + 1, box[1] + margin + 1 - top), shown, _BLACK, font)
        taken.append(box)
    return np.asarray(page)


def _paper(colour: Colour) -> Colour:
    """A tint of a colour, light enough for black letters."""
    red, green, blue = (round(255 - 0.25 * (255 - part)) for part in colour)
    return red, green, blue


def _shortened(text: str, most: float, length: Callable[[str], float]) -> str:
    """A text shortened to at most a width [px]."""
    text = ' '.join(text.split())
    if length(text) <= most:
        return text
    while text and length(f'{text}…') > most:
        text = text[:-1]
    return f'{text}…'


def _free_place(around: _Box, size: Place, picture: Place, taken: Sequence[_Box]) -> _Box:
    """Place near a mark where its label covers least of other marks and labels."""
    left, top, right, bottom = around
    (width, height), gap = size, 3
    columns = (right + gap, left - width - gap, (left + right - width) // 2, left)
    rows = ((top + bottom - height) // 2, top - height - gap, bottom + gap, top)
    best, least = (0, 0, width, height), math.inf
    for x in columns:
        for y in rows:
            moved = (max(0, min(x, picture[0] - width)), max(0, min(y, picture[1] - height)))
            box = (*moved, moved[0] + width, moved[1] + height)
            covered = sum(_overlap(box, other) for other in taken) + abs(moved[0] - x) + abs(
                moved[1] - y)
            if covered < least:
                best, least = box, covered
    return best


def _overlap(one: _Box, other: _Box) -> int:
    """Area that two boxes share [px]."""
    return (max(0, min(one[2], other[2]) - max(one[0], other[0]))
            * max(0, min(one[3], other[3]) - max(one[1], other[1])))
