"""Tasks with their true plans as JSON lines, read from a user's disk, checked, and written.

A record is one task: picture, instruction and plan. The plan is a list of blocks of units, or a
flat list of actions in which equal neighbouring ``group`` ids are one unordered block. Fields may
have other names, see ``fields``. Numbers are converted to unit coordinates once, here. A record
that fails its checks is skipped, with file, line, field and remedy.

A record may have an explicit and an implicit instruction: these are two tasks with one plan.

Beyond what the paper tells, records may name all things in the picture with their boxes
(``things``: only to name causes of failure), a picture of depth, and the camera.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pydantic
from numpy.typing import NDArray

from sightplan.model import InputError, Region
from sightplan.model.grounded_plan import (
    GroundedPlanTask,
    PlanBlock,
    PlanUnit,
    UnitKind,
)
from sightplan.model.picture_files import opened
from sightplan.model.reading import Record
from sightplan.queries.coordinates import Size
from sightplan.runs.dataset import (
    MOST_ENTRIES,
    Entry,
    PictureFiles,
    PictureSizes,
    Skipped,
    Unusable,
    checked,
    entries_of,
    skip,
)
from sightplan_suites.grounded_plan.coordinates import (
    Box,
    Coords,
    box_from_unit,
    box_of,
    named_coords,
)
from sightplan_suites.grounded_plan.fields import FieldTable, field_table, renamed
from sightplan_suites.grounded_plan.record_parts import INSTRUCTION_KINDS as INSTRUCTION_KINDS
from sightplan_suites.grounded_plan.record_parts import WORDINGS, picture_path, wordings
from sightplan_suites.grounded_plan.record_plan import RecordPlan, checked_box, fitting

EPISODES, IMAGES, DEPTH = 'episodes.jsonl', 'images', 'depth'
"""Names in a folder that is written."""
SHORT, MEDIUM, LONG = 'short', 'medium', 'long'
HORIZONS = {SHORT: (1, 4), MEDIUM: (5, 8), LONG: (9, 26)}
"""Fewest and most primitives of the paper's three horizons."""
MOST_ACCEPTED = 100
"""Largest number of plans of a record that are as right as its first one."""


@dataclass(frozen=True, slots=True)
class Item:
    """A task in a picture.

    Attributes:
        id: unique.
        scene: what tasks in one picture share.
        image: path of the picture, from the folder of data unless it is absolute.
        size: of the picture.
        coords: convention of the record's numbers.
        task: instruction and plan, in unit coordinates.
        things: name and box of the things that are known to be in the picture.
        depth: name of the picture of its depth, '' without.
        camera: (fx, fy, cx, cy) in pixels, None where it is not known.
    """

    id: str
    scene: str
    image: str
    size: Size
    coords: Coords
    task: GroundedPlanTask
    things: tuple[tuple[str, Box], ...] = ()
    depth: str = ''
    camera: tuple[float, float, float, float] | None = None

    @property
    def horizon(self) -> str:
        """Short, medium or long; its split."""
        return horizon_of(self.task.horizon)

    @property
    def kind(self) -> str:
        """Kind of the instruction: explicit or implicit."""
        return INSTRUCTION_KINDS[0] if self.task.explicit else INSTRUCTION_KINDS[1]


def horizon_of(primitives: int) -> str:
    """Horizon of a plan by its number of primitives; more than the paper has count as long."""
    return next((name for name, (_, most) in HORIZONS.items() if primitives <= most), LONG)


@dataclass(frozen=True)
class Dataset:
    """Tasks with their pictures, which are loaded one at a time.

    Attributes:
        where: file or folder, for messages.
        items: what can be used, in the order of the files.
        skipped: what cannot.
        noted: what is usable, but not as the paper has it, likewise.
        files: the pictures.
    """

    where: str
    items: tuple[Item, ...]
    skipped: tuple[Skipped, ...] = ()
    noted: tuple[Skipped, ...] = ()
    files: PictureFiles = field(default_factory=PictureFiles)

    def load(self, item: Item) -> NDArray[np.uint8]:
        """The picture of a task, (H, W, 3) uint8 RGB.

        Raises:
            InputError: it cannot be read, or its size is not what the record says.
        """
        image = self.files.image(item.image)
        size = image.shape[1], image.shape[0]
        if size != item.size:
            raise InputError(f'{self.files.folder / item.image}: is {size[0]} x {size[1]} pixels, '
                             f'but image_size of {item.id} is {item.size[0]} x {item.size[1]} '
                             '(correct one of them)')
        return image


# ------------------------------------------------------------------------------------- reading


class _Lenient(Record):
    """Record that ignores unknown fields of a file."""

    model_config = pydantic.ConfigDict(extra='ignore', frozen=True, strict=True)


class _Horizon(_Lenient):
    n_actions: int | None = None
    bucket: Literal['short', 'medium', 'long'] | None = None


class _Thing(_Lenient):
    name: str
    bbox: list[float]


class _Row(_Lenient):
    """A record, its fields under our names."""

    id: str | int
    scene_id: str | int = ''
    pair_id: str | int = ''
    image: str
    image_size: tuple[int, int] | None = None
    width: int | None = None
    height: int | None = None
    coords: Coords
    horizon: _Horizon | Literal['short', 'medium', 'long'] | int | None = None
    n_actions: int | None = None
    bucket: Literal['short', 'medium', 'long'] | None = None
    intentions: tuple[str, ...] = ()
    things: tuple[_Thing, ...] = ()
    depth: str = ''
    camera: tuple[float, float, float, float] | None = None
    place_tolerance: float | None = None


def read_records(path: Path, pictures: bool = True) -> Dataset:
    """Read a file of records (JSON lines, or a JSON list), or all of a folder.

    Args:
        path: file or folder. Of a folder the files ``*.jsonl`` count, without any the files
            ``*.json``; those without an instruction in any line, such as predictions, do not.
        pictures: whether a record is skipped whose picture is missing, cannot be opened, or has
            another size; else pictures are not looked at.

    Raises:
        InputError: there is no such file, or the folder holds none.
    """
    folder = path if path.is_dir() else path.parent
    reader = _Reader(folder, field_table(folder), pictures)
    for file, entries in _files(path, reader.table):
        reader.read(file, entries)
    return Dataset(str(path), tuple(reader.items), tuple(reader.skipped), tuple(reader.noted),
                   PictureFiles(folder))


def read_entries(where: str, entries: list[Entry]) -> Dataset:
    """Records that are in no file, checked as those of a file, but without their pictures."""
    reader = _Reader(Path(), field_table(), pictures=False)
    reader.read(Path(where), entries)
    return Dataset(where, tuple(reader.items), tuple(reader.skipped), tuple(reader.noted))


def _files(path: Path, table: FieldTable) -> list[tuple[Path, list[Entry]]]:
    if path.is_file():
        return [(path, entries_of(path))]
    if not path.is_dir():
        raise InputError(f'{path}: no such file or folder (name a file of records, or a folder '
                         f'with {EPISODES})')
    for kind in ('jsonl', 'json'):
        found = [(file, entries_of(file)) for file in sorted(path.glob(f'*.{kind}'))]
        names = {name for part in WORDINGS for name in table.record[part]}
        records = [(file, entries) for file, entries in found if any(
            isinstance(content, dict) and not content.keys().isdisjoint(names)
            for _, content, _ in entries)]
        if found:
            return records or found
    raise InputError(f'{path}: holds no records (write one a line into {EPISODES})')


class _Reader:
    """Reader of records that notes the entries that it cannot use."""

    def __init__(self, folder: Path, table: FieldTable, pictures: bool) -> None:
        self._folder, self.table, self._pictures = folder, table, pictures
        self._sizes = PictureSizes(folder, _picture_size)
        self._ids: dict[str, str] = {}
        self.items: list[Item] = []
        self.skipped: list[Skipped] = []
        self.noted: list[Skipped] = []

    def read(self, file: Path, entries: list[Entry]) -> None:
        """Read the records of a file."""
        if not entries or len(entries) > MOST_ENTRIES:
            self.skipped.append(skip(str(file), 'holds no record' if not entries
                                     else f'holds more than {MOST_ENTRIES} records'))
            return
        for where, entry, wrong in entries:
            found = renamed(entry, self.table.record) if isinstance(entry, dict) else {}
            name = str(found['id']) if isinstance(found.get('id'), (str, int)) else ''
            try:
                if wrong or not isinstance(entry, dict):
                    raise Unusable(where, wrong or 'is not a JSON object (write {"id": ...})')
                items, notes = self._items(found, where)
            except Unusable as error:
                self.skipped.append(skip(error.where, error.reason, name))
                continue
            self.items += items
            self._ids |= dict.fromkeys((item.id for item in items), where)
            self.noted += [skip(where, one, name) for one in notes]

    def _items(self, entry: Mapping[str, Any], where: str) -> tuple[list[Item], list[str]]:
        """The tasks of a record, one for each of its instructions, and notes on it."""
        said, wrong = wordings(entry)
        row = self._row(entry, where, wrong)
        if 'plan' not in entry:
            raise Unusable(where, 'plan is missing (add it)')
        if not str(row.id):
            raise Unusable(where, 'id is empty (give each record one)')
        item, notes = self._item(row, entry, where)
        names = {kind: f'{row.id}-{kind}' if len(said) > 1 else str(row.id) for kind in said}
        for name in names.values():
            if name in self._ids:
                raise Unusable(where, f'id = {name!r} is there already, at {self._ids[name]} '
                               '(keep one)')
        return [replace(item, id=names[kind], task=replace(
            item.task, instruction=text, explicit=kind == INSTRUCTION_KINDS[0]))
            for kind, text in said.items()], notes

    def _row(self, entry: Mapping[str, Any], where: str, wrong: str) -> _Row:
        """The fields of a record, but for plan and instructions.

        Raises:
            Unusable: a field is missing or wrong, or ``wrong``, what is wrong with instructions.
        """
        fields = {name: value for name, value in entry.items() if name in _Row.model_fields}
        reasons = [wrong] if wrong else []
        if 'coords' not in fields:
            reasons.append(self._no_coords(fields, entry.get('plan')))
            fields['coords'] = Coords.PIXEL_XYXY
        try:
            fields['coords'] = named_coords(fields['coords'])
        except ValueError as error:
            reasons.append(str(error))
            fields['coords'] = Coords.PIXEL_XYXY
        try:
            row = checked(_Row, fields, where)
        except Unusable as error:
            reasons.insert(0, error.reason)
        if reasons:
            raise Unusable(where, '; '.join(reasons))
        return row

    def _no_coords(self, fields: Mapping[str, Any], plan: Any) -> str:
        """Say that the convention is missing, and which would fit the numbers."""
        try:
            row = checked(_Row, {**fields, 'coords': Coords.PIXEL_XYXY}, '')
            size = self._size(row, picture_path(row.image, 'image', ''), '')
        except Unusable:
            size = None
        likely = ' or '.join(fitting(plan, size))
        return (f'coords is missing (add one of {", ".join(Coords)}'
                f'{f"; the numbers fit {likely}" if likely else ""})')

    def _item(self, row: _Row, entry: Mapping[str, Any], where: str) -> tuple[Item, list[str]]:
        """The task of a record, without its instruction."""
        name = str(row.id)
        image = picture_path(row.image, 'image', where)
        size = self._size(row, image, where)
        plan = RecordPlan(entry.get('plan'), row.coords, size, self.table, where,
                          row.place_tolerance)
        blocks, notes = plan.blocks(), plan.notes
        task = GroundedPlanTask('', True, blocks, str(row.pair_id) or name,
                                tuple(self._others(entry, row, size, where)), row.intentions)
        notes += _check_horizon(row, task.horizon, where)
        things = tuple((thing.name, checked_box(thing.bbox, row.coords, size, where,
                                                 f'things.{number}.bbox'))
                       for number, thing in enumerate(row.things))
        depth = picture_path(row.depth, 'depth', where) if row.depth else ''
        return Item(name, str(row.scene_id) or image, image, size, row.coords, task, things,
                    depth, row.camera), notes

    def _others(self, entry: Mapping[str, Any], row: _Row, size: Size, where: str,
                ) -> Iterator[tuple[PlanBlock, ...]]:
        """Other plans that are as right."""
        accepted = entry.get('accepted', [])
        if not isinstance(accepted, list) or len(accepted) > MOST_ACCEPTED:
            raise Unusable(where, f'accepted must be a list of up to {MOST_ACCEPTED} plans')
        for number, plan in enumerate(accepted):
            try:
                yield RecordPlan(plan, row.coords, size, self.table, where,
                                 row.place_tolerance).blocks()
            except Unusable as error:
                raise Unusable(where, f'accepted.{number}: {error.reason}') from error

    def _size(self, row: _Row, image: str, where: str) -> Size:
        """Width and height, of the record or else of its picture."""
        if row.image_size is None and row.width is not None and row.height is not None:
            row = row.model_copy(update={'image_size': (row.width, row.height)})
        if row.image_size is not None and min(row.image_size) < 1:
            raise Unusable(where, f'image_size = {list(row.image_size)} must be width and height '
                           'in pixels')
        if row.image_size is not None and not self._pictures:
            return row.image_size
        try:
            size = self._sizes.of(image)
        except Unusable as error:
            if row.image_size is None and not self._pictures:
                raise Unusable(where, 'image_size is missing, and its picture cannot be opened '
                               '(add [width, height])') from error
            raise Unusable(error.where, f'{error.reason}; it is the picture of {where}'
                           ) from error
        if row.image_size is not None and size != row.image_size:
            raise Unusable(str(self._folder / image), f'is {size[0]} x {size[1]} pixels, but '
                           f'{where} says image_size = {list(row.image_size)} (correct it)')
        return size


def _picture_size(path: Path) -> Size:
    """Width and height from a picture's head."""
    with opened(path) as image:
        width, height = image.size
        return width, height


def _check_horizon(row: _Row, primitives: int, where: str) -> list[str]:
    """Compare the stated horizon with the plan; returns notes on contradictions."""
    said = row.horizon
    count, bucket = row.n_actions, row.bucket
    if isinstance(said, _Horizon):
        count = count if said.n_actions is None else said.n_actions
        bucket = said.bucket or bucket
    elif isinstance(said, int):
        count = said
    elif isinstance(said, str):
        bucket = said
    if count is not None and count != primitives:
        raise Unusable(where, f'horizon.n_actions = {count}, but the plan has {primitives} '
                       'primitives: two for each grasp with its place, one for each open and '
                       'close (correct it)')
    if bucket is not None and bucket != horizon_of(primitives):
        raise Unusable(where, f'horizon.bucket = {bucket!r}, but a plan of {primitives} '
                       f'primitives is {horizon_of(primitives)} (correct it)')
    most = HORIZONS[LONG][1]
    return [f'has {primitives} primitives; the longest plan of the paper has {most}'
            ] if primitives > most else []


# ------------------------------------------------------------------------------------- writing


def entry_of(item: Item, coords: Coords | None = None) -> dict[str, Any]:
    """A task as a record.

    Args:
        item: the task.
        coords: convention of the numbers; None: that which it was read in.
    """
    coords = coords or item.coords

    def box(region: Region | None) -> list[float]:
        assert region is not None, 'a true region is a box'
        return box_from_unit(box_of(region), coords, item.size)

    def unit(one: PlanUnit) -> dict[str, Any]:
        if one.kind is not UnitKind.PICK_PLACE:
            return {'type': str(one.kind), 'target': one.target, 'bbox': box(one.region)}
        place: dict[str, Any] = {'target': one.destination, 'bbox': box(one.place)}
        if one.others:
            place['others'] = [{'target': name, 'bbox': box(region)}
                               for name, region in one.others]
        return {'type': str(one.kind),
                'grasp': {'target': one.target, 'bbox': box(one.region)}, 'place': place}

    def written(plan: Iterable[PlanBlock]) -> list[dict[str, Any]]:
        return [{'order': 'unordered' if block.unordered else 'sequential',
                 **({} if block.after is None else {'after': list(block.after)}),
                 'units': [unit(one) for one in block.units]} for block in plan]
    more: dict[str, Any] = {}
    if item.task.others:
        more['accepted'] = [written(plan) for plan in item.task.others]
    if item.task.intentions:
        more['intentions'] = list(item.task.intentions)
    if item.things:
        more['things'] = [{'name': name, 'bbox': box_from_unit(there, coords, item.size)}
                          for name, there in item.things]
    if item.depth:
        more['depth'] = item.depth
    if item.camera is not None:
        more['camera'] = list(item.camera)
    return {
        'id': item.id, 'scene_id': item.scene, 'pair_id': item.task.pair, 'image': item.image,
        'image_size': list(item.size), 'coords': str(coords),
        'instruction': item.task.instruction, 'instruction_type': item.kind,
        'horizon': {'n_actions': item.task.horizon, 'bucket': item.horizon},
        'plan': written(item.task.blocks), **more}
