"""The health command, about real nodes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from lifecycle_msgs.msg import Transition
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from nodes_testing import LIMIT_S, Manager, parameters, spinning
from sightplan.model import InputError
from sightplan_nodes import health, names
from sightplan_nodes.agent import AgentNode
from sightplan_nodes.grounder import GrounderNode
from sightplan_nodes.metrics_recorder import MetricsRecorder
from sightplan_nodes.sim_bridge import SimBridge
from sightplan_nodes.symbolic_planner import SymbolicPlannerNode


def one(node: str, timeout_s: float = LIMIT_S) -> health.Health:
    return health.check([node], timeout_s)[0]


def test_a_node_that_answers_is_healthy():
    with spinning(Node('camera')):
        found = one('camera')
    assert found == health.Health('/camera', True, 'answers')


def test_a_node_that_is_not_there():
    found = one('camera', 0.3)
    assert not found.healthy and 'not on the graph' in found.reason


def test_a_node_that_hangs_is_on_the_graph_but_not_healthy():
    node = Node('camera')
    found = one('camera', 1.0)
    node.destroy_node()
    assert not found.healthy and 'hangs' in found.reason


@pytest.mark.parametrize('kind', [AgentNode, MetricsRecorder, SimBridge, SymbolicPlannerNode])
def test_our_nodes_offer_what_is_asked_of_them(kind):
    node = kind()
    assert node.get_name() in {*health._SERVICES, *health._ACTIONS}
    with spinning(node):
        found = one(node.get_name())
    assert found.healthy, found


def test_what_a_node_offers_is_looked_for_under_its_other_name():
    place = {'namespace': 'left', 'remap': 'symbolic_planner/plan:=/planned'}
    node = SymbolicPlannerNode(namespace='/left', cli_args=[
        '--ros-args', '-r', '/left/symbolic_planner/plan:=/planned'])
    with spinning(node):
        (found,) = health.check(['symbolic_planner'], LIMIT_S, place=place)
        (missing,) = health.check(['symbolic_planner'], 1.0, place={'namespace': 'left'})
    assert found.healthy and not missing.healthy
    assert '/left/symbolic_planner/plan' in missing.reason


def test_a_node_without_its_service_is_not_healthy():
    with spinning(Node(names.AGENT)):
        found = one(names.AGENT, 1.0)
    assert not found.healthy and 'the action /agent/run_episode' in found.reason


def test_a_lifecycle_node_is_healthy_while_it_is_active():
    node = GrounderNode(parameter_overrides=parameters(autostart=False))
    manager = Manager(names.GROUNDER)
    with spinning(node, manager.node):
        waiting = one(names.GROUNDER)
        assert manager.change(Transition.TRANSITION_CONFIGURE)
        loaded = one(names.GROUNDER)
        assert manager.change(Transition.TRANSITION_ACTIVATE)
        active = one(names.GROUNDER)
    assert not waiting.healthy and 'unconfigured' in waiting.reason
    assert not loaded.healthy and 'inactive' in loaded.reason
    assert active == health.Health('/grounder', True, 'is active')


def test_namespaces_are_told_apart():
    with spinning(Node('camera', namespace='hardware')):
        assert one('/hardware/camera').healthy
        (there,) = health.check(['camera'], LIMIT_S, place={'namespace': 'hardware'})
        assert (there.node, there.healthy) == ('/hardware/camera', True)
        assert not one('camera', 0.3).healthy


def test_one_that_is_missing_makes_all_unhealthy(capsys, monkeypatch):
    monkeypatch.setattr(health.rclpy, 'init', lambda **_: None)
    monkeypatch.setattr(health.rclpy, 'try_shutdown', lambda: None)
    with spinning(Node('camera')):
        code = health.main(['camera', 'lidar', '--timeout', '4', '--json'])
        assert health.main(['camera']) == health.HEALTHY
    assert code == health.UNHEALTHY
    told = json.loads(capsys.readouterr().out)
    assert [node['healthy'] for node in told['nodes']] == [True, False]
    assert told['healthy'] is False


@pytest.mark.parametrize('name', ['a camera', '/', 'camera/'])
def test_what_cannot_be_a_name(name):
    with pytest.raises(InputError, match='not the name of a node'):
        health.check([name], 1.0)


def test_discovery_works_between_contexts_or_not_at_all(monkeypatch):
    assert not health.check_discovery(0.5).healthy, 'it is off in these tests'
    # In a process of its own: with this range nobody sees the 33rd participant of a process, and
    # exceptions that tests of this one share keep their nodes.
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    done = subprocess.run([sys.executable, '-m', 'sightplan_nodes.health', '--discovery',
                           '--timeout', f'{LIMIT_S:g}'], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (health.HEALTHY, 'discovery works\n')
    # A discovery server that is not there: nobody can be found.
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    monkeypatch.setenv('ROS_DISCOVERY_SERVER', '127.0.0.1:9')
    found = health.check_discovery(1.0)
    assert not found.healthy and 'discovery server at 127.0.0.1:9' in found.reason


def test_bad_usage():
    for arguments in ([], ['camera', '--timeout', '0']):
        with pytest.raises(SystemExit) as ended:
            health.main(arguments)
        assert ended.value.code == health.USAGE


def test_the_probe_spins_no_other_node():
    node = Node('camera')
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    assert not one('camera', 0.5).healthy
    executor.remove_node(node)
    node.destroy_node()
