"""Where pieces on plinths stand, from one colour picture with depth.

Nothing here knows what a picture should show. What stands on the board is found as pieces of a
height map; each must be a plinth; and which geom is on which is what fits all of them best: shapes
by their heights, colours by their hue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from sightplan.domains.sliding.boards import cell_names
from sightplan.model import Atom, State
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Rgbd, Vector
from sightplan_arm.plinths import GEOM_M, HEIGHT_M, WIDTH_M, PlinthPiece, cell_at
from sightplan_arm.skills.surface import CELL_M, Mask, Surface, see_surface

_BESIDE_M = 0.06  # so far around the board pieces are looked for
_TOP_M = 0.004  # the upper side of a plinth is seen within this
_LEAST_TOP_PX = 40
_WIDTH_OFF_M = 0.010  # by which a plinth may look wider or narrower
_GEOM_M = 0.004  # what is so much higher than a plinth is the geom
_LEAST_GEOM_PX = 12
_FAR_M = 0.012  # a height that is off by more is off by this
_HEIGHT_UNIT_M, _HUE_UNIT = 0.001, 0.08  # what counts as one
_SHIFTS_M = (-0.003, 0.0, 0.003)


@dataclass(frozen=True, eq=False)
class SeenBoard:
    """What a camera sees on a board.

    Attributes:
        size: of the board [cells a side].
        places_m: (2,) where each piece stands that is seen, by name, in the table's frame.
        cells: the number of the cell in which it stands; None: in none.
        warnings: what is missing, or is there and is no piece.
    """

    size: int
    places_m: Mapping[str, Vector]
    cells: Mapping[str, int | None]
    warnings: tuple[str, ...]

    def facts(self) -> State:
        """The atoms of ``at`` and ``empty`` that hold in what is seen."""
        names = cell_names(self.size)
        taken = set(self.cells.values())
        return frozenset(
            [Atom('at', (piece, names[cell])) for piece, cell in self.cells.items()
             if cell is not None]
            + [Atom('empty', (name,)) for cell, name in enumerate(names) if cell not in taken])


@dataclass(frozen=True, eq=False)
class _Plinth:
    """Something that stands like a plinth.

    Attributes:
        place_m: (2,) its middle.
        heights_m: (N,) what is seen of its upper side, plinth and geom.
        x, y: (N,) where, from its middle.
        hue: of the geom, in [0, 1); None where nothing is seen of it.
    """

    place_m: Vector
    heights_m: Vector
    x: Vector
    y: Vector
    hue: float | None


def see_board(rgbd: Rgbd, robot: RobotConfig, pieces: Sequence[PlinthPiece],
              size: int) -> SeenBoard:
    """Find pieces on plinths.

    Args:
        rgbd: the picture, with depth.
        robot: where its file has camera and cells.
        pieces: that there should be.
        size: of the board [cells a side].

    Raises:
        InputError: see ``see_surface``.
    """
    spacing = robot.table.spacing_m
    half = size * spacing / 2 + _BESIDE_M
    surface = see_surface(rgbd, robot.camera.pose, (half, half))
    plinths, warnings = [], []
    for label in np.unique(surface.labels[surface.labels > 0]).tolist():
        found = _plinth(surface, surface.pixels_of(label))
        if found is None:
            rows, columns = np.nonzero(surface.labels == label)
            x, y = surface.low_m + CELL_M * (np.array([columns.mean(), rows.mean()]) + 0.5)
            warnings.append(f'what stands at x {x:.2f}, y {y:.2f} m of the table is no piece')
        else:
            plinths.append(found)
    places = {}
    if plinths:
        costs = np.array([[_cost(piece, plinth) for plinth in plinths] for piece in pieces])
        places = {pieces[row].name: plinths[column].place_m
                  for row, column in zip(*linear_sum_assignment(costs), strict=True)}
    warnings += [f'{piece.name} is not seen' for piece in pieces if piece.name not in places]
    if len(plinths) > len(pieces):
        warnings.append(f'{len(plinths)} pieces are seen, but there should be {len(pieces)}')
    return SeenBoard(size, places, {name: cell_at(place, size, spacing)
                                    for name, place in places.items()}, tuple(warnings))


def _plinth(surface: Surface, pixels: Mask) -> _Plinth | None:
    """A plinth of which pixels (H, W) show something; None: they show something else."""
    points = surface.points_m[pixels].astype(np.float64)
    top = points[np.abs(points[:, 2] - HEIGHT_M) < _TOP_M]
    if len(top) < _LEAST_TOP_PX or float(points[:, 2].max()) > HEIGHT_M + GEOM_M + _TOP_M:
        return None
    low, high = np.percentile(top[:, :2], (1.0, 99.0), axis=0)
    if abs(high[0] - low[0] - WIDTH_M) > _WIDTH_OFF_M or (
            high[1] - low[1] > WIDTH_M + _WIDTH_OFF_M):
        return None
    # The geom may hide the far side, and nothing hides the near one.
    place = np.array([(low[0] + high[0]) / 2, low[1] + WIDTH_M / 2])
    rows, columns = np.nonzero(np.nan_to_num(surface.top_m) > HEIGHT_M - _TOP_M)
    x, y = (surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5) - place).T
    near = np.hypot(x, y) < WIDTH_M / 2
    heights = surface.top_m[rows, columns][near].astype(np.float64)
    low_ones = heights[heights < HEIGHT_M + _GEOM_M]  # the highest points of a cell: noise raises
    heights -= float(np.median(low_ones)) - HEIGHT_M if len(low_ones) else 0.0
    geom = points[:, 2] > HEIGHT_M + _GEOM_M
    hue = _hue(surface.rgb[pixels][geom]) if int(geom.sum()) >= _LEAST_GEOM_PX else None
    return _Plinth(place, heights, x[near], y[near], hue)


def _hue(rgb: NDArray[np.uint8]) -> float:
    """Mean hue in [0, 1) of pixels (N, 3); vivid ones count more."""
    hsv = cv2.cvtColor(np.ascontiguousarray(rgb, np.float32)[None] / np.float32(255),
                       cv2.COLOR_RGB2HSV)[0].astype(np.float64)
    angles = np.radians(hsv[:, 0])
    x, y = (float((hsv[:, 1] * part).sum()) for part in (np.cos(angles), np.sin(angles)))
    return math.atan2(y, x) / (2 * math.pi) % 1.0


def _cost(piece: PlinthPiece, plinth: _Plinth) -> float:
    """How badly a plinth would fit a piece: errors of heights and hue, squared."""
    if plinth.hue is None:
        return 2.0 * (_FAR_M / _HEIGHT_UNIT_M) ** 2
    off = min(float(np.minimum(np.abs(
        piece.height_m(plinth.x + dx, plinth.y + dy) - plinth.heights_m), _FAR_M).mean())
        for dx, dy in itertools.product(_SHIFTS_M, repeat=2))
    turn = abs((piece.hue - plinth.hue + 0.5) % 1.0 - 0.5)
    return (off / _HEIGHT_UNIT_M) ** 2 + (turn / _HUE_UNIT) ** 2
