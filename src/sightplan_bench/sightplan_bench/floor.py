"""The least time in which a card can score questions about one image: arithmetic, no model.

Scoring N yes/no questions about one image has three phases, and none can be left out: the vision
tower looks at the image once, the language model reads the prefix (all that comes before the
first word that differs between questions, image tokens included) once, and it reads the tokens of
all suffixes. With the rates F [FLOP/s] and B [byte/s] of the card, measured, not taken from a data
sheet, the floor is the sum over phases::

    time(phase) = max(FLOPs(phase) / F, bytes(phase) / B)

    FLOPs(vision) = 2 * vision weights * patches + 2 * merger weights * image tokens
                    + 4 * vision width * (query, key) pairs, in windows or over the whole image
    FLOPs(prefix) = 2 * layer weights * P + 4 * query width * layers * P (P + 1) / 2
    FLOPs(suffix) = 2 * layer weights * T + 2 * read-out weights * N
                    + 4 * query width * layers * sum over T of (P + depth)

    bytes(phase)  = weights of the phase, read once
                    + keys and values, written once by the prefix, read once by the suffixes

P tokens of prefix, N suffixes, T tokens in all of them at depths 1, 2, ... behind the prefix, a
beginning that several suffixes have in common counted once (it needs to be read once); 2 FLOPs per
weight and token, and per (query, key) pair 2 for the score and 2 for the sum, in every one of the
query width's entries. Attention counts only what causality needs. The prefix needs no read-out,
and of each suffix only the last token does. Left out, so that it stays a floor: embeddings, norms,
soft-max, the start of kernels, activations in memory, and that not every matrix product reaches
the best one's rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """Size of a vision-language model of the Qwen2.5-VL kind.

    Attributes:
        hidden: width of the language model.
        layers: its layers.
        heads: its query heads.
        kv_heads: its key and value heads.
        intermediate: width of its feed-forward part (gated: three matrices).
        vocab: tokens of its vocabulary; embedding and read-out are not tied.
        vision_depth: layers of the vision tower.
        vision_hidden: its width.
        vision_heads: its heads.
        vision_intermediate: width of its feed-forward part (gated).
        vision_full: layers that attend over the whole image; the others over windows.
        patch_px: side of a patch [px].
        merge: patches along a side that make one image token.
        window_px: side of an attention window [px].
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    vocab: int
    vision_depth: int
    vision_hidden: int
    vision_heads: int
    vision_intermediate: int
    vision_full: tuple[int, ...]
    patch_px: int = 14
    merge: int = 2
    window_px: int = 112

    @property
    def head_dim(self) -> int:
        """Width of a head of the language model."""
        return self.hidden // self.heads

    @property
    def layer_weights(self) -> int:
        """Entries of the matrices in all layers of the language model."""
        attention = self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads)
        return self.layers * (attention + 3 * self.hidden * self.intermediate)

    @property
    def readout_weights(self) -> int:
        """Entries of the read-out; the embedding has as many."""
        return self.hidden * self.vocab

    @property
    def patch_weights(self) -> int:
        """Entries of the vision tower's matrices that every patch goes through."""
        width = self.vision_hidden
        block = 4 * width * width + 3 * width * self.vision_intermediate
        return self.vision_depth * block + 3 * 2 * self.patch_px ** 2 * width

    @property
    def merger_weights(self) -> int:
        """Entries of the matrices that every image token goes through."""
        width = self.vision_hidden * self.merge ** 2
        return width * width + width * self.hidden

    @property
    def weights(self) -> int:
        """Entries of all matrices, embedding included."""
        return (self.layer_weights + 2 * self.readout_weights + self.patch_weights
                + self.merger_weights)

    def as_dict(self) -> dict[str, object]:
        """The sizes as JSON data."""
        return {key: list(value) if isinstance(value, tuple) else value
                for key, value in asdict(self).items()}


SHAPES = {
    # Published shapes, https://arxiv.org/abs/2502.13923 and the models' config.json.
    'qwen2.5-vl-7b': Shape(
        hidden=3584, layers=28, heads=28, kv_heads=4, intermediate=18944, vocab=152064,
        vision_depth=32, vision_hidden=1280, vision_heads=16, vision_intermediate=3420,
        vision_full=(7, 15, 23, 31)),
    'qwen2.5-vl-32b': Shape(
        hidden=5120, layers=64, heads=40, kv_heads=8, intermediate=27648, vocab=152064,
        vision_depth=32, vision_hidden=1280, vision_heads=16, vision_intermediate=3456,
        vision_full=(7, 15, 23, 31)),
    # The same kind with the same proportion of vision to language, for one core and for tests.
    'cpu-small': Shape(
        hidden=768, layers=12, heads=12, kv_heads=2, intermediate=3584, vocab=8192,
        vision_depth=6, vision_hidden=320, vision_heads=8, vision_intermediate=864,
        vision_full=(2, 5)),
    'cpu-tiny': Shape(
        hidden=64, layers=2, heads=4, kv_heads=2, intermediate=128, vocab=512,
        vision_depth=2, vision_hidden=32, vision_heads=2, vision_intermediate=64,
        vision_full=(1,)),
}


@dataclass(frozen=True, slots=True)
class Grid:
    """An image as a grid of image tokens.

    Attributes:
        height: rows of image tokens.
        width: columns of image tokens.
    """

    height: int
    width: int

    @property
    def tokens(self) -> int:
        """Number of image tokens."""
        return self.height * self.width

    @classmethod
    def near(cls, tokens: int) -> Grid:
        """The grid of at most 2:1 with the nearest number of tokens; of several, the squarest."""
        fits = [cls(height, width) for height in range(1, math.isqrt(2 * tokens) + 2)
                for width in range(height, 2 * height + 1)]
        return min(fits, key=lambda grid: (abs(grid.tokens - tokens), grid.width / grid.height))


@dataclass(frozen=True, slots=True)
class Rates:
    """Peak rates of a card.

    Attributes:
        flops_per_s: multiplications and additions of a matrix product [1/s].
        bytes_per_s: read and written bytes of a copy [1/s].
    """

    flops_per_s: float
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Work:
    """Least work of a phase.

    Attributes:
        flops: multiplications and additions.
        bytes: bytes to and from memory.
    """

    flops: float
    bytes: float

    def seconds(self, rates: Rates) -> float:
        """Least time of the work [s]."""
        return max(self.flops / rates.flops_per_s, self.bytes / rates.bytes_per_s)

    def bound(self, rates: Rates) -> str:
        """Resource that limits the work: ``compute`` or ``memory``."""
        return ('compute' if self.flops / rates.flops_per_s >= self.bytes / rates.bytes_per_s
                else 'memory')


def vision_pairs(shape: Shape, grid: Grid) -> int:
    """(Query, key) pairs of patches in all layers of the vision tower."""
    patches_per_token = shape.merge ** 2
    everything = (grid.tokens * patches_per_token) ** 2
    side = shape.window_px // shape.merge // shape.patch_px
    windows = sum((min(side, grid.height - top) * min(side, grid.width - left)
                   * patches_per_token) ** 2
                  for top in range(0, grid.height, side) for left in range(0, grid.width, side))
    full = len([layer for layer in shape.vision_full if layer < shape.vision_depth])
    return full * everything + (shape.vision_depth - full) * windows


def depths(suffixes: Sequence[tuple[int, ...]]) -> list[int]:
    """Depth of every token behind the prefix, common beginnings once."""
    return [len(beginning) for beginning in {
        suffix[:length] for suffix in suffixes for length in range(1, len(suffix) + 1)}]


def work(shape: Shape, grid: Grid, prefix: int, suffixes: Sequence[tuple[int, ...]],
         bytes_per_weight: int) -> dict[str, Work]:
    """Work of each phase, by the formulas in the module's docstring.

    Args:
        shape: the model.
        grid: the image.
        prefix: tokens of the prefix, those of the image included.
        suffixes: tokens of the questions, each with what follows it.
        bytes_per_weight: 2 for bf16, 4 for float32; keys and values have the same.

    Returns:
        Work of ``vision``, ``prefix`` and ``suffix``.
    """
    pair = 4 * shape.heads * shape.head_dim * shape.layers
    kept = 2 * shape.kv_heads * shape.head_dim * shape.layers * prefix
    places = depths(suffixes)
    return {
        'vision': Work(
            2 * shape.patch_weights * grid.tokens * shape.merge ** 2
            + 2 * shape.merger_weights * grid.tokens
            + 4 * shape.vision_hidden * vision_pairs(shape, grid),
            bytes_per_weight * (shape.patch_weights + shape.merger_weights)),
        'prefix': Work(
            2 * shape.layer_weights * prefix + pair * (prefix * (prefix + 1) // 2),
            bytes_per_weight * (shape.layer_weights + kept)),
        'suffix': Work(
            2 * shape.layer_weights * len(places) + 2 * shape.readout_weights * len(suffixes)
            + pair * sum(prefix + depth for depth in places),
            bytes_per_weight * (shape.layer_weights + shape.readout_weights + kept)),
    }


def floor(phases: dict[str, Work], rates: Rates) -> dict[str, object]:
    """The floor and its phases, as plain JSON data; times in milliseconds."""
    return {
        'ms': round(1e3 * sum(phase.seconds(rates) for phase in phases.values()), 3),
        'phases': {name: {'ms': round(1e3 * phase.seconds(rates), 3),
                          'bound': phase.bound(rates),
                          'gflop': round(1e-9 * phase.flops, 3),
                          'mib': round(phase.bytes / 2 ** 20, 2)}
                   for name, phase in phases.items()},
    }
