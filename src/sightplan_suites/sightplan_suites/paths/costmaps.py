"""Nav2's costmaps: cells of costs, which are no occupancies, and how to tell one from the other.

A costmap (``nav2_msgs/Costmap``) has 254 for an obstacle (lethal), 253 where the robot's centre
would make it touch one (inscribed), 1 to 252 for cells that are the cheaper the farther they are
from obstacles (inflated), 0 for free cells and 255 for unknown ones. Nav2 also publishes it as an
``OccupancyGrid``, translated: 100 lethal, 99 inscribed, 1 to 98 inflated, -1 unknown. Read as
occupancies, its inflated cells from 50 on would be obstacles; read as costs, an occupancy of 100
would be a cheap cell. So neither is taken for the other without a word: a grid that looks
inflated, and a raw picture with values above 100, are refused until it is said which they are.

Here obstacles are the lethal cells; the robot's outline is measured against them, so that
inflation counts nothing. For a robot of which only a point is known inscribed cells are obstacles,
too, and clearances are those of its hull: that is what Nav2 inflated by.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sightplan.model import InputError
from sightplan_suites.paths.maps import (
    UNKNOWN,
    ObstacleMap,
    OccupancyGrid,
    Point,
    map_of_grid,
)

FREE, INSCRIBED, LETHAL, NO_INFORMATION = 0, 253, 254, 255
"""Costs of Nav2."""

AUTO, OCCUPANCY, COSTMAP = 'auto', 'occupancy', 'costmap'
KINDS = (AUTO, OCCUPANCY, COSTMAP)
"""Meanings of the values of cells; ``AUTO``: occupancies, unless they look like costs."""

_GRID_LETHAL, _GRID_INSCRIBED = 100, 99
"""Lethal and inscribed cells of a costmap that is published as an OccupancyGrid."""


@dataclass(frozen=True, eq=False)
class Costmap:
    """A costmap of Nav2.

    Attributes:
        costs: (rows, columns) uint8, see the module. Row 0 has the least y, column 0 the least x.
        resolution: edge of a cell [m].
        frame: the coordinate frame that the cells lie in, such as ``map`` or ``odom``.
        origin: x and y of the corner of the cell in row 0 and column 0 [m].
    """

    costs: npt.NDArray[np.uint8]
    resolution: float
    frame: str
    origin: Point = (0.0, 0.0)


def map_of_costmap(costmap: Costmap, name: str = 'costmap', *, unknown_occupied: bool = True,
                   inscribed: bool = False) -> ObstacleMap:
    """A costmap's lethal cells as a map, in metres and in the costmap's frame.

    Args:
        costmap: the costmap.
        name: of the map.
        unknown_occupied: whether unknown cells are obstacles.
        inscribed: whether inscribed cells are obstacles, too: for a robot that is a point.

    Raises:
        InputError: a field of the costmap cannot be used; names field and remedy.
    """
    costs = costmap.costs
    if not isinstance(costs, np.ndarray) or costs.dtype != np.uint8:
        kind = getattr(costs, 'dtype', type(costs).__name__)
        raise InputError(f'{name}: costs are {kind} (give uint8: 0 to 254, 255 for unknown)')
    least = INSCRIBED if inscribed else LETHAL
    cells = np.where(costs == NO_INFORMATION, UNKNOWN, np.where(costs >= least, 100, 0))
    return map_of_grid(OccupancyGrid(cells.astype(np.int8), costmap.resolution, costmap.frame,
                                     costmap.origin), name, unknown_occupied=unknown_occupied)


def costmap_of_grid(grid: OccupancyGrid) -> Costmap:
    """The costmap that Nav2 published as an OccupancyGrid; inflated costs are approximate.

    Raises:
        InputError: a value is not from -1 to 100.
    """
    cells = grid.cells.astype(np.int64)
    if cells.size and (cells.min() < UNKNOWN or cells.max() > _GRID_LETHAL):
        raise InputError(f'cells from {cells.min()} to {cells.max()} (a costmap that is published '
                         'as a grid has -1 to 100; costs of 0 to 255 are no grid)')
    inflated = 1 + np.maximum(cells - 1, 0) * 251 // 97
    costs = np.select(
        [cells == UNKNOWN, cells == _GRID_LETHAL, cells == _GRID_INSCRIBED, cells == 0],
        [NO_INFORMATION, LETHAL, INSCRIBED, FREE], inflated)
    return Costmap(costs.astype(np.uint8), grid.resolution, grid.frame, grid.origin)


def map_of_cells(found: OccupancyGrid | Costmap, name: str, kind: str = AUTO, remedy: str = '', *,
                 threshold: int = 50, unknown_occupied: bool = True, inscribed: bool = False,
                 ) -> ObstacleMap:
    """A grid or a costmap as a map.

    Args:
        found: the cells.
        name: of the map.
        kind: what a grid's values mean, one of ``KINDS``.
        remedy: as ``check_kind``.
        threshold: a grid's cell is an obstacle from this value on, 1 to 100.
        unknown_occupied: whether unknown cells are obstacles.
        inscribed: as ``map_of_costmap``.

    Raises:
        InputError: a field cannot be used, or it is not said what a grid is; names the remedy.
    """
    if isinstance(found, OccupancyGrid):
        check_kind(kind, found, name, remedy)
        if kind != COSTMAP:
            return map_of_grid(found, name, threshold=threshold, unknown_occupied=unknown_occupied)
        found = costmap_of_grid(found)
    return map_of_costmap(found, name, unknown_occupied=unknown_occupied, inscribed=inscribed)


def looks_inflated(grid: OccupancyGrid) -> bool:
    """Whether a grid looks like a costmap that Nav2 published as an OccupancyGrid.

    It has cells of 100, and only cells of 99, 100 and unknown ones beside them, 99 among them; and
    cells from 1 to 98.
    """
    cells = grid.cells
    lethal = cells == _GRID_LETHAL
    if not (lethal.any() and (cells == _GRID_INSCRIBED).any()
            and ((cells > 0) & (cells < _GRID_INSCRIBED)).any()):
        return False
    beside = np.zeros_like(lethal)
    beside[1:] |= lethal[:-1]
    beside[:-1] |= lethal[1:]
    beside[:, 1:] |= lethal[:, :-1]
    beside[:, :-1] |= lethal[:, 1:]
    return bool(np.isin(cells[beside], (_GRID_LETHAL, _GRID_INSCRIBED, UNKNOWN)).all())


def check_kind(kind: str, grid: OccupancyGrid, where: str, remedy: str) -> None:
    """Refuse a grid that looks like a costmap and was not said to be one, or not to be.

    Args:
        kind: one of ``KINDS``.
        grid: the grid.
        where: what to call it in the message.
        remedy: how to say what it is, such as ``--cells costmap``.

    Raises:
        InputError: it looks like one.
    """
    if kind == AUTO and looks_inflated(grid):
        raise InputError(f'{where}: looks like a costmap of Nav2: 99 around every cell of 100, '
                         'and values between. Read as occupancies its inflated cells would be '
                         f'obstacles ({remedy})')
