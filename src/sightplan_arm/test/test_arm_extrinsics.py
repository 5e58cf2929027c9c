"""Where the camera hangs: from points, from a board; and when it cannot be told."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from board_pictures import FLAT, STANDING, board_picture, project
from box_pictures import MATRIX, camera_pose
from sightplan.model import InputError
from sightplan_arm.extrinsics import (
    Board,
    ExtrinsicsError,
    board_pose_from_touches,
    check_depth,
    solve_extrinsics,
)
from sightplan_arm.geometry import (
    distance,
    rotation_from_rpy,
    transform,
)

NONE = np.zeros(5)
LENS = np.array([0.09, -0.22, 0.001, -0.0015, 0.1])


def marks(count=14, seed=0, height_m=0.25):
    """Places spread over the table and over heights."""
    rng = np.random.default_rng(seed)
    return rng.uniform((-0.2, -0.06, 0.0), (0.2, 0.12, height_m), (count, 3))


def off(found, pose):
    """Millimetres and degrees between poses."""
    metres, turn = distance(found.pose, pose)
    return 1e3 * metres, math.degrees(turn)


@settings(deadline=None, max_examples=40)
@given(st.floats(5, 70), st.floats(0.5, 1.6), st.floats(-0.3, 0.3), st.integers(0, 10**6),
       st.booleans(), st.booleans())
def test_round_trip_without_errors(elevation, far, aside, seed, lens, flat):
    pose = camera_pose(elevation, far, (aside, 0.0, 0.1))
    points = marks(seed=seed, height_m=0.0 if flat else 0.25)
    distortion = LENS if lens else NONE
    pixels = project(points, pose, distortion=distortion)
    if np.linalg.norm(np.ptp(pixels, axis=0)) < 100:
        return
    try:
        found = solve_extrinsics(points, pixels, MATRIX, distortion)
    except ExtrinsicsError:
        assert flat  # at a grazing angle, from far away
        return
    millimetres, degrees = off(found, pose)
    assert millimetres < 0.1
    assert degrees < 0.01
    assert found.reprojection_px < 0.01
    assert found.used.all()


def test_errors_of_pixels_come_back_as_uncertainty():
    """Over many draws, errors at the table are as large as said."""
    pose, points = camera_pose(), marks(20)
    pixels, ratios = project(points, pose), []
    for seed in range(60):
        noisy = pixels + np.random.default_rng(seed).normal(0.0, 0.5, pixels.shape)
        found = solve_extrinsics(points, noisy, MATRIX, NONE)
        place = np.array([[0.1, 0.0, 0.1]])
        seen = transform(found.pose @ np.linalg.inv(pose), place)
        ratios.append((seen - place) / found.std_at(place))
        assert 0.3 < found.reprojection_px < 1.1
    assert 0.7 < np.sqrt(np.mean(np.square(ratios))) < 1.4


def test_wrong_pixels_are_left_out_and_named():
    pose, points = camera_pose(), marks(12)
    pixels = project(points, pose)
    pixels[[3, 7]] = pixels[[7, 3]]  # two marks mixed up
    pixels[10] += (40.0, -25.0)
    found = solve_extrinsics(points, pixels, MATRIX, NONE)
    assert np.flatnonzero(~found.used).tolist() == [3, 7, 10]
    assert off(found, pose) < (0.1, 0.01)
    assert found.residuals_px[10] == pytest.approx(math.hypot(40, 25), rel=0.01)


@pytest.mark.parametrize('factor', [0.8, 1.2])
@pytest.mark.parametrize('points', [marks(14), marks(20), marks(14, height_m=0.0)])
def test_points_that_fit_another_focal_length_are_refused(points, factor):
    matrix = MATRIX * np.array([[factor], [factor], [1.0]])
    matrix[:2, 2] = MATRIX[:2, 2]
    pixels = project(points, camera_pose())
    pixels += np.random.default_rng(1).normal(0.0, 0.3, pixels.shape)
    with pytest.raises(ExtrinsicsError, match=r'fit a focal length of 1\d\d\d pixels'):
        solve_extrinsics(points, pixels, matrix, NONE)
    found = solve_extrinsics(points, pixels, MATRIX, NONE)
    assert abs(found.focal_ratio - 1.0) < 0.06
    assert found.focal_std < 0.035


def test_a_board_that_faces_the_camera_leaves_the_focal_length_open():
    board = Board()
    points = transform(STANDING, np.array([board.corner_m(number) for number in range(15)]))
    pixels = project(points, camera_pose())
    pixels += np.random.default_rng(1).normal(0.0, 0.3, pixels.shape)
    found = solve_extrinsics(points, pixels, MATRIX, NONE)
    assert found.focal_std > 0.035
    depths = transform(np.linalg.inv(found.pose), points)[:, 2]
    assert check_depth(points, depths * 1.02, found.pose) == pytest.approx(1.02)
    depths[:10] = np.nan
    assert check_depth(points, depths, found.pose) == pytest.approx(1.0)
    with pytest.raises(ExtrinsicsError, match='focal length'):
        check_depth(points, depths * 1.2, found.pose)
    with pytest.raises(ExtrinsicsError, match='known at 0 corners'):
        check_depth(points, depths * 0.0, found.pose)


def line(count):
    return np.column_stack([np.linspace(-0.2, 0.2, count), np.zeros(count), np.zeros(count)])


@pytest.mark.parametrize(('points', 'message'), [
    (marks(5), '5 points: at least 6'),
    (line(10), r'on a line: 0\.0 mm across'),
    (line(10) + np.random.default_rng(0).normal(0, 0.003, (10, 3)), 'on a line'),
    (marks(10) * 0.02, 'spread them over the whole table'),
    (np.zeros((8, 3)), 'on a line')])
def test_sets_that_leave_the_pose_open_are_refused(points, message):
    with pytest.raises(ExtrinsicsError, match=message):
        solve_extrinsics(points, project(points, camera_pose()), MATRIX, NONE)


def test_points_that_do_not_belong_to_the_pixels_are_refused():
    points = marks(12)
    pixels = np.random.default_rng(1).uniform(0, 480, (12, 2))
    with pytest.raises(ExtrinsicsError, match='of 12 points agree'):
        solve_extrinsics(points, pixels, MATRIX, NONE)


def test_a_camera_below_the_table_is_refused():
    points = marks(12)
    below = camera_pose(-20.0, 0.9, (0.0, 0.0, 0.1))
    with pytest.raises(ExtrinsicsError, match='below the table'):
        solve_extrinsics(points, project(points, below), MATRIX, NONE)


def test_two_poses_that_explain_a_small_plane_alike_are_refused():
    points = marks(12, height_m=0.0) * (0.4, 0.4, 1.0)
    far = camera_pose(50.0, 2.6)
    pixels = project(points, far) + np.random.default_rng(3).normal(0, 0.4, (12, 2))
    with pytest.raises(ExtrinsicsError, match='two poses'):
        solve_extrinsics(points, pixels, MATRIX, NONE)


@pytest.mark.parametrize(('points', 'pixels', 'matrix', 'message'), [
    (marks(8)[:, :2], np.zeros((8, 2)), MATRIX, 'shape'),
    (marks(8), np.zeros((7, 2)), MATRIX, 'shape'),
    (marks(8) * np.nan, np.zeros((8, 2)), MATRIX, 'finite'),
    (marks(8), project(marks(8), camera_pose()), np.zeros((3, 3)), 'camera matrix')])
def test_arrays_that_do_not_fit_are_named(points, pixels, matrix, message):
    with pytest.raises(InputError, match=message):
        solve_extrinsics(points, pixels, matrix, NONE)


@pytest.mark.parametrize('place', [FLAT, STANDING])
def test_one_picture_of_the_board_is_enough(place):
    board, pose = Board(), camera_pose()
    numbers, pixels = board.detect(board_picture(place))
    assert numbers.tolist() == list(range(15))
    points = transform(place, np.array([board.corner_m(number) for number in numbers]))
    assert np.abs(pixels - project(points, pose)).max() < 0.6
    found = solve_extrinsics(points, pixels, MATRIX, NONE)
    assert found.reprojection_px < 0.4
    blocks = np.array([[x, 0.0, 0.025] for x in (-0.18, 0.0, 0.18)])
    shift = np.linalg.norm(transform(found.pose @ np.linalg.inv(pose), blocks) - blocks, axis=1)
    assert shift.max() < 0.005


def test_no_board_is_no_corner():
    numbers, pixels = Board().detect(np.full((480, 640, 3), 128, np.uint8))
    assert numbers.shape == (0,)
    assert pixels.shape == (0, 2)


def test_the_printed_board_has_its_true_size():
    board = Board(5, 3, 0.03, 0.022)
    page = board.draw(dpi=254, margin_m=0.01)
    assert page.shape == (3 * 300 + 200, 5 * 300 + 200)
    assert set(np.unique(page[:90])) == {255}
    assert (page[-95:] < 128).any()  # the line of text
    numbers, pixels = board.detect(page)
    expected = [(100 + 300 * (1 + i % 4) - 0.5, 100 + 300 * (2 - i // 4) - 0.5) for i in range(8)]
    assert numbers.tolist() == list(range(8))
    assert np.abs(pixels - expected).max() < 1.0


@pytest.mark.parametrize('arguments', [(2, 4), (20, 20), (6, 4, 0.03, 0.03), (6, 4, 0.03, 0.0)])
def test_boards_that_cannot_be_made(arguments):
    with pytest.raises(InputError):
        Board(*arguments)
    with pytest.raises(InputError, match='corners 0 to 14'):
        Board().corner_m(15)


def test_a_touched_board_is_where_it_was_touched():
    board = Board()
    corners = [0, 4, 10, 14]
    there = transform(STANDING, np.array([board.corner_m(corner) for corner in corners]))
    pose, error = board_pose_from_touches(board, corners, there)
    assert distance(pose, STANDING) < (1e-9, 1e-6)
    assert error < 1e-9
    _, error = board_pose_from_touches(board, corners,
                                       there + np.eye(4, 3) * (0.003, 0.0, 0.0))
    assert 0.0005 < error < 0.003
    with pytest.raises(ExtrinsicsError, match='on a line'):
        board_pose_from_touches(board, corners[:2], there[:2])
    with pytest.raises(ExtrinsicsError, match='on a line'):
        board_pose_from_touches(board, [0, 1, 4], there[:3])


def test_rolled_cameras_are_fine():
    pose = camera_pose()
    pose[:3, :3] = pose[:3, :3] @ rotation_from_rpy(np.radians((0.0, 0.0, 172.0)))
    points = marks(10)
    found = solve_extrinsics(points, project(points, pose), MATRIX, NONE)
    assert off(found, pose) < (0.1, 0.01)
