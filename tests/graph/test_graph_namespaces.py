"""Two whole graphs in two namespaces of one ROS domain, and what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from graph_testing import bag_content, eventually, outside_environment, read_bag, result

from sightplan.graphs.up import reserved_domain, transport_environment
from sightplan.metrics import measures

EYE = '/left_eye/image'


def sightplan(*arguments: str) -> str:
    return subprocess.run([sys.executable, '-m', 'sightplan.cli', *arguments],
                          capture_output=True, text=True, check=True).stdout


def heard(space: str, domain: int) -> dict[str, list[str]]:
    """The nodes that each node of a namespace hears."""
    environment = outside_environment()
    done = subprocess.run(
        [sys.executable, '-m', 'sightplan_nodes.health', '--hears', '--json', '--namespace',
         space], capture_output=True, text=True, check=False,
        env={**environment, **transport_environment(environment), 'ROS_DOMAIN_ID': str(domain)})
    return json.loads(done.stdout.splitlines()[-1])['hears']


@pytest.mark.slow
def test_two_graphs_in_one_domain_do_not_hear_each_other(start, tmp_path: Path) -> None:
    with reserved_domain() as domain:
        both = {space: start(
            'episodes:=2', 'backend_options:=table=perfect', f'namespace:={space}',
            f'seed:={number}', f'split:={split}', '--keep-alive',
            *(['--ros-args', '-r', f'camera/image_raw:={EYE}', '-r', 'execute_skill:=/act_left']
              if space == 'left' else []), environment={'ROS_DOMAIN_ID': str(domain)})
            for number, (space, split) in enumerate((('left', 'simple'), ('right', 'medium')))}
        tables: list[dict[str, list[str]]] = []
        eventually(lambda: tables.append(heard('left', domain)) or tables[-1],
                   'a node of the left graph')
        assert all(name.startswith('left/') for node, hears in tables[-1].items()
                   for name in (node, *hears))
        for space, graph in both.items():
            assert graph.wait() == 0, graph.text
            assert 'lost' not in graph.text and 'deaf' not in graph.text
            lines = graph.lines()
            assert [measures.solved(line) for line in lines] == [True, True]
            for line in lines:
                counts = read_bag(graph.out / line['bag'])
                assert all(name.startswith(f'/{space}/') for name in counts)
                assert counts[f'/{space}/agent/step'] == line['steps']
                assert counts[f'/{space}/camera/image_raw'] == line['images'] > 0
                assert counts[f'/{space}/metrics_recorder/truth'] > 0
    assert not {line['id'] for line in both['left'].lines()} & {
        line['id'] for line in both['right'].lines()}
    alone = start('episodes:=2', 'backend_options:=table=perfect', 'seed:=0', 'split:=simple')
    assert alone.wait() == 0, alone.text
    left, *_ = both['left'].lines()
    here, *_ = alone.lines()
    assert result(left) == result(here), 'a namespace changes no result'
    steps = bag_content(both['left'].out / left['bag'], ['session'])['/left/agent/step']
    assert steps == bag_content(alone.out / here['bag'], ['session'])['/agent/step']

    # What is read and played again.
    bag = both['left'].out / left['bag']
    found = json.loads(sightplan('replay', str(bag), '--list', '--json').splitlines()[-1])
    assert found['list'][0]['namespace'] == '/left'
    assert 'equal to the live metrics in all 1 episodes' in sightplan('replay', str(bag))
    assert 'it held that the goal is reached' in sightplan('explain', str(bag))
    sightplan('report', str(both['left'].out))
    page = (both['left'].out / 'report' / 'report.html').read_text()
    assert 'data:image/' in page, 'it has pictures'
    played = start(f'bag:={bag}', 'rate:=100', 'namespace:=middle', graph_name='replay')
    assert played.wait() == 0, played.text
    assert 'the end of the bag' in played.text
