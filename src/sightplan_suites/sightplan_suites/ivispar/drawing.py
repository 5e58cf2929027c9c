"""Flat drawings of boards: what stands where in truth, and in an answer."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.sliding.boards import cell_names
from sightplan_suites.ivispar.inference import Placed

BOARD_PX = 250
"""Width and height of a drawn board, with its title and names of cells."""
RIGHT, WRONG = (0, 128, 96), (200, 60, 0)
"""RGB of frames around cells whose piece agrees or does not agree with the other board."""
_PAPER, _INK, _LINE, _DARK, _LIGHT = 'white', (35, 35, 35), (150, 150, 150), '#e9e9e4', '#fafaf7'
_TITLE_PX, _EDGE_PX, _FONT_PX = 24, 18, 13
_CORNERS = {'pyramid': (3, 90.0), 'cylinder': (6, 0.0), 'prism': (4, 90.0), 'cube': (4, 45.0)}
"""Number of corners of a shape seen flat, and the direction of the first one in degrees."""


def draw_board(title: str, size: int, placed: Sequence[Placed], right: Collection[Placed],
               ) -> NDArray[np.uint8]:
    """Draw pieces on a board; each cell with a piece has a frame that says whether it is right.

    Args:
        title: above the board.
        size: cells a side.
        placed: the pieces; several on one cell are counted there.
        right: the pieces that are right.

    Returns:
        (BOARD_PX, BOARD_PX, 3) uint8 RGB.
    """
    from PIL import Image, ImageDraw, ImageFont
    page = Image.new('RGB', (BOARD_PX, BOARD_PX), _PAPER)
    canvas, font = ImageDraw.Draw(page), ImageFont.load_default(_FONT_PX)
    canvas.text((_EDGE_PX, 4), title, _INK, font)
    side = (BOARD_PX - _TITLE_PX - _EDGE_PX) / size
    cells: dict[str, list[Placed]] = {}
    for piece in placed:
        cells.setdefault(piece.cell, []).append(piece)
    for number, cell in enumerate(cell_names(size)):
        column, row = number % size, number // size
        x, y = _EDGE_PX + column * side, _TITLE_PX + (size - 1 - row) * side
        box = (x, y, x + side, y + side)
        canvas.rectangle(box, _DARK if (column + row) % 2 else _LIGHT, _LINE)
        here = cells.get(cell, [])
        for piece in here[:1]:
            _draw_piece(canvas, piece, x + side / 2, y + side / 2, 0.36 * side)
        if here:
            colour = RIGHT if all(piece in right for piece in here) else WRONG
            canvas.rectangle((x + 2, y + 2, x + side - 2, y + side - 2), None, colour, 3)
        if len(here) > 1:
            canvas.text((x + 6, y + 4), f'{len(here)} pieces', _INK, font)
    for number in range(size):
        canvas.text((_EDGE_PX + (number + 0.5) * side, BOARD_PX - 16), chr(ord('a') + number),
                    _INK, font, 'mt')
        canvas.text((4, _TITLE_PX + (size - 0.5 - number) * side), str(number + 1), _INK, font,
                    'lm')
    return np.asarray(page)


def _draw_piece(canvas: Any, piece: Placed, x: float, y: float, radius: float) -> None:
    """Draw a piece as its flat shape; one of an unknown colour is white."""
    from PIL import ImageColor
    try:
        colour = ImageColor.getrgb(piece.colour.replace(' ', ''))
    except ValueError:
        colour = (255, 255, 255)
    if piece.shape == 'sphere':
        canvas.ellipse((x - radius, y - radius, x + radius, y + radius), colour, _INK)
    elif piece.shape == 'cone':
        canvas.chord((x - radius, y - radius, x + radius, y + radius), 180, 360, colour, _INK)
    else:
        count, first = _CORNERS.get(piece.shape, (8, 0.0))
        canvas.polygon([
            (x + radius * math.cos(math.radians(first + 360 * corner / count)),
             y - radius * math.sin(math.radians(first + 360 * corner / count)))
            for corner in range(count)], colour, _INK)
