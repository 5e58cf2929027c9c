"""The rules of a suite for its episodes, and the file ``suite.yaml`` of a suite in a folder."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import pydantic

from sightplan.model import Privileged
from sightplan.model.reading import Record

EPISODES, SAMPLES, BOTH = 'episodes', 'samples', 'both'
"""The kinds of items that a suite may have."""
ALL_SAMPLES = 'samples'
"""Stands for all splits of samples in place of a split, also in a suite with episodes."""

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
    """

    title: str
    paper: str = ''
    kind: Literal['episodes', 'samples', 'both']
    domains: dict[str, DomainRules] = pydantic.Field({})
    splits: tuple[str, ...] = ()
    failure_probability: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0
    seed: int = 0

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
