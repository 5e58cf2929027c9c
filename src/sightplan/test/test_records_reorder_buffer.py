"""Messages that overtake each other are put in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sightplan.records import topics
from sightplan.records.bag_messages import BagMessages
from sightplan.records.messages import ENDED, STARTED
from sightplan.records.reorder_buffer import Arrival, ReorderBuffer

MAKE = BagMessages()


def event(episode_id: str, sequence: int, kind: int = 0) -> Arrival:
    topic, fields = (topics.AGENT_EPISODE, {'kind': kind}) if kind else (topics.AGENT_STEP, {})
    message = MAKE(topics.EVENTS[topic], episode_id=episode_id, sequence=sequence, **fields)
    return Arrival(topic, message, b'', 0)


def episode(episode_id: str, length: int) -> list[Arrival]:
    return [event(episode_id, 0, STARTED),
            *(event(episode_id, number) for number in range(1, length)),
            event(episode_id, length, ENDED)]


@given(st.permutations(range(7)))
def test_any_order_becomes_the_right_one(order: list[int]) -> None:
    buffer = ReorderBuffer()
    messages = episode('a', 6)
    out = [ready.message.sequence for index in order for ready in buffer.add(messages[index])]
    assert out == list(range(7))
    assert buffer.add(messages[3]) == [], 'the episode is over'


@given(st.permutations(range(5)), st.permutations(range(5)), st.lists(st.booleans(), max_size=9))
def test_episodes_do_not_mix(one: list[int], two: list[int], turns: list[bool]) -> None:
    buffer = ReorderBuffer()
    first, second = episode('a', 4), episode('b', 4)
    queues = [[first[i] for i in one], [second[i] for i in two]]
    out: dict[str, list[int]] = {'a': [], 'b': []}
    for turn in [*turns, *([False] * 5), *([True] * 5)]:
        if queues[turn]:
            for ready in buffer.add(queues[turn].pop(0)):
                out[ready.message.episode_id].append(ready.message.sequence)
    assert out == {'a': [0, 1, 2, 3, 4], 'b': [0, 1, 2, 3, 4]}


def test_a_gap_is_noticed_at_the_end() -> None:
    buffer = ReorderBuffer()
    messages = episode('a', 4)
    for index in (0, 1, 3):
        buffer.add(messages[index])
    assert buffer.gap('a') is None, 'it may still come'
    buffer.add(messages[4])
    assert buffer.gap('a') == (2, 4)
    buffer.finish('a')
    assert buffer.gap('a') is None
    assert buffer.add(messages[2]) == []


def test_duplicates_are_dropped() -> None:
    buffer = ReorderBuffer()
    messages = episode('a', 2)
    buffer.add(messages[0])
    buffer.add(messages[1])
    assert buffer.add(messages[1]) == []


def test_an_episode_may_be_run_again() -> None:
    buffer = ReorderBuffer()
    for message in episode('a', 2):
        buffer.add(message)
    again = [ready for message in episode('a', 2) for ready in buffer.add(message)]
    assert len(again) == 3


def test_a_restart_in_mid_episode_begins_anew() -> None:
    buffer = ReorderBuffer()
    for message in episode('a', 5)[:3]:
        buffer.add(message)
    again = [ready for message in episode('a', 2) for ready in buffer.add(message)]
    assert [ready.message.sequence for ready in again] == [0, 1, 2]


def test_a_restart_right_after_the_start_begins_anew() -> None:
    buffer = ReorderBuffer()
    old, new = episode('a', 3), episode('a', 3)
    for index in (0, 2):
        buffer.add(old[index])
    out = [ready for message in new for ready in buffer.add(message)]
    assert list(map(id, out)) == list(map(id, new)), 'what waited is of the old attempt'


def test_what_is_remembered_of_finished_episodes_is_bounded() -> None:
    buffer = ReorderBuffer()
    for number in range(3000):
        for message in episode(f'e{number}', 1):
            buffer.add(message)
    assert buffer.add(event('e2999', 1)) == [] and buffer.unfinished == ()
    assert len(buffer._finished) == 1000
