"""Gathering runs and sweeps: what is read, what is left out, what belongs together."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from report_cases import identity, line, sample, write_index, write_run
from sightplan.metrics import measures
from sightplan.model import InputError
from sightplan.records import RunStore
from sightplan_report.lines import EpisodeLine, wrong_field
from sightplan_report.results import episode_key, gather, short_model
from sightplan_report.tables import make_tables


def test_a_run_directory(tmp_path):
    write_run(tmp_path / 'run', [line(0), line(1, False)])
    (run,) = gather(tmp_path / 'run').runs
    assert (run.domain, run.method, run.backend, run.model) == (
        'blocksworld', 'ground', 'noisy_oracle', 'GPT-4.1')
    assert (run.seed, run.failure_probability, run.privileged, run.calibrated, run.planned) == (
        0, 0.0, 'none', None, 4)
    assert run.summary['success_rate'] == .5 and run.commits == ('c0ffee',)
    assert run.labels == {}, 'no sweep gave any'


def test_a_backend_with_a_setting_called_name_keeps_its_name(tmp_path):
    run = write_run(tmp_path, [line(0)], backend={'name': ''}, model='gpt-4.1@localhost:8000/v1')
    info = json.loads((run / 'run.json').read_text())
    info['sessions'][-1]['settings']['backend'] = 'openai'
    (run / 'run.json').write_text(json.dumps(info))
    assert gather(run).runs[0].backend == 'openai'


def test_a_single_file_and_one_without_its_run(tmp_path):
    run = write_run(tmp_path / 'run', [line(0)])
    assert gather(run / 'episodes.jsonl').runs[0].backend == 'noisy_oracle'
    (run / 'run.json').unlink()
    with pytest.raises(InputError, match=r'run\.json: is missing.* is left out'):
        gather(run / 'episodes.jsonl')


def test_episodes_that_no_run_planned_are_what_their_lines_say(tmp_path):
    run = write_run(tmp_path / 'run', [line(0, model='gpt-4.1@server', privileged='always'),
                                       line(1, False, method='ground', error='broke early')])
    info = json.loads((run / 'run.json').read_text())
    (run / 'run.json').write_text(json.dumps({**info, 'identity': {'source': 'topics'}}))
    (found,) = gather(run).runs
    assert (found.domain, found.method, found.backend, found.model, found.seed) == (
        'blocksworld', 'ground', '', 'GPT-4.1', None)
    assert found.rules['max_actions'] == {'simple': 20} and found.problems is None
    assert make_tables(gather(run))


@pytest.mark.parametrize(('field', 'value'), [
    ('method', {'settings': 1}), ('seed', 'x'), ('domain', None), ('privileged', 'none')])
def test_a_damaged_identity_is_named_and_the_rest_is_used(tmp_path, field, value):
    write_run(tmp_path / 'good', [line(0)])
    bad = write_run(tmp_path / 'bad', [line(0)])
    info = json.loads((bad / 'run.json').read_text())
    info['identity'][field] = value
    (bad / 'run.json').write_text(json.dumps(info))
    results = gather(tmp_path)
    assert [run.name for run in results.runs] == ['good']
    assert f'run.json: identity.{field}' in results.warnings[0]


def test_a_sweep_gives_labels_and_says_what_is_missing(tmp_path):
    write_run(tmp_path / 's' / 'a', [line(0)])
    write_run(tmp_path / 's' / 'stray', [line(0)], seed=7)
    write_run(tmp_path / 's' / 'calibrations' / 'runs' / 'x', [line(0)])
    write_index(tmp_path / 's', 'main', [('a', {'variant': 'full'}), ('b', {'variant': 'none'})])
    write_index(tmp_path / 's', 'other', [('a', {'method': 'ground'})])
    for path in (tmp_path / 's', tmp_path):
        results = gather(path)
        assert [run.name for run in results.runs] == ['a']
        assert results.runs[0].labels == {'method': 'ground', 'variant': 'full'}
        assert results.runs[0].planned == 4
        assert any('stray' in text for text in results.warnings)
        assert any('have not begun: b' in text for text in results.warnings)


def test_a_damaged_index_loses_labels_but_no_run(tmp_path):
    write_run(tmp_path / 'a', [line(0)])
    (tmp_path / 'x.sweep.json').write_text('{"cells": [{"dir": "..')
    results = gather(tmp_path)
    assert [run.name for run in results.runs] == ['a']
    assert 'x.sweep.json: is damaged' in results.warnings[0]


def test_an_index_cannot_lead_out_of_its_folder(tmp_path):
    write_run(tmp_path / 'out', [line(0)])
    write_index(tmp_path / 's', 'main', [('../out', {})])
    with pytest.raises(InputError, match='not one finished episode'):
        gather(tmp_path / 's')


def test_a_folder_of_several_and_a_run_named_twice(tmp_path):
    write_run(tmp_path / 'deep' / 'a', [line(0)])
    write_run(tmp_path / 'b', [line(0)], method='belief')
    results = gather([tmp_path, tmp_path / 'b', str(tmp_path / 'deep')])
    assert sorted(run.name for run in results.runs) == ['a', 'b']
    assert results.warnings == ()


def test_a_damaged_run_in_a_folder_is_named_and_the_rest_is_used(tmp_path):
    write_run(tmp_path / 'good', [line(0)], seed=5)
    bad = write_run(tmp_path / 'bad', [line(0), line(1), line(2)])
    lines = (bad / 'episodes.jsonl').read_text().splitlines()
    lines[1] = lines[1][:50]
    (bad / 'episodes.jsonl').write_text('\n'.join(lines) + '\n')
    write_run(tmp_path / 'odd', [line(0)])
    (tmp_path / 'odd' / 'run.json').write_text('[]')
    write_run(tmp_path / 'none', [])
    results = gather(tmp_path)
    assert {run.name: len(run.lines) for run in results.runs} == {'bad': 2, 'good': 1}
    said = '\n'.join(results.warnings)
    assert 'episodes.jsonl: 1 damaged line is left out, number 2 (is not JSON)' in said
    assert 'run.json' in said and 'none: has no finished episode' in said


def test_a_truncated_last_line_is_not_committed(tmp_path):
    run = write_run(tmp_path / 'run', [line(0), line(1)])
    raw = (run / 'episodes.jsonl').read_bytes()
    (run / 'episodes.jsonl').write_bytes(raw[:-20])
    results = gather(run)
    assert len(results.runs[0].lines) == 1 and results.warnings == ()
    store = RunStore(run)
    assert store.open(identity(), resume=True) == {line(0)['id']}
    store.close()


def test_a_last_line_that_lacks_only_its_line_end_counts(tmp_path):
    run = write_run(tmp_path / 'run', [line(0), line(1)])
    raw = (run / 'episodes.jsonl').read_bytes()
    (run / 'episodes.jsonl').write_bytes(raw[:-1])
    assert len(gather(run).runs[0].lines) == 2
    with RunStore(run) as store:
        assert store.open(identity(), resume=True) == {line(0)['id'], line(1)['id']}


@given(st.data())
@settings(max_examples=60, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cut_anywhere_all_before_is_read(tmp_path, data):
    run = write_run(tmp_path, [line(number) for number in range(3)])
    raw = ''.join(json.dumps(line(number)) + '\n' for number in range(3)).encode()
    offset = data.draw(st.integers(0, len(raw)))
    (run / 'episodes.jsonl').write_bytes(raw[:offset])
    whole = raw[:offset].count(b'\n') + (raw[offset:offset + 1] == b'\n')
    if whole:
        assert len(gather(run).runs[0].lines) == whole
    else:
        with pytest.raises(InputError):
            gather(run)


JUNK = st.recursive(st.none() | st.booleans() | st.integers(-5, 10 ** 20) | st.text(max_size=3)
                    | st.floats(), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=5)


@given(st.sampled_from(sorted(line())), JUNK)
@settings(max_examples=40, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_junk_in_any_field_breaks_no_table(tmp_path, field, junk):
    results = gather(write_run(tmp_path, [line(0), {**line(1), field: junk}]))
    assert 1 <= sum(len(run.lines) for run in results.runs) <= 2
    assert make_tables(results)


def test_samples_of_a_suite_that_is_gone_are_named_and_the_rest_is_used(tmp_path):
    write_run(tmp_path / 'episodes', [line(0)])
    write_run(tmp_path / 'eyes', [sample(0)], suite='gone', method='ask', model='eyes@1')
    results = gather(tmp_path)
    assert [run.name for run in results.runs] == ['episodes'] and make_tables(results)
    assert "eyes: its suite 'gone' is not there" in results.warnings[0]


def test_every_line_that_the_scorer_writes_has_its_shape():
    assert wrong_field(EpisodeLine, line(0)) == '' == wrong_field(EpisodeLine, line(1, False))
    assert wrong_field(EpisodeLine, {**line(0), 'plans': [{}]}) == 'plans.0.status'
    assert wrong_field(EpisodeLine, []) == 'not an object'


def test_lines_that_are_none_of_results_are_named(tmp_path):
    run = write_run(tmp_path / 'run', [line(0), line(1, measures='yes'), line(2, questions=-1),
                                       {'measures': {}}])
    said = gather(run).warnings[0]
    assert '3 damaged lines' in said
    assert '2 (measures), 3 (questions), 4 (id)' in said


def test_repeated_lines_count_once(tmp_path):
    run = write_run(tmp_path / 'run', [line(0), line(0, False), line(1)])
    results = gather(run)
    assert [measures.solved(one) for one in results.runs[0].lines] == [True, True]
    assert '1 repeated line is left out, of blocksworld/simple/p0#0' in results.warnings[0]


def test_the_same_run_in_two_folders_counts_once(tmp_path):
    write_run(tmp_path / 'a', [line(0), line(1)])
    write_run(tmp_path / 'copy', [line(0), line(1), line(2)])
    write_run(tmp_path / 'other_seed', [line(0)], seed=1)
    results = gather(tmp_path)
    (group,) = results.groups
    assert len(group.lines) == 4 and [run.seed for run in group.runs] == [0, 0, 1]
    assert 'copy: 2 of its items stand in' in results.warnings[0]


def test_nothing_readable_is_an_error_with_a_remedy(tmp_path):
    for path, reason in ((tmp_path / 'missing', 'does not exist'),
                         (tmp_path, 'not one finished episode')):
        with pytest.raises(InputError, match=reason) as caught:
            gather(path)
        assert 'sightplan run --out' in str(caught.value)
    (tmp_path / 'x.txt').write_text('')
    with pytest.raises(InputError, match='not a file of episodes'):
        gather(tmp_path / 'x.txt')
    with pytest.raises(InputError, match='nothing to report'):
        gather([])


# Groups


def label(group):
    failing = f'{100 * group.failure_probability:g}% of actions fail'
    return ', '.join(filter(None, (group.method, group.model,
                                   failing if group.failure_probability else '', group.variant)))


def labels_of(path):
    return [(label(group), group.splits, len(group.lines)) for group in gather(path).groups]


def test_splits_and_seeds_belong_together(tmp_path):
    # Budgets are those that the suite lays down for the method.
    for name, split, budget, seed in (('a', 'simple', 10, 0), ('b', 'hard', 30, 3)):
        write_run(tmp_path / name, [line(0, split=split, method='plan')], split=split,
                  method='plan', max_actions={split: budget}, stop_at_goal={split: True},
                  privileged={split: 'none'}, seed=seed,
                  model=f'noisy_oracle(gpt-4.1/plain, seed {seed})',
                  backend={'name': 'noisy_oracle', 'seed': seed})
    assert labels_of(tmp_path) == [('plan, GPT-4.1', ('simple', 'hard'), 2)]


@pytest.mark.parametrize(('fields', 'text'), [
    ({'failure_probability': .1}, '10% of actions fail'),
    ({'method': {'name': 'ground', 'other_views': 2}}, 'other_views 2'),
    ({'questions_sha256': 'q1'}, 'questions_sha256 q1'),
    ({'world': {'pictures': 'rendered'}}, 'world.pictures rendered'),
    ({'max_actions': {'simple': 99}}, 'max_actions 99'),
    ({'problems': {'count': 3, 'sha256': 'p1'}}, 'problems p1'),
    ({'problems': {}}, 'problems not known')])
def test_what_results_depend_on_tells_groups_apart(tmp_path, fields, text):
    write_run(tmp_path / 'a', [line(0)])
    write_run(tmp_path / 'b', [line(0, False)], **fields)
    labels = [found for found, _, _ in labels_of(tmp_path)]
    assert len(set(labels)) == 2
    assert any(text in found for found in labels)


@pytest.mark.parametrize(('first', 'second'), [
    ('embedded_model/blocksworld@7c81', 'embedded_model/blocksworld@0aff'),
    ('Qwen/Qwen2.5-VL-7B-Instruct@aaaaa bfloat16', 'Qwen/Qwen2.5-VL-7B-Instruct@bbbbb bfloat16'),
    ('gpt-4.1@api.openai.com/v1', 'gpt-4.1@localhost:8000/v1')])
def test_versions_of_a_model_are_models_of_their_own(tmp_path, first, second):
    for name, model, solved in (('a', first, True), ('b', second, False)):
        write_run(tmp_path / name, [line(0, solved, model=model)], model=model, backend='other')
    groups = gather(tmp_path).groups
    assert [(group.exact_model, group.variant, len(group.lines)) for group in groups] == [
        (first, f'model {first}', 1), (second, f'model {second}', 1)]
    assert groups[0].model == groups[1].model


def test_seeds_of_a_backend_are_other_runs_of_the_same_group(tmp_path):
    for name, seed in (('a', 0), ('b', 7), ('c', 7)):
        write_run(tmp_path / name, [line(0, seed == 0)],
                  model=f'noisy_oracle(gpt-4.1/plain, seed {seed})',
                  backend={'name': 'noisy_oracle', 'seed': seed})
    results = gather(tmp_path)
    (group,) = results.groups
    assert (len(group.lines), group.exact_model) == (2, 'noisy_oracle(gpt-4.1/plain)')
    assert len({episode_key(run, run.lines[0]) for run in group.runs}) == 2
    assert ['c: 1 of its items' in text for text in results.warnings] == [True]


@pytest.mark.parametrize('fields', [
    {'privileged': {'simple': 'always'}}, {'answers': 'lenient'}, {'sightplan': '9.9'},
    {'backend': {'name': 'noisy_oracle', 'repeat': .1}},
    {'backend': {'name': 'noisy_oracle', 'cot': 'yes'}}, {'planner': {'search': 'other'}}])
def test_runs_under_other_conditions_are_another_group_and_lose_nothing(tmp_path, fields):
    write_run(tmp_path / 'a', [line(0)])
    write_run(tmp_path / 'b', [line(0, False)], **fields)
    results = gather(tmp_path)
    assert [len(group.lines) for group in results.groups] == [1, 1]
    assert results.warnings == ()
    first, second = results.groups
    assert (first.condition != second.condition) == ('privileged' not in fields)
    assert hash(first.condition) != hash(second.condition) or 'privileged' in fields


def test_what_a_group_is_depends_on_no_other(tmp_path):
    write_run(tmp_path / 'a', [line(0)])
    (alone,) = gather(tmp_path / 'a').groups
    for number, fields in enumerate(({'sightplan': '9.9'}, {'max_actions': {'simple': 50}},
                                     {'problems': {'count': 1, 'sha256': 'other'}})):
        write_run(tmp_path / str(number), [line(0)], **fields)
    groups = gather(tmp_path).groups
    (beside,) = (group for group in groups if group.runs[0].name == 'a')
    assert (alone.condition, alone.settings) == (beside.condition, beside.settings)
    assert alone.variant != beside.variant and len({g.condition for g in groups}) == 4
    # The suite gives planners other budgets; rates after reasoning are those that are asked for.
    for method, fields in (
            ('plan', {}), ('ground_cot', {'backend': {'name': 'noisy_oracle', 'cot': 'yes'}})):
        write_run(tmp_path / method, [line(0, method=method)], method=method, **fields)
        assert gather(tmp_path / method).groups[0].condition == alone.condition


def test_calibrations_of_a_sweep_stay_together_beside_another_sweep(tmp_path):
    for sweep in ('one', 'two'):
        for split in ('simple', 'hard'):
            write_run(tmp_path / sweep / split, [line(0, split=split)], split=split,
                      method={'name': 'belief', 'calibration': f'{split}@{sweep}'})
    groups = gather(tmp_path).groups
    assert [(len(group.runs), group.splits) for group in groups] == [(2, ('hard', 'simple'))] * 2
    assert [group.variant for group in groups] == [
        f'calibration hard@{sweep}, simple@{sweep}' for sweep in ('one', 'two')]


def test_time_limits_do_not(tmp_path):
    write_run(tmp_path / 'a', [line(0)], planner={'search': 'x', 'timeout_s': 60.0})
    write_run(tmp_path / 'b', [line(1)], planner={'search': 'x', 'timeout_s': 5.0})
    assert labels_of(tmp_path) == [('ground, GPT-4.1', ('simple',), 2)]


def test_variants_are_called_as_in_the_sweep(tmp_path):
    write_run(tmp_path / 'a', [line(0)], method={'name': 'belief', 'k': 4})
    write_run(tmp_path / 'b', [line(0)], method={'name': 'belief', 'k': 16})
    write_index(tmp_path, 's', [('a', {'variant': 'few'}), ('b', {'variant': 'many'})])
    assert [group.variant for group in gather(tmp_path).groups] == ['few', 'many']


def test_calibrations_of_splits_do_not_tear_a_group_apart(tmp_path):
    for split, name in (('simple', 'a.json@1'), ('hard', 'b.json@2')):
        write_run(tmp_path / split, [line(0, split=split)], split=split, max_actions={split: 20},
                  privileged={split: 'none'}, method={'name': 'belief', 'calibration': name})
    (group,) = gather(tmp_path).groups
    assert group.calibrated is True and len(group.runs) == 2
    write_run(tmp_path / 'other', [line(1)], method={'name': 'belief', 'calibration': 'c.json@3'})
    assert len({label(group) for group in gather(tmp_path).groups}) == len(
        gather(tmp_path).groups) > 1


@pytest.mark.parametrize(('model', 'short'), [
    ('Qwen/Qwen2.5-VL-7B-Instruct@cc594898137f bfloat16', 'Qwen2.5-VL 7B'),
    ('gpt-4.1@api.openai.com/v1', 'GPT-4.1'),
    ('noisy_oracle(InternVL3-8B/plain, repeat 0.45, seed 0)', 'InternVL3 8B'),
    ('noisy_oracle(gemma-3-27b-it/cot hard, seed 1)', 'Gemma-3 27B'),
    ('noisy_oracle(perfect, repeat 0.45, seed 0)', 'perfect'),
    ('noisy_oracle(mine@0123+1.5, seed 0)', 'mine'),
    ('noisy_reader(gpt-4o 3d, near 0.7, repeat 0.45, seed 0)', 'GPT-4o'),
    ('noisy_reader(perfect 2d, near 0.7, repeat 0.45, seed 0)', 'perfect'),
    ('noisy_planner(InternVL3 78B, repeat 0.9, seed 0)', 'InternVL3 78B'),
    ('noisy_planner(Qwen3-VL 30B A3B hard, repeat 0.9, seed 1)', 'Qwen3-VL 30B A3B'),
    ('noisy_planner(mine@0123, repeat 0.9, seed 0)', 'mine'),
    ('embedded_model/blocksworld@0f3a', 'embedded'),
    ('scripted(replies.yaml@12ab)', 'scripted'),
    ('someone/Unheard-Of-3B@1', 'Unheard-Of-3B'), ('', '')])
def test_models_have_short_names(model, short):
    assert short_model(model) == short
