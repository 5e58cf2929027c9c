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
EXAMPLES = Path(__file__).resolve().parents[2] / 'examples'
SPACE, RENAMED = 'left', 'grasp_at:=take'


@pytest.fixture
def graph(start, tmp_path: Path, request) -> Graph:
    """A graph with the shipped model, which is as sure of places as moving the arm demands."""
    robot = patient_robot(tmp_path, state_timeout_s=10.0, image_timeout_s=10.0,
                          heartbeat_timeout_s=10.0, tracking_tolerance_rad=0.3)
    return start(f'problem:={PROBLEM}', f'robot:={robot}', 'backend:=embedded', *request.param,
                 graph_name='grasp')


def beside(graph: Graph, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a Python program in the graph's domain."""
    domain = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)
    assert domain is not None, graph.text
    return subprocess.run(
        [sys.executable, *command],
        env={**outside_environment(), 'ROS_DOMAIN_ID': domain.group(1)}, capture_output=True,
        text=True, timeout=LIMIT_S, check=False)


def ask(graph: Graph, *arguments: str) -> tuple[int, dict]:
    """Exit code and answer of the command."""
    here = f'namespace:={SPACE}' in graph.process.args
    where = ('--namespace', SPACE, '-r', RENAMED) if here else ()
    done = beside(graph, '-m', 'sightplan.cli', 'arm', 'grasp', *arguments, *where, '--json')
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
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
    eventually(taken, f'a grasp ({said}) in {graph.text}')
    assert ask(graph, 'the green block')[1]['cause'] == 'occupied', graph.text
    assert ask(graph, 'the unicorn')[1]['cause'] == 'occupied', graph.text
    assert ask(graph, '--put-back') == (0, {'world': graph_world(graph), 'cause': 'done',
                                     'message': ''}), graph.text
    code, answer = ask(graph, 'the mug')
    assert code == 1 and answer['cause'] in ('not_found', 'abstained'), (answer, graph.text)


@pytest.mark.parametrize('graph', [()], indirect=True, ids=['as it is'])
def test_the_clients_in_examples_find_grasp_put_back_and_stop(graph: Graph) -> None:
    def client(name: str, *arguments: str) -> tuple[int, str]:
        while True:  # a busy machine may take longer than the program waits
            done = beside(graph, EXAMPLES / name, *arguments)
            if 'nobody offers' not in done.stderr:
                return done.returncode, done.stdout + done.stderr
            assert graph.process.poll() is None, graph.text
    eventually(lambda: 'is loaded' in graph.text, 'the model')
    code, said = client('find_all_things.py')
    assert code == 0 and said == 'the picture is unlike anything the model was made for\n', said
    code, said = client('ask_about_picture.py', 'clear g',
                        'Is the green block the topmost of its column?', 'the green block')
    place = re.search(r'the green block: here \[\(\[(\S+)\], \[(\S+)\]\)\]', said)
    assert place is not None, (said, graph.text)
    code, said = client('grasp_at_point.py', *place.groups(), 'the green block')
    assert (code, said) == (0, 'done\n'), graph.text
    assert client('grasp_at_point.py') == (0, 'done\n'), graph.text
    code, said = client('watch_arm.py', 'sim_bridge', 'stop')
    assert code == 0 and re.search(r'(?m)^stopped a stop was asked for$', said), (said, graph.text)
    code, said = client('grasp_at_point.py', '0.5', '0.5')
    assert code == 1 and 'the arm was stopped' in said, (said, graph.text)


@pytest.mark.parametrize('graph', [()], indirect=True, ids=['as it is'])
def test_nothing_is_grasped_for_a_unicorn(graph: Graph) -> None:
    """As a person would ask after ``sightplan up grasp``; the words are not the model's."""
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
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
