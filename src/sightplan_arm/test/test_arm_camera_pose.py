"""Points that a camera of uncertain pose measured, in a fixed frame."""

import numpy as np
import pytest

from box_pictures import camera_pose
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.geometry import make_pose, rotation_from_vector, transform

POINT = np.array([0.1, -0.05, 0.9])
MEASURED = np.diag([1e-6, 4e-6, 9e-6])


def uncertain(seed: int) -> np.ndarray:
    """(6, 6) covariance of some millimetres and milliradians, all of them correlated."""
    root = np.random.default_rng(seed).normal(size=(6, 6)) * 1e-3
    return root @ root.T


@pytest.mark.parametrize('seed', range(3))
def test_the_covariance_is_that_of_many_cameras(seed: int) -> None:
    pose, covariance = camera_pose(), uncertain(seed)
    rng = np.random.default_rng(seed)
    offs = rng.multivariate_normal(np.zeros(6), covariance, 20000)
    points = rng.multivariate_normal(POINT, MEASURED, 20000)
    sample = np.array([transform(make_pose(pose[:3, 3] + off[:3],
                                           rotation_from_vector(off[3:]) @ pose[:3, :3]), point)
                       for off, point in zip(offs, points, strict=True)])
    found, total = CameraPose(pose, covariance).carry(POINT, MEASURED)
    np.testing.assert_allclose(found, transform(pose, POINT))
    scale = np.sqrt(np.outer(np.diag(total), np.diag(total)))
    np.testing.assert_allclose(np.cov(sample.T) / scale, total / scale, atol=0.05)


def test_without_a_known_covariance_the_measurement_is_turned_alone() -> None:
    pose = camera_pose()
    _, total = CameraPose(pose).carry(POINT, MEASURED)
    np.testing.assert_allclose(total, pose[:3, :3] @ MEASURED @ pose[:3, :3].T)
