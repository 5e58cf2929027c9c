"""The two nodes that can be the world offer the same; what differs stands in one place."""

from __future__ import annotations

import gc
from collections.abc import Callable

from rclpy.action import get_action_client_names_and_types_by_node as action_clients
from rclpy.action import get_action_server_names_and_types_by_node as action_servers
from rclpy.node import Node

from nodes_testing import eventually, parameters, spinning
from sightplan_arm.config import load_robot
from sightplan_nodes import names
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.sim_bridge import SimBridge

KINDS: dict[str, Callable[[Node, str], list]] = {
    'publishes': lambda node, name: node.get_publisher_names_and_types_by_node(name, '/'),
    'subscribes': lambda node, name: node.get_subscriber_names_and_types_by_node(name, '/'),
    'serves': lambda node, name: node.get_service_names_and_types_by_node(name, '/'),
    'asks': lambda node, name: node.get_client_names_and_types_by_node(name, '/'),
    'acts': lambda node, name: action_servers(node, name, '/'),
    'has others act': lambda node, name: action_clients(node, name, '/'),
}


SETUP = {f'/{names.HARDWARE}/{service(names.SIM_BRIDGE)}'
         for service in (names.load_problem, names.reset)}
WATCHER = f'/{names.rearm(names.ARM_WATCHER)}'
Part = tuple[str, str, str]


def interface(watcher: Node, world: str) -> set[tuple[str, str, str]]:
    """Kind, name and type of all that a world has, but for the drivers of its hardware."""
    return {(kind, name.replace(f'/{world}/', '/~/'), type_)
            for kind, found in KINDS.items() for name, types in found(watcher, world)
            for type_ in types
            if not name.startswith(f'/{names.HARDWARE}/') or kind == 'asks'}


def profiles(watcher: Node, world: str, parts: set[Part]) -> dict[Part, str]:
    """How each topic of a world is sent or taken."""
    ends = {'publishes': watcher.get_publishers_info_by_topic,
            'subscribes': watcher.get_subscriptions_info_by_topic}
    return {part: ', '.join(sorted({  # an ended node's actions linger
                f'{end.qos_profile.reliability.name} {end.qos_profile.durability.name}'
                for end in ends[part[0]](part[1].replace('/~/', f'/{world}/'))
                if end.node_name == world}))
            for part in parts if part[0] in ends}


def made(node: Node) -> set[tuple[str, str]]:
    """Kind and name of what a node says that it made."""
    name = node.get_name()
    found = {('acts', f'/{names.EXECUTE_SKILL}')}
    found |= {('publishes', end.topic_name) for end in node.publishers}
    found |= {('subscribes', end.topic_name) for end in node.subscriptions}
    found |= {('serves', end.service_name) for end in node.services}
    return {(kind, what.replace(f'/{name}/', '/~/')) for kind, what in found
            if not what.startswith(f'/{names.HARDWARE}/')}


def seen(kind: Callable[..., Node], **settings: object) -> tuple[set[Part], dict[Part, str]]:
    """The interface of a world, as another node sees it once it is all there, and its QoS.

    Action servers keep ended nodes on the graph until they are collected; and a node that leaves
    takes what the next one of its name has by then with it.
    """
    gc.collect()
    node = kind(parameter_overrides=parameters(**settings))
    watcher, name = Node('watcher'), node.get_name()
    with spinning(watcher, node):
        last: list[set] = [set()]

        def settled() -> bool:
            before, last[0] = last[0], interface(watcher, name)
            return before == last[0] and made(node) <= {part[:2] for part in before}
        eventually(settled)
        return last[0], profiles(watcher, name, last[0])


def private(world: str, what: str) -> str:
    return f'/{what.lstrip("/")}'.replace(f'/{world}/', '/~/')


def arm_interface(world: str) -> frozenset[str]:
    """What a world with an arm offers or takes besides.

    Those are ``arm_bridge``, and ``sim_bridge`` where its simulated arm carries out the skills.
    """
    return frozenset({
        names.JOINT_STATES, names.SKILL_REPORT, names.HEARTBEAT, names.AGENT_BELIEF,
        names.arm_status(world), names.markers(world), names.stop(world), names.rearm(world),
        names.confirm(world), names.gate_heartbeat(world), names.guarantees(world),
        names.arm_status(names.ARM_WATCHER), names.rearm(names.ARM_WATCHER), names.GRASP_AT,
        *action_parts(names.GRASP_AT)})


def action_parts(name: str) -> list[str]:
    """The services and topics of an action."""
    return [f'{name}/_action/{part}' for part in (
        'send_goal', 'get_result', 'cancel_goal', 'feedback', 'status')]


def test_the_worlds_are_the_same_but_for_what_is_listed() -> None:
    symbolic, _ = seen(SimBridge)
    sim, sim_qos = seen(SimBridge, execution=names.ARM)
    arm, arm_qos = seen(ArmBridge, hardware=names.SIMULATED)

    only = {private(names.SIM_BRIDGE, what) for what in names.ONLY_SIMULATED}
    assert {(kind, what) for kind, what, _ in sim - arm} == {
        ('publishes' if what in (names.CLOCK, '/' + names.GOAL_IMAGE) else 'serves', what)
        for what in only}
    assert {(kind, what) for kind, what, _ in arm - sim} == {('asks', what) for what in SETUP}
    assert ('asks', WATCHER) in {(kind, what) for kind, what, _ in arm & sim}

    shared = sim_qos.keys() & arm_qos.keys()
    assert len(shared) >= len(arm_interface(names.ARM_BRIDGE)) - 7, \
        'services and actions have no profile: four, the action and its three'
    assert all(arm_qos.values())
    assert {part: sim_qos[part] for part in shared} == {part: arm_qos[part] for part in shared}

    assert {what for _, what, _ in sim - symbolic} == {
        private(names.SIM_BRIDGE, what)
        for what in (*arm_interface(names.SIM_BRIDGE), names.ROBOT_DESCRIPTION)}
    assert symbolic <= sim
    check_names(arm)


def test_a_real_arm_offers_the_same_and_asks_only_watcher_and_driver() -> None:
    robot = load_robot('panda')
    sim, sim_qos = seen(SimBridge, execution=names.ARM)
    arm, arm_qos = seen(ArmBridge, hardware=names.REAL, latch_file='none')
    check_names(arm)
    manager = f'/{robot.arm.controller_manager}'
    assert {what for kind, what, _ in arm if kind == 'asks'} - {f'{manager}/list_controllers'} == {
        WATCHER, f'{manager}/get_parameters'}
    drivers = {f'/{names.driver(topic, names.REAL).lstrip("/")}' for topic in (
        robot.arm.joint_states, robot.arm.trajectory_topic, robot.gripper.trajectory_topic,
        robot.camera.image, robot.camera.info, robot.camera.depth)}
    assert {what for kind, what, _ in arm - sim
            if kind not in ('has others act', 'asks')} <= drivers
    shared = {part for part in sim_qos.keys() & arm_qos.keys() if part[1] not in drivers}
    assert {part: sim_qos[part] for part in shared} == {part: arm_qos[part] for part in shared}


def check_names(arm: set[Part]) -> None:
    """The names are those that others use, and nobody is told the truth."""
    world, there = names.ARM_BRIDGE, {what for _, what, _ in arm}
    for what in (names.reset(world), names.get_view(world), names.CAMERA_IMAGE,
                 names.CAMERA_INFO, names.EXECUTE_SKILL, *arm_interface(world)):
        assert private(world, what) in there
    assert '/~/get_state' not in there
    assert {what for kind, what, _ in arm if kind == 'asks'} <= {
        *SETUP, WATCHER, '/controller_manager/get_parameters',
        '/controller_manager/list_controllers'}
