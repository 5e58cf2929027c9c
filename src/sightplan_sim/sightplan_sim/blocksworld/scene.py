"""Pictures of coloured cubes in labelled columns: PyBullet draws the cubes, OpenCV the rest.

PyBullet's TinyRenderer (no display, no GPU) renders only the rectangle that holds cubes,
supersampled; table, wall, pads, marks, shadows and name plates are drawn straight into the
picture with the same pinhole camera and stay behind the cubes. A picture is a function of
stacks, names, look, size and optics alone: the same bytes in every process.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.blocksworld.camera import (
    APRON_M,
    BACK_M,
    BLOCK_M,
    FRONT_M,
    MAX_BLOCKS,
    MAX_COLUMNS,
    Camera,
    Layout,
    Optics,
)
from sightplan_sim.blocksworld.look import (
    COLOURS,
    NOMINAL_RGB,
    Look,
    Placement,
    Rgb,
    sample_look,
    sample_placement,
)
from sightplan_sim.blocksworld.table import Picture, Table
from sightplan_sim.bullet import Bullet, one_thread
from sightplan_sim.lettering import letter_plate

__all__ = [
    'BLOCK_M', 'COLOURS', 'MAX_BLOCKS', 'MAX_COLUMNS', 'NOMINAL_RGB',
    'BlocksScene', 'Camera', 'Frame', 'Look', 'Optics', 'Placement', 'sample_look',
    'sample_placement',
]

_SHIFT = 4  # fractional bits of OpenCV's polygon coordinates
NEAR_M, _FAR_M = 0.05, 20.0
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * BLOCK_M / 2
PARKED_M = (0.0, 0.0, -50.0)


@dataclass(frozen=True, eq=False)
class Frame(Picture):
    """A rendered picture with its depth, segmentation and camera.

    Attributes:
        depth_m: (H, W) float32, metres along the optical axis.
        segmentation: (H, W) int16, 0 for the background, else 1 + index in COLOURS.
        camera: the camera that took it.
    """

    depth_m: NDArray[np.float32]
    segmentation: NDArray[np.int16]
    camera: Camera


class BlocksScene(Table):
    """A reusable renderer: its six cubes are moved and painted, never rebuilt.

    Args:
        width, height: size of the picture [px].
        fov_deg: vertical field of view.
        elevation_deg: how far the nominal camera looks down.
        margin: part of the half picture kept free on every side in the nominal look.
        distance_m: camera to scene; 0 fits it to columns and blocks.
        supersampling: samples per pixel and direction on the cubes, 1..4.
    """

    def __init__(self, width: int = 640, height: int = 480, *, fov_deg: float = 24.0,
                 elevation_deg: float = 16.0, margin: float = 0.10, distance_m: float = 0.0,
                 supersampling: int = 2) -> None:
        if width < 32 or height < 32:
            raise ValueError(f'picture of {width}x{height}: at least 32x32 is needed')
        if supersampling not in (1, 2, 3, 4):
            raise ValueError(f'supersampling {supersampling} is not 1, 2, 3 or 4')
        super().__init__(Optics(width, height, fov_deg, elevation_deg, margin, distance_m))
        self.supersampling = supersampling
        self._bullet = Bullet()
        self._bodies = self._make_bodies()
        self._painted: list[Rgb | None] = [None] * len(COLOURS)
        self._backgrounds: dict[tuple[Any, ...], _Background] = {}

    @property
    def renderer(self) -> str:
        """PyBullet's version, the size of the picture and the samples."""
        return (f'PyBullet TinyRenderer {importlib.metadata.version("pybullet")}, '
                f'{self.optics.width}x{self.optics.height}, supersampling {self.supersampling}')

    def close(self) -> None:
        """Give the PyBullet client back; the scene cannot be used afterwards."""
        self._bullet.close()

    def place(self, stacks: Sequence[Sequence[str]], look: Look) -> None:
        """Move the cubes to where ``stacks`` puts them; absent ones are parked out of sight."""
        poses = self._poses(stacks, look)
        for colour, body in zip(COLOURS, self._bodies, strict=True):
            position, yaw = poses.get(colour, (PARKED_M, 0.0))
            self._bullet.resetBasePositionAndOrientation(
                body, position, (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)))

    def positions_m(self) -> dict[str, tuple[float, float, float]]:
        """Centre of every cube on the table, read back from the bodies [m]."""
        found = {}
        for colour, body in zip(COLOURS, self._bodies, strict=True):
            position, _ = self._bullet.getBasePositionAndOrientation(body)
            if position[2] > PARKED_M[2] / 2:
                found[colour] = (position[0], position[1], position[2])
        return found

    def render(self, stacks: Sequence[Sequence[str]], column_names: Sequence[str],
               look: Look) -> Frame:
        """Take a picture: see ``Table.render``."""
        if len(column_names) != len(stacks):
            raise ValueError(f'{len(column_names)} names for {len(stacks)} columns')
        self.place(stacks, look)
        n_blocks = sum(map(len, stacks))
        with one_thread():
            background = self._background(len(stacks), n_blocks, tuple(column_names), look)
            camera = background.camera
            placed = [colour for stack in stacks for colour in stack]
            corners = self._corners(stacks, look)
            rgb = background.rgb.copy()
            if placed and look.shadow > 0:
                cast_shadows(rgb, background, corners, look)
            depth = background.depth_m.copy()
            segmentation = np.zeros(depth.shape, np.int16)
            if placed:
                self._draw_bodies(rgb, depth, segmentation, camera, corners, look)
            rgb = develop(rgb, look, '|'.join(map(''.join, stacks)), self.optics.width)
        return Frame(rgb, depth, segmentation, camera)

    def _make_bodies(self) -> list[int]:
        bullet = self._bullet
        shape = bullet.createVisualShape(
            bullet.GEOM_BOX, halfExtents=[BLOCK_M / 2] * 3, rgbaColor=[1, 1, 1, 1],
            specularColor=[0, 0, 0])
        return [bullet.createMultiBody(0, -1, shape, PARKED_M)
                for _ in COLOURS]

    def _paint(self, look: Look) -> None:
        for index, rgb in enumerate(look.block_rgb):
            if self._painted[index] != rgb:
                self._bullet.changeVisualShape(
                    self._bodies[index], -1, rgbaColor=[*rgb, 1.0], specularColor=[1.0, 1.0, 1.0])
                self._painted[index] = rgb

    def _corners(self, stacks: Sequence[Sequence[str]], look: Look) -> NDArray[np.float64]:
        """(N, 8, 3) world corners of the placed blocks."""
        boxes = []
        for position, yaw in self._poses(stacks, look).values():
            c, s = math.cos(yaw), math.sin(yaw)
            turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            boxes.append(CORNERS @ turn.T + position)
        return np.array(boxes).reshape(-1, 8, 3)

    def _draw_bodies(self, rgb: NDArray[np.uint8], depth: NDArray[np.float32],
                     segmentation: NDArray[np.int16], camera: Camera,
                     corners: NDArray[np.float64], look: Look) -> None:
        """Render the rectangle that holds the corners (..., 3) and lay it over the picture."""
        optics, ss = self.optics, self.supersampling
        image = camera.project(corners.reshape(-1, 3))
        left, upper = np.floor(image.min(axis=0)).astype(int) - 1
        right, lower = np.ceil(image.max(axis=0)).astype(int) + 2
        left, upper = max(int(left), 0), max(int(upper), 0)
        right, lower = min(int(right), optics.width), min(int(lower), optics.height)
        if left >= right or upper >= lower:
            return
        w, h = right - left, lower - upper
        # TinyRenderer samples at a pixel's left lower corner, not at its centre (measured
        # against projected corners): half a sample to the left and down puts that right.
        f, half = optics.focal_px, 0.5 / ss
        cx, cy = optics.width / 2 - half, optics.height / 2 + half
        projection = self._bullet.computeProjectionMatrix(
            (left - cx) / f * NEAR_M, (right - cx) / f * NEAR_M,
            (cy - lower) / f * NEAR_M, (cy - upper) / f * NEAR_M, NEAR_M, _FAR_M)
        self._paint(look)
        a, e = math.radians(look.light_azimuth_deg), math.radians(look.light_elevation_deg)
        light = (math.sin(a) * math.cos(e), -math.cos(a) * math.cos(e), math.sin(e))
        _, _, colour, buffer, mask = self._bullet.getCameraImage(
            w * ss, h * ss, viewMatrix=camera.view_matrix(),
            projectionMatrix=projection, lightDirection=light, lightColor=look.light_rgb,
            lightDistance=10.0, shadow=0, lightAmbientCoeff=look.ambient,
            lightDiffuseCoeff=look.diffuse, lightSpecularCoeff=look.specular,
            renderer=self._bullet.ER_TINY_RENDERER)
        mask = np.asarray(mask, np.int32).reshape(h * ss, w * ss)
        colour = np.array(colour, np.uint8).reshape(h * ss, w * ss, 4)
        buffer = np.asarray(buffer, np.float32).reshape(h * ss, w * ss)
        ids = self._lookup()[mask]
        window = np.s_[upper:lower, left:right]
        _blend(rgb[window], depth[window], segmentation[window], colour, buffer, ids, ss)

    def _lookup(self) -> NDArray[np.int16]:
        """Ids of the segmentation by body; the last entry is for the background, -1."""
        lookup = np.zeros(max(self._bodies) + 2, np.int16)
        for index, body in enumerate(self._bodies):
            lookup[body] = index + 1
        return lookup

    def _background(self, n_columns: int, n_blocks: int, names: tuple[str, ...],
                    look: Look) -> _Background:
        key = (n_columns, n_blocks, names, dataclasses.replace(  # all but what blocks show
            look, specular=0.0, shadow=0.0, block_rgb=(), placements=(), gain=1.0, noise=0.0,
            blur_px=0.0))
        found = self._backgrounds.get(key)
        if found is None:
            if len(self._backgrounds) >= 2:
                self._backgrounds.clear()
            camera = self.camera(n_columns, n_blocks, look)
            found = _draw_background(camera, self.layout(n_columns, n_blocks), names, look)
            self._backgrounds[key] = found
        return found


@dataclass(frozen=True, eq=False)
class _Background:
    """The picture without blocks: rgb, depth, and where the table's top is (255 inside)."""

    camera: Camera
    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    table: NDArray[np.uint8]


def _blend(rgb: NDArray[np.uint8], depth: NDArray[np.float32], segmentation: NDArray[np.int16],
           colour: NDArray[np.uint8], buffer: NDArray[np.float32], ids: NDArray[np.int16],
           ss: int) -> None:
    """Lay samples over the background by coverage; covered by half, a pixel is a block's."""
    h, w = segmentation.shape
    hit = (ids > 0).view(np.uint8)
    colour[:, :, 3] = 255
    colour *= hit[:, :, None]
    mean = cv2.resize(colour, (w, h), interpolation=cv2.INTER_AREA)
    partial = mean[:, :, 3] < 255
    cover = mean[:, :, 3:][partial] / np.float32(255)
    edge = mean[:, :, :3][partial] + (1 - cover) * rgb[partial]
    rgb[:] = mean[:, :, :3]
    rgb[partial] = np.minimum(edge + 0.5, 255).astype(np.uint8)
    first = np.zeros((h, w), np.int16)
    count = np.zeros((h, w), np.float32)
    total = np.zeros((h, w), np.float32)
    metres = (_FAR_M * NEAR_M) / (_FAR_M - (_FAR_M - NEAR_M) * buffer) * hit
    for i in range(ss):
        for j in range(ss):
            np.maximum(first, ids[i::ss, j::ss], out=first)
            count += hit[i::ss, j::ss]
            total += metres[i::ss, j::ss]
    owned = count * 2 >= ss * ss
    segmentation[owned] = first[owned]
    depth[owned] = total[owned] / count[owned]


def _to_byte(rgb: Rgb, gain: float = 1.0, light: Rgb = (1.0, 1.0, 1.0),
             ) -> tuple[float, float, float]:
    """Colour in [0, 255] under a light of the given strength."""
    r, g, b = (min(255.0, 255.0 * v * gain * t) for v, t in zip(rgb, light, strict=True))
    return (r, g, b)


def _fill(image: NDArray[Any], camera: Camera, points_m: Sequence[Sequence[float]],
          colour: tuple[float, ...]) -> None:
    """Fill a convex polygon of the world, with smooth edges.

    Parts behind the camera are cut off.
    """
    points = _before_camera(camera, np.array(points_m, dtype=np.float64))
    if len(points) > 2:
        pixels = np.round(camera.project(points) * 2**_SHIFT)
        cv2.fillConvexPoly(image, pixels.astype(np.int32), colour, lineType=cv2.LINE_AA,
                           shift=_SHIFT)


def _rectangle(x0: float, x1: float, y0: float, y1: float) -> list[Rgb]:
    """Corners on the table's top."""
    return [(x0, y0, 0.0), (x1, y0, 0.0), (x1, y1, 0.0), (x0, y1, 0.0)]


def _before_camera(camera: Camera, points_m: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a convex polygon that is at least NEAR_M in front of the camera."""
    depth = camera.to_optical(points_m)[:, 2] - NEAR_M
    if (depth >= 0).all():
        return points_m
    kept = []
    for k in range(len(points_m)):
        here, there = points_m[k - 1], points_m[k]
        if depth[k - 1] >= 0:
            kept.append(here)
        if (depth[k - 1] >= 0) != (depth[k] >= 0):
            kept.append(here + (there - here) * depth[k - 1] / (depth[k - 1] - depth[k]))
    return np.array(kept).reshape(-1, 3)


def _draw_background(camera: Camera, layout: Layout, names: tuple[str, ...],
                     look: Look) -> _Background:
    optics = camera.optics
    w, h = optics.width, optics.height
    elevation = math.radians(look.light_elevation_deg)
    top_gain = look.ambient + look.diffuse * math.sin(elevation)
    front_gain = look.ambient + look.diffuse * max(
        0.0, math.cos(elevation) * math.cos(math.radians(look.light_azimuth_deg)))
    ramp = np.linspace(0.0, 1.0, h, dtype=np.float32)[:, None, None]
    upper, lower = (np.array(_to_byte(c, 1.0, look.light_rgb), np.float32)
                    for c in (look.backdrop_top_rgb, look.backdrop_bottom_rgb))
    picture = np.empty((h, w, 3), np.uint8)
    picture[:] = upper + ramp * (lower - upper)
    half = 60 * BLOCK_M
    table_mask = np.zeros((h, w), np.uint8)
    table = _rectangle(-half, half, FRONT_M, BACK_M)
    front = [(-half, FRONT_M, 0.0), (half, FRONT_M, 0.0), (half, FRONT_M, -half),
             (-half, FRONT_M, -half)]
    _fill(picture, camera, table, _to_byte(look.table_rgb, top_gain, look.light_rgb))
    _fill(table_mask, camera, table, (255.0,))
    _fill(picture, camera, front, _to_byte(look.table_rgb, 0.82 * front_gain, look.light_rgb))
    _draw_marks(picture, camera, layout, look, top_gain)
    if look.texture > 0:
        picture = _blotch(picture, look)
    for x, name in zip(layout.column_x_m, names, strict=True):
        _draw_plate(picture, camera, layout.pitch_m, x, name, look)
    return _Background(camera, picture, _background_depth(camera), table_mask)


def _draw_marks(picture: NDArray[np.uint8], camera: Camera, layout: Layout, look: Look,
                gain: float) -> None:
    """Pads under the columns and dashed lines between them, on the table's top."""
    pad = _to_byte(look.pad_rgb, gain, look.light_rgb)
    mark = _to_byte(look.mark_rgb, gain, look.light_rgb)
    r, near, far = 0.42 * layout.pitch_m, FRONT_M + 0.12 * BLOCK_M, 0.95 * BLOCK_M
    for x in layout.column_x_m:
        _fill(picture, camera, _rectangle(x - r, x + r, near, far), pad)
    dash, t = 0.32 * BLOCK_M, 0.025 * BLOCK_M
    edges = [x + layout.pitch_m / 2 for x in layout.column_x_m[:-1]]
    for x in edges:
        for k in range(12):
            y = FRONT_M + k * dash * 1.8
            end = min(y + dash, BACK_M)
            if y < end:
                _fill(picture, camera, _rectangle(x - t, x + t, y, end), mark)


def _blotch(picture: NDArray[np.uint8], look: Look) -> NDArray[np.uint8]:
    """Soft blotches of light and dark, so that no surface is perfectly even."""
    rng = np.random.default_rng(look.texture_seed)
    grid = rng.uniform(-1.0, 1.0, (7, 9)).astype(np.float32)
    h, w = picture.shape[:2]
    field = cv2.resize(grid, (w, h), interpolation=cv2.INTER_CUBIC)
    shaded = picture * (1.0 + look.texture * field)[:, :, None]
    return np.asarray(np.clip(shaded + 0.5, 0, 255), np.uint8)


def _draw_plate(picture: NDArray[np.uint8], camera: Camera, pitch: float, x: float, name: str,
                look: Look) -> None:
    """A name plate on the table's front face, warped at four samples per pixel."""
    half_w, half_h = min(0.45 * pitch, 0.75 * BLOCK_M), 0.44 * APRON_M
    middle = -0.54 * APRON_M
    corners = np.array([(x - half_w, FRONT_M, middle + half_h),
                        (x + half_w, FRONT_M, middle + half_h),
                        (x + half_w, FRONT_M, middle - half_h),
                        (x - half_w, FRONT_M, middle - half_h)])
    pixels = camera.project(corners)
    height, width = picture.shape[:2]
    left, upper = np.maximum(np.floor(pixels.min(axis=0)).astype(int) - 1, 0)
    right, lower = np.minimum(np.ceil(pixels.max(axis=0)).astype(int) + 2, (width, height))
    if left >= right or upper >= lower:
        return
    ink = letter_plate(name, round(half_w / half_h, 6), 96)
    th, tw = ink.shape
    ss = 4
    target = (pixels - (left, upper) + 0.5) * ss - 0.5
    source = np.array([(-0.5, -0.5), (tw - 0.5, -0.5), (tw - 0.5, th - 0.5), (-0.5, th - 0.5)])
    warp = cv2.getPerspectiveTransform(source.astype(np.float32), target.astype(np.float32))
    size = (int(right - left), int(lower - upper))
    layers = np.dstack([np.full_like(ink, 255), ink])
    scaled = cv2.warpPerspective(layers, warp, (size[0] * ss, size[1] * ss),
                                 flags=cv2.INTER_LINEAR)
    cover = cv2.resize(scaled.astype(np.float32), size, interpolation=cv2.INTER_AREA) / 255.0
    window = picture[upper:lower, left:right]
    plate, letter = (np.array(_to_byte(c, 1.0, look.light_rgb), np.float32)
                     for c in (look.plate_rgb, look.ink_rgb))
    mixed = (window * (1.0 - cover[:, :, :1]) + plate * (cover[:, :, :1] - cover[:, :, 1:])
             + letter * cover[:, :, 1:])
    window[:] = np.clip(mixed + 0.5, 0, 255).astype(np.uint8)


def _background_depth(camera: Camera) -> NDArray[np.float32]:
    """Depth of table, its front face and the wall behind, along the optical axis [m]."""
    optics = camera.optics
    f, k = optics.focal_px, optics.matrix()
    u = ((np.arange(optics.width) - k[0, 2]) / f)[None, :]
    v = ((np.arange(optics.height) - k[1, 2]) / f)[:, None]
    axes, eye = camera.axes, camera.position_m

    def along(axis: int) -> NDArray[np.float64]:
        """World component of the ray through each pixel, per metre of depth."""
        return np.asarray(u * axes[axis, 0] + v * axes[axis, 1] + axes[axis, 2])

    ray_y, ray_z = along(1), along(2)
    with np.errstate(divide='ignore', invalid='ignore'):
        table = -eye[2] / ray_z
        y = eye[1] + table * ray_y
        front = (FRONT_M - eye[1]) / ray_y
        wall = (BACK_M - eye[1]) / ray_y
    on_table = (ray_z < 0) & (y <= BACK_M)
    depth = np.where(on_table, np.where(y < FRONT_M, front, table), wall)
    return np.asarray(depth, np.float32)


def cast_shadows(rgb: NDArray[np.uint8], background: _Background,
                 bodies: Iterable[NDArray[np.float64]], look: Look) -> None:
    """Darken the table where bodies keep the light off, with soft edges, in place.

    Args:
        rgb: (H, W, 3) to be darkened.
        background: of the picture.
        bodies: of each, points (N, 3) whose hull it is.
        look: where the light is.
    """
    camera = background.camera
    a, e = math.radians(look.light_azimuth_deg), math.radians(look.light_elevation_deg)
    slope = np.array([-math.sin(a), math.cos(a)]) / math.tan(e)
    h, w = background.table.shape
    hulls = []
    for points in bodies:
        ground = np.column_stack([points[:, :2] + points[:, 2:] * slope, np.zeros(len(points))])
        pixels = camera.project(ground)
        if np.isfinite(pixels).all():
            hulls.append(cv2.convexHull(pixels.astype(np.float32))[:, 0])
    if not hulls:
        return
    sigma = max(1.0, 3.5 * w / 640)
    every, reach = np.concatenate(hulls), 3 * sigma
    left, upper = np.maximum(np.floor(every.min(axis=0) - reach).astype(int), 0)
    right, lower = np.minimum(np.ceil(every.max(axis=0) + reach).astype(int) + 1, (w, h))
    if left >= right or upper >= lower:
        return
    shade = np.zeros((lower - upper, right - left), np.uint8)
    for hull in hulls:
        cv2.fillConvexPoly(shade, np.round((hull - (left, upper)) * 2**_SHIFT).astype(np.int32),
                           (255,), lineType=cv2.LINE_AA, shift=_SHIFT)
    shade = cv2.GaussianBlur(shade, (0, 0), sigma)
    window = np.s_[upper:lower, left:right]
    weight = cv2.multiply(shade, background.table[window], scale=look.shadow / 255**2,
                          dtype=cv2.CV_32F)
    rgb[window] = (rgb[window] * (1 - weight)[:, :, None] + 0.5).astype(np.uint8)


@functools.cache
def _noise_pool() -> NDArray[np.float32]:
    return np.random.default_rng(20240229).standard_normal(1 << 20).astype(np.float32)


def develop(rgb: NDArray[np.uint8], look: Look, scene_key: str,
            width: int) -> NDArray[np.uint8]:
    """Lens blur, exposure and sensor noise."""
    if look.blur_px * width / 640 > 0.15:
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), look.blur_px * width / 640), np.uint8)
    if look.gain == 1.0 and look.noise == 0.0:
        return rgb
    out = rgb.astype(np.float32) * np.float32(look.gain)
    if look.noise > 0:
        pool = _noise_pool()
        start = zlib.crc32(f'{look.texture_seed} {scene_key}'.encode()) % pool.size
        flat, done = out.reshape(-1), 0
        while done < flat.size:
            piece = pool[start:start + flat.size - done]
            flat[done:done + piece.size] += np.float32(look.noise) * piece
            done, start = done + piece.size, 0
    np.clip(out, 0, 255, out=out)
    out += 0.5
    return out.astype(np.uint8)
