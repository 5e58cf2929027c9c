"""Building blocks of things: profiles, hollow shells, handles, tints."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from sightplan_sim.tabletop.draw import Draw
from sightplan_sim.tabletop.meshes import PAST, mesh_of
from sightplan_sim.tabletop.shapes import (
    BODY,
    Hull,
    Part,
    Points2,
    Points3,
    Primitive,
    Rgb,
    Room,
    Thing,
    Tube,
    Turned,
    Vec3,
)

STEEL: Rgb = (0.74, 0.75, 0.78)
IRON: Rgb = (0.40, 0.41, 0.44)
WHITE: Rgb = (0.95, 0.95, 0.93)
DARK: Rgb = (0.13, 0.13, 0.14)
WOOD: Rgb = (0.72, 0.53, 0.33)
PAPER: Rgb = (0.94, 0.92, 0.86)

SECTORS = 10
"""Convex pieces around a hollow wall."""
BANDS = 2
"""Convex pieces from the bottom to the rim of a hollow wall."""
_TAPERED = (0.4, 0.6)  # depths of the joint in the next piece, as fractions of its thickness
RIM_M = 0.006
"""Height of a rim."""


def mixed(one: Rgb, two: Rgb, weight: float) -> Rgb:
    """A colour between two; ``weight`` is the second's."""
    r, g, b = ((1 - weight) * p + weight * q for p, q in zip(one, two, strict=True))
    return r, g, b


def tinted(rgb: Rgb, factor: float) -> Rgb:
    """Darker (below 1) or lighter."""
    r, g, b = (min(1.0, v * factor) for v in rgb)
    return r, g, b


def inner_tint(draw: Draw, rgb: Rgb) -> Rgb:
    """The colour inside a vessel: its own but darker, or nearly white."""
    return draw.pick((tinted(rgb, 0.72), tinted(rgb, 0.72), (0.88, 0.87, 0.84)))


def smooth(points: Sequence[tuple[float, float]], pieces: int = 4) -> Points2:
    """A curve through points (Catmull-Rom), ``pieces`` from each to the next."""
    p = np.array([points[0], *points, points[-1]])
    t = np.linspace(0.0, 1.0, pieces + 1)[:-1, None]
    out: list[tuple[float, float]] = []
    for k in range(1, len(p) - 2):
        a, b, c, d = p[k - 1:k + 3]
        curve = 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2
                       + (3 * b - a - 3 * c + d) * t**3)
        out += [(max(0.0, float(x)), float(y)) for x, y in curve]
    return (*out, points[-1])


def ball_profile(radius: float, low: float, high: float, rows: int = 10) -> Points2:
    """Profile of an ellipsoid between two heights on its axis."""
    middle, half = (low + high) / 2, (high - low) / 2
    arc = [(radius * math.sin(math.pi * k / rows), middle - half * math.cos(math.pi * k / rows))
           for k in range(rows + 1)]
    return ((0.0, low), *arc[1:-1], (0.0, high))


def barrel(radius: float, low: float, high: float, bevel: float = 0.0) -> Points2:
    """Profile of a cylinder between two heights, with bevelled edges."""
    if bevel <= 0:
        return (0.0, low), (radius, low), (radius, high), (0.0, high)
    return ((0.0, low), (radius - bevel, low), (radius, low + bevel), (radius, high - bevel),
            (radius - bevel, high), (0.0, high))


def ring(inner: float, outer: float, low: float, high: float) -> Points2:
    """Profile of a ring with a rectangular section."""
    return (inner, low), (outer, low), (outer, high), (inner, high), (inner, low)


def outside(outer: Points2) -> Turned:
    """The outer face of a vessel, closed at the bottom; ``outer`` goes from bottom to rim."""
    return Turned(((0.0, outer[0][1]), *outer))


def lining(outer: Points2, thickness: float, floor: float) -> Turned:
    """The inner face of a vessel, from below its rim down to the middle of its floor."""
    wall = [(r - thickness, z) for r, z in reversed(outer) if z > floor + 1e-4]
    return Turned((*wall, (radius_at(outer, floor) - thickness, floor), (0.0, floor)))


def rim(outer: Points2, thickness: float, height: float = RIM_M) -> Turned:
    """The upper edge of a vessel."""
    r, z = outer[-1]
    e = 0.0007
    return Turned(((r - thickness - e, z - height), (r - thickness, z - height), (r, z - height),
                   (r + e, z - 0.7 * height), (r + e, z - 0.2 * height), (r - e, z + e),
                   (r - thickness + e, z + e), (r - thickness - e, z - 0.2 * height),
                   (r - thickness - e, z - height)))


def walls(outer: Points2, thickness: float, floor: float) -> tuple[Hull, ...]:
    """A hollow vessel to collide with: its floor and convex pieces of its wall.

    The pieces taper off within one another, see ``meshes.blended``.
    """
    base = [(r, z) for r, z in outer if z < floor]
    low, high = base[0] if base else outer[0], outer[-1]
    foot = (*(base or [outer[0]]), (radius_at(outer, floor), floor))
    cuts = np.linspace(low[1], high[1], BANDS + 1).tolist()
    pieces = [Hull(tuple(_circle(foot, 14)))]
    sector = 2 * math.pi / SECTORS

    def corners(angles: Sequence[float], heights: Sequence[float],
                insets: Sequence[float]) -> list[Vec3]:
        return [(r * math.cos(a), r * math.sin(a), z) for z in heights for inset in insets
                for r in [radius_at(outer, z) - inset * thickness] for a in angles]

    for bottom, top in itertools.pairwise(cuts):
        reach = PAST * (top - bottom)
        past = [z for z in (bottom - reach, top + reach) if low[1] < z < high[1]]
        for k in range(SECTORS):
            begin, end = k * sector, (k + 1) * sector
            sides = (begin - PAST * sector, end + PAST * sector)
            pieces.append(Hull((*corners((begin, end), (bottom, top), (0.0, 1.0)),
                                *corners(sides, (bottom, top), _TAPERED),
                                *corners((begin, end), past, _TAPERED))))
    return tuple(pieces)


def _circle(profile: Iterable[tuple[float, float]], sides: int) -> list[Vec3]:
    angles = [2 * math.pi * k / sides for k in range(sides)]
    return [(r * math.cos(a), r * math.sin(a), z) for r, z in profile for a in angles]


def radius_at(outer: Points2, z: float) -> float:
    """Radius of a profile, whose heights ascend, at a height."""
    radii, heights = zip(*outer, strict=True)
    return float(np.interp(z, heights, radii))


def loop_handle(kind: str, wall: tuple[float, float], top: float, bottom: float, reach: float,
                thick: float, flat: float = 1.0) -> Tube:
    """A handle in the plane y = 0 at the side +x.

    Args:
        kind: ``round``, ``square`` or ``ear`` (wide at the top).
        wall: x of the wall where it leaves at the top and at the bottom.
        top: height where it leaves.
        bottom: height where it comes back.
        reach: how far it stands out.
        thick: half its thickness.
        flat: see ``Tube``.
    """
    x1, x0 = wall
    middle, half = (top + bottom) / 2, (top - bottom) / 2
    points: list[Vec3]
    if kind == 'square':
        points = [(x1 - thick, 0, top), (x1 + 0.75 * reach, 0, top),
                  (max(x1, x0) + reach, 0, top - 0.25 * half),
                  (max(x1, x0) + reach, 0, bottom + 0.25 * half),
                  (x0 + 0.75 * reach, 0, bottom), (x0 - thick, 0, bottom)]
    else:
        points = []
        for k in range(9):
            angle = math.pi / 2 - math.pi * k / 8
            out = max(0.0, math.cos(angle)) ** (0.7 if kind == 'round' else 0.55)
            if kind == 'ear':
                out *= 1.0 + 0.25 * math.sin(angle)
            base = x0 + (x1 - x0) * (1 + math.sin(angle)) / 2
            points.append((base - thick + out * (reach + thick), 0.0,
                           middle + half * math.sin(angle)))
    return Tube(tuple(points), (thick,) * len(points), (0.0, 1.0, 0.0), flat)


def bar(start: Vec3, end: Vec3, radius: float, across: Vec3, flat: float = 1.0,
        taper: float = 1.0) -> Tube:
    """A straight bar with round ends; its thickness at the end is ``taper`` times the start's."""
    a, b = np.array(start), np.array(end)
    at = (0.0, 0.04, 0.14, 0.5, 0.86, 0.96, 1.0)
    round_end = (0.6, 0.88, 1.0, 1.0, 1.0, 0.88, 0.6)
    path: Points3 = tuple(tuple(float(v) for v in a + t * (b - a)) for t in at)  # type: ignore[misc]
    radii = tuple(radius * r * (1 + (taper - 1) * t) for t, r in zip(at, round_end, strict=True))
    return Tube(path, radii, across, flat)


def flat_rod(x0: float, x1: float, width: float, height: float) -> Tube:
    """A handle that lies along x on z = 0, with round ends."""
    z = height / 2
    return bar((x0, 0.0, z), (x1, 0.0, z), z, (0.0, 1.0, 0.0), width / height)


def part(name: str, rgb: Rgb, seen: Primitive | Sequence[Primitive], mass_kg: float = 0.0,
         solid: Sequence[Primitive] | None = None, parent: str = '') -> Part:
    """A part that collides as it looks, unless ``solid`` is given or it has no mass."""
    drawn = (seen,) if isinstance(seen, Primitive) else tuple(seen)
    collides = drawn if solid is None and mass_kg > 0 else tuple(solid or ())
    return Part(name, rgb, drawn, collides, mass_kg, parent)


def finished(draw: Draw, category: str, colour: str, parts: Sequence[Part],
             coloured: str = BODY, room: Room | None = None, friction: float = 0.7) -> Thing:
    """A thing of these parts, with its extents."""
    points = np.concatenate([mesh_of(one.seen).vertices for one in parts])
    x, y, z = (float(v) for v in np.ptp(points, axis=0))
    return Thing(category, colour, coloured, tuple(parts), (x, y, z), room,
                 tuple(draw.drawn.items()), friction)
