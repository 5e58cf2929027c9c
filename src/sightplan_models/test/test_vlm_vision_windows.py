"""One attention call per window length, on random models with windowed vision towers."""

from __future__ import annotations

import logging

import pytest

torch = pytest.importorskip('torch')
pytest.importorskip('transformers')

import tiny_models  # noqa: E402
from sightplan_models import _vision_windows as windows  # noqa: E402
from sightplan_models._shared_prefix import SharedPrefix  # noqa: E402
from sightplan_models._vision_windows import VisionWindows  # noqa: E402

torch.set_num_threads(1)


def features(tiny):
    with torch.inference_mode():
        pixels = {name: value for name, value in tiny.inputs.items()
                  if name in ('pixel_values', 'image_grid_thw')}
        return tiny.model.model.visual(pixels['pixel_values'],
                                       grid_thw=pixels['image_grid_thw']).pooler_output


@pytest.fixture
def calls(monkeypatch):
    real, made = torch.nn.functional.scaled_dot_product_attention, []
    monkeypatch.setattr(torch.nn.functional, 'scaled_dot_product_attention',
                        lambda *a, **k: made.append(tuple(a[0].shape)) or real(*a, **k))
    return made


@pytest.mark.parametrize('name', ['qwen2_5_vl', 'qwen3_vl', 'glm4v'])
def test_the_numbers_are_the_same(name):
    tiny = tiny_models.ARCHITECTURES[name]()
    tower = VisionWindows(tiny.model)
    assert tower.wanted
    plain = features(tiny)
    with tower.together():
        together = features(tiny)
    assert (together - plain).abs().max() <= 1e-5 * plain.std()


def test_windows_of_one_length_are_one_call(calls):
    tiny = tiny_models.qwen2_5_vl()
    features(tiny)
    alone = len(calls)
    calls.clear()
    with VisionWindows(tiny.model).together():
        features(tiny)
    lengths = len({shape[-2] for shape in calls})
    layers = tiny.model.config.vision_config.depth
    assert len(calls) <= lengths * layers < alone
    assert max(shape[0] for shape in calls) > 1, 'windows are stacked'


def test_windows_do_not_see_each_other():
    query, key, value = (torch.randn(1, 2, 7, 4) for _ in range(3))
    ends = torch.tensor([0, 3, 6, 6, 7])
    whole, _ = windows.windowed_attention(torch.nn.Identity(), query, key, value,
                                          cu_seq_lens_q=ends)
    for start, end in ((0, 3), (3, 6), (6, 7)):
        alone = torch.nn.functional.scaled_dot_product_attention(
            *(x[:, :, start:end] for x in (query, key, value))).transpose(1, 2)
        assert torch.allclose(whole[:, start:end], alone, atol=1e-6)


def test_the_model_is_left_as_it_was(calls):
    tiny = tiny_models.qwen2_5_vl()
    tower = VisionWindows(tiny.model)
    with pytest.raises(RuntimeError), tower.together():
        raise RuntimeError
    features(tiny)
    assert tiny.model.config.vision_config._attn_implementation == 'sdpa'
    assert all(shape[0] == 1 for shape in calls)


@pytest.mark.parametrize('name', ['llava', 'gemma3', 'internvl', 'qwen3_5'])
def test_the_language_model_is_never_touched(name):
    tiny = tiny_models.ARCHITECTURES[name]()
    text = tiny.model.config.get_text_config()
    with VisionWindows(tiny.model).together():
        assert text._attn_implementation != windows.NAME
        assert tiny.model.config._attn_implementation != windows.NAME


def test_a_tower_whose_numbers_would_differ_keeps_its_windows_apart(monkeypatch, caplog):
    tiny = tiny_models.qwen2_5_vl()
    real = windows.windowed_attention

    def wrong(*args, **more):
        out, _ = real(*args, **more)
        return out.flip(1), None

    windows.AttentionInterface.register(windows.NAME, wrong)
    try:
        engine = SharedPrefix(tiny.model)
        with caplog.at_level(logging.INFO):
            chosen = engine.choose(tiny.inputs, [(5, 6, 7), (8, 9)])
    finally:
        windows.AttentionInterface.register(windows.NAME, real)
    assert chosen == 'packed'
    assert 'one by one' in caplog.text
