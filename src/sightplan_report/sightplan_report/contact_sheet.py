"""Many small pictures on one page, each with a few words under it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_INK, _FAINT, _PAPER, _EMPTY = (40, 40, 40), (110, 110, 110), (250, 250, 248), (226, 226, 222)
_MARGIN, _GAP, _LINE = 12, 10, 16
_SCALE = 0.42
_MAX_LINES = 4


@dataclass(frozen=True, eq=False)
class Picture:
    """Picture and texts of one cell of a contact sheet.

    Attributes:
        title: first line under it.
        text: further words; broken into lines, and cut after the third.
        image: (H, W, 3) uint8 RGB; None leaves the cell empty.
    """

    title: str
    text: str = ''
    image: NDArray[np.uint8] | None = None


def draw_sheet(pictures: Sequence[Picture], columns: int = 5, size: int = 320,
               ) -> NDArray[np.uint8]:
    """Draw pictures in rows, from left to right.

    Args:
        pictures: at least one.
        columns: most pictures in a row.
        size: width of each [px]; the height follows from the first picture's shape.

    Returns:
        (H, W, 3) uint8 RGB.
    """
    if not pictures or columns < 1 or size < 1:
        raise ValueError(f'{len(pictures)} pictures in {columns} columns of {size} pixels')
    columns = min(columns, len(pictures))
    shape = next((p.image.shape for p in pictures if p.image is not None), (1, 1, 3))
    height = max(1, round(size * shape[0] / shape[1]))
    captions = [_caption(picture, size) for picture in pictures]
    below = _LINE * max(map(len, captions)) + 6
    rows = -(-len(pictures) // columns)
    page = np.full((2 * _MARGIN + rows * (height + below) + (rows - 1) * _GAP,
                    2 * _MARGIN + columns * size + (columns - 1) * _GAP, 3), _PAPER, np.uint8)
    for index, (picture, lines) in enumerate(zip(pictures, captions, strict=True)):
        row, column = divmod(index, columns)
        x = _MARGIN + column * (size + _GAP)
        y = _MARGIN + row * (height + below + _GAP)
        cell = page[y:y + height, x:x + size]
        cell[:] = _EMPTY if picture.image is None else _resized(picture.image, size, height)
        for number, line in enumerate(lines, 1):
            cv2.putText(page, line, (x, y + height + _LINE * number), _FONT, _SCALE,
                        _FAINT if number > 1 else _INK, 1, cv2.LINE_AA)
    return page


def shrunk(image: NDArray[np.uint8], width: int) -> NDArray[np.uint8]:
    """A picture scaled to at most a width [px], as a sheet needs it."""
    if image.shape[1] <= width:
        return image
    return _resized(image, width, max(1, round(width * image.shape[0] / image.shape[1])))


def _resized(image: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    shrinks = image.shape[0] > height or image.shape[1] > width
    return np.asarray(cv2.resize(image, (width, height), interpolation=(
        cv2.INTER_AREA if shrinks else cv2.INTER_NEAREST)), np.uint8)


def _caption(picture: Picture, width: int) -> list[str]:
    lines = [_cut(picture.title, width)]
    for word in picture.text.split():
        longer = f'{lines[-1]} {word}'
        if len(lines) > 1 and _width(longer) <= width:
            lines[-1] = longer
        elif len(lines) < _MAX_LINES:
            lines.append(_cut(word, width))
        else:
            lines[-1] = _cut(f'{lines[-1]} ...', width)
            break
    return lines


def _width(text: str) -> int:
    return int(cv2.getTextSize(text, _FONT, _SCALE, 1)[0][0])


def _cut(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    text = text.removesuffix(' ...')
    while text and _width(f'{text}...') > width:
        text = text[:-1]
    return f'{text}...'
