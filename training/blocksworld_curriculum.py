"""Curriculum of blocksworld: blocks by colour, in columns counted from left to right."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import nn

import blocksworld_questions as questions
from blocksworld_scenes import Recipe, render_shard
from curriculum import Asked, Batch, Settings, jitter, to_unit
from embedded_model import Shape
from shards import Arrays

PATCH_HEADS = {'colour': 7, 'column': 8, 'height': 6, 'above': 7, 'below': 7, 'count': 8}
COLOUR_HEADS = {'w_column': 9, 'w_height': 7, 'w_above': 8, 'w_below': 8}
COLUMN_HEADS = {'w_there': 2, 'w_blocks': 7, 'w_top': 8}
COLOUR_IDS = torch.tensor([questions.ID[w] for w in questions.COLOURS])
COLUMN_IDS = torch.tensor([questions.ID[w] for w in questions.COLUMNS])


@dataclass(frozen=True)
class Curriculum:
    """Curriculum of blocksworld; see ``curriculum.Curriculum``."""

    recipe: Recipe = field(default_factory=Recipe)
    name = 'blocksworld'
    words = questions.WORDS
    shape = Shape()
    settings = Settings()
    kinds = questions.KINDS
    heads = PATCH_HEADS | COLOUR_HEADS | COLUMN_HEADS
    scenes = 500

    def draw(self, seed: int, count: int | None = None) -> Arrays:
        """Render ``count`` scenes (default ``scenes``) of random stacks in random appearance."""
        return render_shard(seed, self.recipe, self.shape, count or self.scenes)

    def batch(self, data: Arrays, rng: np.random.Generator | None) -> Batch:
        """Facts: patch colours, tables, column counts; half the scenes are mirrored."""
        image = to_unit(data['image'])
        patch = data['patch'].astype(np.int64)
        table, columns = data['table'].copy(), data['columns']
        if rng is not None:
            for i in np.flatnonzero(rng.random(len(image)) < 0.5):
                image[i] = image[i].flip(-1)  # columns then count from the other side
                patch[i] = patch[i][:, ::-1]
                there = table[i, :, 0] >= 0
                table[i, there, 0] = columns[i] - 1 - table[i, there, 0]
            image = jitter(image, rng)
        return Batch(image, {'patch': patch, 'table': table, 'columns': columns})

    def emphasis(self, data: Arrays) -> NDArray[np.float64]:
        """Weights of the scenes: all are equal."""
        return np.ones(len(data['image']))

    def views(self, batch: Batch) -> dict[str, Batch]:
        """Return the batch alone: nothing is measured separately."""
        return {'': batch}

    def ask(self, rng: random.Random, batch: Batch, count: int, progress: float) -> Asked:
        """Draw questions about each scene, by ``blocksworld_questions.sample``."""
        del progress
        rows = []
        for scene, n in zip(batch.facts['table'].tolist(), batch.facts['columns'].tolist(),
                            strict=True):
            truth = questions.SceneTruth(scene, n)
            rows.append([questions.sample(rng, truth) for _ in range(count)])
        return Asked(*(torch.tensor([[q[k] for q in row] for row in rows]) for k in range(4)))

    def dense(self, model: nn.Module, heads: nn.ModuleDict, features: torch.Tensor, batch: Batch,
              ) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
        """Colour, place and neighbours of the block in every patch."""
        target = patch_targets(batch)
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
            accuracies.append(float((logits.argmax(-1) == goal)[counted].float().mean()))
        return 0.5 * align_loss(model, features, target), torch.stack(losses).sum(), accuracies

    def deep(self, heads: nn.ModuleDict, hidden: torch.Tensor, asked: Asked, batch: Batch,
             ) -> tuple[torch.Tensor, float]:
        """Train the hidden state of a colour or column word to encode where that thing is."""
        labels = torch.from_numpy(questions.scene_labels(batch.facts['table'],
                                                         batch.facts['columns']))
        normed = F.layer_norm(hidden, hidden.shape[-1:])
        rows = torch.arange(len(asked.ids))[:, None, None].expand_as(asked.ids)
        losses, hits = [], []
        for ids, names, first in ((COLOUR_IDS, COLOUR_HEADS, 0), (COLUMN_IDS, COLUMN_HEADS, 6)):
            which = (asked.ids[..., None] == ids).long()
            mask = which.any(-1)
            row = labels[rows[mask], first + which.argmax(-1)[mask]]
            state = normed[mask]
            for k, name in enumerate(names):
                logits = heads[name](state)
                losses.append(F.cross_entropy(logits, row[:, k]) * (0.25 if first == 0 else 0.1))
                if first == 0:
                    hits.append((logits.argmax(-1) == row[:, k]).float().mean())
        return torch.stack(losses).sum(), float(torch.stack(hits).mean())


def patch_targets(batch: Batch) -> torch.Tensor:
    """(n, patches, 6): colour, column, height, above, below, columns - 1; -100 off the blocks."""
    patch, columns = batch.facts['patch'], batch.facts['columns']
    n = len(patch)
    flat = patch.reshape(n, -1)
    labels = questions.scene_labels(batch.facts['table'], columns)[:, :6]
    per_block = labels[np.arange(n)[:, None], np.maximum(flat - 1, 0)]
    per_block = np.where(flat[..., None] > 0, per_block, -100)
    count = np.broadcast_to((columns.astype(np.int64) - 1)[:, None, None], (*flat.shape, 1))
    return torch.from_numpy(np.concatenate([flat[..., None], per_block, count], -1))


def align_loss(model: Any, features: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
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
