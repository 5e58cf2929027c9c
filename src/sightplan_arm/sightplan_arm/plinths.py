"""Pieces of the domain ``sliding`` that a hand can take: small geoms on plinths, and the board.

A plinth is an upright column with eight sides: whichever way the hand is turned by multiples of 45
degrees, its fingers press on two of them. On top stands the geom, narrower than the plinth and no
higher than there is room under the hand. The hand is turned by 45 degrees to the board, where
fingers and hand have room between the neighbours. Cells are ``table.spacing_m`` of the robot's
file apart; the board's middle is the origin of the table's frame, a1 is near left.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sightplan.domains.sliding.boards import SHAPES, Board, cell_names
from sightplan.model import InputError, Problem
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Vector
from sightplan_arm.skills.clearance import Box

WIDTH_M, HEIGHT_M = 0.048, 0.050
"""Distance of a plinth's opposite sides, and its height [m]."""
GRIP_M = 0.042
"""Height of the tip of the hand that takes a plinth."""
MASS_KG = 0.08
GEOM_M = 0.024
"""Height of the highest geom."""
PLINTH_RGB = (0.62, 0.63, 0.65)
PAINTS = {
    'red': (0.88, 0.12, 0.12), 'green': (0.12, 0.55, 0.14), 'blue': (0.14, 0.16, 0.90),
    'yellow': (0.95, 0.93, 0.14), 'orange': (0.95, 0.55, 0.12), 'purple': (0.60, 0.14, 0.62)}
"""Colours of geoms, by the word that their names begin with; sRGB in [0, 1]."""

_HALF_M = {'cube': 0.012, 'sphere': 0.009, 'pyramid': 0.016, 'cylinder': 0.016, 'cone': 0.012,
           'prism': 0.014}
_TALL_M = {'cube': 0.024, 'sphere': 0.018, 'pyramid': 0.024, 'cylinder': 0.020, 'cone': 0.024,
           'prism': 0.024}  # so that a noisy depth camera can distinguish them


@dataclass(frozen=True, slots=True)
class PlinthPiece:
    """A geom on a plinth.

    Attributes:
        name: of the piece, such as ``red_cube``.
        kind: its shape.
        colour: one of ``PAINTS``.
    """

    name: str
    kind: str
    colour: str

    @property
    def half_m(self) -> float:
        """Half the side of the geom's base, or the radius of the circle around it."""
        return _HALF_M[self.kind]

    @property
    def tall_m(self) -> float:
        """Height of the geom."""
        return _TALL_M[self.kind]

    @property
    def hue(self) -> float:
        """Hue of the plinth's paint, in [0, 1)."""
        return colorsys.rgb_to_hsv(*PAINTS[self.colour])[0]

    def height_m(self, x: Vector, y: Vector) -> Vector:
        """Height of the piece's upper side over the table [m].

        Args:
            x: places seen from the piece's middle, (N,) [m].
            y: likewise.

        Returns:
            (N,); 0 beside the plinth.
        """
        half, tall = self.half_m, self.tall_m
        around, side = np.hypot(x, y), np.maximum(np.abs(x), np.abs(y))
        with np.errstate(invalid='ignore'):
            geom = {
                'cube': np.where(side <= half, tall, 0.0),
                'cylinder': np.where(around <= half, tall, 0.0),
                'pyramid': np.maximum(0.0, tall * (1 - side / half)),
                'cone': np.maximum(0.0, tall * (1 - around / half)),
                'sphere': np.where(around <= half, half + np.sqrt(half * half - around * around),
                                   0.0),
                'prism': np.where(np.maximum(-y, y / 2 + np.abs(x) * math.sqrt(0.75))
                                  <= half / 2, tall, 0.0),
            }[self.kind]
        on_plinth = np.maximum(side, (np.abs(x) + np.abs(y)) / math.sqrt(2)) <= WIDTH_M / 2
        return np.asarray(np.where(on_plinth, HEIGHT_M + geom, 0.0))


def plinth_outline() -> Vector:
    """(8, 2) corners of a plinth seen from above, counter-clockwise [m]."""
    angles = math.pi / 8 + math.pi / 4 * np.arange(8)
    radius = WIDTH_M / 2 / math.cos(math.pi / 8)
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


def pieces_of(problem: Problem, robot: RobotConfig) -> tuple[int, tuple[PlinthPiece, ...]]:
    """Size of a problem's board [cells a side] and its pieces, as far as they can be taken.

    Raises:
        InputError: it is no board with geoms of colours that there are, or does not fit the
            robot's table; says what to change.
    """
    board, where = Board.of(problem), problem.source or problem.name
    most = robot.table.max_columns
    if board.size > most:
        raise InputError(f'{where}: {board.size} cells a side, but before robot {robot.name} '
                         f'there is room for {most} (table.max_columns in {robot.file}): choose '
                         'other problems, or execution=symbolic')
    pieces = []
    for name, kind in zip(board.pieces, board.kinds, strict=True):
        colour = name.removesuffix(f'_{kind}')
        if kind not in SHAPES or colour not in PAINTS:
            raise InputError(
                f'{where}: {name}: there are plinths with {", ".join(SHAPES)} in '
                f'{", ".join(PAINTS)} (called <colour>_<shape>), and no others: choose other '
                'problems, or execution=symbolic')
        pieces.append(PlinthPiece(name, kind, colour))
    return board.size, tuple(pieces)


def cell_centres_m(size: int, spacing_m: float) -> Vector:
    """(size * size, 2) middles of cells in the table's frame, in the order of their numbers."""
    along = (np.arange(size) - (size - 1) / 2) * spacing_m
    return np.array([(x, y) for y in along for x in along])


def cell_at(place_m: Vector, size: int, spacing_m: float) -> int | None:
    """Number of the cell in which a place (2,) of the table's frame is; None: of none."""
    column, row = np.floor(np.asarray(place_m) / spacing_m + size / 2).astype(int).tolist()
    return row * size + column if 0 <= column < size and 0 <= row < size else None


def cell_name(cell: int | None, size: int) -> str:
    """Name of a cell for people; ``no cell`` for None."""
    return 'no cell' if cell is None else cell_names(size)[cell]


def boxes_at(places_m: Sequence[Vector]) -> list[Box]:
    """Boxes that the hand keeps clear of: plinths, and the room of their geoms."""
    boxes = []
    for x, y in places_m:
        for wide, high in ((WIDTH_M, HEIGHT_M), (2 * max(_HALF_M.values()), HEIGHT_M + GEOM_M)):
            boxes.append(Box(np.array([x, y, high / 2]), np.array([wide, wide, high])))
    return boxes
