"""Folders of problems as authors publish them: splits, suite rules, scenes, domain files."""

import json
import re
import shutil

import pytest

from doubles import AUTHORS_HOME
from sightplan import cli
from sightplan.domains import load_domain
from sightplan.domains.scene_instances import read_instances
from sightplan.model import DomainError, InputError, Privileged
from sightplan.runs import EpisodePlan, RunSettings
from sightplan.runs.problem_folders import split_folders

BLOCKS, HOME = load_domain('blocksworld'), load_domain('household')
SPLITS = ('simple', 'medium', 'hard')
HOMES = ('Beechwood_0_int', 'Rs_int')


@pytest.fixture
def release(tmp_path):
    """Return a folder as the authors' release may be, with both domains and three splits."""
    root = tmp_path / 'data'
    for number, split in enumerate(SPLITS):
        folder = root / 'blocksworld/problems' / split
        folder.mkdir(parents=True)
        for count, problem in enumerate(BLOCKS.split_problems(split)[:2]):
            (folder / f'problem_{count}.pddl').write_text(BLOCKS.write_problem(problem))
        (folder / 'metadata.json').write_text(json.dumps({'problem_0': {'plan_length': 3}}))
        homes = root / 'igibson/problems' / split
        homes.mkdir(parents=True)
        (homes / f'cleaning_out_drawers_{number}.pddl').write_text(AUTHORS_HOME)
    (root / 'blocksworld/domain.pddl').write_text(BLOCKS.pddl)
    (root / 'igibson/domain.pddl').write_text(HOME.pddl)
    return root


def plan(folder, **values):
    values = {'domain': 'blocksworld', 'method': 'plan', 'backend': 'scripted',
              'backend_options': {'script': 'x'}, **values}
    return EpisodePlan(RunSettings(problems=str(folder), **values))


def rules_of(found):
    return [(spec.split, spec.max_actions, spec.stop_at_goal) for spec in found.items]


@pytest.mark.parametrize('place', ['.', 'blocksworld', 'blocksworld/problems'])
def test_a_folder_of_splits_gives_the_split_of_the_run_by_the_rules_of_the_suite(release, place):
    found = plan(release / place, split='medium')
    assert found.suite.name == 'viplan'
    assert rules_of(found) == 2 * [('medium', 20, True)]
    assert found.items[0].id == 'blocksworld/medium/problem_0#0'
    every = plan(release / place, split='all')
    assert rules_of(every) == [(split, count, True) for split, count in zip(
        SPLITS, (10, 20, 30), strict=True) for _ in range(2)]
    assert every.identity('')['max_actions'] == {'simple': 10, 'medium': 20, 'hard': 30}


@pytest.mark.parametrize('name', ['hard', 'hard/'])
def test_the_folder_of_one_split_is_known_by_its_name(release, name, monkeypatch):
    folder = f'{release}/blocksworld/problems/{name}'
    assert rules_of(plan(folder)) == 2 * [('hard', 30, True)]
    assert rules_of(plan(folder, method='ground', backend='noisy_oracle',
                         backend_options={'table': 'perfect'})) == 2 * [('hard', 20, False)]
    monkeypatch.chdir(folder)
    assert rules_of(plan('.')) == 2 * [('hard', 30, True)]


def test_homes_get_their_privileged_facts(release):
    found = plan(release, domain='household', split='all')
    assert [spec.privileged for spec in found.items] == 3 * [Privileged.ALWAYS]
    assert [spec.max_actions for spec in found.items] == [10, 20, 30]


def test_a_folder_with_another_name_has_no_suite_until_one_is_named(release):
    folder = (release / 'blocksworld/problems/hard').rename(release / 'mine')
    assert plan(folder).suite is None and rules_of(plan(folder)) == 2 * [('', 20, False)]
    named = plan(folder, suite='viplan', split='hard')
    assert rules_of(named) == 2 * [('hard', 30, True)]
    assert rules_of(plan(folder, suite='viplan', split='hard', max_actions=7,
                         stop_at_goal='no')) == 2 * [('hard', 7, False)]


def test_a_named_suite_without_a_split_rules_what_all_its_splits_have_in_common(tmp_path):
    sliding = load_domain('sliding')
    (tmp_path / 'mine').mkdir()
    name, text = sliding.problem_file(sliding.split_problems(sliding.splits[0])[0])
    (tmp_path / 'mine' / name).write_text(text)
    found = plan(tmp_path / 'mine', domain='sliding', suite='ivispar', method='idle')
    assert found.suite.name == 'ivispar' and rules_of(found) == [('', 20, True)]
    assert found.items[0].pictured_goal
    two = tmp_path / 'two'
    two.mkdir()
    (two / 'suite.yaml').write_text(
        'title: Two\nkind: episodes\ndomains: {sliding: {splits: [geoms, tiles], '
        'stop_at_goal: true, max_actions: {geoms: 5, tiles: 7}}}\n')
    differ = plan(tmp_path / 'mine', domain='sliding', suite=str(two), method='idle')
    assert rules_of(differ) == [('', 20, False)], 'its splits have different budgets'


def test_the_console_says_whose_rules_hold(release, tmp_path, capsys, caplog):
    command = ['run', '--method', 'idle', '--out', str(tmp_path / 'run'), '--problems']
    assert cli.main([*command, str(release), '--split', 'hard']) == 0
    said = caplog.text + capsys.readouterr().err
    assert ('2 problems, by the rules of suite viplan for hard, as the folder is named '
            '(hard: 20 actions, does not end at the goal)') in said
    folder = (release / 'blocksworld/problems/hard').rename(release / 'mine')
    caplog.clear()
    assert cli.main(['run', '--method', 'idle', '--out', str(tmp_path / 'b'), '--problems',
                     str(folder)]) == 0
    said = caplog.text + capsys.readouterr().err
    assert "no suite's rules hold" in said and '--suite viplan --split SPLIT' in said
    caplog.clear()
    assert cli.main(['run', '--method', 'idle', '--out', str(tmp_path / 'c'), '--problems',
                     str(folder), '--suite', 'viplan']) == 0
    assert 'for simple, as --split says' in caplog.text + capsys.readouterr().err


def test_a_missing_or_doubled_split_is_named(release):
    with pytest.raises(InputError, match=r"no problem files of split 'easy'.*hard.*\(hard\)"):
        plan(release / 'blocksworld', split='easy')
    copy = release / 'old/hard'
    copy.mkdir(parents=True)
    (copy / 'a.pddl').write_text(BLOCKS.write_problem(BLOCKS.split_problems('hard')[0]))
    with pytest.raises(InputError, match='several folders hold split hard: blocksworld.*old/hard'):
        plan(release, split='hard')
    assert rules_of(plan(release / 'old', split='hard')) == [('hard', 30, True)]


def test_a_split_that_nobody_named_is_not_missed(tmp_path):
    source = load_domain('sliding').split_folder('geoms')
    (tmp_path / 'mine').mkdir()
    shutil.copy(min(source.glob('*.json')), tmp_path / 'mine')
    with pytest.raises(InputError, match=r'no problem files of domain sliding; there are mine'):
        split_folders(RunSettings(domain='sliding', problems=str(tmp_path)),
                      load_domain('sliding'))


SHAPES = {
    'entries': {'cleaning_out_drawers_0.pddl': [{'scene': home, 'instance': number}
                                                for home in HOMES for number in (0, 1)]},
    'pairs': {'cleaning_out_drawers_0': [[home, number] for home in HOMES for number in (0, 1)]},
    'texts': {'cleaning_out_drawers_0': [[home, str(n)] for home in HOMES for n in (0, 1)]},
    'names': {'cleaning_out_drawers_0': [f'{home}_{n}' for home in HOMES for n in (0, 1)]},
    'mapping': {'cleaning_out_drawers_0': {home: [0, 1] for home in HOMES}},
    'scenes': {'cleaning_out_drawers_0': {'goal': 'x', 'scenes': {h: [0, 1] for h in HOMES}}},
    'list': [{'problem_file': 'a/b/cleaning_out_drawers_0.pddl', 'scene_id': home,
              'scene_instance': number} for home in HOMES for number in (0, 1)],
    'tasks': {'seed': 1, 'problems': [{'task': 'cleaning_out_drawers_0', 'scene': home,
                                       'instances': [0, 1]} for home in HOMES]},
    'paths': {f'{split}/cleaning_out_drawers_{number}.pddl': [[home, n] for home in HOMES
                                                              for n in range(number, 2)]
              for number, split in enumerate(SPLITS[:2])},
    'split': {'medium': {}, 'simple': {'cleaning_out_drawers_0': {
        'scene_instance_pairs': [[home, n] for home in HOMES for n in (0, 1)]}}},
}


@pytest.mark.parametrize('shape', SHAPES)
def test_metadata_makes_each_scene_instance_an_episode(release, shape):
    folder = release / 'igibson/problems'
    place = folder if shape in ('split', 'paths') else folder / 'simple'
    (place / 'metadata.json').write_text(json.dumps(SHAPES[shape]))
    found = plan(folder, domain='household')
    assert [spec.problem.name for spec in found.items] == [
        f'cleaning_out_drawers_0_{home}_{number}' for home in HOMES for number in (0, 1)]
    assert len({spec.seed for spec in found.items}) == 4
    assert {spec.split for spec in found.items} == {'simple'}
    assert len(plan(folder, domain='household', split='medium').items) == (
        2 if shape == 'paths' else 1)


def test_each_instance_has_a_home_of_its_own(release):
    from sightplan_sim.household.homes import make_home
    folder = release / 'igibson/problems/simple'
    (folder / 'metadata.json').write_text(json.dumps(SHAPES['pairs']))
    problems = [spec.problem for spec in plan(folder, domain='household').items]
    assert len({repr(make_home(problem)) for problem in problems}) == 4


def test_metadata_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / 'metadata.json'
    path.write_text(json.dumps({'a.pddl': [['Rs_int', 0]]}), 'utf-8-sig')
    assert read_instances(path, '', {'': ['a']}) == {'a': [('Rs_int', '0')]}


@pytest.mark.parametrize(('data', 'words'), [
    ({'other.pddl': [['Rs_int', 0]]}, ['other.pddl', 'no problem file other.pddl',
                                       'cleaning_out_drawers_0']),
    ({'cleaning_out_drawers_0': {'plan': ['x'], 'optimal': 3}},
     ['cleaning_out_drawers_0', 'names no scene', 'keys plan, optimal', '"scene"']),
    ({'version': 1}, ['names none of the problem files cleaning_out_drawers_0', 'remove']),
    ({'cleaning_out_drawers_0': [['Rs_int', 0], ['Rs_int', 0]]}, ['stands there twice']),
    ({'cleaning_out_drawers_0': [['../Rs', 0]]}, ["scene '../Rs'", 'letters']),
])
def test_metadata_that_cannot_be_read_is_named_with_the_remedy(tmp_path, data, words):
    path = tmp_path / 'metadata.json'
    path.write_text(json.dumps(data))
    with pytest.raises(InputError) as caught:
        read_instances(path, 'simple', {'simple': ['cleaning_out_drawers_0']})
    for word in (str(path), *words):
        assert word in str(caught.value), str(caught.value)
    path.write_text('{')
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_instances(path, 'simple', {'simple': ['x']})


def test_a_domain_file_may_have_types_that_nothing_is_about(tmp_path):
    text = HOME.pddl.replace('(domain household)', '(domain igibson)').replace(
        'container movable - object', 'container movable - object sliceable cutter - movable')
    theirs = load_domain('household', None, text)
    assert 'sliceable' in theirs.schema.types
    problem = theirs.parse_problem(
        AUTHORS_HOME.replace('bowl_1 - movable', 'bowl_1 - sliceable'), 'x')
    assert problem.objects['bowl_1'] == 'movable'
    assert theirs.parse_problem(AUTHORS_HOME, 'x').init == problem.init
    between = text.replace('container movable - object sliceable', 'container movable - item item '
                           '- object sliceable')
    assert load_domain('household', None, between).schema.types['movable'] == 'item'
    with pytest.raises(DomainError, match='its types are'):
        load_domain('household', None, text.replace('container movable - object',
                                                    'movable - object container - movable'))
    with pytest.raises(DomainError, match='its predicates are'):
        load_domain('household', None, text.replace('(reachable ?o - object)',
                                                    '(reachable ?o - sliceable)', 1))
