"""Readers of pictures, depth and maps."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from sightplan_bench.hostile.files import command
from sightplan_bench.hostile.targets import Seed, Target

_GRID = b"""\
image: map.png
resolution: 0.05
origin: [-1.0, -2.0, 0.0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.196
mode: trinary
"""


def make(folder: Path) -> list[Target]:
    """Readers of pictures and arrays, as targets."""
    from sightplan.vlm.images import encode
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 255, (48, 64, 3), np.uint8)
    flat = np.full((120, 160, 3), 200, np.uint8)
    png, other, jpeg = encode(noise, 'png'), encode(flat, 'png'), encode(noise, 'jpeg')
    deep = _depth_png(rng.integers(300, 3000, (12, 16), np.uint16))
    metres, whole = _array(rng.random((12, 16))), _array(rng.integers(0, 99, (4, 5), np.int32))
    seen = tuple(Seed(content, name) for content, name in (
        (png, 'a.png'), (other, 'a.png'), (jpeg, 'a.jpg')))
    depth = tuple(Seed(content, name) for content, name in (
        (deep, 'd.png'), (metres, 'd.npy'), (whole, 'd.npy')))
    arrays = io.BytesIO()
    np.savez_compressed(arrays, cells=np.full((8, 9), 0, np.int16), resolution=0.1,
                        origin=np.zeros(2), frame='map')
    grey = encode(np.full((20, 30, 3), 254, np.uint8), 'png')
    maps = folder / 'suites' / 'patheval'
    polygons = [path.read_bytes() for path in sorted(maps.glob('environments/*.txt'))]
    runs = [path.read_bytes() for path in sorted(maps.glob('paths/*.txt'))]
    return [
        Target('picture', 'pictures', 'picture', seen, _picture, turns=3),
        Target('depth', 'pictures', 'picture', depth, _depth, turns=3),
        Target('depth of an arm', 'pictures', 'picture', depth, _arm_depth, turns=3),
        Target('sightplan ask', 'pictures', 'picture', seen, lambda path: command(
            'ask', str(path), '--domain', 'blocksworld', '--objects', 'r:block,c1:column',
            '--json')),
        Target('map of ROS', 'pictures', 'yaml', (Seed(_GRID, 'map.yaml', {'map.png': grey}),),
               _map, turns=3),
        Target('picture of a map', 'pictures', 'picture', (
            Seed(grey, 'map.png', {'map.yaml': _GRID}, 'map.yaml'),), _map, turns=3),
        Target('map of numpy', 'pictures', 'bytes', (Seed(arrays.getvalue(), 'map.npz'),), _map,
               turns=3),
        Target('map of polygons', 'pictures', 'text', tuple(
            Seed(content, 'map.txt') for content in polygons), _map, turns=3),
        Target('paths', 'pictures', 'text', tuple(
            Seed(content, 'paths.txt') for content in runs), _paths, turns=3),
    ]


def _array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def _depth_png(values: Any) -> bytes:
    """A PNG of 16 bits, written by hand: only readers may import a library for that."""
    import struct
    import zlib
    height, width = values.shape
    rows = b''.join(b'\0' + row.astype('>u2').tobytes() for row in values)

    def chunk(name: bytes, content: bytes) -> bytes:
        return (struct.pack('>I', len(content)) + name + content
                + struct.pack('>I', zlib.crc32(name + content)))
    head = struct.pack('>IIBBBBB', width, height, 16, 0, 0, 0, 0)
    return (b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head)
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))


def _picture(path: Path) -> None:
    from sightplan.model.picture_files import read_image
    image = read_image(path)
    assert image.ndim == 3 and image.shape[2] == 3 and image.dtype == np.uint8 and image.size


def _depth(path: Path) -> None:
    from sightplan.model.depth_files import read_depth
    depth = read_depth(path)
    assert depth.ndim == 2 and np.isfinite(depth).all()


def _arm_depth(path: Path) -> None:
    from sightplan_arm.camera_files import read_depth
    assert read_depth(path, 0.001).ndim == 2


def _map(path: Path) -> None:
    from sightplan_suites.paths.grid_files import open_map
    open_map(path)


def _paths(path: Path) -> None:
    from sightplan_suites.paths.path_files import read_path_runs
    read_path_runs(path)
