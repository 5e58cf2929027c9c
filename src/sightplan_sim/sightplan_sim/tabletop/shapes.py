"""Shapes of things on a table, as data: no simulator is imported here.

Frames: a thing's frame has its origin in the middle of its footprint, on what it stands on: x
right, y backward, z up, seen by somebody in front of it. Handles of mugs point along +x, long
tools lie along x with their handle at -x, and the front of a chest faces -y. Lengths are metres,
angles radians, colours sRGB in [0, 1].
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Vec3 = tuple[float, float, float]
Rgb = tuple[float, float, float]
Points2 = tuple[tuple[float, float], ...]
Points3 = tuple[Vec3, ...]

BODY = 'body'
"""Name of the main part of most things; tools consist of handle and head instead."""


@dataclass(frozen=True, slots=True)
class Box:
    """A block.

    Attributes:
        size: its extents along x, y, z before it is turned.
        at: its centre.
        rpy: turned by roll, pitch, yaw (fixed axes).
    """

    size: Vec3
    at: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Turned:
    """A profile turned about its z axis.

    Attributes:
        profile: (radius, z) from the bottom outward and up; the solid is on its left.
        at: where the profile's origin is.
        rpy: turned by roll, pitch, yaw (fixed axes).
        stretch: factor along y before it is turned by ``rpy``.
        sides: number of faces around.
    """

    profile: Points2
    at: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)
    stretch: float = 1.0
    sides: int = 24


@dataclass(frozen=True, slots=True)
class Tube:
    """A bent bar along a path that lies in a plane.

    Attributes:
        path: two or more points.
        radii: half the thickness at each, within the plane of the path.
        across: unit vector perpendicular to that plane.
        flat: half the width along ``across``, as a multiple of the radius.
        closed: whether the last point is joined to the first.
    """

    path: Points3
    radii: tuple[float, ...]
    across: Vec3
    flat: float = 1.0
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Slab:
    """A convex outline with a thickness.

    Attributes:
        outline: (x, y), counter-clockwise.
        height: along z, from 0.
        at: where the outline's origin is.
        rpy: turned by roll, pitch, yaw (fixed axes).
    """

    outline: Points2
    height: float
    at: Vec3 = (0.0, 0.0, 0.0)
    rpy: Vec3 = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Hull:
    """The convex hull of some points; it collides and is not seen."""

    points: Points3


Primitive = Box | Turned | Tube | Slab | Hull


@dataclass(frozen=True, slots=True)
class Slide:
    """Motion of a part against the body along a line; 0 is closed.

    Attributes:
        axis: unit vector; positive values open.
        upper: the range is [0, upper].
        friction_n: force that moves it [N].
    """

    axis: Vec3
    upper: float
    friction_n: float = 0.6


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a thing that has a name and one colour.

    Attributes:
        name: what it is called in words, such as ``handle``. Several parts of a thing may share a
            name.
        rgb: its colour.
        seen: what is drawn.
        solid: what collides.
        mass_kg: of this part alone; 0 for what is only seen.
        parent: name of the part it belongs to and is fixed to; '' where it is fixed to the first
            part without belonging to it.
        slide: how it moves; None where it is fixed.
    """

    name: str
    rgb: Rgb
    seen: tuple[Primitive, ...]
    solid: tuple[Primitive, ...] = ()
    mass_kg: float = 0.0
    parent: str = ''
    slide: Slide | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """Floor on which a thing can hold others, round or rectangular.

    Attributes:
        half_x, half_y: half the floor's extents; the same for a round one.
        floor: its height.
        round: whether it is round.
    """

    half_x: float
    half_y: float
    floor: float
    round: bool


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing with its appearance.

    Attributes:
        category: such as ``mug``.
        colour: word for its colour.
        coloured: name of the part that has this colour; ``body`` for the thing as a whole.
        parts: the first carries the others; a parent comes before its parts.
        size: extents of the whole along x, y, z.
        room: where it can hold another thing; None if it cannot.
        parameters: what its shape was drawn from, by name, each in [0, 1].
        friction: of its surface.
    """

    category: str
    colour: str
    coloured: str
    parts: tuple[Part, ...]
    size: Vec3
    room: Room | None = None
    parameters: tuple[tuple[str, float], ...] = ()
    friction: float = 0.7

    def indices(self, name: str) -> Iterator[int]:
        """Indices of the parts of this name, and of all that belong to them."""
        names = {name}
        for index, part in enumerate(self.parts):
            if part.name in names or part.parent in names:
                names.add(part.name)
                yield index


@dataclass(frozen=True, slots=True)
class Pose:
    """Pose of a thing's frame: its origin, and a turn about z by yaw."""

    position: Vec3
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A thing at a pose.

    Attributes:
        name: unique on its table, such as ``mug 1``.
        thing: what it is.
        pose: of its frame in the table's.
        inside: name of the thing that holds it; '' for the table.
        opened: how far its parts that slide are out at first, by name [m]; the others are closed.
    """

    name: str
    thing: Thing
    pose: Pose
    inside: str = ''
    opened: tuple[tuple[str, float], ...] = ()
