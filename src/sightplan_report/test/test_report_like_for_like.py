"""A distance from a paper's number only where protocol, tokens, prompts and unread are its own."""

import pytest

from report_cases import SPLITS, asked, counts, line, write_run
from sightplan.runs import RunSettings, load_suite, specify
from sightplan.runs.rules import RULES
from sightplan_report.results import gather
from sightplan_report.table_cells import shown
from sightplan_report.tables import make_tables

CLONE = {'folder': 'ViPlan', 'sha256': 'c10e', 'official': True}
SERVED = {'model': 'gpt-4.1@api.openai.com/v1', 'backend': 'openai', 'reply_tokens': 1024,
          'prompts': CLONE}
RECORDED = ('domain', 'split', 'protocol', 'method', 'world', 'planner', 'answers', *RULES)


def tables(folder, domain='blocksworld', method='ground', protocol='paper', changed=None,
           **fields):
    """The tables of a run of three splits that follows a protocol, as runs record it.

    Fields of the identity are put in its place; ``changed`` holds more of what a field holds.
    """
    for split in SPLITS:
        found = specify(RunSettings(
            domain=domain, split=split, method=method, protocol=protocol, backend='openai',
            backend_options={'model': 'gpt-4.1'})).identity('')
        write_run(folder / split, [line(number, number < 2, split=split, domain=domain,
                                        method=method, **asked({'on': counts(9, 10)}))
                                   for number in range(4)],
                  **{**{key: found[key] for key in RECORDED}, **SERVED, **{
                      key: {**found[key], **more} for key, more in (changed or {}).items()},
                     **fields})
    return {table.name: table for table in make_tables(gather(folder))}


def test_the_papers_protocol_prompts_and_tokens_have_a_distance(tmp_path):
    made = tables(tmp_path)
    for row in made['models'].rows:
        assert row['success_errors'] is not None and row['success_unlike'] is None
        assert row['accuracy_errors'] is not None and row['paper_differs'] is None
        assert row['measured'] == (
            "protocol paper, 20 actions, 1,024 tokens a reply, the paper's prompts, "
            'unread: wrong, ends the episode')
        assert row['paper_measured'] == (
            'protocol paper, 20 actions, 1,024 tokens a reply, prompts of the paper, '
            'unread: wrong, ends the episode')
    (row,) = made['success'].rows
    assert row['paper_mean'] is not None and row['paper_unlike'] is None


@pytest.mark.parametrize(('fields', 'short'), [
    ({'protocol': 'ours'}, 'protocol ours'),
    ({'prompts': None}, 'our prompts'),
    ({'prompts': {**CLONE, 'folder': 'mine', 'official': False}}, 'prompts of mine'),
    ({'reply_tokens': 16}, '16 tokens a reply, not 1024'),
])
def test_what_differs_stands_in_place_of_the_distance(tmp_path, fields, short):
    made = tables(tmp_path, domain='household', **fields)
    for row in made['models'].rows:
        assert (row['success_errors'], row['accuracy_errors']) == (None, None)
        assert short in row['success_unlike'] and row['paper_success'] is not None
    (drawn, *_) = [cell for cell, head in zip(
        shown(made['models']).rows[0], shown(made['models']).heads, strict=True)
        if head.text == 'difference / SE']
    assert short in drawn.text and drawn.value is None
    assert short in made['success'].rows[0]['paper_unlike']


def test_each_setting_of_another_protocol_is_named_with_both_values(tmp_path):
    made = tables(tmp_path, domain='household', protocol='ours')
    for row in made['models'].rows:
        assert 'navigation pddl instead of reference' in row['paper_differs']
        assert row['success_unlike'] == 'protocol ours'


@pytest.mark.parametrize(('changed', 'said'), [
    ({'method': {'reading': True}}, 'reading True instead of False'),
    ({'world': {'labels': False}}, 'labels False instead of True'),
    ({'backend': {'name': 'openai', 'temperature': 0.7}}, 'temperature 0.7 instead of 0'),
])
def test_what_is_set_beside_a_protocol_is_named(tmp_path, changed, said):
    row = tables(tmp_path, domain='household', changed=changed)['models'].rows[0]
    assert row['success_errors'] is None
    assert (row['success_unlike'], row['paper_differs']) == (
        'other settings than protocol paper', said)


def test_how_replies_are_read_counts_only_where_some_could_not_be_read(tmp_path):
    fields = {'answers': 'strict'}
    assert tables(tmp_path / 'all', **fields)['models'].rows[0]['success_unlike'] is None
    answers = asked({'on': counts(7, 10, unparsed=1)})
    write_run(tmp_path / 'one', [line(0, **answers)], method={'name': 'ground'}, **SERVED,
              **fields)
    (row,) = next(table for table in make_tables(gather(tmp_path / 'one'))
                  if table.name == 'models').rows
    assert 'answers strict instead of prefix' in row['paper_differs']
    assert row['success_unlike'] == 'protocol ours, unread: the episode goes on'


def test_a_simulated_model_needs_no_prompts_and_no_tokens(tmp_path):
    made = tables(tmp_path, model='noisy_oracle(gpt-4.1/plain, seed 0)', backend='noisy_oracle',
                  prompts=None, reply_tokens=None)
    for row in made['models'].rows:
        assert row['success_errors'] is not None
        assert row['measured'] == ('protocol paper, 20 actions, '
                                   'unread: wrong, ends the episode')


@pytest.mark.parametrize(('name', 'fitted'), [('GPT-4.1', True), ('gpt-4.1@0a1b2c', False)])
def test_success_that_was_fitted_to_the_papers_has_no_distance_from_it(tmp_path, name, fitted):
    made = tables(tmp_path, method='plan', model=f'noisy_planner({name}, repeat 0.9, seed 0)',
                  backend='noisy_planner', prompts=None, reply_tokens=None)
    words = "rates fitted to the paper's success" if fitted else None
    for row in made['models'].rows:
        assert row['paper_success'] is not None and row['success_unlike'] == words
        assert (row['success_errors'] is None) is fitted
    assert made['success'].rows[0]['paper_unlike'] == words


def test_every_table_with_a_published_number_names_what_both_were_measured_with(tmp_path):
    made = tables(tmp_path, method='plan', protocol='ours', reply_tokens=256)
    tables(tmp_path / 'house', domain='household', method='plan', protocol='ours',
           reply_tokens=256)
    made['table1'], *_ = make_tables(gather(tmp_path))
    assert made['table1'].name == 'table1' and made['table1'].rows
    made |= {f'{name} of ground': table for name, table in tables(tmp_path / 'ground').items()}
    for name, table in made.items():
        for row in table.rows:
            if any('paper' in key and isinstance(value, float) for key, value in row.items()):
                assert row['measured'].startswith('protocol '), name
                assert 'actions' in row['measured'] and 'unread: ' in row['measured'], name
                assert '1,024 tokens' in row['paper_measured'], name
    (row,) = (row for row in made['success'].rows if row['method'] == 'plan')
    assert '10/20/30 actions, 256 tokens a reply' in row['measured']
    assert row['paper_measured'] == (
        'protocol paper, 10/20/30 actions, 1,024 tokens a reply, prompts of the paper, '
        'unread: wrong, ends the episode')


@pytest.mark.parametrize('protocol', ['ours', 'paper'])
def test_domains_are_one_row_though_a_protocol_sets_methods_otherwise_in_each(tmp_path, protocol):
    for method in ('ground', 'plan'):
        tables(tmp_path / method, method=method, protocol=protocol)
        tables(tmp_path / f'{method}-house', domain='household', method=method, protocol=protocol)
    made = {table.name: table for table in make_tables(gather(tmp_path))}
    assert {row['method'] for row in made['table1'].rows} == {'ground', 'plan'}
    # What a run sets itself tells its domains apart.
    tables(tmp_path / 'ground', protocol=protocol, changed={'method': {'reading': True}})
    made = {table.name: table for table in make_tables(gather(tmp_path))}
    assert [row['method'] for row in made['table1'].rows] == ['plan']


def test_runs_of_two_protocols_are_two_rows_called_by_them(tmp_path):
    tables(tmp_path / 'ours', method='plan', protocol='ours')
    made = tables(tmp_path, method='plan')
    assert {(row['variant'], row['paper_unlike']) for row in made['success'].rows} == {
        ('protocol ours', 'protocol ours'), ('protocol paper', None)}
    # What the protocol does not set stands there, too.
    tables(tmp_path / 'small', method='plan', world={'pictures': 'none'})
    found = {table.name: table for table in make_tables(gather(tmp_path))}
    assert {row['variant'] for row in found['success'].rows} >= {
        'protocol paper, world.pictures none'}


def test_conditions_of_published_numbers_name_a_protocol_of_their_suite():
    suite = load_suite('viplan')
    assert suite.published.conditions.protocol in suite.protocols
