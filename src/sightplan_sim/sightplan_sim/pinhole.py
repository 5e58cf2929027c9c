"""Pinhole arithmetic, the same for the cameras of all worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Generic, Self, TypeVar

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
        """Calibration of the camera, for an optical frame of this name."""
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


P = TypeVar('P', bound=Pinhole, covariant=True)


@dataclass(frozen=True, eq=False)
class View(Generic[P]):
    """A camera at a pose.

    Attributes:
        optics: its optics.
        position_m: (3,) optical centre in the world.
        axes: (3, 3) its x (right), y (down) and z (forward) axes as columns (REP 103).
    """

    optics: P
    position_m: Floats
    axes: Floats

    def sized(self, width: int, height: int) -> Self:
        """Copy of this view with another number of pixels."""
        return replace(self, optics=replace(self.optics, width=width, height=height))

    def to_optical(self, points_m: Floats) -> Floats:
        """(..., 3) points of the world in the optical frame [m]."""
        return np.asarray((np.asarray(points_m, dtype=np.float64) - self.position_m) @ self.axes)

    def project(self, points_m: Floats) -> Floats:
        """Pixels (N, 2) of points (N, 3) of the world [m]; see ``Pinhole.pixels``."""
        return self.optics.pixels(self.to_optical(points_m))

    def view_matrix(self) -> list[float]:
        """PyBullet's view matrix (OpenGL: x right, y up, z backward), column by column."""
        view = np.eye(4)
        view[:3, :3] = (self.axes * (1.0, -1.0, -1.0)).T
        view[:3, 3] = -view[:3, :3] @ self.position_m
        return [float(v) for v in view.T.ravel()]
