"""Ground actions and their effects, against two independent references."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unified_planning.engines.sequential_simulator import UPSequentialSimulator
from unified_planning.io import PDDLReader

from sightplan.domains import InstantiatedModel, load_domain
from sightplan.domains.blocksworld.generator import facts_of
from sightplan.domains.problem_files import write
from sightplan.domains.schema import read_schema
from sightplan.model import Action, Atom, InputError, Literal, Problem, ProblemError

pytestmark = pytest.mark.filterwarnings('ignore::DeprecationWarning:unified_planning')
DOMAIN = load_domain('blocksworld')
READER = PDDLReader()
BLOCKS = 'rgby'
COLUMNS = ('c1', 'c2', 'c3')


def blocks_problem(init=frozenset()) -> Problem:
    return Problem('p', 'blocksworld',
                   {**dict.fromkeys(BLOCKS, 'block'), **dict.fromkeys(COLUMNS, 'column')},
                   frozenset(init), (Literal(Atom('clear', ('r',))),), DOMAIN.pddl)


MODEL = InstantiatedModel(blocks_problem())

stacks = st.permutations(BLOCKS).flatmap(
    lambda order: st.lists(st.integers(0, len(COLUMNS) - 1), min_size=len(order),
                           max_size=len(order)).map(
        lambda homes: tuple(tuple(b for b, home in zip(order, homes, strict=True) if home == i)
                            for i in range(len(COLUMNS)))))


def test_atoms_are_counted_as_in_the_paper() -> None:
    counts = [len(DOMAIN.model(DOMAIN.split_problems(split)[0]).atoms)
              for split in ('simple', 'medium', 'hard')]
    assert counts == [56, 105, 98]
    assert Atom('on', ('r', 'r')) in MODEL.atoms
    assert len(MODEL.actions) == len(BLOCKS) * len(COLUMNS)


@settings(deadline=None)
@given(stacks, st.sampled_from(MODEL.actions))
def test_moves_on_stacks(config, action: Action) -> None:
    """What PDDL says is what hands would do."""
    block, column = action.args
    state = facts_of(config, COLUMNS)
    source = next(i for i, stack in enumerate(config) if block in stack)
    target = COLUMNS.index(column)
    legal = config[source][-1] == block and source != target
    assert MODEL.applicable(action, state) is legal
    if not legal:
        with pytest.raises(InputError, match='not applicable'):
            MODEL.apply(action, state)
        return
    moved = list(config)
    moved[source] = moved[source][:-1]
    moved[target] += (block,)
    assert MODEL.apply(action, state) == facts_of(moved, COLUMNS)


def test_effects_are_those_of_the_state_before_the_action() -> None:
    state = facts_of((('r', 'g'), ('b', 'y'), ()), COLUMNS)
    assert MODEL.effects(Action.parse('moveblock(g, c2)'), state) == {
        Atom.parse('incolumn g,c2'): True, Atom.parse('clear g'): True,
        Atom.parse('on g,y'): True, Atom.parse('clear y'): False,
        Atom.parse('incolumn g,c1'): False, Atom.parse('on g,r'): False,
        Atom.parse('clear r'): True}
    assert MODEL.effects(Action.parse('moveblock(g, c3)'), state) == {
        Atom.parse('incolumn g,c3'): True, Atom.parse('clear g'): True,
        Atom.parse('incolumn g,c1'): False, Atom.parse('on g,r'): False,
        Atom.parse('clear r'): True}


def test_preconditions_are_in_the_order_of_the_file() -> None:
    assert MODEL.preconditions(Action.parse('moveblock(g, c2)')) == (
        Literal(Atom.parse('clear g')), Literal(Atom.parse('incolumn g,c2'), False))


@pytest.mark.parametrize(('text', 'words'), [
    ('lift(r)', 'unknown action'), ('moveblock(r)', 'takes 2 arguments'),
    ('moveblock(r, c9)', 'c9 is unknown'), ('moveblock(c1, c2)', 'c1 is of another type')])
def test_unknown_actions_are_refused_with_a_reason(text: str, words: str) -> None:
    action = Action.parse(text)
    for call in (MODEL.check, MODEL.preconditions, lambda a: MODEL.effects(a, frozenset()),
                 lambda a: MODEL.applicable(a, frozenset()),
                 lambda a: MODEL.apply(a, frozenset())):
        with pytest.raises(InputError, match=words):
            call(action)


def test_what_is_added_and_deleted_at_once_is_added() -> None:
    """PDDL's rule; it takes an impossible belief (r is on g in another column) to need it."""
    state = frozenset(map(Atom.parse, (
        'on r,g', 'clear r', 'clear g', 'incolumn r,c1', 'incolumn g,c2')))
    values = MODEL.effects(Action.parse('moveblock(r, c2)'), state)
    assert values[Atom.parse('on r,g')] is True and values[Atom.parse('clear g')] is True


def _conflict(state, action: Action) -> bool:
    """Whether an action adds and deletes the same atom, which unified-planning refuses."""
    block, column = action.args
    below = {a.args[1] for a in state if a.predicate == 'on' and a.args[0] == block}
    tops = {a.args[0] for a in state if a.predicate == 'incolumn' and a.args[1] == column
            and Atom('clear', (a.args[0],)) in state}
    return bool(below & (tops | {block}))


@settings(max_examples=15, deadline=None)
@given(st.sets(st.sampled_from(MODEL.atoms), max_size=25).map(frozenset))
def test_agrees_with_unified_planning_in_any_state(state) -> None:
    """Also in states that no real stack can be in: beliefs can be that wrong."""
    problem = READER.parse_problem_string(
        DOMAIN.pddl, DOMAIN.write_problem(blocks_problem(state)))
    with UPSequentialSimulator(problem) as simulator:
        before = simulator.get_initial_state()
        for action in MODEL.actions:
            if _conflict(state, action):
                continue
            schema = problem.action(action.name)
            args = tuple(problem.object(name) for name in action.args)
            assert simulator.is_applicable(before, schema, args) is MODEL.applicable(action, state)
            if MODEL.applicable(action, state):
                after = simulator.apply(before, schema, args)
                true = {atom for atom in MODEL.atoms if after.get_value(
                    problem.fluent(atom.predicate)(*map(problem.object, atom.args))).is_true()}
                assert MODEL.apply(action, state) == true


ADL = """
(define (domain adl)
  (:requirements :adl)
  (:types box tool - thing  crate - box)
  (:constants hammer - tool)
  (:predicates (open ?b - box) (in ?t - thing ?b - box) (held ?t - thing) (lit))
  (:action toggle
    :parameters (?b - box ?t - tool)
    :precondition (and (held ?t) (forall (?o - box) (or (= ?o ?b) (not (open ?o))))
                       (exists (?x - thing) (in ?x ?b)) (imply (lit) (open ?b)))
    :effect (and (when (open ?b) (not (open ?b))) (when (not (open ?b)) (open ?b))
                 (forall (?x - thing) (when (and (in ?x ?b) (not (= ?x ?t)))
                                            (and (held ?x) (not (held ?t)))))))
  (:action rest :parameters () :precondition () :effect (and (lit))))
"""


def adl_problem() -> Problem:
    objects = {'b1': 'box', 'k': 'crate', 't': 'tool'}
    return Problem('p', 'adl', objects, frozenset(), (), ADL)


ADL_MODEL = InstantiatedModel(adl_problem())


def test_types_constants_and_quantifiers() -> None:
    assert [str(a) for a in ADL_MODEL.atoms if a.predicate in ('open', 'lit', 'held')] == [
        'open b1', 'open k', 'held hammer', 'held b1', 'held k', 'held t', 'lit']
    assert [str(a) for a in ADL_MODEL.actions] == [
        'toggle(b1, hammer)', 'toggle(b1, t)', 'toggle(k, hammer)', 'toggle(k, t)', 'rest()']
    assert ADL_MODEL.preconditions(Action.parse('rest()')) == ()
    # Equality decides the universal part; the existential part and the implication stay open.
    assert [str(x) for x in ADL_MODEL.preconditions(Action.parse('toggle(k, t)'))] == [
        'held t', 'not open b1']


@settings(max_examples=15, deadline=None)
@given(st.sets(st.sampled_from(ADL_MODEL.atoms)).map(frozenset))
def test_adl_agrees_with_unified_planning(state) -> None:
    text = write(read_schema(ADL), adl_problem(), state)
    problem = READER.parse_problem_string(ADL, text)
    with UPSequentialSimulator(problem) as simulator:
        before = simulator.get_initial_state()
        for action in ADL_MODEL.actions:
            schema = problem.action(action.name)
            args = tuple(problem.object(name) for name in action.args)
            assert simulator.is_applicable(before, schema, args) is ADL_MODEL.applicable(
                action, state)
            if ADL_MODEL.applicable(action, state):
                after = simulator.apply(before, schema, args)
                true = {atom for atom in ADL_MODEL.atoms if after.get_value(
                    problem.fluent(atom.predicate)(*map(problem.object, atom.args))).is_true()}
                assert ADL_MODEL.apply(action, state) == true


ADDING = """
(define (domain adding) (:requirements :adl) (:types thing)
  (:constants lid - thing)
  (:predicates (on ?a - thing ?b - thing) (lit ?a - thing) (never ?a - thing) (done))
  (:action move :parameters (?a ?b - thing)
    :effect (and (on ?a ?b) (not (never ?b)) (when (= ?b lid) (lit ?a))
                 (when (and (= ?a lid) (not (= ?a lid))) (never ?a))
                 (forall (?c - thing) (when (not (= ?c ?a)) (on ?c lid))))))
"""


@pytest.mark.parametrize('name', ['blocksworld', 'household', 'sliding', 'tabletop', 'adding'])
def test_atoms_that_can_be_added_are_found_without_actions(name: str) -> None:
    if name == 'adding':
        problem = Problem('p', name, {'x': 'thing', 'y': 'thing'}, frozenset(), (), ADDING)
    else:
        domain = load_domain(name)
        problem = domain.split_problems(domain.splits[0])[0]
    model = InstantiatedModel(problem)
    found = model.added_atoms()
    assert not {'actions', 'atoms'} & set(vars(model))
    assert found == {atom for action in model.actions
                     for atom, value, _ in model.ground(action).effects if value}


def test_so_many_actions_that_nobody_can_list_them_are_refused() -> None:
    domain = """
(define (domain shelf) (:requirements :strips) (:predicates (at ?x ?y) (next ?a ?b ?c ?d))
  (:action drive :parameters (?t ?f ?to ?c) :precondition (at ?t ?f)
    :effect (and (at ?t ?to) (not (at ?t ?f)))))
"""
    model = InstantiatedModel(Problem('p', 'shelf', {f'o{number}': 'object' for number in range(
        30)}, frozenset(), (), domain))
    drive = Action.parse('drive(o0, o1, o2, o3)')
    assert model.apply(drive, frozenset({Atom('at', ('o0', 'o1'))})) == {Atom('at', ('o0', 'o2'))}
    with pytest.raises(InputError, match='810,000 actions, 810,000 of them of drive.*types'):
        _ = model.actions
    with pytest.raises(InputError, match='810,900 atoms, 810,000 of them of next'):
        _ = model.atoms
    with pytest.raises(InputError, match='o99 is unknown'):
        model.check(Action.parse('drive(o0, o1, o2, o99)'))


@pytest.mark.parametrize('text', ['on r,g', 'on(r, g)', 'On(R,g)'])
def test_an_atom_is_read_in_both_ways_of_writing(text: str) -> None:
    assert Atom.parse(text) == Atom('on', ('r', 'g'))
    assert Atom.parse('done()') == Atom('done')


def test_what_is_no_atom_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(ValueError, match='write an atom as in on g,b'):
        Atom.parse('on(g, b')


def test_a_problem_of_which_only_objects_and_goal_count_needs_no_initial_state() -> None:
    domain = load_domain('blocksworld')
    text = ('(define (problem p) (:domain blocksworld) (:objects g b - block) '
            '(:goal (on g b)))')
    assert domain.parse_problem(text, 'p', needs_init=False).init == frozenset()
    with pytest.raises(ProblemError, match='":init" is missing'):
        domain.parse_problem(text, 'p')
