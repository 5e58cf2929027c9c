"""The blocksworld world with an arm: actions are motions, and physics decides the rest.

What is true is read from where the blocks are (see ``true_atoms``); what became of an action is
what is true before and after it (see ``outcome_of``). Nothing of it reaches the skills: they know
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

from sightplan.model import (
    Action,
    Atom,
    Belief,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    State,
    WorldError,
    check_settings,
    settings_fields,
)
from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate
from sightplan_arm.geometry import rotation_from_quaternion
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import SkillReport, load_skills
from sightplan_sim.arm.camera_process import CameraProcess
from sightplan_sim.arm.simulator import Pose7, Poses, SimulatedArm
from sightplan_sim.blocksworld.arm_scene import (
    ArmScene,
    Decor,
    LiveDrawer,
    SimulatedCamera,
    check_view,
)
from sightplan_sim.blocksworld.camera import BLOCK_M, FRONT_M
from sightplan_sim.blocksworld.initial import Scenario, read_scenario
from sightplan_sim.blocksworld.look import COLOURS, Look, sample_look
from sightplan_sim.blocksworld.settings import Settings
from sightplan_sim.blocksworld.table import Picture
from sightplan_sim.camera_info import CameraInfo
from sightplan_sim.clock import START_NS, WorldClock
from sightplan_sim.episodes import (
    Episode,
    EpisodicWorld,
    check_probability,
    generator,
    pose_matrix,
)

ACTION = 'moveblock'
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

    Args:
        settings: ``execution`` is ``arm``.
        clock_ns: source of time [ns].
        skill_settings: of the skills.

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
            camera = SimulatedCamera(scene, arm.poses, settings)
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
        """Take a picture; as long as nothing moves it is the same one with a new stamp.

        Raises:
            WorldError: there was no reset.
        """
        with self._lock:
            episode = self._current()
            stamp_ns = self._clock.advance(0.0)
            poses = self.arm.poses()
            if episode.picture is None or episode.picture[0] != poses.stamp_s:
                stamp_s, picture = self.camera.picture()
                for array in (picture.rgb, picture.depth_m):
                    if array is not None:
                        array.setflags(write=False)  # handed out more than once
                episode.picture = (stamp_s, picture)
            picture = episode.picture[1]
            return Observation(image=picture.rgb, stamp_ns=stamp_ns,
                               frame_id=self.settings.frame_id, depth_m=picture.depth_m)

    def expect(self, belief: Belief) -> None:
        """Tell the skills what the agent believes; they refuse what contradicts it."""
        self.skills.expect(belief)

    def execute(self, action: Action) -> Feedback:
        """Carry out an action with the arm; the feedback is the skills'.

        Raises:
            WorldError: there was no reset.
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
                stamp_ns = self._record(episode)
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

        Raises:
            WorldError: there was no reset, or the time is before it or still to come.
        """
        with self._lock:
            if stamp_ns is None:
                self._record(self._current())
            return super().state(stamp_ns)

    def last_outcome(self) -> str:
        """What became of the last action of this episode, '' before the first; ``outcome_of``.

        Raises:
            WorldError: there was no reset.
        """
        return super().last_outcome()

    # --- beyond the ports ---------------------------------------------------------------------

    @property
    def skill_reports(self) -> list[SkillReport]:
        """How the actions of this episode went, as far as the robot can tell."""
        return self.skills.reports

    def camera_info(self) -> CameraInfo:
        """Calibration of the camera: the same in every episode."""
        optics = self._scene.optics
        return CameraInfo(optics.width, optics.height, optics.matrix(), np.zeros(5),
                          self.settings.frame_id)

    def camera_pose(self) -> NDArray[np.float64]:
        """(4, 4) pose of the optical frame in the world [m], where the camera truly hangs.

        The robot's file differs from it by the calibration's error.
        """
        camera = self._scene.camera(0, 0, Look())
        return pose_matrix(camera.rotation.T, camera.position_m)

    def camera_process(self) -> CameraProcess:
        """A process that draws live pictures of this world; the caller closes it."""
        s, optics = self.settings, self._scene.optics
        return CameraProcess(
            functools.partial(LiveDrawer, self.robot, s, optics.width, optics.height,
                              s.supersampling), optics.width, optics.height)

    # --- inside -------------------------------------------------------------------------------

    def _misfit(self, spec: EpisodeSpec) -> str:
        """Why this world cannot show an episode, with the remedy; '' if it may."""
        if spec.failure_probability > 0:
            return (f'episode {spec.episode_id}: failure_probability is '
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

    def _record(self, episode: _Episode) -> int:
        """Note what is true now, if it has changed; returns the time [ns]."""
        stamp_ns = self._clock.advance(0.0)
        state = self._read_state(episode)
        if state != episode.states[-1]:
            episode.stamps_ns.append(stamp_ns)
            episode.states.append(state)
        return stamp_ns

    def _read_state(self, episode: _Episode) -> State:
        names = episode.scenario.names
        poses: Poses = self.arm.poses()
        blocks = {names[colour]: pose for colour, pose in poses.blocks.items()}
        return true_atoms(blocks, dict(zip(episode.scenario.columns, episode.column_x_m,
                                           strict=True)), self.robot.table.spacing_m)


@dataclass(kw_only=True)
class _Episode(Episode):
    """What is kept of an episode besides.

    Attributes:
        scenario: what the problem puts on the table.
        column_x_m: where its columns are.
        picture: the last one, and the arm's time at which it was taken.
    """

    scenario: Scenario
    column_x_m: tuple[float, ...]
    picture: tuple[float, Picture] | None = None


def true_atoms(blocks: Mapping[str, Pose7], columns: Mapping[str, float], pitch_m: float) -> State:
    """What holds for blocks at their poses; tilted or misplaced ones have the fewest atoms.

    - ``leftof``, ``rightof``: by the places of the columns.
    - ``incolumn(b, c)``: b's centre is less than half a pitch beside c and at most half a side
      before or behind the row (so are the rows of ``sightplan_arm.perception``); b is tilted by
      15 degrees at most; and it rests on the table, or on a block of c.
    - ``on(a, b)``: a rests on b, and both are in the same column.
    - ``clear(b)``: b is in a column, and of no other block the centre is more than half a side
      above b's, and over b (nearer than a side, seen from above). So what hangs in the gripper
      above b hides it.

    A block rests on the table if its centre is 0.3 to 0.7 sides above it, and on another one if
    its centre lies over that one's upper face, 0.8 to 1.2 sides above that one's centre. What is
    held in the hand, leans, or lies on the floor is in no column, on nothing, and not clear.

    Args:
        blocks: pose of the centre of each block, by its name.
        columns: x of each column, by its name [m].
        pitch_m: distance of neighbouring columns.
    """
    atoms = {Atom(predicate, (a, b))
             for a, xa in columns.items() for b, xb in columns.items()
             for predicate, holds in (('leftof', xa < xb), ('rightof', xa > xb)) if holds}
    places: dict[str, str] = {}
    for name in sorted(blocks, key=lambda block: blocks[block][2]):
        below = [b for b in places if _rests(blocks[name], blocks[b])]
        for column, x in columns.items():
            if _stands(blocks[name], x, pitch_m) and (
                    abs(blocks[name][2] - BLOCK_M / 2) < _REST_M
                    or any(places[b] == column for b in below)):
                places[name] = column
        atoms |= {Atom('on', (name, b)) for b in below if places[b] == places.get(name)}
    for name, column in places.items():
        atoms.add(Atom('incolumn', (name, column)))
        if not any(_covers(blocks[other], blocks[name]) for other in blocks if other != name):
            atoms.add(Atom('clear', (name,)))
    return frozenset(atoms)


_UPRIGHT = math.cos(math.radians(15.0))
_REST_M = 0.2 * BLOCK_M
"""So much may the height of what rests on something differ from what it should be."""


def _stands(pose: Pose7, column_x_m: float, pitch_m: float) -> bool:
    """Whether a block is upright, and at the place of a column."""
    tall = float(np.abs(rotation_from_quaternion(pose[3:])[2]).max())
    return (abs(pose[0] - column_x_m) < pitch_m / 2 and abs(pose[1]) <= BLOCK_M / 2
            and tall >= _UPRIGHT)


def _rests(upper: Pose7, lower: Pose7) -> bool:
    """Whether a block is where one is that rests on another."""
    aside = np.array([upper[0] - lower[0], upper[1] - lower[1], 0.0])
    level = _level_offset(rotation_from_quaternion(lower[3:]), aside)
    return level < BLOCK_M / 2 and abs(upper[2] - lower[2] - BLOCK_M) < _REST_M


def _covers(upper: Pose7, lower: Pose7) -> bool:
    """Whether a block is above another one, at whatever height."""
    aside = math.hypot(upper[0] - lower[0], upper[1] - lower[1])
    return upper[2] - lower[2] > 0.5 * BLOCK_M and aside < BLOCK_M


def _level_offset(axes: NDArray[np.float64], aside: NDArray[np.float64]) -> float:
    """Greatest component of a horizontal offset along the two flattest axes of a block."""
    flat = sorted(range(3), key=lambda k: abs(axes[2, k]))[:2]
    return max(abs(float(aside @ axes[:, k])) for k in flat)


def outcome_of(action: Action, status: FeedbackStatus, before: State, after: State,
               columns: Sequence[str]) -> str:
    """What became of ``moveblock(b, c)``, from what was true before and after it.

    Args:
        action: what was asked for.
        status: what the agent was told.
        before: true atoms before it.
        after: and after it.
        columns: left to right.

    Returns:
        ``success``: b is on top in c, all else is as it was. ``illegal``: rejected, and it could
        not have been done. ``refused``: rejected, although it could have been done. ``no_op``:
        carried out, and nothing has changed. ``dropped_target:moveblock(b, c2)`` and
        ``dropped_source:moveblock(b, c2)``: what happened is a move to another column, nearer to
        c, or to where b was. ``disturbed``: anything else has changed, also if b is in c.
    """
    moves = {column: _moved(action.args[0], column, before) for column in columns} if (
        action.name == ACTION and len(action.args) == 2) else {}
    expected = moves.get(action.args[1]) if moves else None
    if status is FeedbackStatus.REJECTED and after == before:
        return 'refused' if expected is not None else 'illegal'
    if expected is not None and after == expected:
        return 'success'
    if after == before:
        return 'no_op'
    landed = next((column for column, state in moves.items() if state == after), None)
    if landed is None or action.args[1] not in columns:
        return 'disturbed'
    block, target = action.args
    source = next(a.args[1] for a in before if a.predicate == 'incolumn' and a.args[0] == block)
    place = list(columns).index
    nearer = abs(place(landed) - place(target)) <= abs(place(landed) - place(source))
    name = 'dropped_target' if nearer else 'dropped_source'
    return f'{name}:{Action(ACTION, (block, landed))}'


def _moved(block: str, column: str, before: State) -> State | None:
    """The state after a legal move; None if it is none."""
    where = {a.args[0]: a.args[1] for a in before if a.predicate == 'incolumn'}
    if (block not in where or where[block] == column or Atom('clear', (block,)) not in before):
        return None
    below = {a for a in before if a.predicate == 'on' and a.args[0] == block}
    top = [b for b, c in where.items() if c == column and Atom('clear', (b,)) in before]
    if len(top) > 1:
        return None
    gone = {Atom('incolumn', (block, where[block])), *below,
            *(Atom('clear', (b,)) for b in top)}
    new = {Atom('incolumn', (block, column)), *(Atom('clear', (a.args[1],)) for a in below),
           *(Atom('on', (block, b)) for b in top)}
    return frozenset(before - gone | new)
