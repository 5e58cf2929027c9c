"""What runs were made under, for telling which of them may be averaged or compared.

Three things make a method's results: the model, the method's own settings, and the conditions:
all else that the identity of a run names. Each is taken from the run alone, so that no other run
of a report changes what it is like.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sightplan.model import InputError
from sightplan.runs import (
    RunSettings,
    asks_for_reasons,
    problems_sha256,
    select_problems,
    suite_for,
)

Fields = tuple[tuple[str, Any], ...]
"""Names and hashable values, sorted by name."""

RULES = ('max_actions', 'stop_at_goal', 'privileged')
"""What a suite rules for each split."""

_ELSEWHERE = ('domain', 'split', 'seed', 'model', 'failure_probability', 'problems', 'method',
              'prompt', 'backend', *RULES)
_CHOOSE_A_MODEL = ('name', 'seed', 'table', 'model', 'base_url', 'revision', 'model_dir', 'domain',
                   'script', 'path')
_NOT_OF_ALL = ('answers', 'planner', 'backend')
"""Methods that ask nothing, plan nothing or have no model lack these."""

_BY_DOMAIN = ('domain_sha256', 'domain_settings_sha256', 'questions_sha256', 'problems', 'world',
              'backend')


def condition_of(identity: Mapping[str, Any]) -> Fields:
    """All fields that are neither the method's own nor the model's, nor seeds and problems.

    What the suite rules for the method is left out, so that methods with different rules are
    still alike.
    """
    found: dict[str, Any] = {}
    domain, method = identity['domain'], identity['method']['name']
    for name, value in identity.items():
        if name not in _ELSEWHERE and value is not None:
            found |= _flat(name, value)
    backend = identity.get('backend')
    if backend:
        reasons = _reasons(method, domain)
        found['backend'] = True  # there is one, even without settings
        fits = (None, 'auto', *(() if reasons is None else ('yes' if reasons else 'no',)))
        found |= _flat('backend', {
            name: value for name, value in backend.items() if name not in _CHOOSE_A_MODEL
            and not (name == 'cot' and value in fits)})
    for name in RULES:
        if name == 'privileged':  # a column of its own
            continue
        values = identity.get(name, {})
        other = {split: value for split, value in values.items()
                 if value != suite_rule(name, domain, method, split)}
        alike = len(other) == len(values) and len(set(map(str, other.values()))) == 1
        if other:
            found[name] = hashable(next(iter(other.values())) if alike else other)
    return _sorted(found)


def settings_of(identity: Mapping[str, Any]) -> Fields:
    """The method's own settings and prompt, without calibration, which belongs to the model."""
    own = {name: value for name, value in identity['method'].items()
           if name not in ('name', 'calibration')}
    return _sorted(_flat('', own) | _flat('prompt', identity.get('prompt') or {}))


def suite_rule(rule: str, domain: str, method: str, split: str) -> Any:
    """What the suite of a split rules for a method, None where there is none.

    Args:
        rule: one of ``RULES``.
        domain: for example ``blocksworld``.
        method: for example ``ground``.
        split: for example ``simple``.
    """
    suite = suite_for(domain, split)
    if suite is None:
        return None
    if rule == 'max_actions':
        return suite.budget(domain, method, split)
    if rule == 'stop_at_goal':
        return suite.stops_at_goal(domain, method)
    return suite.privileged(domain, split).value


def problems_of(identity: Mapping[str, Any]) -> str | None:
    """Hash of a run's problems, '' for the ones that are shipped; None: not known."""
    split, sha256 = identity.get('split'), (identity.get('problems') or {}).get('sha256')
    if not sha256:
        return None
    return '' if split and sha256 == _shipped(identity['domain'], split) else str(sha256)


@functools.cache
def _shipped(domain: str, split: str) -> str:
    try:
        found, pairs, _ = select_problems(RunSettings(domain=domain, split=split))
        return problems_sha256(found, pairs)
    except InputError:  # of another version, or of another machine
        return ''


@functools.cache
def _reasons(method: str, domain: str) -> bool | None:
    try:
        return asks_for_reasons(method, domain)
    except InputError:
        return None


def kind_fits(model: str, method: str, domain: str) -> bool:
    """Whether rates after reasoning, or without, are those that the method asks for."""
    kind = re.match(r'noisy_oracle\(.*?/(plain|cot)\b', model)
    reasons = _reasons(method, domain)
    return kind is None or reasons is None or (kind.group(1) == 'cot') == reasons


def exact(model: str) -> str:
    """The exact name of a model without the seed of its errors."""
    return re.sub(r', seed \d+\)$', ')', model)


def without_kind(model: str) -> str:
    """The exact name without seed and kind of rates: the same for methods that ask otherwise."""
    return re.sub(r'^(noisy_oracle\(.*?)/(?:plain|cot|as asked)(?=[ ,)+])', r'\1', exact(model))


def differing(first: Fields, second: Fields) -> tuple[str, ...]:
    """Names of the fields in which two conditions differ."""
    one, other = dict(first), dict(second)
    return tuple(sorted(name for name in one.keys() | other.keys()
                        if one.get(name) != other.get(name)))


def for_methods(first: Fields, second: Fields) -> bool:
    """Whether methods under two conditions can be compared: what only one of them has is free."""
    have = [{_head(name) for name, _ in fields} for fields in (first, second)]
    return all(_head(name) in _NOT_OF_ALL and any(_head(name) not in heads for heads in have)
               for name in differing(first, second))


def for_domains(condition: Fields) -> Fields:
    """A condition without what each domain has of its own."""
    return tuple((name, value) for name, value in condition if _head(name) not in _BY_DOMAIN)


def of_models(condition: Fields) -> Fields:
    """A condition without settings of backends."""
    return tuple((name, value) for name, value in condition if _head(name) != 'backend')


def disambiguate_labels(parts: Sequence[tuple[Collection[str], Mapping[str, Any]]]) -> list[str]:
    """A text for each part that tells it from the others, as short as can be.

    Args:
        parts: the names that a sweep gave to the members of each, and its fields.
    """
    named = [next(iter(names)) if len(set(names)) == 1 else '' for names, _ in parts]
    if len(parts) == 1 or (all(named) and len(set(named)) == len(named)):
        return named
    names = dict.fromkeys(name for _, fields in parts for name in fields)
    apart = [name for name in names if len({fields.get(name) for _, fields in parts}) > 1]
    return [', '.join([*([name] if name else []), *(
        f'{key} {fields.get(key, "of the suite" if key in RULES else "-")}' for key in apart)])
        for name, (_, fields) in zip(named, parts, strict=True)]


def _head(name: str) -> str:
    return name.split('.')[0]


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Fields by dotted name, without limits of time."""
    if not isinstance(value, dict):
        return {name: hashable(value)}
    return {f'{name}.{key}' if name else str(key): hashable(item)
            for key, item in value.items() if not str(key).endswith('timeout_s')}


def hashable(value: object) -> Any:
    """A value that can be compared: of lists and mappings their JSON."""
    return value if isinstance(value, (str, int, float, bool, type(None))) else json.dumps(
        value, sort_keys=True, default=str)


def _sorted(fields: Mapping[str, Any]) -> Fields:
    return tuple(sorted(fields.items(), key=lambda item: item[0]))
