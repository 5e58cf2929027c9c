"""Attention of a vision tower over windows: one call per window length instead of one per window.

Towers such as those of the Qwen-VL family attend within windows of the picture. Without flash
attention transformers does that in a Python loop, a call per window and layer, each with a wait
for the device: about 1180 calls for one picture in Qwen2.5-VL 7B (28 of 32 layers, 42 windows),
which on a fast GPU takes as long as all the arithmetic of 60 questions. Windows of one length,
stacked, are one call: 60 for the same picture. The numbers are the same.

Towers are found by what their attention takes (``cu_seqlens``, the ends of the windows), not by
the name of a model. Whether the result is right is tested by whoever uses it, at load time.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as nn
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = 'sightplan_flash_windows'
"""Name of the attention function; "flash" in it makes transformers pass all windows in one
call."""

_PLAN = '_sightplan_windows'


def windowed_attention(module: torch.nn.Module, query: Tensor, key: Tensor, value: Tensor,
                       attention_mask: Tensor | None = None, scaling: float | None = None,
                       cu_seq_lens_q: Tensor | None = None, **_: Any) -> tuple[Tensor, None]:
    """Attention within windows, as a function for transformers' ``AttentionInterface``.

    Args:
        module: the attention layer.
        query: (1, H, T, D).
        key: the same, with as many heads or fewer.
        value: like ``key``.
        attention_mask: as for ``scaled_dot_product_attention``; used without windows only.
        scaling: factor of the logits, None for 1 / sqrt(D).
        cu_seq_lens_q: (W + 1,) integers, the ends of the windows: 0, ..., T; None: no windows.

    Returns:
        (1, T, H, D), and None for the weights.
    """
    grouped = query.shape[1] != key.shape[1]

    def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        return nn.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, scale=scaling, enable_gqa=grouped).transpose(1, 2)

    windows = [] if cu_seq_lens_q is None else _windows(cu_seq_lens_q)
    if not windows or (len(windows) == 1 and len(windows[0]) == 1):
        return attend(query, key, value, attention_mask), None
    rows = [x[0].transpose(0, 1) for x in (query, key, value)]  # (T, H, D)
    out = torch.empty_like(rows[0])
    for places in windows:
        out[places] = attend(*(x[places].transpose(1, 2) for x in rows))
    return out[None], None


def _windows(ends: Tensor) -> list[Tensor]:
    """Places of the windows' tokens, (number of windows, length) for each length.

    They are kept with the tensor, which all layers of a pass share: reading it waits for the
    device.
    """
    known: list[Tensor] | None = getattr(ends, _PLAN, None)
    if known is None:
        marks = ends.tolist()
        starts: dict[int, list[int]] = {}
        for start, end in itertools.pairwise(marks):
            if end > start:
                starts.setdefault(end - start, []).append(start)
        known = [torch.tensor(first, device=ends.device)[:, None]
                 + torch.arange(length, device=ends.device) for length, first in starts.items()]
        setattr(ends, _PLAN, known)
    return known


AttentionInterface.register(NAME, windowed_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)


class VisionWindows:
    """Vision towers of a model with attention in windows.

    Args:
        model: an image-text-to-text model of transformers.

    Attributes:
        wanted: whether ``together`` does anything; false for a model without such a tower, or
            whose attention is not sdpa (flash attention has no loop, eager is for inspection).
    """

    def __init__(self, model: torch.nn.Module) -> None:
        shared = (model.config, model.config.get_text_config())  # type: ignore[union-attr, operator]
        self._configs: list[Any] = []
        for module in model.modules():
            config = getattr(module, 'config', None)
            if ('cu_seqlens' in inspect.signature(module.forward).parameters
                    and getattr(config, '_attn_implementation', '') == 'sdpa'
                    and not any(config is other for other in (*shared, *self._configs))):
                self._configs.append(config)
        self.wanted = bool(self._configs)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Compute windows of one length in one call while this lasts."""
        configs = self._configs if self.wanted else []
        for config in configs:
            config._attn_implementation = NAME
        try:
            yield
        finally:
            for config in configs:
                config._attn_implementation = 'sdpa'
