"""Values that define a good place: costs, limits and motions of ``placing``.

Lengths are metres, angles radians. A cost of 0.01 weighs as much as a thing that comes to rest
0.03 m away from where somebody pointed. All values were tuned by hand on simulated tables
(``sightplan bench pointing`` and the tabletop problems), until things stayed where they were put;
a field says so where its value follows from something else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacementCosts:
    """Costs of a place; the place with the lowest sum is tried first."""

    per_m_off: float = 0.35
    """Cost for each metre between the pointed place and that where the thing comes to rest."""

    per_rad_turned: float = 0.003
    """Cost for each radian by which the hand is turned from how it took the thing."""

    per_m_over_edge: float = 2.0
    """Cost for each metre by which half the thing's width exceeds its distance from the edge."""

    per_m_above_floor: float = 4.0
    """Cost for each metre that the thing stands above the floor of its place: on other things."""

    per_m_uneven: float = 0.7
    """Cost for each metre by which the highest point below the thing exceeds the mean height."""

    free_unevenness_m: float = 0.003
    """Largest unevenness without a cost: the noise of the depth."""

    per_m_fall: float = 0.6
    """Cost for each metre that the thing falls because walls are in the way of the hand."""

    no_room_lying: float = 0.03
    """Cost if there is no room around a thing that lies: it may get jammed."""

    no_room_standing: float = 0.005
    """Cost if there is no room around a slender thing that stands."""

    per_rad_askew: float = 0.03
    """Cost for each radian between the sides of the thing and of its place: a turned thing needs
    more room."""

    crosswise: float = 0.02
    """Cost if a long thing lies across a long place, a quarter of a turn away from along it."""

    per_m_from_side: float = 0.5
    """Cost for each metre between the place and the side near which the user pointed."""

    leaning: float = 0.004
    """Cost if the hand leans."""


@dataclass(frozen=True, slots=True)
class PlacementLimits:
    """Sizes and distances by which places, walls and sides are recognized."""

    on_table_m: float = 0.05
    """Largest distance from the pointed place at which a thing may be put on the bare table."""

    beside_m: float = 0.008
    """Distance between a thing that is put down and the things beside it."""

    drop_m: float = 0.003
    """Height above its place at which a thing is let go."""

    fall_m: float = 0.12
    """The most that a thing may fall where walls are in the way of the hand."""

    tall_fall_m: float = 0.02
    """The most that a slender thing may fall: it tips over."""

    release_m: float = 0.04
    """Distance by which the fingers open to release a thing."""

    least_release_m: float = 0.006
    """Distance by which they open where things are too close for ``release_m``."""

    room_fractions: tuple[float, ...] = (1.0, 0.5, 0.0)
    """Fractions of the wanted room around thing and fingers that are tried, the best first."""

    floor_m: float = 0.008
    """Height above the floor's level up to which cells are the floor: it may slope."""

    below_floor_m: float = 0.004
    """Depth below the floor's level from which cells are beside it, as in the loop of a handle."""

    wall_m: float = 0.03
    """Height above a thing's floor from which cells are a wall of it."""

    high_m: float = 0.06
    """Height above the floor from which cells are not a wall, but a thing in the place."""

    finger_room_m: float = 0.004
    """Distance between fingers and a thing that stands in the place."""

    body_piece_m: float = 0.02
    """The hand's body is taken as pieces of this width where it leans."""

    body_room_m: float = 0.006
    """Distance between the hand's body and high things."""

    above_seen_m: float = 0.006
    """Distance between the hand and the things under it: twice the noise of the heights."""

    pointed_m: float = 0.045
    """Radius around a pointed place in which the floor of a bowl or drawer is searched for."""

    rectangle_fill: float = 0.87
    """Smallest fraction of its bounding rectangle that a shape with sides fills; a disc fills
    0.785."""

    long_ratio: float = 0.8
    """Largest ratio of width to length of a long shape."""

    near_side_m: float = 0.06
    """A place that is pointed at closer to a side than this is meant to be at that side ..."""

    off_middle: float = 0.4
    """... if it also is farther from the middle than this fraction of the way to the side."""

    slender: float = 4.0
    """Ratio of height to half the width from which a thing falls over easily."""

    round_ratio: float = 1.6
    """Largest ratio of width, height and grasped width at which a lying thing may lean."""

    leans_rad: tuple[float, ...] = (0.35, -0.35, 0.55, -0.55)
    """Angles by which the hand leans over walls, where a thing would fall more than
    ``lean_fall_m``."""

    lean_fall_m: float = 0.03
    """Largest fall of a thing without leaning."""

    lean_turns: int = 8
    """Number of turns of the hand, the best ones upright, that are tried leaning."""

    same_m: float = 0.015
    """Two places are about the same if the tip is closer than this ..."""

    same_rad: float = 0.3
    """... the hand's turn differs by less than this ..."""

    same_lean_rad: float = 0.1
    """... and its lean differs by less than this."""


@dataclass(frozen=True, slots=True)
class PlacementMotions:
    """Motions of carrying a thing to its place and lowering it."""

    lifts_m: tuple[float, ...] = (0.18, 0.28, 0.14, 0.10)
    """Heights above the place that are tried in turn; the largest is for tall things."""

    tilts_rad: tuple[float, ...] = (0.0, 0.25, -0.2)
    """Tilts of the hand away from the base that are tried in turn for lying things."""

    room_m: float = 0.005
    """Room that is kept on the way down."""

    least_room_m: float = 0.003
    """Room without which a pose of the hand is not tried: the noise of the depth."""

    tile_m: float = 0.008
    """Size of the boxes that stand for obstacles: walls of drawers and boxes are near."""

    below_body_m: float = 0.01
    """Depth below the hand's body, at its lowest, below which things are no obstacles."""

    beside_m: float = 0.03
    """Distance within which high things may be met on the way down."""

    felt_m: float = 0.018
    """The last of the way down, which is made in pieces so that a touch is felt early."""

    piece_m: float = 0.003
    """Length of a piece of the last part of the way down."""

    hangs_m: float = 0.10
    """Depth below the tip from which a hanging thing swings, and is carried more slowly."""

    slowest: float = 0.3
    """Smallest fraction of the speed at which a hanging thing is carried."""

    swing: float = 0.05
    """Distance by which a thing swings aside for each metre that it hangs below ``hangs_m``."""


COSTS, LIMITS, MOTIONS = PlacementCosts(), PlacementLimits(), PlacementMotions()
"""The values that are used."""
