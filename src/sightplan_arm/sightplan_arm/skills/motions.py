"""Planned motions of a hand above a table: straight lines, and lines in joint space.

Everything is planned before anything moves, each motion from where the one before ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import inverse
from sightplan_arm.hardware import JointTrajectory, Vector
from sightplan_arm.trajectories import UnreachableError, cartesian, joint_line, timed

if TYPE_CHECKING:
    from sightplan_arm.kinematics import Kinematics

_Thing = TypeVar('_Thing')

STEP_M = 0.01
"""Straight lines are cut into pieces of this length."""


@dataclass(frozen=True, eq=False)
class Motion:
    """One motion of the arm.

    Attributes:
        phase: under which name its time is counted.
        what: what it is, for the operator.
        trajectory: of the joints.
    """

    phase: str
    what: str
    trajectory: JointTrajectory


class Route:
    """Motions one after the other, from a posture.

    Args:
        robot: its configuration.
        kinematics: of the robot.
        start: (N,) posture where the first motion begins.
        speed: part of the greatest velocities and accelerations that is used, in (0, 1].
    """

    def __init__(self, robot: RobotConfig, kinematics: Kinematics, start: Vector,
                 speed: float) -> None:
        self._robot, self._kinematics, self._speed = robot, kinematics, speed
        self.motions: list[Motion] = []
        self.posture = np.asarray(start, dtype=np.float64)

    @property
    def pose(self) -> Vector:
        """(4, 4) of the tip in the table's frame where the last motion ends."""
        return self._at(self.posture)

    def branch(self) -> Route:
        """Another route from here on, without the motions so far."""
        return Route(self._robot, self._kinematics, self.posture, self._speed)

    def take(self) -> tuple[Motion, ...]:
        """The motions since the last call."""
        taken, self.motions = tuple(self.motions), []
        return taken

    def straight(self, phase: str, what: str, pose: Vector, speed: float = 1.0) -> None:
        """Move the tip along a straight line to a pose in the table's frame.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        self._append(phase, what, self._line(self.posture, pose), speed)

    def joints(self, phase: str, what: str, posture: Vector) -> None:
        """Move all joints to a posture along a straight line in joint space."""
        self._append(phase, what, joint_line(self.posture, posture), 1.0)

    def out(self, phase: str, what: str, pose: Vector) -> None:
        """From where the arm is to ``ready``, then straight to a pose above the table.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        self.joints(phase, 'to above the table', self._robot.arm.ready)
        self.straight(phase, what, pose)

    def home(self, phase: str) -> None:
        """Straight to where the tip is in ``ready``, then to ``park``.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        arm = self._robot.arm
        self.straight(phase, 'to above the table', self._at(arm.ready))
        self.joints(phase, 'park', arm.park)

    def _at(self, posture: Vector) -> Vector:
        return inverse(self._robot.table.pose) @ self._kinematics.fk(posture)

    def _line(self, start: Vector, pose: Vector) -> Vector:
        """(K, N) path of a straight line of the tip."""
        return cartesian(self._kinematics, start, self._kinematics.fk(start),
                         self._robot.table.pose @ pose, STEP_M)

    def _append(self, phase: str, what: str, path: Vector, speed: float) -> None:
        if len(path) < 2 or float(np.abs(path - path[0]).max()) < 1e-6:
            return  # there already
        arm, part = self._robot.arm, self._speed * speed
        self.motions.append(Motion(phase, what, timed(
            path, part * arm.max_velocity, part * part * arm.max_acceleration)))
        self.posture = np.asarray(path[-1], dtype=np.float64)


def first_that_works(tries: Iterable[Callable[[], _Thing]], otherwise: str) -> _Thing:
    """The first plan that can be made.

    Raises:
        UnreachableError: none can; the message says why the last one could not.
    """
    reason = ''
    for attempt in tries:
        try:
            return attempt()
        except UnreachableError as error:
            reason = f' ({error})'
    raise UnreachableError(f'{otherwise}{reason}')
