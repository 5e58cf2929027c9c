"""The methods belief, blind and decode in the episode loop."""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

from doubles import (
    BoobyTrap,
    EventList,
    GuessingGrounder,
    MemoryWorld,
    SearchPlanner,
    TruthGrounder,
    pantry,
    pantry_view,
    spec_of,
)
from sightplan.agent import make_policy, prompt_name, run_episode
from sightplan.domains import Domain, load_domain
from sightplan.model import (
    Action,
    Asked,
    AskPurpose,
    Atom,
    BeliefUpdated,
    Feedback,
    FeedbackStatus,
    InputError,
    Observed,
    Stepped,
    StopReason,
    Verdict,
)
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan_belief.methods._estimators import Estimators
from sightplan_belief.observation_model import ObservationModel

BLOCKS = load_domain('blocksworld')
SIMPLE = BLOCKS.split_problems('simple')
FLIP = {True: Verdict.NO, False: Verdict.YES}


def play(method, problem, *, change=None, world=None, grounder=None, planner=None, options=None,
         **spec):
    world = world or MemoryWorld()
    events = EventList()
    grounder = grounder or TruthGrounder(world, change)
    policy = make_policy(method, options, BoobyTrap())
    ended = run_episode(spec_of(problem, method=method, **spec), policy, world, grounder,
                        planner or SearchPlanner(world.domain, 20_000), events, world.domain)
    return ended, events, problem.goal_met(world.state())


def questions(events):
    return sum(len(event.questions) for event in events.of(Asked))


@pytest.mark.parametrize('method', ['belief', 'decode', 'ground'])
def test_right_answers_lead_to_the_goal_by_a_shortest_plan(method):
    for problem in SIMPLE[:3]:
        ended, events, solved = play(method, problem)
        assert solved and ended.reason is StopReason.PLAN_DONE, ended.message
        assert len(events.of(Stepped)) == problem.optimal_length


def test_belief_asks_a_fraction_of_what_ground_asks():
    asked = {method: sum(questions(play(method, problem)[1]) for problem in SIMPLE[:4])
             for method in ('ground', 'belief')}
    assert 5 * asked['belief'] < asked['ground']


def test_belief_asks_nothing_that_cannot_matter():
    _, events, _ = play('belief', SIMPLE[0])
    predicates = {q.atom.predicate for event in events.of(Asked) for q in event.questions}
    assert predicates <= {'on', 'clear', 'incolumn'}


def test_belief_never_asks_twice_about_one_image():
    def noisy(atom, truth, call):
        return FLIP[truth] if random.Random(f'{atom}/{call}').random() < 0.1 else None
    for problem in SIMPLE[:5]:
        _, events, _ = play('belief', problem, change=noisy, failure_probability=0.2)
        seen = set()
        for event in events.of(Asked):
            for question in event.questions:
                key = (event.observation.image_id, question.atom)
                assert key not in seen
                seen.add(key)


def test_belief_may_let_the_model_say_that_it_cannot_tell():
    prompts = []
    for problem in SIMPLE[:3]:
        for unknown in (False, True):
            ended, events, solved = play('belief', problem, options={'unknown': unknown})
            assert solved and ended.reason is StopReason.PLAN_DONE
            prompts.append({event.prompt for event in events.of(Asked)})
    assert prompts == [{BLOCKS.prompt_id('ground')}, {BLOCKS.prompt_id('ground_unknown')}] * 3
    assert prompt_name('belief', {'unknown': True}) == 'ground_unknown'
    assert prompt_name('belief') == 'ground' and prompt_name('blind', {'unknown': True}) == ''


@pytest.mark.parametrize('inference', ['listed', 'factorised'])
def test_what_the_model_cannot_tell_follows_from_what_it_can(inference):
    def change(atom, truth, call):
        return Verdict.UNKNOWN if atom.predicate == 'clear' else None
    for problem in SIMPLE[:3]:
        _, events, solved = play('belief', problem, change=change,
                                 options={'unknown': True, 'inference': inference})
        said = {answer.verdict for event in events.of(Asked) for answer in event.answers}
        assert solved and Verdict.UNKNOWN in said


def test_belief_overrules_wrong_answers_that_defeat_ground():
    wrong = Atom('clear', ('r',))

    def one_error(atom, truth, call):
        return FLIP[truth] if atom == wrong else None
    chosen = [p for p in SIMPLE if 'r' in p.objects][:4]
    outcomes = {method: [play(method, p, change=one_error)[2] for p in chosen]
                for method in ('ground', 'belief')}
    assert all(outcomes['belief'])
    assert not all(outcomes['ground'])


def test_belief_survives_actions_that_fail():
    solved = [play('belief', p, failure_probability=0.3, seed=n)[2]
              for n, p in enumerate(SIMPLE[:8])]
    assert sum(solved) >= 7


def test_the_belief_is_published_with_probabilities_of_a_possible_state():
    _, events, _ = play('belief', SIMPLE[1])
    updates = events.of(BeliefUpdated)
    assert len(updates) > 3
    last = updates[-1].belief
    assert all(0.0 < p < 1.0 for p in last.probabilities.values())
    assert {a for a, p in last.probabilities.items() if p > 0.5} == set(last.state)
    assert SIMPLE[1].goal_met(last.state)


def test_the_initial_state_in_the_problem_changes_nothing():
    """The same world, told apart only by what the agent must not see: its problem's :init."""
    class OtherWorld(MemoryWorld):
        def reset(self, spec):
            super().reset(spec)
            self._states = {self.now_ns: SIMPLE[2].init}
    runs = []
    for init in (SIMPLE[2].init, SIMPLE[3].init, frozenset()):
        problem = dataclasses.replace(SIMPLE[2], init=init)
        _, events, _ = play('belief', problem, world=OtherWorld())
        runs.append([(tuple(q.atom for q in e.questions), e.answers) for e in events.of(Asked)])
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize('verdict', list(Verdict))
def test_nonsense_ends_in_an_ordinary_way(verdict):
    ended, _, _ = play('belief', SIMPLE[0], change=lambda *_: verdict)
    assert ended.reason in (StopReason.PLAN_DONE, StopReason.BUDGET), ended.message


@pytest.mark.parametrize('other_views', [0, 2])
def test_where_the_domain_can_it_looks_again_before_it_accepts(other_views):
    """Opening a cupboard gives another view of whether it is shut."""
    domain = pantry()
    problem = domain.parse_problem(
        '(define (problem p) (:domain pantry) (:objects cup - item left right - cupboard) '
        '(:init (at cup left) (handempty)) (:goal (not (isopen right))))', 'p')
    world = MemoryWorld(domain, pantry_view)
    ended, events, solved = play('belief', problem, world=world,
                                 options={'other_views': other_views, 'look_ahead': False},
                                 grounder=GuessingGrounder(world))
    assert solved and ended.reason is StopReason.PLAN_DONE
    taken = [str(event.action) for event in events.of(Stepped)]
    assert ('open(right)' in taken) is bool(other_views)


@pytest.mark.parametrize('look_ahead', [False, True])
def test_a_doubt_about_the_goal_is_tried_out(look_ahead):
    """One wrong and one unreadable answer about the start say that the goal holds, at P = .9."""
    problem = BLOCKS.parse_problem(
        '(define (problem p) (:domain blocksworld) (:objects r - block c1 c2 - column) '
        '(:init (incolumn r c2) (clear r)) (:goal (incolumn r c1)))', 'p')
    start = problem.init

    def misleading(atom, truth, call):
        if world.state() == start and atom.predicate == 'incolumn':
            return Verdict.YES if atom.args[1] == 'c1' else Verdict.UNPARSED
        return None
    world = MemoryWorld()
    ended, _, solved = play('belief', problem, world=world, change=misleading,
                            options={'look_ahead': look_ahead})
    assert ended.reason is StopReason.PLAN_DONE
    assert solved is look_ahead, ended.message


def test_a_plan_from_a_less_likely_state_is_better_than_none():
    """No plan leads from the likeliest state: two columns cannot reverse a stack."""
    problem = BLOCKS.parse_problem(
        '(define (problem p) (:domain blocksworld) (:objects r g - block c1 c2 - column) '
        '(:init (incolumn r c1) (incolumn g c2) (clear r) (clear g)) '
        '(:goal (and (on g r) (incolumn r c1))))', 'p')
    start = problem.init

    def misleading(atom, truth, call):
        if world.state() == start:
            return Verdict.YES if str(atom) == 'on r,g' else Verdict.UNPARSED
        return None
    world = MemoryWorld()
    ended, _, solved = play('belief', problem, world=world, change=misleading)
    assert solved, ended.message


@pytest.mark.parametrize(('left', 'kept'), [(4, True), (3, False), (1, False)])
def test_a_surer_plan_is_kept_only_while_the_budget_allows_for_it(left, kept):
    """It puts down again what is likely to stand there already."""
    surer, shorter = tuple(Action(x) for x in 'abcd'), tuple(Action(x) for x in 'cd')
    policy = make_policy('belief', {}, BoobyTrap())
    policy._queue = deque(surer)
    policy._filter = SimpleNamespace(
        weights=np.array([0.8, 0.2]),
        reaches=lambda plan, goal: np.array([True, tuple(plan) == surer]))
    policy._actions, policy._plans, policy._refused = 10 - left, {}, set()
    policy._plans['likeliest'] = shorter
    context = SimpleNamespace(spec=SimpleNamespace(max_actions=10), problem=SIMPLE[0])
    assert policy._have_plan(context, 'likeliest') is None
    assert tuple(policy._queue) == (surer if kept else shorter)


@pytest.mark.parametrize(('probability', 'left', 'begun'), [
    (0.3, 2, True), (0.3, 1, False), (0.005, 1, True), (0.05, 1, False),
    (0.6, 2, False)])
def test_what_may_be_done_is_not_undone_by_a_plan_that_is_too_long(probability, left, begun):
    plan = (Action('a'), Action('b'))
    policy = make_policy('belief', {}, BoobyTrap())
    policy._queue, policy._plans, policy._refused = deque(), {'likeliest': plan}, set()
    policy._filter = SimpleNamespace(
        state='likeliest', weights=np.array([probability, 1.0 - probability]),
        holds=lambda goal: np.array([True, False]))
    policy._actions = 10 - left
    context = SimpleNamespace(spec=SimpleNamespace(max_actions=10), problem=SIMPLE[0])
    assert policy._plan_of_likeliest(context) == (plan if begun else ())


@pytest.mark.slow
def test_a_model_that_guesses_solves_no_more_than_none():
    """If it did, something but the answers would tell the truth."""
    chosen = BLOCKS.split_problems('medium')[:2]

    def coin(atom, truth, call):
        return random.Random(f'{atom}/{call}').choice([Verdict.YES, Verdict.NO])
    with FastDownwardPlanner() as planner:
        solved = [play('belief', p, change=coin, planner=planner)[2] for p in chosen]
        honest = play('belief', chosen[0], planner=planner)[2]
    assert sum(solved) <= 1 and honest


@pytest.mark.parametrize('options', [
    {'inference': 'factorised'}, {'repeats': 'independent'}, {'constraints': False}, {'k': 8},
    {'priors': False}, {'reliability': 'fixed'}, {'look_ahead': False}])
def test_every_variant_runs(options):
    ended, _, _ = play('belief', SIMPLE[0], options=options)
    assert ended.reason in (StopReason.PLAN_DONE, StopReason.BUDGET), ended.message


def test_variants_but_that_without_constraints_solve_with_right_answers():
    for options in ({'inference': 'factorised'}, {'repeats': 'independent'}):
        assert all(play('belief', p, options=options)[2] for p in SIMPLE[:3])


def test_a_foreign_calibration_is_refused(tmp_path):
    import dataclasses
    path = tmp_path / 'cal.json'
    rates = dataclasses.replace(ObservationModel.default(), model='another', domain='blocksworld',
                                questions_sha256=BLOCKS.question_hash)
    rates.write(path)
    for method in ('belief', 'decode'):
        ended, events, _ = play(method, SIMPLE[0], options={'calibration': str(path)})
        assert method == 'decode' or not events.of(Asked)  # nor does it matter whether one asks
        assert ended.reason is StopReason.ERROR
        assert "learned for 'another'" in ended.message
    with pytest.raises(InputError, match=r'nowhere\.json'):
        make_policy('belief', {'calibration': str(tmp_path / 'nowhere.json')})


@pytest.mark.parametrize(('model', 'options', 'known'), [
    ('truth', {}, 'truth'), ('another', {}, ''), ('truth', {'priors': False}, '')])
def test_what_comes_with_a_domain_about_a_model_is_used(tmp_path, model, options, known):
    folder = tmp_path / 'blocksworld'
    shutil.copytree(BLOCKS.folder, folder)
    (folder / 'calibrations').mkdir()
    dataclasses.replace(
        ObservationModel.default(), model=model, domain='blocksworld',
        questions_sha256=BLOCKS.question_hash, prompt=BLOCKS.prompt_id('ground'),
    ).write(folder / 'calibrations' / 'model.json')
    domain = Domain(folder)
    assert domain.settings_hash != BLOCKS.settings_hash
    world = MemoryWorld(domain)
    policy = make_policy('belief', options, BoobyTrap())
    run_episode(spec_of(SIMPLE[0], method='belief'), policy, world, TruthGrounder(world),
                SearchPlanner(domain, 20_000), EventList(), domain)
    assert policy._filter._estimator.observation_model.model == known
    given = dataclasses.replace(ObservationModel.default(), answers=7)
    estimators = Estimators('', True, True, given)
    assert estimators.answering(domain, model) is estimators


def test_blind_neither_looks_nor_asks():
    for problem in SIMPLE[:3]:
        ended, events, _ = play('blind', problem)
        assert not events.of(Asked) and not events.of(Observed)
        assert events.of(BeliefUpdated)
        assert ended.reason is not StopReason.ERROR, ended.message


def test_blind_learns_from_rejections():
    """Where little is uncertain, trying is enough."""
    problem = BLOCKS.parse_problem(
        '(define (problem p) (:domain blocksworld) (:objects r - block c1 c2 - column) '
        '(:init (incolumn r c2) (clear r)) (:goal (incolumn r c1)))', 'p')
    assert play('blind', problem)[2]


def in_view(problem, state):
    """All but what is inside of something closed."""
    return set(problem.objects) - {atom.args[0] for atom in state if atom.predicate == 'inside'
                                   and Atom('open', atom.args[1:]) not in state}


@pytest.mark.parametrize('method', ['belief', 'blind'])
def test_what_was_refused_is_not_tried_again_but_explained(method):
    """Things behind closed doors, of which nothing is told; also when much was done already."""
    domain, found = load_domain('household'), []
    for places in (('cabinet_1', 'fridge_1'), ('fridge_1', 'fridge_1')):
        problem = domain.parse_problem('''(define (problem p) (:domain household)
            (:objects apple_1 cup_1 - movable cabinet_1 fridge_1 - container table_1 - object)
            (:init (inside apple_1 {}) (inside cup_1 {}))
            (:goal (and (ontop apple_1 table_1) (ontop cup_1 table_1))))'''.format(*places), 'p')
        _, events, solved = play(method, problem, world=MemoryWorld(domain, in_view),
                                 planner=SearchPlanner(domain, 20_000), max_actions=25)
        found.append(solved)
        refused = set()
        for step in events.of(Stepped):
            assert step.action not in refused
            refused = (set() if step.feedback.status is FeedbackStatus.EXECUTED
                       else refused | {step.action})
    assert all(found) or (method == 'blind' and any(found))


def test_who_knows_nothing_else_to_try_gives_up():
    class Stubborn(MemoryWorld):
        def execute(self, action):
            self.tried.append(action)
            return Feedback(FeedbackStatus.REJECTED, 'no', self.now_ns)
    world = Stubborn()
    world.tried = []
    ended, _, _ = play('belief', SIMPLE[0], world=world)
    assert ended.reason is StopReason.GAVE_UP and 'nothing is known' in ended.message
    assert len(world.tried) == len(set(world.tried)) > 0


def test_decode_repairs_an_enumeration_that_contradicts_itself():
    problem = SIMPLE[4]
    block = problem.of_type('block')[0]

    def one_error(atom, truth, call):
        return FLIP[truth] if call == 0 and atom == Atom('clear', (block,)) else None
    _, events, solved = play('decode', problem, change=one_error)
    assert solved
    assert len(events.of(Stepped)) == problem.optimal_length
    enumerations = [e for e in events.of(Asked) if e.purpose is AskPurpose.ENUMERATION]
    assert len(enumerations) == 1


@pytest.mark.slow
@pytest.mark.parametrize(('guess', 'error'), [('no', 0.0), ('random', 0.0), ('no', 0.05)])
def test_a_domain_with_hidden_things_needs_no_change(guess, error):
    domain = pantry()
    solved = []
    for number, problem in enumerate(domain.split_problems('small')):
        world = MemoryWorld(domain, pantry_view)
        ended, _, success = play('belief', problem, world=world, seed=number, max_actions=20,
                                 grounder=GuessingGrounder(world, guess, error, number))
        assert ended.reason is not StopReason.ERROR, ended.message
        solved.append(success)
    assert sum(solved) >= len(solved) - (2 if error else 0)
