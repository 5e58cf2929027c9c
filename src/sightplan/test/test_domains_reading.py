"""Reading and writing PDDL: what is accepted, and what a person is told when it is not."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.domains import load_domain, read_folder
from sightplan.domains.problem_files import Closure
from sightplan.domains.schema import read_schema
from sightplan.model import Atom, DomainError, InputError, Literal, ProblemError

DOMAIN = load_domain('blocksworld')
GOOD = """\
(define (problem good)
  (:domain blocksworld)
  (:objects r g - block
            c1 c2 c3 - column)
  (:init (on r g) (clear r)
         (inColumn r c1) (inColumn g c1)
         (leftOf c1 c2) (leftOf c2 c3))
  (:goal (and (inColumn r c2)
              (not (on r g)))))
"""
WHERE = re.compile(r'.+:\d+: .+ \(.+\)', re.DOTALL)


def parse(text: str):
    return DOMAIN.parse_problem(text, 'good', 'good.pddl')


def test_a_good_problem() -> None:
    problem = parse(GOOD)
    assert dict(problem.objects) == {'r': 'block', 'g': 'block', 'c1': 'column', 'c2': 'column',
                                     'c3': 'column'}
    assert Atom('incolumn', ('g', 'c1')) in problem.init
    assert problem.goal == (Literal(Atom('incolumn', ('r', 'c2'))),
                            Literal(Atom('on', ('r', 'g')), False))
    assert (problem.name, problem.domain, problem.source) == ('good', 'blocksworld', 'good.pddl')
    assert problem.domain_pddl == DOMAIN.pddl


def test_case_comments_and_spaces_do_not_matter() -> None:
    shouted = GOOD.upper().replace('(', ' ( ').replace('\n', ' ; a (comment\r\n')
    assert parse(shouted) == parse(GOOD)


def test_left_and_right_are_completed_from_adjacent_columns_of_one_kind() -> None:
    init = parse(GOOD).init
    pairs = [('c1', 'c2'), ('c1', 'c3'), ('c2', 'c3')]
    assert {a.args for a in init if a.predicate == 'leftof'} == set(pairs)
    assert {a.args for a in init if a.predicate == 'rightof'} == {p[::-1] for p in pairs}
    only_right = GOOD.replace('(leftOf c1 c2) (leftOf c2 c3)', '(rightOf c2 c1) (rightOf c3 c2)')
    assert parse(only_right).init == init


@settings(deadline=None)
@given(st.permutations([(f'c{i}', f'c{i + 1}') for i in range(1, 8)]))
def test_closure_does_not_depend_on_the_order_of_facts(pairs) -> None:
    closed = Closure(transitive=('p',)).close(frozenset(Atom('p', pair) for pair in pairs))
    assert {a.args for a in closed} == {(f'c{i}', f'c{j}')
                                        for i in range(1, 9) for j in range(i + 1, 9)}


def test_closure_of_a_circle_ends() -> None:
    closed = Closure(transitive=('p',)).close(
        frozenset({Atom('p', ('a', 'b')), Atom('p', ('b', 'a'))}))
    assert len(closed) == 4


def test_small_freedoms_of_pddl() -> None:
    single = GOOD.replace('(and (inColumn r c2)\n              (not (on r g)))', '(inColumn r c2)')
    assert parse(single).goal == (Literal(Atom('incolumn', ('r', 'c2'))),)
    assert parse(GOOD.replace('(:goal (and', '(:goal (and (and) (and (clear g))')).goal[0] == (
        Literal(Atom('clear', ('g',))))
    assert parse(GOOD.replace('(clear r)', '(clear r) (not (clear g))')).init == parse(GOOD).init
    assert parse(GOOD.replace('(clear r)', '(clear r) (clear r)')).init == parse(GOOD).init
    assert parse(GOOD.replace('(:domain', '(:requirements :typing) (:domain')) == parse(GOOD)
    assert not parse(re.sub(r'\(:goal.*', '(:goal ()))', GOOD, flags=re.DOTALL)).goal
    named = parse(GOOD.replace('c1', 'left-most_1.a'))
    assert 'left-most_1.a' in named.objects



def test_a_problem_of_another_domain_is_refused_whatever_its_vocabulary():
    message = (r'good\.pddl:2: this is a problem of domain "blokworld" '
               r'\(write "\(:domain blocksworld\)"')
    with pytest.raises(ProblemError, match=message):
        parse(GOOD.replace('(:domain blocksworld)', '(:domain Blokworld)'))
    assert parse(GOOD.replace('(:domain blocksworld)', '(:domain BlocksWorld)')) == parse(GOOD)


def test_problems_may_name_the_domain_as_its_own_file_or_another_one_does():
    other = load_domain('blocksworld', None, DOMAIN.pddl.replace(
        '(domain blocksworld)', '(domain Blocks-4ops)'))
    for name in ('blocks-4OPS', 'blocksworld'):
        text = GOOD.replace('(:domain blocksworld)', f'(:domain {name})')
        written = other.write_problem(other.parse_problem(text, 'good'))
        assert '(:domain blocks-4ops)' in written


BAD = {
    'an open parenthesis': (GOOD[:-3] + '\n', 8, 'never closed'),
    'a closing one too many': (GOOD + ')', 10, 'after the end'),
    'text before': ('hello' + GOOD, 1, 'begin with "(define"'),
    'nothing': ('', 1, 'empty'),
    'only a comment': ('; nothing\n', 1, 'empty'),
    'a NUL byte': (GOOD.replace('(clear r)', '(clear\0 r)'), 5, 'NUL'),
    'a domain': (DOMAIN.pddl, 3, 'domain file'),
    'another definition': ('(hello)', 1, 'not a problem'),
    'unknown section': (GOOD.replace(':init', ':start'), 5, 'section ":start"'),
    'section twice': (GOOD.replace('(:goal', '(:init) (:goal'), 8, 'second section ":init"'),
    'no init': (re.sub(r'\(:init.*?\)\)\n', '', GOOD, flags=re.DOTALL), 1, '":init" is missing'),
    'no goal': (GOOD[:GOOD.index('(:goal')] + ')', 1, '":goal" is missing'),
    'no objects': (GOOD.replace('(:objects r g - block\n            c1 c2 c3 - column)', ''),
                   1, '":objects" is missing'),
    'no domain': (GOOD.replace('(:domain blocksworld)', ''), 1, '":domain" is missing'),
    'no name': (GOOD.replace('(problem good)', '(problem)'), 1, 'needs one name'),
    'unknown type': (GOOD.replace('- block', '- cube'), 3, 'unknown type "cube"'),
    'type missing': (GOOD.replace('- block', '-'), 4, 'unknown type "c1"'),
    'either': (GOOD.replace('- block', '- (either block column)'), 3, 'as a type'),
    'object twice': (GOOD.replace('c1 c2 c3', 'c1 c2 C1'), 4, '"c1" is declared twice'),
    'bad name': (GOOD.replace('r g - block', 'r g ?x - block'), 3, '"?x" cannot be a name'),
    'not ASCII': (GOOD.replace('r g - block', 'r g b\u00e9 - block'), 3, 'cannot be a name'),
    'unknown predicate': (GOOD.replace('(on r g)', '(above r g)', 1), 5, 'predicate "above"'),
    'unknown object': (GOOD.replace('(clear r)', '(clear b)'), 5, 'unknown object "b"'),
    'unknown object in goal': (GOOD.replace('(not (on r g))', '(on r b)'), 9,
                               'unknown object "b"'),
    'too few arguments': (GOOD.replace('(clear r)', '(clear)'), 5, 'has 0 arguments'),
    'too many arguments': (GOOD.replace('(clear r)', '(clear r g)'), 5, 'has 2 arguments'),
    'wrong type': (GOOD.replace('(inColumn r c1)', '(inColumn c1 r)'), 6, 'is of type column'),
    'nested argument': (GOOD.replace('(clear r)', '(clear (r))'), 5, 'where a name belongs'),
    'a word for a fact': (GOOD.replace('(clear r)', 'clear'), 5, 'not a fact'),
    'numbers': (GOOD.replace('(clear r)', '(= (cost) 1)'), 5, 'unknown predicate "="'),
    'stated and denied': (GOOD.replace('(clear r)', '(clear r) (not (clear r))'), 5,
                          'stated and denied'),
    'disjunctive goal': (GOOD.replace('(and (inColumn r c2)', '(or (inColumn r c2)'), 8,
                         '"or" in the goal'),
    'quantified goal': (GOOD.replace('(not (on r g))', '(forall (?b - block) (clear ?b))'), 9,
                        '"forall" in the goal'),
    'doubly negated goal': (GOOD.replace('(not (on r g))', '(not (not (on r g)))'), 9,
                            'unknown predicate "not"'),
    'two goals': (GOOD.replace('(:goal', '(:goal (clear r)'), 8, 'needs one condition'),
    'deep nesting': (GOOD.replace('(clear r)', '(' * 100_000 + ')' * 100_000), 5, 'deep'),
}


@pytest.mark.parametrize('name', BAD)
def test_what_is_wrong_is_told_with_file_line_and_remedy(name: str) -> None:
    text, line, words = BAD[name]
    with pytest.raises(ProblemError) as caught:
        parse(text)
    message = str(caught.value)
    assert message.startswith(f'good.pddl:{line}: ') and words in message
    assert WHERE.fullmatch(message)


TOKENS = ['(', ')', '()', ' ', '-', 'and', 'not', '?x', 'r', 'c1', 'on', ':goal', '\0', '\n', ';',
          '\u0130', '\ud800', '((((', '0']
edits = st.lists(st.tuples(st.integers(0, len(GOOD)), st.integers(0, 8), st.sampled_from(TOKENS)),
                 min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(edits)
def test_mutilated_files_give_a_problem_or_a_problem_error(changes) -> None:
    text = GOOD
    for start, length, new in changes:
        text = text[:start] + new + text[start + length:]
    problem, message = None, ''
    try:
        problem = parse(text)
    except ProblemError as error:
        message = str(error)
    if problem is None:
        assert WHERE.fullmatch(message)
    else:
        assert parse(DOMAIN.write_problem(problem)).init == problem.init


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_in_a_file_give_a_problem_error(tmp_path_factory, data: bytes) -> None:
    path = tmp_path_factory.mktemp('bytes') / 'x.pddl'
    path.write_bytes(data)
    with pytest.raises(ProblemError, match=r'x\.pddl:\d+: '):
        DOMAIN.read_problem(path)


def test_files_that_are_none(tmp_path) -> None:
    for path in (tmp_path, tmp_path / 'missing.pddl'):
        with pytest.raises(ProblemError, match='cannot be read'):
            DOMAIN.read_problem(path)
    path = tmp_path / 'x.pddl'
    path.write_bytes(GOOD.encode().replace(b'(clear r)', b'(clear r\xe9)'))
    with pytest.raises(ProblemError, match=r'x\.pddl:5: not UTF-8'):
        DOMAIN.read_problem(path)
    path.write_bytes(b' ' * (1 << 20) + GOOD.encode())
    with pytest.raises(ProblemError, match='larger than'):
        DOMAIN.read_problem(path)
    path.write_bytes(b'\xef\xbb\xbf' + GOOD.encode())  # a byte order mark does no harm
    assert DOMAIN.read_problem(path).init == parse(GOOD).init


def test_a_folder_with_bad_files_gives_the_good_ones_and_the_errors(tmp_path) -> None:
    (tmp_path / 'b.pddl').write_text(GOOD)
    (tmp_path / 'a.PDDL').write_text(GOOD)
    (tmp_path / 'broken.pddl').write_text(GOOD[:-9])
    (tmp_path / 'folder.pddl').mkdir()
    (tmp_path / 'my_domain.pddl').write_text(DOMAIN.pddl)
    (tmp_path / 'notes.txt').write_text('hello')
    (tmp_path / 'index.yaml').write_text('problems: {b: {optimal_length: 4}}')
    problems, errors = read_folder(DOMAIN, tmp_path)
    assert [(p.name, p.optimal_length) for p in problems] == [('a', None), ('b', 4)]
    assert [WHERE.fullmatch(str(e)) is not None for e in errors] == [True, True]
    assert 'broken.pddl:' in str(errors[0]) and 'folder.pddl:' in str(errors[1])


def test_a_folder_with_a_broken_index_still_gives_its_problems(tmp_path) -> None:
    (tmp_path / 'b.pddl').write_text(GOOD)
    for text in ('[', 'problems: 3', 'problems: {b: {}}', '\0'):
        (tmp_path / 'index.yaml').write_text(text)
        problems, errors = read_folder(DOMAIN, tmp_path)
        assert len(problems) == 1 and len(errors) == 1 and 'index.yaml:' in str(errors[0])


def test_folders_without_problems(tmp_path) -> None:
    for folder in (tmp_path, tmp_path / 'missing'):
        with pytest.raises(InputError):
            read_folder(DOMAIN, folder)


def test_writing_is_canonical_and_takes_another_initial_state() -> None:
    problem = parse(GOOD)
    moved = frozenset({Atom('clear', ('r',)), Atom('incolumn', ('r', 'c3'))})
    text = DOMAIN.write_problem(problem, moved)
    again = parse(text)
    static = {a for a in problem.init if a.predicate in ('leftof', 'rightof')}
    assert again.init == moved | static
    assert again.goal == problem.goal
    assert DOMAIN.write_problem(problem, moved | static) == text
    assert DOMAIN.write_problem(problem, problem.init) == DOMAIN.write_problem(problem)


def test_given_static_facts_are_not_mixed_with_the_problems_own() -> None:
    init = frozenset({Atom('leftof', ('c2', 'c1'))})
    lines = DOMAIN.write_problem(parse(GOOD), init)
    assert '(leftof c2 c1)\n' in lines and '(leftof c1 c2)' not in lines and '(rightof c2' in lines


def test_odd_problem_names_do_not_spoil_the_text() -> None:
    problem = DOMAIN.parse_problem(GOOD, 'My (first) problem;', 'x')
    assert parse(DOMAIN.write_problem(problem)).init == problem.init


atoms = st.sets(st.sampled_from(DOMAIN.model(parse(GOOD)).atoms))


@settings(deadline=None)
@given(atoms, st.lists(st.sampled_from(DOMAIN.model(parse(GOOD)).atoms), unique=True),
       st.booleans())
def test_round_trip(init, goal, positive) -> None:
    closure = Closure(transitive=('leftof', 'rightof'), inverse={'leftof': 'rightof'})
    closed = closure.close(frozenset(init))
    problem = dataclasses.replace(parse(GOOD), init=closed,
                                  goal=tuple(Literal(a, positive) for a in goal))
    again = DOMAIN.parse_problem(DOMAIN.write_problem(problem), 'good', 'good.pddl')
    assert again == problem


BAD_DOMAINS = {
    'numbers': ('(:functions (cost))', 'functions (numbers) are not supported'),
    'durations': ('(:durative-action x)', 'not supported'),
    'derived': ('(:derived (q ?a) (p ?a))', 'not supported'),
    'type circle': ('(:types a - b b - a)', 'own ancestor'),
    'unknown predicate': ('(:action x :parameters () :effect (r))', 'unknown predicate "r"'),
    'unbound': ('(:action x :parameters () :effect (p ?a))', 'neither a variable'),
    'arity': ('(:action x :parameters (?a) :effect (p ?a ?a))', 'has 2 arguments'),
    'no effect': ('(:action x :parameters (?a))', 'has no effect'),
    'shadowing': ('(:action x :parameters (?a) :effect (forall (?a) (p ?a)))', 'hides'),
    'odd section': ('(:action x :parameters (?a) :effect)', 'not followed by a group'),
    'when': ('(:action x :parameters (?a) :effect (when (p ?a)))', '"when" without'),
    'twice': ('(:action x :effect ()) (:action x :effect ())', 'second action'),
    'or effect': ('(:action x :parameters (?a) :effect (or (p ?a) (p ?a)))', '"or"'),
    'parameter type': ('(:action x :parameters (?a - car) :effect (p ?a))', 'unknown type "car"'),
    'not a variable': ('(:action x :parameters (a) :effect (p ?a))', 'not a variable'),
}


@pytest.mark.parametrize('name', BAD_DOMAINS)
def test_domains_that_cannot_be_used(name: str) -> None:
    section, words = BAD_DOMAINS[name]
    with pytest.raises(DomainError) as caught:
        read_schema(f'(define (domain d)\n(:predicates (p ?x))\n{section})', 'd.pddl')
    assert str(caught.value).startswith('d.pddl:3: ') and words in str(caught.value)


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(DOMAIN.pddl)), st.integers(0, 8),
                          st.sampled_from(TOKENS)), min_size=1, max_size=4))
def test_mutilated_domains_give_a_schema_or_a_domain_error(changes) -> None:
    text = DOMAIN.pddl
    for start, length, new in changes:
        text = text[:start] + new + text[start + length:]
    message = 'd.pddl:1: none (none)'
    try:
        read_schema(text, 'd.pddl')
    except DomainError as error:
        message = str(error)
    assert WHERE.fullmatch(message)


def test_unknown_domains_and_splits_name_the_known_ones() -> None:
    with pytest.raises(DomainError, match='blocksworld'):
        load_domain('blockworlds')
    with pytest.raises(InputError, match='simple'):
        DOMAIN.split_problems('easy')


@pytest.mark.parametrize(('old', 'new', 'what'), [
    ('moveBlock', 'shift', 'actions'), ('clear', 'free', 'predicates'),
    ('block column', 'block - column column', 'types'),
    ('(?b1 - block ?c1 - column)', '(?c1 - column ?b1 - block)', 'actions')])
def test_a_domain_file_of_another_vocabulary_is_refused(tmp_path, old, new, what) -> None:
    path = tmp_path / 'other.pddl'
    path.write_text(DOMAIN.pddl.replace(old, new))
    with pytest.raises(DomainError, match=f'other.pddl:1: its {what} are'):
        load_domain('blocksworld', path)


def test_a_problem_is_parsed_and_written_once(monkeypatch):
    from sightplan.domains import domain as module
    domain = load_domain('blocksworld')
    text = domain.write_problem(domain.split_problems('simple')[0])
    count = Counter()

    def counted(name):
        function = getattr(module, name)

        def call(*arguments, **named):
            count[name] += 1
            return function(*arguments, **named)
        monkeypatch.setattr(module, name, call)
    counted('parse')
    counted('write')
    first = domain.parse_problem(text, 'read_twice')
    assert domain.parse_problem(text, 'read_twice') is first
    assert domain.parse_problem(text, 'of_another_name').name == 'of_another_name'
    written = [domain.write_problem(first) for _ in range(2)]
    turned = dataclasses.replace(first, objects=dict(reversed(first.objects.items())))
    assert written[0] == written[1] != domain.write_problem(turned)
    assert domain.write_problem(first, frozenset()) != written[0]
    assert count == {'parse': 2, 'write': 3}
