"""Planned motions of a hand above a table: straight lines, and lines in joint space.

Everything is planned before anything moves, each motion from where the one before ends, and keeps
away from the blocks: where the arm is redundant, its elbow turns aside.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import between, distance, inverse
from sightplan_arm.hardware import JointTrajectory, Vector
from sightplan_arm.skills.clearance import Clearance, Obstacle
from sightplan_arm.surroundings import NOTHING, Around
from sightplan_arm.trajectories import (
    UnreachableError,
    backwards,
    cartesian,
    joint_line,
    timed,
)

if TYPE_CHECKING:
    from sightplan_arm.kinematics import Kinematics

_Thing = TypeVar('_Thing')

STEP_M = 0.01
"""Straight lines are cut into pieces of this length."""

TURNS_RAD = (0.0, 0.4, -0.4, 0.8, -0.8, 1.2, 1.6, 2.0, 2.4, -1.6, -2.4)
"""Angles by which the third joint is turned from ``ready`` to move the elbow aside, in order of
trial."""

ROOM_M = 0.02
"""Distance to blocks that is enough for every link."""

GUARDED = 0.5
"""Fraction of the usual speed where an unseen thing may be in the way."""

_APART = 4  # a motion's way back uses every fourth of its points
_JUMP_RAD = 0.4
_SAME_RAD = 0.05
_LEAST_M = 0.003  # distance below which a path is not taken
_LOW_M = 0.06  # a hand on its way keeps this height above the table


class NoRoomError(UnreachableError):
    """The arm would come too near to blocks."""


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of the arm, with its name for people.

    Attributes:
        phase: under which name its time is counted.
        what: what it is, for the operator.
        trajectory: of the joints.
        around: what stands there, what is held, and what may touch.
        guarded: whether it ends, without harm, where something is in the way.
    """

    phase: str
    what: str
    trajectory: JointTrajectory
    around: Around = NOTHING
    guarded: bool = False


class PathPlanner:
    """Finds paths of the arm among blocks. Poses are (4, 4) of the tip in the table's frame.

    Args:
        robot: its configuration.
        kinematics: of the robot.
        speed: part of the greatest velocities and accelerations that is used, in (0, 1].
    """

    def __init__(self, robot: RobotConfig, kinematics: Kinematics, speed: float) -> None:
        self.robot, self.kinematics, self.speed = robot, kinematics, speed
        self.clearance = Clearance(robot)

    def pose(self, posture: Vector) -> Vector:
        """Pose (4, 4) of the tip in the table's frame, in a posture."""
        return inverse(self.robot.table.pose) @ self.kinematics.fk(posture)

    @functools.cached_property
    def hand(self) -> list[tuple[Vector, Vector]]:
        """Boxes around the bodies on the last joint; see ``Clearance.on_last_joint``."""
        ready = self.robot.arm.ready
        return self.clearance.on_last_joint(ready, self.pose(ready))

    def check_hand(self, pose: Vector, blocks: Sequence[Obstacle], least_m: float) -> None:
        """Check that the hand has room in a pose; this is quicker than by ``rise``.

        Args:
            pose: of the tip.
            blocks: to keep away from.
            least_m: distance to them.

        Raises:
            NoRoomError: the hand would come nearer than that.
            UnreachableError: the arm does not reach the pose.
        """
        posture = self.kinematics.ik(self.robot.table.pose @ pose, self.robot.arm.ready)
        if posture is None:
            raise UnreachableError('the arm does not reach x {:.2f}, y {:.2f}, z {:.2f} m'
                                   .format(*pose[:3, 3]))
        room = self.clearance.least_m(posture[None], blocks, least_m, hand_only=True)
        if room < least_m:
            raise NoRoomError(f'the hand would come to {1e3 * room:.0f} mm from a thing')

    def heights(self, path: Vector) -> Vector:
        """(K,) of the tip along a path, from the robot's foot."""
        return self.kinematics.fk_many(path, (self.robot.tip_frame,))[:, 0, 2]

    def cut(self, path: Vector, reach_m: float, piece_m: float) -> tuple[Vector, Vector]:
        """Cut the lower end off a path up, in small steps.

        Args:
            path: (K, N).
            reach_m: how high the end reaches.
            piece_m: about how high a step is.

        Returns:
            (M, N) the end, and (L, N) what is above, from where the end ends.
        """
        heights = self.heights(path)
        reach = min(reach_m, float(heights[-1] - heights[0]))
        wanted = heights[0] + np.linspace(0.0, reach, 1 + max(1, round(reach / piece_m)))
        end = np.stack([np.interp(wanted, heights, joint) for joint in path.T], axis=1)
        return end, np.concatenate([end[-1:], path[heights > self.heights(end)[-1]]])

    def rise(self, low: Vector, high: Vector, blocks: Sequence[Obstacle],
             room_m: float = ROOM_M) -> list[Vector]:
        """Straight paths (K, N) up from a pose among blocks, the roomiest first.

        Args:
            low: pose of the tip.
            high: pose of the tip above.
            blocks: to keep away from.
            room_m: distance that is enough; with it the first path is as good as any.

        Raises:
            NoRoomError: all come too near to a block.
            UnreachableError: there is none.
        """
        found = []
        for posture in self._postures(low, blocks, room_m):
            try:
                path = self.straight(posture, high)
            except UnreachableError:
                continue
            room = self.clearance.least_m(path, blocks, room_m)
            found.append((room, path))
            if room >= room_m:
                break
        if not found:
            raise UnreachableError('the arm does not reach x {:.2f}, y {:.2f}, z {:.2f} m'.format(
                *low[:3, 3]))
        found.sort(key=lambda item: -item[0])
        if found[0][0] < _LEAST_M:
            raise NoRoomError(f'the arm would come to {1e3 * found[0][0]:.0f} mm from a block')
        return [path for room, path in found if room >= _LEAST_M]

    def _postures(self, pose: Vector, blocks: Sequence[Obstacle],
                  room_m: float) -> list[Vector]:
        """Postures with the tip at a pose, the roomiest first, as many as had to be tried."""
        found: list[tuple[float, Vector]] = []
        for turn in TURNS_RAD:
            seed = np.array(self.robot.arm.ready)
            if turn and len(seed) > 6:  # only a redundant arm can turn its elbow
                seed[2] += turn
                seed[0] -= 0.8 * turn
            posture = self.kinematics.ik(self.robot.table.pose @ pose, seed)
            if posture is None or any(np.abs(posture - q).max() < _SAME_RAD for _, q in found):
                continue
            room = self.clearance.least_m(posture[None], blocks, room_m)
            found.append((room, posture))
            if room >= room_m or len(seed) <= 6:
                break
        return [posture for _, posture in sorted(found, key=lambda item: -item[0])]

    def straight(self, start: Vector, pose: Vector) -> Vector:
        """(K, N) path along which the tip moves straight from a posture to a pose.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        return cartesian(self.kinematics, start, self.kinematics.fk(start),
                         self.robot.table.pose @ pose, STEP_M)

    def across(self, start: Vector, end: Vector) -> Vector:
        """(K, N) path along which the tip moves straight while the elbow goes to where it ends.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        first, last = self.kinematics.fk(start), self.kinematics.fk(end)
        metres, radians = distance(first, last)
        steps = max(1, math.ceil(metres / (2 * STEP_M)), math.ceil(radians / 0.1),
                    math.ceil(float(np.abs(end - start).max()) / (0.5 * _JUMP_RAD)))
        path = [start]
        for number in range(1, steps):
            seed = path[-1] + (end - path[-1]) / (steps - number + 1)
            posture = self.kinematics.ik(between(first, last, number / steps), seed)
            if posture is None:
                raise UnreachableError('the arm cannot go straight over the table')
            path.append(posture)
        path.append(end)
        jump = float(np.abs(np.diff(path, axis=0)).max())
        if jump > _JUMP_RAD:
            raise UnreachableError(f'the arm cannot go straight over the table: its joints would '
                                   f'jump by {jump:.1f} rad')
        return np.stack(path)

    def is_clear(self, path: Vector, blocks: Sequence[Obstacle], room_m: float) -> bool:
        """Whether the whole hand, fingers included, keeps a distance from blocks and table."""
        heights = self.heights(np.linspace(path[0], path[-1], 20) if len(path) == 2 else path)
        wanted = room_m + self.robot.gripper.hand.fingers_m  # ``Clearance`` knows no fingers
        return (float(heights.min()) > _LOW_M
                and self.clearance.least_m(path, blocks, wanted) >= wanted)


class MotionSequence:
    """Motions one after the other, from a posture.

    Attributes:
        motions: since the last ``take``.
        posture: in which they end.
        around: what stands there, what is held, and what may touch, from here on.
    """

    def __init__(self, paths: PathPlanner, start: Vector, around: Around = NOTHING) -> None:
        self._paths, self.around = paths, around
        self.motions: list[Motion] = []
        self.posture = np.asarray(start, dtype=np.float64)

    def branch(self) -> MotionSequence:
        """A new sequence that starts at the present end of this one."""
        return MotionSequence(self._paths, self.posture, self.around)

    def take(self) -> tuple[Motion, ...]:
        """The motions since the last call."""
        taken, self.motions = tuple(self.motions), []
        return taken

    def along(self, phase: str, what: str, path: Vector, speed: float = 1.0,
              guarded: bool = False) -> None:
        """Follow a path (K, N) that begins where the last motion ends."""
        if len(path) < 2 or float(np.abs(path - path[0]).max()) < 1e-6:
            return  # there already
        arm, part = self._paths.robot.arm, self._paths.speed * speed
        self.motions.append(Motion(phase, what, timed(
            path, part * arm.max_velocity, part * part * arm.max_acceleration), self.around,
            guarded))
        self.posture = np.asarray(path[-1], dtype=np.float64)

    def straight(self, phase: str, what: str, pose: Vector) -> None:
        """Move the tip along a straight line to a pose.

        Raises:
            UnreachableError: the arm cannot follow the line.
        """
        self.along(phase, what, self._paths.straight(self.posture, pose))

    def joints(self, phase: str, what: str, posture: Vector, speed: float = 1.0) -> None:
        """Move all joints to a posture along a straight line in joint space."""
        self.along(phase, what, joint_line(self.posture, posture), speed)

    def out(self, phase: str, what: str, posture: Vector, blocks: Sequence[Obstacle],
            room_m: float, speed: float = 1.0) -> None:
        """Move to a posture above the table: straight if the way is clear, else via ``ready``.

        Raises:
            UnreachableError: the arm cannot follow the line from there.
        """
        line = joint_line(self.posture, posture)
        if self._paths.is_clear(line, blocks, room_m):
            self.along(phase, what, line, speed)
            return
        ready = self._paths.robot.arm.ready
        self.joints(phase, 'to above the table', ready, speed)
        self.along(phase, what, self._paths.across(ready, posture), speed)

    def home(self, phase: str, blocks: Sequence[Obstacle], room_m: float,
             speed: float = 1.0) -> None:
        """Move from above the table to ``park``: straight if the way is clear, else via ``ready``.

        Raises:
            UnreachableError: the arm cannot follow the line to there.
        """
        arm = self._paths.robot.arm
        if not self._paths.is_clear(joint_line(self.posture, arm.park), blocks, room_m):
            self.along(phase, 'to above the table', self._paths.across(self.posture, arm.ready),
                       speed)
        self.joints(phase, 'park', arm.park, speed)


def back_from(paths: PathPlanner, posture: Vector, motions: Sequence[Motion],
              speed: float) -> tuple[Motion, ...]:
    """Motions back to the start, after something was in the way of the last of ``motions``.

    Args:
        paths: of the arm.
        posture: (N,) in which it stands, on or beside the way of the last motion.
        motions: that led there, at least one.
        speed: part of the speed with which it leaves what was in the way.
    """
    *before, last = motions
    # As it stands it may be nearer than the margin to what was seen beside its way.
    around = replace(last.around, obstacles=())
    made = last.trajectory.positions
    made = made[:1 + int(np.abs(made - posture).max(axis=1).argmin())][::-1]
    sequence = MotionSequence(paths, posture, around)
    sequence.along('retreat', f'back ({last.what})', np.concatenate(
        [posture[None], made[_APART::_APART], last.trajectory.positions[:1]]), speed)
    return (*sequence.take(), *(
        Motion('retreat', f'back ({motion.what})', backwards(motion.trajectory), motion.around)
        for motion in reversed(before)))


def turning_rad(motions: Iterable[Motion]) -> float:
    """Total turning of all joints over some motions, there and back added up [rad]."""
    return float(sum(np.abs(np.diff(motion.trajectory.positions, axis=0)).sum()
                     for motion in motions))


def all_that_work(tries: Iterable[Callable[[], _Thing]], otherwise: str) -> list[_Thing]:
    """Every plan that can be made; at least one.

    Raises:
        NoRoomError: as ``first_that_works``.
        UnreachableError: likewise.
    """
    rest, found = iter(tries), []
    while True:
        try:
            found.append(first_that_works(rest, otherwise))
        except UnreachableError:
            if not found:
                raise
            return found


def first_that_works(tries: Iterable[Callable[[], _Thing]], otherwise: str) -> _Thing:
    """The first plan that can be made.

    Raises:
        NoRoomError: none can, at least one for lack of room; the message says so.
        UnreachableError: none can; the message says why the last one could not.
    """
    kind, reason = UnreachableError, ''
    for attempt in tries:
        try:
            return attempt()
        except UnreachableError as error:
            if isinstance(error, NoRoomError) or kind is UnreachableError:
                kind, reason = type(error), f' ({error})'
    raise kind(f'{otherwise}{reason}')
