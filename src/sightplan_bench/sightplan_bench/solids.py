"""How far the parts of an arm are from one another, by points on their surfaces.

Of its own: shapes are read from the URDF's XML and placed by transforms chained here, and a
distance is that of the nearest of some points of one shape from the other, in closed form. So it
is never less than the true one: what is too close here is too close.
"""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sightplan_arm.config import RobotConfig
    from sightplan_arm.hardware import Vector

SPARSE_M = 0.01
"""By so much may a distance be less than it seems between the points."""

_GRID = np.linspace(-1.0, 1.0, 5)
_TURN = 2.0 * math.pi * np.arange(16) / 16


@dataclass(frozen=True, eq=False)
class _Part:
    """A box (half extents) or a cylinder (radius, half length) of a link."""

    link: str
    pose: Vector
    half: Vector
    radius: float
    points: Vector

    def distances(self, points: Vector) -> Vector:
        """(K, V) of points (K, V, 3) in its own frame; negative inside."""
        if self.radius:
            away = np.stack([np.hypot(points[..., 0], points[..., 1]) - self.radius,
                             np.abs(points[..., 2]) - self.half[2]], axis=-1)
        else:
            away = np.abs(points) - self.half
        return np.asarray(np.linalg.norm(np.maximum(away, 0.0), axis=-1)
                          + np.minimum(away.max(axis=-1), 0.0))


class Solids:
    """The collision shapes of an arm with open fingers: boxes and cylinders.

    Args:
        robot: its configuration.
        margins: which bodies are compared, and how far they must be apart; the table and the sides
            of the workspace box by the names that the gate has for them.
    """

    def __init__(self, robot: RobotConfig, margins: Mapping[tuple[str, str], float]) -> None:
        root = ElementTree.parse(robot.urdf).getroot()  # noqa: S314 - the robot's own file
        self._robot = robot
        self._joints: dict[str, Any] = {_of(joint, 'child', 'link'): joint
                                        for joint in root.findall('joint')}
        self._columns = {name: column for column, name in enumerate(robot.arm.joints)}
        self._parts = [part for link in root.findall('link') for part in _parts(link)]
        self._pairs = [(a, b, margins[one.link, other.link])
                       for (a, one), (b, other) in itertools.permutations(
                           enumerate(self._parts), 2) if (one.link, other.link) in margins]
        self._sides = [(a, *_side(name), margin) for (link, name), margin in margins.items()
                       for a, part in enumerate(self._parts)
                       if part.link == link and name.startswith('the ')]
        base = self._place(robot.base_frame, np.zeros((1, len(robot.arm.joints))))[0]
        self._to_table = np.linalg.inv(base @ robot.table.pose)

    def room(self, q: Vector) -> float:
        """By how much the nearest two are farther apart than they must be, of postures (K, N)."""
        places = {link: self._to_table @ self._place(link, q)
                  for link in {part.link for part in self._parts}}
        poses = [places[part.link] @ part.pose for part in self._parts]
        points = [part.points @ np.swapaxes(pose[:, :3, :3], 1, 2) + pose[:, None, :3, 3]
                  for part, pose in zip(self._parts, poses, strict=True)]
        least = math.inf
        middles = np.stack([pose[:, :3, 3] for pose in poses])
        radii = np.array([np.linalg.norm(part.points, axis=1).max() for part in self._parts])
        first, second = np.array([pair[:2] for pair in self._pairs], np.intp).T
        bounds = (np.linalg.norm(middles[first] - middles[second], axis=2).min(axis=1)
                  - radii[first] - radii[second] - np.array([pair[2] for pair in self._pairs]))
        for row in np.argsort(bounds):
            if bounds[row] >= least:  # the spheres around the rest are farther apart
                break
            a, b, margin = self._pairs[row]
            for one, other in ((a, b), (b, a)):
                back = points[other] - poses[one][:, None, :3, 3]
                local = back @ poses[one][:, :3, :3]
                least = min(least, float(self._parts[one].distances(local).min()) - margin)
        for a, axis, sign, where, margin in self._sides:
            least = min(least, float((sign * (points[a][..., axis] - where)).min()) - margin)
        return least

    def _place(self, link: str, q: Vector) -> Vector:
        """(K, 4, 4) of a link in the root's frame."""
        if link not in self._joints:
            return np.repeat(np.eye(4)[None], len(q), axis=0)
        joint = self._joints[link]
        own = np.repeat(_origin(joint)[None], len(q), axis=0)
        axis = _numbers(_of(joint, 'axis', 'xyz', '1 0 0'))
        column = self._columns.get(joint.get('name'))
        if column is not None:
            own = own @ _turns(axis, q[:, column])
        elif joint.get('type') == 'prismatic':  # a finger, as far out as it goes
            own = own.copy()
            own[:, :3, 3] += own[0, :3, :3] @ axis * float(
                _of(joint, 'limit', 'upper'))
        return np.asarray(self._place(_of(joint, 'parent', 'link'), q) @ own)


def _parts(link: Any) -> list[_Part]:
    parts = []
    for shape in link.findall('collision'):
        for box in shape.iter('box'):
            half = 0.5 * _numbers(box.get('size'))
            grid = np.array(list(itertools.product(_GRID, repeat=3)))
            parts.append(_Part(link.get('name'), _origin(shape), half, 0.0,
                               half * grid[np.abs(grid).max(axis=1) == 1.0]))
        for cylinder in shape.iter('cylinder'):
            radius, half_m = float(cylinder.get('radius')), 0.5 * float(cylinder.get('length'))
            rims = [(radius * math.cos(t), radius * math.sin(t), half_m * z)
                    for t in _TURN for z in _GRID]
            parts.append(_Part(link.get('name'), _origin(shape), np.array([0.0, 0.0, half_m]),
                               radius, np.array([*rims, (0, 0, half_m), (0, 0, -half_m)])))
    return parts


def _side(name: str) -> tuple[int, float, float]:
    """Axis, sign towards the free side, and where: of a side by its name."""
    if name == 'the table':
        return 2, 1.0, 0.0
    _, _, axis, _, where, *_ = name.split()
    return 'xyz'.index(axis), 1.0 if name.endswith('(least)') else -1.0, float(where)


def _of(element: Any, tag: str, attribute: str, default: str = '') -> str:
    found = element.find(tag)
    return str(default if found is None else found.get(attribute, default))


def _numbers(text: Any) -> Vector:
    return np.array([float(word) for word in str(text).split()])


def _turns(axis: Vector, angles: Vector) -> Vector:
    """(K, 4, 4) turns about an axis, by Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    turns = np.repeat(np.eye(4)[None], len(angles), axis=0)
    turns[:, :3, :3] += (np.sin(angles)[:, None, None] * cross
                         + (1.0 - np.cos(angles))[:, None, None] * (cross @ cross))
    return turns


def _origin(element: Any) -> Vector:
    """(4, 4) of a joint or a shape in its parent: translation, yaw, pitch and roll."""
    origin = element.find('origin')
    pose = np.eye(4)
    if origin is None:
        return pose
    for axis, angle in zip(((0, 0, 1), (0, 1, 0), (1, 0, 0)),
                           _numbers(origin.get('rpy', '0 0 0'))[::-1], strict=True):
        pose = pose @ _turns(np.array(axis), np.array([angle]))[0]
    pose[:3, 3] = _numbers(origin.get('xyz', '0 0 0'))
    return pose
