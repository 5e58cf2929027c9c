"""Depth as one more channel of a picture."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEAREST_M, FARTHEST_M = 0.2, 12.0


def depth_channel(depth_m: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Depth in steps of equal ratio, 1 (near) to 255 (far); 0 where it is not known.

    Args:
        depth_m: (H, W), NaN where unknown [m].

    Returns:
        (H, W) uint8; a step is 1.6 % of the distance.
    """
    known = np.isfinite(depth_m) & (depth_m > 0.0)
    clipped = np.clip(np.where(known, depth_m, NEAREST_M), NEAREST_M, FARTHEST_M)
    part = np.log(clipped / NEAREST_M) / np.log(FARTHEST_M / NEAREST_M)
    return np.where(known, np.rint(1.0 + 254.0 * part), 0.0).astype(np.uint8)


def depth_pixels(depth_m: NDArray[np.float32] | None, height: int, width: int,
                 ) -> NDArray[np.float32]:
    """Depth of any size, nearest pixels taken, as networks see it: (height, width).

    As in training: the values of ``depth_channel``, 255 is 1.0, and 0, unknown, is -1.0; None is
    depth that is unknown everywhere.
    """
    if depth_m is None:
        return np.full((height, width), -1.0, np.float32)
    rows = np.arange(height) * depth_m.shape[0] // height
    columns = np.arange(width) * depth_m.shape[1] // width
    seen = depth_channel(depth_m[rows[:, None], columns])
    return seen.astype(np.float32) / np.float32(127.5) - 1
