"""Small helpers that furniture and things are put together with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from sightplan_sim.household.shapes import Joint, Link, Model, Part, Region, Rgb, Vec3

WOODS: tuple[Rgb, ...] = (
    (0.72, 0.53, 0.33), (0.62, 0.42, 0.25), (0.48, 0.31, 0.19), (0.80, 0.65, 0.45),
    (0.86, 0.74, 0.56), (0.55, 0.40, 0.30))
PAINTS: tuple[Rgb, ...] = (
    (0.90, 0.89, 0.86), (0.78, 0.79, 0.80), (0.55, 0.63, 0.62), (0.42, 0.50, 0.60),
    (0.62, 0.68, 0.55), (0.83, 0.77, 0.66), (0.36, 0.38, 0.42))
FABRICS: tuple[Rgb, ...] = (
    (0.36, 0.45, 0.60), (0.60, 0.36, 0.33), (0.45, 0.55, 0.42), (0.62, 0.58, 0.52),
    (0.40, 0.40, 0.45), (0.72, 0.60, 0.38), (0.50, 0.40, 0.55))
VIVID: tuple[Rgb, ...] = (
    (0.85, 0.16, 0.14), (0.13, 0.36, 0.80), (0.10, 0.58, 0.30), (0.96, 0.74, 0.10),
    (0.55, 0.22, 0.62), (0.95, 0.48, 0.10), (0.10, 0.62, 0.68), (0.90, 0.40, 0.60))
STEEL: Rgb = (0.66, 0.68, 0.71)
CHROME: Rgb = (0.80, 0.82, 0.85)
DARK: Rgb = (0.20, 0.20, 0.22)
WHITE: Rgb = (0.95, 0.95, 0.94)
BRASS: Rgb = (0.80, 0.66, 0.32)
CARDBOARD: Rgb = (0.74, 0.57, 0.38)


def shade(rgb: Rgb, factor: float) -> Rgb:
    """A colour darker (factor below 1) or lighter, kept in [0, 1]."""
    r, g, b = (min(1.0, max(0.0, v * factor)) for v in rgb)
    return (r, g, b)


def mix(one: Rgb, other: Rgb, part: float) -> Rgb:
    """A colour between two; part 0 is the first."""
    r, g, b = (a + (c - a) * part for a, c in zip(one, other, strict=True))
    return (r, g, b)


def vary(rng: np.random.Generator, rgb: Rgb, strength: float = 0.05) -> Rgb:
    """A colour a little lighter or darker and a little off in hue."""
    light = 1.0 + rng.uniform(-strength, strength)
    r, g, b = (min(1.0, max(0.0, v * light + rng.uniform(-strength, strength) / 4))
               for v in rgb)
    return (r, g, b)


def pick(rng: np.random.Generator, colours: Sequence[Rgb], strength: float = 0.05) -> Rgb:
    """Draw one of some colours, and vary it a little."""
    return vary(rng, colours[int(rng.integers(len(colours)))], strength)


def span(rng: np.random.Generator, low: float, high: float) -> float:
    """A length between two, to the half millimetre."""
    return round(float(rng.uniform(low, high)) * 2000) / 2000


def box(size: Vec3, at: Vec3, rgb: Rgb, *, seen: bool = True, rpy: Vec3 = (0.0, 0.0, 0.0)) -> Part:
    """A box by its extents and centre."""
    return Part('box', size, at, rgb, rpy, True, seen)


def mesh(kind: str, size: Vec3, at: Vec3, rgb: Rgb, *, solid: bool = False, seen: bool = True,
         rpy: Vec3 = (0.0, 0.0, 0.0)) -> Part:
    """A mesh by its kind, extents and centre; not solid unless asked."""
    return Part(kind, size, at, rgb, rpy, solid, seen)


def between(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], rgb: Rgb, *,
            solid: bool = True, seen: bool = True) -> Part:
    """A box by its ranges along x, y, z."""
    size = (x[1] - x[0], y[1] - y[0], z[1] - z[0])
    at = ((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, (z[0] + z[1]) / 2)
    return Part('box', size, at, rgb, (0.0, 0.0, 0.0), solid, seen)


def tray(x: float, y: float, h: float, t: float, rgb: Rgb, floor: Rgb) -> list[Part]:
    """An open box by half its extents and its height: a floor and four sides, ``t`` thick."""
    return [between((-x, x), (-y, y), (0, t), floor), between((-x, x), (-y, -y + t), (t, h), rgb),
            between((-x, x), (y - t, y), (t, h), rgb),
            between((-x, -x + t), (-y + t, y - t), (t, h), rgb),
            between((x - t, x), (-y + t, y - t), (t, h), rgb)]


def ornament(size: Vec3, at: Vec3, rgb: Rgb, *, rpy: Vec3 = (0.0, 0.0, 0.0)) -> Part:
    """A box by its extents and centre that is drawn but does not collide."""
    return Part('box', size, at, rgb, rpy, False)


def trim(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], rgb: Rgb) -> Part:
    """A box by its ranges along x, y, z that is drawn but does not collide."""
    return between(x, y, z, rgb, solid=False)


def surface(x: tuple[float, float], y: tuple[float, float], z: float) -> Region:
    """A surface by its ranges."""
    return Region(((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, z),
                  ((x[1] - x[0]) / 2, (y[1] - y[0]) / 2, 0.0))


def room(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float],
         link: int = 0) -> Region:
    """A cavity by its ranges."""
    return Region(((x[0] + x[1]) / 2, (y[0] + y[1]) / 2, (z[0] + z[1]) / 2),
                  ((x[1] - x[0]) / 2, (y[1] - y[0]) / 2, (z[1] - z[0]) / 2), link)


def moved(parts: Iterable[Part], by: Vec3) -> tuple[Part, ...]:
    """Parts shifted, for example into the frame of a link."""
    return tuple(Part(p.kind, p.size,
                      (p.position[0] + by[0], p.position[1] + by[1], p.position[2] + by[2]),
                      p.rgb, p.rpy, p.solid, p.seen) for p in parts)


def hinged(parts: Iterable[Part], origin: Vec3, axis: Vec3, upper: float) -> Link:
    """A link on a hinge; its parts are given in the body's frame, closed."""
    return Link(moved(parts, (-origin[0], -origin[1], -origin[2])),
                Joint('hinge', origin, axis, upper))


def sliding(parts: Iterable[Part], origin: Vec3, axis: Vec3, upper: float) -> Link:
    """A link that slides; its parts are given in the body's frame, closed."""
    return Link(moved(parts, (-origin[0], -origin[1], -origin[2])),
                Joint('slide', origin, axis, upper))


def still(category: str, parts: Iterable[Part], size: Vec3, *,
          surfaces: tuple[Region, ...] = (), mass: float = 0.0) -> Model:
    """A model without joints."""
    return Model(category, (Link(tuple(parts)),), size, surfaces, (), mass)


def lying(along: str) -> Vec3:
    """Roll, pitch, yaw that lay a part's z axis along x or y."""
    return (0.0, math.pi / 2, 0.0) if along == 'x' else (-math.pi / 2, 0.0, 0.0)
