"""Geometry of the table: positions of blocks and cameras, without drawing anything."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sightplan_sim.blocksworld.camera import (
    BLOCK_M,
    MAX_COLUMNS,
    Camera,
    Layout,
    Optics,
    fit_layout,
    place_camera,
)
from sightplan_sim.blocksworld.look import COLOURS, Look, Placement
from sightplan_sim.closing import Closing


@dataclass(frozen=True, eq=False)
class Picture:
    """Colour picture and, from a camera that measures it, depth.

    Attributes:
        rgb: (H, W, 3) uint8.
        depth_m: (H, W) float32, metres along the optical axis; None without depth.
    """

    rgb: NDArray[np.uint8]
    depth_m: NDArray[np.float32] | None


class Table(Closing):
    """Blocks at their places, and a camera whose pictures differ but show nothing.

    A picture is 2x2 pixels of a hash over all that a drawn picture depends on. So it changes
    exactly when that would, and costs next to nothing.
    """

    def __init__(self, optics: Optics) -> None:
        self.optics = optics
        self._positions_m: dict[str, tuple[float, float, float]] = {}

    @property
    def renderer(self) -> str:
        """Name and version of the renderer, for the records of a run; ``none`` without one."""
        return 'none'

    def close(self) -> None:
        """Release all resources; the table cannot be used afterwards."""

    def layout(self, n_columns: int, n_blocks: int) -> Layout:
        """Column positions and nominal camera for a size of problem."""
        return fit_layout(self.optics, n_columns, n_blocks)

    def camera(self, n_columns: int, n_blocks: int, look: Look) -> Camera:
        """Camera for a picture of this size of problem and look."""
        return place_camera(self.optics, n_columns, n_blocks, look)

    def block_pose(self, layout: Layout, column: int, level: int, placement: Placement,
                   ) -> tuple[tuple[float, float, float], float]:
        """Centre [m] and yaw [rad] of a block at a level of a column."""
        return ((layout.column_x_m[column] + placement.dx * BLOCK_M, placement.dy * BLOCK_M,
                 (level + 0.5) * BLOCK_M), math.radians(placement.yaw_deg))

    def place(self, stacks: Sequence[Sequence[str]], look: Look) -> None:
        """Move the blocks to where ``stacks`` puts them; absent ones are not on the table.

        Raises:
            ValueError: stacks names an unknown colour, or one twice, or too many columns.
        """
        self._positions_m = {colour: position
                             for colour, (position, _) in self._poses(stacks, look).items()}

    def positions_m(self) -> dict[str, tuple[float, float, float]]:
        """Centre of every block on the table [m]."""
        return dict(self._positions_m)

    def render(self, stacks: Sequence[Sequence[str]], column_names: Sequence[str],
               look: Look) -> Picture:
        """Make a picture of stacks of blocks.

        Without a renderer it has a few pixels that depend on the stacks.

        Args:
            stacks: per column, left to right, the colour letters from bottom to top.
            column_names: text of the name plates, left to right.
            look: every random factor.

        Raises:
            ValueError: stacks or names cannot be shown (unknown or repeated colour, more than
                8 columns, or not one name per column).
        """
        check_stacks(stacks)
        key = repr((self.optics, tuple(map(tuple, stacks)), tuple(column_names), look))
        digest = hashlib.sha256(key.encode()).digest()
        return Picture(np.frombuffer(digest[:12], np.uint8).reshape(2, 2, 3), None)

    def _poses(self, stacks: Sequence[Sequence[str]], look: Look,
               ) -> dict[str, tuple[tuple[float, float, float], float]]:
        """Centre [m] and yaw [rad] of each block in ``stacks``."""
        check_stacks(stacks)
        layout = self.layout(len(stacks), sum(map(len, stacks)))
        return {colour: self.block_pose(layout, column, level,
                                        look.placements[COLOURS.index(colour)])
                for column, stack in enumerate(stacks) for level, colour in enumerate(stack)}


def check_stacks(stacks: Sequence[Sequence[str]]) -> None:
    """Check that stacks can stand on the table.

    Raises:
        ValueError: unknown or repeated colour, or more columns than can be shown.
    """
    if not 1 <= len(stacks) <= MAX_COLUMNS:
        raise ValueError(f'{len(stacks)} columns: a picture shows 1 to {MAX_COLUMNS}')
    seen: set[str] = set()
    for stack in stacks:
        for colour in stack:
            if len(colour) != 1 or colour not in COLOURS:
                raise ValueError(f'unknown colour {colour!r}: one of {", ".join(COLOURS)}')
            if colour in seen:
                raise ValueError(f'block {colour!r} is in the stacks twice')
            seen.add(colour)
