"""Sharing the prompt on those of the paper's architectures that differ in their language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip('torch')
hf = pytest.importorskip('transformers')

from sightplan_models import _shared_prefix  # noqa: E402
from tiny_models import _TEXT, Tiny, _grid_model, _rope, internvl, words  # noqa: E402

torch.set_num_threads(1)

EXPERTS: dict[str, Any] = {'num_experts': 8, 'num_experts_per_tok': 2, 'moe_intermediate_size': 48,
                           'decoder_sparse_step': 1, 'norm_topk_prob': True}
SUFFIXES = [tuple(words(5 + (i * 5) % 11, 200 + i)) for i in range(9)]


def _internvl(text: Any) -> Tiny:
    dense = internvl()
    config = dense.model.config
    config = hf.InternVLConfig(vision_config=config.vision_config, text_config=text,
                               image_token_id=config.image_token_id,
                               image_seq_length=config.image_seq_length)
    return Tiny(hf.InternVLForConditionalGeneration(config), dense.ids, dense.pixels)


def internvl_qwen3() -> Tiny:
    """InternVL3.5 8B and 38B."""
    return _internvl(hf.Qwen3Config(**_TEXT, head_dim=16))


def internvl_qwen3_moe() -> Tiny:
    """InternVL3.5 30B-A3B."""
    return _internvl(hf.Qwen3MoeConfig(**_TEXT, head_dim=16, **EXPERTS))


def qwen3_vl_moe() -> Tiny:
    """Qwen3-VL 30B-A3B."""
    return _grid_model(
        'Qwen3VLMoe', {'depth': 3, 'num_position_embeddings': 64,
                       'deepstack_visual_indexes': [0, 1]},
        {'head_dim': 16, 'rope_parameters': _rope(4, 2, 2, mrope_interleaved=True), **EXPERTS})


MORE: dict[str, Callable[[], Tiny]] = {
    f.__name__: f for f in (internvl_qwen3, internvl_qwen3_moe, qwen3_vl_moe)}


@pytest.mark.parametrize('name', MORE)
def test_shared_equals_one_prompt_at_a_time(name: str) -> None:
    tiny = MORE[name]()
    engine = _shared_prefix.SharedPrefix(tiny.model, row_tokens=64, pass_tokens=128)
    alone = engine._one_by_one([engine.joined(tiny.inputs, s) for s in SUFFIXES])
    assert engine.choose(tiny.inputs, SUFFIXES[:3]) == 'packed', engine.reason
    for mechanism in ('packed', 'lazy', 'expand'):
        engine = _shared_prefix.SharedPrefix(tiny.model, mechanism, row_tokens=64,
                                             pass_tokens=128)
        got = engine._all_logits(engine.encode(tiny.inputs), SUFFIXES)
        assert _shared_prefix._gap(got, alone) < 1e-4, mechanism
        prefix = engine.encode(tiny.inputs)
        shifted = type(prefix)(prefix.inputs, prefix.length, prefix.shift + 1, prefix.cache)
        assert _shared_prefix._gap(engine._all_logits(shifted, SUFFIXES), alone) > 1e-3
