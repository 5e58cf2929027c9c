"""The tables of a report, against numbers computed by hand."""

import json
import math
from typing import get_args

import pytest

from doubles import MemoryWorld, SearchPlanner
from report_cases import (
    SPLITS,
    asked,
    counts,
    line,
    papers,
    sample,
    write_index,
    write_run,
)
from sightplan.metrics.compounding import (
    Needed,
    check_sizes,
    compounding,
    edges,
    error_free,
    needed,
)
from sightplan.metrics.intervals import errors_apart, fraction_of, mean_over, sem, wilson
from sightplan.runs import RunSettings, run
from sightplan_report import tables as makers
from sightplan_report.failures import read_columns
from sightplan_report.lines import EPISODE
from sightplan_report.results import gather
from sightplan_report.tables import make_tables
from sightplan_report.tables.common import checked_yes_probability
from sightplan_report.tables.model import Kind, make, specifications

TABLE = {'name': 'noisy_oracle', 'table': 'x'}


def tables(path):
    return {table.name: table for table in make_tables(gather(path))}


def tables_of(*paths):
    return {table.name: table for table in make_tables(gather(paths))}


OF_EPISODES = {name: getattr(makers, name) for name in (
    'table1', 'success', 'figure5', 'chains_of_thought', 'model_table', 'models', 'predicates',
    'failures', 'cut_off', 'stops', 'cost', 'paired')}
"""What makes a table of episodes alone, by the table's name."""


def rows(path, name, **wanted):
    table = (OF_EPISODES[name](gather(path).of_kind(EPISODE)) if name in OF_EPISODES
             else tables(path)[name])
    assert table.name == name
    return [row for row in table.rows
            if all(row[key] == value for key, value in wanted.items())]


def model_run(folder, model, solved, /, episodes=5, method='ground', domain='blocksworld',
              **fields):
    """A run on all splits: ``solved`` episodes of each."""
    name = method if isinstance(method, str) else method['name']
    lines = [line(number, number < count, split=split, method=name, domain=domain)
             for split, count in zip(SPLITS, solved, strict=True) for number in range(episodes)]
    return write_run(folder, lines, domain=domain, split='all', **{
        'method': method, 'model': f'noisy_oracle({model}/plain, seed 0)', **fields})


# Success


def test_success_is_the_mean_over_models_with_their_spread(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    model_run(tmp_path / 'b', 'gemma-3-27b-it', (2, 1, 0))
    (row,) = rows(tmp_path, 'success')
    assert (row['models'], row['names']) == (2, 'GPT-4.1, Gemma-3 27B')
    assert [row[f'{split}_success'] for split in SPLITS] == pytest.approx([.7, .5, .3])
    # Of 1.0 and .4: the deviation is .424, over the root of 2.
    assert row['simple_success_sem'] == pytest.approx(.3)
    assert row['simple_success_n'] == 10
    # Means over splits: .8 and .2.
    assert (row['mean'], row['mean_sem'], row['mean_n']) == (
        pytest.approx(.5), pytest.approx(.3), 30)
    within = math.sqrt(sum(sem(p, 5) ** 2 for p in (1, .8, .6, .4, .2, 0))) / 6
    assert row['mean_within_sem'] == pytest.approx(within)
    # The paper: GPT-4.1 1, .76, .48; Gemma-3 27B .2, 0, 0.
    assert row['simple_paper'] == pytest.approx(.6)
    assert row['paper_mean'] == pytest.approx((2.24 / 3 + .2 / 3) / 2)
    assert row['paper_sem'] == pytest.approx((2.24 - .2) / 3 / 2)
    assert (row['paper_five'], row['paper_five_sem']) == (.47, .14)


def test_one_model_has_no_error_over_models(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    (row,) = rows(tmp_path, 'success')
    assert row['mean'] == pytest.approx(.8) and row['mean_sem'] is None
    assert row['medium_success_sem'] == pytest.approx(sem(.8, 5))


def test_a_perfect_grounder_is_no_model_to_average(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (0, 0, 0))
    model_run(tmp_path / 'b', 'perfect', (5, 5, 5))
    assert [row['mean'] for row in rows(tmp_path, 'success')] == [0.0, 1.0]


def test_domains_and_classes_are_averaged_model_by_model(tmp_path):
    for domain, counts_ in (('blocksworld', ((5, 5, 5), (0, 0, 0))),
                            ('household', ((0, 0, 0), (1, 1, 1)))):
        for number, (model, solved) in enumerate(zip(('gpt-4.1', 'InternVL3-78B'), counts_,
                                                     strict=True)):
            for method in ('ground', 'ground_mem'):
                model_run(tmp_path / f'{domain}{number}{method}', model, solved, method=method,
                          domain=domain)
    (row,) = rows(tmp_path, 'success', domain='all', method='ground')
    # Models: (1 + 0) / 2 and (0 + .2) / 2.
    assert row['mean'] == pytest.approx(.3) and row['mean_sem'] == pytest.approx(.2)
    assert row['mean_n'] == 60 and (row['paper_five'], row['paper_five_sem']) == (.25, .07)
    average = 'mean of 2 methods whose model answers questions'
    (row,) = rows(tmp_path, 'success', domain='blocksworld', method=average)
    # Four pairs of method and model: 1, 0, 1, 0.
    assert row['mean'] == .5 and row['mean_sem'] == pytest.approx(math.sqrt(1 / 3) / 2)
    assert row['paper_five'] is None, 'the paper averages four methods'
    assert len(rows(tmp_path, 'success', domain='all', method=average)) == 1


def test_methods_with_limits_of_tokens_of_their_own_have_one_mean(tmp_path):
    for method, tokens in (('plan', 1024), ('plan_cot', 2048), ('action', 256),
                           ('action_cot', 1024)):
        for domain in ('blocksworld', 'household'):
            model_run(tmp_path / f'{domain}{method}', 'gpt-4.1', (1, 0, 0), method=method,
                      domain=domain, reply_tokens=tokens)
    found = [row['method'] for row in rows(tmp_path, 'table1') if 'mean' in row['method']]
    assert found == ['mean of 4 methods whose model plans']


def test_table_1_has_a_row_for_each_method_with_all_domains_beside_the_paper(tmp_path):
    for method, solved in (('ground', (5, 4, 3)), ('plan', (1, 0, 0))):
        model_run(tmp_path / f'b{method}', 'gpt-4.1', solved, method=method)
        model_run(tmp_path / f'h{method}', 'gpt-4.1', (0, 1, 0), method=method,
                  domain='household')
    row, other = (rows(tmp_path, 'table1', method=method)[0] for method in ('ground', 'plan'))
    assert [row[f'{place}_mean'] for place in ('blocksworld', 'household', 'all')] == (
        pytest.approx([.8, .2 / 3, (.8 + .2 / 3) / 2]))
    assert other['all_mean'] == pytest.approx(.2 / 3)
    # Of one model: the root of the sum of the squared errors of its splits, over their number.
    within = math.sqrt(sum(sem(p, 5) ** 2 for p in (1, .8, .6))) / 3
    assert row['blocksworld_sem'] == pytest.approx(within)
    assert row['blocksworld_paper'] == pytest.approx(2.24 / 3)
    assert (row['blocksworld_n'], row['all_n'], row['splits']) == (15, 30, 'simple, medium, hard')
    fives = [(row[f'{place}_paper_five'], row[f'{place}_paper_five_sem'])
             for place in ('blocksworld', 'household', 'all')]
    assert fives == [(.47, .14), (.04, .01), (.25, .07)], 'table 1 of the paper'
    model_run(tmp_path / 'another', 'gemma-3-27b-it', (0, 0, 0))
    model_run(tmp_path / 'anothers home', 'gemma-3-27b-it', (0, 0, 0), domain='household')
    row, = rows(tmp_path, 'table1', method='ground')
    assert row['models'] == 2 and row['blocksworld_sem'] == pytest.approx(.4), 'over models'


def test_means_are_over_models_that_have_all_splits_in_all_domains(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    model_run(tmp_path / 'b', 'gpt-4.1', (0, 0, 0), domain='household')
    model_run(tmp_path / 'c', 'gemma-3-27b-it', (1, 1, 1), domain='household')
    write_run(tmp_path / 'd', [line(0)], model='noisy_oracle(gemma-3-27b-it/plain, seed 0)')
    (row,) = rows(tmp_path, 'success', domain='blocksworld')
    assert (row['models'], row['mean'], row['mean_of'], row['mean_n']) == (
        2, pytest.approx(.8), 1, 15)
    assert row['simple_success'] == 1.0 and row['simple_success_n'] == 6
    assert row['paper_mean'] == pytest.approx(2.24 / 3)
    (row,) = rows(tmp_path, 'success', domain='household')
    assert (row['mean'], row['mean_of'], row['mean_n']) == (pytest.approx(.1), 2, 30)
    (row,) = rows(tmp_path, 'success', domain='all')
    assert (row['names'], row['mean'], row['mean_sem'], row['mean_of'], row['mean_n']) == (
        'GPT-4.1', pytest.approx(.4), None, 1, 30)


def test_other_sweeps_in_a_report_change_no_row(tmp_path):
    model_run(tmp_path / 'a' / 'gpt', 'gpt-4.1', (5, 4, 3))
    model_run(tmp_path / 'a' / 'gemma', 'gemma-3-27b-it', (2, 1, 0))
    (alone,) = rows(tmp_path, 'success')
    # One of the models once more, by another version.
    model_run(tmp_path / 'b', 'gpt-4.1', (0, 0, 0), sightplan='9.9')
    beside, other = rows(tmp_path, 'success')
    assert {**beside, 'variant': None} == alone
    assert (beside['variant'], other['variant'], other['names'], other['mean']) == (
        'sightplan -', 'sightplan 9.9', 'GPT-4.1', 0.0)


@pytest.mark.parametrize('fields', [
    {'answers': 'lenient'}, {'max_actions': dict.fromkeys(SPLITS, 50)},
    {'problems': {'count': 75, 'sha256': 'mine'}},
    {'method': {'name': 'ground', 'other_views': 2}},
    {'privileged': dict.fromkeys(SPLITS, 'always')},
    {'backend': {'name': 'noisy_oracle', 'repeat': .1}}])
def test_models_under_other_conditions_are_not_averaged(tmp_path, fields):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 5, 5))
    model_run(tmp_path / 'b', 'gemma-3-27b-it', (0, 0, 0), **fields)
    found = rows(tmp_path, 'success')
    assert sorted(row['mean'] for row in found) == [0.0, 1.0]
    assert len({(row['variant'], row['privileged']) for row in found}) == 2


def test_two_versions_of_a_model_are_two_models_with_their_exact_names(tmp_path):
    for name, solved in (('api.openai.com/v1', (5, 5, 5)), ('localhost:8000/v1', (0, 0, 0))):
        model_run(tmp_path / name[:3], 'x', solved, model=f'gpt-4.1@{name}', backend='openai')
    (row,) = rows(tmp_path, 'success')
    assert (row['models'], row['mean'], row['names']) == (
        2, .5, 'gpt-4.1@api.openai.com/v1, gpt-4.1@localhost:8000/v1')
    assert [(row['exact_model'], row['paper_success']) for row in rows(
        tmp_path, 'models', split='simple')] == [
        ('gpt-4.1@api.openai.com/v1', 1.0), ('gpt-4.1@localhost:8000/v1', 1.0)]
    (pair,) = rows(tmp_path, 'paired', split='all')
    assert (pair['compared'], pair['only_first'], pair['n']) == ('model', 15, 15)


def test_means_of_a_class_keep_what_is_told_and_each_method_once(tmp_path):
    for told, counts_ in (('always', {'ground': (5, 5, 5), 'ground_mem': (5, 5, 5)}),
                          ('none', {'ground': (0, 0, 0), 'ground_mem': (1, 1, 1)})):
        for method, solved in counts_.items():
            model_run(tmp_path / f'{told}{method}', 'gpt-4.1', solved, method=method,
                      domain='household', privileged=dict.fromkeys(SPLITS, told))
    average = 'mean of 2 methods whose model answers questions'
    found = {row['privileged']: row for row in rows(tmp_path, 'success', method=average)}
    assert {told: (row['mean'], row['mean_of']) for told, row in found.items()} == {
        'always': (1.0, 2), 'none': (pytest.approx(.1), 2)}
    # What the suite grants is compared with the paper, the other is not.
    for told, known in (('always', True), ('none', False)):
        found = rows(tmp_path, 'success', privileged=told, method='ground')
        assert [row['paper_five'] is not None for row in found] == [known]


def test_variants_of_methods_are_averaged_with_their_like_or_not_at_all(tmp_path):
    for method in ('ground', 'ground_mem'):
        for other_views, solved in ((1, (5, 5, 5)), (2, (0, 0, 0))):
            model_run(tmp_path / f'{method}{other_views}', 'gpt-4.1', solved,
                      method={'name': method, 'other_views': other_views})
    average = 'mean of 2 methods whose model answers questions'
    assert [(row['variant'], row['mean']) for row in rows(tmp_path, 'success', method=average)
            ] == [('other_views 1', 1.0), ('other_views 2', 0.0)]
    model_run(tmp_path / 'prompt', 'gpt-4.1', (0, 0, 0),
              method={'name': 'ground', 'other_views': 1},
              prompt={'name': 'ground', 'sha256': 'other'})
    # Two of a method under other_views 1: which of them belongs to the other method is not known.
    assert [(row['method'], row['mean']) for row in rows(tmp_path, 'success')
            if row['method'].startswith('mean of')] == [(average, 0.0)]


def test_domains_are_averaged_by_what_is_told(tmp_path):
    model_run(tmp_path / 'b', 'gpt-4.1', (5, 5, 5))
    for told, solved in (('always', (0, 0, 0)), ('none', (5, 5, 5))):
        model_run(tmp_path / told, 'gpt-4.1', solved, domain='household',
                  privileged=dict.fromkeys(SPLITS, told))
    # The suite tells all in household, nothing in blocksworld.
    (row,) = rows(tmp_path, 'success', domain='all')
    assert (row['mean'], row['paper_five']) == (.5, .25)


# What the paper's numbers stand beside


@pytest.mark.parametrize(('fields', 'reason'), [
    ({'max_actions': dict.fromkeys(SPLITS, 99)}, 'max_actions 99 instead of 20'),
    ({'stop_at_goal': dict.fromkeys(SPLITS, True)}, 'stop_at_goal True instead of False'),
    ({'privileged': dict.fromkeys(SPLITS, 'always')}, 'privileged always instead of reference'),
    ({'privileged': {}}, 'privileged not known instead of reference'),
    ({'problems': {'count': 75, 'sha256': 'mine'}}, 'not the shipped problems'),
    ({'problems': {}}, 'problems not known'),
    ({'model': 'noisy_oracle(gpt-4.1/cot, repeat 0.45, seed 0)'},
     'rates of answers that were asked for otherwise')])
def test_the_papers_numbers_stand_beside_what_its_suite_lays_down(tmp_path, fields, reason):
    answers = asked({'on': counts(9, 10)})
    for name, more in (('as_published', {}), ('other', fields)):
        model_run(tmp_path / name, 'gpt-4.1', (5, 4, 3), **papers(), **more)
        path = tmp_path / name / 'episodes.jsonl'
        path.write_text(''.join(json.dumps({**json.loads(text), **answers}) + '\n'
                                for text in path.read_text().splitlines()))
    for name, said in (('as_published', None), ('other', reason)):
        made = tables(tmp_path / name)
        known = said is None
        for row in made['models'].rows:
            assert row['paper_apart'] == said
            assert all((row[key] is not None) == known for key in (
                'paper_success', 'paper_accuracy', 'paper_source', 'success_errors'))
        assert all((row['paper'] is not None) == known for row in made['predicates'].rows)
        assert (made['model_table'].rows[0]['hard_paper_success'] is not None) == known
        (row,) = made['success'].rows
        assert all((row[key] is not None) == known for key in (
            'simple_paper', 'paper_mean', 'paper_five'))
        assert all((row['paper_five'] is not None) == known for row in made['figure5'].rows)


def test_a_mean_of_the_paper_needs_all_models_of_the_row(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    model_run(tmp_path / 'b', 'unheard-of-3b', (5, 4, 3))
    (row,) = rows(tmp_path, 'success')
    assert row['models'] == 2 and row['paper_mean'] is None
    assert [row[f'{split}_paper'] for split in SPLITS] == [None] * 3


def test_means_of_the_paper_are_of_the_same_failing_actions(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3), failure_probability=.1)
    (row,) = rows(tmp_path, 'success')
    assert row['failure_probability'] == .1 and row['paper_five'] is None
    assert [row['paper_five'] for row in rows(tmp_path, 'figure5')] == [None] * 3


def test_figure_5_has_a_row_for_each_method_and_split(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    model_run(tmp_path / 'b', 'gemma-3-27b-it', (2, 1, 0))
    model_run(tmp_path / 'c', 'gemma-3-27b-it', (3, 1, 0), method='belief')
    found = rows(tmp_path, 'figure5', method='ground')
    assert [row['success'] for row in found] == pytest.approx([.7, .5, .3])
    assert [row['paper'] for row in found] == pytest.approx([.6, .38, .24])
    assert [row['paper_five'] for row in found] == [.68, .49, .24]
    assert [row['paper'] for row in rows(tmp_path, 'figure5', method='belief')] == [None] * 3


def test_unscored_episodes_are_counted_apart(tmp_path):
    broken = line(2, False, scored=False, stop='error', error='camera gone')
    write_run(tmp_path, [line(0), line(1, False), broken])
    (row,) = rows(tmp_path, 'success')
    assert (row['simple_success'], row['simple_success_n'], row['unscored']) == (.5, 2, 1)
    (row,) = rows(tmp_path, 'models')
    assert (row['success'], row['success_n'], row['unscored']) == (.5, 2, 1)
    (row,) = rows(tmp_path, 'cost')
    assert (row['n'], row['unscored'], row['seconds_sum']) == (2, 1, 2.0)
    (row,) = rows(tmp_path, 'runs')
    assert (row['episodes'], row['scored'], row['solved'], row['errors']) == (3, 2, 1, 1)


def test_only_unscored_episodes_leave_success_unknown(tmp_path):
    write_run(tmp_path, [line(0, False, scored=False, stop='error', error='x')])
    (row,) = rows(tmp_path, 'models')
    assert row['success'] is None and row['success_low'] is None and row['success_n'] == 0
    assert rows(tmp_path, 'success')[0]['mean'] is None


# Models and predicates


def test_scores_of_a_model_beside_the_papers(tmp_path):
    # 10 episodes of the hard split, 4 solved; 200 answers of which 2 unreadable, 190 right.
    answers = {'clear': counts(9, 10, 5, unparsed=0), 'on': counts(10, 10, 2)}
    last = {'clear': counts(8, 10, 5, unparsed=1), 'on': counts(10, 10, 2)}
    lines = [line(number, number < 4, split='hard', **asked(last if number > 7 else answers))
             for number in range(10)]
    write_run(tmp_path, lines, split='hard', max_actions={'hard': 20},
              method={'name': 'ground', 'on_unparsed': 'stop'}, **papers())
    (row,) = rows(tmp_path, 'models')
    assert (row['model'], row['split'], row['success'], row['success_n']) == (
        'GPT-4.1', 'hard', .4, 10)
    assert (row['success_low'], row['success_high']) == pytest.approx(wilson(4, 10))
    assert row['success_sem'] == pytest.approx(math.sqrt(.24 / 10))
    assert (row['paper_success'], row['paper_success_sem']) == (.48, .1)
    assert row['success_errors'] == pytest.approx(-.08 / math.hypot(math.sqrt(.024), .1))
    assert row['accuracy'] == pytest.approx(188 / 198)
    assert (row['accuracy_n'], row['accuracy_unparsed']) == (198, 2)
    # The paper counts the unreadable ones as wrong.
    assert row['counted_accuracy'] == pytest.approx(188 / 200)
    assert (row['counted_accuracy_n'], row['paper_accuracy']) == (200, .98)
    assert row['accuracy_errors'] == pytest.approx((.94 - .98) / sem(.94, 200))
    assert row['paper_source'] == 'tables 6 and 16'
    assert (row['action_accuracy'], row['executable'], row['actions_n']) == (1.0, 1.0, 20)
    (clear,) = rows(tmp_path, 'predicates', predicate='clear')
    assert clear['accuracy'] == pytest.approx(88 / 98) and clear['accuracy_n'] == 98
    assert (clear['yes_accuracy'], clear['yes_n'], clear['no_n']) == (1.0, 50, 50)
    assert clear['no_accuracy'] == pytest.approx(38 / 50)
    assert (clear['paper'], clear['unparsed']) == (.95, 2)
    assert clear['counted'] == pytest.approx(.88)
    assert clear['errors'] == pytest.approx((.88 - .95) / math.hypot(sem(.88, 100), .01))
    (wide,) = rows(tmp_path, 'predicates_blocksworld')
    assert (wide['clear_hard'], wide['clear_hard_n'], wide['on_hard']) == (
        clear['counted'], 100, 1.0)
    (wide,) = rows(tmp_path, 'model_table')
    assert (wide['hard_success'], wide['hard_paper_success']) == (.4, .48)
    assert (wide['hard_counted_accuracy'], wide['hard_paper_accuracy']) == (.94, .98)


def test_unreadable_answers_are_wrong_beside_the_papers_accuracy(tmp_path):
    # What the published rates of Phi-4 after reasoning give: 9 of 10 answers cannot be read.
    answers = asked({'on': counts(7, 100, unparsed=90)})
    write_run(tmp_path, [line(0, False, method='ground_cot', **answers)], method='ground_cot',
              model='noisy_oracle(Phi-4-multimodal-instruct/cot, seed 0)', **papers())
    (row,) = rows(tmp_path, 'models')
    assert (row['accuracy'], row['counted_accuracy'], row['paper_accuracy']) == (.7, .07, .08)
    assert abs(row['accuracy_errors']) < 1
    # The paper ends an episode at such an answer: its success is defined otherwise.
    assert row['paper_success'] == 0.0 and row['success_errors'] is None
    assert row['paper_differs'].startswith('success: episodes go on after an unreadable reply (90')
    (wide,) = rows(tmp_path, 'model_table')
    assert (wide['simple_counted_accuracy'], wide['simple_paper_accuracy']) == (.07, .08)
    (on,) = rows(tmp_path, 'predicates')
    (place,) = rows(tmp_path, 'predicates_blocksworld')
    assert on['counted'] == place['on_simple'] == .07


def test_answers_that_no_prompt_of_the_paper_allows_have_no_distance_to_it(tmp_path):
    write_run(tmp_path, [line(0, **asked({'on': counts(6, 10, unknown=3)}))])
    (row,) = rows(tmp_path, 'models')
    assert (row['counted_accuracy'], row['accuracy_errors']) == (.6, None)
    assert row['paper_differs'].startswith('accuracy: 3 answers are "unknown"')
    assert row['success_errors'] is not None or row['success'] == row['paper_success']
    (on,) = rows(tmp_path, 'predicates')
    assert on['paper'] is not None and on['errors'] is None


def test_what_was_never_asked_is_not_zero(tmp_path):
    write_run(tmp_path, [line(0, method='oracle')], method='oracle', backend=None, model='')
    (row,) = rows(tmp_path, 'models')
    assert row['accuracy'] is None and row['accuracy_n'] is None and row['model'] is None
    assert row['action_accuracy'] is None and row['paper_success'] is None
    assert 'predicates' not in tables(tmp_path) and 'compounding' not in tables(tmp_path)
    (row,) = rows(tmp_path, 'cost')
    assert row['cost_usd_mean'] is None and row['cost_usd_n'] == 0 and row['questions_sum'] == 0


def test_domains_without_published_numbers_work_alike(tmp_path):
    lines = [line(number, number < 1, domain='pantry', split='') for number in range(2)]
    write_run(tmp_path, lines, domain='pantry', split='', max_actions={'-': 20})
    (row,) = rows(tmp_path, 'success')
    assert (row['-_success'], row['mean']) == (.5, .5)
    assert row['paper_mean'] is row['paper_five'] is None


# Compounding errors


def test_answers_needed_are_those_of_an_error_free_episode():
    perfect = line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2))
    failed = line(0, False, **asked({'on': counts(7, 10)}, 2, 3, 1))
    lucky = line(1, True, **asked({'on': counts(9, 10)}, 4, 6, 2))
    exact = error_free([perfect, failed, lucky])
    assert exact == {('simple', 'p0'): 20}
    assert needed(failed, exact) == Needed(20.0, True)
    # 10 for the enumeration, and twice 2 + 3 for the shortest plan.
    assert needed(lucky, exact) == Needed(20.0, False)
    longer = {**lucky, 'optimal_length': 4}
    assert needed(longer, exact) == Needed(10 + 4 * (2 + 3), False)
    assert needed({**lucky, 'optimal_length': None}, exact) is None
    assert needed({**lucky, 'checks': {}}, exact) is None


def test_later_enumerations_are_not_needed():
    replanned = line(0, True, **asked({'on': counts(28, 30)}, 4, 6, 2))
    replanned |= {'enumerations': [True, False, False], 'enumerated_at': [0, 1, 2]}
    assert needed(replanned, {}) == Needed(20.0, False)


def test_several_enumerations_before_the_first_action_all_count():
    piecewise = line(0, False, **asked({'on': counts(27, 30)}, 4, 6, 2))
    piecewise |= {'enumerations': [True, False, True], 'enumerated_at': [0, 0, 1]}
    assert needed(piecewise, {}) == Needed(30 / 3 * 2 + 2 * (2 + 3), False)


def test_bins_of_answers_needed():
    assert edges([5, 5, 5, 9, 9, 20], 3) == [5, 9]
    assert edges([1, 2, 3, 4], 2) == [1, 3]
    assert edges([]) == []
    pairs = [(Needed(5, True), True, 'a'), (Needed(5, False), False, 'b'),
             (Needed(20, True), True, 'a')]
    first, second = compounding(pairs, .9, [5, 9])
    assert (first.success.n, first.success.successes, first.exact, first.mean) == (2, 1, 1, 5)
    assert first.independent == pytest.approx(.9 ** 5)
    assert (second.fewest, second.most, second.independent) == (20, 20, pytest.approx(.9 ** 20))
    with pytest.raises(ValueError, match='below'):
        compounding(pairs, .9, [6])


def test_success_over_the_answers_needed(tmp_path):
    lines = [line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2)),
             line(1, False, **asked({'on': counts(20, 20)}, 4, 6, 2, wrong=2)),
             line(2, False, optimal_length=None, **asked({'on': counts(20, 20)}))]
    write_run(tmp_path, lines)
    one, *bins = rows(tmp_path, 'compounding')
    assert (one['what'], one['answers'], one['solved'], one['success_n']) == (
        'one answer', 1.0, 68, 70)
    assert one['success'] == one['accuracy'] == pytest.approx(68 / 70)
    assert [(row['answers'], row['success_n'], row['solved'], row['exact']) for row in bins] == [
        (20.0, 1, 1, 1), (30.0, 2, 0, 0)]  # the last is as long as others
    assert bins[1]['independent'] == pytest.approx((68 / 70) ** 30)


def test_success_predicted_from_single_answers_over_both_domains(tmp_path):
    fields = asked({'on': counts(9, 10)}, 4, 6, 2)  # 19 of 20 are right
    write_run(tmp_path / 'a', [line(0, True, **fields), line(1, False, **fields)])
    house = asked({'open': counts(2, 5)}, 2, 3, 1)  # 7 of 10 are right
    write_run(tmp_path / 'b', [line(0, False, domain='household', optimal_length=1, **house)],
              domain='household')
    blocks, home, both = rows(tmp_path, 'compounding_predicted')
    assert (blocks['domain'], home['domain'], both['domain']) == (
        'blocksworld', 'household', 'all')
    assert (blocks['accuracy'], blocks['answers'], blocks['success']) == (.95, 20.0, .5)
    assert blocks['predicted'] == pytest.approx(.95 ** 20)
    assert (home['accuracy'], home['answers'], home['success']) == (.7, 10.0, 0.0)
    assert home['difference'] == pytest.approx(-.7 ** 10)
    # All episodes, each with the accuracy of its domain.
    assert both['predicted'] == pytest.approx((2 * .95 ** 20 + .7 ** 10) / 3)
    assert (both['success'], both['success_n'], both['asked']) == (pytest.approx(1 / 3), 3, 50)
    write_run(tmp_path / 'c', [line(0, True, **fields)], world={'look': 2})
    assert 'all' not in [row['domain'] for row in rows(tmp_path, 'compounding_predicted')], (
        'which of the two belongs to household is not known')


def test_an_episode_without_a_check_takes_the_sizes_of_others():
    stuck = line(1, False, **asked({'on': counts(8, 10)}))
    checked = line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2))
    larger = line(2, False, split='hard', **asked({'on': counts(9, 10)}, 12, 24, 3))
    sizes = check_sizes([stuck, checked, larger])
    assert sizes == {('simple', 'precondition'): 2, ('simple', 'effect'): 3,
                     ('hard', 'precondition'): 4, ('hard', 'effect'): 8,
                     (None, 'precondition'): 16 / 5, (None, 'effect'): 30 / 5}
    assert needed(stuck, {}, sizes) == Needed(10 + 2 * (2 + 3), False)
    assert needed({**stuck, 'split': 'medium'}, {}, sizes) == Needed(10 + 2 * (3.2 + 6), False)
    assert needed(stuck, {}, check_sizes([])) is None


def test_what_a_method_never_checks_needs_no_answers():
    blind = line(0, False, **asked({'on': counts(9, 10)}))
    assert needed(blind, {}, check_sizes([blind])) == Needed(10.0, False)
    stuck = {**blind, 'executed': 0}
    assert needed(stuck, {}, check_sizes([stuck])) is None


@pytest.mark.parametrize(('other', 'exact'), [
    ({}, 1), ({'backend': 'scripted'}, 1), ({'prompt': {'name': 'p', 'sha256': 'x'}}, 1),
    ({'privileged': {'simple': 'reset'}}, 0), ({'world': {'pictures': 'others'}}, 0),
    ({'method': {'name': 'ground', 'most': 3}}, 0), ({'failure_probability': .1}, 0)])
def test_error_free_episodes_count_where_as_much_is_asked(tmp_path, other, exact):
    write_run(tmp_path / 'a', [line(0, False, **asked({'on': counts(8, 10)}, 4, 6, 2))])
    write_run(tmp_path / 'b', [line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2))],
              **{'model': 'gpt-4.1-mini@server', **other})
    (mine,) = [row for row in rows(tmp_path, 'compounding', what='episodes') if not row['solved']]
    assert mine['exact'] == exact


def test_episodes_without_a_plan_stay_in_the_curve(tmp_path):
    stuck = [line(n, False, stop='no_plan', executed=0, **asked({'on': counts(8, 10)}))
             for n in range(3)]
    write_run(tmp_path / 'a', [*stuck, line(3, True, **asked({'on': counts(10, 10)}, 4, 6, 2)),
                               {**line(4, True, **asked({'on': counts(9, 10)}, 4, 6, 2)),
                                'enumerated_at': []}])  # as in a line of which that is lost
    write_run(tmp_path / 'b', stuck, model='noisy_oracle(gemma-3-27b-it/plain, seed 0)')
    for model, scored, solved, left_out in (('GPT-4.1', 4, 1, 1), ('Gemma-3 27B', 3, 0, 0)):
        one, *bins = rows(tmp_path, 'compounding', model=model)
        assert (sum(row['success_n'] for row in bins), sum(row['solved'] for row in bins)) == (
            scored, solved)
        assert (one['left_out'], one['left_out_solved']) == (left_out, left_out)
        assert all(row['left_out'] is None for row in bins)


def test_error_free_episodes_are_those_under_the_same_conditions(tmp_path):
    perfect = line(0, True, **asked({'on': counts(10, 10)}, 4, 6, 2))
    failed = line(0, False, **asked({'on': counts(9, 10)}, 2, 3, 1))
    other = {'model': 'noisy_oracle(gemma-3-27b-it/plain, seed 0)'}
    write_run(tmp_path / 'ours', [failed])
    for fields in ({'failure_probability': .1}, {'answers': 'lenient'},
                   {'privileged': {'simple': 'always'}}):
        write_run(tmp_path / 'perfect', [perfect], **other, **fields)
        made = rows(tmp_path, 'compounding', what='episodes', model='GPT-4.1')
        assert [(row['exact'], row['solved']) for row in made] == [(0, 0)]
    write_run(tmp_path / 'perfect', [perfect], **other)
    (row,) = rows(tmp_path, 'compounding', what='episodes', model='GPT-4.1')
    assert (row['exact'], row['answers']) == (1, 20.0)


# Failures, stops, calibration, cost


def test_the_report_has_the_intervals_of_the_failures_and_of_no_more_trials(tmp_path):
    """Five rounds of each problem share their luck, whoever counts them."""
    lines = [line(number, False, cluster=f'problem {number // 5}', **asked({'on': counts(7, 10)}),
                  failure={**line(number, False)['failure'],
                           'cause': 'budget' if number < 15 else 'effect_misread'})
             for number in range(30)]
    write_run(tmp_path, lines)
    (column,) = read_columns([tmp_path])
    for row in rows(tmp_path, 'failures'):
        interval = (row['fraction_low'], row['fraction_high'])
        assert interval == column.fraction(row['cause']).interval
        assert interval[0] < wilson(15, 30)[0] - .1 and row['fraction_n'] == 30
    (row,) = rows(tmp_path, 'stops')
    assert row['fraction_low'] < wilson(30, 30)[0] - .1
    (row,) = rows(tmp_path, 'predicates')
    assert (row['accuracy'], row['accuracy_n']) == (.7, 300)
    assert row['accuracy_low'] <= wilson(210, 300)[0]
    for row in rows(tmp_path, 'compounding', what='episodes'):
        assert row['success_high'] > wilson(0, row['success_n'])[1] + .1


def test_causes_and_stops(tmp_path):
    failed = [line(n, False, failure={**line(n, False)['failure'], 'cause': cause})
              for n, cause in enumerate(['budget', 'effect_misread', 'effect_misread'])]
    write_run(tmp_path, [*failed, line(3), line(4)])
    found = {row['cause']: row for row in rows(tmp_path, 'failures')}
    assert {name: row['count'] for name, row in found.items()} == {
        'effect_misread': 2, 'budget': 1}
    row = found['effect_misread']
    assert (row['fraction'], row['fraction_n'], row['episodes']) == (pytest.approx(2 / 3), 3, 5)
    assert (row['fraction_low'], row['fraction_high']) == pytest.approx(wilson(2, 3))
    found = {row['stop']: row for row in rows(tmp_path, 'stops')}
    assert (found['budget']['count'], found['budget']['solved'], found['budget']['fraction']) == (
        3, 0, .6)
    assert found['plan_done']['solved'] == 2


def test_replies_that_ran_into_their_limit_of_tokens(tmp_path):
    cut = [['enumeration', 'on a,b', 'unparsed', 0, 1024], ['enumeration', 'on b,a', 'no', 0, 512]]
    failed = {**line(0, False)['failure'], 'cause': 'cut_off'}
    write_run(tmp_path / 'a', [line(0, False, questions=8, cut_off=cut, failure=failed),
                               line(1, questions=2)])
    write_run(tmp_path / 'b', [line(n, questions=8) for n in range(2)], split='hard')
    (row,) = rows(tmp_path, 'cut_off')
    assert (row['cut'], row['unreadable'], row['fraction'], row['fraction_n']) == (2, 1, .2, 10)
    assert (row['limits'], row['failed'], row['episodes']) == ('512, 1024', 1, 2)
    assert row['fraction_low'] < .2 < row['fraction_high']


def test_calibration_of_beliefs_and_answers(tmp_path):
    bins = [[0, 0.0, 0] for _ in range(20)]
    bins[0], bins[10], bins[19] = [5, .05, 1], [1, .51, 0], [4, 3.9, 4]
    write_run(tmp_path, [line(0, beliefs=bins), line(1)])
    (tmp_path / 'answers.jsonl').write_text(''.join(
        f'{{"episode": "{episode}", "atom": "on a,b", "answer": "yes", "p_yes": {p}, '
        f'"p_no": {q}, "truth": {truth}}}\n' for episode, p, q, truth in (
            ('blocksworld/simple/p0#0', .45, .05, 'true'),
            ('blocksworld/simple/p0#0', .45, .05, 'false'),
            ('blocksworld/simple/p1#0', 'null', 'null', 'true'),
            ('never/committed#0', .1, .9, 'true'))) + '{"torn')
    belief, answer = rows(tmp_path, 'calibration_error')
    assert (belief['source'], belief['n'], belief['clusters']) == ('beliefs', 10, 1)
    assert belief['ece'] == pytest.approx((abs(.05 - 1) + .51 + abs(3.9 - 4)) / 10)
    assert (belief['inner_ece'], belief['inner_n']) == (pytest.approx(.51), 1)
    # P(yes) is .9 of the two; one of the two atoms is true.
    assert (answer['source'], answer['n'], answer['ece']) == ('answers', 2, pytest.approx(.4))
    assert answer['inner_ece'] == pytest.approx(.4)
    full = [row for row in rows(tmp_path, 'calibration', source='beliefs') if row['n']]
    assert [(row['n'], row['mean_p'], row['frequency']) for row in full] == [
        (5, pytest.approx(.01), .2), (1, pytest.approx(.51), 0.0), (4, pytest.approx(.975), 1.0)]
    empty = rows(tmp_path, 'calibration', source='beliefs', n=0)
    assert len(empty) == 17 and all(row['mean_p'] is None for row in empty)


def test_answers_of_unscored_episodes_do_not_count(tmp_path):
    write_run(tmp_path, [line(0), line(1, False, scored=False, stop='error', error='x')])
    (tmp_path / 'answers.jsonl').write_text(''.join(
        f'{{"episode": "blocksworld/simple/p{n}#0", "atom": "on a,b", "answer": "yes", '
        f'"p_yes": 0.9, "p_no": 0.1, "truth": {truth}}}\n'
        for n, truth in ((0, 'true'), (1, 'false'))))
    (answer,) = rows(tmp_path, 'calibration_error')
    assert (answer['n'], answer['clusters'], answer['ece']) == (1, 1, pytest.approx(.1))


@pytest.mark.parametrize(('p_yes', 'p_no', 'p'), [
    (.3, .1, .75), (0.0, 0.0, None), (None, .5, None), (1, 0, 1.0), (2, 0, None),
    (True, .5, None), (float('nan'), .5, None), ('1', 0, None)])
def test_probability_of_yes(p_yes, p_no, p):
    assert checked_yes_probability(p_yes, p_no) == (None if p is None else pytest.approx(p))


def test_costs_per_episode(tmp_path):
    used = {'requests': 2, 'prompt_tokens': 100, 'completion_tokens': 10, 'cost_usd': None}
    lines = [line(0, seconds=1.0, observations=1, usage=used),
             line(1, seconds=2.0, observations=2, usage={**used, 'cost_usd': .5}),
             line(2, seconds=6.0, observations=6, timings_s={}, proposals={'unparsed': 3})]
    write_run(tmp_path, lines)
    (row,) = rows(tmp_path, 'cost')
    assert (row['seconds_mean'], row['seconds_median'], row['seconds_sum']) == (3.0, 2.0, 9.0)
    assert row['observations_mean'] == 3.0
    assert (row['prompt_tokens_sum'], row['prompt_tokens_n']) == (200.0, 2)
    assert (row['cost_usd_mean'], row['cost_usd_n']) == (.5, 1)
    assert (row['unreadable_sum'], row['stage_reset'], row['stage_act']) == (3.0, .5, .25)


# Pairs


def test_methods_are_compared_on_the_same_problems(tmp_path):
    # p0 both, p1 and p2 only belief, p3 only ground, p4 neither; p5 was not scored by belief.
    for method, wins in (('ground', (0, 3, 5)), ('belief', (0, 1, 2))):
        lines = [line(n, n in wins, method=method, scored=(method, n) != ('belief', 5))
                 for n in range(6)]
        write_run(tmp_path / method, lines, method=method)
    (row,) = rows(tmp_path, 'paired')
    assert (row['compared'], row['first_method'], row['second_method']) == (
        'method', 'belief', 'ground')
    assert (row['both'], row['only_first'], row['only_second'], row['neither']) == (1, 2, 1, 1)
    assert (row['n'], row['problems'], row['p'], row['p_holm']) == (5, 5, 1.0, 1.0)
    assert (row['first_success'], row['second_success']) == (.6, .4)
    assert row['difference'] == pytest.approx(.2)
    assert row['difference_low'] < 0 < row['difference_high']


def test_pairs_need_the_same_seed_failures_and_all_else(tmp_path):
    write_run(tmp_path / 'a', [line(0)])
    write_run(tmp_path / 'b', [line(0, method='belief')], method='belief', seed=1)
    write_run(tmp_path / 'c', [line(0, method='belief')], method='belief', failure_probability=.1)
    write_run(tmp_path / 'd', [line(0, method='blind')], method='blind', backend=None, model='')
    write_run(tmp_path / 'e', [line(0, method='decode')], method='decode',
              model='noisy_oracle(perfect, seed 0)')
    assert {(row['first_method'], row['second_method']) for row in rows(tmp_path, 'paired')} == {
        ('ground', 'blind'), ('blind', 'decode')}
    assert rows(tmp_path, 'paired')[0]['difference_low'] is None  # one problem: no interval


def test_own_problems_of_other_folders_are_other_problems(tmp_path):
    for name, method, sha in (('a', 'ground', 'x'), ('b', 'belief', 'y'), ('c', 'decode', 'x')):
        write_run(tmp_path / name, [line(0, split='', method=method)], split='', method=method,
                  problems={'count': 1, 'sha256': sha})
    assert [(row['first_method'], row['second_method']) for row in rows(tmp_path, 'paired')] == [
        ('ground', 'decode')]


@pytest.mark.parametrize('fields', [
    {'sightplan': '9.9'}, {'answers': 'lenient'}, {'questions_sha256': 'q1'},
    {'problems': {'count': 25, 'sha256': 'other'}}, {'world': {'pictures': 'rendered'}},
    {'backend': {'name': 'noisy_oracle', 'repeat': .1}},
    {'backend': {'name': 'noisy_oracle', 'cot': 'yes'}}, {'max_actions': {'simple': 99}},
    {'privileged': {'simple': 'always'}}, {'planner': {'search': 'other'}}])
def test_methods_and_models_are_compared_under_equal_conditions_only(tmp_path, fields):
    given = {'answers': 'strict', 'planner': {'search': 'x'}}
    write_run(tmp_path / 'a', [line(0)], **given)
    for name, what in (('b', {'method': 'belief'}),
                       ('c', {'model': 'noisy_oracle(perfect, seed 0)'})):
        write_run(tmp_path / name, [line(0, method=what.get('method', 'ground'))],
                  **{**given, **fields, **what})
        assert 'paired' not in tables_of(tmp_path / 'a', tmp_path / name)
        write_run(tmp_path / name, [line(0)], **given, **what)
        assert 'paired' in tables_of(tmp_path / 'a', tmp_path / name)


def test_methods_are_compared_by_the_rules_of_the_suite_for_each(tmp_path):
    alike = {'backend': 'scripted', 'model': 'scripted(x.yaml@1)', 'sightplan': '1'}
    write_run(tmp_path / 'a', [line(0)], answers='strict', planner={'search': 'x'}, **alike)
    write_run(tmp_path / 'b', [line(0, method='plan')], method='plan', answers=None, planner=None,
              **alike)
    write_run(tmp_path / 'c', [line(0, method='oracle')], method='oracle', answers=None,
              planner={'search': 'x'}, backend=None, model='', sightplan='1')
    assert [(row['compared'], row['first_method'], row['second_method'])
            for row in rows(tmp_path, 'paired')] == [
        ('method', 'ground', 'plan'), ('method', 'ground', 'oracle'), ('method', 'plan', 'oracle')]
    # A budget that is set for both is the same, though the suite has another for one.
    for name, method in (('a', 'ground'), ('b', 'plan')):
        write_run(tmp_path / name, [line(0, method=method)], method=method,
                  max_actions={'simple': 20}, **alike)
    assert [row['first_method'] for row in tables_of(tmp_path / 'a', tmp_path / 'b')['paired'].rows
            ] == ['ground']


def test_reasons_are_rates_of_the_same_model(tmp_path):
    for method, kind in (('ground', 'plain'), ('ground_cot', 'cot')):
        write_run(tmp_path / method, [line(0, method=method)], method=method,
                  model=f'noisy_oracle(gpt-4.1/{kind}, repeat 0.45, seed 0)',
                  backend={'name': 'noisy_oracle', 'cot': 'yes' if kind == 'cot' else 'no'})
    assert [row['compared'] for row in rows(tmp_path, 'paired')] == ['method']


def test_one_condition_apart_is_a_comparison_and_two_are_none(tmp_path):
    write_run(tmp_path / 'a', [line(0)], answers='strict', sightplan='1')
    write_run(tmp_path / 'b', [line(0)], answers='lenient', sightplan='1')
    write_run(tmp_path / 'c', [line(0)], answers='lenient', sightplan='2')
    assert [(row['compared'], row['first_variant'], row['second_variant'])
            for row in rows(tmp_path, 'paired')] == [
        ('condition', 'answers strict, sightplan 1', 'answers lenient, sightplan 1'),
        ('condition', 'answers lenient, sightplan 1', 'answers lenient, sightplan 2')]


def test_a_method_without_a_model_is_set_against_every_seed_of_the_backend(tmp_path):
    for seed, solved in ((0, True), (7, False)):
        write_run(tmp_path / str(seed), [line(0, solved)],
                  model=f'noisy_oracle(gpt-4.1/plain, seed {seed})',
                  backend={'name': 'noisy_oracle', 'seed': seed})
    write_run(tmp_path / 'blind', [line(0, method='blind')], method='blind', backend=None,
              model='')
    write_run(tmp_path / 'other', [line(0, method='belief')], method='belief',
              model='noisy_oracle(gpt-4.1/plain, seed 7)',
              backend={'name': 'noisy_oracle', 'seed': 7})
    found = {(row['first_method'], row['second_method']): row for row in rows(tmp_path, 'paired')}
    row = found['ground', 'blind']
    assert (row['n'], row['problems'], row['both'], row['only_second']) == (2, 1, 1, 1)
    assert found['ground', 'belief']['n'] == 1 and found['ground', 'belief']['only_second'] == 1


def test_models_and_variants_are_compared_too(tmp_path):
    write_run(tmp_path / 'a', [line(0)])
    write_run(tmp_path / 'b', [line(0)], model='noisy_oracle(perfect, seed 0)')
    write_run(tmp_path / 'c', [line(0)], method={'name': 'ground', 'other_views': 2})
    write_index(tmp_path, 's', [(name, {'variant': name}) for name in 'abc'])
    made = rows(tmp_path, 'paired')
    assert [(row['first_variant'], row['second_variant']) for row in made
            if row['compared'] == 'model'] == [('a', 'b')]
    found = {row['compared']: row for row in made}
    assert len(made) == len(found) == 2  # b and c differ in both
    assert (found['variant']['first_variant'], found['variant']['second_variant']) == (
        'a, privileged facts: none', 'c, privileged facts: none')


def test_all_splits_together_are_a_family_of_their_own(tmp_path):
    for number, (method, solved) in enumerate((('ground', (0, 0, 0)), ('belief', (5, 5, 5)),
                                               ('decode', (5, 0, 0)))):
        model_run(tmp_path / str(number), 'gpt-4.1', solved, method=method)
    whole = rows(tmp_path, 'paired', split='all', first_method='ground', second_method='belief')
    assert (whole[0]['n'], whole[0]['problems'], whole[0]['p']) == (15, 15, 2 / 2 ** 15)
    assert whole[0]['p_holm'] == pytest.approx(3 * 2 / 2 ** 15)
    (one,) = rows(tmp_path, 'paired', split='hard', first_method='ground', second_method='belief')
    # Nine rows of single splits; five of them have p = 2 / 32, the others 1.
    assert (one['p'], one['p_holm']) == (2 / 32, pytest.approx(9 * 2 / 32))


# All tables


def test_real_runs_fill_the_tables(tmp_path):
    for method, options in (('ground', {}), ('belief', {'search': ''})):
        run(RunSettings(split='simple', method=method, backend='noisy_oracle', episodes=2,
                        backend_options={'table': 'InternVL3-8B'}, method_options=options,
                        answers_log=True, out=str(tmp_path / method)),
            world=MemoryWorld(), planner=SearchPlanner())
    results = gather(tmp_path)
    assert results.warnings == () and len(results.groups) == 2
    assert {run.model for run in results.runs} == {'InternVL3 8B'}
    made = {table.name: table for table in make_tables(results)}
    assert {'success', 'predicates', 'compounding', 'calibration', 'paired'} <= set(made)
    assert made['success'].rows[0]['simple_paper'] in (.32, None)
    (pair,) = made['paired'].rows
    assert (pair['n'], pair['first_method'], pair['second_method']) == (2, 'belief', 'ground')
    (ground,) = (row for row in made['runs'].rows if row['method'] == 'ground')
    assert ground['planned'] == 2 and ground['exact_model'].startswith('noisy_oracle(InternVL3')
    assert sum(1 for run in results.runs for _ in run.answers()) == sum(
        line['questions'] for run in results.runs for line in run.lines)


def test_every_table_of_the_data_can_be_made():
    values = {'split': ['simple', 'hard'], 'domain': ['blocksworld', 'all'],
              'predicate': ['on'], 'stage': ['reset'],
              'side': ['first', 'second'], 'measure': {'brier_score': 'brier score'}}
    names = [name for name in specifications() if name not in ('shared', 'group')]
    for name in names:
        table = make(name, [{'n': 1.5, 'model': 7}], **values)
        keys = [column.key for column in table.columns]
        assert len(keys) == len(set(keys)) and table.title and table.note and '{' not in str(keys)
        assert {column.kind for column in table.columns} <= set(get_args(Kind))
        assert table.rows[0].get('n') is None, 'no whole number'
        assert table.rows[0].get('model') in ('7', None)
    rate = [c.key for c in make('models', ()).columns if c.key.startswith('success_')]
    assert rate == ['success_sem', 'success_low', 'success_high', 'success_n', 'success_errors',
                    'success_unlike']
    measure = make('samples', (), **values).columns[-1]
    assert (measure.key, measure.heading) == ('measure_brier_score', 'brier score')


def test_every_table_keeps_its_word(tmp_path):
    model_run(tmp_path / 'a', 'gpt-4.1', (5, 4, 3))
    lines = [line(n, bool(n), method='belief', **asked({'on': counts(9, 10)}, 2, 3, 1))
             for n in range(3)]
    write_run(tmp_path / 'b', lines, method='belief')
    made = make_tables(gather(tmp_path))
    assert [table.name for table in made] == [
        'success', 'figure5', 'model_table', 'models', 'predicates_blocksworld', 'predicates',
        'compounding', 'compounding_predicted', 'failures', 'stops', 'cost', 'paired', 'measures',
        'runs']
    types = {'text': str, 'bool': bool, 'count': int}
    for table in made:
        keys = [column.key for column in table.columns]
        assert len(set(keys)) == len(keys) and table.title and table.note
        assert len({(c.group, c.heading) for c in table.columns}) == len(keys), table.name
        for row in table.rows:
            assert list(row) == keys
            for column in table.columns:
                value = row[column.key]
                assert value is None or type(value) is types.get(column.kind, float), (
                    table.name, column.key, value)


# Statistics behind them


def test_fraction_without_trials_is_unknown():
    none, some = fraction_of([], []), fraction_of([0, 1, 0, 0], 'abcd')
    assert (none.rate, none.sem, none.low, none.high) == (None,) * 4
    assert some.rate == .25 and some.low == wilson(1, 4)[0]


def test_mean_and_error_over_models():
    assert mean_over([]) == (None, None)
    assert mean_over([.3]) == (.3, None)
    assert mean_over([.1, .2, .3]) == (pytest.approx(.2), pytest.approx(.1 / math.sqrt(3)))


def test_differences_in_standard_errors():
    assert errors_apart(.5, .3, .1, .4) == pytest.approx(.8)
    assert errors_apart(1.0, 0.0, 1.0, 0.0) == 0.0
    assert errors_apart(1.0, 0.0, .0, 0.0) is None
    assert errors_apart(None, .1, .5, .1) is errors_apart(.4, .1, .5, None) is None


# Measures of suites


def test_every_measure_of_episodes_and_samples_is_in_one_table(tmp_path):
    write_run(tmp_path / 'episodes', [line(0), line(1, False), line(2, steps=5), line(
        3, scored=False, stop='error', error='x')])
    write_run(tmp_path / 'eyes', [sample(0), sample(1, False), sample(2), sample(3)],
              suite='predicates', method='ask', model='eyes@1', backend='embedded')
    found = tables(tmp_path)
    made = {(row['suite'], row['measure']): row for row in found['measures'].rows}
    solved = made['viplan', 'solved']
    assert (solved['value'], solved['n'], solved['clusters'], solved['items']) == (
        pytest.approx(2 / 3), 3, 3, 4)
    assert (solved['value_low'], solved['value_high']) == wilson(2, 3)
    assert made['viplan', 'steps']['value'] == pytest.approx(3.0)
    accuracy = made['predicates', 'accuracy']
    assert (accuracy['value'], accuracy['n'], accuracy['clusters']) == (.75, 4, 2)
    assert made['predicates', 'balanced accuracy']['value'] == .5
    assert made['predicates', 'brier']['value'] is None
    assert {row['predicate'] for row in found['suite_predicates_by_predicate'].rows} == {
        'all', 'on'}
    assert sum(row['success_n'] for row in found['models'].rows) == 3, 'no sample is an episode'


def test_samples_of_other_data_are_other_rows_of_their_suite(tmp_path):
    for name, digest, right in (('a', 'd0', 'Yes'), ('b', 'd1', 'No'), ('c', 'd0', 'Yes')):
        write_run(tmp_path / name, [sample(number, reply=right) for number in range(
            4 if name == 'c' else 2)], suite='predicates', method='ask', kind='samples',
            samples={'count': 2, 'simple': {'sha256': digest, 'pictures': 1}})
    found = [(row['variant'], row['accuracy'], row['n']) for row in rows(
        tmp_path, 'suite_predicates_by_predicate', split='simple', predicate='on')]
    assert found == [('samples.sha256 simple d0', 1.0, 4), ('samples.sha256 simple d1', 0.0, 2)]
