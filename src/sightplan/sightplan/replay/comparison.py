"""Recorded answers beside those of another model: accuracy, agreement, paired tests."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.metrics.agreement import cohens_kappa
from sightplan.metrics.intervals import fraction_of
from sightplan.metrics.paired import holm, mcnemar_exact, paired_bootstrap
from sightplan.model import Verdict

OVERALL = 'all'
"""Name of the row about all predicates."""

NOTE = ("An answer that is unreadable or unknown counts as wrong. Intervals of accuracies are "
        "95 %, with the answers of an episode as a statistical cluster. "
        "McNemar's exact test takes questions for independent, which those of one episode are "
        'not: read the interval of the difference beside it, a bootstrap over whole episodes. '
        'The p-values of predicates are given as they are, and adjusted by Holm for their number.')


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and two answers to it.

    Attributes:
        group: the episode, in any run; pairs of one group are not independent.
        predicate: predicate of the atom.
        purpose: purpose of the question.
        recorded: the first answer.
        new: the second answer; None if there is no second model.
        truth: whether the atom held; None: nobody knows.
    """

    group: str
    predicate: str
    purpose: str
    recorded: Verdict
    new: Verdict | None
    truth: bool | None


def answers_of(verdicts: Sequence[Verdict], truths: Sequence[bool],
               groups: Sequence[str] | None = None) -> dict[str, Any]:
    """Score (N,) answers by (N,) truths.

    ``groups``, (N,), names each answer's group; None makes each answer a group of its own.

    Returns:
        plain JSON data: ``n``, ``right``, ``accuracy``, ``interval95`` (the answers of a group
        are a cluster: see ``metrics.intervals``), ``true_positive_rate``
        ("yes" among true atoms), ``false_positive_rate`` ("yes" among false ones),
        ``balanced_accuracy`` (mean of the fractions of right answers about true and about false
        atoms), ``unparsed``, ``unknown``; None where there is nothing to divide by.
    """
    given, truth = np.array([verdict.value for verdict in verdicts], str), np.array(truths, bool)
    yes, no = given == Verdict.YES.value, given == Verdict.NO.value
    correct = np.where(truth, yes, no)
    n, right = len(verdicts), int(correct.sum())
    positive, negative = _fraction(yes[truth]), _fraction(no[~truth])
    return {
        'n': n, 'right': right, 'accuracy': _fraction(correct),
        'interval95': _interval95(correct, groups),
        'balanced_accuracy': (None if positive is None or negative is None
                              else (positive + negative) / 2.0),
        'true_positive_rate': positive, 'false_positive_rate': _fraction(yes[~truth]),
        **{verdict.value: int((given == verdict.value).sum())
           for verdict in (Verdict.UNPARSED, Verdict.UNKNOWN)}}


def agreement(first: Sequence[Verdict], second: Sequence[Verdict],
              groups: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure how often two models give the same answer, where both say yes or no.

    ``groups`` are those of ``answers_of``.

    Returns:
        plain JSON data: ``questions``, ``readable`` (yes or no by both), ``same``, ``fraction``
        and its ``interval95``, ``kappa`` (see ``cohens_kappa``), ``yes_recorded`` and ``yes_new``
        (fractions of "yes" among the yes and no of each), ``unparsed_recorded``,
        ``unparsed_new``, ``unknown_recorded`` and ``unknown_new``.
    """
    said = [None not in (a.says, b.says) for a, b in zip(first, second, strict=True)]
    both = list(compress(zip(first, second, strict=True), said))
    alike = [a is b for a, b in both]
    n, same = len(both), sum(alike)
    return {'questions': len(first), 'readable': n, 'same': same,
            'fraction': same / n if n else None,
            'interval95': _interval95(alike, None if groups is None
                                      else list(compress(groups, said))),
            'kappa': cohens_kappa(both),
            'yes_recorded': _yes_fraction(first), 'yes_new': _yes_fraction(second),
            **{f'{verdict.value}_{side}': sum(v is verdict for v in verdicts)
               for verdict in (Verdict.UNPARSED, Verdict.UNKNOWN)
               for side, verdicts in (('recorded', first), ('new', second))}}


def compare(pairs: Sequence[Pair], resamples: int = 2000, seed: int = 0) -> dict[str, Any]:
    """Compare two models' answers to the same questions, by predicate and over all.

    Args:
        pairs: the questions; without a second answer only the first ones are scored.
        resamples: number of resamples of the bootstrap over groups.
        seed: seed of the bootstrap.

    Returns:
        plain JSON data: ``questions``, ``groups``, ``with_truth``, ``coverage`` (its fraction),
        ``overall`` and ``predicates`` (name to row). A row has ``questions``, ``recorded`` and
        ``new`` (see ``answers_of``; None without any truth), ``paired`` (``only_recorded`` and
        ``only_new``: questions that only one answers correctly, ``mcnemar_p``, ``mcnemar_p_holm``
        in rows of predicates, and ``difference``: accuracy of the new answers minus that of the
        recorded ones, with ``low``, ``high``, ``n`` and ``groups``), and ``agreement``. ``new``,
        ``paired`` and ``agreement`` are None without a second model.
    """
    names = sorted({pair.predicate for pair in pairs})
    predicates = {name: _row([pair for pair in pairs if pair.predicate == name], resamples, seed)
                  for name in names}
    tested = [row['paired'] for row in predicates.values() if row['paired'] is not None]
    for paired, adjusted in zip(tested, holm([paired['mcnemar_p'] for paired in tested]),
                                strict=True):
        paired['mcnemar_p_holm'] = adjusted
    return {'questions': len(pairs), 'groups': len({pair.group for pair in pairs}),
            'with_truth': sum(pair.truth is not None for pair in pairs),
            'coverage': _fraction([pair.truth is not None for pair in pairs]),
            'overall': _row(pairs, resamples, seed), 'predicates': predicates}


def _row(pairs: Sequence[Pair], resamples: int, seed: int) -> dict[str, Any]:
    known = [(pair, pair.truth) for pair in pairs if pair.truth is not None]
    truths = [truth for _, truth in known]
    second = [(pair, pair.new) for pair in pairs if pair.new is not None]
    row: dict[str, Any] = {
        'questions': len(pairs), 'new': None, 'paired': None, 'agreement': None,
        'recorded': answers_of([pair.recorded for pair, _ in known], truths,
                               [pair.group for pair, _ in known]) if known else None}
    if not second:
        return row
    row['agreement'] = agreement([pair.recorded for pair, _ in second],
                                 [new for _, new in second], [pair.group for pair, _ in second])
    judged = [(pair, new, pair.truth) for pair, new in second if pair.truth is not None]
    if judged:
        row['new'] = answers_of([new for _, new, _ in judged], [truth for *_, truth in judged],
                                [pair.group for pair, *_ in judged])
        first = [is_right(pair.recorded, truth) for pair, _, truth in judged]
        other = [is_right(new, truth) for _, new, truth in judged]
        only_first = sum(a and not b for a, b in zip(first, other, strict=True))
        only_other = sum(b and not a for a, b in zip(first, other, strict=True))
        difference = paired_bootstrap([float(b) for b in other], [float(a) for a in first],
                                      [pair.group for pair, *_ in judged], resamples, seed)
        row['paired'] = {
            'only_recorded': only_first, 'only_new': only_other,
            'mcnemar_p': mcnemar_exact(only_first, only_other),
            'difference': dataclasses.asdict(difference)}
    return row


def _interval95(values: Sequence[Any] | NDArray[np.bool_], groups: Sequence[str] | None,
                ) -> list[float]:
    return list(fraction_of(values, range(len(values)) if groups is None else groups).interval)


def is_right(verdict: Verdict, truth: bool) -> bool:
    """Whether an answer says what is true."""
    return verdict.says is truth


def flat_rows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A comparison as the rows of a table: ``predicate`` and plain values, all of them last."""
    rows = []
    for name, row in [*result['predicates'].items(), (OVERALL, result['overall'])]:
        flat: dict[str, Any] = {'predicate': name, 'questions': row['questions']}
        for side in ('recorded', 'new'):
            if row[side] is not None:
                values = {**row[side]}
                flat[f'{side}_low'], flat[f'{side}_high'] = values.pop('interval95')
                flat |= {f'{side}_{key}': value for key, value in values.items()}
        if row['paired'] is not None:
            flat |= {key: row['paired'].get(key) for key in (
                'only_recorded', 'only_new', 'mcnemar_p', 'mcnemar_p_holm')}
            flat |= {f'difference_{key}' if key != 'difference' else key: value
                     for key, value in row['paired']['difference'].items()}
        if row['agreement'] is not None:
            flat |= {f'agreement_{key}': row['agreement'][key] for key in (
                'readable', 'same', 'fraction', 'kappa')}
            flat |= {key: row['agreement'][key] for key in ('yes_recorded', 'yes_new')}
        rows.append(flat)
    return rows


def _yes_fraction(verdicts: Sequence[Verdict]) -> float | None:
    return _fraction([v is Verdict.YES for v in verdicts if v.says is not None])


def _fraction(hits: Sequence[bool] | NDArray[np.bool_]) -> float | None:
    return float(np.mean(hits)) if len(hits) else None
