"""Rules that are proposed from rollouts, and rules that are counted on states."""

from __future__ import annotations

import dataclasses
import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles import MemoryWorld, pantry, two_blocks
from sightplan.domains import load_domain
from sightplan.model import Atom, DomainError, InputError, Problem
from sightplan_belief.constraints import (
    Constraints,
    form,
    instantiate,
    parse_constraints,
    read_constraints,
)
from sightplan_belief.learning import constraints as constraint_learning
from sightplan_belief.learning.constraints import (
    Count,
    Sample,
    candidates,
    completeness,
    count_all,
    find_violation,
    learn,
    to_yaml,
    without_redundant,
)
from sightplan_belief.learning.rollouts import (
    RolloutSettings,
    draw_problems,
    model_states,
    random_action,
    world_states,
)
from sightplan_belief.possible_states import possible_states
from test_grounding_constraints import ATOMS, KITCHEN, OBJECTS, rule_lines, rules_of, theory_of

BLOCKSWORLD = load_domain('blocksworld')
QUICK = RolloutSettings(problems=8, rollouts=2, steps=20)


def rules_for(domain, *lines: str):
    text = 'rules:\n' + '\n'.join(f'- name: r{i}\n  {line}' for i, line in enumerate(lines))
    return parse_constraints(text, domain.schema, 'test').rules


@pytest.fixture(scope='module')
def learned():
    return learn(BLOCKSWORLD, BLOCKSWORLD.splits, QUICK)


# ---------------------------------------------------------------------------------- learning


def allowed(rules, objects) -> set:
    return set(possible_states(instantiate(Constraints(tuple(rules)), BLOCKSWORLD.schema,
                                           objects)))


def test_blocksworld_s_learned_rules_say_the_same_as_the_reviewed_ones(learned) -> None:
    reviewed = read_constraints(BLOCKSWORLD).rules
    for objects in ({'r': 'block', 'g': 'block', 'c1': 'column', 'c2': 'column'},
                    {'r': 'block', 'c1': 'column', 'c2': 'column', 'c3': 'column'},
                    {'r': 'block', 'g': 'block', 'b': 'block', 'c1': 'column'}):
        states = allowed(reviewed, objects)
        assert states and allowed((item.rule for item in learned.rules), objects) == states


def test_what_was_tried_and_kept_is_counted(learned) -> None:
    assert learned.candidates >= len(candidates(BLOCKSWORLD.schema)) > 300
    assert learned.unbroken == len(learned.rules) + len(learned.rejected) + learned.redundant
    assert len(learned.rules) < 15 and not learned.rejected
    for item in learned.rules:
        assert item.training.cases >= QUICK.min_support and item.training.broken == 0
        assert item.held_out.cases >= QUICK.min_support and item.held_out.broken == 0


def test_no_learned_rule_follows_from_the_others(learned) -> None:
    objects = {**dict.fromkeys('rgb', 'block'), **dict.fromkeys(('c1', 'c2', 'c3'), 'column')}
    rules = [item.rule for item in learned.rules]
    theories = [instantiate(Constraints(tuple(other for other in rules if other is not rule)),
                            BLOCKSWORLD.schema, objects) for rule in (None, *rules)]
    count = len(possible_states(theories[0]))
    assert count == 60 * 6
    for theory, rule in zip(theories[1:], rules, strict=True):
        assert len(possible_states(theory, count + 1)) > count, rule


@pytest.mark.slow
def test_other_seeds_lead_to_the_same_theory(learned) -> None:
    objects = {'r': 'block', 'g': 'block', 'c1': 'column', 'c2': 'column'}
    states = allowed((item.rule for item in learned.rules), objects)
    again = learn(BLOCKSWORLD, BLOCKSWORLD.splits, QUICK)
    assert dataclasses.replace(again, seconds=learned.seconds) == learned
    for seed in (1, 2):
        other = learn(BLOCKSWORLD, BLOCKSWORLD.splits, dataclasses.replace(QUICK, seed=seed))
        assert other.training_states != learned.training_states
        assert allowed((item.rule for item in other.rules), objects) == states


def test_rules_of_another_domain_with_types_below_types_and_constants() -> None:
    domain = pantry()
    found = learn(domain, domain.splits)
    assert [form(item.rule) for item in found.rules] == [
        {'exactly_one': ['at(?x, *)', 'holding(?x)']},
        {'exactly_one': ['holding(*)', 'handempty']}]
    problem = domain.split_problems('small')[0]
    counts = completeness(Constraints(tuple(item.rule for item in found.rules)), domain.schema,
                          problem)
    assert counts.allowed == counts.reachable > 50 and not counts.forbidden and counts.exact


def test_the_proposal_can_be_read_again(learned) -> None:
    text = to_yaml(learned, 'a test')
    assert parse_constraints(text, BLOCKSWORLD.schema, 'x').rules == tuple(
        item.rule for item in learned.rules)
    assert text.startswith('# Proposed by "sightplan constraints learn" from a test.\n')
    assert f'# {learned.rules[0].training.cases} and ' in text and text.endswith('cases\n')
    nothing = dataclasses.replace(learned, rules=())
    assert parse_constraints(to_yaml(nothing, 'x'), BLOCKSWORLD.schema, 'x').rules == ()


def one_block(number: int) -> Problem:
    return BLOCKSWORLD.parse_problem("""
        (define (problem one) (:domain blocksworld) (:objects r - block c1 c2 - column)
          (:init (incolumn r c1) (clear r)) (:goal (incolumn r c2)))""", f'one{number}')


def test_what_only_held_out_states_break_is_rejected(monkeypatch) -> None:
    few = [one_block(0), one_block(1)]
    many = BLOCKSWORLD.split_problems('simple')[:2]
    monkeypatch.setattr(constraint_learning, 'draw_problems', lambda *_: (few, many))
    found = learn(BLOCKSWORLD, ('simple',), RolloutSettings(rollouts=1, min_support=2))
    rejected = {str(form(item.rule)): item.held_out for item in found.rejected}
    always_clear = rejected[str({'if': [], 'then': ['clear(?x)']})]
    assert 0 < always_clear.broken < always_clear.cases
    assert all(item.held_out.broken for item in found.rejected)
    assert not any(item.held_out.broken for item in found.rules)


def test_a_rule_without_support_is_not_proposed(monkeypatch) -> None:
    problems = [one_block(0), one_block(1)]
    monkeypatch.setattr(constraint_learning, 'draw_problems', lambda *_: (problems, problems))
    found = learn(BLOCKSWORLD, ('simple',), RolloutSettings(rollouts=1, min_support=1))
    # With one block nothing is ever on anything: nothing can be said about that but "never".
    assert {'if': ['on(?x, ?x)'], 'then': []} in [form(item.rule) for item in found.rules]
    assert {'if': ['leftof(?x, ?y)'], 'then': []} in [form(item.rule) for item in found.rules]
    assert not any('acyclic' in form(item.rule) for item in found.rules)
    lonely = learn(BLOCKSWORLD, ('simple',), RolloutSettings(rollouts=1, min_support=10**6))
    assert lonely.rules == ()


def test_one_problem_is_not_enough(monkeypatch) -> None:
    def about_on(problems: list[Problem]) -> bool:
        monkeypatch.setattr(constraint_learning, 'draw_problems', lambda *_: (problems, problems))
        found = learn(BLOCKSWORLD, ('simple',), RolloutSettings(rollouts=1, min_support=2))
        return {'acyclic': 'on'} in [form(item.rule) for item in found.rules]

    simple = BLOCKSWORLD.split_problems('simple')[:2]
    assert about_on(simple) and not about_on([one_block(0), simple[0]])


def test_larger_sets_of_patterns_are_about_the_same_objects() -> None:
    problems = [one_block(0), one_block(1)]
    samples = [Sample.of(p, BLOCKSWORLD.schema, model_states(p, 1, 9, random.Random(0)))
               for p in problems]
    search = constraint_learning._Search(BLOCKSWORLD.schema, samples, 1)
    for rule in candidates(BLOCKSWORLD.schema):
        search.try_rule(rule)
    search.grow()
    sets = [rule.patterns for rule in search.found() if hasattr(rule, 'patterns')]
    assert any(len(patterns) == 1 for patterns in sets)
    for patterns in sets:
        assert len({'?x' in pattern.terms for pattern in patterns}) == 1


def test_rules_that_follow_from_others_are_dropped_and_early_ones_kept() -> None:
    rules = rules_for(
        BLOCKSWORLD, "at_most_one: ['on(?b, *)']", 'acyclic: on',
        "if: ['on(?x, ?y)']\n  then: ['not on(?y, ?x)']", "if: ['on(?x, ?x)']\n  then: []",
        "if: ['on(?x, ?y)', 'on(?x, ?z)']\n  then: ['?y = ?z']",
        "if: ['clear(?x)']\n  then: ['not on(?y, ?x)']",
        "if: ['on(?y, ?x)']\n  then: ['not clear(?x)']",
        "if: ['not clear(?x)']\n  then_some: ['on(?y, ?x)']")
    objects = [{'r': 'block', 'c1': 'column'}]
    names = [rule.name for rule in without_redundant(rules, BLOCKSWORLD.schema, objects)]
    assert names == ['r0', 'r1', 'r5', 'r7']
    # What later rules imply goes, too.
    weak_first = [rules[2], rules[3], rules[1]]
    assert without_redundant(weak_first, BLOCKSWORLD.schema, objects) == [rules[1]]
    # Rules that hold by chance may contradict each other about more objects.
    chance = rules_for(BLOCKSWORLD, "exactly_one: ['clear(*)']", "if: []\n  then: ['clear(?x)']",
                       "if: ['on(?x, ?y)']\n  then: []")
    assert without_redundant(chance, BLOCKSWORLD.schema, objects) == [chance[0], chance[2]]


def test_templates_give_each_rule_once_and_only_fitting_ones() -> None:
    found = candidates(KITCHEN)
    assert len({str(form(rule)) for rule in found}) == len(found)
    forms = [str(form(rule)) for rule in found]
    assert str({'acyclic': 'in'}) in forms and str({'acyclic': 'at'}) not in forms
    assert str({'exactly_one': ['in(?x, *)', 'at(?x, *)']}) in forms
    assert len({rule.name for rule in found}) == len(found)
    theory = instantiate(Constraints(tuple(found)), KITCHEN, OBJECTS)
    assert theory.clauses and theory.groups


# ---------------------------------------------------------------------------------- counting


@settings(max_examples=60, deadline=None)
@given(rule_lines(), st.lists(st.frozensets(st.sampled_from(ATOMS)), min_size=1, max_size=6))
def test_counts_agree_with_the_theory(line, states) -> None:
    try:
        rule = rules_of(f'rules:\n- name: r\n  {line}')[0]
    except DomainError:
        return
    theory = theory_of(line)
    problem = Problem('p', 'kitchen', OBJECTS, frozenset(), ())
    for state in states:
        count = Sample.of(problem, KITCHEN, [state]).count(rule)
        assert (count.broken > 0) is not theory.possible(state)
        assert 0 <= count.broken <= count.cases
    distinct = list(dict.fromkeys(states))
    total = Sample.of(problem, KITCHEN, states).count(rule)
    assert total == count_all(rule, [Sample.of(problem, KITCHEN, [s]) for s in distinct])
    violation = find_violation(rule, [Sample.of(problem, KITCHEN, states)])
    assert (violation is not None) is (total.broken > 0)


def test_cases_are_those_whose_premise_holds() -> None:
    domain, problem = BLOCKSWORLD, two_blocks()  # r on g in c1 of three columns
    sample = Sample.of(problem, domain.schema, [problem.init, problem.init])
    counts = [sample.count(rule) for rule in rules_for(
        domain, "if: ['on(?x, ?y)']\n  then: ['clear(?x)']",
        "if: ['incolumn(?x, ?c)']\n  then: ['clear(?x)']",
        "if: ['incolumn(?x, ?c)']\n  then_some: ['clear(?y)', 'incolumn(?y, ?c)', '?x != ?y']",
        "if: ['on(?x, ?y)']\n  then: []", "exactly_one: ['clear(*)']",
        "at_most_one: ['incolumn(*, ?c)']", 'acyclic: on',
        "if: ['incolumn(?x, ?c)', 'incolumn(?y, ?c)', '?x != ?y']\n  then: ['?x = ?y']")]
    assert counts == [Count(1, 0), Count(2, 1), Count(2, 1), Count(4, 1), Count(1, 0),
                      Count(3, 1), Count(1, 0), Count(2, 2)]


def test_a_violation_is_shown_with_the_atoms_it_speaks_of() -> None:
    problem = two_blocks()
    sample = Sample.of(problem, BLOCKSWORLD.schema, [problem.init])

    def found(line: str) -> dict[str, bool] | None:
        violation = find_violation(rules_for(BLOCKSWORLD, line)[0], [sample])
        return violation and {str(atom): true for atom, true in violation.atoms.items()}

    assert found("if: ['on(?x, ?y)']\n  then: ['clear(?x)']") is None
    assert found("if: ['on(?x, ?y)']\n  then: ['clear(?y)']") == {'on r,g': True,
                                                                  'clear g': False}
    assert found("at_most_one: ['incolumn(*, ?c)']") == {'incolumn r,c1': True,
                                                         'incolumn g,c1': True}
    assert found("exactly_one: ['on(?x, *)']") == {'on g,r': False, 'on g,g': False}
    loop = Sample.of(problem, BLOCKSWORLD.schema, [frozenset({Atom('on', ('r', 'r'))})])
    violation = find_violation(rules_for(BLOCKSWORLD, 'acyclic: on')[0], [sample, loop])
    assert violation is not None and violation.atoms == {Atom('on', ('r', 'r')): True}


# ------------------------------------------------------------------------------------ states


def test_rollouts_are_legal_and_depend_on_the_seed_alone() -> None:
    problem = BLOCKSWORLD.split_problems('simple')[3]
    model = BLOCKSWORLD.model(problem)
    states = list(model_states(problem, 2, 10, random.Random(5)))
    assert states == list(model_states(problem, 2, 10, random.Random(5)))
    assert len(states) == 22 and states[0] == states[11] == problem.init
    for before, after in itertools.pairwise(states[:11]):
        assert after in {model.apply(action, before) for action in model.actions
                         if model.applicable(action, before)}


def test_actions_are_drawn_by_schema_first_and_may_run_out() -> None:
    domain = pantry()
    problem = domain.split_problems('small')[7]  # three things, three containers
    model, rng = domain.model(problem), random.Random(0)
    state = frozenset(map(Atom.parse, ('handempty', 'at bread,table', 'at jam,low')))
    names = [random_action(model, state, rng).name for _ in range(200)]
    assert 70 < names.count('pick-up') < 130
    assert names.count('open') == 200 - names.count('pick-up')
    assert random_action(model, frozenset(), rng) is None
    assert list(model_states(dataclasses.replace(problem, init=frozenset()), 1, 5, rng)) == [
        frozenset()]


def test_states_of_a_world_are_its_true_ones() -> None:
    world, problem = MemoryWorld(), two_blocks()
    states = list(world_states(world, world, problem, 2, 8, random.Random(1), 0.5))
    assert len(states) == 18 and world.resets == 2
    stayed = sum(a == b for a, b in itertools.pairwise(states[:9]))
    assert 0 < stayed < 8  # some actions fail


def test_problems_are_split_into_two_sets() -> None:
    chosen, others = draw_problems(BLOCKSWORLD, ('simple', 'hard'), 12, random.Random(0))
    assert len(chosen) == len(others) == 12
    assert not {id(p) for p in chosen} & {id(p) for p in others}
    sizes = [len(p.objects) for p in chosen]
    assert sizes == sorted(sizes) and len(set(sizes)) > 1
    chosen, others = draw_problems(BLOCKSWORLD, ('simple',), 99, random.Random(0))
    assert (len(chosen), len(others)) == (13, 12)


def test_settings_are_checked() -> None:
    with pytest.raises(InputError, match='constraints: steps = 0 is out of bounds'):
        learn(BLOCKSWORLD, ('simple',), RolloutSettings(steps=0))


def test_completeness_of_blocksworld_and_of_rules_that_forbid_or_allow_too_much() -> None:
    problem = BLOCKSWORLD.split_problems('simple')[0]
    reviewed = read_constraints(BLOCKSWORLD)
    whole = completeness(reviewed, BLOCKSWORLD.schema, problem)
    assert (whole.allowed, whole.reachable, whole.forbidden, whole.exact) == (120, 120, 0, True)
    short = completeness(reviewed, BLOCKSWORLD.schema, problem, limit=50)
    assert (short.allowed, short.reachable, short.exact) == (50, 50, False)
    flat = rules_for(BLOCKSWORLD, "if: ['on(?x, ?y)', 'on(?y, ?z)']\n  then: []")
    strict = completeness(Constraints((*reviewed.rules, *flat)), BLOCKSWORLD.schema, problem)
    assert (strict.allowed, strict.reachable, strict.forbidden) == (96, 120, 24)
    loose = completeness(Constraints(reviewed.rules[:5]), BLOCKSWORLD.schema, problem)
    assert loose.allowed > 120 and loose.forbidden == 0
