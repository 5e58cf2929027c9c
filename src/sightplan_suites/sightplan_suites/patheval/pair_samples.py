"""Pair samples: files of labelled pairs of paths, from which the benchmark's records are made.

A file is a list of ``{"Path 1": {file, id, metrics, path}, "Path 2": {...}, "Scenario": sentence,
"file": environment, "annotation": "Path 1" | "Path 2" | "Unresolved"}``. The id of a path is its
place among the runs on its map that arrived, from 0. Unresolved ones have no better path: they
are counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pydantic

from sightplan.model import InputError
from sightplan.model.reading import Record, validated
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan_suites.patheval.items import Drawn, Item, Values
from sightplan_suites.patheval.json_files import FIRST, SECOND, JsonFiles, Kind
from sightplan_suites.patheval.tasks_file import Tasks, sentence_key
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.labels import Thresholds, label_pair
from sightplan_suites.paths.maps import ObstacleMap, Point
from sightplan_suites.paths.path_files import PathRun

UNRESOLVED = 'Unresolved'
_ENVIRONMENT = re.compile(
    r'(Scene(?:[A-Za-z]+_[A-Za-z]+\d+_\d+|\d+))(?:Obstacles)?(?![0-9A-Za-z])')
_DECIMALS = 4
"""Digits of descriptors by which a record finds the pair sample that it was made of."""
_TOLERANCE = 1e-6
"""Difference of coordinates of one point in two files that is rounding."""


class _Lenient(Record):
    model_config = pydantic.ConfigDict(extra='ignore', frozen=True, strict=True,
                                       populate_by_name=True)


class _PathEntry(_Lenient):
    id: int | str
    metrics: dict[str, float]
    path: tuple[tuple[pydantic.FiniteFloat, pydantic.FiniteFloat], ...] = ()
    file: str = ''


class _Entry(_Lenient):
    """An entry of a file; see the module."""

    first: _PathEntry = pydantic.Field(alias='Path 1')
    second: _PathEntry = pydantic.Field(alias='Path 2')
    scenario: str = pydantic.Field(alias='Scenario')
    file: str = ''
    annotation: str


@dataclass(frozen=True, eq=False)
class PairSample:
    """Two paths on one map, a task, and which is better.

    Attributes:
        where: file and number of the entry.
        map: name of the environment.
        ids: of the two paths.
        paths: their points; empty where the file leaves them out.
        values: their descriptors.
        sentence: the task.
        better: 0 if the first path is better, else 1.
    """

    where: str
    map: str
    ids: tuple[str, str]
    paths: tuple[tuple[Point, ...], tuple[Point, ...]]
    values: Values
    sentence: str
    better: int

    @property
    def pair(self) -> str:
        """Name of the two paths, the same in either order."""
        return f'{self.map}/{"-".join(sorted(self.ids, key=lambda one: (len(one), one)))}'


@dataclass
class PairSamples:
    """The pair samples of a folder.

    Attributes:
        found: those with a better path.
        unresolved: number of those without one.
        skipped: what cannot be used.
    """

    found: list[PairSample] = field(default_factory=list)
    unresolved: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def of(self, sentence: str, values: Values) -> PairSample | None:
        """The sample that a record was made of: of this task, or else of these paths."""
        numbers = _rounded(values)
        return self._index.get((sentence_key(sentence), numbers)) or self._index.get(('', numbers))

    def index(self) -> None:
        """Prepare ``of``."""
        self._index: dict[tuple[str, tuple[float, ...]], PairSample] = {}
        for one in self.found:
            self._index[sentence_key(one.sentence), _rounded(one.values)] = one
            self._index.setdefault(('', _rounded(one.values)), one)
            self._index.setdefault(('', _rounded(one.values[::-1])), one)


def _rounded(values: Values) -> tuple[float, ...]:
    """Descriptors of both paths, alike where two files differ in the last digits alone."""
    return tuple(round(value, _DECIMALS) for one in values for value in one.values())


def environment_in(name: str) -> str:
    """Name of the environment that a file's name begins with, '' if it names none.

    Args:
        name: such as ``SceneMaze_Dims10_0Obstacles_2D_3.png``, perhaps with folders before it.
    """
    found = _ENVIRONMENT.match(re.split(r'[/\\]', name)[-1])
    return found[1] if found else ''


def read_pair_samples(files: JsonFiles) -> PairSamples:
    """Read the pair samples among the files of a folder."""
    samples = PairSamples()
    seen: dict[tuple[Any, ...], str] = {}
    for file in files.of(Kind.PAIRS):
        for number, entry in enumerate(file.entries, 1):
            where = f'{file.path}: pair {number}'
            try:
                one = _sample(entry, where)
                if one is None:
                    samples.unresolved += 1
                    continue
                key = one.map, one.ids, sentence_key(one.sentence)
                if key in seen:
                    raise InputError(f'{where}: the same paths and task are there twice, first at '
                                     f'{seen[key]} (keep one of them)')
            except InputError as error:
                samples.skipped.append(skip(str(file.path), reason_of(error, str(file.path))))
                continue
            seen[key] = where
            samples.found.append(one)
    samples.index()
    return samples


def _sample(entry: Any, where: str) -> PairSample | None:
    """An entry as a sample; None if it is unresolved.

    Raises:
        InputError: a field is missing or wrong; names place, field and remedy.
    """
    row = validated(_Entry, entry, where)
    label = row.annotation.strip().rstrip('.')
    if label == UNRESOLVED:
        return None
    if label not in (FIRST, SECOND):
        raise InputError(f'{where}: annotation = {row.annotation!r} (it must be {FIRST!r}, '
                         f'{SECOND!r} or {UNRESOLVED!r})')
    names = (row.file, row.first.file, row.second.file)
    item = next(filter(None, map(environment_in, names)), '') or (
        Path(row.file).stem.removesuffix('Obstacles'))
    if not item:
        raise InputError(f'{where}: file names no environment (give its name, such as '
                         'SceneMaze_Dims10_0Obstacles.txt)')
    values = tuple(Descriptors.from_json(one.metrics, f'{where}: {name}.metrics')
                   for name, one in ((FIRST, row.first), (SECOND, row.second)))
    return PairSample(where, item, (str(row.first.id), str(row.second.id)),
                      (row.first.path, row.second.path), (values[0], values[1]),
                      row.scenario.strip(), int(label == SECOND))


def differences(samples: PairSamples, arrived: Mapping[str, tuple[PathRun, ...]],
                ) -> list[Skipped]:
    """Samples with a path that is another one than the planned path of its id."""
    return [skip(one.where, f'{name}: id = {number}: is not the path {number} of those planned on '
                 f'{one.map} that arrived (correct the id, or the file of paths)')
            for one in samples.found if one.map in arrived
            for name, number, path in zip((FIRST, SECOND), one.ids, one.paths, strict=True)
            if path and not _same(path, _planned(arrived[one.map], number))]


def _planned(runs: tuple[PathRun, ...], number: str) -> tuple[Point, ...]:
    return next((run.points for place, run in enumerate(runs) if str(place) == number), ())


def _same(first: tuple[Point, ...], second: tuple[Point, ...]) -> bool:
    return len(first) == len(second) and all(
        abs(a - b) <= _TOLERANCE for one, other in zip(first, second, strict=True)
        for a, b in zip(one, other, strict=True))


def items_of(samples: PairSamples, maps: Mapping[str, ObstacleMap],
             arrived: Mapping[str, tuple[PathRun, ...]], tasks: Tasks, thresholds: Thresholds,
             size: int) -> tuple[list[Item], list[Skipped]]:
    """Make items of pair samples, with pictures that are drawn; and name what cannot be drawn."""
    items, skipped = [], []
    for one in samples.found:
        paths = [path or _planned(arrived.get(one.map, ()), number)
                 for path, number in zip(one.paths, one.ids, strict=True)]
        if one.map not in maps or not all(paths):
            what = (f'the environment {one.map}' if one.map not in maps else 'the path')
            skipped.append(skip(one.where, f'{what} is not there (put its file into the folder)'))
            continue
        number = tasks.number(one.sentence)
        task = tasks.by_number.get(number)
        votes = () if task is None else tuple(name for name, _ in label_pair(
            *one.values, task.vector, thresholds=thresholds).votes)
        place = f'{one.map}/{"-".join(one.ids)}'
        items.append(Item(
            f'{place}/{f"s{number:02}" if number else sentence_key(one.sentence)[:40]}', one.map,
            one.pair, number, one.sentence, None if task is None else task.vector, one.values,
            one.better, votes, Drawn(place, maps[one.map], (paths[0], paths[1]), size),
            thresholds))
    return items, skipped
