"""sqlite3 files of rosbag2, also those that sqlite itself cannot read any more.

A file that is whole is read by sqlite, read-only, with nothing written beside it. Of a file that
is cut off or damaged the pages are read here: rows lie in leaf pages of tables, and the rest of a
long row in a chain of overflow pages, so each row whose pages are there is found, whatever has
become of the others.

Format: https://www.sqlite.org/fileformat2.html (sections 1.3 and 1.6 to 2.1).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.records.mcap_reading import clock_text

MAGIC = b'SQLite format 3\0'
WAITING = ('-wal', '-journal')
"""Endings of the files in which sqlite keeps what is not in the main file yet."""

_LEAF, _LEAF_HEAD = 0x0D, struct.Struct('>BHHHB')
_USUAL_PAGE = 4096
_BLOCK = 2**22
_ROW = np.dtype([('id', np.int64), ('topic', np.int64), ('ns', np.int64), ('key', np.int64)])
_INT_SIZES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_MOST_COLUMNS = 64

ENCODINGS = ('ros2msg', 'ros2idl')
"""Of definitions of types."""

Read = Callable[[int, int], bytes | None]
"""Gives the data of a message of a key and a time."""


@dataclass(frozen=True, slots=True)
class SqliteTopic:
    """A row of the table ``topics``."""

    name: str
    type: str
    coding: str
    qos: str


class SqliteFile:
    """An sqlite3 file of a bag.

    Attributes:
        topics: by number.
        definitions: type to encoding and text.
        rows: the messages in the order of their times: ``topic``, ``ns`` and ``key`` for reading.
    """

    def __init__(self, path: Path, label: str = '', scratch: Path | None = None) -> None:
        """Read all but the messages' data.

        Args:
            path: the file.
            label: its name in complaints; '': its path.
            scratch: an empty folder, for a copy if files wait beside the file (see ``waiting``).

        Raises:
            InputError: there is nothing in it that can be read.
        """
        self._path, self._label = path, label or str(path)
        self.topics: dict[int, SqliteTopic] = {}
        self.definitions: dict[str, tuple[str, str]] = {}
        self.rows: NDArray[np.void] = np.empty(0, _ROW)
        self._complaints: list[str] = []
        self._lost: dict[int, int] = {}  # key to time
        self._pages: _Pages | None = None
        try:
            if scratch is not None and waiting(path):
                self._path = self._with_waiting(scratch)
            self._open()
        except (sqlite3.Error, ValueError, TypeError, KeyError, OverflowError) as error:
            self._salvage(str(error))
        except OSError as error:
            raise InputError(f'{self._label}: cannot be read: {error.strerror}') from error
        # Stable: messages of one time stay in the order in which they were recorded.
        self.rows = self.rows[np.argsort(self.rows['ns'], kind='stable')]
        lost = ~np.isin(self.rows['topic'], list(self.topics))
        if lost.any():
            self._complain(f'the descriptions of topics are lost, and {int(lost.sum())} messages '
                          'with them')
            self.rows = self.rows[~lost]

    @contextlib.contextmanager
    def reader(self) -> Iterator[Read]:
        """Reads the data of messages; None, with a complaint, for those that are lost."""
        if self._pages is not None:
            with self._path.open('rb') as file:
                pages = self._pages
                yield lambda key, ns: self._checked(key, ns, lambda: pages.row(file, key))
            return
        with contextlib.closing(_connect(self._path)) as connection:
            def fetch(key: int) -> bytes | None:
                row = connection.execute('SELECT data FROM messages WHERE id = ?',
                                         (key,)).fetchone()
                return None if row is None or not isinstance(row[0], bytes) else row[0]
            yield lambda key, ns: self._checked(key, ns, lambda: fetch(key))

    @property
    def complaints(self) -> list[str]:
        """What is wrong, in words; grows while messages are read."""
        if not self._lost:
            return list(self._complaints)
        lost = (f'{self._label}: {len(self._lost)} messages are not whole and left out, the first '
                f'one of {clock_text(min(self._lost.values()))}')
        return [*self._complaints, lost]

    def _complain(self, text: str) -> None:
        self._complaints.append(f'{self._label}: {text}')

    def _checked(self, key: int, ns: int, read: Callable[[], bytes | None]) -> bytes | None:
        try:
            data = read()
        except (sqlite3.Error, OSError, ValueError):
            data = None
        if data is None:
            self._lost[key] = ns
        return data

    def _with_waiting(self, scratch: Path) -> Path:
        """A copy in which sqlite has put what waits beside the file."""
        copy = scratch / 'copy.db3'
        try:
            shutil.copyfile(self._path, copy)
            for ending in waiting(self._path):
                shutil.copyfile(f'{self._path}{ending}', f'{copy}{ending}')
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                connection.execute('SELECT count(*) FROM sqlite_master').fetchone()
                connection.execute('PRAGMA journal_mode = DELETE').fetchone()
        except sqlite3.Error as error:
            self._complain(f'what waits beside it ({", ".join(waiting(self._path))}) cannot be '
                          f'read: {error}')
            return self._path
        self._complain('its recorder was stopped hard; what it had put beside the file '
                      f'({", ".join(waiting(self._path))}) is read, too')
        return copy

    # A file that is whole.

    def _open(self) -> None:
        missing = _missing_bytes(self._path)
        if missing:
            raise ValueError(f'{missing} bytes are missing at its end')
        with contextlib.closing(_connect(self._path)) as connection:
            cursor = connection.execute('SELECT * FROM topics ORDER BY id')
            names = [column[0] for column in cursor.description]
            for values in cursor:
                row = dict(zip(names, values, strict=True))
                self.topics[int(row['id'])] = SqliteTopic(
                    str(row['name']), str(row['type']), str(row['serialization_format']),
                    str(row.get('offered_qos_profiles') or ''))
            if connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
                                  "name = 'message_definitions'").fetchone()[0]:
                self.definitions = {
                    str(kind): (str(encoding), str(text))
                    for kind, encoding, text in connection.execute(
                        'SELECT topic_type, encoding, encoded_message_definition FROM '
                        'message_definitions ORDER BY id DESC')}
            cursor = connection.execute('SELECT id, topic_id, timestamp, id FROM messages '
                                        'ORDER BY id')
            blocks = [np.empty(0, _ROW)]
            while block := cursor.fetchmany(2**16):
                blocks.append(np.array(block, _ROW))
        self.rows = np.concatenate(blocks)
        if (np.diff(self.rows['id']) <= 0).any():
            raise ValueError('its rows are not in order')

    # A file that is not.

    def _salvage(self, reason: str) -> None:
        self.topics, self.definitions = {}, {}
        self._pages = pages = _Pages(self._path)
        found: list[tuple[int, int, int, int]] = []
        blocks = [np.empty(0, _ROW)]
        for key, row, values in pages.rows():
            match values:
                case [None | int(), int(topic), int(ns), bytes()]:
                    found.append((row, topic, ns, key))
                case [None | int(), str(name), str(kind), str(coding), *rest] if '/' in kind:
                    profiles = rest[0] if rest and isinstance(rest[0], str) else ''
                    self.topics.setdefault(row, SqliteTopic(name, kind, coding, profiles))
                case [None | int(), str(name), str(encoding), str(text), *_] if (
                        encoding in ENCODINGS):
                    self.definitions.setdefault(name, (encoding, text))
            if len(found) > 2**16:
                blocks.append(np.array(found, _ROW))
                found.clear()
        rows = np.concatenate([*blocks, np.array(found, _ROW)])
        # Pages that were given up may hold rows a second time.
        self.rows = rows[np.unique(rows['id'], return_index=True)[1]]
        if not len(self.rows) and not self.topics:
            raise InputError(f'{self._label}: is no file of rosbag2, or nothing is left of it '
                             f'({reason})')
        since = (f', the last one of {clock_text(int(self.rows["ns"].max()))}'
                 if len(self.rows) else '')
        self._complain(f'is cut off or damaged ({reason}): {len(self.rows)} messages were found '
                      f'in it{since}')


def waiting(path: Path) -> list[str]:
    """Endings of the files beside an sqlite3 file that hold some of what belongs into it."""
    found = []
    for ending in WAITING:
        with contextlib.suppress(OSError):
            if os.path.getsize(f'{path}{ending}'):
                found.append(ending)
    return found


def _connect(path: Path) -> sqlite3.Connection:
    """Open read-only, as a file that nobody changes: so nothing is written beside it."""
    connection = sqlite3.connect(f'file:{quote(str(path.absolute()))}?mode=ro&immutable=1',
                                 uri=True)
    connection.text_factory = lambda data: data.decode('utf-8', 'replace')
    return connection


def _missing_bytes(path: Path) -> int:
    """How much shorter a file is than its header tells."""
    with path.open('rb') as file:
        head, size = file.read(32), file.seek(0, os.SEEK_END)
    if len(head) < 32 or not head.startswith(MAGIC):
        return 0  # sqlite will tell
    pages = int.from_bytes(head[28:32], 'big')
    return max(0, pages * _page_size(head) - size)


def _page_size(head: bytes) -> int:
    size = int.from_bytes(head[16:18], 'big')
    size = 65536 if size == 1 else size
    return size if size >= 512 and not size & (size - 1) else _USUAL_PAGE


class _Pages:
    """The rows in the leaf pages of a file's tables."""

    def __init__(self, path: Path) -> None:
        with path.open('rb') as file:
            head, size = file.read(100), file.seek(0, os.SEEK_END)
        self._path, self._size = path, _page_size(head)
        self._count = size // self._size
        reserved = head[20] if len(head) > 20 and head.startswith(MAGIC) else 0
        self._usable = self._size - (reserved if reserved <= self._size - 480 else 0)

    def rows(self) -> Iterator[tuple[int, int, list[Any]]]:
        """Key, row number and values of each row; a blob stands as b''."""
        at_once = max(1, _BLOCK // self._size)
        with self._path.open('rb') as file, self._path.open('rb') as again:
            for first in range(0, self._count, at_once):
                block = file.read(min(at_once, self._count - first) * self._size)
                for number in range(len(block) // self._size):
                    start = number * self._size
                    head = start + (100 if first + number == 0 else 0)
                    if block[head] == _LEAF:
                        page = block[start:start + self._size]
                        yield from self._rows_of(again, first + number + 1, page, head - start)

    def row(self, file: IO[bytes], key: int) -> bytes | None:
        """The last value of a row, a blob; None if some of it is lost."""
        number, at = divmod(key, 65536)
        file.seek((number - 1) * self._size)
        payload, _ = self._payload(file, file.read(self._size), at)
        values = None if payload is None else _values(payload, blobs=True)
        return values[-1] if values and isinstance(values[-1], bytes) else None

    def _rows_of(self, file: IO[bytes], number: int, page: bytes, head: int,
                 ) -> Iterator[tuple[int, int, list[Any]]]:
        _, _, count, _, _ = _LEAF_HEAD.unpack_from(page, head)
        pointers = head + _LEAF_HEAD.size
        if pointers + 2 * count > self._usable:
            return
        for at in struct.unpack_from(f'>{count}H', page, pointers):
            if not pointers + 2 * count <= at < self._usable:
                continue
            payload, row = self._payload(file, page, at, only_here=True)
            values = None if payload is None else _values(payload)
            if values is None and payload is not None:  # texts that go on in other pages
                payload, row = self._payload(file, page, at)
                values = None if payload is None else _values(payload)
            if values:
                yield number * 65536 + at, row, values

    def _payload(self, file: IO[bytes], page: bytes, at: int, only_here: bool = False,
                 ) -> tuple[bytes | None, int]:
        """The bytes of a row and its number; None: they are not all there.

        Args:
            file: for the pages in which a long row goes on.
            page: its page.
            at: where it begins there.
            only_here: give what is of it in this page.
        """
        size, at = _varint(page, at)
        row, at = _varint(page, at)
        usable = self._usable
        if not 0 <= size <= self._count * self._size:
            return None, row
        here = size
        if size > usable - 35:
            least = (usable - 12) * 32 // 255 - 23
            here = least + (size - least) % (usable - 4)
            here = here if here <= usable - 35 else least
        if at + here > usable:
            return None, row
        content = page[at:at + here]
        if here == size or only_here:
            return content, row
        parts, left = [content], size - here
        after = int.from_bytes(page[at + here:at + here + 4], 'big')
        while left > 0:
            if not 0 < after <= self._count:
                return None, row
            file.seek((after - 1) * self._size)
            page = file.read(usable)
            if len(page) < usable:
                return None, row
            after = int.from_bytes(page[:4], 'big')
            parts.append(page[4:4 + left])
            left -= len(parts[-1])
        return b''.join(parts), row


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes and where it ends; beyond the end there are zeros."""
    value = 0
    for index in range(9):
        byte = data[at] if at < len(data) else 0
        at += 1
        if index == 8:
            value = value << 8 | byte
            break
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value - (value >> 63 << 64), at


def _values(payload: bytes, blobs: bool = False) -> list[Any] | None:
    """The values of a row; None if it contradicts itself, or ends too early for its texts.

    Args:
        payload: its bytes, or the first of them.
        blobs: give blobs, which must then be whole; else b'' stands for each.
    """
    end, at = _varint(payload, 0)
    if not 0 < end <= min(len(payload), 9 * _MOST_COLUMNS):
        return None
    kinds = []
    while at < end:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        if kind == 0:
            values.append(None)
        elif kind in (8, 9):
            values.append(kind - 8)
        elif kind in _INT_SIZES or kind == 7:
            size = _INT_SIZES.get(kind, 8)
            if at + size > len(payload):
                return None
            values.append(0.0 if kind == 7 else
                          int.from_bytes(payload[at:at + size], 'big', signed=True))
            at += size
        elif kind >= 12:
            size = (kind - 12) // 2
            text = kind % 2
            if (text or blobs) and at + size > len(payload):
                return None
            values.append(payload[at:at + size].decode('utf-8', 'replace') if text
                          else payload[at:at + size] if blobs else b'')
            at += size
        else:
            return None
    return values
