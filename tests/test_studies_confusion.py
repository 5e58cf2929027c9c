"""The script that counts confusion tables from imported results."""

import json

import pytest

import confusion_tables
import viplan_official_cases as cases
from sightplan.runs import load_suite
from sightplan_models._confusion import load_table
from sightplan_suites.viplan.importing import import_folder
from sightplan_suites.viplan.paper_figures import as_printed

FROM_THE_START = {
    # Four initial enumerations; in each 1 true and 3 false on, 1 and 1 clear, 2 and 2 incolumn.
    'clear': {'n_false': 4, 'n_true': 4, 'p_yes_false': 0.0, 'p_yes_true': 0.75},
    'incolumn': {'n_false': 8, 'n_true': 7, 'p_yes_false': 0.0, 'p_yes_true': 1.0,
                 'unparsable': 1},
    'leftof': {'n_false': 12, 'n_true': 4, 'p_yes_false': 0.0, 'p_yes_true': 1.0},
    'on': {'n_false': 12, 'n_true': 4, 'p_yes_false': 0.0, 'p_yes_true': 1.0},
    'rightof': {'n_false': 12, 'n_true': 4, 'p_yes_false': 0.0, 'p_yes_true': 1.0}}
AT_HOME = {
    'holding': {'n_false': 1, 'n_true': 0, 'p_yes_false': 0.0, 'p_yes_true': None},
    'inside': {'n_false': 0, 'n_true': 1, 'p_yes_false': None, 'p_yes_true': 0.0},
    'nextto': {'n_false': 1, 'n_true': 0, 'p_yes_false': 0.0, 'p_yes_true': None},
    'ontop': {'n_false': 1, 'n_true': 0, 'p_yes_false': 0.0, 'p_yes_true': None},
    'open': {'n_false': 1, 'n_true': 0, 'p_yes_false': 0.0, 'p_yes_true': None},
    'reachable': {'n_false': 1, 'n_true': 2, 'p_yes_false': 1.0, 'p_yes_true': 1.0}}


@pytest.fixture
def runs(tmp_path):
    folder = cases.write_by_hand(tmp_path / 'final')
    cases.write(folder, 'blocksworld/final_no_cot/predicates/simple/new-vlm', cases.TWO_BLOCKS)
    import_folder(folder, tmp_path / 'runs')
    return tmp_path / 'runs'


def test_counts_are_those_made_by_hand(runs, tmp_path, capsys):
    out = tmp_path / 'data'
    out.mkdir()
    assert confusion_tables.main([str(runs), '--out', str(out)]) == 0
    said = capsys.readouterr().out
    assert 'blocksworld, new-vlm, plain, simple: new; 72 answers, right 0.972' in said
    assert 'gpt-4.1, plain, simple: shipped otherwise: clear, incolumn' in said
    blocks = json.loads((out / 'confusion_blocksworld.json').read_text())
    assert blocks['models']['new-vlm'] == {'plain': {'simple': FROM_THE_START}}
    assert blocks['models']['gpt-4.1']['plain']['simple'] == FROM_THE_START
    assert set(blocks['models']['gpt-4.1']['plain']) == {'simple', 'medium', 'hard'}  # as shipped
    home = json.loads((out / 'confusion_household.json').read_text())
    assert home['models']['gpt-4.1']['plain']['simple'] == AT_HOME
    # Failing actions are left out: their runs are of another model, which keeps its shipped table.
    assert blocks['models']['InternVL3-78B'] == confusion_tables.read_shipped('blocksworld')[
        'models']['InternVL3-78B']
    table = tmp_path / 'mine.json'
    table.write_text(json.dumps({'splits': blocks['models']['new-vlm']['plain']}))
    assert load_table(str(table)).rates('simple', 'clear').error_true == 0.25


@pytest.mark.parametrize('domain', ['blocksworld', 'household'])
def test_the_shipped_files_are_written_as_the_script_writes(domain):
    content = confusion_tables.read_shipped(domain)
    assert confusion_tables.text_of(content) == (
        confusion_tables.SHIPPED / f'confusion_{domain}.json').read_text()
    assert confusion_tables.merged(content['models'], {}) == content['models']
    assert {split for modes in content['models'].values() for splits in modes.values()
            for split in splits} == {'simple', 'medium', 'hard'}
    assert all(set(modes) == {'plain', 'cot'} for modes in content['models'].values())
    assert len(content['models']) == 16


def test_shipped_counts_of_homes_round_to_every_printed_accuracy():
    """The paper's tables 18 and 19, from the counts: so the formula of the import is theirs."""
    published = load_suite('viplan').published
    found = {}
    for model, modes in confusion_tables.read_shipped('household')['models'].items():
        for method, mode in confusion_tables.MODES.items():
            for split, rows in modes[mode].items():
                for name, row in rows.items():
                    right, asked = confusion_tables.right_of({name: row})
                    printed = published.find(
                        model, f'predicate_accuracy.{name}', domain='household', method=method,
                        split=split, failure_probability=0.0)
                    found[model, method, split, name] = as_printed(right / asked, printed.value)
    assert len(found) == 16 * 2 * 3 * 6 and set(found.values()) == {'equal'}


def test_folders_without_imported_runs_are_named(tmp_path, capsys):
    assert confusion_tables.main([str(tmp_path)]) == 2
    assert 'studies/confusion_tables.py' in capsys.readouterr().err
