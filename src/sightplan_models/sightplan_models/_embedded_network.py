"""The shipped question models in numpy: a picture and the tokens of questions to probabilities.

The weights are those of a LLaVA of transformers: a vision transformer (ViT, for homes behind
the first stages of a ResNet, as in DPT-hybrid), a projection of its patches, and a Llama decoder
that reads them before the question. What is computed is what transformers computes, up to
rounding; a test compares the two. Importing torch and transformers takes some seconds, which is
longer than a small model needs to answer; training goes on with them.

Arrays of features are (..., tokens, width), maps are (channels, rows, columns), all float32.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, expit, softmax

Floats = NDArray[np.float32]
_HIDDEN_SCORE = np.float32(-1e30)
"""Score of a token that is not attended to."""
_BATCH_NORM_EPS = 1e-5


class Prefix(NamedTuple):
    """Keys and values that the decoder keeps of tokens that it has read.

    Attributes:
        keys, values: of each layer, (heads, tokens, width of a head).
    """

    keys: tuple[Floats, ...]
    values: tuple[Floats, ...]

    @property
    def length(self) -> int:
        """Number of tokens."""
        return int(self.keys[0].shape[1])


class Network:
    """A shipped question model.

    Attributes:
        channels: of the pictures that it sees.
        size: their rows and columns.

    Args:
        folder: of the model, in the layout of transformers.

    Raises:
        KeyError, ValueError, OSError: files are missing, or hold another kind of model.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file

        found: dict[str, Any] = json.loads((folder / 'config.json').read_text())
        vision, text = found['vision_config'], found['text_config']
        kinds = found['model_type'], vision['model_type'], text['model_type']
        if kinds not in (('llava', 'vit', 'llama'), ('llava', 'dpt', 'llama')):
            raise ValueError(f'a model of the kinds {kinds} is not a LLaVA of a ViT or a hybrid '
                             'DPT with a Llama')
        self._weights = {name: value.astype(np.float32) for name, value in load_file(
            folder / 'model.safetensors').items()}
        self._vision, self._text = vision, text
        self.channels = int(vision['num_channels'])
        side = vision['image_size']
        self.size: tuple[int, int] = (side, side) if isinstance(side, int) else (side[0], side[1])

    def encode(self, pixels: Floats, begin: Sequence[int]) -> Prefix:
        """Read a picture behind some tokens.

        Args:
            pixels: (channels, H, W), from -1 to 1, of the size that the model was made for.
            begin: ids of the tokens before the picture.
        """
        seen = self._project(self._see(pixels))
        embedded = self._weights['language_model.model.embed_tokens.weight']
        tokens = np.concatenate([embedded[list(begin)], seen])[None]
        _, prefix = self._decode(tokens, None)
        return Prefix(tuple(keys[:, 0] for keys in prefix.keys),
                      tuple(values[:, 0] for values in prefix.values))

    def probabilities(self, prefix: Prefix, questions: Sequence[Sequence[int]]) -> Floats:
        """Probability (N, vocabulary) of each token after each of N questions.

        Args:
            prefix: what is read before each question.
            questions: ids of their tokens, at least one each.
        """
        lengths = np.array([len(ids) for ids in questions])
        padded = np.zeros((len(questions), int(lengths.max())), np.intp)
        for row, ids in zip(padded, questions, strict=True):
            row[:len(ids)] = ids
        embedded = self._weights['language_model.model.embed_tokens.weight']
        hidden, _ = self._decode(embedded[padded], prefix)
        last = hidden[np.arange(len(questions)), lengths - 1]
        found: Floats = softmax(
            self._rms_norm(last, 'language_model.model.norm') @ embedded.T, axis=-1)
        return found

    # The picture -------------------------------------------------------------------------------

    def _see(self, pixels: Floats) -> Floats:
        """Features (patches, width) of a picture."""
        at = 'vision_tower.embeddings'
        if self._vision['model_type'] == 'vit':
            name = f'{at}.patch_embeddings.projection'
            maps = convolve(pixels, self._weights[f'{name}.weight'],
                            self._vision['patch_size'], 0)
        else:
            name = f'{at}.projection'
            maps = convolve(self._stages(pixels), self._weights[f'{name}.weight'])
        patches = maps.reshape(len(maps), -1).T + self._weights[f'{name}.bias']
        tokens: Floats = (np.concatenate([self._weights[f'{at}.cls_token'][0], patches])
                          + self._weights[f'{at}.position_embeddings'][0])
        heads, eps = self._vision['num_attention_heads'], self._vision['layer_norm_eps']
        for layer in range(self._vision['num_hidden_layers']):
            at = f'vision_tower.encoder.layer.{layer}'
            normal = self._layer_norm(tokens, f'{at}.layernorm_before', eps)
            query, key, value = (_split(self._linear(normal, f'{at}.attention.attention.{name}'),
                                        heads) for name in ('query', 'key', 'value'))
            heard = _joined(softmax(_scores(query, key), axis=-1) @ value)
            tokens = tokens + self._linear(heard, f'{at}.attention.output.dense')
            inner = _gelu(self._linear(self._layer_norm(tokens, f'{at}.layernorm_after', eps),
                                       f'{at}.intermediate.dense'))
            tokens = tokens + self._linear(inner, f'{at}.output.dense')
        return tokens[1:]

    def _stages(self, pixels: Floats) -> Floats:
        """The last map of the stages of a ResNet."""
        at = 'vision_tower.embeddings.backbone'
        maps = relu(self._convolve(pixels, f'{at}.embedder.embedder', 2))
        maps = _pool(maps)
        for stage, depth in enumerate(self._vision['backbone_config']['depths']):
            for layer in range(depth):
                name = f'{at}.encoder.stages.{stage}.layers.{layer}'
                stride = 2 if stage and not layer else 1
                inner = relu(self._convolve(maps, f'{name}.layer.0', stride))
                inner = self._convolve(inner, f'{name}.layer.1')
                if f'{name}.shortcut.convolution.weight' in self._weights:
                    maps = self._convolve(maps, f'{name}.shortcut', stride)
                maps = relu(maps + inner)
        return maps

    def _project(self, seen: Floats) -> Floats:
        at = 'multi_modal_projector'
        return self._linear(_gelu(self._linear(seen, f'{at}.linear_1')), f'{at}.linear_2')

    # The words ---------------------------------------------------------------------------------

    def _decode(self, tokens: Floats, prefix: Prefix | None) -> tuple[Floats, Prefix]:
        """Hidden states (N, T, width) of the tokens of N texts, and what is kept of them.

        Args:
            tokens: (N, T, width) embedded.
            prefix: what stands before each text; None for nothing.
        """
        heads = self._text['num_attention_heads']
        before = 0 if prefix is None else prefix.length
        turn = self._rotation(before, tokens.shape[1])
        hidden = np.triu(np.ones((tokens.shape[1],) * 2, np.bool_), 1)
        keys, values = list[Floats](), list[Floats]()
        for layer in range(self._text['num_hidden_layers']):
            at = f'language_model.model.layers.{layer}'
            normal = self._rms_norm(tokens, f'{at}.input_layernorm')
            query, key, value = (_split(_times(normal, self._weights[
                f'{at}.self_attn.{name}_proj.weight']), heads) for name in 'qkv')
            query, key = _turned(query, turn), _turned(key, turn)
            keys.append(key)
            values.append(value)
            scores = np.where(hidden, _HIDDEN_SCORE, _scores(query, key))
            if prefix is None:
                heard = softmax(scores, axis=-1) @ value
            else:
                flat = query.reshape(heads, -1, query.shape[-1])  # all texts in one product
                known = _scores(flat, prefix.keys[layer]).reshape(*query.shape[:-1], before)
                weights = softmax(np.concatenate([known, scores], -1), axis=-1)
                known = weights[..., :before].reshape(heads, -1, before) @ prefix.values[layer]
                heard = known.reshape(query.shape) + weights[..., before:] @ value
            tokens = tokens + _times(_joined(heard), self._weights[
                f'{at}.self_attn.o_proj.weight'])
            normal = self._rms_norm(tokens, f'{at}.post_attention_layernorm')
            gate, up = (_times(normal, self._weights[f'{at}.mlp.{name}_proj.weight'])
                        for name in ('gate', 'up'))
            tokens = tokens + _times(_silu(gate) * up, self._weights[
                f'{at}.mlp.down_proj.weight'])
        return tokens, Prefix(tuple(keys), tuple(values))

    def _rotation(self, before: int, count: int) -> tuple[Floats, Floats]:
        """Cosine and sine (count, width of a head) of the places of tokens, as RoPE has them."""
        width = self._text['head_dim']
        base = self._text['rope_parameters']['rope_theta']
        step = 1.0 / base ** (np.arange(0, width, 2, dtype=np.float32) / np.float32(width))
        angle = np.arange(before, before + count, dtype=np.float32)[:, None] * step
        angle = np.concatenate([angle, angle], -1)
        return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def _convolve(self, maps: Floats, name: str, stride: int = 1) -> Floats:
        return convolve_normed(self._weights, maps, f'{name}.convolution', f'{name}.normalization',
                               stride)

    # Parts -------------------------------------------------------------------------------------

    def _linear(self, x: Floats, name: str) -> Floats:
        return x @ self._weights[f'{name}.weight'].T + self._weights[f'{name}.bias']

    def _layer_norm(self, x: Floats, name: str, eps: float) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + np.float32(eps))
        return self._weights[f'{name}.weight'] * x + self._weights[f'{name}.bias']

    def _rms_norm(self, x: Floats, name: str) -> Floats:
        eps = np.float32(self._text['rms_norm_eps'])
        x = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + eps)
        return self._weights[f'{name}.weight'] * x


def convolve(maps: Floats, kernel: Floats, stride: int = 1, margin: int | None = None) -> Floats:
    """Maps (outer, rows, columns) of a convolution of maps (inner, rows, columns).

    Args:
        maps: what is convolved.
        kernel: (outer, inner, side, side).
        stride: step from place to place.
        margin: width of the zeros around the maps; None: half the side.
    """
    side = kernel.shape[-1]
    margin = side // 2 if margin is None else margin
    maps = np.pad(maps, ((0, 0), (margin, margin), (margin, margin)))
    windows = np.lib.stride_tricks.sliding_window_view(
        maps, (side, side), (1, 2))[:, ::stride, ::stride]
    inner, rows, columns = windows.shape[:3]
    seen = windows.transpose(0, 3, 4, 1, 2).reshape(inner * side * side, rows * columns)
    return (kernel.reshape(len(kernel), -1) @ seen).reshape(-1, rows, columns)


def convolve_normed(weights: Mapping[str, Floats], maps: Floats, kernel: str, norm: str,
                    stride: int = 1) -> Floats:
    """Maps of a convolution that is normalised by the statistics of its training.

    Args:
        weights: of a network, by name.
        maps: what is convolved, see ``convolve``.
        kernel: name of the convolution.
        norm: name of the normalisation.
        stride: step from place to place.
    """
    scale = weights[f'{norm}.weight'] / np.sqrt(
        weights[f'{norm}.running_var'] + np.float32(_BATCH_NORM_EPS))
    shift = weights[f'{norm}.bias'] - scale * weights[f'{norm}.running_mean']
    scaled = weights[f'{kernel}.weight'] * scale[:, None, None, None]
    found: Floats = convolve(maps, scaled, stride) + shift[:, None, None]
    return found


def _pool(maps: Floats) -> Floats:
    """The largest value around every second place, of 3x3."""
    rows, columns = -(-maps.shape[1] // 2), -(-maps.shape[2] // 2)
    maps = np.pad(maps, ((0, 0), (1, 2), (1, 2)), constant_values=-np.inf)
    across = functools.reduce(np.maximum, (
        maps[:, :, left:left + 2 * columns:2] for left in range(3)))
    return functools.reduce(np.maximum, (across[:, top:top + 2 * rows:2] for top in range(3)))


def _times(x: Floats, weight: Floats) -> Floats:
    """(..., inner) times (outer, inner) in one product, to (..., outer)."""
    return (x.reshape(-1, x.shape[-1]) @ weight.T).reshape(*x.shape[:-1], -1)


def _split(x: Floats, heads: int) -> Floats:
    """(..., T, width) to (heads, ..., T, width of a head)."""
    return np.ascontiguousarray(np.moveaxis(x.reshape(*x.shape[:-1], heads, -1), -2, 0))


def _joined(x: Floats) -> Floats:
    """(heads, ..., T, width of a head) to (..., T, width)."""
    x = np.moveaxis(x, 0, -2)
    return x.reshape(*x.shape[:-2], -1)


def _scores(query: Floats, key: Floats) -> Floats:
    scale = np.float32(1 / math.sqrt(query.shape[-1]))
    found: Floats = np.multiply(query, scale) @ np.swapaxes(key, -1, -2)
    return found


def _turned(x: Floats, turn: tuple[Floats, Floats]) -> Floats:
    half = x.shape[-1] // 2
    other: Floats = np.concatenate([np.negative(x[..., half:]), x[..., :half]], -1)
    found: Floats = x * turn[0] + other * turn[1]
    return found


def relu(x: Floats) -> Floats:
    """Return the values, and 0 where they are negative."""
    return np.maximum(x, np.float32(0))


def _silu(x: Floats) -> Floats:
    found: Floats = x * expit(x)
    return found


def _gelu(x: Floats) -> Floats:
    """Gaussian error linear units, by the error function."""
    found: Floats = np.float32(0.5) * x * (1 + erf(np.multiply(x, np.float32(math.sqrt(0.5)))))
    return found
