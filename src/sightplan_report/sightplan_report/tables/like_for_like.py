"""Conditions of results and of the published numbers beside them, and their differences.

A number of a paper is compared, as a distance in standard errors, with results of its protocol
only: the same rules, tokens of a reply, prompts, and the same fate of replies that cannot be read.
Else the words about what differs stand in place of the distance.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sightplan.agent import answerer_settings, policy_settings
from sightplan.model import InputError
from sightplan.runs.published import PublishedConditions
from sightplan.runs.rules import RULES, covers, of_suite
from sightplan.runs.suite import Suite
from sightplan.runs.worlds import world_defaults
from sightplan.vlm.api import backend_reads_prompt
from sightplan_report.conditions import protocol_of, samples_by_split
from sightplan_report.lines import EPISODE, SAMPLE
from sightplan_report.results import Group, RunResults

_ON_UNPARSED, _TOKENS = 'on_unparsed', 'reply_tokens'
_UNREAD = {'stop': 'ends the episode', 'continue': 'the episode goes on'}
"""Consequences of a reply that cannot be read, by the method's setting ``on_unparsed``."""
_FITTED = "rates fitted to the paper's success"
"""Words in place of a distance of a simulated planner, whose success says nothing new."""
_OUR_ITEMS = 'tasks and pictures of our own'
_GRANTED = 'suite_options.granted'
"""Option with what a suite tells models that read no sentences; others ignore it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Conditions of episodes; several values where they were not all alike.

    Attributes:
        protocol: rule set of the suite.
        actions: budget of an episode; empty for samples.
        tokens: most tokens of a reply; empty where no model writes any.
        prompts: whose words the model got; empty likewise.
        unread: what becomes of a reply that cannot be read.
        shown: settings that the suite has beside its figures, with their values.
    """

    protocol: tuple[str, ...]
    actions: tuple[str, ...]
    tokens: tuple[str, ...]
    prompts: tuple[str, ...]
    unread: tuple[str, ...]
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return protocol, settings, budgets, prompts and fate of unread replies in words."""
        said = [f'protocol {"/".join(self.protocol)}', *self.shown]
        if self.actions:
            said.append(f'{"/".join(self.actions)} actions')
        if self.tokens:
            said.append(f'{"/".join(self.tokens)} tokens a reply')
        if self.prompts:
            said.append('/'.join(self.prompts))
        if self.unread:
            said.append(f'unread: {"/".join(self.unread)}')
        return ', '.join(said)


def measured(group: Group, split: str) -> Measured:
    """Return protocol, budgets, prompts and fate of unread replies of a split of a group."""
    return joined(_measured(run, split) for run in group.runs if split in run.splits)


def joined(parts: Iterable[Measured]) -> Measured:
    """The values of several, each once, in their order."""
    found = list(parts)
    return Measured(*(tuple(dict.fromkeys(value for part in found
                                          for value in getattr(part, field.name)))
                      for field in fields(Measured)))


def _measured(run: RunResults, split: str) -> Measured:
    tokens, unparsed = _tokens(run), run.identity['method'].get(_ON_UNPARSED)
    if run.imported and (theirs := _fixed(run.ruling_suite)) is not None:
        tokens, unread = theirs.reply_tokens, theirs.unread
    else:
        unread = ', '.join(filter(None, ('wrong', _UNREAD.get(str(unparsed)))))
    actions = (_text(run.rules['max_actions'].get(split)),) if run.kind == EPISODE else ()
    return Measured(
        (protocol_of(run.identity),), actions,
        (_text(tokens),) if tokens else (), tuple(filter(None, (_prompts(run),))),
        (unread,) if run.identity.get('backend') else (), tuple(_shown(run, split)))


def _shown(run: RunResults, split: str) -> Iterable[str]:
    """Yield the settings that the run's suite has beside its figures, with their values."""
    suite = run.ruling_suite
    fixed = _fixed(suite)
    for name in () if fixed is None else fixed.shown:
        found = _recorded(run, name, split)
        if found is not None and not (name == _GRANTED and _reads_prompt(run)):
            yield f'{name.rpartition(".")[2]} {found}'


def _tokens(run: RunResults) -> int | None:
    """Most tokens of a reply; None where none are written."""
    own = run.identity.get(_TOKENS)
    if own or not _reads_prompt(run):
        return own
    return (run.identity.get('suite_prompt') or {}).get('max_tokens')


def _prompts(run: RunResults) -> str:
    """Whose prompts a model that reads them got; '' where none reads them."""
    if run.imported:
        return "the paper's prompts"
    if not _reads_prompt(run):
        return ''
    given: Mapping[str, Any] = run.identity.get('prompts') or {}
    fixed = _fixed(run.ruling_suite)
    official = given.get('official') and (fixed is None or fixed.prompts_published)
    return ('our prompts' if not given else "the paper's prompts" if official
            else f'prompts of {given.get("folder")}')


def _reads_prompt(run: RunResults) -> bool:
    """Whether the run's model is given a prompt; a backend that is not installed may be."""
    backend = run.identity.get('backend')
    if not backend or not run.identity.get('prompt'):
        return False
    try:
        return backend_reads_prompt(run.backend)
    except InputError:
        return True


def published_with(*parts: tuple[Group, str]) -> str:
    """Conditions of the paper's numbers for splits of groups; '': not known."""
    found = [_published_with(*part) for part in parts]
    known = [one for one in found if one is not None]
    return str(joined(known)) if known else ''


def _published_with(group: Group, split: str) -> Measured | None:
    suite = group.suite_with(split)
    fixed = _fixed(suite)
    if fixed is None:
        return None
    budget = of_suite('max_actions', suite, group.domain, group.method, split, fixed.protocol)
    return _as_published(suite, fixed, (_text(budget),))


def _as_published(suite: Suite | None, fixed: PublishedConditions, actions: tuple[str, ...],
                  tokens: int | None = None) -> Measured:
    entries = () if suite is None else suite.protocols.get(fixed.protocol, ())
    ruled = {name: value for entry in entries for name, value in entry.settings.items()}
    tokens = tokens or fixed.reply_tokens
    return Measured((fixed.protocol,), actions, (_text(tokens),) if tokens else (),
                    ('prompts of the paper',) if fixed.prompts else (), (fixed.unread,),
                    tuple(f'{name.rpartition(".")[2]} {ruled[name]}' for name in fixed.shown))


def compared(group: Group, split: str, tokens: int | None = None) -> dict[str, str | None]:
    """Return the cells ``measured`` and ``unlike`` of a row beside a paper's numbers.

    They hold what the row was measured with, and all in which that is not what the paper's were.

    Args:
        group: the runs of the row.
        split: of its figures.
        tokens: most tokens of a reply in the paper, where that is not what its other numbers were
            measured with.
    """
    protocols, settings, others = (dict.fromkeys(part) for part in _differences(
        group, split, tokens))
    return {'measured': str(measured(group, split)), 'unlike': '; '.join(filter(None, (
        ', '.join([*protocols, *others]), ', '.join(settings)))) or None}


def paper_compared(suite: Suite, actions: int | None = None, tokens: int | None = None,
                   model: str = '') -> dict[str, str | None]:
    """Return the cell ``measured`` of a row of a paper's numbers.

    Args:
        suite: of the paper.
        actions: budget of an episode; None for samples.
        tokens: see ``compared``.
        model: the paper's name of the model, where models were asked in different ways.
    """
    fixed = _fixed(suite)
    if fixed is None:
        return {}
    measured_with = _as_published(suite, fixed, () if actions is None else (_text(actions),),
                                  tokens)
    return {'measured': ', '.join(filter(None, (
        str(measured_with), fixed.items, fixed.asked.get(model, ''))))}


def _suite_of(group: Group, split: str) -> Suite | None:
    """The suite whose paper's numbers stand beside a split of a group; None for none."""
    run = group.runs[0]
    return (run.ruling_suite if run.kind == SAMPLE or 'suite' in run.identity
            else group.suite_with(split))


def _fixed(suite: Suite | None) -> PublishedConditions | None:
    return None if suite is None else suite.published.conditions


@dataclass(frozen=True, slots=True)
class Unlike:
    """Differences between the conditions of results and of published numbers.

    Attributes:
        short: in few words, for a cell in place of a distance; '' for none.
        details: each setting with both values; '' for none.
    """

    short: str = ''
    details: str = ''


def unlike_paper(group: Group, split: str) -> Unlike:
    """Differences of a split's episodes from the conditions of the paper's numbers."""
    protocols, settings, others = _differences(group, split)
    return Unlike(*(', '.join(dict.fromkeys([*first, *others]))
                    for first in (protocols, settings)))


def _differences(group: Group, split: str, reply_tokens: int | None = None,
                 ) -> tuple[list[str], list[str], list[str]]:
    """Differences from the paper's conditions: protocols, settings, and the rest."""
    protocols: list[str] = []
    settings: list[str] = []
    others: list[str] = []
    suite = _suite_of(group, split)
    fixed = _fixed(suite)
    if suite is None or fixed is None:
        return protocols, settings, others
    for run in (run for run in group.runs if split in run.splits and not run.imported):
        if other := list(_other_settings(run, suite, fixed, split)):
            name = protocol_of(run.identity)
            protocols.append(f'protocol {name}' if name != fixed.protocol else
                             f'other settings than protocol {name}')
            settings += other
        prompts, tokens = _prompts(run), _tokens(run)
        theirs = reply_tokens or fixed.reply_tokens
        if run.backend == 'noisy_planner' and '@' not in run.exact_model:  # no file of a user
            others.append(_FITTED)
        if fixed.prompts and prompts and prompts != "the paper's prompts":
            others.append(prompts)
        if theirs and tokens and tokens != theirs:
            others.append(f'{tokens} tokens a reply, not {theirs}')
        if fixed.items and not _items_of_a_user(run):
            others.append(_OUR_ITEMS)
    return protocols, settings, others


def _other_settings(run: RunResults, suite: Suite, fixed: PublishedConditions, split: str,
                    ) -> Iterable[str]:
    """Yield the settings of a run that are not those of the paper's protocol, with both values.

    Left out are those about replies where the model writes none, how replies are read where all
    were read, and two that tables have in words of their own: tokens, and what becomes of an
    unread reply.
    """
    unread = any(line.get('unreadable') or _unparsed(line) for line in run.lines)
    option = functools.partial(_recorded, run)
    domain = '' if run.kind == SAMPLE else run.domain
    wanted = suite.protocol_settings(fixed.protocol, domain, run.method, split,
                                     replies=_reads_prompt(run), option=option)
    for name, (value, _) in wanted.items():
        last = name.rpartition('.')[2]
        if name in RULES or last in (_TOKENS, _ON_UNPARSED) or (
                name == 'answers' and not unread) or (name == _GRANTED and _reads_prompt(run)):
            continue
        found = _recorded(run, name, split)
        if found is not None and not _equal(found, value):
            yield f'{last} {found} instead of {value}'
    yield from _settings_of_its_own(run, suite.protocol_settings(
        fixed.protocol, domain, run.method, split, option=option), fixed)
    for rule in RULES if covers(suite, domain, split) else ():
        found = run.rules[rule].get(split)
        ruled = of_suite(rule, suite, run.domain, run.method, split, fixed.protocol)
        if found != ruled:
            yield f'{rule} {found} instead of {ruled}'


def _settings_of_its_own(run: RunResults, ruled: Collection[str], fixed: PublishedConditions,
                         ) -> Iterable[str]:
    """Yield settings of a run that no protocol asks for, with the default that a paper counts on.

    These are settings of the method and the world, and sampling by the model. Left out is whether
    the world draws, where no model looks.

    Args:
        run: the run.
        ruled: dotted names of what the paper's protocol sets, all of it.
        fixed: conditions of the paper's numbers.
    """
    samples = run.kind == SAMPLE
    for head, defaults in (
            ('method_options', _answerer_defaults(run.method) if samples
             else method_defaults(run.method)),
            ('world_options', {} if samples else _world_defaults(run.domain))):
        for option, default in defaults.items():
            name = f'{head}.{option}'
            found = _recorded(run, name)
            if name in ruled or name in fixed.any or found is None or _equal(found, default) or (
                    option in (_TOKENS, _ON_UNPARSED)) or (
                    option == 'pictures' and not _reads_prompt(run)):
                continue
            yield f'{option} {found} instead of {default}'
    temperature = (run.identity.get('backend') or {}).get('temperature') or 0
    if temperature > 0 and 'backend_options.temperature' not in ruled:
        yield f'temperature {temperature} instead of 0'


def _equal(found: Any, wanted: Any) -> bool:
    """Whether two values are equal, or are written alike."""
    return bool(found == wanted or str(found) == str(wanted))


def method_defaults(method: str) -> Mapping[str, Any]:
    """Defaults of a method's settings; empty for one that is not installed."""
    try:
        return asdict(policy_settings(method))
    except InputError:
        return {}


def _answerer_defaults(method: str) -> Mapping[str, Any]:
    """Defaults of a method's settings for samples; empty for one that is not installed."""
    try:
        return asdict(answerer_settings(method))
    except InputError:
        return {}


def _items_of_a_user(run: RunResults) -> bool:
    """Whether a run's problems or samples are from a folder of the user."""
    settings = run.sessions[-1].get('settings') or {} if run.sessions else {}
    return bool(settings.get('problems') or (settings.get('suite_options') or {}).get('data'))


def _world_defaults(domain: str) -> Mapping[str, Any]:
    """Defaults of the options of a domain's world; empty where it is not installed."""
    try:
        return world_defaults(domain)
    except InputError:
        return {}


def _unparsed(line: Mapping[str, Any]) -> bool:
    """Whether a reply of an episode could not be read."""
    counts = (own for table in (line.get('predicates') or {}).values() for own in table.values())
    return bool(any(own.get('unparsed') or own.get('unknown') for own in counts)
                or (line.get('proposals') or {}).get('unparsed'))


def _recorded(run: RunResults, name: str, split: str = '') -> Any:
    """A setting as the identity of a run has it, by dotted name; None: the run has none such.

    Args:
        run: the run.
        name: of the setting.
        split: whose setting of the suite is wanted; '' for that of any.
    """
    head, _, option = name.partition('.')
    if head == 'planner_search':
        return (run.identity.get('planner') or {}).get('search')
    if not option:
        return run.identity.get(name)
    if head == 'suite_options':
        parts = samples_by_split(run.identity)
        return next((part[option] for part in ([parts[split]] if split in parts
                                               else parts.values()) if option in part), None)
    found: Mapping[str, Any] = run.identity.get(head.removesuffix('_options')) or {}
    if head == 'world_options' and option not in found:
        return _world_defaults(run.domain).get(option)
    return found.get(option)


def _text(value: object) -> str:
    return f'{value:,}' if isinstance(value, int) else 'unknown'
