"""Blocksworld with an arm: actions are motions, and physics decides their results.

What is true is read from where the blocks are; see ``truth``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import (
    Action,
    Atom,
    EpisodeSpec,
    FeedbackStatus,
    Observation,
    Problem,
    State,
    WorldError,
    check_settings,
)
from sightplan_arm.config import load_robot
from sightplan_sim.arm.camera_process import CameraProcess
from sightplan_sim.arm.simulator import SimulatedArm
from sightplan_sim.arm.world import ArmedWorld, ArmEpisode, refuse_fixed
from sightplan_sim.blocksworld.arm_scene import (
    ArmScene,
    Decor,
    SimulatedCamera,
)
from sightplan_sim.blocksworld.camera import BLOCK_M, FRONT_M
from sightplan_sim.blocksworld.initial import Scenario, read_scenario, with_row
from sightplan_sim.blocksworld.look import COLOURS, Look, sample_look
from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.truth import outcome_of, true_atoms
from sightplan_sim.episodes import (
    Pose7,
    generator,
    pose_matrix,
)
from sightplan_sim.pinhole import CameraInfo

TABLE_END_M = 0.8
"""y of the table's far edge [m]: behind the wall in the pictures, which is a curtain."""
_GAP_M = 2e-4  # gap that a reset leaves between stacked blocks
_FIXED = {
    **dict.fromkeys(('fov_deg', 'elevation_deg', 'distance_m', 'margin'),
                    "the camera hangs where the robot's file has it"),
    'pictures': 'the skills look at the table'}
"""Settings that an arm leaves no choice, and why."""


class ArmWorld(ArmedWorld['_Episode']):
    """An arm that moves cubes; see ``ArmedWorld``.

    Attributes:
        settings: as given.
        renderer: what draws the pictures, with its version.

    Raises:
        InputError: a setting is out of bounds or makes no sense with an arm, or the robot's file
            is wrong.
    """

    def __init__(self, settings: Settings, clock_ns: Callable[[], int] | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        check_settings(settings)
        refuse_fixed(settings, _FIXED)
        self.settings = settings
        robot = load_robot(settings.robot)
        with ExitStack() as stack:
            scene = stack.enter_context(ArmScene(
                robot, settings, settings.width, settings.height,
                supersampling=settings.supersampling))
            arm = stack.enter_context(SimulatedArm(
                robot, settings, block_m=BLOCK_M, table_y_m=(FRONT_M, TABLE_END_M)))
            super().__init__('blocksworld', robot, arm, SimulatedCamera(scene, arm.poses),
                             rearm=settings.rearm, clock_ns=clock_ns,
                             skill_settings=skill_settings)
            self._scene = scene
            self.renderer = f'{scene.renderer}, arm {robot.name}'
            stack.pop_all()

    # --- beyond the ports ---------------------------------------------------------------------

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        return self._scene.optics.info(self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the world [m], where the camera truly hangs.

        The robot's file differs from it by the calibration's error.
        """
        camera = self._scene.camera(0, 0, Look())
        return pose_matrix(camera.axes, camera.position_m)

    def with_start(self, problem: Problem) -> Problem:
        """Return the problem; one without initial facts with one block in each column."""
        return with_row(problem)

    def camera_process(self) -> CameraProcess:
        """A process that draws live pictures of this world; the caller closes it."""
        s, optics = self.settings, self._scene.optics
        return CameraProcess(
            functools.partial(ArmScene, self.robot, s, optics.width, optics.height,
                              supersampling=s.supersampling), optics.width, optics.height)

    # --- inside -------------------------------------------------------------------------------

    def _misfit(self, spec: EpisodeSpec) -> str:
        return self.robot.misfit(spec.problem, one_stack=True)

    def _make_episode(self, spec: EpisodeSpec) -> _Episode:
        scenario = read_scenario(spec.problem)
        return _Episode(spec=spec, scenario=scenario,
                        look=sample_look(generator('blocksworld', spec, 'look'),
                                         self.settings.look),
                        column_x_m=self.robot.table.column_x_m(len(scenario.columns)))

    def _put(self, episode: _Episode) -> None:
        scenario, look, seed = episode.scenario, episode.look, episode.spec.seed
        self.arm.reset(self._initial_poses(scenario, look), seed)
        self.camera.show(Decor(scenario.columns, look, seed))

    def _for_skills(self, problem: Problem) -> Problem:
        return dataclasses.replace(problem, init=frozenset(
            atom for atom in problem.init if atom.predicate in ('leftof', 'rightof')))

    def _outcome(self, episode: _Episode, action: Action, status: FeedbackStatus,
                 before: State) -> str:
        return outcome_of(action, status, before, episode.states[-1], episode.scenario.columns)

    def _initial_poses(self, scenario: Scenario, look: Look) -> dict[str, Pose7]:
        layout = self._scene.layout(len(scenario.columns), len(scenario.colours))
        poses: dict[str, Pose7] = {}
        for column, stack in enumerate(scenario.stacks):
            for level, colour in enumerate(stack):
                (x, y, z), yaw = self._scene.block_pose(
                    layout, column, level, look.placements[COLOURS.index(colour)])
                poses[colour] = (x, y, z + (level + 1) * _GAP_M,
                                 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))
        return {colour: poses[colour] for colour in COLOURS if colour in poses}

    def _check_settled(self, episode: _Episode) -> None:
        found, scenario = self._read_state(episode), episode.scenario
        facts = set()
        for column, stack in zip(scenario.columns, scenario.stacks, strict=True):
            blocks = [scenario.names[colour] for colour in stack]
            facts |= {Atom('incolumn', (block, column)) for block in blocks}
            facts |= {Atom('on', pair) for pair in zip(blocks[1:], blocks, strict=False)}
        if {atom for atom in found if atom.predicate in ('incolumn', 'on')} != facts:
            raise WorldError(f'problem {episode.spec.problem.name}: the blocks did not stay where '
                             f'they were put: lower look (it is {self.settings.look:g})')

    def _picture(self, episode: _Episode) -> Observation:
        _, picture = self.camera.picture()
        return Observation(image=picture.rgb, stamp_ns=0, frame_id=self.settings.frame_id,
                           depth_m=picture.depth_m)

    def _read_state(self, episode: _Episode) -> State:
        names = episode.scenario.names
        blocks = {names[colour]: pose for colour, pose in self.arm.poses().blocks.items()}
        return true_atoms(blocks, dict(zip(episode.scenario.columns, episode.column_x_m,
                                           strict=True)), self.robot.table.spacing_m)


@dataclass(kw_only=True)
class _Episode(ArmEpisode):
    """State of one episode.

    Attributes:
        scenario: what the problem puts on the table.
        look: every random factor of it.
        column_x_m: where its columns are.
    """

    scenario: Scenario
    look: Look
    column_x_m: tuple[float, ...]
