"""Curriculum of household: places, states and relations of objects."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import nn

import household_questions as questions
from curriculum import Asked, Batch, Settings, jitter, to_unit
from embedded_model import Shape
from household_labels import labelled, mirrored, renumbered
from household_questions import CATEGORIES, NUMBERS, SceneTruth
from household_scenes import FULL, GRID, KINDS, MOST, Recipe, render_shard
from shards import Arrays

_OTHERS = len(CATEGORIES)
CELL_HEADS = {'thing': _OTHERS + 1, 'furniture': _OTHERS + 1, 'thing_number': len(NUMBERS) + 1,
              'furniture_number': len(NUMBERS) + 1, 'open': 2, 'held': 2, 'thing_reach': 2,
              'furniture_reach': 2, 'under': _OTHERS + 1, 'distance': 32}
"""Number of classes of each output for a picture patch. ``under`` is the category of the thing
that the thing is on or in."""
NAME_HEADS = {'n_x': 2 * GRID, 'n_y': GRID, 'n_size': 6, 'n_open': 2, 'n_held': 2, 'n_reach': 2,
              'n_on': _OTHERS + 1, 'n_in': _OTHERS + 1, 'n_beside': _OTHERS + 1,
              'n_distance': 32}
"""Number of classes of each output for a named object. ``n_x`` is finer than ``n_y``: an object
that the robot went to is within about ten pixels of the middle."""
HARD = (0.5, 0.1)
"""Fraction of the weight of "no" that near misses have beyond their own, before and after."""
RECIPES = ((136, Recipe(0.9, ('search',), openings=True)), (100, Recipe(0.4, openings=True)),
           (0, Recipe()))
"""First shard of each recipe. Later shards have more of the scenes with the most errors: windows,
cartons and doors, then rooms with many things that open."""
UNKNOWN_DEPTH, NOISY_DEPTH = 0.25, 0.4
"""Fractions of the training pictures without depth, and with the depth of a poor sensor."""


@dataclass(frozen=True)
class Curriculum:
    """Curriculum of household; see ``curriculum.Curriculum``."""

    recipe: Recipe | None = None
    name = 'household'
    words = questions.WORDS
    shape = Shape(height=240, width=240, channels=4, patch=16, hidden=160, heads=4,
                  vision_layers=3, vision_mlp=320, text_layers=4, text_mlp=320,
                  stem=(32, 48, 96, 160), depths=(1, 2, 2))
    settings = Settings(steps=(600, 0, 9000), rates=(2e-3, 1e-3, 1e-3), batch=16, questions=32,
                        processes=1, shards=230, bfloat16=True)
    kinds = questions.PREDICATES
    heads = CELL_HEADS | NAME_HEADS
    scenes = 250

    def draw(self, seed: int, count: int | None = None) -> Arrays:
        """Walks through homes, by ``recipe`` or else ``RECIPES``."""
        recipe = self.recipe or next(recipe for first, recipe in RECIPES if seed >= first)
        return render_shard(seed, recipe, count or self.scenes)

    def batch(self, data: Arrays, rng: np.random.Generator | None) -> Batch:
        """Facts: the arrays of a shard, numbers as they are written in the picture."""
        rows = []
        for i in range(len(data['image'])):
            scene: dict[str, Any] = {key: values[i] for key, values in data.items()}
            if rng is not None:
                if rng.random() < 0.5:
                    scene = mirrored(scene)
                scene = renumbered(scene, rng)
            depth = known(scene['depth'])
            seen = depth if rng is None else sensed(depth, rng)
            image = np.concatenate([labelled(scene), seen[..., None]], -1)
            rows.append(scene | {'image': image, 'depth': depth})
        facts = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        shown = to_unit(facts.pop('image'))
        return Batch(jitter(shown, rng) if rng is not None else shown, facts)

    def emphasis(self, data: Arrays) -> NDArray[np.float64]:
        """Weights of the scenes: more for rare relations, less for pictures of little."""
        seen = data['visible']
        both = seen[:, :, None] & seen[:, None]
        rare = 1.5 * (data['nextto'] & both).any((1, 2)) + (data['inside'] & both).any((1, 2))
        boxes = seen & (data['kind'] == KINDS.index('container'))
        state = 0.5 * boxes.any(1) + 0.5 * (boxes & ~data['open']).any(1)
        return np.asarray(np.minimum(seen.sum(1), 2) / 2 + 0.05 + rare + state)

    def views(self, batch: Batch) -> dict[str, Batch]:
        """The batch, and the batch without depth."""
        blind = batch.image.clone()
        blind[:, 3] = -1.0
        return {'': batch, 'without depth': Batch(blind, batch.facts)}

    def ask(self, rng: random.Random, batch: Batch, count: int, progress: float) -> Asked:
        """All questions that the grounder would ask; at most ``count``, drawn by their weights."""
        part = min(1.0, max(0.0, (progress - 0.6) / 0.3))
        hard = HARD[0] + part * (HARD[1] - HARD[0])
        rows, weights = [], []
        for i in range(len(batch.image)):
            row = questions.items(SceneTruth({k: values[i] for k, values in batch.facts.items()}))
            weight = [questions.balance(item, hard) for item in row]
            if len(row) > count:
                row = rng.choices(row, weight, k=count)
                weight = [sum(weight) / count] * count
            rows.append(row)
            weights.append(weight)
        most = max(1, *map(len, rows))
        for row, weight in zip(rows, weights, strict=True):
            weight += [0.0] * (most - len(row))
            row += [BLANK] * (most - len(row))
        ids, position, answer, kind, about = (
            torch.tensor([[item[k] for item in row] for row in rows]) for k in range(5))
        return Asked(ids, position, answer, kind, about, torch.tensor(weights))

    def dense(self, model: nn.Module, heads: nn.ModuleDict, features: torch.Tensor, batch: Batch,
              ) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
        """Losses of the heads of patches: contents and states."""
        del model
        target, weights = cell_targets(batch)
        normed = F.layer_norm(features, features.shape[-1:]).flatten(0, 1)
        losses, figures = [], []
        for name in CELL_HEADS:
            goal = target[name]
            if name in ('thing', 'furniture'):
                logits = heads[name](normed)
                weight = torch.ones(_OTHERS + 1)
                weight[0] = weights[name]
                losses.append(F.cross_entropy(logits, goal, weight=weight))
                counted = goal > 0
            else:
                counted = goal >= 0
                if not counted.any():
                    continue
                logits, goal = heads[name](normed[counted]), goal[counted]
                losses.append(0.4 * F.cross_entropy(logits, goal))
                counted = torch.ones_like(goal, dtype=torch.bool)
            hit = (logits.argmax(-1) == goal)[counted]
            figures.append(float(hit.float().mean()) if len(hit) else 1.0)
        figures += [1.0] * (len(CELL_HEADS) - len(figures))
        return features.new_zeros(()), torch.stack(losses).sum(), figures

    def deep(self, heads: nn.ModuleDict, hidden: torch.Tensor, asked: Asked, batch: Batch,
             ) -> tuple[torch.Tensor, float]:
        """Train the hidden state of an object's name to encode the object's place and state."""
        assert asked.about is not None
        normed = F.layer_norm(hidden, hidden.shape[-1:])
        objects, states, rows = [], [], []
        for which in range(2):
            about = asked.about[..., which]
            names = torch.from_numpy(_names(batch.facts)).gather(1, about.clamp(min=0))
            there = (asked.ids == names[..., None]) & (about >= 0)[..., None]
            rows.append(there.nonzero()[:, 0])
            objects.append(about[..., None].expand_as(there)[there])
            states.append(normed[there])
        row, thing, state = torch.cat(rows), torch.cat(objects), torch.cat(states)
        target = name_targets(batch)
        losses, hits = [], []
        for name in NAME_HEADS:
            goal = target[name][row, thing]
            kept = goal >= 0
            if not kept.any():
                continue
            logits = heads[name](state[kept])
            losses.append(0.15 * F.cross_entropy(logits, goal[kept]))
            hits.append((logits.argmax(-1) == goal[kept]).float().mean())
        return torch.stack(losses).sum(), float(torch.stack(hits).mean())


BLANK = questions.Item([questions.ID['yes'], questions.ID['<answer>'], questions.ID['<pad>'],
                        questions.ID['<pad>']], 1, questions.YES, 0, (-1, -1), False)
"""Padding of scenes with fewer questions than others; it has no weight."""


def known(depth: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Depth with 0 (unknown) at the gripper, which is nearest and drawn too small."""
    return np.where(depth <= 1, 0, depth).astype(np.uint8)


def sensed(depth: NDArray[np.uint8], rng: np.random.Generator) -> NDArray[np.uint8]:
    """(H, W) depth as some sensor gives it: none at all, a poor one's, or as it is.

    A poor one is off by a few per cent as a whole, noisy, has holes along edges and anywhere, and
    may see less far.
    """
    draw = rng.random()
    if draw < UNKNOWN_DEPTH:
        return np.zeros_like(depth)
    if draw > UNKNOWN_DEPTH + NOISY_DEPTH:
        return depth
    noise = rng.standard_normal(depth.shape, np.float32) * rng.uniform(0.0, 1.5)
    value = np.clip(np.rint(depth + noise + rng.normal(0.0, 1.5)), 2, 255)
    steps = np.zeros(depth.shape, np.uint8)
    steps[:, 1:] = np.abs(np.diff(depth.astype(np.int16), axis=1)) > 6
    steps[1:] |= np.abs(np.diff(depth.astype(np.int16), axis=0)) > 6
    lost = cv2.dilate(steps, np.ones((3, 3), np.uint8)) > 0
    lost &= rng.random(depth.shape, np.float32) < rng.uniform(0.0, 1.0)
    height, width = depth.shape
    for _ in range(rng.integers(0, 5)):
        y, x = rng.integers(0, height), rng.integers(0, width)
        lost[y:y + rng.integers(4, 40), x:x + rng.integers(4, 40)] = True
    if rng.random() < 0.3:
        lost |= value > rng.uniform(190, 255)
    return np.where(lost | (depth == 0), 0, value).astype(np.uint8)


def name_targets(batch: Batch) -> dict[str, torch.Tensor]:
    """(n, K) right class of each head for each object, -100 where there is none."""
    facts = batch.facts
    rect = facts['rect'].astype(np.float32)
    centre = (rect[..., :2] + rect[..., 2:]) / 2
    fine = np.array([2 * GRID, GRID])
    cell = np.clip((centre * fine / FULL).astype(np.int64), 0, fine - 1)
    side = np.sqrt(np.maximum((rect[..., 2:] - rect[..., :2]).prod(-1), 1.0))
    size = np.digitize(side, (16, 32, 64, 128, 256))
    kind = facts['kind']
    shown = rect.any(-1)
    thing, box = kind == 1, kind == 2

    def where(mask: np.ndarray, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.where(mask, values, -100).astype(np.int64))

    return {'n_x': where(shown, cell[..., 0]), 'n_y': where(shown, cell[..., 1]),
            'n_size': where(shown, size), 'n_open': where(box, facts['open']),
            'n_held': where(thing, facts['held']), 'n_reach': where(kind > 0, facts['reach']),
            'n_on': where(thing, _category_of(facts, 'ontop')),
            'n_in': where(thing, _category_of(facts, 'inside')),
            'n_beside': where(thing, _category_of(facts, 'nextto')),
            'n_distance': torch.from_numpy(distances(batch))}


def distances(batch: Batch) -> NDArray[np.int64]:
    """(n, K) class of each object's distance, by the middle of its pixels; -100 for none."""
    facts = batch.facts
    out = np.full(facts['kind'].shape, -100, np.int64)
    for i, k in np.argwhere(facts['visible'] & facts['hull'].any((-1, -2))):
        corners = np.rint(facts['hull'][i, k] * (facts['depth'].shape[-1] / FULL)).astype(np.int32)
        x0, y0 = np.maximum(corners.min(0), 0)
        x1, y1 = corners.max(0) + 1
        mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
        cv2.fillConvexPoly(mask, corners - (x0, y0), 1)
        part = facts['depth'][i, y0:y1, x0:x1]
        values = part[(mask[:part.shape[0], :part.shape[1]] > 0) & (part > 0)]
        if len(values):
            out[i, k] = int(np.median(values)) // 8
    return out


def cell_targets(batch: Batch) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """Right class of each head for each patch.

    Returns:
        Classes (n * 225,), -100 where there is none; weights of "nothing" among categories.
    """
    facts = batch.facts
    n = len(facts['kind'])
    rows = np.arange(n)[:, None]
    cells = facts['cells'].reshape(n, GRID * GRID, 2).astype(np.int64)
    out: dict[str, np.ndarray] = {}
    several = _several(facts)
    for layer, name in enumerate(('thing', 'furniture')):
        owner, there = np.maximum(cells[..., layer] - 1, 0), cells[..., layer] > 0

        def of(values: np.ndarray, owner: np.ndarray = owner) -> np.ndarray:
            return np.asarray(values[rows, owner])

        out[name] = np.where(there, of(facts['category']) + 1, 0)
        number = np.where(of(several), of(facts['number']), 0)
        out[f'{name}_number'] = np.where(there, number, -100)
        out[f'{name}_reach'] = np.where(there, of(facts['reach']), -100)
        if name == 'thing':
            out['held'] = np.where(there, of(facts['held']), -100)
            below = np.maximum(_category_of(facts, 'ontop'), _category_of(facts, 'inside'))
            out['under'] = np.where(there, of(below), -100)
        else:
            out['open'] = np.where(there & (of(facts['kind']) == 2), of(facts['open']), -100)
    side = facts['depth'].shape[-1] // GRID
    middle = np.median(facts['depth'].reshape(n, GRID, side, GRID, side).transpose(
        0, 1, 3, 2, 4).reshape(n, GRID * GRID, -1), -1).astype(np.int64)
    out['distance'] = np.where(middle > 0, middle // 8, -100)
    target = {name: torch.from_numpy(values.reshape(-1).astype(np.int64))
              for name, values in out.items()}
    return target, {'thing': 0.04, 'furniture': 0.1}


def _names(facts: dict[str, Any]) -> np.ndarray:
    """(n, K) token of each object's name."""
    return np.asarray(questions.NAME[facts['category'], facts['number'].astype(np.int64) - 1])


def _category_of(facts: dict[str, Any], relation: str) -> np.ndarray:
    """(n, K) 1 + category of the object that each object is on or in; 0 if there is none."""
    table = facts[relation]
    category = np.take_along_axis(facts['category'], table.argmax(-1).reshape(len(table), MOST), 1)
    return np.where(table.any(-1), category + 1, 0)


def _several(facts: dict[str, Any]) -> np.ndarray:
    """(n, K) whether an object is named in the picture."""
    category, seen = facts['category'], facts['visible']
    same = (category[:, :, None] == category[:, None]) & seen[:, None] & seen[:, :, None]
    return np.asarray(same.sum(-1) > 1)


__all__ = ['Curriculum', 'SceneTruth']
