"""The benchmark's own files, read from a user's disk, and written for scenes of our own.

A folder of data holds ``s1s2.json`` (places to point at, with polygons) and ``s3.json`` (traces to
draw), the pictures in ``images_s1s2`` and ``images_s3``, and may hold a ``points.txt`` beside the
pictures of the traces. An item is called by its file and its index there: ``s1s2/17``. What cannot
be used is left out, with its reason.

Our own scenes add what the files leave room for: in an entry of ``s1s2.json`` the name of the
thing it is about (``piece``), in one of ``s3.json`` the task for the simulator (``task``), and
beside both ``scenes.json`` (camera, and the outlines of all things) and ``depth`` (16-bit
millimetres).
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

import numpy as np
import pydantic
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.json_text import load_json
from sightplan.model.picture_files import opened
from sightplan.model.region import Mask, Point
from sightplan.model.scene import PointingScene
from sightplan.queries.coordinates import Coordinates, Misdeclared, to_unit
from sightplan.runs.dataset import (
    MOST_ENTRIES,
    PictureFiles,
    PictureSizes,
    Size,
    Skipped,
    Unusable,
    below,
    check_new,
    checked,
    skip,
    write_file,
)
from sightplan_suites.point_it_out import masks

PLACES, TRACES = 's1s2', 's3'
"""Kinds of entries; ids and names of files and folders begin with them."""
SCENES_FILE, DEPTH = 'scenes.json', 'depth'
POINTS_FILE = 'points.txt'

DRIVING, HOUSEHOLD, KITCHEN, MANIPULATION = 'driving', 'household', 'kitchen', 'manipulation'
SCENARIOS = {
    'bdd10k': DRIVING, 'bdd100k': DRIVING, 'where2place': HOUSEHOLD, 'epickitchen': KITCHEN,
    'epickitchens': KITCHEN, 'agibot': MANIPULATION, 'rt1': MANIPULATION, 'rt': MANIPULATION,
    'droid': MANIPULATION, 'droidmore': MANIPULATION}
"""Sources, in small letters and without other signs, and the scenarios of the paper's figure 5."""
_SUBCLASSES = {'part': 'object part', 'affordance': 'afd', 'prediction': 'predict',
               'recommendation': 'recommend'}
"""Other names of subclasses."""

_NUMBER = r'(-?\d*\.?\d+)'
_START = re.compile(rf'_mark_{_NUMBER}_{_NUMBER}$|_(-?\d*\.\d+)_(-?\d*\.\d+)$')
"""End of a picture's name that states the start of a trace: x and y in unit coordinates."""
_MARKED = '_mark_'
"""Part of the name of a picture in which a red square is painted at the start of a trace."""
_RED, _MARKER_PX = (255, 0, 0), 5
_TAIL = 64  # bytes; the last of a picture's file hold the mark of its end
_ENDS = {'JPEG': b'\xff\xd9', 'PNG': b'IEND'}
_TURNED = (5, 6, 7, 8)
"""EXIF orientations in which width and height change places."""
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class View:
    """Depth and camera of a picture.

    Attributes:
        depth: name of the file of its depth.
        camera: (fx, fy, cx, cy) in pixels.
    """

    depth: str
    camera: tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Item:
    """A place to point at, or a trace to draw.

    Attributes:
        id: file and index from 0, such as ``s1s2/17``.
        split: s1, s2 or s3.
        text: what is asked.
        picture: name of its picture, below the folder of data.
        size: of the picture.
        source: data set that the picture is from.
        subclass: '' of a trace.
        rings: of the mask of a place; none of a trace.
        piece: name of the thing that it is about, where that is known.
        start: of a trace, in unit coordinates; None: it may begin anywhere.
        marked: whether a red square is painted there.
        task: of a trace on a scene of our own, see ``trace_task``.
    """

    id: str
    split: str
    text: str
    picture: str
    size: Size
    source: str
    subclass: str = ''
    rings: tuple[tuple[float, ...], ...] = ()
    piece: str = ''
    start: Point | None = None
    marked: bool = False
    task: Mapping[str, Any] | None = None

    @property
    def scenario(self) -> str:
        """Scenario of figure 5 that the source belongs to; for other sources, their own name."""
        return SCENARIOS.get(re.sub(r'[^a-z0-9]', '', self.source.lower()), self.source)

    @property
    def mask(self) -> Mask:
        """Mask (H, W) of the item, bool; a new array each time."""
        return masks.fill(self.rings, self.size)


@dataclass(frozen=True, slots=True)
class Outline:
    """A thing in a picture: its name, and the rings of its mask."""

    name: str
    rings: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Dataset:
    """Items with their pictures, which are loaded one at a time.

    Attributes:
        where: the folder, for messages.
        items: what can be used, in the order of the files.
        skipped: what cannot.
        pieces: all things in a picture, by its name, where they are known.
        views: depth and camera of a picture, by its name, where they are known.
        files: the pictures.
    """

    where: str
    items: tuple[Item, ...]
    skipped: tuple[Skipped, ...] = ()
    pieces: Mapping[str, tuple[Outline, ...]] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    files: PictureFiles = field(default_factory=PictureFiles)

    def depth_m(self, picture: str) -> NDArray[np.float32]:
        """Depth of a picture that has a view, (H, W) float32 [m], 0 where unknown.

        Raises:
            InputError: it cannot be read.
        """
        return self.files.depth_m(self.views[picture].depth)


# ------------------------------------------------------------------------------------- reading


class _Entry(pydantic.BaseModel):
    """Base of entries: other fields are left alone."""

    model_config = pydantic.ConfigDict(extra='ignore', frozen=True, strict=True)

    image_path: str
    lang: str
    dataset_name: str = ''


E = TypeVar('E', bound=_Entry)


class _Place(_Entry):
    """An entry of ``s1s2.json``."""

    polygon: list[list[float]]
    height: int
    width: int
    s1_or_s2: Literal['s1', 's2']
    subclasses: str | tuple[str]
    piece: str = ''


class _Task(pydantic.BaseModel):
    """Task that the simulator needs to carry out a trace; see ``trace_task``."""

    model_config = pydantic.ConfigDict(extra='forbid', frozen=True, strict=True)

    source: str
    scene: str
    text: str
    start: tuple[float, float]
    oracle: tuple[tuple[float, float], ...]
    piece: str
    goal: dict[str, Any]


class _Trace(_Entry):
    """An entry of ``s3.json``."""

    task: _Task | None = None


def read_official(folder: Path) -> Dataset:
    """Read a folder of data; of the pictures no more than their heads and ends.

    Raises:
        InputError: there is neither ``s1s2.json`` nor ``s3.json``.
    """
    reader = _Reader(folder)
    there = [kind for kind in (PLACES, TRACES) if (folder / f'{kind}.json').is_file()]
    if not there:
        raise InputError(f'{folder}: holds neither {PLACES}.json nor {TRACES}.json; name a folder '
                         f'with them, and with the pictures in images_{PLACES} and '
                         f'images_{TRACES}')
    items = [item for kind in there for item in reader.items(kind)]
    pieces, views = reader.scenes()
    return Dataset(str(folder), tuple(items), tuple(reader.skipped), pieces, views,
                   PictureFiles(folder))


class _Reader:
    """Reader of a folder that notes the entries that it cannot use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sizes = PictureSizes(folder, picture_size)
        self._points: dict[Path, dict[str, tuple[float, float]]] = {}
        self.skipped: list[Skipped] = []

    def items(self, kind: str) -> Iterator[Item]:
        """The usable items of a file."""
        path = self._folder / f'{kind}.json'
        for index, entry in enumerate(self._entries(path)):
            name = f'{kind}/{index}'
            try:
                yield (self._place if kind == PLACES else self._trace)(name, entry, path)
            except Unusable as wrong:
                self.skipped.append(skip(wrong.where, wrong.reason, name))

    def scenes(self) -> tuple[dict[str, tuple[Outline, ...]], dict[str, View]]:
        """Things and views by picture, as ``scenes.json`` has them; none without that file."""
        path = self._folder / SCENES_FILE
        found: dict[str, tuple[Outline, ...]] = {}
        views: dict[str, View] = {}
        for index, scene in enumerate(self._entries(path) if path.is_file() else ()):
            try:
                pieces = tuple(Outline(str(piece['name']), _rings(piece['polygon'], str(path)))
                               for piece in scene['pieces'])
                names = [str(picture) for picture in scene['pictures']]
                view = _view(scene)
            except (KeyError, TypeError, ValueError, OverflowError, Unusable) as error:
                self.skipped.append(skip(f'{path}: scene {index}', (
                    f'cannot be used ({error!r}), so that its things are not known')))
                continue
            found.update(dict.fromkeys(names, pieces))
            views.update(dict.fromkeys(names, view))
        return found, views

    def _entries(self, path: Path) -> list[Any]:
        try:
            content = load_json(path.read_bytes())
        except OSError as error:
            self.skipped.append(skip(str(path), f'cannot be read ({error.strerror})'))
            return []
        except (ValueError, RecursionError) as error:
            self.skipped.append(skip(str(path), f'is not JSON ({error})'))
            return []
        if not isinstance(content, list) or len(content) > MOST_ENTRIES:
            self.skipped.append(skip(str(path), 'is not a list of entries'))
            return []
        return content

    def _place(self, name: str, entry: Any, path: Path) -> Item:
        where = f'{path}: {name}'
        found = _checked(_Place, entry, where)
        picture, size = self._picture(PLACES, found, where)
        if (found.width, found.height) != size:
            raise Unusable(str(self._folder / picture), f'is {size[0]} x {size[1]} pixels, but '
                           f'{where} says {found.width} x {found.height}')
        rings = _rings(found.polygon, where)
        item = Item(name, found.s1_or_s2, found.lang, picture, size,
                    found.dataset_name or 'unknown', _subclass(found, where), rings, found.piece)
        if not item.mask.any():
            raise Unusable(where, 'its polygon lies beside the picture')
        return item

    def _trace(self, name: str, entry: Any, path: Path) -> Item:
        where = f'{path}: {name}'
        found = _checked(_Trace, entry, where)
        picture, size = self._picture(TRACES, found, where)
        parts = PurePosixPath(picture).parts
        source = found.dataset_name or (parts[1] if len(parts) > 2 else 'unknown')
        return Item(name, TRACES, found.lang, picture, size, source,
                    start=(start := self._start(picture, size, where)),
                    marked=start is not None and _MARKED in PurePosixPath(picture).stem,
                    task=None if found.task is None else found.task.model_dump(mode='json'))

    def _picture(self, kind: str, entry: _Entry, where: str) -> tuple[str, Size]:
        """Name and size of an entry's picture.

        The path may begin in the folder of data, in that of the pictures, or above both.
        """
        parts = below(entry.image_path, 'image_path', where).parts
        images = f'images_{kind}'
        within = parts[parts.index(images) + 1:] if images in parts else parts
        choices = [PurePosixPath(images, *within), PurePosixPath(*parts)]
        name = next((str(choice) for choice in choices if _is_file(self._folder / choice)), None)
        if name is None:
            raise Unusable(str(self._folder / choices[0]), f'the picture of {where} is missing')
        return name, self._sizes.of(name)

    def _start(self, picture: str, size: Size, where: str) -> Point | None:
        """Start of a trace: from the picture's name, else from the file beside it; else None."""
        path = self._folder / picture
        match = _START.search(path.stem)
        try:
            if match is not None:
                x, y = (float(number) for number in match.groups() if number is not None)
                return to_unit([(x, y)], Coordinates.UNIT_XY, size).points[0]
            known = self._starts(path.parent)
            pixels = known.get(path.name) or known.get(path.stem)
            if pixels is None:
                return None
            return to_unit([pixels], Coordinates.PIXEL_XY, size).points[0]
        except Misdeclared as error:
            raise Unusable(where, f'the start of the trace: {error}') from error

    def _starts(self, folder: Path) -> dict[str, tuple[float, float]]:
        """Starts that a folder's ``points.txt`` states, in pixels by name."""
        path = folder / POINTS_FILE
        if path in self._points:
            return self._points[path]
        starts = self._points.setdefault(path, {})
        try:
            lines = path.read_text('utf-8').splitlines()
        except FileNotFoundError:
            lines = []
        except (OSError, UnicodeDecodeError) as error:
            self.skipped.append(skip(str(path), f'cannot be read ({error})'))
            lines = []
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                name, x, y = line.rsplit(',', 2)
                starts[PurePosixPath(name.strip()).name] = float(x), float(y)
            except ValueError:
                self.skipped.append(skip(f'{path}:{number}', 'is not "name,x,y"'))
        return starts


def picture_size(path: Path) -> Size:
    """Width and height of a picture that is whole, from its head and its end.

    Raises:
        InputError: it is truncated, or no picture.
    """
    with opened(path) as image:
        width, height = image.size
        # Of a PNG without such data Pillow would decode all of it to look for them.
        told = image.format != 'PNG' or 'exif' in image.info
        if told and image.getexif().get(_ORIENTATION) in _TURNED:
            width, height = height, width
        if not _ends(path, image.format):
            image.load()  # it may be whole, with something behind it: this tells
    return width, height


def _ends(path: Path, kind: str | None) -> bool:
    """Whether a picture's file ends as a whole one of its kind does."""
    with open(path, 'rb') as file:
        file.seek(max(0, path.stat().st_size - _TAIL))
        return kind in _ENDS and _ENDS[kind] in file.read()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # no file can be called so
        return False


def _checked(kind: type[E], entry: Any, where: str) -> E:
    found = checked(kind, entry, where)
    if not found.lang.strip():
        raise Unusable(where, 'lang is empty')
    return found


def _subclass(entry: _Place, where: str) -> str:
    """The subclass as the tables have it."""
    said = entry.subclasses if isinstance(entry.subclasses, str) else entry.subclasses[0]
    name = ' '.join(re.split(r'[\s_-]+', said.strip().lower()))
    if not name:
        raise Unusable(where, 'subclasses is empty')
    return _SUBCLASSES.get(name, name)


def _rings(polygon: Any, where: str) -> tuple[tuple[float, ...], ...]:
    """The rings of a polygon, checked."""
    rings = tuple(tuple(float(value) for value in ring) for ring in polygon)
    for ring in rings:
        if len(ring) % 2 or len(ring) < 6:
            raise Unusable(where, f'a ring of its polygon has {len(ring)} numbers; it needs x and '
                           'y of three or more vertices')
        if not all(math.isfinite(value) and abs(value) <= masks.MOST_COORDINATE for value in ring):
            raise Unusable(where, 'a vertex of its polygon is not finite, or far beside the '
                           'picture')
    if not any(masks.has_area(ring) for ring in rings):
        raise Unusable(where, 'its polygon has no area')
    return rings


# ------------------------------------------------------------------------------------- writing


def _view(scene: Mapping[str, Any]) -> View:
    """The view of an entry of ``scenes.json``."""
    fx, fy, cx, cy = (float(number) for number in scene['camera'])
    name = PurePosixPath(str(scene['depth']))
    if name.is_absolute() or '..' in name.parts:
        raise ValueError(f'depth = {str(name)!r} must be a path below the folder')
    return View(str(name), (fx, fy, cx, cy))


@dataclass(frozen=True)
class SceneEntries:
    """A scene as the files have it.

    Attributes:
        places: entries of ``s1s2.json``.
        traces: entries of ``s3.json``.
        scene: entry of ``scenes.json``.
        pictures: PNG files by name below the folder.
        depth: name of the file of its depth.
    """

    places: list[dict[str, Any]]
    traces: list[dict[str, Any]]
    scene: dict[str, Any]
    pictures: dict[str, bytes]
    depth: str


def scene_entries(scene: PointingScene, number: int, source: str) -> SceneEntries:
    """Entries of a scene for the files; tasks whose mask has no area are left out.

    Args:
        scene: with its tasks.
        number: of the scene, for the names of its pictures.
        source: name of its maker, which stands for a data set.
    """
    height, width = scene.image.shape[:2]
    picture = f'images_{PLACES}/{number:05}.png'
    outlines = [(task, masks.outline(task.mask)) for task in scene.tasks]
    places = [{'polygon': rings, 'image_path': PurePosixPath(picture).name, 'height': height,
               'width': width, 'lang': task.text, 'dataset_name': source,
               's1_or_s2': task.stage, 'subclasses': task.kind, 'piece': task.piece}
              for task, rings in outlines if rings]
    pictures = {picture: _png(scene.image)}
    traces = []
    for index, trace in enumerate(scene.traces):
        x, y = trace.start
        name = f'images_{TRACES}/{number:05}_{index}_mark_{x:.4f}_{y:.4f}.png'
        pictures[name] = _png(_marked(scene.image, trace.start))
        traces.append({'image_path': PurePosixPath(name).name, 'lang': trace.text,
                       'dataset_name': source, 'task': {
                           'source': source, 'scene': scene.id, 'text': trace.text,
                           'start': list(trace.start), 'oracle': [list(p) for p in trace.oracle],
                           'piece': trace.piece, 'goal': trace.goal}})
    pieces = [{'name': piece.name, 'category': piece.category, 'polygon': rings}
              for piece in scene.pieces if (rings := masks.outline(piece.mask))]
    depth = f'{DEPTH}/{number:05}.png'
    return SceneEntries(places, traces, {
        'id': scene.id, 'pictures': list(pictures), 'depth': depth,
        'camera': list(scene.camera), 'pieces': pieces}, pictures, depth)


def drawn(scenes: Iterable[PointingScene], source: str) -> Dataset:
    """Scenes as a data set, the same as if they had been written and read."""
    items: list[Item] = []
    held: dict[str, bytes] = {}
    pieces: dict[str, tuple[Outline, ...]] = {}
    views: dict[str, View] = {}
    traces: list[Item] = []
    for number, scene in enumerate(scenes):
        entries = scene_entries(scene, number, source)
        size = scene.image.shape[1], scene.image.shape[0]
        held.update({**entries.pictures, entries.depth: _depth_file(scene)})
        views.update(dict.fromkeys(entries.pictures, _view(entries.scene)))
        pieces.update(dict.fromkeys(entries.pictures, tuple(
            Outline(piece['name'], _rings(piece['polygon'], scene.id))
            for piece in entries.scene['pieces'])))
        for entry in entries.places:
            items.append(Item(
                f'{PLACES}/{len(items)}', entry['s1_or_s2'], entry['lang'],
                f'images_{PLACES}/{entry["image_path"]}', size, source,
                _subclass(_checked(_Place, entry, scene.id), scene.id),
                _rings(entry['polygon'], scene.id), entry['piece']))
        for entry in entries.traces:
            name = f'images_{TRACES}/{entry["image_path"]}'
            match = _START.search(PurePosixPath(name).stem)
            assert match is not None
            x, y = (float(number) for number in match.groups() if number is not None)
            traces.append(Item(f'{TRACES}/{len(traces)}', TRACES, entry['lang'], name, size,
                               source, start=(x, y), marked=True, task=entry['task']))
    return Dataset(source, (*items, *traces), pieces=pieces, views=views,
                   files=PictureFiles(held=held))


def write_official(folder: Path, scenes: Iterable[PointingScene], source: str = 'tabletop',
                   ) -> dict[str, int]:
    """Write scenes in the benchmark's format.

    Args:
        folder: it is made, and must not hold such files yet.
        scenes: one after another is written and forgotten.
        source: name of their maker.

    Returns:
        ``scenes``, ``places`` and ``traces``: how many.

    Raises:
        InputError: the folder holds data already, or cannot be written.
    """
    check_new(*(folder / f'{kind}.json' for kind in (PLACES, TRACES)))
    files: dict[str, list[dict[str, Any]]] = {PLACES: [], TRACES: [], 'scenes': []}
    for number, scene in enumerate(scenes):
        entries = scene_entries(scene, number, source)
        for name, content in {**entries.pictures, entries.depth: _depth_file(scene)}.items():
            write_file(folder / name, content)
        files[PLACES] += entries.places
        files[TRACES] += entries.traces
        files['scenes'].append(entries.scene)
    for kind, lines in files.items():
        rows = ',\n'.join(json.dumps(line) for line in lines)
        write_file(folder / f'{kind}.json', f'[\n{rows}\n]\n'.encode())
    return {'scenes': len(files['scenes']), 'places': len(files[PLACES]),
            'traces': len(files[TRACES])}


def _marked(image: NDArray[np.uint8], start: Point) -> NDArray[np.uint8]:
    """A picture with a red square where a trace begins."""
    height, width = image.shape[:2]
    x, y = round(start[0] * width), round(start[1] * height)
    marked = image.copy()
    marked[max(0, y - _MARKER_PX):y + _MARKER_PX, max(0, x - _MARKER_PX):x + _MARKER_PX] = _RED
    return marked


def _depth_file(scene: PointingScene) -> bytes:
    """Depth as a PNG of 16-bit millimetres (REP 118), 0 where it is not known."""
    millimetres = np.nan_to_num(scene.depth_m * 1000.0, nan=0.0, posinf=0.0, neginf=0.0)
    return _png(np.clip(np.rint(millimetres), 0, 65_535).astype(np.uint16))


def _png(image: NDArray[np.uint8] | NDArray[np.uint16]) -> bytes:
    """A PNG file; pictures with noise hardly get smaller by more than a quick compression."""
    from PIL import Image
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(image)).save(buffer, 'PNG', compress_level=1)
    return buffer.getvalue()
