"""Goals of one's own on a running graph: the command, its interruption, and the examples."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import LIMIT_S, Graph, eventually, outside_environment

from sightplan.cli import main
from sightplan.records.bag_reading import open_bag
from sightplan_nodes import do_client

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples'
BLOCKS = ROOT / 'src' / 'sightplan' / 'sightplan' / 'domains' / 'blocksworld'
NUMBERS = re.compile(r'[xyz] (\S+?),? ')


def beside(graph: Graph, *command: str | Path) -> subprocess.Popen[str]:
    """Start a Python program in the graph's domain."""
    domain = re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text)
    assert domain is not None, graph.text
    return subprocess.Popen(
        [sys.executable, *command],
        env={**outside_environment(), 'ROS_DOMAIN_ID': domain.group(1)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def do(graph: Graph, *arguments: str) -> subprocess.Popen[str]:
    return beside(graph, '-m', 'sightplan.cli', 'do', *arguments)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=LIMIT_S)
    return process.returncode, out, error


def answered(graph: Graph, *command: str | Path) -> tuple[int, str, str]:
    """Run a program until it finds what it asks, for which a busy machine may take long."""
    while True:
        code, said, error = ended(beside(graph, *command))
        if not error.startswith(('nobody offers', 'no picture')):
            return code, said, error
        assert graph.process.poll() is None, graph.text


def test_goals_are_reached_one_after_the_other_and_recorded(start, tmp_path: Path) -> None:
    out = tmp_path / 'run'
    graph = start('problem:=simple/problem_00', f'out:={out}', graph_name='do')
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
    code, said, error = ended(do(graph, '--goal', '(on g b)'))
    assert code == 0 and re.search(r'(?m)^done after [1-9]\d* actions?: ', said), (
        said, error, graph.text)
    assert re.search(r'(?m)^\d+\. moveblock\(g, \w+\): executed$', said), said
    code, said, error = ended(do(graph, '--goal', '(on b p)', '--json'))
    assert code == 0, (said, error, graph.text)
    assert json.loads(said.splitlines()[-1])['stop_reason'] == 'plan_done'
    code, said, error = ended(do(graph, '--goal', '(on g nobody)'))
    assert code != 0 and 'unknown object "nobody"' in error, (said, error)
    bags = sorted((out / 'bags').iterdir())
    assert len(bags) == 2
    for bag in bags:
        assert any(True for _ in open_bag(bag).messages(['/agent/step'])), bag


def test_after_an_interruption_another_goal_can_be_given(start, tmp_path: Path) -> None:
    graph = start('problem:=simple/problem_00', f'out:={tmp_path / "run"}', 'execution:=arm',
                  'reset_timeout_s:=200', graph_name='do')
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
    process = do(graph, '--goal', '(and (on g b) (on b p))')
    assert process.stdout is not None
    eventually(lambda: any(re.match(r'\d+\. .*: executed$', line) for line in process.stdout),
               'the first action')
    process.send_signal(signal.SIGINT)
    code, said, error = ended(process)
    assert code == 1 and re.search(r'(?m)^cancelled after \d+ actions?: ', said), (said, error)
    assert 'WorldError' not in said + error
    code, said, error = ended(do(graph, '--goal', '(not (clear b))'))
    assert code == 0, (said, error, graph.text)


def test_where_no_agent_is_the_domain_and_the_namespace_are_named(monkeypatch, capsys) -> None:
    monkeypatch.setenv('ROS_DOMAIN_ID', '97')
    monkeypatch.setattr(do_client, '_APPEAR_S', 1.0)
    assert main(['do', '--goal', '(on g b)', '--namespace', 'robot1']) != 0
    said = capsys.readouterr().err
    assert 'there is no agent in ROS_DOMAIN_ID=97, namespace robot1; start one with' in said


def test_the_client_that_reaches_a_goal_cancels_it_on_ctrl_c(start, tmp_path: Path) -> None:
    graph = start('problem:=simple/problem_00', f'out:={tmp_path / "run"}', 'execution:=arm',
                  'reset_timeout_s:=200', graph_name='do')
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
    process = beside(graph, '-u', EXAMPLES / 'reach_goal.py', '(and (on g b) (on b p))')
    assert process.stdout is not None
    eventually(lambda: 'moveblock' in process.stdout.readline(), 'the first action')
    process.send_signal(signal.SIGINT)
    code, said, error = ended(process)
    assert code == 1 and 'cancelled' in said and 'Traceback' not in error, (said, error)


def test_the_clients_in_examples_work_as_they_stand(start, tmp_path: Path) -> None:
    graph = start('problem:=simple/problem_00', f'out:={tmp_path / "run"}', 'namespace:=robot1',
                  graph_name='do')
    eventually(lambda: 'is loaded (' in graph.text, 'the model')
    there = ('--ros-args', '-r', '__ns:=/robot1')
    follower = beside(graph, EXAMPLES / 'follow_belief.py', '1', *there)
    code, said, error = answered(
        graph, EXAMPLES / 'ask_about_picture.py', 'on g,b',
        'Is the green block on top of the blue block?', 'the red mug', *there)
    assert code == 0 and re.match(r'Is the green .* blue block\? no \(P\(yes\) = 0\.', said), (
        said, error, graph.text)
    assert 'the red mug: ' in said
    if importlib.util.find_spec('tf2_msgs') is not None:
        code, said, error = answered(
            graph, EXAMPLES / 'locate_in_frame.py', 'the green block', 'robot1/world', *there)
        place = re.fullmatch(r'the green block: x .*, z (\S+) m in robot1/world\n', said)
        assert code == 0 and place is not None, (said, error)
        assert 0.0 < float(place.group(1)) < 0.1, 'on a block on the table'
        if importlib.util.find_spec('vision_msgs') is not None:
            located = NUMBERS.findall(said)
            code, said, error = ended(beside(
                graph, EXAMPLES / 'follow_detections.py', '1', *there))
            assert code == 0 and said.count('\n') == 1, (said, error)
            assert re.match(r'at \d+\.\d{3} s: the green block \(', said), said
            assert ' m in robot1/world, within ' in said
            for one, other in zip(located, NUMBERS.findall(said), strict=True):
                assert abs(float(one) - float(other)) < 0.005, (located, said)
    code, said, error = answered(graph, EXAMPLES / 'ask_any_query.py', json.dumps({
        'kind': 'yes_no', 'observation': 0, 'question': {
            'atom': 'on g,b', 'text': 'Is the green block on top of the blue block?'}}), *there)
    assert code == 0 and '"verdict": "no"' in said, (said, error, graph.text)
    code, said, error = answered(
        graph, EXAMPLES / 'plan_in_pddl.py', BLOCKS / 'domain.pddl',
        BLOCKS / 'problems' / 'simple' / 'problem_00.pddl', *there)
    assert code == 0 and re.match(r'1\. moveblock\(', said), (said, error, graph.text)
    code, said, error = answered(
        graph, EXAMPLES / 'act_in_world.py', 'moveblock', 'p', 'c1', *there)
    assert code == 0 and said == 'done\nin view: not known\n', (said, error, graph.text)
    code, said, error = answered(graph, EXAMPLES / 'reach_goal.py', '(on g b)', *there)
    assert code == 0 and re.search(r'1\. moveblock\(g, .*\nplan_done after', said, re.DOTALL), (
        said, error, graph.text)
    code, said, error = ended(follower)
    assert code == 0 and 'plan: moveblock(g, ' in said and 'in doubt: ' in said, (said, error)
