"""The two nodes that can be the world offer the same; what differs stands in one place."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.action import get_action_client_names_and_types_by_node as action_clients
from rclpy.action import get_action_server_names_and_types_by_node as action_servers
from rclpy.node import Node

from nodes_testing import eventually, parameters, spinning
from sightplan_nodes import names
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.sim_bridge import SimBridge

KINDS: dict[str, Callable[[Node, str], list]] = {
    'publishes': lambda node, name: node.get_publisher_names_and_types_by_node(name, '/'),
    'subscribes': lambda node, name: node.get_subscriber_names_and_types_by_node(name, '/'),
    'serves': lambda node, name: node.get_service_names_and_types_by_node(name, '/'),
    'acts': lambda node, name: action_servers(node, name, '/'),
    'has others act': lambda node, name: action_clients(node, name, '/'),
}


def interface(watcher: Node, world: str) -> set[tuple[str, str, str]]:
    """Kind, name and type of all that a world has, but for the drivers of its hardware."""
    return {(kind, name.replace(f'/{world}/', '/~/'), type_)
            for kind, found in KINDS.items() for name, types in found(watcher, world)
            for type_ in types if not name.startswith(f'/{names.HARDWARE}/')}


def seen(node: Node) -> set[tuple[str, str, str]]:
    """The interface of a world, as another node sees it once it is all there."""
    watcher, name = Node('watcher'), node.get_name()
    with spinning(watcher, node):
        eventually(lambda: ('acts', f'/{names.EXECUTE_SKILL}') in {
            (kind, what) for kind, what, _ in interface(watcher, name)})
        last: list[set] = [set()]

        def settled() -> bool:
            before, last[0] = last[0], interface(watcher, name)
            return bool(before) and before == last[0]
        eventually(settled)
        return last[0]


def private(world: str, what: str) -> str:
    return f'/{what.lstrip("/")}'.replace(f'/{world}/', '/~/')


def test_the_worlds_are_the_same_but_for_what_is_listed() -> None:
    symbolic = seen(SimBridge())
    sim = seen(SimBridge(parameter_overrides=parameters(execution=names.ARM)))
    arm = seen(ArmBridge(parameter_overrides=parameters(hardware=names.SIMULATED)))

    only = {private(names.SIM_BRIDGE, what) for what in names.ONLY_SIMULATED}
    assert {(kind, what) for kind, what, _ in sim - arm} == {
        ('publishes' if what == names.CLOCK else 'serves', what) for what in only}
    assert arm - sim == set()

    assert {what for _, what, _ in sim - symbolic} == {
        private(names.SIM_BRIDGE, what) for what in names.arm_interface(names.SIM_BRIDGE)}
    assert symbolic <= sim

    world, there = names.ARM_BRIDGE, {what for _, what, _ in arm}
    for what in (names.reset(world), names.get_view(world), names.CAMERA_IMAGE,
                 names.CAMERA_INFO, names.EXECUTE_SKILL, *names.arm_interface(world)):
        assert private(world, what) in there, 'the names are those that others use'
    assert '/~/get_state' not in there, 'nobody tells the truth'
