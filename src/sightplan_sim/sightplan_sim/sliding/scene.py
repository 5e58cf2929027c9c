"""Base of pictures of boards in 3D and 2D.

A picture is made of layers: the board, the names of free cells, and the pieces. Around the board
is one flat colour, ``BACKGROUND``, which no other pixel has: whoever wants another one can replace
it exactly. A picture is a function of board, arrangement, look and options alone: the same bytes
in every process.
"""

from __future__ import annotations

import dataclasses
import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.domains.sliding.boards import Arrangement, cell_names
from sightplan_sim.blocksworld.look import Look as Film
from sightplan_sim.blocksworld.scene import develop
from sightplan_sim.bullet import one_thread
from sightplan_sim.sliding.canvas import Bytes, Floats, Layer, Window, blend
from sightplan_sim.sliding.look import Look, Rgb
from sightplan_sim.sliding.pieces import Byte3, Piece
from sightplan_sim.sliding.solids import FILLING

BACKGROUND: Byte3 = (82, 138, 174)
"""sRGB colour of all pixels that show neither board nor piece, and of no others."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a picture.

    Attributes:
        width, height: of the picture [px].
        labels: ``both``, ``edge``, ``cell`` or ``none``.
        samples: per pixel and direction.
        piece_size: width of the cubes in 3D [cells]; see ``solids``.
    """

    width: int = 640
    height: int = 480
    labels: str = 'both'
    samples: int = 3
    piece_size: float = FILLING


@dataclass(frozen=True, eq=False)
class Name:
    """A cell's name in a picture.

    Attributes:
        window: where it is.
        cover: (h, w) uint8 coverage of the ink there.
        ink: its colour.
    """

    window: Window
    cover: Bytes
    ink: Rgb


@dataclass(frozen=True, eq=False)
class Still:
    """The parts of a picture that do not move.

    Attributes:
        rgb: (H, W, 3) uint8, the board without names of cells, over ``BACKGROUND``.
        cover: (H, W) uint8 coverage of the board.
        names: of the cells, by their numbers; none without labels on cells.
    """

    rgb: Bytes
    cover: Bytes
    names: tuple[Name, ...]


class Scene(ABC):
    """Draws arrangements of one board's pieces.

    Args:
        size: of the board [cells a side].
        pieces: in the order of arrangements.
        look: every random factor.
        options: how a picture is taken.
    """

    def __init__(self, size: int, pieces: Sequence[Piece], look: Look = Look(),  # noqa: B008
                 options: Options = Options()) -> None:
        self.size, self.pieces = size, tuple(pieces)
        self.look, self.options = look, options
        self._last: tuple[Arrangement, Bytes] | None = None
        tints = look.tints or ((0.0, 0.0, 0.0),) * len(self.pieces)
        self.colours = [_shown(piece.rgb, tint)
                        for piece, tint in zip(self.pieces, tints, strict=True)]

    def render(self, arrangement: Arrangement) -> Bytes:
        """(H, W, 3) uint8 RGB of the pieces in an arrangement.

        The last picture is kept, since a board is often looked at again before anything moves.
        """
        if self._last is None or self._last[0] != arrangement:
            self._last = arrangement, self._drawn(arrangement)
        return self._last[1].copy()

    def _drawn(self, arrangement: Arrangement) -> Bytes:
        still = _still(type(self), self.size, dataclasses.replace(
            self.look, tints=(), film=Film()), self.options)
        with one_thread():
            rgb = still.rgb.copy()
            for cell, name in enumerate(still.names):
                if cell not in arrangement:
                    window = name.window.slices
                    rgb[window] = blend(rgb[window], name.cover, name.ink)
            self.shade(rgb, still.cover, arrangement)
            layer = self.layer(arrangement)
            cover = still.cover.copy()
            window = layer.window.slices
            cover[window] = cv2.max(cover[window], layer.over(rgb))
            rgb = develop(rgb, self.look.film, repr(arrangement), self.options.width)
            _set_apart(rgb, cover)
        return rgb

    @abstractmethod
    def segmentation(self, arrangement: Arrangement) -> NDArray[np.int32]:
        """(H, W) int32: which piece each pixel shows, its index + 1; 0 where none is."""

    @abstractmethod
    def layer(self, arrangement: Arrangement) -> Layer:
        """Layer that shows the pieces."""

    @classmethod
    @abstractmethod
    def draw_board(cls, layer: Layer, size: int, look: Look, options: Options) -> None:
        """Draw a board with the labels along its edges."""

    @classmethod
    @abstractmethod
    def draw_name(cls, cell: int, size: int, look: Look, options: Options,
                  ) -> tuple[list[Floats], float, Rgb]:
        """A cell's name: lines through pixels, their width [px], and the colour of the ink."""

    @abstractmethod
    def shade(self, rgb: Bytes, cover: Bytes, arrangement: Arrangement) -> None:
        """Draw the pieces' shadows onto the board, in place."""


@functools.lru_cache(maxsize=6)
def _still(kind: type[Scene], size: int, look: Look, options: Options) -> Still:
    """A board as a kind of scene shows it."""
    width, height = options.width, options.height
    layer = Layer(Window(0, 0, width, height), options.samples)
    with one_thread():
        kind.draw_board(layer, size, look, options)
        rgb = np.full((height, width, 3), BACKGROUND, np.uint8)
        cover = layer.over(rgb)
        names: tuple[Name, ...] = ()
        if options.labels in ('both', 'cell'):
            names = tuple(_name(*kind.draw_name(cell, size, look, options), options)
                          for cell in range(size * size))
    return Still(rgb, cover, names)


def _name(lines: list[Floats], thickness_px: float, ink: Rgb, options: Options) -> Name:
    window = Window.around(np.concatenate(lines), options.width, options.height,
                           margin=2 + round(thickness_px))
    layer = Layer(window, options.samples, channels=1)
    layer.lines(lines, thickness_px, (255.0, 255.0, 255.0))
    return Name(window, layer.averaged(), ink)


def _shown(rgb: Byte3, tint: Rgb) -> Rgb:
    """A piece's colour: never so dark or bright that light and shade are lost on it."""
    red, green, blue = (min(250.0, max(26.0, 36.0 + 0.84 * value + more))
                        for value, more in zip(rgb, tint, strict=True))
    return red, green, blue


def _set_apart(rgb: Bytes, cover: Bytes) -> None:
    """Give ``BACKGROUND`` to all uncovered pixels, and to no others, in place."""
    seen = cover > 0
    rgb[~seen] = BACKGROUND
    same = cv2.inRange(rgb, BACKGROUND, BACKGROUND) > 0
    same &= seen
    if same.any():
        rgb[same, 2] += 1


def cell_name(cell: int, size: int) -> str:
    """A cell's name as it is written on boards."""
    return cell_names(size)[cell].upper()
