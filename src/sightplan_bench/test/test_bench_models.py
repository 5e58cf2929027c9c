"""Random models and prompts of ``sightplan bench grounding``."""

import dataclasses

import pytest
import torch

from sightplan.model import InputError
from sightplan_bench.floor import SHAPES, Grid
from sightplan_bench.models import (
    NO_IDS,
    YES_IDS,
    make_config,
    make_model,
    make_scene,
    p_yes,
    plain,
    random_suffixes,
    worded_suffixes,
)

TINY = SHAPES['cpu-tiny']


@pytest.fixture(scope='module')
def model():
    return make_model(TINY, 'cpu', 'float32')


def scene_of(questions=5):
    return make_scene(TINY, Grid(3, 4), random_suffixes(TINY, questions, 8), shared_tokens=12,
                      device='cpu', dtype='float32')


def test_a_model_has_the_matrices_of_its_shape(model):
    assert sum(p.numel() for p in model.parameters() if p.dim() > 1) == TINY.weights


@pytest.mark.parametrize('name', SHAPES)
def test_configurations_are_those_of_the_shapes(name):
    shape, config = SHAPES[name], make_config(SHAPES[name])
    assert config.text_config.hidden_size == shape.hidden
    assert config.vision_config.hidden_size == shape.vision_hidden
    assert sum(config.text_config.rope_parameters['mrope_section']) == shape.head_dim // 2


def test_the_rotary_sections_of_the_large_one_are_the_published_ones():
    rope = make_config(SHAPES['qwen2.5-vl-7b']).text_config.rope_parameters
    assert rope['mrope_section'] == [16, 24, 24]


def test_a_head_that_cannot_be_split_is_refused():
    with pytest.raises(InputError, match='multiple of 16'):
        make_config(dataclasses.replace(TINY, hidden=72))


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_parameters_are_in_the_type_asked_for_and_buffers_are_defined(dtype):
    model = make_model(TINY, 'cpu', dtype)
    assert {p.dtype for p in model.parameters()} == {getattr(torch, dtype)}
    assert all(p.isfinite().all() for p in model.parameters())
    rotary = [b for name, b in model.named_buffers() if name.endswith('inv_freq')]
    assert rotary
    for buffer in rotary:  # 1 at the lowest index, falling: not what memory happened to hold
        assert buffer[0] == 1.0 and (buffer.diff() < 0).all() and (buffer > 0).all()


def test_the_same_seed_gives_the_same_model():
    one, other = (make_model(TINY, 'cpu', 'float32', seed=seed) for seed in (3, 3))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(),
                                                 strict=True))


def test_questions_differ_in_words_and_length():
    scene = scene_of(30)
    assert len(set(scene.suffixes)) == 30
    lengths = [len(suffix) for suffix in scene.suffixes]
    assert {6, 10} <= set(lengths) <= set(range(6, 11))
    assert sum(lengths) / 30 == 8
    assert scene_of(7).suffixes == scene.suffixes[:7] == scene.first(7).suffixes
    assert scene.prefix.count(scene.image_token) == 12
    assert len(scene.prefix) == 12 + 12 + 2


def test_prompts_are_padded_on_the_left_and_each_carries_the_image():
    scene = scene_of(3)
    inputs = scene.inputs(scene.suffixes)
    assert inputs['attention_mask'][:, -1].tolist() == [1, 1, 1]
    for row, seen, suffix in zip(inputs['input_ids'], inputs['attention_mask'], scene.suffixes,
                                 strict=True):
        assert row[seen.bool()].tolist() == [*scene.prefix, *suffix]
    assert (inputs['mm_token_type_ids'].sum(1) == 12).all()
    assert inputs['pixel_values'].shape[0] == 3 * 12 * 4
    assert inputs['image_grid_thw'].tolist() == [[1, 6, 8]] * 3


@pytest.mark.parametrize('size', [1, 2, 5, 9])
def test_the_plain_way_does_not_depend_on_the_size_of_its_batches(model, size):
    scene = scene_of()
    one_by_one = torch.stack([_alone(model, scene, suffix) for suffix in scene.suffixes])
    assert torch.allclose(plain(model, scene, size), one_by_one, atol=1e-5)
    assert one_by_one.std() > 0.05  # else any answers would do


def _alone(model, scene, suffix):
    with torch.inference_mode():
        return p_yes(model(**scene.inputs([suffix])).logits[:, -1])[0]


def test_all_spellings_of_yes_and_no_count():
    logits = torch.full((1, 20), -50.0)
    logits[0, list(YES_IDS)] = 0.0
    logits[0, NO_IDS[0]] = 0.0
    assert p_yes(logits)[0] == pytest.approx(len(YES_IDS) / (len(YES_IDS) + 1), abs=1e-6)


def test_real_questions_share_their_beginnings():
    suffixes = worded_suffixes(TINY, ['Is the red block in the column labeled "c1"?',
                                      'Is the red block on top of the blue block?'], end=2)
    assert suffixes[0][:4] == suffixes[1][:4] and suffixes[0][4] != suffixes[1][4]
    assert suffixes[0][-3:] == suffixes[1][-3:]  # the question mark and what follows it
    assert len(suffixes[0]) == 8 + 4 + 1 + 2
    assert min(map(min, suffixes)) == len(YES_IDS) + len(NO_IDS)


def test_too_many_words_for_the_vocabulary():
    with pytest.raises(InputError, match='too many'):
        worded_suffixes(TINY, [' '.join('ab'[i // 2 ** k % 2] for k in range(9)).replace(' ', '')
                               for i in range(512)])
