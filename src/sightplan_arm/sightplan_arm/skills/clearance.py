"""How far the arm keeps from blocks and other things: the shapes of its URDF against boxes.

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

from sightplan.model import InputError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import make_pose, rotation_from_rpy
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
"""What stands on the table: a block, whose size the robot's file has, or a box of any size."""

_FAR_M = 10.0
_STEP_RAD = 0.06  # greatest turn of a joint between postures that are looked at


class Clearance:
    """Distances between the links of an arm and what stands on the table.

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
            whole, _of(shapes, kept), fixed, pinocchio.neutral(whole))
        near = range(self._model.njoints - 4, self._model.njoints)
        self._shapes = pinocchio.GeometryModel()
        arm = [self._shapes.addGeometryObject(shape) for shape in reduced.geometryObjects
               if shape.parentJoint in near]
        self._links = arm
        self._boxes: list[int] = []
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
            The distance [m], not more than ``enough_m``; negative where arm and block overlap.
        """
        if not blocks or not self._links:
            return enough_m
        self._make_boxes(len(blocks))
        for box in self._boxes:
            self._shapes.geometryObjects[box].placement = pinocchio.SE3(_away())
        side = np.full(3, self._robot.table.block_m)
        for box, block in zip(self._boxes, blocks, strict=False):
            pose = make_pose(block.centre_m, rotation_from_rpy((0.0, 0.0, block.yaw_rad)))
            shape = self._shapes.geometryObjects[box]
            shape.placement = pinocchio.SE3(self._table @ pose)
            shape.geometry = coal.Box(block.size_m if isinstance(block, Box) else side)
        geometry = self._shapes.createData()
        counted = self._pairs(len(blocks), hand_only)
        for number in set(range(len(self._shapes.collisionPairs))).difference(counted):
            geometry.deactivateCollisionPair(number)
        least = enough_m
        for posture in _filled(np.asarray(path, dtype=np.float64)):
            pinocchio.computeDistances(
                self._model, self._data, self._shapes, geometry, posture)
            least = min(least, min(geometry.distanceResults[number].min_distance
                                   for number in counted))
        return float(least)

    def _pairs(self, blocks: int, hand_only: bool) -> list[int]:
        """Which pairs of a shape and one of so many boxes count; ``_make_boxes`` orders them."""
        last, shapes = self._model.njoints - 1, self._shapes.geometryObjects
        links = [number for number, link in enumerate(self._links)
                 if not hand_only or shapes[link].parentJoint == last]
        return [box * len(self._links) + link for box in range(blocks) for link in links]

    def _make_boxes(self, count: int) -> None:
        """Have at least so many boxes."""
        while len(self._boxes) < count:
            box = self._shapes.addGeometryObject(pinocchio.GeometryObject(
                f'block {len(self._boxes)}', 0, pinocchio.SE3(_away()),
                coal.Box(*[self._robot.table.block_m] * 3)))
            self._boxes.append(box)
            for link in self._links:
                self._shapes.addCollisionPair(pinocchio.CollisionPair(link, box))


def _of(shapes: pinocchio.GeometryModel, kept: Sequence[pinocchio.GeometryObject],
        ) -> pinocchio.GeometryModel:
    made = pinocchio.GeometryModel()
    for shape in kept:
        made.addGeometryObject(shape)
    return made


def _away() -> Vector:
    return make_pose((0.0, 0.0, -_FAR_M))


def _filled(path: Vector) -> Vector:
    """Postures along a path, so dense that nothing is jumped over."""
    parts = [path[:1]]
    for start, end in itertools.pairwise(path):
        count = max(1, int(np.ceil(np.abs(end - start).max() / _STEP_RAD)))
        parts.append(start + np.linspace(0.0, 1.0, count + 1)[1:, None] * (end - start))
    return np.concatenate(parts)
