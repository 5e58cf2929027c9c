"""Small things that are carried about, a little larger than life: known at arm's length."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sightplan_sim.household.parts import (
    DARK,
    STEEL,
    VIVID,
    WHITE,
    WOODS,
    box,
    lying,
    mesh,
    mix,
    moved,
    ornament,
    pick,
    shade,
    span,
    still,
    surface,
    tray,
    trim,
    vary,
)
from sightplan_sim.household.shapes import Model, Part, Rgb, Vec3


def _block(size: Vec3, at: Vec3 | None = None) -> Part:
    """A part that collides and is not drawn."""
    return box(size, at or (0.0, 0.0, size[2] / 2), WHITE, seen=False)


def _post(size: Vec3, at: Vec3 | None = None) -> Part:
    """An upright cylinder to collide with that is not drawn."""
    return mesh('cylinder', size, at or (0.0, 0.0, size[2] / 2), WHITE, solid=True, seen=False)


def _walls(d: float, h: float, foot: float, floor: float, thick: float = 0.008) -> list[Part]:
    """A hollow round thing to collide with: a floor and eight staves that lean outward.

    Its diameter is ``d`` at the rim and ``foot`` at the bottom.
    """
    parts = [_post((foot, foot, floor))]
    lean = math.atan2((d - foot) / 2, h)
    long = h / math.cos(lean)
    reach = (d + foot) / 4 - thick / 2
    for k in range(8):
        a = math.pi / 4 * k
        parts.append(box((thick, 0.42 * d, long - 0.6 * thick),
                         (reach * math.cos(a), reach * math.sin(a), h / 2), WHITE, seen=False,
                         rpy=(0.0, lean, a)))
    return parts


def bowl(category: str, rng: np.random.Generator) -> Model:
    """A hollow bowl on a foot."""
    d, h = span(rng, 0.18, 0.20), span(rng, 0.075, 0.085)
    rgb = pick(rng, ((0.20, 0.45, 0.75), (0.86, 0.36, 0.22), (0.25, 0.58, 0.48),
                     (0.93, 0.78, 0.30), (0.90, 0.90, 0.88)))
    parts = [mesh('bowl', (d, d, h - 0.008), (0, 0, 0.008 + (h - 0.008) / 2), rgb),
             mesh('cylinder', (0.5 * d, 0.5 * d, 0.012), (0, 0, 0.006), shade(rgb, 0.85)),
             mesh('hoop', (1.01 * d, 1.01 * d, 0.010), (0, 0, h - 0.003),
                  shade(mix(rgb, WHITE, 0.5), 1.1)),
             *_walls(d, h, 0.5 * d, 0.014)]
    return still(category, parts, (d, d, h), mass=0.3)


def plate(category: str, rng: np.random.Generator) -> Model:
    """A flat plate with a coloured rim."""
    d, h = span(rng, 0.22, 0.25), 0.024
    rgb = pick(rng, (WHITE, (0.93, 0.90, 0.82), (0.80, 0.87, 0.92)), 0.02)
    rim = pick(rng, ((0.20, 0.38, 0.70), (0.70, 0.20, 0.20), (0.22, 0.50, 0.35),
                     (0.30, 0.30, 0.34)))
    parts = [mesh('plate', (d, d, h), (0, 0, h / 2), rgb),
             mesh('torus', (d, d, 0.006), (0, 0, h - 0.002), rim),
             mesh('ring', (0.70 * d, 0.70 * d, 0.002), (0, 0, 0.0135), rim),
             _post((0.62 * d, 0.62 * d, 0.012)),
             _post((0.96 * d, 0.96 * d, 0.010), (0, 0, h - 0.007))]
    top = surface((-0.22 * d, 0.22 * d), (-0.22 * d, 0.22 * d), h - 0.002)
    return still(category, parts, (d, d, h), surfaces=(top,), mass=0.35)


def _bound(category: str, rng: np.random.Generator, w: float, d: float, h: float, cover: Rgb,
           page: Rgb = (0.95, 0.93, 0.86)) -> list[Part]:
    """A closed book that lies flat, its spine to the left."""
    t = 0.0045
    x = (-w / 2, w / 2)
    return [
        trim(x, (-d / 2, d / 2), (0.0, t), cover), trim(x, (-d / 2, d / 2), (h - t, h), cover),
        trim((-w / 2, -w / 2 + 0.007), (-d / 2, d / 2), (t, h - t), shade(cover, 0.8)),
        trim((-w / 2 + 0.007, w / 2 - 0.006), (-d / 2 + 0.005, d / 2 - 0.005), (t, h - t), page),
        _block((w, d, h))]


def book(category: str, rng: np.random.Generator) -> Model:
    """A paperback: soft cover with a picture and a title."""
    w, d, h = span(rng, 0.16, 0.18), span(rng, 0.23, 0.25), span(rng, 0.030, 0.038)
    cover = pick(rng, ((0.92, 0.70, 0.16), (0.30, 0.62, 0.75), (0.88, 0.45, 0.30),
                       (0.55, 0.70, 0.35), (0.82, 0.55, 0.70)))
    other = pick(rng, (WHITE, DARK, (0.20, 0.28, 0.55)), 0.02)
    z = (h, h + 0.0012)
    parts = [*_bound(category, rng, w, d, h, cover),
             trim((-0.36 * w, 0.40 * w), (0.16 * d, 0.36 * d), z, other),
             mesh('cylinder', (0.5 * w, 0.5 * w, 0.0012), (0.02 * w, -0.12 * d, h + 0.0006),
                  shade(mix(cover, other, 0.45), 0.9)),
             trim((-0.20 * w, 0.25 * w), (-0.42 * d, -0.38 * d), z, other)]
    return _leaf_top(category, parts, (w, d, h), 0.5)


def hardback(category: str, rng: np.random.Generator) -> Model:
    """A thick bound book: dark cloth, gilt lines and lettering."""
    w, d, h = span(rng, 0.18, 0.20), span(rng, 0.25, 0.27), span(rng, 0.048, 0.058)
    cover = pick(rng, ((0.50, 0.10, 0.12), (0.10, 0.20, 0.42), (0.10, 0.32, 0.22),
                       (0.32, 0.18, 0.10), (0.30, 0.12, 0.34)), 0.04)
    gilt = (0.90, 0.74, 0.32)
    z, t = (h, h + 0.0012), 0.006
    x, y = (-0.38 * w, 0.42 * w), (-0.43 * d, 0.43 * d)
    parts = [*_bound(category, rng, w, d, h, cover),
             trim((x[0], x[1]), (y[0], y[0] + t), z, gilt),
             trim((x[0], x[1]), (y[1] - t, y[1]), z, gilt),
             trim((x[0], x[0] + t), (y[0] + t, y[1] - t), z, gilt),
             trim((x[1] - t, x[1]), (y[0] + t, y[1] - t), z, gilt),
             trim((-0.20 * w, 0.26 * w), (0.14 * d, 0.20 * d), z, gilt),
             trim((-0.14 * w, 0.20 * w), (0.05 * d, 0.09 * d), z, gilt)]
    for y0 in (-0.35 * d, 0.30 * d):
        parts.append(trim((-w / 2 - 0.001, -w / 2), (y0, y0 + 0.012), (0.004, h - 0.004), gilt))
    return _leaf_top(category, parts, (w, d, h), 0.8)


def notebook(category: str, rng: np.random.Generator) -> Model:
    """A notebook with a spiral and a label."""
    w, d, h = span(rng, 0.16, 0.18), span(rng, 0.22, 0.24), 0.020
    cover = pick(rng, VIVID)
    z = (h, h + 0.001)
    parts = [*_bound(category, rng, w, d, h, cover),
             trim((-0.15 * w, 0.35 * w), (0.10 * d, 0.32 * d), z, WHITE),
             trim((-0.08 * w, 0.28 * w), (0.20 * d, 0.22 * d), (h, h + 0.002), DARK)]
    for k in range(7):
        parts.append(ornament((0.022, 0.007, h + 0.008), (-w / 2, (k - 3) * 0.13 * d, h / 2),
                              STEEL))
    return _leaf_top(category, parts, (w, d, h), 0.3)


def document(category: str, rng: np.random.Generator) -> Model:
    """A few sheets of paper with a heading and lines."""
    w, d, h = span(rng, 0.20, 0.21), span(rng, 0.28, 0.30), 0.008
    ink, z = (0.38, 0.40, 0.46), (h, h + 0.0008)
    accent = pick(rng, ((0.16, 0.34, 0.66), (0.66, 0.16, 0.18), (0.20, 0.20, 0.24)))
    parts = [box((w, d, h), (0, 0, h / 2), (0.98, 0.98, 0.97)),
             trim((-0.40 * w, 0.15 * w), (0.36 * d, 0.42 * d), z, accent)]
    for k in range(8):
        end = 0.40 if k % 4 < 3 else 0.12
        y0 = 0.26 * d - k * 0.085 * d
        parts.append(trim((-0.40 * w, end * w), (y0, y0 + 0.022 * d), z, ink))
    return _leaf_top(category, parts, (w, d, h), 0.1)


def folder(category: str, rng: np.random.Generator) -> Model:
    """A card folder with a tab, papers showing at the side."""
    w, d, h = span(rng, 0.23, 0.24), span(rng, 0.30, 0.32), 0.016
    rgb = pick(rng, ((0.93, 0.76, 0.36), (0.36, 0.60, 0.82), (0.86, 0.42, 0.36),
                     (0.45, 0.70, 0.42)))
    tab = (0.10 * w, 0.44 * w) if rng.random() < 0.5 else (-0.30 * w, 0.04 * w)
    parts = [
        trim((-w / 2, w / 2), (-d / 2, d / 2 - 0.02), (h - 0.003, h), rgb),
        trim((-w / 2, w / 2), (-d / 2, d / 2), (0.0, 0.003), shade(rgb, 0.88)),
        trim(tab, (d / 2 - 0.02, d / 2 + 0.012), (0.0, 0.004), shade(rgb, 0.88)),
        trim((-w / 2, -w / 2 + 0.006), (-d / 2, d / 2 - 0.02), (0.0, h), shade(rgb, 0.8)),
        trim((-w / 2 + 0.008, w / 2 - 0.004), (-d / 2 + 0.006, d / 2 - 0.012), (0.003, h - 0.003),
             (0.98, 0.98, 0.97)),
        trim((-0.25 * w, 0.25 * w), (-0.05 * d, 0.12 * d), (h, h + 0.0012), WHITE),
        trim((-0.18 * w, 0.18 * w), (0.03 * d, 0.05 * d), (h, h + 0.002), DARK), _block((w, d, h)),
    ]
    return _leaf_top(category, parts, (w, d, h), 0.25)


def _leaf_top(category: str, parts: list[Part], size: Vec3, mass: float) -> Model:
    w, d, h = size
    top = surface((-0.4 * w, 0.4 * w), (-0.4 * d, 0.4 * d), h)
    return still(category, parts, size, surfaces=(top,), mass=mass)


def marker(category: str, rng: np.random.Generator) -> Model:
    """A thick felt pen that lies on its side, with a cap."""
    long, d = span(rng, 0.155, 0.17), span(rng, 0.024, 0.028)
    rgb = pick(rng, VIVID[:6])
    body = WHITE if rng.random() < 0.5 else DARK
    turn, z = lying('x'), d / 2
    parts = [mesh('cylinder', (d, d, 0.60 * long), (-0.16 * long, 0, z), body, rpy=turn),
             mesh('cylinder', (1.08 * d, 1.08 * d, 0.34 * long), (0.30 * long, 0, 1.04 * z), rgb,
                  rpy=turn),
             mesh('cylinder', (0.9 * d, 0.9 * d, 0.05 * long), (-0.48 * long, 0, z), rgb,
                  rpy=turn),
             mesh('cylinder', (1.02 * d, 1.02 * d, 0.10 * long), (-0.08 * long, 0, z), rgb,
                  rpy=turn),
             ornament((0.26 * long, 0.006, 0.005), (0.31 * long, 0, 1.09 * d), rgb),
             _block((long, 0.9 * d, d))]
    return still(category, parts, (long, 1.08 * d, 1.08 * d), mass=0.05)


def pen(category: str, rng: np.random.Generator) -> Model:
    """A slim pen with a clip."""
    long, d = span(rng, 0.15, 0.16), 0.016
    rgb = pick(rng, ((0.12, 0.24, 0.62), (0.12, 0.12, 0.14), (0.66, 0.12, 0.14)))
    turn, z = lying('x'), d / 2
    parts = [mesh('cylinder', (d, d, 0.82 * long), (0.05 * long, 0, z), rgb, rpy=turn),
             mesh('cone', (d, d, 0.12 * long), (-0.42 * long, 0, z), STEEL,
                  rpy=(0, -math.pi / 2, 0)),
             ornament((0.30 * long, 0.004, 0.004), (0.30 * long, 0, d + 0.002), STEEL),
             _block((long, d, d))]
    return still(category, parts, (long, d, d + 0.004), mass=0.03)


def _upright_ball(d: float, at: Vec3 | None = None) -> list[Part]:
    """Collision parts of a ball: a sphere on a small flat, so that it comes to rest."""
    x, y, z = at or (0.0, 0.0, d / 2)
    return [Part('sphere', (d, d, d), (x, y, z), WHITE, seen=False),
            _post((0.44 * d, 0.44 * d, 0.06 * d), (x, y, z - 0.47 * d))]


def ball(category: str, rng: np.random.Generator) -> Model:
    """A ball with stripes."""
    d = span(rng, 0.14, 0.16)
    rgb = pick(rng, VIVID)
    other = WHITE if rng.random() < 0.6 else (0.97, 0.85, 0.20)
    tilt = (-0.75, float(rng.uniform(-0.5, 0.5)), 0.0)
    parts = [mesh('sphere', (d, d, d), (0, 0, d / 2), rgb, rpy=tilt),
             mesh('band', (1.02 * d, 1.02 * d, 0.302 * d), (0, 0, d / 2), other, rpy=tilt),
             *_upright_ball(d)]
    return still(category, parts, (d, d, d), mass=0.25)


def sock(category: str, rng: np.random.Generator) -> Model:
    """A sock that lies on its side: an L with stripes, coloured heel and toe."""
    long, wide, h = span(rng, 0.22, 0.24), span(rng, 0.17, 0.19), 0.032
    rgb = pick(rng, ((0.92, 0.92, 0.90), (0.35, 0.42, 0.62), (0.80, 0.35, 0.36),
                     (0.50, 0.62, 0.52), (0.45, 0.45, 0.48)))
    accent = pick(rng, VIVID)
    leg = 0.075
    x0, y0 = -long / 2, -wide / 2
    stripe = (h, h + 0.001)
    parts = [
        mesh('pillow', (long - 0.01, leg, h), (0.005, y0 + leg / 2, h / 2), rgb),
        mesh('pillow', (leg, wide, h), (x0 + leg / 2, 0, h / 2), rgb),
        mesh('pillow', (leg * 0.9, leg * 1.04, h + 0.003),
             (x0 + 0.48 * leg, y0 + 0.52 * leg, h / 2 + 0.001), accent),
        mesh('pillow', (0.055, leg * 1.03, h + 0.003),
             (long / 2 - 0.026, y0 + leg / 2, h / 2 + 0.001), accent),
        mesh('pillow', (leg * 1.06, 0.034, h + 0.004),
             (x0 + leg / 2, wide / 2 - 0.015, h / 2 + 0.001), accent),
        trim((x0 + 0.006, x0 + leg - 0.006), (wide / 2 - 0.062, wide / 2 - 0.046), stripe, accent),
        _block((long, leg, h), (0, y0 + leg / 2, h / 2)),
        _block((leg, wide - leg, h), (x0 + leg / 2, y0 + leg + (wide - leg) / 2, h / 2))]
    return still(category, parts, (long, wide, h + 0.003), mass=0.06)


def gym_shoe(category: str, rng: np.random.Generator) -> Model:
    """A trainer: white sole, coloured upper, laces and a stripe."""
    long, wide, h = span(rng, 0.27, 0.29), span(rng, 0.10, 0.11), span(rng, 0.115, 0.13)
    rgb = pick(rng, VIVID)
    sole = 0.032
    accent = WHITE if rng.random() < 0.7 else DARK
    parts = [
        mesh('sole', (long, wide, sole), (0, 0, sole / 2), (0.96, 0.96, 0.95)),
        mesh('shoe', (0.96 * long, 0.92 * wide, h - sole), (0, 0, sole + (h - sole) / 2), rgb),
        mesh('cylinder', (0.30 * long, 0.46 * wide, 0.004), (-0.27 * long, 0, h), DARK)]
    for k in (-1, 1):
        parts.append(ornament((0.014, 0.63 * wide, 0.046),
                              ((-0.03 + 0.05 * k) * long, 0, sole + 0.36 * (h - sole)), accent,
                              rpy=(0.0, 0.4, 0.0)))
    for k in range(4):
        x = (-0.06 + 0.075 * k) * long
        z = sole + (h - sole) * (0.86 - 0.12 * k) + 0.004
        parts.append(ornament((0.011, 0.44 * wide, 0.008), (x, 0, z), WHITE))
    parts += [_block((long, wide, 0.5 * h)),
              _block((0.5 * long, 0.8 * wide, h), (-0.23 * long, 0, h / 2))]
    return still(category, parts, (long, wide, h), mass=0.4)


def bottle(category: str, rng: np.random.Generator) -> Model:
    """A bottle with a label and a cap."""
    d, h = span(rng, 0.075, 0.085), span(rng, 0.24, 0.27)
    rgb = pick(rng, ((0.12, 0.45, 0.22), (0.45, 0.70, 0.85), (0.52, 0.28, 0.10),
                     (0.80, 0.20, 0.16)))
    label = pick(rng, (WHITE, (0.95, 0.80, 0.25), (0.20, 0.35, 0.65)), 0.02)
    parts = [mesh('bottle', (d, d, h - 0.02), (0, 0, (h - 0.02) / 2), rgb),
             mesh('cylinder', (1.02 * d, 1.02 * d, 0.26 * h), (0, 0, 0.30 * h), label),
             mesh('cylinder', (0.036, 0.036, 0.026), (0, 0, h - 0.013), WHITE),
             _post((d, d, 0.62 * h)), _post((0.04, 0.04, 0.38 * h), (0, 0, 0.81 * h))]
    return still(category, parts, (d, d, h), mass=0.5)


def mug(category: str, rng: np.random.Generator) -> Model:
    """A mug with a handle."""
    d, h = span(rng, 0.088, 0.10), span(rng, 0.10, 0.11)
    rgb = pick(rng, (*VIVID[:5], WHITE))
    parts = [mesh('cup', (d, d, h), (0, 0, h / 2), rgb),
             mesh('fat_torus', (0.072, 0.072, 0.017), (d / 2 + 0.008, 0, 0.5 * h), rgb,
                  rpy=lying('y')),
             mesh('ring', (d, d, 0.002), (0, 0, h), mix(rgb, WHITE, 0.6)),
             *_walls(d, h, d, 0.01)]
    return still(category, parts, (d, d, h), mass=0.3)


def cup(category: str, rng: np.random.Generator) -> Model:
    """A beaker, wider at the top, with a band."""
    d, h = span(rng, 0.088, 0.098), span(rng, 0.11, 0.125)
    rgb = pick(rng, VIVID)
    parts = [mesh('beaker', (d, d, h), (0, 0, h / 2), rgb),
             mesh('hoop', (1.01 * d, 1.01 * d, 0.010), (0, 0, h - 0.003), WHITE),
             *_walls(d, h, 0.72 * d, 0.01)]
    return still(category, parts, (d, d, h), mass=0.15)


def _cutlery(category: str, rng: np.random.Generator, head: list[Part], long: float,
             wide: float, rgb: Rgb) -> Model:
    h = 0.016
    parts = [*head,
             ornament((0.52 * long, 0.020, 0.012), (-0.22 * long, 0, 0.008), rgb),
             mesh('cylinder', (0.026, 0.026, 0.0125), (-0.47 * long, 0, 0.008), rgb),
             _block((long, 0.8 * wide, h))]
    return still(category, parts, (long, wide, h), mass=0.08)


def _grip(rng: np.random.Generator) -> Rgb | None:
    return pick(rng, VIVID) if rng.random() < 0.4 else None


def spoon(category: str, rng: np.random.Generator) -> Model:
    """A big spoon that lies flat, its bowl to the right."""
    long = span(rng, 0.20, 0.23)
    wooden = bool(rng.random() < 0.3)
    rgb = vary(rng, WOODS[3] if wooden else (0.74, 0.76, 0.79), 0.06)
    head = [mesh('spoon', (0.36 * long, 0.056, 0.020), (0.32 * long, 0, 0.010), rgb),
            ornament((0.14 * long, 0.014, 0.011), (0.08 * long, 0, 0.009), rgb)]
    return _cutlery(category, rng, head, long, 0.056, rgb if wooden else _grip(rng) or rgb)


def fork(category: str, rng: np.random.Generator) -> Model:
    """A fork that lies flat."""
    long, steel = span(rng, 0.20, 0.22), vary(rng, STEEL, 0.06)
    head = [ornament((0.14 * long, 0.014, 0.011), (0.08 * long, 0, 0.009), steel),
            ornament((0.12 * long, 0.044, 0.009), (0.19 * long, 0, 0.010), steel)]
    for k in range(4):
        head.append(ornament((0.26 * long, 0.0065, 0.008),
                             (0.37 * long, (k - 1.5) * 0.0125, 0.010), steel))
    return _cutlery(category, rng, head, long, 0.044, _grip(rng) or steel)


def knife(category: str, rng: np.random.Generator) -> Model:
    """A knife that lies flat."""
    long, steel = span(rng, 0.22, 0.25), vary(rng, (0.80, 0.82, 0.85), 0.06)
    head = [ornament((0.46 * long, 0.028, 0.007), (0.25 * long, 0.002, 0.008), steel)]
    return _cutlery(category, rng, head, long, 0.03, _grip(rng) or DARK)


def saucepan(category: str, rng: np.random.Generator) -> Model:
    """A saucepan with a long handle to the right."""
    d, h = span(rng, 0.19, 0.21), span(rng, 0.10, 0.12)
    rgb = pick(rng, (STEEL, (0.70, 0.16, 0.14), (0.20, 0.22, 0.25), (0.78, 0.46, 0.28)), 0.04)
    grip = 0.17
    parts = [mesh('pot', (d, d, h), (0, 0, h / 2), rgb),
             *_walls(d, h, 0.94 * d, 0.01),
             mesh('hoop', (1.03 * d, 1.03 * d, 0.010), (0, 0, h - 0.003), shade(rgb, 1.25)),
             mesh('ring', (0.94 * d, 0.94 * d, 0.002), (0, 0, 0.012), shade(rgb, 0.7)),
             box((grip, 0.030, 0.022), (d / 2 + grip / 2, 0, 0.80 * h), DARK),
             ornament((0.03, 0.034, 0.028), (d / 2 + 0.01, 0, 0.80 * h), STEEL)]
    return still(category, moved(parts, (-grip / 2, 0.0, 0.0)), (d + grip, d, h), mass=0.7)


def sandwich(category: str, rng: np.random.Generator) -> Model:
    """A triangle of toast with cheese, salad and ham."""
    w, d, h = span(rng, 0.17, 0.19), span(rng, 0.12, 0.13), span(rng, 0.066, 0.076)
    crust = vary(rng, (0.72, 0.48, 0.24), 0.05)
    crumb = (0.97, 0.88, 0.68)
    green, cheese, ham = (0.30, 0.66, 0.20), (0.98, 0.78, 0.18), (0.93, 0.55, 0.52)
    flat = (-math.pi / 2, 0.0, 0.0)  # a wedge's profile is in its x-z plane
    slice_h = 0.30 * h
    filling = 0.40 * h / 3
    layers = [(slice_h, crust, 1.0), (filling, ham, 1.03), (filling, cheese, 1.06),
              (filling, green, 1.04), (slice_h, crust, 1.0)]
    parts, z = [], 0.0
    for thick, rgb, wider in layers:
        parts.append(mesh('wedge', (wider * w, thick, wider * d), (0, 0, z + thick / 2), rgb,
                          rpy=flat))
        z += thick
    parts.append(mesh('wedge', (0.86 * w, 0.002, 0.82 * d), (0, -0.004, h + 0.0005), crumb,
                      rpy=flat))
    for z0, top in ((0.002, slice_h - 0.002), (h - slice_h + 0.002, h - 0.002)):  # cut face
        parts.append(trim((-0.47 * w, 0.47 * w), (-d / 2 - 0.001, -d / 2), (z0, top), crumb))
    parts += [_block((0.9 * w, 0.5 * d, h), (0, -0.25 * d, h / 2)),
              _block((0.45 * w, 0.4 * d, h), (0, 0.15 * d, h / 2))]
    return still(category, parts, (w, d, h), mass=0.2)


def snack_food(category: str, rng: np.random.Generator) -> Model:
    """A bag of crisps, or a box of crackers."""
    rgb = pick(rng, ((0.90, 0.20, 0.15), (0.98, 0.72, 0.10), (0.16, 0.50, 0.80),
                     (0.30, 0.66, 0.26), (0.62, 0.22, 0.62)))
    other = (0.99, 0.86, 0.30) if rgb[0] < 0.95 or rgb[1] < 0.5 else (0.85, 0.18, 0.14)
    crisp = (0.96, 0.76, 0.34)
    if rng.random() < 0.6:
        w, d, h = span(rng, 0.15, 0.17), span(rng, 0.085, 0.095), span(rng, 0.20, 0.22)
        parts = [mesh('bag', (w, d, h), (0, 0, h / 2), rgb),
                 trim((-w / 2, w / 2), (-0.006, 0.006), (h - 0.018, h), shade(rgb, 0.75))]
        for side in (-1, 1):
            y = side * 0.455 * d
            parts += [mesh('cylinder', (0.62 * w, 0.62 * w, 0.012), (0, y, 0.50 * h), other,
                           rpy=lying('y')),
                      mesh('cylinder', (0.28 * w, 0.22 * w, 0.016), (-0.05 * w, y, 0.47 * h),
                           crisp, rpy=lying('y')),
                      mesh('cylinder', (0.22 * w, 0.26 * w, 0.018), (0.10 * w, y, 0.55 * h),
                           shade(crisp, 0.9), rpy=lying('y')),
                      trim((-0.32 * w, 0.32 * w), (min(y, 0.86 * y), max(y, 0.86 * y)),
                           (0.74 * h, 0.82 * h), WHITE)]
        parts.append(_block((0.94 * w, 0.8 * d, h)))
    else:
        w, d, h = span(rng, 0.14, 0.16), span(rng, 0.065, 0.075), span(rng, 0.19, 0.21)
        parts = [box((w, d, h), (0, 0, h / 2), rgb)]
        for side in (-1, 1):
            y = side * (d / 2 + 0.001)
            parts += [ornament((0.86 * w, 0.002, 0.20 * h), (0, y, 0.78 * h), WHITE),
                      ornament((0.60 * w, 0.003, 0.05 * h), (0, y, 0.78 * h), rgb),
                      mesh('cylinder', (0.56 * w, 0.56 * w, 0.003), (0, y, 0.38 * h), other,
                           rpy=lying('y')),
                      ornament((0.34 * w, 0.005, 0.34 * w), (0, y, 0.38 * h), crisp,
                               rpy=(0.0, 0.5, 0.0))]
    return still(category, parts, (w, d, h), mass=0.2)


def _fruit(category: str, rng: np.random.Generator, size: Vec3, rgb: Rgb, top: list[Part],
           kind: str = 'sphere') -> Model:
    w, _, h = size
    parts = [mesh(kind, size, (0, 0, h / 2), rgb), *top, *_upright_ball(min(w, h))]
    return still(category, parts, size, mass=0.18)


def apple(category: str, rng: np.random.Generator) -> Model:
    """A red or green apple with stem and leaf."""
    d = span(rng, 0.090, 0.10)
    rgb = vary(rng, (0.78, 0.10, 0.10) if rng.random() < 0.65 else (0.55, 0.72, 0.14), 0.06)
    h = 0.92 * d
    top = [mesh('cylinder', (0.011, 0.011, 0.035), (0, 0, h + 0.004), (0.36, 0.22, 0.10),
                rpy=(0.0, 0.2, 0.0)),
           mesh('sphere', (0.046, 0.022, 0.007), (0.026, 0, h + 0.012), (0.22, 0.55, 0.14),
                rpy=(0.0, -0.3, 0.3))]
    return _fruit(category, rng, (d, d, h), rgb, top, 'apple')


def orange(category: str, rng: np.random.Generator) -> Model:
    """An orange with a green stalk."""
    d = span(rng, 0.090, 0.10)
    rgb = vary(rng, (0.98, 0.54, 0.05), 0.04)
    top = [mesh('cylinder', (0.018, 0.018, 0.006), (0, 0, d - 0.001), (0.30, 0.42, 0.14))]
    return _fruit(category, rng, (d, d, d), rgb, top)


def lemon(category: str, rng: np.random.Generator) -> Model:
    """A lemon that lies, with its two tips."""
    d = span(rng, 0.070, 0.078)
    rgb = vary(rng, (0.97, 0.86, 0.16), 0.04)
    long = 1.4 * d
    tips = [mesh('sphere', (0.03, 0.028, 0.028), (s * 0.48 * long, 0, d / 2), rgb)
            for s in (-1, 1)]
    return _fruit(category, rng, (long, d, d), rgb, tips)


def banana(category: str, rng: np.random.Generator) -> Model:
    """A bent yellow banana that lies flat."""
    long, wide, h = span(rng, 0.20, 0.22), 0.085, 0.042
    rgb = vary(rng, (0.97, 0.82, 0.18), 0.04)
    parts = [mesh('banana', (long, wide, h), (0, 0, h / 2), rgb),
             mesh('sphere', (0.026, 0.026, 0.022), (-0.48 * long, 0.42 * wide, h / 2),
                  (0.30, 0.22, 0.10)),
             mesh('sphere', (0.020, 0.020, 0.020), (0.48 * long, 0.42 * wide, h / 2),
                  (0.30, 0.22, 0.10)),
             _block((0.9 * long, 0.6 * wide, h))]
    return still(category, parts, (long, wide, h), mass=0.15)


def _car(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    long, wide, h = span(rng, 0.19, 0.21), 0.10, 0.10
    rgb = pick(rng, VIVID)
    glass = (0.62, 0.82, 0.92)
    parts = [ornament((long, 0.86 * wide, 0.038), (0, 0, 0.042), rgb),
             mesh('cabin', (0.56 * long, 0.76 * wide, 0.040), (-0.03 * long, 0, 0.080), glass),
             ornament((0.40 * long, 0.72 * wide, 0.008), (-0.03 * long, 0, h), rgb)]
    for sx in (-1, 1):
        for sy in (-1, 1):
            at = (sx * 0.30 * long, sy * 0.43 * wide, 0.024)
            parts += [mesh('cylinder', (0.048, 0.048, 0.020), at, DARK, rpy=lying('y')),
                      mesh('cylinder', (0.024, 0.024, 0.024), at, WHITE, rpy=lying('y'))]
    parts += [ornament((0.004, 0.018, 0.014), (0.5 * long, s * 0.030, 0.048), (0.99, 0.93, 0.60))
              for s in (-1, 1)]
    parts += [_block((long, wide, 0.062)), _block((0.5 * long, 0.8 * wide, h))]
    return parts, (long, wide, h)


def _teddy(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    h = span(rng, 0.20, 0.22)
    fur = pick(rng, ((0.62, 0.40, 0.20), (0.78, 0.58, 0.34), (0.50, 0.34, 0.24)))
    light = mix(fur, WHITE, 0.45)
    u = h / 0.21

    def ball_at(d: float, x: float, y: float, z: float, rgb: Rgb) -> Part:
        return mesh('sphere', (d * u, d * u, d * u), (x * u, y * u, z * u), rgb)

    parts = [mesh('sphere', (0.115 * u, 0.10 * u, 0.12 * u), (0, 0, 0.065 * u), fur),
             ball_at(0.068, 0, -0.026, 0.065, light), ball_at(0.098, 0, -0.008, 0.155, fur),
             ball_at(0.044, 0, -0.046, 0.145, light), ball_at(0.018, 0, -0.067, 0.152, DARK)]
    for s in (-1, 1):
        parts += [ball_at(0.040, s * 0.042, 0, 0.198, fur),
                  ball_at(0.014, s * 0.022, -0.052, 0.172, DARK),
                  ball_at(0.056, s * 0.052, -0.058, 0.028, fur),
                  ball_at(0.046, s * 0.066, -0.026, 0.090, fur)]
    parts += [_block((0.15 * u, 0.13 * u, 0.06 * u), (0, -0.015 * u, 0.03 * u)),
              _block((0.11 * u, 0.10 * u, h))]
    return parts, (0.17 * u, 0.14 * u, h)


def _blocks(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    s = span(rng, 0.068, 0.074)
    order = rng.permutation(len(VIVID))
    turns = rng.uniform(-0.3, 0.3, 3)
    parts = []
    for k, (x, z) in enumerate(((-0.55 * s, 0.5 * s), (0.55 * s, 0.5 * s), (0.0, 1.5 * s))):
        rgb = VIVID[int(order[k])]
        parts.append(ornament((s, s, s), (x, 0, z), rgb, rpy=(0.0, 0.0, float(turns[k]) / 2)))
        parts.append(ornament((0.62 * s, 1.03 * s, 0.62 * s), (x, 0, z), mix(rgb, WHITE, 0.65),
                              rpy=(0.0, 0.0, float(turns[k]) / 2)))
    parts += [_block((2.1 * s, s, s)), _block((0.9 * s, 0.9 * s, s), (0, 0, 1.5 * s))]
    return parts, (2.1 * s, s, 2 * s)


def _duck(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    long = span(rng, 0.17, 0.19)
    rgb = vary(rng, (0.99, 0.82, 0.10), 0.03)
    u = long / 0.18
    parts = [mesh('sphere', (0.17 * u, 0.12 * u, 0.095 * u), (-0.005 * u, 0, 0.048 * u), rgb),
             mesh('cone', (0.07 * u, 0.06 * u, 0.06 * u), (-0.078 * u, 0, 0.082 * u), rgb,
                  rpy=(0.0, -0.7, 0.0)),
             mesh('sphere', (0.085 * u, 0.08 * u, 0.082 * u), (0.048 * u, 0, 0.118 * u), rgb),
             mesh('sphere', (0.046 * u, 0.044 * u, 0.016 * u), (0.096 * u, 0, 0.110 * u),
                  (0.95, 0.42, 0.08))]
    parts += [mesh('sphere', (0.014 * u, 0.014 * u, 0.016 * u),
                   (0.075 * u, s * 0.027 * u, 0.132 * u), DARK)
              for s in (-1, 1)]
    parts += [mesh('sphere', (0.08 * u, 0.02 * u, 0.045 * u),
                   (-0.02 * u, s * 0.055 * u, 0.060 * u), shade(rgb, 0.9))
              for s in (-1, 1)]
    parts += [_block((0.15 * u, 0.11 * u, 0.09 * u)),
              _block((0.07 * u, 0.07 * u, 0.155 * u), (0.045 * u, 0, 0.0775 * u))]
    return parts, (0.2 * u, 0.12 * u, 0.16 * u)


def _rings(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    d, h = span(rng, 0.14, 0.155), 0.18
    order = rng.permutation(5)
    parts = [mesh('cylinder', (d, d, 0.018), (0, 0, 0.009), WOODS[4]),
             mesh('cylinder', (0.024, 0.024, 0.165), (0, 0, 0.0825), WOODS[4]),
             mesh('sphere', (0.036, 0.036, 0.030), (0, 0, 0.168), VIVID[int(order[4])])]
    z = 0.018
    for k in range(4):
        r = d * (0.96 - 0.15 * k)
        parts.append(mesh('fat_torus', (r, r, 0.036), (0, 0, z + 0.018), VIVID[int(order[k])]))
        z += 0.033
    parts += [_post((d, d, 0.06)), _post((0.7 * d, 0.7 * d, 0.10), (0, 0, 0.11))]
    return parts, (d, d, h)


def _robot(rng: np.random.Generator) -> tuple[list[Part], Vec3]:
    h = span(rng, 0.20, 0.22)
    rgb, other = (pick(rng, VIVID) for _ in range(2))
    u, grey = h / 0.21, (0.70, 0.72, 0.75)

    def cube(x: float, y: float, z: float, w: float, d: float, t: float, c: Rgb) -> Part:
        return ornament((w * u, d * u, t * u), (x * u, y * u, z * u), c)

    parts = [cube(0, 0, 0.085, 0.10, 0.07, 0.08, rgb), cube(0, 0, 0.158, 0.075, 0.06, 0.055, grey),
             cube(0, -0.036, 0.09, 0.06, 0.004, 0.035, other),
             cube(0, -0.031, 0.145, 0.045, 0.004, 0.009, DARK),
             cube(0, 0, 0.193, 0.006, 0.006, 0.022, DARK),
             mesh('sphere', (0.018 * u,) * 3, (0, 0, 0.205 * u), other)]
    for s in (-1, 1):
        parts += [cube(s * 0.028, -0.004, 0.022, 0.038, 0.065, 0.045, DARK),
                  cube(s * 0.062, 0, 0.090, 0.020, 0.035, 0.072, grey),
                  mesh('cylinder', (0.018 * u, 0.018 * u, 0.006 * u),
                       (s * 0.018 * u, -0.031 * u, 0.166 * u), other, rpy=lying('y'))]
    parts.append(_block((0.13 * u, 0.072 * u, h)))
    return parts, (0.144 * u, 0.075 * u, h)


_TOYS: tuple[Callable[[np.random.Generator], tuple[list[Part], Vec3]], ...] = (
    _car, _teddy, _blocks, _duck, _rings, _robot)


def plaything(category: str, rng: np.random.Generator, number: int = 1) -> Model:
    """A toy whose kind follows its number: car, teddy, blocks, duck, rings, robot."""
    parts, size = _TOYS[(number - 1) % len(_TOYS)](rng)
    return still(category, parts, size, mass=0.25)


def cloth(category: str, rng: np.random.Generator) -> Model:
    """A folded cloth with stripes or checks."""
    w, d, h = span(rng, 0.20, 0.22), span(rng, 0.16, 0.18), 0.030
    rgb = pick(rng, ((0.92, 0.90, 0.86), (0.55, 0.75, 0.85), (0.95, 0.80, 0.45),
                     (0.70, 0.85, 0.65)))
    stripe = pick(rng, VIVID[:5])
    parts = [mesh('pillow', (w, d, 0.6 * h), (0, 0, 0.3 * h), shade(rgb, 0.92)),
             mesh('pillow', (0.97 * w, 0.96 * d, 0.55 * h), (0.004, 0.003, 0.72 * h), rgb)]
    top = (h - 0.001, h + 0.0008)
    for k in (-1, 0, 1):
        parts.append(trim((k * 0.27 * w - 0.012, k * 0.27 * w + 0.012), (-0.42 * d, 0.43 * d), top,
                          stripe))
    if rng.random() < 0.5:
        for k in (-1, 1):
            parts.append(trim((-0.43 * w, 0.43 * w), (k * 0.22 * d - 0.010, k * 0.22 * d + 0.010),
                              (h - 0.001, h + 0.0014), shade(stripe, 1.2)))
    parts.append(_block((0.94 * w, 0.94 * d, h)))
    return _leaf_top(category, parts, (w, d, h), 0.1)


def parcel(category: str, rng: np.random.Generator) -> Model:
    """A small closed box with tape."""
    w, d, h = span(rng, 0.17, 0.20), span(rng, 0.13, 0.15), span(rng, 0.11, 0.13)
    rgb = vary(rng, (0.74, 0.57, 0.38), 0.07)
    tape = mix(rgb, (0.90, 0.80, 0.60), 0.8)
    parts = [box((w, d, h), (0, 0, h / 2), rgb),
             trim((-0.5 * w, 0.5 * w), (-0.02, 0.02), (h, h + 0.001), tape),
             trim((-0.5 * w - 0.001, 0.5 * w + 0.001), (-0.02, 0.02), (0.7 * h, h), tape),
             trim((0.1 * w, 0.4 * w), (-d / 2 - 0.001, -d / 2), (0.3 * h, 0.7 * h), WHITE)]
    return _leaf_top(category, parts, (w, d, h), 0.4)


def bucket(category: str, rng: np.random.Generator) -> Model:
    """A bucket with a wire handle laid aside."""
    d, h = span(rng, 0.165, 0.172), span(rng, 0.15, 0.17)
    rgb = pick(rng, VIVID[:5])
    parts = [mesh('beaker', (d, d, h), (0, 0, h / 2), rgb),
             mesh('hoop', (1.04 * d, 1.04 * d, 0.016), (0, 0, h - 0.006), shade(rgb, 1.2)),
             mesh('hoop', (1.06 * d, 1.06 * d, 0.008), (0, -0.03, h + 0.02), STEEL,
                  rpy=(0.35, 0.0, 0.0)),
             *_walls(d, h, 0.72 * d, 0.015)]
    return still(category, parts, (1.04 * d, 1.04 * d, h), mass=0.5)


def basket(category: str, rng: np.random.Generator) -> Model:
    """An open wicker basket."""
    w, d, h = span(rng, 0.26, 0.30), span(rng, 0.20, 0.22), span(rng, 0.12, 0.14)
    rgb = pick(rng, ((0.72, 0.52, 0.30), (0.82, 0.66, 0.42)))
    t = 0.012
    x, y = w / 2, d / 2
    parts = tray(x, y, h, t, rgb, shade(rgb, 0.8))
    for k in range(3):
        z = (0.2 + 0.27 * k) * h
        parts += [trim((-x - 0.003, x + 0.003), (s * y - 0.003, s * y + 0.003), (z, z + 0.08 * h),
                       shade(rgb, 0.72)) for s in (-1, 1)]
    return still(category, parts, (w, d, h), mass=0.4)


def plain(category: str, rng: np.random.Generator) -> Model:
    """A two-coloured block with a lid, for categories without a model."""
    w, d, h = span(rng, 0.10, 0.14), span(rng, 0.08, 0.11), span(rng, 0.07, 0.11)
    rgb = pick(rng, VIVID)
    parts = [box((w, d, 0.8 * h), (0, 0, 0.4 * h), rgb),
             box((w, d, 0.2 * h), (0, 0, 0.9 * h), mix(rgb, WHITE, 0.6))]
    return _leaf_top(category, parts, (w, d, h), 0.2)
