"""Suite rules for the episodes of a run: as set, else the suite's, else ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from sightplan.domains import Domain
from sightplan.model import InputError, Privileged
from sightplan.runs.problem_folders import splits_of
from sightplan.runs.settings import OURS, PICTURED, RULED, TOLD, RunSettings
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite, suite_for
from sightplan.runs.suite_rules import EPISODES, SAMPLES

DEFAULT_MAX_ACTIONS = 20
"""Budget of actions of an episode that no suite has a rule for."""
UNCHOSEN: Mapping[str, Any] = {name: getattr(RunSettings(), name) for name in RULED}
"""Settings with which a run follows its suite's rules."""


def suite_of(settings: RunSettings, domain: Domain) -> Suite | None:
    """The suite that a run of episodes belongs to, None for none.

    The one that is named; else the one that all its splits belong to. Problems of a folder are of
    the splits that its name tells.

    Raises:
        InputError: there is none of that name, it is not one of episodes, or it lacks the domain
            or the split.
    """
    splits = splits_of(settings, domain)
    if not settings.suite:
        found = {suite.name: suite for split in splits
                 if (suite := suite_for(domain.name, split)) is not None}
        return next(iter(found.values())) if len(found) == 1 else None
    suite = load_suite(settings.suite)
    if suite.kind_of(settings.split) != EPISODES:
        which = '' if suite.kind == SAMPLES else f'split {settings.split} of '
        raise InputError(f'{which}suite {suite.name} is one of samples; it has no episodes, and '
                         f'needs no graph: start it by "sightplan run --suite {settings.suite}"')
    for split in splits:
        if split or not settings.problems:
            suite.budget(domain.name, settings.method, split)
    return suite


def _chosen(name: str, settings: RunSettings, suite: Suite | None, domain: str, split: str) -> Any:
    """A setting that suites rule: as set, else as the run's protocol sets it, else its default."""
    given = getattr(settings, name)
    if given != UNCHOSEN[name] or suite is None or domain not in suite.domains:
        return given
    found = suite.protocol_settings(settings.protocol, domain, settings.method, split)
    return found[name][0] if name in found else given


def _ruling(settings: RunSettings, suite: Suite | None, domain: str, split: str) -> str:
    """Return the split whose rules hold.

    It is the episode's own; for problems of none any split of the suite that the run names, if
    all have the same rules; else ''.
    """
    if split or suite is None or domain not in suite.domains:
        return split
    splits = suite.domains[domain].splits
    rules = {(suite.budget(domain, settings.method, one), suite.privileged(domain, one),
              suite.pictures_goal(domain, one)) for one in splits}
    return splits[0] if len(rules) == 1 else ''


def budget(settings: RunSettings, suite: Suite | None, domain: str, split: str) -> int:
    """Actions per episode: as set, else the suite's for method and split, else 20."""
    chosen: int = _chosen('max_actions', settings, suite, domain, split)
    if chosen:
        return chosen
    split = _ruling(settings, suite, domain, split)
    return (suite.budget(domain, settings.method, split) if covers(suite, domain, split)
            else DEFAULT_MAX_ACTIONS)


def stops_at_goal(settings: RunSettings, suite: Suite | None, domain: str, split: str) -> bool:
    """Whether episodes end at the goal: as set, else as the suite grants it, else not."""
    chosen = _chosen('stop_at_goal', settings, suite, domain, split)
    if chosen != 'suite':
        return bool(chosen == 'yes')
    split = _ruling(settings, suite, domain, split)
    return covers(suite, domain, split) and suite.stops_at_goal(domain, settings.method)


def privileged(settings: RunSettings, suite: Suite | None, domain: str, split: str,
               ) -> Privileged:
    """Return when facts about what is out of view are provided.

    The setting decides; if it is ``suite``, the suite's rule does, and without a rule the policy
    gets no facts.
    """
    chosen = _chosen('privileged', settings, suite, domain, split)
    if chosen != 'suite':
        return Privileged(chosen)
    split = _ruling(settings, suite, domain, split)
    return suite.privileged(domain, split) if covers(suite, domain, split) else Privileged.NONE


def pictured_goal(settings: RunSettings, suite: Suite | None, domain: str, split: str) -> bool:
    """Whether the goal is shown as a picture: as set, else as the suite shows it, else not."""
    chosen = _chosen('goal', settings, suite, domain, split)
    if chosen != 'suite':
        return bool(chosen == PICTURED)
    split = _ruling(settings, suite, domain, split)
    return covers(suite, domain, split) and suite.pictures_goal(domain, split)


RULES: Mapping[str, Callable[[RunSettings, Suite | None, str, str], Any]] = {
    'max_actions': budget,
    'stop_at_goal': stops_at_goal,
    'privileged': lambda *place: privileged(*place).value,
    'goal': lambda *place: PICTURED if pictured_goal(*place) else TOLD,
}
"""Every rule of an episode that a suite may make, by its name in the identity of a run.

Each is called with the settings of the run, its suite, domain and split, and gives JSON data.
"""


def of_run(settings: RunSettings, suite: Suite | None, domain: str, splits: Iterable[str],
           ) -> dict[str, dict[str, Any]]:
    """Return all rules of a run by name and split, as in the identity of the run.

    Args:
        settings: settings of the run.
        suite: suite that the run belongs to, None for none.
        domain: name of the domain.
        splits: splits of the run's episodes; '' for problems of none, written as "-".
    """
    return {name: {split or '-': rule(settings, suite, domain, split) for split in splits}
            for name, rule in RULES.items()}


def of_suite(name: str, suite: Suite | None, domain: str, method: str, split: str,
             protocol: str = OURS) -> Any:
    """Return a suite's rule for the episodes of a method, None if it has no rules for the split.

    Args:
        name: one of ``RULES``.
        suite: the suite; None for none.
        domain: for example ``blocksworld``.
        method: for example ``ground``.
        split: for example ``simple``.
        protocol: of the suite, which may rule otherwise; one that the suite does not have any
            more counts as ``ours``.
    """
    if not covers(suite, domain, split):
        return None
    protocol = protocol if protocol in suite.protocols else OURS
    return RULES[name](RunSettings(domain=domain, method=method, protocol=protocol), suite,
                       domain, split)


def covers(suite: Suite | None, domain: str, split: str) -> TypeGuard[Suite]:
    """Whether a suite has a split of a domain, so that it rules its episodes."""
    return (suite is not None and domain in suite.domains
            and split in suite.domains[domain].splits)
