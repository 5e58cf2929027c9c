"""Pictures of blocks wherever physics has put them, and of the arm where it is in the way.

The table, the light and the camera's noise are those of ``BlocksScene``; so with the arm out of
view, a picture looks as in the symbolic world. The camera hangs still, whatever the problem.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError, WorldError
from sightplan_arm.config import RobotConfig
from sightplan_arm.geometry import rotation_from_quaternion, rotation_from_vector
from sightplan_arm.hardware import Rgbd
from sightplan_sim.arm.meshes import LinkMesh, make_link_bodies, meshes_of
from sightplan_sim.arm.settings import HardwareSettings
from sightplan_sim.arm.simulator import Poses
from sightplan_sim.blocksworld.camera import (
    BLOCK_M,
    Camera,
    Layout,
    Optics,
    shown_extent,
)
from sightplan_sim.blocksworld.look import COLOURS, Look
from sightplan_sim.blocksworld.scene import (
    CORNERS,
    NEAR_M,
    PARKED_M,
    BlocksScene,
    Frame,
    cast_shadows,
    develop,
)
from sightplan_sim.blocksworld.table import Picture
from sightplan_sim.bullet import one_thread
from sightplan_sim.episodes import Pose7
from sightplan_sim.pinhole import View

Placed = TypeVar('Placed', bound=View[Any])

ARM_ID = len(COLOURS) + 1
"""The arm in a segmentation."""
MAX_FOV_DEG = 90.0
"""Limit of the vertical field of view of the simulated camera [deg]."""
_FILLED = 0.97  # part of the half picture that a widened view fills with places


@dataclass(frozen=True)
class Decor:
    """Appearance that all pictures of an episode share.

    Attributes:
        column_names: text of the name plates, left to right; none: a bare table.
        look: every random factor; its camera is not heeded.
        seed: of the depth's noise.
    """

    column_names: tuple[str, ...] = ()
    look: Look = field(default_factory=Look)
    seed: int = 0


class ArmScene(BlocksScene):
    """Draws blocks and arm at their poses, seen from where the robot's file has the camera.

    Args:
        robot: where camera and columns are.
        settings: of the calibration's error and of the depth's noise.
        width, height: size of the picture [px].
        fov_deg: vertical field of view; None: see ``fitted_fov_deg``.
        supersampling: samples per pixel and direction, 1..4.

    Raises:
        InputError: the table's blocks have another size than those that are drawn, or the camera
            cannot see every place.
    """

    def __init__(self, robot: RobotConfig, settings: HardwareSettings, width: int = 640,
                 height: int = 480, *, fov_deg: float | None = None,
                 supersampling: int = 2) -> None:
        if abs(robot.table.block_m - BLOCK_M) > 1e-9:
            raise InputError(f'block_m of the robot is {robot.table.block_m:g}; simulated blocks '
                             f'have sides of {BLOCK_M:g} m')
        if fov_deg is None:
            fov_deg = fitted_fov_deg(robot, width, height)
        super().__init__(width, height, fov_deg=fov_deg, supersampling=supersampling)
        self._robot, self._table, self._settings = robot, robot.table, settings
        self._camera = displaced(nominal_camera(robot, self.optics), settings)
        self._link_bodies = make_link_bodies(self._bullet, PARKED_M, robot)
        self._half: ArmScene | None = None

    def close(self) -> None:
        """Give the PyBullet clients back; the scene cannot be used afterwards."""
        if self._half is not None:
            self._half.close()
        super().close()

    def layout(self, n_columns: int, n_blocks: int) -> Layout:
        """Columns where the robot's file has them."""
        eye = self._camera.position_m
        return Layout(self._table.spacing_m, self._table.column_x_m(n_columns),
                      float(np.linalg.norm(eye)), (0.0, 0.0))

    def camera(self, n_columns: int, n_blocks: int, look: Look) -> Camera:
        """The camera, where it truly hangs."""
        return self._camera

    def shoot(self, poses: Poses, decor: Decor, live: bool = False) -> Frame:
        """Take a picture; a live one fast: drawn at half the size and enlarged."""
        if live:
            return _enlarged(self._smaller().shoot(poses, decor), self._camera)
        boxes = {colour: _frame(pose) for colour, pose in poses.blocks.items()}
        corners = [CORNERS @ axes.T + at for at, axes in boxes.values()]
        self._move(poses.blocks)
        with one_thread():
            background = self._background(
                len(decor.column_names), len(poses.blocks), decor.column_names, decor.look)
            links = self._visible_links(poses.links)
            drawn = [*corners, *links]
            rgb, depth = background.rgb.copy(), background.depth_m.copy()
            segmentation = np.zeros(depth.shape, np.int16)
            if drawn and decor.look.shadow > 0:
                cast_shadows(rgb, background, drawn, decor.look)
            if drawn:
                self._draw_bodies(rgb, depth, segmentation, self._camera,
                                  self._outline(drawn), decor.look)
            rgb = develop(rgb, decor.look, _key(poses), self.optics.width)
        return Frame(rgb, depth, segmentation, self._camera)

    def take(self, poses: Poses, decor: Decor, live: bool = False) -> Picture:
        """A picture as the camera's sensors give it: the same for the same arguments."""
        frame = self.shoot(poses, decor, live)
        return Picture(frame.rgb, sense_depth(
            frame.depth_m, self._settings, (decor.seed, _key(poses))))

    def draw(self, poses: Poses, decor: Decor) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colours (H, W, 3) and depth (H, W) [m] for a camera process; fast while things move."""
        picture = self.take(poses, decor, live=poses.moving)
        assert picture.depth_m is not None
        return picture.rgb, picture.depth_m

    # --- inside -------------------------------------------------------------------------------

    def _smaller(self) -> ArmScene:
        if self._half is None:
            o = self.optics
            self._half = ArmScene(
                self._robot, self._settings, max(32, o.width // 2), max(32, o.height // 2),
                fov_deg=o.fov_deg, supersampling=1)
        return self._half

    def _move(self, blocks: Mapping[str, Pose7]) -> None:
        for colour, body in zip(COLOURS, self._bodies, strict=True):
            pose = blocks.get(colour, (*PARKED_M, 0.0, 0.0, 0.0, 1.0))
            self._bullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:])

    def _visible_links(self, links: Mapping[str, Pose7]) -> list[NDArray[np.float64]]:
        """Move the arm's meshes; returns points (N, 3) of the links that are in the picture.

        What is out of it is put out of the light, too: the arm casts a shadow only where it is
        seen itself.
        """
        seen: dict[str, NDArray[np.float64]] = {}
        for name, points in _link_points(meshes_of(self._robot)).items():
            if name in links:
                at, axes = _frame(links[name])
                placed = points @ axes.T + at
                if self._in_view(placed):
                    seen[name] = placed
        for name, body in self._link_bodies:
            pose = links[name] if name in seen else (*PARKED_M, 0.0, 0.0, 0.0, 1.0)
            self._bullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:])
        return list(seen.values())

    def _in_view(self, points_m: NDArray[np.float64]) -> bool:
        """Whether the hull of points may reach into the picture (no side has them all beyond)."""
        x, y, z = self._camera.to_optical(points_m).T
        o = self.optics
        right, down = o.width / 2 / o.focal_px * z, o.height / 2 / o.focal_px * z
        return not any(bool(beyond.all()) for beyond in (
            z < NEAR_M, x > right, x < -right, y > down, y < -down))

    def _outline(self, drawn: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Points (N, 3) whose projections bound the drawn bodies.

        The whole picture if in doubt.
        """
        points = np.concatenate(drawn)
        if (self._camera.to_optical(points)[:, 2] >= NEAR_M).all():
            return points
        o = self.optics
        x, y = o.width / o.focal_px, o.height / o.focal_px
        local = np.array([(-x, -y, 1.0), (x, y, 1.0)])
        return np.asarray(local @ self._camera.axes.T + self._camera.position_m)

    def _lookup(self) -> NDArray[np.int16]:
        last = max(body for _, body in self._link_bodies)
        lookup = np.zeros(last + 2, np.int16)
        lookup[:len(super()._lookup()) - 1] = super()._lookup()[:-1]
        lookup[[body for _, body in self._link_bodies]] = ARM_ID
        return lookup


class SimulatedCamera:
    """Camera of the simulator (protocol Camera): pictures are drawn when they are asked for.

    All methods may be called from several threads; they take turns.
    """

    def __init__(self, scene: ArmScene, poses: Callable[[], Poses]) -> None:
        self.scene, self._poses = scene, poses
        self._lock = threading.Lock()
        self._decor = Decor()
        self._closed = False

    @property
    def decor(self) -> Decor:
        """Appearance that all pictures of this episode share."""
        with self._lock:
            return self._decor

    def show(self, decor: Decor) -> None:
        """Start an episode with its appearance."""
        with self._lock:
            self._decor = decor

    def observe(self, timeout_s: float = 5.0) -> Rgbd:
        """A picture of now.

        Raises:
            WorldError: the camera was closed.
        """
        stamp_s, picture = self.picture()
        assert picture.depth_m is not None
        return Rgbd(picture.rgb, picture.depth_m, self.scene.optics.matrix(), np.zeros(5),
                    round(stamp_s * 1e9))

    def image_age_s(self) -> float:
        """0: there is a picture whenever one is wanted."""
        return float('inf') if self._closed else 0.0

    def picture(self) -> tuple[float, Picture]:
        """A picture of now in full quality, and the time on the arm's clock.

        Raises:
            WorldError: the camera was closed.
        """
        poses = self._poses()
        with self._lock:
            if self._closed:
                raise WorldError('the simulated camera was closed')
            return poses.stamp_s, self.scene.take(poses, self._decor)

    def close(self) -> None:
        """Give the renderer back."""
        with self._lock:
            self._closed = True
            self.scene.close()


def sense_depth(depth_m: NDArray[np.float32], settings: HardwareSettings,
                key: tuple[int, str]) -> NDArray[np.float32]:
    """Simulate a depth camera: add its noise, gaps and steps to the true depth.

    Args:
        depth_m: (H, W).
        settings: noise at 1 m (growing with the square of the distance, as of stereo), fraction of
            pixels without depth, and step.
        key: the same one gives the same noise.

    Returns:
        (H, W) float32; 0 where the depth is unknown.
    """
    s = settings
    if not (s.depth_noise_mm or s.depth_dropout or s.depth_step_mm):
        return depth_m
    digest = hashlib.sha256(f'{key[0]}/{key[1]}'.encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], 'little'))
    out = depth_m
    if s.depth_noise_mm:
        noise = rng.standard_normal(out.shape, np.float32)
        out = out + np.float32(s.depth_noise_mm * 1e-3) * noise * depth_m**2
    if s.depth_step_mm:
        step = np.float32(s.depth_step_mm * 1e-3)
        out = np.round(out / step) * step
    if s.depth_dropout:
        out = np.where(rng.random(out.shape, np.float32) < s.depth_dropout, np.float32(0), out)
    return np.maximum(out, 0).astype(np.float32)


def nominal_camera(robot: RobotConfig, optics: Optics) -> Camera:
    """The camera where the robot's file has it."""
    pose = robot.camera.pose
    return Camera(optics, pose[:3, 3].copy(), pose[:3, :3].T.copy().T)


def fitted_fov_deg(robot: RobotConfig, width: int, height: int) -> float:
    """Vertical field of view with which the camera sees every place and all name plates [deg].

    It is that of ``Optics``, or as much wider as it takes: the pose of a robot's file is measured,
    with a camera whose field of view the file does not hold.

    Raises:
        InputError: no camera at this pose sees every place; says what to change.
    """
    table, optics = robot.table, Optics(width, height)
    camera = nominal_camera(robot, optics)
    points = shown_extent(table.max_columns, min(table.max_level, len(COLOURS)), table.spacing_m)
    x, y, z = camera.to_optical(points).T
    slope = math.inf
    if (z > NEAR_M).all() and camera.axes[0, 0] > 0:  # else from behind, or upside down
        slope = float(max(np.abs(y / z).max(), np.abs(x / z).max() * height / width))
    if slope <= math.tan(math.radians(optics.fov_deg / 2)):
        return optics.fov_deg
    fov_deg = 2 * math.degrees(math.atan(slope / _FILLED))
    if fov_deg > MAX_FOV_DEG:
        raise InputError(
            f'{robot.file}: from camera.pose no simulated camera shows every place of '
            f'{table.max_columns} columns and stacks of {table.max_level}, not even one that '
            f'sees {MAX_FOV_DEG:g} degrees from top to bottom in {width} x {height} pixels: it '
            'is to stand in front of the row, upright, and to look at its middle; calibrate it '
            'again, or lower table.max_columns or table.max_level')
    return fov_deg


def displaced(camera: Placed, s: HardwareSettings) -> Placed:
    """A camera that does not hang where it is thought to."""
    rng = np.random.default_rng([s.calibration_seed, 0x63616D])
    aside, axis = rng.standard_normal((2, 3))
    shift = aside / np.linalg.norm(aside) * s.calibration_error_mm * 1e-3
    turn = rotation_from_vector(axis / np.linalg.norm(axis) * np.radians(s.calibration_error_deg))
    return dataclasses.replace(camera, axes=(turn @ camera.axes.T).T,
                               position_m=camera.position_m + shift)


def _frame(pose: Pose7) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Origin (3,) and axes (3, 3), in columns."""
    return np.array(pose[:3]), rotation_from_quaternion(pose[3:])


def _key(poses: Poses) -> str:
    """Key of a scene, exact to a tenth of a millimetre: equal scenes get equal noise."""
    return '|'.join(f'{colour}{np.round(np.array(pose), 4).tolist()}'
                    for colour, pose in sorted(poses.blocks.items())) + (
        f'@{poses.stamp_s:.4f}' if poses.moving else '')


def _enlarged(frame: Frame, camera: Camera) -> Frame:
    size = (camera.optics.width, camera.optics.height)
    with one_thread():
        rgb = cv2.resize(frame.rgb, size, interpolation=cv2.INTER_LINEAR)
        depth = cv2.resize(frame.depth_m, size, interpolation=cv2.INTER_NEAREST)
        ids = cv2.resize(frame.segmentation, size, interpolation=cv2.INTER_NEAREST)
    return Frame(np.asarray(rgb, np.uint8), np.asarray(depth, np.float32),
                 np.asarray(ids, np.int16), camera)


@functools.lru_cache(maxsize=4)
def _link_points(meshes: tuple[LinkMesh, ...]) -> dict[str, NDArray[np.float64]]:
    """(N, 3) vertices of each link in its frame."""
    points: dict[str, list[NDArray[np.float64]]] = {}
    for mesh in meshes:
        points.setdefault(mesh.link, []).append(mesh.vertices_m)
    return {link: np.concatenate(parts) for link, parts in points.items()}
