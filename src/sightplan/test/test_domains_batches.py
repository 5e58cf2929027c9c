"""What actions do in many states at once, against one state at a time."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.domains.batches import BatchModel
from sightplan.model import Atom, Literal

HOME, BLOCKS = load_domain('household'), load_domain('blocksworld')
PROBLEMS = (
    (HOME, HOME.parse_problem("""(define (problem p) (:domain household)
      (:objects bowl_1 cup_1 - movable cabinet_1 box_1 - container table_1 - object)
      (:init) (:goal (and (inside bowl_1 cabinet_1))))""", 'p')),
    (BLOCKS, BLOCKS.parse_problem("""(define (problem p) (:domain blocksworld)
      (:objects r g b - block c1 c2 c3 - column)
      (:init (leftof c1 c2) (leftof c2 c3) (rightof c2 c1) (rightof c3 c2))
      (:goal (and (on r g))))""", 'p')))


@functools.cache
def models(number):
    domain, problem = PROBLEMS[number]
    return domain.model(problem), domain.worth_asking(problem)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_many_states_behave_as_single_ones(data):
    """Conditions, effects in chosen states, literals; atoms without a column are false."""
    single, every = models(data.draw(st.sampled_from(range(len(PROBLEMS))), 'problem'))
    atoms = [a for a in every if data.draw(st.integers(0, 9), 'column')]
    density = data.draw(st.floats(0.0, 1.0), 'density')
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), 'seed'))
    values = rng.random((8, len(atoms))) < density
    where = None if data.draw(st.booleans(), 'everywhere') else rng.random(8) < 0.5
    states = [frozenset(a for a, v in zip(atoms, row, strict=True) if v) for row in values]
    batch = BatchModel(single, atoms)
    kept = values.copy()
    for number in rng.choice(len(single.actions), 6):
        action = single.actions[number]
        assert batch.applicable(action, values).tolist() == [
            single.applicable(action, state) for state in states]
        after = batch.effects(action, values, where)
        for place, (state, row) in enumerate(zip(states, after, strict=True)):
            effects = single.effects(action, state) if where is None or where[place] else {}
            expected = state - effects.keys() | {a for a, v in effects.items() if v}
            assert expected & set(atoms) == {a for a, v in zip(atoms, row, strict=True) if v}
        changed = np.flatnonzero((after != values).any(axis=0))
        assert set(changed) <= set(batch.may_set(action))
    literals = [Literal(every[i], bool(rng.random() < 0.5)) for i in rng.choice(len(every), 3)]
    found = [all(literal.holds_in(state) for literal in literals) for state in states]
    assert batch.holds(literals, values).tolist() == found
    assert batch.test(literals)(values).tolist() == found
    assert (values == kept).all()


@pytest.mark.parametrize('number', range(len(PROBLEMS)))
def test_what_an_action_may_set_is_what_it_sets_somewhere(number):
    single, atoms = models(number)
    batch, rng = BatchModel(single, atoms), np.random.default_rng(1)
    values = rng.random((256, len(atoms))) < rng.random((256, 1))
    for action in single.actions[::7]:
        after = batch.effects(action, values)
        set_somewhere = set(np.flatnonzero((after != values).any(axis=0)))
        assert set_somewhere <= set(batch.may_set(action))
        for predicate in {atom.predicate for atom in atoms}:
            for value in (False, True):
                columns = batch.set_by(action, predicate, value)
                assert all(atoms[c].predicate == predicate for c in columns)
                assert set(columns) >= {c for c in np.flatnonzero(
                    ((after == value) & (values != value)).any(axis=0))
                    if atoms[c].predicate == predicate}


def test_problems_with_the_same_objects_share_what_is_grounded():
    problem = PROBLEMS[1][1]
    model = BLOCKS.model(problem)
    assert BLOCKS.model(replace(problem, init=frozenset(), goal=())) is model
    fewer = {name: kind for name, kind in problem.objects.items() if name != 'g'}
    other = replace(problem, objects=fewer, known=frozenset())
    assert len(BLOCKS.model(other).actions) < len(model.actions)
    known = frozenset({Atom('leftof', ('c1', 'c2'))})
    assert BLOCKS.model(replace(problem, known=known)) is not model
