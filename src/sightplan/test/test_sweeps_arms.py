"""A sweep with graphs moves simulated arms alone: nothing of it could re-arm a real one."""

from __future__ import annotations

from sightplan.graphs.graph import find_graph
from sightplan.runs import RunSettings
from sightplan.sweeps.graphs import graph_arguments


def test_the_graph_of_a_sweep_has_no_real_arm():
    given = graph_arguments(RunSettings(
        domain='blocksworld', split='simple', method='oracle', out='somewhere',
        world_options={'execution': 'arm'}))
    assert not {text.partition(':=')[0] for text in given} & {'world', 'hardware', 'setup'}
    graph = find_graph('experiment')
    nodes = {node.executable for node in graph.chosen(graph.values(given)).nodes}
    assert 'sim_bridge' in nodes
    assert not nodes & {'arm_bridge', 'arm_watcher'}
