"""Meshes of the kinds that parts have: few triangles, closed, outward normals, made once.

Every kind fills the unit cube around the origin; a part stretches, turns and shifts it. Faces that
meet at less than ``CREASE_DEG`` are shaded as one round surface.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.household.shapes import Part, Vec3

CREASE_DEG = 50.0
SMALL_M = 0.06
"""A part whose extents stay below this gets a coarser mesh [m]."""

SHORTEST_M, LONGEST_M = 0.3, 1.0
"""Faces of boxes are cut into pieces of about this length [m]."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with a normal at each corner.

    Attributes:
        vertices: (N, 3) float64.
        normals: (N, 3) float64, unit, outward.
        triangles: (M, 3) int64, counter-clockwise seen from outside.
    """

    vertices: Floats
    normals: Floats
    triangles: NDArray[np.int64]


Polygons = list[list[Vec3]]

_ROUND = 18
"""Sides of what is round; the same for all, so that rims meet what they lie on."""


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
    return _shaded(_fitted(KINDS[kind](0.5 if coarse else 1.0)))


def _tiles(length: float, width: float) -> int:
    """Into how many pieces a face is cut along its length.

    TinyRenderer visits every pixel of the upright rectangle around a triangle: a long narrow one
    that runs across the picture would cost as much as a wall.
    """
    return math.ceil(length / min(LONGEST_M, max(SHORTEST_M, 2.5 * width)) - 1e-9)


@functools.cache
def _tiled_box(xy: int, xz: int, yx: int, yz: int, zx: int, zy: int) -> Mesh:
    """The unit box; ``xy`` is the number of pieces along x of the faces in x and y."""
    vertices: list[Vec3] = []
    normals: list[Vec3] = []
    triangles: list[tuple[int, int, int]] = []
    for axis, (m, n) in enumerate(((yz, zy), (zx, xz), (xy, yx))):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for side in (-1, 1):
            normal = [0.0, 0.0, 0.0]
            normal[axis] = float(side)
            start = len(vertices)
            for i in range(m + 1):
                for j in range(n + 1):
                    point = [0.0, 0.0, 0.0]
                    point[axis], point[u], point[v] = side / 2, i / m - 0.5, j / n - 0.5
                    vertices.append((point[0], point[1], point[2]))
                    normals.append((normal[0], normal[1], normal[2]))
            for i in range(m):
                for j in range(n):
                    a = start + i * (n + 1) + j
                    b, c, d = a + n + 1, a + n + 2, a + 1
                    triangles += [(a, b, c), (a, c, d)] if side > 0 else [(a, c, b), (a, d, c)]
    return Mesh(np.array(vertices), np.array(normals), np.array(triangles, dtype=np.int64))


def _fitted(polygons: Polygons) -> Polygons:
    """Stretched and shifted to fill the unit cube."""
    points = np.array([v for polygon in polygons for v in polygon])
    low, high = points.min(axis=0), points.max(axis=0)
    middle, span = (low + high) / 2, high - low
    def fit(v: Vec3) -> Vec3:
        x, y, z = ((np.array(v) - middle) / span).tolist()
        return x, y, z

    return [[fit(v) for v in polygon] for polygon in polygons]


def _shaded(polygons: Polygons) -> Mesh:
    """Triangulate convex polygons; corners share normals across edges that are not sharp."""
    corners: list[Floats] = []
    face_normals: list[Floats] = []
    for polygon in polygons:
        points = [np.array(v) for k, v in enumerate(polygon)
                  if math.dist(v, polygon[k - 1]) > 1e-9]
        for k in range(1, len(points) - 1):
            normal = np.cross(points[k] - points[0], points[k + 1] - points[0])
            area = float(np.linalg.norm(normal))
            if area > 1e-12:
                corners += [points[0], points[k], points[k + 1]]
                face_normals.append(normal)
    areas = np.array(face_normals)
    directions = areas / np.linalg.norm(areas, axis=1, keepdims=True)
    at: dict[tuple[float, ...], list[int]] = {}
    keys = [tuple(np.round(corner, 6) + 0.0) for corner in corners]
    for index, key in enumerate(keys):
        at.setdefault(key, []).append(index // 3)
    limit = math.cos(math.radians(CREASE_DEG))
    seen: dict[tuple[float, ...], int] = {}
    vertices: list[Floats] = []
    normals: list[Floats] = []
    triangles: list[int] = []
    for index, (corner, key) in enumerate(zip(corners, keys, strict=True)):
        around = np.array(at[key])
        near = around[directions[around] @ directions[index // 3] > limit]
        normal = areas[near].sum(axis=0)
        normal /= np.linalg.norm(normal)
        name = (*key, *np.round(normal, 5))
        if name not in seen:
            seen[name] = len(vertices)
            vertices.append(corner)
            normals.append(normal)
        triangles.append(seen[name])
    return Mesh(np.array(vertices), np.array(normals),
                np.array(triangles, dtype=np.int64).reshape(-1, 3))


# --- makers: each returns convex polygons, counter-clockwise seen from outside ----------------


def _prism(outline: Sequence[tuple[float, float]]) -> Polygons:
    """A counter-clockwise outline in x, y, between z = 0 and z = 1; caps are fans of triangles."""
    n = len(outline)
    cx, cy = (sum(p[k] for p in outline) / n for k in (0, 1))
    polygons: Polygons = []
    for k in range(n):
        (x0, y0), (x1, y1) = outline[k], outline[(k + 1) % n]
        polygons += [[(x0, y0, 0.0), (x1, y1, 0.0), (x1, y1, 1.0), (x0, y0, 1.0)],
                     [(x0, y0, 1.0), (x1, y1, 1.0), (cx, cy, 1.0)],
                     [(x1, y1, 0.0), (x0, y0, 0.0), (cx, cy, 0.0)]]
    return polygons


def _turned(profile: Sequence[tuple[float, float]], n: int, closed: bool = False) -> Polygons:
    """A profile of (radius, z) turned about z; from the bottom outward and up.

    A closed profile is a ring (counter-clockwise in the r-z plane); an open one starts and ends
    on the axis.
    """
    polygons: Polygons = []
    pairs = list(zip(profile, [*profile[1:], profile[0]], strict=True))
    for (r0, z0), (r1, z1) in pairs if closed else pairs[:-1]:
        for k in range(n):
            a, b = 2 * math.pi * k / n, 2 * math.pi * (k + 1) / n
            ca, sa, cb, sb = math.cos(a), math.sin(a), math.cos(b), math.sin(b)
            if k + 1 == n:
                cb, sb = 1.0, 0.0
            face = [(r0 * ca, r0 * sa, z0), (r0 * cb, r0 * sb, z0), (r1 * cb, r1 * sb, z1),
                    (r1 * ca, r1 * sa, z1)]
            if r0 < 1e-9:
                face = [(0.0, 0.0, z0), face[2], face[3]]
            elif r1 < 1e-9:
                face = [face[0], face[1], (0.0, 0.0, z1)]
            polygons.append(face)
    return polygons


def _warped(polygons: Polygons, warp: Callable[[float, float, float], Vec3]) -> Polygons:
    return [[warp(*v) for v in polygon] for polygon in polygons]


def _steps(n: int, detail: float, least: int = 8) -> int:
    return max(least, round(n * detail))


def _box(detail: float) -> Polygons:
    corners = [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
    low: list[Vec3] = [(x, y, -1.0) for x, y in corners]
    high: list[Vec3] = [(x, y, 1.0) for x, y in corners]
    return [low[::-1], high,
            *([low[k], low[(k + 1) % 4], high[(k + 1) % 4], high[k]] for k in range(4))]


def _cylinder(detail: float) -> Polygons:
    return _turned([(0, 0), (1, 0), (1, 1), (0, 1)], _steps(_ROUND, detail))


def _sphere(detail: float) -> Polygons:
    rows = _steps(8, detail, 5)
    arc = [(math.sin(math.pi * k / rows), -math.cos(math.pi * k / rows)) for k in range(rows + 1)]
    arc[0], arc[-1] = (0.0, -1.0), (0.0, 1.0)
    return _turned(arc, _steps(14, detail, 7))


def _cone(detail: float) -> Polygons:
    return _turned([(0, 0), (1, 0), (0, 1)], _steps(16, detail, 8))


def _bowl(detail: float) -> Polygons:
    outer = [(0.0, 0.0), (0.42, 0.0), (0.70, 0.18), (0.90, 0.52), (1.0, 1.0)]
    inner = [(0.94, 1.0), (0.83, 0.54), (0.62, 0.25), (0.36, 0.12), (0.0, 0.10)]
    return _turned([*outer, *inner], _steps(_ROUND, detail))


def _plate(detail: float) -> Polygons:
    return _turned([(0, 0), (0.60, 0.0), (0.74, 0.25), (1.0, 0.85), (1.0, 1.0), (0.72, 0.55),
                    (0.62, 0.45), (0, 0.45)], _steps(_ROUND, detail))


def _torus(detail: float) -> Polygons:
    """The hole's width follows from how flat it is stretched; as made, for a rim."""
    return _ring_of(0.90, 0.10, detail)


def _ring_of(middle: float, thick: float, detail: float) -> Polygons:
    n = _steps(6, detail, 4)
    ring = [(middle + thick * math.cos(2 * math.pi * k / n), math.sin(2 * math.pi * k / n))
            for k in range(n)]
    return _turned(ring, _steps(_ROUND, detail), closed=True)


def _fat_torus(detail: float) -> Polygons:
    return _ring_of(0.68, 0.32, detail)


def _hoop(detail: float) -> Polygons:
    return _ring_of(0.96, 0.04, detail)


def _leaf(detail: float) -> Polygons:
    """Pointed along x, with a ridge."""
    outline = [(-1.0, 0.0), (-0.3, -0.9), (0.3, -0.8), (1.0, 0.0), (0.3, 0.8), (-0.3, 0.9)]
    polygons: Polygons = []
    for k, (x0, y0) in enumerate(outline):
        x1, y1 = outline[(k + 1) % 6]
        polygons += [[(x0, y0, 0.0), (x1, y1, 0.0), (0.0, 0.0, 1.0)],
                     [(x1, y1, 0.0), (x0, y0, 0.0), (0.0, 0.0, -0.4)]]
    return polygons


def _ring(detail: float) -> Polygons:
    return _turned([(0.93, 0), (1, 0), (1, 1), (0.93, 1)], _steps(_ROUND, detail), closed=True)


def _band(detail: float) -> Polygons:
    """A zone of a sphere, three tenths of the diameter wide, with flat faces inside."""
    rows = 4
    outer = []
    for k in range(rows + 1):
        z = 0.296 * (2 * k / rows - 1)
        outer.append((math.sqrt(1 - z * z), z))
    return _turned([(0.85, -0.296), *outer, (0.85, 0.296)], _steps(14, detail, 7), closed=True)


def _bottle(detail: float) -> Polygons:
    return _turned([(0, 0), (0.92, 0), (1, 0.03), (1, 0.60), (0.88, 0.70), (0.45, 0.82),
                    (0.38, 0.88), (0.38, 1.0), (0, 1.0)], _steps(16, detail))


def _cup(detail: float) -> Polygons:
    return _turned([(0, 0), (0.95, 0), (1, 0.04), (1, 1), (0.88, 1), (0.88, 0.10), (0, 0.10)],
                   _steps(_ROUND, detail))


def _beaker(detail: float) -> Polygons:
    return _turned([(0, 0), (0.72, 0), (1, 1), (0.90, 1), (0.64, 0.08), (0, 0.08)],
                   _steps(_ROUND, detail))


def _pot(detail: float) -> Polygons:
    return _turned([(0, 0), (0.92, 0), (1, 0.08), (1, 1), (0.95, 1), (0.95, 0.08), (0, 0.08)],
                   _steps(_ROUND, detail))


def _shade(detail: float) -> Polygons:
    return _turned([(0.96, 0), (1, 0), (0.66, 1), (0.62, 1)], _steps(_ROUND, detail), closed=True)


def _apple(detail: float) -> Polygons:
    return _turned([(0, 0.06), (0.22, 0.0), (0.46, 0.03), (0.76, 0.20), (0.96, 0.46), (1.0, 0.64),
                    (0.90, 0.86), (0.62, 1.0), (0.30, 0.98), (0, 0.86)], _steps(18, detail))


def _wedge(detail: float) -> Polygons:
    """A triangular prism along y; its base is at the bottom, its ridge above the middle."""
    return _warped(_prism([(-1, 0), (1, 0), (0, 1)]), lambda x, y, z: (x, -z, y))


def _cabin(detail: float) -> Polygons:
    return _warped(_box(detail), lambda x, y, z: (x * (0.72 if z > 0 else 1.0) - 0.04 * (z > 0),
                                                  y * (0.86 if z > 0 else 1.0), z))


def _pillow(detail: float) -> Polygons:
    """A box with round upright edges and a bevel above and below."""
    outline = []
    for cx, cy, start in ((0.72, 0.72, 0), (-0.72, 0.72, 90), (-0.72, -0.72, 180),
                          (0.72, -0.72, 270)):
        for turn in (0, 45, 90):
            a = math.radians(start + turn)
            outline.append((cx + 0.28 * math.cos(a), cy + 0.28 * math.sin(a)))
    return _stacked([(0.90, 0.0), (1.0, 0.28), (1.0, 0.72), (0.90, 1.0)], outline)


def _stacked(levels: Sequence[tuple[float, float]],
             outline: Sequence[tuple[float, float]]) -> Polygons:
    """An outline scaled by the first of each level at the height of the second; closed by caps."""
    n = len(outline)
    polygons: Polygons = []
    for (s0, z0), (s1, z1) in itertools.pairwise(levels):
        for k in range(n):
            (x0, y0), (x1, y1) = outline[k], outline[(k + 1) % n]
            polygons.append([(s0 * x0, s0 * y0, z0), (s0 * x1, s0 * y1, z0),
                             (s1 * x1, s1 * y1, z1), (s1 * x0, s1 * y0, z1)])
    (s0, z0), (s1, z1) = levels[0], levels[-1]
    polygons.append([(s1 * x, s1 * y, z1) for x, y in outline])
    polygons.append([(s0 * x, s0 * y, z0) for x, y in reversed(outline)])
    return polygons


_FOOT = ((-1.0, 0.30), (-1.0, -0.30), (-0.90, -0.62), (-0.60, -0.72), (-0.10, -0.62),
         (0.30, -0.86), (0.65, -0.92), (0.90, -0.62), (1.0, -0.10), (0.94, 0.40), (0.70, 0.84),
         (0.30, 0.80), (-0.10, 0.62), (-0.60, 0.72), (-0.90, 0.62))
"""A shoe's outline, toe to the right."""


def _sole(detail: float) -> Polygons:
    return _stacked([(0.96, 0.0), (1.0, 0.4), (0.98, 1.0)], _FOOT)


def _shoe(detail: float) -> Polygons:
    """The upper of a shoe: high around the ankle, low at the toe."""
    def top(x: float) -> float:
        if x < -0.25:
            return 1.0
        return float(0.34 + 0.66 * (1 - min(1.0, (x + 0.25) / 0.95)) ** 1.1)

    raw = _stacked([(1.0, 0.0), (0.99, 0.45), (0.90, 0.80), (0.70, 1.0)], _FOOT)
    return _warped(raw, lambda x, y, z: (x, y * (1 - 0.25 * z * (x < 0)), z * top(x)))


def _spoon(detail: float) -> Polygons:
    """The bowl of a spoon: an egg-shaped dish."""
    return _turned([(0, 0.0), (0.55, 0.08), (0.85, 0.45), (1.0, 1.0), (0.86, 0.92), (0.55, 0.45),
                    (0, 0.35)], _steps(16, detail, 12))


def _banana(detail: float) -> Polygons:
    """A bent tube with pointed ends, lying flat, its belly to the front."""
    rows, n = 9, 6
    rings = []
    for k in range(rows + 1):
        s = 2 * k / rows - 1
        angle = s * 0.95
        cx, cy = math.sin(angle), -math.cos(angle)
        r = 0.20 * (1 - abs(s) ** 3.2 * 0.72)
        ring = []
        for j in range(n):
            a = 2 * math.pi * j / n
            ring.append((cx * (1 + r * math.cos(a)), cy * (1 + r * math.cos(a)),
                         r * math.sin(a)))
        rings.append(ring)
    polygons: Polygons = []
    for one, two in itertools.pairwise(rings):
        for j in range(n):
            polygons.append([one[j], two[j], two[(j + 1) % n], one[(j + 1) % n]])
    polygons += [list(rings[0]), list(reversed(rings[-1]))]
    return polygons


def _bag(detail: float) -> Polygons:
    """A bag of crisps that stands: flat seams at top and bottom, bulging between."""
    levels = [(0.94, 0.75, 0.0), (1.0, 0.95, 0.06), (0.98, 1.0, 0.40), (0.96, 0.86, 0.72),
              (0.97, 0.25, 0.90), (1.0, 0.08, 1.0)]
    base = [(math.copysign(abs(math.cos(a)) ** 0.55, math.cos(a)),
             math.copysign(abs(math.sin(a)) ** 0.8, math.sin(a)))
            for a in (2 * math.pi * (k + 0.5) / 12 for k in range(12))]
    polygons: Polygons = []
    rings: list[list[Vec3]] = [[(sx * x, sy * y, z) for x, y in base] for sx, sy, z in levels]
    for one, two in itertools.pairwise(rings):
        for k in range(len(base)):
            j = (k + 1) % len(base)
            polygons.append([one[k], one[j], two[j], two[k]])
    polygons += [rings[-1], rings[0][::-1]]
    return polygons


KINDS: Mapping[str, Callable[[float], Polygons]] = {
    'box': _box, 'cylinder': _cylinder, 'sphere': _sphere, 'cone': _cone, 'bowl': _bowl,
    'plate': _plate, 'torus': _torus, 'fat_torus': _fat_torus, 'hoop': _hoop,
    'leaf': _leaf, 'ring': _ring, 'band': _band,
    'bottle': _bottle, 'cup': _cup, 'beaker': _beaker, 'pot': _pot, 'shade': _shade,
    'apple': _apple, 'wedge': _wedge, 'cabin': _cabin, 'pillow': _pillow, 'sole': _sole,
    'shoe': _shoe, 'spoon': _spoon, 'banana': _banana, 'bag': _bag,
}
"""How each kind is made, by level of detail (1 or, for small parts, 0.5)."""
