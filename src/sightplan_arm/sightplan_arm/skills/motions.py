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
        return inverse(self._robot.table.pose) @ self._kinematics.fk(self.posture)

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
        table = self._robot.table.pose
        path = cartesian(self._kinematics, self.posture, self._kinematics.fk(self.posture),
                         table @ pose, STEP_M)
        self._append(phase, what, path, speed)

    def joints(self, phase: str, what: str, posture: Vector, speed: float = 1.0) -> None:
        """Move all joints to a posture along a straight line in joint space."""
        self._append(phase, what, joint_line(self.posture, posture), speed)

    def _append(self, phase: str, what: str, path: Vector, speed: float) -> None:
        if len(path) < 2 or float(np.abs(path - path[0]).max()) < 1e-6:
            return  # there already
        arm, part = self._robot.arm, self._speed * speed
        self.motions.append(Motion(phase, what, timed(
            path, part * arm.max_velocity, part * part * arm.max_acceleration)))
        self.posture = np.asarray(path[-1], dtype=np.float64)


def postures(robot: RobotConfig, kinematics: Kinematics, pose: Vector,
             seeds: Iterable[Vector]) -> list[Vector]:
    """Postures with the tip at a pose in the table's frame, each different one once.

    A hand with two fingers may as well be turned by half a turn.
    """
    found: list[Vector] = []
    half_turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    for turned in (pose, pose @ half_turn):
        for seed in seeds:
            q = kinematics.ik(robot.table.pose @ turned, seed)
            if q is not None and all(np.abs(q - other).max() > 0.05 for other in found):
                found.append(q)
    return found


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
