"""Depth images of a topic, found by the time of the picture that they belong to."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Image

from sightplan.model import InputError
from sightplan.records.messages import raw_stamp_ns
from sightplan_nodes import conversions, names, qos
from sightplan_nodes.failures import dropping

_KEPT = 8
_STAMP_BYTES = 12
"""Of a serialized message, up to the end of its stamp."""
_PAIRED_NS = 20_000_000
"""So far apart picture and depth of a camera that does not give them one stamp may be."""
_WAIT_S = 2.0


@dataclass
class _Kept:
    """A depth image, and the first and last stamp with which it came [ns]."""

    first_ns: int
    last_ns: int
    data: bytes


class DepthImages:
    """The last few different depth images, kept undecoded until they are wanted.

    A world that repeats its picture with new stamps fills one place with all of them.
    """

    def __init__(self, node: Node, topic: str = names.CAMERA_DEPTH) -> None:
        """Subscribe; what comes is kept by the thread that spins the node."""
        self._node = node
        self._arrived = threading.Condition()
        self._kept: deque[_Kept] = deque(maxlen=_KEPT)
        self._subscription = node.create_subscription(
            Image, topic, dropping(node, topic, self.take), qos.SENSOR, raw=True,
            callback_group=ReentrantCallbackGroup())

    def close(self) -> None:
        """Unsubscribe."""
        self._node.destroy_subscription(self._subscription)

    def take(self, data: bytes) -> None:
        """Keep a serialized message."""
        stamp_ns = raw_stamp_ns(data)
        with self._arrived:
            last = self._kept[-1] if self._kept else None
            if (last is not None and stamp_ns >= last.last_ns
                    and last.data[_STAMP_BYTES:] == data[_STAMP_BYTES:]):
                last.last_ns = stamp_ns
            else:
                self._kept.append(_Kept(stamp_ns, stamp_ns, data))
            self._arrived.notify_all()

    def at(self, stamp_ns: int, timeout_s: float = _WAIT_S) -> NDArray[np.float32] | None:
        """The depth of a picture; not for the thread that spins the node.

        Args:
            stamp_ns: of the picture [ns].
            timeout_s: limit for depth that has not come yet, where somebody publishes any [s].

        Returns:
            (H, W) [m], NaN where unknown; None if there is none of that time, which is logged if
            some was to be expected.

        Raises:
            InputError: it cannot be read.
        """
        topic = self._subscription.topic_name
        if not self._node.count_publishers(topic):
            return None
        end = time.monotonic() + timeout_s
        with self._arrived:
            while (found := self._find(stamp_ns)) is None:
                left = end - time.monotonic()
                if left <= 0.0 or (self._kept and self._kept[0].first_ns > stamp_ns):
                    break
                self._arrived.wait(min(left, 0.1))
        if found is None:
            self._node.get_logger().warning(
                f'{topic}: there is no depth of world time {stamp_ns} ns; the model is asked '
                'without it')
            return None
        try:
            return conversions.depth_from_msg(deserialize_message(found, Image))
        except InputError as error:
            raise InputError(f'{topic}: {error}') from error

    def _find(self, stamp_ns: int) -> bytes | None:
        """The image of a time, or the nearest of those about then. The lock is held."""
        def apart(kept: _Kept) -> int:
            return max(kept.first_ns - stamp_ns, stamp_ns - kept.last_ns, 0)

        best = min(self._kept, key=apart, default=None)
        return None if best is None or apart(best) > _PAIRED_NS else best.data
