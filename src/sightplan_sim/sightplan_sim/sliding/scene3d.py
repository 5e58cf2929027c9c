"""Boards in 3D: convex solids over a checkerboard, drawn from the farthest to the nearest.

Frame: the board's lower left corner is the origin, cells are the unit, x to the right, y away, z
up. Every solid stays over its cell, so that drawing cell by cell towards the camera, and of each
solid the faces that look at the camera, hides exactly what is hidden.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.domains.sliding.boards import TILE, Arrangement
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.sliding import letters, solids
from sightplan_sim.sliding.canvas import Bytes, Floats, Layer, Window, filled_hull
from sightplan_sim.sliding.look import Look, Rgb
from sightplan_sim.sliding.scene import Options, Scene, cell_name

EYE, TARGET = (1.8, -1.88, 4.57), (1.8, 1.8, -1.0)
"""Position of iVISPAR's camera, and the point it looks at, for a board of ``CAMERA_SIZE`` cells a
side."""
CAMERA_SIZE = 4
FOV_DEG = 60.0
"""Vertical field of view."""

_HALF_WIDTH = 0.70
"""Half of the picture's width over its focal length, at least: so wide is the board."""
_RIM, _BARE_RIM, _THICKNESS = 0.14, 0.04, 0.05
"""Width of the rim, with and without labels, and thickness of the board, in its sides."""
_NAME_HEIGHT, _NUMBER_HEIGHT = 0.40, 0.44
"""Heights of letters, in sides of a cell."""
_INK_LIGHT: Rgb = (240.0, 240.0, 240.0)
_INK_DARK: Rgb = (62.0, 64.0, 72.0)
_SHADOW_PX = 2.6
"""Standard deviation of the shadows' edges at a width of 640 pixels."""


@functools.lru_cache(maxsize=32)
def camera(size: int, width: int, height: int, azimuth_deg: float = 0.0,
           elevation_deg: float = 0.0) -> View[Pinhole]:
    """The camera on a board, scaled with it, so that boards of all sizes look equally large.

    Args:
        size: of the board [cells a side].
        width: of the picture [px].
        height: of the picture [px]; one too narrow for the board shows more above and below it.
        azimuth_deg: turned around the board's middle, positive to the right.
        elevation_deg: raised around the board's middle.
    """
    scale = size / CAMERA_SIZE
    eye, target = np.array(EYE) * scale, np.array(TARGET) * scale
    turn, rise = math.radians(azimuth_deg), math.radians(-elevation_deg)
    c, s = math.cos(turn), math.sin(turn)
    around = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    c, s = math.cos(rise), math.sin(rise)
    rotation = around @ np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    middle = np.array([size / 2, size / 2, 0.0])
    eye, target = (middle + rotation @ (point - middle) for point in (eye, target))
    forward = (target - eye) / np.linalg.norm(target - eye)
    right = np.cross(forward, (0.0, 0.0, 1.0))
    right /= np.linalg.norm(right)
    half = max(math.tan(math.radians(FOV_DEG) / 2), _HALF_WIDTH * height / width)
    return View(Pinhole(width, height, 2 * math.degrees(math.atan(half))), eye,
                np.column_stack([right, np.cross(forward, right), forward]))


class Scene3D(Scene):
    """Draws a board as iVISPAR's camera sees it."""

    @property
    def view(self) -> View[Pinhole]:
        """The camera at its pose."""
        return _view(self.size, self.look, self.options)

    def segmentation(self, arrangement: Arrangement) -> NDArray[np.int32]:
        """(H, W) int32: which piece each pixel shows, its index + 1; 0 where none is."""
        found = np.zeros((self.options.height, self.options.width), np.uint8)
        for index, origin in self.far_to_near(arrangement):
            filled_hull(found, self.view.project(
                self._outline(index) + origin), index + 1)
        return found.astype(np.int32)

    def layer(self, arrangement: Arrangement) -> Layer:
        """Layer that shows the pieces."""
        layer = Layer(self._window, self.options.samples)
        for index, origin in self.far_to_near(arrangement):
            if self.pieces[index].kind == 'sphere':
                self._draw_ball(layer, origin, self.colours[index])
            else:
                self._draw_solid(layer, index, origin)
        return layer

    @functools.cached_property
    def _window(self) -> Window:
        """Smallest window of the picture that contains all pieces, wherever they stand."""
        corners = np.array([(x, y, z) for x in (0, self.size) for y in (0, self.size)
                            for z in (0.0, solids.TALLEST)], np.float64)
        return Window.around(self.view.project(corners), self.options.width, self.options.height)

    def _outline(self, index: int) -> Floats:
        """Points (N, 3) around a piece, from the middle of its cell."""
        return solids.outline(self.pieces[index].kind, self.options.piece_size)

    def far_to_near(self, arrangement: Arrangement) -> Iterator[tuple[int, Floats]]:
        """Yield each piece's index, and the middle of its cell (3,), in the order of drawing."""
        eye = self.view.position_m
        places = [(index, np.array([cell % self.size + 0.5, cell // self.size + 0.5, 0.0]))
                  for index, cell in enumerate(arrangement)]
        # What hides another piece is nearer in one direction, and not farther in the other one.
        places.sort(key=lambda place: -float(np.abs(place[1][:2] - eye[:2]).sum()))
        yield from places

    def _draw_solid(self, layer: Layer, index: int, origin: Floats) -> None:
        piece, colour = self.pieces[index], self.colours[index]
        shape = solids.solid(piece.kind, self.options.piece_size)
        vertices = shape.vertices + origin
        fixed = layer.fixed(self.view.project(vertices))
        _outline(layer, fixed, colour)
        first = vertices[[face[0] for face in shape.faces]]
        towards = self.view.position_m - first
        lit = self._lit(shape.normals, towards, colour, shape.shiny)
        for k in np.flatnonzero((shape.normals * towards).sum(axis=1) > 0).tolist():
            red, green, blue = lit[k].tolist()
            layer.fill(fixed[shape.faces[k]], (red, green, blue))
        if piece.kind == TILE:
            top = origin + np.array([0.0, 0.0, solids.TILE_HEIGHT])
            lines, thickness = _written(str(piece.number), top, _NUMBER_HEIGHT, self.view)
            layer.lines(lines, thickness, _INK_LIGHT)

    def _draw_ball(self, layer: Layer, origin: Floats, colour: Rgb) -> None:
        """A sphere, sample by sample: each one's ray meets it, or does not."""
        points = self.view.project(solids.outline('sphere', self.options.piece_size) + origin)
        _outline(layer, layer.fixed(points), colour)
        window, samples = layer.window, layer.samples
        part = Window.around(points, self.options.width, self.options.height, margin=1)
        left, right = max(part.left, window.left), min(part.right, window.right)
        upper, lower = max(part.upper, window.upper), min(part.lower, window.lower)
        view = self.view
        high = solids.ball_radius(self.options.piece_size)
        radius = np.float32(high)
        k = view.optics.matrix()
        u, v = ((np.arange(low * samples, high * samples) + 0.5) / samples - 0.5
                for low, high in ((left, right), (upper, lower)))
        x = ((u - k[0, 2]) / k[0, 0]).astype(np.float32)[None, :]
        y = ((v - k[1, 2]) / k[1, 1]).astype(np.float32)[:, None]
        centre = origin + np.array([0.0, 0.0, high])
        cx, cy, cz = view.to_optical(centre).astype(np.float32)
        square = x * x + y * y + 1
        along = x * cx + y * cy + cz
        under = along * along - square * (cx * cx + cy * cy + cz * cz - radius * radius)
        hit = under > 0
        rows, columns = np.nonzero(hit)
        depth = (along[hit] - np.sqrt(under[hit])) / square[hit]
        rays = np.stack([x[0, columns], y[rows, 0], np.ones_like(depth)], axis=1)
        normals = (rays * depth[:, None] - np.array([cx, cy, cz])) / radius
        lit = self._lit(normals, -rays, colour, True, view.axes)
        top, first = (upper - window.upper) * samples, (left - window.left) * samples
        layer.array[rows + top, columns + first, :3] = lit + 0.5
        layer.array[rows + top, columns + first, 3] = 255

    def _lit(self, normals: NDArray[np.floating], towards: NDArray[np.floating], colour: Rgb,
             shiny: bool, axes: Floats | None = None) -> NDArray[np.float32]:
        """(N, 3) colours in [0, 255] of surfaces under the light.

        Args:
            normals: (N, 3) unit vectors.
            towards: (N, 3) from the surfaces to the camera.
            colour: of the surfaces.
            shiny: whether they have highlights.
            axes: (3, 3) axes of the frame of the vectors, as columns; None: the board's.
        """
        look, light = self.look, solids.light_of(self.look)
        x, y, z = (light if axes is None else light @ axes).astype(np.float32)
        n = normals.astype(np.float32)
        facing = n[:, 0] * x + n[:, 1] * y + n[:, 2] * z
        shade = np.float32(look.ambient) + np.float32(look.diffuse) * np.maximum(facing, 0)
        lit = shade[:, None] * (np.array(colour, np.float32) * np.array(look.light_rgb,
                                                                       np.float32))
        if shiny:
            t = towards.astype(np.float32)
            t /= np.sqrt(t[:, 0] ** 2 + t[:, 1] ** 2 + t[:, 2] ** 2)[:, None]
            hx, hy, hz = t[:, 0] + x, t[:, 1] + y, t[:, 2] + z
            length = np.sqrt(hx * hx + hy * hy + hz * hz)
            glint = np.maximum(n[:, 0] * hx + n[:, 1] * hy + n[:, 2] * hz, 0) / length
            for _ in range(4):
                glint *= glint
            lit += (np.float32(255 * look.specular) * glint)[:, None]
        return np.asarray(np.minimum(lit, np.float32(255)), np.float32)

    def shade(self, rgb: Bytes, cover: Bytes, arrangement: Arrangement) -> None:
        """Draw the pieces' shadows onto the board, in place."""
        light = solids.light_of(self.look)
        window, view = self._window, self.view
        part = window.slices
        shade = np.zeros(rgb.shape[:2], np.uint8)
        for index, origin in self.far_to_near(arrangement):
            points = self._outline(index) + origin
            ground = points - points[:, 2:] * (light / light[2])
            filled_hull(shade, view.project(ground), 255)
        soft = cv2.GaussianBlur(shade[part], (0, 0), _SHADOW_PX * self.options.width / 640)
        weight = 1 - cv2.multiply(soft, cover[part], scale=self.look.shadow / 255**2,
                                  dtype=cv2.CV_32F)
        rgb[part] = cv2.multiply(rgb[part], cv2.merge([weight] * 3), dtype=cv2.CV_8U)

    @classmethod
    def draw_board(cls, layer: Layer, size: int, look: Look, options: Options) -> None:
        """Draw a board with the labels along its edges."""
        view = _view(size, look, options)
        height = float(solids.light_of(look)[2])
        level = look.ambient + look.diffuse * height
        front = look.ambient + look.diffuse * max(0.0, -float(solids.light_of(look)[1]))
        rim, low = _RIM * size, -_THICKNESS * size
        near, far = -rim, size * (1 + _BARE_RIM)

        def fill(corners: list[tuple[float, float, float]], rgb: Rgb, gain: float) -> None:
            layer.polygon(view.project(np.array(corners)), _lightened(rgb, gain, look))

        fill([(near, near, 0), (far, near, 0), (far, near, low), (near, near, low)], look.rim,
             0.75 * front)
        fill([(near, near, 0), (far, near, 0), (far, far, 0), (near, far, 0)], look.rim, level)
        for cell in range(size * size):
            y, x = divmod(cell, size)
            fill([(x, y, 0), (x + 1, y, 0), (x + 1, y + 1, 0), (x, y + 1, 0)],
                 _cell_colour(cell, size, look), level)
        if options.labels in ('both', 'edge'):
            middle, tall = -rim / 2, 0.72 * rim
            for k in range(size):
                for text, place in ((cell_name(k, size)[0], (k + 0.5, middle, 0.0)),
                                    (str(k + 1), (middle, k + 0.5, 0.0))):
                    layer.lines(*_written(text, np.array(place), tall, view), _INK_LIGHT)

    @classmethod
    def draw_name(cls, cell: int, size: int, look: Look, options: Options,
                  ) -> tuple[list[Floats], float, Rgb]:
        """A cell's name: lines through pixels, their width [px], and the colour of the ink."""
        view = _view(size, look, options)
        place = np.array([cell % size + 0.5, cell // size + 0.5, 0.0])
        lines, thickness = _written(cell_name(cell, size), place, _NAME_HEIGHT, view)
        dark = _cell_colour(cell, size, look) == look.dark_cell
        return lines, thickness, _INK_LIGHT if dark else _INK_DARK


def _view(size: int, look: Look, options: Options) -> View[Pinhole]:
    return camera(size, options.width, options.height, look.azimuth_deg, look.elevation_deg)


def _written(text: str, middle: Floats, height: float, view: View[Pinhole],
             ) -> tuple[list[Floats], float]:
    """A text that lies level: lines through pixels, and their width [px]."""
    scale = view.optics.focal_px / float(view.to_optical(middle)[2])
    lines = [view.project(middle + np.column_stack([height * points, np.zeros(len(points))]))
             for points in letters.strokes(text)]
    return lines, letters.WEIGHT * height * scale


def _outline(layer: Layer, fixed: NDArray[np.int32], colour: Rgb) -> None:
    """A dark line around a piece, which separates it from the pieces behind it."""
    red, green, blue = (0.45 * value for value in colour)
    hull = cv2.convexHull(fixed)
    cv2.polylines(layer.array, [hull], True, (red, green, blue, 255.0),
                  max(1, round(1.2 * layer.samples)), cv2.LINE_8, 4)


def _cell_colour(cell: int, size: int, look: Look) -> Rgb:
    """A1 is dark, as in chess."""
    y, x = divmod(cell, size)
    return look.light_cell if (x + y) % 2 else look.dark_cell


def _lightened(rgb: Rgb, gain: float, look: Look) -> Rgb:
    red, green, blue = (min(255.0, gain * value * light)
                        for value, light in zip(rgb, look.light_rgb, strict=True))
    return red, green, blue
