"""Blocksworld on an arm: ``moveblock(b, c)`` takes the top block b and puts it on column c.

Before anything moves the camera looks: an action that makes no sense in what is seen, or
contradicts what the agent is sure of, is refused, and so is every motion while there are things of
which it is not known what and where they are. What becomes of a motion the agent finds out through
its own camera.

Columns stand in a row along the table's x axis, left to right in the order in which the problem
lists them, unless ``leftof`` facts among what the robot is given say otherwise: its file is all
that a robot knows about which place is called c1.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from sightplan.model import (
    Action,
    Atom,
    Belief,
    Feedback,
    FeedbackStatus,
    InputError,
    Problem,
    WorldError,
    check_settings,
    param,
    settings_fields,
)
from sightplan_arm.columns import column_order
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import hand_down
from sightplan_arm.hardware import Arm, ArmStoppedError, Camera, Vector
from sightplan_arm.perception import Arrangement, Cube, block_colours, see_table
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import ArmUse
from sightplan_arm.skills.motions import (
    Motion,
    MotionSequence,
    NoRoomError,
    PathPlanner,
    first_that_works,
)
from sightplan_arm.skills.report import Refused, SkillReport, SkillResult, Stopwatch
from sightplan_arm.trajectories import UnreachableError

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

ACTION = 'moveblock'

_ANYWHERE = ('missing', 'twice', 'not_a_cube')  # warnings that tell of obstacles nobody knows
_ASIDE = ('between_columns', 'out_of_row')  # warnings about a block that may be fetched yet
_OBSERVE_AGAIN = (causes.NOT_FOUND, causes.UNCLEAR)
_OBSERVE_AGAIN_S = 0.3


@dataclass(frozen=True, slots=True)
class SkillSettings:
    """How blocks are moved."""

    regrasps: int = param(1, 'How often a missed grasp is tried again, after a new look', low=0,
                          high=5)
    observations: int = param(2, 'Pictures to take before it is believed that a block is missing, '
                                 'or that something cannot be', low=1, high=10)
    verify: bool = param(True, 'Whether to look at the block after it was put down')
    check_table: bool = param(True, 'Whether an episode begins only when every block of the '
                              'problem is seen in a column')
    confident: float = param(0.9, 'Probability from which on the agent is taken to be sure of '
                             'what it believes: an action that the camera contradicts is refused',
                             low=0.5, high=1.0)
    clearance_m: float = param(0.03, 'Distance kept to what stands on the table when a block is '
                               'carried over it [m]', low=0.005, high=0.2)
    drop_m: float = param(0.0015, 'Height above its place at which a block is let go [m]',
                          low=0.0, high=0.01)
    misplaced_m: float = param(0.02, 'How far from the middle of its column a block counts as '
                               'misplaced [m]', low=0.005, high=0.05)
    speed: float = param(0.9, "Part of the arm's greatest velocity that is used", low=0.01,
                         high=1.0)
    carry_speed: float = param(0.6, 'Part of that with a block in the hand or close to others',
                               low=0.01, high=1.0)
    settle_s: float = param(0.2, 'How long to wait before the fingers close and after they have '
                            "opened, on the arm's clock [s]", low=0.0, high=5.0)


@dataclass(frozen=True, eq=False)
class Task:
    """A move that makes sense in what is seen.

    Attributes:
        block, column: names.
        cube: the block as seen.
        place_m: (3,) where the middle of the block shall be, in the table's frame.
        level: of the block's place now, 0 at the table.
        others: all other cubes.
        seen: what was seen, to compare with afterwards; None if nobody has looked.
    """

    block: str
    column: str
    cube: Cube
    place_m: Vector
    level: int
    others: tuple[Cube, ...]
    seen: Arrangement | None = None

    @property
    def placed(self) -> Cube:
        """The block where it shall be."""
        return dataclasses.replace(self.cube, centre_m=self.place_m, yaw_rad=0.0)


@dataclass(frozen=True, eq=False)
class Moves:
    """The planned motions of a move.

    Attributes:
        fetch: to the block.
        bring: with the block in the hand.
        leave: away from it.
        escape: back to where the camera sees everything, from the block, with nothing in the hand.
    """

    fetch: tuple[Motion, ...]
    bring: tuple[Motion, ...]
    leave: tuple[Motion, ...]
    escape: tuple[Motion, ...]

    @property
    def all(self) -> tuple[Motion, ...]:
        """The motions of all four."""
        return (*self.fetch, *self.bring, *self.leave, *self.escape)


class MovePlanner:
    """Plans all motions of a move before any is made."""

    def __init__(self, robot: RobotConfig, kinematics: Kinematics,
                 settings: SkillSettings) -> None:
        self._robot, self._settings = robot, settings
        self.paths = PathPlanner(robot, kinematics, settings.speed)

    def plan(self, task: Task) -> Moves:
        """All motions of a move.

        Raises:
            NoRoomError: the hand does not fit, or the arm would come too near to blocks.
            UnreachableError: a place cannot be reached.
        """
        side = self._robot.table.block_m
        yaw = hand_yaw(task.cube, task.others, self._robot)
        if yaw is None:
            raise NoRoomError(f'there is no room for the hand around {task.block}')
        highest = max((float(c.centre_m[2]) + side / 2 for c in task.others), default=0.0)
        safe = highest + side / 2 + self._settings.clearance_m  # of the middle of a carried block
        at_source = np.array([*task.cube.centre_m[:2], (task.level + 0.5) * side])
        x, y, z = task.place_m
        over_source = (*at_source[:2], max(safe, at_source[2] + side / 2))
        over_target = (x, y, max(safe, z + side / 2))
        at_target = (x, y, z + self._settings.drop_m)
        return first_that_works([
            functools.partial(  # two fingers may as well be turned by half a turn
                self._moves, task, hand_down(at_source, yaw + turn),
                hand_down(over_source, yaw + turn), hand_down(over_target, turn),
                hand_down(at_target, turn))
            for turn in (0.0, math.pi)], f'{task.block} cannot be brought to {task.column}')

    def _moves(self, task: Task, at_source: Vector, over_source: Vector, over_target: Vector,
               at_target: Vector) -> Moves:
        """The motions of a move through four poses of the tip.

        Raises:
            UnreachableError: they cannot be made.
        """
        paths, others = self.paths, task.others
        sources = paths.rise(at_source, over_source, others)
        targets = paths.rise(at_target, over_target, others)
        return first_that_works([
            functools.partial(self._join, task, source, target)
            for source in sources for target in targets], 'no way is found over the table')

    def _join(self, task: Task, source: Vector, target: Vector) -> Moves:
        """The motions of a move from the paths up from both places.

        Raises:
            UnreachableError: they cannot be joined.
        """
        slow, block, column = self._settings.carry_speed, task.block, task.column
        room, blocks = self._settings.clearance_m, (*task.others, task.cube)
        sequence = MotionSequence(self.paths, self._robot.arm.park)
        sequence.out('approach', f'to above {block}', source[-1], blocks, room)
        sequence.along('approach', f'down to {block}', source[::-1], slow)
        fetch = sequence.take()
        escape = sequence.branch()
        escape.along('retreat', f'up from {block}', source, slow)
        escape.home('retreat', blocks, room)
        sequence.along('lift', f'up with {block}', source, slow)
        sequence.along('transfer', f'{block} to above {column}',
                       self.paths.across(source[-1], target[-1]), slow)
        sequence.along('place', f'{block} down on {column}', target[::-1], slow)
        bring = sequence.take()
        sequence.along('retreat', f'up from {block}', target, slow)
        sequence.home('retreat', (*task.others, task.placed), room)
        return Moves(fetch, bring, sequence.take(), escape.take())


class BlocksworldSkills(ArmUse):
    """See the protocol ``Skills``.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: SkillSettings) -> None:
        check_settings(settings)
        self._camera, self._settings = camera, settings
        self._planner = MovePlanner(robot, kinematics, settings)
        table = robot.table
        super().__init__(robot, arm, gate, self._planner.paths, settle_s=settings.settle_s,
                         over_m=table.max_level * table.block_m + table.block_m
                         + settings.clearance_m)
        self._colours: dict[str, str] = {}
        self._columns: tuple[str, ...] = ()
        self._column_x_m: tuple[float, ...] = ()
        self._belief: Belief | None = None
        self.reports: list[SkillReport] = []

    # --- the protocol Skills ------------------------------------------------------------------

    def reset(self, problem: Problem) -> None:
        """Park, look, and check that the table is ready: see the protocol."""
        self._columns, self._belief, self.reports = (), None, []
        colours = block_colours(problem)
        columns = column_order(problem)
        table = self._robot.table
        if not 1 <= len(columns) <= table.max_columns:
            raise InputError(f'{problem.name}: {len(columns)} columns, but 1 to '
                             f'{table.max_columns} fit the table (table.max_columns in '
                             f'{self._robot.file}): choose another problem')
        watch = Stopwatch(self._arm.now_s)
        self._gate.new_episode()
        self._check_fingers()
        self._park(watch)
        self._colours, self._column_x_m = colours, table.column_x_m(len(columns))
        if self._settings.check_table:
            self._check_table(problem, columns)
        self._columns = columns

    def expect(self, belief: Belief) -> None:
        """Keep the agent's belief for the next action."""
        self._belief = belief

    def execute(self, action: Action) -> SkillResult:
        """Carry out ``moveblock(block, column)``: see the protocol."""
        if not self._columns:
            raise WorldError('no episode: reset the world first')
        watch = Stopwatch(self._arm.now_s)
        try:
            self._gate.check_armed()
            try:
                cause, message = self._carry_out(action, watch)
            except Refused as error:
                cause, message = error.cause, error.message
                self._gate.check_armed()  # meanwhile it may have been stopped
        except ArmStoppedError as error:
            self.reports.append(watch.report(action, causes.STOPPED, f'{error.cause}: {error}'))
            raise
        except Exception as error:
            self.reports.append(watch.report(action, causes.FAILED, str(error)))
            raise
        status = (FeedbackStatus.REJECTED if cause in causes.ILLEGAL
                  else FeedbackStatus.EXECUTED)
        self.reports.append(watch.report(action, cause, message))
        return SkillResult(Feedback(status, message), self.reports[-1])

    # --- one action ---------------------------------------------------------------------------

    def _carry_out(self, action: Action, watch: Stopwatch) -> tuple[str, str]:
        block, column = self._check_action(action)
        epoch = self._gate.epoch
        try:
            self._check_fingers()
        except WorldError as error:
            raise Refused(causes.OCCUPIED, str(error)) from error
        self._park(watch)
        task, moves = self._prepare(block, column, watch)
        with self._gate.skill(str(action), since=epoch):
            cause, message = self._move(task, moves, watch)
            for _ in range(self._settings.regrasps):
                if cause != causes.MISSED_GRASP:
                    break
                try:
                    task, moves = self._prepare(block, column, watch)
                except Refused as error:
                    return cause, f'{message}, and then: {error.message}'
                cause, message = self._move(task, moves, watch)
        if cause == causes.DONE and self._settings.verify:
            with watch.phase('verify'):
                cause, message = self._verify(task)
        return cause, message

    def _prepare(self, block: str, column: str, watch: Stopwatch) -> tuple[Task, Moves]:
        """Look, judge and plan.

        Raises:
            Refused: the action is not to be carried out.
        """
        with watch.phase('perceive'):
            task = self._perceive(block, column)
        with watch.phase('plan'):
            try:
                moves = self._planner.plan(task)
                for motion in moves.all:
                    self._gate.limits.check(motion.trajectory)  # not with a block in the hand
            except UnreachableError as error:
                cause = causes.NO_ROOM if isinstance(error, NoRoomError) else causes.UNREACHABLE
                raise Refused(cause, str(error)) from error
            except ArmStoppedError as error:
                raise Refused(causes.UNREACHABLE, f'{error} ({error.cause})') from error
            return task, moves

    def _perceive(self, block: str, column: str) -> Task:
        """Look, and look again before something odd is taken for true: a hand may have been there.

        Raises:
            Refused: the action makes no sense, or contradicts what the agent is sure of.
        """
        for left in range(self._settings.observations - 1, -1, -1):
            seen = self._observe()
            try:
                task = self._task(block, column, seen)
            except Refused as error:
                if error.cause not in _OBSERVE_AGAIN or not left:
                    raise
                self._arm.wait(_OBSERVE_AGAIN_S)
            else:
                break
        self._check_belief(task, seen)
        return task

    def _check_action(self, action: Action) -> tuple[str, str]:
        """Block and column of an action; nothing else ever leads to a motion."""
        if action.name != ACTION or len(action.args) != 2:
            raise Refused(causes.UNKNOWN, f'unknown action {action}: this robot knows '
                          f'{ACTION}(block, column)')
        block, column = action.args
        if block not in self._colours:
            raise Refused(causes.UNKNOWN, f'{block} is not a block of this problem')
        if column not in self._columns:
            raise Refused(causes.UNKNOWN, f'{column} is not a column of this problem')
        return block, column

    def _task(self, block: str, column: str, seen: Arrangement) -> Task:
        """What to move where.

        Raises:
            Refused: the move makes no sense in what is seen.
        """
        side, table = self._robot.table.block_m, self._robot.table
        cube = seen.cubes.get(block)
        if cube is None:
            raise Refused(causes.NOT_FOUND, f'the camera does not find {block} '
                          f'({self._colours[block]})')
        source, target = seen.column(block), self._columns.index(column)
        if source is None:
            raise Refused(causes.UNCLEAR, f'{block} stands in no column')
        matter = {*seen.stacks[source], *seen.stacks[target]}
        near = abs(cube.centre_m[1]) <= table.spacing_m / 2
        aside = [c for c in seen.warnings if near and block in c.blocks
                 and (c.kind in _ASIDE or c.kind == 'crossed')]
        wrong = [c for c in seen.warnings if c not in aside
                 and (not c.blocks or c.kind in _ANYWHERE or matter & set(c.blocks))]
        if wrong:
            raise Refused(causes.UNCLEAR, f'the camera sees what cannot be: {wrong[0]}')
        above = seen.stacks[source][seen.stacks[source].index(block) + 1:]
        if aside:
            above = tuple(name for name in seen.cubes if name != block
                          and _covers(seen.cubes[name], cube, side))
        if above:
            raise Refused(causes.COVERED, f'{above[0]} is on {block}')
        if source == target and not aside:
            raise Refused(causes.ALREADY_THERE, f'{block} is in {column} already')
        under = [name for name in seen.stacks[target] if name != block]
        if len(under) >= table.max_level:
            raise Refused(causes.COLUMN_FULL, f'{column} is full: {table.max_level} blocks are '
                          f'as high as this robot reaches')
        place = np.array([self._column_x_m[target], 0.0, (len(under) + 0.5) * side])
        if under:  # a stack that leans: stay well supported
            top = seen.cubes[under[-1]].centre_m[:2]
            place[:2] = np.clip(place[:2], top - side / 4, top + side / 4)
        return Task(block, column, cube, place, max(0, round(cube.centre_m[2] / side - 0.5)),
                    tuple(c for name, c in seen.cubes.items() if name != block), seen)

    def _check_belief(self, task: Task, seen: Arrangement) -> None:
        """Refuse what contradicts the agent's belief about the block and where it shall be.

        Raises:
            Refused: of an atom that matters the agent is sure, and the camera sees otherwise.
        """
        if self._belief is None:
            return
        true = facts(seen, self._columns)
        top = seen.top(self._columns.index(task.column))
        sure = self._settings.confident
        for atom, probability in sorted(self._belief.probabilities.items()):
            if not _matters(atom, task, top):
                continue
            believed = probability > 0.5
            if believed is not (atom in true) and max(probability, 1 - probability) > sure:
                raise Refused(causes.BELIEF_MISMATCH, f'the agent takes "{atom}" to be '
                              f'{"true" if believed else "false"} (P = {probability:.2f}), but '
                              f'the camera sees otherwise')

    def _move(self, task: Task, moves: Moves, watch: Stopwatch) -> tuple[str, str]:
        """Fetch, grasp, bring, let go, leave."""
        table, gripper = self._robot.table, self._robot.gripper
        dry = self._gate.status().dry_run
        least, most = 0.8 * table.block_m, 1.2 * table.block_m
        self._follow(moves.fetch, watch)
        with watch.phase('grasp'):
            self._arm.wait(0.0 if dry else self._settings.settle_s)
            opening = self._gate.grip(0.0, gripper.force_n, f'grasp {task.block}')
        if not (dry or least <= opening <= most):
            self._open(watch)
            self._follow(moves.escape, watch)
            what = ('something else is between them' if opening > most
                    else 'nothing is between them')
            return causes.MISSED_GRASP, (f'the fingers closed to {1e3 * opening:.0f} mm: {what}')
        for motion in moves.bring:
            self._follow((motion,), watch)
            held = self._opening()
            if not (dry or least <= held <= most):
                self._open(watch)
                self._park(watch)
                return causes.DROPPED, (f'the fingers closed to {1e3 * held:.0f} mm on the way: '
                                        f'{task.block} is lost')
        self._open(watch)
        self._follow(moves.leave, watch)
        if dry:
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        return causes.DONE, ''

    def _verify(self, task: Task) -> tuple[str, str]:
        seen = self._observe()
        target = self._columns.index(task.column)
        cube = seen.cubes.get(task.block)
        if cube is None:
            return causes.MISPLACED, f'the camera does not find {task.block} any more'
        if not seen.stacks[target] or seen.stacks[target][-1] != task.block:
            return causes.MISPLACED, f'{task.block} is not on top of {task.column}'
        off = float(np.linalg.norm(cube.centre_m[:2] - (self._column_x_m[target], 0.0)))
        if off > self._settings.misplaced_m:
            return causes.MISPLACED, (f'{task.block} stands {1e3 * off:.0f} mm from the middle '
                                      f'of {task.column}')
        harm = self._disturbed(task, seen)
        return (causes.DISTURBED, harm) if harm else (causes.DONE, '')

    def _disturbed(self, task: Task, seen: Arrangement) -> str:
        """What is not as it was besides the block that was moved; '' if all is."""
        if task.seen is None:
            return ''
        before = {(c.kind, c.blocks) for c in task.seen.warnings}
        news = [c for c in seen.warnings if (c.kind, c.blocks) not in before]
        if news:
            return f'something else has changed: {news[0]}'
        for column, old, new in zip(self._columns, task.seen.stacks, seen.stacks, strict=True):
            if [b for b in old if b != task.block] != [b for b in new if b != task.block]:
                return (f'something else has changed: in {column} there is '
                        f'{" < ".join(new) or "nothing"}')
        for name, cube in task.seen.cubes.items():
            off = float(np.linalg.norm(seen.cubes[name].centre_m - cube.centre_m))
            if name != task.block and off > self._settings.misplaced_m:
                return (f'something else has changed: {name} stands {1e3 * off:.0f} mm from where '
                        'it was')
        return ''

    # --- seeing -------------------------------------------------------------------------------

    def _observe(self) -> Arrangement:
        return see_table(self._camera.observe(), self._robot.camera.pose, self._colours,
                         self._robot.table.block_m, self._column_x_m)

    def _check_table(self, problem: Problem, columns: Sequence[str]) -> None:
        """Check that all blocks of the problem stand in columns.

        Raises:
            WorldError: one does not.
        """
        seen = self._observe()
        warnings = [str(c) for c in seen.warnings]
        if warnings:
            raise WorldError(f'{problem.name}: the table is not ready: {"; ".join(warnings)}. '
                             f'Put {", ".join(self._colours)} in the columns '
                             f'{", ".join(columns)}, and reset')


def _matters(atom: Atom, task: Task, top: str | None) -> bool:
    """Whether a move depends on an atom.

    Args:
        atom: about a block.
        task: the move.
        top: the block that is seen on top of the new column; None if it is seen empty.
    """
    if atom.predicate == 'incolumn':
        return atom.args[0] == task.block or (
            atom.args[1] == task.column and top in (None, atom.args[0]))
    return atom.predicate == 'clear' and atom.args[0] in (task.block, top)


def _covers(upper: Cube, lower: Cube, side_m: float) -> bool:
    """Whether a block is above another one, at whatever height."""
    x, y, z = upper.centre_m - lower.centre_m
    return bool(z > 0.5 * side_m and math.hypot(x, y) < side_m)


def facts(seen: Arrangement, columns: Sequence[str]) -> frozenset[Atom]:
    """The atoms about blocks that hold in what is seen."""
    atoms = set()
    for column, stack in zip(columns, seen.stacks, strict=True):
        atoms |= {Atom('incolumn', (block, column)) for block in stack}
        atoms |= {Atom('on', (upper, lower)) for lower, upper in itertools.pairwise(stack)}
        atoms |= {Atom('clear', (block,)) for block in stack[-1:]}
    return frozenset(atoms)


_MARGIN_M = 0.003
_MOST_TURN_RAD = math.radians(20.0)


def hand_yaw(cube: Cube, others: Sequence[Cube], robot: RobotConfig) -> float | None:
    """How to turn the hand around a block: as the block stands, as far as neighbours allow.

    The fingers open along the table's y within 45 degrees. A block that is grasped a little askew
    turns between the fingers when they close.

    Returns:
        The angle [rad] from the table's y axis, counter-clockwise; None if the hand does not fit.
    """
    wanted = (cube.yaw_rad + math.pi / 4) % (math.pi / 2) - math.pi / 4
    steps = np.linspace(0.0, 1.0, 16)
    for part in steps:
        yaw = wanted * (1.0 - float(part))
        if abs(yaw - wanted) > _MOST_TURN_RAD:
            break
        if _fits(cube, yaw, others, robot):
            return yaw
    return None


def _fits(cube: Cube, yaw: float, others: Sequence[Cube], robot: RobotConfig) -> bool:
    """Whether open fingers and hand keep clear of the other blocks, seen from above."""
    side, opening, hand = robot.table.block_m, robot.gripper.open_m, robot.gripper.hand
    width, thickness = hand.finger_half_width_m, hand.finger_thickness_m
    fingers = [(cube.centre_m[:2] + sign * (opening + thickness) / 2
                * np.array([-math.sin(yaw), math.cos(yaw)]), (width, thickness / 2))
               for sign in (-1.0, 1.0)]
    bodies = [(where, half, -hand.below_tip_m) for where, half in fingers]
    bodies.append((cube.centre_m[:2], (hand.half_width_m, hand.half_length_m),
                   hand.above_tip_m))
    for other in others:
        top = other.centre_m[2] + side / 2 - cube.centre_m[2]
        for where, half, bottom in bodies:
            if top > bottom and _overlap((where, half, yaw), (
                    other.centre_m[:2], (side / 2 + _MARGIN_M,) * 2, other.yaw_rad)):
                return False
    return True


def _overlap(*rectangles: tuple[Vector, tuple[float, float], float]) -> bool:
    """Whether two rectangles overlap: each by its middle, half its extents [m] and turn [rad]."""
    one, other = (((1e3 * x, 1e3 * y), (2e3 * width, 2e3 * length), math.degrees(yaw))
                  for (x, y), (width, length), yaw in rectangles)
    return cv2.rotatedRectangleIntersection(one, other)[0] != cv2.INTERSECT_NONE


def make_skills(robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate, kinematics: Kinematics,
                **settings: Any) -> BlocksworldSkills:
    """Make the skills of blocksworld: the entry point.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    known = {field.name for field in settings_fields(SkillSettings)}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise InputError(f'unknown setting of the skills: {unknown[0]} (known: '
                         f'{", ".join(sorted(known))})')
    return BlocksworldSkills(robot, arm, camera, gate, kinematics, SkillSettings(**settings))
