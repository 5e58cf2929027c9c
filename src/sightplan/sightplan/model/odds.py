"""Log-odds [nats] and probabilities, and the way back."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def log_odds(p: float, least: float) -> float:
    """``log(p / (1 - p))``, with the probability clamped to [least, 1 - least]."""
    p = min(max(p, least), 1.0 - least)
    return math.log(p / (1.0 - p))


def probability(odds: float) -> float:
    """The probability that has these log-odds; 0 below -700."""
    return 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0


def probabilities(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The probabilities that have these log-odds, which are clamped to [-500, 500]."""
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -500.0, 500.0)))
