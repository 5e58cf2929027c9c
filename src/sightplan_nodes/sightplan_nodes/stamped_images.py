"""The images of a topic, found by their stamps."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image

from sightplan.model import DeadlineError, UnknownImageError, WorldError
from sightplan.records.messages import raw_frame_id, raw_stamp_ns
from sightplan_nodes import names, qos
from sightplan_nodes.calls import run_in_executor
from sightplan_nodes.failures import dropping

_MOST_IMAGES, _MOST_BYTES = 60, 64 * 2**20
"""Largest number of images, and of bytes, that are kept of a topic."""
_STAMP_BYTES = 12
"""Length of a serialized message's beginning, up to the end of its stamp."""
WAIT_S = 2.0
"""Limit for an image that is still on its way [s]."""


_FORGOTTEN_AFTER = 30
"""Number of consecutive pictures of one frame after which earlier frames are forgotten."""
_RETURNS = 3
"""Number of returns to earlier frames that are those of two cameras."""


class MixedCameraDetector:
    """Detects that two cameras publish on one topic, by the frames that their pictures name.

    Frames that alternate are those of two cameras. A frame that only follows another, or comes
    back once, is that of a driver that was started again: how a driver names its frame is its own
    affair.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._frame: str | None = None
        self._earlier: set[str | None] = set()
        self._alternating: set[str | None] = set()
        self._returns = self._in_a_row = 0

    def note(self, data: bytes) -> None:
        """Take notice of a serialized picture, in the order in which they come."""
        frame = raw_frame_id(data)
        if frame != self._frame:
            if frame in self._earlier:
                self._returns += 1
                self._alternating |= {frame, self._frame}
            if self._frame is not None:
                self._earlier.add(self._frame)
            self._frame, self._in_a_row = frame, 0
        self._in_a_row += 1
        if self._in_a_row == _FORGOTTEN_AFTER:
            self._earlier.clear()
            self._alternating.clear()
            self._returns = 0

    def check(self, topic: str) -> None:
        """Refuse the pictures of a topic on which there are two cameras.

        Raises:
            WorldError: says whose frames they are, and who publishes.
        """
        if self._returns < _RETURNS:
            return
        nodes = sorted({f'{end.node_namespace.rstrip("/")}/{end.node_name}'
                        for end in self._node.get_publishers_info_by_topic(topic)})
        raise WorldError(
            f'{self._node.resolve_topic_name(topic)} has the pictures of more than one camera: '
            f'frame_id is {" and ".join(sorted(map(repr, self._alternating)))} in turn'
            + (f', published by {", ".join(nodes)}' if nodes else '')
            + '; remap the pictures of each robot to a topic of its own')


@dataclass
class _Kept:
    """An image, the first and last stamp with which it came [ns], and when it came last [s]."""

    first_ns: int
    last_ns: int
    data: bytes
    came_s: float

    def apart_ns(self, stamp_ns: int) -> int:
        """Return the distance of a stamp from the stamps with which the image came [ns]."""
        return max(self.first_ns - stamp_ns, stamp_ns - self.last_ns, 0)


class StampedImages:
    """The last different images of a topic, kept undecoded until they are wanted.

    A world that repeats its picture with new stamps fills one place with all of them.
    """

    def __init__(self, node: Node, topic: str) -> None:
        """Subscribe; what comes is kept by the thread that spins the node."""
        self._node = node
        self._arrived = threading.Condition()
        self._kept: deque[_Kept] = deque()
        self._camera = MixedCameraDetector(node)
        self._subscription = node.create_subscription(
            Image, topic, dropping(node, topic, self.take), qos.SENSOR, raw=True,
            callback_group=ReentrantCallbackGroup())

    @property
    def topic(self) -> str:
        """Full name of the topic."""
        return str(self._subscription.topic_name)

    def close(self) -> None:
        """Unsubscribe, in the next turn of the executor; any thread may call this.

        A subscription that goes while the executor's thread begins to wait for it breaks that
        thread. If there is no further turn, the end of the node ends the subscription.
        """
        executor = self._node.executor
        if executor is None:
            self._node.destroy_subscription(self._subscription)
        else:
            executor.create_task(self._node.destroy_subscription, self._subscription)

    def take(self, data: bytes) -> None:
        """Keep a serialized message."""
        stamp_ns, now = raw_stamp_ns(data), time.monotonic()
        with self._arrived:
            self._camera.note(data)
            last = self._kept[-1] if self._kept else None
            if (last is not None and stamp_ns >= last.last_ns
                    and last.data[_STAMP_BYTES:] == data[_STAMP_BYTES:]):
                last.last_ns, last.came_s = stamp_ns, now
            else:
                self._kept.append(_Kept(stamp_ns, stamp_ns, data, now))
                while len(self._kept) > 1 and (
                        len(self._kept) > _MOST_IMAGES
                        or sum(len(one.data) for one in self._kept) > _MOST_BYTES):
                    self._kept.popleft()
            self._arrived.notify_all()

    def nearest(self, stamp_ns: int, within_ns: int = 0,
                timeout_s: float = WAIT_S) -> Image | None:
        """The image of a time; not for the thread that spins the node.

        Args:
            stamp_ns: its stamp [ns].
            within_ns: how far the stamp of another one may be from it [ns].
            timeout_s: limit for an image that has not come yet, where images are published [s].

        Returns:
            None: there is none of that time.

        Raises:
            WorldError: pictures of two cameras come.
        """
        if not self._node.count_publishers(self.topic):
            return None
        self._camera.check(self.topic)
        end = time.monotonic() + timeout_s
        with self._arrived:
            while True:
                best = min(self._kept, key=lambda one: one.apart_ns(stamp_ns), default=None)
                if best is not None and best.apart_ns(stamp_ns) <= within_ns:
                    break
                left = end - time.monotonic()
                if left <= 0.0 or (self._kept
                                   and self._kept[-1].last_ns > stamp_ns + within_ns):
                    return None  # a later one is there: they come in order
                self._arrived.wait(min(left, 0.1))
            data = best.data
        return deserialize_message(data, Image)

    def at(self, stamp_ns: int) -> Image:
        """The image of a stamp [ns]; not for the thread that spins the node.

        Raises:
            UnknownImageError: it did not come; says why that may be.
            WorldError: pictures of two cameras come.
        """
        found = self.nearest(stamp_ns)
        if found is None:
            with self._arrived:
                newest = self._kept[-1].last_ns if self._kept else None
            publishers = self._node.count_publishers(self.topic)
            said = ('nobody publishes it' if not publishers else
                    'none came' if newest is None else f'the newest is of {newest} ns')
            raise UnknownImageError(
                f'{self.topic}: no picture of world time {stamp_ns} ns came ({said}); its QoS '
                f'must be reliable: "ros2 topic info -v {self.topic}" shows whether publisher and '
                'subscriber match; or send the picture with the request')
        return found

    def next(self, timeout_s: float) -> Image:
        """The next image that comes; not for the thread that spins the node.

        Raises:
            DeadlineError: none came within the limit [s].
            WorldError: pictures of two cameras come.
        """
        began = time.monotonic()
        with self._arrived:
            while not (self._kept and self._kept[-1].came_s > began):
                left = began + timeout_s - time.monotonic()
                if left <= 0.0:
                    raise DeadlineError(f'no picture came on {self.topic}; send one with the '
                                        'request, or start the camera')
                self._arrived.wait(min(left, 0.1))
            self._camera.check(self.topic)
            newest = self._kept[-1]
            image = deserialize_message(newest.data, Image)
        if newest.last_ns != newest.first_ns:
            image.header.stamp.sec, image.header.stamp.nanosec = divmod(newest.last_ns, 10**9)
        return image


def next_picture(node: Node, timeout_s: float) -> Image:
    """The camera's next picture; not for the thread that spins the node.

    Raises:
        DeadlineError: none came within the limit [s].
        WorldError: pictures of two cameras come.
        InfrastructureError: the node is not spinning.
    """
    images = run_in_executor(node, lambda: StampedImages(node, names.CAMERA_IMAGE), timeout_s,
                             StampedImages.close)
    try:
        found: Image = images.next(timeout_s)
        return found
    finally:
        run_in_executor(node, images.close, timeout_s)


def camera_pictures(node: Node) -> dict[str, StampedImages]:
    """The pictures of the camera's topics, by the topics' relative names."""
    return {topic: StampedImages(node, topic)
            for topic in (names.CAMERA_IMAGE, names.CAMERA_LABELLED)}
