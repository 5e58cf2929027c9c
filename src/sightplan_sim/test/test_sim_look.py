"""Looks: strengths, seeds, and colours that stay apart."""

import dataclasses
import math

import cv2
import numpy as np
import pytest

from sightplan_sim.blocksworld.scene import (
    COLOURS,
    BlocksScene,
    Look,
    Placement,
    sample_look,
    sample_placement,
)


def draw(seed, strength):
    return sample_look(np.random.default_rng(seed), strength)


def test_strength_zero_is_nominal_and_others_are_not():
    assert draw(1, 0.0) == Look()
    assert draw(1, 1.0) != Look()


def test_a_look_is_a_function_of_the_seed():
    assert draw(4, 1.0) == draw(4, 1.0)
    assert draw(4, 1.0) != draw(5, 1.0)


@pytest.mark.parametrize('strength', [-0.1, 3.1, math.nan])
def test_strength_out_of_range(strength):
    with pytest.raises(ValueError, match='strength'):
        draw(0, strength)


def test_every_factor_varies():
    looks = [draw(seed, 2.0) for seed in range(30)]
    for field in dataclasses.fields(Look):
        assert len({getattr(look, field.name) for look in looks}) > 5, field.name


def test_turned_blocks_of_neighbouring_columns_never_touch():
    for strength in (1.0, 2.0, 3.0):
        rng = np.random.default_rng(0)
        for _ in range(300):
            place = sample_placement(rng, strength)
            yaw = math.radians(abs(place.yaw_deg))
            assert (math.cos(yaw) + math.sin(yaw)) / 2 + abs(place.dx) < 1.46 / 2 + 0.02


def test_with_placement_changes_one_block():
    look = Look().with_placement('b', Placement(0.1, 0.2, 30.0))
    assert look.placements[COLOURS.index('b')] == Placement(0.1, 0.2, 30.0)
    assert look.placements[COLOURS.index('r')] == Placement()


@pytest.mark.parametrize(('strength', 'least'), [(0.0, 35.0), (0.5, 30.0), (1.0, 24.0)])
def test_colours_are_well_apart_under_every_light(strength, least):
    """Least CIE76 difference of any two blocks' median colours, within and across pictures."""
    medians = {colour: [] for colour in COLOURS}
    with BlocksScene(160, 120, supersampling=1) as scene:
        for seed in range(60):
            order = ''.join(np.random.default_rng(1000 + seed).permutation(list(COLOURS)))
            frame = scene.render([order[:2], order[2:3], order[3:5], order[5:]],
                                 ['c1', 'c2', 'c3', 'c4'], draw(seed, strength))
            lab = cv2.cvtColor(frame.rgb.astype(np.float32) / 255, cv2.COLOR_RGB2LAB)
            for index, colour in enumerate(COLOURS):
                medians[colour].append(np.median(lab[frame.segmentation == index + 1], axis=0))
    seen = {colour: np.array(values) for colour, values in medians.items()}
    closest = min(
        (float(np.linalg.norm(seen[a][:, None] - seen[b][None], axis=-1).min()), a + b)
        for a in COLOURS for b in COLOURS if a < b)
    assert closest[0] > least, closest
