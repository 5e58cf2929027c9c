"""Values by which ``grasps``, ``pointing`` and ``tabletop`` choose grasps and judge what happened.

Lengths are metres, angles radians. Unless a field says where its value comes from it was tuned by
hand on simulated tables, as those of ``placement_values``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraspLimits:
    """Costs and limits of a grasp from above."""

    per_m_off_balance: float = 6.0
    """Cost for each metre between a grasp and the middle of the thing."""

    per_m_off_pointed: float = 250.0
    """Cost for each metre between a grasp and the place that was pointed at."""

    over_m: float = 0.001
    """Cells not higher than this over a level count as below it."""

    foreign: float = 0.2
    """Largest fraction of the cells between the fingers that may not be the thing's."""

    easy_m: float = 0.008
    """Room on each side of a thing from which on a grasp is not tight."""

    margin_m: float = 0.14
    """Width of the surroundings of a thing that are looked at, for the hand."""

    spare_m: float = 0.009
    """The fingers open by this much more than the thing's width on each side, if they can."""

    least_spare_m: float = 0.0035
    """Least room on each side of the thing."""

    least_deep_m: float = 0.005
    """Least depth to which a grasp reaches down beside the thing."""

    palm_m: float = 0.004
    """Room between the hand's body and what is under it."""

    steep: float = 0.7
    """Greatest lean of the sides that are pressed, as a tangent."""

    most_taper: float = 0.9
    """Greatest growth of the width along the fingers, as a tangent: what tapers more slips out."""

    most_aside: float = 1.0
    """Greatest slant of the sides to the fingers, as a tangent: a thing turns between them until
    it is straight."""

    taper_rows: int = 3
    """Number of lines of cells on both sides of a finger's middle that tell how a thing tapers."""

    pad_rows: int = 2
    """Number of lines of cells on both sides of a finger's middle that it has to touch."""

    planned: int = 24
    """Largest number of proposals for which paths are planned."""

    alike_m: float = 0.012
    """Grasps that are closer than this and ..."""

    alike_rad: float = 0.3
    """... turned by less than this count as the same: a failed one is not tried again."""


@dataclass(frozen=True, slots=True)
class HoldingLimits:
    """Limits by which fingers, hand and a second picture tell whether a thing is held."""

    something_m: float = 0.0012
    """Fingers that are this far apart hold something."""

    inside_m: float = 0.001
    """Height of the fingers above the bottom of the workspace box, at their lowest."""

    misplaced_m: float = 0.04
    """A thing that stands farther than this from the end of its trace is misplaced."""

    touch_m: float = 0.0015
    """A hand that stays this much above where it goes down to, or whose fingers are pressed apart
    by it, has put the thing on something."""

    lag_m: float = 0.003
    """A hand that stays behind by this much is stopped by something."""

    thin_m: float = 0.022
    """What is no wider than this between the fingers, such as the wall of a cup, ..."""

    thin_force: float = 0.4
    """... is held with this fraction of the force."""

    open_fraction: float = 0.68
    """Fraction of its cabinet's depth by which a drawer is pulled out."""

    pulled: tuple[float, ...] = (0.85, 0.76)
    """Fractions of its way to which a drawer is pulled out if there is no room for all of it."""


@dataclass(frozen=True, slots=True)
class MeantThing:
    """The thing that a box in the picture means, and what has changed since the last picture."""

    least_px: int = 40
    """Smallest number of pixels of a thing in or on another."""

    beyond: float = 0.25
    """A piece of which more than this is outside of a box is more than what is meant."""

    above_m: float = 0.006
    """Things higher than their surroundings in a box by this stand on them."""

    bare: float = 0.1
    """Part of a box that shows the table, from which on it shows a thing on the table."""

    changed_m: float = 0.004
    """Growth of a cell's height that counts as changed."""

    changed_rgb: float = 40.0
    """Distance of a pixel's colours, of 0 to 255 each, that counts as changed."""

    changed_cells: int = 6
    """Number of changed cells from which on a place has changed, ..."""

    changed_px: int = 25
    """... or of changed pixels."""


GRASPS, HOLDING, MEANT = GraspLimits(), HoldingLimits(), MeantThing()
"""The values that are used."""
