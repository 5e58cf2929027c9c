"""Launch files say what the graph files say.

Where launch is not installed (it is not on the Python index), stand-ins with the same names and
arguments take its place; what they were called with is compared.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
import types
from pathlib import Path

import pytest

from sightplan.agent import method_names
from sightplan.graphs.graph import load_graph
from sightplan.model import InputError

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / 'launch').glob('*.launch.py'))


ARM = {'world': 'arm_bridge', 'hardware': 'simulated'}


class Call:
    """An action of launch, as it was made."""

    def __init__(self, *arguments: object, **named: object) -> None:
        self.arguments, self.named = arguments, named


KINDS = ('LaunchDescription', 'DeclareLaunchArgument', 'SetEnvironmentVariable', 'Shutdown',
         'OpaqueFunction', 'Node', 'ParameterValue', 'IfCondition', 'PythonExpression',
         'LaunchConfiguration', 'NotEqualsSubstitution', 'EqualsSubstitution', 'AndSubstitution')


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch):
    """Runs a launch file with stand-ins; returns its actions by kind."""
    kinds = {name: type(name, (Call,), {}) for name in KINDS}
    layout = {'launch': ('LaunchDescription',),
              'launch.actions': ('DeclareLaunchArgument', 'OpaqueFunction',
                                 'SetEnvironmentVariable', 'Shutdown'),
              'launch.conditions': ('IfCondition',), 'launch.frontend': (),
              'launch.substitutions': ('AndSubstitution', 'EqualsSubstitution',
                                       'LaunchConfiguration', 'NotEqualsSubstitution',
                                       'PythonExpression'),
              'launch_ros': (), 'launch_ros.actions': ('Node',),
              'launch_ros.parameter_descriptions': ('ParameterValue',)}
    for module_name, members in layout.items():
        module = types.ModuleType(module_name)
        for member in members:
            setattr(module, member, kinds[member])
        monkeypatch.setitem(sys.modules, module_name, module)
    substitution = types.ModuleType('launch.frontend.parse_substitution')
    substitution.parse_substitution = lambda text: text
    monkeypatch.setitem(sys.modules, substitution.__name__, substitution)

    def run(file: Path) -> dict[str, list[Call]]:
        description = runpy.run_path(str(file))['generate_launch_description']()
        found: dict[str, list[Call]] = {name: [] for name in KINDS}
        for action in description.arguments[0]:
            found[type(action).__name__].append(action)
        return found
    return run


def test_nodes_get_keys_of_their_own_where_security_is_on(
        described, monkeypatch: pytest.MonkeyPatch) -> None:
    file = next(file for file in FILES if file.name == 'grasp.launch.py')
    monkeypatch.delenv('ROS_SECURITY_ENABLE', raising=False)
    assert not any(node.named['ros_arguments'] for node in described(file)['Node'])
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.delenv('ROS_SECURITY_ENCLAVE_OVERRIDE', raising=False)
    assert ['--enclave', '/hardware/sim_bridge'] in [
        node.named['ros_arguments'] for node in described(file)['Node']]


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_arguments_are_checked_before_a_node_starts(described, file: Path) -> None:
    found = described(file)
    [check] = found['OpaqueFunction']
    values = {a.arguments[0]: a.named['default_value'] for a in found['DeclareLaunchArgument']}

    def launched(**given: str) -> dict[str, str]:
        context = types.SimpleNamespace(launch_configurations={**values, **given})
        assert check.named['function'](context, *check.named['args']) is None
        return context.launch_configurations
    assert launched() == values
    if file.name == 'experiment.launch.py':
        followed = launched(protocol='paper', domain='household')
        assert followed['answers'] == 'prefix' and 'reference' in followed['world_options']
        with pytest.raises(InputError, match='execution=symbolic'):
            launched(domain='tabletop', split='short')


def true(expression: Call, values: dict[str, object]) -> bool:
    """Whether a substitution is, with these values of the arguments."""
    kind = type(expression).__name__
    if kind == 'LaunchConfiguration':
        return bool(values[expression.arguments[0]])
    if kind == 'AndSubstitution':
        return all(true(part, values) for part in expression.arguments)
    given, other = expression.arguments
    return (values[given.arguments[0]] == other) is (kind == 'EqualsSubstitution')


def starts_for(condition: Call | None, values: dict[str, object]) -> set[str]:
    """The methods for which a node is started, with these values of the arguments."""
    if condition is None:
        return set(method_names())
    (expression,) = condition.arguments
    if type(expression).__name__ != 'PythonExpression':
        return set(method_names()) if true(expression, values) else set()
    found = set()
    for method in method_names():
        parts = []
        for part in expression.arguments[0]:
            if isinstance(part, Call):
                assert part.arguments == ('method',)
                part = method
            parts.append(part)
        if eval(''.join(parts)):  # as launch does
            found.add(method)
    return found


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_same_arguments_and_nodes(described, file: Path) -> None:
    graph = load_graph(ROOT / 'config' / 'graphs' / f'{file.name.split(".")[0]}.yaml')
    found = described(file)
    declared = {a.arguments[0]: a.named for a in found['DeclareLaunchArgument']}
    assert list(declared) == [argument.name for argument in graph.arguments]
    for argument in graph.arguments:
        given = declared[argument.name]
        assert given['description'].startswith(argument.description)
        assert not argument.folders or ', '.join(argument.allowed) in given['description']
        assert argument.read(given['default_value']) == argument.default
        if argument.folders or argument.allowed is None:
            assert given['choices'] is None
        else:  # ROS refuses a default that is no choice
            assert given['default_value'] in given['choices']
            assert set(given['choices']) == {*argument.allowed, given['default_value']}
    assert len(found['Node']) == len(graph.nodes)
    values = graph.values([])
    for node, spec in zip(found['Node'], graph.nodes, strict=True):
        assert (node.named['package'], node.named['executable'], node.named['name']) == (
            spec.package, spec.executable, spec.name)
        assert node.named['namespace'] == (spec.namespace or None)
        given = (node.named['parameters'] or [{}])[0]
        assert given.keys() == spec.parameters.keys()
        for tried in ({}, {name: 'given' for name in values if values[name] == ''},
                      {name: True for name in values if values[name] is False},
                      *({argument.name: choice} for argument in graph.arguments
                        if argument.type == 'str' for choice in argument.allowed or ()),
                      {name: value for name, value in ARM.items() if name in values}):
            chosen = {**values, **tried}
            assert starts_for(node.named['condition'], chosen) == {
                method for method in method_names()
                if spec.wanted({**chosen, 'method': method})}
        for name, value in spec.resolved(values).items():
            if isinstance(given[name], Call):
                assert given[name].arguments == (spec.parameters[name],)
                assert given[name].named['value_type'] is type(value)
            else:
                assert given[name] == value


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_first_end_of_a_node_stops_all_and_fails_unless_the_run_is_done(described, file: Path,
                                                                            ) -> None:
    graph = load_graph(ROOT / 'config' / 'graphs' / f'{file.name.split(".")[0]}.yaml')
    runs, stopping = (types.SimpleNamespace(is_shutdown=stops) for stops in (False, True))
    for node, spec in zip(described(file)['Node'], graph.nodes, strict=True):
        ended = node.named['on_exit']
        for code in (0, 1, 2, -9):
            event = types.SimpleNamespace(returncode=code)
            assert ended(event, stopping) is None
            if spec.ends_graph and code == 0:
                assert type(ended(event, runs)).__name__ == 'Shutdown'
                continue
            with pytest.raises(RuntimeError, match=f'{spec.full_name} (ended with exit code {code}'
                               '|was killed by SIGKILL)'):
                ended(event, runs)


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_transport_is_set_unless_chosen(described, file: Path,
                                            monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE',
                 'FASTDDS_DEFAULT_PROFILES_FILE', 'RMW_IMPLEMENTATION'):
        monkeypatch.delenv(name, raising=False)
    parent = ('SIGHTPLAN_PARENT_PID', str(os.getpid()))
    environment = dict([a.arguments for a in described(file)['SetEnvironmentVariable']])
    assert environment.pop('SIGHTPLAN_PARENT_PID') == parent[1], 'nodes end with their launcher'
    assert environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'SUBNET'
    assert Path(environment['FASTRTPS_DEFAULT_PROFILES_FILE']).is_file()
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'OFF')
    assert [a.arguments for a in described(file)['SetEnvironmentVariable']] == [parent]


@pytest.mark.skipif(importlib.util.find_spec('launch_ros') is None,
                    reason='launch_ros is not on the Python index')
@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_real_launch_takes_the_file(file: Path) -> None:
    from launch.launch_description_sources import get_launch_description_from_any_launch_file
    assert get_launch_description_from_any_launch_file(str(file)).get_launch_arguments()
