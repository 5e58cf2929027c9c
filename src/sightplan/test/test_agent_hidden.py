"""A domain in which things are hidden: what the world shows, and what methods make of it."""

import dataclasses

import pytest

from doubles import (
    PANTRY,
    EventList,
    GuessingGrounder,
    MemoryWorld,
    SearchPlanner,
    TruthGrounder,
    facts_of,
    pantry,
    pantry_view,
    spec_of,
)
from sightplan.agent import PolicyBase, Stop, ask_atoms, make_policy, run_episode
from sightplan.domains import Domain
from sightplan.metrics import EpisodeScorer, measures
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    InputError,
    Observation,
    Planned,
    Privileged,
    Stepped,
    StopReason,
    Verdict,
)

DOMAIN = pantry()
PROBLEMS = DOMAIN.split_problems('small')


def play(method, problem, make_grounder=TruthGrounder, level=Privileged.NONE, world=None,
         source=None, **options):
    """One episode; whether it was solved, and the events."""
    world, events = world or MemoryWorld(DOMAIN, pantry_view), EventList()
    policy = make_policy(method, options, world)
    spec = spec_of(problem, method=method, privileged=level)
    run_episode(spec, policy, world, make_grounder(world), SearchPlanner(DOMAIN), events, DOMAIN,
                privileged=source or facts_of(world, spec))
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
            for atom, answer in zip(atoms, answers, strict=True):
                if set(atom.args) <= set(look.visible_objects):
                    assert (answer.verdict is Verdict.YES) is (atom in problem.init)
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
            answers = GuessingGrounder(world, error=0.2, seed=seed).ground(
                world.observe(), [DOMAIN.question(atom) for atom in atoms])
            for atom, answer in zip(atoms, answers, strict=True):
                wrong += (answer.verdict is Verdict.YES) is not (atom in problem.init)
                total += 1
    assert total > 1000
    assert abs(wrong / total - 0.2) < 0.05


@pytest.mark.parametrize('method', ['ground', 'ground_cot', 'ground_mem', 'ground_mem_cot'])
def test_asking_everything_in_view_cannot_find_what_is_hidden_unless_it_is_told(method):
    """``ground`` sees no place for a hidden thing, and has no plan that would look for it."""
    for level, solves in ((Privileged.NONE, False), (Privileged.INITIAL, True),
                          (Privileged.ALWAYS, True)):
        for problem in PROBLEMS:
            solved, events = play(method, problem, level=level)
            assert solved is solves
            assert events.of(Asked)
            for asked in events.of(Asked):
                assert all(asked.observation.in_view(q.atom) for q in asked.questions)


@pytest.mark.parametrize('method', ['decode', 'belief', 'blind'])
@pytest.mark.parametrize('level', list(Privileged))
def test_what_joint_estimation_makes_of_it(method, level):
    """It has a place for every thing, if only by the rules; told the right one, it goes there."""
    solved = []
    for problem in PROBLEMS[::3]:
        success, events = play(method, problem, level=level)
        solved.append(success)
        for asked in events.of(Asked):
            assert all(asked.observation.in_view(q.atom) for q in asked.questions)
    if method == 'belief' or (level is Privileged.ALWAYS and method == 'decode'):
        assert all(solved)


APPLE = DOMAIN.parse_problem('''(define (problem p) (:domain pantry)
    (:objects apple - item left right - cupboard) (:init (at apple left) (handempty))
    (:goal (at apple table)))''', 'p')


class Fickle:
    """Tells that the apple is in the left cupboard, and from a later look on something else."""

    def __init__(self, world, looks, **later):
        self._world, self._observations, self._later = world, looks, later

    def provide(self, observation):
        facts = {Atom('at', ('apple', place)): Atom('at', ('apple', place)) in self._world.state()
                 for place in ('left', 'right', 'table')}
        facts[Atom('holding', ('apple',))] = Atom('holding', ('apple',)) in self._world.state()
        if self._world.observations > self._observations:
            facts |= {Atom.parse(name.replace('_', ' ', 1).replace('_', ',')): value
                      for name, value in self._later.items()}
        return facts


def never_the_apple():
    return MemoryWorld(DOMAIN, lambda problem, state: pantry_view(problem, state) - {'apple'})


def story(events):
    """Steps, and the number of plans before each."""
    plans, found = 0, []
    for event in events.events:
        plans += isinstance(event, Planned)
        if isinstance(event, Stepped):
            found.append((str(event.action), event.feedback.status.value, plans))
    return found


def test_a_hidden_precondition_is_compared_with_what_is_believed():
    world = never_the_apple()
    source = Fickle(world, 3, at_apple_left=False, at_apple_right=True)
    _, events = play('ground', APPLE, level=Privileged.ALWAYS, world=world, source=source)
    assert story(events)[:3] == [('open(left)', 'executed', 1),
                                 ('take-out(apple, left)', 'withheld', 1),
                                 ('open(right)', 'executed', 2)]
    withheld = events.of(Stepped)[1].feedback.message
    assert 'at apple,left, out of view, is believed false' in withheld


def test_a_hidden_effect_is_assumed_until_the_next_check_whatever_is_told():
    """A fact after the action is no mismatch of its effects; before the next action it counts."""
    world = never_the_apple()
    solved, events = play('ground', APPLE, level=Privileged.INITIAL, world=world,
                          source=Fickle(world, 99))
    assert solved and [plans for *_, plans in story(events)] == [1, 1, 1]
    world = never_the_apple()
    source = Fickle(world, 4, holding_apple=False, at_apple_left=True)
    _, events = play('ground', APPLE, level=Privileged.ALWAYS, world=world, source=source)
    assert story(events)[:3] == [('open(left)', 'executed', 1),
                                 ('take-out(apple, left)', 'executed', 1),
                                 ('put-down(apple)', 'withheld', 1)]
    assert 'holding apple, out of view, is beli' in events.of(Stepped)[2].feedback.message
    world = never_the_apple()
    source = Fickle(world, 6, at_apple_table=False, holding_apple=True)
    solved, events = play('ground', APPLE, level=Privileged.ALWAYS, world=world, source=source)
    assert solved and [plans for *_, plans in story(events)] == [1, 1, 1]
    assert len(events.of(Planned)) == 1  # nor does it after the last one: the plan is done


def test_facts_before_an_action_do_not_choose_the_effects_of_the_next_one():
    """Before an action without preconditions the world is not observed."""
    effect = '(and (at ?i table) (handEmpty) (not (holding ?i)))'
    text = DOMAIN.pddl.replace(f':precondition (holding ?i)\n    :effect {effect}',
                               f':effect (when (holding ?i) {effect})')
    assert text != DOMAIN.pddl
    domain = Domain(PANTRY, domain_pddl=text.replace(':strips', ':strips :conditional-effects'))
    problem = domain.parse_problem('''(define (problem p) (:domain pantry)
        (:objects apple - item left right - cupboard)
        (:init (at apple left) (isopen left) (handempty)) (:goal (at apple table)))''', 'p')
    world = MemoryWorld(domain, lambda problem, state: {'table', 'left', 'right'})
    spec, events = spec_of(problem, method='ground', privileged=Privileged.ALWAYS), EventList()
    run_episode(spec, make_policy('ground'), world, TruthGrounder(world), SearchPlanner(domain),
                events, domain, privileged=Fickle(world, 99))
    assert [event.action.name for event in events.of(Stepped)] == ['take-out', 'put-down']
    last = [event for event in events.of(Asked) if event.purpose is AskPurpose.EFFECT][-1]
    assert last.action.name == 'put-down' and last.expected == (True,), 'the hand is empty now'


def test_what_is_out_of_view_is_remembered():
    """What was seen in a container is still believed to be there when it is closed again."""
    problem = DOMAIN.parse_problem('''(define (problem p) (:domain pantry)
        (:objects apple cup - item left right - cupboard)
        (:init (at apple left) (at cup right) (isopen left) (isopen right) (handempty))
        (:goal (and (at apple left) (at cup table) (not (isopen left)))))''', 'p')
    solved, events = play('ground', problem)
    assert solved
    last = events.of(BeliefUpdated)[-1].belief.state
    assert Atom('at', ('apple', 'left')) in last


def test_a_method_that_asks_about_what_is_out_of_view_is_stopped():
    class Curious(PolicyBase):
        needs_grounder, prompt, remaining = True, 'ground', 0

        def begin(self, context):
            look = context.observe()
            seen, hidden = Atom('isopen', ('left',)), Atom('at', ('apple', 'left'))
            ask_atoms(context, [seen], AskPurpose.ENUMERATION, observation=look)
            ask_atoms(context, [seen, hidden], AskPurpose.ENUMERATION, observation=look)
    world, events = MemoryWorld(DOMAIN, pantry_view), EventList()
    grounder = TruthGrounder(world)
    ended = run_episode(spec_of(APPLE), Curious(), world, grounder, SearchPlanner(DOMAIN), events,
                        DOMAIN)
    assert ended.reason is StopReason.ERROR and 'at apple,left: asked about' in ended.message
    assert grounder.calls == len(events.of(Asked)) == 1


@pytest.mark.parametrize('happens', ['refused', 'nothing'])
def test_an_oracle_to_which_the_same_happens_again_and_again_ends_by_its_budget(happens):
    class Stubborn(MemoryWorld):
        def execute(self, action):
            if happens == 'refused':
                action = Action('close', ('left',))
            return super().execute(action)
    world, events = Stubborn(DOMAIN, pantry_view), EventList()
    spec = spec_of(APPLE, method='oracle', max_actions=7,
                   failure_probability=float(happens == 'nothing'))
    ended = run_episode(spec, make_policy('oracle', truth=world), world, TruthGrounder(world),
                        SearchPlanner(DOMAIN), events, DOMAIN)
    assert (ended.reason, ended.steps) == (StopReason.BUDGET, 7)
    assert {step.feedback.status.value for step in events.of(Stepped)} == {
        'rejected' if happens == 'refused' else 'executed'}


@pytest.mark.slow
@pytest.mark.parametrize('method', ['ground', 'ground_mem', 'decode', 'belief', 'blind', 'random'])
def test_every_failure_with_hidden_things_has_a_cause(method):
    causes = set()
    for level in Privileged:
        for number, problem in enumerate(PROBLEMS[::2]):
            world = MemoryWorld(DOMAIN, pantry_view)
            scorer, spec = EpisodeScorer(world), spec_of(problem, method=method, privileged=level)
            run_episode(spec, make_policy(method), world,
                        GuessingGrounder(world, error=0.3, seed=number), SearchPlanner(DOMAIN),
                        scorer, DOMAIN, privileged=facts_of(world, spec))
            line = scorer.result()
            assert measures.scored(line) and (line['failure'] is None) is measures.solved(line)
            assert sum(counts['asked'] for table in line['predicates'].values()
                       for counts in table.values()) == line['questions']
            if line['failure']:
                causes.add(line['failure']['cause'])
    assert causes and 'infrastructure' not in causes


class Pretending(PolicyBase):
    """A method that asks about what is hidden, by a look that says that everything is in view."""

    needs_grounder = True
    remaining = 0

    def __init__(self, look):
        self._look, self.error, self.answers = look, '', ()

    def begin(self, context):
        seen = context.observe()
        hidden = [atom for atom in context.model.atoms if not seen.in_view(atom)]
        assert hidden
        try:
            self.answers = ask_atoms(context, hidden, AskPurpose.ENUMERATION,
                                       observation=self._look(seen))
        except InputError as error:
            self.error = str(error)
        return Stop(StopReason.GAVE_UP)


@pytest.mark.parametrize(('look', 'words'), [
    (lambda seen: dataclasses.replace(seen, visible_objects=None), 'in view'),
    (lambda seen: dataclasses.replace(seen, visible_objects=(*PROBLEMS[0].objects, 'table')),
     'in view'),
    (lambda seen: Observation(stamp_ns=seen.stamp_ns), 'in view'),
    (lambda seen: Observation(seen.image, seen.stamp_ns - 1), 'not observed in this episode')])
def test_nobody_learns_what_is_hidden_by_a_look_that_was_tampered_with(look, words):
    world, policy = MemoryWorld(DOMAIN, pantry_view), Pretending(look)
    run_episode(spec_of(PROBLEMS[0]), policy, world, TruthGrounder(world), SearchPlanner(DOMAIN),
                EventList(), DOMAIN)
    assert policy.answers == () and words in policy.error
