"""Marks on pictures of boards, so that a model can tell past, present and goal apart.

iVISPAR colours the background of each picture and writes a word into its upper right corner. The
worlds here draw on a background of exactly one colour, the active one, which is replaced.
"""

from __future__ import annotations

from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

PAST, ACTIVE, GOAL = 'past', 'active', 'goal'
TINTS: Final = {PAST: (141, 153, 174), ACTIVE: (82, 138, 174), GOAL: (100, 191, 106)}
"""RGB of the background by what a picture shows (iVISPAR, from its configuration)."""

_WHITE, _DARK = (255, 255, 255), (40, 40, 40)


def mark(image: NDArray[np.uint8], what: str) -> NDArray[np.uint8]:
    """A picture with the background and the word of what it shows.

    Args:
        image: (H, W, 3) uint8 RGB; its background is exactly the active tint.
        what: a key of ``TINTS``.

    Returns:
        another picture of the same shape.
    """
    marked = image.copy()
    marked[(image == TINTS[ACTIVE]).all(axis=-1)] = TINTS[what]
    height, width = image.shape[:2]
    scale, thickness = height / 600.0, max(1, round(height / 300))
    (wide, high), below = cv2.getTextSize(what, cv2.FONT_HERSHEY_SIMPLEX, scale, thickness)
    gap = max(2, round(height * 0.012))
    left, top = width - wide - 3 * gap, gap
    right, bottom = width - gap, top + high + below + 2 * gap
    _rounded(marked, (left, top), (right, bottom), 2 * gap)
    cv2.putText(marked, what, (left + gap, top + gap + high), cv2.FONT_HERSHEY_SIMPLEX, scale,
                _DARK, thickness, cv2.LINE_AA)
    return marked


def _rounded(image: NDArray[np.uint8], low: tuple[int, int], high: tuple[int, int],
             radius: int) -> None:
    """Fill a white box with rounded corners."""
    radius = min(radius, (high[0] - low[0]) // 2, (high[1] - low[1]) // 2)
    cv2.rectangle(image, (low[0] + radius, low[1]), (high[0] - radius, high[1]), _WHITE, -1)
    cv2.rectangle(image, (low[0], low[1] + radius), (high[0], high[1] - radius), _WHITE, -1)
    for x in (low[0] + radius, high[0] - radius):
        for y in (low[1] + radius, high[1] - radius):
            cv2.circle(image, (x, y), radius, _WHITE, -1, cv2.LINE_AA)
