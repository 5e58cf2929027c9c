"""With keys, a whole graph works by its generated policy, and who has none gets nowhere.

Needs a middleware with security and "ros2 security" (ros-jazzy-sros2), as an installation of ROS
has; the wheels have neither.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from graph_testing import Graph, eventually, outside_environment

from sightplan.commands.doctor import Site, check_security
from sightplan.graphs.up import (
    KEYSTORE,
    SECURITY,
    STRATEGY,
    reserved_domain,
    transport_environment,
)

pytestmark = pytest.mark.slow

ARGUMENTS = ('method:=oracle', 'split:=medium', 'backend:=noisy_oracle')

# Says what it may make, and whom and what it hears in some seconds: as JSON.
PROBE = '''
import json, sys, time
import rclpy
from rclpy.parameter import Parameter
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import Image
from sightplan_interfaces.msg import PlanStamped
from sightplan_interfaces.srv import GetState, LoadProblem

name, seconds = sys.argv[1], float(sys.argv[2])
rclpy.init(args=[] if name == "stranger" else ["--ros-args", "--enclave", f"/{name}"])
node = rclpy.create_node(  # offers nothing, so that the graph is not disturbed
    "probe", start_parameter_services=False,
    parameter_overrides=[Parameter("start_type_description_service", value=False)])
found = {"images": 0}

def note(image):
    found["images"] += 1

def may(what, make):
    try:
        found[what] = make()
    except Exception as error:
        found[what] = None

may("camera", lambda: node.create_subscription(
    Image, "/camera/image_raw", note, qos_profile_sensor_data))
may("truth", lambda: node.create_client(GetState, "/sim_bridge/get_state"))
may("load", lambda: node.create_client(LoadProblem, "/sim_bridge/load_problem"))
may("plan", lambda: node.create_publisher(PlanStamped, "/agent/plan", 1))
end = time.monotonic() + seconds
while time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
print(json.dumps({
    "made": [what for what in ("camera", "truth", "load", "plan") if found[what] is not None],
    "ready": [what for what in ("truth", "load")
              if found[what] is not None and found[what].service_is_ready()],
    "images": found["images"], "nodes": sorted(set(node.get_node_names()) - {"probe"})}))
'''


def lacking() -> str:
    """What is missing for these tests; '' if nothing is."""
    if os.environ.get(SECURITY) == 'true':
        return 'this shell has keys'
    if shutil.which('ros2') is None or subprocess.run(
            ['ros2', 'security', '--help'], capture_output=True, check=False).returncode:
        return '"ros2 security" is not installed'
    said = check_security(Site.here()).detail
    return '' if said.endswith('possible') else said


@pytest.fixture(scope='module')
def keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """An environment in which nodes of ``ARGUMENTS`` may speak, and nobody else."""
    missing = lacking()
    if missing:
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp('security')
    with reserved_domain() as domain:
        chosen = {'ROS_DOMAIN_ID': str(domain)}
        environment = outside_environment() | chosen
        for command in (
                [sys.executable, '-m', 'sightplan.cli', 'security', 'policy', 'experiment',
                 *ARGUMENTS, '--out', str(folder / 'policy.xml')],
                ['ros2', 'security', 'create_keystore', str(folder / 'keystore')],
                ['ros2', 'security', 'generate_artifacts', '-k', str(folder / 'keystore'),
                 '-p', str(folder / 'policy.xml')]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  check=False)
            assert done.returncode == 0, done.stdout + done.stderr
        yield chosen | {SECURITY: 'true', STRATEGY: 'Enforce', KEYSTORE: str(folder / 'keystore')}


@pytest.fixture
def graph(start, keys: dict[str, str]) -> Graph:
    return start(*ARGUMENTS, 'episodes:=2000', environment=keys)


def probe(name: str, keys: dict[str, str], seconds: float = 4.0) -> dict:
    """What a node gets to see of the graph with some keys; none: a stranger."""
    environment = outside_environment() | keys
    if name == 'stranger':
        environment.pop(SECURITY)
    done = subprocess.run(
        [sys.executable, '-c', PROBE, name, str(seconds)],
        env=environment | transport_environment(environment),
        capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    at = done.stdout.index('{"made"')  # DDS writes there, too, and ends no line
    answer: dict = json.JSONDecoder().raw_decode(done.stdout[at:])[0]
    return answer


def test_who_has_no_keys_sees_nothing_and_who_has_may_do_what_its_policy_says(
        graph: Graph, keys: dict[str, str]) -> None:
    agent: dict = {}

    def seen() -> bool:
        agent.update(probe('agent', keys))
        return bool(agent['images']) and 'sim_bridge' in agent['nodes']
    eventually(seen, 'that a node with the keys of the agent sees pictures')
    stranger = probe('stranger', keys)
    assert graph.process.poll() is None, 'it was there to be seen'
    assert stranger == {'made': ['camera', 'truth', 'load', 'plan'], 'ready': [], 'images': 0,
                        'nodes': []}
    # The agent of method oracle may read the truth, too; the planner may do nothing of all that.
    assert set(agent['made']) >= {'camera', 'plan'}
    planner = probe('symbolic_planner', keys, 0.0)
    assert planner['made'] == []


def test_keys_of_another_keystore_are_none(
        graph: Graph, keys: dict[str, str], tmp_path: Path) -> None:
    eventually(lambda: probe('agent', keys)['images'], 'pictures for who has keys')
    other = tmp_path / 'keystore'
    for command in (['create_keystore', str(other)],
                    ['generate_artifacts', '-k', str(other),
                     '-p', str(Path(keys[KEYSTORE]).with_name('policy.xml'))]):
        subprocess.run(['ros2', 'security', *command], check=True, capture_output=True,
                       env=outside_environment() | {'ROS_DOMAIN_ID': keys['ROS_DOMAIN_ID']})
    seen = probe('agent', keys | {KEYSTORE: str(other)})
    assert graph.process.poll() is None, 'it was there to be seen'
    assert (seen['images'], seen['ready'], seen['nodes']) == (0, [], [])


def test_an_episode_is_solved_with_keys(start, keys: dict[str, str]) -> None:
    graph = start(*ARGUMENTS, 'episodes:=2', environment=keys)
    assert graph.wait() == 0, graph.text
    assert [line['measures']['solved'] for line in graph.lines()] == [True, True]
    assert 'not found in allow rule' not in graph.text


@pytest.mark.parametrize('other', ['arguments', 'domain'])
def test_keys_that_do_not_fit_end_the_graph_with_the_remedy(
        start, keys: dict[str, str], other: str) -> None:
    with reserved_domain() as domain:
        own = keys | ({'ROS_DOMAIN_ID': str(domain)} if other == 'domain' else {})
        more = ['execution:=arm'] if other == 'arguments' else []
        graph = start(*ARGUMENTS, *more, environment=own)
        assert graph.wait() == 1, graph.text
    assert 'cannot start: its keys do not allow' in graph.text
    assert f'ROS_DOMAIN_ID={own["ROS_DOMAIN_ID"]}' in graph.text
    assert 'Traceback' not in graph.text
