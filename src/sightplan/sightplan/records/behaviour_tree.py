"""The status log of a behaviour tree in a bag: ``nav2_msgs/msg/BehaviorTreeLog``.

Nav2 and other users of BehaviorTree.CPP publish which nodes of their tree changed their status.
The type need not be installed: it is decoded by the definition that the bag has of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sightplan.model import InputError
from sightplan.records.bag_reading import Bag
from sightplan.records.messages import text, time_from_msg

TYPE = 'nav2_msgs/msg/BehaviorTreeLog'


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node of a behaviour tree changed its status.

    Attributes:
        node: its name.
        before: status before, such as ``IDLE``.
        after: status after: ``RUNNING``, ``SUCCESS``, ``FAILURE`` or ``IDLE``.
        stamp_ns: time of the change, by the clock of the tree [ns].
        log_ns: time at which the message was recorded [ns since 1970].
        topic: topic of the message.
    """

    node: str
    before: str
    after: str
    stamp_ns: int
    log_ns: int
    topic: str


def read_tree(bag: Bag) -> tuple[list[NodeChange], list[str]]:
    """All changes in a bag, in the order in which they were recorded; and what is wrong with some.

    Raises:
        InputError: a file of the bag is damaged.
    """
    names = [name for name, topic in bag.topics.items() if topic.type == TYPE]
    changes: list[NodeChange] = []
    warnings: dict[str, None] = {}
    for message in bag.messages(names) if names else ():
        try:
            changes += _changes(bag.decode(message), message.log_ns, message.topic)
        except (InputError, AttributeError, TypeError, ValueError) as error:
            warnings[f'the status log of the behaviour tree on {message.topic} cannot be read: '
                     f'{error}'] = None
    return changes, list(warnings)


def _changes(message: Any, log_ns: int, topic: str) -> list[NodeChange]:
    return [NodeChange(text(one.node_name), text(one.previous_status), text(one.current_status),
                       time_from_msg(one.timestamp), log_ns, topic)
            for one in message.event_log]
