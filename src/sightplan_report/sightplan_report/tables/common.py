"""Parts that several tables share: cells that name a group of runs, and published numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.intervals import Fraction
from sightplan.model.answer import yes_probability
from sightplan.runs.rules import RULES, of_suite
from sightplan_report.conditions import kind_fits, protocol_of
from sightplan_report.results import Group, Line, Results

ALL = 'all'
"""Text in place of a split or domain that stands for all of them."""


def group_cells(group: Group) -> dict[str, Any]:
    """The cells of the columns that name a group."""
    return {'domain': group.domain, 'method': group.method, 'backend': group.backend or None,
            'model': group.model or None, 'failure_probability': group.failure_probability,
            'privileged': group.privileged or None, 'calibrated': group.calibrated,
            'variant': group.variant or None}


def fraction_cells(key: str, fraction: Fraction) -> dict[str, Any]:
    """The cells of a rate: value, standard error, interval, and number of trials."""
    return {key: fraction.rate, f'{key}_sem': fraction.sem, f'{key}_low': fraction.low,
            f'{key}_high': fraction.high, f'{key}_n': fraction.n}


def unscored(lines: Iterable[Line]) -> int:
    """Number of episodes that are not scored."""
    return sum(not measures.scored(line) for line in lines)


def parts_of(group: Group, splits: Sequence[str]) -> list[tuple[str, Sequence[Line]]]:
    """The items of each split, and of all if there are several."""
    parts = [(split, group.by_split[split]) for split in splits if split in group.splits]
    return parts if len(parts) < 2 else [*parts, (ALL, group.lines)]


def groups_by_split(results: Results) -> Iterator[tuple[Group, str]]:
    """Every group with each of its splits, in the order of suites."""
    for group in results.groups:
        for split in results.splits:
            if split in group.splits:
                yield group, split


def published(group: Group, split: str, measure: str = 'solved',
              ) -> tuple[float | None, float | None, str | None]:
    """The paper's number for a group's model, its standard error and where it stands.

    All None where there is none, or where ``unlike_published`` or ``unlike_model`` says why it is
    another thing.
    """
    suite = group.suite_with(split)
    found = suite.published.find(
        group.model, measure, domain=group.domain, method=group.method, split=split,
        failure_probability=group.failure_probability) if suite and group.model else None
    if found is None or unlike_published(group, split) or unlike_model(group, split):
        return None, None, None
    return found.value, found.sem, found.source


def unlike_published(group: Group, split: str) -> str:
    """Differences of a split's episodes from the rules of their suite, in words; '' for none."""
    if group.suite_with(split) is None:
        return 'no split of a suite'
    found: list[str] = []
    for run in (run for run in group.runs if split in run.splits and not run.imported):
        if run.problems is None:
            found.append('problems not known')
        elif run.problems:
            found.append('not the shipped problems')
    found += unlike_rules(group, split)
    if not kind_fits(group.exact_model, group.method, group.domain):
        found.append('rates of answers that were asked for otherwise')
    return ', '.join(dict.fromkeys(found))



def unlike_rules(group: Group, split: str) -> list[str]:
    """Rules of a split's episodes that differ from their suite's, with both values."""
    suite, found = group.suite_with(split), []
    for run in (run for run in group.runs if split in run.splits):
        for rule in RULES:
            value, wanted = (run.rules[rule].get(split),
                             of_suite(rule, suite, group.domain, group.method, split,
                                      protocol_of(run.identity)))
            if value != wanted:
                said = 'not known' if value is None else value
                found.append(f'{rule} {said} instead of {wanted}')
    return found


def unlike_model(group: Group, split: str) -> str:
    """Difference of a group's model from the published one of its name; '' if there is none."""
    suite = group.suite_with(split)
    if suite is None or not group.model:
        return ''
    if bits := re.search(r'@.* (8bit|4bit)\b', group.exact_model):
        return f'weights quantised to {bits[1]}'
    named = None if suite.published.model_name(group.model) else (
        suite.published.model_with_other_weights(group.model))
    return f'{group.model} is another model than {named}' if named else ''


def checked_yes_probability(p_yes: object, p_no: object) -> float | None:
    """``yes_probability`` of what a line of a file has; None where that is no probability."""
    pair = [float(p) for p in (p_yes, p_no)
            if isinstance(p, (int, float)) and not isinstance(p, bool) and 0.0 <= p <= 1.0]
    return yes_probability(*pair) if len(pair) == 2 else None
