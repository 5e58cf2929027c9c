"""The sampled belief: against the exact posterior of all trajectories, and its own rules."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random

import numpy as np
import pytest

from sightplan.domains import load_domain
from sightplan.model import Action, Answer, Atom, FeedbackStatus, InputError, Verdict
from sightplan_belief.estimator import Estimator, EstimatorSettings
from sightplan_belief.joint_belief import FilterSettings
from sightplan_belief.observation_model import ActionReliability, AnswerRates, ObservationModel
from sightplan_belief.priors import Priors
from sightplan_belief.sampled_belief import SampledBelief
from sightplan_belief.visibility import VisibilityRule

HOME = load_domain('household')
TEXT = """(define (problem p) (:domain household)
  (:objects {objects})
  (:init) (:goal (and (inside bowl_1 cabinet_2))))"""
PROBLEM = HOME.parse_problem(TEXT.format(
    objects='bowl_1 - movable cabinet_1 cabinet_2 - container sink_1 - object'), 'p')
MODEL = HOME.model(PROBLEM)
ATOMS = sorted(a for a in HOME.worth_asking(PROBLEM)
               if a.predicate in ('reachable', 'holding', 'open', 'inside'))
RATES = dataclasses.replace(
    ObservationModel.default(), model='a known one', domain=HOME.name,
    other=AnswerRates(0.8, 0.25, n_true=6.0, n_false=5.0, repeat=0.6),
    actions={'grasp': ActionReliability(0.9, 0.1, 0.0),
             'place-inside': ActionReliability(0.9, 0.1, 0.0, {'inside +': 0.8})},
    other_action=ActionReliability(1.0, 0.0, 0.0), rejection=0.02,
    execution_if_inapplicable=0.01)
PRIOR = {a: {'reachable': 0.15, 'holding': 0.05, 'open': 0.5, 'inside': 0.3}[a.predicate]
         for a in ATOMS}
# The bowl is in one of two cabinets, or held, or none of these.
NONE = 1.0 - sum(p for a, p in PRIOR.items() if a.predicate in ('inside', 'holding'))
ODDS = {a: p / (NONE if a.predicate in ('inside', 'holding') else 1.0 - p)
        for a, p in PRIOR.items()}
YES, NO = Verdict.YES, Verdict.NO
OUTCOMES = {'grasp': ((0.9, ()), (0.1, None)),
            'place-inside': ((0.72, ()), (0.1, None), (0.18, ('inside',)))}
"""Probability, and the predicates that stay as they were (None: all)."""


def estimator(rates=RATES, problem=PROBLEM):
    atoms = [a for a in HOME.worth_asking(problem)
             if a.predicate in ('reachable', 'holding', 'open', 'inside')]
    return Estimator(HOME, problem, observation_model=rates,
                     settings=EstimatorSettings(k=64), atoms=atoms, priors=Priors())


def belief(k=1500, **settings):
    found = SampledBelief(estimator(), MODEL, FilterSettings(k=k, **settings))
    found.expect(PRIOR)
    return found


def moved(action, state, kept):
    """The state after an action whose effects on some predicates are missing."""
    effects = MODEL.effects(action, state)
    effects = {} if kept is None else {
        a: v for a, v in effects.items() if not (v and a.predicate in kept)}
    return frozenset(state - set(effects) | {a for a, v in effects.items() if v})


def exact(history):
    """P(atom is true now), by adding up all trajectories; answers' rates by Polya's urn."""
    theory = estimator()
    total, true = 0.0, dict.fromkeys(ATOMS, 0.0)
    for values in itertools.product((False, True), repeat=len(ATOMS)):
        if not theory.possible(np.array(values)):
            continue
        start = frozenset(a for a, v in zip(ATOMS, values, strict=True) if v)
        prior = math.prod(ODDS[a] if a in start else 1.0 for a in ATOMS)
        trajectories = [(prior, start, {}, {})]  # weight, state, counts, last answers
        for what, result in history:
            following = []
            for weight, state, counts, last in trajectories:
                if isinstance(what, Action):
                    fits = MODEL.applicable(what, state)
                    if result is FeedbackStatus.REJECTED:
                        following.append((weight * (0.02 if fits else 0.99), state, counts, last))
                        continue
                    chance = 0.98 if fits else 0.01
                    for p, kept in OUTCOMES.get(what.name, ((1.0, ()),)):
                        after = moved(what, state, kept) if fits else state
                        following.append((weight * chance * p, after, counts, last))
                    continue
                value = what in state
                key = (what.predicate, value)
                strength, mean = (6.0, 0.8) if value else (5.0, 0.25)
                urn = counts.get(key, {})
                if what in last and last[what][0] is value:
                    yes, no = (0.99 * strength * p + urn.get(says, 0)
                               for p, says in ((mean, YES), (1.0 - mean, NO)))
                    right, wrong = (yes, no) if value else (no, yes)
                    wrong /= right + wrong
                    stuck = max(0.0, (0.6 - wrong) / (1.0 - wrong))
                    fresh = {YES: yes, NO: no}[result] / (yes + no)
                    weight *= stuck * (last[what][1] is result) + (1.0 - stuck) * fresh
                else:
                    mean = {YES: 0.99 * mean, NO: 0.99 * (1.0 - mean)}[result]
                    weight *= (strength * mean + urn.get(result, 0)) / (
                        strength + sum(urn.values()))
                    counts = {**counts, key: {**urn, result: urn.get(result, 0) + 1}}
                following.append((weight, state, counts, {**last, what: (value, result)}))
            trajectories = following
        for weight, state, _, _ in trajectories:
            total += weight
            for atom in state:
                true[atom] += weight
    return {atom: w / total for atom, w in true.items()}


def lived(seed, steps):
    """A history as a world would give it: legal and illegal actions, answers with errors."""
    rng = random.Random(seed)
    theory = estimator()
    while True:
        start = frozenset(a for a in ATOMS if rng.random() < PRIOR[a])
        if theory.possible(np.array([a in start for a in theory.atoms])):
            break
    state, history = start, []
    for _ in range(steps):
        for atom in rng.sample(ATOMS, 3):
            right = (atom in state) is (rng.random() < 0.75)
            history.append((atom, YES if right else NO))
        action = rng.choice([a for a in MODEL.actions if a.name != 'place-on'
                             and a.name != 'place-next-to'])
        fits = MODEL.applicable(action, state)
        history.append((action, FeedbackStatus.EXECUTED if fits else FeedbackStatus.REJECTED))
        if fits:
            kinds = OUTCOMES.get(action.name, ((1.0, ()),))
            _, kept = rng.choices(kinds, [p for p, _ in kinds])[0]
            state = moved(action, state, kept)
    return history


def told(tracked, history):
    image = 0
    tracked.observe('image 0')
    asked = set()
    for what, result in history:
        if isinstance(what, Action):
            tracked.act(what, result)
            image += 1
            asked = set()
            tracked.observe(f'image {image}')
        else:
            assert what not in asked
            asked.add(what)
            tracked.answer({what: Answer(verdict=result)})


@pytest.mark.parametrize('seed', range(3))
def test_it_agrees_with_the_exact_posterior_over_all_trajectories(seed):
    history = lived(seed, 4)
    tracked = belief()
    told(tracked, history)
    expected, found = exact(history), tracked.marginals()
    errors = [abs(expected[a] - found[a]) for a in ATOMS]
    assert max(errors) < 0.12 and sum(errors) / len(errors) < 0.03


def test_the_prior_is_sampled_within_the_constraints():
    found = belief(4000).marginals()
    expected = exact([])
    assert max(abs(expected[a] - found[a]) for a in ATOMS) < 0.04


def test_what_excludes_each_other_is_as_likely_as_it_is_said_to_be():
    marginals = belief(4000).marginals()
    for atom in (*INSIDE, Atom('holding', ('bowl_1',))):
        assert marginals[atom] == pytest.approx(PRIOR[atom], abs=0.03)


def test_more_than_can_be_true_counts_for_less():
    tracked = SampledBelief(estimator(), MODEL, FilterSettings(k=4000))
    tracked.expect({**PRIOR, INSIDE[0]: 0.9, INSIDE[1]: 0.3})
    found = [tracked.marginals()[atom] for atom in INSIDE]
    assert found == pytest.approx([0.61, 0.2], abs=0.03)  # 3 to 1, .85 with what is held


def test_a_late_refusal_changes_what_is_thought_of_the_beginning():
    """What cannot be grasped out of an open cabinet is in the other one."""
    tracked = belief()
    inside = [Atom('inside', ('bowl_1', f'cabinet_{i}')) for i in (1, 2)]
    tracked.observe('a')
    told(tracked, [(inside[0], YES), (Action('navigate-to', ('bowl_1',)),
                                      FeedbackStatus.REJECTED)])
    before = tracked.marginals()
    assert before[inside[0]] > before[inside[1]]
    for name in ('navigate-to', 'open-container'):
        tracked.act(Action(name, ('cabinet_1',)), FeedbackStatus.EXECUTED)
        tracked.observe(name)
    tracked.act(Action('grasp', ('bowl_1',)), FeedbackStatus.REJECTED)
    after = tracked.marginals()
    assert after[inside[1]] > before[inside[1]] + 0.15 and after[inside[0]] < 0.1


@pytest.mark.parametrize('seed', range(4))
def test_a_refusal_that_none_of_the_sample_expected_sets_it_in_motion(seed):
    """All are sure that the cabinet was opened, and can only all be wrong."""
    rates = dataclasses.replace(RATES, rejection=5e-4, actions=RATES.actions | {
        'open-container': ActionReliability(0.99, 0.01, 0.0)})
    made = Estimator(HOME, PROBLEM, observation_model=rates, atoms=ATOMS, priors=Priors(),
                     settings=EstimatorSettings(k=64, seed=seed))
    tracked = SampledBelief(made, MODEL, FilterSettings(k=40))
    tracked.expect(PRIOR)
    bowl = Atom('inside', ('bowl_1', 'cabinet_1'))
    tracked.provide({bowl: True, Atom('open', ('cabinet_1',)): False})
    for name, status in (('navigate-to', FeedbackStatus.EXECUTED),
                         ('open-container', FeedbackStatus.EXECUTED)):
        tracked.act(Action(name, ('cabinet_1',)), status)
    grasp = MODEL.preconditions(Action('grasp', ('bowl_1',)))
    assert tracked.probability(grasp) > 0.9
    tracked.act(Action('grasp', ('bowl_1',)), FeedbackStatus.REJECTED)
    assert tracked.probability(grasp) < 0.3


def test_eyes_that_were_wrong_are_trusted_less():
    """Refusals show that three answers were wrong: the next one about the predicate says less."""
    def trust(contradicted):
        tracked = belief()
        tracked.observe('a')
        tracked.answer({Atom('open', (f'cabinet_{i}',)): Answer('Yes') for i in (1, 2)})
        for i in (1, 2):
            tracked.act(Action('navigate-to', (f'cabinet_{i}',)), FeedbackStatus.EXECUTED)
            tracked.observe(f'n{i}')
            shut = Action('close-container', (f'cabinet_{i}',))
            tracked.act(shut, FeedbackStatus.REJECTED if contradicted
                        else FeedbackStatus.EXECUTED)
            tracked.observe(f'c{i}')
        rates = tracked._rates(np.array([tracked._estimator.number[Atom('open', ('cabinet_1',))]]))
        return float(rates[0, 0])  # P(yes | closed)
    assert trust(True) > trust(False) + 0.1


def test_what_is_granted_is_certain_and_what_is_granted_later_is_heeded():
    tracked = belief(200)
    inside = Atom('inside', ('bowl_1', 'cabinet_1'))
    tracked.observe('a')
    tracked.provide({inside: True, Atom('open', ('cabinet_1',)): False})
    assert tracked.marginals()[inside] > 0.999
    tracked.act(Action('navigate-to', ('sink_1',)), FeedbackStatus.EXECUTED)
    tracked.observe('b')
    tracked.provide({Atom('open', ('cabinet_2',)): True})
    assert tracked.marginals()[Atom('open', ('cabinet_2',))] > 0.999
    unheard_of = {Atom('reachable', ('cabinet_1',)): True, Atom('reachable', ('sink_1',)): False}
    tracked.provide(unheard_of)
    assert all((tracked.marginals()[a] > 0.999) is value for a, value in unheard_of.items())
    tracked.act(Action('navigate-to', ('cabinet_2',)), FeedbackStatus.EXECUTED)
    assert tracked.marginals()[Atom('reachable', ('cabinet_1',))] < 0.1


def test_an_action_fails_as_often_as_its_reliability_says():
    tracked, grasp = belief(4000), Action('grasp', ('bowl_1',))
    tracked.provide({x.atom: x.positive for x in MODEL.preconditions(grasp)})
    tracked.act(grasp, FeedbackStatus.EXECUTED)
    assert tracked.marginals()[Atom('holding', ('bowl_1',))] == pytest.approx(0.9, abs=0.02)


def test_the_same_picture_after_an_action_says_that_nothing_new_is_known():
    tracked = belief(400)
    atom = Atom('open', ('cabinet_1',))
    tracked.observe('a')
    tracked.answer({atom: Answer('Yes')})
    assert tracked.answered == {atom}
    before = tracked.marginals()[atom]
    tracked.observe('a')
    assert tracked.answered == {atom} and tracked.marginals()[atom] == pytest.approx(before)
    with pytest.raises(InputError, match='not tracked'):
        tracked.answer({Atom('open', ('fridge_9',)): Answer('Yes')})


def test_it_is_a_function_of_what_it_was_told_and_not_of_the_order_of_objects():
    history = lived(3, 3)
    shuffled = HOME.parse_problem(TEXT.format(
        objects='sink_1 - object cabinet_2 cabinet_1 - container bowl_1 - movable'), 'p')
    found = []
    for problem in (PROBLEM, shuffled, PROBLEM):
        tracked = SampledBelief(estimator(problem=problem), HOME.model(problem),
                                FilterSettings(k=128))
        tracked.expect({a: PRIOR[a] for a in sorted(PRIOR, reverse=problem is shuffled)})
        told(tracked, history)
        found.append(tracked.marginals())
    assert found[0] == found[1] == found[2]


# --- what is in view, and hindsight --------------------------------------------------------------

SITUATIONS = Priors(
    start={'inside': {'++': 0.3, '-+': 0.4, '+-': 0.02, '--': 0.45}, 'open': {'+': 0.6, '-': 0.45},
           'holding': {'+': 0.05, '-': 0.05}, 'reachable': {'+': 0.1, '-': 0.1}},
    sights=(VisibilityRule(holds=('inside(?o, ?c)', 'open(?c)'), in_view=True, exceptions=0.02),
            VisibilityRule(holds=('inside(?o, ?c)', 'not open(?c)'), in_view=False,
                           exceptions=0.02)))
HELD = SITUATIONS.model_copy(update={'start': {**SITUATIONS.start,
                                               'holding': {'+': 0.3, '-': 0.05}}})
INSIDE = [Atom('inside', ('bowl_1', f'cabinet_{i}')) for i in (1, 2)]
OPEN = [Atom('open', (f'cabinet_{i}',)) for i in (1, 2)]


def looking(*visible, k=1500):
    """A belief at the first look."""
    found = SampledBelief(estimator(), MODEL, FilterSettings(k=k))
    found.observe('0')
    found.expect({a: SITUATIONS.in_situation(a, ''.join('+' if n in visible else '-'
                                                        for n in a.args)) for a in ATOMS}, visible)
    return found


def test_a_thing_seen_elsewhere_is_in_no_closed_cabinet():
    tracked = looking('cabinet_1')
    tracked.provide({OPEN[0]: False})
    before = tracked.marginals()[INSIDE[0]]
    tracked.act(Action('navigate-to', ('sink_1',)), FeedbackStatus.EXECUTED)
    tracked.observe('1')
    tracked.see(SITUATIONS, ('bowl_1', 'sink_1'))
    assert before > 0.18 and tracked.marginals()[INSIDE[0]] < 0.05


def test_a_thing_that_is_not_in_view_is_not_in_an_open_cabinet():
    tracked = looking('cabinet_1')
    tracked.provide({OPEN[0]: True})
    before = tracked.marginals()
    tracked.observe('1')
    tracked.see(SITUATIONS, ('cabinet_1',))
    after = tracked.marginals()
    assert before[INSIDE[0]] > 0.18 and after[INSIDE[0]] < 0.05
    assert after[INSIDE[1]] > before[INSIDE[1]]


def log_odds_of_the_start(tracked, atom):
    return float(tracked._history.prior[tracked._estimator.number[atom]])


def logit(p):
    return math.log(p / (1.0 - p))


def test_a_situation_counts_once_and_relative_to_one_out_of_view():
    tracked = looking('cabinet_1', k=64)
    expected = log_odds_of_the_start(tracked, INSIDE[0]) + logit(0.02) - logit(0.45)
    for image in ('1', '2'):
        tracked.observe(image)
        tracked.see(SITUATIONS, ('bowl_1',))
        assert log_odds_of_the_start(tracked, INSIDE[0]) == pytest.approx(expected)
    tracked.observe('3')
    tracked.see(SITUATIONS, ('cabinet_1',))  # as at the start
    assert log_odds_of_the_start(tracked, INSIDE[0]) == pytest.approx(expected)
    tracked.observe('4')
    tracked.see(SITUATIONS, ('bowl_1', 'cabinet_1'))
    assert log_odds_of_the_start(tracked, INSIDE[0]) == pytest.approx(
        expected + logit(0.3) - logit(0.45))


def test_a_closed_cabinet_is_no_less_likely_to_hide_a_thing_for_being_in_view():
    tracked = looking(k=64)
    before = log_odds_of_the_start(tracked, INSIDE[0])
    for image, visible in enumerate([('cabinet_1',), ('cabinet_1', 'sink_1'), ()]):
        tracked.observe(str(image))
        tracked.see(SITUATIONS, visible)
        assert log_odds_of_the_start(tracked, INSIDE[0]) == before


def test_a_situation_says_nothing_of_what_actions_may_have_changed():
    tracked = looking('bowl_1', k=64)
    tracked.act(Action('navigate-to', ('cabinet_1',)), FeedbackStatus.EXECUTED)
    tracked.act(Action('open-container', ('cabinet_1',)), FeedbackStatus.EXECUTED)
    tracked.observe('1')
    tracked.see(SITUATIONS, ('cabinet_1', 'cabinet_2'))
    assert log_odds_of_the_start(tracked, OPEN[0]) == pytest.approx(logit(0.45))
    assert log_odds_of_the_start(tracked, OPEN[1]) == pytest.approx(logit(0.6))


def test_what_comes_into_view_as_a_cabinet_is_opened_is_inside():
    tracked = looking('cabinet_1')
    tracked.provide({OPEN[0]: False})
    first, second = (log_odds_of_the_start(tracked, atom) for atom in INSIDE)
    for name in ('navigate-to', 'open-container'):
        tracked.act(Action(name, ('cabinet_1',)), FeedbackStatus.EXECUTED)
        tracked.observe(name)
        tracked.see(SITUATIONS, ('cabinet_1', 'bowl_1')[:1 + (name == 'open-container')])
    assert log_odds_of_the_start(tracked, INSIDE[0]) == first
    assert log_odds_of_the_start(tracked, INSIDE[1]) == pytest.approx(
        second + logit(0.02) - logit(0.45))
    assert tracked.marginals()[INSIDE[0]] > 0.9


def test_what_comes_into_view_as_a_cabinet_is_opened_is_no_likelier_to_be_held():
    """Unlike what comes into view from elsewhere."""
    found = []
    for name in ('open-container', 'navigate-to'):
        tracked = looking('cabinet_1', k=64)
        held = Atom('holding', ('bowl_1',))
        before = log_odds_of_the_start(tracked, held)
        tracked.observe('0')
        tracked.see(HELD, ('cabinet_1',))
        tracked.act(Action(name, ('cabinet_1',)), FeedbackStatus.EXECUTED)
        tracked.observe('1')
        tracked.see(HELD, ('cabinet_1', 'bowl_1'))
        found.append(log_odds_of_the_start(tracked, held) - before)
    assert found == pytest.approx([0.0, logit(0.3) - logit(0.05)])


def test_who_was_never_told_what_is_in_view_learns_nothing_from_situations():
    tracked = belief(64)
    before = log_odds_of_the_start(tracked, INSIDE[0])
    tracked.observe('1')
    tracked.see(SITUATIONS, ('bowl_1',))
    assert log_odds_of_the_start(tracked, INSIDE[0]) == before


def test_in_hindsight_an_answer_was_wrong():
    """What could be closed had been open: the "no" before was wrong, that after is right."""
    tracked = belief()
    told(tracked, [(OPEN[0], NO), (INSIDE[0], NO),
                   (Action('navigate-to', ('cabinet_1',)), FeedbackStatus.EXECUTED),
                   (Action('close-container', ('cabinet_1',)), FeedbackStatus.EXECUTED),
                   (OPEN[0], NO)])
    truths = tracked.truths() @ tracked.weights
    assert truths.shape == (3,) and truths[0] > 0.93 and truths[2] < 0.05
    assert 0.02 < truths[1] < 0.5
    tracked.observe('image 2')  # the same picture: its answer is no new one
    assert tracked.truths().shape == (3, len(tracked.weights))


@pytest.mark.parametrize('verdict', [YES, NO])
def test_the_same_again_hardly_speaks_against_what_was_said(verdict):
    """Rates of other models, hardly known: most do not see that something is open."""
    rates = dataclasses.replace(RATES, other=AnswerRates(0.3, 0.2, n_true=4.0, n_false=4.0))
    tracked = SampledBelief(estimator(rates), MODEL, FilterSettings(k=3000))
    tracked.expect(PRIOR)
    found = []
    for image in '012':
        tracked.observe(image)
        tracked.answer({OPEN[0]: Answer(verdict=verdict)})
        found.append(tracked.marginals()[OPEN[0]])
    if verdict is NO:
        found = [1.0 - p for p in found]
    assert found[0] > 0.5 and all(p > found[0] - 0.08 for p in found)


@pytest.mark.parametrize(('model', 'least'), [('', 0.15), ('a known one', 0.0)])
def test_a_model_of_which_nothing_is_known_may_be_of_another_kind(model, least):
    """Right about doors that are known to be open or closed: then it sees bowls, too."""
    rates = dataclasses.replace(RATES, model=model, domain=HOME.name if model else '',
                                other=AnswerRates(0.3, 0.2, n_true=4.0, n_false=4.0))
    found = []
    for right in (True, False):
        tracked = SampledBelief(estimator(rates), MODEL, FilterSettings(k=3000))
        tracked.expect(PRIOR)
        tracked.provide(dict(zip(OPEN, (True, False), strict=True)))
        tracked.observe('0')
        tracked.answer({atom: Answer(verdict=verdict if right else other) for atom, verdict, other
                        in zip(OPEN, (YES, NO), (NO, YES), strict=True)})
        tracked.answer({INSIDE[0]: Answer('Yes')})
        found.append(tracked.marginals()[INSIDE[0]])
    assert found[0] - found[1] == pytest.approx(least, abs=0.05) if not least else (
        found[0] > found[1] + least)


def test_an_answer_that_says_nothing_after_one_that_did_says_nothing_about_persistence():
    """Rates of yes differ by value, those of unreadable answers do not."""
    rates = dataclasses.replace(RATES, other=AnswerRates(0.3, 0.2, n_true=50.0, n_false=50.0,
                                                         repeat=0.63))
    tracked = SampledBelief(estimator(rates), MODEL, FilterSettings(k=1500))
    tracked.expect(PRIOR)
    opened = Atom('open', ('cabinet_1',))
    tracked.observe('0')
    tracked.answer({opened: Answer('No')})
    before = tracked.marginals()[opened]
    for image in '1234':
        tracked.observe(image)
        tracked.answer({opened: Answer('Unknown')})
    assert tracked.marginals()[opened] == pytest.approx(before, abs=0.06)


@pytest.mark.parametrize('acted', [False, True])
def test_other_rates_may_be_taken_before_the_first_answer(acted):
    """Also where an action came before it."""
    generic, known = (AnswerRates(0.5, 0.5, n_true=20.0, n_false=20.0),
                      AnswerRates(0.99, 0.01, n_true=100.0, n_false=100.0))
    tracked = SampledBelief(estimator(dataclasses.replace(RATES, other=generic)), MODEL,
                            FilterSettings(k=1500))
    tracked.expect(PRIOR)
    if acted:
        tracked.observe('0')
        tracked.act(Action('navigate-to', ('sink_1',)), FeedbackStatus.EXECUTED)
    tracked.use_rates(estimator(dataclasses.replace(RATES, other=known)))
    tracked.observe('1')
    tracked.answer({INSIDE[0]: Answer('Yes')})
    assert tracked.marginals()[INSIDE[0]] > 0.9
