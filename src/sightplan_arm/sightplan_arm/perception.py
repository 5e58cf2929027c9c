"""Where coloured cubes stand, from one colour picture with depth.

Nothing here knows what a picture should show: cubes are found, fitted and judged from pixels
alone. The table's frame is that of ``sightplan_arm.config.TableConfig``: x to the right as the
camera sees it, y away from it, z up, the table's top at z = 0. Cubes stand upright; one that does
not is found all the same, and said to be tipped.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.domains import load_domain
from sightplan.model import InputError, Problem
from sightplan_arm.hardware import Rgbd, Vector

Mask = NDArray[np.uint8]

COLOUR_OF_KEY = {'r': 'red', 'g': 'green', 'b': 'blue', 'y': 'yellow', 'p': 'purple',
                 'o': 'orange'}
"""What blocks of blocksworld stand for (``Domain.identify``), in words: the colours known here."""

_TYPICAL_RGB = {'red': (0.86, 0.06, 0.08), 'green': (0.10, 0.62, 0.16),
                'blue': (0.06, 0.40, 0.93), 'yellow': (0.98, 0.88, 0.08),
                'purple': (0.56, 0.12, 0.62), 'orange': (1.00, 0.53, 0.03)}
COLOURS = tuple(_TYPICAL_RGB)

WORKSPACE_M = ((-0.50, -0.12, -0.02), (0.50, 0.12, 0.45))
"""Corners of the space of the table's frame in which cubes are looked for, when none is given."""

_VIVID = 0.45  # least saturation of a block's paint; tables and walls stay below
_RAISED_M = 0.010  # what is no higher may be the table, given an imperfect calibration
_LEAST_SHARE = 0.18  # of the picture of a whole face, for a patch to be a cube
_POINTS, _EDGES = 320, 160  # of a cube that are used in its fit
_STEPS = 12


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
    doubts: tuple[Complaint, ...] = ()


@dataclass(frozen=True)
class Complaint:
    """Something on the table that is not as expected.

    Attributes:
        kind: ``tipped``, ``cut_off``, ``twice``, ``missing``, ``between_columns``,
            ``out_of_row``, ``gap``, ``crossed``, ``unknown_block`` or ``foreign``.
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
    """What stands where.

    Attributes:
        stacks: per column, left to right, names of blocks from bottom to top.
        cubes: by name; of two with one name the larger in the picture.
        complaints: what is not as expected; empty when all is well.
    """

    stacks: tuple[tuple[str, ...], ...]
    cubes: Mapping[str, Cube]
    complaints: tuple[Complaint, ...]

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


def find_cubes(rgbd: Rgbd, camera_pose_table: Vector, colours: Mapping[str, str], block_m: float,
               *, workspace_m: Sequence[Sequence[float]] = WORKSPACE_M) -> tuple[Cube, ...]:
    """Find the cubes of a problem.

    Paint is told from everything else by saturation and height above the table, colours from one
    another by chromaticity, starting at typical ones and following the light. Every patch of one
    colour is then fitted with an upright cube: measured points to its faces, the patch's outline
    to the cube's outline, robustly.

    Args:
        rgbd: the picture; depth in line with the colours.
        camera_pose_table: (4, 4) of the optical frame in the table's frame.
        colours: names of blocks and the colour of each (one of COLOURS).
        block_m: side of a block.
        workspace_m: two corners (3,) of where to look, in the table's frame.

    Returns:
        What was found, by name, a name twice if two patches have its colour.

    Raises:
        InputError: a colour is unknown or that of two blocks, or picture, depth, calibration
            and pose do not fit together.
    """
    names = _names(colours)
    cubes = _fit_all(_patches(rgbd, camera_pose_table, block_m, workspace_m), names, block_m)
    return tuple(cube for cube in cubes if cube.colour in names)


def see_table(rgbd: Rgbd, camera_pose_table: Vector, colours: Mapping[str, str], block_m: float,
              column_x_m: Sequence[float], *,
              workspace_m: Sequence[Sequence[float]] = WORKSPACE_M) -> Arrangement:
    """Find the cubes of a problem, tell the columns, and complain about everything else.

    Beyond ``find_cubes`` and ``arrange`` this says which blocks are missing, and what stands on
    the table that is no block of the problem.

    Args:
        rgbd: as for ``find_cubes``.
        camera_pose_table: as for ``find_cubes``.
        colours: as for ``find_cubes``; a block that is not seen is a complaint.
        block_m: side of a block.
        column_x_m: x of each column, left to right.
        workspace_m: as for ``find_cubes``.

    Raises:
        InputError: as ``find_cubes``.
    """
    names = _names(colours)
    scene = _patches(rgbd, camera_pose_table, block_m, workspace_m)
    found = _fit_all(scene, names, block_m)
    arrangement = arrange([cube for cube in found if cube.colour in names], column_x_m, block_m,
                          expected=colours)
    others = [Complaint('unknown_block', f'{_article(cube.colour)} block that is not of this '
                        f'problem is on the table at {_place(cube.centre_m)}')
              for cube in found if cube.colour not in names]
    others += [Complaint('foreign', f'something that is no block ({count} pixels) is above the '
                         f'table at {_place(where)}') for where, count in scene.foreign()]
    return Arrangement(arrangement.stacks, arrangement.cubes,
                       (*arrangement.complaints, *others))


def arrange(cubes: Sequence[Cube], column_x_m: Sequence[float], block_m: float,
            expected: Collection[str] = ()) -> Arrangement:
    """Tell columns and levels.

    A cube belongs to the nearest column, if that is not farther than half the distance between
    columns; levels come from heights.

    Args:
        cubes: as found.
        column_x_m: x of each column, left to right.
        block_m: side of a block.
        expected: names that should be there.
    """
    complaints = [doubt for cube in cubes for doubt in cube.doubts]
    by_name: dict[str, Cube] = {}
    for cube in sorted(cubes, key=lambda cube: cube.pixels):
        if cube.name in by_name:
            complaints.append(Complaint(
                'twice', f'{cube.name} is seen twice, at {_place(by_name[cube.name].centre_m)} '
                f'and at {_place(cube.centre_m)}: two things have its colour', (cube.name,)))
        by_name[cube.name] = cube
    complaints += [Complaint('missing', f'{name} is not seen', (name,))
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
            complaints.append(Complaint('between_columns', f'{cube.name} is between columns, '
                                        f'{where}', (cube.name,), column))
        if abs(cube.centre_m[1]) > block_m / 2:
            side = 'behind' if cube.centre_m[1] > 0 else 'in front of'
            complaints.append(Complaint(
                'out_of_row', f'{cube.name} is {1e3 * abs(cube.centre_m[1]):.0f} mm {side} the '
                'row of columns', (cube.name,), column))
    for column, pile in enumerate(piles):
        pile.sort(key=lambda cube: float(cube.centre_m[2]))
        complaints += _check_levels(pile, column, block_m)
    return Arrangement(tuple(tuple(cube.name for cube in pile) for pile in piles), by_name,
                       tuple(complaints))


def _check_levels(pile: Sequence[Cube], column: int, block_m: float) -> list[Complaint]:
    """Complaints about cubes that do not stand on one another, bottom to top."""
    complaints = []
    below: Cube | None = None
    for cube in pile:
        base = float(below.centre_m[2]) + block_m / 2 if below else 0.0
        gap = float(cube.centre_m[2]) - block_m / 2 - base
        under = below.name if below else 'the table'
        if gap > 0.4 * block_m:
            complaints.append(Complaint(
                'gap', f'{cube.name} is {1e3 * gap:.0f} mm above {under} in column {column + 1} '
                'with nothing seen between', (cube.name,), column))
        elif gap < -0.4 * block_m:
            complaints.append(Complaint(
                'crossed', f'{cube.name} and {under} are in one place in column {column + 1}',
                (cube.name, *((below.name,) if below else ())), column))
        below = cube
    return complaints


def _names(colours: Mapping[str, str]) -> dict[str, str]:
    """Colour to name of the block."""
    names: dict[str, str] = {}
    for name, colour in colours.items():
        if colour not in _TYPICAL_RGB:
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


# --- rays -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _View:
    """A camera at a place: the ray through each pixel.

    Attributes:
        focal_px: of the ideal camera that outlines are compared in.
        ideal_px: (H, W, 2) each pixel's place in it, free of distortion; from the optical axis.
        rays: three (H, W), per metre of depth, in the table's frame.
        rotation: (3, 3) from the table's to the optical frame.
        eye_m: (3,) optical centre in the table's frame.
    """

    focal_px: float
    ideal_px: NDArray[np.float32]
    rays: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
    rotation: Vector
    eye_m: Vector

    def project(self, points_m: Vector) -> tuple[Vector, Vector]:
        """(N, 2) ideal pixels and (N, 2, 3) their derivatives by the points."""
        local = (points_m - self.eye_m) @ self.rotation.T
        depth = local[:, 2:]
        flat = local[:, :2] / depth
        slope = (self.rotation[None, :2] - flat[:, :, None] * self.rotation[None, None, 2])
        return self.focal_px * flat, self.focal_px * slope / depth[:, :, None]


@functools.lru_cache(maxsize=4)
def _view(shape: tuple[int, int], matrix: bytes, distortion: bytes, pose: bytes) -> _View:
    k = np.frombuffer(matrix).reshape(3, 3)
    d = np.frombuffer(distortion)
    camera = np.frombuffer(pose).reshape(4, 4)
    h, w = shape
    pixels = np.stack(np.meshgrid(np.arange(w), np.arange(h)), axis=-1).astype(np.float64)
    if d.any():
        flat = cv2.undistortPoints(pixels.reshape(-1, 1, 2), k, d).reshape(h, w, 2)
    else:
        flat = (pixels - k[:2, 2]) / (k[0, 0], k[1, 1])
    focal = math.sqrt(k[0, 0] * k[1, 1])
    r = camera[:3, :3]
    x, y, z = (np.ascontiguousarray(flat[:, :, 0] * r[i, 0] + flat[:, :, 1] * r[i, 1] + r[i, 2],
                                    dtype=np.float32) for i in range(3))
    return _View(focal, (focal * flat).astype(np.float32), (x, y, z), r.T.copy(),
                 camera[:3, 3].copy())


def _checked_view(rgbd: Rgbd, pose: Vector) -> _View:
    """The view of a picture.

    Raises:
        InputError: something has the wrong shape, or is no calibration or pose.
    """
    h, w = rgbd.rgb.shape[:2]
    if rgbd.rgb.shape != (h, w, 3) or rgbd.rgb.dtype != np.uint8:
        raise InputError(f'picture of shape {rgbd.rgb.shape}, {rgbd.rgb.dtype}: (H, W, 3) uint8 '
                         'is needed')
    if rgbd.depth_m.shape != (h, w):
        raise InputError(f'depth of shape {rgbd.depth_m.shape} for a picture of {(h, w)}: take '
                         'the depth that is aligned to the colour picture')
    k, d = (np.ascontiguousarray(v, dtype=np.float64) for v in (rgbd.matrix, rgbd.distortion))
    pose = np.ascontiguousarray(pose, dtype=np.float64)
    if k.shape != (3, 3) or not np.isfinite(k).all() or min(k[0, 0], k[1, 1]) <= 0:
        raise InputError(f'camera matrix {k.tolist()}: a pinhole matrix (3, 3) is needed '
                         '(camera_info must be calibrated)')
    if d.ndim != 1 or len(d) not in (4, 5, 8, 12, 14) or not np.isfinite(d).all():
        raise InputError(f'distortion {d.tolist()}: 5 coefficients (plumb_bob) are needed')
    turned = pose[:3, :3] if pose.shape == (4, 4) else np.zeros((3, 3))
    if not (np.isfinite(pose).all() and np.allclose(turned @ turned.T, np.eye(3), atol=1e-4)
            and np.linalg.det(turned) > 0):
        raise InputError('the pose of the camera is no pose: (4, 4) with a rotation is needed '
                         '(run sightplan arm calibrate)')
    return _view((h, w), k.tobytes(), d.tobytes(), pose.tobytes())


# --- patches of paint -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Patch:
    """Pixels of one colour that belong together.

    Attributes:
        colour: in words.
        mask: (H, W), 1 inside.
        points_m: (N, 3) measured, in the table's frame.
        outline_px: (M, 2) ideal pixels on its edge, where the edge is the cube's own.
        pixels: how many.
        cut_off: whether it touches the picture's edge.
    """

    colour: str
    mask: Mask
    points_m: Vector
    outline_px: Vector
    pixels: int
    cut_off: bool


@dataclass(frozen=True, eq=False)
class _Scene:
    """A picture taken apart.

    Attributes:
        view: of the camera.
        patches: of paint.
        rest: (H, W) 1 where something stands above the table in the workspace
            that is no patch.
        points_m: (H, W, 3) measured, in the table's frame.
        least: pixels that something must have to count.
    """

    view: _View
    patches: tuple[_Patch, ...]
    rest: Mask
    points_m: NDArray[np.float32]
    least: float

    def foreign(self) -> list[tuple[Vector, int]]:
        """Middle [m] and size [px] of things that are no blocks."""
        count, labels, stats, _ = cv2.connectedComponentsWithStats(self.rest, connectivity=8)
        return [(np.median(self.points_m[labels == i], axis=0).astype(np.float64),
                 int(stats[i, cv2.CC_STAT_AREA]))
                for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] >= self.least]


def _patches(rgbd: Rgbd, pose: Vector, block_m: float,
             workspace_m: Sequence[Sequence[float]]) -> _Scene:
    view = _checked_view(rgbd, pose)
    box = np.asarray(workspace_m, dtype=np.float64)
    if box.shape != (2, 3) or not (box[0] < box[1]).all():
        raise InputError(f'workspace {box.tolist()}: two corners of x, y, z are needed, the '
                         'lower one first')
    depth = np.nan_to_num(np.asarray(rgbd.depth_m, np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    known = depth > 0
    points = np.stack([depth * ray + np.float32(eye)
                       for ray, eye in zip(view.rays, view.eye_m, strict=True)], axis=-1)
    inside = known
    for axis in range(3):
        inside = inside & (points[:, :, axis] > box[0, axis]) & (points[:, :, axis] < box[1, axis])
    raised = inside & (points[:, :, 2] > _RAISED_M)
    if not raised.any():
        return _Scene(view, (), np.zeros(depth.shape, np.uint8), points, 0.0)
    face_px = (view.focal_px * block_m / float(np.median(depth[raised]))) ** 2
    labels = _paint(rgbd.rgb, inside | ~known, raised)
    found: list[tuple[str, Mask, int]] = []
    for index, colour in enumerate(COLOURS):
        mask = _opened(np.asarray(labels == index + 1, np.uint8), 3)
        for part, size in _components(mask, raised, _LEAST_SHARE * face_px):
            found.append((colour, part, size))
    patches = _measure(found, view, depth, points, inside)
    rest = np.asarray(raised, np.uint8)
    for _, part, _ in found:
        rest &= 1 - _grown(part, 7)
    return _Scene(view, patches, _opened(rest, 5), points, 0.08 * face_px)


def _paint(rgb: NDArray[np.uint8], possible: NDArray[np.bool_],
           raised: NDArray[np.bool_]) -> Mask:
    """(H, W): 0, or 1 + index in COLOURS, of vivid pixels where paint is possible."""
    colour = rgb.astype(np.float32)
    most, least = colour.max(axis=2), colour.min(axis=2)
    vivid = possible & (most - least > _VIVID * most) & (most > 12)
    labels = np.zeros(rgb.shape[:2], np.uint8)
    where = np.nonzero(vivid)
    if not len(where[0]):
        return labels
    tint = colour[where]
    tint /= np.linalg.norm(tint, axis=1, keepdims=True)
    trusted = raised[where]
    typical = np.array(list(_TYPICAL_RGB.values()), np.float32)
    centres = typical / np.linalg.norm(typical, axis=1, keepdims=True)
    nearest = (tint @ centres.T).argmax(axis=1)
    for _ in range(2):  # follow the light: each colour is what its pixels are
        for index in range(len(COLOURS)):
            mine = tint[trusted & (nearest == index)]
            if len(mine) > 50:
                middle = np.median(mine, axis=0)
                centres[index] = middle / np.linalg.norm(middle)
        likeness = tint @ centres.T
        nearest = likeness.argmax(axis=1)
    close = likeness.max(axis=1) > 0.97
    labels[where] = np.where(close, nearest + 1, 0)
    return labels


def _grown(mask: Mask, width: int) -> Mask:
    return np.asarray(cv2.dilate(mask, np.ones((width, width), np.uint8)), np.uint8)


def _opened(mask: Mask, width: int) -> Mask:
    return np.asarray(cv2.morphologyEx(mask, cv2.MORPH_OPEN, np.ones((width, width), np.uint8)),
                      np.uint8)


def _components(mask: Mask, raised: NDArray[np.bool_],
                least: float) -> list[tuple[Mask, int]]:
    """Connected parts that are large enough and stand above the table, and their sizes."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=4)
    parts = []
    for i in range(1, count):
        size = int(stats[i, cv2.CC_STAT_AREA])
        if size >= least:
            part = labels == i
            if np.count_nonzero(part & raised) >= 0.3 * size:
                parts.append((np.asarray(part, np.uint8), size))
    return parts


def _measure(found: Sequence[tuple[str, Mask, int]], view: _View,
             depth: NDArray[np.float32], points: NDArray[np.float32],
             inside: NDArray[np.bool_]) -> tuple[_Patch, ...]:
    """Points and outline of every patch."""
    masks = [part for _, part, _ in found]
    whole = [(part > 0) & inside for part in masks]
    heights = [float(np.median(points[where][:, 2])) if where.any() else 0.0 for where in whole]
    depths = [float(np.median(depth[where])) if where.any() else 0.0 for where in whole]
    patches = []
    for i, (colour, part, size) in enumerate(found):
        edge = part & _grown(1 - part, 3)
        for j, other in enumerate(masks):  # edges that belong to what stands in front
            if j != i and (heights[j] > heights[i] or depths[j] < depths[i] - 0.02):
                edge &= 1 - _grown(other, 9)
        border = np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
        edge[[0, -1]] = 0
        edge[:, [0, -1]] = 0
        patches.append(_Patch(colour, part, points[whole[i]].astype(np.float64),
                              view.ideal_px[edge > 0].astype(np.float64), size,
                              bool(border.any())))
    return tuple(patches)


# --- fitting ----------------------------------------------------------------------------------


def _fit_all(scene: _Scene, names: Mapping[str, str], block_m: float) -> list[Cube]:
    cubes = []
    for patch in scene.patches:
        if len(patch.points_m) < 60 or len(patch.outline_px) < 20:
            continue
        name = names.get(patch.colour, patch.colour)
        cubes.append(_fit(patch, scene.view, name, block_m))
    return sorted(cubes, key=lambda cube: (cube.name, -cube.pixels))


def _spread(array: Vector, count: int) -> Vector:
    """At most ``count`` rows, evenly."""
    step = max(1, math.ceil(len(array) / count))
    return array[::step]


def _fit(patch: _Patch, view: _View, name: str, block_m: float) -> Cube:
    """Fit an upright cube: Gauss-Newton on robust distances of points and outline."""
    points = _spread(patch.points_m, _POINTS)
    outline = _spread(patch.outline_px, _EDGES)
    cube = _first_guess(points, view, block_m)
    noise, metre_per_px = 0.004, float(np.median(np.linalg.norm(
        points - view.eye_m, axis=1))) / view.focal_px
    for _ in range(_STEPS):
        off, by_off = _faces(points, cube, view, block_m)
        out, by_out = _outline(outline, cube, view, block_m)
        noise = min(0.006, max(0.001, 1.4826 * float(np.median(np.abs(off)))))
        edge = min(4.0, max(0.5, 1.4826 * float(np.median(np.abs(out))))) * metre_per_px
        weight = np.concatenate([_tukey(off / (4.7 * noise)) / noise**2,
                                 _tukey(out * metre_per_px / (6.0 * edge)) / edge**2])
        slope = np.concatenate([by_off, by_out * metre_per_px])
        value = np.concatenate([off, out * metre_per_px])
        normal = slope.T @ (slope * weight[:, None]) + np.diag([1.0, 1.0, 1.0, 1e-3])
        step = np.linalg.solve(normal, -slope.T @ (value * weight))
        step[:3] = np.clip(step[:3], -0.02, 0.02)
        step[3] = min(0.3, max(-0.3, float(step[3])))
        cube = cube + step
        if np.abs(step[:3]).max() < 5e-5 and abs(step[3]) < 5e-4:
            break
    off, _ = _faces(points, cube, view, block_m)
    out, _ = _outline(outline, cube, view, block_m)
    yaw = (float(cube[3]) + math.pi / 4) % (math.pi / 2) - math.pi / 4
    residual, edge_px = float(np.median(np.abs(off))), float(np.sqrt(np.mean(out**2)))
    doubts = _doubts(name, patch, off, edge_px, noise)
    return Cube(name, patch.colour, cube[:3].copy(), yaw, patch.pixels, residual, edge_px, doubts)


def _doubts(name: str, patch: _Patch, off: Vector, edge_px: float,
            noise: float) -> tuple[Complaint, ...]:
    doubts = []
    if patch.cut_off:
        doubts.append(Complaint('cut_off', f'{name} is partly out of the picture', (name,)))
    elif edge_px > 3.0:
        doubts.append(Complaint('tipped', f'{name} does not look like an upright cube: its '
                                f'outline is {edge_px:.1f} pixels off', (name,)))
    return tuple(doubts)


def _tukey(ratio: Vector) -> Vector:
    """Weights of Tukey's biweight; 0 where the ratio is 1 or more."""
    return np.asarray(np.square(np.maximum(0.0, 1.0 - ratio**2)))


def _first_guess(points: Vector, view: _View, block_m: float) -> Vector:
    """(4,) centre and yaw: of many yaws the one whose two visible sides explain the points."""
    middle = np.median(points, axis=0)
    low, high = np.percentile(points[:, 2], (4, 96))
    sides = points[points[:, 2] < max(high - 0.2 * block_m, (low + high) / 2)]
    flat = sides[:, :2] - middle[:2]
    eye = view.eye_m[:2] - middle[:2]
    best: tuple[float, Vector] | None = None
    for yaw in np.radians(np.arange(-45.0, 45.0, 7.5)):
        c, s = math.cos(yaw), math.sin(yaw)
        x, y = flat[:, 0] * c + flat[:, 1] * s, flat[:, 1] * c - flat[:, 0] * s
        facing = 1.0 if eye[0] * c + eye[1] * s > 0 else -1.0
        (left, right), front = np.percentile(x, (3, 97)), float(np.percentile(y, 10))
        side = right if facing > 0 else left
        cost = float(np.mean(np.minimum(np.minimum(np.abs(y - front), np.abs(x - side)), 0.01)))
        cx, cy = (left + right) / 2, front + block_m / 2
        if best is None or cost < best[0]:
            best = cost, np.array([middle[0] + c * cx - s * cy, middle[1] + s * cx + c * cy,
                                   (low + high) / 2, yaw])
    assert best is not None
    return best[1]


_SIGNS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)


def _faces(points: Vector, cube: Vector, view: _View, block_m: float) -> tuple[Vector, Vector]:
    """(N,) distance of points from the nearest visible face's plane [m], and (N, 4) slopes."""
    c, s = math.cos(cube[3]), math.sin(cube[3])
    axes = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])  # of the cube, in rows
    away = points - cube[:3]
    local = away @ axes.T
    sign = np.where((view.eye_m - cube[:3]) @ axes.T > 0, 1.0, -1.0)
    distance = local * sign - block_m / 2
    face = distance.argmax(axis=1)
    normals = axes[face] * sign[face, None]
    turned = np.array([[-s, c, 0.0], [-c, -s, 0.0], [0.0, 0.0, 0.0]])[face] * sign[face, None]
    slopes = np.column_stack([-normals, np.einsum('ij,ij->i', turned, away)])
    return distance[np.arange(len(points)), face], slopes


def _outline(pixels: Vector, cube: Vector, view: _View, block_m: float) -> tuple[Vector, Vector]:
    """(N,) distance of edge pixels outwards from the cube's outline [px], and (N, 4) slopes.

    Pixels of an edge lie half a pixel inside on average.
    """
    c, s = math.cos(cube[3]), math.sin(cube[3])
    offsets = _SIGNS * (block_m / 2)
    turned = np.column_stack([offsets[:, 0] * c - offsets[:, 1] * s,
                              offsets[:, 0] * s + offsets[:, 1] * c, offsets[:, 2]])
    corners, by_point = view.project(cube[:3] + turned)
    by_yaw = np.column_stack([-turned[:, 1], turned[:, 0], np.zeros(8)])
    slopes = np.concatenate([by_point, np.einsum('nij,nj->ni', by_point, by_yaw)[:, :, None]],
                            axis=2)
    ring = cv2.convexHull(corners.astype(np.float32), returnPoints=False).ravel()
    start, end = corners[ring], corners[np.roll(ring, -1)]
    along = end - start
    length = np.linalg.norm(along, axis=1)
    normal = np.column_stack([along[:, 1], -along[:, 0]]) / length[:, None]
    if np.sum((start - corners.mean(axis=0)) * normal) < 0:
        normal = -normal
    distance = pixels @ normal.T - np.einsum('ij,ij->i', start, normal)
    edge = distance.argmax(axis=1)
    part = np.clip(np.einsum('ij,ij->i', pixels - start[edge], along[edge]) / length[edge]**2,
                   0.0, 1.0)[:, None, None]
    moved = (1 - part) * slopes[ring][edge] + part * slopes[np.roll(ring, -1)][edge]
    return (distance[np.arange(len(pixels)), edge] + 0.5,
            -np.einsum('ni,nij->nj', normal[edge], moved))
