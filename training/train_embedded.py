#!/usr/bin/env python3
"""Train an embedded vision-language model from scratch on rendered scenes, on CPU.

Three stages: (1) the vision tower alone, on dense hints of every image patch; (2) the decoder on
questions, the tower frozen; (3) everything together. In 2 and 3 heads on the hidden state of each
thing's word after the first decoder layer must tell what is to be known of it (deep supervision);
all heads are thrown away at the end. What the hints are, the domain's curriculum says. What is
exported is the mean of the weights over the last fifth of stage 3, which is better than any of
them. Every batch is a function of seed, stage, step and process, so a run that was interrupted
goes on exactly (--resume).
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
from torch.multiprocessing.spawn import spawn

from curriculum import Settings, curricula, load_curriculum
from embedded_model import make_model, make_processor, save
from embedded_packed import answer_logits, patch_features
from shards import Corpus, render


class Trainer:
    """One of the data-parallel training processes."""

    def __init__(self, domain: str, rank: int, settings: Settings, data: Path, work: Path,
                 held_out: int) -> None:
        self.rank, self.settings, self.work = rank, settings, work
        torch.manual_seed(settings.seed)
        self.curriculum = load_curriculum(domain)
        self.words = self.curriculum.words
        self.model = make_model(self.curriculum.shape, self.words)
        if settings.bfloat16:  # torch's fused attention is slow on CPUs in this precision
            self.model.set_attn_implementation('eager')
        if self.curriculum.shape.stem:
            self.model.model.vision_tower.to(memory_format=torch.channels_last)
        self.heads = nn.ModuleDict({name: nn.Linear(self.curriculum.shape.hidden, size)
                                    for name, size in self.curriculum.heads.items()})
        self.corpus = Corpus(data, range(held_out, settings.shards), self.curriculum.emphasis)
        self.validation = None
        if held_out and rank == 0:
            self.validation = Corpus(data, range(held_out))
            self.validation.refresh()
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

    def begin_with(self, checkpoint: Path) -> None:
        """Begin the last stage with the weights of another run."""
        state = torch.load(checkpoint, weights_only=True)
        self.model.load_state_dict(state['mean'] or state['model'])
        self.heads.load_state_dict(state['heads'])
        self.stage = 3

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
        """Add the weights to the mean over the end of the last stage, which is exported."""
        self.averaged += 1
        for name, value in self.model.state_dict().items():
            if name not in self.mean or not value.is_floating_point():
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
        index = self.corpus.draw(rng, self.settings.batch)
        batch = self.curriculum.batch(self.corpus.take(index), rng)
        with torch.autocast('cpu', torch.bfloat16, enabled=self.settings.bfloat16):
            with torch.set_grad_enabled(self.stage != 2):
                features = patch_features(self.model, batch.image)
            features = features.float()
            align, dense, figures = self.curriculum.dense(self.model, self.heads, features, batch)
            if self.stage == 1:
                return align + dense, [dense.item(), *figures]
            asked = self.curriculum.ask(random.Random(str(key)), batch, self.settings.questions,
                                        self.step / self.settings.steps[self.stage - 1])
            logits, hidden = answer_logits(self.model, features, asked.ids, asked.position,
                                           self.words)
            logits = logits.float()
            each = F.cross_entropy(logits.flatten(0, 1), asked.answer.flatten(), reduction='none')
            weight = (torch.ones_like(each) if asked.weight is None
                      else asked.weight.flatten().to(each))
            cross = (weight * each).sum() / weight.sum()
            deep, deep_accuracy = self.curriculum.deep(self.heads, hidden.float(), asked, batch)
        total = 0.6 * align + cross + deep
        if self.stage == 3:
            total = total + 0.6 * dense
        yes_no = (asked.answer == self.words.ids['yes']) | (asked.answer == self.words.ids['no'])
        hit = logits.argmax(-1) == asked.answer
        others = float(hit[~yes_no].float().mean()) if (~yes_no).any() else 1.0
        weight = weight.view_as(hit) * yes_no
        right = float((weight * hit).sum() / weight.sum())
        return total, [cross.item(), right, others, deep.item(), deep_accuracy, dense.item(),
                       *figures]

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
        """Write one JSON line to the screen and to the log file."""
        if self.rank:
            return
        line = json.dumps({'stage': self.stage, 'step': self.step,
                           'seconds': round(self.seconds), **values})
        print(line, flush=True)
        with (self.work / 'log.jsonl').open('a') as file:
            file.write(line + '\n')

    @torch.no_grad()
    def validate(self) -> dict[str, float]:
        """Balanced accuracy per kind of question on held-out scenes: the mean over answers."""
        if self.validation is None:
            return {}
        right: dict[str, dict[int, list[bool]]] = {}
        rng = random.Random(1)
        self.model.eval()
        for start in range(0, len(self.validation), 50):
            index = np.arange(start, min(start + 50, len(self.validation)))
            batch = self.curriculum.batch(self.validation.take(index), None)
            asked = self.curriculum.ask(rng, batch, 60, 1.0)
            counted = (torch.ones_like(asked.answer, dtype=torch.bool) if asked.weight is None
                       else asked.weight > 0)
            for view, shown in self.curriculum.views(batch).items():
                with torch.autocast('cpu', torch.bfloat16, enabled=self.settings.bfloat16):
                    features = patch_features(self.model, shown.image).float()
                    logits, _ = answer_logits(self.model, features, asked.ids, asked.position,
                                              self.words)
                hit = (logits.argmax(-1) == asked.answer)[counted].tolist()
                for ok, kind, answer in zip(hit, asked.kind[counted].tolist(),
                                            asked.answer[counted].tolist(), strict=True):
                    name = ' '.join((self.curriculum.kinds[kind], view)).strip()
                    right.setdefault(name, {}).setdefault(answer, []).append(ok)
        self.model.train()
        return {k: round(float(np.mean([np.mean(hits) for hits in v.values()])), 4)
                for k, v in sorted(right.items())}

    def run(self, save_every: int, report_every: int) -> None:
        """Train from the present stage and step to the last one."""
        self.corpus.refresh()
        self.model.train()
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
                             scenes=len(self.corpus))
                    figures = []
                if self.step % save_every == 0 or self.step == steps:
                    if self.stage > 1 and not self.rank:
                        self.log(validation=self.validate())
                    self.store()
                    self.corpus.refresh()
            self.stage, self.step, self.optimizer = self.stage + 1, 0, None
            self.store()


def worker(rank: int, domain: str, settings: Settings, data: Path, work: Path, held_out: int,
           resume: bool, start: Path | None, save_every: int, report_every: int) -> None:
    """Body of one process."""
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if settings.processes > 1:
        store = dist.FileStore(  # type: ignore[attr-defined]
            str(work / 'rendezvous'), settings.processes)
        dist.init_process_group('gloo', store=store, rank=rank, world_size=settings.processes,
                                timeout=timedelta(minutes=10))
    trainer = Trainer(domain, rank, settings, data, work, held_out)
    if resume and trainer.checkpoint.exists():
        trainer.load()
    elif start is not None:
        trainer.begin_with(start)
    trainer.run(save_every, report_every)
    if settings.processes > 1:
        dist.barrier()
        dist.destroy_process_group()


def export(domain: str, work: Path, out: Path) -> None:
    """Write the model folder from the latest checkpoint."""
    state = torch.load(work / 'checkpoint.pt', weights_only=True)
    curriculum = load_curriculum(domain)
    model = make_model(curriculum.shape, curriculum.words)
    model.load_state_dict(state['mean'] or state['model'])
    with torch.no_grad():
        embeddings = model.get_input_embeddings().weight
        embeddings.copy_(curriculum.words.table(embeddings))
    save(model, make_processor(curriculum.shape, curriculum.words), out)


def main(argv: list[str] | None = None) -> None:
    """Run the command line."""
    first = argparse.ArgumentParser(add_help=False)
    first.add_argument('--domain', default='blocksworld', choices=curricula(),
                       help='whose curriculum to take')
    domain = first.parse_known_args(argv)[0].domain
    curriculum = load_curriculum(domain)
    default = curriculum.settings
    parser = argparse.ArgumentParser(
        description=__doc__, parents=[first],
        epilog='The defaults are those of the domain.')
    build = Path('build/training') / domain
    parser.add_argument('--data', type=Path, default=build / 'scenes',
                        help='folder of shards; missing ones are rendered first')
    parser.add_argument('--work', type=Path, default=build / 'work', help='checkpoints and log')
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
    parser.add_argument('--bfloat16', action=argparse.BooleanOptionalAction,
                        default=default.bfloat16, help='train in mixed precision')
    parser.add_argument('--save-every', type=int, default=200)
    parser.add_argument('--report-every', type=int, default=50)
    parser.add_argument('--resume', action='store_true', help='go on from the last checkpoint')
    parser.add_argument('--start', type=Path, default=None, metavar='CHECKPOINT',
                        help='begin the last stage with the weights of another run')
    parser.add_argument('--no-render', action='store_true',
                        help='use the shards that are there; new ones are picked up as they come')
    parser.add_argument('--export-only', action='store_true',
                        help='write the model folder from the last checkpoint and stop')
    args = parser.parse_args(argv)
    if args.export_only:
        if args.out is None:
            parser.error('--export-only needs --out')
        export(domain, args.work, args.out)
        return
    settings = Settings(args.seed, tuple(args.steps), tuple(args.rates), args.batch,
                        args.questions, args.processes, args.shards, default.weight_decay,
                        args.bfloat16)
    args.work.mkdir(parents=True, exist_ok=True)
    (args.work / 'rendezvous').unlink(missing_ok=True)
    if not args.resume:
        for name in ('log.jsonl', 'checkpoint.pt'):
            (args.work / name).unlink(missing_ok=True)
    (args.work / 'settings.json').write_text(json.dumps(dataclasses.asdict(settings)) + '\n')
    if not args.no_render:
        render(args.data, 0, args.shards, args.processes, curriculum.draw)
    rest = (domain, settings, args.data, args.work, args.held_out, args.resume, args.start,
            args.save_every, args.report_every)
    if settings.processes == 1:
        worker(0, *rest)
    else:
        spawn(worker, rest, nprocs=settings.processes)
    if args.out is not None:
        export(domain, args.work, args.out)
        print(f'model written to {args.out}')


if __name__ == '__main__':
    main()
