"""Paired comparisons of methods and of models on the same episodes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from sightplan.metrics.paired import Agreement, agreement, holm
from sightplan.report.results import Group, Results, episode_key, split_of
from sightplan.report.tables.common import row_of
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


def paired(results: Results) -> Table:
    """Every pair of groups that differ in the method, the model or the variant alone."""
    found: list[dict[str, Any]] = []
    solved = {id(group): _solved(group) for group in results.groups}
    problems = {id(group): _problems(group) for group in results.groups}
    for first, second in itertools.combinations(results.groups, 2):
        compared = difference(first, second)
        if not compared:
            continue
        ours, theirs = solved[id(first)], solved[id(second)]
        rows = [(split, agreement(own, theirs.get(split, {}), problems[id(first)]))
                for split, own in ours.items()]
        rows = [(split, row) for split, row in rows if row is not None]
        if len(rows) > 1:
            splits = [split for split, _ in rows]
            rows.append((ALL, agreement(_joined(ours, splits), _joined(theirs, splits),
                                       problems[id(first)])))
        found += [_cells(compared, first, second, split, row)
                  for split, row in rows if row is not None]
    for whole in (True, False):
        family = [row for row in found if (row['split'] == ALL) == whole]
        for row, p in zip(family, holm([row['p'] for row in family]), strict=True):
            row['p_holm'] = p
    return Table('paired', 'Paired comparisons', _PAIRED, tuple(found), (
        'Groups of the same domain and failing actions that differ in the method, the model (or '
        'its backend) or the variant alone, on episodes of the same problem, round and seed that '
        'both have scored. Difference: success of the first minus that of the second, with a 95 % '
        'bootstrap interval over problems; empty where all pairs are of one problem. p: '
        'two-sided exact McNemar test, which takes pairs for independent: with several rounds of '
        'a problem read the interval. Holm: adjusted for the number of comparisons, of rows of '
        'single splits and of rows of all splits apart.'))


def difference(first: Group, second: Group) -> str:
    """In what two groups differ, if that can be compared: method, model or variant; else ''."""
    if (first.domain, first.failure_probability) != (second.domain, second.failure_probability):
        return ''
    same_model = (first.backend, first.model) == (second.backend, second.model)
    same_variant = _variant(first) == _variant(second)
    if first.method == second.method:
        if same_model and not same_variant:
            return 'variant'
        return 'model' if same_variant and not same_model else ''
    # A method without a model can be set against any; settings of methods are not comparable,
    # but what is told is.
    alike = same_model or not first.model or not second.model
    return 'method' if alike and first.privileged == second.privileged else ''


def _variant(group: Group) -> tuple[object, ...]:
    return group.variant, group.privileged, group.calibrated


def _solved(group: Group) -> dict[str, dict[_Key, bool]]:
    """Scored episodes by split."""
    found: dict[str, dict[_Key, bool]] = {}
    for run in group.runs:
        for line in run.lines:
            if line['scored']:
                found.setdefault(split_of(line), {})[episode_key(run, line)] = line['solved']
    return found


def _problems(group: Group) -> dict[_Key, tuple[str, str]]:
    return {episode_key(run, line): (split_of(line), str(
        line.get('problem') or line['episode_id'])) for run in group.runs for line in run.lines}


def _joined(solved: dict[str, dict[_Key, bool]], splits: Iterable[str]) -> dict[_Key, bool]:
    return {key: value for split in splits for key, value in solved.get(split, {}).items()}


def _cells(compared: str, first: Group, second: Group, split: str, found: Agreement,
           ) -> dict[str, Any]:
    known = found.gain.groups > 1
    cells: dict[str, Any] = {
        'compared': compared, 'domain': first.domain,
        'failure_probability': first.failure_probability, 'split': split, 'n': found.n,
        'problems': found.gain.groups, 'both': found.both, 'only_first': found.only_first,
        'only_second': found.only_second, 'neither': found.neither,
        'first_success': (found.both + found.only_first) / found.n,
        'second_success': (found.both + found.only_second) / found.n,
        'difference': found.gain.difference,
        'difference_low': found.gain.low if known else None,
        'difference_high': found.gain.high if known else None, 'p': found.p}
    for side, group in (('first', first), ('second', second)):
        cells |= {f'{side}_method': group.method, f'{side}_model': group.model or None,
                  f'{side}_backend': group.backend or None,
                  f'{side}_variant': _words(group, compared) or None}
    return row_of(_PAIRED, cells)


def _words(group: Group, compared: str) -> str:
    """The variant, with what else can tell variants apart."""
    more = {None: '', True: 'calibrated', False: 'not calibrated'}[group.calibrated]
    told = f'told: {group.privileged}' if group.privileged else ''
    return ', '.join(filter(None, (group.variant, *((more, told) if compared == 'variant'
                                                    else ()))))
