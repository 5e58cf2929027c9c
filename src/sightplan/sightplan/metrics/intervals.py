"""Intervals and standard errors of fractions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the standard normal distribution."""


def wilson(successes: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a fraction (Wilson 1927, without continuity correction).

    Unlike the normal approximation it stays in [0, 1] and is not empty at 0 of n or n of n.

    Args:
        successes: in 0..n.
        n: number of trials; with none, nothing is known and the interval is [0, 1]. Both need not
            be whole, see ``effective_n``.
        z: normal quantile, 1.96 for 95 %.

    Raises:
        ValueError: successes is not in 0..n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f'{successes} successes of {n} trials')
    if n == 0:
        return 0.0, 1.0
    fraction = successes / n
    centre = fraction + z * z / (2 * n)
    spread = z * math.sqrt(fraction * (1.0 - fraction) / n + z * z / (4 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return low, high


def effective_n(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """How many independent trials tell as much as trials that share their luck in clusters.

    The number of trials over the design effect (Kish 1965, 8.2: the variance of a ratio of sums
    over clusters against that of independent trials), times what the t-distribution makes of few
    clusters (Korn and Graubard 1998). The effect is that of the clusters and of one more of mean
    size that came out the other way: where all trials agree nothing else would tell what they
    share. At most the number of trials, and all of them where there is one cluster only: then the
    interval is about that one.

    Args:
        values: 0 or 1 of each trial.
        clusters: of each trial, for example its problem.
    """
    n, sums = len(values), dict[Hashable, list[float]]()
    for value, cluster in zip(values, clusters, strict=True):
        both = sums.setdefault(cluster, [0.0, 0.0])
        both[0] += value
        both[1] += 1.0
    count = len(sums)
    if count in (n, 1):
        return float(n)
    mean = n / count
    effect = max(_design_effect([*sums.values(), [total, mean]]) for total in (0.0, mean))
    most = sum(size * size for _, size in sums.values()) / n  # as of trials that are all alike
    few = (_t95(n - 1) / _t95(count - 1)) ** 2
    return min(float(n), n / min(most, max(1.0, effect)) * few)


def _design_effect(clusters: Sequence[Sequence[float]]) -> float:
    """Of clusters with their totals and sizes, of which not all trials agree."""
    n, count = sum(size for _, size in clusters), len(clusters)
    fraction = sum(total for total, _ in clusters) / n
    if fraction in (0.0, 1.0):
        return 0.0
    squares = sum((total - fraction * size) ** 2 for total, size in clusters)
    return squares * count / (count - 1) / n / (fraction * (1.0 - fraction))


def _t95(freedom: int) -> float:
    """Two-sided 95 % quantile of the t-distribution, by its expansion (Fisher and Cornish 1960).

    It is a fourth too small with 1 degree of freedom, 3 % with 2, and less with more.
    """
    z, nu = Z95, float(freedom)
    return (z + (z**3 + z) / (4 * nu) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * nu**3))


def sem(fraction: float, n: int) -> float:
    """Standard error of a fraction as the ViPlan paper reports it: sqrt(p (1 - p) / n), eq. (1).

    It is 0 at p = 0 and p = 1, however small n is: read ``wilson`` beside it. 0 for n = 0.
    """
    return math.sqrt(fraction * (1.0 - fraction) / n) if n else 0.0


def mean_sem(sems: Sequence[float]) -> float:
    """Standard error of the mean of m independent estimates: sqrt(sum sem_i^2) / m, eq. (2)."""
    return math.sqrt(sum(s * s for s in sems)) / len(sems) if sems else 0.0


@dataclass(frozen=True, slots=True)
class Fraction:
    """``successes`` of ``n`` trials, with the uncertainty; all is None without a trial."""

    successes: int
    n: int
    effective: float | None = None  # trials, if they share their luck: see ``effective_n``

    @property
    def rate(self) -> float | None:
        """The fraction."""
        return self.successes / self.n if self.n else None

    @property
    def sem(self) -> float | None:
        """Its standard error, see the function ``sem``."""
        return sem(self.successes / self.n, self.n) if self.n else None

    @property
    def low(self) -> float | None:
        """Lower end of its 95 % Wilson interval."""
        return self.interval[0] if self.n else None

    @property
    def high(self) -> float | None:
        """Upper end."""
        return self.interval[1] if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % Wilson interval; [0, 1] without a trial."""
        if not self.n:
            return wilson(0, 0)
        n = self.n if self.effective is None else self.effective
        return wilson(n if self.successes == self.n else min(n, self.successes * n / self.n), n)


def mean_over(values: Sequence[float]) -> tuple[float | None, float | None]:
    """Mean of independent values and its standard error: sample deviation (n - 1) over sqrt(n).

    That is how table 1 of the ViPlan paper treats models, whose differences outweigh the noise of
    each; with fewer than two values the error is None.
    """
    if not values:
        return None, None
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, None
    variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
    return mean, math.sqrt(variance / len(values))


def errors_apart(ours: float | None, our_sem: float | None, theirs: float | None,
                 their_sem: float | None) -> float | None:
    """Difference of two estimates in standard errors of the difference.

    None where something is unknown, or where two different fractions both claim no error, as those
    of 0 and 1 do.
    """
    if ours is None or theirs is None or our_sem is None or their_sem is None:
        return None
    if ours == theirs:
        return 0.0
    error = math.hypot(our_sem, their_sem)
    return (ours - theirs) / error if error else None
