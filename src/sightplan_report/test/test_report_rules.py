"""One run is one row: what a suite rules for each split does not tear a report apart."""

import json

import pytest

from report_cases import SPLITS, line, write_run
from sightplan.agent import method_names, needs_model
from sightplan.model import InputError
from sightplan.runs import RunSettings, load_suite, specify, suite_names
from sightplan.runs.rules import RULES, of_suite
from sightplan_report.conditions import condition_of, for_methods
from sightplan_report.results import gather
from sightplan_report.tables import make_tables

EPISODES = [(name, domain, protocol) for name in suite_names()
            for domain in load_suite(name).domains
            for protocol in ('ours', *load_suite(name).protocols)]
SMALL = {'predicates': {'count': 1, 'domain': 'blocksworld'}, 'grounded_plan': {'count': 1},
         'point_it_out': {'count': 1}}


def rows_of(path, name='success', **wanted):
    return [row for table in make_tables(gather(path)) if table.name == name
            for row in table.rows if all(row[key] == value for key, value in wanted.items())]


def run_by_split(folder, method='ground', domain='blocksworld', solved=(4, 3, 2), **fields):
    """Runs of one split each, as "sightplan run" records them."""
    for split, count in zip(SPLITS, solved, strict=True):
        write_run(folder / f'{domain}-{method}-{split}', [
            line(number, number < count, split=split, method=method, domain=domain)
            for number in range(5)], split=split, method=method, domain=domain, **fields)


# Every rule of every suite


@pytest.mark.parametrize(('name', 'domain', 'protocol'), EPISODES)
def test_no_rule_of_a_suite_tells_the_splits_of_a_run_apart(name, domain, protocol):
    suite, checked = load_suite(name), 0
    splits = suite.domains[domain].splits
    for method in method_names():
        try:
            found = [specify(RunSettings(suite=name, domain=domain, split=split, method=method,
                                         protocol=protocol)
                             ).identity('a model' if needs_model(method) else '')
                     for split in splits]
        except InputError:  # the method cannot be used in this domain, or wants an option
            continue
        by_split = {field for field in found[0] if all(
            isinstance(identity[field], dict) and set(identity[field]) == {split}
            for split, identity in zip(splits, found, strict=True))}
        assert by_split == set(RULES), 'all that an identity has by split is a rule'
        for split, identity in zip(splits, found, strict=True):
            for rule in RULES:
                assert identity[rule] == {split: of_suite(rule, suite, domain, method, split,
                                                          protocol)}
        conditions = {condition_of(identity, suite) for identity in found}
        assert len(conditions) == 1, method
        fields = dict(conditions.pop())
        assert not fields.keys() & set(RULES) and fields['protocol'] == protocol
        checked += 1
    assert checked > 10


@pytest.mark.parametrize('name', [
    name for name in suite_names() if load_suite(name).splits])
def test_no_content_of_a_split_tells_the_samples_of_a_run_apart(name):
    suite = load_suite(name)
    parts = [specify(RunSettings(suite=name, split=split, method='random',
                                 suite_options=SMALL.get(name, {}))).identity('')
             for split in suite.splits]
    whole = specify(RunSettings(suite=name, split='samples', method='random',
                                suite_options=SMALL.get(name, {}))).identity('')
    assert len({condition_of(identity, suite) for identity in (*parts, whole)}) == 1
    other = {**whole, 'samples': {split: {**part, 'form': 'x'} if isinstance(part, dict) else part
                                  for split, part in whole['samples'].items()}}
    assert condition_of(other, suite) != condition_of(whole, suite), 'how they are shown counts'


# Rows


def test_three_splits_run_one_by_one_are_one_row_beside_the_papers_mean(tmp_path):
    run_by_split(tmp_path)
    (row,) = rows_of(tmp_path)
    assert row['mean'] == pytest.approx(.6) and row['mean_splits'] == 'simple, medium, hard'
    assert row['paper_mean'] == pytest.approx(2.24 / 3) and row['paper_five'] == .47
    assert row['variant'] is None
    assert len(rows_of(tmp_path, 'figure5')) == 3 and len(rows_of(tmp_path, 'model_table')) == 1


def test_two_methods_in_two_domains_are_nine_rows(tmp_path):
    for domain in ('blocksworld', 'household'):
        for method in ('ground', 'ground_cot'):
            run_by_split(tmp_path, method, domain)
    # Each method in each domain, their mean in each, and all three in both domains together.
    assert len(rows_of(tmp_path)) == 9
    assert len(rows_of(tmp_path, domain='all')) == 3


@pytest.mark.parametrize('missing', ['simple', 'hard'])
def test_the_papers_mean_needs_all_of_its_splits_in_every_domain(tmp_path, missing):
    for domain in ('blocksworld', 'household'):
        run_by_split(tmp_path, domain=domain)
        for path in (tmp_path / f'{domain}-ground-{missing}').iterdir():
            path.unlink()
    found = rows_of(tmp_path)
    assert [row['domain'] for row in found] == ['blocksworld', 'household', 'all']
    for row in found:
        assert row['mean'] is not None and missing not in row['mean_splits']
        assert row['paper_mean'] is None and row['paper_five'] is None


@pytest.mark.parametrize('setting', [{'max_actions': 20}, {'stop_at_goal': 'yes'},
                                     {'goal': 'pictured'}])
def test_a_rule_that_a_person_chose_is_one_condition_of_all_splits(tmp_path, setting):
    # The suite gives a planning model 10, 20 and 30 actions: 20 is its own in one split alone.
    (name, chosen), = setting.items()
    value = True if chosen == 'yes' else chosen
    for split in SPLITS:
        folder = write_run(tmp_path / split, [line(0, split=split, method='plan')], split=split,
                           method='plan', **{name: {split: value}})
        info = json.loads((folder / 'run.json').read_text())
        info['sessions'][-1]['settings'][name] = chosen
        (folder / 'run.json').write_text(json.dumps(info))
    (group,) = gather(tmp_path).groups
    assert dict(group.condition).get(name) == (None if name == 'stop_at_goal' else value)


def test_another_goal_than_the_suites_is_another_row_without_the_papers_numbers(tmp_path):
    run_by_split(tmp_path / 'told')
    run_by_split(tmp_path / 'pictured', goal=dict.fromkeys(SPLITS, 'pictured'))
    pictured, told = rows_of(tmp_path)
    assert (told['paper_five'], pictured['paper_five']) == (.47, None)
    assert pictured['variant'] == 'goal pictured'
    assert {row['paper_apart'] for row in rows_of(tmp_path / 'pictured', 'models')} == {
        'goal pictured instead of told'}


def test_runs_from_before_goals_were_recorded_were_told_theirs(tmp_path):
    run_by_split(tmp_path)
    for path in tmp_path.glob('*/run.json'):
        info = json.loads(path.read_text())
        del info['identity']['goal']
        path.write_text(json.dumps(info))
    (row,) = rows_of(tmp_path)
    assert row['paper_five'] == .47


def test_the_papers_mean_of_a_class_needs_all_methods_of_the_class(tmp_path):
    average = 'mean of {} methods whose model answers questions'
    for number, method in enumerate(('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot'), 1):
        kind = 'cot' if method.endswith('cot') else 'plain'
        run_by_split(tmp_path, method, model=f'noisy_oracle(gpt-4.1/{kind}, seed 0)')
        if number > 1:
            (row,) = rows_of(tmp_path, method=average.format(number))
            assert row['paper_five'] == (.46 if number == 4 else None)


def test_methods_without_prompts_stand_beside_those_with_prompts_of_a_folder():
    found = {method: specify(RunSettings(method=method)).identity(model)
             for method, model in (('ground', 'm'), ('oracle', ''))}
    told = {'folder': 'clone', 'sha256': '0123456789ab', 'official': True}
    theirs, ours = (condition_of({**found['ground'], **more}) for more in ({'prompts': told}, {}))
    assert for_methods(theirs, condition_of(found['oracle']))
    assert theirs != ours
    other = condition_of({**found['ground'], 'prompts': {**told, 'sha256': 'ba9876543210'}})
    assert not for_methods(theirs, other)
