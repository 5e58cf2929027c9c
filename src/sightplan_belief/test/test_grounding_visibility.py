"""What it tells that a thing is in view, or is not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pydantic import ValidationError

from sightplan.domains import load_domain
from sightplan.domains.batches import BatchModel
from sightplan.model import Action, Atom
from sightplan_belief.visibility import Visibility, VisibilityRule, cases_of

HOME = load_domain('household')
PROBLEM = HOME.parse_problem("""(define (problem p) (:domain household)
  (:objects bowl_1 - movable cabinet_1 cabinet_2 - container)
  (:init) (:goal (and (inside bowl_1 cabinet_2))))""", 'p')
INSIDE = {i: Atom('inside', ('bowl_1', f'cabinet_{i}')) for i in (1, 2)}
OPEN = {i: Atom('open', (f'cabinet_{i}',)) for i in (1, 2)}
ATOMS = (*INSIDE.values(), *OPEN.values())
SHOWN = VisibilityRule(holds=('inside(?o, ?c)', 'open(?c)'), in_view=True, exceptions=0.1)
HIDDEN = VisibilityRule(holds=('inside(?o, ?c)', 'not open(?c)'), in_view=False, exceptions=0.05)


def sights(*rules):
    return Visibility(rules, ATOMS, BatchModel(HOME.model(PROBLEM), ATOMS))


def row(*atoms):
    return [atom in atoms for atom in ATOMS]


def test_a_rule_is_about_each_atom_of_its_first_literal():
    found = cases_of(SHOWN, ATOMS)
    assert [(case.thing, case.others) for case in found] == [
        ('bowl_1', {'cabinet_1'}), ('bowl_1', {'cabinet_2'})]
    assert [[literal.atom for literal in case.literals] for case in found] == [
        [INSIDE[1], OPEN[1]], [INSIDE[2], OPEN[2]]]
    assert cases_of(SHOWN, [INSIDE[1], OPEN[2]]) == []  # the door in question is not tracked


def test_a_rule_speaks_only_where_one_would_see_it():
    """Whoever does not see the cabinet cannot miss the bowl in it."""
    [shown, _], [hidden, _] = cases_of(SHOWN, ATOMS), cases_of(HIDDEN, ATOMS)
    state = frozenset({INSIDE[1], OPEN[1]})
    assert shown.applies(state, {'cabinet_1'}) and not shown.applies(state, {'cabinet_2'})
    assert not shown.applies(frozenset({INSIDE[1]}), {'cabinet_1'})
    assert hidden.applies(frozenset({INSIDE[1]}), ()) and not hidden.applies(state, ())


def test_an_exception_costs_its_log_probability_once():
    """(looks, states, atoms): what is missing in an open cabinet, at the second look again."""
    found = sights(SHOWN, HIDDEN)
    states = np.array([row(INSIDE[1], OPEN[1]), row(INSIDE[1]), row(INSIDE[2], OPEN[2]), row()])
    found.see(0, {'cabinet_1'})
    cost = -math.log(0.1)
    assert found.costs(states[None]) == pytest.approx([cost, 0.0, 0.0, 0.0])
    found.see(1, {'cabinet_1', 'cabinet_2'})
    assert found.costs(np.stack([states, states])) == pytest.approx([cost, 0.0, cost, 0.0])
    found.see(2, {'bowl_1', 'cabinet_1'})
    assert found.costs(np.stack([states] * 3)) == pytest.approx(
        [cost, -math.log(0.05), cost, 0.0])


def test_it_says_what_may_hide_a_thing():
    assert sights(SHOWN, HIDDEN).hidden_by == {INSIDE[1]: [OPEN[1]], INSIDE[2]: [OPEN[2]]}
    assert sights(SHOWN).hidden_by == {}


def test_what_is_as_the_rules_say_costs_nothing():
    found = sights(SHOWN, HIDDEN)
    found.see(0, {'bowl_1', 'cabinet_1', 'cabinet_2'})
    assert found.costs(np.array([[row(INSIDE[1], OPEN[1]), row()]])) == pytest.approx([0.0, 0.0])


def doors(*names):
    return [Action(f'{name}-container', ('cabinet_1',)) for name in names]


@pytest.mark.parametrize(('name', 'opened'), [('open', True), ('close', False)])
def test_what_a_door_brings_into_view_or_out_of_it_is_behind_it(name, opened):
    """Wherever else it may be: it would be in view, or not, with the door open and closed."""
    found = sights(HIDDEN)
    found.see(0, {'cabinet_1'} if opened else {'cabinet_1', 'bowl_1'})
    for action in doors(name):
        found.act(action)
    found.see(1, {'cabinet_1', 'bowl_1'} if opened else {'cabinet_1'})
    closed = [row(INSIDE[1]), row(), row(INSIDE[2], OPEN[2])]
    open_ = [row(INSIDE[1], OPEN[1]), row(OPEN[1]), row(INSIDE[2], OPEN[2], OPEN[1])]
    cost = -math.log(0.05)
    assert found.uncovered == {'bowl_1'}
    assert found.costs(np.array([closed, open_] if opened else [open_, closed])) == pytest.approx(
        [0.0, cost, cost])


@pytest.mark.parametrize('actions', [
    (), doors('open', 'close'), [Action('navigate-to', ('cabinet_1',))]])
def test_who_may_have_looked_from_elsewhere_learns_nothing_from_a_door(actions):
    found = sights(HIDDEN)
    found.see(0, {'cabinet_1'})
    for action in actions:
        found.act(action)
    found.see(1, {'cabinet_1', 'bowl_1'})
    assert found.uncovered == set()
    assert found.costs(np.array([[row()], [row(OPEN[1])]])) == pytest.approx([0.0])


def test_what_a_door_shows_again_and_again_counts_once():
    found, opened, shut = sights(HIDDEN), {'cabinet_1', 'bowl_1'}, {'cabinet_1'}
    found.see(0, shut)
    for look, (action, visible) in enumerate(
            zip(doors('open', 'close', 'open'), (opened, shut, opened), strict=True), 1):
        found.act(action)
        found.see(look, visible)
    states = np.array([[row(), row(INSIDE[1])], [row(OPEN[1]), row(INSIDE[1], OPEN[1])]] * 2)
    assert found.costs(states) == pytest.approx([-math.log(0.05), 0.0])


def test_no_rule_is_trusted_without_limit():
    [case, _] = cases_of(SHOWN.model_copy(update={'exceptions': 1e-6}), ATOMS)
    assert case.cost == pytest.approx(-math.log(0.02))


@pytest.mark.parametrize('change', [{'holds': ()}, {'exceptions': 0.0}, {'exceptions': 1.0},
                                    {'hidden': True}])
def test_what_is_no_rule_is_refused(change):
    with pytest.raises(ValidationError):
        VisibilityRule(**{**SHOWN.model_dump(), **change})


def test_a_literal_that_cannot_be_read_is_named():
    with pytest.raises(ValueError, match='not a literal such as'):
        cases_of(SHOWN.model_copy(update={'holds': ('inside(?o',)}), ATOMS)
