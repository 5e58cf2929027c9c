"""Pictures of a calibration board that lies or stands somewhere, as a camera sees it."""

from __future__ import annotations

import cv2
import numpy as np

from box_pictures import MATRIX, camera_pose
from sightplan_arm.extrinsics import Board
from sightplan_arm.geometry import inverse, make_pose, rotation_from_rpy, transform

FLAT = make_pose((-0.135, -0.07, 0.002))
STANDING = make_pose((-0.135, 0.0, 0.01), rotation_from_rpy(np.radians((90.0, 0.0, 0.0))))


def project(points_m, pose, matrix=MATRIX, distortion=None):
    """(N, 2) pixels of places in the table's frame."""
    back = inverse(pose)
    return cv2.projectPoints(np.asarray(points_m, np.float64), cv2.Rodrigues(back[:3, :3])[0],
                             back[:3, 3], matrix, distortion)[0].reshape(-1, 2)


def board_picture(board_pose, board=None, pose=None, noise=2.0, seed=0):
    """(480, 640, 3) uint8 of the printed board, without distortion."""
    board, pose = board or Board(), camera_pose() if pose is None else pose
    printed = board.draw(dpi=150, margin_m=0.01)
    h, w = printed.shape
    wide, high, margin = (board.squares_x * board.square_m, board.squares_y * board.square_m,
                          0.01)
    edges = np.array([(-margin, high + margin, 0), (wide + margin, high + margin, 0),
                      (wide + margin, -margin, 0), (-margin, -margin, 0)])
    pixels = project(transform(board_pose, edges), pose)
    scale = 4
    corners = np.array([(0, 0), (w, 0), (w, h), (0, h)], np.float64) - 0.5
    warp = cv2.getPerspectiveTransform(corners.astype(np.float32),
                                       ((pixels + 0.5) * scale - 0.5).astype(np.float32))
    large = cv2.warpPerspective(printed, warp, (640 * scale, 480 * scale),
                                flags=cv2.INTER_AREA, borderValue=(140,))
    grey = cv2.resize(large, (640, 480), interpolation=cv2.INTER_AREA).astype(np.float64)
    grey += np.random.default_rng(seed).normal(0.0, noise, grey.shape)
    return np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
