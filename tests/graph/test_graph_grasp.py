"""An arm that takes what a model points at: the graph, and the command that asks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import LIMIT_S, Graph, eventually, outside_environment

from arm_testing import patient_robot

pytestmark = pytest.mark.slow

PROBLEM = 'simple/problem_00'


@pytest.fixture
def graph(start, tmp_path: Path, request) -> Graph:
    """A graph with the shipped model, which is as sure of places as moving the arm demands."""
    robot = patient_robot(tmp_path, state_timeout_s=10.0, image_timeout_s=10.0,
                          heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)
    return start(f'problem:={PROBLEM}', f'robot:={robot}', 'backend:=embedded', *request.param,
                 graph_name='grasp')


def ask(graph: Graph, *arguments: str) -> tuple[int, dict]:
    """Exit code and answer of the command."""
    domain = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)
    assert domain is not None, graph.text
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan.cli', 'arm', 'grasp', *arguments, '--json'],
        env={**outside_environment(), 'ROS_DOMAIN_ID': domain.group(1)}, capture_output=True,
        text=True, timeout=LIMIT_S, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize('graph', [
    ('world:=sim_bridge',), ('world:=arm_bridge', 'hardware:=simulated')], indirect=True,
    ids=lambda arguments: arguments[0])
def test_what_is_named_is_lifted_and_put_back(graph: Graph) -> None:
    """The same for the simulated arm and for a robot's driver; what is not seen is not taken."""
    def taken() -> bool:
        assert graph.process.poll() is None, graph.text
        code, answer = ask(graph, 'the green block')
        said.append((code, answer.get('cause', answer.get('error'))))
        return code == 0
    said: list[tuple[int, str]] = []
    eventually(lambda: 'is loaded' in graph.text, 'the model')
    eventually(taken, f'a grasp ({said}) in {graph.text}')
    assert ask(graph, 'the green block')[1]['cause'] == 'occupied', graph.text
    assert ask(graph, '--put-back') == (0, {'world': graph_world(graph), 'cause': 'done',
                                     'message': ''}), graph.text
    for absent in ('the mug', 'the unicorn'):
        code, answer = ask(graph, absent)
        assert (code, answer['cause']) == (1, 'abstained'), graph.text


def graph_world(graph: Graph) -> str:
    """Node that moves the arm."""
    arguments = graph.process.args
    assert isinstance(arguments, list)
    return 'arm_bridge' if 'world:=arm_bridge' in arguments else 'sim_bridge'
