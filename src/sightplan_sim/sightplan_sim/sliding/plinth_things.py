"""Pieces on plinths as things of a physics client, and the table on which their board lies."""

from __future__ import annotations

import math

from sightplan_arm.plinths import (
    HEIGHT_M,
    MASS_KG,
    PAINTS,
    PLINTH_RGB,
    WIDTH_M,
    PlinthPiece,
    plinth_outline,
)
from sightplan_sim.tabletop.look import Look
from sightplan_sim.tabletop.shapes import (
    Box,
    Part,
    Placed,
    Points2,
    Primitive,
    Slab,
    Thing,
    Turned,
)
from sightplan_sim.tabletop.table import Table
from sightplan_sim.tabletop.thing_parts import ball_profile

GEOM_KG = 0.008

_LOOK = Look(
    azimuth_deg=0.0, elevation_deg=55.0, roll_deg=0.0, fov_deg=45.0, distance_m=0.9,
    target=(0.0, 0.0, 0.0), light_azimuth_deg=30.0, light_elevation_deg=60.0, ambient=0.55,
    diffuse=0.45, light_rgb=(1.0, 1.0, 1.0), shadow=0.3, shadow_px=3.0, surface='plain',
    table_rgb=(0.82, 0.82, 0.80), second_rgb=(0.78, 0.78, 0.77), pattern_m=0.09, pattern_yaw=0.0,
    half_m=(0.60, 0.45), floor_rgb=(0.45, 0.45, 0.45), gain=1.0, noise=1.0, blur_px=0.0, seed=0)


def make_piece(piece: PlinthPiece) -> Thing:
    """A plinth with a geom on it; its frame is in the middle of the plinth's foot."""
    outline = tuple((float(x), float(y)) for x, y in plinth_outline())
    plinth, geom = Slab(outline, HEIGHT_M), _geom(piece)
    return Thing(piece.kind, piece.colour, 'geom', (
        Part('plinth', PLINTH_RGB, (plinth,), (plinth,), MASS_KG),
        Part('geom', PAINTS[piece.colour], (geom,), (geom,), GEOM_KG, 'plinth')),
        (WIDTH_M, WIDTH_M, HEIGHT_M + piece.tall_m))


def make_table(placed: tuple[Placed, ...], seed: int) -> Table:
    """A plain table with pieces on it.

    Args:
        placed: the pieces.
        seed: of the noise of its camera's depth.
    """
    return Table(seed, False, placed, _LOOK)


def _geom(piece: PlinthPiece) -> Primitive:
    half, tall = piece.half_m, piece.tall_m
    on_plinth = (0.0, 0.0, HEIGHT_M)
    if piece.kind == 'cube':
        return Box((2 * half, 2 * half, tall), (0.0, 0.0, HEIGHT_M + tall / 2))
    if piece.kind == 'prism':
        corners = [(half * math.cos(a), half * math.sin(a))
                   for a in (math.pi / 2 + 2 * math.pi / 3 * k for k in range(3))]
        return Slab(tuple(corners), tall, on_plinth)
    if piece.kind == 'pyramid':
        return Turned(((0.0, 0.0), (half * math.sqrt(2), 0.0), (0.0, tall)), on_plinth,
                      (0.0, 0.0, math.pi / 4), sides=4)
    profiles: dict[str, Points2] = {
        'cylinder': ((0.0, 0.0), (half, 0.0), (half, tall), (0.0, tall)),
        'cone': ((0.0, 0.0), (half, 0.0), (0.0, tall)),
        'sphere': ball_profile(half, 0.0, tall)}
    return Turned(profiles[piece.kind], on_plinth)
