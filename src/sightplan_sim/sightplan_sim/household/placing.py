"""Samples of poses for a thing: on, in and beside other things, and on the floor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sightplan_sim.household.predicates import holders, supports
from sightplan_sim.household.robot import Robot
from sightplan_sim.household.rotations import Floats, turn
from sightplan_sim.household.scene import FLOOR, Box, Scene
from sightplan_sim.household.stations import Stations

SAMPLES = 60
"""Spots drawn for each surface, cavity or neighbourhood."""
DROP_M = 0.004
"""A thing is let go this far over where it is put."""
LOW_M = 0.1
"""On surfaces less than this far below the camera, or above it, things may be put near the
edge."""
OPEN_ENOUGH = 0.25
"""Opening, as a fraction, from which things can be put into a drawer."""
BESIDE_M = (0.012, 0.75)
"""Gap to a neighbour: least [m], and most as a fraction of the limit of being next to it."""


@dataclass(frozen=True, eq=False)
class Spot:
    """A pose for a thing: its frame's origin [m] and axes, and a name for where that is."""

    position: Floats
    rotation: Floats
    where: str


class Placing:
    """Samples poses for a thing, in the order in which to try them.

    Spots that are in sight and far from other things come first; none is deeper in something
    else than contact allows.
    """

    def __init__(self, scene: Scene, stations: Stations) -> None:
        self._scene = scene
        self._stations = stations

    def on(self, robot: Robot, thing: str, support: str, rng: np.random.Generator,
           ) -> Iterator[Spot]:
        """Spots upon a body: on its surfaces, or, if it has none, on its highest point."""
        scene = self._scene
        surfaces = scene.surfaces(support)
        if not surfaces:
            low, high = scene.aabb(support)
            half = np.append(0.2 * (high - low)[:2] / 2, 0.0)
            middle = (low + high) / 2
            surfaces = [Box(np.array([middle[0], middle[1], high[2]]), np.eye(3), half)]
        for surface in surfaces:
            yield from self._upon(robot, thing, surface, support, rng)

    def inside(self, robot: Robot, thing: str, container: str, rng: np.random.Generator,
               ) -> Iterator[Spot]:
        """Spots in the room inside a container; of drawers, only in those that are open."""
        scene = self._scene
        openings = scene.openings(container)
        rooms = [room for room in scene.cavities(container)
                 if room.link == 0 or openings[room.link] >= OPEN_ENOUGH]
        for room in rooms:
            yield from self._upon(robot, thing, room.floor(), container, rng, 2 * room.half[2])
        for room in rooms:  # no room on its floor: upon what lies there
            yield from self._heaped(robot, thing, room, container, rng)

    def beside(self, robot: Robot, thing: str, other: str, rng: np.random.Generator,
               ) -> Iterator[Spot]:
        """Spots next to a body, on its support or in its container."""
        scene = self._scene
        ground = self._ground(other)
        low, high = scene.base_aabb(other)
        spots = []
        for k in range(2 * SAMPLES):
            rotation = turn(rng.uniform(-math.pi, math.pi))
            offset, half = self._extent(thing, rotation)
            most = BESIDE_M[1] * self._near(thing, rotation, other)
            space = half[:2] + rng.uniform(BESIDE_M[0], max(most, BESIDE_M[0] + 0.004))
            axis, sign = k % 2, 1 if k % 4 < 2 else -1
            point = np.empty(3)
            point[axis] = (high[axis] + space[axis]) if sign > 0 else (low[axis] - space[axis])
            span = 0.3 * (high[1 - axis] - low[1 - axis]) / 2
            point[1 - axis] = (low + high)[1 - axis] / 2 + rng.uniform(-span, span)
            point[2] = ground.centre[2]
            local = np.abs(ground.local(point)[:2]) + np.minimum(half[:2], 0.1) <= ground.half[:2]
            if local.all():
                spots.append((point - (offset[0], offset[1], 0.0), rotation, point, half))
        yield from self._sorted(robot, thing, spots, other, rng)

    def floor(self, robot: Robot, thing: str, rng: np.random.Generator,
              distance: tuple[float, float] = (0.45, 1.0)) -> Iterator[Spot]:
        """Spots on the floor around the robot where it could come near."""
        spots = []
        for _ in range(2 * SAMPLES):
            rotation = turn(rng.uniform(-math.pi, math.pi))
            offset, half = self._extent(thing, rotation)
            angle = rng.uniform(-math.pi, math.pi)
            radius = rng.uniform(*distance) + float(np.hypot(*half[:2]))
            point = np.array([robot.station.x + radius * math.cos(angle),
                              robot.station.y + radius * math.sin(angle), 0.0])
            spots.append((point - (offset[0], offset[1], 0.0), rotation, point, half))
        points = np.array([spot[2][:2] for spot in spots])
        # A place where the robot could stand is in its reach.
        free = self._stations.free(robot, points)
        yield from self._sorted(robot, thing, [s for s, ok in zip(spots, free, strict=True) if ok],
                                FLOOR, rng)

    # --- inside -------------------------------------------------------------------------------

    def _extent(self, thing: str, rotation: Floats) -> tuple[Floats, Floats]:
        """Bounding box of a rotated thing: offset of its centre, and half its side lengths [m]."""
        scene = self._scene
        box = scene.box(thing)
        local = (box.centre - scene.position(thing)) @ box.rotation
        return rotation @ local, np.abs(rotation) @ box.half

    def _near(self, thing: str, rotation: Floats, other: str) -> float:
        _, half = self._extent(thing, rotation)
        low, high = self._scene.base_aabb(other)
        return float((2 * half + high - low).mean()) / 6

    def _upon(self, robot: Robot, thing: str, surface: Box, where: str,
              rng: np.random.Generator, height: float = math.inf) -> Iterator[Spot]:
        """Spots on a surface, or under a ceiling at ``height`` over it."""
        spots = []
        high = surface.centre[2] > robot.eye[2] - LOW_M
        for k in range(SAMPLES):
            yaw = rng.uniform(-math.pi, math.pi)
            if k % 2 or height < math.inf:  # a thing in line with the edges takes the least room
                yaw = round(yaw / (math.pi / 2)) * math.pi / 2 + rng.normal(0.0, 0.04)
            own = turn(yaw)
            rotation = surface.rotation @ own
            offset, half = self._extent(thing, own)
            room = surface.half[:2] - half[:2]
            if 2 * half[2] > height or (height < math.inf and (room < 0.002).any()):
                continue
            room = np.maximum(room, 0.0)
            spread = rng.uniform(-room, room)
            if high and k % 2:  # near the edge towards the robot
                spread = np.clip(surface.local(robot.eye)[:2] + 0.2 * spread, -room, room)
            local = np.append(spread, 0.0)
            point = surface.point(local)
            origin = surface.point(local - (offset[0], offset[1], 0.0))
            spots.append((origin, rotation, point, np.abs(surface.rotation) @ half))
        yield from self._sorted(robot, thing, spots, where, rng)

    def _heaped(self, robot: Robot, thing: str, room: Box, where: str,
                rng: np.random.Generator) -> Iterator[Spot]:
        """Spots on top of the things that a container holds already."""
        scene = self._scene
        inner = [other for other in scene.things if other not in (thing, robot.held)
                 and room.contains(scene.centre(other))]
        for other in sorted(inner, key=lambda name: float(scene.aabb(name)[1][2])):
            low, high = scene.aabb(other)
            top = np.array([*((low + high) / 2)[:2], high[2]])
            left = room.half[2] - float(room.local(top)[2])
            local = np.append(np.clip(room.local(top)[:2], -room.half[:2], room.half[:2]), 0.0)
            for yaw in rng.permutation(4) * math.pi / 2:
                own = turn(float(yaw))
                offset, half = self._extent(thing, own)
                space = room.half[:2] - half[:2]
                if (space < 0.0).any() or 2 * half[2] > left:
                    continue
                local[:2] = np.clip(local[:2], -space, space)
                origin = room.point(local - (offset[0], offset[1], 0.0))
                origin[2] = high[2] + DROP_M
                if self._fits(thing, origin, room.rotation @ own):
                    yield Spot(origin, room.rotation @ own, where)

    def _fits(self, thing: str, origin: Floats, rotation: Floats) -> bool:
        """Whether a thing at a spot would overlap no other body."""
        scene = self._scene
        snapshot = scene.snapshot()
        scene.move(thing, origin, rotation)
        bad = scene.overlaps(thing)
        scene.restore(snapshot)
        return not bad

    def _sorted(self, robot: Robot, thing: str,
                spots: list[tuple[Floats, Floats, Floats, Floats]], where: str,
                rng: np.random.Generator) -> Iterator[Spot]:
        """Spots (origin, rotation, middle of the foot, half extents) as they are to be tried."""
        if not spots:
            return
        scene = self._scene
        feet = np.array([spot[2] for spot in spots])
        halves = np.array([spot[3] for spot in spots])
        lows, highs = feet - halves, feet + halves
        lows[:, 2], highs[:, 2] = feet[:, 2] + 0.003, feet[:, 2] + 2 * halves[:, 2]
        here = np.array([robot.station.x, robot.station.y])
        keep = np.linalg.norm(np.maximum(np.abs(feet[:, :2] - here) - halves[:, :2], 0.0), axis=1
                              ) > robot.body.radius
        keep |= feet[:, 2] > robot.body.height
        crowd = np.zeros(len(spots))
        for other in scene.things:
            if other in (thing, where, robot.held):
                continue
            low, high = scene.aabb(other)
            apart = np.maximum(np.maximum(lows - high, low - highs), 0.0)
            gaps = np.linalg.norm(apart, axis=1)
            keep &= gaps > 0.0
            near = ((highs - lows) + (high - low)).mean(axis=1) / 6
            crowd += gaps < 1.15 * near
        middles = feet + np.array([0.0, 0.0, 1.0]) * halves
        hits = scene.first_hits(np.repeat(robot.eye[None], len(feet), axis=0), middles)
        hidden = np.array([hit not in ('', thing) for hit in hits])
        chance = rng.random(len(spots))
        order = sorted(np.flatnonzero(keep), key=lambda i: (hidden[i], crowd[i], chance[i]))
        for i in order:
            origin, rotation = spots[i][0] + (0.0, 0.0, DROP_M), spots[i][1]
            if self._fits(thing, origin, rotation):
                yield Spot(origin, rotation, where)

    def _ground(self, other: str) -> Box:
        """The floor, surface or cavity floor on which a body stands, as a box without height."""
        scene = self._scene
        low, high = scene.aabb(other)
        centre = (low + high) / 2
        for name in (*holders(scene, other), *supports(scene, other)):
            if name not in scene.names:
                continue
            for box in [*(room.floor() for room in scene.cavities(name)), *scene.surfaces(name)]:
                local = box.local(centre)
                if (np.abs(local[:2]) <= box.half[:2] + 0.02).all() \
                        and abs(box.centre[2] - low[2]) < 0.03:
                    return box
        return Box(np.array([centre[0], centre[1], 0.0]), np.eye(3), np.array([3.0, 3.0, 0.0]))


