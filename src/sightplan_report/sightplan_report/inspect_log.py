"""Runs as logs of inspect_ai, which ``inspect view`` opens: one ``.eval`` file for each run.

A log is a zip file of JSON: ``header.json`` (what was run, by what, and the measures),
``summaries.json`` (one entry a sample) and ``samples/<id>_epoch_<n>.json``. An episode is a sample
whose transcript holds, step by step, the questions with their answers and the action. Trials of a
problem are epochs of one sample. The picture of a failure, where the run kept it or its bag has
it, is the last message. The format is that of inspect_ai 0.3 (log version 2); the package itself
is not needed to write it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sightplan.metrics import measures
from sightplan.model import Answer, InputError
from sightplan.model.whole_files import replacing
from sightplan.records.evidence import failure_picture
from sightplan_report.export import escaped
from sightplan_report.grouping import grouped
from sightplan_report.lines import SAMPLE
from sightplan_report.results import Line, Results, RunResults
from sightplan_report.sample_page import kept_picture

FOLDER = 'inspect'
_VERSION = 2
_UNKNOWN_TIME = '1970-01-01T00:00:00+00:00'
_LONGEST = 1000
"""Most characters of a text in a summary; inspect_ai's own limit."""

Json = dict[str, Any]


def write_logs(results: Results, out: Path) -> tuple[Path, ...]:
    """Write one log for each run.

    Args:
        results: what is written.
        out: directory; the files lie in ``inspect/`` in it, and replace older ones as a whole.

    Returns:
        the files, in the order of the runs.

    Raises:
        InputError: they cannot be written.
    """
    folder, written = out / FOLDER, []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for run in results.runs:
            path = folder / file_name(run)
            with replacing(path) as temporary:
                write_log(run, temporary)
            written.append(path)
    except OSError as error:
        raise InputError(f'{error.filename or folder}: cannot be written ({error.strerror}); '
                         f'choose another directory') from error
    return tuple(written)


def file_name(run: RunResults) -> str:
    """``<time>_<task>_<id>.eval``, as inspect_ai names its logs; the same for the same run."""
    task = re.sub(r'[^A-Za-z0-9.]+', '-', _task(run)).strip('-')
    return f'{re.sub("[:]", "-", _created(run))}_{task}_{_id(run)}.eval'


def write_log(run: RunResults, path: Path) -> None:
    """Write the log of a run; a sample is made, written and forgotten before the next.

    Raises:
        OSError: it cannot be written.
    """
    answers = grouped(run.answers(), lambda answer: answer['episode'])
    spec, plan = _spec(run), _plan(run)
    summaries = []
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as log:
        _put(log, '_journal/start.json', {'version': _VERSION, 'eval': spec, 'plan': plan})
        for line in run.lines:
            sample = sample_of(run, line, answers.get(line['id'], ()))
            _put(log, f'samples/{sample["id"]}_epoch_{sample["epoch"]}.json', sample)
            summaries.append(_summary(sample))
        _put(log, 'summaries.json', summaries)
        _put(log, 'header.json', {
            'version': _VERSION, 'status': 'success' if _is_whole(run) else 'cancelled',
            'eval': spec, 'plan': plan, 'results': _results(run), 'stats': _stats(run)})


def _put(log: zipfile.ZipFile, name: str, content: object) -> None:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    member = zipfile.ZipInfo(name.encode('utf-8', 'replace').decode('utf-8'))  # the same date ever
    log.writestr(member, text.encode('utf-8', 'replace'), zipfile.ZIP_DEFLATED)


# -------------------------------------------------------------------------------- the whole run


def _task(run: RunResults) -> str:
    suite = run.suite.name if run.suite else 'sightplan'
    return '/'.join(filter(None, [suite, run.domain, '+'.join(run.splits)]))


def _id(run: RunResults) -> str:
    """22 characters, the same for the same folder and identity."""
    text = json.dumps([run.name, run.identity], sort_keys=True, default=str)
    return hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:22]


def _created(run: RunResults) -> str:
    """Start of the run, in UTC to the second; the epoch's first second if it is not known."""
    text = (run.sessions[0].get('started') or '') if run.sessions else ''
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return _UNKNOWN_TIME
    return moment.astimezone(UTC).isoformat(timespec='seconds')


def _is_whole(run: RunResults) -> bool:
    return run.planned is None or len(run.lines) >= run.planned


def _spec(run: RunResults) -> Json:
    session = run.sessions[-1] if run.sessions else {}
    ids = list(dict.fromkeys(_id_and_epoch(line)[0] for line in run.lines))
    found: Json = {
        'eval_id': _id(run), 'run_id': _id(run), 'task_id': _id(run), 'created': _created(run),
        'task': _task(run), 'task_args': {**dict(run.condition), **run.labels},
        'solver': run.method, 'solver_args': dict(run.settings),
        'dataset': {'name': _task(run), 'samples': len(ids), 'sample_ids': ids},
        'model': run.exact_model or 'none', 'model_args': dict(run.identity.get('backend') or {}),
        'config': {'epochs': max(_id_and_epoch(line)[1] for line in run.lines)},
        'packages': {name: str(version)
                     for name, version in session.get('packages', {}).items()},
        'metadata': {'folder': str(run.folder), 'seed': run.seed, 'domain': run.domain,
                     'backend': run.backend, 'calibrated': run.calibrated}}
    if session.get('commit'):
        found['revision'] = {'type': 'git', 'origin': 'sightplan', 'commit': session['commit'],
                             'dirty': bool(session.get('dirty'))}
    return found


def _plan(run: RunResults) -> Json:
    return {'name': 'plan', 'steps': [{'solver': run.method, 'params': dict(run.settings)}]}


def _results(run: RunResults) -> Json:
    """The measures of the run's summary, the one that the suite is compared by first."""
    found = run.summary['measures']
    return {
        'total_samples': run.planned or len(run.lines), 'completed_samples': len(run.lines),
        'scores': [{
            'name': name, 'scorer': run.suite.name if run.suite else 'sightplan',
            'scored_samples': one['n'], 'unscored_samples': len(run.lines) - one['n'],
            'metrics': {key: {'name': key, 'value': value} for key, value in (
                ('mean', one['value']), *zip(('low95', 'high95'), one['interval95'] or (),
                                             strict=False), ('clusters', one['clusters']))}}
            for name, one in _primary_first(run, found) if one['value'] is not None]}


def _primary_first(run: RunResults, found: Mapping[str, Any]) -> list[tuple[str, Any]]:
    primary = run.suite.primary(run.kind).name if run.suite else 'solved'
    return sorted(found.items(), key=lambda item: item[0] != primary)


def _stats(run: RunResults) -> Json:
    """Usage, and a time of completion as if the items had been run one after another."""
    end = datetime.fromisoformat(_created(run)) + timedelta(
        seconds=sum(line['seconds'] or 0.0 for line in run.lines))
    return {'started_at': _created(run), 'completed_at': end.isoformat(), 'model_usage': _usages(
        run.exact_model, [line['usage'] for line in run.lines if line['usage']])}


def _usages(model: str, usages: Iterable[Mapping[str, Any]]) -> Json:
    """Sums of tokens and costs; {} if no usage was counted."""
    found = list(usages)
    if not found:
        return {}
    given, made = (sum(usage[f'{kind}_tokens'] for usage in found)
                   for kind in ('prompt', 'completion'))
    costs = [usage['cost_usd'] for usage in found if usage.get('cost_usd') is not None]
    return {model or 'none': {
        'input_tokens': given, 'output_tokens': made, 'total_tokens': given + made,
        'total_cost': sum(costs) if costs else None}}


# ---------------------------------------------------------------------------------- one sample


def _id_and_epoch(line: Line) -> tuple[str, int]:
    """The sample, and which trial of it: ``simple/problem_00#2`` is its third epoch."""
    name, mark, trial = str(line['id']).rpartition('#')
    return (name, int(trial) + 1) if mark and trial.isdecimal() and name else (line['id'], 1)


def sample_of(run: RunResults, line: Line, answers: Sequence[Mapping[str, Any]] = ()) -> Json:
    """An item of a run as a sample of a log.

    Args:
        run: that it belongs to.
        line: the item's results.
        answers: of an episode, in the order in which they were given.
    """
    name, epoch = _id_and_epoch(line)
    reply = line['reply'] if isinstance(line.get('reply'), str) else ''
    answer = reply or json.dumps(line.get('answer'), ensure_ascii=False)
    messages = [{'role': 'user', 'content': _input(line)},
                {'role': 'assistant', 'content': answer, 'model': run.exact_model or None},
                *_picture(run, line)]
    found: Json = {
        'id': name, 'epoch': epoch, 'uuid': hashlib.sha256(
            f'{_id(run)} {line["id"]}'.encode('utf-8', 'replace')).hexdigest()[:22],
        'input': _input(line), 'target': _target(line), 'messages': messages,
        'output': {'model': run.exact_model, 'choices': [
            {'message': messages[1], 'stop_reason': 'stop'}], 'completion': answer},
        'scores': _scores(run, line, answer), 'metadata': _metadata(line),
        'events': _events(run, line, answers),
        'model_usage': _usages(run.exact_model, [line['usage']] if line['usage'] else ()),
        'total_time': line['seconds'], 'started_at': _created(run)}
    if line['error']:
        found['error'] = {'message': line['error'], 'traceback': '', 'traceback_ansi': ''}
    return found


def _picture(run: RunResults, line: Line) -> list[Json]:
    """The picture of an item's failure as a message; empty without one."""
    found = (kept_picture if run.kind == SAMPLE else failure_picture)(run.folder, line)
    return [] if found is None else [{'role': 'user', 'content': [
        {'type': 'text', 'text': 'Where it failed:'},
        {'type': 'image', 'image': f'data:image/png;base64,{base64.b64encode(found).decode()}'}]}]


def _input(line: Line) -> str:
    """Task of an item, as far as the results state it."""
    details = line.get('details') or {}
    asked = next((str(details[key]) for key in ('instruction', 'question', 'task', 'atom')
                  if details.get(key)), '')
    return ': '.join(filter(None, [_id_and_epoch(line)[0], asked]))


def _target(line: Line) -> str:
    """Right answer of a sample, where the results have it; of an episode, that the goal holds."""
    if line.get('kind') == SAMPLE:
        truth = line.get('truth')
        return '' if truth is None else ('yes' if truth else 'no') if isinstance(
            truth, bool) else json.dumps(truth, ensure_ascii=False)
    return 'the goal holds'


def _scores(run: RunResults, line: Line, answer: str) -> Json | None:
    """Each measure in which the item is scored; None for an item that is not."""
    if not measures.scored(line):
        return None
    why = line['failure']['evidence']['text'] if line.get('failure') else line.get('message')
    return {name: {'value': value, 'answer': answer, 'explanation': why or None}
            for name, value in _primary_first(run, line['measures']) if value is not None}


def _metadata(line: Line) -> Json:
    """All scalar fields, and the details that the suite gives."""
    return {**{key: value for key, value in line.items()
               if key not in ('id', 'reply', 'answer', 'truth') and not isinstance(
                   value, (list, dict))}, **(line.get('details') or {})}


def _events(run: RunResults, line: Line, answers: Sequence[Mapping[str, Any]]) -> list[Json]:
    """Transcript of an episode: before each action a table of the questions, then the action."""
    if line.get('kind') == SAMPLE:
        return []
    asked = grouped(answers, lambda answer: answer.get('step'))
    made: list[Json] = []
    for number, action in enumerate(line['actions']):
        if number in asked:
            made.append({'event': 'info', 'source': 'questions', 'data': _table(asked[number])})
        made.append(_action(number, action))
    left = [answer for step, found in asked.items() if not isinstance(step, int)
            or step >= len(line['actions']) for answer in found]
    if left:
        made.append({'event': 'info', 'source': 'questions', 'data': _table(left)})
    ended = f'{line["stop"]}: {line["message"]}'.rstrip(': ')
    if line['goal_unmet']:
        ended += '\n\nnot reached: ' + ', '.join(unmet['literal'] for unmet in line['goal_unmet'])
    made.append({'event': 'info', 'source': 'end', 'data': escaped(ended)})
    return [{'timestamp': _created(run), 'working_start': 0.0, **event} for event in made]


def _action(number: int, action: Mapping[str, Any]) -> Json:
    """An action as the call of a tool with its objects as arguments."""
    name, _, objects = action['action'].partition('(')
    words = [word.strip() for word in objects.rstrip(')').split(',') if word.strip()]
    found = {'event': 'tool', 'id': f'action {number}', 'function': name or 'none',
             'arguments': {str(index): word for index, word in enumerate(words)},
             'result': f'{action["status"]}, {action["outcome"]}'.rstrip(', ')}
    if action['outcome'] != 'success':
        found['failed'] = True
    return found


def _table(answers: Sequence[Mapping[str, Any]]) -> str:
    """Answers as a Markdown table."""
    rows = [[str(answer['atom']), str(answer.get('purpose', '')), str(answer.get('answer', '')),
             _p_yes(answer), '' if answer.get('truth') is None else
             str(answer['truth']).lower()] for answer in answers]
    head = ['atom', 'purpose', 'answer', 'P(yes)', 'truth']
    return '\n'.join('| ' + ' | '.join(map(escaped, row)) + ' |'
                     for row in (head, ['---'] * len(head), *rows))


def _p_yes(answer: Mapping[str, Any]) -> str:
    """P(yes) of a recorded answer as text, '' without one; see ``Answer.p_yes_text``."""
    p_yes, p_no = (p if isinstance(p, (int, float)) else None
                   for p in (answer.get('p_yes'), answer.get('p_no')))
    return Answer(p_yes=p_yes, p_no=p_no, bounded=bool(answer.get('bounded'))).p_yes_text(
        missing='')


def _summary(sample: Json) -> Json:
    """Summary of a sample for the list of samples: its scalar fields, long texts cut."""
    def short(value: Any) -> Any:
        return value[:_LONGEST] if isinstance(value, str) else value

    def scalars(fields: Json) -> Json:
        return {key: short(value) for key, value in fields.items()
                if not isinstance(value, (list, dict))}

    found = {key: short(sample[key]) for key in (
        'id', 'epoch', 'uuid', 'input', 'target', 'model_usage', 'started_at', 'total_time')}
    scores = sample['scores'] and {
        name: scalars(score) for name, score in sample['scores'].items()}
    return {**found, 'scores': scores, 'metadata': scalars(sample['metadata']), 'completed': True,
            'message_count': len(sample['messages']),
            'error': sample['error']['message'] if 'error' in sample else None}
