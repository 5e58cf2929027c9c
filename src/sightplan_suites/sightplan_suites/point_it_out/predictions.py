"""Answers that came from elsewhere, one a line of a file, and their scores.

A line is ``{"id": "s1s2/17", "boxes": [[x1, y1, x2, y2]], "coordinates": "pixel_xy"}``; instead of
``boxes`` it may have ``points`` (``[[x, y], ...]``), and for a trace it has ``trace``; with
``"resized": [w, h]`` where the numbers are pixels of a resized picture, with ``"model"`` for
people, and with ``"text"``, what was asked: an answer to another text than its item's is not
scored. Numbers stand in the order of the convention: with ``permille_yx`` y comes first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pydantic

from sightplan.metrics.measures import aggregates
from sightplan.model import Form, Region
from sightplan.model.reading import Record
from sightplan.queries.coordinates import Coordinates, Misdeclared, to_unit
from sightplan.runs.dataset import (
    Skipped,
    Unusable,
    checked,
    entries_of,
    keep_new,
    skip,
    unusable_ids,
)
from sightplan.runs.predictions import check_one_model
from sightplan_suites.point_it_out import scoring
from sightplan_suites.point_it_out.official import TRACES, Dataset, Item
from sightplan_suites.point_it_out.samples import details_of, truth_of

Pair = tuple[float, float]
ANSWERS = {'boxes': Form.BOX, 'points': Form.POINT, 'trace': Form.TRACE}
"""Fields that hold an answer."""
MOST_POINTS = 10_000


class Prediction(Record):
    """A line of a file of predictions; see the module."""

    id: str
    boxes: tuple[tuple[float, float, float, float], ...] | None = None
    points: tuple[Pair, ...] | None = None
    trace: tuple[Pair, ...] | None = None
    coordinates: Coordinates
    resized: tuple[int, int] | None = None
    model: str = ''
    text: str = ''

    @pydantic.model_validator(mode='after')
    def _consistent(self) -> Self:
        there = [name for name in ANSWERS if getattr(self, name) is not None]
        if len(there) != 1:
            raise ValueError(f'a line has one of {", ".join(ANSWERS)} (it has '
                             f'{" and ".join(there) or "none"})')
        if len(getattr(self, there[0])) > MOST_POINTS:
            raise ValueError(f'{there[0]} has more than {MOST_POINTS} entries')
        return self

    @property
    def form(self) -> Form:
        """Form of the answer: boxes, points or a trace."""
        return next(form for name, form in ANSWERS.items() if getattr(self, name) is not None)

    @property
    def pairs(self) -> list[Pair]:
        """All its places in order; two of each box."""
        if self.boxes is not None:
            return [pair for a, b, c, d in self.boxes for pair in ((a, b), (c, d))]
        return list(self.points or self.trace or ())


@dataclass(frozen=True)
class Read:
    """A file of predictions.

    Attributes:
        predictions: what can be used: place in the file, and line.
        skipped: ``file`` (with the line) and ``reason`` of what cannot.
    """

    predictions: tuple[tuple[str, Prediction], ...]
    skipped: tuple[Skipped, ...]


def is_generic(path: Path) -> bool:
    """Whether no line of a file has a field of a prediction: its lines are texts of replies.

    Raises:
        InputError: the file cannot be read.
    """
    own = {*ANSWERS, 'coordinates'}
    return not any(isinstance(content, dict) and not own.isdisjoint(content)
                   for _, content, _ in entries_of(path, lists=False))


def read_predictions(path: Path) -> Read:
    """Read a file of predictions.

    Raises:
        InputError: the file cannot be read, or an id is there twice; names file and line.
    """
    found: dict[str, tuple[str, Prediction]] = {}
    skipped = []
    for where, content, wrong in entries_of(path, lists=False):
        if wrong:
            skipped.append(skip(where, wrong))
            continue
        try:
            prediction = checked(Prediction, content, where)
        except Unusable as error:
            skipped.append(skip(where, error.reason))
            continue
        keep_new(found, prediction.id, where, prediction)
    return Read(tuple(found.values()), tuple(skipped))


def score_file(data: Dataset, path: Path) -> dict[str, Any]:
    """Score a file of predictions.

    Returns:
        ``items`` (one for each answer that could be scored), ``measures``, ``unread`` (how many
        cannot be read), ``skipped`` (what was left out, with ``file`` and ``reason``), ``missing``
        (ids of usable items without an answer, which are not scored) and what
        ``scoring.summarise`` tells.

    Raises:
        InputError: see ``read_predictions``; or the answers are of several models.
    """
    read = read_predictions(path)
    check_one_model((one.model for _, one in read.predictions), path)
    known = {item.id: item for item in data.items}
    unusable, skipped = unusable_ids(data.skipped), [*data.skipped, *read.skipped]
    lines = []
    for where, prediction in read.predictions:
        item = known.get(prediction.id)
        reason = (_misfit(prediction, item) if item is not None else
                  f'its item cannot be used ({unusable[prediction.id]})'
                  if prediction.id in unusable else f'no item of {data.where} has this id')
        if item is None or reason:
            skipped.append(skip(where, reason, prediction.id))
        else:
            lines.append(_line(item, prediction))
    answered = {line['id'] for line in lines}
    return {'items': [_shown(line) for line in lines],
            'measures': aggregates(lines, scoring.MEASURES),
            'unread': sum(bool(line['unread']) for line in lines), 'skipped': skipped,
            'missing': [name for name in known if name not in answered],
            **scoring.summarise(lines)}


def regions_of(prediction: Prediction, item: Item) -> tuple[tuple[Region, ...] | None, str, int]:
    """The answer in unit coordinates.

    Returns:
        regions; why the numbers cannot be meant as declared (then there are no regions); how many
        numbers lay just beyond an edge and were set to it.
    """
    try:
        found = to_unit(prediction.pairs, prediction.coordinates, item.size, prediction.resized)
    except Misdeclared as error:
        return None, str(error), 0
    points, form = found.points, prediction.form
    if form is Form.TRACE:
        if len(points) < 2:
            return None, f'a trace has two or more points, this has {len(points)}', 0
        return (Region(form, points),), '', found.rounded
    each = 2 if form is Form.BOX else 1
    return tuple(Region(form, points[at:at + each]) for at in range(0, len(points), each)
                 ), '', found.rounded


def _misfit(prediction: Prediction, item: Item) -> str:
    if (prediction.form is Form.TRACE) is not (item.split == TRACES):
        return ('its item asks for a trace' if item.split == TRACES else
                'its item asks for a place, and this is a trace')
    if prediction.text and prediction.text.split() != item.text.split():
        return (f'it answers {prediction.text!r}, and its item asks for {item.text!r} (is it of '
                'other data?)')
    return ''


def _line(item: Item, prediction: Prediction) -> dict[str, Any]:
    """An answer as a line of results."""
    regions, unread, rounded = regions_of(prediction, item)
    found = scoring.score_regions(prediction.form, regions, truth_of(item))
    return {'id': item.id, 'cluster': item.picture, 'domain': '', 'split': item.split,
            'details': details_of(item, prediction.form), 'measures': dict(found.measures),
            'cause': found.cause, 'unread': unread, 'rounded': rounded, 'model': prediction.model,
            'answer': None if regions is None else [region.to_json() for region in regions]}


def _shown(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line as it is printed: with the measures that it is scored in."""
    details = line['details']
    return {'id': line['id'], 'split': line['split'], 'subclass': details['subclass'],
            'source': details['source'], 'scenario': details['scenario'],
            'output': scoring.output_of(line), 'model': line['model'],
            **{name: value for name, value in line['measures'].items()
               if value is not None and name != 'unread' and not name.endswith('_dropped')},
            'cause': line['cause'], 'unread': line['unread'], 'rounded': line['rounded'],
            'places': len(line['answer'] or ())}


def written(predictions: Sequence[Prediction]) -> str:
    """Predictions as the text of a file."""
    return ''.join(json.dumps(prediction.model_dump(mode='json', exclude_defaults=True)) + '\n'
                   for prediction in predictions)
