"""Pictures drawn in ways that are not ours: other renderers, plots, drawings, textures, noise."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Bytes = NDArray[np.uint8]
Floats = NDArray[Any]
SIZES = ((640, 480), (480, 360), (512, 512), (800, 600), (320, 240))
_TEXT = ('the', 'robot', 'saw', 'a', 'red', 'cup', 'on', 'table', 'and', 'then', 'moved', 'left',
         'arm', 'plan', 'belief', 'over', 'states', 'camera', 'picture', 'of', 'unknown', 'thing')
_MODELS = {
    'a': (('plane.urdf',), ('r2d2.urdf', 'duck_vhacd.urdf', 'kuka_iiwa/model.urdf',
                            'tray/traybox.urdf', 'cube_small.urdf', 'sphere_small.urdf',
                            'racecar/racecar.urdf', 'husky/husky.urdf')),
    'b': (('plane_transparent.urdf', 'samurai.urdf', 'table_square/table_square.urdf',
           'table/table.urdf'),
          ('laikago/laikago.urdf', 'teddy_vhacd.urdf', 'soccerball.urdf', 'lego/lego.urdf',
           'franka_panda/panda.urdf', 'domino/domino.urdf', 'jenga/jenga.urdf',
           'objects/mug.urdf', 'xarm/xarm6_robot.urdf', 'humanoid/humanoid.urdf',
           'quadruped/minitaur.urdf'))}
"""Grounds and things of pybullet_data, for each of two sets that share none."""
_SCALES = {'duck_vhacd.urdf': 4.0, 'teddy_vhacd.urdf': 3.0, 'lego/lego.urdf': 4.0,
           'domino/domino.urdf': 5.0, 'jenga/jenga.urdf': 3.0, 'objects/mug.urdf': 2.0,
           'soccerball.urdf': 0.3, 'cube_small.urdf': 3.0, 'sphere_small.urdf': 3.0}
_TABLE_M = 0.63


def _size(rng: np.random.Generator) -> tuple[int, int]:
    return SIZES[int(rng.integers(len(SIZES)))]


def _colour(rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = rng.integers(0, 256, 3).tolist()
    return red, green, blue


def _bytes(values: Floats) -> Bytes:
    return np.clip(values, 0, 255).astype(np.uint8)


def noise(count: int, seed: int) -> Iterator[Bytes]:
    """Noise of several spectra, plain colours, gradients."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        (width, height), kind = _size(rng), number % 5
        if kind == 0:
            yield rng.integers(0, 256, (height, width, 3), dtype=np.uint8)
        elif kind == 1:
            yield np.full((height, width, 3), _colour(rng), np.uint8)
        elif kind == 2:
            rough = rng.integers(0, 256, (*rng.integers(2, 30, 2), 3), dtype=np.uint8)
            yield np.asarray(cv2.resize(rough, (width, height),
                                        interpolation=int(rng.integers(0, 3))), np.uint8)
        elif kind == 3:
            waves = np.fft.rfft2(rng.normal(size=(height, width, 3)), axes=(0, 1))
            far = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None])
            far[0, 0] = 1
            found = np.fft.irfft2(waves / far[..., None] ** rng.uniform(0.6, 2),
                                  s=(height, width), axes=(0, 1))
            yield _bytes(128 + 60 * (found - found.mean()) / found.std())
        else:
            across, down = np.linspace(0, 1, width), np.linspace(0, 1, height)
            yield _bytes(across[None, :, None] * rng.uniform(0, 255, 3)
                         + down[:, None, None] * rng.uniform(-255, 255, 3))


def drawings(count: int, seed: int) -> Iterator[Bytes]:
    """Flat shapes, lines and words, by Pillow."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        width, height = _size(rng)
        image = Image.new('RGB', (width, height), _colour(rng))
        pen = ImageDraw.Draw(image)
        for _ in range(int(rng.integers(2, 25))):
            x, y = int(rng.integers(width)), int(rng.integers(height))
            wide, high = int(rng.integers(5, width // 4)), int(rng.integers(5, height // 4))
            box, kind = (x - wide, y - high, x + wide, y + high), int(rng.integers(5))
            if kind == 0:
                pen.rectangle(box, fill=_colour(rng))
            elif kind == 1:
                pen.ellipse(box, fill=_colour(rng), outline='black')
            elif kind in (2, 3):
                points = [(int(rng.integers(width)), int(rng.integers(height)))
                          for _ in range(int(rng.integers(3, 6)))]
                if kind == 2:
                    pen.polygon(points, fill=_colour(rng))
                else:
                    pen.line(points, fill=_colour(rng), width=int(rng.integers(1, 12)))
            else:
                pen.text((x, y), 'the quick brown fox jumps', fill=_colour(rng))
        yield np.asarray(image)


def _shown(figure: Any) -> Bytes:
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    figure.savefig(file)
    plt.close(figure)
    return np.asarray(Image.open(file).convert('RGB'))


def plots(count: int, seed: int) -> Iterator[Bytes]:
    """Diagrams of matplotlib."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(seed)
    for number in range(count):
        figure, axes = plt.subplots(figsize=(6.4, 4.8), dpi=int(rng.choice([60, 80, 100])))
        if number % 6 == 0:
            axes.plot(np.cumsum(rng.normal(size=(80, 4)), axis=0))
        elif number % 6 == 1:
            axes.bar(range(9), rng.random(9), color=rng.random((9, 3)))
        elif number % 6 == 2:
            across, down = rng.normal(size=(2, 150))
            axes.scatter(across, down, c=rng.random(150), s=rng.random(150) * 200)
        elif number % 6 == 3:
            axes.imshow(rng.random((12, 16)), cmap=str(rng.choice(['viridis', 'jet', 'gray'])))
        elif number % 6 == 4:
            axes.pie(rng.random(6) + 0.1)
        else:
            axes.contourf(cv2.GaussianBlur(rng.normal(size=(60, 80)), (0, 0), 8))
        axes.set_title(f'figure {number}')
        yield _shown(figure)


def plots_in_3d(count: int, seed: int) -> Iterator[Bytes]:
    """Bars, surfaces, points, cells and balls in the three-dimensional axes of matplotlib."""
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(seed)
    for number in range(count):
        figure = plt.figure(figsize=(6.4, 4.8), dpi=80)
        axes: Any = figure.add_subplot(projection='3d', elev=rng.uniform(15, 60),
                                       azim=rng.uniform(0, 360))
        if number % 5 == 0:
            for _ in range(int(rng.integers(2, 8))):
                axes.bar3d(*rng.uniform(0, 8, 2), 0, *rng.uniform(0.6, 2, 3), color=rng.random(3))
        elif number % 5 == 1:
            x, y = np.meshgrid(np.linspace(-3, 3, 40), np.linspace(-3, 3, 40))
            axes.plot_surface(x, y, np.sin(x * rng.uniform(0.5, 2)) * np.cos(y),
                              cmap=str(rng.choice(['viridis', 'terrain', 'hot'])))
        elif number % 5 == 2:
            axes.scatter(*rng.normal(size=(3, 200)), c=rng.random(200))
        elif number % 5 == 3:
            axes.voxels(rng.random((5, 5, 5)) > 0.75, facecolors=tuple(rng.random(3)))
        else:
            turn, rise = np.mgrid[0:2 * np.pi:24j, 0:np.pi:14j]
            for _ in range(3):
                (x, y, z), size = rng.uniform(-3, 3, 3), rng.uniform(0.5, 1.5)
                axes.plot_surface(x + size * np.cos(turn) * np.sin(rise),
                                  y + size * np.sin(turn) * np.sin(rise),
                                  z + size * np.cos(rise), color=rng.random(3))
        if rng.random() < 0.5:
            axes.set_axis_off()
        yield _shown(figure)


def bullet(which: str) -> Callable[[int, int], Iterator[Bytes]]:
    """Models of pybullet_data in the renderer that ours are drawn with; see ``_MODELS``."""
    def draw(count: int, seed: int) -> Iterator[Bytes]:
        import pybullet as p
        import pybullet_data

        folder, (grounds, things) = Path(pybullet_data.getDataPath()), _MODELS[which]
        rng = np.random.default_rng(seed)
        p.connect(p.DIRECT)
        for _ in range(count):
            p.resetSimulation()
            ground = str(rng.choice(grounds))
            p.loadURDF(str(folder / ground), useFixedBase=True)
            top = _TABLE_M if ground.startswith('table') else 0.0
            for _ in range(int(rng.integers(1, 5))):
                thing = str(rng.choice(things))
                p.loadURDF(str(folder / thing),
                           [*rng.uniform(-0.5, 0.5, 2), top + rng.uniform(0, 0.25)],
                           p.getQuaternionFromEuler([0, 0, rng.uniform(0, 6)]),
                           globalScaling=_SCALES.get(thing, 1.0))
            width, height = _size(rng)
            view = p.computeViewMatrixFromYawPitchRoll(
                [*rng.uniform(-0.2, 0.2, 2), top + 0.1], float(rng.uniform(0.7, 2.2)),
                float(rng.uniform(0, 360)), float(rng.uniform(-60, -15)), 0, 2)
            lens = p.computeProjectionMatrixFOV(float(rng.uniform(40, 65)), width / height,
                                                0.05, 20)
            image = p.getCameraImage(width, height, view, lens, shadow=int(rng.integers(2)),
                                     lightDirection=[*rng.uniform(-2, 2, 2), 3.0],
                                     renderer=p.ER_TINY_RENDERER)[2]
            yield np.reshape(image, (height, width, 4))[..., :3].astype(np.uint8)
        p.disconnect()
    return draw


def _camera(rng: np.random.Generator, near: float, far: float, low: float, high: float,
            ) -> tuple[Floats, Floats, Floats, Floats]:
    """Eye, and unit vectors ahead, to the right and up, of a camera that looks at the origin."""
    turn, rise, away = rng.uniform(0, 6.28), rng.uniform(low, high), rng.uniform(near, far)
    eye = away * np.array([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise),
                           np.sin(rise)])
    ahead = -eye / away
    right = np.cross(ahead, [0, 0, 1])
    right /= np.linalg.norm(right)
    return eye, ahead, right, np.cross(right, ahead)


def painted(count: int, seed: int) -> Iterator[Bytes]:
    """Prisms and cones on a plane, painted from back to front with one shade a face."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        width, height = _size(rng)
        low, high = rng.uniform(0, 255, (2, 3))
        image = np.empty((height, width, 3), np.uint8)
        image[:] = _bytes(np.linspace(0, 1, height)[:, None, None] * (high - low) + low)
        eye, ahead, right, up = _camera(rng, 4, 7, 0.3, 1.1)

        def at(points: Floats, eye: Floats = eye, scale: float = 1.1 * height,
               axes: tuple[Floats, ...] = (ahead, right, up),
               middle: tuple[float, float] = (width / 2, height / 2)) -> Floats:
            from_eye = points - eye
            depth = from_eye @ axes[0]
            return np.stack([middle[0] + from_eye @ axes[1] / depth * scale,
                             middle[1] - from_eye @ axes[2] / depth * scale], 1).astype(np.int32)

        cv2.fillConvexPoly(image, at(np.array([[-2, -2, 0], [2, -2, 0], [2, 2, 0], [-2, 2, 0]])),
                           _colour(rng))
        faces = []
        for _ in range(int(rng.integers(2, 10))):
            middle, size = np.r_[rng.uniform(-1.6, 1.6, 2), 0], rng.uniform(0.15, 0.5, 3)
            colour, sides = rng.uniform(30, 255, 3), int(rng.choice([4, 4, 3, 6, 16]))
            turn = np.linspace(0, 2 * np.pi, sides, endpoint=False) + rng.uniform(0, 6)
            ring = np.stack([size[0] * np.cos(turn), size[1] * np.sin(turn), 0 * turn], 1)
            roof = ring * rng.choice([1, 1, 0.01]) + (0, 0, 2 * size[2]) + middle
            ring = ring + middle
            for i in range(sides):
                face = np.array([ring[i], ring[(i + 1) % sides], roof[(i + 1) % sides], roof[i]])
                faces.append((float(np.linalg.norm(face.mean(0) - eye)), face,
                              colour * (0.55 + 0.45 * np.cos(turn[i] - 1))))
            faces.append((float(np.linalg.norm(roof.mean(0) - eye)) - 0.2, roof, colour))
        for _, face, colour in sorted(faces, key=lambda face: -face[0]):
            cv2.fillConvexPoly(image, at(face), colour.tolist(), cv2.LINE_AA)
        yield image


def marched(count: int, seed: int) -> Iterator[Bytes]:
    """Balls, boxes and rings on a plane by ray marching, with soft shadows and highlights."""
    rng = np.random.default_rng(seed)
    width, height = 320, 240
    for number in range(count):
        most = int(rng.integers(2, 8))
        size, kind = rng.uniform(0.15, 0.4, most), rng.integers(0, 3, most)
        middle = np.c_[rng.uniform(-1.2, 1.2, (most, 2)), size].astype(np.float32)
        colour = rng.random((most + 1, 3))
        colour[most] = rng.uniform(0.3, 0.95, 3)

        def far(points: Floats, size: Floats = size, kind: Floats = kind,
                middle: Floats = middle) -> Floats:
            """Distances to each thing, and to the plane."""
            out = np.empty((*points.shape[:-1], len(size) + 1), np.float32)
            for i, (extent, shape) in enumerate(zip(size, kind, strict=True)):
                away = points - middle[i]
                if shape == 0:
                    out[..., i] = np.linalg.norm(away, axis=-1) - extent
                elif shape == 1:
                    beyond = np.abs(away) - extent * 0.75
                    out[..., i] = np.linalg.norm(np.maximum(beyond, 0), axis=-1) + np.minimum(
                        beyond.max(-1), 0)
                else:
                    out[..., i] = np.hypot(np.linalg.norm(away[..., :2], axis=-1) - extent,
                                           away[..., 2]) - extent * 0.3
            out[..., -1] = points[..., 2]
            return out

        eye, ahead, right, up = (v.astype(np.float32) for v in _camera(rng, 2.5, 4, 0.3, 1.0))
        x, y = np.meshgrid((np.arange(width) + 0.5 - width / 2) / height * 1.1,
                           -(np.arange(height) + 0.5 - height / 2) / height * 1.1)
        ray = (ahead + x[..., None] * right + y[..., None] * up).astype(np.float32)
        ray /= np.linalg.norm(ray, axis=-1, keepdims=True)
        gone = np.zeros((height, width), np.float32)
        for _ in range(40):
            gone = np.minimum(gone + far(eye + gone[..., None] * ray).min(-1), 12)
        hit = eye + gone[..., None] * ray
        here = far(hit)
        step = np.eye(3, dtype=np.float32) * 1e-2
        normal = np.stack([far(hit + one).min(-1) - here.min(-1) for one in step], -1)
        normal /= np.linalg.norm(normal, axis=-1, keepdims=True) + 1e-6
        light = rng.normal(size=3)
        light[2] = abs(light[2]) + 1
        light = (light / np.linalg.norm(light)).astype(np.float32)
        lit, along = np.ones_like(gone), np.full_like(gone, 0.03)
        for _ in range(20):
            free = far(hit + normal * 0.02 + along[..., None] * light).min(-1)
            lit = np.minimum(lit, np.clip(12 * free / along, 0, 1))
            along += np.clip(free, 0.02, 0.3)
        half = (light - ray) / np.linalg.norm(light - ray, axis=-1, keepdims=True)
        gloss = np.clip((normal * half).sum(-1), 0, 1) ** 40
        what = here.argmin(-1)
        seen = colour[what]
        if rng.random() < 0.4:
            squares = np.floor(hit[..., :2] * 2).sum(-1) % 2 == 0
            seen = np.where(((what == most) & squares)[..., None], seen * 0.5, seen)
        shade = 0.25 + 0.75 * np.clip(normal @ light, 0, 1) * lit
        image = seen * shade[..., None] + 0.5 * (gloss * lit)[..., None]
        sky = np.array([0.6, 0.75, 0.95]) * (1 - 0.4 * np.clip(y, -1, 1)[..., None])
        image = _bytes(255 * np.clip(np.where((gone > 11)[..., None], sky, image),
                                     0, 1) ** (1 / 1.6))
        yield np.asarray(cv2.resize(image, (640, 480)), np.uint8) if number % 2 else image


def textures(count: int, seed: int) -> Iterator[Bytes]:
    """Julia sets, mosaics, cellular automata and waves."""
    import matplotlib

    rng, (width, height) = np.random.default_rng(seed), (480, 360)
    down, across = np.mgrid[:height, :width]
    for number in range(count):
        colours = matplotlib.colormaps[str(rng.choice(
            ['hot', 'viridis', 'twilight', 'cubehelix', 'gist_earth']))]
        if number % 4 == 0:
            constant = complex(rng.uniform(-0.8, 0.4), rng.uniform(-0.7, 0.7))
            at = (across / width * 3 - 1.5) + 1j * (down / height * 2.2 - 1.1)
            values = np.zeros((height, width))
            for _ in range(50):
                at = np.where(abs(at) < 4, at * at + constant, at)
                values += (abs(at) < 4) / 50
        elif number % 4 == 1:
            points = rng.uniform(0, 1, (40, 2)) * (width, height)
            near = np.stack([np.hypot(across - x, down - y) for x, y in points]).argmin(0)
            values = near * 0.618 % 1
        elif number % 4 == 2:
            cells = np.asarray(rng.random((90, 120)) < 0.4, int)
            for _ in range(12):
                cells = np.asarray(sum(np.roll(cells, (i, j), (0, 1)) for i in (-1, 0, 1)
                                       for j in (-1, 0, 1)) >= 5, int)
            values = np.asarray(cv2.resize(cells.astype(np.float32), (width, height),
                                           interpolation=cv2.INTER_NEAREST), float)
        else:
            bend = 3 * np.sin(down / 60 * rng.uniform(0.2, 2))
            values = (np.sin(across / 60 * rng.uniform(0.5, 4) + bend) + 1) / 2
        yield _bytes(255 * colours(values)[..., :3])


def pages(count: int, seed: int) -> Iterator[Bytes]:
    """Pages of text with a bar and boxes."""
    import matplotlib

    fonts = Path(matplotlib.get_data_path()) / 'fonts' / 'ttf'
    rng = np.random.default_rng(seed)
    for number in range(count):
        width, height = (1024, 768) if number % 2 else (640, 900)
        paper, ink = (((30, 30, 35), (220, 220, 220)) if rng.random() < 0.3 else
                      ((255, 255, 255), (30, 30, 30)))
        image, size = Image.new('RGB', (width, height), paper), int(rng.integers(12, 22))
        pen = ImageDraw.Draw(image)
        font = ImageFont.truetype(str(fonts / str(rng.choice(
            ['DejaVuSans.ttf', 'DejaVuSerif.ttf', 'DejaVuSansMono.ttf']))), size)
        pen.rectangle((0, 0, width, 50), fill=_colour(rng))
        for y in range(70, height - 20, int(size * 1.5)):
            if rng.random() > 0.12:
                words = rng.choice(_TEXT, int(rng.integers(4, width // size // 4)))
                pen.text((40, y), ' '.join(words), fill=ink, font=font)
        for _ in range(int(rng.integers(0, 4))):
            x, y = int(rng.integers(width - 200)), int(rng.integers(60, height - 120))
            pen.rectangle((x, y, x + 180, y + 100), fill=_colour(rng), outline=ink)
        yield np.asarray(image)


@dataclass(frozen=True, slots=True)
class Renderer:
    """A way of drawing: its split, how many pictures it draws, from which seed."""

    draw: Callable[[int, int], Iterator[Bytes]]
    split: str
    count: int
    seed: int


RENDERERS = {
    'noise': Renderer(noise, 'fit', 45, 1), 'drawings': Renderer(drawings, 'fit', 40, 2),
    'plots': Renderer(plots, 'fit', 36, 3), 'bullet_a': Renderer(bullet('a'), 'fit', 50, 7),
    'painted': Renderer(painted, 'fit', 40, 11), 'pages': Renderer(pages, 'cal', 24, 6),
    'plots_in_3d': Renderer(plots_in_3d, 'test', 30, 4),
    'textures': Renderer(textures, 'test', 24, 5), 'marched': Renderer(marched, 'test', 30, 9),
    'bullet_b': Renderer(bullet('b'), 'test', 40, 8)}
