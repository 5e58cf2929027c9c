"""Values by which ``surface`` makes a height map, and ``seen`` finds things in it again.

Lengths are metres. Unless a field says where its value comes from it was tuned by hand on
simulated tables, as those of ``placement_values``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SurfaceLimits:
    """Limits with which points become the table, height maps and pieces."""

    tile_m: float = 0.03
    """Side of the boxes that represent the things on the table."""

    near_table_m: float = 0.03
    """Distance within which the table's points are before the table is fitted, ..."""

    on_plane_m: float = 0.004
    """... and after it: the noise of the depth."""

    least_table_px: int = 1000
    """Smallest number of the table's pixels."""

    gap_m: float = 0.006
    """Cells nearer than this, seen from above, are connected."""

    least_cells: int = 8
    """Smallest number of cells of a piece."""

    uppermost_m: float = 0.01
    """Points lower than this in their cell are below something."""

    reach_px: int = 14
    """Distance beside a thing at which a point still means it [px]."""


@dataclass(frozen=True, slots=True)
class SeenLimits:
    """Limits by which pictures show where things are, and whether one was moved."""

    unchanged_m: float = 0.010
    """Largest change of an unchanged cell's height; for low things it is smaller still."""

    still: float = 0.4
    """Fraction of a thing's cells; if more have not changed it is still there."""

    high: float = 0.5
    """Lower parts, as a fraction of a thing's height, may be what it stands on."""

    same: float = 0.7
    """A thing of which this fraction has not moved did not move at all."""

    flat_m: float = 0.010
    """Lower things may be hard to distinguish from the table in part."""

    around_cells: int = 3
    """Width of the ring around a thing that shows what it stood on."""

    upright: float = 1.3
    """Ratio of height to width from which a thing stands upright: cans and bottles, no balls."""

    top: float = 0.85
    """Fraction of a thing's height above which is its top."""

    touches_m: float = 0.014
    """Width of the surroundings that belong to a low thing; things are farther apart."""

    strayed_m: float = 0.10
    """Distance by which a failed grasp may have pushed a thing."""

    strayed_rgb: float = 60.0
    """Largest distance of the mean colours, of 0 to 255 each, of a thing that strayed."""

    least_part: float = 0.05
    """Smaller fractions of a box's content are noise."""


SURFACE, SEEN = SurfaceLimits(), SeenLimits()
"""The values that are used."""
