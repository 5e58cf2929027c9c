"""Solids of a table and allowed contacts, as the gate takes them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sightplan_arm.geometry import inverse, make_pose, rotation_from_rpy, transform
from sightplan_arm.hardware import Vector
from sightplan_arm.perception import Cube
from sightplan_arm.skills.clearance import Box, Obstacle
from sightplan_arm.skills.seen import Thing, base_m, footprint
from sightplan_arm.skills.surface import CELL_M
from sightplan_arm.surroundings import HAND, HELD, TABLE, Around, Solid, Touch

OVERLAP_M = 0.004
"""Largest overlap between a thing that is put down and its support; both are estimates."""

UNDER_M = 0.010
"""Height above a thing's lower side up to which another may end that it stands on."""

BESIDE_M = 0.015
"""Distance, seen from above, within which things were checked cell by cell."""

_CORNERS = np.array(list(itertools.product((-0.5, 0.5), repeat=3)))


def solids(things: Sequence[Obstacle], block_m: float) -> tuple[Solid, ...]:
    """Blocks and boxes on the table.

    Fingers keep clear of blocks; beside boxes, which are coarser than what they stand for, it has
    been seen to when the grasp was chosen.
    """
    found = []
    for number, thing in enumerate(things):
        if isinstance(thing, Box):
            x, y = thing.centre_m[:2]
            found.append(Solid.upright(f'what stands at x {x:.2f}, y {y:.2f} m ({number})',
                                       thing.centre_m, thing.size_m, thing.yaw_rad,
                                       fingers=False))
        else:
            found.append(block(thing, block_m))
    return tuple(found)


def block(cube: Cube, block_m: float) -> Solid:
    """A block as it is seen."""
    return Solid.upright(f'block {cube.name}', cube.centre_m, np.full(3, block_m), cube.yaw_rad)


def corners(solid: Solid) -> Vector:
    """(8, 3) of a solid, in the frame that it is given in."""
    return transform(solid.pose, _CORNERS * solid.size_m)


def in_hand(name: str, parts: Sequence[Solid], tip: Vector) -> Solid:
    """Join solids into one in the tip's frame.

    Args:
        name: of it.
        parts: in the table's frame.
        tip: (4, 4) pose of the tip around them.
    """
    return Solid.around(name, transform(inverse(tip), np.concatenate([
        corners(part) for part in parts])))


def thing_in_hand(thing: Thing, tip: Vector) -> Solid:
    """A seen thing, from its support to its top, as a solid in the tip's frame.

    Args:
        thing: as seen.
        tip: (4, 4) pose of the tip around it.
    """
    base = base_m(thing.surface, thing.cells)
    places, tops = footprint(thing)
    tops = np.maximum(np.nan_to_num(tops, nan=base), base + CELL_M)
    points = [np.column_stack([places + CELL_M * (np.array(side) - 0.5), heights])
              for side in itertools.product((0, 1), repeat=2)
              for heights in (np.full(len(tops), base), tops)]
    # Upright, and turned with the hand: it stands so, also between fingers that come from aside.
    across = tip[:3, 1]
    yaw = rotation_from_rpy((0.0, 0.0, math.atan2(across[1], across[0])))
    upright = Solid.around('the thing', np.concatenate(points) @ yaw)
    pose = make_pose(yaw @ upright.pose[:3, 3], yaw)
    return replace(upright, pose=inverse(tip) @ pose)


def on_table(held: Solid, tip: Vector) -> Solid:
    """The held solid in the table's frame."""
    return Solid(held.name, tip @ held.pose, held.size_m)


def put_down(held: Solid, tip: Vector, others: Sequence[Solid],
             overlap_m: float | None = OVERLAP_M) -> tuple[Touch, ...]:
    """Contacts that a thing may have when it goes straight down to its place.

    Args:
        held: in the tip's frame.
        tip: (4, 4) pose at its place.
        others: what stands on the table.
        overlap_m: see ``Touch``; None: of all that is under or close beside it, for all of that
            was looked at cell by cell when the place was chosen.
    """
    places = corners(on_table(held, tip))
    low, high = places.min(axis=0), places.max(axis=0)
    touches = [Touch(HELD, TABLE, OVERLAP_M)]
    beside = BESIDE_M if overlap_m is None else 0.0
    for other in others:
        at = corners(other)
        if ((at.min(axis=0)[:2] <= high[:2] + beside).all()
                and (at.max(axis=0)[:2] >= low[:2] - beside).all()
                and (overlap_m is None or at[:, 2].max() <= low[2] + UNDER_M)):
            touches.append(Touch(HELD, other, overlap_m))
    return tuple(touches)


def around_thing(others: Sequence[Solid], thing: Sequence[Solid]) -> Around:
    """Surroundings of a hand that closes around a thing or leaves it and alone may touch it."""
    return Around((*others, *thing),
                  touches=tuple(Touch(HAND, one, None) for one in thing))
