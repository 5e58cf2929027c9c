#!/usr/bin/env python3
"""Probe the encoder of ``embedded`` by what its vectors of two pictures tell about both, on CPU.

As table 4 of PathEval, whose probe is one linear unit on the concatenated vectors of two pictures
that says whether they are the same, with the encoder frozen or tuned; its accuracy is that on the
pairs it was trained on. Here the same beside held-out pairs, and beside a probe that can test
equality: the absolute difference of the vectors through one hidden layer.

Besides, for each of the seven descriptors, on the two paths of a map: which path has more of it
(order), and do they differ by PathEval's threshold (difference)? A linear unit on concatenated
vectors can express order, but not whether two values differ.
"""

from __future__ import annotations

import argparse
import copy
import os
import sys
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
from sightplan_suites.patheval.items import Item
from sightplan_suites.paths.labels import ORDER, PATHEVAL

PAPER = {'rate': 1e-5, 'epochs': 30, 'batch': 8}
"""Settings with which the paper trains its probe, on pairs in their order."""
THRESHOLDS = torch.tensor([float(getattr(PATHEVAL, name)) for name in ORDER])
_HIDDEN = 64


# ------------------------------------------------------------------------------------------ probes


class Linear(nn.Module):
    """The paper's probe: linear in the concatenated vectors."""

    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.out = nn.Linear(2 * width, outputs)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, outputs) log-odds from two (N, width)."""
        found: Tensor = self.out(torch.cat((first, second), 1))
        return found


class Compare(nn.Module):
    """A probe that can test equality and order: a hidden layer on a difference.

    Args:
        width: of a vector.
        outputs: how many questions.
        signed: of the difference, for order; else its absolute value, for equality.
    """

    def __init__(self, width: int, outputs: int, signed: bool) -> None:
        super().__init__()
        self.signed = signed
        self.layers = nn.Sequential(nn.Linear(width, _HIDDEN), nn.ReLU(),
                                    nn.Linear(_HIDDEN, outputs))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, outputs) log-odds from two (N, width)."""
        difference = first - second
        found: Tensor = self.layers(difference if self.signed else difference.abs())
        return found


class Questions(nn.Module):
    """Probes of both kinds of ``questions``.

    Args:
        width: of a vector.
        linear: as the paper's; else they can test what they are asked.
    """

    def __init__(self, width: int, linear: bool) -> None:
        super().__init__()
        outputs = len(ORDER)
        self.order = Linear(width, outputs) if linear else Compare(width, outputs, signed=True)
        self.difference = Linear(width, outputs) if linear else Compare(width, outputs,
                                                                        signed=False)

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(N, 14) log-odds from two (N, width)."""
        return torch.cat((self.order(first, second), self.difference(first, second)), 1)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of pictures with the true answers to questions about them.

    Attributes:
        numbers: (N, 2) of their pictures.
        truth: (N, K) 0 or 1 for each of K questions; NaN: not asked.
    """

    numbers: Tensor
    truth: Tensor


def loss_of(found: Tensor, truth: Tensor) -> Tensor:
    """The mean cross entropy of the answers to the questions that are asked (not NaN)."""
    asked = ~truth.isnan()
    return F.binary_cross_entropy_with_logits(found[asked], truth[asked])


def right(found: Tensor, truth: Tensor) -> list[tuple[int, int]]:
    """For each question, the number of right answers of the probe, and of all answers."""
    agree = (found > 0) == (truth > 0.5)
    asked = ~truth.isnan()
    return [(int((agree & asked)[:, k].sum()), int(asked[:, k].sum()))
            for k in range(truth.shape[1])]


# --------------------------------------------------------------------------------------- training


def fit(probe: nn.Module, vectors: Tensor, pairs: Pairs, rate: float, epochs: int, batch: int,
        shuffled: bool = True, decay: float = 0.0) -> None:
    """Train a probe on vectors that stay as they are."""
    optimizer = torch.optim.AdamW(probe.parameters(), lr=rate, weight_decay=decay)
    generator = torch.Generator().manual_seed(0)
    count = len(pairs.numbers)
    for _ in range(epochs):
        order = torch.randperm(count, generator=generator) if shuffled else torch.arange(count)
        for at in parts(order, batch):
            numbers = pairs.numbers[at]
            loss = loss_of(probe(vectors[numbers[:, 0]], vectors[numbers[:, 1]]), pairs.truth[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def tune(probe: nn.Module, encoder: Network, scale: Callable[[Tensor], Tensor],
         pictures: Pictures, pairs: Pairs, rate: float, epochs: int, batch: int,
         progress: Callable[[int, int], None],
         more: Callable[[Pairs], Pairs] = lambda pairs: pairs) -> Network:
    """Train probe and encoder together; returns the tuned encoder, the given one stays.

    ``more`` adds to the pairs of a batch. Statistics of batch normalization stay as they are;
    each picture of a batch is encoded once.
    """
    tuned = copy.deepcopy(encoder).eval()
    parameters = [*probe.parameters(), *tuned.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=rate)
    generator = torch.Generator().manual_seed(0)
    steps = -(-len(pairs.numbers) // batch)
    for epoch in range(epochs):
        order = torch.randperm(len(pairs.numbers), generator=generator)
        for step, at in enumerate(parts(order, batch)):
            batched = more(Pairs(pairs.numbers[at], pairs.truth[at]))
            numbers, where = distinct(batched.numbers)
            vectors = scale(pooled(tuned, pictures.load(numbers.tolist())))
            loss = loss_of(probe(vectors[where[:, 0]], vectors[where[:, 1]]), batched.truth)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            progress(epoch * steps + step + 1, epochs * steps)
    return tuned


def encode(encoder: Network, pictures: Pictures, numbers: Tensor) -> Tensor:
    """Vectors of some pictures, zero for the others: (N, C)."""
    found = torch.zeros_like(pictures.features)
    with torch.no_grad():
        for part in parts(distinct(numbers)[0], 16):
            found[part] = pooled(encoder, pictures.load(part.tolist()))
    return found


def scale_of(vectors: Tensor) -> Callable[[Tensor], Tensor]:
    """Gives every channel mean 0 and standard deviation 1, as it has them in some vectors."""
    mean, deviation = vectors.mean(0), vectors.std(0) + 1e-6
    return lambda found: (found - mean) / deviation


def evaluate(probe: nn.Module, vectors: Tensor, pairs: Pairs) -> list[tuple[int, int]]:
    """For each question, the number of right answers of the probe, and of all answers."""
    with torch.no_grad():
        return right(probe(vectors[pairs.numbers[:, 0]], vectors[pairs.numbers[:, 1]]),
                     pairs.truth)


# ------------------------------------------------------------------------------------------- pairs


def same_pairs(count: int, seed: int) -> Pairs:
    """The paper's pairs: each of ``count`` pictures with itself (1) and with another (0)."""
    generator = torch.Generator().manual_seed(seed)
    one = torch.arange(count)
    other = (one + torch.randint(1, count, (count,), generator=generator)) % count
    numbers = torch.stack((torch.stack((one, one), 1), torch.stack((one, other), 1)), 1)
    truth = torch.tensor([1.0, 0.0]).repeat(count)[:, None]
    return Pairs(numbers.reshape(-1, 2), truth)


def path_pairs(items: Sequence[Item], pictures: Pictures) -> tuple[Tensor, Tensor]:
    """The pairs of paths that items are about, each once: (N, 2) pictures, (N, 2, 7) values."""
    pairs: dict[frozenset[int], Item] = {}
    for item in items:
        pairs.setdefault(frozenset(pictures.rows[item.pictured.name]), item)
    found = [item for key, item in pairs.items() if len(key) == 2]
    return pictures.of(found), values_of(found)


def order_pairs(numbers: Tensor, values: Tensor) -> Pairs:
    """Questions on whether the first path has more of each significantly differing descriptor."""
    difference = (values[:, 0] - values[:, 1]) / THRESHOLDS
    return Pairs(numbers, torch.where(difference.abs() >= 1, (difference > 0).float(), torch.nan))


def questions(numbers: Tensor, values: Tensor) -> Pairs:
    """First the seven questions about order, then the seven about differences."""
    order, difference = order_pairs(numbers, values), difference_pairs(numbers, values, 0)
    return Pairs(numbers, torch.cat((order.truth, difference.truth), 1))


def both_orders(pairs: Pairs) -> Pairs:
    """Each pair of ``questions`` the other way round, too."""
    order, difference = pairs.truth.split(len(ORDER), 1)
    return Pairs(torch.cat((pairs.numbers, pairs.numbers.flip(1))), torch.cat((
        pairs.truth, torch.cat((1 - order, difference), 1))))


def difference_pairs(numbers: Tensor, values: Tensor, seed: int) -> Pairs:
    """Do they differ significantly? As many pairs that do as do not, drawn for each descriptor."""
    generator = torch.Generator().manual_seed(seed)
    differ = ((values[:, 0] - values[:, 1]) / THRESHOLDS).abs() >= 1
    truth = torch.full(differ.shape, torch.nan)
    for k in range(differ.shape[1]):
        groups = [differ[:, k].nonzero()[:, 0], (~differ[:, k]).nonzero()[:, 0]]
        least = min(map(len, groups))
        for value, group in zip((1.0, 0.0), groups, strict=True):
            truth[group[torch.randperm(len(group), generator=generator)[:least]], k] = value
    return Pairs(numbers, truth)


def cosine(vectors: Tensor, numbers: Tensor) -> float:
    """Mean cosine similarity of pairs."""
    return float(F.cosine_similarity(vectors[numbers[:, 0]], vectors[numbers[:, 1]]).mean())


# ------------------------------------------------------------------------------------------ tables


@dataclass(frozen=True, eq=False)
class Data:
    """Pictures to train on and held-out ones, with the pairs of paths among them."""

    train: Pictures
    test: Pictures
    train_paths: tuple[Tensor, Tensor]
    test_paths: tuple[Tensor, Tensor]


def same_or_not(data: Data, encoder: Network, count: int, few: int, epochs: int, rate: float,
                ) -> dict[str, Any]:
    """The paper's question, with the encoder frozen and tuned."""
    train, held_out = same_pairs(count, 0), same_pairs(count, 1)
    found: dict[str, Any] = {
        'pictures': count, 'tuned_pictures': few, 'tuned_epochs': epochs, 'rate': rate,
        'cosine': {'frozen': _cosines(data, data.test.features, held_out)}}
    width = data.train.features.shape[1]
    scale = scale_of(data.train.features[:count])
    vectors, others = scale(data.train.features), scale(data.test.features)
    rows = []
    for name, make, options in (
            ('linear, as the paper trains it', lambda: Linear(width, 1),
             {**PAPER, 'shuffled': False}),
            ('linear', lambda: Linear(width, 1), {'rate': 1e-3, 'epochs': 100, 'batch': 64}),
            ('difference', lambda: Compare(width, 1, signed=False),
             {'rate': 1e-3, 'epochs': 100, 'batch': 64})):
        torch.manual_seed(0)
        probe = make()
        paper = 'paper' in name  # on vectors as they are
        fit(probe, data.train.features if paper else vectors, train, **options)  # type: ignore[arg-type]
        rows.append(_row(name, 'frozen', probe,
                         (data.train.features, data.test.features) if paper else (vectors, others),
                         train, held_out))
    small, unseen = same_pairs(few, 0), same_pairs(min(2 * few, count), 1)
    for name, make in (('linear', lambda: Linear(width, 1)),
                       ('difference', lambda: Compare(width, 1, signed=False))):
        torch.manual_seed(0)
        probe = make()
        tuned = tune(probe, encoder, scale, data.train, small, rate, epochs, 8,
                     _progress(f'same or not, {name}'))
        after = (encode(tuned, data.train, small.numbers), encode(tuned, data.test,
                                                                  unseen.numbers))
        rows.append(_row(name, 'tuned', probe, tuple(map(scale, after)), small, unseen))
        found['cosine'][f'tuned, {name}'] = _cosines(data, after[1], unseen)
    return {**found, 'rows': rows}


def _cosines(data: Data, vectors: Tensor, pairs: Pairs) -> dict[str, Any]:
    """Cosines of different held-out pictures: of any two, and of two paths on one map."""
    different = pairs.numbers[pairs.truth[:, 0] == 0]
    known = set(pairs.numbers.flatten().tolist())
    paths = data.test_paths[0]
    on_map = paths[torch.tensor([a in known and b in known for a, b in paths.tolist()])]
    return {'any two': cosine(vectors, different), 'n': len(different),
            'on one map': cosine(vectors, on_map), 'on_map_n': len(on_map)}


def _row(name: str, encoder: str, probe: nn.Module, vectors: Sequence[Tensor], train: Pairs,
         held_out: Pairs) -> dict[str, Any]:
    return {'probe': name, 'encoder': encoder, 'training': evaluate(probe, vectors[0], train),
            'held_out': evaluate(probe, vectors[1], held_out)}


def descriptors(data: Data, encoder: Network, count: int, rate: float,
                ) -> Iterator[dict[str, Any]]:
    """Order and difference of the seven descriptors, with the encoder frozen, then tuned.

    What there is so far, after each row.
    """
    width = data.train.features.shape[1]
    scale = scale_of(data.train.features)
    vectors, others = scale(data.train.features), scale(data.test.features)
    (numbers, values), held = data.train_paths, data.test_paths
    pairs, unseen = questions(numbers, values), questions(*held)
    part = questions(numbers[:count], values[:count])
    rows: list[dict[str, Any]] = []
    found = {'order': list(ORDER), 'pairs': len(numbers), 'held_out_pairs': len(held[0]),
             'tuned_pairs': len(part.numbers), 'rate': rate, 'rows': rows}
    fitted = []
    for name in ('linear', 'difference'):
        torch.manual_seed(0)
        probe = Questions(width, linear=name == 'linear')
        fit(probe, vectors, both_orders(pairs), 1e-3, 60, 64, decay=0.1)
        rows.append(_row(name, 'frozen', probe, (vectors, others), pairs, unseen))
        fitted.append((name, probe))
        yield found
    for name, probe in fitted:  # the encoder is tuned from where the probe is good already
        tuned = tune(probe, encoder, scale, data.train, part, rate, 1, 8,
                     _progress(f'descriptors, {name}'), both_orders)
        after = (scale(encode(tuned, data.train, part.numbers)),
                 scale(encode(tuned, data.test, unseen.numbers)))
        rows.append(_row(name, 'tuned', probe, after, part, unseen))
        yield found


def _progress(what: str) -> Callable[[int, int], None]:
    def show(step: int, steps: int) -> None:
        if step % 25 == 0 or step == steps:
            print(f'{what}: step {step} of {steps}', file=sys.stderr, flush=True)
    return show


def main() -> None:
    """Read, probe, write."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--data', type=Path, required=True, metavar='DIR',
                        help='the split train: "sightplan suite patheval generate --split train"')
    parser.add_argument('--cache', type=Path, required=True, metavar='DIR',
                        help='folder for pictures and vectors')
    parser.add_argument('--out', type=Path, default=Path('studies/data/patheval/learned.json'),
                        help='file of results (default: %(default)s)')
    parser.add_argument('--pictures', type=int, default=500,
                        help='of the question same or not (default: %(default)s)')
    parser.add_argument('--tuned-pictures', type=int, default=100,
                        help='of these, to tune the encoder with (default: %(default)s)')
    parser.add_argument('--epochs', type=int, default=5,
                        help='over these (default: %(default)s)')
    parser.add_argument('--tuned-pairs', type=int, default=400,
                        help='pairs of paths to tune the encoder with (default: %(default)s)')
    parser.add_argument('--rate', type=float, default=1e-4,
                        help='of tuning (default: %(default)s)')
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    encoder = load_encoder()
    items, sha = train_items(args.data)
    train = read_pictures(items, encoder, args.cache / f'train-{sha}', print)
    held_out, test_sha = test_items()
    test = read_pictures(held_out, encoder, args.cache / f'test-{test_sha}', print)
    data = Data(train, test, path_pairs(items, train), path_pairs(held_out, test))
    count = min(args.pictures, len(train.features), len(test.features))
    found: dict[str, Any] = {'data': {
        'items': len(items), 'pictures': len(train.features), 'sha256': sha,
        'held_out_pictures': len(test.features)}}
    found['same'] = same_or_not(data, encoder, count, min(args.tuned_pictures, count),
                                args.epochs, args.rate)
    update(args.out, 'probes', found)
    for part in descriptors(data, encoder, args.tuned_pairs, args.rate):
        found['descriptors'] = part
        update(args.out, 'probes', found)


if __name__ == '__main__':
    main()
