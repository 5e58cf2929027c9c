"""Axis ticks drawn along the edges of a picture, for models that are asked for pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TICKS = 10
"""Approximate number of ticks along the longer edge."""
_STEPS = (5, 10, 20, 25, 50, 100, 200, 250, 500, 1000)
_LENGTH_PX = 8
_PAPER, _INK = (255, 255, 255), (0, 0, 0)


def draw_ticks(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A copy of a picture with ticks and their pixel numbers inside its upper and left edge.

    Args:
        image: (H, W, 3) uint8 RGB.

    Returns:
        (H, W, 3) uint8 RGB: coordinates stay what they are.
    """
    import cv2
    drawn = np.ascontiguousarray(image).copy()
    height, width = drawn.shape[:2]
    step = next((step for step in _STEPS if step * _TICKS >= max(height, width)), _STEPS[-1])
    for ink, thickness in ((_PAPER, 3), (_INK, 1)):
        for x in range(step, width, step):
            cv2.line(drawn, (x, 0), (x, _LENGTH_PX), ink, thickness)
            _write(drawn, str(x), x - 9, _LENGTH_PX + 11, ink, thickness)
        for y in range(step, height, step):
            cv2.line(drawn, (0, y), (_LENGTH_PX, y), ink, thickness)
            _write(drawn, str(y), _LENGTH_PX + 2, y + 4, ink, thickness)
    return drawn


def _write(canvas: NDArray[np.uint8], text: str, x: int, y: int, ink: tuple[int, int, int],
           thickness: int) -> None:
    import cv2
    cv2.putText(canvas, text, (x, y), cv2.FONT_HERSHEY_SIMPLEX, 0.34, ink, thickness, cv2.LINE_AA)
