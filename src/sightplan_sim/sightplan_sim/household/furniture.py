"""Furniture and fixtures: containers that open, and surfaces for things.

Heights and depths are chosen for somebody who looks from 1.2 m: what lies near the front of an
open cabinet, drawer or fridge is in sight from half a metre to a metre and a half away.
"""

from __future__ import annotations

import math

import numpy as np

from sightplan_sim.household.parts import (
    BRASS,
    CARDBOARD,
    CHROME,
    DARK,
    FABRICS,
    PAINTS,
    STEEL,
    VIVID,
    WHITE,
    WOODS,
    between,
    box,
    hinged,
    lying,
    mesh,
    mix,
    ornament,
    pick,
    room,
    shade,
    sliding,
    span,
    still,
    surface,
    tray,
    trim,
    vary,
)
from sightplan_sim.household.shapes import Link, Model, Part, Region, Rgb, Vec3

PANEL = 0.02
"""Thickness of panels and leaves [m]."""
OPENING = math.radians(95)
"""Angle by which a fully open door is turned [rad]."""


def _handle(at: Vec3, length: float, rgb: Rgb, *, upright: bool) -> Part:
    size = (0.018, 0.03, length) if upright else (length, 0.03, 0.018)
    return ornament(size, at, rgb)


def _legs(w: float, d: float, top: float, thick: float, rgb: Rgb, inset: float = 0.03,
          ) -> list[Part]:
    x, y = w / 2 - inset - thick / 2, d / 2 - inset - thick / 2
    return [box((thick, thick, top), (sx * x, sy * y, top / 2), rgb)
            for sx in (-1, 1) for sy in (-1, 1)]


def _leaf(x: tuple[float, float], z: tuple[float, float], front: float, rgb: Rgb, knob: Rgb,
          hinge_left: bool) -> list[Part]:
    """A cabinet's door in front of y = front, with a sunk panel and a handle."""
    w, h = x[1] - x[0], z[1] - z[0]
    middle = ((x[0] + x[1]) / 2, (z[0] + z[1]) / 2)
    y = front - PANEL / 2
    handle_x = x[1] - 0.05 if hinge_left else x[0] + 0.05
    return [
        box((w, PANEL, h), (middle[0], y, middle[1]), rgb),
        ornament((w - 0.12, 0.004, h - 0.12), (middle[0], front - PANEL - 0.001, middle[1]),
                 shade(rgb, 0.86)),
        ornament((w - 0.14, 0.004, h - 0.14), (middle[0], front - PANEL - 0.003, middle[1]),
                 shade(rgb, 0.97)),
        _handle((handle_x, front - PANEL - 0.017, middle[1] + 0.1 * h), 0.14, knob, upright=True),
    ]


def _door(parts: list[Part], x: tuple[float, float], front: float, hinge_left: bool) -> Link:
    """A leaf that turns about its outer edge, towards the viewer."""
    origin = (x[0] if hinge_left else x[1], front, 0.0)
    return hinged(parts, origin, (0.0, 0.0, -1.0 if hinge_left else 1.0), OPENING)


def cabinet(category: str, rng: np.random.Generator) -> Model:
    """A cabinet with two doors, or a chest with drawers side by side."""
    return (_doors if rng.random() < 0.65 else drawers)(category, rng)


def _finish(rng: np.random.Generator) -> tuple[Rgb, Rgb, Rgb]:
    """Colours of carcass, fronts and handles."""
    if rng.random() < 0.6:
        carcass = pick(rng, WOODS)
        fronts = shade(carcass, float(rng.uniform(0.92, 1.12)))
    else:
        carcass = pick(rng, PAINTS)
        fronts = shade(carcass, 1.04) if rng.random() < 0.6 else pick(rng, WOODS)
    knob = (DARK, CHROME, BRASS)[int(rng.integers(3))]
    return carcass, fronts, knob


def _carcass(half: float, front: float, back: float, h: float, blind: float, board: Part,
             rgb: Rgb, inner: Rgb) -> list[Part]:
    """Top, sides, back, inner board, blind lower part and plinth of a cupboard."""
    x, t = (-half + PANEL, half - PANEL), PANEL
    return [between((-half, half), (front, back), (h - 0.03, h), shade(rgb, 1.06)),
            between((-half, -half + t), (front, back), (0.05, h - 0.03), rgb),
            between((half - t, half), (front, back), (0.05, h - 0.03), rgb),
            between(x, (back - t, back), (0.05, h - 0.03), inner), board,
            between(x, (front + 0.02, back - t), (0.05, blind), rgb),
            between((-half + 0.03, half - 0.03), (front + 0.05, back), (0.0, 0.05), DARK)]


def _fronts(w: float, n: int, front: float, h: float, rgb: Rgb, knob: Rgb) -> list[Part]:
    """Blind fronts of ``n`` cupboards side by side, with handles."""
    parts = []
    for k in range(n):
        x0, x1 = -w / 2 + 0.014 + k * (w - 0.02) / n, -w / 2 + 0.006 + (k + 1) * (w - 0.02) / n
        parts += [trim((x0, x1), (front + 0.012, front + 0.03), (0.08, h - 0.05), rgb),
                  _handle(((x0 + x1) / 2, front, h - 0.12), 0.13, knob, upright=False)]
    return parts


def _jambs(half: float, f: float, y: tuple[float, float], h: float, rgb: Rgb) -> list[Part]:
    """Left, right and upper part of a frame of width ``f``."""
    return [between((-half, -half + f), y, (0.0, h), rgb),
            between((half - f, half), y, (0.0, h), rgb),
            between((-half + f, half - f), y, (h - f, h), rgb)]


def _swung(category: str, base: list[Part], leaf: list[Part], size: Vec3, hinge: Vec3,
           left: bool, degrees: float) -> Model:
    """A door or window in a wall, whose leaf turns about its left or right edge."""
    link = hinged(leaf, hinge, (0.0, 0.0, -1.0 if left else 1.0), math.radians(degrees))
    return Model(category, (Link(tuple(base)), link), size, in_wall=True)


def _doors(category: str, rng: np.random.Generator) -> Model:
    """A sideboard: a blind lower part, and room behind two doors at the height of the arm."""
    w, d, h = span(rng, 0.86, 1.10), span(rng, 0.44, 0.52), span(rng, 0.86, 1.00)
    floor = h - span(rng, 0.47, 0.52)
    carcass, fronts, knob = _finish(rng)
    front, back, t = -d / 2 + PANEL, d / 2, PANEL
    inner = mix(carcass, WHITE, 0.35)
    hw = w / 2
    board = between((-hw + t, hw - t), (front, back - t), (floor - t, floor), inner)
    base = _carcass(hw, front, back, h, floor - t, board, carcass, inner)
    lower = (0.06, floor - 0.012)
    fixed = 1 if rng.random() < 0.5 else 2
    for k in range(fixed):  # fronts of the lower part, which does not open
        x0 = -hw + 0.004 + k * w / fixed
        x1 = -hw - 0.004 + (k + 1) * w / fixed
        mid = (x0 + x1) / 2
        base += [between((x0, x1), (front - PANEL, front + 0.02), lower, fronts),
                 trim((x0 + 0.03, x1 - 0.03), (front - PANEL - 0.003, front - PANEL),
                      (lower[0] + 0.03, lower[1] - 0.03), shade(fronts, 0.93)),
                 _handle((mid, front - PANEL - 0.015, (lower[0] + lower[1]) / 2 + 0.06), 0.16,
                         knob, upright=False)]
    leaves = (floor - 0.006, h - 0.0305)
    links = [Link(tuple(base))]
    for left in (True, False):
        x = (-hw + 0.003, -0.0015) if left else (0.0015, hw - 0.003)
        parts = _leaf(x, leaves, front, fronts, knob, left)
        if left:  # a strip behind the gap, so that nobody sees through
            parts.append(trim((-0.02, 0.014), (front - 0.002, front + 0.004), leaves,
                              shade(fronts, 0.7)))
        links.append(_door(parts, x, front, left))
    cavity = room((-hw + t + 0.01, hw - t - 0.01), (front + 0.02, back - t - 0.01),
                  (floor, h - 0.035))
    top = surface((-hw + 0.04, hw - 0.04), (-d / 2 + 0.05, d / 2 - 0.04), h)
    return Model(category, tuple(links), (w, d, h), (top,), (cavity,))


def drawers(category: str, rng: np.random.Generator) -> Model:
    """A chest with two deep drawers side by side, above a blind part."""
    w, d, h = span(rng, 0.98, 1.16), span(rng, 0.46, 0.52), span(rng, 0.74, 0.86)
    carcass, fronts, knob = _finish(rng)
    front, back, t = -d / 2 + PANEL, d / 2, PANEL
    tall = span(rng, 0.22, 0.25)
    floor = h - 0.03 - tall
    hw = w / 2
    board = between((-t / 2, t / 2), (front, back - t), (floor, h - 0.03), carcass)
    base = _carcass(hw, front, back, h, floor - 0.012, board, carcass, carcass)
    rows = 1 if floor < 0.5 else 2
    for k in range(rows):
        z0 = 0.06 + k * (floor - 0.07) / rows
        z1 = 0.052 + (k + 1) * (floor - 0.07) / rows
        base += [between((-hw + 0.004, hw - 0.004), (front - PANEL, front + 0.02), (z0, z1),
                         fronts),
                 _handle((-w / 4, front - PANEL - 0.015, (z0 + z1) / 2), 0.15, knob,
                         upright=False),
                 _handle((w / 4, front - PANEL - 0.015, (z0 + z1) / 2), 0.15, knob, upright=False)]
    links = [Link(tuple(base))]
    cavities = []
    slide = min(0.36, d - 0.10)
    order = (1, -1) if rng.random() < 0.5 else (-1, 1)
    for index, side in enumerate(order, start=1):
        x0, x1 = (t / 2, hw - t) if side > 0 else (-hw + t, -t / 2)
        origin = ((x0 + x1) / 2, front, floor)
        links.append(sliding(_drawer(x0, x1, front, back - t, floor, tall, fronts, knob),
                             origin, (0.0, -1.0, 0.0), slide))
        inside = room((x0 + 0.016, x1 - 0.016), (front + 0.002, back - t - 0.035),
                      (floor + 0.014, floor + tall - 0.02), index)
        cx, cy, cz = inside.centre
        cavities.append(Region((cx - origin[0], cy - origin[1], cz - origin[2]), inside.half,
                               index))
    top = surface((-hw + 0.04, hw - 0.04), (-d / 2 + 0.05, d / 2 - 0.04), h)
    return Model(category, tuple(links), (w, d, h), (top,), tuple(cavities))


def _drawer(x0: float, x1: float, front: float, back: float, floor: float, tall: float,
            fronts: Rgb, knob: Rgb) -> list[Part]:
    inner = mix(fronts, WHITE, 0.45)
    side = floor + tall - 0.05
    middle = (x0 + x1) / 2
    return [
        between((x0 - 0.006, x1 + 0.006), (front - PANEL, front),
                (floor - 0.004, floor + tall - 0.001), fronts),
        between((x0 + 0.004, x0 + 0.014), (front, back - 0.02), (floor, side), inner),
        between((x1 - 0.014, x1 - 0.004), (front, back - 0.02), (floor, side), inner),
        between((x0 + 0.014, x1 - 0.014), (back - 0.032, back - 0.02), (floor, side), inner),
        between((x0 + 0.014, x1 - 0.014), (front, back - 0.032), (floor, floor + 0.012), inner),
        _handle((middle, front - PANEL - 0.015, floor + 0.6 * tall), 0.17, knob, upright=False)]


def fridge(category: str, rng: np.random.Generator) -> Model:
    """A fridge over a freezer drawer; behind its door, two shelves and a floor."""
    w, d, h = span(rng, 0.68, 0.76), span(rng, 0.58, 0.64), span(rng, 1.58, 1.72)
    body = pick(rng, ((0.90, 0.91, 0.92), (0.74, 0.76, 0.78), (0.83, 0.84, 0.80),
                      (0.66, 0.78, 0.76), (0.78, 0.30, 0.28)), 0.03)
    inner = (0.96, 0.97, 0.98)
    leaf = 0.05
    front, back, t = -d / 2 + leaf, d / 2, 0.035
    hw, floor = w / 2, span(rng, 0.50, 0.56)
    shelves = (floor + 0.34, floor + 0.68)
    base = [
        between((-hw, hw), (front, back), (h - t, h), body),
        between((-hw, -hw + t), (front, back), (floor - t, h - t), body),
        between((hw - t, hw), (front, back), (floor - t, h - t), body),
        between((-hw + t, hw - t), (back - t, back), (floor - t, h - t), inner),
        between((-hw + t, hw - t), (front, back - t), (floor - t, floor), inner),
        between((-hw, hw), (front, back), (0.04, floor - t), body),
        between((-hw + 0.03, hw - 0.03), (front + 0.03, back), (0.0, 0.04), DARK),
        between((-hw + 0.002, hw - 0.002), (-d / 2, front), (0.05, floor - 0.012), body),
        _handle((0.0, -d / 2 - 0.02, floor - 0.09), 0.45 * w, CHROME, upright=False),
        # lining, so that the inside is white
        trim((-hw + t, -hw + t + 0.004), (front, back - t), (floor, h - t), inner),
        trim((hw - t - 0.004, hw - t), (front, back - t), (floor, h - t), inner),
        trim((-hw + t, hw - t), (front, back - t), (h - t - 0.004, h - t), inner),
    ]
    glass, rim = (0.80, 0.88, 0.92), (0.62, 0.70, 0.76)
    for z in shelves:
        base += [between((-hw + t, hw - t), (front + 0.05, back - t), (z - 0.012, z), glass),
                 trim((-hw + t, hw - t), (front + 0.042, front + 0.05), (z - 0.016, z + 0.004),
                      rim)]
    base.append(trim((-0.06, 0.06), (front + 0.06, front + 0.16), (h - t - 0.02, h - t - 0.004),
                     (1.0, 0.98, 0.85)))
    left = bool(rng.random() < 0.5)
    x, rise = (-hw + 0.002, hw - 0.002), (floor - 0.006, h - 0.002)
    handle_x = x[1] - 0.05 if left else x[0] + 0.05
    door = [
        between(x, (-d / 2, front - 0.004), rise, body),
        trim((x[0] + 0.03, x[1] - 0.03), (front - 0.004, front), (rise[0] + 0.03, rise[1] - 0.03),
             inner),
        _handle((handle_x, -d / 2 - 0.02, (rise[0] + rise[1]) / 2), 0.5, CHROME, upright=True)]
    if rng.random() < 0.6:  # magnets and a note
        side = -0.12 if left else 0.12
        door += [ornament((0.12, 0.003, 0.15), (side, -d / 2 - 0.001, rise[1] - 0.35),
                          (0.97, 0.95, 0.78)),
                 ornament((0.03, 0.008, 0.03), (side, -d / 2 - 0.004, rise[1] - 0.28),
                          pick(rng, VIVID))]
    rooms = [(shelves[0], shelves[1] - 0.014), (floor, shelves[0] - 0.014),
             (shelves[1], h - t - 0.01)]
    cavities = tuple(room((-hw + t + 0.01, hw - t - 0.01), (front + 0.06, back - t - 0.01), r)
                     for r in rooms)
    top = surface((-hw + 0.05, hw - 0.05), (front + 0.05, back - 0.05), h)
    return Model(category, (Link(tuple(base)), _door(door, x, front, left)), (w, d, h), (top,),
                 cavities)


def door(category: str, rng: np.random.Generator) -> Model:
    """A door in its frame; the leaf swings into the room."""
    w, h, thick = span(rng, 0.84, 0.94), span(rng, 1.98, 2.06), 0.12
    f = 0.05
    if rng.random() < 0.6:
        leaf_rgb, frame_rgb = pick(rng, WOODS), pick(rng, (WHITE, (0.86, 0.84, 0.80)), 0.02)
    else:
        leaf_rgb = pick(rng, (*PAINTS, (0.30, 0.42, 0.40), (0.56, 0.24, 0.22)))
        frame_rgb = pick(rng, (WHITE, WOODS[3]), 0.02)
    hw, front = w / 2, -thick / 2
    base = [
        *_jambs(hw, f, (front - 0.01, thick / 2 + 0.01), h, frame_rgb),
        trim((-hw + f, hw - f), (front, thick / 2), (0.0, 0.008), shade(leaf_rgb, 0.6)),
        # stops behind the leaf, so that nobody sees through the gaps
        trim((-hw + f, -hw + f + 0.014), (front + 0.044, front + 0.06), (0.0, h - f), frame_rgb),
        trim((hw - f - 0.014, hw - f), (front + 0.044, front + 0.06), (0.0, h - f), frame_rgb),
        trim((-hw + f, hw - f), (front + 0.044, front + 0.06), (h - f - 0.014, h - f), frame_rgb),
    ]
    left = bool(rng.random() < 0.5)
    x, z = (-hw + f + 0.003, hw - f - 0.003), (0.01, h - f - 0.003)
    y = (front + 0.002, front + 0.042)
    parts = [between(x, y, z, leaf_rgb)]
    groove = shade(leaf_rgb, 0.80)
    panels = ((0.12, 0.80), (0.95, 1.80)) if rng.random() < 0.7 else ((0.12, 0.60), (0.72, 1.20),
                                                                      (1.32, 1.80))
    for low, high in panels:
        for side in (-1, 1):
            plane = y[0] - 0.002 if side < 0 else y[1] + 0.002
            parts += [trim((x[0] + 0.11, x[1] - 0.11), (plane - 0.002, plane + 0.002), (low, high),
                           groove),
                      trim((x[0] + 0.14, x[1] - 0.14), (plane - 0.004, plane + 0.004),
                           (low + 0.03, high - 0.03), shade(leaf_rgb, 1.04))]
    lock = x[1] - 0.06 if left else x[0] + 0.06
    inward = -1 if left else 1
    metal = (CHROME, BRASS, DARK)[int(rng.integers(3))]
    for plane, out in ((y[0], -1), (y[1], 1)):
        parts += [ornament((0.045, 0.008, 0.20), (lock, plane + out * 0.004, 1.02), metal),
                  ornament((0.13, 0.022, 0.024), (lock + inward * 0.05, plane + out * 0.045, 1.06),
                           metal),
                  ornament((0.02, 0.05, 0.02), (lock, plane + out * 0.025, 1.06), metal)]
    return _swung(category, base, parts, (w, thick + 0.02, h), (x[0] if left else x[1], y[0], 0.0),
                  left, float(rng.uniform(84, 96)))


def window(category: str, rng: np.random.Generator) -> Model:
    """A window in its frame, with the garden behind; the sash swings into the room.

    Its frame's origin is at the lower edge of the hole in the wall.
    """
    w, h, thick = span(rng, 0.84, 1.04), span(rng, 0.86, 1.04), 0.12
    f = 0.05
    frame_rgb = pick(rng, (WHITE, (0.90, 0.88, 0.84), (0.55, 0.38, 0.24), (0.40, 0.44, 0.46)),
                     0.03)
    hw, front, back = w / 2, -thick / 2, thick / 2
    base = [
        *_jambs(hw, f, (front - 0.01, back), h, frame_rgb),
        between((-hw + f, hw - f), (front - 0.01, back), (0.0, f), frame_rgb),
        trim((-hw - 0.03, hw + 0.03), (front - 0.08, front), (-0.035, 0.0),
             shade(frame_rgb, 0.96))]
    sky = vary(rng, (0.55, 0.78, 0.97), 0.03)
    ground = vary(rng, (0.36, 0.62, 0.30), 0.05)
    horizon = f + 0.28 * (h - 2 * f)
    base += [
        between((-hw + f, hw - f), (back - 0.006, back), (horizon, h - f), sky),
        between((-hw + f, hw - f), (back - 0.007, back), (f, horizon), ground)]
    base.append(mesh('sphere', (0.3 * w, 0.01, 0.30 * h),
                     (-0.14 * w, back - 0.008, horizon + 0.10 * h), shade(ground, 0.75)))
    left = bool(rng.random() < 0.5)
    # The sash lies on the frame and hides the edge of the hole.
    x, z = (-hw + f - 0.012, hw - f + 0.012), (f - 0.012, h - f + 0.012)
    y = (front - 0.046, front - 0.0105)
    s = 0.06
    glass = (0.70, 0.80, 0.84)
    sash = shade(frame_rgb, 1.03)
    parts = [
        between((x[0], x[0] + s), y, z, sash), between((x[1] - s, x[1]), y, z, sash),
        between((x[0] + s, x[1] - s), y, (z[0], z[0] + s), sash),
        between((x[0] + s, x[1] - s), y, (z[1] - s, z[1]), sash),
        between((x[0] + s, x[1] - s), (y[0] + 0.012, y[0] + 0.022), (z[0] + s, z[1] - s), glass)]
    mid_x, mid_z = (x[0] + x[1]) / 2, (z[0] + z[1]) / 2
    if rng.random() < 0.7:  # a cross of glazing bars
        parts += [trim((mid_x - 0.013, mid_x + 0.013), (y[0] + 0.008, y[1] - 0.008),
                       (z[0] + s, z[1] - s), sash),
                  trim((x[0] + s, x[1] - s), (y[0] + 0.008, y[1] - 0.008),
                       (mid_z - 0.013, mid_z + 0.013), sash)]
    for k, length in ((0.0, 0.30), (0.07, 0.18)):  # glints
        for side in (y[0] + 0.010, y[0] + 0.024):
            parts.append(ornament((0.022, 0.002, length * h),
                                  (mid_x + 0.16 * w + k, side, mid_z + 0.12 * h),
                                  (0.93, 0.97, 0.98), rpy=(0.0, 0.5, 0.0)))
    grip = x[1] - s / 2 if left else x[0] + s / 2
    parts.append(ornament((0.022, 0.04, 0.13), (grip, y[0] - 0.02, mid_z), DARK))
    return _swung(category, base, parts, (w, thick + 0.02, h), (x[0] if left else x[1], y[0], 0.0),
                  left, float(rng.uniform(82, 95)))


def carton(category: str, rng: np.random.Generator) -> Model:
    """A cardboard box with four flaps; open, they hang outward."""
    w, d, h = span(rng, 0.50, 0.58), span(rng, 0.42, 0.48), span(rng, 0.24, 0.28)
    t = 0.008
    rgb = vary(rng, CARDBOARD, 0.08)
    inner = shade(rgb, 0.88)
    hw, hd = w / 2, d / 2
    tape = mix(rgb, (0.85, 0.76, 0.58), 0.7)
    ink = pick(rng, (DARK, (0.62, 0.20, 0.16), (0.16, 0.30, 0.50)), 0.02)
    base = [
        *tray(hw, hd, h, t, rgb, inner),
        trim((-0.035, 0.035), (-hd - 0.002, -hd), (0.72 * h, h), tape),
        # a parcel's print: arrow and label
        trim((0.22 * w, 0.42 * w), (-hd - 0.002, -hd), (0.25 * h, 0.62 * h), WHITE),
        trim((0.24 * w, 0.38 * w), (-hd - 0.003, -hd), (0.50 * h, 0.54 * h), ink),
        trim((0.24 * w, 0.40 * w), (-hd - 0.003, -hd), (0.40 * h, 0.44 * h), ink),
        trim((-0.36 * w, -0.33 * w), (-hd - 0.002, -hd), (0.22 * h, 0.55 * h), ink),
        mesh('wedge', (0.09 * w, 0.003, 0.16 * h), (-0.345 * w, -hd - 0.001, 0.62 * h), ink),
    ]
    links = [Link(tuple(base))]
    turn = math.radians(float(rng.uniform(205, 225)))
    reach_y, reach_x = hd - 0.004, min(0.32 * w, hd)
    z_out, z_in = (h + 0.001 + t, h + 0.001 + 2 * t), (h + 0.001, h + t)
    lid = shade(rgb, 1.05)
    for side in (-1, 1):
        y = (-hd, -hd + reach_y) if side < 0 else (hd - reach_y, hd)
        parts = [between((-hw, hw), y, z_out, lid)]
        edge = (y[1] - 0.03, y[1]) if side < 0 else (y[0], y[0] + 0.03)
        parts.append(trim((-hw, hw), edge, (z_out[1], z_out[1] + 0.002), tape))
        links.append(hinged(parts, (0.0, side * hd, z_out[0]), (-float(side), 0.0, 0.0), turn))
    for side in (-1, 1):
        x = (-hw, -hw + reach_x) if side < 0 else (hw - reach_x, hw)
        links.append(hinged([between(x, (-hd + 0.002, hd - 0.002), z_in, lid)],
                            (side * hw, 0.0, z_in[0]), (0.0, float(side), 0.0), turn))
    cavity = room((-hw + t + 0.004, hw - t - 0.004), (-hd + t + 0.004, hd - t - 0.004), (t, h))
    top = surface((-hw + 0.05, hw - 0.05), (-hd + 0.05, hd - 0.05), h + 2 * t + 0.003)
    return Model(category, tuple(links), (w, d, h + 2 * t + 0.003), (top,), (cavity,))


def sink(category: str, rng: np.random.Generator) -> Model:
    """A counter with a basin and a tap; things are put into the basin or beside it."""
    w, d, h = span(rng, 1.10, 1.30), span(rng, 0.56, 0.62), span(rng, 0.82, 0.90)
    carcass, fronts, knob = _finish(rng)
    counter = pick(rng, ((0.32, 0.33, 0.36), (0.78, 0.76, 0.72), (0.60, 0.46, 0.32),
                         (0.88, 0.88, 0.87)))
    steel = vary(rng, STEEL, 0.03) if rng.random() < 0.7 else (0.93, 0.93, 0.92)
    hw, front, back = w / 2, -d / 2, d / 2
    side = 1 if rng.random() < 0.5 else -1
    bw, bd, deep = span(rng, 0.52, 0.58), 0.37, 0.13
    left = side * (hw - 0.06 - bw / 2) - bw / 2
    x, y = (left, left + bw), (front + 0.06, front + 0.06 + bd)
    z = (h - 0.035, h)
    base = [
        between((-hw, x[0] - 0.006), (front, back), z, counter),
        between((x[1] + 0.006, hw), (front, back), z, counter),
        between((x[0] - 0.006, x[1] + 0.006), (front, y[0] - 0.006), z, counter),
        between((x[0] - 0.006, x[1] + 0.006), (y[1] + 0.006, back), z, counter),
        between((-hw + 0.01, hw - 0.01), (front + 0.03, back), (0.06, h - deep - 0.02), carcass),
        between((-hw + 0.01, hw - 0.01), (front + 0.02, front + 0.035),
                (h - deep - 0.02, h - 0.035), carcass),
        between((-hw + 0.01, hw - 0.01), (front + 0.06, back), (0.0, 0.06), DARK),
        between(x, y, (h - deep - 0.01, h - deep), steel),
        between((x[0] - 0.008, x[0]), y, (h - deep, h + 0.003), steel),
        between((x[1], x[1] + 0.008), y, (h - deep, h + 0.003), steel),
        between((x[0] - 0.008, x[1] + 0.008), (y[0] - 0.008, y[0]), (h - deep, h + 0.003), steel),
        between((x[0] - 0.008, x[1] + 0.008), (y[1], y[1] + 0.008), (h - deep, h + 0.003), steel),
        trim((-hw, -hw + 0.012), (front + 0.035, back), (h - deep - 0.02, h - 0.035), carcass),
        trim((hw - 0.012, hw), (front + 0.035, back), (h - deep - 0.02, h - 0.035), carcass),
        # rim, drain, splashback
        trim((x[0] - 0.03, x[0]), (y[0] - 0.03, y[1] + 0.03), (h, h + 0.004), steel),
        trim((x[1], x[1] + 0.03), (y[0] - 0.03, y[1] + 0.03), (h, h + 0.004), steel),
        trim(x, (y[0] - 0.03, y[0]), (h, h + 0.004), steel),
        trim(x, (y[1], y[1] + 0.03), (h, h + 0.004), steel),
        mesh('cylinder', (0.07, 0.07, 0.003),
             ((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, h - deep + 0.001), DARK),
    ]
    cx, tap = (x[0] + x[1]) / 2, y[1] + 0.055
    base += [
        mesh('cylinder', (0.05, 0.05, 0.03), (cx, tap, h + 0.015), CHROME),
        mesh('cylinder', (0.028, 0.028, 0.24), (cx, tap, h + 0.13), CHROME),
        ornament((0.028, 0.17, 0.028), (cx, tap - 0.08, h + 0.25), CHROME),
        mesh('cylinder', (0.028, 0.028, 0.06), (cx, tap - 0.155, h + 0.225), CHROME),
        ornament((0.07, 0.02, 0.016), (cx + 0.06, tap, h + 0.05), CHROME)]
    base += _fronts(w, 3, front, h, fronts, knob)
    basin = surface((x[0] + 0.02, x[1] - 0.02), (y[0] + 0.02, y[1] - 0.02), h - deep)
    other = (-hw + 0.04, x[0] - 0.06) if side > 0 else (x[1] + 0.06, hw - 0.04)
    beside = surface(other, (front + 0.05, back - 0.06), h)
    return Model(category, (Link(tuple(base)),), (w, d, h), (basin, beside))


def table(category: str, rng: np.random.Generator) -> Model:
    """A table with four legs, or a desk with a panel on each side."""
    w, d, h = span(rng, 1.10, 1.50), span(rng, 0.66, 0.80), span(rng, 0.70, 0.76)
    wood = pick(rng, WOODS)
    top_rgb = wood if rng.random() < 0.75 else pick(rng, (WHITE, (0.82, 0.80, 0.76)))
    legs = shade(wood, 0.8) if rng.random() < 0.7 else (DARK if rng.random() < 0.5 else WHITE)
    thick = 0.04
    parts = [box((w, d, thick), (0, 0, h - thick / 2), top_rgb)]
    if rng.random() < 0.75:
        leg = span(rng, 0.05, 0.075)
        parts += _legs(w, d, h - thick, leg, legs)
        inset = 0.03 + leg / 2
        for sy in (-1, 1):
            parts.append(box((w - 2 * inset, 0.022, 0.08),
                             (0, sy * (d / 2 - inset), h - thick - 0.04), legs))
        for sx in (-1, 1):
            parts.append(box((0.022, d - 2 * inset, 0.08),
                             (sx * (w / 2 - inset), 0, h - thick - 0.04), legs))
    else:
        for sx in (-1, 1):
            parts.append(box((0.045, d - 0.10, h - thick),
                             (sx * (w / 2 - 0.10), 0, (h - thick) / 2), legs))
        parts.append(box((w - 0.2, 0.03, 0.30), (0, d / 2 - 0.15, h - thick - 0.17), legs))
    top = surface((-w / 2 + 0.05, w / 2 - 0.05), (-d / 2 + 0.05, d / 2 - 0.05), h)
    return still(category, parts, (w, d, h), surfaces=(top,))


def shelf(category: str, rng: np.random.Generator) -> Model:
    """A low open shelf whose top is free; its boards below jut out in steps.

    Nothing hangs over a listed surface, so that what stands on it is on top of the shelf.
    """
    w, d, h = span(rng, 1.08, 1.36), span(rng, 0.46, 0.52), span(rng, 0.82, 0.94)
    wood = pick(rng, WOODS) if rng.random() < 0.75 else pick(rng, PAINTS)
    t, upper = 0.025, 0.32  # depth of the upper part
    hw, back = w / 2, d / 2
    lip = back - upper
    step = h - span(rng, 0.38, 0.44)
    parts = [
        between((-hw, hw), (lip, back), (h - t, h), wood),
        between((-hw, -hw + t), (lip, back), (step, h - t), wood),
        between((hw - t, hw), (lip, back), (step, h - t), wood),
        between((-hw, -hw + t), (-d / 2, back), (0.0, step - t), wood),
        between((hw - t, hw), (-d / 2, back), (0.0, step - t), wood),
        between((-hw, hw), (-d / 2, back), (step - t, step), wood),
        between((-hw + t, hw - t), (-d / 2 + 0.02, back), (0.06, 0.06 + t), wood),
        between((-hw + t, hw - t), (back - 0.01, back), (0.0, h - t), shade(wood, 0.75))]
    # what fills the lower boards: rows of books, and baskets
    for floor, depth, ceiling in ((step, (lip + 0.06, back - 0.05), h - t),
                                  (0.06 + t, (-d / 2 + 0.08, back - 0.08), step - t)):
        if rng.random() < 0.25:
            continue
        parts += _row_of_books(rng, (-hw + t + 0.02, float(rng.uniform(-0.1, 0.3)) * w), depth,
                               floor, ceiling)
    top = surface((-hw + 0.03, hw - 0.03), (lip + 0.03, back - 0.03), h)
    return still(category, parts, (w, d, h), surfaces=(top,))


def _row_of_books(rng: np.random.Generator, x: tuple[float, float], y: tuple[float, float],
                  floor: float, ceiling: float) -> list[Part]:
    parts, at = [], x[0]
    while at < x[1] - 0.06:
        thick = span(rng, 0.035, 0.065)
        tall = min(span(rng, 0.17, 0.26), ceiling - floor - 0.03)
        parts.append(trim((at, at + thick - 0.003), (y[0] + span(rng, 0.0, 0.03), y[1]),
                          (floor, floor + tall), shade(pick(rng, VIVID, 0.15), 0.75)))
        at += thick
    return parts


def bed(category: str, rng: np.random.Generator) -> Model:
    """A bed with its head at the back."""
    w, d, h = span(rng, 1.20, 1.50), 2.0, span(rng, 0.95, 1.10)
    wood, fabric = pick(rng, WOODS), pick(rng, FABRICS)
    top = 0.50
    parts = [
        between((-w / 2, w / 2), (-d / 2 + 0.012, d / 2 - 0.06), (0.02, 0.30), wood),
        box((w - 0.06, d - 0.10, 0.18), (0, -0.02, top - 0.10), WHITE),
        between((-w / 2, w / 2), (d / 2 - 0.06, d / 2), (0.0, h), shade(wood, 0.9)),
        between((-w / 2 - 0.01, w / 2 + 0.01), (-d / 2, 0.30 * d), (0.24, top), fabric),
        between((-w / 2 - 0.012, w / 2 + 0.012), (0.22 * d, 0.30 * d), (0.24, top + 0.012),
                shade(fabric, 1.25))]
    for side in (-1, 1):
        parts.append(box((0.40 * w, 0.34, 0.10), (side * 0.24 * w, d / 2 - 0.26, top + 0.03),
                         (0.97, 0.96, 0.93)))
    on = surface((-w / 2 + 0.08, w / 2 - 0.08), (-d / 2 + 0.08, 0.18 * d), top)
    return still(category, parts, (w + 0.024, d, h), surfaces=(on,))


def sofa(category: str, rng: np.random.Generator) -> Model:
    """A sofa with two or three cushions."""
    w, d, h = span(rng, 1.60, 2.00), span(rng, 0.82, 0.92), span(rng, 0.76, 0.84)
    fabric = pick(rng, FABRICS)
    seat, arm = 0.42, 0.17
    parts = [
        box((w, d, 0.26), (0, 0, 0.19), shade(fabric, 0.9)),
        between((-w / 2, w / 2), (d / 2 - 0.22, d / 2), (0.06, h), fabric),
        between((-w / 2, -w / 2 + arm), (-d / 2, d / 2 - 0.05), (0.06, 0.60), shade(fabric, 0.95)),
        between((w / 2 - arm, w / 2), (-d / 2, d / 2 - 0.05), (0.06, 0.60), shade(fabric, 0.95)),
        *_legs(w, d, 0.07, 0.05, DARK)]
    n = 2 if w < 1.8 else 3
    each = (w - 2 * arm) / n
    for k in range(n):
        x = -w / 2 + arm + each * (k + 0.5)
        parts += [box((each - 0.012, d - 0.24, 0.12), (x, -0.11, seat - 0.06),
                      shade(fabric, 1.10)),
                  ornament((each - 0.012, 0.10, 0.30), (x, d / 2 - 0.26, seat + 0.16),
                           shade(fabric, 1.06))]
    pillow = pick(rng, VIVID)
    parts.append(ornament((0.36, 0.11, 0.34), (-w / 2 + arm + 0.22, d / 2 - 0.36, seat + 0.17),
                          pillow, rpy=(-0.25, 0.0, 0.0)))
    on = surface((-w / 2 + arm + 0.45, w / 2 - arm - 0.04), (-d / 2 + 0.04, d / 2 - 0.36), seat)
    return still(category, parts, (w, d, h), surfaces=(on,))


def chair(category: str, rng: np.random.Generator) -> Model:
    """A chair with its back at +y."""
    w, d, h = span(rng, 0.42, 0.48), span(rng, 0.44, 0.50), span(rng, 0.84, 0.96)
    wood = pick(rng, WOODS) if rng.random() < 0.6 else pick(rng, PAINTS)
    seat_rgb = pick(rng, FABRICS) if rng.random() < 0.6 else wood
    parts = [box((w, d, 0.04), (0, 0, 0.45), seat_rgb), *_legs(w, d, 0.43, 0.04, wood, 0.005)]
    for side in (-1, 1):
        parts.append(box((0.04, 0.035, h - 0.45),
                         (side * (w / 2 - 0.025), d / 2 - 0.02, (h + 0.45) / 2), wood))
    for k in range(3):
        parts.append(box((w - 0.08, 0.02, 0.07), (0, d / 2 - 0.02, h - 0.05 - 0.13 * k), wood))
    on = surface((-w / 2 + 0.05, w / 2 - 0.05), (-d / 2 + 0.05, d / 2 - 0.08), 0.47)
    return still(category, parts, (w, d, h), surfaces=(on,))


def counter(category: str, rng: np.random.Generator) -> Model:
    """A kitchen counter with blind fronts."""
    w, d, h = span(rng, 0.80, 1.30), span(rng, 0.56, 0.62), span(rng, 0.84, 0.90)
    carcass, fronts, knob = _finish(rng)
    top_rgb = pick(rng, ((0.32, 0.33, 0.36), (0.78, 0.76, 0.72), (0.60, 0.46, 0.32)))
    front = -d / 2
    parts = [
        box((w, d, 0.035), (0, 0, h - 0.0175), top_rgb),
        between((-w / 2 + 0.01, w / 2 - 0.01), (front + 0.03, d / 2), (0.06, h - 0.035), carcass),
        between((-w / 2 + 0.01, w / 2 - 0.01), (front + 0.06, d / 2), (0.0, 0.06), DARK)]
    parts += _fronts(w, 2 if w < 1.05 else 3, front, h, fronts, knob)
    on = surface((-w / 2 + 0.05, w / 2 - 0.05), (front + 0.05, d / 2 - 0.05), h)
    return still(category, parts, (w, d, h), surfaces=(on,))


def stove(category: str, rng: np.random.Generator) -> Model:
    """A stove with four rings and an oven."""
    w, d, h = 0.60, 0.58, span(rng, 0.84, 0.90)
    body = pick(rng, (WHITE, STEEL, (0.25, 0.26, 0.28)), 0.03)
    front = -d / 2
    parts = [
        box((w, d, h), (0, 0, h / 2), body),
        ornament((w - 0.02, d - 0.04, 0.008), (0, 0, h), (0.13, 0.13, 0.15)),
        trim((-w / 2 + 0.06, w / 2 - 0.06), (front - 0.004, front), (0.22, 0.56),
             (0.16, 0.17, 0.19)), _handle((0, front - 0.02, 0.63), 0.44, CHROME, upright=False),
    ]
    for sx in (-1, 1):
        for sy in (-1, 1):
            r = 0.18 if sx * sy > 0 else 0.14
            parts.append(mesh('cylinder', (r, r, 0.006), (sx * 0.14, sy * 0.13, h + 0.005),
                              (0.36, 0.36, 0.38)))
    for k in range(5):
        parts.append(mesh('cylinder', (0.035, 0.035, 0.02),
                          (-0.2 + 0.1 * k, front - 0.01, h - 0.07), DARK, rpy=lying('y')))
    on = surface((-w / 2 + 0.05, w / 2 - 0.05), (front + 0.05, d / 2 - 0.05), h + 0.008)
    return still(category, parts, (w, d, h + 0.008), surfaces=(on,))
