"""The sliding world with an arm: a move is a pick, and physics decides its result.

Pieces are geoms on plinths (``sightplan_arm.plinths``) on a board on the table. The robot's own
camera looks at them, and all that its skills know of the board is what they see through it. The
agent's observations are those of the world without an arm, of the board as it stands: pieces are
drawn in the cells in which physics has them, and those that stand in none are not drawn.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightplan.domains.sliding.boards import Arrangement
from sightplan.model import (
    Action,
    EpisodeSpec,
    FeedbackStatus,
    InputError,
    Observation,
    Problem,
    State,
    WorldError,
    check_settings,
)
from sightplan_arm.config import RobotConfig, load_robot
from sightplan_arm.plinths import (
    GEOM_M,
    HEIGHT_M,
    PlinthPiece,
    cell_centres_m,
)
from sightplan_arm.plinths import pieces_of as plinth_pieces_of
from sightplan_sim.arm.world import ArmedWorld, ArmEpisode
from sightplan_sim.episodes import generator
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.sliding.board_observations import Showing
from sightplan_sim.sliding.board_world import BoardEpisode, BoardWorld
from sightplan_sim.sliding.look import sample_look
from sightplan_sim.sliding.pieces import read_problem
from sightplan_sim.sliding.plinth_things import make_piece, make_table
from sightplan_sim.sliding.settings import Settings
from sightplan_sim.sliding.truth import outcome_of, standing, true_atoms
from sightplan_sim.tabletop.arm_scene import TableArm, TableCamera, TableScene
from sightplan_sim.tabletop.shapes import Placed, Pose

OPTICS = Pinhole(640, 480, 45.0)
"""Optics of the robot's camera."""
_LEAST_DOWN = 0.5  # sine of how far it must look down at least
_SHIFT_M, _TURN_RAD = 0.002, math.radians(2.0)  # error of putting a piece down, times the look


class ArmSlidingWorld(BoardWorld['_Episode'], ArmedWorld['_Episode']):
    """An arm that moves pieces on plinths; see ``ArmedWorld``.

    Outcomes: see ``outcome_of``.

    Attributes:
        settings: as given.
        renderer: what draws the pictures, for the records of a run.

    Raises:
        InputError: a setting is out of bounds, the robot's file is wrong, or its camera does not
            look down on the board.
    """

    def __init__(self, settings: Settings, clock_ns: Callable[[], int] | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        check_settings(settings)
        self.settings = settings
        robot = load_robot(settings.robot)
        _check_view(robot)
        with ExitStack() as stack:
            scene = stack.enter_context(TableScene(robot, settings, OPTICS))
            arm = stack.enter_context(TableArm(robot, settings))
            super().__init__('sliding', robot, arm, TableCamera(scene, arm.poses),
                             rearm=settings.rearm, clock_ns=clock_ns,
                             skill_settings=skill_settings)
            self._scene, self._table = scene, arm
            self._showing = Showing(settings)
            self.pictures = self._showing.pictures
            self.renderer = f'{self._showing.renderer}, arm {robot.name}'
            stack.pop_all()

    # --- inside -------------------------------------------------------------------------------

    def _misfit(self, spec: EpisodeSpec) -> str:
        try:
            board, _, _ = read_problem(spec.problem)
            if spec.pictured_goal:
                board.goal(spec.problem)
            plinth_pieces_of(spec.problem, self.robot)
        except InputError as error:
            return str(error)
        return ''

    def _make_episode(self, spec: EpisodeSpec) -> _Episode:
        board, pieces, start = read_problem(spec.problem)
        look = sample_look(generator('sliding', spec, 'look'), self.settings.look, len(pieces))
        return _Episode(
            spec=spec, board=board, start=start, shown=self._showing.begin(board, pieces, look),
            plinths=plinth_pieces_of(spec.problem, self.robot)[1])

    def _put(self, episode: _Episode) -> None:
        chance = generator('sliding', episode.spec, 'placements')
        centres = cell_centres_m(episode.board.size, self.robot.table.spacing_m)
        placed, strength = [], self.settings.look
        for piece, cell in zip(episode.plinths, episode.start, strict=True):
            x, y, turn = chance.uniform(-1.0, 1.0, 3) * strength * (_SHIFT_M, _SHIFT_M, _TURN_RAD)
            placed.append(Placed(piece.name, make_piece(piece), Pose((
                float(centres[cell, 0] + x), float(centres[cell, 1] + y), 0.0), float(turn))))
        seed = episode.spec.seed
        self._table.lay(tuple(placed), seed)
        self._scene.show(make_table(tuple(placed), seed), self.settings.calibration_seed,
                         self.arm.now_s())

    def _check_settled(self, episode: _Episode) -> None:
        if self._cells(episode) != episode.start:
            raise WorldError(f'problem {episode.spec.problem.name}: the pieces did not stay where '
                             f'they were put: lower look (it is {self.settings.look:g})')

    def _for_skills(self, problem: Problem) -> Problem:
        return dataclasses.replace(problem, init=problem.known)

    def _outcome(self, episode: _Episode, action: Action, status: FeedbackStatus,
                 before: State) -> str:
        return outcome_of(action, status, before, episode.states[-1], episode.board)

    def _cells(self, episode: _Episode) -> tuple[int | None, ...]:
        return standing(self._table.places(), episode.board, self.robot.table.spacing_m)

    def _read_state(self, episode: _Episode) -> State:
        return true_atoms(self._table.places(), episode.board, self.robot.table.spacing_m)

    def _picture(self, episode: _Episode) -> Observation:
        return self._showing.observe(episode.shown, self._cells(episode))


@dataclass(kw_only=True)
class _Episode(ArmEpisode, BoardEpisode):
    """State of one episode."""

    start: Arrangement
    plinths: tuple[PlinthPiece, ...]


def _check_view(robot: RobotConfig) -> None:
    """Check that the robot's camera looks down on the largest board.

    Raises:
        InputError: it does not; says what to change.
    """
    pose, table = robot.camera.pose, robot.table
    half = table.max_columns * table.spacing_m / 2
    corners = np.array([(x, y, z) for x in (-half, half) for y in (-half, half)
                        for z in (0.0, HEIGHT_M + GEOM_M)])
    view = View(OPTICS, pose[:3, 3].copy(), pose[:3, :3].copy())
    pixels = view.project(corners)
    inside = bool((pixels >= 0).all() and (pixels < (OPTICS.width, OPTICS.height)).all())
    if not inside or -pose[2, 2] < _LEAST_DOWN or pose[0, 0] < 0:
        raise InputError(
            f'robot {robot.name}: its camera does not look down on a board of '
            f'{table.max_columns} cells a side: choose robot panda_tabletop, or correct '
            f'camera.pose or table.max_columns in {robot.file}')
