"""When messages are due while a bag is played."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bag_cases import STRING, known_types, texts
from sightplan.model import InputError
from sightplan.records.bag import BagWriter, MessageTypes, Qos, TopicType
from sightplan.records.bag_reading import BagMessage, BagTopic, open_bag
from sightplan.records.bag_schedule import LEAST_ROUND_S, Offer, Schedule, choose, offer

SECOND = 10**9
BEGIN = 1000 * SECOND


def schedule(seconds: list[float], **options: float | bool) -> Schedule:
    def messages() -> Iterator[BagMessage]:
        return iter([BagMessage('/a', BEGIN + int(s * SECOND), b'') for s in seconds])
    return Schedule(messages, **options)  # type: ignore[arg-type]


def given_until(played: Schedule, now_s: float) -> list[float]:
    """Seconds, from the first of the bag, of the messages that come by a time."""
    played.advance(now_s)
    found = []
    while (message := played.take()) is not None:
        found.append((message.log_ns - BEGIN) / SECOND)
    return found


def test_messages_come_at_their_intervals() -> None:
    played = schedule([0.0, 0.5, 0.5, 2.0])
    assert given_until(played, 7.0) == [0.0]
    assert played.wait_s() == 0.5
    assert given_until(played, 7.4) == []
    assert played.wait_s() == pytest.approx(0.1)
    assert given_until(played, 7.5) == [0.5, 0.5]
    assert not played.done
    assert given_until(played, 9.0) == [2.0]
    assert played.done
    assert played.wait_s() is None


def test_rate_start_and_duration() -> None:
    played = schedule([0.0, 1.0, 2.0, 3.0, 4.0], rate=2.0, start_s=0.5, duration_s=2.6)
    assert given_until(played, 0.0) == []
    assert played.time_ns == BEGIN + SECOND // 2
    assert played.wait_s() == 0.25
    assert given_until(played, 0.5) == [1.0]
    assert given_until(played, 1.3) == [2.0, 3.0]
    assert played.done


def test_paused_time_stands() -> None:
    played = schedule([0.0, 1.0], paused=True)
    assert given_until(played, 0.0) == []
    assert played.wait_s() is None
    assert given_until(played, 50.0) == []
    played.paused = False
    assert given_until(played, 50.0) == [0.0]
    assert given_until(played, 50.5) == []
    played.paused = True
    assert given_until(played, 60.0) == []
    assert played.time_ns == BEGIN + SECOND // 2
    played.paused = False
    assert given_until(played, 60.4) == []
    assert given_until(played, 60.5) == [1.0]


def test_begins_again() -> None:
    played = schedule([0.0, 1.0], loop=True)
    assert given_until(played, 0.0) == [0.0]
    assert given_until(played, 0.9) == []
    assert given_until(played, 1.0) == [1.0, 0.0]
    assert played.time_ns == BEGIN
    assert not played.done
    assert given_until(played, 1.5) == []


def test_whoever_was_asleep_does_not_run() -> None:
    """After ten lost seconds, not all of them come at once."""
    played = schedule([0.0, *(0.1 * n for n in range(1, 120))])
    assert given_until(played, 0.0) == [0.0]
    assert len(given_until(played, 10.0)) == 11
    assert played.wait_s() == pytest.approx(0.1, abs=0.01)


def test_nothing_to_play() -> None:
    for options in ({}, {'loop': True}, {'start_s': 5.0}, {'start_s': 5.0, 'loop': True}):
        played = schedule([] if options.get('start_s') is None else [0.0, 1.0], **options)
        assert played.done
        assert given_until(played, 1.0) == []


@pytest.mark.parametrize('seconds', [[0.0], [0.0, 0.0]])
def test_a_loop_over_no_time_waits(seconds: list[float]) -> None:
    played = schedule(seconds, loop=True, rate=3.0)
    played.advance(0.0)
    assert [played.take() is not None for _ in range(4)] == [
        n < len(seconds) for n in range(4)]
    assert played.wait_s() == pytest.approx(LEAST_ROUND_S)
    assert given_until(played, 0.09) == []
    assert [played.take() is not None for _ in range(2)] == [False, False]
    played.advance(0.11)
    assert [played.take() is not None for _ in range(4)] == [
        n < len(seconds) for n in range(4)]


def test_the_duration_is_waited_out() -> None:
    played = schedule([0.0, 1.0, 9.0], duration_s=3.0)
    assert given_until(played, 0.0) == [0.0]
    assert given_until(played, 1.0) == [1.0]
    assert (played.done, played.wait_s()) == (False, 2.0)
    played.advance(2.0)
    assert played.time_ns == BEGIN + 2 * SECOND
    assert given_until(played, 3.0) == []
    assert played.done
    for seconds in ([0.0, 1.0, 9.0], [0.0, 1.0]):
        played = schedule(seconds, duration_s=3.0, loop=True)
        assert [given_until(played, now) for now in (0, 1, 2, 2.9, 3, 4)] == [
            [0.0], [1.0], [], [], [0.0], [1.0]]


def test_a_duration_longer_than_the_bag_ends_with_it() -> None:
    played = schedule([0.0, 1.0], duration_s=3.0)
    assert given_until(played, 0.0) == [0.0]
    assert given_until(played, 1.0) == [1.0]
    assert played.done


def test_what_lasts_is_given_first() -> None:
    """The last latched messages before the start come at it, in their order; again each round."""
    topics = ['/plan', '/b', '/log', '/log', '/plan', '/log', '/b', '/plan', '/b']

    def messages() -> Iterator[BagMessage]:
        return iter([BagMessage(topic, BEGIN + n * SECOND, b'')
                     for n, topic in enumerate(topics)])
    played = Schedule(messages, start_s=5.5, loop=True, latched={'/plan': 1, '/log': 2})
    for now, end in ((0, []), (2.5, [8.0])):
        assert given_until(played, now) == [*end, 3.0, 4.0, 5.0]
        assert played.time_ns == BEGIN + 5.5 * SECOND
        assert given_until(played, now + 0.5) == [6.0]
        played.advance(now + 1.5)
        assert played.take() == BagMessage('/plan', BEGIN + 7 * SECOND, b'')
    assert Schedule(messages, start_s=100.0, latched={'/plan': 1}).done


def test_why_there_is_nothing_to_play() -> None:
    assert schedule([0.0, 2.5], start_s=2.5).nothing == ''
    assert 'comes 2.5 s after the first, play begins at 3 s' in schedule(
        [0.0, 2.5], start_s=3.0).nothing
    assert schedule([]).nothing == 'there is no message'
    gap = schedule([0.0, 2.5], start_s=1.0, duration_s=0.5)
    assert gap.nothing == 'there is no message in the 0.5 s from 1 s on'
    assert gap.done


@given(seconds=st.lists(st.floats(0, 5), max_size=20),
       steps=st.lists(st.floats(0, 0.9), max_size=40), rate=st.sampled_from([0.5, 1.0, 3.0]))
def test_time_never_goes_back_nor_ahead(seconds: list[float], steps: list[float],
                                        rate: float) -> None:
    played = schedule(seconds, rate=rate)
    now, times, got, highest = 0.0, [0], [], 0
    for step in steps:
        now += step
        played.advance(now)
        while True:
            times.append(played.time_ns)
            message = played.take()
            if message is None:
                break
            highest = max(highest, message.log_ns)
            assert highest >= times[-1]
            got.append(message)
    assert times == sorted(times)
    assert got == [BagMessage('/a', BEGIN + int(s * SECOND), b'') for s in seconds[:len(got)]]


def test_offers_suit_every_subscriber() -> None:
    def of(*profiles: dict[str, object]) -> Offer:
        return offer(BagTopic('/a', STRING, qos=profiles))
    assert of() == Offer()
    assert of(Qos(7, 'best_effort').as_metadata()) == Offer(False, False, False, 7)
    assert of(Qos(1, 'reliable', 'transient_local').as_metadata(),
              Qos(3, 'best_effort').as_metadata()) == Offer(True, True, False, 3)
    assert of({'history': 'keep_all', 'depth': 0}) == Offer(True, False, True, 10)
    assert of({'depth': 2**60, 'reliability': 'unknown'}) == Offer()


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A bag with all that cannot be played, and one topic that can."""
    (tmp_path / 'msg').mkdir()
    (tmp_path / 'msg' / 'Atom.msg').write_text('string name\nint32 answer\n')
    old = MessageTypes({'sightplan_interfaces': tmp_path / 'msg'})
    string = known_types().get(STRING)
    writer = BagWriter(tmp_path / 'b')
    for name, kind in (
            ('/arm/talk', string), ('/old', old.get('sightplan_interfaces/msg/Atom')),
            ('/metrics_recorder/truth', TopicType('sightplan_interfaces/msg/Truth', '', '')),
            ('/move/_action/feedback', string), ('/ask/_service_event', string),
            *((name, string) for name in ('/*', '/arm/[ab]', '/x?', '/a\x01', '')),
            ('/event', TopicType('std_srvs/srv/Empty_Event', '', '')),
            ('/typeless', TopicType('', '', ''))):
        writer.write(writer.add_topic(name, kind), 1, texts('x'))
    number = writer._mcap.add_channel('/json', STRING, '')
    writer._mcap._channels[number] = replace(writer._mcap._channels[number], encoding='json')
    writer.close()
    return writer.folder


def test_only_what_is_safe_is_played(mixed: Path) -> None:
    bag = open_bag(mixed)
    chosen, left_out = choose(bag)
    assert list(chosen) == ['/arm/talk']
    assert 'another version' in left_out['/old']
    assert 'ground truth' in left_out['/metrics_recorder/truth']
    for name in ('/move/_action/feedback', '/ask/_service_event', '/event'):
        assert 'service or an action' in left_out[name]
    for name in ('/*', '/arm/[ab]', '/x?', '/a\x01', ''):
        assert 'no topic of such a name' in left_out[name]
    assert 'type is lost' in left_out['/typeless']
    assert "serialized as 'json'" in left_out['/json']
    assert '/metrics_recorder/truth' in choose(bag, truth=True)[0]


def test_truth_is_not_played_even_if_named(mixed: Path) -> None:
    chosen, left_out = choose(open_bag(mixed), ('metrics_recorder/truth', '/arm/talk'))
    assert list(chosen) == ['/arm/talk']
    assert list(left_out) == ['/metrics_recorder/truth']


def test_an_unknown_topic_is_named(mixed: Path) -> None:
    with pytest.raises(InputError, match=r'no topic /walk; there are .*/arm/talk'):
        choose(open_bag(mixed), ('walk',))
