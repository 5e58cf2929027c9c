"""Boards in 2D: a flat grid with a flat figure for each kind of piece."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.sliding.boards import TILE, Arrangement
from sightplan_sim.sliding import letters
from sightplan_sim.sliding.canvas import Bytes, Floats, Layer, Window, filled_hull
from sightplan_sim.sliding.look import Look, Rgb
from sightplan_sim.sliding.scene import Options, Scene, cell_name

_BOARD = 0.80
"""Side of the cells together, in sides of the picture."""
_MARGIN_PX = 2.5
"""Smallest width of the background around the board [px]."""
_NAME_HEIGHT, _NUMBER_HEIGHT, _EDGE_HEIGHT = 0.36, 0.42, 0.048
"""Heights of letters: names and numbers in cells, edge labels in sides of the picture."""
_WHITE: Rgb = (244.0, 244.0, 244.0)
_DARK: Rgb = (24.0, 24.0, 28.0)
_LINE = 0.012
"""Width of the grid's lines and of the figures' outlines, in cells over board sizes of one."""
_DIM = 0.62
"""Brightness of cells relative to 3D, so that white letters are legible on them."""


@dataclass(frozen=True, slots=True)
class _Grid:
    """Positions of cells in a picture.

    Attributes:
        size: of the board [cells a side].
        left, bottom: the board's lower left corner [px], from the first pixel's centre.
        cell: side of a cell [px].
        rim: width of the frame around the cells [px].
    """

    size: int
    left: float
    bottom: float
    cell: float
    rim: float

    def at(self, points: Floats) -> Floats:
        """Pixels (N, 2) of points (N, 2) in cells, x to the right and y up."""
        return np.column_stack([self.left + self.cell * points[:, 0],
                                self.bottom - self.cell * points[:, 1]])

    def middle(self, cell: int) -> Floats:
        """(2,) middle of a cell, in cells."""
        return np.array([cell % self.size + 0.5, cell // self.size + 0.5])


@functools.cache
def figure(kind: str) -> Floats:
    """The corners (N, 2) of a kind's figure around the middle of its cell, x right and y up.

    iVISPAR's are square (cube), circle (sphere), triangle (pyramid) and hexagon (cylinder); ours
    are semicircle (cone), diamond (prism) and a larger square (tile).
    """
    def turned(count: int, radius: float, first_deg: float) -> Floats:
        angles = np.radians(first_deg) + 2 * math.pi * np.arange(count) / count
        return radius * np.column_stack([np.cos(angles), np.sin(angles)])

    if kind == 'cube':
        return turned(4, 0.45, 45.0)
    if kind == 'sphere':
        return turned(96, 0.345, 0.0)
    if kind == 'pyramid':
        return turned(3, 0.42, 90.0) - (0.0, 0.09)
    if kind == 'cylinder':
        return turned(6, 0.42, 0.0)
    if kind == 'cone':
        arc = np.radians(np.linspace(0.0, 180.0, 49))
        return 0.41 * np.column_stack([np.cos(arc), np.sin(arc)]) - (0.0, 0.19)
    if kind == 'prism':
        return turned(4, 1.0, 0.0) * (0.28, 0.43)
    return turned(4, 0.62, 45.0)


class Scene2D(Scene):
    """Draws a board as a flat grid; there is no light, and all pieces are seen whole."""

    def segmentation(self, arrangement: Arrangement) -> NDArray[np.int32]:
        """(H, W) int32: which piece each pixel shows, its index + 1; 0 where none is."""
        grid = _grid(self.size, self.options)
        found = np.zeros((self.options.height, self.options.width), np.uint8)
        for index, cell in enumerate(arrangement):
            filled_hull(found, grid.at(figure(self.pieces[index].kind) + grid.middle(cell)),
                        index + 1)
        return found.astype(np.int32)

    def layer(self, arrangement: Arrangement) -> Layer:
        """Layer that shows the pieces."""
        options = self.options
        grid = _grid(self.size, options)
        board = np.array([(0.0, 0.0), (self.size, self.size)])
        layer = Layer(Window.around(grid.at(board), options.width, options.height),
                      options.samples)
        thickness = _LINE * self.size * grid.cell / 2
        for cell, piece, colour in zip(arrangement, self.pieces, self.colours, strict=True):
            middle = grid.middle(cell)
            corners = grid.at(figure(piece.kind) + middle)
            layer.polygon(corners, colour)
            red, green, blue = colour
            bright = 0.3 * red + 0.6 * green + 0.1 * blue > 42
            layer.lines([corners], thickness, _DARK if bright else _WHITE, closed=True)
            if piece.kind == TILE:
                layer.lines(*_written(str(piece.number), middle, _NUMBER_HEIGHT, grid), _WHITE)
        return layer

    def shade(self, rgb: Bytes, cover: Bytes, arrangement: Arrangement) -> None:
        """Do nothing: flat pieces cast no shadows."""

    @classmethod
    def draw_board(cls, layer: Layer, size: int, look: Look, options: Options) -> None:
        """Draw a board with the labels along its edges."""
        grid = _grid(size, options)
        rim = grid.rim / grid.cell
        layer.polygon(grid.at(_box(-rim, -rim, size + 2 * rim)), look.rim)
        gap = _LINE * size / 8
        for cell in range(size * size):
            y, x = divmod(cell, size)
            red, green, blue = (_DIM * value for value in _base(cell, size, look))
            layer.polygon(grid.at(_box(x + gap, y + gap, 1 - 2 * gap)), (red, green, blue))
        if options.labels in ('both', 'edge'):
            tall = _EDGE_HEIGHT * min(options.width, options.height) / grid.cell
            for k in range(size):
                for text, place in ((cell_name(k, size)[0], (k + 0.5, -rim / 2)),
                                    (str(k + 1), (-rim / 2, k + 0.5))):
                    layer.lines(*_written(text, np.array(place), tall, grid), _WHITE)

    @classmethod
    def draw_name(cls, cell: int, size: int, look: Look, options: Options,
                  ) -> tuple[list[Floats], float, Rgb]:
        """A cell's name: lines through pixels, their width [px], and the colour of the ink."""
        grid = _grid(size, options)
        return (*_written(cell_name(cell, size), grid.middle(cell), _NAME_HEIGHT, grid), _WHITE)


def _grid(size: int, options: Options) -> _Grid:
    """The board in the middle of the picture."""
    short = min(options.width, options.height)
    side = _BOARD * short
    space = (short - side) / 2
    return _Grid(size, (options.width - 1 - side) / 2, (options.height - 1 + side) / 2,
                 side / size, min(0.85 * space, space - _MARGIN_PX))


def _base(cell: int, size: int, look: Look) -> Rgb:
    """A cell's colour; light ones are only a little lighter than dark ones, for white labels."""
    y, x = divmod(cell, size)
    if (x + y) % 2:
        red, green, blue = (0.75 * b + 0.25 * a
                            for a, b in zip(look.light_cell, look.dark_cell, strict=True))
        return red, green, blue
    return look.dark_cell


def _box(x: float, y: float, side: float) -> Floats:
    return np.array([(x, y), (x + side, y), (x + side, y + side), (x, y + side)])


def _written(text: str, middle: Floats, height: float, grid: _Grid,
             ) -> tuple[list[Floats], float]:
    """A text: lines through pixels, and their width [px]."""
    return ([grid.at(middle + height * points) for points in letters.strokes(text)],
            letters.WEIGHT * height * grid.cell)
