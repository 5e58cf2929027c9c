"""Finding methods; oracle, random and idle; and that only the oracle is given truth."""

import ast
import dataclasses
from pathlib import Path

import pytest

from doubles import (
    BoobyTrap,
    EventList,
    MemoryWorld,
    ScriptedPlanner,
    SearchPlanner,
    TruthGrounder,
    spec_of,
    two_blocks,
    visual_planner,
)
from sightplan.agent import (
    make_policy,
    method_names,
    methods,
    needs_grounder,
    needs_truth,
    policy_settings,
    reads_instruction,
    run_episode,
)
from sightplan.model import (
    Action,
    Asked,
    Atom,
    InputError,
    Observed,
    Planned,
    PlanningResult,
    PlanningStatus,
    Stepped,
    StopReason,
)

METHODS = [name for name in method_names() if not needs_truth(name) and name != 'human'
           and not reads_instruction(name)]
"""All that are told nothing and need no person."""

def episode(method, spec=None, world=None, truth=None, planner=None):
    world = world or MemoryWorld()
    events = EventList()
    ended = run_episode(spec or spec_of(method=method), make_policy(method, truth=truth or world),
                        world, TruthGrounder(world), planner or SearchPlanner(), events,
                        world.domain, visual_planner=visual_planner(world))
    return ended, events, world


def test_methods_are_found_by_their_modules_names():
    assert {'ground', 'idle', 'oracle', 'random'} <= set(method_names())


def test_unknown_methods_and_settings_name_the_choice():
    with pytest.raises(InputError, match='choose one of.*ground'):
        make_policy('magic')
    with pytest.raises(InputError, match='no setting.*on_unparsed'):
        make_policy('ground', {'x': 1})
    with pytest.raises(InputError, match='continue, stop'):
        policy_settings('ground', {'on_unparsed': 'panic'})


def test_only_the_oracle_declares_that_it_reads_truth():
    assert [name for name in method_names() if needs_truth(name)] == [
        'astar', 'moves', 'oracle', 'random_valid']


def test_the_oracle_cannot_be_made_without_truth():
    with pytest.raises(InputError, match='ground truth'):
        make_policy('oracle')


@pytest.mark.parametrize('method', METHODS)
def test_no_other_method_can_reach_truth(method):
    policy = make_policy(method, truth=BoobyTrap())
    held = [getattr(policy, name, None) for name in (*vars(policy), *dir(type(policy)))]
    assert not any(isinstance(thing, (BoobyTrap, MemoryWorld)) for thing in held)


@pytest.mark.parametrize('method', METHODS)
def test_no_other_method_profits_from_the_problems_true_init(method):
    """With a lie in the problem's init, all that a method does stays the same.

    World and grounder keep the true problem; only what run_episode is given is poisoned.
    """
    truth = two_blocks()
    lie = dataclasses.replace(truth, init=frozenset({Atom('clear', ('g',))}))
    stories = []
    for problem in (truth, lie):
        world = MemoryWorld()
        reset = world.reset
        world.reset = lambda spec, reset=reset: reset(dataclasses.replace(spec, problem=truth))
        _, events, _ = episode(method, spec_of(problem, method=method), world)
        stories.append([(type(event).__name__, getattr(event, 'action', None),
                         getattr(event, 'answers', None)) for event in events.events])
    assert stories[0] == stories[1]


class OnlyWorld:
    """A world that offers its port and nothing else."""

    def __init__(self, world):
        self.reset, self.observe, self.execute = world.reset, world.observe, world.execute

    def __getattr__(self, name):
        if name == 'describes':  # any world may be asked whether it describes; this does not say
            raise AttributeError(name)
        raise AssertionError(f'{name} of the world was used')


@pytest.mark.parametrize('method', METHODS)
def test_no_other_method_needs_more_of_the_world_than_its_port(method):
    world = MemoryWorld()
    ended = run_episode(spec_of(method=method), make_policy(method), OnlyWorld(world),
                        TruthGrounder(world), SearchPlanner(), EventList(), world.domain,
                        visual_planner=visual_planner(world))
    assert ended.reason is not StopReason.ERROR, ended.message


@pytest.mark.parametrize('path', sorted(Path(methods.__path__[0]).glob('*.py')),
                         ids=lambda path: path.stem)
def test_no_method_reaches_behind_its_context(path):
    """Private attributes of other objects, and the world and truth ports, stay out of methods."""
    for node in ast.walk(ast.parse(path.read_text('utf-8'))):
        if isinstance(node, ast.Attribute) and node.attr.startswith('_'):
            assert ast.unparse(node.value) in ('self', 'cls', 'super()'), (
                f'{path.name}:{node.lineno}')
        names = [a.name for a in node.names] if isinstance(node, ast.ImportFrom) else []
        assert 'World' not in names
        assert 'TruthSource' not in names or needs_truth(path.stem)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ('getattr', 'vars', 'eval', 'exec', '__import__')


@pytest.mark.parametrize('method', [*METHODS, 'oracle', 'astar', 'random_valid'])
def test_the_problem_that_a_method_sees_has_no_initial_state(method):
    seen = []
    policy = make_policy(method, truth=MemoryWorld())
    for name in ('begin', 'decide'):
        call = getattr(policy, name)

        def spy(context, call=call):
            seen.append(context.problem.init or context.spec.problem.init)
            return call(context)
        setattr(policy, name, spy)
    world = MemoryWorld()
    run_episode(spec_of(method=method), policy, world, TruthGrounder(world), SearchPlanner(),
                EventList(), world.domain)
    assert seen and not any(seen)


# oracle

def test_the_oracle_solves_and_asks_nothing():
    ended, events, world = episode('oracle')
    assert (ended.reason, ended.steps, ended.remaining) == (StopReason.PLAN_DONE, 2, 0)
    assert world.spec.problem.goal_met(world.state())
    assert events.of(Asked) == events.of(Observed) == []
    assert not needs_grounder('oracle')


def test_the_oracle_plans_again_when_an_action_fails():
    spec = spec_of(method='oracle', failure_probability=.5, seed=3)
    ended, events, world = episode('oracle', spec)
    assert ended.reason is StopReason.PLAN_DONE
    assert world.spec.problem.goal_met(world.state())
    assert len(events.of(Planned)) == 1 + ended.steps - 2 > 1


@pytest.mark.parametrize(('status', 'reason'), [
    (PlanningStatus.UNSOLVABLE, StopReason.NO_PLAN),
    (PlanningStatus.TIMEOUT, StopReason.PLANNER_TIMEOUT)])
def test_an_oracle_without_a_plan_stops(status, reason):
    ended, _, _ = episode('oracle', planner=ScriptedPlanner(PlanningResult(status)))
    assert ended.reason is reason


# random

def test_random_draws_from_all_actions_and_uses_up_its_budget():
    ended, events, world = episode('random', spec_of(max_actions=60, method='random'))
    drawn = [s.action for s in events.of(Stepped)]
    assert (ended.reason, ended.steps) == (StopReason.BUDGET, 60)
    assert set(drawn) == set(world.model.actions)
    assert events.of(Asked) == events.of(Planned) == []


def test_random_depends_on_its_seed_and_on_what_it_is_told_only():
    """Not on the world's seed or on names: what it draws would tell it which problem it has."""
    def drawn(problem=None, **values):
        _, events, _ = episode('random', spec_of(problem, method='random', **values))
        return [s.action for s in events.of(Stepped)]
    problem = two_blocks()
    assert drawn(policy_seed=1) == drawn(policy_seed=1) != drawn(policy_seed=2)
    assert drawn(seed=1, id='a') == drawn(seed=2, id='b')
    assert drawn() == drawn(dataclasses.replace(problem, name='other', source='file'))
    assert drawn() != drawn(dataclasses.replace(problem, goal=problem.goal[1:]))


def test_random_without_any_action_gives_up():
    problem = dataclasses.replace(two_blocks(), objects={'c1': 'column'}, init=frozenset(),
                                  goal=())
    ended, _, _ = episode('random', spec_of(problem, method='random'))
    assert ended.reason is StopReason.GAVE_UP


# idle

def test_idle_does_nothing():
    ended, events, world = episode('idle')
    assert (ended.reason, ended.steps) == (StopReason.GAVE_UP, 0)
    assert world.actions == [] and world.observations == 0
    assert len(events.events) == 2


def test_moves_are_what_these_tests_think():
    world = MemoryWorld()
    world.reset(spec_of())
    assert world.model.applicable(Action('moveblock', ('r', 'c2')), world.state())
    assert not world.model.applicable(Action('moveblock', ('g', 'c2')), world.state())
