#!/usr/bin/env python3
"""Train the embedded vision-language model from scratch on rendered scenes, on CPU.

Three stages: (1) the vision tower alone, on dense labels of every image patch (colour, column,
height, block above, block below, number of columns); (2) the decoder on questions, the tower
frozen; (3) everything together. Throughout, heads on the hidden state of each colour or column
word after the first decoder layer must tell where that thing is (deep supervision); the heads are
thrown away at the end. What is exported is the mean of the weights over the last fifth of stage 3,
which is better than any of them. Every batch is a function of seed, stage, step and process, so a
run that was interrupted goes on exactly (--resume).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import os
import random
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import nn

import embedded_questions as questions
from embedded_model import COLOURS, COLUMNS, Shape, make_model, make_processor, save
from embedded_packed import answer_logits, patch_features
from embedded_scenes import Recipe, read_shards, shard_path
from render_scenes import render

PATCH_HEADS = {'colour': 7, 'column': 8, 'height': 6, 'above': 7, 'below': 7, 'count': 8}
COLOUR_HEADS = {'w_column': 9, 'w_height': 7, 'w_above': 8, 'w_below': 8}
COLUMN_HEADS = {'w_there': 2, 'w_blocks': 7, 'w_top': 8}
COLOUR_IDS = torch.tensor([questions.ID[w] for w in COLOURS])
COLUMN_IDS = torch.tensor([questions.ID[w] for w in COLUMNS])


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that decides the result, written beside the weights."""

    seed: int = 0
    steps: tuple[int, int, int] = (560, 420, 2000)
    rates: tuple[float, float, float] = (1.5e-3, 1.5e-3, 5e-4)
    batch: int = 32
    questions: int = 24
    processes: int = 2
    shards: int = 130
    weight_decay: float = 0.03


class Corpus:
    """The scenes of a folder; picks up shards that appear while training runs."""

    def __init__(self, folder: Path, shards: int, held_out: int) -> None:
        self.folder, self.shards, self.held_out = folder, shards, held_out
        self.paths: list[Path] = []
        self.data: dict[str, Any] = {}

    def refresh(self) -> int:
        """Read new shards; returns the number of scenes."""
        found = [p for p in (shard_path(self.folder, s) for s in range(self.held_out,
                                                                       self.shards))
                 if p.exists() and p not in self.paths]
        if found:
            more = read_shards(found)
            self.data = {k: np.concatenate([self.data[k], v]) if self.data else v
                         for k, v in more.items()}
            self.paths += found
        if not self.data:
            raise SystemExit(f'{self.folder} holds no shards; run render_scenes.py first')
        return len(self.data['columns'])


def batch_of(data: dict[str, Any], index: np.ndarray, rng: np.random.Generator | None,
             ) -> tuple[torch.Tensor, np.ndarray, np.ndarray, np.ndarray]:
    """Pixels in [-1, 1], patch colours, tables and column counts; augmented if rng is given."""
    image = torch.from_numpy(data['image'][index]).permute(0, 3, 1, 2).float() / 127.5 - 1
    patch = data['patch'][index].astype(np.int64)
    table, columns = data['table'][index].copy(), data['columns'][index]
    if rng is None:
        return image, patch, table, columns
    n = len(index)
    for i in np.flatnonzero(rng.random(n) < 0.5):  # mirrored: columns count from the other side
        image[i] = image[i].flip(-1)
        patch[i] = patch[i][:, ::-1]
        there = table[i, :, 0] >= 0
        table[i, there, 0] = columns[i] - 1 - table[i, there, 0]

    def noise(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.uniform(-1, 1, shape).astype(np.float32))

    image = image * (1 + 0.08 * noise(n, 1, 1, 1)) + 0.06 * noise(n, 1, 1, 1)
    image = image + 0.03 * noise(n, 3, 1, 1)
    dy, dx = rng.integers(-1, 2, 2)
    if dy or dx:
        height, width = image.shape[2:]
        image = F.pad(image, (1, 1, 1, 1), mode='replicate')[
            :, :, 1 + dy:1 + dy + height, 1 + dx:1 + dx + width]
    return image, patch, table, columns


def patch_targets(patch: np.ndarray, table: np.ndarray, columns: np.ndarray) -> torch.Tensor:
    """(n, patches, 6): colour, column, height, above, below, columns - 1; -100 off the blocks."""
    n = len(patch)
    flat = patch.reshape(n, -1)
    labels = questions.scene_labels(table, columns)[:, :6]
    per_block = labels[np.arange(n)[:, None], np.maximum(flat - 1, 0)]
    per_block = np.where(flat[..., None] > 0, per_block, -100)
    count = np.broadcast_to((columns.astype(np.int64) - 1)[:, None, None], (*flat.shape, 1))
    return torch.from_numpy(np.concatenate([flat[..., None], per_block, count], -1))


def patch_loss(heads: nn.ModuleDict, features: torch.Tensor, target: torch.Tensor,
               ) -> tuple[torch.Tensor, list[float]]:
    """Dense supervision of the vision tower; the loss and each head's accuracy."""
    normed = F.layer_norm(features, features.shape[-1:])
    weight = torch.tensor([0.15] + [1.0] * 6)
    losses, accuracies = [], []
    for k, name in enumerate(PATCH_HEADS):
        logits = heads[name](normed).flatten(0, 1)
        goal = target[..., k].flatten()
        if name == 'colour':
            losses.append(F.cross_entropy(logits, goal, weight=weight))
            counted = goal > 0
        else:
            losses.append(0.5 * F.cross_entropy(logits, goal))
            counted = goal >= 0
        hit = (logits.argmax(-1) == goal)[counted]
        accuracies.append(float(hit.float().mean()))
    return torch.stack(losses).sum(), accuracies


def align_loss(model: nn.Module, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Projected block patches should resemble the words for their colour and column."""
    on_block = target[..., 0] > 0
    hidden = features.shape[-1:]
    projected = F.layer_norm(model.model.multi_modal_projector(features[on_block]), hidden)
    words = model.get_input_embeddings().weight
    scale = 2 / math.sqrt(hidden[0])
    total = projected.new_zeros(())
    for ids, k in ((COLOUR_IDS, 0), (COLUMN_IDS, 1)):
        logits = projected @ F.layer_norm(words[ids], hidden).T * scale
        goal = target[..., k][on_block]
        total = total + F.cross_entropy(logits, goal - 1 if k == 0 else goal)
    return total


def word_loss(heads: nn.ModuleDict, hidden: torch.Tensor, ids: torch.Tensor,
              labels: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Deep supervision: a colour or column word must know its place after one decoder layer.

    Args:
        heads: the auxiliary heads.
        hidden: (B, Q, L, hidden) after the first decoder layer.
        ids: (B, Q, L) question tokens.
        labels: (B, 14, 4) of ``questions.scene_labels``.

    Returns:
        The loss, and the accuracy of the colour words' column and neighbours.
    """
    normed = F.layer_norm(hidden, hidden.shape[-1:])
    batch = torch.arange(len(ids))[:, None, None].expand_as(ids)
    losses, hits = [], []
    for words, names, first in ((COLOUR_IDS, COLOUR_HEADS, 0), (COLUMN_IDS, COLUMN_HEADS, 6)):
        which = (ids[..., None] == words).long()
        mask = which.any(-1)
        row = labels[batch[mask], first + which.argmax(-1)[mask]]
        state = normed[mask]
        for k, name in enumerate(names):
            logits = heads[name](state)
            losses.append(F.cross_entropy(logits, row[:, k]) * (0.25 if first == 0 else 0.1))
            if first == 0:
                hits.append((logits.argmax(-1) == row[:, k]).float().mean())
    return torch.stack(losses).sum(), float(torch.stack(hits).mean())


def ask(rng: random.Random, table: np.ndarray, columns: np.ndarray, count: int,
        ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Questions about a batch: ids (B, Q, L), answer positions, answers and kinds (B, Q)."""
    rows = []
    for scene, n in zip(table.tolist(), columns.tolist(), strict=True):
        truth = questions.SceneTruth(scene, n)
        rows.append([questions.sample(rng, truth) for _ in range(count)])
    ids, position, answer, kind = (torch.tensor([[q[k] for q in row] for row in rows])
                                   for k in range(4))
    return ids, position, answer, kind


class Trainer:
    """One of the data-parallel processes."""

    def __init__(self, rank: int, settings: Settings, data: Path, work: Path,
                 held_out: int) -> None:
        self.rank, self.settings, self.work = rank, settings, work
        torch.manual_seed(settings.seed)
        self.shape = Shape()
        self.model = make_model(self.shape)
        self.heads = nn.ModuleDict({name: nn.Linear(self.shape.hidden, size) for name, size in
                                    (PATCH_HEADS | COLOUR_HEADS | COLUMN_HEADS).items()})
        self.corpus = Corpus(data, settings.shards, held_out)
        self.validation = None
        if held_out and rank == 0:
            self.validation = read_shards([shard_path(data, s) for s in range(held_out)])
        self.stage, self.step = 1, 0
        self.mean: dict[str, torch.Tensor] = {}
        self.averaged = 0
        self.optimizer: torch.optim.AdamW | None = None
        self.seconds = 0.0

    @property
    def checkpoint(self) -> Path:
        """File of the latest checkpoint."""
        return self.work / 'checkpoint.pt'

    def load(self) -> None:
        """Go on from the latest checkpoint."""
        state = torch.load(self.checkpoint, weights_only=True)
        self.model.load_state_dict(state['model'])
        self.heads.load_state_dict(state['heads'])
        self.stage, self.step, self.seconds = state['stage'], state['step'], state['seconds']
        self.mean, self.averaged = state['mean'], state['averaged']
        if state['optimizer'] is not None:
            self._make_optimizer()
            assert self.optimizer is not None
            self.optimizer.load_state_dict(state['optimizer'])

    def store(self) -> None:
        """Write a checkpoint, whole or not at all."""
        if self.rank:
            return
        partial = self.checkpoint.with_suffix('.partial')
        torch.save({'model': self.model.state_dict(), 'heads': self.heads.state_dict(),
                    'stage': self.stage, 'step': self.step, 'seconds': self.seconds,
                    'mean': self.mean, 'averaged': self.averaged,
                    'optimizer': self.optimizer.state_dict() if self.optimizer else None},
                   partial)
        partial.replace(self.checkpoint)

    def average(self) -> None:
        """Take the weights into the mean of the last stage's end, which is what is exported."""
        self.averaged += 1
        for name, value in self.model.state_dict().items():
            if name not in self.mean:
                self.mean[name] = value.clone()
            else:
                self.mean[name] += (value - self.mean[name]) / self.averaged

    def trained(self) -> list[nn.Parameter]:
        """The parameters of this stage."""
        tower = [p for k, p in self.model.named_parameters() if 'vision_tower' in k]
        rest = [p for k, p in self.model.named_parameters() if 'vision_tower' not in k]
        heads = list(self.heads.parameters())
        if self.stage == 1:
            projector = list(self.model.model.multi_modal_projector.parameters())
            return tower + projector + [self.model.get_input_embeddings().weight] + heads
        return (rest if self.stage == 2 else tower + rest) + heads

    def _make_optimizer(self) -> None:
        self.optimizer = torch.optim.AdamW(
            self.trained(), lr=self.settings.rates[self.stage - 1], betas=(0.9, 0.98),
            weight_decay=self.settings.weight_decay, fused=True)

    def loss(self) -> tuple[torch.Tensor, list[float]]:
        """The loss of this step's batch and figures for the log."""
        key = [self.settings.seed, self.stage, self.step, self.rank]
        rng = np.random.default_rng(key)
        index = rng.integers(0, len(self.corpus.data['columns']), self.settings.batch)
        image, patch, table, columns = batch_of(self.corpus.data, index, rng)
        target = patch_targets(patch, table, columns)
        if self.stage == 2:
            with torch.no_grad():
                features = patch_features(self.model, image)
        else:
            features = patch_features(self.model, image)
        total = 0.5 * align_loss(self.model, features, target)
        if self.stage == 1:
            dense, accuracies = patch_loss(self.heads, features, target)
            return total + dense, [dense.item(), *accuracies]
        ids, position, answer, _ = ask(random.Random(str(key)), table, columns,
                                       self.settings.questions)
        logits, hidden = answer_logits(self.model, features, ids, position)
        cross = F.cross_entropy(logits.flatten(0, 1), answer.flatten())
        labels = torch.from_numpy(questions.scene_labels(table, columns))
        deep, deep_accuracy = word_loss(self.heads, hidden, ids, labels)
        total = 0.6 * total + cross + deep
        if self.stage == 3:
            dense, _ = patch_loss(self.heads, features, target)
            total = total + 0.6 * dense
        yes_no = (answer == questions.YES) | (answer == questions.NO)
        hit = logits.argmax(-1) == answer
        return total, [cross.item(), float(hit[yes_no].float().mean()),
                       float(hit[~yes_no].float().mean()), deep.item(), deep_accuracy]

    def reduce(self, parameters: list[nn.Parameter]) -> None:
        """Average the gradients over the processes."""
        if self.settings.processes == 1:
            return
        grads = [p.grad for p in parameters if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in grads])
        dist.all_reduce(flat)
        flat /= self.settings.processes
        start = 0
        for grad in grads:
            grad.copy_(flat[start:start + grad.numel()].view_as(grad))
            start += grad.numel()

    def log(self, **values: Any) -> None:
        """One JSON line on screen and in the log file."""
        if self.rank:
            return
        line = json.dumps({'stage': self.stage, 'step': self.step,
                           'seconds': round(self.seconds), **values})
        print(line, flush=True)
        with (self.work / 'log.jsonl').open('a') as file:
            file.write(line + '\n')

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Accuracy per kind of question on held-out scenes."""
        if self.validation is None:
            return {}
        right: dict[str, list[bool]] = {}
        rng = random.Random(1)
        for start in range(0, len(self.validation['columns']), 50):
            index = np.arange(start, min(start + 50, len(self.validation['columns'])))
            image, _, table, columns = batch_of(self.validation, index, None)
            ids, position, answer, kind = ask(rng, table, columns, 30)
            logits, _ = answer_logits(self.model, patch_features(self.model, image), ids,
                                      position)
            hit = (logits.argmax(-1) == answer).flatten().tolist()
            for ok, k in zip(hit, kind.flatten().tolist(), strict=True):
                right.setdefault(questions.KINDS[k], []).append(ok)
        return {k: round(float(np.mean(v)), 4) for k, v in sorted(right.items())}

    def run(self, save_every: int, report_every: int) -> None:
        """All stages from where we are."""
        self.corpus.refresh()
        while self.stage <= 3:
            steps, rate = self.settings.steps[self.stage - 1], self.settings.rates[self.stage - 1]
            if self.optimizer is None:
                self._make_optimizer()
            assert self.optimizer is not None
            parameters, figures = self.trained(), []
            warm = min(150, max(1, steps // 10))
            while self.step < steps:
                started = time.monotonic()
                part = self.step / steps
                factor = min(1.0, (self.step + 1) / warm) * (
                    0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * part)))
                for group in self.optimizer.param_groups:
                    group['lr'] = rate * factor
                loss, values = self.loss()
                self.optimizer.zero_grad()
                loss.backward()
                self.reduce(parameters)
                nn.utils.clip_grad_norm_(parameters, 1.0)
                self.optimizer.step()
                self.step += 1
                self.seconds += time.monotonic() - started
                figures.append(values)
                if self.stage == 3 and self.step > 0.8 * steps and (
                        self.step % 20 == 0 or self.step == steps):
                    self.average()
                if self.step % report_every == 0 or self.step == steps:
                    self.log(means=np.mean(figures, 0).round(4).tolist(),
                             scenes=len(self.corpus.data['columns']))
                    figures = []
                if self.step % save_every == 0 or self.step == steps:
                    if self.stage > 1 and not self.rank:
                        self.log(validation=self.validate())
                    self.store()
                    self.corpus.refresh()
            self.stage, self.step, self.optimizer = self.stage + 1, 0, None
            self.store()


def worker(rank: int, settings: Settings, data: Path, work: Path, held_out: int, resume: bool,
           save_every: int, report_every: int) -> None:
    """Body of one process."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if settings.processes > 1:
        store = dist.FileStore(str(work / 'rendezvous'), settings.processes)
        dist.init_process_group('gloo', store=store, rank=rank, world_size=settings.processes,
                                timeout=timedelta(minutes=10))
    trainer = Trainer(rank, settings, data, work, held_out)
    if resume and trainer.checkpoint.exists():
        trainer.load()
    trainer.run(save_every, report_every)
    if settings.processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def export(work: Path, out: Path) -> None:
    """Write the model folder from the latest checkpoint."""
    state = torch.load(work / 'checkpoint.pt', weights_only=True)
    shape = Shape()
    model = make_model(shape)
    model.load_state_dict(state['mean'] or state['model'])
    save(model, make_processor(shape), out)


def main(argv: list[str] | None = None) -> None:
    """Command line."""
    default = Settings()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--data', type=Path, default=Path('build/training/scenes'),
                        help='folder of shards; missing ones are rendered first')
    parser.add_argument('--work', type=Path, default=Path('build/training/work'),
                        help='checkpoints and log')
    parser.add_argument('--out', type=Path, default=None, help='model folder to write at the end')
    parser.add_argument('--seed', type=int, default=default.seed)
    parser.add_argument('--steps', type=int, nargs=3, default=default.steps,
                        metavar=('VISION', 'DECODER', 'JOINT'))
    parser.add_argument('--rates', type=float, nargs=3, default=default.rates,
                        help='peak learning rate of each stage')
    parser.add_argument('--batch', type=int, default=default.batch, help='images per process')
    parser.add_argument('--questions', type=int, default=default.questions,
                        help='questions per image')
    parser.add_argument('--processes', type=int, default=default.processes)
    parser.add_argument('--shards', type=int, default=default.shards)
    parser.add_argument('--held-out', type=int, default=2,
                        help='first shards kept for validation')
    parser.add_argument('--save-every', type=int, default=200)
    parser.add_argument('--report-every', type=int, default=50)
    parser.add_argument('--resume', action='store_true', help='go on from the last checkpoint')
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
    settings = Settings(args.seed, tuple(args.steps), tuple(args.rates), args.batch,
                        args.questions, args.processes, args.shards)
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / 'rendezvous').unlink(missing_ok=True)
    if not args.resume:
        for name in ('log.jsonl', 'checkpoint.pt'):
            (args.work / name).unlink(missing_ok=True)
    (args.work / 'settings.json').write_text(json.dumps(dataclasses.asdict(settings)) + '\n')
    if not args.no_render:
        render(args.data, 0, args.shards, args.processes, Recipe())
    rest = (settings, args.data, args.work, args.held_out, args.resume, args.save_every,
            args.report_every)
    if settings.processes == 1:
        worker(0, *rest)
    else:
        torch.multiprocessing.spawn(worker, rest, nprocs=settings.processes)
    if args.out is not None:
        export(args.work, args.out)
        print(f'model written to {args.out}')


if __name__ == '__main__':
    main()
