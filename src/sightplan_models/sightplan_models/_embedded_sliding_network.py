"""Networks that read boards of pieces: they find the board, count its cells, and read a cell.

The finder looks at a small copy of the picture and tells whether there is a board, and where its
corners are. The counter looks at the board as it would be seen from above, and tells how many
cells a side it has. The reader looks at one cell at a time, cut out of the picture so that all
cells look equally large, whatever the board.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import Tensor, nn

from sightplan_models._locator_network import Block, Convolution

WIDTH, HEIGHT = 640, 480
"""Size to which pictures are brought [px]."""
SIZES = (2, 3, 4, 5, 6)
"""Cells a side of boards; the counter's first class is that it is none."""
PLAN = 60
"""Side of a board as the counter sees it [px]."""
KINDS = ('cube', 'sphere', 'pyramid', 'cylinder', 'cone', 'prism', 'tile')
"""Kinds of pieces; the reader's first two classes are "no cell" and "empty"."""
NUMBERS = 36
"""Numbers of tiles, from 1."""
LEVELS = 4
"""Copies of a picture, each half as large as the one before."""
_FOUND = 2
"""Size of the finder's copy of a picture."""

_REACH_MAP = 1.1
"""Largest distance of corners from the middle, in halves of a picture."""


@dataclass(frozen=True)
class Shape:
    """Sizes of the networks.

    Attributes:
        finder: channels of the finder at strides 2 to 16 of its copy.
        counter: channels of the counter at strides 2 to 8.
        reader: channels of the reader at strides 2 to 8 of a part.
        hidden: width of what is known of a cell.
        part: side of a cell's part [px].
        shade: width of what is known of its colour.
        reach: half the side of a cell's part [widths of the cell].
        raised: how far the middle of a part is above the cell's [widths of the cell].
    """

    finder: tuple[int, int, int, int] = (16, 32, 64, 96)
    counter: tuple[int, int, int] = (16, 24, 32)
    reader: tuple[int, int, int] = (16, 48, 80)
    hidden: int = 128
    part: int = 40
    shade: int = 24
    reach: float = 0.85
    raised: float = 0.25


class Finder(nn.Module):
    """Network that finds the board's corners in pictures."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        two, four, eight, sixteen = shape.finder
        self.four = nn.Sequential(Convolution(3, two, 5, 2), Convolution(two, four, 3, 2),
                                  Block(four))
        self.eight = nn.Sequential(Convolution(four, eight, 3, 2), Block(eight))
        self.sixteen = nn.Sequential(Convolution(eight, sixteen, 3, 2), Block(sixteen))
        self.there = nn.Sequential(nn.Linear(2 * sixteen + 2 * eight, 64), nn.ReLU(),
                                   nn.Linear(64, 1))
        self.down = nn.Conv2d(sixteen, eight, 1)
        self.mix = Convolution(eight, eight)
        self.finer = nn.Conv2d(eight, four, 1)
        self.heat = nn.Sequential(Convolution(four, four), nn.Conv2d(four, 4, 1))

    def forward(self, picture: Tensor) -> tuple[Tensor, Tensor]:
        """Run the network on pictures.

        Args:
            picture: (B, 3, HEIGHT / 4, WIDTH / 4), from -1 to 1.

        Returns:
            (B,) logits that there is a board. (B, 4, h, w) logits of each place for each corner of
            the cells: near left, near right, far right, far left.
        """
        four = self.four(picture)
        eight = self.eight(four)
        sixteen = self.sixteen(eight)
        coarse = self.mix(F.relu(eight + F.interpolate(self.down(sixteen), eight.shape[2:])))
        pooled = [part for maps in (sixteen, coarse) for part in (
            maps.mean((2, 3)), maps.amax((2, 3)))]
        heat = self.heat(F.relu(four + F.interpolate(self.finer(coarse), four.shape[2:])))
        return self.there(torch.cat(pooled, 1))[:, 0], heat


def corners_of(heat: Tensor) -> Tensor:
    """Corners (B, 4, 2), in pixels of the original picture, by the finder's logits."""
    weight = heat.flatten(2).softmax(-1).view_as(heat)
    x = (weight.sum(2) * _places(heat.shape[3], WIDTH)).sum(-1)
    y = (weight.sum(3) * _places(heat.shape[2], HEIGHT)).sum(-1)
    return torch.stack([x, y], -1)


def places_of(corners: Tensor, rows: int, columns: int) -> Tensor:
    """(..., 2) pixels to places on a map of this many cells, from the first cell's middle."""
    x, y = corners.unbind(-1)
    found = []
    for at, length, count in ((x, WIDTH, columns), (y, HEIGHT, rows)):
        unit = ((at + 0.5) * 2 / length - 1) / _REACH_MAP
        found.append((unit + 1) / 2 * count - 0.5)
    return torch.stack(found, -1)


def _places(count: int, length: int) -> Tensor:
    """Positions of a map's cells, in pixels, spread over a little more than the picture."""
    unit = (torch.arange(count) + 0.5) / count * 2 - 1
    return (unit * _REACH_MAP + 1) * length / 2 - 0.5


class Counter(nn.Module):
    """Network that counts a board's cells on a side."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        two, four, eight = shape.counter
        last = -(-PLAN // 8)
        self.see = nn.Sequential(
            Convolution(3, two, 5, 2), Convolution(two, four, 3, 2),
            Convolution(four, eight, 3, 2), nn.Flatten(),
            nn.Linear(eight * last * last, 64), nn.ReLU(), nn.Linear(64, 1 + len(SIZES)))

    def forward(self, plans: Tensor) -> Tensor:
        """(N, 3, PLAN, PLAN) boards from above, to (N, 6) logits: no board, and ``SIZES``."""
        return self.see(plans)  # type: ignore[no-any-return]


class Reader(nn.Module):
    """Network that reads the contents of cells."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        two, four, eight = shape.reader
        last = -(-shape.part // 8)
        self.see = nn.Sequential(
            Convolution(3, two, 5, 2), Convolution(two, four, 3, 2), Convolution(four, four),
            Convolution(four, eight, 3, 2), Convolution(eight, eight), nn.Flatten(),
            nn.Linear(eight * last * last, shape.hidden), nn.ReLU())
        self.kind = nn.Linear(shape.hidden, 2 + len(KINDS))
        self.number = nn.Linear(shape.hidden, NUMBERS)
        self.shade = nn.Linear(shape.hidden, shape.shade)
        self.named = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                   nn.Linear(64, shape.shade))

    def forward(self, parts: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Read cells (N, 3, part, part), from -1 to 1.

        Returns:
            (N, 9) logits: no cell, empty, and each of ``KINDS``; (N, NUMBERS) logits of a tile's
            number; (N, shade) what is to be compared with ``colours``.
        """
        known = self.see(parts)
        return self.kind(known), self.number(known), self.shade(known)

    def colours(self, rgb: Tensor) -> Tensor:
        """(M, shade) of colours (M, 3) from -1 to 1: the product with a cell's is a logit."""
        return self.named(rgb)  # type: ignore[no-any-return]


class Network(nn.Module):
    """The three networks: finder, counter and reader."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.finder, self.counter = Finder(shape), Counter(shape)
        self.reader = Reader(shape)


def levels(picture: Tensor) -> list[Tensor]:
    """A picture (1, 3, HEIGHT, WIDTH) and its smaller copies."""
    found = [picture]
    for _ in range(LEVELS - 1):
        found.append(F.avg_pool2d(found[-1], 2))
    return found


def small(copies: list[Tensor]) -> Tensor:
    """The finder's copy of pictures."""
    return copies[_FOUND]


def cells(corners: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Positions of a board's cells in a picture.

    Args:
        corners: (4, 2) pixels, as the finder tells them.
        size: of the board [cells a side].

    Returns:
        (size * size, 3): middle x and y, and width [px].
    """
    matrix = _matrix(corners)
    y, x = np.divmod(np.arange(size * size), size)
    left, middle, right = (_project(matrix, (x + dx) / size, (y + 0.5) / size)
                           for dx in (0.0, 0.5, 1.0))
    wide = np.clip(np.hypot(*(right - left).T), 2.0, WIDTH)
    return np.column_stack([middle, wide])


def _matrix(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3, 3) homography of the unit square, x to the right and y away, to a board's corners."""
    square = (0, 0), (1, 0), (1, 1), (0, 1)
    rows = [row for (x, y), (u, v) in zip(square, corners, strict=True) for row in (
        (x, y, 1, 0, 0, 0, -u * x, -u * y), (0, 0, 0, x, y, 1, -v * x, -v * y))]
    solved = np.linalg.lstsq(np.array(rows), corners.ravel(), rcond=None)[0]
    return np.append(solved, 1.0).reshape(3, 3)


def _project(matrix: NDArray[np.float64], x: NDArray[np.float64], y: NDArray[np.float64],
             ) -> NDArray[np.float64]:
    """(N, 2) pixels, not far from the picture even for corners in a line."""
    u, v, w = matrix @ np.stack([x, y, np.ones_like(x)])
    w = np.where(np.abs(w) < 1e-6, 1e-6, w)
    found: NDArray[np.float64] = np.clip(np.column_stack([u / w, v / w]), -WIDTH, 2 * WIDTH)
    return found


def plan(copies: list[Tensor], corners: NDArray[np.float64]) -> Tensor:
    """The board as it would be seen from above, (1, 3, PLAN, PLAN), the far side above."""
    y, x = np.divmod(np.arange(PLAN * PLAN), PLAN)
    places = _project(_matrix(corners), (x + 0.5) / PLAN, 1 - (y + 0.5) / PLAN)
    unit = torch.from_numpy((2 * places + 1) / (WIDTH, HEIGHT) - 1).float()
    return F.grid_sample(copies[_FOUND], unit.view(1, PLAN, PLAN, 2), padding_mode='border',
                         align_corners=False)


def cut(copies: list[Tensor], places: NDArray[np.float64], shape: Shape) -> Tensor:
    """The parts of a picture around cells, (N, 3, part, part).

    Args:
        copies: see ``levels``.
        places: (N, 3) of the cells, see ``cells``.
        shape: of the networks; its ``part``, ``reach`` and ``raised`` count.
    """
    part = shape.part
    step = 2 * shape.reach * places[:, 2] / part
    level = np.clip(np.floor(np.log2(np.maximum(step, 1.0)) + 0.25), 0, LEVELS - 1).astype(int)
    unit = torch.linspace(-1 + 1 / part, 1 - 1 / part, part) * shape.reach
    found = torch.empty(len(places), 3, part, part)
    for one in np.unique(level):
        chosen = np.flatnonzero(level == one)
        x, y, wide = torch.from_numpy(places[chosen]).float().T[:, :, None]
        u = (2 * (x + wide * unit) + 1) / WIDTH - 1
        v = (2 * (y + wide * (unit - shape.raised)) + 1) / HEIGHT - 1
        grid = torch.stack([u[:, None, :].expand(-1, part, -1), v[:, :, None].expand(
            -1, -1, part)], -1).flatten(0, 1)
        seen = F.grid_sample(copies[one], grid[None], padding_mode='border', align_corners=False)
        found[chosen] = seen.view(3, len(chosen), part, part).transpose(0, 1)
    return found
