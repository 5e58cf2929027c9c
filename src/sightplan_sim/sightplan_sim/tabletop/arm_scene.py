"""A Panda and household things in physics, and pictures of both as a robot's camera takes them.

Nothing here snaps, glues or teleports while time passes: a thing is held by friction. The frame is
the table's.
"""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import rotation_from_quaternion
from sightplan_arm.hardware import Rgbd
from sightplan_sim.arm.meshes import make_link_bodies
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import Poses, SimulatedArm
from sightplan_sim.blocksworld.arm_scene import displaced, sense_depth
from sightplan_sim.bullet import one_thread
from sightplan_sim.episodes import Pose7
from sightplan_sim.meshes import Floats
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.tabletop.bodies import Body, add_thing, pose_of
from sightplan_sim.tabletop.render import (
    NOTHING,
    Frame,
    Ground,
    Painter,
    develop,
    soften,
)
from sightplan_sim.tabletop.shapes import Placed, Pose, Thing
from sightplan_sim.tabletop.table import Table

TABLE_Y_M = (-0.50, 0.80)
"""Front and back edge of the table in physics; the robot stands on it."""
_NOTE_STEPS = 8
_BODY_BITS = (1 << 24) - 1


@dataclass(frozen=True)
class TablePoses(Poses):
    """Poses of all bodies at one moment; ``blocks`` are the things' base bodies, by name.

    Attributes:
        slides: positions of the joints of those things that have some, by name [m].
    """

    slides: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


class TableArm(SimulatedArm):
    """A simulated arm at a table with things.

    Args:
        robot: a Panda.
        settings: ``friction`` is that of the things.
    """

    def __init__(self, robot: RobotConfig, settings: HardwareSettings) -> None:
        self._placed: tuple[Placed, ...] = ()
        self._bodies: dict[str, Body] = {}
        self._highest_m: dict[str, float] = {}
        super().__init__(robot, settings, block_m=robot.table.block_m, table_y_m=TABLE_Y_M)
        self._after_step.append(self._note_heights)

    def lay(self, things: tuple[Placed, ...], seed: int = 0) -> None:
        """Start anew: the arm parked and open, the things at their places, all at rest."""
        with self._lock:
            self._placed = things
            self.reset({}, seed)

    def poses(self) -> TablePoses:
        """Present poses of the arm's links, of all things, and of their sliding parts."""
        with self._lock:
            plain = super().poses()
            slides = {name: tuple(float(self._bullet.getJointState(body.id, link)[0])
                                  for link in body.links[1:])
                      for name, body in self._bodies.items()
                      if any(part.slide for part in self._thing(name).parts)}
            return TablePoses(**{item.name: getattr(plain, item.name)
                                 for item in dataclasses.fields(Poses)}, slides=slides)

    def places(self) -> dict[str, tuple[Floats, Floats]]:
        """Origin (3,) and rotation (3, 3) of each thing's frame now."""
        with self._lock:
            return {name: pose_of(self._bullet, body) for name, body in self._bodies.items()}

    def lowest_m(self) -> dict[str, float]:
        """Height of the lowest point of each thing's box along the axes now."""
        with self._lock:
            return {name: min(self._bullet.getAABB(body.id, link)[0][2]
                              for part, link in zip(self._thing(name).parts, body.links,
                                                    strict=True) if part.solid)
                    for name, body in self._bodies.items()}

    def highest_m(self) -> dict[str, float]:
        """The most that the origin of each thing's frame was above the table since the start."""
        with self._lock:
            return dict(self._highest_m)

    def held(self) -> tuple[str, ...]:
        """The things that both fingers touch now."""
        with self._lock:
            touched = [{name for name, body in self._bodies.items()
                        if self._bullet.getContactPoints(self._body, body.id, finger)}
                       for finger in self._finger_joints]
            return tuple(name for name in self._bodies if all(name in one for one in touched))

    def _thing(self, name: str) -> Thing:
        return next(one.thing for one in self._placed if one.name == name)

    def _note_heights(self) -> None:
        if self._steps % _NOTE_STEPS == 0:
            for name, body in self._bodies.items():
                height = float(pose_of(self._bullet, body)[0][2])
                self._highest_m[name] = max(height, self._highest_m.get(name, -math.inf))

    def _build(self, blocks: Mapping[str, Pose7]) -> None:
        super()._build({})
        self._bodies = {}
        for placed in self._placed:
            body = add_thing(self._bullet, placed.thing, placed.pose, seen=False,
                             opened=placed.opened)
            for part, link in zip(placed.thing.parts, body.links, strict=True):
                if part.solid:
                    self._bullet.changeDynamics(
                        body.id, link, lateralFriction=self.settings.friction)
            # What lies still costs nothing until something touches it.
            self._bullet.changeDynamics(
                body.id, -1, activationState=self._bullet.ACTIVATION_STATE_ENABLE_SLEEPING)
            self._bodies[placed.name] = body
        self._blocks = {name: body.id for name, body in self._bodies.items()}
        self._highest_m = {}


class TableScene(Painter):
    """Drawing of a table's things at their poses, and of the visible part of the arm.

    Args:
        robot: where its file has the camera.
        settings: of the calibration's error and of the depth's noise.
        optics: of the camera.
    """

    def __init__(self, robot: RobotConfig, settings: HardwareSettings, optics: Pinhole) -> None:
        super().__init__()
        self.optics, self._settings, self._robot = optics, settings, robot
        pose = robot.camera.pose
        self.nominal = View(optics, pose[:3, 3].copy(), pose[:3, :3].copy())
        self.view = self.nominal
        self._table: Table | None = None
        self._start_s = 0.0

    def show(self, table: Table, calibration_seed: int, start_s: float = 0.0) -> None:
        """Start an episode: show its table to the camera.

        Args:
            table: the things, and their look.
            calibration_seed: draws how the camera is off.
            start_s: the arm's clock; the depth's noise counts time from there.
        """
        self.view = displaced(self.nominal, dataclasses.replace(
            self._settings, calibration_seed=calibration_seed))
        self._bullet.resetSimulation()
        self._table, self._start_s = table, start_s
        self._shown = {one.name: add_thing(self._bullet, one.thing, one.pose, moves=False,
                                           solid=False) for one in table.things}
        self._links = make_link_bodies(self._bullet, (0.0, 0.0, -9.0), self._robot)
        last = max(body for _, body in self._links)
        self._owner = np.full(last + 2, NOTHING, np.int16)
        self._owner[[body.id for body in self._shown.values()]] = np.arange(len(table.things))

    def shoot(self, poses: TablePoses) -> Frame:
        """Take a picture of the table with things and arm at given poses.

        Raises:
            WorldError: no table is shown.
        """
        if self._table is None:
            raise WorldError('no episode: show the camera a table first')
        bullet = self._bullet
        for name, body in self._shown.items():
            pose = poses.blocks[name]
            bullet.resetBasePositionAndOrientation(body.id, pose[:3], pose[3:])
            for link, position in zip(body.links[1:], poses.slides.get(name, ()), strict=False):
                bullet.resetJointState(body.id, link, position)
        for name, body_id in self._links:
            pose = poses.links[name]
            bullet.resetBasePositionAndOrientation(body_id, pose[:3], pose[3:])
        look = self._table.look
        with one_thread():
            colour, depth, mask = self._image(look, self.view)
            body_of = np.where(mask < 0, len(self._owner) - 1, mask & _BODY_BITS)
            things = self._owner[body_of]
            parts = np.where(things < 0, NOTHING, mask >> 24).astype(np.int16)
            ground = Ground(self._now(poses), self.view)
            shown = mask >= 0
            rgb = np.where(shown[:, :, None], colour, ground.rgb)
            rgb = develop(soften(rgb, things, parts), look)
        return Frame(rgb, np.where(shown, depth, ground.depth_m), things, parts,
                     ground.table & ~shown)

    def take(self, poses: TablePoses) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colours (H, W, 3) and depth (H, W) [m] as the camera's sensors give them.

        Raises:
            WorldError: no table is shown.
        """
        frame = self.shoot(poses)
        assert self._table is not None
        return frame.rgb, sense_depth(frame.depth_m, self._settings, (
            self._table.seed, f'{poses.stamp_s - self._start_s:.4f}'))

    def _now(self, poses: TablePoses) -> Table:
        """The table with the things where they cast their shadows."""
        assert self._table is not None
        placed = []
        for one in self._table.things:
            pose = poses.blocks[one.name]
            turn = rotation_from_quaternion(pose[3:])
            origin = np.array(pose[:3]) - turn @ self._shown[one.name].centre_m
            placed.append(dataclasses.replace(one, pose=Pose(
                (float(origin[0]), float(origin[1]), float(origin[2])),
                math.atan2(turn[1, 0], turn[0, 0]))))
        return dataclasses.replace(self._table, things=tuple(placed))


class TableCamera:
    """Camera of the simulator (protocol Camera): pictures are drawn when they are asked for."""

    def __init__(self, scene: TableScene, poses: Callable[[], TablePoses]) -> None:
        self.scene, self._poses = scene, poses
        self._lock = threading.Lock()
        self._closed = False

    def observe(self, timeout_s: float = 5.0) -> Rgbd:
        """A picture of now.

        Raises:
            WorldError: the camera was closed, or there is no episode.
        """
        poses = self._poses()
        with self._lock:
            if self._closed:
                raise WorldError('the simulated camera was closed')
            rgb, depth_m = self.scene.take(poses)
        return Rgbd(rgb, depth_m, self.scene.optics.matrix(), np.zeros(5),
                    round(poses.stamp_s * 1e9))

    def image_age_s(self) -> float:
        """0: there is a picture whenever one is wanted."""
        return math.inf if self._closed else 0.0

    def close(self) -> None:
        """Give the renderer back."""
        with self._lock:
            self._closed = True
            self.scene.close()
