"""Messages that overtake each other are put in order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sightplan.records import topics
from sightplan.records.assembly import Arrival, Assembly
from sightplan.records.messages import ENDED, STARTED, BagMessages

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
    assembly = Assembly()
    messages = episode('a', 6)
    out = [ready.message.sequence for index in order for ready in assembly.add(messages[index])]
    assert out == list(range(7))
    assert assembly.add(messages[3]) == [], 'the episode is over'


@given(st.permutations(range(5)), st.permutations(range(5)), st.lists(st.booleans(), max_size=9))
def test_episodes_do_not_mix(one: list[int], two: list[int], turns: list[bool]) -> None:
    assembly = Assembly()
    first, second = episode('a', 4), episode('b', 4)
    queues = [[first[i] for i in one], [second[i] for i in two]]
    out: dict[str, list[int]] = {'a': [], 'b': []}
    for turn in [*turns, *([False] * 5), *([True] * 5)]:
        if queues[turn]:
            for ready in assembly.add(queues[turn].pop(0)):
                out[ready.message.episode_id].append(ready.message.sequence)
    assert out == {'a': [0, 1, 2, 3, 4], 'b': [0, 1, 2, 3, 4]}


def test_a_gap_is_noticed_at_the_end() -> None:
    assembly = Assembly()
    messages = episode('a', 4)
    for index in (0, 1, 3):
        assembly.add(messages[index])
    assert assembly.gap('a') is None, 'it may still come'
    assembly.add(messages[4])
    assert assembly.gap('a') == (2, 4)
    assembly.finish('a')
    assert assembly.gap('a') is None
    assert assembly.add(messages[2]) == []


def test_duplicates_are_dropped() -> None:
    assembly = Assembly()
    messages = episode('a', 2)
    assembly.add(messages[0])
    assembly.add(messages[1])
    assert assembly.add(messages[1]) == []


def test_an_episode_may_be_run_again() -> None:
    assembly = Assembly()
    for message in episode('a', 2):
        assembly.add(message)
    again = [ready for message in episode('a', 2) for ready in assembly.add(message)]
    assert len(again) == 3


def test_a_restart_in_mid_episode_begins_anew() -> None:
    assembly = Assembly()
    for message in episode('a', 5)[:3]:
        assembly.add(message)
    again = [ready for message in episode('a', 2) for ready in assembly.add(message)]
    assert [ready.message.sequence for ready in again] == [0, 1, 2]
