"""Rendered scenes for training and tests: small uint8 pictures of random stacks.

A shard holds ``image`` (n, 96, 128, 3) uint8, ``patch`` (n, rows, columns) uint8
(0 background, else 1 + colour that covers at least a quarter of the patch), ``table`` (n, 6, 2)
int8 (column and height per colour, -1 absent) and ``columns`` (n,) int8. A shard is a function of
its seed alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from embedded_model import Shape

LETTERS = 'rgbypo'
SPLITS = {'simple': (3, 4), 'medium': (5, 5), 'hard': (6, 4)}
"""Blocks and columns of the splits (ViPlan-BW)."""
FULL, SMALL = (640, 480), (256, 192)

Stacks = tuple[tuple[str, ...], ...]


def sample_size(rng: np.random.Generator) -> tuple[int, int]:
    """Blocks and columns of a training scene: mostly the splits', else anything up to 6 and 8."""
    if rng.random() < 0.62:
        return tuple(SPLITS.values())[int(rng.choice(3, p=[0.25, 0.35, 0.40]))]
    return int(rng.choice(6, p=[0.06, 0.1, 0.17, 0.2, 0.22, 0.25])) + 1, int(rng.integers(1, 9))


def sample_stacks(rng: np.random.Generator, blocks: int, columns: int) -> Stacks:
    """Random colours dropped on random columns, from evenly spread to all on one stack."""
    fraction = rng.dirichlet([float(rng.choice([0.25, 0.7, 4.0]))] * columns)
    stacks: list[list[str]] = [[] for _ in range(columns)]
    for colour in rng.permutation(6)[:blocks]:
        stacks[int(rng.choice(columns, p=fraction))].append(LETTERS[int(colour)])
    return tuple(tuple(s) for s in stacks)


def table_of(stacks: Stacks) -> NDArray[np.int8]:
    """(6, 2) column and height of each colour, -1 where absent."""
    table = np.full((6, 2), -1, np.int8)
    for column, stack in enumerate(stacks):
        for height, letter in enumerate(stack):
            table[LETTERS.index(letter)] = column, height
    return table


def column_names(count: int) -> tuple[str, ...]:
    """Names of columns from left to right: c1, c2, ..."""
    return tuple(f'c{i + 1}' for i in range(count))


def shrink(rgb: NDArray[np.uint8], shape: Shape) -> NDArray[np.uint8]:
    """Reduce a picture as the shipped image processor does: bilinear, with antialiasing."""
    return np.asarray(Image.fromarray(rgb).resize((shape.width, shape.height),
                                                  Image.Resampling.BILINEAR))


def patch_colours(segmentation: NDArray[np.int16], shape: Shape) -> NDArray[np.uint8]:
    """(rows, columns) colour id covering at least a quarter of each patch, else 0."""
    rows, columns = shape.grid
    height, width = segmentation.shape
    tiles = segmentation.reshape(rows, height // rows, columns, width // columns)
    fraction = np.stack([(tiles == k).mean((1, 3)) for k in range(1, 7)])
    return np.where(fraction.max(0) >= 0.25, fraction.argmax(0) + 1, 0).astype(np.uint8)


@dataclass(frozen=True)
class Recipe:
    """Settings of drawing a shard's scenes.

    Attributes:
        split: '' for the training mixture, else a name in SPLITS.
        full_fraction: part of the scenes rendered at 640x480 (the rest at 256x192).
        strength: strength of the look; negative for the training mixture up to 2.
    """

    split: str = ''
    full_fraction: float = 0.12
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
                 count: int) -> dict[str, NDArray[np.generic]]:
    """Draw one shard; a function of its arguments alone."""
    from sightplan_sim.blocksworld.scene import BlocksScene, sample_look

    rng = np.random.default_rng([20_26, seed])
    scenes = {size: BlocksScene(*size) for size in (FULL, SMALL)}
    images, patches, tables, counts = [], [], [], []
    for _ in range(count):
        size = FULL if rng.random() < recipe.full_fraction else SMALL
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
