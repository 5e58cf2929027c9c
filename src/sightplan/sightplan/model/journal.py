"""Journals: append-only files of JSON objects, one a line, that survive a crash at any moment.

Results, answers, labels and recordings are such files. What is appended is written with one call,
and on the disk when that returns; of what could not be written nothing is left. A crash can only
truncate the last line: readers leave it out, and whoever opens the file to write removes it. Such
a line lacks its end or holds NUL bytes (blocks that never reached the disk); a whole object that
only lacks its line feed counts. Every other line that is no JSON object is an error that names
file and line, as files may be written by hand.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from sightplan.model.errors import InfrastructureError, InputError
from sightplan.model.json_text import load_json
from sightplan.model.whole_files import replacing

STORAGE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Error numbers of a disk that cannot be written at all, so that other runs would fail, too."""
PATIENCE_S = 30.0
"""Default time that a process waits for a journal that another process has locked [s]."""
_BOM = b'\xef\xbb\xbf'
_POLL_S = 0.002


class StorageError(InfrastructureError):
    """A file could not be written, as on a full disk; what was there before is as it was."""

    @classmethod
    def about(cls, path: Path | str, error: OSError) -> StorageError:
        """The error of a file or directory; names the remedy."""
        return cls(f'{path}: cannot be written ({error.strerror or error}); make room there, or '
                   f'choose another --out; the same command then goes on')


def cannot_write(path: Path | str, error: OSError) -> InfrastructureError:
    """Return the error for a failed write: StorageError for a disk that cannot be written."""
    if error.errno in STORAGE_ERRORS:
        return StorageError.about(path, error)
    return InfrastructureError(f'{path}: cannot be written ({error.strerror or error}); make it '
                               'writable, or choose another folder')


class Line(NamedTuple):
    """A line of a journal, parsed as a JSON object.

    Attributes:
        where: file and line number, for messages.
        data: the object.
        end: bytes of the file up to its end, line feed included.
    """

    where: str
    data: dict[str, Any]
    end: int


class Content(NamedTuple):
    """Content of a journal as far as it was read.

    Attributes:
        lines: the whole objects, in order; empty lines are skipped.
        truncated: the bytes of a last line that a crash truncated; empty if there is none.
        whole: bytes of the file up to the truncated line.
    """

    lines: list[Line]
    truncated: bytes
    whole: int


def parse(raw: bytes, name: str, *, start: int = 0, above: int = 0, strict: bool = False,
          ) -> Content:
    """Read the bytes of a journal, or those from the beginning of a line on.

    Args:
        raw: the bytes.
        name: of the file, for messages.
        start: where in the file they begin.
        above: number of lines before them.
        strict: a truncated line is an error, too.

    Raises:
        InputError: a line is no JSON object; names file and line.
    """
    lines: list[Line] = []
    pieces = raw.split(b'\n')
    last = len(pieces) if pieces[-1] else len(pieces) - 1
    at = start
    for number, piece in enumerate(pieces, start=1):
        end = min(at + len(piece) + 1, start + len(raw))
        where = f'{name}:{above + number}'
        text = piece.removeprefix(_BOM) if not at else piece
        if text.strip():
            try:
                data = load_json(text)
            except (ValueError, RecursionError) as error:
                if not strict and number == last and _truncated(text, number == len(pieces)):
                    return Content(lines, raw[at - start:], at)
                raise InputError(f'{where}: is not JSON ({error}); write one object a line, or '
                                 f'remove the line') from error
            if not isinstance(data, dict):
                raise InputError(f'{where}: is not a JSON object; write one object a line, or '
                                 f'remove the line')
            lines.append(Line(where, data, end))
        at = end
    return Content(lines, b'', at)


def _truncated(line: bytes, endless: bool) -> bool:
    """Whether a crash may have left a last line that is not JSON."""
    return b'\0' in line or (endless and line.startswith(b'{'))


def read_lines(path: Path, *, strict: bool = False) -> Content:
    """Read a whole journal.

    Args:
        path: the file.
        strict: a truncated line is an error, too: nobody is writing the file.

    Raises:
        InputError: the file is not there or cannot be read, or a line is no JSON object.
    """
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f'{path}: cannot be read ({reason}); give a file of JSON '
                         f'lines') from error
    return parse(raw, str(path), strict=strict)


class Journal:
    """A journal that is open for more; several processes may take turns at it.

    A lock belongs to whoever holds it until ``unlock`` or ``close``, or the end of the process.
    ``append`` may be called from several threads.
    """

    def __init__(self, path: Path, *, synced: bool = True) -> None:
        """Set the path; the file is not touched.

        Args:
            path: the file.
            synced: whether lines are on the disk when ``append`` returns; otherwise they survive
                the end of this process, but maybe not that of the machine.
        """
        self.path = path
        self._synced = synced
        self._file: int | None = None
        self._known = self._lines = 0  # bytes and lines that were read or written here
        self._locked = False
        self._thread = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        """Whether the journal is open for writing."""
        return self._file is not None

    @property
    def empty(self) -> bool:
        """Whether the open file holds nothing."""
        return not os.fstat(self._descriptor).st_size

    @property
    def in_place(self) -> bool:
        """Whether the path still names the file that was opened."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except FileNotFoundError:
            return False

    def open(self, *, parents: bool = True) -> None:
        """Open the file; make it, and its folder if ``parents``, where they are missing.

        Raises:
            InputError: it cannot be written.
            StorageError: the disk is full, or broken.
        """
        try:
            if parents:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._opened()
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno in STORAGE_ERRORS:
                raise StorageError.about(self.path, error) from error
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f'{self.path}: cannot be written ({reason}); choose another '
                             f'--out') from error

    def close(self) -> None:
        """Close the file and release its lock."""
        with self._thread:
            if self._file is not None:
                os.close(self._file)
                self._file, self._locked = None, False

    def lock(self, patience_s: float = 0.0) -> None:
        """Keep other processes from writing; follows a file that another one replaced.

        Args:
            patience_s: how long to wait for another process [s].

        Raises:
            InputError: another process is writing.
        """
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise InputError(f'{self.path}: another process is writing it; wait for it, '
                                     f'or choose another --out') from error
                time.sleep(_POLL_S)
                continue
            if self.in_place:
                self._locked = True
                return
            os.close(self._descriptor)
            self._file, self._known, self._lines = self._opened(), 0, 0

    def unlock(self) -> None:
        """Let other processes write."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._locked = False

    @contextlib.contextmanager
    def locked(self, patience_s: float = PATIENCE_S) -> Iterator[None]:
        """Keep other processes from writing while this lasts; see ``lock``."""
        self.lock(patience_s)
        try:
            yield
        finally:
            self.unlock()

    def read(self) -> list[Line]:
        """All whole lines, whether the journal is open or not; none where there is no file.

        Raises:
            InputError: it cannot be read, or a line is no JSON object.
        """
        try:
            self.path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            pass  # is said by what follows
        return read_lines(self.path).lines

    def take_up(self) -> tuple[bool, Content]:
        """Read what was added since the last time, and remove a line that a crash truncated.

        To be called when no other process writes.

        Returns:
            whether the lines begin at the start of the file (the first time, and after somebody
            shortened or replaced it), and the lines.

        Raises:
            InputError: a line is no JSON object; then the same lines are read again next time.
        """
        file = self._descriptor
        size = os.fstat(file).st_size
        if size < self._known:
            self._known = self._lines = 0
        start = self._known
        with open(file, 'rb', closefd=False) as stream:
            stream.seek(start)
            raw = stream.read()
        content = parse(raw, str(self.path), start=start, above=self._lines)
        if content.truncated:
            os.ftruncate(file, content.whole)
            os.fsync(file)
        elif raw and not raw.endswith(b'\n'):
            self._write(b'\n')
        self._known = os.fstat(file).st_size
        whole = raw[:content.whole - start]
        self._lines += whole.count(b'\n') + (whole[-1:] not in (b'\n', b''))
        return not start, content

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Write objects at the end, with one call; see ``synced`` for what holds afterwards.

        Raises:
            ValueError: an object cannot be written as JSON; nothing was written.
            StorageError: they could not be written (disk full); nothing is left of them.
            InfrastructureError: the journal is closed.
        """
        content = _encode(lines)
        with self._thread:
            if self._file is None:
                raise InfrastructureError(f'{self.path}: is closed, nothing more is written')
            followed = os.fstat(self._file).st_size == self._known
            self._write(content)
            if followed:
                self._known += len(content)
                self._lines += len(lines)

    def replace(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Put other lines in place of all; a crash leaves the old ones or the new ones.

        A lock is kept: nobody else writes in between.

        Raises:
            StorageError: they could not be written; the old ones are still there.
        """
        lines = list(lines)
        content = _encode(lines)
        old, new = self._descriptor, None
        try:
            with replacing(self.path, synced=True) as temporary:
                new = os.open(temporary, os.O_RDWR | os.O_APPEND)
                if self._locked:
                    fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.write(new, content) < len(content):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            if new is not None:
                os.close(new)
            raise StorageError.about(self.path, error) from error
        os.close(old)
        self._file, self._known, self._lines = new, len(content), len(lines)

    @property
    def _descriptor(self) -> int:
        if self._file is None:
            raise ValueError(f'{self.path} is not open')
        return self._file

    def _opened(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)

    def _write(self, content: bytes) -> None:
        file = self._descriptor
        size = os.fstat(file).st_size
        try:
            if os.write(file, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self._synced:
                os.fsync(file)
        except OSError as error:
            os.ftruncate(file, size)
            raise StorageError.about(self.path, error) from error


def _encode(lines: Iterable[Mapping[str, Any]]) -> bytes:
    return ''.join(json.dumps(line, allow_nan=False) + '\n' for line in lines).encode()
