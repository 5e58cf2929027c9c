"""Surroundings of an arm and content of its hand, as data for the gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sightplan.model import InputError, excerpt
from sightplan_arm.geometry import make_pose, rotation_from_rpy
from sightplan_arm.hardware import Vector

HAND, HELD, TABLE, SIDES, OBSTACLES = 'hand', 'held', 'table', 'box', 'obstacles'
"""Names that stand for several bodies: those on the last joint without the held thing, the held
thing, the table, the sides of the workspace box, and all obstacles."""


@dataclass(frozen=True, eq=False)
class Solid:
    """A box that is an obstacle or is held.

    Attributes:
        name: of it, for people only: several solids may have one name.
        pose: (4, 4) of its middle: in the table's frame, or, of what is held, in the tip's.
        size_m: (3,) its whole extents along its own axes.
        fingers: whether fingers keep clear of it, too. Not of boxes coarser than what was looked
            at when the grasp was chosen, such as tiles of a map of heights.

    Raises:
        InputError: its pose is not of finite numbers, or an extent is not more than 0.
    """

    name: str
    pose: Vector
    size_m: Vector
    fingers: bool = True

    def __post_init__(self) -> None:
        if np.shape(self.pose) != (4, 4) or not np.isfinite(self.pose).all():
            raise InputError(f'{self.name}: its pose is {excerpt(self.pose)}: give (4, 4) finite '
                             'numbers')
        size_m = np.asarray(self.size_m, dtype=np.float64)
        if size_m.shape != (3,) or not (np.isfinite(size_m) & (size_m > 0.0)).all():
            raise InputError(f'{self.name}: its size is {excerpt(self.size_m)} m: give three '
                             'finite numbers of more than 0')

    @classmethod
    def upright(cls, name: str, centre_m: Vector, size_m: Vector, yaw_rad: float = 0.0,
                fingers: bool = True) -> Solid:
        """A box that stands upright: middle (3,) and extents (3,) [m], and its turn about z."""
        return cls(name, make_pose(centre_m, rotation_from_rpy((0.0, 0.0, yaw_rad))),
                   np.asarray(size_m, dtype=np.float64), fingers)

    @classmethod
    def around(cls, name: str, points_m: Vector) -> Solid:
        """The least one along the axes of the frame that points (N, 3) are given in."""
        low, high = points_m.min(axis=0), points_m.max(axis=0)
        return cls(name, make_pose((low + high) / 2), high - low)


@dataclass(frozen=True)
class Touch:
    """Two bodies that may touch in a motion, because that is its purpose.

    Attributes:
        one, other: the very solid that is meant, as it stands among the obstacles or is held; the
            name of a link or of an obstacle in the robot's file; or one of the names above.
        overlap_m: how far their shapes may overlap, for both are estimates; None: they are not
            compared at all, as fingers with the thing that they close around.
    """

    one: str | Solid
    other: str | Solid
    overlap_m: float | None = 0.0


@dataclass(frozen=True, eq=False)
class Around:
    """Additional bodies that a motion is checked against.

    Attributes:
        obstacles: what stands there, in the table's frame.
        held: what will be in the hand, in the tip's frame; None: nothing. What the gate knows to
            be in the hand counts for more.
        opening_m: distance of the fingers; None: as far as they open.
        touches: which bodies may touch.
    """

    obstacles: tuple[Solid, ...] = ()
    held: Solid | None = None
    opening_m: float | None = None
    touches: tuple[Touch, ...] = ()


NOTHING = Around()
"""Empty surroundings: no obstacle, nothing held, no allowed contact, the hand open."""
