"""Poses of coloured cubes, from one colour picture with depth.

Nothing here knows what a picture should show: cubes are found, fitted and judged from pixels
alone. The table's frame is that of ``sightplan_arm.config.TableConfig``: x to the right as the
camera sees it, y away from it, z up, the table's top at z = 0. Cubes stand upright; one that does
not is found all the same, and said to be tipped.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.domains import load_domain
from sightplan.model import InputError, Problem
from sightplan_arm.camera_alignment import misaligned
from sightplan_arm.geometry import rotation_from_vector
from sightplan_arm.hardware import Rgbd, Vector
from sightplan_arm.table_view import RAISED_M, VIVID, Mask, TableView, checked_view, grown, spread

COLOUR_OF_KEY = {'r': 'red', 'g': 'green', 'b': 'blue', 'y': 'yellow', 'p': 'purple',
                 'o': 'orange'}
"""Colours of blocks by their letters in blocksworld (``Domain.identify``)."""

_HUE_DEG = {'red': 358.0, 'green': 127.0, 'blue': 217.0, 'yellow': 53.0, 'purple': 293.0,
            'orange': 31.0}  # of paint in white light
COLOURS = tuple(_HUE_DEG)

_WORKSPACE_M = np.array([(-0.50, -0.12, -0.02), (0.50, 0.12, 0.45)])
"""Corners of the box, in the table's frame, in which cubes are searched for [m]."""


@dataclass(frozen=True, slots=True)
class CubeLimits:
    """Sizes and errors by which cubes are recognized, and doubted.

    The values were chosen by hand, but where a field gives what was measured.
    """

    hue_shift_deg: float = 10.0
    """Largest change of a hue by light."""

    hue_reach_deg: float = 35.0
    """Farther from its hue nothing is of a colour."""

    margin_px: int = 16
    """Margin around the things that stand above the table."""

    least_fraction: float = 0.18
    """Fraction of a whole face that a patch must show to be a cube, ..."""

    least_piece: float = 0.02
    """... to be a part of one, ..."""

    least_foreign: float = 0.08
    """... and that something must show to cause a warning."""

    least_points: int = 60
    """Smallest number of points of a cube, ..."""

    least_edge: int = 20
    """... and of pixels of its outline."""

    points: int = 320
    """Number of points, ..."""

    edges: int = 160
    """... and of edge pixels, used in the fit of a cube."""

    steps: int = 12
    """Number of steps of a fit."""

    least_depth: float = 0.3
    """Fraction of a picture in which depth must be known."""

    lean_rad: float = math.radians(6.0)
    """A greater lean is more than imperfect calibration and noise explain, ..."""

    fine_m: float = 0.0017
    """... up to this noise of the depth (a standard deviation of 2.5 mm)."""

    edge_px: float = 3.0
    """Largest error of a cube's outline."""

    odd_m: float = 0.0015
    """Error of faces, beyond the noise of depth, that causes a second fit."""

    open_colour: float = 2.5
    """A colour is doubtful if another assignment of colours costs less than this more: in 60 right
    pictures at least 4 more."""

    far_hue_deg: float = 15.0
    """A colour is doubtful if its hue differs by more: at most 10.4 in 504 right cubes, 5.8 at the
    usual strength of appearance."""

    red_and_blue_deg: float = 240.0
    """A hue is this less itself when red and blue are exchanged."""


CUBES = CubeLimits()
"""The values that are used."""

_LEANS = [(lean, 0.0, 0.0) for lean in (-0.8, -0.5, 0.5, 0.8)] + [
    (0.0, lean, 0.0) for lean in (-0.8, -0.5, 0.5, 0.8)]  # where fits of tipped cubes start [rad]


@dataclass(frozen=True, eq=False)
class Cube:
    """A cube as it was seen.

    Attributes:
        name: of the block.
        colour: in words.
        centre_m: (3,) in the table's frame.
        yaw_rad: turn about z, in [-pi/4, pi/4).
        pixels: how many show it.
        residual_m: median distance of measured points from the fitted faces.
        edge_px: root mean square distance of its outline from the fitted one's.
        doubts: what is not as it should be with this cube alone; empty for a sound one.
    """

    name: str
    colour: str
    centre_m: Vector
    yaw_rad: float
    pixels: int
    residual_m: float
    edge_px: float
    doubts: tuple[SceneWarning, ...] = ()


@dataclass(frozen=True)
class SceneWarning:
    """An unexpected observation on the table.

    Attributes:
        kind: ``tipped``, ``not_a_cube``, ``cut_off``, ``twice``, ``missing``,
            ``between_columns``, ``out_of_row``, ``gap``, ``crossed``, ``unknown_block``,
            ``foreign``, ``no_depth``, ``misaligned`` (the camera does not hang where its pose has
            it), ``ambiguous`` (a colour may be another) or ``exchanged`` (red and blue may be).
        text: in plain words.
        blocks: names of those concerned.
        column: index of the column concerned; None if none is.
    """

    kind: str
    text: str
    blocks: tuple[str, ...] = ()
    column: int | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, eq=False)
class Arrangement:
    """Blocks found on the table, by column.

    Attributes:
        stacks: per column, left to right, names of blocks from bottom to top.
        cubes: by name; of two with one name the larger in the picture.
        warnings: what is not as expected; empty when all is well.
    """

    stacks: tuple[tuple[str, ...], ...]
    cubes: Mapping[str, Cube]
    warnings: tuple[SceneWarning, ...]

    def column(self, name: str) -> int | None:
        """Index of the column in which a block stands; None if in none."""
        return next((i for i, stack in enumerate(self.stacks) if name in stack), None)

    def top(self, column: int) -> str | None:
        """The uppermost block of a column; None if it is empty."""
        return self.stacks[column][-1] if self.stacks[column] else None


def block_colours(problem: Problem) -> dict[str, str]:
    """Each block of a blocksworld problem and its colour in words: ``{'b1_r': 'red'}``.

    Raises:
        InputError: the name of a block tells no colour, or two tell the same.
    """
    keys = load_domain('blocksworld').identify(problem, 'block')
    return {name: COLOUR_OF_KEY[key] for name, key in keys.items()}


def see_table(rgbd: Rgbd, camera_pose_table: Vector, colours: Mapping[str, str], block_m: float,
              column_x_m: Sequence[float]) -> Arrangement:
    """Find the cubes of a problem, assign them to columns, and warn about everything else.

    Paint differs from everything else by saturation and height above the table, colours from one
    another by hue, all cubes of a picture at once. Every patch of one colour is fitted with an
    upright cube: measured points to its faces, the patch's outline to the cube's outline,
    robustly.

    Args:
        rgbd: the picture; depth in line with the colours.
        camera_pose_table: (4, 4) of the optical frame in the table's frame.
        colours: names of blocks and the colour of each (one of COLOURS); a block that is not
            seen is a warning, and so is whatever stands on the table and is no block of these.
        block_m: side of a block.
        column_x_m: x of each column, left to right.

    The camera's pose is checked against the table: its plane, and the pads of the columns where
    there are some. Along a table without pads a shift cannot be told, nor can a picture and depth
    that are both mirrored on any.

    Raises:
        InputError: a colour is unknown or that of two blocks, or picture, depth, calibration
            and pose do not fit together.
    """
    names = _names(colours)
    fits, foreign = _find(rgbd, camera_pose_table, block_m)
    found = _cubes(fits, names)
    arrangement = arrange([cube for cube in found if cube.colour in names], column_x_m, block_m,
                          expected=colours)
    others = [SceneWarning('unknown_block', f'{_article(cube.colour)} block that is not of this '
                           f'problem is on the table at {_place(cube.centre_m)}')
              for cube in found if cube.colour not in names]
    if fits and _colours_of(fits, names, exchanged=True)[2] < _colours_of(fits, names)[2]:
        others.append(SceneWarning('exchanged', "the picture's red and blue seem to be exchanged: "
                                   'check its encoding (rgb8 or bgr8)'))
    others += [SceneWarning('foreign', f'something that is not a block ({count} pixels) is above '
                            f'the table at {_place(where)}') for where, count in foreign]
    known = float(np.mean(np.nan_to_num(rgbd.depth_m) > 0))
    askew = ''
    if known < CUBES.least_depth:
        others.append(SceneWarning('no_depth', f'depth is known in {100 * known:.0f} % of the '
                                   'picture only: check the depth camera and its alignment'))
    else:
        askew = misaligned(rgbd, camera_pose_table, column_x_m)
    first = (SceneWarning('misaligned', askew),) if askew else ()
    return Arrangement(arrangement.stacks, arrangement.cubes,
                       (*first, *arrangement.warnings, *others))


def arrange(cubes: Sequence[Cube], column_x_m: Sequence[float], block_m: float,
            expected: Collection[str] = ()) -> Arrangement:
    """Assign cubes to columns (left to right, by x) and levels; warn about expected names.

    A cube belongs to the nearest column, if that is not farther than half the distance between
    columns; levels come from heights.
    """
    warnings = [doubt for cube in cubes for doubt in cube.doubts]
    by_name: dict[str, Cube] = {}
    for cube in sorted(cubes, key=lambda cube: cube.pixels):
        if cube.name in by_name:
            warnings.append(SceneWarning(
                'twice', f'{cube.name} is seen twice, at {_place(by_name[cube.name].centre_m)} '
                f'and at {_place(cube.centre_m)}: two things have its colour', (cube.name,)))
        by_name[cube.name] = cube
    warnings += [SceneWarning('missing', f'{name} is not seen', (name,))
                 for name in expected if name not in by_name]
    xs = np.asarray(column_x_m, dtype=np.float64)
    spacing = float(np.diff(xs).min()) if len(xs) > 1 else 2.0 * block_m
    piles: list[list[Cube]] = [[] for _ in xs]
    for cube in by_name.values():
        column = int(np.argmin(np.abs(xs - cube.centre_m[0])))
        away = float(cube.centre_m[0] - xs[column])
        if abs(away) <= spacing / 2:
            piles[column].append(cube)
        if abs(away) > max(spacing - block_m, spacing / 4) / 2:
            where = (f'{1e3 * abs(away):.0f} mm {"right" if away > 0 else "left"} of column '
                     f'{column + 1}')
            warnings.append(SceneWarning('between_columns', f'{cube.name} is between columns, '
                                         f'{where}', (cube.name,), column))
        if abs(cube.centre_m[1]) > block_m / 2:
            side = 'behind' if cube.centre_m[1] > 0 else 'in front of'
            warnings.append(SceneWarning(
                'out_of_row', f'{cube.name} is {1e3 * abs(cube.centre_m[1]):.0f} mm {side} the '
                'row of columns', (cube.name,), column))
    for column, pile in enumerate(piles):
        pile.sort(key=lambda cube: float(cube.centre_m[2]))
        warnings += _check_levels(pile, column, block_m)
    return Arrangement(tuple(tuple(cube.name for cube in pile) for pile in piles), by_name,
                       tuple(warnings))


def _check_levels(pile: Sequence[Cube], column: int, block_m: float) -> list[SceneWarning]:
    """Warnings about cubes that do not stand on one another, bottom to top."""
    warnings = []
    below: Cube | None = None
    for cube in pile:
        base = float(below.centre_m[2]) + block_m / 2 if below else 0.0
        gap = float(cube.centre_m[2]) - block_m / 2 - base
        under = below.name if below else 'the table'
        if gap > 0.4 * block_m:
            warnings.append(SceneWarning(
                'gap', f'{cube.name} is {1e3 * gap:.0f} mm above {under} in column {column + 1} '
                'with nothing seen between', (cube.name,), column))
        elif gap < -0.4 * block_m:
            warnings.append(SceneWarning(
                'crossed', f'{cube.name} and {under} are in one place in column {column + 1}',
                (cube.name, *((below.name,) if below else ())), column))
        below = cube
    return warnings


def _names(colours: Mapping[str, str]) -> dict[str, str]:
    """Colour to name of the block."""
    names: dict[str, str] = {}
    for name, colour in colours.items():
        if colour not in COLOURS:
            raise InputError(f'block {name}: unknown colour {colour!r} (known: '
                             f'{", ".join(COLOURS)})')
        if colour in names:
            raise InputError(f'blocks {names[colour]} and {name} are both {colour}: they cannot '
                             'be told apart (give each a colour of its own)')
        names[colour] = name
    return names


def _article(word: str) -> str:
    return f'{"an" if word[0] in "aeiou" else "a"} {word}'


def _place(point_m: Vector) -> str:
    return 'x {:.0f}, y {:.0f}, z {:.0f} mm'.format(*(1e3 * point_m))


# --- patches of paint -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Patch:
    """Pixels of one colour that belong together.

    Attributes:
        hue_deg: of its paint.
        mask: (H, W) of the window, 1 inside.
        points_m: (N, 3) measured, in the table's frame.
        outline_px: (M, 2) ideal pixels on its edge, where the edge is the cube's own.
        pixels: how many.
        noise_m: median deviation of depth from one pixel to the next.
        cut_off: whether it touches the picture's edge.
    """

    hue_deg: float
    mask: Mask
    points_m: Vector
    outline_px: Vector
    pixels: int
    noise_m: float
    cut_off: bool

    @property
    def lean_limit_rad(self) -> float:
        """Largest lean that counts as upright; coarse depth shows leans that do not exist."""
        return CUBES.lean_rad * max(1.0, self.noise_m / CUBES.fine_m)


@dataclass(frozen=True, eq=False)
class _Window:
    """The part of a picture that shows things above the table.

    Attributes:
        view: of the camera.
        ideal_px: (H, W, 2) of its pixels, as in the view.
        hue_deg, clipped: (H, W) of the picture; clipped is where a channel is at its end.
        labels: (H, W), 0 or 1 + index in COLOURS, where paint can be.
        depth_m: (H, W), 0 where unknown.
        points_m: (H, W, 3) measured, in the table's frame.
        inside, raised: (H, W), whether in the workspace, and surely above the table.
        border: (H, W), 1 on the edge of the whole picture.
        face_px: pixels of a face that is seen straight on.
    """

    view: TableView
    ideal_px: NDArray[np.float32]
    hue_deg: NDArray[np.float32]
    clipped: NDArray[np.bool_]
    labels: Mask
    depth_m: NDArray[np.float32]
    points_m: NDArray[np.float32]
    inside: NDArray[np.bool_]
    raised: NDArray[np.bool_]
    border: Mask
    face_px: float


def _window(rgbd: Rgbd, pose: Vector, block_m: float) -> _Window | None:
    """Prepare the part of a picture that shows things above the table; None if there are none."""
    view = checked_view(rgbd, pose)
    depth = np.nan_to_num(np.asarray(rgbd.depth_m, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    known = depth > 0
    axes, inside = [], known
    for ray, eye, low, high in zip(view.rays, view.eye_m, *_WORKSPACE_M, strict=True):
        axes.append(depth * ray + np.float32(eye))
        inside = inside & (axes[-1] > low) & (axes[-1] < high)
    raised = inside & (axes[2] > RAISED_M)
    rows, columns = np.nonzero(raised.any(axis=1))[0], np.nonzero(raised.any(axis=0))[0]
    if not len(rows):
        return None
    part = np.s_[max(rows[0] - CUBES.margin_px, 0):rows[-1] + CUBES.margin_px,
                 max(columns[0] - CUBES.margin_px, 0):columns[-1] + CUBES.margin_px]
    border = np.zeros(depth.shape, np.uint8)
    border[[0, -1]] = 1
    border[:, [0, -1]] = 1
    hue, vivid, clipped = _hue(rgbd.rgb[part])
    possible = vivid & (inside | ~known)[part]
    face_px = (view.focal_px * block_m / float(np.median(depth[raised]))) ** 2
    return _Window(view, view.ideal_px[part], hue, clipped,
                   _paint(hue, possible, raised[part], face_px),
                   depth[part], np.stack([axis[part] for axis in axes], axis=-1), inside[part],
                   raised[part], border[part], face_px)


def _hue(rgb: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.bool_],
                                          NDArray[np.bool_]]:
    """(H, W) hue [deg, 0 to 360], whether it is vivid, and whether a channel is at its end."""
    hsv = cv2.cvtColor(cv2.medianBlur(rgb, 3).astype(np.float32), cv2.COLOR_RGB2HSV)
    hue, saturation, value = (np.asarray(part, np.float32) for part in cv2.split(hsv))
    return hue, (saturation > VIVID) & (value > 12), value >= 252


def _paint(hue: NDArray[np.float32], possible: NDArray[np.bool_],
           raised: NDArray[np.bool_], face_px: float) -> Mask:
    """(H, W): 0, or 1 + index in COLOURS, of pixels where paint is possible."""
    counts = np.bincount(hue[possible & raised].astype(np.int64) % 360, minlength=360)
    typical = np.array(list(_HUE_DEG.values()), np.float64)
    degrees = np.arange(360)
    centres = typical.copy()
    for _ in range(2):  # follow the light, a little
        away = _turn(degrees[:, None] + 0.5 - centres)
        nearest = np.abs(away).argmin(axis=1)
        for index in range(len(COLOURS)):
            mine = counts * (nearest == index)
            if mine.sum() > 50:
                order = np.argsort(away[:, index])
                middle = order[np.searchsorted(np.cumsum(mine[order]), mine.sum() / 2)]
                centres[index] = typical[index] + np.clip(
                    _turn(middle + 0.5 - typical[index]), -CUBES.hue_shift_deg,
                    CUBES.hue_shift_deg)
    labels = _by_hue(hue, possible, centres)
    for index in np.unique(labels[labels > 0]):
        solid = _opened((labels == index).astype(np.uint8), 9)
        if np.count_nonzero(solid) < 0.5 * CUBES.least_fraction * face_px:
            centres[index - 1] = np.nan  # no patch of it: it is another colour, badly lit
    return _by_hue(hue, possible, centres) if np.isnan(centres).any() else labels


def _by_hue(hue: NDArray[np.float32], possible: NDArray[np.bool_], centres_deg: Vector) -> Mask:
    """(H, W): 1 + index of the colour with the nearest hue; 0 where none is near."""
    away = np.abs(_turn(np.arange(360)[:, None] + 0.5 - centres_deg))
    away[np.isnan(away)] = np.inf
    table = np.where(away.min(axis=1) < CUBES.hue_reach_deg, away.argmin(axis=1) + 1, 0)
    labels = np.zeros(hue.shape, np.uint8)
    labels[possible] = table.astype(np.uint8)[hue[possible].astype(np.int64) % 360]
    return labels


def _turn(degrees: Any) -> Any:
    """Angles in [-180, 180)."""
    return (degrees + 180.0) % 360.0 - 180.0


def _opened(mask: Mask, width: int) -> Mask:
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((width, width), np.uint8)),
                      np.uint8)


def _filled(mask: Mask) -> Mask:
    """A mask without its holes and hairline cracks."""
    closed = cv2.morphologyEx(mask, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    outlines, _ = cv2.findContours(closed, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    return np.asarray(cv2.drawContours(np.zeros_like(mask), outlines, -1, 1, cv2.FILLED), np.uint8)


def _pieces(window: _Window) -> list[Mask]:
    """Masks of connected paint of one colour that stands above the table."""
    pieces = []
    for index in np.unique(window.labels[window.labels > 0]):
        mask = _opened(np.asarray(window.labels == index, np.uint8), 3)
        count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
        for i in range(1, count):
            size = stats[i, cv2.CC_STAT_AREA]
            if size >= CUBES.least_piece * window.face_px:
                piece = labels == i
                if np.count_nonzero(piece & window.raised) >= 0.3 * size:
                    pieces.append(_filled(piece.astype(np.uint8)))
    return pieces


def _measure(masks: Sequence[Mask], window: _Window) -> list[_Patch]:
    """Hue, points and outline of every patch."""
    measured = [(mask > 0) & window.inside for mask in masks]
    heights = [float(np.median(window.points_m[where][:, 2])) if where.any() else 0.0
               for where in measured]
    depths = [float(np.median(window.depth_m[where])) if where.any() else 0.0
              for where in measured]
    patches = []
    for i, mask in enumerate(masks):
        edge = mask & grown(1 - mask, 3) & (1 - window.border)
        for j, other in enumerate(masks):  # edges that belong to what stands in front
            if j != i and (heights[j] > heights[i] or depths[j] < depths[i] - 0.02):
                edge &= 1 - grown(other, 9)
        plain = (mask > 0) & ~window.clipped & (window.labels > 0)
        size = int(mask.sum())
        if np.count_nonzero(plain) < 0.1 * size:
            plain = (mask > 0) & (window.labels > 0)
        angle = np.radians(window.hue_deg[plain])
        hue = math.degrees(math.atan2(float(np.sin(angle).mean()), float(np.cos(angle).mean())))
        patches.append(_Patch(
            hue, mask, window.points_m[measured[i]].astype(np.float64),
            window.ideal_px[edge > 0].astype(np.float64), size,
            _noise_m(window.depth_m, measured[i]), bool((mask & window.border).any())))
    return patches


def _noise_m(depth: NDArray[np.float32], where: NDArray[np.bool_]) -> float:
    """Median deviation of depth from a straight line through its neighbours in a row."""
    bends = depth[:, :-2] - 2 * depth[:, 1:-1] + depth[:, 2:]
    bends = bends[where[:, :-2] & where[:, 1:-1] & where[:, 2:]]
    return float(np.median(np.abs(bends))) / math.sqrt(6.0) if len(bends) else 0.0


def _foreign(window: _Window, cubes: Sequence[_Fit]) -> list[tuple[Vector, int]]:
    """Middle [m] and size [px] of things above the table that are not cubes."""
    rest = window.raised.astype(np.uint8)
    for cube in cubes:
        rest &= 1 - grown(cube.patch.mask, 7)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(_opened(rest, 5), connectivity=8)
    return [(np.median(window.points_m[labels == i], axis=0).astype(np.float64),
             int(stats[i, cv2.CC_STAT_AREA]))
            for i in range(1, count)
            if stats[i, cv2.CC_STAT_AREA] >= CUBES.least_foreign * window.face_px]


# --- fitting ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Fit:
    """A patch and the upright cube that explains it best.

    Attributes:
        patch: of paint.
        cube: where it is.
        residual_m: median distance of points from the faces.
        edge_px: root mean square distance of outlines.
    """

    patch: _Patch
    cube: _Solid
    residual_m: float
    edge_px: float


def _find(rgbd: Rgbd, pose: Vector, block_m: float) -> tuple[list[_Fit], list[tuple[Vector, int]]]:
    """The cubes of any colour, and middle and size of the other things above the table."""
    window = _window(rgbd, pose, block_m)
    if window is None:
        return [], []
    pieces = _pieces(window)
    large = [int(piece.sum()) >= CUBES.least_fraction * window.face_px for piece in pieces]
    fits = {i: _fit(patch, window.view, block_m)
            for i, patch in enumerate(_measure(pieces, window)) if large[i]}
    merged = _merge(pieces, fits, window, block_m)
    if len(merged) < len(pieces) or len(fits) < len(pieces):
        cubes = [_fit(patch, window.view, block_m) for patch in _measure(merged, window)]
    else:
        cubes = list(fits.values())
    found = [cube for cube in cubes if cube is not None]
    return found, _foreign(window, found)


def _merge(pieces: Sequence[Mask], fits: Mapping[int, _Fit | None], window: _Window,
           block_m: float) -> list[Mask]:
    """Join masks of one cube's faces whose colours differ by the light."""
    masks = {i: pieces[i] for i, fit in fits.items() if fit is not None}
    for i in sorted(range(len(pieces)), key=lambda i: int(pieces[i].sum())):
        points = spread(window.points_m[(pieces[i] > 0) & window.inside].astype(np.float64), 200)
        near = grown(pieces[i], 7)
        for j, fit in fits.items():
            if j == i or fit is None or j not in masks or not (near & masks[j]).any() \
                    or masks[j].sum() < pieces[i].sum() or len(points) < 10:
                continue
            off = _off_surface(points, fit.cube, block_m)
            if np.median(np.abs(off)) < max(2.0 * fit.residual_m, 0.08 * block_m) \
                    and np.percentile(off, 80) < 0.2 * block_m:
                masks[j] = _filled(masks[j] | pieces[i])
                masks.pop(i, None)
                break
    return list(masks.values())


def _colours_of(fits: Sequence[_Fit], wanted: Collection[str], exchanged: bool = False,
                ) -> tuple[list[str], list[str], float]:
    """The colour of each cube: all at once, since no two blocks have the same.

    Of all ways the one with the least squared distances of hues; what is not wanted or would be
    there twice must be much nearer to be taken.

    Args:
        fits: the cubes.
        wanted: colours of blocks that should be there.
        exchanged: whether red and blue of the picture are taken to be exchanged.

    Returns:
        The colours; for each cube another one that it may well have, '' if none; and the cost.
    """
    hues = [CUBES.red_and_blue_deg - fit.patch.hue_deg if exchanged else fit.patch.hue_deg
            for fit in fits]
    costs = [[(float(_turn(mine - hue)) / 12.0) ** 2 + (colour not in wanted) * 2.0
              for colour, hue in _HUE_DEG.items()] for mine in hues]
    order = sorted(range(len(fits)), key=lambda i: -fits[i].patch.pixels)

    def best_of(without: Mapping[int, int]) -> tuple[float, dict[int, int]]:
        """The cheapest way in which some cubes do not have a colour."""
        best: tuple[float, dict[int, int]] = (math.inf, {})

        def assign(at: int, cost: float, chosen: dict[int, int]) -> None:
            nonlocal best
            if cost >= best[0]:
                return
            if at == len(order):
                best = cost, dict(chosen)
                return
            i = order[at]
            for colour in sorted(range(len(COLOURS)), key=lambda colour: costs[i][colour])[:3]:
                if without.get(i) != colour:
                    twice = 4.0 * (colour in chosen.values())
                    assign(at + 1, cost + costs[i][colour] + twice, {**chosen, i: colour})

        assign(0, 0.0, {})
        return best

    least, chosen = best_of({})
    others = []
    for i in range(len(fits)):
        cost, other = best_of({i: chosen[i]})
        off = abs(float(_turn(hues[i] - _HUE_DEG[COLOURS[chosen[i]]])))
        open_ = cost - least < CUBES.open_colour or off > CUBES.far_hue_deg
        others.append(COLOURS[other[i]] if open_ and other else '')
    return [COLOURS[chosen[i]] for i in range(len(fits))], others, least


def _cubes(fits: Sequence[_Fit], names: Mapping[str, str]) -> list[Cube]:
    cubes = []
    colours, others, _ = _colours_of(fits, names)
    for fit, colour, other in zip(fits, colours, others, strict=True):
        name = names.get(colour, f'the {colour} block')
        doubts = _doubts(name, fit)
        if other:
            doubts = (SceneWarning('ambiguous', f'{name} at {_place(fit.cube.centre_m)} may be '
                                   f'{colour} or {other}: check the light and the balance of '
                                   'white', (name,)), *doubts)
        cubes.append(Cube(name, colour, fit.cube.centre_m, fit.cube.yaw_rad(), fit.patch.pixels,
                          fit.residual_m, fit.edge_px, doubts))
    return sorted(cubes, key=lambda cube: (cube.name, -cube.pixels))


def _doubts(name: str, fit: _Fit) -> tuple[SceneWarning, ...]:
    if fit.patch.cut_off:
        return (SceneWarning('cut_off', f'{name} is partly out of the picture', (name,)),)
    lean = fit.cube.lean_rad()
    if lean > fit.patch.lean_limit_rad:
        return (SceneWarning('tipped', f'{name} is tipped: it leans by {math.degrees(lean):.0f} '
                             'degrees', (name,)),)
    if fit.edge_px > CUBES.edge_px or fit.residual_m > 2 * CUBES.odd_m + fit.patch.noise_m:
        return (SceneWarning('not_a_cube', f'{name} does not look like a cube: its outline is '
                             f'{fit.edge_px:.1f} pixels off, its faces are '
                             f'{1e3 * fit.residual_m:.0f} mm off', (name,)),)
    return ()


def _fit(patch: _Patch, view: TableView, block_m: float) -> _Fit | None:
    """Fit an upright cube; one that leans clearly is fitted leaning. None: too little to see."""
    if len(patch.points_m) < CUBES.least_points or len(patch.outline_px) < CUBES.least_edge:
        return None
    points, outline = spread(patch.points_m, CUBES.points), spread(patch.outline_px, CUBES.edges)
    target = _Target(points, outline, view, block_m)
    cube = _first_guess(points, view, block_m)
    for _ in range(CUBES.steps):
        step = target.step(cube, upright=True)
        cube = cube.moved(step)
        if np.abs(step[:3]).max() < 5e-5 and abs(step[5]) < 5e-4:
            break
    leaning = cube.moved(target.step(cube, upright=False))
    odd = target.residual_m(cube) > CUBES.odd_m + patch.noise_m
    if leaning.lean_rad() > CUBES.lean_rad / 2 or target.edge_px(cube) > 1.5 or odd:
        starts = [cube.moved(np.array([0.0, 0.0, 0.0, *turn])) for turn in _LEANS] if odd else []
        for start in (leaning, *starts):
            for _ in range(CUBES.steps):
                start = start.moved(target.step(start, upright=False))
            leans = start.lean_rad() > patch.lean_limit_rad
            if leans and target.cost_m(start) < target.cost_m(cube):
                cube = start
    return _Fit(patch, cube, target.residual_m(cube), target.edge_px(cube))


@dataclass(frozen=True, eq=False)
class _Target:
    """Points and outline to which a cube is fitted by Gauss-Newton on robust distances."""

    points: Vector
    outline: Vector
    view: TableView
    block_m: float

    def step(self, cube: _Solid, upright: bool) -> Vector:
        """(6,) shift [m] and turn [rad] of the cube; upright, it turns about z only."""
        off, by_off = _faces(self.points, cube, self.view, self.block_m)
        out, by_out = _outline(self.outline, cube, self.view, self.block_m)
        metre_per_px = float(np.linalg.norm(cube.centre_m - self.view.eye_m)) / self.view.focal_px
        out, by_out = out * metre_per_px, by_out * metre_per_px
        noise = min(0.006, max(0.001, 1.4826 * float(np.median(np.abs(off)))))
        edge = min(4.0 * metre_per_px,
                   max(0.5 * metre_per_px, 1.4826 * float(np.median(np.abs(out)))))
        weight = np.concatenate([_tukey(off / (4.7 * noise)) / noise**2,
                                 _tukey(out / (6.0 * edge)) / edge**2])
        free = [0, 1, 2, 5] if upright else [0, 1, 2, 3, 4, 5]
        slope = np.concatenate([by_off, by_out])[:, free]
        prior = np.array([1.0, 1.0, 1.0, 10.0, 10.0, 1e-3])[free]
        step = np.zeros(6)
        step[free] = np.linalg.solve(slope.T @ (slope * weight[:, None]) + np.diag(prior),
                                     -slope.T @ (np.concatenate([off, out]) * weight))
        step[:3] = np.clip(step[:3], -0.02, 0.02)
        step[3:] = np.clip(step[3:], -0.3, 0.3)
        return step

    def residual_m(self, cube: _Solid) -> float:
        """Median distance of points from the visible faces."""
        return float(np.median(np.abs(_faces(self.points, cube, self.view, self.block_m)[0])))

    def edge_px(self, cube: _Solid) -> float:
        """Root mean square distance of the outlines."""
        return float(np.sqrt(np.mean(_outline(self.outline, cube, self.view,
                                              self.block_m)[0]**2)))

    def cost_m(self, cube: _Solid) -> float:
        """Misfit of a cube [m]: residual of its points, plus 1 mm for each pixel of edge error."""
        return self.residual_m(cube) + 1e-3 * self.edge_px(cube)


@dataclass(frozen=True, eq=False)
class _Solid:
    """Pose of a cube: its centre (3,) [m] and its axes (3, 3), in columns."""

    centre_m: Vector
    axes: Vector

    def moved(self, step: Vector) -> _Solid:
        """Shifted by (3,) [m] and turned by a vector (3,) [rad]."""
        return _Solid(self.centre_m + step[:3], rotation_from_vector(step[3:]) @ self.axes)

    def lean_rad(self) -> float:
        """Angle between the vertical and the axis next to it."""
        return math.acos(min(1.0, float(np.abs(self.axes[2]).max())))

    def yaw_rad(self) -> float:
        """Turn about the vertical, in [-pi/4, pi/4)."""
        level = np.delete(self.axes, int(np.abs(self.axes[2]).argmax()), axis=1)[:, 0]
        return (math.atan2(level[1], level[0]) + math.pi / 4) % (math.pi / 2) - math.pi / 4


def _tukey(ratio: Vector) -> Vector:
    """Weights of Tukey's biweight; 0 where the ratio is 1 or more."""
    return np.asarray(np.square(np.maximum(0.0, 1.0 - ratio**2)))


def _first_guess(points: Vector, view: TableView, block_m: float) -> _Solid:
    """First guess of a cube: the yaw whose two visible sides explain the points best."""
    middle = np.median(points, axis=0)
    low, high = np.percentile(points[:, 2], (4, 96))
    sides = points[points[:, 2] < max(high - 0.2 * block_m, (low + high) / 2)]
    if len(sides) < CUBES.least_points / 2:  # seen from above
        sides = points
    flat, eye = sides[:, :2] - middle[:2], view.eye_m[:2] - middle[:2]
    yaw = np.radians(np.arange(-45.0, 45.0, 7.5))[:, None]
    c, s = np.cos(yaw), np.sin(yaw)
    x, y = flat[:, 0] * c + flat[:, 1] * s, flat[:, 1] * c - flat[:, 0] * s  # (yaws, N)
    left, right = (v[:, None] for v in np.percentile(x, (3, 97), axis=1))
    front = np.percentile(y, 10, axis=1)[:, None]
    side = np.where(eye[0] * c + eye[1] * s > 0, right, left)
    cost = np.minimum(np.minimum(np.abs(y - front), np.abs(x - side)), 0.01).mean(axis=1)
    best = int(cost.argmin())
    axes = rotation_from_vector([0.0, 0.0, yaw[best, 0]])
    centre = axes @ [(left[best, 0] + right[best, 0]) / 2, front[best, 0] + block_m / 2, 0.0]
    height = (low + high) / 2 if high - low > 0.5 * block_m else high - block_m / 2
    return _Solid(np.array([*middle[:2], height]) + centre, axes)


def _off_surface(points: Vector, cube: _Solid, block_m: float) -> Vector:
    """(N,) distance of points from a cube's surface, negative inside [m]."""
    return np.asarray((np.abs((points - cube.centre_m) @ cube.axes) - block_m / 2).max(axis=1))


def _faces(points: Vector, cube: _Solid, view: TableView, block_m: float) -> tuple[Vector, Vector]:
    """(N,) distance of points from the nearest visible face's plane [m], and (N, 6) slopes."""
    away = points - cube.centre_m
    sign = np.where((view.eye_m - cube.centre_m) @ cube.axes > 0, 1.0, -1.0)
    distance = away @ (cube.axes * sign) - block_m / 2
    face = distance.argmax(axis=1)
    normals = (cube.axes * sign).T[face]
    return (distance[np.arange(len(points)), face],
            np.concatenate([-normals, np.cross(normals, away)], axis=1))


_SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)


def _outline(pixels: Vector, cube: _Solid, view: TableView, block_m: float,
             ) -> tuple[Vector, Vector]:
    """(N,) distance of edge pixels outwards from the cube's outline [px], and (N, 6) slopes.

    Pixels of an edge lie half a pixel inside on average.
    """
    offsets = _SIGNS @ cube.axes.T * (block_m / 2)
    corners, by_point = view.project(cube.centre_m + offsets)
    by_turn = np.cross(offsets[:, None], by_point)  # (8, 2, 3)
    slopes = np.concatenate([by_point, by_turn], axis=2)
    ring = cv2.convexHull(corners.astype(np.float32), returnPoints=False).ravel()
    after = np.concatenate([ring[1:], ring[:1]])
    start, along = corners[ring], corners[after] - corners[ring]
    length = np.linalg.norm(along, axis=1)
    normal = np.column_stack([along[:, 1], -along[:, 0]]) / length[:, None]
    if np.sum((start - corners.mean(axis=0)) * normal) < 0:
        normal = -normal
    distance = pixels @ normal.T - (start * normal).sum(axis=1)
    edge = distance.argmax(axis=1)
    part = np.clip(((pixels - start[edge]) * along[edge]).sum(axis=1) / length[edge]**2, 0, 1)
    by_start = np.einsum('ei,eij->ej', normal, slopes[ring])  # along each edge's normal
    by_end = np.einsum('ei,eij->ej', normal, slopes[after])
    moved = (1 - part)[:, None] * by_start[edge] + part[:, None] * by_end[edge]
    return distance[np.arange(len(pixels)), edge] + 0.5, -moved


def overlay(rgbd: Rgbd, camera_pose_table: Vector, seen: Arrangement, block_m: float,
            column_x_m: Sequence[float]) -> NDArray[np.uint8]:
    """A copy of the picture with the perceived cubes drawn on it.

    Columns as lines on the table, each cube's edges and name; red where there is a warning.
    """
    picture = np.array(rgbd.rgb, order='C')
    back = camera_pose_table[:3, :3].T
    turn = cv2.Rodrigues(np.ascontiguousarray(back))[0]
    shift = -back @ camera_pose_table[:3, 3]

    def pixels(points_m: Vector) -> list[tuple[int, int]]:
        shown = cv2.projectPoints(points_m, turn, shift, rgbd.matrix, rgbd.distortion)[0]
        return [(int(u), int(v)) for u, v in np.clip(np.round(shown[:, 0]), -1e4, 1e4)]

    for x in column_x_m:
        start, end = pixels(np.array([(x, y, 0.0) for y in (-block_m, block_m)]))
        cv2.line(picture, start, end, (90, 90, 90), 1, cv2.LINE_AA)
    wrong = {name for warning in seen.warnings for name in warning.blocks}
    for cube in seen.cubes.values():
        ink = (230, 30, 30) if cube.name in wrong else (20, 20, 20)
        axes = rotation_from_vector([0.0, 0.0, cube.yaw_rad])
        corners = pixels(cube.centre_m + _SIGNS @ axes.T * (block_m / 2))
        for i, j in itertools.combinations(range(8), 2):
            if i ^ j in (1, 2, 4):  # corners that differ in one sign
                cv2.line(picture, corners[i], corners[j], ink, 1, cv2.LINE_AA)
        middle = pixels(cube.centre_m[None])[0]
        for width, colour in ((3, (255, 255, 255)), (1, ink)):
            cv2.putText(picture, cube.name, (middle[0] - 4 * len(cube.name), middle[1]),
                        cv2.FONT_HERSHEY_SIMPLEX, 0.45, colour, width, cv2.LINE_AA)
    return picture
