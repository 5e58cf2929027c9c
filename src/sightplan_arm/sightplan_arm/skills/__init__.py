"""Skills: one module per domain, its actions as motions.

A module of this kind is found through the entry point group ``sightplan.skills`` by the name of
its domain; the entry point is a function ``make_skills(robot, arm, camera, gate, kinematics,
**settings)``.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

from sightplan.model import Action, Belief, InputError, Problem, plugins
from sightplan_arm.config import RobotConfig
from sightplan_arm.hardware import Arm, Camera
from sightplan_arm.skills.report import CAUSES, SkillReport, SkillResult

__all__ = ['CAUSES', 'GROUP', 'SkillReport', 'SkillResult', 'Skills', 'load_skills']

GROUP = 'sightplan.skills'


class Skills(Protocol):
    """The actions of a domain, carried out by an arm.

    Attributes:
        reports: of the actions of this episode, in order.
    """

    reports: list[SkillReport]

    def reset(self, problem: Problem) -> None:
        """Begin an episode: get out of the camera's view, and check that the table is ready.

        The problem's initial state is not looked at.

        Raises:
            InputError: the problem does not fit the robot's table.
            WorldError: the table or the hand is not ready; the message says what to do.
            ArmStoppedError: the gate refused to park.
        """

    def expect(self, belief: Belief) -> None:
        """Set the agent's present belief; an action that contradicts it will be refused."""

    def execute(self, action: Action) -> SkillResult:
        """Carry out one action.

        Returns:
            REJECTED, and no block moved, if the action is not one of the domain's with known
            objects, or the camera shows that its preconditions do not hold (``report.ILLEGAL``).
            Else EXECUTED, also if nothing moved because the robot could not or would not: the
            report has the cause, and the agent finds out by looking.

        Raises:
            ArmStoppedError: the gate refused or broke off a motion.
            WorldError: there was no reset, or camera or arm broke down.
        """


def load_skills(domain: str, robot: RobotConfig, arm: Arm, camera: Camera, gate: Any,
                kinematics: Any, **settings: Any) -> Skills:
    """Make the installed skills of a domain (its name, or the path of its folder).

    Raises:
        InputError: none are installed for this domain, or a setting is wrong.
    """
    name = domain.rpartition('/')[2]
    if name not in plugins.entry_points(GROUP):
        raise InputError(f'no skills for domain {name!r} are installed (installed: '
                         f'{", ".join(plugins.entry_points(GROUP)) or "none"}); choose another '
                         f'domain, or install the package that has them')
    make = plugins.load_object('skills', name, GROUP)
    return cast(Skills, make(robot, arm, camera, gate, kinematics, **settings))
