"""What answers and beliefs are worth: compounding errors, and calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightplan.metrics import Reliability, belief_reliability, measures, reliability
from sightplan.metrics.compounding import (
    Needed,
    answers_right,
    check_sizes,
    compounding,
    edges,
    error_free,
    needed,
)
from sightplan.metrics.intervals import Share
from sightplan.report.conditions import of_models
from sightplan.report.results import Group, Line, Results, completed
from sightplan.report.tables.common import (
    GROUP,
    WILSON,
    group_cells,
    row_of,
    share_cells,
    share_columns,
)
from sightplan.report.tables.model import Column, Table

_COMPOUNDING = (
    *GROUP, Column('what', 'what'),
    Column('fewest', 'fewest', 'number', 'answers needed'),
    Column('most', 'most', 'number', 'answers needed'),
    Column('answers', 'mean', 'number', 'answers needed'),
    Column('exact', 'exact', 'count', 'answers needed'),
    *share_columns('success', 'success'), Column('solved', 'solved', 'count'),
    Column('accuracy', 'accuracy of an answer', 'share'),
    Column('independent', 'if errors were independent', 'share'),
    Column('left_out', 'episodes', 'count', 'left out'),
    Column('left_out_solved', 'solved', 'count', 'left out'))


def compounding_table(results: Results) -> Table:
    """Success over the number of answers an episode needs (the paper's figure 16)."""
    found: list[dict[str, Any]] = []
    families: dict[tuple[str, str], list[Group]] = {}
    for group in results.groups:
        if any(line.get('questions') for line in group.scored):
            families.setdefault((group.domain, group.method), []).append(group)
    for groups in families.values():
        lines = {id(group): [completed(line) for line in group.scored] for group in groups}
        alike = {id(group): _asked_alike(group) for group in groups}
        exact = {same: error_free(line for group in groups if alike[id(group)] == same
                                  and not group.failure_probability for line in lines[id(group)])
                 for same in alike.values()}
        sizes = check_sizes(line for each in lines.values() for line in each)
        needs = {key: [(need, bool(measures.solved(line))) for line in own
                       if (need := needed(line, exact[alike[key]], sizes)) is not None]
                 for key, own in lines.items()}
        lower = edges([need.answers for pairs in needs.values() for need, _ in pairs])
        for group in groups:
            found += _compounding_rows(group, lines[id(group)], needs[id(group)], lower)
    return Table('compounding', 'Errors compound: success by the answers an episode needs',
                 _COMPOUNDING, tuple(found), (
        'Answers needed: what a grounder without any error is asked in an episode of the problem '
        'by the same method. "exact" counts the episodes for which an error-free one of the same '
        'problem under the same conditions is among the results; for the others it is estimated '
        'from the enumerations before the first action and the checks of as many actions as the '
        'shortest plan has. Where an episode checked nothing, a check has as many questions as '
        'the mean one of its domain, method and split (of all splits, if none of its split '
        'checked anything). "one '
        'answer": the share of right answers of all purposes, unreadable ones wrong, which is '
        'what a benchmark of single questions measures. "if errors were independent": mean over '
        'the episodes of accuracy to the power of the answers needed; success lies above it where '
        'errors are harmless, mended or come together. "left out", beside "one answer": scored '
        'episodes of which the number is not known, as without a known shortest plan, and how '
        f'many of these were solved. {WILSON} Of "one answer" it takes answers for independent.'))


def _asked_alike(group: Group) -> tuple[Any, ...]:
    """What the number of questions about a problem depends on, besides domain and method."""
    return group.privileged, of_models(group.condition), tuple(
        (name, value) for name, value in group.settings if not name.startswith('prompt'))


def _compounding_rows(group: Group, lines: Sequence[Line],
                      needs: Sequence[tuple[Needed, bool]], lower: Sequence[float],
                      ) -> list[dict[str, Any]]:
    right, asked = answers_right(lines)
    if not asked:
        return []
    cells = {**group_cells(group), 'accuracy': right / asked}
    left_out = len(lines) - len(needs)
    left_out_solved = (sum(bool(measures.solved(line)) for line in lines)
                       - sum(won for _, won in needs))
    rows = [row_of(_COMPOUNDING, {
        **cells, 'what': 'one answer', 'fewest': 1.0, 'most': 1.0, 'answers': 1.0,
        **share_cells('success', Share(right, asked)), 'solved': right,
        'independent': right / asked, 'left_out': left_out,
        'left_out_solved': left_out_solved})]
    for part in compounding(needs, right / asked, lower):
        rows.append(row_of(_COMPOUNDING, {
            **cells, 'what': 'episodes', 'fewest': part.fewest, 'most': part.most,
            'answers': part.mean, 'exact': part.exact, 'solved': part.solved,
            **share_cells('success', Share(part.solved, part.n)),
            'independent': part.independent}))
    return rows


# -------------------------------------------------------------------------------- calibration


_BINS = (
    *GROUP, Column('source', 'probability of'), Column('low', 'from', 'share', 'bin'),
    Column('high', 'to', 'share', 'bin'), Column('n', 'n', 'count'),
    Column('mean_p', 'mean probability', 'share'), Column('frequency', 'share true', 'share'))
_ERRORS = (
    *GROUP, Column('source', 'probability of'),
    Column('ece', 'calibration error', 'share'), Column('ece_low', 'low', 'share'),
    Column('ece_high', 'high', 'share'), Column('n', 'probabilities', 'count'),
    Column('episodes', 'episodes', 'count'),
    Column('inner_ece', 'calibration error', 'share', 'between .05 and .95'),
    Column('inner_n', 'probabilities', 'count', 'between .05 and .95'))

_BELIEFS, _ANSWERS = 'beliefs', 'answers'


def calibration(results: Results) -> list[Table]:
    """Reliability diagrams of beliefs and answers, and their expected calibration errors."""
    bins, errors = [], []
    for group in results.groups:
        for source, found in ((_BELIEFS, belief_reliability(group.scored)),
                              (_ANSWERS, _answer_reliability(group))):
            if found is None or not found.n:
                continue
            cells = {**group_cells(group), 'source': source}
            inner = inner_error(found)
            errors.append(row_of(_ERRORS, {
                **cells, 'ece': found.ece, 'ece_low': found.low, 'ece_high': found.high,
                'n': found.n, 'episodes': found.groups, 'inner_ece': inner[0],
                'inner_n': inner[1]}))
            bins += [row_of(_BINS, {
                **cells, 'low': part.low, 'high': part.high, 'n': part.n,
                'mean_p': part.mean_p if part.n else None,
                'frequency': part.frequency if part.n else None}) for part in found.bins]
    what = ('Beliefs: the probabilities of atoms that a method believed at each step of scored '
            'episodes. Answers: P(yes) of readable answers, against P(yes) + P(no), where the '
            'model gave both and the run logged answers (--answers-log).')
    return [
        Table('calibration', 'Calibration: reliability by bin', _BINS, tuple(bins), (
            f'{what} A bin holds probabilities from its lower edge to below its upper one; '
            'neighbours in time are not independent, so that no interval is given by bin.')),
        Table('calibration_error', 'Calibration: expected error', _ERRORS, tuple(errors), (
            f'{what} Expected calibration error: mean over probabilities of the distance between '
            'mean probability and share of true atoms in their bin. Low and high: 95 % bootstrap '
            'interval over episodes; resampling adds noise, so that it can lie above a very '
            'small error. "between .05 and .95" leaves out the outermost bins, in which nearly '
            'all beliefs lie.'))]


def inner_error(found: Reliability) -> tuple[float | None, int]:
    """Expected calibration error without the outermost bins, and of how many probabilities."""
    inner = [part for part in found.bins[1:-1] if part.n]
    n = sum(part.n for part in inner)
    return (sum(part.n * abs(part.mean_p - part.frequency) for part in inner) / n if n else None,
            n)


def _answer_reliability(group: Group) -> Reliability | None:
    probabilities, truths, episodes = [], [], []
    for number, run in enumerate(group.runs):
        scored = {line['id'] for line in run.lines if measures.scored(line)}
        for entry in run.answers():
            p = yes_probability(entry.get('p_yes'), entry.get('p_no'))
            if (p is None or entry.get('answer') not in ('yes', 'no')
                    or not isinstance(entry.get('truth'), bool)
                    or entry['episode'] not in scored):
                continue
            probabilities.append(p)
            truths.append(entry['truth'])
            episodes.append((number, entry['episode']))
    if not probabilities:
        return None
    return reliability(probabilities, truths, 20, episodes)


def yes_probability(p_yes: object, p_no: object) -> float | None:
    """P(yes) of an answer that is one of both; None if it cannot be told."""
    if not all(isinstance(p, (int, float)) and not isinstance(p, bool) and 0.0 <= p <= 1.0
               for p in (p_yes, p_no)):
        return None
    assert isinstance(p_yes, (int, float)) and isinstance(p_no, (int, float))
    return p_yes / (p_yes + p_no) if p_yes + p_no else None
