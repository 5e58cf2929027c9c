"""Parts of things, from colours alone: where there is no depth.

Colours that are common along the edges of the picture are the background, as far as it is
connected with the edges; the rest is cut into connected parts of one colour. Things of several
colours fall to pieces, which does little harm, because votes for one piece of a thing are never
taken for votes for another thing; things that touch and have one colour become one piece.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sightplan.model.region import Mask

_EDGE_PX = 320
"""Pictures are scaled down to this longer edge."""
_COLOURS, _PARTS = 10, 4
"""Number of colours of the picture, and of the foreground."""
_LIGHTNESS, _FOREGROUND_LIGHTNESS = 0.3, 0.15
"""Weight of lightness among colours, which shadows and shading change."""
_RIM = 0.06
"""Width of the rim along the edges, as a fraction of the shorter edge."""
_LEAST_RIM, _LEAST_RATIO = 0.01, 0.1
"""Smallest fraction of the rim, and ratio to the inside, from which a colour is background."""
_LEAST, _MOST = 0.0015, 0.3
"""Least and greatest size of a piece, as a fraction of the picture."""
_LEAST_EDGE_PX = 16
"""Smaller pictures have no pieces."""


def colour_labels(image: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Parts of one colour that stand out from the background.

    Args:
        image: (H, W, 3) uint8 RGB.

    Returns:
        (H, W), index of the part of each pixel; -1 for none.
    """
    import cv2

    height, width = image.shape[:2]
    if min(height, width) < _LEAST_EDGE_PX:
        return np.full((height, width), -1, np.int32)
    scale = min(_EDGE_PX / max(height, width), 1.0)
    small = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    colours = np.asarray(cv2.cvtColor(cv2.medianBlur(small, 5).astype(np.float32) / 255,
                                      cv2.COLOR_RGB2Lab), np.float32)
    labels = _parts(colours, _foreground(colours))
    whole = cv2.resize(labels.astype(np.int16), (width, height), interpolation=cv2.INTER_NEAREST)
    return np.asarray(whole, np.int32)


def _foreground(colours: NDArray[np.float32]) -> Mask:
    import cv2

    of_pixel = _clusters(colours.reshape(-1, 3), _COLOURS, _LIGHTNESS).reshape(colours.shape[:2])
    rim = np.ones(of_pixel.shape, bool)
    wide = max(1, int(_RIM * min(of_pixel.shape)))
    rim[wide:-wide, wide:-wide] = False
    on_rim, inside = (np.bincount(of_pixel[part], minlength=_COLOURS) / part.sum()
                      for part in (rim, ~rim))
    common = (on_rim > _LEAST_RIM) & (on_rim > _LEAST_RATIO * inside)
    _, connected = cv2.connectedComponents(common[of_pixel].astype(np.uint8), connectivity=4)
    background = common[of_pixel] & np.isin(connected, np.unique(connected[rim]))
    opened = cv2.morphologyEx((~background).astype(np.uint8), cv2.MORPH_OPEN,
                              np.ones((3, 3), np.uint8))
    return np.asarray(opened, bool)


def _parts(colours: NDArray[np.float32], foreground: Mask) -> NDArray[np.int32]:
    """Connected parts of one colour.

    A part that is too small joins the nearest one of its heap.
    """
    import cv2
    from scipy.ndimage import distance_transform_edt

    labels = np.full(foreground.shape, -1, np.int32)
    least, most = (fraction * foreground.size for fraction in (_LEAST, _MOST))
    _, heaps = cv2.connectedComponents(foreground.astype(np.uint8), connectivity=4)
    if np.count_nonzero(foreground) < max(least, _PARTS):
        return labels
    of_pixel = np.full(foreground.shape, -1)
    of_pixel[foreground] = _clusters(colours[foreground], _PARTS, _FOREGROUND_LIGHTNESS)
    count = 0
    for colour in range(_PARTS):
        number, parts, stats, _ = cv2.connectedComponentsWithStats(
            (of_pixel == colour).astype(np.uint8), connectivity=4)
        for part in range(1, number):
            if least <= stats[part, cv2.CC_STAT_AREA] <= most:
                labels[parts == part] = count
                count += 1
    if not count:
        return labels
    nearest = tuple(distance_transform_edt(labels < 0, return_distances=False,
                                           return_indices=True))
    joins = foreground & (labels < 0) & (heaps[nearest] == heaps)
    labels[joins] = labels[nearest][joins]
    return labels


def _clusters(colours: NDArray[np.float32], count: int, lightness: float) -> NDArray[np.int32]:
    """Number of the cluster of each of (N, 3) colours, by k-means."""
    import cv2

    weighted = np.ascontiguousarray(colours * np.array([lightness, 1, 1], np.float32))
    cv2.setRNGSeed(1)
    stop = (cv2.TERM_CRITERIA_EPS + cv2.TERM_CRITERIA_MAX_ITER, 20, 0.5)
    _, found, _ = cv2.kmeans(weighted, min(count, len(weighted)), np.empty(0, np.int32), stop, 1,
                             cv2.KMEANS_PP_CENTERS)
    return np.asarray(found[:, 0])
