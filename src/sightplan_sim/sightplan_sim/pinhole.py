"""Pinhole arithmetic, the same for the cameras of all worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    matrix: Floats
    distortion: Floats
    frame_id: str


@dataclass(frozen=True)
class Pinhole:
    """An ideal pinhole camera, wherever it is.

    Attributes:
        width: of the picture [px].
        height: of the picture [px].
        fov_deg: vertical field of view.
    """

    width: int
    height: int
    fov_deg: float

    @property
    def focal_px(self) -> float:
        """Focal length [px], the same in both directions."""
        return self.height / 2 / math.tan(math.radians(self.fov_deg) / 2)

    def matrix(self) -> Floats:
        """(3, 3) pinhole matrix K; pixel (0, 0) is the centre of the top-left pixel."""
        f = self.focal_px
        return np.array([[f, 0.0, (self.width - 1) / 2],
                         [0.0, f, (self.height - 1) / 2],
                         [0.0, 0.0, 1.0]])

    def info(self, frame_id: str) -> CameraInfo:
        """Its calibration, for an optical frame of this name."""
        return CameraInfo(self.width, self.height, self.matrix(), np.zeros(5), frame_id)

    def pixels(self, local_m: Floats) -> Floats:
        """(N, 2) pixels of points (N, 3) of the optical frame [m]; NaN behind the camera.

        Pixels count from the top-left one's centre; the frame is REP 103's: x right, y down,
        z forward.
        """
        depth = np.where(local_m[:, 2] > 0, local_m[:, 2], np.nan)
        k = self.matrix()
        return np.asarray(local_m[:, :2] / depth[:, None] * (k[0, 0], k[1, 1])
                          + (k[0, 2], k[1, 2]))
