"""Scores of a run from its lines: what every suite has, and what its own adds."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan.metrics import summarise_episodes
from sightplan.metrics.canonical import canonical
from sightplan.metrics.episodes import EPISODE_MEASURES
from sightplan.metrics.failures import called_off, without_truth
from sightplan.metrics.measures import Measure, aggregates, known_sum, scored, solved_of
from sightplan.model import InputError, ProposalStatus, Usage, user_path
from sightplan.runs.suite import Suite
from sightplan.runs.suite_finding import load_suite
from sightplan.runs.suite_rules import EPISODES, SAMPLES

_ABSENT = ('episodes', 'solved', 'success_rate', 'interval95', 'sem', 'predicate_accuracy',
           'questions')
"""Keys that every summary has, null where a suite has no such thing."""
_SAMPLE = 'sample'
_INCIDENTAL = ('seconds', 'seconds_per_episode', 'stage_seconds', 'usage', 'reasons')
_MOST_REASONS = 5
"""Most reasons that a summary names: the most frequent ones."""
OTHER_REASONS = 'other reasons'
"""First words of the last entry of a summary's reasons, which counts the unnamed reasons."""


def measures_of(suite: Suite | None, kind: str = EPISODES) -> tuple[Measure, ...]:
    """Return a suite's measures of episodes or samples; without a suite those of all episodes."""
    return EPISODE_MEASURES if suite is None else suite.measures(kind)


def kind_of(lines: Sequence[Mapping[str, Any]], suite: Suite | None) -> str:
    """Whether lines are ``episodes`` or ``samples``; of no lines: the first kind of the suite."""
    if lines:
        return SAMPLES if lines[0].get('kind') == _SAMPLE else EPISODES
    return EPISODES if suite is None else suite.kinds[0]


def suite_of_run(info: Mapping[str, Any]) -> Suite | None:
    """The suite that a run belongs to, None for none.

    Its path is followed from where the run was started.

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
                start = session.get('directory')
                there = Path(start) / user_path(path) if start else None
                return load_suite(str(there) if there is not None and there.exists() else path)
        raise


def model_that_replied(identity: Mapping[str, Any], lines: Sequence[Mapping[str, Any]]) -> str:
    """The exact name of the model that the lines of a run are by, '' for none.

    The identity names the model that was loaded. Lines name those that replied: others, where a
    backend points, compares or tells things apart by a model of its own.
    """
    loaded = str(identity.get('model') or '')
    replied = dict.fromkeys(line['model'] for line in lines if line['model'])
    if loaded and (not replied or set(loaded.split(', ')) & set(replied)):
        return loaded
    return ', '.join(replied) if loaded else next(iter(replied), '')


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
        ``reasons`` (of ``errors`` and of ``unread``: the most frequent ones, each with its count),
        ``replies`` (how many a model gave in scored lines, and how many were ``read``),
        ``measures`` (name to ``value``, ``interval95``, ``n``, ``clusters``), ``usage``,
        ``seconds``; of samples ``causes`` (how often each went wrong); ``episodes``, ``solved``,
        ``success_rate``, ``interval95``, ``sem``, ``predicate_accuracy`` and ``questions``, null
        where a suite has no such thing; of episodes all of
        ``metrics.summary.summarise_episodes``; and what the suite's ``scoring.summarise`` adds.
    """
    kind = kind or kind_of(lines, suite)
    known = [line for line in lines if scored(line)]
    cancelled = sum(map(called_off, lines))
    without = sum(map(without_truth, lines))
    summary: dict[str, Any] = {
        'items': len(lines), **dict.fromkeys(_ABSENT), 'scored': len(known),
        'errors': len(lines) - len(known) - cancelled - without, 'cancelled': cancelled,
        'unread': sum(bool(line.get('unread')) for line in lines),
        'reasons': {'errors': _most_frequent(why_unscored(line) for line in lines if not (
            scored(line) or without_truth(line) or called_off(line))),
            'unread': _most_frequent(str(line['unread']) for line in lines if line.get('unread'))},
        'replies': dict(zip(('read', 'all'), replies_read(lines), strict=True)),
        'measures': aggregates(lines, measures_of(suite, kind)), 'usage': _usage(lines),
        'seconds': known_sum(line['seconds'] for line in lines)}
    if kind == SAMPLES:
        summary['causes'] = causes_of(lines)
    if kind == EPISODES:
        summary.update(summarise_episodes(lines))
    elif any('solved' in line['measures'] for line in lines):
        found = solved_of(known)
        summary.update(solved=found.successes, success_rate=found.rate,
                       interval95=list(found.interval))
    return {**summary, **(suite.summarise(lines) if suite is not None else {})}


def causes_of(lines: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of wrong scored samples for each cause, the most frequent first."""
    return dict(Counter(str(line['cause']) for line in lines
                        if scored(line) and line.get('cause')).most_common())


def replies_read(lines: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """Count the replies in scored lines: those that could be read, and all of them.

    A sample has one reply; an episode has its answers to questions and its proposals.
    """
    read = every = 0
    for line in lines:
        if not scored(line):
            continue
        if line.get('kind') == _SAMPLE:
            asked, unread = 1, int(bool(line.get('unread')))
        else:
            counts = [entry for table in line.get('predicates', {}).values()
                      for entry in table.values()]
            proposals = line.get('proposals', {})
            asked = sum(entry['asked'] for entry in counts) + sum(proposals.values())
            unread = (sum(entry['unparsed'] for entry in counts)
                      + proposals.get(ProposalStatus.UNPARSED.value, 0))
        read, every = read + asked - unread, every + asked
    return read, every


def why_useless(summary: Mapping[str, Any]) -> str:
    """Return why the scores of a finished run are meaningless; '' if they may mean something.

    Args:
        summary: see ``summarise``.
    """
    what = 'sample' if summary['episodes'] is None else 'episode'
    if not summary['scored']:
        if summary.get('without_truth') or (summary['cancelled'] and not summary['errors']):
            return ''
        return f'not one {what} could be scored' + _because(summary['reasons']['errors'])
    replies = summary['replies']
    if replies['all'] and not replies['read']:
        return (f'not one of {replies["all"]} replies could be read'
                + _because(summary['reasons']['unread']))
    return ''


def counted_reasons(reasons: Mapping[str, int]) -> str:
    """Return reasons with their counts in words; '' for none."""
    return '; '.join(f'{count} x {why}' for why, count in reasons.items())


def why_unscored(line: Mapping[str, Any]) -> str:
    """Return why a line is not scored, in words."""
    return str(line.get('error') or line.get('message') or 'no reason is known')


def _because(reasons: Mapping[str, int]) -> str:
    return f': {counted_reasons(reasons)}' if reasons else ''


_SUFFIX = r'\.(?:png|jpe?g|webp|bmp|gif|tiff?)'
_PICTURE_FILE = re.compile(rf"'[^'\n]*{_SUFFIX}'|[^\s'\"]+{_SUFFIX}\b", re.IGNORECASE)
_QUESTION = re.compile(r"""'[^'\n]*\?'|"[^"\n]*\?["]""")


def _kind(reason: str) -> str:
    """A reason without the names of pictures and without the question that it is about."""
    return _PICTURE_FILE.sub('FILE', _QUESTION.sub('QUESTION', reason, count=1))


def _common(kind: str, reasons: Sequence[str]) -> str:
    """Return one reason for several of a kind; names the question and the file of the first."""
    if len(set(reasons)) == 1:
        return reasons[0]
    told = filter(None, (_QUESTION.search(reasons[0]), _PICTURE_FILE.search(reasons[0])))
    return f'{kind} (such as {" and ".join(found[0] for found in told)})'


def _most_frequent(reasons: Iterable[str]) -> dict[str, int]:
    """The most frequent reasons and their counts; files and questions make no difference."""
    kinds: dict[str, list[str]] = {}
    for reason in reasons:
        kinds.setdefault(_kind(reason), []).append(reason)
    counted = Counter({_common(kind, same): len(same) for kind, same in kinds.items()}
                      ).most_common()
    found, rest = dict(counted[:_MOST_REASONS]), counted[_MOST_REASONS:]
    if rest:
        found[f'{OTHER_REASONS} ({len(rest)} more)'] = sum(count for _, count in rest)
    return found


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
