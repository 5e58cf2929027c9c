"""Depth images of a topic, found by the time of the picture that they belong to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node

from sightplan.model import InputError
from sightplan_nodes import conversions, names
from sightplan_nodes.stamped_images import WAIT_S, StampedImages

_PAIRED_NS = 20_000_000
"""Largest difference of the stamps of picture and depth, for cameras that stamp them apart."""


class DepthImages:
    """The last depth images of a topic."""

    def __init__(self, node: Node, topic: str = names.CAMERA_DEPTH) -> None:
        """Subscribe; what comes is kept by the thread that spins the node."""
        self._node, self._images = node, StampedImages(node, topic)
        self._missed_ns = -1  # stamp of the picture for which depth was awaited in vain

    def close(self) -> None:
        """Unsubscribe."""
        self._images.close()

    def at(self, stamp_ns: int) -> NDArray[np.float32] | None:
        """The depth of a picture; not for the thread that spins the node.

        Args:
            stamp_ns: of the picture [ns].

        Returns:
            (H, W) [m], NaN where unknown; None if there is none of that time, which is logged if
            some was to be expected. Only the first request for a picture waits for it.

        Raises:
            InputError: it cannot be read.
        """
        topic = self._images.topic
        if not self._node.count_publishers(topic):
            return None
        again = stamp_ns == self._missed_ns
        found = self._images.nearest(stamp_ns, _PAIRED_NS, 0.0 if again else WAIT_S)
        if found is None and again:
            return None
        if found is None:
            self._missed_ns = stamp_ns
            self._node.get_logger().warning(
                f'{topic}: there is no depth of world time {stamp_ns} ns; the model is asked '
                'without it')
            return None
        try:
            return conversions.depth_from_msg(found)
        except InputError as error:
            raise InputError(f'{topic}: {error}') from error
