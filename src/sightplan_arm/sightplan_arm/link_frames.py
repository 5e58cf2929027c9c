"""Poses of the links of a robot's URDF, each in the link that it hangs on, as tf2 wants them."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pinocchio
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import inverse

Array = NDArray[np.float64]


class LinkFrames:
    """The links of a robot's URDF, those of its gripper included.

    Attributes:
        root: link that hangs on no other.
        base: (4, 4) pose of the robot file's base frame in the root, which is fixed.
    """

    def __init__(self, robot: RobotConfig) -> None:
        """Read the URDF.

        Raises:
            InputError: it cannot be read.
        """
        try:
            model = pinocchio.buildModelFromUrdf(str(robot.urdf))
        except (ValueError, RuntimeError) as error:
            raise InputError(f'{robot.urdf}: cannot be read: {error}') from error
        self._model, self._data = model, model.createData()
        links = [number for number, frame in enumerate(model.frames)
                 if frame.type == pinocchio.FrameType.BODY]
        self._parents: dict[int, int] = {}
        for number in links:
            above = model.frames[number].parentFrame
            while above and above not in links:
                above = model.frames[above].parentFrame
            if above:
                self._parents[number] = above
        (self.root,) = (model.frames[number].name for number in links
                        if number not in self._parents)
        self._place({})
        self.base: Array = np.asarray(
            inverse(self._pose(model.getFrameId(self.root)))
            @ self._pose(model.getFrameId(robot.base_frame)))

    def poses(self, positions: Mapping[str, float]) -> dict[str, tuple[str, Array]]:
        """Return the link above each link but the root, and the (4, 4) pose in it.

        Args:
            positions: of the joints by name [rad or m]; joints that are not named are at 0.
        """
        self._place(positions)
        frames = self._model.frames
        return {frames[link].name: (frames[above].name, np.asarray(
            inverse(self._pose(above)) @ self._pose(link)))
            for link, above in self._parents.items()}

    def _place(self, positions: Mapping[str, float]) -> None:
        q = pinocchio.neutral(self._model)
        for name, joint in zip(self._model.names, self._model.joints, strict=True):
            at = positions.get(str(name))
            if at is None:
                continue
            if joint.nq == 2:  # one that turns without end
                q[joint.idx_q:joint.idx_q + 2] = math.cos(at), math.sin(at)
            else:
                q[joint.idx_q] = at
        pinocchio.framesForwardKinematics(self._model, self._data, q)

    def _pose(self, number: int) -> Array:
        return np.asarray(self._data.oMf[number].homogeneous)
