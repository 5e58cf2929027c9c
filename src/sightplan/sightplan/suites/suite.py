"""Reading a suite's folder."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sightplan.model import InputError, Privileged

_ROOT = Path(__file__).resolve().parent
_FIELDS = {'title': str, 'paper': str, 'kind': str, 'domains': dict, 'failure_probability': float,
           'seed': int}
_KINDS = ('episodes', 'samples')
_DOMAIN_FIELDS = ('splits', 'max_actions', 'privileged', 'method_rules')
_METHOD_FIELDS = ('methods', 'max_actions', 'stop_at_goal')
_MOST_ACTIONS = 10_000


@dataclass(frozen=True, slots=True)
class Published:
    """One published number.

    Attributes:
        value: the number.
        sem: its standard error as printed, None where there is none.
        source: table or figure it stands in.
    """

    value: float
    sem: float | None
    source: str


@dataclass(frozen=True, slots=True)
class MethodRules:
    """What a suite lays down for some of its methods in a domain.

    Attributes:
        max_actions: split to budget of actions per episode; splits left out have the domain's.
        stop_at_goal: whether an episode ends as soon as the goal holds in the true state.
    """

    max_actions: Mapping[str, int] = field(default_factory=dict)
    stop_at_goal: bool = False


@dataclass(frozen=True, slots=True)
class DomainRules:
    """What a suite lays down for one of its domains.

    Attributes:
        max_actions: split to budget of actions per episode; its keys are the suite's splits.
        privileged: when a policy is told facts about what is out of view.
        methods: what differs for some methods.
    """

    max_actions: Mapping[str, int]
    privileged: Privileged = Privileged.NONE
    methods: Mapping[str, MethodRules] = field(default_factory=dict)

    @property
    def splits(self) -> tuple[str, ...]:
        """The domain's splits that belong to the suite."""
        return tuple(self.max_actions)


@dataclass(frozen=True, slots=True)
class Suite:
    """A benchmark of episodes.

    Attributes:
        name: the folder's name.
        title: name for people.
        paper: citation.
        kind: ``episodes`` or ``samples``.
        domains: each domain's splits and rules, by name.
        failure_probability: that of the main results.
        seed: seed of the main results.
        folder: where it is.
    """

    name: str
    title: str
    paper: str
    kind: str
    domains: Mapping[str, DomainRules]
    failure_probability: float
    seed: int
    folder: Path

    def budget(self, domain: str, method: str, split: str) -> int:
        """Actions per episode of a method on a split.

        Raises:
            InputError: the suite has no such domain or split.
        """
        rules = self._rules(domain)
        if split not in rules.max_actions:
            raise InputError(f'suite {self.name} has no split {split!r} of {domain} (it has '
                             f'{", ".join(rules.splits)})')
        own = rules.methods.get(method, MethodRules()).max_actions
        return own.get(split, rules.max_actions[split])

    def stops_at_goal(self, domain: str, method: str) -> bool:
        """Whether the suite ends an episode of a method at the goal.

        Raises:
            InputError: the suite has no such domain.
        """
        return self._rules(domain).methods.get(method, MethodRules()).stop_at_goal

    def privileged(self, domain: str) -> Privileged:
        """When the suite grants facts about what is out of view.

        Raises:
            InputError: the suite has no such domain.
        """
        return self._rules(domain).privileged

    def _rules(self, domain: str) -> DomainRules:
        if domain not in self.domains:
            raise InputError(f'suite {self.name} has no domain {domain!r} (it has '
                             f'{", ".join(self.domains)})')
        return self.domains[domain]

    def published(self, domain: str, method: str, model: str, split: str,
                  measure: str = 'success', failure_probability: float = 0.0) -> Published | None:
        """A number of the paper, None if it reports none.

        Args:
            domain: for example ``blocksworld``.
            method: for example ``ground``.
            model: as the paper calls it, or as ``aliases`` in published.json do; any case.
            split: for example ``simple``.
            measure: ``success``, ``accuracy``, or a predicate's name (its accuracy).
            failure_probability: that of the experiment.
        """
        data = _published(self.folder / 'published.json')
        wanted = data['aliases'].get(model.lower(), model.lower())
        for table in data['tables']:
            if (table['domain'], table['method']) != (domain, method):
                continue
            if table['failure_probability'] != failure_probability:
                continue
            for name, rows in table['models'].items():
                cell = rows.get(split, {}).get(measure)
                if name.lower() == wanted and cell is not None:
                    return Published(cell[0], cell[1], table['source'])
        return None

    def publishes(self, method: str) -> bool:
        """Whether the paper has a number of a method."""
        return any(table['method'] == method
                   for table in _published(self.folder / 'published.json')['tables'])

    def model_name(self, model: str) -> str | None:
        """What the paper calls a model, None if it has no number of it.

        Args:
            model: that name in any case, or one of ``aliases`` in published.json.
        """
        wanted = _published(self.folder / 'published.json')['aliases'].get(
            model.lower(), model.lower())
        return _published_names(self.folder / 'published.json').get(wanted)


def suite_names() -> tuple[str, ...]:
    """Names of the suites: the folders beside this file that hold a ``suite.yaml``."""
    return tuple(sorted(path.parent.name for path in _ROOT.glob('*/suite.yaml')))


@functools.cache
def load_suite(name: str) -> Suite:
    """Load a suite.

    Raises:
        InputError: unknown name, or a file that cannot be used.
    """
    if name not in suite_names():
        raise InputError(f'suite {name!r} is unknown; choose one of {", ".join(suite_names())}')
    return read_suite(_ROOT / name)


def read_suite(folder: Path) -> Suite:
    """Read a suite's folder.

    Raises:
        InputError: its ``suite.yaml`` cannot be used; names file, field and remedy.
    """
    path = folder / 'suite.yaml'
    try:
        raw = yaml.safe_load(path.read_text('utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f'{path}: cannot be read: {error} (mend the file)') from error
    _check_keys(f'{path}', raw, _FIELDS, _FIELDS)
    for name, kind in _FIELDS.items():
        wanted = (int, float) if kind is float else kind
        if not isinstance(raw[name], wanted) or isinstance(raw[name], bool):
            raise InputError(f'{path}: {name} = {raw[name]!r} must be a '
                             f'{"mapping" if kind is dict else kind.__name__}')
    if raw['kind'] not in _KINDS:
        raise InputError(f'{path}: kind = {raw["kind"]!r} must be one of {", ".join(_KINDS)}')
    if not 0 <= raw['failure_probability'] <= 1:
        raise InputError(f'{path}: failure_probability = {raw["failure_probability"]!r} must be '
                         'in [0, 1]')
    return Suite(folder.name, raw['title'], ' '.join(raw['paper'].split()), raw['kind'],
                 {str(domain): _domain_rules(f'{path}: domains.{domain}', given)
                  for domain, given in raw['domains'].items()},
                 float(raw['failure_probability']), raw['seed'], folder)


def _check_keys(where: str, given: object, known: Iterable[str], needed: Iterable[str]) -> None:
    if not isinstance(given, dict):
        raise InputError(f'{where}: is {given!r} (write "key: value" lines: {", ".join(known)})')
    for key in given:
        if key not in known:
            raise InputError(f'{where}: {key} is unknown (known: {", ".join(known)})')
    for key in needed:
        if key not in given:
            raise InputError(f'{where}: {key} is missing (add it)')


def _names(where: str, given: object) -> tuple[str, ...]:
    if (not isinstance(given, list) or not given
            or not all(isinstance(name, str) for name in given) or len(set(given)) < len(given)):
        raise InputError(f'{where} = {given!r} must be a list of different names')
    return tuple(given)


def _counts(where: str, given: object, splits: Sequence[str]) -> dict[str, int]:
    """Budgets by split: given as one number for all, or split by split."""
    counts = given if isinstance(given, dict) else dict.fromkeys(splits, given)
    for split, count in counts.items():
        if split not in splits:
            raise InputError(f'{where}: {split!r} is no split of it (known: {", ".join(splits)})')
        if type(count) is not int or not 0 < count <= _MOST_ACTIONS:
            raise InputError(f'{where}: {count!r} is no number of actions (give 1 to '
                             f'{_MOST_ACTIONS}, or one for each split)')
    return dict(counts)


def _domain_rules(where: str, given: Any) -> DomainRules:
    _check_keys(where, given, _DOMAIN_FIELDS, ('splits', 'max_actions'))
    splits = _names(f'{where}.splits', given['splits'])
    counts = _counts(f'{where}.max_actions', given['max_actions'], splits)
    missing = [split for split in splits if split not in counts]
    if missing:
        raise InputError(f'{where}.max_actions: nothing for {", ".join(missing)} (add it)')
    levels = [level.value for level in Privileged]
    privileged = given.get('privileged', Privileged.NONE.value)
    if privileged not in levels:
        raise InputError(f'{where}.privileged = {privileged!r} must be one of '
                         f'{", ".join(levels)}')
    items = given.get('method_rules', [])
    if not isinstance(items, list):
        raise InputError(f'{where}.method_rules = {items!r} must be a list')
    methods: dict[str, MethodRules] = {}
    for number, item in enumerate(items, start=1):
        place = f'{where}.method_rules[{number}]'
        _check_keys(place, item, _METHOD_FIELDS, ('methods',))
        stop = item.get('stop_at_goal', False)
        if not isinstance(stop, bool):
            raise InputError(f'{place}.stop_at_goal = {stop!r} must be true or false')
        rules = MethodRules(
            _counts(f'{place}.max_actions', item.get('max_actions', {}), splits), stop)
        for method in _names(f'{place}.methods', item['methods']):
            if method in methods:
                raise InputError(f'{place}.methods: {method} has rules already (give them once)')
            methods[method] = rules
    return DomainRules({split: counts[split] for split in splits}, Privileged(privileged), methods)


def suite_for(domain: str, split: str) -> Suite | None:
    """The suite that a domain's split belongs to, None if there is none."""
    for name in suite_names():
        suite = load_suite(name)
        if domain in suite.domains and split in suite.domains[domain].splits:
            return suite
    return None


@functools.cache
def _published(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text('utf-8'))
    return data


@functools.cache
def _published_names(path: Path) -> dict[str, str]:
    """Names of models in lower case, as they are written."""
    return {name.lower(): name for table in _published(path)['tables'] for name in table['models']}
