"""Solids of the arm, the held thing and the surroundings, with proofs that they keep apart.

Links, hand and fingers are the collision shapes of the URDF (meshes count as their convex hulls),
what is held and what stands around are boxes, the table is all below its top, and the sides of the
workspace box are half-spaces. Every pair of bodies that the arm's joints can move against one
another is checked; what fingers that open or close run into is not.

**Nothing is jumped over.** Joints follow cubic splines; what is proven holds for all times between
two samples, by one of two bounds. Seen from body A, a body B moves by the joints between the two;
R_j bounds how far any of its points is from the axis of joint j, whatever the posture.

1. A point of B goes at most S = sum_j R_j V_j on a stretch, V_j being the total variation of joint
   j on it (exact: a cubic is monotonic between the zeros of its derivative). With distances d0 and
   d1 at its ends, at any time the distance is at least d0 - s and d1 - (S - s) for some s, so at
   least (d0 + d1 - S) / 2 (the bound of Schwarzer, Saha and Latombe, "Adaptive dynamic collision
   checking for single and multiple articulated robots in complex environments", IEEE Transactions
   on Robotics 21(3), 2005).
2. For a direction n fixed in A, the gap g(t) = min_{p in B} n p(t) - max_{a in A} n a is a lower
   bound of the distance (of its negative depth, where they overlap), for the plane across n
   separates them. Each point strays from the line between its two places at the ends of a stretch
   of h seconds by at most h^2 / 8 times its greatest acceleration, which is bounded by
   sum_j R_j |q''_j| + sum_jk R_max(j,k) |q'_j| |q'_k|; a minimum of lines lies above the line
   between the minima. So g >= min(g(0), g(h)) less that.

The second needs few samples where a body passes another closely, the first where they are far
apart; stretches for which neither suffices are cut in two. Directions come from coal (GJK and
EPA), but the proof does not rest on them: a wrong one only proves less.
"""

from __future__ import annotations

import functools
import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coal
import numpy as np
import pinocchio
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.config import BodiesConfig, RobotConfig
from sightplan_arm.geometry import inverse
from sightplan_arm.hardware import Vector
from sightplan_arm.surroundings import (
    HAND,
    HELD,
    NOTHING,
    OBSTACLES,
    SIDES,
    TABLE,
    Around,
    Solid,
    Touch,
)
from sightplan_arm.trajectories import Spline

if TYPE_CHECKING:
    from sightplan_arm.kinematics import Kinematics

LINK, FINGER = 'link', 'finger'
"""Kinds of bodies; ``surroundings`` names the others."""

RESOLUTION_M = 1e-4
"""Distance from its margin up to which a body may be refused although it keeps the margin [m]."""

BACK_M = 3e-4
"""Distance by which two bodies that were too close may approach on their way apart [m]."""

AWAY_M = 5e-4
"""Distance that they must have gained at the end, unless the margin is kept there [m]."""

MOST_SAMPLES = 200_000
"""Pairs at times, of one motion; more are needed only by motions that no arm makes."""

_POSTURES = 50  # number of postures by which joined bodies are found
_JOINED_M, _CONSTANT_M = 5e-4, 1e-3
_STRIDE = 8  # pieces of a spline that are first tried with one direction
_FAR_M = 0.2  # bodies that can be farther apart can keep any margin that can be configured
_NEAR_M = 0.05  # distance from which the balls around shapes are exact enough
_KEPT = 16  # surroundings that are kept ready

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Body:
    """A body that moves as one.

    Attributes:
        name: of a link, of an obstacle, of what is held, or of a side.
        kind: LINK, FINGER, OBSTACLES, HELD, TABLE or SIDES.
        joint: number of the arm's joint that it moves with, from 1; 0: it stands still.
        solid: of an obstacle or of what is held as the gate is told of it; None of what is always
            there, which is called by its name.
    """

    name: str
    kind: str
    joint: int
    solid: Solid | None = None

    def is_meant(self, which: str | Solid, last: int) -> bool:
        """Whether one side of a ``Touch`` or of a pair of the robot's file means this body.

        A name means what is always there, and never an obstacle that happens to have it.

        Args:
            which: a name, or the very solid.
            last: the number of the arm's last joint.
        """
        if isinstance(which, Solid):
            return which is self.solid
        return ((self.solid is None and which == self.name) or which == self.kind
                or (which == HAND and self.kind in (LINK, FINGER) and self.joint == last))

    @property
    def is_coarse(self) -> bool:
        """Whether it is an obstacle of which fingers need not keep clear."""
        return self.kind == OBSTACLES and self.solid is not None and not self.solid.fingers


@dataclass(frozen=True)
class Conflict:
    """Two bodies that come too close to one another.

    Attributes:
        one, other: the bodies.
        distance_m: of them; negative where they overlap.
        margin_m: that they must keep.
        time_s: at which they have that distance.
        leaving: whether they were too close already, and do not move apart.
    """

    one: Body
    other: Body
    distance_m: float
    margin_m: float
    time_s: float = 0.0
    leaving: bool = False


@dataclass(frozen=True, eq=False)
class _Shape:
    """A convex part of a body.

    Attributes:
        body: number of the body.
        joint: that it moves with; 0: none.
        pose: (4, 4) in the frame of that joint, or of the table.
        geometry: of coal; None: a side, which is a half-space along z of its frame.
        half, disc, ball: it is a box (3,), a disc across z and a ball, added up.
        hull: (V, 3) corners, in place of these.
        radius: of a ball around all of it.
    """

    body: int
    joint: int
    pose: Vector
    geometry: Any
    half: Vector
    disc: float = 0.0
    ball: float = 0.0
    hull: Vector | None = None

    @property
    def radius(self) -> float:
        """Radius of the smallest ball about the shape's origin that contains the shape [m]."""
        if self.hull is not None:
            return float(np.linalg.norm(self.hull, axis=1).max())
        return float(np.hypot(np.hypot(*(self.half[:2] + self.disc)), self.half[2])) + self.ball


class Bodies:
    """The solids of one arm; everything here may be used by several threads at once.

    Args:
        robot: its configuration.
        kinematics: of the robot.

    Attributes:
        links: the bodies that the URDF describes.
        joined: pairs of their names that are never compared: in every one of many random
            postures their shapes touch, or are as far apart as in all others, for they are
            neighbours that turn about one axis. Margins do not matter for this.
        skipped: pairs that the robot's file leaves out, and why.
        unknown: what has no shape although it moves, by the robot's file, and why.

    Raises:
        InputError: the shapes cannot be read; a part of the arm, the hand or a finger has none;
            or a pair has a margin that it keeps in no posture.
    """

    def __init__(self, robot: RobotConfig, kinematics: Kinematics) -> None:
        self._robot, self._kinematics = robot, kinematics
        self._config: BodiesConfig = robot.safety.bodies
        self._last = len(robot.arm.joints)
        self._boxed = set(robot.safety.checked_frames)
        self._read()
        self.unknown = self._without_shapes()
        self._scenes: dict[Any, _Scene] = {}
        self.joined: tuple[tuple[str, str], ...] = ()
        self.skipped = tuple((*pair.bodies, pair.why) for pair in self._config.pairs
                             if pair.margin_m is None)
        self.joined = self._find_joined()
        self._scenes.clear()

    # --- what is asked ------------------------------------------------------------------------

    def conflict(self, spline: Spline, around: Around = NOTHING) -> Conflict | None:
        """Two bodies that would come too close to one another in a motion; None: none do.

        Those that are too close at its beginning must move apart: their distance may not shrink
        by more than BACK_M, and must have grown at the end.

        Args:
            spline: of the joints.
            around: what is there besides the arm.
        """
        return _Motion(self._scene(around), self._kinematics, spline).conflict()

    def measured(self, q: Vector, slack_m: float = 0.0) -> tuple[Conflict | None, float]:
        """The pair of bodies that is the most closer than its margin less ``slack_m`` at (N,).

        What is held, and what the robot's file does not know of, is not looked at.

        Returns:
            the pair, None if there is none; and how far any point of the arm may go before there
            can be one [m].
        """
        scene = self._scene(NOTHING)
        poses = self._kinematics.joint_poses(q[None])
        room = scene.spheres(scene.places(poses), np.arange(len(scene.pairs)))[0]
        room -= scene.floor - slack_m
        near = np.nonzero(~(room >= _NEAR_M))[0]
        if not len(near):
            return None, float(room.min(initial=np.inf))
        gaps = scene.gaps(poses, np.zeros(len(near), np.intp), near)[0]
        room[near] = gaps - scene.floor[near] + slack_m
        worst = int(np.argmin(room))
        if room[worst] >= 0.0:
            return None, float(room[worst])
        return scene.conflict(worst, float(room[worst] + scene.floor[worst] - slack_m)), 0.0

    def goes_m(self, turned: Vector) -> float:
        """Upper bound on how far any point of the arm moves when joints turn by (N,) [rad]."""
        return float((np.abs(turned) @ self._scene(NOTHING).reaches.T).max())

    def distances(self, q: Vector, around: Around = NOTHING) -> dict[tuple[str, str], float]:
        """Distance of each compared pair of bodies at a posture (N,), by the pair's names [m]."""
        scene = self._scene(around)
        poses = self._kinematics.joint_poses(q[None])
        pairs = np.arange(len(scene.floor))
        gaps = scene.gaps(poses, np.zeros(len(pairs), np.intp), pairs)[0]
        found: dict[tuple[str, str], float] = {}
        for pair, gap in zip(pairs, gaps, strict=True):
            one, other = scene.names(int(pair))
            key = (one.name, other.name)
            found[key] = min(found.get(key, np.inf), float(gap))
        return found

    @property
    def whole(self) -> bool:
        """Whether bodies are compared at all, and every moving body has a shape."""
        return bool(len(self._scene(NOTHING).pairs)) and not self.unknown

    def margins(self, around: Around = NOTHING) -> dict[tuple[str, str], float]:
        """Distance that each compared pair of bodies must keep, by the pair's names [m]."""
        scene = self._scene(around)
        return {(one.name, other.name): float(floor) for (one, other), floor in zip(
            map(scene.names, range(len(scene.floor))), scene.floor, strict=True)}

    # --- inside: what there is ----------------------------------------------------------------

    def _read(self) -> None:
        robot = self._robot
        try:
            self._model = pinocchio.buildModelFromUrdf(str(robot.urdf))
            found = pinocchio.buildGeomFromUrdf(
                self._model, str(robot.urdf), pinocchio.GeometryType.COLLISION,
                package_dirs=_package_dirs(robot.urdf))
        except (ValueError, RuntimeError) as error:
            raise InputError(f'{robot.urdf}: its shapes cannot be read: {error}; give a URDF '
                             'whose collision shapes are primitives, or meshes that are there'
                             ) from error
        joints = [int(self._model.getJointId(name)) for name in robot.arm.joints]
        names = list(dict.fromkeys(str(self._model.frames[one.parentFrame].name)
                                   for one in found.geometryObjects))
        self._found = []
        moves: dict[str, tuple[int, bool]] = {}
        for one in found.geometryObjects:
            link = str(self._model.frames[one.parentFrame].name)
            above = [int(joint) for joint in self._model.supports[one.parentJoint]]
            number = max((k for k, joint in enumerate(joints, 1) if joint in above), default=0)
            moves[link] = (number, number == self._last and one.parentJoint != joints[-1])
            self._found.append((names.index(link), number, one))
        self._joints = joints
        self.links = tuple(Body(name, FINGER if moves[name][1] else LINK, moves[name][0])
                           for name in names)

    def _without_shapes(self) -> tuple[tuple[str, str], ...]:
        """Links that the robot's file lets go without a shape, with reasons; else an InputError.

        Links that have mass or looks need one, as does at least one of those that move as one: of
        all that hangs on the arm's joints, and of what leads from the base to the first of them.
        Frames, which have neither, need none.
        """
        robot, model = self._robot, self._model
        root = ElementTree.parse(robot.urdf).getroot()  # noqa: S314  the user's own
        shaped = {one.name for one in self.links}
        solid = {str(link.get('name')) for link in root.iter('link')
                 if link.find('visual') is not None or link.find('inertial/mass') is not None}
        groups: dict[int, list[str]] = {}
        chain = {robot.base_frame} | (self._above(robot.tip_frame)
                                      - self._above(robot.base_frame))
        for frame in model.frames:
            if frame.type != pinocchio.FrameType.BODY:
                continue
            moves = any(int(joint) in self._joints for joint in model.supports[frame.parentJoint])
            if moves or frame.name in chain:
                groups.setdefault(int(frame.parentJoint), []).append(str(frame.name))
        missing = []
        for names in groups.values():
            bare = [name for name in names if name not in shaped and name in solid]
            missing += bare or ([names[0]] if not shaped & set(names) else [])
        joints = {joint.get('name') for joint in root.iter('joint')}
        if (not any(link.kind == FINGER for link in self.links)
                and not joints & set(robot.gripper.joints)):
            missing.append(HAND)  # a URDF of the arm alone
        allowed = {one.link: one.why for one in self._config.without_shape}
        wrong = [name for name in missing if name not in allowed]
        if wrong:
            raise InputError(
                f'{robot.urdf}: {", ".join(wrong)}: no collision shape, so that nothing would be '
                'known of what runs into it: give a URDF that has one, or say why none is needed '
                f'in {robot.file} (safety.bodies.without_shape)')
        return tuple((name, allowed[name]) for name in missing)

    def _above(self, frame: str) -> set[str]:
        """Names of the links (and joints) that carry a link, and its own."""
        model, found = self._model, set()
        number = model.getFrameId(frame)
        while number:
            found.add(str(model.frames[number].name))
            number = model.frames[number].parentFrame
        return found

    def _link_shapes(self, opening_m: float | None) -> list[_Shape]:
        """The shapes of all links with the fingers ``opening_m`` apart."""
        q = _finger_positions(self._robot, self._model, opening_m)
        data = self._model.createData()
        pinocchio.forwardKinematics(self._model, data, q)
        shapes = []
        for body, number, one in self._found:
            pose = (data.oMi[one.parentJoint] * one.placement).homogeneous
            base = (self._kinematics.to_table if not number else
                    inverse(data.oMi[self._joints[number - 1]].homogeneous))
            shapes.append(_shape(body, number, base @ pose, one.geometry, str(self._robot.urdf)))
        return shapes

    def _scene(self, around: Around) -> _Scene:
        key = id(around)
        scene = self._scenes.get(key)
        if scene is None or scene.around is not around:
            if len(self._scenes) >= _KEPT:
                # The gate asks from several threads: a list is made of a dict at once.
                self._scenes = dict(list(self._scenes.items())[1:])
            scene = self._scenes[key] = self._make_scene(around)
        return scene

    def _make_scene(self, around: Around) -> _Scene:
        robot, bodies = self._robot, list(self.links)
        shapes = self._link_shapes(around.opening_m)
        always = self._config.solids
        for number, solid in enumerate((*always, *around.obstacles)):
            shapes.append(_box(len(bodies), 0, solid.pose, solid.size_m))
            bodies.append(Body(solid.name, OBSTACLES, 0, None if number < len(always) else solid))
        if around.held is not None:
            tip = self._model.frames[self._model.getFrameId(robot.tip_frame)].placement.homogeneous
            shapes.append(_box(len(bodies), self._last, tip @ around.held.pose,
                               around.held.size_m))
            bodies.append(Body(around.held.name, HELD, self._last, around.held))
        for name, kind, pose in _sides(robot):
            shapes.append(_Shape(len(bodies), 0, pose, None, np.zeros(3)))
            bodies.append(Body(name, kind, 0))
        named = {which for touch in around.touches for which in (touch.one, touch.other)}
        named.update(name for pair in self._config.pairs for name in pair.bodies)
        known: dict[Any, float | None] = {}
        pairs, floors = [], []
        moving = [number for number, shape in enumerate(shapes) if shape.joint]
        for b in moving:
            other = bodies[shapes[b].body]
            for a, shape in enumerate(shapes):
                if shape.joint >= shapes[b].joint:
                    continue
                one = bodies[shape.body]
                # Obstacles that nobody names are all alike.
                alike = one.kind == OBSTACLES and (one.solid or one.name) not in named
                key = (one.is_coarse if alike else shape.body, alike, shapes[b].body)
                if key not in known:
                    known[key] = self._floor(one, other, around.touches)
                floor = known[key]
                if floor is not None:
                    pairs.append((a, b))
                    floors.append(floor)
        return _Scene(around, tuple(bodies), shapes, np.array(pairs, np.intp).reshape(-1, 2),
                      np.array(floors), self._kinematics.chain)

    def _floor(self, one: Body, other: Body, touches: tuple[Touch, ...]) -> float | None:
        """The distance that two bodies keep, ``other`` being the one that moves; None: any."""
        if one.is_coarse and other.kind == FINGER:
            return None
        if one.kind == SIDES and other.kind == LINK and other.name not in self._boxed:
            return None
        if one.solid is None and other.solid is None and (
                (one.name, other.name) in self.joined or (other.name, one.name) in self.joined):
            return None

        def are(first: str | Solid, second: str | Solid) -> bool:
            return ((one.is_meant(first, self._last) and other.is_meant(second, self._last))
                    or (one.is_meant(second, self._last) and other.is_meant(first, self._last)))

        for touch in touches:
            if are(touch.one, touch.other):
                return None if touch.overlap_m is None else -touch.overlap_m
        for pair in self._config.pairs:
            if are(*pair.bodies):
                return pair.margin_m
        config = self._config
        if one.kind == SIDES:
            return config.box_margin_m
        if HELD in (one.kind, other.kind):
            return config.held_margin_m
        if one.kind == TABLE:
            return config.table_margin_m
        return config.obstacle_margin_m if one.kind == OBSTACLES else config.self_margin_m

    def _find_joined(self) -> tuple[tuple[str, str], ...]:
        arm, random = self._robot.arm, np.random.default_rng(0)
        scene = self._make_scene(NOTHING)
        pairs = np.array([k for k, (a, b) in enumerate(scene.pairs)
                          if {scene.bodies[scene.shapes[s].body].kind for s in (a, b)}
                          <= {LINK, FINGER}], np.intp)
        postures = np.stack([arm.park, arm.ready, *random.uniform(
            arm.lower, arm.upper, (_POSTURES, self._last))])
        poses = self._kinematics.joint_poses(postures)
        far = (scene.spheres(scene.places(poses), pairs) > _FAR_M).any(axis=0)
        parts: dict[tuple[str, str], list[int]] = {}
        for pair in pairs:
            one, other = scene.names(int(pair))
            parts.setdefault((one.name, other.name), []).append(int(pair))
        distant = set(pairs[far].tolist())

        def apart(of: list[int]) -> Vector:
            """(postures,) distances of the nearest of some shapes."""
            return np.asarray(np.min([scene.gaps(
                poses, np.arange(len(postures)), np.full(len(postures), pair, np.intp))[0]
                for pair in of], axis=0))

        joined = []
        for names, of in parts.items():
            near = [pair for pair in of if pair not in distant]
            if not near:
                continue
            nearest, margin_m = apart(of), float(scene.floor[of[0]])
            if nearest.max() < _JOINED_M or np.ptp(nearest) < _CONSTANT_M:
                joined.append(names)
            elif not nearest.max() >= margin_m:
                raise InputError(
                    f'{self._robot.file}: safety.bodies: {names[0]} and {names[1]} must keep '
                    f'{1e3 * margin_m:g} mm, but are never farther apart than '
                    f'{1e3 * nearest.max():.1f} mm, so that every motion would be refused: give '
                    'the pair less (safety.bodies.pairs)')
        return tuple(joined)


@functools.lru_cache(maxsize=4)
def bodies_of(robot: RobotConfig, kinematics: Kinematics) -> Bodies:
    """The solids of an arm, made once for each robot that was read.

    Raises:
        InputError: see Bodies.
    """
    return Bodies(robot, kinematics)


class _Scene:
    """The shapes of all bodies, and the pairs of them that are compared.

    Attributes:
        around: what it was made of.
        bodies, shapes: see there.
        pairs: (P, 2) numbers of shapes; seen from the first, the second moves.
        floor: (P,) distance that they keep [m].
        reach: (P, N) bounds of the distance of the second's points from the joints' axes; 0 of
            joints that are not between the two [m].
    """

    def __init__(self, around: Around, bodies: tuple[Body, ...], shapes: list[_Shape],
                 pairs: Indices, floor: Vector, chain: list[tuple[Vector, Vector]]) -> None:
        self.around, self.bodies, self.shapes = around, bodies, shapes
        self.pairs, self.floor = pairs, floor
        self.joint = np.array([shape.joint for shape in shapes], np.intp)
        self.turn = np.stack([shape.pose[:3, :3] for shape in shapes])
        self.centre = np.stack([shape.pose[:3, 3] for shape in shapes])
        self._half = np.stack([shape.half for shape in shapes])
        self._disc = np.array([shape.disc for shape in shapes])
        self._ball = np.array([shape.ball for shape in shapes])
        self._radius = np.array([shape.radius for shape in shapes])
        self._hulls = {k: shape.hull for k, shape in enumerate(shapes) if shape.hull is not None}
        self._side = np.array([shape.geometry is None for shape in shapes])
        self._placed = [coal.Transform3s(shape.pose[:3, :3], shape.pose[:3, 3])
                        for shape in shapes]
        reaches = np.stack([_reaches(shape, chain) for shape in shapes])
        numbers = np.arange(1, len(chain) + 1)
        first = self.joint[pairs[:, 0]][:, None]
        self.reach = np.where(numbers > first, reaches[pairs[:, 1]], 0.0)
        self._groups = [(int(joint), np.nonzero(self.joint == joint)[0])
                        for joint in np.unique(self.joint)]
        self._request = coal.DistanceRequest()
        self.reaches = reaches
        self._all = np.arange(len(pairs))
        self._fixed = np.nonzero([bodies[shapes[a].body].kind == OBSTACLES
                                  for a in pairs[:, 0]])[0]
        extent = np.einsum('sij,sj->si', np.abs(self.turn), self._half)
        self._box_low, self._box_high = self.centre - extent, self.centre + extent

    def names(self, pair: int) -> tuple[Body, Body]:
        """The bodies of a pair of shapes, the one that moves first."""
        a, b = self.pairs[pair]
        return self.bodies[self.shapes[b].body], self.bodies[self.shapes[a].body]

    def conflict(self, pair: int, distance_m: float, time_s: float = 0.0,
                 leaving: bool = False) -> Conflict:
        """A pair that is too close."""
        one, other = self.names(pair)
        return Conflict(one, other, distance_m, float(self.floor[pair]), time_s, leaving)

    def places(self, poses: Vector) -> Vector:
        """(K, S, 3) middles of all shapes for poses (K, N + 1, 4, 4) of the joints."""
        places = np.empty((len(poses), len(self.shapes), 3))
        for joint, shapes in self._groups:
            places[:, shapes] = (self.centre[shapes] @ np.swapaxes(poses[:, joint, :3, :3], 1, 2)
                                 + poses[:, joint, None, :3, 3])
        return places

    def spheres(self, places: Vector, pairs: Indices) -> Vector:
        """(K, P) lower bounds of the distances of pairs from balls around the shapes."""
        a, b = self.pairs[pairs].T
        between = places[:, b] - places[:, a]
        apart = np.sqrt(np.einsum('kpi,kpi->kp', between, between))
        side = np.nonzero(self._side[a])[0]
        apart[:, side] = np.einsum('kpi,pi->kp', between[:, side], self.turn[a[side], :, 2])
        return np.asarray(apart - self._radius[a] - self._radius[b])

    def met(self, places: Vector, goes_m: Vector) -> Indices:
        """(P,) indices of the pairs without the obstacles that their shape cannot reach.

        Args:
            places: (K, S, 3) middles of the shapes.
            goes_m: (S,) how far they go between two of them at most.
        """
        fixed = self._fixed
        if not len(fixed):
            return self._all
        reach = (self._radius + 0.5 * goes_m)[:, None]
        low, high = places.min(axis=0) - reach, places.max(axis=0) + reach
        a, b = self.pairs[fixed].T
        floor = np.maximum(self.floor[fixed], 0.0)[:, None]
        apart = ((low[b] > self._box_high[a] + floor)
                 | (high[b] < self._box_low[a] - floor)).any(axis=1)
        kept = np.ones(len(self.pairs), bool)
        kept[fixed[apart]] = False
        return np.nonzero(kept)[0]

    def relative(self, poses: Vector, sample: Indices, pair: Indices) -> tuple[Vector, Vector]:
        """(E, 3, 3) and (E, 3): how the second's joint stands in the frame of the first's."""
        first, second = self.joint[self.pairs[pair]].T
        base, there = poses[sample, first], poses[sample, second]
        back = np.swapaxes(base[:, :3, :3], 1, 2)
        return (back @ there[:, :3, :3],
                np.einsum('eij,ej->ei', back, there[:, :3, 3] - base[:, :3, 3]))

    def gap(self, pair: Indices, turn: Vector, shift: Vector, direction: Vector) -> Vector:
        """(E,) gaps along directions (E, 3) fixed in the first's frame, for ``relative``."""
        a, b = self.pairs[pair].T
        between = np.einsum('eij,ej->ei', turn, self.centre[b]) + shift - self.centre[a]
        back = np.einsum('eji,ej->ei', turn, direction)
        return np.asarray(
            np.einsum('ei,ei->e', direction, between)
            - self._support(a, np.einsum('eji,ej->ei', self.turn[a], direction))
            - self._support(b, -np.einsum('eji,ej->ei', self.turn[b], back)))

    def _support(self, shape: Indices, direction: Vector) -> Vector:
        """(E,) how far shapes reach along directions (E, 3) of their own frames."""
        found = (np.einsum('ei,ei->e', np.abs(direction), self._half[shape])
                 + self._disc[shape] * np.hypot(direction[:, 0], direction[:, 1])
                 + self._ball[shape])
        for number, corners in self._hulls.items():
            mine = np.nonzero(shape == number)[0]
            if len(mine):
                found[mine] = (direction[mine] @ corners.T).max(axis=1)
        return np.asarray(found)

    def directions(self, pair: Indices, turn: Vector, shift: Vector) -> Vector:
        """(E, 3) unit vectors in the first's frame along which pairs are the farthest apart."""
        found = np.empty((len(pair), 3))
        result = coal.DistanceResult()
        a_of, b_of = self.pairs[pair].T.tolist()
        turned = turn @ self.turn[b_of]
        places = np.einsum('eij,ej->ei', turn, self.centre[b_of]) + shift
        for row, (a, b) in enumerate(zip(a_of, b_of, strict=True)):
            if self._side[a]:
                found[row] = self.turn[a, :, 2]
                continue
            result.clear()
            coal.distance(self.shapes[a].geometry, self._placed[a], self.shapes[b].geometry,
                          coal.Transform3s(turned[row], places[row]), self._request, result)
            found[row] = result.normal
        size = np.linalg.norm(found, axis=1)
        wrong = ~(np.abs(size - 1.0) < 0.1)  # in doubt any direction will do
        found[wrong] = (0.0, 0.0, 1.0)
        return np.asarray(found / np.where(wrong, 1.0, size)[:, None])

    def gaps(self, poses: Vector, sample: Indices, pair: Indices) -> tuple[Vector, Vector]:
        """(E,) distances of pairs at samples, and the directions (E, 3) that show them."""
        turn, shift = self.relative(poses, sample, pair)
        direction = self.directions(pair, turn, shift)
        return self.gap(pair, turn, shift, direction), direction


@dataclass(eq=False)
class _Stretches:
    """E parts of a motion in which a pair is not yet proven apart.

    Attributes:
        pair, piece: (E,) of the scene and of the spline.
        low, high: (E,) times of the piece.
        need: (E,) distance that is to be proven.
        turns, shifts: at both ends, see ``_Scene.relative``.
        ways: (E, 3) directions at both ends.
        gaps: (E,) distances at both ends.
    """

    pair: Indices
    piece: Indices
    low: Vector
    high: Vector
    need: Vector
    turns: tuple[Vector, Vector]
    shifts: tuple[Vector, Vector]
    ways: tuple[Vector, Vector]
    gaps: tuple[Vector, Vector]

    def of(self, rows: Indices) -> _Stretches:
        """The stretches at some rows."""
        def cut(pair: tuple[Vector, Vector]) -> tuple[Vector, Vector]:
            return pair[0][rows], pair[1][rows]
        return _Stretches(self.pair[rows], self.piece[rows], self.low[rows], self.high[rows],
                          self.need[rows], cut(self.turns), cut(self.shifts), cut(self.ways),
                          cut(self.gaps))


class _Motion:
    """Clearance checks of one motion among the bodies of a scene."""

    def __init__(self, scene: _Scene, kinematics: Kinematics, spline: Spline) -> None:
        self._scene, self._kinematics, self._spline = scene, kinematics, spline
        self._starts = np.concatenate([[0.0], np.cumsum(spline.lengths_s)])
        self._pieces = np.arange(len(spline.lengths_s))
        self._samples = 0

    def conflict(self) -> Conflict | None:
        """First conflict of the motion; see ``Bodies.conflict``."""
        scene, spline, pieces = self._scene, self._spline, self._pieces
        if not len(scene.pairs):
            return None
        variation = spline.variations(pieces, 0.0 * spline.lengths_s, spline.lengths_s)
        if not variation.any():
            return None
        ends = spline.positions(pieces[-1:], spline.lengths_s[-1:])
        self._poses = self._kinematics.joint_poses(np.concatenate([spline.a, ends]))
        places = scene.places(self._poses)
        met = scene.met(places, (variation @ scene.reaches.T).max(axis=0))
        spheres = scene.spheres(places, met)
        apart = 0.5 * (spheres[:-1] + spheres[1:] - variation @ scene.reach[met].T)
        piece, pair = np.nonzero(~(apart >= scene.floor[met]))
        if not len(pair):
            return None
        pair = met[pair]
        begun = pair[piece == 0]
        gaps, _ = scene.gaps(self._poses, np.zeros(len(begun), np.intp), begun)
        leaving = begun[~(gaps >= scene.floor[begun])]
        need = scene.floor[pair]
        if len(leaving):
            found = self._apart(leaving)
            if isinstance(found, Conflict):
                return found
            row = np.full(len(scene.pairs), -1)
            row[leaving] = np.arange(len(leaving))
            held = row[pair] >= 0
            need[held] = found[piece[held], row[pair[held]]]
        open_ = ~(self._along(piece, pair) >= need)
        piece, pair, need = piece[open_], pair[open_], need[open_]
        return self._cut(self._stretches(piece, pair, need), set(leaving.tolist()))

    def _apart(self, pairs: Indices) -> Vector | Conflict:
        """Distances (M, L) that pairs which begin too close must keep in each piece."""
        count = len(self._pieces) + 1
        sample = np.repeat(np.arange(count), len(pairs))
        gaps = self._scene.gaps(self._poses, sample, np.tile(pairs, count))[0].reshape(count, -1)
        floor = self._scene.floor[pairs]
        most = np.maximum.accumulate(gaps, axis=0)
        need = np.minimum(floor, most[:-1]) - BACK_M
        back = np.argwhere(~(gaps[1:] >= need))
        if len(back):
            sample_, row = back[0]
            return self._scene.conflict(int(pairs[row]), float(gaps[sample_ + 1, row]),
                                        float(self._starts[sample_ + 1]), leaving=True)
        short = gaps[-1] - np.minimum(floor, gaps[0] + AWAY_M)
        if not (short >= 0.0).all():
            row = int(np.argmin(short))
            return self._scene.conflict(int(pairs[row]), float(gaps[0, row]), leaving=True)
        return np.asarray(need)

    def _along(self, piece: Indices, pair: Indices) -> Vector:
        """(E,) bounds of distances in whole pieces along directions from the middle of several."""
        scene, last = self._scene, len(self._pieces)
        middle = np.minimum(piece // _STRIDE * _STRIDE + _STRIDE // 2, last)
        keys, back = np.unique(middle * len(scene.pairs) + pair, return_inverse=True)
        sample, one = np.divmod(keys, len(scene.pairs))
        ways = scene.gaps(self._poses, sample, one)[1][back]
        ends = [scene.gap(pair, *scene.relative(self._poses, piece + k, pair), ways)
                for k in (0, 1)]
        return np.asarray(np.minimum(*ends) - self._strays(
            piece, pair, np.zeros(len(piece)), self._spline.lengths_s[piece]))

    def _stretches(self, piece: Indices, pair: Indices, need: Vector) -> _Stretches:
        """Whole pieces, with directions of their own at both ends."""
        scene = self._scene
        keys, back = np.unique(np.concatenate([piece, piece + 1]) * len(scene.pairs)
                               + np.tile(pair, 2), return_inverse=True)
        sample, one = np.divmod(keys, len(scene.pairs))
        turn, shift = scene.relative(self._poses, sample, one)
        way = scene.directions(one, turn, shift)
        gap = scene.gap(one, turn, shift, way)
        low, high = np.split(back, 2)
        return _Stretches(pair, piece, np.zeros(len(piece)), self._spline.lengths_s[piece], need,
                          (turn[low], turn[high]), (shift[low], shift[high]),
                          (way[low], way[high]), (gap[low], gap[high]))

    def _cut(self, open_: _Stretches, leaving: set[int]) -> Conflict | None:
        """Cut stretches until all are proven; the first that cannot be."""
        scene = self._scene
        while len(open_.pair):
            self._samples += len(open_.pair)
            close = np.nonzero(~(np.minimum(*open_.gaps) >= open_.need))[0]
            if len(close):
                return self._first(open_, close, leaving)
            straight = [np.minimum(gap, scene.gap(open_.pair, turn, shift, way))
                        for gap, turn, shift, way in (
                            (open_.gaps[0], open_.turns[1], open_.shifts[1], open_.ways[0]),
                            (open_.gaps[1], open_.turns[0], open_.shifts[0], open_.ways[1]))]
            least = np.maximum(*straight) - self._strays(
                open_.piece, open_.pair, open_.low, open_.high)
            goes = np.einsum('en,en->e', self._spline.variations(
                open_.piece, open_.low, open_.high), scene.reach[open_.pair])
            least = np.maximum(least, 0.5 * (open_.gaps[0] + open_.gaps[1] - goes))
            rest = np.nonzero(~(least >= open_.need))[0]
            if not len(rest):
                return None
            stuck = rest[(goes[rest] < RESOLUTION_M) | ~np.isfinite(least[rest])]
            if len(stuck) or self._samples > MOST_SAMPLES:
                return self._first(open_, stuck if len(stuck) else rest, leaving)
            open_ = self._halved(open_.of(rest))
        return None

    def _halved(self, whole: _Stretches) -> _Stretches:
        scene, middle = self._scene, 0.5 * (whole.low + whole.high)
        poses = self._kinematics.joint_poses(self._spline.positions(whole.piece, middle))
        turn, shift = scene.relative(poses, np.arange(len(middle)), whole.pair)
        way = scene.directions(whole.pair, turn, shift)
        gap = scene.gap(whole.pair, turn, shift, way)

        def twice(ends: tuple[Vector, Vector], inner: Vector) -> tuple[Vector, Vector]:
            return np.concatenate([ends[0], inner]), np.concatenate([inner, ends[1]])

        low, high = twice((whole.low, whole.high), middle)
        return _Stretches(np.tile(whole.pair, 2), np.tile(whole.piece, 2), low, high,
                          np.tile(whole.need, 2), twice(whole.turns, turn),
                          twice(whole.shifts, shift), twice(whole.ways, way),
                          twice(whole.gaps, gap))

    def _first(self, open_: _Stretches, rows: Indices, leaving: set[int]) -> Conflict:
        """The earliest of some stretches, at the nearer of its ends."""
        begin = self._starts[open_.piece[rows]]
        row = rows[int(np.argmin(begin + open_.low[rows]))]
        before, after = open_.gaps[0][row], open_.gaps[1][row]
        time_s = self._starts[open_.piece[row]] + (
            open_.low if before <= after else open_.high)[row]
        pair = int(open_.pair[row])
        return self._scene.conflict(pair, float(min(before, after)), float(time_s),
                                    pair in leaving)

    def _strays(self, piece: Indices, pair: Indices, low: Vector, high: Vector) -> Vector:
        """(E,) upper bounds of a point's distance from the line between its ends."""
        spline, h = self._spline, high - low
        reach = self._scene.reach[pair]
        c, d = spline.c[piece], spline.d[piece]
        v0, v1 = spline.velocities(piece, low), spline.velocities(piece, high)
        hardest = 2.0 * np.maximum(np.abs(c + 3.0 * low[:, None] * d),
                                   np.abs(c + 3.0 * high[:, None] * d))
        fastest = np.maximum(np.abs(v0), np.abs(v1)) + 0.75 * (h * h)[:, None] * np.abs(d)
        fastest = np.where(reach > 0.0, fastest, 0.0)
        before = np.cumsum(fastest, axis=1) - fastest
        bound = np.einsum('en,en->e', reach, hardest + fastest * (fastest + 2.0 * before))
        return np.asarray(0.125 * h * h * bound)


# --- shapes -------------------------------------------------------------------------------------


def _box(body: int, joint: int, pose: Vector, size_m: Vector) -> _Shape:
    return _Shape(body, joint, pose, coal.Box(np.asarray(size_m, dtype=np.float64)),
                  0.5 * np.asarray(size_m, dtype=np.float64))


def _shape(body: int, joint: int, pose: Vector, geometry: Any, file: str) -> _Shape:
    """Collision shape of one URDF geometry; a mesh is replaced by its convex hull."""
    nothing = np.zeros(3)
    if isinstance(geometry, coal.Box):
        return _Shape(body, joint, pose, geometry, np.array(geometry.halfSide))
    if isinstance(geometry, coal.Sphere):
        return _Shape(body, joint, pose, geometry, nothing, ball=float(geometry.radius))
    if isinstance(geometry, coal.Cylinder | coal.Capsule):
        radius, half = float(geometry.radius), np.array([0.0, 0.0, geometry.halfLength])
        if isinstance(geometry, coal.Cylinder):
            return _Shape(body, joint, pose, geometry, half, disc=radius)
        return _Shape(body, joint, pose, geometry, half, ball=radius)
    if isinstance(geometry, coal.BVHModelBase):
        geometry.buildConvexHull(True, 'Qt')
        geometry = geometry.convex
    if isinstance(geometry, coal.ConvexBase):
        corners = np.array([geometry.point(k) for k in range(geometry.num_points)])
        return _Shape(body, joint, pose, geometry, nothing, hull=corners)
    raise InputError(f'{file}: a collision shape is a {type(geometry).__name__}; use boxes, '
                     'cylinders, spheres, capsules and meshes')


def _sides(robot: RobotConfig) -> list[tuple[str, str, Vector]]:
    """Names, kinds and frames of half-spaces, whose z axes point to where the arm may be.

    The bottom of the workspace box is left to the table.
    """
    safety, sides = robot.safety, [('the table', TABLE, np.eye(4))]
    for axis, name in enumerate('xyz'):
        for sign, where in ((1.0, safety.box_min_m), (-1.0, safety.box_max_m)):
            if name == 'z' and sign > 0:
                continue
            normal = sign * np.eye(3)[axis]
            pose = np.eye(4)
            pose[:3, :3] = np.stack([np.roll(np.eye(3)[axis], 1),
                                     np.cross(normal, np.roll(np.eye(3)[axis], 1)), normal], 1)
            pose[axis, 3] = where[axis]
            end = 'least' if sign > 0 else 'greatest'
            sides.append((f'the side {name} = {where[axis]:g} m of the workspace box ({end})',
                          SIDES, pose))
    return sides


def _reaches(shape: _Shape, chain: list[tuple[Vector, Vector]]) -> Vector:
    """(N,) upper bounds of the distance of a shape's points from the axes that move it [m]."""
    found = np.zeros(len(chain))
    offset, reach = shape.pose[:3, 3], 0.0
    for joint in range(shape.joint, 0, -1):
        place, axis = chain[joint - 1]
        across = float(np.linalg.norm(offset - (offset @ axis) * axis))
        found[joint - 1] = reach + across + shape.radius
        reach += float(np.linalg.norm(offset))
        offset = place
    return found


def _finger_positions(robot: RobotConfig, model: Any, opening_m: float | None) -> Vector:
    """Positions (nq,) of all joints of the URDF: the arm's at 0, the fingers ``opening_m`` apart.

    Joints that the robot's file names as the gripper's go from ``joint_at_closed`` to
    ``joint_at_open``, those that mimic one follow it, and others that slide go from their lower
    to their upper limit.
    """
    gripper, q = robot.gripper, pinocchio.neutral(model)
    part = 1.0 if opening_m is None else float(np.clip(opening_m / gripper.open_m, 0.0, 1.0))
    named = gripper.joint_at(part * gripper.open_m)
    mimics = {joint.get('name'): joint.find('mimic') for joint in
              ElementTree.parse(robot.urdf).getroot().iter('joint')}  # noqa: S314  the user's own
    for number in range(1, model.njoints):
        name, joint = str(model.names[number]), model.joints[number]
        mimic = mimics.get(name)
        if name in robot.arm.joints or joint.nq != 1:
            continue
        if name in gripper.joints:
            q[joint.idx_q] = named
        elif mimic is not None and mimic.get('joint') in gripper.joints:
            q[joint.idx_q] = (float(mimic.get('multiplier', 1.0)) * named
                              + float(mimic.get('offset', 0.0)))
        elif joint.shortname().startswith('JointModelP'):
            low, high = (limits[joint.idx_q] for limits in (
                model.lowerPositionLimit, model.upperPositionLimit))
            q[joint.idx_q] = low + part * (high - low)
    return np.asarray(q)


def _package_dirs(urdf: Path) -> list[str]:
    """Folders to which ``package://`` paths of a URDF are relative."""
    prefixes = [p for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    return [str(urdf.parent), *(str(Path(prefix) / 'share') for prefix in prefixes)]
