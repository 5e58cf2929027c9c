"""Reading a suite's folder."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sightplan.model import InputError

_ROOT = Path(__file__).resolve().parent
_EXCEPTIONS = 'method_rules'
_FIELDS = ('title', 'paper', 'kind', 'domains', 'max_actions', 'failure_probability', 'seed')


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
    """What a suite lays down for some of its methods.

    Attributes:
        max_actions: split to budget of actions per episode.
        stop_at_goal: whether an episode ends as soon as the goal holds in the true state.
    """

    max_actions: Mapping[str, int]
    stop_at_goal: bool


@dataclass(frozen=True, slots=True)
class Suite:
    """A benchmark of episodes.

    Attributes:
        name: the folder's name.
        title: name for people.
        paper: citation.
        kind: ``episodes`` or ``samples``.
        domains: domain name to its splits.
        max_actions: budget of actions per episode.
        methods: what differs for some methods.
        failure_probability: that of the main results.
        seed: seed of the main results.
        folder: where it is.
    """

    name: str
    title: str
    paper: str
    kind: str
    domains: Mapping[str, tuple[str, ...]]
    max_actions: int
    failure_probability: float
    seed: int
    folder: Path
    methods: Mapping[str, MethodRules] = field(default_factory=dict)

    def budget(self, method: str, split: str) -> int:
        """Actions per episode."""
        rules = self.methods.get(method)
        return self.max_actions if rules is None else rules.max_actions.get(
            split, self.max_actions)

    def stops_at_goal(self, method: str) -> bool:
        """Whether the suite ends an episode of a method at the goal."""
        rules = self.methods.get(method)
        return rules is not None and rules.stop_at_goal

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
    path = _ROOT / name / 'suite.yaml'
    raw = yaml.safe_load(path.read_text('utf-8'))
    if set(raw) - {_EXCEPTIONS} != set(_FIELDS):
        raise InputError(f'{path}: must have the fields {", ".join(_FIELDS)}, may have '
                         f'{_EXCEPTIONS}, and no other')
    domains = {domain: tuple(splits) for domain, splits in raw['domains'].items()}
    return Suite(name, raw['title'], ' '.join(raw['paper'].split()), raw['kind'], domains,
                 raw['max_actions'], float(raw['failure_probability']), raw['seed'], path.parent,
                 _method_rules(path, raw.get(_EXCEPTIONS) or []))


def _method_rules(path: Path, given: Any) -> dict[str, MethodRules]:
    try:
        return {method: MethodRules(
            {str(split): int(count) for split, count in item['max_actions'].items()},
            item['stop_at_goal'] is True)
            for item in given for method in item['methods']}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f'{path}: {_EXCEPTIONS}: give a list of items with methods (a list), '
                         'max_actions (split: number) and stop_at_goal (true or false)') from error


def suite_for(domain: str, split: str) -> Suite | None:
    """The suite that a domain's split belongs to, None if there is none."""
    for name in suite_names():
        suite = load_suite(name)
        if split in suite.domains.get(domain, ()):
            return suite
    return None


@functools.cache
def _published(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text('utf-8'))
    return data
