"""Calibration: K, pose and depth agree with the pictures to a fraction of a pixel."""

import cv2
import numpy as np
import pytest

from sightplan_sim.blocksworld import make_world
from sightplan_sim.blocksworld.camera import (
    BLOCK_M,
    FRONT_M,
    Optics,
    basis,
    fit_layout,
    place_camera,
)
from sightplan_sim.blocksworld.scene import BlocksScene, Look, Placement, sample_look
from sim_cases import episode


def block_corners(scene, stacks, look, column, level, colour):
    position, yaw = scene.block_pose(scene.layout(len(stacks), sum(map(len, stacks))), column,
                                     level, look.placements['rgbypo'.index(colour)])
    turn = np.array([[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]])
    unit = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2
    return unit * BLOCK_M @ turn.T + position


@pytest.mark.parametrize('supersampling', [1, 2, 3])
def test_projected_corners_meet_the_segmentation(supersampling):
    """A lone block's hull, projected with K, has the edges, area and centroid of its mask."""
    with BlocksScene(640, 480, supersampling=supersampling) as scene:
        for seed in range(6):
            look = sample_look(np.random.default_rng(seed), 1.0)
            column = seed % 3
            stacks = ['p' if k == column else '' for k in range(3)]
            frame = scene.render(stacks, ['a', 'b', 'c'], look)
            pixels = frame.camera.project(
                block_corners(scene, stacks, look, column, 0, 'p')).astype(np.float32)
            rows, columns = np.nonzero(frame.segmentation == 5)
            for seen, low, high in ((columns, *np.sort(pixels[:, 0])[[0, -1]]),
                                    (rows, *np.sort(pixels[:, 1])[[0, -1]])):
                # A pixel belongs to the mask if its centre does: up to 1 at a flat edge, a
                # little more where a sharp corner passes between two centres.
                assert -0.3 <= seen.min() - low <= 1.3
                assert -0.3 <= high - seen.max() <= 1.3
            hull = cv2.convexHull(pixels)
            moments = cv2.moments(hull)
            assert len(rows) == pytest.approx(moments['m00'], rel=0.02)
            assert columns.mean() == pytest.approx(moments['m10'] / moments['m00'], abs=0.25)
            assert rows.mean() == pytest.approx(moments['m01'] / moments['m00'], abs=0.25)


def test_world_calibration_projects_blocks_where_they_are_seen():
    """camera_info and camera_pose alone, as a stranger would use them."""
    with make_world(width=640, height=480) as world:
        world.reset(episode({'c1': [], 'c2': ['y'], 'c3': []}, seed=5))
        depth = world.observe().depth_m
        info, pose = world.camera_info(), world.camera_pose()
        assert (info.width, info.height) == (640, 480)
        assert not info.distortion.any()
        episode_ = world._episode
        frame = world._scene.render(
            world._read_stacks(episode_), episode_.scenario.columns, episode_.look)
        rows, columns = np.nonzero(frame.segmentation == 4)
        # Back-project every pixel of the block: all points must lie on the block's surface.
        rays = np.linalg.inv(info.matrix) @ np.stack([columns, rows, np.ones_like(rows)])
        optical = rays * depth[rows, columns]
        points = pose[:3, :3] @ optical + pose[:3, 3:]
        centre = np.array(world._scene.positions_m()['y'])[:, None]
        offset = np.abs(points - centre)
        assert np.quantile(offset[2], 0.99) <= BLOCK_M / 2 + 5e-4
        assert np.quantile(np.linalg.norm(offset[:2], axis=0), 0.99) <= BLOCK_M * 0.7072 + 5e-4
        on_faces = np.abs(offset[2] - BLOCK_M / 2) < 5e-4  # top face
        assert 0.05 < on_faces.mean() < 0.6


def test_depth_of_table_and_wall():
    with BlocksScene(320, 240) as scene:
        look = sample_look(np.random.default_rng(3), 1.0)
        frame = scene.render(['', ''], ['a', 'b'], look)
    for point in ((0.0, 0.05, 0.0), (0.03, 0.1, 0.0), (-0.02, FRONT_M, -0.02), (0.0, 0.2, 0.05)):
        (u, v), = frame.camera.project(np.array([point]))
        z = frame.camera.to_optical(np.array([point]))[0, 2]
        assert frame.depth_m[round(v), round(u)] == pytest.approx(z, rel=0.01)


def test_rotation_is_rigid_and_looks_forward_and_down():
    rotation = basis(7.0, 20.0, 3.0)
    assert np.allclose(rotation @ rotation.T, np.eye(3))
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    assert rotation[2, 1] > 0.8
    assert rotation[2, 2] == pytest.approx(-np.sin(np.radians(20)))


@pytest.mark.parametrize('n_columns', range(1, 9))
@pytest.mark.parametrize('strength', [0.0, 1.0, 2.0, 3.0])
def test_everything_stays_in_the_picture(n_columns, strength):
    with BlocksScene(320, 240) as scene:
        for n_blocks in (1, 3, 6):
            layout = scene.layout(n_columns, n_blocks)
            for seed in range(8):
                look = sample_look(np.random.default_rng(seed), strength)
                camera = scene.camera(n_columns, n_blocks, look)
                assert camera.sees_all(n_columns, n_blocks)
                r = 0.78 * BLOCK_M
                corners = np.array([(x + dx, dy, z) for x in layout.column_x_m for dx in (-r, r)
                                    for dy in (-r, r) for z in (0, n_blocks * BLOCK_M)])
                pixels = camera.project(corners)
                assert (pixels >= 2).all()
                assert (pixels <= np.array([319, 239]) - 2).all()


def test_columns_show_as_large_as_fits():
    """Either the row of columns spans the width, or a full stack the height."""
    optics = Optics()
    for n_columns in range(1, 9):
        for n_blocks in (2, 4, 6):
            layout = fit_layout(optics, n_columns, n_blocks)
            camera = place_camera(optics, n_columns, n_blocks, Look())
            half = layout.column_x_m[-1] + layout.pitch_m / 2
            front = camera.project(np.array([(-half, FRONT_M, 0.0), (half, FRONT_M, 0.0),
                                             (0, FRONT_M, 0.0),
                                             (0, -BLOCK_M, n_blocks * BLOCK_M)]))
            width = (front[1, 0] - front[0, 0]) / optics.width
            height = (front[2, 1] - front[3, 1]) / optics.height
            assert width > 0.83 or height > 0.6, (n_columns, n_blocks, width, height)


def test_a_layout_does_not_depend_on_where_the_blocks_are():
    with BlocksScene(160, 120) as scene:
        one = scene.render(['rgb', '', ''], ['a', 'b', 'c'], Look()).camera
        two = scene.render(['r', 'g', 'b'], ['a', 'b', 'c'], Look()).camera
    assert np.array_equal(one.position_m, two.position_m)
    assert np.array_equal(one.axes, two.axes)


def test_fixed_distance_is_kept():
    with BlocksScene(160, 120, distance_m=2.5) as scene:
        assert scene.layout(4, 3).distance_m == 2.5
        look = Look(placements=(Placement(),) * 6)
        eye = scene.camera(4, 3, look).position_m
        assert np.linalg.norm(eye - [0, *scene.layout(4, 3).target_m]) == pytest.approx(2.5)
