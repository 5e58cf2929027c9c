"""Domains as other people and tools write them: read, planned in, or refused by name."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import yaml

from sightplan import cli
from sightplan.domains import load_domain
from sightplan.domains.planner_files import planner_files
from sightplan.domains.problem_files import Closure, parse
from sightplan.domains.schema import TRUE, And, Not, Or, Pattern, Same, read_schema
from sightplan.model import DomainError, PlanningStatus, PlanningTask
from sightplan.planning.symbolic import FastDownwardPlanner

DOMAIN = """\
(define (domain shelf)
(:requirements :strips :typing)
(:types book board)
(:predicates (on ?b - book ?s - board) (held ?b - book) (handempty))
(:action take :parameters (?b - book ?s - board) :precondition (and (on ?b ?s) (handempty))
 :effect (and (held ?b) (not (on ?b ?s)) (not (handempty))))
(:action put :parameters (?b - book ?s - board) :precondition (held ?b)
 :effect (and (on ?b ?s) (handempty) (not (held ?b)))))
"""
PROBLEM = """\
(define (problem p) (:domain shelf)
(:objects red green - book upper lower - board)
(:init (on red upper) (on green upper) (handempty))
(:goal (and (on red lower))))
"""
PLAN = ['take(red, upper)', 'put(red, lower)']
_TYPES, _PREDICATES = DOMAIN.splitlines()[2:4]


@pytest.fixture(scope='module')
def planner() -> Any:
    with FastDownwardPlanner() as found:
        yield found


@pytest.mark.parametrize(('old', 'new'), [
    (':strips :typing', ':strips :typing :numeric-fluents :durative-actions'),
    (':strips :typing', ':strips :typping'),
    ('(:requirements :strips :typing)\n', ''),
    ('(:requirements :strips :typing)', '(:requirements)'),
    (f'{_TYPES}\n{_PREDICATES}', f'{_PREDICATES}\n{_TYPES}'),
    (f'{_PREDICATES}\n{DOMAIN[DOMAIN.index("(:action"):-2]}',
     f'{DOMAIN[DOMAIN.index("(:action"):-2]}\n{_PREDICATES}'),
    (_TYPES, f'{_TYPES} (:functions)'), (_TYPES, f'{_TYPES} (:constants)'),
    ('(handempty))\n :effect', '(handempty) ())\n :effect'),
    ('(not (held ?b))', '(not (held ?b)) ()'), ('(not (held ?b))', '(and) (not (held ?b))'),
    (':precondition (held ?b)', ':precondition (and (held ?b) (forall () (held ?b)))'),
    (':precondition (held ?b)', ':precondition (or (not (or (not (held ?b)))))'),
    ((':parameters (?b - book ?s - board) :precondition (held ?b)\n '
     ':effect (and (on ?b ?s) (handempty) (not (held ?b)))'),
     (':effect (forall (?b - book ?s - board) (when (held ?b) (and (on ?b ?s) (handempty)))) '
     ':precondition () :parameters ()')),
    ('book board', 'book board number either'), ('board', 'bürd'), ('?b', '?büch'),
    ('?s - board', '?s -board'), ('book', 'BOOK'), ('board', '2nd_board'),
    ('\n', '\r\n'), ('(:types', '; a comment\r(:types')])
def test_what_planners_refuse_is_planned_in(planner: FastDownwardPlanner, old: str, new: str,
                                            ) -> None:
    assert old in DOMAIN
    domain, problem = DOMAIN.replace(old, new), PROBLEM
    if not old.isspace() and old[:4] in ('boar', 'book'):
        problem = PROBLEM.replace(f'- {old}', f'- {new}') if ' ' not in old else PROBLEM
    for search in ('lama-first', 'short'):
        result = planner.plan(PlanningTask(domain, problem, search), 60.0)
        assert result.status is PlanningStatus.SOLVED, result.message
        plan = [str(action) for action in result.plan or ()]
        assert plan[:1] == PLAN[:1] and len(plan) == 2


@pytest.mark.parametrize('name', ['blocksworld', 'household', 'tabletop'])
def test_what_a_planner_gets_says_what_the_domain_file_says(name: str) -> None:
    domain = load_domain(name)
    problem = domain.split_problems(domain.splits[0])[0]
    files = planner_files(problem)
    read = read_schema(files.domain)
    for own, other in ((domain.schema.actions, read.actions),
                       (domain.schema.predicates, read.predicates)):
        assert list(own) == list(other)
    assert read.types == domain.schema.types and read.constants == domain.schema.constants
    for action in domain.schema.actions.values():
        again = read.actions[action.name]
        assert (again.parameters, again.effects) == (action.parameters, action.effects)
        assert again.precondition == action.precondition
    again = parse(read, Closure(), files.problem, name=problem.name, domain=name,
                  domain_pddl=problem.domain_pddl, source='text')
    assert dataclasses.replace(again, source='') == dataclasses.replace(
        problem, source='', optimal_length=None, known=frozenset(), plans={},
        instruction=again.instruction)


def test_conditions_that_always_or_never_hold_are_written_as_such() -> None:
    text = DOMAIN.replace('(held ?b)\n', '(and () (or (handempty) ()) (not (or)) (= ?s ?s) '
                                         '(imply (handempty) (held ?b)))\n')
    read = read_schema(planner_files(parse(
        read_schema(text), Closure(), PROBLEM, name='p', domain='', domain_pddl=text,
        source='')).domain)
    assert read.actions['put'].precondition == And((
        TRUE, Not(Or(())), Same('?s', '?s'),
        Or((Not(Pattern('handempty', ())), Pattern('held', ('?b',))))))


def test_numbers_are_refused_by_name() -> None:
    with pytest.raises(DomainError, match=r'domain text:3: functions \(numbers\) are not '
                                          r'supported \(remove them; an empty section may stay'):
        read_schema(DOMAIN.replace(_TYPES, f'{_TYPES} (:functions (total-cost))'))


@pytest.mark.parametrize('word', ['and', 'when', 'increase'])
def test_predicates_called_like_words_of_pddl_are_refused_by_name(word: str) -> None:
    with pytest.raises(DomainError, match=f'domain text:4: "{word}" is a word of PDDL itself'):
        read_schema(DOMAIN.replace('held', word))


def folder(path: Path, **files: str) -> Path:
    """A domain folder with everything that it needs; ``files`` replace some."""
    facts = {'handempty': 'Is the hand empty?', 'held': 'Is {0} held?', 'on': 'Is {0} on {1}?'}
    words = {'about': 'does it', 'preconditions': ['It can.'], 'effects': ['It is done.']}
    found = {
        'domain.pddl': DOMAIN, 'problems/one/p1.pddl': PROBLEM,
        'questions.yaml': yaml.safe_dump({'predicates': facts}),
        'goal.yaml': yaml.safe_dump({
            'sentence': 'The {0} {facts}.', 'separator': ', ', 'last_separator': ' and ',
            'facts': {'on': 'must be on {1}'}}),
        'prompts.yaml': yaml.safe_dump({'environment': 'A shelf.', 'actions': {
            name: {**words, 'phrase': f'{name} {{book1}}', 'parameters': {
                'book1': 'the book', 'board2': 'the board'}} for name in ('take', 'put')}}),
        **files}
    for name, text in found.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(text.encode('latin-1'))
    return path


def test_a_folder_as_a_stranger_leaves_it_is_run(tmp_path: Path, capsys: Any) -> None:
    """Names in any case, copies of a Mac, problems called after their domain, digits in names."""
    questions = yaml.safe_dump({'predicates': {
        'handEmpty': 'Is the hand empty?', 'Held': 'Is {0} held?', 'on': 'Is {0} on {1}?'}})
    place = folder(tmp_path / 'shelf', **{
        'questions.yaml': questions, 'problems/one/._p1.pddl': '\x00\x05\x16\x07\xff',
        'problems/one/subdomain1.pddl': PROBLEM, 'problems/one/domain.pddl': DOMAIN})
    domain = load_domain(str(place))
    assert [problem.name for problem in domain.split_problems('one')] == ['p1', 'subdomain1']
    assert cli.main(['run', '--domain', str(place), '--split', 'one', '--method', 'oracle',
                     '--out', str(tmp_path / 'run')]) == 0
    assert '2 of 2: 1.000' in capsys.readouterr().out
    twice = questions.replace('Held', 'handempty')
    (place / 'questions.yaml').write_text(twice)
    with pytest.raises(DomainError, match='names one thing twice .names of PDDL fold case'):
        load_domain(str(folder(tmp_path / 'other', **{'questions.yaml': twice})))
