"""Whether nodes are alive and ready: a command for healthchecks, with or without ros2cli.

    python -m sightplan_nodes.health grounder
    python -m sightplan_nodes.health --hears

A node is healthy when it is on the graph, answers a call (so its executor spins), is active if it
is a lifecycle node, and offers the services that others need of it. ``--hears`` shows who hears
whom, as all nodes say it every second.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import rclpy
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from rcl_interfaces.srv import ListParameters
from rclpy.action import ActionClient
from rclpy.exceptions import NameValidationException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.validate_full_topic_name import validate_full_topic_name
from sightplan_interfaces.action import ExecuteSkill, RunEpisode
from sightplan_interfaces.msg import Heartbeat
from sightplan_interfaces.srv import Ground, Plan, ProposePlan, ResetWorld, StartRun

from sightplan.commands.flags import CommandParser, add_flags, argument, option, read_flags
from sightplan.graphs.graph import beside
from sightplan.graphs.hearing import Hearing
from sightplan.graphs.placing import NAMESPACE, REMAP, joined, resolve
from sightplan.graphs.up import enclave_arguments
from sightplan.model import DeadlineError, InfrastructureError, InputError, SightplanError
from sightplan_nodes import names, qos

HEALTHY, UNHEALTHY, USAGE = 0, 1, 2
_LISTEN_S = 4.0  # nodes that were there before are found within 3 s

_LIFECYCLE = 'lifecycle_msgs/srv/GetState'
_SERVICES: Mapping[str, Any] = {
    names.SIM_BRIDGE: ResetWorld, names.ARM_BRIDGE: ResetWorld, names.GROUNDER: Ground,
    names.VLM_PLANNER: ProposePlan, names.SYMBOLIC_PLANNER: Plan,
    names.METRICS_RECORDER: StartRun}
_ACTIONS: Mapping[str, Any] = {
    names.SIM_BRIDGE: ExecuteSkill, names.ARM_BRIDGE: ExecuteSkill, names.AGENT: RunEpisode}
"""Types of the services and actions that other nodes need of a node, by the node's name."""

_EXAMPLES = """examples:
  python -m sightplan_nodes.health grounder
  python -m sightplan_nodes.health sim_bridge agent --timeout 5 --json
  python -m sightplan_nodes.health hardware/sim_bridge --namespace robot1
  python -m sightplan_nodes.health --discovery
  python -m sightplan_nodes.health --hears

exit codes: 0 all are healthy; 1 one is not; 2 bad usage.
"""


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a node.

    Attributes:
        node: its name, with its namespace.
        healthy: whether it can be used.
        reason: what is wrong, and what to do; or what was seen.
    """

    node: str
    healthy: bool
    reason: str


class _Examiner:
    """Examines nodes until a common deadline."""

    def __init__(self, node: Node, deadline: float, remaps: Mapping[str, str]) -> None:
        self._node, self._deadline, self._remaps = node, deadline, remaps
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)

    def close(self) -> None:
        """Take the node from the executor, and end the executor."""
        self._executor.remove_node(self._node)
        self._executor.shutdown()

    def examine(self, full_name: str) -> str:
        """The state of a healthy node.

        Args:
            full_name: namespace and name, from ``/``.

        Raises:
            InfrastructureError: it is not healthy; says why.
        """
        namespace, _, name = full_name.rpartition('/')
        namespace = namespace or '/'
        self._until(lambda: (name, namespace) in self._node.get_node_names_and_namespaces(),
                    f'{full_name} is not on the graph of ROS_DOMAIN_ID='
                    f'{os.environ.get("ROS_DOMAIN_ID", "0")}: it has not started, has ended, or '
                    'its traffic does not get here')
        self._call(ListParameters, f'{full_name}/list_parameters', full_name)
        seen = 'answers'
        if self._has_states(name, namespace, full_name):
            state = self._call(GetState, f'{full_name}/get_state', full_name).current_state
            if state.id != State.PRIMARY_STATE_ACTIVE:
                raise InfrastructureError(f'{full_name} is {state.label}, not active: it is still '
                                          'loading, or its log says why not')
            seen = 'is active'
        def placed(offered: str) -> str:
            return resolve(offered, namespace.strip('/'), name, self._remaps.items())
        if name in _SERVICES:
            service = placed(names.NEEDED_SERVICES[name])
            client = self._node.create_client(_SERVICES[name], service)
            self._until(client.service_is_ready,
                        f'{full_name} does not offer the service {service}')
        if name in _ACTIONS:
            action = placed(names.NEEDED_ACTIONS[name])
            self._until(ActionClient(self._node, _ACTIONS[name], action).server_is_ready,
                        f'{full_name} does not offer the action {action}')
        return seen

    def _has_states(self, name: str, namespace: str, full_name: str) -> bool:
        """Whether it is a lifecycle node.

        A discovery server tells of services only to those who use them, so ours are known.
        """
        if name in (names.GROUNDER, names.VLM_PLANNER):
            return True
        try:
            offered = dict(self._node.get_service_names_and_types_by_node(name, namespace))
        except NodeNameNonExistentError:  # it has just gone
            return False
        return _LIFECYCLE in offered.get(f'{full_name}/get_state', ())

    def _until(self, check: Callable[[], bool], reason: str) -> None:
        while not check():
            if time.monotonic() >= self._deadline:
                raise InfrastructureError(reason)
            self._executor.spin_once(timeout_sec=0.02)

    def _call(self, service: Any, name: str, full_name: str) -> Any:
        client = self._node.create_client(service, name)
        try:
            self._until(client.service_is_ready, f'{full_name} offers no service {name}')
            future = client.call_async(service.Request())
            self._executor.spin_until_future_complete(
                future, max(0.0, self._deadline - time.monotonic()))
            if not future.done():
                raise DeadlineError(f'{full_name} does not answer {name}: it hangs')
            return future.result()
        finally:
            self._node.destroy_client(client)


def full_name(node: str, namespace: str = '') -> str:
    """A node's name with its namespace.

    Args:
        node: its name, relative to the namespace or absolute.
        namespace: without slashes around it.

    Raises:
        InputError: it cannot be a node's name.
    """
    prefix = f'/{namespace}' if namespace else ''
    name = node if node.startswith('/') else f'{prefix}/{node}'
    try:
        validate_full_topic_name(name)
    except NameValidationException as error:
        raise InputError(f'{node!r} is not the name of a node: {error}') from error
    return name


def check(nodes: Sequence[str], timeout_s: float,
          context: rclpy.context.Context | None = None,
          place: Mapping[str, str] | None = None) -> list[Health]:
    """Examine nodes.

    Args:
        nodes: their names, with a namespace where there is one.
        timeout_s: limit for all of them together, discovery included [s].
        context: an initialised ROS context; None for the process's own.
        place: the graph's arguments ``namespace`` and ``remap``, as far as they were given.

    Raises:
        InputError: a name cannot be a node's.
    """
    probe = beside('health', place or {})
    targets = [full_name(node, probe.namespace) for node in nodes]
    deadline = time.monotonic() + timeout_s
    node = _bare_node('health', context)
    examiner = _Examiner(node, deadline, probe.remap)
    found = []
    try:
        for target in targets:
            try:
                found.append(Health(target, True, examiner.examine(target)))
            except SightplanError as error:
                found.append(Health(target, False, str(error)))
    finally:
        examiner.close()
        node.destroy_node()
    return found


def _bare_node(name: str, context: rclpy.context.Context | None) -> Node:
    """A node that offers nothing: permissions name names, and its own differs each time."""
    return Node(f'{name}_{os.getpid()}', context=context, enable_rosout=False,
                start_parameter_services=False, use_global_arguments=False,
                parameter_overrides=[Parameter('start_type_description_service', value=False)])


def check_discovery(timeout_s: float) -> Health:
    """Whether two participants of this process, on their own, find each other.

    In an environment with a discovery server they can do so through the server only.

    Args:
        timeout_s: limit [s].
    """
    contexts = [rclpy.context.Context() for _ in range(2)]
    nodes: list[Node] = []
    try:
        for number, context in enumerate(contexts):
            rclpy.init(args=['--ros-args', *enclave_arguments('health', os.environ)],
                       context=context,
                       signal_handler_options=SignalHandlerOptions.NO)
            nodes.append(_bare_node(f'discovery_{number}', context))
        deadline = time.monotonic() + timeout_s
        wanted = {node.get_name() for node in nodes}
        while not all(wanted <= set(node.get_node_names()) for node in nodes):
            if time.monotonic() >= deadline:
                server = os.environ.get('ROS_DISCOVERY_SERVER')
                return Health('discovery', False, f'two nodes did not find each other within '
                              f'{timeout_s:g} s' + (f'; is there a discovery server at {server}?'
                                                    if server else ''))
            time.sleep(0.02)
        return Health('discovery', True, 'works')
    finally:
        for node in nodes:
            node.destroy_node()
        for context in contexts:
            context.try_shutdown()


def listen(seconds: float, context: rclpy.context.Context | None = None,
           namespace: str = '') -> dict[str, frozenset[str]]:
    """Names of the nodes that each node hears, by its own messages.

    Args:
        seconds: to listen [s]; each node says it once a second.
        context: an initialised ROS context; None for the process's own.
        namespace: of the graph.
    """
    node = _bare_node('health', context)
    executor, hearing = SingleThreadedExecutor(context=node.context), Hearing()
    executor.add_node(node)

    def hear(said: Heartbeat) -> None:
        if said.header.stamp.sec or said.header.stamp.nanosec:
            hearing.note(said.node, said.hears)
        else:  # its last one
            hearing.forget(said.node)
    node.create_subscription(Heartbeat, f'/{joined(namespace, names.PRESENCE)}', hear,
                             qos.PRESENCE)
    end = time.monotonic() + seconds
    try:
        while (left := end - time.monotonic()) > 0.0:
            executor.spin_once(timeout_sec=left)
        return dict(sorted(hearing.table().items()))
    finally:
        executor.remove_node(node)
        executor.shutdown()
        node.destroy_node()


def presence_health(table: Mapping[str, Collection[str]]) -> list[Health]:
    """Note of the nodes that hear all others that are there.

    Args:
        table: whom each node hears.
    """
    if not table:
        return [Health('presence', False, 'no node says that it is there in ROS_DOMAIN_ID='
                       f'{os.environ.get("ROS_DOMAIN_ID", "0")}')]
    there = set(table).union(*table.values())
    found = []
    for node, hears in table.items():
        missing = sorted(there - set(hears) - {node})
        said = f'hears {", ".join(sorted(hears)) or "nobody"}'
        found.append(Health(node, not missing, said if not missing else
                            f'{said}; not {", ".join(missing)}'))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthArguments:
    """Arguments of the command."""

    nodes: tuple[str, ...] = argument('name of a node', default=(), metavar='NODE')
    discovery: bool = option(
        False, 'tell whether nodes find each other at all; of use where a discovery server has to '
        'be there for that')
    hears: bool = option(
        False, 'show which node hears which, and tell whether each hears all others')
    namespace: str = option(
        '', 'namespace of the graph, in which names without / before them are', metavar='NAME')
    remap: tuple[str, ...] = option(
        (), 'with which the graph was started (repeat for more)', metavar='FROM:=TO',
        names=('-r',))
    timeout: float = option(5.0, 'limit in seconds for all of them together', low=0.01, high=600.0,
                            metavar='S')
    json: bool = option(False, 'the last line of standard output is one JSON object')


def main(args: Sequence[str] | None = None) -> int:
    """Examine the nodes named on the command line; returns the exit code."""
    parser = CommandParser(
        prog='python -m sightplan_nodes.health', epilog=_EXAMPLES,
        description='Tell whether nodes are alive and ready.',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    add_flags(parser, HealthArguments)
    try:
        arguments = read_flags(HealthArguments, parser.parse_args(args))
    except InputError as error:
        parser.error(str(error))
    if not (arguments.nodes or arguments.discovery or arguments.hears):
        parser.error('name a node, or give --discovery or --hears')
    found = [check_discovery(arguments.timeout)] if arguments.discovery else []
    table: dict[str, frozenset[str]] = {}
    try:
        place = {NAMESPACE: arguments.namespace, REMAP: ' '.join(arguments.remap)}
        probe = beside('health', place)
        enclave = enclave_arguments(probe.full_name, os.environ)
        if arguments.nodes or arguments.hears:
            rclpy.init(args=['--ros-args', *enclave],
                       signal_handler_options=SignalHandlerOptions.NO)
        if arguments.nodes:
            found += check(arguments.nodes, arguments.timeout, place=place)
        if arguments.hears:
            table = listen(min(arguments.timeout, _LISTEN_S), namespace=probe.namespace)
            found += presence_health(table)
    except InputError as error:
        sys.stderr.write(f'health: {error}\n')
        return USAGE
    finally:
        rclpy.try_shutdown()
    healthy = all(item.healthy for item in found)
    for item in found:
        sys.stderr.write(f'{item.node}: {item.reason}\n' if not item.healthy
                         else f'{item.node} {item.reason}\n')
    if arguments.json:
        sys.stdout.write(json.dumps({
            'healthy': healthy, 'nodes': [dataclasses.asdict(item) for item in found],
            'hears': {node: sorted(hears) for node, hears in table.items()}}) + '\n')
    return HEALTHY if healthy else UNHEALTHY


if __name__ == '__main__':
    CODE = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(CODE)  # at once: a probe must not wait for others to notice that it goes
