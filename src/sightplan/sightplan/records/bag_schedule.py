"""Schedule of a bag's messages while it is played; needs no ROS, threads or clock."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sightplan.model import InputError, is_ros_name
from sightplan.records.bag_reading import CDR, Bag, BagMessage, BagTopic, outdated
from sightplan.records.topics import RECORDED, TRUTH, relative

CLOCK_TOPIC = '/clock'
_CLOCK_TYPE = 'rosgraph_msgs/msg/Clock'
LEAST_ROUND_S = 0.1
"""Least duration [s of the player] of one round of a loop, however short the bag."""

_NOT_MESSAGES = ('/_action/', '/_service_event')


class Schedule:
    """Plays a bag: gives each message when its time has come.

    The time of the bag runs ``rate`` times as fast as the player's own. It stands while play is
    paused, and never runs ahead of a message that was not taken yet, so a late caller also delays
    the bag's clock. It goes back only where a loop begins again: a message that was recorded out
    of order is due together with the message before it.

    Attributes:
        nothing: reason why there is no message to play; '' if there is one.
    """

    def __init__(self, messages: Callable[[], Iterator[BagMessage]], rate: float = 1.0,
                 start_s: float = 0.0, duration_s: float = 0.0, loop: bool = False,
                 paused: bool = False, latched: Mapping[str, int] | None = None) -> None:
        """Prepare to play; time runs from the first ``advance`` on.

        Args:
            messages: gives all messages, in the order of their times, each time it is called.
            rate: seconds of the bag per second.
            start_s: seconds of the bag to leave out at its beginning.
            duration_s: seconds of the bag to play; 0: to its end. A loop lasts that long even if
                the bag ends before.
            loop: begin again at the end; a round takes at least ``LEAST_ROUND_S``.
            paused: wait until ``paused`` is set to False.
            latched: topic to how many of its messages last; that many of the last ones before
                ``start_s`` are given first, at once.
        """
        self._messages, self._rate, self._loop = messages, rate, loop
        self._start_ns, self._duration_ns = int(start_s * 1e9), int(duration_s * 1e9)
        self._latched = dict(latched or {})
        self.paused = paused
        self._played_ns = 0.0  # time of the bag since its first message that is played
        self._last_s: float | None = None
        self._first_ns = 0  # log time of the first message that is played
        self._rest: Iterator[BagMessage] = iter(())
        self._next: BagMessage | None = None
        self._due_ns = 0.0  # when the next message is due, or the end; as _played_ns
        self._rewind()

    @property
    def done(self) -> bool:
        """Whether all has been given, and its time is over."""
        return self._next is None and (
            bool(self.nothing) or (not self._loop and self._played_ns >= self._due_ns))

    @property
    def time_ns(self) -> int:
        """Present time of the bag [ns since 1970]."""
        return self._first_ns + int(min(self._played_ns, self._due_ns))

    def advance(self, now_s: float) -> None:
        """Let the player's time go on to ``now_s`` [s], of any clock that never goes back."""
        if self._last_s is not None and not self.paused:
            # More than a second late: what is lost is not made up for at a run.
            self._played_ns = min(self._played_ns + (now_s - self._last_s) * 1e9 * self._rate,
                                  self._due_ns + self._rate * 1e9)
        self._last_s = now_s

    def take(self) -> BagMessage | None:
        """Return the next message if it is due, else None."""
        if self.done or self.paused or self._played_ns < self._due_ns:
            return None
        if self._next is None:
            self._rewind()
            return self.take()
        message = self._next
        self._step()
        return message

    def wait_s(self) -> float | None:
        """Return the time until the next message or the end is due [s]; None if paused or done."""
        if self.done or self.paused:
            return None
        return max(0.0, (self._due_ns - self._played_ns) / 1e9 / self._rate)

    def _rewind(self) -> None:
        self._rest = self._messages()
        self._next, self._played_ns, self._due_ns = None, 0.0, 0.0
        message = next(self._rest, None)
        if message is None:
            self.nothing = 'there is no message'
            return
        begin_ns = last_ns = message.log_ns
        self._first_ns = begin_ns + self._start_ns
        before: dict[str, deque[BagMessage]] = {
            topic: deque(maxlen=depth) for topic, depth in self._latched.items()}
        while message is not None and message.log_ns < self._first_ns:
            last_ns = max(last_ns, message.log_ns)
            if message.topic in before:
                before[message.topic].append(message)
            message = next(self._rest, None)
        if message is None:
            self.nothing = (f'the last message comes {(last_ns - begin_ns) / 1e9:g} s after the '
                            f'first, play begins at {self._start_ns / 1e9:g} s')
            return
        lasting = sorted(itertools.chain(*before.values()), key=lambda m: m.log_ns)
        self._rest = itertools.chain(lasting, [message], self._rest)
        self._step()
        self.nothing = '' if self._next is not None else (
            f'there is no message in the {self._duration_ns / 1e9:g} s from '
            f'{self._start_ns / 1e9:g} s on')

    def _step(self) -> None:
        self._next = next(self._rest, None)
        goes_on = self._next is not None
        if self._next is not None:
            due_ns = max(self._due_ns, self._next.log_ns - self._first_ns)
            if not self._duration_ns or due_ns <= self._duration_ns:
                self._due_ns = due_ns
                return
            self._next = None
        if goes_on or self._loop:
            self._due_ns = max(self._due_ns, self._duration_ns)
        if self._loop:
            self._due_ns = max(self._due_ns, LEAST_ROUND_S * self._rate * 1e9)


@dataclass(frozen=True, slots=True)
class Offer:
    """The quality of service with which a topic is played.

    Attributes:
        reliable, latched, keep_all: see ROS; latched is ``transient_local``.
        depth: depth of the history, for ``keep_last``.
    """

    reliable: bool = True
    latched: bool = False
    keep_all: bool = False
    depth: int = 10


def offer(topic: BagTopic) -> Offer:
    """Return the strongest offer of a topic's recorded publishers; it suits every subscriber."""
    if not topic.qos:
        return Offer()

    def any_is(name: str, value: str) -> bool:
        return any(profile.get(name) == value for profile in topic.qos)

    depths = [depth for profile in topic.qos
              if isinstance(depth := profile.get('depth'), int) and 0 < depth <= 10_000]
    best_effort = all(profile.get('reliability') == 'best_effort' for profile in topic.qos)
    return Offer(not best_effort, any_is('durability', 'transient_local'),
                 any_is('history', 'keep_all'), max(depths, default=10))


def choose(bag: Bag, wanted: tuple[str, ...] = (), truth: bool = False,
           ) -> tuple[dict[str, BagTopic], dict[str, str]]:
    """Choose the topics of a bag that can be played.

    Args:
        bag: the bag.
        wanted: names of topics, with or without the leading slash; empty: all.
        truth: whether ground truth may be played, which the agent must not see.

    Returns:
        The topics by name; and the others that were wanted, each with the reason.

    Raises:
        InputError: a wanted topic is not in the bag; names those that are.
    """
    names = {name.lstrip('/') for name in wanted}
    unknown = {f'/{name}' for name in names - {topic.lstrip('/') for topic in bag.topics}}
    if unknown:
        raise InputError(f'{bag.path}: there is no topic {", ".join(sorted(unknown))}; there are '
                         f'{", ".join(sorted(bag.topics)) or "none"}')
    chosen: dict[str, BagTopic] = {}
    left_out: dict[str, str] = {}
    for name, topic in sorted(bag.topics.items()):
        if names and name.lstrip('/') not in names:
            continue
        reason = _unplayable(topic, truth)
        if reason:
            left_out[name] = reason
        else:
            chosen[name] = topic
    return chosen, left_out


def played_names(bag: Bag, namespace: str = '') -> dict[str, str]:
    """Return the name that each topic of a bag is played under.

    Without a namespace that is the recorded name. In a namespace it is the same name there; the
    namespace in which a graph was recorded is replaced, so that the bag of one robot can be played
    for another. Clocks become CLOCK_TOPIC.

    Args:
        bag: the bag.
        namespace: of the player, without slashes around it.

    Returns:
        Recorded name to a name that is relative to the root or to the namespace; or CLOCK_TOPIC.
    """
    recorded = {found[0] for name in bag.topics if (found := relative(name)) is not None}
    before = f'{recorded.pop()}/' if namespace and len(recorded) == 1 else '/'

    def played(name: str) -> str:
        own = name.removeprefix(before if name.startswith(before) else '/')
        clock = own == CLOCK_TOPIC[1:] and bag.topics[name].type == _CLOCK_TYPE
        return CLOCK_TOPIC if clock else own.lstrip('/')
    return {name: played(name) for name in bag.topics}


def _unplayable(topic: BagTopic, truth: bool) -> str:
    if any(part in topic.name for part in _NOT_MESSAGES) or topic.type.count('/msg/') != 1:
        return 'it belongs to a service or an action' if topic.type else 'its type is lost'
    if not is_ros_name(topic.name):
        return 'ROS has no topic of such a name'
    if topic.coding != CDR:
        return f'it is serialized as {topic.coding!r}, not as {CDR!r}'
    if topic.type == RECORDED[TRUTH] and not truth:
        return 'it is ground truth, which the agent must not see (truth:=true plays it)'
    if outdated(topic.type, topic.definition, topic.encoding):
        return (f'{topic.type} was recorded in another version than the one known here, so '
                'subscribers would misread it')
    return ''
