"""Pictures of the arm at work, seen from beside the table: a sheet of one pick and place."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model import Action, Atom, EpisodeSpec, Problem, SightplanError
from sightplan_arm.config import load_robot
from sightplan_sim.arm.meshes import make_link_bodies
from sightplan_sim.arm.simulator import Poses
from sightplan_sim.blocksworld.camera import BLOCK_M, FRONT_M
from sightplan_sim.blocksworld.look import COLOURS, NOMINAL_RGB
from sightplan_sim.bullet import Bullet, one_thread
from sightplan_sim.closing import Closing
from sightplan_sim.lettering import letter_plate, text_aspect

_SAMPLES = 2  # per pixel and direction
_EYE_M, _TARGET_M = (1.0, -1.2, 0.80), (-0.14, -0.15, 0.30)
_FOV_DEG = 37.0
_BACKGROUND = (232, 235, 238)
_AWAY_M = (0.0, 0.0, -50.0)

Rgb8 = NDArray[np.uint8]


class Observer(Closing):
    """A second camera that sees arm and table from the right.

    Args:
        width, height: size of its pictures [px].
    """

    def __init__(self, width: int = 480, height: int = 360) -> None:
        self._size = (width, height)
        self._bullet = Bullet()
        self._box((0.50, 0.22, 0.015), (0.0, FRONT_M + 0.22, -0.015), (0.74, 0.66, 0.56))
        self._stand = self._box((0.11, 0.11, 0.4), _AWAY_M, (0.45, 0.47, 0.50))
        self._blocks = {colour: self._box((BLOCK_M / 2,) * 3, _AWAY_M, NOMINAL_RGB[colour])
                        for colour in COLOURS}
        self._links = make_link_bodies(self._bullet, _AWAY_M, load_robot('panda'))

    def close(self) -> None:
        """Give the PyBullet client back."""
        self._bullet.close()

    def shoot(self, poses: Poses) -> Rgb8:
        """(H, W, 3) uint8 picture of arm and blocks."""
        bullet = self._bullet
        for colour, body in self._blocks.items():
            self._move(body, poses.blocks.get(colour, (*_AWAY_M, 0.0, 0.0, 0.0, 1.0)))
        for link, body in self._links:
            self._move(body, poses.links[link])
        x, y, z, *turn = poses.links['panda_link0']
        self._move(self._stand, (x, y, z - 0.4, *turn))
        w, h = (_SAMPLES * side for side in self._size)
        with one_thread():
            _, _, colours, _, mask = bullet.getCameraImage(
                w, h, viewMatrix=bullet.computeViewMatrix(_EYE_M, _TARGET_M, (0.0, 0.0, 1.0)),
                projectionMatrix=bullet.computeProjectionMatrixFOV(_FOV_DEG, w / h, 0.05, 20.0),
                lightDirection=(0.8, -0.9, 1.6), lightColor=(1.0, 1.0, 1.0), lightDistance=5.0,
                shadow=0, lightAmbientCoeff=0.58, lightDiffuseCoeff=0.48,
                lightSpecularCoeff=0.05, renderer=bullet.ER_TINY_RENDERER)
            picture = np.array(colours, np.uint8).reshape(h, w, 4)[:, :, :3]
            picture[np.asarray(mask, np.int32).reshape(h, w) < 0] = _BACKGROUND
            return np.asarray(cv2.resize(picture, self._size, interpolation=cv2.INTER_AREA),
                              np.uint8)

    def _box(self, half: Sequence[float], at: Sequence[float],
             rgb: tuple[float, float, float]) -> int:
        bullet = self._bullet
        shape = bullet.createVisualShape(
            bullet.GEOM_BOX, halfExtents=list(half), rgbaColor=[*rgb, 1.0],
            specularColor=[0, 0, 0])
        return int(bullet.createMultiBody(0, -1, shape, list(at)))

    def _move(self, body: int, pose: Sequence[float]) -> None:
        self._bullet.resetBasePositionAndOrientation(body, pose[:3], pose[3:])


def sheet(frames: int = 8, columns: int = 4, seed: int = 0, size: tuple[int, int] = (480, 360),
          ) -> tuple[Rgb8, str]:
    """Contact sheet of one move of a block, from park to park.

    Args:
        frames: pictures, at least 2, evenly spread over the move.
        columns: of the sheet.
        seed: of looks and of how blocks stand.
        size: width and height of a picture [px].

    Returns:
        The sheet, (H, W, 3) uint8, each picture with its time and, in its corner, what the
        agent's camera saw; and what became of the move.
    """
    from sightplan_sim.blocksworld.arm_world import ArmWorld
    from sightplan_sim.blocksworld.settings import Settings
    with ArmWorld(Settings(execution='arm')) as world, Observer(*size) as observer:
        world.reset(_episode(seed))
        arm, camera = world.arm, world.camera
        with arm.recorded(0.1) as taken:
            world.execute(Action('moveblock', ('o', 'c3')))
        outcome = world.last_outcome()
        moving = [poses for poses in taken if poses.moving] or taken
        chosen = [moving[round(k * (len(moving) - 1) / (frames - 1))] for k in range(frames)]
        tiles = []
        for poses in chosen:
            tile = observer.shoot(poses)
            seen = camera.scene.shoot(poses, camera.decor).rgb
            inset = (size[0] // 3, size[0] * seen.shape[0] // seen.shape[1] // 3)
            with one_thread():
                small = cv2.resize(seen, inset, interpolation=cv2.INTER_AREA)
            tile[:inset[1], -inset[0]:] = small
            _write(tile, f'{poses.stamp_s - chosen[0].stamp_s:.1f}s')
            tiles.append(np.pad(tile, ((2, 2), (2, 2), (0, 0)), constant_values=255))
    tiles += [np.full_like(tiles[0], 255)] * (-len(tiles) % columns)
    rows = [np.concatenate(tiles[k:k + columns], axis=1) for k in range(0, len(tiles), columns)]
    return np.concatenate(rows), outcome


def _write(tile: Rgb8, text: str) -> None:
    """A caption in the lower left corner."""
    height = max(12, tile.shape[0] // 16)
    large = letter_plate(text, text_aspect(text), 4 * height)  # made small: thin lines
    ink = cv2.resize(large, None, fx=0.25, fy=0.25, interpolation=cv2.INTER_AREA)
    window = tile[-ink.shape[0] - 4:-4, 6:6 + ink.shape[1]]
    window[:] = (window * (1 - ink[:, :, None] / 255)).astype(np.uint8)


def _episode(seed: int) -> EpisodeSpec:
    stacks: Mapping[str, str] = {'c1': 'rg', 'c2': 'bo', 'c3': 'yp', 'c4': '', 'c5': ''}
    init = {Atom('incolumn', (block, column)) for column, pile in stacks.items() for block in pile}
    init |= {Atom('on', (upper, lower)) for pile in stacks.values()
             for lower, upper in itertools.pairwise(pile)}
    init |= {Atom('leftof', (a, b)) for a in stacks for b in stacks if a < b}
    objects = dict.fromkeys('rgbypo', 'block') | dict.fromkeys(stacks, 'column')
    return EpisodeSpec('film', Problem('film', 'blocksworld', objects, frozenset(init), ()),
                       'none', seed=seed)


def main(args: Sequence[str] | None = None) -> int:
    """Write the sheet to a file."""
    parser = argparse.ArgumentParser(
        prog='python studies/arm_film.py', formatter_class=argparse.RawTextHelpFormatter,
        description='Draw a simulated arm that moves a block, seen from beside the table; in the\n'
                    "corner of each picture is what the agent's camera sees.",
        epilog='examples:\n'
               '  python studies/arm_film.py --out sheet.png\n'
               '  python studies/arm_film.py --out wide.png --frames 12 --columns 6\n\n'
               'exit codes: 0 done; 1 the arm or the file failed; 2 bad usage')
    parser.add_argument('--out', type=Path, required=True, help='PNG to write')
    parser.add_argument('--frames', type=int, default=8, help='pictures (default %(default)s)')
    parser.add_argument('--columns', type=int, default=4,
                        help='pictures in a row (default %(default)s)')
    parser.add_argument('--width', type=int, default=480,
                        help='of a picture [px] (default %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='of looks and of how blocks stand')
    given = parser.parse_args(args)
    for name, low, high in (('frames', 2, 400), ('columns', 1, 40), ('width', 64, 2048),
                            ('seed', 0, 2**32 - 1)):
        if not low <= getattr(given, name) <= high:
            parser.error(f'--{name} must be {low} to {high}')
    if not given.out.resolve().parent.is_dir():
        parser.error(f'--out: there is no folder {given.out.parent}')
    try:
        picture, outcome = sheet(given.frames, given.columns, given.seed,
                                 (given.width, math.ceil(given.width * 3 / 4)))
        ok, png = cv2.imencode('.png', picture[:, :, ::-1])
        assert ok
        given.out.write_bytes(png.tobytes())
    except (SightplanError, OSError) as error:
        print(f'arm_film.py: {error}', file=sys.stderr)
        return 1
    print(f'{given.out}: {picture.shape[1]} x {picture.shape[0]} pixels; the move: '
          f'{outcome}', file=sys.stderr)
    return 0


if __name__ == '__main__':
    sys.exit(main())
