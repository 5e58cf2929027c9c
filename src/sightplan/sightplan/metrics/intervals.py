"""Intervals and standard errors of shares."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the standard normal distribution."""


def wilson(successes: int, n: int, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a share (Wilson 1927, without continuity correction).

    Unlike the normal approximation it stays in [0, 1] and is not empty at 0 of n or n of n.

    Args:
        successes: in 0..n.
        n: number of trials; with none, nothing is known and the interval is [0, 1].
        z: normal quantile, 1.96 for 95 %.

    Raises:
        ValueError: successes is not in 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f'{successes} successes of {n} trials')
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    centre = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1.0 - share) / n + z * z / (4 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return low, high


def sem(share: float, n: int) -> float:
    """Standard error of a share as the ViPlan paper reports it: sqrt(p (1 - p) / n), eq. (1).

    It is 0 at p = 0 and p = 1, however small n is: read ``wilson`` beside it. 0 for n = 0.
    """
    return math.sqrt(share * (1.0 - share) / n) if n else 0.0


def mean_sem(sems: Sequence[float]) -> float:
    """Standard error of the mean of m independent estimates: sqrt(sum sem_i^2) / m, eq. (2)."""
    return math.sqrt(sum(s * s for s in sems)) / len(sems) if sems else 0.0
