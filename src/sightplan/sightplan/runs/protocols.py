"""The protocol of a run: a named rule set of its suite, such as what the suite's paper fixes.

A protocol sets what a person would otherwise set one by one: how replies are read, options of the
method, the model and the world, and the rules of episodes. What suites rule for each split
(``settings.RULED``) is looked up where those rules are (``rules``); ``apply`` sets the rest, and
refuses settings that contradict the protocol.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from sightplan.agent import (
    answerer_names,
    answerer_settings,
    every_method,
    method_names,
    policy_settings,
)
from sightplan.domains import load_domain
from sightplan.model import InputError, did_you_mean, settings_fields
from sightplan.runs.problem_folders import splits_of
from sightplan.runs.rules import RULES, UNCHOSEN, of_suite, suite_of
from sightplan.runs.settings import ALL_SPLITS, OURS, RULED, RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite, sample_suite, suite_names
from sightplan.runs.suite_rules import (
    ALL_SAMPLES,
    FREE,
    OPTIONS,
    SAMPLES,
    ProtocolEntry,
    in_words,
    wrong_places,
)
from sightplan.runs.worlds import world_choices, world_defaults
from sightplan.vlm.api import backend_settings, usable_backends

Choices = Mapping[str, tuple[str, ...]]
"""The names of options, each with its choices, () where any value will do."""


def apply(settings: RunSettings, named: Collection[str] = ()) -> RunSettings:
    """Return the settings of a run with all that its protocol sets; again applied it is the same.

    Options apply where they exist: ``method_options.on_unparsed`` with the methods that have it.

    Args:
        settings: as a person gave them.
        named: dotted names of what the person set, where that is known; else what differs from
            its default counts as set.

    Raises:
        InputError: the run has no suite, or one without such a protocol; a setting contradicts
            the protocol, or a rule of the suite for episodes, which its protocols keep; or the
            protocol sets an option that nothing has.
    """
    if settings.protocol == OURS:
        return settings
    samples = sample_suite(settings.suite, settings.split)
    run = _Run(settings, _of_episodes(settings) if samples is None else samples)
    changes: dict[str, Any] = {}
    for name, (value, where) in run.settings().items():
        head, _, option = name.partition('.')
        if option:
            options = changes.setdefault(head, dict(getattr(settings, head)))
            known = run.options(head, option, where)
            if option in known:
                wanted = in_words(value, known[option])
                _check_agrees(settings, name, options.get(option, wanted), wanted, where)
                options[option] = wanted
        elif name not in RULED and samples is None:
            given = getattr(settings, name)
            if given != getattr(RunSettings(), name) or name in named:
                _check_agrees(settings, name, given, value, where)
            changes[name] = value
    if samples is None:
        _check_rules(run)
    return dataclasses.replace(settings, **changes)


def check_followed(settings: RunSettings) -> None:
    """Check that the nodes of a graph were started with what the protocol of its run sets.

    Args:
        settings: of the run, with what the nodes say of their own settings.

    Raises:
        InputError: they were not, or see ``apply``; names setting and remedy.
    """
    wanted = apply(settings)
    for name in (*FREE, *OPTIONS):
        if (value := getattr(wanted, name)) != (found := getattr(settings, name)):
            raise InputError(f'protocol {settings.protocol!r} sets {name} to {value!r}, but the '
                             f'nodes were started with {found!r}; start the graph with '
                             f'protocol:={settings.protocol}')


def _check_rules(run: _Run) -> None:
    """Check that the rules of a run's episodes are those of its suite under the protocol.

    Raises:
        InputError: a setting departs from a rule.
    """
    given, domain = run.given, load_domain(run.given.domain).name
    for name in RULED:
        chosen = getattr(given, name)
        for split in run.splits if chosen != UNCHOSEN[name] else ():
            ruled = of_suite(name, run.suite, domain, given.method, split, given.protocol)
            if ruled is not None:
                is_rule = RULES[name](given, run.suite, domain, split)
                _check_agrees(given, name, is_rule, ruled, str(run.suite.rules_file))


def _of_episodes(settings: RunSettings) -> Suite:
    """The suite of a run of episodes with a protocol.

    Raises:
        InputError: the run belongs to no suite; names suites with such a protocol.
    """
    suite = suite_of(settings, load_domain(settings.domain))
    if suite is None:
        having = [name for name in suite_names()
                  if settings.protocol in load_suite(name).protocols]
        raise InputError(
            f'protocol {settings.protocol!r} is one of a suite, and this run has none; name its '
            f'suite (suites with such a protocol: {", ".join(having) or "none"}), or use protocol '
            f'{OURS}')
    return suite


def _check_agrees(settings: RunSettings, name: str, given: Any, wanted: Any, where: str) -> None:
    if given != wanted and str(given) != str(wanted):
        raise InputError(f'{name} = {given!r} contradicts protocol {settings.protocol!r}, which '
                         f'sets it to {wanted!r} ({where}); leave it out, or use --protocol '
                         f'{OURS}')


@dataclasses.dataclass(frozen=True)
class _Run:
    """A run with a protocol.

    Attributes:
        given: its settings.
        suite: suite that it belongs to.
    """

    given: RunSettings
    suite: Suite

    @property
    def _samples(self) -> bool:
        return sample_suite(self.given.suite, self.given.split) is not None

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits of the run; '' for problems of none."""
        given = self.given
        if self._samples:
            every = given.split in (ALL_SPLITS, ALL_SAMPLES)
            return self.suite.splits if every else (given.split,)
        return splits_of(given, load_domain(given.domain))

    def settings(self) -> dict[str, tuple[Any, str]]:
        """Settings that the protocol fixes in the run, by dotted name, with the place of each.

        Raises:
            InputError: there is no such protocol, or it sets an option for some of the run's
                splits only.
        """
        given, splits = self.given, self.splits
        domain = '' if self._samples else load_domain(given.domain).name
        found: dict[str, tuple[Any, str]] = {}
        for number, split in enumerate(splits):
            part = self.suite.protocol_settings(given.protocol, domain, given.method, split,
                                                option=self._given)
            for name in found.keys() | part.keys() if number else ():
                if name not in RULED and found.get(name, '-')[0] != part.get(name, '-')[0]:
                    raise InputError(
                        f'{name}: protocol {given.protocol!r} sets it otherwise for split {split} '
                        f'than for {splits[0]} ({(part.get(name) or found[name])[1]}); run these '
                        'splits one by one')
            found |= part
        return found

    def _given(self, name: str) -> Any:
        """Return an option of the run by its dotted name; of the world, also its default."""
        head, _, option = name.partition('.')
        found = getattr(self.given, head).get(option)
        if found is None and head == 'world_options' and not self._samples:
            return world_defaults(self.given.domain).get(option)
        return found

    def options(self, head: str, option: str, where: str) -> Choices:
        """The options that the run's backend, method, world or suite has.

        Args:
            head: such as ``backend_options``.
            option: one that the protocol sets.
            where: the place that says so.

        Raises:
            InputError: there is no such option anywhere.
        """
        mine = {'backend_options': self._backend, 'method_options': self._method,
                'world_options': self._world, 'suite_options': self._suite}[head]()
        if mine is None:
            return {option: ()}
        if option in mine:
            return mine
        others = set(_elsewhere(head, self.suite))
        if option not in others:
            names = tuple(sorted({*mine, *others}))
            raise InputError(f'{where}: there is no setting {option!r} among {head}'
                             f'{did_you_mean(option, names)}; there are {", ".join(names)}; '
                             'correct it')
        return mine

    def _backend(self) -> Choices:
        return _choices(type(backend_settings(self.given.backend)))

    def _method(self) -> Choices:
        kind = answerer_settings if self._samples else policy_settings
        return _choices(type(kind(self.given.method)))

    def _world(self) -> Choices | None:
        return {} if self._samples else world_choices(self.given.domain)

    def _suite(self) -> Choices:
        kind = self.suite.settings if self._samples else None
        return {} if kind is None else _choices(kind)


def _choices(kind: type) -> Choices:
    return {field.name: field.choices or () for field in settings_fields(kind)}


@dataclasses.dataclass(frozen=True)
class _Owner:
    """A backend, method, world or suite that has options.

    Attributes:
        name: its name; of a world, that of the domain.
        choices: its options; None: only it itself knows.
        check: makes its settings from options; raises InputError.
    """

    name: str
    choices: Choices | None
    check: Callable[[Mapping[str, Any]], Any] = dict


def _owners(head: str, suite: Suite) -> Iterator[_Owner]:
    """Yield everything that may have options of a kind, such as ``backend_options``."""
    if head == 'backend_options':
        for name in usable_backends():
            yield _owner(name, backend_settings)
    elif head == 'method_options':
        for kind in suite.kinds:
            names, settings = ((answerer_names, answerer_settings) if kind == SAMPLES else
                               (method_names, policy_settings))
            for name in names():
                yield _owner(name, settings)
    elif head == 'world_options':
        for domain in suite.domains:
            yield _Owner(domain, world_choices(domain))
    elif suite.settings is not None:
        yield _Owner(suite.name, _choices(suite.settings))


def _owner(name: str, settings: Callable[..., Any]) -> _Owner:
    return _Owner(name, _choices(type(settings(name))), functools.partial(settings, name))


def _elsewhere(head: str, suite: Suite) -> Iterator[str]:
    """Yield the names of the options of a kind that any backend, method or world has."""
    for owner in _owners(head, suite):
        yield from owner.choices or ()


def violations(suite: Suite) -> Iterator[str]:
    """Yield what is wrong with the protocols of a suite, as sentences; part of the contract kit.

    Args:
        suite: the suite.
    """
    yield from wrong_places(suite.protocols, suite.domains, suite.splits)
    stated = suite.published.conditions
    if stated is not None and stated.protocol not in suite.protocols:
        yield (f'published.json: conditions.protocol = {stated.protocol!r} is no protocol of the '
               f'suite (it has {", ".join(suite.protocols) or "none"})')
    for protocol, entries in suite.protocols.items():
        for number, entry in enumerate(entries):
            where = f'{suite.rules_file}: protocols.{protocol}.{number}'
            for method in entry.methods:
                if method not in every_method():
                    yield (f'{where}.methods: {method!r} is unknown'
                           f'{did_you_mean(method, every_method())}')
            for name, value in entry.settings.items():
                head, _, option = name.partition('.')
                if option:
                    yield from _wrong_option(suite, entry, head, option, value,
                                             f'{where}.settings.{name}')


def _wrong_option(suite: Suite, entry: ProtocolEntry, head: str, option: str, value: Any,
                  where: str) -> Iterator[str]:
    """Yield what is wrong with an option of a protocol: nothing has it, or its value is bad."""
    named = {'method_options': entry.methods, 'world_options': entry.domains}.get(head, ())
    owners = [owner for owner in _owners(head, suite) if not named or owner.name in named]
    having = [owner for owner in owners if owner.choices is None or option in owner.choices]
    if not having:
        of = f' of {", ".join(named)}' if named else ''
        yield f'{where}: there is no setting {option!r} among {head}{of}'
    for owner in having:
        choices = (owner.choices or {}).get(option, ())
        wanted = in_words(value, choices)
        try:
            owner.check({option: wanted})
        except InputError as error:
            yield f'{where}: {error}'
        else:
            if choices and wanted not in choices:
                yield f'{where} = {wanted!r} must be one of {", ".join(choices)}'
