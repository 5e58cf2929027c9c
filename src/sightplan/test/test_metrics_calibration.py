"""Reliability of probabilities."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.metrics import reliability


def test_by_hand() -> None:
    found = reliability([0.05, 0.05, 0.95, 0.95, 1.0], [False, True, True, True, False])
    first, last = found.bins[0], found.bins[-1]
    assert (first.low, first.high, first.n) == (0.0, 0.1, 2)
    assert (first.mean_p, first.frequency) == pytest.approx((0.05, 0.5))
    assert (last.n, last.mean_p, last.frequency) == pytest.approx((3, 2.9 / 3, 2 / 3))
    assert math.isnan(found.bins[5].mean_p) and found.bins[5].n == 0
    assert found.ece == pytest.approx((2 * 0.45 + 3 * 0.3) / 5)
    assert (found.n, len(found.bins)) == (5, 10)


def test_true_probabilities_are_calibrated_and_overconfident_ones_are_not() -> None:
    rng = random.Random(1)
    p = [rng.random() for _ in range(20_000)]
    truth = [rng.random() < x for x in p]
    groups = [i // 50 for i in range(len(p))]
    good = reliability(p, truth, groups=groups)
    bad = reliability([0.0 if x < 0.5 else 1.0 for x in p], truth, groups=groups)
    assert good.ece < 0.02 and good.groups == 400
    assert bad.ece == pytest.approx(0.25, abs=0.02)
    assert bad.low < bad.ece < bad.high and bad.high - bad.low < 0.04


def test_groups_widen_the_interval() -> None:
    # In each group all events are equal: two hundred answers are worth twenty.
    rng = random.Random(2)
    luck = [rng.random() < 0.5 for _ in range(20)]
    p, truth = [0.9] * 200, [luck[i // 10] for i in range(200)]
    alone = reliability(p, truth)
    grouped = reliability(p, truth, groups=[f'episode {i // 10}' for i in range(200)])
    assert grouped.ece == pytest.approx(alone.ece)
    assert grouped.high - grouped.low > 2 * (alone.high - alone.low)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans())), st.integers(1, 20))
def test_bounds_and_order(pairs, bins) -> None:
    p, truth = [x for x, _ in pairs], [t for _, t in pairs]
    found = reliability(p, truth, bins, resamples=20)
    assert 0 <= found.ece <= 1 and sum(b.n for b in found.bins) == len(pairs)
    assert reliability(p[::-1], truth[::-1], bins, resamples=0).ece == pytest.approx(found.ece)


@pytest.mark.parametrize(('p', 'truth', 'groups'), [
    ([0.5], [True, False], None), ([1.5], [True], None), ([0.5], [True], []),
    ([float('nan')], [True], None)])
def test_nonsense_is_refused(p, truth, groups) -> None:
    with pytest.raises(ValueError, match='probabilit'):
        reliability(p, truth, groups=groups)
