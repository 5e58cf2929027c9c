"""Messages without ROS: made, completed, read; topics and namespaces.

That they are the same as with ROS, byte by byte, is tested beside the nodes.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightplan.model import (
    Action,
    Atom,
    Belief,
    BeliefUpdated,
    Form,
    GoalAdopted,
    InputError,
    Literal,
    ModelKnown,
    ProblemAdopted,
    Region,
    WorldError,
)
from sightplan.records import topics
from sightplan.records.bag_messages import BagMessages, message_types
from sightplan.records.messages import (
    Messages,
    belief_from_msg,
    event_from_msg,
    from_msg,
    image_from_msg,
    raw_stamp_ns,
    text,
    truth_from_msg,
)
from sightplan.records.truth import RecordedTruth, RepeatedTruth, TruthReply

MAKE = BagMessages()
OWN = sorted(name for name in message_types().store.types
             if name.startswith('sightplan_interfaces/'))


@pytest.mark.parametrize('name', [*OWN, topics.IMAGE_TYPE, topics.RECORDED[topics.CAMERA_INFO]])
def test_every_message_has_defaults_and_bytes(name: str) -> None:
    message = MAKE(name)
    data = MAKE.data(message)
    assert MAKE.data(MAKE.read(data, name)) == data


def test_fields_and_types_that_there_are_not_are_refused() -> None:
    with pytest.raises(InputError, match=r"Atom' has no field colour"):
        MAKE('sightplan_interfaces/msg/Atom', predicate='p', colour='red')
    with pytest.raises(InputError, match=r"'x/msg/Y' is unknown"):
        MAKE('x/msg/Y')
    with pytest.raises(InputError, match='bytes cannot be read'):
        MAKE.read(b'\0\1\0\0\5', 'sightplan_interfaces/msg/Atom')


@given(st.integers(0, 2**31 * 10**9 - 1))
def test_stamps_are_read_from_bytes(stamp_ns: int) -> None:
    message = Messages(MAKE).image_to_msg(np.zeros((1, 1, 3), np.uint8), stamp_ns, 'cam')
    assert raw_stamp_ns(MAKE.data(message)) == stamp_ns
    big = message_types().store.serialize_cdr(message, topics.IMAGE_TYPE, little_endian=False)
    assert raw_stamp_ns(bytes(big)) == stamp_ns
    with pytest.raises(InputError, match='no header'):
        raw_stamp_ns(b'\0\1\0\0\0\0')


@given(st.text())
def test_any_text_can_be_carried(words: str) -> None:
    message = MAKE('sightplan_interfaces/msg/PastStep', action=text(words))
    back = MAKE.read(MAKE.data(message), 'sightplan_interfaces/msg/PastStep').action
    assert len(back) == len(words)
    assert all(a == b or b == '\ufffd' for a, b in zip(words, back, strict=True))


def test_what_is_believed_keeps_its_order() -> None:
    """Sums of it are rounded on their way: another order would give another score."""
    belief = Belief(frozenset(), {Atom(name): 0.5 for name in 'cab'})
    message = Messages(MAKE).event_to_msg(BeliefUpdated(belief), 'e', 0)
    assert [str(atom) for atom in belief_from_msg(message).probabilities] == ['c', 'a', 'b']


_NAME = st.from_regex(r'[a-z][a-z0-9_]{0,5}', fullmatch=True)
_GOAL = st.lists(st.builds(Literal, st.builds(Atom, _NAME, st.lists(_NAME, max_size=2).map(tuple)),
                           st.booleans()), max_size=4).map(tuple)


@given(st.one_of(
    st.builds(GoalAdopted, _GOAL, st.just('the picture of the goal')),
    st.builds(ProblemAdopted, st.dictionaries(_NAME, _NAME), _GOAL, st.just('the instruction')),
    st.builds(ModelKnown, _NAME, _NAME)))
def test_what_a_method_adopts_is_carried(event: GoalAdopted | ProblemAdopted | ModelKnown) -> None:
    message = Messages(MAKE).event_to_msg(event, 'e', 3, 5)
    data = MAKE.data(message)
    assert event_from_msg(topics.AGENT_ADOPTED, MAKE.read(
        data, topics.EVENTS[topics.AGENT_ADOPTED])) == event


def test_what_is_adopted_without_a_kind_is_refused() -> None:
    with pytest.raises(InputError, match='kind = 0'):
        event_from_msg(topics.AGENT_ADOPTED, MAKE(topics.EVENTS[topics.AGENT_ADOPTED]))
    with pytest.raises(InputError, match='1 objects with 0 types'):
        event_from_msg(topics.AGENT_ADOPTED, MAKE(
            topics.EVENTS[topics.AGENT_ADOPTED], kind=2, objects=['a']))


@given(st.one_of(st.none(), st.builds(
    lambda x, y, label, p: Region(Form.BOX, ((x, y), (x + 0.5, y + 0.5)), label, p),
    st.floats(-1, 1), st.floats(-1, 1), st.sampled_from(['', 'the red mug']),
    st.none() | st.floats(0, 1))))
def test_an_action_carries_its_place_in_the_picture(region: Region | None) -> None:
    message = Messages(MAKE).to_msg(Action('grasp', ('mug_1',), region))
    name = 'sightplan_interfaces/msg/SymbolicAction'
    back = from_msg(Action, MAKE.read(MAKE.data(message), name))
    assert back.region == region
    assert back == Action('grasp', ('mug_1',)), 'the same whatever its place'


def test_a_place_that_is_none_is_refused() -> None:
    region = MAKE('sightplan_interfaces/msg/Region', form=1, x=[0.5], y=[])
    message = MAKE('sightplan_interfaces/msg/SymbolicAction', name='grasp', region=[region])
    with pytest.raises(InputError, match='region'):
        from_msg(Action, message)


def test_a_picture_that_is_not_whole_is_refused() -> None:
    message = Messages(MAKE).image_to_msg(np.zeros((2, 2, 3), np.uint8), 0)
    message.data = message.data[:5]
    with pytest.raises(InputError, match='needs 12 bytes, not 5'):
        image_from_msg(message)


def test_truth_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match='kind = 7'):
        truth_from_msg(MAKE('sightplan_interfaces/msg/Truth', kind=7))


@pytest.mark.parametrize(('name', 'found'), [
    ('/agent/step', ('', 'agent/step')), ('agent/step', ('', 'agent/step')),
    ('/a/b/agent/step', ('/a/b', 'agent/step')), ('/myagent/step', None),
    ('/agent/step/more', None), ('/camera/image_raw', ('', 'camera/image_raw')),
    ('/camera/depth/image_raw', None), ('/arm/camera/image_raw', ('/arm', 'camera/image_raw'))])
def test_recorded_topics_are_found_in_any_namespace(name: str, found: object) -> None:
    assert topics.relative(name) == found


def test_the_same_question_has_its_answers_in_their_order() -> None:
    """Two actions may end at the same time; truth may be there only when asked again."""
    truth = RepeatedTruth([
        TruthReply(5, outcome='success'), TruthReply(5, outcome='illegal'),
        TruthReply(1, state=frozenset(), error='away'), TruthReply(1, state=frozenset())])
    truth.select_outcome(5)
    assert [truth.last_outcome() for _ in range(3)] == ['success', 'illegal', 'illegal']
    with pytest.raises(WorldError, match='away'):
        truth.state(1)
    assert truth.state(1) == truth.state(1) == frozenset()
    truth.select_outcome(6)
    with pytest.raises(WorldError, match='no outcome at 6 ns'):
        truth.last_outcome()


def test_of_a_time_that_was_asked_for_twice_the_state_counts_and_not_the_failure() -> None:
    state = frozenset({Atom('clear', ('r',))})
    replies = [TruthReply(5, state=frozenset(), error='away'), TruthReply(5, state=state)]
    for truth in (RecordedTruth(replies), RecordedTruth(replies[::-1])):
        assert truth.state(5) == state and truth.states == {5: state}
    with pytest.raises(WorldError, match='away'):
        RecordedTruth(replies[:1]).state(5)
