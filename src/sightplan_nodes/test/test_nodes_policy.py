"""Permissions: what each node really publishes, serves and asks for is what its enclave allows."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rclpy.action import get_action_client_names_and_types_by_node as action_clients
from rclpy.action import get_action_server_names_and_types_by_node as action_servers
from rclpy.node import Node

from nodes_testing import eventually, parameters, spinning
from sightplan import cli
from sightplan.commands.up import note_unused_remaps
from sightplan.graphs.graph import NodeSpec, find_graph
from sightplan.graphs.up import ros_arguments
from sightplan.model import InputError
from sightplan_arm.config import load_robot
from sightplan_nodes import health, interfaces, names
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.arm_bridge import ArmBridge
from sightplan_nodes.arm_live import LiveClient
from sightplan_nodes.arm_watcher import ArmWatcher
from sightplan_nodes.experiment import ExperimentNode
from sightplan_nodes.grasp import GraspClient
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.interfaces import Interface, Verb
from sightplan_nodes.metrics_recorder import MetricsRecorder
from sightplan_nodes.operator_console import Keys, OperatorConsole
from sightplan_nodes.path_critic import PathCriticNode
from sightplan_nodes.policy import policy_xml
from sightplan_nodes.presence import Presence
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.status import NodeStatus
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode
from sightplan_nodes.vlm_planner import VlmPlannerNode


def really(node: Node) -> set[tuple[Verb, str]]:
    """What a node has made, as the middleware knows it."""
    name, space = node.get_name(), node.get_namespace()
    found = {Verb.EXECUTE: action_servers(node, name, space),
             Verb.CALL: action_clients(node, name, space),
             Verb.PUBLISH: node.get_publisher_names_and_types_by_node(name, space),
             Verb.SUBSCRIBE: node.get_subscriber_names_and_types_by_node(name, space),
             Verb.REPLY: node.get_service_names_and_types_by_node(name, space),
             Verb.REQUEST: node.get_client_names_and_types_by_node(name, space)}
    return {(verb, what) for verb, all_of_it in found.items() for what, _ in all_of_it
            if '/_action/' not in what}


def as_kept(node: Node) -> list[Presence | NodeStatus]:
    """What ``spin.run`` adds to a node of a graph that is kept alive."""
    status = NodeStatus(node)
    return [Presence(node, status, {}), status]


def check(node: Node, declared: Interface, kept: bool = True) -> None:
    """Nothing is missing, and nothing superfluous but what says when it is used.

    ``kept``: whether ``spin.run`` runs it, which adds something.
    """
    added = as_kept(node) if kept else []
    found = really(node)
    assert sorted(found - set(declared)) == []
    always = {part for part, when in declared.items() if not when}
    assert sorted(always - found) == []
    for one in added:
        one.close()


def spec_of(executable: str, **given: object) -> NodeSpec:
    return NodeSpec(package='sightplan_nodes', executable=executable, name=executable,
                    parameters={name.replace('__', '.'): value for name, value in given.items()})


NODES = {
    'sim_bridge': (SimBridge, {}),
    'sim_bridge, an arm': (SimBridge, {'execution': 'arm'}),
    'sim_bridge, an arm that waits': (SimBridge, {'execution': 'arm', 'lockstep': True}),
    'arm_bridge': (ArmBridge, {}),
    'arm_bridge, another': (ArmBridge, {'robot': 'ur5e'}),
    'arm_bridge, simulated': (ArmBridge, {'hardware': 'simulated'}),
    'arm_bridge, lockstep': (ArmBridge, {'hardware': 'simulated', 'lockstep': True}),
    'arm_bridge, a person': (ArmBridge, {'hardware': 'simulated', 'setup': ''}),
    'arm_watcher': (ArmWatcher, {'latch_file': 'none'}),
    'arm_watcher, simulated': (ArmWatcher, {'hardware': 'simulated'}),
    'symbolic_planner': (SymbolicPlannerNode, {}),
    'agent': (AgentNode, {}),
    'agent, an arm': (AgentNode, {'world': 'arm_bridge'}),
    'metrics_recorder': (MetricsRecorder, {}),
    'metrics_recorder, no pictures': (MetricsRecorder, {'image_policy': 'none'}),
    'metrics_recorder, a real arm': (MetricsRecorder, {'world': 'arm_bridge'}),
    'metrics_recorder, a simulated arm': (
        MetricsRecorder, {'world': 'arm_bridge', 'hardware': 'simulated'}),
    'experiment': (ExperimentNode, {}),
    'experiment, an arm': (ExperimentNode, {'world': 'arm_bridge'}),
}


@pytest.mark.parametrize('kind', NODES)
def test_a_node_does_what_it_may_and_no_more(kind: str) -> None:
    make, given = NODES[kind]
    more = {'autostart': False} if make is ExperimentNode else {}
    if make is ArmBridge and 'hardware' not in given:
        more['latch_file'] = 'none'
    node = make(parameter_overrides=parameters(**given, **more))
    try:
        check(node, interfaces.of_node(spec_of(kind.partition(',')[0], **given), {}))
    finally:
        with spinning(node):
            pass


MODELS = {
    'grounder': (GrounderNode, {'backend': 'embedded', 'domain': 'blocksworld'}),
    'grounder, an oracle': (GrounderNode, {'backend': 'noisy_oracle',
                                           'backend_options': 'table=gpt-4.1'}),
    'grounder, an oracle of an arm': (GrounderNode, {
        'backend': 'noisy_oracle', 'backend_options': 'table=gpt-4.1', 'world': 'arm_bridge',
        'hardware': 'simulated'}),
    'path_critic': (PathCriticNode, {}),
}


@pytest.mark.parametrize('kind', [
    pytest.param(kind, marks=pytest.mark.slow) if given.get('backend') == 'embedded' else kind
    for kind, (_, given) in MODELS.items()])
def test_a_node_with_a_model_does_what_it_may_and_no_more(kind: str) -> None:
    make, given = MODELS[kind]
    check_model(make, kind.partition(',')[0], given)


def test_the_planner_with_a_model_does_what_it_may_and_no_more(tmp_path: Path) -> None:
    script = tmp_path / 'script.json'
    script.write_text(json.dumps({'replies': {}, 'repeat': 'last'}))
    check_model(VlmPlannerNode, 'vlm_planner', {'backend': 'scripted',
                                                'backend_options': f'script={script}'})


def check_model(make: type, executable: str, given: dict) -> None:
    node = make(parameter_overrides=parameters(autostart=False, **given))
    with spinning(node):
        assert node.trigger_configure().name == node.trigger_activate().name == 'SUCCESS'
        check(node, interfaces.of_node(spec_of(executable, **given), {}))


def test_people_do_what_they_may_and_no_more() -> None:
    reading, writing = os.pipe()
    console = OperatorConsole(keys=Keys(reading), say=lambda line: None)
    client, live, graph = GraspClient(), LiveClient(), find_graph('grasp')
    with os.fdopen(reading), spinning(console, client, live):
        check(live, interfaces.live(names.ARM_BRIDGE, graph), kept=False)
        check(console, interfaces.operator_console(names.ARM_BRIDGE, graph))
        check(client, interfaces.grasp(names.ARM_BRIDGE, graph), kept=False)
        os.close(writing)
        eventually(lambda: console.exit_code == 0, 'the end of the input')


def test_a_probe_asks_what_it_may_and_no_more() -> None:
    """All that a probe ever had, seen by the node that it is about."""
    graph = find_graph('experiment')
    allowed = interfaces.health(graph)
    assert set(health._SERVICES) == set(names.NEEDED_SERVICES)
    assert set(health._ACTIONS) == set(names.NEEDED_ACTIONS)
    asked: set[tuple[Verb, str]] = set()
    planner = SymbolicPlannerNode()
    create, examine = Node.create_client, health._Examiner.examine

    def seen(node: Node, kind: type, name: str, **more: object) -> object:
        if node.get_name().startswith('health'):
            asked.add((Verb.REQUEST, name))
        return create(node, kind, name, **more)

    def looked(examiner: health._Examiner, full_name: str) -> str:
        said = examine(examiner, full_name)
        asked.update(really(examiner._node))
        return said
    with spinning(planner), pytest.MonkeyPatch.context() as patch:
        patch.setattr(Node, 'create_client', seen)
        patch.setattr(health._Examiner, 'examine', looked)
        (found,) = health.check(['symbolic_planner'], 60.0)
    assert found.healthy, found.reason
    assert (Verb.REQUEST, '/symbolic_planner/plan') in asked and asked <= allowed.keys()


@pytest.mark.parametrize('make', [AgentNode, SimBridge])
def test_in_a_namespace_with_other_names_a_node_does_what_it_may(make: type[Node]) -> None:
    """ROS resolves names as the policy does."""
    found = find_graph('experiment')
    values = found.values(['namespace:=left', 'execution:=arm',
                           'remap:=camera/image_raw:=/eye execute_skill:=act ~/plan:=planned'])
    spec, = (one for one in found.chosen(values).nodes if one.executable == make.__name__.replace(
        'AgentNode', 'agent').replace('SimBridge', 'sim_bridge'))
    given = {} if make is AgentNode else {'execution': 'arm', 'lockstep': True}
    node = make(parameter_overrides=parameters(**given),
                cli_args=ros_arguments(spec, {}))
    try:
        declared = interfaces.of_node(spec, values)
        check(node, declared)
        assert any(what == '/left/act' for _, what in declared)
        assert any(what == '/eye' for _, what in declared)
        if make is SimBridge:
            assert (Verb.PUBLISH, '/left/clock') in declared
    finally:
        with spinning(node):
            pass


@pytest.mark.parametrize(('rule', 'words'), [
    ('camera/image_raw:=/eye', ''), ('execute_skill:=act', ''), ('/clock:=/time', ''),
    ('grounder:~/ground:=ask', ''), ('agent/run_episode:=goal', ''),
    ('camera/image_rw:=/eye', "have camera/image_rw; did you mean 'camera/image_raw'?"),
    ('grounder:~/grund:=ask', 'have ~/grund; did you mean'),
    ('execute_skil:=act', "did you mean 'execute_skill'?")])
def test_a_remapping_of_what_no_node_has_is_warned_of(
        capsys, monkeypatch, rule: str, words: str) -> None:
    monkeypatch.setattr('sightplan.commands.up.part', lambda name, package: interfaces)
    for space in ((), ('namespace:=left',)):
        graph = find_graph('do')
        note_unused_remaps(graph, graph.values([f'remap:={rule}', *space]))
        said = capsys.readouterr().err
        assert words in said and bool(said) is bool(words)


# Who may read ground truth.

def enclaves(*arguments: str, graph: str = 'experiment') -> dict[str, Interface]:
    found = find_graph(graph)
    values = found.values(arguments)
    return interfaces.of_graph(found.chosen(values), values)


def readers(found: dict[str, Interface], service: str = names.GET_STATE) -> set[str]:
    """Who may ask for ground truth."""
    return {name for name, interface in found.items()
            if any(verb is Verb.REQUEST and what.endswith(service) for verb, what in interface)}


@pytest.mark.parametrize(('arguments', 'who'), [
    ((), {'metrics_recorder'}),
    (('stop_at_goal:=no', 'backend:=noisy_oracle'), {'metrics_recorder', 'grounder'}),
    (('method:=oracle',), {'metrics_recorder', 'agent'}),
    (('stop_at_goal:=yes',), {'metrics_recorder', 'agent'}),
    (('world:=arm_bridge',), set()),
    (('world:=arm_bridge', 'hardware:=simulated'), {'metrics_recorder'}),
    (('world:=arm_bridge', 'truth:=cameras/see'), {'metrics_recorder'}),
    (('truth:=',), set())])
def test_only_who_is_granted_it_may_read_the_truth(arguments: tuple[str, ...],
                                                   who: set[str]) -> None:
    found = enclaves(*arguments)
    wanted = 'cameras/see' if 'truth:=cameras/see' in arguments else names.GET_STATE
    assert readers(found, wanted) == who
    assert readers(found, names.PROVIDE_FACTS) == set()


def test_facts_are_for_episodes_that_grant_them() -> None:
    assert readers(enclaves('privileged:=always'), names.PROVIDE_FACTS) == {'agent'}
    granted = enclaves('domain:=household', 'method:=action')
    assert readers(granted, names.PROVIDE_FACTS) == {'agent'}


@pytest.mark.parametrize('suite', [
    'predicates', 'point_it_out', 'grounded_plan', 'patheval'])
def test_a_suite_of_samples_has_enclaves_and_grants_the_agent_no_truth(
        suite: str) -> None:
    found = enclaves(f'suite:={suite}', 'split:=all', 'method:=ask')
    assert {'experiment', 'grounder', 'metrics_recorder'} <= set(found)
    assert 'agent' not in readers(found)


def test_a_suite_that_stops_at_the_goal_lets_the_loop_read_the_truth() -> None:
    assert 'agent' in readers(enclaves('suite:=ivispar', 'domain:=sliding', 'split:=all',
                                       'method:=action'))


# What is written.

def test_every_shipped_graph_has_a_policy_and_every_node_is_known() -> None:
    for name in ('experiment', 'grasp', 'paths'):
        graph = find_graph(name)
        values = graph.values(())
        found = interfaces.of_graph(graph, values)
        assert {node.full_name for node in graph.nodes} < set(found)
        shape(policy_xml(found), found)


def shape(text: str, interfaces_of: dict[str, Interface]) -> None:
    """It has the elements and attributes of SROS 2's policies, and says what it was made of."""
    root = ElementTree.fromstring(text)
    assert (root.tag, root.attrib) == ('policy', {'version': '0.2.0'})
    (all_enclaves,) = root
    assert all_enclaves.tag == 'enclaves'
    read: dict[str, set] = {}
    for enclave in all_enclaves:
        ((profile,),) = enclave
        assert (enclave.tag, set(enclave.attrib), profile.tag) == ('enclave', {'path'}, 'profile')
        assert enclave.attrib['path'] == (
            f'{profile.attrib["ns"].rstrip("/")}/{profile.attrib["node"]}')
        found = read.setdefault(enclave.attrib['path'][1:], set())
        for part in profile:
            ((verb, allowed),) = part.attrib.items()
            assert allowed == 'ALLOW' and len(part)
            kind = {'publish': 'topic', 'subscribe': 'topic', 'reply': 'service',
                    'request': 'service', 'execute': 'action', 'call': 'action'}[verb]
            assert part.tag == f'{kind}s' and {item.tag for item in part} == {kind}
            found |= {(Verb(verb), item.text) for item in part}
    assert read == {name: set(one) for name, one in interfaces_of.items()}
    assert all(what.startswith('/') and '*' not in what for one in read.values()
               for _, what in one)


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / 'policy.xml'
    assert cli.main(['security', 'policy', 'experiment', 'method:=oracle', '--out', str(out),
                     '--json']) == 0
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said['policy'] == out.read_text()
    assert '/agent' in said['enclaves'] and '/grounder' not in said['enclaves']
    assert '<!-- for a method that is an oracle -->' in said['policy']
    assert cli.main(['security', 'policy', 'grasp', 'world:=arm_bridge', 'hardware:=simulated']
                    ) == 0
    text = capsys.readouterr().out
    for enclave in ('hardware/sim_bridge', 'arm_watcher', 'operator_console', 'grasp',
                    'arm_live', 'health'):
        assert f'<enclave path="/{enclave}">' in text
    assert cli.main(['security', 'policy', 'do']) == 0
    assert '<enclave path="/do">' in capsys.readouterr().out
    assert cli.main(['security', 'policy', 'do', '-r', 'camera/image_raw:=/eye']) == 0
    assert '<topic>/eye</topic>' in capsys.readouterr().out
    topic = load_robot('panda').arm.trajectory_topic
    assert f'<topic>/hardware/{topic}</topic>' in text


def test_what_is_not_known_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(['security', 'policy', 'replay']) == 2
    assert 'bag:=' in capsys.readouterr().err
    graph = tmp_path / 'mine.yaml'
    graph.write_text('description: x\nnodes:\n- {package: mine, executable: eye, name: left}\n')
    assert cli.main(['security', 'policy', str(graph)]) == 2
    assert 'eye of package mine' in capsys.readouterr().err
    with pytest.raises(InputError, match='needs a node'):
        policy_xml({})
    for name in ('*', '/arm/*', 'a[bc]', 'x?', 'a\x01', ''):
        with pytest.raises(InputError, match='has no place for the name'):
            policy_xml({'eye': {(Verb.PUBLISH, name): ''}})


def test_a_simulated_arm_that_is_made_hears_what_it_may() -> None:
    given = {'execution': 'arm', 'domain': 'blocksworld'}
    node = SimBridge(parameter_overrides=parameters(**given))
    declared = interfaces.of_node(spec_of('sim_bridge', **given), {})
    with_tf2 = importlib.util.find_spec('tf2_msgs') is not None
    there = {part for part, when in declared.items() if with_tf2 or 'tf2_msgs' not in when}
    with spinning(node):
        added = as_kept(node)
        eventually(lambda: there == really(node), 'all that is declared')
        for one in added:
            one.close()
