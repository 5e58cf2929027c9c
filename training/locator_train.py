#!/usr/bin/env python3
"""Train the locator of the backend ``embedded`` from scratch on rendered scenes, on CPU.

First the vision alone learns, from what is known of every place: where the centre of the thing
there is, its size and its category. A step of that costs less than half of one with words. Then
all learns together, all targets of a picture at once, the picture being encoded once;
beside the heat maps, and those of an inner layer, which thing a target is about and which things a
word names (deep supervision).
What is exported is a running mean of the weights. Every batch is a function of seed, step and
process, so a run that was interrupted goes on exactly (--resume).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 (its usual name)
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn

from locator_data import THINGS, Batch, Batches, Vocabulary, drawer
from shards import Corpus, render
from sightplan_models._embedded_locator import SETTINGS_FILE, WEIGHTS_FILE
from sightplan_models._locator_network import MAP, Network, Pointed, Seen, Shape, Vision, pooled

NO_CALIBRATION = (0.0, 1.0, 0.0)
SOURCES = ('tabletop:15', 'blocksworld:1', 'household:1')


@dataclass(frozen=True)
class Settings:
    """Settings of a training run.

    Attributes:
        seed: of weights and batches.
        steps: in all.
        vision_steps: the first of them, in which the vision alone learns.
        rate: learning rate at its peak.
        batch: pictures of a process and step.
        targets: of a picture, at most.
        processes: data-parallel ones, of one thread each.
        shards: of the corpus, with those held out.
        held_out: first shards, for validation.
        bfloat16: whether to compute in mixed precision.
    """

    seed: int = 0
    steps: int = 9000
    vision_steps: int = 3000
    rate: float = 1.2e-3
    batch: int = 8
    targets: int = 12
    processes: int = 1
    shards: int = 238
    held_out: int = 2
    bfloat16: bool = True


# Losses ----------------------------------------------------------------------------------------

def losses(vision: Vision, seen: Seen, replies: list[Pointed], batch: Batch) -> dict[str, Tensor]:
    """The weighted parts of the loss by name."""
    parts = {f'{key} {number}': value * weight for number, (reply, weight) in enumerate(
        zip(replies[::-1], (1.0, 0.5), strict=False)) for key, value in
        _pointing(seen, reply, batch).items()}
    return parts | dense_losses(vision, seen, batch)


def _pointing(seen: Seen, reply: Pointed, batch: Batch) -> dict[str, Tensor]:
    used, present = batch.used, batch.used & ~batch.absent
    mask = batch.mask
    if reply.mask.shape[2:] != MAP:
        mask = F.max_pool2d(mask.float(), 2) > 0
    logits, truth = reply.mask[used], mask[used].float()
    area = truth.sum((1, 2))
    cross = F.binary_cross_entropy_with_logits(logits, truth, reduction='none').sum((1, 2))
    chance = logits.sigmoid()
    dice = 1 - (2 * (chance * truth).sum((1, 2)) + 10) / (
        (chance**2).sum((1, 2)) + area + 10)
    point = torch.cat([reply.point[used].flatten(1), reply.absent[used][:, None]], 1)
    right = torch.cat([truth.flatten(1) > 0, batch.absent[used][:, None]], 1)
    hit = (point.logsumexp(1) - point.masked_fill(~right, -1e9).logsumexp(1)).clamp(max=20)
    owner = batch.owner.flatten(1).gather(1, seen.at)
    about = (owner[:, None] == batch.piece[..., None]) & (batch.piece > 0)[..., None]
    known = present & about.any(-1)
    chosen = reply.chosen[known]
    choice = chosen.logsumexp(1) - chosen.masked_fill(~about[known], -1e9).logsumexp(1)
    out = {'mask': (cross / (area + 40)).mean(), 'dice': dice.mean(), 'point': hit.mean(),
           'choice': choice.mean() if len(choice) else chosen.sum()}
    named = batch.named.gather(3, owner[:, None, None].expand(*batch.named.shape[:3], -1))
    said = named.any(-1) & ~batch.padding
    if said.any():
        out['name'] = F.binary_cross_entropy_with_logits(reply.meant[said], named[said].float())
    return out


def dense_losses(vision: Vision, seen: Seen, batch: Batch) -> dict[str, Tensor]:
    """The parts of the loss that do not depend on the question: which things are where.

    A thing's category is learned from the mean of what is known where it is: from each place by
    itself it is learned more slowly (2.7 against 2.1 nats after 150 steps).
    """
    logits, heat = seen.dense[:, 0], batch.heat
    there = heat > 0.999
    chance = logits.sigmoid()
    focal = torch.where(there, (1 - chance)**2 * F.softplus(-logits),
                        (1 - heat)**4 * chance**2 * F.softplus(logits))
    owned = (batch.owner > 0)[:, None].float()
    near = (F.smooth_l1_loss(seen.dense[:, 1:5], batch.where, reduction='none', beta=0.02)
            * owned).sum() / (4 * owned.sum() + 1)
    owns = F.one_hot(batch.owner, THINGS + 1).permute(0, 3, 1, 2).float()[:, 1:]
    shown = owns.flatten(2).any(-1) & (batch.category > 0)
    known = vision.category(pooled(seen.maps, owns)[shown])
    owner = batch.owner.flatten(1).gather(1, seen.at)
    kind = F.pad(batch.category, (1, 0)).gather(1, owner)
    guess = vision.category_of(seen.things[kind > 0].float())
    return {'centre': 0.5 * focal.sum() / (there.sum() + 1), 'where': 10 * near,
            'owned': F.binary_cross_entropy_with_logits(seen.dense[:, 5:], owned),
            'category': 2 * F.cross_entropy(known, batch.category[shown] - 1),
            'token': F.cross_entropy(guess, kind[kind > 0] - 1, reduction='sum')
            / max(1, len(guess))}


# Training --------------------------------------------------------------------------------------

class Trainer:
    """One of the data-parallel training processes."""

    def __init__(self, rank: int, settings: Settings, data: Path, work: Path,
                 start: Path | None = None) -> None:
        self.rank, self.settings, self.work = rank, settings, work
        torch.manual_seed(settings.seed)
        self.corpus = Corpus(data, range(settings.held_out, settings.shards))
        self.corpus.refresh()
        self.validation = Corpus(data, range(settings.held_out))
        self.vocabulary = self._vocabulary(start)
        self.network = make_network(self.vocabulary)
        self.batches = Batches(self.vocabulary, self.network.shape.grams, settings.targets)
        decay = [p for p in self.network.parameters() if p.ndim > 1]
        self.optimizer = torch.optim.AdamW(
            [{'params': decay, 'weight_decay': 0.02},
             {'params': [p for p in self.network.parameters() if p.ndim <= 1],
              'weight_decay': 0.0}], lr=settings.rate, betas=(0.9, 0.98), fused=True)
        self.mean = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.step, self.seconds = 0, 0.0
        if start is not None:
            self._begin_with(start)

    def _vocabulary(self, start: Path | None) -> Vocabulary:
        """Vocabulary of the work folder; it is made from the shards once and kept.

        What another run knows, which this one starts with, comes first.
        """
        path = self.work / 'vocabulary.json'
        if not path.exists() and not self.rank:
            texts = [str(text) for part in self.corpus.parts for text in part['text'].ravel()
                     if text]
            names = [str(name) for part in self.corpus.parts for name in part['category'].ravel()]
            partial = path.with_suffix('.partial')
            made = Vocabulary.of(texts, names)
            if start is not None:
                made = read_vocabulary(start.parent).extended(made)
            partial.write_text(json.dumps(dataclasses.asdict(made)))
            partial.replace(path)
        while not path.exists():
            time.sleep(0.2)
        return read_vocabulary(self.work)

    @property
    def checkpoint(self) -> Path:
        """File of the latest checkpoint."""
        return self.work / 'checkpoint.pt'

    def load(self) -> None:
        """Go on from the latest checkpoint."""
        state = torch.load(self.checkpoint, weights_only=True)
        self.network.load_state_dict(state['network'])
        self.optimizer.load_state_dict(state['optimizer'])
        self.mean, self.step, self.seconds = state['mean'], state['step'], state['seconds']

    def _begin_with(self, checkpoint: Path) -> None:
        """Begin with the mean weights of another run; it may have known fewer words and things."""
        weights = self.network.state_dict()
        for name, value in torch.load(checkpoint, weights_only=True)['mean'].items():
            weights[name][tuple(map(slice, value.shape))] = value
        self.network.load_state_dict(weights)
        self.mean = {name: value.clone() for name, value in self.network.state_dict().items()}

    def store(self) -> None:
        """Write a checkpoint, whole or not at all."""
        if self.rank:
            return
        partial = self.checkpoint.with_suffix('.partial')
        torch.save({'network': self.network.state_dict(), 'mean': self.mean, 'step': self.step,
                    'optimizer': self.optimizer.state_dict(), 'seconds': self.seconds}, partial)
        partial.replace(self.checkpoint)

    def loss(self) -> dict[str, Tensor]:
        """The parts of this step's loss."""
        rng = np.random.default_rng([self.settings.seed, self.step, self.rank])
        data = self.corpus.take(self.corpus.draw(rng, self.settings.batch))
        batch = self.batches.make(data, rng)
        with torch.autocast('cpu', torch.bfloat16, enabled=self.settings.bfloat16):
            if self.step < self.settings.vision_steps:
                seen, replies = self.network.look(batch.picture), None
            else:
                seen, replies = forward(self.network, batch, all_layers=True)
        if replies is None:
            return dense_losses(self.network.vision, seen, batch)
        return losses(self.network.vision, seen, replies, batch)

    def reduce(self) -> None:
        """Average the gradients over the processes."""
        if self.settings.processes == 1:
            return
        grads = [p.grad if p.grad is not None else torch.zeros_like(p)
                 for p in self.network.parameters()]
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        dist.all_reduce(flat)
        flat /= self.settings.processes
        for parameter, part in zip(self.network.parameters(),
                                   flat.split([g.numel() for g in grads]), strict=True):
            # In the parameter's own memory layout, which the fused optimizer takes for granted.
            parameter.grad = torch.empty_like(parameter).copy_(part.view_as(parameter))

    def average(self) -> None:
        """Take the weights into their running mean."""
        keep = min(0.999, self.step / (self.step + 9))
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

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Share of points on the mask by kind, of scenes that were not learned from."""
        if not self.settings.held_out:
            return {}
        self.validation.refresh()
        network = Network(self.network.shape).eval()
        network.load_state_dict(self.mean)
        hits: dict[str, list[bool]] = {}
        for start in range(0, min(len(self.validation), 160), 8):
            index = np.arange(start, min(start + 8, len(self.validation)))
            batch = self.batches.make(self.validation.take(index), None)
            reply = forward(network, batch)[1][-1]
            on = batch.mask.flatten(2).gather(2, best(reply)[..., None])[..., 0]
            for row, kinds in zip(on.tolist(), batch.kind, strict=True):
                for hit, kind in zip(row, kinds, strict=False):
                    hits.setdefault(kind, []).append(hit)
        return {kind: round(float(np.mean(hit)), 3) for kind, hit in sorted(hits.items())}

    def run(self, save_every: int, report_every: int) -> None:
        """Train from the present step to the last one."""
        self.network.train()
        steps, figures = self.settings.steps, []
        warm = min(200, max(1, steps // 10))
        while self.step < steps:
            started = time.monotonic()
            begun = self.settings.vision_steps if self.step >= self.settings.vision_steps else 0
            factor = min(1.0, (self.step - begun + 1) / warm) * (
                0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * self.step / steps)))
            for group in self.optimizer.param_groups:
                group['lr'] = self.settings.rate * factor
            parts = self.loss()
            self.optimizer.zero_grad()
            torch.stack(list(parts.values())).sum().backward()
            self.reduce()
            nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
            self.optimizer.step()
            self.step += 1
            self.average()
            self.seconds += time.monotonic() - started
            figures.append({key: value.item() for key, value in parts.items()})
            if self.step % report_every == 0 or self.step == steps:
                self.log(scenes=len(self.corpus), **{key: round(float(np.mean(
                    [one[key] for one in figures if key in one])), 3) for key in figures[-1]})
                figures = []
            if self.step % save_every == 0 or self.step == steps:
                if not self.rank and self.step > self.settings.vision_steps:
                    self.log(validation=self.validate())
                self.store()
                self.corpus.refresh()


def turns(sources: Sequence[str]) -> tuple[str, ...]:
    """Makers of scenes in the order in which they draw shards, from ``NAME:SHARDS`` each.

    Raises:
        SystemExit: a number is none.
    """
    found: list[str] = []
    for source in sources:
        name, _, number = source.rpartition(':')
        if not name or not number.isdigit() or not int(number):
            raise SystemExit(f'--source {source}: write NAME:SHARDS, such as tabletop:8')
        found += [name] * int(number)
    return tuple(found)


def forward(network: Network, batch: Batch, all_layers: bool = False,
            ) -> tuple[Seen, list[Pointed]]:
    """A batch through the network."""
    seen = network.look(batch.picture)
    words = network.words(batch.word, batch.grams, batch.starts)
    return seen, network.point(seen, words[batch.text], batch.padding, all_layers)


def best(reply: Pointed) -> Tensor:
    """(B, T) the likeliest place of each target in the flattened heat map."""
    flat = reply.point.flatten(2)
    chance = flat.softmax(-1).view_as(reply.point)
    return F.avg_pool2d(chance, 3, 1, 1, count_include_pad=False).flatten(2).argmax(-1)


def make_network(vocabulary: Vocabulary) -> Network:
    """The untrained network; torch's global generator decides the weights."""
    network = Network(Shape(len(vocabulary.words), len(vocabulary.categories)))
    network.vision.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return network


def read_vocabulary(work: Path) -> Vocabulary:
    """Read the vocabulary of a work folder."""
    found = json.loads((work / 'vocabulary.json').read_text())
    return Vocabulary(tuple(found['words']), tuple(found['categories']))


def worker(rank: int, settings: Settings, data: Path, work: Path, resume: bool,
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
    trainer = Trainer(rank, settings, data, work, None if resume else start)
    if resume:
        trainer.load()
    trainer.run(save_every, report_every)
    if settings.processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def export(work: Path, out: Path) -> None:
    """Write the model folder from the latest checkpoint, in half precision."""
    vocabulary = read_vocabulary(work)
    network = make_network(vocabulary)
    network.load_state_dict(torch.load(work / 'checkpoint.pt', weights_only=True)['mean'])
    out.mkdir(parents=True, exist_ok=True)
    save_file({name: value.half().contiguous() for name, value in network.state_dict().items()
               if value.is_floating_point()}, out / WEIGHTS_FILE)
    (out / SETTINGS_FILE).write_text(json.dumps({
        'shape': dataclasses.asdict(network.shape), 'calibration': NO_CALIBRATION,
        'words': vocabulary.words[1:]}, indent=1) + '\n')


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    default = Settings()
    parser = argparse.ArgumentParser(description=__doc__)
    build = Path('build/training/locator')
    parser.add_argument('--source', nargs='+', default=SOURCES, metavar='NAME:SHARDS',
                        help='makers of the scenes, and how many shards in turn each draws '
                             f'(default: {" ".join(SOURCES)})')
    parser.add_argument('--data', type=Path, default=build / 'scenes',
                        help='folder of shards; missing ones are rendered first')
    parser.add_argument('--work', type=Path, default=build / 'work', help='checkpoints and log')
    parser.add_argument('--out', type=Path, default=None, help='model folder to write at the end')
    parser.add_argument('--seed', type=int, default=default.seed)
    parser.add_argument('--steps', type=int, default=default.steps)
    parser.add_argument('--vision-steps', type=int, default=default.vision_steps,
                        help='first steps, in which the vision alone learns')
    parser.add_argument('--rate', type=float, default=default.rate, help='peak learning rate')
    parser.add_argument('--batch', type=int, default=default.batch, help='pictures per process')
    parser.add_argument('--targets', type=int, default=default.targets, help='per picture')
    parser.add_argument('--processes', type=int, default=default.processes)
    parser.add_argument('--shards', type=int, default=default.shards)
    parser.add_argument('--scenes', type=int, default=50, help='of a shard')
    parser.add_argument('--held-out', type=int, default=default.held_out,
                        help='first shards kept for validation')
    parser.add_argument('--bfloat16', action=argparse.BooleanOptionalAction,
                        default=default.bfloat16, help='train in mixed precision')
    parser.add_argument('--save-every', type=int, default=250)
    parser.add_argument('--report-every', type=int, default=25)
    parser.add_argument('--resume', action='store_true', help='go on from the last checkpoint')
    parser.add_argument('--start', type=Path, default=None, metavar='CHECKPOINT',
                        help='begin with the weights of another run')
    parser.add_argument('--no-render', action='store_true',
                        help='use the shards that are there; new ones are picked up as they come')
    parser.add_argument('--render-only', action='store_true', help='stop after rendering')
    parser.add_argument('--export-only', action='store_true',
                        help='write the model folder from the last checkpoint and stop')
    args = parser.parse_args(argv)
    if args.export_only:
        if args.out is None:
            parser.error('--export-only needs --out')
        export(args.work, args.out)
        return
    if not args.no_render:
        render(args.data, 0, args.shards, args.processes, drawer(turns(args.source), args.scenes))
    if args.render_only:
        return
    settings = Settings(args.seed, args.steps, args.vision_steps, args.rate, args.batch,
                        args.targets, args.processes, args.shards, args.held_out, args.bfloat16)
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / 'rendezvous').unlink(missing_ok=True)
    if not args.resume:
        for name in ('log.jsonl', 'checkpoint.pt', 'vocabulary.json'):
            (args.work / name).unlink(missing_ok=True)
    (args.work / 'settings.json').write_text(json.dumps(dataclasses.asdict(settings)) + '\n')
    rest = (settings, args.data, args.work, args.resume, args.start, args.save_every,
            args.report_every)
    if settings.processes == 1:
        worker(0, *rest)
    else:
        spawn(worker, rest, nprocs=settings.processes)
    if args.out is not None:
        export(args.work, args.out)
        print(f'model written to {args.out}')


if __name__ == '__main__':
    main()
