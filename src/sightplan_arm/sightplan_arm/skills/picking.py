"""Base of skills of which every action moves one thing to another place.

Before anything moves the camera looks: an action that makes no sense in what is seen, or
contradicts what the agent is sure of, is refused. What becomes of a motion the agent finds out
through its own camera.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from sightplan.model import (
    Action,
    Atom,
    Belief,
    Feedback,
    State,
    WorldError,
    check_settings,
    param,
)
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Arm, ArmStoppedError, Camera
from sightplan_arm.skills import report as causes
from sightplan_arm.skills.arm_use import ArmUse
from sightplan_arm.skills.motions import NoRoomError, PathPlanner
from sightplan_arm.skills.report import Refused, SkillResult, Stopwatch
from sightplan_arm.skills.solids import in_hand, on_table
from sightplan_arm.skills.transport import FIRST, SMOOTH, Moves, TransportPlanner
from sightplan_arm.surroundings import Solid
from sightplan_arm.trajectories import UnreachableError

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate
    from sightplan_arm.kinematics import Kinematics

Seen = TypeVar('Seen')
Task = TypeVar('Task')

_OBSERVE_AGAIN = (causes.NOT_FOUND, causes.UNCLEAR)
_OBSERVE_AGAIN_S = 0.3
_LEAST, _MOST = 0.8, 1.2  # range of the fingers' opening around a held thing, in its widths


_CONFIDENT = 0.9
"""An agent is taken to be sure of what it believes from this probability on: an action is then
refused if the camera contradicts it."""
MISPLACED_M = 0.02
"""A thing that stands further than this from the middle of its place is misplaced [m]."""


@dataclass(frozen=True, slots=True)
class PickingSettings:
    """Settings of how things are taken and put down."""

    regrasps: int = param(1, 'How often a missed grasp is tried again, after a new look', low=0,
                          high=5)
    observations: int = param(2, 'Pictures to take before it is believed that a thing is missing, '
                                 'or that something cannot be', low=1, high=10)
    verify: bool = param(True, 'Whether to look at the thing after it was put down')
    check_table: bool = param(True, 'Whether an episode begins only when every thing of the '
                              'problem is seen at one of its places')
    clearance_m: float = param(0.03, 'Distance kept to what stands on the table when a thing is '
                               'carried over it [m]', low=0.005, high=0.2)
    drop_m: float = param(0.0015, 'Height above its place at which a thing is let go [m]',
                          low=0.0, high=0.01)
    speed: float = param(0.9, "Part of the arm's greatest velocity that is used", low=0.01,
                         high=1.0)
    carry_speed: float = param(0.6, 'Part of that with a thing in the hand or close to others',
                               low=0.01, high=1.0)
    choice: str = param(FIRST, 'Which plan of a move is taken: "first": the first that works; '
                        '"smooth": of those with the hand one way round and the other the one '
                        'with enough room that turns the joints least', choices=(FIRST, SMOOTH))
    settle_s: float = param(0.2, 'How long to wait before the fingers close and after they have '
                            "opened, on the arm's clock [s]", low=0.0, high=5.0)


class PickingSkills(ArmUse, ABC, Generic[Seen, Task]):
    """Base class of picking skills; see the protocol ``Skills``.

    Args:
        robot: its configuration.
        arm: what is moved.
        camera: what is seen.
        gate: through which every motion goes.
        kinematics: of the robot.
        settings: how things are taken and put down.
        over_m: height of the tip above all that can stand on the table.
        width_m: of the things, where the fingers hold them.

    Attributes:
        reports: of the actions of this episode, in order.

    Raises:
        InputError: a setting is out of bounds.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, camera: Camera, gate: Gate,
                 kinematics: Kinematics, settings: PickingSettings, *, over_m: float,
                 width_m: float) -> None:
        check_settings(settings)
        paths = PathPlanner(robot, kinematics, settings.speed)
        super().__init__(robot, arm, gate, paths, settle_s=settings.settle_s, over_m=over_m)
        self._transports = TransportPlanner(
            robot, paths, carry_speed=settings.carry_speed, clearance_m=settings.clearance_m,
            choice=settings.choice)
        self._camera, self._picking, self._width_m = camera, settings, width_m
        self._begun = False
        self._belief: Belief | None = None

    # --- of the protocol Skills -----------------------------------------------------------------

    def expect(self, belief: Belief) -> None:
        """Keep the agent's belief for the next action."""
        self._belief = belief

    def execute(self, action: Action) -> SkillResult:
        """Carry out an action: see the protocol."""
        if not self._begun:
            raise WorldError('no episode: reset the world first')
        cause, message = self._reported(action, lambda watch: self._carry_out(action, watch))
        return SkillResult(Feedback(causes.status_of(cause), message), self.reports[-1])

    # --- what derived skills say ----------------------------------------------------------------

    @abstractmethod
    def _check_action(self, action: Action) -> tuple[str, str]:
        """The thing and the second argument of an action of the domain.

        Raises:
            Refused: it is none of the domain's, or of unknown objects.
        """

    @abstractmethod
    def _observe(self) -> Seen:
        """Observation of the present scene by the camera."""

    @abstractmethod
    def _task(self, thing: str, where: str, seen: Seen) -> Task:
        """Task for moving a thing to a place.

        Raises:
            Refused: the move makes no sense in what is seen.
        """

    @abstractmethod
    def _facts(self, seen: Seen) -> State:
        """The seen atoms about things."""

    @abstractmethod
    def _matters(self, atom: Atom, task: Task, seen: Seen) -> bool:
        """Whether a move depends on an atom."""

    @abstractmethod
    def _plan(self, task: Task) -> Moves:
        """Plan all motions of a move.

        Raises:
            NoRoomError: the hand does not fit, or the arm would come too near to things.
            UnreachableError: a place cannot be reached.
        """

    @abstractmethod
    def _verify(self, task: Task) -> tuple[str, str]:
        """Take a picture and return cause and message: whether the thing is at its goal."""

    # --- one action ---------------------------------------------------------------------------

    def _begin(self) -> Stopwatch:
        """Begin a reset: the last episode ends, the arm is parked, the hand must be empty.

        Raises:
            WorldError: the hand is not empty.
            ArmStoppedError: the gate refused to park.
        """
        watch = Stopwatch(self._arm.now_s)
        self._gate.new_episode()
        self._check_fingers()
        self._park(watch)
        return watch

    def _forget(self) -> None:
        """Forget the last episode."""
        self._begun, self._belief, self.reports = False, None, []

    def _carry_out(self, action: Action, watch: Stopwatch) -> tuple[str, str]:
        thing, where = self._check_action(action)
        epoch = self._gate.epoch
        try:
            self._check_fingers()
        except WorldError as error:
            raise Refused(causes.OCCUPIED, str(error)) from error
        self._park(watch)
        task, moves = self._prepare(thing, where, watch)
        with self._gate.skill(str(action), since=epoch):
            cause, message = self._move(thing, moves, watch)
            for _ in range(self._picking.regrasps):
                if cause != causes.MISSED_GRASP:
                    break
                try:
                    task, moves = self._prepare(thing, where, watch)
                except Refused as error:
                    return cause, f'{message}, and then: {error.message}'
                cause, message = self._move(thing, moves, watch)
        if cause == causes.DONE and self._picking.verify:
            with watch.phase('verify'):
                cause, message = self._verify(task)
        return cause, message

    def _prepare(self, thing: str, where: str, watch: Stopwatch) -> tuple[Task, Moves]:
        """Observe the scene, check that the action is allowed, and plan its motions.

        Raises:
            Refused: the action is not to be carried out.
        """
        with watch.phase('perceive'):
            task = self._perceive(thing, where)
        with watch.phase('plan'):
            try:
                moves = self._plan(task)
                for motion in moves.all:  # now, and not with a thing in the hand
                    self._gate.limits.check(motion.trajectory, motion.around)
            except UnreachableError as error:
                cause = causes.NO_ROOM if isinstance(error, NoRoomError) else causes.UNREACHABLE
                raise Refused(cause, str(error)) from error
            except ArmStoppedError as error:
                raise Refused(causes.UNREACHABLE, f'{error} ({error.cause})') from error
            return task, moves

    def _perceive(self, thing: str, where: str) -> Task:
        """Observe the scene.

        Observe again if it does not fit the action, as a hand may have been there.

        Raises:
            Refused: the action makes no sense, or contradicts what the agent is sure of.
        """
        for left in range(self._picking.observations - 1, -1, -1):
            seen = self._observe()
            try:
                task = self._task(thing, where, seen)
            except Refused as error:
                if error.cause not in _OBSERVE_AGAIN or not left:
                    raise
                self._arm.wait(_OBSERVE_AGAIN_S)
            else:
                break
        self._check_belief(task, seen)
        return task

    def _check_belief(self, task: Task, seen: Seen) -> None:
        """Refuse an action if the camera contradicts the agent's belief about thing or goal.

        Raises:
            Refused: of an atom that matters the agent is sure, and the camera sees otherwise.
        """
        if self._belief is None:
            return
        true, sure = self._facts(seen), _CONFIDENT
        for atom, probability in sorted(self._belief.probabilities.items()):
            if not self._matters(atom, task, seen):
                continue
            believed = probability > 0.5
            if believed is not (atom in true) and max(probability, 1 - probability) > sure:
                raise Refused(causes.BELIEF_MISMATCH, f'the agent takes "{atom}" to be '
                              f'{"true" if believed else "false"} (P = {probability:.2f}), but '
                              f'the camera sees otherwise')

    def _between_fingers(self, thing: str, moves: Moves) -> Solid | None:
        """Grasped thing as one solid in the table's frame."""
        if not moves.thing:
            return None
        tip = self._paths.pose(moves.bring[0].trajectory.positions[0])
        return on_table(in_hand(thing, moves.thing, tip), tip)

    def _move(self, thing: str, moves: Moves, watch: Stopwatch) -> tuple[str, str]:
        """Fetch, grasp, bring, let go, leave."""
        gripper = self._robot.gripper
        dry = self._gate.status().dry_run
        least, most = _LEAST * self._width_m, _MOST * self._width_m
        self._follow(moves.fetch, watch)
        with watch.phase('grasp'):
            self._arm.wait(0.0 if dry else self._picking.settle_s)
            opening = self._gate.grip(0.0, gripper.force_n, f'grasp {thing}',
                                      self._between_fingers(thing, moves))
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
                                        f'{thing} is lost')
        self._open(watch)
        self._follow(moves.leave, watch)
        if dry:
            return causes.DRY_RUN, 'dry run: the motions were planned, none was sent'
        return causes.DONE, ''
