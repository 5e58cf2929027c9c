"""Reading rosbag2 bags (MCAP and sqlite3) without ROS, damaged ones as far as they go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class BagTopic:
    """A topic of a bag.

    Attributes:
        name: absolute, as recorded, for example ``/camera/image_raw``.
        type: for example ``sensor_msgs/msg/Image``.
        definition: text of the type and of all it uses; '' where the bag has none.
        qos: the offered profiles, as metadata.yaml has them.
    """

    name: str
    type: str
    definition: str = ''
    qos: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class BagMessage:
    """A serialized message of a bag.

    Attributes:
        topic: name of its topic.
        log_ns: when it was recorded [ns since 1970].
        data: CDR, with its four bytes of header.
    """

    topic: str
    log_ns: int
    data: bytes


@dataclass
class Bag:
    """One bag, open for reading.

    Attributes:
        path: the folder, or the single file.
        topics: by name.
        complaints: what is wrong with it, in words; grows while it is read.
    """

    path: Path
    topics: Mapping[str, BagTopic] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def messages(self, topics: Collection[str] | None = None) -> Iterator[BagMessage]:
        """The messages of some topics, or of all, in the order of their times."""
        raise NotImplementedError

    def decode(self, message: BagMessage) -> Any:
        """A message as a dataclass of ``rosbags``.

        Raises:
            InputError: its type is unknown, or its data do not fit the type.
        """
        raise NotImplementedError


def find_bags(path: Path | str) -> list[Path]:
    """The bags at or below a path: a bag, a file of one, a run, a sweep, or any folder of these.

    Raises:
        InputError: there is none; names the path and the remedy.
    """
    raise NotImplementedError


def open_bag(path: Path | str) -> Bag:
    """Open a bag: a folder with or without ``metadata.yaml``, or a single .mcap or .db3 file.

    Raises:
        InputError: it is not there, or nothing of it can be read.
    """
    raise NotImplementedError
