"""Worlds whose actions a simulated arm carries out, with results by physics.

What is true is read from where the things are; what became of an action is what is true before and
after it. Nothing of it reaches the skills: they know the camera, the joints, the goal and what the
agent believes.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

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
    Belief,
    EpisodeSpec,
    Feedback,
    FeedbackStatus,
    InputError,
    Observation,
    Problem,
    State,
    WorldError,
    settings_fields,
)
from sightplan_arm.config import ROBOT_HASH, RobotConfig, load_robot
from sightplan_arm.gate import Gate
from sightplan_arm.hardware import Camera
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import SkillReport, load_skills
from sightplan_sim.arm.simulator import SimulatedArm

SETTLE_S = 0.5
"""Simulated time in which things that were put down by a reset come to rest."""


class ClosingCamera(Camera, Protocol):
    """A simulated camera that holds a renderer until it is closed."""

    def close(self) -> None:
        """Release the renderer."""


@dataclass(kw_only=True)
class ArmEpisode(Episode):
    """State of an episode in which an arm carries out the actions.

    Attributes:
        observed_s: the arm's time at which the last picture was taken.
    """

    observed_s: float = -math.inf


E = TypeVar('E', bound=ArmEpisode)


class ArmedWorld(EpisodicWorld[E]):
    """Implements the ports World and TruthSource over a simulated arm.

    Episodes are the same for the same settings, seed and problem, bit for bit, as long as
    ``realtime_factor`` is 0. Time is the arm's clock, unless another one is given.

    Args:
        domain: whose skills carry out the actions.
        robot: its configuration.
        arm: the simulated one.
        camera: through which the skills see.
        rearm: whether a reset re-arms a gate that has stopped.
        clock_ns: source of time [ns]; None: the arm's.
        skill_settings: of the skills, by name.

    Attributes:
        robot: what skills and gate know of the set-up.
        arm: implements the protocol Arm; its methods may be called at any time from any thread,
            also while an action is executed.
        camera: implements the protocol Camera; renders in the caller's thread.
        gate: through which every motion of the skills goes.
        skills: that carry out the actions.
        pictures: whether there is anything to be seen in what is observed.

    Raises:
        InputError: there are no skills for this domain, or a setting of them is wrong.
    """

    def __init__(self, domain: str, robot: RobotConfig, arm: SimulatedArm, camera: ClosingCamera,
                 *, rearm: bool, clock_ns: Callable[[], int] | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        super().__init__(clock_ns)
        if clock_ns is None:
            self._clock = WorldClock(lambda: START_NS + round(arm.now_s() * 1e9))
        self.robot, self.arm, self._rearm = robot, arm, rearm
        self.camera: Any = camera
        kinematics = Kinematics(robot)
        self.gate = Gate(arm, robot, kinematics)
        self.skills = load_skills(domain, robot, arm, camera, self.gate, kinematics,
                                  **(skill_settings or {}))
        self.pictures = True
        if arm.settings.realtime_factor > 0:
            arm.run()

    def close(self) -> None:
        """Give the simulators back."""
        self.arm.close()
        with self._lock:
            self._episode = None
            self.camera.close()

    def check(self, specs: Sequence[EpisodeSpec]) -> None:
        """Check before the first of some episodes that this world can show them.

        Raises:
            InputError: one of them wants failures to be injected, or does not fit the robot's
                table; says what to change.
        """
        for spec in specs:
            if misfit := _injected(spec) or self._misfit(spec):
                raise InputError(misfit)

    def camera_covariance(self) -> NDArray[np.float64]:
        """(6, 6) covariance of the camera's pose in the robot's file; see ``CameraUncertainty``.

        The camera is off from it by the distance and the angle that the settings have, in
        directions that are drawn.
        """
        settings = self.arm.settings
        off_m = settings.calibration_error_mm * 1e-3
        off_rad = math.radians(settings.calibration_error_deg)
        return np.diag([off_m**2 / 3] * 3 + [off_rad**2 / 3] * 3)

    # --- what derived worlds say --------------------------------------------------------------

    @abstractmethod
    def _misfit(self, spec: EpisodeSpec) -> str:
        """Explain why this world cannot show an episode, with the remedy; '' if it can."""

    @abstractmethod
    def _make_episode(self, spec: EpisodeSpec) -> E:
        """An episode that has not begun.

        Raises:
            WorldError: its problem cannot be shown.
        """

    @abstractmethod
    def _put(self, episode: E) -> None:
        """Park the arm, and put the things where the problem has them."""

    @abstractmethod
    def _check_settled(self, episode: E) -> None:
        """Check that the things have stayed where they were put.

        Raises:
            WorldError: they have not.
        """

    @abstractmethod
    def _for_skills(self, problem: Problem) -> Problem:
        """Return the problem without the facts that the robot has to perceive for itself."""

    @abstractmethod
    def _outcome(self, episode: E, action: Action, status: FeedbackStatus, before: State) -> str:
        """Outcome of an action; the state at its end is the episode's last one."""

    # --- port World ---------------------------------------------------------------------------

    def reset(self, spec: EpisodeSpec) -> None:
        """Park the arm and put the things where the problem has them.

        Raises:
            WorldError: the problem cannot be shown or does not fit the robot's table, the spec
                wants failures to be injected, or the things do not stay.
            ArmStoppedError: the gate has stopped, and nobody has re-armed it.
        """
        with self._lock:
            self._episode = None  # whatever goes wrong, the old episode is over
            self.skills.reports = []
        check_probability(spec)
        if misfit := _injected(spec) or self._misfit(spec):
            raise WorldError(misfit)
        with self._lock:
            episode = self._make_episode(spec)
            self._put(episode)
            self.arm.wait(SETTLE_S)
            self._check_settled(episode)
            if self._rearm:
                self.gate.rearm('reset of the simulation')
            self.skills.reset(self._for_skills(spec.problem))
            self._start(episode)

    def carry_on(self) -> None:
        """Park the arm, and open the gate after a hold; the things stay where they are.

        Raises:
            WorldError: the hand is not empty.
            ArmStoppedError: the gate has stopped, and nobody has re-armed it.
        """
        with self._lock:
            self.skills.reset(self._for_skills(self._current().spec.problem))

    def observe(self) -> Observation:
        """Take a picture; while nothing moves, the last one is returned with a new stamp."""
        with self._lock:
            episode = self._current()
            now_s = self.arm.poses().stamp_s
            if episode.observed_s != now_s:
                episode.observation, episode.observed_s = None, now_s
            return super().observe()

    def expect(self, belief: Belief) -> None:
        """Pass the agent's belief to the skills, which refuse actions that contradict it."""
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
                    episode.outcome = self._outcome(episode, action, feedback.status, before)
            return dataclasses.replace(feedback, stamp_ns=stamp_ns)

    # --- port TruthSource ---------------------------------------------------------------------

    def state(self, stamp_ns: int | None = None) -> State:
        """True atoms now or at a time of this episode, read from where the things are.

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
        """Reports of this episode's actions, by what the robot could perceive."""
        return self.skills.reports


def _injected(spec: EpisodeSpec) -> str:
    """Explain why the episode's failures make no sense with an arm; '' if none are wanted."""
    if spec.failure_probability <= 0:
        return ''
    return (f'episode {spec.id}: failure_probability is {spec.failure_probability:g}, but with '
            'execution=arm failures are those of physics, and none are injected: set it to 0, or '
            'execution to symbolic')


def refuse_fixed(settings: Any, fixed: Mapping[str, str]) -> None:
    """Check that settings which an arm leaves no choice have their defaults.

    Args:
        settings: of a world.
        fixed: names of such settings, and why.

    Raises:
        InputError: one has not; names it.
    """
    for field in settings_fields(type(settings)):
        if field.name in fixed and getattr(settings, field.name) != field.default:
            raise InputError(f'{field.name} cannot be chosen with execution=arm: '
                             f'{fixed[field.name]}; leave it out')


def robot_identity(options: Mapping[str, Any], robot: str) -> dict[str, Any]:
    """Hash of the robot's files, which change results as settings do.

    Args:
        options: settings of the world; a node that is the world adds the hash itself, for its
            files may lie on another machine.
        robot: the one by default.

    Raises:
        InputError: a file cannot be read.
    """
    if options.get('execution') != 'arm' or ROBOT_HASH in options:
        return {}
    return {ROBOT_HASH: load_robot(str(options.get('robot', robot))).sha256}
