"""Pieces of a picture that a target may be: its things, as far as they can be separated.

With depth, pieces are what stands out of the table (``depth_pieces``); on rendered tables with 6
to 12 household things, 97 of 100 things are a piece with an IoU of .5 or more. With colours alone
(``colour_pieces``), 62 of 100 are: things fall to pieces by colour, and what has the colour of the
table is missed. A point beside all pieces still counts: see ``votes``.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sightplan.model import Form, InputError, Region
from sightplan.model.region import Mask, Point, box_iou, pixel
from sightplan_belief.pointing.colour_pieces import colour_labels
from sightplan_belief.pointing.depth_pieces import Camera, depth_labels

REACH = 0.012
"""Largest distance at which a point refers to a piece, as a fraction of the picture's longer
edge."""

_LEAST_IOU = 0.1
"""Smallest overlap of a box with the box around a piece at which it is meant for that piece."""

Box = tuple[int, int, int, int]
"""Left, top, right, bottom [px], half-open."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Disjoint parts of a picture.

    Attributes:
        labels: (H, W) int32, index of the piece of each pixel, from 0 without a gap; -1 for none.
    """

    labels: NDArray[np.int32]

    @functools.cached_property
    def count(self) -> int:
        """Number of pieces in the picture."""
        return int(self.labels.max(initial=-1)) + 1

    def mask(self, index: int) -> Mask:
        """(H, W) bool, where a piece is."""
        found: Mask = self.labels == index
        return found

    @functools.cached_property
    def extents(self) -> tuple[Box, ...]:
        """The tight box around each piece."""
        return tuple(_extent(self.mask(index)) for index in range(self.count))

    def at(self, point: Point) -> int | None:
        """The piece that a point in unit coordinates is meant for; None for none."""
        height, width = self.labels.shape
        x, y = point[0] * width, point[1] * height
        column, row = self._pixel(point)
        if self.labels[row, column] >= 0:
            return int(self.labels[row, column])
        reach = REACH * max(width, height)
        left, top = max(column - int(reach) - 1, 0), max(row - int(reach) - 1, 0)
        window = self.labels[top:row + int(reach) + 2, left:column + int(reach) + 2]
        rows, columns = np.nonzero(window >= 0)
        if not len(rows):
            return None
        distances = np.hypot(rows + top + 0.5 - y, columns + left + 0.5 - x)
        nearest = int(distances.argmin())
        found = int(window[rows[nearest], columns[nearest]])
        return found if distances[nearest] <= reach else None

    def on(self, point: Point, index: int) -> bool:
        """Whether a point lies on a piece, and not only near it."""
        column, row = self._pixel(point)
        return bool(self.labels[row, column] == index)

    def weights(self, region: Region) -> dict[int, float]:
        """The pieces that a region is meant for, and how likely each is.

        A box is meant for pieces in proportion to its IoU with the boxes around them; if it fits
        none, its middle counts, as the point of a point and the start of a trace do.

        Returns:
            weights in sum 1; empty: it is beside all pieces.
        """
        if region.form is Form.BOX:
            overlaps = {index: iou for index in range(self.count)
                        if (iou := self.box_iou(region, index)) >= _LEAST_IOU}
            if overlaps:
                total = sum(overlaps.values())
                return {index: iou / total for index, iou in overlaps.items()}
        index = self.at(region.centre)
        return {} if index is None else {index: 1.0}

    def inner_point(self, index: int) -> Point:
        """The point of a piece that is farthest from its edge, in unit coordinates."""
        import cv2

        mask = self.mask(index)
        depths = cv2.distanceTransform(np.pad(mask, 1).astype(np.uint8), cv2.DIST_L2, 5)
        row, column = divmod(int(depths[1:-1, 1:-1].argmax()), mask.shape[1])
        return (column + 0.5) / mask.shape[1], (row + 0.5) / mask.shape[0]

    def box(self, index: int) -> Region:
        """The tight box around a piece."""
        height, width = self.labels.shape
        left, top, right, bottom = self.extents[index]
        return Region(Form.BOX, ((left / width, top / height), (right / width, bottom / height)))

    def box_iou(self, region: Region, index: int) -> float:
        """IoU of a box with the tight box around a piece."""
        return box_iou(region, self.box(index))

    def _pixel(self, point: Point) -> tuple[int, int]:
        """Column and row of a point; a point outside the picture is moved to its edge."""
        height, width = self.labels.shape
        return (min(max(pixel(point[0] * width), 0), width - 1),
                min(max(pixel(point[1] * height), 0), height - 1))


def propose_pieces(image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None = None,
                   camera: Camera | None = None) -> Pieces:
    """Cut a picture into things.

    What was cut lately is remembered: often several things are looked for in one picture.

    Args:
        image: (H, W, 3) uint8 RGB.
        depth_m: (H, W) distance along the optical axis [m], aligned with the image; 0 or not
            finite where unknown. None: only colours are known.
        camera: fx, fy, cx, cy in pixels, from the top left pixel's corner; None: a focal length
            as long as the picture's longer edge, and the middle of the picture.

    Returns:
        no pieces where nothing can be told from the background.

    Raises:
        InputError: image and depth do not fit together.
    """
    if depth_m is not None and depth_m.shape != image.shape[:2]:
        raise InputError(f'the depth is of shape {depth_m.shape}, the picture of '
                         f'{image.shape[:2]}; give depth that is aligned with the picture')
    return _cut(_Picture(image, depth_m, camera))


_REMEMBERED = 4


class _Picture:
    """Key of a cache: the arguments of ``propose_pieces``, equal if their content is."""

    def __init__(self, image: NDArray[np.uint8], depth_m: NDArray[np.float32] | None,
                 camera: Camera | None) -> None:
        self.image, self.depth_m, self.camera = image, depth_m, camera
        self._key = (_content(image), None if depth_m is None else _content(depth_m),
                     None if camera is None else tuple(map(float, camera)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Picture) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _content(array: NDArray[Any]) -> tuple[tuple[int, ...], str, bytes]:
    return array.shape, array.dtype.str, hashlib.sha256(np.ascontiguousarray(array).data).digest()


@functools.lru_cache(maxsize=_REMEMBERED)
def _cut(picture: _Picture) -> Pieces:
    labels = None
    if picture.depth_m is not None:
        labels = depth_labels(picture.image, picture.depth_m, picture.camera)
    if labels is None:
        labels = colour_labels(picture.image)
    labels.flags.writeable = False
    return Pieces(labels)


def _extent(mask: Mask) -> Box:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
