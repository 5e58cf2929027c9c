"""Graph files in launch's words: what the launch files here have in common.

The arguments and nodes of a graph are those of its file in config/graphs/, which ``sightplan up``
uses, too. A launch file is no module of a package, so it runs this one by its path.
"""

import functools
import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
)
from launch.conditions import IfCondition
from launch.frontend.parse_substitution import parse_substitution
from launch.substitutions import (
    AndSubstitution,
    EqualsSubstitution,
    LaunchConfiguration,
    NotEqualsSubstitution,
    PythonExpression,
)
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from sightplan.agent import every_method
from sightplan.graphs.graph import load_graph
from sightplan.graphs.up import (
    PARENT_VARIABLE,
    describe_exit,
    enclave_arguments,
    transport_environment,
)
from sightplan.runs.graph_check import check_graph_arguments, with_protocol

CONFIG = Path(get_package_share_directory('sightplan_bringup')) / 'config'


def describe(name):
    """The launch description of a graph."""
    graph = load_graph(CONFIG / 'graphs' / f'{name}.yaml')
    types = {f'$(var {argument.name})': argument.kind for argument in graph.arguments}
    return LaunchDescription([
        *(SetEnvironmentVariable(name, value)
          for name, value in transport_environment(os.environ).items()),
        SetEnvironmentVariable(PARENT_VARIABLE, str(os.getpid())),
        *(declared(argument) for argument in graph.arguments),
        OpaqueFunction(function=check, args=[graph]),
        *(node(spec, types) for spec in graph.nodes),
    ])


def check(context, graph):
    """Put in what the protocol sets; refuse arguments with which the nodes could not work."""
    given = graph.values([
        f'{argument.name}:={context.launch_configurations[argument.name]}'
        for argument in graph.arguments])
    values = with_protocol(given)
    context.launch_configurations.update({
        name: str(value) for name, value in values.items() if value != given[name]})
    check_graph_arguments(values)


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


def node(spec, types):
    parameters = {name: parameter(value, types) for name, value in spec.parameters.items()}
    return Node(
        package=spec.package, executable=spec.executable, name=spec.name,
        namespace=spec.namespace or None, output='screen',
        ros_arguments=enclave_arguments(spec.full_name, os.environ),
        parameters=[parameters] if parameters else None,
        condition=only_for(spec) if spec.only_for else only_if(spec, types),
        on_exit=functools.partial(ended, spec))


def ended(spec, event, context):
    """Stop the other nodes; the launch fails unless the node was the one that ends the graph."""
    if context.is_shutdown:
        return None
    if spec.ends_graph and event.returncode == 0:
        return Shutdown(reason=f'{spec.full_name} is done')
    raise RuntimeError(f'{spec.full_name} {describe_exit(event.returncode)}')


def only_for(spec):
    """The chosen method is one of those that need the node."""
    methods = [name for name in every_method() if spec.wanted_by(name)]
    return IfCondition(PythonExpression(
        [repr(methods), ".count('", LaunchConfiguration('method'), "') > 0"]))


def only_if(spec, types):
    """All conditions for the node hold."""
    if not spec.only_if:
        return None
    all_hold, *others = [holds(condition, types) for condition in spec.only_if]
    for other in others:
        all_hold = AndSubstitution(all_hold, other)
    return IfCondition(all_hold)


def holds(condition, types):
    """A condition in launch's words."""
    given = LaunchConfiguration(condition.argument)
    if condition.value is not None:
        return EqualsSubstitution(given, condition.value)
    return (given if types[f'$(var {condition.argument})'] is bool
            else NotEqualsSubstitution(given, ''))


def parameter(value, types):
    if not isinstance(value, str):
        return value
    return ParameterValue(parse_substitution(value), value_type=types.get(value, str))
