"""Pictures of tables to tidy to measure the detector on, kept on disk: one file a scene.

Each holds ``image`` (H, W, 3) uint8, ``depth`` (H, W) float32 [m], and of n instances
``category``, ``colour`` (n,) str, ``box`` (n, 4) in unit coordinates, ``opened`` (n,).
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from detector_data import seen_instances
from sightplan_sim.tabletop.arrangements import HORIZONS
from sightplan_sim.tabletop.grounded_scenes import make_source, scene_id
from sightplan_sim.tabletop.render import Frame, Painter
from sightplan_sim.tabletop.table import Table


def write_scenes(folder: Path, first: int, count: int, held_out: bool) -> None:
    """Draw ``count`` scenes of every horizon from seed ``first`` on; existing ones are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    with make_source() as source, Painter() as painter:
        for seed in range(first, first + count):
            for horizon in HORIZONS:
                path = folder / f'{scene_id(seed, horizon, held_out).replace("/", "_")}.npz'
                if path.exists():
                    continue
                table = source.tidying(seed, horizon, held_out=held_out).arrangement.table
                partial = path.with_suffix('.partial')
                with partial.open('wb') as file:
                    np.savez_compressed(file, **picture(table, painter.draw(table)))
                partial.replace(path)


def picture(table: Table, frame: Frame) -> dict[str, Any]:
    """The arrays of a scene."""
    height, width = frame.things.shape
    found = list(seen_instances(table, frame))
    boxes = []
    for one in found:
        rows, columns = (np.flatnonzero(one.mask.any(axis=axis)) for axis in (1, 0))
        boxes.append((columns[0] / width, rows[0] / height, (columns[-1] + 1) / width,
                      (rows[-1] + 1) / height))
    return {'image': frame.rgb, 'depth': frame.depth_m, 'box': np.array(boxes),
            'category': np.array([one.category for one in found]),
            'colour': np.array([one.colour for one in found]),
            'opened': np.array([one.opened for one in found])}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('folder', type=Path)
    parser.add_argument('--first', type=int, default=0, help='seed')
    parser.add_argument('--count', type=int, default=60, help='scenes of each horizon')
    parser.add_argument('--training', action='store_true',
                        help='scenes of the kind for training, to calibrate on')
    args = parser.parse_args(argv)
    write_scenes(args.folder, args.first, args.count, not args.training)


if __name__ == '__main__':
    main()
