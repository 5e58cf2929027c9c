"""Shapes of things in a home, as data: no simulator is imported here.

Frames: a body's frame has its origin in the middle of its footprint, on the floor (or on what it
stands on): x right, y backward, z up, seen by somebody in front of it. So the front, with doors
and drawers, faces -y. A link's frame is parallel to the body's while its joint is at 0 (closed)
and has its origin on the joint's axis. Lengths are metres, angles radians.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Vec3 = tuple[float, float, float]
Rgb = tuple[float, float, float]

BASE = 0
"""Index of the link that does not move."""


@dataclass(frozen=True, slots=True)
class Part:
    """One primitive of a link.

    Attributes:
        kind: ``box``, or a mesh that ``meshes`` makes: ``cylinder``, ``sphere``, ``cone``,
            ``bowl``, ``plate``, ``torus`` ...
        size: its extents along x, y, z before it is turned [m].
        position: of its centre in the link's frame [m].
        rgb: colour, sRGB in [0, 1].
        rpy: turned by roll, pitch, yaw (fixed axes x, y, z) [rad].
        solid: whether it collides; else it is only seen.
        seen: whether it is drawn; else it only collides.
    """

    kind: str
    size: Vec3
    position: Vec3
    rgb: Rgb
    rpy: Vec3 = (0.0, 0.0, 0.0)
    solid: bool = True
    seen: bool = True


@dataclass(frozen=True, slots=True)
class Joint:
    """Motion of a link against the base; a joint at 0 is closed.

    Attributes:
        kind: ``hinge`` or ``slide``.
        origin: of the link's frame in the body's frame [m].
        axis: unit vector; positive values open.
        upper: the range is [0, upper], rad or m.
    """

    kind: str
    origin: Vec3
    axis: Vec3
    upper: float


@dataclass(frozen=True, slots=True)
class Link:
    """Parts that move together; the joint is None for the base, which comes first."""

    parts: tuple[Part, ...]
    joint: Joint | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A box in a link's frame: a surface to stand on (no height), or room inside a container.

    Attributes:
        centre: of the box; of a surface, on it [m].
        half: half its extents; a surface's third is 0 [m].
        link: index of the link it moves with.
    """

    centre: Vec3
    half: Vec3
    link: int = BASE


@dataclass(frozen=True, slots=True)
class Model:
    """A piece of furniture, a fixture or a small thing, with its appearance.

    Attributes:
        category: for example ``cabinet`` or ``bowl``.
        links: the base first.
        size: extents of the whole when closed [m].
        surfaces: where other things can be put upon it, the preferred ones first.
        cavities: the room inside a container; none if it is no container for things.
        mass: kg; 0 for what does not move as a whole.
        in_wall: whether it sits in a wall (doors, windows): its body's y axis is then the wall's
            normal, pointing out of the room in whose list it stands.
        measured: extents of it that were worked out once.
    """

    category: str
    links: tuple[Link, ...]
    size: Vec3
    surfaces: tuple[Region, ...] = ()
    cavities: tuple[Region, ...] = ()
    mass: float = 0.0
    in_wall: bool = False
    measured: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def openable(self) -> bool:
        """Whether it has a joint."""
        return any(link.joint is not None for link in self.links)


@dataclass(frozen=True, slots=True)
class Placed:
    """A model at its place in a home.

    Attributes:
        name: of the PDDL object, or of something that is no object: ``wall 3``, ``sofa``.
        model: what it is.
        position: of the body's frame in the home's [m].
        yaw: of the body's frame in the home's, about z [rad].
        opening: fraction of the joints' range, in [0, 1].
        inside, ontop: name of what it is in or on at the start; '' for the floor.
    """

    name: str
    model: Model
    position: Vec3
    yaw: float = 0.0
    opening: float = 0.0
    inside: str = ''
    ontop: str = ''


@dataclass(frozen=True, slots=True)
class Room:
    """A rectangle of floor.

    Attributes:
        low, high: its corners (x, y) inside the walls [m].
        kind: kitchen, living room, bedroom, garage, office ...
    """

    low: tuple[float, float]
    high: tuple[float, float]
    kind: str


@dataclass(frozen=True, slots=True)
class Station:
    """Pose of the robot: middle of its base [m], heading about z [rad], 0 is along +x."""

    x: float
    y: float
    yaw: float


@dataclass(frozen=True, slots=True)
class Home:
    """A home for one problem.

    Attributes:
        rooms: one to three.
        structure: floors, walls, skirting; fixed, no PDDL objects.
        decor: what makes it a home and is no object of the problem; fixed.
        furniture: the problem's objects that stay where they are, named as in the problem.
        things: the problem's movable objects.
        start: where the robot begins; nothing is in reach there.
        light: direction the light comes from, in the home's frame.
        background: colour where nothing is drawn.
        seed: it was made from.
    """

    rooms: tuple[Room, ...]
    structure: tuple[Placed, ...]
    decor: tuple[Placed, ...]
    furniture: tuple[Placed, ...]
    things: tuple[Placed, ...]
    start: Station
    light: Vec3 = (0.4, -0.5, 0.9)
    background: Rgb = (0.93, 0.93, 0.92)
    seed: int = 0
