"""Answered traces with their pictures: of runs, or of files of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, InputError, Region
from sightplan.model.region import Point
from sightplan.model.sample import Picture, Sample
from sightplan.records import RunStore
from sightplan.runs.run_samples import samples_of_run
from sightplan.runs.suite_finding import load_suite
from sightplan_suites.point_it_out import official, predictions


@dataclass(frozen=True, eq=False)
class ShownTrace:
    """A trace to be judged.

    Attributes:
        id: of its item.
        model: that drew it.
        text: the task.
        points: in unit coordinates.
        load: gives the picture, (H, W, 3) uint8 RGB.
    """

    id: str
    model: str
    text: str
    points: tuple[Point, ...]
    load: Callable[[], NDArray[np.uint8]]


def traces_of_runs(folders: Iterable[Path]) -> list[ShownTrace]:
    """The traces of runs of this suite; unread answers have none.

    Raises:
        InputError: a folder holds no run of this suite, or the data of a run are not those that it
            was made of.
    """
    return [trace for folder in folders for trace in _of_run(folder)]


def traces_of_files(data: Path, files: Iterable[Path]) -> list[ShownTrace]:
    """Traces in files of predictions; unusable ones are left out, as by ``score``.

    Raises:
        InputError: a file or the data cannot be read.
    """
    found = official.read_official(data)
    items = {item.id: item for item in found.items}
    shown = []
    for path in files:
        for _, prediction in predictions.read_predictions(path).predictions:
            item = items.get(prediction.id)
            if item is None or prediction.form is not Form.TRACE or item.split != official.TRACES:
                continue
            regions, _, _ = predictions.regions_of(prediction, item)
            if regions:
                shown.append(ShownTrace(item.id, prediction.model or path.stem, item.text,
                                        regions[0].points, _loader(found, item.picture)))
    return shown


def checked(traces: Sequence[ShownTrace]) -> Sequence[ShownTrace]:
    """Traces, if there are any, and each model's trace of an item is there once.

    Raises:
        InputError: there is none, or one is there twice.
    """
    seen: set[tuple[str, str]] = set()
    for trace in traces:
        if (trace.id, trace.model) in seen:
            raise InputError(f'model {trace.model!r} has two traces for {trace.id}; name one run '
                             'or file of each model')
        seen.add((trace.id, trace.model))
    if not traces:
        raise InputError('there is not one trace; name runs of split s3, or files with "trace"')
    return traces


def _of_run(folder: Path) -> list[ShownTrace]:
    store = RunStore(folder)
    info = store.run_info()
    identity = info['identity']
    if identity.get('suite') != 'point_it_out':
        raise InputError(f'{folder}: is not a run of suite point_it_out')
    found = samples_of_run(info, load_suite('point_it_out'), [official.TRACES])
    if found.missing:
        raise InputError(f'{folder}: its traces cannot be shown: {found.missing[official.TRACES]}')
    return [_shown(sample, line) for line in store.lines()
            if line['answer'] and (sample := found.sample(line)) is not None]


def _shown(sample: Sample, line: Mapping[str, Any]) -> ShownTrace:
    text = next(part for part in sample.parts if isinstance(part, str))
    picture = next(part for part in sample.parts if isinstance(part, Picture))
    return ShownTrace(sample.id, line['model'] or line['method'], text,
                      Region.from_json(line['answer'][0]).points, picture.load)


def _loader(data: official.Dataset, picture: str) -> Callable[[], NDArray[np.uint8]]:
    return lambda: data.files.image(picture)
