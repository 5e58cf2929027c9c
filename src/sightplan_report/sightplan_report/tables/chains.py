"""Success with and without a chain of thought: the ViPlan paper's table 3."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from sightplan.metrics import mean_sem
from sightplan.metrics.intervals import Fraction
from sightplan.metrics.measures import solved_of
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Results
from sightplan_report.tables.common import ALL, group_cells, published, unlike_published
from sightplan_report.tables.model import Table, make
from sightplan_report.tables.pairs import difference
from sightplan_report.tables.scores import compared

_WITH_REASONS = '_cot'
_DIFFERENCE, _PAPERS_MODELS = 'reasons_difference', 'mean of sixteen'
"""Measure and model under which ``published.json`` has the numbers of table 3."""

_Pair = tuple[Group, Group]
"""Groups of one model: without and with a chain of thought."""


def chains_of_thought(results: Results) -> Table:
    """Difference of success with and without a chain of thought, mean over models, by split.

    A row is over the models that have both methods of a pair ``X``, ``X_cot`` under the same
    conditions.
    """
    pairs = [(plain, reasoned) for plain, reasoned in itertools.permutations(results.groups, 2)
             if reasoned.method == plain.method + _WITH_REASONS and plain.model
             and difference(plain, reasoned) == 'method']
    alike = grouped(pairs, lambda pair: (
        *(group_cells(pair[0])[key] for key in ('domain', 'method', 'failure_probability',
                                                'privileged', 'calibrated')),
        pair[0].settings, pair[0].condition))
    return make('chains_of_thought', (
        row for members in alike.values() for row in _rows(members, results.splits)))


def _rows(pairs: Sequence[_Pair], splits: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The rows of one pair of methods: one for each split, and the mean over several splits."""
    def scored(split: str, among: Sequence[_Pair]) -> list[_Pair]:
        return [pair for pair in among if all(one.n for one in _rates(pair, split))]

    present = [split for split in splits if scored(split, pairs)]
    whole: Sequence[_Pair] = pairs
    for split in present:
        yield _row(scored(split, pairs), [split])
        whole = scored(split, whole)
    if len(present) > 1 and whole:
        yield _row(whole, present)


def _rates(pair: _Pair, split: str) -> tuple[Fraction, Fraction]:
    """Solved episodes of a split, without and with a chain of thought."""
    plain, reasoned = (solved_of(group.by_split.get(split, ())) for group in pair)
    return plain, reasoned


def _row(pairs: Sequence[_Pair], splits: Sequence[str]) -> dict[str, Any]:
    """Mean over models and splits, with the error of the paper's appendix E."""
    plain, reasoned = pairs[0]
    both = [_rates(pair, split) for pair in pairs for split in splits]
    cells = {
        **group_cells(plain), 'method': plain.method, 'reasoned': reasoned.method,
        'split': splits[0] if len(splits) == 1 else ALL,
        'models': len(pairs), 'names': ', '.join(dict.fromkeys(
            group.model for group, _ in pairs))}
    for side, key in enumerate(('plain', 'with_reasons')):
        cells |= {key: fmean(one[side].rate or 0.0 for one in both),
                  f'{key}_n': sum(one[side].n for one in both)}
    cells |= _difference('', [(x.rate or 0.0, x.sem or 0.0, y.rate or 0.0, y.sem or 0.0)
                              for x, y in both])
    theirs = [(*published(one, split)[:2], *published(other, split)[:2])
              for one, other in pairs for split in splits]
    known = [(a, b, c, d) for a, b, c, d in theirs
             if a is not None and b is not None and c is not None and d is not None]
    if len(known) == len(theirs):
        cells |= _difference('same_', known)
    return cells | _printed(pairs, splits) | compared(
        (group, split) for pair in pairs for group in pair for split in splits)


def _difference(prefix: str, numbers: Sequence[tuple[float, ...]]) -> dict[str, float | None]:
    """Difference, error and ratio of means.

    Args:
        prefix: of the keys.
        numbers: of each model and split: success and its standard error, without a chain of
            thought and with one.
    """
    mean = fmean(after - before for before, _, after, _ in numbers)
    # The errors of both, propagated through the mean over models and splits.
    error = mean_sem([sem for _, first, _, second in numbers for sem in (first, second)]) * 2
    return {f'{prefix}difference': mean, f'{prefix}error': error,
            f'{prefix}ratio': abs(mean) / error if error else None}


def _printed(pairs: Sequence[_Pair], splits: Sequence[str]) -> dict[str, Any]:
    """Numbers of table 3 for a split, whatever the models; nothing where episodes are others."""
    plain, split = pairs[0][0], splits[0]
    suite = plain.suite_with(split)
    if suite is None or len(splits) > 1 or any(
            unlike_published(group, split) for pair in pairs for group in pair):
        return {}
    found = suite.published.find(_PAPERS_MODELS, _DIFFERENCE, domain=plain.domain,
                                 method=plain.method, split=split,
                                 failure_probability=plain.failure_probability)
    return {} if found is None else {
        'paper_difference': found.value, 'paper_error': found.sem,
        'paper_ratio': abs(found.value) / found.sem if found.sem else None,
        'paper_source': found.source}
