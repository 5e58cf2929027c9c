"""Domain and split of a run of episodes that names a suite and no domain, or no split."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sightplan.domains import domain_names, load_domain
from sightplan.model import InputError, user_path
from sightplan.runs.problem_folders import holds_problems
from sightplan.runs.settings import ALL_SPLITS, RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan.runs.suite_rules import EPISODES

_USUAL = RunSettings()
"""The settings of a run that names nothing."""
FIRST_PROBLEM = 'auto'
"""Stands for the first problem of a domain."""


def with_domain_of_suite(values: Mapping[str, Any], named: Collection[str]) -> dict[str, Any]:
    """Return settings of a run with the domain that its suite has, where none was named.

    Of several domains of a suite those count that have the split, or problem files in the folder
    of problems. Where several are left, the usual domain of all runs is taken if it is one of
    them. Where the suite has one split of episodes, that is taken, too.

    Args:
        values: settings of the run by the names of fields of ``RunSettings``, as far as given.
        named: names of those that a person gave.

    Raises:
        InputError: there is no such suite, or it does not tell the domain or the split; names
            those that it has.
    """
    found = dict(values)
    name, split = str(values.get('suite', '')), str(values.get('split', _USUAL.split))
    suite = load_suite(name) if name else None
    if suite is None or not suite.domains or suite.kind_of(split) != EPISODES:
        return found
    if 'domain' in named:
        if values['domain'] in domain_names():
            suite.rules(values['domain'])
        return found
    problems = str(values.get('problems', ''))
    split_named = 'split' in named or split != _USUAL.split
    fitting = _fitting(suite, '' if problems and not split_named else split)
    if problems and len(fitting) > 1:
        fitting = [domain for domain in fitting
                   if holds_problems(user_path(problems), load_domain(domain))] or fitting
    if len(fitting) > 1 and _USUAL.domain in fitting:
        fitting = [_USUAL.domain]
    if not fitting and not split_named:
        splits = [(domain, one) for domain, rules in suite.domains.items() for one in rules.splits]
        if len(splits) > 1 or suite.splits:
            raise InputError(f'suite {suite.name} has several splits; choose one (split): '
                             + ', '.join((*(one for _, one in splits), *suite.splits)))
        [(domain, found['split'])] = splits
        fitting = [domain]
    if len(fitting) != 1:
        raise _unclear(suite, split, fitting)
    found['domain'] = fitting[0]
    return found


def with_split_of_domain(values: Mapping[str, Any], named: Collection[str]) -> dict[str, Any]:
    """Return settings of a run with its domain's first split, where the usual one is not there.

    A split that a person named stays. So does that of a run with a suite or with problem files.

    Args:
        values: settings of the run by the names of fields of ``RunSettings``, as far as given.
        named: names of those that a person gave.
    """
    domain = values.get('domain') or _USUAL.domain
    if ('split' in named or values.get('split', _USUAL.split) != _USUAL.split
            or values.get('suite') or values.get('problems') or domain == _USUAL.domain):
        return dict(values)
    splits = load_domain(domain).splits
    return dict(values) if not splits or _USUAL.split in splits else {
        **values, 'split': splits[0]}


def with_problem_of_domain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a graph with the first problem of its domain for ``FIRST_PROBLEM``.

    Args:
        values: the values of the graph's arguments, by name; ``domain`` and ``problem`` are there.
    """
    if values['problem'] != FIRST_PROBLEM:
        return dict(values)
    domain = load_domain(values['domain'])
    names = (f'{split}/{problem.name}' for split in domain.splits
             for problem in domain.split_problems(split))
    return {**values, 'problem': next(names, '')}


def _fitting(suite: Suite, split: str) -> list[str]:
    """The domains of a suite that have a split; all of them for '' and for all splits."""
    return [domain for domain, rules in suite.domains.items()
            if split in ('', ALL_SPLITS, *rules.splits)]


def _unclear(suite: Suite, split: str, fitting: Collection[str]) -> InputError:
    """The error of a suite that does not tell the domain of a run."""
    if fitting:
        return InputError(f'suite {suite.name} has several domains; add --domain with one of '
                          f'{", ".join(fitting)}')
    there = '; '.join(f'{domain}: {", ".join(rules.splits)}'
                      for domain, rules in suite.domains.items())
    samples = f'; samples: {", ".join(suite.splits)}' if suite.splits else ''
    return InputError(f'suite {suite.name} has no split {split!r}; its domains and their splits '
                      f'are {there}{samples}')
