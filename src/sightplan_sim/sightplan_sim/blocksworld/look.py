"""Everything random in a blocksworld picture, as one frozen value."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

COLOURS = 'rgbypo'
"""Colour letters of the blocks; the index (from 1) is the id in a segmentation."""

Rgb = tuple[float, float, float]

NOMINAL_RGB: dict[str, Rgb] = {
    'r': (0.86, 0.06, 0.08),
    'g': (0.10, 0.62, 0.16),
    'b': (0.06, 0.40, 0.93),
    'y': (0.98, 0.88, 0.08),
    'p': (0.56, 0.12, 0.62),
    'o': (1.00, 0.53, 0.03),
}
"""Diffuse colour of each block, sRGB in [0, 1]."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Offset of a block from its nominal place, in block sides, and its yaw [deg]."""

    dx: float = 0.0
    dy: float = 0.0
    yaw_deg: float = 0.0


@dataclass(frozen=True, slots=True)
class Look:
    """All random factors of a picture; the default is the nominal look (strength 0).

    Colours are sRGB in [0, 1]. Camera offsets are relative to the fitted nominal camera.

    Attributes:
        azimuth_deg: camera turned around the scene, positive to the right.
        elevation_deg: camera raised by this angle around the scene.
        roll_deg: camera rolled about its optical axis.
        shift_right, shift_up: picture shifted, in fractions of its half size.
        zoom: camera distance over the nominal one (> 1 is farther away).
        light_azimuth_deg: where the light comes from, 0 is from the camera, positive right.
        light_elevation_deg: its height above the table.
        light_rgb: its colour.
        ambient, diffuse, specular: coefficients of the reflection model.
        shadow: darkness of the blocks' shadows on the table, 0 is none.
        block_rgb: six colours in the order of COLOURS.
        placements: six placements in the order of COLOURS.
        backdrop_top_rgb, backdrop_bottom_rgb: the wall's gradient.
        table_rgb, pad_rgb: the table and the pads under the columns.
        mark_rgb: the dashed lines between columns.
        plate_rgb, ink_rgb: the name plates and their lettering.
        texture: contrast of the blotches on wall and table, 0 is none.
        texture_seed: seed of the blotches and of the sensor noise.
        gain: exposure, multiplies every pixel.
        noise: standard deviation of the sensor noise in grey levels of 255.
        blur_px: standard deviation of a Gaussian blur at 640 pixels' width, 0 is none.
    """

    azimuth_deg: float = 0.0
    elevation_deg: float = 0.0
    roll_deg: float = 0.0
    shift_right: float = 0.0
    shift_up: float = 0.0
    zoom: float = 1.0
    light_azimuth_deg: float = 25.0
    light_elevation_deg: float = 50.0
    light_rgb: Rgb = (1.0, 1.0, 1.0)
    ambient: float = 0.55
    diffuse: float = 0.55
    specular: float = 0.0
    shadow: float = 0.35
    block_rgb: tuple[Rgb, ...] = tuple(NOMINAL_RGB[c] for c in COLOURS)
    placements: tuple[Placement, ...] = field(default=(Placement(),) * len(COLOURS))
    backdrop_top_rgb: Rgb = (0.80, 0.84, 0.88)
    backdrop_bottom_rgb: Rgb = (0.90, 0.91, 0.92)
    table_rgb: Rgb = (0.74, 0.66, 0.56)
    pad_rgb: Rgb = (0.40, 0.41, 0.43)
    mark_rgb: Rgb = (0.25, 0.25, 0.27)
    plate_rgb: Rgb = (0.97, 0.97, 0.95)
    ink_rgb: Rgb = (0.05, 0.05, 0.06)
    texture: float = 0.0
    texture_seed: int = 0
    gain: float = 1.0
    noise: float = 0.0
    blur_px: float = 0.0

    def with_placement(self, colour: str, placement: Placement) -> Look:
        """Copy of this look in which one block has another placement."""
        places = list(self.placements)
        places[COLOURS.index(colour)] = placement
        return dataclasses.replace(self, placements=tuple(places))


def sample_placement(rng: np.random.Generator, strength: float) -> Placement:
    """Draw how a block stands: yaw and small offsets, as in ViPlan's scenes."""
    return Placement(
        dx=_uniform(rng, 0.035 * strength, 0.06),
        dy=_uniform(rng, 0.05 * strength, 0.09),
        yaw_deg=_uniform(rng, 18.0 * strength, 32.0))


def sample_look(rng: np.random.Generator, strength: float = 1.0) -> Look:
    """Draw the random appearance of a scene.

    Strength 0 is the nominal look exactly, 1 what an episode uses, 2 the training range. The same
    state of the generator gives the same look.

    Raises:
        ValueError: strength is not in [0, 3].
    """
    if not 0.0 <= strength <= 3.0:
        raise ValueError(f'look strength {strength} is not in [0, 3]')
    nominal = Look()
    s = strength
    tint = 0.06 * s
    wall, desk, pad = (_surface(rng, s, base) for base in (0.84, 0.62, 0.40))
    wall_end = tuple(_clip(v + _uniform(rng, 0.10 * s)) for v in wall)
    look = Look(
        azimuth_deg=_uniform(rng, 4.0 * s, 9.0),
        elevation_deg=_uniform(rng, 3.0 * s, 6.0),
        roll_deg=_uniform(rng, 0.8 * s, 2.0),
        shift_right=_uniform(rng, 0.015 * s, 0.035),
        shift_up=_uniform(rng, 0.015 * s, 0.035),
        zoom=1.0 + min(0.06 * s, 0.15) * float(rng.random()),
        light_azimuth_deg=nominal.light_azimuth_deg + _uniform(rng, 45.0 * s, 80.0),
        light_elevation_deg=nominal.light_elevation_deg + _uniform(rng, 12.0 * s, 22.0),
        light_rgb=_triple(_clip(1.0 - tint * float(rng.random())) for _ in range(3)),
        ambient=nominal.ambient + _uniform(rng, 0.06 * s, 0.12),
        diffuse=nominal.diffuse + _uniform(rng, 0.06 * s, 0.12),
        specular=min(0.10 * s, 0.25) * float(rng.random()),
        shadow=_clip(nominal.shadow + _uniform(rng, 0.15 * s, 0.3)),
        block_rgb=tuple(_triple(_clip(v + _uniform(rng, 0.025 * s, 0.06)) for v in rgb)
                        for rgb in nominal.block_rgb),
        placements=tuple(sample_placement(rng, s) for _ in COLOURS),
        backdrop_top_rgb=_mix(nominal.backdrop_top_rgb, wall, s),
        backdrop_bottom_rgb=_mix(nominal.backdrop_bottom_rgb, _triple(wall_end), s),
        table_rgb=_mix(nominal.table_rgb, desk, s),
        pad_rgb=_mix(nominal.pad_rgb, pad, s),
        mark_rgb=_triple(_clip(v + _uniform(rng, 0.08 * s)) for v in nominal.mark_rgb),
        plate_rgb=_triple(_clip(v - min(0.08 * s, 0.2) * float(rng.random()))
                          for v in nominal.plate_rgb),
        ink_rgb=_triple(_clip(v + min(0.08 * s, 0.2) * float(rng.random()))
                        for v in nominal.ink_rgb),
        texture=min(0.04 * s, 0.12) * float(rng.random()),
        texture_seed=int(rng.integers(2**31)),
        gain=1.0 + _uniform(rng, 0.06 * s, 0.15),
        noise=min(1.5 * s, 5.0) * float(rng.random()),
        blur_px=max(0.0, s - 1.0) * 0.7 * float(rng.random()),
    )
    return nominal if s == 0.0 else look


def _uniform(rng: np.random.Generator, spread: float, limit: float = math.inf) -> float:
    spread = min(spread, limit)
    return float(rng.uniform(-1.0, 1.0)) * spread


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _triple(values: Iterable[float]) -> Rgb:
    red, green, blue = values
    return (red, green, blue)


def _surface(rng: np.random.Generator, strength: float, base: float) -> Rgb:
    """A muted colour of any hue: saturation stays far below that of the blocks."""
    value = _clip(base + _uniform(rng, 0.12 * strength, 0.3))
    saturation = min(0.18 * strength, 0.35) * float(rng.random())
    hue = float(rng.random())
    channels = (value * (1 - saturation * (0.5 + 0.5 * math.cos(2 * math.pi * (hue + k / 3))))
                for k in range(3))
    return _triple(channels)


def _mix(nominal: Rgb, drawn: Rgb, strength: float) -> Rgb:
    weight = min(1.0, strength)
    return _triple((1 - weight) * a + weight * b for a, b in zip(nominal, drawn, strict=True))
