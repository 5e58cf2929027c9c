"""Every model of a paper finds its published numbers, by whatever it is called."""

import json
from pathlib import Path

import pytest
import yaml

from report_cases import SPLITS, asked, counts, line, write_run
from sightplan.runs import load_suite, suite_names
from sightplan_models._confusion import table_names
from sightplan_report.results import gather, short_model
from sightplan_report.tables import make_tables

DOCUMENTED = yaml.safe_load(
    (Path(__file__).parents[3] / 'docs' / 'models.yaml').read_text('utf-8'))
VIPLAN = load_suite('viplan')
PUBLISHED = [name for name in VIPLAN.published.models if not name.startswith('mean of')]
SERVED = {'Phi-4 Multimodal': 'vision'}


def documented(name):
    """The entry of docs/models.yaml about a model of the paper."""
    (found,) = (entry for entry in DOCUMENTED
                if VIPLAN.published.model_name(entry['name']) == name)
    return found


def spellings(name):
    """What runs may call a model: published name, documented one, repositories, table, server."""
    entry = documented(name)
    tables = [table for table in table_names() if VIPLAN.published.model_name(table) == name]
    names = dict.fromkeys([name, entry['name'], entry['paper'], entry['run'], *tables,
                           *filter(None, [SERVED.get(name)])])
    for one in names:
        for word in dict.fromkeys((one, one.upper(), one.lower(), one.rpartition('/')[2],
                                   f'/srv/models/{one.rpartition("/")[2]}/')):
            yield f'{word}@localhost:8000/v1'
            yield f'{word}@0f3a5c9b1d2e bfloat16'
    yield from (f'noisy_oracle({table}/{kind}, repeat 0.45, seed 0)'
                for table in tables for kind in ('plain', 'cot', 'as asked'))
    yield f'noisy_oracle({name}@0f3a5c9b1d2e hard, repeat 0.45, seed 0)'


def row_of(folder, model, **fields):
    (row,) = (row for table in make_tables(gather(write_run(
        folder, [line(0, **asked({'on': counts(9, 10)}))], model=model, **fields)))
        if table.name == 'models' for row in table.rows)
    return row


def test_all_models_of_the_paper_are_documented_and_the_other_way_round():
    assert len(PUBLISHED) == 24
    assert sorted(VIPLAN.published.model_name(entry['name']) for entry in DOCUMENTED) == sorted(
        PUBLISHED)


@pytest.mark.parametrize('name', PUBLISHED)
def test_a_model_is_found_by_every_name(name):
    found = {model: short_model(model, VIPLAN) for model in spellings(name)}
    assert set(found.values()) == {name}, found


@pytest.mark.parametrize('name', PUBLISHED)
def test_a_model_finds_its_column(tmp_path, name):
    theirs = VIPLAN.published.find(name, 'solved', domain='blocksworld', method='ground',
                              split='simple', failure_probability=0.0)
    assert theirs is not None
    for number, model in enumerate((f'{documented(name)["run"]}@localhost:8000/v1',
                                    f'{SERVED.get(name, name)}@localhost:8000/v1')):
        row = row_of(tmp_path / str(number), model, backend='openai')
        assert (row['model'], row['paper_success'], row['paper_apart']) == (
            name, theirs.value, None)


@pytest.mark.parametrize(('model', 'reason'), [
    ('Qwen/Qwen2.5-VL-72B-Instruct-AWQ@host/v1',
     'Qwen2.5-VL-72B-Instruct-AWQ is another model than Qwen2.5-VL 72B'),
    ('RedHatAI/gemma-3-27b-it-FP8-dynamic@host/v1',
     'gemma-3-27b-it-FP8-dynamic is another model than Gemma-3 27B'),
    ('gpt-4.1-mini@api.openai.com/v1', 'gpt-4.1-mini is another model than GPT-4.1'),
    ('GPT-4.1 Mini@api.openai.com/v1', 'GPT-4.1 Mini is another model than GPT-4.1'),
    ('Qwen/Qwen2.5-VL-7B-Instruct@0f3a5c9b1d2e bfloat16 4bit', 'weights quantised to 4bit'),
    ('someone/Unheard-Of-3B@host/v1', None)])
def test_other_weights_are_another_model_and_it_says_so(tmp_path, model, reason):
    row = row_of(tmp_path, model, backend='openai')
    assert (row['paper_success'], row['paper_apart']) == (None, reason)


@pytest.mark.parametrize('name', suite_names())
def test_every_alias_of_every_suite_is_found_in_any_spelling(name):
    suite = load_suite(name)
    path = suite.folder / 'published.json'
    data = json.loads(path.read_text('utf-8')) if path.is_file() else {'aliases': {}}
    for alias, meant in data['aliases'].items():
        wanted = suite.published.model_name(meant)
        assert wanted is not None, f'{alias}: {meant} has no number'
        for word in (alias, alias.upper(), f'Some-Org/{alias}', alias.replace('-', ' ')):
            assert short_model(f'{word}@localhost:8000/v1', suite) == wanted, word


def test_a_model_is_looked_up_in_the_suite_of_its_run(tmp_path):
    assert short_model('gpt-5.2@api', load_suite('grounded_plan')) == 'GPT 5.2'
    assert short_model('gpt-5.2@api', VIPLAN) == 'GPT-5.2'
    assert row_of(tmp_path, 'gpt-5.2@api', backend='openai')['paper_success'] == .96


def test_all_24_models_are_one_row_of_table_1(tmp_path):
    for number, name in enumerate(PUBLISHED):
        for split in SPLITS:
            write_run(tmp_path / f'{number}-{split}', [line(0, split=split)], split=split,
                      model=f'{documented(name)["run"]}@localhost:8000/v1', backend='openai')
    (row,) = (row for table in make_tables(gather(tmp_path)) if table.name == 'success'
              for row in table.rows)
    assert row['models'] == 24 and row['paper_mean'] is not None
