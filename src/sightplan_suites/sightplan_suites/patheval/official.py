"""Folders of data: the benchmark's own formats, read and written.

* ``Scene*Obstacles.txt`` at whatever depth: environments, see ``paths.maps``. Their planned paths
  are in text files of the same name without ``Obstacles``, see ``paths.path_files``.
* ``*.json`` with lists of records: ``id``, ``image`` (a file: the first path on the left, the
  second on the right), ``conversations`` (the task and a question from ``human``, ``Path 1`` or
  ``Path 2`` from ``gpt``) and ``metrics`` (descriptors of ``Path 1`` and ``Path 2``). Where the
  name of the picture, or else that of the file, has the word 2d or 3d (``7_2D.png``,
  ``3d/7.png``), it shows that view, and is left out where the other one is wanted. Ours have
  ``scenario``, its number, and ``map`` besides; other keys are left alone.
* ``segments.json``: pairs of segments (ours).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pydantic

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.picture_files import read_image
from sightplan.model.reading import Record, validated
from sightplan.model.whole_files import replacing
from sightplan.runs.dataset import (
    Skipped,
    reason_of,
    skip,
)
from sightplan.runs.suite_parts import CheckReport
from sightplan.vlm.images import encode
from sightplan_suites.patheval.building import PathPair, pairs_of
from sightplan_suites.patheval.items import FromFile, Item, View, family_of
from sightplan_suites.patheval.scenarios import scenarios
from sightplan_suites.patheval.segments import KINDS, SegmentPair, distance_of
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.drawing import pair
from sightplan_suites.paths.labels import ORDER, Vector, label_pair
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, Point, map_from_text, map_text
from sightplan_suites.paths.path_files import PathRun, read_path_runs, write_path_runs

SEGMENTS = 'segments.json'
RECORDS = 'records.json'
FIRST, SECOND = 'Path 1', 'Path 2'
_OBSTACLES = 'Obstacles'
_ENVIRONMENTS = f'Scene*{_OBSTACLES}.txt'
_QUESTION = 'Which path serves this task better?'
_QUESTION_START = 'Which path'
_PATHS = ('', 'Paths', 'Path')
_VIEWS = ('2d', '3d')


class _Lenient(Record):
    model_config = pydantic.ConfigDict(extra='ignore', frozen=True, strict=True,
                                       populate_by_name=True)


class _Message(_Lenient):
    who: str = pydantic.Field(alias='from')
    value: str


class _Row(_Lenient):
    """A record of conversations; see the module."""

    id: str | int
    image: str
    conversations: tuple[_Message, ...]
    metrics: dict[str, dict[str, float]]
    scenario: int = 0
    map: str = ''


class _Segments(Record):
    """A line of ``segments.json``; points are [x, y]."""

    id: str
    kind: Literal['point', 'line', 'curve']
    first: tuple[tuple[pydantic.FiniteFloat, pydantic.FiniteFloat], ...]
    second: tuple[tuple[pydantic.FiniteFloat, pydantic.FiniteFloat], ...]
    nearer: Literal[1, 2]


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a folder.

    Attributes:
        items: those that can be used.
        skipped: the others.
        sha256: of files and pictures.
        seen: how many records there are, usable or not; a file that cannot be read is one.
    """

    items: list[Item]
    skipped: list[Skipped]
    sha256: str
    seen: int


@dataclass(frozen=True, eq=False)
class Environments:
    """The environments of a folder.

    Attributes:
        maps: by file.
        pairs: of those with two or more valid paths.
        skipped: what cannot be used.
        runs: number of planned paths.
        arrived: of those that end at the goal.
        sha256: of the files.
    """

    maps: dict[Path, ObstacleMap]
    pairs: list[PathPair]
    skipped: list[Skipped]
    runs: int
    arrived: int
    sha256: str


# -------------------------------------------------------------------------------- environments


def read_environments(folder: Path) -> Environments:
    """Read the environments of a folder, and their planned paths where there are any.

    Raises:
        InputError: there is no such folder.
    """
    _check_folder(folder)
    files = sorted(folder.rglob(_ENVIRONMENTS))
    others = {path.stem.lower(): path for path in sorted(folder.rglob('*.txt'))
              if path not in set(files)}
    maps: dict[Path, ObstacleMap] = {}
    pairs: list[PathPair] = []
    skipped: list[Skipped] = []
    counts: Counter[str] = Counter()
    digest = hashlib.sha256()
    for path in files:
        try:
            item = read_environment(path)
            maps[path] = item
            skipped += [{'file': str(path), 'reason': one} for one in blocked(item)]
            runs = _runs_of(item.name, others)
        except InputError as error:
            skipped.append(_reason(path, error))
            continue
        arrived = [run for run in runs if run.arrived()]
        counts += Counter(runs=len(runs), arrived=len(arrived))
        digest.update(f'{map_text(item)}{arrived}'.encode())
        if len(arrived) > 1:
            try:
                pairs += pairs_of(item, arrived)
            except InputError as error:
                skipped.append(_reason(path, error))
    return Environments(maps, pairs, skipped, counts['runs'], counts['arrived'],
                        digest.hexdigest()[:12])


def read_environment(path: Path) -> ObstacleMap:
    """Read one environment; it is named after the file, without ``Obstacles``.

    Raises:
        InputError: it cannot be read or used; names file, polygon and remedy.
    """
    try:
        text = path.read_text('utf-8')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{path}: cannot be read: {error} (name a polygon file)') from error
    return map_from_text(text, path.stem.removesuffix(_OBSTACLES), path)


def blocked(item: ObstacleMap) -> Iterator[str]:
    """Yield a sentence for each of start and goal that lies inside an obstacle."""
    for what, place in (('start', START), ('goal', GOAL)):
        if item.clearances([place])[0] > 0:
            continue
        for number, polygon in enumerate(item.polygons, 1):
            if ObstacleMap('', (polygon,)).clearances([place])[0] == 0:
                yield (f'the {what} {place[0]:g} {place[1]:g} lies inside of polygon {number} (no '
                       'path can be planned here)')


def _runs_of(name: str, files: Mapping[str, Path]) -> tuple[PathRun, ...]:
    path = next((files[stem] for ending in _PATHS
                 if (stem := f'{name}{ending}'.lower()) in files), None)
    return () if path is None else read_path_runs(path)


def environment_file(out: Path, name: str) -> Path:
    """Path of the file for a map."""
    return out / 'environments' / f'{name}{_OBSTACLES}.txt'


def paths_file(out: Path, name: str) -> Path:
    """Path of the file for the paths that were planned on a map."""
    return out / 'paths' / f'{name}.txt'


def write_environment(out: Path, item: ObstacleMap, runs: Sequence[PathRun]) -> None:
    """Write a map and, after it, the paths planned on it."""
    _write(environment_file(out, item.name), map_text(item).encode())
    file = paths_file(out, item.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_path_runs(runs, file)


# ------------------------------------------------------------------------------------- records


def read_records(folder: Path, view: View | None = '2d') -> Records:
    """Read the records of a folder.

    Args:
        folder: searched at whatever depth.
        view: that its pictures are taken to show where their names say none; None: of records of
            both views, as for counting them.

    Returns:
        the records of the view; those whose pictures are named after the other one are skipped.

    Raises:
        InputError: there is no such folder, or two records of one view have the same id.
    """
    _check_folder(folder)
    reader, digest = _Reader(folder, view), hashlib.sha256()
    for path in _record_files(folder):
        reader.read(path)
        digest.update(path.read_bytes())
    for picture in sorted(reader.pictures):
        digest.update(picture.read_bytes())
    return Records(reader.items, reader.skipped, digest.hexdigest()[:12], reader.seen)


def _record_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob('*.json')) if path.name != SEGMENTS]


class _Reader:
    """Reads files of records."""

    def __init__(self, folder: Path, view: View | None) -> None:
        self._folder, self._view = folder, view
        self.items: list[Item] = []
        self.skipped: list[Skipped] = []
        self.pictures: set[Path] = set()
        self.seen = 0
        self._ids: set[tuple[str, str]] = set()
        self._numbers = {_plain(one.text): number for number, one in scenarios().items()}

    def read(self, path: Path) -> None:
        """Read one file; entries that cannot be used are noted."""
        try:
            content = load_json(path.read_text('utf-8'))
        except (OSError, ValueError, RecursionError) as error:
            self.skipped.append(_reason(path, error))
            self.seen += 1
            return
        if not isinstance(content, list):
            self.skipped.append({'file': str(path), 'reason': 'is not a list of records'})
            return
        self.seen += len(content)
        for number, entry in enumerate(content, 1):
            where = f'{path}: record {number}'
            try:
                row = validated(_Row, entry, where)
                view = self._view_shown(row.image, path, where)
                item = self._item(row, path, where)
            except InputError as error:
                self.skipped.append(_reason(path, error))
                continue
            if (view, item.id) in self._ids:
                raise InputError(f'{where}: id = {item.id!r} is there twice (give each record an '
                                 'id of its own)')
            self._ids.add((view, item.id))
            self.items.append(item)

    def _item(self, row: _Row, path: Path, where: str) -> Item:
        task, label = _said(row, where)
        values = _values(row, where)
        file = self._picture(row.image, path, where)
        self.pictures.add(file)
        known = scenarios()
        if row.scenario and row.scenario not in known:
            raise InputError(f'{where}: scenario = {row.scenario} (give 1 to {len(known)}, or '
                             'leave it out)')
        number = row.scenario or self._numbers.get(_plain(task), 0)
        vector: Vector | None = known[number].vector if number else None
        every = (1,) * len(ORDER)
        votes = label_pair(*values, vector or every).votes
        return Item(str(row.id), row.map or row.image, row.image, number, task, vector, values,
                    label, tuple(name for name, _ in votes), FromFile(row.image, file))

    def _view_shown(self, image: str, path: Path, where: str) -> str:
        """View by the name of a picture, or else by its file of records.

        Raises:
            InputError: it is not the one that is wanted.
        """
        picture = Path(image)
        inside = picture.name if picture.is_absolute() else image
        said = _view_of(picture.name) or _view_of(inside) or _view_of(path.stem)
        if said and self._view is not None and said != self._view:
            raise InputError(f'{where}: image = {image!r} is a picture of view {said}, and '
                             f'{self._view} is wanted (choose view={said}, or export pictures '
                             'of the other view)')
        return said

    def _picture(self, image: str, path: Path, where: str) -> Path:
        found = next((file for file in (path.parent / image, self._folder / image)
                      if file.is_file()), None)
        if found is None:
            raise InputError(f'{where}: image = {image!r} is not there (put it below '
                             f'{self._folder})')
        return found


def _view_of(name: str) -> str:
    """View by the words of a file's name; '' if they name none, or both."""
    words = set(re.split(r'[^0-9a-z]+', name.lower()))
    said = [view for view in _VIEWS if view in words]
    return said[0] if len(said) == 1 else ''


def _said(row: _Row, where: str) -> tuple[str, int]:
    """The task, and the position of the better path."""
    asked = next((one.value for one in row.conversations if one.who == 'human'), None)
    told = next((one.value for one in row.conversations if one.who == 'gpt'), None)
    if asked is None or told is None:
        raise InputError(f'{where}: conversations must have one entry from human and one from gpt')
    text = asked.replace('<image>', '').strip()
    before, found, _ = text.rpartition(_QUESTION_START)
    task = before.strip() if found else text
    if not task:
        raise InputError(f'{where}: conversations: the entry from human names no task')
    label = told.strip().rstrip('.')
    if label not in (FIRST, SECOND):
        raise InputError(f'{where}: conversations: the entry from gpt is {told!r} (it must be '
                         f'{FIRST!r} or {SECOND!r})')
    return task, int(label == SECOND)


def _values(row: _Row, where: str) -> tuple[Descriptors, Descriptors]:
    for name in (FIRST, SECOND):
        if name not in row.metrics:
            raise InputError(f'{where}: metrics: {name!r} is missing (add its descriptors)')
    first, second = (Descriptors.from_json(row.metrics[name], f'{where}: metrics.{name}')
                     for name in (FIRST, SECOND))
    return first, second


def write_records(out: Path, items: Iterable[Item], view: View, *, keep: bool = False,
                  progress: Callable[[int], None] = lambda done: None) -> dict[str, int]:
    """Write items as records with their pictures; returns the number of records.

    Args:
        out: the folder.
        items: what is compared.
        view: of the pictures.
        keep: existing pictures are of these items and need not be drawn again.
        progress: is told how many records are made.
    """
    rows: list[dict[str, Any]] = []
    written: set[str] = set()
    for item in items:
        image = f'images/{view}/{item.pictured.name.replace("/", "_")}.png'
        if image not in written:
            written.add(image)
            if not (keep and (out / image).exists()):
                _write(out / image, encode(pair(*item.pictured.halves(view)), 'png'))
        rows.append({
            'id': item.id, 'image': image, 'conversations': [
                {'from': 'human', 'value': f'<image>\n{item.task} {_QUESTION}'},
                {'from': 'gpt', 'value': (FIRST, SECOND)[item.better]}],
            'metrics': {name: values.to_json() for name, values in zip(
                (FIRST, SECOND), item.values, strict=True)},
            'scenario': item.scenario, 'map': item.map})
        progress(len(rows))
    _write(out / RECORDS, _json(rows))
    return {'records': len(rows), 'pictures': len(written)}


# ------------------------------------------------------------------------------------ segments


def read_segments(folder: Path) -> tuple[list[SegmentPair], list[Skipped]]:
    """Pairs of segments of a folder, and unusable entries; both empty without a file.

    Raises:
        InputError: there is no such folder.
    """
    _check_folder(folder)
    path, found, skipped = folder / SEGMENTS, [], []
    if not path.is_file():
        return [], []
    try:
        content = load_json(path.read_text('utf-8'))
        if not isinstance(content, list):
            raise ValueError('must hold a list of pairs')
    except (OSError, ValueError, RecursionError) as error:
        return [], [_reason(path, error)]
    for number, entry in enumerate(content, 1):
        where = f'{path}: pair {number}'
        try:
            found.append(_segment_pair(validated(_Segments, entry, where), where))
        except InputError as error:
            skipped.append(_reason(path, error))
    return found, skipped


def _segment_pair(row: _Segments, where: str) -> SegmentPair:
    for name, points in (('first', row.first), ('second', row.second)):
        if (len(points) == 1) is not (row.kind == KINDS[0]) or not points:
            raise InputError(f'{where}: {name} has {len(points)} points (a point has one, a line '
                             'or curve has more)')
    distances = distance_of(row.first), distance_of(row.second)
    if distances[row.nearer - 1] > distances[2 - row.nearer]:
        raise InputError(f'{where}: nearer = {row.nearer}, but the distances are '
                         f'{distances[0]:.2f} and {distances[1]:.2f} (correct it)')
    return SegmentPair(row.id, row.kind, (_points(row.first), _points(row.second)), distances)


def write_segments(out: Path, pairs: Sequence[SegmentPair]) -> dict[str, int]:
    """Write pairs of segments; returns their number."""
    _write(out / SEGMENTS, _json([
        {'id': one.id, 'kind': one.kind, 'first': one.points[0], 'second': one.points[1],
         'nearer': 1 + int(one.distances[1] < one.distances[0])} for one in pairs]))
    return {'segments': len(pairs)}


# ----------------------------------------------------------------------------------- the folder


@dataclass
class _Counts:
    """Numbers of a folder's entries by kind, in the order of counting."""

    found: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int) -> None:
        self.found[name] = self.found.get(name, 0) + count


def check(folder: Path) -> CheckReport:
    """Count environments (``files``), polygons, paths, records, segments; decode every picture.

    Raises:
        InputError: there is no such folder.
    """
    environments, records = read_environments(folder), read_records(folder, None)
    pairs, bad = read_segments(folder)
    counts = _Counts()
    counts.add('files', len(environments.maps))
    for what in ('files', 'polygons'):
        for item in sorted(environments.maps.values(), key=lambda item: family_of(item.name)):
            counts.add(f'{what}/{family_of(item.name)}',
                       1 if what == 'files' else len(item.polygons))
    for name, number in (('paths', environments.runs), ('paths/arrived', environments.arrived),
                         ('records', len(records.items)), ('segments', len(pairs))):
        counts.add(name, number)
    skipped = [*environments.skipped, *records.skipped, *bad]
    for picture in sorted({item.pictured.file for item in records.items
                           if isinstance(item.pictured, FromFile)}):
        try:
            read_image(picture)
            counts.add('pictures', 1)
        except InputError as error:
            skipped.append(_reason(picture, error))
    return CheckReport(counts.found, skipped)


def check_empty(out: Path) -> None:
    """Check that a folder can be written to.

    Raises:
        InputError: it holds data already.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f'{out}: is there already (name a new folder)')


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError(f'{folder}: no such folder (give one with records, or with environments '
                         f'{_ENVIRONMENTS})')


def _reason(path: Path, error: Exception) -> Skipped:
    return skip(str(path), reason_of(error, str(path)))


def _plain(text: str) -> str:
    return ' '.join(text.lower().split())


def _points(points: Iterable[Sequence[float]]) -> tuple[Point, ...]:
    return tuple((x, y) for x, y in points)


def _json(content: object) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + '\n').encode()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as new:
        new.write_bytes(content)
