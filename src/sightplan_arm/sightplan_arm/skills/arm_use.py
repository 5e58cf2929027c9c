"""Base of all skills: follow planned motions, open and park, all by the gate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sightplan.model import Action, InputError, WorldError, settings_fields
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Arm, ArmStoppedError, JointState
from sightplan_arm.skills.motions import Motion, MotionSequence, PathPlanner
from sightplan_arm.skills.report import FAILED, STOPPED, Refused, SkillReport, Stopwatch
from sightplan_arm.trajectories import UnreachableError

if TYPE_CHECKING:
    from sightplan_arm.gate import Gate

_Settings = TypeVar('_Settings')

OPEN_SLACK_M = 0.005
"""Fingers that opened to within this are open."""
_SLACK = 0.1  # largest error of open and closed fingers, as a fraction of their way


class ArmUse:
    """An arm with fingers, through its gate.

    Args:
        robot: its configuration.
        arm: what is moved.
        gate: through which every motion goes.
        paths: plans them.
        settle_s: how long to wait after the fingers have opened, on the arm's clock.
        over_m: height of the tip above all that can stand on the table.

    Attributes:
        reports: of the actions so far.
    """

    def __init__(self, robot: RobotConfig, arm: Arm, gate: Gate, paths: PathPlanner, *,
                 settle_s: float, over_m: float) -> None:
        self._robot, self._arm, self._gate, self._paths = robot, arm, gate, paths
        self._settle_s, self._over_m = settle_s, over_m
        self.reports: list[SkillReport] = []

    def _reported(self, action: Action, carry_out: Callable[[Stopwatch], tuple[str, str]],
                  ) -> tuple[str, str]:
        """Carry out an action while the arm is armed, and append its report to ``reports``.

        Returns:
            one of ``report.CAUSES``, and a message.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion; it is reported, too, as is
                any other error.
        """
        watch = Stopwatch(self._arm.now_s)
        try:
            self._gate.check_armed()
            try:
                cause, message = carry_out(watch)
            except Refused as error:
                cause, message = error.cause, error.message
                self._gate.check_armed()  # meanwhile it may have been stopped
        except ArmStoppedError as error:
            self.reports.append(watch.report(action, STOPPED, f'{error.cause}: {error}'))
            raise
        except Exception as error:
            self.reports.append(watch.report(action, FAILED, str(error)))
            raise
        self.reports.append(watch.report(action, cause, message))
        return cause, message

    def _follow(self, motions: Sequence[Motion], watch: Stopwatch) -> bool:
        """Carry out motions until something stops a guarded one.

        Returns whether all were carried out.
        """
        for motion in motions:
            with watch.phase(motion.phase):
                if not self._gate.follow(motion.trajectory, motion.what, motion.around,
                                         guarded=motion.guarded):
                    return False
        return True

    def _open(self, watch: Stopwatch) -> None:
        gripper = self._robot.gripper
        with watch.phase('release'):
            reached = self._gate.grip(gripper.open_m, gripper.force_n, 'open the fingers')
            if not self._gate.status().dry_run and not reached >= gripper.open_m - OPEN_SLACK_M:
                raise WorldError(
                    f'the fingers opened to {1e3 * reached:.0f} mm instead of '
                    f'{1e3 * gripper.open_m:.0f} mm, and may still hold something: look what '
                    f'is in their way and whether the gripper takes commands, and reset')
            self._arm.wait(self._settle_s)

    def _arm_state(self) -> JointState:
        state = self._arm.state()
        if state is None:
            raise WorldError('nothing is known of the arm: there are no joint states '
                             f'({self._robot.arm.joint_states}); start its driver')
        return state

    def _opening(self) -> float:
        return self._arm_state().opening_m

    def _check_fingers(self, closed_m: float | None = None) -> None:
        """Check that the hand is empty.

        Args:
            closed_m: fingers that are closer together hold nothing; None: a tenth of their way.

        Raises:
            WorldError: it is not.
        """
        opening, gripper = self._opening(), self._robot.gripper
        slack = _SLACK * gripper.open_m
        if (slack if closed_m is None else closed_m) < opening < gripper.open_m - slack:
            raise WorldError(
                f'the fingers are {1e3 * opening:.0f} mm apart, so they hold something, or are '
                f'not where they were left: take it out, open them (to '
                f'{1e3 * gripper.open_m:.0f} mm), and reset; if the arm is simulated, end its '
                'graph and start it again')

    def is_parked(self) -> bool:
        """Whether the arm stands where it is out of the camera's view.

        Raises:
            WorldError: there are no joint states.
        """
        away = float(np.abs(self._arm_state().positions - self._robot.arm.park).max())
        return away <= 0.5 * self._robot.safety.start_tolerance_rad

    def _park(self, watch: Stopwatch) -> None:
        """Get out of the camera's view, straight up first, with open fingers; if need be."""
        with watch.phase('park'):
            sequence = MotionSequence(self._paths, self._arm_state().positions)
            if not self.is_parked():  # all else begins there
                self._rise(sequence)
                sequence.joints('park', 'park', self._robot.arm.park)
        gripper = self._robot.gripper
        closed = self._opening() < gripper.open_m - OPEN_SLACK_M
        if closed or sequence.motions:
            with self._gate.skill('park'):
                if closed:
                    self._open(watch)
                self._follow(sequence.motions, watch)

    def _rise(self, sequence: MotionSequence) -> None:
        """Lift the hand above all that can stand on the table, as far as it goes."""
        pose = self._paths.pose(sequence.posture)
        top = min(self._over_m, float(self._robot.safety.box_max_m[2]) - 0.02)
        while top - pose[2, 3] > 0.02:
            higher = pose.copy()
            higher[2, 3] = top
            try:
                sequence.straight('park', 'up', higher)
            except UnreachableError:
                top = (top + float(pose[2, 3])) / 2  # at least a part of the way
            else:
                return


def read_settings(kind: type[_Settings], given: Mapping[str, Any]) -> _Settings:
    """Make settings of skills from given values.

    Raises:
        InputError: one is unknown; names it and all that are known.
    """
    known = {field.name for field in settings_fields(kind)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise InputError(f'unknown setting of the skills: {unknown[0]} (known: '
                         f'{", ".join(sorted(known))})')
    return kind(**given)
