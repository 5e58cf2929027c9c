"""Paired comparisons of methods and of models on the same episodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sightplan.metrics import measures
from sightplan.metrics.episodes import EPISODE_MEASURES
from sightplan.metrics.paired import Comparison, compare, holm
from sightplan.report import conditions
from sightplan.report.labels import words_apart
from sightplan.report.results import Group, Line, Results, episode_key, split_of
from sightplan.report.tables.common import group_cells, row_of
from sightplan.report.tables.model import Column, Table

ALL = 'all'

_PAIRED = (
    Column('compared', 'compared'), Column('domain', 'domain'),
    Column('failure_probability', 'failing actions', 'share'), Column('split', 'split'),
    *(Column(f'{side}_{key}', heading, group=side) for side in ('first', 'second')
      for key, heading in (('method', 'method'), ('model', 'model'), ('backend', 'backend'),
                           ('variant', 'variant'))),
    Column('n', 'pairs', 'count'), Column('problems', 'problems', 'count'),
    Column('both', 'both', 'count', 'solved by'),
    Column('only_first', 'only first', 'count', 'solved by'),
    Column('only_second', 'only second', 'count', 'solved by'),
    Column('neither', 'neither', 'count', 'solved by'),
    Column('first_success', 'first', 'share', 'success'),
    Column('second_success', 'second', 'share', 'success'),
    Column('difference', 'difference', 'share', 'success'),
    Column('difference_low', 'low', 'share', 'success'),
    Column('difference_high', 'high', 'share', 'success'),
    Column('p', 'p', 'p', 'McNemar'), Column('p_holm', 'p, Holm', 'p', 'McNemar'))

_Key = tuple[Any, ...]
_Lines = dict[_Key, Line]
_SOLVED = EPISODE_MEASURES[0]


def paired(results: Results) -> Table:
    """Every pair of groups that differ in one thing alone, see ``difference``."""
    found: list[dict[str, Any]] = []
    solved = {id(group): _scored(group) for group in results.groups}
    telling = {id(group): tuple(filter(None, (words.get('calibrated'), words.get('privileged'))))
               for group, words in zip(results.groups, words_apart(
                   [group_cells(group) for group in results.groups]), strict=True)}
    for first, second in itertools.combinations(results.groups, 2):
        compared = difference(first, second)
        if not compared:
            continue
        own, other = solved[id(first)], solved[id(second)]
        ours = {split: _spread(own[split], other.get(split, {})) for split in own}
        theirs = {split: _spread(other[split], own.get(split, {})) for split in other}
        rows = [(split, compare(each, theirs.get(split, {}), _SOLVED))
                for split, each in ours.items()]
        rows = [(split, row) for split, row in rows if row is not None]
        if len(rows) > 1:
            splits = [split for split, _ in rows]
            rows.append((ALL, compare(_joined(ours, splits), _joined(theirs, splits), _SOLVED)))
        found += [_cells(compared, first, second, split, row, telling)
                  for split, row in rows if row is not None]
    for whole in (True, False):
        family = [row for row in found if (row['split'] == ALL) == whole]
        for row, p in zip(family, holm([row['p'] for row in family]), strict=True):
            row['p_holm'] = p
    return Table('paired', 'Paired comparisons', _PAIRED, tuple(found), (
        'Groups of the same domain and failing actions, on episodes of the same problem, round '
        'and seeds that both have scored. They differ in one thing alone. "model": the exact '
        'model, with what its backend needs. "variant": settings or calibration of the method, or '
        'what is told. "condition": one field of the conditions, which is named. "method": the '
        'method with its settings and prompt, and what only one of them has (a model, a planner, '
        'a rule for answers); its rates are those after reasoning if it asks for reasons. The '
        'suite gives methods whose model plans other budgets, and ends their episodes at the '
        "goal; these rules stay each method's own. All other conditions are equal: versions, "
        'hashes, world, backend. A method without seeds of a backend is set against each seed of '
        'the other. Difference: success of the first minus that of the second, with a 95 % '
        'bootstrap interval over problems; empty where all pairs are of one problem. p: '
        'two-sided exact McNemar test, which takes pairs for independent: with several rounds of '
        'a problem read the interval. Holm: adjusted for the number of comparisons, of rows of '
        'single splits and of rows of all splits apart.'))


def difference(first: Group, second: Group) -> str:
    """In what two groups differ, if that can be compared; else ''.

    One of method, model, variant (settings, calibration, what is told) and condition (one field).
    """
    if (first.domain, first.failure_probability) != (second.domain, second.failure_probability):
        return ''
    told = first.privileged == second.privileged
    apart = conditions.differing(first.condition, second.condition)
    if first.method != second.method:
        # Settings of methods are not comparable, but what is told is.
        return 'method' if told and _model_for_both(first, second) and conditions.for_methods(
            *(tuple(field for field in group.condition if field[0] not in _same_rules(
                first, second)) for group in (first, second))) else ''
    same_settings = told and (first.settings, first.calibrated) == (second.settings,
                                                                    second.calibrated)
    if (first.backend, first.exact_model) == (second.backend, second.exact_model):
        if apart:
            return 'condition' if same_settings and len(apart) == 1 else ''
        return 'variant'
    if first.backend != second.backend:
        apart = conditions.differing(*map(conditions.of_models,
                                          (first.condition, second.condition)))
    return 'model' if same_settings and not apart else ''


def _model_for_both(first: Group, second: Group) -> bool:
    """Whether methods have the same model, or one of them none."""
    return not first.model or not second.model or (
        first.backend == second.backend and conditions.without_kind(first.exact_model)
        == conditions.without_kind(second.exact_model))


def _same_rules(first: Group, second: Group) -> list[str]:
    """Rules that are the same for both, whether a suite's or not."""
    def rules(group: Group, name: str) -> dict[str, Any]:
        return {split: value for run in group.runs for split, value in run.rules[name].items()}

    return [name for name in conditions.RULES if all(
        value == rules(second, name).get(split, value)
        for split, value in rules(first, name).items())]


def _scored(group: Group) -> dict[str, _Lines]:
    """Scored episodes by split."""
    found: dict[str, _Lines] = {}
    for run in group.runs:
        for line in run.lines:
            if measures.scored(line):
                found.setdefault(split_of(line), {})[episode_key(run, line)] = line
    return found


def _spread(own: _Lines, other: _Lines) -> _Lines:
    """Episodes, those without a seed of the backend as often as the other has such seeds."""
    return own | {key: own[base] for key in other
                  if key not in own and (base := (*key[:-1], None)) in own}


def _joined(lines: dict[str, _Lines], splits: Iterable[str]) -> _Lines:
    return {key: line for split in splits for key, line in lines.get(split, {}).items()}


def _cells(compared: str, first: Group, second: Group, split: str, found: Comparison,
           telling: Mapping[int, Sequence[str]]) -> dict[str, Any]:
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
    for side, group in (('first', first), ('second', second)):
        cells |= {f'{side}_method': group.method, f'{side}_model': group.model or None,
                  f'{side}_backend': group.backend or None,
                  f'{side}_variant': _words(
                      group, compared, apart, telling[id(group)]) or None}
    return row_of(_PAIRED, cells)


def _words(group: Group, compared: str, apart: Iterable[str], telling: Sequence[str]) -> str:
    """The variant, with what else can tell variants and conditions apart."""
    more = {None: '', True: 'calibrated', False: 'not calibrated'}[group.calibrated]
    told = f'told: {group.privileged}' if group.privileged else ''
    fields = dict(group.condition)
    return ', '.join(dict.fromkeys(filter(None, (
        group.variant, *((more, told) if compared == 'variant' else telling),
        *(f'{name} {fields.get(name, "-")}' for name in apart
          if f'{name} ' not in group.variant)))))
