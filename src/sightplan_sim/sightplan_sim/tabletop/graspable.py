"""Whether a gripper that opens 8 cm can lift a thing at all, by its shape alone."""

from __future__ import annotations

import cv2
import numpy as np

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.meshes import hulls_of
from sightplan_sim.tabletop.shapes import Thing, Tube

WIDEST_M = 0.07
"""Largest width of a piece that fits between the open fingers with some room [m]."""
MOST_OFF_M = 0.10
"""Largest distance of a grasped piece from the middle of mass: farther off, the thing tilts
[m]."""
LEAST_WALL_M = 0.035
"""Lowest vessel that can be taken by its wall."""
LEAST_HEIGHT_M = 0.010
"""Smallest height of a part's top from which it can be grasped from the table [m]."""


def is_graspable(thing: Thing) -> bool:
    """Whether a part of the thing fits between the fingers by which it can be lifted.

    Of a vessel that is its wall, if it is high enough. Of anything else it is a solid part, or a
    bar that belongs to one, at most ``WIDEST_M`` wide seen from above, which does not slide and is
    near enough to the middle of mass.
    """
    if {'opening', 'rim'} <= {part.name for part in thing.parts} or thing.room is not None:
        return thing.size[2] >= LEAST_WALL_M
    middle = _middle_of_mass(thing)
    sliding = {part.name for part in thing.parts if part.slide}
    for part in thing.parts:
        if not part.solid or part.name in sliding or part.parent in sliding:
            continue
        pieces = [(one,) for one in part.solid if isinstance(one, Tube)]
        for piece in (part.solid, *pieces):
            points = np.concatenate(hulls_of(piece))
            if (float(points[:, 2].max()) >= LEAST_HEIGHT_M and _width(points) <= WIDEST_M
                    and _away(points, middle) <= MOST_OFF_M):
                return True
    return False


def _middle_of_mass(thing: Thing) -> Floats:
    """(2,) seen from above, as if each part's mass were in the middle of its pieces."""
    solid = [part for part in thing.parts if part.solid and part.mass_kg > 0]
    middles = [np.concatenate(hulls_of(part.solid))[:, :2].mean(axis=0) for part in solid]
    return np.asarray(np.average(middles, axis=0, weights=[part.mass_kg for part in solid]))


def _width(points: Floats) -> float:
    """The narrower side of the smallest upright box around points."""
    _, sides, _ = cv2.minAreaRect(points[:, :2].astype(np.float32))
    return float(min(sides))


def _away(points: Floats, middle: Floats) -> float:
    """Distance of a piece from a point, seen from above."""
    outline = cv2.convexHull(points[:, :2].astype(np.float32))
    inside = cv2.pointPolygonTest(outline, (float(middle[0]), float(middle[1])), True)
    return max(0.0, -float(inside))
