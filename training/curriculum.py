"""Curricula: the words, pictures, questions and auxiliary targets that a domain trains on.

A curriculum is everything that ``train_embedded.py`` needs to know about a domain; there is one
module ``<domain>_curriculum.py`` for each. Besides answers to questions, two kinds of hints are
learned with heads that are thrown away at the end: *dense* ones (what is seen in every image
patch) and *deep* ones (what the decoder knows of a thing after reading its name).
"""

from __future__ import annotations

import dataclasses
import importlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from numpy.typing import NDArray
from torch import nn

from embedded_model import Shape, Words
from shards import Arrays


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
    bfloat16: bool = False


@dataclasses.dataclass
class Batch:
    """Pictures and facts of some scenes.

    Attributes:
        image: (n, channels, H, W) float32 in [-1, 1].
        facts: what the curriculum knows of them.
    """

    image: torch.Tensor
    facts: dict[str, Any]


@dataclasses.dataclass
class Asked:
    """Q questions about each of n scenes.

    Attributes:
        ids: (n, Q, L) tokens.
        position: (n, Q) of the answer token within L.
        answer: (n, Q) id of the right answer.
        kind: (n, Q) index into the curriculum's kinds.
        about: (n, Q, ...) what deep hints need to know.
        weight: (n, Q) of each question in the loss; None: all the same.
    """

    ids: torch.Tensor
    position: torch.Tensor
    answer: torch.Tensor
    kind: torch.Tensor
    about: torch.Tensor | None = None
    weight: torch.Tensor | None = None


class Curriculum(Protocol):
    """Everything that training needs of one domain.

    Attributes:
        name: of the domain.
        words: that the model knows.
        shape: of the model.
        settings: of the training that gave the shipped weights.
        kinds: of questions, for the log.
        heads: sizes of the heads, by name.
        scenes: of a shard.
    """

    name: str
    words: Words
    shape: Shape
    settings: Settings
    kinds: tuple[str, ...]
    heads: Mapping[str, int]
    scenes: int

    def draw(self, seed: int, count: int | None = None) -> Arrays:
        """Render one shard; a function of its arguments alone. Must be a method that pickles."""

    def batch(self, data: Arrays, rng: np.random.Generator | None) -> Batch:
        """Scenes to learn from; varied if a generator is given."""

    def emphasis(self, data: Arrays) -> NDArray[np.float64]:
        """(n,) how often each of some scenes is learned from, relative to others."""

    def views(self, batch: Batch) -> dict[str, Batch]:
        """Variants of a batch that are measured separately, by name; '' is the batch itself."""

    def ask(self, rng: random.Random, batch: Batch, count: int, progress: float) -> Asked:
        """Questions about a batch; ``progress`` is the fraction of the stage that is done."""

    def dense(self, model: nn.Module, heads: nn.ModuleDict, features: torch.Tensor, batch: Batch,
              ) -> tuple[torch.Tensor, torch.Tensor, list[float]]:
        """Loss of the projected patches, loss of the dense hints, figures for the log."""

    def deep(self, heads: nn.ModuleDict, hidden: torch.Tensor, asked: Asked, batch: Batch,
             ) -> tuple[torch.Tensor, float]:
        """Loss of the deep hints and their accuracy; hidden is (n, Q, L, hidden)."""


def curricula() -> tuple[str, ...]:
    """Domains that have a curriculum."""
    folder = Path(__file__).resolve().parent
    return tuple(sorted(path.stem.removesuffix('_curriculum')
                        for path in folder.glob('*_curriculum.py')))


def load_curriculum(domain: str) -> Curriculum:
    """The curriculum of a domain."""
    curriculum: Curriculum = importlib.import_module(f'{domain}_curriculum').Curriculum()
    return curriculum


def to_unit(image: np.ndarray) -> torch.Tensor:
    """(n, H, W, 3) uint8 to (n, 3, H, W) float32 in [-1, 1]."""
    return torch.from_numpy(image).permute(0, 3, 1, 2).float() / 127.5 - 1


def jitter(image: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Vary contrast, brightness and colours, and shift by up to a pixel, depth included."""
    n = len(image)

    def noise(*shape: int) -> torch.Tensor:
        return torch.from_numpy(rng.uniform(-1, 1, shape).astype(np.float32))

    colours = image[:, :3] * (1 + 0.08 * noise(n, 1, 1, 1)) + 0.06 * noise(n, 1, 1, 1)
    image = torch.cat([colours + 0.03 * noise(n, 3, 1, 1), image[:, 3:]], 1)
    dy, dx = rng.integers(-1, 2, 2)
    if dy or dx:
        height, width = image.shape[2:]
        image = F.pad(image, (1, 1, 1, 1), mode='replicate')[
            :, :, 1 + dy:1 + dy + height, 1 + dx:1 + dx + width]
    return image
