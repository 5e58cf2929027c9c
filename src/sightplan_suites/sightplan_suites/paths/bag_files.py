"""Paths and maps that were recorded: ``nav_msgs/Path`` and grids or costmaps of a rosbag2 bag.

Paths are compared on the newest map that was there when the last of them came, as a node that
listens would have it. A path and its map must be in one frame: no transform (tf) is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sightplan.model import InputError
from sightplan.records.bag import MessageTypes
from sightplan.records.bag_reading import SUFFIXES, Bag, BagMessage, BagTopic
from sightplan_suites.paths.costmaps import Costmap
from sightplan_suites.paths.map_messages import (
    costmap_of_message,
    grid_of_message,
    points_of_path,
)
from sightplan_suites.paths.maps import FloatArray, OccupancyGrid

PATH = 'nav_msgs/msg/Path'
_GRID, _NAV2_COSTMAP = 'nav_msgs/msg/OccupancyGrid', 'nav2_msgs/msg/Costmap'
_MAPS = (_GRID, _NAV2_COSTMAP)
NAV2_DEFINITIONS = Path(__file__).parent / 'nav2_msgs'
"""The .msg files of costmaps, for bags without definitions."""

_UPDATES = '_updates'
"""Ending of the topic of a costmap's updates."""


@dataclass(frozen=True)
class RecordedPath:
    """A path of a bag.

    Attributes:
        topic: that it came on.
        number: how many messages there were on the topic up to it.
        log_ns: when it came [ns since 1970].
        message: a ``nav_msgs/Path``.
        bag: that it is in.
    """

    topic: str
    number: int
    log_ns: int
    message: Any
    bag: Path

    def points(self, frame: str) -> FloatArray:
        """Points (N, 2) of the path.

        Args:
            frame: of the map; '': not known, any will do.

        Raises:
            InputError: it has fewer than two, or is in another frame; names topic, message and
                remedy.
        """
        name = f'{self.bag}: topic {self.topic}: message {self.number}'
        count = len(self.message.poses)
        if count < 2:
            problem = 'has one pose' if count else 'is empty: its planner found none'
            raise InputError(f'{name}: the path {problem} (leave it out with --only)')
        return points_of_path(self.message, frame, name, 'choose a map in the frame of the path '
                              'with --map-topic, or record the path in that of the map: tf is '
                              'not read')


@dataclass(frozen=True)
class RecordedMap:
    """A map of a bag.

    Attributes:
        name: bag and topic, for messages.
        cells: the map.
        warnings: sentences about which map it is.
    """

    name: str
    cells: OccupancyGrid | Costmap
    warnings: tuple[str, ...]


def is_bag(file: Path) -> bool:
    """Whether a file is a folder, or a file of a bag by its name."""
    return file.is_dir() or file.name.removesuffix('.zstd').endswith(SUFFIXES)


def recorded_paths(bag: Bag, topics: Sequence[str] = ()) -> list[RecordedPath]:
    """The paths of a bag, empty ones too, in the order in which they were recorded.

    Args:
        bag: the bag.
        topics: of the paths; (): all topics of paths.

    Raises:
        InputError: a topic is missing or has no paths, or there is no path; names the topics.
    """
    wanted = [_topic(bag, topic, (PATH,), '--path-topic').name for topic in topics]
    wanted = wanted or [topic.name for topic in bag.topics.values() if topic.type == PATH]
    if not wanted:
        raise InputError(f'{bag.path}: no topic is of {PATH} ({_contents(bag)}; record the '
                         'topics of the paths)')
    counts: Counter[str] = Counter()
    found = []
    for message in bag.messages(wanted):
        counts[message.topic] += 1
        found.append(RecordedPath(message.topic, counts[message.topic], message.log_ns,
                                  bag.decode(message), bag.path))
    if not found:
        raise InputError(f'{bag.path}: there is no message on {", ".join(wanted)} (record while '
                         'the planners are asked)')
    return found


def recorded_map(bag: Bag, topic: str | None = None, before_ns: int | None = None) -> RecordedMap:
    """The newest map of a bag at a time, or the first one after it if there was none.

    Args:
        bag: the bag.
        topic: of the map; None: the only topic of maps.
        before_ns: the time, such as that of the last path [ns since 1970]; None: the end.

    Raises:
        InputError: there is no map, or there are several topics of maps, or the topic is none of
            them; names the topics. Or the map cannot be used; names the field.
    """
    chosen = _map_topic(bag) if topic is None else _topic(bag, topic, _MAPS, '--map-topic')
    name = f'{bag.path}: topic {chosen.name}'
    last: BagMessage | None = None
    for message in bag.messages([chosen.name]):
        if last is not None and before_ns is not None and message.log_ns > before_ns:
            break
        last = message
    if last is None:
        raise InputError(f'{name}: there is no message on it (maps are latched: record with their '
                         'durability, transient_local, or name a file of a map before the bag)')
    warnings = []
    if before_ns is not None and last.log_ns > before_ns:
        warnings.append(f'{name}: its first map came {(last.log_ns - before_ns) / 1e9:.3g} s '
                        'after the paths, and is taken')
    if next(bag.messages([f'{chosen.name}{_UPDATES}']), None) is not None:
        warnings.append(f'{name}: its updates are not applied: it may be outdated (set '
                        "always_send_full_costmap on Nav2's costmap, and record again)")
    return RecordedMap(name, _decoded(bag, chosen, last, name), tuple(warnings))


def _decoded(bag: Bag, topic: BagTopic, message: BagMessage, name: str) -> OccupancyGrid | Costmap:
    if topic.type == _GRID:
        return grid_of_message(bag.decode(message), name)
    if topic.definition:
        return costmap_of_message(bag.decode(message), name)
    # Bags of sqlite3 before Jazzy define no types, and nav2_msgs is no common one.
    types = MessageTypes({'nav2_msgs': NAV2_DEFINITIONS}).store
    try:
        costmap = types.deserialize_cdr(message.data, _NAV2_COSTMAP)
    except Exception as error:  # whatever a library makes of damaged bytes
        raise InputError(f'{name}: the message at {message.log_ns} ns is no {topic.type}: '
                         f'{error} (record it again)') from error
    return costmap_of_message(costmap, name)


def _map_topic(bag: Bag) -> BagTopic:
    """The only topic of maps."""
    found = [topic for topic in bag.topics.values() if topic.type in _MAPS]
    if not found:
        raise InputError(f'{bag.path}: no topic has a map, of {" or ".join(_MAPS)} '
                         f'({_contents(bag)}; name a file of a map before the bag)')
    if len(found) > 1:
        raise InputError(f'{bag.path}: {len(found)} topics have maps (choose one with '
                         f'--map-topic: {_named(found)})')
    return found[0]


def _topic(bag: Bag, name: str, types: Sequence[str], option: str) -> BagTopic:
    """The topic of a name, which must be of one of some types."""
    found = bag.topics.get(f'/{name.lstrip("/")}')
    if found is None or found.type not in types:
        problem = 'is not in the bag' if found is None else f'is of {found.type}'
        able = [topic for topic in bag.topics.values() if topic.type in types]
        raise InputError(f'{bag.path}: {option} {name}: the topic {problem} (give one of '
                         f'{" or ".join(types)}: {_named(able) or "the bag has none"})')
    return found


def _contents(bag: Bag) -> str:
    return f'it has {_named(list(bag.topics.values())) or "no topics"}'


def _named(topics: Sequence[BagTopic]) -> str:
    """The first topics with their types."""
    return ', '.join([f'{topic.name} ({topic.type})' for topic in topics[:8]]
                     + ['...'] * (len(topics) > 8))
