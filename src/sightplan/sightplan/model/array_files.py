"""Read numpy files from untrusted sources: bounded in size, with two kinds of errors only.

And the same as text, in which arrays travel within JSON.
"""

from __future__ import annotations

import base64
import io
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

MOST_BYTES = 2**29
"""Largest unpacked size of an array that is read [bytes]; larger ones are refused."""

_HEADS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_DAMAGED = (EOFError, SyntaxError, tokenize.TokenError, TypeError, LookupError, ArithmeticError,
            AttributeError, RecursionError, MemoryError, NotImplementedError, RuntimeError,
            zipfile.BadZipFile, zlib.error)


def load_array(path: Path) -> NDArray[Any]:
    """Return the array of a ``.npy`` file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged, holds objects, or is larger than ``MOST_BYTES``.
    """
    try:
        with path.open('rb') as file:
            return _array(file)
    except _DAMAGED as error:
        raise ValueError(f'it is no array that can be read ({str(error)[:200]})') from error


def array_to_text(array: NDArray[Any]) -> str:
    """Return an array as base64 of a ``.npy`` file."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(array), allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode()


def array_from_text(text: str) -> NDArray[Any]:
    """Return the array that ``array_to_text`` gave as text.

    Raises:
        ValueError: see ``load_array``.
    """
    try:
        return _array(io.BytesIO(base64.b64decode(text, validate=True)))
    except _DAMAGED as error:
        raise ValueError(f'it is no array that can be read ({str(error)[:200]})') from error


def load_arrays(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the arrays of a ``.npz`` file by name; errors are those of ``load_array``."""
    found: dict[str, NDArray[Any]] = {}
    left = MOST_BYTES
    try:
        with zipfile.ZipFile(path) as packed:
            for name in packed.namelist():
                with packed.open(name) as file:
                    array = _array(file)
                left -= array.nbytes
                if left < 0:
                    raise ValueError(f'its arrays have more than {MOST_BYTES} bytes')
                found[name.removesuffix('.npy')] = array
    except _DAMAGED as error:
        raise ValueError(f'it holds no arrays that can be read ({str(error)[:200]})') from error
    return found


def _array(file: IO[bytes]) -> NDArray[Any]:
    """Read an array after a check of the size that its header gives."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADS:
        raise ValueError(f'it has format {version} of numpy (save it with plain numbers)')
    shape, _, kind = _HEADS[version](file)
    if kind.hasobject:
        raise ValueError('it holds objects (save numbers)')
    count = 1
    for size in shape:
        count *= size
    if not 0 <= count * max(1, kind.itemsize) <= MOST_BYTES:
        raise ValueError(f'its head claims {kind} numbers of shape {shape}; at most {MOST_BYTES} '
                         'bytes are read')
    file.seek(0)
    return np.asarray(np.lib.format.read_array(file, allow_pickle=False))
