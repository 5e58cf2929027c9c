"""The pieces' shapes as convex solids over a unit cell, and how they reflect light.

A board's *piece size* is how wide its cubes are, in sides of a cell. At ``FILLING`` every solid is
as wide as its cell, as in iVISPAR. At ``SMALL`` cubes and cylinders are .62 wide, balls .72,
pyramids and cones .74, prisms .86; between the two the width of each kind changes linearly. A
solid keeps its proportions at all sizes. Numbered tiles have one size.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.sliding.look import Look

Floats = NDArray[np.float64]

FILLING, SMALL = 1.0, 0.62
"""Piece sizes: as wide as the cell, and the smallest that is drawn."""
TALLEST = 1.17
"""Height that no solid exceeds at any piece size [cells]."""
TILE_HEIGHT = 0.16
_SMALL_BALL_RADIUS = 0.36
_SEGMENTS = 72
_TILE_HALF = 0.45
_PRISM_YAW_DEG = 78.0


@dataclass(frozen=True, eq=False)
class Solid:
    """A convex polyhedron.

    Attributes:
        vertices: (N, 3) corners in cells; the origin is the centre of the cell it stands on, x to
            the right, y away, z up.
        faces: of each face its corners, indices into ``vertices``.
        normals: (F, 3) outward unit normals of the faces.
        shiny: whether it has a highlight: flat faces would change as a whole.
    """

    vertices: Floats
    faces: tuple[NDArray[np.int64], ...]
    normals: Floats
    shiny: bool


@functools.lru_cache(maxsize=256)
def solid(kind: str, size: float = FILLING) -> Solid:
    """The solid of a kind of piece.

    Args:
        kind: of the piece.
        size: piece size of the board.

    Raises:
        KeyError: it has no corners (``sphere``), or is unknown.
    """
    small = {'cube': _cube, 'pyramid': _pyramid, 'cylinder': _cylinder, 'cone': _cone,
             'prism': _prism, 'tile': _tile}[kind]()
    if kind == 'tile':
        return small
    return dataclasses.replace(small, vertices=small.vertices * _growth(
        2 * float(np.abs(small.vertices[:, :2]).max()), size))


def ball_radius(size: float = FILLING) -> float:
    """Radius of a sphere at a piece size [cells]."""
    return _SMALL_BALL_RADIUS * _growth(2 * _SMALL_BALL_RADIUS, size)


@functools.lru_cache(maxsize=256)
def outline(kind: str, size: float = FILLING) -> Floats:
    """Points (N, 3) whose convex hull is the solid; for a sphere nearly."""
    if kind != 'sphere':
        return solid(kind, size).vertices
    return _ball_points(ball_radius(size))


def _growth(width: float, size: float) -> float:
    """Factor by which a solid that is ``width`` wide at ``SMALL`` is larger at a piece size."""
    return 1 + (1 / width - 1) * (size - SMALL) / (FILLING - SMALL)


def light_of(look: Look) -> Floats:
    """(3,) unit vector towards the light."""
    azimuth, elevation = math.radians(look.light_azimuth_deg), math.radians(
        look.light_elevation_deg)
    return np.array([math.sin(azimuth) * math.cos(elevation),
                     -math.cos(azimuth) * math.cos(elevation), math.sin(elevation)])


def _made(vertices: Floats, faces: list[list[int]], shiny: bool) -> Solid:
    """A solid of faces given in any sense; its inside holds the mean of its corners."""
    middle = vertices.mean(axis=0)
    corners, normals = [], []
    for face in faces:
        a, b, c = vertices[face[:3]]
        normal = np.cross(b - a, c - a)
        normal /= np.linalg.norm(normal)
        normals.append(normal if normal @ (a - middle) > 0 else -normal)
        corners.append(np.array(face))
    return Solid(vertices, tuple(corners), np.array(normals), shiny)


def _ring(radius: float, height: float, count: int = _SEGMENTS) -> Floats:
    angles = 2 * math.pi * np.arange(count) / count
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles),
                            np.full(count, height)])


def _slab(half: float, height: float) -> Solid:
    """An upright block on a square."""
    square = np.array([(-half, -half), (half, -half), (half, half), (-half, half)])
    vertices = np.concatenate([np.column_stack([square, np.full(4, z)]) for z in (0.0, height)])
    sides = [[k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k] for k in range(4)]
    return _made(vertices, [*sides, [4, 5, 6, 7]], shiny=False)


def _cube() -> Solid:
    return _slab(0.31, 0.62)


def _tile() -> Solid:
    return _slab(_TILE_HALF, TILE_HEIGHT)


def _pyramid() -> Solid:
    half = 0.37
    vertices = np.array([(-half, -half, 0), (half, -half, 0), (half, half, 0), (-half, half, 0),
                         (0, 0, 0.80)])
    return _made(vertices, [[k, (k + 1) % 4, 4] for k in range(4)], shiny=False)


def _cylinder() -> Solid:
    n = _SEGMENTS
    vertices = np.concatenate([_ring(0.31, 0.0), _ring(0.31, 0.72)])
    sides = [[k, (k + 1) % n, n + (k + 1) % n, n + k] for k in range(n)]
    return _made(vertices, [*sides, list(range(n, 2 * n))], shiny=True)


def _cone() -> Solid:
    n = _SEGMENTS
    vertices = np.concatenate([_ring(0.37, 0.0), [(0.0, 0.0, 0.86)]])
    return _made(vertices, [[k, (k + 1) % n, n] for k in range(n)], shiny=True)


def _prism() -> Solid:
    """An upright column with three sides, one of them nearly to the front."""
    base = _ring(0.44, 0.0, 3)
    turn = math.radians(_PRISM_YAW_DEG)
    c, s = math.cos(turn), math.sin(turn)
    low = base @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    sides = [[k, (k + 1) % 3, 3 + (k + 1) % 3, 3 + k] for k in range(3)]
    vertices = np.concatenate([low, low + np.array([0.0, 0.0, 0.66])])
    return _made(vertices, [*sides, [3, 4, 5]], shiny=False)


def _ball_points(radius: float) -> Floats:
    rows = [_ring(radius * math.cos(a), radius * (1 + math.sin(a)), 24)
            for a in np.linspace(-1.5, 1.5, 11)]
    return np.concatenate(rows)
