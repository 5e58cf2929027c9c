"""Files of occupancy grids, as ``nav2_map_server`` keeps them, and maps of any kind by their file.

A grid of ROS is a YAML file with ``image``, ``resolution``, ``origin``, ``negate``,
``occupied_thresh`` and ``free_thresh``, beside a picture (PGM, PNG, ...). Its mode is ``trinary``
(the usual one): darkness above ``occupied_thresh`` is occupied, below ``free_thresh`` free, else
unknown, as are cells that are transparent; ``scale``: between the two in proportion; ``raw``:
values as they are, above 100 unknown. A grid of numpy is an ``.npz`` file with ``cells`` (rows,
columns; row 0 has the least y), ``resolution``, and where wanted ``origin`` and ``frame``.

Nav2's costmaps (``costmaps``) are read from pictures of mode ``raw``, whose values are the costs,
and from ``.npz`` files with ``costs`` in the place of ``cells``. A raw picture with values from
101 to 254 may be either: it is refused until ``cells: costmap`` or ``cells: occupancy`` in its
file, or the caller, says which.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sightplan.model import InputError
from sightplan.model.array_files import load_arrays
from sightplan.model.errors import reason_of
from sightplan.model.picture_files import picture_size
from sightplan.model.reading import Record, read_file
from sightplan_suites.paths.costmaps import (
    AUTO,
    COSTMAP,
    NO_INFORMATION,
    OCCUPANCY,
    Costmap,
    check_kind,
    costmap_of_grid,
    map_of_cells,
)
from sightplan_suites.paths.maps import UNKNOWN, ObstacleMap, OccupancyGrid, read_map

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
    cells: Literal['auto', 'occupancy', 'costmap'] = 'auto'


def open_map(file: Path, *, threshold: int = 50, unknown_occupied: bool = True,
             kind: str = AUTO, inscribed: bool = False) -> ObstacleMap:
    """Read a map by its kind: polygons (``.txt``) or a grid (``.yaml``, ``.npz``).

    Args:
        file: the map.
        threshold: a grid's cell is occupied from this value on, 1 to 100.
        unknown_occupied: whether a grid's unknown cells are obstacles.
        kind: what values of cells mean, one of ``costmaps.KINDS``.
        inscribed: as ``costmaps.map_of_costmap``.

    Raises:
        InputError: it cannot be read or used; names file, field and remedy.
    """
    suffix = file.suffix.lower()
    if suffix == '.txt':
        return read_map(file)
    if suffix not in ('.yaml', '.yml', '.npz'):
        raise InputError(f'{file}: unknown kind of map (give polygons as .txt, a grid of ROS as '
                         '.yaml beside its picture, or a grid of numpy as .npz)')
    return map_of_cells(read_cells(file, kind), str(file), OCCUPANCY, threshold=threshold,
                        unknown_occupied=unknown_occupied, inscribed=inscribed)


def read_cells(file: Path, kind: str = AUTO) -> OccupancyGrid | Costmap:
    """Read a grid of ROS or numpy, of occupancies or of costs.

    Args:
        file: ``.yaml`` or ``.npz``.
        kind: what values of cells mean, one of ``costmaps.KINDS``.

    Raises:
        InputError: it cannot be read or used, or it may be either; names file, field and remedy.
    """
    if file.suffix.lower() == '.npz':
        return _read_array(file, kind)
    data = read_file(_GridFile, file)
    kind = data.cells if kind == AUTO else kind
    if kind == COSTMAP and data.mode != 'raw':
        raise InputError(f'{file}: mode: {data.mode} (a costmap needs raw: its values are costs)')
    values = _values(file, data)
    origin = data.origin[0], data.origin[1]
    costs = values[..., 0] if values.ndim == 3 else values
    if data.mode == 'raw' and ((costs > 100) & (costs < NO_INFORMATION)).any():
        if kind == AUTO:
            raise InputError(f'{file}: values from 101 to 254 in a raw picture are costs of Nav2, '
                             'or unknown cells (say which with --cells costmap or --cells '
                             'occupancy, or with cells: in the file)')
        if kind == COSTMAP:
            return Costmap(costs, data.resolution, FRAME, origin)
    grid = OccupancyGrid(_cells(values, data), data.resolution, FRAME, origin)
    return _as_kind(grid, kind, file)


def _as_kind(grid: OccupancyGrid, kind: str, file: Path) -> OccupancyGrid | Costmap:
    check_kind(kind, grid, str(file), 'say --cells costmap, or --cells occupancy')
    return costmap_of_grid(grid) if kind == COSTMAP else grid


def _read_array(file: Path, kind: str) -> OccupancyGrid | Costmap:
    arrays = _arrays(file)
    if 'costs' in arrays:
        if kind == OCCUPANCY or 'cells' in arrays:
            raise InputError(f'{file}: costs are those of a costmap (give cells for occupancies, '
                             'or costs, not both)')
        return _costs(file, arrays, 'costs')
    if kind == COSTMAP and 'cells' in arrays and (arrays['cells'] > 100).any():
        return _costs(file, arrays, 'cells')
    return _as_kind(read_grid_array(file), kind, file)


def _costs(file: Path, arrays: Mapping[str, NDArray[Any]], name: str) -> Costmap:
    """The costmap of an array of costs."""
    costs = arrays[name]
    if not np.issubdtype(costs.dtype, np.integer) or not (
            costs.size and costs.min() >= 0 and costs.max() <= NO_INFORMATION):
        raise InputError(f'{file}: {name} must be whole numbers from 0 to 255')
    resolution, origin = _place(file, arrays)
    return Costmap(costs.astype(np.uint8), resolution, str(arrays.get('frame', FRAME)), origin)


def read_grid(file: Path) -> OccupancyGrid:
    """Read a grid of ROS, of occupancies.

    Raises:
        InputError: the file or its picture cannot be read or used; names file, field and remedy.
    """
    data = read_file(_GridFile, file)
    return OccupancyGrid(_cells(_values(file, data), data), data.resolution, FRAME,
                         (data.origin[0], data.origin[1]))


def _values(file: Path, data: _GridFile) -> NDArray[np.uint8]:
    """Values of a grid's picture, the row of the least y first."""
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
    return np.asarray(raw, np.uint8)[::-1]


def _pixels(file: Path, picture: Path) -> NDArray[Any]:
    """A grid's picture, (rows, columns) or (rows, columns, channels)."""
    try:
        content = picture.read_bytes()
        picture_size(content)
        raw = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_UNCHANGED)
    except (OSError, ValueError, MemoryError, cv2.error) as error:
        raise InputError(f'{file}: image: {picture} is missing or no picture: '
                         f'{reason_of(error)} (name a PGM or PNG file '
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
    found = _arrays(file)
    if 'cells' not in found:
        raise InputError(f'{file}: cells is missing (it has {", ".join(found) or "nothing"})')
    resolution, origin = _place(file, found)
    return OccupancyGrid(found['cells'], resolution, str(found.get('frame', FRAME)), origin)


def _arrays(file: Path) -> Mapping[str, NDArray[Any]]:
    try:
        return load_arrays(file)
    except (OSError, ValueError) as error:
        raise InputError(f'{file}: cannot be read: {error} (give an .npz file)') from error


def _place(file: Path, found: Mapping[str, NDArray[Any]]) -> tuple[float, tuple[float, float]]:
    """Resolution and origin of a grid of numpy."""
    if 'resolution' not in found:
        raise InputError(f'{file}: resolution is missing (it has {", ".join(found)})')
    try:
        resolution = float(found['resolution'])
        origin = tuple(float(value) for value in found.get('origin', np.zeros(2)).ravel()[:2])
    except (TypeError, ValueError) as error:
        raise InputError(f'{file}: resolution or origin: {error} (give numbers)') from error
    if len(origin) != 2:
        raise InputError(f'{file}: origin: {origin} (give x and y)')
    return resolution, (origin[0], origin[1])
