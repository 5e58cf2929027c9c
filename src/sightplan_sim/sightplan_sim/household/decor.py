"""Models of decor, which furnishes rooms and is no object of a problem; floors and walls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from sightplan_sim.household.parts import (
    CARDBOARD,
    DARK,
    FABRICS,
    STEEL,
    VIVID,
    WHITE,
    WOODS,
    between,
    box,
    lying,
    mesh,
    mix,
    ornament,
    pick,
    shade,
    span,
    still,
    surface,
    trim,
    vary,
)
from sightplan_sim.household.rooms import ROOMS
from sightplan_sim.household.shapes import Model, Part, Rgb

WALL = 0.12
"""Thickness of walls [m]."""
CEILING = 2.5
"""Height of walls [m]."""


def plant(category: str, rng: np.random.Generator) -> Model:
    """A plant in a pot on the floor."""
    d, pot, h = span(rng, 0.28, 0.36), span(rng, 0.26, 0.34), span(rng, 0.9, 1.3)
    green = vary(rng, (0.20, 0.48, 0.20), 0.12)
    rgb = pick(rng, ((0.70, 0.38, 0.24), WHITE, (0.35, 0.38, 0.42)))
    parts = [mesh('beaker', (d, d, pot), (0, 0, pot / 2), rgb),
             mesh('cylinder', (0.86 * d, 0.86 * d, 0.01), (0, 0, 0.92 * pot), (0.25, 0.17, 0.11)),
             mesh('cylinder', (0.03, 0.03, h - pot), (0, 0, (h + pot) / 2 - 0.1), WOODS[2]),
             mesh('cylinder', (d, d, h), (0, 0, h / 2), rgb, solid=True, seen=False)]
    for k in range(11):
        turn = 2.4 * k + float(rng.uniform(-0.3, 0.3))
        up = pot + 0.12 + (h - pot - 0.15) * k / 10
        out = 0.17 - 0.011 * k
        parts.append(mesh('leaf', (0.36 - 0.013 * k, 0.15, 0.05),
                          (out * float(np.cos(turn)), out * float(np.sin(turn)), up),
                          shade(green, 0.8 + 0.05 * k), rpy=(0.0, -0.45, turn)))
    return still(category, parts, (d, d, h))


def lamp(category: str, rng: np.random.Generator) -> Model:
    """A floor lamp with a cloth shade."""
    h = span(rng, 1.4, 1.6)
    cloth = pick(rng, ((0.97, 0.90, 0.72), (0.90, 0.60, 0.40), (0.75, 0.80, 0.82)))
    parts = [mesh('cylinder', (0.28, 0.28, 0.03), (0, 0, 0.015), DARK, solid=True),
             mesh('cylinder', (0.025, 0.025, h - 0.1), (0, 0, h / 2), DARK, solid=True),
             mesh('shade', (0.40, 0.40, 0.30), (0, 0, h - 0.15), cloth)]
    return still(category, parts, (0.40, 0.40, h))


def rug(category: str, rng: np.random.Generator) -> Model:
    """A rug with a border, too flat to stumble over."""
    w, d = span(rng, 1.5, 2.1), span(rng, 1.0, 1.4)
    rgb, other = pick(rng, FABRICS), pick(rng, (WHITE, (0.90, 0.82, 0.66), DARK))
    parts = [ornament((w, d, 0.004), (0, 0, 0.002), rgb),
             ornament((w - 0.16, d - 0.16, 0.002), (0, 0, 0.005), mix(other, rgb, 0.2)),
             ornament((w - 0.26, d - 0.26, 0.002), (0, 0, 0.007), shade(rgb, 1.1))]
    return still(category, parts, (w, d, 0.008))


def picture(category: str, rng: np.random.Generator) -> Model:
    """A framed picture; its back is at y = 0, its lower edge at z = 0."""
    w, h = (span(rng, 0.45, 0.75), span(rng, 0.40, 0.55))
    frame = pick(rng, (DARK, WHITE, WOODS[1], WOODS[4]))
    sky, land, sun = vary(rng, (0.72, 0.84, 0.92), 0.08), pick(rng, VIVID), pick(rng, VIVID)
    parts = [ornament((w, 0.02, h), (0, -0.01, h / 2), frame),
             ornament((w - 0.07, 0.004, h - 0.07), (0, -0.022, h / 2), sky),
             ornament((w - 0.07, 0.004, 0.3 * h), (0, -0.024, 0.035 + 0.15 * h),
                      shade(mix(land, (0.4, 0.4, 0.35), 0.5), 0.9)),
             mesh('cylinder', (0.22 * h, 0.22 * h, 0.004), (0.2 * w, -0.024, 0.68 * h), sun,
                  rpy=lying('y'))]
    return still(category, parts, (w, 0.03, h))


def bookcase(category: str, rng: np.random.Generator) -> Model:
    """A tall bookcase full of books."""
    w, d, h = span(rng, 0.7, 0.95), span(rng, 0.28, 0.32), span(rng, 1.7, 1.95)
    wood = pick(rng, WOODS)
    t = 0.025
    hw, front, back = w / 2, -d / 2, d / 2
    parts = [trim((-hw, -hw + t), (front, back), (0, h), wood),
             trim((hw - t, hw), (front, back), (0, h), wood),
             trim((-hw + t, hw - t), (back - 0.01, back), (0, h), shade(wood, 0.7)),
             box((w, d, h), (0, 0, h / 2), wood, seen=False)]
    levels = [0.06, 0.42, 0.78, 1.14, 1.50]
    for z in [*[v for v in levels if v < h - 0.2], h - t]:
        parts.append(trim((-hw + t, hw - t), (front, back), (z, z + t), wood))
    for z in [v for v in levels if v < h - 0.3]:
        at, end = -hw + t + 0.01, hw - t - float(rng.uniform(0.02, 0.35))
        while at < end - 0.07:
            thick = span(rng, 0.04, 0.09)
            tall = span(rng, 0.18, 0.27)
            parts.append(trim((at, at + thick - 0.003), (front + 0.05, back - 0.02),
                              (z + t, z + t + tall), shade(pick(rng, VIVID, 0.15), 0.72)))
            at += thick
    return still(category, parts, (w, d, h))


def wardrobe(category: str, rng: np.random.Generator) -> Model:
    """A wardrobe that stays shut."""
    w, d, h = span(rng, 1.0, 1.4), span(rng, 0.55, 0.60), span(rng, 1.85, 2.05)
    wood = pick(rng, WOODS)
    n = 2 if w < 1.2 else 3
    parts = [box((w, d - 0.02, h), (0, 0.01, h / 2), wood)]
    for k in range(n):
        x0, x1 = -w / 2 + k * w / n + 0.006, -w / 2 + (k + 1) * w / n - 0.006
        parts += [trim((x0, x1), (-d / 2, -d / 2 + 0.02), (0.08, h - 0.02), shade(wood, 1.1)),
                  ornament((0.02, 0.03, 0.2), (x1 - 0.06, -d / 2 - 0.012, 1.0), DARK)]
    return still(category, parts, (w, d, h))


def side_table(category: str, rng: np.random.Generator) -> Model:
    """A small round table with a lamp."""
    d, h = span(rng, 0.42, 0.50), span(rng, 0.48, 0.55)
    wood = pick(rng, WOODS)
    parts = [mesh('cylinder', (d, d, 0.03), (0, 0, h - 0.015), wood, solid=True),
             mesh('cylinder', (0.05, 0.05, h - 0.03), (0, 0, (h - 0.03) / 2), wood, solid=True),
             mesh('cylinder', (0.6 * d, 0.6 * d, 0.025), (0, 0, 0.0125), shade(wood, 0.8),
                  solid=True),
             mesh('cylinder', (0.12, 0.12, 0.02), (0, 0, h + 0.01), DARK),
             mesh('cylinder', (0.02, 0.02, 0.2), (0, 0, h + 0.12), DARK),
             mesh('shade', (0.26, 0.26, 0.18), (0, 0, h + 0.27), (0.97, 0.90, 0.72))]
    return still(category, parts, (d, d, h + 0.36))


def desk(category: str, rng: np.random.Generator) -> Model:
    """A desk with a screen and a keyboard."""
    w, d, h = span(rng, 1.1, 1.4), span(rng, 0.60, 0.70), 0.74
    wood = pick(rng, WOODS)
    parts = [box((w, d, 0.035), (0, 0, h - 0.0175), wood),
             box((0.04, d - 0.06, h - 0.035), (-w / 2 + 0.03, 0, (h - 0.035) / 2),
                 shade(wood, 0.85)),
             box((0.40, d - 0.06, h - 0.035), (w / 2 - 0.21, 0, (h - 0.035) / 2),
                 shade(wood, 0.85)),
             ornament((0.54, 0.03, 0.33), (-0.15, d / 2 - 0.16, h + 0.24), DARK),
             ornament((0.50, 0.004, 0.29), (-0.15, d / 2 - 0.177, h + 0.24), (0.30, 0.45, 0.62)),
             ornament((0.06, 0.05, 0.12), (-0.15, d / 2 - 0.14, h + 0.05), DARK),
             ornament((0.22, 0.16, 0.012), (-0.15, d / 2 - 0.15, h + 0.006), DARK),
             ornament((0.42, 0.14, 0.015), (-0.15, -0.06, h + 0.008), (0.25, 0.25, 0.27))]
    for k in range(3):
        z = 0.08 + 0.215 * k
        parts += [trim((w / 2 - 0.40, w / 2 - 0.02), (-d / 2 + 0.018, -d / 2 + 0.03),
                       (z, z + 0.20), shade(wood, 1.08)),
                  ornament((0.12, 0.03, 0.016), (w / 2 - 0.21, -d / 2 + 0.006, z + 0.13), DARK)]
    return still(category, parts, (w, d, h))


def rack(category: str, rng: np.random.Generator) -> Model:
    """A metal rack of a garage, with cartons, tins and tools."""
    w, d, h = span(rng, 1.0, 1.3), span(rng, 0.38, 0.45), span(rng, 1.6, 1.8)
    metal = pick(rng, (STEEL, (0.30, 0.36, 0.45), (0.75, 0.35, 0.15)))
    parts = [box((w, d, h), (0, 0, h / 2), metal, seen=False)]
    for sx in (-1, 1):
        for sy in (-1, 1):
            parts.append(ornament((0.04, 0.04, h),
                                  (sx * (w / 2 - 0.02), sy * (d / 2 - 0.02), h / 2), metal))
    for k in range(4):
        z = 0.12 + (h - 0.2) * k / 3
        parts.append(ornament((w, d, 0.03), (0, 0, z), shade(metal, 0.9)))
        at = -w / 2 + 0.08
        while k < 3 and at < w / 2 - 0.36:
            wide, tall = span(rng, 0.16, 0.30), span(rng, 0.14, 0.30)
            if rng.random() < 0.35:
                parts.append(mesh('cylinder', (0.16, 0.16, 0.18), (at + 0.08, 0, z + 0.105),
                                  pick(rng, VIVID)))
                wide = 0.18
            elif rng.random() < 0.7:
                rgb = vary(rng, CARDBOARD if rng.random() < 0.5 else FABRICS[0], 0.1)
                parts.append(ornament((wide, 0.28, tall), (at + wide / 2, 0, z + 0.015 + tall / 2),
                                      rgb))
            at += wide + span(rng, 0.03, 0.12)
    return still(category, parts, (w, d, h))


def file_cabinet(category: str, rng: np.random.Generator) -> Model:
    """A steel cabinet for files that stays shut."""
    w, d, h = span(rng, 0.46, 0.50), span(rng, 0.55, 0.62), span(rng, 1.0, 1.32)
    rgb = pick(rng, ((0.62, 0.65, 0.67), (0.42, 0.46, 0.44), (0.80, 0.78, 0.72)))
    parts = [box((w, d - 0.02, h), (0, 0.01, h / 2), rgb)]
    n = 3 if h < 1.15 else 4
    for k in range(n):
        z0, z1 = 0.03 + k * (h - 0.05) / n, 0.02 + (k + 1) * (h - 0.05) / n
        parts += [trim((-w / 2 + 0.015, w / 2 - 0.015), (-d / 2, -d / 2 + 0.02), (z0, z1),
                       shade(rgb, 1.08)),
                  ornament((0.12, 0.025, 0.02), (0, -d / 2 - 0.01, (z0 + z1) / 2), STEEL),
                  ornament((0.10, 0.004, 0.05), (0, -d / 2 - 0.001, z1 - 0.06), WHITE)]
    return still(category, parts, (w, d, h))


def bicycle(category: str, rng: np.random.Generator) -> Model:
    """A bicycle against a wall, along x."""
    rgb = pick(rng, VIVID)
    parts = [box((1.6, 0.16, 0.95), (0, 0, 0.475), rgb, seen=False)]
    for x in (-0.50, 0.50):
        parts += [mesh('torus', (0.62, 0.62, 0.05), (x, 0, 0.31), DARK, rpy=lying('y')),
                  mesh('cylinder', (0.06, 0.06, 0.06), (x, 0, 0.31), STEEL, rpy=lying('y'))]

    def tube(one: tuple[float, float], two: tuple[float, float], thick: float = 0.035) -> Part:
        dx, dz = two[0] - one[0], two[1] - one[1]
        long = float(np.hypot(dx, dz))
        return ornament((long, thick, thick), ((one[0] + two[0]) / 2, 0.0, (one[1] + two[1]) / 2),
                        rgb, rpy=(0.0, -float(np.arctan2(dz, dx)), 0.0))

    parts += [tube((-0.05, 0.32), (-0.20, 0.78)), tube((-0.17, 0.70), (0.36, 0.74)),
              tube((-0.05, 0.32), (0.38, 0.66)), tube((-0.50, 0.31), (-0.05, 0.32), 0.025),
              tube((-0.50, 0.31), (-0.17, 0.70), 0.025), tube((0.50, 0.31), (0.34, 0.88)),
              ornament((0.24, 0.10, 0.05), (-0.22, 0, 0.82), DARK),
              ornament((0.05, 0.44, 0.03), (0.32, 0, 0.92), DARK)]
    return still(category, parts, (1.62, 0.44, 0.95))


def floor(width: float, depth: float, kind: str, rng: np.random.Generator) -> Model:
    """A floor with its middle at the origin and its top at z = 0.

    Args:
        width: along x [m].
        depth: along y [m].
        kind: of the room; an unknown kind gets boards.
        rng: draws colours.
    """
    like = ROOMS.kinds.get(kind, ROOMS.kinds['hallway'])
    rgb = pick(rng, like.floors, 0.04)
    x, y = width / 2, depth / 2
    dark = shade(rgb, 0.88)
    parts = [between((-x, x), (-y, y), (-0.05, -0.0015), dark, seen=False),
             between((-x, x), (-y, y), (-0.004, 0.0), rgb)]
    line, top = 0.010, (0.0, 0.0004)
    if like.pattern == 'boards':
        n = max(2, round(depth / 0.30))
        for k in range(1, n):
            v = -y + k * depth / n
            parts.append(trim((-x, x), (v - line / 2, v + line / 2), top, dark))
        for k in range(n):
            v0, v1 = -y + k * depth / n, -y + (k + 1) * depth / n
            cut = float(rng.uniform(-x, x))
            parts.append(trim((cut - line / 2, cut + line / 2), (v0, v1), top, dark))
    else:
        step = 0.5 if like.pattern == 'tiles' else 1.6
        for size, other, along_x in ((width, y, True), (depth, x, False)):
            n = max(1, round(size / step))
            for k in range(1, n):
                v = -size / 2 + k * size / n
                edge, full = (v - line / 2, v + line / 2), (-other, other)
                parts.append(trim(edge if along_x else full, full if along_x else edge, top, dark))
    return still('floor', parts, (width, depth, 0.05))


def wall(length: float, rgb: Rgb, openings: Sequence[tuple[float, float, float, float]] = (), *,
         other: Rgb | None = None) -> Model:
    """A wall along x that is seen from -y (and from +y if it has another colour there).

    Its body's frame is in the middle of its length, on the floor, in the middle of its thickness.

    Args:
        length: along x [m].
        rgb: colour of the side that faces -y.
        openings: (centre along x, width, lowest, highest) of each hole [m].
        other: colour of the side that faces +y; None: the same.

    Raises:
        ValueError: openings overlap or leave the wall.
    """
    half, t, height = length / 2, WALL / 2, CEILING
    holes = sorted((c - w / 2, c + w / 2, low, high) for c, w, low, high in openings)
    edges = [-half, *(v for hole in holes for v in hole[:2]), half]
    if any(b < a - 1e-9 for a, b in itertools.pairwise(edges)) or any(
            low < 0 or high > height or low >= high for _, _, low, high in holes):
        raise ValueError(f'openings {tuple(openings)} overlap or leave a wall of {length} m')
    pieces = []
    at = -half
    for x0, x1, low, high in holes:
        pieces += [(at, x0, 0.0, height), (x0, x1, 0.0, low), (x0, x1, high, height)]
        at = x1
    pieces.append((at, half, 0.0, height))
    skirt = mix(rgb, WHITE, 0.6)
    parts: list[Part] = []
    for x0, x1, low, high in pieces:
        if x1 - x0 < 1e-6 or high - low < 1e-6:
            continue
        if other is None:
            parts.append(between((x0, x1), (-t, t), (low, high), rgb))
        else:
            parts += [between((x0, x1), (-t, 0.0), (low, high), rgb),
                      between((x0, x1), (0.0, t), (low, high), other)]
        if low == 0.0:
            for side in (-1, 1):
                y = (-t - 0.0015, -t) if side < 0 else (t, t + 0.0015)
                parts.append(trim((x0, x1), y, (0.0, min(0.08, high)), skirt))
    return still('wall', parts, (length, WALL, height))


def wall_colour(rng: np.random.Generator) -> Rgb:
    """A quiet colour for the walls of a room."""
    return pick(rng, ROOMS.walls, 0.02)


def coffee_table(category: str, rng: np.random.Generator) -> Model:
    """A low table with a board below."""
    w, d, h = span(rng, 0.8, 1.0), span(rng, 0.45, 0.55), 0.42
    wood = pick(rng, WOODS)
    parts = [box((w, d, 0.04), (0, 0, h - 0.02), wood),
             box((w - 0.1, d - 0.1, 0.02), (0, 0, 0.14), shade(wood, 0.85))]
    for sx in (-1, 1):
        for sy in (-1, 1):
            parts.append(box((0.05, 0.05, h - 0.04),
                             (sx * (w / 2 - 0.05), sy * (d / 2 - 0.05), (h - 0.04) / 2),
                             shade(wood, 0.8)))
    on = surface((-w / 2 + 0.05, w / 2 - 0.05), (-d / 2 + 0.05, d / 2 - 0.05), h)
    return still(category, parts, (w, d, h), surfaces=(on,))
