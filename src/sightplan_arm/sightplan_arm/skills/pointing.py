"""Taking what somebody points at: a place in the picture becomes approach, grasp and lift.

The picture's depth says what is there and how it can be taken; what it is called does not matter.
Everything is planned before anything moves, every motion passes the gate, and what became of it is
judged by fingers and camera.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightplan.model import (
    Action,
    Feedback,
    FeedbackStatus,
    Form,
    InputError,
    Region,
    WorldError,
    check_settings,
    param,
    settings_fields,
)
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import inverse, make_pose, rotation_from_vector
from sightplan_arm.hardware import Arm, ArmStoppedError, Camera, Rgbd, Vector
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import ArmUse
from sightplan_arm.skills.grasps import Grasp, GraspSettings, propose
from sightplan_arm.skills.motions import (
    Motion,
    MotionSequence,
    NoRoomError,
    PathPlanner,
    first_that_works,
)
from sightplan_arm.skills.report import SkillReport, SkillResult, Stopwatch
from sightplan_arm.skills.surface import CELL_M, Mask, Surface, see_surface
from sightplan_arm.trajectories import UnreachableError

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

ACTION = 'grasp'

_SOMETHING_M = 0.0012  # fingers that are this far apart hold something
_LIFTS = (1.0, 0.8, 0.6)  # parts of the lift that are tried where the arm does not reach as high
_TILTS_RAD = (0.0, 0.25, 0.4)  # of the hand towards the robot's foot, for what is far away
_PLANNED = 10  # proposals for which paths are planned
_UNCHANGED_M = 0.010  # cells whose height changed by less have not changed
_STILL = 0.4  # part of a thing's cells; if more have not changed it is still there
_STRAYED_M = 0.10  # so far may a thing have been pushed by a grasp that failed
_STRAYED_RGB = 60.0
_TRIED_M, _TRIED_RAD = 0.012, 0.3  # grasps nearer than this are the same


@dataclass(frozen=True, slots=True)
class PointingSettings(GraspSettings):
    """How things are taken."""

    tries: int = param(2, 'How often a grasp is tried, each time after a new look', low=1, high=5)
    lift_m: float = param(0.18, 'How far a thing is lifted [m]', low=0.02, high=0.4)
    verify: bool = param(True, 'Whether to look if the thing is gone from where it was')
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


class _Refused(Exception):
    """Nothing is done, or nothing more."""

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause, self.message = cause, message


@dataclass(frozen=True, eq=False)
class Thing:
    """What is to be taken, as seen.

    Attributes:
        surface: in which it is seen.
        cells: (rows, columns) of the height map.
        centre_m: (2,) the middle of its cells.
        rgb: (3,) mean colour.
        near_m: (2,) where it shall be taken; None: where it is in balance.
    """

    surface: Surface
    cells: Mask
    centre_m: Vector
    rgb: Vector
    near_m: Vector | None = None


@dataclass(frozen=True, eq=False)
class Moves:
    """The planned motions of a grasp.

    Attributes:
        grasp: what they are for.
        fetch: to the thing.
        lift: up with it.
        escape: back to where the camera sees everything, with nothing in the hand.
    """

    grasp: Grasp
    fetch: tuple[Motion, ...]
    lift: tuple[Motion, ...]
    escape: tuple[Motion, ...]


@dataclass(frozen=True, eq=False)
class Held:
    """What is in the hand.

    Attributes:
        thing: as it was seen before.
        moves: with which it was taken.
        opening_m: of the fingers around it.
    """

    thing: Thing
    moves: Moves
    opening_m: float


class PointingSkills(ArmUse):
    """Takes what a region of the camera's picture shows.

    Attributes:
        reports: of the actions since the last reset, in order.
        held: what is in the hand; None if nothing is.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: PointingSettings | None = None) -> None:
        self.settings = settings or PointingSettings()
        check_settings(self.settings)
        super().__init__(robot, arm, gate, PathPlanner(robot, kinematics, self.settings.speed),
                         settle_s=self.settings.settle_s, over_m=self.settings.over_m)
        self._camera = camera
        self._base_m = inverse(robot.table.pose)[:3, 3]
        self.reports: list[SkillReport] = []
        self.held: Held | None = None

    def reset(self) -> None:
        """Begin an episode: open the gate, and get out of the camera's view.

        Raises:
            WorldError: the hand is not empty.
            ArmStoppedError: the gate refused to park.
        """
        self.reports, self.held = [], None
        self._gate.new_episode()
        self._check_fingers()
        self._park(Stopwatch(self._arm.now_s))

    def look(self) -> Rgbd:
        """A picture, with the arm out of the way unless it holds something.

        Raises:
            DeadlineError: none came in time.
            ArmStoppedError: the gate refused to park.
        """
        if self.held is None:
            self._park(Stopwatch(self._arm.now_s))
        return self._camera.observe()

    def grasp_at(self, where: Region | Mask, label: str = '', part: bool = False) -> SkillResult:
        """Take what is somewhere in the picture, and lift it.

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
        action = Action(ACTION, (_as_name(label),))
        return self._execute(action, lambda watch: self._grasp(action, where, part, watch))

    # --- one action ---------------------------------------------------------------------------

    def _execute(self, action: Action, carry_out: Any) -> SkillResult:
        watch = Stopwatch(self._arm.now_s)
        try:
            self._gate.check_armed()
            try:
                cause, message = carry_out(watch)
            except _Refused as error:
                cause, message = error.cause, error.message
                self._gate.check_armed()  # meanwhile it may have been stopped
        except ArmStoppedError as error:
            self.reports.append(watch.report(action, causes.STOPPED, f'{error.cause}: {error}'))
            raise
        except Exception as error:
            self.reports.append(watch.report(action, causes.FAILED, str(error)))
            raise
        self.reports.append(watch.report(action, cause, message))
        return SkillResult(Feedback(FeedbackStatus.EXECUTED, message), self.reports[-1])

    def _grasp(self, action: Action, where: Region | Mask, part: bool,
               watch: Stopwatch) -> tuple[str, str]:
        epoch = self._gate.epoch
        try:
            self._check_fingers()
        except WorldError as error:
            raise _Refused(causes.OCCUPIED, str(error)) from error
        self._park(watch)
        with watch.phase('perceive'):
            thing = find(self._see(), where, part)
        tried: list[Grasp] = []
        with watch.phase('plan'):
            moves = self._plan(thing, tried)
        with self._gate.skill(str(action), since=epoch):
            cause, message = self._take(thing, moves, watch)
            for _ in range(self.settings.tries - 1):
                if cause not in (causes.MISSED_GRASP, causes.DROPPED):
                    break
                tried.append(moves.grasp)
                try:
                    with watch.phase('perceive'):
                        thing = find_again(self._see(), thing)
                    with watch.phase('plan'):
                        moves = self._plan(thing, tried)
                except _Refused as error:
                    return cause, f'{message}, and then: {error.message}'
                cause, message = self._take(thing, moves, watch)
        return cause, message

    def _see(self) -> Surface:
        return see_surface(self._camera.observe(), self._robot.camera.pose,
                           (self.settings.half_x_m, self.settings.half_y_m))

    def _take(self, thing: Thing, moves: Moves, watch: Stopwatch) -> tuple[str, str]:
        """Fetch, grasp, lift, and see what became of it."""
        gripper, dry = self._robot.gripper, self._gate.status().dry_run
        with watch.phase('release'):
            self._gate.grip(moves.grasp.opening_m, gripper.force_n, 'open the fingers')
        self._follow(moves.fetch, watch)
        with watch.phase('grasp'):
            self._arm.wait(0.0 if dry else self._settle_s)
            opening = self._gate.grip(0.0, gripper.force_n, 'grasp')
            self._arm.wait(0.0 if dry else self._settle_s)
        if dry:
            self._follow((*moves.lift, *moves.escape), watch)
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        if opening < _SOMETHING_M:
            self._open(watch)
            self._follow(moves.escape, watch)
            return causes.MISSED_GRASP, 'nothing is between the fingers'
        self._follow(moves.lift, watch)
        held = self._opening()
        lost = held < _SOMETHING_M
        if not lost and self.settings.verify:
            with watch.phase('verify'):
                lost = not is_gone(self._see(), thing)
        if lost:
            self._open(watch)
            self._park(watch)
            return causes.DROPPED, (f'the fingers closed to {1e3 * opening:.0f} mm, but the thing '
                                    'was not lifted')
        self.held = Held(thing, moves, held)
        return causes.DONE, ''

    # --- planning -----------------------------------------------------------------------------

    def _plan(self, thing: Thing, tried: Sequence[Grasp]) -> Moves:
        """The best grasp that the arm can carry out, and how.

        Raises:
            _Refused: there is none.
        """
        found = [grasp for grasp in propose(thing.surface, thing.cells, self._robot.gripper,
                                            self.settings, thing.near_m)
                 if not any(_alike(grasp, other) for other in tried)]
        if not found:
            raise _Refused(causes.NO_GRASP, 'no way to take it is seen: nothing of it fits '
                           f'between fingers that open to '
                           f'{1e3 * self._robot.gripper.open_m:.0f} mm, with room for them')
        try:
            return first_that_works([functools.partial(self._moves, thing, grasp)
                                     for grasp in found[:_PLANNED]], 'it cannot be taken')
        except UnreachableError as error:
            cause = causes.NO_ROOM if isinstance(error, NoRoomError) else causes.UNREACHABLE
            raise _Refused(cause, str(error)) from error

    def _moves(self, thing: Thing, grasp: Grasp) -> Moves:
        """The motions of a grasp.

        Raises:
            UnreachableError: they cannot be made.
        """
        boxes = thing.surface.boxes()
        others = thing.surface.boxes(without=thing.cells)
        return first_that_works([
            functools.partial(self._join, grasp, self._leaning(grasp.pose, turn, tilt),
                              part * self.settings.lift_m, boxes, others)
            for tilt in _TILTS_RAD for part in _LIFTS for turn in (0.0, math.pi)],
            'the place cannot be reached')

    def _leaning(self, pose: Vector, turn: float, tilt: float) -> Vector:
        """A pose of the tip, turned about the vertical, with the hand tilted to the robot."""
        out = pose[:3, 3] - self._base_m
        axis = np.array([-out[1], out[0], 0.0]) / max(float(np.hypot(*out[:2])), 1e-6)
        rotation = rotation_from_vector(-tilt * axis) @ rotation_from_vector((0.0, 0.0, turn))
        half = self._robot.gripper.hand.finger_half_width_m
        tip = pose[:3, 3] + (0.0, 0.0, half * math.sin(tilt))  # the lower edge stays where it was
        return make_pose(tip, rotation @ pose[:3, :3])

    def _join(self, grasp: Grasp, low: Vector, lift_m: float, boxes: Sequence[Any],
              others: Sequence[Any]) -> Moves:
        high = low.copy()
        high[2, 3] += lift_m
        ready, to_base = self._robot.arm.ready, self._robot.table.pose
        for pose in (low, high):  # out of reach is found out faster here than by ``rise``
            if self._paths.kinematics.ik(to_base @ pose, ready) is None:
                raise UnreachableError('the arm does not reach x {:.2f}, y {:.2f}, z {:.2f} m'
                                       .format(*pose[:3, 3]))
        slow, room = self.settings.carry_speed, self.settings.clearance_m
        return first_that_works([
            functools.partial(self._sequence, grasp, path, slow, room, boxes)
            for path in self._paths.rise(low, high, others)], 'no way is found over the table')

    def _sequence(self, grasp: Grasp, path: Vector, slow: float, room: float,
                  boxes: Sequence[Any]) -> Moves:
        """The motions along a path up from the thing.

        Raises:
            UnreachableError: the arm cannot get there, or the gate would refuse it.
        """
        sequence = MotionSequence(self._paths, self._robot.arm.park)
        sequence.out('approach', 'to above the thing', path[-1], boxes, room)
        sequence.along('approach', 'down to the thing', path[::-1], slow)
        fetch = sequence.take()
        sequence.along('lift', 'up with the thing', path, slow)
        lift = sequence.take()
        sequence.home('retreat', boxes, room)
        escape = (*lift, *sequence.take())
        for motion in (*fetch, *escape):
            try:
                self._gate.limits.check(motion.trajectory)
            except ArmStoppedError as error:
                raise UnreachableError(f'{error} ({error.cause})') from error
        return Moves(grasp, fetch, lift, escape)


def _as_name(label: str) -> str:
    """A label as an argument of an action: ``the red mug`` is ``the_red_mug``."""
    words = re.sub('[^a-z0-9]+', '_', label.lower()).strip('_')
    return words if words[:1].isalpha() else f'it_{words}'.rstrip('_')


def _alike(one: Grasp, other: Grasp) -> bool:
    return (float(np.linalg.norm(one.at_m - other.at_m)) < _TRIED_M and
            abs(math.remainder(one.yaw_rad - other.yaw_rad, math.pi)) < _TRIED_RAD)


def find(surface: Surface, where: Region | Mask, part: bool = False) -> Thing:
    """What a region, or some pixels, show.

    Raises:
        InputError: the pixels are of another size than the picture.
        _Refused: nothing stands there.
    """
    if not isinstance(where, Region):
        if where.shape != surface.shape:
            raise InputError(f'pixels of shape {where.shape} for a picture of {surface.shape}')
        ys, xs = np.nonzero(where & surface.raised)
        if not len(ys):
            raise _Refused(causes.NOT_FOUND, 'nothing stands on the table where it was pointed')
        return _thing(surface, where, np.median(surface.points_m[ys, xs, :2], axis=0)
                      if part else None)
    height, width = surface.shape
    if where.form is Form.BOX:
        (x1, y1), (x2, y2) = where.pixels(width, height)
        inside = np.zeros(surface.shape, bool)
        inside[max(0, y1):y2 + 1, max(0, x1):x2 + 1] = True
        labels = surface.labels.ravel()[surface.cells[inside & surface.raised]]
        labels = labels[labels > 0]
        label = int(np.bincount(labels).argmax()) if len(labels) else 0
        pixels = surface.pixels_of(label) & inside
    else:
        x, y = where.points[0]
        (column, row), = Region(Form.POINT, ((x, y),)).pixels(width, height)
        label = surface.label_at(column, row)
        pixels = surface.pixels_of(label)
    if not label or not pixels.any():
        raise _Refused(causes.NOT_FOUND, 'nothing stands on the table where it was pointed')
    near = None
    if part:
        ys, xs = np.nonzero(pixels)
        x, y = where.centre
        nearest = int(np.argmin(np.hypot(xs - x * width, ys - y * height)))
        near = surface.points_m[ys[nearest], xs[nearest], :2].astype(np.float64)
    return _thing(surface, pixels, near)


def _thing(surface: Surface, pixels: Mask, near_m: Vector | None) -> Thing:
    cells = surface.cells_of(pixels)
    shown = pixels & surface.raised
    return Thing(surface, cells, _middle(surface, cells),
                 surface.rgb[shown].mean(axis=0).astype(np.float64), near_m)


def _middle(surface: Surface, cells: Mask) -> Vector:
    rows, columns = np.nonzero(cells)
    return np.asarray(surface.low_m + CELL_M * (
        np.array([columns.mean(), rows.mean()]) + 0.5))


def find_again(surface: Surface, thing: Thing) -> Thing:
    """A thing after a grasp that failed: where it was, or a little beside.

    Raises:
        _Refused: nothing like it is there.
    """
    before, now = thing.surface.top_m[thing.cells], surface.top_m[thing.cells]
    with np.errstate(invalid='ignore'):
        if np.mean(np.abs(now - before) < _UNCHANGED_M) > 0.7:
            shown = np.zeros(surface.shape, bool)
            inside = surface.cells >= 0
            shown[inside] = thing.cells.ravel()[surface.cells[inside]]
            return _thing(surface, shown, thing.near_m)
    best: tuple[float, Thing] | None = None
    for label in np.unique(surface.labels[surface.labels > 0]):
        one = _thing(surface, surface.pixels_of(int(label)), None)
        away = float(np.linalg.norm(one.centre_m - thing.centre_m))
        unlike = float(np.linalg.norm(one.rgb - thing.rgb))
        if away < _STRAYED_M and unlike < _STRAYED_RGB:
            cost = away / _STRAYED_M + unlike / _STRAYED_RGB
            if best is None or cost < best[0]:
                best = (cost, one)
    if best is None:
        raise _Refused(causes.NOT_FOUND, 'it is not found again')
    return best[1]


def is_gone(surface: Surface, thing: Thing) -> bool:
    """Whether a thing is no longer where it was, as far as the camera sees that place.

    What is lifted straight up is still over its place: it is gone if little of it is as high as
    before.
    """
    before, now = thing.surface.top_m[thing.cells], surface.top_m[thing.cells]
    known = np.isfinite(before)
    with np.errstate(invalid='ignore'):
        still = np.abs(now[known] - before[known]) < np.clip(
            0.4 * before[known], 0.003, _UNCHANGED_M)
    return bool(still.mean() < _STILL) if len(still) else True


def make_skills(robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate, kinematics: Kinematics,
                **settings: Any) -> PointingSkills:
    """Make the skills from settings by name.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    known = {field.name for field in settings_fields(PointingSettings)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise InputError(f'unknown setting of the skills: {unknown[0]} (known: '
                         f'{", ".join(sorted(known))})')
    return PointingSkills(robot, arm, camera, gate, kinematics, PointingSettings(**settings))
