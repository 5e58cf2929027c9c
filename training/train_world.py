#!/usr/bin/env python3
"""Fit what tells foreign pictures from those that embedded networks were made for, on CPU.

Use::

    python training/world_pictures.py --out OWN
    python studies/foreign_pictures.py collect ARCHIVES --out FOREIGN
    python studies/foreign_pictures.py draw --out FOREIGN
    python training/train_world.py --own OWN --foreign FOREIGN --out MODEL

Own pictures and foreign ones are looked at as they are and changed at random, as people pass them
on. Four networks of 32 hidden numbers learn to tell the kinds apart; foreign pictures count by
their sources, each with the root of its number. Where a network's limit lies is fitted on pictures
for calibration; ``accuracy.json`` has what comes of it on those for the test, which have other
seeds and come from other sources.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault('OMP_NUM_THREADS', '1')

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor, nn

from sightplan.metrics import wilson
from sightplan.metrics.separation import auroc
from sightplan_models._embedded_world import (
    FARTHEST,
    SETTINGS_FILE,
    WEIGHTS_FILE,
    Features,
    classified,
    foreign_log_odds,
)
from sightplan_models._unlike import SHIPPED
from world_pictures import KINDS, SPLITS, changed

NETWORKS = {'locator': ('tables', 'blocks', 'homes'), 'detector': ('tables',),
            'blocksworld': ('blocks',), 'household': ('homes',),
            'paths': ('maps from above', 'maps in perspective'), 'sliding': ('boards',)}
"""Kinds of pictures that each network was made for."""
FOREIGN = len(KINDS)
VIEWS = {'fit': 6, 'cal': 1, 'test': 1}
"""Changed copies of each own picture; of a foreign one there is one."""
MEMBERS, HIDDEN, STEPS, RATE, DECAY, SMOOTHING = 4, 32, 400, 3e-3, 1e-3, 0.02
FOREIGN_WEIGHT = 4.0
"""Weight of all foreign pictures together; that of each kind of own ones is 1."""
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """Features of pictures and what is known of them.

    Attributes:
        features: (N, D).
        kind: (N,) index of its kind, FOREIGN for none.
        split: (N,) name of the split.
        source: (N,) where it comes from.
        sort: (N,) ``own``, ``photo`` or ``render``.
        changed: (N,) whether it was changed.
    """

    features: Tensor
    kind: NDArray[np.int64]
    split: NDArray[np.str_]
    source: NDArray[np.str_]
    sort: NDArray[np.str_]
    changed: NDArray[np.bool_]


def look(own: Path, foreign: Path, features: Features) -> Seen:
    """Look at all pictures, and at changed copies of them."""
    kinds = {source: number for number, sources in enumerate(KINDS.values())
             for source in sources}
    jobs = [(file, kinds[source], split, source, 'own', VIEWS[split])
            for source in kinds for split in SPLITS
            for file in sorted((own / source / split).glob('*.png'))]
    jobs += [(foreign / row['path'], FOREIGN, row['split'], row['source'], row['sort'], 1)
             for row in json.loads((foreign / 'pictures.json').read_text())]
    found, known = list[Tensor](), list[tuple[Any, ...]]()
    for number, (file, kind, split, source, sort, views) in enumerate(jobs):
        image, rng = np.asarray(Image.open(file).convert('RGB')), np.random.default_rng(number)
        for view in range(1 + views):
            found.append(torch.from_numpy(
                features.of(changed(image, rng) if view else image)))
            known.append((kind, split, source, sort, view > 0))
    return Seen(torch.stack(found), *map(np.array, zip(*known, strict=True)))


def weights_of(seen: Seen) -> Floats:
    """(N,) weights of pictures to fit to; 0 of others."""
    out = np.zeros(len(seen.kind))
    fit = seen.split == 'fit'
    for kind in range(FOREIGN):
        mask = fit & (seen.kind == kind)
        out[mask] = 1 / max(1, mask.sum())
    foreign = fit & (seen.kind == FOREIGN)
    for source in set(seen.source[foreign]):
        mask = foreign & (seen.source == source)
        out[mask] = mask.sum() ** -0.5
    out[foreign] *= FOREIGN_WEIGHT / out[foreign].sum()
    return out


def fitted(seen: Seen) -> dict[str, Tensor]:
    """Weights of the classifier; see ``classified``."""
    weight = torch.from_numpy(weights_of(seen)).float()
    fit = weight > 0
    mean = seen.features[fit].mean(0)
    scale = seen.features[fit].std(0, correction=0) + 1e-4
    x = ((seen.features[fit] - mean) / scale).clamp(-FARTHEST, FARTHEST)
    y, weight = torch.from_numpy(seen.kind)[fit], weight[fit] / weight.sum()
    members: list[list[Tensor]] = []
    for seed in range(MEMBERS):
        torch.manual_seed(seed)
        network = nn.Sequential(nn.Linear(x.shape[1], HIDDEN), nn.ReLU(),
                                nn.Linear(HIDDEN, FOREIGN + 1))
        learner = torch.optim.Adam(network.parameters(), RATE)
        for _ in range(STEPS):
            learner.zero_grad()
            loss = (nn.functional.cross_entropy(
                network(x), y, reduction='none', label_smoothing=SMOOTHING) * weight).sum()
            (loss + DECAY * sum((p ** 2).sum() for p in network.parameters()
                                if p.ndim > 1)).backward()
            learner.step()
        members.append([p.detach() for p in network.parameters()])
    names = 'first', 'first_bias', 'second', 'second_bias'
    stacked = {name: torch.stack(values).half() for name, values in zip(
        names, zip(*members, strict=True), strict=True)}
    return {'mean': mean, 'scale': scale, **stacked}


def calibrated(odds: Floats, strange: NDArray[np.bool_], parts: Sequence[NDArray[np.bool_]],
               ) -> tuple[float, float]:
    """Bias and weight of a logistic regression (Platt's, with his targets).

    Args:
        odds: (N,) log odds of a picture to be foreign.
        strange: (N,) whether it is.
        parts: groups of foreign pictures, each of the same weight; all own ones weigh as much.
    """
    weight = (~strange) / max(1, (~strange).sum())
    for part in parts:
        weight = weight + part / max(1, part.sum()) / len(parts)
    yes, no = strange.sum(), (~strange).sum()
    target = np.where(strange, (yes + 1) / (yes + 2), 1 / (no + 2))
    rows, found = np.stack([np.ones(len(odds)), odds], 1), np.zeros(2)
    weight /= weight.sum()
    for _ in range(100):
        chance = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (chance - target)) + (0.0, 1e-4 * found[1])
        curve = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows
        found -= np.clip(np.linalg.solve(curve + 1e-4 * np.eye(2), slope), -1, 1)
    return float(found[0]), float(found[1])


def measured(odds: Floats, seen: Seen, kinds: Sequence[int], calibration: tuple[float, float],
             ) -> dict[str, Any]:
    """What comes of it on the pictures for the test; intervals are Wilson's, 95 %."""
    test, own = seen.split == 'test', np.isin(seen.kind, kinds)
    refused = calibration[0] + calibration[1] * odds > 0
    rng, out = np.random.default_rng(0), dict[str, Any]()
    for name, mask in (('photographs', seen.sort == 'photo'),
                       ('other renders', seen.sort == 'render'),
                       ('photographs and renders', seen.sort != 'own'),
                       ('our other pictures', ~own & (seen.sort == 'own'))):
        chosen, mine = odds[test & mask], odds[test & own]
        drawn = [auroc(rng.choice(chosen, len(chosen)), rng.choice(mine, len(mine)))
                 for _ in range(1000)]
        told = int(refused[test & mask].sum())
        out[name] = {'n': len(chosen), 'auroc': auroc(chosen, mine),
                     'auroc_interval': np.quantile(drawn, (0.025, 0.975)).tolist(),
                     'told': told / len(chosen), 'interval': list(wilson(told, len(chosen)))}
    for name, mask in (('own', ~seen.changed), ('own, changed', seen.changed)):
        chosen = refused[test & own & mask]
        out[name] = {'n': len(chosen), 'refused': float(chosen.mean()),
                     'interval': list(wilson(int(chosen.sum()), len(chosen)))}
    return out


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--own', type=Path, required=True, help='of world_pictures.py')
    parser.add_argument('--foreign', type=Path, required=True, help='of foreign_pictures.py')
    parser.add_argument('--out', type=Path, required=True, help='folder of the classifier')
    arguments = parser.parse_args()
    features = Features(SHIPPED / 'locator')
    seen = look(arguments.own, arguments.foreign, features)
    weights = fitted(seen)
    chances = classified(seen.features.numpy(), {name: one.float().numpy()
                                                 for name, one in weights.items()})
    names, networks, results = list(KINDS), dict[str, Any](), dict[str, Any]()
    cal = seen.split == 'cal'
    for network, kinds in NETWORKS.items():
        mine = [names.index(kind) for kind in kinds]
        odds = np.array([foreign_log_odds(row, mine) for row in chances])
        own = np.isin(seen.kind, mine)
        parts = [~own & (seen.sort == 'own'), seen.sort != 'own']
        found = calibrated(odds[cal], ~own[cal], [part[cal] for part in parts])
        networks[network] = {'kinds': list(kinds), 'calibration': [round(x, 4) for x in found]}
        results[network] = measured(odds, seen, mine, found)
        print(network, json.dumps(results[network]), flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    save_file(weights, arguments.out / WEIGHTS_FILE)
    (arguments.out / SETTINGS_FILE).write_text(json.dumps(
        {'kinds': names, 'layers': features.digest, 'networks': networks}, indent=1) + '\n')
    (arguments.out / 'accuracy.json').write_text(json.dumps(results, indent=1) + '\n')


if __name__ == '__main__':
    main()
