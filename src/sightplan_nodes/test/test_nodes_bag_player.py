"""The node bag_player over real rclpy: what it publishes is what was recorded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import serialize_message
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Int32
from std_srvs.srv import Trigger

from nodes_testing import LIMIT_S, eventually, parameters, spinning
from sightplan.model import InputError
from sightplan.records.bag import BagWriter, MessageTypes, Qos
from sightplan.records.bag_messages import message_types
from sightplan.records.bag_reading import Bag, BagMessage, open_bag
from sightplan.records.bag_schedule import played_names
from sightplan_nodes import qos
from sightplan_nodes.bag_player import BagPlayer
from sightplan_nodes.calls import ServiceCaller

BEGIN_S = 1_000_000
COUNT = 50
INT = 'std_msgs/msg/Int32'
EVERY = QoSProfile(depth=1000, reliability=ReliabilityPolicy.RELIABLE)


@pytest.fixture(scope='module')
def types() -> MessageTypes:
    return MessageTypes()


@pytest.fixture
def bag(tmp_path: Path, types: MessageTypes) -> Path:
    """Fifty numbers, one each tenth of a second, on two topics, one of them latched."""
    writer = BagWriter(tmp_path / 'bag', 'none')
    count = writer.add_topic('/count', types.get(INT), Qos(COUNT))
    latched = writer.add_topic('/arm/latched', types.get(INT), Qos(1, 'reliable',
                                                                   'transient_local'))
    for number in range(COUNT):
        data = serialize_message(Int32(data=number))
        writer.write(count, BEGIN_S * 10**9 + number * 10**8, data)
        if number % 10 == 0:
            writer.write(latched, BEGIN_S * 10**9 + number * 10**8 + 1, data)
            writer.flush()
    writer.close()
    return writer.folder


class Listener(Node):
    """Notes what comes."""

    def __init__(self) -> None:
        super().__init__('listener')
        self.got: dict[str, list[int]] = {'count': [], 'arm/latched': []}
        self.times: list[float] = []
        for topic, into in self.got.items():
            self.listen(topic, into)
        self.create_subscription(Clock, '/clock', lambda message: self.times.append(
            message.clock.sec + message.clock.nanosec / 1e9), qos.CLOCK)

    def listen(self, topic: str, into: list[int], profile: QoSProfile = EVERY) -> None:
        self.create_subscription(Int32, topic, lambda message: into.append(message.data), profile)


def player(folder: Path, **values: object) -> BagPlayer:
    return BagPlayer(parameter_overrides=parameters(
        **{'bag': str(folder), 'wait_for': '/count,/arm/latched', **values}))


def play(bag: Path, last: int | None = COUNT - 1, **values: object,
         ) -> tuple[Listener, BagPlayer]:
    """Play to the end, which comes with the number ``last``; None: nothing comes."""
    listener, node = Listener(), player(bag, **values)
    with spinning(listener, node):
        eventually(lambda: node.exit_code is not None, 'the end of the bag')
        assert node.exit_code == 0
        if last is not None:
            eventually(lambda: last in listener.got['count'], 'the last message')
    return listener, node


def test_all_messages_come_in_order_with_their_clock(bag: Path) -> None:
    listener, _ = play(bag, rate=10.0, clock_hz=200.0)
    assert listener.got == {'count': list(range(COUNT)), 'arm/latched': [0, 10, 20, 30, 40]}
    assert len(listener.times) > 5
    assert listener.times == sorted(listener.times)
    assert listener.times[0] >= BEGIN_S
    assert listener.times[-1] <= BEGIN_S + COUNT / 10


def test_a_part_of_the_bag_and_of_its_topics(bag: Path) -> None:
    listener, node = play(bag, rate=100.0, start_s=1.0, topics='count', wait_for='/count',
                          clock_hz=0.0)
    assert listener.got['count'] == list(range(10, COUNT))
    assert listener.got['arm/latched'] == []
    assert listener.times == []
    assert list(node._by_topic) == ['/count']


def test_a_late_start_knows_what_lasts(bag: Path) -> None:
    listener, _ = play(bag, rate=100.0, start_s=2.5)
    assert listener.got == {'count': list(range(25, COUNT)), 'arm/latched': [20, 30, 40]}


@pytest.mark.parametrize('values', [{'start_s': 60.0}, {'start_s': 0.05, 'duration_s': 0.01}])
def test_nothing_to_play_is_told(bag: Path, capfd: pytest.CaptureFixture[str],
                                 values: dict[str, float]) -> None:
    listener, _ = play(bag, None, wait_for='', topics='count', **values)
    assert listener.got['count'] == []
    err = capfd.readouterr().err
    assert 'nothing is played: on /count' in err
    assert f'{4.9 if len(values) == 1 else 0.01:g} s' in err
    assert 'there are the topics /arm/latched, /count' in err


def test_the_clock_does_not_go_back(bag: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that come out of order do not take the clock with them."""
    def mixed(self: Bag, topics: object = None) -> Iterator[BagMessage]:
        messages = list(messages_of(self, {'/count'}))
        return iter([*messages[:20], messages[40], *messages[20:40]])
    messages_of = Bag.messages
    monkeypatch.setattr(Bag, 'messages', mixed)
    node = player(bag, rate=100.0)
    times: list[int] = []
    clock = Mock(publish=lambda message: times.append(message.clock.sec * 10**9
                                                      + message.clock.nanosec))
    monkeypatch.setattr(node, '_time', clock)
    monkeypatch.setattr(node, '_tick_every_s', 0.0)
    listener = Listener()
    with spinning(listener, node):
        eventually(lambda: len(listener.got['count']) == 41, 'all messages')
    assert listener.got['count'] == [*range(20), 40, *range(20, 40)]
    assert times == sorted(times)
    assert times[-1] == (BEGIN_S + 4) * 10**9


def test_a_torn_bag_is_played_up_to_the_tear(bag: Path, capfd: pytest.CaptureFixture[str],
                                             ) -> None:
    (file,) = bag.glob('*.mcap')
    content = file.read_bytes()
    file.write_bytes(content[:content.index(serialize_message(Int32(data=33)))])
    listener, _ = play(bag, 32, rate=100.0)
    assert listener.got['count'] == list(range(33))
    assert listener.got['arm/latched'] == [0, 10, 20, 30]
    assert 'is truncated (its recorder was stopped hard' in capfd.readouterr().err


def test_pause_and_resume(bag: Path) -> None:
    listener, node = Listener(), player(bag, rate=100.0, start_paused=True)
    pause, resume = (ServiceCaller(listener, Trigger, f'bag_player/{name}', 'bag_player')
                     for name in ('pause', 'resume'))
    with spinning(listener, node):
        eventually(lambda: len(listener.times) > 3, 'the clock of a paused bag')
        assert set(listener.times) == {BEGIN_S}
        assert listener.got['count'] == []
        assert resume(Trigger.Request(), LIMIT_S).success
        eventually(lambda: len(listener.got['count']) == COUNT, 'the whole bag')
        assert pause(Trigger.Request(), LIMIT_S).message == 'paused'
        assert node._schedule.paused


def test_a_latched_topic_waits_for_late_joiners(bag: Path) -> None:
    listener, node = Listener(), player(bag, rate=1000.0, loop=True, wait_for='')
    late: list[int] = []
    with spinning(listener, node):
        eventually(lambda: len(listener.got['count']) > 3, 'some messages')
        with node._changed:
            node._schedule.paused = True
        listener.listen('arm/latched', late, QoSProfile(
            depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL,
            reliability=ReliabilityPolicy.RELIABLE))
        eventually(lambda: len(late) >= 1, 'the latched message')


def test_a_loop_begins_again(bag: Path) -> None:
    listener, node = Listener(), player(bag, rate=100.0, loop=True)
    with spinning(listener, node):
        eventually(lambda: listener.got['count'].count(0) > 1, 'the second round')
        assert node.exit_code is None


def test_the_clock_of_the_bag_is_taken(tmp_path: Path, types: MessageTypes) -> None:
    writer = BagWriter(tmp_path / 'bag')
    count = writer.add_topic('/count', types.get(INT), Qos(COUNT))
    clock = writer.add_topic('/clock', types.get('rosgraph_msgs/msg/Clock'), Qos(COUNT))
    for number in range(5):
        message = Clock()
        message.clock.sec = 7 * number
        writer.write(clock, BEGIN_S * 10**9 + number, serialize_message(message))
        writer.write(count, BEGIN_S * 10**9 + number, serialize_message(Int32(data=number)))
    writer.close()
    listener = Listener()
    every: list[int] = []
    listener.create_subscription(Clock, '/clock', lambda m: every.append(m.clock.sec), EVERY)
    node = player(writer.folder, wait_for='/count,/clock')
    with spinning(listener, node):
        eventually(lambda: len(every) == 5, 'the clock')
    assert every == [0, 7, 14, 21, 28]


def test_types_that_are_not_installed_are_left_out(tmp_path: Path, types: MessageTypes,
                                                   capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / 'Own.msg').write_text('int32 data\n')
    own = MessageTypes({'my_msgs': tmp_path}).get('my_msgs/msg/Own')
    writer = BagWriter(tmp_path / 'bag')
    writer.write(writer.add_topic('/own', own), 1, serialize_message(Int32(data=1)))
    writer.close()
    with pytest.raises(InputError, match='none of its topics can be played; there are /own'):
        player(writer.folder)
    assert '/own is not played: my_msgs/msg/Own is not installed' in capfd.readouterr().err


@pytest.mark.parametrize(('values', 'words'), [
    ({'bag': ''}, 'no bag is given'), ({'bag': '/nowhere/at/all'}, 'no such bag'),
    ({'rate': 0.0}, 'rate'), ({'topics': '/walk'}, 'no topic /walk; there are /arm/latched'),
    ({'wait_for': '/walk'}, '/walk is not played'),
    ({'topics': ' , '}, 'names no topic; there are /arm/latched, /count')])
def test_wrong_parameters_are_named(bag: Path, values: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        player(bag, **values)


def test_namespace_and_remapping_apply(bag: Path) -> None:
    listener, got = Listener(), []
    listener.listen('/robot/number', got)
    node = BagPlayer(namespace='/robot', cli_args=['--ros-args', '-r', 'count:=number'],
                     parameter_overrides=parameters(bag=str(bag), rate=100.0, wait_for='count'))
    with spinning(listener, node):
        eventually(lambda: len(got) == COUNT, 'the whole bag')
    assert got == list(range(COUNT))
    assert listener.got['count'] == []


@pytest.mark.parametrize(('space', 'names'), [
    ('', ['arm_1/agent/step', '/clock', 'tf']), ('arm_1', ['agent/step', '/clock', 'tf']),
    ('hall/arm_2', ['agent/step', '/clock', 'tf'])])
def test_a_bag_of_a_namespace_is_played_there_or_in_another(tmp_path: Path, types: MessageTypes,
                                                           space: str, names: list[str]) -> None:
    writer = BagWriter(tmp_path / 'bag')
    for topic, kind in (('/arm_1/agent/step', 'sightplan_interfaces/msg/Step'),
                        ('/arm_1/clock' if space else '/clock', 'rosgraph_msgs/msg/Clock'),
                        ('/tf', 'std_msgs/msg/Int32')):
        writer.add_topic(topic, message_types().get(kind) if 'sightplan' in kind
                         else types.get(kind))
    writer.close()
    played = played_names(open_bag(writer.folder), space)
    assert sorted(played.values()) == sorted(names)


def test_the_process_ends_with_the_bag(bag: Path) -> None:
    command = [sys.executable, '-c', 'from sightplan_nodes.bag_player import main; main()',
               '--ros-args', '-p', f'bag:={bag}', '-p', 'rate:=1000.0']
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert 'the end of the bag: 55 messages were played' in done.stderr


@pytest.mark.parametrize('alone', [False, True])
def test_episodes_are_not_played_where_an_agent_lives(
        tmp_path: Path, types: MessageTypes, capfd: pytest.CaptureFixture[str], alone: bool,
        ) -> None:
    """A recorder there would write them into the run of that agent."""
    writer = BagWriter(tmp_path / 'bag', 'none')
    topic = writer.add_topic('/arm_1/agent/episode', types.get(INT), Qos(COUNT))
    writer.write(topic, BEGIN_S * 10**9, serialize_message(Int32(data=1)))
    writer.close()
    agent = Node('agent', namespace='arm_1' if alone else 'arm_2')
    agent.create_publisher(Int32, 'agent/episode', EVERY)
    node = BagPlayer(namespace='arm_2', parameter_overrides=parameters(bag=str(writer.folder)))
    with spinning(agent, node):
        eventually(lambda: node.exit_code is not None, 'the end of the bag')
    assert node.exit_code == (0 if alone else 1)
    said = '/arm_2/agent/episode is published by /arm_2/agent'
    assert (said in capfd.readouterr().err) == (not alone)
