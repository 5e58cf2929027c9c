"""Models with random weights, and prompts of random tokens, for measuring speed.

Arithmetic takes as long with random weights as with learned ones, so that speed can be measured
where no weights can be had. The shapes are those of :data:`sightplan_bench.floor.SHAPES`.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

from sightplan.model import InputError
from sightplan_bench.floor import Grid, Shape
from sightplan_models._shared_prefix import SharedPrefix

_SPECIAL = 8
"""Tokens at the end of the vocabulary that stand for an image and its ends."""
_ANSWERS = 4
"""Spellings each of yes and of no, the first tokens of the vocabulary."""


def make_config(shape: Shape) -> Any:
    """The configuration of a shape, a ``Qwen2_5_VLConfig``.

    Raises:
        InputError: the shape's rotary embedding cannot be split into time, height and width.
    """
    if shape.head_dim % 16:
        raise InputError(f'bench: the head dimension {shape.head_dim} must be a multiple of 16')
    half = shape.head_dim // 2
    section = [half // 4, half * 3 // 8, half * 3 // 8]
    return Qwen2_5_VLConfig(
        text_config={
            'hidden_size': shape.hidden, 'num_hidden_layers': shape.layers,
            'num_attention_heads': shape.heads, 'num_key_value_heads': shape.kv_heads,
            'intermediate_size': shape.intermediate, 'vocab_size': shape.vocab,
            'max_position_embeddings': 32768, 'rms_norm_eps': 1e-6, 'use_sliding_window': False,
            'bos_token_id': None, 'eos_token_id': None, 'pad_token_id': 0,
            'rope_parameters': {'rope_type': 'default', 'rope_theta': 1e6,
                                'mrope_section': section}},
        vision_config={
            'depth': shape.vision_depth, 'hidden_size': shape.vision_hidden,
            'num_heads': shape.vision_heads, 'intermediate_size': shape.vision_intermediate,
            'out_hidden_size': shape.hidden, 'patch_size': shape.patch_px,
            'spatial_merge_size': shape.merge, 'window_size': shape.window_px,
            'fullatt_block_indexes': list(shape.vision_full)},
        image_token_id=shape.vocab - _SPECIAL, video_token_id=shape.vocab - _SPECIAL + 1,
        vision_start_token_id=shape.vocab - _SPECIAL + 2,
        vision_end_token_id=shape.vocab - _SPECIAL + 3, tie_word_embeddings=False)


def make_model(shape: Shape, device: str, dtype: str = 'bfloat16', attention: str = 'sdpa',
               seed: int = 0) -> Any:
    """A model of a shape with random weights, made where and as it is needed.

    Every parameter is allocated on the device in the type asked for: there is never a float32 copy
    and nothing passes through the host's memory. (Not by way of the ``meta`` device: that would
    leave the buffers that are no weights, such as the rotary frequencies, undefined.) Matrices are
    normal with variance 1 / inputs, which keeps activations in range through any number of layers.

    Args:
        shape: the shape.
        device: ``cpu``, ``cuda`` or ``cuda:1``.
        dtype: name of a floating-point type of torch.
        attention: ``sdpa``, ``eager`` or ``flash_attention_2``.
        seed: of the device's random generator; another device gives other weights.

    Returns:
        A ``Qwen2_5_VLForConditionalGeneration`` that does not train.
    """
    config = make_config(shape)
    with torch.device(device):
        model = Qwen2_5_VLForConditionalGeneration._from_config(
            config, dtype=getattr(torch, dtype), attn_implementation=attention)
    generator = torch.Generator(device=device).manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() < 2:
                around = 0.0 if name.endswith('bias') else 1.0  # weights of a norm are around 1
                parameter.normal_(around, 0.1, generator=generator)
            else:
                inputs = 1 if 'embed_tokens' in name else parameter[0].numel()
                parameter.normal_(0.0, inputs ** -0.5, generator=generator)
    return model.requires_grad_(False).eval()


@dataclass(frozen=True, slots=True)
class Scene:
    """An image and questions about it, as tokens.

    Attributes:
        prefix: tokens before the questions: system prompt, image, shared words.
        suffixes: tokens of each question, the end of the prompt included; unequal in length.
        image_token: the token that stands for a piece of the image.
        pixels: (patches, 3 * 2 * patch side squared), normal, on the device in the model's type.
        grid: (1, 3) int64, on the device: frames, rows and columns of patches.
    """

    prefix: tuple[int, ...]
    suffixes: tuple[tuple[int, ...], ...]
    image_token: int
    pixels: torch.Tensor
    grid: torch.Tensor

    def first(self, questions: int) -> Scene:
        """Copy of the scene with its first questions only."""
        return replace(self, suffixes=self.suffixes[:questions])

    def inputs(self, rows: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
        """Arguments of the model for prompts that each carry the image, padded on the left.

        Args:
            rows: what follows the prefix in each prompt; one empty row gives the prefix alone.
        """
        device = self.grid.device
        prompts = [(*self.prefix, *row) for row in rows]
        width = max(map(len, prompts))
        ids = torch.zeros(len(prompts), width, dtype=torch.long)
        seen = torch.zeros_like(ids)
        for number, prompt in enumerate(prompts):
            ids[number, width - len(prompt):] = torch.tensor(prompt)
            seen[number, width - len(prompt):] = 1
        return {'input_ids': ids.to(device), 'attention_mask': seen.to(device),
                'mm_token_type_ids': (ids == self.image_token).to(device, torch.int),
                'pixel_values': self.pixels.repeat(len(prompts), 1),
                'image_grid_thw': self.grid.repeat(len(prompts), 1)}


def random_suffixes(shape: Shape, questions: int, tokens: int,
                    seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Questions of random words, which have no beginnings in common to speak of.

    The first ones are the same however many there are.

    Args:
        shape: the model's shape, for the vocabulary.
        questions: how many.
        tokens: mean length of a question and what follows it; they vary by a quarter both ways.
        seed: of the words.
    """
    words = random.Random(f'suffixes {seed}')
    spread = tokens // 4
    return tuple(
        _text(words, shape, tokens - spread + number * (spread + 1) % (2 * spread + 1))
        for number in range(questions))


def worded_suffixes(shape: Shape, texts: Sequence[str],
                    end: int = 5) -> tuple[tuple[int, ...], ...]:
    """Real questions: a token for every word and sign, as large tokenizers nearly do.

    Args:
        shape: the model's shape, for the vocabulary.
        texts: the questions.
        end: tokens that follow each (end of turn, whose turn it is).

    Raises:
        InputError: the vocabulary is too small.
    """
    ids: dict[str, int] = {}
    pieces = [[*re.findall(r'[A-Za-z]+|\d|[^\w\s]|_', text), *[f'<{i}>' for i in range(end)]]
              for text in texts]
    suffixes = tuple(tuple(ids.setdefault(piece, 2 * _ANSWERS + len(ids)) for piece in text)
                     for text in pieces)
    if len(ids) > shape.vocab - _SPECIAL - 2 * _ANSWERS:
        raise InputError(f'bench: {len(ids)} words are too many for a vocabulary of '
                         f'{shape.vocab} tokens')
    return suffixes


def _text(words: random.Random, shape: Shape, length: int) -> tuple[int, ...]:
    return tuple(words.randrange(2 * _ANSWERS, shape.vocab - _SPECIAL) for _ in range(length))


def make_scene(shape: Shape, grid: Grid, suffixes: Sequence[tuple[int, ...]], *,
               shared_tokens: int, device: str, dtype: str, seed: int = 0) -> Scene:
    """An image of noise and questions about it.

    Args:
        shape: the model's shape.
        grid: the image's.
        suffixes: the questions.
        shared_tokens: tokens of shared text, three quarters of them before the image; the two that
            enclose the image come on top.
        device: where the tensors go.
        dtype: type of the pixels.
        seed: of the shared words and the pixels.
    """
    words = random.Random(f'prefix {seed}')
    special = shape.vocab - _SPECIAL
    before = shared_tokens * 3 // 4
    prefix = (*_text(words, shape, before), special + 2, *[special] * grid.tokens, special + 3,
              *_text(words, shape, shared_tokens - before))
    pixels = torch.randn(grid.tokens * shape.merge ** 2, 3 * 2 * shape.patch_px ** 2,
                         generator=torch.Generator().manual_seed(seed))
    return Scene(prefix, tuple(suffixes), special, pixels.to(device, getattr(torch, dtype)),
                 torch.tensor([[1, grid.height * shape.merge, grid.width * shape.merge]],
                              device=device))


YES_IDS = tuple(range(_ANSWERS))
"""Tokens that spell yes in the random models' vocabulary."""
NO_IDS = tuple(range(_ANSWERS, 2 * _ANSWERS))
"""Tokens that spell no."""


def p_yes(logits: torch.Tensor) -> torch.Tensor:
    """P(yes | yes or no), all spellings summed.

    Args:
        logits: (N, vocabulary), any floating-point type.

    Returns:
        (N,) float32, on the CPU.
    """
    scores = logits.float().log_softmax(-1)
    yes = scores[:, list(YES_IDS)].logsumexp(-1)
    no = scores[:, list(NO_IDS)].logsumexp(-1)
    return (yes - no).sigmoid().cpu()


def plain(model: Any, scene: Scene, batch_size: int) -> torch.Tensor:
    """P(yes) of every question the plain way: batches of prompts that each carry the image.

    ``generate`` makes one new token for each, which is the least it can do: a reply that is
    written out takes more.

    Args:
        model: the model.
        scene: image and questions.
        batch_size: prompts in a batch.

    Returns:
        (questions,) float32, on the CPU.
    """
    found = []
    for start in range(0, len(scene.suffixes), batch_size):
        inputs = scene.inputs(scene.suffixes[start:start + batch_size])
        with torch.inference_mode():
            reply = model.generate(**inputs, max_new_tokens=1, do_sample=False, pad_token_id=0,
                                   return_dict_in_generate=True, output_logits=True)
        found.append(p_yes(reply.logits[0]))
        del inputs, reply
    return torch.cat(found)


def make_engine(model: Any, scene: Scene, mechanism: str = 'auto',
                memory_gb: float = 0.0) -> SharedPrefix:
    """The engine of the backend ``transformers``, after its self-test on a scene.

    Args:
        model: the model.
        scene: image and questions; the first four are used.
        mechanism: how the prefix is shared, or ``auto``.
        memory_gb: its bound on a pass's memory [GiB], 0 for its own.

    Raises:
        BackendError: the mechanism does not suit the model.
    """
    engine = SharedPrefix(model, mechanism, memory_gb, remedy='lower --memory-gb')
    engine.choose(scene.inputs([()]), scene.suffixes[:4])
    return engine


def shared(engine: SharedPrefix, scene: Scene, moved: int = 0) -> torch.Tensor:
    """P(yes) of every question, the image encoded once.

    Args:
        engine: as made by ``make_engine``.
        scene: image and questions.
        moved: by how many positions to move the questions, which makes other numbers.

    Returns:
        (questions,) float32, on the CPU.

    Raises:
        BackendError: the memory does not suffice.
    """
    prefix = engine.encode(scene.inputs([()]))
    prefix = replace(prefix, shift=prefix.shift + moved)
    masses = torch.from_numpy(
        engine.score(prefix, scene.suffixes, (YES_IDS, NO_IDS)).masses)
    return (masses[:, 0] / masses.sum(1)).float()
