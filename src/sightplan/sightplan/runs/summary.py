"""Scores of a run from its lines: what every suite has, and what its own adds."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sightplan.metrics import summarise_episodes
from sightplan.metrics.canonical import canonical
from sightplan.metrics.episodes import EPISODE_MEASURES
from sightplan.metrics.failures import without_truth
from sightplan.metrics.measures import Measure, aggregates, scored, solved_of
from sightplan.model import InputError, Usage
from sightplan.runs.suite import EPISODES, SAMPLES, Suite, load_suite

_ABSENT = ('episodes', 'solved', 'success_rate', 'interval95', 'sem', 'predicate_accuracy',
           'questions')
"""Keys that every summary has, null where a suite has no such thing."""
_SAMPLE = 'sample'
_INCIDENTAL = ('seconds', 'seconds_per_episode', 'stage_seconds', 'usage')


def measures_of(suite: Suite | None, kind: str = EPISODES) -> tuple[Measure, ...]:
    """A suite's measures of episodes or of samples; without a suite those of every episode."""
    return EPISODE_MEASURES if suite is None else suite.measures(kind)


def kind_of(lines: Sequence[Mapping[str, Any]], suite: Suite | None) -> str:
    """Whether lines are ``episodes`` or ``samples``; of no lines: the first kind of the suite."""
    if lines:
        return SAMPLES if lines[0].get('kind') == _SAMPLE else EPISODES
    return EPISODES if suite is None else suite.kinds[0]


def suite_of_run(info: Mapping[str, Any]) -> Suite | None:
    """The suite that a run belongs to, None for none.

    Args:
        info: content of its ``run.json``.

    Raises:
        InputError: its suite is not there (any more).
    """
    name = info['identity'].get('suite')
    if not name:
        return None
    try:
        return load_suite(name)
    except InputError:
        for session in reversed(info['sessions']):
            path = (session.get('settings') or {}).get('suite')
            if path:
                return load_suite(path)
        raise


def summarise(lines: Sequence[Mapping[str, Any]], suite: Suite | None,
              kind: str = '') -> dict[str, Any]:
    """Score a run.

    Args:
        lines: of one method and one model, all episodes or all samples.
        suite: that they belong to, None for episodes of no suite.
        kind: ``episodes`` or ``samples``; '': as the lines say, see ``kind_of``.

    Returns:
        plain JSON data: ``items`` (all lines), ``scored``, ``errors`` (ended in an error of the
        machinery: not scored), ``cancelled``, ``unread`` (replies that could not be read),
        ``measures`` (name to ``value``, ``interval95``, ``n``, ``clusters``), ``usage``,
        ``seconds``; ``episodes``, ``solved``, ``success_rate``, ``interval95`` (Wilson), ``sem``,
        ``predicate_accuracy`` and ``questions``, null where a suite has no such thing; of episodes
        all of ``metrics.summary.summarise_episodes``; and what the suite's ``scoring.summarise``
        adds.
    """
    kind = kind or kind_of(lines, suite)
    known = [line for line in lines if scored(line)]
    cancelled = sum(line.get('stop') == 'cancelled' for line in lines)
    without = sum(map(without_truth, lines))
    summary: dict[str, Any] = {
        'items': len(lines), **dict.fromkeys(_ABSENT), 'scored': len(known),
        'errors': len(lines) - len(known) - cancelled - without, 'cancelled': cancelled,
        'unread': sum(bool(line.get('unread')) for line in lines),
        'measures': aggregates(lines, measures_of(suite, kind)), 'usage': _usage(lines),
        'seconds': sum(line['seconds'] for line in lines)}
    if kind == EPISODES:
        summary.update(summarise_episodes(lines))
    elif any('solved' in line['measures'] for line in lines):
        found = solved_of(known)
        summary.update(solved=found.successes, success_rate=found.rate,
                       interval95=list(found.interval))
    own = getattr(suite.module('scoring'), 'summarise', None) if suite is not None else None
    return {**summary, **(own(lines) if own is not None else {})}


def canonical_summary(lines: Sequence[Mapping[str, Any]], suite: Suite | None) -> dict[str, Any]:
    """Scores of a run, see ``summarise``, as far as they do not depend on more than its items.

    Args:
        lines: in the order of the items.
        suite: that they belong to, None for none.

    Returns:
        the scores, and ``lines_sha256``, a hash over all canonical lines.
    """
    summary = {key: value for key, value in summarise(lines, suite).items()
               if key not in _INCIDENTAL}
    content = ''.join(json.dumps(canonical(line), sort_keys=True) + '\n' for line in lines)
    return {**summary, 'lines_sha256': hashlib.sha256(content.encode()).hexdigest()}


def _usage(lines: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    total: Usage | None = None
    for line in lines:
        if line.get('usage'):
            total = (total or Usage()) + Usage(**line['usage'])
    return None if total is None else dataclasses.asdict(total)
