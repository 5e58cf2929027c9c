"""Values by which ``drawers`` finds fronts and handles, and moves a drawer.

Lengths are metres, angles radians. Unless a field says where its value comes from it was tuned by
hand on simulated tables, as those of ``placement_values``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DrawerSight:
    """Sizes and distances by which fronts, tops and handles are recognized."""

    window_px: int = 2
    """Distance of the points on both sides of a pixel from which its normal is taken [px]."""

    jump_m: float = 0.03
    """Largest distance of these points for which a normal is computed: no edge is between."""

    upright: float = 0.55
    """Greatest vertical part of an upright face's unit normal."""

    on_front_m: float = 0.004
    """Distance from a front's plane within which points are on it: the noise of the depth."""

    least_px: int = 60
    """Smallest number of a front's pixels."""

    least_front_m: float = 0.05
    """Smallest width of a front."""

    rounds: int = 200
    """Number of random pairs of points through which a front's plane is laid."""

    handle_m: tuple[float, float] = (0.012, 0.075)
    """Least and greatest distance before a front in which its handle is."""

    least_handle_px: int = 10
    """Smallest number of a handle's pixels."""

    handle_px: int = 14
    """Length by which a handle may stick out of the box that marks the drawer [px]."""

    handle_at: float = 0.8
    """Fraction of a front, from its middle, within which a handle may be."""

    nearer: float = 0.05
    """Weight of a metre along the front against one of height, where several handles are seen."""

    bar_m: float = 0.005
    """Depth of a handle's bar behind its farthest points, where the fingers close."""

    level_m: float = 0.012
    """The cells of a cabinet's top are as high as each other to within this."""

    plate_m: float = 0.012
    """Thickness of a front."""

    gap_cells: int = 2
    """Number of missing cells from which a top ends."""

    reference_m: float = 0.02
    """Distance from where an open drawer's cabinet is expected within which its face is."""


@dataclass(frozen=True, slots=True)
class DrawerMotions:
    """Motions with which the hand takes a handle or pushes a front, and its distances."""

    tilts_rad: tuple[float, ...] = (0.35, 0.5, 0.2, 0.65, 0.8, 0.0)
    """Angles by which the fingers point towards the front, from straight down; tried in turn."""

    turns_rad: tuple[float, ...] = (0.0, math.pi)
    """Turns of the hand about its axis, tried in turn: the hand is alike both ways."""

    pushed_at: tuple[float, ...] = (0.0, 0.35, -0.35, 0.65, -0.65)
    """Places at which a front is pushed, as parts of half its width, from its middle."""

    before_m: float = 0.006
    """Distance from a front at which fingers begin to push."""

    spare_m: float = 0.012
    """Room on each side of a handle to which the fingers open, if they can."""

    retreat_m: float = 0.12
    """Distance along the fingers from which the hand comes, and to which it leaves."""

    piece_m: float = 0.012
    """Length of one step of moving a drawer."""

    room_m: float = 0.006
    """Room that is enough on the way to and from a handle."""

    least_m: float = 0.003
    """Room without which a path is not taken: the noise of the depth."""

    around_m: float = 0.30
    """Obstacles farther from a handle than this do not concern the hand."""

    low_m: float = 0.030
    """Lower obstacles do not concern the hand."""

    tile_m: float = 0.01
    """Size of the boxes that stand for obstacles: other fronts and handles are near."""


SIGHT, MOTIONS = DrawerSight(), DrawerMotions()
"""The values that are used."""
