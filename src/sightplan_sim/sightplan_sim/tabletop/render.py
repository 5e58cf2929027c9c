"""Pictures of tables: PyBullet's TinyRenderer draws the things, OpenCV the table and shadows."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.bullet import Bullet, one_thread
from sightplan_sim.closing import Closing
from sightplan_sim.meshes import Floats
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.tabletop.bodies import Body, add_thing
from sightplan_sim.tabletop.look import Look
from sightplan_sim.tabletop.meshes import hulls_of
from sightplan_sim.tabletop.shapes import Placed, Rgb
from sightplan_sim.tabletop.table import Table, footprint_of

NEAR_M, FAR_M = 0.05, 6.0
FLOOR_M = -0.72
"""Height of the floor around the table."""
BOARD_M = 0.035
"""Thickness of the table's board [m]."""
NOTHING = -1
Texture = NDArray[np.float32]

_TEXTURE_PX = 576
_SHIFT = 4


@dataclass(frozen=True, eq=False)
class Frame:
    """A picture of a table.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32 along the optical axis; 0 where it is not known.
        things: (H, W) int16, index into the table's things; -1 where none is.
        parts: (H, W) int16, index of the part of that thing; -1 where none is.
        table: (H, W) bool, where the table's top is seen.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32]
    things: NDArray[np.int16]
    parts: NDArray[np.int16]
    table: NDArray[np.bool_]


class Painter(Closing):
    """Draws one table at a time, in a physics client of its own."""

    def __init__(self) -> None:
        self._bullet = Bullet()

    def close(self) -> None:
        """Give the client back."""
        self._bullet.close()

    def draw(self, table: Table) -> Frame:
        """Take a picture of a table."""
        return self._drawn(table, self._loaded(table))

    def draw_both(self, table: Table, other: Look) -> Iterator[Frame]:
        """Draw the things alone in another look, and then the picture of the table.

        The first has no ground: its colours are black and its depth is 0 beside the things.
        """
        bodies = self._loaded(table)
        with one_thread():
            colour, depth, things, parts = self._things(other, other.view(), bodies)
        shown = things >= 0
        yield Frame(np.where(shown[:, :, None], colour, 0), np.where(shown, depth, 0), things,
                    parts, np.zeros_like(shown))
        yield self._drawn(table, bodies)

    def _loaded(self, table: Table) -> list[Body]:
        self._bullet.resetSimulation()
        return [add_thing(self._bullet, placed.thing, placed.pose, moves=False, solid=False,
                          opened=placed.opened) for placed in table.things]

    def _drawn(self, table: Table, bodies: Sequence[Body]) -> Frame:
        view = table.look.view()
        with one_thread():
            colour, depth, things, parts = self._things(table.look, view, bodies)
            ground = Ground(table, view)
            shown = things >= 0
            rgb = np.where(shown[:, :, None], colour, ground.rgb)
            rgb = develop(soften(rgb, things, parts), table.look)
        return Frame(rgb, np.where(shown, depth, ground.depth_m), things, parts,
                     ground.table & ~shown)

    def _things(self, look: Look, view: View[Pinhole], bodies: Sequence[Body],
                ) -> tuple[Any, Any, NDArray[np.int16], NDArray[np.int16]]:
        """Colours, depth, and which thing and part is where."""
        colour, depth, mask = self._image(look, view)
        owner = np.full(max((body.id for body in bodies), default=0) + 2, NOTHING, np.int16)
        owner[[body.id for body in bodies]] = np.arange(len(bodies))
        body_of = np.where(mask < 0, len(owner) - 1, mask & ((1 << 24) - 1))
        parts = np.where(mask < 0, NOTHING, mask >> 24).astype(np.int16)
        return colour, depth, owner[body_of], parts

    def _image(self, look: Look, view: View[Pinhole]) -> tuple[Any, Any, NDArray[np.int32]]:
        bullet, optics = self._bullet, view.optics
        shape = (optics.height, optics.width)
        _, _, colour, buffer, mask = bullet.getCameraImage(
            optics.width, optics.height, viewMatrix=view.view_matrix(),
            projectionMatrix=_projection(optics), lightDirection=look.light,
            lightColor=look.light_rgb, lightDistance=10.0, shadow=0,
            lightAmbientCoeff=look.ambient, lightDiffuseCoeff=look.diffuse,
            lightSpecularCoeff=0.0, flags=bullet.ER_SEGMENTATION_MASK_OBJECT_AND_LINKINDEX,
            renderer=bullet.ER_TINY_RENDERER)
        rgb = np.asarray(colour, np.uint8).reshape(*shape, 4)[:, :, :3]
        buffer = np.asarray(buffer, np.float32).reshape(shape)
        depth = np.float32(FAR_M * NEAR_M) / (
            np.float32(FAR_M) - np.float32(FAR_M - NEAR_M) * buffer)
        return rgb, depth, np.asarray(mask, np.int32).reshape(shape)


def _projection(optics: Pinhole) -> list[float]:
    """OpenGL's projection matrix, column by column."""
    f = 1 / math.tan(math.radians(optics.fov_deg) / 2)
    depth = NEAR_M - FAR_M
    return [f * optics.height / optics.width, 0.0, 0.0, 0.0, 0.0, f, 0.0, 0.0,
            0.0, 0.0, (FAR_M + NEAR_M) / depth, -1.0, 0.0, 0.0, 2 * FAR_M * NEAR_M / depth, 0.0]


class Ground:
    """Table, shadows on it and floor.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32; 0 on the edge of the board and beyond the floor.
        table: (H, W) bool, where the table's top would be seen without things.
    """

    def __init__(self, table: Table, view: View[Pinhole]) -> None:
        look = table.look
        size = (view.optics.width, view.optics.height)
        texture = surface(look)
        x, y = look.half_m
        corners = np.array([(-x, y, 0), (x, y, 0), (x, -y, 0), (-x, -y, 0)], np.float64)
        side = _TEXTURE_PX - 0.5
        source = np.array([(-0.5, -0.5), (side, -0.5), (side, side), (-0.5, side)], np.float32)
        warp = cv2.getPerspectiveTransform(source, view.project(corners).astype(np.float32))
        top = cv2.warpPerspective(texture, warp, size, flags=cv2.INTER_LINEAR,
                                  borderMode=cv2.BORDER_REPLICATE)
        cover = cv2.warpPerspective(np.full(texture.shape[:2], 255, np.uint8), warp, size,
                                    flags=cv2.INTER_LINEAR)
        light = look.ambient + look.diffuse * look.light[2]
        lit = (1.0 - _shadows(table, view)) * np.float32(light)
        shown = lit[:, :, None] * np.array(look.light_rgb, np.float32)
        shown *= top
        around = _surroundings(look, size[1], size[0])
        board = _board(look, view)
        around[board] = np.array(look.table_rgb) * 255 * 0.55 * light
        shown -= around
        shown *= (cover.astype(np.float32) / 255)[:, :, None]
        around += shown
        around += np.float32(0.5)
        self.rgb = np.clip(around, 0, 255, out=around).astype(np.uint8)
        self.table = cover > 127
        beyond = np.where(board, np.float32(0), _plane_depth(view, FLOOR_M))
        self.depth_m = np.where(self.table, _plane_depth(view, 0.0), beyond)


def _plane_depth(view: View[Pinhole], height: float) -> NDArray[np.float32]:
    """(H, W) depth of a level plane along the optical axis [m]; 0 where it is not in view."""
    optics = view.optics
    u = (np.arange(optics.width) - (optics.width - 1) / 2) / optics.focal_px
    v = (np.arange(optics.height) - (optics.height - 1) / 2) / optics.focal_px
    rise = u[None] * view.axes[2, 0] + v[:, None] * view.axes[2, 1] + view.axes[2, 2]
    with np.errstate(divide='ignore'):
        depth = (height - view.position_m[2]) / rise
    return np.where((depth > 0) & (depth < FAR_M), depth, 0.0).astype(np.float32)


def _shadows(table: Table, view: View[Pinhole]) -> NDArray[np.float32]:
    """(H, W) how much light is kept off the table, in [0, 1]."""
    look = table.look
    shape = (view.optics.height, view.optics.width)
    cast, near = np.zeros(shape, np.uint8), np.zeros(shape, np.uint8)
    x, y, z = look.light
    slope = np.array([-x / z, -y / z])
    for placed in table.things:
        for points in _solids(placed):
            _fill(cast, view, points[:, :2] + points[:, 2:] * slope)
        if not placed.inside:
            _fill(near, view, footprint_of(placed))
    dark = cv2.addWeighted(cv2.GaussianBlur(cast, (0, 0), look.shadow_px), look.shadow,
                           cv2.GaussianBlur(near, (0, 0), 9.0), 0.22, 0.0, dtype=cv2.CV_32F)
    return np.asarray(np.minimum(dark / 255, 0.85), np.float32)


def _solids(placed: Placed) -> list[Floats]:
    """Convex pieces of a placed thing in the table's frame, each (N, 3)."""
    turn = rotation_from_rpy((0.0, 0.0, placed.pose.yaw))
    return [points @ turn.T + placed.pose.position for part in placed.thing.parts
            for points in hulls_of(part.solid)]


def _fill(mask: NDArray[np.uint8], view: View[Pinhole], ground: Floats) -> None:
    """Fill the hull of some points (N, 2) of the table's plane."""
    pixels = view.project(np.column_stack([ground, np.zeros(len(ground))]))
    if np.isfinite(pixels).all() and np.abs(pixels).max() < 8000:
        hull = cv2.convexHull(np.round(pixels * 2**_SHIFT).astype(np.int32))
        cv2.fillConvexPoly(mask, hull, (255,), lineType=cv2.LINE_AA, shift=_SHIFT)


def _board(look: Look, view: View[Pinhole]) -> NDArray[np.bool_]:
    """(H, W) where the upright faces of the table's board are seen, or its top."""
    x, y = look.half_m
    mask = np.zeros((view.optics.height, view.optics.width), np.uint8)
    corners = np.array([(-x, y), (x, y), (x, -y), (-x, -y)])
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        face = np.array([(*a, 0.0), (*b, 0.0), (*b, -BOARD_M), (*a, -BOARD_M)])
        pixels = view.project(face)
        if np.isfinite(pixels).all() and np.abs(pixels).max() < 8000:
            cv2.fillConvexPoly(mask, np.round(pixels * 2**_SHIFT).astype(np.int32), (1,),
                               shift=_SHIFT)
    return mask > 0


def _surroundings(look: Look, height: int, width: int) -> NDArray[np.float32]:
    """(H, W, 3) the floor, a little uneven, out of focus."""
    rng = np.random.default_rng(look.seed)
    coarse = rng.normal(0.0, 0.09, (5, 7, 1)) + rng.normal(0.0, 0.03, (5, 7, 3))
    grown = cv2.resize((coarse + 1.0).astype(np.float32), (width, height),
                       interpolation=cv2.INTER_CUBIC)
    floor = np.asarray(grown, np.float32)
    floor *= np.array(look.floor_rgb, np.float32) * 255
    return floor


@functools.lru_cache(maxsize=2)
def surface(look: Look) -> NDArray[np.uint8]:
    """(S, S, 3) the table's top from above; its first row is the far edge."""
    rng = np.random.default_rng(look.seed + 1)
    x, y = (np.linspace(-half, half, _TEXTURE_PX, dtype=np.float32) / np.float32(look.pattern_m)
            for half in look.half_m)
    along, across = x[None, :], y[::-1, None]
    second = look.second_rgb
    if look.surface in ('wood', 'planks'):
        weight = _grain(rng, across, look.surface == 'planks')
        second = _darker(look.table_rgb)
    elif look.surface == 'speckle':
        weight = 0.35 * _grown(rng.standard_normal((_TEXTURE_PX // 2,) * 2, np.float32))
        weight += 0.5 * (_cloud(rng, 12, 16) - 0.5)
    elif look.surface == 'plain':
        weight = 0.2 * (_cloud(rng, 6, 8) - 0.5)
    else:
        weight = 0.7 * _printed(along, across, look)
    if look.surface in ('plain', 'checks', 'stripes'):
        weight += 0.06 * rng.standard_normal(weight.shape, np.float32)
    first = np.array(look.table_rgb, np.float32) * 255
    step = np.array(second, np.float32) * 255 - first
    rgb = weight[:, :, None].astype(np.float32) * step
    rgb += first
    return np.clip(rgb, 0, 255, out=rgb).astype(np.uint8)


def _grain(rng: np.random.Generator, across: Texture, planks: bool) -> Texture:
    """(S, S) rings of a tree cut lengthwise, along the table; 1 is dark."""
    rings = _cloud(rng, 3, 7) * 1.4 + across * 2.2
    light = 0.7 * (0.5 + 0.3 * np.sin(2 * math.pi * rings)) + 0.3 * _cloud(rng, 160, 5)
    if planks:
        board = np.floor(across / 1.6)
        tones = rng.normal(0.0, 0.25, 64).astype(np.float32)
        light = 0.6 * light + tones[board.astype(int) % 64]
        light -= 0.9 * (across / 1.6 - board < 0.02)
    return np.asarray(1 - light, np.float32)


def _printed(along: Texture, across: Texture, look: Look) -> Texture:
    """(S, S) checks or stripes, turned; 1 is the second colour."""
    cos, sin = np.float32(math.cos(look.pattern_yaw)), np.float32(math.sin(look.pattern_yaw))
    u, v = along * cos + across * sin, across * cos - along * sin
    if look.surface == 'checks':
        return np.asarray((np.floor(u) % 2 + np.floor(v) % 2) / 2, np.float32)
    return np.asarray(u % 1 < 0.35, np.float32)


def _darker(rgb: Rgb) -> Rgb:
    r, g, b = rgb
    return 0.72 * r, 0.66 * g, 0.58 * b


def _cloud(rng: np.random.Generator, rows: int, columns: int) -> Texture:
    """Smooth noise (S, S) in about [0, 1], with a number of rows and columns."""
    return _grown(rng.random((rows, columns)).astype(np.float32))


def _grown(coarse: Texture) -> Texture:
    return np.asarray(cv2.resize(coarse, (_TEXTURE_PX, _TEXTURE_PX),
                                 interpolation=cv2.INTER_CUBIC), np.float32)


def soften(rgb: NDArray[np.uint8], things: NDArray[np.int16],
            parts: NDArray[np.int16]) -> NDArray[np.uint8]:
    """Blend pixels at the edges of things and parts with their neighbours."""
    ids = (things.astype(np.int32) * 64 + parts + 65).astype(np.uint16)
    edge = cv2.dilate(ids, np.ones((3, 3), np.uint8)) != cv2.erode(ids, np.ones((3, 3), np.uint8))
    cv2.copyTo(cv2.GaussianBlur(rgb, (3, 3), 0.75), edge.view(np.uint8), out := rgb.copy())
    return out


def develop(rgb: NDArray[np.uint8], look: Look) -> NDArray[np.uint8]:
    """Lens blur, exposure and sensor noise."""
    if look.blur_px > 0.2:
        rgb = np.asarray(cv2.GaussianBlur(rgb, (0, 0), look.blur_px), np.uint8)
    out = rgb.astype(np.float32)
    out *= np.float32(look.gain)
    if look.noise > 0:
        noise = np.random.default_rng(look.seed + 2).standard_normal(rgb.shape, np.float32)
        noise *= np.float32(look.noise)
        out += noise
    out += np.float32(0.5)
    return np.clip(out, 0, 255, out=out).astype(np.uint8)
