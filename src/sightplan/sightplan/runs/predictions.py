"""Scoring a file of predictions: answers that came from elsewhere, without model and world.

One JSON object a line: ``{"id": ..., "answer": ...}``. Of a sample the answer is the text of the
reply, optionally with ``p_yes`` and ``p_no``; of an episode it is the list of its actions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from sightplan.domains import Domain
from sightplan.metrics.episodes import episode_measures
from sightplan.metrics.measures import aggregates
from sightplan.metrics.scorer import Details
from sightplan.model import Action, FeedbackStatus, InputError, Problem
from sightplan.model.json_text import load_json
from sightplan.model.reading import Record, validated
from sightplan.model.sample import SampleReply
from sightplan.runs.samples import load_samples, score_reply
from sightplan.runs.settings import ALL_SPLITS
from sightplan.runs.suite import EPISODES, SAMPLES, Suite

Probability = Annotated[float, pydantic.Field(ge=0, le=1)]


class SamplePrediction(Record):
    """A reply to a sample; ``answer`` null: none."""

    id: str
    answer: str | None
    p_yes: Probability | None = None
    p_no: Probability | None = None


class EpisodePrediction(Record):
    """The actions of an episode, such as ``["moveblock(r, c2)"]``; null: none."""

    id: str
    answer: list[str] | None


def score_predictions(suite: Suite, data: Path, predictions: Path) -> dict[str, Any]:
    """Score predictions for a folder of a suite's data.

    Where a suite has episodes and samples, the predictions are of one kind, which their ids tell.

    Args:
        suite: that they belong to.
        data: folder of its data.
        predictions: file of them.

    Returns:
        ``measures`` (name to ``value``, ``interval95``, ``n``, ``clusters``) over the
        predictions, ``items`` (number of them), ``unread`` (those without a valid answer),
        ``missing`` (ids of items without a prediction, which are not scored), and what the suite
        adds to a summary.

    Raises:
        InputError: a file cannot be used; names file, line, field and remedy.
    """
    kind = _kind(suite, data, predictions)
    lines, missing = (_score_samples(suite, data, predictions) if kind == SAMPLES
                      else _score_episodes(suite, data, predictions))
    own = getattr(suite.module('scoring'), 'summarise', None) if kind == SAMPLES else None
    return {'measures': aggregates(lines, suite.measures(kind)), 'items': len(lines),
            'unread': sum(bool(line['unread']) for line in lines), 'missing': missing,
            **(own(lines) if own is not None else {})}


def _kind(suite: Suite, data: Path, predictions: Path) -> str:
    """Whether a file holds predictions of episodes or of samples.

    Raises:
        InputError: the file or the data cannot be read.
    """
    if len(suite.kinds) == 1:
        return suite.kinds[0]
    ids = {content['id'] for where, line in _lines(predictions)
           if isinstance(content := _json(where, line), dict) and isinstance(
               content.get('id'), str)}
    samples = {sample.id for part in load_samples(suite, ALL_SPLITS, {'data': str(data)})
               for sample in part.items} if ids else set()
    return SAMPLES if ids & samples else EPISODES


def _score_samples(suite: Suite, data: Path, predictions: Path,
                   ) -> tuple[list[dict[str, Any]], list[str]]:
    parts = {sample.id: (sample, part)
             for part in load_samples(suite, ALL_SPLITS, {'data': str(data)})
             for sample in part.items}
    found = _read(SamplePrediction, predictions, parts, data)
    lines = []
    for name, prediction in found.items():
        sample, part = parts[name]
        reply = SampleReply(prediction.answer or '', prediction.p_yes, prediction.p_no)
        lines.append({'id': name, 'kind': 'sample', 'cluster': sample.cluster,
                      'domain': sample.domain,
                      'split': sample.split, 'details': sample.details,
                      **score_reply(suite, sample, part.truth(name), reply)})
    return lines, [name for name in parts if name not in found]


def _score_episodes(suite: Suite, data: Path, predictions: Path,
                    ) -> tuple[list[dict[str, Any]], list[str]]:
    problems: Mapping[str, tuple[Domain, Problem]] = suite.module('episodes').problems(data)
    found = _read(EpisodePrediction, predictions, problems, data)
    scoring = suite.module('scoring')
    measures = getattr(scoring, 'measures', episode_measures)
    lines = []
    for name, prediction in found.items():
        line = carry_out(*problems[name], prediction.answer or (),
                         getattr(scoring, 'details', None))
        lines.append({'id': name, 'cluster': name, 'unread': line['unread'],
                      'measures': measures(line, line['solved'])})
    return lines, [name for name in problems if name not in found]


def carry_out(domain: Domain, problem: Problem, actions: Sequence[str],
              details: Details | None = None) -> dict[str, Any]:
    """Carry out actions in the PDDL model, from the problem's initial state.

    What is not applicable is refused, and nothing changes, as in the worlds.

    Args:
        domain: of the problem.
        problem: where it begins.
        actions: as text.
        details: what a suite keeps of the way, see ``EpisodeScorer``.

    Returns:
        what ``episode_measures`` counts in, with ``solved`` and ``unread`` ('' or what is no
        action of the problem; what follows it is not carried out).
    """
    model, state = domain.model(problem), problem.init
    unread, path = '' if actions else 'no action', [state]
    taken: list[dict[str, Any]] = []
    for text in actions:
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


def _read(kind: Any, path: Path, known: Mapping[str, Any], data: Path) -> dict[str, Any]:
    """Predictions by id, in the order of the file."""
    found: dict[str, Any] = {}
    for where, line in _lines(path):
        prediction = validated(kind, _json(where, line), where)
        if prediction.id not in known:
            raise InputError(f'{where}: id = {prediction.id!r} is none of {data}; use its ids, '
                             f'such as {next(iter(known))!r}')
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
