"""The pinhole camera that is carried about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sightplan_sim.pinhole import Pinhole


@dataclass(frozen=True)
class Camera(Pinhole):
    """Camera settings that stay fixed while the robot moves."""

    width: int = 480
    height: int = 480
    fov_deg: float = 90.0

    @property
    def half_fov(self) -> float:
        """Half the field of view in the direction in which the picture is narrower [rad]."""
        return math.atan(min(self.width, self.height) / 2 / self.focal_px)

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
