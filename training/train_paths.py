#!/usr/bin/env python3
"""Train the reader of paths of the backend ``embedded`` from scratch on drawn maps, on CPU.

Two networks of one kind learn: one from pictures from above, one in perspective. Maps are those of
the generator under seeds of their own (no map of the suite is among them), paths are planned on
them by OMPL and drawn with a varied look. Planned paths are written first, in shards that are
functions of their seed; pictures are drawn from them as they are learned from. At the end, pairs
of paths on further maps tell how sure a difference of two readings is.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from shards import render, shard_path
from sightplan_models._embedded_paths import MODEL_TYPE, SETTINGS_FILE, load_network, weights_file
from sightplan_models._embedded_paths_network import (
    FARTHEST,
    PERSPECTIVE_SIZE,
    READINGS,
    STRIDE,
    TOP_SIZE,
    Maps,
    Network,
    Shape,
    prepared,
    read,
)
from sightplan_suites.paths.descriptors import NAMES, WAYPOINTS, describe, turning_angles
from sightplan_suites.paths.drawing import TopView, draw_top
from sightplan_suites.paths.drawing3d import PerspectiveView, draw_perspective
from sightplan_suites.paths.generator import FAMILIES, generate_map
from sightplan_suites.paths.labels import PATHEVAL
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap
from sightplan_suites.paths.planner_settings import PLANNERS, PlannerSettings
from sightplan_suites.paths.planning import plan_path

FIRST_SEED = 5_000_000
"""First seed of the maps for training. Maps of the suite have small seeds."""

Views = TopView | PerspectiveView
VIEWS: dict[str, Views] = {
    'top': TopView(TOP_SIZE[0]),
    'perspective': PerspectiveView(*PERSPECTIVE_SIZE)}

_MAPS, _RUNS = 4, 10
"""Maps of a shard, and planned paths of each."""
_USUAL_POINTS = 40
"""Largest number of points of simplified paths; the network is calibrated on paths up to this."""
_STEP = 0.1
"""Distance of the places at which a path's length is counted [unit of the map]."""


# ---------------------------------------------------------------------------------------- paths


def draw_shard(seed: int) -> dict[str, NDArray[Any]]:
    """Maps and paths on them, as text; a function of the seed alone."""
    rng = random.Random(f'paths {seed}')
    rows = []
    for number in range(_MAPS):
        family = rng.choice(list(FAMILIES))
        kind = FAMILIES[family]
        value, variant = rng.randint(kind.low, kind.high), rng.randrange(30)
        item = generate_map(family, value, variant, FIRST_SEED + seed * _MAPS + number)
        settings = PlannerSettings(planner=rng.choice(PLANNERS), simplify=rng.random() < 0.8)
        found = [plan_path(item, settings, FIRST_SEED + seed, run) for run in range(_RUNS)]
        rows += [json.dumps({'polygons': item.polygons, 'path': path.points})
                 for path in found if path.points is not None]
    return {'rows': np.array(rows or [''], dtype=np.str_)}


def read_rows(folder: Path, seeds: range) -> list[dict[str, Any]]:
    """Maps and paths of shards, as far as they are written."""
    rows = []
    for seed in seeds:
        file = shard_path(folder, seed) / 'rows.npy'
        if file.exists():
            rows += [json.loads(text) for text in np.load(file).tolist() if text]
    return rows


# ------------------------------------------------------------------------------------- pictures


class Drawn:
    """A picture of a path on a map, with the true positions of its parts.

    Args:
        row: the map and the path.
        view: from where it is seen.
        look: seed of how it looks; 0 is the paper's look.
        flip: number from 0 to 7 of a turn or mirroring of the plane; in perspective the lowest
            bit only, which mirrors left and right.
    """

    def __init__(self, row: dict[str, Any], view: Views, look: int, flip: int) -> None:
        change = _plane_change(flip if isinstance(view, TopView) else flip & 1)
        polygons = [np.array(polygon) @ change for polygon in row['polygons']]
        self.path = np.array(row['path']) @ change
        item = ObstacleMap('drawn', tuple(
            tuple((float(x), float(y)) for x, y in polygon) for polygon in polygons))
        draw = draw_top if isinstance(view, TopView) else draw_perspective
        self.picture = draw(polygons, self.path, np.array(START) @ change,
                            np.array(GOAL) @ change, view, look)  # type: ignore[arg-type]
        self.values = np.array(describe(item, self.path, rule=WAYPOINTS).values(),
                               np.float32)
        self.maps = self._maps(item, view)

    def _maps(self, item: ObstacleMap, view: Views) -> NDArray[np.float32]:
        """(5, h, w): length, points, turn, sharp turns, clearance."""
        height, width = view.shape[0] // STRIDE, view.shape[1] // STRIDE
        found = np.zeros((5, height, width), np.float32)
        starts, steps = self.path[:-1], np.diff(self.path, axis=0)
        lengths = np.hypot(steps[:, 0], steps[:, 1])
        places, parts = [], []
        for start, step, length in zip(starts, steps, lengths, strict=True):
            count = max(1, math.ceil(length / _STEP))
            places.append(start + (np.arange(count)[:, None] + 0.5) / count * step)
            parts.append(np.full(count, length / count))
        _add(found[0], view, np.concatenate(places), np.concatenate(parts))
        _add(found[1], view, self.path, np.ones(len(self.path)))
        moving = np.append(True, lengths > 0)
        corners = self.path[moving][1:-1]
        angles = turning_angles(self.path)
        _add(found[2], view, corners, angles / 90)
        _add(found[3], view, corners, (angles > 90).astype(float))
        _add(found[4], view, self.path, item.clearances(self.path))
        found[4] /= np.maximum(found[1], 1)
        return found


def _plane_change(number: int) -> NDArray[np.float64]:
    """Matrix of one of the eight symmetries of the square."""
    change = np.diag([-1.0 if number & 1 else 1.0, -1.0 if number & 2 else 1.0])
    return change[::-1].copy() if number & 4 else change


def _add(cells: NDArray[np.float32], view: Views, places: NDArray[np.float64],
         amounts: NDArray[np.float64]) -> None:
    if len(places) == 0:
        return
    at = np.floor((view.project(places) + 0.5) / STRIDE).astype(int)
    column = at[:, 0].clip(0, cells.shape[1] - 1)
    row = at[:, 1].clip(0, cells.shape[0] - 1)
    np.add.at(cells, (row, column), amounts.astype(np.float32))


# -------------------------------------------------------------------------------------- learning


def batches(rows: list[dict[str, Any]], view: Views, size: int, seed: int,
            ) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Pictures, maps and readings, for ever."""
    rng = random.Random(seed)
    while True:
        found = list[Drawn]()
        while len(found) < size:
            row = rng.choice(rows)
            look = 0 if rng.random() < 0.3 else rng.randint(1, 10**6)
            found.append(Drawn(row, view, look, rng.randrange(8)))
        yield (torch.stack([prepared(one.picture) for one in found]),
               torch.from_numpy(np.stack([one.maps for one in found])),
               torch.from_numpy(np.stack([one.values for one in found])))


SCALES = torch.tensor([getattr(PATHEVAL, name) for name in NAMES])


def loss_of(maps: Maps, truth: Tensor, values: Tensor) -> Tensor:
    """Loss of maps and readings."""
    def near(found: Tensor, true: Tensor) -> Tensor:
        """Loss that tolerates an error of position by one cell."""
        return F.smooth_l1_loss(F.avg_pool2d(found[:, None], 3, 1, 1) * 3,
                                F.avg_pool2d(true[:, None], 3, 1, 1) * 3, beta=0.2)

    length, points, turn, sharp, clearance = truth.unbind(1)
    weight = points / points.sum((1, 2), keepdim=True)
    off = F.smooth_l1_loss(maps.clearance, clearance.clamp(max=FARTHEST), reduction='none')
    found = read(maps)
    values = torch.cat((values[:, :3].clamp(max=FARTHEST), values[:, 3:]), 1)
    wrong = F.smooth_l1_loss(found / SCALES, values / SCALES, reduction='none')
    return (3 * near(maps.length, length) + 6 * near(maps.points, points)
            + 6 * near(maps.turn, turn) + 6 * near(maps.sharp, sharp)
            + 0.3 * (off * weight).sum((1, 2)).mean() + 0.1 * wrong.mean())


def train(rows: list[dict[str, Any]], view: Views, args: argparse.Namespace, log: Path) -> Network:
    """Learn for the time given."""
    torch.manual_seed(args.seed)
    network = Network(Shape())
    optimizer = torch.optim.AdamW(network.parameters(), lr=args.rate, weight_decay=1e-4)
    started, steps = time.monotonic(), 0
    stream = batches(rows, view, args.batch, args.seed)
    recent: list[float] = []
    while (spent := time.monotonic() - started) < args.minutes * 60:
        part = spent / (args.minutes * 60)
        rate = args.rate * min(1.0, (steps + 1) / 100) * (0.5 + 0.5 * math.cos(math.pi * part))
        for group in optimizer.param_groups:
            group['lr'] = max(rate, args.rate * 0.01)
        pictures, truth, values = next(stream)
        loss = loss_of(network(pictures), truth, values)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        steps += 1
        recent.append(float(loss))
        if steps % 100 == 0:
            line = {'step': steps, 'minutes': round(spent / 60, 1),
                    'loss': round(sum(recent) / len(recent), 4)}
            recent.clear()
            with log.open('a') as file:
                file.write(json.dumps(line) + '\n')
            print(line, flush=True)
    return network.eval()


# ----------------------------------------------------------------------------------- calibration


def readings(network: Network, rows: list[dict[str, Any]], view: Views,
             ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The network's readings and the true values, (N, 7) each, in the paper's style."""
    found, true = [], []
    with torch.no_grad():
        for row in rows:
            one = Drawn(row, view, 0, 0)
            found.append(read(network(prepared(one.picture)[None]))[0].numpy())
            true.append(one.values)
    return np.array(found, np.float64), np.array(true, np.float64)


def calibrated(found: NDArray[np.float64], true: NDArray[np.float64]) -> dict[str, float]:
    """Standard deviation of the errors of differences between two readings, by descriptor.

    Of the errors of 20,000 pairs; what lies beyond four times their median counts as that much.
    """
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(found), size=(2, 20_000))
    noise = {}
    for k, name in enumerate(READINGS):
        error = np.abs((found - true)[first, k] - (found - true)[second, k])
        kept = np.minimum(error, 4 * max(float(np.median(error)), 1e-3))
        noise[name] = round(float(np.sqrt((kept ** 2).mean())), 4)
    return noise


def accuracies(found: NDArray[np.float64], true: NDArray[np.float64]) -> dict[str, float]:
    """Per descriptor, the fraction of significantly different pairs that are ordered correctly."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(len(found), size=(2, 20_000))
    right = {}
    for k, name in enumerate(READINGS):
        differs = np.abs(true[first, k] - true[second, k]) >= getattr(PATHEVAL, name)
        agree = (found[first, k] > found[second, k]) == (true[first, k] > true[second, k])
        right[name] = round(float(agree[differs].mean()), 4)
    return right


def main() -> None:
    """Draw, learn, calibrate, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--out', type=Path, required=True, help='folder of the model')
    parser.add_argument('--shards', type=Path, help='folder of planned paths; default: below out')
    parser.add_argument('--count', type=int, default=150, help='shards to learn from')
    parser.add_argument('--held-out', type=int, default=10, help='shards to calibrate on')
    parser.add_argument('--workers', type=int, default=1, help='processes that plan')
    parser.add_argument('--view', choices=tuple(VIEWS), action='append', help='default: both')
    parser.add_argument('--calibrate', action='store_true',
                        help='learn nothing, only calibrate what was learned')
    parser.add_argument('--minutes', type=float, default=30.0, help='of learning, each view')
    parser.add_argument('--batch', type=int, default=12)
    parser.add_argument('--rate', type=float, default=2e-3)
    parser.add_argument('--seed', type=int, default=0)
    args = parser.parse_args()
    torch.set_flush_denormal(True)
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    shards = args.shards or args.out / 'shards'
    render(shards, 0, args.count + args.held_out, args.workers, draw_shard)
    rows = read_rows(shards, range(args.count))
    held_out = read_rows(shards, range(args.count, args.count + args.held_out))
    print(f'{len(rows)} paths to learn from, {len(held_out)} to calibrate on', flush=True)
    file = args.out / SETTINGS_FILE
    settings: dict[str, Any] = {'views': {}}
    if file.exists():
        settings = json.loads(file.read_text())
    settings |= {'model_type': MODEL_TYPE, 'enough': {
        name: getattr(PATHEVAL, name) for name in READINGS}}
    for name in args.view or VIEWS:
        network = (load_network(args.out, name, Shape()) if args.calibrate else
                   train(rows, VIEWS[name], args, args.out / f'training_log_{name}.jsonl'))
        usual = [row for row in held_out if len(row['path']) <= _USUAL_POINTS]
        found, true = readings(network, usual, VIEWS[name])
        shape = {'first': Shape().first, 'width': Shape().width,
                 'dilations': list(Shape().dilations)}
        settings['views'][name] = {'shape': shape, 'noise': calibrated(found, true),
                                   'accuracy': accuracies(found, true), 'held_out': len(found)}
        save_file({key: value.half().contiguous() if value.is_floating_point() else value
                   for key, value in network.state_dict().items()}, args.out / weights_file(name))
        file.write_text(json.dumps(settings, indent=2) + '\n')
        print(name, json.dumps(settings['views'][name]), flush=True)


if __name__ == '__main__':
    main()
