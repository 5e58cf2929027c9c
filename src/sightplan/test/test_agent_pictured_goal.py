"""A goal that is shown as a picture: nothing else tells it, and who cannot read it is refused."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from doubles import EventList, spec_of
from sightplan.agent import make_policy, method_names, needs_planner, needs_truth, run_episode
from sightplan.domains import load_domain
from sightplan.grounding import PARSERS, BackendGrounder
from sightplan.model import (
    Asked,
    AskPurpose,
    EpisodeStarted,
    GoalAdopted,
    InputError,
    Literal,
    Planned,
    StopReason,
)
from sightplan.planning.own import OwnPlanner
from sightplan.runs import RunSettings
from sightplan.runs.method_check import check_method
from sightplan.vlm.api import make_backend

sim = pytest.importorskip('sightplan_sim.sliding.world')

SLIDING = load_domain('sliding')
PROBLEM = next(problem for problem in SLIDING.split_problems('geoms')
               if len(problem.goal) == 2 and problem.optimal_length == 3)
READERS = ('belief', 'decode', 'ground', 'ground_cot', 'ground_mem', 'ground_mem_cot')
BLIND = ('blind', 'log_odds', 'three_valued')


def other_goal(problem):
    """The same problem with the pieces' goals exchanged."""
    (first, a), (second, b) = (literal.atom.args for literal in problem.goal)
    goal = tuple(Literal(dataclasses.replace(literal.atom, args=args)) for literal, args in zip(
        problem.goal, ((first, b), (second, a)), strict=True))
    return dataclasses.replace(problem, goal=goal, optimal_length=99, plans={})


def no_planner():
    raise AssertionError('the general planner was asked')


class Noting:
    """A policy that notes its context where the loop calls it first, and goes on."""

    def __init__(self, policy):
        self._policy, self.seen = policy, None

    def __getattr__(self, name):
        return getattr(self._policy, name)

    def begin(self, context):
        self.seen = (context.spec, context.problem, context.model.atoms, context.model.actions,
                     context.rng.getstate())
        return self._policy.begin(context)


def play(method, problem, policy=None, **values):
    world = sim.make_world(pictures='none')
    backend = make_backend('noisy_reader', {'table': 'perfect'}, world)
    policy = policy or Noting(make_policy(method, {}, world))
    events = EventList()
    spec = spec_of(problem, method=method, split='geoms', max_actions=20,
                   **{'pictured_goal': True, 'stop_at_goal': True, **values})
    ended = run_episode(
        spec, policy, world, BackendGrounder(backend, PARSERS['strict']),
        OwnPlanner(no_planner, SLIDING), events, SLIDING,
        goal_reached=lambda: spec.problem.goal_met(world.state()))
    return ended, events, policy, spec.problem.goal_met(world.state())


@pytest.mark.parametrize('method', READERS)
def test_methods_that_read_goals_reach_one_they_were_not_told(method):
    ended, events, _, solved = play(method, PROBLEM)
    assert ended.reason.scored
    assert solved
    assert ended.steps == PROBLEM.optimal_length
    first = events.of(Asked)[0]
    assert first.purpose is AskPurpose.PICTURED_GOAL
    assert first.observation.shows_goal
    adopted = events.of(GoalAdopted)
    assert set(adopted[-1].goal) == set(PROBLEM.goal)
    assert {event.source for event in adopted} == {'the picture of the goal'}
    assert all(one != other for one, other in itertools.pairwise(adopted))
    planned = [n for n, event in enumerate(events.events) if isinstance(event, Planned)]
    assert isinstance(events.events[planned[0] - 1], GoalAdopted) or method != 'belief'


@pytest.mark.parametrize('method', READERS)
def test_before_it_looks_at_the_picture_the_goal_makes_no_difference(method):
    before = []
    for problem in (PROBLEM, other_goal(PROBLEM)):
        _, events, policy, _ = play(method, problem)
        spec, seen = policy.seen[:2]
        assert (seen.goal, seen.plans, seen.optimal_length, seen.source) == ((), {}, None, '')
        assert seen.init == seen.known
        assert spec.problem == seen
        assert problem.name not in repr(spec)
        asked = next(n for n, event in enumerate(events.events) if isinstance(event, Asked))
        assert not any(isinstance(event, Planned) for event in events.events[:asked])
        before.append((policy.seen, [type(event) for event in events.events[:asked]],
                       events.events[asked].questions))
        assert isinstance(events.events[0], EpisodeStarted)
    assert before[0] == before[1]


@pytest.mark.parametrize('name', [name for name in SLIDING.prompt_names
                                  if name.startswith(('plan', 'action'))])
def test_a_prompt_about_a_pictured_goal_does_not_tell_it(name):
    prompts = [SLIDING.planning_prompt(name, problem.for_agent(True), pictured_goal=True)
               for problem in (PROBLEM, other_goal(PROBLEM))]
    assert prompts[0] == prompts[1]
    cells = {literal.atom.args[1].upper() for literal in PROBLEM.goal}
    told = SLIDING.planning_prompt(name, PROBLEM.for_agent())
    assert all(f'on cell {cell}' in told.before_image for cell in cells)
    assert not any(f'on cell {cell}' in prompts[0].before_image for cell in cells)


@pytest.mark.parametrize('stop_at_goal', [True, False])
@pytest.mark.parametrize('method', BLIND)
def test_a_method_that_cannot_read_goals_does_not_claim_success(method, stop_at_goal):
    ended, events, _, _ = play(method, PROBLEM, stop_at_goal=stop_at_goal)
    assert (ended.reason, ended.steps) == (StopReason.ERROR, 0)
    assert f"InputError: method '{method}' cannot read a goal from a picture" in ended.message
    assert 'goal=told, or one of belief, decode, ground' in ended.message
    assert len(events.events) == 2  # the start, and the end


@pytest.mark.parametrize('method', method_names())
def test_every_method_is_checked_before_a_run(method):
    settings = RunSettings(domain='sliding', split='geoms', method=method)
    if method in (*BLIND, 'grounded_plan'):
        with pytest.raises(InputError, match='choose goal=told'):
            check_method(settings, SLIDING)
        check_method(dataclasses.replace(settings, goal='told'), SLIDING)
    else:
        assert method in READERS or needs_truth(method) or not needs_planner(method)
        check_method(settings, SLIDING)


@pytest.mark.parametrize('method', ['astar', 'moves'])
def test_oracles_know_the_goal(method):
    ended, _, _, solved = play(method, PROBLEM)
    assert solved
    assert ended.steps == PROBLEM.optimal_length


def test_a_told_goal_is_not_shown():
    class Peeking(Noting):
        def begin(self, context):
            context.goal_observation()

    policy = Peeking(make_policy('ground', {}))
    ended, _, _, _ = play('ground', PROBLEM, policy, pictured_goal=False)
    assert 'the goal is told, not shown' in ended.message
