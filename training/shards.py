"""Shards of rendered scenes: folders of ``.npy`` files, read without loading the pictures."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def shard_path(folder: Path, seed: int) -> Path:
    """Path of the shard of a seed."""
    return folder / f'shard_{seed:06d}'


def write_shards(folder: Path, seeds: Iterable[int], draw: Callable[[int], Mapping[str, Any]],
                 ) -> None:
    """Write the shards that are not there yet; a folder appears only when it is whole.

    Args:
        folder: of the shards.
        seeds: which to write.
        draw: makes the arrays of a seed, all of one length; a function of the seed alone.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        path = shard_path(folder, seed)
        if path.exists():
            continue
        partial = path.with_suffix(f'.{os.getpid()}.partial')
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for key, values in draw(seed).items():
            np.save(partial / f'{key}.npy', values, allow_pickle=False)
        partial.replace(path)


def render(folder: Path, first: int, shards: int, workers: int,
           draw: Callable[[int], Mapping[str, Any]]) -> None:
    """Write shards in ``workers`` processes, each taking every ``workers``-th."""
    started = time.monotonic()
    context = multiprocessing.get_context('spawn')
    crew = [context.Process(target=write_shards, args=(
        folder, range(first + k, first + shards, workers), draw)) for k in range(workers)]
    for process in crew:
        process.start()
    for process in crew:
        process.join()
    if any(process.exitcode for process in crew):
        raise SystemExit('a rendering process failed; its message is above')
    print(f'{shards} shards in {folder} after {time.monotonic() - started:.0f} s')


class Corpus:
    """The scenes of a folder's shards, including shards that are added while training runs.

    Args:
        folder: of the shards.
        seeds: which shards belong to it.
        emphasis: how often each of a shard's scenes is drawn, relative to others; None: all alike.
    """

    def __init__(self, folder: Path, seeds: range,
                 emphasis: Callable[[Arrays], NDArray[np.float64]] | None = None) -> None:
        self.folder, self.seeds, self.emphasis = folder, seeds, emphasis
        self.read: set[int] = set()
        self.parts: list[Arrays] = []
        self.ends: NDArray[np.int64] = np.zeros(0, np.int64)
        self.mass: NDArray[np.float64] = np.zeros(0)
        """Sums of the scenes' emphases, up to each."""

    def refresh(self) -> int:
        """Find new shards; returns the number of scenes.

        Raises:
            SystemExit: there are none, or one cannot be read; names the folder.
        """
        for seed in self.seeds:
            path = shard_path(self.folder, seed)
            if seed in self.read or not path.exists():
                continue
            try:
                part = {file.stem: np.load(file, mmap_mode='r', allow_pickle=False)
                        for file in sorted(path.glob('*.npy'))}
                count = {len(values) for values in part.values()}
                if len(count) != 1:
                    raise ValueError(f'its arrays have lengths {sorted(count)}')
            except (OSError, ValueError) as error:
                raise SystemExit(f'{path}: not a readable shard ({error}); delete it') from error
            self.read.add(seed)
            self.parts.append(part)
            each = (np.ones(len(next(iter(part.values())))) if self.emphasis is None
                    else self.emphasis(part))
            self.mass = np.concatenate([self.mass, np.cumsum(each) + (
                self.mass[-1] if len(self.mass) else 0.0)])
        self.ends = np.cumsum([len(next(iter(part.values()))) for part in self.parts])
        if not len(self):
            raise SystemExit(f'{self.folder} holds no shards; run render_scenes.py first')
        return len(self)

    def __len__(self) -> int:
        return int(self.ends[-1]) if len(self.ends) else 0

    def draw(self, rng: np.random.Generator, count: int) -> NDArray[np.int64]:
        """Indices of random scenes, by their emphases."""
        drawn = np.searchsorted(self.mass, rng.random(count) * self.mass[-1], side='right')
        return np.asarray(np.minimum(drawn, len(self) - 1))

    def take(self, index: NDArray[np.integer[Any]]) -> Arrays:
        """The arrays of some scenes."""
        which = np.searchsorted(self.ends, index, side='right')
        rows = index - np.concatenate([[0], self.ends])[which]
        return {key: np.stack([self.parts[part][key][row]
                               for part, row in zip(which, rows, strict=True)])
                for key in self.parts[0]}
