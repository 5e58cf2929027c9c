"""The node ``bag_player``: a bag's topics, as if they came from where they were recorded."""

from __future__ import annotations

import contextlib
import importlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger

from sightplan.model import InputError, param
from sightplan.records import messages
from sightplan.records.bag_reading import BagMessage, BagTopic, open_bag
from sightplan.records.bag_schedule import CLOCK_TOPIC, Schedule, choose, offer, played_names
from sightplan_nodes import names, qos
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.diagnosis import Diagnosis
from sightplan_nodes.failures import error_text
from sightplan_nodes.parameters import declare_settings
from sightplan_nodes.spin import main as run_main

NAME = names.BAG_PLAYER
_IDLE_S = 0.5  # the longest sleep
_DISCOVERY_S = 1.0
"""Time in which another node that publishes episodes is heard of [s]."""
_ACKNOWLEDGED_S = 5.0  # how long to wait, at the end, until subscribers have what they were sent


@dataclass(frozen=True, slots=True)
class BagPlayerSettings:
    """Parameters of ``bag_player``."""

    bag: str = param('', 'Bag to play: a folder, or a single .mcap or .db3 file; a damaged one is '
                         'played as far as it can be read')
    rate: float = param(1.0, 'Seconds of the bag per second', low=0.001, high=100_000.0)
    start_s: float = param(0.0, 'Seconds of the bag to leave out at its beginning; what latched '
                                'topics held then comes first', low=0.0, high=1e9)
    duration_s: float = param(0.0, 'Seconds of the bag to play; 0: to its end', low=0.0, high=1e9)
    loop: bool = param(False, 'Begin again at the end, or after duration_s; /clock goes back then')
    topics: str = param('', 'Topics to play, as they are named in the bag, separated by commas; '
                            'empty: all whose types are installed')
    wait_for: str = param('', 'Topics, separated by commas, that must have a subscriber before '
                              'play begins')
    clock_hz: float = param(50.0, 'Rate of /clock, unless the bag has its own; 0: none', low=0.0,
                            high=1000.0)
    start_paused: bool = param(False, 'Wait for ~/resume')
    truth: bool = param(False, 'Play ground truth, too, which the agent must not see')


class BagPlayer(Node):
    """Publishes a bag's messages at the intervals at which they were recorded, and ends with it.

    Parameters: see BagPlayerSettings. Serves ``~/pause`` and ``~/resume`` (std_srvs/Trigger) and
    publishes the topics of the bag under their recorded names, or in the node's namespace in place
    of the recorded one (see ``played_names``), with the bag's quality of service, byte for byte.
    Remappings apply. Topics of
    services and actions, ground truth, types that are not installed and types that were recorded
    in another version are left out, which the log tells. Where play begins late (``start_s``),
    the last messages before on latched topics come first, so that every subscriber gets them.

    ``/clock``: a bag that holds ``/clock`` is played with it. For any other one its log times are
    published: the times at which messages were recorded, at which they come again here. Stamps in
    the headers of a simulation are of the simulation's own time and are not changed.
    """

    def __init__(self, **node_arguments: Any) -> None:
        super().__init__(NAME, **node_arguments)
        self.exit_code: int | None = None
        settings = declare_settings(self, BagPlayerSettings)
        if not settings.bag:
            raise InputError(f'{NAME}: no bag is given; give one with bag:=FOLDER_OR_FILE')
        self._bag = open_bag(settings.bag)
        self._shown = 0
        wanted = _names(settings.topics)
        if settings.topics and not wanted:
            raise InputError(f'{NAME}: topics:={settings.topics!r} names no topic; there are '
                             f'{self._topics_there()}')
        topics, left_out = choose(self._bag, wanted, settings.truth)
        self._names = played_names(self._bag, self.get_namespace().strip('/'))
        self._by_topic: dict[str, Publisher] = {}
        for name, topic in topics.items():
            kind = _message_class(topic.type)
            if kind is None:
                left_out[name] = f'{topic.type} is not installed'
            else:
                self._by_topic[name] = self._publisher(topic, kind)
        for name, reason in left_out.items():
            self._say(f'{name} is not played: {reason}')
        if not self._by_topic:
            raise InputError(f'{self._bag.path}: none of its topics can be played'
                             f'{" that were wanted" if wanted else ""}; there are '
                             f'{self._topics_there()}')
        self._time = (self.create_publisher(Clock, CLOCK_TOPIC, qos.CLOCK)
                      if settings.clock_hz and all(self._names[name] != CLOCK_TOPIC
                                                   for name in self._by_topic) else None)
        self._tick_every_s = 1.0 / (settings.clock_hz or 1.0)
        awaited = {name.lstrip('/') for name in _names(settings.wait_for)}
        self._waits_for = [name for name in self._by_topic if name.lstrip('/') in awaited]
        missing = awaited - {name.lstrip('/') for name in self._waits_for}
        if missing:
            raise InputError(f'{NAME}: wait_for: /{", /".join(sorted(missing))} is not played')
        self._changed = threading.Condition()
        self._closing = False
        self._schedule = Schedule(
            lambda: self._bag.messages(self._by_topic), settings.rate, settings.start_s,
            settings.duration_s, settings.loop, settings.start_paused,
            {name: offered.depth for name in self._by_topic
             if (offered := offer(topics[name])).latched})
        self._show_warnings()
        if self._schedule.nothing:
            self._say(f'{self._bag.path}: nothing is played: on {", ".join(self._by_topic)} '
                      f'{self._schedule.nothing}; there are the topics {self._topics_there()}')
        self.create_service(Trigger, '~/pause', self._serve(True))
        self.create_service(Trigger, '~/resume', self._serve(False))
        self.get_logger().info(messages.text(
            f'plays {len(self._by_topic)} topics of {self._bag.path}'
            + (', paused' if settings.start_paused else '')))
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop playing."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(2 * _ACKNOWLEDGED_S)

    def diagnose(self, diagnosis: Diagnosis) -> None:
        """Report the bag and the position in it; see ``Diagnosis``."""
        diagnosis.note(bag=self._bag.path, topics=len(self._by_topic),
                       paused=self._schedule.paused)

    def _topics_there(self) -> str:
        return ', '.join(sorted(self._bag.topics)) or 'none'

    def _publisher(self, topic: BagTopic, kind: type) -> Publisher:
        wanted = offer(topic)
        profile = QoSProfile(
            history=HistoryPolicy.KEEP_ALL if wanted.keep_all else HistoryPolicy.KEEP_LAST,
            depth=wanted.depth,
            reliability=(ReliabilityPolicy.RELIABLE if wanted.reliable
                         else ReliabilityPolicy.BEST_EFFORT),
            durability=(DurabilityPolicy.TRANSIENT_LOCAL if wanted.latched
                        else DurabilityPolicy.VOLATILE))
        return self.create_publisher(kind, self._names[topic.name], profile)

    def _serve(self, pause: bool) -> Any:
        def set_paused(request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            with self._changed:
                self._schedule.advance(time.monotonic())
                self._schedule.paused = pause
                self._changed.notify_all()
            response.success, response.message = True, 'paused' if pause else 'playing'
            return response
        return set_paused

    # In the player's thread.

    def _run(self) -> None:
        try:
            self._check_alone()
            if self._wait_for_subscribers():
                count = self._play()
                self._show_warnings()
                self._say_end(count)
            code = 0
        except Exception as error:
            if not self._closing:
                self.get_logger().fatal(f'{error_text(error)}; play ends')
            code = 1
        self.exit_code = code

    def _check_alone(self) -> None:
        """Refuse to play episodes where an agent lives: its recorder would take them for its own.

        Raises:
            InputError: another node publishes episodes under the names that they would have here.
        """
        played = [publisher.topic_name for name, publisher in self._by_topic.items()
                  if f'/{name}'.endswith(f'/{names.AGENT_EPISODE}')]
        end_s = time.monotonic() + _DISCOVERY_S
        while played and not self._closing and time.monotonic() < end_s:
            for topic in played:
                for one in self.get_publishers_info_by_topic(topic):
                    if (one.node_name, one.node_namespace) != (
                            self.get_name(), self.get_namespace()):
                        where = f'{one.node_namespace.rstrip("/")}/{one.node_name}'
                        raise InputError(
                            f'{topic} is published by {where}, whose recorder would take the '
                            'episodes of the bag for its own; play the bag in another namespace '
                            '(namespace:=NAME) or in another ROS domain (ROS_DOMAIN_ID)')
            with self._changed:
                self._changed.wait(0.1)

    def _wait_for_subscribers(self) -> bool:
        """Wait for subscribers; return False if the node is stopped meanwhile."""
        with self._changed:
            while not self._closing:
                waiting = [name for name in self._waits_for
                           if not self._by_topic[name].get_subscription_count()]
                if not waiting:
                    return True
                self.get_logger().info(f'waits for subscribers of {", ".join(waiting)}', once=True)
                self._changed.wait(0.05)
        return False

    def _play(self) -> int:
        """Publish until the end; returns the number of messages."""
        schedule, count, tick_s = self._schedule, 0, 0.0
        while not self._closing:
            with self._changed:
                now_s = time.monotonic()
                schedule.advance(now_s)
                if schedule.done:
                    break
                time_ns = schedule.time_ns
                message = schedule.take()
                if message is None:
                    due_s = schedule.wait_s()
                    wait_s = _IDLE_S if due_s is None else min(due_s, _IDLE_S)
                    if self._time is not None:
                        wait_s = min(wait_s, max(0.0, tick_s - now_s))
                    if wait_s:
                        self._changed.wait(wait_s)
            if self._time is not None and now_s >= tick_s:
                tick_s = now_s + self._tick_every_s
                self._time.publish(Clock(clock=MESSAGES.time_to_msg(time_ns)))
            if message is not None:
                self._publish(message)
                count += 1
        return count

    def _publish(self, message: BagMessage) -> None:
        self._by_topic[message.topic].publish(message.data)
        if len(self._bag.warnings) > self._shown:
            self._show_warnings()

    def _say_end(self, count: int) -> None:
        if self._closing:
            return
        end_s = time.monotonic() + _ACKNOWLEDGED_S
        for publisher in self._by_topic.values():
            left_s = max(0.0, end_s - time.monotonic())
            with contextlib.suppress(Exception):  # best effort cannot be waited for
                publisher.wait_for_all_acked(Duration(seconds=left_s))
        self.get_logger().info(f'the end of the bag: {count} messages were played')

    def _show_warnings(self) -> None:
        warnings = self._bag.warnings
        for text in warnings[self._shown:]:
            self._say(text)
        self._shown = len(warnings)

    def _say(self, text: str) -> None:
        self.get_logger().warning(messages.text(text))


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for name in (part.strip() for part in text.split(',')) if name)


def _message_class(name: str) -> type | None:
    """The class of an installed message type."""
    package, _, kind = name.split('/')
    try:
        found = getattr(importlib.import_module(f'{package}.msg'), kind, None)
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def main(args: Sequence[str] | None = None) -> None:
    """Run the node."""
    run_main(BagPlayer, args)
