"""Distances between the arm and other things: the shapes of its URDF against boxes.

Fingers are left out: whether they fit around a thing is a matter of its neighbours (``hand_yaw``
of blocks, ``grasps`` of everything else).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import inverse, make_pose, rotation_from_rpy, transform
from sightplan_arm.hardware import Vector
from sightplan_arm.perception import Cube


@dataclass(frozen=True, eq=False)
class Box:
    """An upright box on the table that the arm keeps clear of.

    Attributes:
        centre_m: (3,) in the table's frame.
        size_m: (3,) its extents before it is turned.
        yaw_rad: turn about z.
    """

    centre_m: Vector
    size_m: Vector
    yaw_rad: float = 0.0


Obstacle = Cube | Box
"""An obstacle on the table: a block, whose size the robot's file has, or a box of any size."""

_STEP_RAD = 0.06  # greatest turn of a joint between postures that are looked at


class Clearance:
    """Distances between the links of an arm and the things on the table.

    Only links that can come near the table count: those that hang on the last four joints and
    are not fingers.

    Args:
        robot: its configuration; links without collision shapes in the URDF are ignored.

    Raises:
        InputError: the URDF cannot be read.
    """

    def __init__(self, robot: RobotConfig) -> None:
        self._robot = robot
        try:
            whole = pinocchio.buildModelFromUrdf(str(robot.urdf))
            shapes = pinocchio.buildGeomFromUrdf(
                whole, str(robot.urdf), pinocchio.GeometryType.COLLISION,
                package_dirs=[str(robot.urdf).rpartition('/')[0]])
        except (ValueError, RuntimeError) as error:
            raise InputError(f'{robot.urdf}: its shapes cannot be read: {error}') from error
        fixed = [joint for joint in range(1, whole.njoints)
                 if str(whole.names[joint]) not in robot.arm.joints]
        fingers = set(fixed)
        kept = [shape for shape in shapes.geometryObjects if shape.parentJoint not in fingers]
        self._model, reduced = pinocchio.buildReducedModel(
            whole, _geometry_of(shapes, kept), fixed, pinocchio.neutral(whole))
        near = range(self._model.njoints - 4, self._model.njoints)
        self._links = [shape for shape in reduced.geometryObjects if shape.parentJoint in near]
        for link in self._links:
            link.geometry.computeLocalAABB()
        self._joint = np.array([link.parentJoint for link in self._links], np.intp)
        self._centre = np.array([link.placement.act(link.geometry.aabb_center)
                                 for link in self._links]).reshape(-1, 3)
        self._radius = np.array([link.geometry.aabb_radius for link in self._links])
        self._request = coal.DistanceRequest()
        self._data = self._model.createData()
        data = self._model.createData()
        base = self._model.getFrameId(robot.base_frame)
        pinocchio.framesForwardKinematics(self._model, data, pinocchio.neutral(self._model))
        self._table = data.oMf[base].homogeneous @ robot.table.pose

    def least_m(self, path: Vector, blocks: Sequence[Obstacle], enough_m: float = np.inf, *,
                hand_only: bool = False) -> float:
        """Least distance from any block or box on a way.

        Args:
            path: (K, N) postures, between which joints move straight [rad].
            blocks: what stands on the table.
            enough_m: what is farther than this need not be known.
            hand_only: whether only what hangs on the last joint counts, which is where it is
                whatever the elbow does.

        Returns:
            The distance [m], not more than ``enough_m``; negative where arm and block overlap, the
            depth of some pair then.
        """
        links = np.nonzero(self._joint == self._model.njoints - 1 if hand_only
                           else self._joint > 0)[0]
        if not blocks or not len(links):
            return enough_m
        poses, halves = self._placed(blocks)
        postures = _densified(np.asarray(path, dtype=np.float64))
        turns, shifts = self._joints(postures, self._joint[links])
        centres = (turns @ self._centre[links, :, None])[..., 0] + shifts  # (K, L, 3)
        # A ball around a link is this far from a box, and the link no nearer.
        inside = np.einsum('bji,klbj->klbi', poses[:, :3, :3],
                           centres[:, :, None] - poses[:, :3, 3])
        bound = np.linalg.norm(np.maximum(np.abs(inside) - halves, 0.0), axis=-1)
        bound -= self._radius[links, None]
        boxes = [(coal.Box(*2.0 * half), coal.Transform3s(pose[:3, :3], pose[:3, 3]))
                 for pose, half in zip(poses, halves, strict=True)]
        near = np.argwhere(bound < enough_m)
        least, result = enough_m, coal.DistanceResult()
        for k, number, box in near[np.argsort(bound[tuple(near.T)])].tolist():
            if bound[k, number, box] >= least:
                break
            link = self._links[links[number]]
            place = pinocchio.SE3(turns[k, number], shifts[k, number]) * link.placement
            result.clear()
            least = min(least, coal.distance(
                link.geometry, coal.Transform3s(place.rotation, place.translation), *boxes[box],
                self._request, result))
        return float(least)

    def on_last_joint(self, posture: Vector, tip: Vector) -> list[tuple[Vector, Vector]]:
        """Boxes around all that hangs on the last joint but is no finger.

        Args:
            posture: (N,) any.
            tip: (4, 4) pose of the tip in it, in the table's frame.

        Returns:
            of each its middle (3,) and half of its sides (3,), in the tip's frame.
        """
        links = np.nonzero(self._joint == self._model.njoints - 1)[0]
        turns, shifts = self._joints(np.asarray(posture)[None], self._joint[links])
        to_tip, found = inverse(self._table @ tip), []
        for number, index in enumerate(links):
            link = self._links[index]
            place = pinocchio.SE3(turns[0, number], shifts[0, number]) * link.placement
            found.append(_box_around(link.geometry, to_tip @ place.homogeneous))
        return found

    def _placed(self, blocks: Sequence[Obstacle]) -> tuple[Vector, Vector]:
        """(B, 4, 4) poses of boxes in the frame of the URDF, and (B, 3) half of their sides."""
        side = np.full(3, self._robot.table.block_m)
        return (np.stack([self._table @ make_pose(
                    block.centre_m, rotation_from_rpy((0.0, 0.0, block.yaw_rad)))
                    for block in blocks]),
                0.5 * np.array([block.size_m if isinstance(block, Box) else side
                                for block in blocks]))

    def _joints(self, postures: Vector, joints: NDArray[np.intp]) -> tuple[Vector, Vector]:
        """(K, L, 3, 3) and (K, L, 3): where some joints are in postures (K, N)."""
        turns = np.empty((len(postures), len(joints), 3, 3))
        shifts = np.empty((len(postures), len(joints), 3))
        for k, posture in enumerate(postures):
            pinocchio.forwardKinematics(self._model, self._data, posture)
            for number, joint in enumerate(joints):
                place = self._data.oMi[int(joint)]
                turns[k, number], shifts[k, number] = place.rotation, place.translation
        return turns, shifts


def _box_around(shape: coal.CollisionGeometry, pose: Vector) -> tuple[Vector, Vector]:
    """Middle (3,) and half of the sides (3,) of a box along the axes around a shape in a pose."""
    if isinstance(shape, coal.Cylinder):
        axis = np.abs(pose[:3, 2])
        return pose[:3, 3], (shape.halfLength * axis
                             + shape.radius * np.sqrt(np.maximum(1.0 - axis ** 2, 0.0)))
    bounds = np.stack([shape.aabb_local.min_, shape.aabb_local.max_])
    points = transform(pose, np.array(list(itertools.product(*bounds.T))))
    low, high = points.min(axis=0), points.max(axis=0)
    return (low + high) / 2, (high - low) / 2


def _geometry_of(shapes: pinocchio.GeometryModel, kept: Sequence[pinocchio.GeometryObject],
                 ) -> pinocchio.GeometryModel:
    made = pinocchio.GeometryModel()
    for shape in kept:
        made.addGeometryObject(shape)
    return made


def _densified(path: Vector) -> Vector:
    """Postures along a path, at most ``_STEP_RAD`` apart in each joint."""
    parts = [path[:1]]
    for start, end in itertools.pairwise(path):
        count = max(1, int(np.ceil(np.abs(end - start).max() / _STEP_RAD)))
        parts.append(start + np.linspace(0.0, 1.0, count + 1)[1:, None] * (end - start))
    return np.concatenate(parts)
