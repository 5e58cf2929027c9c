"""Cache with a beginning that all rows of a batch share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer


class _Widening(DynamicLayer):  # type: ignore[misc]
    """Cache layer with a beginning that all rows share and that is never copied into the cache.

    Its prefix stays at batch 1; each row's own keys and values follow it if ``keep`` is set, else
    they are handed to the attention and forgotten.
    """

    def __init__(self, keys: Tensor, values: Tensor, keep: bool) -> None:
        super().__init__()
        self._prefix = keys, values
        self._keep = keep
        self.keys: Tensor | None = None
        self.values: Tensor | None = None
        self.dtype, self.device = keys.dtype, keys.device
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any,
               **kwargs: Any) -> tuple[Tensor, Tensor]:
        if self.keys is not None and self.values is not None:
            key_states = torch.cat([self.keys, key_states], -2)
            value_states = torch.cat([self.values, value_states], -2)
        if self._keep:
            self.keys, self.values = key_states, value_states
        rows = key_states.shape[0]
        keys, values = (part.expand(rows, -1, -1, -1) for part in self._prefix)
        return torch.cat([keys, key_states], -2), torch.cat([values, value_states], -2)

    def get_seq_length(self, *args: Any) -> int:
        own = 0 if self.keys is None else self.keys.shape[-2]
        return int(self._prefix[0].shape[-2] + own)

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        if isinstance(query_length, Tensor):  # cache positions, in older versions
            query_length = query_length.shape[0]
        return self.get_seq_length() + query_length, 0

    def reorder_cache(self, beam_idx: Tensor) -> None:
        if self.keys is not None and self.values is not None:
            self.keys = self.keys.index_select(0, beam_idx.to(self.keys.device))
            self.values = self.values.index_select(0, beam_idx.to(self.values.device))


def widening(cache: Any, keep: bool = False) -> Any:
    """A cache over an encoded prompt that leaves it untouched.

    Raises:
        TypeError: a layer holds something else than keys and values.
    """
    shared = DynamicCache()
    shared.layers = []
    for layer in cache.layers:
        if type(layer) is not DynamicLayer:
            raise TypeError(f'cache layer {type(layer).__name__} is not made of keys and values')
        shared.layers.append(_Widening(layer.keys, layer.values, keep))
    return shared
