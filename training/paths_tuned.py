#!/usr/bin/env python3
"""Train a small model on PathEval's split ``train``, as its table 5 tunes LLaVA-NeXT-7b, on CPU.

The model is small, but made like the large one: a transformer over tokens of words, pictures and
numbers, that names one of the two paths. Its tokens are

* the task: its words, hashed, as a bag; what they mean is learned from the items alone,
* for either side: the vector of the picture by the encoder of ``embedded`` (``paths_features``),
* for either side: the seven descriptors, standardized, where the model is told them,
* for either side: the characters of its name, ``Path 1`` and ``Path 2`` or, under random names,
  four letters and digits that are fresh for every item and every epoch.

Nothing of it knows that the sides are alike, or what a comparison is. A token of its own becomes
the answer: the name that it is more similar to is the one that is said. The encoder is frozen, or
tuned with the rest, from the frozen model on. The epoch is chosen on maps of the split that are
kept apart; the items of ``test`` are looked at once.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import random
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from paths_features import (
    Pictures,
    distinct,
    load_encoder,
    parts,
    pooled,
    read_pictures,
    test_items,
    train_items,
    values_of,
)
from paths_results import update
from sightplan_models._embedded_paths_network import Network
from sightplan_suites.patheval.asking import PLAIN_NAMES, Names, random_names
from sightplan_suites.patheval.items import Item
from sightplan_suites.paths.scenarios import load_scenarios

WORDS, WIDTH, LAYERS, HEADS = 4096, 64, 2, 4
NAME_LENGTH = 6
DROPOUT = 0.1
_SIGNS = ' 0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
_TYPES = 4  # answer, task, picture, values; names are added to what they name


@dataclass(frozen=True, slots=True)
class Inputs:
    """Inputs that a model gets besides the task.

    Attributes:
        pictures: the two pictures.
        values: the seven descriptors of both.
        random: names are random.
    """

    pictures: bool = True
    values: bool = False
    random: bool = False

    @property
    def label(self) -> str:
        """Label of the inputs in tables."""
        parts = ['pictures'] * self.pictures + ['descriptors'] * self.values
        return ' + '.join(parts) + (', random names' if self.random else '')


CONDITIONS = (Inputs(), Inputs(random=True), Inputs(values=True),
              Inputs(values=True, random=True), Inputs(pictures=False, values=True))
TUNED = CONDITIONS[:3]
"""Inputs with which the encoder is also tuned."""


class Model(nn.Module):
    """Names the better of two paths.

    Args:
        inputs: what it is shown.
        width: of a picture's vector.
    """

    def __init__(self, inputs: Inputs, width: int) -> None:
        super().__init__()
        self.inputs = inputs
        self.words = nn.EmbeddingBag(WORDS, WIDTH, mode='mean')
        self.sides = nn.Parameter(torch.randn(2, WIDTH) * 0.1)
        self.types = nn.Parameter(torch.randn(_TYPES, WIDTH) * 0.1)
        self.characters = nn.Parameter(torch.randn(NAME_LENGTH, len(_SIGNS), WIDTH) * 0.3)
        self.picture = nn.Sequential(nn.Linear(width, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        self.values = nn.Sequential(nn.Linear(7, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, DROPOUT, 'gelu',
                                           batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.answer = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH))

    def forward(self, words: tuple[Tensor, Tensor], pictures: Tensor, values: Tensor,
                names: Tensor) -> Tensor:
        """(N, 2) log-odds of the name of the left and the right path.

        Args:
            words: hashed words of all tasks one after the other, and where each begins.
            pictures: (N, 2, C) standardized vectors.
            values: (N, 2, 7) standardized descriptors.
            names: (N, 2, NAME_LENGTH) numbers of characters.
        """
        count = len(names)
        places = torch.arange(NAME_LENGTH)
        named = self.characters[places, names].sum(2)  # (N, 2, WIDTH)
        tokens = [self.types[0].expand(count, 1, WIDTH),
                  (self.words(*words) + self.types[1])[:, None]]
        if self.inputs.pictures:
            tokens.append(self.picture(pictures) + self.types[2] + self.sides + named)
        if self.inputs.values:
            tokens.append(self.values(values) + self.types[3] + self.sides + named)
        answer = self.answer(self.layers(torch.cat(tokens, 1))[:, 0])
        found: Tensor = (answer[:, None] * named).sum(2)
        return found


# -------------------------------------------------------------------------------------------- data


def word_numbers(text: str) -> list[int]:
    """Words of a text, without case, as numbers below WORDS."""
    return [zlib.crc32(word.encode()) % WORDS for word in re.findall(r"[a-z']+", text.lower())]


def name_numbers(names: Names) -> list[list[int]]:
    """Characters of two names, as numbers."""
    return [[_SIGNS.index(sign) for sign in name.ljust(NAME_LENGTH)] for name in names]


@dataclass(frozen=True, eq=False)
class Batch:
    """Items as numbers; ``better`` is 0 for the left one."""

    texts: Sequence[str]
    pictures: Tensor
    values: Tensor
    better: Tensor

    def words(self, at: Tensor) -> tuple[Tensor, Tensor]:
        """Numbers of the items' words and their starts, as ``Model`` takes them."""
        numbers = [_numbers_of(self.texts[k]) for k in at.tolist()]
        starts = torch.tensor([0, *itertools.accumulate(map(len, numbers))][:-1])
        return torch.cat(numbers), starts


_KNOWN: dict[str, Tensor] = {}


def _numbers_of(text: str) -> Tensor:
    if text not in _KNOWN:
        _KNOWN[text] = torch.tensor(word_numbers(text))
    return _KNOWN[text]


@dataclass(frozen=True, eq=False)
class Scale:
    """Mean and standard deviation of channels and descriptors of the items learned from."""

    pictures: tuple[Tensor, Tensor]
    values: tuple[Tensor, Tensor]

    def vectors(self, found: Tensor) -> Tensor:
        """Standardized vectors of pictures."""
        return (found - self.pictures[0]) / self.pictures[1]


def scale_of(pictures: Pictures, values: Tensor) -> Scale:
    """Mean and standard deviation of the training data."""
    flat = values.flatten(0, 1)
    return Scale((pictures.features.mean(0), pictures.features.std(0) + 1e-6),
                 (flat.mean(0), flat.std(0) + 1e-6))


def batch_of(items: Sequence[Item], pictures: Pictures, scale: Scale,
             texts: Sequence[str] | None = None) -> Batch:
    """Items as numbers; ``texts`` are other words for their tasks."""
    mean, deviation = scale.values
    return Batch(texts or [item.task for item in items], pictures.of(items),
                 (values_of(items) - mean) / deviation,
                 torch.tensor([item.better for item in items]))


def named(inputs: Inputs, at: Tensor, epoch: int) -> Tensor:
    """(N, 2, NAME_LENGTH): the names under which some items are asked in an epoch."""
    if not inputs.random:
        return torch.tensor(name_numbers(PLAIN_NAMES)).expand(len(at), -1, -1)
    return torch.tensor([name_numbers(random_names(epoch, f'learned {k}')) for k in at.tolist()])


# ---------------------------------------------------------------------------------------- training


def learn(inputs: Inputs, data: Batch, vectors: Tensor, chosen: tuple[Tensor, Tensor],
          epochs: int, seed: int) -> tuple[Model, list[float]]:
    """Train on frozen vectors.

    Returns the model of the best epoch and the accuracies of all epochs on held-out items.

    Args:
        inputs: what the model is shown.
        data: all items.
        vectors: (P, C) of their pictures, standardized.
        chosen: numbers of the items to learn from, and of those that are kept apart.
        epochs: at most.
        seed: of the weights and of the order.
    """
    torch.manual_seed(seed)
    model = Model(inputs, vectors.shape[1])
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
    steps = epochs * -(-len(chosen[0]) // 64)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    generator = torch.Generator().manual_seed(seed)
    best, kept, curve = -1.0, copy.deepcopy(model.state_dict()), []
    for epoch in range(epochs):
        model.train()
        order = chosen[0][torch.randperm(len(chosen[0]), generator=generator)]
        for at in parts(order, 64):
            found = model(data.words(at), vectors[data.pictures[at]], data.values[at],
                          named(inputs, at, epoch))
            loss = F.cross_entropy(found, data.better[at])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        curve.append(share(answers(model, data, vectors, chosen[1]), data.better[chosen[1]]))
        if curve[-1] > best:
            best, kept = curve[-1], copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return model.eval(), curve


def tune(model: Model, encoder: Network, data: Batch, pictures: Pictures, scale: Scale,
         groups: Sequence[Tensor], rate: float, progress: Callable[[int, int], None],
         ) -> tuple[Model, Network]:
    """Train copies of model and encoder together; the arguments are not changed.

    Args:
        model: as the frozen encoder left it.
        encoder: as it is shipped; statistics of batch normalization stay as they are.
        data: all items.
        pictures: of the items.
        scale: of vectors.
        groups: numbers of items of some pairs of pictures; each group is one step.
        rate: of both.
        progress: is told of every step.
    """
    model, encoder = copy.deepcopy(model).train(), copy.deepcopy(encoder).eval()
    parameters = [*model.parameters(), *encoder.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=rate, weight_decay=0.01)
    for step, at in enumerate(groups):
        numbers, where = distinct(data.pictures[at])
        vectors = scale.vectors(pooled(encoder, pictures.load(numbers.tolist())))
        found = model(data.words(at), vectors[where], data.values[at],
                      named(model.inputs, at, step))
        loss = F.cross_entropy(found, data.better[at])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        progress(step + 1, len(groups))
    return model.eval(), encoder


def by_pairs(items: Sequence[Item], chosen: Tensor, pairs: int, pairs_a_step: int, seed: int,
             ) -> list[Tensor]:
    """Numbers of the items of some pairs, by step; a pair in both orders is one."""
    found: dict[str, list[int]] = {}
    for k in chosen.tolist():
        found.setdefault(re.sub(r'_(ab|ba)\.png$', '', items[k].pair), []).append(k)
    names = sorted(found)
    random.Random(seed).shuffle(names)
    return [torch.tensor([k for name in names[start:start + pairs_a_step] for k in found[name]])
            for start in range(0, min(pairs, len(names)), pairs_a_step)]


def answers(model: Model, data: Batch, vectors: Tensor, at: Tensor | None = None) -> Tensor:
    """(N,): 0 for the left path, 1 for the right one; names are some that were not learned."""
    model.eval()
    at = torch.arange(len(data.better)) if at is None else at
    with torch.no_grad():
        return torch.cat([model(
            data.words(part), vectors[data.pictures[part]], data.values[part],
            named(model.inputs, part, -1)).argmax(1) for part in parts(at, 256)])


def share(found: Tensor, truth: Tensor) -> float:
    """Fraction of right answers."""
    return float((found == truth).float().mean())


# ------------------------------------------------------------------------------------------ tables


def main() -> None:
    """Read, learn, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--data', type=Path, required=True, metavar='DIR',
                        help='the split train: "sightplan suite patheval generate --split train '
                             '--form spelled"')
    parser.add_argument('--cache', type=Path, required=True, metavar='DIR',
                        help='folder for pictures and vectors')
    parser.add_argument('--out', type=Path, default=Path('studies/data/patheval/learned.json'),
                        help='file of results (default: %(default)s)')
    parser.add_argument('--epochs', type=int, default=15,
                        help='with the encoder frozen (default: %(default)s)')
    parser.add_argument('--tuned-pairs', type=int, default=600,
                        help='pairs of paths to tune the encoder with (default: %(default)s)')
    parser.add_argument('--rate', type=float, default=2e-4,
                        help='of tuning (default: %(default)s)')
    parser.add_argument('--seed', type=int, default=0, help='(default: %(default)s)')
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    encoder = load_encoder()
    items, sha = train_items(args.data)
    held_out, test_sha = test_items()
    train = read_pictures(items, encoder, args.cache / f'train-{sha}', print)
    test = read_pictures(held_out, encoder, args.cache / f'test-{test_sha}', print)
    rows: list[dict[str, Any]] = []
    for row in run(items, held_out, train, test, encoder, args):
        print(json.dumps(row), flush=True)
        rows.append(row)
        update(args.out, 'tuned', {
            'data': {'items': len(items), 'sha256': sha, 'maps': len({one.map for one in items})},
            'epochs': args.epochs, 'tuned_pairs': args.tuned_pairs, 'rate': args.rate,
            'seed': args.seed, 'test': len(held_out), 'rows': rows})


def run(items: Sequence[Item], held_out: Sequence[Item], train: Pictures, test: Pictures,
        encoder: Network, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each of ``CONDITIONS``: numbers of right answers on the items of ``test``."""
    scale = scale_of(train, values_of(items))
    data, other = batch_of(items, train, scale), batch_of(held_out, test, scale)
    reworded = batch_of(held_out, test, scale, paraphrased(held_out))
    chosen = apart(items)
    for inputs in CONDITIONS:
        started = time.process_time()
        vectors, others = scale.vectors(train.features), scale.vectors(test.features)
        torch.manual_seed(args.seed)
        row: dict[str, Any] = {'inputs': inputs.label, 'untuned': _right(
            Model(inputs, vectors.shape[1]), other, others)}
        model, curve = learn(inputs, data, vectors, chosen, args.epochs, args.seed)
        row |= {'frozen': _right(model, other, others),
                'frozen_reworded': _right(model, reworded, others),
                'learned': share(answers(model, data, vectors, chosen[0]),
                                 data.better[chosen[0]]), 'apart': [round(c, 4) for c in curve]}
        row['frozen_cpu_s'] = round(time.process_time() - started)
        if inputs in TUNED:
            groups = by_pairs(items, chosen[0], args.tuned_pairs, 8, args.seed)
            tuned, after = tune(model, encoder, data, train, scale, groups, args.rate,
                                _progress(inputs.label))
            others = scale.vectors(encoded(after, test))
            row |= {'tuned': _right(tuned, other, others),
                    'tuned_reworded': _right(tuned, reworded, others),
                    'tuned_items': sum(map(len, groups)),
                    'tuned_cpu_s': round(time.process_time() - started) - row['frozen_cpu_s']}
        yield row


def encoded(encoder: Network, pictures: Pictures) -> Tensor:
    """(P, C): vectors of all pictures by another encoder."""
    with torch.no_grad():
        return torch.cat([pooled(encoder, pictures.load(part.tolist()))
                          for part in parts(torch.arange(len(pictures.features)), 16)])


def apart(items: Sequence[Item]) -> tuple[Tensor, Tensor]:
    """Numbers of the items for training, and of the held-out items (those of every tenth map)."""
    maps = {name: k for k, name in enumerate(dict.fromkeys(item.map for item in items))}
    kept = torch.tensor([maps[item.map] % 10 == 9 for item in items])
    return (~kept).nonzero()[:, 0], kept.nonzero()[:, 0]


def paraphrased(items: Sequence[Item]) -> list[str]:
    """Each item's task in a fixed wording that is not in the training data."""
    known = {one.id: one.paraphrases for one in load_scenarios()}
    return [random.Random(item.id).choice(known[item.scenario]) for item in items]


def _right(model: Model, data: Batch, vectors: Tensor) -> int:
    return int((answers(model, data, vectors) == data.better).sum())


def _progress(what: str) -> Callable[[int, int], None]:
    def show(step: int, steps: int) -> None:
        if step % 10 == 0 or step == steps:
            print(f'{what}: step {step} of {steps}', file=sys.stderr, flush=True)
    return show


if __name__ == '__main__':
    main()
