"""Places of pieces on plinths, from one colour picture with depth.

Nothing here knows what a picture should show. What stands on the board is found as pieces of a
height map; each must be a plinth; and which geom is on which is what fits all of them best: shapes
by their heights, colours by their hue. What fits worse than right pictures do is named no piece.
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

from sightplan.domains.sliding.boards import SHAPES, cell_names
from sightplan.model import Atom, State
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Rgbd, Vector
from sightplan_arm.plinths import (
    GEOM_M,
    HEIGHT_M,
    PAINTS,
    WIDTH_M,
    PlinthPiece,
    cell_at,
    cell_centres_m,
)
from sightplan_arm.skills.surface import CELL_M, Mask, Surface, see_surface


@dataclass(frozen=True, slots=True)
class BoardLimits:
    """Sizes and errors by which pieces are found and named, and a moved board is noticed.

    The values were chosen by hand, but where a field gives what was measured.
    """

    beside_m: float = 0.06
    """Distance around the board up to which pieces are searched for."""

    top_m: float = 0.004
    """The upper side of a plinth is seen within this."""

    least_top_px: int = 40
    """Smallest number of pixels of a plinth's upper side."""

    width_off_m: float = 0.010
    """Largest error of a plinth's width."""

    geom_m: float = 0.004
    """Height above a plinth from which points belong to the geom."""

    least_geom_px: int = 12
    """Smallest number of a geom's pixels."""

    far_m: float = 0.012
    """A height that is off by more is off by this."""

    height_unit_m: float = 0.001
    """Error of a height that counts as one, ..."""

    hue_unit: float = 0.08
    """... and error of a hue that does."""

    shifts_m: tuple[float, ...] = (-0.003, 0.0, 0.003)
    """Shifts of a shape on its plinth that are tried."""

    other_height_m: float = 0.0006
    """A piece is not named where another shape fits better by more: at most 0.43 mm in right
    pictures (910 pieces)."""

    far_height_m: float = 0.0032
    """A piece is not named where its own shape is off by more: at most 2.7 mm in right pictures
    (2,518 pieces)."""

    far_hue: float = 0.04
    """A piece is not named where its hue is off by more: at most 0.006 in right pictures (2,518
    pieces)."""

    open_hue: float = 0.03
    """A piece is not named where another paint's hue is off by less than this more: at least 0.065
    in right pictures (2,518 pieces)."""

    aside_m: float = 0.020
    """The board counts as moved if all pieces are off their cells by more than this, ..."""

    alike_m: float = 0.010
    """... and by the same offset within this; ..."""

    turned_rad: float = math.radians(4.0)
    """... or if they are turned about their middle by more than this."""

    least_paint: float = 0.35
    """Least saturation of a geom; a right picture has 0.57, in a light that is not white."""


LIMITS = BoardLimits()
"""The values that are used."""

_HUES = {piece.colour: piece.hue for piece in (PlinthPiece('', 'cube', paint) for paint in PAINTS)}


@dataclass(frozen=True, eq=False)
class SeenBoard:
    """Pieces and warnings that a camera sees on a board.

    Attributes:
        size: of the board [cells a side].
        places_m: (2,) where each piece stands that is seen, by name, in the table's frame.
        cells: the number of the cell in which it stands; None: in none.
        warnings: what is missing, is there and is no piece, or does not look like the piece that
            it would have to be.
        unnamed: numbers of cells in which something stands that was not named.
    """

    size: int
    places_m: Mapping[str, Vector]
    cells: Mapping[str, int | None]
    warnings: tuple[str, ...]
    unnamed: frozenset[int | None] = frozenset()

    def facts(self) -> State:
        """The seen atoms of ``at`` and ``empty``."""
        names = cell_names(self.size)
        taken = {*self.cells.values(), *self.unnamed}
        return frozenset(
            [Atom('at', (piece, names[cell])) for piece, cell in self.cells.items()
             if cell is not None]
            + [Atom('empty', (name,)) for cell, name in enumerate(names) if cell not in taken])


@dataclass(frozen=True, eq=False)
class _Plinth:
    """A body of the size of a plinth.

    Attributes:
        place_m: (2,) its middle.
        heights_m: (N,) what is seen of its upper side, plinth and geom.
        x, y: (N,) where, from its middle.
        hue: of the geom beside the grey of the plinth, in [0, 1); None where nothing is seen of
            it, or no colour.
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
    half = size * spacing / 2 + LIMITS.beside_m
    surface = see_surface(rgbd, robot.camera.pose, (half, half))
    plinths, warnings = [], []
    for label in np.unique(surface.labels[surface.labels > 0]).tolist():
        found = _plinth(surface, surface.pixels_of(label))
        if found is None:
            rows, columns = np.nonzero(surface.labels == label)
            x, y = surface.low_m + CELL_M * (np.array([columns.mean(), rows.mean()]) + 0.5)
            warnings.append(f'what stands at x {x:.2f}, y {y:.2f} m of the table is not a piece')
        else:
            plinths.append(found)
    places, named = {}, []
    if plinths:
        costs = np.array([[_cost(piece, plinth) for plinth in plinths] for piece in pieces])
        for row, column in zip(*linear_sum_assignment(costs), strict=True):
            unlike = _mismatch(pieces[row], plinths[column])
            if unlike:
                x, y = plinths[column].place_m
                warnings.append(f'{pieces[row].name} is not surely seen: at x {x:.2f}, y {y:.2f} '
                                f'm of the table, where it would have to be, {unlike}')
            else:
                places[pieces[row].name] = plinths[column].place_m
            named.append(pieces[row].name)
    warnings += [f'{piece.name} is not seen' for piece in pieces if piece.name not in named]
    if len(plinths) > len(pieces):
        warnings.append(f'{len(plinths)} pieces are seen, but there should be {len(pieces)}')
    cells = {name: cell_at(place, size, spacing) for name, place in places.items()}
    centres = cell_centres_m(size, spacing)
    aside = _aside(np.array([places[name] for name, cell in cells.items() if cell is not None]),
                   np.array([centres[cell] for cell in cells.values() if cell is not None]))
    warnings += [aside] if aside else []
    unnamed = {cell_at(plinth.place_m, size, spacing) for plinth in plinths} - {*cells.values()}
    return SeenBoard(size, places, cells, tuple(warnings), frozenset(unnamed))


def _aside(places_m: Vector, centres_m: Vector) -> str:
    """Explain that all pieces stand off the middles (N, 2) of their cells; '' if they do not.

    One piece may stand aside; when all do so alike, the camera or the board is not where it should
    be. A shift by whole cells cannot be told.
    """
    if len(places_m) < 2:
        return ''
    off = places_m - centres_m
    shift = np.median(off, axis=0)
    remedy = ('check camera.pose and table.pose (sightplan arm calibrate), and where the board '
              'lies')
    if np.hypot(*shift) > LIMITS.aside_m and np.hypot(*(off - shift).T).max() < LIMITS.alike_m:
        return (f'all pieces are seen {1e3 * np.hypot(*shift):.0f} mm aside of the middles of '
                f'their cells (x {1e3 * shift[0]:.0f}, y {1e3 * shift[1]:.0f} mm): {remedy}')
    around, away = centres_m - centres_m.mean(axis=0), off - off.mean(axis=0)
    spread = float((around**2).sum())
    turn = float((around[:, 0] * away[:, 1] - around[:, 1] * away[:, 0]).sum()) / max(spread, 1e-9)
    rest = away - turn * np.column_stack([-around[:, 1], around[:, 0]])
    if (len(places_m) > 3 and abs(turn) > LIMITS.turned_rad
            and np.hypot(*rest.T).max() < LIMITS.alike_m):
        return f'all pieces are seen turned by {math.degrees(turn):.1f} degrees: {remedy}'
    return ''


def _plinth(surface: Surface, pixels: Mask) -> _Plinth | None:
    """The plinth that the pixels (H, W) show a part of; None if they show something else."""
    points = surface.points_m[pixels].astype(np.float64)
    top = points[np.abs(points[:, 2] - HEIGHT_M) < LIMITS.top_m]
    if (len(top) < LIMITS.least_top_px
            or float(points[:, 2].max()) > HEIGHT_M + GEOM_M + LIMITS.top_m):
        return None
    low, high = np.percentile(top[:, :2], (1.0, 99.0), axis=0)
    if abs(high[0] - low[0] - WIDTH_M) > LIMITS.width_off_m or (
            high[1] - low[1] > WIDTH_M + LIMITS.width_off_m):
        return None
    # The geom may hide the far side, and nothing hides the near one.
    place = np.array([(low[0] + high[0]) / 2, low[1] + WIDTH_M / 2])
    rows, columns = np.nonzero(np.nan_to_num(surface.top_m) > HEIGHT_M - LIMITS.top_m)
    x, y = (surface.low_m + CELL_M * (np.column_stack([columns, rows]) + 0.5) - place).T
    near = np.hypot(x, y) < WIDTH_M / 2
    heights = surface.top_m[rows, columns][near].astype(np.float64)
    low_ones = heights[heights < HEIGHT_M + LIMITS.geom_m]  # highest in a cell: noise raises
    heights -= float(np.median(low_ones)) - HEIGHT_M if len(low_ones) else 0.0
    geom = points[:, 2] > HEIGHT_M + LIMITS.geom_m
    grey = np.median(surface.rgb[pixels][np.abs(points[:, 2] - HEIGHT_M) < LIMITS.top_m], axis=0)
    enough = int(geom.sum()) >= LIMITS.least_geom_px
    hue = _hue(surface.rgb[pixels][geom], grey) if enough else None
    return _Plinth(place, heights, x[near], y[near], hue)


def _hue(rgb: NDArray[np.uint8], grey: Vector) -> float | None:
    """Mean hue in [0, 1) of pixels (N, 3); vivid ones count more. None: they have no colour.

    Args:
        rgb: the pixels.
        grey: (3,) what a grey surface beside them looks like: so the light has less of a say.
    """
    white = np.clip(float(grey.mean()) / np.maximum(grey, 1.0), 0.5, 2.0)
    lit = np.clip(rgb * white / 255.0, 0.0, 1.0).astype(np.float32)
    hsv = cv2.cvtColor(np.ascontiguousarray(lit)[None], cv2.COLOR_RGB2HSV)[0].astype(np.float64)
    angles = np.radians(hsv[:, 0])
    x, y = (float((hsv[:, 1] * part).mean()) for part in (np.cos(angles), np.sin(angles)))
    if math.hypot(x, y) < LIMITS.least_paint:
        return None
    return math.atan2(y, x) / (2 * math.pi) % 1.0


def _cost(piece: PlinthPiece, plinth: _Plinth) -> float:
    """Cost of assigning a plinth to a piece: squared errors of height and hue."""
    if plinth.hue is None:
        return 2.0 * (LIMITS.far_m / LIMITS.height_unit_m) ** 2
    return ((_height_off_m(piece, plinth) / LIMITS.height_unit_m) ** 2
            + (_turn(piece.hue, plinth.hue) / LIMITS.hue_unit) ** 2)


def _height_off_m(piece: PlinthPiece, plinth: _Plinth) -> float:
    """Mean error of the heights that a piece would have."""
    return min(float(np.minimum(np.abs(
        piece.height_m(plinth.x + dx, plinth.y + dy) - plinth.heights_m), LIMITS.far_m).mean())
        for dx, dy in itertools.product(LIMITS.shifts_m, repeat=2))


def _turn(one: float, other: float) -> float:
    """Distance of two hues, in [0, 0.5]."""
    return abs((one - other + 0.5) % 1.0 - 0.5)


def _mismatch(piece: PlinthPiece, plinth: _Plinth) -> str:
    """Explain why the plinth is not the piece that fits it best; '' if it can be."""
    if plinth.hue is None:
        return 'no colour is seen (is the picture in colour, and bright enough?)'
    turns = {colour: _turn(hue, plinth.hue) for colour, hue in _HUES.items()}
    likely = sorted(turns, key=lambda colour: turns[colour])[:2]
    if likely[0] != piece.colour:
        return f'something {likely[0]} is seen'
    if turns[likely[1]] - turns[likely[0]] < LIMITS.open_hue:
        return f'something is seen that may be {likely[0]} or {likely[1]}'
    if turns[piece.colour] > LIMITS.far_hue:
        return (f'something is seen whose colour is no {piece.colour} (check the light, and the '
                "order of the picture's colours)")
    offs = {kind: _height_off_m(PlinthPiece('', kind, piece.colour), plinth) for kind in SHAPES}
    nearest = min(offs, key=lambda kind: offs[kind])
    if offs[piece.kind] - offs[nearest] > LIMITS.other_height_m:
        return f'a {nearest} is seen'
    if offs[piece.kind] > LIMITS.far_height_m:
        return f'something is seen that does not look like a {piece.kind}'
    return ''
