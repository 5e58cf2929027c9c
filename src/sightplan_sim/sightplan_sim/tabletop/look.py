"""Random appearance of a table: camera, light and surface."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sightplan_sim.pinhole import Floats, Pinhole, View
from sightplan_sim.tabletop.shapes import Rgb, Vec3

WIDTH, HEIGHT = 640, 480
_INSIDE = 0.94
"""Part of the half picture that all things stay in."""

SURFACES = ('plain', 'wood', 'planks', 'speckle', 'checks', 'stripes')
_TABLES: tuple[Rgb, ...] = (
    (0.76, 0.62, 0.46), (0.62, 0.45, 0.30), (0.86, 0.78, 0.66), (0.45, 0.32, 0.22),
    (0.82, 0.82, 0.80), (0.60, 0.61, 0.63), (0.34, 0.36, 0.39), (0.70, 0.76, 0.80),
    (0.80, 0.74, 0.70), (0.58, 0.66, 0.60))


@dataclass(frozen=True, slots=True)
class Look:
    """Appearance of a table in pictures.

    Attributes:
        azimuth_deg: where the camera stands: 0 is in front (at -y), positive to the right.
        elevation_deg: how far it looks down.
        roll_deg: how far it is tilted.
        fov_deg: vertical field of view.
        distance_m: from ``target``, which is in the middle of the picture.
        target: point of the table's frame.
        light_azimuth_deg, light_elevation_deg: where the light is, likewise.
        ambient, diffuse: weights of light from everywhere and from there.
        light_rgb: its colour.
        shadow: how dark shadows are, in [0, 1].
        shadow_px: how soft they are.
        surface: one of ``SURFACES``.
        table_rgb, second_rgb: its colours.
        pattern_m: size of its pattern.
        pattern_yaw: how the pattern is turned [rad].
        half_m: (x, y), half the size of the table's top.
        floor_rgb: colour around the table.
        gain: exposure.
        noise: of the sensor, standard deviation in grey values.
        blur_px: of the lens, standard deviation.
        seed: of everything random in the picture.
    """

    azimuth_deg: float
    elevation_deg: float
    roll_deg: float
    fov_deg: float
    distance_m: float
    target: Vec3
    light_azimuth_deg: float
    light_elevation_deg: float
    ambient: float
    diffuse: float
    light_rgb: Rgb
    shadow: float
    shadow_px: float
    surface: str
    table_rgb: Rgb
    second_rgb: Rgb
    pattern_m: float
    pattern_yaw: float
    half_m: tuple[float, float]
    floor_rgb: Rgb
    gain: float
    noise: float
    blur_px: float
    seed: int

    @property
    def light(self) -> Vec3:
        """Unit vector to the light."""
        a, e = math.radians(self.light_azimuth_deg), math.radians(self.light_elevation_deg)
        return math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e)

    def view(self) -> View[Pinhole]:
        """The camera; the frame is the table's."""
        axes = _axes(self.azimuth_deg, self.elevation_deg, self.roll_deg)
        position = np.array(self.target) - self.distance_m * axes[:, 2]
        return View(Pinhole(WIDTH, HEIGHT, self.fov_deg), position, axes)


def sample_look(rng: np.random.Generator, points: Floats) -> Look:
    """Draw a look that shows all given points.

    Args:
        rng: source of random numbers.
        points: (N, 3) of the table's frame.
    """
    def span(low: float, high: float) -> float:
        return float(rng.uniform(low, high))

    def tint(rgb: Sequence[float], by: float) -> Rgb:
        r, g, b = np.clip(np.array(rgb) * span(0.85, 1.1) + rng.uniform(-by, by, 3), 0.03, 1.0)
        return float(r), float(g), float(b)

    table = tint(_TABLES[int(rng.integers(len(_TABLES)))], 0.03)
    second = tint(table, 0.12) if rng.random() < 0.6 else tint((0.88, 0.87, 0.84), 0.05)
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    x, y, z = middle + rng.uniform(-0.03, 0.03, 3) * (1, 1, 0)
    warm = span(-0.05, 0.06)
    look = Look(
        azimuth_deg=span(-35, 35), elevation_deg=span(32, 60), roll_deg=float(rng.normal(0, 1.2)),
        fov_deg=span(36, 58), distance_m=0.6, target=(float(x), float(y), float(z)),
        light_azimuth_deg=span(-110, 110), light_elevation_deg=span(38, 75),
        ambient=span(0.46, 0.58), diffuse=span(0.38, 0.52),
        light_rgb=(1.0 + min(0.0, warm), 1.0, 1.0 - max(0.0, warm)), shadow=span(0.15, 0.55),
        shadow_px=span(1.5, 7.0), surface=SURFACES[int(rng.integers(len(SURFACES)))],
        table_rgb=table, second_rgb=second, pattern_m=span(0.03, 0.10),
        pattern_yaw=span(-math.pi, math.pi), half_m=(span(0.42, 0.60), span(0.33, 0.45)),
        floor_rgb=tint((span(0.25, 0.75),) * 3, 0.08), gain=span(0.88, 1.1),
        noise=span(0.0, 3.5), blur_px=max(0.0, span(-0.5, 0.7)),
        seed=int(rng.integers(2**31)))
    return fitted(look, points, span(0.82, 1.0))


def fitted(look: Look, points: Floats, fill: float = 1.0) -> Look:
    """The look with the camera as near as possible while it shows all points.

    Args:
        look: to be changed.
        points: (N, 3) of the table's frame.
        fill: part of the picture that they take up, at most 1.
    """
    middle = np.array([WIDTH - 1, HEIGHT - 1]) / 2
    for _ in range(25):
        pixels = look.view().project(points)
        local = look.view().to_optical(points)
        if (local[:, 2] <= 0.05).any():
            look = replace(look, distance_m=look.distance_m * 1.3)
            continue
        # A step of the target that centres the points, and one of the distance that fits them.
        shift = (pixels.min(axis=0) + pixels.max(axis=0)) / 2 - middle
        reach = float((np.ptp(pixels, axis=0) / 2 / (middle * _INSIDE * fill)).max())
        axes, scale = look.view().axes, look.distance_m / look.view().optics.focal_px
        x, y, z = np.array(look.target) + 0.7 * scale * (axes[:, :2] @ shift)
        look = replace(look, target=(float(x), float(y), float(z)),
                       distance_m=look.distance_m * (1 + 0.8 * (reach - 1)))
        if abs(reach - 1) < 0.01 and np.abs(shift).max() < 2:
            break
    return look


def _axes(azimuth_deg: float, elevation_deg: float, roll_deg: float) -> Floats:
    """(3, 3) right, down and forward axes of a camera as columns."""
    a, e, r = np.radians([azimuth_deg, elevation_deg, roll_deg])
    forward = np.array([-math.sin(a) * math.cos(e), math.cos(a) * math.cos(e), -math.sin(e)])
    right = np.array([math.cos(a), math.sin(a), 0.0])
    down = np.cross(forward, right)
    return np.stack([math.cos(r) * right + math.sin(r) * down,
                     math.cos(r) * down - math.sin(r) * right, forward], axis=1)
