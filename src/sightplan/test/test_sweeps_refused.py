"""Sweeps that can never run, or that would leave out what is asked for, are refused at once."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from sightplan import cli, sweeps
from sightplan.model import InputError
from sightplan.sweeps import cells, parse_sweep, read_sweep, run_sweep
from sightplan.sweeps.cells import find_sweep

TWO = '{base: {table: perfect, split: simple, episodes: 1}, axes: {seed: [0, 1]}}'
CALIBRATED = """
base: {method: belief, table: gpt-4.1, calibration: auto}
axes: {seed: [0]}
calibrations: {mine: {table: each, like: [simple, nope]}}
"""


def sweep_of(text: str):
    return parse_sweep(yaml.safe_load(text), 'test', 'test.yaml')


def refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        sweep_of(text)
    return str(caught.value)


@pytest.fixture
def refused(tmp_path, monkeypatch, capsys):
    """Run the command line, which must end with code 2; returns what it says."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *arguments: str) -> str:
        Path('test.yaml').write_text(text)
        assert cli.main(['sweep', 'test.yaml', *arguments]) == 2
        return capsys.readouterr().err
    return run


# ----------------------------------------------------------------------------------- exclude


@pytest.mark.parametrize(('entries', 'words'), [
    ('[{splt: simple}]', "entry 1: splt: is unknown; did you mean 'split'?; cells have "),
    ('[{method: oracle, table: perfect}, {split: nope}]',
     "entry 2: split = 'nope': no cell has this value; values of split are simple, hard"),
    ('[{split: [simple, hardd]}]', "split = 'hardd': no cell has this value; did you mean 'hard'"),
    ('[{}]', 'entry 1: is empty; name the fields'), ('[{split: []}]', 'split: the list is empty'),
    ('[{goal: told}]', 'goal: no cell sets it; cells have'),
    ('[{method_options.k: 3}]', 'method_options.k: no cell sets it'),
])
def test_exclusions_that_leave_nothing_out_are_refused(entries, words):
    said = refusal(f'{{base: {{table: perfect}}, axes: {{method: [ground, oracle], '
                   f'split: [simple, hard]}}, exclude: {entries}}}')
    assert said.startswith('test.yaml: exclude, entry ') and words in said


def test_exclusions_may_name_what_further_cells_or_the_base_have(tmp_path):
    file = tmp_path / 'test.yaml'
    file.write_text("""
        base: {table: perfect, split: simple}
        axes: {method: [ground, oracle], stop_at_goal: [yes, no]}
        exclude: [{method: idle}, {split: simple, method: oracle, stop_at_goal: no}]
        cells: [{method: [idle, random]}]
        """)
    assert [c.settings.method for c in read_sweep(file).cells] == [
        'ground', 'ground', 'oracle', 'random']
    assert len(read_sweep(file, ['split=hard']).cells) == 5, 'another split than the file excludes'


def test_that_nothing_is_left_is_not_that_nothing_is_there():
    said = refusal('{base: {table: perfect}, axes: {split: [simple, hard]}, '
                   'exclude: [{table: perfect}]}')
    assert 'test.yaml: there is not one cell; exclude leaves out all 2; remove an entry' in said
    assert 'a list of cells is empty' in refusal('{cells: [{method: idle, seed: []}]}')


@pytest.mark.parametrize(('base', 'words'), [
    ('{methd: oracle}', "base: methd: is unknown; did you mean 'method'?"),
    ('{episodes: two}', "base: episodes = 'two' must be a whole number"),
    ('{method: belif}', "base: method 'belif' is unknown"),
    ('{method: 5}', 'method = 5 must be a name'),
    ('{method: oracle}', 'there is not one cell; give axes or cells')])
def test_errors_of_a_base_without_cells_come_first(base, words):
    assert words in refusal(f'base: {base}')


# ---------------------------------------------------------------------------- table and name


def test_a_table_and_another_backend_contradict_each_other():
    said = refusal('{base: {method: ground, table: gpt-4.1, backend: embedded}, '
                   'axes: {seed: [0]}}')
    assert said == ('test.yaml: cell seed=0: table: gpt-4.1 is short for backend noisy_oracle, '
                    "but backend is 'embedded'; leave one of the two out")
    [cell] = sweep_of('{base: {table: gpt-4.1, backend: noisy_oracle}, axes: {seed: [0]}}').cells
    assert cell.settings.backend_options == {'table': 'gpt-4.1'}


@pytest.mark.parametrize('name', ['../../evil', 'a/b', '..', '.hidden', '-x', 'a b', '/tmp/x',
                                  'a\n'])
def test_a_name_is_that_of_one_folder(name):
    with pytest.raises(InputError, match=r'test\.yaml: name = .*: must be the name of one folder'):
        parse_sweep({'name': name, **yaml.safe_load(TWO)}, 'test', 'test.yaml')


def test_names_of_folders_are_taken():
    for given, name in [('a-b_c.1', 'a-b_c.1'), ('', 'my sweep')]:
        found = parse_sweep({'name': given, **yaml.safe_load(TWO)}, 'my sweep', 'test.yaml')
        assert found.name == name
    with pytest.raises(InputError, match=r"name = '\.\.'"):
        parse_sweep(yaml.safe_load(TWO), '..', '...yaml')


# ----------------------------------------------------------------------- what can never run


NEVER = [
    ('{base: {table: gpt-5}, axes: {seed: [0]}}',
     "test.yaml: cell seed=0: there is no confusion table 'gpt-5'"),
    ('{base: {table: perfect, world_options.foo: 1}, axes: {seed: [0]}}',
     'test.yaml: cell seed=0: world_options.foo: is unknown to world blocksworld'),
    ('{base: {table: perfect, world_options.width: wide}, axes: {seed: [0]}}',
     "world_options of world blocksworld: width = 'wide' must be a whole number"),
    ('{base: {domain: household, table: perfect, world_options.pictres: none}, axes: {seed: [0]}}',
     "world_options.pictres: is unknown to world household; did you mean 'pictures'?"),
    ('{base: {method: human}, axes: {seed: [0]}}',
     "test.yaml: cell seed=0: method 'human' needs a person"),
    ('{base: {backend: scripted, backend_options.script: nowhere.yaml}, axes: {seed: [0]}}',
     'backend scripted: nowhere.yaml: cannot be read'),
    (CALIBRATED, "test.yaml: calibrations: mine: like: 'nope' is unknown (choose of simple, "),
]


@pytest.mark.parametrize(('text', 'words'), NEVER)
def test_what_can_never_run_is_refused_before_anything_is_written(refused, text, words):
    assert words in refused(text, '--dry-run')
    assert words in refused(text, '--jobs', '1')
    assert not Path('runs').exists()


def test_only_what_is_to_be_run_is_checked(tmp_path):
    sweep = sweep_of('{base: {split: simple}, axes: {table: [gpt-5], method: [ground, oracle]}}')
    sweeps.check_sweep(sweep.only(['method=oracle']))
    with pytest.raises(InputError, match='gpt-5'):
        run_sweep(sweep, tmp_path / 'out')
    assert not (tmp_path / 'out').exists()


# -------------------------------------------------------------------------- engines and graphs


def test_options_that_would_be_ignored_are_refused(refused):
    assert '--graph and --engine ray exclude each other' in refused(
        TWO, '--graph', '--engine', 'ray')
    assert '--ray-address auto: is for --engine ray' in refused(TWO, '--ray-address', 'auto')


@pytest.mark.parametrize('more', [[], ['--dry-run']])
def test_graphs_without_ros_are_refused_once(refused, monkeypatch, more):
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    said = refused(TWO, '--graph', '--jobs', '1', *more)
    assert said.count('build the workspace') == 1
    assert 'or run the sweep without --graph' in said
    assert not Path('runs').exists()


def test_the_program_of_a_graph_starts_without_a_warning():
    done = subprocess.run([sys.executable, '-W', 'error', '-m', 'sightplan.sweeps.graph_process',
                           '0', 'colour:=red'], capture_output=True, text=True, timeout=60,
                          check=False)
    assert (done.returncode, done.stderr) == (1, ''), 'it has another parent than process 0'
    assert sweeps.graphs._PROGRAM == 'sightplan.sweeps.graph_process'


# ----------------------------------------------------------------------------- found by name


def test_installed_files_are_found_by_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ('quick', 'slow'):
        (tmp_path / f'{name}.yaml').write_text(TWO)
    there = {name: tmp_path / f'{name}.yaml' for name in ('quick', 'slow')}
    monkeypatch.setattr(cells, 'config_files', lambda folder: (
        there if folder == 'sweeps' else {}))
    monkeypatch.chdir('/')
    assert cli.main(['sweep', 'quick', '--dry-run', '--out', str(tmp_path / 'out')]) == 0
    assert '2 cells, 2 episodes' in capsys.readouterr().out
    assert cli.main(['sweep', 'config/sweeps/quik.yaml', '--dry-run']) == 2
    said = capsys.readouterr().err
    assert 'config/sweeps/quik.yaml: cannot be read (there is no such file)' in said
    assert "the name of an installed one: quick, slow; did you mean 'quick'?" in said


def test_a_file_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cells, 'config_files', lambda folder: {'mine': tmp_path / 'other.yaml'})
    assert find_sweep(Path('mine')) == tmp_path / 'other.yaml'
    Path('mine').write_text(TWO)
    assert find_sweep(Path('mine')) == Path('mine')


def test_without_installed_files_a_path_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, 'config_files', lambda folder: {})
    with pytest.raises(InputError, match=r'give the path of a sweep file, or build the workspace'):
        read_sweep(tmp_path / 'smoke.yaml')
