"""What a world tells about its camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class CameraInfo:
    """Calibration of the camera that takes the pictures: an ideal pinhole.

    Attributes:
        width, height: size of the picture [px].
        matrix: (3, 3) K; pixel (0, 0) is the centre of the top-left pixel.
        distortion: (5,) zeros (plumb_bob).
        frame_id: optical frame (REP 103: x right, y down, z forward).
    """

    width: int
    height: int
    matrix: NDArray[np.float64]
    distortion: NDArray[np.float64]
    frame_id: str
