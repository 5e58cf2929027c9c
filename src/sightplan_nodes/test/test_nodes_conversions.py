"""What goes into a message comes out again."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from ament_index_python import get_package_share_directory
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image
from sightplan_interfaces import msg
from sightplan_interfaces.action import RunEpisode
from sightplan_interfaces.srv import Ground, ProposePlan

from nodes_testing import ScriptedWorld
from sightplan.domains import load_domain
from sightplan.grounding.views import view
from sightplan.model import (
    BARE,
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeSpec,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    GroundingPrompt,
    InputError,
    Observation,
    Observed,
    PastStep,
    Planned,
    PlanningResult,
    PlanningStatus,
    Privileged,
    Problem,
    Proposal,
    ProposalForm,
    ProposalStatus,
    Proposed,
    Question,
    Stepped,
    StopReason,
    Usage,
    Verdict,
    VisualTask,
)
from sightplan.model.planning import MARKS
from sightplan.model.whereabouts import Whereabouts
from sightplan.queries import answered
from sightplan.records import messages, topics
from sightplan.records.bag_messages import BagMessages
from sightplan.records.messages import EpisodeMessages
from sightplan_nodes import conversions as c
from sightplan_nodes import qos, query_messages
from sightplan_nodes.conversions import MESSAGES
from sightplan_nodes.ports import raw_stamp_ns

NAMES = st.from_regex(r'[a-z0-9][a-z0-9_.-]{0,5}', fullmatch=True)
TEXTS = st.text(st.characters(blacklist_categories=('Cs',), blacklist_characters='\0'),
                max_size=20)
ATOMS = st.builds(Atom, NAMES, st.lists(NAMES, max_size=3).map(tuple))
ACTIONS = st.builds(Action, NAMES, st.lists(NAMES, max_size=3).map(tuple))
STAMPS = st.integers(0, 2**31 * 10**9 - 1)
SECONDS = st.floats(0.0, 1e6)
PROBABILITIES = st.none() | st.floats(0.0, 1.0)
ANSWERS = st.builds(Answer, TEXTS, PROBABILITIES, PROBABILITIES, PROBABILITIES, st.booleans(),
                    cut_at=st.integers(0, 2**20), verdict=st.sampled_from(Verdict))
QUESTIONS = st.builds(Question, ATOMS, TEXTS)
RESULTS = st.builds(PlanningResult, st.sampled_from(PlanningStatus),
                    st.lists(ACTIONS, max_size=4).map(tuple), SECONDS, st.booleans(), TEXTS)
COUNTS = st.integers(0, 2**40)
USAGES = st.none() | st.builds(Usage, COUNTS, COUNTS, COUNTS, st.none() | st.floats(0.0, 1e6))
PROMPTS = st.builds(GroundingPrompt, NAMES, TEXTS, TEXTS, TEXTS, TEXTS.filter(bool),
                    st.booleans(), st.integers(1, 2**32 - 1), NAMES)
PAST_STEPS = st.builds(PastStep, TEXTS, TEXTS)
PROPOSALS = st.builds(
    Proposal, st.sampled_from(ProposalStatus), st.lists(ACTIONS, max_size=3).map(tuple), TEXTS,
    TEXTS, TEXTS, st.booleans(), TEXTS, TEXTS, NAMES, SECONDS).filter(
        lambda p: (p.status is ProposalStatus.PLANNED) is bool(p.actions))
STATES = st.frozensets(ATOMS, max_size=5)
VISIBLE = st.none() | st.lists(NAMES, max_size=4).map(tuple)
FACTS = st.dictionaries(ATOMS, st.booleans(), max_size=5)
LEVELS = st.sampled_from(Privileged)
SEEN = st.builds(lambda stamp_ns: Observation(image=np.zeros((2, 3, 3), np.uint8),
                                              stamp_ns=stamp_ns, frame_id='cam'), STAMPS)


def sent(message):
    """The message as another process gets it."""
    return deserialize_message(serialize_message(message), type(message))


@given(STAMPS)
def test_time(stamp_ns: int) -> None:
    assert messages.time_from_msg(sent(MESSAGES.time_to_msg(stamp_ns))) == stamp_ns


@given(ATOMS)
def test_atom(atom: Atom) -> None:
    assert messages.from_msg(Atom, sent(MESSAGES.to_msg(atom))) == atom


@given(st.none() | ACTIONS)
def test_action(action: Action | None) -> None:
    assert messages.maybe_action_from_msg(sent(MESSAGES.action_to_msg(action))) == action


@given(STATES)
def test_state(state: frozenset[Atom]) -> None:
    assert messages.state_from_msg(MESSAGES.state_to_msg(state)) == state


@given(ANSWERS)
def test_answer(answer: Answer) -> None:
    message = sent(MESSAGES.to_msg(answer))
    assert messages.from_msg(Answer, message) == answer
    assert math.isnan(message.p_yes) is (answer.p_yes is None)


@given(st.lists(st.none() | ANSWERS, max_size=4))
def test_answers_of_a_service_some_of_which_are_missing(answers: list[Answer | None]) -> None:
    response = sent(query_messages.fill_answers(Ground.Response(), answers))
    questions = [Question(Atom('p', (str(number),)), 'p?') for number in range(len(answers))]
    assert query_messages.partial_answers(response, questions) == answers


@given(RESULTS)
def test_plan(result: PlanningResult) -> None:
    event = Planned(result)
    message = sent(MESSAGES.event_to_msg(event, 'e', 3, 5))
    assert messages.event_from_msg(topics.AGENT_PLAN, message) == event
    assert (message.episode_id, message.sequence) == ('e', 3)


@given(st.integers(0, 1000), ACTIONS, st.sampled_from(FeedbackStatus), TEXTS, STAMPS, STAMPS,
       SECONDS)
def test_step(index: int, action: Action, status: FeedbackStatus, message: str, before: int,
              after: int, seconds: float) -> None:
    event = Stepped(index, None if status is FeedbackStatus.INVALID else action,
                    Feedback(status, message, after), before, seconds)
    message = sent(MESSAGES.event_to_msg(event, 'e', 0))
    assert messages.event_from_msg(topics.AGENT_STEP, message) == event


def test_only_an_invalid_step_is_without_action() -> None:
    with pytest.raises(InputError):
        messages.event_from_msg(topics.AGENT_STEP, msg.Step(status=msg.Step.EXECUTED))


@given(USAGES)
def test_usage(usage: Usage | None) -> None:
    assert messages.usage_from_msg(sent(MESSAGES.usage_to_msg(usage))) == usage


@given(PROMPTS)
def test_prompt(prompt: GroundingPrompt) -> None:
    assert query_messages.prompt_from_msg(sent(MESSAGES.to_msg(prompt))) == prompt


def test_a_prompt_that_was_left_out_is_none() -> None:
    assert query_messages.prompt_from_msg(msg.GroundingPrompt()) == BARE


PROPOSED = st.builds(Proposed, SEEN, PROPOSALS, TEXTS, USAGES,
                     st.lists(PAST_STEPS, max_size=3).map(tuple))


@given(PROPOSED)
def test_proposed(event: Proposed) -> None:
    seen = event.observation
    message = sent(MESSAGES.event_to_msg(event, 'e', 7))
    assert (message.image_id, message.episode_id, message.sequence) == (seen.image_id, 'e', 7)
    back = messages.event_from_msg(topics.AGENT_PROPOSAL, message)
    for name in ('proposal', 'prompt', 'usage', 'history'):
        assert getattr(back, name) == getattr(event, name)
    assert known(back.observation) == known(seen)


FORMS = st.builds(ProposalForm, st.sampled_from(['list', 'json', 'none']),
                  st.sampled_from(['repaired', 'braces']), st.integers(0, 1 << 16), st.booleans(),
                  st.sampled_from(MARKS), st.booleans(), st.booleans(),
                  st.sampled_from(['', 'start']))


@given(st.lists(PAST_STEPS, max_size=3), NAMES, st.booleans(), FORMS)
def test_visual_task(history: list[PastStep], prompt: str, stops: bool,
                     form: ProposalForm) -> None:
    task = VisualTask(PROBLEM.for_agent(), prompt, tuple(history), stops, form=form)
    request = sent(c.fill_visual_task(ProposePlan.Request(), task, '(problem)'))
    assert (request.domain, request.problem) == ('blocksworld', 'problem'), 'its name is not told'
    assert (request.domain_pddl, request.problem_pddl) == ('(define ...)', '(problem)')
    assert c.visual_task_from_msg(request, PROBLEM, c.RequestedObservations().read) == task


def test_unknown_and_its_probability_can_be_sent() -> None:
    answer = Answer('Unknown', 0.1, 0.2, 0.7, reason='hidden')
    message = sent(MESSAGES.to_msg(answer))
    assert message.verdict == msg.Answer.UNKNOWN
    assert messages.from_msg(Answer, message) == answer
    response = query_messages.fill_answers(Ground.Response(), [answer])
    question = Question(Atom('p', ('a',)), 'p?')
    assert query_messages.answers_from_response(sent(response), [question]) == [answer]
    for prompt in (GroundingPrompt('ground_unknown', unknown=True),
                   load_domain('sliding').grounding_prompt('ground_read')):
        assert query_messages.prompt_from_msg(sent(MESSAGES.to_msg(prompt))) == prompt


def test_what_models_write_can_be_sent() -> None:
    """rclpy cuts a text at a NUL, and dies of half a surrogate pair."""
    odd = 'a\0b\ud800c\udfff\U0001f600'
    even = 'a\ufffdb\ufffdc\ufffd\U0001f600'
    proposal = Proposal(ProposalStatus.UNPARSED, (), odd, odd, odd, text=odd)
    back = messages.proposal_from_msg(sent(MESSAGES.to_msg(proposal)))
    assert {back.named, back.message, back.explanation, back.text} == {even}
    answer = Answer(odd)
    assert messages.from_msg(Answer, sent(MESSAGES.to_msg(answer))).text == even
    step = messages.from_msg(PastStep, sent(MESSAGES.to_msg(PastStep(odd, odd))))
    assert step == PastStep(even, even)
    stepped = Stepped(0, None, Feedback(FeedbackStatus.INVALID, odd))
    message = sent(MESSAGES.event_to_msg(stepped, 'e', 0))
    again = messages.event_from_msg(topics.AGENT_STEP, message)
    assert again.feedback.message == even
    prompt = GroundingPrompt('mem', after_image=odd)
    assert query_messages.prompt_from_msg(sent(MESSAGES.to_msg(prompt))).after_image == even


@given(STATES, st.dictionaries(ATOMS, st.floats(0.0, 1.0), max_size=5))
def test_belief(state: frozenset[Atom], probabilities: dict[Atom, float]) -> None:
    event = BeliefUpdated(Belief(state, probabilities))
    assert messages.event_from_msg(
        topics.AGENT_BELIEF, sent(MESSAGES.event_to_msg(event, 'e', 0))) == event


@st.composite
def asked_events(draw: st.DrawFn) -> Asked:
    triples = draw(st.lists(st.tuples(
        QUESTIONS, ANSWERS, st.sampled_from([None, True, False])), max_size=4))
    questions, answers, expected = zip(*triples, strict=True) if triples else ((), (), ())
    return answered(draw(SEEN), questions, answers, expected, draw(st.sampled_from(AskPurpose)),
                    draw(st.none() | ACTIONS), draw(SECONDS), draw(TEXTS), draw(TEXTS),
                    draw(USAGES), draw(TEXTS))


@given(asked_events())
def test_asked(event: Asked) -> None:
    message = sent(MESSAGES.event_to_msg(event, 'e', 1))
    back = messages.event_from_msg(topics.AGENT_ASKED, message)
    assert known(back.observation) == known(event.observation)
    for field in dataclasses.fields(Asked):
        if field.name not in ('observation', 'queries'):
            assert getattr(back, field.name) == getattr(event, field.name)
    assert back.questions == event.questions


def test_replies_without_their_queries_are_refused() -> None:
    with pytest.raises(InputError, match='1 queries with 0 replies'):
        messages.event_from_msg(topics.AGENT_ASKED, msg.Asked(queries=['{}'], purpose=1))


def test_a_step_names_the_newest_plan_with_its_action() -> None:
    a, b, c = (Action(name) for name in 'abc')
    recorder = EpisodeMessages(MESSAGES)
    recorder.domain = load_domain('blocksworld')
    spec = EpisodeSpec('e', recorder.domain.split_problems('simple')[0], 'belief')
    proposal = Proposal(ProposalStatus.PLANNED, (c,))
    sent_now = [recorder.message(event)[1] for event in (
        EpisodeStarted(spec), Planned(PlanningResult(PlanningStatus.SOLVED, (a, b))),
        Planned(PlanningResult(PlanningStatus.SOLVED, (b,))),
        Proposed(Observation(), proposal),
        *(Stepped(0, action, Feedback(FeedbackStatus.EXECUTED, '')) for action in (a, b, c)),
        Stepped(3, None, Feedback(FeedbackStatus.INVALID, '')), EpisodeStarted(spec),
        Stepped(0, a, Feedback(FeedbackStatus.EXECUTED, '')))]
    assert [one.plan for one in sent_now if isinstance(one, msg.Step)] == [1, 2, 3, 0, 0]


def known(seen: Observation) -> tuple[object, ...]:
    """All of a look but its picture; the order of facts counts, for prompts keep it."""
    return (seen.stamp_ns, seen.frame_id, seen.image_id, seen.visible_objects, seen.text,
            list(seen.privileged_facts.items()))


LOOKS = st.builds(
    lambda stamp_ns, visible, words, told: Observation(
        image=np.ones((2, 2, 3), np.uint8), stamp_ns=stamp_ns, frame_id='f', text=words or None,
        visible_objects=visible, privileged_facts=told), STAMPS, VISIBLE, TEXTS, FACTS)


@given(LOOKS, st.booleans())
def test_observation(seen: Observation, labelled: bool) -> None:
    message = sent(MESSAGES.event_to_msg(Observed(seen), 'e', 4, labelled=labelled))
    assert (message.image_id, message.labelled) == (seen.image_id, labelled)
    back = messages.event_from_msg(topics.AGENT_OBSERVATION, message).observation
    assert known(back) == known(seen)
    assert back.image is None


@given(LOOKS)
def test_observation_in_a_request(seen: Observation) -> None:
    back = c.RequestedObservations().read(sent(c.observation_to_request(seen)))
    assert known(back) == known(seen)
    np.testing.assert_array_equal(back.image, seen.image)


def test_an_observation_may_be_words_alone() -> None:
    seen = Observation(text='a red block', stamp_ns=5)
    back = c.RequestedObservations().read(sent(c.observation_to_request(seen)))
    assert known(back) == known(seen)
    assert back.image is None
    with pytest.raises(InputError, match='neither image nor text'):
        c.observation_to_request(Observation(stamp_ns=5))


def test_past_and_goal_may_be_pictures_or_words() -> None:
    picture = Observation(np.full((2, 3, 3), 7, np.uint8), 4)
    words = Observation(text='a red block', stamp_ns=5)
    task = VisualTask(PROBLEM.for_agent(), 'action', past=(picture, words), goal=words)
    back = c.visual_task_from_msg(sent(c.fill_visual_task(
        ProposePlan.Request(), task, '(problem)')), PROBLEM, c.RequestedObservations().read)
    assert [(known(one), one.image_id) for one in (*back.past, back.goal)] == [
        (known(one), one.image_id) for one in (picture, words, words)]


def test_a_changed_picture_is_recorded_with_how_it_was_made() -> None:
    observed = Observation(np.arange(18, dtype=np.uint8).reshape(2, 3, 3), 5,
                           visible_objects=('r',))
    reader = messages.EventReader()
    reader.event(topics.AGENT_OBSERVATION, sent(MESSAGES.event_to_msg(Observed(observed), 'e', 0)))
    for number in (0, 1, 2):
        asked = view(observed, number)
        event = answered(asked, (), (), (), AskPurpose.ENUMERATION)
        back = reader.event(topics.AGENT_ASKED, sent(MESSAGES.event_to_msg(event, 'e', 1)))
        assert back.observation.altered == asked.altered
        assert (back.observation.image_id, back.observation.visible_objects) == (
            asked.image_id, ('r',))
        assert (asked.altered is None) is (number == 0)


def test_nothing_in_view_is_not_the_same_as_nobody_says() -> None:
    for visible in ((), None):
        seen = Observed(Observation(visible_objects=visible))
        message = sent(MESSAGES.event_to_msg(seen, 'e', 0))
        back = messages.event_from_msg(topics.AGENT_OBSERVATION, message)
        assert back.observation.visible_objects == visible


PROBLEM = Problem('p', 'blocksworld', {'r': 'block'}, frozenset(), (), '(define ...)', 4)


SEEDS = st.integers(0, 2**32 - 1)


@given(TEXTS, TEXTS, SEEDS, SEEDS, st.integers(0, 2**32 - 1), st.floats(0.0, 1.0),
       st.none() | st.integers(0, 100), st.booleans(), LEVELS)
def test_spec(episode_id: str, split: str, seed: int, policy_seed: int, budget: int,
              failures: float, optimal: int | None, stop_at_goal: bool, privileged: Privileged,
              ) -> None:
    problem = dataclasses.replace(PROBLEM, optimal_length=optimal)
    spec = EpisodeSpec(episode_id, problem, 'ground', split, seed, budget, failures,
                       stop_at_goal, privileged, policy_seed=policy_seed)
    started = sent(MESSAGES.started_to_msg(EpisodeStarted(spec), '(problem)', 1, 0))
    goal = sent(messages.fill_spec(RunEpisode.Goal(), spec, '(problem)'))
    for message in (started, goal):
        assert messages.spec_from_msg(message, problem) == spec
        assert messages.optimal_length(message) == optimal
        assert message.domain_pddl == '(define ...)'
        assert message.problem_pddl == '(problem)'


@given(st.sampled_from(StopReason), TEXTS, st.integers(0, 99), st.integers(0, 99), STAMPS,
       SECONDS, st.dictionaries(TEXTS, SECONDS, max_size=3))
def test_ended(reason: StopReason, message: str, steps: int, remaining: int, stamp_ns: int,
               seconds: float, timings: dict[str, float]) -> None:
    event = EpisodeEnded(reason, message, steps, remaining, stamp_ns, seconds, timings)
    spec = EpisodeSpec('e', PROBLEM, 'ground')
    got = sent(MESSAGES.ended_to_msg(event, spec, 9))
    assert messages.ended_from_msg(got) == event
    assert got.kind == msg.EpisodeEvent.ENDED
    assert not got.domain_pddl


@settings(max_examples=30)
@given(npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))), STAMPS)
def test_image(image: np.ndarray, stamp_ns: int) -> None:
    message = sent(MESSAGES.image_to_msg(image, stamp_ns, 'cam'))
    back = messages.observation_from_msg(message)
    np.testing.assert_array_equal(back.image, image)
    assert back.image_id == Observation(image=image).image_id
    assert (back.stamp_ns, back.frame_id) == (stamp_ns, 'cam')
    assert not back.image.flags.writeable
    assert raw_stamp_ns(serialize_message(message)) == stamp_ns


def test_image_that_is_a_slice() -> None:
    image = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)[::2, ::-1]
    np.testing.assert_array_equal(messages.image_from_msg(MESSAGES.image_to_msg(image, 0)), image)


@pytest.mark.parametrize(('encoding', 'pixel'), [
    ('rgb8', [1, 2, 3]), ('bgr8', [3, 2, 1]), ('rgba8', [1, 2, 3, 9]), ('bgra8', [3, 2, 1, 9])])
def test_encodings_of_other_cameras(encoding: str, pixel: list[int]) -> None:
    data = bytes(pixel * 4 + [0])  # one row of two pixels and one of padding, twice
    row = bytes(pixel * 2) + b'\xff'
    data = row * 2
    message = Image(height=2, width=2, encoding=encoding, step=len(row), data=data)
    np.testing.assert_array_equal(messages.image_from_msg(message), np.tile([1, 2, 3], (2, 2, 1)))


def test_grey_image() -> None:
    message = Image(height=1, width=2, encoding='mono8', step=2, data=bytes([7, 8]))
    np.testing.assert_array_equal(messages.image_from_msg(message), [[[7] * 3, [8] * 3]])


@pytest.mark.parametrize(('message', 'words'), [
    (Image(height=1, width=1, encoding='yuv422', step=2, data=bytes(2)), 'yuv422'),
    (Image(height=2, width=2, encoding='rgb8', step=6, data=bytes(11)), 'needs 12 bytes'),
    (Image(height=1, width=2, encoding='rgb8', step=3, data=bytes(6)), 'step 3')])
def test_images_that_cannot_be_read(message: Image, words: str) -> None:
    with pytest.raises(InputError, match=words):
        messages.image_from_msg(message)


@settings(max_examples=30)
@given(npst.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 5)),
                   elements=st.floats(0, 10, width=32) | st.just(math.nan)))
def test_depth(depth_m: np.ndarray) -> None:
    np.testing.assert_array_equal(c.depth_from_msg(sent(c.depth_to_msg(depth_m, 3))), depth_m)


@pytest.mark.parametrize('bigendian', [False, True])
def test_depth_in_millimetres(bigendian: bool) -> None:
    values = np.array([[0, 1500]], '>u2' if bigendian else '<u2')
    message = Image(height=1, width=2, encoding='16UC1', step=4, is_bigendian=int(bigendian),
                    data=values.tobytes())
    depth_m = c.depth_from_msg(message)
    assert np.isnan(depth_m[0, 0])
    assert depth_m[0, 1] == pytest.approx(1.5)


def test_numbers_of_another_version_are_named() -> None:
    with pytest.raises(InputError, match='verdict = 77'):
        messages.from_msg(Answer, msg.Answer(verdict=77))
    with pytest.raises(InputError, match='lower-case'):
        messages.from_msg(Atom, msg.Atom(predicate='On'))
    with pytest.raises(InputError, match='planned with 0 actions'):
        messages.proposal_from_msg(msg.Proposal(status=msg.Proposal.PLANNED))
    with pytest.raises(InputError, match='empty with 1 actions'):
        messages.proposal_from_msg(msg.Proposal(status=msg.Proposal.EMPTY,
                                                actions=[msg.SymbolicAction(name='a')]))
    with pytest.raises(InputError, match="privileged = 'never' is not one of none, initial"):
        messages.spec_from_msg(RunEpisode.Goal(privileged='never'), PROBLEM)
    with pytest.raises(InputError, match='end of episode x'):
        messages.ended_from_msg(msg.EpisodeEvent(episode_id='x', stop_reason='bored'))


@pytest.mark.parametrize(('name', 'values'), [
    ('Answer', Verdict), ('Asked', AskPurpose), ('Step', FeedbackStatus),
    ('PlanStamped', PlanningStatus), ('Proposal', ProposalStatus), ('Located', Whereabouts)])
def test_every_enumeration_value_has_the_number_of_the_interface(name: str, values: type,
                                                                 ) -> None:
    table = messages.numbers(values)
    assert set(table) == set(values)
    assert table == {value: getattr(getattr(msg, name), value.name) for value in values}
    assert 0 not in table.values(), 'zero is what an unset field holds'


def test_other_numbers_are_those_of_the_interface() -> None:
    assert messages.EXPECTATIONS == {
        None: msg.Answer.EXPECT_NOTHING, True: msg.Answer.EXPECT_YES,
        False: msg.Answer.EXPECT_NO}
    assert (messages.STARTED, messages.ENDED) == (msg.EpisodeEvent.STARTED, msg.EpisodeEvent.ENDED)
    assert (messages.STATE, messages.OUTCOME) == (msg.Truth.STATE, msg.Truth.OUTCOME)


@pytest.mark.parametrize(('cls', 'kind'), [
    (Usage, msg.Usage), (GroundingPrompt, msg.GroundingPrompt), (PastStep, msg.PastStep),
    (Proposal, msg.Proposal), (Asked, msg.Asked), (Proposed, msg.ProposalStamped),
    (Answer, msg.Answer)])
def test_messages_have_every_field(cls: type, kind: type) -> None:
    """A field that the core gains must not be lost on the way."""
    own = {Asked: {'observation', 'queries', 'replies', 'expected'}, Answer: {'model', 'bounded'},
           Proposed: {'observation'}}
    fields = {field.name for field in dataclasses.fields(cls)} - own.get(cls, set())
    assert fields <= set(kind.get_fields_and_field_types())


# without ROS

BAG = BagMessages()
EVENTS = st.one_of(
    LOOKS.map(Observed), asked_events(), PROPOSED, RESULTS.map(Planned),
    st.builds(Belief, STATES, st.dictionaries(ATOMS, st.floats(0.0, 1.0), max_size=5)).map(
        BeliefUpdated),
    st.builds(Stepped, st.integers(0, 1000), ACTIONS, st.builds(
        Feedback, st.sampled_from([s for s in FeedbackStatus if s is not FeedbackStatus.INVALID]),
        TEXTS, STAMPS), STAMPS, SECONDS),
    st.builds(EpisodeEnded, st.sampled_from(StopReason), TEXTS, st.integers(0, 99),
              st.integers(0, 99), STAMPS, SECONDS, st.dictionaries(TEXTS, SECONDS, max_size=3)))
REPLIES = st.builds(messages.TruthReply, STAMPS, STATES, st.none(), TEXTS) | st.builds(
    messages.TruthReply, STAMPS, st.none(), TEXTS, TEXTS)


def check_bytes(of_ros: object, of_bag: object) -> None:
    """Both are the same message, and each is read by the other's side.

    Bytes that only fill up to a boundary hold anything when ROS writes them: reading them without
    ROS, and writing them again, clears them.
    """
    name, ours, theirs = of_bag.__msgtype__, BAG.data(of_bag), serialize_message(of_ros)
    assert len(theirs) - len(ours) in range(4)
    assert BAG.data(BAG.read(theirs, name)) == ours
    assert BAG.data(BAG.read(sent_bytes(ours, type(of_ros)), name)) == ours


def sent_bytes(data: bytes, kind: type) -> bytes:
    """Bytes after a stay with ROS."""
    return serialize_message(deserialize_message(data, kind))


@settings(max_examples=25)
@given(st.lists(EVENTS, min_size=1, max_size=3), st.booleans())
def test_events_have_the_same_bytes_without_ros(events: list, labelled: bool) -> None:
    makers = [messages.EpisodeMessages(make, lambda: labelled)
              for make in (MESSAGES, messages.Messages(BAG))]
    domain = load_domain('blocksworld')
    for maker in makers:
        maker.domain = domain
    spec = EpisodeSpec('e', domain.split_problems('simple')[0], 'ground')
    for event in (EpisodeStarted(spec), *events):
        (topic, of_ros), (same, of_bag) = (maker.message(event) for maker in makers)
        assert topic == same
        assert of_bag.__msgtype__ == topics.EVENTS[topic]
        check_bytes(of_ros, of_bag)
        if not isinstance(event, EpisodeStarted):
            again = BAG.read(BAG.data(of_bag), topics.EVENTS[topic])
            back = messages.EventReader().event(topic, again)
            for field in dataclasses.fields(event):
                name = 'questions' if field.name == 'queries' else field.name
                ours, theirs = getattr(event, name), getattr(back, name)
                if field.name == 'observation':
                    ours, theirs = known(ours), known(theirs)
                    if not isinstance(event, Observed):  # it is in the message of the look
                        ours, theirs = ours[:3], theirs[:3]
                assert theirs == ours


@given(REPLIES)
def test_truth(reply: messages.TruthReply) -> None:
    of_ros, of_bag = (make.truth_to_msg(reply, 'e') for make in (MESSAGES, messages.Messages(BAG)))
    check_bytes(of_ros, of_bag)
    assert messages.truth_from_msg(sent(of_ros)) == reply


@settings(max_examples=10)
@given(npst.arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3))), STAMPS)
def test_pictures_have_the_same_bytes_without_ros(image: np.ndarray, stamp_ns: int) -> None:
    of_ros, of_bag = (make.image_to_msg(image, stamp_ns, 'cam')
                      for make in (MESSAGES, messages.Messages(BAG)))
    check_bytes(of_ros, of_bag)
    back = BAG.read(BAG.data(of_bag), topics.IMAGE_TYPE)
    np.testing.assert_array_equal(messages.image_from_msg(back), image)
    camera = ScriptedWorld().camera_info()
    check_bytes(*(make.camera_info_to_msg(camera, stamp_ns)
                  for make in (MESSAGES, messages.Messages(BAG))))


def test_what_bags_note_of_quality_of_service_is_what_the_nodes_use() -> None:
    for noted, used in ((topics.EVENTS_QOS, qos.EVENTS), (topics.SENSOR_QOS, qos.SENSOR)):
        assert (noted.depth, noted.reliability, noted.durability) == (
            used.depth, used.reliability.name.lower(), used.durability.name.lower())


def test_definitions_of_the_core_are_those_of_the_interfaces() -> None:
    share = Path(get_package_share_directory('sightplan_interfaces')) / 'msg'
    here = {path.name: path.read_text() for path in messages.DEFINITIONS.glob('*.msg')}
    assert here == {path.name: path.read_text() for path in share.glob('*.msg')}
    assert here
