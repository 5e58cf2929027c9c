"""What the goldens know of sightplan's insides: how to run something, and what its results say.

Names of events, fields, files and options may change; then this file changes, and the frozen JSON
stays as it is. Each function returns items: a name to a flat mapping of plain JSON values.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sightplan import cli
from sightplan.agent import Act, Stop, answerer_names, method_names
from sightplan.agent.methods import human
from sightplan.model import (
    Asked,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeStarted,
    Observed,
    Planned,
    Proposed,
    Stepped,
    StopReason,
)
from sightplan.records import RunStore
from sightplan.runs import RunSettings, run, suite_names
from sightplan.vlm import recording

Item = dict[str, Any]
Items = dict[str, Item]


def known_methods() -> set[str]:
    """Names of all methods, of episodes and of samples."""
    return {*method_names(), *answerer_names()}


def known_suites() -> set[str]:
    """Names of all suites."""
    return set(suite_names())


def run_items(settings: Mapping[str, Any], folder: Path, details: list[str] | None = None,
              ) -> Items:
    """Run episodes or samples in this process.

    Args:
        settings: fields of ``RunSettings``; ``script``: what the backend ``scripted`` says;
            ``person``: a person plays, who makes so many moves and stops.
        folder: empty, for the run.
        details: receives all that the digests are of, as text for people.

    Returns:
        one item for each episode or sample, by its id.
    """
    values = dict(settings)
    script = values.pop('script', None)
    if script is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / 'script.json'
        path.write_text(json.dumps(script))
        values['backend_options'] = {**values.get('backend_options', {}), 'script': str(path)}
    out, events, policy = folder / 'run', _Events(), None
    if moves := values.pop('person', 0):
        values['method'] = 'human'
        policy = human.Policy(human.Settings(), _Person(moves))
    run(RunSettings(**{'failure_images': False, **values, 'record': True, 'out': str(out)}),
        recorders=[events], policy=policy)
    requests = _requests(out / recording.NAME)
    return _items(out, events.of, requests, details)


def command_items(commands: Sequence[Sequence[str]], folder: Path, results: Sequence[str],
                  details: list[str] | None = None) -> Items:
    """Call the command line, and read what it left.

    Args:
        commands: words after ``sightplan``; ``{}`` stands for the folder.
        folder: empty.
        results: of each command, a name for the item of its JSON result; '' for none.
        details: as in ``run_items``.

    Returns:
        an item for each named result, and one for each episode of each run that is there.
    """
    items: Items = {}
    for words, name in zip(commands, results, strict=True):
        told, said = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(said):
            code = cli.main([*(word.replace('{}', str(folder)) for word in words), '--json'])
        lines = told.getvalue().splitlines()
        result = json.loads(lines[-1]) if lines else None
        if result is None:
            raise RuntimeError(f'{" ".join(words)}: {said.getvalue()[-2000:]}')
        if name:
            items[name] = {'code': code, **_plain_result(result)}
    for path in sorted(folder.rglob('run.json')):
        # The hash of a cell's identity says how settings are written, not what was done.
        name = re.sub(r'-[0-9a-f]{8}$', '', str(path.parent.relative_to(folder)))
        for key, item in _items(path.parent, {}, {}, details).items():
            items[f'{name}/{key}'] = item
    return items


_PASSING = {
    'seconds', 'seconds_per_episode', 'stage_seconds', 'out', 'provenance', 'other_commits', 'ms',
    'started', 'path', 'runs', 'cells', 'bags', 'model', 'reasons', 'method', 'backend',
    'domain_sha256', 'domain_settings_sha256', 'questions_sha256', 'problems_sha256', 'report',
    'sweep', 'directory', 'folder', 'files', 'workers', 'commit', 'commits', 'version', 'warnings',
    'problems_skipped', 'metrics', 'prompts', 'prompts_changed', 'recorded_models', 'models',
    'where', 'finished', 'results', 'speed'}
"""Fields of results that differ from run to run, or are names of files, versions and prompts."""


def _plain_result(result: Mapping[str, Any]) -> Item:
    """A command's result without what differs from run to run."""
    return {key: _rounded(value) for key, value in result.items() if key not in _PASSING}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 9) if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {str(key): _rounded(one) for key, one in value.items() if key not in _PASSING}
    return [_rounded(one) for one in value] if isinstance(value, (list, tuple)) else value


# --------------------------------------------------------------------------------- events, lines


class _Person:
    """Plays by making the first legal moves that there are, in the order of their names."""

    name = 'golden'

    def __init__(self, moves: int) -> None:
        self._left = moves

    def begin(self, context: Any, observation: Any, goal: Any) -> None:
        pass

    def ask(self, context: Any) -> Any:
        self._left -= 1
        if self._left < 0:
            return Stop(StopReason.GAVE_UP, 'enough')
        return Act(sorted(context.model.actions, key=str)[self._left])

    def learn(self, action: Any, feedback: Any, observation: Any) -> None:
        pass


class _Events:
    """A recorder that keeps the events of each episode."""

    def __init__(self) -> None:
        self.of: dict[str, list[Any]] = {}
        self._now: list[Any] = []

    def record(self, event: Any) -> None:
        if isinstance(event, EpisodeStarted):
            self._now = self.of[event.spec.id] = []
        self._now.append(event)


def _items(out: Path, events: Mapping[str, Sequence[Any]],
           requests: Mapping[str, Sequence[tuple[str, Any]]], details: list[str] | None) -> Items:
    items: Items = {}
    seen: set[str] = set()
    for line in RunStore(out).lines():
        item = _item_of_line(line)
        texts: dict[str, list[Any]] = {}
        if line['id'] in events:
            texts |= _texts_of_events(events[line['id']])
        group = line['id'] if line['kind'] == 'episode' else line['cluster']
        if group in requests and group not in seen:
            seen.add(group)
            texts['requests'] = [asked for asked, _ in requests[group]]
            texts['replies'] = [reply for _, reply in requests[group]]
        for name, found in texts.items():
            item[name] = _digest(found)
        items[line['id']] = item
        if details is not None:
            details.append(f'== {line["id"]}')
            details += [f'{name} {number}: {one}' for name, found in texts.items()
                        for number, one in enumerate(found)]
    return items


def _item_of_line(line: Mapping[str, Any]) -> Item:
    """What a line of results says that must not change."""
    item: Item = {'measures': _rounded(line['measures']), 'cause': line['cause'],
                  'error': (line['error'] or '').partition(':')[0]}
    if line['kind'] == 'sample':
        item |= {'truth': _digest([line['truth']]), 'reply': _digest([line['reply']]),
                 'answer': _digest([line['answer']]), 'unread': bool(line['unread']),
                 'p': [_rounded(line[name]) for name in ('p_yes', 'p_no', 'p_right')],
                 'details': _digest([line['details']])}
        if len(line['reply']) <= 40:
            item['reply'] = line['reply']
        return item
    return item | {
        'stop': line['stop'], 'steps': line['steps'], 'remaining': line['remaining'],
        'seed': line['seed'], 'optimal': line['optimal_length'],
        'actions': '; '.join(f'{one["action"]} {one["status"]} {one["outcome"]}'
                             for one in line['actions']),
        'questions': line['questions'], 'observations': line['observations'],
        'facts': line['privileged_facts'], 'usage': _usage(line),
        'predicates': _digest([_rounded(line['predicates'])]),
        'plans': ' '.join(f'{one["status"]}:{one["length"]}' for one in line['plans']),
        'images': _digest([one['image_id'] for one in line['actions']])}


def _usage(line: Mapping[str, Any]) -> Any:
    used = line.get('usage')
    return used and [used['requests'], used['prompt_tokens'], used['completion_tokens']]


def _texts_of_events(events: Sequence[Any]) -> dict[str, list[Any]]:
    """What happened in an episode, by kind, in order."""
    found: defaultdict[str, list[Any]] = defaultdict(list)
    for event in events:
        if isinstance(event, Observed):
            seen = event.observation
            found['seen'].append([
                seen.image_id, seen.stamp_ns, sorted(seen.visible_objects)
                if seen.visible_objects is not None else None,
                sorted((str(atom), value) for atom, value in seen.privileged_facts.items())])
        elif isinstance(event, Asked) and event.failed:
            continue  # when this was frozen, queries that failed were not recorded
        elif isinstance(event, Asked) and not event.yes_no:
            for query, told in zip(event.queries, event.replies, strict=True):
                found['instances'].append([event.observation.image_id, query.looks, told.goal,
                                           bool(told.unread), [_instance(one)
                                                               for one in told.instances]])
        elif isinstance(event, Asked):
            found['asked'] += [[event.observation.image_id, event.purpose.value,
                                str(event.action or ''), question.text, str(question.atom),
                                expected, event.memory]
                               for question, expected in zip(event.questions, event.expected,
                                                             strict=True)]
            found['answered'] += [[answer.verdict.value, answer.text, answer.p_yes, answer.p_no]
                                  for answer in event.answers]
        elif isinstance(event, BeliefUpdated):
            belief = event.belief
            found['beliefs'].append([
                sorted(str(atom) for atom in belief.state), sorted(
                    (str(atom), float(p)) for atom, p in belief.probabilities.items())])
        elif isinstance(event, Planned):
            found['planned'].append([event.result.status.value,
                                     [str(action) for action in event.result.plan or ()]])
        elif isinstance(event, Proposed):
            proposal = event.proposal
            found['proposed'].append([event.observation.image_id, proposal.text,
                                      proposal.status.value, proposal.repaired,
                                      [str(action) for action in proposal.actions],
                                      len(event.history)])
        elif isinstance(event, Stepped):
            found['stepped'].append([event.index, str(event.action or ''),
                                     event.feedback.status.value, event.feedback.stamp_ns,
                                     event.stamp_ns])
        elif isinstance(event, EpisodeEnded):
            found['ended'].append([event.reason.value, event.steps, event.remaining,
                                   event.stamp_ns])
    return dict(found)


def _instance(one: Any) -> Any:
    return [one.name, one.region.to_json(), dict(one.categories), dict(one.colours), one.opened]


# ------------------------------------------------------------------------------------- requests


def _requests(path: Path) -> dict[str, list[tuple[str, Any]]]:
    """What a model was asked and replied, in order, by episode (of samples: by their cluster)."""
    found: defaultdict[str, list[tuple[str, Any]]] = defaultdict(list)
    shared: dict[str, Any] = {}
    chats = False
    if not path.exists():
        return found
    for text in path.read_text().splitlines():
        line = json.loads(text)
        kind = line['kind']
        if kind == 'recording':
            chats = '*' in line['accepts']
        elif kind == 'shared':
            shared[line['shared']] = [line[name] for name in (
                'system', 'before_image', 'after_image', 'template', 'reasoning', 'max_tokens')]
        elif kind == 'failure':
            found[line['episode']].append((f'failure {line["images"]}', line['error']))
        elif kind == 'reply':
            query, content, reply = _as_frozen(line)
            if query == 'choice' and chats:  # when they were frozen, it was asked as a prompt
                query, reply = 'text', {'text': reply['text'], 'truncated': False}
            asked = [content.get(name) for name in _ASKED[query]]
            if query == 'yes_no':
                words = shared[line['shared']]
                before, _, after = words[3].partition('{question}')
                asked[1] = asked[1][len(before):len(asked[1]) - len(after)]
                asked.append(words)
            found[line['episode']].append(
                (json.dumps([query, *asked]), [reply.get(name) for name in _REPLIED[query]]))
    return found


def _as_frozen(line: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Kind, content and reply of a recorded query, with names and forms as they were frozen."""
    query, content = line['query'], dict(line['content'])
    reply = {**_DEFAULTS.get(query, {}), **line['reply']}
    if query != 'yes_no' and 'image' in content:
        content['image'] = content['image']['image']
    if 'target' in content:
        content |= {'form': content['target']['form'], 'target': content['target']['text']}
    for old, new in (('depth', 'depth_m'), ('mask', 'mask')):
        if new in content:
            content[old] = '' if content[new] is None else content[new]['array']
    if 'region' in content:
        content['region'] = {name: value for name, value in content['region'].items()
                             if value not in ('', None)}
    if query == 'detect':
        reply['detections'] = [{'colours': {}, 'probability': 1.0, 'opened': None, **one}
                               for one in reply['detections']]
    return query, content, reply


_DEFAULTS: dict[str, dict[str, Any]] = {
    'text': {'truncated': False}, 'locate': {'text': '', 'regions': [], 'unknown': []},
    'choice': {'text': ''}, 'detect': {'text': '', 'detections': []}}
"""Fields of replies that a recording leaves out where they have these values."""
_ASKED = {
    'yes_no': ('image', 'question'),
    'text': ('system', 'parts', 'max_tokens'),
    'locate': ('image', 'target', 'form', 'attempt', 'start', 'depth'),
    'check': ('image', 'target', 'form', 'attempt', 'region', 'mask'),
    'choice': ('system', 'parts', 'options', 'subjects', 'properties', 'max_tokens'),
    'detect': ('image', 'attempt')}
"""Fields of what is asked, by kind."""
_REPLIED = {
    'yes_no': ('text', 'p_yes', 'p_no', 'p_unknown'),
    'text': ('text', 'truncated'),
    'locate': ('text', 'regions', 'probability', 'named', 'unknown'),
    'check': ('text', 'p_yes', 'p_no', 'p_unknown'),
    'choice': ('text', 'chosen', 'probabilities'),
    'detect': ('text', 'detections')}
"""Fields of replies, by kind."""


# ------------------------------------------------------------------------------------- digests


def _digest(values: Iterable[Any]) -> list[Any]:
    """How many values, a hash of them without their fractions, and a sum over these.

    The sum tells a changed probability from one that another processor rounds otherwise.
    """
    numbers: list[float] = []
    texts = [json.dumps(_without_fractions(value, numbers), sort_keys=True,
                        separators=(',', ':')) for value in values]
    digest = hashlib.sha256('\n'.join(texts).encode()).hexdigest()[:12]
    weighted = math.fsum(number * (1 + index % 97 / 97) for index, number in enumerate(numbers))
    return [len(texts), digest, *([round(weighted, 9)] if numbers else [])]


def _without_fractions(value: Any, numbers: list[float]) -> Any:
    """A value with a mark for each fraction, which goes to ``numbers``."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        numbers.append(value)
        return '#'
    if isinstance(value, Mapping):
        return {str(key): _without_fractions(value[key], numbers)
                for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_without_fractions(one, numbers) for one in value]
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def flat(item: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """An item's fields with those of the mappings in it, as dotted names."""
    for key, value in item.items():
        if isinstance(value, Mapping):
            for inner, one in flat(value):
                yield f'{key}.{inner}', one
        else:
            yield key, value
