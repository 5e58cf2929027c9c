"""The blocksworld world with an arm: actions are motions, and physics decides the rest.

What is true is read from where the blocks are (see ``truth``); what became of an action is
what is true before and after it. Nothing of it reaches the skills: they know
the camera, the joints, the goal and what the agent believes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.domains.episodic_world import (
    START_NS,
    Episode,
    EpisodicWorld,
    WorldClock,
    check_probability,
)
from sightplan.model import (
    Action,
    Atom,
    Belief,
    EpisodeSpec,
    Feedback,
    InputError,
    Observation,
    State,
    WorldError,
    check_settings,
    settings_fields,
)
from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import SkillReport, load_skills
from sightplan_sim.arm.camera_process import CameraProcess
from sightplan_sim.arm.simulator import SimulatedArm
from sightplan_sim.blocksworld.arm_scene import (
    ArmScene,
    Decor,
    SimulatedCamera,
    check_view,
)
from sightplan_sim.blocksworld.camera import BLOCK_M, FRONT_M
from sightplan_sim.blocksworld.initial import Scenario, read_scenario
from sightplan_sim.blocksworld.look import COLOURS, Look, sample_look
from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.truth import outcome_of, true_atoms
from sightplan_sim.episodes import (
    Pose7,
    generator,
    pose_matrix,
)
from sightplan_sim.pinhole import CameraInfo

SETTLE_S = 0.5
"""Simulated time in which blocks that were put down by a reset come to rest."""
TABLE_END_M = 0.8
"""y to which the table reaches: farther back than the wall in the pictures, which is a curtain."""
_GAP_M = 2e-4  # between blocks that are put on one another by a reset
_FIXED = {
    **dict.fromkeys(('fov_deg', 'elevation_deg', 'distance_m', 'margin'),
                    "the camera hangs where the robot's file has it"),
    'pictures': 'the skills look at the table'}
"""Settings that an arm leaves no choice, and why."""


class ArmWorld(EpisodicWorld['_Episode']):
    """Implements the ports World and TruthSource over a simulated arm.

    Episodes are the same for the same settings, seed and problem, bit for bit, as long as
    ``realtime_factor`` is 0. Time is the arm's clock, unless another one is given.

    Attributes:
        settings: as given.
        robot: its configuration: what skills and gate know of the set-up.
        arm: implements the protocol Arm; its methods may be called at any time from any thread,
            also while an action is executed.
        camera: implements the protocol Camera; renders in the caller's thread.
        gate: through which every motion of the skills goes.
        skills: that carry out the actions.
        renderer: what draws the pictures, with its version.
        pictures: always true.

    Raises:
        InputError: a setting is out of bounds or makes no sense with an arm, or the robot's file
            is wrong.
    """

    def __init__(self, settings: Settings, clock_ns: Callable[[], int] | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        check_settings(settings)
        for setting in settings_fields(Settings):
            if setting.name in _FIXED and getattr(settings, setting.name) != setting.default:
                raise InputError(f'{setting.name} cannot be chosen with execution=arm: '
                                 f'{_FIXED[setting.name]}; leave it out')
        self.settings = settings
        self.robot = load_robot(settings.robot)
        check_view(self.robot, settings.width, settings.height)
        with ExitStack() as stack:
            scene = stack.enter_context(ArmScene(
                self.robot, settings, settings.width, settings.height,
                supersampling=settings.supersampling))
            arm = stack.enter_context(SimulatedArm(
                self.robot, settings, block_m=BLOCK_M, table_y_m=(FRONT_M, TABLE_END_M)))
            camera = SimulatedCamera(scene, arm.poses)
            super().__init__(clock_ns)
            if clock_ns is None:
                self._clock = WorldClock(lambda: START_NS + round(arm.now_s() * 1e9))
            self._scene, self.arm, self.camera = scene, arm, camera
            kinematics = Kinematics(self.robot)
            self.gate = Gate(arm, self.robot, kinematics)
            self.skills = load_skills('blocksworld', self.robot, arm, camera, self.gate,
                                      kinematics, **(skill_settings or {}))
            self.renderer = f'{scene.renderer}, arm {self.robot.name}'
            self.pictures = True
            if settings.realtime_factor > 0:
                arm.run()
            stack.pop_all()

    def close(self) -> None:
        """Give the simulators back."""
        self.arm.close()
        with self._lock:
            self._episode = None
            self.camera.close()

    def check(self, specs: Sequence[EpisodeSpec]) -> None:
        """Check before the first of some episodes that this world can show them.

        Raises:
            InputError: one of them wants failures to be injected, or more columns or blocks than
                there is room for; says what to change.
        """
        for spec in specs:
            if misfit := self._misfit(spec):
                raise InputError(misfit)

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Park the arm and put the blocks where the problem has them.

        Raises:
            WorldError: the problem cannot be shown (see ``read_scenario``) or does not fit the
                robot's table, the spec wants failures to be injected, or the blocks do not stay.
            ArmStoppedError: the gate has stopped, and nobody has re-armed it.
        """
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            self.skills.reports = []
        check_probability(spec)
        if misfit := self._misfit(spec):
            raise WorldError(misfit)
        scenario = read_scenario(spec.problem)
        look = sample_look(generator('blocksworld', spec, 'look'), self.settings.look)
        with self._lock:
            self.arm.reset(self._initial_poses(scenario, look), spec.seed)
            self.camera.show(Decor(scenario.columns, look, spec.seed))
            self.arm.wait(SETTLE_S)
            episode = _Episode(spec=spec, scenario=scenario,
                               column_x_m=self.robot.table.column_x_m(len(scenario.columns)))
            self._check_settled(episode)
            if self.settings.rearm:
                self.gate.rearm('reset of the simulation')
            self.skills.reset(dataclasses.replace(spec.problem, init=frozenset(
                atom for atom in spec.problem.init if atom.predicate in ('leftof', 'rightof'))))
            self._start(episode)

    def observe(self) -> Observation:
        """Take a picture; as long as nothing moves it is the same one with a new stamp."""
        with self._lock:
            episode = self._current()
            if episode.observed_s != self.arm.poses().stamp_s:
                episode.observation = None
            return super().observe()

    def expect(self, belief: Belief) -> None:
        """Tell the skills what the agent believes; they refuse what contradicts it."""
        self.skills.expect(belief)

    def execute(self, action: Action) -> Feedback:
        """Carry out an action with the arm; the feedback is the skills'.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
        """
        with self._lock:
            episode = self._current()
            before = self._read_state(episode)
            feedback = None
            try:
                feedback = self.skills.execute(action).feedback
            finally:
                episode.outcome = ''
                stamp_ns = self._record(episode, 0.0)
                if feedback is not None:
                    episode.outcome = outcome_of(
                        action, feedback.status, before, episode.states[-1],
                        episode.scenario.columns)
            return dataclasses.replace(feedback, stamp_ns=stamp_ns)

    # --- port TruthSource ---------------------------------------------------------------------

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms now or at a time of this episode; see ``true_atoms``.

        Of what moves while nobody asks (the hardware is driven from outside), a time's state is
        the one that was read last before it.
        """
        with self._lock:
            if stamp_ns is None:
                self._record(self._current(), 0.0)
            return super().state(stamp_ns)

    # --- beyond the ports ---------------------------------------------------------------------

    @property
    def skill_reports(self) -> list[SkillReport]:
        """How the actions of this episode went, as far as the robot can tell."""
        return self.skills.reports

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        return self._scene.optics.info(self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the world [m], where the camera truly hangs.

        The robot's file differs from it by the calibration's error.
        """
        camera = self._scene.camera(0, 0, Look())
        return pose_matrix(camera.axes, camera.position_m)

    def camera_process(self) -> CameraProcess:
        """A process that draws live pictures of this world; the caller closes it."""
        s, optics = self.settings, self._scene.optics
        return CameraProcess(
            functools.partial(ArmScene, self.robot, s, optics.width, optics.height,
                              supersampling=s.supersampling), optics.width, optics.height)

    # --- inside -------------------------------------------------------------------------------

    def _misfit(self, spec: EpisodeSpec) -> str:
        """Why this world cannot show an episode, with the remedy; '' if it may."""
        if spec.failure_probability > 0:
            return (f'episode {spec.id}: failure_probability is '
                    f'{spec.failure_probability:g}, but with execution=arm failures are those of '
                    'physics, and none are injected: set it to 0, or execution to symbolic')
        table, problem = self.robot.table, spec.problem
        columns, blocks = len(problem.of_type('column')), len(problem.of_type('block'))
        if columns > table.max_columns or blocks > table.max_level:
            return (f'problem {problem.name}: {columns} columns and {blocks} blocks, but before '
                    f'robot {self.robot.name} there is room for {table.max_columns} columns and '
                    f'stacks of {table.max_level}: choose other problems, another robot, or '
                    f'table.max_columns and table.max_level in {self.robot.file}')
        return ''

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
        episode.observed_s, picture = self.camera.picture()
        return Observation(image=picture.rgb, stamp_ns=0, frame_id=self.settings.frame_id,
                           depth_m=picture.depth_m)

    def _read_state(self, episode: _Episode) -> State:
        names = episode.scenario.names
        blocks = {names[colour]: pose for colour, pose in self.arm.poses().blocks.items()}
        return true_atoms(blocks, dict(zip(episode.scenario.columns, episode.column_x_m,
                                           strict=True)), self.robot.table.spacing_m)


@dataclass(kw_only=True)
class _Episode(Episode):
    """What is kept of an episode besides.

    Attributes:
        scenario: what the problem puts on the table.
        column_x_m: where its columns are.
        observed_s: the arm's time at which the last picture was taken.
    """

    scenario: Scenario
    column_x_m: tuple[float, ...]
    observed_s: float = -math.inf
