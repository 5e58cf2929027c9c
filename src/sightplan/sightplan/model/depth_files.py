"""Depth images as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InputError
from sightplan.model.array_files import load_array
from sightplan.model.errors import reason_of
from sightplan.model.picture_files import opened

_REMEDY = 'give a .npy file in metres, or a 16-bit PNG file in millimetres'


def read_depth(path: Path) -> NDArray[np.float32]:
    """Depth of a picture: (H, W) float32 [m], 0 where unknown.

    Args:
        path: a .npy file of floating point numbers in metres, or of whole numbers in millimetres;
            or a 16-bit PNG file in millimetres.

    Raises:
        InputError: it is missing, or holds something else; names it.
    """
    values = _numbers(path) if path.suffix == '.npy' else _pixels(path)
    if values.ndim != 2 or values.dtype.kind not in 'uif' or values.dtype.itemsize < 2:
        raise InputError(f'{path}: holds {values.dtype} numbers of shape {values.shape}, which is '
                         f'no depth image ({_REMEDY})')
    metres = values.astype(np.float32) * np.float32(1.0 if values.dtype.kind == 'f' else 1e-3)
    return np.where(np.isfinite(metres) & (metres > 0), metres, np.float32(0))


def _numbers(path: Path) -> NDArray[Any]:
    try:
        return load_array(path)
    except (OSError, ValueError) as error:
        raise _cannot_be_read(path, error) from error


def _pixels(path: Path) -> NDArray[Any]:
    with opened(path, _REMEDY) as image:
        return np.asarray(image)


def _cannot_be_read(path: Path, error: Exception) -> InputError:
    return InputError(f'{path}: cannot be read: {reason_of(error)} '
                      f'({_REMEDY})')
