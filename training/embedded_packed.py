"""The training pass: many questions about one image share the image's tokens.

Mathematically the same as ``LlavaForConditionalGeneration`` on every question alone (a test checks
it), but the image prefix is computed once and the last decoder layer only where answers are read.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from embedded_model import BOS, Words


def patch_features(model: Any, pixels: torch.Tensor) -> torch.Tensor:
    """(B, channels, H, W) pixels in [-1, 1] to (B, patches, hidden) features before the projector.

    Llava takes the last layer's hidden state, before the final norm, without the CLS token.
    """
    tower = model.model.vision_tower
    states: torch.Tensor = tower(pixels, output_hidden_states=True).hidden_states[-1]
    return states[:, 1:]


def answer_logits(model: Any, features: torch.Tensor, ids: torch.Tensor,
                  position: torch.Tensor, words: Words) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits at the answer token of every question.

    Args:
        model: a LlavaForConditionalGeneration with a Llama decoder.
        features: (B, patches, hidden) of ``patch_features``.
        ids: (B, Q, L) question tokens, right-padded.
        position: (B, Q) index of the answer token within L.
        words: the model's, whose sums are taken here.

    Returns:
        logits (B, Q, vocabulary), and hidden states (B, Q, L, hidden) of the question tokens
        after the first decoder layer.
    """
    batch, count, length = ids.shape
    decoder = model.model.language_model
    table = words.table(decoder.embed_tokens.weight)
    begin = table[ids.new_full((batch, 1), words.ids[BOS])]
    image = model.model.multi_modal_projector(features)
    x = torch.cat([begin, image.to(begin.dtype), table[ids.view(batch, -1)]], 1)
    prefix = 1 + image.shape[1]
    places = torch.cat([torch.arange(prefix),
                        (prefix + torch.arange(length)).repeat(count)])[None]
    cos, sin = decoder.rotary_emb(x, places)
    answers = (prefix + torch.arange(count)[None] * length + position)  # (B, Q) into x
    future, later = (torch.ones(n, n, dtype=torch.bool).tril().logical_not()
                     for n in (length, prefix))
    first = x
    layers = decoder.layers[: decoder.config.num_hidden_layers]
    for index, layer in enumerate(layers):
        last = index == len(layers) - 1
        attention = layer.self_attn
        heads, size = decoder.config.num_attention_heads, attention.head_dim

        def split(t: torch.Tensor, heads: int = heads, size: int = size) -> torch.Tensor:
            return t.view(batch, -1, heads, size).transpose(1, 2)

        normed = layer.input_layernorm(x)
        q = split(attention.q_proj(normed[:, prefix:] if last else normed))
        k, v = split(attention.k_proj(normed)), split(attention.v_proj(normed))
        if last:
            q, _ = apply_rotary_pos_emb(q, q, cos[:, prefix:], sin[:, prefix:])
            k, _ = apply_rotary_pos_emb(k, k, cos, sin)
            pieces = []
        else:
            q, k = apply_rotary_pos_emb(q, k, cos, sin)
            within = (q[:, :, :prefix] * attention.scaling) @ k[:, :, :prefix].transpose(-1, -2)
            pieces = [within.masked_fill(later, float('-inf')).softmax(-1) @ v[:, :, :prefix]]
            q = q[:, :, prefix:]
        own = (batch, heads, count, length, size)
        q = q * attention.scaling
        to_prefix = (q @ k[:, :, :prefix].transpose(-1, -2)).view(batch, heads, count, length,
                                                                  prefix)
        to_own = q.reshape(own) @ k[:, :, prefix:].reshape(own).transpose(-1, -2)
        weights = torch.cat([to_prefix, to_own.masked_fill(future, float('-inf'))],
                            -1).softmax(-1)
        mixed = (weights[..., :prefix].reshape(batch, heads, count * length, prefix)
                 @ v[:, :, :prefix])
        mixed = mixed + (weights[..., prefix:] @ v[:, :, prefix:].reshape(own)).reshape(
            batch, heads, count * length, size)
        pieces.append(mixed)
        out = torch.cat(pieces, 2).transpose(1, 2).reshape(batch, -1, heads * size)
        if last:
            pick = answers[..., None].expand(-1, -1, x.shape[-1])
            x = x.gather(1, pick)
            out = out.gather(1, pick - prefix)
        x = x + attention.o_proj(out)
        x = x + layer.mlp(layer.post_attention_layernorm(x))
        if index == 0:
            first = x[:, prefix:].view(batch, count, length, -1)
    return decoder.norm(x) @ table.T, first
