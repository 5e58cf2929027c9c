"""The ViPlan suite: its files, its published numbers, its anchors."""

import json
from statistics import fmean

import pytest

from doubles import MemoryWorld
from sightplan.agent import FactsFromTruth, make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.metrics import EpisodeScorer, measures, sem
from sightplan.metrics.intervals import mean_over
from sightplan.model import InputError, Privileged
from sightplan.model.plugins import Folder
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.runs import (
    EpisodePlan,
    RunSettings,
    load_suite,
    read_suite,
    suite_for,
    suite_names,
)
from sightplan_models._confusion import table_names

SPLITS = ('simple', 'medium', 'hard')
PLANNERS = ('plan', 'plan_cot', 'action', 'action_cot')
OTHERS = ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot', 'belief', 'idle')


def test_the_suite_is_found_and_read():
    assert 'viplan' in suite_names()
    suite = load_suite('viplan')
    assert {name: rules.splits for name, rules in suite.domains.items()} == {
        'blocksworld': SPLITS, 'household': (*SPLITS, 'search')}
    assert (suite.failure_probability, suite.kind) == (0., 'episodes')
    assert '2505.13180' in suite.paper
    assert (suite.folder / 'README.md').is_file()
    assert suite_for('blocksworld', 'hard') is suite_for('household', 'simple') is suite
    assert suite_for('blocksworld', 'mine') is suite_for('pantry', 'simple') is None


@pytest.mark.parametrize(('domain', 'method', 'budgets'), [
    *(('blocksworld', method, (10, 20, 30)) for method in PLANNERS),
    *(('blocksworld', method, (20, 20, 20)) for method in OTHERS),
    *(('household', method, (10, 20, 30)) for method in (*PLANNERS, *OTHERS))])
def test_budgets_and_ends_are_the_papers(domain, method, budgets):
    suite = load_suite('viplan')
    assert tuple(suite.budget(domain, method, split) for split in SPLITS) == budgets
    assert suite.published_splits(domain) == set(SPLITS)
    assert suite.stops_at_goal(domain, method) is (method in PLANNERS)


def test_facts_about_what_is_out_of_view_are_told_where_the_view_is_partial():
    suite = load_suite('viplan')
    assert {suite.privileged('blocksworld', split) for split in SPLITS} == {Privileged.NONE}
    assert {suite.privileged('household', split) for split in SPLITS} == {Privileged.ALWAYS}


@pytest.mark.parametrize('method', [*PLANNERS, *OTHERS])
def test_who_searches_is_told_nothing_and_has_a_budget_of_its_own(method):
    suite = load_suite('viplan')
    assert suite.privileged('household', 'search') is Privileged.NONE
    assert suite.budget('household', method, 'search') == 24


def test_what_a_suite_has_not_is_said():
    suite = load_suite('viplan')
    for ask in (lambda: suite.budget('pantry', 'plan', 'simple'),
                lambda: suite.stops_at_goal('pantry', 'plan'),
                lambda: suite.privileged('pantry', 'simple')):
        with pytest.raises(InputError, match="no domain 'pantry' .it has blocksworld, hous"):
            ask()
    with pytest.raises(InputError, match="no split 'mine' of household .it has simple, medium"):
        suite.budget('household', 'plan', 'mine')
    with pytest.raises(InputError, match="no split 'mine' of household .it has simple, medium"):
        suite.privileged('household', 'mine')
    with pytest.raises(InputError, match="'nothing' is unknown"):
        load_suite('nothing')


def published(domain, method, model, split, measure='solved', failure_probability=0.0):
    return load_suite('viplan').published.find(
        model, measure, domain=domain, method=method, split=split,
        failure_probability=failure_probability)


GOOD = """
title: T
paper: P
kind: episodes
domains:
  a: {splits: [x, y], max_actions: 3, method_rules: [{methods: [m], max_actions: {y: 9}}]}
failure_probability: 0
seed: 1
"""


def test_a_small_suite_has_plain_rules(tmp_path):
    (tmp_path / 'suite.yaml').write_text(GOOD)
    suite = read_suite(Folder.at(tmp_path))
    assert [suite.budget('a', 'm', split) for split in 'xy'] == [3, 9]
    assert suite.budget('a', 'other', 'y') == 3
    assert not suite.stops_at_goal('a', 'm') and suite.privileged('a', 'x') is Privileged.NONE


@pytest.mark.parametrize(('old', 'new', 'message'), [
    ('title: T', 'title: [', 'cannot be read'),
    (GOOD, '[]', 'should be an object'),
    ('title: T\n', '', 'title is missing'),
    ('seed: 1', 'seed: 1\nsplits: [x]', 'a suite of episodes has domains, and splits below'),
    ('seed: 1', 'seed: true', 'seed = True: input should be a valid integer'),
    ('paper: P', 'paper: 7', 'paper = 7: input should be a valid string'),
    ('kind: episodes', 'kind: films',
     "kind = 'films': input should be 'episodes', 'samples' or 'both'"),
    ('probability: 0', 'probability: 2', 'failure_probability = 2.*less than or equal to 1'),
    ('splits: [x, y], ', '', 'domains.a.splits is missing'),
    ('splits: [x, y]', 'splits: [x, x]', 'domains.a = .* splits must be different names'),
    ('splits: [x, y]', 'splits: []', 'domains.a.splits = .* at least 1 item'),
    ('max_actions: 3', 'max_actions: 0',
     'domains.a.max_actions.* = 0: input should be greater than 0'),
    ('max_actions: 3', 'max_actions: many',
     "max_actions.* = 'many': input should be a valid integer"),
    ('max_actions: 3', 'max_actions: {x: 3}', 'domains.a = .* max_actions: nothing for y'),
    ('max_actions: 3', 'max_actions: {x: 3, y: 4, z: 5}', "'z' is no split of it"),
    ('max_actions: 3', 'max_actions: 3, privileged: yes', 'privileged.* = True: input should be'),
    ('max_actions: 3', 'max_actions: 3, privileged: {x: none}', 'privileged: nothing for y'),
    ('max_actions: 3', 'max_actions: 3, privileged: {x: none, y: none, z: none}',
     "privileged: 'z' is no split of it"),
    ('max_actions: 3', 'max_actions: 3, told: always', 'domains.a.told is unknown'),
    ('[{methods: [m], max_actions: {y: 9}}]', '{m: 9}',
     'domains.a.method_rules = .* should be a valid'),
    ('{y: 9}', '{z: 9}', r"domains.a = .* max_actions: 'z' is no split"),
    ('methods: [m]', 'methods: m', r"method_rules.0.methods = 'm': input should be a valid"),
    ('methods: [m]', 'methods: [m], stop_at_goal: 1',
     'stop_at_goal = 1: input should be a valid boolean'),
    ('{y: 9}}', '{y: 9}}, {methods: [m]}', 'method_rules: m has rules already')])
def test_bad_suite_files_are_refused_with_file_and_field(tmp_path, old, new, message):
    path = tmp_path / 'suite.yaml'
    assert old in GOOD
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(InputError, match=message) as caught:
        read_suite(Folder.at(tmp_path))
    assert str(path) in str(caught.value)


def test_its_splits_are_there_with_25_problems_each():
    for domain, rules in load_suite('viplan').domains.items():
        for split in rules.splits:
            assert len(load_domain(domain).split_problems(split)) == 25


@pytest.mark.parametrize(('model', 'success'), [
    ('GPT-4.1', (1., .76, .48)), ('InternVL3 78B', (.92, .8, .56)),
    ('Qwen2.5-VL 72B', (.56, .4, .04)), ('Gemma-3 27B', (.2, 0., 0.)),
    ('Molmo 7B', (.52, .08, 0.)), ('InternVL3.5 38B', (1., .88, .6))])
def test_published_success(model, success):
    found = [published('blocksworld', 'ground', model, split)
             for split in ('simple', 'medium', 'hard')]
    assert tuple(f.value for f in found) == success
    assert {f.source for f in found} == {'tables 6 and 16'}


def test_published_accuracies_failures_and_means():

    def value(*arguments, **named):
        return published('blocksworld', *arguments, **named).value
    assert value('ground', 'gpt-4.1', 'hard', 'predicate_accuracy.clear') == .95
    assert value('ground', 'GPT-4.1', 'hard', 'predicate_accuracy') == .98
    assert value('ground', 'InternVL3 78B', 'hard', failure_probability=.1) == .76
    assert value('ground_cot', 'GPT-4.1', 'simple') == .92
    assert value('ground', 'mean of five', 'all') == .47
    assert value('ground', 'mean of five', 'medium') == .49
    assert published('blocksworld', 'ground', 'nobody', 'hard') is None
    assert published('household', 'plan', 'mean of five', 'all').sem == .05


@pytest.mark.parametrize(('method', 'model', 'split', 'measure', 'value', 'error', 'source'), [
    # Of the paper's tables 10, 18 and 19: the first and the last row, and some between.
    ('ground', 'AyaVision 32B', 'simple', 'holding', .79, .04, 'tables 10 and 18'),
    ('ground', 'AyaVision 8B', 'hard', 'open', .79, .04, 'tables 10 and 18'),
    ('ground', 'Gemma-3 27B', 'medium', 'ontop', .94, .00, 'tables 10 and 18'),
    ('ground', 'gpt-4.1', 'medium', 'inside', .94, .02, 'tables 10 and 18'),
    ('ground', 'Qwen3-VL 32B', 'hard', 'reachable', .65, .02, 'tables 10 and 18'),
    ('ground', 'Qwen3-VL 8B', 'hard', 'reachable', .72, .02, 'tables 10 and 18'),
    ('ground', 'InternVL3 78B', 'simple', 'accuracy', .71, .01, 'tables 10 and 18'),
    ('ground', 'Gemma-3 27B', 'hard', 'success', .08, .05, 'tables 10 and 18'),
    ('ground_cot', 'Qwen3-VL 8B', 'simple', 'holding', .85, .03, 'tables 10 and 19'),
    ('ground_cot', 'Qwen3-VL 30B A3B', 'hard', 'nextto', .72, .01, 'tables 10 and 19'),
    ('ground_cot', 'InternVL3.5 38B', 'hard', 'success', .12, .06, 'tables 10 and 19')])
def test_published_household_numbers_are_the_papers(method, model, split, measure, value, error,
                                                    source):
    name = {'success': 'solved', 'accuracy': 'predicate_accuracy'}.get(
        measure, f'predicate_accuracy.{measure}')
    found = published('household', method, model, split, name)
    assert (found.value, found.sem, found.source) == (value, error, source)


def test_household_accuracies_are_there_for_every_model_split_and_predicate():
    rows = json.loads((load_suite('viplan').folder / 'published.json').read_text())['rows']
    names = {f'predicate_accuracy.{name}' for name in load_domain('household').schema.predicates}
    for method, models in (('ground', 24), ('ground_cot', 23)):
        cells = {}
        for row in rows:
            where = row['where']
            if (where.get('domain') == 'household' and where.get('method') == method
                    and row['source'].startswith('tables 10')):
                cells.setdefault(row['model'], {}).setdefault(
                    row['where']['split'], {})[row['measure']] = row['value']
        assert len(cells) == models
        for splits in cells.values():
            assert set(splits) == set(SPLITS)
            for found in splits.values():
                assert set(found) == {'solved', 'predicate_accuracy', *names}
                # The whole is a mean of the parts, whatever their weights.
                parts = [found[name] for name in names]
                assert min(parts) <= found['predicate_accuracy'] <= max(parts)


def test_every_confusion_table_has_published_numbers_beside_it():
    for name in table_names()[1:]:
        assert published('blocksworld', 'ground', name, 'simple') is not None, name


FIVE = ('InternVL3.5 38B', 'InternVL3 78B', 'Qwen3-VL 32B', 'Qwen2.5-VL 72B', 'Gemma-3 27B')
EIGHT = [base + cot for base in ('plan', 'action', 'ground', 'ground_mem') for cot in ('', '_cot')]


@pytest.mark.parametrize('method', EIGHT)
@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_the_tables_of_single_models_agree_with_the_papers_figure_of_their_mean(domain, method):
    for split in ('simple', 'medium', 'hard'):
        each = [published(domain, method, model, split).value for model in FIVE]
        figure = published(domain, method, 'mean of five', split)
        assert sum(each) / 5 == pytest.approx(figure.value, abs=.0051), split
        assert 'figure 5' in figure.source


CLASSES = {'planner_average': EIGHT[:4], 'grounder_average': EIGHT[4:],
           **{method: [method] for method in EIGHT}}


@pytest.mark.parametrize('name', CLASSES)
@pytest.mark.parametrize('domains', [['blocksworld'], ['household'], ['blocksworld', 'household']],
                         ids='+'.join)
def test_table_1_follows_from_the_tables_of_single_models(domains, name):
    """Means over splits and domains, and their standard error over models (and methods)."""
    means = [fmean(published(domain, method, model, split).value
                   for domain in domains for split in SPLITS)
             for method in CLASSES[name] for model in FIVE]
    domain = domains[0] if len(domains) == 1 else 'all'
    printed = published(domain, name, 'mean of five', 'all')
    mean, error = mean_over(means)
    assert printed.value == pytest.approx(mean, abs=.0051)
    assert printed.sem == pytest.approx(error, abs=.0051)
    assert 'table 1' in printed.source


@pytest.mark.parametrize('name', ['planner_average', 'grounder_average'])
@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_figure_5_averages_the_methods_of_a_class(domain, name):
    for split in SPLITS:
        each = [published(domain, method, 'mean of five', split).value
                for method in CLASSES[name]]
        printed = published(domain, name, 'mean of five', split)
        assert printed.value == pytest.approx(fmean(each), abs=.0101), split


@pytest.mark.parametrize(('model', 'name'), [
    ('InternVL3_5-38B-HF', 'InternVL3.5 38B'), ('qwen2.5-vl-72b-instruct', 'Qwen2.5-VL 72B'),
    ('gpt-5.2-2025-12-11', 'GPT-5.2'), ('Cosmos-Reason2-8B', 'Cosmos-Reason2 8B'),
    ('gemma-3 27b', 'Gemma-3 27B'), ('nobody', None)])
def test_models_are_called_as_in_the_paper(model, name):
    assert load_suite('viplan').published.model_name(model) == name


def test_every_alias_is_of_a_published_model():
    suite = load_suite('viplan')
    data = json.loads((suite.folder / 'published.json').read_text())
    for alias in data['aliases']:
        assert suite.published.model_name(alias) is not None, alias
    assert 'ground_mem' in suite.published.methods and 'belief' not in suite.published.methods


def test_published_numbers_of_planning_models():
    found = published('blocksworld', 'plan_cot', 'GPT-4.1', 'simple')
    assert (found.value, found.sem, found.source) == (.84, .07, 'table 9')
    found = published('blocksworld', 'plan', 'Gemma-3 27B', 'simple', failure_probability=.1)
    assert (found.value, found.source) == (.24, 'table 15')
    assert published('household', 'action_cot', 'Qwen3-VL 32B', 'hard') is not None


def test_published_standard_errors_fit_their_values():
    rows = json.loads((load_suite('viplan').folder / 'published.json').read_text())['rows']
    checked = [row for row in rows if row['measure'] == 'solved' and row['sem'] is not None
               and 'table 1 ' not in row['source']]
    assert len(checked) > 500
    for row in checked:
        assert row['sem'] == pytest.approx(sem(row['value'], 25), abs=.006)


# Anchors
# (the third anchor, an episode scored by hand, is in test_agent_metrics.py)

BOTH = pytest.mark.parametrize('domain', ['blocksworld', 'household'])


def specs(domain, method):
    settings = RunSettings(domain=domain, split='all', method=method)
    return EpisodePlan(settings).items


def score(method, spec, world, planner=None):
    scorer, domain = EpisodeScorer(world), load_domain(spec.problem.domain)
    told = (None if spec.privileged is Privileged.NONE else
            FactsFromTruth(world, spec, domain.worth_asking(spec.problem)))
    run_episode(spec, make_policy(method, truth=world), world, None, planner, scorer, domain,
                privileged=told)
    return scorer.result()


@BOTH
def test_the_idle_agent_scores_zero_because_no_problem_starts_solved(domain):
    world = MemoryWorld(domain)
    lines = [score('idle', spec, world) for spec in specs(domain, 'idle')]
    assert len(lines) == {'blocksworld': 75, 'household': 100}[domain]
    assert all(measures.scored(line) and not measures.solved(line) for line in lines)


@pytest.mark.slow
@BOTH
def test_the_oracle_agent_scores_one_with_plans_close_to_the_shortest(domain):
    world = MemoryWorld(domain)
    with FastDownwardPlanner() as planner:
        for spec in specs(domain, 'oracle'):
            line = score('oracle', spec, world, planner)
            assert measures.scored(line) and measures.solved(line), spec.id
            assert line['steps'] <= 1.5 * line['optimal_length'], spec.id


@pytest.mark.slow
def test_the_oracle_agent_solves_one_problem_of_each_household_task_in_the_simulator():
    """Bodies, reach and sight are real here: what the plans of the world in memory leave out."""
    sim = pytest.importorskip('sightplan_sim.household')
    pytest.importorskip('pybullet')
    tasks = {(spec.split, spec.problem.name.rpartition('_')[0]): spec
             for spec in specs('household', 'oracle')}
    assert len(tasks) == 21
    with sim.make_world(pictures='none') as world, FastDownwardPlanner() as planner:
        lines = [score('oracle', spec, world, planner) for spec in tasks.values()]
    # Each has the paper's budget of actions, or it would not be solved.
    assert [line['id'] for line in lines if not measures.solved(line)] == []
    assert sum(line['steps'] for line in lines) <= 1.2 * sum(
        line['optimal_length'] for line in lines)
