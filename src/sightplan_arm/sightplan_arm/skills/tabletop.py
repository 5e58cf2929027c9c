"""Tabletop tasks on an arm: grasp, place, open and close, each at a place in the picture.

``grasp`` takes what a box shows and carries it out of view; ``place`` puts it down where a point
is: on the table, on a plate or tray, or into a bowl, a box or an open drawer; ``open`` takes a
drawer by its handle and pulls along the normal of its front, ``close`` pushes it back until it no
longer moves. Every action begins and ends with the arm parked, so that the picture before and
after it shows everything. The picture's depth alone says what is where; everything is planned
before anything moves, every motion passes the gate, and what became of it is judged by fingers,
joints and camera. Of a thing that is put down the last of the way is felt: where something is in
the way of the hand it lets go there, and leaves straight up.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from sightplan.model import (
    ALREADY_CLOSED,
    ALREADY_OPEN,
    NOTHING_HELD,
    STILL_HELD,
    Action,
    Belief,
    Feedback,
    FeedbackStatus,
    Form,
    InputError,
    Problem,
    Region,
    check_settings,
    param,
)
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Arm, Camera, Vector
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import read_settings
from sightplan_arm.skills.drawers import (
    Drawer,
    SlideMoves,
    SlidePlanner,
    front_again,
    see_drawer,
)
from sightplan_arm.skills.grasp_paths import Moves
from sightplan_arm.skills.grasp_values import HOLDING, MEANT
from sightplan_arm.skills.grasps import Grasp
from sightplan_arm.skills.motions import Motion, NoRoomError, first_that_works
from sightplan_arm.skills.placement_values import LIMITS
from sightplan_arm.skills.placing import (
    Carried,
    FetchPlanner,
    PlaceMoves,
    PlacePlanner,
    PlaceSettings,
    Spot,
    alike,
    carried,
    filled,
    propose_spots,
    room_at,
)
from sightplan_arm.skills.pointing import IN_THE_WAY, Held, PointingSkills
from sightplan_arm.skills.report import Refused, SkillResult, Stopwatch
from sightplan_arm.skills.seen import (
    NothingThereError,
    Thing,
    box_pixels,
    find,
    is_gone,
    label_in,
)
from sightplan_arm.skills.surface import CELL_M, Mask, Surface
from sightplan_arm.trajectories import UnreachableError

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

GRASP, PLACE, OPEN, CLOSE = 'grasp', 'place', 'open', 'close'

_MET_SOMETHING = 'it came upon something on the way down'


@dataclass(frozen=True, slots=True)
class TabletopSettings(PlaceSettings):
    """Settings of taking and putting down things, and of opening and closing drawers."""

    open_m: float = param(0.11, 'How far a drawer is pulled out where the depth of its cabinet is '
                          'not seen [m]', low=0.02, high=0.5)
    press_m: float = param(0.008, 'How far beyond closed a drawer is pushed, unless it stops '
                           'before [m]', low=0.0, high=0.05)
    closed_m: float = param(0.012, 'A front that is out by no more is closed [m]', low=0.001,
                            high=0.05)
    moved: float = param(0.7, 'Fraction of a planned way that a drawer must have moved', low=0.1,
                         high=1.0)


class TabletopSkills(PointingSkills):
    """Skills of the tabletop domain, at regions of the picture; see the protocol ``Skills``.

    Attributes:
        settings: as given, but for fingers that would leave the workspace box.
        reports: of the actions since the last reset, in order.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: TabletopSettings | None = None) -> None:
        self.tabletop = settings or TabletopSettings()
        check_settings(self.tabletop)
        self._carried: Carried | None = None
        super().__init__(robot, arm, camera, gate, kinematics, self.tabletop)
        s = self.tabletop
        self._places = PlacePlanner(robot, self._paths, gate.limits.check,
                                    carry_speed=s.carry_speed, room_m=s.clearance_m, settings=s)
        self._planner = FetchPlanner(robot, self._paths, gate.limits.check, self._places,
                                     lift_m=s.lift_m, carry_speed=s.carry_speed,
                                     room_m=s.clearance_m)
        self._slides = SlidePlanner(robot, self._paths, gate.limits.check,
                                    carry_speed=s.carry_speed, room_m=s.clearance_m)

    # --- the protocol Skills ------------------------------------------------------------------

    @property
    def carried(self) -> Carried | None:
        """The held thing and its grip; None without a thing, or after the grip was broken off."""
        return None if self.held is None else self._carried

    def reset(self, problem: Problem | None = None) -> None:
        """Begin an episode: see ``PointingSkills.reset``. ``problem`` has no effect."""
        super().reset()

    def forget(self) -> None:
        """Forget the held thing and the reports: another episode begins."""
        super().forget()
        self._carried = None

    def expect(self, belief: Belief) -> None:
        """Do nothing: actions follow from places in the picture, not from symbols."""

    def execute(self, action: Action) -> SkillResult:
        """Carry out an action at the place in the picture that it carries; see ``execute_at``."""
        return self.execute_at(action, action.region)

    def execute_at(self, action: Action, where: Region | Mask | None) -> SkillResult:
        """Carry out an action at a place in the picture.

        Args:
            action: one whose name is, or begins with (``place-in``), grasp, place, open or close;
                its arguments are names for people.
            where: a box or the pixels (H, W) of what is grasped, opened or closed; a point, or a
                region whose middle is meant, of where a thing is placed.

        Returns:
            REJECTED if the action is none of these or has no place, else EXECUTED, whatever
            became of it; the report has the cause.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            InputError: the place is beside the picture.
            WorldError: camera or arm broke down.
        """
        label = ' '.join(action.args)
        skills = {GRASP: self.grasp_at, PLACE: self.place_at, OPEN: self.open_at,
                  CLOSE: self.close_at}
        name = action.name.partition('-')[0]
        if name not in skills or where is None:
            wrong = (f'unknown action {action}: this robot knows {", ".join(skills)}'
                     if name not in skills else
                     f'{action} needs a place in the picture')
            self._reported(action, functools.partial(_refuse, causes.UNKNOWN, wrong))
            return SkillResult(Feedback(FeedbackStatus.REJECTED, wrong), self.reports[-1])
        return skills[name](where, label)

    # --- actions ------------------------------------------------------------------------------

    def place_at(self, where: Region | Mask, label: str = '') -> SkillResult:
        """Put the held thing down at a place in the picture, and check that it is there.

        Args:
            where: a point in unit coordinates, or a region or pixels (H, W) whose middle is
                meant.
            label: what it is put in or on, for people.

        Returns:
            EXECUTED; the report's cause is ``done``, or why not: ``empty_hand``, ``dropped`` on
            the way, ``no_room`` there (or it came upon something on the way down, and is back),
            ``unreachable``, ``misplaced``: it is not seen there. After ``no_room`` and
            ``unreachable`` the thing is still in the hand.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            InputError: the place is beside the picture.
            WorldError: camera or arm broke down.
        """
        return self._execute(PLACE, label, functools.partial(self._place, where))

    def open_at(self, where: Region | Mask, label: str = '') -> SkillResult:
        """Open the drawer whose front is in a box or in pixels (H, W).

        Returns:
            EXECUTED; the report's cause is ``done``, or why not: ``not_found`` (no front is seen),
            ``no_handle``, ``already_there``, ``occupied``, ``no_room``, ``unreachable``,
            ``missed_grasp``, ``stuck``.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            WorldError: camera or arm broke down.
        """
        return self._execute(OPEN, label, functools.partial(self._slide, where, True))

    def close_at(self, where: Region | Mask, label: str = '') -> SkillResult:
        """Close the drawer whose front is in a box or in pixels (H, W): see ``open_at``."""
        return self._execute(CLOSE, label, functools.partial(self._slide, where, False))

    # --- grasp --------------------------------------------------------------------------------

    def _find(self, where: Region | Mask, part: bool, watch: Stopwatch) -> Thing:
        with watch.phase('perceive'):
            surface = self._see()
            try:
                return find(surface, _thing_in_box(surface, where), part)
            except NothingThereError as error:
                raise Refused(causes.NOT_FOUND, str(error)) from error

    def _take(self, thing: Thing, moves: Moves, watch: Stopwatch) -> tuple[str, str]:
        """Grasp the thing, lift it, carry it out of view, and check that it was lifted."""
        self._carried = None
        around = self._paths.pose(moves.fetch[-1].trajectory.positions[-1])
        opening = self._close_around(moves, Held(thing, moves), watch)
        if opening is None:
            return causes.MISSED_GRASP, IN_THE_WAY
        if self._gate.status().dry_run:
            self._follow(moves.lift, watch)
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        if opening < HOLDING.something_m:
            return self._missed(moves, watch)
        self._carried = carried(thing, around, opening)
        for motion in moves.lift:
            self._follow((motion,), watch)
            if self._opening() < HOLDING.something_m:
                return self._lost('it slipped out of the fingers on the way up', watch)
        if not self.settings.verify:
            return causes.DONE, ''
        with watch.phase('verify'):
            gone = is_gone(self._see(), thing)
        return (causes.DONE, '') if gone else self._lost(
            f'the fingers closed to {1e3 * opening:.0f} mm, but the thing was not lifted', watch)

    def _force_n(self, grasp: Grasp) -> float:
        thin = grasp.width_m <= HOLDING.thin_m
        return super()._force_n(grasp) * (HOLDING.thin_force if thin else 1.0)

    def _lost(self, message: str, watch: Stopwatch) -> tuple[str, str]:
        self._taken = self._carried = None
        self._open(watch)
        self._park(watch)
        return causes.DROPPED, message

    # --- place --------------------------------------------------------------------------------

    def _place(self, where: Region | Mask, action: Action, watch: Stopwatch) -> tuple[str, str]:
        epoch, held = self._gate.epoch, self.carried
        if held is None:
            raise Refused(causes.EMPTY_HAND, NOTHING_HELD)
        with watch.phase('perceive'):
            before = self._see()
        moves, meant = self._plan_place(before, held, where, (), watch)
        with self._gate.skill(str(action), since=epoch):
            met: list[Spot] = []
            while (ended := self._bring(moves, watch)) == causes.NO_ROOM:
                met.append(moves.spot)
                if len(met) == self.tabletop.tries:
                    raise Refused(causes.NO_ROOM, f'{_MET_SOMETHING}: {STILL_HELD}')
                with watch.phase('perceive'):
                    before = self._see()
                moves, meant = self._plan_place(before, held, where, met, watch)
            return self._put_down(before, held, moves, meant, ended, watch)

    def _plan_place(self, surface: Surface, held: Carried, where: Region | Mask,
                    met: Sequence[Spot], watch: Stopwatch) -> tuple[PlaceMoves, Mask | None]:
        """Plan to put a thing down; returns also the cells of the container or support, if any.

        Args:
            surface: what is seen.
            held: the thing.
            where: it was pointed.
            met: where it came upon something on the way down.
            watch: counts the time.
        """
        with watch.phase('plan'):
            place, meant = _pointed(surface, where)
            try:
                if place is None:
                    raise Refused(causes.UNREACHABLE, 'no place on the table is seen there')
                spots = [spot for spot in propose_spots(
                    surface, held, place, meant, self._robot.gripper, self._paths.hand,
                    self.tabletop)
                    if not any(alike(spot, other) for other in met)]
                if not spots:
                    raise Refused(causes.NO_ROOM, 'there is no room for it there')
                return self._first_place(surface, held, spots), meant
            except Refused as error:
                raise Refused(error.cause, f'{error.message}: {STILL_HELD}') from error

    def _first_place(self, surface: Surface, held: Carried, spots: Sequence[Spot]) -> PlaceMoves:
        try:
            return first_that_works([functools.partial(self._places.place, surface, held, spot)
                                     for spot in spots], 'it cannot be put down there')
        except UnreachableError as error:
            cause = causes.NO_ROOM if isinstance(error, NoRoomError) else causes.UNREACHABLE
            raise Refused(cause, str(error)) from error

    def _bring(self, moves: PlaceMoves, watch: Stopwatch) -> str:
        """Carry the held thing to just above its place.

        Returns:
            ``done``; ``dropped``: the fingers closed on the way; ``no_room``: it came upon
            something on the way down, and is back where it came from, in the hand.
        """
        for number, motion in enumerate(moves.bring, 1):
            free = self._follow((motion,), watch)
            if self._is_empty():
                return causes.DROPPED
            if not free:
                for back in self._back(moves.bring[:number]):
                    self._follow((back,), watch)
                    if self._is_empty():
                        return causes.DROPPED
                return causes.NO_ROOM
        return causes.DONE

    def _is_empty(self) -> bool:
        """Whether the fingers hold nothing."""
        return not self._gate.status().dry_run and self._opening() < HOLDING.something_m

    def _put_down(self, before: Surface, held: Carried, moves: PlaceMoves, meant: Mask | None,
                  brought: str, watch: Stopwatch) -> tuple[str, str]:
        """Let go of the thing above its place, and check that it is there."""
        if brought == causes.DROPPED:
            return self._lost('the fingers closed on the way: the thing is lost', watch)
        dry = self._gate.status().dry_run
        touched = self._lower(moves.lower, dry, watch)
        if self._is_empty():
            return self._lost('the fingers closed on the way down: the thing is lost', watch)
        with watch.phase('release'):
            self._gate.grip(moves.spot.opening_m, self._robot.gripper.force_n,
                            'let the thing go')
            self._arm.wait(0.0 if dry else self._settle_s)
        if not dry:
            self._taken = self._carried = None
        self._follow(moves.leave if not touched else self._places.leave_from(
            moves, self._arm_state().positions), watch)
        if dry:
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        self._park(watch)
        if not self.settings.verify:
            return causes.DONE, ''
        with watch.phase('verify'):
            there = _is_there(before, self._see(), moves.spot, held, meant)
        return (causes.DONE, '') if there else (
            causes.MISPLACED, 'it is not seen where it was put down')

    def _lower(self, pieces: Sequence[Motion], dry: bool, watch: Stopwatch) -> bool:
        """Lower the thing piece by piece; returns whether something stopped it early.

        That is what ends a guarded motion, makes the hand stay behind by more than it does in the
        air, or presses the fingers apart.
        """
        usual = 0.0 if dry or not pieces else self._above(pieces[0].trajectory.positions[0])
        opening = self._opening()
        for motion in pieces:
            free = self._follow((motion,), watch)
            above = self._above(motion.trajectory.positions[-1])
            if not free or (not dry and (above - usual > HOLDING.touch_m or
                                         self._opening() - opening > HOLDING.touch_m)):
                return True
        return False

    def _above(self, posture: Vector) -> float:
        """Height of the tip above where it is in a posture [m]."""
        return float(self._paths.pose(self._arm_state().positions)[2, 3]
                     - self._paths.pose(posture)[2, 3])

    def _put_back(self, action: Action, watch: Stopwatch) -> tuple[str, str]:
        """Put the held thing down where it was taken."""
        held = self.carried
        if held is None:
            return super()._put_back(action, watch)
        with watch.phase('perceive'):
            before = self._see()
        opening = min(held.width_m + LIMITS.release_m, self._robot.gripper.open_m)
        spot = Spot(held.pose[:3, 3] + (0.0, 0.0, LIMITS.drop_m), 0.0, 0.0,
                    held.thing.centre_m, float(held.pose[2, 3]) - held.hang_m, 0.0, opening, 0.0)
        with watch.phase('plan'):
            moves = self._first_place(before, held, (spot,))
        with self._gate.skill(str(action)):
            brought = self._bring(moves, watch)
            if brought == causes.NO_ROOM:
                raise Refused(causes.NO_ROOM, f'{_MET_SOMETHING}: {STILL_HELD}')
            return self._put_down(before, held, moves, None, brought, watch)

    # --- open and close -----------------------------------------------------------------------

    def _slide(self, where: Region | Mask, opens: bool, action: Action,
               watch: Stopwatch) -> tuple[str, str]:
        epoch = self._begin(watch)
        drawer = self._drawer(where, opens, watch)
        way = self._way_of(drawer, opens)
        with watch.phase('plan'):
            planned, moves = self._plan_slide(drawer, way, opens)
        with self._gate.skill(str(action), since=epoch):
            opening = self._around_handle(moves, watch)
            if self._gate.status().dry_run:
                self._follow((*moves.slide, *moves.leaves[-1]), watch)
                return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
            done, taken = 0, opening >= HOLDING.something_m
            if taken or not moves.opening_m:
                done = self._move(drawer, moves.slide, taken, watch)
            with watch.phase('release'):
                self._gate.grip(moves.opening_m, self._robot.gripper.force_n,
                                'let the handle go')
                self._arm.wait(self._settle_s)
            self._follow(self._joined(moves.leaves[done]), watch)
        self._park(watch)
        if moves.opening_m and not taken:
            return causes.MISSED_GRASP, 'the handle is not between the fingers'
        return self._verify_moved(drawer, way, planned, opens, watch)

    def _plan_slide(self, drawer: Drawer, way_m: float,
                    opens: bool) -> tuple[float, SlideMoves]:
        """Distance by which a drawer is moved, and the motions; shorter without enough room."""
        whole: UnreachableError | None = None
        for part in (1.0, *(HOLDING.pulled if opens else ())):
            try:
                return part * way_m, self._slides.plan(drawer, part * way_m)
            except NoRoomError as error:
                whole = whole or error
            except UnreachableError as error:
                raise Refused(causes.UNREACHABLE, str(whole or error)) from error
        raise Refused(causes.NO_ROOM, str(whole))

    def _drawer(self, where: Region | Mask, opens: bool, watch: Stopwatch) -> Drawer:
        with watch.phase('perceive'):
            surface = self._see()
            pixels = _inside(surface, where)
            try:
                drawer = see_drawer(surface, pixels)
            except NothingThereError as error:
                raise Refused(causes.NOT_FOUND, str(error)) from error
        if drawer.handle_m is None and opens:
            raise Refused(causes.NO_HANDLE, 'a front is seen there, but no handle on it')
        return drawer

    def _way_of(self, drawer: Drawer, opens: bool) -> float:
        """Distance by which a drawer has to move [m], outwards if positive."""
        s = self.tabletop
        if not opens:
            if drawer.opened_m <= s.closed_m and drawer.depth_m > 0:
                raise Refused(causes.ALREADY_THERE, ALREADY_CLOSED)
            return -drawer.opened_m - s.press_m
        wanted = HOLDING.open_fraction * drawer.depth_m if drawer.depth_m > 0 else s.open_m
        left = wanted - drawer.opened_m
        if left < (1.0 - s.moved) * wanted:
            raise Refused(causes.ALREADY_THERE, ALREADY_OPEN)
        return left

    def _around_handle(self, moves: SlideMoves, watch: Stopwatch) -> float:
        """Go to the drawer and close the fingers; returns their opening then [m]."""
        gripper, dry = self._robot.gripper, self._gate.status().dry_run
        with watch.phase('release'):
            self._gate.grip(moves.opening_m, gripper.force_n, 'open the fingers')
        self._follow(moves.fetch, watch)
        with watch.phase('grasp'):
            opening = self._gate.grip(0.0, gripper.force_n, 'take the handle')
            self._arm.wait(0.0 if dry else self._settle_s)
        return opening

    def _move(self, drawer: Drawer, slide: Sequence[Motion], taken: bool,
              watch: Stopwatch) -> int:
        """Move the drawer piece by piece until something stops it.

        Returns the number of pieces made.
        """
        for number, motion in enumerate(slide, 1):
            self._follow((motion,), watch)
            goal = self._paths.pose(motion.trajectory.positions[-1])
            here = self._paths.pose(self._arm_state().positions)
            lag = abs(float((goal[:2, 3] - here[:2, 3]) @ drawer.out))
            if lag > HOLDING.lag_m or (taken and self._opening() < HOLDING.something_m):
                return number
        return len(slide)

    def _joined(self, motions: Sequence[Motion]) -> tuple[Motion, ...]:
        """Motions from where the arm stands, which may be a little off from where they begin."""
        return (*self._to_start_of(motions), *motions)

    def _verify_moved(self, drawer: Drawer, way_m: float, planned_m: float, opens: bool,
                      watch: Stopwatch) -> tuple[str, str]:
        s = self.tabletop
        if not s.verify:
            return causes.DONE, ''
        with watch.phase('verify'):
            moved = front_again(self._see(), drawer, abs(planned_m) + 0.02)
        if moved is None:
            return causes.STUCK, 'the front is not found where it should be'
        if opens and moved < s.moved * way_m:
            return causes.STUCK, (f'it moved by {1e3 * moved:.0f} mm instead of '
                                  f'{1e3 * way_m:.0f} mm')
        left = drawer.opened_m + moved
        if not opens and left > s.closed_m:
            return causes.STUCK, f'it is still open by {1e3 * left:.0f} mm'
        return causes.DONE, ''


def _refuse(cause: str, message: str, watch: Stopwatch) -> tuple[str, str]:
    raise Refused(cause, message)


def _inside(surface: Surface, where: Region | Mask) -> Mask:
    """(H, W) the pixels of a box, or pixels as they are.

    Raises:
        InputError: a region is no box, or pixels are of another size than the picture.
    """
    if not isinstance(where, Region):
        if where.shape != surface.shape:
            raise InputError(f'pixels of shape {where.shape} for a picture of {surface.shape}')
        return np.asarray(where, bool)
    if where.form is not Form.BOX:
        raise InputError(f'a {where.form} shows no front; give a box')
    return box_pixels(surface, where)


def _thing_in_box(surface: Surface, where: Region | Mask) -> Region | Mask:
    """Pixels of a thing in a box that stands on or in another thing; else ``where`` unchanged.

    A box around a thing on a tray shows a part of the tray, too, with which the thing hangs
    together: the thing is what is higher than that.
    """
    if not isinstance(where, Region) or where.form is not Form.BOX:
        return where
    inside = _inside(surface, where)
    raised = inside & surface.raised
    if not raised.any() or raised.sum() < (1.0 - MEANT.bare) * inside.sum():
        return where
    label = label_in(surface, inside)
    if not label:
        return where
    piece = surface.pixels_of(label)
    if (piece & ~inside).sum() < MEANT.beyond * (piece & inside).sum():
        return where
    heights = surface.points_m[:, :, 2]
    base = float(np.percentile(heights[raised], 12))
    with np.errstate(invalid='ignore'):
        higher = raised & (heights > base + MEANT.above_m)
    count, parts, stats, _ = cv2.connectedComponentsWithStats(higher.astype(np.uint8))
    if count < 2:
        return where
    best = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    return np.asarray(parts == best) if stats[best, cv2.CC_STAT_AREA] >= MEANT.least_px else where


def _pointed(surface: Surface, where: Region | Mask) -> tuple[Vector | None, Mask | None]:
    """Target (2,) of a thing, and the cells of its container or support (None for the table).

    Raises:
        InputError: the place is beside the picture.
    """
    height, width = surface.shape
    if isinstance(where, Region):
        (column, row), = Region(Form.POINT, (where.centre,)).pixels(width, height)
        # The right and the lower edge are of the last pixels.
        column, row = column - (column == width), row - (row == height)
    else:
        ys, xs = np.nonzero(where)
        if where.shape != surface.shape or not len(ys):
            raise InputError('pixels of another size than the picture, or none')
        nearest = int(np.argmin(np.hypot(xs - xs.mean(), ys - ys.mean())))
        column, row = int(xs[nearest]), int(ys[nearest])
    on_table = surface.on_table(column, row)
    point = surface.points_m[row, column]
    place = (point[:2].astype(np.float64) if np.isfinite(point).all() and surface.cells[
        row, column] >= 0 else on_table)
    if place is None:
        return None, None
    cell = np.floor((place - surface.low_m) / CELL_M).astype(int)
    if (cell < 0).any() or (cell >= np.array(surface.top_m.shape)[::-1]).any():
        return None, None
    for label in np.unique(surface.labels[surface.labels > 0]):
        whole = filled(surface.labels == label)
        if whole[cell[1], cell[0]]:
            return place, room_at(surface, place, whole)
    return place, None


def _is_there(before: Surface, now: Surface, spot: Spot, held: Carried,
              meant: Mask | None) -> bool:
    """Whether a new thing is seen at the spot, by its height or its colours.

    Args:
        before: what was seen with the thing in the hand.
        now: what is seen.
        spot: where it was put.
        held: the thing.
        meant: (rows, columns) cells of what it was put in or on; None: the table.
    """
    with np.errstate(invalid='ignore'):
        size = float(np.ptp(held.outline(), axis=0).max())
        near = np.linalg.norm(now.points_m[:, :, :2] - spot.rest_m.astype(np.float32),
                              axis=2) < max(0.03, 0.6 * size) + spot.fall_m
        higher = now.top_m - before.top_m > MEANT.changed_m
    near &= now.cells >= 0
    if meant is not None:
        near[near] = meant.ravel()[now.cells[near]]
    cells = np.zeros(now.top_m.size, bool)
    cells[now.cells[near]] = True
    risen = int((higher.ravel() & cells).sum())
    changed = np.linalg.norm(now.rgb.astype(np.float32) - before.rgb.astype(np.float32), axis=2)
    other = int((near & (changed > MEANT.changed_rgb)).sum())
    return risen >= MEANT.changed_cells or other >= MEANT.changed_px


def make_skills(robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate, kinematics: Kinematics,
                **settings: Any) -> TabletopSkills:
    """Make the skills of tabletop tasks: the entry point.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    return TabletopSkills(robot, arm, camera, gate, kinematics,
                          read_settings(TabletopSettings, settings))
