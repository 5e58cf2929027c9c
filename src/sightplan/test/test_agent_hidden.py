"""A domain in which things are hidden: what the world shows, and what methods make of it."""

import pytest

from doubles import (
    EventList,
    GuessingGrounder,
    MemoryWorld,
    SearchPlanner,
    TruthGrounder,
    pantry,
    pantry_view,
    spec_of,
)
from sightplan.agent import make_policy, run_episode
from sightplan.model import Action, Verdict

DOMAIN = pantry()
PROBLEMS = DOMAIN.split_problems('small')


def play(method, problem, make_grounder=TruthGrounder, **options):
    """One episode; whether it was solved, and the events."""
    world, events = MemoryWorld(DOMAIN, pantry_view), EventList()
    policy = make_policy(method, options, world)
    run_episode(spec_of(problem, method=method), policy, world, make_grounder(world),
                SearchPlanner(DOMAIN), events, DOMAIN)
    return problem.goal_met(world.state()), events


@pytest.mark.parametrize('problem', PROBLEMS, ids=lambda p: p.name)
def test_something_that_matters_is_hidden_at_the_start(problem):
    hidden = set(problem.objects) - pantry_view(problem, problem.init)
    moved = {literal.atom.args[0] for literal in problem.goal
             if not literal.holds_in(problem.init)}
    assert hidden & moved


def test_what_is_taken_out_comes_into_view():
    problem = DOMAIN.parse_problem('''(define (problem p) (:domain pantry)
        (:objects apple - item left - cupboard) (:init (at apple left) (handempty))
        (:goal (at apple table)))''', 'p')
    world = MemoryWorld(DOMAIN, pantry_view)
    world.reset(spec_of(problem))
    seen = [world.observe().visible_objects]
    for text in ('open(left)', 'take-out(apple, left)', 'close(left)', 'put-down(apple)'):
        world.execute(Action.parse(text))
        seen.append(world.observe().visible_objects)
    everything = ('apple', 'left', 'table')
    assert seen == [('left', 'table'), everything, everything, everything, everything]


@pytest.mark.parametrize('problem', PROBLEMS, ids=lambda p: p.name)
def test_the_oracle_solves_it_by_shortest_plans(problem):
    solved, events = play('oracle', problem)
    assert solved
    assert problem.optimal_length == sum(
        type(event).__name__ == 'Stepped' for event in events.events)


@pytest.mark.parametrize(('guess', 'verdicts'), [('no', {Verdict.NO}),
                                                 ('random', {Verdict.YES, Verdict.NO})])
def test_the_guessing_model_knows_what_it_sees_only(guess, verdicts):
    guesses = set()
    for seed in range(5):
        for problem in PROBLEMS:
            world = MemoryWorld(DOMAIN, pantry_view)
            world.reset(spec_of(problem))
            look = world.observe()
            model = GuessingGrounder(world, guess, seed=seed)
            atoms = world.model.atoms
            answers = model.ground(look, [DOMAIN.question(atom) for atom in atoms])
            assert model.ground(look, [DOMAIN.question(atom) for atom in atoms]) == answers
            for answer in answers:
                if set(answer.atom.args) <= set(look.visible_objects):
                    assert (answer.verdict is Verdict.YES) is (answer.atom in problem.init)
                else:
                    guesses.add(answer.verdict)
    assert guesses == verdicts


def test_errors_about_what_is_in_view_come_as_often_as_told():
    wrong = total = 0
    for seed in range(40):
        for problem in PROBLEMS:
            world = MemoryWorld(DOMAIN, pantry_view)
            world.reset(spec_of(problem))
            atoms = [a for a in world.model.atoms
                     if set(a.args) <= pantry_view(problem, problem.init)]
            for answer in GuessingGrounder(world, error=0.2, seed=seed).ground(
                    world.observe(), [DOMAIN.question(atom) for atom in atoms]):
                wrong += (answer.verdict is Verdict.YES) is not (answer.atom in problem.init)
                total += 1
    assert total > 1000
    assert abs(wrong / total - 0.2) < 0.05


def test_asking_everything_once_cannot_find_what_is_hidden():
    """``ground`` sees no place for a hidden thing, and has no plan that would look for it."""
    solved = [play('ground', problem, GuessingGrounder)[0] for problem in PROBLEMS]
    assert not any(solved)
