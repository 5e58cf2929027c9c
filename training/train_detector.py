#!/usr/bin/env python3
"""Train the detector of the backend ``embedded`` on rendered tables, on CPU or GPU.

It begins with the trunk of the shipped locator, which was trained on things on tables. First the
new heads learn while the trunk stands still; then all learns, but its finest maps, which cost most
on a CPU, only with --finest. Colours are learned before all else, from the pixels alone: that
costs little. What is exported is a running mean of the weights, calibrated on shards that were not
learned from. Every batch is a function of seed, step and process, so a run that was interrupted
goes on exactly (--resume).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import cv2
import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 (its usual name)
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn
from torch.utils.data import DataLoader, Dataset

from detector_data import KINDS, Batch, drawer_of_shards, make_batch
from shards import Corpus, render
from sightplan.queries.detect import COLOURS
from sightplan_models._detector_network import Found, Network, Seen
from sightplan_models._embedded_detector import NO_CALIBRATION, SETTINGS_FILE, WEIGHTS_FILE
from sightplan_models._embedded_locator import WEIGHTS_FILE as LOCATOR_FILE
from sightplan_models._locator_network import COARSE, Shape
from sightplan_models._unlike import SHIPPED
from sightplan_models.embedded import LOCATOR
from sightplan_sim.tabletop.catalogue import CATEGORIES as CATALOGUE

_LIKE = {'cabinet': 'drawer box', 'crate': 'tray', 'napkin': 'box', 'drawer:top': 'drawer box',
         'drawer:bottom': 'drawer box'}
"""Categories whose weights are initialized from a similar category of the locator. The locator's
first categories are those of the catalogue in alphabetical order."""


REFRESH_EVERY = 50
"""Number of batches between two searches for new shards."""


@dataclass(frozen=True)
class Settings:
    """Settings of a training run.

    Attributes:
        seed: of weights and batches.
        steps: in all.
        colour_steps: before them, in which only colours are learned, eight pictures each.
        head_steps: the first of them, in which the trunk stands still.
        rate: learning rate at its peak, of the heads.
        trunk_rate: likewise of the trunk.
        batch: pictures of a process and step.
        processes: data-parallel ones, of one thread each.
        shards: of the corpus, with those held out.
        held_out: first shards, for validation and calibration.
        finest: whether the trunk's finest maps learn too.
    """

    seed: int = 0
    steps: int = 1200
    colour_steps: int = 400
    head_steps: int = 60
    rate: float = 3e-3
    trunk_rate: float = 6e-4
    batch: int = 4
    processes: int = 1
    shards: int = 200
    held_out: int = 2
    finest: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware settings of a run.

    Attributes:
        device: ``cpu`` or ``cuda``.
        loaders: processes that make batches; 0: the one that learns makes them.
    """

    device: str = 'cpu'
    loaders: int = 0


# Losses ----------------------------------------------------------------------------------------

def losses(network: Network, batch: Batch, rng: np.random.Generator) -> dict[str, Tensor]:
    """The weighted parts of the loss by name."""
    seen = network.look(batch.picture)
    known = (batch.category > 0) & (batch.at >= 0)
    at = _beside(batch, rng)
    return _dense_losses(seen, batch) | _instance_losses(
        network.at_centres(seen, at), batch, known)


def _beside(batch: Batch, rng: np.random.Generator) -> Tensor:
    """Places of centres; some are moved by a cell on the same thing."""
    rows, columns = COARSE
    at = batch.at.clamp(min=0)
    step = torch.from_numpy(rng.integers(-1, 2, (2, *at.shape))).to(at.device)
    row = (at // columns + step[0]).clamp(0, rows - 1)
    beside = row * columns + (at % columns + step[1]).clamp(0, columns - 1)
    owner = batch.owner.flatten(1)
    same = owner.gather(1, beside) == owner.gather(1, at)
    moved = torch.from_numpy(rng.random(at.shape) < 0.4).to(at.device)
    return torch.where(same & moved, beside, at)


def _dense_losses(seen: Seen, batch: Batch) -> dict[str, Tensor]:
    logits, heat = seen.dense[:, 0], batch.heat
    there = heat > 0.999
    chance = logits.sigmoid()
    focal = torch.where(there, (1 - chance)**2 * F.softplus(-logits),
                        (1 - heat)**4 * chance**2 * F.softplus(logits))
    owned = (batch.owner > 0)[:, None].float()
    total = owned.sum() + 1
    near = F.smooth_l1_loss(seen.dense[:, 1:5], batch.where, reduction='none', beta=0.02)
    padded = torch.cat([batch.box.new_zeros(len(batch.box), 1, 4), batch.box], 1)
    wanted = padded.gather(1, batch.owner.flatten(1)[..., None].expand(-1, -1, 4))
    edges = F.smooth_l1_loss(seen.edges.flatten(2), wanted.transpose(1, 2), reduction='none',
                             beta=0.01) * owned.flatten(2)
    return {'centre': 0.5 * focal.sum() / (there.sum() + 1),
            'where': 10 * (near * owned).sum() / (4 * total),
            'edges': 20 * edges.sum() / (4 * total),
            'owned': F.binary_cross_entropy_with_logits(seen.dense[:, 5:], owned),
            'coloured': F.binary_cross_entropy_with_logits(
                seen.coloured, batch.coloured.float())}


def _instance_losses(found: Found, batch: Batch, known: Tensor) -> dict[str, Tensor]:
    dyed, opens = known & (batch.colour > 0), known & (batch.opened >= 0)
    out = {'category': F.cross_entropy(found.category[known], batch.category[known] - 1),
           'colour': F.cross_entropy(found.colour[dyed], batch.colour[dyed] - 1),
           'box': 2 * (1 - overlap(found.box[known], batch.box[known])).mean()}
    if opens.any():
        out['opened'] = 0.5 * F.binary_cross_entropy_with_logits(
            found.opened[opens], batch.opened[opens])
    return out


def colour_loss(network: Network, batch: Batch) -> Tensor:
    """The loss of the colours of things with known coloured pixels."""
    owner = F.interpolate(batch.owner[:, None].float(), scale_factor=2, mode='nearest')[:, 0]
    index = torch.arange(1, batch.colour.shape[1] + 1, device=owner.device)[:, None, None]
    weight = ((owner[:, None] == index) & batch.coloured[:, None]).float()
    dyed = (batch.colour > 0) & weight.flatten(2).any(2)
    logits = network.colours(network.tints(batch.picture), weight)[dyed]
    return F.cross_entropy(logits, batch.colour[dyed] - 1)


def overlap(one: Tensor, other: Tensor) -> Tensor:
    """Generalised intersection over union of (N, 4) boxes (arXiv 1902.09630)."""
    low, high = torch.maximum(one[:, :2], other[:, :2]), torch.minimum(one[:, 2:], other[:, 2:])
    both = (high - low).clamp(min=0).prod(1)
    union = _area(one) + _area(other) - both
    hull = (torch.maximum(one[:, 2:], other[:, 2:])
            - torch.minimum(one[:, :2], other[:, :2])).prod(1)
    return both / union.clamp(min=1e-6) - (hull - union) / hull.clamp(min=1e-6)


def _area(box: Tensor) -> Tensor:
    return (box[:, 2:] - box[:, :2]).clamp(min=0).prod(1)


# Training --------------------------------------------------------------------------------------

class Batches(Dataset[Batch]):
    """The batches of a run, by step. It checks for new shards every ``REFRESH_EVERY`` batches.

    Args:
        data: folder of shards.
        settings: of the run.
        size: pictures of a batch.
        stream: what else, beside seed and step, a batch is a function of.
    """

    def __init__(self, data: Path, settings: Settings, size: int, stream: Sequence[int]) -> None:
        self.seed, self.size, self.stream = settings.seed, size, tuple(stream)
        self.corpus = Corpus(data, range(settings.held_out, settings.shards))
        self.corpus.refresh()
        self._taken = 0

    def __getitem__(self, step: int) -> Batch:
        self._taken += 1
        if self._taken % REFRESH_EVERY == 0:
            self.corpus.refresh()
        rng = np.random.default_rng([self.seed, step, *self.stream])
        return make_batch(self.corpus.take(self.corpus.draw(rng, self.size)), rng)

    def loader(self, steps: range, loaders: int) -> Iterator[Batch]:
        """The batches of some steps, in order."""
        return iter(DataLoader(self, batch_size=None, sampler=list(steps), num_workers=loaders,
                               prefetch_factor=3 if loaders else None,
                               worker_init_fn=_one_thread))


def _one_thread(_: int) -> None:
    cv2.setNumThreads(1)
    torch.set_num_threads(1)


class Trainer:
    """One of the data-parallel training processes."""

    def __init__(self, rank: int, settings: Settings, machine: Machine, data: Path, work: Path,
                 start: Path | None = None) -> None:
        self.rank, self.settings, self.machine = rank, settings, machine
        self.data, self.work = data, work
        torch.manual_seed(settings.seed)
        self.network = make_network()
        begin(self.network, start)
        self.network.to(machine.device)
        self.trunk = [p for name, p in self.network.named_parameters() if is_trunk(name)]
        heads = [p for name, p in self.network.named_parameters() if not is_trunk(name)]
        self.optimizer = torch.optim.AdamW([
            {'params': heads, 'lr': settings.rate, 'top': settings.rate},
            {'params': self.trunk, 'lr': 0.0, 'top': settings.trunk_rate}],
            betas=(0.9, 0.98), weight_decay=0.01)
        self.mean = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.step, self.seconds = 0, 0.0

    @property
    def checkpoint(self) -> Path:
        """File of the latest checkpoint."""
        return self.work / 'checkpoint.pt'

    def load(self) -> None:
        """Go on from the latest checkpoint."""
        state = torch.load(self.checkpoint, weights_only=True, map_location=self.machine.device)
        self.network.load_state_dict(state['network'])
        self.optimizer.load_state_dict(state['optimizer'])
        self.mean, self.step, self.seconds = state['mean'], state['step'], state['seconds']

    def store(self) -> None:
        """Write a checkpoint, whole or not at all."""
        if self.rank:
            return
        partial = self.checkpoint.with_suffix('.partial')
        torch.save({'network': self.network.state_dict(), 'mean': self.mean, 'step': self.step,
                    'optimizer': self.optimizer.state_dict(), 'seconds': self.seconds}, partial)
        partial.replace(self.checkpoint)

    def reduce(self) -> None:
        """Average the gradients over the processes."""
        if self.settings.processes == 1:
            return
        parameters = [p for p in self.network.parameters() if p.requires_grad]
        grads = [p.grad if p.grad is not None else torch.zeros_like(p) for p in parameters]
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        dist.all_reduce(flat)
        flat /= self.settings.processes
        for parameter, part in zip(parameters, flat.split([g.numel() for g in grads]),
                                   strict=True):
            parameter.grad = part.view_as(parameter)

    def average(self) -> None:
        """Take the weights into their running mean."""
        keep = min(0.99, self.step / (self.step + 9))
        for name, value in self.network.state_dict().items():
            if value.is_floating_point():
                self.mean[name].lerp_(value, 1 - keep)

    def log(self, **values: Any) -> None:
        """Write one JSON line to the screen and to the log file."""
        if self.rank:
            return
        line = json.dumps({'step': self.step, 'seconds': round(self.seconds), **values})
        print(line, flush=True)
        with (self.work / 'log.jsonl').open('a') as file:
            file.write(line + '\n')

    def _rates(self) -> None:
        """Learning rates of this step."""
        steps, first = self.settings.steps, self.settings.head_steps
        learns = self.step >= first
        for parameter in self.trunk:
            parameter.requires_grad_(learns)
        for part in (self.network.stem, self.network.four):
            part.requires_grad_(learns and self.settings.finest)
        fall = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * self.step / steps))
        for group, begun in zip(self.optimizer.param_groups, (0, first), strict=True):
            warm = min(1.0, max(0.0, (self.step - begun + 1) / max(1, min(50, steps // 10))))
            group['lr'] = group['top'] * fall * warm

    def learn_colours(self) -> None:
        """Train the colour layers alone."""
        network = self.network
        parameters = [*network.tint.parameters(), *network.colour.parameters()]
        steps, found = self.settings.colour_steps, []
        optimizer = torch.optim.AdamW(parameters, betas=(0.9, 0.98), weight_decay=0.01)
        batches = Batches(self.data, self.settings, 2 * self.settings.batch, (self.rank, 1))
        for step, batch in enumerate(batches.loader(range(steps), self.machine.loaders)):
            for group in optimizer.param_groups:
                group['lr'] = 5e-3 * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
            loss = colour_loss(network, batch.to(self.machine.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
            if (step + 1) % 50 == 0:
                self.log(colours=round(float(np.mean(found[-50:])), 3))
        self.mean = {name: value.clone() for name, value in network.state_dict().items()}

    def run(self, save_every: int, report_every: int) -> None:
        """Train from the present step to the last one.

        Normalisation goes by the statistics that the trunk brings: batches are small.
        """
        self.network.eval()
        figures: list[dict[str, Tensor]] = []
        batches = Batches(self.data, self.settings, self.settings.batch, (self.rank,))
        started = time.monotonic()
        for batch in batches.loader(range(self.step, self.settings.steps), self.machine.loaders):
            self._rates()
            rng = np.random.default_rng([self.settings.seed, self.step, self.rank, 2])
            parts = losses(self.network, batch.to(self.machine.device), rng)
            self.optimizer.zero_grad()
            torch.stack(list(parts.values())).sum().backward()
            self.reduce()
            nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
            self.optimizer.step()
            self.step += 1
            self.average()
            self.seconds, started = (self.seconds + time.monotonic() - started,
                                     time.monotonic())
            figures.append({key: value.detach() for key, value in parts.items()})
            if self.step % report_every == 0 or self.step == self.settings.steps:
                self.log(**{key: round(float(np.mean(
                    [one[key].item() for one in figures if key in one])), 3)
                    for key in figures[-1]})
                figures = []
            if self.step % save_every == 0 or self.step == self.settings.steps:
                self.store()


def make_network() -> Network:
    """The untrained network; torch's global generator decides the weights."""
    network = Network(Shape(words=1, categories=len(KINDS)), len(COLOURS))
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def begin(network: Network, start: Path | None) -> None:
    """Load the weights of a checkpoint, or those of the shipped locator of the same shape."""
    if start is not None:
        network.load_state_dict(torch.load(start, weights_only=True, map_location='cpu')['mean'])
        return
    weights = network.state_dict()
    located = load_file(SHIPPED / LOCATOR / LOCATOR_FILE)
    for name, value in located.items():
        own = name.removeprefix('vision.')
        if own != name and own in weights and weights[own].shape == value.shape:
            weights[own] = value.float()
    row_of = {name: k for k, name in enumerate(sorted(CATALOGUE))}
    rows = [row_of[_LIKE.get(name, name)] for name in KINDS]
    for part in ('weight', 'bias'):
        weights[f'category.{part}'] = located[f'vision.category_of.{part}'][rows].float()
    network.load_state_dict(weights)


def is_trunk(name: str) -> bool:
    """Whether a parameter belongs to the layers that are frozen at first."""
    return name.split('.')[0] in ('stem', 'four', 'eight', 'sixteen', 'token', 'layers', 'norm',
                                  'down_sixteen', 'mix_eight', 'down_eight', 'mix_four')


def worker(rank: int, settings: Settings, machine: Machine, data: Path, work: Path, resume: bool,
           start: Path | None, save_every: int, report_every: int) -> None:
    """Body of one process."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if settings.processes > 1:
        store = dist.FileStore(  # type: ignore[attr-defined]
            str(work / 'rendezvous'), settings.processes)
        dist.init_process_group('gloo', store=store, rank=rank, world_size=settings.processes,
                                timeout=timedelta(minutes=10))
    resume = resume and (work / 'checkpoint.pt').exists()
    trainer = Trainer(rank, settings, machine, data, work, None if resume else start)
    if resume:
        trainer.load()
    else:
        trainer.learn_colours()
    trainer.run(save_every, report_every)
    if settings.processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def export(work: Path, out: Path) -> None:
    """Write the model folder from the latest checkpoint, in half precision, not calibrated."""
    network = make_network()
    network.load_state_dict(torch.load(work / 'checkpoint.pt', weights_only=True,
                                       map_location='cpu')['mean'])
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous() for name, value in network.state_dict().items()
               if value.is_floating_point()}, out / WEIGHTS_FILE)
    (out / SETTINGS_FILE).write_text(json.dumps({
        'shape': dataclasses.asdict(network.shape), 'categories': KINDS, 'colours': COLOURS,
        'calibration': NO_CALIBRATION}, indent=1) + '\n')


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    default = Settings()
    parser = argparse.ArgumentParser(description=__doc__)
    build = Path('build/training/detector')
    parser.add_argument('--data', type=Path, default=build / 'tables',
                        help='folder of shards; missing ones are rendered first')
    parser.add_argument('--work', type=Path, default=build / 'work', help='checkpoints and log')
    parser.add_argument('--out', type=Path, default=None, help='model folder to write at the end')
    parser.add_argument('--seed', type=int, default=default.seed)
    parser.add_argument('--steps', type=int, default=default.steps)
    parser.add_argument('--colour-steps', type=int, default=default.colour_steps,
                        help='before all others, in which only colours are learned')
    parser.add_argument('--head-steps', type=int, default=default.head_steps,
                        help='first steps, in which the trunk stands still')
    parser.add_argument('--rate', type=float, default=default.rate, help='peak, of the heads')
    parser.add_argument('--trunk-rate', type=float, default=default.trunk_rate,
                        help='peak, of the trunk')
    parser.add_argument('--batch', type=int, default=default.batch, help='pictures per process')
    parser.add_argument('--processes', type=int, default=default.processes)
    parser.add_argument('--renderers', type=int, default=0,
                        help='processes that render; 0: as many as learn')
    parser.add_argument('--shards', type=int, default=default.shards)
    parser.add_argument('--pictures', type=int, default=24, help='of a shard')
    parser.add_argument('--held-out', type=int, default=default.held_out,
                        help='first shards kept for validation')
    parser.add_argument('--finest', action='store_true',
                        help="the trunk's finest maps learn too")
    parser.add_argument('--device', choices=('cpu', 'cuda'), default='cpu')
    parser.add_argument('--loaders', type=int, default=0,
                        help='processes that make batches; 0: the one that learns makes them')
    parser.add_argument('--save-every', type=int, default=100)
    parser.add_argument('--report-every', type=int, default=20)
    parser.add_argument('--resume', action='store_true', help='go on from the last checkpoint')
    parser.add_argument('--start', type=Path, default=None, metavar='CHECKPOINT',
                        help='begin with the weights of another run')
    parser.add_argument('--no-render', action='store_true',
                        help='use the shards that are there; new ones are picked up as they come')
    parser.add_argument('--export-only', action='store_true',
                        help='write the model folder from the last checkpoint and stop')
    args = parser.parse_args(argv)
    if args.export_only:
        if args.out is None:
            parser.error('--export-only needs --out')
        export(args.work, args.out)
        return
    if not args.no_render:
        render(args.data, 0, args.shards, args.renderers or args.processes,
               drawer_of_shards(args.pictures))
    settings = Settings(args.seed, args.steps, args.colour_steps, args.head_steps, args.rate,
                        args.trunk_rate, args.batch, args.processes, args.shards, args.held_out,
                        args.finest)
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / 'rendezvous').unlink(missing_ok=True)
    if not args.resume:
        for name in ('log.jsonl', 'checkpoint.pt'):
            (args.work / name).unlink(missing_ok=True)
    (args.work / 'settings.json').write_text(json.dumps(dataclasses.asdict(settings)) + '\n')
    rest = (settings, Machine(args.device, args.loaders), args.data, args.work, args.resume,
            args.start, args.save_every, args.report_every)
    if settings.processes == 1:
        worker(0, *rest)
    else:
        spawn(worker, rest, nprocs=settings.processes)
    if args.out is not None:
        export(args.work, args.out)
        print(f'model written to {args.out}')


if __name__ == '__main__':
    main()
