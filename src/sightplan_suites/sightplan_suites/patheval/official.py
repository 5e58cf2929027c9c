"""Folders of data: the benchmark's own formats, read and written.

* ``Scene*Obstacles.txt`` at whatever depth: environments, see ``paths.maps``.
* Their planned paths, see ``paths.path_files``: text files of the same name, perhaps without
  ``Obstacles``, or with ``Paths`` behind it. They begin with ``@``, which tells them from
  environments.
* ``*.json``: lists of records (``records``), of pair samples (``pair_samples``) and of models'
  outputs (``outputs``), told apart by their content.
* ``Scenarios.xlsx`` or ``.csv``: tasks; ``params.txt``: thresholds; see ``tasks_file``.
* ``segments.json``: pairs of segments (ours).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pydantic

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.picture_files import read_image
from sightplan.model.reading import Record, validated
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan.runs.suite_parts import CheckReport
from sightplan_suites.patheval import pair_samples, records
from sightplan_suites.patheval.building import PathPair, pairs_of
from sightplan_suites.patheval.items import OTHER, FromFile, family_of
from sightplan_suites.patheval.json_files import SEGMENTS, Kind, read_json_files
from sightplan_suites.patheval.segments import KINDS, SegmentPair, distance_of
from sightplan_suites.patheval.tasks_file import find_tasks, find_thresholds
from sightplan_suites.patheval.writing import check_folder, json_bytes, write_bytes
from sightplan_suites.paths.labels import ORDER, PATHEVAL
from sightplan_suites.paths.maps import GOAL, START, ObstacleMap, Point, map_from_text, map_text
from sightplan_suites.paths.path_files import (
    Attempts,
    PathRun,
    holds_paths,
    read_attempts,
    write_path_runs,
)

_OBSTACLES = 'Obstacles'
_PATHS_ENDING = re.compile(r'(Obstacles)?[_-]?(Paths?)?$', re.IGNORECASE)
"""End of the name of a file of paths, behind the name of its environment."""
_ALWAYS_COUNTED = ('files', 'paths', 'paths/arrived', 'records', 'segments')
_NO_ATTEMPTS = Attempts((), 0, ())


class _Segments(Record):
    """A line of ``segments.json``; points are [x, y]."""

    id: str
    kind: Literal['point', 'line', 'curve']
    first: tuple[tuple[pydantic.FiniteFloat, pydantic.FiniteFloat], ...]
    second: tuple[tuple[pydantic.FiniteFloat, pydantic.FiniteFloat], ...]
    nearer: Literal[1, 2]


@dataclass(frozen=True, eq=False)
class Environments:
    """The environments of a folder.

    Attributes:
        maps: by file.
        pairs: of those with two or more valid paths.
        arrived: the paths of each map that end at the goal, by its name; the place of a path is
            its id.
        skipped: what cannot be used.
        counts: number of attempts to plan (``paths``), and of those that arrived, ended
            elsewhere, and found nothing.
        sha256: of the files.
    """

    maps: dict[Path, ObstacleMap]
    pairs: list[PathPair]
    arrived: dict[str, tuple[PathRun, ...]]
    skipped: list[Skipped]
    counts: Counter[str]
    sha256: str

    @property
    def by_name(self) -> dict[str, ObstacleMap]:
        """The maps by their names."""
        return {item.name: item for item in self.maps.values()}


# -------------------------------------------------------------------------------- environments


def read_environments(folder: Path) -> Environments:
    """Read the environments of a folder, and their planned paths where there are any.

    Raises:
        InputError: there is no such folder.
    """
    check_folder(folder)
    files, of_paths, skipped = _scenes(folder)
    found = Environments({}, [], {}, skipped, Counter(paths=0, arrived=0), '')
    digest = hashlib.sha256()
    for path in files:
        try:
            item = read_environment(path)
            if item.name in found.arrived:
                raise InputError(f'{path}: another file holds this environment (keep one of them)')
            found.maps[path] = item
            found.arrived[item.name] = ()
            skipped += [skip(str(path), one) for one in blocked(item)]
            attempts = _attempts_on(item.name, of_paths, found)
        except InputError as error:
            skipped.append(_reason(path, error))
            continue
        arrived = tuple(run for run in attempts.runs if run.arrived())
        found.arrived[item.name] = arrived
        found.counts.update(paths=len(attempts.runs) + attempts.failed, arrived=len(arrived),
                            elsewhere=len(attempts.runs) - len(arrived), failed=attempts.failed)
        digest.update(f'{map_text(item)}{list(arrived)}'.encode())
        if len(arrived) > 1:
            try:
                found.pairs.extend(pairs_of(item, arrived))
            except InputError as error:
                skipped.append(_reason(path, error))
    skipped += [skip(str(path), 'its environment is not there (put the file '
                     f'{_map_of(path)}{_OBSTACLES}.txt into the folder)')
                for path in of_paths.values()]
    return replace(found, sha256=digest.hexdigest()[:12])


def _scenes(folder: Path) -> tuple[list[Path], dict[str, Path], list[Skipped]]:
    """Files of environments, files of paths by lower-case name of the map, and unusable files."""
    environments: list[Path] = []
    paths: dict[str, Path] = {}
    skipped: list[Skipped] = []
    for path in sorted(folder.rglob('*.txt')):
        if not path.name.lower().startswith('scene'):
            continue
        try:
            text = path.read_text('utf-8-sig')
        except (OSError, UnicodeError) as error:
            skipped.append(skip(str(path), f'cannot be read: {error} (write text in UTF-8)'))
            continue
        if not holds_paths(text) and path.stem.endswith(_OBSTACLES):
            environments.append(path)
            continue
        first = paths.setdefault(_map_of(path).lower(), path)
        if first != path:
            skipped.append(skip(str(path), f'{first} holds paths of the same environment (keep '
                                'one of them)'))
    return environments, paths, skipped


def _map_of(path: Path) -> str:
    """Name of the environment that a file of paths is about."""
    return _PATHS_ENDING.sub('', path.stem, count=1)


def _attempts_on(name: str, files: dict[str, Path], found: Environments) -> Attempts:
    """Attempts to plan on a map; its file is taken from ``files``, damaged ones are named.

    Raises:
        InputError: the file cannot be read.
    """
    path = files.pop(name.lower(), None)
    if path is None:
        return _NO_ATTEMPTS
    attempts = read_attempts(path)
    found.skipped.extend(_reason(path, error) for error in attempts.broken)
    return attempts


def read_environment(path: Path) -> ObstacleMap:
    """Read one environment; it is named after the file, without ``Obstacles``.

    Raises:
        InputError: it cannot be read or used; names file, polygon and remedy.
    """
    try:
        text = path.read_text('utf-8-sig')
    except (OSError, UnicodeError) as error:
        raise InputError(f'{path}: cannot be read: {error} (name a polygon file)') from error
    if holds_paths(text):
        raise InputError(f'{path}: holds planned paths (name the environment of the same name)')
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


def environment_file(out: Path, name: str) -> Path:
    """Path of the file for a map."""
    return out / 'environments' / f'{name}{_OBSTACLES}.txt'


def paths_file(out: Path, name: str) -> Path:
    """Path of the file for the paths that were planned on a map."""
    return out / 'paths' / f'{name}.txt'


def write_environment(out: Path, item: ObstacleMap, runs: Sequence[PathRun]) -> None:
    """Write a map and, after it, the paths planned on it."""
    write_bytes(environment_file(out, item.name), map_text(item).encode())
    file = paths_file(out, item.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_path_runs(runs, file)


# ------------------------------------------------------------------------------------ segments


def read_segments(folder: Path) -> tuple[list[SegmentPair], list[Skipped]]:
    """Pairs of segments of a folder, and unusable entries; both empty without a file.

    Raises:
        InputError: there is no such folder.
    """
    check_folder(folder)
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
    write_bytes(out / SEGMENTS, json_bytes([
        {'id': one.id, 'kind': one.kind, 'first': one.points[0], 'second': one.points[1],
         'nearer': 1 + int(one.distances[1] < one.distances[0])} for one in pairs]))
    return {'segments': len(pairs)}


# ----------------------------------------------------------------------------------- the folder


def check(folder: Path, scenarios_file: Path | None = None) -> CheckReport:
    """Count all that a folder holds, by kind; decode every picture; say what cannot be used.

    Args:
        folder: of the data.
        scenarios_file: the file of tasks; None: the one that the folder holds, if any.

    Returns:
        counts (``files`` and ``polygons`` are those of environments), what cannot be used, and
        what can be used but contradicts other files.

    Raises:
        InputError: there is no such folder, or its file of tasks or of thresholds is unusable.
    """
    environments = read_environments(folder)
    files = read_json_files(folder)
    tasks, thresholds = find_tasks(folder, scenarios_file), find_thresholds(folder)
    samples = pair_samples.read_pair_samples(files)
    found = records.records_of(folder, None, files, records.RecordContext(
        tasks, samples, thresholds or PATHEVAL))
    segments, bad = read_segments(folder)
    outputs = files.of(Kind.OUTPUTS)
    skipped = [*environments.skipped, *found.skipped, *samples.skipped, *bad]
    counts = Counter[str](files=len(environments.maps))
    for what in ('files', 'polygons'):
        for item in sorted(environments.maps.values(), key=lambda item: family_of(item.name)):
            counts[f'{what}/{family_of(item.name)}'] += (
                1 if what == 'files' else len(item.polygons))
    planned = environments.counts
    counts.update({
        'paths': planned['paths'], 'paths/arrived': planned['arrived'],
        'paths/elsewhere': planned['elsewhere'], 'paths/failed': planned['failed'],
        'pairs': len(environments.pairs), 'pair samples': len(samples.found),
        'pair samples/unresolved': samples.unresolved, 'records': len(found.items),
        **{f'records/{view or "no view"}': count
           for view, count in sorted(Counter(found.views).items())},
        'records/of a known task': sum(item.vector is not None for item in found.items),
        'records/of a known map': sum(family_of(item.map) != OTHER for item in found.items),
        'segments': len(segments), 'tasks': 0 if tasks is None else len(tasks.by_number),
        'thresholds': 0 if thresholds is None else len(ORDER), 'outputs/files': len(outputs),
        'outputs': sum(len(file.entries) for file in outputs)})
    for picture in sorted({item.pictured.file for item in found.items
                           if isinstance(item.pictured, FromFile)}):
        try:
            read_image(picture)
            counts['pictures'] += 1
        except InputError as error:
            skipped.append(_reason(picture, error))
    return CheckReport(
        {name: count for name, count in counts.items() if count or name in _ALWAYS_COUNTED},
        skipped, [*found.noted, *pair_samples.differences(samples, environments.arrived)])


def check_empty(out: Path) -> None:
    """Check that a folder can be written to.

    Raises:
        InputError: it holds data already.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f'{out}: is there already (name a new folder)')


def _reason(path: Path, error: Exception) -> Skipped:
    return skip(str(path), reason_of(error, str(path)))


def _points(points: Iterable[Sequence[float]]) -> tuple[Point, ...]:
    return tuple((x, y) for x, y in points)
