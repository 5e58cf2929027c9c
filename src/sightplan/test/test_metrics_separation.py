"""How well a score tells two kinds of things apart."""

from __future__ import annotations

import pytest

from sightplan.metrics.separation import auroc


def test_the_area_is_how_often_the_right_one_scores_higher():
    assert auroc([2.0, 3.0], [0.0, 1.0]) == 1.0
    assert auroc([0.0, 1.0], [2.0]) == 0.0
    assert auroc([1.0, 2.0], [1.0, 3.0]) == pytest.approx((0.5 + 0 + 1 + 0) / 4)
    with pytest.raises(ValueError, match='both kinds'):
        auroc([], [1.0])
