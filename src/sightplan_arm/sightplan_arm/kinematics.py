"""Forward and inverse kinematics of an arm that a URDF describes.

The URDF is read by Pinocchio; joints other than the arm's (fingers) are fixed where they are when
the URDF's angles are zero. Everything here may be used by several threads at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio

from sightplan.model import InputError
from sightplan_arm.config import Point, RobotConfig
from sightplan_arm.geometry import Array, hand_down, inverse

POSITION_TOLERANCE_M = 1e-6
ROTATION_TOLERANCE_RAD = 1e-5
"""Inverse kinematics ends when both are reached."""

LIMIT_ROOM_RAD = 1e-3
"""Smallest distance of a solution from the joints' limits; splines may overshoot a little
[rad]."""

_ITERATIONS = 60
_PATIENCE = 8  # iterations in which the error may not shrink
_RANDOM_STARTS = 12
_STEP_RAD = 0.5  # greatest change of a joint in one iteration
_DRAWN = 0.2  # part of the way to the seed that joints go in one iteration where they are free to
_KEPT = 32  # sets of points of which it is remembered how they move
_STILL = np.eye(4)
_NEAR_RAD = 0.8  # distance to the seed below which a solution is accepted at once


class Kinematics:
    """Kinematics of a robot's arm; N joints in the order of its file."""

    def __init__(self, robot: RobotConfig) -> None:
        """Read the URDF.

        Raises:
            InputError: it cannot be read.
        """
        arm = robot.arm
        try:
            whole = pinocchio.buildModelFromUrdf(str(robot.urdf))
        except (ValueError, RuntimeError) as error:
            raise InputError(f'{robot.urdf}: cannot be read: {error}') from error
        fixed = [joint for joint in range(1, whole.njoints)
                 if str(whole.names[joint]) not in arm.joints]
        self._model = pinocchio.buildReducedModel(whole, fixed, pinocchio.neutral(whole))
        self._tip, self._starts = robot.tip_frame, (arm.ready, arm.park)
        self._lower, self._upper = arm.lower + LIMIT_ROOM_RAD, arm.upper - LIMIT_ROOM_RAD
        data = self._model.createData()
        neutral = pinocchio.neutral(self._model)
        pinocchio.framesForwardKinematics(self._model, data, neutral)
        self._to_base = inverse(data.oMf[self._frame(robot.base_frame)].homogeneous)
        self._to_table = inverse(robot.table.pose) @ self._to_base
        self._points: dict[tuple[str | Point, ...], list[tuple[int, list[int], Array]]] = {}
        # For many configurations at once: placement, parent and axis of each joint.
        pinocchio.computeJointJacobians(self._model, data, neutral)
        self._chain = [
            (placement.homogeneous, int(parent) - 1, _Motion.of(pinocchio.getJointJacobian(
                self._model, data, joint, pinocchio.LOCAL)[:, joint - 1]))
            for joint, (placement, parent) in enumerate(
                zip(self._model.jointPlacements, self._model.parents, strict=True)) if joint]

    def _frame(self, name: str) -> int:
        if not self._model.existFrame(name):
            raise InputError(f'the URDF has no frame {name!r}')
        return int(self._model.getFrameId(name))

    def fk(self, q: Array, frame: str | None = None) -> Array:
        """(4, 4) pose of a frame of the URDF, by default the tip, in the base's frame.

        Args:
            q: (N,) [rad].
            frame: of the URDF.

        Raises:
            InputError: there is no such frame.
        """
        number = self._frame(frame or self._tip)
        data = self._model.createData()
        pinocchio.forwardKinematics(self._model, data, np.asarray(q, dtype=np.float64))
        pose = pinocchio.updateFramePlacement(self._model, data, number).homogeneous
        return np.asarray(self._to_base @ pose)

    def fk_many(self, q: Array, frames: Sequence[str | Point]) -> Array:
        """(K, F, 3) places of F points in the table's frame [m], for K configurations (K, N).

        Args:
            q: (K, N) [rad].
            frames: of the URDF, which stand for their origins, or points of frames.
        """
        q = np.asarray(q, dtype=np.float64)
        poses = self._poses(q)
        found = np.empty((len(q), len(frames), 3))
        for joint, columns, points in self._by_joint(tuple(frames)):
            found[:, columns] = (np.swapaxes((poses[joint][:, :3] @ points.T), 1, 2)
                                 if joint >= 0 else points[:, :3])
        return np.asarray(found @ self._to_table[:3, :3].T + self._to_table[:3, 3])

    def joint_poses(self, q: Array) -> Array:
        """(K, N + 1, 4, 4) poses of the joints in the table's frame, for K configurations (K, N).

        Number 0 is the table's frame itself; a joint's own frame turns with it.
        """
        q = np.asarray(q, dtype=np.float64)
        found = np.empty((len(q), len(self._chain) + 1, 4, 4))
        found[:, 0] = _STILL
        for joint, pose in enumerate(self._poses(q), 1):
            found[:, joint] = self._to_table @ pose
        return found

    @property
    def to_table(self) -> Array:
        """(4, 4) pose of the frame in which the URDF's root stands, in the table's frame."""
        return self._to_table

    @property
    def chain(self) -> list[tuple[Array, Array]]:
        """Origin (3,) of each joint in the frame of the joint before it, and its axis (3,)."""
        return [(placement[:3, 3], np.array([motion.sine[2, 1], motion.sine[0, 2],
                                             motion.sine[1, 0]]))
                for placement, _, motion in self._chain]

    def _poses(self, q: Array) -> list[Array]:
        """Poses (K, 4, 4) of each joint in the frame of the URDF's root."""
        poses: list[Array] = []
        for index, (placement, parent, motion) in enumerate(self._chain):
            local = placement @ motion.at(q[:, index])
            poses.append(local if parent < 0 else poses[parent] @ local)
        return poses

    def _by_joint(self, frames: tuple[str | Point, ...]) -> list[tuple[int, list[int], Array]]:
        """Indices of the points that move with each joint, and these points (P, 4)."""
        found = self._points.get(frames)
        if found is None:
            if len(self._points) >= _KEPT:
                self._points.clear()
            by_joint: dict[int, tuple[list[int], list[Array]]] = {}
            for column, given in enumerate(frames):
                point = Point(given) if isinstance(given, str) else given
                frame = self._model.frames[self._frame(point.frame)]
                columns, points = by_joint.setdefault(int(frame.parentJoint) - 1, ([], []))
                columns.append(column)
                points.append(frame.placement.homogeneous @ (*point.xyz_m, 1.0))
            found = self._points[frames] = [(joint, columns, np.array(points))
                                            for joint, (columns, points) in by_joint.items()]
        return found

    def ik(self, pose_base: Array, seed: Array) -> Array | None:
        """Joint angles LIMIT_ROOM_RAD within the limits that bring the tip to a pose.

        Damped least squares from the seed. If that ends nowhere or far away, also from ``ready``
        and ``park``, and if nothing is found, from random configurations (always the same ones).

        Args:
            pose_base: (4, 4) of the tip in the base's frame.
            seed: (N,) [rad].

        Returns:
            (N,) of what was found, the one whose greatest difference from the seed is least, with
            the tip within POSITION_TOLERANCE_M and ROTATION_TOLERANCE_RAD; None: nothing found.
        """
        seed = np.clip(np.asarray(seed, dtype=np.float64), self._lower, self._upper)
        target = pinocchio.SE3(inverse(self._to_base) @ pose_base)
        best = self._descend(target, seed, seed)
        if best is None or _far(best, seed) > _NEAR_RAD:
            found = [self._descend(target, start, seed) for start in self._starts]
            best = min((q for q in (best, *found) if q is not None),
                       key=lambda q: _far(q, seed), default=None)
        random = np.random.default_rng(0)
        for _ in range(_RANDOM_STARTS if best is None else 0):
            best = self._descend(target, random.uniform(self._lower, self._upper), seed)
            if best is not None:
                break
        return best

    def _descend(self, target: Any, start: Array, seed: Array) -> Array | None:
        """Damped least squares from one start, drawn to the seed where the tip does not care.

        The damping shrinks with the error (Sugihara 2011), so the end is as fast as Newton's.
        """
        model = self._model
        data, tip = model.createData(), self._frame(self._tip)
        q, least, since = np.array(start), np.inf, 0
        for _ in range(_ITERATIONS):
            pinocchio.computeJointJacobians(model, data, q)
            here = pinocchio.updateFramePlacement(model, data, tip)
            jacobian = pinocchio.getFrameJacobian(model, data, tip, pinocchio.LOCAL)
            error = pinocchio.log6(here.actInv(target)).vector
            if (np.linalg.norm(error[:3]) < POSITION_TOLERANCE_M
                    and np.linalg.norm(error[3:]) < ROTATION_TOLERANCE_RAD):
                return q
            size = float(error @ error)
            least, since = (size, 0) if size < 0.9 * least else (least, since + 1)
            if since > _PATIENCE:
                return None
            damping = (1e-8 + 1e-2 * size) * np.eye(6)
            free = np.ones(len(q), dtype=bool)
            while True:
                moving = jacobian * free
                gain = moving.T @ np.linalg.inv(moving @ moving.T + damping)
                drawn = _DRAWN * free * (seed - q)
                step = gain @ (error - moving @ drawn) + drawn
                step *= min(1.0, _STEP_RAD / max(float(np.abs(step).max()), 1e-12))
                # Joints that would leave their limits stand still in this iteration.
                stuck = free & (((step > 0) & (q >= self._upper))
                                | ((step < 0) & (q <= self._lower)))
                if not stuck.any():
                    break
                free &= ~stuck
            q = np.clip(q + step, self._lower, self._upper)
        return None


def _far(q: Array, seed: Array) -> float:
    return float(np.abs(q - seed).max())


@dataclass(frozen=True, eq=False)
class _Motion:
    """The motion of a joint about or along a unit axis: sine, 1 - cosine and position, weighed.

    Attributes:
        sine, versine, shift: (4, 4) what they are weighed with.
    """

    sine: Array
    versine: Array
    shift: Array

    @classmethod
    def of(cls, axis: Array) -> _Motion:
        """The motion of a joint about an axis (6,), linear part first."""
        x, y, z = axis[3:]
        k, shift = np.zeros((4, 4)), np.zeros((4, 4))
        k[:3, :3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
        shift[:3, 3] = axis[:3]
        return cls(k, k @ k, shift)

    def at(self, q: Array) -> Array:
        """(K, 4, 4) at K positions."""
        q = q[:, None, None]
        return np.asarray(_STILL + np.sin(q) * self.sine + (1 - np.cos(q)) * self.versine
                          + q * self.shift)


@dataclass(frozen=True)
class Reach:
    """Whether the hand can hold a block at a place of the table, fingers down.

    Attributes:
        column: from the left, 0 is the first.
        level: of the block, 0 on the table; ``max_level`` and one more: on the way over the
            highest stack.
        ok: whether it can.
        margin: the least distance of a joint from its limits [rad]; 0 out of reach.
        problem: what is in the way; '' if nothing.
    """

    column: int
    level: int
    ok: bool
    margin: float
    problem: str = ''


def reach(kinematics: Kinematics, robot: RobotConfig) -> list[Reach]:
    """Test whether the hand reaches every place of a block, and above the highest stacks.

    The fingers open along the table's y, in that of the two ways that differ by half a turn which
    keeps the joints further from their limits and the checked points in the workspace.

    Returns:
        For each column, left to right, one entry for each level from 0 to ``max_level + 1``.
    """
    table, found = robot.table, []
    for column, x in enumerate(table.column_x_m(table.max_columns)):
        for level in range(table.max_level + 2):
            place = (x, 0.0, (level + 0.5) * table.block_m)
            ways = [_reached(kinematics, robot, column, level, hand_down(place, yaw))
                    for yaw in (0.0, np.pi)]
            found.append(max(ways, key=lambda way: (way.ok, way.margin)))
    return found


def _reached(kinematics: Kinematics, robot: RobotConfig, column: int, level: int, pose: Array,
             ) -> Reach:
    """Whether, and with which margin, the arm reaches one pose of the tip in the table's frame."""
    arm, safety = robot.arm, robot.safety
    q = kinematics.ik(robot.table.pose @ pose, arm.ready)
    if q is None:
        return Reach(column, level, False, 0.0, 'out of reach')
    margin = float(np.minimum(q - arm.lower, arm.upper - q).min())
    places = kinematics.fk_many(q[None], safety.points)[0]
    outside = ((places < safety.box_min_m) | (places > safety.box_max_m)).any(axis=1)
    names = [str(point) for point, out in zip(safety.points, outside, strict=True) if out]
    problem = f'{", ".join(names)} would be outside of the workspace box' if names else ''
    return Reach(column, level, not names, margin, problem)
