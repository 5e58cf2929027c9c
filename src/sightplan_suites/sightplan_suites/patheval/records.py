"""Records: pairs of paths as conversations with a picture, read and written.

A file is a JSON list of records: ``id``, ``image`` (a file: the first path on the left, the
second on the right), ``conversations`` (the task and a question from ``human``, ``Path 1`` or
``Path 2`` from ``gpt``) and ``metrics`` (descriptors of ``Path 1`` and ``Path 2``). Where the
name of the picture, or else that of the file, has the word 2d or 3d (``7_2D.png``,
``3d/7.png``), it shows that view, and is left out where the other one is wanted. Ours have
``scenario``, its number, and ``map`` besides; other keys are left alone.

The same ids may stand in files of both views, and in several files of one view (such as a test
and a training set): then the name of its file precedes an id.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pydantic

from sightplan.model import InputError
from sightplan.model.reading import Record, validated
from sightplan.runs.dataset import Skipped, reason_of, skip
from sightplan.vlm.images import encode
from sightplan_suites.patheval.items import FromFile, Item, View
from sightplan_suites.patheval.json_files import (
    FIRST,
    SECOND,
    JsonFile,
    JsonFiles,
    Kind,
    read_json_files,
)
from sightplan_suites.patheval.pair_samples import (
    PairSamples,
    environment_in,
    read_pair_samples,
)
from sightplan_suites.patheval.tasks_file import (
    THRESHOLDS_FILE,
    Tasks,
    find_tasks,
    find_thresholds,
    our_tasks,
)
from sightplan_suites.patheval.writing import check_folder, json_bytes, write_bytes
from sightplan_suites.paths.descriptors import Descriptors
from sightplan_suites.paths.drawing import pair
from sightplan_suites.paths.labels import PATHEVAL, Label, Thresholds, Vector, label_pair

RECORDS = 'records.json'
_QUESTION = 'Which path serves this task better?'
_QUESTION_START = 'Which path'
VIEWS = ('2d', '3d')


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
    file: str = ''


@dataclass(frozen=True, eq=False)
class Records:
    """The records of a folder.

    Attributes:
        items: those that can be used.
        views: of each item, by its picture's name; '' where that does not say.
        skipped: the others.
        noted: items whose label is not what their task, values and thresholds give.
        sha256: of files and pictures.
        seen: how many records there are, usable or not; a file that cannot be read is one.
    """

    items: list[Item]
    views: list[str]
    skipped: list[Skipped]
    noted: list[Skipped]
    sha256: str
    seen: int


@dataclass(frozen=True, eq=False)
class RecordContext:
    """Facts that the other files of a folder tell about its records.

    Attributes:
        tasks: sentences with numbers and vectors; None: the folder has no file of them.
        pairs: samples that records may be made of.
        thresholds: the smallest differences that count.
    """

    tasks: Tasks | None
    pairs: PairSamples
    thresholds: Thresholds = PATHEVAL


def read_records(folder: Path, view: View | None = '2d', scenarios_file: Path | None = None,
                 ) -> Records:
    """Read the records of a folder.

    Args:
        folder: searched at whatever depth.
        view: that its pictures are taken to show where their names say none; None: of records of
            both views, as for counting them.
        scenarios_file: the file of tasks; None: the one that the folder holds, if any.

    Returns:
        the records of the view; those whose pictures are named after the other one are left out.

    Raises:
        InputError: there is no such folder, two records of one file have the same id, or the
            file of tasks or of thresholds cannot be used.
    """
    check_folder(folder)
    files = read_json_files(folder)
    context = RecordContext(find_tasks(folder, scenarios_file), read_pair_samples(files),
                            find_thresholds(folder) or PATHEVAL)
    return records_of(folder, view, files, context)


def records_of(folder: Path, view: View | None, files: JsonFiles, context: RecordContext,
               ) -> Records:
    """Read the records among the files of a folder; see ``read_records``.

    Args:
        folder: of the files.
        view: that is wanted; None: both.
        files: all JSON files.
        context: what other files tell.
    """
    reader, digest = _Reader(folder, view, context), hashlib.sha256()
    reader.skipped += files.skipped
    reader.seen += files.damaged
    for file in files.of(Kind.RECORDS):
        reader.read(file)
        digest.update(file.path.read_bytes())
    for picture in sorted(reader.pictures):
        digest.update(picture.read_bytes())
    if context.tasks is not None:
        digest.update(context.tasks.sha256.encode())
    found, skipped = reader.named(), [*reader.skipped, *reader.of_other_views()]
    return Records([one.item for one in found], [one.view for one in found], skipped,
                   reader.noted, digest.hexdigest()[:12], reader.seen)


@dataclass(frozen=True, eq=False)
class _Read:
    """An item with its file, its place and the view of its picture."""

    item: Item
    view: str
    path: Path
    where: str


class _Reader:
    """Reads files of records."""

    def __init__(self, folder: Path, view: View | None, context: RecordContext) -> None:
        self._folder, self._view, self._context = folder, view, context
        self.skipped: list[Skipped] = []
        self.noted: list[Skipped] = []
        self.pictures: set[Path] = set()
        self.seen = 0
        self._found: list[_Read] = []
        self._other_views: list[tuple[bool, Skipped]] = []
        self._rows: dict[tuple[str, str], list[tuple[_Row, str, Path]]] = {}
        self._by_name: dict[str, list[Path]] | None = None

    def read(self, file: JsonFile) -> None:
        """Read one file; entries that cannot be used are noted."""
        path, others = file.path, Counter[str]()
        self.seen += len(file.entries)
        for number, entry in enumerate(file.entries, 1):
            where = f'{path}: record {number}'
            try:
                row = validated(_Row, entry, where)
                view = _view_shown(row.image, path)
                if view and self._view is not None and view != self._view:
                    others[view] += 1
                    continue
                self._check_new(row, view, path, where)
                item = self._item(row, path, where)
            except _TwiceInOneFile:
                raise
            except InputError as error:
                self.skipped.append(skip(str(path), reason_of(error, str(path))))
                continue
            self._rows.setdefault((view, str(row.id)), []).append((row, where, path))
            self._found.append(_Read(item, view, path, where))
        for view, count in others.items():
            self._other_views.append((count == len(file.entries), skip(str(path), (
                f'{count} of {len(file.entries)} records have pictures of view {view}, and '
                f'{self._view} is wanted (choose view={view}, or export pictures of the other '
                'view)'))))

    def _check_new(self, row: _Row, view: str, path: Path, where: str) -> None:
        """Check that a record is not there already.

        Raises:
            InputError: it is, with the same content.
            _TwiceInOneFile: its file has another record of this id.
        """
        for known, first, file in self._rows.get((view, str(row.id)), ()):
            if known == row:
                raise InputError(f'{where}: id = {row.id!r} is there twice, the same at {first} '
                                 '(keep one of them)')
            if file == path:
                raise _TwiceInOneFile(f'{where}: id = {str(row.id)!r} is there twice, first at '
                                      f'{first} (give each record an id of its own)')

    def of_other_views(self) -> list[Skipped]:
        """Records of another view than is wanted; whole files of them beside wanted ones are none.

        The benchmark's folder has a file for each view.
        """
        return [one for whole, one in self._other_views if not (whole and self._found)]

    def named(self) -> list[_Read]:
        """All items; ids that several files of one view share are preceded by that of the file."""
        shared = {view for (view, _), rows in self._rows.items() if len(rows) > 1}
        return [replace(one, item=replace(one.item, id=f'{self._stem(one.path)}/{one.item.id}'))
                if one.view in shared else one for one in self._found]

    def _stem(self, path: Path) -> str:
        return path.relative_to(self._folder).with_suffix('').as_posix()

    def _item(self, row: _Row, path: Path, where: str) -> Item:
        task, label = _said(row, where)
        values = _values(row, where)
        file = self._picture(row.image, path, where)
        number, vector = self._task(row, task, where)
        sample = self._context.pairs.of(task, values)
        item = row.map or next(filter(None, map(environment_in, (row.file, row.image))), '') or (
            row.image if sample is None else sample.map)
        votes: tuple[str, ...] = ()
        if vector is not None:
            found = label_pair(*values, vector, thresholds=self._context.thresholds)
            votes = tuple(name for name, _ in found.votes)
            self._note_label(found, label, where)
        self.pictures.add(file)
        return Item(str(row.id), item, row.image if sample is None else sample.pair, number, task,
                    vector, values, label, votes, FromFile(row.image, file),
                    self._context.thresholds)

    def _task(self, row: _Row, task: str, where: str) -> tuple[int, Vector | None]:
        """Number and vector of a task: by its number, or else by its sentence.

        Raises:
            InputError: there is none of this number.
        """
        ours = our_tasks()
        if row.scenario:
            if row.scenario not in ours.by_number:
                raise InputError(f'{where}: scenario = {row.scenario} (give 1 to '
                                 f'{len(ours.by_number)}, or leave it out)')
            return row.scenario, ours.by_number[row.scenario].vector
        for tasks in (self._context.tasks, ours):
            if tasks is not None and (number := tasks.number(task)):
                return number, tasks.by_number[number].vector
        return 0, None

    def _note_label(self, found: Label, better: int, where: str) -> None:
        if found.choice != better + 1:
            said = 'none' if found.choice is None else f'Path {found.choice}'
            self.noted.append(skip(where, (
                f'the better path is {(FIRST, SECOND)[better]}, and task, metrics and thresholds '
                f'give {said} (correct one of them, or {THRESHOLDS_FILE})')))

    def _picture(self, image: str, path: Path, where: str) -> Path:
        """File of a picture: beside the records, below the folder, or the only one of its name.

        Raises:
            InputError: it is not there.
        """
        for file in (path.parent / image, self._folder / image):
            with suppress(OSError, ValueError):  # the name is too long, or none for a file
                if file.is_file():
                    return file
        alike = self._pictures_by_name().get(re.split(r'[/\\]', image)[-1], [])
        if len(alike) == 1:
            return alike[0]
        several = f', and {len(alike)} files of this name are elsewhere' if alike else ''
        raise InputError(f'{where}: image = {image!r} is not there{several} (put it below '
                         f'{self._folder})')

    def _pictures_by_name(self) -> dict[str, list[Path]]:
        if self._by_name is None:
            self._by_name = {}
            for file in sorted(self._folder.rglob('*.*')):
                if file.suffix.lower() in ('.png', '.jpg', '.jpeg'):
                    self._by_name.setdefault(file.name, []).append(file)
        return self._by_name


class _TwiceInOneFile(InputError):
    """Two different records of one file have the same id: neither can be chosen."""


def _view_shown(image: str, path: Path) -> str:
    """View by the name of a picture, or else by its file of records; '' if neither says one."""
    picture = Path(image)
    inside = picture.name if picture.is_absolute() else image
    return view_of(picture.name) or view_of(inside) or view_of(path.stem)


def view_of(name: str) -> str:
    """View by the words of a file's name; '' if they name none, or both."""
    words = set(re.split(r'[^0-9a-z]+', name.lower()))
    said = [view for view in VIEWS if view in words]
    return said[0] if len(said) == 1 else ''


def _said(row: _Row, where: str) -> tuple[str, int]:
    """The task, and the position of the better path."""
    asked = next((one.value for one in row.conversations if one.who == 'human'), None)
    told = next((one.value for one in row.conversations if one.who == 'gpt'), None)
    if asked is None or told is None:
        raise InputError(f'{where}: conversations must have one entry from human and one from gpt')
    text = asked.replace('<image>', '').strip()
    before, found, _ = text.rpartition(_QUESTION_START)
    # The benchmark joins task and question by a full stop, which many tasks have already.
    task = re.sub(r'\.(\s*\.)+$', '.', before.strip() if found else text)
    if not task.strip(' .'):
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
                write_bytes(out / image, encode(pair(*item.pictured.halves(view)), 'png'))
        rows.append({
            'id': item.id, 'image': image, 'conversations': [
                {'from': 'human', 'value': f'<image>\n{item.task} {_QUESTION}'},
                {'from': 'gpt', 'value': (FIRST, SECOND)[item.better]}],
            'metrics': {name: values.to_json() for name, values in zip(
                (FIRST, SECOND), item.values, strict=True)},
            'scenario': item.scenario, 'map': item.map})
        progress(len(rows))
    write_bytes(out / RECORDS, json_bytes(rows))
    return {'records': len(rows), 'pictures': len(written)}
