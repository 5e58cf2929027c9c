"""The shipped error rates of simulated planners are those that the script fits."""

from __future__ import annotations

import random

import pytest

import planner_rates
from sightplan.runs import load_suite
from sightplan_models._planner_rates import DEFAULT, EMPTY, bundled


def simulated(error: float, length: int, budget: int, empty: float, seed: int) -> float:
    """Success of many episodes that are played out, by the rules in words."""
    rng, solved = random.Random(seed), 0
    for _ in range(20_000):
        left, stuck = length, False
        for _ in range(budget):
            if stuck and rng.random() < planner_rates.REPEAT:
                continue
            stuck = rng.random() < error
            if stuck and rng.random() < empty:
                break
            left -= not stuck
            if not left:
                solved += 1
                break
    return solved / 20_000


@pytest.mark.parametrize(('error', 'length', 'budget', 'empty'), [
    (0.2, 4, 10, 0.0), (0.4, 3, 10, 0.1), (0.1, 13, 30, 0.02), (0.7, 5, 20, 0.3)])
def test_the_probability_of_success_is_that_of_episodes_played_out(error, length, budget, empty):
    assert planner_rates.success(error, length, budget, planner_rates.REPEAT, empty) == (
        pytest.approx(simulated(error, length, budget, empty, 0), abs=0.012))


def test_no_error_always_succeeds_and_only_errors_never():
    assert planner_rates.success(0.0, 4, 10, .9, .1) == pytest.approx(1.0)
    assert planner_rates.success(0.0, 11, 10, .9, .1) == 0.0
    assert planner_rates.success(1.0, 1, 10, .9, .1) == pytest.approx(0.0)


@pytest.mark.parametrize(('model', 'domain', 'method', 'split'), [
    ('InternVL3 78B', 'blocksworld', 'plan', 'simple'),
    ('Gemma-3 27B', 'household', 'action_cot', 'medium'),
    ('Qwen3-VL 32B', 'household', 'plan', 'hard')])
def test_shipped_rates_give_the_published_success(model, domain, method, split):
    suite = load_suite('viplan')
    row = suite.published.find(model, 'solved', domain=domain, method=method, split=split,
                               failure_probability=0.0)
    rates = bundled()
    shares = rates.shares.get(model, rates.shares[DEFAULT])
    lengths = planner_rates.plan_lengths(domain, split)
    budget = {'simple': 10, 'medium': 20, 'hard': 30}[split]  # the paper's, for planners
    error = rates.models[model][domain][method][split]
    mean = sum(planner_rates.success(error, length, budget, rates.repeat, shares[EMPTY])
               for length in lengths) / len(lengths)
    assert mean == pytest.approx(max(row.value, .02), abs=2e-3)
    assert error == planner_rates.fitted(row.value, lengths, budget, shares)


def test_every_published_model_and_method_has_rates():
    suite, rates = load_suite('viplan'), bundled()
    for model in suite.published.models:
        for domain in suite.domains:
            for method in planner_rates.METHODS:
                row = suite.published.find(model, 'solved', domain=domain, method=method,
                                           split='simple', failure_probability=0.0)
                assert (method in rates.models.get(model, {}).get(domain, {})) is bool(
                    row and row.n), (model, domain, method)
