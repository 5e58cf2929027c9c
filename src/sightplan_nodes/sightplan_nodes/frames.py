"""Frames of a world's camera, table and arm: ``/tf``, ``/tf_static`` and ``camera/pose``.

Axes are those of REP 103 (optical frames: x right, y down, z forward). ``world`` has z up. Where
tf2_msgs is not installed nothing is published on ``/tf`` and ``/tf_static``.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from geometry_msgs.msg import (
    Point,
    Pose,
    PoseWithCovariance,
    PoseWithCovarianceStamped,
    Quaternion,
    Transform,
    TransformStamped,
    Vector3,
)
from numpy.typing import NDArray
from rclpy.node import Node

from sightplan.model import InputError, param
from sightplan_arm.camera_pose import CameraPose
from sightplan_arm.geometry import (
    make_pose,
    quaternion_from_rotation,
    rotation_from_quaternion,
)
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.parameters import declare_settings

WORLD, TABLE, CALIBRATED = 'world', 'table', 'calibrated_camera_optical_frame'
"""The fixed frame of a simulation; the robot file's table; a real camera by the robot's file."""


EXACT = np.diag([1e-12] * 6)
"""(6, 6) covariance of a pose that a simulation knows: a micrometre and a microradian. Zeros would
say that the covariance is unknown, as those of sensor_msgs/Imu do."""


@dataclass(frozen=True, slots=True)
class FrameSettings:
    """Parameter of a world about its frames."""

    frame_prefix: str = param(names.AUTO, 'Put before the names of frames, as '
                              'robot_state_publisher does: robot1/ for example; auto: the '
                              "graph's namespace")


class Frames:
    """Publishes transforms of a node."""

    def __init__(self, node: Node) -> None:
        """Declare the prefix of frames; create the publishers, where tf2_msgs is installed."""
        given = declare_settings(node, FrameSettings).frame_prefix
        self._prefix = prefix_of(node.get_namespace()) if given == names.AUTO else given
        self._node, self._lock = node, threading.Lock()
        self._fixed: dict[str, TransformStamped] = {}
        self._camera_pub = node.create_publisher(PoseWithCovarianceStamped, names.CAMERA_POSE,
                                                 qos.LATCHED)
        try:
            self._type: Any = importlib.import_module('tf2_msgs.msg').TFMessage
        except ImportError:
            self._type = None
            return
        self._moving_pub = node.create_publisher(self._type, names.TF, qos.TF)
        self._fixed_pub = node.create_publisher(self._type, names.TF_STATIC, qos.LATCHED)

    def named(self, frame: str) -> str:
        """Return the full name of a frame; '' stays."""
        return f'{self._prefix}{frame}' if frame else frame

    @property
    def heard(self) -> bool:
        """Whether anybody listens to transforms that change."""
        return self._type is not None and bool(self._moving_pub.get_subscription_count())

    def fix(self, poses: Mapping[str, tuple[str, NDArray[np.float64]]]) -> None:
        """Publish transforms that stay; late subscribers get them, too.

        Args:
            poses: parent frame and (4, 4) pose in it, by frame.
        """
        if self._type is None:
            return
        with self._lock:
            now_ns = self._node.get_clock().now().nanoseconds
            self._fixed.update({one.child_frame_id: one for one in self._messages(now_ns, poses)})
            self._fixed_pub.publish(self._type(transforms=list(self._fixed.values())))

    def move(self, stamp_ns: int, poses: Mapping[str, tuple[str, NDArray[np.float64]]]) -> None:
        """Publish transforms of a time; arguments as ``fix``."""
        if self.heard:
            self._moving_pub.publish(self._type(transforms=self._messages(stamp_ns, poses)))

    def show_camera(self, stamp_ns: int, frame: str, camera: CameraPose) -> None:
        """Publish the camera's pose with its covariance, which holds until the next one.

        Args:
            stamp_ns: time from which on it holds [ns].
            frame: fixed frame of the pose.
            camera: the pose.
        """
        self._camera_pub.publish(PoseWithCovarianceStamped(
            header=MESSAGES.header(stamp_ns, self.named(frame)),
            pose=PoseWithCovariance(pose=pose_to_msg(camera.pose), covariance=(
                np.zeros(36) if camera.covariance is None else camera.covariance.ravel()))))

    def _messages(self, stamp_ns: int,
                  poses: Mapping[str, tuple[str, NDArray[np.float64]]]) -> list[TransformStamped]:
        return [TransformStamped(
            header=MESSAGES.header(stamp_ns, self.named(parent)), child_frame_id=self.named(child),
            transform=_transform(pose)) for child, (parent, pose) in poses.items()]


def prefix_of(namespace: str) -> str:
    """Return the prefix of frames of nodes in a namespace, of simulated hardware in it, too."""
    spaces = namespace.strip('/').split('/')
    if spaces[-1] == names.HARDWARE:
        spaces.pop()
    return ''.join(f'{space}/' for space in spaces if space)


def pose_to_msg(pose: NDArray[np.float64]) -> Pose:
    """A (4, 4) pose as a message."""
    x, y, z = map(float, pose[:3, 3])
    qx, qy, qz, qw = map(float, quaternion_from_rotation(pose[:3, :3]))
    return Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(x=qx, y=qy, z=qz, w=qw))


def camera_from_msg(message: PoseWithCovarianceStamped) -> CameraPose:
    """The camera's pose that a message of ``camera/pose`` has.

    Raises:
        InputError: it is no pose.
    """
    at, turned = message.pose.pose.position, message.pose.pose.orientation
    numbers = np.array([at.x, at.y, at.z, turned.x, turned.y, turned.z, turned.w])
    covariance = np.asarray(message.pose.covariance, dtype=np.float64).reshape(6, 6)
    if not np.isfinite(numbers).all() or not np.linalg.norm(numbers[3:]) > 0.0:
        raise InputError(f'{names.CAMERA_POSE}: position and orientation must be finite numbers, '
                         'and the orientation a quaternion that is not zero')
    known = bool(np.isfinite(covariance).all() and (np.diag(covariance) > 0.0).all())
    return CameraPose(make_pose(numbers[:3], rotation_from_quaternion(numbers[3:])),
                      covariance if known else None)


def _transform(pose: NDArray[np.float64]) -> Transform:
    x, y, z = map(float, pose[:3, 3])
    qx, qy, qz, qw = map(float, quaternion_from_rotation(pose[:3, :3]))
    return Transform(translation=Vector3(x=x, y=y, z=z),
                     rotation=Quaternion(x=qx, y=qy, z=qz, w=qw))
