"""Beliefs over arrangements, against brute force and exact enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.model import Answer, Atom, Verdict
from sightplan_belief.arrangement import ArrangementBelief, Structure, k_best, structure_of
from sightplan_belief.constraints import read_constraints
from sightplan_belief.observation_model import ObservationModel

STRUCTURE = Structure('at', 'empty', ('r', 'g'), ('a1', 'b1', 'a2', 'b2'))
ALL = list(itertools.permutations(range(4), 2))
UP = (2, 3, None, None)
"""Where a thing goes from each of the four cells."""


def belief():
    return ArrangementBelief(STRUCTURE, ObservationModel.default())


def exact(weights):
    """Normalised, by arrangement."""
    total = sum(weights.values())
    return {placement: weight / total for placement, weight in weights.items()}


def by_table(table):
    return exact({p: math.exp(sum(table[row, place] for row, place in enumerate(p)))
                  for p in ALL})


def close(found, wanted, tolerance=1e-6):
    found = dict(found)
    assert max(abs(found.get(p, 0.0) - weight) for p, weight in wanted.items()) < tolerance


tables = st.integers(1, 4).flatmap(lambda n: st.integers(n, 5).flatmap(lambda m: st.lists(
    st.integers(-50, 0), min_size=n * m, max_size=n * m).map(
        lambda values: np.array(values, float).reshape(n, m))))


@settings(max_examples=60, deadline=None)
@given(tables, st.integers(1, 40))
def test_k_best_is_brute_force(table, count):
    n, m = table.shape
    scores = sorted((sum(table[row, c] for row, c in enumerate(p))
                     for p in itertools.permutations(range(m), n)), reverse=True)
    found = k_best(table, count)
    assert [score for _, score in found] == pytest.approx(scores[:count])
    assert len({p for p, _ in found}) == len(found)
    for placement, score in found:
        assert len(set(placement)) == n
        assert score == pytest.approx(sum(table[row, c] for row, c in enumerate(placement)))


@pytest.mark.parametrize(('name', 'split', 'is_one'), [
    ('sliding', 'geoms', True), ('sliding', 'tiles', True), ('blocksworld', 'simple', False),
    ('household', 'simple', False)])
def test_structures(name, split, is_one):
    domain = load_domain(name)
    problem = domain.split_problems(split)[0]
    found = structure_of(domain, problem, read_constraints(domain))
    assert (found is not None) is is_one
    if found is not None:
        where = dict(atom.args for atom in problem.init if atom.predicate == 'at')
        placement = tuple(found.places.index(where[thing]) for thing in found.things)
        assert found.state(placement) == problem.init - problem.known


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from(
    [Verdict.YES, Verdict.NO, Verdict.UNKNOWN])), max_size=8, unique_by=lambda x: x[:2]))
def test_answers_about_one_picture_are_bayes(given_answers):
    found, rates = belief(), ObservationModel.default()
    atoms = [Atom('at', (STRUCTURE.things[t], STRUCTURE.places[c])) for t, c, _ in given_answers]
    found.answer({atom: Answer(verdict=verdict) for atom, (_, _, verdict) in zip(
        atoms, given_answers, strict=True)})
    weights = {}
    for placement in ALL:
        log = 0.0
        for thing in range(2):
            mine = [(c, v) for t, c, v in given_answers if t == thing]
            if any(v.says is not None for _, v in mine):
                log += sum(rates.log_likelihoods('at', Answer(verdict=v))[placement[thing] == c]
                           for c, v in mine)
        weights[placement] = math.exp(log)
    close(found.best(len(ALL)), exact(weights))


def test_a_repeated_row_counts_less_than_a_new_one():
    once, twice = belief(), belief()
    row = {Atom('at', ('r', place)): Answer('Yes' if place == 'a1' else 'No')
           for place in STRUCTURE.places}
    once.answer(row)
    twice.answer(row)
    first = twice.table.copy()
    twice.answer(row)
    gained = twice.table[0, 0] - twice.table[0, 1] - (first[0, 0] - first[0, 1])
    assert 0.0 < gained < first[0, 0] - first[0, 1]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-4.0, 0.0), min_size=8, max_size=8), st.floats(0.0, 0.5))
def test_a_refusal_of_one_known_thing_is_bayes(values, legal):
    found = belief()
    found.table[:] = np.array(values).reshape(2, 4)
    found.table[1] = (0.0, -30.0, -30.0, -30.0)  # the other one is known to be at a1
    prior = by_table(found.table)
    found.refused(0, UP, max(legal, 0.01))
    wanted = exact({p: w * (max(legal, 0.01) if UP[p[0]] not in (None, p[1]) else 1.0)
                    for p, w in prior.items()})
    close(found.best(len(ALL)), wanted, 1e-4)


@given(st.sampled_from(ALL), st.floats(0.0, 0.999))
def test_an_excluded_arrangement_weighs_less(placement, probability):
    found = belief()
    found.exclude(placement, probability)
    close(found.best(len(ALL)), exact(
        {p: 1.0 - probability if p == placement else 1.0 for p in ALL}))


def test_a_certain_move_is_carried_out():
    found = belief()
    found.table[:] = ((0, -30, -30, -30), (-30, 0, -30, -30))
    found.move(0, UP, 0.999)
    assert found.best(1)[0][0] == (2, 1)


def test_nobody_else_is_where_a_thing_has_left():
    found = belief()
    found.table[:] = ((0, -30, -30, -30), (0, 0, -30, -30))  # r at a1, hence g at b1
    assert found.best(1)[0] == ((0, 1), pytest.approx(1.0))
    found.move(0, UP, 0.999)
    assert dict(found.best(12)).get((2, 1), 0.0) > 0.9


def test_a_thing_that_was_moved_was_not_where_it_could_not_be_moved():
    found = belief()
    found.table[:] = ((-30, -30, 0, -30), (-30, 0, -30, -30))
    found.table[0, 0] = -3.0
    found.move(0, UP, 0.9)  # from a2 there is no way up: it was at a1, and stays with 0.1
    assert dict(found.best(12)).get((0, 1), 0.0) == pytest.approx(0.1, abs=5e-3)


def test_an_answer_about_an_empty_place_is_bayes():
    found, rates = belief(), ObservationModel.default()
    found.answer({Atom('empty', ('a1',)): Answer('Yes')})
    false, true = rates.log_likelihoods('empty', Answer('Yes'))
    close(found.best(12), exact({p: math.exp(false if 0 in p else true) for p in ALL}))


def test_the_best_two_weigh_the_same_whatever_was_wanted_before():
    one, other = belief(), belief()
    other.best(12)
    assert [w for _, w in one.best(2)] == pytest.approx([w for _, w in other.best(2)])


def test_many_excluded_arrangements_do_not_hide_the_next_one():
    found = belief()
    found.table[0] = (0.0, -0.1, -0.2, -0.3)
    ranked = [p for p, _ in found.best(12)]
    for placement in ranked[:4]:
        found.exclude(placement, 1.0)
    assert found.best(1)[0][0] == ranked[4]
