"""Plans that came from elsewhere, one a line of a file, and their scores.

A line is ``{"id": ..., "coords": "pixel_xyxy", "actions": [{"action": "grasp", "target": "red
cup", "bbox": [x1, y1, x2, y2]}, {"action": "place", "target": "tray", "point": [x, y]}]}``, or has
the text of a reply in ``answer`` instead of ``actions``. Fields may have other names, see
``fields``. Lines of a run's ``episodes.jsonl`` are taken with the steps that were read then, and
with the run's ``grasp_criterion``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.metrics.measures import aggregates
from sightplan.model import InputError
from sightplan.model.grounded_plan import GroundedStep
from sightplan.runs.dataset import (
    Skipped,
    entries_of,
    keep_new,
    skip,
    unusable_ids,
)
from sightplan.runs.predictions import check_one_model, is_run_line
from sightplan.runs.suite_parts import Unread
from sightplan_suites.grounded_plan import scoring
from sightplan_suites.grounded_plan.coordinates import Coords, box_region
from sightplan_suites.grounded_plan.fields import FieldTable, field_table, renamed
from sightplan_suites.grounded_plan.reading import declared_coords, read_steps, read_text
from sightplan_suites.grounded_plan.record_parts import INSTRUCTION_KINDS
from sightplan_suites.grounded_plan.records import Dataset, Item
from sightplan_suites.grounded_plan.samples import Settings, details_of

SUITE = 'grounded_plan'
SKIP, ZERO = 'skip', 'zero'
"""Treatments of tasks without a prediction: leave them out, or count them as 0."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A line of a file of predictions.

    Attributes:
        id: of the task.
        content: actions, or the text of a reply; None: nothing was said.
        coords: convention of its numbers, '' where it says none.
        model: whose it is, '' where that is not said.
        criterion: when a box fits, '' where that is not said; lines of a run say it.
        unread: of a line of a run, why its reply could not be read.
        error: of a line of a run, why there is no reply; then it is not scored.
        instruction: of a line of a run, the instruction that was given; '' elsewhere.
        truth: of a line of a run, what was true then; None where that is not said.
    """

    id: str
    content: Any
    coords: str = ''
    model: str = ''
    criterion: str = ''
    unread: str = ''
    error: str = ''
    instruction: str = ''
    truth: Any = None


@dataclass(frozen=True)
class PredictionFile:
    """A file of predictions.

    Attributes:
        predictions: what can be used: place in the file, and line.
        skipped: ``file`` (with the line) and ``reason`` of what cannot.
        unknown: fields that are read over, each with the first place where it is.
    """

    predictions: tuple[tuple[str, Prediction], ...]
    skipped: tuple[dict[str, str], ...]
    unknown: Mapping[str, str]


def read_predictions(path: Path, table: FieldTable | None = None) -> PredictionFile:
    """Read a file of predictions.

    Args:
        path: of the file.
        table: names of fields; None: those that are shipped.

    Raises:
        InputError: the file cannot be read, or an id is there twice; names file and line.
    """
    names = (table or field_table()).prediction
    found: dict[str, tuple[str, Prediction]] = {}
    skipped, unknown = [], dict[str, str]()
    called = {other for ours in names.values() for other in ours}
    for where, content, wrong in entries_of(path):
        if not wrong and is_run_line(content):
            wrong = _wrong_run(content)
            if wrong:
                skipped.append(skip(where, wrong))
            else:
                keep_new(found, (run := _of_run(content)).id, where, run)
            continue
        entry = content if isinstance(content, dict) else {}
        line = renamed(entry, names)
        for field in entry.keys() - called:
            unknown.setdefault(field, where)
        if reason := wrong or _wrong(entry, line, names):
            skipped.append(skip(where, reason))
            continue
        name = str(line['id'])
        keep_new(found, name, where, Prediction(
            name, line.get('actions', line.get('answer')), str(line.get('coords', '')),
            str(line.get('model', ''))))
    return PredictionFile(tuple(found.values()), tuple(skipped), unknown)


def _wrong_run(line: Mapping[str, Any]) -> str:
    """Explain why a line of a run cannot be used; '' if it can."""
    if line.get('suite') != SUITE:
        return f'suite = {line.get("suite")!r}: is a line of another suite'
    try:
        Coords(line['details']['coords'])
        _of_run(line)
    except (AttributeError, InputError, KeyError, TypeError, ValueError) as error:
        return ('is not a line of a run as this version writes it '
                f'({type(error).__name__}: {error})')
    return ''


def _of_run(line: Mapping[str, Any]) -> Prediction:
    answer = line['answer']
    return Prediction(
        str(line['id']), None if answer is None else tuple(map(GroundedStep.from_json, answer)),
        line['details']['coords'], line.get('model', ''), line['details']['grasp_criterion'],
        '' if answer is not None else line.get('unread') or 'no plan', line.get('error') or '',
        line['details'].get('instruction', ''), line.get('truth'))


def _wrong(entry: Mapping[str, Any], line: Mapping[str, Any],
           names: Mapping[str, Sequence[str]]) -> str:
    """Explain why a line cannot be used; '' if it can. An unreadable plan is no reason."""
    name = line.get('id')
    if name is None:
        return 'id is missing (add it)'
    if not isinstance(name, (str, int)) or isinstance(name, bool):
        return f'id = {name!r} is not a text'
    if entry.keys().isdisjoint({*names['actions'], *names['answer']}):
        return 'answer is missing (add it, or actions)'
    content = line.get('actions', line.get('answer'))
    if not isinstance(content, str | list | dict | None):
        return f'answer = {content!r} is not a text, nor are these actions'
    return ''


OF_ANOTHER = ('its run was given another instruction than the record of this id has (score it '
              'with the records of its run)')


def is_of_another(prediction: Prediction, item: Item) -> bool:
    """Whether a line of a run answers another instruction than the task of its id has."""
    return prediction.instruction not in ('', item.task.instruction)


def steps_of(prediction: Prediction, item: Item, coords: str = '',
             table: FieldTable | None = None) -> list[GroundedStep]:
    """The plan of a prediction, in unit coordinates.

    Args:
        prediction: a line.
        item: its task.
        coords: convention of lines that say none; '': of actions that of the task's record, of
            texts of replies the one that prompts ask for by default.
        table: names of fields; None: those that are shipped.

    Raises:
        Unread: it holds no plan, or its convention is unknown.
    """
    if prediction.unread:
        raise Unread(prediction.unread)
    if isinstance(prediction.content, tuple):
        return list(prediction.content)
    text = isinstance(prediction.content, str)
    declared = declared_coords(prediction.coords or coords or (
        Settings().coords if text else str(item.coords)))
    if text:
        return read_text(prediction.content, declared, item.size)
    if prediction.content is None:
        raise Unread('no actions')
    return read_steps(prediction.content, declared, item.size, table)


def score_file(data: Dataset, path: Path, criterion: str = '', coords: str = '',
               missing: str = SKIP) -> dict[str, Any]:
    """Score a file of predictions.

    Args:
        data: the tasks; no picture of theirs is opened.
        path: of the file.
        criterion: when a box fits, one of ``scoring.CRITERIA``; '': of lines of a run that of
            the run, else ``iou``.
        coords: see ``steps_of``.
        missing: SKIP: tasks without a prediction are not scored; ZERO: they count 0.

    Returns:
        ``items`` (one for each task that is scored), ``measures``, ``unread`` (how many cannot
        be read), ``skipped`` (what was left out, with ``file`` and ``reason``),
        ``unknown_fields`` (which are read over, each with its first place), ``missing`` (ids
        of usable tasks without a prediction), ``changed`` (ids of a run's tasks whose truth is
        another one than in the run) and what ``scoring.summarise`` tells.

    Raises:
        InputError: see ``read_predictions``; or the predictions are of several models, or lines of
            runs have several criteria.
    """
    table = field_table(data.files.folder)
    read = read_predictions(path, table)
    check_one_model((one.model for _, one in read.predictions), path)
    said = {one.criterion or scoring.IOU for _, one in read.predictions}
    if not criterion and len(said) > 1:
        raise InputError(f'{path}: its lines are of runs with grasp_criterion '
                         f'{" and ".join(sorted(said))}; choose one (--grasp-criterion)')
    criterion = criterion or next(iter(said), scoring.IOU)
    known = {item.id: item for item in data.items}
    unusable = unusable_ids(data.skipped)
    skipped: list[Skipped] = [*data.skipped, *read.skipped]
    lines, changed = [], []
    for where, prediction in read.predictions:
        item = known.get(prediction.id)
        if item is not None and prediction.truth not in (None, _truth(item)):
            changed.append(item.id)
        if item is None:
            skipped.append(skip(where, (
                f'its record cannot be used ({unusable[prediction.id]})'
                if prediction.id in unusable else _unknown(prediction.id, known, data.where)),
                prediction.id))
        elif is_of_another(prediction, item):
            skipped.append(skip(where, OF_ANOTHER, prediction.id))
        elif prediction.error:
            skipped.append(skip(where, f'there is no reply ({prediction.error})', prediction.id))
        else:
            lines.append(_line(item, prediction, criterion, coords, table))
    place = {name: number for number, name in enumerate(known)}
    lines.sort(key=lambda line: place[line['id']])  # as in the summary of a resumed run
    answered = {line['id'] for line in lines}
    left = [item for item in data.items if item.id not in answered]
    if missing == ZERO:
        lines += [_line(item, None, criterion, coords, table) for item in left]
    return {'items': [_shown(line) for line in lines],
            'measures': aggregates(lines, scoring.MEASURES),
            'unread': sum(bool(line['unread']) for line in lines), 'skipped': skipped,
            'unknown_fields': dict(sorted(read.unknown.items())),
            'missing': [item.id for item in left], 'changed': changed,
            **scoring.summarise(lines), 'grasp_criterion': criterion}


def _unknown(name: str, known: Mapping[str, Item], where: str) -> str:
    """Say that no record has an id, and whose two instructions have ids of their own."""
    both = [one for kind in INSTRUCTION_KINDS if (one := f'{name}-{kind}') in known]
    return (f'id = {name!r}: the record has two instructions (write {" or ".join(both)})' if both
            else f'id = {name!r}: no record of {where} has this id')


def _truth(item: Item) -> Any:
    """The truth of a task as lines of a run have it."""
    return json.loads(json.dumps(scoring.truth_of(item.task.plans, item.things)))


def _line(item: Item, prediction: Prediction | None, criterion: str, coords: str,
          table: FieldTable) -> dict[str, Any]:
    """Result line of an item, with or without a prediction."""
    causes: Sequence[str] = (scoring.UNREAD,)
    wrong, units = '', 0
    try:
        if prediction is None:
            raise Unread('no prediction')
        found = scoring.best_score(
            item.task.plans, steps_of(prediction, item, coords, table), criterion,
            [box_region(box) for _, box in item.things])
        measures: Mapping[str, float | None] = found.measures
        causes, units = found.causes, found.predicted
    except Unread as unread:
        wrong, measures = str(unread), scoring.unread().measures
    return {'id': item.id, 'cluster': item.scene, 'domain': '', 'split': item.horizon,
            'details': details_of(item, coords, criterion), 'measures': dict(measures),
            'cause': next(iter(causes), None), 'causes': list(causes), 'unread': wrong,
            'units': units, 'model': prediction.model if prediction is not None else ''}


def _shown(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line as it is printed."""
    measures, details = line['measures'], line['details']
    return {'id': line['id'], **{name: measures[name] for name in (
        'tsr', 'tsr_lenient', 'arr', 'precision', 'f1')}, 'horizon': details['horizon'],
        'instruction_type': details['instruction_type'], 'units': line['units'],
        'cause': line['cause'], 'causes': line['causes'], 'unread': line['unread'],
        'model': line['model']}
