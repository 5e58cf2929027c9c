"""The arithmetic of ``sightplan bench grounding``: grids, work, floor, against counted FLOPs."""

import pytest

from sightplan_bench.floor import (
    SHAPES,
    Grid,
    Rates,
    Shape,
    Work,
    depths,
    floor,
    vision_pairs,
    work,
)

TINY = SHAPES['cpu-tiny']


def unlike(*lengths):
    """Suffixes of these lengths, no two of which begin alike."""
    return [tuple(range(1000 * number, 1000 * number + length))
            for number, length in enumerate(lengths)]


@pytest.mark.parametrize(('tokens', 'grid'), [
    (600, Grid(24, 25)), (391, Grid(17, 23)), (77, Grid(7, 11)), (1, Grid(1, 1)), (2, Grid(1, 2)),
    (97, Grid(8, 12))])
def test_the_grid_nearest_to_a_number_of_tokens(tokens, grid):
    assert Grid.near(tokens) == grid
    assert abs(grid.tokens - tokens) <= 1


@pytest.mark.parametrize('tokens', range(1, 300, 7))
def test_grids_are_no_stripes(tokens):
    grid = Grid.near(tokens)
    assert grid.height <= grid.width <= 2 * grid.height
    assert abs(grid.tokens - tokens) <= max(2, tokens // 20)


def test_windows_cover_every_patch_once_and_are_cut_at_the_edge():
    # 5 x 6 image tokens in windows of 4 x 4: 4x4, 4x2, 1x4, 1x2 tokens of 4 patches each.
    windows = (16 * 4) ** 2 + (8 * 4) ** 2 + (4 * 4) ** 2 + (2 * 4) ** 2
    assert vision_pairs(TINY, Grid(5, 6)) == windows + (30 * 4) ** 2


def test_the_published_shape_has_the_published_size():
    assert SHAPES['qwen2.5-vl-7b'].weights == pytest.approx(8.29e9, rel=1e-3)
    assert SHAPES['qwen2.5-vl-32b'].weights == pytest.approx(33.45e9, rel=1e-3)


def test_a_phase_takes_as_long_as_its_scarcer_part():
    rates = Rates(flops_per_s=100.0, bytes_per_s=10.0)
    assert (Work(200, 1).seconds(rates), Work(200, 1).bound(rates)) == (2.0, 'compute')
    assert (Work(1, 50).seconds(rates), Work(1, 50).bound(rates)) == (5.0, 'memory')


def test_the_floor_is_the_sum_of_its_phases():
    phases = {'a': Work(200, 1), 'b': Work(1, 50)}
    found = floor(phases, Rates(100.0, 10.0))
    assert found['ms'] == 7000.0
    assert {name: phase['bound'] for name, phase in found['phases'].items()} == {
        'a': 'compute', 'b': 'memory'}


def test_the_floor_of_a_big_card_is_the_one_that_was_predicted():
    """7 B on 989 TFLOP/s and 4.8 TB/s: 37 ms at 60 questions, 74 ms at 150."""
    shape, rates = SHAPES['qwen2.5-vl-7b'], Rates(989e12, 4.8e12)
    for questions, ms in ((60, 37), (150, 74)):
        phases = work(shape, Grid.near(600), 666, unlike(*[30] * questions), 2)
        assert floor(phases, rates)['ms'] == pytest.approx(ms, rel=0.03)


def test_sharing_saves_the_image_and_nothing_else():
    grid, prefix, suffixes = Grid(4, 5), 30, unlike(7, 9, 11)
    shared = work(TINY, grid, prefix, suffixes, 2)
    alone = [work(TINY, grid, prefix, [suffix], 2) for suffix in suffixes]
    assert shared['suffix'].flops == sum(one['suffix'].flops for one in alone)
    assert shared['prefix'] == alone[0]['prefix']
    assert shared['vision'] == alone[0]['vision']


def test_a_common_beginning_is_read_once():
    assert sorted(depths([(1, 2, 3), (1, 2, 4), (5,)])) == [1, 1, 2, 3, 3]
    assert depths([]) == []


def _counted(grid, prefix_text, suffix):
    """FLOPs of matrix products (without attention's) that torch counts in one forward pass."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from sightplan_bench.models import make_model, make_scene, random_suffixes
    model = make_model(TINY, 'cpu', 'float32')
    scene = make_scene(TINY, grid, random_suffixes(TINY, 1, suffix), shared_tokens=prefix_text,
                       device='cpu', dtype='float32')
    counter = FlopCounterMode(display=False)
    with counter, torch.inference_mode():
        model(**scene.inputs(scene.suffixes), logits_to_keep=1, use_cache=False)
    counts = {str(op): value for op, value in counter.get_flop_counts()['Global'].items()}
    attention = sum(value for op, value in counts.items() if 'scaled_dot_product' in op)
    return scene, sum(counts.values()) - attention, attention


def test_the_formulas_agree_with_what_torch_counts():
    """One prompt: prefix and suffix together are one pass over all its tokens."""
    grid = Grid(5, 6)
    scene, products, attention = _counted(grid, 12, 9)
    assert len(scene.prefix) == 12 + 2 + grid.tokens
    phases = work(TINY, grid, len(scene.prefix), scene.suffixes, 4)
    ours = sum(phase.flops for phase in phases.values())
    length = len(scene.prefix) + len(scene.suffixes[0])
    causal = 4 * TINY.hidden * TINY.layers * (length * (length + 1) // 2)
    looking = 4 * TINY.vision_hidden * vision_pairs(TINY, grid)
    patches = 2 * 3 * 2 * TINY.patch_px ** 2 * TINY.vision_hidden * grid.tokens * 4
    # A convolution embeds the patches; the counter may or may not see it on the CPU.
    assert ours - causal - looking in (products, products + patches)
    # Torch counts all pairs of a causal pass, we only those that causality needs.
    if attention:
        full = 4 * TINY.hidden * TINY.layers * length ** 2
        assert attention in (full, full + looking)


def test_shapes_say_all_their_sizes():
    assert Shape(**{**TINY.as_dict(), 'vision_full': tuple(TINY.as_dict()['vision_full'])}) == TINY
