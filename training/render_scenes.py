#!/usr/bin/env python3
"""Render training scenes for the embedded model, in shards that are functions of their seed."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path

from embedded_model import Shape
from embedded_scenes import SHARD, Recipe, write_shards


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, required=True, help='folder of the shards')
    parser.add_argument('--first', type=int, default=0, help='seed of the first shard')
    parser.add_argument('--shards', type=int, default=60, help=f'shards of {SHARD} scenes')
    parser.add_argument('--workers', type=int, default=2, help='processes')
    parser.add_argument('--split', default='', help='only scenes of this split')
    parser.add_argument('--strength', type=float, default=-1.0, help='look; <0: the mixture')
    parser.add_argument('--full-share', type=float, default=0.12,
                        help='part rendered at 640x480')
    args = parser.parse_args()
    render(args.out, args.first, args.shards, args.workers,
           Recipe(args.split, args.full_share, args.strength))


def render(out: Path, first: int, shards: int, workers: int, recipe: Recipe) -> None:
    """Render in ``workers`` processes, each taking every ``workers``-th shard."""
    started = time.monotonic()
    context = multiprocessing.get_context('spawn')
    crew = [context.Process(target=write_shards, args=(
        out, range(first + k, first + shards, workers), recipe, Shape()))
        for k in range(workers)]
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    if any(process.exitcode for process in crew):
        raise SystemExit('a rendering process failed; its message is above')
    print(f'{shards} shards in {out} after {time.monotonic() - started:.0f} s')


if __name__ == '__main__':
    main()
