"""Paths on the table along which a thing can be moved without touching others.

A thing keeps its yaw while it is moved. Where its frame may be is then the plane without the
others' footprints, each grown by the thing's own (a Minkowski sum).
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan_sim.meshes import Floats
from sightplan_sim.tabletop.shapes import Placed
from sightplan_sim.tabletop.table import Grid, footprint, footprint_of, turned

CELL_M = 0.01
CLEARANCE_M = 0.014
"""A path keeps at least this distance from everything."""
COMFORT_M = 0.04
"""Distance to things below which a path costs more than its length [m]."""

Cell = tuple[int, int]
Cells = NDArray[np.float32]

_STEPS = [((dr, dc), math.hypot(dr, dc)) for dr in (-1, 0, 1) for dc in (-1, 0, 1) if dr or dc]
"""Steps to the eight neighbours of a cell, and their lengths [cells]."""


class Plane:
    """Free places on the table for the frame of one thing among others.

    Attributes:
        grid: cells of the table's plane.
        gaps: by name of another thing, (H, W) the distance that would be between the two with
            the thing's frame in a cell; 0 where they would meet [m].
        clearance: (H, W) the least distance from any other thing and from the table's edge [m].
        within: (H, W) cells that paths are limited to and that can be reached.
    """

    def __init__(self, moved: Placed, others: Iterable[Placed], half_m: tuple[float, float],
                 seen: Callable[[Floats], NDArray[np.bool_]]) -> None:
        """Compute the free places.

        Args:
            moved: the thing.
            others: what else there is.
            half_m: half the table's size.
            seen: which points (N, 2) a path may pass.
        """
        self.grid = Grid(half_m, CELL_M)
        own = turned(footprint(moved.thing), moved.pose.yaw)
        reach = math.ceil(float(np.abs(own).max()) / CELL_M) + 1
        kernel = np.zeros((2 * reach + 1, 2 * reach + 1), np.uint8)
        corners = np.round((own / CELL_M + reach) * 16).astype(np.int32)
        cv2.fillConvexPoly(kernel, corners, (1,), shift=4)
        self.gaps: dict[str, Cells] = {}
        edge = self.grid.empty()
        edge[[0, -1]] = edge[:, [0, -1]] = 1
        self.clearance = self._grown(edge, kernel)
        for other in others:
            cells = self.grid.empty()
            self.grid.fill(cells, footprint_of(other))
            self.gaps[other.name] = self._grown(cells, kernel)
            self.clearance = np.minimum(self.clearance, self.gaps[other.name])
        rows, columns = np.indices(self.grid.shape)
        centres = np.stack([columns, rows], axis=-1).reshape(-1, 2) + 0.5
        allowed = seen(self.grid.low + CELL_M * centres).reshape(self.grid.shape)
        free = (self.clearance >= CLEARANCE_M) & allowed
        _, labels = cv2.connectedComponents(free.astype(np.uint8), connectivity=8)
        here = labels[self.cell(moved.pose.position)]
        self.within: NDArray[np.bool_] = (labels == here) & (here > 0)

    def _grown(self, cells: NDArray[np.uint8], kernel: NDArray[np.uint8]) -> Cells:
        # dilate looks at what the kernel covers: the thing's outline around each cell.
        return self.grid.clearance(np.asarray(cv2.dilate(cells, kernel), np.uint8))

    def cell(self, point: Sequence[float] | Floats) -> Cell:
        """The cell (row, column) of a point (x, y), the nearest if it is outside."""
        rows, columns = self.grid.shape
        column, row = np.floor((np.asarray(point[:2]) - self.grid.low) / CELL_M).astype(int)
        return int(np.clip(row, 0, rows - 1)), int(np.clip(column, 0, columns - 1))

    def point(self, cell: Cell) -> Floats:
        """(2,) the middle of a cell (row, column)."""
        return np.asarray(self.grid.low + CELL_M * (np.array(cell[::-1]) + 0.5))

    def least(self, field: Cells, start: Floats, end: Floats) -> float:
        """The least value of (H, W) cells on the straight line between two points (2,)."""
        count = max(2, math.ceil(2 * math.dist(start, end) / CELL_M))
        first, last = ((point - self.grid.low) / CELL_M for point in (start, end))
        line = first + np.arange(count + 1)[:, None] / count * (last - first)
        columns, rows = line.astype(np.int64).T
        return float(field[rows, columns].min())

    def path(self, start: Floats, goal: Cell) -> list[Floats]:
        """A short path to a cell that keeps its distance; empty if the cell is not ``within``.

        Args:
            start: (2,) where it begins.
            goal: where it ends.

        Returns:
            Its corners (2,), the start first.
        """
        if not self.within[goal]:
            return []
        cells = self._search(self.cell(start), goal)
        points = [start, *(self.point(cell) for cell in cells[1:])]
        return self._shortened(points)

    def _search(self, start: Cell, goal: Cell) -> list[Cell]:
        """A* over neighbouring cells, between two that are connected."""
        rows, columns = self.grid.shape
        dear = 1.0 + 2.0 * np.clip(1.0 - self.clearance / COMFORT_M, 0.0, 1.0)
        cost = np.where(self.within, dear, np.inf).tolist()
        best = {start: 0.0}
        before: dict[Cell, Cell] = {}
        queue = [(math.dist(start, goal), start)]
        cell = start
        while cell != goal:
            _, cell = heapq.heappop(queue)
            for (dr, dc), length in _STEPS:
                row, column = after = cell[0] + dr, cell[1] + dc
                if 0 <= row < rows and 0 <= column < columns:
                    reached = best[cell] + length * cost[row][column]
                    if reached < best.get(after, math.inf):
                        best[after], before[after] = reached, cell
                        heapq.heappush(queue, (reached + math.dist(after, goal), after))
        cells = [goal]
        while cells[-1] != start:
            cells.append(before[cells[-1]])
        return cells[::-1]

    def _shortened(self, points: Sequence[Floats]) -> list[Floats]:
        """Leave out corners that a straight line may skip.

        It may where it is about as clear as the path itself.
        """
        points = _corners(points)
        field = np.minimum(self.clearance, COMFORT_M)
        clear = [self.least(field, a, b) for a, b in itertools.pairwise(points)]
        kept, k, last = [points[0]], 0, len(points) - 1
        while k < last:
            ahead = last
            while ahead > k + 1 and self.least(field, points[k], points[ahead]) < max(
                    CLEARANCE_M, min(0.8 * COMFORT_M, *clear[k:ahead]) - 0.25 * CELL_M):
                ahead -= 1
            kept.append(points[ahead])
            k = ahead
        return kept


def _corners(points: Sequence[Floats]) -> list[Floats]:
    """Leave out points on the straight line between their neighbours."""
    steps = [b - a for a, b in itertools.pairwise(points)]
    turns = [abs(float(one[0] * two[1] - one[1] * two[0])) > 1e-9
             for one, two in itertools.pairwise(steps)]
    return [points[0], *itertools.compress(points[1:-1], turns), points[-1]]
