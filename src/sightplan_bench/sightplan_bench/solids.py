"""Distances between the parts of an arm, by points on their surfaces.

Of its own: shapes are read from the URDF's XML and placed by transforms chained here, and a
distance is that of the nearest of some points of one shape from the other, in closed form. So it
is never less than the true one: what is too close here is too close.

Which pairs are compared is found here, too, and not asked of the gate: all links that a joint of
the arm moves against one another, but for those that one joint joins, those that are never farther
apart than ``TOUCHING_M`` in random postures, and those that the robot's file leaves out.
"""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sightplan_arm.config import RobotConfig
    from sightplan_arm.hardware import Vector

SPARSE_M = 0.01
"""Largest error of a distance, as points on the surfaces are this far apart [m]."""

TOUCHING_M = 0.005
"""Distance that two links must exceed in some posture to count as separable [m]."""

_POSTURES = 60
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


_Side = tuple[int, str, int, float, float, float]
"""Number of a shape; name, axis, sign towards the free side, and place of a side; margin."""


class Solids:
    """The collision shapes of an arm with open fingers: boxes and cylinders.

    Args:
        robot: its configuration.

    Attributes:
        pairs: names of what is compared: of two links, or of a link and the table or a side of the
            workspace box; a pair stands there once for each two shapes.
    """

    def __init__(self, robot: RobotConfig) -> None:
        root = ElementTree.parse(robot.urdf).getroot()  # noqa: S314 - the robot's own file
        self._robot = robot
        self._joints: dict[str, Any] = {_of(joint, 'child', 'link'): joint
                                        for joint in root.findall('joint')}
        self._columns = {name: column for column, name in enumerate(robot.arm.joints)}
        self._parts = [part for link in root.findall('link') for part in _parts(link)]
        base = self._place(robot.base_frame, np.zeros((1, len(robot.arm.joints))))[0]
        self._to_table = np.linalg.inv(base @ robot.table.pose)
        self._sides = [side for a, part in enumerate(self._parts)
                       for side in self._sides_of(a, part)]
        self._pairs: list[tuple[int, int, float]] = []
        for (a, one), (b, other) in itertools.combinations(enumerate(self._parts), 2):
            margin = self._margin(one.link, other.link, robot.safety.bodies.self_margin_m)
            if margin is not None and not self._are_joined(one.link, other.link):
                self._pairs.append((a, b, margin))
        self._leave_out_the_inseparable()

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Names of the compared pairs; see the class."""
        return [*((self._parts[a].link, self._parts[b].link) for a, b, _ in self._pairs),
                *((self._parts[a].link, name) for a, name, *_ in self._sides)]

    def _moved_by(self, link: str) -> frozenset[int]:
        """Numbers of the arm's joints that move a link."""
        found = set()
        while link in self._joints:
            joint = self._joints[link]
            column = self._columns.get(joint.get('name'))
            found |= set() if column is None else {column}
            link = _of(joint, 'parent', 'link')
        return frozenset(found)

    def _are_joined(self, link: str, other: str) -> bool:
        """Whether one joint of the URDF joins two links, or none of the arm moves them apart."""
        above = [_of(self._joints[one], 'parent', 'link') if one in self._joints else ''
                 for one in (link, other)]
        return above[0] == other or above[1] == link or (
            self._moved_by(link) == self._moved_by(other))

    def _is(self, link: str, name: str) -> bool:
        return link == name or (
            name == 'hand' and len(self._moved_by(link)) == len(self._columns))

    def _margin(self, link: str, other: str, default: float) -> float | None:
        """Distance to be kept from another link, or from ``table`` or ``box``; None: any."""
        for pair in self._robot.safety.bodies.pairs:
            if any(self._is(link, a) and self._is(other, b)
                   for a, b in itertools.permutations(pair.bodies)):
                return pair.margin_m
        return default

    def _sides_of(self, number: int, part: _Part) -> list[_Side]:
        """Sides that a shape is compared with."""
        safety = self._robot.safety
        found: list[_Side] = []
        if not self._moved_by(part.link):
            return []
        margin = self._margin(part.link, 'table', safety.bodies.table_margin_m)
        if margin is not None:
            found.append((number, 'the table', 2, 1.0, 0.0, margin))
        slides = self._joints[part.link].get('type') == 'prismatic'
        margin = self._margin(part.link, 'box', safety.bodies.box_margin_m)
        if margin is not None and (slides or part.link in safety.checked_frames):
            found += [(number, 'a side', axis, sign, float(where[axis]), margin)
                      for sign, where in ((1.0, safety.box_min_m), (-1.0, safety.box_max_m))
                      for axis in range(3) if (axis, sign) != (2, 1.0)]  # the bottom: the table
        return found

    def _leave_out_the_inseparable(self) -> None:
        arm = self._robot.arm
        q = np.random.default_rng(1).uniform(arm.lower, arm.upper, (_POSTURES, len(arm.joints)))
        apart: dict[tuple[str, str], Vector] = {}
        for a, b, _ in self._pairs:
            pair = self._parts[a].link, self._parts[b].link
            apart[pair] = np.minimum(apart.get(pair, np.inf), self._apart(a, b, q))
        self._pairs = [(a, b, margin) for a, b, margin in self._pairs
                       for of in [apart[self._parts[a].link, self._parts[b].link]]
                       if of.max() > TOUCHING_M]

    def _apart(self, a: int, b: int, q: Vector) -> Vector:
        """(K,) distances of two shapes in postures (K, N)."""
        one, other = self._parts[a], self._parts[b]
        poses = [self._place(part.link, q) @ part.pose for part in (one, other)]
        found = []
        both = zip((one, other), poses, strict=True)
        for (part, pose), (seen, there) in itertools.permutations(both, 2):
            points = seen.points @ np.swapaxes(there[:, :3, :3], 1, 2) + there[:, None, :3, 3]
            local = (points - pose[:, None, :3, 3]) @ pose[:, :3, :3]
            found.append(part.distances(local).min(axis=1))
        return np.asarray(np.minimum(*found))

    def room(self, q: Vector) -> float:
        """Smallest distance beyond the required one, in postures (K, N) [m]."""
        return float(self._rooms(q, math.inf, shrinking=True).min())

    def rooms(self, q: Vector, below_m: float = math.inf) -> Vector:
        """(P,) the same of each of ``pairs``, the least of all postures (K, N).

        Args:
            q: the postures.
            below_m: what is found to be more than this may be less than it is.
        """
        return self._rooms(q, below_m, shrinking=False)

    def _rooms(self, q: Vector, below_m: float, shrinking: bool) -> Vector:
        """Rooms as ``rooms`` returns them.

        ``shrinking`` skips pairs farther apart than the nearest.
        """
        places = {link: self._to_table @ self._place(link, q)
                  for link in {part.link for part in self._parts}}
        poses = [places[part.link] @ part.pose for part in self._parts]
        points = [part.points @ np.swapaxes(pose[:, :3, :3], 1, 2) + pose[:, None, :3, 3]
                  for part, pose in zip(self._parts, poses, strict=True)]
        middles = np.stack([pose[:, :3, 3] for pose in poses])
        radii = np.array([np.linalg.norm(part.points, axis=1).max() for part in self._parts])
        first, second = np.array([pair[:2] for pair in self._pairs], np.intp).T
        found = (np.linalg.norm(middles[first] - middles[second], axis=2).min(axis=1)
                 - radii[first] - radii[second] - np.array([pair[2] for pair in self._pairs]))
        for row in np.argsort(found):
            if found[row] >= below_m:  # the spheres around the rest are farther apart
                break
            a, b, margin = self._pairs[row]
            found[row] = min(float(self._parts[one].distances(
                (points[other] - poses[one][:, None, :3, 3]) @ poses[one][:, :3, :3]).min())
                for one, other in ((a, b), (b, a))) - margin
            below_m = min(below_m, found[row]) if shrinking else below_m
        sides = [float((sign * (points[a][..., axis] - where)).min()) - margin
                 for a, _, axis, sign, where, margin in self._sides]
        return np.concatenate([found, sides])

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
