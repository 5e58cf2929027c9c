"""Visible pixels of things and parts in a rendered picture, and their hidden fractions."""

from __future__ import annotations

import functools

import cv2
import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask
from sightplan_arm.geometry import rotation_from_rpy
from sightplan_sim.meshes import Floats
from sightplan_sim.pinhole import Pinhole, View
from sightplan_sim.tabletop.meshes import hulls_of, mesh_of
from sightplan_sim.tabletop.render import Frame
from sightplan_sim.tabletop.shapes import Part, Placed
from sightplan_sim.tabletop.table import Table

LEAST_PIXELS = 40
LEAST_VISIBLE = 0.35
"""Things and parts whose visible fraction is smaller are not asked for."""
_SHIFT = 4


class Visible:
    """Masks of a table's things and parts.

    Attributes:
        table: what is shown.
        frame: the picture.
        view: its camera.
    """

    def __init__(self, table: Table, frame: Frame) -> None:
        self.table = table
        self.frame = frame
        self.view: View[Pinhole] = table.look.view()
        self._index = {placed.name: k for k, placed in enumerate(table.things)}
        self._shows: dict[tuple[str, str], bool] = {}
        self._of_part: dict[tuple[str, str], Mask] = {}

    def thing(self, name: str) -> Mask:
        """(H, W) visible pixels of a thing."""
        return np.asarray(self.frame.things == self._index[name])

    def part(self, name: str, part: str) -> Mask:
        """Visible pixels (H, W) of a thing's part, with its subparts."""
        key = name, part
        if key not in self._of_part:
            indices = list(self.table.named(name).thing.indices(part))
            self._of_part[key] = self.thing(name) & np.isin(self.frame.parts, indices)
        return self._of_part[key]

    def shows_thing(self, name: str, least: float = LEAST_VISIBLE) -> bool:
        """Whether enough of a thing is visible to ask for it."""
        placed = self.table.named(name)
        return self._enough(self.thing(name), placed, placed.thing.parts, least)

    def shows_part(self, name: str, part: str) -> bool:
        """Whether a thing has a part, and enough of it is seen to ask for it."""
        key = name, part
        if key not in self._shows:
            self._shows[key] = self._shows_part(name, part)
        return self._shows[key]

    def _shows_part(self, name: str, part: str) -> bool:
        placed = self.table.named(name)
        parts = [placed.thing.parts[k] for k in placed.thing.indices(part)]
        return bool(parts) and self._enough(self.part(name, part), placed, parts)

    def _enough(self, mask: Mask, placed: Placed, parts: list[Part] | tuple[Part, ...],
                least: float = LEAST_VISIBLE) -> bool:
        seen = int(np.count_nonzero(mask))
        if seen < LEAST_PIXELS:
            return False
        return seen >= least * int(np.count_nonzero(self._silhouette(placed, parts)))

    def _silhouette(self, placed: Placed, parts: list[Part] | tuple[Part, ...],
                    ) -> NDArray[np.uint8]:
        """Silhouette (H, W) of parts as if nothing hid them; not 0 there."""
        optics = self.view.optics
        out = np.zeros((optics.height, optics.width), np.uint8)
        turn = rotation_from_rpy((0.0, 0.0, placed.pose.yaw))
        for part in parts:
            for piece in _pieces(part):
                pixels = self.view.project(piece @ turn.T + placed.pose.position)
                hull = cv2.convexHull(np.round(pixels * 2**_SHIFT).astype(np.int32))
                cv2.fillConvexPoly(out, hull, (1,), shift=_SHIFT)
        return out


@functools.lru_cache(maxsize=512)
def _pieces(part: Part) -> tuple[Floats, ...]:
    """Convex pieces of a part's visible shape; for an opening, its mouth."""
    if part.name == 'opening':
        points = mesh_of(part.seen).vertices
        return (points[points[:, 2] > points[:, 2].max() - 0.001],)
    return tuple(hulls_of(part.seen))
