"""What the household teaches: where things are, open, held or in reach, on, in and beside what."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import nn

import household_questions as questions
from curriculum import Asked, Batch, Settings, jitter, to_unit
from embedded_model import Shape
from household_labels import labelled, mirrored, renumbered
from household_questions import CATEGORIES, NUMBERS, SceneTruth
from household_scenes import FULL, GRID, MOST, Recipe, render_shard
from shards import Arrays

_OTHERS = len(CATEGORIES)
CELL_HEADS = {'thing': _OTHERS + 1, 'furniture': _OTHERS + 1, 'thing_number': len(NUMBERS) + 1,
              'furniture_number': len(NUMBERS) + 1, 'open': 2, 'held': 2, 'thing_reach': 2,
              'furniture_reach': 2, 'under': _OTHERS + 1}
"""Of every patch: category, number, states of thing and furniture; what the thing is on or in."""
NAME_HEADS = {'n_x': GRID, 'n_y': GRID, 'n_size': 6, 'n_open': 2, 'n_held': 2, 'n_reach': 2,
              'n_on': _OTHERS + 1, 'n_in': _OTHERS + 1}
"""Of every named object: where it is, how large, its states, what it is on and in."""
NATURAL = 0.35
"""Fraction of questions drawn from all; at the end of a stage all are, so that a yes is as likely
as it is when the grounder asks."""


@dataclass(frozen=True)
class Curriculum:
    """See ``curriculum.Curriculum``."""

    recipe: Recipe = field(default_factory=Recipe)
    name = 'household'
    words = questions.WORDS
    shape = Shape(height=240, width=240, patch=16, hidden=128, heads=4, vision_layers=2,
                  vision_mlp=256, text_layers=3, text_mlp=256, stem=(32, 32, 64, 128),
                  depths=(1, 1, 2))
    settings = Settings(steps=(600, 0, 4500), rates=(2e-3, 1e-3, 1.2e-3), batch=16, questions=24,
                        processes=1, shards=60, bfloat16=True)
    kinds = questions.PREDICATES
    heads = CELL_HEADS | NAME_HEADS
    scenes = 250

    def draw(self, seed: int, count: int | None = None) -> Arrays:
        """Walks through homes."""
        return render_shard(seed, self.recipe, count or self.scenes)

    def batch(self, data: Arrays, rng: np.random.Generator | None) -> Batch:
        """Facts: the arrays of a shard, numbers as they are written in the picture."""
        rows = []
        for i in range(len(data['image'])):
            scene: dict[str, Any] = {key: values[i] for key, values in data.items()}
            if rng is not None:
                if rng.random() < 0.5:
                    scene = mirrored(scene)
                scene = renumbered(scene, rng)
            rows.append(scene | {'image': labelled(scene)})
        facts = {key: np.stack([row[key] for row in rows]) for key in rows[0]}
        image = to_unit(facts.pop('image'))
        return Batch(jitter(image, rng) if rng is not None else image, facts)

    def ask(self, rng: random.Random, batch: Batch, count: int, progress: float) -> Asked:
        """As ``household_questions.sample`` does; the first questions of a scene are common."""
        natural = NATURAL + (1 - NATURAL) * max(0.0, (progress - 0.75) / 0.2)
        rows = []
        for i in range(len(batch.image)):
            truth = SceneTruth({key: values[i] for key, values in batch.facts.items()})
            row: list[Any] = []
            for _ in range(20 * count):
                if len(row) == count:
                    break
                question = questions.sample(rng, truth, natural)
                if question is not None:
                    row.append(question)
            row += [BLANK] * (count - len(row))
            rows.append(row)
        return Asked(*(torch.tensor([[q[k] for q in row] for row in rows]) for k in range(5)))

    def dense(self, model: nn.Module, heads: nn.ModuleDict, features: torch.Tensor, batch: Batch,
              ) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
        """What is in every patch, and of what state."""
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
        """The state of an object's name should tell what is to be known of it."""
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


BLANK = ([questions.ID['yes'], questions.ID['<answer>'], questions.ID['<pad>'],
          questions.ID['<pad>']], 1, questions.YES, 0, (-1, -1))
"""Where a scene has nothing in view to ask about."""


def name_targets(batch: Batch) -> dict[str, torch.Tensor]:
    """(n, K) right class of each head for each object, -100 where there is none."""
    facts = batch.facts
    rect = facts['rect'].astype(np.float32)
    centre = (rect[..., :2] + rect[..., 2:]) / 2
    cell = np.clip((centre * GRID / FULL).astype(np.int64), 0, GRID - 1)
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
            'n_in': where(thing, _category_of(facts, 'inside'))}


def cell_targets(batch: Batch) -> tuple[dict[str, torch.Tensor], dict[str, float]]:
    """What each head should say of each patch.

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
            return values[rows, owner]

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
    target = {name: torch.from_numpy(values.reshape(-1).astype(np.int64))
              for name, values in out.items()}
    return target, {'thing': 0.04, 'furniture': 0.1}


def _names(facts: dict[str, Any]) -> np.ndarray:
    """(n, K) token of each object's name."""
    return np.asarray(questions.NAME[facts['category'], facts['number'].astype(np.int64) - 1])


def _category_of(facts: dict[str, Any], relation: str) -> np.ndarray:
    """(n, K) 1 + category of what each object is on or in; 0 where it is in or on nothing."""
    table = facts[relation]
    category = np.take_along_axis(facts['category'], table.argmax(-1).reshape(len(table), MOST), 1)
    return np.where(table.any(-1), category + 1, 0)


def _several(facts: dict[str, Any]) -> np.ndarray:
    """(n, K) whether an object is named in the picture."""
    category, seen = facts['category'], facts['visible']
    same = (category[:, :, None] == category[:, None]) & seen[:, None] & seen[:, :, None]
    return np.asarray(same.sum(-1) > 1)


__all__ = ['Curriculum', 'SceneTruth']
