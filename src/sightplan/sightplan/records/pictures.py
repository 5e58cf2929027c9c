"""The pictures of a bag, found by their time and their id, decoded when they are wanted."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sightplan.model import InfrastructureError, InputError, Observation
from sightplan.records import topics
from sightplan.records.bag_reading import Bag, BagMessage, Place, open_bag
from sightplan.records.messages import image_from_msg, raw_stamp_ns

_ORDER = (topics.CAMERA_LABELLED, topics.CAMERA_IMAGE)
"""What a model was shown comes first."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a picture is: rank of its topic among those that may show the same, and position."""

    rank: int
    topic: str
    log_ns: int
    place: Place


class Pictures:
    """Finds the pictures of a bag.

    The first search reads all headers once; pixels are decoded one picture at a time, and those
    used last are kept (0.9 MB each at 640x480). All topics of images are searched, because those
    of a real camera may have any name; our own names, and those in the namespace, come first.
    """

    def __init__(self, bag: Bag, most: int = 16) -> None:
        """Name the bag; nothing is read yet.

        Args:
            bag: open.
            most: so many pictures are kept decoded.
        """
        self._bag, self._most = bag, most
        self._index: dict[int, list[_Place]] | None = None
        self._decoded: OrderedDict[Place, tuple[NDArray[np.uint8], str]] = OrderedDict()

    def find(self, stamp_ns: int, image_id: str = '', namespace: str = '',
             ) -> NDArray[np.uint8] | None:
        """The picture of a time.

        Args:
            stamp_ns: in its header [ns].
            image_id: if given, a picture of that time with another id does not count.
            namespace: of the robot that looked; pictures of its own topics are preferred.

        Returns:
            (H, W, 3) uint8 RGB, read-only; None if the bag has no such picture.
        """
        if self._index is None:
            self._index = self._read_index()
        places = sorted(self._index.get(stamp_ns, ()), key=lambda place: (
            not place.topic.startswith(f'{namespace}/'), place.rank))
        for place in places:
            found = self._decode(place)
            if found is not None and image_id in ('', found[1]):
                return found[0]
        return None

    def _read_index(self) -> dict[int, list[_Place]]:
        ranks = {}
        for name, topic in self._bag.topics.items():
            if topic.type == topics.IMAGE_TYPE:
                known = topics.relative(name, _ORDER)
                ranks[name] = len(_ORDER) if known is None else _ORDER.index(known[1])
        index: dict[int, list[_Place]] = {}
        for message in self._bag.messages(ranks) if ranks else ():
            with contextlib.suppress(InputError):
                index.setdefault(raw_stamp_ns(message.data), []).append(_Place(
                    ranks[message.topic], message.topic, message.log_ns, message.place))
        return index

    def _decode(self, place: _Place) -> tuple[NDArray[np.uint8], str] | None:
        """Picture and its id; None for what cannot be shown, such as depth."""
        if place.place in self._decoded:
            self._decoded.move_to_end(place.place)
            return self._decoded[place.place]
        try:
            message = self._bag.decode(BagMessage(place.topic, place.log_ns,
                                                  self._bag.data(place.place)))
            image = image_from_msg(message)
        except (InputError, InfrastructureError):
            return None
        self._decoded[place.place] = image, Observation(image).image_id
        while len(self._decoded) > self._most:
            self._decoded.popitem(last=False)
        return self._decoded[place.place]


def bag_image(bag: Path, stamp_ns: int, image_id: str = '') -> NDArray[np.uint8] | None:
    """The picture of a time in a bag, as ``Pictures.find``; None also if there is no bag."""
    try:
        return Pictures(open_bag(bag)).find(stamp_ns, image_id)
    except InputError:
        return None
