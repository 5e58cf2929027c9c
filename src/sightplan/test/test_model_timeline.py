"""The timeline: whatever the events, folding them is one thing, at once or one by one."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from doubles import spec_of
from episode_events import EVENTS
from sightplan.model import (
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    Belief,
    BeliefUpdated,
    EpisodeEnded,
    EpisodeEvent,
    EpisodeStarted,
    Feedback,
    FeedbackStatus,
    GoalAdopted,
    Literal,
    Observation,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    ProblemAdopted,
    Question,
    State,
    Stepped,
    StopReason,
    Usage,
    WorldError,
)
from sightplan.model.event_handler import EventHandler
from sightplan.model.timeline import Timeline, problem_known
from sightplan.queries import answered

STARTED = EpisodeStarted(spec_of())


@given(EVENTS)
def test_folding_one_by_one_is_folding_at_once(events: list[EpisodeEvent]) -> None:
    whole, growing = Timeline.of_events([STARTED, *events]), Timeline()
    for event in (STARTED, *events):
        growing.take(event)
        assert growing.steps  # whenever one looks
    assert growing.moments == whole.moments and growing.steps == whole.steps
    assert (growing.end, growing.models, growing.usage) == (whole.end, whole.models, whole.usage)


@given(EVENTS)
def test_every_event_is_in_one_step_in_its_order(events: list[EpisodeEvent]) -> None:
    timeline = Timeline.of_events([STARTED, *events])
    assert [moment.event for step in timeline.steps for moment in step.moments] == [
        STARTED, *events]
    *acted, last = timeline.steps
    assert last.action is None and last.index is None
    assert [step.moments[-1].event for step in acted] == [step.action for step in acted]
    assert all(not step.of(Stepped)[:-1] for step in timeline.steps)


@given(EVENTS)
def test_a_handler_is_given_each_event_by_its_kind(events: list[EpisodeEvent]) -> None:
    class Counting(EventHandler):
        asked = stepped = 0

        def on_asked(self, event: Asked) -> None:
            self.asked += 1

        def on_stepped(self, event: Stepped) -> None:
            self.stepped += 1

    counting, timeline = Counting(), Timeline.of_events([STARTED, *events])
    for event in events:
        counting.record(event)
    assert (counting.asked, counting.stepped) == (
        len(timeline.of(Asked)), len(timeline.steps) - 1)


ATOM = Atom('on', ('r', 'g'))
R_TO_2 = Action('moveblock', ('r', 'c2'))


def asked(stamp_ns: int, usage: Usage | None = None) -> Asked:
    return answered(Observation.elsewhere('image', stamp_ns), (Question(ATOM, 'on?'),),
                 (Answer('yes'),), (None,), AskPurpose.ENUMERATION, model='vlm',
                 usage=usage)


def test_a_step_knows_the_checks_of_the_action_before_and_whether_its_belief_is_fresh() -> None:
    look, belief = Observed(Observation.elsewhere('image', 9)), BeliefUpdated(Belief(frozenset()))
    check = dataclasses.replace(asked(9), purpose=AskPurpose.EFFECT)
    act = Stepped(0, R_TO_2, Feedback(FeedbackStatus.EXECUTED))
    first, second, last = Timeline.of_events([
        STARTED, look, check, belief, act, look, check, belief, look, asked(9), act]).steps
    assert first.checks == () and not last.checks, 'there is no action before, or no question'
    assert [moment.event for moment in second.checks] == [look, check, belief]
    assert (first.fresh, second.fresh, last.fresh) == (True, True, True)
    *_, stale, empty = Timeline.of_events([STARTED, belief, act, look, act]).steps
    assert (stale.checks, stale.fresh, empty.fresh) == ((), False, True)
    silent, mused, _ = Timeline.of_events([STARTED, look, act, belief, asked(9), act]).steps
    assert silent.fresh, 'no belief was published before it'
    assert mused.checks == (), 'a belief alone checks nothing'


def test_each_moment_says_what_was_known_before_it() -> None:
    first, second = (Belief(frozenset({ATOM}), {ATOM: p}) for p in (0.5, 0.9))
    goal = GoalAdopted((Literal(ATOM),), 'the picture of the goal')
    timeline = Timeline.of_events([
        STARTED, Observed(Observation.elsewhere('image', 5)), asked(5, Usage(1)),
        BeliefUpdated(first), goal,
        Planned(PlanningResult(PlanningStatus.SOLVED, (R_TO_2,))),
        Stepped(0, R_TO_2, Feedback(FeedbackStatus.EXECUTED, stamp_ns=9), 5),
        asked(9, Usage(2)), BeliefUpdated(second), EpisodeEnded(StopReason.PLAN_DONE)],
        range(10))
    assert [moment.belief for moment in timeline.of(Asked)] == [None, first]
    assert [moment.batch for moment in timeline.of(Asked)] == [0, 1]
    assert [moment.moved for moment in timeline.of(Asked)] == [False, True]
    plan, = timeline.of(Planned)
    assert (plan.step, plan.now_ns, plan.adopted, plan.received_ns) == (0, 5, goal, 5)
    before, after = timeline.steps
    assert (before.index, before.believed, before.adopted) == (0, first, goal)
    assert (after.index, after.believed, after.action) == (None, second, None)
    assert timeline.usage == Usage(3) and timeline.models == ('vlm',)
    assert timeline.end is not None and timeline.end.reason is StopReason.PLAN_DONE
    told = dataclasses.replace(STARTED.spec.problem, goal=())
    assert problem_known(told, goal).goal == goal.goal
    assert problem_known(told, None) == told
    found = problem_known(told, ProblemAdopted({'r': 'block'}, goal.goal))
    assert (found.objects, found.init) == ({'r': 'block'}, frozenset())


class Told:
    """Ground truth by world time; of one time it cannot be had at first."""

    def __init__(self) -> None:
        self.states = {5: frozenset({ATOM}), 9: frozenset(), 12: frozenset({ATOM})}
        self.broken = {9}

    def state(self, stamp_ns: int | None = None) -> State:
        if stamp_ns in self.broken:
            self.broken.discard(stamp_ns)
            raise WorldError('out of memory')
        return self.states[stamp_ns or 12]

    def last_outcome(self) -> str:
        return 'success'


def test_the_truth_of_its_time_is_joined_to_each_moment() -> None:
    belief = Belief(frozenset(), {ATOM: 0.5})
    step = Stepped(0, R_TO_2, Feedback(FeedbackStatus.EXECUTED, stamp_ns=9), 5)
    events = [STARTED, Observed(Observation.elsewhere('image', 5)), asked(5),
              BeliefUpdated(belief), step, asked(9), asked(9),
              EpisodeEnded(StopReason.PLAN_DONE, stamp_ns=12)]
    timeline = Timeline.of_events(events, truth=Told())
    answers = [moment.truth for moment in timeline.of(Asked)]
    assert [one.state for one in answers] == [frozenset({ATOM}), None, frozenset()]
    assert [one.error for one in answers] == ['', 'no ground truth: out of memory', '']
    [acted], [ended] = timeline.of(Stepped), timeline.of(EpisodeEnded)
    assert (acted.truth.outcome, acted.truth.believed, acted.truth.belief, acted.truth.after) == (
        'success', frozenset({ATOM}), belief, None)
    assert ended.truth.state == frozenset({ATOM}) and ended.truth.belief is None
    assert [timeline.holds(ATOM, when) for when in (5, 9, 7)] == [True, False, None]
    [along] = Timeline.of_events(events, truth=Told(), way=True).of(Stepped)
    assert (along.truth.error, along.truth.way_error) == ('', 'no ground truth: out of memory')
    assert not Timeline.of_events(events).has_truth
    refused = Stepped(0, R_TO_2, Feedback(FeedbackStatus.REJECTED, stamp_ns=9))  # of no known time
    [stayed] = Timeline.of_events([*events[:2], refused], truth=Told()).of(Stepped)
    assert stayed.truth.state == frozenset({ATOM}), 'as when the last picture was taken'


def test_nothing_comes_before_the_start_and_the_end_is_the_last() -> None:
    with pytest.raises(ValueError, match='Asked came before EpisodeStarted'):
        Timeline().take(asked(1))
    with pytest.raises(ValueError, match='no episode has begun'):
        Timeline().spec  # noqa: B018
    ended = Timeline.of_events([STARTED, EpisodeEnded(StopReason.PLAN_DONE)])
    assert ended.end is not None
    ended.take(asked(1))  # of a damaged recording
    assert ended.end is None and len(ended.of(Asked)) == 1
    ended.take(STARTED)
    assert ended.end is None and len(ended.moments) == 1


def test_an_episode_that_was_cut_off_has_no_end() -> None:
    timeline = Timeline.of_events([STARTED, asked(1)])
    assert timeline.end is None and timeline.usage is None
    assert [step.action for step in timeline.steps] == [None]
