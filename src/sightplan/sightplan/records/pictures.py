"""The pictures of a bag, found by their time and id, and decoded on demand."""

from __future__ import annotations

import contextlib
import functools
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightplan.grounding.views import alter
from sightplan.model import (
    GOAL_NS,
    Alteration,
    InfrastructureError,
    InputError,
    Observation,
)
from sightplan.records import topics
from sightplan.records.bag_reading import Bag, BagMessage, Place, open_bag
from sightplan.records.messages import image_from_msg, raw_stamp_ns

_ORDER = (topics.CAMERA_LABELLED, topics.CAMERA_IMAGE)
"""Topics to search for a picture; the labelled one, which a model was shown, comes first."""

_HELD_BYTES = 64_000_000
"""So much of a bag's pictures is kept from the first search, some seventy of 640x480 pixels: to
find one again costs reading a compressed chunk of the file twice."""


class _Place(NamedTuple):
    """Place of a picture: rank of its topic among those that may show the same, and position."""

    rank: int
    topic: str
    log_ns: int
    place: Place


class Pictures:
    """Finds the pictures of a bag.

    The first search reads all headers once; pixels are decoded one picture at a time, and those
    used last are kept (0.9 MB each at 640x480), and the data of a small bag. All topics of images
    are searched, because those of a real camera may have any name; our own names, and those in
    the namespace, come first.
    """

    def __init__(self, bag: Bag, most: int = 16) -> None:
        """Name the bag; nothing is read yet.

        Args:
            bag: open.
            most: most pictures that are kept decoded.
        """
        self._bag = bag
        self._held: dict[Place, bytes] = {}
        self._decoded = functools.lru_cache(most)(functools.partial(_decode, bag, self._held))

    def find(self, stamp_ns: int, image_id: str = '', namespace: str = '',
             altered: Alteration | None = None) -> NDArray[np.uint8] | None:
        """Return the picture of a time.

        Args:
            stamp_ns: in its header [ns]; GOAL_NS: that of the goal.
            image_id: if given, a picture of that time with another id does not count.
            namespace: of the robot; pictures of its own topics are preferred.
            altered: how it was made of a picture of the bag; None: it is one.

        Returns:
            (H, W, 3) uint8 RGB, read-only; None if the bag has no such picture.
        """
        places = sorted(self._index.get(stamp_ns, ()), key=lambda place: (
            not place.topic.startswith(f'{namespace}/'), place.rank))
        for place in places:
            found = self._decoded(place)
            if found is not None and altered is not None:
                image = alter(found[0], altered)
                image.flags.writeable = False
                found = image, Observation(image).image_id
            if found is not None and image_id in ('', found[1]):
                return found[0]
        return None

    @functools.cached_property
    def _index(self) -> dict[int, list[_Place]]:
        """Time in the header to the pictures of that time; GOAL_NS to those of goals."""
        ranks = {}
        for name, topic in self._bag.topics.items():
            if topic.type == topics.IMAGE_TYPE:
                known = topics.relative(name, _ORDER)
                ranks[name] = len(_ORDER) if known is None else _ORDER.index(known[1])
        index: defaultdict[int, list[_Place]] = defaultdict(list)
        size = 0
        for message in self._bag.messages(ranks) if ranks else ():
            size += len(message.data)
            with contextlib.suppress(InputError):
                goal = topics.relative(message.topic, (topics.GOAL_IMAGE,)) is not None
                index[GOAL_NS if goal else raw_stamp_ns(message.data)].append(_Place(
                    ranks[message.topic], message.topic, message.log_ns, message.place))
                if size <= _HELD_BYTES:
                    self._held[message.place] = message.data
        return index


def _decode(bag: Bag, held: Mapping[Place, bytes], place: _Place,
            ) -> tuple[NDArray[np.uint8], str] | None:
    """Picture and its id; None for what cannot be shown, such as depth."""
    try:
        data = held.get(place.place) or bag.data(place.place)
        message = bag.decode(BagMessage(place.topic, place.log_ns, data))
        image = image_from_msg(message)
    except (InputError, InfrastructureError):
        return None
    return image, Observation(image).image_id


def bag_image(bag: Path, stamp_ns: int, image_id: str = '') -> NDArray[np.uint8] | None:
    """The picture of a time in a bag, as ``Pictures.find``; None also if there is no bag."""
    try:
        return Pictures(open_bag(bag)).find(stamp_ns, image_id)
    except InputError:
        return None
