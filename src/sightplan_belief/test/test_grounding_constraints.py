"""The rules of ``constraints.yaml``: what they mean, what they allow, what is refused."""

from __future__ import annotations

import contextlib
import itertools
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain
from sightplan.domains.schema import Pattern, Same, read_schema
from sightplan.model import Atom, DomainError, State
from sightplan_belief.constraints import (
    AcyclicRule,
    CardinalityRule,
    Constraints,
    ImplicationRule,
    Rule,
    RuleLiteral,
    form,
    instantiate,
    parse_constraints,
    parse_literal,
    read_constraints,
)
from sightplan_belief.possible_states import Consequences, possible_states
from sightplan_belief.theory import Theory

BLOCKSWORLD = load_domain('blocksworld')

KITCHEN = read_schema("""
(define (domain kitchen)
  (:types thing room - object cup box - thing)
  (:constants hall - room)
  (:predicates (in ?t - thing ?b - box) (at ?t - thing ?r - room) (open ?b - box)
               (full ?c - cup) (dark)))
""")
OBJECTS = {'b1': 'box', 'b2': 'box', 'c1': 'cup'}


def rules_of(text: str) -> tuple[Rule, ...]:
    return parse_constraints(text, KITCHEN, 'kitchen.yaml').rules


def theory_of(*rules: str, objects: dict[str, str] = OBJECTS,
              atoms: list[str] | None = None) -> Theory:
    text = 'rules:\n' + '\n'.join(f'- name: r{i}\n  {rule}' for i, rule in enumerate(rules))
    return instantiate(parse_constraints(text, KITCHEN, 'kitchen.yaml'), KITCHEN, objects,
                       None if atoms is None else map(Atom.parse, atoms))


def clauses(theory: Theory) -> set[str]:
    names = [*map(str, theory.atoms),
             *('(' + ' & '.join(f'{"" if value else "-"}{theory.atoms[i]}' for i, value in parts)
               + ')' for parts in theory.definitions)]
    return {' | '.join(sorted(f'{"" if value else "-"}{names[i]}' for i, value in c.literals))
            for c in theory.clauses}


def groups(theory: Theory) -> set[tuple[str, ...]]:
    return {tuple(str(theory.atoms[i]) for i in g.variables) for g in theory.groups}


# ---------------------------------------------------------------------------------- meaning


def test_a_cardinality_rule_speaks_about_every_object_of_the_variable_s_type() -> None:
    theory = theory_of("exactly_one: ['at(?t, *)', 'in(?t, *)']")
    assert groups(theory) == {('at b1,hall', 'in b1,b1', 'in b1,b2'),
                              ('at b2,hall', 'in b2,b1', 'in b2,b2'),
                              ('at c1,hall', 'in c1,b1', 'in c1,b2')}
    assert all(group.required for group in theory.groups)
    narrower = theory_of("at_most_one: ['open(?t)', 'in(?t, *)']")
    assert groups(narrower) == {('in b1,b1', 'in b1,b2', 'open b1'),
                                ('in b2,b1', 'in b2,b2', 'open b2')}
    assert groups(theory_of("at_most_one: ['in(*, *)']")) == {
        tuple(f'in {t},{b}' for t in OBJECTS for b in ('b1', 'b2'))}


def test_groups_that_say_nothing_or_one_thing_are_simplified() -> None:
    assert theory_of("at_most_one: ['full(*)']").groups == ()
    assert clauses(theory_of("exactly_one: ['full(*)']")) == {'full c1'}
    assert clauses(theory_of("exactly_one: ['full(*)']", objects={})) == {''}
    both = theory_of("at_most_one: ['in(?t, *)']", "exactly_one: ['in(?t, *)']")
    assert len(both.groups) == 3 and all(g.required and g.rule == 1 for g in both.groups)


def test_implications_and_their_simplification() -> None:
    assert clauses(theory_of("if: ['in(?t, ?b)']\n  then: ['open(?b)']")) == {
        f'-in {t},{b} | open {b}' for t in OBJECTS for b in ('b1', 'b2')}
    assert clauses(theory_of("if: ['in(?b, ?b)']\n  then: []")) == {'-in b1,b1', '-in b2,b2'}
    unequal = theory_of("if: ['in(?t, ?b)', '?t != ?b']\n  then: ['not open(?b)', 'dark']")
    assert clauses(unequal) == {f'-in {t},{b} | -open {b} | dark'
                                for t in OBJECTS for b in ('b1', 'b2') if t != b}
    unique = theory_of("if: ['in(?t, ?a)', 'in(?t, ?b)']\n  then: ['?a = ?b']")
    assert clauses(unique) == {f'-in {t},b1 | -in {t},b2' for t in OBJECTS}
    assert clauses(theory_of('if: []\n  then: [dark]')) == {'dark'}
    assert clauses(theory_of('if: [dark]\n  then: [dark]')) == set()
    assert clauses(theory_of("if: []\n  then: ['not dark', dark]")) == set()
    assert clauses(theory_of("if: [dark]\n  then: ['at(?t, hall)']")) == {
        f'-dark | at {t},hall' for t in OBJECTS}


def test_existence_needs_definitions_only_where_an_option_has_several_parts() -> None:
    assert clauses(theory_of("if: ['in(?t, ?b)']\n  then_some: ['at(?b, ?r)']")) == {
        f'-in {t},{b} | at {b},hall' for t in OBJECTS for b in ('b1', 'b2')}
    theory = theory_of("if: [dark]\n  then_some: ['open(?b)', 'not at(?b, hall)']")
    assert clauses(theory) == {'(-at b1,hall & open b1) | (-at b2,hall & open b2) | -dark'}
    # What the premise says need not be said again.
    theory = theory_of("if: ['open(?a)']\n  then_some: ['open(?b)', 'in(?c, ?b)', 'full(?c)']")
    assert clauses(theory) == {
        '(full c1 & in c1,b1) | (full c1 & in c1,b2 & open b2) | -open b1',
        '(full c1 & in c1,b1 & open b1) | (full c1 & in c1,b2) | -open b2'}
    assert clauses(theory_of("if: [dark]\n  then_some: ['full(?c)', 'at(?c, hall)']")) == {
        '-dark | full c1', '-dark | at c1,hall'}
    # What the premise denies is no way out.
    theory = theory_of("if: ['open(?a)']\n  then_some: ['not open(?b)', 'at(?b, hall)']")
    assert clauses(theory) == {'-open b1 | -open b2', '-open b1 | at b2,hall',
                               '-open b2 | at b1,hall'}


def test_atoms_that_are_not_there_are_false() -> None:
    atoms = ['in c1,b1', 'in b2,b1', 'open b1']
    assert clauses(theory_of("if: ['in(?t, ?b)']\n  then: ['open(?b)', 'at(?t, ?r)']",
                             atoms=atoms)) == {'-in c1,b1 | open b1', '-in b2,b1 | open b1'}
    assert clauses(theory_of("if: ['in(?t, ?b)']\n  then: ['not full(?t)']",
                             atoms=atoms)) == set()
    assert clauses(theory_of("if: ['open(?b)']\n  then_some: ['full(?c)', 'in(?c, ?b)']",
                             atoms=atoms)) == {'-open b1'}
    assert groups(theory_of("at_most_one: ['in(*, ?b)']", atoms=atoms)) == {
        ('in b2,b1', 'in c1,b1')}


def test_soft_rules_become_clauses_with_penalties() -> None:
    penalty = math.log(.9 / .1)
    theory = theory_of("exactly_one: ['in(c1, *)']\n  violation_rate: 0.1".replace('c1', '?t'))
    assert not theory.groups and all(c.penalty == penalty for c in theory.clauses)
    assert clauses(theory) == {text for t in OBJECTS for text in (
        f'in {t},b1 | in {t},b2', f'-in {t},b1 | -in {t},b2')}
    state = frozenset({Atom('in', ('c1', 'b1')), Atom('in', ('c1', 'b2'))})
    assert theory.possible(state)
    twice = theory_of("if: ['open(?a)', 'open(?b)', '?a != ?b']\n  then: []\n"
                      '  violation_rate: .25')
    assert [c.penalty for c in twice.clauses] == [pytest.approx(math.log(3))]
    hard_wins = theory_of('if: [dark]\n  then: []\n  violation_rate: .25',
                          'if: [dark]\n  then: []')
    assert [c.hard for c in hard_wins.clauses] == [True]


def test_the_number_of_a_rule_is_its_index() -> None:
    theory = theory_of('if: [dark]\n  then: []', "at_most_one: ['in(?t, *)']", 'acyclic: in')
    assert {c.rule for c in theory.clauses} == {0}
    assert {g.rule for g in theory.groups} == {1}
    assert [(a.rule, len(a.edges)) for a in theory.acyclic] == [(2, 4)]  # a cup holds nothing


# A second, slower reading of the same rules.

def truth(literal: RuleLiteral, binding: dict[str, str], state: State) -> bool:
    part = literal.part
    if isinstance(part, Same):
        holds = binding.get(part.left, part.left) == binding.get(part.right, part.right)
    else:
        holds = Atom(part.predicate, tuple(binding.get(t, t) for t in part.terms)) in state
    return holds is literal.positive


def obeys(rule: Rule, state: State, objects: dict[str, str]) -> bool:
    objects = {**KITCHEN.constants, **objects}
    if isinstance(rule, AcyclicRule):
        reach = {a.args for a in state if a.predicate == rule.predicate}
        for _ in objects:
            reach |= {(x, w) for x, y in reach for z, w in reach if y == z}
        return all(x != y for x, y in reach)
    literals = [RuleLiteral(p) for p in rule.patterns] if isinstance(rule, CardinalityRule) \
        else [*rule.premise, *rule.conclusion]
    kinds: dict[str, set[str]] = {}
    for literal in literals:
        if isinstance(literal.part, Pattern):
            for term, kind in zip(literal.part.terms,
                                  KITCHEN.predicates[literal.part.predicate].types, strict=True):
                if term.startswith('?'):
                    kinds.setdefault(term, set()).add(kind)

    def bindings(variables: list[str]):
        for names in itertools.product(objects, repeat=len(variables)):
            if all(KITCHEN.is_a(objects[name], kind)
                   for variable, name in zip(variables, names, strict=True)
                   for kind in kinds[variable]):
                yield dict(zip(variables, names, strict=True))

    if isinstance(rule, CardinalityRule):
        for binding in bindings(list(kinds)):
            count = sum(any(p.predicate == atom.predicate and all(
                t == '*' or binding.get(t, t) == name
                for t, name in zip(p.terms, atom.args, strict=True)) for p in rule.patterns)
                for atom in state)
            if count > 1 or (rule.required and not count):
                return False
        return True
    given_by = {v for literal in rule.premise for v in literal.variables}
    outer = [v for v in kinds if not rule.exists or v in given_by]
    for binding in bindings(outer):
        if all(truth(x, binding, state) for x in rule.premise):
            if rule.exists:
                held = any(all(truth(x, {**binding, **more}, state) for x in rule.conclusion)
                           for more in bindings([v for v in kinds if v not in outer]))
            else:
                held = any(truth(x, binding, state) for x in rule.conclusion)
            if not held:
                return False
    return True


TERMS = st.sampled_from(['?x', '?y', '?z'])
PREDICATE = st.sampled_from(sorted(KITCHEN.predicates))


@st.composite
def literals(draw, stars: bool = False) -> str:
    if not stars and draw(st.integers(0, 4)) == 0:
        return f'{draw(TERMS)} {draw(st.sampled_from(["=", "!="]))} {draw(TERMS)}'
    name = draw(PREDICATE)
    terms = []
    for kind in KITCHEN.predicates[name].types:
        pool = ['?x', '?y', '?z'] + ['*'] * 3 * stars + ['hall'] * (kind == 'room')
        terms.append(draw(st.sampled_from(pool)))
    return f'{"" if stars or draw(st.booleans()) else "not "}{name}({", ".join(terms)})'


@st.composite
def rule_lines(draw) -> str:
    kind = draw(st.sampled_from(['exactly_one', 'at_most_one', 'acyclic', 'then', 'then_some']))
    if kind == 'acyclic':
        return 'acyclic: in'
    if kind in ('exactly_one', 'at_most_one'):
        return f'{kind}: {draw(st.lists(literals(stars=True), min_size=1, max_size=2))}'
    few = st.lists(literals(), min_size=kind == 'then_some', max_size=2)
    return f'if: {draw(st.lists(literals(), max_size=2))}\n  {kind}: {draw(few)}'


ATOMS = instantiate(Constraints(), KITCHEN, OBJECTS).atoms


@settings(max_examples=60, deadline=None)
@given(rule_lines(), st.lists(st.frozensets(st.sampled_from(ATOMS)), min_size=1, max_size=4),
       st.frozensets(st.sampled_from(ATOMS), max_size=5))
def test_a_theory_means_what_its_rule_says(line: str, states: list[State], never: State) -> None:
    try:
        theory = theory_of(line, atoms=[str(a) for a in ATOMS if a not in never])
    except DomainError:
        return  # no object fits, or a variable without a type
    rule = rules_of(f'rules:\n- name: r\n  {line}')[0]
    for state in states:
        state -= never
        assert theory.possible(state) is obeys(rule, state, OBJECTS)
        program = possible_states(theory, known={a: a in state for a in theory.atoms})
        assert program == ([state] if theory.possible(state) else [])
    consequences = Consequences(theory.atoms)
    assert consequences.imply(theory) is (
        not theory.acyclic and not theory.groups and not theory.clauses)
    consequences.add(theory)
    assert consequences.imply(theory)


@given(st.permutations(sorted(BLOCKSWORLD.split_problems('simple')[0].objects.items())))
def test_the_order_of_objects_does_not_matter(items) -> None:
    constraints = read_constraints(BLOCKSWORLD)
    assert instantiate(constraints, BLOCKSWORLD.schema, dict(items)) == instantiate(
        constraints, BLOCKSWORLD.schema, dict(sorted(items)))


def test_a_rule_s_form_is_what_was_read() -> None:
    lines = ["exactly_one: ['at(?t, *)', 'in(?t, *)']", 'acyclic: in',
             "if: ['not open(?b)', '?b != ?t']\n  then: ['in(?t, ?b)', '?t = ?b']",
             "if: []\n  then_some: ['at(?t, hall)', 'dark']"]
    for line in lines:
        rule = rules_of(f'rules:\n- name: r\n  {line}')[0]
        again = '\n  '.join(f'{key}: {value}' for key, value in form(rule).items())
        assert rules_of(f'rules:\n- name: r\n  {again}') == (rule,)


def test_literals_are_read_with_any_spacing_and_case() -> None:
    assert parse_literal(' NOT  In( ?X ,hall ) ') == RuleLiteral(Pattern('in', ('?x', 'hall')),
                                                                 False)
    assert parse_literal('?a!=?b') == RuleLiteral(Same('?a', '?b'), False)
    assert parse_literal('dark()') == parse_literal('dark') == RuleLiteral(Pattern('dark', ()))
    for text in ('', 'in(?x', 'in ?x', 'in(?x,)', 'in(?)', '* = ?x', 'in(x y)', '?x', 'not'):
        assert parse_literal(text) is None or text == 'not', text
    for text in ('=' * 200_000 + ' x y', '?a == ?b', '= ?b', '?a = ?b ?c', 'p(?a = ?b)'):
        assert parse_literal(text) is None


# ------------------------------------------------------------------------------ blocksworld


def stacked(blocks: list[str], columns: list[str]) -> set[State]:
    """All ways to put blocks into columns: the true states, without the columns' order."""
    found = set()
    for order in itertools.permutations(blocks):
        for cuts in itertools.combinations_with_replacement(
                range(len(blocks) + 1), len(columns) - 1):
            bounds = [0, *cuts, len(blocks)]
            atoms = []
            for column, low, high in zip(columns, bounds, bounds[1:], strict=False):
                stack = order[low:high]
                atoms += [Atom('incolumn', (block, column)) for block in stack]
                atoms += [Atom('on', pair[::-1]) for pair in itertools.pairwise(stack)]
                atoms += [Atom('clear', (block,)) for block in stack[-1:]]
            found.add(frozenset(atoms))
    return found


def rows(columns: list[str]) -> set[State]:
    """All orders of columns from left to right."""
    return {frozenset(atom for left, right in itertools.combinations(order, 2)
                      for atom in (Atom('leftof', (left, right)), Atom('rightof', (right, left))))
            for order in itertools.permutations(columns)}


def test_blocksworld_s_rules_allow_the_true_states_and_no_others_of_a_tiny_problem() -> None:
    blocks, columns = ['r', 'g'], ['c1', 'c2']
    objects = {**dict.fromkeys(blocks, 'block'), **dict.fromkeys(columns, 'column')}
    true = {a | b for a in stacked(blocks, columns) for b in rows(columns)}
    theory = instantiate(read_constraints(BLOCKSWORLD), BLOCKSWORLD.schema, objects)
    assert set(possible_states(theory)) == true and len(true) == 12
    # Without the solver: every assignment of the blocks' and of the columns' atoms.
    for part, expected in ((('on', 'clear', 'incolumn'), stacked(blocks, columns)),
                           (('leftof', 'rightof'), rows(columns))):
        own = [atom for atom in theory.atoms if atom.predicate in part]
        rest = min(true, key=sorted) - set(own)
        allowed = {frozenset(chosen) for n in range(len(own) + 1)
                   for chosen in itertools.combinations(own, n)
                   if theory.possible(rest | frozenset(chosen))}
        assert allowed == expected


@pytest.mark.parametrize(('blocks', 'columns', 'count'), [(3, 4, 120), (4, 3, 360), (5, 2, 720),
                                                          (1, 1, 1)])
def test_blocksworld_s_rules_allow_as_many_states_as_there_are(blocks, columns, count) -> None:
    of_blocks, of_columns = ([f'{kind}{i}' for i in range(n)]
                             for kind, n in (('b', blocks), ('c', columns)))
    objects = {**dict.fromkeys(of_blocks, 'block'), **dict.fromkeys(of_columns, 'column')}
    theory = instantiate(read_constraints(BLOCKSWORLD), BLOCKSWORLD.schema, objects)
    row = min(rows(of_columns), key=sorted)
    known = {a: a in row for a in theory.atoms if a.predicate in ('leftof', 'rightof')}
    found = possible_states(theory, known=known)
    assert len(found) == len(set(found)) == count
    assert {state - row for state in found} == stacked(of_blocks, of_columns)
    assert all(theory.possible(state) for state in found)
    assert len(possible_states(theory, limit=1, known=known)) == 1


@pytest.mark.parametrize('split', BLOCKSWORLD.splits)
def test_the_initial_states_of_all_problems_are_possible(split) -> None:
    constraints = read_constraints(BLOCKSWORLD)
    for problem in BLOCKSWORLD.split_problems(split):
        theory = instantiate(constraints, BLOCKSWORLD.schema, problem.objects)
        assert theory.possible(problem.init), problem.name


# ---------------------------------------------------------------------------------- reading


def test_a_domain_without_the_file_has_no_rules(tmp_path: Path) -> None:
    constraints = read_constraints(BLOCKSWORLD)
    assert len(constraints.rules) == 11 and len(constraints.sha256) == 12
    with pytest.raises(DomainError, match=r'none\.yaml:1: cannot be read'):
        read_constraints(BLOCKSWORLD, tmp_path / 'none.yaml')
    (tmp_path / 'empty.yaml').write_text('# nothing is known\n')
    assert read_constraints(BLOCKSWORLD, tmp_path / 'empty.yaml').rules == ()
    assert instantiate(Constraints(), KITCHEN, OBJECTS).clauses == ()


BAD = [
    ('rules', r'1: not a mapping \(write "key: value" lines'),
    ('rule: []', r'1: rule: is unknown \(use rules\)'),
    ('rules: 3', r'1: rules: not a list'),
    ('{}', r'1: there is no list of rules'),
    ('rules: [', r'1: not YAML'),
    ('rules: [x]', r'1: rule 1: not a mapping'),
    ('rules:\n- exactly_one: [dark]', r'2: rule 1: name: is missing'),
    ('rules:\n- name: n', r'2: rule 1 \(n\): no form: .*one form \(use one of exactly_one'),
    ('rules:\n- {name: n, acyclic: in, then: []}', r'acyclic and then: '),
    ('rules:\n- {name: n, then: []}', r'if: goes with then'),
    ('rules:\n- {name: n, if: [], acyclic: in}', r'if: goes with then'),
    ('rules:\n- {name: n, acyclic: in, rate: 1}', r'rule 1: rate: is unknown \(use name, viol'),
    ('rules:\n- name: n\n  name: m', r'3: rule 1: name: is given twice'),
    ('rules:\n- {name: n, acyclic: in}\n- {name: n, acyclic: in}', r'3: rule 2 \(n\): name: '),
    ('rules:\n- {name: n, acyclic: [in]}', r'acyclic: not a text'),
    ('rules:\n- {name: n, acyclic: on}', r'acyclic: unknown predicate "on" \(known: in, at'),
    ('rules:\n- {name: n, acyclic: at}', r'acyclic: "at" has no cycles to forbid'),
    ('rules:\n- {name: n, acyclic: open}', r'acyclic: "open" has no cycles'),
    ('rules:\n- {name: n, acyclic: in, violation_rate: .1}', r'violation_rate: .*cannot be soft'),
    ('rules:\n- {name: n, acyclic: in, violation_rate: .5}', r'violation_rate: .5 is not in \[0'),
    ('rules:\n- {name: n, acyclic: in, violation_rate: -1}', r'violation_rate: -1 is not in'),
    ('rules:\n- {name: n, acyclic: in, violation_rate: nan}', r'violation_rate: nan is not in'),
    ('rules:\n- {name: n, acyclic: in, violation_rate: x}', r'violation_rate: x is not in'),
    ('rules:\n- {name: n, exactly_one: []}', r'exactly_one: is empty'),
    ('rules:\n- {name: n, exactly_one: dark}', r'exactly_one: not a list'),
    ("rules:\n- {name: n, exactly_one: ['not dark']}", r'exactly_one: takes patterns only'),
    ("rules:\n- {name: n, exactly_one: ['?x = ?y']}", r'exactly_one: takes patterns only'),
    ("rules:\n- {name: n, at_most_one: ['on(?x)']}", r'at_most_one: unknown predicate "on"'),
    ("rules:\n- {name: n, at_most_one: ['in(?x)']}", r'"in\(\?x\)" has 1 arg.*\("in" takes 2'),
    ("rules:\n- {name: n, at_most_one: ['open(?x)', 'full(?x)']}",
     r'"\?x" would have to be a box and a cup'),
    ("rules:\n- {name: n, if: ['at(hall, ?r)'], then: []}", r'if: "hall" would have to be a room'),
    ("rules:\n- {name: n, if: ['at(?t, c1)'], then: []}", r'if: "c1" is not a constant .*"\?c1"'),
    ("rules:\n- {name: n, if: ['?t = c1'], then: ['full(?t)']}", r'if: "c1" is not a constant'),
    ("rules:\n- {name: n, if: ['?x != ?y'], then: ['full(?x)']}", r'if: "\?y" in .* has no type'),
    ("rules:\n- {name: n, if: ['in(?x, *)'], then: []}", r'if: "\*" in "in\(\?x, \*\)"'),
    ('rules:\n- {name: n, if: [in(?x, ?y)], then: []}', r'not YAML.*patterns stand in quotes'),
    ('rules:\n- {name: n, if: [in(a, b)], then: []}', r'if: cannot read "in\(a" \(write '),
    ("rules:\n- {name: n, if: ['dark'], then_some: []}", r'then_some: is empty'),
    ('rules:\n- {name: n, if: [[dark]], then: []}', r'if: not a text'),
]


@pytest.mark.parametrize(('text', 'message'), BAD)
def test_errors_name_file_line_rule_field_and_remedy(text: str, message: str) -> None:
    with pytest.raises(DomainError, match=f'(?s){message}') as caught:
        rules_of(text)
    assert str(caught.value).startswith('kitchen.yaml:')
    assert str(caught.value).endswith(')')


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    for content in (text, f'rules:\n- name: n\n  if: [{text}]\n  then: []'):
        with contextlib.suppress(DomainError):
            rules_of(content)


def test_a_rule_made_by_hand_is_checked_when_it_is_used() -> None:
    rule = ImplicationRule('bad', (RuleLiteral(Pattern('in', ('?x',))),), ())
    with pytest.raises(DomainError, match=r'rule "bad": if: "in\(\?x\)" has 1 arguments'):
        instantiate(Constraints((rule,)), KITCHEN, OBJECTS)


def test_what_follows_from_an_order() -> None:
    def theory(line: str) -> Theory:
        return instantiate(parse_constraints(f'rules:\n- name: r\n  {line}', BLOCKSWORLD.schema,
                                             'x'), BLOCKSWORLD.schema,
                           dict.fromkeys(('c1', 'c2', 'c3'), 'column'))

    acyclic = theory('acyclic: leftof')
    consequences = Consequences(acyclic.atoms)
    consequences.add(theory("if: ['leftof(?x, ?y)', 'leftof(?y, ?z)']\n"
                            "  then: ['leftof(?x, ?z)']"))
    assert not consequences.imply(acyclic)
    consequences.add(theory("if: ['leftof(?x, ?x)']\n  then: []"))
    assert consequences.imply(acyclic)
    assert not consequences.imply(theory('acyclic: rightof'))
    alone = Consequences(acyclic.atoms)
    alone.add(acyclic)
    assert alone.imply(theory("if: ['leftof(?x, ?y)']\n  then: ['not leftof(?y, ?x)']"))
    assert not alone.imply(theory("if: ['leftof(?x, ?y)']\n  then: ['rightof(?y, ?x)']"))


def test_nothing_follows_about_other_atoms() -> None:
    theory = theory_of('acyclic: in')
    with pytest.raises(ValueError, match='other atoms'):
        Consequences(theory.atoms[:1]).imply(theory)
