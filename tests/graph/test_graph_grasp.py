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
SPACE, RENAMED = 'left', 'grasp_at:=take'


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
    here = f'namespace:={SPACE}' in graph.process.args
    where = ('--namespace', SPACE, '-r', RENAMED) if here else ()
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan.cli', 'arm', 'grasp', *arguments, *where, '--json'],
        env={**outside_environment(), 'ROS_DOMAIN_ID': domain.group(1)}, capture_output=True,
        text=True, timeout=LIMIT_S, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize('graph', [
    ('world:=sim_bridge',),
    ('world:=arm_bridge', 'hardware:=simulated', f'namespace:={SPACE}', '-r', RENAMED)],
    indirect=True,
    ids=lambda arguments: arguments[0])
def test_what_is_named_is_lifted_and_put_back(graph: Graph) -> None:
    """The same for the simulated arm and for a robot's driver, here in a namespace and under
    another name; what is not seen is not taken."""
    def taken() -> bool:
        assert graph.process.poll() is None, graph.text
        code, answer = ask(graph, 'the green block')
        said.append((code, answer.get('cause', answer.get('error'))))
        return code == 0
    said: list[tuple[int, str]] = []
    eventually(lambda: 'is loaded' in graph.text, 'the model')
    eventually(taken, f'a grasp ({said}) in {graph.text}')
    assert ask(graph, 'the green block')[1]['cause'] == 'occupied', graph.text
    assert ask(graph, 'the unicorn')[1]['cause'] == 'occupied', graph.text
    assert ask(graph, '--put-back') == (0, {'world': graph_world(graph), 'cause': 'done',
                                     'message': ''}), graph.text
    code, answer = ask(graph, 'the mug')
    assert code == 1 and answer['cause'] in ('not_found', 'abstained'), (answer, graph.text)


@pytest.mark.parametrize('graph', [()], indirect=True, ids=['as it is'])
def test_nothing_is_grasped_for_a_unicorn(graph: Graph) -> None:
    """As a person would ask after ``sightplan up grasp``; the words are not the model's."""
    eventually(lambda: 'is loaded' in graph.text, 'the model')
    code, answer = ask(graph, 'the unicorn')
    assert (code, answer['cause']) == (1, 'abstained'), (answer, graph.text)
    assert answer['message'] == ("it cannot be told whether there is a unicorn: the model does "
                                 "not know 'unicorn'")
    code, answer = ask(graph, '--put-back')
    assert (code, answer['cause']) == (1, 'unknown'), 'nothing is in the hand'


def graph_world(graph: Graph) -> str:
    """Node that moves the arm."""
    arguments = graph.process.args
    assert isinstance(arguments, list)
    return 'arm_bridge' if 'world:=arm_bridge' in arguments else 'sim_bridge'
