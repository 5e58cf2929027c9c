"""Meshes of the kinds that parts have: few triangles, closed, outward normals, made once.

Every kind fills the unit cube around the origin; a part stretches, turns and shifts it. Faces that
meet at a small angle (``sightplan_sim.meshes.CREASE_DEG``) are shaded as one round surface.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from sightplan.model.reading import read_data
from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.household.shapes import Part, Vec3
from sightplan_sim.meshes import (
    Floats,
    Indices,
    Mesh,
    Polygons,
    Profile,
    box,
    fitted,
    prism,
    shaded,
    turned,
)

SMALL_M = 0.06
"""Size below which a part gets a coarser mesh [m]."""

SHORTEST_M, LONGEST_M = 0.3, 1.0
"""Faces of boxes are cut into pieces of about this length [m]."""

MeshFactory = Callable[[float], Polygons]

_ROUND = 18
"""Number of sides of round shapes; one for all, so that rims meet the bodies that they lie on."""


def mesh_of(part: Part) -> Mesh:
    """A part's mesh in its link's frame.

    Raises:
        ValueError: there is no such kind.
    """
    if part.kind == 'box' and max(part.size) > SHORTEST_M:
        unit = _tiled_box(*(_tiles(part.size[k], part.size[j])
                            for k, j in ((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))))
    else:
        unit = unit_mesh(part.kind, max(part.size) < SMALL_M)
    size = np.array(part.size)
    turn = rotation_from_rpy(part.rpy)
    normals = (unit.normals / size) @ turn.T
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Mesh((unit.vertices * size) @ turn.T + part.position, normals, unit.triangles)


@functools.cache
def unit_mesh(kind: str, coarse: bool = False) -> Mesh:
    """The mesh of a kind, in the unit cube.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f'no mesh {kind!r}; there are {", ".join(KINDS)}')
    return shaded(fitted(KINDS[kind](0.5 if coarse else 1.0)))


def _tiles(length: float, width: float) -> int:
    """Number of pieces into which a face is cut along its length.

    TinyRenderer visits every pixel of the upright rectangle around a triangle: a long narrow one
    that runs across the picture would cost as much as a wall.
    """
    return math.ceil(length / min(LONGEST_M, max(SHORTEST_M, 2.5 * width)) - 1e-9)


@functools.cache
def _tiled_box(xy: int, xz: int, yx: int, yz: int, zx: int, zy: int) -> Mesh:
    """The unit box; ``xy`` is the number of pieces along x of the faces in x and y."""
    vertices: list[Floats] = []
    normals: list[Floats] = []
    triangles: list[Indices] = []
    for axis, (m, n) in enumerate(((yz, zy), (zx, xz), (xy, yx))):
        i, j = np.indices((m + 1, n + 1)).reshape(2, -1)
        a = (np.arange(m)[:, None] * (n + 1) + np.arange(n)).ravel()
        b, c, d = a + n + 1, a + n + 2, a + 1
        for side, cells in ((-1, (a, c, b, a, d, c)), (1, (a, b, c, a, c, d))):
            normal = np.zeros((len(i), 3))
            normal[:, axis] = side
            face = normal / 2
            face[:, (axis + 1) % 3], face[:, (axis + 2) % 3] = i / m - 0.5, j / n - 0.5
            start = sum(len(face) for face in vertices)
            triangles.append(start + np.stack(cells, axis=1).reshape(-1, 3))
            vertices.append(face)
            normals.append(normal)
    return Mesh(np.concatenate(vertices), np.concatenate(normals), np.concatenate(triangles))


# --- factories: each returns convex polygons, counter-clockwise seen from outside -------------


def _warped(polygons: Polygons, warp: Callable[[float, float, float], Vec3]) -> Polygons:
    return [[warp(*v) for v in polygon] for polygon in polygons]


def _lathe(points: Profile, sides: int = _ROUND, least: int = 8,
           closed: bool = False) -> MeshFactory:
    """Makes a turned profile; ``least`` is the number of sides that a coarse mesh has at least."""
    return lambda detail: turned(points, max(least, round(sides * detail)), closed)


def _torus(middle: float, thick: float) -> MeshFactory:
    """Makes a ring with a round profile; part of its radius to the profile's middle, and its."""
    def make(detail: float) -> Polygons:
        n = max(4, round(6 * detail))
        profile = [(middle + thick * math.cos(2 * math.pi * k / n), math.sin(2 * math.pi * k / n))
                   for k in range(n)]
        return _lathe(profile, closed=True)(detail)
    return make


def _sphere(detail: float) -> Polygons:
    rows = max(5, round(8 * detail))
    arc = [(math.sin(math.pi * k / rows), -math.cos(math.pi * k / rows)) for k in range(rows + 1)]
    arc[0], arc[-1] = (0.0, -1.0), (0.0, 1.0)
    return _lathe(arc, 14, 7)(detail)


def _leaf(detail: float) -> Polygons:
    """Pointed along x, with a ridge."""
    outline = [(-1.0, 0.0), (-0.3, -0.9), (0.3, -0.8), (1.0, 0.0), (0.3, 0.8), (-0.3, 0.9)]
    polygons: Polygons = []
    for k, (x0, y0) in enumerate(outline):
        x1, y1 = outline[(k + 1) % 6]
        polygons += [[(x0, y0, 0.0), (x1, y1, 0.0), (0.0, 0.0, 1.0)],
                     [(x1, y1, 0.0), (x0, y0, 0.0), (0.0, 0.0, -0.4)]]
    return polygons


def _band(detail: float) -> Polygons:
    """A zone of a sphere, three tenths of the diameter wide, with flat faces inside."""
    heights = [0.296 * (2 * k / 4 - 1) for k in range(5)]
    outer = [(math.sqrt(1 - z * z), z) for z in heights]
    return _lathe([(0.85, -0.296), *outer, (0.85, 0.296)], 14, 7, closed=True)(detail)


def _wedge(detail: float) -> Polygons:
    """A triangular prism along y; its base is at the bottom, its ridge above the middle."""
    return _warped(prism([(-1, 0), (1, 0), (0, 1)]), lambda x, y, z: (x, -z, y))


def _cabin(detail: float) -> Polygons:
    return _warped(box(), lambda x, y, z: (x * (0.72 if z > 0 else 1.0) - 0.04 * (z > 0),
                                                  y * (0.86 if z > 0 else 1.0), z))


def _pillow(detail: float) -> Polygons:
    """A box with round upright edges and a bevel above and below."""
    outline = []
    for cx, cy, start in ((0.72, 0.72, 0), (-0.72, 0.72, 90), (-0.72, -0.72, 180),
                          (0.72, -0.72, 270)):
        for turn in (0, 45, 90):
            a = math.radians(start + turn)
            outline.append((cx + 0.28 * math.cos(a), cy + 0.28 * math.sin(a)))
    return _stacked([(0.90, 0.90, 0.0), (1.0, 1.0, 0.28), (1.0, 1.0, 0.72), (0.90, 0.90, 1.0)],
                    outline)


def _stacked(levels: Sequence[Vec3], outline: Profile) -> Polygons:
    """An outline scaled by the first two of each level at the height of the third; with caps."""
    n = len(outline)
    rings: list[list[Vec3]] = [[(sx * x, sy * y, z) for x, y in outline] for sx, sy, z in levels]
    sides = [[one[k], one[(k + 1) % n], two[(k + 1) % n], two[k]]
             for one, two in itertools.pairwise(rings) for k in range(n)]
    return [*sides, rings[-1], rings[0][::-1]]


_FOOT = ((-1.0, 0.30), (-1.0, -0.30), (-0.90, -0.62), (-0.60, -0.72), (-0.10, -0.62),
         (0.30, -0.86), (0.65, -0.92), (0.90, -0.62), (1.0, -0.10), (0.94, 0.40), (0.70, 0.84),
         (0.30, 0.80), (-0.10, 0.62), (-0.60, 0.72), (-0.90, 0.62))
"""A shoe's outline, toe to the right."""


def _sole(detail: float) -> Polygons:
    return _stacked([(0.96, 0.96, 0.0), (1.0, 1.0, 0.4), (0.98, 0.98, 1.0)], _FOOT)


def _shoe(detail: float) -> Polygons:
    """The upper of a shoe: high around the ankle, low at the toe."""
    def top(x: float) -> float:
        if x < -0.25:
            return 1.0
        return float(0.34 + 0.66 * (1 - min(1.0, (x + 0.25) / 0.95)) ** 1.1)

    raw = _stacked([(1.0, 1.0, 0.0), (0.99, 0.99, 0.45), (0.90, 0.90, 0.80), (0.70, 0.70, 1.0)],
                   _FOOT)
    return _warped(raw, lambda x, y, z: (x, y * (1 - 0.25 * z * (x < 0)), z * top(x)))


def _banana(detail: float) -> Polygons:
    """A bent tube with pointed ends, lying flat, its belly to the front."""
    rings: list[list[Vec3]] = []
    for s in (2 * k / 9 - 1 for k in range(10)):
        cx, cy, r = math.sin(s * 0.95), -math.cos(s * 0.95), 0.20 * (1 - abs(s) ** 3.2 * 0.72)
        turns = [2 * math.pi * j / 6 for j in range(6)]
        rings.append([(cx * (1 + r * math.cos(a)), cy * (1 + r * math.cos(a)), r * math.sin(a))
                      for a in turns])
    sides = [[one[j], two[j], two[(j + 1) % 6], one[(j + 1) % 6]]
             for one, two in itertools.pairwise(rings) for j in range(6)]
    return [*sides, rings[0], rings[-1][::-1]]


def _bag(detail: float) -> Polygons:
    """A bag of crisps that stands: flat seams at top and bottom, bulging between."""
    levels = [(0.94, 0.75, 0.0), (1.0, 0.95, 0.06), (0.98, 1.0, 0.40), (0.96, 0.86, 0.72),
              (0.97, 0.25, 0.90), (1.0, 0.08, 1.0)]
    base = [(math.copysign(abs(math.cos(a)) ** 0.55, math.cos(a)),
             math.copysign(abs(math.sin(a)) ** 0.8, math.sin(a)))
            for a in (2 * math.pi * (k + 0.5) / 12 for k in range(12))]
    return _stacked(levels, base)


_PROFILES = read_data(Path(__file__).with_name('profiles.yaml'))

KINDS: Mapping[str, MeshFactory] = {
    'box': lambda _: box(), 'sphere': _sphere, 'leaf': _leaf, 'band': _band, 'wedge': _wedge,
    'cabin': _cabin, 'pillow': _pillow, 'sole': _sole, 'shoe': _shoe, 'banana': _banana,
    'bag': _bag, 'torus': _torus(0.90, 0.10), 'fat_torus': _torus(0.68, 0.32),
    'hoop': _torus(0.96, 0.04),
    **{kind: _lathe(**profile) for kind, profile in _PROFILES.items()},
}
"""Factory of each kind of mesh; it takes the level of detail (1, or 0.5 for small parts)."""
