"""Meshes with a normal at each corner, and the convex polygons that they are made of.

Household, tabletop and arm make their meshes with these. Polygons are lists of corners,
counter-clockwise seen from outside.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_arm.geometry import rotation_from_rpy

CREASE_DEG = 50.0
"""Faces that meet at a smaller angle than this are shaded as one round surface [deg]."""

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Vec3 = tuple[float, float, float]
Polygons = list[list[Vec3]]
Profile = Sequence[tuple[float, float]]


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
    triangles: Indices

    def stretched(self, size: Vec3 | Floats) -> Mesh:
        """The mesh with each axis multiplied by its factor."""
        normals = self.normals / size
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        return Mesh(self.vertices * size, normals, self.triangles)

    def placed(self, at: Vec3 | Floats, rpy: Vec3 | Floats) -> Mesh:
        """The mesh turned by roll, pitch, yaw (fixed axes) [rad], then moved."""
        if not any(rpy):
            return Mesh(self.vertices + at, self.normals, self.triangles)
        turn = rotation_from_rpy(rpy)
        return Mesh(self.vertices @ turn.T + at, self.normals @ turn.T, self.triangles)


def joined(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]),
                np.concatenate([mesh.normals for mesh in meshes]),
                np.concatenate([mesh.triangles + start
                                for mesh, start in zip(meshes, starts, strict=True)]))


def shaded(polygons: Sequence[Floats]) -> Mesh:
    """Triangulate convex polygons; corners share normals across edges that are not sharp."""
    corners: list[Floats] = []
    face_normals: list[Floats] = []
    for polygon in polygons:
        points = [v for k, v in enumerate(polygon) if math.dist(v, polygon[k - 1]) > 1e-9]
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


def fitted(polygons: Polygons) -> list[Floats]:
    """Stretched and shifted to fill the unit cube."""
    points = np.array([v for polygon in polygons for v in polygon])
    low, high = points.min(axis=0), points.max(axis=0)
    return [(np.array(polygon) - (low + high) / 2) / (high - low) for polygon in polygons]


def box() -> Polygons:
    """The cube from -1 to 1."""
    low: list[Vec3] = [(-1.0, -1.0, -1.0), (1.0, -1.0, -1.0), (1.0, 1.0, -1.0), (-1.0, 1.0, -1.0)]
    high: list[Vec3] = [(x, y, 1.0) for x, y, _ in low]
    return [low[::-1], high,
            *([low[k], low[(k + 1) % 4], high[(k + 1) % 4], high[k]] for k in range(4))]


def prism(outline: Profile) -> Polygons:
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


def turned(profile: Profile, n: int, closed: bool = False) -> Polygons:
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
