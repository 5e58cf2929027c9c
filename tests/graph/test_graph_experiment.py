"""A short experiment over the whole graph, and what is left when it is broken off."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from graph_testing import bag_content, eventually, read_bag, result
from recorded_testing import check_recorded

from sightplan.metrics import measures

NODES = ('sim_bridge', 'grounder', 'symbolic_planner', 'agent', 'metrics_recorder', 'experiment')


def test_two_episodes_are_solved_recorded_and_reported(start) -> None:
    graph = start('episodes:=2', 'backend_options:=table=perfect')
    assert graph.wait() == 0, graph.text
    lines = graph.lines()
    assert [measures.solved(line) for line in lines] == [True, True]
    summary = json.loads((graph.out / 'summary.json').read_text())
    assert (summary['episodes'], summary['solved'], summary['interrupted']) == (2, 2, False)
    run = json.loads((graph.out / 'run.json').read_text())
    assert run['identity']['backend']['table'] == 'perfect'
    assert run['sessions'][0]['graph']['grounder']['backend'] == 'noisy_oracle'
    for line in lines:
        counts = read_bag(graph.out / line['bag'])
        assert counts['/camera/image_raw'] == counts['/camera/camera_info'] == line['images'] > 0
        assert counts['/agent/step'] == line['steps']
        assert counts['/agent/episode'] == 2
        assert counts['/metrics_recorder/truth'] > 0
        assert line['images_missing'] == 0
    assert 'solved' in graph.text
    assert '[2/2]' in graph.text
    report = subprocess.run([sys.executable, '-m', 'sightplan.cli', 'report', str(graph.out)],
                            capture_output=True, text=True, check=True)
    assert str(graph.out / 'report' / 'report.html') in report.stdout
    assert 'data:image/' in (graph.out / 'report' / 'report.html').read_text(), 'it has pictures'


@pytest.mark.slow
@pytest.mark.parametrize('method', ['ground', 'belief', 'blind'])
def test_on_ros_as_in_process(start, tmp_path, method: str) -> None:
    """The same seeds give the same results and, but for times, the same bags on both."""
    from sightplan.runs import RunSettings, run
    options, episodes = {'table': 'gpt-4.1'}, 1 if method == 'blind' else 2  # it acts long
    graph = start(f'episodes:={episodes}', 'split:=medium', 'backend_options:=table=gpt-4.1',
                  f'method:={method}', 'failure_probability:=0.2', 'seed:=5')
    run(RunSettings(split='medium', method=method, episodes=episodes, backend='noisy_oracle',
                    backend_options=options, failure_probability=0.2, seed=5,
                    out=str(tmp_path / 'inside'), bags='all'))
    assert graph.wait() == 0, graph.text
    inside = [json.loads(line)
              for line in (tmp_path / 'inside' / 'episodes.jsonl').read_text().splitlines()]
    for here, there in zip(inside, graph.lines(), strict=True):
        assert result(here) == result(there)
        assert here['steps'] > 0
        # Who looks twice at the same scene gets a new picture, of a new time, only in process.
        twice = method == 'ground'
        leave_out = ['session', *(['image_id'] if twice else [])]  # only ROS has sessions
        bag = bag_content(tmp_path / 'inside' / here['bag'], leave_out)
        other = bag_content(graph.out / there['bag'], leave_out)
        assert list(bag) == list(other)
        for topic in bag:
            if topic.startswith('/agent/') or not twice:
                assert bag[topic] == other[topic], topic
        assert len(bag['/agent/step']) == 1 + here['steps'], 'what the topic is, and the steps'
        assert bool(here['beliefs']) is (method != 'ground'), 'noisy_oracle has no probabilities'
    check_recorded(tmp_path / 'inside', inside)
    check_recorded(graph.out, graph.lines())
    identities = [json.loads((folder / 'run.json').read_text())['identity']
                  for folder in (tmp_path / 'inside', graph.out)]
    assert identities[0] == identities[1]


@pytest.mark.slow
@pytest.mark.parametrize('node', NODES)
def test_a_killed_node_ends_the_graph_and_loses_nothing(start, node: str) -> None:
    graph = start()
    graph.until_mid_episode()
    os.kill(graph.pid(node), signal.SIGKILL)
    assert graph.wait() == 1, graph.text
    assert f'sightplan up: {node} was killed by SIGKILL' in graph.text
    lines = graph.lines()
    assert measures.scored(lines[0])
    bags = sorted((graph.out / 'bags').iterdir())
    assert len(bags) >= 2
    for bag in bags:
        counts = read_bag(bag)
        assert counts['/agent/episode'] >= 1, 'how the episode began is there'
    if node != 'metrics_recorder':  # nobody else could have told
        assert [line['stop'] for line in lines if not measures.scored(line)] in ([], ['error'])
        assert len(lines) == len(bags)


@pytest.mark.slow
@pytest.mark.parametrize('nodes_up_s', [0.0, 1.0])
def test_an_interruption_while_nodes_start_ends_the_graph_in_few_lines(start, nodes_up_s: float,
                                                                       ) -> None:
    graph = start('backend:=embedded')
    eventually(lambda: 'ROS_DOMAIN_ID' in graph.text, 'the start')
    time.sleep(nodes_up_s)  # how far the nodes are then depends on the machine
    graph.process.send_signal(signal.SIGINT)
    assert graph.wait() == 1
    assert 'Traceback' not in graph.text and len(graph.text.splitlines()) <= 5, graph.text


@pytest.mark.slow
def test_a_broken_off_run_is_taken_up_again(start) -> None:
    graph = start('episodes:=6')
    graph.until_mid_episode()
    graph.process.send_signal(signal.SIGINT)
    assert graph.wait() == 1, graph.text
    before = graph.lines()
    assert 1 <= len(before) < 6
    assert all(map(measures.scored, before)), (
        'a cancelled episode is not committed', before, graph.text)
    again = start('episodes:=6', out=graph.out)
    assert again.wait() == 0, again.text
    after = again.lines()
    assert after[:len(before)] == before
    assert len(after) == 6
    other = start('episodes:=6', 'seed:=1', out=graph.out)
    assert other.wait() == 2, 'another run does not go into the same folder'
    assert 'holds another run' in other.text


@pytest.mark.slow
def test_two_graphs_do_not_meet(start) -> None:
    one, two = start('episodes:=1'), start('episodes:=1', 'split:=hard')
    assert one.wait() == 0, one.text
    assert two.wait() == 0, two.text
    domains = [re.search(r'ROS_DOMAIN_ID=(\d+)', graph.text).group(1) for graph in (one, two)]
    assert domains[0] != domains[1]
    assert [line['split'] for graph in (one, two) for line in graph.lines()] == ['simple', 'hard']


@pytest.mark.slow
def test_no_node_outlives_a_killed_up(start) -> None:
    graph = start()
    graph.until_mid_episode()
    graph.process.kill()
    assert graph.wait() == -signal.SIGKILL
    for bag in (graph.out / 'bags').iterdir():
        read_bag(bag)


@pytest.mark.slow
def test_a_wrong_value_is_named(start) -> None:
    graph = start('backend:=noisy_oracle', 'backend_options:=tabel=gpt-4.1')
    assert graph.wait() in (1, 2)
    assert 'tabel' in graph.text


@pytest.mark.slow
def test_a_silent_node_is_named(start) -> None:
    """A node that hangs is not dead: only its deadline tells."""
    graph = start('plan_timeout_s:=8')  # DDS takes a node for gone that is silent for 20 s
    graph.until_mid_episode()
    os.kill(graph.pid('symbolic_planner'), signal.SIGSTOP)
    pid = graph.pid('symbolic_planner')
    try:
        eventually(lambda: 'symbolic_planner did not answer' in graph.text
                   or graph.process.poll() is not None, 'the deadline')
    finally:
        os.kill(pid, signal.SIGCONT)
    assert graph.wait() == 1
    assert 'symbolic_planner did not answer' in graph.text
    assert graph.lines()[-1]['stop'] == 'error'
