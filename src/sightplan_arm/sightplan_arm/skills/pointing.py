"""Grasping of pointed things: plans approach, grasp and lift of a place in the picture.

The picture's depth says what is there and how it can be taken; what it is called does not matter.
Everything is planned before anything moves, every motion passes the gate, and what became of it is
judged by fingers and camera.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sightplan.model import (
    HAND_FULL,
    Action,
    Feedback,
    FeedbackStatus,
    Form,
    InputError,
    Region,
    WorldError,
    check_settings,
    param,
)
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Arm, Camera, Vector
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import ArmUse, read_settings
from sightplan_arm.skills.grasp_paths import (
    ASKEW_RAD,
    STRAIGHT_RAD,
    Carry,
    GraspPlanner,
    Moves,
)
from sightplan_arm.skills.grasp_values import GRASPS, HOLDING
from sightplan_arm.skills.grasps import Grasp, GraspSettings, propose
from sightplan_arm.skills.motions import (
    Motion,
    MotionSequence,
    NoRoomError,
    PathPlanner,
    back_from,
    first_that_works,
)
from sightplan_arm.skills.report import Refused, SkillResult, Stopwatch
from sightplan_arm.skills.seen import (
    NothingThereError,
    Thing,
    axis_m,
    find,
    find_again,
    is_gone,
)
from sightplan_arm.skills.solids import on_table
from sightplan_arm.skills.surface import Mask, Surface, see_surface
from sightplan_arm.surroundings import Solid
from sightplan_arm.trajectories import UnreachableError, joint_line

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

GRASP, FOLLOW, PUT_BACK, CLEAR_VIEW = 'grasp', 'follow', 'put_back', 'clear_view'

_Planned = TypeVar('_Planned')

IN_THE_WAY = 'a finger came upon something on the way down'


@dataclass(frozen=True, slots=True)
class PointingSettings(GraspSettings):
    """Settings of how things are taken."""

    tries: int = param(2, 'How often a grasp is tried, each time with a new picture', low=1,
                       high=5)
    lift_m: float = param(0.18, 'How far a thing is lifted [m]', low=0.02, high=0.4)
    carry_m: float = param(0.012, 'How high over the table a thing is carried along a trace [m]',
                           low=0.002, high=0.2)
    verify: bool = param(True, 'Whether to look if the thing is gone from where it was, or is '
                         'where it was carried to')
    half_x_m: float = param(0.42, 'Half the width of the area that is looked at [m]', low=0.05,
                            high=1.0)
    half_y_m: float = param(0.34, 'Half its depth, away from the camera [m]', low=0.05, high=1.0)
    clearance_m: float = param(0.03, 'Distance kept to what stands on the table on the way [m]',
                               low=0.005, high=0.2)
    over_m: float = param(0.45, 'Height of the finger tips over all that can stand on the table '
                          '[m]', low=0.1, high=0.8)
    speed: float = param(0.9, "Part of the arm's greatest velocity that is used", low=0.01,
                         high=1.0)
    carry_speed: float = param(0.6, 'Part of that with a thing in the hand or close to others',
                               low=0.01, high=1.0)
    settle_s: float = param(0.2, 'How long to wait before the fingers close and after they have '
                            "opened, on the arm's clock [s]", low=0.0, high=5.0)


@dataclass(frozen=True, eq=False)
class Held:
    """The thing in the hand, and its motions.

    Attributes:
        thing: as it was seen before.
        moves: with which it was taken; None for a thing on its way low over the table.
    """

    thing: Thing
    moves: Moves | None


class PointingSkills(ArmUse):
    """Grasps the thing in a region of the camera's picture.

    Attributes:
        settings: as given, but for fingers that would leave the workspace box.
        reports: of the actions since the last reset, in order.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: PointingSettings | None = None) -> None:
        s = settings or PointingSettings()
        check_settings(s)
        lowest_m = float(robot.safety.box_min_m[2]) + HOLDING.inside_m
        self.settings = s = replace(s, table_m=max(s.table_m, lowest_m))
        super().__init__(robot, arm, gate, PathPlanner(robot, kinematics, s.speed),
                         settle_s=s.settle_s, over_m=s.over_m)
        self._planner = GraspPlanner(robot, self._paths, gate.limits.check, lift_m=s.lift_m,
                                     carry_speed=s.carry_speed, room_m=s.clearance_m)
        self._camera = camera
        self._taken: Held | None = None

    @property
    def held(self) -> Held | None:
        """The thing in the hand; None if there is none.

        A thing is held from when the fingers close around it, also if the grip is broken off, for
        as long as the gate finds them around it: what they let go while the arm was stopped is
        not held any more.
        """
        if self._taken is not None and self._gate.held is None:
            self._taken = None
        return self._taken

    def reset(self) -> None:
        """Begin an episode: open the gate, and get out of the camera's view.

        Raises:
            WorldError: the hand is not empty.
            ArmStoppedError: the gate refused to park.
        """
        self.forget()
        self._gate.new_episode()
        self._check_fingers(HOLDING.something_m)
        self._park(Stopwatch(self._arm.now_s))

    def recover(self) -> None:
        """Open the gate after a hold. Arm, fingers and the held thing stay as they are.

        Raises:
            ArmStoppedError: a stop must be released first, or a motion is under way.
        """
        self._gate.new_episode()

    def forget(self) -> None:
        """Forget the held thing and the reports: another episode begins."""
        self.reports, self._taken = [], None

    def grasp_at(self, where: Region | Mask, label: str = '', part: bool = False) -> SkillResult:
        """Grasp the thing at a place in the picture, and lift it.

        Args:
            where: a region in unit coordinates, or the pixels (H, W) of the thing.
            label: what it is called, for people.
            part: whether to take it just there, as at a handle, instead of where it is in
                balance.

        Returns:
            EXECUTED whatever became of it; the report has the cause: ``done`` with the thing in
            the lifted hand, or why not.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            WorldError: camera or arm broke down.
        """
        return self._execute(GRASP, label, functools.partial(self._grasp, where, part))

    def follow(self, trace: Region, label: str = '') -> SkillResult:
        """Take the thing at the start of a trace, carry it low along the trace, and put it down.

        The middle of the thing goes to where the table is seen through the trace's second point,
        and so on.

        Args:
            trace: in unit coordinates.
            label: what the thing is called, for people.

        Returns:
            as ``grasp_at``; ``done``: it stands at the end of the trace. ``no_room``: on its way
            it, or the arm, would run into another thing.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            InputError: the region is no trace, or leaves the picture.
            WorldError: camera or arm broke down.
        """
        if trace.form is not Form.TRACE:
            raise InputError(f'a {trace.form} cannot be followed; give a trace')
        return self._execute(FOLLOW, label, functools.partial(self._follow_trace, trace))

    def put_back(self) -> SkillResult:
        """Put the held thing down where it was, and leave the camera's view.

        What was broken off goes on from wherever the arm stands. A thing that was on its way
        along a trace is let go where it is: it is carried low.

        Returns:
            EXECUTED; ``unknown``: nothing is held.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            WorldError: the arm broke down.
        """
        return self._execute(PUT_BACK, '', self._put_back)

    def clear_view(self) -> SkillResult:
        """Move the arm out of the camera's view, so that a picture shows the whole table.

        Returns:
            EXECUTED; ``occupied``: the hand is not empty, and nothing moved.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            WorldError: the arm broke down.
        """
        def clear(_: Action, watch: Stopwatch) -> tuple[str, str]:
            self._begin(watch)
            return causes.DONE, ''
        return self._execute(CLEAR_VIEW, '', clear)

    def refuse(self, label: str, why: str) -> SkillResult:
        """Report that what is to be grasped was not found, as far as the asker knows.

        Args:
            label: what it is called, for people.
            why: in words.

        Returns:
            EXECUTED: nothing moved, ``not_found``; ``occupied``: the hand is not empty.

        Raises:
            ArmStoppedError: the arm holds or was stopped.
            WorldError: there are no joint states.
        """
        def not_found(_: Action, __: Stopwatch) -> tuple[str, str]:
            self._check_hand()
            raise Refused(causes.NOT_FOUND, why)
        return self._execute(GRASP, label, not_found)

    # --- one action ---------------------------------------------------------------------------

    def _execute(self, name: str, label: str,
                 carry_out: Callable[[Action, Stopwatch], tuple[str, str]]) -> SkillResult:
        action = Action(name, (_as_name(label),))
        cause, message = self._reported(action, lambda watch: carry_out(action, watch))
        status = (FeedbackStatus.WITHHELD if cause == causes.DRY_RUN else FeedbackStatus.EXECUTED)
        return SkillResult(Feedback(status, message), self.reports[-1])

    def _grasp(self, where: Region | Mask, part: bool, action: Action,
               watch: Stopwatch) -> tuple[str, str]:
        epoch = self._begin(watch)
        thing = self._find(where, part, watch)
        tried: list[Grasp] = []
        moves = self._plan(thing, tried, self._planner.lift, watch)
        with self._gate.skill(str(action), since=epoch):
            cause, message = self._take(thing, moves, watch)
            for _ in range(self.settings.tries - 1):
                if cause not in (causes.MISSED_GRASP, causes.DROPPED):
                    break
                tried.append(moves.grasp)
                try:
                    with watch.phase('perceive'):
                        thing = find_again(self._see(), thing)
                    moves = self._plan(thing, tried, self._planner.lift, watch)
                except (NothingThereError, Refused) as error:
                    return cause, f'{message}, and then: {error}'
                cause, message = self._take(thing, moves, watch)
        return cause, message

    def _take(self, thing: Thing, moves: Moves, watch: Stopwatch) -> tuple[str, str]:
        """Go to the thing, grasp it, lift it, and check that it was lifted."""
        opening = self._close_around(moves, Held(thing, moves), watch)
        if opening is None:
            return causes.MISSED_GRASP, IN_THE_WAY
        if self._gate.status().dry_run:
            self._follow((*moves.lift, *moves.put_back, *moves.escape), watch)
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        if opening < HOLDING.something_m:
            return self._missed(moves, watch)
        self._follow(moves.lift, watch)
        if self._opening() >= HOLDING.something_m:
            if not self.settings.verify:
                return causes.DONE, ''
            with watch.phase('verify'):
                gone = is_gone(self._see(), thing)
            if gone:
                return causes.DONE, ''
            self._follow(moves.put_back, watch)  # whatever it holds is not let go in the air
        self._open(watch)
        self._taken = None
        self._park(watch)
        return causes.DROPPED, (f'the fingers closed to {1e3 * opening:.0f} mm, but the thing '
                                'was not lifted')

    def _put_back(self, action: Action, watch: Stopwatch) -> tuple[str, str]:
        held = self.held
        if held is None:
            raise Refused(causes.UNKNOWN, 'nothing is held')
        if held.moves is None:
            with self._gate.skill(str(action)):
                self._open(watch)
                self._taken = None
            self._park(watch)
            return causes.DONE, ''
        with self._gate.skill(str(action)):
            self._follow(self._to_start_of(held.moves.put_back), watch)
            self._follow(held.moves.put_back, watch)
            self._open(watch)
            self._taken = None
            self._follow(held.moves.escape, watch)
        return causes.DONE, ''

    def _to_start_of(self, motions: Sequence[Motion]) -> tuple[Motion, ...]:
        """The motion from where the arm stands to where others begin, on the line of a lift."""
        start = motions[0].trajectory.positions[0]
        sequence = MotionSequence(self._paths, self._arm_state().positions)
        if float(np.abs(sequence.posture - start).max()) > (
                0.5 * self._robot.safety.start_tolerance_rad):
            sequence.along('place', 'to where the lift ended', joint_line(sequence.posture, start),
                           self.settings.carry_speed)
        return sequence.take()

    def _follow_trace(self, trace: Region, action: Action, watch: Stopwatch) -> tuple[str, str]:
        epoch = self._begin(watch)
        thing = self._find(trace, False, watch)
        way = self._way(thing.surface, trace)
        carry = self._plan(thing, (), functools.partial(
            self._planner.carry, way=way, low_m=self.settings.carry_m), watch)
        dry = self._gate.status().dry_run
        with self._gate.skill(str(action), since=epoch):
            opening = self._close_around(carry, Held(thing, None), watch)
            if opening is None:
                return causes.MISSED_GRASP, IN_THE_WAY
            if not dry and opening < HOLDING.something_m:
                return self._missed(carry, watch)
            for motion in carry.bring:
                self._follow((motion,), watch)
                if not dry and self._opening() < HOLDING.something_m:
                    self._open(watch)
                    self._taken = None
                    self._park(watch)
                    return causes.DROPPED, 'the fingers closed on the way: the thing is lost'
            self._open(watch)
            self._taken = None
            self._follow(carry.leave, watch)
        if dry:
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        return self._verify_placed(thing, carry.end_m, watch)

    def _verify_placed(self, thing: Thing, end_m: Vector, watch: Stopwatch) -> tuple[str, str]:
        if not self.settings.verify:
            return causes.DONE, ''
        with watch.phase('verify'):
            try:
                placed = find_again(self._see(), thing, end_m)
            except NothingThereError:
                return causes.MISPLACED, 'it is not found at the end of the trace'
        off = float(np.linalg.norm(placed.centre_m - end_m))
        if off > HOLDING.misplaced_m:
            return causes.MISPLACED, (f'it stands {1e3 * off:.0f} mm from the end of the trace')
        return causes.DONE, ''

    # --- parts of actions ---------------------------------------------------------------------

    def _begin(self, watch: Stopwatch) -> int:
        """Check that the hand is empty, and park; returns the gate's epoch."""
        epoch = self._gate.epoch
        self._check_hand()
        self._park(watch)
        return epoch

    def _check_hand(self) -> None:
        """Raise Refused if the hand is not empty."""
        if self.held is not None:
            raise Refused(causes.OCCUPIED, HAND_FULL)
        try:
            self._check_fingers(HOLDING.something_m)
        except WorldError as error:
            raise Refused(causes.OCCUPIED, str(error)) from error

    def _see(self) -> Surface:
        return see_surface(self._camera.observe(), self._robot.camera.pose,
                           (self.settings.half_x_m, self.settings.half_y_m))

    def _find(self, where: Region | Mask, part: bool, watch: Stopwatch) -> Thing:
        with watch.phase('perceive'):
            try:
                return find(self._see(), where, part)
            except NothingThereError as error:
                raise Refused(causes.NOT_FOUND, str(error)) from error

    def _way(self, surface: Surface, trace: Region) -> list[Vector]:
        """Points of the table seen at the points of a trace, without the first one."""
        height, width = surface.shape
        way = []
        half = np.array([self.settings.half_x_m, self.settings.half_y_m])
        for column, row in trace.pixels(width, height)[1:]:
            # The right and the lower edge are of the last pixels.
            point = surface.on_table(column - (column == width), row - (row == height))
            if point is None or (np.abs(point) > half).any():
                raise Refused(causes.UNREACHABLE, 'the trace leaves the table')
            way.append(point)
        return way

    def _plan(self, thing: Thing, tried: Sequence[Grasp],
              plan: Callable[[Thing, Grasp, Sequence[float]], _Planned],
              watch: Stopwatch) -> _Planned:
        """Plan with the best grasp that the arm can carry out.

        Raises:
            Refused: there is none.
        """
        with watch.phase('plan'):
            found = [grasp for grasp in propose(
                thing.surface, thing.cells, self._robot.gripper, self.settings, thing.near_m)
                if not any(_alike(grasp, other) for other in tried)]
            if not found:
                raise Refused(causes.NO_GRASP, 'no way to take it is seen: nothing of it fits '
                              f'between fingers that open to '
                              f'{1e3 * self._robot.gripper.open_m:.0f} mm, with room for them')
            try:
                return first_that_works(
                    [functools.partial(plan, thing, grasp, tilts)
                     for grasp, tilts in _attempts(thing, found[:GRASPS.planned])],
                    'it cannot be taken')
            except UnreachableError as error:
                cause = causes.NO_ROOM if isinstance(error, NoRoomError) else causes.UNREACHABLE
                raise Refused(cause, str(error)) from error

    def _close_around(self, moves: Moves | Carry, taken: Held, watch: Stopwatch) -> float | None:
        """Go to the thing and close the fingers.

        Args:
            moves: with which it is taken.
            taken: what is held when they close.
            watch: counts the time.

        Returns:
            how far they are apart then [m]; None: they came upon something on the way down, and
            the arm is back where it was, with open fingers.
        """
        gripper, dry = self._robot.gripper, self._gate.status().dry_run
        with watch.phase('release'):
            self._gate.grip(moves.grasp.opening_m, gripper.force_n, 'open the fingers')
        for number, motion in enumerate(moves.fetch, 1):
            if not self._follow((motion,), watch):
                self._follow(self._back(moves.fetch[:number]), watch)
                self._open(watch)
                return None
        with watch.phase('grasp'):
            self._arm.wait(0.0 if dry else self._settle_s)
            self._taken = None if dry else taken
            opening = self._gate.grip(0.0, self._force_n(moves.grasp), 'grasp',
                                      self._between(moves))
            self._arm.wait(0.0 if dry else self._settle_s)
        return opening

    def _back(self, motions: Sequence[Motion]) -> tuple[Motion, ...]:
        """Motions back along a way whose last motion was stopped by something."""
        return back_from(self._paths, self._arm_state().positions, motions,
                         self.settings.carry_speed)

    def _force_n(self, grasp: Grasp) -> float:
        """Force with which the fingers close [N]."""
        return self._robot.gripper.force_n

    def _between(self, moves: Moves | Carry) -> Solid | None:
        """Solid between the fingers where the hand has gone to, in the table's frame."""
        held = (moves.lift if isinstance(moves, Moves) else moves.bring)[0].around.held
        return held and on_table(held, self._paths.pose(moves.fetch[-1].trajectory.positions[-1]))

    def _missed(self, moves: Moves | Carry, watch: Stopwatch) -> tuple[str, str]:
        with watch.phase('release'):  # as far as before: there may be no room for more
            self._gate.grip(moves.grasp.opening_m, self._robot.gripper.force_n,
                            'open the fingers again')
            self._arm.wait(self._settle_s)
        self._follow(moves.escape, watch)
        self._open(watch)
        return causes.MISSED_GRASP, 'nothing is between the fingers'


def _attempts(thing: Thing, grasps: Sequence[Grasp]) -> list[tuple[Grasp, Sequence[float]]]:
    """Grasps with tilts of the hand, in the order in which they are tried.

    What stands upright is taken with the hand straight if any grasp allows that: it would lean
    later, and turn in the fingers.
    """
    if axis_m(thing.surface, thing.cells) is None:
        return [(grasp, (*STRAIGHT_RAD, *ASKEW_RAD)) for grasp in grasps]
    return [(grasp, tilts) for tilts in (STRAIGHT_RAD, ASKEW_RAD) for grasp in grasps]


def _as_name(label: str) -> str:
    """A label as an argument of an action: ``the red mug`` is ``the_red_mug``."""
    words = re.sub('[^a-z0-9]+', '_', label.lower()).strip('_')
    return words if words[:1].isalpha() else f'it_{words}'.rstrip('_')


def _alike(one: Grasp, other: Grasp) -> bool:
    return (float(np.linalg.norm(one.at_m - other.at_m)) < GRASPS.alike_m and
            abs(math.remainder(one.yaw_rad - other.yaw_rad, math.pi)) < GRASPS.alike_rad)


def make_skills(robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate, kinematics: Kinematics,
                **settings: Any) -> PointingSkills:
    """Make the skills from settings by name.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    return PointingSkills(robot, arm, camera, gate, kinematics,
                          read_settings(PointingSettings, settings))
