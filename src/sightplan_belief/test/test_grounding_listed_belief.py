"""The belief over time: against exact Bayesian filtering, and its particular rules."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from doubles import pantry
from sightplan.domains import load_domain
from sightplan.model import Action, Answer, Atom, FeedbackStatus, InputError, Literal, Verdict
from sightplan_belief.estimator import Estimator, EstimatorSettings
from sightplan_belief.joint_belief import FilterSettings
from sightplan_belief.listed_belief import FactorisedBelief, ListedBelief
from sightplan_belief.observation_model import ActionReliability, AnswerRates, ObservationModel

BLOCKS = load_domain('blocksworld')
PROBLEM = BLOCKS.parse_problem(
    '(define (problem p) (:domain blocksworld) (:objects r g b - block c1 c2 c3 - column) (:init) '
    '(:goal (on r g)))', 'p')
MODEL = BLOCKS.model(PROBLEM)
ATOMS = [a for a in MODEL.atoms if a.predicate in ('on', 'clear', 'incolumn')]
SLIPPERY = dataclasses.replace(ObservationModel.default(), other_action=ActionReliability(
    0.8, 0.15, 0.05))
YES, NO = Verdict.YES, Verdict.NO


def estimator(k=100, rates=SLIPPERY):
    return Estimator(BLOCKS, PROBLEM, observation_model=rates,
                     settings=EstimatorSettings(k=k, window=100.0, limit=1000), atoms=ATOMS)


FULL = estimator()
STATES = [state for state, _ in FULL.estimate([]).solutions]


def belief(kind=ListedBelief, k=100, repeats='independent', rates=None):
    chosen = FULL if rates is None else estimator(k, rates)
    return kind(chosen, MODEL, FilterSettings(k=k, repeats=repeats, escape_nats=100.0,
                                              refusal=1.0))


def exact_step(weights, action, status, rates):
    """One action in an exact filter over all states."""
    moved = dict.fromkeys(STATES, 0.0)
    reliability = rates.action(action.name)
    for state, weight in weights.items():
        fits = MODEL.applicable(action, state)
        if status is FeedbackStatus.REJECTED:
            moved[state] += weight * (rates.rejection if fits
                                      else 1.0 - rates.execution_if_inapplicable)
            continue
        if not fits:
            moved[state] += weight * rates.execution_if_inapplicable
            continue
        weight *= 1.0 - rates.rejection
        moved[MODEL.apply(action, state)] += weight * reliability.success
        slips = [a for a in MODEL.actions if MODEL.applicable(a, state)
                 and sum(x != y for x, y in zip(a.args, action.args, strict=True)) == 1]
        moved[state] += weight * (reliability.no_op + (0.0 if slips else reliability.slip))
        for slip in slips:
            moved[MODEL.apply(slip, state)] += weight * reliability.slip / len(slips)
    return moved


def exact_answer(weights, atom, verdict, rates):
    logs = rates.log_likelihoods(atom.predicate, Answer(verdict=verdict))
    return {s: w * math.exp(logs[atom in s]) for s, w in weights.items()}


def test_there_are_sixty_states():
    assert len(STATES) == 60


@given(st.lists(st.one_of(
    st.tuples(st.sampled_from(ATOMS), st.sampled_from(list(Verdict))),
    st.tuples(st.sampled_from(MODEL.actions),
              st.sampled_from([FeedbackStatus.EXECUTED, FeedbackStatus.REJECTED]))), max_size=8))
@example([(Atom('on', ('r', 'g')), YES)] * 2)  # the second answer about one picture says nothing
@example([(Atom('on', ('r', 'g')), Verdict.NO), (Atom('on', ('r', 'g')), YES)])
@settings(max_examples=15, deadline=None)
def test_it_is_an_exact_bayes_filter_where_nothing_is_cut_off(history):
    tracked = belief()
    weights = dict.fromkeys(STATES, 1.0)
    images, asked = 0, set()
    tracked.observe('image 0')
    for what, result in history:
        if isinstance(what, Action):
            tracked.act(what, result)
            weights = exact_step(weights, what, result, SLIPPERY)
            if result is FeedbackStatus.EXECUTED:
                images += 1
                asked = set()
                tracked.observe(f'image {images}')
        else:
            tracked.answer({what: Answer(verdict=result)})
            if what not in asked:
                weights = exact_answer(weights, what, result, SLIPPERY)
            asked.add(what)
    total = sum(weights.values())
    if total < 1e-9:
        return
    marginals = tracked.marginals()
    for atom in ATOMS:
        p = sum(w for s, w in weights.items() if atom in s) / total
        assert marginals[atom] == pytest.approx(min(max(p, 1e-4), 1.0 - 1e-4), abs=2e-3)


def test_answers_are_used_once_per_image_and_less_on_the_next():
    atom = Atom('on', ('r', 'g'))
    tracked = belief(repeats='dependent')

    def odds():
        p = tracked.marginals()[atom]
        return math.log(p / (1.0 - p))

    prior = odds()
    tracked.answer({atom: Answer('Yes')})
    once = odds()
    tracked.answer({atom: Answer('Yes')})
    assert odds() == pytest.approx(once)
    tracked.observe('b')
    tracked.answer({atom: Answer('Yes')})
    assert once + 0.1 < odds() < once + 0.7 * (once - prior)


def test_after_its_value_changed_an_atom_is_asked_afresh():
    """A state in which the atom has changed takes an answer for what a first one is worth."""
    rates = ObservationModel.default()
    tracked = belief(repeats='dependent', rates=rates)
    start = frozenset(Atom.parse(a) for a in (
        'on r,g', 'incolumn r,c1', 'incolumn g,c1', 'clear r', 'incolumn b,c2', 'clear b'))
    tracked.answer({a: Answer('Yes' if a in start else 'No') for a in ATOMS})
    assert tracked.state == start and tracked.weights.max() > 0.98
    action = Action('moveblock', ('r', 'c3'))
    tracked.act(action, FeedbackStatus.EXECUTED)
    tracked.observe('b')
    before = tracked.marginals()[Atom('incolumn', ('r', 'c3'))]
    tracked.answer({Atom('incolumn', ('r', 'c3')): Answer('Yes')})
    after = tracked.marginals()[Atom('incolumn', ('r', 'c3'))]
    # Failed states kept the old "no": there a "yes" means that a right answer turned wrong.
    r, e = 0.5, 0.1
    ratio = 0.9 / (e * (1.0 - r) / (1.0 - e))
    assert (after / (1.0 - after)) / (before / (1.0 - before)) == pytest.approx(ratio, rel=0.1)


def test_a_rejection_speaks_against_its_preconditions():
    tracked = belief()
    action = Action('moveblock', ('r', 'c1'))
    fits = [Literal(Atom('clear', ('r',))), Literal(Atom('incolumn', ('r', 'c1')), False)]
    before = tracked.probability(fits)
    tracked.act(action, FeedbackStatus.REJECTED)
    assert tracked.probability(fits) < 0.1 * before
    tracked.act(action, FeedbackStatus.WITHHELD)
    assert tracked.probability(fits) < 0.1 * before


def test_a_rejection_is_not_forgotten_at_the_next_answer():
    tracked = belief()
    action = Action('moveblock', ('r', 'c1'))
    for _ in range(2):
        tracked.act(action, FeedbackStatus.REJECTED)
    fits = MODEL.preconditions(action)
    before = tracked.probability(fits)
    tracked.answer({Atom('on', ('g', 'b')): Answer('No')})
    assert tracked.probability(fits) < 2.0 * before < 0.1


def test_rejections_bring_in_states_that_explain_them():
    """Even where the states listed first all allow the action."""
    hard = BLOCKS.split_problems('hard')[0]
    model = BLOCKS.model(hard)
    atoms = [a for a in model.atoms if a.predicate in ('on', 'clear', 'incolumn')]
    tracked = ListedBelief(Estimator(BLOCKS, hard, settings=EstimatorSettings(k=16), atoms=atoms),
                           model)
    known = set(tracked.states)
    for action in model.actions[:6]:
        tracked.act(action, FeedbackStatus.REJECTED)
    assert not set(tracked.states) <= known
    assert not any(model.applicable(a, tracked.state) for a in model.actions[:6])


def test_a_rejection_that_nothing_believed_explains_brings_in_what_does():
    """After an action, too, where a refusal would lower all joint states alike."""
    start = frozenset(Atom.parse(a) for a in (
        'on r,g', 'incolumn r,c1', 'incolumn g,c1', 'clear r', 'incolumn b,c2', 'clear b'))
    first, refused = Action('moveblock', ('r', 'c3')), Action('moveblock', ('g', 'c2'))

    reliable = dataclasses.replace(ObservationModel.default(), other_action=ActionReliability(
        1.0, 0.0, 0.0))

    def after(refusal):
        tracked = ListedBelief(estimator(rates=reliable), MODEL,
                               FilterSettings(k=100, refusal=refusal))
        for image in 'abcd':  # certain, but for what the action did
            tracked.observe(image)
            tracked.answer({a: Answer('Yes' if a in start else 'No') for a in ATOMS})
        tracked.act(first, FeedbackStatus.EXECUTED)
        tracked.observe('e')
        known = tracked.states
        assert all(MODEL.applicable(refused, state) for state in known)
        tracked.act(refused, FeedbackStatus.REJECTED)
        return tracked, known
    tracked, known = after(1.0)
    assert tracked.states == known
    tracked, known = after(0.5)
    new = [state for state in tracked.states if state not in known]
    assert new and not any(MODEL.applicable(refused, state) for state in new)
    weight = {state: w for state, w in zip(tracked.states, tracked.weights, strict=True)
              if state in new}
    assert sum(weight.values()) > 0.2
    likely = max(weight, key=weight.__getitem__)
    # Of what explains it, that is likeliest which is nearest to what was believed.
    assert len(likely ^ MODEL.apply(first, start)) == min(
        len(state ^ MODEL.apply(first, start)) for state in STATES
        if not MODEL.applicable(refused, state))


def test_a_refusal_may_have_any_of_its_reasons_conjunctions_too():
    """Where one goes: the thing is in reach already, or it is behind a closed door."""
    domain = load_domain('household')
    problem = domain.parse_problem('''(define (problem p) (:domain household)
        (:objects apple_1 - movable fridge_1 - container table_1 - object)
        (:init) (:goal (ontop apple_1 table_1)))''', 'p')
    model = domain.model(problem)
    go, enter = Action('navigate-to', ('apple_1',)), Atom('inside', ('apple_1', 'fridge_1'))
    behind = [Literal(enter), Literal(Atom('open', ('fridge_1',)), False)]
    reach = [Literal(Atom('reachable', ('apple_1',)))]
    assert [tuple(reach), tuple(behind)] == list(model.obstacles(go))
    for moved in (False, True):
        tracked = ListedBelief(Estimator(domain, problem, settings=EstimatorSettings(k=64)), model,
                               FilterSettings(k=64))
        if moved:  # all is known of one state, from which one goes to the table
            tracked.provide(dict.fromkeys(domain.worth_asking(problem), False))
            tracked.act(Action('navigate-to', ('table_1',)), FeedbackStatus.EXECUTED)
        else:
            tracked.expect(dict.fromkeys(domain.worth_asking(problem), 0.2))
        tracked.act(go, FeedbackStatus.REJECTED)
        either = tracked.probability(reach), tracked.probability(behind)
        assert min(either) > 0.1 and sum(either) > 0.5


def test_the_same_picture_after_an_action_says_that_nothing_happened():
    tracked = belief(rates=ObservationModel.default())
    start = frozenset(Atom.parse(a) for a in (
        'on r,g', 'incolumn r,c1', 'incolumn g,c1', 'clear r', 'incolumn b,c2', 'clear b'))
    tracked.observe('a')
    tracked.answer({a: Answer('Yes' if a in start else 'No') for a in ATOMS})
    tracked.act(Action('moveblock', ('r', 'c3')), FeedbackStatus.EXECUTED)
    assert tracked.state != start
    tracked.observe('a')
    assert tracked.state == start
    assert tracked.answered == set(ATOMS), 'there is nothing left to be asked about it'
    tracked.observe('b')
    assert not tracked.answered


def test_the_same_picture_counts_once_after_an_action_however_often_it_is_seen():
    tracked, atom = belief(), Atom('incolumn', ('r', 'c3'))
    tracked.observe('a')
    tracked.answer({atom: Answer('No')})
    tracked.act(Action('moveblock', ('r', 'c3')), FeedbackStatus.EXECUTED)
    moved = tracked.marginals()[atom]
    tracked.observe('a')
    seen = tracked.marginals()[atom]
    tracked.observe('a')
    assert tracked.marginals()[atom] == pytest.approx(seen) and seen < moved


def test_of_two_ways_to_a_state_the_likelier_one_says_what_has_changed():
    rates = ObservationModel.default()
    tracked = belief(repeats='dependent', rates=rates)
    where, others = Atom('incolumn', ('r', 'c1')), {'incolumn g,c1', 'incolumn b,c2', 'clear b'}
    start, elsewhere, moved = (frozenset(map(Atom.parse, {*others, *more})) for more in (
        ('on r,g', 'incolumn r,c1', 'clear r'), ('incolumn r,c3', 'clear r', 'clear g'),
        ('on r,b', 'incolumn r,c2', 'clear r', 'clear g')))
    moved -= {Atom.parse('clear b')}
    tracked.answer({a: Answer('Yes' if a in start else 'No') for a in ATOMS
                    if a == where or (a in start) is (a in elsewhere)})

    def log_ratio():
        weights = dict(zip(tracked.states, tracked.weights, strict=True))
        return math.log(weights[moved] / weights[start])
    tracked.act(Action('moveblock', ('r', 'c2')), FeedbackStatus.EXECUTED)
    before = log_ratio()
    tracked.observe('b')
    tracked.answer({where: Answer('No')})
    fresh, _ = rates.log_likelihoods('incolumn', Answer('No'))
    _, again = rates.log_likelihoods('incolumn', Answer('No'), YES)
    assert log_ratio() - before == pytest.approx(fresh - again)


def test_an_unreadable_answer_changes_nothing():
    rates = ObservationModel.default()
    atom = Atom('incolumn', ('r', 'c3'))
    values = []
    for unreadable in (False, True):
        tracked = belief(repeats='dependent', rates=rates)
        start = STATES[11] - {atom}
        tracked.observe('a')
        tracked.answer({a: Answer('Yes' if a in start else 'No') for a in ATOMS})
        tracked.act(Action('moveblock', ('r', 'c3')), FeedbackStatus.EXECUTED)
        tracked.observe('b')
        if unreadable:
            tracked.answer({atom: Answer()})
            tracked.observe('c')
        tracked.answer({atom: Answer('No')})
        values.append(tracked.marginals()[atom])
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_the_order_of_objects_does_not_matter_over_time():
    rng = random.Random(3)
    hard = BLOCKS.split_problems('hard')[1]
    supports = []
    for _ in range(3):
        objects = list(hard.objects.items())
        rng.shuffle(objects)
        shuffled = dataclasses.replace(hard, objects=dict(objects))
        model = BLOCKS.model(shuffled)
        atoms = {a for a in model.atoms if a.predicate in ('on', 'clear', 'incolumn')}
        tracked = ListedBelief(Estimator(BLOCKS, shuffled, settings=EstimatorSettings(k=16),
                                         atoms=atoms), model, FilterSettings(k=16))
        history = [tracked.informative(tracked.atoms, None, 4)]
        tracked.answer({a: Answer('Yes' if a in hard.init else 'No') for a in sorted(atoms)[::3]})
        action = min(a for a in model.actions if model.applicable(a, hard.init))
        tracked.act(action, FeedbackStatus.EXECUTED)
        history.append(tracked.informative(tracked.atoms, None, 4))
        supports.append((history, tracked.states, tracked.weights.tolist()))
    assert supports[0] == supports[1] == supports[2]


@pytest.mark.parametrize('fractions', [(0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)])
def test_certain_outcomes_are_no_error(fractions):
    rates = dataclasses.replace(ObservationModel.default(),
                                other_action=ActionReliability(*fractions))
    tracked = belief(rates=rates)
    tracked.act(MODEL.actions[0], FeedbackStatus.EXECUTED)
    assert tracked.states


def test_a_state_outside_of_the_belief_is_taken_in():
    tracked = ListedBelief(estimator(4), MODEL, FilterSettings(k=4))
    truth, other = random.Random(5).sample(STATES, 2)
    tracked.answer({a: Answer('Yes' if a in other else 'No') for a in ATOMS})
    tracked.act(Action('moveblock', ('r', 'c1')), FeedbackStatus.WITHHELD)
    tracked.act(next(a for a in MODEL.actions if MODEL.applicable(a, other)),
                FeedbackStatus.EXECUTED)
    tracked.observe('b')
    assert truth not in tracked.states and truth not in tracked.states
    for atom in ATOMS:
        tracked.answer({atom: Answer('Yes' if atom in truth else 'No')})
        tracked.escape()
    assert tracked.state == truth
    assert len(tracked.states) <= 4


def test_told_facts_are_certain():
    tracked = belief()
    tracked.provide({Atom('on', ('r', 'g')): True, Atom('clear', ('b',)): False})
    assert all(Atom('on', ('r', 'g')) in state and Atom('clear', ('b',)) not in state
               for state, weight in zip(tracked.states, tracked.weights, strict=True)
               if weight > 1e-6)


def test_only_tracked_atoms_can_be_answered():
    with pytest.raises(InputError, match='leftof c1,c2'):
        belief().answer({Atom('leftof', ('c1', 'c2')): Answer('Yes')})


def test_the_most_informative_question_halves_what_is_open():
    tracked = belief()
    (first, gain), *others = tracked.informative(ATOMS, None, 5)
    assert gain == max(gain for _, gain in [(first, gain), *others])
    assert 0.0 < gain < 1.0 - 0.4  # a bit at most, less the noise of the answer
    assert first.args[0] != first.args[-1] or first.predicate != 'on'
    target = np.array([Atom('on', ('r', 'g')) in s for s in tracked.states])
    best = tracked.informative(ATOMS, target, 1, side_interest=0.0)[0][0]
    assert best == Atom('on', ('r', 'g'))
    tracked.answer({best: Answer('Yes')})
    assert best not in dict(tracked.informative(ATOMS, target, 99))


def test_what_questions_tell_adds_up_to_what_their_answers_tell_together():
    tracked = belief()
    tracked.answer({Atom('on', ('r', 'g')): Answer('Yes')})
    chosen = tracked.informative(ATOMS, None, 3)
    true = np.array([[atom in state for atom, _ in chosen] for state in tracked.states])
    together = noise = 0.0
    for answers in itertools.product((True, False), repeat=len(chosen)):
        p = np.where(true == answers, 0.9, 0.1).prod(axis=1)
        together -= (tracked.weights @ p) * np.log2(tracked.weights @ p)
        noise -= tracked.weights @ (p * np.log2(p))
    assert sum(gain for _, gain in chosen) == pytest.approx(together - noise)


def test_the_factorised_rival_stays_possible_and_follows_the_evidence():
    tracked = belief(FactorisedBelief, k=16)
    truth = STATES[7]
    tracked.answer({a: Answer('Yes' if a in truth else 'No') for a in ATOMS})
    assert tracked.state == truth
    action = next(a for a in MODEL.actions if MODEL.applicable(a, truth))
    tracked.act(action, FeedbackStatus.EXECUTED)
    tracked.observe('b')
    after = MODEL.apply(action, truth)
    tracked.answer({a: Answer('Yes' if a in after else 'No') for a in ATOMS})
    assert tracked.state == after
    assert all(state in STATES for state in tracked.states)


def test_effects_that_are_not_reliable_branch_within_what_is_possible():
    domain = pantry()
    problem = domain.split_problems('small')[0]
    model = domain.model(problem)
    rates = dataclasses.replace(ObservationModel.default(), actions={'open': ActionReliability(
        0.9, 0.1, 0.0, {'isopen +': 0.7})})
    chosen = Estimator(domain, problem, observation_model=rates,
                       settings=EstimatorSettings(k=64))
    tracked = ListedBelief(chosen, model)
    tracked.provide({atom: atom in problem.init for atom in model.atoms})
    action = next(a for a in model.actions if a.name == 'open'
                  and model.applicable(a, problem.init))
    tracked.act(action, FeedbackStatus.EXECUTED)
    p = tracked.marginals()[Atom('isopen', action.args)]
    assert p == pytest.approx(0.9 * 0.7, abs=0.02)


def test_what_is_out_of_view_is_seldom_true_before_it_is_known():
    """A prior, exact up to the first action; answers and facts outweigh it."""
    rates = SLIPPERY
    hidden = [Atom('on', ('r', 'g')), Atom('incolumn', ('b', 'c3'))]
    odds = 0.2 / 0.8
    tracked = belief()
    tracked.expect(dict.fromkeys(hidden, 0.2))
    weights = {s: odds ** sum(atom in s for atom in hidden) for s in STATES}
    total = sum(weights.values())
    found = dict(zip(tracked.states, tracked.weights, strict=True))
    assert found == pytest.approx({s: w / total for s, w in weights.items()}, abs=1e-6)
    tracked.observe('a')
    tracked.answer({hidden[0]: Answer('Yes')})
    weights = exact_answer(weights, hidden[0], YES, rates)
    total = sum(weights.values())
    found = dict(zip(tracked.states, tracked.weights, strict=True))
    assert found == pytest.approx({s: w / total for s, w in weights.items()}, abs=1e-6)
    tracked.provide({hidden[1]: True})
    assert tracked.marginals()[hidden[1]] > 0.999
    other = belief()
    other.expect({})
    assert np.allclose(other.weights, 1.0 / len(STATES))


def test_rates_of_the_answering_model_also_decide_what_is_asked_and_what_actions_do():
    """As if they had been known from the start."""
    known = dataclasses.replace(SLIPPERY, other=AnswerRates(0.999, 0.001),
                                other_action=ActionReliability(0.4, 0.6, 0.0))
    begun, told = belief(rates=known), belief()
    told.use_rates(estimator(rates=known))
    gains = [tracked.informative(ATOMS, None, 3) for tracked in (begun, told)]
    assert gains[0] == gains[1] != belief().informative(ATOMS, None, 3)
    for tracked in (begun, told):
        tracked.provide({atom: atom in STATES[0] for atom in ATOMS})
        tracked.act(next(action for action in MODEL.actions
                         if MODEL.applicable(action, STATES[0])), FeedbackStatus.EXECUTED)
    assert told.marginals() == pytest.approx(begun.marginals())
