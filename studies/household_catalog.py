"""A sheet with a picture of every model: ``python studies/household_catalog.py``."""

from __future__ import annotations

import argparse
import math
import zlib
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.household import catalog
from sightplan_sim.household.camera import Camera
from sightplan_sim.household.render import Painter, triangles
from sightplan_sim.household.shapes import Home, Model, Placed, Room, Station
from sightplan_sim.lettering import letter_plate
from sightplan_sim.pinhole import View

TILE = 200
LABEL = 22


def picture(painter: Painter, model: Model, opening: float, size: int = TILE,
            ) -> NDArray[np.uint8]:
    """(size, size, 3) uint8: a model alone on a floor, seen from the front and a little above."""
    rng = np.random.default_rng(0)
    floor = catalog.floor(8.0, 8.0, 'garage', rng)
    lift = 0.9 if model.category == 'window' else 0.0
    structure = [Placed('floor', floor, (0.0, 0.0, 0.0))]
    if model.in_wall:
        w, _, h = model.size
        wall = catalog.wall(8.0, (0.90, 0.88, 0.83), [(0.0, w, lift, lift + h)])
        structure.append(Placed('wall', wall, (0.0, 0.0, 0.0)))
    home = Home((Room((-4.0, -4.0), (4.0, 4.0), 'garage'),), tuple(structure), (),
                (Placed('it', model, (0.0, 0.0, lift), opening=opening),), (),
                Station(0.0, -2.0, math.pi / 2))
    painter.build(home)
    reach = max(model.size) * (1.0 if not model.openable else 1.15)
    distance = max(0.32, reach * 1.5)
    down, side = math.radians(28 if max(model.size) > 0.4 else 38), math.radians(20)
    if model.in_wall or model.category in ('picture', 'curtain'):
        down = math.radians(8)
    forward = np.array([math.sin(side) * math.cos(down), math.cos(side) * math.cos(down),
                        -math.sin(down)])
    right = np.array([math.cos(side), -math.sin(side), 0.0])
    target = np.array([0.0, 0.0, lift + model.size[2] * 0.45])
    view = View(Camera(2 * size, 2 * size, 48.0), target - distance * forward,
                np.column_stack([right, np.cross(forward, right), forward]))
    return np.asarray(cv2.resize(painter.draw(view).rgb, (size, size),
                                 interpolation=cv2.INTER_AREA), np.uint8)


def sheet(columns: int = 8, variants: int = 2, seed: int = 0) -> NDArray[np.uint8]:
    """(H, W, 3) uint8: every category, with its name, in a grid.

    Args:
        columns: of the grid.
        variants: how many of each; what opens is shown closed and open.
        seed: of the models.
    """
    entries: list[tuple[str, Model, float]] = []
    for kind, names in (('container', [*catalog.CONTAINERS]), ('object', [*catalog.FURNITURE]),
                        ('movable', [*catalog.MOVABLES])):
        for name in names:
            for k in range(variants):
                model = catalog.make_model(name, kind, _chance(seed, f'{name} {k}'))
                if model.openable:
                    entries.append((name, model, 0.0))
                entries.append((name, model, 1.0))
    for number in range(1, 7):
        name = f'plaything_{number}'
        entries.append((name, catalog.make_model(name, 'movable',
                                                 _chance(seed, name)), 0.0))
    for name in catalog.DECOR:
        if name not in catalog.FURNITURE:
            entries.append((name, catalog.make_decor(name, _chance(seed, name)), 0.0))
    tiles = []
    with Painter() as painter:
        for name, model, opening in entries:
            tile = np.full((TILE + LABEL, TILE, 3), 255, np.uint8)
            tile[:TILE] = picture(painter, model, opening)
            text = f'{name} {triangles(model)}'.replace(' ', '-')
            tile[TILE:] -= letter_plate(text, TILE / LABEL, LABEL)[:, :TILE, None]
            tiles.append(tile)
    while len(tiles) % columns:
        tiles.append(np.full_like(tiles[0], 255))
    rows = [np.concatenate(tiles[k:k + columns], axis=1) for k in range(0, len(tiles), columns)]
    return np.concatenate(rows)


def _chance(seed: int, text: str) -> np.random.Generator:
    return np.random.default_rng([seed, zlib.crc32(text.encode())])


def main(arguments: list[str] | None = None) -> None:
    """Write the sheet to a file."""
    parser = argparse.ArgumentParser(
        prog='python studies/household_catalog.py',
        description='Draw every piece of furniture and every thing that a home can hold, with '
                    'its name and its number of triangles.')
    parser.add_argument('--out', type=Path, required=True, help='PNG to write')
    parser.add_argument('--columns', type=int, default=8, help='tiles in a row')
    parser.add_argument('--variants', type=int, default=2, help='models of each category')
    parser.add_argument('--seed', type=int, default=0, help='of their sizes and colours')
    given = parser.parse_args(arguments)
    image = sheet(max(1, given.columns), max(1, given.variants), given.seed)
    ok, png = cv2.imencode('.png', image[:, :, ::-1])
    assert ok
    given.out.write_bytes(png.tobytes())
    print(f'{given.out}: {image.shape[1]} x {image.shape[0]} pixels')


if __name__ == '__main__':
    main()
