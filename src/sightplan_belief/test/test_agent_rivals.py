"""The methods three_valued and log_odds: their mathematics, and both in the episode loop."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.domains.instantiation import AllOf, AnyOf
from sightplan.model import (
    Action,
    Answer,
    Asked,
    Atom,
    FeedbackStatus,
    Literal,
    PlanningStatus,
    PlanningTask,
    Stepped,
    StopReason,
    Verdict,
)
from sightplan_belief.methods._conformant import ConformantPlanner, likely_states
from sightplan_belief.methods._knowledge import Knowledge
from sightplan_belief.methods.log_odds import moved, p_true, pooled

HOME = load_domain('household')
PROBLEM = HOME.parse_problem('''(define (problem p) (:domain household)
    (:objects cup_1 - movable box_1 - container table_1 - object)
    (:init (inside cup_1 box_1)) (:goal (and (ontop cup_1 table_1) (not (open box_1)))))''', 'p')
MODEL = HOME.model(PROBLEM)
ATOMS = tuple(Atom.parse(text) for text in (
    'reachable cup_1', 'reachable box_1', 'reachable table_1', 'holding cup_1', 'open box_1',
    'inside cup_1,box_1', 'ontop cup_1,table_1'))
NAV_CUP, NAV_BOX, NAV_TABLE, GRASP, OPEN, CLOSE, PLACE = map(Action.parse, (
    'navigate-to(cup_1)', 'navigate-to(box_1)', 'navigate-to(table_1)', 'grasp(cup_1)',
    'open-container(box_1)', 'close-container(box_1)', 'place-on(cup_1, table_1)'))
BLOCKS = load_domain('blocksworld')
truths = st.lists(st.booleans(), min_size=len(ATOMS), max_size=len(ATOMS))
states = st.lists(truths, min_size=1, max_size=8).map(lambda rows: np.array(rows, np.bool_))


def state_of(row):
    return frozenset(atom for atom, true in zip(ATOMS, row, strict=True) if true)


def plan_from(state, planner=SearchPlanner(HOME, 20_000)):  # noqa: B008
    result = planner.plan(PlanningTask(HOME.pddl, HOME.write_problem(PROBLEM, state)), 60.0)
    return result.plan if result.status is PlanningStatus.SOLVED else None


# likely states

@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=7), st.floats(0.05, 0.99))
def test_the_likeliest_states_come_first_until_they_hold_the_mass(probabilities, mass):
    every = sorted((math.prod(p if true else 1 - p
                              for p, true in zip(probabilities, row, strict=True))
                    for row in itertools.product((False, True), repeat=len(probabilities))),
                   reverse=True)
    rows, weights = likely_states(probabilities, mass, 1 << len(probabilities))
    assert len({tuple(row) for row in rows}) == len(rows)
    assert weights == pytest.approx(every[:len(rows)])
    for row, weight in zip(rows, weights, strict=True):
        assert weight == pytest.approx(float(np.where(row, probabilities,
                                                      1 - np.array(probabilities)).prod()))
    assert sum(weights) >= mass - 1e-9
    assert sum(weights[:-1]) < mass


def test_states_are_bounded_and_an_undecided_atom_is_false_first():
    rows, weights = likely_states([0.5] * 30, 0.8, 16)
    assert rows.shape == (16, 30)
    assert not rows[0].any()
    assert weights.sum() == pytest.approx(16 / 2 ** 30)


# conformant plans

@settings(max_examples=40, deadline=None)
@given(states)
def test_a_conformant_plan_works_in_every_state_of_an_exhaustive_simulation(rows):
    planner = ConformantPlanner(MODEL, ATOMS, PROBLEM.goal, plan_from)
    found = planner.solve(rows)
    assert found is not None
    plan, count = found
    for row in rows[:count]:
        state = state_of(row)
        for action in plan:  # what cannot be done does nothing
            state = MODEL.apply(action, state) if MODEL.applicable(action, state) else state
        assert PROBLEM.goal_met(state)
    for number in range(len(plan)):  # nothing is superfluous
        assert not planner.conformant(plan[:number] + plan[number + 1:], rows[:count])


def test_where_no_plan_works_in_all_states_it_works_in_the_first():
    stuck = frozenset(atom for atom in ATOMS if atom.predicate == 'ontop')
    planner = ConformantPlanner(MODEL, ATOMS, PROBLEM.goal,
                                lambda state: None if state == stuck else plan_from(state))
    rows = np.array([[atom.predicate == name for atom in ATOMS] for name in (
        'inside', 'holding', 'ontop')], np.bool_)
    assert planner.solve(rows)[1] == 3  # the goal holds where it is stuck
    impossible = ConformantPlanner(MODEL, ATOMS, PROBLEM.goal, lambda _: None)
    assert impossible.solve(rows) is None
    assert impossible.solve(rows[2:]) == ((), 1)
    assert impossible.solve(np.flip(rows, axis=0)) == ((), 1)


def test_what_was_carried_out_rules_states_out():
    rows = np.array([[atom.predicate in names for atom in ATOMS] for names in (
        ('inside', 'open'), ('inside',))], np.bool_)
    planner = ConformantPlanner(MODEL, ATOMS, PROBLEM.goal, plan_from)
    after = planner.executed(NAV_CUP, rows)
    assert [state_of(row) for row in after] == [MODEL.apply(NAV_CUP, state_of(rows[0]))]
    assert len(planner.after((NAV_CUP,), rows)) == 2


# pooling

@given(st.floats(0.001, 0.999), st.floats(0.001, 0.999), st.floats(0.0, 1.0))
def test_pooling_is_a_weighted_mean_of_log_odds(old, answer, weight):
    def logit(p):
        return math.log(p / (1 - p))
    assert logit(pooled(old, answer, weight)) == pytest.approx(
        (1 - weight) * logit(old) + weight * logit(answer), abs=1e-6)


def test_pooling_by_hand():
    assert pooled(0.5, 0.9, 0.2) == pytest.approx(1 / (1 + 9 ** -0.2))
    assert pooled(0.5, 1.0, 0.2) == pooled(0.5, 1 - 1e-6, 0.2) == pytest.approx(0.9406, abs=1e-4)
    assert pooled(0.5, 0.0, 1.0) == pytest.approx(1e-6)


@pytest.mark.parametrize(('answer', 'expected'), [
    (Answer(verdict=Verdict.YES), 0.9),
    (Answer(verdict=Verdict.NO), 0.1),
    (Answer(verdict=Verdict.UNPARSED), None),
    (Answer('', 0.4, 0.4, verdict=Verdict.UNPARSED), None),
    (Answer('', 0.3, 0.1, 0.6, verdict=Verdict.UNKNOWN), None),
    (Answer('', 0.6, 0.2, verdict=Verdict.YES), 0.75),
    (Answer('', 0.0, 0.0, verdict=Verdict.YES), 0.9)])
def test_what_an_answer_is_worth(answer, expected):
    found = p_true(answer, 0.9)
    assert found == expected if expected is None else found == pytest.approx(expected)


@settings(deadline=None)
@given(st.lists(st.floats(0.01, 0.99), min_size=len(ATOMS), max_size=len(ATOMS)),
       st.sampled_from((NAV_BOX, GRASP, PLACE, CLOSE, OPEN)))
def test_an_executed_action_moves_every_atom_as_the_states_do(probabilities, action):
    """Exact where an effect's condition says nothing of the atom that it sets."""
    found = dict(zip(ATOMS, probabilities, strict=True))
    found |= moved(found, MODEL, action)
    expected = dict.fromkeys(ATOMS, 0.0)
    held = {literal.atom: literal.positive for literal in MODEL.preconditions(action)}
    for row in itertools.product((False, True), repeat=len(ATOMS)):
        weight = math.prod(
            float(held[atom] is true) if atom in held else p if true else 1 - p
            for atom, true, p in zip(ATOMS, row, probabilities, strict=True))
        if weight:
            for atom in MODEL.apply(action, state_of(row)):
                expected[atom] += weight
    if action == GRASP:  # taken out of where it may be: certain, and not p * (1 - p)
        expected[Atom.parse('inside cup_1,box_1')] = pytest.approx(
            probabilities[5] * (1 - probabilities[5]), abs=1e-4)
    assert found == pytest.approx(expected, abs=1e-4)


# knowledge

def knowing(**values):
    knowledge = Knowledge(MODEL, HOME.worth_asking(PROBLEM))
    for text, value in values.items():
        knowledge.answer(Atom.parse(text.replace('__', ' ')), value)
    return knowledge


def test_conditions_have_three_values():
    knowledge = knowing(open__box_1=True, holding__cup_1=False)
    yes, no = Literal(Atom.parse('open box_1')), Literal(Atom.parse('holding cup_1'))
    open_ = Literal(Atom.parse('reachable cup_1'))
    never = Literal(Atom.parse('ontop table_1,cup_1'))
    assert [knowledge.value(part) for part in (yes, no, open_, never)] == [
        True, False, None, False]
    assert knowledge.value(AllOf((yes, open_))) is None
    assert knowledge.value(AllOf((no, open_))) is False
    assert knowledge.value(AnyOf((yes, open_))) is True
    assert knowledge.value(AnyOf((no, open_))) is None
    assert knowledge.value(AllOf()) is True and knowledge.value(AnyOf()) is False


@settings(deadline=None)
@given(truths, st.sets(st.integers(0, len(ATOMS) - 1)),
       st.lists(st.sampled_from(MODEL.actions), max_size=8))
def test_with_right_answers_all_that_is_known_is_true(row, answered, actions):
    """Whatever is tried from any state: effects and refusals never make known what is not so."""
    state = state_of(row)
    knowledge = Knowledge(MODEL, ATOMS)
    for number in answered:
        knowledge.answer(ATOMS[number], ATOMS[number] in state)
    for action in actions:
        if any(atom not in ATOMS for atom, value, _ in MODEL.ground(action).effects if value):
            continue
        if MODEL.applicable(action, state):
            state = MODEL.apply(action, state)
            knowledge.executed(action)
        else:
            knowledge.refused(action)
        for atom in ATOMS:
            assert knowledge.unknown(atom) or knowledge.value(Literal(atom)) is (atom in state)


def test_a_refusal_teaches_its_only_explanation():
    knowledge = knowing(reachable__cup_1=False)
    knowledge.refused(NAV_CUP)
    assert knowledge.value(AllOf((Literal(ATOMS[5]), Literal(ATOMS[4], False)))) is True


def test_a_refusal_with_two_explanations_waits_for_an_answer():
    knowledge = knowing()
    knowledge.refused(NAV_CUP)
    assert knowledge.unknown(ATOMS[5]) and len(knowledge.refusals) == 1
    knowledge.answer(ATOMS[4], True)
    assert knowledge.value(Literal(ATOMS[0])) is True and not knowledge.refusals


def test_a_refusal_outweighs_answers_but_not_what_actions_showed():
    knowledge = knowing(open__box_1=True)
    knowledge.executed(NAV_BOX)
    knowledge.refused(CLOSE)
    assert knowledge.value(Literal(ATOMS[1])) is True
    assert knowledge.value(Literal(ATOMS[4])) is False


def test_what_an_action_may_have_changed_is_unknown():
    knowledge = knowing(reachable__cup_1=False)
    knowledge.know(ATOMS[1], True)
    knowledge.executed(OPEN)
    assert knowledge.value(Literal(ATOMS[4])) is True
    assert knowledge.unknown(ATOMS[0])  # it is in reach if it was inside


# in the loop

def play(method, problem, *, change=None, world=None, grounder=None, options=None, **spec):
    world = world or MemoryWorld()
    events = EventList()
    policy = make_policy(method, options, BoobyTrap())
    ended = run_episode(spec_of(problem, method=method, **spec), policy, world,
                        grounder or TruthGrounder(world, change),
                        SearchPlanner(world.domain, 20_000), events, world.domain)
    return ended, events, problem.goal_met(world.state())


def in_view(problem, state):
    """All but what is inside of something closed."""
    return set(problem.objects) - {atom.args[0] for atom in state if atom.predicate == 'inside'
                                   and Atom('open', atom.args[1:]) not in state}


@pytest.mark.parametrize('method', ['three_valued', 'log_odds'])
def test_with_right_answers_the_rivals_solve(method):
    for problem in BLOCKS.split_problems('simple')[:3]:
        ended, events, solved = play(method, problem)
        assert solved and ended.reason is StopReason.PLAN_DONE, ended.message
        if method == 'three_valued':
            assert len(events.of(Stepped)) == problem.optimal_length


@pytest.mark.parametrize('method', ['three_valued', 'log_odds'])
def test_what_is_hidden_is_found(method):
    ended, events, solved = play(method, PROBLEM, world=MemoryWorld(HOME, in_view),
                                 max_actions=12)
    assert solved, ended.message
    if method == 'three_valued':
        assert not [step for step in events.of(Stepped)
                    if step.feedback.status is FeedbackStatus.REJECTED]


@pytest.mark.parametrize(('method', 'most'), [('three_valued', None), ('log_odds', 2)])
@pytest.mark.parametrize('guess', ['no', 'random'])
def test_a_domain_with_hidden_things_needs_no_change(method, most, guess):
    domain = pantry()
    solved = []
    for number, problem in enumerate(domain.split_problems('small')[:most]):
        world = MemoryWorld(domain, pantry_view)
        ended, _, success = play(method, problem, world=world, seed=number, max_actions=20,
                                 grounder=GuessingGrounder(world, guess, 0.0, number))
        assert ended.reason is not StopReason.ERROR, ended.message
        solved.append(success)
    if method == 'three_valued':
        assert sum(solved) > 0.5 * len(solved)


@pytest.mark.parametrize('method', ['three_valued', 'log_odds'])
@pytest.mark.parametrize('verdict', list(Verdict))
def test_nonsense_ends_in_an_ordinary_way(method, verdict):
    ended, _, _ = play(method, BLOCKS.split_problems('simple')[0], change=lambda *_: verdict)
    assert ended.reason.scored, ended.message


def test_three_valued_asks_about_a_picture_once_and_only_what_is_unknown():
    _, events, _ = play('three_valued', BLOCKS.split_problems('simple')[1])
    asked = [(event.observation.image_id, question.atom)
             for event in events.of(Asked) for question in event.questions]
    assert len(asked) == len(set(asked)) > 0


def test_three_valued_takes_a_wrong_word_about_the_goal():
    ended, events, solved = play(
        'three_valued', PROBLEM, world=MemoryWorld(HOME, lambda *_: set(PROBLEM.objects)),
        change=lambda atom, truth, _: (
            {True: Verdict.YES, False: Verdict.NO}[atom.predicate == 'ontop']))
    assert ended.reason is StopReason.PLAN_DONE and not solved and not events.of(Stepped)


def test_log_odds_asks_the_same_again_after_a_refusal():
    """It does not notice that the picture is the same, nor what the refusal says."""
    world = MemoryWorld(HOME, lambda *_: set(PROBLEM.objects))

    def misleading(atom, truth, call):
        return Verdict.YES if atom == ATOMS[1] and world.state() == PROBLEM.init else None
    _, events, _ = play('log_odds', PROBLEM, world=world, max_actions=10, change=misleading)
    asked = [(event.observation.image_id, question.atom)
             for event in events.of(Asked) for question in event.questions]
    assert any(step.feedback.status is FeedbackStatus.REJECTED for step in events.of(Stepped))
    assert len(asked) > len(set(asked))
