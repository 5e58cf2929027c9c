"""Functions for readers of a user's data files: entries, skipped entries and pictures.

A reader goes through the entries of a file (``entries_of``), checks each (``checked``, ``below``),
and notes what cannot be used with file, reason and remedy (``Unusable``, ``skip``). One unusable
entry costs no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.depth_files import read_depth
from sightplan.model.json_text import load_commented_json
from sightplan.model.picture_files import opened, read_image
from sightplan.model.reading import validated

Size = tuple[int, int]
"""Width and height of a picture [pixels]."""
Skipped = dict[str, str]
"""An unusable entry: ``file`` (with the line), ``reason``, and ``id`` where it is known."""
Entry = tuple[str, Any, str]
"""Place (file and line, or file and number), content, and why it is not JSON ('' if it is)."""
MOST_ENTRIES = 1_000_000
"""The most entries that are read from one file."""
T = TypeVar('T')


class Unusable(Exception):
    """An entry cannot be used: where it is, and why with a remedy."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f'{where}: {reason}')
        self.where, self.reason = where, reason


# --------------------------------------------------------------------------------- what is skipped


def skip(where: str, reason: str, name: str = '') -> Skipped:
    """Return the record of an unusable entry; ``name`` is the entry's id, '' if it has none."""
    return {'file': where, **({'id': name} if name else {}), 'reason': reason}


def reason_of(error: Exception, where: str) -> str:
    """Return an error's message as one line, without the prefix ``where``.

    An error without a message gives the name of its type.
    """
    return '; '.join(line.removeprefix(f'{where}: ') for line in str(error).splitlines()) or (
        type(error).__name__)


def with_ids(skipped: Iterable[Skipped]) -> list[Skipped]:
    """Return entries with file and reason alone; the reason begins with the id if there is one."""
    return [skip(one['file'], f'{one["id"]}: {one["reason"]}' if 'id' in one else one['reason'])
            for one in skipped]


def unusable_ids(skipped: Iterable[Skipped]) -> dict[str, str]:
    """Return file and reason of each unusable entry by its id; entries without id are left out."""
    return {one['id']: f'{one["file"]}: {one["reason"]}' for one in skipped if 'id' in one}


def nothing_usable(where: str, skipped: Sequence[Skipped], what: str) -> InputError:
    """Return the error of data without a usable entry; ``what`` names an entry: ``item``."""
    first = skipped[0] if skipped else None
    return InputError(f'{where}: holds not one {what} that can be used'
                      + (f'; of {len(skipped)} the first: {first["file"]}: {first["reason"]}'
                         if first else ''))


# ---------------------------------------------------------------------------------------- entries


def entries_of(path: Path, lists: bool = True) -> list[Entry]:
    """Return the entries of a file: lines of JSON, or the elements of a ``.json`` file's list.

    Comments (``//``) and commas after the last element are read over.

    Args:
        path: path of the file.
        lists: whether ``.json`` files hold a list; else they hold lines, too.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f'{path}: cannot be read ({error.strerror})') from error
    if lists and path.suffix == '.json':
        found, wrong = _json(content)
        if wrong or not isinstance(found, list):
            return [(str(path), None, wrong or 'is no list of records (write [ ... ])')]
        return [(f'{path}: entry {index}', one, '') for index, one in enumerate(found)]
    return [(f'{path}:{number}', *_json(line))
            for number, line in enumerate(content.split(b'\n'), start=1)
            if line.strip() and not line.lstrip().startswith(b'//')]


def _json(content: bytes) -> tuple[Any, str]:
    try:
        return load_commented_json(content.decode()), ''
    except (ValueError, RecursionError) as error:
        return None, f'is not JSON ({error}); write one object a line'


def checked(kind: type[T], entry: Any, where: str, prefix: str = '') -> T:
    """An entry as a model; what is wrong is named with its field.

    Args:
        kind: the model, or a dataclass.
        entry: plain data.
        where: place of the entry.
        prefix: the fields above it, such as ``plan.1.``.

    Raises:
        Unusable: a field is missing or wrong.
    """
    try:
        return validated(kind, entry, where)
    except (InputError, RecursionError) as error:
        raise Unusable(where, '; '.join(
            f'{prefix}{line.removeprefix(f"{where}: ")}' for line in str(error).splitlines()
        )) from error


def below(text: str, name: str, where: str) -> PurePosixPath:
    """A path below the folder of data.

    Args:
        text: as the entry has it.
        name: of the field.
        where: place of the entry.

    Raises:
        Unusable: it leads elsewhere.
    """
    path = PurePosixPath(text.replace('\\', '/'))
    if not path.parts or path.is_absolute() or '..' in path.parts or '\0' in text:
        raise Unusable(where, f'{name} = {text!r} must be a path below the folder')
    return path


def keep_new(found: dict[str, tuple[str, T]], name: str, where: str, one: T) -> None:
    """Add an answer with its place to ``found`` by its id.

    Raises:
        InputError: ``found`` has the id already; names both places.
    """
    if name in found:
        raise InputError(f'{where}: id = {name!r} is there twice, first at {found[name][0]}; keep '
                         'one of them')
    found[name] = where, one


# --------------------------------------------------------------------------------------- pictures


@dataclass(frozen=True)
class PictureFiles:
    """Pictures by name: files below a folder, or held in memory.

    Attributes:
        folder: of the files.
        held: content of the files that are in no folder, by name.
    """

    folder: Path = field(default_factory=Path)
    held: Mapping[str, bytes] = field(default_factory=dict)

    def content(self, name: str) -> bytes:
        """A picture's file.

        Raises:
            InputError: it cannot be read.
        """
        if name in self.held:
            return self.held[name]
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise InputError(f'{self.folder / name}: cannot be read ({error.strerror})') from error

    def image(self, name: str) -> NDArray[np.uint8]:
        """A picture, (H, W, 3) uint8 RGB.

        Raises:
            InputError: it cannot be read.
        """
        return (read_image(Path(name), self.held[name]) if name in self.held
                else read_image(self.folder / name))

    def depth_m(self, name: str) -> NDArray[np.float32]:
        """A picture of depth, (H, W) float32 [m], 0 where unknown.

        Raises:
            InputError: it cannot be read.
        """
        if name not in self.held:
            return read_depth(self.folder / name)
        with opened(Path(name), content=self.held[name]) as image:
            return np.asarray(image).astype(np.float32) * np.float32(1e-3)


class PictureSizes:
    """Sizes of the pictures of a folder; each file is looked at once."""

    def __init__(self, folder: Path, measure: Callable[[Path], Size]) -> None:
        """Look at nothing yet.

        Args:
            folder: of the pictures.
            measure: tells the size of a file; raises InputError if it is no picture.
        """
        self._folder, self._measure = folder, measure
        self._found: dict[str, Size | str] = {}

    def of(self, name: str) -> Size:
        """Width and height of a picture.

        Raises:
            Unusable: it is missing, or no picture.
        """
        path = self._folder / name
        if name not in self._found:
            try:
                self._found[name] = self._measure(path)
            except InputError as error:
                self._found[name] = str(error).removeprefix(f'{path}: ')
        size = self._found[name]
        if isinstance(size, str):
            raise Unusable(str(path), size)
        return size


# ---------------------------------------------------------------------------------------- writing


def check_new(*files: Path) -> None:
    """Check that none of some files is there, so that data are not written over.

    Raises:
        InputError: one is.
    """
    for path in files:
        if path.exists():
            raise InputError(f'{path}: is there already; name an empty folder')


def write_file(path: Path, content: bytes) -> None:
    """Write a file; its folder is made.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise InputError(f'{path}: cannot be written ({error.strerror or error}); choose another '
                         'folder') from error
