"""Paired comparisons of methods and of models on the same episodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.episodes import EPISODE_MEASURES
from sightplan.metrics.paired import Comparison, compare, holm
from sightplan.runs.rules import RULES, of_suite
from sightplan_report import conditions
from sightplan_report.grouping import grouped
from sightplan_report.labels import disambiguated, word
from sightplan_report.lines import EPISODE
from sightplan_report.results import Group, Line, Results, episode_key, split_of
from sightplan_report.tables.common import ALL, group_cells
from sightplan_report.tables.model import Table, make

_Key = tuple[Any, ...]
_Lines = dict[_Key, Line]
_SOLVED = EPISODE_MEASURES[0]


def paired(results: Results) -> Table:
    """Every pair of groups that differ in one thing alone, see ``difference``."""
    found: list[dict[str, Any]] = []
    scored = [scored_by_split(group) for group in results.groups]
    sides = zip(results.groups, scored, _telling(results.groups), strict=True)
    for (first, own, its), (second, other, others) in itertools.combinations(sides, 2):
        compared = difference(first, second)
        if not compared:
            continue
        rows: dict[str, Comparison | None] = {}
        pairs: list[tuple[_Lines, _Lines]] = []
        for split in (split for split in own if split in other):
            both = (_by_problem(own[split], other[split])
                    if first.imported is not second.imported else
                    (spread(own[split], other[split]), spread(other[split], own[split])))
            row = compare(*both, _SOLVED)
            if row is not None:
                rows[split] = row
                pairs.append(both)
        if len(rows) > 1:
            whole = [{key: line for both in pairs for key, line in both[side].items()}
                     for side in (0, 1)]
            rows[ALL] = compare(whole[0], whole[1], _SOLVED)
        found += [_cells(compared, (first, second), split, row, (its, others))
                  for split, row in rows.items() if row is not None]
    for family in grouped(found, lambda cells: cells['split'] == ALL).values():
        for cells, p in zip(family, holm([cells['p'] for cells in family]), strict=True):
            cells['p_holm'] = p
    return make('paired', found, side=('first', 'second'))


def _telling(groups: Sequence[Group]) -> list[tuple[str, ...]]:
    """Words, besides names and variants, that tell each group from others of its domain."""
    found: dict[int, tuple[str, ...]] = {}
    for places in grouped(range(len(groups)), lambda place: groups[place].domain).values():
        said = disambiguated([group_cells(groups[place]) for place in places])
        found |= {place: tuple(filter(None, (words.get('calibrated'), words.get('privileged'))))
                  for place, words in zip(places, said, strict=True)}
    return [found[place] for place in range(len(groups))]


def difference(first: Group, second: Group) -> str:
    """The one difference between two groups that makes them comparable; '' if there is none.

    One of method, model, variant (settings, calibration, privileged facts) and condition (one
    field). Imported results are comparable with runs of the same method on the authors' problem
    files: they differ in who ran them (``run``) and in conditions, and may differ in the model.
    """
    if (first.domain, first.failure_probability) != (second.domain, second.failure_probability):
        return ''
    if first.imported is not second.imported:
        sides = (second, first) if first.imported else (first, second)
        return '' if _unlike_imported(*sides) else (
            'run' if first.model == second.model else 'model and run')
    same_facts = first.privileged == second.privileged
    apart = conditions.differing(first.condition, second.condition)
    if first.method != second.method:
        # Settings of methods are not comparable, but privileged facts are.
        same = _same_rules(first, second)
        own = (tuple(field for field in group.condition if field[0] not in same)
               for group in (first, second))
        return 'method' if ((same_facts or _as_ruled(first, second))
                            and _model_for_both(first, second)
                            and conditions.for_methods(*own)) else ''
    same_settings = same_facts and (first.settings, first.calibrated) == (second.settings,
                                                                          second.calibrated)
    if (first.backend, first.exact_model) == (second.backend, second.exact_model):
        if apart:
            return 'condition' if same_settings and len(apart) == 1 else ''
        return 'variant'
    if first.backend != second.backend:
        apart = conditions.differing(*map(conditions.of_models,
                                          (first.condition, second.condition)))
    return 'model' if same_settings and not apart else ''


def _as_ruled(*groups: Group) -> bool:
    """Whether all of the groups get the privileged facts that their suite rules for the method."""
    return all(run.ruling_suite is not None and run.rules['privileged'].get(split) == of_suite(
        'privileged', run.ruling_suite, run.domain, run.method, split,
        conditions.protocol_of(run.identity))
        for group in groups for run in group.runs for split in run.splits)


def _unlike_imported(own: Group, imported: Group) -> str:
    """Reason why a group cannot be paired with imported results, in words; '' if it can."""
    if own.method != imported.method:
        return f'its method is {own.method}'
    if any(run.problems == '' for run in own.runs):
        return "it is of the shipped problems (run it with --problems on the authors' files)"
    ours, theirs = ({(split_of(line), line['problem']) for line in group.scored}
                    for group in (own, imported))
    return '' if ours & theirs else (
        f'no problem of it is one of theirs, by split and name ({_example(ours)} here, '
        f'{_example(theirs)} there; put the files into folders that are called like the splits)')


def _example(keys: Iterable[tuple[str, str]]) -> str:
    return ' '.join(min(keys, default=('', 'nothing')))


def unpaired(results: Results) -> list[str]:
    """Sentences about the runs that are paired with none of the imported results beside them.

    A method that was not imported is named only where no run is paired.
    """
    found: list[tuple[bool, str]] = []
    paired_one = False
    groups = results.of_kind(EPISODE).groups
    for own in (group for group in groups if not group.imported):
        theirs = [group for group in groups if group.imported and (
            group.domain, group.failure_probability) == (own.domain, own.failure_probability)]
        alike = [group for group in theirs if group.method == own.method]
        why = [_unlike_imported(own, group) for group in alike or theirs]
        paired_one |= '' in why
        if why and '' not in why:
            text = f'{own.runs[0].folder}: is not paired with imported results: {why[0]}'
            found.append((bool(alike), text))
    return [sentence for same_method, sentence in found if same_method or not paired_one]


def _model_for_both(first: Group, second: Group) -> bool:
    """Whether methods have the same model, or one of them none."""
    return not first.model or not second.model or (
        first.backend == second.backend and conditions.without_kind(first.exact_model)
        == conditions.without_kind(second.exact_model))


def _same_rules(first: Group, second: Group) -> list[str]:
    """Rules that are the same for both, whether a suite's or not."""
    def rules(group: Group, name: str) -> dict[str, Any]:
        return {split: value for run in group.runs for split, value in run.rules[name].items()}

    return [name for name in RULES if all(
        value == rules(second, name).get(split, value)
        for split, value in rules(first, name).items())]


def scored_by_split(group: Group) -> dict[str, _Lines]:
    """Scored items of a group by split, by what makes an item the same in several runs."""
    found: dict[str, _Lines] = {}
    for run in group.runs:
        for line in run.lines:
            if measures.scored(line):
                found.setdefault(split_of(line), {})[episode_key(run, line)] = line
    return found


def spread(own: _Lines, other: _Lines) -> _Lines:
    """Items; those without a backend seed count for each such seed of the other group."""
    return own | {key: own[base] for key in other
                  if key not in own and (base := (*key[:-1], None)) in own}


def _by_problem(own: _Lines, other: _Lines) -> tuple[_Lines, _Lines]:
    """Lines of the same problem on both sides, in all combinations of their trials."""
    sides: tuple[_Lines, _Lines] = {}, {}
    theirs = grouped(other.values(), lambda line: line['problem'])
    for number, line in enumerate(own.values()):
        for trial, one in enumerate(theirs.get(line['problem'], ())):
            key = line['problem'], number, trial
            sides[0][key], sides[1][key] = line, one
    return sides


def _cells(compared: str, groups: tuple[Group, Group], split: str, found: Comparison,
           telling: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    first, second = groups
    apart = (conditions.differing(first.condition, second.condition)
             if compared == 'condition' else ())
    cells: dict[str, Any] = {
        'compared': compared, 'domain': first.domain,
        'failure_probability': first.failure_probability, 'split': split, 'n': found.n,
        'problems': found.clusters,
        **dict(zip(('both', 'only_first', 'only_second', 'neither'), found.counts or (),
                   strict=True)),
        'first_success': found.first, 'second_success': found.second,
        'difference': found.difference, 'difference_low': found.low,
        'difference_high': found.high, 'p': found.p}
    for side, group, texts in zip(('first', 'second'), groups, telling, strict=True):
        cells |= {f'{side}_method': group.method, f'{side}_model': group.model or None,
                  f'{side}_backend': group.backend or None,
                  f'{side}_variant': _words(group, compared, apart, texts) or None}
    return cells


def _words(group: Group, compared: str, apart: Iterable[str], telling: Sequence[str]) -> str:
    """Words for the variant, and for further differences of variants and conditions."""
    if compared == 'variant':
        cells = group_cells(group)
        telling = word('calibrated', cells), word('privileged', cells)
    fields = dict(group.condition)
    return ', '.join(dict.fromkeys(filter(None, (
        group.variant, *telling, *(f'{name} {fields.get(name, "-")}' for name in apart
                                   if f'{name} ' not in group.variant)))))
