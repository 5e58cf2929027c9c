"""``sightplan up``: run a graph with all its processes."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, Result, add_command, json_wanted, note
from sightplan.graphs.graph import Graph, Value, find_graph
from sightplan.graphs.keep_alive import KeepAlive
from sightplan.graphs.placing import REMAP, read_remaps, words_on_unused
from sightplan.graphs.up import run_graph
from sightplan.model import InputError, config_files
from sightplan.model.plugins import part
from sightplan.runs.graph_check import (
    check_graph_arguments,
    hint_of,
    refuse_settings,
    with_protocol,
)

_EXAMPLES = """\
examples:
  sightplan up experiment
  sightplan up experiment split:=hard backend:=noisy_oracle backend_options:=table=gpt-4.1
  sightplan up experiment --show-args
  ROS_DOMAIN_ID=7 sightplan up experiment backend:=embedded --only grounder
  ROS_DOMAIN_ID=7 sightplan up experiment namespace:=robot1
  ROS_DOMAIN_ID=7 sightplan up grasp namespace:=robot2 --ros-args -r camera/image_raw:=/eye/image

Graphs that run at the same time do not meet: each gets a free ROS_DOMAIN_ID (set it yourself to
choose). In one domain they do not meet either if each has a namespace (namespace:=NAME), in which
all their nodes, topics, services and actions are, and which goes before the names of their frames.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpArguments:
    """Arguments of ``sightplan up``."""

    graph: str = argument(
        'name of a graph, or path of a graph file (installed: '
        f'{", ".join(config_files("graphs")) or "none"})', metavar='GRAPH')
    arguments: tuple[str, ...] = argument(
        'arguments of the graph', metavar='NAME:=VALUE', default=())
    show_args: bool = option(False, 'list the arguments of the graph and end', names=('-s',))
    only: tuple[str, ...] = option(
        (), 'start this node of the graph, whatever the method needs (repeat for more); the '
        'others run elsewhere, for example in containers', metavar='NODE')
    remap: tuple[str, ...] = option(
        (), 'use another name for a topic, service or action, as in ROS, in all nodes or with '
        'NODE: before it in one (repeat for more); relative names are in the namespace. '
        'remap:=FROM:=TO says the same, also to ros2 launch', names=('-r',),
        metavar='[NODE:]FROM:=TO')
    ros_args: bool = option(False, 'may stand before -r, as in ROS, and changes nothing')
    keep_alive: bool = option(
        False, 'restart a node that runs and no longer hears the others, where the graph file '
        'allows it (restarts), else end the graph and name it')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan up``."""
    add_command(
        subparsers, 'up', up, 'start a graph of ROS 2 nodes and stop it again',
        'Start all nodes of a graph, each as a process, and stop them all when one ends, or on '
        'Ctrl-C. The same graphs work with "ros2 launch sightplan_bringup NAME.launch.py".',
        settings=UpArguments, examples=_EXAMPLES,
        exits='0 done, or a graph without a run was stopped; 1 a node failed, or the run was '
        'broken off or had an episode or sample that ended in an error; 2 bad usage')


def up(arguments: UpArguments) -> Result:
    """Start a graph and wait for its end, or list its arguments."""
    graph = find_graph(arguments.graph)
    if arguments.show_args:
        if not json_wanted():
            _show_arguments(graph)
        return {'graph': graph.name, 'arguments': [
            {'name': a.name, 'type': a.type, 'default': a.default,
             'description': a.description, 'choices': a.allowed}
            for a in graph.arguments]}, DONE
    refuse_settings(arguments.arguments, [one.name for one in graph.arguments])
    given = graph.values([*arguments.arguments,
                          *(f'{REMAP}:={rule}' for rule in arguments.remap)])
    values = with_protocol(given, [text.partition(':=')[0] for text in arguments.arguments])
    wanted = graph.only(arguments.only, values) if arguments.only else graph.chosen(values)
    hint = ''
    if not arguments.only:  # else arguments of nodes that run elsewhere are not known here
        check_graph_arguments(values)
        hint = hint_of(wanted.hint, wanted.namespace, values)
    note_unused_remaps(graph, given)
    with contextlib.ExitStack() as stack:
        layer = stack.enter_context(KeepAlive(
            graph.placed(values) if arguments.only else wanted)) if arguments.keep_alive else None
        end = run_graph(wanted, values, layer=layer, hint=hint)
    return {'graph': graph.name, 'exit_code': end.code, 'ended_by': end.ended_by,
            'reason': end.reason, 'ros_domain_id': end.ros_domain_id,
            'namespace': wanted.namespace}, end.code


def note_unused_remaps(graph: Graph, values: Mapping[str, Value]) -> None:
    """Warn of remappings of names that no node of a graph is known to have.

    A node from elsewhere may have any names, so that this is no error.
    """
    remaps = read_remaps(str(values[REMAP]))
    if not remaps:
        return
    try:
        of_node = part('interfaces', 'sightplan_nodes').of_node
    except InputError:  # the nodes run elsewhere
        return
    placed = graph.placed({**values, REMAP: ''})
    used = {}
    for node in placed.nodes:
        with contextlib.suppress(InputError):
            used[node.full_name] = {name for _, name in of_node(node, values)}
    for words in words_on_unused(remaps, placed.namespace, used):
        note(f'warning: {words}')


def _show_arguments(graph: Graph) -> None:
    print(f'{graph.description.strip()}\n\nArguments (NAME:=VALUE):')
    for one in graph.arguments:
        choices = f'. One of: {", ".join(one.allowed)}' if one.allowed else ''
        print(f"\n    '{one.name}':\n        {one.description}{choices}\n"
              f"        (default: '{one.default}')")
