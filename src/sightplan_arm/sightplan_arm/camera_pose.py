"""The pose of a camera in a fixed frame, with its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightplan_arm.geometry import transform

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CameraPose:
    """A camera's pose in a fixed frame.

    Attributes:
        pose: (4, 4) of the optical frame in the fixed frame [m].
        covariance: (6, 6) of the camera's position [m] and of its turn about the axes of the fixed
            frame [rad], the order of geometry_msgs/PoseWithCovariance; None: it is not known.
    """

    pose: Array
    covariance: Array | None = None

    def carry(self, point_m: ArrayLike, covariance: ArrayLike) -> tuple[Array, Array]:
        """A point that the camera measured, in the fixed frame.

        Args:
            point_m: (3,) in the optical frame.
            covariance: (3, 3) of the measurement in the optical frame [m^2].

        Returns:
            (3,) in the fixed frame [m], and its (3, 3) covariance [m^2]; the camera's uncertainty
            is part of that, where it is known.
        """
        turn = self.pose[:3, :3]
        point = transform(self.pose, point_m)
        total = turn @ np.asarray(covariance, dtype=np.float64) @ turn.T
        if self.covariance is not None:
            slope = slope_at(point - self.pose[:3, 3])
            total = total + slope @ self.covariance @ slope.T
        return point, np.asarray(total)


def slope_at(away_m: Array) -> Array:
    """(3, 6) change of a point's place with the camera's position and turn.

    Args:
        away_m: (3,) from the camera to the point, along the axes of the fixed frame.
    """
    x, y, z = away_m
    return np.hstack([np.eye(3), -np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])])
