"""The example that lets the critic choose among Nav2's paths, in a process beside the critic."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import LIMIT_S, eventually, outside_environment

from sightplan.graphs.up import reserved_domain, transport_environment

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / 'examples'
CLIENT = (sys.executable, EXAMPLES / 'compare_nav2_paths.py')


@pytest.fixture
def critic(start):
    """The environment of a client of a critic that runs."""
    graph = start(graph_name='paths')
    eventually(lambda: 'ready, without a model' in graph.text, f'the node in {graph.text}')
    domain = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)
    assert domain is not None, graph.text
    environment = outside_environment()
    return {**environment, **transport_environment(environment), 'ROS_DOMAIN_ID': domain.group(1)}


def run(environment, *arguments):
    return subprocess.run([*CLIENT, *arguments], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, env=environment)


def test_recorded_paths_are_compared(critic):
    done = run(critic)
    assert done.returncode == 0, done.stderr
    first, second, out, reason = done.stdout.splitlines()
    assert first == '/plan 2: the best with probability 1.00'
    assert second == '/plan 1: the best with probability 0.00'
    assert out.startswith('/plan 3 is out: it comes as near as 0.1 to an obstacle at 3.7')
    assert reason.startswith('Path 2, of 2 that are compared, is the best')


def test_paths_of_nav2s_actions_are_compared_and_the_best_is_followed(critic, tmp_path):
    """With the real interfaces of nav2_msgs; the servers behind them are a stand-in."""
    pytest.importorskip('nav2_msgs.action')
    log = tmp_path / 'nav2.txt'
    with log.open('w') as file:
        nav2 = subprocess.Popen([sys.executable, Path(__file__).with_name('fake_nav2.py'),
                                 EXAMPLES / 'three_paths'], stdout=file, env=critic)
    try:
        done = run(critic, '10.5', '4.0', '--follow')
    finally:
        nav2.terminate()
        nav2.wait(30)
    assert done.returncode == 0, done.stderr
    nothing, first, second, reason, end = done.stdout.splitlines()
    assert nothing == 'ThetaStar: no path (error 208 nothing found)'
    assert first == 'SmacHybrid: the best with probability 1.00'
    assert second.startswith('NavFn') and reason.startswith('Path 2 of 2 is the best')
    assert end == 'arrived'
    goals = [json.loads(line) for line in log.read_text().splitlines()]
    assert goals == [*([name, 'map', 10.5, 4.0] for name in ('NavFn', 'SmacHybrid', 'ThetaStar')),
                     ['follow', 127]]


def test_without_a_critic_the_client_says_what_to_start():
    environment = outside_environment()
    with reserved_domain() as domain:
        done = run({**environment, **transport_environment(environment),
                    'ROS_DOMAIN_ID': str(domain)})
    assert done.returncode == 1 and 'start "sightplan up paths"' in done.stderr
