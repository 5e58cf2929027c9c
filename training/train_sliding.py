#!/usr/bin/env python3
"""Train the reader of boards of the backend ``embedded`` from scratch on rendered boards, on CPU.

Three small networks learn: a finder, where a picture's board is; a counter, how many cells it has,
from the board as seen from above; and a reader, what stands in one cell, from the part of the
picture around it. Pictures are rendered
first, in shards that are functions of their seed; all else is drawn from ``--seed``. No picture
shows the start or the goal of a shipped problem.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model.query import ask_all
from sightplan.queries import yes_no_queries

os.environ.setdefault('OMP_NUM_THREADS', '1')

import cv2
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from shards import render, shard_path
from sightplan.domains import load_domain
from sightplan.domains.sliding.boards import (
    KINDS,
    LARGEST,
    SMALLEST,
    TILE,
    Arrangement,
    Board,
    cell_names,
)
from sightplan.domains.sliding.marks import ACTIVE, TINTS, mark
from sightplan.metrics.intervals import wilson
from sightplan.model import Atom, Observation, Question
from sightplan_models._embedded_sliding import SETTINGS_FILE, WEIGHTS_FILE
from sightplan_models._embedded_sliding_network import (
    Network,
    Shape,
    cells,
    corners_of,
    cut,
    levels,
    places_of,
    plan,
    small,
)
from sightplan_models.embedded import BOARDS, Backend
from sightplan_models.embedded import Settings as BackendSettings
from sightplan_sim.blocksworld.scene import BlocksScene
from sightplan_sim.blocksworld.scene import sample_look as sample_blocks_look
from sightplan_sim.sliding.drawing import make_scene
from sightplan_sim.sliding.look import sample_look
from sightplan_sim.sliding.pieces import Piece, colours, pieces_of
from sightplan_sim.sliding.solids import FILLING, SMALL

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
Shard = dict[str, NDArray[Any]]

WIDTH, HEIGHT = 640, 480
CELLS = LARGEST ** 2
USUAL = ('red', 'green', 'blue', 'yellow', 'orange', 'purple', 'pink', 'cyan', 'brown', 'black',
         'white', 'gray')
PAPER_COLOURS, PAPER_SHAPES = USUAL[:4], ('cube', 'pyramid', 'sphere', 'cylinder')
NOTHING = -1
"""Kind of a cell that is none; 0 is an empty one, then come ``KINDS``."""

CHECKPOINT_FILE = 'checkpoint.pt'
"""How far a run has come; deleted at its end."""

_GROUPS, _GROUP, _OTHERS = 25, 4, 4
"""Appearances in a shard, pictures of each appearance, and other pictures in a shard."""
_NONSENSE = 5
"""Pictures without a board that are added to a shard each time."""
_SOME, _ALIKE = 24, 50.0
"""Colours with which a piece's is compared, beside the usual ones, and how far away in RGB they
are at the least."""
_SIZES = (2, 3, 4, 5, 6), (0.08, 0.2, 0.42, 0.14, 0.16)
_SHAPE = Shape(part=48, reach=1.05, raised=0.3)
"""A part shows a piece that fills its cell whole, and half of the cells next to it."""


# ------------------------------------------------------------------------------------- pictures


@functools.cache
def shipped_boards() -> frozenset[tuple[int, frozenset[tuple[str, int]]]]:
    """Pieces with their cells at the start and in the goal of each shipped problem."""
    domain = load_domain('sliding')
    found = set()
    for split in domain.splits:
        for problem in domain.split_problems(split):
            board = Board.of(problem)
            for arrangement in (board.arrangement(problem.init), board.goal(problem)):
                found.add((board.size, frozenset(zip(board.pieces, arrangement, strict=True))))
    return frozenset(found)


def draw_shard(seed: int) -> Shard:
    """Pictures of boards and their contents, determined by the seed alone."""
    rng = np.random.default_rng([20, seed])
    avoided = shipped_boards()
    rows: list[dict[str, Any]] = []
    for _ in range(_GROUPS):
        size = int(rng.choice(_SIZES[0], p=_SIZES[1]))
        view = '3d' if rng.random() < 0.7 else '2d'
        piece_size = draw_piece_size(rng)
        labels = str(rng.choice(['both', 'edge', 'cell', 'none'], p=[0.4, 0.2, 0.2, 0.2]))
        look_seed, strength = int(rng.integers(2**31)), float(rng.uniform(0, 1.6))
        strength = 0.0 if rng.random() < 0.05 else strength
        for _ in range(_GROUP):
            pieces, arrangement = draw_board(rng, size, avoided)
            look = sample_look(np.random.default_rng(look_seed), strength, len(pieces))
            scene = make_scene(view, size, pieces, look, labels=labels,
                               samples=3 if strength > 0.3 else 2, piece_size=piece_size)
            rows.append({'picture': scene.render(arrangement), 'size': size,
                         'flat': view == '2d', 'corners': cell_corners(scene, size),
                         **cells_of(size, pieces, arrangement)})
    rows += draw_others(rng)
    return {key: np.stack([row[key] for row in rows]) for key in rows[0]}


def draw_piece_size(rng: np.random.Generator) -> float:
    """A piece size: most often the paper's, else any down to the smallest one."""
    kind = rng.random()
    if kind < 0.6:
        return FILLING
    return SMALL if kind < 0.7 else float(rng.uniform(SMALL, FILLING))


def draw_board(rng: np.random.Generator, size: int,
               avoided: frozenset[tuple[int, frozenset[tuple[str, int]]]],
               ) -> tuple[tuple[Piece, ...], Arrangement]:
    """Pieces, all different, and their cells."""
    while True:
        cells = size * size
        if rng.random() < 0.25:
            count = cells - 1 if rng.random() < 0.7 else int(rng.integers(1, cells + 1))
            names = [f'{TILE}_{n + 1}' for n in rng.permutation(cells)[:count]]
        else:
            count = int(rng.integers(0, min(cells, 18) + 1))
            names = draw_names(rng, count)
        kinds = tuple(name.rpartition('_')[2] if not name.startswith(TILE) else TILE
                      for name in names)
        where = tuple(rng.permutation(cells)[:len(names)].tolist())
        if (size, frozenset(zip(names, where, strict=True))) not in avoided:
            return pieces_of(Board(size, tuple(names), kinds), 'a drawn board'), where


def draw_names(rng: np.random.Generator, count: int) -> list[str]:
    """Names of pieces that look different, in the paper's, the usual or all colours."""
    table = colours()
    kind = rng.random()
    shades = (PAPER_COLOURS if kind < 0.35 else USUAL if kind < 0.75
              else tuple(sorted({rgb: name for name, rgb in table.items()}.values())))
    shapes = PAPER_SHAPES if rng.random() < 0.5 else tuple(k for k in KINDS if k != TILE)
    every = [f'{colour}_{shape}' for colour in shades for shape in shapes]
    return [every[i] for i in rng.permutation(len(every))[:count]]


def cell_corners(scene: Any, size: int) -> Floats:
    """(4, 2) pixels of the corners of the cells: near left, near right, far right, far left."""
    square = np.array([(0, 0), (size, 0), (size, size), (0, size)], np.float64)
    if hasattr(scene, 'view'):
        return np.asarray(scene.view.project(np.column_stack([square, np.zeros(4)])))
    from sightplan_sim.sliding.scene2d import _grid
    return np.asarray(_grid(size, scene.options).at(square))


def cells_of(size: int, pieces: tuple[Piece, ...], arrangement: Arrangement) -> dict[str, Any]:
    """Content of each cell; cells beyond the board are ``NOTHING``."""
    kind = np.full(CELLS, NOTHING, np.int8)
    kind[:size * size] = 0
    rgb, number = np.zeros((CELLS, 3), np.uint8), np.zeros(CELLS, np.uint8)
    for piece, cell in zip(pieces, arrangement, strict=True):
        kind[cell] = 1 + KINDS.index(piece.kind)
        rgb[cell], number[cell] = piece.rgb, piece.number
    return {'kind': kind, 'rgb': rgb, 'number': number}


def draw_others(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Pictures of blocksworld, which show no board."""
    rows = []
    with BlocksScene(WIDTH, HEIGHT) as scene:
        for _ in range(_OTHERS):
            stacks: list[list[str]] = [[] for _ in range(int(rng.integers(3, 7)))]
            for letter in rng.permutation(list('rgbypo'))[:int(rng.integers(1, 7))]:
                stacks[int(rng.integers(len(stacks)))].append(str(letter))
            names = tuple(f'c{i + 1}' for i in range(len(stacks)))
            shown = scene.render(tuple(map(tuple, stacks)), names, sample_blocks_look(rng, 1.5))
            rows.append({'picture': shown.rgb, 'size': 0, 'flat': False,
                         'corners': np.zeros((4, 2)), **cells_of(0, (), ())})
    return rows


# ---------------------------------------------------------------------------------------- views


def draw_view(rng: np.random.Generator, picture: Bytes, corners: Floats) -> tuple[Bytes, Floats]:
    """Another view of a picture, and where its corners are then.

    Its background may have another colour and a word on it (``marks``), and it is zoomed, moved,
    lighter or darker.
    """
    kind = rng.random()
    if kind < 0.35:
        picture = mark(picture, str(rng.choice([*TINTS])))
    elif kind < 0.5:
        picture = picture.copy()
        picture[(picture == TINTS[ACTIVE]).all(-1)] = rng.integers(0, 256, 3)
    background = tuple(map(int, picture[2, 2]))
    plain = rng.random() < 0.3
    zoom = 1.0 if plain else float(rng.uniform(0.82, 1.18))
    shift = np.zeros(2) if plain else rng.uniform(-0.045, 0.045, 2) * (WIDTH, HEIGHT)
    middle = np.array([(WIDTH - 1) / 2, (HEIGHT - 1) / 2])
    if not plain:
        matrix = np.column_stack([np.eye(2) * zoom, middle - zoom * middle + shift])
        picture = np.asarray(cv2.warpAffine(
            picture, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_LINEAR,
            borderMode=cv2.BORDER_CONSTANT, borderValue=background), np.uint8)
    if rng.random() < 0.6:
        gamma = float(np.exp(rng.uniform(-0.26, 0.26)))
        table = np.rint(255 * (np.arange(256) / 255) ** gamma).astype(np.uint8)
        picture = np.asarray(cv2.LUT(picture, table), np.uint8)
    if rng.random() < 0.15:
        noise = rng.normal(0, rng.uniform(1, 5), (*picture.shape[:2], 1))
        picture = np.clip(picture + noise, 0, 255).astype(np.uint8)
    return picture, (corners - middle) * zoom + middle + shift


def draw_nonsense(rng: np.random.Generator) -> Bytes:
    """A picture without a board: one colour, noise, gradients or rectangles."""
    kind = int(rng.integers(5))
    grey = rng.random() < 0.5
    picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    picture[:] = int(rng.integers(256)) if grey else rng.integers(0, 256, 3)
    if kind == 1:
        rough = rng.integers(0, 256, (*rng.integers(2, 40, 2), 3), dtype=np.uint8)
        picture = np.asarray(cv2.resize(rough, (WIDTH, HEIGHT), interpolation=int(
            rng.choice([cv2.INTER_NEAREST, cv2.INTER_LINEAR]))), np.uint8)
    if kind == 2:
        picture = rng.integers(0, 256, (HEIGHT, WIDTH, 1 if grey else 3), dtype=np.uint8)
        picture = np.broadcast_to(picture, (HEIGHT, WIDTH, 3)).copy()
    if kind >= 3:
        for _ in range(int(rng.integers(1, 30))):
            colour = tuple(map(int, rng.integers(0, 256, 3)))
            x, y = int(rng.integers(WIDTH)), int(rng.integers(HEIGHT))
            wide, high = (int(v) for v in rng.integers(8, 260, 2))
            if rng.random() < 0.6:
                cv2.rectangle(picture, (x, y), (x + wide, y + high), colour, -1)
            else:
                cv2.ellipse(picture, (x, y), (wide // 2, high // 2), float(rng.uniform(0, 180)),
                            0, 360, colour, -1)
    if rng.random() < 0.3:
        noise = rng.normal(0, 8, picture.shape)
        picture = np.clip(picture + noise, 0, 255).astype(np.uint8)
    return picture


class Views(torch.utils.data.Dataset[Shard]):
    """Shards as they are learned from: small pictures, and parts around cells.

    Args:
        folder: of the shards.
        shards: which to take, in their order.
        seed: of the views.
        shape: of the networks.
        whole: whether to keep all cells, for validation.
    """

    def __init__(self, folder: Path, shards: list[int], seed: int, shape: Shape,
                 whole: bool = False) -> None:
        self.folder, self.shards, self.seed = folder, shards, seed
        self.shape, self.whole = shape, whole

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, turn: int) -> Shard:
        torch.set_num_threads(1)
        cv2.setNumThreads(1)
        number = self.shards[turn]
        rng = np.random.default_rng([self.seed, turn, number])
        shard = {path.stem: np.load(path, mmap_mode='r')
                 for path in shard_path(self.folder, number).glob('*.npy')}
        boards = np.flatnonzero(shard['size'])
        found: dict[str, list[NDArray[Any]]] = {}
        for row in [*range(len(shard['size'])), *[-1] * _NONSENSE]:
            like = row if row >= 0 and shard['size'][row] else int(rng.choice(boards))
            size, corners = int(shard['size'][like]), shard['corners'][like]
            picture = np.array(shard['picture'][row]) if row >= 0 else draw_nonsense(rng)
            picture, corners = draw_view(rng, picture, corners)
            copies = levels(torch.from_numpy(picture.astype(np.float32)).permute(2, 0, 1)[None])
            there = row == like
            labels = {key: np.asarray(shard[key][row if there else -1][:size * size])
                      for key in ('kind', 'rgb', 'number')}
            if not there:
                labels['kind'] = np.full(size * size, NOTHING, np.int8)
            kept = np.flatnonzero(self._kept(rng, labels['kind']))
            wrong = corners + draw_errors(rng)
            places = cells(wrong, size)[kept]
            one = {'small': _bytes(small(copies)), 'size': np.array([size if there else 0]),
                   'corners': corners[None].astype(np.float32),
                   'plan': _bytes(plan(copies, wrong)),
                   'part': _bytes(cut(copies, places, self.shape)),
                   **{key: values[kept] for key, values in labels.items()}}
            for key, values in one.items():
                found.setdefault(key, []).append(values)
        return {key: np.concatenate(values) for key, values in found.items()}

    def _kept(self, rng: np.random.Generator, kind: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Cells to learn from: all with solid pieces, and some of the others."""
        if self.whole:
            return np.ones(len(kind), np.bool_)
        rare = (kind > 0) & (kind < 1 + KINDS.index(TILE))
        share = np.where(rare, 1.0, np.where(kind == NOTHING, 0.5, 0.6))
        return np.asarray(rng.random(len(kind)) < share)


def draw_errors(rng: np.random.Generator) -> Floats:
    """(4, 2) pixels by which the corners of a board may be found wrong."""
    return rng.normal(0, 1.2, (1, 2)) + rng.normal(0, 1.2, (4, 2))


def _bytes(pictures: Tensor) -> Bytes:
    return np.asarray(pictures.round().clamp(0, 255).byte().numpy())


# ------------------------------------------------------------------------------------- learning


@dataclass(frozen=True)
class Settings:
    """Settings of a training run.

    Attributes:
        seed: of weights, views and batches.
        shards: to learn from.
        passes: how often each of them is seen.
        pool: shards whose pictures and cells are shuffled.
        finder_batch, reader_batch: pictures, and cells, of a step.
        finder_every: of the batches of pictures one in so many is learned from.
        rate: peak learning rate.
        keep: weight of what was in the running mean of the weights.
    """

    seed: int = 1
    shards: int = 252
    passes: float = 1.0
    pool: int = 5
    finder_batch: int = 16
    reader_batch: int = 128
    finder_every: int = 1
    rate: float = 2e-3
    keep: float = 0.995


def finder_loss(network: Network, batch: dict[str, Tensor]) -> tuple[Tensor, list[float]]:
    """Loss, and right answers whether there is a board and mean error of corners [px]."""
    logits, heat = network.finder(batch['small'].float() / 127.5 - 1)
    there = batch['size'] > 0
    loss = F.binary_cross_entropy_with_logits(logits, there.float())
    heat, corners = heat[there], batch['corners'][there]
    off = corners_of(heat) - corners
    loss = loss + 0.5 * F.smooth_l1_loss(off / 4, torch.zeros_like(off))
    logs, at = heat.flatten(2).log_softmax(-1), places_of(corners, *heat.shape[2:])
    low, part = at.floor().long(), at - at.floor()
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
        x = (low[..., 0] + dx).clamp(0, heat.shape[3] - 1)
        y = (low[..., 1] + dy).clamp(0, heat.shape[2] - 1)
        weight = (part - 1 + torch.tensor([dx, dy])).abs().prod(-1)
        said = logs.gather(2, (x + heat.shape[3] * y)[..., None])[..., 0]
        loss = loss - 0.5 * (weight * said).mean()
    return loss, [float(((logits > 0) == there).float().mean()),
                  float(off.detach().abs().mean())]


def counter_loss(network: Network, batch: dict[str, Tensor]) -> tuple[Tensor, list[float]]:
    """Loss, and right sizes."""
    logits = network.counter(batch['plan'].float() / 127.5 - 1)
    wanted = torch.where(batch['size'] > 0, batch['size'] - 1, 0)
    return F.cross_entropy(logits, wanted), [float((logits.argmax(1) == wanted).float().mean())]


class Palette:
    """The colours that the reader learns to distinguish."""

    def __init__(self) -> None:
        table = colours()
        self.every = torch.tensor(sorted(set(table.values()))).float()
        self.usual = torch.tensor([table[name] for name in USUAL]).float()

    def loss(self, network: Network, shade: Tensor, rgb: Tensor, rng: np.random.Generator,
             ) -> tuple[Tensor, float]:
        """Loss and right answers of pieces of colours ``rgb``, from 0 to 255.

        The right colour is told from the usual ones and some others that do not nearly look like
        it.
        """
        some = torch.from_numpy(rng.permutation(len(self.every))[:_SOME])
        others = torch.cat([self.usual, self.every[some]])
        both = network.reader.colours(torch.cat([others, rgb]) / 127.5 - 1)
        wrong = shade @ both[:len(others)].T
        near = torch.cdist(rgb, others) < _ALIKE
        right = (shade * both[len(others):]).sum(1, keepdim=True)
        logits = torch.cat([right, wrong.masked_fill(near, -torch.inf)], 1)
        target = torch.zeros(len(rgb), dtype=torch.long)
        return F.cross_entropy(logits, target), float((logits.argmax(1) == 0).float().mean())


def reader_loss(network: Network, palette: Palette, batch: dict[str, Tensor],
                rng: np.random.Generator) -> tuple[Tensor, list[float]]:
    """Loss, and right kinds, numbers and colours."""
    kind, number, shade = network.reader(batch['part'].float() / 127.5 - 1)
    wanted = batch['kind'].long() + 1
    loss = F.cross_entropy(kind, wanted)
    figures = [float((kind.argmax(1) == wanted).float().mean()), 1.0, 1.0]
    tile = wanted == 2 + KINDS.index(TILE)
    if tile.any():
        which = batch['number'][tile].long() - 1
        loss = loss + 0.5 * F.cross_entropy(number[tile], which)
        figures[1] = float((number[tile].argmax(1) == which).float().mean())
    solid = (wanted > 1) & ~tile
    if solid.any():
        more, figures[2] = palette.loss(network, shade[solid], batch['rgb'][solid].float(), rng)
        loss = loss + 0.5 * more
    return loss, figures


class Learner:
    """Weights of a network, their optimizer, and their running mean."""

    def __init__(self, part: nn.Module, rate: float, steps: int, keep: float) -> None:
        self.part, self.rate, self.steps, self.keep = part, rate, steps, keep
        self.step = 0
        self.optimizer = torch.optim.AdamW(part.parameters(), lr=rate, weight_decay=0.01,
                                           betas=(0.9, 0.98))
        self.mean = {key: value.clone() for key, value in part.state_dict().items()}

    def learn(self, loss: Tensor) -> None:
        """Train one step on a loss."""
        warm = min(1.0, (self.step + 1) / 100)
        along = min(1.0, self.step / self.steps)
        for group in self.optimizer.param_groups:
            group['lr'] = self.rate * warm * (0.01 + 0.99 * 0.5 * (1 + math.cos(math.pi * along)))
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.part.parameters(), 2.0)
        self.optimizer.step()
        self.step += 1
        keep = min(self.keep, 1 - 1 / (1 + self.step / 10))
        for key, value in self.part.state_dict().items():
            if value.is_floating_point():
                self.mean[key].lerp_(value, 1 - keep)
            else:
                self.mean[key].copy_(value)

    def state(self) -> dict[str, Any]:
        """Everything that training goes on from."""
        return {'part': self.part.state_dict(), 'optimizer': self.optimizer.state_dict(),
                'mean': self.mean, 'step': self.step}

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what ``state`` told."""
        self.part.load_state_dict(state['part'])
        self.optimizer.load_state_dict(state['optimizer'])
        self.mean, self.step = state['mean'], int(state['step'])


def pools(settings: Settings, folder: Path, shape: Shape, done: int) -> Iterator[Shard]:
    """Yield the training data, some shards at a time, after the first ``done`` times."""
    rng = np.random.default_rng([settings.seed, 1])
    order: list[int] = []
    while len(order) < settings.passes * settings.shards:
        order += rng.permutation(settings.shards).tolist()
    order = order[:round(settings.passes * settings.shards)]
    views = torch.utils.data.DataLoader(
        Views(folder, order, settings.seed, shape), batch_size=settings.pool, num_workers=1,
        sampler=range(done * settings.pool, len(order)), prefetch_factor=2, collate_fn=_joined)
    yield from views


def _joined(shards: list[Shard]) -> Shard:
    return {key: np.concatenate([shard[key] for shard in shards]) for key in shards[0]}


def batches(shard: Shard, keys: Sequence[str], size: int, rng: np.random.Generator,
            ) -> Iterator[dict[str, Tensor]]:
    """Shuffled batches of ``size`` rows; rows that do not fill a batch are left out."""
    order = rng.permutation(len(shard[keys[0]]))
    for start in range(0, len(order) - size + 1, size):
        rows = np.sort(order[start:start + size])
        yield {key: torch.from_numpy(shard[key][rows]) for key in keys}


def start_from(network: Network, folder: Path) -> None:
    """Take over the weights of a trained model, whose cutouts may have another size.

    The layer after the reader's convolutions has a weight for each place of the cutout: these are
    interpolated, and 0 where the other model saw nothing.
    """
    sizes: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in
        json.loads((folder / SETTINGS_FILE).read_text())['shape'].items()}
    old = Shape(**sizes)
    new, weights = network.shape, load_file(folder / WEIGHTS_FILE)
    for key, wanted in network.state_dict().items():
        if key not in weights or weights[key].shape == wanted.shape:
            continue
        before, after = -(-old.part // 8), -(-new.part // 8)
        side = torch.arange(after).add(0.5).mul(2 / after).sub(1) * new.reach
        x, y = side / old.reach, (side - new.raised + old.raised) / old.reach
        grid = torch.stack([x[None, :].expand(after, -1), y[:, None].expand(-1, after)], -1)
        hidden = weights[key].float().view(len(wanted), -1, before, before)
        weights[key] = F.grid_sample(hidden, grid[None].expand(len(hidden), -1, -1, -1),
                                     align_corners=False).flatten(1)
    network.load_state_dict({key: value.float() for key, value in weights.items()}, strict=False)


def train(settings: Settings, folder: Path, out: Path, start: Path | None = None) -> None:
    """Train the three networks and write their folder.

    A run that was stopped goes on from the folder's last checkpoint, with the same data as if it
    had not been stopped.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(settings.seed)
    started, shape, palette = time.monotonic(), _SHAPE, Palette()
    network = Network(shape)
    if start is not None:
        start_from(network, start)
    turns = round(settings.passes * settings.shards)
    steps = (turns * 110 // (settings.finder_batch * settings.finder_every),
             turns * 1300 // settings.reader_batch)
    learners = {name: Learner(getattr(network, name), settings.rate, count, settings.keep)
                for name, count in zip(('finder', 'counter', 'reader'),
                                       (steps[0], steps[0], steps[1]), strict=True)}
    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / CHECKPOINT_FILE
    done = resume(checkpoint, learners)
    log_file = out / 'training_log.jsonl'
    before = log_file.read_text().splitlines(keepends=True)[:done] if done else []
    log_file.write_text(''.join(before))
    log = log_file.open('a')
    for turn, shard in enumerate(pools(settings, folder, shape, done), done):
        rng = np.random.default_rng([settings.seed, 2, turn])
        network.train()
        seen: dict[str, list[list[float]]] = {name: [] for name in learners}

        def learn(name: str, loss: Tensor, figures: list[float]) -> None:
            learners[name].learn(loss)
            seen[name].append([float(loss.detach()), *figures])  # noqa: B023 (used at once)

        keys = 'small', 'plan', 'size', 'corners'
        for batch in itertools.islice(batches(shard, keys, settings.finder_batch, rng), 0, None,
                                      settings.finder_every):
            learn('finder', *finder_loss(network, batch))
            learn('counter', *counter_loss(network, batch))
        keys = 'part', 'kind', 'rgb', 'number'
        for batch in batches(shard, keys, settings.reader_batch, rng):
            learn('reader', *reader_loss(network, palette, batch, rng))
        line = json.dumps({
            'shards': min(turns, (turn + 1) * settings.pool),
            'seconds': round(time.monotonic() - started),
            **{name: [learners[name].step, *np.mean(rows, 0).round(4).tolist()]
               for name, rows in seen.items()}})
        print(line, flush=True)
        log.write(line + '\n')
        log.flush()
        if turn % 5 == 4:
            export(shape, learners, out)
            save(checkpoint, learners, turn + 1)
    log.close()
    export(shape, learners, out)
    checkpoint.unlink(missing_ok=True)


def save(checkpoint: Path, learners: dict[str, Learner], done: int) -> None:
    """Write how far a training run has come, after ``done`` pools of data."""
    partial = checkpoint.with_suffix('.partial')
    torch.save({'done': done, **{name: learner.state() for name, learner in learners.items()}},
               partial)
    partial.replace(checkpoint)


def resume(checkpoint: Path, learners: dict[str, Learner]) -> int:
    """Go on from a checkpoint; returns how many pools of data it has seen, 0 without one."""
    if not checkpoint.exists():
        return 0
    found = torch.load(checkpoint, weights_only=True)
    for name, learner in learners.items():
        learner.restore(found[name])
    return int(found['done'])


def export(shape: Shape, learners: dict[str, Learner], out: Path) -> None:
    """Write weights, in half precision, and settings."""
    weights = {f'{name}.{key}': value.half().contiguous()
               for name, learner in learners.items()
               for key, value in learner.mean.items() if value.is_floating_point()}
    save_file(weights, str(out / WEIGHTS_FILE), metadata={'format': 'pt'})
    (out / SETTINGS_FILE).write_text(json.dumps({
        'model_type': BOARDS, 'shape': dataclasses.asdict(shape), 'usual': USUAL,
        'colours': {name: list(rgb) for name, rgb in colours().items()}}) + '\n')


# ------------------------------------------------------------------------------------ measuring


@dataclass(frozen=True)
class Shown:
    """A picture to be asked about.

    Attributes:
        group: what it is counted with.
        image: (H, W, 3) uint8 RGB.
        pieces: how many there are on the board.
        questions: about it.
        truth: of each question.
    """

    group: str
    image: Bytes
    pieces: int
    questions: tuple[Question, ...]
    truth: tuple[bool, ...]


def shown_problems(split: str, view: str, strength: float, count: int = 0,
                   views: bool = False, moved: bool = False, piece_size: float = FILLING,
                   ) -> Iterator[Shown]:
    """Start and goal of problems, with all questions about pieces and cells.

    Args:
        split: of the domain.
        view: ``3d`` or ``2d``.
        strength: of the look.
        count: of problems, spread evenly; 0: all.
        views: whether they are shown in other views, as in training.
        moved: whether the pictures show the pieces in other cells than the truth is about.
        piece_size: of the boards in 3D.
    """
    domain = load_domain('sliding')
    problems = list(domain.split_problems(split))
    for number in np.linspace(0, len(problems) - 1, count or len(problems)).astype(int).tolist():
        problem, rng = problems[number], np.random.default_rng([21, number])
        board = Board.of(problem)
        pieces = pieces_of(board, problem.name)
        labels = str(rng.choice(['both', 'edge', 'cell', 'none'])) if views else 'both'
        scene = make_scene(view, board.size, pieces, sample_look(rng, strength, len(pieces)),
                           labels=labels, piece_size=piece_size)
        atoms = [Atom('at', (piece, cell)) for piece in board.pieces
                 for cell in cell_names(board.size)]
        atoms += [Atom('empty', (cell,)) for cell in cell_names(board.size)]
        questions = tuple(map(domain.question, atoms))
        for arrangement in (board.arrangement(problem.init), board.goal(problem)):
            facts = board.facts(arrangement)
            if moved:
                cells = rng.permutation(board.size ** 2)[:len(pieces)]
                arrangement = tuple(cells.tolist())
            image = scene.render(arrangement)
            if views:
                image, _ = draw_view(rng, image, np.zeros((4, 2)))
            name = f'{split}, {view}, look {strength:g}' + (', other views' if views else '')
            name += ', pieces elsewhere' if moved else ''
            name += '' if piece_size == FILLING else f', piece size {piece_size:g}'
            yield Shown(name, image, len(pieces), questions,
                        tuple(atom in facts for atom in atoms))


def shown_fresh(count: int, seed: int) -> Iterator[Shown]:
    """Boards of all sizes, as in training but of other seeds, with the usual names."""
    rng, domain = np.random.default_rng([22, seed]), load_domain('sliding')
    avoided = shipped_boards()
    for _ in range(count):
        size = int(rng.integers(SMALLEST, LARGEST + 1))
        view = str(rng.choice(['3d', '2d']))
        while True:
            pieces, arrangement = draw_board(rng, size, avoided)
            names = [piece.words.replace(' ', '_') for piece in pieces]
            if all(piece.kind == TILE or piece.words.rpartition(' ')[0] in USUAL
                   for piece in pieces):
                break
        scene = make_scene(view, size, pieces, sample_look(rng, float(rng.uniform(0, 1.5)),
                                                           len(pieces)),
                           labels=str(rng.choice(['both', 'edge', 'cell', 'none'])))
        board = Board(size, tuple(names), tuple(piece.kind for piece in pieces))
        atoms = [Atom('at', (name, cell)) for name in names for cell in cell_names(size)]
        atoms += [Atom('empty', (cell,)) for cell in cell_names(size)]
        facts = board.facts(arrangement)
        what = 'tiles' if names and names[0].startswith(TILE) else 'solids'
        yield Shown(f'fresh {what}, {view}, size {size}', scene.render(arrangement), len(pieces),
                    tuple(map(domain.question, atoms)), tuple(atom in facts for atom in atoms))


def evaluate(folder: Path, count: int) -> dict[str, Any]:
    """Measure how well a model reads boards that it was not trained on, through the backend.

    Args:
        folder: of the model.
        count: problems of each group; 0: all.
    """
    backend = Backend(BackendSettings(model_dir=str(folder)))
    found: dict[str, Any] = {}
    groups = [shown_problems('geoms', view, strength, count, views)
              for view in ('3d', '2d') for strength, views in (
                  (1.0, False), (0.0, False), (1.5, False), (1.0, True))]
    groups += [shown_problems('geoms', '3d', 1.0, count, piece_size=size)
               for size in (SMALL, (SMALL + FILLING) / 2)]
    groups += [shown_problems('tiles', view, 1.0, count) for view in ('3d', '2d')]
    groups.append(shown_problems('geoms', '3d', 1.0, 50, moved=True))
    groups.append(shown_fresh(4 * count or 2000, 0))
    for shown in itertools.chain.from_iterable(groups):
        replies = ask_all(backend, yes_no_queries(Observation(shown.image), shown.questions))
        note(found.setdefault(shown.group, {}), shown,
             [float(reply.p_yes or 0) for reply in replies])
    return {'model': backend.name,
            'groups': {name: summary(group) for name, group in found.items()},
            'other pictures': denied(backend), 'ms': speed(backend)}


def note(group: dict[str, Any], shown: Shown, chances: list[float]) -> None:
    """Take in the answers about a picture."""
    right = [(chance >= 0.5) == truth for chance, truth in zip(chances, shown.truth, strict=True)]
    for question, ok, truth in zip(shown.questions, right, shown.truth, strict=True):
        hits = group.setdefault(question.atom.predicate, {True: [0, 0], False: [0, 0]})[truth]
        hits[0] += ok
        hits[1] += 1
    for key in ('boards', f'boards of {shown.pieces:02d}'):
        whole = group.setdefault(key, [0, 0])
        whole[0] += all(right)
        whole[1] += 1
    log = [math.log(max(1e-9, chance if truth else 1 - chance))
           for chance, truth in zip(chances, shown.truth, strict=True)]
    sums = group.setdefault('nats', [0.0, 0])
    sums[0] -= sum(log)
    sums[1] += len(log)


def summary(group: dict[str, Any]) -> dict[str, Any]:
    """Rates with n and 95 % intervals."""
    def rate(hits: list[int]) -> dict[str, Any]:
        low, high = wilson(*hits)
        return {'n': hits[1], 'rate': round(hits[0] / max(1, hits[1]), 6),
                'interval': [round(low, 6), round(high, 6)]}

    found: dict[str, Any] = {}
    for key, value in sorted(group.items()):
        if key == 'nats':
            found['nats per answer'] = round(value[0] / max(1, value[1]), 6)
        elif isinstance(value, list):
            found[key] = rate(value)
        else:
            found[key] = rate([value[True][k] + value[False][k] for k in (0, 1)]) | {
                'of true': rate(value[True]), 'of false': rate(value[False])}
    return found


def denied(backend: Backend) -> dict[str, Any]:
    """Answers about pictures without a board: how many, how many of them yes, highest chance."""
    shown = next(shown_problems('geoms', '3d', 1.0, 1))
    rng, found = np.random.default_rng(23), {}
    pictures = {'grey': [np.full((HEIGHT, WIDTH, 3), value, np.uint8) for value in range(256)],
                'nonsense': [draw_nonsense(rng) for _ in range(500)],
                'blocksworld': [row['picture'] for _ in range(50) for row in draw_others(rng)]}
    for name, images in pictures.items():
        chances = np.array([[reply.p_yes or 0 for reply in ask_all(backend,
                yes_no_queries(Observation(image), shown.questions))] for image in images])
        found[name] = {'pictures': len(images), 'answers': chances.size,
                       'yes': int((chances >= 0.5).sum()), 'highest': round(chances.max(), 4)}
    return found


def speed(backend: Backend) -> dict[str, float]:
    """Milliseconds of CPU for all questions about a new picture, medians over 40 pictures."""
    shown = list(itertools.islice((one for one in shown_problems('geoms', '3d', 1.0)
                                   if len(one.questions) == 176 + 16), 40))
    spent = []
    for one in shown:
        began = time.process_time()
        ask_all(backend, yes_no_queries(Observation(one.image), one.questions))
        spent.append(1e3 * (time.process_time() - began))
    return {'questions': 192, 'median': round(float(np.median(spent[1:])), 1)}


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    default = Settings()
    build = Path('build/training/sliding')
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', type=Path, default=build / 'scenes',
                        help='folder of shards; missing ones are rendered first')
    parser.add_argument('--out', type=Path, default=build / 'model', help='folder to write')
    parser.add_argument('--seed', type=int, default=default.seed)
    parser.add_argument('--shards', type=int, default=default.shards)
    parser.add_argument('--passes', type=float, default=default.passes,
                        help='how often each picture is seen')
    parser.add_argument('--rate', type=float, default=default.rate, help='peak learning rate')
    parser.add_argument('--finder-every', type=int, default=default.finder_every, metavar='N',
                        help='finder and counter, which learn sooner than the reader, learn from '
                        'one in N batches')
    parser.add_argument('--start', type=Path, help='folder of a model whose weights to go on '
                        'from; without it they are drawn')
    parser.add_argument('--evaluate', action='store_true',
                        help='measure the model in the folder of --out, write accuracy.json and '
                        'stop')
    parser.add_argument('--problems', type=int, default=0,
                        help='with --evaluate: problems of each group; 0: all')
    args = parser.parse_args(argv)
    if args.evaluate:
        found = json.dumps(evaluate(args.out, args.problems), indent=1)
        print(found)
        (args.out / 'accuracy.json').write_text(found + '\n')
        return
    settings = Settings(args.seed, args.shards, args.passes, rate=args.rate,
                        finder_every=args.finder_every)
    render(args.data, 0, settings.shards, 1, draw_shard)
    train(settings, args.data, args.out, args.start)


if __name__ == '__main__':
    main()
