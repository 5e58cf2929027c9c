"""The robot: its station, camera and shoulder, and its visible gripper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sightplan_sim.household.rotations import Floats, turn
from sightplan_sim.household.shapes import Link, Model, Part, Placed, Rgb, Station, Vec3

GRIPPER = ('gripper rail', 'gripper left', 'gripper right')
"""Names of the bodies that show the gripper."""
_HAND = np.array([0.0, 0.29, 0.45])  # middle of what is held, in the optical frame [m]
_SHRINK = 0.3
_WIDEST_M = 0.22
_EMPTY_M = 0.05
_GREY: Rgb = (0.27, 0.28, 0.31)
_LIGHT: Rgb = (0.80, 0.81, 0.84)
_PAD: Rgb = (0.93, 0.50, 0.10)


@dataclass(frozen=True, slots=True)
class RobotBody:
    """Dimensions of the robot.

    Attributes:
        radius: of the upright cylinder that its base and trunk fill [m].
        height: of that cylinder [m].
        camera_height: of the camera over the floor [m].
        camera_forward: of the camera before the middle of the base [m].
        camera_left: of the camera to the left of it [m].
        tilt: how far the camera looks down [rad].
        shoulder_height: of the arm's first joint over the floor [m].
        reach: longest way from the shoulder (ViPlan: 1.5) [m].
    """

    radius: float = 0.28
    height: float = 1.3
    camera_height: float = 1.2
    camera_forward: float = 0.1
    camera_left: float = 0.0
    tilt: float = math.radians(20.0)
    shoulder_height: float = 0.85
    reach: float = 1.5


@dataclass(frozen=True, slots=True)
class Robot:
    """State of the robot.

    Attributes:
        body: its measures.
        station: where it stands.
        held: name of the thing in the gripper, '' for none.
        zone: what the arm has been set up for (see ``predicates.reachable``).
    """

    body: RobotBody
    station: Station
    held: str = ''
    zone: frozenset[str] = field(default=frozenset())

    @property
    def shoulder(self) -> Floats:
        """(3,) the arm's first joint [m]."""
        return np.array([self.station.x, self.station.y, self.body.shoulder_height])

    @property
    def eye(self) -> Floats:
        """(3,) the camera [m]."""
        s, forward, left = self.station, self.body.camera_forward, self.body.camera_left
        c, sn = math.cos(s.yaw), math.sin(s.yaw)
        return np.array([s.x + forward * c - left * sn, s.y + forward * sn + left * c,
                         self.body.camera_height])

    @property
    def optical_axes(self) -> Floats:
        """(3, 3) x right, y down, z forward of the camera, as columns (REP 103)."""
        c, s = math.cos(self.station.yaw), math.sin(self.station.yaw)
        ct, st = math.cos(self.body.tilt), math.sin(self.body.tilt)
        right = np.array([s, -c, 0.0])
        forward = np.array([c * ct, s * ct, -st])
        return np.column_stack([right, np.cross(forward, right), forward])


# The gripper and what it holds are drawn shrunk towards the camera: from there they look the same
# as in full size, but lie before everything else, as a hand that reaches over a table does.


def held_name(thing: str) -> str:
    """Name of the body that shows a thing while it is held."""
    return f'held {thing}'


def gripper_bodies(things: Sequence[Placed]) -> tuple[Placed, ...]:
    """Bodies that are drawn besides the home: the gripper, and each thing as it is held."""
    def part(size: Vec3, at: Vec3, rgb: Rgb) -> Part:
        return Part('box', size, at, rgb, solid=False)
    rail = (part((0.36, 0.030, 0.040), (0.0, 0.425, 0.45), _GREY),
            part((0.36, 0.006, 0.041), (0.0, 0.412, 0.45), _LIGHT),
            part((0.090, 0.10, 0.070), (0.0, 0.485, 0.45), _GREY))
    finger = (part((0.018, 0.13, 0.034), (0.0, 0.35, 0.45), _LIGHT),
              part((0.020, 0.045, 0.036), (0.0, 0.282, 0.45), _PAD))
    made = [Placed(name, _shrunk(Model('gripper', (Link(parts),), (0.0, 0.0, 0.0)), _SHRINK),
                   (0.0, 0.0, 0.0))
            for name, parts in zip(GRIPPER, (rail, finger, finger), strict=True)]
    made += [Placed(held_name(placed.name), _shrunk(placed.model, _held_scale(placed.model)),
                    (0.0, 0.0, 0.0)) for placed in things]
    return tuple(made)


def gripper_poses(robot: Robot, model: Model | None) -> dict[str, tuple[Floats, Floats]]:
    """Present poses of the visible gripper bodies, by name: origin [m] and axes."""
    eye, axes = robot.eye, robot.optical_axes
    gap = _EMPTY_M
    found = {}
    if model is not None:
        scale = _held_scale(model)
        gap = min(model.size[0] * scale / _SHRINK, _WIDEST_M) / 2 + 0.009
        upright = turn(robot.station.yaw - math.pi / 2)  # its x axis points to the right
        middle = eye + axes @ (_HAND * _SHRINK)
        found[held_name(robot.held)] = (
            middle - upright @ np.array([0.0, 0.0, model.size[2] * scale / 2]), upright)
    found[GRIPPER[0]] = (eye, axes)
    for name, side in zip(GRIPPER[1:], (-1, 1), strict=True):
        found[name] = (eye + axes @ np.array([side * gap * _SHRINK, 0.0, 0.0]), axes)
    return found


def _held_scale(model: Model) -> float:
    """Scale of a held thing in the picture, smaller for one that would fill it."""
    return _SHRINK * min(1.0, _WIDEST_M / max(model.size))


def _shrunk(model: Model, scale: float) -> Model:
    def small(v: Vec3) -> Vec3:
        return (v[0] * scale, v[1] * scale, v[2] * scale)
    links = []
    for link in model.links:
        joint = link.joint and replace(link.joint, origin=small(link.joint.origin))
        links.append(Link(tuple(replace(part, size=small(part.size),
                                        position=small(part.position)) for part in link.parts),
                          joint))
    return Model(model.category, tuple(links), small(model.size))


__all__ = ['GRIPPER', 'Robot', 'RobotBody', 'gripper_bodies', 'gripper_poses', 'held_name']
