"""Sliding puzzles on an arm: ``move(piece, direction)`` carries a piece to the next cell.

Pieces are geoms on plinths (``sightplan_arm.plinths``). A move is a pick: the plinth is taken from
above, lifted over all others and put down in the middle of the next cell, which must be empty.
Before anything moves the camera looks: a move that makes no sense in what is seen, or contradicts
what the agent is sure of, is refused, and so is every motion while there is something of which it
is not known what it is. What becomes of a motion the agent finds out through its own camera.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightplan.domains.sliding.boards import DIRECTIONS, cell_names, neighbours
from sightplan.model import Action, Atom, Problem, State, WorldError
from sightplan_arm.board_perception import SeenBoard, see_board
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import hand_down
from sightplan_arm.hardware import Arm, Camera, Vector
from sightplan_arm.plinths import (
    GEOM_M,
    GRIP_M,
    HEIGHT_M,
    WIDTH_M,
    PlinthPiece,
    boxes_at,
    cell_centres_m,
    cell_name,
    pieces_of,
)
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import read_settings
from sightplan_arm.skills.motions import NoRoomError, first_that_works
from sightplan_arm.skills.picking import MISPLACED_M, PickingSettings, PickingSkills
from sightplan_arm.skills.report import Refused
from sightplan_arm.skills.transport import Moves, Transport

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

ACTION = 'move'
OCCUPIED, OUT_OF_BOUNDS = 'destination occupied', 'destination out of bounds'
"""Reasons for rejected moves, in the words of the world without an arm."""

YAWS_RAD = (math.pi / 4, -math.pi / 4)
"""Yaws of the hand on the board at which there is most room between neighbours [rad]."""
_ROOM_M = 0.004  # distance to other pieces that is enough for hand and links around a piece
_MARGIN_M = 0.003  # additional margin for fingers
_AROUND_M = WIDTH_M / 2 / math.cos(math.pi / 8)  # radius of the circle around a plinth


@dataclass(frozen=True, eq=False)
class Task:
    """A move that the seen scene allows.

    Attributes:
        piece, direction: names.
        from_m: (2,) where the piece stands.
        target: number of the cell to which it goes.
        to_m: (2,) the middle of that.
        others_m: (2,) where all other pieces stand.
        seen: what was seen.
    """

    piece: str
    direction: str
    from_m: Vector
    target: int
    to_m: Vector
    others_m: tuple[Vector, ...]
    seen: SeenBoard


class SlidingSkills(PickingSkills[SeenBoard, Task]):
    """Skills of the sliding domain; see the protocol ``Skills``.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: PickingSettings) -> None:
        self._over_all_m = HEIGHT_M + GEOM_M + GRIP_M + settings.clearance_m
        super().__init__(robot, arm, camera, gate, kinematics, settings,
                         over_m=self._over_all_m, width_m=WIDTH_M)
        self._size = 0
        self._pieces: tuple[PlinthPiece, ...] = ()
        self._centres_m = np.zeros((0, 2))

    # --- the protocol Skills ------------------------------------------------------------------

    def reset(self, problem: Problem) -> None:
        """Begin an episode: park the arm, and check that the board is ready."""
        self._forget()
        self._size, self._pieces = pieces_of(problem, self._robot)
        self._centres_m = cell_centres_m(self._size, self._robot.table.spacing_m)
        self._begin()
        if self._picking.check_table:
            self._check_board(problem)
        self._begun = True

    # --- one action ---------------------------------------------------------------------------

    def _check_action(self, action: Action) -> tuple[str, str]:
        if action.name != ACTION or len(action.args) != 2:
            raise Refused(causes.UNKNOWN, f'unknown action {action}: this robot knows '
                          f'{ACTION}(piece, direction)')
        piece, direction = action.args
        if piece not in (one.name for one in self._pieces):
            raise Refused(causes.UNKNOWN, f'{piece} is not a piece of this problem')
        if direction not in DIRECTIONS:
            raise Refused(causes.UNKNOWN, f'{direction} is not a direction')
        return piece, direction

    def _observe(self) -> SeenBoard:
        return see_board(self._camera.observe(), self._robot, self._pieces, self._size)

    def _task(self, piece: str, direction: str, seen: SeenBoard) -> Task:
        if seen.warnings:
            raise Refused(causes.UNCLEAR, f'the camera sees what cannot be: {seen.warnings[0]}')
        here = seen.cells[piece]
        if here is None:
            raise Refused(causes.UNCLEAR, f'{piece} stands on no cell')
        target = dict(neighbours(self._size)[here]).get(direction)
        if target is None:
            raise Refused(causes.OFF_BOARD, OUT_OF_BOUNDS)
        if target in seen.cells.values():
            raise Refused(causes.TAKEN, OCCUPIED)
        return Task(piece, direction, seen.places_m[piece], target, self._centres_m[target],
                    tuple(place for name, place in seen.places_m.items() if name != piece), seen)

    def _facts(self, seen: SeenBoard) -> State:
        return seen.facts()

    def _matters(self, atom: Atom, task: Task, seen: SeenBoard) -> bool:
        target = cell_names(self._size)[task.target]
        return (atom.predicate == 'at' and (atom.args[0] == task.piece or atom.args[1] == target)
                ) or (atom.predicate == 'empty' and atom.args[0] == target)

    def _plan(self, task: Task) -> Moves:
        fitting = [yaw for yaw in YAWS_RAD if all(
            fits(place, yaw, task.others_m, self._robot) for place in (task.from_m, task.to_m))]
        if not fitting:
            raise NoRoomError(f'there is no room for the fingers around {task.piece}')
        return first_that_works([functools.partial(self._plan_turned, task, yaw)
                                 for yaw in fitting], f'{task.piece} cannot be moved')

    def _plan_turned(self, task: Task, yaw: float) -> Moves:
        def down(place: Vector, height: float) -> Vector:
            return hand_down((*place, height), yaw)

        return self._transports.plan(Transport(
            task.piece, cell_name(task.target, self._size),
            at_source=down(task.from_m, GRIP_M),
            over_source=down(task.from_m, self._over_all_m),
            over_target=down(task.to_m, self._over_all_m),
            at_target=down(task.to_m, GRIP_M + self._picking.drop_m),
            others=boxes_at(task.others_m), before=boxes_at([task.from_m]),
            after=boxes_at([task.to_m]), room_m=_ROOM_M))

    def _verify(self, task: Task) -> tuple[str, str]:
        seen, piece = self._observe(), task.piece
        if seen.warnings:
            return causes.MISPLACED, f'after the move {seen.warnings[0]}'
        where = cell_name(task.target, self._size)
        if seen.cells[piece] != task.target:
            return causes.MISPLACED, (f'{piece} stands on '
                                      f'{cell_name(seen.cells[piece], self._size)}, not {where}')
        most = MISPLACED_M
        off = float(np.linalg.norm(seen.places_m[piece] - task.to_m))
        if off > most:
            return causes.MISPLACED, (f'{piece} stands {1e3 * off:.0f} mm from the middle of '
                                      f'{where}')
        for name, place in task.seen.places_m.items():
            off = float(np.linalg.norm(seen.places_m[name] - place))
            if name != piece and off > most:
                return causes.DISTURBED, (f'something else has changed: {name} stands '
                                          f'{1e3 * off:.0f} mm from where it was')
        return causes.DONE, ''

    def _check_board(self, problem: Problem) -> None:
        """Check that all pieces of the problem stand on cells of their own.

        Raises:
            WorldError: one does not.
        """
        seen = self._observe()
        cells = list(seen.cells.values())
        wrong = [*seen.warnings, *(f'{name} stands on no cell' for name, cell in
                                   seen.cells.items() if cell is None)]
        if not wrong and len(set(cells)) < len(cells):
            wrong = ['two pieces stand on one cell']
        if wrong:
            raise WorldError(f'{problem.name}: the board is not ready: {"; ".join(wrong)}. Put '
                             f'{", ".join(piece.name for piece in self._pieces)} on cells of '
                             'their own, and reset')


def fits(place_m: Vector, yaw: float, others_m: Sequence[Vector], robot: RobotConfig) -> bool:
    """Whether open fingers keep clear of the other plinths, seen from above.

    Args:
        place_m: (2,) middle of the plinth that is taken.
        yaw: of the hand, see ``hand_down``.
        others_m: (2,) middles of the others.
        robot: whose hand it is.
    """
    opening, hand = robot.gripper.open_m, robot.gripper.hand
    along = np.array([-math.sin(yaw), math.cos(yaw)])
    across = np.array([along[1], -along[0]])
    half = np.array([hand.finger_half_width_m, hand.finger_thickness_m / 2])
    for other in others_m:
        x, y = abs(across @ (other - place_m)), abs(along @ (other - place_m))
        beyond = np.maximum(
            np.abs([x, y - (opening + hand.finger_thickness_m) / 2]) - half, 0.0)
        if float(np.hypot(*beyond)) < _AROUND_M + _MARGIN_M:
            return False
    return True


def make_skills(robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate, kinematics: Kinematics,
                **settings: Any) -> SlidingSkills:
    """Make the skills of sliding puzzles: the entry point.

    Raises:
        InputError: a setting is unknown or out of bounds; names it.
    """
    return SlidingSkills(robot, arm, camera, gate, kinematics,
                         read_settings(PickingSettings, settings))
