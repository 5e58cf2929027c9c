"""Launch files say what the graph files say.

Where launch is not installed (it is not on the Python index), stand-ins with the same names and
arguments take its place; what they were called with is compared.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import shlex
import sys
import types
from pathlib import Path

import pytest

from sightplan.graphs.graph import Graph, load_graph
from sightplan.graphs.up import DEAF_TO_INTERRUPTS
from sightplan.model import InputError
from sightplan.runs.graph_check import with_protocol

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / 'launch').glob('*.launch.py'))


ARM = {'world': 'arm_bridge', 'hardware': 'simulated'}
BAG = {'bag': str(ROOT / 'examples' / 'three_paths')}


class Call:
    """An action of launch, as it was made."""

    def __init__(self, *arguments: object, **named: object) -> None:
        self.arguments, self.named = arguments, named


KINDS = ('LaunchDescription', 'DeclareLaunchArgument', 'SetEnvironmentVariable', 'Shutdown',
         'OpaqueFunction', 'Node', 'ParameterValue')


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch):
    """Runs a launch file with stand-ins; returns its actions by kind."""
    kinds = {name: type(name, (Call,), {}) for name in KINDS}
    layout = {'launch': ('LaunchDescription',),
              'launch.actions': ('DeclareLaunchArgument', 'OpaqueFunction',
                                 'SetEnvironmentVariable', 'Shutdown'),
              'launch_ros': (), 'launch_ros.actions': ('Node',),
              'launch_ros.parameter_descriptions': ('ParameterValue',)}
    for module_name, members in layout.items():
        module = types.ModuleType(module_name)
        for member in members:
            setattr(module, member, kinds[member])
        monkeypatch.setitem(sys.modules, module_name, module)

    def run(file: Path) -> dict[str, list[Call]]:
        description = runpy.run_path(str(file))['generate_launch_description']()
        found: dict[str, list[Call]] = {name: [] for name in KINDS}
        for action in description.arguments[0]:
            found[type(action).__name__].append(action)
        return found
    return run


def launched(found: dict[str, list[Call]], given: dict[str, object] | None = None,
             **configured: str) -> list[Call]:
    """The nodes that a launch file starts with arguments, and with what surrounds it."""
    [start] = found['OpaqueFunction']
    values = {a.arguments[0]: a.named['default_value'] for a in found['DeclareLaunchArgument']}
    values.update({name: str(value).lower() if isinstance(value, bool) else str(value)
                   for name, value in (given or {}).items()})
    context = types.SimpleNamespace(launch_configurations={**values, **configured})
    return start.named['function'](context, *start.named['args'])


def graph_of(file: Path) -> Graph:
    return load_graph(ROOT / 'config' / 'graphs' / f'{file.name.split(".")[0]}.yaml')


def needed(graph: Graph) -> dict[str, object]:
    """Arguments without which a graph is refused."""
    return dict(BAG) if 'bag' in graph.values([]) else {}


def test_nodes_get_keys_of_their_own_where_security_is_on(
        described, monkeypatch: pytest.MonkeyPatch) -> None:
    file = next(file for file in FILES if file.name == 'grasp.launch.py')
    monkeypatch.delenv('ROS_SECURITY_ENABLE', raising=False)
    assert not any(node.named['ros_arguments'] for node in launched(described(file)))
    monkeypatch.setenv('ROS_SECURITY_ENABLE', 'true')
    monkeypatch.delenv('ROS_SECURITY_ENCLAVE_OVERRIDE', raising=False)
    keys = [node.named['ros_arguments']
            for node in launched(described(file), {**ARM, 'namespace': 'left'})]
    assert ['--enclave', '/left/hardware/sim_bridge'] in keys


def test_arguments_are_checked_before_a_node_starts(described) -> None:
    file = next(file for file in FILES if file.name == 'experiment.launch.py')
    found = described(file)
    grounder, = (node for node in launched(found, {'protocol': 'paper', 'domain': 'household'})
                 if node.named['name'] == 'grounder')
    assert grounder.named['parameters'][0]['answers'].arguments == ('prefix',)
    with pytest.raises(InputError, match='execution=symbolic'):
        launched(found, {'domain': 'tabletop', 'split': 'short'})


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_same_arguments_and_nodes(described, file: Path) -> None:
    graph = graph_of(file)
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
    defaults = graph.values([])
    for tried in ({}, {name: True for name in defaults if defaults[name] is False},
                  {name: 'given' for name in ('rerun',) if name in defaults},
                  {name: value for name, value in ARM.items() if name in defaults},
                  *({'method': method, 'backend': 'scripted'}
                    for method in ('oracle', 'plan_cot', 'idle') if 'method' in defaults),
                  {'namespace': 'left', 'remap': 'camera/image_raw:=/eye grounder:~/ground:=ask'
                   if 'domain' in defaults else 'a:=b'}):
        values = with_protocol({**defaults, **needed(graph), **tried})
        started = launched(found, {**needed(graph), **tried})
        wanted = graph.chosen(values).nodes
        assert len(started) == len(wanted)
        for node, spec in zip(started, wanted, strict=True):
            assert (node.named['package'], node.named['executable'], node.named['name']) == (
                spec.package, spec.executable, spec.name)
            assert node.named['namespace'] == (f'/{spec.namespace}' if spec.namespace else None)
            assert shlex.split(node.named['prefix']) == list(DEAF_TO_INTERRUPTS), (
                'Ctrl-C while its modules load makes no traceback')
            assert node.named['exec_name'] == spec.name, 'the name before its lines'
            assert spec.remap.items() <= set(node.named['remappings'])
            given = (node.named['parameters'] or [{}])[0]
            assert {name: value.arguments[0] if isinstance(value, Call) else value
                    for name, value in given.items()} == spec.resolved(values)


def test_a_namespace_around_the_launch_file_goes_before_its_own(described) -> None:
    file = next(file for file in FILES if file.name == 'paths.launch.py')
    [critic] = launched(described(file), {'namespace': 'left', 'remap': 'a:=b'},
                        ros_namespace='/hall')
    assert critic.named['namespace'] == '/hall/left'
    assert {('/hall/left/a', '/hall/left/b'), ('/presence', '/hall/left/presence'),
            ('/hall/left/a/_action/feedback', '/hall/left/b/_action/feedback')} <= set(
                critic.named['remappings'])


@pytest.mark.parametrize('file', FILES, ids=lambda file: file.name)
def test_the_first_end_of_a_node_stops_all_and_fails_unless_the_run_is_done(described, file: Path,
                                                                            ) -> None:
    runs, stopping = (types.SimpleNamespace(is_shutdown=stops) for stops in (False, True))
    graph = graph_of(file)
    values = {**graph.values([]), **needed(graph)}
    for node, spec in zip(launched(described(file), needed(graph)), graph.chosen(values).nodes,
                          strict=True):
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
