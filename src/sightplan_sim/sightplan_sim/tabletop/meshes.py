"""Meshes that are drawn and convex pieces that collide, of each primitive, by numpy alone."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.meshes import Floats, Mesh, joined
from sightplan_sim.tabletop.shapes import Box, Hull, Points2, Primitive, Slab, Tube, Turned, Vec3

CREASE_DEG = 40.0
"""Faces that meet at a smaller angle than this are shaded as one round surface [deg]."""

TUBE_SIDES = 10
HULL_SIDES = 14
"""Number of sides of the convex pieces of round shapes."""
HULLS_PER_TUBE = 6
PAST = 0.15
"""Fraction of its length by which a convex piece extends into the next one."""
_TAPER = 0.6  # part of its thickness with which it ends there

def mesh_of(primitives: Sequence[Primitive]) -> Mesh:
    """All primitives in one mesh, in the thing's frame."""
    return joined([_mesh(primitive) for primitive in primitives])


@functools.lru_cache(maxsize=1024)
def _mesh(primitive: Primitive) -> Mesh:
    match primitive:
        case Box():
            return _box(primitive.size).placed(primitive.at, primitive.rpy)
        case Turned():
            return _turned(primitive).placed(primitive.at, primitive.rpy)
        case Slab():
            return _slab(primitive).placed(primitive.at, primitive.rpy)
        case Tube():
            return _tube(primitive)
        case Hull():
            raise ValueError('a hull is not drawn')


def hulls_of(primitives: Sequence[Primitive]) -> list[Floats]:
    """Convex pieces that fill the primitives, each the points (N, 3) of its hull."""
    return [hull for primitive in primitives for hull in _hulls(primitive)]


def blended(tube: Tube) -> list[Hull]:
    """Convex pieces of an open tube that taper off within their neighbours.

    Where pieces meet face to face, the corner of a finger that presses on the seam is held fast
    between the two faces, and the thing stays on that finger when the hand opens.
    """
    rings, _ = _rings(tube)
    middles = rings.mean(axis=1, keepdims=True)
    thin = middles + _TAPER * (rings - middles)
    step, last = math.ceil((len(rings) - 1) / HULLS_PER_TUBE), len(rings) - 1
    pieces = []
    for start in range(0, last, step):
        end = min(start + step, last)
        parts = [*thin[max(0, start - 1):start], *rings[start:end + 1], *thin[end + 1:end + 2]]
        pieces.append(Hull(tuple(map(tuple, np.concatenate(parts).tolist()))))
    return pieces


def _hulls(primitive: Primitive) -> Iterator[Floats]:
    match primitive:
        case Hull():
            yield np.array(primitive.points)
        case Turned():
            turn = rotation_from_rpy(primitive.rpy)
            for run in _blended_runs(_convex_runs(primitive.profile)):
                ring = _ring(run, min(HULL_SIDES, primitive.sides), primitive.stretch)
                yield ring @ turn.T + primitive.at
        case Tube():
            rings, _ = _rings(primitive)
            if primitive.closed:
                rings = np.concatenate([rings, rings[:1]])
            step = math.ceil((len(rings) - 1) / HULLS_PER_TUBE)
            for start in range(0, len(rings) - 1, step):
                yield rings[start:start + step + 1].reshape(-1, 3)
        case Box() | Slab():
            yield np.unique(_mesh(primitive).vertices, axis=0)


def _blended_runs(runs: Sequence[Points2]) -> Iterator[Points2]:
    """Runs that taper off within their neighbours, see ``blended``."""
    for before, run, after in zip(((), *runs), runs, (*runs[1:], ()), strict=False):
        low = [(_TAPER * r, z - PAST * (z - before[0][1])) for r, z in run[:1]
               if r > 0.0 and before[-1:] == run[:1]]
        high = [(_TAPER * r, z + PAST * (after[-1][1] - z)) for r, z in run[-1:]
                if r > 0.0 and after[:1] == run[-1:]]
        yield (*low, *run, *high)


def _cube() -> Mesh:
    """A cube from -1 to 1; each face has corners of its own."""
    corners, normals = np.zeros((2, 6, 4, 3))
    axes = itertools.product(((0, 1, 2), (1, 2, 0), (2, 0, 1)), (-1.0, 1.0))
    for face, ((x, y, z), side) in enumerate(axes):
        corners[face, :, x] = np.array((-1, 1, 1, -1)) * side
        corners[face, :, y] = (-1, -1, 1, 1)
        corners[face, :, z] = normals[face, :, z] = side
    starts = 4 * np.arange(6)[:, None, None]
    triangles = (starts + np.array([(0, 1, 2), (0, 2, 3)])).reshape(-1, 3)
    return Mesh(corners.reshape(-1, 3), normals.reshape(-1, 3), triangles)


_CUBE = _cube()


def _box(size: Vec3) -> Mesh:
    return Mesh(_CUBE.vertices * size / 2, _CUBE.normals, _CUBE.triangles)


def _turned(shape: Turned) -> Mesh:
    """Every piece of the profile is a band with corners of its own."""
    points = np.array(shape.profile)
    steps = np.diff(points, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    flat = np.stack([steps[:, 1], -steps[:, 0]], axis=1)  # outward, in (radius, z)
    first, last = flat.copy(), flat.copy()
    for k in range(len(flat) - 1):
        if flat[k] @ flat[k + 1] > math.cos(math.radians(CREASE_DEG)):
            middle = flat[k] + flat[k + 1]
            last[k] = first[k + 1] = middle / np.linalg.norm(middle)
    n = shape.sides
    angles = np.linspace(0.0, 2 * math.pi, n + 1)
    around = np.stack([np.cos(angles), np.sin(angles) * shape.stretch], axis=1)
    facing = np.stack([np.cos(angles), np.sin(angles) / shape.stretch], axis=1)
    ends = np.stack([points[:-1], points[1:]], axis=1).reshape(-1, 2)
    outward = np.stack([first, last], axis=1).reshape(-1, 2)
    vertices = np.empty((len(ends), n + 1, 3))
    vertices[..., :2] = ends[:, None, :1] * around
    vertices[..., 2] = ends[:, None, 1]
    normals = np.empty_like(vertices)
    normals[..., :2] = outward[:, None, :1] * facing
    normals[..., 2] = outward[:, None, 1]
    normals /= np.linalg.norm(normals, axis=2, keepdims=True)
    triangles = []
    around_once = np.arange(n)
    for band in range(len(steps)):
        a = 2 * band * (n + 1) + around_once
        b, c, d = a + 1, a + n + 2, a + n + 1
        if points[band, 0] > 0:
            triangles.append(np.stack([a, b, c], axis=1))
        if points[band + 1, 0] > 0:
            triangles.append(np.stack([a, c, d], axis=1))
    return Mesh(vertices.reshape(-1, 3), normals.reshape(-1, 3), np.concatenate(triangles))


def _slab(shape: Slab) -> Mesh:
    outline = np.array(shape.outline)
    n = len(outline)
    low = np.column_stack([outline, np.zeros(n)])
    high = low + np.array([0.0, 0.0, shape.height])
    after = np.roll(np.arange(n), -1)
    sides = np.stack([low, low[after], high[after], high], axis=1)
    edge = outline[after] - outline
    outward = np.column_stack([edge[:, 1], -edge[:, 0], np.zeros(n)])
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    up = np.tile((0.0, 0.0, 1.0), (n, 1))
    quads = (4 * np.arange(n)[:, None, None] + np.array([(0, 1, 2), (0, 2, 3)])).reshape(-1, 3)
    fan = np.array([(0, k, k + 1) for k in range(1, n - 1)])
    return Mesh(np.concatenate([sides.reshape(-1, 3), high, low]),
                np.concatenate([np.repeat(outward, 4, axis=0), up, -up]),
                np.concatenate([quads, fan + 4 * n, fan[:, ::-1] + 5 * n]))


def _rings(shape: Tube) -> tuple[Floats, Floats]:
    """(K, S, 3) corners of the cross sections along the path, and their outward normals."""
    path, across = np.array(shape.path), np.array(shape.across)
    if shape.closed:
        along = np.roll(path, -1, axis=0) - np.roll(path, 1, axis=0)
    else:
        along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    side = np.cross(along, across)
    radii = np.array(shape.radii)[:, None, None]
    angles = 2 * math.pi * (np.arange(TUBE_SIDES) + 0.5) / TUBE_SIDES
    cos, sin = np.cos(angles)[None, :, None], np.sin(angles)[None, :, None]
    corners = path[:, None] + radii * (cos * side[:, None] + shape.flat * sin * across)
    normals = cos * side[:, None] + sin / shape.flat * across
    return corners, normals / np.linalg.norm(normals, axis=2, keepdims=True)


def _tube(shape: Tube) -> Mesh:
    rings, normals = _rings(shape)
    if shape.closed:
        rings, normals = (np.concatenate([part, part[:1]]) for part in (rings, normals))
    count, n = rings.shape[:2]
    k = np.arange(n)
    a = (np.arange(count - 1)[:, None] * n + k).ravel()
    b = (np.arange(count - 1)[:, None] * n + (k + 1) % n).ravel()
    triangles = [np.stack([a, b + n, b], axis=1), np.stack([a, a + n, b + n], axis=1)]
    vertices, outward = [rings.reshape(-1, 3)], [normals.reshape(-1, 3)]
    if not shape.closed:
        fan = np.array([(0, j, j + 1) for j in range(1, n - 1)])
        for ring, back, order in ((0, 1, 1), (-1, -2, -1)):
            cap = rings[ring].mean(axis=0) - rings[back].mean(axis=0)
            triangles.append(fan[:, ::order] + sum(len(part) for part in vertices))
            vertices.append(rings[ring])
            outward.append(np.tile(cap / np.linalg.norm(cap), (n, 1)))
    return Mesh(np.concatenate(vertices), np.concatenate(outward), np.concatenate(triangles))


def _ring(profile: Points2, sides: int, stretch: float) -> Floats:
    angles = 2 * math.pi * np.arange(sides) / sides
    points = [(r * math.cos(a), r * math.sin(a) * stretch, z) for r, z in profile
              for a in (angles if r > 0 else angles[:1])]
    return np.array(points)


def _convex_runs(profile: Points2) -> list[Points2]:
    """The profile cut where it bends inward, so that each run is convex when turned."""
    runs: list[list[tuple[float, float]]] = [[profile[0]]]
    for before, point, after in zip(profile, profile[1:], profile[2:], strict=False):
        runs[-1].append(point)
        (ax, ay), (bx, by) = ((point[k] - before[k] for k in (0, 1)),
                              (after[k] - point[k] for k in (0, 1)))
        if ax * by - ay * bx < -1e-12:
            runs.append([point])
    runs[-1].append(profile[-1])
    return [tuple(run) for run in runs if any(r > 0 for r, _ in run)
            and max(z for _, z in run) - min(z for _, z in run) > 1e-6]
