"""Bodies of a home, and the physics of released things: the only user of Bullet.

A body is held as oriented boxes, ellipsoids and cylinders in numpy arrays, from which extents,
regions and footprints follow exactly; PyBullet answers rays, contacts and penetrations, and moves
what falls. Nothing moves by itself: a thing has mass only while it settles. Leaves and drawers
are moved along their joints, not by forces, so that their openings are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError
from sightplan_sim.bullet import Bullet
from sightplan_sim.closing import Closing
from sightplan_sim.household.rotations import Floats, euler, joint_frame, matrix, quaternion, turn
from sightplan_sim.household.shapes import BASE, Home, Model, Part, Placed, Region, Vec3

FLOOR = 'the ground'
"""Name of the ground under everything; with a space, so that no PDDL object is called that."""

CONTACT_M = 0.003
"""Largest distance of two bodies that touch each other [m]."""

OVERLAP_M = 0.004
"""Largest depth by which bodies in contact may overlap [m]; at rest it is about a millimetre."""

_STEP_S = 1 / 240
_SETTLE_S = 8.0
_STILL_M_S, _STILL_RAD_S = 0.008, 0.15
_PARKED_M = -30.0
_CORNERS = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)])


@dataclass(frozen=True, eq=False)
class Box:
    """An oriented box in the home's frame.

    Attributes:
        centre: (3,) [m].
        rotation: (3, 3), its axes are the columns.
        half: (3,) half extents along its axes [m]; a surface has no height.
        link: index of the body's link it moves with.
    """

    centre: Floats
    rotation: Floats
    half: Floats
    link: int = BASE

    def local(self, points: Floats) -> Floats:
        """(..., 3) points of the home in the box's frame."""
        return np.asarray((points - self.centre) @ self.rotation)

    def point(self, local: Floats) -> Floats:
        """(..., 3) points of the box's frame in the home's."""
        return np.asarray(local @ self.rotation.T + self.centre)

    def floor(self) -> Box:
        """Bottom of the box, as a box without height."""
        return Box(self.point(np.array([0.0, 0.0, -self.half[2]])), self.rotation,
                   np.array([self.half[0], self.half[1], 0.0]), self.link)

    def contains(self, point: Floats, margin: float = 0.0) -> bool:
        """Whether a point is in it, or at most ``margin`` outside [m]."""
        return bool((np.abs(self.local(point)) <= self.half + margin).all())


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Poses and openings at one moment, for ``Scene.restore``."""

    poses: Mapping[str, tuple[Floats, Floats]]
    openings: Mapping[str, tuple[float, ...]]
    parked: frozenset[str]


class _Body:
    """A placed model: its links' bodies in Bullet, and its parts in the home's frame."""

    def __init__(self, placed: Placed, thing: bool) -> None:
        self.name = placed.name
        self.model: Model = placed.model
        self.thing = thing
        self.links = [[part for part in link.parts if part.solid] for link in placed.model.links]
        self.ids: list[int] = []  # id in Bullet of each link's body; -1 for a link without solids
        self.centres = [_centre(parts) for parts in self.links]
        self.position = np.array(placed.position, dtype=np.float64)
        self.rotation = turn(placed.yaw)
        self.openings = [placed.opening if link.joint else 0.0 for link in placed.model.links]
        self.parked = False
        parts = [(index, part) for index, own in enumerate(self.links) for part in own]
        self.link_of = np.array([index for index, _ in parts], dtype=np.int64)
        self._local_centre = np.array([part.position for _, part in parts]).reshape(-1, 3)
        self._local_turn = np.array([euler(part.rpy) for _, part in parts]).reshape(-1, 3, 3)
        self.half = np.array([part.size for _, part in parts]).reshape(-1, 3) / 2
        self.round = np.array([_solid(part) == 'sphere' for _, part in parts], dtype=bool)
        self.barrel = np.array([_solid(part) == 'cylinder' for _, part in parts], dtype=bool)
        self.refresh()

    def refresh(self) -> None:
        """Reckon where its parts are."""
        frames = [self.frame(index) for index in range(len(self.links))]
        turns = np.array([rotation for _, rotation in frames])[self.link_of]
        origins = np.array([origin for origin, _ in frames])[self.link_of]
        self.part_turn = turns @ self._local_turn
        self.part_centre = origins + np.einsum('nij,nj->ni', turns, self._local_centre)
        spread = np.abs(self.part_turn) @ self.half[:, :, None]
        squares = np.square(self.part_turn * self.half[:, None, :])
        spread = spread[:, :, 0]
        spread[self.round] = np.sqrt(squares.sum(axis=2))[self.round]
        flat = np.sqrt(squares[:, :, :2].sum(axis=2)) + np.sqrt(squares[:, :, 2])
        spread[self.barrel] = flat[self.barrel]
        self.part_low, self.part_high = self.part_centre - spread, self.part_centre + spread
        if len(spread):
            self.low, self.high = self.part_low.min(axis=0), self.part_high.max(axis=0)
        else:
            self.low = self.high = self.position

    def frame(self, link: int) -> tuple[Floats, Floats]:
        """Origin and rotation of a link's frame."""
        joint = self.model.links[link].joint
        if joint is None:
            return self.position, self.rotation
        origin, rotation = joint_frame(joint, self.openings[link])
        return self.position + self.rotation @ origin, self.rotation @ rotation


class Scene(Closing):
    """The home's bodies in a physics client of their own.

    Bodies are known by their names in the ``Home``. Positions are of a body's frame (middle of its
    footprint, at its bottom), in the home's frame [m].

    Attributes:
        version: another number whenever something may have moved.
    """

    def __init__(self) -> None:
        self._bullet = Bullet()
        self._bodies: dict[str, _Body] = {}
        self._names: dict[int, str] = {}
        self._movers: tuple[str, ...] = ()
        self.version = 0

    def close(self) -> None:
        """Give the client back; the scene cannot be used afterwards."""
        self._bullet.close()

    def build(self, home: Home) -> None:
        """Build a home in place of the last one.

        Raises:
            WorldError: two bodies have the same name.
        """
        bullet = self._bullet
        bullet.resetSimulation()
        bullet.setGravity(0, 0, -9.81)
        bullet.setPhysicsEngineParameter(
            fixedTimeStep=_STEP_S, numSolverIterations=30, deterministicOverlappingPairs=1)
        self._bodies, self._names = {}, {}
        ground = bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=[60.0, 60.0, 0.5])
        self._names[self._create(0.0, ground, (0.0, 0.0, -0.5))] = FLOOR
        fixed = (*home.structure, *home.decor, *home.furniture)
        for placed, thing in (*((p, False) for p in fixed), *((p, True) for p in home.things)):
            if placed.name in self._bodies or placed.name == FLOOR:
                raise WorldError(f'home: two bodies are called {placed.name!r}')
            body = _Body(placed, thing)
            self._bodies[placed.name] = body
            for parts, centre in zip(body.links, body.centres, strict=True):
                body.ids.append(self._make(parts, centre, placed.model.mass if thing else 0.0))
                self._names[body.ids[-1]] = placed.name
            self._put(body)
        self._names.pop(-1, None)
        self._movers = tuple(placed.name for placed in (*home.furniture, *home.things))

    # --- what there is ------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """All bodies but the ground: structure, decor, furniture, things."""
        return tuple(self._bodies)

    @property
    def things(self) -> tuple[str, ...]:
        """Names of the bodies that can be moved."""
        return tuple(name for name, body in self._bodies.items() if body.thing)

    @property
    def movers(self) -> tuple[str, ...]:
        """The problem's objects: furniture and things, without structure and decor."""
        return self._movers

    def frames(self, name: str) -> list[tuple[Floats, Floats]]:
        """Origin [m] and axes of each link's frame."""
        body = self._bodies[name]
        return [body.frame(link) for link in range(len(body.links))]

    @property
    def containers(self) -> tuple[str, ...]:
        """Names of the bodies that open and have room inside."""
        return tuple(name for name, body in self._bodies.items()
                     if body.model.cavities and body.model.openable)

    def model(self, name: str) -> Model:
        """Model of a body."""
        return self._bodies[name].model

    def position(self, name: str) -> Floats:
        """(3,) origin of a body's frame [m]."""
        return self._bodies[name].position.copy()

    def rotation(self, name: str) -> Floats:
        """(3, 3) axes of a body's frame, as columns."""
        return self._bodies[name].rotation.copy()

    def openings(self, name: str) -> tuple[float, ...]:
        """Fraction of its range for each link; 0 for links without a joint."""
        return tuple(self._bodies[name].openings)

    def aabb(self, name: str) -> tuple[Floats, Floats]:
        """Lowest and highest corner of a body's solid parts, leaves and drawers included [m]."""
        body = self._bodies[name]
        return body.low, body.high

    def base_aabb(self, name: str) -> tuple[Floats, Floats]:
        """Lowest and highest corner of a body's base, without leaves and drawers [m]."""
        body = self._bodies[name]
        own = body.link_of == BASE
        if not body.model.openable or not own.any():
            return body.low, body.high
        return body.part_low[own].min(axis=0), body.part_high[own].max(axis=0)

    def centre(self, name: str) -> Floats:
        """(3,) middle of the ``aabb`` [m]."""
        body = self._bodies[name]
        return np.asarray((body.low + body.high) / 2)

    def surfaces(self, name: str) -> list[Box]:
        """Regions of a body onto which things can be put; preferred ones first."""
        return self._regions(name, self._bodies[name].model.surfaces)

    def cavities(self, name: str) -> list[Box]:
        """The room inside a container."""
        return self._regions(name, self._bodies[name].model.cavities)

    def box(self, name: str, links: Sequence[int] | None = None) -> Box:
        """The solid parts of a body, or of some of its links, in one box along its own axes."""
        body = self._bodies[name]
        chosen = np.ones(len(body.half), dtype=bool) if links is None \
            else np.isin(body.link_of, links)
        local = (body.part_centre[chosen] - body.position) @ body.rotation
        turns = body.rotation.T @ body.part_turn[chosen]
        spread = (np.abs(turns) @ body.half[chosen, :, None])[:, :, 0]
        if not len(local):
            local = spread = np.zeros((1, 3))
        low, high = (local - spread).min(axis=0), (local + spread).max(axis=0)
        return Box(body.position + body.rotation @ ((low + high) / 2), body.rotation,
                   (high - low) / 2)

    # --- moving -------------------------------------------------------------------------------

    def move(self, name: str, position: Floats | Vec3, rotation: Floats | None = None) -> None:
        """Move a body's frame to a pose, at rest."""
        body = self._bodies[name]
        body.position = np.array(position, dtype=np.float64)
        if rotation is not None:
            body.rotation = rotation
        body.parked = False
        self._put(body)

    def park(self, name: str) -> None:
        """Take a thing out of the home's physics (the gripper has it) until it is moved."""
        body = self._bodies[name]
        body.parked = True
        self._put(body)

    def is_parked(self, name: str) -> bool:
        """Whether a thing is out of the home's physics: then it is nowhere in the home."""
        return self._bodies[name].parked

    def set_opening(self, name: str, link: int, opening: float,
                    carried: Iterable[str] = ()) -> None:
        """Move a link along its joint, and things with it.

        Args:
            name: of the body.
            link: index of a link with a joint.
            opening: fraction of the joint's range, in [0, 1].
            carried: things that keep their place on the link.
        """
        body = self._bodies[name]
        origin, rotation = body.frame(link)
        body.openings[link] = opening
        self._put(body)
        origin_after, rotation_after = body.frame(link)
        turned = rotation_after @ rotation.T
        for other in carried:
            moved = self._bodies[other]
            self.move(other, origin_after + turned @ (moved.position - origin),
                      turned @ moved.rotation)

    def snapshot(self) -> Snapshot:
        """Present poses of all movable things and openings of all containers."""
        return Snapshot(
            {name: (body.position, body.rotation) for name, body in self._bodies.items()
             if body.thing},
            {name: tuple(body.openings) for name, body in self._bodies.items()
             if body.model.openable},
            frozenset(name for name, body in self._bodies.items() if body.parked))

    def restore(self, snapshot: Snapshot) -> None:
        """Move everything back to where it was at a snapshot."""
        for name, openings in snapshot.openings.items():
            body = self._bodies[name]
            if tuple(body.openings) != openings:
                body.openings = list(openings)
                self._put(body)
        for name, (position, rotation) in snapshot.poses.items():
            body = self._bodies[name]
            parked = name in snapshot.parked
            if body.position is not position or body.rotation is not rotation \
                    or body.parked != parked:
                body.position, body.rotation, body.parked = position, rotation, parked
                self._put(body)

    def settle(self, names: Iterable[str], pushes: Mapping[str, Floats] | None = None) -> float:
        """Let things fall, roll and come to rest; all others stand still like walls.

        Args:
            names: things that may move.
            pushes: velocity of some of them at the start [m/s].

        Returns:
            Simulated time until all were at rest [s].
        """
        bullet = self._bullet
        free = [body for body in (self._bodies[name] for name in dict.fromkeys(names))
                if body.thing and not body.parked]
        for body in free:
            bullet.changeDynamics(body.ids[0], -1, mass=body.model.mass or 0.2)
            bullet.changeDynamics(body.ids[0], -1, activationState=bullet.ACTIVATION_STATE_WAKE_UP)
            velocity = [0.0, 0.0, 0.0] if pushes is None or body.name not in pushes \
                else pushes[body.name].tolist()
            bullet.resetBaseVelocity(body.ids[0], velocity, [0.0, 0.0, 0.0])
        passed, calm = 0.0, 0
        while free and passed < _SETTLE_S and calm < 3:
            for _ in range(12):
                bullet.stepSimulation()
            passed += 12 * _STEP_S
            calm = calm + 1 if all(self._still(body) for body in free) else 0
        for body in free:
            bullet.resetBaseVelocity(body.ids[0], [0.0] * 3, [0.0] * 3)
            bullet.changeDynamics(body.ids[0], -1, mass=0)
            centre, quaternion = bullet.getBasePositionAndOrientation(body.ids[0])
            body.rotation = matrix(quaternion)
            body.position = np.array(centre) - body.rotation @ body.centres[0]
            body.refresh()
            self.version += 1
        return passed

    # --- questions ----------------------------------------------------------------------------

    def touching(self, one: str, other: str) -> bool:
        """Whether two bodies come closer than ``CONTACT_M``."""
        return len(self.normals(one, other)) > 0

    def normals(self, one: str, other: str) -> Floats:
        """(N, 3) normals of two bodies' contacts, which point from the other to the first.

        (0, 0, 1) where the first stands on the other, level where they lean side by side. None
        where they do not touch (see ``touching``).
        """
        a, b = self._bodies[one], self._bodies[other]
        if (a.low > b.high + CONTACT_M).any() or (b.low > a.high + CONTACT_M).any():
            return np.zeros((0, 3))
        return np.array([point[7] for i in a.ids if i >= 0
                         for point in self._contacts(i, b, CONTACT_M)]).reshape(-1, 3)

    def near(self, name: str, within: float) -> list[str]:
        """Things whose bounding boxes are nearer than ``within`` [m] to a body's."""
        low, high = self.aabb(name)
        return [other.name for other in self._bodies.values()
                if other.thing and not other.parked and other.name != name
                and not (low > other.high + within).any()
                and not (other.low > high + within).any()]

    def overlaps(self, name: str, links: Sequence[int] | None = None, depth: float = OVERLAP_M,
                 ignore: Iterable[str] = ()) -> list[str]:
        """Bodies (and the ground) that some links of a body overlap by a depth [m].

        Without ``links``, all links of the body are checked.
        """
        body = self._bodies[name]
        own = [body.ids[i] for i in (range(len(body.ids)) if links is None else links)
               if body.ids[i] >= 0]
        skip = {name, *ignore}
        found = []
        if body.low[2] < -depth:
            found.append(FLOOR)
        for other in self._bodies.values():
            if other.name in skip or other.parked or (body.low > other.high).any() \
                    or (other.low > body.high).any():
                continue
            if any(point[8] < -depth for i in own for point in self._contacts(i, other, 0.0)):
                found.append(other.name)
        return found

    def first_hits(self, starts: Floats, ends: Floats, ignore: Iterable[str] = (),
                   passing: Iterable[tuple[str, int]] = ()) -> list[str]:
        """The first body on each segment, '' for none.

        A primitive that a segment starts in is not seen by it.

        Args:
            starts: (N, 3) [m].
            ends: (N, 3) [m].
            ignore: bodies that segments pass through.
            passing: single links (body, index) that they pass through.
        """
        found = [''] * len(starts)
        skip = {*ignore}
        links = {self._bodies[name].ids[link] for name, link in passing}
        rest, starts = list(range(len(starts))), starts.copy()
        while rest:
            hits = self._bullet.rayTestBatch(
                starts[rest].tolist(), ends[rest].tolist(), numThreads=1)
            again = []
            for ray, hit in zip(rest, hits, strict=True):
                found[ray] = self._names.get(hit[0], '')
                if found[ray] in skip or hit[0] in links:
                    found[ray] = ''
                    way = ends[ray] - starts[ray]
                    length = float(np.linalg.norm(way))
                    passed = hit[2] * length + 0.001
                    if passed < length:
                        starts[ray] = starts[ray] + way * (passed / length)
                        again.append(ray)
            rest = again
        return found

    def crossed(self, name: str, starts: Floats, ends: Floats) -> NDArray[np.bool_]:
        """(N,) whether segments (N, 3) to (N, 3) [m] meet a body, whatever else is in their way.

        Parts count as the boxes around them: the slab test.
        """
        body = self._bodies[name]
        if not len(body.half):
            return np.zeros(len(starts), dtype=bool)
        local = np.einsum('nmi,mij->nmj', starts[:, None] - body.part_centre[None], body.part_turn)
        along = np.einsum('ni,mij->nmj', ends - starts, body.part_turn)
        along = np.where(np.abs(along) < 1e-12, 1e-12, along)
        one, other = (-body.half - local) / along, (body.half - local) / along
        enter = np.minimum(one, other).max(axis=2)
        leave = np.maximum(one, other).min(axis=2)
        return np.asarray(((enter <= leave) & (leave >= 0.0) & (enter <= 1.0)).any(axis=1))

    def disc_meets(self, name: str, links: Iterable[int], points: Floats, radius: float,
                   low: float, high: float) -> NDArray[np.bool_]:
        """(N,) whether upright cylinders stand in some links of a body; see ``free_disc``.

        Args:
            name: of the body.
            links: indices of its links.
            points: (N, 2) axes of the cylinders [m].
            radius: theirs [m].
            low: height of their bottoms [m].
            high: height of their tops [m].
        """
        body = self._bodies[name]
        chosen = (np.isin(body.link_of, list(links)) & (body.part_high[:, 2] > low)
                  & (body.part_low[:, 2] < high))
        return _disc_meets(body, chosen, points, radius)

    def free_disc(self, points: Floats, radius: float, low: float, high: float,
                  ) -> NDArray[np.bool_]:
        """(N,) whether upright cylinders stand in no body.

        Args:
            points: (N, 2) their axes [m].
            radius: theirs [m].
            low: height of their bottoms [m].
            high: height of their tops [m].
        """
        free = np.ones(len(points), dtype=bool)
        for body in self._bodies.values():
            if body.parked or not len(body.half) or body.high[2] <= low or body.low[2] >= high:
                continue
            near = free & ((points + radius > body.low[:2]) & (points - radius < body.high[:2])
                           ).all(axis=1)
            if not near.any():
                continue
            tall = (body.part_high[:, 2] > low) & (body.part_low[:, 2] < high)
            free[near] &= ~_disc_meets(body, tall, points[near], radius)
        return free

    def footprints(self, low: float, high: float) -> list[tuple[str, Floats]]:
        """Rectangles on the floor where upright cylinders cannot stand, as in ``free_disc``.

        Args:
            low: height of their bottoms [m].
            high: height of their tops [m].

        Returns:
            for each solid part between these heights the name of its body, and the corners of
            a rectangle, (4, 2) in order [m]; a tilted part counts as the box around it.
        """
        found = []
        for body in self._bodies.values():
            if body.parked or not len(body.half):
                continue
            tall = (body.part_high[:, 2] > low) & (body.part_low[:, 2] < high)
            centre, half, axes = _flat_boxes(body, tall)
            corners = centre[:, None] + np.einsum('mij,mkj->mki', axes, half[:, None] * _CORNERS)
            found += [(body.name, rectangle) for rectangle in corners]
        return found

    # --- inside -------------------------------------------------------------------------------

    def _contacts(self, identity: int, other: _Body, within: float) -> Iterator[Any]:
        """Bullet's closest points of one of its bodies and all links of another body."""
        for index in other.ids:
            if index >= 0:
                yield from self._bullet.getClosestPoints(identity, index, within)

    def _regions(self, name: str, regions: Iterable[Region]) -> list[Box]:
        body = self._bodies[name]
        found = []
        for region in regions:
            origin, rotation = body.frame(region.link)
            found.append(Box(origin + rotation @ np.array(region.centre), rotation,
                             np.array(region.half), region.link))
        return found

    def _still(self, body: _Body) -> bool:
        linear, angular = self._bullet.getBaseVelocity(body.ids[0])
        return math.hypot(*linear) < _STILL_M_S and math.hypot(*angular) < _STILL_RAD_S

    def _put(self, body: _Body) -> None:
        """Bring Bullet's bodies to where a body is."""
        self.version += 1
        body.refresh()
        for link, identity in enumerate(body.ids):
            if identity < 0:
                continue
            origin, rotation = body.frame(link)
            centre = origin + rotation @ body.centres[link]
            if body.parked:
                centre = np.array([0.0, 0.0, _PARKED_M])
            self._bullet.resetBasePositionAndOrientation(
                identity, centre.tolist(), quaternion(rotation))

    def _create(self, mass: float, shape: int, position: Vec3) -> int:
        bullet = self._bullet
        identity: int = bullet.createMultiBody(mass, shape, -1, position, useMaximalCoordinates=1)
        bullet.changeDynamics(
            identity, -1, lateralFriction=0.7, spinningFriction=0.002, rollingFriction=0.001,
            restitution=0.0, linearDamping=0.04, angularDamping=0.2)
        return identity

    def _make(self, parts: Sequence[Part], centre: Floats, mass: float) -> int:
        """A body of a link's solid parts, around ``centre``; it has mass only while it settles."""
        if not parts:
            return -1
        bullet = self._bullet
        kinds = {'sphere': bullet.GEOM_SPHERE, 'cylinder': bullet.GEOM_CYLINDER}
        shape = bullet.createCollisionShapeArray(
            shapeTypes=[kinds.get(_solid(part), bullet.GEOM_BOX) for part in parts],
            halfExtents=[[extent / 2 for extent in part.size] for part in parts],
            radii=[part.size[0] / 2 for part in parts], lengths=[part.size[2] for part in parts],
            collisionFramePositions=[(np.array(part.position) - centre).tolist()
                                     for part in parts],
            collisionFrameOrientations=[quaternion(euler(part.rpy)) for part in parts])
        identity = self._create(mass, shape, (0.0, 0.0, _PARKED_M))
        if mass > 0:
            bullet.changeDynamics(identity, -1, mass=0)
        return identity


def _solid(part: Part) -> str:
    """Collision shape of a part: round meshes (bowls, plates) are cylinders, others boxes."""
    x, y, z = part.size
    if part.kind == 'box' or abs(x - y) > 0.02 * x:
        return 'box'
    if part.kind == 'sphere':
        return 'sphere' if abs(x - z) <= 0.02 * x else 'box'
    return 'cylinder'


def _centre(parts: Sequence[Part]) -> Floats:
    """Middle of some parts in their link's frame: where a body's mass is taken to be."""
    if not parts:
        return np.zeros(3)
    centres = np.array([part.position for part in parts])
    spread = np.array([np.abs(euler(part.rpy)) @ np.array(part.size) / 2 for part in parts])
    return np.asarray(((centres - spread).min(axis=0) + (centres + spread).max(axis=0)) / 2)


def _disc_meets(body: _Body, chosen: NDArray[np.bool_], points: Floats, radius: float,
                ) -> NDArray[np.bool_]:
    """(N,) whether discs meet the footprints of chosen parts."""
    centre, half, axes = _flat_boxes(body, chosen)
    offset = np.einsum('nmi,mij->nmj', points[:, None] - centre[None], axes)
    gap = np.maximum(np.abs(offset) - half, 0.0)
    return np.asarray((np.square(gap).sum(axis=2) < radius * radius).any(axis=1))


def _flat_boxes(body: _Body, chosen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Rectangles around chosen parts: centres (M, 2), half extents (M, 2), axes (M, 2, 2)."""
    centre, half = body.part_centre[chosen, :2], body.half[chosen, :2].copy()
    turns = body.part_turn[chosen]
    axes = turns[:, :2, :2].copy()
    tilted = np.abs(turns[:, 2, 2]) < 0.999
    axes[tilted] = np.eye(2)
    low, high = body.part_low[chosen, :2], body.part_high[chosen, :2]
    half[tilted] = (high - low)[tilted] / 2
    return centre, half, axes
