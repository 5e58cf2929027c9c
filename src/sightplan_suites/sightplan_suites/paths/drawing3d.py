"""Pictures of a path on a map in perspective, as PathEval's simulator shows them.

Obstacles are walls of height 2 on a grey floor, with a border wall around; the camera, the path's
width on the screen and the discs at start and goal are the paper's. The texture of the walls is
noise from a seed, because the paper's is not published; light and backdrop are ours as well.

What hides what is decided at every pixel, without approximation by order of distance. The camera
is above all walls, and all walls have the same height; so the roofs hide everything else, the
sides of walls hide the floor with what lies on it, and only sides are compared with each other by
depth. Of a side, which is flat, the inverse depth is a linear function of the pixel.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import cv2
import numpy as np
import numpy.typing as npt

from sightplan_suites.paths.drawing import (
    Look,
    Picture,
    as_place,
    as_places,
    as_polygons,
    check_bounds,
    check_side,
    circle,
    draw_line,
    fill_polygons,
    longer_side,
    look_of,
    paint,
)
from sightplan_suites.paths.maps import WORLD, Bounds, FloatArray, as_points

WIDTH, HEIGHT = 1280, 720
"""Default size of a picture [px]."""
FOV_DEG = 45.0
"""Vertical angle of view."""
EYE, TARGET, UP = (0.0, -70.0, 55.0), (0.0, 0.0, -10.0), (0.0, 1.0, 0.0)
"""Position of the camera, the point it looks at, and its up vector; x right, y away, z up."""
WALL_HEIGHT = 2.0
BORDER = 0.5
"""Thickness of the border wall, which stands around the world."""
PATH_Z = 0.03
"""Height of path and discs above the floor."""
PATH_PX = 3.5
"""Width of the path in a picture of ``HEIGHT``."""
DISC = 1.5
"""Radius of the discs at start and goal."""

_SIDE = 80.0
"""Length of the scene; maps of another size are scaled to it."""
_SAMPLES = 2
_OVERLAP_PX = 0.75
_TEXTURE_SIDE = 512
_TEXTURE_PX = 16.0
"""Pixels of the texture for a unit of the scene."""

_Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PerspectiveView:
    """The paper's camera. Maps of another size than the paper's are scaled to fit.

    The angle of view is vertical: a picture that is narrower than 16:9 cuts the sides off.

    Attributes:
        width: of the picture [px].
        height: of the picture [px].
        bounds: of the map, in its units.
    """

    hides: ClassVar[bool] = True
    """Whether obstacles hide the ground behind them."""

    width: int = WIDTH
    height: int = HEIGHT
    bounds: Bounds = field(default=WORLD)

    def __post_init__(self) -> None:
        check_side('width', self.width)
        check_side('height', self.height)
        check_bounds(self.bounds)

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width of the picture [px]."""
        return self.height, self.width

    @functools.cached_property
    def unit(self) -> float:
        """Units of the map in one of the scene, in which the longer side of the map is 80."""
        return longer_side(self.bounds) / _SIDE

    def to_scene(self, points: npt.ArrayLike) -> FloatArray:
        """Points (N, 2) or (N, 3) of the map as points (N, 3) of the scene.

        Raises:
            InputError: another shape, or not finite.
        """
        box = self.bounds
        middle = ((box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2, 0.0)
        return np.asarray((as_places(points) - middle) / self.unit)

    def project(self, points: npt.ArrayLike) -> FloatArray:
        """Project points of the map to pixels, whether they are hidden or not.

        Args:
            points: (N, 2), on the floor, or (N, 3), in units of the map.

        Returns:
            (N, 2), columns and rows [px], from the middle of the upper left pixel; NaN for what
            is not in front of the camera.

        Raises:
            InputError: the points have another shape or are not finite.
        """
        return seen(self.to_scene(points), self.width, self.height)

    def unproject(self, pixels: npt.ArrayLike, z: float = 0.0) -> FloatArray:
        """Points of a horizontal plane that pixels show.

        Args:
            pixels: (N, 2), counted as in ``project``.
            z: height of the plane in units of the map, below the camera; 0 is the floor.

        Returns:
            (N, 2), in units of the map; NaN for pixels above the horizon.
        """
        array = as_points(pixels)
        rays = np.column_stack([array, np.ones(len(array))]) @ _rays(self.width, self.height).T
        box, eye = self.bounds, np.array(EYE)
        with np.errstate(divide='ignore', invalid='ignore'):
            far = np.where(rays[:, 2] < 0, (z / self.unit - eye[2]) / rays[:, 2], np.nan)
            places = eye[:2] + far[:, None] * rays[:, :2]
        middle = ((box.x_min + box.x_max) / 2, (box.y_min + box.y_max) / 2)
        return np.asarray(places * self.unit + middle)


def draw_perspective(obstacles: Sequence[npt.ArrayLike], path: npt.ArrayLike | None,
                     start: npt.ArrayLike, goal: npt.ArrayLike,
                     view: PerspectiveView | None = None, look: int = 0) -> Picture:
    """Draw a path on a map in perspective; the arguments are those of ``drawing.draw_top``.

    Returns:
        (height, width, 3) uint8 RGB.

    Raises:
        InputError: an array has another shape or is not finite; names it.
    """
    view, style = view or PerspectiveView(), look_of(look)
    polygons = [view.to_scene(polygon)[:, :2] for polygon in as_polygons(obstacles)]
    box = view.to_scene([(view.bounds.x_min, view.bounds.y_min),
                         (view.bounds.x_max, view.bounds.y_max)])[1, :2]
    picture = np.full((view.height, view.width, 3), style.ground, np.uint8)
    _draw_floor(picture, view, style, box)
    ends = [view.to_scene(as_place(place, name))[0, :2]
            for place, name in ((start, 'start'), (goal, 'goal'))]
    line = None if path is None else view.to_scene(as_points(path))[:, :2]
    _draw_path(picture, style, line, ends)
    _draw_walls(picture, [*polygons, *_border(box)], style)
    return picture


def _draw_floor(picture: Picture, view: PerspectiveView, style: Look, box: FloatArray) -> None:
    corners = box * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    mask = np.zeros(view.shape, np.uint8)
    fill_polygons(mask, [_seen_at(corners, 0.0, picture)], 1)
    paint(picture, mask, style.floor)


def _draw_path(picture: Picture, style: Look, line: FloatArray | None,
               ends: Sequence[FloatArray]) -> None:
    """Draw discs, and the path above them, onto the floor."""
    height, width = picture.shape[:2]
    mask = np.zeros((height * _SAMPLES, width * _SAMPLES), np.uint8)
    for place, colour in zip(ends, (style.start, style.goal), strict=True):
        mask[:] = 0
        disc = circle(place, DISC * style.dot)
        fill_polygons(mask, [_seen_at(disc, PATH_Z, picture)], _SAMPLES)
        paint(picture, mask, colour)
    if line is not None:
        mask[:] = 0
        draw_line(mask, _seen_at(line, PATH_Z, picture),
                  PATH_PX * style.line * height / HEIGHT, _SAMPLES)
        paint(picture, mask, style.path)


def _border(box: FloatArray) -> list[FloatArray]:
    """Four walls around the world."""
    (x, y), thick = box, BORDER
    return [np.array([(left, low), (right, low), (right, high), (left, high)])
            for left, right, low, high in (
                (-x - thick, x + thick, -y - thick, -y), (-x - thick, x + thick, y, y + thick),
                (-x - thick, -x, -y, y), (x, x + thick, -y, y))]


def _draw_walls(picture: Picture, polygons: Sequence[FloatArray], style: Look) -> None:
    height, width = picture.shape[:2]
    samples = np.zeros((height * _SAMPLES, width * _SAMPLES), np.uint8)
    fill_polygons(samples, [_seen_at(polygon, WALL_HEIGHT, picture) for polygon in polygons],
                  _SAMPLES)
    cover = cv2.resize(samples, (width, height), interpolation=cv2.INTER_AREA)
    roofs = np.asarray(cv2.threshold(cover, 127, 255, cv2.THRESH_BINARY)[1], np.uint8)
    faces = _front_faces(polygons)
    if len(faces):
        _draw_sides(picture, faces, roofs, style)
    cv2.copyTo(_roof_plane(width, height, style), roofs, picture)


def _front_faces(polygons: Sequence[FloatArray]) -> FloatArray:
    """Edges (N, 2, 2) of polygons that are turned to the camera, counter-clockwise."""
    faces = []
    for polygon in polygons:
        after = np.roll(polygon, -1, axis=0)
        area = (polygon[:, 0] * after[:, 1] - after[:, 0] * polygon[:, 1]).sum()
        faces.append(np.stack([polygon, after] if area > 0 else [after, polygon], axis=1))
    edges = np.concatenate(faces)
    along, back = edges[:, 1] - edges[:, 0], np.array(EYE[:2]) - edges[:, 0]
    return np.asarray(edges[along[:, 1] * back[:, 0] - along[:, 0] * back[:, 1] > 1e-9])


def _draw_sides(picture: Picture, faces: FloatArray, roofs: Picture, style: Look) -> None:
    """Draw the visible sides of walls.

    Args:
        picture: in place.
        faces: (F, 2, 2) lower edges, turned to the camera.
        roofs: (height, width), not 0 where a roof hides everything.
        style: colour, light and texture.
    """
    height, width = roofs.shape
    low, high = (np.concatenate([faces, np.full((*faces.shape[:2], 1), z)], axis=2)
                 for z in (0.0, WALL_HEIGHT))
    quads = np.concatenate([low, high[:, ::-1]], axis=1)
    owner, column, row = _pixels_of(
        seen(quads.reshape(-1, 3), width, height).reshape(-1, 4, 2), width, height)
    index = row * width + column
    free = roofs.ravel()[index] == 0
    owner, column, row, index = owner[free], column[free], row[free], index[free]
    along = faces[:, 1] - faces[:, 0]
    along /= np.hypot(along[:, 0], along[:, 1])[:, None]
    normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
    # On the face: normal . (eye + depth * ray) = normal . corner.
    offset = (normals * (faces[:, 0] - np.array(EYE[:2]))).sum(axis=1)
    plane = normals @ _rays(width, height)[:2] / offset[:, None]
    inverse = plane[owner, 0] * column + plane[owner, 1] * row + plane[owner, 2]
    nearest = np.zeros(height * width)
    np.maximum.at(nearest, index, inverse)
    shown = inverse == nearest[index]
    owner, column, row = owner[shown], column[shown], row[shown]
    # Texture runs along the face and up.
    depth = 1 / inverse[shown]
    ray_x, ray_y, ray_z = (a * column + b * row + c for a, b, c in _rays(width, height))
    across = ((EYE[0] + depth * ray_x) * along[owner, 0]
              + (EYE[1] + depth * ray_y) * along[owner, 1])
    up = EYE[2] + depth * ray_z
    texture = _texture(style.texture)
    grain = texture[(up * _TEXTURE_PX).astype(np.int64) % _TEXTURE_SIDE,
                    (across * _TEXTURE_PX).astype(np.int64) % _TEXTURE_SIDE]
    angle = math.radians(style.light_deg)
    facing = np.clip(normals @ np.array([math.cos(angle), math.sin(angle)]), 0.0, 1.0)
    light = style.ambient + (0.85 - style.ambient) * facing
    bright = light[owner] * (1 + style.contrast * grain)
    picture[row, column] = np.clip(bright[:, None] * np.array(style.wall), 0, 255).astype(np.uint8)


def _pixels_of(quads: FloatArray, width: int, height: int) -> tuple[_Ints, _Ints, _Ints]:
    """Pixels whose middle lies in convex quadrilaterals (F, 4, 2) [px].

    The third edge, the upper one, is moved out by ``_OVERLAP_PX``, so that there is no crack
    towards the roof, which hides what is too much.

    Returns:
        Number of the quadrilateral, column and row, each (N,).
    """
    after = np.roll(quads, -1, axis=1)
    # Inside of an edge: a * column + b * row + c >= 0.
    a, b = quads[..., 1] - after[..., 1], after[..., 0] - quads[..., 0]
    c = -(a * quads[..., 0] + b * quads[..., 1])
    middle = quads.mean(axis=1, keepdims=True)
    turn = np.sign((a * middle[..., 0] + b * middle[..., 1] + c).sum(axis=1, keepdims=True))
    a, b, c = a * turn, b * turn, c * turn
    c[:, 2] += _OVERLAP_PX * np.hypot(a[:, 2], b[:, 2])
    left, right = quads[..., 0].min(axis=1) - 1, quads[..., 0].max(axis=1) + 1
    first = np.clip(np.ceil(left), 0, width).astype(np.int64)
    last = np.clip(np.floor(right), -1, width - 1).astype(np.int64)
    owner, column = _runs(first, last)
    a, b, c = a[owner], b[owner], c[owner]
    with np.errstate(divide='ignore', invalid='ignore'):
        cut = -(a * column[:, None] + c) / b
    low = np.where(b > 0, cut, -np.inf).max(axis=1)
    high = np.where(b < 0, cut, np.inf).min(axis=1)
    span, row = _runs(np.ceil(np.clip(low, 0, height)).astype(np.int64),
                      np.floor(np.clip(high, -1, height - 1)).astype(np.int64))
    return owner[span], column[span], row


def _runs(first: _Ints, last: _Ints) -> tuple[_Ints, _Ints]:
    """Index of the range, and value, of all whole numbers from ``first`` to ``last`` of ranges."""
    counts = np.maximum(last - first + 1, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    begin = np.cumsum(counts) - counts
    return owner, np.arange(len(owner)) - begin[owner] + first[owner]


def seen(points: FloatArray, width: int, height: int) -> FloatArray:
    """Pixels (N, 2) of points (N, 3) of the scene; NaN for points behind the camera."""
    right, up, ahead = _axes()
    relative = points - np.array(EYE)
    depth = relative @ ahead
    with np.errstate(divide='ignore', invalid='ignore'):
        scale = np.where(depth > 0, _focal_px(height) / depth, np.nan)
    return np.stack([(width - 1) / 2 + scale * (relative @ right),
                     (height - 1) / 2 - scale * (relative @ up)], axis=1)


def _seen_at(places: FloatArray, z: float, picture: Picture) -> FloatArray:
    """Pixels of places (N, 2) of the scene at one height."""
    height, width = picture.shape[:2]
    return seen(np.column_stack([places, np.full(len(places), z)]), width, height)


@functools.cache
def _axes() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Unit vectors right, up and ahead of the camera."""
    ahead = np.array(TARGET) - np.array(EYE)
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, UP)
    right /= np.linalg.norm(right)
    return right, np.cross(right, ahead), ahead


def _focal_px(height: int) -> float:
    return height / 2 / math.tan(math.radians(FOV_DEG) / 2)


@functools.lru_cache(maxsize=16)
def _rays(width: int, height: int) -> FloatArray:
    """Matrix (3, 3) from (column, row, 1) to the pixel's ray, which is 1 long straight ahead."""
    right, up, ahead = _axes()
    focal = _focal_px(height)
    middle = ahead - right * (width - 1) / 2 / focal + up * (height - 1) / 2 / focal
    return np.stack([right / focal, -up / focal, middle], axis=1)


@functools.lru_cache(maxsize=4)
def _roof_plane(width: int, height: int, style: Look) -> Picture:
    """The plane of the roofs with its texture, as if it were everywhere: a picture."""
    rays = _rays(width, height)
    eye = np.array(EYE)
    # Place * -ray_z = eye * -ray_z + (eye_z - height of the roofs) * ray, homogeneous.
    plane = np.stack([-eye[0] * rays[2] + (eye[2] - WALL_HEIGHT) * rays[0],
                      -eye[1] * rays[2] + (eye[2] - WALL_HEIGHT) * rays[1], -rays[2]])
    zoom = np.diag([_TEXTURE_PX, _TEXTURE_PX, 1.0])
    grain = np.asarray(cv2.warpPerspective(
        _texture(style.texture), zoom @ plane, (width, height),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_WRAP))
    bright = 1 + style.contrast * grain
    colours = bright[:, :, None] * np.array(style.wall, np.float32)
    return np.asarray(np.clip(colours, 0, 255), np.uint8)


@functools.lru_cache(maxsize=4)
def _texture(seed: int) -> npt.NDArray[np.float32]:
    """Noise of several octaves (side, side), from -1 to 1, that can be tiled."""
    rng = np.random.default_rng(seed)
    total = np.zeros((_TEXTURE_SIDE, _TEXTURE_SIDE), np.float32)
    for octave, cells in enumerate((8, 16, 32, 64, 128)):
        grid = np.pad(rng.random((cells, cells), np.float32), 2, mode='wrap')
        zoom = _TEXTURE_SIDE // cells
        large = np.asarray(cv2.resize(grid, None, fx=zoom, fy=zoom,
                                      interpolation=cv2.INTER_CUBIC))
        total += large[2 * zoom:-2 * zoom, 2 * zoom:-2 * zoom] * np.float32(0.7**octave)
    total -= total.mean()
    return np.asarray(total / np.abs(total).max(), np.float32)
