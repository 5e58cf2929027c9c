"""Suites: found by name and by path, with modules of their own, in a run from end to end."""

import json

import pytest

from doubles import MemoryWorld, SearchPlanner
from sightplan.metrics import measures
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan.runs import RunSettings, load_suite, measures_of, run, suite_names, suite_of_run

RULES = """
title: Mine
kind: episodes
domains:
  blocksworld: {splits: [simple], max_actions: 9}
"""
SCORING = '''
from sightplan.metrics.episodes import EPISODE_MEASURES, episode_measures
from sightplan.metrics.measures import MEAN, Measure

from .words import ABOUT

MEASURES = (*EPISODE_MEASURES, Measure('actions_per_block', ABOUT, MEAN, None))


def measures(line, solved):
    return {**episode_measures(line, solved),
            'actions_per_block': None if solved is None else line['executed'] / 3}


def summarise(lines):
    return {'last': lines[-1]['id']}
'''
NUMBERS = {'aliases': {'mine-1.0': 'mine'}, 'rows': [
    {'where': {'split': 'simple', 'failure_probability': 0.0}, 'model': 'Mine',
     'measure': 'solved', 'value': 0.5, 'sem': 0.1, 'n': 25, 'source': 'table 1'}]}


@pytest.fixture
def folder(tmp_path):
    """A suite outside of the repository."""
    found = tmp_path / 'mine'
    found.mkdir()
    for name, text in (('suite.yaml', RULES), ('scoring.py', SCORING),
                       ('words.py', "ABOUT = 'actions over blocks'\n"),
                       ('published.json', json.dumps(NUMBERS))):
        (found / name).write_text(text)
    return found


def test_a_suite_is_found_by_the_path_of_its_folder(folder):
    suite = load_suite(str(folder))
    assert (suite.name, suite.folder, suite.paper) == ('mine', folder, '')
    own = suite.measures('episodes')
    assert own[-1].about == 'actions over blocks'  # a relative import works
    assert suite.primary('episodes').name == 'solved' and measures_of(suite) == own
    assert not list(suite.tables(())) and 'mine' not in suite_names()


def test_its_published_numbers_are_found_by_all_that_they_are_of(folder):
    suite = load_suite(str(folder))
    where = {'split': 'simple', 'failure_probability': 0}
    found = suite.published.find('MINE-1.0', 'solved', **where)
    assert (found.value, found.sem, found.n, found.source) == (.5, .1, 25, 'table 1')
    assert suite.published.find('mine', 'steps', **where) is None
    assert suite.published.find('mine', 'solved', split='simple') is None
    assert suite.published.model_name('mine-1.0') == 'Mine'
    assert suite.published.model_name('yours') is None


def test_a_run_of_it_has_its_rules_its_measures_and_its_summary(folder, tmp_path):
    settings = RunSettings(suite=str(folder), method='oracle', episodes=3,
                           out=str(tmp_path / 'run'))
    summary = run(settings, world=MemoryWorld(), planner=SearchPlanner())
    lines = RunStore(tmp_path / 'run').lines()
    assert {(line['suite'], line['kind'], line['max_actions']) for line in lines} == {
        ('mine', 'episode', 9)}
    assert summary['last'] == lines[-1]['id'] and 'action_accuracy' not in summary
    found = summary['measures']['actions_per_block']
    assert found['value'] == pytest.approx(sum(line['executed'] for line in lines) / 9)
    assert found['n'] == found['clusters'] == summary['items'] == summary['episodes'] == 3
    assert all(measures.solved(line) for line in lines) and summary['solved'] == 3
    again = suite_of_run(RunStore(tmp_path / 'run').run_info())
    assert again.folder == folder


def test_a_run_without_a_suite_has_the_measures_of_every_episode(tmp_path):
    summary = run(RunSettings(method='oracle', episodes=1, out=str(tmp_path / 'run'),
                              suite='viplan'), world=MemoryWorld(), planner=SearchPlanner())
    assert set(summary['measures']) == {
        'solved', 'steps', 'questions', 'predicate_accuracy', 'optimality', 'action_accuracy'}
    assert {m.name for m in measures_of(None)} == set(summary['measures']) - {
        'action_accuracy'}
    line, = RunStore(tmp_path / 'run').lines()
    assert line['cluster'] == line['id'].removesuffix('#0') and line['cause'] is None
    assert len(line['answer']) == line['executed'] == line['measures']['steps']
    assert line['measures']['optimality'] == 1.0


@pytest.mark.parametrize(('file', 'content', 'said'), [
    ('scoring.py', 'import no_such_module\n', 'cannot be imported: ModuleNotFoundError'),
    ('scoring.py', 'def (', 'cannot be imported: SyntaxError')])
def test_a_module_that_cannot_be_used_is_named(folder, file, content, said):
    (folder / file).write_text(content)
    suite = load_suite(str(folder))
    with pytest.raises(InputError, match=said) as caught:
        suite.module('scoring')
    assert str(folder / file) in str(caught.value)


def test_what_is_missing_is_named(folder, tmp_path):
    with pytest.raises(InputError, match=r'report\.py is missing'):
        load_suite(str(folder)).module('report')
    with pytest.raises(InputError, match=r'suite\.yaml is missing'):
        load_suite(str(tmp_path))
    (folder / 'published.json').write_text('{"rows": [{"model": "m"}]}')
    with pytest.raises(InputError, match=r'published\.json: rows\.0\.where is missing') as caught:
        load_suite(str(folder)).published.find('m', 'solved')
    assert 'rows.0.value is missing' in str(caught.value)
    with pytest.raises(InputError, match='has no split .hard. of blocksworld'):
        run(RunSettings(suite=str(folder), split='hard', method='idle', out=str(tmp_path / 'run')),
            world=MemoryWorld())
    assert not (tmp_path / 'run').exists()


@pytest.mark.parametrize(('text', 'said'), [
    ('title: T\nkind: episodes\n', 'a suite of episodes has domains'),
    ('title: T\nkind: samples\n', 'a suite of samples has splits'),
    (f'{RULES.replace("episodes", "both")}', 'a suite of both has domains'),
    (f'{RULES.replace("episodes", "both")}splits: [a, simple]\n',
     'simple is one of blocksworld, of episodes .choose another name'),
    ('title: T\nkind: samples\nsplits: [samples]\n', 'samples stands for all of them'),
    ('title: T\nkind: samples\nsplits: [a]\nsizes: 3\n', 'sizes is unknown .known: title, paper')])
def test_rules_must_fit_its_kind(tmp_path, text, said):
    (tmp_path / 'suite.yaml').write_text(text)
    with pytest.raises(InputError, match=said):
        load_suite(str(tmp_path))
