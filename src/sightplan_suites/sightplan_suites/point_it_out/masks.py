"""Conversion between masks and polygons, and properties of a mask's shape.

A mask is the union of flat rings ``x1, y1, x2, y2, ...`` in pixels, each filled with its border,
vertices truncated to whole pixels: that is how the benchmark's own files say it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask, Point

Ring = Sequence[float]
"""Flat polygon x1, y1, x2, y2, ... in pixels."""
Box = tuple[int, int, int, int]
"""x1, y1, x2, y2 in pixels, half-open: x1 and y1 belong to it, x2 and y2 do not."""
Size = tuple[int, int]
"""Width and height in pixels."""

MOST_COORDINATE = 32_767
"""Greatest coordinate of a vertex [px]; OpenCV fills with fixed-point numbers."""


def fill(rings: Sequence[Ring], size: Size) -> Mask:
    """The mask of some rings, (H, W) bool.

    Args:
        rings: coordinates of at most ``MOST_COORDINATE``; what lies beside the picture is cut off.
        size: of the picture.
    """
    import cv2
    width, height = size
    canvas = np.zeros((height, width), np.uint8)
    for ring in rings:
        cv2.fillPoly(canvas, [_vertices(ring).reshape(-1, 1, 2)], 1)
    return canvas.view(np.bool_)


def outline(mask: Mask) -> list[list[int]]:
    """Rings whose filled area is the mask, except for parts of it without area.

    A hole becomes part of its ring, over a cut of no width from the border to the hole, because a
    union of rings has no other way to say it.

    Returns:
        one ring for each connected part that has an area.
    """
    import cv2
    found, levels = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    rings = []
    for number, contour in enumerate(found):
        if levels[0][number][3] >= 0:  # a hole; its ring takes it in
            continue
        ring, hole = contour[:, 0].astype(np.int32), levels[0][number][2]
        while hole >= 0:
            ring = _joined(ring, found[hole][:, 0].astype(np.int32))
            hole = levels[0][hole][0]
        if has_area(ring.ravel()):
            rings.append([int(value) for value in _corners(ring).ravel()])
    return rings


def has_area(ring: Ring | NDArray[np.int32]) -> bool:
    """Whether not all vertices of a ring lie on one line."""
    vertices = np.array(ring, np.float64).reshape(-1, 2)
    away = vertices - vertices[0]
    far = away[np.argmax(np.abs(away).sum(axis=1))]
    return bool((np.abs(far[0] * away[:, 1] - far[1] * away[:, 0]) > 1e-9).any())


def tight_box(mask: Mask) -> Box:
    """The smallest box around a mask that is not empty."""
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def ring_box(ring: Ring) -> Box:
    """Least and greatest coordinates of a ring, truncated to whole pixels."""
    vertices = _vertices(ring)
    (x1, y1), (x2, y2) = vertices.min(axis=0), vertices.max(axis=0)
    return int(x1), int(y1), int(x2), int(y2)


def inner_point(mask: Mask) -> Point:
    """The middle of a pixel that is farthest from a mask's border, in unit coordinates.

    Args:
        mask: not empty; the edge of the picture counts as border.
    """
    import cv2
    distance = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)[1:-1, 1:-1]
    row, column = np.unravel_index(int(distance.argmax()), distance.shape)
    return (float(column) + 0.5) / mask.shape[1], (float(row) + 0.5) / mask.shape[0]


def _vertices(ring: Ring) -> NDArray[np.int32]:
    """(N, 2) int32, truncated."""
    return np.array(ring, np.float64).astype(np.int32).reshape(-1, 2)


def _joined(ring: NDArray[np.int32], hole: NDArray[np.int32]) -> NDArray[np.int32]:
    """A ring that goes to a hole where it is nearest, around it, and back."""
    apart = ((ring[:, None] - hole[None]) ** 2).sum(axis=2)
    here, there = np.unravel_index(int(apart.argmin()), apart.shape)
    return np.concatenate([ring[:here + 1], hole[there:], hole[:there + 1], ring[here:]])


def _corners(ring: NDArray[np.int32]) -> NDArray[np.int32]:
    """A ring without vertices between which it goes straight on."""
    before, after = ring - np.roll(ring, 1, axis=0), np.roll(ring, -1, axis=0) - ring
    corners: NDArray[np.int32] = ring[(before != after).any(axis=1)]
    return corners
