"""A simulated arm at a table with household things, which grasps pointed things.

What is true is read from where the things are. Nothing of it reaches the skills: they know the
camera and the joints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sightplan.model import InputError, check_settings, param
from sightplan_arm.config import load_robot
from sightplan_arm.gate import Gate
from sightplan_arm.kinematics import Kinematics
from sightplan_arm.skills import pointing, tabletop
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.closing import Closing
from sightplan_sim.meshes import Floats
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.tabletop.arm_scene import TableArm, TableCamera, TableScene
from sightplan_sim.tabletop.holders import Holder, holders, opened
from sightplan_sim.tabletop.render import Frame
from sightplan_sim.tabletop.shapes import Thing
from sightplan_sim.tabletop.table import Table

SETTLE_S = 0.75
"""Simulated time in which things that were put down by a reset come to rest."""
LIFTED_M = 0.05
"""A held thing is lifted if its lowest point is at least this high above the table [m]."""
DISPLACED_M = 0.02
"""Distance from which a moved thing counts as displaced [m]."""


@dataclass(frozen=True, slots=True)
class Settings(HardwareSettings):
    """Settings of a table with a simulated arm and its camera."""

    robot: str = param('panda_tabletop', 'robot: a name in config/robots/, or a file')
    friction: float = param(0.7, 'friction coefficient of the things', low=0.0, high=2.0)
    width: int = param(640, 'width of the picture [px]', low=160, high=2048)
    height: int = param(480, 'height of the picture [px]', low=120, high=2048)
    fov_deg: float = param(45.0, 'vertical field of view of the camera [deg]', low=8.0, high=90.0)


@dataclass(frozen=True)
class Truth:
    """Changes of the things since the reset.

    Attributes:
        lifted: names of those that are held with their lowest point at least ``LIFTED_M`` high.
        dropped: names of those that were raised by so much, and are not lifted now.
        displaced: names of the others that stand more than ``DISPLACED_M`` from where they stood.
        held: names of those that both fingers touch.
        holders: what each thing is in or on, by name: see ``holding.holders``.
        opened: how far each drawer is out, as a fraction, by the cabinet's name and the part's.
    """

    lifted: tuple[str, ...]
    dropped: tuple[str, ...]
    displaced: tuple[str, ...]
    held: tuple[str, ...] = ()
    holders: Mapping[str, Holder] = field(default_factory=dict)
    opened: Mapping[tuple[str, str], float] = field(default_factory=dict)


class TabletopArmWorld(Closing):
    """A table with an arm.

    The same settings, table and actions give the same bits, as long as ``realtime_factor`` is 0.

    Attributes:
        settings: as given.
        robot: its configuration: what skills and gate know of the set-up.
        arm: implements the protocol Arm.
        camera: implements the protocol Camera.
        gate: through which every motion of the skills goes.
        skills: that take things.

    Raises:
        InputError: a setting is out of bounds, or the robot's file is wrong.
    """

    skills: pointing.PointingSkills
    _make_skills: ClassVar[Callable[..., pointing.PointingSkills]] = staticmethod(
        pointing.make_skills)

    def __init__(self, settings: Settings | None = None,
                 skill_settings: Mapping[str, Any] | None = None) -> None:
        self.settings = settings or Settings()
        check_settings(self.settings)
        s = self.settings
        self.robot = load_robot(s.robot)
        with ExitStack() as stack:
            self._scene = stack.enter_context(TableScene(
                self.robot, s, Pinhole(s.width, s.height, s.fov_deg)))
            self.arm = stack.enter_context(TableArm(self.robot, s))
            self.camera = TableCamera(self._scene, self.arm.poses)
            self._kinematics = Kinematics(self.robot)
            self.gate = Gate(self.arm, self.robot, self._kinematics)
            self.skills = self._make_skills(self.robot, self.arm, self.camera, self.gate,
                                            self._kinematics, **(skill_settings or {}))
            if s.realtime_factor > 0:
                self.arm.run()
            stack.pop_all()
        self._table: Table | None = None
        self._start: dict[str, Floats] = {}

    def close(self) -> None:
        """Give the simulators back."""
        self.gate.close()
        self.arm.close()
        self.camera.close()

    def reset(self, table: Table) -> None:
        """Park the arm, lay the table, and begin an episode.

        The camera is off by the calibration's error in a direction that the table's seed draws.

        Raises:
            ArmStoppedError: the gate has stopped, and nobody has re-armed it.
        """
        self.gate.rearm('reset of the simulation')
        self.gate.end_episode()
        self._table = table
        self.arm.lay(table.things, table.seed)
        self._scene.show(table, self.settings.calibration_seed + table.seed, self.arm.now_s())
        self.arm.wait(SETTLE_S)
        self._start = {name: at for name, (at, _) in self.arm.places().items()}
        self.skills.reset()

    def carry_on(self) -> None:
        """Open the gate after a hold, and park the arm; the things stay where they are.

        Raises:
            WorldError: the hand is not empty.
            ArmStoppedError: the gate has stopped, and nobody has re-armed it.
        """
        self.skills.reset()

    def frame(self) -> Frame:
        """A present picture with the true segmentation; its depth has no errors."""
        return self._scene.shoot(self.arm.poses())

    @property
    def table(self) -> Table | None:
        """The table that the last reset laid; None before the first one."""
        return self._table

    @property
    def nominal_view(self) -> View[Pinhole]:
        """Camera at the pose that the robot's file states."""
        return self._scene.nominal

    def truth(self) -> Truth:
        """True changes of the things since the reset."""
        low, held = self.arm.lowest_m(), self.arm.held()
        lifted = tuple(name for name in held if low[name] >= LIFTED_M)
        dropped = tuple(name for name, height in self.arm.highest_m().items()
                        if height - self._start[name][2] >= LIFTED_M and name not in lifted)
        displaced = tuple(
            name for name, (at, _) in self.arm.places().items() if name not in lifted
            and float(np.linalg.norm(at - self._start[name])) > DISPLACED_M)
        poses, places = self.arm.poses(), self.arm.places()
        things = {} if self._table is None else {one.name: one.thing for one in self._table.things}
        return Truth(lifted, dropped, displaced, held,
                     holders(things, places, poses.slides, held), opened(things, poses.slides))

    def thing(self, name: str) -> Thing:
        """A thing of this table by its name.

        Raises:
            InputError: there is none.
        """
        try:
            assert self._table is not None
            return self._table.named(name).thing
        except KeyError as error:
            raise InputError(f'there is no {name!r} on this table') from error


class TabletopTaskWorld(TabletopArmWorld):
    """A table whose arm can also put things down, and open and close drawers."""

    skills: tabletop.TabletopSkills
    _make_skills = staticmethod(tabletop.make_skills)
