"""Intervals and standard errors: the one place that computes them.

A *fraction* has ``fraction_interval`` of its counts by cluster; a mean of other values, and any
statistic that is resampled over clusters, ``percentile_interval``.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the standard normal distribution."""
_ALIKE = 1.0 / (1.0 + np.exp(-np.arange(-16.0, 8.1, 0.5)))
"""Intra-class correlations that are averaged over, from 1e-7 to .9997."""


def wilson(successes: float, n: float, z: float = Z95) -> tuple[float, float]:
    """Wilson score interval of a fraction (Wilson 1927, without continuity correction).

    Unlike the normal approximation it stays in [0, 1] and is not empty at 0 of n or n of n. It
    takes trials for independent; where several share a problem or a picture, ask
    ``fraction_interval``.

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
    fraction = successes / n
    centre = fraction + z * z / (2 * n)
    spread = z * math.sqrt(fraction * (1.0 - fraction) / n + z * z / (4 * n * n))
    scale = 1.0 + z * z / n
    low = 0.0 if successes == 0 else (centre - spread) / scale
    high = 1.0 if successes == n else (centre + spread) / scale
    return low, high


def fraction_interval(counts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The 95 % interval of a fraction whose trials are correlated within clusters.

    Args:
        counts: successes and trials of each cluster, for example of each problem or picture.

    Returns:
        the ends, see ``clustered_intervals``; Wilson's, where each trial is a cluster of its own,
        or all are one cluster: then it is about that one. Without a trial [0, 1].

    Raises:
        ValueError: successes of a cluster are not in 0..trials.
    """
    return _fraction_interval(tuple(sorted(pair for pair in counts if pair[1])))


@functools.lru_cache(maxsize=4096)
def _fraction_interval(counts: tuple[tuple[float, float], ...]) -> tuple[float, float]:
    successes, trials = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    if any(not 0 <= part <= whole for part, whole in counts):
        raise ValueError('a cluster has more successes than trials, or fewer than none')
    if len(counts) in (0, 1, trials):
        return wilson(successes, trials)
    times = Counter(counts)
    parts, wholes = np.array(list(times), np.float64).T
    low, high = clustered_intervals(parts[None], wholes, list(times.values()))[0]
    return float(low), float(high)


def clustered_intervals(successes: ArrayLike, trials: ArrayLike, times: ArrayLike = 1,
                        ) -> NDArray[np.float64]:
    """95 % intervals of fractions whose trials are correlated within clusters.

    Wilson's interval for a design effect of 1 + (d - 1) r, where d is the mean size of a cluster
    by trials and r the intra-class correlation (Kish 1965, 8.2), averaged over what the counts
    leave open of r: by the beta-binomial likelihood at the observed fraction (Williams 1975), its
    width over the fraction by Laplace's method, and a Beta(1/4, 1/4) prior, which says that trials
    of a cluster are as likely to be nearly independent as nearly all alike. The correlated part
    has Bessel's factor m / (m - 1) of m clusters. Not empty at 0 of n and n of n.

    Simulated (p .5, .9, .99; r 0, .05, .3, 1; beta-distributed rates of clusters; 1,000 to 2,000
    cases each): with 25 or 200 clusters, equal or of 1 to 500 trials, it holds the truth in .93 to
    .98 of cases, and is 1.0 to 1.2 times (at p .99 up to 1.5 times) as wide as one that is told r;
    least is .91, for 75 clusters of 740 trials, p .99 and r .3. With 5 equal clusters it holds it
    in .92 to .99, and where one to three of 5 to 23 have most trials in .89 to 1.00: nothing tells
    r there, and at p = .99 no interval of so few counts has the nominal coverage.

    Args:
        successes: (R, m) counts of R cases.
        trials: (m,) of each cluster, at least 1.
        times: (m,) how many clusters have these counts.

    Returns:
        (R, 2) lower and upper ends.
    """
    from scipy.special import gammaln, ndtr  # slow to import
    part, size, times = (np.asarray(value, np.float64) for value in (successes, trials, times))
    times = np.broadcast_to(times, size.shape)
    clusters, n = float(times.sum()), float(times @ size)
    found = part @ times
    rate = found / n
    # Two shapes of the beta distribution for each case and r, (R, 1, r); counts are (R, m, 1).
    shapes = (1.0 - _ALIKE) / _ALIKE
    won = ((found + 0.5) / (n + 1.0))[:, None, None] * shapes
    lost = ((n - found + 0.5) / (n + 1.0))[:, None, None] * shapes
    right, whole = part[:, :, None], size[:, None]
    each = (gammaln(right + won) - gammaln(won) + gammaln(whole - right + lost) - gammaln(lost)
            - gammaln(whole + shapes) + gammaln(shapes))
    excess = float(times @ size**2) / n - 1.0
    likely = (np.einsum('rmg,m->rg', each, times)
              + 0.5 * np.log1p(excess * _ALIKE) + 0.25 * np.log(_ALIKE * (1.0 - _ALIKE)))
    weights = np.exp(likely - likely.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    spread = np.sqrt((1.0 + excess * _ALIKE * clusters / (clusters - 1.0)) / n)
    ends = []
    for tail in (0.975, 0.025):
        below, above = np.full(len(rate), -40.0), np.full(len(rate), 40.0)  # log odds
        for _ in range(60):
            middle = 0.5 * (below + above)
            p = 1.0 / (1.0 + np.exp(-middle))
            far = ((rate - p) * 2.0 * np.cosh(0.5 * middle))[:, None] / spread
            higher = (weights * ndtr(far)).sum(axis=1) > tail
            below, above = np.where(higher, middle, below), np.where(higher, above, middle)
        ends.append(1.0 / (1.0 + np.exp(-0.5 * (below + above))))
    return np.stack([np.where(found == 0.0, 0.0, ends[0]), np.where(found == n, 1.0, ends[1])], 1)


def percentile_interval(found: ArrayLike, clusters: int) -> tuple[float, float]:
    """The 95 % interval of resampled values of a statistic.

    Percentiles that are further out the fewer clusters there are, as those of the t-distribution
    are (expanded percentile method: Hesterberg 2015, section 5.3): plain ones are too narrow by
    sqrt((m - 1) / m) and by what a normal quantile is below that of t. Simulated on normal values,
    it holds the mean in .91 (5 very unequal clusters) to .95 of cases; plain ones in .79 to .94.

    Args:
        found: (R,) of each resample of clusters; NaN where it is undefined, which is left out.
        clusters: number of clusters, at least 2.

    Raises:
        ValueError: there are fewer than two clusters.
    """
    from scipy.special import ndtr, stdtrit  # slow to import
    if clusters < 2:
        raise ValueError(f'{clusters} clusters; an interval needs 2 or more')
    tail = float(ndtr(-math.sqrt(clusters / (clusters - 1)) * stdtrit(clusters - 1, 0.975)))
    low, high = np.nanquantile(np.asarray(found, np.float64), (tail, 1.0 - tail))
    return float(low), float(high)


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
    """``successes`` of ``n`` trials, with the uncertainty; all is None without a trial.

    Attributes:
        successes: in 0..n.
        n: number of trials.
        clusters: cluster, such as a problem, to successes and trials; see ``fraction_of`` and
            ``fraction_of_counts``.
    """

    successes: int
    n: int
    clusters: Mapping[Hashable, tuple[int, int]] = field(repr=False, hash=False)

    @property
    def rate(self) -> float | None:
        """The fraction."""
        return self.successes / self.n if self.n else None

    @property
    def sem(self) -> float | None:
        """Standard error of the fraction, see the function ``sem``."""
        return sem(self.successes / self.n, self.n) if self.n else None

    @property
    def low(self) -> float | None:
        """Lower end of the fraction's 95 % interval."""
        return self.interval[0] if self.n else None

    @property
    def high(self) -> float | None:
        """Upper end of the fraction's 95 % interval."""
        return self.interval[1] if self.n else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval, see ``fraction_interval``; [0, 1] without a trial."""
        return fraction_interval(self.clusters.values())


def fraction_of(values: Iterable[float], clusters: Iterable[Hashable]) -> Fraction:
    """A fraction of trials.

    Args:
        values: 0 or 1 of each trial.
        clusters: statistical cluster of each trial, for example its problem.
    """
    return fraction_of_counts((cluster, bool(value), 1)
                              for value, cluster in zip(values, clusters, strict=True))


def fraction_of_counts(counts: Iterable[tuple[Hashable, int, int]]) -> Fraction:
    """A fraction of counted trials: cluster, successes and trials of each count."""
    sums: dict[Hashable, tuple[int, int]] = {}
    for cluster, part, whole in counts:
        before = sums.get(cluster, (0, 0))
        sums[cluster] = before[0] + int(part), before[1] + int(whole)
    return Fraction(sum(part for part, _ in sums.values()),
                    sum(whole for _, whole in sums.values()), sums)


def pooled(fractions: Iterable[Fraction]) -> Fraction:
    """All trials of several fractions; clusters of one name are one."""
    return fraction_of_counts((cluster, *counts) for fraction in fractions
                              for cluster, counts in fraction.clusters.items())


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
