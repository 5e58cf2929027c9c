"""Extrinsic calibration: the camera's pose in the table's frame, with its uncertainty.

Two sources: a printed ChArUco board whose place on the table is known; and places that the tip of
the arm touched, with the pixels that show them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from sightplan.model import InputError, SightplanError, counted
from sightplan_arm.camera_files import checked_camera
from sightplan_arm.camera_pose import slope_at
from sightplan_arm.geometry import (
    distance,
    inverse,
    make_pose,
    rotation_from_vector,
    transform,
)
from sightplan_arm.hardware import Vector

LEAST_POINTS = 6
_LEAST_WIDTH = 0.08  # smallest width of a set of points, as a fraction of its length
_LEAST_SPREAD_PX = 60.0
_INLIER_PX = 4.0  # largest distance of a point from where it should be seen
_PIXEL_NOISE = 0.3  # least standard deviation of a pixel that is taken for granted
_FOCAL_RATIOS = (0.5, 2.0)  # range in which the best focal length is searched for
_FOCAL_STEP = 0.02
_FOCAL_STDS, _FOCAL_OFF = 3.5, 0.03
"""Errors of a focal length, in standard deviations and as a fraction of it, that must both be
exceeded to refuse it."""
_LEAST_DEPTHS = 4
_DEPTH_OFF = 0.05
"""Largest relative difference between the board's depth and its depth by the pose. Depth cameras
are good to 2 % at the distance of a table."""


class ExtrinsicsError(SightplanError):
    """Points from which no trustworthy pose follows; says what to do."""


@dataclass(frozen=True, eq=False)
class Extrinsics:
    """A camera's pose in the table's frame, and its uncertainty.

    Attributes:
        pose: (4, 4) of the optical frame in the table's frame.
        reprojection_px: root mean square distance over the points that were used.
        residuals_px: (N,) distance of every point.
        used: (N,) whether it was used; the others contradict the rest.
        covariance: (6, 6) of the camera's position [m] and of its turn about the axes of the
            table [rad]; the focal length is taken for right.
        focal_ratio: the focal length that the points fit best, in parts of the camera's.
        focal_std: standard deviation of that; infinite where the points leave it open.
    """

    pose: Vector
    reprojection_px: float
    residuals_px: Vector
    used: NDArray[np.bool_]
    covariance: Vector
    focal_ratio: float = 1.0
    focal_std: float = math.inf

    @property
    def position_std_m(self) -> Vector:
        """(3,) standard deviation of the camera's position."""
        return np.asarray(np.sqrt(np.diag(self.covariance)[:3]))

    @property
    def turn_std_deg(self) -> Vector:
        """(3,) standard deviation of its turn about the table's axes."""
        return np.asarray(np.degrees(np.sqrt(np.diag(self.covariance)[3:])))

    def std_at(self, points_m: ArrayLike) -> Vector:
        """(N, 3) standard deviation of where things at these places (N, 3) are seen [m]."""
        found = []
        for point in np.atleast_2d(np.asarray(points_m, dtype=np.float64)):
            slope = slope_at(point - self.pose[:3, 3])
            found.append(np.sqrt(np.diag(slope @ self.covariance @ slope.T)))
        return np.array(found)


def solve_extrinsics(points_table_m: ArrayLike, pixels: ArrayLike, matrix: ArrayLike,
                     distortion: ArrayLike) -> Extrinsics:
    """The pose from which known places are seen at known pixels (perspective-n-point).

    A consistent majority is sought first (RANSAC), then the reprojection error of its members
    is minimised (Levenberg-Marquardt).

    Args:
        points_table_m: (N, 3) places in the table's frame.
        pixels: (N, 2) where they are seen; (0, 0) is the centre of the top-left pixel.
        matrix: (3, 3) of the camera.
        distortion: (5,) plumb_bob.

    Raises:
        ExtrinsicsError: fewer than 6 points, all (nearly) on a line or too close together in
            the picture, too few that agree, two poses that explain them alike, a camera below
            the table, or points that fit another focal length than the camera's.
        InputError: the arrays do not fit together.
    """
    points, seen = _checked(points_table_m, pixels)
    k, d = checked_camera(matrix, distortion)
    used = _majority(points, seen, k, d)
    rvec, tvec = _solve(points[used], seen[used], k, d)
    for _ in range(3):  # members may change once the pose is better
        off = _residuals(points, seen, rvec, tvec, k, d)
        again = off < _INLIER_PX
        if again.sum() < LEAST_POINTS or (again == used).all():
            break
        used = again
        rvec, tvec = _solve(points[used], seen[used], k, d)
    off = _residuals(points, seen, rvec, tvec, k, d)
    _check_spread(points[used], seen[used], 'that agree ')
    error = float(np.sqrt(np.mean(off[used]**2)))
    pose = inverse(make_pose(tvec.ravel(), cv2.Rodrigues(rvec)[0]))
    _check_unique(points[used], seen[used], pose, error, k, d)
    if pose[2, 3] <= 0:
        raise ExtrinsicsError(f'the camera would be {-1e3 * pose[2, 3]:.0f} mm below the table: '
                              'are the places in the frame of the table (z up, y away from the '
                              'camera), and in the same order as the pixels?')
    ratio, std = _focal_ratio(points[used], seen[used], k, d)
    if abs(ratio - 1.0) > max(_FOCAL_STDS * std, _FOCAL_OFF):
        raise ExtrinsicsError(
            f'the points fit a focal length of {ratio * k[0, 0]:.0f} pixels (standard deviation '
            f'{std * k[0, 0]:.0f}), but the calibration of the camera says {k[0, 0]:.0f}: the '
            'camera would be found far from where it is. Give the camera_info of this camera at '
            'this size of the picture, and check that the places are in metres')
    return Extrinsics(pose, error, off, used, _covariance(points[used], pose, error, k, d), ratio,
                      std)


def check_depth(points_table_m: ArrayLike, depths_m: ArrayLike, pose: Vector) -> float:
    """Check a camera's pose against measured depth: median of measured over expected distance.

    A wrong focal length puts the camera at a wrong distance, which depth tells whatever the points
    are.

    Args:
        points_table_m: (N, 3) places in the table's frame.
        depths_m: (N,) measured distance along the optical axis; 0 or NaN where unknown.
        pose: (4, 4) of the optical frame in the table's frame.

    Raises:
        ExtrinsicsError: the distances differ by more than 5 %, or hardly one is known.
    """
    depths = np.asarray(depths_m, dtype=np.float64)
    expected = transform(inverse(pose), np.asarray(points_table_m, dtype=np.float64))[:, 2]
    known = np.isfinite(depths) & (depths > 0)
    if known.sum() < _LEAST_DEPTHS:
        raise ExtrinsicsError(f'the depth is known at {known.sum()} corners of the board: at '
                              f'least {_LEAST_DEPTHS} are needed (is it aligned to the colour '
                              'picture?)')
    ratio = float(np.median(depths[known] / expected[known]))
    if abs(ratio - 1.0) > _DEPTH_OFF:
        raise ExtrinsicsError(
            f'the board is {np.median(depths[known]):.3f} m away by the depth picture, but '
            f'{np.median(expected[known]):.3f} m by its size in the colour picture: check the '
            'focal length (--camera-info), the size of the squares (--square-mm), and '
            "camera.depth_scale_m in the robot's file")
    return ratio


def _focal_ratio(points: Vector, pixels: Vector, k: Vector, d: Vector) -> tuple[float, float]:
    """The focal length that fits the points best, in parts of the camera's, and its deviation."""
    def squares(ratio: float) -> float:
        scaled = k * np.array([[ratio], [ratio], [1.0]])
        scaled[:2, 2] = k[:2, 2]
        try:
            rvec, tvec = _solve(points, pixels, scaled, d)
        except ExtrinsicsError:
            return 1e12
        return float(np.minimum(np.sum(
            _residuals(points, pixels, rvec, tvec, scaled, d)**2), 1e12))

    best = float(minimize_scalar(squares, bounds=_FOCAL_RATIOS, method='bounded',
                                 options={'xatol': 1e-3}).x)
    least = squares(best)
    bend = (squares(best + _FOCAL_STEP) + squares(best - _FOCAL_STEP) - 2 * least) / _FOCAL_STEP**2
    noise = max(_PIXEL_NOISE, math.sqrt(least / max(1, 2 * len(points) - 7)))
    return best, math.sqrt(2.0 / bend) * noise if bend > 1e-9 else math.inf


def _checked(points: ArrayLike, pixels: ArrayLike) -> tuple[Vector, Vector]:
    p, s = np.asarray(points, dtype=np.float64), np.asarray(pixels, dtype=np.float64)
    if p.ndim != 2 or p.shape[1] != 3 or s.shape != (len(p), 2):
        raise InputError(f'points of shape {p.shape} and pixels of shape {s.shape}: (N, 3) and '
                         '(N, 2) are needed')
    if not (np.isfinite(p).all() and np.isfinite(s).all()):
        raise InputError('a coordinate of points or pixels is not a finite number')
    if len(p) < LEAST_POINTS:
        raise ExtrinsicsError(f'{counted(len(p), "point")}: at least '
                              f'{LEAST_POINTS} are needed, 10 to 20 are better; spread them '
                              'over the table and over heights')
    _check_spread(p, s)
    return p, s


def _check_spread(points: Vector, pixels: Vector, which: str = '') -> None:
    """Refuse sets that leave the pose open."""
    if len(points) < LEAST_POINTS:
        raise ExtrinsicsError(f'only {len(points)} points agree with one another; at least '
                              f'{LEAST_POINTS} are needed: check which pixel belongs to which '
                              'place, and the units (metres)')
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) / math.sqrt(len(points))
    if sizes[1] < _LEAST_WIDTH * sizes[0] or sizes[0] < 1e-6:
        raise ExtrinsicsError(f'the points {which}lie (nearly) on a line: {1e3 * sizes[1]:.1f} mm '
                              f'across for {1e3 * sizes[0]:.0f} mm along; add points away from '
                              'it, nearer, farther or higher')
    reach = np.linalg.norm(np.ptp(pixels, axis=0))
    if reach < _LEAST_SPREAD_PX:
        raise ExtrinsicsError(f'the points {which}take up {reach:.0f} pixels of the picture only: '
                              'spread them over the whole table')


def _majority(points: Vector, pixels: Vector, k: Vector, d: Vector) -> NDArray[np.bool_]:
    """(N,) which points agree on one pose."""
    best = np.zeros(len(points), np.bool_)
    _, _, _, chosen = cv2.solvePnPRansac(
        points, pixels, k, d, iterationsCount=3000, reprojectionError=_INLIER_PX,
        confidence=0.99999999, flags=cv2.SOLVEPNP_AP3P)
    if chosen is not None:
        best[np.ravel(chosen)] = True
    if best.sum() < LEAST_POINTS or 2 * best.sum() <= len(points):
        raise ExtrinsicsError(
            f'only {best.sum()} of {len(points)} points agree on one pose within {_INLIER_PX:g} '
            'pixels: check which pixel belongs to which place, the units (metres) and the '
            "camera's calibration (camera_info)")
    return best


def _solve(points: Vector, pixels: Vector, k: Vector, d: Vector) -> tuple[Vector, Vector]:
    found, rvec, tvec = cv2.solvePnP(points, pixels, k, d, flags=cv2.SOLVEPNP_SQPNP)
    if not found:
        raise ExtrinsicsError('no pose explains the points: add points away from one plane')
    rvec, tvec = cv2.solvePnPRefineLM(points, pixels, k, d, rvec, tvec)
    return np.asarray(rvec, np.float64), np.asarray(tvec, np.float64)


def _residuals(points: Vector, pixels: Vector, rvec: Any, tvec: Any, k: Vector,
               d: Vector) -> Vector:
    """(N,) distance from where a pose shows each point [px]; infinite behind the camera."""
    shown = cv2.projectPoints(points, rvec, tvec, k, d)[0].reshape(-1, 2)
    depth = points @ cv2.Rodrigues(rvec)[0][2] + float(np.ravel(tvec)[2])
    return np.where(depth > 0, np.linalg.norm(shown - pixels, axis=1), np.inf)


def _check_unique(points: Vector, pixels: Vector, pose: Vector, error: float, k: Vector,
                  d: Vector) -> None:
    """Refuse points of a plane that a second, different pose explains about as well."""
    middle = points.mean(axis=0)
    _, sizes, axes = np.linalg.svd(points - middle, full_matrices=True)
    if sizes[2] > 1e-3 * sizes[0]:
        return
    flat = (points - middle) @ axes.T
    flat[:, 2] = 0.0
    turn = axes if np.linalg.det(axes) > 0 else np.diag([1.0, 1.0, -1.0]) @ axes
    found, rvecs, tvecs, _ = cv2.solvePnPGeneric(flat, pixels, k, d, flags=cv2.SOLVEPNP_IPPE)
    for rvec, tvec in zip(rvecs[:found], tvecs[:found], strict=False):
        rvec, tvec = cv2.solvePnPRefineLM(flat, pixels, k, d, rvec, tvec)
        other = make_pose(middle, turn.T) @ inverse(make_pose(
            np.ravel(tvec), cv2.Rodrigues(rvec)[0]))
        off = _residuals(flat, pixels, rvec, tvec, k, d)
        second = float(np.sqrt(np.mean(off**2)))
        if distance(pose, other)[1] > math.radians(5) and second < 2.0 * max(error, _PIXEL_NOISE):
            raise ExtrinsicsError(
                'the points lie in one plane, and two poses of the camera '
                f'{math.degrees(distance(pose, other)[1]):.0f} degrees apart explain them '
                f'({error:.2f} and {second:.2f} pixels): add points at other heights, or show '
                'the board larger')


def _covariance(points: Vector, pose: Vector, error: float, k: Vector, d: Vector) -> Vector:
    """(6, 6) of position and turn, from the errors that the points have."""
    freedom = max(1, 2 * len(points) - 6)
    noise = max(_PIXEL_NOISE, error * math.sqrt(len(points) / freedom))
    columns = []
    for axis in range(6):
        shown = []
        for sign in (1.0, -1.0):
            step = np.zeros(6)
            step[axis] = sign * 1e-5
            moved = make_pose(pose[:3, 3] + step[:3],
                              rotation_from_vector(step[3:]) @ pose[:3, :3])
            back = inverse(moved)
            shown.append(cv2.projectPoints(points, cv2.Rodrigues(back[:3, :3])[0], back[:3, 3],
                                           k, d)[0].ravel())
        columns.append((shown[0] - shown[1]) / 2e-5)
    slope = np.stack(columns, axis=1)
    return np.asarray(np.linalg.inv(slope.T @ slope) * noise**2)


# --- a board ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Board:
    """A ChArUco board: a chessboard with markers in its white squares (4x4 bits, 50 of them).

    Its frame: origin at the lower left corner of the printed squares, x along the lower edge to
    the right, y up along the left edge, z out of the paper. Inner corners are numbered from the
    lower left to the right, then upwards.

    Attributes:
        squares_x, squares_y: how many, at least 3 each.
        square_m: side of a square, 5 mm to 0.3 m.
        marker_m: side of a marker.
    """

    squares_x: int = 6
    squares_y: int = 4
    square_m: float = 0.045
    marker_m: float = 0.034

    def __post_init__(self) -> None:
        if min(self.squares_x, self.squares_y) < 3 or self.squares_x * self.squares_y > 100:
            raise InputError(f'board of {self.squares_x} x {self.squares_y} squares: 3 x 3 to '
                             '100 squares can be made')
        if not 0.005 <= self.square_m <= 0.3:
            raise InputError(f'squares of {1e3 * self.square_m:g} mm: between 5 and 300')
        if not 0.0 < self.marker_m < 0.95 * self.square_m:
            raise InputError(f'markers of {1e3 * self.marker_m:g} mm in squares of '
                             f'{1e3 * self.square_m:g} mm: they must be smaller (three quarters)')

    def corner_m(self, corner: int) -> Vector:
        """(3,) an inner corner in the board's frame.

        Raises:
            InputError: there is no such corner.
        """
        across, up = self.squares_x - 1, self.squares_y - 1
        if not 0 <= corner < across * up:
            raise InputError(f'corner {corner}: this board has the corners 0 to '
                             f'{across * up - 1}')
        return np.array([corner % across + 1, corner // across + 1, 0.0]) * (
            self.square_m, self.square_m, 1.0)

    def _charuco(self) -> Any:
        return cv2.aruco.CharucoBoard(
            (self.squares_x, self.squares_y), self.square_m, self.marker_m,
            cv2.aruco.getPredefinedDictionary(cv2.aruco.DICT_4X4_50))

    def draw(self, dpi: int = 300, margin_m: float = 0.012) -> NDArray[np.uint8]:
        """(H, W) uint8 the board in its true size at a resolution, with a line on how to use it.

        Args:
            dpi: dots per inch.
            margin_m: white around the squares; the line is written there.
        """
        dots = dpi / 0.0254
        square, edge = round(self.square_m * dots), round(margin_m * dots)
        squares = self._charuco().generateImage(
            (self.squares_x * square, self.squares_y * square), None, 0, 1)
        page = cv2.copyMakeBorder(squares, edge, edge, edge, edge, cv2.BORDER_CONSTANT, value=255)
        text = (f'sightplan {self.squares_x}x{self.squares_y}: squares must measure '
                f'{1e3 * self.square_m:g} mm')
        cv2.putText(page, text, (edge, page.shape[0] - edge // 3), cv2.FONT_HERSHEY_SIMPLEX,
                    0.0009 * dots / 10, (90,), max(1, round(dots / 8000)), cv2.LINE_AA)
        return np.asarray(page, np.uint8)

    def detect(self, rgb: NDArray[np.uint8]) -> tuple[NDArray[np.intp], Vector]:
        """Detect the board's inner corners in a picture.

        Args:
            rgb: (H, W, 3) uint8, or (H, W) in grey.

        Returns:
            (N,) numbers of inner corners and (N, 2) their pixels; none if it is not seen.
        """
        grey = rgb if rgb.ndim == 2 else cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
        corners, numbers, _, _ = cv2.aruco.CharucoDetector(self._charuco()).detectBoard(grey)
        if numbers is None or not len(numbers):
            return np.zeros(0, np.intp), np.zeros((0, 2))
        across, up = self.squares_x - 1, self.squares_y - 1
        down = np.ravel(numbers).astype(np.intp)  # counted from the top left
        mine = (up - 1 - down // across) * across + down % across
        order = np.argsort(mine)
        return mine[order], np.asarray(corners, np.float64).reshape(-1, 2)[order]


def board_pose_from_touches(board: Board, corners: Sequence[int],
                            touched_m: ArrayLike) -> tuple[Vector, float]:
    """Pose of the board, from inner corners that the tip of the arm touched.

    Args:
        board: the board.
        corners: numbers of at least three corners, not on a line.
        touched_m: (N, 3) where the tip was, in the table's frame.

    Returns:
        (4, 4) pose of the board in the table's frame, and the root mean square distance of the
        touched places from it [m].

    Raises:
        ExtrinsicsError: too few, or on a line.
    """
    there = np.array([board.corner_m(corner) for corner in corners]).reshape(-1, 3)
    touched = np.asarray(touched_m, dtype=np.float64).reshape(-1, 3)
    if len(there) != len(touched):
        raise InputError(f'{len(there)} corners and {len(touched)} places')
    sizes = (np.linalg.svd(there - there.mean(axis=0), compute_uv=False)
             if len(there) > 2 else np.zeros(3))
    if sizes[1] < 0.5 * board.square_m:
        raise ExtrinsicsError(f'{len(there)} corners touched: at least three that do not lie on '
                              'a line are needed, best those far apart')
    pose = _align(there, touched)
    off = np.linalg.norm(transform(pose, there) - touched, axis=1)
    return pose, float(np.sqrt(np.mean(off**2)))


def _align(points: Vector, onto: Vector) -> Vector:
    """(4, 4) rigid motion that brings points nearest to others (Kabsch's algorithm, 1976)."""
    a, b = points.mean(axis=0), onto.mean(axis=0)
    u, _, vt = np.linalg.svd((points - a).T @ (onto - b))
    flip = np.diag([1.0, 1.0, float(np.sign(np.linalg.det(vt.T @ u.T)))])
    rotation = vt.T @ flip @ u.T
    return make_pose(b - rotation @ a, rotation)
