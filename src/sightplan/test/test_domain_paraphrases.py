"""Questions of a domain in people's own words, and questions that have nothing to do with it."""

from pathlib import Path

import pytest
import yaml

from sightplan.domains import load_domain
from sightplan.domains.paraphrases import Meaning
from sightplan.model import Atom, DomainError

QUESTIONS = Path(__file__).parents[3] / 'studies' / 'data' / 'questions'
MADE_FOR = ('blocksworld', 'household')


def _lists(key: str) -> list:
    return [one for file in ('tuned', 'held_out')
            for one in yaml.safe_load((QUESTIONS / f'{file}.yaml').read_text('utf-8'))[key]]


def _meaning(name: str, fact: str) -> Meaning:
    opposite, fact = fact.startswith('not '), fact.removeprefix('not ')
    predicate, *args = fact.split()
    return Meaning(load_domain(name).question(Atom(predicate, tuple(args))).text, opposite)


@pytest.mark.parametrize('name', MADE_FOR)
def test_of_200_unrelated_questions_at_most_2_are_read(name):
    unrelated, domain = _lists('unrelated'), load_domain(name)
    assert len(unrelated) >= 200
    assert len([text for text in unrelated if domain.read_question(text)]) <= 2


@pytest.mark.parametrize('name', MADE_FOR)
def test_people_s_wordings_are_read_as_what_they_mean(name):
    domain = load_domain(name)
    read = [(domain.read_question(text), _meaning(name, fact)) for text, fact in _lists(name)]
    assert all(found in (None, meant) for found, meant in read)
    assert sum(found is not None for found, _ in read) >= 0.9 * len(read)


@pytest.mark.parametrize('name', MADE_FOR)
def test_the_domain_s_own_questions_are_read_as_themselves(name):
    domain = load_domain(name)
    for problem in domain.split_problems(domain.splits[0])[:3]:
        for atom in domain.worth_asking(problem):
            text = domain.question(atom).text
            if len(set(atom.args)) == len(atom.args):
                assert domain.read_question(text) == Meaning(text)


def test_a_domain_without_paraphrases_reads_its_own_wordings_alone():
    domain = load_domain('sliding')
    problem = domain.split_problems(domain.splits[0])[0]
    text = domain.question(domain.worth_asking(problem)[0]).text
    assert domain.read_question(text) == Meaning(text)
    assert domain.read_question(f'please {text}') is None


def test_a_wording_that_names_what_is_not_there_is_refused_with_its_file(tmp_path):
    import shutil
    folder = tmp_path / 'blocks'
    shutil.copytree(load_domain('blocksworld').folder, folder, ignore=shutil.ignore_patterns(
        'problems', '__pycache__'))
    (folder / 'paraphrases.yaml').write_text(
        "objects: {block: {name: red, forms: [NAME]}}\n"
        "predicates: {clear: {same: ['is {0} <tidy>']}}\n")
    with pytest.raises(DomainError, match=r'paraphrases.yaml:1: clear: .*<tidy>. stands for'):
        load_domain(str(folder)).read_question('is red tidy?')


@pytest.mark.parametrize('text', [
    'Is the red block in column 2?', 'Is red in column number 2?', 'is red in c2',
    'Is the red block part of the c2 column?', 'Does stack 2 contain the red cube?'])
def test_a_column_is_named_by_its_number_or_its_label(text):
    assert load_domain('blocksworld').read_question(text) == _meaning(
        'blocksworld', 'incolumn r c2')


@pytest.mark.parametrize('text', ['Is the red block in 2?', 'Is the red block in column 9?'])
def test_a_bare_number_and_a_number_without_a_column_are_no_column(text):
    assert load_domain('blocksworld').read_question(text) is None
