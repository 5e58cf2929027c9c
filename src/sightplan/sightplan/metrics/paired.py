"""Comparing two methods on the same items: exact tests, paired bootstrap, Holm."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightplan.metrics.intervals import percentile_interval
from sightplan.metrics.measures import (
    FRACTION,
    MEAN,
    STATISTIC,
    Columns,
    Floats,
    Measure,
    Statistic,
    aggregate,
    numbered,
)

K = TypeVar('K', bound=Hashable)

_MOST_CELLS = 4_000_000
"""Most resampled counts that are held in memory at once."""
_FIRST, _SECOND = '1 ', '2 '
"""Prefixes of columns of pairs."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """The mean difference of two paired samples.

    Attributes:
        difference: mean of the first minus mean of the second.
        low: lower end of its 95 % bootstrap interval over groups.
        high: upper end; with a single group, or without resamples, both are the difference.
        n: number of pairs.
        groups: number of independent groups.
    """

    difference: float
    low: float
    high: float
    n: int
    groups: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A measure of two methods over the items that both have scored.

    Attributes:
        first: the first method's value, None where a statistic is undefined.
        second: the second's.
        difference: first minus second.
        low: lower end of its 95 % bootstrap interval over clusters; None with a single cluster.
        high: upper end.
        n: number of items.
        clusters: number of clusters that they belong to.
        counts: of a fraction: items in which both succeed, the first only, the second only,
            neither; None of other measures.
        p: of a fraction: of the two-sided exact sign-flip test over clusters (McNemar's, where
            each item is a cluster of its own); None of other measures.
    """

    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    counts: tuple[int, int, int, int] | None = None
    p: float | None = None


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact McNemar test: do two methods solve as many of the same episodes?

    Pairs that both solve, or both fail, say nothing about the difference. Of the others each is
    as likely to favour either method if the methods are equal, so their number is binomial with
    p = 1/2 (McNemar 1947; the exact form as in Fagerland, Lydersen and Laake 2013, eq. 3). It
    takes the pairs for independent: for several of one problem see ``sign_flip_exact``.

    Args:
        only_first: pairs in which only the first succeeds.
        only_second: likewise the second.

    Returns:
        the p-value, 1.0 without such pairs.

    Raises:
        ValueError: a count is negative.
    """
    if only_first < 0 or only_second < 0:
        raise ValueError(f'{only_first} and {only_second} pairs: counts cannot be negative')
    n, fewer = only_first + only_second, min(only_first, only_second)
    if 2 * fewer >= n:
        return 1.0
    term = total = 1
    for i in range(fewer):
        term = term * (n - i) // (i + 1)
        total += term
    return min(1.0, float(2 * total / (1 << n)))


def sign_flip_exact(sums: Sequence[int]) -> float:
    """Two-sided exact sign-flip test: are paired differences as likely to favour either method?

    If the methods are equal, the sum of a cluster's differences is as likely to have the other
    sign; p is the probability of a total at least as far from 0 over all 2^n ways (Fisher 1935,
    section 21, with clusters for pairs). With one pair a cluster it is McNemar's exact test.

    Args:
        sums: of each cluster: pairs in which only the first succeeds, minus those in which only
            the second does.

    Returns:
        the p-value, 1.0 where all sums are 0.
    """
    sizes = [abs(int(value)) for value in sums if value]
    most, observed = sum(sizes), abs(int(sum(sums)))
    chances = np.zeros(2 * most + 1)  # of the totals -most .. most
    chances[most] = 1.0
    for size in sizes:
        # Totals lie within what was added so far: nothing wraps around.
        chances = 0.5 * (np.roll(chances, size) + np.roll(chances, -size))
    totals = np.arange(-most, most + 1)
    return float(min(1.0, chances[np.abs(totals) >= observed].sum()))


def paired_bootstrap(first: ArrayLike, second: ArrayLike,
                     groups: Sequence[Hashable] | NDArray[Any] | None = None,
                     resamples: int = 2000, seed: int = 0) -> PairedDifference:
    """Mean difference of paired values, with a bootstrap interval over groups.

    Whole groups are drawn with replacement (Davison and Hinkley 1997, section 3.8), because
    what belongs to one problem is not independent; a resample's difference is that of all its
    pairs. The interval is ``intervals.percentile_interval``, which heeds how few groups there are.

    Args:
        first: (N,) values of the first method.
        second: (N,) of the second on the same episodes, in the same order.
        groups: (N,) what belongs together (the problem); None: each pair by itself.
        resamples: number of resamples; 0: none.
        seed: of the resamples: the same values give the same interval.

    Raises:
        ValueError: there are no pairs, lengths differ, a value is not finite, or ``resamples``
            is negative.
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.ndim != 1 or a.shape != b.shape or (groups is not None and len(groups) != len(a)):
        raise ValueError(f'{a.shape} and {b.shape} values, '
                         f'{"no" if groups is None else len(groups)} groups')
    if not len(a):
        raise ValueError('there is not one pair')
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError('a value is not finite')
    if resamples < 0:
        raise ValueError(f'{resamples} resamples; 0 or more are needed')
    index, count = numbered(range(len(a)) if groups is None else groups)
    sums = np.bincount(index, a - b, count).astype(np.float64)
    counts = np.bincount(index, minlength=count).astype(np.float64)
    difference = float(sums.sum() / counts.sum())
    if not resamples or count == 1:
        return PairedDifference(difference, difference, difference, len(a), count)
    drawn = _resampled(sums, counts, resamples, seed)
    return PairedDifference(difference, *percentile_interval(drawn, count), len(a), count)


def _resampled(sums: NDArray[np.float64], counts: NDArray[np.float64], resamples: int,
               seed: int) -> NDArray[np.float64]:
    """Means of (resamples,) draws of as many groups as there are."""
    n, means, rng = len(sums), np.empty(resamples), np.random.default_rng(seed)
    step = max(1, _MOST_CELLS // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        picked = rng.multinomial(n, np.full(n, 1.0 / n), size=size).astype(np.float64)
        means[start:start + size] = (picked @ sums) / (picked @ counts)
    return means


def compare(first: Mapping[K, Mapping[str, Any]], second: Mapping[K, Mapping[str, Any]],
            measure: Measure, resamples: int = 2000, seed: int = 0) -> Comparison | None:
    """Compare two methods in a measure on the items that both have.

    Clusters are those of the side that has fewer, such as one whose problems share worlds.

    Args:
        first: lines of results of the first method, by what makes them pairs (such as the id).
        second: likewise of the second.
        measure: the measure to compare.
        resamples: number of resamples of the bootstrap.
        seed: seed of the bootstrap.

    Returns:
        the comparison, None without a common item that both have scored.
    """
    pairs = [(first[key], second[key]) for key in first
             if key in second and all(map(measure.has_value, (first[key], second[key])))]
    if not pairs:
        return None
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    one, other = (aggregate(lines, measure, resamples=0).value for lines in sides)
    clusters = min(([line['cluster'] for line in lines] for lines in sides),
                   key=lambda names: len(set(names)))
    if measure.statistic is None:
        joined = [{'cluster': cluster, 'measures': {
            measure.name: a['measures'][measure.name] - b['measures'][measure.name]}}
            for cluster, (a, b) in zip(clusters, pairs, strict=True)]
        gain = aggregate(joined, Measure(measure.name, '', MEAN), resamples, seed)
    else:
        joined = [{'cluster': cluster, 'measures': {
            **{f'{_FIRST}{name}': value for name, value in a['measures'].items()},
            **{f'{_SECOND}{name}': value for name, value in b['measures'].items()}}}
            for cluster, (a, b) in zip(clusters, pairs, strict=True)]
        gain = aggregate(joined, Measure(measure.name, '', STATISTIC,
                                         statistic=_difference(measure.statistic)),
                         resamples, seed)
    counts = p = None
    if measure.kind == FRACTION:
        cells = [tuple(line['measures'][measure.name] > 0.5 for line in pair) for pair in pairs]
        counts = (cells.count((True, True)), cells.count((True, False)),
                  cells.count((False, True)), cells.count((False, False)))
        sums: dict[str, int] = {}
        for cluster, (ours, theirs) in zip(clusters, cells, strict=True):
            sums[cluster] = sums.get(cluster, 0) + ours - theirs
        p = sign_flip_exact(list(sums.values()))
    return Comparison(one, other, gain.value, gain.low, gain.high, len(pairs), gain.clusters,
                      counts, p)


def _difference(statistic: Statistic) -> Statistic:
    """A statistic of the first method's columns minus that of the second's."""
    def of(columns: Columns, weights: Floats, side: str) -> Floats:
        return statistic({name.removeprefix(side): values for name, values in columns.items()
                          if name.startswith(side)}, weights)
    return lambda columns, weights: (
        of(columns, weights, _FIRST) - of(columns, weights, _SECOND))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979): step down, then made monotone.

    Returns:
        adjusted ones in the same order, at most 1: what is below .05 can be called different
        with at most 5 % chance of any error among all of them.

    Raises:
        ValueError: a value is outside [0, 1].
    """
    if not all(0.0 <= p <= 1.0 for p in p_values):
        raise ValueError('a p-value lies outside [0, 1]')
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted
