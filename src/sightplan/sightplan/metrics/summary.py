"""Scores of a run from the lines of its episodes."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sightplan.metrics.calibration import Reliability, reliability_of_sums
from sightplan.metrics.failures import Cause, called_off, cause_of, without_truth
from sightplan.metrics.intervals import mean_sem, sem
from sightplan.metrics.judgements import CHECKS, CUT_REPLY
from sightplan.metrics.measures import (
    known_mean,
    known_sum,
    numbered,
    scored,
    solved,
    solved_of,
)
from sightplan.metrics.scorer import COUNTS
from sightplan.model import AskPurpose, Usage, Verdict

_STEPS = ('steps', 'executed', 'rejected', 'withheld', 'withheld_true_positive', 'invalid')

_Lines = Sequence[Mapping[str, Any]]


def summarise_episodes(lines: _Lines) -> dict[str, Any]:
    """Score a run of episodes.

    Success is counted over scored episodes only: those that ended in an infrastructure error
    (``errors``), were cancelled, or had no ground truth say nothing about the method. Answers are
    counted over scored episodes, too.

    Args:
        lines: results of ``EpisodeScorer``, one per episode, of one method and one model.

    Returns:
        plain JSON data:

        * ``episodes`` (all), ``scored``, ``solved``, ``errors``, ``cancelled``, and where there
          was no truth ``without_truth``;
        * ``success_rate`` (None without a scored episode), ``interval95``, ``sem``;
        * ``predicate_accuracy``: by the paper's rule over enumeration questions: ``overall``
          (micro), ``macro``, ``sem``, ``per_predicate``; unreadable and unknown answers are
          left out here, and counted as wrong in ``overall_unparsed_wrong``; ``all_questions`` is
          over all purposes;
        * ``predicates``: purpose to predicate to counts and accuracy split by truth;
        * ``enumerations``: how many, how many without any error, mean accuracy of the first one;
        * ``executable``: fraction of the actions that were decided on and not withheld
          which the world carried out (None without any); ``actions``, ``checks``;
        * ``proposals`` of a model that plans, by status, and ``repaired``; ``cut_off``, where
          there are any: see ``cut_replies``; ``prompts`` that were
          used, and how often; ``usage`` of models over all episodes, None where nobody counted;
        * ``failures``: ``episodes`` that failed (not solved, or errors), ``causes``, the count of
          each (see ``metrics.failures``), and ``fractions`` of the failed episodes;
        * ``plans``; ``questions``, ``questions_per_episode``, ``unparsed``, ``unknown``;
          ``observations``;
          ``privileged_facts``, the number of privileged facts that were granted
          with them, and ``privileged_facts_per_episode``;
        * ``belief_reliability`` (None without probabilities): ``ece`` (expected calibration error)
          and ``interval95`` of the probabilities believed at each step, ``n`` of them;
        * ``stops``: how often each reason ended an episode;
        * ``seconds`` (sum), ``seconds_per_episode`` (these, and numbers of questions, observations
          and facts, are None where a line does not tell them, as of imported results),
          ``stage_seconds`` (sums per stage);
        * ``splits``: success per split when there are several, and ``mean_of_splits``.
    """
    known = [line for line in lines if scored(line)]
    cancelled = sum(map(called_off, lines))
    without = sum(map(without_truth, lines))
    summary: dict[str, Any] = {
        'episodes': len(lines), 'scored': len(known), **_success(known),
        'errors': len(lines) - len(known) - cancelled - without, 'cancelled': cancelled,
        **({'without_truth': without} if without else {}),
    }
    return {**summary, **_answers_and_actions(known, lines), **_effort(known, lines),
            **_split_success(known, lines)}


def _answers_and_actions(known: _Lines, lines: _Lines) -> dict[str, Any]:
    """Return the summary's fields on answers, actions and errors; see ``summarise_episodes``."""
    predicates = _predicates(known)
    steps = {key: sum(line[key] for line in known) for key in _STEPS}
    return {
        'predicate_accuracy': _accuracy(predicates), 'predicates': predicates,
        'enumerations': {
            'count': sum(len(line['enumerations']) for line in known),
            'exact': sum(sum(line['enumerations']) for line in known),
            'first_exact': sum(bool(line['enumerations']) and bool(line['enumerations'][0])
                               for line in known)},
        'actions': steps,
        'executable': _ratio(steps['executed'],
                             steps['executed'] + steps['rejected'] + steps['invalid']),
        'proposals': _sums(line['proposals'] for line in known),
        'repaired': sum(line['repaired'] for line in known), **_cut_off(known),
        'prompts': _sums(line['prompts'] for line in lines), 'usage': _usage(lines),
        'failures': failure_counts(lines),
        'checks': {
            purpose: {kind: sum(line['checks'].get(purpose, {}).get(kind, 0) for line in known)
                      for kind in CHECKS}
            for purpose in (AskPurpose.PRECONDITION.value, AskPurpose.EFFECT.value)
            if any(purpose in line['checks'] for line in known)},
        'plans': _plans(known), 'questions': known_sum(line['questions'] for line in lines),
        'questions_per_episode': known_mean(line['questions'] for line in known),
        **{key: sum(counts[key] for table in predicates.values() for counts in table.values())
           for key in ('unparsed', 'unknown')}}


def _effort(known: _Lines, lines: _Lines) -> dict[str, Any]:
    """Return the summary's fields on observations, beliefs, ends of episodes and durations."""
    believed = belief_reliability(known)
    stages = dict.fromkeys(stage for line in lines for stage in line['timings_s'])
    return {
        'observations': known_sum(line['observations'] for line in lines),
        'privileged_facts': known_sum(line['privileged_facts'] for line in lines),
        'privileged_facts_per_episode': known_mean(
            line['privileged_facts'] for line in known),
        'belief_reliability': None if believed is None else {
            'ece': believed.ece, 'interval95': [believed.low, believed.high], 'n': believed.n},
        'stops': dict(sorted(Counter(line['stop'] for line in lines).items())),
        'seconds': known_sum(line['seconds'] for line in lines),
        'seconds_per_episode': known_mean(line['seconds'] for line in lines),
        'stage_seconds': {stage: sum(line['timings_s'].get(stage, 0.0) for line in lines)
                          for stage in stages}}


def _split_success(known: _Lines, lines: _Lines) -> dict[str, Any]:
    """Success of each split and their mean; nothing where there is one split only."""
    splits = dict.fromkeys(line['split'] for line in lines)
    if len(splits) < 2:
        return {}
    each = {split: _success([line for line in known if line['split'] == split])
            for split in splits}
    rated = [s for s in each.values() if s['success_rate'] is not None]
    return {'splits': each, 'mean_of_splits': {
        'success_rate': _mean(s['success_rate'] for s in rated),
        'sem': mean_sem([s['sem'] for s in rated])}}


def failure_counts(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Count how often each cause made an episode fail.

    Returns:
        ``episodes``: number of failed episodes; ``causes``: cause to count, in the order of
        ``Cause``, without those that never occurred; ``fractions``: cause to fraction of the
        failed episodes.
    """
    found = Counter(cause for line in lines if (cause := cause_of(line)) is not None)
    order = [cause.value for cause in Cause]
    order += sorted(found.keys() - set(order))
    counts = {cause: found[cause] for cause in order if found[cause]}
    failed = found.total()
    return {'episodes': failed, 'causes': counts,
            'fractions': {cause: count / failed for cause, count in counts.items()}}


def cut_replies(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Count the replies that ran into their limit of tokens.

    Returns:
        ``replies``: number of answers and proposals; ``cut``: of these, those that were cut off;
        ``unreadable``: of these, those of which nothing could be read; ``limits``: the limits of
        tokens that they ran into, in ascending order.
    """
    held = list(lines)
    cut = [dict(zip(CUT_REPLY, entry, strict=True)) for line in held
           for entry in line.get('cut_off', ())]
    return {'replies': sum((line['questions'] or 0) + sum((line['proposals'] or {}).values())
                           for line in held),
            'cut': len(cut),
            'unreadable': sum(entry['answer'] == Verdict.UNPARSED.value for entry in cut),
            'limits': sorted({entry['tokens'] for entry in cut})}


def _cut_off(known: _Lines) -> dict[str, Any]:
    found = cut_replies(known)
    return {'cut_off': found} if found['cut'] else {}


def belief_reliability(lines: Iterable[Mapping[str, Any]], resamples: int = 1000,
                       inner: bool = False) -> Reliability | None:
    """Whether the atoms that were believed with probability p are true in a fraction p.

    Args:
        lines: results of ``EpisodeScorer``; those of a cluster are one group in the bootstrap.
        resamples: number of resamples of the bootstrap.
        inner: leave out the first and the last bin, in which nearly all lie.

    Returns:
        the comparison, None if no episode has probabilities.
    """
    held = [line for line in lines if line.get('beliefs')]
    if not held:
        return None
    index, count = numbered(line['cluster'] for line in held)
    sums = np.array([line['beliefs'] for line in held], np.float64)
    array = np.zeros((sums.shape[2], count, sums.shape[1]))
    for layer, values in zip(array, np.moveaxis(sums, 2, 0), strict=True):
        np.add.at(layer, index, values)
    if inner:
        array[:, :, [0, -1]] = 0.0
    return reliability_of_sums(array, resamples)


def _success(known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found = solved_of(known)
    return {'solved': found.successes, 'success_rate': found.rate,
            'interval95': list(found.interval), 'sem': found.sem}


def _predicates(lines: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Sums of the counts, purpose to predicate, with accuracies."""
    sums: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for line in lines:
        for purpose, table in line['predicates'].items():
            for predicate, counts in table.items():
                sums[purpose][predicate].update(counts)
    return {purpose: {predicate: {**counts, **_accuracies(counts)}
                      for predicate, counts in sorted(table.items())}
            for purpose, table in sorted(sums.items())}


def _accuracies(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Accuracy of answers of yes or no; in the split by truth, all others count as wrong."""
    return {
        'accuracy': _ratio(counts['right'], _read(counts)),
        'yes_accuracy': _ratio(counts['yes_right'], counts['yes_asked']),
        'no_accuracy': _ratio(counts['no_right'], counts['no_asked']),
    }


def _read(counts: Mapping[str, int]) -> int:
    """Return the number of answers that say yes or no."""
    return counts['asked'] - counts['unparsed'] - counts['unknown']


def _accuracy(predicates: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, Any]:
    enumerated = predicates.get(AskPurpose.ENUMERATION.value, {})
    total = {key: sum(c[key] for c in enumerated.values()) for key in COUNTS}
    every = {key: sum(c[key] for table in predicates.values() for c in table.values())
             for key in COUNTS}
    per_predicate = {name: counts['accuracy'] for name, counts in enumerated.items()}
    known = [value for value in per_predicate.values() if value is not None]
    accuracies = _accuracies(total)
    overall = accuracies['accuracy']
    return {
        'overall': overall,
        'per_predicate': per_predicate,
        'macro': _mean(known),
        'sem': sem(overall, _read(total)) if overall is not None else None,
        'overall_unparsed_wrong': _ratio(total['right'], total['asked']),
        'yes': accuracies['yes_accuracy'],
        'no': accuracies['no_accuracy'],
        'all_questions': _accuracies(every)['accuracy'],
    }


def _plans(known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    plans = [plan for line in known for plan in line['plans']]
    ratios = [line['executed'] / line['optimal_length'] for line in known
              if solved(line) and line['optimal_length']]
    return {
        'asked': len(plans),
        'solved': sum(plan['status'] == 'solved' for plan in plans),
        'never_planned': sum(not any(p['status'] == 'solved' for p in line['plans'])
                             for line in known if line['plans']),
        'actions_per_solved': _mean(line['executed'] for line in known if solved(line)),
        'length_ratio': {'mean': _mean(ratios), 'max': max(ratios, default=None)},
    }


def _usage(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    used = [Usage(**line['usage']) for line in lines if line.get('usage')]
    return dataclasses.asdict(sum(used, Usage())) if used else None


def _sums(tables: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts, key by key."""
    sums: Counter[str] = Counter()
    for table in tables:
        sums.update(table)
    return dict(sorted(sums.items()))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
