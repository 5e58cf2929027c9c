"""Graph files: what is read, and what is refused with which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightplan.graphs.graph import PLACE, Argument, NodeSpec, find_graph, load_graph
from sightplan.model import InputError, config_files

TEXT = '''
description: A test
arguments:
  - {name: size, type: int, default: 3, description: How many}
  - {name: ratio, type: float, default: 0.5, description: How much}
  - {name: flag, type: bool, default: false, description: Whether}
  - {name: method, type: str, default: ground, description: How, choices: [ground, oracle]}
nodes:
  - package: p
    executable: e
    name: worker
    parameters: {size: $(var size), path: 'runs/$(var method)-$(var size)', fixed: 4.5}
  - {package: p, executable: e2, name: driver, ends_graph: true}
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / 'test.yaml'
    file.write_text(TEXT)
    return file


def test_values_have_their_types_and_reach_the_parameters(path: Path) -> None:
    graph = load_graph(path)
    values = graph.values(['size:=7', 'ratio:=1', 'flag:=true', 'method:=oracle'])
    assert values == {'size': 7, 'ratio': 1.0, 'flag': True, 'method': 'oracle',
                      'namespace': '', 'remap': ''}
    assert isinstance(values['ratio'], float)
    assert graph.nodes[0].resolved(values) == {'size': 7, 'path': 'runs/oracle-7', 'fixed': 4.5}
    assert graph.values([])['size'] == 3
    assert [node.ends_graph for node in graph.nodes] == [False, True]


def test_the_last_value_of_an_argument_counts(path: Path) -> None:
    assert load_graph(path).values(['size:=1', 'size:=2'])['size'] == 2


def test_a_value_may_hold_what_separates(path: Path) -> None:
    argument = Argument(name='options', type='str', default='', description='x')
    assert argument.read('a:=b,c=d') == 'a:=b,c=d'


@pytest.mark.parametrize(('given_', 'words'), [
    ('sise:=7', "did you mean 'size'"), ('size=7', 'size:=7'), ('size', 'name:=value'),
    ('size:=many', 'must be a whole number'), ('ratio:=x', 'must be a number'),
    ('flag:=perhaps', 'must be true or false'), ('method:=grounds', "did you mean 'ground'"),
    ('zzz:=1', '--show-args')])
def test_wrong_arguments_are_named(path: Path, given_: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load_graph(path).values([given_])
    assert words in str(caught.value)


@pytest.mark.parametrize(('old', 'new', 'words'), [
    ('description: A test', 'describe: A test', 'description'),
    ('type: int', 'type: integer', 'integer'),
    ('default: 3', 'default: three', 'not a int'),
    ('default: 0.5', 'default: 1', 'not a float'),
    ('$(var size)', '$(var sice)', 'sice'),
    ('name: worker', 'nane: worker', 'nane'),
    ('executable: e2', 'executable: e2, colour: red', 'colour'),
    ('name: worker', 'name: worker\n    ends_graph: true', 'more than one'),
    ('nodes:', 'nodes: [', 'cannot be read')])
def test_malformed_files_are_named(path: Path, old: str, new: str, words: str) -> None:
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(InputError, match='test.yaml') as caught:
        load_graph(path)
    assert words in str(caught.value)


def test_missing_files_and_names(path: Path, monkeypatch: pytest.MonkeyPatch,
                                 tmp_path: Path) -> None:
    with pytest.raises(InputError, match='cannot be read'):
        find_graph(str(tmp_path / 'none.yaml'))
    assert find_graph(str(path)).name == 'test'
    monkeypatch.setenv('AMENT_PREFIX_PATH', '')
    with pytest.raises(InputError, match='make build'):
        find_graph('experiment')
    graphs = tmp_path / 'share' / 'sightplan_bringup' / 'config' / 'graphs'
    graphs.mkdir(parents=True)
    (graphs / 'experiment.yaml').write_text(TEXT)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere:{tmp_path}')
    assert list(config_files('graphs')) == ['experiment']
    assert find_graph('experiment').name == 'experiment'
    with pytest.raises(InputError, match="did you mean 'experiment'"):
        find_graph('experimnet')


@settings(deadline=None)
@given(st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text())
def test_a_whole_value_keeps_its_type(value: bool | int | float | str) -> None:
    node = NodeSpec(package='p', executable='e', name='n',
                    parameters={'x': '$(var a)', 'y': '<$(var a)>'})
    resolved = node.resolved({'a': value})
    assert resolved['x'] == value
    assert type(resolved['x']) is type(value)
    assert resolved['y'] == f'<{value}>'


ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize('file', sorted((ROOT / 'config' / 'graphs').glob('*.yaml')),
                         ids=lambda file: file.stem)
def test_our_own_graphs(file: Path) -> None:
    graph = load_graph(file)
    values = graph.values([])
    used = {name for node in graph.nodes for value in node.parameters.values()
            for name in values if f'$(var {name})' in str(value)}
    used |= {condition.argument for node in graph.nodes for condition in node.only_if}
    assert used == set(values) - {one.name for one in PLACE}, 'every argument does something'
    assert len({node.full_name for node in graph.nodes}) == len(graph.nodes)
    assert (ROOT / 'launch' / f'{file.stem}.launch.py').is_file()
