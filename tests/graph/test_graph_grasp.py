"""An arm that takes what a model points at: the graph, and the command that asks it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from graph_testing import LIMIT_S, Graph, eventually, outside_environment

from arm_testing import patient_robot
from sightplan.domains import find_problem, load_domain
from sightplan.model import EpisodeSpec
from sightplan.runs import make_world
from sightplan_arm.geometry import inverse, transform

pytestmark = pytest.mark.slow

PROBLEM = 'simple/problem_00'


@pytest.fixture(scope='module')
def place() -> tuple[float, float]:
    """Where the green block's front is in the picture, in unit coordinates."""
    problem = find_problem(load_domain('blocksworld'), PROBLEM)
    world = make_world('blocksworld', {'execution': 'arm'})
    try:
        world.reset(EpisodeSpec('e', problem, '', seed=0))
        x, y, z = world.arm.poses().blocks['g'][:3]
        info = world.camera_info()
        at = transform(inverse(world.robot.camera.pose), np.array([x, y - 0.025, z]))
        column, row = (info.matrix @ (at / at[2]))[:2]
    finally:
        world.close()
    return (column + 0.5) / info.width, (row + 0.5) / info.height


@pytest.fixture
def graph(start, tmp_path: Path, place: tuple[float, float], request) -> Graph:
    """A graph whose model knows where the green block is, and sees nothing else."""
    script = tmp_path / 'script.yaml'
    script.write_text(json.dumps({'repeat': 'last', 'locate': {
        'the green block': f'[({place[0]:.4f}, {place[1]:.4f})]', 'default': '[]'}}))
    robot = patient_robot(tmp_path, state_timeout_s=10.0, image_timeout_s=10.0,
                          heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)
    return start(f'problem:={PROBLEM}', f'robot:={robot}', 'backend:=scripted',
                 f'backend_options:=script={script}', 'max_askings:=1', *request.param,
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
    code, answer = ask(graph, 'the mug')
    assert (code, answer['cause']) == (1, 'abstained'), graph.text


def graph_world(graph: Graph) -> str:
    """Node that moves the arm."""
    arguments = graph.process.args
    assert isinstance(arguments, list)
    return 'arm_bridge' if 'world:=arm_bridge' in arguments else 'sim_bridge'
