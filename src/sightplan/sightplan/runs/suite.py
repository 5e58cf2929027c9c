"""A suite: one folder that says everything about a benchmark; found by name or by its path.

``suite.yaml`` (its rules), ``episodes.py``, ``samples.py`` or both (its items), ``reading.py`` (a
reply to an answer), ``scoring.py`` (an answer to measures), ``published.json`` (numbers to compare
with), and where it has any ``report.py`` (tables and figures) and ``commands.py`` (verbs). Modules
are imported when they are needed.

Items are episodes or samples. A suite may have both; then its splits tell which (``kind_of``).
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, Self, TypeVar

import pydantic

from sightplan.metrics.measures import Measure
from sightplan.model import InputError, Privileged, check_settings, plugins, settings_fields
from sightplan.model.reading import Record, read_file

GROUP = 'sightplan.suites'
MARKER = 'suite.yaml'
EPISODES, SAMPLES, BOTH = 'episodes', 'samples', 'both'
ALL_SAMPLES = 'samples'
"""In place of a split: all splits of samples, also where a suite has episodes, too."""
_PACKAGE = 'sightplan.suites'
T = TypeVar('T')

Goal = Literal['told', 'pictured']

Count = Annotated[int, pydantic.Field(gt=0, le=10_000)]
"""A budget of actions."""


class Unread(Exception):
    """A reply cannot be read; the message says why."""


@dataclass(frozen=True, slots=True)
class Scored:
    """What an answer was worth.

    Attributes:
        measures: by name; None: not scored in it.
        cause: why it failed, None if it did not.
    """

    measures: Mapping[str, float | None]
    cause: str | None = None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a suite found in a folder of data.

    Attributes:
        counts: what is usable, by kind.
        skipped: what is not: ``file`` and ``reason`` of each.
        noted: what is usable, but says something that is not so, likewise.
    """

    counts: Mapping[str, int]
    skipped: list[dict[str, str]] = field(default_factory=list)
    noted: list[dict[str, str]] = field(default_factory=list)


class Published(Record):
    """One published number.

    Attributes:
        where: what it is of: domain, method, split, failure_probability, as far as they matter.
        model: as the paper calls it.
        measure: name of a measure, or of what else is compared.
        value: the number.
        sem: its standard error as printed, None where there is none.
        n: number of items, None where it is not told.
        source: table or figure it stands in.
    """

    where: dict[str, str | float]
    model: str
    measure: str
    value: float
    sem: float | None = None
    n: int | None = None
    source: str


class PublishedFile(Record):
    """Content of ``published.json``: rows, and other names of models in lower case."""

    paper: str = ''
    about: str = ''
    aliases: dict[str, str] = pydantic.Field({})
    rows: tuple[Published, ...]


class MethodRules(Record):
    """Suite rules for some of its methods in a domain.

    Attributes:
        methods: their names.
        max_actions: budget of actions per episode, or split to budget; else the domain's.
        stop_at_goal: whether an episode ends as soon as the goal holds in the true state.
    """

    methods: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]
    max_actions: Count | dict[str, Count] = pydantic.Field({})
    stop_at_goal: bool = False


class DomainRules(Record):
    """Suite rules for one of its domains.

    Attributes:
        splits: the domain's splits that belong to the suite.
        max_actions: budget of actions per episode, or split to budget.
        privileged: when a policy is provided with facts about what is out of view, or split to
            that.
        goal: how a policy learns the goal, ``told`` or ``pictured``, or split to that.
        stop_at_goal: whether an episode of any method ends as soon as the goal holds in the true
            state.
        method_rules: what differs for some methods.
    """

    splits: Annotated[tuple[str, ...], pydantic.Field(min_length=1)]
    max_actions: Count | dict[str, Count]
    privileged: Privileged | dict[str, Privileged] = Privileged.NONE
    goal: Goal | dict[str, Goal] = 'told'
    stop_at_goal: bool = False
    method_rules: tuple[MethodRules, ...] = ()

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Self:
        if len(set(self.splits)) < len(self.splits):
            raise ValueError('splits must be different names')
        for rule in self.method_rules:
            self._check_splits('max_actions', rule.max_actions)
        for name, value in (('max_actions', self.max_actions), ('privileged', self.privileged),
                            ('goal', self.goal)):
            self._check_splits(name, value)
            if isinstance(value, dict):
                missing = [split for split in self.splits if split not in value]
                if missing:
                    raise ValueError(f'{name}: nothing for {", ".join(missing)} (add it)')
        named = [method for rule in self.method_rules for method in rule.methods]
        if len(set(named)) < len(named):
            twice = next(name for name in named if named.count(name) > 1)
            raise ValueError(f'method_rules: {twice} has rules already (write them once)')
        return self

    def _check_splits(self, name: str, value: object) -> None:
        for split in value if isinstance(value, dict) else ():
            if split not in self.splits:
                raise ValueError(f'{name}: {split!r} is no split of it (known: '
                                 f'{", ".join(self.splits)})')

    def rule(self, method: str) -> MethodRules | None:
        """What differs for a method, None for nothing."""
        return next((rule for rule in self.method_rules if method in rule.methods), None)


class Suite(Record):
    """A benchmark, as its ``suite.yaml`` describes it.

    Attributes:
        title: name for people.
        paper: citation.
        kind: ``episodes``, ``samples`` or ``both``; of a split ``kind_of`` tells it.
        domains: of episodes: each domain's splits and rules, by name.
        splits: of samples.
        failure_probability: that of the main results.
        seed: seed of the main results.
    """

    title: str
    paper: str = ''
    kind: Literal['episodes', 'samples', 'both']
    domains: dict[str, DomainRules] = pydantic.Field({})
    splits: tuple[str, ...] = ()
    failure_probability: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    seed: int = 0
    _folder: Path = pydantic.PrivateAttr(default=Path())

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Self:
        if self.kind == EPISODES and (not self.domains or self.splits):
            raise ValueError('a suite of episodes has domains, and splits below each of them')
        if self.kind == SAMPLES and (not self.splits or self.domains):
            raise ValueError('a suite of samples has splits, and no domains')
        if self.kind == BOTH and (not self.splits or not self.domains):
            raise ValueError('a suite of both has domains, whose splits are episodes, and splits, '
                             'which are samples')
        taken = {ALL_SAMPLES: 'stands for all of them', **{
            split: f'is one of {domain}, of episodes' for domain, rules in self.domains.items()
            for split in rules.splits}}
        for split in self.splits:
            if split in taken:
                raise ValueError(f'splits: {split} {taken[split]} (choose another name)')
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """What its items are: ``episodes``, ``samples``, or both in this order."""
        return (EPISODES, SAMPLES) if self.kind == BOTH else (self.kind,)

    def kind_of(self, split: str) -> str:
        """Whether the items of a split are ``episodes`` or ``samples``.

        Args:
            split: one of it, ``all`` or ``samples``. Where the suite has both kinds, all else
                than its splits of samples and ``samples`` is about episodes.
        """
        if self.kind == BOTH:
            return SAMPLES if split in (*self.splits, ALL_SAMPLES) else EPISODES
        return self.kind

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self._folder

    @property
    def name(self) -> str:
        """Its name: the folder's."""
        return self._folder.name

    def rules(self, domain: str) -> DomainRules:
        """Rules for a domain.

        Raises:
            InputError: the suite has no such domain.
        """
        if domain not in self.domains:
            raise InputError(f'suite {self.name} has no domain {domain!r} (it has '
                             f'{", ".join(self.domains) or "none"})')
        return self.domains[domain]

    def budget(self, domain: str, method: str, split: str) -> int:
        """Actions per episode of a method on a split.

        Raises:
            InputError: the suite has no such domain or split.
        """
        rules = self._rules_of(domain, split)
        rule = rules.rule(method)
        own: int | dict[str, int] = {} if rule is None else rule.max_actions
        if isinstance(own, int):
            return own
        counts = rules.max_actions
        return own.get(split) or (counts if isinstance(counts, int) else counts[split])

    def _rules_of(self, domain: str, split: str) -> DomainRules:
        rules = self.rules(domain)
        if split not in rules.splits:
            raise InputError(f'suite {self.name} has no split {split!r} of {domain} (it has '
                             f'{", ".join(rules.splits)})')
        return rules

    def stops_at_goal(self, domain: str, method: str) -> bool:
        """Whether the suite ends an episode of a method at the goal.

        Raises:
            InputError: the suite has no such domain.
        """
        rules = self.rules(domain)
        rule = rules.rule(method)
        return rules.stop_at_goal or (rule is not None and rule.stop_at_goal)

    def privileged(self, domain: str, split: str) -> Privileged:
        """When the suite grants facts about what is out of view.

        Raises:
            InputError: the suite has no such domain or split.
        """
        granted = self._rules_of(domain, split).privileged
        return granted if isinstance(granted, Privileged) else granted[split]

    def pictures_goal(self, domain: str, split: str) -> bool:
        """Whether the suite shows the goal as a picture.

        Raises:
            InputError: the suite has no such domain or split.
        """
        goal = self._rules_of(domain, split).goal
        return (goal if isinstance(goal, str) else goal[split]) == 'pictured'

    def measures(self, kind: str) -> tuple[Measure, ...]:
        """Measures of its episodes or samples.

        Those of a suite with one kind are ``scoring.MEASURES``; with both kinds those are the
        ones of episodes, and ``scoring.SAMPLE_MEASURES`` the ones of samples.

        Args:
            kind: ``episodes`` or ``samples``.

        Raises:
            InputError: it has no ``scoring.py``, or that cannot be imported.
        """
        scoring = self.module('scoring')
        found: tuple[Measure, ...] = (scoring.SAMPLE_MEASURES if self.kind == BOTH
                                      and kind == SAMPLES else scoring.MEASURES)
        return found

    def primary(self, kind: str) -> Measure:
        """The measure that its episodes or samples are compared by."""
        return next(measure for measure in self.measures(kind) if measure.primary)

    def has(self, module: str) -> bool:
        """Whether it has a module (an optional one)."""
        return (self.folder / f'{module}.py').is_file()

    def module(self, name: str) -> Any:
        """One of its modules: ``scoring``, ``reading``, ``samples``, ...

        Raises:
            InputError: there is none, or it cannot be imported; names file and reason.
        """
        path = self.folder / f'{name}.py'
        if not path.is_file():
            raise InputError(f'suite {self.name!r}: {path} is missing')
        try:
            return importlib.import_module(f'{_package(self.folder)}.{name}')
        except Exception as error:
            raise InputError(f'suite {self.name!r}: {path} cannot be imported: '
                             f'{type(error).__name__}: {error}') from error

    def published(self, model: str, measure: str, **where: str | float) -> Published | None:
        """A number of the paper, None if it reports none.

        Args:
            model: as the paper calls it, or as ``aliases`` in published.json do; any case.
            measure: for example ``solved``.
            where: for example ``domain='blocksworld', method='ground', split='simple',
                failure_probability=0.0``: what the number is of, all of it.
        """
        name = self.model_name(model)
        return _numbers(self.folder).get((name, measure, frozenset(where.items())))

    def published_splits(self, domain: str) -> frozenset[str]:
        """Those splits of a domain of which the paper has numbers; none of another domain."""
        table = _published(self.folder)
        return frozenset() if table is None or domain not in self.domains else frozenset(
            str(row.where.get('split')) for row in table.rows
            if row.where.get('domain') == domain).intersection(self.domains[domain].splits)

    @property
    def published_methods(self) -> frozenset[str]:
        """The methods, and means over methods, that the paper has numbers of."""
        table = _published(self.folder)
        return frozenset() if table is None else frozenset(
            str(row.where['method']) for row in table.rows if 'method' in row.where)

    @property
    def published_models(self) -> tuple[str, ...]:
        """The models that the paper has numbers of, as it calls them, in the order of the file."""
        table = _published(self.folder)
        return () if table is None else tuple(dict.fromkeys(row.model for row in table.rows))

    def model_name(self, model: str) -> str | None:
        """What the paper calls a model, None if it has no number of it.

        Args:
            model: the paper's name, or one of ``aliases`` in published.json, such as that of a
                repository: in any case, with spaces, underscores or hyphens between its words,
                with or without the folder or the organisation that it lies in.
        """
        names = _names(self.folder)
        return names.get(_model_key(model)) or names.get(
            _model_key(model.rstrip('/').rpartition('/')[2]))

    def model_with_other_weights(self, model: str) -> str | None:
        """The published model that another one is named after, None if there is none.

        Quantised and fine-tuned weights are called like the model that they were made of, with
        more words behind: ``Qwen2.5-VL-72B-Instruct-AWQ``, ``InternVL3-8B FP8``. The paper's
        numbers say nothing about them.

        Args:
            model: a name of which the paper has no number.
        """
        words = _model_key(model.rstrip('/').rpartition('/')[2]).split('-')
        return next(filter(None, (self.model_name('-'.join(words[:count]))
                                  for count in range(len(words) - 1, 0, -1))), None)


def suite_folders() -> dict[str, Path]:
    """Folders of the suites by name: ours, and those of installed packages."""
    return plugins.folders(_root(), MARKER, GROUP)


def suite_names() -> tuple[str, ...]:
    """Names of the suites that are found without a path."""
    return tuple(suite_folders())


def load_suite(name: str) -> Suite:
    """Load a suite.

    Args:
        name: its name, or the path of its folder.

    Raises:
        InputError: there is none, or its ``suite.yaml`` cannot be used.
    """
    return read_suite(plugins.folder('suite', name, _root(), MARKER, GROUP))


def suite_reference(name: str) -> str:
    """What finds a suite from any working directory: its name, or the path of its folder.

    Args:
        name: one of ``suite_names()``, or the path of a folder.

    Raises:
        InputError: there is no such suite.
    """
    return plugins.find_folder('suite', name, _root(), MARKER, GROUP).reference


def read_suite(folder: Path) -> Suite:
    """Read a suite's folder.

    Raises:
        InputError: its ``suite.yaml`` cannot be used; names file, field and remedy.
    """
    path = f'{folder}/{MARKER}'
    try:
        changed_ns = os.stat(path).st_mtime_ns
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    return _read(folder, changed_ns)


def suite_settings(name: str, cls: type[T], options: Mapping[str, Any]) -> T:
    """Settings of a suite from its options (``--suite-option``).

    Args:
        name: of the suite.
        cls: dataclass of its settings.
        options: as given.

    Raises:
        InputError: an unknown option or a bad value.
    """
    known = [found.name for found in settings_fields(cls)]
    for option in options:
        if option not in known:
            raise InputError(f'suite {name} has no option {option!r}; it has {", ".join(known)}')
    settings = cls(**options)
    check_settings(settings, f'suite {name}')
    return settings


def sample_suite(name: str, split: str) -> Suite | None:
    """The suite of a run of samples; None: it is one of episodes.

    Args:
        name: of the suite that the run names, or the path of its folder; '' for none.
        split: that the run names.

    Raises:
        InputError: there is no such suite.
    """
    suite = load_suite(name) if name else None
    return suite if suite is not None and suite.kind_of(split) == SAMPLES else None


def suite_for(domain: str, split: str) -> Suite | None:
    """The suite of episodes that a domain's split belongs to, None if there is none."""
    for suite in map(read_suite, suite_folders().values()):
        if domain in suite.domains and split in suite.domains[domain].splits:
            return suite
    return None


@functools.lru_cache(maxsize=64)
def _read(folder: Path, changed_ns: int) -> Suite:
    suite = read_file(Suite, folder / MARKER)
    suite._folder = folder
    return suite


def _root() -> Path:
    """Where suites are looked for by name."""
    return _ours()


@functools.cache
def _ours() -> Path:
    """The folder of our own suites."""
    spec = importlib.util.find_spec(_PACKAGE)
    assert spec is not None and spec.submodule_search_locations
    return Path(next(iter(spec.submodule_search_locations)))


@functools.cache
def _package(folder: Path) -> str:
    """Name of the package whose modules are a suite's; one from a path gets a name of its own."""
    if folder.parent == _ours():
        return f'{_PACKAGE}.{folder.name}'
    digest = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    package = ModuleType(f'_sightplan_suite_{digest}')
    package.__path__ = [str(folder)]
    sys.modules[package.__name__] = package
    return package.__name__


@functools.cache
def _published(folder: Path) -> PublishedFile | None:
    path = folder / 'published.json'
    return read_file(PublishedFile, path) if path.is_file() else None


@functools.cache
def _numbers(folder: Path) -> dict[tuple[str | None, str, frozenset[Any]], Published]:
    """Rows by model, measure and what they are of; of equal ones the first counts."""
    table = _published(folder)
    found: dict[tuple[str | None, str, frozenset[Any]], Published] = {}
    for row in () if table is None else table.rows:
        found.setdefault((row.model, row.measure, frozenset(row.where.items())), row)
    return found


@functools.cache
def _names(folder: Path) -> dict[str, str]:
    """The paper's names of models by the keys (``_model_key``) of all that they are called."""
    table = _published(folder)
    if table is None:
        return {}
    found = {_model_key(row.model): row.model for row in table.rows}
    aliases = {alias: found[_model_key(name)] for alias, name in table.aliases.items()
               if _model_key(name) in found}
    return {**{_model_key(alias.rpartition('/')[2]): name for alias, name in aliases.items()},
            **{_model_key(alias): name for alias, name in aliases.items()}, **found}


def _model_key(name: str) -> str:
    """The name of a model without what tells no models apart: case, and signs between words."""
    return re.sub(r'[\s_-]+', '-', name.strip().lower())
