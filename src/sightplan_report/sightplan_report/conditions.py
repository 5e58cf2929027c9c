"""Conditions of runs, for deciding which of them may be averaged or compared.

Three things make a method's results: the model, the method's own settings, and the conditions:
all else that the identity of a run names. Each is taken from the run alone, so that no other run
of a report changes what it is like.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sightplan.model import InputError
from sightplan.model.sample import SHOWN_HASH
from sightplan.runs import (
    RunSettings,
    Suite,
    asks_for_reasons,
    load_suite,
    problems_sha256,
    select_problems,
)
from sightplan.runs.rules import RULES, of_suite
from sightplan.runs.settings import OURS

Fields = tuple[tuple[str, Any], ...]
"""Names and hashable values, sorted by name."""

_ELSEWHERE = ('domain', 'split', 'seed', 'model', 'failure_probability', 'problems', 'samples',
              'method', 'prompt', 'backend', 'imported', *RULES)
_CONTENT_OF_SPLIT = ('sha256', SHOWN_HASH, 'words_sha256', 'pictures', 'ties', 'granted', 'blank',
                     'starts', 'presence')
"""Fields of the identity of samples that differ between splits of a suite."""
_CHOOSE_A_MODEL = ('name', 'seed', 'table', 'model', 'base_url', 'revision', 'model_dir', 'domain',
                   'script', 'path')
_UNCHOSEN = {name: getattr(RunSettings(), name) for name in RULES}
"""Settings with which a run follows its suite's rules."""
_NOT_OF_ALL = ('answers', 'planner', 'backend', 'prompts')
"""Fields that methods without questions, plans or a model do not have."""

_BY_DOMAIN = ('domain_sha256', 'domain_settings_sha256', 'questions_sha256', 'problems', 'world',
              'backend', 'prompts')


def condition_of(identity: Mapping[str, Any], suite: Suite | None = None,
                 settings: Mapping[str, Any] | None = None) -> Fields:
    """All fields that are neither the method's own nor the model's, nor seeds and problems.

    What the suite rules for the method is left out, so that methods with different rules are
    still alike, and so that the splits of one run are: a suite may rule otherwise for each split.

    Args:
        identity: of a run.
        suite: that the run belongs to, None for none.
        settings: that the run was started with, as far as they are known.
    """
    found: dict[str, Any] = {}
    domain, method = identity['domain'], identity['method']['name']
    for name, value in {'protocol': OURS, **identity}.items():
        if name not in _ELSEWHERE and value is not None:
            found |= _flat(name, value)
    if identity.get('imported'):
        found['imported'] = True  # by others: whatever the file that it came from
    found |= _settings_of_samples(identity)
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
        value = _unlike_suite(name, identity, suite, settings or {})
        if value is not None:
            found[name] = value
    return _sorted(found)


def _unlike_suite(name: str, identity: Mapping[str, Any], suite: Suite | None,
                  settings: Mapping[str, Any]) -> Any:
    """Departure of a run from a rule of its suite; None if it follows the rule.

    A value that a person chose for the whole run is one departure, although it may be what the
    suite rules for some of the splits.
    """
    domain, method = identity['domain'], identity['method']['name']
    protocol = protocol_of(identity)
    values: Mapping[str, Any] = identity.get(name, {})
    other = {split: value for split, value in values.items()
             if value != of_suite(name, suite, domain, method, split, protocol)}
    if settings.get(name, _UNCHOSEN[name]) != _UNCHOSEN[name] and suite is not None:
        every = suite.domains[domain].splits if domain in suite.domains else ()
        other = dict(values) if any(
            of_suite(name, suite, domain, method, split, protocol) != value
            for split in every for value in values.values()) else other
    if not other:
        return None
    alike = len(other) == len(values) and len(set(map(str, other.values()))) == 1
    return hashable(next(iter(other.values())) if alike else other)


def protocol_of(identity: Mapping[str, Any]) -> str:
    """Protocol of a run: a rule set of its suite, or ``ours``, as all earlier runs have it."""
    return str(identity.get('protocol', OURS))


def _settings_of_samples(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with which a suite's samples were shown, without the content of its splits."""
    found: dict[str, Any] = {}
    for split, part in samples_by_split(identity).items():
        for name, value in part.items():
            # "boards_3d" says its view itself.
            if name not in _CONTENT_OF_SPLIT and str(value) not in split.split('_'):
                found.setdefault(f'samples.{name}', []).append(hashable(value))
    return {name: values[0] if len(set(map(str, values))) == 1 else hashable(values)
            for name, values in found.items()}


def samples_by_split(identity: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Identity of a run of samples in each of its splits; empty for a run of episodes."""
    return {split: part for split, part in (identity.get('samples') or {}).items()
            if isinstance(part, dict)}


def settings_of(identity: Mapping[str, Any]) -> Fields:
    """The method's own settings and prompt, without calibration, which belongs to the model."""
    own = {name: value for name, value in identity['method'].items()
           if name not in ('name', 'calibration')}
    return _sorted(_flat('', own) | _flat('prompt', identity.get('prompt') or {}))


def content_of(identity: Mapping[str, Any], split: str) -> str | None:
    """Identity of a split's items among splits of the same name.

    Returns:
        of samples what the split holds and how it is shown, as JSON; of episodes a hash of the
        problems, '' for the ones that are shipped. None: not known.
    """
    parts = samples_by_split(identity)
    return str(hashable(parts.get(split))) if parts else problems_of(identity)


def contents_of(identities: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Contents of the splits of runs of samples, by field, each as one text over all splits."""
    found: dict[str, dict[str, None]] = {}
    for identity in identities:
        for split, part in sorted(samples_by_split(identity).items()):
            for name in _CONTENT_OF_SPLIT:
                if name in part:
                    found.setdefault(f'samples.{name}', {})[f'{split} {part[name]}'] = None
    return {name: ', '.join(texts) for name, texts in found.items()}


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
    """Whether rates of answers with, or without, reasoning fit the method's way of asking."""
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
    """Whether methods under two conditions can be compared; fields of only one are ignored."""
    have = [{_head(name) for name, _ in fields} for fields in (first, second)]
    return all(_head(name) in _NOT_OF_ALL and any(_head(name) not in heads for heads in have)
               for name in differing(first, second))


def for_domains(condition: Fields) -> Fields:
    """Condition without the fields that differ between domains."""
    return tuple((name, value) for name, value in condition if _head(name) not in _BY_DOMAIN)


def of_models(condition: Fields) -> Fields:
    """A condition without settings of backends."""
    return tuple((name, value) for name, value in condition if _head(name) != 'backend')


def disambiguate_labels(parts: Sequence[tuple[Collection[str], Mapping[str, Any]]]) -> list[str]:
    """Shortest texts that distinguish parts from each other, one for each.

    Args:
        parts: the names that a sweep gave to the members of each, and its fields.
    """
    named = [next(iter(names)) if len(set(names)) == 1 else '' for names, _ in parts]
    if len(parts) == 1 or (all(named) and len(set(named)) == len(named)):
        return named
    names = dict.fromkeys(name for _, fields in parts for name in fields)
    apart = [name for name in names if len({fields.get(name) for _, fields in parts}) > 1]
    apart = _without_settings_of_protocol(apart, [fields for _, fields in parts])
    return [', '.join([*([name] if name else []), *(
        f'{key} {fields.get(key, "of the suite" if key in RULES else "-")}' for key in apart)])
        for name, (_, fields) in zip(named, parts, strict=True)]


def _without_settings_of_protocol(apart: Sequence[str], parts: Sequence[Mapping[str, Any]],
                                  ) -> list[str]:
    """Names without what follows from the protocols of parts, if that distinguishes them as well.

    Args:
        apart: names of fields in which the parts differ.
        parts: their fields.
    """
    if 'protocol' not in apart:
        return list(apart)
    ruled = {name.rpartition('.')[2] for fields in parts for name in _ruled_by(
        str(fields.get('suite', '')), str(fields.get('protocol', OURS)))}
    less = [name for name in apart if name.rpartition('.')[2] not in ruled]
    told = {tuple(fields.get(name) for name in less) for fields in parts}
    return less if len(told) == len(parts) else list(apart)


@functools.cache
def _ruled_by(suite: str, protocol: str) -> frozenset[str]:
    """Dotted names of the fields that a protocol of a suite sets in any run."""
    try:
        entries = load_suite(suite).protocols.get(protocol, ()) if suite else ()
    except InputError:  # not installed
        return frozenset()
    return frozenset(name.replace('planner_search', 'planner.search')
                     for entry in entries for name in entry.settings)


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
