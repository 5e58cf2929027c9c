"""Named measures of items, and their aggregation: the one way from lines to numbers.

A line of results holds ``measures``: name to a number, or None where the item was not scored in
it. A ``Measure`` says how the numbers of many lines become one with a 95 % interval:

* a *fraction* of items (every value is 0 or 1): ``intervals.fraction_interval`` over clusters
  (items with a common cause of success, such as a picture);
* a *share* of each item (values from 0 to 1), of which the mean is taken: likewise where every
  value is 0 or 1, else as a mean;
* a *mean*: ``intervals.percentile_interval`` of a bootstrap over clusters;
* a *statistic* that is no mean of items (balanced accuracy, calibration error): computed by the
  suite from columns of measures and the weights of items, with the same bootstrap; one that is a
  ratio of ``counts`` has the interval of a fraction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics.intervals import (
    Fraction,
    fraction_of,
    fraction_of_counts,
    percentile_interval,
)
from sightplan.model.errors import InputError

FRACTION, SHARE, MEAN, STATISTIC = 'fraction', 'share', 'mean', 'statistic'
RESAMPLES = 1000
SEED = 0

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
"""Mapping of a measure's name to its values, (N,), NaN where not scored."""
Statistic = Callable[[Columns, Floats], Floats]
"""Function of columns, (N,) each, and weights, (R, N): how often each of N items counts in each of
R resamples. It returns one number for each resample, (R,), NaN where it is undefined; a KeyError
for a column that no line has also means that it is undefined."""

_AT_ONCE = 4_000_000  # weights, 32 MB


@dataclass(frozen=True, slots=True)
class Measure:
    """A named number of a suite.

    Attributes:
        name: name in the lines' ``measures`` (statistics: a name of their own).
        about: one line for people, with unit.
        kind: ``fraction`` (every value is 0 or 1), ``share`` (from 0 to 1), ``mean`` (any number)
            or ``statistic``.
        higher_is_better: None if neither is better (a count of questions).
        statistic: of a statistic: see ``Statistic``.
        primary: whether it is what a suite is compared by; exactly one measure of a suite is.
        bounded_by: name of another measure of the suite, which is bad where an answer that says
            everything, or always the same, gets a good value of this one; read both together. ''
            where no such answer does.
        counts: of a statistic that is a fraction of what items count: the columns of its
            successes and of its trials.
        needs: of a statistic: columns of which an item has a value in at least one, to be counted
            among those that it is about; (): that of the trials of ``counts``, of ``halves``, or
            any.
        halves: of a statistic that is the mean of fractions, such as balanced accuracy: their
            columns; where all resamples agree, its interval is the mean of theirs.
        may_exceed_one: of a share: whether values above 1 are right, as of a quotient of shares.
    """

    name: str
    about: str
    kind: str = FRACTION
    higher_is_better: bool | None = True
    statistic: Statistic | None = None
    primary: bool = False
    bounded_by: str = ''
    counts: tuple[str, str] | None = None
    needs: tuple[str, ...] = ()
    halves: tuple[str, ...] = ()
    may_exceed_one: bool = False

    def why_unfit(self, value: float | None) -> str:
        """Return why a value is not of this measure's kind, with the remedy; '' if it is."""
        if value is not None and not math.isfinite(value):
            return f'measure {self.name} has the value {value!r}, which is no finite number'
        kind = {FRACTION: '0, 1 or None', SHARE: 'from 0 to 1, or None'}.get(self.kind)
        most = math.inf if self.may_exceed_one else 1 + 1e-9
        if kind is None or value is None or value in (0, 1) or (
                self.kind == SHARE and -1e-9 <= value <= most):
            return ''
        fitting = "'share' (values from 0 to 1) or 'mean' (any number)" if (
            self.kind == FRACTION) else "'mean' (any number)"
        return (f'measure {self.name} has the value {value!r}, and every value of a {self.kind} '
                f'is {kind}; declare it of kind {fitting}, as in '
                f"Measure({self.name!r}, '...', {fitting.split()[0]})")

    def has_value(self, line: Mapping[str, Any]) -> bool:
        """Whether a line says something about it."""
        if self.statistic is None:
            return line['measures'].get(self.name) is not None
        if self.counts is not None:
            return bool(line['measures'].get(self.counts[1]))
        if self.needs or self.halves:
            return any(line['measures'].get(name) is not None
                       for name in self.needs or self.halves)
        return scored(line)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A measure over many items.

    Attributes:
        value: None without a scored item.
        low: lower end of the 95 % interval; None where there is no value.
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
    """Return an item's success; None if the item is not scored, or its suite has no success."""
    value = line['measures'].get('solved')
    return None if value is None else bool(value)


def solved_of(lines: Iterable[Mapping[str, Any]]) -> Fraction:
    """Solved items of the scored ones; its interval heeds that those of one cluster are alike."""
    known = [line for line in lines if scored(line)]
    values = [float(bool(solved(line))) for line in known]
    return fraction_of(values, [line['cluster'] for line in known])


def columns(lines: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[
        str, NDArray[np.float64]]:
    """Values of measures, (N,) float64 each, NaN where a line has none."""
    rows = list(lines)
    return {name: np.array([_number(line['measures'].get(name)) for line in rows], np.float64)
            for name in names}


class _MissingColumnError(KeyError):
    """Raised for a column that no line has."""


class _Columns(dict[str, NDArray[np.float64]]):
    """Columns by name; those that no line has are missing."""

    def __missing__(self, name: str) -> NDArray[np.float64]:
        raise _MissingColumnError(name)


def aggregate(lines: Sequence[Mapping[str, Any]], measure: Measure,
              resamples: int = RESAMPLES, seed: int = SEED) -> Aggregate:
    """Aggregate one measure over lines of results.

    Args:
        lines: lines of results with ``measures`` and ``cluster``.
        measure: the measure to aggregate.
        resamples: number of resamples of the bootstrap over clusters.
        seed: seed of the bootstrap.

    Raises:
        InputError: a value is none of the measure's kind, such as 0.3 of a fraction.
    """
    held = [line for line in lines if measure.has_value(line)]
    clusters = [line['cluster'] for line in held]
    n, distinct = len(clusters), len(set(clusters))
    if measure.statistic is None:
        for line in held:
            if why := measure.why_unfit(line['measures'][measure.name]):
                raise InputError(why)
    if not n:
        return Aggregate(None, None, None, 0, 0)
    names = ((measure.name,) if measure.statistic is None else
             sorted({name for line in held for name in line['measures']}))
    values = columns(held, names)
    statistic = measure.statistic or mean_of(measure.name)
    try:
        value = float(statistic(_Columns(values), np.ones((1, n)))[0])
    except _MissingColumnError:
        value = float('nan')
    if np.isnan(value):
        return Aggregate(None, None, None, n, distinct)
    counted = _counted(measure, values, clusters)
    if counted is not None:
        return Aggregate(value, *counted.interval, n, distinct)
    if distinct < 2 or not resamples:
        return Aggregate(value, None, None, n, distinct)
    drawn = np.random.default_rng(seed).integers(distinct, size=(resamples, distinct))
    found = _resampled(values, clusters, drawn, statistic)
    if np.isnan(found).all():
        return Aggregate(value, None, None, n, distinct)
    low, high = percentile_interval(found, distinct)
    if low == high and measure.halves:
        known = [~np.isnan(values[name]) for name in measure.halves]
        low, high = np.mean([fraction_of(values[name][there], itertools.compress(clusters, there))
                             .interval for name, there in zip(measure.halves, known, strict=True)],
                            axis=0).tolist()
    return Aggregate(value, low, high, n, distinct)


def _counted(measure: Measure, values: Columns, clusters: Sequence[Hashable]) -> Fraction | None:
    """Successes and trials of what is a fraction of counts; None for what is not."""
    if measure.counts is not None:
        part, whole = (np.nan_to_num(values[name]) for name in measure.counts)
        return fraction_of_counts(zip(clusters, part, whole, strict=True))
    if measure.kind == FRACTION or (
            measure.kind == SHARE and np.isin(values[measure.name], (0.0, 1.0)).all()):
        return fraction_of(values[measure.name], clusters)
    return None


def aggregates(lines: Sequence[Mapping[str, Any]], measures: Iterable[Measure],
               ) -> dict[str, dict[str, Any]]:
    """All measures of a suite over lines, as plain JSON data by name."""
    return {measure.name: aggregate(lines, measure).as_json() for measure in measures}


def total(column: Floats, weights: Floats) -> Floats:
    """(R,) weighted sums of a column (N,), without what was not scored."""
    return np.asarray(weights @ np.nan_to_num(column))


def ratio(part: Floats, whole: Floats) -> Floats:
    """Return quotients, NaN where the divisor is 0."""
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole != 0.0)


def known_sum(values: Iterable[float | None]) -> float | None:
    """The sum of values; None if one of them is not known."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if len(known) == len(found) else None


def known_mean(values: Iterable[float | None]) -> float | None:
    """The mean of values; None if one of them is not known, and without any."""
    found = list(values)
    total_of_all = known_sum(found)
    return total_of_all / len(found) if found and total_of_all is not None else None


def mean_of(name: str) -> Statistic:
    """The statistic: mean of a column, without what was not scored."""
    def mean(values: Columns, weights: Floats) -> Floats:
        known = (~np.isnan(values[name])).astype(np.float64)
        return ratio(total(values[name], weights), total(known, weights))
    return mean


def grouped(lines: Iterable[Mapping[str, Any]], key: Callable[[Mapping[str, Any]], str],
            measures: Sequence[Measure]) -> dict[str, Any]:
    """The measures by group of lines: group to ``aggregates``, in alphabetical order."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        groups.setdefault(key(line), []).append(line)
    return {name: aggregates(groups[name], measures) for name in sorted(groups)}


def numbered(groups: Iterable[Hashable]) -> tuple[NDArray[np.int64], int]:
    """Return each item's group number, by first appearance, (N,), and the number of groups."""
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(group, len(numbers)) for group in groups]
    return np.array(index, np.int64), len(numbers)


def _resampled(values: Columns, clusters: Sequence[str], drawn: NDArray[np.int64],
               statistic: Statistic) -> Floats:
    """A statistic of each resample, (R,).

    Args:
        values: columns (N,).
        clusters: that of each item.
        drawn: (R, clusters) numbers of the clusters that each resample consists of.
        statistic: statistic to compute.
    """
    index, count = numbered(clusters)
    parts = np.array_split(drawn, -(-len(drawn) * len(index) // _AT_ONCE))
    return np.concatenate([statistic(values, times_drawn(part, count)[:, index].astype(
        np.float64)) for part in parts])


def times_drawn(drawn: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """(R, count) how often each resample consists of each of ``count`` clusters."""
    rows = count * np.arange(len(drawn))[:, None]
    return np.bincount((drawn + rows).ravel(), minlength=count * len(drawn)).reshape(-1, count)


def _number(value: float | None) -> float:
    return float('nan') if value is None else float(value)
