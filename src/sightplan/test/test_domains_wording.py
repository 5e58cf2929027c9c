"""Questions, names of objects, and goals in words."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shutil

import pytest

from sightplan.domains import Domain, domain_names, load_domain
from sightplan.model import Atom, DomainError, InputError, Literal, ProblemError, Question

DOMAIN = load_domain('blocksworld')


@pytest.mark.parametrize(('atom', 'text'), [
    ('on r,g', 'Is the red block on top of the green block?'),
    ('on r,r', 'Is the red block on top of the red block?'),
    ('incolumn b,c2', 'Is the blue block in the column labeled "c2"?'),
    ('clear y', 'Is the yellow block the topmost of its column?'),
    ('leftof c1,c2', 'Is the column labeled "c1" to the left of the column labeled "c2"?'),
    ('rightof c4,c3', 'Is the column labeled "c4" to the right of the column labeled "c3"?'),
    ('on block_p,orange', 'Is the purple block on top of the orange block?'),
    ('clear a', 'Is the block named "a" the topmost of its column?'),
])
def test_questions(atom: str, text: str) -> None:
    question = DOMAIN.question(Atom.parse(atom))
    assert (question.atom, question.text) == (Atom.parse(atom), text)


@pytest.mark.parametrize('atom', ['above r,g', 'on r', 'clear r,g'])
def test_atoms_of_other_vocabularies_have_no_question(atom: str) -> None:
    with pytest.raises(InputError, match='not an atom of this domain'):
        DOMAIN.question(Atom.parse(atom))


def problem_with(*names: str):
    return DOMAIN.parse_problem(
        f'(define (problem p) (:domain blocksworld) (:objects {" ".join(names)} - block) '
        '(:init) (:goal ()))', 'p')


@pytest.mark.parametrize(('name', 'key'), [
    ('r', 'r'), ('R', 'r'), ('red', 'r'), ('red_block', 'r'), ('block_red', 'r'),
    ('block-r', 'r'), ('b_red', 'r'), ('redblock', 'r'), ('blockred', 'r'), ('red1', 'r'),
    ('b', 'b'), ('block_b', 'b'), ('Orange', 'o')])
def test_names_that_tell_the_colour(name: str, key: str) -> None:
    assert DOMAIN.identify(problem_with(name), 'block') == {name.lower(): key}


@pytest.mark.parametrize('name', ['a', 'b1', 'block1', 'b_1', 'red_green', 'infrared', 'brr'])
def test_names_that_do_not_tell_the_colour(name: str) -> None:
    with pytest.raises(ProblemError, match=rf'p:1: .*"{name}" says nothing.*\(known: r \(red\)'):
        DOMAIN.identify(problem_with(name), 'block')


@pytest.mark.parametrize(('names', 'message'), [
    ('r\n  a1 - block', '4: the name of block "a1" says nothing'),
    ('r\n  Red - block', '4: two objects of type block stand for "r"')])
def test_the_line_of_the_object_is_named(tmp_path, names: str, message: str) -> None:
    path = tmp_path / 'x.pddl'
    path.write_text('(define (problem red) ; a1 red\n  (:domain blocksworld)\n'
                    f'  (:objects {names})\n  (:init) (:goal ()))')
    with pytest.raises(ProblemError, match=re.escape(f'{path}:{message}')):
        DOMAIN.identify(DOMAIN.read_problem(path), 'block')


def test_two_blocks_of_one_colour_are_refused() -> None:
    with pytest.raises(ProblemError, match='two objects of type block stand for "r"'):
        DOMAIN.identify(problem_with('r', 'red'), 'block')


def goal_text(*literals: str) -> str:
    goal = tuple(Literal(Atom.parse(x.removeprefix('not ')), not x.startswith('not '))
                 for x in literals)
    problem = DOMAIN.parse_problem(
        '(define (problem p) (:domain blocksworld) (:objects g r b - block c1 c2 - column) '
        '(:init) (:goal ()))', 'p')
    return DOMAIN.goal_text(dataclasses.replace(problem, goal=goal))


def test_goal_is_a_sentence_a_block_in_the_order_of_objects() -> None:
    assert goal_text('on r,g', 'clear r', 'incolumn r,c1', 'incolumn g,c1') == (
        "The green block needs to be in the column with label 'c1'.\n"
        'The red block needs to be on top of the green block, needs to be the topmost block in '
        "its column and needs to be in the column with label 'c1'.")


def test_goals_of_one_or_two_facts_and_denied_ones() -> None:
    assert goal_text('clear b') == 'The blue block needs to be the topmost block in its column.'
    assert goal_text('clear b', 'not on b,r') == (
        'The blue block needs to be the topmost block in its column and must not be on top of '
        'the red block.')
    assert goal_text() == ''


def test_a_goal_fact_without_wording_is_told() -> None:
    with pytest.raises(InputError, match='p: goal: leftof c1,c2: no wording for leftof'):
        goal_text('leftof c1,c2')


def test_question_hash_is_that_of_the_file() -> None:
    data = (DOMAIN.folder / 'questions.yaml').read_bytes()
    assert DOMAIN.question_hash == hashlib.sha256(data).hexdigest()[:12]


@pytest.fixture
def folder(tmp_path):
    copy = tmp_path / 'blocksworld'
    shutil.copytree(DOMAIN.folder, copy, ignore=shutil.ignore_patterns('problems', '*.py'))
    return copy


def test_a_copied_folder_works(folder) -> None:
    domain = Domain(folder)
    assert domain.part('generator') is None
    with pytest.raises(InputError, match='no problem generator'):
        _ = domain.generator


@pytest.mark.parametrize(('file', 'old', 'new', 'words'), [
    ('questions.yaml', 'clear:', 'free:', "predicates: unknown name 'free'"),
    ('questions.yaml', '"on":', 'on:', 'quote "on"'),
    ('questions.yaml', "  clear: 'Is", "  # clear: 'Is", 'nothing about clear'),
    ('questions.yaml', 'of the {1}?', 'of the {2}?', 'bad placeholder'),
    ('questions.yaml', 'predicates:', 'predicates: [', 'not YAML'),
    ('questions.yaml', "unnamed: 'col", "nameless: 'col", 'objects.column.nameless is unknown'),
    ('questions.yaml', "unnamed: 'col", "unnamed: '{nam} col",
     'objects.column.unnamed: bad placeholder {nam} in'),
    ('questions.yaml', "named: '{word} bl", "named: '{words} bl",
     'objects.block.named: bad placeholder {words} in'),
    ('questions.yaml', '{0} on top', '{0.x} on top', 'predicates.on: bad placeholder'),
    ('questions.yaml', 'clear:', 'clear: x\n  clear:', "line 7: the key 'clear' stands twice"),
    ('goal.yaml', 'sentence:', 'phrase:', 'sentence is missing'),
    ('goal.yaml', '{facts}', '{fact}', 'sentence: bad placeholder {fact} in'),
    ('goal.yaml', 'The {0} {facts}', 'The {1} {facts}', 'sentence: bad placeholder {1} in'),
    ('goal.yaml', 'The {0} {facts}', 'The {0:d} {facts}', 'sentence: bad placeholder in'),
    ('goal.yaml', 'The {0} {facts}', 'The {0 {facts}', 'sentence: bad placeholder in'),
    ('goal.yaml', 'The {0} {facts}', 'It {facts}', 'sentence: {0} missing in'),
    ('goal.yaml', 'The {0} {facts}', 'The {0}', 'sentence: {facts} missing in'),
    ('goal.yaml', 'The {0} {facts}', 'It', 'sentence: {0} and {facts} missing in'),
    ('goal.yaml', "label '{name1}'", "label '{name7}'", 'bad placeholder'),
    ('domain.yaml', '[leftof, rightof]', '[leftof, clear]', "closure: unknown name 'clear'"),
    ('domain.yaml', 'transitive: [leftof, rightof]', 'transitive: 7', 'closure.transitive = 7'),
    ('domain.pddl', '(:types', '(:kinds', 'section :kinds'),
])
def test_broken_folders_name_the_file_and_the_reason(folder, file, old, new, words) -> None:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(DomainError) as caught:
        Domain(folder)
    assert str(caught.value).startswith(f'{path}:') and words in str(caught.value)


@pytest.mark.parametrize('name', domain_names())
def test_every_question_of_a_domain_is_about_its_own_atom_alone(name: str) -> None:
    domain = load_domain(name)
    problem = domain.split_problems(domain.splits[0])[0]
    questions = [domain.question(atom) for atom in domain.worth_asking(problem)]
    assert questions
    for asked, other in zip(questions, [*questions[1:], questions[0]], strict=True):
        domain.check_question(asked)
        domain.check_question(Question(asked.atom, 'How is that?'))
        if other.text != asked.text:
            with pytest.raises(InputError, match='is not about'):
                domain.check_question(Question(asked.atom, other.text))


@pytest.mark.parametrize('file', ['domain.pddl', 'questions.yaml', 'goal.yaml', 'prompts.yaml'])
def test_missing_files_are_named(folder, file) -> None:
    (folder / file).unlink()
    with pytest.raises(DomainError, match=f'{file}:1: cannot be read'):
        Domain(folder)
