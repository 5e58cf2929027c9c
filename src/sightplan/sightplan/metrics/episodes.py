"""Measures that every episode has, whatever its suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sightplan.metrics.measures import (
    MEAN,
    STATISTIC,
    Columns,
    Floats,
    Measure,
    Statistic,
    ratio,
    total,
)
from sightplan.model import AskPurpose


def ratio_of(part: str, whole: str) -> Statistic:
    """The statistic: sum of one column over the sum of another, NaN if that is 0."""
    def statistic(columns: Columns, weights: Floats) -> Floats:
        return ratio(total(columns[part], weights), total(columns[whole], weights))
    return statistic


EPISODE_MEASURES = (
    Measure('solved', 'goal reached in the true final state', primary=True),
    Measure('steps', 'units of the action budget used', MEAN, None),
    Measure('questions', 'questions asked', MEAN, None),
    Measure('predicate_accuracy', 'fraction of right answers among the readable ones to '
            'questions of state enumerations', STATISTIC,
            statistic=ratio_of('answers_right', 'answers_read'),
            counts=('answers_right', 'answers_read')),
    Measure('optimality', 'actions carried out over those of the shortest plan, solved episodes',
            MEAN, False),
)
"""``answers_right`` and ``answers_read`` are columns of the lines, too."""


def episode_measures(line: Mapping[str, Any], solved: bool | None) -> dict[str, float | None]:
    """An episode's values of ``EPISODE_MEASURES`` and their columns.

    Args:
        line: what ``EpisodeScorer`` counted.
        solved: whether the goal held in the true final state; None: the episode is not scored,
            and all values are None.
    """
    counts = line['predicates'].get(AskPurpose.ENUMERATION.value, {}).values()
    optimal = line['optimal_length']
    values: dict[str, float | None] = {
        'solved': float(bool(solved)), 'steps': line['steps'], 'questions': line['questions'],
        'optimality': line['executed'] / optimal if solved and optimal else None,
        'answers_right': sum(c['right'] for c in counts),
        'answers_read': sum(c['asked'] - c['unparsed'] - c['unknown'] for c in counts)}
    return values if solved is not None else dict.fromkeys(values)
