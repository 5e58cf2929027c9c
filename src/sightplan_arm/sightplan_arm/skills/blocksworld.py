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
    InputError,
    Problem,
    State,
    WorldError,
)
from sightplan_arm.columns import column_order
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import hand_down
from sightplan_arm.hardware import Arm, Camera, Vector
from sightplan_arm.perception import Arrangement, Cube, block_colours, see_table
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import read_settings
from sightplan_arm.skills.motions import NoRoomError, PathPlanner
from sightplan_arm.skills.picking import MISPLACED_M, PickingSettings, PickingSkills
from sightplan_arm.skills.report import Refused
from sightplan_arm.skills.transport import Moves, Transport, TransportPlanner

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

ACTION = 'moveblock'

_ANYWHERE = ('missing', 'twice', 'not_a_cube')  # warnings of obstacles whose place is unknown
_ASIDE = ('between_columns', 'out_of_row')  # warnings about a block that may be fetched yet


@dataclass(frozen=True, slots=True)
class SkillSettings(PickingSettings):
    """Settings of how blocks are moved."""


@dataclass(frozen=True, eq=False)
class Task:
    """A move that the seen scene allows.

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


class MovePlanner:
    """Plans all motions of a move before any is made."""

    def __init__(self, robot: RobotConfig, kinematics: Kinematics,
                 settings: SkillSettings, transports: TransportPlanner | None = None) -> None:
        self._robot, self._settings = robot, settings
        self._transports = transports or TransportPlanner(
            robot, PathPlanner(robot, kinematics, settings.speed),
            carry_speed=settings.carry_speed, clearance_m=settings.clearance_m,
            choice=settings.choice)

    def plan(self, task: Task) -> Moves:
        """Plan all motions of a move.

        Raises:
            NoRoomError: the hand does not fit, or the arm would come too near to blocks.
            UnreachableError: a place cannot be reached.
        """
        side = self._robot.table.block_m
        yaw = hand_yaw(task.cube, task.others, self._robot)
        if yaw is None:
            raise NoRoomError(f'there is no room for the hand around {task.block}')
        highest = max((float(c.centre_m[2]) + side / 2 for c in task.others), default=0.0)
        # Height of the middle of a carried block.
        safe = highest + side / 2 + self._settings.clearance_m
        at_source = np.array([*task.cube.centre_m[:2], (task.level + 0.5) * side])
        x, y, z = task.place_m
        return self._transports.plan(Transport(
            task.block, task.column,
            at_source=hand_down(at_source, yaw),
            over_source=hand_down((*at_source[:2], max(safe, at_source[2] + side / 2)), yaw),
            over_target=hand_down((x, y, max(safe, z + side / 2))),
            at_target=hand_down((x, y, z + self._settings.drop_m)),
            others=task.others, before=[task.cube], after=[task.placed]))


class BlocksworldSkills(PickingSkills[Arrangement, Task]):
    """Skills of blocksworld; see the protocol ``Skills``.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: SkillSettings) -> None:
        table = robot.table
        super().__init__(robot, arm, camera, gate, kinematics, settings,
                         over_m=table.max_level * table.block_m + table.block_m
                         + settings.clearance_m, width_m=table.block_m)
        self._settings = settings
        self._planner = MovePlanner(robot, kinematics, settings, self._transports)
        self._colours: dict[str, str] = {}
        self._columns: tuple[str, ...] = ()
        self._column_x_m: tuple[float, ...] = ()

    # --- the protocol Skills ------------------------------------------------------------------

    def reset(self, problem: Problem) -> None:
        """Begin an episode: park the arm, and check that the table is ready."""
        self._forget()
        colours = block_colours(problem)
        columns = column_order(problem)
        misfit = self._robot.misfit(problem, one_stack=False) if columns else (
            f'problem {problem.name}: no object is a column; choose another problem')
        if misfit:
            raise InputError(misfit)
        self._begin()
        self._colours = colours
        self._column_x_m = self._robot.table.column_x_m(len(columns))
        if self._settings.check_table:
            self._check_table(problem, columns)
        self._columns, self._begun = columns, True

    # --- one action ---------------------------------------------------------------------------

    def _check_action(self, action: Action) -> tuple[str, str]:
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

    def _facts(self, seen: Arrangement) -> State:
        return facts(seen, self._columns)

    def _matters(self, atom: Atom, task: Task, seen: Arrangement) -> bool:
        return _matters(atom, task, seen.top(self._columns.index(task.column)))

    def _plan(self, task: Task) -> Moves:
        return self._planner.plan(task)

    def _verify(self, task: Task) -> tuple[str, str]:
        seen = self._observe()
        target = self._columns.index(task.column)
        cube = seen.cubes.get(task.block)
        if cube is None:
            return causes.MISPLACED, f'the camera does not find {task.block} any more'
        if not seen.stacks[target] or seen.stacks[target][-1] != task.block:
            return causes.MISPLACED, f'{task.block} is not on top of {task.column}'
        off = float(np.linalg.norm(cube.centre_m[:2] - (self._column_x_m[target], 0.0)))
        if off > MISPLACED_M:
            return causes.MISPLACED, (f'{task.block} stands {1e3 * off:.0f} mm from the middle '
                                      f'of {task.column}')
        harm = self._disturbed(task, seen)
        return (causes.DISTURBED, harm) if harm else (causes.DONE, '')

    def _disturbed(self, task: Task, seen: Arrangement) -> str:
        """Describe a change besides the moved block; '' if there is none."""
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
            if name != task.block and off > MISPLACED_M:
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
    """The seen atoms about blocks."""
    atoms = set()
    for column, stack in zip(columns, seen.stacks, strict=True):
        atoms |= {Atom('incolumn', (block, column)) for block in stack}
        atoms |= {Atom('on', (upper, lower)) for lower, upper in itertools.pairwise(stack)}
        atoms |= {Atom('clear', (block,)) for block in stack[-1:]}
    return frozenset(atoms)


_MARGIN_M = 0.003
_MOST_TURN_RAD = math.radians(20.0)


def hand_yaw(cube: Cube, others: Sequence[Cube], robot: RobotConfig) -> float | None:
    """Angle of the hand around a block: as the block stands, as far as neighbours allow.

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
    return BlocksworldSkills(robot, arm, camera, gate, kinematics,
                             read_settings(SkillSettings, settings))
