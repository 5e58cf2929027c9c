"""The rules of a suite for its episodes, and the file ``suite.yaml`` of a suite in a folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

import pydantic

from sightplan.model import InputError, Privileged, check_settings, did_you_mean, settings_fields
from sightplan.model.reading import Record
from sightplan.runs.settings import OURS, RULED, RunSettings

EPISODES, SAMPLES, BOTH = 'episodes', 'samples', 'both'
"""The kinds of items that a suite may have."""
ALL_SAMPLES = 'samples'
"""Stands for all splits of samples in place of a split, also in a suite with episodes."""
METHOD_OF_SAMPLES = 'ask'
"""The method with which ``sightplan run`` asks samples, unless another one is named."""

Goal = Literal['told', 'pictured']

Count = Annotated[int, pydantic.Field(gt=0, le=10_000)]
"""A budget of actions."""


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
        """Return the rules that differ for a method, None if none do."""
        return next((rule for rule in self.method_rules if method in rule.methods), None)


OPTIONS = ('backend_options', 'method_options', 'world_options', 'suite_options')
"""The settings of a run that hold settings of its parts; a dotted name begins with one."""
FREE = (*RULED, 'answers', 'failure_probability', 'planner_search')
"""The settings of a run, besides options, that a protocol may set."""
_WORDS = (('no', 'yes'), ('off', 'on'))
"""Words that YAML reads as false and true."""


class ProtocolEntry(Record):
    """Settings that a protocol of a suite gives to some of its runs.

    Attributes:
        domains, methods, splits: names of those whose runs get the settings; () for all.
        settings: value by dotted name, as sweeps have them: ``answers``, ``max_actions``,
            ``method_options.on_unparsed``.
        replies: whether the settings are about prompts and replies, so that they change nothing
            where the model is simulated and writes none.
        where: options by dotted name, such as ``world_options.view: 2d``; the settings are given
            only to runs that have them all.
        unless: likewise; the settings are not given to runs that have them all.
    """

    domains: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    replies: bool = False
    where: dict[str, str | int | float | bool] = pydantic.Field({})
    unless: dict[str, str | int | float | bool] = pydantic.Field({})
    settings: Annotated[dict[str, str | int | float | bool], pydantic.Field(min_length=1)]

    @pydantic.field_validator('where', 'unless')
    @classmethod
    def _options(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check that the names are those of options."""
        for name in given:
            if name.partition('.')[0] not in OPTIONS or '.' not in name:
                raise ValueError(f'{name} is no option (write {" or ".join(OPTIONS)}, a dot and '
                                 'the name)')
        return given

    @pydantic.field_validator('settings')
    @classmethod
    def _known(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check names and values of the settings that are no options of parts."""
        kinds = {field.name: field for field in settings_fields(RunSettings)}
        found = dict(given)
        for name, value in given.items():
            head, _, option = name.partition('.')
            if head in OPTIONS and option:
                continue
            if name not in FREE:
                names = (*FREE, *(f'{one}.NAME' for one in OPTIONS))
                raise ValueError(f'{name} is no setting that a protocol may set (known: '
                                 f'{", ".join(names)}{did_you_mean(name, names)}); correct it')
            found[name] = in_words(value, kinds[name].choices or ())
        try:
            check_settings(RunSettings(**{name: value for name, value in found.items()
                                          if name in FREE}))
        except InputError as error:
            raise ValueError(str(error)) from error
        return found

    def covers(self, domain: str, method: str, split: str) -> bool:
        """Whether it is about the items of a split ('' for problems of one's own) of a run."""
        return all(not names or name in names for names, name in (
            (self.domains, domain), (self.methods, method), (self.splits, split)))

    def meets(self, option: Callable[[str], Any]) -> bool:
        """Whether a run has what ``where`` says, and not what ``unless`` says.

        Args:
            option: returns an option of the run by its dotted name, None where there is none.
        """
        def has(wanted: Mapping[str, Any]) -> bool:
            return all(_same(option(name), value) for name, value in wanted.items())
        return has(self.where) and not (self.unless and has(self.unless))


def _same(found: Any, wanted: Any) -> bool:
    """Whether two options are equal, also where one of them is the text of a number."""
    if found is None or isinstance(found, bool) or isinstance(wanted, bool):
        return bool(found == wanted)
    try:
        return float(found) == float(wanted)
    except (TypeError, ValueError):
        return str(found) == str(wanted)


def in_words(value: Any, choices: tuple[str, ...]) -> Any:
    """A value, as a word (``yes``) where YAML made true or false of the word of a choice."""
    if isinstance(value, bool):
        return next((words[value] for words in _WORDS if set(words) <= set(choices)), value)
    return value


class SuiteFile(Record):
    """Content of ``suite.yaml``.

    Attributes:
        title: name for people.
        paper: citation.
        kind: ``episodes``, ``samples`` or ``both``.
        domains: of episodes: each domain's splits and rules, by name.
        splits: of samples.
        failure_probability: that of the main results.
        seed: seed of the main results.
        sample_kinds: details of samples that tell their kinds, such as ``predicate``; a run with
            fewer samples than there are takes some of each kind.
        asks_for_text: see ``Suite``.
        protocols: by name, what a protocol sets besides the rules above; of entries that set the
            same, the last one counts.
    """

    title: str
    paper: str = ''
    kind: Literal['episodes', 'samples', 'both']
    domains: dict[str, DomainRules] = pydantic.Field({})
    splits: tuple[str, ...] = ()
    failure_probability: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    seed: int = 0
    sample_kinds: tuple[str, ...] = ()
    asks_for_text: bool = False
    protocols: dict[str, tuple[ProtocolEntry, ...]] = pydantic.Field({})

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
        if wrong := wrong_places(self.protocols, self.domains, self.splits):
            raise ValueError(wrong[0])
        return self


def wrong_places(protocols: Mapping[str, tuple[ProtocolEntry, ...]],
                 domains: Mapping[str, DomainRules], splits: tuple[str, ...]) -> list[str]:
    """Return what is wrong with the names of protocols, and of domains and splits in them.

    Args:
        protocols: of a suite.
        domains: its domains of episodes.
        splits: its splits of samples.
    """
    wrong = [f'protocols: {OURS} is what there is without a protocol (choose another name)'
             ] if OURS in protocols else []
    for name, entries in protocols.items():
        for number, entry in enumerate(entries):
            of = [domains[domain] for domain in entry.domains or domains if domain in domains]
            known = {'domains': tuple(domains), 'splits': tuple(dict.fromkeys(
                [*(split for rules in of for split in rules.splits), *splits]))}
            wrong += [f'protocols.{name}.{number}.{kind}: {one!r} is unknown (known: '
                      f'{", ".join(names) or "none"})' for kind, names in known.items()
                      for one in getattr(entry, kind) if one not in names]
    return wrong
