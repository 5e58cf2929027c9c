"""Sampling of stations where the robot can stand to see and reach something."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.household.predicates import contents, face_distance, is_open, supports
from sightplan_sim.household.robot import Robot
from sightplan_sim.household.rotations import Floats
from sightplan_sim.household.scene import Scene
from sightplan_sim.household.shapes import BASE, Home, Station

Ints = NDArray[np.int64]

STAGES = ((0.60, 0.90, 45.0), (0.50, 1.10, 60.0), (0.45, 1.25, 90.0), (0.40, 1.30, 180.0))
"""Ranges of distance [m] and of direction about the front [deg], tried one after the other; from
the reference, but distances are from the target's edge, and not from its middle."""
ROUNDS = 3
SAMPLES = 40
"""Number of samples in each stage, as in the reference."""
WELL_SEEN_RAD = math.radians(24.0)
"""Targets at most this far over or under the middle of the picture are well placed."""
ANKLE_M = 0.025
"""Lower things (rugs, thresholds) are no obstacle."""

_GRID = np.array([(x, y, z) for x in (-0.6, 0.6) for y in (-0.6, 0.6) for z in (-0.6, 0.6)]
                 + [(0.0, 0.0, 0.0), (0.0, 0.0, 0.8)])


@dataclass(frozen=True, slots=True)
class View:
    """Expected view from a station, before a picture is taken.

    Attributes:
        station: where the robot would stand.
        shown: fraction of the target's test points that are in sight.
        others: how many of the other wanted bodies are in sight.
    """

    station: Station
    shown: float
    others: int


class Stations:
    """Sampler of free places around a body, best ones first.

    Args:
        scene: the home's bodies.
        home: its rooms.
        half_fov: half the camera's field of view [rad].
    """

    def __init__(self, scene: Scene, home: Home, half_fov: float) -> None:
        self._scene = scene
        self._half_fov = half_fov
        self._low = np.array([room.low for room in home.rooms])
        self._high = np.array([room.high for room in home.rooms])

    def free(self, robot: Robot, points: Floats) -> NDArray[np.bool_]:
        """(N,) whether the robot can stand with its middle at points (N, 2) [m]."""
        within = (points[:, None] > self._low) & (points[:, None] < self._high)  # (N, rooms, 2)
        free = np.asarray(np.any(np.all(within, axis=2), axis=1))
        if free.any():
            free[free] = self._scene.free_disc(points[free], robot.body.radius, ANKLE_M,
                                               robot.body.height)
        return free

    def facing(self, robot: Robot, target: str, rng: np.random.Generator,
               near: float | None = None) -> Iterator[View]:
        """Free stations that face a target, in the order in which to try them.

        Only those at most ``near`` from where the robot stands now [m]; None: all.

        From where more of an open container's contents are in sight and within reach comes first.
        When all of a sample were tried, there is another one, at most ROUNDS.
        """
        for _ in range(ROUNDS):
            points, stages = self._around(target, rng)
            if near is not None:
                here = np.array([robot.station.x, robot.station.y])
                few = rng.uniform(-near, near, (SAMPLES, 2)) + here
                points = np.concatenate([points, few])
                stages = np.concatenate([stages, np.zeros(len(few), dtype=np.int64)])
                close = np.linalg.norm(points - here, axis=1) <= near
                points, stages = points[close], stages[close]
            kept = self.free(robot, points)
            if kept.any():
                yield from self._ranked(robot, target, points[kept], stages[kept], rng)

    def _ranked(self, robot: Robot, target: str, points: Floats, stages: Ints,
                rng: np.random.Generator) -> Iterator[View]:
        aim = self._scene.centre(target)
        yaws = np.arctan2(aim[1] - points[:, 1], aim[0] - points[:, 0])
        yaws += rng.normal(0.0, math.radians(2.5), len(points))
        views = self._views(robot, target, points, yaws)
        drop = robot.body.camera_height - aim[2]
        way = np.linalg.norm(points - aim[:2], axis=1)
        off = np.abs(np.arctan2(drop, way) - robot.body.tilt)
        cost = stages * 0.15 + np.maximum(off - WELL_SEEN_RAD, 0.0) * 3.0
        cost += rng.uniform(0.0, 0.15, len(points))
        order = sorted(range(len(points)), key=lambda i: (
            views[i].shown < 0.35, -views[i].others, cost[i] - 0.6 * views[i].shown))
        yield from (views[i] for i in order if views[i].shown > 0.0)

    def anywhere(self, robot: Robot, rng: np.random.Generator) -> Station | None:
        """Draw a free station at least a metre away from the robot; None if there is none."""
        areas = np.prod(self._high - self._low, axis=1)
        rooms = rng.choice(len(areas), size=80, p=areas / areas.sum())
        points = rng.uniform(self._low[rooms], self._high[rooms])
        here = np.array([robot.station.x, robot.station.y])
        points = points[np.linalg.norm(points - here, axis=1) > 1.0]
        for x, y in points[self.free(robot, points)]:
            return Station(float(x), float(y), float(rng.uniform(-math.pi, math.pi)))
        return None

    def _around(self, target: str, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Points around a target, and the stage of each."""
        scene = self._scene
        front = self._front(target)
        box = scene.box(target, (BASE,))  # open leaves reach far out, and are no target
        points, stages = [], []
        for number, (near, far, spread) in enumerate(STAGES):
            if front is None:
                angles = rng.uniform(-math.pi, math.pi, SAMPLES)
            else:
                angles = front + np.radians(rng.uniform(-spread, spread, SAMPLES))
            ways = np.column_stack([np.cos(angles), np.sin(angles)])
            local = np.abs(ways @ box.rotation[:2, :2])
            with np.errstate(divide='ignore'):
                edge = np.min(box.half[:2] / np.maximum(local, 1e-9), axis=1)
            radius = edge + rng.uniform(near, far, SAMPLES)
            points.append(box.centre[:2] + ways * radius[:, None])
            stages.append(np.full(SAMPLES, number))
        return np.concatenate(points), np.concatenate(stages)

    def _front(self, target: str) -> float | None:
        """Direction from which a target, or its holder, is meant to be seen [rad]."""
        scene = self._scene
        places = [target, *supports(scene, target)]
        for name in places:
            model = scene.model(name) if name in scene.names else None
            if model is not None and name not in scene.things and (
                    model.openable or model.in_wall or name != target):
                back = scene.rotation(name)[:, 1]
                return math.atan2(-back[1], -back[0])
        return None

    def _views(self, robot: Robot, target: str, points: Floats, yaws: Floats) -> list[View]:
        """Expected views from places, by rays from where the camera would be."""
        scene = self._scene
        others = [name for name in contents(scene, target, scene.things)
                  if name != robot.held] if is_open(scene, target) else []
        names = [target, *others]
        spots = [self._spots(name) for name in names]
        targets = np.concatenate(spots)
        owners = np.repeat(np.arange(len(names)), [len(own) for own in spots])
        found = []
        eyes, angles = [], []
        for point, yaw in zip(points, yaws, strict=True):
            there = replace(robot, station=Station(float(point[0]), float(point[1]), float(yaw)))
            local = (targets - there.eye) @ there.optical_axes
            limit = math.tan(self._half_fov * 0.97) * local[:, 2]
            within = (np.abs(local[:, :2]) < limit[:, None]).all(axis=1)
            angles.append((local[:, 2] > 0.1) & within)
            eyes.append(there.eye)
        n = len(targets)
        starts = np.repeat(np.array(eyes), n, axis=0)
        ends = np.tile(targets, (len(eyes), 1))
        hits = np.array(scene.first_hits(starts, starts + 0.998 * (ends - starts))
                        ).reshape(len(eyes), n)
        for row, (point, yaw) in enumerate(zip(points, yaws, strict=True)):
            clear = angles[row] & ((hits[row] == '')
                                   | (hits[row] == np.array(names)[owners]))
            seen = [float(clear[owners == k].mean()) for k in range(len(names))]
            station = Station(float(point[0]), float(point[1]), float(yaw))
            shoulder = replace(robot, station=station).shoulder
            found.append(View(station, seen[0], sum(
                fraction >= 0.3 and face_distance(scene, name, shoulder) < robot.body.reach
                for name, fraction in zip(others, seen[1:], strict=True))))
        return found

    def _spots(self, name: str) -> Floats:
        box = self._scene.box(name)
        return np.asarray(box.point(_GRID * box.half))

