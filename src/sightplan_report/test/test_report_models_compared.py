"""Chains of thought, and the ranking of models: against hand-made numbers and the paper's own."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from report_cases import SPLITS, line, write_run
from sightplan.runs import load_suite
from sightplan_report.results import gather
from sightplan_report.tables import make_tables
from sightplan_report.tables.chains import _difference
from sightplan_report.tables.ranking import places, share_selected, spearman

FIRST_VERSION = (
    'InternVL3 78B', 'InternVL3 8B', 'Mistral-Small-3.1 24B', 'Molmo 7B', 'Phi-4 Multimodal',
    'Qwen2.5-VL 72B', 'Qwen2.5-VL 7B', 'AyaVision 32B', 'AyaVision 8B', 'DeepSeek-VL2',
    'Gemma-3 12B', 'Gemma-3 27B', 'GPT-4.1', 'GPT-4.1 Nano', 'LLaVA-Onevision 7B',
    'LLaVA-Onevision 72B')


def table(folder, name):
    return next((list(one.rows) for one in make_tables(gather(folder)) if one.name == name), [])


def model_runs(folder, model, method, solved, domain='blocksworld', splits=SPLITS, count=25):
    """A run of 25 problems for each split, of which so many are solved, the first ones."""
    backend, kind = (('noisy_planner', model) if method.startswith('plan') else
                     ('noisy_oracle', f'{model}/{"cot" if "cot" in method else "plain"}'))
    for split, number in zip(splits, solved, strict=True):
        lines = [line(n, n < number, split=split, domain=domain, method=method)
                 for n in range(count)]
        write_run(folder / f'{model}-{method}-{domain}-{split}', lines, domain=domain,
                  method=method, split=split, backend=backend, prompt={'name': method},
                  model=f'{backend}({kind}, seed 0)')


def published(model, method, domain, split):
    return load_suite('viplan').published.find(
        model, 'solved', domain=domain, method=method, split=split, failure_probability=0.0)


@pytest.mark.parametrize(('method', 'domain', 'split'), list(itertools.product(
    ('ground', 'plan'), ('blocksworld', 'household'), SPLITS)))
def test_the_formula_gives_the_papers_table_3_from_its_tables_of_models(method, domain, split):
    """It is over the 16 models of the paper's first version."""
    both = [[published(model, name, domain, split).value for name in (method, f'{method}_cot')]
            for model in FIRST_VERSION]
    found = _difference('', [(x, math.sqrt(x * (1 - x) / 25), y, math.sqrt(y * (1 - y) / 25))
                             for x, y in both])
    printed = load_suite('viplan').published.find(
        'mean of sixteen', 'reasons_difference', domain=domain, method=method, split=split,
        failure_probability=0.0)
    assert found['difference'] == pytest.approx(printed.value, abs=6e-4)
    assert found['error'] == pytest.approx(printed.sem, abs=6e-4)


def test_chains_of_thought_by_hand(tmp_path):
    model_runs(tmp_path, 'gpt-4.1', 'ground', (20, 10, 5))
    model_runs(tmp_path, 'gpt-4.1', 'ground_cot', (25, 10, 0))
    model_runs(tmp_path, 'InternVL3-78B', 'ground', (10, 10, 10))
    model_runs(tmp_path, 'InternVL3-78B', 'ground_cot', (10, 5, 10))
    model_runs(tmp_path, 'Molmo-7B-D-0924', 'ground', (25, 25, 25))  # has no pair
    found = {row['split']: row for row in table(tmp_path, 'chains_of_thought')}
    assert list(found) == [*SPLITS, 'all']
    row = found['simple']
    assert (row['method'], row['reasoned'], row['models']) == ('ground', 'ground_cot', 2)
    assert set(row['names'].split(', ')) == {'GPT-4.1', 'InternVL3 78B'}
    assert row['difference'] == pytest.approx(.1)
    assert (row['plain'], row['with_reasons']) == pytest.approx((.6, .7))
    # .8 and 1 of 25, .4 and .4 of 25.
    error = math.sqrt((.8 * .2 + 0 + .4 * .6 + .4 * .6) / 25) / 2
    assert (row['error'], row['ratio']) == pytest.approx((error, .1 / error))
    assert found['all']['difference'] == pytest.approx((.1 - .1 - .1) / 3)
    theirs = [published(model, method, 'blocksworld', 'simple').value
              for model in ('GPT-4.1', 'InternVL3 78B') for method in ('ground_cot', 'ground')]
    assert row['same_difference'] == pytest.approx(
        (theirs[0] - theirs[1] + theirs[2] - theirs[3]) / 2)
    assert (row['paper_difference'], row['paper_source']) == (-.06, 'table 3')
    assert row['paper_ratio'] == pytest.approx(.06 / .022)
    assert found['all'].get('paper_difference') is None


def test_other_conditions_are_no_pair(tmp_path):
    model_runs(tmp_path, 'gpt-4.1', 'ground', (20, 10, 5))
    for split in SPLITS:
        write_run(tmp_path / f'other-{split}', [line(n, split=split, method='ground_cot')
                                                for n in range(25)],
                  method='ground_cot', split=split, model='noisy_oracle(gpt-4.1/cot, seed 0)',
                  world={'pictures': 'none', 'look': 2})
    assert table(tmp_path, 'chains_of_thought') == []


def test_ranks_selection_and_correlation():
    scores = np.array([.3, .1, .3, .2])
    assert places(scores).tolist() == [1.5, 4, 1.5, 3]
    assert spearman(scores, scores) == pytest.approx(1)
    assert spearman(scores, -scores) == pytest.approx(-1)
    assert np.isnan(spearman(np.ones(4), scores))
    six = np.array([.6, .5, .4, .3, .1, .1, .1])
    # Two places are left for three of the same score; a closed model takes none.
    assert share_selected(six, np.array([True] * 4 + [True] * 3)).tolist() == pytest.approx(
        [1, 1, 1, 1, 1 / 3, 1 / 3, 1 / 3])
    assert share_selected(six, np.array([False] + [True] * 6)).tolist() == pytest.approx(
        [0, 1, 1, 1, 2 / 3, 2 / 3, 2 / 3])


def test_models_are_ranked_by_both_ways_of_planning(tmp_path):
    for model, ground, plan in (('gpt-4.1', (20, 15, 10), (5, 5, 5)),
                                ('InternVL3-78B', (25, 20, 15), (10, 0, 0)),
                                ('Molmo-7B-D-0924', (5, 0, 0), (20, 0, 0))):
        model_runs(tmp_path, model, 'ground', ground)
        model_runs(tmp_path, model, 'plan', plan)
    model_runs(tmp_path, 'gpt-4.1-nano', 'plan', (25, 25, 25))  # lacks ground
    first, second, third = table(tmp_path, 'ranking')
    assert [row['model'] for row in (first, second, third)] == [
        'InternVL3 78B', 'GPT-4.1', 'Molmo 7B']
    assert first['score'] == pytest.approx((60 + 10) / 150)
    assert (first['ground_score'], first['plan_score']) == pytest.approx((60 / 75, 10 / 75))
    assert (first['rank'], first['rank_first']) == (1, 1) and first['rank_last'] >= 1
    assert first['score_low'] < first['score'] < first['score_high']
    assert (second['open'], second['selected']) == (False, None), 'it was not up for selection'
    assert first['selected'] == third['selected'] == 1.0
    theirs = [published('InternVL3 78B', method, 'blocksworld', split).value
              for method in ('plan', 'ground') for split in SPLITS]
    assert first['paper_score'] == pytest.approx(sum(theirs) / 6)
    assert [row['paper_rank'] for row in (first, second, third)] == [2, 1, 3]
    ways, paper = table(tmp_path, 'ranking_agreement')
    assert (ways['between'], ways['models'], ways['left_out']) == (
        'plan and ground', 3, 'GPT-4.1 Nano')
    # plan: .2, .133, .267; ground: .6, .8, .067.
    assert ways['correlation'] == pytest.approx(-1.0)
    assert paper['correlation'] == pytest.approx(.5)
    assert paper['correlation_low'] <= .5 <= paper['correlation_high']
    assert (paper['cells'], paper['problems']) == (6, 75)


def test_the_papers_own_scores_select_the_papers_five_models():
    suite = load_suite('viplan')
    found = {model: [published(model, method, domain, split) for method in ('plan', 'ground')
                     for domain in suite.domains for split in SPLITS]
             for model in suite.published.models}
    whole = {model: np.mean([one.value for one in own]) for model, own in found.items()
             if None not in own and model != 'mean of five'}
    assert len(whole) == 24
    is_open = np.array([suite.published.find(model, 'open_weights', domain='all') is None
                        for model in whole])
    chosen = share_selected(np.array(list(whole.values())), is_open)
    assert {model for model, share in zip(whole, chosen, strict=True) if share} == {
        'InternVL3.5 38B', 'InternVL3 78B', 'Qwen3-VL 32B', 'Qwen2.5-VL 72B', 'Gemma-3 27B'}
    assert whole['InternVL3.5 38B'] == pytest.approx(.32, abs=.005)


def test_one_model_is_no_ranking(tmp_path):
    model_runs(tmp_path, 'gpt-4.1', 'ground', (20, 10, 5))
    assert table(tmp_path, 'ranking') == table(tmp_path, 'ranking_agreement') == []


def test_a_score_is_over_episodes_although_some_share_a_cluster(tmp_path):
    for model, method in itertools.product(('gpt-4.1', 'InternVL3-78B'), ('ground', 'plan')):
        lines = [{**line(n, n == 3, method=method), 'cluster': 'abab'[n] if n < 3 else 'c'}
                 for n in range(4)]
        write_run(tmp_path / f'{model}-{method}', lines, method=method,
                  model=f'{model}@api.openai.com/v1')
    assert [row['score'] for row in table(tmp_path, 'ranking')] == [.25, .25]
