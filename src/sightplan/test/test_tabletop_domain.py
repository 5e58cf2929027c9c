"""The domain of tables to tidy: its vocabulary, its problems, and what drawers do."""

from __future__ import annotations

import pytest

from sightplan.domains import load_domain
from sightplan.model import Action, Atom, PlanningStatus, PlanningTask
from sightplan.planning.symbolic import FastDownwardPlanner, PlannerSettings
from sightplan_belief.constraints import instantiate, read_constraints

LENGTHS = {'short': (1, 4), 'medium': (5, 8), 'long': (9, 26)}
PROBLEM = """(define (problem two) (:domain tabletop)
  (:objects mug_1 mug_2 - thing table tray_1 - surface bowl_1 - container
            drawer_1 drawer_2 - drawer)
  (:init (on mug_1 table) (in mug_2 drawer_2) (handempty) (over drawer_1 drawer_2)
         (clear drawer_1) (clear drawer_2))
  (:goal (on mug_2 table)))"""


@pytest.fixture(scope='module')
def domain():
    return load_domain('tabletop')


@pytest.fixture(scope='module')
def problem(domain):
    return domain.parse_problem(PROBLEM, 'two')


def after(domain, problem, *texts):
    model, state = domain.model(problem), problem.init
    for text in texts:
        assert model.applicable(Action.parse(text), state), text
        state = model.apply(Action.parse(text), state)
    return state


def applicable(domain, problem, text, *before):
    return domain.model(problem).applicable(Action.parse(text), after(domain, problem, *before))


def test_splits_are_the_horizons(domain):
    assert domain.splits == tuple(LENGTHS)
    for split, (low, high) in LENGTHS.items():
        problems = domain.split_problems(split)
        assert len(problems) == 25
        assert all(low <= one.optimal_length <= high for one in problems)
        assert len({one.optimal_length for one in problems}) > 2
        assert all(one.name.startswith(f'{split}_') for one in problems)


def test_lengths_of_short_and_medium_problems_are_those_of_shortest_plans(domain):
    with FastDownwardPlanner(PlannerSettings(search='astar(blind())')) as planner:
        for split in ('short', 'medium'):
            for problem in domain.split_problems(split)[:8]:
                found = planner.plan(PlanningTask(
                    domain.pddl, domain.write_problem(problem)), 60.0)
                assert found.status is PlanningStatus.SOLVED
                assert len(found.plan) == problem.optimal_length, problem.name


def test_every_long_problem_is_solved_by_the_default_planner(domain):
    with FastDownwardPlanner() as planner:
        for problem in domain.split_problems('long'):
            found = planner.plan(PlanningTask(domain.pddl, domain.write_problem(problem)), 60.0)
            assert found.status is PlanningStatus.SOLVED
            assert problem.optimal_length <= len(found.plan) <= 1.5 * problem.optimal_length
            assert domain.model(problem).first_flaw(
                found.plan, problem.init, problem.goal) is None


def test_drawers_are_wanted_open_or_closed_and_some_stand_open_at_first(domain):
    problems = [one for split in domain.splits for one in domain.split_problems(split)]
    wanted = {literal.positive for one in problems for literal in one.goal
              if literal.atom.predicate == 'open'}
    assert wanted == {True, False}
    opened = [atom for one in problems for atom in one.init if atom.predicate == 'open']
    assert 3 < len(opened) < len(problems) / 2


def test_what_is_in_a_closed_drawer_is_out_of_reach(domain, problem):
    assert not applicable(domain, problem, 'grasp(mug_2)')
    assert applicable(domain, problem, 'grasp(mug_2)', 'open-drawer(drawer_2)')
    assert not applicable(domain, problem, 'grasp(mug_2)', 'open-drawer(drawer_2)',
                          'close-drawer(drawer_2)')


def test_an_open_drawer_hangs_over_the_one_below(domain, problem):
    both = ('open-drawer(drawer_2)', 'open-drawer(drawer_1)')
    assert not applicable(domain, problem, 'grasp(mug_2)', *both)
    assert not applicable(domain, problem, 'place-in(mug_1, drawer_2)', *both, 'grasp(mug_1)')
    assert applicable(domain, problem, 'place-in(mug_1, drawer_1)', *both, 'grasp(mug_1)')
    assert applicable(domain, problem, 'grasp(mug_2)', *both, 'close-drawer(drawer_1)')
    # The lower one hangs over nothing.
    assert applicable(domain, problem, 'place-in(mug_1, drawer_1)', 'open-drawer(drawer_1)',
                      'grasp(mug_1)')


def test_a_hand_that_holds_something_opens_and_closes_nothing(domain, problem):
    assert not applicable(domain, problem, 'open-drawer(drawer_1)', 'grasp(mug_1)')
    assert not applicable(domain, problem, 'close-drawer(drawer_1)', 'open-drawer(drawer_1)',
                          'grasp(mug_1)')


def test_what_is_taken_is_nowhere_else(domain, problem):
    state = after(domain, problem, 'grasp(mug_1)', 'place-in(mug_1, bowl_1)', 'grasp(mug_1)')
    assert Atom('held', ('mug_1',)) in state and Atom('handempty') not in state
    assert not {atom for atom in state if atom.predicate in ('in', 'on')
                and atom.args[0] == 'mug_1'}


def test_constraints_refuse_what_cannot_be(domain, problem):
    theory = instantiate(read_constraints(domain), domain.schema, dict(problem.objects))
    assert theory.possible(problem.init)
    on, held = Atom('on', ('mug_1', 'table')), Atom('held', ('mug_1',))
    empty, clear = Atom('handempty'), Atom('clear', ('drawer_2',))
    for wrong in (problem.init - {on}, problem.init | {held}, problem.init | {
            Atom('in', ('mug_1', 'bowl_1'))}, problem.init - {empty},
            problem.init - {clear}, problem.init | {Atom('open', ('drawer_1',))},
            problem.init - {on, empty} | {held, Atom('held', ('mug_2',))}):
        assert not theory.possible(frozenset(wrong))
    assert theory.possible(problem.init - {on, empty} | {held})


def test_where_the_cabinet_has_its_drawers_is_known_and_nothing_else(domain):
    problem = next(one for one in domain.split_problems('long')
                   if 'drawer_1' in one.objects)
    told = problem.for_agent()
    assert told.init == frozenset({Atom('over', ('drawer_1', 'drawer_2'))})
    assert not any(atom.predicate == 'over' for atom in domain.worth_asking(problem))
