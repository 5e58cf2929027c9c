"""Pictures of a home: PyBullet's TinyRenderer draws, OpenCV softens edges and darkens corners.

A painter has a physics client of its own that holds nothing but what is seen, so that drawing and
physics do not touch. All parts of a link are one mesh; colours come from a palette, a texture
with one texel a colour. Structure and decor, which never move, are a single mesh.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import WorldError
from sightplan_arm.geometry import rotation_from_rpy, rpy_from_rotation
from sightplan_sim.bullet import SCRATCH, Bullet, one_thread
from sightplan_sim.closing import Closing
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.meshes import mesh_of
from sightplan_sim.household.rotations import Floats, joint_frame, quaternion, turn
from sightplan_sim.household.shapes import Home, Model, Part, Placed, Rgb
from sightplan_sim.pinhole import View

Pose = tuple[Floats, Floats]
"""Origin (3,) of a link's frame in the home's, and its axes (3, 3) as columns."""

NEAR_M, FAR_M = 0.04, 25.0
AMBIENT, DIFFUSE = 0.74, 0.38
_FARAWAY = (0.0, 0.0, -200.0)
_OFFSETS = tuple((r * math.cos(a), r * math.sin(a)) for r in (0.012, 0.035)
                 for a in np.linspace(0.0, math.pi, 5)[:-1].tolist())
"""Half of the neighbours that darken a pixel, in fractions of the picture's size."""
_STEP = 0.22
"""Relative difference of inverse depths that counts as a step."""
_DARKNESS = 5.0
_STAIR = 18
"""Step between neighbouring grey values that is softened."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A rendered picture with depth and segmentation.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32, along the optical axis; NaN where nothing is [m].
        ids: (H, W) int32, index into ``Painter.names``; -1 where nothing is.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    ids: NDArray[np.int32]


class Painter(Closing):
    """Draws one home at a time. Bodies are known by their names in the ``Home``."""

    def __init__(self) -> None:
        self._bullet = Bullet()
        self._names: tuple[str, ...] = ('',)
        self._links: dict[str, list[int]] = {}
        self._shown: dict[str, tuple[list[Pose], bool]] = {}
        self._lookup = np.full(1, -1, np.int32)
        self._light: tuple[float, float, float] = (0.0, 0.0, 1.0)
        self._background: Rgb = (1.0, 1.0, 1.0)

    def close(self) -> None:
        """Give the client back."""
        self._bullet.close()

    @property
    def names(self) -> tuple[str, ...]:
        """Names that ``Frame.ids`` index; the first, '', stands for structure and decor."""
        return self._names

    def build(self, home: Home, extra: Sequence[Placed] = ()) -> None:
        """Build a home in place of the last one, everything at its initial place.

        Raises:
            WorldError: two bodies have the same name, or there is no simulator to be had.
        """
        self.close()
        self._bullet = Bullet()
        self._light, self._background = home.light, home.background
        movers = (*home.furniture, *home.things, *extra)
        still = [_at(part, pose) for placed in (*home.decor, *home.structure)
                 for link, pose in zip(placed.model.links, poses_of(placed), strict=True)
                 for part in link.parts if part.seen]
        palette = _Palette([still, *([part for part in link.parts if part.seen]
                                     for placed in movers for link in placed.model.links)])
        texture = palette.load(self._bullet)
        names: list[str] = ['']
        owners: list[int] = []
        self._links, self._shown = {}, {}
        for placed in movers:
            if placed.name in self._links or not placed.name:
                raise WorldError(f'home: two bodies are called {placed.name!r}')
            ids = []
            for link in placed.model.links:
                made = self._bodies([part for part in link.parts if part.seen], palette, texture)
                owners += [len(names)] * len(made)
                ids.append(made[0] if made else -1)
            names.append(placed.name)
            self._links[placed.name] = ids
            self.move(placed.name, poses_of(placed))
        # Drawn last: what is hidden by then is not shaded.
        owners += [0] * len(self._bodies(still, palette, texture))
        self._names = tuple(names)
        self._lookup = np.array([*owners, -1], np.int32)  # body -1, the background, is the last

    def move(self, name: str, poses: Sequence[Pose]) -> None:
        """Move a body's links to poses; the body is shown from now on.

        Args:
            name: of the body.
            poses: of each link's frame, in the order of the model's links.
        """
        for body, (origin, axes) in zip(self._links[name], poses, strict=True):
            if body >= 0:
                self._bullet.resetBasePositionAndOrientation(
                    body, [float(v) for v in origin], quaternion(axes))
        self._shown[name] = (list(poses), True)

    def hide(self, names: Iterable[str]) -> None:
        """Take bodies out of sight until they are moved."""
        for name in names:
            self._shown[name] = (self._shown[name][0], False)
            for body in self._links[name]:
                if body >= 0:
                    self._bullet.resetBasePositionAndOrientation(
                        body, _FARAWAY, (0.0, 0.0, 0.0, 1.0))

    @contextlib.contextmanager
    def without(self, names: Iterable[str]) -> Iterator[None]:
        """Hide bodies for a while."""
        hidden = [name for name in names if self._shown[name][1]]
        self.hide(hidden)
        try:
            yield
        finally:
            for name in hidden:
                self.move(name, self._shown[name][0])

    def draw(self, view: View[Camera]) -> Frame:
        """Take a picture; see ``Frame``."""
        with one_thread():
            colour, depth, ids = self._render(view)
            rgb = _soften(_darken(colour, depth))
        return Frame(rgb, depth, ids)

    def segment(self, view: View[Camera]) -> NDArray[np.int32]:
        """(H, W) int32: ``Frame.ids`` without a picture."""
        _, _, _, _, mask = self._image(view)
        return self._ids(mask, view)

    # --- inside -------------------------------------------------------------------------------

    def _bodies(self, parts: Sequence[Part], palette: _Palette, texture: int) -> list[int]:
        """A body that shows some parts in one mesh; none for no parts."""
        if not parts:
            return []
        bullet = self._bullet
        baked = palette.bake(parts)
        with SCRATCH.lock:
            vertices, normals, uvs, indices = SCRATCH.fill(*baked)
            shape = bullet.createVisualShape(
                bullet.GEOM_MESH, vertices=vertices, normals=normals, uvs=uvs, indices=indices,
                rgbaColor=(1.0, 1.0, 1.0, 1.0), specularColor=(0.0, 0.0, 0.0))
        body: int = bullet.createMultiBody(0, -1, shape, useMaximalCoordinates=1)
        if shape < 0 or body < 0:
            raise WorldError(f'PyBullet made no mesh of {len(parts)} parts')
        bullet.changeVisualShape(body, -1, textureUniqueId=texture)
        return [body]

    def _image(self, view: View[Camera]) -> tuple[Any, ...]:
        bullet, camera = self._bullet, view.optics
        found: tuple[Any, ...] = bullet.getCameraImage(
            camera.width, camera.height, viewMatrix=view.view_matrix(),
            projectionMatrix=camera.projection(NEAR_M, FAR_M), lightDirection=self._light,
            lightColor=(1.0, 1.0, 1.0), lightDistance=10.0, shadow=0, lightAmbientCoeff=AMBIENT,
            lightDiffuseCoeff=DIFFUSE, lightSpecularCoeff=0.0, renderer=bullet.ER_TINY_RENDERER)
        return found

    def _ids(self, mask: Any, view: View[Camera]) -> NDArray[np.int32]:
        shape = (view.optics.height, view.optics.width)
        return self._lookup[np.asarray(mask, np.int32).reshape(shape)]

    def _render(self, view: View[Camera]) -> tuple[NDArray[np.uint8], NDArray[np.float32],
                                                   NDArray[np.int32]]:
        _, _, colour, buffer, mask = self._image(view)
        shape = (view.optics.height, view.optics.width)
        rgb = np.asarray(colour, np.uint8).reshape(*shape, 4)[:, :, :3].copy()
        ids = self._ids(mask, view)
        buffer = np.asarray(buffer, np.float32).reshape(shape)
        depth = np.float32(FAR_M * NEAR_M) / (np.float32(FAR_M)
                                              - np.float32(FAR_M - NEAR_M) * buffer)
        nothing = ids < 0
        depth[nothing] = np.nan
        rgb[nothing] = [round(255 * v) for v in self._background]
        return rgb, depth, ids


def poses_of(placed: Placed) -> list[Pose]:
    """Initial poses of the links of a placed model."""
    axes = turn(placed.yaw)
    origin = np.array(placed.position, dtype=np.float64)
    poses = []
    for link in placed.model.links:
        at, turned = joint_frame(link.joint, placed.opening)
        poses.append((origin + axes @ at, axes @ turned))
    return poses


def triangles(model: Model) -> int:
    """Number of triangles that are drawn for a model."""
    return sum(len(mesh_of(part).triangles) for link in model.links for part in link.parts
               if part.seen)


class _Palette:
    """All colours of a home in one small texture."""

    def __init__(self, groups: Iterable[Sequence[Part]]) -> None:
        colours = dict.fromkeys(_byte(part.rgb) for parts in groups for part in parts)
        self._side = max(2, math.ceil(math.sqrt(len(colours))))
        self._at = {colour: index for index, colour in enumerate(colours)}

    def load(self, bullet: Bullet) -> int:
        """Hand the texture to PyBullet, which reads files only."""
        side = self._side
        texels = np.zeros((side * side, 3), np.uint8)
        for (r, g, b), index in self._at.items():
            texels[index] = (b, g, r)
        image = texels.reshape(side, side, 3)[::-1]  # v counts from the bottom
        handle, path = tempfile.mkstemp(suffix='.png', prefix='palette')
        try:
            with os.fdopen(handle, 'wb') as file:
                file.write(cv2.imencode('.png', image)[1].tobytes())
            texture: int = bullet.loadTexture(path)
        finally:
            os.unlink(path)
        return texture

    def bake(self, parts: Sequence[Part]) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
        """Vertices (N, 3), normals (N, 3), uvs (N, 2) and indices (3 M,) of some parts."""
        meshes = [mesh_of(part) for part in parts]
        counts = [len(mesh.vertices) for mesh in meshes]
        starts = np.cumsum([0, *counts[:-1]])
        side = self._side
        texels = [divmod(self._at[_byte(part.rgb)], side) for part in parts]
        uvs = np.array([((column + 0.5) / side, (row + 0.5) / side) for row, column in texels])
        return (np.concatenate([mesh.vertices for mesh in meshes]),
                np.concatenate([mesh.normals for mesh in meshes]), np.repeat(uvs, counts, axis=0),
                np.concatenate([mesh.triangles.ravel() + start
                                for mesh, start in zip(meshes, starts, strict=True)]))


def _byte(rgb: Rgb) -> tuple[int, int, int]:
    r, g, b = (min(255, max(0, round(255 * v))) for v in rgb)
    return r, g, b


def _at(part: Part, pose: Pose) -> Part:
    """A part of a link in the home's frame."""
    origin, axes = pose
    x, y, z = (float(v) for v in origin + axes @ np.array(part.position))
    roll, pitch, yaw = rpy_from_rotation(axes @ rotation_from_rpy(part.rpy)).tolist()
    return Part(part.kind, part.size, (x, y, z), part.rgb, (roll, pitch, yaw))


def _darken(rgb: NDArray[np.uint8], depth: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Ambient occlusion from the inverse depth, which is linear in the picture on every plane.

    So the mean of two opposite neighbours differs from a pixel's own value only where surfaces
    bend: above it in a hollow, below on a ridge. Pairs across a step in depth do not count.
    """
    h, w = depth.shape
    size = (max(8, w // 3), max(8, h // 3))
    inverse = cv2.resize(1.0 / np.nan_to_num(depth, nan=FAR_M), size,
                         interpolation=cv2.INTER_NEAREST)
    total = np.zeros_like(inverse)
    for dx, dy in _OFFSETS:
        x, y = round(dx * size[0]), round(dy * size[1])
        padded = cv2.copyMakeBorder(inverse, abs(y), abs(y), abs(x), abs(x), cv2.BORDER_REPLICATE)
        (r, c), (rows, columns) = (abs(y), abs(x)), inverse.shape
        one = padded[r + y:r + y + rows, c + x:c + x + columns]
        other = padded[r - y:r - y + rows, c - x:c - x + columns]
        hollow = (one + other) / (2 * inverse) - 1.0
        total += np.where(np.abs(one - other) < _STEP * inverse + np.abs(hollow) * inverse,
                          np.clip(hollow, -0.03, 0.08), 0.0) * (np.abs(hollow) < _STEP)
    light = np.clip(1.0 - _DARKNESS * total / len(_OFFSETS), 0.72, 1.05).astype(np.float32)
    smooth = cv2.resize(cv2.GaussianBlur(light, (0, 0), 1.2), (w, h),
                        interpolation=cv2.INTER_LINEAR)
    return np.asarray(cv2.multiply(rgb, cv2.merge([smooth, smooth, smooth]), dtype=cv2.CV_8U))


def _soften(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Blend pixels on sharp steps of brightness with their neighbours: edges lose their stairs.

    Steps in the picture are more than edges of bodies: also those between parts of one body.
    """
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
    kernel = np.ones((3, 3), np.uint8)
    edge = cv2.morphologyEx(grey, cv2.MORPH_GRADIENT, kernel) > _STAIR
    blurred = cv2.GaussianBlur(rgb, (3, 3), 0.7)
    out = rgb.copy()
    out[edge] = blurred[edge]
    return out
