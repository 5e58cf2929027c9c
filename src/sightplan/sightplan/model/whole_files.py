"""Files that are replaced as a whole: a reader sees the old content or the new one."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path, synced: bool = False) -> Iterator[Path]:
    """Yield a file to write; it replaces ``path`` when the block ends without an error.

    Args:
        path: where it will be, readable for all.
        synced: it is on the disk then, so that a crash of the machine leaves one of both, too.

    Raises:
        OSError: it cannot be written; the old file is as it was. It names the path, not the file
            that would have taken its place.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f'.{path.name}.')
    except OSError as error:
        error.filename = str(path)
        raise
    os.close(handle)
    try:
        yield Path(name)
        os.chmod(name, 0o644)
        if synced:
            _sync(name)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError) and str(error.filename) == name:
            error.filename = str(path)
            del error.filename2  # of two names both would be printed
        raise
    if synced:
        _sync(path.parent)


def _sync(path: Path | str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
