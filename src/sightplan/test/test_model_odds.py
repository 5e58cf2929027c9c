"""Log-odds and probabilities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model.odds import log_odds, probabilities, probability


@given(st.floats(1e-6, 1 - 1e-6))
def test_there_and_back(p):
    assert probability(log_odds(p, 1e-9)) == pytest.approx(p)
    assert log_odds(p, 1e-9) == pytest.approx(-log_odds(1 - p, 1e-9))


def test_certainty_is_bounded():
    assert log_odds(1.0, 1e-3) == math.log(0.999 / (1 - 0.999))
    assert log_odds(0.0, 1e-3) == pytest.approx(-log_odds(1.0, 1e-3))
    assert probability(-1e6) == 0.0 and probability(1e6) == 1.0
    assert probabilities(np.array([-1e6, 0.0, 1e6])) == pytest.approx([0.0, 0.5, 1.0])
