"""The episode loop: events, budgets, limits, errors, cancelling."""

import logging

import pytest

from doubles import Answering, EventList, MemoryWorld, SearchPlanner, TruthGrounder, spec_of
from sightplan.agent import (
    Act,
    Limits,
    PolicyBase,
    Stop,
    Withhold,
    ask_atoms,
    ask_questions,
    plan_from,
    run_episode,
)
from sightplan.metrics.scorer import EpisodeScorer
from sightplan.model import (
    Action,
    Answer,
    Asked,
    AskPurpose,
    Atom,
    BackendError,
    BeliefUpdated,
    DeadlineError,
    EpisodeEnded,
    EpisodeStarted,
    FeedbackStatus,
    GoalAdopted,
    InputError,
    Literal,
    Observed,
    PastStep,
    Planned,
    PlanningResult,
    PlanningStatus,
    Proposal,
    ProposalStatus,
    Proposed,
    Question,
    Stepped,
    StopReason,
    Usage,
    WorldError,
)
from sightplan.model.query import Deadline, Failed
from sightplan.queries import Generate, YesNo

MOVE = Action('moveblock', ('r', 'c2'))


class Script(PolicyBase):
    """A policy that carries out prepared decisions, then stops."""

    remaining = 3

    def __init__(self, *decisions, begin=None, learn=None):
        self.decisions, self.on_begin, self.on_learn = list(decisions), begin, learn
        self.learnt = []

    def begin(self, context):
        self.context = context
        return self.on_begin(context) if self.on_begin else None

    def decide(self, context):
        return self.decisions.pop(0) if self.decisions else Stop(StopReason.PLAN_DONE)

    def learn(self, context, action, feedback):
        self.learnt.append((action, feedback.status))
        return self.on_learn(context) if self.on_learn else None


def episode(policy, spec=None, world=None, grounder=None, planner=None, **options):
    world = world or MemoryWorld()
    events = EventList()
    ended = run_episode(spec or spec_of(), policy, world, grounder or TruthGrounder(world),
                        planner or SearchPlanner(), events, world.domain, **options)
    assert events.events[-1] is ended
    assert isinstance(events.events[0], EpisodeStarted)
    assert len(events.of(EpisodeStarted)) == len(events.of(EpisodeEnded)) == 1
    return ended, events, world


def raising(error):
    def call(*arguments, **named):
        raise error
    return call


def test_events_tell_the_story_in_order():
    def begin(context):
        ask_atoms(context, [Atom('clear', ('r',))], AskPurpose.ENUMERATION)
        plan_from(context, frozenset())
        context.believe(frozenset(), {Atom('clear', ('r',)): .5})
    ended, events, _ = episode(Script(Act(MOVE), begin=begin))
    assert [type(e) for e in events.events] == [
        EpisodeStarted, Observed, Asked, Planned, BeliefUpdated, Stepped, EpisodeEnded]
    assert (ended.reason, ended.steps, ended.remaining) == (StopReason.PLAN_DONE, 1, 3)


def test_a_step_carries_index_feedback_and_times():
    ended, events, world = episode(Script(Act(MOVE), Act(MOVE)))
    first, second = events.of(Stepped)
    assert (first.index, second.index) == (0, 1)
    assert (first.feedback.status, second.feedback.status) == (
        FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED)
    assert second.stamp_ns == first.feedback.stamp_ns
    assert ended.stamp_ns == world.now_ns


def test_withholding_costs_budget_and_moves_nothing():
    policy = Script(*[Withhold(MOVE, 'because')] * 9)
    ended, events, world = episode(policy, spec_of(max_actions=4))
    assert (ended.reason, ended.steps) == (StopReason.BUDGET, 4)
    assert policy.learnt == [(MOVE, FeedbackStatus.WITHHELD)] * 4
    assert world.actions == []
    assert {s.feedback.message for s in events.of(Stepped)} == {'because'}


def test_rejected_actions_cost_budget_too():
    illegal = Act(Action('moveblock', ('g', 'c2')))
    ended, _, _ = episode(Script(*[illegal] * 9), spec_of(max_actions=3))
    assert (ended.reason, ended.steps) == (StopReason.BUDGET, 3)


def test_begin_and_learn_may_stop():
    stop = Stop(StopReason.NO_PLAN, 'why')
    ended, _, _ = episode(Script(begin=lambda c: stop))
    assert (ended.reason, ended.message, ended.steps) == (StopReason.NO_PLAN, 'why', 0)
    ended, _, _ = episode(Script(Act(MOVE), Act(MOVE), learn=lambda c: stop))
    assert (ended.reason, ended.steps) == (StopReason.NO_PLAN, 1)


def test_a_plan_that_ends_with_the_budget_is_done_not_out_of_budget():
    done = Stop(StopReason.PLAN_DONE)
    ended, _, _ = episode(Script(Act(MOVE), learn=lambda c: done), spec_of(max_actions=1))
    assert ended.reason is StopReason.PLAN_DONE


def test_no_budget_means_no_action():
    ended, _, world = episode(Script(Act(MOVE)), spec_of(max_actions=0))
    assert (ended.reason, ended.steps, world.actions) == (StopReason.BUDGET, 0, [])


@pytest.mark.parametrize('error', [WorldError('the arm fell off'), BackendError('no GPU'),
                                   DeadlineError('too late')])
def test_infrastructure_errors_end_the_episode_unscored(error):
    ended, _, _ = episode(Script(begin=raising(error)))
    assert ended.reason is StopReason.ERROR and not ended.reason.scored
    assert ended.message == f'{type(error).__name__}: {error}'


def test_a_world_that_cannot_be_reset_gives_a_complete_story():
    world = MemoryWorld()
    world.reset = raising(WorldError('nine columns'))
    ended, events, _ = episode(Script(Act(MOVE)), world=world)
    assert (ended.reason, ended.message) == (StopReason.ERROR, 'WorldError: nine columns')
    assert len(events.events) == 2


def test_an_unexpected_exception_is_an_error_with_its_traceback_in_the_log(caplog):
    with caplog.at_level(logging.ERROR):
        ended, _, _ = episode(Script(begin=raising(KeyError('oops'))))
    assert ended.reason is StopReason.ERROR
    assert ended.message == "unexpected KeyError: 'oops'"
    assert 'Traceback' in caplog.text and 'test_agent_loop.py' in caplog.text


def test_an_action_the_problem_does_not_have_never_reaches_the_world():
    world = MemoryWorld()
    world.execute = raising(AssertionError('reached'))
    ended, events, _ = episode(Script(Act(Action('fly', ('r',)))), world=world)
    assert ended.reason is StopReason.ERROR and 'fly' in ended.message
    assert events.of(Stepped) == []


def test_a_crashed_planner_is_infrastructure():
    class Crashing:
        def plan(self, task, timeout_s):
            return PlanningResult(PlanningStatus.CRASHED, message='signal 11')
    ended, events, _ = episode(Script(begin=lambda c: plan_from(c, frozenset())),
                               planner=Crashing())
    assert ended.reason is StopReason.ERROR and 'signal 11' in ended.message
    assert len(events.of(Planned)) == 1


@pytest.mark.parametrize('calls', [0, 1, 2, 3, 4, 5])
def test_cancelling_ends_the_episode_at_the_next_use_of_a_port(calls):
    polls = []

    def cancelled():
        polls.append(1)
        return len(polls) > calls

    def begin(context):
        ask_atoms(context, [Atom('clear', ('r',))], AskPurpose.ENUMERATION)
    ended, _, world = episode(Script(Act(MOVE), Act(MOVE), begin=begin), cancelled=cancelled)
    if calls < 5:
        assert ended.reason is StopReason.CANCELLED and not ended.reason.scored
        assert len(world.actions) == (1 if calls >= 4 else 0)
    else:
        assert ended.reason is StopReason.PLAN_DONE


def test_an_error_while_being_cancelled_is_a_cancelled_episode():
    flag = []

    def begin(context):
        flag.append(1)
        raise BackendError('the server went down with us')
    ended, _, _ = episode(Script(begin=begin), cancelled=lambda: bool(flag))
    assert ended.reason is StopReason.CANCELLED


def test_a_cancel_check_that_breaks_ends_the_episode_as_an_error():
    flag = []

    def cancelled():
        if flag:
            raise BackendError('the node is being stopped')
        return False

    def begin(context):
        flag.append(1)
        context.observe()
    ended, _, _ = episode(Script(begin=begin), cancelled=cancelled)
    assert (ended.reason, ended.message) == (
        StopReason.ERROR, 'BackendError: the node is being stopped')


def test_an_interrupt_is_recorded_before_it_goes_on():
    world, events = MemoryWorld(), EventList()
    with pytest.raises(KeyboardInterrupt):
        run_episode(spec_of(), Script(begin=raising(KeyboardInterrupt())), world,
                    TruthGrounder(world), SearchPlanner(), events, world.domain)
    assert events.events[-1].reason is StopReason.CANCELLED


def test_an_episode_over_its_time_limit_is_an_error():
    now = [0.]

    def slow(context):
        now[0] += 100.
        context.observe()
    ended, _, _ = episode(Script(begin=slow), clock=lambda: now[0], limits=Limits(episode_s=60.))
    assert ended.reason is StopReason.ERROR and '60 s' in ended.message


def test_stages_are_timed_with_the_given_clock():
    now = [0.]

    def tick():
        now[0] += 1.
        return now[0]

    def begin(context):
        ask_atoms(context, [Atom('clear', ('r',))], AskPurpose.GOAL)
        plan_from(context, frozenset())
    ended, events, _ = episode(Script(Act(MOVE), begin=begin), clock=tick)
    assert ended.timings_s == {'reset': 1., 'observe': 1., 'ground': 1., 'plan': 1.,
                               'propose': 0., 'act': 1.}
    assert events.of(Asked)[0].seconds == events.of(Stepped)[0].seconds == 1.
    assert ended.seconds == 11.

    def twice(context):
        begin(context)
        begin(context)
    _, events, _ = episode(Script(begin=twice), clock=tick)
    assert [event.seconds for event in events.of(Asked)] == [1., 1.]


def test_a_change_of_the_goal_is_recorded_each_time_and_its_repetition_is_not():
    first, second = ([Literal(Atom('clear', (block,)))] for block in 'rg')

    def begin(context):
        for goal in (first, first, second, first):
            context.adopt_goal(goal)
    _, events, _ = episode(Script(begin=begin))
    assert [list(event.goal) for event in events.of(GoalAdopted)] == [first, second, first]


def test_a_planning_model_is_shown_no_more_past_pictures_than_it_is_told_of_steps():
    class Planner:
        usage, tasks = None, []

        def propose(self, observation, task, timeout_s=None):
            self.tasks.append(task)
            return Proposal(ProposalStatus.EMPTY)

    def begin(context):
        for steps in (0, 0, 1, 5):
            context.propose([PastStep('a step', 'done')] * steps, past=2)
    planner = Planner()
    _, events, _ = episode(Script(begin=begin), visual_planner=planner)
    assert [len(task.past) for task in planner.tasks] == [0, 0, 1, 2]
    shown = [event.observation for event in events.of(Proposed)]
    assert planner.tasks[-1].past == tuple(shown[1:3])


def test_a_model_that_fails_is_recorded_with_what_came_before_and_what_it_cost():
    class Grounder(Answering):
        model, usage = 'm', Usage()

        def ground(self, observation, questions, timeout_s=None, prompt=None):
            self.usage += Usage(requests=2, prompt_tokens=7)
            error = BackendError('the server is gone')
            error.partial = [Answer('yes'), None]
            raise error

    world = MemoryWorld()
    scorer = EpisodeScorer(world)
    ended, events, _ = episode(Script(begin=lambda context: ask_atoms(
        context, [Atom('clear', ('r',)), Atom('clear', ('g',))], AskPurpose.GOAL)),
        world=world, grounder=Grounder())
    assert ended.reason is StopReason.ERROR and 'the server is gone' in ended.message
    [asked] = events.of(Asked)
    answer, failed = asked.replies
    assert answer == Answer('yes') and failed == Failed('BackendError: the server is gone')
    assert asked.failed and not asked.yes_no and (asked.model, asked.questions) == ('m', ())
    assert asked.usage == Usage(requests=2, prompt_tokens=7)
    for event in events.events:
        scorer.record(event)
    line = scorer.result()
    assert line['usage']['prompt_tokens'] == 7 and line['questions'] == 0


def test_a_model_that_fails_to_propose_is_recorded_with_what_it_cost():
    class Planner:
        model, usage = 'm', Usage()

        def propose(self, observation, task, timeout_s=None):
            self.usage += Usage(requests=2, prompt_tokens=7)
            raise BackendError('the server is gone')

    world = MemoryWorld()
    scorer = EpisodeScorer(world)
    told = [PastStep('a step', 'done')]
    ended, events, _ = episode(Script(begin=lambda context: context.propose(told, past=1)),
                               world=world, visual_planner=Planner())
    assert ended.reason is StopReason.ERROR and 'the server is gone' in ended.message
    [proposed], [observed] = events.of(Proposed), events.of(Observed)
    proposal = proposed.proposal
    assert proposal.status is ProposalStatus.FAILED and proposal.model == 'm'
    assert proposal.message == 'BackendError: the server is gone' and not proposal.actions
    assert proposed.observation == observed.observation and list(proposed.history) == told
    assert proposed.usage == Usage(requests=2, prompt_tokens=7)
    for event in events.events:
        scorer.record(event)
    line = scorer.result()
    assert line['usage']['prompt_tokens'] == 7 and line['proposals'] == {}
    assert (line['stop'], line['message']) == ('error', ended.message)


@pytest.mark.parametrize('why', ['no GPU is free', ''])
def test_a_proposal_that_says_it_failed_is_an_error(why: str):
    class Planner:
        model, usage = 'm', Usage()

        def propose(self, observation, task, timeout_s=None):
            return Proposal(ProposalStatus.FAILED, message=why)

    ended, events, _ = episode(Script(begin=lambda context: context.propose([], past=0)),
                               visual_planner=Planner())
    assert ended.reason is StopReason.ERROR
    assert (why or 'without saying why') in ended.message
    assert len(events.of(Proposed)) == 1


def test_limits_reach_grounder_and_planner():
    seen = {}

    class Grounder(Answering):
        model = 'm'

        def ground(self, observation, questions, timeout_s=None, prompt=None):
            seen['ground'] = timeout_s
            return [Answer('yes')]

    class Planner:
        def plan(self, task, timeout_s):
            seen['plan'] = timeout_s
            return PlanningResult(PlanningStatus.UNSOLVABLE)

    def begin(context):
        ask_atoms(context, [Atom('clear', ('r',))], AskPurpose.GOAL)
        plan_from(context, frozenset())
    episode(Script(begin=begin), grounder=Grounder(), planner=Planner(),
            limits=Limits(ground_s=3., plan_s=4.))
    assert seen == {'ground': 3., 'plan': 4.}


def test_questions_are_worded_by_the_domain_and_expectations_go_along():
    atoms = [Atom('clear', ('r',)), Atom('on', ('r', 'g'))]

    def begin(context):
        ask_atoms(context, atoms, AskPurpose.PRECONDITION, [True, None], MOVE)
    _, events, world = episode(Script(begin=begin))
    [asked] = events.of(Asked)
    assert [q.text for q in asked.questions] == [world.domain.question(a).text for a in atoms]
    assert (asked.expected, asked.action, asked.purpose) == (
        (True, None), MOVE, AskPurpose.PRECONDITION)
    assert asked.model == 'truth'


def test_questions_without_expectations_are_recorded_and_scored():
    world = MemoryWorld()
    scorer = EpisodeScorer(world)

    def begin(context):
        seen = context.observe()
        ask_questions(context.asking(seen), seen, [
            world.domain.question(Atom('clear', ('r',))), Question.of_words('Is it bright?')])
        return Stop(StopReason.PLAN_DONE)
    run_episode(spec_of(), Script(begin=begin), world, TruthGrounder(world), SearchPlanner(),
                scorer, world.domain)
    line = scorer.result()
    assert (line['stop'], line['questions']) == ('plan_done', 2), line['message']
    assert list(line['predicates']['look']) == ['clear'], 'no state says whether it is bright'
    assert line['wrong'] == []


def test_yes_no_questions_are_asked_apart_from_other_queries():
    def begin(context):
        seen = context.observe()
        context.asking(seen).ask([
            YesNo(seen, Question.of_words('Is it bright?')), Generate('', ('What is it?',))],
            Deadline())
    ended, _, _ = episode(Script(begin=begin))
    assert ended.reason is StopReason.ERROR and 'asked apart' in ended.message


def test_expectations_must_fit_the_questions():
    ended, _, _ = episode(Script(
        begin=lambda c: ask_atoms(c, [Atom('clear', ('r',))], AskPurpose.GOAL, [True, False])))
    assert ended.reason is StopReason.ERROR and 'expectations' in ended.message


def test_a_given_look_is_used_and_not_taken_again():
    def begin(context):
        look = context.observe()
        ask_atoms(context, [Atom('clear', ('r',))], AskPurpose.GOAL, observation=look)
        ask_atoms(context, [Atom('clear', ('g',))], AskPurpose.GOAL, observation=look)
    _, events, world = episode(Script(begin=begin))
    assert world.observations == 1
    assert events.of(Asked)[0].observation is events.of(Asked)[1].observation


def test_the_grounder_is_told_about_each_episode():
    started = []
    world = MemoryWorld()
    grounder = TruthGrounder(world)
    grounder.start_episode = lambda episode_id, split: started.append((episode_id, split))
    episode(Script(), spec_of(id='e7', split='hard'), world, grounder)
    assert started == [('e7', 'hard')]


def test_bad_input_from_a_policy_is_an_error_not_a_crash():
    ended, _, _ = episode(Script(begin=raising(InputError('file x'))))
    assert ended.message == 'InputError: file x'


SOLUTION = [Act(Action('moveblock', ('r', 'c2'))), Act(Action('moveblock', ('g', 'c2')))]


def test_an_episode_may_end_at_its_goal():
    world = MemoryWorld()
    policy = Script(*SOLUTION, *SOLUTION)
    spec = spec_of(stop_at_goal=True, max_actions=2)
    ended, _, _ = episode(policy, spec, world,
                          goal_reached=lambda: spec.problem.goal_met(world.state()))
    assert (ended.reason, ended.steps) == (StopReason.GOAL_REACHED, 2)
    assert len(policy.decisions) == 2


def test_an_episode_whose_goal_holds_already_ends_before_the_policy_begins():
    def begin(context):
        raise AssertionError('begun')
    ended, _, _ = episode(Script(begin=begin), spec_of(stop_at_goal=True),
                          goal_reached=lambda: True)
    assert (ended.reason, ended.steps) == (StopReason.GOAL_REACHED, 0)


def test_nobody_is_asked_about_the_goal_unless_the_spec_says_so():
    ended, _, _ = episode(Script(*SOLUTION), goal_reached=raising(AssertionError))
    assert (ended.reason, ended.steps) == (StopReason.PLAN_DONE, 2)


def test_who_is_to_stop_at_the_goal_must_be_able_to_tell():
    ended, _, _ = episode(Script(*SOLUTION), spec_of(stop_at_goal=True))
    assert ended.reason is StopReason.ERROR and 'goal_reached' in ended.message


def test_the_decisions_own_end_counts_before_the_goal():
    stop = Stop(StopReason.NO_PLAN, 'why')
    ended, _, _ = episode(Script(*SOLUTION, learn=lambda c: stop), spec_of(stop_at_goal=True),
                          goal_reached=iter([False, True]).__next__)
    assert ended.reason is StopReason.NO_PLAN


@pytest.mark.parametrize(('policy', 'words'), [
    (Script(None), 'Script.decide returned None; it must return Act or Withhold or Forfeit'),
    (Script(MOVE), 'Script.decide returned Action'),
    (Script(begin=lambda context: True), 'Script.begin returned True; it must return Stop'),
    (Script(Act(MOVE), learn=lambda context: 0), 'Script.learn returned 0; it must return Stop')])
def test_what_a_policy_must_not_return_is_named_without_a_traceback(policy, words, caplog):
    ended, _, _ = episode(policy)
    assert ended.reason is StopReason.ERROR
    assert ended.message.startswith(f'InputError: {__name__}.{words}')
    assert not caplog.records
