"""The camera's topics, for a node that looks now and then."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from typing import Any

from geometry_msgs.msg import PoseWithCovarianceStamped
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo

from sightplan.records import messages
from sightplan_arm.camera_pose import CameraPose
from sightplan_belief.pointing.depth_pieces import Camera
from sightplan_nodes import names, qos
from sightplan_nodes.calls import run_in_executor
from sightplan_nodes.failures import dropping
from sightplan_nodes.frames import camera_from_msg

_INFO_WAIT_S = 1.0
"""Limit for the next calibration, which comes as often as pictures [s]."""
_AGAIN_S = 30.0
"""Time for which no calibration is waited for after one that did not fit the picture [s]."""


def next_camera_info(node: Node) -> CameraInfo | None:
    """The next calibration of the camera; not for the thread that spins the node.

    Args:
        node: whose executor spins in another thread.

    Returns:
        None: none came in time.

    Raises:
        InfrastructureError: the node is not spinning.
    """
    arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
    subscription = run_in_executor(
        node, lambda: node.create_subscription(
            CameraInfo, names.CAMERA_INFO, arrived.put, qos.SENSOR,
            callback_group=ReentrantCallbackGroup()),
        _INFO_WAIT_S, node.destroy_subscription)
    try:
        return arrived.get(timeout=_INFO_WAIT_S)
    except queue.Empty:
        return None
    finally:
        run_in_executor(node, lambda: node.destroy_subscription(subscription), _INFO_WAIT_S)


class Intrinsics:
    """The camera's calibration, waited for once for each size of pictures.

    Args:
        node: whose executor spins in another thread than the one that asks.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._known: dict[tuple[int, int], Camera] = {}
        self._not_before_s: dict[tuple[int, int], float] = {}

    def of(self, width: int, height: int) -> Camera | None:
        """The intrinsics for pictures of a size.

        Returns:
            fx, fy, cx, cy in pixels, from the top left pixel's corner; None: nobody publishes
            any, or they are not known, or of pictures of another size.

        Raises:
            InfrastructureError: the node is not spinning.
        """
        size = width, height
        if (size not in self._known and self._node.count_publishers(names.CAMERA_INFO)
                and time.monotonic() >= self._not_before_s.get(size, 0.0)):
            info = next_camera_info(self._node)
            if info is not None and (info.width, info.height) == size and info.k[0] > 0:
                # ROS counts from the middle of the top left pixel.
                self._known[size] = (info.k[0], info.k[4], info.k[2] + 0.5, info.k[5] + 0.5)
            elif info is not None:
                self._not_before_s[size] = time.monotonic() + _AGAIN_S
        return self._known.get(size)


class CameraPoses:
    """The last poses of the camera, by the times from which on they hold."""

    def __init__(self, node: Node) -> None:
        """Subscribe; what comes is kept by the thread that spins the node."""
        self._kept: deque[tuple[int, str, CameraPose]] = deque(maxlen=qos.POSES.depth)
        self._lock = threading.Lock()
        node.create_subscription(
            PoseWithCovarianceStamped, names.CAMERA_POSE,
            dropping(node, names.CAMERA_POSE, self._take), qos.POSES,
            callback_group=ReentrantCallbackGroup())

    def _take(self, message: PoseWithCovarianceStamped) -> None:
        pose = camera_from_msg(message)
        with self._lock:
            self._kept.append((messages.time_from_msg(message.header.stamp),
                               message.header.frame_id, pose))

    def at(self, stamp_ns: int) -> tuple[str, CameraPose] | None:
        """The fixed frame and the camera's pose in it at a time [ns]; None: it is not known."""
        with self._lock:
            return next(((frame, pose) for since_ns, frame, pose in reversed(self._kept)
                         if since_ns <= stamp_ns), None)
