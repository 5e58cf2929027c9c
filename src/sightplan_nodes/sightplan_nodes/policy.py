"""``sightplan security policy``: the permissions of SROS 2, one enclave a node, as policy.xml.

What is in it stands in ``interfaces``. ``ros2 security`` turns the file into signed permissions of
DDS; see docs/containers.md.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from sightplan.commands.flags import argument, option
from sightplan.commands.frame import DONE, Result, add_command, add_group, note
from sightplan.graphs.graph import find_graph
from sightplan.graphs.placing import REMAP
from sightplan.model import InputError, config_files, is_ros_name

if TYPE_CHECKING:  # what loads domains and robots is imported when it is needed
    from sightplan_nodes.interfaces import Interface

VERSION = '0.2.0'
"""Version of the format: https://design.ros2.org/articles/ros2_access_control_policies.html."""

_EXAMPLES = """\
examples:
  sightplan security policy experiment method:=belief --out policy.xml
  sightplan security policy grasp world:=arm_bridge robot:=/robots/my_robot.yaml --out policy.xml
  ros2 security generate_artifacts -k keystore -p policy.xml
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArguments:
    """Arguments of ``sightplan security policy``."""

    graph: str = argument(
        'name of a graph, or path of a graph file (installed: '
        f'{", ".join(config_files("graphs")) or "none"})', metavar='GRAPH')
    arguments: tuple[str, ...] = argument(
        'arguments of the graph', metavar='NAME:=VALUE', default=())
    only: tuple[str, ...] = option(
        (), 'only this node (repeat for more), and what people start beside it', metavar='NODE')
    remap: tuple[str, ...] = option(
        (), 'with which the graph is started (repeat for more)', names=('-r',),
        metavar='[NODE:]FROM:=TO')
    ros_args: bool = option(False, 'may stand before -r, as in ROS, and changes nothing')
    out: Path | None = option(
        None, 'where it is written (default: standard output)', metavar='FILE')


def add_parser(subparsers: Any) -> None:
    """Register ``sightplan security``."""
    group = add_group(subparsers, 'security', 'permissions of the nodes of a graph for SROS 2',
                      examples=_EXAMPLES)
    add_command(
        group, 'policy', policy, 'write the permissions of a graph, one enclave a node',
        'Write a policy of SROS 2 (policy.xml): what each node of a graph publishes, subscribes '
        'to, serves and asks for with these arguments, and nothing else. The arguments must be '
        'those with which the graph is started.', settings=PolicyArguments, examples=_EXAMPLES)


def policy(arguments: PolicyArguments) -> Result:
    """Write the policy of a graph."""
    from sightplan_nodes.interfaces import of_graph
    graph = find_graph(arguments.graph)
    values = graph.values([*arguments.arguments,
                           *(f'{REMAP}:={rule}' for rule in arguments.remap)])
    wanted = graph.only(arguments.only, values) if arguments.only else graph.chosen(values)
    interfaces = of_graph(wanted, values)
    text = policy_xml(interfaces)
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        arguments.out.write_text(text, 'utf-8')
        note(f'{len(interfaces)} enclaves: {arguments.out}')
    return {'graph': graph.name, 'enclaves': [f'/{name}' for name in interfaces],
            'policy': text}, DONE


_ELEMENTS = {'publish': 'topic', 'subscribe': 'topic', 'reply': 'service', 'request': 'service',
             'execute': 'action', 'call': 'action'}


def policy_xml(interfaces: Mapping[str, Interface]) -> str:
    """The policy of nodes, by their full names: see ``interfaces.of_graph``.

    Raises:
        InputError: there is no node.
    """
    if not interfaces:
        raise InputError('a policy needs a node')
    root = ElementTree.Element('policy', version=VERSION)
    enclaves = ElementTree.SubElement(root, 'enclaves')
    for full_name, interface in interfaces.items():
        namespace, _, node = full_name.rpartition('/')
        enclave = ElementTree.SubElement(enclaves, 'enclave', path=f'/{full_name}')
        profiles = ElementTree.SubElement(enclave, 'profiles')
        profile = ElementTree.SubElement(profiles, 'profile', ns=f'/{namespace}', node=node)
        for part in _parts(interface):
            profile.append(part)
    ElementTree.indent(root)
    return ('<?xml version="1.0" encoding="UTF-8"?>\n'
            f'{ElementTree.tostring(root, encoding="unicode")}\n')


def _parts(interface: Interface) -> Iterator[ElementTree.Element]:
    """A list of names for each verb; names that are not used all the time have a comment."""
    for verb, group in itertools.groupby(interface.items(), lambda item: str(item[0][0])):
        kind = _ELEMENTS[verb]
        part = ElementTree.Element(f'{kind}s', {verb: 'ALLOW'})
        for (_, name), when in group:
            if not is_ros_name(name.removeprefix('~/')):
                raise InputError(f'a policy has no place for the name {name!r}: it is none that '
                                 'ROS has topics, services and actions of')
            if when:
                part.append(ElementTree.Comment(f' {when} '))
            ElementTree.SubElement(part, kind).text = name
        yield part
