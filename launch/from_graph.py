"""Graph files in launch's words: what the launch files here have in common.

The arguments and nodes of a graph are those of its file in config/graphs/, which ``sightplan up``
uses, too. A launch file is no module of a package, so it runs this one by its path.
"""

import functools
import os
import shlex
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from sightplan.graphs.graph import load_graph
from sightplan.graphs.placing import with_actions
from sightplan.graphs.up import (
    DEAF_TO_INTERRUPTS,
    PARENT_VARIABLE,
    describe_exit,
    enclave_arguments,
    transport_environment,
)
from sightplan.runs.graph_check import check_graph_arguments, with_protocol

SIGTERM_S, SIGKILL_S = '3', '7'
"""Time after Ctrl-C at which nodes that still load, and do not heed it, get SIGTERM, and the time
after that at which nodes that are still there are killed [s]."""
CONFIG = Path(get_package_share_directory('sightplan_bringup')) / 'config'


def describe(name):
    """The launch description of a graph."""
    graph = load_graph(CONFIG / 'graphs' / f'{name}.yaml')
    return LaunchDescription([
        *(SetEnvironmentVariable(name, value)
          for name, value in transport_environment(os.environ).items()),
        SetEnvironmentVariable(PARENT_VARIABLE, str(os.getpid())),
        *(declared(argument) for argument in graph.arguments),
        OpaqueFunction(function=nodes, args=[graph]),
    ])


def declared(argument):
    default = str(argument.default)
    if argument.kind is bool:
        default = default.lower()
    allowed = None if argument.folders else argument.allowed
    if allowed is not None and default not in allowed:
        allowed = (default, *allowed)  # such as none at all
    names = f'. One of: {", ".join(argument.allowed)}' if argument.folders else ''
    return DeclareLaunchArgument(argument.name, default_value=default,
                                 description=argument.description + names, choices=allowed)


def nodes(context, graph):
    """The nodes that the arguments ask for, unless they could not work with these.

    A namespace that a launch file around this one has pushed goes before that of the arguments.
    """
    configured = context.launch_configurations
    values = with_protocol(graph.values([
        f'{argument.name}:={configured[argument.name]}' for argument in graph.arguments]))
    check_graph_arguments(values)
    wanted = graph.chosen(values, outside=configured.get('ros_namespace', ''))
    return [node(spec, values) for spec in wanted.nodes]


def node(spec, values):
    parameters = {name: parameter(value) for name, value in spec.resolved(values).items()}
    return Node(
        package=spec.package, executable=spec.executable, name=spec.name,
        namespace=f'/{spec.namespace}' if spec.namespace else None, output='screen',
        ros_arguments=enclave_arguments(spec.full_name, os.environ),
        parameters=[parameters] if parameters else None,
        remappings=with_actions(spec.remap.items()),
        prefix=shlex.join(DEAF_TO_INTERRUPTS), exec_name=spec.name,
        sigterm_timeout=SIGTERM_S, sigkill_timeout=SIGKILL_S,
        on_exit=functools.partial(ended, spec))


def parameter(value):
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def ended(spec, event, context):
    """Stop the other nodes; the launch fails unless the node was the one that ends the graph."""
    if context.is_shutdown:
        return None
    if spec.ends_graph and event.returncode == 0:
        return Shutdown(reason=f'{spec.full_name} is done')
    raise RuntimeError(f'{spec.full_name} {describe_exit(event.returncode)}')
