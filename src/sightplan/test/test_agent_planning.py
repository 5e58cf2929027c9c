"""The methods whose model plans: plan, plan_cot, action, action_cot, step by step."""

import dataclasses
import json

import numpy as np
import pytest

from doubles import (
    Answering,
    EventList,
    MemoryWorld,
    TalkingBackend,
    facts_of,
    pantry,
    seer,
    spec_of,
    tried_so_far,
    two_blocks,
)
from sightplan.agent import (
    make_policy,
    method_names,
    needs_grounder,
    needs_model,
    needs_planner,
    needs_visual_planner,
    prompt_name,
    reads_instruction,
    run_episode,
)
from sightplan.domains import load_domain
from sightplan.model import (
    Action,
    Atom,
    BackendError,
    FeedbackStatus,
    InfrastructureError,
    Observed,
    Privileged,
    Proposed,
    Stepped,
    StopReason,
)
from sightplan.planning.visual import BackendVisualPlanner
from sightplan.runs import EpisodePlan, RunSettings

METHODS = ('plan', 'plan_cot', 'action', 'action_cot')
EXECUTED, REJECTED, INVALID = (FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED,
                               FeedbackStatus.INVALID)


class NoPlanner(Answering):
    """Neither answers nor plans."""

    def ground(self, *arguments):
        raise AssertionError('a question was asked')

    plan = ground


def episode(say, method='plan', spec=None, world=None, **settings):
    world = world or MemoryWorld()
    events, backend = EventList(), TalkingBackend(say(world) if say is seer else say)
    spec = spec or spec_of(method=method)
    ended = run_episode(
        spec, make_policy(method, settings), world, NoPlanner(), NoPlanner(), events, world.domain,
        visual_planner=BackendVisualPlanner(backend, world.domain),
        goal_reached=lambda: spec.problem.goal_met(world.state()),
        privileged=facts_of(world, spec))
    return ended, events, backend


def replies(*texts):
    """A model that says one text after the other, the last for ever."""
    left = list(texts)

    def say(request):
        return left.pop(0) if len(left) > 1 else left[0]
    return say


def plan(*steps):
    return json.dumps({'plan': [{'action': 'moveblock', 'parameters': list(step)}
                                for step in steps]})


def steps(events):
    return [(step.action, step.feedback.status) for step in events.of(Stepped)]


# Anchors

@pytest.mark.parametrize('method', METHODS)
def test_a_model_that_sees_perfectly_solves_every_simple_problem_within_the_budget(method):
    settings = RunSettings(method=method, split='simple')
    plan = EpisodePlan(settings)
    specs = plan.items
    assert len(specs) == 25 and {(s.max_actions, s.stop_at_goal) for s in specs} == {(10, True)}
    world = MemoryWorld()
    for spec in specs:
        ended, _, _ = episode(seer, method, spec, world)
        assert ended.reason is StopReason.GOAL_REACHED, spec.id
        assert spec.problem.goal_met(world.state())
        assert ended.steps == spec.problem.optimal_length


@pytest.mark.parametrize('method', METHODS)
def test_it_also_knows_by_itself_when_it_is_done(method):
    ended, events, backend = episode(seer, method)
    assert (ended.reason, ended.steps) == (StopReason.EMPTY_PLAN, 2)
    assert len(backend.requests) == 3 and len(events.of(Proposed)) == 3
    assert all('reached already' in request.system for request in backend.requests)


@pytest.mark.parametrize('method', METHODS)
def test_it_copes_with_another_domain(method):
    domain = pantry()
    for problem in domain.split_problems('small'):
        spec = spec_of(problem, method=method, stop_at_goal=True)
        ended, _, _ = episode(seer, method, spec, MemoryWorld(domain))
        assert ended.reason is StopReason.GOAL_REACHED


def test_what_methods_need():
    for method in method_names():
        plans = method in METHODS
        assert needs_visual_planner(method) is plans
        assert not (plans and (needs_grounder(method) or needs_planner(method)))
        assert needs_model(method) is (bool(prompt_name(method)) or reads_instruction(method))
        assert not plans or prompt_name(method) == method


# What is carried out, and what is told

def test_only_the_first_action_is_sent_and_each_proposal_sees_a_fresh_picture():
    says = replies(plan(['r', 'c2'], ['g', 'c3']), plan(['g', 'c2']), plan())
    ended, events, backend = episode(says)
    assert steps(events) == [(Action('moveblock', ('r', 'c2')), EXECUTED),
                             (Action('moveblock', ('g', 'c2')), EXECUTED)]
    assert (ended.reason, ended.remaining) == (StopReason.EMPTY_PLAN, 0)
    shown = [request.parts[1] for request in backend.requests]
    for image, look in zip(shown, events.of(Observed), strict=True):
        assert image is look.observation.image
    assert not np.array_equal(shown[0], shown[1])


def test_what_was_proposed_is_recorded_with_prompt_and_time():
    ended, events, _ = episode(replies(plan(['r', 'c2']), plan()), 'plan_cot')
    proposed = events.of(Proposed)[0]
    digest = load_domain('blocksworld').prompt_hash('plan_cot')
    assert proposed.prompt == f'plan_cot@{digest}'
    assert proposed.proposal.model == 'talking' and proposed.proposal.seconds > 0.
    assert proposed.observation is events.of(Observed)[0].observation
    assert ended.timings_s['propose'] >= proposed.proposal.seconds


def test_the_next_prompt_tells_what_became_of_each_proposal():
    ended, events, backend = episode(replies(
        plan(['r', 'c2']), plan(['r', 'c2']), 'no idea', '{"plan": [{"action": "fly", '
        '"parameters": {"to": "c2"}}]}', plan(['r', 'c9']), plan()))
    told = [tried_so_far(request).splitlines() for request in backend.requests]
    assert told[0] == ['Nothing yet.']
    assert [len(lines) for lines in told[1:]] == [1, 2, 3, 4, 5]
    assert told[-1] == [
        '1. moveblock(r, c2): carried out',
        '2. moveblock(r, c2): refused: it cannot be done in the scene as it is',
        '3. (no action): the reply was not JSON of the form that was asked for',
        '4. fly(to=c2): there is no such action; there are moveblock',
        '5. moveblock(r, c9): c9 is unknown (a column is wanted: c1, c2, c3)']
    assert [status for _, status in steps(events)] == [
        EXECUTED, REJECTED, INVALID, INVALID, INVALID]
    assert (ended.reason, ended.steps) == (StopReason.EMPTY_PLAN, 5)


def test_an_action_that_failed_by_chance_is_not_told_apart():
    spec = spec_of(failure_probability=1., max_actions=2)
    _, _, backend = episode(replies(plan(['r', 'c2'])), spec=spec)
    assert tried_so_far(backend.requests[1]) == '1. moveblock(r, c2): carried out'


def test_an_invalid_proposal_spends_the_budget_and_moves_nothing():
    world = MemoryWorld()
    ended, events, _ = episode(replies('?'), spec=spec_of(max_actions=4), world=world)
    assert (ended.reason, ended.steps, world.actions) == (StopReason.BUDGET, 4, [])
    assert steps(events) == [(None, INVALID)] * 4
    assert 'unparsed: -: the reply was not JSON' in events.of(Stepped)[0].feedback.message


def test_the_papers_rule_ends_at_an_unreadable_reply():
    ended, _, _ = episode(replies(plan(['r', 'c2']), '?!'), on_unparsed='stop')
    assert (ended.reason, ended.steps) == (StopReason.UNPARSED, 1)
    assert "'?!'" in ended.message


def test_an_empty_plan_may_be_taken_for_a_mistake():
    ended, _, backend = episode(replies(plan()), spec=spec_of(max_actions=2),
                                on_empty='continue')
    assert (ended.reason, ended.steps) == (StopReason.BUDGET, 2)
    assert tried_so_far(backend.requests[1]) == '1. (no action): the plan was empty'


def test_an_episode_that_ends_at_its_goal_does_not_ask_the_model_to_say_so():
    ended, _, backend = episode(seer, spec=spec_of(stop_at_goal=True))
    assert (ended.reason, len(backend.requests)) == (StopReason.GOAL_REACHED, 2)
    assert 'reached already' not in backend.requests[0].system


def test_one_policy_serves_many_episodes_from_scratch():
    world, policy = MemoryWorld(), make_policy('plan')
    first = []
    for number in range(2):
        backend = TalkingBackend(seer(world))
        run_episode(spec_of(id=f'e{number}'), policy, world, None, None, EventList(),
                    world.domain, visual_planner=BackendVisualPlanner(backend))
        first.append(tried_so_far(backend.requests[0]))
    assert first == ['Nothing yet.'] * 2


def test_a_backend_that_fails_is_infrastructure():
    def say(request):
        raise BackendError('gone')
    ended, _, _ = episode(say)
    assert ended.reason is StopReason.ERROR and 'gone' in ended.message


# What the model must not be told

@pytest.mark.parametrize('method', METHODS)
def test_nothing_of_the_initial_state_reaches_the_model(method):
    """A lie in the problem's init, which the world does not share, changes not one byte."""
    truth = two_blocks()
    lie = dataclasses.replace(truth, init=frozenset({Atom('clear', ('g',))}), optimal_length=77)
    stories = []
    for problem in (truth, lie):
        world = MemoryWorld()
        reset = world.reset
        world.reset = lambda spec, reset=reset: reset(dataclasses.replace(spec, problem=truth))
        _, _, backend = episode(seer, method, spec_of(problem, method=method), world)
        stories.append([(r.system, [p if isinstance(p, str) else p.tobytes() for p in r.parts],
                         r.max_tokens) for r in backend.requests])
    assert stories[0] == stories[1] and len(stories[0]) == 3


def test_facts_that_the_episode_grants_are_told():
    for level in Privileged:
        world = MemoryWorld(visible=lambda problem, state: set(problem.objects) - {'g'})
        _, _, backend = episode(replies(plan(['r', 'c2']), plan()), world=world,
                                spec=spec_of(privileged=level))
        held, no_longer = ([text in request.parts[0] for request in backend.requests] for text in (
            'The red block is on top of the green block.',
            'Is the red block on top of the green block? No.'))
        assert held == [level is not Privileged.NONE, False]
        assert no_longer == [False, level in (Privileged.ALWAYS, Privileged.REFERENCE)]


def test_no_action_ever_stands_in():
    """Whatever cannot be sent, nothing else is sent in its place."""
    world = MemoryWorld()

    def execute(action):
        raise InfrastructureError('something was sent')
    world.execute = execute
    wait = '{"plan": [{"action": "wait", "parameters": {}}]}'
    for text in ('', 'moveblock(r, c2)', plan(['r', 'r']), wait):
        ended, _, _ = episode(replies(text), spec=spec_of(max_actions=3), world=world)
        assert ended.reason is StopReason.BUDGET
