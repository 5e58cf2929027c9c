"""The motions with which a thing is taken, lifted, carried and put down: planned, not made."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import cv2
import numpy as np

from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import inverse, make_pose, rotation_from_vector
from sightplan_arm.hardware import ArmStoppedError, JointTrajectory, Vector
from sightplan_arm.skills.clearance import Box
from sightplan_arm.skills.grasps import Grasp
from sightplan_arm.skills.motions import (
    GUARDED,
    STEP_M,
    Motion,
    MotionSequence,
    NoRoomError,
    PathPlanner,
    first_that_works,
)
from sightplan_arm.skills.seen import Thing, footprint, top_m
from sightplan_arm.skills.solids import put_down, solids, thing_in_hand
from sightplan_arm.skills.surface import CELL_M, Mask
from sightplan_arm.surroundings import Around
from sightplan_arm.trajectories import UnreachableError

_Planned = TypeVar('_Planned')

_ROOM_M = 0.005  # distance to things that is enough around a grasp
_LEAST_M = 0.003  # distance below which a path is not taken
_MARGIN_M = 0.01  # below the hand's body, at its lowest
_BEFORE_M = 0.01  # distance above a thing from which the hand is slower
_DROP_M = 0.002  # height above where it was at which a thing is let go


STRAIGHT_RAD, ASKEW_RAD = (0.0,), (0.25, 0.4)
"""Tilts of the hand towards the robot's base, for far things [rad]."""


@dataclass(frozen=True, eq=False)
class Moves:
    """The planned motions of a grasp.

    Attributes:
        grasp: what they are for.
        fetch: to the thing; guarded on the way down.
        lift: up with it.
        escape: from the thing back to where the camera sees everything, with an empty hand.
        put_back: down again from where the lift ends.
    """

    grasp: Grasp
    fetch: tuple[Motion, ...]
    lift: tuple[Motion, ...]
    escape: tuple[Motion, ...]
    put_back: tuple[Motion, ...]


@dataclass(frozen=True, eq=False)
class Carry:
    """The planned motions of carrying a thing along a way.

    Attributes:
        grasp: with which it is taken.
        fetch: as of ``Moves``.
        bring: up a little, along the way, and down.
        leave: back to where the camera sees everything.
        escape: the same from where the thing was.
        end_m: (2,) where the thing's middle will be.
    """

    grasp: Grasp
    fetch: tuple[Motion, ...]
    bring: tuple[Motion, ...]
    leave: tuple[Motion, ...]
    escape: tuple[Motion, ...]
    end_m: Vector


class GraspPlanner:
    """Plans motions around grasps.

    Args:
        robot: its configuration.
        paths: finds paths among boxes.
        check: raises ArmStoppedError for a trajectory that the gate would refuse, with what is
            around.
        lift_m: how far things are lifted.
        carry_speed: part of the speed with a thing in the hand or close to others.
        room_m: distance kept to things on the way.
    """

    lifts: ClassVar[tuple[float, ...]] = (1.0, 0.8, 0.6)
    """Parts of the lift, in the order in which they are tried: the arm may not reach as high."""

    def __init__(self, robot: RobotConfig, paths: PathPlanner,
                 check: Callable[[JointTrajectory, Around], None], *, lift_m: float,
                 carry_speed: float, room_m: float) -> None:
        self._robot, self._paths, self._check = robot, paths, check
        self._lift_m, self._slow, self._room_m = lift_m, carry_speed, room_m
        self._base_m = inverse(robot.table.pose)[:3, 3]

    def lift(self, thing: Thing, grasp: Grasp, tilts_rad: Sequence[float]) -> Moves:
        """The motions with which a thing is taken and lifted.

        Args:
            thing: what is taken.
            grasp: how.
            tilts_rad: of the hand, to try in this order.

        Raises:
            NoRoomError: the arm would come too near to things.
            UnreachableError: the arm cannot do it.
        """
        boxes = self._in_the_way(thing)
        return self._first(thing, grasp, tilts_rad,
                           functools.partial(self._lift, thing, grasp, boxes))

    def carry(self, thing: Thing, grasp: Grasp, tilts_rad: Sequence[float],
              way: Sequence[Vector], low_m: float) -> Carry:
        """The motions with which a thing is taken and carried along a way.

        Args:
            thing: what is carried.
            grasp: how it is taken.
            tilts_rad: as in ``lift``.
            way: (2,) points of the table to which its middle goes one after the other.
            low_m: how high it is carried.

        Raises:
            NoRoomError: the arm would come too near to things, or the thing would.
            UnreachableError: the arm cannot do it.
        """
        boxes = self._in_the_way(thing)
        _check_way(thing, way, low_m)
        return self._first(thing, grasp, tilts_rad, functools.partial(
            self._carry, thing, grasp, way, low_m, boxes))

    # --- inside -------------------------------------------------------------------------------

    def _in_the_way(self, thing: Thing, without: Mask | None = None) -> list[Box]:
        """Boxes around a thing, as far as the hand's body can come near it.

        What is lower than the fingers are long is between them, or beside: see ``grasps``.
        """
        least = self._robot.gripper.hand.fingers_m - _MARGIN_M
        return [box for box in thing.surface.boxes(without) if float(box.size_m[2]) > least]

    def _first(self, thing: Thing, grasp: Grasp, tilts_rad: Sequence[float],
               plan: Callable[[Vector], _Planned]) -> _Planned:
        """The first plan that works, of all ways to put the hand around a thing.

        Args:
            thing: what is taken.
            grasp: how.
            tilts_rad: as in ``lift``.
            plan: of a path (K, N) straight up from the grasp.
        """
        others = self._in_the_way(thing, without=thing.cells)
        return first_that_works([
            functools.partial(self._lifted, self._leaning(grasp.pose, turn, tilt), others, plan)
            for tilt in tilts_rad for turn in (0.0, math.pi)], 'the place cannot be reached')

    def _lifted(self, low: Vector, others: Sequence[Box],
                plan: Callable[[Vector], _Planned]) -> _Planned:
        """Plan a motion from a pose of the tip around a thing, with the highest possible lift.

        Where there is no room, a smaller lift does not help.
        """
        wrong = UnreachableError('')
        for part in self.lifts:
            try:
                return self._above(low, part * self._lift_m, others, plan)
            except NoRoomError:
                raise
            except UnreachableError as error:
                wrong = error
        raise wrong

    def _leaning(self, pose: Vector, turn: float, tilt: float) -> Vector:
        """A pose of the tip, turned about the vertical, with the hand tilted to the robot."""
        out = pose[:3, 3] - self._base_m
        axis = np.array([-out[1], out[0], 0.0]) / max(float(np.hypot(*out[:2])), 1e-6)
        rotation = rotation_from_vector(-tilt * axis) @ rotation_from_vector((0.0, 0.0, turn))
        half = self._robot.gripper.hand.finger_half_width_m
        tip = pose[:3, 3] + (0.0, 0.0, half * math.sin(tilt))  # the lower edge stays where it was
        return make_pose(tip, rotation @ pose[:3, :3])

    def _above(self, low: Vector, lift_m: float, others: Sequence[Box],
               plan: Callable[[Vector], _Planned]) -> _Planned:
        """A plan from a pose of the tip around a thing."""
        high = low.copy()
        high[2, 3] += lift_m
        for pose in (low, high):
            self._paths.check_hand(pose, others, _LEAST_M)
        return first_that_works([functools.partial(plan, path)
                                 for path in self._paths.rise(low, high, others, _ROOM_M)],
                                'no way is found over the table')

    def _lift(self, thing: Thing, grasp: Grasp, boxes: Sequence[Box], path: Vector) -> Moves:
        """The motions along a path up from a thing."""
        sequence = self._approach(thing, grasp, boxes, path)
        fetch = sequence.take()
        back = sequence.branch()
        sequence.around = around = self._holding(thing, sequence.around, path)
        sequence.along('lift', 'up with the thing', path, self._slow)
        lift = sequence.take()
        down = sequence.branch()
        assert around.held is not None
        down.around = replace(around, touches=put_down(
            around.held, self._paths.pose(path[0]), around.obstacles, None))
        down.along('place', 'down with the thing', path[::-1], self._slow)
        back.along('retreat', 'up from the thing', path, self._slow)
        back.home('retreat', boxes, self._room_m)
        moves = Moves(grasp, fetch, lift, back.take(), down.take())
        self._check_all((*moves.fetch, *moves.lift, *moves.escape, *moves.put_back))
        return moves

    def _carry(self, thing: Thing, grasp: Grasp, way: Sequence[Vector], low_m: float,
               boxes: Sequence[Box], path: Vector) -> Carry:
        """The motions along a way, from a path up from a thing."""
        sequence = self._approach(thing, grasp, boxes, path)
        fetch = sequence.take()
        back = sequence.branch()
        empty = sequence.around
        sequence.around = around = self._holding(thing, empty, path)
        back.along('retreat', 'up from the thing', path, self._slow)
        back.home('retreat', boxes, self._room_m)
        heights = [float(self._paths.pose(posture)[2, 3]) for posture in path]
        over = next((k for k, height in enumerate(heights) if height >= heights[0] + low_m),
                    len(path) - 1)
        sequence.along('lift', 'up with the thing', path[:over + 1], self._slow)
        start = self._paths.pose(sequence.posture)
        others = self._in_the_way(thing, without=thing.cells)
        for number, point in enumerate(way, 1):
            pose = start.copy()
            pose[:2, 3] += np.asarray(point) - thing.centre_m
            self._line(sequence, 'transfer', f'to point {number} of the way', pose, others)
        placed = self._paths.pose(sequence.posture)
        placed[2, 3] = heights[0] + _DROP_M
        assert around.held is not None
        sequence.around = replace(around, touches=put_down(
            around.held, placed, around.obstacles, None))
        self._line(sequence, 'place', 'down with the thing', placed, others)
        bring = sequence.take()
        raised = placed.copy()
        raised[2, 3] = heights[-1]
        sequence.around = empty
        self._line(sequence, 'retreat', 'up from the thing', raised, others)
        sequence.home('retreat', boxes, self._room_m)
        carry = Carry(grasp, fetch, bring, sequence.take(), back.take(),
                      np.asarray(way[-1], np.float64))
        self._check_all((*carry.fetch, *carry.bring, *carry.leave, *carry.escape))
        return carry

    def _holding(self, thing: Thing, empty: Around, path: Vector) -> Around:
        """Surroundings with the thing in the hand, from the lower end of a path up."""
        return replace(empty, held=thing_in_hand(thing, self._paths.pose(path[0])))

    def _approach(self, thing: Thing, grasp: Grasp, boxes: Sequence[Box],
                  path: Vector) -> MotionSequence:
        # What is left of the thing's own rim is no obstacle to it.
        others = self._in_the_way(thing, without=_grown(thing.cells))
        sequence = MotionSequence(self._paths, self._robot.arm.park, Around(
            solids(others, self._robot.table.block_m), opening_m=grasp.opening_m))
        sequence.out('approach', 'to above the thing', path[-1], boxes, self._room_m)
        high_m = top_m(thing.surface, thing.cells) - float(grasp.pose[2, 3])
        around, above = self._paths.cut(path, max(
            high_m + self._robot.gripper.hand.below_tip_m, 0.0) + _BEFORE_M, STEP_M)
        sequence.along('approach', 'down to the thing', above[::-1], self._slow, guarded=True)
        sequence.along('approach', 'down around the thing', around[::-1], GUARDED * self._slow,
                       guarded=True)
        return sequence

    def _line(self, sequence: MotionSequence, phase: str, what: str, pose: Vector,
              others: Sequence[Box]) -> None:
        """Move the tip straight to a pose, if the arm keeps clear of the other things."""
        path = self._paths.straight(sequence.posture, pose)
        room = self._paths.clearance.least_m(path, others, _LEAST_M)
        if room < _LEAST_M:
            raise NoRoomError(f'the arm would come to {1e3 * room:.0f} mm from a thing')
        sequence.along(phase, what, path, self._slow)

    def _check_all(self, motions: Sequence[Motion]) -> None:
        for motion in motions:
            try:
                self._check(motion.trajectory, motion.around)
            except ArmStoppedError as error:
                raise UnreachableError(f'{error} ({error.cause})') from error


def _grown(cells: Mask) -> Mask:
    """Cells with two more around them."""
    return np.asarray(cv2.dilate(cells.astype(np.uint8), np.ones((5, 5), np.uint8)) > 0)


def _check_way(thing: Thing, way: Sequence[Vector], low_m: float) -> None:
    """Check that a thing does not run into others on its way, as far as they are seen.

    Raises:
        NoRoomError: it would.
    """
    high: Mask = (np.nan_to_num(thing.surface.top_m) > low_m) & ~_grown(thing.cells)
    columns, rows = np.floor((footprint(thing)[0] - thing.surface.low_m) / CELL_M).astype(int).T
    last = np.asarray(thing.centre_m)
    for point in way:
        length = float(np.linalg.norm(np.asarray(point) - last))
        for part in np.linspace(0.0, 1.0, max(2, math.ceil(length / STEP_M))):
            shift = np.round((last + part * (np.asarray(point) - last) - thing.centre_m) / CELL_M)
            r, c = rows + int(shift[1]), columns + int(shift[0])
            inside = (r >= 0) & (r < high.shape[0]) & (c >= 0) & (c < high.shape[1])
            if high[r[inside], c[inside]].any():
                raise NoRoomError('on its way the thing would run into another one')
        last = np.asarray(point)
