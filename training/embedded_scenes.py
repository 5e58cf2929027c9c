"""Rendered scenes for training and checking: random stacks, random looks, small uint8 pictures.

A shard is one ``.npz`` file: ``image`` (n, 96, 128, 3) uint8, ``patch`` (n, rows, columns) uint8
(0 background, else 1 + colour that covers at least a quarter of the patch), ``table`` (n, 6, 2)
int8 (column and height per colour, -1 absent) and ``columns`` (n,) int8. A shard is a function of
its seed alone.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from embedded_model import Shape

LETTERS = 'rgbypo'
SPLITS = {'simple': (3, 4), 'medium': (5, 5), 'hard': (6, 4)}
"""Blocks and columns of the splits (ViPlan-BW)."""
SHARD = 500
FULL, SMALL = (640, 480), (256, 192)

Stacks = tuple[tuple[str, ...], ...]


def sample_size(rng: np.random.Generator) -> tuple[int, int]:
    """Blocks and columns of a training scene: mostly the splits', else anything up to 6 and 8."""
    if rng.random() < 0.62:
        return tuple(SPLITS.values())[int(rng.choice(3, p=[0.25, 0.35, 0.40]))]
    return int(rng.choice(6, p=[0.06, 0.1, 0.17, 0.2, 0.22, 0.25])) + 1, int(rng.integers(1, 9))


def sample_stacks(rng: np.random.Generator, blocks: int, columns: int) -> Stacks:
    """Random colours dropped on random columns, from evenly spread to all on one stack."""
    share = rng.dirichlet([float(rng.choice([0.25, 0.7, 4.0]))] * columns)
    stacks: list[list[str]] = [[] for _ in range(columns)]
    for colour in rng.permutation(6)[:blocks]:
        stacks[int(rng.choice(columns, p=share))].append(LETTERS[int(colour)])
    return tuple(tuple(s) for s in stacks)


def table_of(stacks: Stacks) -> NDArray[np.int8]:
    """(6, 2) column and height of each colour, -1 where absent."""
    table = np.full((6, 2), -1, np.int8)
    for column, stack in enumerate(stacks):
        for height, letter in enumerate(stack):
            table[LETTERS.index(letter)] = column, height
    return table


def column_names(count: int) -> tuple[str, ...]:
    """c1, c2, ... from left to right."""
    return tuple(f'c{i + 1}' for i in range(count))


def shrink(rgb: NDArray[np.uint8], shape: Shape) -> NDArray[np.uint8]:
    """The same antialiased bilinear reduction that the shipped image processor does."""
    return np.asarray(Image.fromarray(rgb).resize((shape.width, shape.height),
                                                  Image.Resampling.BILINEAR))


def patch_colours(segmentation: NDArray[np.int16], shape: Shape) -> NDArray[np.uint8]:
    """(rows, columns) colour id covering at least a quarter of each patch, else 0."""
    rows, columns = shape.grid
    height, width = segmentation.shape
    tiles = segmentation.reshape(rows, height // rows, columns, width // columns)
    share = np.stack([(tiles == k).mean((1, 3)) for k in range(1, 7)])
    return np.where(share.max(0) >= 0.25, share.argmax(0) + 1, 0).astype(np.uint8)


@dataclass(frozen=True)
class Recipe:
    """How scenes of a shard are drawn.

    Attributes:
        split: '' for the training mixture, else a name in SPLITS.
        full_share: part of the scenes rendered at 640x480 (the rest at 256x192).
        strength: strength of the look; negative for the training mixture up to 2.
    """

    split: str = ''
    full_share: float = 0.12
    strength: float = -1.0


def sample_strength(rng: np.random.Generator, recipe: Recipe) -> float:
    """The mixture: a fifth milder than an episode's look, half like it, the rest up to 2."""
    if recipe.strength >= 0:
        return recipe.strength
    draw = rng.random()
    if draw < 0.15:
        return float(rng.uniform(0, 1))
    return 1.0 if draw < 0.6 else float(rng.uniform(1, 2))


def render_shard(seed: int, recipe: Recipe, shape: Shape,
                 count: int = SHARD) -> dict[str, NDArray[np.generic]]:
    """Draw one shard; a function of its arguments alone."""
    from sightplan_sim.blocksworld.scene import BlocksScene, sample_look

    rng = np.random.default_rng([20_26, seed])
    scenes = {size: BlocksScene(*size) for size in (FULL, SMALL)}
    images, patches, tables, counts = [], [], [], []
    for _ in range(count):
        size = FULL if rng.random() < recipe.full_share else SMALL
        blocks, columns = SPLITS[recipe.split] if recipe.split else sample_size(rng)
        stacks = sample_stacks(rng, blocks, columns)
        look = sample_look(rng, sample_strength(rng, recipe))
        frame = scenes[size].render(stacks, column_names(columns), look)
        images.append(shrink(frame.rgb, shape))
        patches.append(patch_colours(frame.segmentation, shape))
        tables.append(table_of(stacks))
        counts.append(columns)
    for scene in scenes.values():
        scene.close()
    return {'image': np.stack(images), 'patch': np.stack(patches), 'table': np.stack(tables),
            'columns': np.array(counts, np.int8)}


def shard_path(folder: Path, seed: int) -> Path:
    """Where the shard of a seed lies."""
    return folder / f'shard_{seed:06d}.npz'


def write_shards(folder: Path, seeds: Iterator[int] | range, recipe: Recipe, shape: Shape,
                 count: int = SHARD) -> None:
    """Render the shards that are not there yet; a file appears only when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        path = shard_path(folder, seed)
        if path.exists():
            continue
        shard = render_shard(seed, recipe, shape, count)
        partial = path.with_suffix(f'.{os.getpid()}.partial')
        with partial.open('wb') as file:
            np.savez(file, **shard)
        partial.replace(path)


def read_shards(paths: list[Path]) -> dict[str, NDArray[np.generic]]:
    """Concatenate shards; unreadable ones are an error naming the file."""
    parts = []
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as archive:
                parts.append({key: archive[key] for key in archive.files})
        except (OSError, ValueError, zipfile.BadZipFile) as error:
            raise SystemExit(f'{path}: not a readable shard ({error}); delete it') from error
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
