"""What plans promise: the world's refusals tell states apart, within a budget."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from doubles import BoobyTrap
from sightplan.agent import make_policy
from sightplan.domains import load_domain
from sightplan.model import Action
from sightplan_belief.methods._plan_values import PlanEvaluator

HOME = load_domain('household')
PROBLEM = HOME.parse_problem(
    '(define (problem p) (:domain household) (:objects door_1 door_2 - container) (:init) '
    '(:goal (and (not (open door_1)) (not (open door_2)))))', 'p')
MODEL = HOME.model(PROBLEM)


def state(*doors):
    """Some doors are open; both are in reach."""
    names = {str(a): a for a in MODEL.atoms}
    return frozenset([names['reachable door_1'], names['reachable door_2'],
                      *(names[f'open door_{n}'] for n in doors)])


def close(number):
    return Action('close-container', (f'door_{number}',))


def plan(start):
    """A shortest plan: close what is open."""
    return tuple(close(n) for n in (1, 2) if any(
        a.predicate == 'open' and a.args == (f'door_{n}',) for a in start))


def prospect(success=1.0, **settings):
    return PlanEvaluator(MODEL, PROBLEM, plan, lambda action: success, **settings)


def test_a_refusal_tells_and_the_value_is_that_of_both_branches():
    beliefs = {state(1): 0.5, state(2): 0.3, state(): 0.2}
    found = prospect().best(beliefs, budget=2)
    assert found.value == pytest.approx(1.0)
    assert found.plan[0] in (close(1), close(2))


@pytest.mark.parametrize(('budget', 'value'), [(0, 0.2), (1, 0.7), (2, 1.0)])
def test_no_more_is_promised_than_the_budget_allows_for(budget, value):
    beliefs = {state(1): 0.5, state(2): 0.3, state(): 0.2}
    assert prospect().best(beliefs, budget).value == pytest.approx(value)


def test_to_end_is_best_where_acting_gains_less_than_it_is_worth():
    assert not prospect(worth=0.05).best({state(): 0.96, state(1): 0.04}, 5).plan
    assert prospect(worth=0.03).best({state(): 0.96, state(1): 0.04}, 5).plan == (close(1),)


def test_what_was_refused_is_no_beginning():
    found = prospect().best({state(1): 0.6, state(1, 2): 0.4}, 3, frozenset([close(1)]))
    assert found.plan[:1] != (close(1),)


def test_an_action_that_may_come_to_nothing_promises_less():
    assert prospect(0.9).best({state(1): 1.0}, 1).value == pytest.approx(0.9)


@pytest.mark.parametrize('sampled', [60, 256])
def test_plans_are_judged_on_states_whose_probabilities_add_up(sampled):
    """A third of them, wherever they stand in the sample, have something left to do."""
    states = [frozenset([('state', number)]) for number in range(sampled)]
    policy = make_policy('belief', {}, BoobyTrap())
    policy._filter = SimpleNamespace(states=states, weights=np.full(sampled, 1.0 / sampled))
    likely = policy._likely()
    assert sum(likely.values()) == pytest.approx(1.0)
    for third in range(3):
        low, high = third * sampled / 3, (third + 1) * sampled / 3
        inside = sum(p for s, p in likely.items() for _, n in s if low <= n < high)
        assert inside == pytest.approx(1 / 3, abs=0.06)


def test_of_likely_states_none_is_left_out():
    policy = make_policy('belief', {}, BoobyTrap())
    states = [frozenset([number]) for number in range(100)]
    policy._filter = SimpleNamespace(states=states, weights=np.array([0.5 / 99] * 99 + [0.5]))
    likely = policy._likely()
    assert max(likely, key=likely.get) == states[-1]
