"""Scoring a file of predictions: answers that came from elsewhere, without model and world.

One JSON object a line: ``{"id": ..., "answer": ...}``. Of a sample the answer is the text of the
reply, optionally with ``p_yes`` and ``p_no``; of an episode it is the list of its actions, which
are carried out by the suite's rules: within the budget of actions, and to the goal where the
suite ends an episode there.

Or the file is a run's ``episodes.jsonl``. Then its lines score as they did in the run: answers are
those that were read then, and steps are followed with what became of them. The samples are those
that ``run.json`` beside the file names; a folder of data that is given takes their place.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from sightplan.domains import Domain, InstantiatedModel
from sightplan.metrics.measures import aggregates, scored
from sightplan.metrics.scorer import Details
from sightplan.model import Action, Answer, FeedbackStatus, InputError, Problem, State
from sightplan.model.json_text import load_json
from sightplan.model.reading import Record, validated
from sightplan.model.sample import Sample, SampleReply
from sightplan.records import RunStore
from sightplan.runs.rules import DEFAULT_MAX_ACTIONS
from sightplan.runs.run_samples import options_of_run, split_of_run
from sightplan.runs.samples import UNKNOWN_WORDS, load_samples, score_reply
from sightplan.runs.settings import ALL_SPLITS
from sightplan.runs.suite import Suite
from sightplan.runs.suite_parts import Samples
from sightplan.runs.suite_rules import EPISODES, SAMPLES
from sightplan.runs.summary import causes_of

Probability = Annotated[float, pydantic.Field(ge=0, le=1)]


class SamplePrediction(Record):
    """A reply to a sample; ``answer`` null: none."""

    id: str
    answer: str | None
    p_yes: Probability | None = None
    p_no: Probability | None = None


class EpisodePrediction(Record):
    """The actions of an episode, such as ``["moveblock(r, c2)"]``; null: none.

    ``method`` says whose they are, where the suite has other rules for it; ``max_actions`` and
    ``stop_at_goal`` stand in place of the suite's rules.
    """

    id: str
    answer: list[str] | None
    method: str = ''
    max_actions: Annotated[int, pydantic.Field(ge=1)] | None = None
    stop_at_goal: bool | None = None


def score_predictions(suite: Suite, data: Path | None, predictions: Path,
                      options: Mapping[str, Any] | None = None, new_truths: bool = False,
                      ) -> dict[str, Any]:
    """Score predictions for a folder of a suite's data.

    Where a suite has episodes and samples, the predictions are of one kind, which their ids tell.

    Args:
        suite: that they belong to.
        data: folder of its data; None: a suite of samples loads those that it has by itself.
        predictions: file of them, or of a run's lines.
        options: further settings of its samples; of a run's lines in place of the run's own.
        new_truths: whether the truths of a run's samples may be others than in the run.

    Returns:
        ``measures`` (name to ``value``, ``interval95``, ``n``, ``clusters``) over the
        predictions, ``items`` (number of them), ``unread`` (those without a valid answer),
        ``missing`` (ids of items without a prediction, which are not scored), ``changed`` (ids of
        a run's samples whose truth is another one than in the run), ``causes`` (name to number of
        samples), and what the suite adds to a summary.

    Raises:
        InputError: a file cannot be used; names file, line, field and remedy.
    """
    changed: list[str] = []
    options = {**(options or {}), **({} if data is None else {'data': str(data)})}
    if is_run(predictions):
        kind, lines, missing, changed = _score_run(suite, data, predictions, options,
                                                    new_truths)
    else:
        kind = _kind(suite, options, predictions)
        lines, missing = (_score_samples(suite, data, predictions, options) if kind == SAMPLES
                          else _score_episodes(suite, data, predictions))
    found = {'measures': aggregates(lines, suite.measures(kind)), 'items': len(lines),
             'unread': sum(bool(line['unread']) for line in lines), 'missing': missing,
             'changed': changed}
    return found if kind == EPISODES else {
        **found, 'causes': causes_of([line for line in lines if scored(line)]),
        **suite.summarise(lines)}


def _loaded(suite: Suite, options: Mapping[str, Any]) -> list[Samples]:
    """Return all samples of a suite, those of a folder of data if the options name one."""
    return load_samples(suite, ALL_SPLITS, options)


def _problems(suite: Suite, data: Path | None) -> Mapping[str, tuple[Domain, Problem]]:
    """Return domain and problem of all episodes in a folder of data.

    Raises:
        InputError: no folder is given, or it has no usable problem.
    """
    if data is None:
        raise InputError(f'suite {suite.name} has episodes: give the folder of their problems '
                         '(--data)')
    return suite.problems(data)


def _place(suite: Suite, data: Path | None) -> str:
    """Return the source of the items as messages name it: the suite or the folder of data."""
    return f'suite {suite.name}' if data is None else str(data)


def check_one_model(models: Iterable[str], path: Path) -> None:
    """Check that the answers of a file are of one model, so that their mean is about something.

    Args:
        models: whose each answer is, '' where that is not said.
        path: of the file.

    Raises:
        InputError: they are of several models; names them.
    """
    named = sorted({model for model in models if model})
    # Replies in which several models had a part name all: "planner + locator".
    if named and not set.intersection(*(set(model.split(' + ')) for model in named)):
        raise InputError(f'{path}: holds answers of several models: {", ".join(named)}; score '
                         'those of each by themselves, from a file of its own')


def _kind(suite: Suite, options: Mapping[str, Any], predictions: Path) -> str:
    """Whether a file holds predictions of episodes or of samples.

    Raises:
        InputError: the file or the data cannot be read.
    """
    if len(suite.kinds) == 1:
        return suite.kinds[0]
    ids = {content['id'] for where, line in _lines(predictions)
           if isinstance(content := _json(where, line), dict) and isinstance(
               content.get('id'), str)}
    samples = {sample.id for part in _loaded(suite, options)
               for sample in part.items} if ids else set()
    return SAMPLES if ids & samples else EPISODES


def _score_samples(suite: Suite, data: Path | None, predictions: Path,
                   options: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    parts = {sample.id: (sample, part)
             for part in _loaded(suite, options)
             for sample in part.items}
    found = _read(SamplePrediction, predictions, parts, _place(suite, data))
    lines = []
    for name, prediction in found.items():
        sample, part = parts[name]
        reply = SampleReply.of_answer(Answer(prediction.answer or '', prediction.p_yes,
                                             prediction.p_no))
        lines.append({'id': name, 'kind': 'sample', 'cluster': sample.cluster,
                      'domain': sample.domain,
                      'split': sample.split, 'details': sample.details,
                      **score_reply(suite, sample, part.truth(name), reply)})
    return lines, [name for name in parts if name not in found]


def _score_episodes(suite: Suite, data: Path | None, predictions: Path,
                    ) -> tuple[list[dict[str, Any]], list[str]]:
    problems = _problems(suite, data)
    found = _read(EpisodePrediction, predictions, problems, _place(suite, data))
    lines = []
    for name, prediction in found.items():
        domain, problem = problems[name]
        line = carry_out(domain, problem, prediction.answer or (),
                         suite.episode_details,
                         *_rules(suite, domain.name, name, prediction))
        lines.append({'id': name, 'cluster': name, 'unread': line['unread'],
                      'measures': suite.episode_measures(line, line['solved'])})
    return lines, [name for name in problems if name not in found]


def _rules(suite: Suite, domain: str, name: str, prediction: EpisodePrediction,
           ) -> tuple[int, bool]:
    """Budget of actions of an episode, and whether it ends at its goal.

    Where the id of a problem names no split, the budget is that of all splits if they have one,
    else that of runs of a folder of problems.
    """
    rules = suite.rules(domain)
    split = next((part for part in name.split('/')[:-1] if part in rules.splits), '')
    budgets = {suite.budget(domain, prediction.method, one)
               for one in ((split,) if split else rules.splits)}
    most = prediction.max_actions or (budgets.pop() if len(budgets) == 1 else
                                      DEFAULT_MAX_ACTIONS)
    stops = (suite.stops_at_goal(domain, prediction.method) if prediction.stop_at_goal is None
             else prediction.stop_at_goal)
    return most, stops


def carry_out(domain: Domain, problem: Problem, actions: Sequence[str],
              details: Details | None = None, max_actions: int | None = None,
              stop_at_goal: bool = False) -> dict[str, Any]:
    """Carry out actions in the PDDL model, from the problem's initial state.

    What is not applicable is refused, and nothing changes, as in the worlds.

    Args:
        domain: of the problem.
        problem: where it begins.
        actions: as text.
        details: what a suite keeps of the way, see ``EpisodeScorer``.
        max_actions: so many are carried out at most; None: all.
        stop_at_goal: whether none is carried out once the goal holds.

    Returns:
        what ``episode_measures`` counts in, with ``solved`` and ``unread`` ('' or what is no
        action of the problem; what follows it is not carried out).
    """
    model, state = domain.model(problem), problem.init
    unread, path = '' if actions else 'no action', [state]
    taken: list[dict[str, Any]] = []
    for text in actions[:max_actions]:
        if stop_at_goal and problem.goal_met(state):
            break
        try:
            action = Action.parse(text)
            model.check(action)
        except (ValueError, InputError) as error:
            unread = str(error)
            break
        status = FeedbackStatus.REJECTED
        if model.applicable(action, state):
            state, status = model.apply(action, state), FeedbackStatus.EXECUTED
        taken.append({'action': str(action), 'status': status.value})
        path.append(state)
    executed = sum(step['status'] == FeedbackStatus.EXECUTED.value for step in taken)
    line = {'solved': problem.goal_met(state) and not unread, 'unread': unread,
            'steps': len(taken), 'executed': executed, 'actions': taken, 'details': {},
            'optimal_length': problem.optimal_length, 'questions': 0, 'predicates': {},
            'actions_right': 0, 'actions_counted': 0}
    if details is not None:
        line['details'] = details(problem, path, line)
    return line


# ------------------------------------------------------------------------------- lines of a run


_OWN_DATA = ('give the data that the run was made with (--data), or the file in its run '
             'directory, beside run.json')
_RUN_FIELDS = ('id', 'kind', 'answer', 'measures', 'details')


def is_run(path: Path) -> bool:
    """Whether a file holds a run's lines, as its first line that is JSON tells.

    Raises:
        InputError: the file cannot be read.
    """
    for _, text in _lines(path):
        try:
            return is_run_line(load_json(text))
        except (ValueError, RecursionError):
            continue
    return False


def is_run_line(line: object) -> bool:
    """Whether plain data are a line of a run's ``episodes.jsonl``."""
    return isinstance(line, dict) and all(field in line for field in _RUN_FIELDS)


def _score_run(suite: Suite, data: Path | None, path: Path, options: Mapping[str, Any],
               new_truths: bool) -> tuple[str, list[dict[str, Any]], list[str], list[str]]:
    """Kind, lines, missing items and samples with another truth of a run's file."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for where, text in _lines(path):
        line = _json(where, text)
        if not is_run_line(line):
            raise InputError(f'{where}: is no line of a run as the first one is; put lines of '
                             'runs and predictions into files of their own')
        if line.get('suite') not in ('', None, suite.name):
            raise InputError(f'{where}: suite = {line["suite"]!r}: is a line of another suite; '
                             f'score it by "sightplan suite {line["suite"]} score"')
        if line['id'] in found:
            raise InputError(f'{where}: id = {line["id"]!r} is there twice; keep one of them')
        found[line['id']] = where, line
    kinds = {line['kind'] for _, line in found.values()}
    if len(kinds) > 1:
        raise InputError(f'{path}: holds episodes and samples; give each a file of its own')
    if kinds == {'sample'}:
        return SAMPLES, *_run_samples(suite, data, path, options, found, new_truths)
    return EPISODES, *_run_episodes(suite, data, found), []


def _run_samples(suite: Suite, data: Path | None, path: Path, options: Mapping[str, Any],
                 found: Mapping[str, tuple[str, dict[str, Any]]], new_truths: bool,
                 ) -> tuple[list[dict[str, Any]], list[str], list[str]]:
    parts = _parts_of_run(suite, path, options, new_truths)
    lines, changed = [], []
    for name, (where, line) in found.items():
        if name not in parts:
            raise InputError(_unknown(where, name, _place(suite, data), parts)
                             + ('' if data is not None else f'; or {_OWN_DATA}'))
        sample, part = parts[name]
        truth = part.truth(name)
        if 'truth' in line and json.loads(json.dumps(truth)) != line['truth']:
            changed.append(name)
        lines.append(line_again(suite, sample, truth, line))
    if changed and data is None and not new_truths:
        raise InputError(f'{path}: the truth of {len(changed)} samples, such as {changed[0]}, is '
                         f'another one in {_place(suite, data)}; {_OWN_DATA}')
    place = {name: number for number, name in enumerate(parts)}
    lines.sort(key=lambda line: place[line['id']])  # as in the summary of a resumed run
    return lines, [name for name in parts if name not in found], changed


def _parts_of_run(suite: Suite, path: Path, changes: Mapping[str, Any], new_truths: bool,
                  ) -> dict[str, tuple[Sample, Samples]]:
    """Sample and its split's samples by id, for the lines of a run's file.

    Args:
        suite: of the run.
        path: of the file.
        changes: settings of its samples in place of the run's own.
        new_truths: whether their truths may be others than in the run.

    Raises:
        InputError: they cannot be made or loaded as the run had them, and nothing is changed.
    """
    if not (path.parent / 'run.json').is_file():
        return {sample.id: (sample, part) for part in _loaded(suite, changes)
                for sample in part.items}
    info = RunStore(path.parent).run_info()
    options = options_of_run(info) | dict(changes)
    splits = [split for split in suite.splits if split in info['identity']['samples']]
    found: dict[str, tuple[Sample, Samples]] = {}
    for split in splits:
        found |= split_of_run(info, suite, split, options, same=not changes,
                              truths=not new_truths)
    return found


def line_again(suite: Suite, sample: Sample, truth: Any, line: Mapping[str, Any],
               ) -> dict[str, Any]:
    """Score the answer that a line of a run has once more.

    Args:
        suite: of the run.
        sample: of the line.
        truth: that counts.
        line: of the run; one that ended in an error stays without a score.
    """
    if line.get('error'):
        return {**line, 'measures': dict.fromkeys(line['measures']), 'unread': ''}
    said = Answer.of_line(line)
    reply = SampleReply(said.text, answer=said, unread=line.get('unread') or '',
                        probability=line.get('p_right'))
    found = suite.score(dataclasses.replace(sample, details=line['details']), line['answer'],
                        truth, reply)
    cause = UNKNOWN_WORDS if line.get('unknown') and not line['answer'] else found.cause
    return {**line, 'measures': dict(found.measures), 'cause': cause}


def _run_episodes(suite: Suite, data: Path | None, found: Mapping[str, tuple[str, dict[str, Any]]],
                  ) -> tuple[list[dict[str, Any]], list[str]]:
    problems = _problems(suite, data)
    lines, left = [], dict.fromkeys(problems)
    for where, line in found.values():
        name = _problem_of(line, problems)
        if name is None:
            raise InputError(_unknown(where, line['id'], _place(suite, data), problems))
        left.pop(name, None)
        solved: bool | None = None
        if not line.get('error') and line['measures'].get('solved') is not None:
            line, solved = _followed(*problems[name], line, suite.episode_details, where)
        lines.append({**line, 'unread': '',
                      'measures': dict(suite.episode_measures(line, solved))})
    return lines, list(left)


def _problem_of(line: Mapping[str, Any], problems: Mapping[str, tuple[Domain, Problem]],
                ) -> str | None:
    """The problem of a run's line, by its name; None if there is none, or several."""
    names = [name for name, (domain, problem) in problems.items()
             if (domain.name, problem.name) == (line['domain'], line['problem'])]
    if len(names) > 1 and line['split']:
        names = [name for name in names if line['split'] in name.split('/')]
    if len(names) > 1:
        names = [name for name in names
                 if problems[name][1].optimal_length == line['optimal_length']]
    return names[0] if len(names) == 1 else None


def _followed(domain: Domain, problem: Problem, line: dict[str, Any], details: Details | None,
              where: str) -> tuple[dict[str, Any], bool]:
    """A line of a run whose steps are followed again, and whether it is solved.

    Steps that are refused, withheld or invalid change nothing. Where a step was carried out and
    did something else than its action says, nobody can follow it: then the line says itself
    whether it was solved.

    Raises:
        InputError: an action was carried out that the problem does not allow.
    """
    steps: list[dict[str, Any]] = list(line['actions'])
    model, state = domain.model(problem), problem.init
    path, told = [state], False
    for number, step in enumerate(steps):
        if number == line['max_actions'] or (line['stop_at_goal'] and not told
                                             and problem.goal_met(state)):
            steps = steps[:number]
            break
        if step['status'] == FeedbackStatus.EXECUTED.value and not told:
            told = step.get('outcome') not in ('', 'success', 'no_op')
            if not told and step.get('outcome') != 'no_op':
                state = _after(model, step['action'], state, f'{where}: actions[{number}]')
        path.append(state)
    counted = Counter(step['status'] for step in steps)
    line = {**line, 'actions': steps, 'steps': len(steps),
            **{status.value: counted[status.value] for status in FeedbackStatus},
            'actions_right': sum(step['right'] for step in steps)}
    if told:
        return line, bool(line['measures']['solved'])
    if details is not None:
        line['details'] = {**line['details'], **details(problem, path, line)}
    return line, problem.goal_met(state)


def _after(model: InstantiatedModel, text: str, state: State, where: str) -> State:
    """The state after an action that was carried out."""
    try:
        action = Action.parse(text)
        model.check(action)
    except (ValueError, InputError) as error:
        raise InputError(f'{where}: {error}; give the data that the run was made with') from error
    if not model.applicable(action, state):
        raise InputError(f'{where}: {text} was carried out in the run, and cannot be in the '
                         'problem of this name; give the data that the run was made with')
    return model.apply(action, state)


# ----------------------------------------------------------------------------------- the file


def _unknown(where: str, name: str, data: str, known: Mapping[str, Any]) -> str:
    return (f'{where}: id = {name!r} is none of {data}; use its ids, such as '
            f'{next(iter(known))!r}')


def _read(kind: Any, path: Path, known: Mapping[str, Any], data: str) -> dict[str, Any]:
    """Predictions by id, in the order of the file."""
    found: dict[str, Any] = {}
    for where, line in _lines(path):
        prediction = validated(kind, _json(where, line), where)
        if prediction.id not in known:
            raise InputError(_unknown(where, prediction.id, data, known))
        if prediction.id in found:
            raise InputError(f'{where}: id = {prediction.id!r} is there twice; keep one of them')
        found[prediction.id] = prediction
    if not found:
        raise InputError(f'{path}: holds no prediction; write one object a line, such as '
                         '{"id": "...", "answer": "..."}')
    return found


def _json(where: str, line: str) -> Any:
    try:
        return load_json(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f'{where}: is not JSON ({error}); write one object a line, such as '
                         '{"id": "...", "answer": "..."}') from error


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Place and text of the lines that are not empty."""
    try:
        text = path.read_text('utf-8')
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    except UnicodeDecodeError as error:
        raise InputError(f'{path}: is no text in UTF-8 ({error})') from error
    for number, line in enumerate(text.split('\n'), start=1):
        if line.strip():
            yield f'{path}:{number}', line
