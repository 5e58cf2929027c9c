"""A pinhole camera that is carried about."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sightplan_sim.pinhole import Floats, Pinhole


@dataclass(frozen=True)
class Camera(Pinhole):
    """What does not change while the robot moves."""

    width: int = 480
    height: int = 480
    fov_deg: float = 90.0

    @property
    def half_fov(self) -> float:
        """Half the field of view in the direction in which the picture is narrower [rad]."""
        return math.atan(min(self.width, self.height) / 2 / self.focal_px)

    def sized(self, width: int, height: int) -> Camera:
        """The same field of view in another number of pixels."""
        return Camera(width, height, self.fov_deg)

    def projection(self, near: float, far: float) -> list[float]:
        """PyBullet's projection matrix, column by column, for TinyRenderer.

        TinyRenderer samples at a pixel's left lower corner, not at its centre (measured against
        projected corners): half a pixel to the left and down puts that right.

        Args:
            near: nearest depth that is drawn [m].
            far: farthest [m].
        """
        f, w, h = self.focal_px, self.width, self.height
        cx, cy = w / 2 - 0.5, h / 2 + 0.5
        left, right = -cx / f * near, (w - cx) / f * near
        bottom, top = (cy - h) / f * near, cy / f * near
        depth = far - near
        return [2 * near / (right - left), 0.0, 0.0, 0.0,
                0.0, 2 * near / (top - bottom), 0.0, 0.0,
                (right + left) / (right - left), (top + bottom) / (top - bottom),
                -(far + near) / depth, -1.0,
                0.0, 0.0, -2 * far * near / depth, 0.0]


@dataclass(frozen=True, eq=False)
class View:
    """A camera somewhere in a home.

    Attributes:
        camera: its optics.
        position: (3,) optical centre [m].
        axes: (3, 3) its x (right), y (down) and z (forward) axes as columns (REP 103).
    """

    camera: Camera
    position: Floats
    axes: Floats

    def sized(self, width: int, height: int) -> View:
        """The same view in another number of pixels."""
        return View(self.camera.sized(width, height), self.position, self.axes)

    def to_optical(self, points_m: Floats) -> Floats:
        """(..., 3) points of the home in the optical frame [m]."""
        return np.asarray((np.asarray(points_m, dtype=np.float64) - self.position) @ self.axes)

    def project(self, points_m: Floats) -> Floats:
        """Pixels (N, 2) of points (N, 3) of the home [m]; see ``Pinhole.pixels``."""
        return self.camera.pixels(self.to_optical(points_m))

    def view_matrix(self) -> list[float]:
        """PyBullet's view matrix (OpenGL: x right, y up, z backward), column by column."""
        view = np.eye(4)
        view[:3, :3] = (self.axes * (1.0, -1.0, -1.0)).T
        view[:3, 3] = -view[:3, :3] @ self.position
        return [float(v) for v in view.T.ravel()]
