"""``boxes``: all things of a picture from a file of boxes, such as a segmenter or detector wrote.

No model: what another tool found is used as it is, for example as the marks of ``set_of_marks``
(``--method-option marks='boxes file=segments.json'``). The file is JSON or JSON lines; comments
and last commas are read over:

* boxes of one picture, which may be any: ``[[x1, y1, x2, y2], ...]``, or with labels and scores:
  ``[{"bbox": [...], "label": "red mug", "score": 0.9}, ...]``;
* boxes of many pictures: ``{"image": "a.png", "boxes": [as above]}``, one a line or in a list. An
  image is a path, absolute or from the folder of the file. Pictures are told apart by their
  content, not by their names, which no method knows.

The convention of the numbers is declared: by the setting ``coords``, or in the file by ``coords``
beside ``boxes``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError, param, user_path
from sightplan.model.errors import reason_of
from sightplan.model.json_text import load_commented_json
from sightplan.model.picture_files import read_image
from sightplan.model.query import Deadline, ModelByKind, Query, Traits, answers
from sightplan.queries import Detect, DetectReply
from sightplan.queries.coordinates import Coordinates
from sightplan.queries.detect import MOST_THINGS, read_detections

CONVENTIONS = ('pixel_xyxy', 'pixel_xywh', 'unit_xyxy', 'permille_xyxy', 'permille_yxyx')
"""Conventions of four numbers: unit, and what they are in order."""
_BOXES, _IMAGES = ('bbox', 'box', 'bbox_2d'), ('image', 'image_path', 'file_name', 'picture')
_LABELS, _SCORES = ('label', 'name', 'category'), ('score', 'predicted_iou', 'probability')
_EDGE = 0.01
"""Fraction of the picture by which a box may reach beyond it; it is cut off there."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the backend ``boxes``."""

    file: str = param('', 'File of boxes, JSON or JSON lines: [[x1, y1, x2, y2], ...] for one '
                      'picture, or {"image": "a.png", "boxes": [...]} for each of many')
    coords: str = param('', 'Convention of the numbers, where the file declares none: '
                        f'{", ".join(CONVENTIONS)}', choices=('', *CONVENTIONS))


def content(settings: Settings, kind: object = None) -> str:
    """Hash of the file; see ``api.backend_content``."""
    return hashlib.sha256(user_path(settings.file).read_bytes()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class _Entry:
    """The boxes of a picture.

    Attributes:
        where: file and entry, for messages.
        image: path of the picture; None: any, but always the same one.
        boxes: as the file has them.
        coords: their convention.
    """

    where: str
    image: Path | None
    boxes: Sequence[Any]
    coords: str


class Backend(ModelByKind):
    """Finds in a picture what a file says of it.

    Args:
        settings: see Settings.

    Raises:
        InputError: the file is not given, not there, or not of the form; names file and entry.
    """

    accepts: frozenset[type[Query[Any]]] = frozenset({Detect})
    traits = Traits(prompt=False)

    def __init__(self, settings: Settings) -> None:
        if not settings.file:
            raise InputError('backend boxes: file is missing; name a file of boxes with file=FILE')
        path = user_path(settings.file)
        self._entries = list(_entries(path, settings.coords))
        self._of: dict[str, _Entry] = {}
        self._unread = [entry for entry in self._entries if entry.image is not None]
        self.name = f'boxes({path.name}@{content(settings)})'

    @answers(Detect)
    def detect(self, query: Detect, deadline: Deadline) -> DetectReply:
        """The boxes of the picture; another view of it is not known.

        Raises:
            InputError: the file has no boxes of this picture, or they cannot be used.
        """
        if query.attempt:
            return DetectReply(unread='a file of boxes knows the whole picture alone')
        return _reply(self._entry(_digest(query.image)), query)

    def _entry(self, digest: str) -> _Entry:
        """The entry of a picture by the hash of its pixels."""
        while digest not in self._of and self._unread:
            entry = self._unread.pop(0)
            assert entry.image is not None
            try:
                found = _digest(read_image(entry.image))
            except InputError as error:
                raise InputError(f'{entry.where}: {error}') from error
            self._of.setdefault(found, entry)
        if digest in self._of:
            return self._of[digest]
        first = self._entries[0]
        if first.image is not None:
            raise InputError(f'{first.where}: the file has boxes of {len(self._entries)} '
                             'pictures, and none of them is the one that is shown (add it)')
        if self._of:
            raise InputError(f'{first.where}: the file does not tell of which picture its boxes '
                             'are, and several are shown (write {"image": PATH, "boxes": [...]} '
                             'for each)')
        self._of[digest] = first
        return first


def _digest(image: NDArray[np.uint8]) -> str:
    return hashlib.sha256(repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()
                          ).hexdigest()


def _entries(path: Path, coords: str) -> Iterator[_Entry]:
    """The entries of a file.

    Raises:
        InputError: it cannot be read, is not of the form, or declares no convention.
    """
    data = _data(path)
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, list) or not data:
        raise InputError(f'{path}: holds no boxes; write [[x1, y1, x2, y2], ...], or {{"image": '
                         'PATH, "boxes": [...]} for each picture')
    pictures = [isinstance(entry, Mapping) and 'boxes' in entry for entry in data]
    if not any(pictures):
        yield _entry(str(path), {'boxes': data}, path.parent, coords)
        return
    for number, entry in enumerate(data):
        where = f'{path}: entry {number}'
        if not pictures[number]:
            raise InputError(f'{where}: boxes are missing (write {{"image": PATH, "boxes": '
                             '[...]} in every entry, or in none)')
        yield _entry(where, entry, path.parent, coords, len(data) == 1)


def _entry(where: str, entry: Mapping[str, Any], folder: Path, coords: str,
           only: bool = True) -> _Entry:
    image = next((entry[name] for name in _IMAGES if isinstance(entry.get(name), str)), None)
    if image is None and not only:
        raise InputError(f'{where}: image is missing (add the path of the picture)')
    said = entry.get('coords', coords)
    if said not in CONVENTIONS:
        raise InputError(f'{where}: coords {"are not declared" if not said else f"= {said!r}"}; '
                         f'declare one of {", ".join(CONVENTIONS)}, in the file or with '
                         'coords=...')
    if not isinstance(entry['boxes'], list) or len(entry['boxes']) > MOST_THINGS:
        raise InputError(f'{where}: boxes must be a list of at most {MOST_THINGS}')
    return _Entry(where, None if image is None else folder / user_path(image), entry['boxes'],
                  str(said))


def _data(path: Path) -> Any:
    try:
        text = path.read_text('utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f'{path}: cannot be read ({reason_of(error)}); '
                         'name a file of boxes') from error
    try:
        return load_commented_json(text)
    except (ValueError, RecursionError):
        pass
    try:
        return [load_commented_json(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise InputError(f'{path}: is neither JSON nor JSON lines ({error})') from error


def _reply(entry: _Entry, query: Detect) -> DetectReply:
    """The boxes of an entry, those of the highest score first.

    Raises:
        InputError: one is no box in the picture.
    """
    found = []
    for number, given in enumerate(entry.boxes):
        where = f'{entry.where}: boxes[{number}]'
        fields = given if isinstance(given, Mapping) else {'bbox': given}
        box = _unit(next((fields[name] for name in _BOXES if name in fields), None), entry.coords,
                    query.size, where)
        label = next((str(fields[name]) for name in _LABELS if name in fields), '')
        score = next((fields[name] for name in _SCORES if isinstance(
            fields.get(name), int | float)), 0.0)
        found.append((score, {'label': label, 'box': box}))
    found.sort(key=lambda one: -one[0])
    return read_detections(json.dumps([thing for _, thing in found]), Coordinates.UNIT_XY,
                           query.size)


def _unit(value: Any, coords: str, size: tuple[int, int], where: str) -> list[float]:
    """A box in unit coordinates, cut off at the edges of the picture.

    Raises:
        InputError: it is none, or does not lie in the picture.
    """
    if not isinstance(value, list) or len(value) != 4 or not all(
            isinstance(number, int | float) and not isinstance(number, bool)
            and math.isfinite(number) for number in value):
        raise InputError(f'{where}: {str(value)[:60]} must be a box of four numbers')
    a, b, c, d = map(float, value)
    if coords == 'pixel_xywh':
        c, d = a + c, b + d
    if coords == 'permille_yxyx':
        a, b, c, d = b, a, d, c
    wide, high = (size if coords.startswith('pixel') else
                  (1.0, 1.0) if coords.startswith('unit') else (1000.0, 1000.0))
    corners = [a / wide, b / high, c / wide, d / high]
    if min(corners) < -_EDGE or max(corners) > 1 + _EDGE or not (
            corners[0] < corners[2] and corners[1] < corners[3]):
        raise InputError(f'{where}: {value} is no box within the picture of {size[0]} x {size[1]} '
                         f'pixels, read as {coords} (declare another convention, or correct it)')
    return [min(1.0, max(0.0, number)) for number in corners]
