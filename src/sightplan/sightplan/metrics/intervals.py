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

    The number of trials over the design effect (Kish 1965, 8.2; the variance of a ratio of sums
    over clusters against that of independent trials), at least the number of clusters and at most
    that of trials. Where all came out the same nothing is known of what they share: the clusters.

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
    if count in (n, 1):  # of a single cluster nothing is known but its trials
        return float(n)
    fraction = sum(values) / n
    if fraction in (0.0, 1.0):
        return float(count)
    squares = sum((total - fraction * size) ** 2 for total, size in sums.values())
    variance = squares * count / (count - 1) / n**2
    effect = variance / (fraction * (1.0 - fraction) / n)
    return min(float(n), max(float(count), n / effect if effect else float(n)))


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
        return self._ends[0] if self.n else None

    @property
    def high(self) -> float | None:
        """Upper end."""
        return self._ends[1] if self.n else None

    @property
    def _ends(self) -> tuple[float, float]:
        n = self.n if self.effective is None else self.effective
        return wilson(self.successes * (n / self.n), n)


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
