"""Files of occupancy grids, as ``nav2_map_server`` keeps them, and maps of any kind by their file.

A grid of ROS is a YAML file with ``image``, ``resolution``, ``origin``, ``negate``,
``occupied_thresh`` and ``free_thresh``, beside a picture (PGM, PNG, ...). Its mode is ``trinary``
(the usual one): darkness above ``occupied_thresh`` is occupied, below ``free_thresh`` free, else
unknown, as are cells that are transparent; ``scale``: between the two in proportion; ``raw``:
values as they are, above 100 unknown. A grid of numpy is an ``.npz`` file with ``cells`` (rows,
columns; row 0 has the least y), ``resolution``, and where wanted ``origin`` and ``frame``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sightplan.model import InputError
from sightplan.model.array_files import load_arrays
from sightplan.model.picture_files import picture_size
from sightplan.model.reading import Record, read_file
from sightplan_suites.paths.maps import UNKNOWN, ObstacleMap, OccupancyGrid, map_of_grid, read_map

FRAME = 'map'
"""Frame of grids whose file names none."""

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Fraction = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class _GridFile(Record):
    image: str
    resolution: Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
    origin: Annotated[list[_Number], Field(min_length=2, max_length=3)]
    negate: Annotated[int, Field(ge=0, le=1)] = 0
    occupied_thresh: _Fraction
    free_thresh: _Fraction
    mode: Literal['trinary', 'scale', 'raw'] = 'trinary'


def open_map(file: Path, *, threshold: int = 50, unknown_occupied: bool = True) -> ObstacleMap:
    """Read a map by its kind: polygons (``.txt``) or a grid (``.yaml``, ``.npz``).

    Args:
        file: the map.
        threshold: a grid's cell is occupied from this value on, 1 to 100.
        unknown_occupied: whether a grid's unknown cells are obstacles.

    Raises:
        InputError: it cannot be read or used; names file, field and remedy.
    """
    kind = file.suffix.lower()
    if kind == '.txt':
        return read_map(file)
    if kind not in ('.yaml', '.yml', '.npz'):
        raise InputError(f'{file}: unknown kind of map (give polygons as .txt, a grid of ROS as '
                         '.yaml beside its picture, or a grid of numpy as .npz)')
    grid = read_grid_array(file) if kind == '.npz' else read_grid(file)
    return map_of_grid(grid, str(file), threshold=threshold, unknown_occupied=unknown_occupied)


def read_grid(file: Path) -> OccupancyGrid:
    """Read a grid of ROS.

    Raises:
        InputError: the file or its picture cannot be read or used; names file, field and remedy.
    """
    data = read_file(_GridFile, file)
    if len(data.origin) == 3 and data.origin[2] != 0:
        raise InputError(f'{file}: origin: turned by {data.origin[2]:g} (turn the picture '
                         'instead, and give 0)')
    if data.free_thresh >= data.occupied_thresh:
        raise InputError(f'{file}: free_thresh {data.free_thresh:g} (it must be below '
                         f'occupied_thresh, {data.occupied_thresh:g})')
    picture = file.parent / data.image
    raw = _pixels(file, picture)
    if raw.dtype != np.uint8:
        raise InputError(f'{picture}: {raw.dtype} (give 8 bits a channel)')
    # Row 0 of a picture is its upper one.
    cells = _cells(np.asarray(raw, np.uint8)[::-1], data)
    return OccupancyGrid(cells, data.resolution, FRAME, (data.origin[0], data.origin[1]))


def _pixels(file: Path, picture: Path) -> NDArray[Any]:
    """A grid's picture, (rows, columns) or (rows, columns, channels)."""
    try:
        content = picture.read_bytes()
        picture_size(content)
        raw = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except (OSError, ValueError, MemoryError, cv2.error) as error:
        raise InputError(f'{file}: image: {picture} is missing or no picture: '
                         f'{getattr(error, "strerror", None) or error} (name a PGM or PNG file '
                         'beside it)') from error
    if raw is None:
        raise InputError(f'{file}: image: {picture} is missing or no picture (name a PGM or PNG '
                         'file beside it)')
    return np.asarray(raw)


def _cells(raw: NDArray[np.uint8], data: _GridFile) -> NDArray[np.int16]:
    """Values of cells from a picture (rows, columns) or (rows, columns, channels)."""
    layers = raw[..., None] if raw.ndim == 2 else raw
    transparent = np.zeros(raw.shape[:2], np.bool_)
    if layers.shape[2] in (2, 4):
        transparent = layers[..., -1] < 255
        layers = layers[..., :-1]
    grey = layers.mean(axis=2)
    if data.mode == 'raw':
        return np.where(grey > 100, UNKNOWN, np.rint(grey)).astype(np.int16)
    darkness = grey / 255 if data.negate else 1 - grey / 255
    between = np.full(grey.shape, float(UNKNOWN))
    if data.mode == 'scale':
        between = np.rint(1 + 97 * (darkness - data.free_thresh)
                          / (data.occupied_thresh - data.free_thresh))
    cells = np.where(darkness > data.occupied_thresh, 100,
                     np.where(darkness < data.free_thresh, 0, between))
    return np.where(transparent, UNKNOWN, cells).astype(np.int16)


def read_grid_array(file: Path) -> OccupancyGrid:
    """Read a grid of numpy.

    Raises:
        InputError: it cannot be read, or an array is missing or cannot be used; names it.
    """
    try:
        found = load_arrays(file)
    except (OSError, ValueError) as error:
        raise InputError(f'{file}: cannot be read: {error} (give an .npz file)') from error
    for name in ('cells', 'resolution'):
        if name not in found:
            raise InputError(f'{file}: {name} is missing (it has {", ".join(found) or "nothing"})')
    try:
        resolution = float(found['resolution'])
        origin = tuple(float(value) for value in found.get('origin', np.zeros(2)).ravel()[:2])
    except (TypeError, ValueError) as error:
        raise InputError(f'{file}: resolution or origin: {error} (give numbers)') from error
    if len(origin) != 2:
        raise InputError(f'{file}: origin: {origin} (give x and y)')
    return OccupancyGrid(found['cells'], resolution, str(found.get('frame', FRAME)), origin)
