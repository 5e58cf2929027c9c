"""The topics, services and actions that each node publishes, subscribes to, serves and calls.

``names`` has the names, this module their users, by the parameters a node is started with. The
permissions of SROS 2 are made of it (``policy``), and a test starts every node and compares. It
needs no ROS: what is loaded here is the graph, the robot's file, and the rules of a suite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from sightplan.agent import needs_truth
from sightplan.domains import load_domain
from sightplan.graphs.graph import Graph, NodeSpec, Value
from sightplan.graphs.placing import NAMESPACE
from sightplan.model import InputError, Privileged
from sightplan.model.query import traits_of
from sightplan.records import topics
from sightplan.records.bag_reading import open_bag
from sightplan.records.bag_schedule import CLOCK_TOPIC, choose, played_names
from sightplan.runs import RunSettings, rules
from sightplan.runs.problem_folders import splits_of
from sightplan.runs.suite_finding import sample_suite
from sightplan.vlm.api import backend_class
from sightplan_arm.config import load_robot
from sightplan_nodes import names

Values = Mapping[str, Value]


class Verb(StrEnum):
    """Use of a name by a node, in the words of SROS 2."""

    PUBLISH = 'publish'
    SUBSCRIBE = 'subscribe'
    REPLY = 'reply'
    REQUEST = 'request'
    EXECUTE = 'execute'
    CALL = 'call'


Interface = Mapping[tuple[Verb, str], str]
"""Use of each name by a node, and when: '' from its start (of a lifecycle node: from its
activation) to its end, else words."""


def _all(verb: Verb, *these: str, when: str = '') -> dict[tuple[Verb, str], str]:
    return {(verb, name): when for name in these}


_PARAMETERS = tuple(f'~/{name}' for name in (
    'describe_parameters', 'get_parameter_types', 'get_parameters', 'list_parameters',
    'set_parameters', 'set_parameters_atomically'))
_BARE = _all(Verb.PUBLISH, '/parameter_events')
_NODE = (_BARE | _all(Verb.PUBLISH, '/rosout')
         | _all(Verb.REPLY, '~/get_type_description', *_PARAMETERS))
"""Names that rclpy itself gives every node: log, parameters, types."""
_KEPT = (_NODE | _all(Verb.PUBLISH, names.DIAGNOSTICS)
         | _all(Verb.PUBLISH, names.PRESENCE, when='in a graph that is kept alive')
         | _all(Verb.SUBSCRIBE, names.PRESENCE, when='in a graph that is kept alive'))
"""Names of every node that ``spin.run`` runs."""
_LIFECYCLE = _KEPT | _all(Verb.PUBLISH, '~/transition_event') | _all(Verb.REPLY, *(
    f'~/{name}' for name in ('change_state', 'get_state', 'get_available_states',
                             'get_available_transitions', 'get_transition_graph')))

LIFECYCLE_NODES = (names.GROUNDER, names.VLM_PLANNER, names.PATH_CRITIC)


def _reads_parameters(*nodes: str) -> dict[tuple[Verb, str], str]:
    return _all(Verb.REQUEST, *(f'{node}/{service}' for node in nodes
                                for service in ('list_parameters', 'get_parameters')))


def _introduces(*servers: str) -> dict[tuple[Verb, str], str]:
    """Services that a node calls before its first request to a server (``calls.introduce``)."""
    return _all(Verb.REQUEST, *(f'{server}/get_parameter_types' for server in servers),
                when='before its first request there')


# The nodes. Arguments: the node's parameters, and the values of the graph's arguments.

def _world(node: str) -> dict[tuple[Verb, str], str]:
    """The interface of ``WorldNode``."""
    return (_KEPT | _all(Verb.PUBLISH, names.TF, names.TF_STATIC,
                         when='where tf2_msgs is installed')
            | _all(Verb.PUBLISH, names.CAMERA_IMAGE, names.CAMERA_LABELLED, names.CAMERA_INFO,
                   names.CAMERA_DEPTH, names.CAMERA_POSE)
            | _all(Verb.REPLY, names.load_problem(node), names.reset(node), names.get_view(node))
            | _all(Verb.EXECUTE, names.EXECUTE_SKILL))


def _arm_side(node: str) -> dict[tuple[Verb, str], str]:
    """The names that ``ArmSide`` adds to a world."""
    return (_all(Verb.PUBLISH, names.arm_status(node), names.markers(node), names.JOINT_STATES,
                 names.SKILL_REPORT, names.gate_heartbeat(node), names.guarantees(node))
            | _all(Verb.SUBSCRIBE, names.arm_status(names.ARM_WATCHER), names.HEARTBEAT,
                   names.AGENT_BELIEF)
            | _all(Verb.REPLY, names.stop(node), names.rearm(node), names.confirm(node),
                   names.arm_status(node))
            | _all(Verb.REQUEST, names.rearm(names.ARM_WATCHER))
            | _all(Verb.EXECUTE, names.GRASP_AT))


def _drivers(parameters: Values) -> dict[tuple[Verb, str], str]:
    """The side of ``RosArm`` that speaks to a robot's controllers."""
    robot, hardware = load_robot(str(parameters.get('robot', 'panda'))), _hardware(parameters)
    simulated = hardware == names.SIMULATED
    found = _all(Verb.SUBSCRIBE, names.driver(robot.arm.joint_states, hardware))
    for interface, auto, topic, action in (
            (robot.arm.interface, 'topic', robot.arm.trajectory_topic,
             robot.arm.trajectory_action),
            (robot.gripper.interface, 'action', robot.gripper.trajectory_topic,
             robot.gripper.action)):
        wanted = 'topic' if simulated else auto if interface == 'auto' else interface
        either = interface == 'auto' and wanted == 'action'
        if wanted == 'action':
            found |= _all(Verb.CALL, names.driver(action, hardware),
                          when='where control_msgs is installed' if either else '')
        if wanted == 'topic' or either:
            found |= _all(Verb.PUBLISH, names.driver(topic, hardware),
                          when='where control_msgs is not installed' if either else '')
    if simulated and parameters.get('lockstep'):
        found |= _all(Verb.PUBLISH, names.driver(names.PACE, hardware))
    if not simulated:
        found |= _all(Verb.REQUEST, f'{robot.arm.controller_manager}/list_controllers',
                      when='where controller_manager_msgs is installed')
    return found


def _hardware(parameters: Values) -> str:
    return str(parameters.get('hardware', names.REAL))


def _sim_bridge(parameters: Values, values: Values) -> Interface:
    node = names.SIM_BRIDGE
    found = (_world(node) | _all(Verb.PUBLISH, names.GOAL_IMAGE, names.CLOCK)
             | _all(Verb.REPLY, names.GET_STATE, names.PROVIDE_FACTS))
    if parameters.get('execution', names.SYMBOLIC) != names.ARM:
        return found
    robot = load_robot(str(parameters.get('robot', 'panda')))
    heard = [topic.lstrip('/') for topic in (robot.arm.trajectory_topic,
                                             robot.gripper.trajectory_topic)]
    heard.append(names.JOINT_COMMANDS)
    if parameters.get('lockstep'):
        heard.append(names.PACE)
    return found | _arm_side(node) | _all(Verb.PUBLISH, names.ROBOT_DESCRIPTION) | _all(
        Verb.SUBSCRIBE, *heard, when='once the simulated arm is made')


def _arm_bridge(parameters: Values, values: Values) -> Interface:
    node, hardware = names.ARM_BRIDGE, _hardware(parameters)
    robot = load_robot(str(parameters.get('robot', 'panda')))
    found = (_world(node) | _arm_side(node) | _drivers(parameters)
             | _all(Verb.SUBSCRIBE, *(names.driver(topic, hardware) for topic in (
                 robot.camera.image, robot.camera.info, robot.camera.depth))))
    if hardware == names.REAL:
        found |= _all(Verb.REQUEST, f'{robot.arm.controller_manager}/get_parameters')
    else:
        found |= _all(Verb.PUBLISH, names.ROBOT_DESCRIPTION)
    setup = names.setup_service(hardware, str(parameters.get('setup', names.AUTO)))
    if setup:
        table = setup.rpartition('/')[0]
        found |= _all(Verb.REQUEST, setup, names.reset(table)) | _introduces(table)
    return found


def _arm_watcher(parameters: Values, values: Values) -> Interface:
    world = str(parameters.get('world', names.ARM_BRIDGE))
    found = (_KEPT | _drivers(parameters)
             | _all(Verb.PUBLISH, names.arm_status(names.ARM_WATCHER), names.HEARTBEAT)
             | _all(Verb.SUBSCRIBE, names.gate_heartbeat(world), names.arm_status(world))
             | _all(Verb.REPLY, names.rearm(names.ARM_WATCHER)))
    if _hardware(parameters) == names.SIMULATED:
        there = f'{names.HARDWARE}/{names.SIM_BRIDGE}'
        return found | _all(Verb.REQUEST, names.stop(there), names.rearm(there))
    manager = load_robot(str(parameters.get('robot', 'panda'))).arm.controller_manager
    return found | _all(Verb.REQUEST, f'{manager}/switch_controller',
                        when='where controller_manager_msgs is installed')


_SEES = (_all(Verb.SUBSCRIBE, names.CAMERA_IMAGE, names.CAMERA_LABELLED)
         | _all(Verb.SUBSCRIBE, names.CAMERA_DEPTH, when='for a model that uses depth'))
"""Subscriptions of a node that takes pictures from the camera."""


def _backend(parameters: Values, *services: str) -> dict[tuple[Verb, str], str]:
    """The interface of ``BackendNode``, and ground truth for oracles."""
    found = (_LIFECYCLE | _all(Verb.PUBLISH, '~/spending', names.HEARTBEAT)
             | _all(Verb.REPLY, '~/start_run', '~/ask', *services))
    backend = str(parameters.get('backend', 'embedded'))
    if backend and traits_of(backend_class(backend)).truth:
        found |= _all(Verb.REQUEST, *_truth(parameters))
    return found


def _truth(parameters: Values) -> tuple[str, ...]:
    service = names.truth_service(
        str(parameters.get('world', names.SIM_BRIDGE)), _hardware(parameters),
        str(parameters.get('truth', names.AUTO)))
    return (service,) if service else ()


def _grounder(parameters: Values, values: Values) -> Interface:
    return (_backend(parameters, '~/ground', '~/locate', '~/tell_apart') | _SEES
            | _all(Verb.SUBSCRIBE, names.CAMERA_INFO, when='while a place is looked for')
            | _all(Verb.SUBSCRIBE, names.CAMERA_POSE)
            | _all(Verb.PUBLISH, names.DETECTIONS, names.DETECTIONS_3D,
                   when='where vision_msgs is installed'))


def _vlm_planner(parameters: Values, values: Values) -> Interface:
    return _backend(parameters, '~/plan') | _SEES


def _path_critic(parameters: Values, values: Values) -> Interface:
    return _backend({'backend': '', **parameters}, '~/compare_paths') | _all(
        Verb.PUBLISH, '~/best', '~/markers')


def _symbolic_planner(parameters: Values, values: Values) -> Interface:
    return _KEPT | _all(Verb.PUBLISH, names.HEARTBEAT) | _all(Verb.REPLY, '~/plan')


def _agent(parameters: Values, values: Values) -> Interface:
    world = str(parameters.get('world', names.SIM_BRIDGE))
    found = (_KEPT | _all(Verb.PUBLISH, *topics.EVENTS, names.HEARTBEAT)
             | _all(Verb.SUBSCRIBE, names.CAMERA_IMAGE, names.GOAL_IMAGE)
             | _all(Verb.SUBSCRIBE, names.CAMERA_LABELLED, when='while pictures have labels')
             | _all(Verb.REQUEST, names.reset(world), names.get_view(world), names.GROUND,
                    names.ASK, names.PLAN, names.PROPOSE_PLAN)
             | _reads_parameters(names.GROUNDER)
             | _introduces(world, names.GROUNDER, names.SYMBOLIC_PLANNER, names.VLM_PLANNER)
             | _all(Verb.CALL, names.EXECUTE_SKILL) | _all(Verb.EXECUTE, names.RUN_EPISODE))
    if world != names.SIM_BRIDGE:
        return found
    truth, facts = _granted(values)
    if truth:
        found |= _all(Verb.REQUEST, names.GET_STATE, when=truth)
    if facts:
        found |= _all(Verb.REQUEST, names.PROVIDE_FACTS, when=facts)
    return found


def _granted(values: Values) -> tuple[str, str]:
    """Why the agent may read ground truth, and privileged facts; '': it may not.

    With a suite of samples it may not: there are no episodes.

    Raises:
        InputError: method, domain, split or suite is unknown.
    """
    method = str(values.get('method', ''))
    if not method:
        return '', ''
    given = {name: value for name, value in values.items()
             if name in ('suite', 'domain', 'split', 'problems', 'domain_file', 'method',
                         'protocol', 'stop_at_goal', 'privileged')}
    settings = RunSettings(**given)  # type: ignore[arg-type]  # as the graph file declares them
    if sample_suite(settings.suite, settings.split) is not None:
        return '', ''
    domain = load_domain(settings.domain)
    splits = splits_of(settings, domain)
    suite = rules.suite_of(settings, domain)
    truth = 'for a method that is an oracle' if needs_truth(method) else ''
    if any(rules.stops_at_goal(settings, suite, domain.name, split) for split in splits):
        truth = truth or 'by the loop, since episodes stop at the goal'
    granted = any(rules.privileged(settings, suite, domain.name, split) is not Privileged.NONE
                  for split in splits)
    return truth, 'in episodes that grant facts' if granted else ''


def _metrics_recorder(parameters: Values, values: Values) -> Interface:
    found = (_KEPT | _all(Verb.PUBLISH, names.EPISODE_RESULT)
             | _all(Verb.SUBSCRIBE, *topics.EVENTS, *names.SPENDING.values())
             | _all(Verb.REPLY, names.START_RUN, names.FINISH_RUN)
             | _all(Verb.REQUEST, *_truth(parameters)))
    if parameters.get('image_policy', 'judged') != 'none':
        found |= _all(Verb.SUBSCRIBE, names.CAMERA_IMAGE, names.CAMERA_LABELLED,
                      names.CAMERA_INFO, names.GOAL_IMAGE)
        found |= _introduces(str(parameters.get('world', names.SIM_BRIDGE)))
    return found


def _experiment(parameters: Values, values: Values) -> Interface:
    world = str(parameters.get('world', names.SIM_BRIDGE))
    models = names.GROUNDER, names.VLM_PLANNER
    return (_KEPT | _all(Verb.SUBSCRIBE, names.arm_status(world), names.EPISODE_RESULT)
            | _all(Verb.REQUEST, names.START_RUN, names.FINISH_RUN, names.load_problem(world),
                   names.GROUND, names.ASK, names.PROPOSE_PLAN,
                   *(f'{node}/start_run' for node in models))
            | _reads_parameters(world, names.SYMBOLIC_PLANNER, names.AGENT,
                                names.METRICS_RECORDER, *models,
                                f'{names.HARDWARE}/{names.SIM_BRIDGE}')
            | (_all(Verb.REQUEST, names.VIEWER_READY) if parameters.get('rerun') else {})
            | _introduces(world, names.METRICS_RECORDER, names.AGENT, *models)
            | _all(Verb.CALL, names.RUN_EPISODE) | _all(Verb.EXECUTE, '~/run_experiment'))


def _rerun_viewer(parameters: Values, values: Values) -> Interface:
    return (_KEPT | _all(Verb.SUBSCRIBE, *topics.EVENTS, names.CAMERA_IMAGE,
                         names.CAMERA_LABELLED)
            | _introduces(str(parameters.get('world', names.SIM_BRIDGE)))
            | _all(Verb.REPLY, '~/ready', when='once it gets the pictures of the world'))


def _bag_player(parameters: Values, values: Values) -> Interface:
    """Return the topics of the bag, which must exist.

    Raises:
        InputError: no bag is given, or it cannot be read.
    """
    given = str(parameters.get('bag', ''))
    if not given:
        raise InputError('which topics bag_player publishes stands in the bag: give it, bag:=...')
    wanted = tuple(name.strip() for name in str(parameters.get('topics', '')).split(',')
                   if name.strip())
    bag = open_bag(given)
    played, _ = choose(bag, wanted, bool(parameters.get('truth', False)))
    named = played_names(bag, str(values.get(NAMESPACE, '')))
    clock = (CLOCK_TOPIC,) if parameters.get('clock_hz', 50.0) else ()
    return (_KEPT | _all(Verb.REPLY, '~/pause', '~/resume')
            | _all(Verb.PUBLISH, *(named[name] for name in played), *clock))


_OF_NODES: Mapping[str, Callable[[Values, Values], Interface]] = {
    node: globals()[f'_{node}'] for node in names.NODES}
"""The function that gives the interface of a node, by executable of this package."""


def of_node(spec: NodeSpec, values: Values) -> Interface:
    """The interface of a node of a graph, with absolute names, sorted.

    Args:
        spec: the node.
        values: of the graph's arguments.

    Raises:
        InputError: the node is not one of ours, or a parameter cannot be right.
    """
    if spec.package != 'sightplan_nodes' or spec.executable not in _OF_NODES:
        raise InputError(f'what {spec.executable} of package {spec.package} publishes and calls '
                         f'is not known: choose the other nodes by --only, and write the enclave '
                         f'/{spec.full_name} by hand')
    return _absolute(_OF_NODES[spec.executable](spec.resolved(values), values), spec)


# What people start beside a graph.

OPERATOR_CONSOLE, GRASP, LIVE, HEALTH = 'operator_console', 'grasp', 'arm_live', 'health'
DO = 'do'

def operator_console(world: str, graph: Graph) -> Interface:
    """The interface of the console of an arm's operator; ``world`` moves the arm."""
    return _absolute(_KEPT | _all(Verb.SUBSCRIBE, names.arm_status(world))
                     | _all(Verb.REQUEST, names.stop(world), names.rearm(world),
                            names.confirm(world)), graph.beside(OPERATOR_CONSOLE))


def grasp(world: str, graph: Graph) -> Interface:
    """The interface of ``sightplan arm grasp``; ``world`` moves the arm."""
    return _absolute(_NODE | _all(Verb.REQUEST, names.LOCATE) | _introduces(names.GROUNDER, world)
                     | _all(Verb.CALL, names.GRASP_AT, when='once a place is known'),
                     graph.beside(GRASP))


def do(graph: Graph) -> Interface:
    """The interface of ``sightplan do``."""
    return _absolute(_NODE | _introduces(names.AGENT) | _all(Verb.CALL, names.RUN_EPISODE)
                     | _all(Verb.SUBSCRIBE, names.AGENT_STEP, names.AGENT_EPISODE),
                     graph.beside(DO))


def live(world: str, graph: Graph) -> Interface:
    """The interface of ``sightplan arm check --live``; ``world`` moves the arm."""
    return _absolute(_NODE | _all(Verb.REQUEST, names.arm_status(world), when='once it is found'),
                     graph.beside(LIVE))


def health(graph: Graph) -> Interface:
    """The interface of the probe of a graph's nodes; its node has no log and no services."""
    found = _BARE | _all(Verb.SUBSCRIBE, names.PRESENCE, when='while it shows who hears whom')
    for node in graph.nodes:
        asked = [f'/{node.full_name}/list_parameters']
        if node.name in LIFECYCLE_NODES:
            asked.append(f'/{node.full_name}/get_state')
        if node.name in names.NEEDED_SERVICES:
            asked.append(node.resolve(names.NEEDED_SERVICES[node.name]))
        found |= _all(Verb.REQUEST, *asked, when='while it is examined')
        if node.name in names.NEEDED_ACTIONS:
            found |= _all(Verb.CALL, node.resolve(names.NEEDED_ACTIONS[node.name]),
                          when='while it is examined')
    return _absolute(found, graph.beside(HEALTH))


def of_graph(graph: Graph, values: Values) -> dict[str, Interface]:
    """The interfaces of all nodes of a graph and of programs beside it, by full name.

    Args:
        graph: with the nodes that are wanted.
        values: of its arguments.

    Raises:
        InputError: see ``of_node``.
    """
    found = {node.full_name: of_node(node, values) for node in graph.nodes}
    worlds = [node.name for node in graph.nodes if node.name in names.WORLDS
              and node.namespace == graph.namespace
              and (Verb.EXECUTE, node.resolve(names.GRASP_AT)) in found[node.full_name]]

    def beside(name: str) -> str:
        return graph.beside(name).full_name
    if worlds:
        found[beside(OPERATOR_CONSOLE)] = operator_console(worlds[0], graph)
        found[beside(LIVE)] = live(worlds[0], graph)
        if beside(names.GROUNDER) in found:
            found[beside(GRASP)] = grasp(worlds[0], graph)
    if beside(names.AGENT) in found and beside(names.EXPERIMENT) not in found:
        found[beside(DO)] = do(graph)
    return {**found, beside(HEALTH): health(graph)}


def _absolute(interface: Interface, spec: NodeSpec) -> Interface:
    """An interface with the absolute names that ROS makes of those that a node uses."""
    return dict(sorted(((verb, spec.resolve(given)), when)
                       for (verb, given), when in interface.items()))
