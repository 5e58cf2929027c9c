"""Named measures of items, and their aggregation: the one way from lines to numbers.

A line of results holds ``measures``: name to a number, or None where the item was not scored in
it. A ``Measure`` says how the numbers of many lines become one with a 95 % interval:

* a *fraction* of items (every value is 0 or 1): Wilson score interval;
* a *mean*: percentile bootstrap over clusters (items that share their luck, such as a picture);
* a *statistic* that is no mean of items (balanced accuracy, calibration error): computed by the
  suite from columns of measures, with the same bootstrap.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics.intervals import wilson

FRACTION, MEAN, STATISTIC = 'fraction', 'mean', 'statistic'
RESAMPLES = 1000
SEED = 0

Columns = Mapping[str, NDArray[np.float64]]
"""Measure to values, (N,) each, NaN where not scored."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A named number of a suite.

    Attributes:
        name: as in the lines' ``measures`` (statistics: a name of their own).
        about: one line for people, with unit.
        kind: ``fraction``, ``mean`` or ``statistic``.
        higher_is_better: None if neither is better (a count of questions).
        statistic: of a statistic: columns of the same N items to one number, NaN if undefined.
        primary: whether it is what a suite is compared by; exactly one measure of a suite is.
    """

    name: str
    about: str
    kind: str = FRACTION
    higher_is_better: bool | None = True
    statistic: Callable[[Columns], float] | None = None
    primary: bool = False


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A measure over many items.

    Attributes:
        value: None without a scored item.
        low: lower end of the 95 % interval, None likewise.
        high: upper end.
        n: number of scored items.
        clusters: number of clusters that they belong to.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int

    def as_json(self) -> dict[str, Any]:
        """Plain JSON data: ``value``, ``interval95``, ``n``, ``clusters``."""
        interval = None if self.low is None else [self.low, self.high]
        return {'value': self.value, 'interval95': interval, 'n': self.n,
                'clusters': self.clusters}


def scored(line: Mapping[str, Any]) -> bool:
    """Whether a line is scored in at least one measure."""
    return any(value is not None for value in line['measures'].values())


def solved(line: Mapping[str, Any]) -> bool | None:
    """Success of an item; None if it is not scored, or its suite has no success."""
    value = line['measures'].get('solved')
    return None if value is None else bool(value)


def columns(lines: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[
        str, NDArray[np.float64]]:
    """Values of measures, (N,) float64 each, NaN where a line has none."""
    rows = list(lines)
    return {name: np.array([_number(line['measures'].get(name)) for line in rows], np.float64)
            for name in names}


def aggregate(lines: Sequence[Mapping[str, Any]], measure: Measure,
              resamples: int = RESAMPLES, seed: int = SEED) -> Aggregate:
    """One measure over lines of results.

    Args:
        lines: with ``measures`` and ``cluster``.
        measure: what to aggregate.
        resamples: of the bootstrap over clusters (Efron and Tibshirani 1993, percentile method).
        seed: of the bootstrap.
    """
    if measure.statistic is not None:
        names = {name for line in lines for name in line['measures']}
        values = columns(lines, sorted(names))
        known = np.array([scored(line) for line in lines], bool)
    else:
        values = columns(lines, (measure.name,))
        known = ~np.isnan(values[measure.name])
    values = {name: column[known] for name, column in values.items()}
    clusters = [line['cluster'] for line, there in zip(lines, known, strict=True) if there]
    n, distinct = len(clusters), len(set(clusters))
    if not n:
        return Aggregate(None, None, None, 0, 0)
    statistic = measure.statistic or _mean_of(measure.name)
    value = float(statistic(values))
    if np.isnan(value):
        return Aggregate(None, None, None, n, distinct)
    if measure.kind == FRACTION:
        return Aggregate(value, *wilson(round(value * n), n), n, distinct)
    if distinct < 2 or not resamples:
        return Aggregate(value, None, None, n, distinct)
    members = _members(clusters)
    drawn = np.random.default_rng(seed).integers(distinct, size=(resamples, distinct))
    found = (_resampled_means(values[measure.name], members, drawn)
             if measure.statistic is None else
             _resampled(values, members, drawn, measure.statistic))
    return Aggregate(value, *_percentiles(found), n, distinct)


def aggregates(lines: Sequence[Mapping[str, Any]], measures: Iterable[Measure],
               ) -> dict[str, dict[str, Any]]:
    """All measures of a suite over lines, as plain JSON data by name."""
    return {measure.name: aggregate(lines, measure).as_json() for measure in measures}


def _mean_of(name: str) -> Callable[[Columns], float]:
    def mean(values: Columns) -> float:
        return float(values[name].mean())
    return mean


def numbered(groups: Iterable[Hashable]) -> tuple[NDArray[np.int64], int]:
    """Of each item the number of its group, by first appearance, (N,); how many groups."""
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(group, len(numbers)) for group in groups]
    return np.array(index, np.int64), len(numbers)


def _members(clusters: Sequence[str]) -> list[NDArray[np.intp]]:
    """Indices of the items of each cluster."""
    index, _ = numbered(clusters)
    return np.split(np.argsort(index, kind='stable'), np.bincount(index).cumsum()[:-1])


def _resampled_means(values: NDArray[np.float64], members: Sequence[NDArray[np.intp]],
                     drawn: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean of each resample: from sums and sizes of the clusters that were drawn."""
    sums = np.array([values[indices].sum() for indices in members])
    sizes = np.array([len(indices) for indices in members])
    means: NDArray[np.float64] = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    return means


def _resampled(values: Columns, members: Sequence[NDArray[np.intp]], drawn: NDArray[np.int64],
               statistic: Callable[[Columns], float]) -> NDArray[np.float64]:
    """A statistic of each resample."""
    found = np.empty(len(drawn))
    for number, clusters in enumerate(drawn):
        chosen = np.concatenate([members[cluster] for cluster in clusters])
        found[number] = statistic({name: column[chosen] for name, column in values.items()})
    return found


def _percentiles(found: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """The 95 % interval; undefined resamples are left out."""
    if np.isnan(found).all():
        return None, None
    low, high = np.nanpercentile(found, [2.5, 97.5])
    return float(low), float(high)


def _number(value: float | None) -> float:
    return float('nan') if value is None else float(value)
