"""Measures of yes/no answers.

An unreadable reply counts as wrong in the accuracies. Probabilities are P(yes) over P(yes) +
P(no), as far as the backend gives both; without them ``brier`` and ``calibration_error`` are not
scored. A picture's questions are not independent: intervals heed which picture each is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sightplan.metrics.measures import (
    FRACTION,
    SHARE,
    STATISTIC,
    Columns,
    Floats,
    Measure,
    grouped,
    mean_of,
    ratio,
)
from sightplan.model.sample import Sample, SampleReply
from sightplan.runs.suite_parts import Scored

BINS = 10
"""Number of equally wide bins of the calibration error."""

UNREAD, MISSED, IMAGINED = 'unread', 'false_negative', 'false_positive'
"""Causes: no valid answer; "no" about a true atom; "yes" about a false one."""


def _balanced(columns: Columns, weights: Floats) -> Floats:
    sides = [mean_of(side)(columns, weights) for side in ('sensitivity', 'specificity')]
    return np.asarray(sum(sides) / 2.0)


def _calibration_error(columns: Columns, weights: Floats) -> Floats:
    """Expected calibration error (Naeini, Cooper and Hauskrecht 2015).

    A bin's part is the number of its probabilities times |mean probability - fraction true|: the
    sum over them of probability minus truth.
    """
    probability = columns['probability']
    known = ~np.isnan(probability)
    p, truth = probability[known], ~np.isnan(columns['sensitivity'][known])
    bins = np.minimum((p * BINS).astype(np.intp), BINS - 1)
    excess = np.zeros((len(p), BINS))
    excess[np.arange(len(p)), bins] = p - truth
    weights = weights[:, known]
    return ratio(np.abs(weights @ excess).sum(axis=1), weights.sum(axis=1))


MEASURES = (
    Measure('accuracy', 'fraction of right answers', FRACTION, primary=True,
            bounded_by='balanced_accuracy'),
    Measure('balanced_accuracy', 'mean of the accuracies on atoms that hold and that do not',
            STATISTIC, statistic=_balanced, halves=('sensitivity', 'specificity')),
    Measure('sensitivity', 'accuracy on atoms that hold', FRACTION, bounded_by='specificity'),
    Measure('specificity', 'accuracy on atoms that do not hold', FRACTION,
            bounded_by='sensitivity'),
    Measure('brier', 'mean squared error of P(yes)', SHARE, higher_is_better=False),
    Measure('calibration_error', f'expected calibration error of P(yes), {BINS} bins', STATISTIC,
            higher_is_better=False, statistic=_calibration_error,
            needs=('probability',), bounded_by='balanced_accuracy'),
    Measure('unread', 'fraction of replies that are neither yes nor no', FRACTION,
            higher_is_better=False),
)


def score(item: Sample, answer: str | None, truth: bool, reply: SampleReply) -> Scored:
    """Score one sample's answer.

    Args:
        item: the sample.
        answer: what ``read`` gave; None: unread.
        truth: whether its atom holds.
        reply: with the probabilities, if there are any.
    """
    right = float(answer is not None and (answer == 'yes') == truth)
    probability = reply.yes_probability
    cause = (UNREAD if answer is None else None if right else MISSED if truth else IMAGINED)
    return Scored({
        'accuracy': right, 'sensitivity': right if truth else None,
        'specificity': None if truth else right, 'probability': probability,
        'brier': None if probability is None else (probability - truth) ** 2,
        'unread': float(answer is None)}, cause)


def summarise(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The measures by part of the run.

    Returns:
        ``by_domain``, ``by_split`` and ``by_predicate`` (keys such as ``blocksworld.on``): name
        to measures, each with ``value``, ``interval95`` (over pictures), ``n``, ``clusters``; and
        ``bounded``, where some answers have a probability that is only bounded: their number
        ``n``, and ``width``, the mean over all answers with probabilities of the width of the
        interval that P(yes) lies in (0 for exact ones). The bound is what is scored, so that
        ``calibration_error`` is off by at most ``width``, and ``brier`` by at most twice that.
    """
    widths = [_width(line['measures']['probability']) if line.get('bounded') else 0.0
              for line in lines if line['measures'].get('probability') is not None]
    bounded = sum(bool(line.get('bounded')) for line in lines)
    return {**({'bounded': {'n': bounded, 'width': sum(widths) / len(widths)}}
               if bounded and widths else {}),
            'by_domain': grouped(lines, lambda line: line['domain'], MEASURES),
            'by_split': grouped(lines, lambda line: line['split'], MEASURES),
            'by_predicate': grouped(lines, predicate_of, MEASURES)}


def _width(probability: float) -> float:
    """Width of the interval that a bounded P(yes) lies in, from it to 0 or 1."""
    return min(probability, 1.0 - probability)


def predicate_of(line: Mapping[str, Any]) -> str:
    """Domain and predicate of a line: ``blocksworld.on``."""
    return f'{line["domain"]}.{line["details"]["predicate"]}'
