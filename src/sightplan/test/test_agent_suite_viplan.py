"""The ViPlan suite: its files, its published numbers, its anchors."""

import json

import pytest

from doubles import MemoryWorld
from sightplan.agent import make_policy, run_episode
from sightplan.domains import load_domain
from sightplan.metrics import EpisodeScorer, sem
from sightplan.planning.symbolic import FastDownwardPlanner
from sightplan.runner import RunSettings, episode_specs, select_problems
from sightplan.suites import load_suite, suite_for, suite_names
from sightplan.vlm.backends._confusion import table_names


def test_the_suite_is_found_and_read():
    assert 'viplan' in suite_names()
    suite = load_suite('viplan')
    assert suite.domains['blocksworld'] == ('simple', 'medium', 'hard')
    assert (suite.max_actions, suite.failure_probability, suite.kind) == (20, 0., 'episodes')
    for method in ('plan', 'plan_cot', 'action', 'action_cot'):
        assert [suite.budget(method, split) for split in ('simple', 'medium', 'hard')] == [
            10, 20, 30]
        assert suite.stops_at_goal(method)
    for method in ('ground', 'ground_cot', 'ground_mem', 'ground_mem_cot', 'belief', 'idle'):
        assert suite.budget(method, 'hard') == 20 and not suite.stops_at_goal(method)
    assert '2505.13180' in suite.paper
    assert (suite.folder / 'README.md').is_file()
    assert suite_for('blocksworld', 'hard') is suite
    assert suite_for('blocksworld', 'mine') is None


def test_its_splits_are_there_with_25_problems_each():
    for domain, splits in load_suite('viplan').domains.items():
        for split in splits:
            assert len(load_domain(domain).split_problems(split)) == 25


@pytest.mark.parametrize(('model', 'success'), [
    ('GPT-4.1', (1., .76, .48)), ('InternVL3 78B', (.92, .8, .56)),
    ('Qwen2.5-VL 72B', (.56, .4, .04)), ('Gemma-3 27B', (.2, 0., 0.)),
    ('Molmo 7B', (.52, .08, 0.)), ('InternVL3.5 38B', (1., .88, .6))])
def test_published_success(model, success):
    suite = load_suite('viplan')
    found = [suite.published('blocksworld', 'ground', model, split)
             for split in ('simple', 'medium', 'hard')]
    assert tuple(f.value for f in found) == success
    assert {f.source for f in found} == {'tables 6 and 16'}


def test_published_accuracies_failures_and_means():
    suite = load_suite('viplan')

    def value(*arguments, **named):
        return suite.published('blocksworld', *arguments, **named).value
    assert value('ground', 'gpt-4.1', 'hard', 'clear') == .95
    assert value('ground', 'GPT-4.1', 'hard', 'accuracy') == .98
    assert value('ground', 'InternVL3 78B', 'hard', failure_probability=.1) == .76
    assert value('ground_cot', 'GPT-4.1', 'simple') == .92
    assert value('ground', 'mean of five', 'all') == .47
    assert value('ground', 'mean of five', 'medium') == .49
    assert suite.published('blocksworld', 'ground', 'nobody', 'hard') is None
    assert suite.published('household', 'plan', 'mean of five', 'all').sem == .05


def test_every_confusion_table_has_published_numbers_beside_it():
    suite = load_suite('viplan')
    for name in table_names()[1:]:
        assert suite.published('blocksworld', 'ground', name, 'simple') is not None, name


FIVE = ('InternVL3.5 38B', 'InternVL3 78B', 'Qwen3-VL 32B', 'Qwen2.5-VL 72B', 'Gemma-3 27B')
EIGHT = [base + cot for base in ('plan', 'action', 'ground', 'ground_mem') for cot in ('', '_cot')]


@pytest.mark.parametrize('method', EIGHT)
@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_the_tables_of_single_models_agree_with_the_papers_figure_of_their_mean(domain, method):
    suite = load_suite('viplan')
    for split in ('simple', 'medium', 'hard'):
        each = [suite.published(domain, method, model, split).value for model in FIVE]
        figure = suite.published(domain, method, 'mean of five', split)
        assert sum(each) / 5 == pytest.approx(figure.value, abs=.0051), split
        assert 'figure 5' in figure.source


def test_published_numbers_of_planning_models():
    suite = load_suite('viplan')
    found = suite.published('blocksworld', 'plan_cot', 'GPT-4.1', 'simple')
    assert (found.value, found.sem, found.source) == (.84, .07, 'table 9')
    found = suite.published('blocksworld', 'plan', 'Gemma-3 27B', 'simple',
                            failure_probability=.1)
    assert (found.value, found.source) == (.24, 'table 15')
    assert suite.published('household', 'action_cot', 'Qwen3-VL 32B', 'hard') is not None


def test_published_standard_errors_fit_their_values():
    data = json.loads((load_suite('viplan').folder / 'published.json').read_text())
    for table in data['tables']:
        for rows in table['models'].values():
            for cells in rows.values():
                value, error = cells['success']
                if error is not None and 'table 1 ' not in table['source']:
                    assert error == pytest.approx(sem(value, 25), abs=.006)


# Anchors
# (the third anchor, an episode scored by hand, is in test_agent_metrics.py)

def specs(method):
    settings = RunSettings(split='all', method=method)
    domain, pairs, _ = select_problems(settings)
    return episode_specs(settings, domain, pairs)


def score(method, spec, world, planner=None):
    scorer = EpisodeScorer(world)
    run_episode(spec, make_policy(method, truth=world), world, None, planner, scorer, world.domain)
    return scorer.result()


def test_the_idle_agent_scores_zero_because_no_problem_starts_solved():
    world = MemoryWorld()
    lines = [score('idle', spec, world) for spec in specs('idle')]
    assert len(lines) == 75
    assert all(line['scored'] and not line['solved'] for line in lines)


def test_the_oracle_agent_scores_one_with_plans_close_to_the_shortest():
    world = MemoryWorld()
    with FastDownwardPlanner() as planner:
        for spec in specs('oracle'):
            line = score('oracle', spec, world, planner)
            assert line['scored'] and line['solved'], spec.episode_id
            assert line['steps'] <= 1.5 * line['optimal_length'], spec.episode_id
