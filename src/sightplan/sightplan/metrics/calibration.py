"""Whether probabilities are what they say: reliability diagrams and expected calibration error."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics.intervals import percentile_interval
from sightplan.metrics.measures import numbered

_MOST_CELLS = 2_000_000
"""Most drawn groups that are held in memory at once."""


@dataclass(frozen=True, slots=True)
class Bin:
    """The probabilities that fell into one bin.

    Attributes:
        low: lower edge.
        high: upper edge; the last bin holds 1.
        n: number of probabilities.
        mean_p: their mean; NaN in an empty bin.
        frequency: fraction of them whose event was true; NaN in an empty bin.
    """

    low: float
    high: float
    n: int
    mean_p: float
    frequency: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Comparison of probabilities with the truth, and its interval.

    Attributes:
        ece: expected calibration error, the mean over all probabilities of |mean_p - frequency|
            of their bin (Naeini, Cooper and Hauskrecht 2015); 0 without any.
        low: lower end of its 95 % bootstrap interval over groups.
        high: upper end.
        n: number of probabilities.
        groups: number of independent groups.
        bins: bins of equal width, in order.
    """

    ece: float
    low: float
    high: float
    n: int
    groups: int
    bins: tuple[Bin, ...]


def reliability(probabilities: Sequence[float] | NDArray[np.float64],
                truths: Sequence[bool] | NDArray[np.bool_], bins: int = 10,
                groups: Sequence[Hashable] | NDArray[Any] | None = None, resamples: int = 1000,
                seed: int = 0) -> Reliability:
    """Compare probabilities with truths.

    The interval is a bootstrap over whole groups (``intervals.percentile_interval``), because what
    belongs to one episode is not independent. As resampling adds noise to every bin, it can lie
    above a very small error.

    Args:
        probabilities: (N,) in [0, 1].
        truths: (N,) what was true.
        bins: number of bins of equal width.
        groups: (N,) what belongs together (the episode); None: each probability by itself.
        resamples: number of bootstrap resamples; 0: the interval is the error itself.
        seed: seed of the bootstrap.

    Raises:
        ValueError: the lengths differ, or a probability is outside [0, 1].
    """
    p = np.asarray(probabilities, dtype=np.float64)
    truth = np.asarray(truths, dtype=np.float64)
    if p.shape != truth.shape or p.ndim != 1 or (groups is not None and len(groups) != len(p)):
        raise ValueError(f'{p.shape} probabilities, {truth.shape} truths, '
                         f'{len(groups) if groups is not None else "no"} groups')
    if not bool(np.all((p >= 0.0) & (p <= 1.0))):
        raise ValueError('a probability lies outside [0, 1]')
    number = np.minimum((p * bins).astype(np.int64), bins - 1)
    group, n_groups = ((np.arange(len(p)), len(p)) if groups is None else numbered(groups))
    # Sums per group and bin: a resample is then a weighted sum over groups.
    sums = np.zeros((3, n_groups, bins))
    for layer, values in enumerate((np.ones_like(p), p, truth)):
        np.add.at(sums[layer], (group, number), values)
    return reliability_of_sums(sums, resamples, seed)


def reliability_of_sums(sums: NDArray[np.float64], resamples: int = 1000,
                        seed: int = 0) -> Reliability:
    """Compare probabilities with truths, of which only sums were kept.

    Args:
        sums: (3, groups, bins): per group and bin of equal width the number of probabilities,
            their sum, and the number of true events.
        resamples: see ``reliability``.
        seed: seed of the bootstrap.

    Raises:
        ValueError: ``sums`` has another shape.
    """
    if sums.ndim != 3 or sums.shape[0] != 3:
        raise ValueError(f'sums of shape {sums.shape}; (3, groups, bins) is needed')
    n_groups, bins = sums.shape[1:]
    n, sum_p, sum_true = sums.sum(axis=1)
    error = float(_errors(np.stack([n, sum_p, sum_true])[None])[0])
    low = high = error
    if resamples and n_groups > 1:
        rng, flat = np.random.default_rng(seed), sums.transpose(1, 0, 2).reshape(n_groups, -1)
        errors, step = np.empty(resamples), max(1, _MOST_CELLS // n_groups)
        for start in range(0, resamples, step):
            size = min(step, resamples - start)
            drawn = rng.integers(n_groups, size=(size, n_groups))
            # How often each group is drawn: one count over (resample, group) pairs.
            drawn += n_groups * np.arange(size)[:, None]
            picked = np.bincount(drawn.ravel(), minlength=size * n_groups)
            errors[start:start + size] = _errors(
                (picked.reshape(size, n_groups) @ flat).reshape(size, 3, bins))
        low, high = percentile_interval(errors, n_groups)
    edges = np.linspace(0.0, 1.0, bins + 1)
    with np.errstate(invalid='ignore'):
        rows = zip(edges[:-1], edges[1:], n, sum_p / n, sum_true / n, strict=True)
    return Reliability(error, low, high, int(n.sum()), n_groups, tuple(
        Bin(float(a), float(b), int(k), float(mean), float(true))
        for a, b, k, mean, true in rows))


def _errors(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected calibration errors of (resamples, 3, bins) sums."""
    total = sums[:, 0].sum(axis=1)
    apart = np.abs(sums[:, 1] - sums[:, 2]).sum(axis=1)
    np.divide(apart, total, out=apart, where=total > 0)  # without any, apart is 0
    return np.asarray(apart, dtype=np.float64)
