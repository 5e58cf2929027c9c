"""Surfaces of regions by depth."""

from __future__ import annotations

import numpy as np
import pytest

from sightplan.model import Form, Region
from sightplan_belief.pointing.surfaces import surface_of

CAMERA = (100.0, 120.0, 50.0, 40.0)
"""fx, fy, cx, cy of pictures of 100 x 80 pixels."""


def scene() -> np.ndarray:
    """(80, 100) depth of a wall 2 m away and before it a slanted thing, 1 to 1.1 m away."""
    depth = np.full((80, 100), 2.0, np.float32)
    depth[20:40, 60:80] = np.linspace(1.0, 1.1, 20, dtype=np.float32)[:, None]
    return depth


def point(x: float, y: float) -> Region:
    return Region(Form.POINT, ((x / 100, y / 80),))


def box(left: float, top: float, right: float, bottom: float) -> Region:
    return Region(Form.BOX, ((left / 100, top / 80), (right / 100, bottom / 80)))


def test_a_point_is_on_the_surface_that_it_shows() -> None:
    found = surface_of(point(70.5, 20.5), scene(), CAMERA)  # at the upper edge of the thing
    assert found is not None
    assert not found.size_m.any()
    far = found.centre_m[2]
    assert 1.0 <= far <= 1.0106  # not the wall beside it
    np.testing.assert_allclose(found.centre_m[:2], [0.205 * far, -19.5 / 120 * far])
    assert (np.linalg.eigvalsh(found.covariance) > 0.0).all()


def test_a_noisy_surface_is_less_certain_along_the_ray() -> None:
    noisy = scene() + np.random.default_rng(0).normal(0.0, 0.01, (80, 100)).astype(np.float32)
    quiet, found = (surface_of(point(10, 70), depth, CAMERA) for depth in (scene(), noisy))
    assert quiet is not None and found is not None
    assert found.covariance[2, 2] > 4 * quiet.covariance[2, 2]


def test_a_box_is_as_large_as_what_is_seen_in_it() -> None:
    found = surface_of(box(58, 18, 82, 42), scene(), CAMERA)  # with some of the wall
    assert found is not None
    assert found.centre_m[2] == pytest.approx(1.05, abs=0.01)
    wide, high, deep = found.size_m
    assert (wide, high) == pytest.approx((0.24 * 1.05, 24 / 120 * 1.05), rel=0.02)
    assert 0.08 < deep < 0.1
    np.testing.assert_allclose(found.centre_m[:2] / found.centre_m[2], [0.2, -10 / 120])


@pytest.mark.parametrize('region', [
    Region(Form.TRACE, ((0.1, 0.1), (0.2, 0.2))), point(120, 10), point(30, 60),
    box(20, 50, 40, 70)])
def test_where_no_depth_is_known_there_is_no_surface(region: Region) -> None:
    depth = scene()
    depth[45:, 15:45] = 0.0
    assert surface_of(region, depth, CAMERA) is None


@pytest.mark.parametrize('region', [box(-30, -30, 130, 130), box(40, 40, 40, 40),
                                    box(99.9, 79.9, 100, 80), point(99.9, 79.9), point(0, 0)])
def test_regions_at_the_edge_have_surfaces(region: Region) -> None:
    found = surface_of(region, scene(), CAMERA)
    assert found is not None
    assert np.isfinite(found.centre_m).all() and (found.size_m >= 0.0).all()


def test_depth_that_is_not_finite_is_unknown() -> None:
    depth = scene()
    depth[:, ::2] = np.nan
    depth[:, 1::4] = np.inf
    found = surface_of(box(60, 20, 80, 40), depth, CAMERA)
    assert found is not None
    assert found.centre_m[2] == pytest.approx(1.05, abs=0.02)
