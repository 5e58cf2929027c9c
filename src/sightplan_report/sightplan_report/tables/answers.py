"""Tables on the quality of answers and beliefs: compounding errors, and calibration."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import Any

from sightplan.metrics import Reliability, belief_reliability, measures, reliability
from sightplan.metrics.compounding import (
    Needed,
    answers_right,
    check_sizes,
    compounding,
    edges,
    error_free,
    likely_lengths,
    needed,
)
from sightplan.metrics.intervals import fraction_of, fraction_of_counts
from sightplan_report.conditions import of_models
from sightplan_report.grouping import grouped
from sightplan_report.results import Group, Line, Results
from sightplan_report.tables.common import (
    ALL,
    checked_yes_probability,
    fraction_cells,
    group_cells,
)
from sightplan_report.tables.model import Table, make

_BINS = 20
_Needs = Sequence[tuple[Needed, bool, str]]
"""Answers that episodes needed, whether each was solved, and its statistical cluster."""


def compounding_table(results: Results) -> Table:
    """Success over the number of answers an episode needs (the paper's figure 16)."""
    return make('compounding', compounding_rows(results))


def compounding_rows(results: Results) -> Iterator[dict[str, Any]]:
    """The rows of ``compounding_table``, each with its ``rate``, a ``Fraction``, besides."""
    for groups in _asking(results):
        needs = _needed(groups)
        lower = edges([need.answers for pairs in needs for need, *_ in pairs])
        for group, pairs in zip(groups, needs, strict=True):
            yield from _compounding_rows(group, group.scored, pairs, lower)


def _asking(results: Results) -> Iterable[Sequence[Group]]:
    """The groups whose method asks questions, by domain and method."""
    asked = [group for group in results.groups
             if any(line['questions'] for line in group.scored)]
    return grouped(asked, lambda group: (group.domain, group.method)).values()


def _needed(groups: Sequence[Group]) -> list[_Needs]:
    """The answers that the episodes of each group needed; groups of one domain and method."""
    exact = {same: error_free(line for group in alike if not group.failure_probability
                              for line in group.scored)
             for same, alike in grouped(groups, _asked_alike).items()}
    lines = [line for group in groups for line in group.scored]
    sizes, lengths = check_sizes(lines), likely_lengths(lines)
    return [[(need, bool(measures.solved(line)), line['cluster']) for line in group.scored
             if (need := needed(line, exact[_asked_alike(group)], sizes, lengths)) is not None]
            for group in groups]


def compounding_predicted(results: Results) -> Table:
    """Success predicted from the accuracy of single answers beside the observed one.

    A row is over the episodes of a model in one domain, or in all, where the model has several.
    """
    parts: list[_Predicted] = []
    for groups in _asking(results):
        for group, needs in zip(groups, _needed(groups), strict=True):
            right, asked = answers_right(group.scored)
            if asked and needs:
                parts.append(_Predicted(group, right, asked, needs))
    rows = [_predicted_row(group_cells(part.group), [part]) for part in parts]
    by_model = grouped(parts, lambda part: (
        part.group.method, part.group.model, part.group.failure_probability,
        part.group.calibrated))
    for own in by_model.values():
        if 1 < len(own) == len({part.group.domain for part in own}):
            rows.append(_predicted_row({
                **group_cells(own[0].group), 'domain': ALL, 'privileged': None, 'variant': None,
            }, own))
    return make('compounding_predicted', rows)


@dataclasses.dataclass(frozen=True)
class _Predicted:
    """Episodes of a group whose number of needed answers is known.

    Attributes:
        group: the group.
        right: number of right answers in all its scored episodes.
        asked: number of answers in these.
        needs: see ``_Needs``.
    """

    group: Group
    right: int
    asked: int
    needs: _Needs

    @property
    def chances(self) -> list[float]:
        """Each episode's chance of success if each answer were right independently."""
        return [(self.right / self.asked) ** need.answers for need, *_ in self.needs]


def _predicted_row(cells: dict[str, Any], parts: Sequence[_Predicted]) -> dict[str, Any]:
    needs = [one for part in parts for one in part.needs]
    predicted = fmean(chance for part in parts for chance in part.chances)
    found = fraction_of([solved for _, solved, _ in needs], [cluster for *_, cluster in needs])
    right, asked = (sum(getattr(part, name) for part in parts) for name in ('right', 'asked'))
    return {**cells, 'accuracy': right / asked, 'asked': asked,
            'answers': fmean(need.answers for need, *_ in needs), 'predicted': predicted,
            **fraction_cells('success', found), 'difference': (found.rate or 0.0) - predicted,
            'exact': sum(need.exact for need, *_ in needs),
            'left_out': sum(len(part.group.scored) for part in parts) - len(needs)}


def _asked_alike(group: Group) -> tuple[Any, ...]:
    """Conditions, besides domain and method, on which the number of questions depends."""
    return group.privileged, of_models(group.condition), tuple(
        (name, value) for name, value in group.settings if not name.startswith('prompt'))


def _compounding_rows(group: Group, lines: Sequence[Line], needs: _Needs,
                      lower: Sequence[float]) -> Iterator[dict[str, Any]]:
    answers = fraction_of_counts((line['cluster'], *answers_right([line])) for line in lines)
    right, asked = answers.successes, answers.n
    if not asked:
        return
    cells = {**group_cells(group), 'accuracy': right / asked}
    solved = sum(bool(measures.solved(line)) for line in lines)
    yield {**cells, 'what': 'one answer', **dict.fromkeys(('fewest', 'most', 'answers'), 1.0),
           'rate': answers, **fraction_cells('success', answers), 'solved': right,
           'independent': right / asked, 'left_out': len(lines) - len(needs),
           'left_out_solved': solved - sum(won for _, won, _ in needs)}
    for part in compounding(needs, right / asked, lower):
        yield {**cells, 'what': 'episodes', 'fewest': part.fewest, 'most': part.most,
               'answers': part.mean, 'exact': part.exact, 'independent': part.independent,
               'rate': part.success, **fraction_cells('success', part.success),
               'solved': part.success.successes}


def calibration(results: Results) -> list[Table]:
    """Reliability diagrams of beliefs and answers, and their expected calibration errors."""
    bins, errors = [], []
    for group in results.groups:
        for source, found in (('beliefs', belief_reliability(group.scored)),
                              ('answers', _answer_reliability(group))):
            if found is None or not found.n:
                continue
            cells = {**group_cells(group), 'source': source}
            inner_ece, inner_n = inner_error(found)
            errors.append({
                **cells, 'ece': found.ece, 'ece_low': found.low, 'ece_high': found.high,
                'n': found.n, 'clusters': found.groups, 'inner_ece': inner_ece,
                'inner_n': inner_n})
            bins += [{**cells, **dataclasses.asdict(part),
                      **({} if part.n else {'mean_p': None, 'frequency': None})}
                     for part in found.bins]
    return [make('calibration', bins), make('calibration_error', errors)]


def inner_error(found: Reliability) -> tuple[float | None, int]:
    """Expected calibration error without the outermost bins, and its number of probabilities."""
    inner = [part for part in found.bins[1:-1] if part.n]
    n = sum(part.n for part in inner)
    return (sum(part.n * abs(part.mean_p - part.frequency) for part in inner) / n if n else None,
            n)


def _answer_reliability(group: Group) -> Reliability | None:
    found = []
    for run in group.runs:
        cluster_of = {line['id']: line['cluster'] for line in run.lines if measures.scored(line)}
        for entry in run.answers():
            p = checked_yes_probability(entry.get('p_yes'), entry.get('p_no'))
            if (p is not None and not entry.get('bounded') and entry.get('answer') in ('yes', 'no')
                    and isinstance(entry.get('truth'), bool) and entry['episode'] in cluster_of):
                found.append((p, entry['truth'], cluster_of[entry['episode']]))
    if not found:
        return None
    probabilities, truths, clusters = zip(*found, strict=True)
    return reliability(probabilities, truths, _BINS, clusters)
